"""Local-SCGDM in plain Python, written from the paper's text alone: nothing of fedco is imported here."""

from __future__ import annotations

from math import sqrt


def equation_6(
    C_f, C_g, L_f, L_g, sigma_f, sigma_g, delta_g, F_gap, alpha, beta, gamma, eta, p, T, noise=2, letter=None
):
    L_F, letter = C_g**2 * L_f + C_f * L_g, L_g if letter is None else letter
    return {
        "initial_gap": 2 * F_gap / (beta * eta * T),
        "initial_momentum": 6
        * (C_g**2 * sigma_f**2 + C_g**2 * L_f**2 * delta_g**2 + C_f**2 * sigma_g**2)
        / (alpha * eta * T),
        "initial_inner": 4 * C_g**2 * letter**2 * delta_g**2 / (gamma * eta * T),
        "inner_noise": noise * gamma * eta * C_g**2 * L_f**2 * delta_g**2,
        "gradient_noise": noise * alpha * eta * (C_g**2 * sigma_f**2 + C_f**2 * sigma_g**2),
        "inner_noise_second": noise * gamma**2 * eta**2 * C_g**2 * L_f**2 * delta_g**2,
        "drift": 32
        * (p * beta * eta * L_F) ** 2
        * (16 * C_g**2 * L_f**2 * delta_g**2 + C_g**2 * sigma_f**2 + 3 * C_f**2 * sigma_g**2),
    }


def composed(**v):
    return equation_6(**v, noise=4, letter=v["L_f"])


def repaired(C_f, C_g, L_f, L_g, sigma_f, sigma_g, delta_g, F_gap, alpha, beta, gamma, eta, p, T):
    """The table of the memo, case (A)."""
    k, w, c = (C_g * L_f * delta_g) ** 2, gamma * eta, alpha * eta
    noise = (C_g * sigma_f) ** 2 + 2 * (C_f * sigma_g) ** 2
    return {
        "initial_gap": 2 * F_gap / (beta * eta * T),
        "initial_momentum": (noise + 2 * k) / (c * T),
        "initial_inner": 16 * k / (3 * w * T),
        "inner_noise": 8 * k * w / 3,
        "gradient_noise": c * noise,
        "inner_noise_second": 2 * k * w**2,
        "inner_disagreement": 8 * p * k * w**2 / 3,
        "drift": (32 * C_g**4 * L_f**2 / 3 + 8 * (C_f * L_g) ** 2) * ((p - 1) * beta * eta * C_f * C_g) ** 2,
    }


def equation_11(C_f, C_g, L_f, sigma_f, sigma_g, alpha, beta, eta, momentum_sq, momentum_error, next_inner_error):
    return lemma_4_1(
        C_f, C_g, L_f, sigma_f, sigma_g, alpha, beta, eta, momentum_sq, momentum_error, next_inner_error, L_f
    )


def lemma_4_1(C_f, C_g, L_f, sigma_f, sigma_g, alpha, beta, eta, momentum_sq, momentum_error, next_inner_error, letter):
    return {
        "momentum_error": (1 - alpha * eta) * momentum_error,
        "inner_error": 2 * alpha * eta * C_g**2 * L_f**2 * next_inner_error,
        "momentum": 2 * eta * beta**2 * letter**2 / alpha * momentum_sq,
        "gradient_noise": 2 * alpha**2 * eta**2 * (C_g**2 * sigma_f**2 + C_f**2 * sigma_g**2),
    }


def equation_25(L_g, **v):
    return lemma_4_1(**v, letter=v["C_g"] ** 2 * v["L_f"] + v["C_f"] * L_g)


def lemma_4_1_between_communications(L_g, **v):
    """docs/theory/local_scgdm.md, section 5: the bias costs 2 alpha eta, the noise (alpha eta)^2, with 2 for the sample Jacobian."""
    noise = v["C_g"] ** 2 * v["sigma_f"] ** 2 + 2 * v["C_f"] ** 2 * v["sigma_g"] ** 2
    return equation_25(L_g, **v) | {"gradient_noise": (v["alpha"] * v["eta"]) ** 2 * noise}


def lemma_a_2_for_identical_clients(C_f, C_g, L_f, L_g, sigma_f, sigma_g, consensus_error, inner_consensus):
    return {
        "drift": 4 * C_f**2 * L_g**2 * consensus_error,
        "inner_consensus": 4 * C_g**2 * L_f**2 * inner_consensus,
        "outer_noise": 4 * C_g**2 * sigma_f**2,
        "jacobian_noise": 4 * C_f**2 * sigma_g**2,
    }


def equation_12(C_g, delta_g, beta, gamma, eta, momentum_sq, inner_error):
    return {
        "momentum": eta * beta**2 * C_g**2 / gamma * momentum_sq,
        "inner_noise": gamma**2 * eta**2 * delta_g**2,
        "inner_error": (1 - gamma * eta) * inner_error,
    }


