"""Second moments in closed form, read off a method's code: batches by their means, rounds of a part of the clients, and what is refused."""

from fractions import Fraction as Q
from itertools import product

import pytest
from fedco.algorithms import AccFCSGM, LocalSCGDM, MetaFL
from fedco.bounds.evaluation.moments import RandomMap, RandomRounds, Recursion
from fedco.validation.exact.base import Instance
from fedco.validation.exact.closed_moments import moment_average
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.noise import BatchMeans
from fedco.validation.exact.problem import exact_problem
from fedco.validation.exact.run import CannotReplay, scalar, stepped

SHIFT, ALPHA, BETA = Q(1, 2), Q(1, 10), Q(1, 20)


def conditional(jolts, slopes):
    """Clients with f' = 1 + y/2 on |y| <= 8, plus a sign times a function of y."""
    count = len(jolts)
    flat = {"inner_offset": [Q(0)] * count, "value_noise": [Q(0)] * count}
    outer = {"knots": [[Q(-8), Q(8)]] * count, "slopes": [[Q(-3), Q(5)]] * count, "gradient_noise": jolts}
    return exact_problem(Instance("conditional", {**flat, **outer, "inner_slope": slopes, "start": Q(0)}))


@pytest.mark.parametrize(
    ("jolt", "b", "B", "T"), [(Q(3), 2, 3, 3), (Q(3), 1, 4, 4), ({"slope": [[Q(-8), Q(-8)], [Q(8), Q(8)]]}, 2, 1, 3)]
)
def test_a_batch_is_the_mean_over_all_its_signs(jolt, b, B, T):
    problem = conditional([jolt], [Q(1)])
    method = AccFCSGM(alpha=scalar(Q(1, 7)), beta=scalar(Q(1, 3)), q=2, m=1, b=b, B=B)
    (exact, _), (low, high) = stepped(method, problem, T), moment_average(method, problem, T, 2, {"model": Q(8)})
    assert low <= exact <= high and exact > 0 and high - low < exact / 10**12


def test_the_law_of_a_mean_has_its_mean_and_its_variance():
    draws = BatchMeans(1, [1, 10**25])
    assert sum(draws.weights) == 1 and len(draws.weights) == draws.runs == 6
    means = [draws.signs(name, size).numbers.reshape(-1) for name, size in (("first", 1), ("second", 10**25))]
    for mean, variance in zip(means, (1, Q(1, 10**25)), strict=True):
        assert sum(w * v for w, v in zip(draws.weights, mean, strict=True)) == 0
        assert sum(w * v**2 for w, v in zip(draws.weights, mean, strict=True)) == variance


def test_a_step_that_squares_the_mean_of_a_batch_is_refused():
    """The sign of the inner map meets that of the outer gradient, which is the same: their product is no mean of signs."""
    shape = {
        "inner_slope": [Q(1)],
        "inner_offset": [Q(0)],
        "knots": [[Q(-8), Q(8)]],
        "slopes": [[Q(-4), Q(4)]],
        "start": Q(1),
    }
    noise = {"value_noise": [{"slope": [[Q(0), Q(1, 2)]]}], "gradient_noise": [Q(1)]}
    problem = exact_problem(Instance("local_composite", {**shape, **noise}, {"one_sample": 1}))
    reach = {"model": Q(2), "inner_value": Q(4)}

    def run(b):
        rates = {name: scalar(Q(1, 8)) for name in ("alpha", "beta", "gamma", "eta")}
        return moment_average(LocalSCGDM(p=2, b=b, **rates), problem, 4, 2, reach)

    with pytest.raises(CannotReplay, match="not affine in the mean of a batch"):
        run(2)


def meta(variant="exact", beta=BETA):
    knots = {"knots": [[Q(-2), Q(-1), Q(1), Q(2)]], "curvatures": [[Q(0), Q(1), Q(1), Q(0)]]}
    tilts = {"tilt": [-SHIFT - Q(3, 2), SHIFT - Q(3, 2)], "gradient_noise": [Q(0)] * 2}
    instance = Instance("meta", {**knots, **tilts, "alpha": ALPHA, "start": Q(0)}, {"nu": 2})
    return MetaFL(beta=scalar(beta), tau=3, m=1, variant=variant, delta=scalar(Q(1, 100))), exact_problem(instance)


@pytest.mark.parametrize("variant", ["exact", "hessian_free"])
def test_random_rounds_are_the_mean_over_every_choice_of_clients(variant):
    """F_i = a (w - s_i)^2/2 with a = (1 - alpha)^4: Algorithm 1 written out over all sequences of the client of a round."""
    a, rounds, tau, total = (1 - ALPHA) ** 4, 4, 3, Q(0)
    for centres in product((SHIFT, -SHIFT), repeat=rounds):
        w = Q(0)
        for centre in centres:
            for _ in range(tau):
                total += (a * w) ** 2 / (rounds * tau * 2**rounds)
                w -= BETA * a * (w - centre)
    method, problem = meta(variant)
    low, high = moment_average(method, problem, rounds * tau, tau, {"model": SHIFT}, taking_part=1, is_kept=False)
    assert low <= total <= high and high - low < total / 10**12


@pytest.mark.parametrize(
    ("reach", "beta", "error", "words"),
    [
        (SHIFT / 2, BETA, CannotReplay, "may leave the reach"),
        (SHIFT, Q(3), CannotReplay, "may leave the reach"),
        (Q(3), BETA, Bends, "kink|slope of the Hessian"),
    ],
)
def test_a_reach_that_a_step_does_not_keep_is_refused(reach, beta, error, words):
    method, problem = meta(beta=beta)
    with pytest.raises(error, match=words):
        moment_average(method, problem, 6, 3, {"model": reach}, taking_part=1, is_kept=False)


def test_nobody_answers_for_a_method_that_keeps_more_than_models():
    method = AccFCSGM(alpha=scalar(Q(1, 7)), beta=scalar(Q(1, 3)), q=2, m=1)
    with pytest.raises(CannotReplay, match="wanted `within`"):
        moment_average(method, conditional([Q(3)], [Q(1)]), 4, 2, {"model": Q(8)}, is_kept=False)


def test_rounds_have_probabilities():
    still = Recursion([Q(1)], RandomMap([(1, [[1, 0], [0, 1]])]), period=2)
    assert RandomRounds([(Q(1, 3), still, [[0, 1]]), (Q(2, 3), still, [[0, 2]])]).average(5).contains(3)
    with pytest.raises(ValueError, match="sum of 1"):
        RandomRounds([(Q(1, 3), still, [[0, 1]])])


def test_a_random_map_has_no_one_path():
    random = Recursion([Q(1)], RandomMap([(Q(1, 2), [[1, 0], [0, sign]]) for sign in (1, -1)]))
    with pytest.raises(ValueError, match="not random"):
        random.stays([[0, 1]], Q(1), 3)
