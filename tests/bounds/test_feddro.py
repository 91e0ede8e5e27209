"""FedDRO: the instance that refutes its rates with long rounds, and the orders and constants of the corollaries that hold."""

from dataclasses import replace
from fractions import Fraction as F
from itertools import product
from random import Random

import pytest
import sympy as sp
from fedco.algorithms.methods.feddro import FedDRO
from fedco.bounds import get_theorem as theorem
from fedco.bounds.audit.bundled import within_reach
from fedco.bounds.audit.refuted import refutations
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.theorem import Condition, Term
from fedco.bounds.papers.feddro.counterexamples import limits
from fedco.bounds.proof.derivations import prove
from fedco.bounds.proof.kernel import Corollary, Reader, follow
from fedco.validation.exact.closed_moments import moment_average
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.problem import Instance, exact_problem
from fedco.validation.exact.run import CannotReplay, scalar
from quick import slowly

B, S, DRIFT, SLOPE, LEVEL = F(24, 25), F(7, 25), F(1, 5), F(1, 2), F(1, 2)
LIMIT = B**4 * S**2 * DRIFT**2 / (32 * (B**2 + 2))
"""I times the left side for I -> infinity (docs/theory/feddro.md)."""
REST = F(7, 100)
DATA = refutations()["feddro.theorem_5_1.long_rounds"].data


def phi(x):
    """Odd and differentiable: x, then with slope 3/2 - |x|, then constant from |x| = 3/2 on."""
    size = min(abs(x), F(3, 2))
    return (1 if x > 0 else -1) * (size - max(size - LEVEL, F(0)) ** 2 / 2)


def phi_slope(x):
    return max(F(0), min(F(1), F(3, 2) - abs(x)))


def slope(y):
    """H'."""
    return max(-SLOPE, min(SLOPE, SLOPE * y))


def step(state, signs, eta, I, t):
    """Algorithm 2 written out, with the functions themselves and not their linear parts."""
    x, older, y = state
    g = [[B * v + S * z * phi(v) for v, z in zip(models, signs, strict=True)] for models in (older, x)]
    if t > 0:
        y = sum((1 - eta) * (y - a) + b for a, b in zip(*g, strict=True)) / 2
    slopes = [B + S * z * phi_slope(v) for v, z in zip(x, signs, strict=True)]
    new = [v - eta * (h + J * slope(y)) for v, h, J in zip(x, (DRIFT, -DRIFT), slopes, strict=True)]
    if (t + 1) % I == 0:
        new = [sum(new) / 2] * 2
    return new, x, y


def start():
    return [F(0)] * 2, [F(0)] * 2, F(0)


def shape(unit):
    """The instance of the bundle in another unit of the inner value."""
    unit, own = F(unit), DATA["problem"]["parameters"]["instance"]["parameters"]
    noise = [{"slope": [[x, unit * v] for x, v in own["value_noise"][0]["slope"]]}] * 2
    outer = {"knots": [[-unit, unit]], "slopes": [[-SLOPE / unit, SLOPE / unit]]}
    return {**own, **outer, "inner_slope": [unit * B] * 2, "value_noise": noise}


def reach(unit=1):
    return {"model": LEVEL, "inner_value": F(4, 5) * unit}


def average(I, steps=None, eta=None, after=True, **more):
    """The engine's mean of E|Phi'(xbar^t)|^2, by FedDRO itself."""
    rate = scalar(F(1, 2 * I**2) if eta is None else eta)
    problem = exact_problem(Instance.from_dict({**DATA["problem"]["parameters"]["instance"]}))
    method = FedDRO(eta=rate, beta=rate, I=I, **more)
    return moment_average(method, problem, steps or 8 * I**4, I, reach(), after=after)


SIGNS = list(product((1, -1), repeat=2))


@pytest.mark.parametrize("I", [2, 3])
def test_the_moments_are_those_of_the_algorithm_over_all_paths(I):
    eta, steps = F(1, 2 * I**2), 5

    def total(state, t):
        own = (B * slope(B * sum(state[0]) / 2)) ** 2
        if t == steps:
            return own
        return own + sum(total(step(state, signs, eta, I, t), t + 1) for signs in SIGNS) / 4

    value, (low, high) = total(start(), 0) / steps, average(I, steps)  # the first model is the minimiser
    assert low <= value <= high and high - low < low / 10**12
    low, high = average(I, steps, eta / 2)
    assert not low <= value <= high


