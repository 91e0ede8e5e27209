"""FedDRO in plain Python, written from the paper's text alone (appendix F): nothing of fedco is imported here.

Each function takes the symbols by name and returns `(terms, conditions)`; a condition is its two sides.
`corrected_*` follow docs/theory/feddro.md, not the paper.
"""

from __future__ import annotations

from functools import partial
from math import floor, log, sqrt
from types import SimpleNamespace


def l_phi(L_h, L_f, L_g, B_f, B_g, **_):
    return L_h + B_f * L_g + B_g**2 * L_f


def c_beta(L_f, B_g, **_):
    return 4 * B_g**4 * L_f**2


def lemma_3_1(**v):
    return {"L_Phi": l_phi(**v)}, {}


# --- lemmas F.2 to F.6 -----------------------------------------------------------------------------------------------


def lemma_f_2(inner_power=4, **v):
    o = SimpleNamespace(**v)
    L = l_phi(**v)
    return {
        "descent": -o.eta / 2 * o.gradient_sq,
        "direction": -(o.eta / 2 - o.eta**2 * L) * o.direction_sq,
        "drift": o.eta * (o.L_h**2 + 2 * o.B_f**2 * o.L_g**2 + 4 * o.B_g**4 * o.L_f**2) * o.consensus_error,
        "inner": 4 * o.B_g**inner_power * o.L_f**2 * o.eta * o.inner_error,
        "variance_h": 2 * o.eta**2 * L / (o.K * o.b) * o.sigma_h**2,
        "variance_g": 2 * o.eta**2 * L * o.B_f**2 / (o.K * o.b) * o.sigma_g**2,
    }, {}


def lemma_f_2_proved(**v):
    """(eta/2)(Term I) with Term III inside: half of 4 B_g^2 L_f^2 times 2 multiplies the inner error."""
    return lemma_f_2(**v, inner_power=2)


def lemma_f_3(**v):
    o = SimpleNamespace(**v)
    steps = (o.I - 1) * o.elapsed * o.eta**2
    return {
        "drift": (o.I - 1) * (24 * o.L_h**2 + 24 * o.B_f**2 * o.L_g**2) * o.eta**2 * o.consensus_sum,
        "variance_h": steps * 4 / o.b * o.sigma_h**2,
        "variance_g": steps * 4 * o.B_f**2 / o.b * o.sigma_g**2,
        "heterogeneity_h": steps * 12 * o.Delta_h**2,
        "heterogeneity_g": steps * 12 * o.B_f**2 * o.Delta_g**2,
    }, {}


def lemma_f_4(**v):
    o = SimpleNamespace(**v)
    old = (1 - o.beta) ** 2
    return {
        "inner": old * o.inner_error,
        "direction": 8 * o.eta**2 * old * o.B_g**2 / (o.b * o.K) * o.direction_sq,
        "drift": o.eta**2
        * old
        * o.B_g**2
        * (96 * o.L_h**2 + 96 * o.B_f**2 * o.L_g**2)
        / (o.b * o.K)
        * o.consensus_error,
        "variance_h": 4 * o.eta**2 * old * o.B_g**2 / (o.b * o.K) * o.sigma_h**2,
        "variance_g": (2 * o.beta**2 + 4 * o.eta**2 * old * o.B_g**2 * o.B_f**2) / (o.b * o.K) * o.sigma_g**2,
        "heterogeneity_h": 48 * o.eta**2 * old * o.B_g**2 / (o.b * o.K) * o.Delta_h**2,
        "heterogeneity_g": 48 * o.eta**2 * old * o.B_f**2 * o.B_g**2 / (o.b * o.K) * o.Delta_g**2,
    }, {}


def step_limits(L_h, L_f, L_g, B_f, B_g, eta, beta, K, b, **_):
    L = l_phi(L_h, L_f, L_g, B_f, B_g)
    pull = L_h**2 + 2 * B_f**2 * L_g**2 + 4 * B_g**4 * L_f**2
    return {
        "step_size_direction": (eta, b * K / (2 * (L * b * K + 8 * B_g**2))),
        "step_size_drift": (eta, b * K * pull / (B_g**2 * (96 * L_h**2 + 96 * B_f**2 * L_g**2))),
        "momentum_choice": (beta, c_beta(L_f, B_g) * eta),
    }


