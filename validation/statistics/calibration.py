"""Calibration of the e-value engine: how often it gives a false verdict on laws whose mean is known.

For skewed laws with an exactly known mean, a million independent data sets are drawn with the mean at the bound, just
under it (the claim is true, REFUTED is false) and just over it (the claim is false, SUPPORTED is false). Every rate
comes with a Clopper-Pearson interval. A t-interval is scored on the same data as a negative control: on skewed laws it
gives false support far above its level, and a calibration that does not show this proves nothing.

The result is plain JSON with the sha256 of its content and a fingerprint of the engine that it measured.

    python -m fedco.validation.statistics.calibration --runs 1000000 --out benchmarks/calibration.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy import stats

from ...storage import read_json, sealed, write_json
from .evalues import GRID, Array, log_e_refute, log_e_support
from .planning import log_threshold

LEVELS = (5e-2, 1e-2, 1e-3, 1e-6)
SEEDS = (20, 64)
#: "Just under" and "just over" the bound: the true mean is off by this factor.
JUST = 1.02
CONFIDENCE = 0.999

_FORMAT = "fedco-calibration/1"
_BLOCK = 65_536  # numbers per block: keeps the working set inside the processor's cache


@dataclass(frozen=True)
class Law:
    """A nonnegative law with known `mean` and almost-sure `cap` (None where unbounded); `draw(rng, shape)`."""

    name: str
    mean: float
    cap: float | None
    draw: Callable[[np.random.Generator, tuple[int, int]], Array]


@dataclass(frozen=True)
class Placement:
    """Where the true mean lies and which verdict is false there: bound = mean * `bound_over_mean`."""

    where: str
    false_verdict: str
    bound_over_mean: float


PLACEMENTS = (
    Placement("at the bound", "REFUTED", 1.0),
    Placement("at the bound", "SUPPORTED", 1.0),
    Placement("just under the bound", "REFUTED", JUST),
    Placement("just over the bound", "SUPPORTED", 1 / JUST),
)


def laws() -> tuple[Law, ...]:
    """The calibration laws: skewed, heavy-tailed, rare-event, two-point, and the point mass as the edge case."""
    chi_cap, log_cap, rare, coin = 6.0, 50.0, 0.01, 0.3
    chi_mean = float(stats.chi2.cdf(chi_cap, 3) + chi_cap * stats.chi2.sf(chi_cap, 1))
    body = math.exp(2.0) * stats.norm.cdf((math.log(log_cap) - 4) / 2)
    log_mean = float(body + log_cap * stats.norm.sf(math.log(log_cap) / 2))
    return (
        Law("chi2_1", 1.0, None, lambda rng, shape: rng.standard_normal(shape) ** 2),
        Law("chi2_1 capped at 6", chi_mean, chi_cap, lambda rng, s: np.minimum(rng.standard_normal(s) ** 2, chi_cap)),
        Law("lognormal(2)", math.exp(2.0), None, lambda rng, shape: np.exp(2 * rng.standard_normal(shape))),
        Law("lognormal(2) capped at 50", log_mean, log_cap, lambda rng, s: _capped_lognormal(rng, s, log_cap)),
        Law("1% rare event", rare, 1.0, lambda rng, shape: (rng.random(shape) < rare).astype(np.float64)),
        Law("beta(1/2, 3)", 1 / 7, 1.0, lambda rng, shape: rng.beta(0.5, 3.0, shape)),
        Law("two points", coin, 1.0, lambda rng, shape: (rng.random(shape) < coin).astype(np.float64)),
        Law("point mass", 0.25, 1.0, lambda _, shape: np.full(shape, 0.25)),
    )


def calibrate(
    runs: int,
    *,
    seeds: Sequence[int] = SEEDS,
    levels: Sequence[float] = LEVELS,
    chosen: Sequence[Law] | None = None,
    root_seed: int = 20_240_601,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Measure the false-verdict rates of e-values and of t-intervals.

    Args:
        runs: independent data sets per cell (law, number of seeds, placement).
        seeds: observations per data set.
        levels: the alphas at which verdicts are counted.
        progress: receives one line per finished law.

    Returns:
        A JSON-safe dict with one entry of `cells` per cell, sealed with its sha256.
        `mean_e_value` is descriptive: its expectation is at most 1, but rare large e-values dominate its error.
    """
    cells: list[dict[str, Any]] = []
    for number in seeds:
        for law in laws() if chosen is None else chosen:
            cells += rejection_rates(law, number, runs, levels, root_seed)
            if progress is not None:
                progress(f"{law.name}, {number} seeds: done")
    return sealed(
        {
            "format": _FORMAT,
            "runs_per_cell": runs,
            "root_seed": root_seed,
            "just": JUST,
            "confidence": CONFIDENCE,
            "grid": [str(lam) for lam in GRID],
            "engine_fingerprint": engine_fingerprint(),
            "versions": {"numpy": np.__version__, "scipy": scipy.__version__},
            "cells": cells,
        }
    )


