"""Lemma measurements: the walk is the driver's run, both sides by hand, a false link is seen to fail, and what a report says."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction as R
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fedco import theorem
from fedco.algorithms import Draws, FedDRO, LocalSCGDM, drive
from fedco.bounds.audit.refuted import refutations
from fedco.errors import InputError
from fedco.synthetic import problem
from fedco.validation.lemmas import sides
from fedco.validation.lemmas.link import Link, trace_run
from fedco.validation.lemmas.measure import measure_chain, measure_lemmas
from fedco.validation.lemmas.report import Implied, LemmaReport, LemmaRow, section, worst
from fedco.validation.lemmas.sides import compare_sides, report_of
from fedco.validation.lemmas.trace import Trace, walk
from fedco.validation.papers.fcsg.lemmas import plug_in_gradient
from fedco.validation.papers.feddro.pulled_apart import PulledApart, estimate_at_communication
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import chain_for, chains, recipe_for
from fedco.validation.runs.values import evaluate_at, exact_start, numbers_of

CHAINS = chains()

SMALL = {"start": 3.0, "dim": 4, "clients": 4}
INSTANCES = {
    "feddro.theorem_5_1": ("feddro_heterogeneous", {"I": 4, "b": 1}, 2048),
    "local_scgdm.theorem_3_4": (
        "local_heterogeneous",
        {"eta": R(1, 20), "beta": R(1), "alpha": 5, "gamma": 5, "p": 3},
        30,
    ),
    "comfedl.theorem_1": ("local_heterogeneous", {"eta": R(1, 50), "tau": 2, "b": 16, "b_1": 16, "m": 2}, 40),
    "comfedl.theorem_2": ("local_homogeneous", {"eta": R(1, 50), "tau": 2, "b": 16, "m": 2}, 40),
    "fcsg.theorem_4_1": ("conditional_heterogeneous", {"alpha": R(1, 25), "q": 3, "m": 2, "b": 1}, 30),
    "baselines.local_sgd": ("federated_heterogeneous", {"eta": R(1, 4), "p": 3, "b": 2}, 24),
    "baselines.local_sgd_heterogeneity": ("federated_heterogeneous", {"eta": R(1, 4), "p": 3, "b": 2}, 24),
    "baselines.minibatch_sgd": ("federated_noisy", {"eta": R(1, 2), "b": 2}, 24),
    "baselines.scgd": ("local_noisy", {"eta": R(1, 10), "gamma": R(1, 2), "b": 1}, 24),
    "baselines.biased_sgd": ("conditional_heterogeneous", {"eta": R(1, 5), "m": 2, "b": 1}, 24),
    "fcsg_m.theorem_4_4": (
        "conditional_heterogeneous",
        {"alpha": R(1, 40), "q": 2, "m": 2, "b": 1, "B": 4},
        40,
    ),
    "acc_fcsg_m.theorem_4_7": (
        "conditional_heterogeneous",
        {"alpha": R(1, 25), "q": 2, "m": 2, "b": 1, "B": 4},
        40,
    ),
}


def _trace(theorem_id, steps=24, seeds=8, parameters=None):
    name, hyper, T = INSTANCES[theorem_id]
    made = problem(name, **(SMALL if parameters is None else parameters))
    bound, _ = evaluate_at(theorem(theorem_id), "printed", made, hyper, T)
    numbers = numbers_of(Instance(name, hyper, ""), bound)
    chain, method = chain_for(theorem_id), recipe_for(theorem_id).method(numbers)
    return chain, made, trace_run(chain, method, made, steps, seeds, {**numbers, "T": float(steps)})


def test_the_walk_is_the_run_of_the_driver_to_the_last_bit() -> None:
    made = problem("feddro_heterogeneous", **SMALL)
    method = FedDRO(eta=0.05, beta=0.3, I=3)
    *_, last = walk(method, made, 11, 5, start=exact_start(made), period=3)
    driven = drive(method, made, steps=11, seeds=5, start=exact_start(made)).state
    assert torch.equal(last.after.x, driven.x) and torch.equal(last.after.y, driven.y)


def test_a_step_holds_the_states_on_both_sides_of_a_communication() -> None:
    made = problem("local_heterogeneous", **SMALL)
    steps = list(walk(LocalSCGDM(eta=0.1, alpha=1.0, beta=0.5, gamma=1.0, p=2), made, 4, 2, period=2))
    ends = [bool((step.after.x - step.stepped.x).abs().max() > 0) for step in steps]
    assert ends == [False, True, False, True]
    assert [step.start is steps[2 * (step.t // 2)].before for step in steps] == [True] * 4


@pytest.mark.parametrize("name", sorted(INSTANCES))
def test_every_chain_measures_every_one_of_its_lemmas(name) -> None:
    chain, made, trace = _trace(name)
    report = report_of(name, "printed", chain.links, trace, made, "small", 24, 1.0)
    assert {row.lemma for row in report.rows} == {link.lemma for link in chain.links}
    assert all(math.isfinite(row.left) and math.isfinite(row.right) for row in report.rows)
    assert {row.when for row in report.rows} <= {"communication", "between", "run"}
    assert any(row.when == "communication" for row in report.rows)
    assert report.measured > 0 and report.implied[-1].link == name
    product = report.measured * math.prod(item.factor for item in report.implied)
    assert product == pytest.approx(1.0)


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_a_chain_speaks_of_lemmas_of_its_paper_and_of_their_symbols(name) -> None:
    chain = chain_for(name)
    assert recipe_for(name).instances
    for link in chain.links:
        lemma = theorem(link.lemma)
        symbols = lemma.symbols(link.statement or "printed")
        observables = {key for key, binding in symbols.items() if binding.quantity.role == "observable"}
        assert set(link.observables) == observables
    assert {"gradient_sq"} <= set(chain.metrics(*_any_problem(name)))


def _any_problem(name):
    recipe = recipe_for(name)
    instance = recipe.instances[0]
    made = problem(instance.problem, **instance.parameters)
    bound, _ = evaluate_at(theorem(name), "printed", made, instance.hyperparameters, min(instance.horizons))
    return made, numbers_of(instance, bound)


def test_lemma_f_4_fails_at_communications_and_nowhere_else() -> None:
    report = estimate_at_communication(seeds=256)
    rows = {(row.lemma, row.when): row for row in report.rows}
    assert not rows["feddro.lemma_f_4", "communication"].holds
    assert rows["feddro.lemma_f_4", "communication"].slack < 0.7
    assert rows["feddro.lemma_f_4", "between"].holds and rows["feddro.lemma_f_4", "between"].failing == 0
    assert rows["feddro.lemma_f_3", "between"].holds
    assert report.failing == ("feddro.lemma_f_4",)


def test_the_demonstration_agrees_with_the_exact_bundle() -> None:
    """Mean over 4096 seeds of ||ybar||^2 at the first communication against the exact second moment of the bundle."""
    case = refutations()["feddro.lemma_f_4"].case()
    numbers = {name: float(value) for name, value in case.hyperparameters.items()}
    method = FedDRO(eta=numbers["eta"], beta=numbers["beta"], I=9, b=1)
    trace = trace_run(chain_for("feddro.theorem_5_1"), method, PulledApart(), 9, 4096, numbers)
    seen = trace["inner_error"]
    assert seen[9].mean() == pytest.approx(float(case.left), rel=0.1)
    assert seen[8].mean() == pytest.approx(float(case.observables["inner_error"]), rel=0.1)
    assert trace["consensus"][8].mean() == pytest.approx(float(case.observables["consensus_error"]), rel=1e-9)


def test_local_scgdm_loses_lemma_4_1_at_communications_when_clients_differ() -> None:
    name = "local_scgdm.theorem_3_4"
    chain, made, trace = _trace(name, steps=60, parameters={"start": 2.0, "dim": 8, "Delta_g": 0.0})
    report = report_of(name, "printed", chain.links, trace, made, "", 60)
    rows = {(row.lemma, row.when): row for row in report.rows}
    assert not rows["local_scgdm.lemma_4_1", "communication"].holds
    assert rows["local_scgdm.lemma_4_1", "between"].holds


@pytest.mark.parametrize(
    ("factor", "holds"),
    [pytest.param(1.0, True, id="as measured"), pytest.param(1e6, False, id="left side a million times larger")],
)
def test_a_mutated_left_side_is_seen_to_fail(factor, holds) -> None:
    chain, made, trace = _trace("feddro.theorem_5_1")
    link = next(item for item in chain.links if item.lemma == "feddro.lemma_f_3")
    side = link.left
    rows, _ = compare_sides(replace(link, left=lambda r: factor * side(r)), "printed", trace, made)
    assert all(row.holds is holds for row in rows)
    assert all((row.slack > 1) is holds for row in rows)


def _number(binding, trace, made):
    if binding.name == "consensus_error":
        return float(trace["consensus"][:-1].mean())
    if binding.quantity.name in made.certificates:
        return float(made.certificates[binding.quantity.name].value)
    return trace.numbers.get(binding.name)


def test_the_plug_in_gradient_is_the_mean_of_the_sampled_ones() -> None:
    made = problem("conditional_noisy", **SMALL, outer_support=2)
    method = recipe_for("fcsg.theorem_4_1").method({"alpha": 1.0, "q": 1, "m": 2, "b": 1})
    (step,) = walk(method, made, 1, 4000)
    exact = plug_in_gradient(made, step.before.x[:1], 2)[0]
    sampled = (step.before.x - step.stepped.x).mean(0)
    spread = (step.before.x - step.stepped.x).std(0) / math.sqrt(4000)
    assert float(spread.max()) > 0
    assert bool(((sampled - exact).abs() <= 5 * spread + 1e-12).all())


def test_a_plug_in_gradient_with_too_many_outcomes_is_refused() -> None:
    """Of 8 signs in a batch there are 9 different means; of 2000 there are 2001."""
    made = problem("conditional_noisy", **SMALL, outer_support=2)
    x = made.initial_point.expand(1, made.clients, -1)
    assert plug_in_gradient(made, x, 8).shape == x.shape
    with pytest.raises(InputError, match="wanted at most 1000 outcomes of 2000 inner samples to sum over, got 2001"):
        plug_in_gradient(made, x, 2000)


def test_a_report_survives_json_and_the_cache(tmp_path) -> None:
    instance = Instance("feddro_homogeneous", {"I": 1, "b": 1}, "", {"dim": 4}, (64,))
    made = measure_chain("feddro.theorem_5_1", instance, 64, seeds=4, cache=tmp_path)
    (file,) = tmp_path.iterdir()
    written = file.stat().st_mtime_ns
    again = measure_chain("feddro.theorem_5_1", instance, 64, seeds=4, cache=tmp_path)
    assert again == made and file.stat().st_mtime_ns == written
    assert LemmaReport.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    measure_chain("feddro.theorem_5_1", instance, 64, seeds=5, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert made.to_dict()["kind"] == "measurement"


def test_what_a_lemma_feeds_into_the_descent_is_its_mean_over_all_steps(monkeypatch) -> None:
    """In rounds of four steps more of them lie between communications than end in one, and weigh more."""
    name = "comfedl.theorem_1"
    made, hyper, T = INSTANCES[name]
    monkeypatch.setitem(INSTANCES, name, (made, {**hyper, "tau": 4}, T))
    chain, made, trace = _trace(name)
    fed: list[float] = []

    def heard(right: float, _: Trace) -> float:
        fed.append(right)
        return right

    links = [replace(link, fed=heard) if link.feeds else link for link in chain.links]
    rows = report_of(name, "printed", links, trace, made, "small", 24, 100.0).rows
    groups = [[row for row in rows if row.lemma == link.lemma] for link in links if link.feeds]
    assert {row.when: row.steps for row in groups[0]} == {"between": 12, "communication": 6}
    assert fed == [pytest.approx(np.average([r.right for r in g], weights=[r.steps for r in g])) for g in groups]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="no chain"):
        chain_for("feddro.theorem_4_1")
    with pytest.raises(InputError, match="not an instance"):
        measure_lemmas("feddro.theorem_5_1", problems=["bowl"])


def test_the_derivative_of_the_clients_that_are_pulled_apart_is_autograds() -> None:
    """Their outer function is 0, so that no run asks for it."""
    x = torch.tensor([[[0.3], [-2.0]], [[1.5], [0.0]]], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([[[1.0], [-0.5]], [[2.0], [3.0]]], dtype=torch.float64)
    signs = PulledApart().sample(Draws(1, 2, 2).at(0), 3)
    (wanted,) = torch.autograd.grad((PulledApart().inner(x, signs) * v).sum(), x)
    assert torch.allclose(PulledApart().inner_vjp(x.detach(), v, signs), wanted, rtol=1e-12, atol=0) and wanted.any()


def test_a_lemma_inserted_into_the_descent_loosens_it_by_its_own_slack() -> None:
    """Lemma 4.3's right side in the place of the measured consensus error, and nothing else, in the potential."""
    name = "local_scgdm.theorem_3_4"
    chain, made, trace = _trace(name)
    report = report_of(name, "printed", chain.links, trace, made, "", 24, 1.0)
    names = [item.link for item in report.implied]
    inserted = "local_scgdm.potential with local_scgdm.lemma_4_3"
    assert names.index(inserted) == names.index("local_scgdm.potential") + 1
    bounds = dict(zip(names, [item.bound for item in report.implied], strict=True))
    (drift,) = [row for row in report.rows if row.lemma == "local_scgdm.lemma_4_3"]
    numbers = theorem("local_scgdm.potential").bound(
        "printed",
        strict=False,
        **{
            key: _number(binding, trace, made) if binding.quantity.role != "observable" else 1
            for key, binding in theorem("local_scgdm.potential").symbols("printed").items()
        },
    )
    weight = 2 * numbers.derived["L_F"] ** 2
    measured = trace["consensus"][:-1].mean()
    assert bounds[inserted] - bounds["local_scgdm.potential"] == pytest.approx(
        weight * (drift.right - measured), rel=1e-6
    )


