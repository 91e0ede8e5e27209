"""Formulas as a mathematician writes them, in LaTeX and in MathML.

    2 L_g^2 S_f^2 sigma_g^2/m + alpha S_F L_f^2 L_g^2/(b N)

Factors are grouped by role: the number, what the user chooses (`alpha q (q - 1)`), derived constants, the constants of the
problem, what a run measures, and sums last. Short summands come first, a negative number last. A number that sympy has multiplied
into a sum is taken out again, and square roots are joined. Derived constants stay names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy as sp
from sympy.printing.latex import LatexPrinter

if TYPE_CHECKING:
    from .theorem import Statement

HALF = sp.Rational(1, 2)
_ROLES = ("hyperparameter", "derived", "constant", "observable")
_LONG_SUM = 3
"""A sum of so many summands, or one with a fraction in it, stands beside a fraction and not on top of it."""
_FENCES = ((r"\|", r"\|"), ("|", "|"), ("(", ")"), (r"\left(", r"\right)"))

Rank = tuple[int, int]


class Letters(NamedTuple):
    """How symbols look, and in which order they stand in a product."""

    latex: Mapping[sp.Symbol, str]
    rank: Mapping[sp.Symbol, Rank]


def letters_of(statement: Statement) -> Letters:
    """The paper's own letters for a statement's symbols and derived constants."""
    latex = {binding.symbol: binding.latex for binding in statement.theorem.notation}
    rank = {
        binding.symbol: (_ROLES.index(binding.quantity.role), place)
        for place, binding in enumerate(statement.theorem.notation)
    }
    for place, constant in enumerate(statement.derived):
        latex[constant.symbol] = constant.latex
        rank[constant.symbol] = (_ROLES.index("derived"), place)
    return Letters(latex, rank)


def latex(expression: Any, letters: Letters | None = None) -> str:
    """LaTeX of an expression or a number, without delimiters.

    Example:
        >>> q, b = sp.symbols("q b", positive=True)
        >>> latex(sp.sqrt(q) / sp.sqrt(b) * (2 * q - 2) / 3)
        '\\\\frac{2}{3} \\\\sqrt{\\\\frac{q}{b}} (q - 1)'
    """
    printer = _Printer(letters or Letters({}, {}))
    expr = sp.sympify(expression)
    whole = isinstance(expr, sp.Add) and expr.primitive()[0].is_Integer  # its number is as it was written
    return printer.sum(expr) if whole else str(printer.doprint(expr))


def mathml(latex_text: str, *, display: bool = False) -> str:
    """A `<math>` element for HTML from a LaTeX formula; whatever the text has of markup is escaped.

    Args:
        latex_text: without delimiters.
        display: on a line of its own.
    """
    from html import unescape
    from xml.etree import ElementTree

    from latex2mathml.converter import convert_to_element

    element = convert_to_element(latex_text, display="block" if display else "inline")
    for part in element.iter():
        part.text = unescape(part.text) if part.text else part.text
    return ElementTree.tostring(element, encoding="unicode")


class _Product(NamedTuple):
    """A number times powers: `number * prod(base**exponent)`."""

    number: sp.Rational
    powers: tuple[tuple[sp.Expr, sp.Expr], ...]


class _Printer(LatexPrinter):
    """Sums, products and powers are our own, the rest is sympy's."""

    def __init__(self, letters: Letters) -> None:
        super().__init__()
        self.letters = letters

    def _print_Symbol(self, symbol: sp.Symbol, style: str = "plain") -> str:
        return self.letters.latex.get(symbol) or super()._print_Symbol(symbol)

    def _print_Add(self, expr: sp.Expr, order: object = None) -> str:
        product = _product(expr)
        return self.sum(expr) if product.powers == ((expr, sp.S.One),) else self._printed(product)

    def _print_Mul(self, expr: sp.Expr) -> str:
        return self._printed(_product(expr))

    def _print_Pow(self, expr: sp.Expr) -> str:
        return self._printed(_product(expr))

    def _print_Max(self, expr: sp.Expr) -> str:
        return self._listed(r"\max", expr)

    def _print_Min(self, expr: sp.Expr) -> str:
        return self._listed(r"\min", expr)

    def _listed(self, name: str, expr: sp.Expr) -> str:
        inside = r",\, ".join(self._print(argument) for argument in sorted(expr.args, key=self._summand_key))
        return rf"{name}\left\{{{inside}\right\}}"

    # --- sums ---

    def sum(self, expr: sp.Expr) -> str:
        """A sum, no common number taken out."""
        text = ""
        for summand in sorted(expr.args, key=self._summand_key):
            negative = _product(summand).number < 0
            shown = self._print(-summand if negative else summand)
            text += (" - " if negative else " + ") + shown if text else ("-" if negative else "") + shown
        return text

    def _summand_key(self, summand: sp.Expr) -> Any:
        """Positive before negative, a positive number first and a negative one last, then short before long."""
        product = _product(summand)
        negative, bare = bool(product.number < 0), not product.powers
        size = sum(sp.count_ops(base) + 1 for base, _ in product.powers)
        ranks = sorted(self._rank(base) for base, _ in product.powers)
        return negative, bare == negative, size, ranks, sp.default_sort_key(summand)

    # --- products ---

    def _printed(self, product: _Product) -> str:
        number, powers = _with_joined_roots(product)
        sign = "-" if number < 0 else ""
        top = [(base, power) for base, power in powers if not _is_below(power)]
        below = [(base, -power) for base, power in powers if _is_below(power)]
        over, under = abs(number.p), number.q
        beside = [pair for pair in top if pair[1] == 1 and _is_long(pair[0])]
        if not below:  # \frac{2}{3} a b
            head = rf"\frac{{{over}}}{{{under}}}" if under != 1 else (str(over) if over != 1 or not top else "")
            return sign + " ".join(filter(None, [head, self._factors(top)]))
        if len(beside) < len(top) or over != 1 or under != 1 or len(beside) > 1 or _has_fraction(beside):
            top = [pair for pair in top if pair not in beside]
        else:
            beside = []
        numerator = " ".join(filter(None, [str(over) if over != 1 or not top else "", self._alone(top, over == 1)]))
        denominator = " ".join(filter(None, [str(under) if under != 1 else "", self._alone(below, under == 1)]))
        return sign + " ".join(filter(None, [rf"\frac{{{numerator}}}{{{denominator}}}", self._factors(beside)]))

    def _alone(self, powers: list[tuple[sp.Expr, sp.Expr]], alone: bool) -> str:
        """The factors of one side of a fraction; a sum that is all there is needs no parentheses."""
        if alone and len(powers) == 1 and powers[0][1] == 1:
            return str(self._print(powers[0][0]))
        return self._factors(powers)

    def _factors(self, powers: list[tuple[sp.Expr, sp.Expr]]) -> str:
        ordered = sorted(powers, key=lambda pair: (self._rank(pair[0]), sp.default_sort_key(pair[0])))
        return " ".join(self._factor(base, power) for base, power in ordered)

    def _factor(self, base: sp.Expr, power: sp.Expr) -> str:
        if power == HALF:
            return rf"\sqrt{{{self._print(base)}}}"
        text = self._print(base)
        if power == 1:
            return _in_parentheses(text) if isinstance(base, sp.Add) else str(text)
        exponent = f"{power.p}/{power.q}" if power.is_Rational and power.q != 1 else self._print(power)
        plain = (base.is_Symbol and "^" not in text and " " not in text.strip("\\")) or base.is_Integer
        return f"{text if plain or _is_fenced(text) else _in_parentheses(text)}^{{{exponent}}}"

    def _rank(self, base: sp.Expr) -> Rank:
        """Where a factor stands; a sum of chosen values beside them, every other sum and function at the end."""
        if base.is_number:
            return (-1, 0)
        if base.is_Symbol:
            return self.letters.rank.get(base, (len(_ROLES), 0))
        roles = [self.letters.rank.get(symbol, (len(_ROLES), 0))[0] for symbol in base.free_symbols]
        chosen = isinstance(base, sp.Add) and max(roles) == 0
        return (0, 10**6) if chosen else (len(_ROLES) + 1, len(roles))


