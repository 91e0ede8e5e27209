"""What the conformance suite and its adversary are made of: each check against small problems, right and slightly wrong.

A broken oracle gets its own complaint, once, and no other.
"""

import itertools
import math
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from broken import OFF, mutant_of
from fedco.synthetic import Certificate, problem
from fedco.synthetic.conformance import oracle_checks, suite
from fedco.synthetic.conformance.kinds import oracle_checks as checks_of
from fedco.synthetic.conformance.suite import Budget, ConformanceError, check_problem
from fedco.synthetic.families.bowls import Meta
from fedco.synthetic.families.composite import LocalComposite, SharedComposite
from fedco.synthetic.families.conditional import Conditional
from fedco.synthetic.families.federated import FederatedHuber
from fedco.synthetic.kinds import InnerSample, OuterSample, Sample
from fedco.synthetic.parts import adversary
from fedco.synthetic.parts.adversary import Attack, maximise
from fedco.synthetic.parts.noise import SignPair


def double(*rows):
    return torch.tensor(rows, dtype=torch.float64)


SHARED = SharedComposite(
    clients=3, dim=4, inner_dim=2, B_h=0.7, L_h=0.6, sigma_g=0.3, sigma_h=0.2, Delta_g=0.2, Delta_h=0.1
)
LOCAL = LocalComposite(clients=2, dim=4, C_g=1.4, sigma_f=0.3, sigma_g=0.2, delta_g=0.3, Delta_g=0.2, spread=0.4)
META = Meta(clients=3, dim=3, sigma_G=0.2, sigma_H=0.3, Delta=0.2, kurtosis=2)
PLAIN = FederatedHuber(clients=3, dim=3, sigma=0.3, kurtosis=2, Delta=0.2)
GIVEN = Conditional(clients=2, dim=4, Delta=0.2, spread=0.3)
broken = partial(mutant_of, SHARED)


# --- draws and comparisons


def test_draws_for_tests_are_a_function_of_seed_and_purpose():
    draws = oracle_checks.SeededDraws(3, 2, seed=1)
    assert draws.per_seed is draws
    drawn = draws.integers("ab", 4, 500)
    assert drawn.shape == (3, 2, 500) and torch.equal(drawn, draws.integers("ab", 4, 500))
    for other in (oracle_checks.SeededDraws(3, 2, seed=2).integers("ab", 4, 500), draws.integers("ba", 4, 500)):
        assert 0.5 < float((drawn != other).double().mean()) < 0.95
    assert torch.bincount(drawn.flatten()).min() > 600 and set(drawn.unique().tolist()) == {0, 1, 2, 3}
    counts = draws.counts("ab", 4, 500)
    assert counts.shape == (3, 2, 4) and counts[1, 1].tolist() == torch.bincount(drawn[1, 1]).tolist()
    signs = draws.signs("ab", 500)
    assert torch.equal(signs, 2.0 * draws.integers("ab", 2, 500) - 1) and set(signs.unique().tolist()) == {-1, 1}
    uniform = draws.uniform("ab", 500)
    assert uniform.shape == (3, 2, 500) and 0 <= float(uniform.min()) < 0.01 and 0.99 < float(uniform.max()) < 1


def test_what_disagrees():
    b = double(1.0, -3.0)
    assert not oracle_checks.disagree(b, b, 0.0)
    for by in (1.0, -1.0):  # 1/4 of 1 + 3
        assert not oracle_checks.disagree(b + double(0.0, by), b, 0.25)
        assert oracle_checks.disagree(b + double(0.0, by), b, 0.2499)
    assert oracle_checks.disagree(double(math.nan, -3.0), b, 1.0)


@dataclass(frozen=True)
class Two(Sample):
    one: torch.Tensor
    more: torch.Tensor


def two(places, support_one, support_more):
    """A sample of one client from a support of pairs (number, two numbers)."""
    return Two(support_one[places].view(1, 1, -1), support_more[places].view(1, 1, len(places), 2))


def failures_of(drawn, weights):
    one, more = double(0.0, 0.0, 5.0), double([1.0, 2.0], [1.0, 3.0], [1.0, 2.0])
    support = two([0, 1, 2], one, more)
    counts = [round(4096 * share) for share in drawn]
    places = torch.arange(3).repeat_interleave(torch.tensor(counts))
    return list(oracle_checks.compare_frequencies(support, double(*weights), two(places, one, more)))


