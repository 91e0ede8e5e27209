"""FCSG, FCSG-M, Acc-FCSG-M in plain Python, straight from the paper; the corrected ones from docs/theory/fcsg.md.

`v` holds the numbers, each function returns term name -> value.
"""

from __future__ import annotations


def s_f(v):
    return v["S_g"] * v["L_f"] + v["S_f"] * v["L_g"] ** 2


def l_2(v):
    return v["L_f"] ** 2 * v["L_g"] ** 2


def bias(v):
    return v["L_g"] ** 2 * v["S_f"] ** 2 * v["sigma_g"] ** 2 / v["m"]


def c_of(v):
    return 30 * s_f(v) ** 2 / (v["b"] * v["N"])


def theorem_4_1(v, drift=42):
    return {
        "initialisation": 2 * v["F_gap"] / (v["alpha"] * v["T"]),
        "bias": 2 * bias(v),
        "variance": 2 * v["alpha"] * s_f(v) * l_2(v) / v["N"],
        "drift": drift * (v["q"] - 1) * v["q"] * v["alpha"] ** 2 * l_2(v) * s_f(v) ** 2,
    }


def corollary_4_2(v):
    root = (v["N"] * v["T"]) ** 0.5
    return {
        "initialisation": 12 * s_f(v) * v["F_gap"] / root,
        "bias": 2 * bias(v),
        "variance": l_2(v) / 6 / root,
        "drift": 19 * l_2(v) / 9 / root,
    }


def theorem_4_4(v):
    spread = l_2(v) * (1 + 1 / v["N"]) + 3 * l_2(v)
    return {
        "initialisation": 2 * v["F_gap"] / (v["alpha"] * v["T"]),
        "drift": 96 / 5 * s_f(v) ** 2 * v["q"] ** 2 * v["alpha"] ** 2 * spread,
        "bias": 4 * bias(v),
        "start": 8 * l_2(v) / (v["beta"] * v["B"] * v["T"]),
        "variance": 8 * v["beta"] * l_2(v) / v["N"],
    }


def theorem_4_4_composed(v):
    spread = l_2(v) * (1 + 1 / v["N"]) + 12 * l_2(v)
    drift = 96 / 5 * s_f(v) ** 2 * v["q"] * (v["q"] - 1) * v["alpha"] ** 2 * spread
    return {**theorem_4_4(v), "drift": drift}


def corollary_4_5(v):
    root = (v["N"] * v["T"]) ** 0.5
    return {
        "initialisation": 12 * s_f(v) * v["F_gap"] / root,
        "drift": 112 * l_2(v) / 3 / root,
        "bias": 4 * bias(v),
        "start": 48 * l_2(v) / 5 / root,
        "variance": 20 * l_2(v) / 3 / root,
    }


def theorem_4_7(v):
    return {
        "initialisation": 2 * v["F_gap"] / (v["T"] * v["alpha"]),
        "start": 3 * l_2(v) / (v["beta"] * v["B"] * v["N"] * v["T"]),
        "drift": 13 * l_2(v) * c_of(v) ** 2 / (6 * s_f(v) ** 2) * v["alpha"] ** 2,
        "bias": 3 * bias(v),
        "variance": 6 * v["beta"] * v["L_f"] ** 2 / (v["N"] * v["b"]),
    }


def corollary_4_8(v):
    power = (v["N"] * v["T"]) ** (2 / 3)
    return {
        "initialisation": 24 * s_f(v) * v["F_gap"] / power,
        "start": 72 * l_2(v) * v["b"] / 5 / power,
        "drift": 325 * l_2(v) / (24 * v["b"] ** 2) / power,
        "bias": 3 * bias(v),
        "variance": 5 * v["L_f"] ** 2 / (4 * v["b"] ** 2) / power,
    }


def lemma_b_2(v):
    return {
        "descent": -v["alpha"] / 2 * v["gradient_sq"],
        "drift": v["alpha"] * s_f(v) ** 2 * v["consensus_error"],
        "bias": v["alpha"] * bias(v),
        "variance": v["alpha"] ** 2 * s_f(v) * l_2(v) / v["N"],
    }