@pytest.mark.parametrize(
    ("label", "taken"), [("composed", "composed"), ("printed", "printed"), ("corrected", "printed"), ("own", "printed")]
)
def test_lemmas_are_taken_as_composed_where_they_have_it_and_else_as_printed(label, taken) -> None:
    """A corrected theorem has the lemmas of the printed proof; a link may name another statement of its own."""
    chain, made, trace = _trace("local_scgdm.theorem_3_4", steps=6, seeds=2)
    links = {link.lemma: link for link in chain.links}
    found = {
        name: compare_sides(links[name], label, trace, made)[0][0].statement
        for name in ("local_scgdm.lemma_4_1", "local_scgdm.lemma_a_2")
    }
    assert found == {"local_scgdm.lemma_4_1": taken, "local_scgdm.lemma_a_2": "printed"}
    own = replace(links["local_scgdm.lemma_4_1"], statement="corrected")
    assert compare_sides(own, label, trace, made)[0][0].statement == "corrected"


def test_the_clients_that_are_pulled_apart_have_fair_signs() -> None:
    """Of size 1: their mean is the inner map without noise, 0, and their second moment 1."""
    problem = PulledApart()
    signs, chances = problem.atoms()
    assert chances.tolist() == [0.5, 0.5] and signs.sign.shape == (1, 2, 2)
    assert (signs.sign * chances).sum(-1).tolist() == [[0, 0]] and (signs.sign**2 * chances).sum(-1).tolist() == [
        [1, 1]
    ]


