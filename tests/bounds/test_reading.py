"""Numbers, names and formulas that a user typed: exact, or one line that says what was wanted, and where."""

from __future__ import annotations

import ast
import operator
import time
from decimal import Decimal
from fractions import Fraction
from time import perf_counter

import numpy as np
import pytest
import sympy as sp
from fedco import theorem
from fedco.bounds import InputError
from fedco.bounds.evaluation.enclosure import EnclosureError, enclose
from fedco.bounds.language.formula import (
    MAX_DEPTH,
    FormulaError,
    read_formula,
    read_relation,
)
from fedco.bounds.language.reading import read_number, read_value, read_values, shown_name, split_assignment
from fedco.suggestion import nearest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusal import is_refused

THEOREM = theorem("feddro.theorem_5_1")
NOTATION = THEOREM.notation
CODE = "__import__('os').system('x')"

WORDS = "nan inf ∞ ½ ١ １ 1,5 1/2/3 --1 1e e5 . 0x10 1_000 1e1.5 1j 1+1 2**3 sqrt(2) pi L_f True [1] 1;2 $(id) `id` 1٫5"
NOT_NUMBERS = [
    *WORDS.split(),
    *(
        "",
        "   ",
        "1 /2",
        "1\n2",
        "1\x00",
        "\x1b[31m1",
        "1" * 61,
        "9" * 10**5,
        "1e101",
        "1e-101",
        "1/0",
        "1e" + "9" * 50,
    ),
    *("\ud800", "\N{ZERO WIDTH SPACE}1", CODE),
]
NOT_EVEN_TEXT = [
    *(None, True, [1], {}, b"1", 1j, float("nan"), float("inf"), Decimal("0.1"), object, len),
    *(np.float64("nan"), np.bool_(True), np.datetime64("2020-01-01")),
]


@pytest.mark.parametrize("value", NOT_NUMBERS + NOT_EVEN_TEXT, ids=lambda value: ascii(value)[:30])
def test_what_is_not_a_plain_number_is_refused(value):
    with is_refused(r"^L_f: wanted a positive real") as caught:
        read_value(NOTATION["L_f"], value)
    assert len(str(caught.value)) < 300
    assert caught.value.__cause__ is None