def equation_13(C_f, C_g, L_f, sigma_f, sigma_g, delta_g, beta, eta, p, L_g=None, alpha=None, gamma=None):
    scale = (p * beta * eta) ** 2
    return {
        "inner_noise": 256 * scale * C_g**2 * L_f**2 * delta_g**2,
        "outer_noise": 16 * scale * C_g**2 * sigma_f**2,
        "jacobian_noise": 48 * scale * C_f**2 * sigma_g**2,
    }


def lemma_4_3_by_the_gradients(C_f, C_g, beta, eta, p):
    """docs/theory/local_scgdm.md, step 5."""
    return {"drift": ((p - 1) * beta * eta * C_f * C_g) ** 2}


def equation_27(C_g, delta_g, p, consensus_sum, gamma=None, eta=None):
    return {"inner_noise": 8 * p * delta_g**2, "drift": 8 * C_g**2 * consensus_sum}


def equation_33(C_f, C_g, L_f, L_g, sigma_f, sigma_g, inner_consensus, consensus_error):
    return {
        "drift": 48 * C_f**2 * L_g**2 * consensus_error,
        "inner_consensus": 16 * C_g**2 * L_f**2 * inner_consensus,
        "outer_noise": 8 * C_g**2 * sigma_f**2,
        "jacobian_noise": 24 * C_f**2 * sigma_g**2,
    }


def equation_15(C_f, C_g, L_f, L_g, beta, eta, gradient_sq, momentum_sq, momentum_error, consensus_error):
    step = beta * eta
    return {
        "descent": -step / 2 * gradient_sq,
        "momentum": -step / 4 * momentum_sq,
        "momentum_error": step * momentum_error,
        "drift": step * (C_g**2 * L_f + C_f * L_g) ** 2 * consensus_error,
    }


def equation_17(C_f, C_g, L_f, L_g, sigma_f, sigma_g, delta_g, alpha, beta, gamma, eta, gradient_sq, consensus_error):
    k = C_g**2 * L_f**2 * delta_g**2
    return {
        "descent": -beta * eta / 2 * gradient_sq,
        "drift": beta * eta * (C_g**2 * L_f + C_f * L_g) ** 2 * consensus_error,
        "inner_noise": 2 * beta * gamma * eta**2 * k,
        "gradient_noise": 2 * alpha * beta * eta**2 * (C_g**2 * sigma_f**2 + C_f**2 * sigma_g**2),
        "inner_noise_second": 2 * beta * gamma**2 * eta**3 * k,
    }


def equation_40(momentum_sq, **v):
    a, b, c, e = (v[name] for name in ("alpha", "beta", "gamma", "eta"))
    coupled, smooth = v["C_g"] ** 4 * v["L_f"] ** 2, v["C_g"] ** 2 * v["L_f"] + v["C_f"] * v["L_g"]
    return equation_17(**v) | {
        "momentum_inner": (2 * e * b**3 * coupled / c**2 + 2 * e**2 * b**3 * coupled / c) * momentum_sq,
        "momentum": (2 * e * b**3 * smooth**2 / a**2 - b * e / 4) * momentum_sq,
    }


def remark_3_6(C_f, C_g, L_f, L_g):
    return {"limit": 1 / sqrt(16 * C_g**4 * L_f**2 + 8 * (C_g**2 * L_f + C_f * L_g) ** 2)}


def remark_3_7(T):
    return {"rounds": T**0.75}


def lemma_3_9(L_1, L_2, sigma_1, sigma_2, G, lam):
    return {
        "L_f": L_1,
        "L_g": lam * L_2,
        "C_f": sqrt(G**2 + sigma_1**2),
        "C_g": sqrt((1 + lam * L_1) ** 2 + (lam * sigma_2) ** 2),
        "sigma_f": sigma_1,
        "sigma_g": lam * sigma_2,
        "delta_g": lam * sigma_1,
        "L_F": (1 + lam * L_1) ** 2 * L_1 + G * lam * L_2,
    }


def lemma_3_9_corrected(**v):
    return lemma_3_9(**v) | {
        "C_g": 1 + v["lam"] * (v["L_1"] + v["sigma_2"]),
        "sigma_f": sqrt(v["G"] ** 2 + v["sigma_1"] ** 2),
    }


def equation_44(delta_g):
    return {"inner_noise": delta_g**2}


