"""Costs to reach eps: claims come from `bounds.claims`, costs from what runs use, exponents from the runs themselves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from fedco import theorem
from fedco.bounds.cost.claims import claims_of
from fedco.bounds.cost.resources import MEANING, RESOURCES
from fedco.bounds.registry import all_papers
from fedco.validation.report import rates
from fedco.validation.report.rates import measure_rates
from fedco.validation.runs.measured_complexity import claimed_exponents, cost_exponents
from fedco.validation.runs.registry import complexities, recipe_for
from fedco.validation.runs.sweeps import SweepResult, evaluate_sweep, run_sweep
from fedco.validation.statistics.slopes import log_log_slope, slope_interval
from quick import slow_but

ALL_CLAIMS = [claim for paper in all_papers() for claim in claims_of(paper)]
COMPLEXITIES = complexities()

CONDITIONAL = ("fcsg.corollary_4_2", "fcsg_m.corollary_4_5", "acc_fcsg_m.corollary_4_8")
NAMES = sorted(COMPLEXITIES)
FINITE_T = 0.05
"""How far, relatively, the bound's exponent over the sweep may be from the claimed limit: ComFedL has terms of order 1/T."""


def _cut(name: str):
    return replace(COMPLEXITIES[name], points=COMPLEXITIES[name].points[:2])


def _on_paper(name: str, statistic=None) -> SweepResult:
    """A sweep that was not run: a given statistic of the horizon, that of the bound without one, one message a
    round, and one embedding a step where the method sends them."""
    sweep = COMPLEXITIES[name]
    _, bounds, _ = evaluate_sweep(sweep)
    totals = np.array([bound.total for bound in bounds])
    horizons = np.array([bound.numbers[sweep.over] for bound in bounds])
    noise = np.random.default_rng(0).normal(0, 0.01, (32, len(bounds)))
    values = np.tile(totals, (32, 1)) if statistic is None else statistic(horizons) * np.exp(noise)
    sent = tuple(
        {"rounds": _rounds(b.numbers), "model_floats": _rounds(b.numbers), "embedding_floats": _steps(name, b.numbers)}
        for b in bounds
    )
    return SweepResult(
        sweep,
        recipe_for(name).label,
        tuple(horizons),
        values,
        tuple(totals),
        {},
        (),
        tuple(bound.numbers for bound in bounds),
        sent,
        slope_interval(horizons, values, group_size=8),
        0.0,
    )


def _rounds(numbers) -> str:
    period = next(numbers[key] for key in ("I", "q", "p", "tau") if key in numbers)
    return str(numbers["T"] / period if "T" in numbers else numbers["K"])


def _steps(name: str, numbers) -> str:
    return str(numbers["T"]) if name.startswith("feddro") else "0"


def test_every_claim_on_a_schedule_is_measured():
    assert set(COMPLEXITIES) == {claim.statement_of for claim in ALL_CLAIMS}
    for claim in ALL_CLAIMS:
        assert claimed_exponents(claim.statement_of)[claim.resource] == (-float(claim.order.eps), claim.where)
    assert claimed_exponents("fcsg.theorem_4_1") == {}  # its corollary has the schedule of the claim


@pytest.mark.parametrize("name", NAMES)
def test_along_the_sweep_the_bound_has_the_claimed_exponents(name):
    """So the sweep does follow the schedule that the claim is about, inner batches and periods included."""
    result = _on_paper(name)
    assert len(result.bounds) >= 3 and all(first > last for first, last in pairwise(result.bounds))
    found = {cost.resource: cost for cost in cost_exponents(result)}
    for resource in {claim.resource for claim in ALL_CLAIMS if claim.statement_of == name}:
        assert found[resource].claimed is not None
        assert found[resource].bound == pytest.approx(found[resource].claimed, rel=FINITE_T), resource


def test_a_schedule_that_is_not_the_claimed_one_is_seen():
    """m fixed instead of of order 1/eps: samples then grow as the iterations do."""
    sweep = COMPLEXITIES["fcsg.corollary_4_2"]
    fixed = tuple((replace(item, hyperparameters={**item.hyperparameters, "m": 9}), T) for item, T in sweep.points)
    slopes = []
    for case in (sweep, replace(sweep, points=fixed)):
        _, bounds, _ = evaluate_sweep(case)
        samples = [bound.numbers["m"] * bound.numbers["T"] for bound in bounds]
        slopes.append(float(log_log_slope([bound.total for bound in bounds], samples)))
    assert slopes[0] == pytest.approx(-3, abs=0.02) and slopes[1] > -2.3


