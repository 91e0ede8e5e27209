"""The attack on the certificates of a user's own problem, before a verdict rests on them.

The conformance suite asks whether a certificate holds as it is written, and refuses what it cannot check. Here a problem is accused: what
rounding or an overflow may explain counts for nothing, so that a false certificate may pass, and a true one does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ...bounds.language.reading import InputError
from ...synthetic.certificate import EVERYWHERE, Certificate
from ...synthetic.conformance.inequalities import Inequality
from ...synthetic.conformance.kinds import get_kind
from ...synthetic.kinds import AbstractFederated
from ...synthetic.parts.adversary import Attack, Budget, evaluate, maximise

_CLEARLY = 0.01
"""By how much a point has to break a certificate, relatively."""
_OF_OBJECTIVES, _OF_GRADIENTS, _OF_CURVATURES = 1e-12, 1e-9, 1e-6
"""Differences below this part of what is subtracted may be rounding; of curvatures that of two points a thousandth apart."""
_ATOMS = 1024
"""Lanes of an attack times atoms of a noise: about a second for each certificate."""
_BY_DIFFERENCES = ("objective_gap", "polyak_lojasiewicz")
"""Certificates that speak of differences of the objective."""
_ON_THE_MINIMISER = ("polyak_lojasiewicz", "initial_distance")


def attack_certificates(problem: Any) -> None:
    """Look for a point at which a certificate of a problem is clearly false, with less effort the more atoms its noise has.

    Of a certificate that holds on a domain only the start is tried; of a noise without atoms nothing; and what is computed in single
    precision has no differences that show anything.

    Raises:
        InputError: one was found, or one at which the objective is less than at the declared minimiser: a verdict would be about the
            problem, and not about a statement.
    """
    known = get_kind(problem.kind).inequalities
    is_single, least = _in_single_precision(problem), _minimiser(problem)
    if is_single:
        known, least = (
            {name: each for name, each in known.items() if not each.pair and name not in _BY_DIFFERENCES},
            None,
        )
    if least is not None and _is_lower_elsewhere(problem, least):
        raise InputError(f"{problem.name}: its minimiser is none: the objective is less at another point")
    for name, certificate in problem.certificates.items():
        if name in known and certificate.kind != "estimated" and (least is not None or name not in _ON_THE_MINIMISER):
            wrong = _broken(problem, name, certificate, known[name])
            if wrong:
                raise InputError(f"{problem.name}: the certificate {name} is false: {wrong}")


def about_certificates(names: Sequence[str]) -> str:
    """What rests on the certificates of problems that were attacked and not accused; empty for none."""
    if not names:
        return ""
    searched = "a short search found no point at which one is clearly false, which does not prove them"
    whose = f"nobody but its author vouches for the certificates of {', '.join(names)}"
    return f"{whose}: {searched}; a verdict is right if they are true"


def _broken(problem: Any, name: str, certificate: Certificate, inequality: Inequality) -> str:
    """What a point shows of a certificate; empty where none shows anything."""
    value = float(certificate.value)
    if name == "strong_convexity" and value < _OF_CURVATURES * _smoothness(problem):
        return ""
    try:
        found = _largest(problem, name, certificate, inequality)
    except NotImplementedError:
        return ""
    floor = 0.0 if value else _OF_GRADIENTS * (1 + _size_of_gradients(problem, found))
    if not found.ratio > inequality.largest(value) * (1 + _CLEARLY) + floor:
        return ""
    told = f"at most {1 / found.ratio:.6g}" if inequality.inverse else f"at least {found.ratio:.6g}"
    return f"declared {value:.6g}, and at a point it is {told}"


def _largest(problem: Any, name: str, certificate: Certificate, inequality: Inequality) -> Attack:
    ratio: Callable[..., Tensor] = partial(_finite, partial(inequality.ratio, problem))
    start = problem.initial_point.cpu()
    if name in _BY_DIFFERENCES:
        other = (start if name == "objective_gap" else problem.minimiser).unsqueeze(0)
        ratio = partial(_clear_differences, problem, other, ratio)
    if certificate.domain == EVERYWHERE:
        hints = (start,) if inequality.space == "x" else ()
        return maximise(ratio, inequality.size(problem), inequality.pair, _budget(problem), hints)
    if inequality.pair or inequality.space != "x":
        return Attack(0.0, (), 0)
    return Attack(float(evaluate(ratio, (start.unsqueeze(0),)).max()), (start,), 1)


def _finite(ratio: Callable[..., Tensor], *points: Tensor) -> Tensor:
    """The ratio, and 0 where it is no finite number: an overflow shows nothing."""
    return torch.nan_to_num(ratio(*points), nan=0.0, posinf=0.0, neginf=0.0)


def _clear_differences(problem: Any, other: Tensor, ratio: Callable[..., Tensor], x: Tensor) -> Tensor:
    """The ratio, and 0 where the difference of the objective from that at another point is mostly rounding."""
    here, there = problem.objective(x).detach(), problem.objective(other).detach()
    is_clear = (here - there).abs() > _OF_OBJECTIVES * (here.abs() + there.abs())
    return torch.where(is_clear.unsqueeze(-1), ratio(x), 0.0)


def _in_single_precision(problem: Any) -> bool:
    """Whether every value of the objective or of a client's, or of a gradient, is a number of 32 bits, and some are none of 16.

    Gradients of what is linear in pieces are short numbers in any precision.
    """
    generator = torch.Generator().manual_seed(0)
    x = problem.initial_point.cpu() + torch.randn(8, problem.dim, generator=generator, dtype=torch.float64)
    found = [problem.objective(x), problem.gradient(x)]
    if isinstance(problem, AbstractFederated):
        found += [problem.local_value(problem.to_clients(x)), problem.local_gradient(problem.to_clients(x))]
    return any(
        bool((each == each.float().double()).all() and (each != each.half().double()).any())
        for each in map(Tensor.detach, found)
    )


def _minimiser(problem: Any) -> Tensor | None:
    """`(1, dim)`, where a problem declares one."""
    try:
        found: Tensor = problem.minimiser.unsqueeze(0)
    except (AttributeError, NotImplementedError):
        return None
    return found


def _is_lower_elsewhere(problem: Any, minimiser: Tensor) -> bool:
    """Whether the objective is clearly less at some point than at what is declared to be its minimiser."""
    least = problem.objective(minimiser).detach()
    size = least.abs() + problem.objective(problem.initial_point.unsqueeze(0)).detach().abs()
    below = partial(_finite, lambda x: (least - problem.objective(x)).clamp_min(0.0).unsqueeze(-1))
    found = maximise(below, problem.dim, False, _budget(problem), (problem.initial_point.cpu(),))
    return found.ratio > _OF_OBJECTIVES * float(size)


def _budget(problem: Any) -> Budget:
    try:
        atoms = len(problem.atoms()[1])
    except (NotImplementedError, AttributeError):
        return Budget()
    return Budget(max(2, min(16, _ATOMS // atoms)), 30 if atoms <= _ATOMS // 16 else 8)


def _smoothness(problem: Any) -> float:
    return max((float(c.value) for n, c in problem.certificates.items() if n.endswith("smoothness")), default=0.0)


def _size_of_gradients(problem: Any, found: Attack) -> float:
    """Of what is subtracted where an attack ended: the clients' gradients, else what the largest constant allows at the farthest point."""
    if not found.points or not isinstance(problem, AbstractFederated):
        return Budget().farthest * max(float(certificate.value) for certificate in problem.certificates.values())
    at = problem.to_clients(found.points[0].reshape(1, -1))
    return float(problem.local_gradient(at).abs().max())