PAPER = {
    ("lemma_3_9", "printed"): lemma_3_9,
    ("lemma_3_9", "composed"): lemma_3_9,
    ("lemma_3_9", "corrected"): lemma_3_9_corrected,
    ("theorem_3_4", "printed"): equation_6,
    ("theorem_3_4", "composed"): composed,
    ("theorem_3_4", "corrected"): repaired,
    ("corollary_3_5", "printed"): equation_6,
    ("corollary_3_5", "composed"): composed,
    ("corollary_3_5", "corrected"): repaired,
    ("lemma_4_1", "printed"): equation_11,
    ("lemma_4_1", "composed"): equation_25,
    ("lemma_4_1", "corrected"): lemma_4_1_between_communications,
    ("lemma_a_2", "corrected"): lemma_a_2_for_identical_clients,
    ("lemma_4_2", "printed"): equation_12,
    ("lemma_4_2", "composed"): equation_12,
    ("lemma_4_3", "printed"): equation_13,
    ("lemma_4_3", "composed"): equation_13,
    ("lemma_4_3", "corrected"): lemma_4_3_by_the_gradients,
    ("lemma_a_1", "printed"): equation_27,
    ("lemma_a_1", "composed"): equation_27,
    ("lemma_a_2", "printed"): equation_33,
    ("descent", "printed"): equation_15,
    ("descent", "composed"): equation_15,
    ("potential", "printed"): equation_17,
    ("potential", "composed"): equation_17,
    ("potential_step", "composed"): equation_40,
    ("remark_3_6", "printed"): remark_3_6,
    ("remark_3_6", "composed"): remark_3_6,
    ("remark_3_7", "printed"): remark_3_7,
    ("remark_3_7", "composed"): remark_3_7,
    ("start_inner", "printed"): equation_44,
    ("start_inner", "composed"): equation_44,
}


def coupled(v):
    return v["C_g"] ** 4 * v["L_f"] ** 2


def smooth(v):
    return v["C_g"] ** 2 * v["L_f"] + v["C_f"] * v["L_g"]


ALPHA = {"momentum_range": lambda v: (v["alpha"] * v["eta"], "<", 1)}
GAMMA = {"inner_momentum_range": lambda v: (v["gamma"] * v["eta"], "<", 1)}
DESCENT = {"step_scale_descent": lambda v: (2 * v["beta"] * v["eta"] * smooth(v), "<=", 1)}
SCALE = {"step_scale": lambda v: (v["eta"], "<=", 1)}
STEP = {
    "step_size": lambda v: (
        v["beta"] * sqrt(8 * (coupled(v) / v["gamma"] ** 2 + coupled(v) / v["gamma"] + (smooth(v) / v["alpha"]) ** 2)),
        "<=",
        1,
    )
}
SUMMED_STEP = {
    "step_size": lambda v: (
        8
        * v["beta"] ** 2
        * (coupled(v) * (1 / v["gamma"] ** 2 + v["eta"] / v["gamma"]) + (smooth(v) / v["alpha"]) ** 2),
        "<=",
        1,
    )
}
PERIOD = {
    "period": lambda v: (
        4 * v["p"] * v["beta"] * v["eta"] * sqrt(6 * (v["C_f"] * v["L_g"]) ** 2 + 16 * coupled(v)),
        "<=",
        1,
    )
}
ABOVE = {"period_above_one": lambda v: (v["p"], ">=", 2)}
CHOICES = {
    "eta_choice": lambda v: (v["eta"] * v["T"] ** 0.5, "==", 1),
    "p_choice": lambda v: (v["p"] / v["T"] ** 0.25, "==", 1),
}


PROOF = DESCENT | ALPHA | GAMMA
THEOREM = ALPHA | GAMMA | STEP | SCALE
CONDITIONS = {
    ("theorem_3_4", "printed"): THEOREM | DESCENT | PERIOD | ABOVE,
    ("theorem_3_4", "composed"): PROOF | SUMMED_STEP | PERIOD,
    ("theorem_3_4", "corrected"): THEOREM,
    ("corollary_3_5", "printed"): CHOICES,
    ("corollary_3_5", "composed"): CHOICES | PROOF | SUMMED_STEP | PERIOD,
    ("corollary_3_5", "corrected"): CHOICES | {"p_choice": lambda v: (v["p"] / v["T"] ** 0.25, "<=", 1)} | THEOREM,
    ("lemma_4_3", "printed"): PERIOD,
    ("lemma_4_3", "composed"): ALPHA | GAMMA | PERIOD,
    ("summed", "printed"): THEOREM | DESCENT | PERIOD,
    ("summed", "composed"): PROOF | SUMMED_STEP | PERIOD,
    **{("lemma_4_1", label): ALPHA for label in ("printed", "composed", "corrected")},
    **{(name, label): GAMMA for name in ("lemma_4_2", "lemma_a_1") for label in ("printed", "composed")},
    **{("lemma_4_3_step", label): ALPHA | GAMMA for label in ("printed", "composed")},
    **{("descent", label): DESCENT for label in ("printed", "composed")},
    **{("potential_step", label): PROOF for label in ("printed", "composed")},
    **{("potential", label): PROOF | STEP | SCALE for label in ("printed", "composed")},
}
