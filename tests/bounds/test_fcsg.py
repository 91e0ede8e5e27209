"""FCSG, FCSG-M, Acc-FCSG-M against formulas written here once more, in plain Python, straight from the paper.

Nothing of `bounds/` enters `PRINTED` and `PROVED`: `v` holds the numbers, each function returns term name -> value.
"""

import random
from fractions import Fraction as Q

import fedco
import pytest
from conditions import at_point, compare_conditions

PAPERS = ("fcsg", "fcsg_m", "acc_fcsg_m")


# --- the paper in plain Python ----------


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
    root = float(v["N"] * v["T"]) ** 0.5
    return {
        "initialisation": 12 * s_f(v) * v["F_gap"] / root,
        "bias": 2 * bias(v),
        "variance": l_2(v) / 6 / root,
        "drift": 19 * l_2(v) / 9 / root,
    }


def theorem_4_4(v):
    spread = l_2(v) * (1 + Q(1) / v["N"]) + 3 * l_2(v)
    return {
        "initialisation": 2 * v["F_gap"] / (v["alpha"] * v["T"]),
        "drift": Q(96, 5) * s_f(v) ** 2 * v["q"] ** 2 * v["alpha"] ** 2 * spread,
        "bias": 4 * bias(v),
        "start": 8 * l_2(v) / (v["beta"] * v["B"] * v["T"]),
        "variance": 8 * v["beta"] * l_2(v) / v["N"],
    }


def theorem_4_4_proved(v):
    spread = l_2(v) * (1 + Q(1) / v["N"]) + 12 * l_2(v)
    drift = Q(96, 5) * s_f(v) ** 2 * v["q"] * (v["q"] - 1) * v["alpha"] ** 2 * spread
    return {**theorem_4_4(v), "drift": drift}


def corollary_4_5(v):
    root = float(v["N"] * v["T"]) ** 0.5
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
    power = float(v["N"] * v["T"]) ** (2 / 3)
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
    spread = l_2(v) * (1 + Q(1) / v["N"]) + 12 * l_2(v)
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
    left = Q(15, 72) * v["alpha"]
    return {
        "direction": v["alpha"] / 8 * v["update_sq"] / left,
        "variance": v["L_f"] ** 2 * c_of(v) ** 2 / (8 * v["b"] * s_f(v) ** 2) * v["alpha"] ** 3 / left,
        "heterogeneity": 3 * l_2(v) * c_of(v) ** 2 / (8 * s_f(v) ** 2) * v["alpha"] ** 3 / left,
    }


def equation_46(v):
    left = Q(101, 240) * v["alpha"]
    return {
        "direction": v["alpha"] / 12 * v["update_sq"] / left,
        "heterogeneity": 13 * l_2(v) * c_of(v) ** 2 / (12 * s_f(v) ** 2) * v["alpha"] ** 3 / left,
    }


def lemma_a_3(v):
    return {"drift": 6 * s_f(v) ** 2 * v["consensus_error"], "heterogeneity": 12 * l_2(v)}


def lemma_b_1(v):
    return {"drift": 39 * (v["q"] - 1) * v["q"] * v["alpha"] ** 2 * l_2(v) * v["T"]}


def _rounds(power):
    return lambda v: {"rounds": float(v["N"] * v["T"]) ** power}


