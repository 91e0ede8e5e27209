"""Lemma measurements: the walk is the driver's run, a link that is false is seen to fail, a chain loses what its bound loses."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from fedco import theorem
from fedco.algorithms import Draws, FedDRO, LocalSCGDM, drive
from fedco.bounds.audit.refuted import refutations
from fedco.bounds.language.reading import InputError
from fedco.synthetic import problem
from fedco.validation.lemmas.link import trace_run
from fedco.validation.lemmas.measure import measure_chain, measure_lemmas
from fedco.validation.lemmas.report import LemmaReport
from fedco.validation.lemmas.sides import compare_sides, report_of
from fedco.validation.lemmas.trace import Trace, walk
from fedco.validation.papers.fcsg.lemmas import plug_in_gradient
from fedco.validation.papers.feddro.pulled_apart import PulledApart, estimate_at_communication
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import chain_for, chains, recipe_for
from fedco.validation.runs.values import evaluate_at, exact_start, numbers_of

CHAINS = chains()

SMALL = {"start": 3.0, "dim": 4, "clients": 4}
R = Fraction
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
