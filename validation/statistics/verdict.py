"""Verdicts: what the evidence says about one claim E X <= bound on one instance.

Four outcomes and never a bare bool. A true claim is REFUTED, and a false one SUPPORTED, with probability at most alpha (statistical
path) or never (exact path), given that the certificates and the cap are right, and that a statistic in doubles lies
within `RESOLUTION` of the exact one, which was seen and is not proved. INCONCLUSIVE says what the seeds could have told.
NOT_APPLICABLE says why the claim does not speak of the instance.

No verdict rests on an estimated certificate: an estimate from below makes the bound too small, so that it may be
"refuted" although the theorem holds, and an estimate from above proves nothing about the constant that the claim names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ...bounds.evaluation.without_running import is_vacuous
from ...bounds.language.result import AbstractResult, Cell, Sheet, Table
from ...errors import InputError
from ...figures import Axis, Plot, bar_plot
from .evalues import (
    Array,
    Bracket,
    CapExceeded,
    Number,
    check_cap,
    checked_values,
    log_e_refute,
    log_e_support,
    mean,
    mean_bracket,
    round_up,
)
from .planning import DEFAULT_POWER, Detectable, detectable, log_threshold

#: A number known exactly, or an enclosure (lower, upper) of it.
Exact: TypeAlias = Fraction | int | tuple[Number, Number]

#: From the strongest kind of certificate to the weakest; a verdict is as good as the weakest it uses.
CERTIFICATE_KINDS = ("exact", "upper", "estimated")

_SHARES_TOLERANCE = 1e-9  # terms are evaluated in doubles, so their sum equals the bound to rounding only
RESOLUTION = 2.0**-40
"""How far a statistic that is computed in doubles is taken to lie from the exact one, relative to the cap.

