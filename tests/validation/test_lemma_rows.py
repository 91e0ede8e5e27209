"""Which rows of a run every lemma compares: steps, sums, rounds, and what is left out."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fedco.validation.lemmas import metrics
from fedco.validation.lemmas.link import LemmaChain, Link
from fedco.validation.lemmas.trace import Step, Trace, walk
from fedco.validation.runs.registry import chains

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
