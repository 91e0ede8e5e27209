"""ComFedL: what only a reader finds.

The missing sign of Theorem 1 is found by the audit itself (homogeneity and terms of comfedl.theorem_1); the first
finding below shows that it matters.
"""

from __future__ import annotations

import sympy as sp

from ...audit.checks import compare_expressions
from ...audit.findings import Again, Evidence, Finding, Withdrawn, confirm
from ...language.notation import slack_symbol
from ...proof.certificates import prove_nonnegative
from . import checks

FINDINGS = (
    Finding(
        "comfedl.theorem_1_false",
        "comfedl.theorem_1",
        "(12) and (31), first two summands of the bracket",
        "counterexample",
        "slip",
        "the drift of the clients times the outer noise: no sign stands between the two",
        "their sum, as in (32) to (34); with it the theorem is true (statement `composed`; `corrected` is smaller still)",
        "the printed bound is too small by any factor when noise is small, clients differ and tau >= 2: two "
        "noiseless clients keep "
        "the average squared gradient at 1/100 while the bound is 0.0032; it is too large when both factors exceed 2",
        checks.theorem_1_false,
        reading="a plus between the two factors, as in (32) to (34)",
        seen_in=("comfedl.theorem_1:homogeneity", "comfedl.theorem_1:terms"),
    ),
    Finding(
        "comfedl.client_sampling",
        "comfedl.theorem_1",
        "Algorithm 1, line 3; (27)",
        "assumption",
        "slip",
        "the server samples m clients, by no stated law; (27) then takes the mean of U_{s,0} to be the gradient of F",
        "the law must give every client the same probability, independently of the past; the mean is conditional "
        "on the server model",
        "read as uniform sampling nothing changes; for any other law both theorems are false and the bound is too"
        " small without limit",
        checks.client_sampling,
        reading="uniform sampling, independent of the past",
    ),
    Finding(
        "comfedl.problem_10",
        "comfedl.theorem_1",
        "(10), called a special case of (1)",
        "reformulation",
        "constant",
        "the outer function exp(f_i(y)/gamma), with f_i an expectation, is treated as an expected outer function",
        "the exponential of an expectation is not the expectation of sample functions: (10) fits (1) only with "
        "f_i evaluated exactly",
        "with sampled outer batches Algorithm 1 follows a biased direction that neither theorem covers: no bound "
        "for DA-MAML; "
        "(6) and (7) are fine",
        checks.problem_10,
        reading="f_i is evaluated exactly: then (10) is a special case of (1)",
    ),
    Finding(
        "comfedl.other_monotone",
        "comfedl.lemma_1",
        "after (6)",
        "reformulation",
        "slip",
        "any increasing function may replace exp in (6)",
        "only the outermost increasing function, the logarithm of the whole sum, may be changed; g(y) = y gives "
        "plain averaging",
        "another g solves another problem: its minimiser is not that of the regularised minimax problem (4)",
        checks.other_monotone,
        reading="another function poses another problem of the form (1), which is not (4)",
    ),
    Finding(
        "comfedl.optimal_rate",
        "comfedl.remark_1",
        "Remarks 1 and 2, last sentence",
        "rate",
        "slip",
        "the rate 1/sqrt(T) is called optimal",
        "with the same batches of T samples a constant step reaches 1/T for tau = 1 and all clients: 1/sqrt(T) is"
        " an upper bound only",
        "at batch size T the rate 1/sqrt(T) costs eps^-4 samples per client where eps^-2 suffice (eps bounds the "
        "squared gradient)",
        checks.optimal_rate,
        reading="optimal among the exponents of the step size in the paper's own bound",
    ),
    Finding(
        "comfedl.exp_assumptions",
        "comfedl.theorem_2",
        "section 4, the example g = exp after Assumption 4",
        "assumption",
        "constant",
        "exp is generally smooth with a bounded gradient on the range of the losses",
        "every sample loss must lie in a known interval [0, M]; then G_g = exp(M/gamma)/gamma and L_g = "
        "exp(M/gamma)/gamma^2",
        "without that the assumptions fail; with M = 1 and gamma = 0.1 the bound is vacuous at the step sizes of "
        "section 5",
        checks.exp_assumptions,
    ),
    Finding(
        "comfedl.dro_gradient",
        "comfedl.theorem_2",
        "(6) in place of (5)",
        "reformulation",
        "constant",
        "the smooth surrogate Phi of (6) is minimised instead of the objective J of (5)",
        "grad J = gamma grad Phi / Phi; with nonnegative losses Phi >= 1 and |grad J| <= gamma |grad Phi|",
        "the theorem bounds the gradient of Phi: subtracting a constant from all losses makes that as small as "
        "one likes and leaves "
        "the gradient of J alone",
        checks.dro_gradient,
    ),
    Finding(
        "comfedl.sigma_max",
        "comfedl.theorem_1",
        "Assumption 3, sigma = max(sigma_1, sigma_2, sigma_3)",
        "units",
        "constant",
        "one number for the noise of an inner Jacobian, an inner value and an outer gradient",
        "G_f^2 G_g sigma_3/sqrt(b_1), G_f G_g^2 sigma_1/sqrt(b) and L_g G_f^2 G_g sigma_2/sqrt(b): one noise per "
        "term, as the proofs have it",
        "the root of the unit findings: the bound is right but too large without limit, depending on the unit in "
        "which y is measured",
        checks.sigma_mixes_dimensions,
    ),
    Finding(
        "comfedl.spectral_variance",
        "comfedl.lemma_3",
        "(30), third difference; proof of Lemma 4, second difference",
        "independence",
        "constant",
        "a Jacobian error averaged over b samples, multiplied by an outer gradient at the same batch, is at most "
        "G_g^2 sigma^2/b",
        "the outer gradient depends on the batch and the norm is spectral, so that the line fails (3/4 > 1/2); "
        "take the differences in "
        "another order, with the outer gradient at the exact inner value last: the lemmas hold with the printed "
        "constants",
        "none for a user: Lemmas 3 and 4 are true as stated, docs/theory/comfedl.md has the order that proves them",
        checks.spectral_variance,
    ),
    Finding(
        "comfedl.outer_independence",
        "comfedl.lemma_3",
        "(30), second difference",
        "independence",
        "constant",
        "the error of the outer gradient at the batch value f_B is at most sigma^2/b_1",
        "that needs the outer batch to be independent of the inner one, which is nowhere stated (4/9 > 2/9 when "
        "one draw serves both); "
        "in the order of docs/theory/comfedl.md the error is taken at a fixed point and no independence is needed",
        "Lemma 3 and Theorem 1 with its + survive for dependent batches; the smaller `corrected` bound does use "
        "independence",
        checks.outer_independence,
    ),
    Finding(
        "comfedl.superfluous_noise",
        "comfedl.theorem_1",
        "terms outer_noise and inner_jacobian_noise; Remark 1, growing b_1",
        "constant",
        "constant",
        "noise of the outer gradient and of the inner Jacobian of order sigma/sqrt(b_1) and sigma/sqrt(b)",
        "no such terms: both average out in the conditional mean, what stays is the bias L_g G_f^2 G_g sigma_2/sqrt(b)",
        "the bound is too large and asks for growing outer batches where b_1 = 1 is enough",
        checks.superfluous_noise,
    ),
    Finding(
        "comfedl.drift_without_local_steps",
        "comfedl.theorem_2",
        "terms estimator_drift and mean_drift",
        "constant",
        "constant",
        "both drift terms are proportional to tau",
        "proportional to (tau - 1)/2, the mean number of steps since the round began",
        "the bound is too large; at tau = 1 it does not reduce to that of stochastic gradient descent",
        checks.drift_without_local_steps,
    ),
    Finding(
        "comfedl.multiplier",
        "comfedl.lemma_1",
        "(18) to (24)",
        "constant",
        "constant",
        "the derivative of r log(n r) is log(n r) + 1/n, hence lambda = gamma/n - J",
        "it is log(n r) + 1, hence lambda = gamma - J; the factor is absorbed by the constraint",
        "the multiplier is wrong by gamma (1 - 1/n); the weights and the value J of Lemma 1 are right",
        checks.multiplier,
    ),
    Finding(
        "comfedl.lemma_2_observable",
        "comfedl.lemma_2",
        "(30) and the proof of Lemma 4, last inequality",
        "index",
        "slip",
        "Lemma 2, which bounds the distance of the mean model, is used for the mean distance of the clients",
        "the larger quantity is bounded on the way, inside (28) (comfedl.lemma_2_step); that line is what Lemmas "
        "3 and 4 need",
        "none for the bounds; whoever checks Lemma 3 by measuring the left side of Lemma 2 measures too little",
        checks.lemma_2_observable,
    ),
    Finding(
        "comfedl.remark_batches",
        "comfedl.remark_1",
        "Remarks 1 and 2, b = 1/T^a and b_1 = 1/T^a",
        "rate",
        "slip",
        "batch sizes that shrink with T",
        "b = T^a, b_1 = T^a; the orders of the remarks follow with these",
        "as printed a batch has less than one sample and the bound grows like sqrt(T)",
        checks.remark_batches,
    ),
    Finding(
        "comfedl.exponent_one",
        "comfedl.remark_1",
        "Remarks 1 and 2, range of the exponent of the step size",
        "rate",
        "slip",
        "the exponent 1 is admitted",
        "it must be below 1: with eta = 1/T the initial gap never fades",
        "at exponent 1 the bound does not tend to 0, and neither does the gradient",
        checks.exponent_one,
    ),
    Finding(
        "comfedl.output",
        "comfedl.theorem_1",
        "Algorithm 1, last line",
        "index",
        "slip",
        "the last iterate is returned",
        "the theorems bound the mean over the server models 0 to S - 1: return one of these, drawn uniformly",
        "nothing is proved about the printed output; its squared gradient can be 1 where the bound is below 1/10",
        checks.output_is_last,
    ),
    Finding(
        "comfedl.no_communication_saving",
        "comfedl.theorem_1",
        "section 3, local steps reduce communication",
        "communication",
        "slip",
        "several local steps per round are said to save communication",
        "at a fixed number of rounds the part of either bound that depends on eta improves by less than 10 per "
        "cent, whatever tau is",
        "the claim may be true, but neither theorem supports it (for L up to G_g L_f + L_g G_f^2, which always works)",
        checks.no_communication_saving,
    ),
    Finding(
        "comfedl.equal_batches",
        "comfedl.theorem_1",
        "condition b = b_1",
        "condition",
        "slip",
        "the two batch sizes are required to be equal",
        "the condition is not used, and Remark 1 chooses them apart",
        "the printed region is smaller than necessary",
        checks.equal_batches_unused,
    ),
    Finding(
        "comfedl.simplex",
        "comfedl.lemma_1",
        "after (8), the set of weights",
        "reformulation",
        "slip",
        "nonnegative weights that sum to 0",
        "weights that sum to 1, as in (3)",
        "read literally, (8) and (9) have one feasible point and the objective 0",
        checks.simplex_sum,
    ),
    Finding(
        "comfedl.typography",
        "comfedl.theorem_1",
        "section 3 before Algorithm 1; Assumption 1; (28); (34)",
        "index",
        "slip",
        "the batch value is a mean of Jacobians, the batch gradient a mean of values, g^i a mean of f^i; L_g "
        "twice and no L_f; "
        "(28) sums over s inside round s; (34) evaluates F at the server model T; eta is also the adaptation step"
        " of (7)",
        "as in Algorithm 1; L_f and L_g; the inner index; the server model S; another letter",
        "none, once read as meant",
        checks.typography,
    ),
)

