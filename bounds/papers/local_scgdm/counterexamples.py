"""Local-SCGDM: printed claims refuted by exact instances (see `bounds/audit/refutation.py` for what an entry is)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction as Q
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from ...audit.instance import Clients, Curve, Law, X, exact
from ...audit.picture import Picture
from ...audit.refutation import Case, declared_in, refutes
from . import instances as instances
from .composed import potential_weights
from .instances import ONE, Client, Instance, constant

_GRID = [Q(i, 4) for i in range(-64, 65)]
"""Holds every knot of the outer slopes, which are linear between them: Lipschitz constants on it are exact."""
_NO_NOISE = "there is no noise; the paper wants a positive bound"
_WHY = {
    "C_f": "bound of |f_k'|, read off its knots",
    "C_g": "bound of |g_k'|, a constant",
    "L_f": "largest slope of f_k' between its knots (any positive number where f_k' is constant)",
    "L_g": "g_k' is constant: every positive number is a Lipschitz constant",
    "F_gap": "F(x_0) - F(x_*) exactly; F is convex and F'(x_*) = 0",
}


def _outer(client: Client) -> Curve:
    """The outer function with its slope between the knots of the grid."""
    points = [(y, client.outer_slope(y)) for y in _GRID]
    kept = [b for a, b, c in zip(points, points[1:], points[2:], strict=False) if c[1] - b[1] != b[1] - a[1]]
    return Curve.with_slope([points[0], *kept, points[-1]], client.outer(Q(0)))


def _clients(case: Instance) -> Clients:
    """The functions of a noise-free instance with affine inner maps."""
    inner = [client.inner_slope(Q(0)) * X + client.inner(Q(0)) for client in case.clients]
    outer = tuple(Law.surely(_outer(client)) for client in case.clients)
    return Clients(case.start, outer, tuple(Law.surely(Curve.whole(expr)) for expr in inner))


def _same(case: Instance) -> bool:
    """Whether the functions on which assumptions are decided are those of the run, with their derivatives."""
    made = _clients(case)
    return all(
        (law.mean.at(y), law.mean.derivative.at(y)) == (exact(outer(y)), exact(slope(y)))
        for laws, functions in (
            (made.outer, [(client.outer, client.outer_slope) for client in case.clients]),
            (made.inner, [(client.inner, client.inner_slope) for client in case.clients]),
        )
        for law, (outer, slope) in zip(laws, functions, strict=True)
        for y in _GRID[::8]
    )


def _certified(case: Instance) -> dict[str, bool]:
    """Every constant of a noise-free instance with affine inner maps, checked on the knots."""
    c = case.constants
    clients = case.clients
    return {
        "|f_k'| <= C_f": all(abs(k.outer_slope(y)) <= c["C_f"] for k in clients for y in _GRID),
        "|g_k'| <= C_g": all(abs(k.inner_slope(x)) <= c["C_g"] for k in clients for x in _GRID),
        "f_k' is L_f-Lipschitz": all(
            abs(k.outer_slope(b) - k.outer_slope(a)) <= c["L_f"] * (b - a) for k in clients for a, b in pairwise(_GRID)
        ),
        "g_k is affine": all(k.inner(x) == k.inner(Q(0)) + x * k.inner_slope(x) for k in clients for x in _GRID),
        "F'(x_*) = 0": case.gradient(case.minimiser) == 0,
        "the assumptions are decided on the functions of the run": _same(case),
    }


def _parameters(case: Instance) -> dict[str, Any]:
    return {
        "clients": len(case.clients),
        "start": case.start,
        "minimiser": case.minimiser,
        "inner_slopes": [client.inner_slope(Q(0)) for client in case.clients],
        "inner_offsets": [client.inner(Q(0)) for client in case.clients],
        "outer_slopes_at_-2_0_2": [[client.outer_slope(Q(y)) for y in (-2, 0, 2)] for client in case.clients],
    }


def _picture(case: Instance) -> Picture | None:
    """The clients' objectives around the start and the minimiser; None where no client ever moves."""
    low, high = sorted((case.start, case.minimiser))
    reach = max(Q(2), high - low)
    ends = low - reach, high + reach
    slopes = tuple(lambda x, c=c: c.inner_slope(x) * c.outer_slope(c.inner(x)) for c in case.clients)
    if not any(slope(x) for slope in slopes for x in ends):
        return None
    marks = {"start": case.start, "minimiser": case.minimiser} if low != high else {"start, a minimiser": low}
    return Picture(slopes, ends, marks)