def _descent(v, drift, pieces):
    return {
        "descent": -v["alpha"] / 2 * v["gradient_sq"],
        "direction": -(v["alpha"] / 2 - v["alpha"] ** 2 * s_f(v) / 2) * v["update_sq"],
        "drift": drift,
        "bias": pieces * v["alpha"] / 2 * bias(v),
        "estimate": pieces * v["alpha"] / 2 * v["error_sq"],
    }


def lemma_c_1(v):
    return _descent(v, 4 * v["alpha"] * s_f(v) ** 2 * v["consensus_error"], 4)


def lemma_c_2(v):
    return {
        "start": 2 / (v["beta"] * v["T"]) * v["start_error_sq"],
        "direction": 4 * v["alpha"] ** 2 * s_f(v) ** 2 / v["beta"] ** 2 * v["update_sq"],
        "variance": 2 * v["beta"] * l_2(v) / v["N"],
        "drift": 2 * s_f(v) ** 2 * v["consensus_error"],
    }


def lemma_c_3(v):
    spread = l_2(v) * (1 + 1 / v["N"]) + 12 * l_2(v)
    return {"drift": 6 * v["q"] * (v["q"] - 1) * v["alpha"] ** 2 * v["T"] / 5 * spread}


def lemma_d_1(v):
    return _descent(v, 3 * v["alpha"] * s_f(v) ** 2 / (2 * v["N"]) * v["client_deviation_sq"], 3)


def lemma_d_2(v):
    kept, clients = (1 - v["beta"]) ** 2, v["N"] * v["b"]
    move = v["alpha"] ** 2 * s_f(v) ** 2 / clients
    return {
        "estimate": kept * v["error_sq"],
        "dispersion": 8 * kept * move * (v["q"] - 1) / v["q"] * v["dispersion_sq"],
        "direction": 4 * kept * move * v["update_sq"],
        "variance": 2 * v["beta"] ** 2 * v["L_f"] ** 2 / clients,
    }


def lemma_d_3(v):
    left = 15 / 72 * v["alpha"]
    return {
        "direction": v["alpha"] / 8 * v["update_sq"] / left,
        "variance": v["L_f"] ** 2 * c_of(v) ** 2 / (8 * v["b"] * s_f(v) ** 2) * v["alpha"] ** 3 / left,
        "heterogeneity": 3 * l_2(v) * c_of(v) ** 2 / (8 * s_f(v) ** 2) * v["alpha"] ** 3 / left,
    }


def equation_46(v):
    left = 101 / 240 * v["alpha"]
    return {
        "direction": v["alpha"] / 12 * v["update_sq"] / left,
        "heterogeneity": 13 * l_2(v) * c_of(v) ** 2 / (12 * s_f(v) ** 2) * v["alpha"] ** 3 / left,
    }


def lemma_a_3(v):
    return {"drift": 6 * s_f(v) ** 2 * v["consensus_error"], "heterogeneity": 12 * l_2(v)}


def lemma_b_1(v):
    return {"drift": 39 * (v["q"] - 1) * v["q"] * v["alpha"] ** 2 * l_2(v) * v["T"]}


def _rounds(power):
    return lambda v: {"rounds": (v["N"] * v["T"]) ** power}


def lemma_a_2(v):
    return {
        "S_F": s_f(v),
        "bias_F": bias(v) ** 0.5,
        "sigma_F": l_2(v) ** 0.5,
        "zeta_F": 2 * l_2(v) ** 0.5,
    }


PRINTED = {
    "fcsg.theorem_4_1": theorem_4_1,
    "fcsg.corollary_4_2": corollary_4_2,
    "fcsg.remark_4_3": _rounds(3 / 4),
    "fcsg.lemma_a_3_variance": lambda v: {"variance": l_2(v) / v["b"]},
    "fcsg.lemma_a_3": lemma_a_3,
    "fcsg.lemma_a_2": lemma_a_2,
    "fcsg.lemma_b_1": lemma_b_1,
    "fcsg.lemma_b_2": lemma_b_2,
    "fcsg_m.theorem_4_4": theorem_4_4,
    "fcsg_m.corollary_4_5": corollary_4_5,
    "fcsg_m.remark_4_6": _rounds(3 / 4),
    "fcsg_m.lemma_c_1": lemma_c_1,
    "fcsg_m.lemma_c_2": lemma_c_2,
    "fcsg_m.lemma_c_3": lemma_c_3,
    "acc_fcsg_m.theorem_4_7": theorem_4_7,
    "acc_fcsg_m.corollary_4_8": corollary_4_8,
    "acc_fcsg_m.remark_4_9": _rounds(2 / 3),
    "acc_fcsg_m.lemma_d_1": lemma_d_1,
    "acc_fcsg_m.lemma_d_2": lemma_d_2,
    "acc_fcsg_m.lemma_d_3": lemma_d_3,
}


