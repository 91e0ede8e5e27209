"""Reading what a user typed: exact numbers, and an error that names the symbol, the wanted range and the value got."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from time import perf_counter

import numpy as np
import pytest
from fedco import theorem
from fedco.bounds import InputError
from fedco.bounds.language.reading import read_number, read_value, read_values, shown_name, split_assignment
from hypothesis import given, settings
from hypothesis import strategies as st

THEOREM = theorem("feddro.theorem_5_1")
NOTATION = THEOREM.notation
CODE = "__import__('os').system('x')"

NOT_NUMBERS = [
    *(
        "",
        "   ",
        "nan",
        "inf",
        "∞",
        "½",
        "١",
        "１",
        "1,5",
        "1 /2",
        "1/2/3",
        "--1",
        "1e",
        "e5",
        ".",
        "0x10",
        "1_000",
        "1e1.5",
    ),
    *("1j", "1+1", "2**3", "sqrt(2)", "pi", "L_f", "True", "[1]", "1\n2", "1;2", "1\x00", "\x1b[31m1", "$(id)", "`id`"),
    *("1" * 61, "9" * 10**5, "1e101", "1e-101", "1/0", "1e" + "9" * 50, "\ud800", "\N{ZERO WIDTH SPACE}1", "1٫5", CODE),
]
NOT_EVEN_TEXT = [
    *(None, True, [1], {}, b"1", 1j, float("nan"), float("inf"), Decimal("0.1"), object, len),
    *(np.float64("nan"), np.bool_(True), np.datetime64("2020-01-01")),
]


@pytest.mark.parametrize("value", NOT_NUMBERS + NOT_EVEN_TEXT, ids=lambda value: ascii(value)[:30])
def test_what_is_not_a_plain_number_is_refused(value):
    with pytest.raises(InputError, match=r"^L_f: wanted a positive real") as caught:
        read_value(NOTATION["L_f"], value)
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 300
    assert caught.value.__cause__ is None


def test_an_array_of_numbers_is_refused():
    with pytest.raises(InputError):
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
        with pytest.raises(InputError):
            read_number("x", text)
    assert perf_counter() - start < 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("L_f", 0),
        ("L_f", -1),
        ("L_f", "-0"),
        ("sigma_g", -1),
        ("sigma_g", "-1e-100"),
        ("K", 0),
        ("K", "3/2"),
        ("K", 1.5),
        ("K", -4),
        ("I", "1e-1"),
        ("T", "0.999"),
        ("eta", 0),
        ("eta", "-1/3"),
    ],
)
def test_values_outside_the_domain_are_refused(name, value):
    with pytest.raises(
        InputError, match=rf"^{name}: wanted a (positive|nonnegative) (real|integer) \(.+\), got "
    ) as caught:
        read_value(NOTATION[name], value)
    assert str(value) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"), [("sigma_g", 0), ("sigma_g", "-0"), ("K", "8/4"), ("K", "1e3"), ("eta", "1e-100")]
)
def test_values_at_the_edge_of_the_domain_are_accepted(name, value):
    assert read_value(NOTATION[name], value) >= 0


def test_steps_of_a_recursion_are_limited():
    notation = theorem("meta_fl.lemma_4").notation
    assert read_value(notation["nu"], 100) == 100
    for value in (101, -1, "1/2"):
        with pytest.raises(InputError, match="nu: wanted a whole number from 0 to 100"):
            read_value(notation["nu"], value)


@pytest.mark.parametrize("name", ["zeta", "l_f", "__class__", "L_f ", CODE, "a" * 10**4, "\n", "", "L_f\x1b[31m"])
def test_an_unknown_symbol_is_refused_and_the_nearest_or_the_known_ones_are_named(name):
    with pytest.raises(
        InputError, match=r"not a symbol of here; (wanted one of L_h L_f|the nearest is \w+$)"
    ) as caught:
        read_values(NOTATION.bindings, {name: 1}, "here")
    assert len(str(caught.value).splitlines()) == 1 and "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["L_f", "", "=", "=1", "1=1", "a b=1", "a-b=1", "__x__=1", "ａ=1", "a" * 90 + "=1", f"{CODE}=1", "\n=1"]
)
def test_an_assignment_needs_a_plain_name(text):
    with pytest.raises(InputError, match="wanted NAME=VALUE with a plain name"):
        split_assignment(text)


def test_an_assignment_is_split_at_the_first_sign():
    assert split_assignment(" L_f = 1/2 ") == ("L_f", "1/2")
    assert split_assignment("L_f=1=2") == ("L_f", "1=2")


def test_a_bound_names_what_is_missing():
    with pytest.raises(InputError, match=r"^L_h: wanted a nonnegative real \(.+\), got nothing; missing: L_h"):
        THEOREM.bound("printed", L_f=1)


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
    with pytest.raises(InputError, match=r"not a theorem; (wanted one of|the nearest is)") as caught:
        theorem(name)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("solve", ["L_f", "zeta", "", CODE, "gradient_sq"])
def test_only_hyperparameters_can_be_solved_for(solve):
    with pytest.raises(InputError):
        THEOREM.admissible(solve, "printed", L_f=1)


def test_a_long_or_strange_name_is_cut_at_thirty_characters():
    assert shown_name("gap_2") == "gap_2" and shown_name("a b") == "'a b'"
    assert shown_name("?" * 31) == repr("?" * 30)
    assert shown_name("x" * 61) == "x" * 61 and shown_name("x" * 62) == repr("x" * 30)
