"""What is asked of every kind of term: what stands in it, and the same term with something else there."""

import pytest
from fedco.bounds.proof.kernel import Act, App, Given, Mean, Pair, Sum, Term, Var, parameter
from fedco.bounds.proof.kernel.known import Known
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
def test_what_stands_in_a_term(term: Term) -> None:
    assert inside(term) == NODES[term]
    assert rebuilt(term, lambda inner: inner) == term
    changed = rebuilt(term, lambda inner: Mean("j", inner))
    assert inside(changed) == tuple(Mean("j", inner) for inner in NODES[term])
    assert rebuilt(changed, lambda inner: inside(inner)[0]) == term  # all else is as it was


@pytest.mark.parametrize("term", NODES, ids=repr)
def test_a_later_term_is_every_part_of_it_later(term: Term) -> None:
    later = shifted(term, 3)
    assert variables(later) == {(name, shift + 3) for name, shift in variables(term)}
    assert samples(later) == {step + 3 for step in samples(term)}
    assert shifted(later, -3) == term and (later == term) == (not variables(term))


def test_what_is_known_moves_with_the_steps() -> None:
    known = Known.sample("xi", 0)
    assert shifted(Given(known, X), 1) == Given(known.later(1), Var("x", 1))
    assert shifted(Proj(frozenset("k"), known, X), 1) == Proj(frozenset("k"), known.later(1), Var("x", 1))


def test_what_is_put_in_for_a_variable() -> None:
    deep = Mean("k", Act(DRAWN, Pair(X, Given(Known.sample("xi", 0), 2 * Y))))
    assert variables(deep) == {("x", 0), ("y", 2)} and samples(deep) == {0}
    assert put_in(deep, lambda var: var) == deep
    assert replaced(deep, {"y": DRAWN}) == Mean(
        "k", Act(DRAWN, Pair(X, Given(Known.sample("xi", 0), 2 * shifted(DRAWN, 2))))
    )


def test_a_sample_or_an_expectation_makes_a_term_no_function_of_its_variables() -> None:
    pointwise = [X, EMPTY, EXACT, Act(EXACT, Y), Mean("k", EXACT), Pair(X, EXACT), X + EXACT, App("one", EMPTY)]
    assert all(map(is_pointwise, pointwise))
    known = Known.sample("xi", 0)
    others = [DRAWN, OLDER, App("f", DRAWN, (None,)), Act(EXACT, DRAWN), Mean("k", OLDER), Pair(DRAWN, X), X + DRAWN]
    assert not any(
        map(is_pointwise, [*others, Given(known, X), Proj(frozenset(), known, X), Mean("k", Given(known, X))])
    )


def test_what_is_no_term_is_refused() -> None:
    for ask in (inside, variables, samples, is_pointwise, lambda term: shifted(term, 1)):
        with pytest.raises(TypeError, match="is no term"):
            ask("x")  # type: ignore[arg-type]
