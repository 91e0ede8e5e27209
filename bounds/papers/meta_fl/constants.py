"""meta_fl (Jamali, Saber, Bae): its constants as the recursions that the appendices state, for any batch sizes.

Every constant is called as `constant(s, nu)`, with s a namespace of the paper's symbols. Batch sizes in s are one
number, or a
list: D = [D_0, ..., D_nu] for gradients, D_H = [D'_0, ..., D'_(nu-1)] for Hessians.

    >>> from fedco.bounds.papers.meta_fl import constants
    >>> constants.h(constants.at(alpha="1/10", L=1, sigma_G=1, D=[4, 9, 16]), 2)
    53/600

Names: h, h2, h4 bound the first, second and fourth moment of the path error (the paper's h, h', h''), d, d4 those
    of the product of Hessian factors (d, d'), p, p2 and q the parts of the Hessian-free error (p, p', q); c, t and
    g are the paper's. `one_*` are the sums that the paper prints, `corrected_*` the corrected constants of
    docs/theory/meta_fl.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import sympy as sp

from ...language.reading import InputError, read_number
from ...language.recursion import Geometric, Nested, entry, least, recursion, root, stepwise


def at(**values: Any) -> SimpleNamespace:
    """Exact numbers for the constants below; a batch size may be a list, one entry per step.

    Raises:
        InputError: not a number.
    """

    def read(name: str, value: Any) -> Any:
        if name.startswith("D") and not isinstance(value, (list, tuple, sp.Basic)) and read_number(name, value) <= 0:
            raise InputError(f"{name}: wanted the size of a batch, got {value}")
        if isinstance(value, (list, tuple)):
            return [read(f"{name}_{j}", part) for j, part in enumerate(value)]
        return value if isinstance(value, sp.Basic) else sp.Rational(read_number(name, value))

    return SimpleNamespace(**{name: read(name, value) for name, value in values.items()})


def growth(s: SimpleNamespace) -> Any:
    """1 + alpha L, by which one fine-tuning step may magnify a distance."""
    return 1 + s.alpha * s.L


def fourth(kappa: Any, sigma: Any, size: Any) -> Any:
    """Lemma 12, (68) and (69): the fourth moment of the mean of `size` samples."""
    return (kappa + 3 * (size - 1) * sigma**4) / size**3


# --- the recursions --------------------------------------------------------------------------------------------------


@recursion("(63)")
def c(nu: int, alpha: Any, L: Any, rho: Any) -> Any:
    """(60), (63): Lipschitz constant of the product of Hessian factors; c_1 = alpha rho, and 0 for no factor."""
    A, value = 1 + alpha * L, 0 * alpha
    for l in range(1, nu + 1):
        value = alpha * rho if l == 1 else A * (value + alpha * rho * A ** (2 * l - 3))
    return value


@recursion("(77)")
def h(nu: int, alpha: Any, L: Any, sigma_G: Any, D: Any) -> Any:
    """(76), (77): bound of E||w~_nu - w_nu||."""
    value = 0 * alpha
    for l in range(nu):
        value = (1 + alpha * L) * value + alpha * sigma_G / root(entry(D, l))
    return value


@recursion("(82)")
def h2(nu: int, alpha: Any, L: Any, sigma_G: Any, D: Any) -> Any:
    """(81), (82): bound of E||w~_nu - w_nu||^2; 0 for no step, which (40) needs and (84) does not give."""
    value = 0 * alpha
    for l in range(nu):
        noise = alpha**2 * sigma_G**2 / entry(D, l)
        value = noise if l == 0 else 2 * (1 + alpha**2 * L**2) * value + 2 * noise
    return value


@recursion("(86)")
def h4(nu: int, alpha: Any, L: Any, sigma_G: Any, kappa_G: Any, D: Any) -> Any:
    """(85), (86): bound of E||w~_nu - w_nu||^4; 0 for no step."""
    value = 0 * alpha
    for l in range(nu):
        noise = alpha**4 * fourth(kappa_G, sigma_G, entry(D, l))
        value = noise if l == 0 else 8 * (1 + 8 * alpha**4 * L**4) * value + 64 * noise
    return value


@recursion("(103)")
def t(nu: int, alpha: Any, L: Any, rho: Any, sigma_G: Any, D: Any) -> Any:
    """(102), (103): bound of E||B - B(w)|| for the product of the exact Hessian factors along the noisy path."""
    A, value, path = 1 + alpha * L, 0 * alpha, 0 * alpha
    for l in range(1, nu):
        path = A * path + alpha * sigma_G / root(entry(D, l - 1))
        value = A * value + alpha * rho * A**l * path
    return value


@recursion("(25)", lazy=True)
def d(nu: int, alpha: Any, L: Any, rho: Any, sigma_G: Any, sigma_H: Any, D: Any, D_H: Any) -> Any:
    """(25), (107): bound of E||B~ - B||^2 for the product of the Hessian estimates; d_1 = alpha^2 sigma_H^2/D'_0."""
    A, value = 1 + alpha * L, 0 * alpha
    for l in range(nu):
        noise = sigma_H**2 / entry(D_H, l)
        forcing = alpha**2 * A ** (2 * l) * (noise + rho**2 * h2.rule(l, alpha, L, sigma_G, D))
        value = forcing if l == 0 else 2 * value * (A + alpha * sigma_H / root(entry(D_H, l))) ** 2 + 2 * forcing
    return value