def period_limit(L_h, L_g, B_f, eta, I, **_):
    return {"step_size_period": (eta, 1 / (3 * I * sqrt(24 * L_h**2 + 24 * B_f**2 * L_g**2)))}


def once(**v):
    """The part of Lemma F.5 that does not depend on the period."""
    o = SimpleNamespace(**v)
    L, c = l_phi(**v), c_beta(**v)
    return {
        "variance_h": (2 * o.eta**2 * L / (o.K * o.b) + 4 * o.eta**2 * o.B_g**2 / (o.b * o.K)) * o.sigma_h**2,
        "variance_g": (2 * o.eta**2 * L * o.B_f**2 + o.eta**2 * (2 * c**2 + 4 * o.B_g**2 * o.B_f**2))
        / (o.b * o.K)
        * o.sigma_g**2,
        "heterogeneity_h": 48 * o.eta**2 * o.B_g**2 / (o.b * o.K) * o.Delta_h**2,
        "heterogeneity_g": 48 * o.eta**2 * o.B_f**2 * o.B_g**2 / (o.b * o.K) * o.Delta_g**2,
    }


def lemma_f_5(**v):
    o = SimpleNamespace(**v)
    return {
        "descent": -o.eta / 2 * o.gradient_sq,
        "drift": o.eta * (2 * o.L_h**2 + 4 * o.B_f**2 * o.L_g**2 + 8 * o.B_g**4 * o.L_f**2) * o.consensus_error,
        **once(**v),
    }, step_limits(**v)


def lemma_f_5_proved(**v):
    terms, conditions = lemma_f_5(**v)
    return terms, {**conditions, "momentum_range": (v["beta"], 1)}


def theorem_f_6(tens=(10, 20, 40), thirties=(30, 60, 120), **v):
    o = SimpleNamespace(**v)
    squares = (o.L_h**2, o.B_f**2 * o.L_g**2, o.B_g**4 * o.L_f**2)
    noise, spread = (sum(n * square for n, square in zip(ns, squares, strict=True)) for ns in (tens, thirties))
    long, short = o.eta**3 * (o.I - 1) ** 2 * o.T, once(**v)
    return {
        "descent": -o.eta / 2 * o.T * o.gradient_sq,
        "variance_h": short["variance_h"] * o.T + long * noise / o.b * o.sigma_h**2,
        "variance_g": short["variance_g"] * o.T + long * o.B_f**2 * noise / o.b * o.sigma_g**2,
        "heterogeneity_h": short["heterogeneity_h"] * o.T + long * spread * o.Delta_h**2,
        "heterogeneity_g": short["heterogeneity_g"] * o.T + long * o.B_f**2 * spread * o.Delta_g**2,
    }, {**step_limits(**v), **period_limit(**v)}


def theorem_f_6_proved(**v):
    """9/8 of the forcing: 4 (9/8) = 9/2 and 12 (9/8) = 27/2, where the paper rounds up to 5 and 15."""
    twos = (2, 4, 8)
    return theorem_f_6(**v, tens=[n * 4.5 for n in twos], thirties=[n * 13.5 for n in twos])


# --- Theorems 5.1 and F.1, corollaries -------------------------------------------------------------------------------


def printed_constants(L_h, L_f, L_g, B_f, B_g, **_):
    lbar = 10 * L_h**2 + B_f**2 * L_g**2 + 40 * B_g**4 * L_f**2
    L, c = l_phi(L_h, L_f, L_g, B_f, B_g), c_beta(L_f, B_g)
    return {
        "L_Phi": L,
        "c_beta": c,
        "Lbar_fg": lbar,
        "C_sigma_h": 2 * lbar + 4 * L + 8 * B_g**2,
        "C_sigma_g": 2 * B_f**2 * lbar + 4 * L * B_f**2 + 4 * c**2 + 8 * B_f**2 * B_g**2,
        "C_Delta_h": 6 * lbar + 96 * B_g**2,
        "C_Delta_g": 6 * B_f**2 * lbar + 96 * B_f**2 * B_g**2,
    }


