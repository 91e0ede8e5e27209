"""Every metric in exact numbers and in doubles, by each law that takes it; and the library's theorems with planted mistakes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from itertools import product

import numpy as np
import pytest
import sympy as sp
from families import federated, run_in_doubles, varied
from fedco.algorithms import LocalSGD
from fedco.bounds.evaluation.weights import StepWeights
from fedco.bounds.language.change import Change
from fedco.bounds.language.definition import restated, statement_keys
from fedco.bounds.language.metrics import (
    AVERAGED,
    DISTANCE_SQ,
    GAP,
    GRADIENT,
    GRADIENT_SQ,
    LAST,
    MEAN,
    MEASURES,
    MINIMUM,
    WEIGHTED,
)
from fedco.bounds.language.notation import STEP
from fedco.bounds.registry import get_theorem
from fedco.validation.exact.curve import Curve, minimiser, polyak_lojasiewicz
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.long_run import Counted, in_powers
from fedco.validation.exact.problem import Instance, exact_problem
from fedco.validation.exact.run import CannotReplay, endless, scalar, stepped
from fedco.validation.exact.statistic import Statistic
from fedco.validation.exact.tensor import InexactError
from fedco.validation.falsifier.confirm import Claimed, NotConfirmed, confirm
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.long_run import long_runs
from fedco.validation.falsifier.noise import MEASURED, Run, measured, moments, paths, signs_of
from quick import slow_but, slowly
from searching import falsified, replayed, spaces_of, violation_of

BOWL = federated([[Q(-1), Q(1)]] * 2, [[Q(-1)] * 2, [Q(0)] * 2], Q(3), [Q(1), Q(1, 2)], curvature=Q(2))
"""F' = 2 x - 1/2, least at 1/4; the noise of the mean gradient has the variance (1 + 1/4)/4."""
RATE, LEAST, ETA, VARIANCE = Q(2), Q(1, 4), Q(1, 8), Q(5, 16)


SQUARES = [of for of in MEASURES if of != GRADIENT]


def by_hand(of: str, steps: int) -> list[Q]:
    """The expectation at t = 0, ..., steps: z = x - x_* has E z^2 -> (1 - 2 eta)^2 E z^2 + eta^2 V."""
    squares = [(Q(3) - LEAST) ** 2]
    for _ in range(steps):
        squares.append((1 - ETA * RATE) ** 2 * squares[-1] + ETA**2 * VARIANCE)
    return [{GRADIENT_SQ: RATE**2, GAP: RATE / 2, DISTANCE_SQ: Q(1)}[of] * square for square in squares]


def taken(rows: list[Q], over: str, after: bool) -> Q:
    counted = rows[1:] if after else rows[:-1]
    return {MEAN: sum(counted, Q(0)) / len(counted), MINIMUM: min(counted), LAST: rows[-1]}[over]


def method(tau: int = 1) -> LocalSGD:
    return LocalSGD(eta=scalar(ETA), tau=tau)


def in_doubles(of: str, steps: int, instance: Instance = BOWL) -> Run:
    return run_in_doubles(instance, LocalSGD(eta=float(ETA), tau=1), steps, measure=MEASURED[of])


@pytest.mark.parametrize(("of", "over", "after"), list(product(SQUARES, (MEAN, MINIMUM, LAST), (False, True))))
def test_a_metric_is_what_a_recursion_by_hand_says(of, over, after):
    steps, wanted = 6, Statistic(of, over, after=after)
    expected = taken(by_hand(of, steps), over, after)
    assert stepped(method(), exact_problem(BOWL), steps, wanted) == (expected, expected)
    if over == MINIMUM:
        with pytest.raises(CannotReplay, match="only a mean"):
            in_powers(method(), exact_problem(BOWL), steps, 1, wanted)
        return
    low, high = in_powers(method(), exact_problem(BOWL), steps, 1, wanted)
    assert low <= expected <= high and high - low < Q(1, 10**100)
    run = in_doubles(of, steps)
    found, astray = long_runs(run, run, 2, Counted(1, wanted), [steps], np.ones(1))
    assert found[0, 0] == pytest.approx(float(expected), rel=1e-12) and astray[0] == 0


