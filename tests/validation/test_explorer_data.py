"""What the explorer's page is made of, without a browser: ranges, axes, horizons, starting values, and formulas as JavaScript."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import fedco
import pytest
import sympy as sp
from fedco.bounds.language.reading import InputError
from fedco.validation.explorer.data import theorem_data
from fedco.validation.explorer.javascript import Library, Printer
from fedco.validation.explorer.page import write_explorer

SYMBOLS = {
    "L": "local_smoothness",
    "sigma": "local_gradient_noise",
    "F_gap": "objective_gap",
    "b": "batch_size",
    "p": "communication_period",
    "eta": "step_size",
    "N": "clients",
    "T": "iterations",
}
CONDITIONS = {"step_size": "eta <= 1/L", "period": "p <= b"}
TERMS = {"all": "2*F_gap/(eta*T)", "noise": "eta*L*sigma**2/(b*N)", "drift": "(p - 1)*L**2*eta**2*sigma**2"}


@pytest.fixture
def data(monkeypatch):
    """A theorem that no problem fits."""
    monkeypatch.setattr("fedco.validation.explorer.data.fitting_problems", lambda *_: [])
    theorem = fedco.define(id="mine.theorem_1", symbols=SYMBOLS, terms=TERMS, conditions=CONDITIONS)
    return theorem_data(theorem, "mine.toml", [])


def test_every_symbol_has_the_range_of_its_kind(data):
    ranges = {symbol["name"]: (symbol["low"], symbol["high"]) for symbol in data["symbols"]}
    assert {name: ranges[name] for name in ("L", "eta", "p", "N", "T")} == {
        "L": (1e-4, 1e4),
        "eta": (1e-8, 1e2),
        "p": (1, 1e6),
        "N": (1, 1e6),
        "T": (1, 1e12),
    }
    assert {symbol["name"] for symbol in data["symbols"] if symbol["whole"]} == {"b", "p", "N", "T"}
    assert {symbol["name"] for symbol in data["symbols"] if symbol["tuned"]} == {"eta"}


def test_the_horizon_is_the_number_of_steps(data):
    assert data["horizon"] == "T"


def test_the_axes_are_the_pair_that_a_condition_binds(data):
    """The batch and the period stand together in a condition, without any other symbol; the step size stands alone."""
    assert data["statements"][0]["axes"] == ["b", "p"]


def test_the_page_starts_at_values_that_the_conditions_admit(data):
    at = {name: Fraction(value) for name, value in data["values"].items()}
    assert data["presets"] == [] and set(at) == set(SYMBOLS)
    assert 0 < at["eta"] * at["L"] <= 1 and at["p"] <= at["b"]


def test_formulas_have_the_same_value_as_javascript():
    """Whatever the exponent: the text is read as Python, whose `math` has the functions of `Math`."""
    x, y = sp.symbols("x y", positive=True)
    powers = [
        x**2,
        x**3,
        x**-1,
        x**-2,
        x ** sp.Rational(1, 2),
        x ** sp.Rational(-3, 2),
        (x + y) ** 2,
        (x + y) ** 3,
        x**y,
    ]
    rng = Random(0)
    for expr in [*powers, sum(powers), x**2 * y**3 / (1 + x) ** 2]:
        text = Printer(Library(), {x: "x", y: "y"}).doprint(expr)
        at = {x: rng.uniform(0.3, 3), y: rng.uniform(0.3, 3)}
        value = eval(text, {"__builtins__": {}, "Math": math, "x": at[x], "y": at[y]})
        assert value == pytest.approx(float(expr.subs(at)), rel=1e-12), text


def test_two_theorems_with_one_id_do_not_share_a_page(tmp_path):
    head = 'id = "mine.theorem_1"\n[symbols]\nF_gap = "objective_gap"\nT = "iterations"\neta = "step_size"\n'
    files = [tmp_path / f"{name}.toml" for name in ("one", "two")]
    for number, file in enumerate(files, 1):
        file.write_text(f'{head}[terms]\na = "{number}*F_gap/(eta*T)"\n')
    with pytest.raises(InputError, match=r"mine\.theorem_1: two theorems have this id"):
        write_explorer(tmp_path / "page.html", [str(file) for file in files])
    assert not (tmp_path / "page.html").exists()