@pytest.mark.parametrize(
    "name",
    slow_but(("local_scgdm.corollary_3_5",), ("local_scgdm.corollary_3_5", "feddro.corollary_1", "comfedl.theorem_1")),
)
def test_rounds_and_messages_are_those_that_the_runs_count(name):
    result = run_sweep(_cut(name), seeds=16)
    found = {cost.resource: cost for cost in cost_exponents(result)}
    assert set(found) <= set(RESOURCES) == set(MEANING)
    dim = result.sweep.points[0][0].parameters["dim"]
    for index, row in enumerate(result.messages):
        assert found["rounds"].costs[index] == float(row["rounds"])
        per_round = float(row["model_floats"]) / dim / float(row["rounds"])
        assert per_round in (1, 2) and found["model_messages"].costs[index] == float(row["model_floats"])
    assert ("embedding_messages" in found) == (float(result.messages[0]["embedding_floats"]) > 0)


def test_an_exponent_is_read_off_the_statistic_and_the_costs():
    for power, wanted in ((-0.5, -2.0), (-0.25, -4.0)):
        found = {c.resource: c for c in cost_exponents(_on_paper("local_scgdm.corollary_3_5", lambda T, p=power: T**p))}
        assert found["samples"].measured.slope == pytest.approx(wanted, abs=0.05)
        assert found["rounds"].measured.slope == pytest.approx(0.75 * wanted, abs=0.05)
        assert (found["samples"].claimed, found["samples"].claim) == (-2.0, "Remark 3.7")
        assert found["samples"].measured.contains(-2.0) is (power == -0.5)


def test_a_multiple_of_a_claimed_cost_has_its_claim_and_another_has_none():
    costs = {c.resource: c for c in cost_exponents(_on_paper("local_scgdm.corollary_3_5"))}
    assert (costs["model_messages"].claimed, costs["model_messages"].claim) == (-1.5, "Remark 3.7, as rounds")
    assert costs["iterations"].claim == "Remark 3.7, as samples"
    costs = {c.resource: c for c in cost_exponents(_on_paper("meta_fl.theorem_8"))}
    assert costs["rounds"].claimed == -1.5
    assert costs["samples"].claimed is None and "no claim" in str(costs["samples"])


def test_the_report_shows_samples_and_rounds_of_the_conditional_family(tmp_path, monkeypatch):
    name = "fcsg.corollary_4_2"
    sweep = COMPLEXITIES[name]
    short = replace(sweep, points=tuple((replace(sweep.points[0][0], hyperparameters={"b": 1, "m": n}), n**4)
                                       for n in (2, 3)))  # fmt: skip
    monkeypatch.setattr(rates, "sweeps_of", lambda theorem_id: ())
    monkeypatch.setattr(rates, "complexity_of", {name: short}.get)
    rows = {row["resource"]: row for row in measure_rates(name, seeds=16, cache=tmp_path).to_dict()["costs"]}
    assert (rows["samples"]["claimed_exponent"], rows["samples"]["claim"]) == (-3.0, "Remark 4.3")
    assert rows["rounds"]["claimed_exponent"] == -1.5 and all(row["why"] == sweep.why for row in rows.values())
    assert measure_rates("fcsg.theorem_4_1", seeds=16, cache=tmp_path).costs == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", CONDITIONAL)
def test_measured_complexities_of_the_conditional_family(name):
    """Over these horizons within 5% of the claimed exponents, samples and rounds alike."""
    found = {cost.resource: cost for cost in cost_exponents(run_sweep(COMPLEXITIES[name], seeds=32))}
    for resource in ("iterations", "samples", "rounds"):
        cost = found[resource]
        assert cost.measured.slope == pytest.approx(cost.claimed, rel=0.05), str(cost)


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_of_a_claim_is_the_one_that_is_run(name):
    assert recipe_for(name).label == "printed" and "printed" in theorem(name).labels
