"""Which rows of a run every lemma compares, and the exact expectations of meta FL that its lemmas measure."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fedco import theorem
from fedco.algorithms import MetaFL
from fedco.synthetic import problem
from fedco.synthetic.parts.noise import NoiseSample
from fedco.validation.lemmas import metrics
from fedco.validation.lemmas.link import LemmaChain, Link, trace_run
from fedco.validation.lemmas.measure import measure_chain
from fedco.validation.lemmas.sides import compare_sides
from fedco.validation.lemmas.trace import Step, Trace, walk
from fedco.validation.papers.meta_fl import lemmas as meta_fl
from fedco.validation.papers.meta_fl.law import (
    Estimate,
    batch_mean,
    gradient_error_sq,
    hessian_error_sq,
    noise_moment,
    path_error,
)
from fedco.validation.runs.registry import chain_for, chains, recipe_for
from fedco.validation.runs.values import evaluate_at, numbers_of

PERIOD, STEPS = 3, 8


NAMES = (
    "objective", "gradient_sq", "consensus", "inner_error", "direction_sq", "momentum_error", "momentum_sq", "inner_spread",
    "fresh_inner_spread", "gradient_spread", "potential", "noise_sq", "error_sq", "update_sq", "dispersion_sq",
    "first_deviation_sq", "client_drift_sq", "mean_drift", "estimator_error", "estimator_error_sq", "change", "bias_sq",
    "moment_sq", "used_error", "kept_error",
)  # fmt: skip


def told(extra: int) -> Trace:
    """Statistic k at step t is 1000 k + t^2, so that a row says which step it is about."""
    rows = np.arange(STEPS + extra, dtype=float)[:, None] ** 2
    return Trace({name: 1000.0 * k + np.tile(rows, (1, 2)) for k, name in enumerate(NAMES)}, {}, PERIOD, STEPS)


def at(name: str, t: int) -> float:
    return 1000.0 * NAMES.index(name) + t**2


def rise(name: str, t: int) -> float:
    return at(name, t + 1) - at(name, t)


SAME, NEXT = 0, 1
"""A statistic at the row's own step t, or at t + 1; "rise" is its change from t to t + 1."""


