"""FedDRO: printed claims refuted by exact instances (see `bounds/audit/refutation.py` for what an entry is)."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import pairwise
from math import sqrt
from typing import Any

from ...audit.instance import DRAWN, Clients, Curve, Law, X, exact
from ...audit.picture import Picture, Slope
from ...audit.refutation import Case, declared_in, refutes
from ...evaluation.enclosure import ends
from . import long_rounds

TINY = Q(1, 10**9)
_NONE = "this part vanishes; the paper wants a positive bound"


@refutes("feddro.lemma_f_4", "feddro.communication_jump")
def estimate_at_communication() -> Case:
    """Two clients pulled apart by h = +-x, g_k(x; z) = z x/(1 + x^2) with z = +-1, the communication that ends a round
    of 9: both sides of Lemma F.4 in exact second moments."""
    eta, beta, rounds = Q(1, 1000), Q(1, 1000), 9

    def inner(x: Q) -> Q:
        return x / (1 + x * x)

    def step(square: Q, before: list[Q], now: list[Q]) -> Q:
        """E ybar^2 after one update: the signs are fresh, independent and of mean zero."""
        fresh = sum(((inner(b) - (1 - beta) * inner(a)) ** 2 for a, b in zip(before, now, strict=True)), Q(0))
        return (1 - beta) ** 2 * square + fresh / 4

    path = [[-eta * t, eta * t] for t in range(rounds)]
    square = Q(0)  # E||ybar^t - mean_k g_k(x_k^t)||^2 = E (ybar^t)^2, as E z = 0; y^0 = g(x^0) = 0
    for before, now in pairwise(path):
        square = step(square, before, now)
    left = step(square, path[-1], [Q(0), Q(0)])
    at_most_one = [Q(i, 8) for i in range(-32, 33)]
    return Case(
        {"name": "two clients pulled apart", "parameters": {"slopes_of_h": [1, -1], "signs": [1, -1], "start": 0}},
        {
            "L_h": (TINY, "h_k is linear; the paper wants a positive bound"),
            "L_g": (TINY, "E g_k = 0; the paper wants a positive bound"),
            "B_f": (TINY, "f = 0; the paper wants a positive bound"),
            "B_g": (Q(1), "|d/dx x/(1 + x^2)| <= 1 for every sign"),
            "sigma_h": (TINY, "h_k has no noise; the paper wants a positive bound"),
            "sigma_g": (Q(1), "the variance of g_k is at most 1/4, that of its derivative at most 1"),
            "Delta_h": (Q(1), "h_k' = +-1 and their mean is 0"),
            "Delta_g": (TINY, "E g_k = 0 for both clients; the paper wants a positive bound"),
        },
        {"eta": eta, "beta": beta, "I": rounds, "K": 2, "b": 1},
        left,
        {
            "|x/(1 + x^2)| <= 1/2 and its derivative is at most 1": all(
                abs(inner(x)) <= Q(1, 2) and abs(1 - x * x) <= (1 + x * x) ** 2 for x in at_most_one
            ),
        },
        {"inner_error": square, "consensus_error": path[-1][1] ** 2, "direction_sq": Q(0)},
        picture=Picture((lambda x: Q(1), lambda x: Q(-1)), (-1, 1), {"start": 0}),
        clients=Clients(
            Q(0),
            outer=(Law.surely(Curve.whole(0)),) * 2,
            inner=(Law.fair(Curve.whole(X / (1 + X**2)), Curve.whole(-X / (1 + X**2))),) * 2,
            extra=(Law.surely(Curve.whole(X)), Law.surely(Curve.whole(-X))),
            estimate=Q(0),
            by_construction=dict.fromkeys(DRAWN, "the signs are drawn afresh for every step and client"),
        ),
        choice="t + 1 = I is a communication: x_k^{t+1} = xbar^{t+1}, while x_k^t is the client's own",
    )


def _behind(slope: int, offset: int) -> Slope:
    """The derivative of sqrt(y^2 + 4) behind y = slope x + offset."""
    return lambda x: slope * (slope * x + offset) / sqrt((slope * x + offset) ** 2 + 4)


@refutes(
    "feddro.theorem_4_1",
    "feddro.varying_steps",
    reading="the step size may change within a round",
    alternatives={"one step size within each round": "not refuted"},
)
def varying_steps() -> Case:
    """The paper's own clients in case II with eta = 1/23 on the shared step and 2^-n/23 after it in round n: xbar falls
    below 1/2, the level that the proof says it keeps, and goes on to the stationary point 0."""
    from flint import arb, ctx

    level, rounds, rate = Q(1, 2), 120, Q(1, 23)
    saved, ctx.prec = ctx.prec, 400
    try:
        a = arb(1) / 23
        x = arb(1) / 2

        def pull(y: Any) -> Any:
            return y / (y * y + 4).sqrt()

        falls = []
        for n in range(1, rounds + 1):
            late = a / arb(2) ** n
            x_1, x_2 = x - 4 * a * pull(x), x + 2 * a * pull(x)
            x_1, x_2 = x_1 - 4 * late * pull(4 * x_1 - 4), x_2 + 2 * late * pull(4 - 2 * x_2)
            falls.append(bool((x_1 + x_2) / 2 < x))
            x = (x_1 + x_2) / 2
        right = ends(x).pair
    finally:
        ctx.prec = saved
    return Case(
        {
            "name": "the counterexample of Theorem 4.1, case II, two local steps",
            "parameters": {
                "slopes": [4, -2],
                "offsets": [-4, 4],
                "start": level,
                "rounds": rounds,
                "late_step_ratio": Q(1, 2),
            },
        },
        {"level": (level, "the proof's induction: xbar >= 1/2 at every communication")},
        {"eta": rate},
        level,
        {
            "every step size is below the printed C_eta = 1/22": rate < Q(1, 22),
            "xbar falls in the last hundred rounds": all(falls[-100:]),
            "the late steps still to come move xbar by less than 10^-30": 3 * rate / 2**rounds < Q(1, 10**30),
            # without late steps a round is x - eta s(x), a contraction to 0 on [0, 1/2]
            "what is left goes to 0: |x - eta s(x)| < |x|": rate < 1,
        },
        right=right,
        picture=Picture(
            (_behind(4, -4), _behind(-2, 4)),
            (-1, 4),
            {"start": level, "stationary point": 0},
            objective=_behind(1, 0),
        ),
        choice="'for any 0 < eta^t < C_eta for t = 0, ..., T-1' lets the step size change inside a round, as printed; with "
        "one step size per round the claim is certified (fedco counterexample)",
    )


# --- small B_g: the unit of the inner value decides ------------------------------------------------------------------

_SCALE = Q(1, 1000)
"""B_g: the inner map is g(x) = x/1000."""


def _clip(y: Q) -> Q:
    return max(Q(-1), min(Q(1), y))


def _huber(x: Q) -> Q:
    return x * x / 2 if abs(x) <= 1 else abs(x) - Q(1, 2)


def _small_constants(*names: str, gap: Q | int = 0, y_err: Q | int = 0) -> dict[str, tuple[Q, str]]:
    """Certificates of two equal noiseless clients, f(y) = Huber(1000 y) behind g(x) = x/1000, so that Phi is Huber's function."""
    table: dict[str, tuple[Q, str]] = {
        "L_h": (TINY, f"h = 0: {_NONE}"),
        "L_f": (1 / _SCALE**2, "f' = 1000 clip(1000 y) has slopes 0 and 10^6"),
        "L_g": (TINY**2, f"g is linear: {_NONE}"),
        "B_f": (1 / _SCALE, "|f'| <= 1000"),
        "B_g": (_SCALE, "g' = 1/1000"),
        "sigma_h": (TINY, f"no noise: {_NONE}"),
        "sigma_g": (TINY**2, f"no noise: {_NONE}"),
        "Delta_h": (TINY, f"equal clients: {_NONE}"),
        "Delta_g": (TINY**2, f"equal clients: {_NONE}"),
        "Phi_gap": (Q(gap), "Phi(x^0) minus the minimum 0"),
        "y_err": (Q(y_err), "|y^0 - g(x^0)|"),
    }
    return {name: pair for name, pair in table.items() if name in names}