@pytest.mark.parametrize("of", SQUARES)
def test_lanes_in_doubles_measure_the_same(of):
    count = signs_of(in_doubles(of, 3), 2)
    for law in (moments(count), paths(count)):
        rows, astray = measured(in_doubles(of, 3), 2, law)
        assert law.expectation(rows)[:, 0] == pytest.approx([float(v) for v in by_hand(of, 3)], rel=1e-12)
        assert astray[0] == 0


def test_what_decays_far_below_what_it_started_from_is_seen_in_powers():
    """Without noise |x_T - x_*|^2 = (3/4)^(2 T) (11/4)^2; in doubles a sum of products would end at their rounding."""
    silent = varied(BOWL, gradient_noise=[Q(0), Q(0)])
    for steps in (20, 50):
        wanted = (Q(3, 4) ** steps * Q(11, 4)) ** 2
        low, high = in_powers(method(), exact_problem(silent), steps, 1, Statistic(DISTANCE_SQ, LAST))
        assert low <= wanted <= high
        run = in_doubles(DISTANCE_SQ, steps, silent)
        found, _ = long_runs(run, run, 2, Counted(1, Statistic(DISTANCE_SQ, LAST)), [steps], np.ones(1))
        assert found[0, 0] == pytest.approx(float(wanted), rel=1e-6)


def test_a_gap_in_powers_is_one_of_a_single_piece():
    """Where the minimiser lies on another piece than the run, or the objective is flat there, the gap is no square of an affine number."""
    kinked = {"knots": [[Q(0), Q(2)]] * 2, "slopes": [[Q(-9), Q(1)], [Q(-9), Q(1)]], "start": Q(40)}
    far = varied(BOWL, **kinked, gradient_noise=[Q(0), Q(0)])
    with pytest.raises(Bends):
        in_powers(method(), exact_problem(far), 2, 1, Statistic(GAP, LAST))
    flat = {"knots": [[Q(0), Q(1), Q(2)]] * 2, "slopes": [[Q(-9), Q(-2), Q(-4)]] * 2}  # F' = 0 on [1, 2]
    level = varied(far, **flat)
    with pytest.raises(Bends, match="flat at its minimiser"):
        in_powers(method(), exact_problem(level), 2, 1, Statistic(GAP, LAST))


@pytest.mark.parametrize("of", SQUARES)
def test_an_endless_run_stays_at_its_gap_and_its_distance(of):
    """Equal clients without noise rest at the minimiser; two that differ rest off it after two local steps."""
    slopes = {"slopes": [[Q(-1), Q(1)], [Q(1), Q(1)]], "gradient_noise": [Q(0), Q(0)], "start": Q(0)}
    problem = exact_problem(varied(BOWL, **slopes))
    run = stepped(method(2), problem, 400, Statistic(of, LAST))
    rest = (problem.minimiser - Q(1, 4), problem.minimiser + Q(1, 4))
    low, high = endless(method(2), problem, 2, rest, Statistic(of, LAST))
    assert low <= run[0] and run[1] <= high


def test_a_probability_is_asked_of_each_run():
    """One step from 3 with noise 3/4, 1/4, -1/4, -3/4 in the mean: the least number that is exceeded with probability delta at most."""
    problem = exact_problem(BOWL)
    ends = sorted(
        ((Q(3) - ETA * (Q(11, 2) + s + t) - LEAST) ** 2 for s in (Q(1, 2), -Q(1, 2)) for t in (Q(1, 4), -Q(1, 4))),
        reverse=True,
    )
    for failure, place in ((Q(1, 8), 0), (Q(1, 4), 1), (Q(1, 2), 2), (Q(3, 5), 2), (Q(99, 100), 3)):
        wanted = Statistic(DISTANCE_SQ, LAST, failure=failure)
        assert stepped(method(), problem, 1, wanted) == (ends[place],) * 2
    with pytest.raises(CannotReplay, match="too many paths"):
        stepped(method(), problem, 6, Statistic(failure=Q(1, 2)))
    with pytest.raises(CannotReplay, match="only a mean"):
        in_powers(method(), problem, 4, 1, Statistic(failure=Q(1, 2)))