ROWS = {
    "feddro.lemma_f_3": ("consensus", SAME, {}),
    "feddro.lemma_f_4": ("inner_error", NEXT, {"inner_error": SAME, "direction_sq": SAME, "consensus_error": SAME}),
    "feddro.lemma_f_2": ("objective", "rise", {"gradient_sq": SAME, "direction_sq": SAME, "consensus_error": SAME, "inner_error": SAME}),
    "local_scgdm.lemma_a_2": ("gradient_spread", SAME, {"inner_consensus": SAME, "consensus_error": SAME}),
    "local_scgdm.lemma_4_2": ("inner_error", NEXT, {"momentum_sq": SAME, "inner_error": SAME}),
    "local_scgdm.lemma_4_1": ("momentum_error", NEXT, {"momentum_error": SAME, "next_inner_error": NEXT, "momentum_sq": SAME}),
    "local_scgdm.descent": ("objective", "rise",
                            {"gradient_sq": SAME, "momentum_sq": SAME, "momentum_error": SAME, "consensus_error": SAME}),
    "local_scgdm.potential": ("potential", "rise", {"gradient_sq": SAME, "consensus_error": SAME}),
    "fcsg.lemma_a_3_variance": ("noise_sq", SAME, {}),
    "fcsg.lemma_a_3": ("gradient_spread", SAME, {"consensus_error": SAME}),
    "fcsg.lemma_b_2": ("objective", "rise", {"gradient_sq": SAME, "consensus_error": SAME}),
    "fcsg_m.lemma_c_1": ("objective", "rise", {"gradient_sq": SAME, "consensus_error": SAME, "update_sq": SAME, "error_sq": SAME}),
    "acc_fcsg_m.lemma_d_1": ("objective", "rise", {"gradient_sq": SAME, "consensus_error": SAME, "update_sq": SAME, "error_sq": SAME}),
    "acc_fcsg_m.lemma_d_2": ("error_sq", NEXT, {"update_sq": SAME, "dispersion_sq": SAME, "error_sq": SAME}),
    "comfedl.lemma_2_step": ("client_drift_sq", SAME, {}),
    "comfedl.lemma_3_step": ("estimator_error_sq", SAME, {"client_drift_sq": SAME}),
    "comfedl.lemma_3": ("estimator_error_sq", SAME, {}),
    "comfedl.lemma_4_step": ("estimator_error_sq", SAME, {"client_drift_sq": SAME}),
    "comfedl.lemma_4": ("estimator_error_sq", SAME, {}),
    "baselines.averaged_noise": ("noise_sq", SAME, {}),
    "baselines.local_sgd_bias": ("bias_sq", SAME, {"consensus_error": SAME}),
    "baselines.local_sgd_step": ("objective", "rise", {"gradient_sq": SAME, "direction_sq": SAME, "bias_sq": SAME, "noise_sq": SAME}),
    "baselines.local_sgd_descent": ("objective", "rise", {"gradient_sq": SAME, "consensus_error": SAME, "noise_sq": SAME}),
    "baselines.minibatch_sgd_descent": ("objective", "rise", {"gradient_sq": SAME, "noise_sq": SAME}),
    "baselines.scgd_moment": ("moment_sq", SAME, {}),
    "baselines.scgd_value": ("used_error", SAME, {"kept_error": SAME}),
    "baselines.scgd_estimate": ("kept_error", NEXT, {"kept_error": SAME}),
    "baselines.scgd_descent": ("objective", "rise", {"gradient_sq": SAME, "used_error": SAME, "moment_sq": SAME}),
    "baselines.biased_sgd_noise": ("noise_sq", SAME, {}),
    "baselines.biased_sgd_bias": ("bias_sq", SAME, {}),
    "baselines.biased_sgd_step": ("objective", "rise", {"gradient_sq": SAME, "direction_sq": SAME, "bias_sq": SAME, "noise_sq": SAME}),
    "baselines.biased_sgd_descent": ("objective", "rise", {"gradient_sq": SAME, "bias_sq": SAME, "noise_sq": SAME}),
    "comfedl.descent": ("change", SAME, {"gradient_sq": SAME, "mean_drift": SAME, "estimator_error": SAME}),
}  # fmt: skip
"""Lemma -> the statistic on its left with its time, and the times of its observables: read off the papers once more."""


STATISTIC = {
    "consensus_error": "consensus",
    "next_inner_error": "inner_error",
    "inner_consensus": "fresh_inner_spread",
    "mean_drift": "mean_drift",
}
"""What an observable of another name is measured by."""


LINKS = {link.lemma: (link, chain) for chain in chains().values() for link in chain.links}


@pytest.mark.parametrize("lemma", ROWS)
def test_a_lemma_compares_the_steps_that_it_speaks_of(lemma):
    link, chain = LINKS[lemma]
    trace = told(chain.extra_steps)
    name, time, observables = ROWS[lemma]
    left = np.atleast_2d(link.left(trace))
    wanted = [rise(name, t) if time == "rise" else at(name, t + time) for t in range(len(left))]
    assert left[:, 0].tolist() == wanted and left.shape[1] == 2
    assert len(left) == STEPS + chain.extra_steps - (time in (NEXT, "rise"))
    for symbol, shift in observables.items():
        seen = np.atleast_2d(link.observables[symbol](trace))
        assert seen[:, 0].tolist() == [at(STATISTIC.get(symbol, symbol), t + shift) for t in range(len(left))], symbol


