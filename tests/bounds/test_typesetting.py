"""Formulas as LaTeX and MathML: what is written has the value of what was meant, and reads as a mathematician writes it."""

from __future__ import annotations

import random
import re
from xml.etree import ElementTree

import fedco
import pytest
import sympy as sp
from fedco.bounds.language.rendering import describe_statement, latex_of, statement_latex
from fedco.bounds.language.theorem import Statement
from fedco.bounds.language.typesetting import Letters, latex, letters_of, mathml
from fedco.bounds.registry import all_theorems
from registry_cases import STATEMENTS, every_statement


def statement(id: str, label: str) -> Statement:
    return all_theorems()[id].statement(label)


# --- a reader of what is written, independent of the printer ----------------------------------------------------------

TOKEN = re.compile(r"\\max|\\min|\\frac|\\sqrt|\\left|\\right|\\[{},]|[0-9]+(?:\.[0-9]+)?|v\d+w|[-+^/{}()\[\],]")


class Reader:
    """The value of a formula in `\\frac \\sqrt \\max ^ + - ( ) [ ]` and products without a sign, at a point."""

    def __init__(self, text: str, point: dict[str, float]) -> None:
        self.tokens = [t for t in TOKEN.findall(text) if t not in (r"\left", r"\right", r"\,")]
        assert len("".join(self.tokens)) == len(re.sub(r"\\left|\\right|\\,|\s", "", text)), text
        self.point = point

    def next(self) -> str:
        return self.tokens.pop(0)

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def sum(self) -> float:
        sign = -1.0 if self.peek() == "-" and self.next() else 1.0
        total = sign * self.product()
        while self.peek() in ("+", "-"):
            total += (1.0 if self.next() == "+" else -1.0) * self.product()
        return total

    def product(self) -> float:
        total = self.power()
        while self.peek() not in ("", "/", "+", "-", ")", "]", "}", r"\}", ","):
            total *= self.power()
        return total

    def power(self) -> float:
        base = self.atom()
        if self.peek() != "^":
            return base
        self.next()
        assert self.next() == "{"
        exponent = self.sum()
        if self.peek() == "/":
            self.next()
            exponent /= self.sum()
        assert self.next() == "}"
        return base**exponent

    def group(self) -> float:
        assert self.next() == "{"
        value = self.sum()
        assert self.next() == "}"
        return value

    def atom(self) -> float:
        token = self.next()
        if token == r"\frac":
            above = self.group()
            return above / self.group()
        if token == r"\sqrt":
            return self.group() ** 0.5
        if token in (r"\max", r"\min"):
            return self.listed(max if token == r"\max" else min)
        if token in ("(", "["):
            value = self.sum()
            assert self.next() == {"(": ")", "[": "]"}[token]
            return value
        return self.point[token] if token.startswith("v") else float(token)

    def listed(self, pick) -> float:
        assert self.next() == r"\{"
        values = [self.sum()]
        while self.peek() == ",":
            self.next()
            values.append(self.sum())
        assert self.next() == r"\}"
        return pick(values)


def values_agree(expr: sp.Expr, letters: Letters) -> None:
    """What is written, read again at a random point, has the value of the expression."""
    kept = {node: sp.Symbol(f"f{i}", positive=True) for i, node in enumerate(sorted(_functions(expr), key=str))}
    expr = sp.sympify(expr).xreplace(kept)
    symbols = sorted(expr.free_symbols, key=str)
    names = {symbol: f"v{i}w" for i, symbol in enumerate(symbols)}
    source = random.Random(str(expr))
    point = {symbol: source.uniform(1.1, 3.0) for symbol in symbols}
    text = latex(expr, Letters(names, letters.rank))
    reader = Reader(text, {names[symbol]: value for symbol, value in point.items()})
    wanted = float(expr.evalf(20, subs=point)) if symbols else float(expr)
    assert reader.sum() == pytest.approx(wanted, rel=1e-9), text
    assert not reader.tokens, text


def _functions(expr: sp.Expr) -> set[sp.Expr]:
    """Functions of steps, whose LaTeX is a sum sign; the printer does not write them."""
    return {node for node in sp.sympify(expr).atoms(sp.Function) if not isinstance(node, (sp.Max, sp.Min))}


@every_statement
def test_every_formula_of_a_statement_has_its_value(name, label):
    chosen = statement(name, label)
    for _, expr in chosen.expressions():
        values_agree(expr, letters_of(chosen))


a, b, c, d, S, H, O, q = LETTERS = sp.symbols("a b c d S H O q", positive=True)


