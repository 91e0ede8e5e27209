"""The normal form and the moment rules on an enumerated space where vectors differ over an index that functions do not have.

Every term of a grammar is evaluated on all outcomes, and so is what the kernel makes of it; with numbers that are exact in binary.
The index i is identical: its samples have one law. A variable z differs over it, and no function has it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from fedco.bounds.proof.kernel import (
    Act,
    Action,
    App,
    Function,
    Given,
    IndependentMean,
    IndependentMoment,
    Index,
    Known,
    Mean,
    MeanMoment,
    Product,
    ProofError,
    Setting,
    Source,
    Var,
    Variable,
    parameter,
    signomial,
)
from fedco.bounds.proof.kernel.algebra import Algebra
from fedco.bounds.proof.kernel.facts import Moment, State
from fedco.bounds.proof.kernel.known import Averaged
from fedco.bounds.proof.kernel.region import Region
from fedco.bounds.proof.kernel.rules import probability
from fedco.bounds.proof.kernel.scalars import One
from fedco.bounds.proof.kernel.signomial import holds
from fedco.bounds.proof.kernel.terms import Proj
from finite_model import Model, Polynomial, Space
from holes import reopened

STEPS = (0, 1, Averaged(0), Averaged(1))
BITS = (
    ("past", 0, None),
    *(("s", step, (i,)) for step in STEPS for i in (0, 1)),
    *(("w", step, ()) for step in (0, Averaged(0), Averaged(1))),
)


x, p, z, y = (Var(name) for name in "xpzy")


def g(point, step=0):
    return App("g", point, (step,))


def J(point, step=0):
    return App("J", point, (step,))


SETTING = Setting(
    (Index("k", parameter("K", count=True)), Index("i", signomial(2), True)),
    (Source("s", ("i",), "independent"), Source("w", (), "independent")),
    (
        Function("g", "x", "x", ("s",)),
        Function("h", "x", "x", ("w",)),
        Function("two", "x", "x", ("s", "w")),
        Function("J", "x", ("x", "x"), ("s",)),
    ),
    (
        Variable("x", "x", frozenset({"k"})),
        Variable("p", "x"),
        Variable("z", "x", frozenset({"i"})),
        Variable("y", "x", frozenset(), ((frozenset({"local"}), Mean("i", g(p))),), 0),
    ),
)
PAST = Known.before(("s", "w"))
KNOWN = (PAST, PAST | Known.sample("s"), PAST | Known.sample("w"), PAST | Known.sample("s", 1), Known())
EXACT = 1e-9


SPACE = Space(SETTING, BITS)
FUNCTIONS = {
    name: Polynomial((0.0, a), ((1.0, c), (1.0, c)), 0.5)
    for name, (a, c) in {"g": (1.0, 2.0), "h": (0.5, 1.0), "two": (2.0, -1.0), "J": (0.25, 0.5)}.items()
}
"""Every sample has mean 0, and not every product has."""


def made():
    """x differs over the clients, z over i, and y is made from the samples."""
    past = SPACE.bit("past", 0, None)
    variables = {
        "x": past * np.array([[1.0], [2.0]]) + 1,
        "p": 2 * past + 1,
        "z": np.array([1.0, -2.0]) * (1 + past / 2),
    }
    model = Model(SPACE, variables, FUNCTIONS)
    variables["y"] = SPACE.averaged(model(g(p)), {"i"})
    return model


def inner_terms():
    """Functions and operators at points that differ over i, or over clients, or are made from the samples."""
    atoms = (x, p, z, y)
    yield from atoms
    for a in atoms:
        yield from (g(a), g(a, 1), g(a, None), App("h", a, (0,)), App("two", a, (0, 0)), App("two", a, (None, 0)))
        for b in (p, z, y):
            yield Act(J(b), a)
        yield Act(J(z), g(a))


def terms():
    """The grammar: means and expectations of the inner terms, functions of these, and means and expectations of them."""
    for first in inner_terms():
        for point in (first, Mean("i", first), Given(PAST, first), Given(KNOWN[1], first)):
            for outer in (point, g(point), g(point, 1), Act(J(p), point), Act(J(z), point), g(point) - g(point, None)):
                yield outer
                yield Mean("i", outer)
                for known in KNOWN[:4]:
                    yield Given(known, outer)
                yield Mean("i", Given(PAST, outer)) - Given(PAST, outer)


ALL = tuple(dict.fromkeys(terms()))


def spread(count):
    """Terms evenly from the whole grammar."""
    return [ALL[n * len(ALL) // count] for n in range(count)]


def flat(array):
    return SPACE.everywhere(array).ravel()


def wrong_forms(chosen):
    """Terms whose normal form is another vector."""
    model, algebra = made(), Algebra(SETTING)
    return [t for t in chosen if np.abs(flat(model(algebra.normal(t))) - flat(model(t))).max() > EXACT]


def wrong_pairs(count):
    """(pairs of terms, how many of them have another inner product than that of the kernel)."""
    model, algebra, chosen = made(), Algebra(SETTING), spread(count)
    normal = [algebra.normal(term) for term in chosen]
    nodes = list(dict.fromkeys(node for found in normal for _, node in found.parts))
    place = {node: number for number, node in enumerate(nodes)}
    matrix = np.zeros((count, len(nodes)))
    for row, found in enumerate(normal):
        for c, node in found.parts:
            matrix[row, place[node]] = float(c.at({}))
    gram = np.empty((len(nodes), len(nodes)))
    for a, b in combinations_with_replacement(range(len(nodes)), 2):
        opened = algebra.inner(nodes[a], nodes[b]).items()
        gram[a, b] = gram[b, a] = sum(float(c.at({})) * model.product(*pair) for pair, c in opened)
    raw = np.array([flat(model(term)) for term in chosen])
    truth = raw @ raw.T / raw.shape[1]
    size = 1 + np.sqrt(np.outer(np.diag(truth), np.diag(truth)))
    wrong = np.abs(matrix @ gram @ matrix.T - truth) > EXACT * size
    return count * (count + 1) // 2, int(np.triu(wrong).sum())


def test_normal_forms():
    assert not wrong_forms(ALL[::10])


@pytest.mark.parametrize("point", [p, x, z, y])
def test_a_sample_inside_and_outside_of_a_conditional_expectation_is_one(point):
    """E[J(p; w) E[f(h(q; v); w, v) | past, w] | past] is no product of means."""
    kept = Given(KNOWN[1], App("two", App("h", point, (0,)), (0, 0)))
    assert holds(Algebra(SETTING).normal(kept), Proj), "nothing simplifies it"
    for term in (Act(J(p), kept), Act(J(point), kept), Mean("i", Act(J(z), kept)), Act(J(Mean("i", kept)), kept)):
        assert not wrong_forms((Given(PAST, term), Given(Known(), term), Given(PAST, Mean("i", term)), term))


def test_inner_products():
    assert wrong_pairs(60) == (1830, 0)


@pytest.mark.slow
def test_all_normal_forms_and_a_million_inner_products():
    assert not wrong_forms(ALL)
    assert wrong_pairs(1415) == (1_001_820, 0)


@pytest.mark.parametrize("hole", [3])
def test_the_space_shows_an_index_that_is_lost(hole):
    with reopened(hole):
        assert wrong_forms(ALL[::10])


# --- the moment rules --------------------------------------------------------------------------------------------------

OPERATORS = tuple(
    dict.fromkeys(
        operator
        for base in (J(p), J(z), J(x, 1), J(y), J(g(z)), J(Mean("i", g(p))))
        for operator in (base, Mean("i", base), Given(PAST, base), base - Given(PAST, base), Given(KNOWN[1], base))
    )
)


def make_state(moments=()):
    state = State(SETTING, {}, {}, Region({}), parameter("T", count=True), parameter("n", count=True))
    state.facts |= dict(moments)
    return state


def slack(model, fact):
    """right - left of an inequality, as a number."""
    total = 0.0
    for atom, c in fact.form:
        total += float(c.at(SIZES)) * (1.0 if isinstance(atom, One) else model.product(atom.left, atom.right))
    return -total


SIZES = {param: 2 for param in parameter("K", count=True).params}


def measured(model, algebra, term, given):
    """The least bound of |term|^2 given some samples, at every outcome and index."""
    square = model(term) ** 2
    found = square.max() if given is None else SPACE.expected(square, given).max()
    return Moment(algebra.normal(term), given, signomial(fraction(found)))


def fraction(number):
    return Fraction(float(number)) + Fraction(1, 10**9)


def independent_means(chosen):
    """(rules tried, those accepted, those with a wrong conclusion): ||mean z||^2 = ||z||^2/n over i and over clients, given each set."""
    model, state, found = made(), make_state(), [0, 0, 0]
    for term, index, given in product(chosen, "ik", KNOWN):
        found[0] += 1
        try:
            fact = IndependentMean(term, index, given).apply(state)
        except ProofError:
            continue
        found[1] += 1
        found[2] += abs(slack(model, fact)) > EXACT * (1 + float((model(term) ** 2).mean()))
    return found


def products(chosen):
    """(rules tried, those accepted, those with a wrong conclusion): operators applied to vectors, with the least bounds that hold."""
    model, found = made(), [0, 0, 0]
    algebra = make_state().algebra
    for operator, given in product(OPERATORS, (None, *KNOWN)):
        state = make_state((("M", measured(model, algebra, operator, given)),))
        for vector in chosen:
            for rule, bound in ((Action("M", vector), None), (Product("M", "v"), PAST), (Product("M", "v"), KNOWN[1])):
                found[0] += 1
                if bound is not None:
                    state.facts["v"] = measured(model, algebra, vector, bound)
                try:
                    fact = rule.apply(state)
                except ProofError:
                    continue
                found[1] += 1
                size = abs(float(dict(fact.form).get(One(), signomial(0)).at(SIZES)))
                found[2] += slack(model, fact) < -EXACT * (1 + size + float((model(vector) ** 2).mean()))
    return found


def conclusions(chosen, rules, held):
    """(rules tried, those accepted, those with a wrong conclusion): bounds made from the least bound of an operator that holds.

    Args:
        rules: the rules to try on the bound `M`. held: how a bound that is concluded is measured.
    """
    model, found = made(), [0, 0, 0]
    algebra = make_state().algebra
    for operator, given in product(chosen, (None, *KNOWN)):
        least = replace(measured(model, algebra, operator, given), trace=True)
        state = make_state((("M", least),))
        for rule in rules:
            found[0] += 1
            try:
                fact = rule.apply(state)
            except ProofError:
                continue
            found[1] += 1
            found[2] += held(model, algebra, fact) > float(fact.bound.at(SIZES)) * (1 + EXACT) + EXACT
    return found


def least_bound(model, algebra, fact):
    """The largest value of E[|term|^2 | given] over all outcomes and indices."""
    return float(measured(model, algebra, fact.term, fact.given).bound.at({}))


JENSEN = [
    MeanMoment("M", over, given)
    for over in ((), ("i",), ("k",), ("i", "k"))
    for given in (None, *KNOWN)
    if over or given is not None
]
INDEPENDENT = [IndependentMoment("M", index) for index in "ik"]
CENTRED = (*OPERATORS, *(J(base, step) - J(base, None) for base in (p, z, y, x) for step in (0, 1)))


def test_independent_means():
    tried, accepted, wrong = independent_means(ALL[::20])
    assert tried == 3560 and accepted > 10 and not wrong


def test_products():
    tried, accepted, wrong = products(ALL[::4000])
    assert tried > 500 and accepted > 250 and not wrong


def test_bounds_of_means_and_expectations():
    tried, accepted, wrong = conclusions(OPERATORS[::4], JENSEN, least_bound)
    assert accepted == tried > 500 and not wrong


def test_bounds_of_means_of_independent_operators():
    tried, accepted, wrong = conclusions(CENTRED, INDEPENDENT, least_bound)
    assert tried > 300 and accepted > 10 and not wrong


def test_a_bound_that_gains_the_size_without_independence_is_wrong(monkeypatch):
    """The space shows what the side condition of `IndependentMoment` is for."""
    monkeypatch.setattr(probability, "independent", lambda *given: frozenset())
    assert conclusions(CENTRED, INDEPENDENT, least_bound)[2] > 10


def test_a_sharper_bound_of_a_mean_is_wrong():
    """The bounds that are measured are the least: a conclusion of 1% less is not always true."""
    sharper = conclusions(OPERATORS[::4], JENSEN, lambda *known: 1.01 * least_bound(*known))
    assert sharper[2] > 50


@pytest.mark.slow
def test_moment_rules_on_the_whole_space():
    assert not independent_means(ALL)[2]
    assert not products(ALL[::20])[2]
    assert not conclusions((*OPERATORS, *ALL[::50]), JENSEN, least_bound)[2]
    assert not conclusions((*CENTRED, *ALL[::10]), INDEPENDENT, least_bound)[2]
