"""Differences of gradients in the place of Hessians, the smaller of two bounds, and bounds given the path."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from altered import with_declared, with_entry, with_rule
from fedco.bounds import get_theorem
from fedco.bounds.language.recursion import least
from fedco.bounds.proof.check_on_instances import STYLES, both_sides, established, instance
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.finite import Run
from fedco.bounds.proof.instances import Functions
from fedco.bounds.proof.kernel import (
    Act,
    Assume,
    CentralDifference,
    Combine,
    Conditional,
    DifferenceVariance,
    Function,
    Known,
    Numbers,
    Param,
    ProofError,
    SecondDifference,
    Sequence,
    Smaller,
    Step,
    Var,
    Variable,
    parameter,
    run_through,
    scalar,
    signomial,
    sq,
)
from fedco.bounds.proof.kernel.assumptions import sure_bound
from fedco.bounds.proof.kernel.derivation import checked_line
from fedco.bounds.proof.kernel.facts import Moment
from fedco.bounds.proof.kernel.scalars import One
from fedco.bounds.proof.kernel.signomial import moves, put_in_numbers
from fedco.bounds.proof.kernel.terms import App

NAME = "meta_fl.lemma_11"
SECOND, CENTRAL = "rho of dg", "rho of dg 2"
LEMMA = get_theorem(NAME)
A, D, P, Q = (Var(name) for name in "adpq")
PATH = Known.before(("path",))
T = Sequence("T", signomial(0), signomial(0)).now


@cache
def checked():
    return established(NAME)


def loop():
    return derivation(LEMMA)


def refused(message, rule, name="tried", state=None):
    state = (state or checked().state).copy()
    with pytest.raises(ProofError, match=message):
        checked_line(state, Step(name, rule))


def accepted(rule, state=None):
    state = (state or checked().state).copy()
    checked_line(state, Step("tried", rule))
    return state.facts["tried"]


def rejected(changed, message=""):
    found = run_through(changed, LEMMA)
    assert not found.accepted and message in found.failure, found.failure


def dg(point, sample=None):
    return App("dg", point, (sample,))


def hessian(point):
    return App("ddf", point, (None,))


# --- the lemma --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("axiom", "constant"), [(CENTRAL, "rho"), (SECOND, "rho"), ("sigma_H of dg", "sigma_H")])
def test_a_larger_constant_of_an_assumption_is_refused(axiom, constant):
    """The constant is the symbol's, so that a statement with less of it is refused."""
    assert {p.name for p in checked().state.axioms[axiom].constant.params} == {constant}
    plan = loop()
    typed = replace(checked().state.axioms[axiom], constant=checked().state.axioms[axiom].constant / 2)
    rejected(replace(plan, axioms={**plan.axioms, axiom: typed}), "read off, not typed")


def test_the_batch_of_a_difference_is_fresh_and_independent():
    """One sample for all places of the batch, or the estimate of a step made from its own batch."""
    rejected(with_declared(loop(), "sources", "xi", index=()), "noise of a batch")
    rejected(with_declared(loop(), "variables", "p", sources=("path", "xi"), equations=()))


def test_the_statement_with_one_of_the_two_bounds_alone():
    """With the smaller of two in the statement neither alone is enough; with one alone in the statement the smaller is."""
    plan = loop()
    for name in ("noise, by gradients", "noise, by Hessians"):
        rule = next(s.rule for s in plan.steps if s.name == "noise")
        bound = dict(rule.parts)[name]
        alone = Combine(rule.left, scalar(bound), ((signomial(1), name),))
        rejected(with_rule(plan, "noise", alone))


# --- the smaller of two numbers ---------------------------------------------------------------------------------------