# --- the two sides of a lemma by hand ---------------------------------------------------------------------------------


# --- two sides ---------------------------------------------------------------------------------------------------------------

LINK = Link("x.lemma", lambda r: r["left"], note="noted", part="a part")


OF_A_RUN = replace(LINK, ends_round=None)


def compared(monkeypatch, left, parts, *, link=OF_A_RUN, admissible=True, gradient=None, period=2):
    """Rows and implied bound, where the lemma's terms have these values at every step, `(steps, seeds)`."""
    known = SimpleNamespace(labels=("printed",), statement=lambda label: label, symbols=lambda label: {})
    monkeypatch.setattr(sides, "get_theorem", lambda name: known)
    monkeypatch.setattr(sides, "constants", lambda *given: ({}, ()))
    monkeypatch.setattr(
        sides, "evaluate", lambda statement, **seen: {"terms": parts, "admissible": np.array(admissible)}
    )
    seen = {} if gradient is None else {"gradient_sq": lambda trace: gradient}
    trace = Trace({"left": left}, {}, period, len(left))
    return sides.compare_sides(replace(link, observables=seen), "printed", trace, None)


def test_a_row_by_hand(monkeypatch):
    """Two steps of two seeds: lefts 1, 3 and 2, 2; terms 4 and -1. The negative one is moved to the left."""
    left = np.array([[1.0, 3.0], [2.0, 2.0]])
    parts = {"noise": np.full((2, 2), 4.0), "gain": np.full((2, 2), -1.0)}
    ((row,), _) = compared(monkeypatch, left, parts)
    about = (row.lemma, row.statement, row.when, row.steps, row.note, row.part)
    assert about == ("x.lemma", "printed", "run", 2, "noted", "a part")
    assert (row.left, row.right) == (3.0, 4.0) and row.slack == pytest.approx(4 / 3)
    assert row.difference == -1.0 and row.standard_error == pytest.approx(np.std([-1.5, -0.5], ddof=1) / math.sqrt(2))
    assert row.failing == 0 and row.conditions_hold and row.holds and row.name == "x.lemma a part (printed)"


