"""FedDRO section 2.1: distributionally robust optimisation as a composition."""

from __future__ import annotations

from typing import Any

import sympy as sp

from ...language.dimension import OBJECTIVE
from ...language.notation import Notation
from ...language.quantities import Quantity
from ...language.theorem import Derived, Metric, Statement, Theorem
from . import composed as proof
from .notation import source

# --- section 2.1: DRO as a composition ---------------------------------------------------------------------------------

_observed = "observable"
DRO_NOTATION = Notation(
    "feddro section 2.1",
    (
        ("lam", r"\lambda", "divergence_weight"),
        ("mean_exp", r"\frac1m\sum_i\exp(\ell_i/\lambda)", "mean_exponential"),
        ("mean_loss", r"\frac1m\sum_i\ell_i", "mean_loss"),
        ("mean_square_loss", r"\frac1m\sum_i\ell_i^2", "mean_square_loss"),
        ("min_loss", r"\min_i\ell_i", "smallest_loss"),
    ),
    extra=(
        Quantity("mean_loss", "mean loss of the samples", OBJECTIVE, "nonnegative real", _observed),
        Quantity("mean_square_loss", "mean of the squared losses", OBJECTIVE**2, "nonnegative real", _observed),
        Quantity("smallest_loss", "smallest loss of a sample", OBJECTIVE, "nonnegative real", _observed),
    ),
)
d = DRO_NOTATION.namespace()


def _reformulation(name: str, title: str, equation: str, divergence: str, printed: sp.Expr, corrected: Any) -> Theorem:
    penalised = r"\max_{p\in P_m}\sum_ip_i\ell_i-\lambda D(p,\mathbf 1/m)"
    return Theorem(
        f"feddro.{name}",
        "claim",
        title,
        source("section 2.1", equation),
        DRO_NOTATION,
        Metric("max_p sum_i p_i loss_i - lam D(p, 1/m)", penalised, OBJECTIVE, divergence),
        {
            "printed": Statement("printed", (), derived=(Derived("objective", printed, "", "objective"),)),
            "corrected": corrected,
        },
        not_composed="the paper states it without a proof",
    )


REFORMULATION_KL = _reformulation(
    "reformulation_kl",
    "KL-regularised DRO as a composition",
    "3-4",
    "D is the KL divergence",
    sp.log(d.mean_exp),
    lambda: proof.kl_maximum(d),
)
REFORMULATION_CHI2 = _reformulation(
    "reformulation_chi2",
    "chi-square-regularised DRO as a composition",
    "3, 5",
    "D is half m times the squared distance of p from 1/m",
    -d.mean_square_loss / (2 * d.lam) + d.mean_loss**2 / (2 * d.lam),
    lambda: proof.chi_square_maximum(d),
)