def test_the_smaller_of_two_numbers():
    x, y = parameter("x"), parameter("y", positive=False)
    found = (2 * x).least(y)
    assert found == y.least(2 * x) == least(2 * x, y) and x.least(x) == x and found.nonnegative
    assert {p.name for p in found.params} == {"x", "y"} and not moves(found)
    for a, b in ((1, 3), (Fraction(1, 2), 1), (4, 0)):
        point = {Param("x"): Fraction(a), Param("y", False): Fraction(b)}
        assert found.at(point) == min(2 * a, b) and (found**2 + x).at(point) == min(2 * a, b) ** 2 + a
    (param,) = x.params
    assert put_in_numbers(found * x, {param: y + 1}) == (2 * y + 2).least(y) * (y + 1)
    assert put_in_numbers(found, {param: y / 2}) == y
    with pytest.raises(ProofError, match="may be negative"):
        x.least(x - y)
    with pytest.raises(ProofError, match="name of a minimum"):
        Param("min(x, y)")


def test_the_smaller_of_two_moves_with_its_sequences():
    x, after = Sequence("X", signomial(1), signomial(0)).now, parameter("c")
    numbers = Numbers(parameter("nu"), (Sequence("X", signomial(1), x + x.least(after)),))
    assert moves(x.least(after)) and numbers.at_start(x.least(after)) == signomial(1).least(after)
    assert numbers.after(x.least(after)) == (x + x.least(after)).least(after)
    with pytest.raises(ProofError, match="no such sequence as Y"):
        Numbers(parameter("nu"), (Sequence("X", signomial(1), x.least(Sequence("Y", x, x).now)),))


def test_a_bound_by_the_smaller_needs_both():
    rule = next(s.rule for s in loop().steps if s.name == "noise")
    (first, by_gradient), (second, by_hessian) = rule.parts
    found = accepted(rule)
    assert found.table == checked().state.form(rule.left - by_gradient.least(by_hessian))
    for parts in (
        ((first, by_gradient / 2), (second, by_hessian)),
        ((first, by_gradient), (second, by_hessian / 2)),
        ((first, by_gradient), (first, by_hessian)),
        ((second, by_gradient), (second, by_hessian)),
    ):
        refused("does not say that", Smaller(rule.left, parts))
    refused("does not say that", Smaller(2 * rule.left, rule.parts))


# --- given the path ---------------------------------------------------------------------------------------------------


def test_what_holds_for_every_path_holds_given_the_path():
    found = accepted(Conditional("size", A, T, PATH))
    assert isinstance(found, Moment) and found.given == PATH and found.bound == T
    refused("does not say that", Conditional("size", A, T / 2, PATH))
    refused("does not say that", Conditional("size", D, T, PATH))
    refused("wanted an inequality", Conditional("size, given the path", A, T, PATH))
    first = checked().state.numbers.at_start(T)
    refused("about every step", Conditional("size, first", A, first, PATH))


def test_not_given_samples_that_a_function_takes():
    """Given its own batch the noise is no longer centred."""
    for name in ("zeta", "xi"):
        refused("enter not only through free variables", Conditional("size", A, T, Known.before((name,))))
    refused("no such source", Conditional("size", A, T, Known.before(("elsewhere",))))
    for name, index in (("xi", ()), ("path", ("i",))):
        setting = with_declared(loop(), "sources", name, index=index).setting
        state = replace(checked().state.copy(), setting=setting)
        given = Known.before((name,))
        refused("enter not only through free variables", Conditional("size", A, T, given), state=state)


def test_not_what_rests_on_the_law_of_the_path():
    """The distance of the two paths is small in the mean only; given the path it may be anything."""
    state = checked().state
    v = Sequence("v", signomial(0), signomial(0)).now
    refused("about one law", Conditional("error", A - D, v, PATH))
    reversed_path = Sequence("h2", signomial(0), signomial(0)).reversed
    refused("about one law", Conditional("apart", P - Q, reversed_path, PATH))
    refused("supposed", Conditional("size, supposed", A, T, PATH))
    style = next(s for s in STYLES if s.name == "every step")
    run = instance(style, checked())
    mean = max(run.scalar(sq(P - Q), t) for t in range(run.horizon))
    bound = signomial(Fraction(int(mean.p), int(mean.q)))
    claim = Moment(state.algebra.normal(P - Q), PATH, bound)
    assert not all(one.holds for one in both_sides("given the path", claim, run))


