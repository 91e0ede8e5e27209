"""meta_fl: `composed` statements composed from the steps of the appendices, the corrected lemmas, and Theorem 8 with explicit constants.

The paper proves Theorem 8 by reference to another paper. The steps T1 to T9 composed below are those of
docs/theory/meta_fl.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace

import sympy as sp

from ...language.bounding import AVERAGE, MEAN_SQUARE, PATH, PATH_SQ, Form, size, unlike
from ...language.clients import sampling
from ...language.notation import derived_symbol, slack_symbol
from ...language.theorem import Condition, DeclarationError, Derived, Statement, Term, Theorem
from ...proof.compose import Chain
from . import PAPER, constants
from .constants import fourth, g, growth

R = sp.Rational
WRITTEN = PAPER.written
s, CONDITIONS = WRITTEN.s, WRITTEN.conditions
STEPS = (CONDITIONS["steps"],)
STEPWISE = (
    Derived("h_nu", constants.h(s, s.nu), r"h_\nu", "first moment, recursion (77) from (76)"),
    Derived("h2_nu", constants.h2(s, s.nu), r"h'_\nu", "second moment, recursion (82) from (81)"),
    Derived("h4_nu", constants.h4(s, s.nu), r"h''_\nu", "fourth moment, recursion (86) from (85)"),
)
"""The moments of the path by the recursions of Appendix D."""


def lemma_4() -> Statement:
    """(53): ||B_w|| times (58), plus B times c_nu of the recursion (63)."""
    c_nu = Derived("c_nu", constants.c(s, s.nu), r"c_\nu", "recursion (63) from c_1 = alpha rho, (60)")
    product, lipschitz = growth(s) ** s.nu, s.L * growth(s) ** s.nu
    l_f = Derived("L_F", product * lipschitz + s.B * c_nu.symbol, "L_F", "Lipschitz constant of grad F")
    return Statement("composed", (), derived=(c_nu, l_f), note="(53) to (66), with the recursion (63)")


def lemma_5() -> Statement:
    """The recursions of Appendix D."""
    return Statement("composed", (), STEPS, STEPWISE, note="the recursions of Appendix D")


def lemma_12() -> Statement:
    """(71): D summands with four equal indices and 3 D (D - 1) with two pairs; the others have mean zero."""

    def counted(kappa: sp.Symbol, sigma: sp.Symbol, size: sp.Symbol) -> sp.Expr:
        return (size * kappa + 3 * size * (size - 1) * sigma**4) / size**4

    made = (
        Derived("kbar_G", counted(s.kappa_G, s.sigma_G, s.D), r"\bar\kappa_G", "gradient, (71) to (75)"),
        Derived("kbar_H", counted(s.kappa_H, s.sigma_H, s.D_H), r"\bar\kappa_H", "Hessian, in an inner-product norm"),
    )
    return Statement("composed", (), derived=made)


def lemma_6() -> Statement:
    """(123) to (127): moments of e_2 by (95) to (97), of the Hessian product by (106), (113) and (121)."""
    t_nu = Derived("t_nu", constants.t(s, s.nu), r"t_\nu", "recursion (103) from t_1 = 0")
    parts = (*STEPWISE, WRITTEN.derived["d_nu"], WRITTEN.derived["d4_nu"], t_nu)
    h, h2, h4, d, d4, t = (part.symbol for part in parts)
    a_nu = growth(s) ** s.nu
    first = s.sigma_G / sp.sqrt(s.D) + s.L * h
    second = s.sigma_G**2 / s.D + s.L**2 * h2
    fourth_moment = 8 * (fourth(s.kappa_G, s.sigma_G, s.D) + s.L**4 * h4)
    e2_sq, e1_sq, both_sq, product_sq = (slack_symbol(name) for name in ("e2_sq", "e1_sq", "e1_sq_e2_sq", "product_sq"))
    chain = (
        Chain(3 * product_sq * e2_sq + 3 * s.B**2 * e1_sq + 3 * both_sq)
        .insert(e2_sq, second, "(96)")
        .insert(e1_sq, d, "(113)")
        .insert(product_sq, a_nu**2, "(55)")
        .insert(both_sq, sp.sqrt(d4 * fourth_moment), "(127a): Cauchy-Schwarz, with (97) and (121)")
    )
    bias = a_nu * first + s.B * t + sp.sqrt(d * second)
    made = (
        Derived("mu_F", bias, r"\mu_F", "(123), (124)"),
        Derived("sigma_F", sp.sqrt(chain.expr), r"\sigma_F", "(126), (127)"),
    )
    return Statement("composed", (), STEPS, (*parts, *made), note="; ".join(("(126)", *chain.steps)))


def lemma_7() -> Statement:
    """(140), (141), with the recursion (138). Its line (134) and its first line are false for nu >= 2 (see the
    audit).
    """
    g_nu = Derived("g_nu", g(s, s.nu), r"g_\nu", "recursion (138) from (135)")
    mean_r, mean_m, product_sq = (slack_symbol(name) for name in ("mean_r_sq", "mean_M_sq", "product_sq"))
    largest_r = 4 * s.B**2
    chain = (
        Chain(3 * s.B**2 * mean_m + 3 * product_sq * mean_r + 3 * largest_r * mean_m)
        .insert(mean_r, 2 * s.gamma_G**2 * (1 + s.alpha**2 * s.L**2), "(134)")
        .insert(mean_m, g_nu.symbol, "(137), (139)")
        .insert(product_sq, growth(s) ** (2 * s.nu), "(55)")
    )
    gamma = Derived("gamma_F", sp.sqrt(chain.expr), r"\gamma_F", "(140), (141)")
    term = Term("heterogeneity", gamma.symbol**2)
    return Statement("composed", (term,), STEPS, (g_nu, gamma), note="; ".join(("(140), (141)", *chain.steps)))


def lemma_10() -> Statement:
    """(143) to (148): the error of the estimate, plus what leaving out the Hessians costs, (146)."""
    h, h2, _ = STEPWISE
    left_out = s.B * (growth(s) ** s.nu + 1)
    made = (
        Derived("mu_F_FO", s.sigma_G / sp.sqrt(s.D) + s.L * h.symbol + left_out, r"\mu_F^{FO}", "(143), (145), (146)"),
        Derived(
            "sigma_F_FO",
            sp.sqrt(2 * (s.sigma_G**2 / s.D + s.L**2 * h2.symbol) + 2 * left_out**2),
            r"\sigma_F^{FO}",
            "(147), (148)",
        ),
    )
    return Statement("composed", (), STEPS, (h, h2, *made))


def lemma_11() -> Statement:
    """(150), (161): the error of the estimate, plus that of its noiseless form, by the recursions (39), (40) and
    (159).
    """
    p, p2 = WRITTEN.derived["p_nu"], WRITTEN.derived["p2_nu"]
    q_nu = Derived("q_nu", constants.q(s, s.nu), r"q_\nu", "recursion (159) from (156)")
    made = (
        Derived("mu_F_HF", p.symbol + q_nu.symbol, r"\mu_F^{HF}", "(161)"),
        Derived("sigma_F_HF", sp.sqrt(2 * p2.symbol + 2 * q_nu.symbol**2), r"\sigma_F^{HF}", "(150)"),
    )
    return Statement("composed", (), STEPS, (p, p2, q_nu, *made))


# --- the corrected lemmas, for one batch size -------------------------------------------------------------------------------

_BIAS, _MOMENT = (size("estimate_error"),), (size("estimate_error", MEAN_SQUARE),)
_SAID: Mapping[str, tuple[str, str, tuple[Form, ...]]] = {
    "h2_nu": (r"h'_\nu", "second moment, step M2", (Form(PATH_SQ, "fine_tuned_model"),)),
    "h_nu": (r"h_\nu", "first moment, step M2", (Form(PATH, "fine_tuned_model"),)),
    "mu_F": (r"\mu_F", "bias, step M3", _BIAS),
    "sigma_F": (r"\sigma_F", "root of the second moment, step M3", _MOMENT),
    "gamma_F": (r"\gamma_F", "step M6", (unlike("meta_gradient", over=AVERAGE),)),
    "mu_F_FO": (r"\mu_F^{FO}", "bias, step M4", _BIAS),
    "sigma_F_FO": (r"\sigma_F^{FO}", "root of the second moment, step M4", _MOMENT),
    "mu_F_HF": (r"\mu_F^{HF}", "bias, step M5", _BIAS),
    "q_nu": (r"q_\nu", "step M5: half of (41)", ()),
    "sigma_F_HF": (r"\sigma_F^{HF}", "root of the second moment, step M5", _MOMENT),
}
"""Constant of `constants.CORRECTED` -> its letter, what it is, and what it bounds."""
_PATH = ("h2_nu", "h_nu")


def _derived(*names: str) -> tuple[Derived, ...]:
    """Constants of the corrected statements, each of which may use those before it."""
    before = SimpleNamespace(**{name: derived_symbol(name) for name in _SAID})
    return tuple(Derived(name, constants.CORRECTED[name](s, s.nu, before), *_SAID[name]) for name in names)


def _corrected(step: str, *names: str, also: str = "") -> Statement:
    return Statement("corrected", (), derived=_derived(*names), note=f"step {step} of docs/theory/meta_fl.md{also}")


def corrected_lemma_5() -> Statement:
    """Lemma 5 by step M2."""
    return _corrected("M2", *_PATH, also="; no fourth moment")


def corrected_lemma_6() -> Statement:
    """Lemma 6 by step M3."""
    return _corrected("M3", *_PATH, "mu_F", "sigma_F", also="; no fourth moment")


def corrected_lemma_10() -> Statement:
    """Lemma 10 by step M4."""
    return _corrected("M4", *_PATH, "mu_F_FO", "sigma_F_FO")


def corrected_lemma_11() -> Statement:
    """Lemma 11 by step M5."""
    return _corrected("M5", *_PATH, "mu_F", "mu_F_HF", "q_nu", "sigma_F_HF")


def corrected_lemma_7() -> Statement:
    """Lemma 7 by step M6; unlike the printed one it depends on rho."""
    (gamma,) = _derived("gamma_F")
    terms = (Term("heterogeneity", gamma.symbol**2),)
    return Statement("corrected", terms, (), (gamma,), note="step M6 of docs/theory/meta_fl.md; depends on rho")


# --- Theorem 8 ---------------------------------------------------------------------------------------------------------------


def theorem_8(estimate: Theorem, unlike: Theorem) -> Statement:
    """Theorem 8 with the constants that the lemmas on the estimate and on the clients print."""
    return _theorem_8("printed", "composed", estimate, unlike, ("participation", "participants", "steps"))


def theorem_8_corrected(estimate: Theorem, unlike: Theorem) -> Statement:
    """Theorem 8 with the corrected constants of both lemmas, for any number of fine-tuning steps."""
    return _theorem_8("corrected", "corrected", estimate, unlike, ("participation", "participants"))


def theorem_8_sharpened(estimate: Theorem, unlike: Theorem) -> Statement:
    """The same where Young's inequality is not split evenly."""
    return _theorem_8("corrected", "sharpened", estimate, unlike, ("participation", "participants"))


