"""Compressors, and estimates that start at 0: what the kernel refuses, what is true by enumeration, and the theorems that rest on it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import sympy as sp
import torch
from altered import refused, with_entry, with_method, with_stated
from fedco.algorithms import MARINA, CompressedSGD
from fedco.algorithms.engine.compressors import sparsified
from fedco.bounds import get_theorem
from fedco.bounds.language.bounding import AT_ZERO, STARTS
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.finite import LAW
from fedco.bounds.proof.instances import Functions
from fedco.bounds.proof.kernel import (
    Accuracy,
    App,
    Assume,
    Compressor,
    Function,
    IndependentMean,
    Index,
    Known,
    Pair,
    ProofError,
    Setting,
    Source,
    Start,
    Var,
    Variable,
    check,
    parameter,
    sq,
)
from fedco.bounds.proof.kernel.facts import Equation, State
from fedco.bounds.proof.kernel.region import Region
from fedco.validation.runs.method_of import build_of
from flint import fmpq

N, T, OMEGA = parameter("n", count=True), parameter("T", count=True), parameter("omega", positive=False)
X = Var("x")
OWN = frozenset({"i"})
SENT = Function("C", "x", "x", ("kept",), OWN, OWN, role="compressor")
NOISY = Function("f", "x", "x", ("z",), OWN, OWN)


def state(sent=SENT, noisy=NOISY, over=("i",), axiom=None):
    sources = (Source("kept", over, "drawn"), Source("z", ("i",), "drawn"))
    variables = (Variable("x", "x", OWN), Variable("y", "y"))
    setting = Setting((Index("i", N),), sources, (sent, noisy), variables)
    return State(setting, {}, {"C": axiom or Compressor("drawn", "C", OMEGA)}, Region({}), T, N)


def sent(vector, step=0):
    return App("C", vector, (step,))


def said(term, **changes):
    return Assume("C", (term,)).apply(state(**changes))


def test_its_mean_is_the_vector_and_its_variance_is_relative():
    noisy = App("f", X, (0,))
    mean, variance = said(sent(noisy, None)), said(sent(noisy))
    assert isinstance(mean, Equation) and mean.uses == {"drawn"}
    wanted = state().form(sq(sent(noisy) - noisy) - OMEGA * sq(noisy))
    assert variance.table == wanted and not variance.equal


REFUSED = {
    "depends on the sample": [{"term": sent(sent(X))}, {"term": sent(App("f", sent(X), (0,)))}],
    "the compressor alone": [{"noisy": replace(NOISY, sources=("z", "kept"))}],
    "one space into itself": [
        {"sent": replace(SENT, domain="y")},
        {"sent": replace(SENT, sources=("kept", "z"))},
        {"sent": replace(SENT, sources=()), "term": App("C", X, ())},
        {"sent": replace(SENT, label="y"), "term": App("C", Pair(X, Var("y")), (0,))},
    ],
    "no value of C": [{"term": App("f", X, (0,))}],
    "not about its mean": [{"term": sent(X, None), "axiom": Accuracy("drawn", "C", OMEGA)}],
}


@pytest.mark.parametrize(("reason", "changes"), [(reason, each) for reason, rows in REFUSED.items() for each in rows])
def test_what_is_no_compressor_is_refused(reason, changes):
    with pytest.raises(ProofError, match=reason):
        said(**{"term": sent(X), **changes})


def averaged(**changes):
    """What independence over the clients says of the compressors' errors."""
    return IndependentMean(sent(X) - sent(X, None), "i", Known.before(["kept", "z"]), False).apply(state(**changes))


def test_one_choice_for_all_clients_is_not_averaged():
    """Without a choice of its own for every client the errors do not cancel."""
    assert averaged().equal
    with pytest.raises(ProofError, match="the same for all values of i"):
        averaged(over=())