def test_sums_and_means_over_rounds_and_runs():
    """Of the horizon, the step that looks ahead left out."""
    trace = told(1)
    consensus, gradient = (np.array([at(name, t) for t in range(STEPS)]) for name in ("consensus", "gradient_sq"))
    for lemma, wanted in (
        ("fcsg.lemma_b_1", consensus.sum()),
        ("local_scgdm.lemma_4_3", consensus.mean()),
        ("baselines.local_sgd_drift", consensus.mean()),
        ("baselines.local_sgd_heterogeneity_drift", consensus.mean()),
        ("baselines.scgd_values", np.mean([at("used_error", t) for t in range(STEPS)])),
        ("local_scgdm.summed", gradient.mean()),
        ("feddro.theorem_f_6", at("objective", 8) - at("objective", 0) + at("inner_error", 8) - at("inner_error", 0)),
    ):
        left = LINKS[lemma][0].left(trace)
        assert left.shape == (1, 2) and left[0, 0] == pytest.approx(wanted), lemma
    seen = LINKS["local_scgdm.summed"][0].observables
    assert seen["start_momentum_error"](trace)[0, 0] == at("momentum_error", 0)
    assert seen["start_inner_error"](trace)[0, 0] == at("inner_error", 0)
    whole = LINKS["feddro.theorem_f_6"][0].observables["gradient_sq"](trace)
    assert whole.shape == (1, 2) and whole[0, 0] == pytest.approx(gradient.mean())
    rounds = LINKS["local_scgdm.lemma_a_1"][0]
    for of, name in ((rounds.left, "inner_spread"), (rounds.observables["consensus_sum"], "consensus")):
        assert of(trace)[:, 0].tolist() == [
            sum(at(name, t) for t in (3, 4, 5))
        ]  # the second of two whole rounds of three
    first = LINKS["fcsg_m.lemma_c_2"][0]
    update, error = (np.array([at(name, t) for t in range(STEPS)]).mean() for name in ("update_sq", "error_sq"))
    assert first.left(trace)[0, 0] == pytest.approx(error) and first.observables["update_sq"](trace)[
        0, 0
    ] == pytest.approx(update)
    assert first.observables["start_error_sq"](trace)[0, 0] == at("error_sq", 0)
    spread = LINKS["acc_fcsg_m.lemma_d_3"][0]
    assert spread.left(trace)[0, 0] == pytest.approx(np.mean([at("dispersion_sq", t) for t in range(STEPS)]))
    assert spread.observables["update_sq"](trace)[0, 0] == pytest.approx(update)
    one = LINKS["acc_fcsg_m.lemma_d_1"][0].also["printed"]["client_deviation_sq"](trace)[:, 0]
    assert one.tolist() == [at("first_deviation_sq", t) for t in range(STEPS)]
    potential = LINKS["feddro.lemma_f_5"][0].left(trace)
    assert potential[2, 0] == rise("objective", 2) + rise("inner_error", 2) and len(potential) == STEPS


def test_sums_since_the_last_communication():
    link, _ = LINKS["feddro.lemma_f_3"]
    trace = told(1)
    total = link.observables["consensus_sum"](trace)[:, 0]
    elapsed = link.observables["elapsed"](trace)[:, 0]
    for t in range(STEPS + 1):
        begin = t - t % PERIOD
        assert total[t] == sum(at("consensus", l) for l in range(begin, t)) and elapsed[t] == t - begin
    assert link.keeps(trace, 7).tolist() == [False, True, True, False, True, True, False]


