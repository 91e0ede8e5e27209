"""What it costs to reach eps, measured along a theorem's own schedule, against the exponents that the paper claims.

A schedule turns T into everything else, so one sweep over T gives (eps, cost) pairs: eps is the mean statistic of runs of
length T, cost what those runs used. The exponent e in cost ~ eps^e is the slope of log(cost) against log(eps), fitted per
group of seeds (a group of 8 seeds, a fresh run per horizon), with a t-interval over the groups as in `slopes`.

Costs are the resources of `bounds.resources`: iterations and samples by their formulas, rounds and messages as the run
counted them. Claims are those of `bounds.claims`; a resource without a claim that is a constant multiple of a claimed one
along the sweep has that one's exponent. Along the schedule itself the bound's own finite-T exponent is given beside it. A
cost exponent closer to 0 than the bound's is a method that needs less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...bounds.cost.claims import about
from ...bounds.cost.resources import RESOURCES, resources
from ...bounds.registry import get_theorem
from ..statistics.slopes import SlopeEstimate, log_log_slope, t_interval
from .sweeps import GROUP, SweepResult

COVERAGE = 0.95
_SENT = {"rounds": "rounds", "model_messages": "model_floats", "embedding_messages": "embedding_floats"}
"""Resource -> what a run counts of it, per client."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class CostExponent:
    """cost ~ eps^exponent: measured along a schedule, the bound's own over the same horizons, and the claimed one.

    `resource` is one of `bounds.resources.RESOURCES`; `why` says what the schedule moves along.
    """

    theorem: str
    resource: str
    costs: tuple[float, ...]
    eps: tuple[float, ...]
    measured: SlopeEstimate
    bound: float
    claimed: float | None
    claim: str
    why: str

    def __str__(self) -> str:
        claimed = "no claim" if self.claimed is None else f"claimed {self.claimed:.3g} ({self.claim})"
        return f"{self.theorem}: {self.resource} ~ eps^{self.measured}, bound {self.bound:.3f}, {claimed}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "theorem": self.theorem,
            "resource": self.resource,
            "costs": list(self.costs),
            "eps": list(self.eps),
            "measured_exponent": [self.measured.slope, self.measured.lower, self.measured.upper],
            "bound_exponent": self.bound,
            "claimed_exponent": self.claimed,
            "claim": self.claim,
            "why": self.why,
        }


def claimed_exponents(theorem_id: str) -> dict[str, tuple[float, str]]:
    """Resource -> (exponent of eps, where the paper says so), for the claims whose schedule is that of the statement."""
    return {
        claim.resource: (-float(claim.order.eps), claim.where)
        for claim in about(theorem_id)
        if claim.statement_of == theorem_id
    }


def cost_exponents(result: SweepResult) -> list[CostExponent]:
    """Exponents of every resource that the runs of a sweep along a schedule used."""
    counted = _counted(result)
    claims = claimed_exponents(result.sweep.theorem)
    used = {name: _used(name, cost, result) for name, cost in counted.items()}
    return [
        _exponent(result, name, cost, _claim(name, counted, claims)) for name, cost in used.items() if (cost > 0).all()
    ]


def _counted(result: SweepResult) -> dict[str, np.ndarray]:
    """Resource -> (points,) by its formula, at the values of the symbols of every point."""
    theorem = get_theorem(result.sweep.theorem)
    symbols = theorem.symbols(result.label)
    formulas = resources(theorem.statement(result.label))
    return {
        name: np.array(
            [
                float(formulas[name].xreplace({symbols[s].symbol: value for s, value in point.items() if s in symbols}))
                for point in result.numbers
            ]
        )
        for name in RESOURCES
        if name in formulas
    }


def _used(name: str, counted: np.ndarray, result: SweepResult) -> np.ndarray:
    return np.array([float(row[_SENT[name]]) for row in result.messages]) if name in _SENT else counted


def _claim(
    name: str, counted: Mapping[str, np.ndarray], claims: Mapping[str, tuple[float, str]]
) -> tuple[float, str] | None:
    """The claim on a resource, or on one that it is a constant multiple of."""
    if name in claims:
        return claims[name]
    for other, (exponent, where) in claims.items():
        ratio = counted[name] / counted[other]
        if np.ptp(ratio) <= _ROUNDING * abs(ratio[0]) and ratio[0] > 0:
            return exponent, f"{where}, as {other}"
    return None


def _exponent(result: SweepResult, name: str, costs: np.ndarray, claim: tuple[float, str] | None) -> CostExponent:
    groups = len(result.statistic) // GROUP
    eps = result.statistic[: groups * GROUP].reshape(groups, GROUP, -1).mean(axis=1)
    measured = t_interval(np.array([float(log_log_slope(row, costs)) for row in eps]), COVERAGE)
    bound = float(log_log_slope(result.bounds, costs))
    claimed, where = claim or (None, "")
    sweep = result.sweep
    return CostExponent(sweep.theorem, name, tuple(costs), result.means, measured, bound, claimed, where, sweep.why)