def _lemma_d_1_composed(v):
    return _descent(v, 3 * v["alpha"] * s_f(v) ** 2 / 2 * v["consensus_error"], 3)


COMPOSED = {
    **{name: formula for name, formula in PRINTED.items() if name != "acc_fcsg_m.lemma_d_2"},  # quoted without a proof
    "fcsg.theorem_4_1": lambda v: theorem_4_1(v, drift=78),
    "fcsg.corollary_4_2": lambda v: theorem_4_1(v, drift=78),
    "fcsg_m.theorem_4_4": theorem_4_4_composed,
    "fcsg_m.corollary_4_5": theorem_4_4_composed,
    "acc_fcsg_m.lemma_d_1": _lemma_d_1_composed,
    "acc_fcsg_m.lemma_d_3": equation_46,
}


# --- corrected and sharpened ----------


def squared_positions(v):
    """The mean of j^2 over the steps of a round, times (alpha L_f L_g)^2."""
    return sum(j * j for j in range(int(v["q"]))) / v["q"] * v["alpha"] ** 2 * l_2(v)


def corrected_4_1(v, drift=None):
    drift = squared_positions(v) if drift is None else drift
    return theorem_4_1(v) | {
        "variance": v["alpha"] * s_f(v) * l_2(v) / (v["N"] * v["b"]),
        "drift": 2 * s_f(v) ** 2 * drift,
    }


def corrected_4_4(v, drift=None):
    drift = squared_positions(v) if drift is None else drift
    return theorem_4_4(v) | {
        "drift": 16 * s_f(v) ** 2 * drift,
        "start": 8 * l_2(v) / (v["beta"] * v["N"] * v["B"] * v["T"]),
        "variance": 8 * v["beta"] * l_2(v) / (v["N"] * v["b"]),
    }


def corrected_4_7(v):
    return theorem_4_7(v) | {
        "drift": l_2(v) * (c_of(v) * v["alpha"] / s_f(v)) ** 2 / 3,
        "variance": 6 * v["beta"] * l_2(v) / (v["N"] * v["b"]),
        "first_block": 3 * l_2(v) * v["q"] * (v["q"] - 1) / (5 * v["T"]),
    }


def sharpened_4_4(v):
    made = corrected_4_4(v)
    parts = {"drift": 5 / 42, "bias": 5 / 8, "start": 5 / 21, "variance": 5 / 21}
    return {name: parts.get(name, 1) * term for name, term in made.items()}


def sharpened_4_7(v):
    """With beta = c alpha^2 the drift, 4/5 of the corrected one, is 4/3 of the corrected variance."""
    made = corrected_4_7(v)
    parts = {"bias": 4 / 5, "start": 4 / 5, "variance": 32 / 15, "first_block": 5 / 6}
    return {name: parts.get(name, 1) * term for name, term in made.items() if name != "drift"}


def at_the_longest_rounds(formula):
    """With (q - 1)(2q - 1) <= 2 q^2."""
    return lambda v: formula(v, (v["q"] * v["alpha"]) ** 2 * l_2(v) / 3)


def corrected_d_2(v):
    """2 S_F^2/(N b) times the squared move of a client: -alpha u^n, after a communication from the mean model."""
    charged = 2 * ((1 - v["beta"]) * s_f(v)) ** 2 / (v["N"] * v["b"])
    return {
        "estimate": (1 - v["beta"]) ** 2 * v["error_sq"],
        "dispersion": charged * v["alpha"] ** 2 * v["dispersion_sq"],
        "direction": charged * v["alpha"] ** 2 * v["update_sq"],
        "jump": charged * v["previous_consensus"],
        "variance": 2 * v["beta"] ** 2 * l_2(v) / (v["N"] * v["b"]),
    }


def corrected_d_3(v):
    return {
        "direction": 5.83 * (v["alpha"] * v["q"] * s_f(v)) ** 2 * v["update_sq"],
        "heterogeneity": 2.92 * l_2(v) * v["beta"] ** 2 * (v["q"] ** 2 - 1),
        "first_block": 2.92 * l_2(v) * (v["q"] - 1) / v["T"],
    }