def test_steps_that_lemmas_leave_out():
    trace = told(1)
    for lemma in ("fcsg.lemma_a_3_variance", "baselines.scgd_value", "baselines.scgd_estimate"):
        assert LINKS[lemma][0].keeps(trace, 4).tolist() == [False, True, True, True]
    assert LINKS["baselines.local_sgd_bias"][0].keeps(trace, 7).tolist() == [
        False,
        True,
        True,
        False,
        True,
        True,
        False,
    ]
    assert LINKS["comfedl.lemma_2"][0].keeps(trace, 7).tolist() == [False, True, True, False, True, True, False]
    assert LINKS["comfedl.lemma_2_step"][0].observables["t"](trace)[:, 0].tolist() == [t % 3 for t in range(STEPS + 1)]
    assert (LINKS["comfedl.lemma_2"][0].left(trace)[:, 0] == trace["mean_drift"][:, 0] ** 2).all()
    for lemma in ("comfedl.lemma_2", "comfedl.lemma_3", "comfedl.lemma_4"):
        assert LINKS[lemma][0].fed(9.0, trace) == 3.0
    assert LINKS["fcsg.lemma_b_1"][0].fed(16.0, trace) == 2.0
    later = LINKS["local_scgdm.lemma_4_2"][0].ends_round(trace, 6)
    assert later.tolist() == [False, True, False, False, True, False]  # row i is about step i + 1
    assert LINKS["feddro.lemma_f_4"][0].ends_round(trace, 6).tolist() == [False, False, True, False, False, True]
    nan = Trace({"mean_error": np.array([[1.0, 2.0], [math.nan, 2.0], [3.0, 4.0]])}, {}, 2, 3)
    assert LINKS["meta_fl.lemma_6"][1].links[-3].keeps(nan, 3).tolist() == [True, False, True]


def test_periods_and_steps_ahead_of_the_chains():
    found = {(name.partition(".")[0], chain.period, chain.extra_steps) for name, chain in chains().items()}
    assert found == {
        ("local_scgdm", "p", 1), ("comfedl", "tau", 0), ("fcsg", "q", 1), ("fcsg_m", "q", 1), ("acc_fcsg_m", "q", 1),
        ("meta_fl", "tau", 0), ("feddro", "I", 1), ("baselines", "p", 1), ("baselines", "", 1),
    }  # fmt: skip
    rounds = {name: chain.round_of({"p": 3.0}) for name, chain in chains().items() if name.startswith("baselines.")}
    assert rounds["baselines.local_sgd"] == 3 and rounds["baselines.minibatch_sgd"] == 1  # every step is a round


def test_statistics_of_clients_by_plain_numpy():
    v = torch.tensor([[[1.0, 2.0], [3.0, -2.0], [5.0, 6.0]], [[0.0, 0.0], [1.0, 1.0], [2.0, 5.0]]], dtype=torch.float64)
    plain = v.numpy()
    np.testing.assert_allclose(metrics.mean_square(v), (plain.mean(1) ** 2).sum(-1))
    np.testing.assert_allclose(metrics.square_mean(v), (plain**2).sum(-1).mean(1))
    np.testing.assert_allclose(metrics.dispersion(v), ((plain - plain.mean(1, keepdims=True)) ** 2).sum(-1).mean(1))
    active = torch.tensor([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0]], dtype=torch.float64)
    part = [plain[0][[0, 2]], plain[1][[0, 1]]]
    np.testing.assert_allclose(metrics.dispersion(v, active), [((p - p.mean(0)) ** 2).sum(-1).mean() for p in part])
    np.testing.assert_allclose(metrics.mean_square(v, active), [(p.mean(0) ** 2).sum() for p in part])
    assert metrics.per_run(torch.tensor([2.0, 3.0]), v).shape == (2, 1, 1) and metrics.per_run(0.5, v) == 0.5


def test_a_direction_is_that_of_the_local_step_over_its_step_size_before_any_average():
    before, stepped, after = (
        torch.tensor(x, dtype=torch.float64) for x in ([[[1.0], [5.0]]], [[[0.0], [1.0]]], [[[0.5]] * 2])
    )
    step = Step(None, 0, *(SimpleNamespace(x=x) for x in (before, stepped, after)), None)  # type: ignore[arg-type]
    for size in (0.5, torch.tensor([0.5], dtype=torch.float64)):
        assert metrics.directions(step, size).tolist() == [[[2.0], [8.0]]]