def _theorem_8(of: str, label: str, estimate: Theorem, unlike: Theorem, further: tuple[str, ...]) -> Statement:
    lemmas = (each.statement(of).derived for each in (estimate, unlike))
    derived = (WRITTEN.derived["L_F"], *(item for parts in lemmas for item in parts))
    mu = next(item.name for item in reversed(derived) if item.name.startswith("mu_F"))
    conditions = tuple(CONDITIONS[name] for name in ("step_size", *further))
    split = _UNEVEN if label == "sharpened" else _EVEN
    return _from_constants(label, derived, conditions, mu.removeprefix("mu_F"), split)


@dataclass(frozen=True)
class _Split:
    """How Young's inequality is split, and what the terms come to.

    Args:
        at_server: at the server's model, which is not the mean model; 1 splits evenly.
        of_bias: between the bias of the estimate and the drift.
        coefficients: (share, x, tau) -> of every term, with the role of the term; x is beta L_F.
    """

    at_server: sp.Rational
    of_bias: sp.Rational
    coefficients: Callable[[sp.Expr, sp.Expr, sp.Expr], dict[str, tuple[str, sp.Expr, str]]]


def _beside_the_drift(share: sp.Expr, x: sp.Expr, tau: sp.Expr) -> dict[str, tuple[str, sp.Expr, str]]:
    """What the server's distance from the mean model adds is in the terms of the drift."""
    return {
        "noise": ("sigma", (2 + R(40, 9) * share) * x, "variance"),
        "drift_noise": ("sigma", R(20, 3) * x**2 * (tau - 1), "drift"),
        "sampling": ("gamma", R(2320, 243) * share * tau * x, "heterogeneity"),
        "drift_heterogeneity": ("gamma", R(800, 81) * x**2 * tau * (tau - 1), "drift"),
        "bias": ("mu", R(1228, 243), ""),
    }


