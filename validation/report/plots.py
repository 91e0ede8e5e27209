"""The figure of a validation: a measured curve with its bound against T. Drawing itself is in `fedco/figures.py`."""

from __future__ import annotations

from collections.abc import Sequence

from ...figures import Axis, Curve, Plot, log_log_plot
from ..statistics.slopes import SlopeEstimate, bound_slope

_GUIDE_OFFSET = 0.6  # the guide line runs parallel below the curve instead of hiding it


def convergence_plot(
    horizons: Sequence[float],
    empirical: Sequence[float],
    bound: Sequence[float],
    *,
    title: str,
    metric: Axis,
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    measured_slope: SlopeEstimate | None = None,
    limit_exponent: float | None = None,
) -> Plot:
    """Empirical running mean with its bound against T, log-log, the measured slope beside the theory's.

    Args:
        horizons: `(points,)` T, in local steps.
        empirical: `(points,)` mean over seeds of the claim's statistic.
        bound: `(points,)` right-hand side at the same T, same unit.
        metric: name and unit of the statistic, for instance Axis("mean of ||grad Phi||^2", "[f]^2/[x]^2").
        band: confidence bracket of the mean, two sequences `(points,)`.
        measured_slope: from `slope_interval`; shown in the legend.
        limit_exponent: the exponent as T -> infinity; drawn as a guide line below the curve.
    """
    lower, upper = band if band is not None else (None, None)
    measured = "empirical" if measured_slope is None else f"empirical, slope {measured_slope}"
    theory = f"bound, slope {bound_slope(horizons, bound):.3f} over these T" if len(horizons) > 1 else "bound"
    curves = [
        Curve(measured, horizons, empirical, lower, upper),
        Curve(theory, horizons, bound, theory=True),
    ]
    if limit_exponent is not None:
        guide = [_GUIDE_OFFSET * empirical[-1] * (t / horizons[-1]) ** limit_exponent for t in horizons]
        curves.append(Curve(f"limit exponent {limit_exponent:.3g} (guide)", horizons, guide, theory=True))
    return log_log_plot(curves, title=title, x_axis=Axis("$T$", "local steps"), y_axis=metric)