# --- what an instance is certified to be ----------------------------------------------------------------------------------


def test_curvatures_and_the_minimiser_by_hand():
    """F' = -1 at -1, 1 at 1, flat to 3, then with the rate 1/2: least at 0, PL where (1 + s/2)^2 / (2 (1/2 + 2 + s + s^2/4)) is least."""
    slope = Curve(((Q(-1), Q(-1)), (Q(1), Q(1)), (Q(3), Q(1))), Q(1, 2))
    assert (minimiser(slope), slope.flattest(), slope.lipschitz()) == (0, 0, 1)
    assert polyak_lojasiewicz(slope) == Q(1, 5)  # at 3: 1 / (2 (1/2 + 2))
    assert slope(Q(5)) == 2 and slope.integral(Q(5)) - slope.integral(Q(3)) == 3 and slope(Q(-3)) == -2
    assert slope.zeros() == [Q(0)] and Curve(((Q(0), Q(1)), (Q(1), Q(2))), Q(2)).zeros() == [Q(-1, 2)]
    dip = Curve(((Q(-1), Q(-1)), (Q(1), Q(1)), (Q(2), Q(-1)), (Q(5), Q(1))), Q(1))
    assert polyak_lojasiewicz(dip) == 0 == polyak_lojasiewicz(Curve(((Q(-1), Q(-1)), (Q(1), Q(1)))))
    with pytest.raises(ValueError, match="without a bound"):
        slope.bound()


def test_a_constant_that_says_more_the_larger_it_is_may_not_be_declared_larger():
    """mu above that of the instance is refused, and any other constant below it."""
    change = Change("variance", "divided", Q(4))
    target = target_of(get_theorem("library.sgd_strongly_convex"), "printed", change)
    constants = {"L_bar": Q(2), "mu": Q(2), "sigma": Q(1), "D": Q(1, 10**6)}
    beside = varied(BOWL, gradient_noise=[Q(1), Q(1)], start=LEAST)
    claimed = Claimed(beside, constants, {"eta": Q(49, 100), "b": Q(1), "N": Q(2), "T": Q(8)})
    assert confirm(target, claimed).ratio > 3
    for name, other in (("mu", Q(21, 10)), ("L_bar", Q(19, 10)), ("sigma", Q(9, 10))):
        with pytest.raises(NotConfirmed, match=f"{name}: declared"):
            confirm(target, replace(claimed, constants={**constants, name: other}))
    with pytest.raises(NotConfirmed, match="D: declared 1, the instance has 11/4"):
        confirm(target, replace(claimed, instance=BOWL, constants={**constants, "D": Q(1), "sigma": Q(1)}))
    assert confirm(target, replace(claimed, constants={**constants, "mu": Q(19, 10)})).ratio > 3


# --- which search spaces there are ----------------------------------------------------------------------------------------


def names_of(name: str) -> list[str]:
    return [space.name for space in spaces_of(name)]


def test_a_schedule_in_t_leaves_out_what_repeats_a_round():
    declining, constant = names_of("library.sgd_strongly_convex_declining"), names_of("library.sgd_strongly_convex")
    assert any("closed moments" in name for name in declining) and any("all paths" in name for name in declining)
    assert not any("powers" in name or "stays" in name for name in declining)
    assert any("closed powers" in name for name in constant)
    assert all(any("closed powers" in name for name in names_of(f"library.{of}")) for of in ("sgda", "fed_ttsa"))


