"""Local-SCGDM: the checks behind the findings. Whole runs are read off the bundles in `refutations/`, which `fedco replay` runs again."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product
from typing import Any

import sympy as sp

from ...audit.exactly import clip, huber
from ...audit.findings import Evidence, confirm, read_findings
from ...audit.refuted import Kept, kept
from ...language.notation import slack_symbol
from ...proof.certificates import prove_nonnegative
from ...registry import get_theorem as theorem

_MAIN = "local_scgdm.theorem_3_4"
ONE = Q(1)


def printed(values: dict, label: str = "printed", name: str = _MAIN) -> tuple[float, tuple[str, ...]]:
    """The declared bound and the conditions that fail."""
    item = theorem(name)
    found = item.bound(label, strict=False, **{k: v for k, v in values.items() if k in item.symbols(label)})
    return float(found.total or 0.0), found.failed


def instance(variant: str = "") -> Kept:
    """An instance of Theorem 3.4."""
    return kept(f"{_MAIN}.{variant}" if variant else _MAIN)


def slope_of_objective(found: Kept, x: Q) -> Any:
    """F'(x)."""
    assert found.case.clients is not None
    return found.case.clients.objective.derivative.at(x)


# --- the theorem -----------------------------------------------------------------------------------------------------


def heterogeneity() -> Evidence:
    """The gradient is 1 at every step, the largest value that C_f C_g allows, and the bound is about 25/32."""
    found = instance()
    bound, failed = printed(found.case.values)
    left, T = found.left[0], found.case.values["T"]
    return confirm(left == 1 and bound < 0.7813 and not failed, left=str(left), printed_bound=bound, T=T)


def leaves_the_optimum() -> Evidence:
    """x_0 is the minimiser, there is no noise, and the average squared gradient is 0.155."""
    found = instance("leaves")
    bound, failed = printed(found.case.values)
    left, start = found.left[0], Q(found.case.problem["parameters"]["instance"]["parameters"]["start"])
    facts = slope_of_objective(found, start) == 0 and left > Q(155, 1000) and bound < 1e-10 and not failed
    return confirm(facts, left=float(left), printed_bound=bound, T=found.case.values["T"])


def equal_inner_functions() -> Evidence:
    """g_1 = g_2, T = 3, and the left side is more than 10000 times the bound."""
    found = instance("equal_inner")
    bound, failed = printed(found.case.values)
    left = float(found.left[0])
    return confirm(left > 1e4 * bound > 0 and not failed, left=left, printed_bound=bound)


def rate() -> Evidence:
    """The same clients at T = n^4: every xbar_t stays above 1, where the gradient is 1, and the bound falls like T^(-1/2)."""
    found, ratios = instance(), {}
    start = Q(found.case.problem["parameters"]["instance"]["parameters"]["start"])
    for n in (4, 10, 100, 1000):
        values = {**found.case.values, "eta": Q(1, n * n), "p": n, "T": n**4}
        bound, failed = printed(values)
        beta, alpha = Q(values["beta"]), Q(values["alpha"])
        lowest = start - (n - 1) * beta / n**2 - beta / alpha  # of xbar_t, for every t: docs/theory/local_scgdm.md
        facts = lowest > 1 and not failed and slope_of_objective(found, Q(101, 100)) == 1
        ratios[n**4] = 1 / bound if facts else 0.0
    above = found.left[0] == 1
    return confirm(
        above and ratios[256] > 1 and ratios[10**12] > 50000, left_over_bound={str(k): v for k, v in ratios.items()}
    )


def initial_inner() -> Evidence:
    """One client, independent samples; with L_f for L_g the bound holds."""
    found = instance("initial_inner")
    bound, failed = printed(found.case.values)
    repaired, _ = printed(found.case.values, "composed")
    left = float(found.left[0])
    facts = 2 * bound < left < repaired and not failed
    return confirm(facts, left=left, printed_bound=bound, with_L_f=repaired, T=found.case.values["T"])


def one_sample() -> Evidence:
    """Nothing moves the client, whatever the hyperparameters are, while the gradient is 1."""
    found, evidence = instance("one_sample"), {}
    schedule = {"alpha": 1, "beta": Q(1, 11), "gamma": 1, "eta": Q(1, 400), "p": 20, "T": 20**4}
    for name, hyper in {"fixed": {}, "schedule": schedule}.items():
        bound, failed = printed({**found.case.values, **hyper})
        evidence[name] = bound if not failed and bound < found.left[0] == 1 else None
    return confirm(None not in evidence.values(), left="1", printed_bound=evidence)


