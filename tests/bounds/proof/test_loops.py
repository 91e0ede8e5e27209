"""The rules for a loop inside one step of a method: inductions over its steps, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import sympy as sp
from altered import with_declared, with_rule, with_setting, with_stated
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.recursion import Geometric, Nested, step_function
from fedco.bounds.papers.meta_fl import constants
from fedco.bounds.proof.derivations import derivation, prove
from fedco.bounds.proof.kernel import (
    EVERY,
    LATER,
    LOCAL,
    ONE,
    Along,
    App,
    Assume,
    Combine,
    Delivery,
    Induction,
    Later,
    Length,
    Loop,
    ProofError,
    Reader,
    ReversedPower,
    Sequence,
    Start,
    Step,
    SumOver,
    Suppose,
    Sure,
    Var,
    Variable,
    named,
    run_through,
    scalar,
    signomial,
    sq,
)
from fedco.bounds.proof.kernel.deliveries import what_is_bounded
from fedco.bounds.proof.kernel.facts import BEFORE_THE_END
from fedco.bounds.proof.kernel.loop import settled
from fedco.bounds.proof.loops import sequences_of
from quick import slow_but

LEMMA_5 = get_theorem("meta_fl.lemma_5")
U, W = Var("u"), Var("w")
SUPPOSED, FIRST = "path, supposed", "path, first"
ZERO = signomial(0)


def plan(theorem=LEMMA_5) -> Loop:
    return derivation(theorem)


def changed(loop, name, rule):
    return with_rule(loop, name, rule)


def added(loop, *steps):
    return replace(loop, steps=(*loop.steps, *steps))


def refused(loop, message, theorem=LEMMA_5):
    found = run_through(loop, theorem, theorem.default)
    assert not found.checked and message in found.failure, found.failure


def rule(loop, name):
    return next(step.rule for step in loop.steps if step.name == name)


def test_a_hypothesis_alone_proves_nothing():
    loop = plan()
    named = {s.name: s for s in loop.sequences}
    claim = Delivery("h2_nu", SUPPOSED)
    refused(replace(loop, delivers=(claim, *loop.delivers[1:])), "rests on what is supposed")
    weaker = Combine(sq(U - W), scalar(2 * named["h2"].now), ((ONE, SUPPOSED),))
    claim = Delivery("h2_nu", "more")
    refused(
        replace(added(loop, Step("more", weaker)), delivers=(claim, *loop.delivers[1:])), "rests on what is supposed"
    )


def test_an_induction_needs_its_own_hypothesis_and_the_next_value():
    loop = plan()
    h2 = loop.sequences[0].now
    good = rule(loop, "path")
    refused(changed(loop, SUPPOSED, Suppose(sq(U - W), h2 / 2)), f"{SUPPOSED} does not say")
    after = rule(loop, "path, next")
    resting = changed(loop, "path, next", replace(after, weights=(*after.weights, (ZERO, "another"))))
    another = Step("another", Suppose(sq(U - W), h2 / 2))
    refused(replace(resting, steps=(another, *resting.steps)), "rests on what is supposed")
    larger = (
        Step("other", Suppose(sq(U - W), 2 * h2)),
        Step("twice", Combine(sq(U - W), scalar(2 * h2), ((ONE, "other"),))),
    )
    refused(added(loop, *larger, Step("wrong", Induction(sq(U - W), 2 * h2, FIRST, "twice"))), "does not say")
    refused(changed(loop, "path", replace(good, base=SUPPOSED)), f"{SUPPOSED} does not say")
    refused(changed(loop, "path", replace(good, step="path, grown")), "path, grown does not say")
    refused(changed(loop, "path", replace(good, bound=h2 + 1)), "does not say")


def test_the_base_may_not_rest_on_a_hypothesis():
    loop = plan()
    empty = Sequence("Z", ZERO, ZERO)
    steps = (
        Step("none", Suppose(sq(U - W), ZERO)),
        Step("always", Induction(sq(U - W), empty.now, "none", "none")),
    )
    refused(replace(added(loop, *steps), sequences=(*loop.sequences, empty)), "does not say")
    claim = Step("always", Induction(sq(U - W), ZERO, "none", "still"))
    still = Step("still", Combine(sq(Var("u", 1) - Var("w", 1)), scalar(ZERO), ((ONE, "none"),)))
    refused(added(loop, steps[0], still, claim), "step still")


def test_what_holds_at_one_step_is_not_moved_or_summed():
    loop = plan()
    for name in (SUPPOSED, "path"):
        refused(added(loop, Step("moved", Later(name, 1))), "no rule for a loop")
        refused(added(loop, Step("all", SumOver(name))), "no rule for a loop")


@pytest.mark.parametrize("slip", ["ratio", "noise", "start"])
def test_a_wrong_sequence_is_refused(slip):
    loop = plan()
    h2 = loop.sequences[0]
    wrong = {
        "ratio": replace(h2, after=h2.after - h2.now),
        "noise": replace(h2, after=h2.after * signomial(1) / 2),
        "start": replace(h2, start=signomial(1)),
    }[slip]
    refused(replace(loop, sequences=(wrong, *loop.sequences[1:])), "")


def test_two_forms_of_a_sequence_start_alike_and_go_on_alike():
    loop = plan()
    good = rule(loop, "closed")
    refused(changed(loop, "closed", replace(good, factor=good.factor + 1)), "left over")
    refused(changed(loop, "closed", replace(good, right=good.right + 1)), "at the start")
    refused(changed(loop, "closed", replace(good, right=2 * good.right)), "left over")


def test_a_random_vector_has_no_sure_bound():
    loop = plan()
    own = Sequence("Z", ZERO, ZERO)
    u_is_random = Step("sure", Sure("sum", U - W, ONE))
    refused(replace(added(loop, u_is_random), sequences=(*loop.sequences, own)), "depends on")


def test_a_start_may_not_hide_a_sample():
    """w is declared to depend on nothing: it may not start where a random point is."""
    loop = plan()
    variables = (*loop.setting.variables, Variable("z", "x"))
    setting = replace(loop.setting, variables=variables)
    axioms = {**loop.axioms, "hidden": Start("start", W - App("df", Var("z"), (-2,)))}
    refused(
        added(replace(loop, setting=setting, axioms=axioms), Step("hidden", Assume("hidden"))),
        "no variable in it may depend",
    )
    assert all(phases == EVERY for v in loop.setting.variables for phases, _ in v.equations)


def statement_with(theorem, name, change):
    """The theorem with another formula of a derived constant."""
    before = theorem.statement().constant(name).expr
    assert change(before) != before
    return with_stated(theorem, "derived", name, expr=change(before))


def put(**values):
    """Other expressions in the place of symbols."""
    return lambda expr: expr.subs(
        {symbol: values[str(symbol)] for symbol in expr.free_symbols if str(symbol) in values}
    )


def lowered(expr):
    """A power of A less wherever nu stands in the exponent."""
    return expr.replace(lambda e: e.is_Pow and e.exp.free_symbols, lambda e: e / e.base)


@pytest.mark.parametrize(
    "change",
    [
        lowered,
        lambda e: e.replace(lambda p: p.is_Pow and p.exp.coeff(nu_of(e)) == 2, lambda p: p.base ** (p.exp / 2)),
        lambda e: e.replace(lambda p: p == nu_of(e), lambda p: sp.Integer(1)),
        put(rho=sp.Integer(0)),
        put(gamma_H=sp.Integer(0)),
        lambda e: e.replace(Nested, lambda nu, a: Nested(nu - 1, a)),
        lambda e: e.replace(Nested, Geometric),
    ],
    ids=["A^nu", "A^(2 nu)", "nu", "rho", "gamma_H", "sum", "another sum"],
)
def test_a_wrong_heterogeneity_is_refused(change):
    theorem = get_theorem("meta_fl.lemma_7")
    refused(plan(theorem), "", statement_with(theorem, "gamma_F", change))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mu_F", lowered),
        ("mu_F", put(rho=sp.Integer(0))),
        (
            "mu_F",
            lambda e: e.replace(
                constants.corrected_h_sum.node, lambda nu, *rest: constants.corrected_h_sum.node(nu - 1, *rest)
            ),
        ),
        ("mu_F", lambda e: e.replace(constants.corrected_h_sum.node, lambda *rest: constants.corrected_h2.node(*rest))),
        ("sigma_F", lambda e: e / 2),
        (
            "sigma_F",
            lambda e: e.replace(
                constants.corrected_v.node, lambda nu, a, B, *rest: constants.corrected_v.node(nu, a, 2 * B, *rest) / 4
            ),
        ),
        ("h2_nu", lambda e: e.subs(nu_of(e), nu_of(e) - 1)),
    ],
)
def test_a_wrong_bias_or_second_moment_is_refused(name, change):
    theorem = get_theorem("meta_fl.lemma_6")
    refused(plan(theorem), "", statement_with(theorem, name, change))


SLIPS = {
    "start": lambda start, after: (lambda path, *r: (start(path, *r)[0] - path, *start(path, *r)[1:]), after),
    "noise": lambda start, after: (start, lambda *r: (after(*r)[0] / 2, *after(*r)[1:])),
    "size": lambda start, after: (start, lambda *r: (after(*r)[0], after(*r)[1] - r[2], after(*r)[2])),
    "power": lambda start, after: (start, lambda *r: (*after(*r)[:2], r[3])),
    "path": lambda start, after: (start, lambda path, *r: after(path / 2, *r)),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_the_code_of_the_second_moment_is_refused(slip):
    """The kernel runs what the code of `constants.corrected_v` says of one step, for every nu."""
    theorem, rule = get_theorem("meta_fl.lemma_6"), constants.corrected_v.rule

    def stated(name, start, after):
        recurrence = Slipped(start, after, rule.along, 0, rule.reads, rule.states)
        node = step_function(name, recurrence, "s")
        node.recurrence = recurrence
        return statement_with(theorem, "sigma_F", lambda e: e.replace(constants.corrected_v.node, lambda *a: node(*a)))

    refused(plan(theorem), "no sequences start and go on", stated("slipped", *SLIPS[slip](rule.start, rule.after)))
    assert run_through(plan(theorem), stated("same", rule.start, rule.after)).checked


def test_the_sequences_of_a_constant_are_its_recursion():
    theorem = get_theorem("meta_fl.lemma_6")
    s, loop = Reader(theorem, theorem.statement()), plan(theorem)
    before = {each.name: each for each in loop.before.sequences}
    assert before["h2"] == sequences_of(constants.corrected_h2, s, "h2")[0]
    h2 = before["h2"].now
    assert before["h2"].after == (1 + s.alpha * s.L) ** 2 * h2 + s.alpha**2 * s.sigma_G**2 / s.D
    error = next(each for each in loop.sequences if each.name == "v")
    assert error.start == s.sigma_G**2 / s.D + s.L**2 * before["h2"].end
    found = sequences_of(constants.corrected_v, s, "v", "T", "E", along=before["h2"])
    assert [each.name for each in found] == ["v", "T", "E"] and found[0].start == error.start
    with pytest.raises(TypeError, match="h: wanted a constant that is given step by step"):
        sequences_of(constants.h, s, "h")


@dataclass(frozen=True)
class Slipped:
    """A recurrence whose functions do not say how many arguments they have."""

    start: Any
    after: Any
    along: Any
    result: int
    reads: tuple[str, ...]
    states: int


@pytest.mark.parametrize(
    ("lemma", "name", "change"),
    [
        (4, "L_F", lowered),
        (
            4,
            "L_F",
            lambda e: e.replace(lambda p: p.is_Pow and p.exp.coeff(nu_of(e)) == 2, lambda p: p.base ** (p.exp / 2)),
        ),
        (4, "L_F", put(rho=sp.Integer(0))),
        (4, "L_F", lambda e: e.replace(Geometric, lambda nu, a: nu)),
        (10, "mu_F_FO", lowered),
        (10, "mu_F_FO", lambda e: e.subs(nu_of(e), 1)),
        (10, "sigma_F_FO", lambda e: e / 2),
    ],
)
def test_a_wrong_smoothness_or_first_order_constant_is_refused(lemma, name, change):
    theorem = get_theorem(f"meta_fl.lemma_{lemma}")
    refused(plan(theorem), "", statement_with(theorem, name, change))


def test_the_length_at_the_start_is_that_of_the_first_loop():
    theorem = get_theorem("meta_fl.lemma_4")
    loop = plan(theorem)
    refused(added(loop, Step("again", Length(Var("a") - Var("r")))), "the first loop", theorem)
    asked = what_is_bounded(loop, loop.delivers[0], theorem, theorem.statement(), Reader(theorem, theorem.statement()))
    assert asked.times == Length(U - W).size ** 2, "a Lipschitz constant is about two models of any distance"


def test_only_a_power_is_read_in_reverse_as_a_power():
    theorem = get_theorem("meta_fl.lemma_4")
    loop = plan(theorem)
    refused(changed(loop, "power", replace(rule(loop, "power"), name="G")), "no such sequence", theorem)
    squares = replace(loop.sequences[0], after=2 * loop.sequences[0].now)
    refused(replace(loop, sequences=(squares, *loop.sequences[1:])), "another sequence in the loop before", theorem)


def test_a_rule_for_loops_says_what_it_says_of_its_own():
    """A first loop goes back along none, a length is that of a combination of variables, and a sure bound is the one that was proved."""
    loop, h2 = plan(), plan().sequences[0].now
    refused(added(loop, Step("back", Along("path", sq(U - W), h2))), "there is no loop before")
    refused(added(loop, Step("power", ReversedPower("h2"))), "h2: no such sequence")
    refused(added(loop, Step("size", Length(App("df", W, (None,))))), "a linear combination of variables")
    theorem = get_theorem("meta_fl.lemma_7")
    loop = plan(theorem)
    sure = rule(loop, "sure")
    refused(changed(loop, "sure", replace(sure, size=sure.size / 2)), "does not say that", theorem)
    theorem = get_theorem("meta_fl.lemma_6")
    hidden = with_declared(plan(theorem), "variables", "p", sources=())
    refused(hidden, "p depends on no sample, but u does", theorem)
    theorem = get_theorem("meta_fl.lemma_4")
    refused(replace(plan(theorem), reversed={"u": "p", "w": "p"}), "two variables have one reverse", theorem)


def test_a_sure_bound_and_a_vanishing_vector_keep_the_hypothesis():
    theorem = get_theorem("meta_fl.lemma_7")
    loop = plan(theorem)
    refused(
        changed(loop, "sure", replace(rule(loop, "sure"), step="r size, supposed")),
        "rests on what is supposed",
        theorem,
    )
    theorem = get_theorem("meta_fl.lemma_6")
    loop = plan(theorem)
    refused(
        changed(loop, "mean is m", replace(rule(loop, "mean is m"), step="mean, supposed")),
        "of the step itself",
        theorem,
    )


def test_the_hessian_batch_is_fresh():
    """With a Hessian at a point that has seen its own batch the noise has no mean 0."""
    theorem = get_theorem("meta_fl.lemma_6")
    loop = plan(theorem)
    refused(with_declared(loop, "variables", "p", sources=("path", "xi")), "step", theorem)


@pytest.mark.parametrize("name", slow_but(("theorem_8",), ("theorem_8", "theorem_8_FO", "theorem_8_HF")))
def test_a_theorem_lists_what_its_lemmas_assume(name):
    main = prove(get_theorem(f"meta_fl.{name}"))
    for lemma in derivation(get_theorem(f"meta_fl.{name}")).lemmas:
        found = run_through(plan(lemma.theorem), lemma.theorem, lemma.label)
        assert found.checked and set(found.assumptions) <= set(main.assumptions), lemma.theorem.id


def nu_of(expr):
    return next(symbol for symbol in expr.free_symbols if str(symbol) == "nu")


def test_what_holds_along_the_path_is_not_read_after_the_last_step():
    """At nu - 1 - t a step lies on the path only for t < nu."""
    theorem = get_theorem("meta_fl.lemma_7")
    loop = plan(theorem)
    refused(replace(loop, delivers=(Delivery("", "apart"),)), "before the end", theorem)
    good = rule(loop, "apart")
    refused(changed(loop, "apart", replace(good, step=SUPPOSED)), "rests on what is supposed", theorem)
    refused(changed(loop, "apart", replace(good, bound=2 * good.bound)), "does not say", theorem)
    refused(changed(loop, "power", replace(rule(loop, "power"), end=False)), "", theorem)


def test_a_path_is_read_in_reverse_by_free_variables_that_are_as_random():
    theorem = get_theorem("meta_fl.lemma_7")
    loop = plan(theorem)
    refused(replace(loop, reversed={"u": "q", "v": "q"}), "", theorem)
    refused(replace(loop, reversed={"u": "a", "v": "q"}), "is not free", theorem)
    refused(replace(loop, reversed={}), "together", theorem)
    refused(replace(loop, constants=()), "other constants", theorem)


@pytest.mark.parametrize("name", ["h2_nu", "h_nu"])
def test_a_wrong_constant_of_lemma_5_is_refused(name):
    """A power less, the batch size left out, and a constant of which nothing is proved."""
    statement = LEMMA_5.statement("corrected")
    constant = next(d for d in statement.derived if d.name == name)
    symbols = {str(symbol): symbol for symbol in constant.expr.free_symbols}
    h2 = next(d for d in statement.derived if d.name == "h2_nu").expr
    wrong = [constant.expr / 2]
    if name == "h2_nu":
        nu, L, alpha = (symbols[n] for n in ("nu", "L", "alpha"))
        wrong += [h2.subs(nu, nu - 1), h2 * symbols["D"], h2.subs((1 + alpha * L) ** 2, 1 + alpha * L)]
    for expr in wrong:
        refused(plan(), "", with_stated(LEMMA_5, "derived", name, expr=expr))
    more = replace(constant, name="other", expr=sp.Integer(1))
    refused(
        plan(),
        "nothing is proved of other",
        with_statement(LEMMA_5, replace(statement, derived=(*statement.derived, more))),
    )


class OfOnesOwn(Start):
    """A kind of assumption that the kernel does not know."""


def test_what_a_loop_may_not_declare():
    loop = plan()
    (name, formula), *_ = loop.constants
    refused(replace(loop, constants=((name, ZERO),)), f"{name} is not positive")
    refused(replace(loop, constants=((name, formula - 2 * formula),)), f"{name} is not positive")
    refused(replace(loop, constants=(("L", formula),)), "L has a meaning already")
    refused(replace(loop, constants=((name, formula), ("other", named(name) + 1))), "other has a meaning already")
    refused(replace(loop, time="wished for"), "'wished for' is not in")
    sources = tuple(replace(each, independent="wished for") for each in loop.setting.sources)
    refused(with_setting(loop, sources=sources), "'wished for' is not in")
    functions = tuple(replace(each, equal="wished for") for each in loop.setting.functions)
    refused(with_setting(loop, functions=functions), "no assumption makes")
    listed = "start"
    refused(replace(loop, axioms={**loop.axioms, "own": OfOnesOwn(listed, U - W)}), "its constants are read off")
    refused(replace(loop, axioms={**loop.axioms, "own": Start("wished for", U - W)}), "'wished for' is not in")
    moving = {**loop.axioms, "own": Start(listed, loop.sequences[0].now * (U - W))}
    refused(replace(loop, axioms=moving), "does not depend on the step")
    refused(replace(loop, reversed={"u": "w"}), "together with its variables")
    taken = Sequence(name, ZERO, ZERO)
    refused(replace(loop, sequences=(*loop.sequences, taken)), "the name of another number")
    refused(replace(loop, steps=(loop.steps[0], *loop.steps)), "there is a step of this name already")


def test_what_is_delivered_is_what_the_step_says():
    loop = plan()
    first = loop.delivers[0]
    refused(replace(loop, delivers=(replace(first, step="closed"), *loop.delivers[1:])), "does not bound")
    refused(replace(loop, delivers=(replace(first, target="wished"), *loop.delivers[1:])), "no derived constant")
    refused(replace(loop, delivers=(replace(first, step="never"), *loop.delivers[1:])), "no such step")
    refused(replace(loop, delivers=loop.delivers[:1]), "nothing is proved of h_nu")
    refused(replace(loop, delivers=()), "nothing is proved of")


def test_a_number_of_steps_in_an_exponent():
    """A whole multiple of nu, of a number of which there is a sequence of powers."""
    statement = LEMMA_5.statement("corrected")
    constant = next(d for d in statement.derived if d.name == "h2_nu")
    nu = nu_of(constant.expr)
    L = next(symbol for symbol in constant.expr.free_symbols if str(symbol) == "L")
    for change, message in (
        ((1 + L) ** (nu**2), "wanted a whole multiple"),
        ((1 + L) ** (nu / 2), "wanted a whole multiple"),
        ((1 + L) ** (nu + sp.Rational(1, 3)), "wanted a whole multiple"),
        ((2 + L) ** nu, "no sequence has these powers"),
        (Geometric(nu + 1, 1 + L), "wanted the number of steps"),
        (Geometric(nu, 7 + L), "no sequences start and go on as it does"),
    ):
        refused(plan(), message, with_stated(LEMMA_5, "derived", "h2_nu", expr=change))


def test_an_induction_speaks_of_every_step_and_of_vectors_alone():
    """Its claim of step t + 1 at the local steps only, its base at later steps only, a number of the step beside the vector."""
    loop = plan()
    good = rule(loop, "path")
    state = settled(loop, LEMMA_5, LEMMA_5.statement("corrected"), Reader(LEMMA_5, LEMMA_5.statement("corrected")))
    for name, phases in ((good.base, LATER), (good.step, LOCAL)):
        other = state.copy()
        other.facts[name] = replace(state.facts[name], phases=phases)
        with pytest.raises(ProofError, match="step 0 and one about every step"):
            good.apply(other)
    moved = replace(good, left=loop.sequences[0].now * good.left)
    with pytest.raises(ProofError, match="without numbers that depend on the step"):
        moved.apply(state.copy())
    marked = state.copy()
    marked.facts[good.base] = replace(state.facts[good.base], uses=frozenset({BEFORE_THE_END}))
    with pytest.raises(ProofError, match="before the end"):
        good.apply(marked)
    assert BEFORE_THE_END not in good.apply(state.copy()).uses