def t_th(L_h, L_f, L_g, B_f, B_g, I, K, b, **_):
    bK, rough = b * K, L_h**2 + B_f**2 * L_g**2
    pull = L_h**2 + 2 * B_f**2 * L_g**2 + 4 * B_g**4 * L_f**2
    return max(
        4 * (l_phi(L_h, L_f, L_g, B_f, B_g) * bK + 8 * B_g**2) ** 2 / bK,
        B_g**4 * (96 * rough) ** 2 / (bK * pull**2),
        216 * rough * I**2 * bK,
    )


def chosen(eta, beta, K, b, T, L_f, B_g, **v):
    everything = {"L_f": L_f, "B_g": B_g, "K": K, "b": b, **v}
    return {
        "step_size_choice": (eta, sqrt(b * K / T)),
        "momentum_choice": (beta, c_beta(L_f, B_g) * eta),
        "horizon": (T, t_th(**everything)),
    }


def headline(factor, **v):
    C = printed_constants(**v)
    terms = {"initialisation": 2 * (v["Phi_gap"] + v["y_err"] ** 2) / sqrt(v["b"] * v["K"] * v["T"])}
    for kind, letter in (("variance", "sigma"), ("heterogeneity", "Delta")):
        for part in "hg":
            terms[f"{kind}_{part}"] = factor * C[f"C_{letter}_{part}"] * v[f"{letter}_{part}"] ** 2
    return terms


def theorem_5_1(**v):
    bK = v["b"] * v["K"]
    factor = max(bK * (v["I"] - 1) ** 2 / v["T"], 1 / sqrt(bK * v["T"]))
    return {**headline(factor, **v), **printed_constants(**v), "T_th": t_th(**v)}, chosen(**v)


def corollary_1(**v):
    bK = v["b"] * v["K"]
    few_steps = {"local_updates": (v["I"], v["T"] ** 0.25 / bK**0.75)}
    return {**headline(1 / sqrt(bK * v["T"]), **v), **printed_constants(**v), "T_th": t_th(**v)}, chosen(
        **v
    ) | few_steps


def costs(I, b, T, **_):
    return {"samples_per_client": b * T, "rounds": T / I, "embedding_messages": T}


def corollary_2(**v):
    return {"L_Phi": l_phi(**v), "c_beta": c_beta(**v), "T_th": t_th(**v), **costs(**v)}, chosen(**v)


def theorem_f_1(**v):
    C, bK, T, L = printed_constants(**v), v["b"] * v["K"], v["T"], l_phi(**v)
    fast, period = 1 / sqrt(bK * T), (v["I"] - 1) ** 2
    B_f, B_g, lbar = v["B_f"], v["B_g"], C["Lbar_fg"]
    noise = v["K"] * period / T * 2 * lbar
    spread = bK * period / T * 6 * lbar
    once_g = 4 * L * B_f**2 + 4 * C["c_beta"] ** 2 + 8 * B_f**2 * B_g**2
    return {
        "initialisation": 2 * (v["Phi_gap"] + v["y_err"] ** 2) * fast,
        "variance_h": (noise + fast * (4 * L + 8 * B_g**2)) * v["sigma_h"] ** 2,
        "variance_g": (noise * B_f**2 + fast * once_g) * v["sigma_g"] ** 2,
        "heterogeneity_h": (spread + fast * 96 * B_g**2) * v["Delta_h"] ** 2,
        "heterogeneity_g": (spread * B_f**2 + fast * 96 * B_f**2 * B_g**2) * v["Delta_g"] ** 2,
    }, chosen(**v)


def theorem_5_1_proved(**v):
    """Theorem F.6 times 2/(eta T), with V_0 = Phi(x_0) + y_err^2."""
    terms, conditions = theorem_f_6(**v, gradient_sq=0)
    del terms["descent"]
    scale = 2 / (v["eta"] * v["T"])
    terms = {name: scale * value for name, value in terms.items()}
    start = {"initialisation": scale * (v["Phi_gap"] + v["y_err"] ** 2)}
    return {**terms, **start}, {**conditions, "momentum_range": (v["beta"], 1)}


# --- Theorem 4.2 -----------------------------------------------------------------------------------------------------

WITHOUT = {"L_h": 0, "sigma_h": 0, "sigma_g": 0, "Delta_h": 0, "y_err": 0, "b": 1}


def theorem_4_1(eta):
    return {"C_eta_I": 1 / 8, "C_eta_II": 1 / 22, "xbar_lower": 1 / 2}, {}