def test_frequencies_are_compared_with_probabilities_to_six_deviations():
    weights = (0.5, 0.3, 0.2)
    assert failures_of(weights, weights) == []
    six = 6 * math.sqrt(0.25 / 4096)
    assert failures_of((0.5 + 0.95 * six, 0.3 - 0.95 * six, 0.2), weights) != []  # 6 deviations of the second are fewer
    narrow = 6 * math.sqrt(0.16 / 4096)
    assert failures_of((0.5, 0.3 + 0.98 * narrow, 0.2 - 0.98 * narrow), weights) == []
    assert failures_of((0.5, 0.3 + 1.1 * narrow, 0.2 - 1.1 * narrow), weights) == [
        "sample: an atom's frequency is far from its probability"
    ]
    one, more = double(0.0, 1.0), double([1.0, 2.0], [1.0, 3.0])
    support, foreign = two([0, 1], one, more), two([0, 1, 1], double(0.0, 1.0), double([1.0, 2.0], [1.0, 4.0]))
    assert "sample: drew something that is not an atom" in list(
        oracle_checks.compare_frequencies(support, double(0.5, 0.5), foreign)
    )


def test_atoms_that_look_alike_count_together():
    """All entries of an atom count, those of a matrix too."""
    one, more, weights = double(0.0, 0.0, 5.0), double([1.0, 2.0], [1.0, 2.0], [1.0, 2.0]), double(0.5, 0.3, 0.2)

    def failures(shares, deep):
        places = torch.arange(3).repeat_interleave(torch.tensor([round(4096 * share) for share in shares]))
        support, drawn = two([0, 1, 2], one, more), two(places, one, more)
        if deep is not None:
            support, drawn = Two(support.one, deep[:, :, [0, 1, 2]]), Two(drawn.one, deep[:, :, places])
        return list(oracle_checks.compare_frequencies(support, weights, drawn))

    alike = torch.tensor([1.0, 1.0, 2.0, 2.0], dtype=torch.float64).view(1, 1, 1, 2, 2).expand(1, 1, 3, 2, 2)
    unlike = alike.clone()
    unlike[0, 0, 1, 1, 1] = 3.0
    for deep in (None, alike):
        assert failures((0.8, 0.0, 0.2), deep) == failures((0.1, 0.7, 0.2), deep) == []
        assert failures((0.9, 0.0, 0.1), deep) != []
    assert failures((0.5, 0.3, 0.2), unlike) == [] != failures((0.8, 0.0, 0.2), unlike)
    run = oracle_checks.select_run(Two(torch.arange(6.0).view(3, 1, 2), torch.arange(12.0).view(3, 1, 2, 2)), 1)
    assert run.one.tolist() == [[[2, 3]]] and run.more.shape == (1, 1, 2, 2)


def test_probabilities_that_are_none_are_named():
    for weights in ((0.5, 0.5 + 1e-9), (1.5, -0.5)):
        made = SimpleNamespace(
            clients=1,
            initial_point=torch.zeros(1),
            atoms=lambda w=weights: (SignPair(double([[1.0, -1.0]]), double([[1.0, 1.0]])), double(*w)),
            sample=lambda draws, batch: SignPair(draws.signs("a", batch), 0 * draws.signs("a", batch) + 1),
        )
        assert "atoms: probabilities must be nonnegative and sum to 1" in next(oracle_checks.check_sampling(made, 0))


# --- each check of an oracle, kind by kind

