"""Formulas as MathML, which a browser sets without a script or a font from outside."""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter

RELATIONS = {"<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "="}


class _Printer(MathMLPresentationPrinter):
    """sympy's printer, with a name's first part as the letter and the rest as one subscript."""

    def _print_Symbol(self, expr: sp.Symbol, style: str = "plain") -> Any:
        letter, _, index = expr.name.partition("_")
        made = self.dom.createElement("msub" if index else "mrow")
        made.appendChild(self._name(letter))
        if index:
            made.appendChild(self._name(index.replace("_", ",")))
        return made

    def _name(self, text: str) -> Any:
        from sympy.printing.mathml import greek_unicode

        made = self.dom.createElement("mi")
        stem = text.rstrip("0123456789")
        made.appendChild(self.dom.createTextNode(greek_unicode.get(stem, stem) + text[len(stem) :]))
        return made


def mathml(*parts: sp.Expr | str) -> str:
    """One `math` element: expressions, and signs between them as text."""
    printer = _Printer({})
    root = printer.dom.createElement("math")
    root.setAttribute("displaystyle", "true")
    for part in parts:
        if isinstance(part, str):
            sign = printer.dom.createElement("mo")
            sign.appendChild(printer.dom.createTextNode(part))
            root.appendChild(sign)
        else:
            root.appendChild(printer._print(part))
    return str(root.toxml())
