"""meta_fl: the corrected constants. Their derivation is part I of docs/theory/meta_fl.md, whose steps M2 to M6 name
them.

As in meta_fl_constants, a batch size in s is one number or a list with one entry per step. For one number the kernel
checks them; for a list they are argued in docs/theory/meta_fl.md, and tested with all outcomes of small batches.
They hold for nu >= 0, need no fourth moment and only the spectral norm of a Hessian, and are at most the printed ones
(gamma_F apart, where the printed one is too small).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sympy as sp

from ...language import bounding
from ...language.bounding import AVERAGE, MEAN_SQUARE, PATH_SQ, Form, size, unlike
from ...language.recursion import Geometric, Nested, entry, least, root, stepwise
from ...language.theorem import Derived, Statement, Term
from . import PAPER, constants
from .constants import available, growth, q


def _h2_after(value: Any, alpha: Any, L: Any, sigma_G: Any, D: Any) -> tuple[Any]:
    return ((1 + alpha * L) ** 2 * value + alpha**2 * sigma_G**2 / D,)


h2 = stepwise("h2", "(M2)", lambda alpha, L, sigma_G, D: (0 * alpha,), _h2_after)
"""Step M2: E||w~_nu - w_nu||^2; the noise is orthogonal to the past, so that squares add."""


def _h_sum_after(total: Any, value: Any, alpha: Any, L: Any, sigma_G: Any, D: Any) -> tuple[Any, Any]:
    return (total + root(value), *_h2_after(value, alpha, L, sigma_G, D))


h_sum = stepwise("h_sum", "(M2)", lambda alpha, L, sigma_G, D: (0 * alpha, 0 * alpha), _h_sum_after, lazy=True)
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
    A, noise = 1 + alpha * L, alpha**2 * sigma_H**2 / D_H * size
    carried = (A * root(value) + alpha * rho * B * power * root(path)) ** 2
    return carried + noise, A**2 * size + noise, A * power


v = stepwise("v", "(M3)", _v_start, _v_after, along=h2, lazy=True)
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
    return sigma_G**2 / D + L**2 * path, 0 * alpha, B**2 + sigma_G**2 / D, 1 + 0 * alpha


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
    A, noise = 1 + alpha * L, alpha**2 / D_H * least(sigma_G**2 / delta**2, sigma_H**2 * size)
    carried = (A * root(value) + alpha * rho * B * power * root(path)) ** 2
    return carried + noise, A * bias + alpha * rho * delta / 2 * size, A**2 * size + noise, A * power


v_HF = stepwise("v_HF", "(M5)", _HF_start, _HF_after, along=h2, lazy=True)
"""Step M5: second moment of the error of the Hessian-free direction against its noiseless form. The other values of the rule are
`b_HF`, the second moment of the vector that enters a factor, and a power of A."""

b_HF = stepwise("b_HF", "(M5)", _HF_start, _HF_after, along=h2, result=1, lazy=True)
"""Step M5: what the central differences add to the bias."""


def one_h2(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """h2 with D_0 = ... = D."""
    return s.alpha**2 * s.sigma_G**2 / s.D * Geometric(nu, growth(s) ** 2)


def bias(s: SimpleNamespace, nu: Any, h_nu: Any, path: Any) -> sp.Expr:
    """mu_F, step M3; `path` is h_1 + ... + h_(nu-1)."""
    A = growth(s)
    return A**nu * s.L * h_nu + s.B * s.alpha * s.rho * A ** (nu - 1) * path


def heterogeneity(s: SimpleNamespace, nu: Any) -> sp.Expr:
    """gamma_F (not its square), step M6."""
    A = growth(s)
    apart = nu * s.gamma_H + s.alpha * s.rho * s.gamma_G * Nested(nu, A)
    return s.gamma_G * A ** (2 * nu) + s.alpha * s.B * A ** (nu - 1) * apart


def bias_first_order(s: SimpleNamespace, nu: Any, h_nu: Any) -> sp.Expr:
    """mu_F, step M4."""
    return s.L * h_nu + s.B * (growth(s) ** nu - 1)


def second_moment_first_order(s: SimpleNamespace, nu: Any, mu_F: Any) -> sp.Expr:
    """sigma_F^2, step M4."""
    return s.sigma_G**2 / entry(s.D, nu) + mu_F**2


def corrected(s: SimpleNamespace, nu: int) -> dict[str, sp.Expr]:
    """Every corrected constant, for batch sizes that may differ from step to step (argued, not checked by the kernel); what s lacks is
    left out.
    """

    def exact_bias() -> sp.Expr:
        return bias(s, nu, sp.sqrt(h2(s, nu)), h_sum(s, nu))

    def first_order() -> sp.Expr:
        return bias_first_order(s, nu, sp.sqrt(h2(s, nu)))

    return available(
        {
            "h_nu": lambda: sp.sqrt(h2(s, nu)),
            "h2_nu": lambda: h2(s, nu),
            "mu_F": exact_bias,
            "sigma_F": lambda: sp.sqrt(v(s, nu)),
            "gamma_F": lambda: heterogeneity(s, nu),
            "mu_F_FO": first_order,
            "sigma_F_FO": lambda: sp.sqrt(second_moment_first_order(s, nu, first_order())),
            "mu_F_HF": lambda: exact_bias() + b_HF(s, nu),
            "sigma_F_HF": lambda: sp.sqrt(v_HF(s, nu)) + q(s, nu) / 2,
        }
    )


# --- the statements, for one batch size --------------------------------------------------------------------------------


BIAS, MOMENT = (size("estimate_error"),), (size("estimate_error", MEAN_SQUARE),)


def _steps() -> SimpleNamespace:
    """The constants of the corrected statements, each of which may use those before it."""
    s = PAPER.written.s
    nu = s.nu
    h2_nu = Derived("h2_nu", one_h2(s, nu), r"h'_\nu", "second moment, step M2", (Form(PATH_SQ, "fine_tuned_model"),))
    root_of = (Form(bounding.PATH, "fine_tuned_model"),)
    h_nu = Derived("h_nu", sp.sqrt(h2_nu.symbol), r"h_\nu", "first moment, step M2", root_of)
    mu = Derived("mu_F", bias(s, nu, h_nu.symbol, h_sum(s, nu)), r"\mu_F", "bias, step M3", BIAS)
    sigma = Derived("sigma_F", sp.sqrt(v(s, nu)), r"\sigma_F", "root of the second moment, step M3", MOMENT)
    mu_FO = Derived("mu_F_FO", bias_first_order(s, nu, h_nu.symbol), r"\mu_F^{FO}", "bias, step M4", BIAS)
    of_FO = sp.sqrt(second_moment_first_order(s, nu, mu_FO.symbol))
    sigma_FO = Derived("sigma_F_FO", of_FO, r"\sigma_F^{FO}", "root of the second moment, step M4", MOMENT)
    mu_HF = Derived("mu_F_HF", mu.symbol + b_HF(s, nu), r"\mu_F^{HF}", "bias, step M5", BIAS)
    q_nu = Derived("q_nu", constants.one_q(s, nu) / 2, r"q_\nu", "step M5: half of (41)")
    of_HF = sp.sqrt(v_HF(s, nu)) + q_nu.symbol
    sigma_HF = Derived("sigma_F_HF", of_HF, r"\sigma_F^{HF}", "root of the second moment, step M5", MOMENT)
    return SimpleNamespace(
        path=(h2_nu, h_nu),
        exact=(mu, sigma),
        first_order=(mu_FO, sigma_FO),
        hessian_free=(mu, mu_HF, q_nu, sigma_HF),
    )


def _of_the_path(step: str, more: tuple[Derived, ...] = (), also: str = "") -> Statement:
    note = f"step {step} of docs/theory/meta_fl.md{also}"
    return Statement("corrected", (), (), (*_steps().path, *more), note=note)


def lemma_5() -> Statement:
    """Lemma 5 by step M2."""
    return _of_the_path("M2", also="; no fourth moment")


def lemma_6() -> Statement:
    """Lemma 6 by step M3."""
    return _of_the_path("M3", _steps().exact, "; no fourth moment")


def lemma_10() -> Statement:
    """Lemma 10 by step M4."""
    return _of_the_path("M4", _steps().first_order)


def lemma_11() -> Statement:
    """Lemma 11 by step M5."""
    return _of_the_path("M5", _steps().hessian_free)


def lemma_7() -> Statement:
    """Lemma 7 by step M6; unlike the printed one it depends on rho."""
    s = PAPER.written.s
    apart = (unlike("meta_gradient", over=AVERAGE),)
    gamma = Derived("gamma_F", heterogeneity(s, s.nu), r"\gamma_F", "step M6", apart)
    terms = (Term("heterogeneity", gamma.symbol**2),)
    return Statement("corrected", terms, (), (gamma,), note="step M6 of docs/theory/meta_fl.md; depends on rho")
