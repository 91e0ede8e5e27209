"""The normal form and the moment rules on an enumerated space where vectors differ over an index that functions do not have.

Every term of a grammar is evaluated on all outcomes, and so is what the kernel makes of it; with numbers that are exact in binary.
The index i is identical: its samples have one law. A variable z differs over it, and no function has it.
"""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from fedco.bounds.proof.kernel import (
    Act,
    App,
    Function,
    Given,
    Index,
    Known,
    Mean,
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
from holes import reopened

STEPS = (0, 1, Averaged(0), Averaged(1))
BITS = (
    [("past", 0, None)]
    + [("s", step, i) for step in STEPS for i in (0, 1)]
    + [("w", 0, None), ("w", Averaged(0), None)]
)
OUTCOMES = np.array(list(product((-1.0, 1.0), repeat=len(BITS))))
PLACE = {bit: number for number, bit in enumerate(BITS)}
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


def sample(source, step):
    """At every outcome, client and i."""
    if source == "w":
        return OUTCOMES[:, PLACE["w", step, None]][:, None, None]
    return OUTCOMES[:, [PLACE["s", step, 0], PLACE["s", step, 1]]][:, None, :]


class Model:
    """Values as arrays (outcomes, clients, i); means and conditional expectations are means over axes of bits."""

    def __init__(self):
        past = OUTCOMES[:, :1][:, :, None]
        self.known, self.products = {}, {}
        self.variables = {
            "x": past * np.array([1.0, 2.0])[None, :, None] + 1,
            "p": 2 * past + 1,
            "z": np.array([1.0, -2.0])[None, None, :] * (1 + past / 2),
        }
        self.variables["y"] = averaged(self(g(p)), {"i"})

    def __call__(self, term):
        if term not in self.known:
            self.known[term] = self.value(term)
        return self.known[term]

    def value(self, term):
        match term:
            case Sum(parts):
                return sum((float(c.at({})) * self(inner) for c, inner in parts), np.zeros((1, 1, 1)))
            case Var(name, 0):
                return self.variables[name]
            case App(name, argument, samples):
                at, values = self(argument), []
                for source, step in zip(SETTING.function(name).sources, samples, strict=True):
                    values.append(None if step is None else sample(source, step))
                return self.applied(name, at, values)
            case Act(operator, vector):
                return self(operator) * self(vector)
            case Mean(index, inner):
                return averaged(self(inner), {index})
            case Given(known, inner):
                return expected(self(inner), known)
            case Proj(index, known, inner):
                return averaged(expected(self(inner), known), {"k", "i"} - index)
        raise TypeError(term)

    def product(self, u, v):
        """<u, v>."""
        if (u, v) not in self.products:
            self.products[u, v] = float((self(u) * self(v)).mean())
        return self.products[u, v]

    def applied(self, name, at, values):
        """Polynomials in which every sample has mean 0 and not every product has."""
        slopes = {"g": (1.0, 2.0), "h": (0.5, 1.0), "two": (2.0, -1.0), "J": (0.25, 0.5)}[name]
        total = slopes[0] * at
        for value in values:
            if value is not None:
                total = total + value * (1 + slopes[1] * at)
        if len(values) == 2 and all(value is not None for value in values):
            total = total + 0.5 * values[0] * values[1] * at
        return total


def averaged(array, indices):
    axes = tuple(axis for index, axis in (("k", 1), ("i", 2)) if index in indices)
    return array.mean(axis=axes, keepdims=True) if axes else array


def expected(array, known):
    """The mean over all bits that are not known."""
    full = np.broadcast_to(array, (len(OUTCOMES), *array.shape[1:])).reshape(*[2] * len(BITS), *array.shape[1:])
    level = known.table.get("s", (None, None))[0]
    gone = tuple(
        number
        for number, (source, step, _) in enumerate(BITS)
        if (level is None if source == "past" else not known.has(source, step))
    )
    return np.broadcast_to(full.mean(axis=gone, keepdims=True), full.shape).reshape(-1, *array.shape[1:])


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
            for outer in (point, g(point), g(point, 1), Act(J(p), point), Act(J(z), point), g(point) - point):
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
    return np.broadcast_to(array, (len(OUTCOMES), 2, 2)).ravel()


def wrong_forms(chosen):
    """Terms whose normal form is another vector."""
    model, algebra = Model(), Algebra(SETTING)
    return [t for t in chosen if np.abs(flat(model(algebra.normal(t))) - flat(model(t))).max() > EXACT]


def wrong_pairs(count):
    """(pairs of terms, how many of them have another inner product than that of the kernel)."""
    model, algebra, chosen = Model(), Algebra(SETTING), spread(count)
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
    assert not wrong_forms(ALL[::5])


def test_inner_products():
    assert wrong_pairs(60) == (1830, 0)


@pytest.mark.slow
def test_all_normal_forms_and_a_million_inner_products():
    assert not wrong_forms(ALL)
    assert wrong_pairs(1415) == (1_001_820, 0)


@pytest.mark.parametrize("hole", [3])
def test_the_space_shows_an_index_that_is_lost(hole):
    with reopened(hole):
        assert wrong_forms(ALL[::5])