class Counting:
    """A method whose state counts: a local step adds 1, a communication 10 at the end of each round of two."""

    grid = 1

    def over(self, runs, device):
        return self

    def check(self, problem):
        pass

    def init(self, problem, start, draws):
        return 0

    def local_step(self, problem, state, draws, t):
        return state + 1

    def communicate(self, problem, state, t):
        return state + 10 * (t % 2)


def test_a_walk_shows_every_state_and_where_its_round_began():
    made = SimpleNamespace(clients=1, initial_point=torch.zeros(1))
    steps = list(walk(Counting(), made, 5, 1, period=2))  # type: ignore[arg-type]
    assert [(s.t, s.before, s.stepped, s.after, s.start) for s in steps] == [
        (0, 0, 1, 1, 0), (1, 1, 2, 12, 0), (2, 12, 13, 13, 12), (3, 13, 14, 24, 12), (4, 24, 25, 25, 24),
    ]  # fmt: skip
    assert all(isinstance(step, Step) for step in steps)


def test_a_chain_looks_one_step_ahead_unless_it_says_otherwise():
    assert LemmaChain(lambda problem, numbers: {}, (), "p").extra_steps == 1
    link = Link("x", lambda r: r["left"])
    assert link.fed(3.5, told(0)) == 3.5 and link.of_a_run and not link.bounds_gradient


def test_the_weights_of_a_potential_take_a_constant_from_the_problem_where_one_is_not_given():
    """Whether all are given, all but one, or none."""
    import fedco
    from fedco.validation.papers.local_scgdm import lemmas
    from fedco.validation.runs.values import constants

    problem, theorem = fedco.problem("local_noisy"), fedco.theorem("local_scgdm.theorem_3_4")
    chosen = {"eta": 0.02, "alpha": 5.0, "beta": 1.5, "gamma": 5.0, "p": 2.0}
    known = {name: float(value) for name, value in constants(theorem, "printed", problem)[0].items()}
    wanted = lemmas.weights_of_potential(problem, {**chosen, **known})
    assert lemmas.weights_of_potential(problem, chosen) == wanted and min(wanted) > 0
    for name in known:
        assert (
            lemmas.weights_of_potential(problem, {**chosen, **{n: v for n, v in known.items() if n != name}}) == wanted
        )


def test_the_curvature_between_the_ends_of_a_local_step_is_a_quotient_of_differences():
    """Gradients 2 x and 6 x: from (1, 2) to (4, 4), squares averaged, sqrt((6^2 + 12^2) / (3^2 + 2^2))."""
    from fedco.validation.papers.meta_fl.lemmas import along_the_run

    before, after = (torch.tensor([[[a], [b]]], dtype=torch.float64) for a, b in ((1.0, 2.0), (4.0, 4.0)))
    steep = torch.tensor([[[2.0], [6.0]]], dtype=torch.float64)
    step = SimpleNamespace(
        before=SimpleNamespace(x=before),
        stepped=SimpleNamespace(x=after),
        problem=SimpleNamespace(client_gradients=lambda x: steep * x),
    )
    found = along_the_run({"beta": torch.ones(1, dtype=torch.float64)})["curvature"](step)
    assert found.tolist() == pytest.approx([((6**2 + 12**2) / (3**2 + 2**2)) ** 0.5])


def test_the_spread_of_fresh_gradients_is_that_of_the_first_momentum_and_then_of_what_is_new_in_it():
    """The first momentum is a gradient; later m = 3/4 before + 1/4 new, so from (0, 2) to (1, 5) the new ones are 4 and 14."""
    from fedco.validation.papers.local_scgdm.lemmas import metrics
    from fedco.validation.runs.registry import recipes

    problem = recipes()["local_scgdm.theorem_3_4"].instances[0].made()
    half = torch.full((1,), 0.5, dtype=torch.float64)
    spread = metrics(problem, {"alpha": half, "eta": half, "beta": half, "gamma": half, "p": 2})["gradient_spread"]
    before, after = (torch.tensor([[[a], [b]]], dtype=torch.float64) for a, b in ((0.0, 2.0), (1.0, 5.0)))
    steps = [
        SimpleNamespace(t=t, before=SimpleNamespace(m=before), stepped=SimpleNamespace(m=after)) for t in (0, 1, 2)
    ]
    assert [float(spread(step)) for step in steps] == pytest.approx([2**2, 5**2, 5**2])