def _product(expr: sp.Expr) -> _Product:
    """The factors of an expression; the common number of a sum is one of them."""
    if expr.is_Rational:
        return _Product(expr, ())
    if isinstance(expr, sp.Add):
        content, rest = expr.primitive()
        broken = sum(not _number(summand).is_Integer for summand in expr.args)
        if content != 1 and (content.is_Integer or broken > 1):
            return _Product(content, ((rest, sp.S.One),))
        return _Product(sp.S.One, ((expr, sp.S.One),))
    if isinstance(expr, sp.Mul):
        number, powers = sp.S.One, dict[sp.Expr, sp.Expr]()
        for factor in expr.args:
            part = _product(factor)
            number *= part.number
            for base, power in part.powers:
                powers[base] = powers.get(base, sp.S.Zero) + power
        return _Product(number, tuple((base, power) for base, power in powers.items() if power != 0))
    base, power = expr.as_base_exp()
    return _Product(sp.S.One, ((base, power),))


def _number(summand: sp.Expr) -> sp.Rational:
    return summand.as_coeff_Mul()[0]


def _with_joined_roots(product: _Product) -> _Product:
    """`sqrt(a) sqrt(b)/sqrt(c)` as one root, and `sqrt(2)/(4 sqrt(x))` as `1/sqrt(8 x)`."""
    roots = [(base, power) for base, power in product.powers if abs(power) == HALF]
    rest = [(base, power) for base, power in product.powers if abs(power) != HALF]
    above = sp.Mul(*(base for base, power in roots if power > 0))
    below = sp.Mul(*(base for base, power in roots if power < 0))
    number = product.number
    if below != 1 and above.is_Integer and above != 1 and number.p == 1:
        inside = sp.Rational(above, number.q**2)
        above, below, number = sp.Integer(inside.p), below * inside.q, sp.S.One
    if below == 1 or above == 1 or above.is_number:
        joined = [(above, HALF)] if above != 1 else []
        joined += [(below, -HALF)] if below != 1 else []
    else:
        joined = [(above / below, HALF)]
    return _Product(number, (*rest, *joined))


def _is_below(power: sp.Expr) -> bool:
    return bool(power.is_Rational and power < 0)


def _has_fraction(factors: list[tuple[sp.Expr, sp.Expr]]) -> bool:
    return any(_is_below(power) for base, _ in factors for s in base.args for _, power in _product(s).powers)


def _is_long(base: sp.Expr) -> bool:
    return isinstance(base, sp.Add) and (len(base.args) >= _LONG_SUM or _has_fraction([(base, sp.S.One)]))


def _in_parentheses(text: str) -> str:
    left, right = "[]" if "(" in text else "()"
    tall = any(mark in text for mark in (r"\frac", r"\sqrt", r"\sum", r"\left"))
    return rf"\left{left}{text}\right{right}" if tall else f"{left}{text}{right}"


def _is_fenced(text: str) -> bool:
    """Whether the text is one thing between delimiters already."""
    for left, right in _FENCES:
        inside = text[len(left) : len(text) - len(right)]
        if text.startswith(left) and text.endswith(right) and inside:
            if left in (r"\|", "|"):
                return left not in inside
            return _balanced(inside)
    return False


def _balanced(inside: str) -> bool:
    depth = 0
    for character in inside:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0