def theorem_4_1_corrected(eta):
    most = sqrt(2) / 4
    return {"C_eta_I": most, "C_eta_II": most, "xbar_lower": 1 / 2}, {"case_I": (eta, most), "case_II": (eta, most)}


def theorem_4_2(I, T):
    return {}, {"local_updates": (I, T**0.25)}


def theorem_4_2_proved(**v):
    terms, conditions = theorem_5_1_proved(**v, **WITHOUT)
    return {name: terms[name] for name in ("initialisation", "heterogeneity_g")}, conditions


def theorem_4_2_corrected(L_f, L_g, B_f, B_g, Delta_g, Phi_gap, eta, I, T):
    pull = B_f**2 * L_g**2 + B_g**4 * L_f**2
    return {
        "initialisation": 2 * Phi_gap / (eta * T),
        "heterogeneity": 27 / 4 * pull * B_f**2 * Delta_g**2 * eta**2 * (I - 1) ** 2,
    }, {
        "step_size_descent": (eta, 1 / (B_f * L_g + B_g**2 * L_f)),
        "step_size_period": (54 * B_f**2 * L_g**2 * eta**2 * I**2, 1),
    }


# --- Theorem 5.1, corrected: docs/theory/feddro.md, steps 1 to 10 ----------------------------------------------------


def theorem_5_1_with(square, innovation, most, **v):
    o = SimpleNamespace(**v)
    L, bK = l_phi(**v), o.b * o.K
    noise, spread = o.sigma_h**2 + o.B_f**2 * o.sigma_g**2, o.Delta_h**2 + o.B_f**2 * o.Delta_g**2
    W = o.eta * (
        4 * o.B_g**2 * o.L_f**2 / o.beta
        + 2 * o.sigma_g**2 * o.L_f**2 / bK
        + innovation * o.eta * L * o.B_g**2 * o.L_f**2
    )
    moves = 8 * o.B_g**2 / bK * W * o.eta  # 2/eta times W times 4 B_g^2/(bK) times eta^2
    jump = 1 + (o.I - 1) ** 2 / o.I
    drift = 9 / 2 * (o.L_h**2 + o.B_f**2 * o.L_g**2 + 2 * o.B_g**4 * o.L_f**2) * o.eta**2 * (o.I - 1) ** 2
    terms = {
        "initialisation": 2 * o.Phi_gap / (o.eta * o.T),
        "inner_initialisation": 8 * o.B_g**2 * o.L_f**2 * o.y_err**2 / (o.beta * o.T),
        "variance": square * o.eta * L * noise / bK,
        "inner_noise": 8 * W * o.beta**2 * o.delta_g**2 / (o.eta * bK),
        "inner_variance": moves * (square * noise / bK + 9 / 2 * noise / o.b * jump),
        "inner_heterogeneity": moves * 27 / 2 * spread * jump,
        "drift_variance": drift * 4 * noise / o.b,
        "drift_heterogeneity": drift * 12 * spread,
    }
    conditions = {
        "momentum_range": (o.beta, 1),
        "step_size_period": (o.eta, 1 / (3 * o.I * sqrt(24 * (o.L_h**2 + o.B_f**2 * o.L_g**2)))),
        "step_size_embedding": (24 * o.B_g**4 * o.L_f**2 * o.eta**2, bK),
        "step_size_direction": (o.eta * L + 8 * o.B_g**2 / bK * o.eta * W, most),
    }
    return terms, conditions


theorem_5_1_corrected = partial(theorem_5_1_with, 6, 3, 1 / 2)
theorem_5_1_sharpened = partial(theorem_5_1_with, 5 / 2, 5 / 2, 1)
"""E||D||^2 = E||A||^2 + E||D - A||^2, the parts of D - A weighed 5/2, 5/2 and 5."""


# --- The corollaries that hold: docs/theory/feddro.md, "The corollaries that hold" ------------------------------------


def corollary_conditions(eta, beta, I, T, L, n, **v):
    theorem_s = theorem_5_1_corrected(**v, eta=eta, beta=beta, I=I, T=T)[1]
    return theorem_s | {
        "step_size_choice": (eta, sqrt(n / T) / (I**0.25 * L)),
        "momentum_choice": (beta, v["B_g"] ** 2 * v["L_f"] * sqrt(I) * eta),
        "weight": (beta * (2 * v["sigma_g"] ** 2 / (n * v["B_g"] ** 2) + 3 * eta * L), 1),
    }


