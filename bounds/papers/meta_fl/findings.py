"""meta_fl: what only a reader finds, worst first.

The arithmetic of the paper is right: every closed form equals its recursion and every statement is homogeneous.
What is wrong is the meaning of a symbol (Lemma 7), a lost factor (Theorem 8) and a norm (Lemmas 6 and 12). The lost
factor is also found by the audit itself, from the printed and the proved statement; the first finding shows that no
constant repairs it.
"""

from __future__ import annotations

import sympy as sp

from ...audit.findings import Evidence, Finding, confirm
from ...language.notation import slack_symbol
from ...proof.certificates import prove_nonnegative
from . import checks

FINDINGS = (
    Finding(
        "meta_fl.theorem_8_sampling",
        "meta_fl.theorem_8",
        "(30), Appendix G",
        "counterexample",
        "breaks",
        "client sampling costs beta L_F gamma_F^2 (1-r)/(r(n-1)), up to a constant",
        "tau beta L_F gamma_F^2 (1-r)/(r(n-1)): one random set of clients serves all tau steps of a round, and its "
        "errors add up in one direction (statement `composed`, constant 10)",
        "for r < 1 the theorem is false for every constant: two noiseless clients exceed the bound as soon as tau "
        "is about 1000 c; for r = 1 or tau = 1 it is right with c = 10",
        checks.lost_tau,
        reading="any constant hidden in O(1)",
        seen_in=(
            "meta_fl.theorem_8:terms",
            "meta_fl.theorem_8_FO:terms",
            "meta_fl.theorem_8_HF:terms",
            "meta_fl.theorem_8_HF_sampling",
            "meta_fl.remark_9",
        ),
    ),
    Finding(
        "meta_fl.theorem_8_HF_sampling",
        "meta_fl.theorem_8_HF",
        "(30) with (37), (38)",
        "counterexample",
        "breaks",
        "Theorem 8 holds for Hessian-free gradients with the constants of Lemma 11",
        "the same factor tau",
        "false for every constant when r < 1: on quadratics the central difference is exact, and the same two "
        "clients do it",
        checks.lost_tau_hessian_free,
    ),
    Finding(
        "meta_fl.remark_9",
        "meta_fl.theorem_8",
        "Remark 9",
        "rate",
        "breaks",
        "tau = eps^-1/2, K = eps^-3/2 and beta = eps give an eps-stationary point for any participation",
        "for r = 1 only; for r < 1 the bound needs beta tau = O(eps), hence K of order eps^-2 whatever tau is",
        "with r < 1 the schedule leaves an error of order eps^1/2; local steps do not save rounds",
        checks.remark_9,
    ),
    Finding(
        "meta_fl.lemma_7_false",
        "meta_fl.lemma_7",
        "(128) to (140), above all (134) and the first line of (140)",
        "index",
        "breaks",
        "gamma_F of (27) bounds the spread of the meta gradients for every nu",
        "gamma_F = gamma_G A^(2 nu) + alpha B A^(nu-1) (nu gamma_H + alpha rho gamma_G sum_{l<nu} (A^l - 1)/(alpha "
        "L)), A = 1 + alpha L (statement `corrected`, sharp within one per cent)",
        "for nu >= 2 gamma_F is too small, by an unbounded factor and for every alpha > 0: the fine-tuned models "
        "w_l differ from client to client, the proof drops their index; rho, which must appear, does not. nu = 1 is "
        "right",
        checks.lemma_7,
        reading="f of Assumption 5 is the mean of the f_i, as in (1); not for the sum that the line before (18) prints",
        seen_in=("meta_fl.theorem_8_heterogeneity", "meta_fl.full_participation"),
    ),
    Finding(
        "meta_fl.theorem_8_heterogeneity",
        "meta_fl.theorem_8",
        "(30) with gamma_F of (27)",
        "counterexample",
        "breaks",
        "Theorem 8 with gamma_F of Lemma 7",
        "the corrected gamma_F",
        "false for every constant even at tau = 1, for nu = 2, r = 1/2 and alpha much larger than 2/L (for alpha <= "
        "1/L only Lemma 7, not Theorem 8, is refuted this way)",
        checks.theorem_8_through_lemma_7,
        reading="f of Assumption 5 is the mean of the f_i, as in (1); not for the sum that the line before (18) prints",
    ),
    Finding(
        "meta_fl.full_participation",
        "meta_fl.theorem_8",
        "(30) at r = 1, drift of the clients with gamma_F of (27)",
        "counterexample",
        "breaks",
        "with every client taking part the drift costs L_F^2 beta^2 tau (tau-1) gamma_F^2, up to a constant",
        "the corrected gamma_F, or nu = 1",
        "false for every constant at nu = tau = 2: two clients whose gradients differ by 2 eps everywhere have meta gradients -1 "
        "and 1 where they meet, and the local steps leave a bias that does not vanish with eps, unlike the bound",
        checks.full_participation,
        reading="f of Assumption 5 is the mean of the f_i, as in (1); not for the sum that the line before (18) prints",
    ),
    Finding(
        "meta_fl.first_order_bias",
        "meta_fl.lemma_10",
        "(146), (32), (33)",
        "constant",
        "constant",
        "leaving out the Hessians costs B ((1 + alpha L)^nu + 1)",
        "B ((1 + alpha L)^nu - 1)",
        "mu_F is at least 2 B even for tiny alpha, and Theorem 8 for first-order gradients says nothing for any "
        "parameters: its bias term alone exceeds the largest possible squared gradient",
        checks.first_order_bias,
    ),
    Finding(
        "meta_fl.hessian_free_noise",
        "meta_fl.lemma_11",
        "(39), (40), (152), (153), (163)",
        "independence",
        "constant",
        "the noises of the two gradients of a central difference are added: alpha sigma_G/delta",
        "they come from the same batch and cancel up to min(sigma_G/delta, sigma_H ||d||) (statement `corrected`)",
        "the constants go to infinity as delta goes to 0; with the best delta mu_F^2 is of order D^-1/2, not the "
        "1/D of Remark 9",
        checks.hessian_free_noise,
    ),
    Finding(
        "meta_fl.matrix_norm",
        "meta_fl.lemma_12",
        "(15), (17), (69), (107), (112a), footnote 1",
        "assumption",
        "constant",
        "the norm of a matrix is never fixed; (55) and (110) need the spectral norm, (69), (107) and (112a) an "
        "inner product",
        "Frobenius norm in (13), (15), (17), or the constants of step M3, for which the spectral norm is enough",
        "read in the spectral norm (69) and (107) are false (factor 3/2 for two samples); no violation of (23) or "
        "(24) is known",
        checks.spectral_norm,
    ),
    Finding(
        "meta_fl.zero_bias",
        "meta_fl.lemma_6",
        "(95), (123)",
        "constant",
        "constant",
        "the bias contains A^nu sigma_G/sqrt(D_nu) and sqrt(d_nu (sigma_G^2/D_nu + L^2 h'_nu))",
        "both are 0: given the path the last batches are fresh and unbiased; A^nu L h_nu + t_nu B remains",
        "too large: the floor c mu_F^2 of Theorem 8 does not go to 0 with alpha",
        checks.zero_bias_terms,
    ),
    Finding(
        "meta_fl.fourth_moments",
        "meta_fl.lemma_6",
        "(16), (17), (24), (26)",
        "assumption",
        "constant",
        "fourth moments of the gradient and Hessian noise are assumed bounded, for one cross term",
        "no fourth moment is needed: take the noise of each factor conditionally on the vector that it multiplies "
        "(step M3)",
        "too large: sigma_F grows without limit with kappa_G and kappa_H at fixed variances",
        checks.fourth_moments,
    ),
    Finding(
        "meta_fl.powers_of_two",
        "meta_fl.lemma_5",
        "(82), (136): (a + b)^2 <= 2 a^2 + 2 b^2 in every step",
        "constant",
        "constant",
        "for small alpha h'_nu is (3 2^(nu-1) - 2) alpha^2 sigma_G^2/D",
        "nu alpha^2 sigma_G^2/D: the noise of a step is orthogonal to the past",
        "too large, exponentially in nu; the same in g_nu",
        checks.powers_of_two,
    ),
    Finding(
        "meta_fl.central_difference",
        "meta_fl.lemma_11",
        "(34), (156)",
        "constant",
        "constant",
        "the error of the central difference is at most rho delta ||v||^2",
        "rho delta ||v||^2/2, which is attained",
        "q_nu is twice too large",
        checks.central_difference,
    ),
    Finding(
        "meta_fl.output",
        "meta_fl.theorem_8",
        "Algorithm 1, output; Definition 3",
        "assumption",
        "constant",
        "Algorithm 1 returns w_K and is said to find a stationary point",
        "(30) bounds an average over rounds and local steps of models that the server does not form for 0 < t < "
        "tau; return an iterate drawn at random, or say that the average is meant",
        "the theorem says nothing about the model that is returned; it may be worse than the average for every K",
        checks.output,
    ),
    Finding(
        "meta_fl.assumption_5",
        "meta_fl.lemma_7",
        "Assumption 5, line before (18)",
        "assumption",
        "slip",
        "f is the sum of the f_i",
        "their mean, as in (1)",
        "read literally, N > 1 identical clients have heterogeneity (N - 1) B and the automatic choice gamma_G = 2 "
        "B fails",
        checks.assumption_5,
    ),
    Finding(
        "meta_fl.missing_expectation",
        "meta_fl.lemma_6",
        "(24)",
        "undefined",
        "slip",
        "the left side has no expectation (in the text at hand)",
        "E||..||^2, as (127) proves",
        "read literally an almost sure bound, which is false: 100 against 3",
        checks.missing_expectation,
    ),
    Finding(
        "meta_fl.hessian_free_target",
        "meta_fl.lemma_11",
        "(37), (38)",
        "undefined",
        "slip",
        "the distance to grad F_i^HF, which is defined nowhere",
        "the distance to grad F_i, as in (150) and (161)",
        "none, once read that way; it is what Theorem 8 needs",
        checks.hessian_free_target,
    ),
    Finding(
        "meta_fl.no_step_yet",
        "meta_fl.lemma_11",
        "(40) at l = nu",
        "undefined",
        "slip",
        "h'_0 is used, (21) is for l >= 1 and gives a positive number at 0",
        "h'_0 = 0",
        "read from (21) the constant is slightly too large",
        checks.no_step_yet,
    ),
    Finding(
        "meta_fl.no_steps",
        "meta_fl.lemma_6",
        "Lemma 6 (nu > 1), (28), conclusion (nu = 0 is FedAvg)",
        "undefined",
        "slip",
        "Lemma 6 is for nu > 1, Theorem 8 uses it for nu >= 1, the conclusion speaks of nu = 0",
        "it holds for nu = 1 by the initial values; at nu = 0 d_0 is undefined and g_0, gamma_F, mu_F are not FedAvg's",
        "use the printed constants for nu >= 1; the corrected ones hold for nu >= 0 and give FedAvg's at 0",
        checks.no_steps,
    ),
    Finding(
        "meta_fl.one_client",
        "meta_fl.theorem_8",
        "(30), Algorithm 1",
        "undefined",
        "slip",
        "n stands for the number N of clients, and (1-r)/(r(n-1)) is 0/0 for one client",
        "n = N, and 0 when r = 1",
        "the printed bound is undefined for n = 1",
        checks.one_client,
    ),
    Finding(
        "meta_fl.per_fedavg",
        "meta_fl.lemma_4",
        "sanity check after Lemma 4",
        "constant",
        "slip",
        "for alpha <= 1/L the smoothness constant at nu = 1 reduces to 4 L + B alpha rho",
        "is at most that, with equality at alpha = 1/L; gamma_F at nu = 1 is not Per-FedAvg's, neither above nor below",
        "none: the printed constant is the smaller one",
        checks.per_fedavg,
    ),
    Finding(
        "meta_fl.induction_hypothesis",
        "meta_fl.lemma_11",
        "(163), (164b)",
        "assumption",
        "slip",
        "the induction hypothesis is on ||E[d~ - d]||, the next line uses E||d~ - d||",
        "state the induction for E||d~ - d||, which every p_l bounds",
        "none on the constant",
        checks.induction_hypothesis,
    ),
    Finding(
        "meta_fl.misplaced_square",
        "meta_fl.lemma_6",
        "(124a)",
        "index",
        "slip",
        "the Cauchy-Schwarz inequality with (E||e_2||)^2",
        "E||e_2||^2, which the next line uses",
        "none on the constant",
        checks.misplaced_square,
    ),
    Finding(
        "meta_fl.biased_path",
        "meta_fl.lemma_5",
        "Remark 2, Lemma 5",
        "independence",
        "slip",
        "w~_l is called the unbiased estimate of w_l",
        "biased for l >= 2, the gradient being taken at a random point; (20) bounds the bias",
        "none: (20) does not use it",
        checks.biased_path,
    ),
    Finding(
        "meta_fl.wrong_letters",
        "meta_fl.lemma_6",
        "(105), (123); also (112), (120), (157)",
        "index",
        "slip",
        "(105) starts from d_1 = 0, (123) cites Assumption 1 for ||grad f_i|| <= B",
        "t_1 = 0; Assumption 2. In (112) and (120) the condition is on w~_(nu-1), in (157) the last norm is not "
        "squared",
        "none",
        checks.wrong_letters,
    ),
)


# --- printed claims that hold: the docstring is the argument, and the function checks it ---


def first_order_is_vacuous() -> Evidence:
    """The bias term alone is at least the largest value of the left side, so that the bound says nothing: |grad F| is at most
    (1 + alpha L)^nu B, by the chain rule and Assumptions 1 and 2, for every hidden constant c >= 1."""
    from ...registry import get_theorem

    theorem = get_theorem("meta_fl.theorem_8_FO")
    printed, s = theorem.statement("printed"), theorem.notation.namespace()
    largest = s.B**2 * (1 + s.alpha * s.L) ** (2 * s.nu)
    difference = printed.expand(printed.term("bias").expr).xreplace({s.c: 1 + slack_symbol("hidden")}) - largest
    power, sums = slack_symbol("power"), slack_symbol("sums")
    for part in difference.atoms(sp.Function):
        difference = difference.xreplace({part: sums})
    difference = difference.subs((1 + s.alpha * s.L) ** s.nu, power)
    return confirm(prove_nonnegative(difference) is not None, difference=str(difference))


HOLDS = (("theorem_8_FO", "printed", first_order_is_vacuous),)
