"""Attacks on the kernel, as data: for each hole a whole derivation of a false statement, and the kernel as it was with that hole.

`ATTACKS[hole]()` builds the attack; `verdict(attack)` is what the kernel says of it. Within `reopened(hole)` the kernel has this one
hole again and accepts the attack. Where the statement is about the mean of ||grad F||^2, its terms are those of minibatch SGD over 1000.

What a derivation declares is read off the statement now, which stands in the way of most of these attacks by itself. So they are
tried twice: as they are, and `by_rules_alone`, where any declaration is taken, and only the rules are left to refuse them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import sympy as sp
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.notation import Notation
from fedco.bounds.language.theorem import Derived
from fedco.bounds.language.theorem import Term as Part
from fedco.bounds.proof import check_on_instances, derivations
from fedco.bounds.proof.kernel import (
    EVERY,
    ONE,
    Act,
    Action,
    Along,
    App,
    Assume,
    AtStart,
    Axiom,
    Bounded,
    Combine,
    Definition,
    Derivation,
    Function,
    Given,
    Identity,
    Index,
    Induction,
    Instance,
    Invariant,
    Known,
    Linear,
    Loop,
    Mean,
    Objective,
    Open,
    Plan,
    Project,
    ProofError,
    Quantity,
    Reader,
    Sequence,
    Setting,
    Source,
    Start,
    Step,
    Substitute,
    Sum,
    SumOver,
    Suppose,
    Term,
    Var,
    Variable,
    Verdict,
    WithinRound,
    algebra,
    assumptions,
    corollary,
    deliveries,
    derivation,
    facts,
    loop,
    problem,
    quantity,
    scalar,
    sequences,
    setting,
    signomial,
    sq,
    total,
)
from fedco.bounds.proof.kernel.facts import State
from fedco.bounds.proof.kernel.readings import Reading
from fedco.bounds.proof.kernel.rules import combination, smoothness
from fedco.bounds.proof.kernel.scalars import Scalar
from fedco.bounds.proof.kernel.setting import BATCH, CLIENTS
from fedco.bounds.proof.kernel.terms import Proj
from fedco.bounds.proof.solve import solved

SMALL = Fraction(1, 1000)
ZERO = signomial(0)
MINIBATCH, LEMMA_5, COROLLARY = (
    get_theorem(name) for name in ("baselines.minibatch_sgd", "meta_fl.lemma_5", "fcsg_m.corollary_4_5")
)
x, p, q, w, z = (Var(name) for name in "xpqwz")
ALONE = Variable("x", "x", equations=((EVERY, x),))
"""A model that never moves."""
FREE = Variable("p", "x")
PAST = Known.before(("s",))


@dataclass(frozen=True)
class Attack:
    """A false statement of `theorem`, and a derivation of it."""

    theorem: Any
    plan: Plan
    point: Term | None = None
    left: Scalar | None = None


def verdict(attack: Attack) -> Verdict:
    return derivations.verdict(attack.plan, attack.theorem)


@contextmanager
def by_rules_alone(attack: Attack) -> Iterator[None]:
    """Declarations are taken as they are typed: the samples, the functions, the objective, the assumptions, and what a loop delivers."""
    read_axioms, bounded = Reading.axioms, loop.what_is_bounded

    def axioms(self: Reading, declared: Mapping[str, Any]) -> dict[str, Axiom]:
        typed = {n: a for n, a in declared.items() if isinstance(a, Axiom)}
        return read_axioms(self, {n: a for n, a in declared.items() if n not in typed}) | typed

    def accept_metric(found: Reading, meaning: Scalar, _: Any) -> frozenset[str]:
        (objective,) = found.setting.objectives
        problem.accept_point(found, objective, attack.point or found.mean_model)
        return frozenset()

    def what_is_bounded(*given: Any) -> Any:
        return bounded(*given) if attack.left is None else deliveries.Bounded(attack.left)

    with (
        patch.object(derivation, "accept_declarations", lambda found, time: frozenset()),
        patch.object(loop, "accept_declarations", lambda found, time: frozenset()),
        patch.object(derivation, "accept_metric", accept_metric),
        patch.object(Reading, "axioms", axioms),
        patch.object(loop, "what_is_bounded", what_is_bounded),
        patch.object(check_on_instances, "what_is_bounded", what_is_bounded),
    ):
        yield


def _claimed(**changes: Any) -> Any:
    """Minibatch SGD with every term over 1000, or with other changes of its statement."""
    statement = MINIBATCH.statement()
    terms = tuple(Part(t.name, t.expr * sp.Rational(1, 1000)) for t in statement.terms)
    return with_statement(MINIBATCH, replace(statement, **({"terms": terms} | changes)))


def _still(gradient: Term, steps: tuple[Step, ...], **changes: Any) -> Attack:
    """The gradient of F is `gradient` at p; the model never moves; a step named zero says that its square is 0 at every step."""
    theorem = _claimed()
    s = Reader(theorem, theorem.statement())
    table: dict[str, Any] = {
        "indices": (Index("n", s.N, of=CLIENTS), Index("i", s.b, "independence", of=BATCH)),
        "sources": (Source("s", (), "independence"),),
        "functions": (),
        "variables": (ALONE, FREE),
        "objectives": (Objective("F", "p", gradient, "smoothness"),),
    }
    axioms: Mapping[str, Axiom] = changes.pop("axioms", {})
    here, point = changes.pop("here"), changes.pop("point", None)
    inside = {name: Fraction(1) for name in s.params} | {"eta": Fraction(1, 2)}
    if not any(step.name == "sum" for step in steps):
        steps = (*steps, Step("sum", SumOver("zero")))
    plan = Derivation(
        Setting(**(table | changes)),
        (Quantity("gradient", sq(here)),),
        axioms,
        (Step("open", Open("gradient")), *steps),
        ((1 / s.T, "sum"),),
        "gradient",
        "x",
        inside,
        "independence",
    )
    return Attack(theorem, plan, point)


NOTHING_LEFT = Step("zero", Combine(quantity("gradient"), scalar(0), ((ONE, "open"),)))


def _absurd(
    steps: Callable[[Reader], tuple[Step, ...]], quantities: tuple[Quantity, ...], *variables: Variable
) -> Attack:
    """The derivation of minibatch SGD with steps of which one named absurd says 1 <= 0."""
    theorem, found = _claimed(), derivations.derivation(MINIBATCH)
    assert isinstance(found, Derivation)
    s = Reader(theorem, theorem.statement())
    whole = sum((s.read(t.expr) for t in MINIBATCH.statement().terms), ZERO)
    setting = replace(found.setting, variables=(*found.setting.variables, *variables))
    return Attack(
        theorem,
        replace(
            found,
            setting=setting,
            quantities=(*found.quantities, *quantities),
            steps=(*found.steps, *steps(s)),
            conclusion=(*found.conclusion, ((1 - SMALL) * whole, "absurd")),
        ),
    )


def negative_start() -> Attack:
    """A number that is 0 after every step has a sum of at most -1: false, the sum is 0."""
    gone = Variable("w", "x", equations=((EVERY, 0 * w),))

    def steps(s: Reader) -> tuple[Step, ...]:
        return (
            Step("w", Definition("w", "local")),
            Step("reset", Combine(sq(Var("w", 1)), scalar(0), pairings=((ONE, "w", Var("w", 1)),))),
            Step("W", Open("W", 1)),
            Step("ended", Combine(quantity("W", 1), scalar(0), ((ONE, "W"), (ONE, "reset")))),
            Step("kept", Combine(quantity("W", 1), quantity("W"), ((ONE, "ended"),))),
            Step("sum.W", WithinRound("W", "ended", "ended", "kept", ZERO, ZERO, -ONE)),
            Step("sign", Combine(scalar(0), quantity("W"))),
            Step("sum.sign", SumOver("sign", start=1)),
            Step("absurd", Combine(scalar(1), scalar(0), ((ONE, "sum.W"), (ONE, "sum.sign")))),
        )

    return _absurd(steps, (Quantity("W", sq(w)),), gone)


def tied_point() -> Attack:
    """q = p, so ||q - p||^2 = 0; with p := grad F and p := 2 grad F, q unchanged, grad F = 0: false for every F that is not constant."""
    g = App("G", x)
    doubled = ((ONE, "open"), (signomial(2), "one"), (signomial(2), "two"))
    return _still(
        App("G", p),
        (
            Step("tie", Definition("q", "local")),
            Step("same", Combine(sq(q - p), scalar(0), pairings=((ONE, "tie", q - p),))),
            Step("one", Instance("same", (("p", g),))),
            Step("two", Instance("same", (("p", 2 * g),))),
            Step("zero", Combine(quantity("gradient"), scalar(0), doubled, ((ONE, 2 * q - 3 * g),))),
        ),
        here=g,
        functions=(Function("G", "x", "x"),),
        variables=(ALONE, FREE, Variable("q", "x", equations=((EVERY, p),), defined=0)),
    )


def index_inside_a_mean() -> Attack:
    """E[g(mean_i (z_i q(w_i)); w_i) | past] is the same for all i: false for g = m w, q = p w, w = +-1 and z = (1, 0).

    The gradient is the covariance of that with z, so that F is a quadratic function of p.
    """
    J = App("J", z)

    def gradient(point: Term) -> Term:
        found = Given(PAST, App("g", Mean("i", Act(J, App("q", point, (0,)))), (0,)))
        return Mean("i", Act(J, found - Mean("i", found)))

    return _still(
        gradient(p),
        (NOTHING_LEFT,),
        here=gradient(x),
        sources=(Source("s", ("i",), "independence"),),
        functions=(Function("g", "x", "x", ("s",)), Function("q", "x", "x", ("s",)), Function("J", "x", ("x", "x"))),
        variables=(ALONE, FREE, Variable("z", "x", frozenset({"i"}), ((EVERY, z),))),
    )


def constant_below_zero() -> Attack:
    """Minibatch SGD for every step size: false for eta > 2/L. The constant D = 1 - eta L is negative there."""
    statement = MINIBATCH.statement()
    L, eta = (MINIBATCH.notation[name].symbol for name in ("L_bar", "eta"))
    theorem = _claimed(terms=statement.terms, conditions=(), derived=(Derived("D", 1 - eta * L, "D"),))
    s, found = Reader(theorem, theorem.statement()), derivations.derivation(MINIBATCH)
    assert isinstance(found, Derivation)
    by = (((s.eta / 2 * s.D, ()),),)
    steps = tuple(
        replace(step, rule=replace(step.rule, certificates=by)) if step.name == "descent" else step  # type: ignore[type-var]
        for step in found.steps
    )
    return Attack(theorem, replace(found, steps=steps))


def constant_for_a_symbol() -> Attack:
    """Minibatch SGD without noise in the bound: false. A derived constant named sigma, which is 0, stands for the noise."""
    statement = MINIBATCH.statement()
    kept = tuple(t for t in statement.terms if MINIBATCH.notation["sigma"].symbol not in t.expr.free_symbols)
    theorem = _claimed(terms=kept, derived=(Derived("sigma", sp.Integer(0), "sigma"),))
    build = derivations.get_paper("baselines").derivations[MINIBATCH.id]
    return Attack(theorem, solved(build(Reader(theorem, theorem.statement())), theorem, theorem.default))


def equation_with_an_index() -> Attack:
    """w = h_n(x) for a w without n, so all h_n are equal, and so is mean(J_n h_n) = mean J_n mean h_n: false for J_n = h_n = +-p."""
    clients = frozenset({"n"})

    def J(point: Term) -> Term:
        return App("J", point)

    def h(point: Term) -> Term:
        return App("h", point)

    def gradient(point: Term) -> Term:
        return Mean("n", Act(J(point), h(point))) - Act(Mean("n", J(point)), Mean("n", h(point)))

    g, whole = gradient(x), Act(Mean("n", J(x)), w)
    return _still(
        gradient(p),
        (
            Step("tie", Definition("w", "local")),
            Step("tied", Project("tie", ("n",))),
            Step("a", Substitute(Mean("n", Act(J(x), w)), ((w, h(x), "tie"),))),
            Step("b", Substitute(whole, ((w, Mean("n", h(x)), "tied"),))),
            Step("flat", Linear(g, ((-ONE, "a"), (ONE, "b")))),
            Step("zero", Combine(quantity("gradient"), scalar(0), ((ONE, "open"),), pairings=((ONE, "flat", g),))),
        ),
        here=g,
        functions=(Function("J", "x", ("x", "x"), (), clients, clients), Function("h", "x", "x", (), clients, clients)),
        variables=(ALONE, FREE, Variable("w", "x", equations=((EVERY, h(x)),), defined=0)),
    )


def _loop(change: Callable[[Loop], Loop], left: Scalar | None = None) -> Attack:
    """Lemma 5 of Meta FL with the second moment of the error over 1000."""
    statement, found = LEMMA_5.statement(), derivations.derivation(LEMMA_5)
    assert isinstance(found, Loop)
    derived = tuple(replace(d, expr=d.expr / 1000) if d.name == "h2_nu" else d for d in statement.derived)
    return Attack(with_statement(LEMMA_5, replace(statement, derived=derived)), change(found), left=left)


def _delivered(loop: Loop, step: str) -> Loop:
    return replace(loop, delivers=tuple(replace(each, step=step) for each in loop.delivers))


U, W = Var("u"), Var("w")


def delivered_at_the_start() -> Attack:
    """The error of the fine-tuned model is 0 after the last step: false, it is so at step 0 only."""
    return _loop(lambda loop: _delivered(loop, "path, first"))


def sample_of_a_far_step() -> Attack:
    """E[f(f(p; w); v) | past] = E[f(f(p; w); w) | past], with v of step 1,000,000: false for f(p; w) = w p and w = +-1."""
    far = 1_000_000

    def gradient(point: Term) -> Term:
        inner = App("f", point, (0,))
        two = Given(PAST, Given(PAST | Known.sample("s", far), App("f", inner, (far,))))
        return two - Given(PAST, App("f", inner, (0,)))

    return _still(gradient(p), (NOTHING_LEFT,), here=gradient(x), functions=(Function("f", "x", "x", ("s",)),))


def hypothesis_of_another_vector() -> Attack:
    """The error of the fine-tuned model is 0: false. A variable named "u - w" is the next error, and the hypothesis is about it."""
    other, after = Var("u - w"), Var("u", 1) - Var("w", 1)

    def change(loop: Loop) -> Loop:
        v = Variable("u - w", "x", equations=((EVERY, after),), defined=0)
        steps = (
            Step("v", Definition("u - w", "local")),
            Step("v.supposed", Suppose(sq(other), ZERO)),
            Step(
                "v.next", Combine(sq(after), scalar(0), ((ONE, "v.supposed"),), pairings=((-ONE, "v", other + after),))
            ),
            Step("v.zero", Induction(sq(U - W), ZERO, "path, first", "v.next")),
        )
        setting = replace(loop.setting, variables=(*loop.setting.variables, v))
        return _delivered(replace(loop, setting=setting, steps=(*loop.steps, *steps)), "v.zero")

    return _loop(change)


def sequence_named_like_a_reverse() -> Attack:
    """The sum of the errors along the path is 0: false. A sequence named "h2 reversed", which is 0, is taken for h2 in reverse."""
    error, gap = Var("d"), Var("a") - Var("b")

    def change(loop: Loop) -> Loop:
        first = next(s for s in loop.sequences if s.name == "h2")
        own = Sequence("h2 reversed", ZERO, ZERO)
        grown = ((signomial(2), "d.supposed"), (signomial(2), "gap.zero"))
        after, moved = Var("d", 1), error + gap
        equal = ((ONE, "d", after + moved),)
        setting = replace(
            loop.setting,
            variables=(Variable("a", "x"), Variable("b", "x"), Variable("d", "x", equations=((EVERY, moved),))),
        )
        steps = (
            Step("gap", Along("path", sq(U - W), first.now)),
            Step("none", Identity(own.now, ZERO, ZERO)),
            Step("gap.zero", Combine(sq(gap), scalar(0), ((ONE, "gap"), (ONE, "none")))),
            Step("d.start", Assume("d.start")),
            Step("d", Definition("d", "local")),
            Step("d.supposed", Suppose(sq(error), ZERO)),
            Step("d.first", Combine(sq(error), scalar(0), pairings=((ONE, "d.start", error),))),
            Step("d.next", Combine(sq(after), scalar(0), grown, ((ONE, error - gap),), equal)),
            Step("d.zero", Induction(sq(error), ZERO, "d.first", "d.next")),
        )
        plan = replace(
            loop,
            setting=setting,
            axioms={"d.start": Start("start", error)},
            sequences=(own,),
            steps=steps,
            before=replace(loop, delivers=()),
            reversed={"u": "a", "w": "b"},
        )
        return _delivered(plan, "d.zero")

    return _loop(change, sq(error))


def sample_taken_twice() -> Attack:
    """E f(p; w, w) = E f(p; w, v) for independent w and v: false for f(p; w, v) = w v p and w = +-1."""

    def gradient(point: Term) -> Term:
        return Given(PAST, App("f", point, (0, 0))) - Given(PAST, App("f", point, (0, 1)))

    return _still(gradient(p), (NOTHING_LEFT,), here=gradient(x), functions=(Function("f", "x", "x", ("s", "s")),))


def bound_below_zero() -> Attack:
    """|f| <= -C and |h| <= C give |f - h| <= 0: false for f = 0 and h = C, as |f|^2 <= (-C)^2."""
    apart = App("f", x) - App("h", x)
    theorem = _claimed()
    c = Reader(theorem, theorem.statement()).L_bar
    axioms = {name: Bounded("smoothness", name, by) for name, by in (("M", c), ("f", -c), ("h", c))}
    operator = App("M", x)
    return _still(
        Act(App("M", p), App("f", p) - App("h", p)),
        (
            Step("M", Assume("M", (operator,))),
            Step("moved", Action("M", apart, bounded=True)),
            Step("zero", Combine(quantity("gradient"), scalar(0), ((ONE, "open"), (ONE, "moved")))),
        ),
        here=Act(operator, apart),
        axioms=axioms,
        functions=(Function("M", "x", ("x", "x")), Function("f", "x", "x"), Function("h", "x", "x")),
    )


def start_of_a_free_point() -> Attack:
    """A free point starts at 0; any other vector is put in for it, so that grad F vanishes at the start: false."""
    g, after = App("G", x), App("G", Var("x", 1))
    moved = Substitute(after, ((Var("x", 1), x, "x"),))
    return _still(
        App("G", p),
        (
            Step("start", Assume("start")),
            Step("p", Combine(sq(p), scalar(0), pairings=((ONE, "start", p),))),
            Step("first", Instance("p", (("p", g),))),
            Step("x", Definition("x", "local")),
            Step("moved", moved),
            Step("next", Open("gradient", 1)),
            *_kept(((ONE, "moved", after + g),)),
        ),
        here=g,
        axioms={"start": Start("smoothness", p)},
        functions=(Function("G", "x", "x"),),
    )


def symbols_exchanged() -> Attack:
    """The corollary with the letters N and T exchanged in meaning: T clients and N steps, for the theorem with N clients and T steps."""
    own = COROLLARY.notation
    other = {"N": own["T"].quantity.name, "T": own["N"].quantity.name}
    entries = tuple((name, latex, other.get(name, of), *note) for name, latex, of, *note in own.entries)
    changed = replace(COROLLARY, notation=Notation(own.paper, entries, own.extra))
    plan = derivations.derivation(COROLLARY)
    assert plan is not None
    return Attack(changed, plan)


def mean_function_without_its_index() -> Attack:
    """E f_i(p; w) is the same for all i, as the index i is identical: false for f_i = i p. The gradient is a covariance over i."""

    def gradient(point: Term) -> Term:
        found = App("f", point, (None,))
        return Mean("i", Act(App("J", z), found - Mean("i", found)))

    return _still(
        gradient(p),
        (NOTHING_LEFT,),
        here=gradient(x),
        functions=(Function("f", "x", "x", ("s",), frozenset({"i"})), Function("J", "x", ("x", "x"))),
        variables=(ALONE, FREE, Variable("z", "x", frozenset({"i"}), ((EVERY, z),))),
    )


_NOISY = {"functions": (Function("f", "x", "x", ("s",)),)}


def _noise(step: int) -> Term:
    return App("f", Sum(()), (step,)) - App("f", Sum(()), (None,))


def gradient_in_the_mean() -> Attack:
    """F = |p|^2/2 has the gradient 0 at any point with mean 0: false. Declared as E p, it is p only where p is not random."""
    return _still(Given(Known(), p), (NOTHING_LEFT,), here=Given(Known(), _noise(-1)), point=_noise(-1), **_NOISY)


def point_made_from_a_new_sample() -> Attack:
    """The same with E[p | past], which is p where p is known, at a point that is not."""
    return _still(Given(PAST, p), (NOTHING_LEFT,), here=Given(PAST, _noise(0)), point=_noise(0), **_NOISY)


def point_inside_a_mean() -> Attack:
    """The same with mean_n p, which is p where p has no n, at points whose mean over n is 0."""
    own = Var("z") - Mean("n", Var("z"))
    variables = (ALONE, FREE, Variable("z", "x", frozenset({"n"}), ((EVERY, z),)))
    return _still(Mean("n", p), (NOTHING_LEFT,), here=Mean("n", own), point=own, variables=variables)


def start_at_what_is_not_known() -> Attack:
    """x starts at f(0; w), w of step 0, and counts as known before step 0, so that f(0; w) = E f(0; w): false."""
    mean = App("f", Sum(()), (None,))
    here, after = x - mean, Var("x", 1) - mean
    return _still(
        p - mean,
        (
            Step("start", Assume("start")),
            Step("w", Definition("w", "local")),
            Step("tied", Linear(x - App("f", Sum(()), (0,)), ((ONE, "start"), (ONE, "w")))),
            Step("mean", Project("tied", given=PAST)),
            Step("first", Combine(sq(here), scalar(0), pairings=((ONE, "mean", here),))),
            Step("x", Definition("x", "local")),
            Step("next", Open("gradient", 1)),
            *_kept(((ONE, "x", after + here),)),
        ),
        here=here,
        axioms={"start": Start("smoothness", x - w)},
        functions=_NOISY["functions"],
        variables=(ALONE, FREE, Variable("w", "x", equations=((EVERY, App("f", Sum(()), (0,))),), defined=0)),
    )


def _kept(pairings: tuple[Any, ...]) -> tuple[Step, ...]:
    """The gradient is 0 at the start, as the step `first` says, and does not change."""
    now, later = quantity("gradient"), quantity("gradient", 1)
    return (
        Step("Q", Combine(now, scalar(0), ((ONE, "open"), (ONE, "first")))),
        Step("kept", Combine(later, now, ((ONE, "next"), (-ONE, "open")), pairings=pairings)),
        Step("Q.first", Combine(later, scalar(0), ((ONE, "kept"), (ONE, "Q")))),
        Step("later", Invariant("gradient", ZERO, "Q.first", "kept")),
        Step("later.sum", SumOver("later")),
        Step("at start", AtStart("Q")),
        Step("sum", Combine(total("gradient"), scalar(0), ((ONE, "later.sum"), (ONE, "at start")))),
    )


def corollary_on_another_method() -> Attack:
    """The corollary of a theorem about one method, for another method: false, nothing is known of that one."""
    plan = derivations.derivation(COROLLARY)
    assert plan is not None
    return Attack(replace(COROLLARY, method=get_theorem("baselines.local_sgd").method), plan)


def corollary_with_weaker_assumptions() -> Attack:
    """The corollary where each assumption has the name of one of the theorem and says nothing: false."""
    plan = derivations.derivation(COROLLARY)
    assert plan is not None
    empty = tuple(replace(each, text="nothing") for each in COROLLARY.assumptions)
    return Attack(replace(COROLLARY, assumptions=empty), plan)


ATTACKS: dict[int, Callable[[], Attack]] = dict(
    enumerate(
        (
            negative_start,
            tied_point,
            index_inside_a_mean,
            constant_below_zero,
            constant_for_a_symbol,
            equation_with_an_index,
            delivered_at_the_start,
            sample_of_a_far_step,
            hypothesis_of_another_vector,
            sequence_named_like_a_reverse,
            sample_taken_twice,
            bound_below_zero,
            start_of_a_free_point,
            symbols_exchanged,
        ),
        1,
    )
)
"""Hole -> the attack through it, in the order of the list in which they were reported."""

MORE: dict[int, Callable[[], Attack]] = dict(
    enumerate(
        (
            mean_function_without_its_index,
            gradient_in_the_mean,
            point_made_from_a_new_sample,
            point_inside_a_mean,
            start_at_what_is_not_known,
            corollary_on_another_method,
            corollary_with_weaker_assumptions,
        ),
        15,
    )
)
"""Attacks of the same kinds that were found afterwards."""


def outcome(hole: int, *, rules_alone: bool = True) -> Verdict:
    """What the kernel says of the attack through a hole; a declaration that it refuses ends there."""
    try:
        attack = (ATTACKS | MORE)[hole]()
        with by_rules_alone(attack) if rules_alone else nullcontext():
            return verdict(attack)
    except ProofError as error:
        return Verdict(f"hole {hole}", "", False, (), failure=str(error))


# --- the kernel with one hole ----------------------------------------------------------------------------------------------


def _any_name(name: str) -> str:
    return name


def _nothing(*_: Any) -> None: ...


def _without_equations(state: State, name: str) -> Variable:
    variable = state.setting.variable(name)
    if variable.equations:
        raise ProofError(f"{name} is not free")
    return variable


_KEPT = algebra.Algebra._index_given
_NEEDED = WithinRound.needed


def _index_given(self: algebra.Algebra, node: Term, known: Known) -> frozenset[str]:
    if isinstance(node, Proj):
        return self._index_given(node.term, known) & node.index
    return _KEPT(self, node, known)


def _needed(self: WithinRound, *numbers: Any) -> dict[str, Any]:
    return {what: number for what, number in _NEEDED(self, *numbers).items() if what != "what the first round adds"}


_FREE_POINTS = tuple((module, "free_point", _without_equations) for module in (combination, smoothness, assumptions))
_OLD: dict[int, tuple[tuple[Any, str, Any], ...]] = {
    1: ((WithinRound, "needed", _needed),),
    2: _FREE_POINTS,
    3: ((algebra.Algebra, "_index_given", _index_given),),
    4: ((Reader, "may_be_negative", staticmethod(lambda _: False)),),
    5: ((Reader, "accept_name", _nothing),),
    6: ((algebra.Algebra, "accept_equation", _nothing),),
    7: ((loop, "refuse_part", lambda fact, name: facts.refuse_part(replace(fact, phases=EVERY), name)),),
    8: ((algebra, "Averaged", lambda rank: 1_000_000 + rank),),
    9: (
        (setting, "identifier", _any_name),
        (facts.Supposed, "of", lambda left, bound: facts.Mark(f"supposed: {left!r} <= {bound!r}")),
    ),
    10: ((sequences, "identifier", _any_name),),
    11: ((Setting, "accept_sources", staticmethod(_nothing)),),
    12: ((Axiom, "certified", lambda self, state: frozenset()),),
    13: ((Start, "accept", _nothing), (assumptions, "_determines", lambda *_: True), *_FREE_POINTS),
    14: ((corollary, "same_symbols", _nothing),),
}


@contextmanager
def reopened(hole: int) -> Iterator[None]:
    """The kernel with this hole, as it was."""
    with ExitStack() as stack:
        for owner, name, old in _OLD[hole]:
            stack.enter_context(patch.object(owner, name, old))
        yield