def test_what_is_deterministic_is_searched_without_noise_and_a_probability_by_paths():
    assert not any("noise" in name for name in names_of("library.gd_convex"))
    assert {name.rpartition(", ")[2] for name in names_of("library.sgd_probable") if "noise" in name} == {
        "all paths of noise"
    }
    assert all("curvature" in name or "bowls" in name for name in names_of("library.sgd_pl"))


# --- the library ----------------------------------------------------------------------------------------------------------

PLANTED = {
    "sgd_convex": {
        "initialisation": ("D**2/(8*eta*T)", "D**2/(2*eta*T**2)"),
        "variance": ("eta*sigma**2/(4*N*b)", "eta*sigma/(N*b)"),
    },
    "sgd_convex_distance": {
        "initialisation": ("D**2/4",),
        "variance": ("T*eta**2*sigma**2/(4*N*b)", "eta**2*sigma**2/(N*b)"),
    },
    "sgd_strongly_convex": {
        "initialisation": ("(1 - mu*eta)**(4*T)*D**2", "(1 - mu*eta)**T*D**2/4"),
        "variance": ("eta*sigma**2/(4*mu*N*b)", "eta*sigma/(mu*N*b)", "eta*sigma**2/(mu*N**2*b)"),
    },
    "sgd_strongly_convex_gap": {
        "initialisation": ("(1 - mu*eta)**(4*T)*F_gap",),
        "variance": ("L_bar*eta*sigma**2/(8*mu*N*b)",),
    },
    "sgd_strongly_convex_declining": {
        "initialisation": ("t0**2/S**2*D**2/4",),
        "variance": ("(1 + 1/t0)**2*a**2*sigma**2*T/(4*N*b*S**2)",),
    },
    "sgd_strongly_convex_gap_declining": {"variance": ("L_bar*(1 + 1/t0)**2*a**2*sigma**2*T/(8*N*b*S**2)",)},
    "sgd_pl": {
        "initialisation": ("(1 - kappa*eta)**(4*T)*F_gap",),
        "variance": ("L_bar*eta*sigma**2/(8*kappa*N*b)",),
    },
    "sgd_pl_declining": {"initialisation": ("t0**6/S**6*F_gap",)},
    "local_sgd_pl": {
        "initialisation": ("F_gap/(4*kappa*eta*T)",),
        "variance": ("L*eta*sigma**2/(8*kappa*N*b)",),
        "heterogeneity": ("0*zeta",),
    },
    "local_sgd_strongly_convex": {
        "initialisation": ("D**2/(4*eta*T)",),
        "variance": ("eta*sigma**2/(4*N*b)",),
        "heterogeneity": ("0*zeta",),
    },
    "gd": {"initialisation": ("F_gap/(2*eta*T)", "2*F_gap/(eta*T**2)")},
    "gd_convex": {"initialisation": ("D**2/(8*eta*T)", "D**2/(2*eta*T**2)")},
    "gd_strongly_convex": {"initialisation": ("(1 - mu*eta)**(4*T)*D**2",)},
    "gd_pl": {"initialisation": ("(1 - kappa*eta)**(4*T)*F_gap",)},
    "sgd_strongly_convex_weighted": {
        "initialisation": ("t0**2*D**2/(20*a*T*S)",),
        "variance": ("a*sigma**2/(50*N*b*S)",),
    },
    "sgd_strongly_convex_averaged": {"initialisation": ("t0**2*D**2/(20*a*T*S)",)},
    "sgd_probable": {"initialisation": ("F_gap/(2*eta*T*delta)",), "variance": ("L_bar*eta*sigma**2/(4*N*b)",)},
    "scaffold": {
        "initialisation": ("F_gap/(2*eta*T)",),
        "variance": ("L*eta*sigma**2/(4*N*b)",),
        "first_round": ("0*zeta_0",),
    },
    "fedprox": {"initialisation": ("F_gap/(2*eta*T)",), "variance": ("L*eta*sigma**2/(4*N*b)",)},
    "delayed_sgd": {"initialisation": ("F_gap/(2*eta*T)",), "variance": ("L_bar*eta*sigma**2/(4*N*b)",)},
    "local_sgd_convex": {
        "initialisation": ("D**2/(4*eta*T)",),
        "variance": ("eta*sigma**2/(4*N*b)",),
    },
}
"""Mistakes by theorem and term: constants lost, sigma for sigma^2, T^2 for T, a rate twice too fast, a term or 1/delta lost."""
CASES = [(name, term, formula) for name, terms in PLANTED.items() for term, made in terms.items() for formula in made]


