"""Estimates of the constants that theorems need, for a model of one's own; certified ones where the model is linear.

    from fedco.synthetic.estimation import estimate_constants

    found = estimate_constants(problem)        # a problem of `synthetic/models`, of one of four forms
    found["local_smoothness"].value            # with .kind, .method, .confidence, .where and .growth

An estimate is about a region: a run of gradient descent, or one that is given, and what lies within a radius of it. At 59
random points of it and at points of the run the pointwise constant is computed from whole client data; the largest is the
value. So at 95% confidence at most a share 0.05 of the region's law has more. This is no bound of the supremum: between the
points, and outside, the constant may be larger, and an estimate never supports a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from ..certificate import Certificate, as_point
from ..models.base import AbstractModelProblem
from ..models.forms import Chi2OverExamples, FederatedModel, KLOverClients, KLOverExamples, MAMLModel, MetaModel
from .glm import certified
from .lanczos import spectral_norm
from .losses import FAILURE, LANCZOS_STEPS, Losses, Pointwise
from .region import Region, share_above

POINTS = 59
"""The fewest whose largest value leaves at most 5% of a law above it, at 95% confidence."""
CONFIDENCE = 0.95
FEW = 14
"""Points for what needs every example's Hessian."""
_DESCENT_STEPS, _RUN_POINTS, _AROUND = 200, 20, 0.1
_ARMIJO, _SHRINK, _GROW, _HALVINGS = 1e-4, 0.5, 2.0, 40


@dataclass(frozen=True)
class Estimate:
    """One constant.

    Attributes:
        kind: "estimated"; "upper" for what is proved, which holds everywhere or follows from a bound of the loss.
        method: how it was found, in a sentence. where: the region, or where it was attained.
        confidence: of the statement that at most a share `above` of the region's law has more; None for what is proved.
        growth: (points tried, largest so far): if it still grows at the end, search longer.
    """

    quantity: str
    value: float
    kind: str
    method: str
    where: str
    confidence: float | None = None
    above: float | None = None
    growth: tuple[tuple[int, float], ...] = ()
    point: tuple[float, ...] = field(default=(), repr=False)

    @property
    def certificate(self) -> Certificate:
        """As a problem declares it; an estimated one leads to no support."""
        return Certificate(self.quantity, self.value, self.kind, self.said, self.where)

    @property
    def said(self) -> str:
        """The method with what is promised."""
        if self.confidence is None:
            return self.method
        promise = f"at {self.confidence:.0%} confidence at most a share {self.above:.2g} of the region has more"
        grown = ", ".join(f"{value:.4g} after {count}" for count, value in self.growth)
        return f"No proof. {self.method}; {promise}. Growth with the search: {grown} points."


@dataclass(frozen=True)
class Estimates(Mapping[str, Estimate]):
    """The estimates by quantity, the region, and the problem that carries them as its constants."""

    found: Mapping[str, Estimate]
    region: Region
    problem: Any

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.found:
            raise InputError(f"{name[:40]}: not estimated for this form; wanted one of {' '.join(self.found)}")
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    def __str__(self) -> str:
        return "\n".join(f"{name:<32} {one.value:<12.6g} {one.kind}: {one.said}" for name, one in self.found.items())