def test_a_descent_lemma_is_read_as_descent_below_everything_else(monkeypatch):
    left = np.array([[0.5], [1.5]])
    parts = {"noise": np.full((2, 1), 4.0), "descent": np.array([[-2.0], [-4.0]])}
    ((row,), _) = compared(monkeypatch, left, parts, admissible=False)
    assert (row.left, row.right, row.slack, row.standard_error) == (3.0, 3.0, 1.0, 0.0) and not row.conditions_hold
    assert row.difference == pytest.approx(1.0 - 1.0) and row.failing == 1  # the second step: 1.5 > 4 - 4


def test_a_step_fails_beyond_four_standard_errors_and_rounding(monkeypatch):
    parts = {"noise": np.ones((1, 4))}
    spread = np.array([-1.0, -1.0, 1.0, 1.0])
    error = spread.std(ddof=1) / 2
    for shift, failing in ((3.99 * error, 0), (4.01 * error, 1)):
        ((row,), _) = compared(monkeypatch, 1 + shift + spread[None, :], parts)
        assert row.failing == failing and row.holds == (failing == 0)
    for shift, failing in ((1e-9, 0), (3e-9, 1)):  # 1e-9 of both sides is rounding
        ((row,), _) = compared(monkeypatch, np.full((1, 4), 1 + shift), parts)
        assert row.failing == failing
    ((nothing,), _) = compared(monkeypatch, np.zeros((1, 4)), parts)
    assert nothing.slack is None and nothing.left == 0


