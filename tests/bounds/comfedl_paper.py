"""ComFedL in plain Python, written from the paper's text alone: nothing of fedco is imported here."""

from __future__ import annotations

from math import log, sqrt


def ending(G_f, G_g, L, eta, tau):
    return {"mean_drift": L * tau * eta * G_g**2 * G_f**2, "second_order": L * eta / 2 * G_f**2 * G_g**2}


def equation_12(G_f, G_g, L_f, L_g, L, sigma, F_gap, eta, tau, b, b_1, T):
    H = sqrt(G_g**2 * L_f**2 + G_f**4 * L_g**2)
    product_ = sqrt(5) * H * tau * G_g * G_f * eta * sqrt(5) * G_f * sigma / sqrt(b_1)
    return {
        "initialisation": F_gap / (T * eta),
        "drift_times_outer_noise": G_f * G_g * product_,
        "inner_jacobian_noise": G_f * G_g * sqrt(5) * G_g * sigma / sqrt(b),
        "inner_value_noise": G_f * G_g * sqrt(5) * L_g * G_f * sigma / sqrt(b),
        **ending(G_f, G_g, L, eta, tau),
    }


def equation_34(G_f, G_g, L_f, L_g, L, sigma, F_gap, eta, tau, b, b_1, T):
    root = sqrt(5 * (G_g**2 * L_f**2 + G_f**4 * L_g**2))
    return {
        "initialisation": F_gap / (T * eta),
        "estimator_drift": G_f * G_g * root * tau * eta * G_g * G_f,
        "outer_noise": G_f * G_g * sqrt(5) * G_f * sigma / sqrt(b_1),
        "inner_jacobian_noise": G_f * G_g * sqrt(5) * G_g * sigma / sqrt(b),
        "inner_value_noise": G_f * G_g * sqrt(5) * L_g * G_f * sigma / sqrt(b),
        **ending(G_f, G_g, L, eta, tau),
    }


def equation_13(G_f, G_g, L_f, L_g, L, sigma, F_gap, eta, tau, b, T):
    H = sqrt(G_g**2 * L_f**2 + G_f**4 * L_g**2)
    return {
        "initialisation": F_gap / (T * eta),
        "estimator_drift": G_f * G_g * 2 * H * tau * eta * G_g * G_f,
        "inner_jacobian_noise": G_f * G_g * 2 * G_g * sigma / sqrt(b),
        "inner_value_noise": G_f * G_g * 2 * L_g * G_f * sigma / sqrt(b),
        **ending(G_f, G_g, L, eta, tau),
    }


def repaired(G_f, G_g, L_f, L_g, L, sigma, F_gap, eta, tau, b, T):
    """docs/theory/comfedl.md, the display of the section on `corrected`."""
    steps, G = (tau - 1) / 2, G_f * G_g
    return {
        "initialisation": F_gap / (T * eta),
        "estimator_drift": steps * eta * (G_g * L_f + L_g * G_f**2) * G**2,
        "mean_drift": steps * eta * L * G**2,
        "inner_value_noise": L_g * G_f**2 * G_g * sigma / sqrt(b),
        "second_order": L * eta / 2 * G**2,
    }


def equation_28(G_f, G_g, eta, t):
    return {"drift": t**2 * eta**2 * G_g**2 * G_f**2}


def lemma_2(G_f, G_g, eta, tau):
    return {"drift": tau**2 * eta**2 * G_g**2 * G_f**2}


def equation_30(G_f, G_g, L_f, L_g, sigma, b, b_1, client_drift_sq, factor=5):
    return {
        "drift": factor * G_g**2 * L_f**2 * client_drift_sq + factor * G_f**4 * L_g**2 * client_drift_sq,
        "outer_noise": factor * G_f**2 * sigma**2 / b_1,
        "inner_jacobian_noise": factor * G_g**2 * sigma**2 / b,
        "inner_value_noise": factor * L_g**2 * G_f**2 * sigma**2 / b,
    }


def equation_29(G_f, G_g, L_f, L_g, sigma, eta, tau, b, b_1):
    return equation_30(G_f, G_g, L_f, L_g, sigma, b, b_1, tau**2 * eta**2 * G_g**2 * G_f**2)


def before_37(G_f, G_g, L_f, L_g, sigma, b, client_drift_sq):
    terms = equation_30(G_f, G_g, L_f, L_g, sigma, b, 1, client_drift_sq, factor=4)
    del terms["outer_noise"]
    return terms


def equation_37(G_f, G_g, L_f, L_g, sigma, eta, tau, b):
    return before_37(G_f, G_g, L_f, L_g, sigma, b, tau**2 * eta**2 * G_g**2 * G_f**2)


def equation_32(G_f, G_g, L, eta, gradient_sq, estimator_error, mean_drift):
    return {
        "descent": -eta * gradient_sq,
        "estimator": eta * G_f * G_g * estimator_error,
        "mean_drift": eta * L * G_f * G_g * mean_drift,
        "second_order": L * eta**2 / 2 * G_f**2 * G_g**2,
    }


def lemma_1(gamma, n, mean_exp):
    return {"J": gamma * log(mean_exp), "lam": gamma / n - gamma * log(mean_exp)}


def lemma_1_with_the_right_multiplier(gamma, mean_exp):
    return lemma_1(gamma, 1, mean_exp)


PRINTED_AND_COMPOSED = {
    "lemma_1": lemma_1,
    "theorem_2": equation_13,
    "lemma_2": lemma_2,
    "lemma_2_step": equation_28,
    "lemma_3": equation_29,
    "lemma_3_step": equation_30,
    "lemma_4": equation_37,
    "lemma_4_step": before_37,
    "descent": equation_32,
}
PAPER = {
    (name, label): formula for name, formula in PRINTED_AND_COMPOSED.items() for label in ("printed", "composed")
} | {
    ("lemma_1", "corrected"): lemma_1_with_the_right_multiplier,
    ("theorem_1", "printed"): equation_12,
    ("theorem_1", "composed"): equation_34,
    ("theorem_1", "corrected"): repaired,
    ("theorem_2", "corrected"): repaired,
    ("remark_1", "printed"): equation_34,
    ("remark_2", "printed"): equation_13,
}

TAU_ROUNDS = {"whole_rounds": lambda v: (v["T"] / v["tau"], ">=", 1)}
REMARK_2 = TAU_ROUNDS | {
    "eta_choice": lambda v: (v["eta"] * v["T"] ** 0.5, "==", 1),
    "b_choice": lambda v: (v["b"] * v["T"], "==", 1),
    "b_one_sample": lambda v: (v["b"], ">=", 1),
}
CONDITIONS = {
    **{(f"theorem_{i}", label): TAU_ROUNDS for i in (1, 2) for label in ("printed", "composed", "corrected")},
    ("theorem_1", "printed"): {"equal_batches": lambda v: (v["b"] / v["b_1"], "==", 1)} | TAU_ROUNDS,
    ("remark_2", "printed"): REMARK_2,
    ("remark_1", "printed"): REMARK_2
    | {"b_1_choice": lambda v: (v["b_1"] * v["T"], "==", 1), "b_1_one_sample": lambda v: (v["b_1"], ">=", 1)},
}