SECOND_READING = (
    Again("comfedl.remark_1:units", ("comfedl.remark_2:units",)),
    Withdrawn(
        (
            "comfedl.theorem_1:units",
            "comfedl.theorem_2:units",
            "comfedl.lemma_3:units",
            "comfedl.lemma_4:units",
            "comfedl.lemma_3_step:units",
            "comfedl.lemma_4_step:units",
        ),
        "Assumption 3 bounds three noises by the one sigma: one letter, three bounds, no fault; what it costs is comfedl.sigma_max",
    ),
)
"""What was seen again elsewhere, and what did not stand when it was read again with the text beside it."""


# --- printed claims that hold: the docstring is the argument, and the function checks it ---


def theorem_2() -> Evidence:
    """Term by term at least the corrected statement; for the drift of the estimator by squares, with (a + b)^2 <= 2 (a^2 + b^2)
    for a = G_f^2 L_g and b = G_g L_f."""
    from ...registry import get_theorem

    theorem = get_theorem("comfedl.theorem_2")
    printed, corrected = theorem.statement("printed"), theorem.statement("corrected")
    s = theorem.notation.namespace()

    def sides(name: str) -> tuple[sp.Expr, sp.Expr]:
        return printed.expand(printed.term(name).expr), corrected.expand(corrected.term(name).expr)

    others = [term.name for term in corrected.terms if term.name != "estimator_drift"]
    compared = {name: compare_expressions(*sides(name))[0] for name in others}
    left, right = sides("estimator_drift")
    a, b, common = s.G_f**2 * s.L_g, s.G_g * s.L_f, (s.G_f**2 * s.G_g**2 * s.eta) ** 2
    weight = 4 * s.tau**2 - (s.tau - 1) ** 2 / 2
    squares = common * (weight * (a**2 + b**2) + (s.tau - 1) ** 2 * (a - b) ** 2 / 4)
    identity = sp.expand(left**2 - right**2 - squares) == 0
    longer = prove_nonnegative(weight, {s.tau: 1 + slack_symbol("more")}) is not None
    known = set(compared.values()) <= {"equal", "larger"} and printed.conditions == corrected.conditions
    return confirm(known and identity and longer, terms=compared)


HOLDS = (("theorem_2", "printed", theorem_2),)