def test_what_a_descent_lemma_implies_by_hand(monkeypatch):
    """2 g <= 6 - left with mean gradient 5 and mean left 1: g is at most 5 (6 - 1) / 10."""
    parts = {"noise": np.full((2, 1), 6.0), "descent": np.full((2, 1), -10.0)}
    left, gradient = np.full((2, 1), 1.0), np.array([[4.0], [6.0]])

    def implied(parts=parts, gradient=gradient, **more):
        return compared(monkeypatch, left, parts, gradient=gradient, **more)[1]

    assert implied() == pytest.approx(2.5)
    assert implied({"noise": parts["noise"]}) is None and implied(gradient=None) is None
    assert implied({**parts, "descent": np.zeros((2, 1))}) is None
    first = replace(LINK, keeps=lambda trace, rows: np.array([True, False]))
    assert implied(link=first) == pytest.approx(2.0)  # the gradient of the kept steps
    assert implied(link=first, gradient=gradient[:1]) == pytest.approx(2.0)


def test_steps_are_grouped_by_what_ends_them(monkeypatch):
    """Rounds of two: steps 1 and 3 end one; step 2 is left out, and a group without steps has no row."""
    left, parts = np.array([[1.0], [2.0], [3.0], [4.0]]), {"noise": np.full((4, 1), 9.0)}
    some = replace(LINK, keeps=lambda trace, rows: np.array([True, True, False, True]))
    rows, _ = compared(monkeypatch, left, parts, link=some)
    assert [(row.when, row.steps, row.left) for row in rows] == [("communication", 2, 3.0), ("between", 1, 1.0)]
    (alone,), _ = compared(monkeypatch, left, parts, link=replace(some, ends_round=None))
    assert (alone.when, alone.steps) == ("run", 3)
    (last,), _ = compared(monkeypatch, left[:1], {"noise": np.full((1, 1), 9.0)}, link=replace(LINK, keeps=None))
    assert last.when == "between"


# --- a report ----------------------------------------------------------------------------------------------------------------


def row(**changes) -> LemmaRow:
    made = {
        "lemma": "x.lemma_1", "statement": "printed", "when": "between", "steps": 6, "left": 1.0, "right": 2.5, "slack": 2.5,
        "difference": -1.5, "standard_error": 0.25, "failing": 0, "conditions_hold": True, "note": "",
    }  # fmt: skip
    return LemmaRow(**{**made, **changes})


