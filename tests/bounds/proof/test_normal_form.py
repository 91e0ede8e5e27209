"""The normal form against a finite probability model: raw terms and their normal forms, evaluated side by side."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from fedco.bounds.proof.kernel import (
    ONE,
    Act,
    App,
    Function,
    Given,
    Index,
    Known,
    Mean,
    Pair,
    ProofError,
    Setting,
    Source,
    Sum,
    Var,
    Variable,
    parameter,
    signomial,
)
from fedco.bounds.proof.kernel.algebra import Algebra
from fedco.bounds.proof.kernel.known import Averaged
from fedco.bounds.proof.kernel.terms import Proj

K, B = 2, 2
BOTH = frozenset({"k"})
NAMES = ("z", "shared")
AVERAGED = Averaged(0)
BITS = ("past 1", "past 2", *["z"] * (K * B), "shared", *["z averaged"] * (K * B), "shared averaged")
OUTCOMES = np.array(list(product((-1.0, 1.0), repeat=len(BITS))))
SETTING = Setting(
    (Index("k", parameter("K", count=True)), Index("i", parameter("B", count=True), True)),
    (Source("z", ("k", "i"), "independent"), Source("shared", (), "independent")),
    (
        Function("f", "x", "x", ("z",), BOTH, BOTH),
        Function("same", "x", "x", ("z",), BOTH, equal="equal means"),
        Function("two", "x", "x", ("z", "shared"), BOTH, BOTH),
        Function("plain", "x", "x"),
        Function("labelled", "x", "x", ("z",), BOTH, BOTH, label="x"),
        Function("J", "x", ("x", "x"), ("z",), BOTH, BOTH),
    ),
    (
        Variable("x", "x", BOTH),
        Variable("p", "x"),
        Variable("y", "x", frozenset(), ((frozenset({"local"}), Mean("k", Mean("i", App("f", Var("p"), (0,))))),), 0),
    ),
)
LEVELS = {"x": {"z": 0, "shared": 0}, "p": {"z": 0, "shared": 0}, "y": {"z": 1, "shared": 0}}


def sample(source, step):
    """The value of a sample at every outcome and index."""
    assert step in (0, AVERAGED)
    first = 2 if step == 0 else 3 + K * B
    if source == "shared":
        return OUTCOMES[:, first + K * B][:, None, None]
    return OUTCOMES[:, first : first + K * B].reshape(-1, K, B)


class Model:
    """Random variables and functions, as arrays (outcomes, clients, batch) of numbers: the Hilbert space is the line."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        past = np.unique(OUTCOMES[:, :2], axis=0, return_inverse=True)[1].ravel()
        self.variables = {
            "x": rng.normal(size=(4, K, 1))[past],
            "p": rng.normal(size=(4, 1, 1))[past],
            # made from the past and the samples z of step 0, not from the shared one
            "y": rng.normal(size=(len(OUTCOMES) >> (K * B + 2), 1, 1)).repeat(2 ** (K * B + 2), axis=0),
        }
        self.coefficients = {f.name: rng.normal(size=(6, K if f.index else 1, 1)) for f in SETTING.functions}
        self.coefficients["same"][:4] = self.coefficients["same"][:4, :1]  # the mean over the sample has no index

    def __call__(self, term):
        match term:
            case Sum(parts):
                return sum((float(c.at({})) * self(inner) for c, inner in parts), np.zeros((1, 1, 1)))
            case Var(name, 0):
                return self.variables[name]
            case App(name, Pair(point, label), samples):
                whole = self.applied(name, self(point), SETTING.function(name).sources, samples)
                return whole * (1 + self(label)) + self(label) ** 2
            case App(name, argument, samples):
                return self.applied(name, self(argument), SETTING.function(name).sources, samples)
            case Act(operator, vector):
                return self(operator) * self(vector)
            case Mean(index, inner):
                return averaged(self(inner), {index})
            case Given(known, inner):
                return expected(self(inner), known)
            case Proj(index, known, inner):
                return averaged(expected(self(inner), known), {"k", "i"} - index)
        raise TypeError(term)

    def applied(self, name, at, sources, samples):
        """A polynomial in the point and the samples; the mean over +-1 of an odd sample is 0 and of its square 1."""
        a = self.coefficients[name]
        values = [None if s is None else sample(source, s) for source, s in zip(sources, samples, strict=True)]
        total = a[0] + a[1] * at + a[2] * at**2
        for value, slope in zip(values, (a[4], a[5]), strict=False):
            if value is not None:
                total = total + slope * value * (1 + at)
        if len(values) == 2 and all(value is not None for value in values):
            total = total + a[3] * values[0] * values[1] * at
        return total


def averaged(array, indices):
    for index, axis in (("k", 1), ("i", 2)):
        if index in indices:
            array = array.mean(axis=axis, keepdims=True)
    return array