At a stationary point the gradients of clients that differ cancel to about 1e-16 of what each is, so that the square of their mean is
about 1e-32 of the cap where it should be 0. No bound of what a whole run loses is proved: it is some powers of 2 more than what was seen.
"""
_ONE_INSTANCE = "a verdict about this one instance, not about the theorem"


class Outcome(StrEnum):
    """The four answers."""

    SUPPORTED = "SUPPORTED"
    REFUTED = "REFUTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    NOT_APPLICABLE = "NOT_APPLICABLE"


VERDICT_COLUMNS = (
    "outcome",
    "claim",
    "instance",
    "empirical",
    "lower",
    "upper",
    "bound",
    "tightness",
    "seeds",
    "alpha",
)


@dataclass(frozen=True, repr=False)
class Verdict(AbstractResult):
    """One claim on one instance; build it with `judge`, `judge_exact` or `not_applicable`.

    Units: `empirical`, `bracket`, `bound` and `cap` share the unit of the claim's statistic X. `tightness` is
    bound / empirical (None where the empirical value is 0 or the bound negative), `shares` the part of the bound that each term makes.
    `bracket` holds E X with probability `bracket_coverage` (1 on the exact path); it is description, the outcome comes
    from the e-values at level `alpha`. `vacuous`: the bound is not below the cap, so it says nothing.
    """

    outcome: Outcome
    claim: str
    instance: str
    reason: str
    method: str
    seeds: int = 0
    alpha: float | None = None
    empirical: float | None = None
    bracket: Bracket | None = None
    bracket_coverage: float | None = None
    bound: float | None = None
    cap: float | None = None
    tightness: float | None = None
    detectable: Detectable | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    vacuous: bool = False
    certificates: str = "exact"
    log10_e_refute: float | None = None
    log10_e_support: float | None = None

    def __post_init__(self) -> None:
        decided = self.outcome in (Outcome.SUPPORTED, Outcome.REFUTED)
        if not self.reason:
            raise ValueError(f"{self.claim}: a verdict {self.outcome} wants a reason, got ''")
        if decided and self.certificates == "estimated":
            raise ValueError(f"{self.claim}: {self.outcome} wants exact or upper certificates, got estimated ones")
        if self.outcome is Outcome.SUPPORTED and self.vacuous:
            raise ValueError(f"{self.claim}: a vacuous bound ({self.bound!r}, cap {self.cap!r}) is never SUPPORTED")

    @property
    def decided(self) -> bool:
        """Whether the evidence settles the claim on this instance."""
        return self.outcome in (Outcome.SUPPORTED, Outcome.REFUTED)

    def __bool__(self) -> bool:
        raise TypeError("a verdict is never a bare bool: compare verdict.outcome with an Outcome")

    def to_dict(self) -> dict[str, Any]:
        """A JSON-safe dict; infinite numbers become the strings 'inf' and '-inf'."""
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.detectable is not None:
            plain["detectable"] = {f.name: getattr(self.detectable, f.name) for f in fields(Detectable)}
        plain["bracket"] = None if self.bracket is None else list(self.bracket)
        plain["outcome"] = str(self.outcome)
        plain["note"] = _ONE_INSTANCE
        return {name: _json_safe(value) for name, value in plain.items()}

    def plot(self) -> Plot:
        """What was measured, the bound, and the cap, as far as they are known.

        Raises:
            InputError: none of them is: the claim was not tried.
        """
        known = {"measured": self.empirical, "bound": self.bound, "cap": self.cap}
        sides = {name: float(value) for name, value in known.items() if value is not None}
        if not sides:
            raise InputError(f"plot: {self.claim} was not tried: {self.reason}; wanted a verdict with numbers")
        return bar_plot(
            {"value": sides}, title=f"{self.claim} on {self.instance}: {self.outcome}", axis=Axis("value", "1")
        )

    def row(self) -> tuple[Cell, ...]:
        """The cells of the verdict under `VERDICT_COLUMNS`."""
        low, high = self.bracket or (None, None)
        measured = (self.empirical, low, high, self.bound, self.tightness)
        return (str(self.outcome), self.claim, self.instance, *measured, self.seeds, self.alpha)

    def sheet(self) -> Sheet:
        """One row, and why; see `AbstractResult`."""
        title = f"{self.outcome}: {self.claim}"
        return Sheet(title, None, (verdict_table("verdict", [self]),), (self.reason, _ONE_INSTANCE))

    def __str__(self) -> str:
        where = f"{self.claim} on {self.instance}" if self.instance else self.claim
        return f"{self.outcome}  {where}: {self._figures()}{self.reason} ({_ONE_INSTANCE})"

    def _figures(self) -> str:
        if self.empirical is None or self.bound is None:
            return ""
        bracket = ""
        if self.bracket is not None and self.bracket.lower != self.bracket.upper:
            level = f" ({self.bracket_coverage:.0%} interval)" if self.bracket_coverage else ""
            bracket = f" [{self.bracket.lower:.4g}, {self.bracket.upper:.4g}]{level}"
        tightness = "" if self.tightness is None else f", tightness {self.tightness:.3g}"
        seeds = "" if self.alpha is None else f", {self.seeds} seeds, alpha {self.alpha:.2g}"
        return f"{self.empirical:.4g}{bracket} against bound {self.bound:.4g}{tightness}{seeds}; "


def verdict_table(name: str, verdicts: Sequence[Verdict]) -> Table:
    """A row for each verdict; its bar is the measured value in units of the bound, and none where the bound is not positive."""
    rows, bars = tuple(v.row() for v in verdicts), tuple(_bar(v.empirical, v.bound) for v in verdicts)
    return Table(name, VERDICT_COLUMNS, rows, bars)


def judge(
    values: Any,
    bound: Number,
    *,
    alpha: Number,
    certificates_kind: str | Iterable[str],
    cap: Number | None = None,
    claim: str = "E X <= bound",
    instance: str = "",
    terms: Mapping[str, Number] | None = None,
    resolution: float | None = None,
    power: float = DEFAULT_POWER,
    bracket_coverage: float = 0.95,
) -> Verdict:
    """Judge E X <= `bound` from one X >= 0 per seed.

    Assumption: seeds are independent and their number was planned; X is the claim's own statistic; 0 <= X <= `cap`
    almost surely where a cap is given. Guarantee: if the claim is true on the instance, P(REFUTED) <= alpha; if it is
    false, P(SUPPORTED) <= alpha. Only one of the two can be an error, so the claim costs alpha once.

    Args:
        values: `(seeds,)`, in the unit of `bound`.
        bound: the right-hand side; a negative one is refuted, since X >= 0.
        alpha: from the ledger.
        certificates_kind: kind(s) of the constants behind bound and cap; `estimated` never gives a decided verdict.
        cap: the almost-sure cap that the claim's own assumptions give; without it there is no SUPPORTED.
        terms: named parts of the bound, for the shares; must add up to `bound`.
        resolution: how far a value may lie from the exact statistic through rounding; the tests allow for it. `RESOLUTION` of the cap
            without it, and 0 where there is none.
        power, bracket_coverage: for the reported detectable ratio and bracket.

    Raises:
        CapExceeded: a value lies above `cap` by more than `resolution`: a declared constant is wrong.
        ValueError: NaN, infinite or negative values, unknown certificate kind, terms that do not add up.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1:
        raise ValueError(f"values: wanted shape (seeds,), got {x.shape}")
    kind = weakest_certificate(certificates_kind)
    vacuous = is_vacuous(bound, cap)
    if resolution is None:
        resolution = 0.0 if cap is None else RESOLUTION * float(cap)
    low, high = _rounding_interval(x, resolution, cap)
    log_refute = -math.inf if bound == math.inf else float(log_e_refute(low, bound))
    log_support = -math.inf if cap is None or vacuous else float(log_e_support(high, bound, cap))
    wanted = log_threshold(alpha)
    outcome, reason = _decide(log_refute >= wanted, log_support >= wanted, kind, vacuous, cap is not None)
    return Verdict(
        outcome=outcome,
        claim=claim,
        instance=instance,
        reason=reason,
        method="e-value",
        seeds=len(x),
        alpha=float(alpha),
        empirical=mean(x),
        bracket=Bracket(
            mean_bracket(low, coverage=bracket_coverage).lower, mean_bracket(high, cap, coverage=bracket_coverage).upper
        ),
        bracket_coverage=bracket_coverage,
        bound=float(bound),
        cap=None if cap is None else float(cap),
        tightness=_tightness(float(bound), mean(x)),
        detectable=detectable(len(x), bound, cap, alpha, power=power),
        shares=_shares(terms, bound),
        vacuous=vacuous,
        certificates=kind,
        log10_e_refute=log_refute / math.log(10),
        log10_e_support=None if cap is None or vacuous else log_support / math.log(10),
    )