# --- exact expectations of meta FL, against every outcome of the method itself ----------------------------------------


SMALL = {"clients": 2, "dim": 3, "nu": 2, "sigma_G": 0.4, "sigma_H": 0.3, "kurtosis": 2, "alpha": 0.3}
VARIANTS = ("exact", "first_order", "hessian_free")
DELTA = 0.2


def _noisy(**more):
    return problem("meta_noisy", **{**SMALL, **more})


def _models(made):
    return torch.tensor(
        [[[0.3, -0.2, 0.5], [1.0, 0.1, -0.4]], [[0.0, 0.0, 0.1], [-0.5, 0.7, 0.2]]], dtype=torch.float64
    )


class Fixed:
    """A problem whose batches are given by purpose."""

    def __init__(self, inner, noise):
        self.inner, self.noise = inner, noise

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def sample(self, draws, batch, purpose="sample"):
        return NoiseSample(torch.tensor(self.noise[purpose], dtype=torch.float64).expand(2, self.inner.clients, batch))


def _enumerated(made, variant, D, w):
    """E of `MetaFL.meta_gradient` at w, over every sample of every batch that the variant draws."""
    sample, weights = made.atoms()
    values, method = sample.noise[0, 0].tolist(), MetaFL(beta=1.0, tau=1, D=D, variant=variant, delta=DELTA)
    purposes = [f"gradient {l}" for l in range(made.nu + 1)]
    purposes += [] if variant == "first_order" else [f"hessian {l}" for l in range(made.nu)]
    total = torch.zeros_like(w)
    for picked in product(product(range(len(values)), repeat=D), repeat=len(purposes)):
        chance = math.prod(float(weights[i]) for batch in picked for i in batch)
        noise = {name: [values[i] for i in batch] for name, batch in zip(purposes, picked, strict=True)}
        total += chance * method.meta_gradient(Fixed(made, noise), w, None)
    return total


@pytest.mark.parametrize(("variant", "D"), [*((variant, 1) for variant in VARIANTS), ("first_order", 2)])
def test_the_mean_of_an_estimate_is_that_of_the_method_over_every_outcome(variant, D):
    made = _noisy()
    w = _models(made)
    mean = Estimate.of(made, variant, {"D": D, "D_H": D, "delta": DELTA}).mean(w)
    assert torch.allclose(mean, _enumerated(made, variant, D, w), rtol=0, atol=1e-13)
    errors = torch.linalg.vector_norm(mean - made.client_gradients(w), dim=-1)
    assert float(errors.max()) > 1e-6  # there is a mean error to be measured


def test_blocks_of_lanes_change_no_mean(monkeypatch):
    made = _noisy()
    estimate = Estimate.of(made, "hessian_free", {"D": 2, "D_H": 2, "delta": DELTA})
    whole = estimate.mean(_models(made))
    monkeypatch.setattr("fedco.validation.papers.meta_fl.law.AT_ONCE", 1)
    assert torch.allclose(estimate.mean(_models(made)), whole, rtol=0, atol=1e-15)


@pytest.mark.parametrize(("D", "kurtosis"), [(1, 1), (2, 1), (5, 2), (16, 3)])
def test_a_batch_mean_has_the_moments_of_its_samples(D, kurtosis):
    values, chances = batch_mean(_noisy(kurtosis=kurtosis), D)
    assert float(chances.sum()) == pytest.approx(1, abs=1e-14)
    moments = [float((chances * values**power).sum()) for power in (1, 2, 3, 4)]
    assert moments == pytest.approx([0, 1 / D, 0, (kurtosis + 3 * (D - 1)) / D**3], abs=1e-12)
    assert len(values) == (D + 1 if kurtosis == 1 else 2 * D + 1)


