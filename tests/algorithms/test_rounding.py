"""The bound of how far two machines drift apart: attained where it can be, never exceeded, and refused where it fails."""

import doctest
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest
import torch
from fedco.algorithms import (
    FCSG,
    FCSGM,
    GCIVR,
    SCGD,
    AccFCSGM,
    ComFedL,
    FedAvg,
    FedDRO,
    FedProx,
    LocalBSGD,
    LocalMOML,
    LocalSCGD,
    LocalSCGDM,
    LocalSGD,
    MetaFL,
    ModifiedFedAvg,
    NotApplicable,
    PerFedAvg,
    QFedAvg,
    Scaffold,
    deviation,
)
from fedco.algorithms.engine import deviation as rounding
from fedco.synthetic import Certificate, problem
from two_machines import Answering, answered, on_other_instructions, path, recorded, run

SEEDS = 3
GRID = torch.tensor([0.05, 0.2], dtype=torch.float64)
CASES = [
    (LocalSCGDM(eta=GRID, alpha=2.0, beta=1.0, gamma=2.0, p=3), "local_noisy"),
    (ComFedL(eta=0.2, tau=3, m=3), "local_heterogeneous"),
    (ComFedL(eta=0.2, tau=3, b=2, problem_form="special"), "maml_noisy"),
    (LocalSCGD(eta=0.2, gamma=0.4, p=3), "local_heterogeneous"),
    (SCGD(eta=0.2, gamma=0.4), "local_noisy"),
    (LocalBSGD(eta=0.2, tau=3), "local_noisy"),
    (FCSG(alpha=GRID, q=3, m=2, b=2), "conditional_noisy"),
    (FCSG(alpha=0.2, q=3, m=3, b=2), "invariant_logistic"),
    (FCSGM(alpha=0.2, beta=0.4, q=3, m=2), "conditional_heterogeneous"),
    (AccFCSGM(alpha=0.2, beta=0.4, q=3, m=2), "conditional_noisy"),
    (MetaFL(beta=0.2, tau=3, m=3), "meta_noisy"),
    (MetaFL(beta=0.2, tau=3, variant="first_order"), "meta_heterogeneous"),
    (MetaFL(beta=0.2, tau=3, variant="hessian_free", delta=0.1), "meta_heterogeneous"),
    (PerFedAvg(beta=0.2, tau=3), "meta_noisy"),
    (LocalMOML(eta=0.2, beta=0.4, tau=3), "meta_noisy"),
    (FedAvg(eta=0.2, I=3, case="I"), "feddro_heterogeneous"),
    (FedAvg(eta=0.2, I=3, case="II"), "feddro_heterogeneous"),
    (ModifiedFedAvg(eta=0.2, I=3), "feddro_without_h_noisy"),
    (FedDRO(eta=GRID, beta=0.2, I=3), "feddro_noisy"),
    (FedDRO(eta=0.2, beta=0.2, I=3), "kl_dro"),
    (LocalSGD(eta=0.2, tau=3), "conditional_noisy"),
    (LocalSGD(eta=GRID, tau=3, b=2), "federated_noisy"),
    (Scaffold(eta=0.2, tau=3, eta_g=0.7), "federated_heterogeneous"),
    (Scaffold(eta=0.2, tau=3, m=3, control="gradient"), "federated_noisy"),
    (FedProx(eta=0.2, mu=0.4, tau=3), "federated_logistic"),
]
NAMES = [f"{method.name}-{name}" for method, name in CASES]


def apart(one, other, grid):
    """max over seeds and clients of the distance, for each grid point."""
    return torch.linalg.vector_norm(one - other, dim=-1).amax(-1).view(grid, -1).amax(-1)


def shaken(instance, size, is_random):
    """Another machine: every value of every oracle is off by exactly so much, in random directions or always the same."""
    generator = torch.Generator().manual_seed(1)

    def answer(name, arguments, value):
        if not is_random:
            return value + size / value.shape[-1] ** 0.5
        direction = torch.randn(value.shape, generator=generator, dtype=value.dtype)
        return value + size * direction / torch.linalg.vector_norm(direction, dim=-1, keepdim=True)

    return Answering(instance, answer)


STEPPED, OFF = 40, 1e-6


@cache
def here(case):
    """On this machine: the problem, the bound of how far the other one drifts apart, and the models after each step."""
    method, name = CASES[case]
    instance = problem(name)
    return instance, deviation(method, instance, STEPPED, oracle=OFF), path(method, instance, STEPPED, SEEDS)