def _case(name: str, case: Instance, left: Q, facts: Mapping[str, bool] | None = None, **more: Any) -> Case:
    """A noise-free instance of a theorem; `schedule` leaves out what the corollary sets itself."""
    values = case.values()
    wanted = more.pop("symbols", None)
    constants = {n: (values[n], _WHY.get(n, _NO_NOISE)) for n in values if n not in (*case.hyper, "T")}
    hyper = {**case.hyper, "T": case.T}
    if wanted is not None:
        constants = {n: pair for n, pair in constants.items() if n in wanted}
    return Case(
        {"name": name, "parameters": _parameters(case)},
        constants,
        hyper,
        left,
        {**_certified(case), **(facts or {})},
        picture=_picture(case),
        clients=_clients(case),
        **more,
    )


@refutes("local_scgdm.theorem_3_4", "local_scgdm.heterogeneity")
def frozen() -> Case:
    """Two noiseless clients, f = Huber behind g_1 = x + 8 and g_2 = -x: the gradient is 1 at every step, the largest
    value that C_f C_g allows."""
    case = instances.FROZEN
    return _case("two clients with opposite inner maps", case, case.left())


@refutes("local_scgdm.corollary_3_5", "local_scgdm.rate")
def frozen_schedule() -> Case:
    """The same two clients on the schedule eta = T^(-1/2), p = T^(1/4): the gradient is 1 at every step."""
    case = instances.FROZEN
    on_schedule = case.hyper["eta"] ** 2 * case.T == 1 and case.hyper["p"] ** 4 == case.T
    return _case("two clients with opposite inner maps", case, case.left(), {"eta, p on the schedule": on_schedule})


@refutes("local_scgdm.theorem_3_4", "local_scgdm.equal_inner", variant="equal_inner")
def outer() -> Case:
    """Two noiseless clients behind the identity whose outer functions differ, three steps: the drift moves the mean."""
    case = instances.OUTER
    return _case("equal inner maps, different outer functions", case, case.left())


@refutes(
    "local_scgdm.theorem_3_4",
    "local_scgdm.one_sample",
    variant="one_sample",
    reading="one sample zeta_t serves f and g, as the box of Algorithm 1 prints",
    alternatives={
        "independent samples in f and g, as the two distributions of problem (1) and the proof have them": "not refuted"
    },
)
def one_sample() -> Case:
    """One client, zeta = +-1 in g and in f: every stochastic gradient at the start is 0, where F' = 1."""
    case = instances.SAME_SAMPLE
    values = case.values()
    why = {
        "C_f": "E|grad f|^2 = E(1 - zeta)^2 f'^2 <= 2",
        "C_g": "E|grad g|^2 = 1 + h'^2 <= 2",
        "L_f": "the mean outer function is Huber's",
        "L_g": "the mean inner function is the identity",
        "sigma_f": "variance f'^2 <= 1",
        "sigma_g": "variance h'^2 <= 1, as |1 - s| <= (1 + s)^2 for s >= 0",
        "delta_g": "|h| <= width/2 by the inequality of the means",
        "F_gap": "F is Huber's function",
    }
    grid = [Q(i, 1000) for i in range(-300, 301, 3)]
    facts = {
        "every stochastic gradient at the start is 0": set(case.directions()) == {0},
        "|h'| <= 1 and |h| <= width/2": all(
            abs(case.bump_slope(r)) <= 1 and abs(case.bump(r)) <= case.width / 2 for r in grid
        ),
        "C_f^2 >= 2 and C_g^2 >= 2": values["C_f"] ** 2 >= 2 and values["C_g"] ** 2 >= 2,
    }
    return Case(
        {
            "name": "one sample for all of line 4",
            "parameters": {"start": case.start, "width": case.width, "zeta": [1, -1]},
        },
        {n: (values[n], text) for n, text in why.items()},
        {**case.hyper, "T": case.T},
        case.left(),
        facts,
        picture=Picture((instances.clip,), (-2, 3), {"start": case.start, "minimiser": 0}),
        choice="one sample zeta_t in lines 3 to 8, as the box of Algorithm 1 prints; Lemma 4.1 calls the inner one xi",
    )


