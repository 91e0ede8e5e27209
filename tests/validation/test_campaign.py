"""The path from a theorem to a verdict: planning, chunks on disk, negative controls, and runs that must fail."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import fedco
import numpy as np
import pytest
from fedco import theorem
from fedco.algorithms import ModifiedFedAvg, drive
from fedco.algorithms.engine import metrics
from fedco.bounds.language.reading import InputError
from fedco.synthetic import problem
from fedco.validation.runs.campaign import Experiment, ExperimentResult, chunks_of, plan, run_task
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipes, runs_of
from fedco.validation.runs.validate import negative_control, validate
from fedco.validation.runs.values import constants
from fedco.validation.statistics.alpha_budget import AlphaBudget
from fedco.validation.statistics.verdict import Outcome, judge_exact

RECIPES = recipes()

THEOREM = "feddro.theorem_5_1"
HOMOGENEOUS = RECIPES[THEOREM].instances[0]
T = 256


def test_constants_are_read_from_certificates() -> None:
    values, kind = constants(theorem(THEOREM), "printed", problem("feddro_heterogeneous"))
    assert values["Delta_g"] == Fraction(0.35) and values["y_err"] == 0
    assert kind == "upper"  # the gap is only bounded


def test_a_problem_that_certifies_too_little_is_refused() -> None:
    with pytest.raises(InputError, match="certifies no"):
        constants(theorem(THEOREM), "printed", problem("local_homogeneous"))


def test_chunks_do_not_change_a_seed(tmp_path) -> None:
    (experiment,) = plan(THEOREM, [HOMOGENEOUS], AlphaBudget("1e-6"), horizons=(T,), seeds=6)
    whole = measure(experiment.theorem, experiment.instance, T, 6, root_seed=experiment.root_seed).statistic
    parts = [run_task(task, tmp_path)["statistic"] for task in chunks_of(experiment, 4)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_a_theorem_is_supported_and_its_control_refuted(tmp_path, monkeypatch) -> None:
    short = replace(RECIPES[THEOREM], instances=(replace(HOMOGENEOUS, horizons=(144, 256)),))
    monkeypatch.setitem(runs_of("feddro").recipes, THEOREM, short)
    found = validate(THEOREM, alpha="1e-3", jobs=1, out=tmp_path)
    assert {verdict.outcome for verdict in found.verdicts} == {Outcome.SUPPORTED}
    assert [verdict.outcome for verdict in found.controls] == [Outcome.REFUTED]
    assert (tmp_path / "results.json").exists() and (tmp_path / "figure_1.svg").exists()
    shares = found.results[0].verdict.shares
    assert set(shares) == set(found.results[0].bound.terms) and abs(sum(shares.values()) - 1) < 1e-9


def test_a_control_stops_at_the_first_power_of_ten_that_fails() -> None:
    """A constant statistic of 1 below a bound of 150: 15 and 1.5 still hold, and the third share of alpha decides."""
    (experiment,) = plan(THEOREM, [HOMOGENEOUS], AlphaBudget("1e-6"), horizons=(T,), seeds=400)
    ones, bound = np.ones(400), SimpleNamespace(total=150.0, numbers={}, about=experiment.theorem.statement("printed"))
    result = ExperimentResult(HOMOGENEOUS, bound, 4.0, "exact", ones, ones, ones, {}, 0.0, experiment, None)
    ledger = AlphaBudget("9e-3")
    ledger.allot("control", "9e-3", 400)
    verdict = negative_control(result, "control", ledger)
    assert verdict.outcome is Outcome.REFUTED and verdict.claim.endswith("divided by 1,000")
    assert verdict.alpha == pytest.approx(1e-3)


def test_an_inadmissible_horizon_is_refused() -> None:
    instance = RECIPES[THEOREM].instances[1]
    with pytest.raises(InputError, match="horizon"):
        measure(THEOREM, instance, 8, 1)


def test_an_unknown_problem_is_named() -> None:
    with pytest.raises(InputError, match="not an instance"):
        validate(THEOREM, problems=["nowhere"])


def test_a_step_three_times_beyond_stability_is_refuted() -> None:
    """Phi = sqrt(x^2 + 4) has curvature 1/2 at its minimum: gradient steps are stable up to eta = 4, and 12 oscillates.

    Both runs are judged against Theorem 4.2 (corrected) at eta = 2; only the admissible one is allowed to satisfy it.
    """
    made, steps = problem("feddro_counterexample"), 1000
    gap = Fraction(made.certificates["objective_gap"].value)
    curved = Fraction(1, 10**9)  # the inner maps are affine: any positive bound of their curvature holds
    constants_4_2 = {"L_f": Fraction(1, 2), "L_g": curved, "B_f": 1, "B_g": 1, "Delta_g": 3, "Phi_gap": gap}
    bound = theorem("feddro.theorem_4_2").bound("corrected", eta=2 - 8 * curved, I=1, T=steps, **constants_4_2)
    assert bound.admissible and bound.total is not None
    outcomes = {}
    for eta in (2.0, 12.0):
        record = {"gradient": metrics.gradient_norm_squared}
        result = drive(ModifiedFedAvg(eta=eta, I=1), made, steps=steps, record=record, every=steps)
        sides = (float(result.mean("gradient")), bound.total)  # no noise: one run is exact up to rounding
        value, right = ((side * (1 - 1e-9), side * (1 + 1e-9)) for side in sides)
        outcomes[eta] = judge_exact(value, right, certificates_kind="upper", cap=1).outcome
    assert outcomes == {2.0: Outcome.SUPPORTED, 12.0: Outcome.REFUTED}


def own(**method):
    return fedco.define(
        id="mine.own",
        symbols={"F_gap": "objective_gap", "eta": "step_size", "T": "iterations", "p": "communication_period"},
        terms={"initialisation": "8*F_gap*p/(eta*T)"},
        method={"name": "local_sgd", "eta": "eta", "tau": "p", **method},
        units=["objective_gap", "step_size"],
    )


@pytest.mark.parametrize("method", [{"eta": "eta/1000"}, {"tau": 1}, {"m": 2}])
def test_another_method_under_the_same_id_is_measured_anew(method) -> None:
    """The same bound was judged by what the other method had measured, which said SUPPORTED."""
    instance = Instance("federated_noisy", {"eta": Fraction(1, 4), "p": 2}, "why")
    first, second = (Experiment(each, "printed", instance, 8, 4, 0) for each in (own(), own(**method)))
    ((one,), (other,)) = (chunks_of(each) for each in (first, second))
    assert one.key != other.key
