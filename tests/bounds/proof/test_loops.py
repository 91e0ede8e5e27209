"""The rules for a loop inside one step of a method: inductions over its steps, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
import sympy as sp
from altered import with_axiom, with_declared, with_rule, with_setting, with_stated
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

LEMMA = {number: get_theorem(f"meta_fl.lemma_{number}") for number in (4, 5, 6, 7, 10)}
LEMMA_5 = LEMMA[5]
U, W = Var("u"), Var("w")
SUPPOSED, FIRST = "path, supposed", "path, first"
ZERO = signomial(0)
H2, NOTHING = Sequence("h2", ZERO, ZERO), Sequence("Z", ZERO, ZERO)
"""The number of a step of the sequence h2, and a sequence that is 0."""


def plan(theorem=LEMMA_5) -> Loop:
    return derivation(theorem)


def added(*steps, sequences=()):
    """A change of a loop: more steps at its end."""
    return lambda loop: replace(loop, steps=(*loop.steps, *steps), sequences=(*loop.sequences, *sequences))


def step(name, other=None, /, **fields):
    """A change of a loop: another rule at a step, or other fields of its rule, where a function is of the rule."""

    def change(loop):
        own = rule(loop, name)
        return with_rule(
            loop, name, other, **{key: each(own) if callable(each) else each for key, each in fields.items()}
        )

    return change


def loop_with(**fields):
    """A change of a loop: other fields, where a function is of the loop."""
    return lambda loop: replace(loop, **{key: each(loop) if callable(each) else each for key, each in fields.items()})


def axiom(name, other):
    return lambda loop: with_axiom(loop, name, other(loop) if callable(other) else other)


def declared(kind, name, other=None, /, **fields):
    return lambda loop: with_declared(loop, kind, name, other, **fields)


def first_sequence(**fields):
    """A change of a loop: its first sequence goes otherwise."""
    return lambda loop: replace(
        loop, sequences=(replace(loop.sequences[0], **{key: of(loop.sequences[0]) for key, of in fields.items()}), *loop.sequences[1:])
    )  # fmt: skip


def delivers(*others):
    """A change of a loop: what is delivered first is this."""
    return lambda loop: replace(loop, delivers=(*others, *loop.delivers[1:]))


def first_delivery(**fields):
    return lambda loop: replace(loop, delivers=(replace(loop.delivers[0], **fields), *loop.delivers[1:]))


def both(*changes):
    def change(loop):
        for each in changes:
            loop = each(loop)
        return loop

    return change


def refused(loop, message, theorem=LEMMA_5):
    found = run_through(loop, theorem, theorem.default)
    assert not found.checked and message in found.failure, found.failure


def rule(loop, name):
    return next(step.rule for step in loop.steps if step.name == name)


def more_variables(*variables):
    return lambda loop: with_setting(loop, variables=(*loop.setting.variables, *variables))


class OfOnesOwn(Start):
    """A kind of assumption that the kernel does not know."""


def in_both(sequence):
    """A change of a loop: it and the loop before have one sequence more, which is read in reverse as a power."""

    def change(loop):
        before = replace(loop.before, sequences=(*loop.before.sequences, sequence))
        return added(Step("wrong", ReversedPower(sequence.name)), sequences=(sequence,))(replace(loop, before=before))

    return change


OTHER, NO_SUPPOSED = Step("another", Suppose(sq(U - W), H2.now / 2)), "rests on what is supposed"
NONE = Step("none", Suppose(sq(U - W), ZERO))
SIZE = "r size, supposed"
REFUSED = {
    # --- a hypothesis, and inductions ---
    "a hypothesis alone": (5, delivers(Delivery("h2_nu", SUPPOSED)), NO_SUPPOSED),
    "what follows from a hypothesis": (
        5,
        both(
            added(Step("more", Combine(sq(U - W), scalar(2 * H2.now), ((ONE, SUPPOSED),)))),
            delivers(Delivery("h2_nu", "more")),
        ),
        NO_SUPPOSED,
    ),
    "an induction with another hypothesis": (
        5, step(SUPPOSED, Suppose(sq(U - W), H2.now / 2)), f"{SUPPOSED} does not say"
    ),
    "a step that rests on two hypotheses": (
        5,
        both(
            step("path, next", weights=lambda own: (*own.weights, (ZERO, "another"))),
            lambda loop: replace(loop, steps=(OTHER, *loop.steps)),
        ),
        NO_SUPPOSED,
    ),
    "an induction whose step is no later value": (
        5,
        added(
            Step("other", Suppose(sq(U - W), 2 * H2.now)),
            Step("twice", Combine(sq(U - W), scalar(2 * H2.now), ((ONE, "other"),))),
            Step("wrong", Induction(sq(U - W), 2 * H2.now, FIRST, "twice")),
        ),
        "does not say",
    ),
    "a base that is a hypothesis": (5, step("path", base=SUPPOSED), f"{SUPPOSED} does not say"),
    "an induction from a step before": (5, step("path", step="path, grown"), "path, grown does not say"),
    "an induction to a larger bound": (5, step("path", bound=H2.now + 1), "does not say"),
    "a base that is the hypothesis of nothing": (
        5, added(NONE, Step("always", Induction(sq(U - W), NOTHING.now, "none", "none")), sequences=(NOTHING,)), "does not say"
    ),
    "a path that stands still": (
        5,
        added(
            NONE,
            Step("still", Combine(sq(Var("u", 1) - Var("w", 1)), scalar(ZERO), ((ONE, "none"),))),
            Step("always", Induction(sq(U - W), ZERO, "none", "still")),
        ),
        "step still",
    ),
    **{
        f"{name} at another step": (5, added(Step("moved", Later(name, 1))), "no rule for a loop")
        for name in (SUPPOSED, "path")
    },
    **{f"{name}, summed": (5, added(Step("all", SumOver(name))), "no rule for a loop") for name in (SUPPOSED, "path")},
    "a sure bound that rests on a hypothesis": (7, step("sure", step=SIZE), NO_SUPPOSED),
    "a vanishing vector that rests on a hypothesis": (6, step("mean is m", step="mean, supposed"), "of the step itself"),
    # --- sequences ---
    "a sequence that grows less": (5, first_sequence(after=lambda h2: h2.after - h2.now), ""),
    "a sequence with half of the noise": (5, first_sequence(after=lambda h2: h2.after * signomial(1) / 2), ""),
    "a sequence that starts elsewhere": (5, first_sequence(start=lambda _: signomial(1)), ""),
    "a closed form by another factor": (5, step("closed", factor=lambda own: own.factor + 1), "left over"),
    "a closed form that starts with another number": (5, step("closed", right=lambda own: own.right + 1), "at the start"),
    "twice a closed form": (5, step("closed", right=lambda own: 2 * own.right), "left over"),
    "a number that is no power, read in reverse": (4, step("power", name="G"), "no such sequence"),
    "another power, read in reverse": (
        4, first_sequence(after=lambda power: 2 * power.now), "another sequence in the loop before"
    ),
    "a sum, read in reverse as a power": (4, in_both(Sequence("Z", ONE, NOTHING.now + 1)), "is no power in both loops"),
    "a power that starts with 2": (4, in_both(Sequence("Z", 2 * ONE, 3 * NOTHING.now)), "is no power in both loops"),
    "a first loop that goes back": (5, added(Step("back", Along("path", sq(U - W), H2.now))), "there is no loop before"),
    "a power of no loop before": (5, added(Step("power", ReversedPower("h2"))), "h2: no such sequence"),
    "the length of a gradient": (
        5, added(Step("size", Length(App("df", W, (None,))))), "a linear combination of variables"
    ),
    "a length in a second loop": (4, added(Step("again", Length(Var("a") - Var("r")))), "the first loop"),
    # --- samples and starts ---
    "a sure bound of a random vector": (5, added(Step("sure", Sure("sum", U - W, ONE)), sequences=(NOTHING,)), "depends on"),
    "half of a sure bound": (7, step("sure", size=lambda own: own.size / 2), "does not say that"),
    "a start that hides a sample": (
        5,
        both(
            more_variables(Variable("z", "x")),
            axiom("hidden", Start("start", W - App("df", Var("z"), (-2,)))),
            added(Step("hidden", Assume("hidden"))),
        ),
        "no variable in it may depend",
    ),
    "a Hessian at a point that has seen its own batch": (6, declared("variables", "p", sources=("path", "xi")), "step"),
    "a path in reverse that is not as random": (6, declared("variables", "p", sources=()), "p depends on no sample, but u does"),
    # --- a path in reverse ---
    "two variables with one reverse": (4, loop_with(reversed={"u": "p", "w": "p"}), "two variables have one reverse"),
    "the reverse of a variable without one": (7, loop_with(reversed={"u": "q", "v": "q"}), ""),
    "a variable that has no reverse": (
        4, loop_with(reversed=lambda loop: {"u": loop.reversed["u"]}), "w at step t +0 is not read in reverse"
    ),
    "a reverse that is not free": (7, loop_with(reversed={"u": "a", "v": "q"}), "is not free"),
    "a loop before without a reverse": (7, loop_with(reversed={}), "together"),
    "a reverse without a loop before": (5, loop_with(reversed={"u": "w"}), "together with its variables"),
    "other constants than the loop before": (7, loop_with(constants=()), "other constants"),
    "what holds along the path, after the last step": (7, loop_with(delivers=(Delivery("", "apart"),)), "before the end"),
    "a hypothesis along the path": (7, step("apart", step=SUPPOSED), NO_SUPPOSED),
    "twice the bound along the path": (7, step("apart", bound=lambda own: 2 * own.bound), "does not say"),
    "a power that is not read from the end": (7, step("power", end=False), ""),
    # --- what is declared ---
    "a constant that is 0": (5, loop_with(constants=(("A", ZERO),)), "A is not positive"),
    "a constant that is negative": (5, loop_with(constants=lambda loop: (("A", -loop.constants[0][1]),)), "A is not positive"),
    "a constant with the name of a symbol": (
        5, loop_with(constants=lambda loop: (("L", loop.constants[0][1]),)), "L has a meaning already"
    ),
    "a constant made from another one": (
        5, loop_with(constants=lambda loop: (*loop.constants, ("other", named("A") + 1))), "other has a meaning already"
    ),
    "steps that are independent by no entry": (5, loop_with(time="wished for"), "'wished for' is not in"),
    "samples that are independent by no entry": (
        5,
        lambda loop: with_setting(loop, sources=tuple(replace(s, independent="wished for") for s in loop.setting.sources)),
        "'wished for' is not in",
    ),
    "functions that are equal by no entry": (
        5,
        lambda loop: with_setting(loop, functions=tuple(replace(f, equal="wished for") for f in loop.setting.functions)),
        "no assumption makes",
    ),
    "an assumption of one's own": (5, axiom("own", OfOnesOwn("start", U - W)), "its constants are read off"),
    "a start by no entry": (5, axiom("own", Start("wished for", U - W)), "'wished for' is not in"),
    "a start that depends on the step": (5, axiom("own", Start("start", H2.now * (U - W))), "does not depend on the step"),
    "a sequence with the name of a constant": (
        5, loop_with(sequences=lambda loop: (*loop.sequences, Sequence("A", ZERO, ZERO))), "the name of another number"
    ),
    "two steps of one name": (
        5, loop_with(steps=lambda loop: (loop.steps[0], *loop.steps)), "there is a step of this name already"
    ),
    # --- what is delivered ---
    "a delivery of another number": (5, first_delivery(step="closed"), "does not bound"),
    "a delivery of no constant": (5, first_delivery(target="wished"), "no derived constant"),
    "a delivery by no step": (5, first_delivery(step="never"), "no such step"),
    "one delivery of two": (5, loop_with(delivers=lambda loop: loop.delivers[:1]), "nothing is proved of h_nu"),
    "no delivery": (5, loop_with(delivers=()), "nothing is proved of"),
}  # fmt: skip
"""Lemma of Meta FL, change of its loop, and why it is refused."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_changed_loop_is_refused(name):
    number, change, why = REFUSED[name]
    refused(change(plan(LEMMA[number])), why, LEMMA[number])