def test_it_reads_as_a_mathematician_writes_it():
    chosen = statement("fcsg.theorem_4_1", "corrected")
    written = {term.name: latex_of(chosen, term.expr) for term in chosen.terms}
    assert written["variance"] == r"\frac{\alpha S_F L_f^{2} L_g^{2}}{b N}"
    assert written["drift"] == r"\frac{1}{3} \alpha^{2} (q - 1) (2 q - 1) S_F^{2} L_f^{2} L_g^{2}"
    chosen = statement("local_scgdm.theorem_3_4", "printed")
    assert latex_of(chosen, chosen.condition("step_size").right).startswith(r"\frac{1}{\sqrt{8 \left(\frac{L_F^{2}}")


def test_derived_constants_stay_names_and_are_defined_below():
    text = statement_latex(statement("fcsg.theorem_4_1", "printed"))
    assert text.count("S_F &= L_f S_g + L_g^{2} S_f") == 1 and text.index("42 ") < text.index("S_F &=")


def test_mathml_of_every_formula_is_well_formed_and_has_its_letters():
    for id, label in STATEMENTS[:: max(1, len(STATEMENTS) // 25)]:
        chosen = statement(id, label)
        said = describe_statement(chosen)
        formulas = [*said["derived"].values(), *(c["relation"] for c in said["conditions"]), *said["terms"].values()]
        for written in [chosen.theorem.metric.latex, *(formula.latex for formula in formulas)]:
            root = ElementTree.fromstring(mathml(written))
            assert root.tag.endswith("math") and "".join(root.itertext()).strip()
    drift = statement("fcsg.theorem_4_1", "printed")
    written = mathml(latex_of(drift, drift.term("drift").expr))
    assert {"α", "q", "S", "F", "42"} <= set(ElementTree.fromstring(written).itertext())


@pytest.mark.parametrize("text", [r"\text{<script>alert(1)</script>}", "<img src=x onerror=alert(1)>", r"a & b"])
def test_mathml_carries_no_markup_of_a_stranger(text: str):
    root = ElementTree.fromstring(mathml(text))
    allowed = {"math", "mrow", "mi", "mo", "mn", "mtext", "mstyle"}
    assert {part.tag.rpartition("}")[2] for part in root.iter()} <= allowed
    assert not any(name.startswith("on") for part in root.iter() for name in part.attrib)


def test_two_symbols_have_two_letters():
    """L_1 and L1 are both set as L with the subscript 1 where nothing is done about it."""
    symbols = {"L_1": "local_smoothness", "L1": "objective_smoothness", "F": "objective_gap", "T": "iterations"}
    own = fedco.define(
        id="m.t",
        symbols=symbols,
        terms={"a": "F*(L_1 + L1)/T"},
        derived={"L1_": "2*L1"},
        conditions={"c": "L1_ <= L_1"},
    )
    letters = [binding.latex for binding in own.notation] + [constant.latex for constant in own.statement().derived]
    assert len(set(letters)) == 5 and letters[:2] == ["L_{1}", r"\mathrm{L1}"]


# --- how a formula is set ---------------------------------------------------------------------------------------------------------------

SET = Letters(
    {S: "S_F", H: r"\eta", O: r"\bar x"},
    {q: (0, 0), H: (0, 1), S: (1, 0), a: (2, 0), b: (2, 1), c: (2, 2), d: (2, 3), O: (3, 0)},
)
FORMS = [
    # the number, what is chosen, derived constants, constants, what is measured, sums
    ("7*H*O*S*a*q", r"7 q \eta S_F a \bar x"),
    ("H*a*(q - 1)*(2*q - 1)", r"\eta (q - 1) (2 q - 1) a"),
    ("H*sqrt(a)*(b + c)", r"\eta \sqrt{a} (b + c)"),
    ("b*log(a)", r"b \log{\left(a \right)}"),
    # sums: short before long, numbers first or, negative, last
    ("3*(a + b)", "3 a + 3 b"),
    ("-a - b - 1", "-a - b - 1"),
    ("1 - a", "1 - a"),
    ("2 + 4*a**2*b - a - 1/a", r"2 + 4 a^{2} b - \frac{1}{a} - a"),
    # a number common to a sum is taken out where it is whole, or all summands are broken
    ("a/2 + b/3", r"\frac{1}{6} (3 a + 2 b)"),
    ("c*(a/2 + b)", r"c \left(\frac{1}{2} a + b\right)"),
    ("c*(2*a + 4*b)", "2 c (a + 2 b)"),
    # fractions; a long sum, or one with a fraction in it, stands beside one that there is anyway
    ("2*a/3", r"\frac{2}{3} a"),
    ("-a/b", r"-\frac{a}{b}"),
    ("2/(3*a)", r"\frac{2}{3 a}"),
    ("(2*a + 2*b)/c", r"\frac{2 (a + b)}{c}"),
    ("5*(a + b + c)/d", r"\frac{5}{d} (a + b + c)"),
    ("(a + b + c)/(2*d)", r"\frac{1}{2 d} (a + b + c)"),
    ("a*(a + b)/d", r"\frac{a (a + b)}{d}"),
    ("(a + b + c)*(a + b + d)/c", r"\frac{1}{c} (a + b + c) (a + b + d)"),
    ("(a + 1/b)/c", r"\frac{1}{c} \left(a + \frac{1}{b}\right)"),
    ("a/(b + c)", r"\frac{a}{b + c}"),
    ("(b + c)**-2", r"\frac{1}{(b + c)^{2}}"),
    # roots are joined
    ("sqrt(a)*sqrt(b)/c", r"\frac{\sqrt{a b}}{c}"),
    ("sqrt(a)/sqrt(b)", r"\sqrt{\frac{a}{b}}"),
    ("sqrt(2)/a", r"\frac{\sqrt{2}}{a}"),
    ("sqrt(2)/sqrt(a)", r"\frac{\sqrt{2}}{\sqrt{a}}"),
    ("sqrt(2)/(4*sqrt(a))", r"\frac{1}{\sqrt{8 a}}"),
    ("3*sqrt(2)/(4*sqrt(a))", r"\frac{3 \sqrt{2}}{4 \sqrt{a}}"),
    ("sqrt(2)/2", r"\frac{1}{2} \sqrt{2}"),
    # powers
    ("a**(-3/2)", r"\frac{1}{a^{3/2}}"),
    ("(a + b)**(1/3)", "(a + b)^{1/3}"),
    ("2**a", "2^{a}"),
    ("c/a**b", "a^{-b} c"),
    ("Abs(a - b)**2", "(a - b)^{2}"),
    # brackets: square around round ones, tall around fractions and roots
    ("a*d*(b + (c + d)**2)", "a d [b + (c + d)^{2}]"),
    ("b*(sqrt(a) + 1)", r"b \left(1 + \sqrt{a}\right)"),
    ("(a/b + (c + d)**2)*H", r"\eta \left[\frac{a}{b} + (c + d)^{2}\right]"),
    # functions and numbers alone
    ("Max(a/b, 2*c, (a - 1)**2)*d", r"d \max\left\{2 c,\, \frac{a}{b},\, (a - 1)^{2}\right\}"),
    ("Min(a, 1/b)/(sqrt(3)*c)", r"\frac{\sqrt{3} \min\left\{a,\, \frac{1}{b}\right\}}{3 c}"),
    ("(a + 1)**(b - 1)*(2 - b)", "(2 - b) (1 + a)^{b - 1}"),
    ("(a/2 + b/3)*(a + b + c)/(d*(a - 1))", r"\frac{3 a + 2 b}{6 d (a - 1)} (a + b + c)"),
    ("a**(3/2)/b**(5/2)", r"\frac{a^{3/2}}{b^{5/2}}"),
    ("-(a + b)/c - d", r"\frac{-a - b}{c} - d"),
    ("-3", "-3"),
    ("-2/7", r"- \frac{2}{7}"),
    ("Max(a, 2*b, 1/c)", r"\max\left\{a,\, 2 b,\, \frac{1}{c}\right\}"),
    ("Max(a, b)**2", r"\left(\max\left\{a,\, b\right\}\right)^{2}"),
    ("Min(a, 1 - b)", r"\min\left\{a,\, 1 - b\right\}"),
]


@pytest.mark.parametrize(("text", "wanted"), FORMS, ids=[text for text, _ in FORMS])
def test_a_formula_is_set_as_a_mathematician_writes_it(text: str, wanted: str):
    expr = sp.sympify(text, {str(letter): letter for letter in LETTERS})
    assert latex(expr, SET) == wanted
    values_agree(expr, SET)


def test_letters_that_are_formulas_get_parentheses_before_a_power():
    letters = {a: r"\|y\|", b: "|x|", c: "(z)", d: "(z) (w)", S: r"\left(u\right)", H: r"\hat\eta", O: "x y"}
    powers = {str(letter): latex(letter**2, Letters(letters, {})) for letter in letters}
    assert powers == {
        "a": r"\|y\|^{2}",
        "b": "|x|^{2}",
        "c": "(z)^{2}",
        "d": "[(z) (w)]^{2}",
        "S": r"\left(u\right)^{2}",
        "H": r"\hat\eta^{2}",
        "O": "(x y)^{2}",
    }
