"""What each form of `synthetic/models` needs estimated, from whole client data or by composition rules from its parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ...bounds.language.bounding import size
from ...errors import InputError
from ..certificate import Formula
from ..models.conditional import InvariantModel, TasksModel
from ..models.forms import Chi2OverExamples, FederatedModel, KLOverClients, KLOverExamples, MAMLModel, MetaModel
from ..models.precision import PrecisionModel
from ..parts.composition import chain_rule, deterministic_outer, fine_tuned_parts, fine_tuned_smoothness, largest_of
from .attack import survive
from .conditional import conditional, tasks
from .glm import certified
from .losses import EXACT, Losses, attained, row_of
from .search import (
    FEW,
    HESSIAN_CHANGE,
    Estimate,
    Search,
    beside_rule,
    hessian_change,
    proved,
    smoothness_of,
    steepness_of,
)

_WHOLE = "the largest over the clients, from all their data,"
_LANCZOS = f"{_WHOLE} by Lanczos on Hessian products, enlarged by what 20 steps may miss,"
_OBJECTIVE = "Norm of the Hessian of the objective, by Lanczos on differences of its gradient"


class Row(NamedTuple):
    """How a constant is found: what its values at points are, and at how many they are taken; `of` gives them where the vocabulary does
    not. `in_pairs`: of a Lipschitz constant of gradients also how far those of two points are apart, over their distance."""

    what: str
    of: Callable[[Losses, Tensor], Tensor] | None = None
    points: int | None = None
    in_pairs: bool = False


LOSSES: Mapping[str, Row] = {
    "local_smoothness": Row(
        f"Norm of the Hessian of a client, {_LANCZOS} at random points", Losses.smoothness, in_pairs=True
    ),
    "objective_smoothness": Row(
        "Norm of the Hessian of the whole, by Lanczos, at random points", Losses.whole_smoothness, in_pairs=True
    ),
    "local_sample_smoothness": Row(
        "Norm of the Hessian of an example, by Lanczos", Losses.sample_smoothness, FEW, in_pairs=True
    ),
    "local_gradient_noise": Row(f"Deviation of an example's gradient, {_WHOLE} at random points"),
    "local_gradient_bound": Row(f"Length of a client's gradient, {_WHOLE} at random points"),
    "local_sample_gradient_bound": Row("Length of an example's gradient, at random points"),
    "local_gradient_heterogeneity": Row("Root of mean_k ||grad_k - grad||^2"),
    "gradient_cap": Row("Length of the whole gradient, at random points"),
    "local_hessian_noise": Row(
        f"Frobenius deviation of an example's Hessian, exact up to {EXACT} parameters, else by random vectors",
        Losses.hessian_noise,
        FEW,
    ),
}
"""Of mean_k L_k and of the losses L_k."""
INNER: Mapping[str, Row] = {
    "inner_lipschitz": Row(
        f"Length of the inner gradient, {_WHOLE} at random points", partial(attained, size("inner_jacobian"))
    ),
    "inner_mean_square_lipschitz": Row(
        "Root of the largest eigenvalue of mean_i grad u_i grad u_i^T", Losses.mean_square_stretch
    ),
    "inner_jacobian_mean_square": Row("Root mean square of an example's inner gradient"),
    "inner_sample_lipschitz": Row("Length of an example's inner gradient, at random points"),
    "inner_smoothness": Row(
        f"Norm of the inner Hessian, {_LANCZOS} at random points", Losses.smoothness, in_pairs=True
    ),
    "inner_sample_smoothness": Row(
        "Norm of an example's inner Hessian, by Lanczos", Losses.sample_smoothness, FEW, in_pairs=True
    ),
    "inner_jacobian_noise": Row(f"Deviation of an example's inner gradient, {_WHOLE}"),
    "inner_value_noise": Row(f"Deviation of an example's inner value, {_WHOLE}"),
    "inner_jacobian_heterogeneity": Row("max_k ||grad g_k - grad g||, from all data"),
}
"""Of g_k = mean_i u(l_ki) with one sampled i."""
EXTRA: Mapping[str, Row] = {
    "noncompositional_smoothness": Row(
        f"Norm of the Hessian of h_k, {_LANCZOS} at random points", Losses.smoothness, in_pairs=True
    ),
    "noncompositional_gradient_noise": Row(f"Deviation of an example's gradient of h_k, {_WHOLE}"),
    "noncompositional_heterogeneity": Row("max_k ||grad h_k - grad h||, from all data"),
}
"""Of h_k = mean_i u(l_ki)."""
_USED_FOR: Mapping[str, tuple[str, ...]] = {
    "inner_lipschitz": ("objective_smoothness", "gradient_cap"),
    "inner_smoothness": ("objective_smoothness",),
    "noncompositional_smoothness": ("objective_smoothness",),
    "inner_jacobian_noise": ("inner_noise", "composite_noise"),
    "inner_value_noise": ("inner_noise", "composite_noise"),
}
"""Constants that need these, and are wanted where they are not."""


def _sought(losses: Losses, search: Search, rows: Mapping[str, Row]) -> dict[str, Estimate]:
    """Those of the rows that are wanted."""
    found = {}
    for name, row in rows.items():
        if not search.wants(name, *_USED_FOR.get(name, ())):
            continue
        found[name] = search.largest(name, partial(row.of or row_of(name), losses), row.what, row.points)
        if row.in_pairs:
            found[name] = search.beside_pairs(found[name], partial(row_of(name), losses))
    return found


def _federated(problem: FederatedModel, search: Search) -> Iterator[Estimate]:
    losses = Losses(problem.parts)
    known = {each.quantity: each for each in certified(problem.parts)}
    for name, each in known.items():
        if search.wants(name):
            survive(name, float(each.value), losses, problem.initial_point)
    yield from (proved(name, float(each.value), each.argument) for name, each in known.items())
    rows = {name: row for name, row in LOSSES.items() if name not in known and name != "local_hessian_noise"}
    found = _sought(losses, search, rows)
    if {"local_smoothness", "objective_smoothness"} <= found.keys():
        found["objective_smoothness"] = beside_rule(
            found["objective_smoothness"],
            found["local_smoothness"].value,
            "the largest norm of a client's Hessian, which is no smaller,",
        )
    yield from found.values()


def _inner(losses: Losses, search: Search) -> dict[str, Estimate]:
    found = _sought(losses, search, INNER)
    if {"inner_jacobian_noise", "inner_value_noise"} <= found.keys():
        found["inner_noise"] = largest_of("inner_noise", found["inner_jacobian_noise"], found["inner_value_noise"])
    return found


def _whole(
    problem: Any, found: Mapping[str, Estimate], search: Search, slope: float, bend: float, extra: float = 0.0
) -> Iterator[Estimate]:
    """Smoothness and cap of f(g) + h, beside the chain rule from the parts."""
    L_g, J = found.get("inner_smoothness"), found.get("inner_lipschitz")
    if search.wants("objective_smoothness") and L_g and J:
        direct = search.largest("objective_smoothness", smoothness_of(problem), f"{_OBJECTIVE}, at random points")
        rule = chain_rule(J.value, bend, slope, L_g.value) + extra
        yield beside_rule(direct, rule, "the chain rule, |J|^2 L_f + |f'| L_g (+ L_h) of the estimated parts,")
    if search.wants("gradient_cap"):
        yield search.largest("gradient_cap", steepness_of(problem), "Length of the gradient of the objective")


def _outer(lipschitz: Estimate, smoothness: Estimate) -> Iterator[Estimate]:
    """All outer constants of an f without noise."""
    return deterministic_outer(
        lipschitz, smoothness, proved("outer_gradient_noise", 0.0, "The outer function has no noise")
    )


def _kl_clients(problem: KLOverClients, search: Search) -> Iterator[Estimate]:
    losses = Losses(problem.parts)
    found = _inner(losses, search)
    top = search.largest(
        "outer_lipschitz", losses.largest_value, "exp at the largest loss of an example, at random points"
    )

    def exponential(value: float, order: int) -> float:
        try:
            return math.exp((value - problem.level) / problem.gamma) / problem.gamma**order
        except OverflowError:
            raise InputError(
                f"gamma = {problem.gamma:g}: exp((loss - level)/gamma) is too large for a double at a loss of {value:g}: "
                "wanted a larger gamma, or a level near the losses"
            ) from None

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
        yield proved(f"noncompositional_{name}", 0.0, "There is no h")


def _kl_dro(problem: KLOverExamples, search: Search) -> Iterator[Estimate]:
    weight, start = problem.weight, problem.initial_point.unsqueeze(0)
    if (least := float(Losses(problem.parts).smallest_value(start))) < 0:
        raise InputError(
            f"kl_dro: wanted losses of at least 0, got {least:g} at the start; add a number to the loss (below 0 another function is meant)"
        )
    found = _inner(Losses(problem.parts, lambda losses: torch.exp(losses / weight)), search)
    yield from found.values()
    yield from _outer(
        proved("outer_lipschitz", weight, "lambda log y has slope lambda / y, and is linear below y = 1"),
        proved("outer_smoothness", weight, "lambda log y curves by lambda / y^2, and not below y = 1"),
    )
    yield from _no_extra()
    yield from _whole(problem, found, search, weight, weight)


def _chi2_dro(problem: Chi2OverExamples, search: Search) -> Iterator[Estimate]:
    losses, weight = Losses(problem.parts), problem.weight
    squared = Losses(problem.parts, lambda values: values + values * values / (2 * weight))
    found = _inner(losses, search)

    def farthest(x: Tensor) -> Tensor:
        return torch.maximum(losses.largest_value(x), -losses.smallest_value(x))

    top = search.largest("outer_lipschitz", farthest, "|y| / lambda at the loss of an example that is farthest from 0")
    lipschitz = replace(
        top, value=top.value / weight, growth=tuple((count, value / weight) for count, value in top.growth)
    )
    yield from found.values()
    yield from _outer(lipschitz, proved("outer_smoothness", 1 / weight, "-y^2 / (2 lambda) curves by 1 / lambda"))
    extra = _sought(squared, search, EXTRA)
    yield from extra.values()
    bend = extra["noncompositional_smoothness"].value if "noncompositional_smoothness" in extra else 0.0
    yield from _whole(problem, found, search, lipschitz.value, 1 / weight, bend)


_OF_META = (
    "local_gradient_bound", "local_smoothness", "local_hessian_lipschitz", "local_gradient_noise", "local_hessian_noise",
    "local_gradient_heterogeneity", "local_hessian_heterogeneity",
)  # fmt: skip


HARDEST = 64
"""Most examples whose Hessians are followed one by one."""
TUNED = "the same at the models that fine-tuning makes of a point, whichever is larger"


def _along(problem: MAMLModel | MetaModel, name: str, row: Row) -> Row:
    """The row at a point and at every model that a client makes of it by fine-tuning: a theorem's constants hold there too."""
    of = row.of or row_of(name)

    def widest(losses: Losses, x: Tensor) -> Tensor:
        at = problem.to_clients(x)
        path = problem.fine_tuned(at)[1:] if isinstance(problem, MetaModel) else [problem.deployed(x)]
        models = (own for step in path for own in step.unbind(1))
        return torch.stack([of(losses, at) for at in (x, *models)]).amax(0)

    return row._replace(of=widest, what=f"{row.what}; {TUNED}")