def clopper_pearson(count: int, runs: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Two-sided exact interval for a rate from `count` events in `runs`."""
    tail = (1 - confidence) / 2
    low = float(stats.beta.ppf(tail, count, runs - count + 1)) if count else 0.0
    high = float(stats.beta.ppf(1 - tail, count + 1, runs - count)) if count < runs else 1.0
    return low, high


def exceedances(result: Mapping[str, Any], method: str = "e_value") -> list[str]:
    """The cells whose false-verdict rate is above its level beyond doubt: the interval lies entirely above alpha.

    Must be empty for `e_value`; must not be empty for `t_interval`, or the laws are too tame to show anything.
    """
    return [
        f"{cell['law']}, {cell['seeds']} seeds, {cell['where']}, {cell['false_verdict']}, alpha {level}"
        for cell in result["cells"]
        for level, rate in (cell[method] or {}).items()
        if rate["low"] > float(level)
    ]


def engine_fingerprint() -> str:
    """sha256 of the engine's answers (6 digits) on fixed data; it changes when the grid or the e-value changes."""
    data = np.arange(1, 41).reshape(4, 10) ** 2 / 100.0
    answers = [log_e_refute(data, bound) for bound in (0.5, 2.0, 10.0)]
    answers += [log_e_support(data, bound, 17.0) for bound in (2.0, 8.0, 16.0)]
    text = " ".join(f"{value:.6g}" for value in np.concatenate(answers))
    return hashlib.sha256(text.encode()).hexdigest()


def store(result: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a sealed result as JSON."""
    write_json(path, result)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a stored calibration. Raises DamagedError when its content does not match its hash."""
    return sealed(read_json(path, _FORMAT))


def rejection_rates(law: Law, seeds: int, runs: int, levels: Sequence[float], root_seed: int) -> list[dict[str, Any]]:
    """All placements of one law on one set of draws."""
    e_counts = np.zeros((len(PLACEMENTS), len(levels)), dtype=np.int64)
    t_counts = np.zeros_like(e_counts)
    totals = np.zeros(len(PLACEMENTS))
    for values in drawn_in_blocks(law, seeds, runs, root_seed):
        for row, place in enumerate(PLACEMENTS):
            log_e = log_evidence(law, place, values)
            e_counts[row] += [int((log_e >= log_threshold(level)).sum()) for level in levels]
            t_counts[row] += t_rejections(values, law.mean * place.bound_over_mean, place.false_verdict, levels)
            totals[row] += float(np.exp(log_e).sum())
    return [
        {
            "law": law.name,
            "seeds": seeds,
            "cap_over_mean": None if law.cap is None else law.cap / law.mean,
            "where": place.where,
            "false_verdict": place.false_verdict,
            "runs": runs,
            "mean_e_value": totals[row] / runs if _has_e_value(law, place) else None,
            "e_value": _rates(e_counts[row], runs, levels) if _has_e_value(law, place) else None,
            "t_interval": _rates(t_counts[row], runs, levels),
        }
        for row, place in enumerate(PLACEMENTS)
    ]


def drawn_in_blocks(law: Law, seeds: int, runs: int, root_seed: int) -> Iterator[Array]:
    rng = np.random.default_rng([root_seed, seeds, zlib.crc32(law.name.encode())])
    size = max(1, _BLOCK // seeds)
    for start in range(0, runs, size):
        yield law.draw(rng, (min(size, runs - start), seeds))


def _has_e_value(law: Law, place: Placement) -> bool:
    """Without a cap nothing can be supported: there the t-interval stands alone, as it does in careless practice."""
    return law.cap is not None or place.false_verdict == "REFUTED"


def log_evidence(law: Law, place: Placement, values: Array) -> Array:
    bound = law.mean * place.bound_over_mean
    if place.false_verdict == "REFUTED":
        return log_e_refute(values, bound)
    return np.full(len(values), -np.inf) if law.cap is None else log_e_support(values, bound, law.cap)


def t_rejections(values: Array, bound: float, false_verdict: str, levels: Sequence[float]) -> list[int]:
    """The negative control: one-sided t-intervals, which trust the sample variance of skewed data."""
    seeds = values.shape[1]
    below = bound - values.mean(axis=1)
    gap = below if false_verdict == "SUPPORTED" else -below
    error = values.std(axis=1, ddof=1) / math.sqrt(seeds)
    return [int((gap > stats.t.ppf(1 - level, seeds - 1) * error).sum()) for level in levels]


def _rates(counts: Any, runs: int, levels: Sequence[float]) -> dict[str, dict[str, float]]:
    rates = {}
    for count, level in zip(counts.tolist(), levels, strict=True):
        low, high = clopper_pearson(count, runs)
        rates[str(level)] = {"count": count, "rate": count / runs, "low": low, "high": high}
    return rates


def _capped_lognormal(rng: np.random.Generator, shape: tuple[int, int], cap: float) -> Array:
    return np.minimum(np.exp(2 * rng.standard_normal(shape)), cap)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the calibration and store it; exit status 1 when the engine exceeds a level anywhere."""
    parser = argparse.ArgumentParser(description="measure the false-verdict rates of the e-value engine")
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("calibration.json"))
    chosen = parser.parse_args(arguments)
    result = calibrate(chosen.runs, progress=lambda line: print(line, file=sys.stderr))
    store(result, chosen.out)
    print(json.dumps({"sha256": result["sha256"], "exceedances": exceedances(result)}))
    return 1 if exceedances(result) else 0


if __name__ == "__main__":
    sys.exit(main())