def corrected_rounds(v):
    """T/q at the largest q <= (T/N^2)^(1/3) with 4 alpha S_F q^(3/2) <= 3."""
    return {"rounds": v["T"] / min(cubic_root(v), (9 * cubic_root(v)) ** (2 / 3))}


CORRECTED = {
    "fcsg.theorem_4_1": corrected_4_1,
    "fcsg.corollary_4_2": at_the_longest_rounds(corrected_4_1),
    "fcsg.lemma_b_1": lambda v: {"drift": squared_positions(v) * v["T"]},
    "fcsg.lemma_b_2": lambda v: lemma_b_2(v) | {"variance": v["alpha"] ** 2 * s_f(v) * l_2(v) / (2 * v["N"] * v["b"])},
    "fcsg_m.theorem_4_4": corrected_4_4,
    "fcsg_m.corollary_4_5": at_the_longest_rounds(corrected_4_4),
    "fcsg_m.lemma_c_3": lambda v: {"drift": squared_positions(v) * v["T"]},
    "acc_fcsg_m.lemma_d_1": _lemma_d_1_composed,
    "acc_fcsg_m.lemma_d_2": corrected_d_2,
    "acc_fcsg_m.lemma_d_3": corrected_d_3,
    "acc_fcsg_m.remark_4_9": corrected_rounds,
    "acc_fcsg_m.theorem_4_7": corrected_4_7,
    "acc_fcsg_m.corollary_4_8": corrected_4_7,
}
SHARPENED = {"fcsg_m.theorem_4_4": sharpened_4_4, "acc_fcsg_m.theorem_4_7": sharpened_4_7}


def _by_name(formula):
    return lambda **v: formula(v)


PAPER = {
    (name, label): _by_name(formula)
    for label, formulas in (
        ("printed", PRINTED),
        ("composed", COMPOSED),
        ("corrected", CORRECTED),
        ("sharpened", SHARPENED),
    )
    for name, formula in formulas.items()
}


# --- conditions and schedules ----------


def rounded_root(v):
    return (v["T"] / v["N"] ** 3) ** 0.25


def cubic_root(v):
    return (v["T"] / v["N"] ** 2) ** (1 / 3)


SCHEDULES = {
    "alpha": lambda v: (v["N"] / v["T"]) ** 0.5 / 6 / s_f(v),
    "beta": lambda v: 5 * s_f(v) * SCHEDULES["alpha"](v),
    "q": rounded_root,
}
"""Corollaries 4.2 and 4.5, and beta = 5 S_F alpha."""
SCHEDULES_4_8 = {
    "alpha": lambda v: 1 / (12 * cubic_root(v) * s_f(v)),
    "beta": lambda v: c_of(v) * SCHEDULES_4_8["alpha"](v) ** 2,
    "B": cubic_root,
    "q": cubic_root,
}
STEP = {"step_size": lambda v: (v["alpha"] * 6 * v["q"] * s_f(v), "<=", 1)}
SHORT = {"step_size": lambda v: (v["alpha"] * 12 * v["q"] * s_f(v), "<=", 1)}
RANGE = {"momentum_range": lambda v: (v["beta"], "<=", 1)}
FIVE = {"momentum_choice": lambda v: (v["beta"] / (5 * s_f(v) * v["alpha"]), "==", 1)}
QUADRATIC = {"momentum_choice": lambda v: (v["beta"] / (c_of(v) * v["alpha"] ** 2), "==", 1)}
SMALL = {"descent_step": lambda v: (v["alpha"] * s_f(v), "<=", 1)}
BATCH = {"first_batch": lambda v: (v["b"] / v["B"], "<=", 1)}
DIRECTION = {"direction": lambda v: (v["alpha"] * s_f(v) + (4 * v["alpha"] * s_f(v) / v["beta"]) ** 2, "<=", 1)}
LONG = {"long_round": lambda v: (4 * v["alpha"] * s_f(v) * v["q"] ** 1.5 / 3, "<=", 1)}
WHOLE = {"whole_period": lambda v: (v["q"], ">=", 1)}
HORIZON = {"horizon": lambda v: (v["T"] / v["N"] ** 3, ">=", 1)}