PARTS = {
    "inner_vjp": (
        SHARED,
        dict(inner_vjp=lambda x, v, sample=None: OFF * SHARED.inner_vjp(x, v, sample)),
        ["inner_vjp differs from autograd of inner (sample False)"],
    ),
    "inner_vjp without its noise": (
        SHARED,
        dict(inner_vjp=lambda x, v, sample=None: SHARED.inner_vjp(x, v)),
        ["inner_vjp differs from autograd of inner (sample True)"],
    ),
    "outer_gradient": (
        SHARED,
        dict(outer_gradient=lambda y, sample=None: OFF * SHARED.outer_gradient(y, sample)),
        ["outer_gradient differs from autograd of outer"],
    ),
    "extra_gradient": (
        SHARED,
        dict(extra_gradient=lambda x, sample=None: OFF * SHARED.extra_gradient(x, sample)),
        ["extra_gradient differs from autograd of extra"],
    ),
    "inner_mean": (
        SHARED,
        dict(inner_mean=lambda x: OFF * SHARED.inner_mean(x)),
        [
            "inner_mean differs from the mean of inner over the clients",
            "objective differs from mean_k h_k(x) + f(mean_k g_k(x))",  # it is computed with inner_mean
        ],
    ),
    "a shared objective": (
        SHARED,
        dict(objective=lambda x: OFF * SHARED.objective(x)),
        ["objective differs from mean_k h_k(x) + f(mean_k g_k(x))"],
    ),
    "a local objective": (
        LOCAL,
        dict(objective=lambda x: OFF * LOCAL.objective(x)),
        ["objective differs from mean_k f_k(g_k(x))"],
    ),
    "local_gradient": (
        META,
        # off by a constant: its derivative stays that of the Hessian
        dict(local_gradient=lambda x, sample=None: META.local_gradient(x, sample) + 1e-6),
        ["local_gradient differs from autograd of local_value"],
    ),
    "local_hvp": (
        META,
        dict(local_hvp=lambda x, v, sample=None: OFF * META.local_hvp(x, v, sample)),
        ["local_hvp differs from autograd of local_gradient (sample False)"],
    ),
    "local_hvp without its noise": (
        META,
        dict(local_hvp=lambda x, v, sample=None: META.local_hvp(x, v)),
        ["local_hvp differs from autograd of local_gradient (sample True)"],
    ),
    "a fine-tuned objective": (
        META,
        dict(objective=lambda x: OFF * META.objective(x)),
        ["objective differs from mean_i f_i(w_nu^i)"],
    ),
    "a client's gradient": (
        PLAIN,
        dict(local_gradient=lambda x, sample=None: PLAIN.local_gradient(x, sample) + 1e-6),
        ["local_gradient differs from autograd of local_value", "gradient differs from mean_i grad F_i(x)"],
    ),
    "the objective": (
        PLAIN,
        dict(objective=lambda x: OFF * PLAIN.objective(x)),
        ["objective differs from mean_i F_i(x)"],
    ),
    "the gradient": (
        PLAIN,
        dict(gradient=lambda x: OFF * PLAIN.gradient(x)),
        ["gradient differs from mean_i grad F_i(x)"],
    ),
    "a map given an outcome": (
        GIVEN,
        dict(inner_vjp=lambda x, v, outer, inner=None: OFF * GIVEN.inner_vjp(x, v, outer, inner)),
        [f"inner_vjp differs from autograd of inner (sample {given})" for given in (False, True)],
    ),
    "an outer gradient given an outcome": (
        GIVEN,
        dict(outer_gradient=lambda y, outer: OFF * GIVEN.outer_gradient(y, outer)),
        ["outer_gradient differs from autograd of outer_value"],
    ),
    "a conditional objective": (
        GIVEN,
        dict(objective=lambda x: OFF * GIVEN.objective(x)),
        ["objective differs from mean_n E_xi f_xi(E_eta g_eta(x, xi))"],
    ),
}


def complaints(check, problem, **methods):
    """What one check of the problem's kind says, where these methods are others."""
    return list(dict(checks_of(mutant_of(problem, **methods), 0))[check])


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_wrong_is_named_once(name):
    original, methods, wanted = PARTS[name]
    assert complaints("parts", original) == [] and complaints("parts", original, **methods) == wanted


AUTOGRAD, DIFFERENCES = (f"gradient differs from {of} of objective" for of in ("autograd", "central differences"))