@recursion("(26)")
def d4(
    nu: int, alpha: Any, L: Any, rho: Any, sigma_G: Any, sigma_H: Any, kappa_G: Any, kappa_H: Any, D: Any, D_H: Any
) -> Any:
    """(26), (115): bound of E||B~ - B||^4; d'_1 = alpha^4 times Lemma 12."""
    A, value = 1 + alpha * L, 0 * alpha
    for l in range(nu):
        noise = fourth(kappa_H, sigma_H, entry(D_H, l))
        forcing = alpha**4 * A ** (4 * l) * (rho**4 * h4.rule(l, alpha, L, sigma_G, kappa_G, D) + noise)
        value = forcing if l == 0 else 64 * value * (A**4 + alpha**4 * noise) + 64 * forcing
    return value


@recursion("(138)")
def g(nu: int, alpha: Any, L: Any, gamma_H: Any) -> Any:
    """(135), (138): what Lemma 7 takes for (1/N) sum ||product of Hessian factors of f_i - that of f||^2."""
    A, value = 1 + alpha * L, 0 * alpha
    for l in range(nu):
        forcing = alpha**2 * A ** (2 * l) * gamma_H**2
        value = forcing if l == 0 else 2 * forcing + 2 * A**2 * value
    return value


@recursion("(39)")
def p(nu: int, alpha: Any, L: Any, sigma_G: Any, delta: Any, D: Any, D_H: Any) -> Any:
    """(39), (162): bound of the mean error of the Hessian-free direction against its noiseless form."""
    value = sigma_G / root(entry(D, nu)) + L * h.rule(nu, alpha, L, sigma_G, D)
    for l in reversed(range(nu)):
        noise = sigma_G / root(entry(D_H, l)) + L * h.rule(l, alpha, L, sigma_G, D)
        value = (1 + alpha * L) * value + alpha / delta * noise
    return value


@recursion("(40)")
def p2(nu: int, alpha: Any, L: Any, sigma_G: Any, delta: Any, D: Any, D_H: Any) -> Any:
    """(40), (151): the same for the second moment."""
    value = sigma_G**2 / entry(D, nu) + L**2 * h2.rule(nu, alpha, L, sigma_G, D)
    for l in reversed(range(nu)):
        noise = sigma_G**2 / entry(D_H, l) + 2 * L**2 * h2.rule(l, alpha, L, sigma_G, D)
        value = 3 * value * (1 + alpha**2 * L**2) + 3 * alpha**2 / (2 * delta**2) * noise
    return value


@recursion("(159)")
def q(nu: int, alpha: Any, B: Any, L: Any, rho: Any, delta: Any) -> Any:
    """(156), (159): error of the noiseless Hessian-free direction."""
    A, value = 1 + alpha * L, 0 * alpha
    for l in range(nu):
        value = A * value + alpha * rho * delta * B**2 * A ** (2 * l)
    return value


# --- the sums that the paper prints, for one batch size and a symbolic number of steps ------------------------------------