# --- lemmas that fail at a communication, or for clients that differ -------------------------------------------------


def inner_error_at_communication() -> Evidence:
    """f = 0, g = +-1, p = 2: after the average u = 0 while g_k = +-1; the right side of (12) is 0 but for the noise."""
    return _exceeds("lemma_4_2")


def inner_spread() -> Evidence:
    """f = 0, g = +-1, one model: both sides of (27) after a communication, the right one without drift."""
    return _exceeds("lemma_a_1")


def _exceeds(name: str) -> Evidence:
    """That a kept run exceeds the printed bound, which is next to nothing."""
    _, (left, _), (_, right) = kept(f"local_scgdm.{name}")
    return confirm(left > 10**12 * right, left=str(left), right=float(right))


def momentum_at_communication() -> Evidence:
    """f_1 = y, f_2 = -y: m_k is exact before the communication and 0 after it, and the local model jumps with m_t = 0."""
    case, (left, _), (_, right) = kept("local_scgdm.lemma_4_1")
    jump = Q(case.values["beta"]) * case.values["eta"]  # from -+beta eta, after one step, to the average 0
    return confirm(left > right and jump > 0, left=str(left), right=float(right), jump=str(jump))


def client_spread() -> Evidence:
    """f_1 = y, f_2 = -y: sum ||z - zbar||^2 = 2 against 0 in (33), and a consensus error of (beta eta)^2 against 0 in (13)."""
    found = kept("local_scgdm.lemma_4_3")
    step = Q(found.case.values["beta"]) * Q(found.case.values["eta"])
    spread, consensus = sum(z**2 for z in (ONE, -ONE)), sum(x**2 for x in (-step, step))
    facts = spread == 2 and consensus == 2 * step**2 and found.left[0] == step**2 / 2 > found.right[1]
    return confirm(facts, spread="2", consensus=float(consensus))


def descent_step() -> Evidence:
    """F_1 = x, F_2 = -x, m_k = grad F_k: (15) claims a descent of beta eta/4 for F = 0."""
    case, (left, _), (_, right) = kept("local_scgdm.descent")
    step = Q(case.values["beta"]) * case.values["eta"]
    return confirm(left == 0 and right < -step / 5, claimed=float(right), true="0")


# --- constants -------------------------------------------------------------------------------------------------------


def factor_two() -> Evidence:
    """Three noise terms of `composed`, composed from the lemmas, are twice the printed ones; the others are equal."""
    item = theorem(_MAIN)
    printed_, composed = item.statement("printed"), item.statement("composed")
    ratio = {
        t.name: sp.simplify(composed.expand(t.expr) / printed_.expand(printed_.term(t.name).expr))
        for t in composed.terms
    }
    doubled = sorted(name for name, r in ratio.items() if r == 2)
    same = sorted(name for name, r in ratio.items() if r == 1)
    facts = doubled == ["gradient_noise", "inner_noise", "inner_noise_second"] and "initial_inner" not in same
    return confirm(facts and len(same) == 3, doubled=doubled, equal=same, initial_inner=str(ratio["initial_inner"]))


def lemma_4_1_letter() -> Evidence:
    """One client, f(y) = y (any L_f > 0 fits), g = Huber: step t = 1 violates (11) and satisfies (25)."""
    c, step, w, l_f, x = Q(1, 2), Q(1, 20), Q(1, 2), Q(1, 1000), Q(1, 2)
    u, m = huber(x), clip(x)
    x -= step * m
    u, m_next = (1 - w) * u + w * huber(x), (1 - c) * m + c * clip(x)
    left = (m_next - clip(x)) ** 2
    inner = 2 * c * l_f**2 * (u - huber(x)) ** 2
    right = {name: inner + 2 * step**2 / c * smooth**2 * m**2 for name, smooth in (("(11)", l_f), ("(25)", l_f + 1))}
    facts = right["(11)"] * 100 < left <= right["(25)"]
    return confirm(facts, left=float(left), right={k: float(v) for k, v in right.items()})