def _small_clients(start: Q, y: Q) -> Clients:
    """Those two clients, with the start of the models and of the estimate."""
    outer = Law.surely(Curve.with_slope([(-_SCALE, -1 / _SCALE), (_SCALE, 1 / _SCALE)]))
    inner, extra = Law.surely(Curve.whole(exact(_SCALE) * X)), Law.surely(Curve.whole(0))
    return Clients(start, (outer,) * 2, (inner,) * 2, (extra,) * 2, estimate=y)


def _small_run(x: Q, y: Q, eta: Q, beta: Q, steps: int, update_first: bool = False) -> list[tuple[Q, Q]]:
    """(x^t, y^t) for t = 0..steps - 1 of Algorithm 2 on those clients, then x^steps with the y before it."""
    path, before = [], x
    for t in range(steps):
        if t > 0 or update_first:
            y = (1 - beta) * (y - _SCALE * before) + _SCALE * x
        path.append((x, y))
        before, x = x, x - eta * _clip(y / _SCALE)
    return [*path, (x, y)]


def _never_apart(x: Q, y: Q, eta: Q, beta: Q, steps: int) -> bool:
    """Whether Algorithm 2 with two clients whose models are never averaged is `_small_run`, both clients at every step."""
    models, older, path = [x, x], [x, x], []
    for t in range(steps):
        if t > 0:
            own = [(1 - beta) * (y - _SCALE * a) + _SCALE * b for a, b in zip(older, models, strict=True)]
            y = sum(own, Q(0)) / 2
        path.append((*models, y))
        older, models = models, [m - eta * _clip(y / _SCALE) for m in models]
    alone = _small_run(x, path[0][2], eta, beta, steps)[:steps]
    return path == [(v, v, w) for v, w in alone]