def planted(name: str, term: str, formula: str):
    theorem = get_theorem(f"library.{name}")
    keys = statement_keys(theorem, "printed")
    return restated(theorem, "printed", {**keys, "terms": {**keys["terms"], term: formula}})


QUICK = (
    "sgd_convex_distance",
    "sgd_pl_declining",
    "sgd_strongly_convex_weighted",
    "sgd_strongly_convex_averaged",
    "gd_pl",
)
"""Of every metric one: of the others the lengths of the runs, the schedules and the weights are theirs."""


@pytest.mark.parametrize(("name", "term", "formula"), slow_but(QUICK, CASES))
def test_a_planted_mistake_is_refuted_and_its_bundle_replays(name, term, formula):
    assert replayed(*violation_of(planted(name, term, formula)))


CHANGES = [
    ("sgda", Change("dual_variance", "divided", Q(100))),
    ("sgda", Change("step_size", "relaxed", Q(4))),
    slowly(("sgda", Change("dual_start", "dropped"))),
    ("fed_ttsa", Change("lower_start", "dropped")),
    ("fed_ttsa", Change("step_size", "relaxed", Q(4))),
    slowly(("fed_ttsa", Change("variance", "divided", Q(100)))),
    ("gossip_sgd", Change("variance", "dropped")),
    ("gossip_sgd", Change("step_size", "relaxed", Q(4))),
    slowly(("gossip_sgd", Change("initialisation", "divided", Q(100)))),
    slowly(("gossip_sgd", Change("heterogeneity", "divided", Q(100)))),
]
"""Of problems in two variables, and of a network of clients."""


@pytest.mark.parametrize(("name", "change"), CHANGES, ids=str)
def test_a_weakened_statement_is_refuted_and_its_bundle_replays(name, change):
    assert replayed(*violation_of(f"library.{name}", change=change))


SURVIVE = [
    ("library.sgd_pl", "printed", 0.1),
    ("library.gd", "printed", 0.1),
    ("library.sgda", "printed", 0.9),
    ("library.fed_ttsa", "printed", 0.9),
    ("meta_fl.lemma_7", "corrected", 0.01),
    ("comfedl.lemma_2_step", "printed", 0.9),
    *(
        slowly((f"library.{name}", "printed", 0.1))
        for name in ("sgd_pl_declining", "gd_convex", "gd_strongly_convex", "gd_pl", "local_sgd_pl")
    ),
]
"""True statements, and how near to its bound a search soon comes: the recursion of one step is tight."""


@pytest.mark.parametrize(("name", "label", "least"), SURVIVE)
def test_a_true_statement_survives_and_is_put_to_the_test(name, label, least):
    found = falsified(name, label, seconds=0.3)
    assert found.outcome == "SURVIVED" and least < found.ratio <= 1 and found.to_dict()["bundle"] is None


# --- weights of the iterates ------------------------------------------------------------------------------------------

WEIGHTS = StepWeights((STEP + 1) ** 2)


