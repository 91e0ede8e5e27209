"""ComFedL: `composed` statements composed from the printed lemmas, and the corrected Theorems 1 and 2
(docs/theory/comfedl.md).
"""

from __future__ import annotations

import sympy as sp

from ...language.notation import slack_symbol
from ...language.theorem import Condition, DeclarationError, Derived, Statement, Term, Theorem
from ...proof.certificates import nonnegative_coefficients, prove_nonnegative
from ...proof.compose import Chain, split
from . import PAPER

s = PAPER.written.s
H = PAPER.written.derived["H"]
WHOLE_ROUNDS = PAPER.written.conditions["whole_rounds"]

ROLES = {
    "estimator_drift": "drift",
    "mean_drift": "drift",
    "outer_noise": "variance",
    "inner_jacobian_noise": "variance",
    "inner_value_noise": "variance",
}


def _with_roles(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    return tuple(Term(term.name, term.expr, ROLES.get(term.name, "")) for term in terms)


# --- Lemma 1 --------------------------------------------------------------------------------------------------------


def entropy_slope() -> sp.Expr:
    """d/dr of r log(n r), minus log(n r): what stands beside the logarithm in the stationarity condition."""
    r, n = slack_symbol("r"), slack_symbol("n")
    return sp.simplify(sp.diff(r * sp.log(n * r), r) - sp.log(n * r))


def _kl_maximum(label: str, slope: sp.Expr, note: str) -> Statement:
    """Lemma 1 from f^i - gamma log(n r_i) - gamma slope + lam = 0 and sum_i r_i = 1.

    The weights sum to mean_exp exp(lam/gamma - slope); the logarithm of that is 0, which is linear in lam. The value is
    sum_i r_i (f^i - gamma log(n r_i)) = gamma slope - lam.
    """
    unknown = slack_symbol("lam")
    log_of_sum = unknown / s.gamma - slope + sp.log(s.mean_exp)
    multiplier = sp.expand(-log_of_sum.xreplace({unknown: sp.Integer(0)}) / sp.diff(log_of_sum, unknown))
    value = sp.expand(s.gamma * slope - multiplier)
    derived = (
        Derived("J", value, "J", "objective of (5)"),
        Derived("lam", multiplier, r"\lambda", "multiplier of sum r = 1"),
    )
    return Statement(label, (), derived=derived, note=note)


def kl_maximum_as_printed() -> Statement:
    """Lemma 1 with the derivative that (18) prints."""
    return _kl_maximum("composed", 1 / s.n, "(18) as printed, solved for lambda; then (24)")


def kl_maximum_corrected() -> Statement:
    """Lemma 1 with the derivative as it is."""
    return _kl_maximum("corrected", entropy_slope(), "with the derivative of r log(n r)")


# --- Lemmas 2 to 4 --------------------------------------------------------------------------------------------------


def client_drift() -> Statement:
    """(28): t steps of length eta, Cauchy-Schwarz, and the bound of one direction by Assumption 2."""
    chain = Chain(s.t * s.eta**2 * s.t * s.step_sq, steps=("Cauchy-Schwarz over the t steps",)).insert(
        s.step_sq, (s.G_g * s.G_f) ** 2, "Assumption 2"
    )
    return chain.statement((Term("drift", chain.expr),))


def _at_round_end(expr: sp.Expr) -> sp.Expr:
    """An expression that grows with t, at t = tau; certified for every t <= tau."""
    raised = expr.xreplace({s.t: s.tau})
    if prove_nonnegative(raised - expr, {s.tau: s.t + slack_symbol("left")}) is None:
        raise DeclarationError(f"{expr} is not certified to grow with t")
    return raised


def drift_in_round(step: Theorem) -> Statement:
    """Lemma 2: the mean drifts at most as much as the clients do on average (Jensen), and t <= tau."""
    clients = _at_round_end(step.statement("printed").total)
    chain = Chain(s.client_drift_sq, steps=("Jensen over the clients",)).insert(
        s.client_drift_sq, clients, "(28), t <= tau"
    )
    return chain.statement((Term("drift", chain.expr),))


def estimator_error() -> Statement:
    """(30): the general problem."""
    return _estimator_error(outer_noise=True)


def estimator_error_one_outer() -> Statement:
    """The proof of Lemma 4: one deterministic outer function."""
    return _estimator_error(outer_noise=False)


def _estimator_error(*, outer_noise: bool) -> Statement:
    """The chain (30): u - U is a sum of differences; |a_1 + ... + a_k|^2 <= k (|a_1|^2 + ... + |a_k|^2)."""
    noise = s.sigma**2
    differences = {
        "jacobian_drift": (s.G_g * s.L_f) ** 2 * s.client_drift_sq,
        "outer_noise": s.G_f**2 * noise / s.b_1,
        "inner_jacobian_noise": s.G_g**2 * noise / s.b,
        "gradient_drift": (s.L_g * s.G_f * s.G_f) ** 2 * s.client_drift_sq,
        "inner_value_noise": (s.L_g * s.G_f) ** 2 * noise / s.b,
    }
    if not outer_noise:
        del differences["outer_noise"]
    total = len(differences) * sp.Add(*differences.values())
    return Statement("composed", _error_terms(total), note=f"{len(differences)} differences")


def _error_terms(total: sp.Expr) -> tuple[Term, ...]:
    groups = {
        "outer_noise": (s.b_1,),
        "inner_value_noise": (s.sigma, s.L_g),
        "inner_jacobian_noise": (s.sigma,),
    }
    return _with_roles(split(total, groups, "drift"))


def estimator_error_in_round(step: Theorem, drift: Theorem) -> Statement:
    """Lemmas 3 and 4: the drift of the clients (28) put into (30); Lemma 2 as stated bounds another, smaller
    quantity.
    """
    bound = _at_round_end(drift.statement("printed").total)
    chain = Chain(step.statement("printed").total).insert(s.client_drift_sq, bound, "drift of the clients, (28)")
    return chain.statement(_error_terms(chain.expr))


# --- the theorems ---------------------------------------------------------------------------------------------------


def descent() -> Statement:
    """(32): smoothness of F, then <grad F(wbar_t), ubar> = |grad F(wbar_s)|^2 plus two products of norms."""
    cap = s.G_f * s.G_g
    chain = (
        Chain(sp.Integer(0))
        .plus(-s.eta * s.gradient_sq, "E<grad F(wbar_s), U> = E|grad F(wbar_s)|^2, uniform C_s")
        .plus(s.eta * cap * s.estimator_error, "|grad F(wbar_t)| <= G_f G_g times |ubar - U|")
        .plus(
            s.eta * s.L * s.mean_drift * cap, "|grad F(wbar_t) - grad F(wbar_s)| <= L |wbar_t - wbar_s|, |U| <= G_f G_g"
        )
        .plus(s.L / 2 * s.eta**2 * s.step_sq, "smoothness of F")
        .insert(s.step_sq, cap**2, "Assumption 2")
    )
    groups = {
        "descent": (s.gradient_sq,),
        "estimator": (s.estimator_error,),
        "mean_drift": (s.mean_drift,),
    }
    return chain.statement(_with_roles(split(chain.expr, groups, "second_order")))


def root(statement: Statement, derived: Derived) -> sp.Expr:
    """sqrt(a_1 + ... + a_k) <= sqrt(a_1) + ... + sqrt(a_k), each a_j certified nonnegative; `derived` is a named
    root.
    """
    named = {derived.expr**2: derived.symbol**2}
    parts = [term.expr for term in statement.terms]
    if not all(nonnegative_coefficients(part) for part in parts):
        raise DeclarationError(f"a term of {parts} may be negative: no root")
    return sp.Add(*(sp.sqrt(sp.factor(part).xreplace(named)) for part in parts))


def telescope(chain: Chain) -> sp.Expr:
    """Sum over the T = S tau steps and divide: the average of gradient_sq is at most this.

    The server model after a round is the mean of the clients, so that the sum collapses over rounds too; F(w_T) >= F^*.
    """
    weight = -chain.coefficient(s.gradient_sq)
    if not nonnegative_coefficients(weight):
        raise DeclarationError(f"the weight {weight} of the squared gradient may be negative")
    rest = chain.expr.xreplace({s.gradient_sq: sp.Integer(0)})
    return sp.expand((rest + s.F_gap / s.T) / weight)


def theorem(descent_lemma: Theorem, error: Theorem, drift: Theorem) -> Statement:
    """(32) to (34): the descent lemma with the roots of Lemma 3 (or 4) and of Lemma 2, telescoped."""
    chain = (
        Chain(descent_lemma.statement("printed").total)
        .require(WHOLE_ROUNDS)
        .insert(
            s.estimator_error,
            root(error.statement("printed"), H),
            "Jensen, root of the estimator error split",
        )
        .insert(s.mean_drift, root(drift.statement("printed"), H), "Jensen, Lemma 2")
    )
    groups = {
        "initialisation": (s.F_gap,),
        "estimator_drift": (H.symbol,),
        "outer_noise": (s.b_1,),
        "inner_value_noise": (s.sigma, s.L_g),
        "inner_jacobian_noise": (s.sigma,),
        "mean_drift": (s.L, s.tau),
    }
    terms = split(telescope(chain), groups, "second_order")
    return chain.statement(_with_roles(terms), (H,))


def corrected(descent_lemma: Theorem) -> Statement:
    """Theorems 1 and 2, with the conditional mean of the direction in its place; derivation in docs/theory/comfedl.md.

    sigma needs to bound the noise of the inner value only, which makes every term homogeneous.
    """
    cap = s.G_f * s.G_g
    smooth = Derived(
        "L_client", s.G_g * s.L_f + s.L_g * s.G_f**2, r"L_{F^i}", "Lipschitz constant of the gradient of every client"
    )
    path = s.t * s.eta * cap
    bias = s.L_g * s.G_f * s.sigma / sp.sqrt(s.b)
    chain = (
        Chain(descent_lemma.statement("printed").total)
        .require(WHOLE_ROUNDS)
        .insert(s.estimator_error, bias + smooth.symbol * path, "error of the conditional mean: bias plus drift")
        .insert(s.mean_drift, path, "the mean moves at most t eta G_f G_g")
    )
    local = slack_symbol("local_steps")  # tau - 1, so that it survives the expansion
    mean_t = sp.factor(sp.summation(s.t, (s.t, 0, s.tau - 1)) / s.tau).xreplace({s.tau: local + 1})
    groups = {
        "initialisation": (s.F_gap,),
        "estimator_drift": (smooth.symbol,),
        "inner_value_noise": (s.sigma,),
        "mean_drift": (s.L, local),
    }
    averaged = telescope(chain).xreplace({s.t: sp.expand(mean_t)})
    terms = split(averaged, groups, "second_order")
    back = {local: s.tau - 1}
    return Statement(
        "corrected",
        tuple(
            Term(t.name, t.expr.xreplace(back), "bias" if t.name == "inner_value_noise" else ROLES.get(t.name, ""))
            for t in terms
        ),
        chain.conditions,
        (smooth,),
        note="sigma may be the inner value noise alone; derivation: docs/theory/comfedl.md",
    )


def remark(parent: Theorem) -> Statement:
    """Remarks 1 and 2 at their best exponents: eta = T^(-1/2) and every batch size 1/T, in the bound that the
    proof gives.
    """
    composed = parent.statement("composed")
    batches = [name for name in ("b", "b_1") if name in composed.symbols]
    schedule: dict[str, sp.Expr] = {"eta": 1 / sp.sqrt(s.T), **{name: 1 / s.T for name in batches}}
    chosen = (Condition(f"{name}_choice", getattr(s, name), "==", value) for name, value in schedule.items())
    sampled = (Condition(f"{name}_one_sample", getattr(s, name), ">=", sp.Integer(1)) for name in batches)
    return Statement(
        "printed",
        composed.terms,
        (WHOLE_ROUNDS, *chosen, *sampled),
        composed.derived,
        schedule,
        note="the O(.) of the remark is read as the bound that the lemmas give; a batch holds at least one sample",
    )
