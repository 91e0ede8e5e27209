"""Generalised meta FL (Jamali, Saber, Bae): Lemmas 4 to 7, 10 to 12 and Theorem 8 with exact, first-order (FO) and
Hessian-free (HF) gradients.

Problem: F(w) = (1/N) sum_i f_i(w_nu^i), w_nu^i being nu gradient steps of size alpha on f_i from w. `printed` takes
    one batch size D for gradients and D_H for Hessians and the sums as printed, the number of steps nu staying a
    symbol; where the paper gives a recursion only, it stands as a function of nu that is unrolled when nu is a
    number. Batch sizes that differ from step to step: `constants.printed` and `corrected.corrected`; a statement has one
    size for all steps, and so has what the kernel checks.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from ...language import bounding
from ...language.bounding import (
    AVERAGE,
    DIFFERENTIABLE,
    FRESH,
    INDEPENDENT,
    MEAN_SQUARE,
    ONE_LAW,
    PARTICIPANTS,
    PATH_SQ,
    SEPARATE,
    SMOOTH_FUNCTIONS,
    SMOOTH_SAMPLES,
    STARTS,
    UNIFORM_SET,
    Form,
    lipschitz,
    size,
    unlike,
)
from ...language.dimension import OBJECTIVE, VARIABLE
from ...language.notation import Notation
from ...language.theorem import Assumption, Condition, Derived, Metric, Source, Statement, Term, Theorem, whole_number
from . import composed as proof
from . import constants as constants
from . import corrected
from .costs import costs

NOTATION = Notation(
    "meta_fl",
    (
        ("B", "B", "local_gradient_bound"),
        ("L", "L", "local_smoothness"),
        ("rho", r"\rho", "local_hessian_lipschitz"),
        ("sigma_G", r"\sigma_G", "local_gradient_noise"),
        ("sigma_H", r"\sigma_H", "local_hessian_noise"),
        ("kappa_G", r"\kappa_G", "local_gradient_fourth_moment"),
        ("kappa_H", r"\kappa_H", "local_hessian_fourth_moment"),
        ("gamma_G", r"\gamma_G", "local_gradient_heterogeneity"),
        ("gamma_H", r"\gamma_H", "local_hessian_heterogeneity"),
        ("F_gap", r"(F(w_0)-F^*)", "objective_gap"),
        ("alpha", r"\alpha", "fine_tuning_step_size"),
        ("nu", r"\nu", "fine_tuning_steps"),
        ("D", "D", "batch_size"),
        ("D_H", "D'", "hessian_batch_size"),
        ("delta", r"\delta", "difference_step"),
        ("beta", r"\beta", "step_size"),
        ("tau", r"\tau", "communication_period"),
        ("r", "r", "participation"),
        ("n", "n", "clients"),
        ("K", "K", "rounds"),
        ("c", "c", "hidden_constant"),
    ),
)
s = NOTATION.namespace()
nu = s.nu

GRADIENT = OBJECTIVE / VARIABLE
STATIONARITY = Metric(
    "(1/(tau K)) sum_{k,t} E||grad F(wbar_{k+1,t})||^2",
    r"\frac{1}{\tau K}\sum_{k=0}^{K-1}\sum_{t=0}^{\tau-1}\mathbb{E}\|\nabla F(\bar w_{k+1,t})\|^2",
    GRADIENT**2,
    "average over the rounds and the local steps, at the mean of the iterates of the clients that take part",
    PARTICIPANTS,
)
MOMENTS = Metric(
    "||E e||, (E||e||^2)^(1/2), e = estimate of grad F_i - grad F_i",
    r"\|\mathbb{E}e\|,\ (\mathbb{E}\|e\|^2)^{1/2},\quad e=\tilde\nabla F_i(w)-\nabla F_i(w)",
    GRADIENT,
    "mean error and root mean square error of a client's estimate, at every w",
)
PATH = Metric(
    "moments of ||w~_nu - w_nu||",
    r"\mathbb{E}\|\tilde w_\nu-w_\nu\|^m,\ m=1,2,4",
    VARIABLE,
    "first, second and fourth moment of the error of the fine-tuned model; the dimension is that of the first",
)
ASSUMPTIONS = (
    Assumption("1", "every f_i is bounded below", ("F_gap",)),
    Assumption(
        "2",
        "every f_i is twice continuously differentiable, ||grad f_i|| <= B, grad f_i is L-Lipschitz",
        ("B", "L"),
        (DIFFERENTIABLE, SMOOTH_FUNCTIONS),
    ),
    Assumption("3", "every Hessian of f_i is rho-Lipschitz", ("rho",)),
    Assumption(
        "4",
        "one sample: variances sigma_G^2, sigma_H^2 and fourth moments kappa_G, kappa_H of gradient and Hessian",
        ("sigma_G", "sigma_H"),
    ),
    Assumption(
        "5",
        "(1/N) sum ||grad f_i - grad f||^2 <= gamma_G^2, the same for Hessians with gamma_H; f is the mean of the f_i",
        ("gamma_G", "gamma_H"),
    ),
    Assumption(
        "batches",
        "the batches of a local step are independent of each other, of everything before and of the choice of clients; "
        "samples in a batch are independent and unbiased, with one law",
        says=(FRESH, INDEPENDENT, SEPARATE, ONE_LAW),
    ),
    Assumption(
        "start", "the fine-tuning of every client, with and without noise, starts at the model w", says=(STARTS,)
    ),
    Assumption(
        "drawn clients",
        "in each round a uniform random set of r n clients, r n a whole number, takes part; they start from one model",
        ("r",),
        (UNIFORM_SET, STARTS),
    ),
    Assumption(
        "not stated: sample losses",
        "every sample's loss is twice continuously differentiable (Hessian-free only)",
        says=(SMOOTH_SAMPLES,),
    ),
)
WHOLE_PARTICIPANTS = whole_number("whole_participants", s.r * s.n, "so many clients take part in a round")


def _theorem(
    name: str,
    kind: str,
    title: str,
    where: tuple[str, str],
    metric: Metric,
    compared_where: tuple[Condition, ...] = (),
    **labelled: Statement | Callable[[], Statement],
) -> Theorem:
    source = Source("meta_fl", *where)
    return Theorem(
        f"meta_fl.{name}",
        kind,
        title,
        source,
        NOTATION,
        metric,
        labelled,
        ASSUMPTIONS,
        compared_where=compared_where,
        problem="meta",
        costs=costs,
        multiples=(WHOLE_PARTICIPANTS,),
    )


SOME_STEPS = Condition("steps", nu, ">=", sp.Integer(1), "the paper takes nu in {1, 2, ...}")

# --- Lemma 4: smoothness ---------------------------------------------------------------------------------------------

L_F = Derived(
    "L_F",
    constants.smoothness(s, nu),
    "L_F",
    "Lipschitz constant of grad F and of every grad F_i",
    (lipschitz("meta_gradient"),),
)
C_NU = Derived("c_nu", constants.c(s, nu), r"c_\nu", "recursion (63) from c_1 = alpha rho, (60)")
LEMMA_4 = _theorem(
    "lemma_4",
    "lemma",
    "smoothness of F",
    ("Lemma 4", "19"),
    Metric("L_F", "L_F", OBJECTIVE / VARIABLE**2, "Lipschitz constant of grad F and of every grad F_i"),
    printed=Statement("printed", (), derived=(L_F,)),
    composed=lambda: proof.lemma_4(s, C_NU),
)

# --- Lemmas 12 and 5: batches, and the path of the fine-tuning steps -------------------------------------------------

LEMMA_12 = _theorem(
    "lemma_12",
    "lemma",
    "fourth moments of a batch",
    ("Lemma 12", "68"),
    Metric("fourth moments of the batch means", r"\mathbb{E}\|\tilde\nabla f_i-\nabla f_i\|^4", GRADIENT**4),
    printed=Statement(
        "printed",
        (),
        derived=(
            Derived("kbar_G", constants.fourth(s.kappa_G, s.sigma_G, s.D), r"\bar\kappa_G", "gradient, (68)"),
            Derived("kbar_H", constants.fourth(s.kappa_H, s.sigma_H, s.D_H), r"\bar\kappa_H", "Hessian, (69)"),
        ),
        note="(69) needs a norm with an inner product, such as the Frobenius norm",
    ),
    composed=lambda: proof.lemma_12(s),
)

H_NU = Derived("h_nu", constants.one_h(s, nu), r"h_\nu", "first moment, (20)")
H2_NU = Derived("h2_nu", constants.one_h2(s, nu), r"h'_\nu", "second moment, (21)")
H4_NU = Derived("h4_nu", constants.one_h4(s, nu), r"h''_\nu", "fourth moment, (22)")
STEPWISE = (
    Derived("h_nu", constants.h(s, nu), r"h_\nu", "first moment, recursion (77) from (76)"),
    Derived("h2_nu", constants.h2(s, nu), r"h'_\nu", "second moment, recursion (82) from (81)"),
    Derived("h4_nu", constants.h4(s, nu), r"h''_\nu", "fourth moment, recursion (86) from (85)"),
)
CORRECTED_H2 = Derived(
    "h2_nu", corrected.one_h2(s, nu), r"h'_\nu", "second moment, step M2", (Form(PATH_SQ, "fine_tuned_model"),)
)
CORRECTED_H = Derived(
    "h_nu", sp.sqrt(CORRECTED_H2.symbol), r"h_\nu", "first moment, step M2", (Form(bounding.PATH, "fine_tuned_model"),)
)
LEMMA_5 = _theorem(
    "lemma_5",
    "lemma",
    "error of the fine-tuned model",
    ("Lemma 5", "20"),
    PATH,
    printed=Statement("printed", (), (SOME_STEPS,), (H_NU, H2_NU, H4_NU), note="stated for l = 1..nu, here at l = nu"),
    composed=Statement("composed", (), (SOME_STEPS,), STEPWISE, note="the recursions of Appendix D"),
    corrected=Statement(
        "corrected", (), (), (CORRECTED_H2, CORRECTED_H), note="step M2 of docs/theory/meta_fl.md; no fourth moment"
    ),
)

BIAS, MOMENT = (size("estimate_error"),), (size("estimate_error", MEAN_SQUARE),)

# --- Lemma 6: bias and second moment of the exact estimate -----------------------------------------------------------

D_NU = Derived("d_nu", constants.d(s, nu), r"d_\nu", "recursion (25) from d_1 = alpha^2 sigma_H^2/D'_0")
D4_NU = Derived("d4_nu", constants.d4(s, nu), r"d'_\nu", "recursion (26) from (115)")
T_NU = Derived("t_nu", constants.t(s, nu), r"t_\nu", "recursion (103) from t_1 = 0")
MU_F = Derived(
    "mu_F",
    constants.bias(s, nu, H_NU.symbol, constants.one_h_sum(s, nu), H2_NU.symbol, D_NU.symbol),
    r"\mu_F",
    "bias, (23)",
)
SIGMA_F = Derived(
    "sigma_F",
    sp.sqrt(constants.second_moment(s, nu, H2_NU.symbol, H4_NU.symbol, D_NU.symbol, D4_NU.symbol)),
    r"\sigma_F",
    "root of (24)",
)
EXACT = (H_NU, H2_NU, H4_NU, D_NU, D4_NU, MU_F, SIGMA_F)
CORRECTED_MU = Derived(
    "mu_F", corrected.bias(s, nu, CORRECTED_H.symbol, corrected.h_sum(s, nu)), r"\mu_F", "bias, step M3", BIAS
)
CORRECTED_SIGMA = Derived(
    "sigma_F", sp.sqrt(corrected.v(s, nu)), r"\sigma_F", "root of the second moment, step M3", MOMENT
)
CORRECTED_EXACT = (CORRECTED_H2, CORRECTED_H, CORRECTED_MU, CORRECTED_SIGMA)
LEMMA_6 = _theorem(
    "lemma_6",
    "lemma",
    "bias and second moment of the exact gradient estimate",
    ("Lemma 6", "23"),
    MOMENTS,
    printed=Statement(
        "printed",
        (),
        (Condition("steps", nu, ">", sp.Integer(1), "stated for nu > 1"),),
        EXACT,
        note="(24) is printed without the expectation of its left side",
    ),
    composed=lambda: proof.lemma_6(s, (*STEPWISE, D_NU, D4_NU, T_NU), SOME_STEPS),
    corrected=Statement(
        "corrected", (), (), CORRECTED_EXACT, note="step M3 of docs/theory/meta_fl.md; no fourth moment"
    ),
)

# --- Lemma 7: heterogeneity ------------------------------------------------------------------------------------------

G_NU = Derived("g_nu", constants.one_g(s, nu), r"g_\nu", "(28)")
GAMMA_F = Derived("gamma_F", sp.sqrt(constants.heterogeneity(s, nu, G_NU.symbol)), r"\gamma_F", "root of (27)")
CORRECTED_GAMMA = Derived(
    "gamma_F", corrected.heterogeneity(s, nu), r"\gamma_F", "step M6", (unlike("meta_gradient", over=AVERAGE),)
)
LEMMA_7 = _theorem(
    "lemma_7",
    "lemma",
    "heterogeneity of the meta functions",
    ("Lemma 7", "27"),
    Metric(
        "(1/N) sum_i ||grad F_i - grad F||^2",
        r"\frac1N\sum_i\|\nabla F_i(w)-\nabla F(w)\|^2",
        GRADIENT**2,
        "how far apart the clients' meta gradients are, at every w",
        bounds=(unlike("meta_gradient", over=AVERAGE),),
    ),
    printed=Statement("printed", (Term("heterogeneity", GAMMA_F.symbol**2),), (SOME_STEPS,), (G_NU, GAMMA_F)),
    composed=lambda: proof.lemma_7(s, SOME_STEPS),
    corrected=Statement(
        "corrected",
        (Term("heterogeneity", CORRECTED_GAMMA.symbol**2),),
        (),
        (CORRECTED_GAMMA,),
        note="step M6 of docs/theory/meta_fl.md; depends on rho",
    ),
)

# --- Lemmas 10 and 11: the two approximations ------------------------------------------------------------------------

FIRST_ORDER = (
    H_NU,
    H2_NU,
    Derived("mu_F_FO", constants.bias_first_order(s, nu, H_NU.symbol), r"\mu_F^{FO}", "bias, (32)"),
    Derived(
        "sigma_F_FO",
        sp.sqrt(constants.second_moment_first_order(s, nu, H2_NU.symbol)),
        r"\sigma_F^{FO}",
        "root of (33)",
    ),
)
CORRECTED_MU_FO = Derived(
    "mu_F_FO", corrected.bias_first_order(s, nu, CORRECTED_H.symbol), r"\mu_F^{FO}", "bias, step M4", BIAS
)
CORRECTED_SIGMA_FO = Derived(
    "sigma_F_FO",
    sp.sqrt(corrected.second_moment_first_order(s, nu, CORRECTED_MU_FO.symbol)),
    r"\sigma_F^{FO}",
    "root of the second moment, step M4",
    MOMENT,
)
CORRECTED_FIRST_ORDER = (CORRECTED_H2, CORRECTED_H, CORRECTED_MU_FO, CORRECTED_SIGMA_FO)
LEMMA_10 = _theorem(
    "lemma_10",
    "lemma",
    "bias and second moment of the first-order estimate",
    ("Lemma 10", "32"),
    MOMENTS,
    printed=Statement("printed", (), (SOME_STEPS,), FIRST_ORDER),
    composed=lambda: proof.lemma_10(s, STEPWISE, SOME_STEPS),
    corrected=Statement("corrected", (), (), CORRECTED_FIRST_ORDER, note="step M4 of docs/theory/meta_fl.md"),
)

P_NU = Derived("p_nu", constants.p(s, nu), r"p_\nu", "recursion (39) from p_0 = sigma_G/sqrt(D_nu) + L h_nu")
P2_NU = Derived(
    "p2_nu", constants.p2(s, nu), r"p'_\nu", "recursion (40) from p'_0 = sigma_G^2/D_nu + L^2 h'_nu, h'_0 = 0"
)
Q_NU = Derived("q_nu", constants.one_q(s, nu), r"q_\nu", "(41)")
HESSIAN_FREE = (
    P_NU,
    P2_NU,
    Q_NU,
    Derived("mu_F_HF", P_NU.symbol + Q_NU.symbol, r"\mu_F^{HF}", "bias, (37)"),
    Derived("sigma_F_HF", sp.sqrt(2 * P2_NU.symbol + 2 * Q_NU.symbol**2), r"\sigma_F^{HF}", "root of (38)"),
)
CORRECTED_HESSIAN_FREE = (
    CORRECTED_H2,
    CORRECTED_H,
    CORRECTED_MU,
    Derived("mu_F_HF", CORRECTED_MU.symbol + corrected.b_HF(s, nu), r"\mu_F^{HF}", "bias, step M5", BIAS),
    Derived("q_nu", constants.one_q(s, nu) / 2, r"q_\nu", "step M5: half of (41)"),
    Derived(
        "sigma_F_HF",
        sp.sqrt(corrected.v_HF(s, nu)) + Q_NU.symbol,
        r"\sigma_F^{HF}",
        "root of the second moment, step M5",
        MOMENT,
    ),
)
LEMMA_11 = _theorem(
    "lemma_11",
    "lemma",
    "bias and second moment of the Hessian-free estimate",
    ("Lemma 11", "37"),
    MOMENTS,
    printed=Statement(
        "printed",
        (),
        (SOME_STEPS,),
        HESSIAN_FREE,
        note="the left sides are printed with a gradient that is never defined; the proof has grad F_i, as here",
    ),
    composed=lambda: proof.lemma_11(s, (P_NU, P2_NU), constants.q(s, nu), SOME_STEPS),
    corrected=Statement("corrected", (), (), CORRECTED_HESSIAN_FREE, note="step M5 of docs/theory/meta_fl.md"),
)

# --- Theorem 8 -------------------------------------------------------------------------------------------------------

STEP_SIZE = Condition("step_size", s.beta, "<=", 1 / (10 * s.tau * L_F.symbol), "beta <= 1/(10 tau L_F)")
PARTICIPATION = (
    Condition("participation", s.r, "<=", sp.Integer(1), "r is a fraction of the clients"),
    Condition("participants", s.r * s.n, ">=", sp.Integer(1), "at least one client takes part"),
)

HIDDEN = Condition(
    "hidden_constant", s.c, "==", sp.Integer(10), "the constant that the proof in docs/theory/meta_fl.md gives"
)


def _theorem_8(
    suffix: str, title: str, where: str, parts: tuple[Derived, ...], sharper: tuple[Derived, ...]
) -> Theorem:
    """(30) with the bias and second moment of one kind of gradient estimate.

    Args:
        parts: the printed constants of the estimate, up to mu_F and sigma_F; what Theorem 8 does not need is left out.
        sharper: the corrected ones.
    """
    mu, sigma = (next(d for d in parts if d.name == f"{name}_F{suffix}") for name in ("mu", "sigma"))
    x, apart = s.beta * L_F.symbol, s.tau * (s.tau - 1)
    noise, spread = sigma.symbol**2, GAMMA_F.symbol**2
    printed = Statement(
        "printed",
        (
            Term("initialisation", 4 * s.F_gap / (s.beta * s.tau * s.K)),
            Term("noise", s.c * x * noise, "variance"),
            Term("drift_noise", s.c * x**2 * apart * noise, "drift"),
            Term("sampling", s.c * x * spread * (1 - s.r) / (s.r * (s.n - 1)), "heterogeneity"),
            Term("drift_heterogeneity", s.c * x**2 * apart * spread, "drift"),
            Term("bias", s.c * mu.symbol**2),
        ),
        (STEP_SIZE, *PARTICIPATION, SOME_STEPS),
        (L_F, *parts, G_NU, GAMMA_F),
        note="c is the constant that the paper hides in O(1); n is the number N of clients",
    )
    return _theorem(
        f"theorem_8{suffix}",
        "theorem",
        f"convergence of generalised meta FL, {title}",
        (where, "30"),
        STATIONARITY,
        (*PARTICIPATION, SOME_STEPS, HIDDEN),
        printed=printed,
        composed=lambda: proof.theorem_8(
            s, "composed", (L_F, *parts, G_NU, GAMMA_F), (STEP_SIZE, *PARTICIPATION, SOME_STEPS), suffix
        ),
        corrected=lambda: proof.theorem_8(
            s, "corrected", (L_F, *sharper, CORRECTED_GAMMA), (STEP_SIZE, *PARTICIPATION), suffix
        ),
    )


THEOREM_8 = _theorem_8("", "exact gradients", "Theorem 8", EXACT, CORRECTED_EXACT)
THEOREM_8_FO = _theorem_8("_FO", "first-order gradients", "Theorem 8 with Lemma 10", FIRST_ORDER, CORRECTED_FIRST_ORDER)
THEOREM_8_HF = _theorem_8(
    "_HF", "Hessian-free gradients", "Theorem 8 with Lemma 11", HESSIAN_FREE, CORRECTED_HESSIAN_FREE
)

THEOREMS = (
    LEMMA_4,
    LEMMA_5,
    LEMMA_6,
    LEMMA_7,
    THEOREM_8,
    LEMMA_10,
    THEOREM_8_FO,
    LEMMA_11,
    THEOREM_8_HF,
    LEMMA_12,
)