_ETA, _BETA, _T = Q(1, 8), Q(1, 2), 128
"""eta = sqrt(|b| K/T) and beta = 4 B_g^4 L_f^2 eta."""
_HYPER: dict[str, Q | int] = {"eta": _ETA, "beta": _BETA, "I": 1, "K": 2, "b": 1, "T": _T}
_ALL = ("L_h", "L_f", "L_g", "B_f", "B_g", "sigma_h", "sigma_g", "Delta_h", "Delta_g", "Phi_gap", "y_err")


def _wrong_start(name: str) -> Case:
    """Start at the minimiser 0 of Phi with y^0 = 1/1000, an error that the bound counts as 10^-6."""
    from ...registry import get_theorem as theorem

    symbols = theorem(name).symbols("printed")
    path = _small_run(Q(0), _SCALE, _ETA, _BETA, _T)
    points = [x for x, _ in path]
    left = sum((_clip(x) ** 2 for x in points[1:]), Q(0)) / _T
    other = sum((_clip(x) ** 2 for x in points[:-1]), Q(0)) / _T
    updated = [x for x, _ in _small_run(Q(0), _SCALE, _ETA, _BETA, _T, update_first=True)]
    with_update = sum((_clip(x) ** 2 for x in updated[1:]), Q(0)) / _T
    constants = _small_constants(*(n for n in _ALL if n in symbols), y_err=_SCALE)
    hyper = {n: v for n, v in _HYPER.items() if n in symbols}
    c_beta = 4 * _SCALE**4 / _SCALE**4
    return Case(
        {
            "name": "two equal clients, a flat inner map and a steep outer function",
            "parameters": {"start": 0, "y_start": _SCALE, "scale": _SCALE, "clients": 2},
        },
        constants,
        hyper,
        left,
        {
            "eta = sqrt(|b| K/T) and beta = c_beta eta": _ETA**2 * _T == 2 and c_beta * _ETA == _BETA,
            "the average over t = 0..T-1, which the proof bounds, is at least half of it": other > left / 2,
            "with (8) applied at t = 0 already the average is at least an eighth of it": with_update > left / 8,
        },
        picture=Picture((_clip,), (-2, 2), {"start, the minimiser": 0}),
        clients=_small_clients(Q(0), _SCALE),
        choice="line 2 initialises y^0, and the theorem has its error as ||y^0 - g(x^0)||",
    )


@refutes(
    "feddro.theorem_5_1",
    "feddro.small_inner_lipschitz",
    alternatives={"the average over t = 0..T-1": "refuted", "(8) applied at t = 0 too": "refuted"},
)
def theorem_5_1() -> Case:
    """Two equal noiseless clients at the minimiser with a wrong y^0: scaling the inner value by 1/1000 makes the bound 10^-6 times
    smaller and leaves every iterate as it is."""
    return _wrong_start("feddro.theorem_5_1")