def test_outcomes_counts_the_leaves():
    made = _noisy()
    path = len(batch_mean(made, 2)[0]) ** 2
    for variant, wanted in (("exact", path), ("first_order", path), ("hessian_free", path * 5 * 5)):
        estimate = Estimate.of(made, variant, {"D": 2, "D_H": 2, "delta": DELTA})
        assert estimate.outcomes == wanted
        assert len(estimate.path(_models(made)).weights) == path


def test_path_errors_are_the_moments_over_every_outcome():
    made = _noisy()
    w, estimate = _models(made), Estimate.of(made, "exact", {"D": 1})
    values, chances = batch_mean(made, 1)
    found = {power: torch.zeros(2, 2, dtype=torch.float64) for power in (1, 2, 4)}
    for (z0, p0), (z1, p1) in product(zip(values, chances, strict=True), repeat=2):
        x = w
        for z in (z0, z1):
            x = x - made.alpha * made.local_gradient(x, NoiseSample(z.expand(2, 2, 1)))
        for power, total in found.items():
            total += p0 * p1 * torch.linalg.vector_norm(x - made.fine_tuned(w)[-1], dim=-1) ** power
    for power, wanted in found.items():
        assert torch.allclose(path_error(estimate, w, made.fine_tuned(w)[-1], power), wanted, rtol=1e-12)


def test_lemma_12_is_attained_so_a_constant_one_percent_smaller_is_caught():
    """At 0 the gradient noise is sigma_G z v and at a crest the Hessian noise is sigma_H z v v^T: both sides are equal."""
    made, D = _noisy(), 3
    sigma_G, sigma_H = SMALL["sigma_G"], SMALL["sigma_H"]
    kbar = {sigma: (2 * sigma**4 + 3 * (D - 1) * sigma**4) / D**3 for sigma in (sigma_G, sigma_H)}
    law, zero = batch_mean(made, D), torch.zeros(1, 2, 3, dtype=torch.float64)
    crest = made.bowl.directions.unsqueeze(0) * (math.pi / 2 * sigma_G / sigma_H)
    gradient = noise_moment(law, zero, gradient_error_sq(made))
    hessian = noise_moment(law, crest, hessian_error_sq(made))
    assert gradient.flatten().tolist() == pytest.approx([kbar[sigma_G]] * 2, rel=1e-12)
    assert hessian.flatten().tolist() == pytest.approx([kbar[sigma_H]] * 2, rel=1e-12)
    assert float(gradient.max()) > 0.99 * kbar[sigma_G] and float(hessian.max()) > 0.99 * kbar[sigma_H]


def test_clients_with_different_noise_are_refused():
    made = _noisy()
    sample, weights = made.atoms()
    different = Fixed(made, {})
    different.atoms = lambda: (NoiseSample(sample.noise * torch.tensor([[[1.0], [2.0]]], dtype=torch.float64)), weights)
    with pytest.raises(ValueError, match="one law"):
        batch_mean(different, 1)


PARTS = {
    "meta_fl.theorem_8": {
        ("meta_fl.lemma_5", "path error, moment 1"),
        ("meta_fl.lemma_5", "path error, moment 2"),
        ("meta_fl.lemma_5", "path error, moment 4"),
        ("meta_fl.lemma_6", "mean error"),
        ("meta_fl.lemma_6", "second moment"),
        ("meta_fl.lemma_12", "gradient batch"),
        ("meta_fl.lemma_12", "Hessian batch"),
    },
    "meta_fl.theorem_8_FO": {
        ("meta_fl.lemma_5", "path error, moment 1"),
        ("meta_fl.lemma_5", "path error, moment 2"),
        ("meta_fl.lemma_10", "mean error"),
        ("meta_fl.lemma_10", "second moment"),
    },
    "meta_fl.theorem_8_HF": {
        ("meta_fl.lemma_5", "path error, moment 1"),
        ("meta_fl.lemma_5", "path error, moment 2"),
        ("meta_fl.lemma_11", "mean error"),
        ("meta_fl.lemma_11", "second moment"),
    },
}