@pytest.mark.parametrize(
    ("check", "methods", "wanted"),
    [
        ("gradient", dict(gradient=lambda x: (1 + 1e-7) * SHARED.gradient(x)), [AUTOGRAD]),
        ("gradient", dict(gradient=lambda x: 1.01 * SHARED.gradient(x)), [AUTOGRAD, DIFFERENCES]),
        # autograd sees another gradient than the values have
        ("gradient", dict(objective=lambda x: SHARED.objective(x) + (x.detach() ** 2).sum(-1)), [DIFFERENCES]),
        ("bits", dict(inner=lambda x, s=None: SHARED.inner(x, s) + 1e-13 * len(x)),
         ["inner: a run alone differs from the same run in a batch"]),
        ("bits", dict(inner=lambda x, s=None: SHARED.inner(x, s if s.inner.shape[-1] == 1 else s.at(0))),
         ["inner: a batch does not give the mean of its samples"]),
        ("unbiased", dict(atoms=lambda: (SHARED.atoms()[0], double(0.7, 0.1, 0.1, 0.1))),
         [f"{name}: its expectation over the atoms is not the exact oracle" for name in ("inner", "inner_vjp", "extra_gradient")]),
    ],
)  # fmt: skip
def test_a_wrong_whole_and_a_wrong_sample_are_named_once(check, methods, wanted):
    assert complaints(check, SHARED) == [] and complaints(check, SHARED, **methods) == wanted


def test_bits_of_an_oracle():
    calls = itertools.count(1)

    def restless(x, sample=None):
        return SHARED.inner(x, sample) + 1e-13 * next(calls)

    assert "inner: two calls with one sample differ" in complaints("bits", SHARED, inner=restless)
    single, *_ = complaints("bits", SHARED, inner=lambda x, s=None: SHARED.inner(x, s).float())
    assert single.startswith("inner: expected float64 for (5, 3) lanes, got torch.float32")


def test_shapes_and_types_of_the_whole_are_checked():
    for name, wrong in (
        ("objective", lambda x: SHARED.objective(x).unsqueeze(-1)),
        ("objective", lambda x: SHARED.objective(x).float()),
        ("gradient", lambda x: SHARED.gradient(x)[:, :2]),
        ("gradient", lambda x: SHARED.gradient(x).float()),
        ("objective", lambda x: SHARED.objective(x) + 1e-12 * x.sum()),
    ):
        (found,) = complaints("objective bits", SHARED, **{name: wrong})
        assert found.startswith(f"{name}: "), found
    assert complaints("objective bits", SHARED) == []


@pytest.mark.parametrize("original", [SHARED, LOCAL, META, PLAIN, GIVEN], ids=lambda p: p.kind)
def test_every_check_of_a_kind_has_a_name_and_is_made(original):
    own = ["parts", *(["chain"] if original is GIVEN else []), "unbiased", "bits", "sampling"]
    found = [(name, list(failures)) for name, failures in checks_of(original, 2)]
    assert found == [(name, []) for name in ("certificates", "gradient", "properties", "objective bits", *own)]
    biased = {
        "shared_composite": ("inner", lambda x, sample=None: SHARED.inner(x, sample) + 1e-6 * (sample is not None)),
        "local_composite": ("inner", lambda x, sample=None: LOCAL.inner(x, sample) + 1e-6 * (sample is not None)),
        "meta": ("local_hvp", lambda x, v, sample=None: META.local_hvp(x, v, sample) + 1e-6 * (sample is not None)),
        "federated": (
            "local_gradient",
            lambda x, sample=None: PLAIN.local_gradient(x, sample) + 1e-6 * (sample is not None),
        ),
        "conditional": (
            "inner",
            lambda x, outer, inner=None: GIVEN.inner(x, outer, inner) + 1e-6 * (inner is not None),
        ),
    }
    name, oracle = biased[original.kind]
    kind = "conditional expectation over the inner atoms" if original is GIVEN else "expectation over the atoms"
    failures = {check: list(found) for check, found in checks_of(mutant_of(original, **{name: oracle}), 0)}
    assert failures["unbiased"] == [f"{name}: its {kind} is not the exact oracle"]
    assert all(not found for check, found in failures.items() if check not in ("unbiased", "parts"))


def test_the_chain_rule_is_tried_without_with_one_and_with_several_inner_samples():
    said = "sample_gradient is not the chain rule through inner and outer_gradient ({} inner samples)"

    def wrong_for(sizes):
        def sample_gradient(x, outer, inner=None):
            m = 0 if inner is None else inner.eta.shape[-1]
            return GIVEN.sample_gradient(x, outer, inner) * (OFF if m in sizes else 1)

        return complaints("chain", GIVEN, sample_gradient=sample_gradient)

    for sizes in ((), (0,), (1,), (4,), (0, 1, 4)):
        assert wrong_for(sizes) == [said.format(m) for m in sizes]


