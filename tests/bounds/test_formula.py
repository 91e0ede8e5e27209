"""Our reader of formulas against Python's own grammar, and against text that must not get through."""

from __future__ import annotations

import ast
import operator
import time
from fractions import Fraction

import pytest
import sympy as sp
from fedco.bounds.language.formula import (
    MAX_DEPTH,
    MAX_FORMULA,
    MAX_POWER,
    FormulaError,
    read_formula,
    read_relation,
)
from fedco.suggestion import nearest
from hypothesis import example, given, settings
from hypothesis import strategies as st

NAMES = {name: sp.Symbol(name, positive=True) for name in ("L", "eta", "sigma", "p", "T", "F_gap")}
POINT = {
    "L": Fraction(3, 2),
    "eta": Fraction(1, 7),
    "sigma": Fraction(5),
    "p": Fraction(4),
    "T": Fraction(9, 4),
    "F_gap": Fraction(2),
}


# --- the same meaning as Python's grammar ----------------------------------------------------------------------------

_BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def value(node: ast.AST, text: str) -> Fraction:
    """What a formula without sqrt is worth at POINT, by Python's parser and fractions; raises ZeroDivisionError."""
    if isinstance(node, ast.Constant):
        return Fraction(ast.get_source_segment(text, node))
    if isinstance(node, ast.Name):
        return POINT[node.id]
    if isinstance(node, ast.UnaryOp):
        inner = value(node.operand, text)
        return -inner if isinstance(node.op, ast.USub) else inner
    if isinstance(node, ast.Call):
        return {"min": min, "max": max}[node.func.id](*(value(part, text) for part in node.args))
    left, right = value(node.left, text), value(node.right, text)
    return left**right if isinstance(node.op, ast.Pow) else _BINARY[type(node.op)](left, right)


numbers = st.one_of(
    st.integers(0, 40).map(str),
    st.builds("{}.{}".format, st.integers(0, 20), st.integers(0, 99)),
    st.builds("{}e{}".format, st.integers(1, 9), st.integers(-4, 4)),
)
atoms = st.one_of(numbers, st.sampled_from(sorted(NAMES)))


def grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Every rule of the grammar once, with and without parentheses, with and without spaces."""
    space = st.sampled_from(("", " "))
    return st.one_of(
        st.builds("{}{}{}{}{}".format, parts, space, st.sampled_from("+-*/"), space, parts),
        st.builds("({})".format, parts),
        st.builds("{}{}".format, st.sampled_from("+-"), parts),
        st.builds("{}**{}".format, atoms, st.sampled_from(("2", "-1", "3", "(-2)", "0"))),
        st.builds("({})**{}".format, parts, st.sampled_from(("2", "-1"))),
        st.builds("{}({}, {})".format, st.sampled_from(("min", "max")), parts, parts),
    )


formulas = st.recursive(atoms, grown, max_leaves=12)


@settings(max_examples=50)
@given(formulas)
@example("-2**2")
@example("2**-1")
@example("2**3**2")
@example("8/2/2*3")
@example("3-2-1+5")
@example("-L**2*-eta")
@example("2/L*eta")
@example("-(L+eta)**-1")
@example("1e-3*.5+2.")
def test_a_formula_means_what_it_means_in_python(text: str):
    try:
        wanted = value(ast.parse(text.strip(), mode="eval").body, text.strip())
    except ZeroDivisionError:
        wanted = None
    try:
        read = read_formula(text, NAMES)
    except FormulaError as error:
        assert wanted is None or "bits" in str(error)
        return
    found = read.subs({NAMES[name]: sp.Rational(v.numerator, v.denominator) for name, v in POINT.items()}).doit()
    assert (found == sp.Rational(wanted.numerator, wanted.denominator)) if wanted is not None else not found.is_finite


@settings(max_examples=40)
@given(formulas)
def test_what_is_printed_is_read_back(text: str):
    try:
        first = read_formula(text, NAMES)
    except FormulaError:
        return
    printed = sp.sstr(first).replace("Max(", "max(").replace("Min(", "min(")
    assert sp.simplify(read_formula(printed, NAMES) - first) == 0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2*F_gap/(eta*T)", 2 * NAMES["F_gap"] / (NAMES["eta"] * NAMES["T"])),
        ("sqrt(L**2 + sigma**2)", sp.sqrt(NAMES["L"] ** 2 + NAMES["sigma"] ** 2)),
        ("T**(1/4)/p**0.75", NAMES["T"] ** sp.Rational(1, 4) / NAMES["p"] ** sp.Rational(3, 4)),
        ("0.1", sp.Rational(1, 10)),
        ("1e-3", sp.Rational(1, 1000)),
        ("max(L, 2, eta)", sp.Max(NAMES["L"], 2, NAMES["eta"])),
        ("min(1, L)", sp.Min(1, NAMES["L"])),
        ("sqrt(8)", 2 * sp.sqrt(2)),
        ("\t2 *\n L ", 2 * NAMES["L"]),
    ],
)
def test_formulas_of_theorems(text: str, wanted: sp.Expr):
    assert read_formula(text, NAMES).doit() == wanted
    assert not read_formula(text, NAMES).atoms(sp.Float)


@pytest.mark.parametrize("relation", ["<", "<=", ">=", ">", "=="])
def test_a_condition_has_two_sides_and_a_relation(relation: str):
    assert read_relation(f"2*eta {relation} 1/L", NAMES) == (2 * NAMES["eta"], relation, 1 / NAMES["L"])


# --- what is refused, and where --------------------------------------------------------------------------------------

REFUSED = [
    ("", 1, "got the end"),
    ("   ", 4, "got the end"),
    ("2*", 3, "got the end"),
    ("(1+2", 5, "'(' of column 1"),
    ("1+2)", 4, "operator or the end"),
    ("2 L", 3, "operator"),
    ("L eta", 3, "operator"),
    ("1.2.3", 4, "operator"),
    ("1_000", 2, "not part of a formula"),
    ("L^2", 2, "write **"),
    ("L = 2", 3, "write =="),
    ("L =< 2", 3, "write <="),
    ("L ≤ 2", 3, "write <="),
    ("2·L", 2, "write *"),
    ("L−1", 2, "write -"),
    ("L²", 2, "write **2"),
    ("１", 1, "not part of a formula"),
    ("Ｌ", 1, "not part of a formula"),
    ("е", 1, "not part of a formula"),  # the Cyrillic letter
    ("L\u202eeta", 2, "not part of a formula"),
    ("L\x00", 2, "not part of a formula"),
    ("'a'", 1, "not part of a formula"),
    ("L[0]", 2, "not part of a formula"),
    ("L.real", 2, "not part of a formula"),
    ("L;eta", 2, "not part of a formula"),
    ("L if eta else T", 3, "operator"),
    ("lambda: 1", 7, "not part of a formula"),
    ("__import__('os')", 1, "not part of a formula"),
    ("exec(1)", 1, "cannot be called"),
    (
        "sin(T)",
        1,
        "cannot be called; the only functions are sqrt min max log exp floor ceil sum sum_i mean_i max_i min_i",
    ),
    ("floor(exp(T))", 1, "too many digits"),
    ("ceil(2**(2**T))", 1, "too many digits"),
    ("L(2)", 1, "cannot be called"),
    ("2 + Abs(L)", 5, "cannot be called"),
    ("sqrt", 1, "wanted '('"),
    ("sqrt()", 6, "got ')'"),
    ("sqrt(L, 2)", 1, "one argument"),
    ("max(L)", 1, "two arguments"),
    ("max(L, )", 8, "got ')'"),
    ("sigm*L", 1, "nearest is sigma"),
    ("L*Sigma", 3, "nearest is sigma"),
    ("f_gap", 1, "nearest is F_gap"),
    ("qqq", 1, "wanted one of L eta sigma p T F_gap"),
    ("eta < 1", 5, "operator or the end"),
    ("1/0", 3, "division by zero"),
    ("1/(L - L)", 3, "division by zero"),
    ("0**-1", 1, "division by zero"),
    ("1/(sqrt(2)*sqrt(3) - sqrt(6))", 3, "division by zero"),
    ("sqrt(-1)", 1, "not a real number"),
    ("2*sqrt(-L)", 3, "not a real number"),
    ("(-8)**(1/3)", 1, "not a real number"),
    ("0**T", 1, "a base that is not 0"),
    ("1e7000000", 1, "got '1e7000000'"),
    ("1e-9999", 1, "exponent of at most"),
    ("1" * 200, 1, "at most 60 characters"),
    (f"L**{MAX_POWER + 1}", 4, "at most 64"),
    (f"L**(1/{MAX_POWER + 1})", 4, "at most 64"),
    ("9**9**9**9", 7, "at most 64"),
    ("((10**50)**50)**50", 2, "bits"),
    ("L + 10**60*10**60*(10**60)**20", 5, "bits"),
    ("(" * 200 + "1" + ")" * 200, MAX_DEPTH + 1, "inside each other"),
    ("-" * 200 + "1", MAX_DEPTH + 1, "inside each other"),
    ("sqrt(" * 100 + "1" + ")" * 100, 5 * MAX_DEPTH + 1, "inside each other"),
    ("2**" * 100 + "1", 3 * MAX_DEPTH + 1, "inside each other"),
]


@pytest.mark.parametrize(("text", "column", "reason"), REFUSED, ids=[ascii(text)[:24] for text, *_ in REFUSED])
def test_what_is_not_a_formula_is_one_line_with_a_column(text: str, column: int, reason: str):
    with pytest.raises(FormulaError) as caught:
        read_formula(text, NAMES)
    message = str(caught.value)
    assert message.startswith(f"column {column}: ") and reason in message
    assert message.isprintable() and len(message) < 250


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("eta", 4, "relation"),
        ("eta 1", 5, "relation"),
        ("eta <= ", 8, "got the end"),
        ("0 < eta <= 1", 9, "two conditions"),
        ("eta = 1", 5, "write =="),
        ("eta != 1", 5, "not part of a formula"),
        ("eta =< 1", 5, "write <="),
    ],
)
def test_what_is_not_a_condition_is_one_line_with_a_column(text: str, column: int, reason: str):
    with pytest.raises(FormulaError, match=f"^column {column}: ") as caught:
        read_relation(text, NAMES)
    assert reason in str(caught.value)


def test_a_long_text_is_refused_before_it_is_looked_at():
    with pytest.raises(FormulaError, match=f"at most {MAX_FORMULA} characters, got 10000000"):
        read_formula("L" * 10**7, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "(" + "*".join(f"(L-{i})" for i in range(1, 99)) + ")**64",
        "1/max(" + ",".join(f"L-{i}" for i in range(200)) + ")",
        "/".join(f"(1/{i}+sqrt({i}))" for i in range(2, 99)),
        "(3**40*1000000000000000000000000000057)**(1/5)",
        "max(" * 39 + "L" + ",eta)" * 39,
        "sqrt(1+" * 39 + "L" + ")" * 39,
    ],
)
def test_a_hostile_text_within_the_limits_is_quick(text: str):
    """Measured: at most 1.5 s; one that is not bounded takes minutes or all the memory."""
    began = time.perf_counter()
    read_formula(text, NAMES)
    assert time.perf_counter() - began < 10


@given(st.text(max_size=60))
def test_no_text_does_anything_but_be_read_or_refused(text: str):
    try:
        found = read_formula(text, NAMES)
    except FormulaError as error:
        assert str(error).isprintable()
    else:
        assert found.free_symbols <= set(NAMES.values())


def test_the_nearest_name():
    assert nearest("ojective_gap", ("objective_gap", "step_size")) == "the nearest is objective_gap"
    assert nearest("ETA", ("eta", "L")) == "the nearest is eta"
    assert nearest("x", ()) == "no known name is near"


@pytest.mark.parametrize(("text", "value"), [("sqrt(0)", 0), ("0**2", 0), ("0**0", 1), ("(L - L)**(1/3)", 0)])
def test_powers_of_0_that_are_numbers(text: str, value: int):
    assert read_formula(text, NAMES) == value
