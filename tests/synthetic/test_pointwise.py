"""What estimates are made of: pointwise constants by loops over the examples, and each form at one point."""

import math

import pytest
import torch
from fedco.bounds.language import bounding
from fedco.errors import InputError
from fedco.synthetic.estimation import estimate_constants
from fedco.synthetic.estimation.losses import Losses, attained
from fedco.synthetic.models import from_model
from sine_model import Wave, squared

GENERATOR = torch.Generator().manual_seed(5)


PARTS = [
    (
        torch.randn(n, 2, generator=GENERATOR, dtype=torch.float64),
        torch.randn(n, 1, generator=GENERATOR, dtype=torch.float64),
    )
    for n in (3, 5, 4)
]


def made(form="federated", **options):
    return from_model(Wave(), squared, PARTS, form, **options)


POINT = torch.tensor([0.7, -0.4, 0.3], dtype=torch.float64)


def of_example(u, k, i):
    a, b = PARTS[k][0][i], PARTS[k][1][i]
    return lambda x: u((torch.sin(a @ x[:2] + x[2]) - b[0]) ** 2 + 0.1)


def by_loops(u, x=POINT):
    """Values, gradients and Hessians of u of every example, one list for each client."""
    found = []
    for k, (rows, _) in enumerate(PARTS):
        functions = [of_example(u, k, i) for i in range(len(rows))]
        values = torch.stack([f(x) for f in functions])
        gradients = torch.stack([torch.func.grad(f)(x) for f in functions])
        hessians = torch.stack([torch.autograd.functional.hessian(f, x) for f in functions])
        found.append((values, gradients, hessians))
    return found


def size(matrix):
    return float(torch.linalg.matrix_norm(matrix, ord=2))


def constants(u, x=POINT):
    """Every pointwise constant of the class, from `by_loops`."""
    clients = by_loops(u, x)
    means = torch.stack([g.mean(0) for _, g, _ in clients])
    curved = [h.mean(0) for *_, h in clients]

    def shaken(h):
        return math.sqrt(float((h - h.mean(0)).square().sum((1, 2)).mean()))

    return {
        "largest_value": max(float(v.max()) for v, *_ in clients),
        "smallest_value": min(float(v.min()) for v, *_ in clients),
        "value_noise": max(float(v.std(correction=0)) for v, *_ in clients),
        "gradient_noise": max(math.sqrt(float((g - g.mean(0)).square().sum(1).mean())) for _, g, _ in clients),
        "gradient_mean_square": max(math.sqrt(float(g.square().sum(1).mean())) for _, g, _ in clients),
        "mean_square_stretch": max(size(g) / math.sqrt(len(g)) for _, g, _ in clients),
        "sample_gradient": max(float(g.norm(dim=1).max()) for _, g, _ in clients),
        "client_gradient": float(means.norm(dim=1).max()),
        "whole_gradient": float(means.mean(0).norm()),
        "heterogeneity": float((means - means.mean(0)).norm(dim=1).max()),
        "mean_square_heterogeneity": math.sqrt(float((means - means.mean(0)).square().sum(1).mean())),
        "smoothness": max(map(size, curved)),
        "whole_smoothness": size(torch.stack(curved).mean(0)),
        "mean_square_hessian_heterogeneity": math.sqrt(
            sum(size(h - torch.stack(curved).mean(0)) ** 2 for h in curved) / len(curved)
        ),
        "sample_smoothness": max(size(h) for *_, each in clients for h in each),
        "hessian_noise": max(shaken(h) for *_, h in clients),
    }


FORMS = {
    "value_noise": bounding.noise("inner_value"),
    "gradient_noise": bounding.noise("local_gradient"),
    "gradient_mean_square": bounding.size("inner_jacobian", bounding.MEAN_SQUARE),
    "sample_gradient": bounding.size("local_gradient", bounding.SAMPLE),
    "client_gradient": bounding.size("local_gradient"),
    "whole_gradient": bounding.size("objective_gradient"),
    "heterogeneity": bounding.unlike("local_gradient"),
    "mean_square_heterogeneity": bounding.unlike("local_gradient", over=bounding.AVERAGE),
}