@pytest.mark.parametrize("is_random", [True, False], ids=["random", "one way"])
@pytest.mark.parametrize("case", range(len(CASES)), ids=NAMES)
def test_two_machines_stay_within_the_bound(case, is_random):
    method, (instance, bound, models) = CASES[case][0], here(case)
    theirs = path(method, shaken(instance, OFF, is_random), STEPPED, SEEDS)
    for steps in (1, 2, 7, STEPPED):
        off = apart(models[steps], theirs[steps], method.grid)
        assert (off <= bound[steps] * (1 + 1e-6)).all() and (off > 0).all(), (steps, off, bound[steps])


class Repelling:
    """f(u) = -u^2/4 after g(x) = 2 x: differences grow as fast as the constants allow. On the other machine, all off."""

    clients, dim, inner_dim, name = 2, 1, 1, "repelling"
    initial_point = torch.ones(1, dtype=torch.float64)

    def __init__(self, kind, off=0.0):
        self.kind, self.off = kind, off
        sizes = {
            "inner_sample_lipschitz": 2.0,
            "inner_sample_smoothness": 0.0,
            "outer_sample_lipschitz": 9.0,
            "outer_sample_smoothness": 0.5,
        }
        self.certificates = {name: Certificate(name, size, "upper", "Linear.") for name, size in sizes.items()}

    def sample(self, draws, batch, purpose="sample"):
        return None

    sample_outer = sample_inner = sample

    def inner(self, x, sample=None):
        return 2 * x + self.off

    def outer_gradient(self, u, sample=None):
        return -0.5 * u - self.off

    def inner_vjp(self, x, v, sample=None):
        return 2 * v - self.off

    def sample_gradient(self, x, outer, inner):
        return (-2 * x - self.off).unsqueeze(2)


@pytest.mark.parametrize(
    "method",
    [
        LocalSCGDM(eta=GRID, alpha=2.0, beta=1.0, gamma=2.0, p=3),
        LocalSCGD(eta=0.2, gamma=0.4, p=3),
        ComFedL(eta=0.2, tau=3),
        FCSG(alpha=GRID, q=3, m=1),
        FCSGM(alpha=0.2, beta=0.4, q=3, m=1),
    ],
)
def test_the_bound_is_attained_on_a_problem_that_repels(method):
    off, kind = 1e-3, method.kinds[0]
    bound = deviation(method, Repelling(kind), 30, oracle=off)
    for steps in (1, 2, 30):
        models = (run(method, Repelling(kind, by), steps, 1) for by in (0.0, off))
        torch.testing.assert_close(apart(*models, method.grid), bound[steps], rtol=1e-9, atol=0)


def test_what_an_operation_is_off_by_adds_up():
    """descend is one operation, the mean over two clients a sum, which is halved, and a quotient."""
    method = FCSG(alpha=0.1, q=1, m=1)
    grown, L = [0.0], 2 * 2 * 0.5
    for _ in range(5):
        grown.append(grown[-1] * (1 + 0.1 * L) + 2.5e-16 + 0.1 * 1e-15)
    bound = deviation(method, Repelling("conditional"), 5, oracle=1e-15, operation=1e-16)[:, 0]
    torch.testing.assert_close(bound, torch.tensor(grown, dtype=torch.float64), rtol=1e-12, atol=0)


REAL = [
    (FCSG(alpha=GRID, q=5, m=1), "invariant_logistic"),
    (FCSG(alpha=0.2, q=5, m=12), "invariant_logistic"),
    (LocalSCGDM(eta=0.2, alpha=2.0, beta=1.0, gamma=2.0, p=3), "local_noisy"),
    (FedDRO(eta=0.05, beta=0.2, I=3), "feddro_noisy"),
    (MetaFL(beta=0.2, tau=3), "meta_noisy"),
]
STEPS = 30