def corollary_1_corrected(**o):
    L, n, I = l_phi(**o), o["b"] * o["K"], o["I"]
    v = o["sigma_h"] ** 2 + o["B_f"] ** 2 * o["sigma_g"] ** 2
    s = o["Delta_h"] ** 2 + o["B_f"] ** 2 * o["Delta_g"] ** 2
    rate = I**0.25 / sqrt(n * o["T"])
    inner = 40 * o["B_g"] ** 2 * o["L_f"] / L
    drift = 4.5 * (o["L_h"] ** 2 + o["B_f"] ** 2 * o["L_g"] ** 2 + 2 * o["B_g"] ** 4 * o["L_f"] ** 2) / L**2
    terms = {
        "initialisation": rate * 2 * L * o["Phi_gap"],
        "inner_initialisation": rate * 8 * o["L_f"] * L * o["y_err"] ** 2 / sqrt(I),
        "variance": rate * 6 * v / sqrt(I),
        "inner_noise": rate * 40 * o["B_g"] ** 4 * o["L_f"] ** 3 / L * o["delta_g"] ** 2,
        "inner_variance": rate * inner * (6 * v / (n * I) + 9 * v / (2 * o["b"])),
        "inner_heterogeneity": rate * inner * 13.5 * s,
        "drift_variance": rate * drift * 4 * v / o["b"],
        "drift_heterogeneity": rate * drift * 12 * s,
    }
    return terms, corollary_conditions(L=L, n=n, **o) | {"local_updates": (I, o["T"] ** 0.4 / n**1.2)}


def corollary_2_corrected(**o):
    L, n = l_phi(**o), o["b"] * o["K"]
    absent = {name: 0 for name in ("sigma_h", "delta_g", "Delta_h", "Delta_g", "Phi_gap", "y_err")}
    return costs(**o) | {"L_Phi": L}, corollary_conditions(L=L, n=n, **{**absent, **o}) | {"horizon": (o["T"], n**3)}


def lemma_f_4_proved(sigma_h, b, **v):
    """Term XI has 2 sigma_h^2 / |b_h| + 2 B_f^2 sigma_g^2 / |b_g|, which the lemma multiplies by 2 eta^2 ... / (|b| K)."""
    terms, _ = lemma_f_4(sigma_h=sigma_h, b=b, **v)
    shared = 4 * v["eta"] ** 2 * (1 - v["beta"]) ** 2 * v["B_g"] ** 2 / (b * v["K"])
    terms["variance_h"] = shared * sigma_h**2 / b
    terms["variance_g"] = (2 * v["beta"] ** 2 / (b * v["K"]) + shared * v["B_f"] ** 2 / b) * v["sigma_g"] ** 2
    return terms, {}


def corollary_1_proved(b, K, T, I, **v):
    """Theorem F.6 times 2/(eta T) at eta = sqrt(bK/T), with (I-1)^2 replaced by sqrt(T) / (bK)^(3/2)."""
    limit = T**0.25 / (b * K) ** 0.75
    same = {**v, "b": b, "K": K, "T": T}
    terms, _ = theorem_5_1_proved(**{**same, "I": 1 + limit, "eta": sqrt(b * K / T)})
    _, conditions = theorem_5_1_proved(**same, I=I)
    return terms, conditions | {"local_updates": (I, limit)}


def corollary_2_proved(**v):
    shared = {"L_Phi": l_phi(**v), "c_beta": c_beta(**v)}
    return shared | costs(**v), theorem_5_1_proved(
        **{"Phi_gap": 0, "y_err": 0, "sigma_h": 0, "sigma_g": 0, "Delta_h": 0, "Delta_g": 0} | v
    )[1]


def reformulation_kl(mean_exp, **_):
    return {"objective": log(mean_exp)}, {}


def reformulation_kl_corrected(lam, mean_exp, **_):
    return {"objective": lam * log(mean_exp)}, {}


def reformulation_chi2(lam, mean_loss, mean_square_loss, **_):
    return {"objective": -mean_square_loss / (2 * lam) + mean_loss**2 / (2 * lam)}, {}