@pytest.mark.parametrize("u", [lambda v: torch.exp(v / 1.7)], ids=["exponential"])
def test_pointwise_constants_are_those_of_loops_over_the_examples(u):
    """Clients of 3, 5 and 4 examples, two points at once; in three dimensions Lanczos is exact."""
    losses, points = Losses(made().parts, u), torch.stack([POINT, -2 * POINT])
    for place, x in enumerate(points):
        for name, value in constants(u, x).items():
            found = attained(FORMS[name], losses, points) if name in FORMS else getattr(losses, name)(points)
            assert found.shape == (2,) and float(found[place]) == pytest.approx(value, rel=1e-9), name
    step = torch.tensor([[0.3, 0.0, -0.4], [0.0, 0.0, 2.0]], dtype=torch.float64)
    for place, (x, away) in enumerate(zip(points, step, strict=True)):
        pairs = zip(by_loops(u, x + away), by_loops(u, x), strict=True)
        wanted = max(size((there - here).mean(0)) for (*_, there), (*_, here) in pairs) / float(away.norm())
        assert float(losses.hessian_change(points, step)[place]) == pytest.approx(wanted, rel=1e-8)
    assert losses.together == 64  # 15 places of 3 numbers at a point: as many points as are ever taken together


class Parabola(torch.nn.Module):
    """sum_j a_j w_j^2 / 2: the Hessian of an example is diag(a)."""

    def __init__(self, dim):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(dim, dtype=torch.float64))

    def forward(self, a):
        return (a * self.w**2).sum(-1, keepdim=True) / 2


@pytest.mark.parametrize(("dim", "rough"), [(512, 1e-12), (513, 0.03)])
def test_noise_of_hessians_is_exact_up_to_512_parameters_and_else_by_random_vectors(dim, rough):
    """64 vectors find the mean square of so many entries to half a percent."""
    parts = [(torch.randn(n, dim, generator=GENERATOR, dtype=torch.float64), torch.zeros(n)) for n in (3, 2)]
    parts = [(scale * a, b) for scale, (a, b) in zip((1.0, 3.0), parts, strict=True)]
    losses = Losses(from_model(Parabola(dim), lambda o, y: o.mean() + 0 * y.sum(), parts).parts)
    wanted = [math.sqrt(float((a - a.mean(0)).square().sum(1).mean())) for a, _ in parts]
    (found,) = losses.hessian_noise(torch.zeros(1, dim, dtype=torch.float64)).tolist()
    assert found == pytest.approx(max(wanted), rel=rough) and max(wanted) > 2 * min(wanted)
    assert (abs(found / max(wanted) - 1) > 1e-9) == (dim > 512)