def test_an_array_of_numbers_is_refused():
    with is_refused():
        read_number("L_f", np.array([1, 2]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.1", Fraction(1, 10)),
        (" 1e-3 ", Fraction(1, 1000)),
        ("1/3", Fraction(1, 3)),
        ("-2/4", Fraction(-1, 2)),
        ("+5", Fraction(5)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1E2", Fraction(100)),
        ("1e100", Fraction(10) ** 100),
        (0.1, Fraction(1, 10)),
        (3, Fraction(3)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.int64(7), Fraction(7)),
        (np.array(3), Fraction(3)),
        (10**80, Fraction(10**80)),
    ],
)
def test_plain_numbers_are_read_exactly(text, value):
    assert read_number("x", text) == value


@settings(max_examples=60, derandomize=True, database=None)
@given(st.text(st.sampled_from("0123456789.+-eE/ _x,\n\x00١½∞"), max_size=70))
def test_no_text_gets_through_unless_it_is_a_plain_number(text):
    try:
        number = read_number("x", text)
    except InputError as error:
        assert str(error).startswith("x: wanted")
        assert len(str(error).splitlines()) == 1
    else:
        assert text.isascii() and abs(number) <= 10**161 and set(text.strip()) <= set("0123456789.+-eE/")


@settings(max_examples=40, derandomize=True, database=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_read_as_it_prints(value):
    assert float(read_number("x", value)) == value


def test_reading_is_fast_whatever_the_length():
    start = perf_counter()
    for text in ("9" * 10**6, "1e7000000", "1/" + "9" * 10**6, "0." + "0" * 10**6):
        with is_refused():
            read_number("x", text)
    assert perf_counter() - start < 2


@pytest.mark.parametrize(
    ("name", "value"), [("L_f", "-0"), ("sigma_g", "-1e-100"), ("K", 1.5), ("T", "0.999"), ("eta", "-1/3")]
)
def test_values_outside_the_domain_are_refused(name, value):
    """Every domain, exact and on arrays: `test_numbers_of_every_domain_and_of_no_other`."""
    wanted = rf"^{name}: wanted a (positive|nonnegative) (real|integer) \(.+\), got "
    with is_refused(wanted) as caught:
        read_value(NOTATION[name], value)
    assert str(value) in str(caught.value)


def test_values_at_the_edge_of_the_domain_are_accepted():
    edges = {"sigma_g": "-0", "K": "8/4", "T": "1e3", "eta": "1e-100"}
    assert [read_value(NOTATION[name], value) for name, value in edges.items()] == [0, 2, 1000, Fraction(1, 10**100)]


@pytest.mark.parametrize("name", ["zeta", "l_f", "__class__", "L_f ", CODE, "a" * 10**4, "\n", "", "L_f\x1b[31m"])
def test_an_unknown_symbol_is_refused_and_the_nearest_or_the_known_ones_are_named(name):
    with is_refused(r"not a symbol of here; (wanted one of L_h L_f|the nearest is \w+$)") as caught:
        read_values(NOTATION.bindings, {name: 1}, "here")
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["L_f", "", "=", "=1", "1=1", "a b=1", "a-b=1", "__x__=1", "ａ=1", "a" * 90 + "=1", f"{CODE}=1", "\n=1"]
)
def test_an_assignment_needs_a_plain_name(text):
    with is_refused("wanted NAME=VALUE with a plain name"):
        split_assignment(text)


def test_an_assignment_is_split_at_the_first_sign():
    assert split_assignment(" L_f = 1/2 ") == ("L_f", "1/2")
    assert split_assignment("L_f=1=2") == ("L_f", "1=2")


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "feddro",
        "feddro.",
        "feddro.theorem_9",
        "../../etc/passwd",
        "os.system",
        "a" * 10**4,
        CODE,
        "feddro.theorem_5_1\n",
        "FEDDRO.theorem_5_1",
        "papers.feddro",
        "__init__.x",
    ],
)
def test_an_unknown_theorem_is_refused(name):
    with is_refused(r"not a theorem; (wanted one of|the nearest is)"):
        theorem(name)


def test_a_long_or_strange_name_is_cut_at_thirty_characters():
    assert shown_name("gap_2") == "gap_2" and shown_name("a b") == "'a b'"
    assert shown_name("?" * 31) == repr("?" * 30)
    assert shown_name("x" * 61) == "x" * 61 and shown_name("x" * 62) == repr("x" * 30)


# --- formulas, against Python's own grammar and against text that must not get through --------------------------------


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
@example("min(0, F_gap**2-min(4, 5))")
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
    at = {NAMES[name]: sp.Rational(v.numerator, v.denominator) for name, v in POINT.items()}
    if wanted is None:
        with pytest.raises(EnclosureError):
            enclose(read, at)
        return
    found = enclose(read, at)  # sympy itself does not compare a sum that has a minimum in it
    assert found.contains(wanted) and found.width <= Fraction(1, 10**20) * (1 + abs(wanted))


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
    ("log(0)", 1, "wanted the log of a positive number, got 0"),
    ("log(-T)", 1, "wanted the log of a positive number"),
    ("log(T, 2)", 1, "log takes one argument, got 2"),
    ("exp()", 5, "wanted a number, a name or '('"),
    ("2**5000", 4, "wanted an exponent with a numerator"),
    ("9**9**9**9", 7, "at most 64"),
    ("((10**50)**50)**50", 2, "bits"),
    ("L + 10**60*10**60*(10**60)**20", 5, "bits"),
    ("(" * 200 + "1" + ")" * 200, MAX_DEPTH + 1, "inside each other"),
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