def reformulation_chi2_corrected(lam, mean_loss, mean_square_loss, min_loss, **_):
    objective = mean_loss + (mean_square_loss - mean_loss**2) / (2 * lam)
    return {"objective": objective}, {"interior": (min_loss, mean_loss - lam)}


BOTH = {
    ("lemma_3_1", "printed"): lemma_3_1,
    ("theorem_4_1", "printed"): theorem_4_1,
    ("theorem_4_1", "corrected"): theorem_4_1_corrected,
    ("theorem_4_2", "printed"): theorem_4_2,
    ("theorem_4_2", "composed"): theorem_4_2_proved,
    ("theorem_4_2", "corrected"): theorem_4_2_corrected,
    ("theorem_5_1", "printed"): theorem_5_1,
    ("theorem_5_1", "composed"): theorem_5_1_proved,
    ("theorem_5_1", "corrected"): theorem_5_1_corrected,
    ("theorem_5_1", "sharpened"): theorem_5_1_sharpened,
    ("corollary_1", "printed"): corollary_1,
    ("corollary_2", "printed"): corollary_2,
    ("theorem_f_1", "printed"): theorem_f_1,
    ("theorem_f_1", "composed"): theorem_5_1_proved,
    ("lemma_f_2", "printed"): lemma_f_2,
    ("lemma_f_2", "composed"): lemma_f_2_proved,
    ("lemma_f_3", "printed"): lemma_f_3,
    ("lemma_f_4", "printed"): lemma_f_4,
    ("lemma_f_5", "printed"): lemma_f_5,
    ("lemma_f_5", "composed"): lemma_f_5_proved,
    ("theorem_f_6", "printed"): theorem_f_6,
    ("theorem_f_6", "composed"): theorem_f_6_proved,
    ("lemma_3_1", "composed"): lemma_3_1,
    ("lemma_f_3", "composed"): lemma_f_3,
    ("lemma_f_4", "composed"): lemma_f_4_proved,
    ("corollary_1", "composed"): corollary_1_proved,
    ("corollary_2", "composed"): corollary_2_proved,
    ("corollary_1", "corrected"): corollary_1_corrected,
    ("corollary_2", "corrected"): corollary_2_corrected,
    ("reformulation_kl", "printed"): reformulation_kl,
    ("reformulation_kl", "corrected"): reformulation_kl_corrected,
    ("reformulation_chi2", "printed"): reformulation_chi2,
    ("reformulation_chi2", "corrected"): reformulation_chi2_corrected,
}
"""(theorem, label) -> formula."""


def _numbers(formula):
    return lambda **v: formula(**v)[0]


def _conditions(formula):
    """With the relations that the names say."""

    def relation(name):
        return "==" if name.endswith("choice") else ">=" if name in ("horizon", "interior") else "<="

    return lambda **v: {name: (left, relation(name), right) for name, (left, right) in formula(**v)[1].items()}


PAPER = {case: _numbers(formula) for case, formula in BOTH.items()}
CONDITIONS = {case: _conditions(formula) for case, formula in BOTH.items()}
CONDITIONS["theorem_4_1", "printed"] = {
    "case_I": lambda v: (v["eta"], "<", 1 / 8),  # the printed range is open
    "case_II": lambda v: (v["eta"], "<", 1 / 22),
}


def period(power):
    return lambda v: max(1, floor(v["T"] ** power / (v["b"] * v["K"]) ** (3 * power)))


CHOSEN = {"eta": lambda v: sqrt(v["b"] * v["K"] / v["T"])}
CORRECTED = {
    "eta": lambda v: sqrt(v["b"] * v["K"] / v["T"]) / l_phi(**v),
    "beta": lambda v: v["B_g"] ** 2 * v["L_f"] * v["eta"],
}
DEFAULTS = {
    ("theorem_5_1", "corrected"): CORRECTED,
    ("theorem_5_1", "sharpened"): CORRECTED,
    ("theorem_4_2", "composed"): {"eta": lambda v: sqrt(v["K"] / v["T"])},
    **{(name, "composed"): CHOSEN for name in ("theorem_5_1", "theorem_f_1", "corollary_1")},
    ("corollary_2", "printed"): {"I": period(1 / 4)},
    ("corollary_2", "composed"): CHOSEN | {"I": period(1 / 4)},
    ("corollary_2", "corrected"): {"I": period(2 / 5)},
}
"""What a schedule says where no condition says the same."""
