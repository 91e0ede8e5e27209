"""The parts of a validated run by their definitions: generated instances, plans, chunks, texts, numbers without loss."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
import torch
from fedco import lossless, theorem
from fedco.algorithms import FCSG, LocalSGD, Start
from fedco.bounds.language.notation import Notation
from fedco.bounds.language.reading import InputError
from fedco.storage import write_json
from fedco.synthetic import problem
from fedco.validation.runs import campaign, generate, registry, sweeps, values, verify
from fedco.validation.runs.campaign import Experiment, Task, chunks_of, tasks_of
from fedco.validation.runs.generate import Generated, Setting, _horizons, _round_up, _rounded, instances_of
from fedco.validation.runs.hidden_constant import NeededConstant, hidden_symbol, proved_value
from fedco.validation.runs.instance import Instance
from fedco.validation.runs.measured_complexity import CostExponent
from fedco.validation.runs.method_of import _whole, build_of, fixed_by, steps_of
from fedco.validation.runs.sweep import along
from fedco.validation.runs.sweeps import FIRST_ROOT_SEED, SweepResult
from fedco.validation.runs.validate import measured_slope, versions
from fedco.validation.runs.values import evaluate_at, exact_start, horizon_of, numbers_of
from fedco.validation.statistics.alpha_budget import AlphaBudget
from fedco.validation.statistics.slopes import SlopeEstimate

SGD = "baselines.local_sgd"

# --- generated instances -------------------------------------------------------------------------------------------------


def test_generated_numbers_have_three_digits_and_are_not_above():
    for value, wanted in (
        (Q(123456), 123000),
        (Q(99999, 10**7), Q(999, 10**5)),
        (Q(1, 8), Q(1, 8)),
        (Q(2, 3), Q(666, 1000)),
    ):
        assert _rounded(value) == wanted
    assert _rounded(Q(0)) == 0 and _rounded(Q(-5)) == -5 and _rounded(Q(1)) == 1 and _rounded(Q(1000)) == 1000


def test_generated_horizons_have_two_digits_and_whole_rounds():
    assert [_round_up(value, 4) for value in (1, 4, 5, 99, 100, 101, 999, 1000, 1001, 12345)] == [
        4, 4, 8, 100, 100, 104, 1000, 1000, 1040, 12400
    ]  # fmt: skip


def scheduled(name="fcsg.corollary_4_2", on="conditional_homogeneous") -> Setting:
    return Setting(theorem(name), "printed", on, {})


def test_prescribed_horizons_have_whole_roots_and_begin_where_the_bound_is_small():
    setting = scheduled()
    instance = setting.instance(setting.whole(), "", "schedule")
    found = list(_horizons(setting, instance))
    N = setting.far.clients
    assert found == sorted(set(found)) and found[0] >= 16 and found[-1] <= 20_000
    assert setting.is_small(setting.bound(instance, found[0]))
    every = {N**j * n**k for j in range(4) for k in (2, 3, 4) for n in range(2, 142)}
    earlier = [T for T in every if 16 <= T < found[0]]
    assert earlier and not setting.is_small(setting.bound(instance, max(earlier)))
    assert {T for T in every if found[0] <= T <= 20_000} == set(found)


def test_two_horizons_are_taken_the_second_at_least_twice_the_first(monkeypatch):
    setting, asked = scheduled(), []
    instance = setting.instance({}, "", "schedule")

    def says(self, instance, T):
        asked.append(T)
        return T != 30

    monkeypatch.setattr(Setting, "says_something", says)
    assert setting.at_two(instance, iter([30, 40, 79, 80, 90])).horizons == (40, 80) and asked == [30, 40, 80]
    for few in ([30, 40, 79], [40, 20_001], []):
        with pytest.raises(InputError, match="at two horizons up to 20000"):
            setting.at_two(instance, iter(few))
    assert setting.at_two(instance, iter([10_000, 20_000])).horizons == (10_000, 20_000)


def test_a_setting_leaves_steps_to_the_tuner_and_chooses_the_rest():
    """Periods of 2, batches of one, everybody takes part, a hidden constant as the theorem declares it; what is fixed stays."""
    setting = Setting(theorem("meta_fl.theorem_8"), "printed", "meta_noisy", {})
    whole = setting.whole()
    assert whole["tau"] == 2 and whole["r"] == 1 and whole["D"] == 1 and whole["c"] == 10 and "beta" not in whole
    assert "K" not in whole and "n" not in whole and "nu" not in whole and "alpha" not in whole
    assert setting.whole(7)["tau"] == 7 and setting.step == "beta"
    fixed = replace(setting, fixed={"beta": Q(1, 100), "tau": Q(3)})
    assert fixed.step is None and fixed.whole()["tau"] == 3
    assert scheduled().step is None and "q" not in scheduled().whole() and scheduled().scheduled >= {"q", "alpha"}
    given = setting.values(whole)
    assert (
        given["n"] == setting.far.clients and given["nu"] == setting.far.nu and given["tau"] == 2 and "K" not in given
    )


def test_a_bound_is_small_below_three_quarters_of_the_cap():
    setting = Setting(theorem(SGD), "printed", "federated_noisy", {})
    cap = float(setting.far.certificates["gradient_cap"].value) ** 2
    assert float(setting.cap) == pytest.approx(cap)
    for total, small in ((0.74 * cap, True), (0.76 * cap, False), (None, False)):
        assert setting.is_small(SimpleNamespace(total=total)) is small


def test_a_start_is_not_moved_further_away_and_unknown_parameters_are_left_out():
    setting = Setting(theorem(SGD), "printed", "federated_noisy", {})
    assert setting.instance({}, "", "tuned").parameters["start"] <= 8.0
    assert setting.instance({}, "", "stress", rest=True).parameters["start"] == 0.0
    assert setting.instance({}, "", "tuned").parameters.keys() <= {"start", "dim"}
    assert not Setting(theorem(SGD), "printed", setting.far, {}).instance({}, "", "tuned").parameters


def test_what_a_theorem_is_validated_on():
    declared = registry.recipe_for(SGD).instances
    item = theorem(SGD)
    assert instances_of(item, "printed", declared) == Generated(tuple(declared), ())
    only = instances_of(item, "printed", declared, ["federated_homogeneous"]).instances
    assert only == tuple(i for i in declared if i.problem == "federated_homogeneous") and len(only) == 2
    with pytest.raises(
        InputError, match=r"--problem local_noisy: not an instance of baselines.local_sgd: wanted a problem of the kind"
    ):
        instances_of(item, "printed", declared, ["federated_homogeneous", "local_noisy"])
    with pytest.raises(InputError, match="no problem to validate it on"):
        instances_of(item, "printed", (), [])
    assert Generated((), ("a", "b", "a")).why == "a; b"


def test_at_rest_is_refused_where_the_gap_stays(monkeypatch):
    with pytest.raises(InputError, match="no parameter that starts it at a stationary point"):
        _ = Setting(theorem(SGD), "printed", problem("federated_noisy"), {}).at_rest
    setting = Setting(theorem(SGD), "printed", "federated_noisy", {})
    gap = float(setting.at_rest.certificates["objective_gap"].value)
    assert gap <= 0.01 * float(setting.far.certificates["objective_gap"].value)
    monkeypatch.setattr(generate, "RESTING", -1.0)
    with pytest.raises(InputError, match="no parameter that starts it"):
        _ = Setting(theorem(SGD), "printed", "federated_noisy", {}).at_rest


# --- plans and chunks ----------------------------------------------------------------------------------------------------

INSTANCE = Instance("federated_noisy", {"eta": Q(1, 4), "p": 4, "b": 2}, "why", {"start": 5.0}, (200, 400))


def experiment(T: int = 200, seeds: int = 300, **changes) -> Experiment:
    return replace(Experiment(theorem(SGD), "printed", INSTANCE, T, seeds, 7), **changes)


def test_chunks_are_all_seeds_in_order_and_the_longest_come_first():
    assert [(t.first, t.count) for t in chunks_of(experiment(seeds=300))] == [(0, 128), (128, 128), (256, 44)]
    assert [(t.first, t.count) for t in chunks_of(experiment(seeds=128))] == [(0, 128)]
    listed = tasks_of([experiment(T=100, seeds=200), experiment(T=150, seeds=200)])
    assert [(t.experiment.T, t.count) for t in listed] == [(150, 128), (100, 128), (150, 72), (100, 72)]


def test_a_plan_has_root_seeds_of_its_own_and_shares_alpha():
    ledger = AlphaBudget("1e-3")
    planned = campaign.plan(
        SGD, [INSTANCE, replace(INSTANCE, horizons=(50,))], ledger, seeds=9, root_seed=5, budget=Q(1, 2000)
    )
    assert [(e.T, e.root_seed, e.seeds) for e in planned] == [(200, 5, 9), (400, 6, 9), (50, 7, 9)]
    assert [entry.alpha for entry in ledger.entries] == [Q(1, 6000)] * 3 and ledger.remaining == Q(1, 2000)
    other = AlphaBudget("1e-3")
    assert [e.T for e in campaign.plan(SGD, [INSTANCE], other, seeds=9, horizons=(12, 24))] == [12, 24]
    assert other.remaining == 0


def test_planned_seeds_are_whole_groups_and_at_least_64(monkeypatch):
    asked = []

    def planned(bound, cap, slack, alpha):
        asked.append((bound, cap, slack, alpha))
        return 65

    def seeds(T: int) -> int:
        (made,) = campaign.plan(SGD, [INSTANCE], AlphaBudget("1e-3"), horizons=[T])
        return made.seeds

    monkeypatch.setattr(campaign, "seeds_to_support", planned)
    assert seeds(200) == 72
    ((bound, cap, slack, alpha),) = asked
    assert 0 < bound < cap and (slack, alpha) == (4.0, Q(1, 1000))
    monkeypatch.setattr(campaign, "seeds_to_support", lambda *_: 3)
    assert seeds(200) == 64
    monkeypatch.setattr(campaign, "seeds_to_support", None)  # not asked where the bound says nothing
    assert seeds(4) == 64


def test_the_key_of_a_chunk_changes_with_everything_that_its_numbers_depend_on():
    base = Task(experiment(), 0, 128)
    others = [
        Task(experiment(), 128, 128),
        Task(experiment(), 0, 127),
        Task(experiment(T=201), 0, 128),
        Task(experiment(root_seed=8), 0, 128),
        Task(experiment(instance=replace(INSTANCE, parameters={"start": 5.5})), 0, 128),
        Task(experiment(instance=replace(INSTANCE, hyperparameters={**INSTANCE.hyperparameters, "b": 3})), 0, 128),
        Task(experiment(theorem=theorem("baselines.local_sgd_heterogeneity")), 0, 128),
        Task(experiment(method=LocalSGD(eta=0.1, tau=2)), 0, 128),
    ]
    keys = [task.key for task in (base, *others)]
    assert len(set(keys)) == len(keys) and all(len(key) == 24 for key in keys)
    assert Task(experiment(instance=replace(INSTANCE, why="other words")), 0, 128).key == base.key
    assert base.experiment.name == "baselines.local_sgd/printed/federated_noisy[start=5.0] (eta=1/4, p=4, b=2)/T=200"


def own_problem(made) -> Experiment:
    return experiment(instance=replace(INSTANCE, problem=made, parameters={}))


def test_problem_objects_are_told_apart_by_what_they_answer():
    one, same = problem("federated_noisy"), problem("federated_noisy")
    assert Task(own_problem(one), 0, 1).key == Task(own_problem(same), 0, 1).key
    assert Task(own_problem(problem("federated_noisy", start=4.0)), 0, 1).key != Task(own_problem(one), 0, 1).key
    points = []

    class Shifted:
        """Agrees with the problem at two of the three points at least."""

        def __init__(self, at: int | None) -> None:
            self.at = at

        def __getattr__(self, name):
            return getattr(one, name)

        def objective(self, x):
            points.append(x - one.initial_point)
            values = one.objective(x).clone()
            if self.at is not None:
                values[self.at] += 1e-12
            return values

    assert len({Task(own_problem(Shifted(at)), 0, 1).key for at in (None, 0, 1, 2)}) == 4
    wave = np.sin(np.arange(1, one.dim + 1))
    np.testing.assert_allclose(points[0], [0 * wave, wave, -2 * wave])


def test_what_is_the_callers_own_stays_in_this_process(monkeypatch):
    monkeypatch.setattr(campaign, "run_task", lambda task, *more: {"first": task.first})

    def processes(n_jobs, **more):
        raise RuntimeError("other processes")

    monkeypatch.setattr(joblib, "Parallel", processes)
    for own in (experiment(method=LocalSGD(eta=0.1, tau=2)), own_problem(problem("federated_noisy"))):
        tasks = chunks_of(own, 100)
        assert campaign.run_tasks(tasks, jobs=2, cache=None) == {task.key: {"first": task.first} for task in tasks}
    assert len(campaign.run_tasks(chunks_of(experiment(), 100), jobs=1, cache=None)) == 3
    with pytest.raises(RuntimeError, match="other processes"):
        campaign.run_tasks(chunks_of(experiment(), 100), jobs=2, cache=None)


def test_chunks_on_disk_keep_infinities_and_every_bit(tmp_path):
    task = Task(experiment(), 0, 3)
    data = {
        "statistic": [0.1, math.inf, 5e-324],
        "proof_average": [1.0, 2.0, 3.0],
        "messages": {"rounds": "3"},
        "seconds": 1.5,
    }
    assert campaign.cached(task, tmp_path) is None and campaign.cached(task, None) is None
    campaign.keep_chunk(task, None, data)
    campaign.keep_chunk(task, tmp_path, data)
    assert campaign.cached(task, tmp_path) == data and [p.name for p in tmp_path.iterdir()] == [f"{task.key}.json"]


def test_a_verdict_outside_the_conditions_spends_its_alpha_and_names_what_fails():
    one, ledger = experiment(), AlphaBudget("1e-3")
    ledger.allot(one.name, "1e-3", 300)
    bound = SimpleNamespace(admissible=False, failed=("step", "period"))
    found = campaign.verdict_for(one, bound, 1.0, "exact", np.ones(300), ledger)
    assert str(found.outcome) == "NOT_APPLICABLE" and "condition step, period fails" in str(found)
    with pytest.raises(ValueError):
        ledger.spend(one.name, actual_seeds=300)


# --- statistics of a validation --------------------------------------------------------------------------------------------


def measured(T: int, statistic) -> SimpleNamespace:
    return SimpleNamespace(experiment=SimpleNamespace(T=T), statistic=np.asarray(statistic, dtype=float))


def test_a_slope_needs_two_horizons_two_groups_and_positive_values():
    rows = [measured(T, np.full(16, T**-0.5)) for T in (100, 400)]
    assert measured_slope(rows).slope == pytest.approx(-0.5)
    assert measured_slope(rows[:1]) is None
    assert measured_slope([measured(100, np.ones(15)), rows[1]]) is None
    assert measured_slope([measured(100, [0.0, *np.ones(15)]), rows[1]]) is None
    longer = [measured(100, [*np.full(16, 0.1), *np.full(8, 77.0)]), rows[1]]  # as many seeds as the fewer
    assert measured_slope(longer).slope == pytest.approx(-0.5)


def test_versions_name_everything_that_ran():
    assert set(versions()) == {
        "fedco", "python", "numpy", "scipy", "sympy", "torch", "python-flint", "matplotlib", "machine", "vector instructions", "source",
    }  # fmt: skip
    assert len(versions()["source"]) == 16 and all(isinstance(value, str) and value for value in versions().values())


# --- values and methods ----------------------------------------------------------------------------------------------------


def test_numbers_of_a_method_come_from_the_statement_then_the_instance_then_the_defaults():
    bound = SimpleNamespace(numbers={"eta": 0.5}, statement_itself=SimpleNamespace(clients={"tau_i": (1, Q(5, 2))}))
    instance = replace(INSTANCE, hyperparameters={"eta": Q(1, 4), "m": 3})
    each = {"tau_i": (1.0, 2.5)}
    assert numbers_of(instance, bound, {"m": 1, "b": Q(7, 2)}) == {"eta": 0.5, "m": 3.0, "b": 3.5, **each}
    assert numbers_of(instance, bound) == {"eta": 0.5, "m": 3.0, **each}


def test_a_horizon_is_iterations_or_else_rounds():
    assert horizon_of(theorem(SGD), "printed") == "T" and horizon_of(theorem("meta_fl.theorem_8"), "printed") == "K"
    with pytest.raises(InputError, match="no number of iterations or rounds"):
        horizon_of(theorem("meta_fl.lemma_5"), "printed")


def test_a_bound_at_a_horizon_takes_constants_from_the_problem_and_leaves_out_what_it_does_not_name():
    bound, kind = evaluate_at(
        theorem(SGD), "printed", problem("federated_noisy"), {**INSTANCE.hyperparameters, "m": 99}, 200
    )
    again = theorem(SGD).bound("printed", **bound.values)
    assert bound.total == again.total and "m" not in bound.values and Q(bound.values["T"]) == 200
    assert Q(bound.values["N"]) == problem("federated_noisy").clients and kind in ("exact", "upper")


def test_the_weakest_certificate_is_the_kind_of_a_bound():
    item = theorem(SGD)
    kinds = iter(("exact", "upper", "estimated", "upper"))
    known = {name: SimpleNamespace(value=1, kind=next(kinds, "exact")) for name in (
        b.quantity.name for b in item.symbols("printed").values() if b.quantity.role == "constant")}  # fmt: skip
    made = SimpleNamespace(certificates=known, name="x", clients=4)
    assert values.constants(item, "printed", made)[1] == "estimated"
    for certificate in known.values():
        certificate.kind = "exact"
    assert values.constants(item, "printed", made)[1] == "exact"
    next(iter(known.values())).kind = "upper"
    assert values.constants(item, "printed", made)[1] == "upper"


def test_a_start_has_the_exact_inner_value_where_the_kind_has_one_for_all():
    assert exact_start(problem("federated_noisy")) == Start()
    made = problem("feddro_heterogeneous")
    x = made.initial_point
    assert torch.equal(exact_start(made).y, made.inner_mean(x.unsqueeze(0))[0])


def test_a_method_of_the_callers_is_built_as_it_is_given():
    item = theorem(SGD)
    ready = LocalSGD(eta=0.1, tau=3)
    assert build_of(item, ready)({}) is ready
    own = build_of(item, lambda values: LocalSGD(eta=values["eta"], tau=7))({"eta": 2.0})
    assert (own.eta, own.tau) == (2.0, 7)
    with pytest.raises(InputError, match="declares no method"):
        build_of(replace(item, method=None))


def test_a_class_gets_its_hyperparameters_from_the_symbols_of_the_same_name_and_whole_numbers_whole():
    item = replace(theorem("fcsg.theorem_4_1"), method=None)
    made = build_of(item, FCSG)({"alpha": 0.25, "q": 3.0, "m": 2.0, "b": 1.0})
    assert (made.alpha, made.q, made.m) == (0.25, 3, 2) and isinstance(made.q, int)
    with pytest.raises(InputError, match=r"whole number for q, got 2\.5"):
        build_of(item, FCSG)({"alpha": 0.25, "q": 2.5, "m": 2.0})
    with pytest.raises(InputError, match="wants alpha, which the theorem does not give"):
        build_of(item, FCSG)({"q": 2.0, "m": 2.0})
    assert _whole(item, "q", 4.0) == 4 and isinstance(_whole(item, "q", 4.0), int)


def test_hyperparameters_of_a_given_method_are_fixed_and_those_of_a_class_are_not():
    item = theorem("fcsg.theorem_4_1")
    fixed = fixed_by(item, FCSG(alpha=0.25, q=3, m=2, b=1))
    assert {name: fixed[name] for name in ("alpha", "q", "m")} == {"alpha": Q(1, 4), "q": 3, "m": 2}
    assert fixed_by(item, FCSG) == {} and fixed_by(item, None) == {}


def test_local_steps_are_the_iterations_or_the_rounds_times_their_length():
    assert steps_of(theorem(SGD))({"T": 12.0}) == 12
    assert steps_of(theorem("meta_fl.theorem_8"))({"K": 5.0, "tau": 3.0}) == 15
    with pytest.raises(InputError, match="no symbol for the number of iterations or of rounds"):
        steps_of(
            SimpleNamespace(id="x", notation=[SimpleNamespace(name="D", quantity=SimpleNamespace(name="batch_size"))])
        )
    (rounds,) = Notation("x", (("R", "R", "rounds"),))
    assert steps_of(SimpleNamespace(id="x", notation=[rounds], method=None))({"R": 7.0}) == 7


def test_an_instance_says_its_name_and_refuses_an_unknown_case():
    assert INSTANCE.name == "federated_noisy[start=5.0] (eta=1/4, p=4, b=2)"
    assert (
        Instance("x", {"a": 1}, "").name == "x (a=1)"
        and Instance(SimpleNamespace(name="own"), {}, "").problem_name == "own"
    )
    with pytest.raises(ValueError, match="wanted a case among"):
        replace(INSTANCE, case="nowhere")


# --- sweeps ----------------------------------------------------------------------------------------------------------------


def test_a_sweep_moves_what_its_symbol_is():
    """A horizon, a hyperparameter, a constant of the problem, what belongs to the objective; and what moves along."""
    base = Instance("meta_noisy", {"beta": Q(1, 20), "tau": 2}, "sweep", {"start": 0.0})
    name = "meta_fl.theorem_8"

    def points(over, T, listed, **more):
        return [
            (dict(i.hyperparameters), dict(i.parameters), i.horizons, T)
            for i, T in along(name, over, base, T, listed, "w", **more).points
        ]

    hyper, own = {"beta": Q(1, 20), "tau": 2}, {"start": 0.0}
    assert points("K", 99, (10, 20)) == [(hyper, own, (T,), T) for T in (10, 20)]
    assert points("tau", 60, (3,)) == [({**hyper, "tau": 3}, own, (60,), 60)]
    assert points("nu", 60, (4,)) == [(hyper, {**own, "nu": 4}, (60,), 60)]
    assert points("n", 60, (4,)) == [(hyper, {**own, "clients": 4}, (60,), 60)]
    assert points("sigma_G", lambda s: int(100 * s), (0.5,)) == [(hyper, {**own, "sigma_G": 0.5}, (50,), 50)]
    moved = points("D", 60, (8,), hyper=lambda D: {"D_H": D}, parameters=lambda D: {"start": D / 2})
    assert moved == [({**hyper, "D": 8, "D_H": 8}, {"start": 4.0}, (60,), 60)]
    with pytest.raises(InputError, match="Z: not a symbol of meta_fl"):
        along(name, "Z", base, 1, (1,), "")


def found_sweep(**changes) -> SweepResult:
    sweep = SimpleNamespace(theorem="x.y", over="T", why="why", claimed=-0.5, name="x.y over T")
    made = SweepResult(
        sweep, "printed", (10.0, 20.0), np.array([[1.0, 2.0], [3.0, 6.0]]), (8.0, 2.0), {"a": (8.0, 2.0)}, (9.0, 9.0),
        ({}, {}), ({}, {}), SlopeEstimate(-0.6, -0.7, -0.5, 0.95, 8), -0.55,
    )  # fmt: skip
    return replace(made, **changes)


def test_a_sweep_says_its_means_its_tightness_and_how_it_compares():
    found = found_sweep()
    assert found.means == (2.0, 4.0) and found.tightness == (4.0, 0.5)
    assert found.to_dict() == {
        "theorem": "x.y", "statement": "printed", "over": "T", "why": "why", "values": [10.0, 20.0], "mean": [2.0, 4.0],
        "bound": [8.0, 2.0], "terms": {"a": [8.0, 2.0]}, "seeds": 2, "measured_slope": [-0.6, -0.7, -0.5], "bound_slope": -0.55,
        "claimed_exponent": -0.5, "comparison": str(found.comparison),
    }  # fmt: skip
    assert ", bound -0.550, claimed -0.5: " in str(found) and "claimed" not in str(
        replace(found, sweep=SimpleNamespace(**{**vars(found.sweep), "claimed": None}))
    )


def test_a_sweep_agrees_within_the_tolerance_and_not_beyond():
    edge = sweeps.EXPONENT_TOLERANCE
    for low, high, wanted in (
        (-1.0, -edge, "EQUAL"), (-1.0, -edge - 1e-9, "SLOWER"), (edge, 1.0, "EQUAL"), (edge + 1e-9, 1.0, "FASTER"),
    ):  # fmt: skip
        estimate = SlopeEstimate(0.0, low, high, 0.95, 8)
        assert found_sweep(measured=estimate, theory=0.0).comparison is sweeps.Comparison[wanted]


def test_points_of_a_sweep_have_root_seeds_beyond_those_of_a_validation():
    sweep = registry.sweeps_of("feddro.theorem_5_1")[0]
    made = sweeps.experiments_of(sweep, 16)
    assert [e.root_seed for e in made] == [FIRST_ROOT_SEED + k for k in range(len(sweep.points))] and {
        e.seeds for e in made
    } == {16}
    assert max(T for _, T in sweep.points) == sweeps.tasks_of_sweeps([sweep], 16)[0].experiment.T


# --- hidden constants and costs --------------------------------------------------------------------------------------------


def test_the_hidden_constant_of_a_statement_and_what_its_proof_gives():
    assert hidden_symbol("meta_fl.theorem_8", "printed") == "c" and hidden_symbol(SGD, "printed") is None
    assert proved_value("meta_fl.theorem_8", "printed") == 10.0 and proved_value(SGD, "printed") is None


def test_the_hidden_constant_by_hand(monkeypatch):
    """Means 5 and 1, initialisation 1, bounds 11 and 21 at c = 10: needed (5 - 1) / 1, and 0 where the first term is enough."""
    from fedco.validation.runs import hidden_constant

    monkeypatch.setattr(hidden_constant, "mean_bracket", lambda column, cap: SimpleNamespace(upper=column.mean() + cap))
    sweep = SimpleNamespace(theorem="meta_fl.theorem_8", over="D")
    made = found_sweep(
        sweep=sweep, statistic=np.array([[4.0, 1.0], [6.0, 1.0]]), bounds=(11.0, 21.0), cap=(3.0, 4.0),
        terms={"initialisation": (1.0, 1.0)}, numbers=({"c": 10.0}, {"c": 10.0}),
    )  # fmt: skip
    found = hidden_constant.needed_constant(made)
    assert found.needed == (4.0, 0.0) and found.upper == (7.0, 2.0) and found.slope is None and found.largest == 7.0
    both = hidden_constant.needed_constant(replace(made, statistic=np.array([[4.0, 17.0], [6.0, 17.0]])))
    assert both.needed == (4.0, 8.0) and both.slope == pytest.approx(1.0)  # twice as much at twice the value
    assert str(both) == "D: c up to 8 (95% end 10), exponent 1.00; the proof gives 10"
    plain = NeededConstant("D", (1.0,), (4.0,), (7.0,), None, None)
    assert str(plain) == "D: c up to 4 (95% end 7)"
    assert plain.to_dict() == {
        "over": "D",
        "values": [1.0],
        "needed": [4.0],
        "upper": [7.0],
        "slope": None,
        "proved": None,
    }


def test_a_cost_exponent_in_words_and_in_json():
    cost = CostExponent(
        "x.y",
        "rounds",
        (1.0, 2.0),
        (0.5, 0.25),
        SlopeEstimate(-1.5, -1.6, -1.4, 0.95, 4),
        -1.25,
        -1.5,
        "Remark 1",
        "why",
    )
    assert str(cost) == f"x.y: rounds ~ eps^{cost.measured}, bound -1.250, claimed -1.5 (Remark 1)"
    assert str(replace(cost, claimed=None)).endswith("bound -1.250, no claim")
    assert cost.to_dict() == {
        "theorem": "x.y", "resource": "rounds", "costs": [1.0, 2.0], "eps": [0.5, 0.25], "measured_exponent": [-1.5, -1.6, -1.4],
        "bound_exponent": -1.25, "claimed_exponent": -1.5, "claim": "Remark 1", "why": "why",
    }  # fmt: skip


# --- numbers without loss and verification -----------------------------------------------------------------------------------


def test_numbers_without_loss_at_the_ends_of_their_ranges():
    large = 2**53
    assert lossless.encode(large - 1) == large - 1 and lossless.encode(-large + 1) == 1 - large
    assert lossless.encode(large) == {"fraction": [str(large), "1"]} == lossless.encode(Q(large))
    assert lossless.encode(-large) == {"fraction": [str(-large), "1"]} and lossless.encode(np.int64(5)) == 5
    assert lossless.encode(True) is True and lossless.encode(0.1) == {"hex": (0.1).hex()}
    for bits, written in ((3000, str), (3001, hex)):
        number = 2 ** (bits - 1)
        assert (
            lossless.encode(number)["fraction"][0] == written(number)
            and lossless.decode(lossless.encode(number)) == number
        )
    long = "1" * 1_000_000
    with pytest.raises(ValueError, match="at most 1000000 digits"):
        lossless.decode({"fraction": [long + "1", "1"]})
    for bad in ({"hex": "inf"}, {"hex": 3}, {"fraction": ["1", "0"]}, {"fraction": ["1"]}, {"fraction": [1, 2]}, 1.5):
        with pytest.raises(lossless.LosslessError):
            lossless.decode(bad)
    for bad in (math.nan, {3: 1}, {"hex": 1}, object()):
        with pytest.raises(lossless.LosslessError):
            lossless.encode(bad)


def test_a_verification_needs_something_compared_and_nothing_different():
    one = verify.Verification(("f: a",), 3, (), ("torch: 1 then, 2 now; last bits may differ",))
    assert (
        one.verified
        and str(one) == "verified: 1 of 3 measured again\n  f: a\n  torch: 1 then, 2 now; last bits may differ"
    )
    assert not verify.Verification((), 3, (), ()).verified
    other = replace(one, differences=("f: a: b",))
    assert (
        not other.verified
        and str(other).startswith("NOT verified: 1 of 3 measured again")
        and other.to_dict()["verified"] is False
    )


@pytest.fixture
def verified(tmp_path, monkeypatch):
    """`verify` on a folder with these rows, of which each is measured again as this function says."""

    def run(rows, again=dict, **options):
        ledger = AlphaBudget("1e-3")
        for row in rows:
            if isinstance(row["theorem"], str) and row["theorem"] == SGD:
                ledger.allot(experiment(T=row["T"], seeds=3).name, Q(1, 10**4), 3)
        data = {"format": verify.RESULTS, "results": rows, "ledger": ledger.to_dict(), "versions": {}}
        write_json(tmp_path / "results.json", data)
        asked = []
        monkeypatch.setattr(verify, "versions", lambda: {"torch": "2"})
        monkeypatch.setattr(verify, "run_task", lambda task, cache: (asked.append((task.experiment, cache)), {})[1])
        known = {row["T"]: row for row in rows}
        monkeypatch.setattr(
            verify, "conclude", lambda made, parts, ledger: [SimpleNamespace(to_dict=lambda: again(known[made[0].T]))]
        )
        return verify.verify(tmp_path, **options), asked

    return run


def a_row(T: int = 200, **changes) -> dict:
    numbers = {
        "parameters": lossless.encode({"start": 5.0}),
        "hyperparameters": lossless.encode(INSTANCE.hyperparameters),
    }
    row = {
        "theorem": SGD,
        "statement": "printed",
        "problem": "federated_noisy",
        "why": "w",
        "T": T,
        "seeds": 3,
        "root_seed": 9,
    }
    return row | {"instance": json.loads(json.dumps(numbers)), "a": {"b": [1, 2], "c": 3}, "d": None} | changes


def test_a_sample_of_results_is_drawn_by_its_seed(verified, tmp_path):
    rows, said = [a_row(T) for T in range(200, 206)], []
    found, asked = verified(rows, cases=2, seed=1, say=said.append)
    assert list(found.compared) == said == sorted(said) and len(said) == 2 and found.total == 6 and found.verified
    assert found.made_with == ("torch: None then, 2 now; last bits may differ",)
    assert [f"results.json: {made.name}" for made, _ in asked] == said and {cache for _, cache in asked} == {None}
    for made, _ in asked:
        assert (made.seeds, made.root_seed, made.instance.horizons) == (3, 9, (made.T,))
    assert {verified(rows, cases=2, seed=s)[0].compared for s in range(8)} != {found.compared}
    assert len(verified(rows, cases=99)[0].compared) == 6 and len(verified(rows)[0].compared) == 3
    with pytest.raises(InputError, match="found none"):
        verify.verify(tmp_path / "nowhere")


def test_differences_are_told_by_their_places(verified):
    name = f"results.json: {experiment(T=200).name}"
    found, _ = verified([a_row(why="x" * 99)], lambda row: row | {"a": {"b": [1, 3], "c": 3, "e": 5}, "why": "y" * 99})
    assert not found.verified and found.differences == (
        f"{name}: why: {'x' * 60} stored, {'y' * 60} measured again",
        f"{name}: a/b: [1, 2] stored, [1, 3] measured again",
        f"{name}: a/e: None stored, 5 measured again",
    )
    assert verified([a_row()])[0].verified


@pytest.mark.parametrize("name", ["own.toml", 7])
def test_only_results_of_registered_theorems_are_measured_again(name, verified):
    found, asked = verified([a_row(), a_row(theorem=name)])
    assert not found.compared and not asked and not found.verified
    (wrong,) = found.differences
    assert wrong.startswith("results.json: not readable as results (") and repr(name) in wrong