def test_not_what_rests_on_where_the_path_ends_or_on_a_length():
    for name, left in (("meta_fl.lemma_10", Var("m") - Var("r")), ("meta_fl.lemma_4", Var("a") - Var("r"))):
        state = established(name).state
        step = "bias of m" if name == "meta_fl.lemma_10" else "error"
        bound = -state.facts[step].table[One()]
        refused("about one law", Conditional(step, left, bound, Known()), state=state)
    first = established("meta_fl.lemma_4 before:").state
    size = -first.facts["path"].table[One()]
    refused("about one law", Conditional("path", Var("u") - Var("w"), size, Known()), state=first)


def test_not_for_a_vector_with_an_index():
    plan = loop()
    setting = replace(
        plan.setting, variables=(*plan.setting.variables, Variable("z", "x", frozenset({"i"}), sources=("path",)))
    )
    state = replace(checked().state.copy(), setting=setting)
    z = Var("z")
    state.facts["z"] = replace(state.facts["size"], form=tuple(state.form(sq(z) - T).items()))
    refused("depends on an index", Conditional("z", z, T, PATH), state=state)


def test_the_second_moment_of_every_step_is_one_given_the_path():
    """Evaluated for every outcome of the path, on instances of two and three steps; given one step more of it too."""
    fact = checked().state.facts["size, given the path"]
    for name, more in product(("every step", "rounds"), (0, 1)):
        run = instance(next(s for s in STYLES if s.name == name), checked())
        found = list(both_sides("size, given the path", replace(fact, given=Known.before(("path",), more)), run))
        assert len(found) > 1 and all(one.holds for one in found) and max(one.ratio for one in found) > 0.5


# --- assumptions about differences ------------------------------------------------------------------------------------


def peaked():
    """A run in which the Hessian has its kink at the point q = 0, p is near, and the constant of the Hessian."""
    run = instance(next(s for s in STYLES if s.name == "bent"), checked())
    shapes = {name: replace(shape, core=0 * shape.core) for name, shape in run.problem.shapes.items()}
    first, second = (x / 8 for x in shapes["dg"].before[:2])
    where = {"q": (0 * first, 0 * second), "p": (first, second)}

    def free(name, time, sample):
        return tuple(np.full([1] * len(run.axes), x, dtype=object) for x in where[name])

    problem = Functions(run.setting, shapes)
    run = Run(run.setting, problem, run.point, run.horizon, run.period, run.start, free, moving=run.moving)
    return run, shapes["dg"].curved[0][0] / shapes["dg"].width


def test_a_central_difference_errs_by_no_more():
    """It errs by exactly c |u|^2 where the Hessian is c |x| around the point, and a smaller constant is false there."""
    run, curvature = peaked()
    state = checked().state.copy()
    c = signomial(Fraction(int(curvature.p), int(curvature.q)))
    square = run.scalar(sq(P), 0)
    size = signomial(Fraction(int(square.p), int(square.q)))
    state.sizes = {state.algebra.normal(P): Moment(state.algebra.normal(P), None, size)}
    terms = (dg(Q + P), dg(Q - P), hessian(Q))
    for factor, holds in ((1, True), (Fraction(98, 100), False)):
        axiom = replace(checked().state.axioms[CENTRAL], constant=factor * c)
        (one,) = both_sides("central", axiom.instance(state, terms), run)
        assert one.holds == holds and one.left > 0
        assert not holds or one.left == one.right


def test_a_central_difference_wants_the_point_in_the_middle_and_a_bound():
    good = Assume(CENTRAL, (dg(Q + D), dg(Q - D), hessian(Q)), ("d sure",))
    assert accepted(good).uses >= {"2", "3"}
    for terms in (
        (dg(Q + D), dg(Q), hessian(Q)),
        (dg(Q + D), dg(Q - 2 * D), hessian(Q)),
        (dg(Q + D), dg(Q - D), hessian(P)),
    ):
        refused("is not in the middle", replace(good, terms=terms))
    refused("no bound of the vector", replace(good, sizes=()))
    refused("no bound of the vector", replace(good, sizes=("size, given the path",)))
    refused("no bound of the vector", Assume(CENTRAL, (dg(Q + D + P), dg(Q - D - P), hessian(Q)), ("d sure",)))
    refused("samples differ", replace(good, terms=(dg(Q + D, 0), dg(Q - D), hessian(Q))))
    refused("about the mean", replace(good, terms=(dg(Q + D, 0), dg(Q - D, 0), hessian(Q))))
    refused("about the mean", replace(good, terms=(dg(Q + D), dg(Q - D), App("ddf", Q, (0,)))))