@pytest.mark.parametrize("c", [fmpq(1), fmpq(1, 2), fmpq(3)])
def test_the_compressor_of_the_instances_attains_both(c):
    """(1 + c w) v with the law of the samples: mean v, variance c^2 |v|^2."""
    functions, v = Functions(state().setting, {}, compression=c), (fmpq(3), fmpq(-2))
    point = tuple(np.array([x], dtype=object) for x in v)
    rows = [(p, functions.apply("C", point, (np.array([w], dtype=object),))) for p, w in LAW]
    for i, x in enumerate(v):
        assert sum(p * row[i].item() for p, row in rows) == x
    square = sum(p * sum((row[i].item() - x) ** 2 for i, x in enumerate(v)) for p, row in rows)
    assert square == c**2 * sum(x**2 for x in v)
    assert functions.apply("C", point, (0,)) == point


# --- the theorem that rests on it, and those on estimates of the gradient ---

COMPRESSED = get_theorem("library.compressed_sgd")


def test_a_longer_step_does_not_follow():
    (condition,) = COMPRESSED.statement().conditions
    theorem = with_stated(COMPRESSED, "conditions", condition.name, right=condition.right * 2)
    with pytest.raises(ProofError, match="descent"):
        derivation(theorem)


def started(term, says):
    """Heavy ball with another start of a variable, under an entry of the list that says something else."""
    theorem = with_entry(get_theorem("library.heavy_ball"), "momentum at rest", says=(says,))
    plan = derivation(get_theorem("library.heavy_ball"))
    axioms = {**plan.axioms, "momentum at rest": Start("momentum at rest", term)}
    return check(replace(plan, axioms=axioms), theorem, theorem.default)


@pytest.mark.parametrize(
    ("term", "says", "reason"),
    [
        (Var("v"), STARTS, "does not say that"),
        (X, AT_ZERO, "does not say that"),
        (X, STARTS, "does not say where a variable starts"),
        (2 * Var("v"), STARTS, "does not say that"),
        (Var("v", 1), AT_ZERO, "depends on samples"),
        (Var("v") - X, AT_ZERO, "does not say that"),
    ],
)
def test_only_an_estimate_starts_at_zero_and_only_where_the_list_says_so(term, says, reason):
    assert started(Var("v"), AT_ZERO).accepted
    found = started(term, says)
    assert not found.accepted and reason in found.failure


@pytest.mark.parametrize("formula", ["1 + omega**2", "2*omega", "2", "1 + N*omega/4"])
def test_another_compressor_is_refused(formula):
    """The first three have the ratio 2 at omega = 1, which both locks compared: they were accepted, and are false for other omega."""
    assert check(derivation(COMPRESSED), with_method(COMPRESSED, ratio="omega + 1"), COMPRESSED.default).accepted
    why = "omega: compressed_sgd has the compression_variance"
    refused(with_method(COMPRESSED, ratio=formula), derivation(COMPRESSED), why)


@pytest.mark.parametrize("method", [None, CompressedSGD(eta=0.1, ratio=8), lambda values: CompressedSGD(0.1, 8)])
def test_a_run_refuses_a_variance_that_is_smaller_than_that_of_the_method(method):
    numbers = {"eta": 0.1, "b": 1, "omega": 3.0, "N": 4, "T": 10}
    assert build_of(COMPRESSED)(numbers).ratio == 4
    theorem = with_method(COMPRESSED, ratio="8") if method is None else COMPRESSED
    with pytest.raises(InputError, match="omega: compressed_sgd has a compression_variance of 7, got 3"):
        build_of(theorem, method)(numbers)


@pytest.mark.parametrize("ratio", [1, 2, 8])
def test_what_a_method_says_of_its_compressor_is_what_it_does(ratio):
    """Over all outcomes: the signs of one coordinate, each drawn apart."""
    (formula,) = {each.constants["compression_variance"] for each in (CompressedSGD, MARINA)}
    outcomes = list(product((-1.0, 1.0), repeat=ratio.bit_length() - 1))
    sent = [sparsified(torch.ones(1, 1, 1), Signs(row), ratio).item() for row in outcomes]
    variance = sum((x - 1) ** 2 for x in sent) / len(sent)
    assert sum(sent) / len(sent) == 1 and variance == float(read_formula(formula, {"ratio": sp.Integer(ratio)}))


class Signs:
    """Given signs, one for each purpose."""

    def __init__(self, row):
        self.row = iter(row)

    def signs(self, purpose, size):
        return torch.full((1, 1, size), next(self.row))
