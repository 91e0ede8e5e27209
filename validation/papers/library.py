"""The instances on which the library's theorems are validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from ..runs.declaration import Runs
from ..runs.instance import Instance

R = Fraction
NEAR = {"start": 3.0}
AT_MINIMUM = 0.25
"""A start so near to the minimiser that noise is most of the bound."""
UNLIKE = "federated_heterogeneous"
HUBER, NOISY, QUADRATIC, STEEP = (
    "federated_homogeneous",
    "federated_noisy",
    "federated_quadratic",
    "federated_strongly_convex",
)


def _on(
    problem: str,
    hyper: Mapping[str, int | Fraction],
    why: str,
    horizons: tuple[int, int],
    case: str = "interior",
    **more: float,
) -> Instance:
    return Instance(problem, hyper, why, {**NEAR, **more}, horizons, case)


CONVEX = (
    _on(HUBER, {"eta": R(1, 2), "b": 4}, "equal clients", (20, 40)),
    _on(NOISY, {"eta": R(1, 4), "b": 8}, "noise nearly as large as the signal", (20, 40)),
    _on(QUADRATIC, {"eta": R(1, 2), "b": 2}, "unbounded gradients", (20, 40)),
    _on(HUBER, {"eta": R(7, 5), "b": 4}, "eta at 98% of its largest value", (20, 40), "edge"),
    _on(NOISY, {"eta": R(7, 5), "b": 8}, "least bound", (20, 40), "tuned"),
    _on(NOISY, {"eta": R(1, 2), "b": 8}, "a start near the minimiser", (20, 40), "stress", start=AT_MINIMUM),
)
NEARBY = (
    _on(HUBER, {"eta": R(1, 2), "b": 4}, "equal clients", (10, 20)),
    _on(NOISY, {"eta": R(1, 4), "b": 8}, "noise nearly as large as the signal", (10, 20)),
    _on(QUADRATIC, {"eta": R(1, 2), "b": 2}, "unbounded gradients", (10, 20)),
    _on(QUADRATIC, {"eta": R(7, 5), "b": 4}, "eta at 98% of its largest value", (5, 10), "edge"),
    _on(NOISY, {"eta": R(1, 100), "b": 8}, "nearly the least bound, that of no step at all", (10, 20), "tuned"),
    _on(NOISY, {"eta": R(1, 2), "b": 8}, "a start near the minimiser", (10, 20), "stress", start=AT_MINIMUM),
)
STRONGLY_CONVEX = (
    _on(QUADRATIC, {"eta": R(1, 2), "b": 2}, "quadratic losses", (15, 30)),
    _on(STEEP, {"eta": R(1, 2), "b": 4}, "steep near the minimiser, flat away from it", (15, 30)),
    _on(QUADRATIC, {"eta": R(7, 5), "b": 4}, "eta at 98% of its largest value", (6, 12), "edge"),
    _on(QUADRATIC, {"eta": R(1, 2), "b": 2}, "equal clients, all curvatures equal", (5, 10), mu=0.7, Delta=0.0),
    _on(STEEP, {"eta": R(17, 16), "b": 4}, "least bound", (15, 30), "tuned"),
    _on(QUADRATIC, {"eta": R(1, 4), "b": 2}, "a start near the minimiser", (15, 30), "stress", start=AT_MINIMUM),
)
DECLINING = (
    _on(QUADRATIC, {"a": 16, "t0": 16, "b": 4}, "quadratic losses", (10, 20)),
    _on(STEEP, {"a": 16, "t0": 16, "b": 4}, "steep near the minimiser, flat away from it", (10, 20)),
    _on(QUADRATIC, {"a": 3, "t0": R(11, 5), "b": 4}, "equal clients, all curvatures equal", (3, 6), mu=0.7, Delta=0.0),
    _on(QUADRATIC, {"a": 3, "t0": R(43, 20), "b": 8}, "a at 98% of its largest value", (3, 6), "edge", mu=0.7),
    _on(QUADRATIC, {"a": 10, "t0": R(71, 10), "b": 4}, "the least a and nearly the least t0", (10, 20), "tuned"),
    _on(QUADRATIC, {"a": 16, "t0": 16, "b": 2}, "a start near the minimiser", (100, 200), "stress", start=AT_MINIMUM),
)
LOCAL = (
    _on(QUADRATIC, {"eta": R(1, 8), "p": 4, "b": 2}, "quadratic losses, rounds of 4", (100, 200)),
    _on(STEEP, {"eta": R(1, 8), "p": 3, "b": 2}, "steep near the minimiser, rounds of 3", (120, 240)),
    _on(QUADRATIC, {"eta": R(1, 8), "p": 2, "b": 4}, "equal clients, rounds of 2", (100, 200), Delta=0.0),
    _on(QUADRATIC, {"eta": R(2, 7), "p": 4, "b": 2}, "eta at 98% of its largest value", (100, 200), "edge"),
    _on(QUADRATIC, {"eta": R(1, 5), "p": 4, "b": 2}, "least bound for rounds of 4", (100, 200), "tuned"),
    _on(
        QUADRATIC,
        {"eta": R(1, 25), "p": 4, "b": 2},
        "a start near the minimiser",
        (100, 200),
        "stress",
        start=AT_MINIMUM,
    ),
)
LOCAL_TANGENT = tuple(
    replace(i, hyperparameters={**i.hyperparameters, "eta": R(3, 19)}) if i.case == "tuned" else i for i in LOCAL
)
"""The least bound of another theorem is at another step."""
EXACT = (
    _on(HUBER, {"eta": R(1, 2)}, "equal clients", (20, 40), sigma=0.0),
    _on(NOISY, {"eta": R(1, 4)}, "small steps", (20, 40), sigma=0.0),
    _on(HUBER, {"eta": R(7, 5)}, "eta at 98% of its largest value", (10, 20), "edge", sigma=0.0),
    _on(NOISY, {"eta": R(7, 5)}, "nearly the least bound", (10, 20), "tuned", sigma=0.0),
    _on(NOISY, {"eta": R(1, 4)}, "a start near the minimiser", (20, 40), "stress", sigma=0.0, start=AT_MINIMUM),
)
EXACT_GROWING = (
    _on(QUADRATIC, {"eta": R(1, 2)}, "quadratic losses", (10, 20), sigma=0.0),
    _on(STEEP, {"eta": R(1, 2)}, "steep near the minimiser, flat away from it", (10, 20), sigma=0.0),
    _on(QUADRATIC, {"eta": R(7, 5)}, "eta at 98% of its largest value", (3, 6), "edge", sigma=0.0, Delta=0.0),
    _on(QUADRATIC, {"eta": R(71, 50)}, "nearly the least bound", (3, 6), "tuned", sigma=0.0),
    _on(QUADRATIC, {"eta": R(1, 4)}, "a start near the minimiser", (10, 20), "stress", sigma=0.0, start=AT_MINIMUM),
)
PROBABLE = (
    _on(HUBER, {"eta": R(1, 2), "b": 4, "delta": R(1, 4)}, "equal clients", (40, 80)),
    _on(NOISY, {"eta": R(1, 4), "b": 8, "delta": R(1, 4)}, "noise nearly as large as the signal", (200, 400)),
    _on(HUBER, {"eta": R(7, 5), "b": 4, "delta": R(1, 8)}, "eta at 98% of its largest value", (20, 40), "edge"),
    _on(HUBER, {"eta": R(7, 5), "b": 4, "delta": R(1, 4)}, "nearly the least bound", (40, 80), "tuned"),
    _on(
        HUBER,
        {"eta": R(1, 2), "b": 4, "delta": R(1, 4)},
        "a start near the minimiser",
        (20, 40),
        "stress",
        start=AT_MINIMUM,
    ),
)

COMPRESSED = (
    _on(HUBER, {"eta": R(1, 4), "b": 4, "omega": 1}, "equal clients, half of the entries", (40, 80)),
    _on(UNLIKE, {"eta": R(1, 4), "b": 4, "omega": 3}, "clients that differ, a quarter of the entries", (40, 80)),
    _on(NOISY, {"eta": R(1, 8), "b": 8, "omega": 7}, "noise, an eighth of the entries", (100, 200)),
    _on(HUBER, {"eta": R(28, 25), "b": 4, "omega": 1}, "eta at 98% of its largest value", (20, 40), "edge"),
    _on(HUBER, {"eta": R(28, 25), "b": 4, "omega": 1}, "nearly the least bound", (40, 80), "tuned"),
    _on(
        NOISY, {"eta": R(1, 4), "b": 8, "omega": 1}, "a start near the minimiser", (40, 80), "stress", start=AT_MINIMUM
    ),
)
STORM = (
    _on(HUBER, {"eta": R(1, 4), "alpha": R(1, 4), "b": 4, "B": 16}, "equal clients", (40, 80)),
    _on(NOISY, {"eta": R(1, 4), "alpha": R(1, 4), "b": 8, "B": 32}, "noise nearly as large as the signal", (100, 200)),
    _on(UNLIKE, {"eta": R(1, 4), "alpha": R(1, 2), "b": 4, "B": 16}, "clients that differ", (40, 80)),
    _on(
        HUBER,
        {"eta": R(7, 10), "alpha": R(1, 16), "b": 4, "B": 16},
        "eta at 98% of its largest value",
        (20, 40),
        "edge",
    ),
    _on(HUBER, {"eta": R(7, 10), "alpha": R(1, 16), "b": 4, "B": 16}, "nearly the least bound", (40, 80), "tuned"),
    _on(
        NOISY,
        {"eta": R(1, 4), "alpha": R(1, 4), "b": 8, "B": 32},
        "a start near the minimiser",
        (40, 80),
        "stress",
        start=AT_MINIMUM,
    ),
)
MOMENTUM = (
    _on(HUBER, {"eta": R(1, 8), "alpha": R(1, 2), "b": 4}, "equal clients", (80, 160)),
    _on(NOISY, {"eta": R(1, 8), "alpha": R(1, 2), "b": 8}, "noise nearly as large as the signal", (160, 320)),
    _on(UNLIKE, {"eta": R(1, 8), "alpha": R(1, 2), "b": 4}, "clients that differ", (80, 160)),
    _on(HUBER, {"eta": R(7, 40), "alpha": R(1, 2), "b": 4}, "eta at 98% of its largest value", (80, 160), "edge"),
    _on(HUBER, {"eta": R(7, 10), "alpha": R(99, 100), "b": 4}, "nearly the least bound", (80, 160), "tuned"),
    _on(
        NOISY,
        {"eta": R(1, 8), "alpha": R(1, 2), "b": 8},
        "a start near the minimiser",
        (40, 80),
        "stress",
        start=AT_MINIMUM,
    ),
)

RUNS = Runs(
    instances={
        "library.sgd_convex": CONVEX,
        "library.sgd_convex_distance": NEARBY,
        "library.sgd_strongly_convex": STRONGLY_CONVEX,
        "library.sgd_strongly_convex_gap": STRONGLY_CONVEX,
        "library.sgd_strongly_convex_declining": DECLINING,
        "library.sgd_pl": STRONGLY_CONVEX,
        "library.sgd_strongly_convex_gap_declining": DECLINING,
        "library.sgd_pl_declining": DECLINING,
        "library.sgd_probable": PROBABLE,
        "library.gd": EXACT,
        "library.gd_convex": EXACT,
        "library.gd_strongly_convex": EXACT_GROWING,
        "library.gd_pl": EXACT_GROWING,
        "library.local_sgd_pl": LOCAL,
        "library.local_sgd_strongly_convex": LOCAL_TANGENT,
        "library.compressed_sgd": COMPRESSED,
        "library.storm": STORM,
        "library.heavy_ball": MOMENTUM,
    }
)