def judge_exact(
    value: Exact,
    bound: Exact,
    *,
    certificates_kind: str | Iterable[str],
    cap: Number | None = None,
    claim: str = "X <= bound",
    instance: str = "",
    terms: Mapping[str, Number] | None = None,
) -> Verdict:
    """Judge value <= `bound` when both sides are known exactly or enclosed: deterministic runs, moment recursions.

    Guarantee: the outcome is certain, given the certificates; it is INCONCLUSIVE when the enclosures overlap. A lone
    float is refused, since nothing says how far it lies from the exact side: give a Fraction or a pair.

    Args:
        value, bound: `Fraction`, `int` or a pair (lower, upper), in one unit.
        cap: as in `judge`, used for the label `vacuous` and to catch a wrong constant.
    """
    (value_low, value_high), (bound_low, bound_high) = _pair("value", value), _pair("bound", bound)
    if cap is not None and value_low > cap:
        raise CapExceeded(f"cap: wanted a value <= {cap!r}, got at least {value_low!r}")
    kind = weakest_certificate(certificates_kind)
    vacuous = is_vacuous(bound_low, cap)
    outcome, reason = _decide(value_low > bound_high, value_high <= bound_low, kind, vacuous, True)
    empirical, right = _middle(value_low, value_high), _middle(bound_low, bound_high)
    return Verdict(
        outcome=outcome,
        claim=claim,
        instance=instance,
        reason=reason,
        method="exact",
        empirical=empirical,
        bracket=Bracket(_double(value_low), _double(value_high)),
        bracket_coverage=1.0,
        bound=right,
        cap=None if cap is None else float(cap),
        tightness=_tightness(right, empirical),
        shares=_shares(terms, right),
        vacuous=vacuous,
        certificates=kind,
    )


