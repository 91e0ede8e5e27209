"""What estimates are made of: pointwise constants by loops over the examples, the search over points, and each form at one point."""

import math

import pytest
import torch
from fedco.bounds.language import bounding
from fedco.errors import InputError
from fedco.synthetic.estimation import estimate_constants
from fedco.synthetic.estimation.estimate import descent
from fedco.synthetic.estimation.functions import estimated_certificates
from fedco.synthetic.estimation.lanczos import share_missed, spectral_norm
from fedco.synthetic.estimation.losses import Losses, attained
from fedco.synthetic.estimation.region import Region, share_above
from fedco.synthetic.estimation.search import Search, beside_rule, proved
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


def test_kl_over_clients_at_one_point():
    problem, found, _ = estimated("kl_clients", gamma=1.7, level=0.3)
    maps = inner(identity)
    steepest = math.exp((constants(identity)["largest_value"] - 0.3) / 1.7) / 1.7
    wanted = maps | outer(steepest, steepest / 1.7) | {"composite_noise": maps["inner_noise"]}
    of_whole = whole(problem, math.exp((0.05 - 0.3) / 1.7))
    check(found, wanted | of_whole)
    with pytest.raises(InputError, match=r"gamma = 1e-05: exp\(\(loss - level\)/gamma\) is too large for a double"):
        estimate_constants(made("kl_clients", gamma=1e-5), **AT_ONE_POINT, only=frozenset({"outer_lipschitz"}))


def test_kl_over_examples_at_one_point():
    problem, found, _ = estimated("kl_dro", weight=2.3)
    maps = inner(lambda v: torch.exp(v / 2.3))
    of_whole = whole(problem, 0.05)
    check(found, maps | outer(2.3, 2.3) | NO_EXTRA | of_whole)


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
    _, found, _ = estimated("meta", alpha=0.3, nu=2)
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


# --- the search ------------------------------------------------------------------------------------------------------------

RUN = torch.arange(24.0, dtype=torch.float64).view(12, 2)


def search_of(points, function, count=None, seed=4, together=3):
    said = []
    found = Search(Region(RUN, 0.5), points, seed, said.append, None, together).largest("L", function, "What", count)
    assert said == ["L"]
    return found