def estimate_constants(
    problem: AbstractModelProblem,
    *,
    along: Tensor | None = None,
    radius: float | None = None,
    points: int = POINTS,
    lower_bound: float = 0.0,
    seed: int = 0,
    only: frozenset[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Estimates:
    """Estimate every constant that theorems about the form need.

    Args:
        problem: of `synthetic/models`: federated, kl_clients, kl_dro, chi2_dro, maml or meta.
        along: `(points, dim)`, a run; without it, gradient descent with a line search from the start.
        radius: of the region about the run; a tenth of the longest distance from its start without it.
        points: random points of the region.
        lower_bound: of the loss of an example, for the objective gap; 0 for the usual losses.
        only: quantities to estimate; all of the form without it.

    Raises:
        InputError: another form, a run of the wrong shape, or a loss below its bound.
    """
    if type(problem) not in _FORMS:
        forms = ", ".join(sorted(form.__name__ for form in _FORMS))
        raise InputError(f"estimate: wanted a problem of {forms}, got {type(problem).__name__}")
    run = descent(problem) if along is None else along
    if run.dim() != 2 or run.shape[1] != problem.dim:
        raise InputError(f"along: wanted points (points, {problem.dim}), got {tuple(run.shape)}")
    reach = float(torch.linalg.vector_norm(run - run[:1], dim=-1).max())
    region = Region(run, _AROUND * reach if radius is None else radius)
    search = _Search(region, points, seed, progress or (lambda text: None), only, Losses(problem.parts).together)
    known = {one.quantity: one for one in _FORMS[type(problem)](problem, search)}
    if only is None or "objective_gap" in only:
        known["objective_gap"] = _gap(problem, run, lower_bound, search)
    if only is not None:
        known = {name: one for name, one in known.items() if name in only}
    constants = {name: one.certificate for name, one in known.items()}
    carrying = replace(problem, parts=replace(problem.parts, constants=constants))  # type: ignore[type-var]
    return Estimates(known, region, carrying)


def descent(problem: Any, steps: int = _DESCENT_STEPS, kept: int = _RUN_POINTS) -> Tensor:
    """Gradient descent with backtracking from the start: some of its points, the first and the last among them."""
    x, size = problem.initial_point.unsqueeze(0).clone(), 1.0
    value, points = float(problem.objective(x)), [x[0]]
    for _ in range(steps):
        slope = problem.gradient(x)
        square = float(slope.square().sum())
        if square <= 1e-20:
            break
        size *= _GROW
        for _ in range(_HALVINGS):
            new = x - size * slope
            lower = float(problem.objective(new))
            if lower <= value - _ARMIJO * size * square:
                break
            size *= _SHRINK
        else:
            break
        x, value = new, lower
        points.append(x[0])
    chosen = sorted({round(k * (len(points) - 1) / (kept - 1)) for k in range(kept)})
    return torch.stack([points[k] for k in chosen])


@dataclass(frozen=True)
class _Search:
    """The points, and how the largest value over them is sought."""

    region: Region
    points: int
    seed: int
    say: Callable[[str], None]
    only: frozenset[str] | None
    together: int

    def wants(self, *names: str) -> bool:
        return self.only is None or not self.only.isdisjoint(names)

    def largest(self, name: str, function: Pointwise, what: str, count: int | None = None) -> Estimate:
        """The largest of the pointwise values: random points first, then the run, then about the best."""
        count = min(count or self.points, self.points)
        self.say(name)
        random = self.region.draw(count, self.seed)
        run = self.region.run[:: max(1, len(self.region.run) // max(2, count // 6))]
        values = _in_chunks(function, random, self.together)
        growth = [
            (share, float(values[:share].max())) for share in sorted({max(1, count // 4), max(1, count // 2), count})
        ]
        tried, everything = random, values
        for more in (run, None):
            best = tried[int(everything.argmax())]
            extra = self.region.about(best, max(4, count // 6), self.seed + 1) if more is None else more
            tried, everything = (
                torch.cat([tried, extra]),
                torch.cat([everything, _in_chunks(function, extra, self.together)]),
            )
            growth.append((len(tried), float(everything.max())))
        place = int(everything.argmax())
        if not bool(everything.isfinite().all()):
            raise InputError(f"{name}: is not finite at a point of the region; wanted a smaller radius or another run")
        return Estimate(
            name, float(everything.max()), "estimated", what, self.region.text(), CONFIDENCE, share_above(count, CONFIDENCE),
            tuple(growth), as_point(tried[place]),
        )  # fmt: skip


def _in_chunks(function: Pointwise, x: Tensor, together: int) -> Tensor:
    with torch.no_grad():
        return torch.cat([function(part) for part in x.split(together)])


def _proved(name: str, value: float, why: str, where: str = "everywhere") -> Estimate:
    return Estimate(name, value, "upper", why, where)


def _capped(one: Estimate, rule: float, why: str) -> Estimate:
    """Not above what the rule gives; the rule's inputs are estimates themselves."""
    return (
        one
        if one.value <= rule
        else replace(one, value=rule, method=f"{why}, which is below the {one.value:.4g} of: {one.method}")
    )


def _gap(problem: Any, run: Tensor, lower_bound: float, search: _Search) -> Estimate:
    """F(start) minus what the loss cannot go below; the drop of the run says how much of it is real."""
    losses = Losses(problem.parts)
    least = float(_in_chunks(losses.smallest_value, run, search.together).min())
    if least < lower_bound:
        raise InputError(f"lower_bound: an example has the loss {least:.6g} on the run, below {lower_bound:g}")
    start = float(problem.objective(problem.initial_point.unsqueeze(0)))
    floor = {
        KLOverClients: lambda p: math.exp((lower_bound - p.level) / p.gamma),
    }.get(type(problem), lambda p: lower_bound)(problem)
    values = _in_chunks(problem.objective, run, search.together)
    dropped = start - float(values.min())
    search.say("objective_gap")
    return Estimate(
        "objective_gap", start - floor, "upper",
        f"The objective at the start, {start:.6g}, minus {floor:.6g}, which it cannot go below as no loss is below {lower_bound:g}; "
        f"the run descends by {dropped:.6g} of it, so the truth is between the two",
        "everywhere", growth=((len(run), dropped),),
    )  # fmt: skip


# --- the forms -----------------------------------------------------------------------------------------------------------

_WHOLE = "the largest over the clients, from all their data,"
_LANCZOS = f"{_WHOLE} by Lanczos on Hessian products, enlarged by what 20 steps may miss,"


def _federated(problem: FederatedModel, search: _Search) -> Iterator[Estimate]:
    losses = Losses(problem.parts)
    known = {each.quantity: each for each in certified(problem.parts)}
    yield from (_proved(name, float(each.value), each.argument) for name, each in known.items())
    table: tuple[tuple[str, Pointwise, str, int | None], ...] = (
        ("local_smoothness", losses.smoothness, f"Norm of the Hessian of a client, {_LANCZOS} at random points", None),
        (
            "objective_smoothness",
            losses.whole_smoothness,
            "Norm of the Hessian of the whole, by Lanczos, at random points",
            None,
        ),
        ("local_sample_smoothness", losses.sample_smoothness, "Norm of the Hessian of an example, by Lanczos", FEW),
        (
            "local_gradient_noise",
            losses.gradient_noise,
            f"Deviation of an example's gradient, {_WHOLE} at random points",
            None,
        ),
        (
            "local_gradient_bound",
            losses.client_gradient,
            f"Length of a client's gradient, {_WHOLE} at random points",
            None,
        ),
        (
            "local_sample_gradient_bound",
            losses.sample_gradient,
            "Length of an example's gradient, at random points",
            None,
        ),
        ("local_gradient_heterogeneity", losses.mean_square_heterogeneity, "Root of mean_k ||grad_k - grad||^2", None),
        ("gradient_cap", losses.whole_gradient, "Length of the whole gradient, at random points", None),
    )
    found: dict[str, Estimate] = {}
    for name, function, what, count in table:
        if name not in known and search.wants(name):
            found[name] = search.largest(name, function, what, count)
    if {"local_smoothness", "objective_smoothness"} <= found.keys():
        found["objective_smoothness"] = _capped(
            found["objective_smoothness"],
            found["local_smoothness"].value,
            "The mean of Hessians has at most the norm of the largest",
        )
    yield from found.values()


def _inner(losses: Losses, search: _Search, sampled: bool = True) -> dict[str, Estimate]:
    """Of g_k = mean_i u(l_ki) with one sampled i."""
    table: tuple[tuple[str, Pointwise, str, int | None], ...] = (
        ("inner_lipschitz", losses.client_gradient, f"Length of the inner gradient, {_WHOLE} at random points", None),
        (
            "inner_mean_square_lipschitz",
            losses.mean_square_stretch,
            "Root of the largest eigenvalue of mean_i grad u_i grad u_i^T",
            None,
        ),
        (
            "inner_jacobian_mean_square",
            losses.gradient_mean_square,
            "Root mean square of an example's inner gradient",
            None,
        ),
        (
            "inner_sample_lipschitz",
            losses.sample_gradient,
            "Length of an example's inner gradient, at random points",
            None,
        ),
        ("inner_smoothness", losses.smoothness, f"Norm of the inner Hessian, {_LANCZOS} at random points", None),
        ("inner_sample_smoothness", losses.sample_smoothness, "Norm of an example's inner Hessian, by Lanczos", FEW),
        ("inner_jacobian_noise", losses.gradient_noise, f"Deviation of an example's inner gradient, {_WHOLE}", None),
        ("inner_value_noise", losses.value_noise, f"Deviation of an example's inner value, {_WHOLE}", None),
        ("inner_jacobian_heterogeneity", losses.heterogeneity, "max_k ||grad g_k - grad g||, from all data", None),
    )
    used = {
        "inner_lipschitz": ("objective_smoothness", "gradient_cap"),
        "inner_smoothness": ("objective_smoothness",),
        "inner_jacobian_noise": ("inner_noise", "composite_noise"),
        "inner_value_noise": ("inner_noise", "composite_noise"),
    }
    found = {}
    for name, function, what, count in table:
        if search.wants(name, *used.get(name, ())):
            found[name] = search.largest(name, function, what, count)
    if {"inner_jacobian_noise", "inner_value_noise"} <= found.keys():
        noises = (found["inner_jacobian_noise"], found["inner_value_noise"])
        found["inner_noise"] = replace(max(noises, key=lambda one: one.value), quantity="inner_noise")
    return found


def _whole(
    problem: Any, found: Mapping[str, Estimate], search: _Search, slope: float, bend: float, extra: float = 0.0
) -> Iterator[Estimate]:
    """Smoothness and cap of f(g) + h, directly and by the chain rule from the parts, whichever is less."""
    L_g, J = found.get("inner_smoothness"), found.get("inner_lipschitz")
    if search.wants("objective_smoothness") and L_g and J:
        direct = search.largest(
            "objective_smoothness",
            _smoothness_of(problem),
            "Norm of the Hessian of the objective, by Lanczos on differences of its gradient, at random points",
        )
        rule = J.value**2 * bend + slope * L_g.value + extra
        yield _capped(direct, rule, "Chain rule, |J|^2 L_f + |f'| L_g (+ L_h) of the estimated parts")
    if search.wants("gradient_cap"):
        cap = search.largest(
            "gradient_cap",
            lambda x: torch.linalg.vector_norm(problem.gradient(x), dim=-1),
            "Length of the gradient of the objective",
        )
        yield cap


def _smoothness_of(problem: Any) -> Pointwise:
    """||Hessian of the objective||, its products by central differences of the exact gradient."""

    def norm(x: Tensor) -> Tensor:
        step = 1e-5 * (1 + torch.linalg.vector_norm(x, dim=-1, keepdim=True))

        def product(v: Tensor) -> Tensor:
            return (problem.gradient(x + step * v) - problem.gradient(x - step * v)) / (2 * step)

        return spectral_norm(product, x.shape, LANCZOS_STEPS, FAILURE)[0]

    return norm


def _outer(lipschitz: Estimate, smoothness: Estimate) -> Iterator[Estimate]:
    """All outer constants of an f without noise."""
    yield lipschitz
    yield smoothness
    yield replace(lipschitz, quantity="outer_mean_square_lipschitz")
    yield replace(lipschitz, quantity="outer_sample_lipschitz")
    yield replace(smoothness, quantity="outer_sample_smoothness")
    yield _proved("outer_gradient_noise", 0.0, "The outer function has no noise")


def _kl_clients(problem: KLOverClients, search: _Search) -> Iterator[Estimate]:
    losses = Losses(problem.parts)
    found = _inner(losses, search)
    top = search.largest(
        "outer_lipschitz", losses.largest_value, "exp at the largest loss of an example, at random points"
    )

    def exponential(value: float, order: int) -> float:
        return math.exp((value - problem.level) / problem.gamma) / problem.gamma**order

    def of(name: str, order: int) -> Estimate:
        growth = tuple((count, exponential(value, order)) for count, value in top.growth)
        return replace(top, quantity=name, value=exponential(top.value, order), growth=growth)

    lipschitz, smoothness = of("outer_lipschitz", 1), of("outer_smoothness", 2)
    yield from found.values()
    yield from _outer(lipschitz, smoothness)
    if "inner_noise" in found:
        yield replace(found["inner_noise"], quantity="composite_noise")
    yield from _whole(problem, found, search, lipschitz.value, smoothness.value)


def _no_extra() -> Iterator[Estimate]:
    for name in ("smoothness", "gradient_noise", "heterogeneity"):
        yield _proved(f"noncompositional_{name}", 0.0, "There is no h")


def _kl_dro(problem: KLOverExamples, search: _Search) -> Iterator[Estimate]:
    weight = problem.weight
    found = _inner(Losses(problem.parts, lambda losses: torch.exp(losses / weight)), search)
    yield from found.values()
    yield from _outer(
        _proved("outer_lipschitz", weight, "lambda log y has slope lambda / y, and is linear below y = 1"),
        _proved("outer_smoothness", weight, "lambda log y curves by lambda / y^2, and not below y = 1"),
    )
    yield from _no_extra()
    yield from _whole(problem, found, search, weight, weight)


def _chi2_dro(problem: Chi2OverExamples, search: _Search) -> Iterator[Estimate]:
    losses, weight = Losses(problem.parts), problem.weight
    squared = Losses(problem.parts, lambda values: values + values * values / (2 * weight))
    found = _inner(losses, search)
    top = search.largest("outer_lipschitz", losses.largest_value, "|y| / lambda at the largest loss of an example")
    lipschitz = replace(
        top, value=top.value / weight, growth=tuple((count, value / weight) for count, value in top.growth)
    )
    yield from found.values()
    yield from _outer(lipschitz, _proved("outer_smoothness", 1 / weight, "-y^2 / (2 lambda) curves by 1 / lambda"))
    table: tuple[tuple[str, Pointwise, str], ...] = (
        ("noncompositional_smoothness", squared.smoothness, f"Norm of the Hessian of h_k, {_LANCZOS} at random points"),
        (
            "noncompositional_gradient_noise",
            squared.gradient_noise,
            f"Deviation of an example's gradient of h_k, {_WHOLE}",
        ),
        ("noncompositional_heterogeneity", squared.heterogeneity, "max_k ||grad h_k - grad h||, from all data"),
    )
    extra = 0.0
    for name, function, what in table:
        if search.wants(name, *(("objective_smoothness",) if name.endswith("smoothness") else ())):
            one = search.largest(name, function, what)
            extra = one.value if name.endswith("smoothness") else extra
            yield one
    yield from _whole(problem, found, search, lipschitz.value, 1 / weight, extra)


def _local(problem: Any, search: _Search, names: tuple[str, ...]) -> dict[str, Estimate]:
    """Of the losses before any fine-tuning."""
    losses = Losses(problem.parts)
    steps = search.region.draw(2 * search.points, search.seed + 7)
    unit = 1e-3 * max(search.region.radius, 1e-6)

    def change(x: Tensor) -> Tensor:
        away = steps[: len(x)] - steps[len(x) : 2 * len(x)] + 1e-12
        return losses.hessian_change(x, unit * away / torch.linalg.vector_norm(away, dim=-1, keepdim=True))

    table: dict[str, tuple[Pointwise, str, int | None]] = {
        "local_gradient_bound": (
            losses.client_gradient,
            f"Length of a client's gradient, {_WHOLE} at random points",
            None,
        ),
        "local_smoothness": (losses.smoothness, f"Norm of the Hessian of a client, {_LANCZOS} at random points", None),
        "local_hessian_lipschitz": (
            change,
            "Norm of the change of a client's Hessian over a short random step, by Lanczos",
            FEW,
        ),
        "local_gradient_noise": (losses.gradient_noise, f"Deviation of an example's gradient, {_WHOLE}", None),
        "local_hessian_noise": (
            losses.hessian_noise,
            "Frobenius deviation of an example's Hessian, by 8 random vectors",
            FEW,
        ),
        "local_gradient_heterogeneity": (losses.mean_square_heterogeneity, "Root of mean_k ||grad_k - grad||^2", None),
    }
    return {name: search.largest(name, *table[name]) for name in names}


def _meta(problem: MetaModel, search: _Search) -> Iterator[Estimate]:
    wanted = (
        "local_gradient_bound", "local_smoothness", "local_hessian_lipschitz", "local_gradient_noise", "local_hessian_noise",
        "local_gradient_heterogeneity",
    )  # fmt: skip
    found = _local(problem, search, tuple(name for name in wanted if search.wants(name)))
    yield from found.values()
    if search.wants("local_hessian_heterogeneity"):
        smoothness = found.get("local_smoothness") or next(
            iter(_local(problem, search, ("local_smoothness",)).values())
        )
        yield replace(
            smoothness, quantity="local_hessian_heterogeneity",
            method=f"Not above the norm of the clients' Hessians: root of mean ||H_k - H||^2 <= max ||H_k||. {smoothness.method}",
        )  # fmt: skip


def _maml(problem: MAMLModel, search: _Search) -> Iterator[Estimate]:
    """By the composition rules from the constants of the losses, with the inner step lam."""
    lam = problem.lam
    local = _local(
        problem, search,
        ("local_gradient_bound", "local_smoothness", "local_hessian_lipschitz", "local_gradient_noise", "local_hessian_noise"),
    )  # fmt: skip
    G, L, rho, noise, shake = local.values()
    longest = search.largest(
        "outer_sample_lipschitz", Losses(problem.parts).sample_gradient, "Length of an example's gradient"
    )
    sample = search.largest(
        "outer_sample_smoothness", Losses(problem.parts).sample_smoothness, "Norm of an example's Hessian", FEW
    )

    def made(name: str, value: float, rule: str, of: Estimate) -> Estimate:
        return replace(
            of, quantity=name, value=value, method=f"{rule} of the estimated constants of the losses", growth=()
        )

    steep = 1 + lam * L.value
    yield made("inner_lipschitz", steep, "1 + lam L_1", L)
    yield made(
        "inner_jacobian_mean_square",
        math.hypot(steep, lam * shake.value),
        "root of (1 + lam L_1)^2 + (lam sigma_2)^2, spectral norm by Frobenius,",
        shake,
    )
    yield made(
        "inner_mean_square_lipschitz",
        math.hypot(steep, lam * shake.value),
        "root of (1 + lam L_1)^2 + (lam sigma_2)^2",
        shake,
    )
    yield made(
        "inner_sample_lipschitz", 1 + lam * sample.value, "1 + lam times the largest Hessian of an example", sample
    )
    yield made("inner_smoothness", lam * rho.value, "lam times the Lipschitz constant of the Hessian", rho)
    yield made("inner_jacobian_noise", lam * shake.value, "lam times the Hessian noise", shake)
    yield made("inner_value_noise", lam * noise.value, "lam times the gradient noise", noise)
    yield replace(G, quantity="outer_lipschitz")
    yield replace(L, quantity="outer_smoothness")
    yield replace(noise, quantity="outer_gradient_noise")
    yield longest
    yield sample
    yield made("outer_mean_square_lipschitz", math.hypot(G.value, noise.value), "root of G^2 + sigma_1^2", G)
    noises = (
        made("composite_noise", lam * shake.value, "lam times the Hessian noise", shake),
        replace(noise, quantity="composite_noise"),
    )
    yield max(noises, key=lambda one: one.value)
    if search.wants("objective_smoothness"):
        direct = search.largest(
            "objective_smoothness",
            _smoothness_of(problem),
            "Norm of the Hessian of the objective, by Lanczos on differences of its gradient",
        )
        yield _capped(
            direct,
            steep**2 * L.value + lam * G.value * rho.value,
            "(1 + lam L_1)^2 L_1 + lam G rho of the estimated parts",
        )


_FORMS: Mapping[type, Callable[[Any, _Search], Iterator[Estimate]]] = {
    FederatedModel: _federated,
    KLOverClients: _kl_clients,
    KLOverExamples: _kl_dro,
    Chi2OverExamples: _chi2_dro,
    MAMLModel: _maml,
    MetaModel: _meta,
}