def not_applicable(claim: str, reason: str, *, instance: str = "") -> Verdict:
    """The claim does not speak of the instance: `reason` names the assumption or condition that fails."""
    return Verdict(Outcome.NOT_APPLICABLE, claim, instance, reason, "none")


def weakest_certificate(kinds: str | Iterable[str]) -> str:
    """The weakest of the certificate kinds that a verdict rests on."""
    listed = [kinds] if isinstance(kinds, str) else list(kinds)
    unknown = [kind for kind in listed if kind not in CERTIFICATE_KINDS]
    if unknown or not listed:
        raise ValueError(f"certificates_kind: wanted some of {CERTIFICATE_KINDS}, got {unknown or 'none'}")
    return max(listed, key=CERTIFICATE_KINDS.index)


def _decide(refuted: bool, supported: bool, kind: str, vacuous: bool, supportable: bool) -> tuple[Outcome, str]:
    if kind == "estimated":
        return Outcome.INCONCLUSIVE, "the certificates are only estimated, so neither side of the bound is certain"
    if refuted:
        return Outcome.REFUTED, "the statistic exceeds the bound"
    if vacuous:
        return Outcome.INCONCLUSIVE, "vacuous: the bound is not below the cap, it says nothing"
    if supported:
        return Outcome.SUPPORTED, "the statistic stays below the bound"
    if not supportable:
        return Outcome.INCONCLUSIVE, "no almost-sure cap is known, so the bound can be refuted but not supported"
    return Outcome.INCONCLUSIVE, "the evidence does not settle it"


def _rounding_interval(x: Array, resolution: float, cap: Number | None) -> tuple[Array, Array]:
    """Where the exact statistics may lie: (low, high), both `(seeds,)` and within [0, cap]."""
    if not (math.isfinite(resolution) and resolution >= 0):
        raise ValueError(f"resolution: wanted a finite number >= 0, got {resolution!r}")
    low = np.where(x >= -resolution, np.maximum(x - resolution, 0.0), x)
    checked_values(low)
    if cap is not None:
        check_cap(x, cap, spare=resolution)
    return low, np.minimum(x + resolution, math.inf if cap is None else round_up(cap))


def _bar(empirical: float | None, bound: float | None) -> float | None:
    return None if empirical is None or bound is None or bound <= 0 else min(empirical / bound, 1.0)


def _tightness(bound: float, empirical: float) -> float | None:
    return bound / empirical if empirical > 0 and bound >= 0 else None


def _shares(terms: Mapping[str, Number] | None, bound: Number) -> dict[str, float]:
    if terms is None:
        return {}
    total = math.fsum(float(value) for value in terms.values())
    if not math.isclose(total, float(bound), rel_tol=_SHARES_TOLERANCE):
        raise ValueError(f"terms: wanted a sum of {float(bound)!r} (the bound), got {total!r}")
    return {name: float(value) / total if total else 0.0 for name, value in terms.items()}


def _pair(name: str, x: Exact) -> tuple[Number, Number]:
    if isinstance(x, float):
        raise TypeError(f"{name}: wanted a Fraction, an int or an enclosure (lower, upper), got the float {x!r}")
    low, high = x if isinstance(x, tuple) else (x, x)
    if not (_is_finite(low) and _is_finite(high) and low <= high):
        raise ValueError(f"{name}: wanted finite lower <= upper, got {(low, high)!r}")
    return low, high


def _is_finite(x: Number) -> bool:
    return not isinstance(x, float) or math.isfinite(x)


def _middle(low: Number, high: Number) -> float:
    return _double((Fraction(low) + Fraction(high)) / 2)


def _double(x: Number) -> float:
    """The nearest double; infinite for an exact number beyond their range (a diverging exact recursion)."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def _json_safe(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if isinstance(value, list):
        return [_json_safe(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _json_safe(part) for name, part in value.items()}
    return value
