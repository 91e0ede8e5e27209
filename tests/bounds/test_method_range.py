"""What a method can take is declared once, and the method, the bound, the region and the tuner keep to it."""

from __future__ import annotations

import pytest
import torch
from fedco import bounds, theorem
from fedco.algorithms import METHODS
from fedco.algorithms.engine.method import NotApplicable
from fedco.bounds.evaluation.evaluate import InadmissibleError, evaluate
from fedco.bounds.language.quantities import QUANTITIES
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Statement
from fedco.ranges import AT_MOST
from fedco.synthetic import problem

CONSTANTS = dict.fromkeys(
    ("L_h", "L_f", "L_g", "B_f", "B_g", "sigma_h", "sigma_g", "Delta_h", "Delta_g", "Phi_gap"), 1
) | {"y_err": 0, "K": 4}
PRINTED = {**CONSTANTS, "b": 1, "I": 2}
MAIN = "feddro.theorem_5_1"


def test_every_range_is_of_a_quantity_and_every_method_names_its_own():
    assert all(limit.over in {"", *QUANTITIES} | {"clients"} for limit in AT_MOST.values())
    assert set(AT_MOST) - {"sampled_clients"} <= set(QUANTITIES)
    named = {quantity for method in METHODS.values() for quantity in method.quantities.values()}
    assert named == set(AT_MOST) - {"participation"} | {"step_scale", "series_terms", "delay"}
    for name, method in METHODS.items():
        fields = set(method.__dataclass_fields__)
        assert set(method.quantities) <= fields, name
        periods = fields & {"tau", "p", "I"} | ({"q"} & fields if "fcsg" in name else set())
        periods -= {"p"} if name == "marina" else set()  # a probability
        periods -= {"tau"} if name == "fed_ttsa" else set()  # steps of the lower level, which are no iterations
        assert periods == {n for n, q in method.quantities.items() if q == "communication_period"}, name


def test_a_weight_above_one_is_refused_by_the_method():
    METHODS["feddro"](eta=0.1, beta=1.0, I=2)
    with pytest.raises(ValueError, match=r"feddro: beta must be at most 1 .*got 3.7785"):
        METHODS["feddro"](eta=0.1, beta=3.7785, I=2)
    with pytest.raises(ValueError, match="beta must be at most 1"):
        METHODS["fcsg_m"](alpha=0.1, beta=torch.tensor([0.5, 1.5], dtype=torch.float64), q=2, m=1)
    METHODS["local_scgdm"](eta=0.1, alpha=10.0, beta=1.0, gamma=5.0, p=2)
    with pytest.raises(ValueError, match="alpha eta must be at most 1"):
        METHODS["local_scgdm"](eta=0.11, alpha=10.0, beta=1.0, gamma=5.0, p=2)


def test_more_clients_than_there_are_and_a_period_beyond_the_run_are_refused_by_the_method():
    some = problem("local_heterogeneous")
    method = METHODS["comfedl"](eta=0.1, tau=8, m=some.clients)
    method.check(some)
    with pytest.raises(ValueError, match=f"m must be at most {some.clients}, the clients"):
        METHODS["comfedl"](eta=0.1, tau=8, m=some.clients + 1).check(some)
    with pytest.raises(NotApplicable):
        METHODS["feddro"](eta=0.1, beta=1.0, I=2).check(some)
    method.check_steps(8)
    with pytest.raises(ValueError, match="tau must be at most 7, the iterations"):
        method.check_steps(7)


def test_the_bound_says_which_value_no_method_can_take():
    far = theorem(MAIN).bound("printed", strict=False, **PRINTED, T=10**9, eta="1/10", beta="37785/10000")
    assert not far.admissible and "method_range_beta" in far.failed
    assert "method_range_beta: beta <= 1: wanted <= 1 (" in str(far) and "got 3.7785" in str(far)
    assert [check["holds"] for check in far.to_dict()["method_range"]] == [False, True]
    long = theorem("fcsg.theorem_4_1").bound(
        strict=False, L_f=1, L_g=1, S_f=1, S_g=1, sigma_g=1, F_gap=1, N=4, m=2, b=1, B=1, alpha="1/1000", q=11, T=10
    )
    assert "method_range_q" in long.failed
    with pytest.raises(InadmissibleError, match="method_range_beta"):
        theorem(MAIN).bound("printed", **PRINTED, T=10**6, beta=2, eta="1/500")


def test_on_arrays_too():
    found = evaluate(theorem(MAIN).statement("corrected"), **{**PRINTED, "delta_g": 1}, eta=1e-9, beta=0.5, T=[1, 2, 3])
    exact = [
        theorem(MAIN).bound(strict=False, **PRINTED, delta_g=1, eta="1e-9", beta="0.5", T=t).admissible
        for t in (1, 2, 3)
    ]
    assert found["admissible"].tolist() == exact == [False, True, True]


def test_a_region_ends_where_the_method_does():
    values = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": 1, "F_gap": 1, "N": 4, "m": 2}
    period = theorem("fcsg.theorem_4_1").admissible("q", "printed", **values, alpha="1e-6", T=100).intervals["q"]
    assert (period.upper, period.binding["upper"]) == (100, "method_range_q")
    free = theorem("fcsg.theorem_4_1").admissible("q", "printed", **values, alpha="1e-6").intervals["q"]
    assert free.upper > 100, "without T nothing but the theorem limits q"
    two = theorem("fcsg.theorem_4_1").admissible(("q", "T"), "printed", **values, alpha="1e-6")
    assert any(name.startswith("method_range_q") for name in two.conditions)


def test_the_tuner_stays_where_the_method_runs():
    wide = {**PRINTED, "L_f": 3, "B_g": 2}
    del wide["I"], wide["b"]
    found = theorem(MAIN).tune("printed", eps="1/2", **wide)
    beta = float(found.bound.numbers["beta"])
    assert beta <= 1 and found.bound.admissible
    fcsg = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": 1, "F_gap": 1, "N": 4}
    with pytest.raises(InputError, match=r"method_range_beta.*wanted <= 1, got 2"):
        theorem("fcsg_m.theorem_4_4").tune("printed", eps="1/2", **fcsg, beta=2)


def test_no_statement_asks_for_more_than_its_method_can_take():
    """Where a theorem declares the limit itself it is not listed again."""
    assert theorem("fcsg_m.theorem_4_4").statement("corrected").condition("momentum_range")
    names = [c.name for c in theorem("fcsg_m.theorem_4_4").statement("corrected").method_range]
    assert names == ["method_range_q"]
    for item in bounds.all_theorems().values():
        for label in item.labels:
            for condition in item.statement(label).method_range:
                open_end = "its domain is (0, 1)" in condition.note
                assert condition.note and condition.relation == ("<" if open_end else "<="), item.id


def test_an_optimum_outside_the_range_is_no_longer_one(monkeypatch: pytest.MonkeyPatch):
    """The printed theorem alone has its least cost at a momentum above 1, with which the method diverges."""
    values = {n: v for n, v in {**PRINTED, "B_g": 3}.items() if n not in ("I", "b")}
    inside = theorem(MAIN).tune("printed", eps=1000, **values)
    monkeypatch.setattr(Statement, "method_range", property(lambda statement: ()))
    outside = theorem(MAIN).tune("printed", eps=1000, **values)
    assert outside.bound.numbers["beta"] > 1 >= inside.bound.numbers["beta"]
    assert outside.value < inside.value