def test_the_equations_of_a_loop_hold_at_every_step_and_its_constant_is_a():
    loop = plan()
    assert all(phases == EVERY for v in loop.setting.variables for phases, _ in v.equations)
    assert [name for name, _ in loop.constants] == ["A"]


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


SUM = constants.corrected_h_sum.node
SECOND, ERROR = constants.corrected_h2.node, constants.corrected_v.node


def square_root_of_the_power(expr):
    """A^nu for A^(2 nu)."""
    return expr.replace(lambda p: p.is_Pow and p.exp.coeff(nu_of(expr)) == 2, lambda p: p.base ** (p.exp / 2))


def half(expr):
    return expr / 2


def replaced(old, new):
    return lambda expr: expr.replace(old, new)


WRONG = [
    (7, "gamma_F", "A^nu", lowered),
    (7, "gamma_F", "A^(2 nu)", square_root_of_the_power),
    (7, "gamma_F", "nu", lambda e: e.replace(lambda p: p == nu_of(e), lambda p: sp.Integer(1))),
    (7, "gamma_F", "rho", put(rho=sp.Integer(0))),
    (7, "gamma_F", "gamma_H", put(gamma_H=sp.Integer(0))),
    (7, "gamma_F", "sum", replaced(Nested, lambda nu, a: Nested(nu - 1, a))),
    (7, "gamma_F", "another sum", replaced(Nested, Geometric)),
    (6, "mu_F", "A^nu", lowered),
    (6, "mu_F", "rho", put(rho=sp.Integer(0))),
    (6, "mu_F", "sum", replaced(SUM, lambda nu, *rest: SUM(nu - 1, *rest))),
    (6, "mu_F", "another sum", replaced(SUM, lambda *rest: SECOND(*rest))),
    (6, "sigma_F", "half", half),
    (6, "sigma_F", "batch", replaced(ERROR, lambda nu, a, B, *rest: ERROR(nu, a, 2 * B, *rest) / 4)),
    (6, "h2_nu", "nu", lambda e: e.subs(nu_of(e), nu_of(e) - 1)),
    (4, "L_F", "A^nu", lowered),
    (4, "L_F", "A^(2 nu)", square_root_of_the_power),
    (4, "L_F", "rho", put(rho=sp.Integer(0))),
    (4, "L_F", "sum", replaced(Geometric, lambda nu, a: nu)),
    (10, "mu_F_FO", "A^nu", lowered),
    (10, "mu_F_FO", "nu", lambda e: e.subs(nu_of(e), 1)),
    (10, "sigma_F_FO", "half", half),
    (5, "h_nu", "half", half),
    (5, "h2_nu", "half", half),
    (5, "h2_nu", "nu", lambda e: e.subs(nu_of(e), nu_of(e) - 1)),
    (5, "h2_nu", "batch", lambda e: e * symbol_of(e, "D")),
    (5, "h2_nu", "A^2", lambda e: e.subs(step_of(e) ** 2, step_of(e))),
]
"""Lemma, constant, and where its formula is another one."""


