"""Meta FL: printed claims refuted by exact instances (see `bounds/audit/refutation.py` for what an entry is)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...audit.instance import Clients, Curve, Law
from ...audit.picture import Picture, affine
from ...audit.refutation import Case, Ends, declared_in, refutes
from ...evaluation.enclosure import ends
from ...language.bounding import UNIFORM_SET
from . import instances as cases
from .instances import Q, TwoSided, far_apart, fraction, two_sided, values_of

_BITS = 400
_WHY = {
    "B": "largest |f_i'|: the spline's turning points and limits, plus the shift",
    "L": "largest |f_i''|, at the knots of a piecewise linear function",
    "rho": "largest slope of f_i'' between its knots",
    "gamma_G": "the clients differ by the constants +-shift in f_i'",
    "gamma_H": "all clients have one Hessian",
    "F_gap": "an upper bound of F(w_0) - inf F, from the minima of the clients",
}
MEAN = "f of Assumption 5 is the mean of the f_i, as in (1), where the line before (18) prints their sum"
SUM = {
    "Assumption 5 with f the sum of the f_i, as the line before (18) prints, for their mean as in (1)": "not refuted"
}
_NO_NOISE = "the oracles are exact"


def _certificates(known: Mapping[str, Any], *names: str) -> dict[str, tuple[Any, str]]:
    return {name: (known[name], _WHY.get(name, _NO_NOISE)) for name in names}


def second_moments(case: TwoSided, beta: Q, tau: int, rounds: int) -> Ends:
    """Theorem 8's average on two quadratics of which a fair coin picks one per round, enclosed.

    With rho = 1 - beta a, q = rho^tau: w_{k+1} = q w_k + (1 - q) s_i and wbar_{k+1,t} = rho^t w_k + (1 - rho^t) s_i, so
    that E w_k^2 = s^2 (1 - q)/(1 + q) (1 - q^{2k}), and every sum over k and t is geometric.
    """
    from flint import arb, ctx

    saved, ctx.prec = ctx.prec, _BITS
    try:

        def ball(number: Any) -> Any:
            number = Q(number)
            return arb(number.numerator) / arb(number.denominator)

        rho = ball(1 - beta * case.curvature)
        q = rho**tau
        kept = (1 - q**2) / (1 - rho**2)
        added = tau - 2 * (1 - q) / (1 - rho) + kept
        squares = (1 - q) / (1 + q) * (rounds - (1 - q ** (2 * rounds)) / (1 - q**2))
        mean = ball(case.shift) ** 2 * (kept * squares + added * rounds) / (tau * rounds)
        value = ball(case.curvature) ** 2 * mean
        return ends(value).pair
    finally:
        ctx.prec = saved


_ZERO = ("sigma_G", "sigma_H", "kappa_G", "kappa_H", "gamma_H")
_CONSTANTS = ("B", "L", "rho", "sigma_G", "sigma_H", "kappa_G", "kappa_H", "gamma_G", "gamma_H", "F_gap")


def _two_sided_case(
    name: str,
    case: TwoSided,
    c: int,
    beta: Q,
    tau: int,
    rounds: int,
    gap: Q | int = 0,
    checked: Mapping[str, bool] | None = None,
    clients: Clients | None = None,
    **more: Any,
) -> Case:
    from ...registry import get_theorem as theorem

    symbols = theorem(name).symbols("printed")
    known = {**case.constants, "F_gap": gap}
    hyper = {
        "alpha": case.alpha,
        "nu": case.nu,
        "beta": beta,
        "tau": tau,
        "K": rounds,
        "r": Q(1, 2),
        "n": 2,
        "D": 1,
        "D_H": 1,
        "c": c,
    }
    facts = {"F_i is the stated quadratic on [-shift, shift], where every iterate stays": 0 < beta * case.curvature < 1}
    return Case(
        {
            "name": "two clients phi -+ shift w with one in two taking part",
            "parameters": {"shift": case.shift, "curvature": case.curvature, "start": 0, "clients": 2},
        },
        _certificates(known, *(n for n in _CONSTANTS if n in symbols)),
        {n: v for n, v in {**hyper, **more}.items() if n in symbols},
        second_moments(case, beta, tau, rounds),
        {**facts, **(checked or {})},
        clients=clients,
        picture=Picture(
            tuple(affine(case.curvature, -case.curvature * s) for s in (case.shift, -case.shift)),
            (-case.shift, case.shift),
            {"start, the minimiser": 0},
            variable="w",
        ),
        choice=f"the constant hidden in O(.) is taken as c = {c}; the bound grows with c, so every smaller one is refuted "
        "too, and a longer round or a larger alpha refutes any other",
    )


def _long_rounds(name: str, nu: int, c: int, **more: Any) -> Case:
    case = two_sided(nu, Q(1, 10))
    beta, tau, rounds = case.long_rounds(c)
    low, high = second_moments(case, Q(1, 100), 2, 3)
    checked = {
        "the closed form is Algorithm 1 over all choices of clients (two steps, three rounds)": (
            low <= case.run(Q(1, 100), 2, 3) <= high
        )
    }
    return _two_sided_case(name, case, c, beta, tau, rounds, checked=checked, clients=_clients(case), **more)


def _clients(case: TwoSided) -> Clients:
    """The functions phi -+ shift w, which every assumption is decided on."""
    return Clients(
        Q(0),
        local=tuple(Law.surely(Curve.with_curvature(case.phi.knots, slope)) for slope in (-case.shift, case.shift)),
        gap=lambda number: number >= 0 and case.starts_at_the_minimum(),
        by_construction={UNIFORM_SET: "a fair coin picks one of the two clients afresh in every round"},
        derivatives=2,
    )


@refutes("meta_fl.theorem_8", "meta_fl.theorem_8_sampling")
def sampling() -> Case:
    """Two noiseless quadratic clients of which one takes part, nu = 1, start at the minimiser, and a hidden constant of a
    million: the tau steps of a round add up in one direction."""
    return _long_rounds("meta_fl.theorem_8", 1, 10**6)


@refutes("meta_fl.theorem_8", "meta_fl.theorem_8_sampling", variant="two_steps")
def sampling_two() -> Case:
    """The same with two fine-tuning steps."""
    return _long_rounds("meta_fl.theorem_8", 2, 10**6)


@refutes("meta_fl.theorem_8_HF", "meta_fl.theorem_8_HF_sampling")
def sampling_hessian_free() -> Case:
    """The same with central differences, exact on quadratics, of a width that makes the printed bias negligible."""
    c = 1000
    return _long_rounds("meta_fl.theorem_8_HF", 1, c, delta=Q(1, (1000 * c) ** 3))


@refutes(
    "meta_fl.theorem_8",
    "meta_fl.theorem_8_heterogeneity",
    variant="heterogeneity",
    reading=MEAN,
    alternatives={"Assumption 5 with f the sum of the f_i": "undecided"},
)
def heterogeneity() -> Case:
    """Two quadratic clients far from each other, alpha L = 10^4, two fine-tuning steps, one local step: Lemma 7's
    constant is too small by the factor (alpha L)^2."""
    case, beta, rounds, gap = far_apart(10**4)
    return _two_sided_case("meta_fl.theorem_8", case, 1000, beta, 1, rounds, gap)


def _spline_picture(group: list[cases.Client], marks: Mapping[str, Q | int]) -> Picture:
    """The clients' own functions f_i over all the knots of their Hessian."""
    knots = [x for x, _ in group[0].phi.knots]
    ends = min(knots) - 1, max(*knots, Q(1)) + 1
    return Picture(tuple(client.f1 for client in group), ends, marks, tuple(knots), "w")