def test_a_reach_over_a_kink_or_beside_the_start_is_refused():
    problem = exact_problem(Instance.from_dict(DATA["problem"]["parameters"]["instance"]))
    method = FedDRO(eta=scalar(F(1, 8)), beta=scalar(F(1, 8)), I=2)
    for larger in ({"model": F(3, 5)}, {"inner_value": F(2)}):
        with pytest.raises(Bends):
            moment_average(method, problem, 128, 2, reach() | larger)
    moved = exact_problem(Instance("shared_composite", {**shape(1), "start": F(2, 3)}))
    with pytest.raises(CannotReplay, match="within reach"):
        moment_average(method, moved, 128, 2, reach())


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("hyperparameters", {"eta": F(1, 10)}),
        ("hyperparameters", {"I": 2}),
        ("shape", {"start": F(1, 10)}),
        ("shape", {"extra_slopes": [[F(2)], [F(-2)]]}),
        ("shape", {"inner_offset": [0, F(1, 9)]}),
        ("reach", {"model": F(1, 10)}),
        ("reach", {"inner_value": F(1, 10)}),
    ],
)
def test_what_shows_the_reach_is_of_the_instance(where, change):
    parameters, hyper = DATA["problem"]["parameters"], DATA["hyperparameters"]
    if where == "hyperparameters":
        hyper = {**hyper, **change}
    elif where == "reach":
        parameters = {**parameters, "reach": {**parameters["reach"], **change}}
    else:
        instance = parameters["instance"]
        parameters = {**parameters, "instance": {**instance, "parameters": {**instance["parameters"], **change}}}
    data = {**DATA, "hyperparameters": hyper, "problem": {"name": "n", "parameters": parameters}}
    assert all(within_reach(DATA).values()) and not all(within_reach(data).values())


@pytest.mark.parametrize("towards", ["random", "up", "apart", slowly("error")])
def test_no_path_leaves_the_limits(towards):
    """Signs drawn, and signs chosen step by step to make one of the quantities large: the limits of `limits` hold."""
    I, steps, rng = 20, 1600 if towards == "error" else 200, Random(5)
    at, eta = limits(I, B, S, DRIFT), F(1, 2 * 20**2)
    aims = {
        "up": lambda s: sum(s[0]),
        "apart": lambda s: abs(s[0][0] - s[0][1]),
        "error": lambda s: abs(s[2] - B * sum(s[1]) / 2),
    }
    state, worst = start(), F(0)
    for t in range(steps):
        choices = [step(state, signs, eta, I, t) for signs in SIGNS]
        state = rng.choice(choices) if towards == "random" else max(choices, key=aims[towards])
        state = ([_short(v) for v in state[0]], [_short(v) for v in state[1]], _short(state[2]))
        mean = sum(state[0]) / 2
        error = state[2] - B * sum(state[1]) / 2
        assert abs(mean) <= at["mean"] and abs(error) <= at["error_reached"] and abs(state[2]) <= at["estimate"]
        assert max(abs(v - mean) for v in state[0]) <= at["spread"]
        worst = max(worst, abs(error) / at["error_reached"])
    assert worst > F(1, 5) or towards != "error", "the limit is of the right size"


def _short(v):
    """64 binary digits: a path in fractions would grow without end, and a rounding of 1e-19 is no change of course."""
    return F(round(v * 2**64), 2**64)


@pytest.mark.parametrize(("I", "after"), [(10**3, True), (10**12, False)])
def test_the_left_side_is_the_limit_over_I_to_the_next_order(I, after):
    low, high = average(I, after=after)
    assert low >= LIMIT / I - REST / I**2 and high <= LIMIT / I + REST / I**2


@pytest.mark.parametrize(("after", "update"), [(False, "keep"), (True, "update"), (False, "update")])
def test_the_other_readings_of_the_average_and_of_step_0_make_no_difference(after, update):
    (low, high), (least, _) = average(10**6, after=after, first_update=update), average(10**6)
    assert abs(low - least) < least / 10**5 and abs(high - least) < least / 10**5


def test_the_reading_with_a_last_step_after_the_rounds():
    """T - 1 a multiple of I, as the appendix assumes: I = 2 k^2 - 1 and T = 2 m^2 with m = 2 I^2 + k; eta = 1/m."""
    k = 707
    I = 2 * k**2 - 1
    m = 2 * I**2 + k
    T = 2 * m**2
    assert (T - 1) % I == 0 and I**4 * 2**3 <= T
    other, _ = average(I, T, F(1, m))
    assert abs(other / average(I)[0] - 1) < F(1, 10**5)


# --- the corollaries that hold ----------------------------------------------------------------------------------------


MAIN, FIRST, SECOND = (theorem(f"feddro.{name}") for name in ("theorem_5_1", "corollary_1", "corollary_2"))
s = MAIN.notation.namespace()
PARENT, CORRECTED = MAIN.statement("corrected"), FIRST.statement("corrected")
L = PARENT.constant("L_Phi").symbol
n = s.b * s.K
RATE = s.I ** sp.Rational(1, 4) / sp.sqrt(n * s.T)