def summed_coefficients() -> Evidence:
    """2 P_0/(beta eta T) with (39) has 2 and 4 before the initial errors, (42) prints 1 and 2."""
    item = theorem("local_scgdm.summed")
    s = item.notation.namespace()
    table = {x: 1 for x in (s.C_g, s.L_f, s.L_g, s.alpha, s.gamma, s.eta, s.T)}
    found = {}
    for label in ("printed", "composed"):
        statement = item.statement(label)
        for name, error in (("initial_momentum", s.start_momentum_error), ("initial_inner", s.start_inner_error)):
            found[f"{name}, {label}"] = str(sp.diff(statement.term(name).expr, error).xreplace(table))
    return confirm(list(found.values()) == ["1", "2", "2", "4"], coefficients=found)


def bracket_of_16() -> Evidence:
    """The first bracket of (16) stands without the momentum: its dimension is not that of the potential."""
    item = theorem("local_scgdm.potential_step")
    slips = item.inhomogeneities(item.statement("printed"))
    places = {slip.where: f"{slip.found}, wanted {slip.wanted}" for slip in slips}
    facts = list(places) == ["term momentum_inner"] and not item.inhomogeneities(item.statement("composed"))
    return confirm(facts, places=places)


# --- single lines of the proof ---------------------------------------------------------------------------------------


def cross_term() -> Evidence:
    """v in {0, 2}, f'(u) = 1/2, f'(g) = 1/4, all independent: E of the product of the two groups of (25)."""
    at_u, at_g = Q(1, 2), Q(1, 4)
    cross = sum(v * (at_u - at_g) * (v - 1) * at_g for v in (0, 2)) / 2
    return confirm(cross != 0, cross_term=str(cross), claimed="0")


def dependent_product() -> Evidence:
    """xi = a (1/4): g = 3/4 + 2 e sin(x/e); xi = b (3/4): g = -1/4, x_0 = 0: both samples of u and v are one."""
    e = Q(1, 100)
    left = Q(1, 4) * (2 * clip(Q(3, 4))) ** 2 + Q(3, 4) * (0 * clip(Q(-1, 4))) ** 2
    claimed = ONE * Q(3, 16) * (1 + 2 * e) ** 2
    return confirm(left > 2 * claimed, left=str(left), C_g2_L_f2_delta_g2=str(claimed))


def repaired_lemma_4_1() -> Evidence:
    """`corrected` of Lemma 4.1 on exact two-point laws with one sample for g and grad g, another for f."""
    from random import Random

    rng, worst = Random(1), Q(0)
    for _ in range(200):
        c, e, move = Q(rng.randint(1, 63), 64), Q(rng.randint(-128, 128), 64), Q(rng.randint(-64, 64), 64)
        value, slope, of_slope, of_value, of_f = (Q(rng.randint(-64, 64), 64) for _ in range(5))
        left, inner = Q(0), Q(0)
        for xi, zeta in product((1, -1), repeat=2):
            z = (slope + xi * of_slope) * (clip(value + xi * of_value) + zeta * of_f)
            left += ((1 - c) * (e + move) + c * (z - slope * clip(value))) ** 2 / 4
            inner += of_value**2 / 4
        moment_g, moment_f = slope**2 + of_slope**2, 1 + of_f**2
        noise = c**2 * (moment_g * of_f**2 + 2 * moment_f * of_slope**2)
        right = (1 - c) * e**2 + 2 * c * moment_g * inner + 2 / c * move**2 + noise
        worst = max(worst, left / right if right else Q(0))
    return confirm(worst <= 1, largest_ratio=float(worst))


def first_block() -> Evidence:
    """g = x +- 1 at t = 1: the spread of u_1 is 1 each, (28) with s_t = 0 weighs it by gamma eta."""
    w = Q(1, 2)
    true = sum(v**2 for v in (ONE, -ONE))
    return confirm(true != w**2 * true, true=str(true), by_28=str(w**2 * true))


def lemma_a_2_index() -> Evidence:
    """Identical clients, g(x; xi) = x + xi/8, f = Huber, right after a communication: (33) says 0."""
    w, noise, u, x = Q(1, 2), Q(1, 8), Q(1, 4), Q(1, 4)
    left = Q(0)
    for signs in product((1, -1), repeat=2):
        z = [clip((1 - w) * u + w * (x + noise * sign)) for sign in signs]
        left += sum((v - sum(z) / 2) ** 2 for v in z) / 4
    return confirm(left > 0, left=str(left), right="0")