def test_a_mean_bound_of_the_vector_bounds_the_mean_error():
    state = checked().state
    terms = (dg(P + A), dg(P - A), hessian(P))
    found = accepted(Assume(CENTRAL, terms, ("size, given the path",)))
    given = {known for known in (PATH,) if repr(known) in repr(found)}
    assert given, "the bound is that of a conditional expectation"
    error = dg(P + A) - dg(P - A) - 2 * Act(hessian(P), A)
    rho = state.axioms[CENTRAL].constant
    assert found.table != state.form(sq(error) - (rho * T) ** 2)
    refused("sure bounds", Assume(SECOND, (dg(P + A), dg(P), dg(Q + A), dg(Q)), ("size, given the path",)))


def test_a_mean_bound_is_no_sure_one():
    state = checked().state.copy()
    bound = state.facts["size, given the path"]
    state.sizes = {bound.term: bound}
    with pytest.raises(ProofError, match="no bound for every outcome"):
        sure_bound(state, 2 * A)
    state.sizes = {bound.term: replace(bound, given=None, bound=T**2)}
    assert sure_bound(state, state.algebra.normal(2 * A))[0] == 2 * T


def test_no_derivative_that_differs_over_another_index():
    setting = loop().setting
    of_clients = Function("ddf", "x", ("x", "x"), ("xi",), frozenset({"i"}), frozenset({"i"}))
    functions = tuple(of_clients if f.name == "ddf" else f for f in setting.functions)
    varied = tuple(replace(v, index=v.index | {"i"}) if v.equations else v for v in setting.variables)
    state = replace(checked().state.copy(), setting=replace(setting, functions=functions, variables=varied))
    rule = Assume(CENTRAL, (dg(Q + D), dg(Q - D), hessian(Q)), ("d sure",))
    refused("depends on other indices", rule, state=state)


def test_a_second_difference_wants_equal_steps_and_a_sure_bound():
    good = Assume(SECOND, (dg(P + D), dg(P), dg(Q + D), dg(Q)), ("d sure",))
    assert accepted(good).uses >= {"2", "3"}
    refused("not equally far", replace(good, terms=(dg(P + D), dg(P), dg(Q + 2 * D), dg(Q))))
    refused("not equally far", replace(good, terms=(dg(P + D), dg(P), dg(Q), dg(Q + D))))
    refused("no bound for every outcome", replace(good, sizes=()))
    refused("about the mean", replace(good, terms=tuple(dg(t.argument, 0) for t in good.terms)))


def test_every_assumption_about_a_derivative_names_both_of_its_entries():
    kinds = (CentralDifference, SecondDifference, DifferenceVariance)
    found = [axiom for axiom in checked().state.axioms.values() if isinstance(axiom, kinds)]
    assert len(found) == 3 and {axiom.differentiable for axiom in found} == {"2", "not stated: sample losses"}
    for entry in ("2", "not stated: sample losses"):
        refused_for = run_through(loop(), with_entry(LEMMA, entry, says=()))
        assert not refused_for.accepted and "differentiable" in refused_for.failure, refused_for.failure


def test_nothing_is_put_in_for_what_stands_in_a_minimum():
    x, y = parameter("x"), parameter("y")
    (((smaller, _),),) = [monomial for monomial, _ in (x**2).least(y).terms]
    ((x_param, _),) = x.terms[0][0]
    assert smaller.least
    with pytest.raises(ProofError, match="x stands in a minimum"):
        (y + (x**2).least(y)).substitute(x_param, y)
    assert (x + y.least(1)).substitute(x_param, y) == y + y.least(1)
