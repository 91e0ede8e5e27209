"""Terms, and their normal form against a finite probability model: raw terms and their normal forms, evaluated side by side."""

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
    Term,
    Var,
    Variable,
    parameter,
    signomial,
)
from fedco.bounds.proof.kernel.algebra import Algebra
from fedco.bounds.proof.kernel.known import Averaged
from fedco.bounds.proof.kernel.terms import (
    Proj,
    inside,
    is_pointwise,
    put_in,
    rebuilt,
    replaced,
    samples,
    shifted,
    variables,
)
from finite_model import Model, Polynomial, Space

BOTH = frozenset({"k"})
NAMES = ("z", "shared")
STEPS = (0, Averaged(0))
BITS = (
    *(("past", 0, number) for number in (1, 2)),
    *(("z", step, entry) for step in STEPS for entry in product((0, 1), repeat=2)),
    *(("shared", step, ()) for step in STEPS),
)
SETTING = Setting(
    (Index("k", parameter("K", count=True)), Index("i", parameter("B", count=True), True)),
    (Source("z", ("k", "i"), "independent"), Source("shared", (), "independent")),
    (
        Function("f", "x", "x", ("z",), BOTH, BOTH),
        Function("same", "x", "x", ("z",), BOTH, equal="equal means"),
        Function("together", "x", "x", ("shared",), BOTH, equal="equal means"),
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


SPACE = Space(SETTING, BITS)


def drawn(seed):
    """Random variables and functions; x is made from the past, and y also from the samples z of step 0, not from the shared one."""
    rng = np.random.default_rng(seed)

    def numbers(*on, clients=1):
        sizes = [2 if any(bit[: len(each)] == each for each in on) else 1 for bit in BITS]
        return rng.normal(size=(*sizes, clients, 1))

    variables = {"x": numbers(("past",), clients=2), "p": numbers(("past",)), "y": numbers(("past",), ("z", 0))}
    functions = {}
    for function in SETTING.functions:
        a = rng.normal(size=(6, 2 if function.index else 1, 1))
        if function.equal:
            a[:4] = a[:4, :1]  # the mean over the sample has no index
        functions[function.name] = Polynomial(tuple(a[:3]), ((a[4], a[4]), (a[5], a[5])), a[3])
    return Model(SPACE, variables, functions)


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
        function = rng.choice(SETTING.functions[:5])
        if rng.random() < 0.3:
            return App("labelled", Pair(inner, random_term(rng, depth - 1)), (rng.choice([0, 0, None]),))
        return App(function.name, inner, tuple(rng.choice([0, 0, None]) for _ in function.sources))
    if kind == "act":
        operator = App("J", random_term(rng, depth - 1), (rng.choice([0, None]),))
        return Act(rng.choice([operator, Mean("i", operator), Given(PAST, operator)]), inner)
    return Mean(rng.choice("ki"), inner) if kind == "mean" else Given(rng.choice(KNOWN), inner)


@pytest.mark.parametrize("seed", range(15))
def test_the_normal_form_is_equal_on_every_outcome(seed):
    rng, model, algebra = Random(seed), drawn(seed), Algebra(SETTING)
    for _ in range(4):
        raw = random_term(rng, 4)
        left, right = np.broadcast_arrays(model(raw), model(algebra.normal(raw)))
        assert np.allclose(left, right, atol=1e-9 * (1 + abs(left).max())), raw


def test_the_mean_over_clients_of_functions_that_differ_in_their_noise_alone():
    """Their samples are shared, and their means are the same: only with a sample do they differ from client to client."""
    model, algebra = drawn(0), Algebra(SETTING)
    noisy, exact = (App("together", Var("p"), (sample,)) for sample in (0, None))
    for term in (noisy, exact):
        mean = Mean("k", term)
        left, right = np.broadcast_arrays(model(mean), model(algebra.normal(mean)))
        assert np.allclose(left, right)
    assert algebra.support(noisy).index == {"k"} and not algebra.support(exact).index


@pytest.mark.parametrize("seed", range(10))
def test_inner_products(seed):
    rng, model, algebra = Random(1000 + seed), drawn(seed), Algebra(SETTING)
    for _ in range(4):
        u, v = random_term(rng, 3), random_term(rng, 3)
        opened = sum(float(c.at({})) * (model(a) * model(b)).mean() for (a, b), c in algebra.inner(u, v).items())
        parts = np.broadcast_arrays(model(u), model(v))
        whole = (parts[0] * parts[1]).mean()
        assert abs(opened - whole) <= 1e-9 * (1 + abs(parts[0]).max() * abs(parts[1]).max()), (u, v)


def test_supports_hold_what_a_term_depends_on():
    rng, model, algebra = Random(5), drawn(5), Algebra(SETTING)
    for _ in range(40):
        raw = random_term(rng, 3)
        support, array = algebra.support(raw), model(raw)
        assert np.allclose(SPACE.averaged(SPACE.expected(array, support.known), {"k", "i"} - support.index), array), raw


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
    algebra, model = Algebra(SETTING), drawn(0)
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


# --- what is asked of every kind of term ------------------------------------------------------------------------------

X, Y, EMPTY = Var("x"), Var("y", 2), Sum(())
DRAWN, EXACT, OLDER = App("f", X, (0,)), App("f", X, (None,)), App("f", Y, (None, -1))
NODES: dict[Term, tuple[Term, ...]] = {
    parameter("c") * X + 2 * Y: (X, Y),
    EMPTY: (),
    X: (),
    DRAWN: (X,),
    Pair(X, Y): (X, Y),
    Act(EXACT, Y): (EXACT, Y),
    Mean("k", DRAWN): (DRAWN,),
    Given(Known.sample("xi", 0), OLDER): (OLDER,),
    Proj(frozenset({"k"}), Known.sample("xi", 0), OLDER): (OLDER,),
}


@pytest.mark.parametrize("term", NODES, ids=repr)
def test_what_stands_in_a_term(term: Term):
    assert inside(term) == NODES[term]
    assert rebuilt(term, lambda inner: inner) == term
    changed = rebuilt(term, lambda inner: Mean("j", inner))
    assert inside(changed) == tuple(Mean("j", inner) for inner in NODES[term])
    assert rebuilt(changed, lambda inner: inside(inner)[0]) == term  # all else is as it was


@pytest.mark.parametrize("term", NODES, ids=repr)
def test_a_later_term_is_every_part_of_it_later(term: Term):
    later = shifted(term, 3)
    assert variables(later) == {(name, shift + 3) for name, shift in variables(term)}
    assert samples(later) == {step + 3 for step in samples(term)}
    assert shifted(later, -3) == term and (later == term) == (not variables(term))


def test_what_is_known_moves_with_the_steps():
    known = Known.sample("xi", 0)
    assert shifted(Given(known, X), 1) == Given(known.later(1), Var("x", 1))
    assert shifted(Proj(frozenset("k"), known, X), 1) == Proj(frozenset("k"), known.later(1), Var("x", 1))


def test_what_is_put_in_for_a_variable():
    deep = Mean("k", Act(DRAWN, Pair(X, Given(Known.sample("xi", 0), 2 * Y))))
    assert variables(deep) == {("x", 0), ("y", 2)} and samples(deep) == {0}
    assert put_in(deep, lambda var: var) == deep
    assert replaced(deep, {"y": DRAWN}) == Mean(
        "k", Act(DRAWN, Pair(X, Given(Known.sample("xi", 0), 2 * shifted(DRAWN, 2))))
    )


def test_a_sample_or_an_expectation_makes_a_term_no_function_of_its_variables():
    pointwise = [X, EMPTY, EXACT, Act(EXACT, Y), Mean("k", EXACT), Pair(X, EXACT), X + EXACT, App("one", EMPTY)]
    assert all(map(is_pointwise, pointwise))
    known = Known.sample("xi", 0)
    others = [DRAWN, OLDER, App("f", DRAWN, (None,)), Act(EXACT, DRAWN), Mean("k", OLDER), Pair(DRAWN, X), X + DRAWN]
    assert not any(
        map(is_pointwise, [*others, Given(known, X), Proj(frozenset(), known, X), Mean("k", Given(known, X))])
    )


def test_what_is_no_term_is_refused():
    for ask in (inside, variables, samples, is_pointwise, lambda term: shifted(term, 1)):
        with pytest.raises(TypeError, match="is no term"):
            ask("x")  # type: ignore[arg-type]
