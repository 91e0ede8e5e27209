"""FedDRO: Corollaries 1 and 2 as they hold, from the corrected Theorem 5.1 (docs/theory/feddro.md, "The corollaries").

With beta proportional to eta a round of I steps costs the factor I; with beta = B_g^2 L_f sqrt(I) eta and
eta = sqrt(|b|K/T)/(I^{1/4} L_Phi) it costs I^{1/4}, the least that the theorem allows at a given batch size.
"""

from __future__ import annotations

from types import SimpleNamespace

import sympy as sp

from ...language.theorem import Condition, Derived, Statement, Term, Theorem

R = sp.Rational


def schedule(s: SimpleNamespace, smooth: sp.Symbol) -> dict[str, sp.Expr]:
    """eta and beta for rounds of I steps."""
    return {
        "eta": sp.sqrt(s.b * s.K / s.T) / (s.I ** R(1, 4) * smooth),
        "beta": s.B_g**2 * s.L_f * sp.sqrt(s.I) * s.eta,
    }


def longest(s: SimpleNamespace) -> sp.Expr:
    """The rounds from which on the drift, and no longer the estimate of g, limits the rate."""
    return s.T ** R(2, 5) / (s.b * s.K) ** R(6, 5)


def short_rounds(s: SimpleNamespace, main: Theorem) -> Statement:
    """Corollary 1: the terms of the theorem at the schedule, with W/eta <= 5 B_g^2 L_f^2/beta, 1 + (I-1)^2/I <= I and
    eta^2 (I-1)^2 <= I^{1/4}/(sqrt(|b|KT) L_Phi^2)."""
    parent = main.statement("corrected")
    smooth, at_batch = parent.constant("L_Phi").symbol, s.b * s.K
    statistical = 1 / sp.sqrt(at_batch * s.T)
    rate, faster = s.I ** R(1, 4) * statistical, statistical / s.I ** R(1, 4)
    noise, heterogeneity = s.sigma_h**2 + s.B_f**2 * s.sigma_g**2, s.Delta_h**2 + s.B_f**2 * s.Delta_g**2
    inner = 40 * s.B_g**2 * s.L_f / smooth
    consensus = R(9, 2) * (s.L_h**2 + s.B_f**2 * s.L_g**2 + 2 * s.B_g**4 * s.L_f**2) / smooth**2
    terms = (
        Term("initialisation", 2 * smooth * s.Phi_gap * rate),
        Term("inner_initialisation", 8 * s.L_f * smooth * s.y_err**2 * faster, "initialisation"),
        Term("variance", 6 * noise * faster),
        Term("inner_noise", 40 * s.B_g**4 * s.L_f**3 * s.delta_g**2 / smooth * rate, "variance"),
        Term("inner_variance", inner * (6 * noise / (at_batch * s.I) + R(9, 2) * noise / s.b) * rate, "variance"),
        Term("inner_heterogeneity", inner * R(27, 2) * heterogeneity * rate, "heterogeneity"),
        Term("drift_variance", consensus * 4 * noise / s.b * rate, "variance"),
        Term("drift_heterogeneity", consensus * 12 * heterogeneity * rate, "heterogeneity"),
    )
    return Statement(
        "corrected",
        terms,
        (
            *_follows(s, smooth),
            Condition("local_updates", s.I, "<=", longest(s)),
            *parent.conditions,
            _weight(s, smooth),
        ),
        parent.derived,
        schedule(s, smooth),
        note="the corrected Theorem 5.1 at this schedule; derivation: docs/theory/feddro.md",
    )


def complexities(s: SimpleNamespace, main: Theorem) -> Statement:
    """Corollary 2: the costs at the longest rounds that Corollary 1 admits."""
    parent = main.statement("corrected")
    smooth = parent.constant("L_Phi").symbol
    long_enough = Condition("horizon", s.T, ">=", (s.b * s.K) ** 3, "rounds of at least one step")
    costs = (
        Derived("samples_per_client", s.b * s.T, "|b|T", "O(eps^(-5/2)/(|b| K^2)) for a metric of at most eps"),
        Derived("rounds", s.T / s.I, "T/I", "model-sized messages per client; O(eps^(-3/2))"),
        Derived("embedding_messages", s.T, "T", "embedding-sized messages per client; O(eps^(-5/2)/(|b| K)^2)"),
    )
    return Statement(
        "corrected",
        (),
        (*_follows(s, smooth), long_enough, *parent.conditions, _weight(s, smooth)),
        (*parent.derived, *costs),
        {**schedule(s, smooth), "I": sp.Max(1, sp.floor(longest(s)), evaluate=False)},
        note="with I bounded instead: O(1/(K eps^2)) samples per client and O(1/(|b| K eps^2)) rounds",
    )


def _follows(s: SimpleNamespace, smooth: sp.Symbol) -> tuple[Condition, ...]:
    chosen = schedule(s, smooth)
    return (
        Condition("step_size_choice", s.eta, "==", chosen["eta"]),
        Condition("momentum_choice", s.beta, "==", chosen["beta"]),
    )


def _weight(s: SimpleNamespace, smooth: sp.Symbol) -> Condition:
    """W/eta = 4 B_g^2 L_f^2/beta + 2 sigma_g^2 L_f^2/(|b|K) + 3 eta L_Phi B_g^2 L_f^2 is at most 5/4 of its first part."""
    rest = 2 * s.sigma_g**2 / (s.b * s.K * s.B_g**2) + 3 * s.eta * smooth
    return Condition("weight", s.beta * rest, "<=", sp.Integer(1), "the momentum's share of W is the main one")
