"""Estimates of the constants that theorems need, for a model of one's own; certified ones where the model is linear.

    from fedco.synthetic.estimation import estimate_constants

    found = estimate_constants(problem)        # a problem of `synthetic/models`, of a form of `estimation/forms.py`
    found["local_smoothness"].value            # with .kind, .method, .confidence, .where and .growth

An estimate is about a region: a run of gradient descent, or one that is given, and what lies within a radius of it. At 59
random points of it and at points of the run the pointwise constant is computed from whole client data; the largest is the
value. So at 95% confidence at most a share 0.05 of the region's law has more. This is no bound of the supremum: between the
points, and outside, the constant may be larger, and an estimate never supports a verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ...bounds.language.quantities import QUANTITIES
from ...errors import InputError
from ..certificate import ROUNDING, difference_above, rounded_up
from ..kinds import AbstractConditional
from ..models.base import AbstractModelProblem
from ..models.build import FORMS as MADE
from ..models.build import form_of
from ..models.conditional import TasksModel
from ..models.forms import KLOverClients
from ..models.precision import PrecisionModel
from ..models.recognised import least_loss
from ..numbers import read_numbers
from .attack import hostile
from .conditional import Outcomes
from .forms import FORMS
from .losses import Losses, Pointwise
from .region import Region
from .search import POINTS, Estimate, Estimates, Search, in_chunks

LEAST = 1e-9
"""Value of a constant that is 0 and has to be positive."""
_LAST_BIT, _TRIES, _MANY, _SEEN = 2.0**-52, 8, 64, 1e-6
"""How far parameters are moved to see rounding errors, how often, and how many times as large these may be; the part of a gap from
which an error makes it an estimate."""
_DESCENT_STEPS, _RUN_POINTS, _AROUND = 200, 20, 0.1
_ARMIJO, _SHRINK, _GROW, _HALVINGS = 1e-4, 0.5, 2.0, 40


def estimate_constants(
    problem: AbstractModelProblem,
    *,
    along: Tensor | None = None,
    radius: float | None = None,
    points: int = POINTS,
    lower_bound: float | None = None,
    seed: int = 0,
    only: frozenset[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Estimates:
    """Estimate every constant that theorems about the form need.

    Args:
        problem: of `synthetic/models`, of any form but agnostic_maml.
        along: `(points, dim)`, a run; without it, gradient descent with a line search from the start.
        radius: of the region about the run; a tenth of the longest distance from its start without it.
        points: random points of the region.
        lower_bound: of the loss of an example, for the objective gap: what you state of it. Without it a loss of torch that is known
            not to fall below 0 on these targets has the gap to 0 as an upper bound, and for any other one it is estimated.
        only: quantities to estimate; all of the form without it.

    Raises:
        InputError: another form, a run of the wrong shape, a number that is none, or a loss below its bound.
    """
    if type(problem) not in FORMS:
        offered = " ".join(name for name, made in MADE.items() if made in FORMS)
        got = form_of(problem) if isinstance(problem, AbstractModelProblem) else type(problem).__name__
        why = getattr(problem, "no_constants", "")
        raise InputError(
            f"estimate: wanted a model of one of the forms {offered}, got {got}" + (f": {why}" if why else "")
        )
    read = read_numbers({"radius": radius, "points": points, "lower_bound": lower_bound, "seed": seed})
    radius, points, lower_bound, seed = read.values()
    run = descent(problem) if along is None else along
    if run.dim() != 2 or run.shape[1] != problem.dim:
        raise InputError(f"along: wanted points (points, {problem.dim}), got {tuple(run.shape)}")
    reach = float(torch.linalg.vector_norm(run - run[:1], dim=-1).max())
    region = Region(run, _AROUND * reach if radius is None else radius)
    search = Search(region, points, seed, progress or (lambda text: None), only, Losses(problem.parts).together)
    known = {one.quantity: one for one in FORMS[type(problem)](problem, search)}
    if only is None or "objective_gap" in only:
        known["objective_gap"] = _gap(problem, run, lower_bound, search)
    if only is not None:
        known = {name: one for name, one in known.items() if name in only}
    known = {name: _positive(one) for name, one in known.items()}
    constants = {name: one.certificate for name, one in known.items()}
    carrying = replace(problem, parts=replace(problem.parts, constants=constants))  # type: ignore[type-var]
    return Estimates(known, region, carrying)


def _positive(one: Estimate) -> Estimate:
    """An estimate of 0, as of the curvature of a linear map, where a theorem wants a positive constant."""
    if one.value != 0 or QUANTITIES[one.quantity].numbers.contains(0):
        return one
    return replace(one, value=LEAST, method=f"It is 0, and a bound has to be positive: {LEAST:g} is one. {one.method}")


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


def _gap(problem: Any, run: Tensor, stated: float | None, search: Search) -> Estimate:
    """F(start) minus what the loss cannot go below; the drop of the run says how much of it is real."""
    known = _least_known(problem)
    lower_bound = stated if stated is not None else known or 0.0
    tried = torch.cat([run, hostile(problem.initial_point)])
    losses, together = _least_tried(problem)
    least = in_chunks(losses, tried, together).nan_to_num(math.inf, math.inf, -math.inf).min()
    if least < lower_bound:
        raise InputError(
            f"lower_bound: an example has the loss {least:.6g} at a point that was tried, below {lower_bound:g}"
        )
    start, error = _at_the_start(problem)
    floor, gap = _above(problem, start, lower_bound)
    is_known = error <= _SEEN * gap
    gap = gap if error <= ROUNDING * gap else rounded_up(gap + error)
    values = in_chunks(problem.objective, run, search.together)
    dropped = start - float(values.min())
    search.say("objective_gap")
    why = (
        "as you state"
        if stated is not None
        else "as is known of this loss"
        if known is not None
        else "if that is so of this loss"
    )
    return Estimate(
        "objective_gap", gap, "upper" if is_known and (stated is not None or known is not None) else "estimated",
        f"The objective at the start, {start:.6g}, minus {floor:.6g}, its least value where no loss is below {lower_bound:g}, {why}; "
        f"the run descends by {dropped:.6g} of it, so the truth is between the two",
        "everywhere", growth=((len(run), dropped),),
    )  # fmt: skip


def _at_the_start(problem: Any) -> tuple[float, float]:
    """The objective at the start as computed, and how much it may be off by.

    A layer computes its sums as those of weights that are off in their last bits. So the error is taken from how much the objective
    moves when all parameters do, at random; what that shows is no bound, and where it is seen the gap is an estimate.
    """
    x = problem.initial_point.unsqueeze(0)
    value = float(problem.objective(x))
    generator = torch.Generator().manual_seed(0)
    signs = torch.randint(0, 2, (_TRIES, x.shape[-1]), generator=generator, dtype=x.dtype) * 2 - 1
    moved = torch.cat([problem.objective(row) for row in (x * (1 + _LAST_BIT * signs.to(x.device))).split(1)])
    return value, _MANY * float((moved - value).abs().max().nan_to_num(0.0))


def _above(problem: Any, start: float, lower_bound: float) -> tuple[float, float]:
    """The least value of the objective where no loss is below a bound, and how far the start is above it, rounded up.

    A difference is known to the rounding errors of its parts. That of two exponentials, which may nearly agree, is one of `expm1`.
    """
    if not isinstance(problem, KLOverClients):
        return lower_bound, difference_above(start, lower_bound)
    floor = math.exp((lower_bound - problem.level) / problem.gamma)
    losses = problem.inner(problem.to_clients(problem.initial_point.unsqueeze(0))).flatten()
    apart = losses - lower_bound + ROUNDING * (losses.abs() + abs(lower_bound))
    return floor, rounded_up(floor * float(torch.expm1(apart / problem.gamma).mean()))


def _least_known(problem: Any) -> float | None:
    """What no loss of an example is below; None where that is not known."""
    if isinstance(problem, PrecisionModel):
        return -1.0  # a share of a sum of squares, with a minus
    return least_loss(problem.judging() if isinstance(problem, TasksModel) else problem.parts)


def _least_tried(problem: Any) -> tuple[Pointwise, int]:
    """The least loss of an example at points, and how many points are evaluated at once."""
    if isinstance(problem, AbstractConditional):
        of = Outcomes(problem)
        return of.least_value, of.together
    losses = Losses(problem.parts)
    return losses.smallest_value, losses.together