def one_h(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """(20) with D_0 = ... = D."""
    return s.alpha * s.sigma_G / sp.sqrt(s.D) * Geometric(nu, growth(s))


def one_h2(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """(21) with D_0 = ... = D."""
    ratio = 2 + 2 * s.alpha**2 * s.L**2
    return s.alpha**2 * s.sigma_G**2 / s.D * (ratio ** (nu - 1) + 2 * Geometric(nu - 1, ratio))


def one_h4(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """(22) with D_0 = ... = D."""
    ratio = 8 + 64 * s.alpha**4 * s.L**4
    return s.alpha**4 * fourth(s.kappa_G, s.sigma_G, s.D) * (ratio ** (nu - 1) + 64 * Geometric(nu - 1, ratio))


def one_h_sum(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """h_1 + ... + h_(nu-1) with D_0 = ... = D."""
    return s.alpha * s.sigma_G / sp.sqrt(s.D) * Nested(nu, growth(s))


def one_g(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """(28)."""
    count = sp.Integer(2) ** (nu - 1) + 2 * Geometric(nu - 1, 2)
    return s.alpha**2 * s.gamma_H**2 * growth(s) ** (2 * nu - 2) * count


def one_q(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """(41)."""
    return s.alpha * s.rho * s.delta * s.B**2 * growth(s) ** (nu - 1) * Geometric(nu, growth(s))


# --- the constants of Theorem 8, assembled from the parts; D_nu is the last gradient batch ----------------------------


def smoothness(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """L_F of (19), (66)."""
    A = growth(s)
    return s.L * A ** (2 * nu) + s.B * s.alpha * s.rho * A ** (nu - 1) * Geometric(nu, A)


def bias(s: SimpleNamespace, nu: Any, h_nu: Any, h_sum: Any, h2_nu: Any, d_nu: Any) -> sp.Expr:
    """mu_F of (23)."""
    A, D_nu = growth(s), entry(s.D, nu)
    mixed = sp.sqrt(d_nu * (s.sigma_G**2 / D_nu + s.L**2 * h2_nu))
    along = s.B * s.alpha * s.rho * A ** (nu - 1) * h_sum
    return A**nu * (s.sigma_G / sp.sqrt(D_nu) + s.L * h_nu) + along + mixed


def one_bias(s: SimpleNamespace, nu: Any, h_nu: Any, h2_nu: Any, d_nu: Any) -> sp.Expr:
    """mu_F of (23) with D_0 = ... = D."""
    return bias(s, nu, h_nu, one_h_sum(s, nu), h2_nu, d_nu)


def deviation(s: SimpleNamespace, nu: Any, h2_nu: Any, h4_nu: Any, d_nu: Any, d4_nu: Any) -> sp.Expr:
    """sigma_F, the root of (24)."""
    D_nu = entry(s.D, nu)
    cross = sp.sqrt(2 * d4_nu * (fourth(s.kappa_G, s.sigma_G, D_nu) + s.L**4 * h4_nu))
    square = 3 * growth(s) ** (2 * nu) * (s.sigma_G**2 / D_nu + s.L**2 * h2_nu) + 3 * s.B**2 * d_nu + 6 * cross
    return sp.sqrt(square)


def heterogeneity(s: SimpleNamespace, nu: Any, g_nu: Any) -> sp.Expr:
    """gamma_F, the root of (27)."""
    return sp.sqrt(15 * s.B**2 * g_nu + 6 * s.gamma_G**2 * growth(s) ** (2 * nu) * (1 + s.alpha**2 * s.L**2))


def bias_first_order(s: SimpleNamespace, nu: Any, h_nu: Any) -> sp.Expr:
    """mu_F of (32)."""
    return s.sigma_G / sp.sqrt(entry(s.D, nu)) + s.L * h_nu + s.B * (growth(s) ** nu + 1)


def deviation_first_order(s: SimpleNamespace, nu: Any, h2_nu: Any) -> sp.Expr:
    """sigma_F, the root of (33)."""
    square = 2 * s.sigma_G**2 / entry(s.D, nu) + 2 * s.L**2 * h2_nu + 2 * s.B**2 * (growth(s) ** nu + 1) ** 2
    return sp.sqrt(square)


Formula = Callable[[SimpleNamespace, Any, SimpleNamespace], sp.Expr]
"""(symbols, nu, the constants before it) -> a constant."""


def _path_sum(s: SimpleNamespace, nu: int) -> sp.Expr:
    return sum((h(s, j) for j in range(1, nu)), sp.Integer(0))


PRINTED: Mapping[str, Formula] = {
    "L_F": lambda s, nu, of: s.L * growth(s) ** (2 * nu) + s.B * c(s, nu),
    "h_nu": lambda s, nu, of: h(s, nu),
    "h2_nu": lambda s, nu, of: h2(s, nu),
    "h4_nu": lambda s, nu, of: h4(s, nu),
    "mu_F": lambda s, nu, of: bias(s, nu, of.h_nu, _path_sum(s, nu), of.h2_nu, d(s, nu)),
    "sigma_F": lambda s, nu, of: deviation(s, nu, of.h2_nu, of.h4_nu, d(s, nu), d4(s, nu)),
    "gamma_F": lambda s, nu, of: heterogeneity(s, nu, g(s, nu)),
    "mu_F_FO": lambda s, nu, of: bias_first_order(s, nu, of.h_nu),
    "sigma_F_FO": lambda s, nu, of: deviation_first_order(s, nu, of.h2_nu),
    "mu_F_HF": lambda s, nu, of: p(s, nu) + q(s, nu),
    "sigma_F_HF": lambda s, nu, of: sp.sqrt(2 * p2(s, nu) + 2 * q(s, nu) ** 2),
}
"""The constants of Lemmas 4 to 7, 10 and 11 from the recursions."""


def _made(formulas: Mapping[str, Formula], s: SimpleNamespace, nu: int) -> dict[str, sp.Expr]:
    """What can be made: a constant that needs a symbol which the namespace lacks is left out."""
    made = SimpleNamespace()
    for name, formula in formulas.items():
        with suppress(AttributeError):
            setattr(made, name, formula(s, nu, made))
    return vars(made)


def printed(s: SimpleNamespace, nu: int) -> dict[str, sp.Expr]:
    """Every constant of `PRINTED`, for batch sizes that may differ from step to step.

    Args:
        s: alpha, L and whatever the wanted constants need, for instance from `at`; what is missing is left out.
        nu: the number of fine-tuning steps.
    """
    return _made(PRINTED, s, nu)


# --- the corrected constants: steps M2 to M6 of part I of docs/theory/meta_fl.md ------------------------------------------------
# They hold for nu >= 0, need no fourth moment and only the spectral norm of a Hessian, and are at most the printed ones (gamma_F
# apart, where the printed one is too small). For one batch size the kernel checks them; for sizes that differ from step to step
# they are argued in docs/theory/meta_fl.md, and tested with all outcomes of small batches.


def _h2_after(value: Any, alpha: Any, L: Any, sigma_G: Any, D: Any) -> tuple[Any]:
    return ((1 + alpha * L) ** 2 * value + alpha**2 * sigma_G**2 / D,)


corrected_h2 = stepwise("h2", "(M2)", lambda alpha, L, sigma_G, D: (0 * alpha,), _h2_after)
"""Step M2: E||w~_nu - w_nu||^2; the noise is orthogonal to the past, so that squares add."""


def _h_sum_after(total: Any, value: Any, alpha: Any, L: Any, sigma_G: Any, D: Any) -> tuple[Any, Any]:
    return (total + root(value), *_h2_after(value, alpha, L, sigma_G, D))


corrected_h_sum = stepwise(
    "h_sum", "(M2)", lambda alpha, L, sigma_G, D: (0 * alpha, 0 * alpha), _h_sum_after, lazy=True
)
"""h_0 + h_1 + ... + h_(nu-1), h being the root of h2, and h_0 = 0."""


def _v_start(
    path: Any, alpha: Any, B: Any, L: Any, rho: Any, sigma_G: Any, sigma_H: Any, D: Any, D_H: Any
) -> tuple[Any, Any, Any]:
    return sigma_G**2 / D + L**2 * path, B**2 + sigma_G**2 / D, 1 + 0 * alpha


def _v_after(
    path: Any,
    value: Any,
    size: Any,
    power: Any,
    alpha: Any,
    B: Any,
    L: Any,
    rho: Any,
    sigma_G: Any,
    sigma_H: Any,
    D: Any,
    D_H: Any,
) -> tuple[Any, Any, Any]:
    return _back(path, value, size, power, alpha**2 * sigma_H**2 / D_H * size, alpha, B, L, rho)


def _back(
    path: Any, value: Any, size: Any, power: Any, noise: Any, alpha: Any, B: Any, L: Any, rho: Any
) -> tuple[Any, Any, Any]:
    """One factor of the gradient through the path, whose noise has this second moment."""
    A = 1 + alpha * L
    carried = (A * root(value) + alpha * rho * B * power * root(path)) ** 2
    return carried + noise, A**2 * size + noise, A * power


corrected_v = stepwise("v", "(M3)", _v_start, _v_after, along=corrected_h2, lazy=True)
"""Step M3: second moment of the error of the exact method; then that of the vector that enters a factor, and a power of A.

(A sqrt(v) + alpha rho B A^l h)^2 is the error so far, and the Hessian taken at the wrong point of the path.
"""


def _HF_start(
    path: Any,
    alpha: Any,
    B: Any,
    L: Any,
    rho: Any,
    sigma_G: Any,
    sigma_H: Any,
    delta: Any,
    D: Any,
    D_H: Any,
) -> tuple[Any, Any, Any, Any]:
    value, size, power = _v_start(path, alpha, B, L, rho, sigma_G, sigma_H, D, D_H)
    return value, 0 * alpha, size, power


def _HF_after(
    path: Any,
    value: Any,
    bias: Any,
    size: Any,
    power: Any,
    alpha: Any,
    B: Any,
    L: Any,
    rho: Any,
    sigma_G: Any,
    sigma_H: Any,
    delta: Any,
    D: Any,
    D_H: Any,
) -> tuple[Any, Any, Any, Any]:
    noise = alpha**2 / D_H * least(sigma_G**2 / delta**2, sigma_H**2 * size)
    moved, larger, raised = _back(path, value, size, power, noise, alpha, B, L, rho)
    return moved, (1 + alpha * L) * bias + alpha * rho * delta / 2 * size, larger, raised


corrected_v_HF = stepwise("v_HF", "(M5)", _HF_start, _HF_after, along=corrected_h2, lazy=True)
"""Step M5: second moment of the error of the Hessian-free direction against its noiseless form. The other values of the rule are
`b_HF`, the second moment of the vector that enters a factor, and a power of A."""

corrected_b_HF = stepwise("b_HF", "(M5)", _HF_start, _HF_after, along=corrected_h2, result=1, lazy=True)
"""Step M5: what the central differences add to the bias."""


def corrected_one_h2(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """h2 with D_0 = ... = D."""
    return s.alpha**2 * s.sigma_G**2 / s.D * Geometric(nu, growth(s) ** 2)


def _second_moment(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """h2, in closed form for one batch size."""
    return corrected_h2(s, nu) if isinstance(s.D, list) else corrected_one_h2(s, nu)


def _bias(s: SimpleNamespace, nu: Any, h_nu: Any) -> sp.Expr:
    A = growth(s)
    return A**nu * s.L * h_nu + s.B * s.alpha * s.rho * A ** (nu - 1) * corrected_h_sum(s, nu)


def _heterogeneity(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """gamma_F, not its square."""
    A = growth(s)
    apart = nu * s.gamma_H + s.alpha * s.rho * s.gamma_G * Nested(nu, A)
    return s.gamma_G * A ** (2 * nu) + s.alpha * s.B * A ** (nu - 1) * apart


CORRECTED: Mapping[str, Formula] = {
    "h2_nu": lambda s, nu, of: _second_moment(s, nu),
    "h_nu": lambda s, nu, of: sp.sqrt(of.h2_nu),
    "mu_F": lambda s, nu, of: _bias(s, nu, of.h_nu),
    "sigma_F": lambda s, nu, of: sp.sqrt(corrected_v(s, nu)),
    "gamma_F": lambda s, nu, of: _heterogeneity(s, nu),
    "mu_F_FO": lambda s, nu, of: s.L * of.h_nu + s.B * (growth(s) ** nu - 1),
    "sigma_F_FO": lambda s, nu, of: sp.sqrt(s.sigma_G**2 / entry(s.D, nu) + of.mu_F_FO**2),
    "mu_F_HF": lambda s, nu, of: of.mu_F + corrected_b_HF(s, nu),
    "q_nu": lambda s, nu, of: one_q(s, nu) / 2,
    "sigma_F_HF": lambda s, nu, of: sp.sqrt(corrected_v_HF(s, nu)) + of.q_nu,
}
"""The corrected constants: steps M2 of the path, M3 of the exact method, M6 of the clients, M4 of the first-order method and M5 of the
Hessian-free one. The statements `corrected` have them for one batch size."""


def corrected(s: SimpleNamespace, nu: int) -> dict[str, sp.Expr]:
    """Every constant of `CORRECTED`, for batch sizes that may differ from step to step (argued, not checked by the kernel); what s lacks
    is left out.
    """
    return _made(CORRECTED, s, nu)