def test_the_orders_of_the_second_corollary():
    """At I = T^{2/5}/n^{6/5} the rate is eps for T = eps^{-5/2} n^{-2}: rounds eps^{-3/2}, whatever n."""
    eps = sp.Symbol("eps", positive=True)
    I = SECOND.statement("corrected").schedule["I"].args[1].args[0]
    at = {s.T: eps ** sp.Rational(-5, 2) / n**2}

    def plain(expr):
        return sp.simplify(sp.powdenest(sp.expand_power_base(expr, force=True), force=True))

    assert plain(RATE.xreplace({s.I: I}).xreplace(at)) == plain(eps)
    assert plain((s.T / I).xreplace(at)) == plain(eps ** sp.Rational(-3, 2))


@pytest.mark.slow
def test_no_schedule_with_a_bounded_batch_does_better_inside_the_theorem():
    """The linear program over all powers, with b = K = 1: least rounds, then least samples, and the other way round."""
    from fedco.bounds.cost.orders import rates

    one = {s.b: sp.Integer(1), s.K: sp.Integer(1)}
    known = MAIN.statement("corrected")
    terms = tuple(replace(term, expr=known.expand(term.expr).xreplace(one)) for term in known.terms)
    conditions = tuple(c.each_side(lambda side: known.expand(side).xreplace(one)) for c in known.conditions)
    made = with_statement(MAIN, replace(known, terms=terms, conditions=conditions)).statement("corrected")

    def best(*order):
        return {name: cost.eps for name, cost in rates(made, order).costs.items() if name in order}

    assert best("rounds", "samples") == {"rounds": F(3, 2), "samples": F(5, 2)}
    assert best("samples", "rounds") == {"samples": F(2), "rounds": F(2)}


# --- Corollary 2 with its constants: the bound at the longest rounds is at most A/(n^{4/5} T^{2/5}) ---------------------

GROWTH = (s.T ** sp.Rational(1, 10)) / (s.b * s.K) ** sp.Rational(3, 10)
ONE_STEP = Condition("one_step", s.I, ">=", sp.Integer(1), "I is a whole number")
POWERS = (("local_updates", F(1, 4)), ("one_step", F(1, 2)))


def at_longest_rounds(size=1):
    """Corollary 1 with each term that of I = 1 times (T/n^3)^{1/10}, the largest I^{1/4}."""
    parts = {t.name: sp.expand(t.expr).xreplace({s.I: sp.Integer(1)}) for t in CORRECTED.terms}
    terms = tuple(Term(t.name, sp.expand(size * parts[t.name] * GROWTH), t.role) for t in CORRECTED.terms)
    return with_statement(FIRST, replace(CORRECTED, terms=terms, conditions=(*CORRECTED.conditions, ONE_STEP)))


def certificate(reader, expr):
    """I^{1/4} <= (T/n^3)^{1/10}; I^{-1/4} <= I^{1/4} as I^{1/2} >= 1; I^{-3/4} <= I^{1/4} as I >= 1."""
    found = []
    for part in sp.Add.make_args(sp.expand(expr)):
        coefficient, power = part.as_independent(s.I)
        (exponent,) = (power.as_base_exp()[1],)
        found.append((reader.read(coefficient), ("local_updates^1/4",)))
        if exponent != sp.Rational(1, 4):
            smaller = "one_step^1/2" if exponent == -sp.Rational(1, 4) else "one_step"
            found.append((reader.read(part), (smaller,)))
    return tuple(found)


def costs(theorem, powers=POWERS):
    reader = Reader(FIRST, theorem.statement("corrected"))
    given = {f"term {t.name}": certificate(reader, t.expr) for t in CORRECTED.terms}
    inside = {name: F(1) for name in theorem.symbols("corrected") if name not in ("eta", "beta")} | {"T": F(10**10)}
    return follow(Corollary(FIRST, inside, powers, given), theorem, "corrected", prove(FIRST))


@pytest.mark.slow
def test_the_rate_at_the_longest_rounds_with_its_constant():
    found = costs(at_longest_rounds())
    assert found.checked, found.failure
    assert not costs(at_longest_rounds(F(99, 100))).checked, "less than the bound at I = 1 and T = n^3"
    assert not costs(at_longest_rounds(), POWERS[:1]).checked
    for term in at_longest_rounds().statement("corrected").terms:
        assert sp.simplify(term.expr * n ** sp.Rational(4, 5) * s.T ** sp.Rational(2, 5)).free_symbols.isdisjoint(
            {s.I, s.T}
        )