PRINTED = {
    "fcsg.theorem_4_1": theorem_4_1,
    "fcsg.corollary_4_2": corollary_4_2,
    "fcsg.remark_4_3": _rounds(3 / 4),
    "fcsg.lemma_a_3_variance": lambda v: {"variance": l_2(v) / v["b"]},
    "fcsg.lemma_a_3": lemma_a_3,
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


def _corollary_4_2_proved(v):
    q, alpha = (float(v["T"]) / v["N"] ** 3) ** 0.25, (float(v["N"]) / v["T"]) ** 0.5 / 6 / float(s_f(v))
    return theorem_4_1({**v, "q": q, "alpha": alpha}, drift=78)


def _corollary_4_5_proved(v):
    q, alpha = (float(v["T"]) / v["N"] ** 3) ** 0.25, (float(v["N"]) / v["T"]) ** 0.5 / 6 / float(s_f(v))
    return theorem_4_4_proved({**v, "q": q, "alpha": alpha, "beta": 5 * float(s_f(v)) * alpha})


def _lemma_d_1_proved(v):
    return _descent(v, 3 * v["alpha"] * s_f(v) ** 2 / 2 * v["consensus_error"], 3)


PROVED = {
    **{
        name: formula
        for name, formula in PRINTED.items()
        if name != "acc_fcsg_m.lemma_d_2"  # quoted without a proof
    },
    "fcsg.theorem_4_1": lambda v: theorem_4_1(v, drift=78),
    "fcsg.corollary_4_2": _corollary_4_2_proved,
    "fcsg_m.theorem_4_4": theorem_4_4_proved,
    "fcsg_m.corollary_4_5": _corollary_4_5_proved,
    "acc_fcsg_m.lemma_d_1": _lemma_d_1_proved,
    "acc_fcsg_m.lemma_d_3": equation_46,
}
CASES = [(name, "printed") for name in PRINTED] + [(name, "composed") for name in PROVED]

_COUNTS = ("q", "m", "b", "B", "N", "T")


def point(theorem, label, seed):
    """Random rationals for every symbol of a statement; a schedule is used where there is one."""
    rng = random.Random(f"{theorem.id} {label} {seed}")
    numbers = {
        name: Q(rng.randint(2, 40)) if name in _COUNTS else Q(rng.randint(1, 60), rng.randint(1, 60))
        for name in theorem.symbols(label)
    }
    return {**numbers, "B": Q(1)} if "corollary" in theorem.id else numbers


def evaluated(theorem, label, v):
    scheduled = theorem.statement(label).schedule if theorem.kind == "corollary" else {}
    given = {name: value for name, value in v.items() if name in theorem.symbols(label) and name not in scheduled}
    return theorem.bound(label, strict=False, **given)


def agrees(theorem, label, formula, v):
    found, wanted = evaluated(theorem, label, v), formula(v)
    total = sum(wanted.values())
    scale = sum(abs(value) for value in wanted.values())
    return (
        set(found.terms) == set(wanted)
        and all(abs(Q(found.terms[name]) - Q(value)) <= Q(1, 10**12) * abs(Q(value)) for name, value in wanted.items())
        and abs(Q(found.total) - Q(total)) <= Q(1, 10**12) * Q(scale)
    )


@pytest.mark.parametrize(("name", "label"), CASES)
def test_agrees_with_the_paper_written_in_plain_python(name, label):
    theorem = fedco.theorem(name)
    formula = (PRINTED if label == "printed" else PROVED)[name]
    assert all(agrees(theorem, label, formula, point(theorem, label, seed)) for seed in range(4))


def test_every_statement_has_a_formula_here():
    declared = {
        (theorem.id, label)
        for paper in PAPERS
        for theorem in fedco.bounds.paper_theorems(paper).values()
        for label in theorem.labels
        if label not in ("corrected", "sharpened") and theorem.statement(label).terms
    }
    assert declared == set(CASES)


@pytest.mark.parametrize("label", ["printed", "composed"])
def test_constants_of_lemma_a_2(label):
    v = {"L_f": Q(2), "L_g": Q(3), "S_f": Q(1, 2), "S_g": Q(1, 3), "sigma_g": Q(1, 5), "m": Q(4)}
    found = fedco.theorem("fcsg.lemma_a_2").bound(label, **v)
    assert found.total is None
    assert found.derived["S_F"] == pytest.approx(float(s_f(v)), rel=1e-14)
    assert found.derived["bias_F"] ** 2 == pytest.approx(float(bias(v)), rel=1e-14)
    assert found.derived["sigma_F"] ** 2 == float(l_2(v)) and found.derived["zeta_F"] ** 2 == 4 * float(l_2(v))


# --- conditions, schedules and corrected statements, once more in plain Python ----------


def rounded_root(v):
    return (float(v["T"]) / v["N"] ** 3) ** 0.25


def cubic_root(v):
    return (float(v["T"]) / v["N"] ** 2) ** (1 / 3)


SCHEDULES = {
    "alpha": lambda v: (float(v["N"]) / v["T"]) ** 0.5 / 6 / float(s_f(v)),
    "beta": lambda v: 5 * float(s_f(v)) * SCHEDULES["alpha"](v),
    "q": rounded_root,
}
"""Corollaries 4.2 and 4.5, and beta = 5 S_F alpha."""
SCHEDULES_4_8 = {
    "alpha": lambda v: 1 / (12 * cubic_root(v) * float(s_f(v))),
    "beta": lambda v: float(c_of(v)) * SCHEDULES_4_8["alpha"](v) ** 2,
    "B": cubic_root,
    "q": cubic_root,
}
STEP = {"step_size": lambda v: (v["alpha"] * 6 * v["q"] * s_f(v), "<=", 1)}
SHORT = {"step_size": lambda v: (v["alpha"] * 12 * v["q"] * s_f(v), "<=", 1)}
RANGE = {"momentum_range": lambda v: (v["beta"], "<=", 1)}
FIVE = {"momentum_choice": lambda v: (v["beta"] / (5 * s_f(v) * v["alpha"]), "==", 1)}
QUADRATIC = {"momentum_choice": lambda v: (v["beta"] / (c_of(v) * v["alpha"] ** 2), "==", 1)}
SMALL = {"descent_step": lambda v: (v["alpha"] * s_f(v), "<=", 1)}
BATCH = {"first_batch": lambda v: (Q(v["b"]) / v["B"], "<=", 1)}
DIRECTION = {"direction": lambda v: (v["alpha"] * s_f(v) + (4 * v["alpha"] * s_f(v) / v["beta"]) ** 2, "<=", 1)}
LONG = {"long_round": lambda v: (4 * v["alpha"] * s_f(v) * float(v["q"]) ** 1.5 / 3, "<=", 1)}
WHOLE = {"whole_period": lambda v: (v["q"], ">=", 1)}
HORIZON = {"horizon": lambda v: (Q(v["T"]) / v["N"] ** 3, ">=", 1)}


def chosen(schedule, *at_most):
    def choice(name):
        return lambda v: (float(v[name]) / schedule[name](v), "<=" if name in at_most else "==", 1)

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


@pytest.mark.parametrize("paper", PAPERS)
def test_every_condition_is_the_papers(paper):
    compare_conditions(paper, CONDITIONS, lambda theorem, label: {**point(theorem, label, 1), "B": Q(7)})


USED = {
    "fcsg.corollary_4_2": ROOT,
    "fcsg_m.corollary_4_5": SCHEDULES,
    "acc_fcsg_m.corollary_4_8": SCHEDULES_4_8,
}


def test_every_schedule_is_the_papers():
    batch = {"B": lambda v: v["b"]}
    found = {}
    for paper in PAPERS:
        for theorem in fedco.bounds.paper_theorems(paper).values():
            for label in theorem.labels:
                statement = theorem.statement(label)
                v = point(theorem, label, 2)
                found[theorem.id, label] = {n: at_point(statement, e, v) for n, e in statement.schedule.items()}
                wanted = dict(USED.get(theorem.id, {}))
                if theorem.id in ("fcsg.theorem_4_1", "fcsg.corollary_4_2") and label == "corrected":
                    wanted |= batch
                elif theorem.id == "fcsg_m.theorem_4_4" or (theorem.id, label) == ("acc_fcsg_m.theorem_4_7", "printed"):
                    wanted = {"beta": lambda v: 5 * s_f(v) * v["alpha"]}
                elif theorem.id == "acc_fcsg_m.theorem_4_7" or (
                    theorem.id == "acc_fcsg_m.lemma_d_3" and label != "corrected"
                ):
                    wanted = {"beta": lambda v: c_of(v) * v["alpha"] ** 2}
                elif theorem.id == "fcsg_m.corollary_4_5" and label == "composed":
                    wanted["B"] = lambda v: 1
                elif theorem.id == "acc_fcsg_m.corollary_4_8" and label == "corrected":
                    wanted = dict(FIXED)
                elif "remark" in theorem.id:
                    continue
                assert found[theorem.id, label] == pytest.approx({n: float(f(v)) for n, f in wanted.items()}, rel=1e-12)


def squared_positions(v):
    """The mean of j^2 over the steps of a round, times (alpha L_f L_g)^2."""
    return sum(j * j for j in range(int(v["q"]))) / Q(v["q"]) * v["alpha"] ** 2 * l_2(v)


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
    parts = {"drift": Q(5, 42), "bias": Q(5, 8), "start": Q(5, 21), "variance": Q(5, 21)}
    return {name: float(parts.get(name, 1)) * float(term) for name, term in made.items()}


def sharpened_4_7(v):
    """With beta = c alpha^2 the drift, 4/5 of the corrected one, is 4/3 of the corrected variance."""
    made = {name: float(term) for name, term in corrected_4_7(v).items()}
    parts = {"bias": Q(4, 5), "start": Q(4, 5), "variance": Q(32, 15), "first_block": Q(5, 6)}
    scheduled = {**v, "beta": c_of(v) * v["alpha"] ** 2}
    assert float(made["drift"]) * 4 / 5 == pytest.approx(float(corrected_4_7(scheduled)["variance"]) * 4 / 3, rel=1e-9)
    return {name: float(parts.get(name, 1)) * term for name, term in made.items() if name != "drift"}


def at_schedule(formula, schedule):
    """With (q - 1)(2q - 1) <= 2 q^2 at the longest rounds."""

    def scheduled(v):
        v = {name: float(x) for name, x in v.items()}
        v |= {name: choice(v) for name, choice in schedule.items()}
        return formula(v, (v["q"] * v["alpha"]) ** 2 * l_2(v) / 3)

    return scheduled


def corrected_4_8(v):
    v = {name: float(x) for name, x in v.items()}
    return corrected_4_7(v | {name: choice(v) for name, choice in FIXED.items()})


CORRECTED = {
    "fcsg.theorem_4_1": corrected_4_1,
    "fcsg.corollary_4_2": at_schedule(corrected_4_1, ROOT),
    "fcsg.lemma_b_1": lambda v: {"drift": squared_positions(v) * v["T"]},
    "fcsg.lemma_b_2": lambda v: lemma_b_2(v) | {"variance": v["alpha"] ** 2 * s_f(v) * l_2(v) / (2 * v["N"] * v["b"])},
    "fcsg_m.theorem_4_4": corrected_4_4,
    "fcsg_m.corollary_4_5": at_schedule(corrected_4_4, SCHEDULES),
    "fcsg_m.lemma_c_3": lambda v: {"drift": squared_positions(v) * v["T"]},
    "acc_fcsg_m.lemma_d_1": _lemma_d_1_proved,
    "acc_fcsg_m.theorem_4_7": corrected_4_7,
    "acc_fcsg_m.corollary_4_8": corrected_4_8,
}
"""docs/theory/fcsg.md; Lemmas D.2 and D.3 and Remark 4.9 are in test_fcsg_corrected.py."""


@pytest.mark.parametrize("name", CORRECTED)
def test_a_corrected_statement_is_what_its_derivation_ends_with(name):
    theorem = fedco.theorem(name)
    for seed in range(3):
        v = {**point(theorem, "corrected", seed), "B": Q(3)}
        given = {n: x for n, x in v.items() if n in theorem.symbols("corrected")}
        scheduled = theorem.statement("corrected").schedule if theorem.kind == "corollary" else {}
        given = {n: x for n, x in given.items() if n not in scheduled or (n == "B" and "4_8" not in name)}
        found = theorem.bound("corrected", strict=False, **given)
        assert found.terms == pytest.approx({n: float(x) for n, x in CORRECTED[name](v).items()}, rel=1e-11)


@pytest.mark.parametrize(
    ("name", "formula"), [("fcsg_m.theorem_4_4", sharpened_4_4), ("acc_fcsg_m.theorem_4_7", sharpened_4_7)]
)
def test_a_sharpened_statement_has_the_parts_that_its_derivation_gives(name, formula):
    theorem = fedco.theorem(name)
    for seed in range(3):
        v = {**point(theorem, "sharpened", seed), "B": Q(3)}
        given = {n: x for n, x in v.items() if n in theorem.symbols("sharpened")}
        found = theorem.bound("sharpened", strict=False, **given)
        assert found.terms == pytest.approx({n: float(x) for n, x in formula(v).items()}, rel=1e-11)