@refutes(
    "feddro.theorem_f_1",
    "feddro.small_inner_lipschitz",
    alternatives={"the average over t = 0..T-1": "refuted", "(8) applied at t = 0 too": "refuted"},
)
def theorem_f_1() -> Case:
    """The same clients on the detailed form of the theorem."""
    return _wrong_start("feddro.theorem_f_1")


@refutes(
    "feddro.corollary_1",
    "feddro.small_inner_lipschitz",
    alternatives={"the average over t = 0..T-1": "refuted", "(8) applied at t = 0 too": "refuted"},
)
def corollary_1() -> Case:
    """The same clients: one local step per round is within the corollary's limit."""
    return _wrong_start("feddro.corollary_1")


def _step_of(name: str, start: Q, y: Q) -> Case:
    """The first step from (x^0, y^0) of the same clients, with the exact observables of Lemmas F.2 and F.5."""
    from ...registry import get_theorem as theorem

    symbols = theorem(name).symbols("printed")
    (x_0, y_0), (x_1, y_1), _ = _small_run(start, y, _ETA, _BETA, 2)
    errors = [(y_0 - _SCALE * x_0) ** 2, (y_1 - _SCALE * x_1) ** 2]
    seen = {
        "gradient_sq": _clip(x_0) ** 2,
        "direction_sq": _clip(y_0 / _SCALE) ** 2,
        "consensus_error": Q(0),
        "inner_error": errors[0],
    }
    change = _huber(x_1) - _huber(x_0)
    left = change if name.endswith("f_2") else change + errors[1] - errors[0]
    return Case(
        {
            "name": "two equal clients, a flat inner map and a steep outer function",
            "parameters": {"start": start, "y_start": y, "scale": _SCALE, "clients": 2},
        },
        _small_constants(*(n for n in _ALL if n in symbols)),
        {n: v for n, v in _HYPER.items() if n in symbols},
        left,
        {"equal clients: no drift": _never_apart(start, y, _ETA, _BETA, 2)},
        {n: v for n, v in seen.items() if n in symbols},
        picture=Picture((_clip,), (-2, 2), {"start": x_0, "after one step": x_1}),
        clients=_small_clients(start, y),
    )


@refutes("feddro.lemma_f_2", "feddro.power_of_b_g", "feddro.small_inner_lipschitz", slip="4 B_g^2 L_f^2 eta")
def descent() -> Case:
    """One step uphill: x^0 = 1/2 with y^0 = -1/1000; the coefficient 4 B_g^4 L_f^2 of the inner error is 10^6 times too small."""
    return _step_of("feddro.lemma_f_2", Q(1, 2), -_SCALE)


@refutes("feddro.lemma_f_5", "feddro.small_inner_lipschitz")
def potential() -> Case:
    """The same step: the potential rises."""
    return _step_of("feddro.lemma_f_5", Q(1, 2), -_SCALE)


@refutes("feddro.theorem_f_6", "feddro.small_inner_lipschitz")
def potential_over_the_run() -> Case:
    """128 steps from the minimiser with a wrong y^0: the sum of the squared gradients exceeds what the potential can pay."""
    from ...registry import get_theorem as theorem

    symbols = theorem("feddro.theorem_f_6").symbols("printed")
    path = _small_run(Q(0), _SCALE, _ETA, _BETA, _T + 1)
    points = path[: _T + 1]
    errors = [(y - _SCALE * x) ** 2 for x, y in points]
    left = _huber(points[-1][0]) + errors[-1] - _huber(points[0][0]) - errors[0]
    mean = sum((_clip(x) ** 2 for x, _ in points[:-1]), Q(0)) / _T
    return Case(
        {
            "name": "two equal clients, a flat inner map and a steep outer function",
            "parameters": {"start": 0, "y_start": _SCALE, "scale": _SCALE, "clients": 2},
        },
        _small_constants(*(n for n in _ALL if n in symbols)),
        {n: v for n, v in _HYPER.items() if n in symbols},
        left,
        {"equal clients: no drift": _never_apart(Q(0), _SCALE, _ETA, _BETA, _T)},
        {"gradient_sq": mean},
        picture=Picture((_clip,), (-2, 2), {"start, the minimiser": 0}),
        clients=_small_clients(Q(0), _SCALE),
    )


REFUTATIONS = (*declared_in(globals()), *declared_in(vars(long_rounds)))