def test_points_together_are_as_many_as_gradients_fit():
    parts = made().parts
    wide = type("Flat", (), {"dim": (1 << 22) // 15 // 7})()
    assert Losses(type("Parts", (), {"train": parts.train, "flat": wide})()).together == 7
    wide.dim = 1 << 30
    assert Losses(type("Parts", (), {"train": parts.train, "flat": wide})()).together == 1


AT_ONE_POINT = {"along": POINT[None], "radius": 0.0, "points": 1, "lower_bound": 0.05}


def estimated(form="federated", **options):
    problem = made(form, **options)
    found = estimate_constants(problem, **AT_ONE_POINT)
    return problem, {name: one.value for name, one in found.items()}, found


def inner(u):
    c = constants(u)
    return {
        "inner_lipschitz": c["client_gradient"],
        "inner_mean_square_lipschitz": c["mean_square_stretch"],
        "inner_jacobian_mean_square": c["gradient_mean_square"],
        "inner_sample_lipschitz": c["sample_gradient"],
        "inner_smoothness": c["smoothness"],
        "inner_sample_smoothness": c["sample_smoothness"],
        "inner_jacobian_noise": c["gradient_noise"],
        "inner_value_noise": c["value_noise"],
        "inner_jacobian_heterogeneity": c["heterogeneity"],
        "inner_noise": max(c["gradient_noise"], c["value_noise"]),
    }


def outer(lipschitz, smoothness):
    return {
        **dict.fromkeys(("outer_lipschitz", "outer_mean_square_lipschitz", "outer_sample_lipschitz"), lipschitz),
        **dict.fromkeys(("outer_smoothness", "outer_sample_smoothness"), smoothness),
        "outer_gradient_noise": 0.0,
    }


def whole(problem, floor):
    """Smoothness, cap and gap of the objective itself, by autograd."""

    def value(x):
        return problem.objective(x[None])[0]

    start = float(problem.objective(problem.initial_point[None]))
    return {
        "objective_smoothness": size(torch.autograd.functional.hessian(value, POINT)),
        "gradient_cap": float(torch.autograd.functional.jacobian(value, POINT).norm()),
        "objective_gap": start - floor,
    }


def check(found, wanted):
    """Second differences of the whole are exact to six digits, all else to nine."""
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        rough = 1e-6 if name == "objective_smoothness" else 1e-9
        assert found[name] == pytest.approx(value, rel=rough, abs=1e-12), name


def identity(v):
    return v


NO_EXTRA = {f"noncompositional_{name}": 0.0 for name in ("smoothness", "gradient_noise", "heterogeneity")}


PARTS_OF = {
    "inner_noise": {"inner_jacobian_noise", "inner_value_noise"},
    "composite_noise": {"inner_jacobian_noise", "inner_value_noise"},
    "objective_smoothness": {"inner_lipschitz", "inner_smoothness", "noncompositional_smoothness"},
    "gradient_cap": {"inner_lipschitz"},
}
"""What is sought for a constant that is made of others."""
ASKED = {*PARTS_OF, "local_gradient_noise", "inner_value_noise", "noncompositional_heterogeneity", "objective_gap"}


def check_alone(problem, every, always=frozenset(), asked=ASKED):
    """What is asked for alone is what all of it says; nothing else comes back, and only the parts of a rule are sought with it."""
    for name in every.keys() & asked:
        said = []
        found = estimate_constants(problem, **AT_ONE_POINT, only=frozenset({name}), progress=said.append)
        assert found.keys() == {name} and found[name].value == pytest.approx(every[name], rel=1e-9), name
        assert {*said} <= {name} | PARTS_OF.get(name, set()) | always, name


def test_the_plain_form_at_one_point():
    problem, found, _ = estimated()
    c = constants(identity)
    wanted = {
        "local_smoothness": c["smoothness"],
        "local_sample_smoothness": c["sample_smoothness"],
        "local_gradient_noise": c["gradient_noise"],
        "local_gradient_bound": c["client_gradient"],
        "local_sample_gradient_bound": c["sample_gradient"],
        "local_gradient_heterogeneity": c["mean_square_heterogeneity"],
    }
    check(found, wanted | whole(problem, 0.05))
    check_alone(problem, found)


def test_kl_over_clients_at_one_point():
    problem, found, _ = estimated("kl_clients", gamma=1.7, level=0.3)
    maps = inner(identity)
    steepest = math.exp((constants(identity)["largest_value"] - 0.3) / 1.7) / 1.7
    wanted = maps | outer(steepest, steepest / 1.7) | {"composite_noise": maps["inner_noise"]}
    of_whole = whole(problem, math.exp((0.05 - 0.3) / 1.7))
    check(found, wanted | of_whole)
    check_alone(problem, found, always={"outer_lipschitz"})
    with pytest.raises(InputError, match=r"gamma = 1e-05: exp\(\(loss - level\)/gamma\) is too large for a double"):
        estimate_constants(made("kl_clients", gamma=1e-5), **AT_ONE_POINT, only=frozenset({"outer_lipschitz"}))


def test_kl_over_examples_at_one_point():
    problem, found, _ = estimated("kl_dro", weight=2.3)
    maps = inner(lambda v: torch.exp(v / 2.3))
    of_whole = whole(problem, 0.05)
    check(found, maps | outer(2.3, 2.3) | NO_EXTRA | of_whole)
    check_alone(problem, found)


def test_chi_square_over_examples_at_one_point():
    problem, found, _ = estimated("chi2_dro", weight=2.3)
    maps, extra = inner(identity), constants(lambda v: v + v * v / (2 * 2.3))
    steepest = constants(identity)["largest_value"] / 2.3
    of_h = {
        "noncompositional_smoothness": extra["smoothness"],
        "noncompositional_gradient_noise": extra["gradient_noise"],
        "noncompositional_heterogeneity": extra["heterogeneity"],
    }
    of_whole = whole(problem, 0.05)
    check(found, maps | outer(steepest, 1 / 2.3) | of_h | of_whole)
    check_alone(problem, found, always={"outer_lipschitz"})


def test_a_loss_with_kinks_has_no_small_constant():
    """An absolute value bends nowhere but at its kinks: gradients at two points tell."""

    def bent(outputs, targets):
        return (outputs - targets).abs().mean()

    run = torch.stack([POINT + 0.3 * k for k in range(-4, 5)])
    names = frozenset({"local_smoothness", "objective_smoothness", "local_sample_smoothness"})
    described = {"along": run, "radius": 0.5, "points": 20, "only": names, "lower_bound": 0.0}
    straight = from_model(torch.nn.Linear(2, 1).double(), bent, PARTS, "federated")
    found = estimate_constants(straight, **described)
    for one in found.values():
        assert one.value > 0.1 and "a loss with kinks has no such constant" in one.method
    assert not any("kinks" in one.method for one in estimate_constants(made(), **described).values())


def test_losses_below_0():
    """The slope of chi2_dro is the largest |y|; kl_dro wants losses of at least 0."""

    def negative(outputs, targets):
        return -squared(outputs, targets)

    described = {**AT_ONE_POINT, "lower_bound": -100.0}
    problem = from_model(Wave(), negative, PARTS, "chi2_dro", weight=2.3)
    found = estimate_constants(problem, **described)
    farthest = -float(Losses(problem.parts).smallest_value(POINT[None]))
    assert found["outer_lipschitz"].value == pytest.approx(farthest / 2.3) and farthest > 0
    with pytest.raises(InputError, match="kl_dro: wanted losses of at least 0"):
        estimate_constants(from_model(Wave(), negative, PARTS, "kl_dro", weight=2.3), **described)


def mean_slope(k, x):
    functions = [of_example(identity, k, i) for i in range(len(PARTS[k][0]))]
    return torch.stack([torch.func.grad(f)(x) for f in functions]).mean(0)


def along(size, steps):
    """The constants at the point and at what each of the three clients makes of it with so many steps, the largest of each."""
    own, models = [POINT] * 3, [POINT]
    for _ in range(steps):
        own = [x - size * mean_slope(k, x) for k, x in enumerate(own)]
        models += own
    each = [constants(identity, x) for x in models]
    return {name: max(one[name] for one in each) for name in each[0]}


def test_fine_tuned_forms_at_one_point():
    lam = 0.7
    c = along(lam, 1)
    assert c["smoothness"] > constants(identity)["smoothness"]
    problem, found, _ = estimated("maml", lam=lam)
    steep, shake = 1 + lam * c["smoothness"], lam * c["hessian_noise"]
    rho = found["inner_smoothness"] / lam
    assert found.pop("inner_sample_smoothness") >= lam * rho, "one example bends at least as much as a client's mean"
    wanted = {
        "inner_lipschitz": steep,
        "inner_jacobian_mean_square": steep + shake,
        "inner_mean_square_lipschitz": math.hypot(steep, shake),
        "inner_sample_lipschitz": 1 + lam * c["sample_smoothness"],
        "inner_smoothness": lam * rho,
        "inner_jacobian_noise": shake,
        "inner_value_noise": lam * c["gradient_noise"],
        **outer(c["client_gradient"], c["smoothness"]),
        "outer_gradient_noise": c["gradient_noise"],
        "outer_sample_lipschitz": c["sample_gradient"],
        "outer_sample_smoothness": c["sample_smoothness"],
        "outer_mean_square_lipschitz": math.hypot(c["client_gradient"], c["gradient_noise"]),
        "composite_noise": max(shake, c["gradient_noise"]),
    }
    of_whole = whole(problem, 0.05)
    del of_whole["gradient_cap"]
    check(found, wanted | of_whole)
    problem, found, _ = estimated("meta", alpha=0.3, nu=2)
    c = along(0.3, 2)
    local = {
        "local_gradient_bound": c["client_gradient"],
        "local_smoothness": c["smoothness"],
        "local_gradient_noise": c["gradient_noise"],
        "local_hessian_noise": c["hessian_noise"],
        "local_gradient_heterogeneity": c["mean_square_heterogeneity"],
        "local_hessian_heterogeneity": c["mean_square_hessian_heterogeneity"],
    }
    assert {name: found[name] for name in local} == pytest.approx(local, rel=1e-9)
    assert found.keys() == {*local, "local_hessian_lipschitz", "objective_gap"}
    check_alone(problem, found, asked={"local_hessian_heterogeneity", "objective_gap"})