def report() -> LemmaReport:
    rows = (row(), row(lemma="x.lemma_2", slack=None, difference=1.5, failing=2, conditions_hold=False, note="n"))
    implied = (Implied("x.lemma_1", 0.5, 2.0), Implied("x.theorem", math.inf, 4.0))
    return LemmaReport("x.theorem", "printed", "an instance", 12, 32, 0.25, 3.0, rows, implied)


def test_a_report_says_what_fails_and_what_loses_most():
    made = report()
    assert made.failing == ("x.lemma_2",) and made.worst.link == "x.theorem"
    assert row(failing=1).holds and LemmaReport("t", "s", "i", 1, 1, 1.0, None, (row(failing=1),), ()).failing == (
        "x.lemma_1",
    )
    assert LemmaReport("t", "s", "i", 1, 1, 1.0, None, (), ()).worst is None
    assert not row(difference=1.1).holds and row(difference=0.9).holds  # four standard errors are 1


def test_a_report_in_json_and_back():
    made = report()
    data = made.to_dict()
    assert data["implied"][1] == {"link": "x.theorem", "bound": "inf", "factor": 4.0} and data["worst"] == "x.theorem"
    assert (
        [r["holds"] for r in data["rows"]] == [True, False]
        and data["failing"] == ["x.lemma_2"]
        and data["kind"] == "measurement"
    )
    assert LemmaReport.from_dict(data) == made
    odd = LemmaReport("t", "s", "i", 1, 1, -math.inf, None, (row(left=math.nan),), ())
    assert odd.to_dict()["measured"] == "-inf" and odd.to_dict()["rows"][0]["left"] == "nan"
    back = LemmaReport.from_dict(odd.to_dict())
    assert back.measured == -math.inf and math.isnan(back.rows[0].left)


def test_the_tables_of_a_report():
    shown = section([report()])
    assert shown["worst"] == "x.theorem (x 4); fails: x.lemma_2"
    assert worst([]) == "" and section([])["runs"] == []
    (run,) = shown["runs"]
    assert run["title"] == "an instance, T = 12, 32 seeds; mean squared gradient 0.25"
    assert run["rows"] == [
        {"lemma": "x.lemma_1 (printed)", "when": "between (6)", "left": "1", "right": "2.5", "slack": "2.5",
         "difference": "-1.5 +- 0.25", "failing": "0 of 6", "note": ""},
        {"lemma": "x.lemma_2 (printed) (outside its conditions)", "when": "between (6)", "left": "1", "right": "2.5", "slack": "",
         "difference": "1.5 +- 0.25", "failing": "2 of 6; fails in the mean", "note": "n"},
    ]  # fmt: skip
    assert run["implied"] == [
        {"link": "x.lemma_1", "bound": "0.5", "factor": "x 2"},
        {"link": "x.theorem", "bound": "inf", "factor": "x 4"},
    ]


def test_the_factors_of_a_report_grow_from_the_measured_gradient(monkeypatch):
    """Measured 2, implied 6 and 9, the theorem 36: factors 3, 1.5 and 4; the step that looks ahead is no part of the measured one."""
    given = {"a": 6.0, "b": 9.0, "c": None}
    monkeypatch.setattr(sides, "compare_sides", lambda link, *_: ([row(lemma=link.lemma)], given[link.lemma]))
    trace = Trace({"gradient_sq": np.array([[1.0, 3.0], [2.0, 2.0], [99.0, 99.0]])}, {}, 1, 2)
    links = [Link(name, lambda r: r["left"]) for name in given]
    made = sides.report_of("x.t", "printed", links, trace, None, "i", 7, 36.0)
    assert made.measured == 2.0 and made.seeds == 2 and made.T == 7 and len(made.rows) == 3
    assert [(i.link, i.bound, i.factor) for i in made.implied] == [("a", 6.0, 3.0), ("b", 9.0, 1.5), ("x.t", 36.0, 4.0)]
    nothing = Trace({"gradient_sq": np.zeros((2, 2))}, {}, 1, 2)
    without = sides.report_of("x.t", "printed", links, nothing, None, "i", 7)
    assert [(i.link, i.factor) for i in without.implied] == [("a", math.inf), ("b", 1.5)] and without.bound is None