@pytest.mark.parametrize(("points", "count"), [(20, None), (20, 8), (9, 30)])
def test_the_search_takes_random_points_then_the_run_then_points_about_the_best(points, count):
    n = min(count or points, points)
    tried = []

    def height(x):
        tried.append(x)
        return x[:, 0] - x[:, 1] ** 2 / 50

    found = search_of(points, height, count)
    seen = torch.cat(tried)
    region = Region(RUN, 0.5)
    every = max(1, 12 // max(2, n // 6))
    first = torch.cat([region.draw(n, 4), RUN[::every]])
    best = first[int((first[:, 0] - first[:, 1] ** 2 / 50).argmax())]
    wanted = torch.cat([first, region.about(best, max(4, n // 6), 5)])
    assert torch.equal(seen, wanted)
    values = wanted[:, 0] - wanted[:, 1] ** 2 / 50
    ends = [*sorted({max(1, n // 4), max(1, n // 2), n}), len(first), len(wanted)]
    assert found.growth == tuple((end, float(values[:end].max())) for end in ends)
    assert found.value == float(values.max()) and found.point == tuple(wanted[int(values.argmax())].tolist())
    assert found.confidence == 0.95 and found.above == pytest.approx(1 - 0.05 ** (1 / n))
    assert found.where == "within 0.5 of 12 points of the run"


def test_a_value_that_is_not_finite_is_refused():
    with pytest.raises(InputError, match="L: is not finite at a point of the region"):
        search_of(8, lambda x: torch.where(x[:, 0] > 20, torch.inf, x[:, 0]))


def test_points_of_the_region():
    region = Region(RUN, 0.5)
    drawn = region.draw(4000, 1)
    away, nearest = torch.cdist(drawn, RUN).min(1)
    counts = torch.bincount(nearest, minlength=12)
    assert counts.min() > 250 and counts.max() < 420  # 333 of each
    assert float(away.max()) <= 0.5 and float(away.mean()) == pytest.approx(0.25, abs=0.01)
    assert float((drawn - RUN[nearest]).mean(0).abs().max()) < 0.02
    about = region.about(RUN[3], 1000, 2) - RUN[3]
    lengths = about.norm(dim=1)
    assert float(lengths.max()) <= 0.5 / 3 and float(lengths.mean()) == pytest.approx(0.5 / 6, abs=0.01)
    assert share_above(59, 0.95) < 0.05 < share_above(58, 0.95)
    for radius in (-1e-9, math.nan):
        with pytest.raises(InputError, match="radius: wanted at least 0"):
            Region(RUN, radius)
    with pytest.raises(InputError, match="along: wanted finite float64 points"):
        Region(RUN.float(), 0.5)
    with pytest.raises(InputError, match="along: wanted finite float64 points"):
        Region(RUN[0], 0.5)


def test_a_rule_that_gives_less_is_told_and_what_is_proved_says_so():
    one = search_of(8, lambda x: x[:, 0])
    assert beside_rule(one, one.value, "the rule") is one
    told = beside_rule(one, one.value / 2, "the rule")
    assert told.value == one.value and told.method.startswith(f"What; the rule gives only {one.value / 2:.4g}, so that")
    sure = proved("local_smoothness", 2.0, "Because")
    assert sure.said == "Because" and sure.certificate.kind == "upper" and sure.where == "everywhere"
    grown = ", ".join(f"{value:.4g} after {count}" for count, value in one.growth)
    assert one.said == (
        f"No proof. What; at 95% confidence at most a share 0.31 of the region has more. Growth with the search: {grown} points."
    )


class Bowl:
    """F(x) = |x|^2 / 2 + a quarter of a quartic: a convex function with a known minimum."""

    initial_point = torch.tensor([3.0, -4.0], dtype=torch.float64)
    kind, name = "federated", "bowl"

    def objective(self, x):
        return x.square().sum(-1) / 2

    def gradient(self, x):
        return x.clone()


def test_a_descent_keeps_points_from_the_first_to_the_last():
    points = descent(Bowl())
    assert torch.equal(points[0], Bowl.initial_point) and float(points[-1].norm()) < 1e-9
    values = Bowl().objective(points)
    assert bool((values.diff() < 0).all()) and 2 <= len(points) <= 20

    class Slow(Bowl):
        """Every step is as long as the last that is allowed: it never gets near."""

        def objective(self, x):
            return -x[..., 0]

        def gradient(self, x):
            return torch.tensor([[-1.0, 0.0]], dtype=torch.float64).expand_as(x)

    far = descent(Slow(), steps=10, kept=4)
    sizes = 2.0 ** torch.arange(1, 11)  # the step doubles before each
    path = 3 + torch.cat([torch.zeros(1), sizes.cumsum(0)])
    assert far[:, 0].tolist() == [float(path[k]) for k in (0, 3, 7, 10)]

    class Steep(Bowl):
        """4 |x|^2: steps of 2, 1, 1/2 and 1/4 overshoot, and half of the last ends at the minimum."""

        def objective(self, x):
            return 4 * x.square().sum(-1)

        def gradient(self, x):
            return 8 * x

    assert descent(Steep(), kept=2).tolist() == [[3.0, -4.0], [0.0, 0.0]]

    class Stuck(Bowl):
        def gradient(self, x):
            return -x

    assert len(descent(Stuck())) == 1  # no step goes down


def test_a_short_step_of_lanczos_is_enlarged_by_its_formula():
    """e = (ln(1.648 sqrt(d) / failure) / (2k - 1))^2, of M - m over 1 - 2e."""
    e = (math.log(1.648 * math.sqrt(50) / 0.1) / (2 * 12 - 1)) ** 2
    assert share_missed(50, 12, 0.1) == pytest.approx(e) and 0 < e < 0.25
    assert share_missed(50, 2, 0.1) == 0.25 and share_missed(12, 12, 0.1) == 0
    values = torch.linspace(-1.0, 2.0, 50, dtype=torch.float64)
    upper, found = spectral_norm(lambda v: values * v, (50,), 12, 0.1)
    low, high = float(2 * found - 2 * found), float(found)
    assert low == 0 and 1.9 < high <= 2
    width = (float(upper) - high) * (1 - 2 * e) / e
    assert 2.8 < width <= 3  # M - m, from below
    twice, both = spectral_norm(lambda v: torch.stack([values, -3 * values]) * v, (2, 50), 50, 0.1)
    assert both.tolist() == pytest.approx([2.0, 6.0]) and torch.equal(twice, both)
    nothing, _ = spectral_norm(lambda v: 0 * v, (50,), 12, 0.1)
    assert float(nothing) == 0


class Quadratic(Bowl):
    """One client, F(x) = |x|^2 / 2."""

    clients, dim, inner_dim, properties = 1, 2, 2, frozenset()

    def to_clients(self, x):
        return x.unsqueeze(1)

    def local_value(self, x):
        return x.square().sum(-1) / 2

    def local_gradient(self, x, sample=None):
        return x.clone()


def test_the_gap_of_functions_is_what_a_descent_finds_or_a_bound_proves():
    from fedco.synthetic.estimation import functions

    run = torch.stack([Bowl.initial_point, torch.zeros(2, dtype=torch.float64)])
    one = functions.gap(Bowl(), run, 1.5, None)
    assert (one.value, one.kind) == (1.5 * 12.5, "estimated")
    other = functions.gap(Bowl(), run, 1.5, -0.5)
    assert (other.value, other.kind) == (13.0, "upper")
    assert functions.gap(Bowl(), run, 1.5, 0.0).value == 12.5
    with pytest.raises(ValueError, match=r"the objective is 0 on the descent, below 0\.1"):
        functions.gap(Bowl(), run, 1.5, 0.1)
    with pytest.raises(ValueError, match=r"the safety factor must be at least 1, got 0\.99"):
        estimated_certificates(Quadratic(), None, 0.99)