def test_bits_of_a_conditional_oracle():
    calls = itertools.count()

    def bits(**methods):
        return complaints("bits", GIVEN, **methods)

    assert bits() == []
    restless = bits(inner=lambda x, outer, inner=None: GIVEN.inner(x, outer, inner) + 1e-13 * next(calls))
    assert restless[0] == "inner: two calls with one sample differ"
    assert bits(outer_gradient=lambda y, outer: GIVEN.outer_gradient(y, outer) + 1e-13 * len(y)) == [
        "outer_gradient: a run alone differs from the same run in a batch"
    ]
    assert bits(inner_vjp=lambda x, v, outer, inner=None: GIVEN.inner_vjp(x, v, outer, inner.only(0))) == [
        "inner_vjp: an inner batch does not give the mean of its samples"
    ]
    (single, *_) = bits(inner=lambda x, outer, inner=None: GIVEN.inner(x, outer, inner).float())
    assert single == "inner: expected float64 (runs, clients, batch, ...), got torch.float32 (5, 2, 3, 1)"
    (flat,) = bits(outer_gradient=lambda y, outer: GIVEN.outer_gradient(y, outer).flatten(1, 2))
    assert flat == "outer_gradient: expected float64 (runs, clients, batch, ...), got torch.float64 (5, 6, 1)"


def test_draws_of_a_conditional_problem_are_its_atoms_as_often_as_it_says():
    def sampling(**methods):
        return complaints("sampling", GIVEN, **methods)

    rare, foreign = (
        "sample: an atom's frequency is far from its probability",
        "sample: drew something that is not an atom",
    )
    assert sampling() == []
    inner, outer = GIVEN.sample_inner, GIVEN.sample_outer
    assert sampling(sample_outer=lambda draws, n: OuterSample(outer(draws, n).outcome.clamp_max(2))) == [rare]
    assert sampling(sample_inner=lambda draws, o, m: InnerSample(inner(draws, o, m).eta.abs())) == [rare]
    assert sampling(sample_outer=lambda draws, n: OuterSample(outer(draws, n).outcome + 1))[0] == foreign
    assert sampling(sample_inner=lambda draws, o, m: InnerSample(2 * inner(draws, o, m).eta))[0] == foreign


# --- verdicts


def verdict(value, kind, best, stated=None, witness=None):
    made = Certificate("inner_noise", value, "upper", "proof", witness=witness)
    object.__setattr__(made, "kind", kind)
    return suite.failure_of(made, float(value), best, stated, Attack(best, (double(1.0),), 3))


def test_what_a_certificate_fails_by():
    assert (
        verdict(2.0, "upper", 2.0) == verdict(2.0, "upper", 2.0 * (1 + 0.9e-7)) == verdict(0.0, "upper", 0.9e-9) == ""
    )
    assert verdict(2.0, "upper", 2.0 * (1 + 1.2e-7)).startswith("declared 2 (upper) but found 2.00000024")
    assert verdict(0.0, "upper", 1.1e-9) and verdict(2.0, "upper", math.nan)
    assert verdict(2.0, "estimated", 9.0) == ""
    assert verdict(2.0, "upper", 1.6, stated=1.6, witness=0.8) == "" == verdict(2.0, "upper", 1.0, stated=1.0)
    assert verdict(2.0, "upper", 1.6, stated=1.6 - 1e-6, witness=0.8).startswith(
        "the stated points attain 1.599999, less"
    )
    assert verdict(2.0, "upper", 1.6, stated=1.6 - 1e-7, witness=0.8) == ""
    assert "attain nan, less" in verdict(2.0, "upper", 1.6, stated=math.nan, witness=0.8)
    assert (
        verdict(2.0, "upper", 1.6, witness=0.8) == "" == verdict(2.0, "exact", 1.6, witness=1.0)
    )  # without its points
    assert verdict(2.0, "exact", 1.98, stated=1.98) == "" == verdict(2.0, "exact", 1.9)
    assert verdict(2.0, "exact", 1.979, stated=1.5) == "declared exact 2 but nothing above 1.979 was found"
    assert verdict(2.0, "upper", 1.0, stated=1.0) == ""