def check_against(method, instance, here, there):
    """Models, with the calls of oracles that made them, and the models and answers of another machine: some bit must differ."""
    (models, calls), (their_models, answers) = here, there
    off = max(
        float(torch.linalg.vector_norm(value - theirs, dim=-1).max())
        for (_, _, value), theirs in zip(calls, answers, strict=True)
    )
    if off == 0:
        pytest.skip("the other machine rounds as this one does")
    tensors = [
        models,
        *(v for _, arguments, value in calls for v in (*arguments, value) if isinstance(v, torch.Tensor)),
    ]
    largest = max(float(torch.linalg.vector_norm(v, dim=-1).max()) for v in tensors)
    operation = 2 * (instance.clients + 3) * 2.0**-53 * largest
    bound = deviation(method, instance, STEPS, oracle=off, operation=operation)[-1]
    drift = apart(models, their_models, method.grid)
    assert (drift <= bound).all() and (bound < 1e-7).all(), (drift, bound)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Of each real case the method, the problem, and what was found here and by one process with other vector instructions."""
    asked = [(method, problem(name)) for method, name in REAL]
    here = [recorded(method, instance, STEPS, SEEDS) for method, instance in asked]
    questions = [(*pair, STEPS, SEEDS, calls) for pair, (_, calls) in zip(asked, here, strict=True)]
    told = on_other_instructions(questions, tmp_path_factory.mktemp("other"))
    return [(*pair, *found) for pair, *found in zip(asked, here, told, strict=True)]


@pytest.mark.parametrize("case", range(len(REAL)), ids=[f"{m.name}-{n}" for m, n in REAL])
def test_other_vector_instructions_stay_within_the_bound(case, both):
    check_against(*both[case])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("method", "name"), REAL, ids=[f"{m.name}-{n}" for m, n in REAL])
def test_a_gpu_stays_within_the_bound(method, name):
    instance = problem(name)
    models, calls = recorded(method, instance, STEPS, SEEDS)
    there = replace(instance, device="cuda")
    check_against(method, instance, (models, calls), (run(method, there, STEPS, SEEDS), answered(there, calls, "cuda")))


@pytest.mark.parametrize(
    ("method", "name", "named"),
    [
        (GCIVR(eta=0.1, tau=2), "feddro_without_h_noisy", "stack"),
        (QFedAvg(q=1.0, L=2.0, eta=0.1, tau=2), "local_noisy", "outer"),
        (FedDRO(eta=0.1, beta=0.1, I=2), "fair_classifier", "noncompositional_sample_smoothness"),
        (FCSG(alpha=0.1, q=2, m=1), "meta_noisy", "meta"),
    ],
)
def test_what_has_no_bound_is_refused_by_name(method, name, named):
    with pytest.raises(NotApplicable, match=named):
        deviation(method, problem(name), 3, oracle=1e-15)


def test_the_example_runs():
    outcome = doctest.testmod(rounding)
    assert outcome.attempted >= 3 and not outcome.failed


def test_two_factors_that_both_differ_are_refused():
    one = rounding._Size(torch.ones(2))
    with pytest.raises(NotApplicable, match="product"):
        one * one
    with pytest.raises(NotApplicable, match="quotient"):
        torch.ones(2) / one


def test_the_further_term_passes_differences_on_with_its_smoothness():
    """Gradients at points 1/10 apart are 3/10 apart and what the oracle is off by; without the term there is none."""
    found = []
    for smoothness in (0.0, 3.0):
        made = problem("feddro_homogeneous")
        names = ("inner_sample_lipschitz", "inner_sample_smoothness", "outer_lipschitz", "outer_smoothness")
        flat = {name: Certificate(name, 0.0, "upper", "Constant.") for name in names}
        name = "noncompositional_sample_smoothness"
        made = SimpleNamespace(
            kind=made.kind, name=made.name, clients=made.clients,
            certificates={**flat, name: Certificate(name, smoothness, "upper", "Chosen.")},
        )  # fmt: skip
        model = rounding._Model(made, FedDRO(eta=0.1, beta=0.1, I=4), 1e-3, rounding._Size)
        found.append(model.extra_gradient(torch.full((1, 2, 1), 0.1, dtype=torch.float64).as_subclass(rounding._Size)))
    assert found[0] is None  # nothing is added where there is no further term
    assert torch.allclose(found[1].as_subclass(torch.Tensor), torch.full((1, 2, 1), 1e-3 + 0.3, dtype=torch.float64))


def test_an_estimate_bounds_nothing():
    guessed = Repelling("local_composite")
    guessed.certificates["outer_sample_smoothness"] = Certificate("outer_sample_smoothness", 0.5, "estimated", "Tried.")
    with pytest.raises(NotApplicable, match="outer_sample_smoothness"):
        deviation(ComFedL(eta=0.1, tau=2), guessed, 3, oracle=1e-15)


@pytest.mark.parametrize("wrong", [dict(steps=0), dict(oracle=-1.0), dict(operation=-1.0)])
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(ValueError, match="at least"):
        deviation(FCSG(alpha=0.1, q=2, m=1), problem("conditional_noisy"), **{"steps": 3, "oracle": 1e-15} | wrong)


def test_a_start_at_rest_stays_at_rest_without_differences():
    assert not deviation(FCSG(alpha=0.1, q=2, m=1), problem("conditional_noisy"), 9, oracle=0.0).any()