def _within_the_sampling(share: sp.Expr, x: sp.Expr, tau: sp.Expr) -> dict[str, tuple[str, sp.Expr, str]]:
    """The same is in the terms that have the share, by beta L_F (tau - 1) <= 1/10."""
    return {
        "noise": ("sigma", (R(9, 8) + R(7, 2) * share) * x, "variance"),
        "drift_noise": ("sigma", R(15, 4) * x**2 * (tau - 1), "drift"),
        "sampling": ("gamma", R(185, 27) * share * tau * x, "heterogeneity"),
        "drift_heterogeneity": ("gamma", R(50, 9) * x**2 * tau * (tau - 1), "drift"),
        "bias": ("mu", R(1049, 432), ""),
    }


_EVEN, _UNEVEN = _Split(R(1), R(1), _beside_the_drift), _Split(R(1, 8), R(1, 2), _within_the_sampling)


def _from_constants(
    label: str, derived: tuple[Derived, ...], conditions: tuple[Condition, ...], suffix: str, split: _Split
) -> Statement:
    """Theorem 8 for any constants L_F, mu_F, sigma_F, gamma_F of the gradient estimates, by steps T3 to T9.

    The clients that do not take part run virtually too; v_t is the mean of all of them, `drift` is the mean over
    the steps of E (1/n) sum ||w_t^i - v_t||^2, `last` its value after tau steps, `share` the variance of a random
    mean (step T2).
    """
    table = {constant.name: constant.symbol for constant in derived}
    l_f, server, bias = table["L_F"], split.at_server, split.of_bias
    drift, last, virtual, share = (
        slack_symbol(name) for name in ("drift", "last_drift", "virtual_gradient_sq", "share")
    )
    squares = {slack_symbol(f"{name}_sq"): table[f"{name}_F{end}"] ** 2 for name, end in _suffixes(suffix)}
    mu, sigma, gamma = squares
    x, apart = s.beta * l_f, s.tau * (s.tau - 1)
    steady, ended = R(400, 243) * (gamma + mu), R(1160, 243) * (gamma + mu)
    wrong = (1 + 1 / bias) / 2 * l_f**2 * drift + (1 + bias) / 2 * mu
    descent = s.K * (s.beta * s.tau * wrong + l_f * s.beta**2 / 2 * s.tau * sigma + l_f / 2 * share * last)
    owners = {"mu": mu, "sigma": sigma, "gamma": gamma}
    start = 2 * (1 + server) * s.F_gap / (s.beta * s.tau * s.K)
    kept = {
        "initialisation": (sp.Integer(1), start, ""),
        **{n: (owners[owner], c, role) for n, (owner, c, role) in split.coefficients(share, x, s.tau).items()},
    }
    limits = {square: sum(c for owner, c, _ in kept.values() if owner == square) for square in squares}
    small = {s.beta: conditions[0].right / (1 + slack_symbol("u"))}  # the step size condition comes first
    range_of = {share: 1 / (1 + slack_symbol("v")), s.tau: 1 + slack_symbol("local_steps")}
    at_server = (1 + 1 / server) * l_f**2 * share * drift
    chain = (
        Chain((1 + server) * virtual + at_server, steps=("T8: at the mean of a random set of clients",))
        .insert(virtual, (s.F_gap + descent) / (s.beta * s.tau * s.K / 2), "T3, T7: descent over a round, telescoped")
        .require(*conditions)
        .insert(
            drift, s.beta**2 * (steady * apart + R(10, 9) * (s.tau - 1) * sigma), "T5: average drift, x tau <= 1/10"
        )
        .insert(last, s.beta**2 * (ended * s.tau**2 + R(20, 9) * s.tau * sigma), "T6: drift after tau steps")
    )
    for square in (sigma, gamma):
        within = range_of if split is _EVEN else {**small, **range_of}
        why = "share <= 1 beside the drift" if split is _EVEN else "beta L_F tau <= 1/10 beside the share"
        chain = chain.limit(square, limits[square], why, (), within)
    chain = chain.limit(mu, limits[mu], "share <= 1, beta L_F tau <= 1/10", (), {**small, **range_of})
    if sp.expand(chain.expr - sum(owner * coefficient for owner, coefficient, _ in kept.values())) != 0:
        raise DeclarationError("theorem_8: the terms do not add up to what the steps give")
    back = {**squares, share: sampling(s.r, s.n)}
    terms = tuple(Term(name, (owner * c).xreplace(back), role) for name, (owner, c, role) in kept.items())
    return chain.statement(terms, derived, label=label)


def _suffixes(suffix: str) -> tuple[tuple[str, str], ...]:
    return (("mu", suffix), ("sigma", suffix), ("gamma", ""))