def _local(problem: MAMLModel | MetaModel, search: Search, names: tuple[str, ...]) -> dict[str, Estimate]:
    """Of the losses, before the fine-tuning and along it."""
    change = Row(HESSIAN_CHANGE, lambda losses, x: hessian_change(losses, search)(x), FEW)
    apart = Row("Root of mean_k ||H_k - H||^2, by Lanczos", Losses.mean_square_hessian_heterogeneity, FEW)
    rows = {**LOSSES, "local_hessian_lipschitz": change, "local_hessian_heterogeneity": apart}
    if "inner_sample_smoothness" in names:
        alone = Losses(problem.parts).hardest(search.region.run, HARDEST)
        of_examples = f"{HESSIAN_CHANGE}; of the {HARDEST} examples at most whose Hessians stretch their gradients most"
        rows["inner_sample_smoothness"] = Row(of_examples, lambda _, x: hessian_change(alone, search)(x), FEW)
    made = {name: _along(problem, name, rows[name]) for name in names}
    return _sought(Losses(problem.parts), replace(search, only=None), made)


def _meta(problem: MetaModel, search: Search) -> Iterator[Estimate]:
    yield from _local(problem, search, tuple(name for name in _OF_META if search.wants(name))).values()


def _maml(problem: MAMLModel, search: Search) -> Iterator[Estimate]:
    """By the composition rules from the constants of the losses, with the inner step lam."""
    of_samples = ("local_sample_gradient_bound", "local_sample_smoothness")
    losses = _local(problem, search, (*_OF_META[:5], *of_samples))
    lam, (G, L, rho, noise, shake, _, sample) = (
        Formula(problem.lam, "lam"),
        (one.formula for one in losses.values()),
    )

    def made(name: str, value: Formula, of: str, why: str) -> Estimate:
        method = f"{value.text} of the estimated constants of the losses. {why}"
        return replace(losses[of], quantity=name, value=value.value, method=method, growth=())

    for rule in fine_tuned_parts(lam, G, L, rho, noise, shake):
        is_other = rule.value.text != rule.of
        yield made(*rule) if is_other else replace(losses[rule.of], quantity=rule.quantity)
    triangle = "The mean square of a spectral norm is no sum of squares"
    yield made("inner_jacobian_mean_square", 1 + lam * L + lam * shake, "local_hessian_noise", triangle)
    steepest = "The Jacobian at an example is I minus lam times its Hessian"
    yield made("inner_sample_lipschitz", 1 + lam * sample, "local_sample_smoothness", steepest)
    if search.wants("inner_sample_smoothness"):
        losses |= _local(problem, search, ("inner_sample_smoothness",))
        bend = Formula(losses["inner_sample_smoothness"].value, "(Lipschitz constant of an example's Hessian)")
        yield made("inner_sample_smoothness", lam * bend, "inner_sample_smoothness", steepest)
    yield replace(losses[of_samples[0]], quantity="outer_sample_lipschitz")
    yield replace(losses[of_samples[1]], quantity="outer_sample_smoothness")
    moved = made("composite_noise", lam * shake, "local_hessian_noise", "That of the inner Jacobian")
    yield largest_of("composite_noise", moved, losses["local_gradient_noise"])
    if search.wants("objective_smoothness"):
        direct = search.largest("objective_smoothness", smoothness_of(problem), _OBJECTIVE)
        chained = fine_tuned_smoothness(G, L, rho, lam)
        yield beside_rule(direct, chained.value, f"the chain rule, {chained.text} of the estimated parts,")


FORMS: Mapping[type, Callable[[Any, Search], Iterator[Estimate]]] = {
    FederatedModel: _federated,
    KLOverClients: _kl_clients,
    KLOverExamples: _kl_dro,
    Chi2OverExamples: _chi2_dro,
    MAMLModel: _maml,
    MetaModel: _meta,
    InvariantModel: conditional,
    PrecisionModel: conditional,
    TasksModel: tasks,
}
