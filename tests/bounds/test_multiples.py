"""A condition that one whole number divides another is checked by everything that speaks of admissible values."""

from __future__ import annotations

import fedco
import numpy as np
import pytest
from fedco.bounds.evaluation.evaluate import InadmissibleError
from fedco.bounds.language.reading import InputError

CONSTANTS = dict.fromkeys(("G_f", "G_g", "L_f", "L_g", "L", "sigma", "F_gap"), 1)
NAMES = [("comfedl.theorem_1", {"b": 1, "b_1": 1}), ("comfedl.theorem_2", {"b": 1})]
every = pytest.mark.parametrize(("name", "batches"), NAMES)
labels = pytest.mark.parametrize("label", ["printed", "composed", "corrected"])


@labels
@every
def test_a_bound_says_that_the_rounds_are_not_whole(name, batches, label):
    theorem = fedco.theorem(name)
    known = {**CONSTANTS, **batches, "eta": "1/1000", "tau": 10}
    values = {n: value for n, value in known.items() if n in theorem.symbols(label)}
    assert theorem.bound(label, T=20, **values).admissible
    found = theorem.bound(label, T=19, strict=False, **values)
    assert found.failed == ("multiple_of_period",) and "T is a multiple of tau" in str(found)
    with pytest.raises(InadmissibleError, match="multiple_of_period"):
        theorem.bound(label, T=19, **values)
    many = theorem.bound(label, T=np.array([19, 20, 25, 30]), strict=False, **values)
    assert list(many.admissible) == [False, True, False, True]


@every
def test_a_set_of_step_sizes_is_empty_where_the_rounds_are_not_whole(name, batches):
    theorem = fedco.theorem(name)
    values = {n: v for n, v in {**CONSTANTS, **batches, "tau": 10}.items() if n in theorem.symbols()}
    assert theorem.admissible("eta", T=20, **values).feasible
    assert not theorem.admissible("eta", T=19, **values).feasible
    found = theorem.admissible("T", eta="1/1000", **values)
    assert "T is a multiple of tau" in str(found)


@pytest.mark.parametrize("given", [{"tau": 10}, {"T": 770}, {}])
@every
def test_the_tuner_chooses_whole_rounds(name, batches, given):
    theorem = fedco.theorem(name)
    found = theorem.tune(budget={"iterations": 777} if "T" not in given else {"samples": 10**6}, **CONSTANTS, **given)
    point = {**{n: float(v) for n, v in found.values.items()}, **given}
    assert found.bound.admissible and point["T"] % point["tau"] == 0
    best = theorem.tune(eps=found.value * 2, **CONSTANTS, **given)
    point = {**{n: float(v) for n, v in best.values.items()}, **given}
    assert best.bound.admissible and point["T"] % point["tau"] == 0


@every
def test_given_numbers_that_do_not_divide_are_named(name, batches):
    with pytest.raises(InputError, match="the values given violate T is a multiple of tau"):
        fedco.theorem(name).tune(budget={"samples": 10**6}, **CONSTANTS, tau=10, T=19)


DRAWN = ("meta_fl.theorem_8", "meta_fl.theorem_8_FO", "meta_fl.theorem_8_HF")
drawn = pytest.mark.parametrize("name", DRAWN)
BATCHES = {"D": 10, "D_H": 10, "delta": "1/100", "c": 10, "kappa_G": 1, "kappa_H": 1}


def _meta(theorem, label):
    ones = dict.fromkeys(("B", "L", "rho", "sigma_G", "sigma_H", "gamma_G", "gamma_H", "F_gap", "nu"), 1)
    known = {**ones, **BATCHES, "alpha": "1/10", "beta": "1/1000", "tau": 2, "K": 100, "n": 10}
    return {name: value for name, value in known.items() if name in theorem.symbols(label)}


@labels
@drawn
def test_a_bound_says_that_a_part_of_a_client_takes_part(name, label):
    theorem = fedco.theorem(name)
    known = _meta(theorem, label)
    assert theorem.bound(label, r="3/10", **known).admissible
    found = theorem.bound(label, r="1/4", strict=False, **known)
    assert found.failed == ("whole_participants",) and "n*r is a whole number" in str(found)
    shares = np.linspace(0.1, 1, 19)  # 0.1, 0.15, 0.2, ...: in float64 3*0.1*10 is no 3
    many = theorem.bound(label, r=shares, strict=False, **known)
    assert list(many.admissible) == [place % 2 == 0 for place in range(19)]


@drawn
def test_the_set_of_a_statement_with_a_part_of_a_client_is_empty(name):
    theorem = fedco.theorem(name)
    known = {n: v for n, v in _meta(theorem, "corrected").items() if n != "beta"}
    assert theorem.admissible("beta", r="3/10", **known).feasible
    empty = theorem.admissible("beta", r="1/4", **known)
    assert not empty.feasible and "whole_participants" in str(empty)
    shares = theorem.admissible("r", beta="1/1000", **known)
    assert "a whole number" in str(shares)


@drawn
def test_the_tuner_refuses_a_part_of_a_client(name):
    theorem = fedco.theorem(name)
    known = {n: v for n, v in _meta(theorem, "corrected").items() if n not in ("beta", "tau", "K")}
    assert theorem.tune(budget={"rounds": 1000}, r="3/10", **known).bound.admissible
    with pytest.raises(InputError, match=r"the values given violate n\*r is a whole number"):
        theorem.tune(budget={"rounds": 1000}, r="1/4", **known)


def test_show_states_it():
    assert "T is a multiple of tau" in fedco.theorem("comfedl.theorem_1").to_markdown()
    whole = fedco.theorem("meta_fl.theorem_8")
    stated = whole.to_dict()["statements"]["corrected"]["conditions"]
    assert "n*r is a whole number" in [condition["relation"] for condition in stated]
    assert r"\in \mathbb{N}$" in whole.to_markdown()