# --- every client takes part -----------------------------------------------------------------------------------------


def _stepped_hill(eps: Q, alpha: int = 4) -> list[cases.Client]:
    """Two clients phi +- eps w, phi'(0) = 1, phi'' = 0 near 0, a hill of height 1 on the way.

    In one fine-tuning step from 0 they reach -alpha (1 +- eps): the first the middle of the hill's right flank, where
    1 - alpha phi'' = -1 and phi''' < 0; the second flat ground behind it, where 1 - alpha phi'' = 1. So F_1'(0) is close to
    -1, F_2'(0) to 1 and only F_1 is curved, although f_1' and f_2' differ by 2 eps everywhere.
    """
    e, base = alpha * eps, Q(-alpha)
    hill = [(base - 4 * e, 0), (base - 2 * e, 1), (base, 0)]
    far = [(base * 3 - 3, 0), (base * 3 - 2, 1), (base * 3 - 1, 1), (base * 3, 0)]
    return cases.opposed(cases.spline(*far, *hill, slope=1), eps)


@refutes(
    "meta_fl.theorem_8",
    "meta_fl.full_participation",
    variant="full_participation",
    reading=MEAN,
    alternatives={"Assumption 5 with f the sum of the f_i": "undecided"},
)
def full_participation() -> Case:
    """Two noiseless clients that both take part in every round, nu = tau = 2, alpha = 4/L: the local steps leave a bias that
    Lemma 7's constant does not see, for a hidden constant of a million."""
    eps, alpha, nu, tau, c, rounds = Q(1, 10**9), 4, 2, 2, 10**6, 10**60
    group = _stepped_hill(eps)
    known = {
        **cases.certificate(group),
        "gamma_G": eps,
        **dict.fromkeys(_ZERO, 0),
        "alpha": alpha,
        "nu": nu,
        "D": 1,
        "D_H": 1,
    }
    smooth = fraction(values_of("lemma_4", "printed", known)["L_F"])
    beta = 1 / (10 * tau * smooth)

    def gradients(points: list[Q]) -> list[Q]:
        return [client.meta_gradient(w, nu, Q(alpha)) for client, w in zip(group, points, strict=True)]

    def moved(w: Q) -> Q:
        """What a round moves the average by, per 2 beta: the map of a round is w - 2 beta moved(w)."""
        first = gradients([w, w])
        second = gradients([w - beta * g for g in first])
        return sum(first + second, Q(0)) / 4

    width = Q(1, 2**160)
    low, high = -eps * alpha / 2, eps * alpha / 2
    while high - low > width:  # bisection to an interval that a round maps into itself
        middle = Q(round((low + high) / 2 * 2**200), 2**200)
        low, high = (low, middle) if moved(middle) > 0 else (middle, high)
    at_low, play = abs(sum(gradients([low, low]), Q(0)) / 2), smooth * (high - low)
    least, most = ((at_low + side * play) ** 2 * (1 + side * beta * smooth) ** 2 for side in (-1, 1))
    steepest: Q = cases.certificate(group)["B"]
    gap = steepest * (16 * alpha)  # F(w) - inf F <= mean of f_i(w_nu) - min f_i, and |f_i'| <= B
    reach = [client.path(low, nu, Q(alpha))[-1] for client in group]
    facts = {
        "gamma_G^2 is the mean squared shift": known["gamma_G_sq"] == eps**2,
        "a round of two steps maps the interval into itself": moved(low) < 0 < moved(high) and 4 * beta * smooth < 1,
        "the gradient does not vanish on it": at_low > play,
        "every f_i is convex with its minimiser within 16 alpha to the left": min(y for _, y in group[0].phi.knots) >= 0
        and all(
            client.f1(point - 16 * alpha) < 0 < client.f1(point) for client, point in zip(group, reach, strict=True)
        ),
    }
    return Case(
        {
            "name": "two clients with one common hill",
            "parameters": {
                "knots_of_the_Hessian": [list(knot) for knot in group[0].phi.knots],
                "slope": 1,
                "shifts": [client.shift for client in group],
                "start": low,
                "end_of_the_interval": high,
            },
        },
        _certificates({**known, "F_gap": gap}, *_CONSTANTS),
        {"alpha": alpha, "nu": nu, "beta": beta, "tau": tau, "K": rounds, "r": 1, "n": 2, "D": 1, "D_H": 1, "c": c},
        (least, most),
        facts,
        picture=_spline_picture(group, {"start": low}),
        choice=f"the constant hidden in O(.) is taken as c = {c}; as the shift goes to 0 every constant is refuted. No upper limit "
        "on alpha is stated",
    )


REFUTATIONS = declared_in(globals())