def expected(array, known):
    """The conditional expectation: the mean over all outcomes with the same known bits."""
    bits = [known.has("z", -1)] * 2
    for step in (0, AVERAGED):
        bits += [known.has("z", step)] * (K * B) + [known.has("shared", step)]
    full = np.broadcast_to(array, (len(OUTCOMES), *array.shape[1:]))
    if not any(bits):
        return full.mean(axis=0, keepdims=True)
    groups = np.unique(OUTCOMES[:, np.array(bits)], axis=0, return_inverse=True)[1].ravel()
    sums = np.zeros((groups.max() + 1, *full.shape[1:]))
    np.add.at(sums, groups, full)
    return (sums / np.bincount(groups)[:, None, None])[groups]


PAST = Known.before(NAMES)
KNOWN = (PAST, PAST | Known.sample("z"), PAST | Known.sample("shared"), Known.before(NAMES, 1), Known())


def random_term(rng, depth):
    kind = rng.choice(["var", "sum", "app", "act", "mean", "given"] if depth else ["var"])
    if kind == "var":
        return Var(rng.choice(["x", "p", "y"]))
    inner = random_term(rng, depth - 1)
    if kind == "sum":
        return signomial(rng.randint(1, 3)) * inner - random_term(rng, depth - 1)
    if kind == "app":
        function = rng.choice(SETTING.functions[:4])
        if rng.random() < 0.3:
            return App("labelled", Pair(inner, random_term(rng, depth - 1)), (rng.choice([0, 0, None]),))
        return App(function.name, inner, tuple(rng.choice([0, 0, None]) for _ in function.sources))
    if kind == "act":
        operator = App("J", random_term(rng, depth - 1), (rng.choice([0, None]),))
        return Act(rng.choice([operator, Mean("i", operator), Given(PAST, operator)]), inner)
    return Mean(rng.choice("ki"), inner) if kind == "mean" else Given(rng.choice(KNOWN), inner)


@pytest.mark.parametrize("seed", range(15))
def test_the_normal_form_is_equal_on_every_outcome(seed):
    rng, model, algebra = Random(seed), Model(seed), Algebra(SETTING)
    for _ in range(4):
        raw = random_term(rng, 4)
        left, right = np.broadcast_arrays(model(raw), model(algebra.normal(raw)))
        assert np.allclose(left, right, atol=1e-9 * (1 + abs(left).max())), raw


@pytest.mark.parametrize("seed", range(10))
def test_inner_products(seed):
    rng, model, algebra = Random(1000 + seed), Model(seed), Algebra(SETTING)
    for _ in range(4):
        u, v = random_term(rng, 3), random_term(rng, 3)
        opened = sum(float(c.at({})) * (model(a) * model(b)).mean() for (a, b), c in algebra.inner(u, v).items())
        parts = np.broadcast_arrays(model(u), model(v))
        whole = (parts[0] * parts[1]).mean()
        assert abs(opened - whole) <= 1e-9 * (1 + abs(parts[0]).max() * abs(parts[1]).max()), (u, v)


def test_supports_hold_what_a_term_depends_on():
    rng, model, algebra = Random(5), Model(5), Algebra(SETTING)
    for _ in range(40):
        raw = random_term(rng, 3)
        support, array = algebra.support(raw), model(raw)
        assert np.allclose(averaged(expected(array, support.known), {"k", "i"} - support.index), array), raw


@pytest.mark.parametrize("term", [App("f", Var("x"), (0,)), Act(App("J", Var("x"), (0,)), App("f", Var("x"), (0,)))])
def test_the_tower_rule_below_what_is_in_a_variable(term):
    """E[G(x; w)] = E[E[G(x; w) | past]] has one form, also where x itself is averaged."""
    algebra = Algebra(SETTING)
    for known in (Known(), Known.of({"z": (-1, frozenset())})):
        both = Given(known, term) - Given(known, Given(PAST, term))
        assert not algebra.normal(both).parts
        assert algebra.normal(Given(known, term)).parts


def test_the_model_is_not_degenerate():
    """Every rewriting is at work: mean functions, opaque projections, an index that falls away."""
    algebra, model = Algebra(SETTING), Model(0)
    centred = App("f", Var("x"), (0,)) - App("f", Var("x"), (None,))
    assert np.ptp(model(centred)) > 1 and not algebra.normal(Given(PAST, centred)).parts
    assert algebra.normal(Given(PAST, App("f", Var("y"), (0,)))).parts[0][1] != App("f", Var("y"), (None,))
    dropped = Given(PAST, Act(App("J", Var("x"), (0,)), App("f", Var("x"), (0,))))
    assert algebra.support(algebra.normal(dropped)).index == {"k"}
    kept = Given(PAST, Act(App("J", Var("x"), (0,)), App("f", Var("y"), (0,))))
    assert algebra.support(algebra.normal(kept)).index == {"k", "i"}, "y may depend on one entry of the batch only"
    assert algebra.setting.levels == LEVELS
    with pytest.raises(ProofError):
        algebra.normal(App("f", Var("x"), ()))
    assert ONE.at({}) == 1