@refutes(
    "local_scgdm.theorem_3_4",
    "local_scgdm.letter_initial_inner",
    variant="initial_inner",
    slip="4 C_g^2 L_f^2 delta_g^2/(gamma eta T)",
)
def noisy_start() -> Case:
    """One client, g(x; xi) = x + delta xi with xi = +-1, f = Huber in its quadratic zone, start at the minimiser."""
    case = instances.NOISY_START
    values = case.values()
    left, largest = case.left()
    rounding = Q(1, 2**150)  # every truncation is 2^-240, and T^3 of them add up
    why = {
        "C_f": "|f'| <= 1 for Huber's function",
        "C_g": "g' = 1",
        "L_f": "f' has slopes 0 and 1",
        "L_g": "g' is constant: every positive number is a Lipschitz constant",
        "delta_g": "the standard deviation of delta xi",
        "F_gap": "the start is the minimiser; the paper wants a positive gap",
    }
    return Case(
        {"name": "one client with inner noise", "parameters": {"delta": case.delta, "bits": case.bits, "start": 0}},
        {
            **{n: (values[n], text) for n, text in why.items()},
            "sigma_f": (values["sigma_f"], _NO_NOISE),
            "sigma_g": (values["sigma_g"], _NO_NOISE),
        },
        {**case.hyper, "T": case.T},
        (left - rounding, left + rounding),
        {"|u_t| < 1 on every path, so that f' is linear there": largest + rounding < 1},
        picture=Picture((instances.clip,), (-2, 2), {"start, the minimiser": 0}),
    )


# --- lemmas at a communication, and for clients that differ ----------------------------------------------------------

_APART = Instance(
    tuple(Client(constant(v), constant(Q(0)), constant(Q(0)), constant(Q(0))) for v in (ONE, -ONE)),
    Q(0),
    Q(0),
    {"alpha": ONE, "beta": Q(1, 100), "gamma": ONE, "eta": Q(1, 2), "p": 2},
    {"C_f": ONE, "C_g": ONE, "L_f": Q(1, 1000), "L_g": Q(1, 1000)},
    2,
)
"""f = 0 behind the constants g_1 = 1 and g_2 = -1: no client ever moves."""


def _lemma(name: str, claim: str, case: Instance, left: Q, observables: Mapping[str, Q], **more: Any) -> Case:
    """An instance of a lemma: only the symbols that the lemma has."""
    from ...registry import get_theorem as theorem

    symbols = theorem(claim).symbols("printed")
    made = _case(name, case, left, symbols=symbols, observables=dict(observables), **more)
    hyper = {n: v for n, v in made.hyperparameters.items() if n in (*symbols, "p", "T", "eta")}
    return replace(made, hyperparameters=hyper)


def _mean(values: Any) -> Q:
    listed = list(values)
    return sum(listed, Q(0)) / len(listed)


@refutes("local_scgdm.lemma_4_2", "local_scgdm.lemma_4_2_communication")
def inner_estimate_at_communication() -> Case:
    """g_1 = 1, g_2 = -1, f = 0: u is exact before the communication at t + 1 = 2 and 0 after it, an error of 1."""
    case = _APART
    (x_0, _, _), (x_1, u_1, m_1), (_, u_2, _) = case.trace(2)
    inner = [client.inner for client in case.clients]
    before = _mean((u - g(x)) ** 2 for u, g, x in zip(u_1, inner, x_0, strict=True))
    after = _mean((u - g(x)) ** 2 for u, g, x in zip(u_2, inner, x_1, strict=True))
    seen = {"inner_error": before, "momentum_sq": _mean(m * m for m in m_1)}
    return _lemma("constant inner maps", "local_scgdm.lemma_4_2", case, after, seen)


@refutes("local_scgdm.lemma_4_1", "local_scgdm.lemma_4_1_communication")
def momentum_at_communication() -> Case:
    """f_1 = y, f_2 = -y behind the identity: m_k is exact before the communication at t + 1 = 2 and 0 after it."""
    case = instances.OPPOSED
    _, (x_1, _, m_1), (_, u_2, m_2) = case.trace(2)
    slopes = [client.outer_slope(Q(0)) for client in case.clients]
    seen = {
        "momentum_error": _mean((m - s) ** 2 for m, s in zip(m_1, slopes, strict=True)),
        "next_inner_error": _mean((u - x) ** 2 for u, x in zip(u_2, x_1, strict=True)),
        "momentum_sq": _mean(m * m for m in m_1),
    }
    left = _mean((m - s) ** 2 for m, s in zip(m_2, slopes, strict=True))
    return _lemma("opposed linear clients", "local_scgdm.lemma_4_1", case, left, seen)


@refutes("local_scgdm.lemma_4_3", "local_scgdm.lemma_a_2_heterogeneity")
def client_drift() -> Case:
    """f_1 = y, f_2 = -y behind the identity, p = T = 2: after one step the clients are 2 beta eta apart."""
    case = instances.OPPOSED
    left = _mean(_mean((x - _mean(models)) ** 2 for x in models) for models in case.run(case.T - 1))
    return _lemma("opposed linear clients", "local_scgdm.lemma_4_3", case, left, {})