def symbol_of(expr, name):
    return next(symbol for symbol in expr.free_symbols if str(symbol) == name)


def nu_of(expr):
    return symbol_of(expr, "nu")


def step_of(expr):
    return 1 + symbol_of(expr, "alpha") * symbol_of(expr, "L")


@pytest.mark.parametrize(("lemma", "name", "where", "change"), WRONG)
def test_a_wrong_constant_is_refused(lemma, name, where, change):
    refused(plan(LEMMA[lemma]), "", statement_with(LEMMA[lemma], name, change))


def test_a_constant_of_which_nothing_is_proved_is_refused():
    statement = LEMMA_5.statement("corrected")
    more = replace(statement.derived[0], name="other", expr=sp.Integer(1))
    theorem = with_statement(LEMMA_5, replace(statement, derived=(*statement.derived, more)))
    refused(plan(), "nothing is proved of other", theorem)


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
    theorem, rule = LEMMA[6], constants.corrected_v.rule

    def stated(name, start, after):
        recurrence = Slipped(start, after, rule.along, 0, rule.reads, rule.states)
        node = step_function(name, recurrence, "s")
        node.recurrence = recurrence
        return statement_with(theorem, "sigma_F", lambda e: e.replace(constants.corrected_v.node, lambda *a: node(*a)))

    refused(plan(theorem), "no sequences start and go on", stated("slipped", *SLIPS[slip](rule.start, rule.after)))
    assert run_through(plan(theorem), stated("same", rule.start, rule.after)).checked


def test_the_sequences_of_a_constant_are_its_recursion():
    theorem = LEMMA[6]
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


def test_a_lipschitz_constant_is_about_two_models_of_any_distance():
    theorem = LEMMA[4]
    loop = plan(theorem)
    asked = what_is_bounded(loop, loop.delivers[0], theorem, theorem.statement(), Reader(theorem, theorem.statement()))
    assert asked.times == Length(U - W).size ** 2


@pytest.mark.parametrize("name", slow_but(("theorem_8",), ("theorem_8", "theorem_8_FO", "theorem_8_HF")))
def test_a_theorem_lists_what_its_lemmas_assume(name):
    main = prove(get_theorem(f"meta_fl.{name}"))
    for lemma in derivation(get_theorem(f"meta_fl.{name}")).lemmas:
        found = run_through(plan(lemma.theorem), lemma.theorem, lemma.label)
        assert found.checked and set(found.assumptions) <= set(main.assumptions), lemma.theorem.id


def test_a_number_of_steps_in_an_exponent():
    """A whole multiple of nu, of a number of which there is a sequence of powers."""
    expr = LEMMA_5.statement("corrected").constant("h2_nu").expr
    nu, L = nu_of(expr), symbol_of(expr, "L")
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