def _instance(name):
    return recipe_for(name).instances[1]  # tasks differ, nu = 3, rounds of 2


@pytest.mark.parametrize("name", sorted(PARTS))
def test_every_part_of_the_lemmas_is_measured_and_holds(name):
    report = measure_chain(name, _instance(name), 8, seeds=4)
    assert {(row.lemma, row.part) for row in report.rows if row.part} == PARTS[name]
    exact = [row for row in report.rows if row.when == "run"]
    assert {(row.lemma, row.part) for row in exact} == {item for item in PARTS[name] if item[1] != "second moment"}
    assert all(row.steps == 5 and row.conditions_hold for row in exact)  # t = 0, 1, 3, 7, 15 of 16 steps
    assert all(row.left > 0 and row.slack > 1 and row.holds and not row.failing for row in exact)


@pytest.mark.parametrize("name", sorted(PARTS))
def test_a_constant_below_the_expectation_is_seen_to_fail(name):
    """Each right side, scaled to 1% below what was measured, fails, and the printed one does not."""
    instance = _instance(name)
    made = problem(instance.problem, **instance.parameters)
    bound, _ = evaluate_at(theorem(name), "printed", made, instance.hyperparameters, 4)
    numbers = numbers_of(instance, bound)
    chain, recipe = chain_for(name), recipe_for(name)
    trace = trace_run(chain, recipe.method(numbers), made, 4, 3, numbers)
    for link in (link for link in chain.links if link.keeps is not None):
        ((row,), _) = compare_sides(link, "printed", trace, made)
        right = link.right
        scaled = replace(link, right=lambda derived, right=right, s=row.slack: 0.99 * right(derived) / s)
        ((mutant,), _) = compare_sides(scaled, "printed", trace, made)
        assert row.holds and not mutant.holds, row.name


def test_a_large_tree_is_measured_at_the_start_only(monkeypatch):
    monkeypatch.setattr(meta_fl, "MANY_OUTCOMES", 1)
    report = measure_chain("meta_fl.theorem_8_HF", _instance("meta_fl.theorem_8_HF"), 4, seeds=2)
    steps = {row.part: row.steps for row in report.rows if row.when == "run"}
    assert steps["mean error"] == 1 and steps["path error, moment 1"] == 4


def test_expectations_are_taken_at_the_steps_before_powers_of_two():
    """0, 1, 3, 7; the mean of an estimate with many outcomes at the start alone; one run stands for runs that are alike."""
    asked = []

    def per_client(w):
        asked.append(len(w))
        return w[..., 0]

    def taken(name, outcomes):
        metric = meta_fl.at_some_steps(per_client, lambda: SimpleNamespace(outcomes=outcomes), name)
        return [t for t in range(9) if not metric(SimpleNamespace(t=t, before=SimpleNamespace(x=x))).isnan().any()]

    x = torch.arange(12.0, dtype=torch.float64).view(3, 2, 2)
    many = meta_fl.MANY_OUTCOMES
    assert taken("h_nu", many + 1) == taken("mean_error", many) == [0, 1, 3, 7] and set(asked) == {3}
    assert taken("mean_error", many + 1) == [0]
    found = meta_fl.at_some_steps(per_client, lambda: None, "h_nu")
    assert found(SimpleNamespace(t=3, before=SimpleNamespace(x=x))).tolist() == [2, 6, 10]
    x = x[:1].expand(3, -1, -1)
    assert found(SimpleNamespace(t=3, before=SimpleNamespace(x=x))).tolist() == [2] * 3 and asked[-1] == 1