def chosen(schedule, *at_most):
    def choice(name):
        return lambda v: (v[name] / schedule[name](v), "<=" if name in at_most else "==", 1)

    return {f"{name}_choice": choice(name) for name in schedule}


ROOT = {name: SCHEDULES[name] for name in ("alpha", "q")}
FIXED = {name: SCHEDULES_4_8[name] for name in ("alpha", "beta", "B")}
CONDITIONS = {
    ("fcsg.theorem_4_1", "printed"): STEP,
    ("fcsg.theorem_4_1", "composed"): STEP,
    ("fcsg.theorem_4_1", "corrected"): SMALL | BATCH,
    ("fcsg.corollary_4_2", "printed"): chosen(ROOT),
    ("fcsg.corollary_4_2", "composed"): chosen(ROOT) | WHOLE,
    ("fcsg.corollary_4_2", "corrected"): chosen(ROOT, "q") | HORIZON | BATCH,
    ("fcsg.lemma_b_1", "printed"): STEP,
    ("fcsg.lemma_b_1", "composed"): STEP,
    ("fcsg.lemma_b_2", "composed"): {"descent_step": lambda v: (2 * v["alpha"] * s_f(v), "<=", 1)},
    ("fcsg.lemma_b_2", "corrected"): SMALL,
    ("fcsg_m.theorem_4_4", "printed"): STEP | FIVE,
    ("fcsg_m.theorem_4_4", "composed"): STEP | RANGE | DIRECTION,
    ("fcsg_m.theorem_4_4", "corrected"): RANGE | DIRECTION,
    ("fcsg_m.theorem_4_4", "sharpened"): RANGE | DIRECTION,
    ("fcsg_m.corollary_4_5", "printed"): chosen(SCHEDULES),
    ("fcsg_m.corollary_4_5", "composed"): chosen(SCHEDULES) | WHOLE,
    ("fcsg_m.corollary_4_5", "corrected"): chosen(SCHEDULES, "q") | HORIZON,
    ("fcsg_m.lemma_c_2", "printed"): RANGE,
    ("fcsg_m.lemma_c_2", "composed"): RANGE,
    ("fcsg_m.lemma_c_3", "printed"): STEP | RANGE,
    ("fcsg_m.lemma_c_3", "composed"): STEP | RANGE,
    ("fcsg_m.lemma_c_3", "corrected"): RANGE,
    ("acc_fcsg_m.theorem_4_7", "printed"): STEP | FIVE,
    ("acc_fcsg_m.theorem_4_7", "composed"): SHORT | QUADRATIC | RANGE,
    ("acc_fcsg_m.theorem_4_7", "corrected"): SHORT | QUADRATIC | LONG,
    ("acc_fcsg_m.theorem_4_7", "sharpened"): SHORT | QUADRATIC | LONG,
    ("acc_fcsg_m.corollary_4_8", "printed"): chosen(SCHEDULES_4_8),
    ("acc_fcsg_m.corollary_4_8", "composed"): chosen(SCHEDULES_4_8) | WHOLE,
    ("acc_fcsg_m.corollary_4_8", "corrected"): {
        **chosen(FIXED),
        "short_round": lambda v: (v["q"] / cubic_root(v), "<=", 1),
        "long_round": lambda v: (v["q"] / (9 * cubic_root(v)) ** (2 / 3), "<=", 1),  # 4 alpha S_F q^(3/2) <= 3
    },
    ("acc_fcsg_m.lemma_d_3", "printed"): SHORT | QUADRATIC,
    ("acc_fcsg_m.lemma_d_3", "composed"): SHORT | QUADRATIC,
    ("acc_fcsg_m.lemma_d_3", "corrected"): SHORT | RANGE,
}
DEFAULTS = {
    ("fcsg.theorem_4_1", "corrected"): {"B": lambda v: v["b"]},
    ("fcsg.corollary_4_2", "corrected"): {"B": lambda v: v["b"]},
    **{
        ("fcsg_m.theorem_4_4", label): {"beta": lambda v: 5 * s_f(v) * v["alpha"]}
        for label in ("composed", "corrected", "sharpened")
    },
    ("fcsg_m.corollary_4_5", "composed"): {"B": lambda v: 1},
}
"""What a schedule says where no condition says the same."""