def test_a_report_tells_what_was_attained():
    report = check_problem(SHARED, Budget(lanes=2, steps=3), quantities=("outer_lipschitz", "inner_noise"))
    assert [check.name for check in report.checks] == [
        "outer_lipschitz",
        "inner_noise",
    ] and report.evaluations == 2 * 12
    assert all(0.99 < check.attained <= 1 and check.detail.startswith("largest found ") for check in report.checks)
    report = check_problem(SHARED, Budget(lanes=1, steps=1), skip=("bits",))
    names = [check.name for check in report.checks]
    assert "bits" not in names and {"parts", "unbiased", "sampling", *SHARED.certificates} <= set(names)
    flat = check_problem(problem("feddro_without_h"), Budget(1, 1), quantities=("noncompositional_smoothness",))
    assert [check.attained for check in flat.checks] == [None]
    wrong = suite.with_scaled_certificate(SHARED, "inner_noise", 0.5)
    with pytest.raises(ConformanceError, match=r"fails 1 checks:\n  inner_noise: declared 0\.15") as failed:
        check_problem(wrong, Budget(1, 1), quantities=("inner_noise", "outer_lipschitz"))
    assert [check.passed for check in failed.value.report.checks] == [False, True]


def test_a_certificate_that_is_missing_or_that_nothing_checks_is_named():
    stray = replace(SHARED.certificates["inner_noise"])
    object.__setattr__(stray, "quantity", "task_smoothness")
    known = dict(SHARED.certificates)
    for certificates, said in (
        ({q: c for q, c in known.items() if q != "inner_noise"}, "missing: inner_noise"),
        (known | {"task_smoothness": stray}, "no inequality"),
    ):
        with pytest.raises(ConformanceError, match=said):
            check_problem(broken(certificates=certificates), Budget(1, 1))


def test_a_broken_oracle_fails_the_suite_by_the_names_of_its_checks():
    def lopsided(draws, batch, purpose="sample"):
        sample = SHARED.sample(draws, batch, purpose)
        return SignPair(torch.maximum(sample.inner, sample.other), sample.other)

    with pytest.raises(ConformanceError, match=r"fails 2 checks:\n  gradient: .*\n(?s:.*)sampling: .*frequency"):
        check_problem(broken(gradient=lambda x: 1.001 * SHARED.gradient(x), sample=lopsided), Budget(1, 1))


# --- the adversary


def evaluated(ratio, size, pair, budget, hints=()):
    """What the search finds, and the points of every evaluation."""
    seen = []

    def spied(*points):
        seen.append(tuple(point.detach().clone() for point in points))
        return ratio(*points)

    return maximise(spied, size, pair, budget, hints), seen


def starts(size, hints=(), **budget):
    """The first points, and the first pairs: their middles, directions and lengths."""
    (found,) = evaluated(nothing, size, False, Budget(steps=1, **budget), hints)[1][:1]
    left, right = evaluated(nothing, size, True, Budget(steps=1, **budget), hints)[1][0]
    length = (right - left).norm(dim=1, keepdim=True)
    assert torch.allclose((left + right) / 2, found[0], rtol=1e-9, atol=1e-9)
    return found[0], (right - left) / length, length


def nothing(*points):
    return torch.full((len(points[0]), 1), math.nan, dtype=torch.float64)


def test_where_the_ascents_start():
    hint, far = double(0.5, 0.5), double(900.0, 900.0)
    at, direction, lengths = starts(2, (hint, far), lanes=400, farthest=1000.0)
    root = math.sqrt(2)
    special = [
        [0, 0],
        [0.5, 0.5],
        [1 / root] * 2,
        [-1 / root] * 2,
        [3 / root] * 2,
        [10 / root] * 2,
        [-100 / root] * 2,
        [1, 0],
    ]
    assert torch.allclose(at[:8], double(*special))  # 900 sqrt 2 is too far
    alike = (direction[:, 0] - direction[:, 1]).abs() < 1e-9
    assert bool(alike[:4].all()) and not bool(alike[4])
    others = starts(4000, lanes=400, farthest=1000.0)[0][7:].norm(dim=1)  # so long that the lengths are the scales
    assert 0.097 < float(others.min()) < 0.13 and 800 < float(others.max()) < 1030
    assert float(others.log10().mean()) == pytest.approx(1.0, abs=0.15)
    shortest, longest = adversary.SMALLEST_STEP, adversary.LARGEST_STEP
    assert torch.allclose(lengths[:8], torch.full_like(lengths[:8], shortest * (longest / shortest) ** 0.1))
    assert shortest <= float(lengths.min()) and float(lengths.max()) <= longest and float(lengths[8:].max()) > 500
    near, _, lengths = starts(4000, lanes=50, farthest=0.05)
    assert near[1:].norm(dim=1).tolist() == pytest.approx([0.05] * 49, rel=0.05) and float(lengths.max()) <= 0.05
    assert not near[0].any()  # 0 alone is within reach
    assert torch.allclose(starts(2, (hint,), lanes=2, farthest=10.0)[0], double([0.0, 0.0], [0.5, 0.5]))