@refutes("local_scgdm.lemma_a_1", "local_scgdm.lemma_a_1_heterogeneity")
def inner_spread() -> Case:
    """g_1 = 1, g_2 = -1, one model: over the period t = 2, 3 the inner estimates drift apart without noise or drift."""
    case = _APART
    path = case.trace(3)[2:]
    left = sum((_mean((u - _mean(us)) ** 2 for u in us) for _, us, _ in path), Q(0))
    moved = sum((_mean((x - _mean(xs)) ** 2 for x in xs) for xs, _, _ in path), Q(0))
    return _lemma("constant inner maps", "local_scgdm.lemma_a_1", case, left, {"consensus_sum": moved})


@refutes("local_scgdm.lemma_a_2", "local_scgdm.lemma_a_2_heterogeneity")
def gradient_spread() -> Case:
    """f_1 = y, f_2 = -y behind the identity at one common point: the stochastic gradients are 1 and -1."""
    case = instances.OPPOSED
    slopes = [client.inner_slope(case.start) * client.outer_slope(case.start) for client in case.clients]
    left = _mean((z - _mean(slopes)) ** 2 for z in slopes)
    seen = {"inner_consensus": Q(0), "consensus_error": Q(0)}
    return _lemma("opposed linear clients", "local_scgdm.lemma_a_2", case, left, seen)


@refutes("local_scgdm.descent", "local_scgdm.descent")
def descent() -> Case:
    """F_1 = x, F_2 = -x, exact momenta: (15) claims a descent of beta eta/4 for F = 0."""
    case = instances.OPPOSED
    (x_0, _, _), (x_1, _, m_1) = case.trace(1)
    slopes = [client.outer_slope(Q(0)) for client in case.clients]
    seen = {
        "gradient_sq": case.gradient(_mean(x_0)) ** 2,
        "momentum_sq": _mean(m * m for m in m_1),
        "momentum_error": _mean((m - s) ** 2 for m, s in zip(m_1, slopes, strict=True)),
        "consensus_error": _mean((x - _mean(x_0)) ** 2 for x in x_0),
    }
    left = case.objective(_mean(x_1)) - case.objective(_mean(x_0))
    return _lemma("opposed linear clients", "local_scgdm.descent", case, left, seen)


def _potential(claim: str) -> Case:
    """P_1 - P_0 of (14) for g_1 = 1, g_2 = -1, f = 0: u is exact at t = 0 and averaged at the communication t + 1 = 2."""
    from ...registry import get_theorem as theorem

    case = replace(_APART, constants={**_APART.constants, "L_f": ONE})
    weight_m, weight_u = potential_weights(SimpleNamespace(**case.constants, **case.hyper))

    def value(models: list[Q], estimates: list[Q], momenta: list[Q]) -> Q:
        each = list(zip(case.clients, models, estimates, momenta, strict=True))
        outer = _mean((m - c.inner_slope(x) * c.outer_slope(c.inner(x))) ** 2 for c, x, _, m in each)
        inner = _mean((u - c.inner(x)) ** 2 for c, x, u, _ in each)
        return case.objective(_mean(models)) + weight_m * outer + weight_u * inner

    (x_0, _, _), (x_1, u_1, m_1), (_, u_2, m_2) = case.trace(2)
    seen = {
        "gradient_sq": case.gradient(_mean(x_0)) ** 2,
        "momentum_sq": _mean(m * m for m in m_1),
        "consensus_error": _mean((x - _mean(x_0)) ** 2 for x in x_0),
    }
    observables = {name: seen[name] for name in theorem(claim).symbols("printed") if name in seen}
    return _lemma("constant inner maps", claim, case, value(x_1, u_2, m_2) - value(x_0, u_1, m_1), observables)


@refutes("local_scgdm.potential_step", "local_scgdm.lemma_4_2_communication")
def potential_step() -> Case:
    """g_1 = 1, g_2 = -1, f = 0: the communication at t + 1 = 2 raises the potential by 2 beta C_g^2 L_f^2/gamma."""
    return _potential("local_scgdm.potential_step")


@refutes("local_scgdm.potential", "local_scgdm.lemma_4_2_communication")
def potential() -> Case:
    """g_1 = 1, g_2 = -1, f = 0: the communication at t + 1 = 2 raises the potential, which (17) says cannot rise."""
    return _potential("local_scgdm.potential")


REFUTATIONS = declared_in(globals())