def unrolling() -> Evidence:
    """Weights of (34) and (35): the power of the first momentum, and the upper limit of the inner sum."""
    a, n = Q(1, 3), 4
    printed_first, true_first = sum((1 - a) ** j for j in range(n)), (1 - a) ** n
    true = [sum((1 - a) ** (late - j) for late in range(j, n)) for j in range(n)]
    printed_sum = [sum((1 - a) ** i for i in range(n - j + 1)) for j in range(n)]
    facts = printed_first != true_first and true != printed_sum and all(v <= 1 / a for v in printed_sum)
    return confirm(facts, true=[str(v) for v in true], printed=[str(v) for v in printed_sum])


def idle_condition() -> Evidence:
    """alpha eta < 1 and the condition on beta give (2 beta eta L_F)^2 < 1/2."""
    item = theorem(_MAIN)
    s, statement = item.notation.namespace(), item.statement("printed")
    u, v = slack_symbol("u"), slack_symbol("v")
    sweep = {s.beta: statement.condition("step_size").right / (1 + u), s.alpha: 1 / (s.eta * (1 + v))}
    claim = sp.Rational(1, 2) - (2 * s.beta * s.eta * statement.constant("L_F").symbol) ** 2
    found = prove_nonnegative(claim, sweep)
    return confirm(found is not None and found.recheck(), certificate=found.claim if found else None)


# --- meta-learning ---------------------------------------------------------------------------------------------------


def meta_jacobian() -> Evidence:
    """Loss cos x_1 + cos x_2 at 0 (Hessian -I) with Hessian noise +-diag(s, -s): E||I - lam Hessian||^2 against (21)."""
    lam, smooth, noise = ONE, ONE, Q(1, 2)
    second = sum(
        max(abs(1 + lam * smooth - xi * lam * noise), abs(1 + lam * smooth + xi * lam * noise)) ** 2 for xi in (1, -1)
    )
    values = {"L_1": smooth, "L_2": 1, "sigma_1": 1, "sigma_2": noise, "G": 1, "lam": lam}
    found = {label: _derived(values, label, "C_g") ** 2 for label in ("printed", "corrected")}
    return confirm(
        found["printed"] < float(second / 2) <= found["corrected"], second_moment=float(second / 2), C_g2=found
    )


def _derived(values: dict, label: str, name: str) -> float:
    item = theorem("local_scgdm.lemma_3_9")
    known = {k: v for k, v in values.items() if k in item.symbols(label)}
    return item.bound(label, **known).derived[name]


def meta_task_noise() -> Evidence:
    """Two tasks sqrt(1 + (y -+ 3/4)^2) with slopes -+3/5 at 0: the variance of a random task stays as sigma_1 -> 0."""
    slope = Q(3, 4) / Q(5, 4)  # 1 + (3/4)^2 = (5/4)^2
    variance = slope**2
    values = {"L_1": 1, "L_2": 1, "sigma_1": Q(1, 100), "sigma_2": 1, "G": 1, "lam": 1}
    found = {label: _derived(values, label, "sigma_f") ** 2 for label in ("printed", "corrected")}
    return confirm(found["printed"] < float(variance) <= found["corrected"], variance=str(variance), sigma_f2=found)


def meta_not_one_composition() -> Evidence:
    """Tasks x^2/2 and (3/4)(x - 4)^2 (quadratic where it matters), lam = 1/2: at the minimiser of the composition of the
    averages, the gradient of the average of the compositions is 9/40."""
    lam, tasks = Q(1, 2), ((ONE, Q(0)), (Q(3, 2), Q(4)))

    def step(x: Q, a: Q, c: Q) -> Q:
        return x - lam * a * (x - c)

    def composed(x: Q) -> Q:
        y = sum(step(x, *task) for task in tasks) / 2
        return sum(1 - lam * a for a, _ in tasks) / 2 * sum(a * (y - c) for a, c in tasks) / 2

    def meta(x: Q) -> Q:
        return sum((1 - lam * a) * a * (step(x, a, c) - c) for a, c in tasks) / 2

    at = Q(12, 5)
    return confirm(composed(at) == 0 and meta(at) == Q(9, 40), x=str(at), gradient_of_the_meta_loss=str(meta(at)))


FINDINGS, SECOND_READING = read_findings(vars())