@pytest.mark.parametrize(("of", "after"), list(product(SQUARES, (False, True))))
def test_a_weighted_mean_is_what_a_recursion_by_hand_says(of, after):
    steps, rows = 5, by_hand(of, 5)
    times = range(1, steps + 1) if after else range(steps)
    whole = sum(Q(t + 1) ** 2 for t in times)
    expected = sum((Q(t + 1) ** 2 * rows[t] for t in times), Q(0)) / whole
    wanted = Statistic(of, WEIGHTED, after=after, weights=WEIGHTS)
    assert stepped(method(), exact_problem(BOWL), steps, wanted) == (expected, expected)
    with pytest.raises(CannotReplay, match="only a mean"):
        in_powers(method(), exact_problem(BOWL), steps, 1, wanted)
    with pytest.raises(CannotReplay, match="alike"):
        endless(method(), exact_problem(BOWL), 1, (Q(3), Q(3)), wanted)


@pytest.mark.parametrize(("of", "after"), list(product(SQUARES, (False, True))))
def test_the_average_of_the_iterates_is_what_its_mean_and_variance_say(of, after):
    """z_t = q^t z_0 - eta sum_{s<t} q^(t-1-s) e_s with q = 1 - 2 eta: the average has the mean and the noise of the sums of these."""
    steps, q = 4, 1 - ETA * RATE
    times = list(range(1, steps + 1) if after else range(steps))
    shares = [Q(t + 1) ** 2 / sum(Q(s + 1) ** 2 for s in times) for t in times]
    centre = sum((share * q**t for t, share in zip(times, shares, strict=True)), Q(0)) * (Q(3) - LEAST)
    pushed = [
        sum((share * q ** (t - 1 - s) for t, share in zip(times, shares, strict=True) if t > s), Q(0))
        for s in range(steps)
    ]
    square = centre**2 + ETA**2 * VARIANCE * sum((each**2 for each in pushed), Q(0))
    expected = {GRADIENT_SQ: RATE**2, GAP: RATE / 2, DISTANCE_SQ: Q(1)}[of] * square
    wanted = Statistic(of, AVERAGED, after=after, weights=WEIGHTS)
    assert stepped(method(), exact_problem(BOWL), steps, wanted) == (expected, expected)
    weights = np.array([[0.0 if after else 1.0], *([(t + 1.0) ** 2] for t in range(1, steps + 1))])
    count = signs_of(in_doubles(of, steps), 2)
    for law in (moments(count), paths(count)):
        rows, astray = measured(replace(in_doubles(of, steps), weights=weights), 2, law)
        at = steps if after else steps - 1
        assert law.expectation(rows)[at, 0] == pytest.approx(float(expected), rel=1e-12) and astray[0] == 0


@pytest.mark.parametrize("formula", [2 - STEP, sp.sqrt(STEP + 1), 0 * STEP])
def test_weights_without_an_exact_value_have_no_exact_run(formula):
    wanted = Statistic(GAP, WEIGHTED, weights=StepWeights(sp.sympify(formula)))
    with pytest.raises(InexactError, match="weight"):
        stepped(method(), exact_problem(BOWL), 5, wanted)


# --- a norm, which is no square of what is affine in the noise --------------------------------------------------------


def test_an_expected_norm_is_the_mean_over_all_paths():
    """z_1 = (1 - 2 eta) z_0 - eta e, from a start so near the minimiser that the noise decides on which side it is."""
    near = varied(BOWL, start=LEAST + Q(1, 64))
    z = Q(1, 64)
    noises = [(a + b / 2) / 2 for a in (Q(1), Q(-1)) for b in (Q(1), Q(-1))]
    after = [(1 - ETA * RATE) * z - ETA * e for e in noises]
    assert min(after) < 0 < max(after)
    expected = (RATE * z + sum((abs(RATE * each) for each in after), Q(0)) / 4) / 2
    assert stepped(method(), exact_problem(near), 2, Statistic(GRADIENT, MEAN)) == (expected, expected)
    last = sum((abs(RATE * each) for each in after), Q(0)) / 4
    assert stepped(method(), exact_problem(near), 1, Statistic(GRADIENT, LAST)) == (last, last)
    with pytest.raises(Bends):
        in_powers(method(), exact_problem(near), 2, 1, Statistic(GRADIENT, MEAN))