def test_a_pair_becomes_no_shorter_and_no_longer_than_its_bounds():
    for power, bound in ((1, adversary.LARGEST_STEP), (-1, adversary.SMALLEST_STEP)):

        def length(a, b, power=power):
            return (a - b).norm(dim=-1, keepdim=True) ** power

        found, pairs = evaluated(length, 2, True, Budget(lanes=12, steps=150))
        lengths = torch.cat([(a - b).norm(dim=-1) for a, b in pairs])
        assert found.ratio == pytest.approx(bound**power) and float(((lengths / bound) ** power).max()) < 1 + 1e-9


def test_the_best_is_kept():
    """Of numbers that have nothing to do with the points, some of which are none."""
    told, generator = [], torch.Generator().manual_seed(4)

    def ratio(points):
        told.append(torch.rand(len(points), 1, generator=generator, dtype=torch.float64))
        if len(told) % 5 == 2:
            told[-1] = told[-1] * math.nan
        return told[-1]

    found, points = evaluated(ratio, 2, False, Budget(lanes=4, steps=20))
    step = max(range(len(told)), key=lambda at: float(told[at].nan_to_num(-1).max()))
    assert found.ratio == float(told[step].max()) and len(told) == 40
    assert torch.equal(found.points[0], points[step][0][told[step].argmax()])


TOP = double(4.0, -2.0)


def peak(x):
    return 3 / (1 + (x - TOP).square().sum(-1, keepdim=True))


def test_the_search_finds_a_smooth_maximum_and_a_kink():
    found = maximise(peak, 2, False, Budget(lanes=24, steps=60, farthest=20.0))
    assert 2.999 < found.ratio <= 3 and torch.allclose(found.points[0], TOP, atol=0.03)
    assert found.evaluations == 2 * 60 * 24

    def kink(x):
        return torch.exp(-(x - 1.7).abs().sum(-1, keepdim=True))

    assert maximise(kink, 1, False, Budget(lanes=8, steps=40, farthest=10.0)).ratio > 0.99

    def quotient(a, b):  # of a cube clipped at 1: the steepest pair is short, at +-1
        cubes = [x.clamp(-1, 1) ** 3 for x in (a, b)]
        return (cubes[0] - cubes[1]).abs() / (a - b).abs()

    found = maximise(quotient, 1, True, Budget(lanes=16, steps=60, farthest=10.0))
    assert 2.95 < found.ratio <= 3 and len(found.points) == 2


def test_the_ascent_climbs_by_itself():
    """Without the random search after it, which is the other half: 12 starts each end on top of the one peak."""
    budget = Budget(lanes=12, steps=80, farthest=10.0)
    ((last,),) = evaluated(peak, 2, False, budget)[1][79:80]
    assert 2.99 < float(peak(last).max()) <= 3 and float((last - TOP).norm(dim=-1).min()) < 0.06
    ((left, right),) = evaluated(lambda a, b: peak((a + b) / 2), 2, True, budget)[1][79:80]
    assert float(((left + right) / 2 - TOP).norm(dim=-1).min()) < 0.1


def test_the_suite_runs_on_one_thread_and_leaves_the_others_as_they_were():
    seen, before = set(), torch.get_num_threads()

    def spy(*given):
        seen.add(torch.get_num_threads())
        return SHARED.inner(*given)

    torch.set_num_threads(3)
    try:
        check_problem(broken(inner=spy), Budget(1, 1), quantities=("inner_noise",))
        with pytest.raises(KeyError):
            check_problem(SHARED, Budget(1, 1), quantities=("nonsense",))
        assert seen == {1} and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_nothing_found_is_nothing():
    found = maximise(nothing, 2, False, Budget(lanes=2, steps=2))
    assert found.ratio == -math.inf and found.points == ()
