"""Statements about a loop of nu steps inside one step of a method, such as the fine-tuning steps of one client.

The clock of a `Loop` is the position in the loop, 0 <= t <= nu, where nu may be 0. Bounds are sequences of numbers; what is proved
of every step holds after the last one, and is compared there with the constants of the statement, which are read off its
declaration: each function of nu in them is a sequence, given by how it starts and goes on. A loop may go in reverse through
what an earlier loop made (`before`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import permutations
from typing import Any

from ..search import points_near
from .assumptions import Declared
from .deliveries import Bounded, what_is_bounded
from .derivation import Line, Step, Verdict, accepted_with, allowed_point, checked_line, distinct_names, said_by
from .facts import Earlier, Inequality, State, assumed, refuse_part
from .problem import accept_declarations
from .reader import Reader
from .readings import Reading
from .region import Region
from .rules import IN_A_LOOP
from .scalars import One
from .sequences import Numbers, Sequence
from .setting import Setting
from .signomial import ONE, ZERO, Param, ProofError, Signomial, identifier, moves, signomial


@dataclass(frozen=True)
class Delivery:
    """What a loop gives: step `step` bounds, after the last step, what the statement says that `target` bounds.

    `target` is a derived constant of the statement, or empty for the sum of its terms, which bounds what the metric says, squared.
    """

    target: str
    step: str


@dataclass(frozen=True)
class Loop:
    """Everything the kernel needs to re-check what a statement says of a loop.

    Args:
        sequences: the numbers that bound things.
        constants: names for numbers, such as A = 1 + alpha L, by which may be divided.
        inside: rational values of the symbols that satisfy every condition.
        time: name of the assumption that samples of different steps are independent; empty where there are none.
        steps_symbol: the symbol for the number of steps.
        estimate: the variable that is the method's estimate of the gradient, where the statement bounds its error.
        before, reversed: the loop whose steps are gone through in reverse, and for its variables those that they are, reversed.
    """

    setting: Setting
    axioms: Mapping[str, Declared]
    sequences: tuple[Sequence, ...]
    steps: tuple[Step, ...]
    delivers: tuple[Delivery, ...] = ()
    constants: tuple[tuple[str, Signomial], ...] = ()
    inside: Mapping[str, Fraction] = field(default_factory=dict)
    time: str = ""
    steps_symbol: str = "nu"
    before: Loop | None = None
    reversed: Mapping[str, str] = field(default_factory=dict)
    estimate: str = ""


def named(name: str) -> Signomial:
    """One of the `constants` of a loop; it is positive."""
    return Param(name).number


BEFORE = "before: "


def loops(loop: Loop) -> Iterator[tuple[str, Loop]]:
    """The loop, and those before it, with what stands before the names of their steps."""
    if loop.before is not None:
        yield from ((BEFORE + name, other) for name, other in loops(loop.before))
    yield "", loop


def run_through(loop: Loop, theorem: Any, label: str = "corrected") -> Verdict:
    """Re-check that a loop gives what `theorem.statement(label)` says."""
    statement = theorem.statement(label)
    lines: list[Line] = []
    try:
        reader = Reader(theorem, statement)
        state = settled(loop, theorem, statement, reader, lines)
        final = tuple(_delivered(loop, each, theorem, statement, reader, state, lines) for each in loop.delivers)
        _complete(loop, statement)
    except ProofError as error:
        return Verdict(theorem.id, label, False, tuple(lines), failure=str(error))
    return _verdict(loop, theorem, label, reader, state, lines, final)


def settled(
    loop: Loop, theorem: Any, statement: Any, reader: Reader, lines: list[Line] | None = None, before: str = ""
) -> State:
    """What is established after all steps of a loop; `lines` takes them as text.

    Raises:
        ProofError: a step does not follow, or a declaration is not allowed.
    """
    lines = [] if lines is None else lines
    earlier = None
    if loop.before is not None:
        if (loop.before.constants, loop.before.steps_symbol) != (loop.constants, loop.steps_symbol):
            raise ProofError("the loop before has other constants, or another number of steps")
        done = settled(loop.before, theorem, statement, reader, lines, BEFORE + before)
        earlier = Earlier(done, dict(loop.reversed))
    state = _opened(loop, theorem, statement, reader, earlier)
    for step in loop.steps:
        try:
            if type(step.rule) not in IN_A_LOOP:
                raise ProofError(f"{step.rule!r} is no rule for a loop")
            line = checked_line(state, step)
        except ProofError as error:
            raise ProofError(f"step {before}{step.name}: {error}") from None
        lines.append(
            Line(
                f"{before}{line.name}", line.claim, line.rule, tuple(f"{before}{name}" for name in line.uses), line.why
            )
        )
    return state


def _opened(loop: Loop, theorem: Any, statement: Any, reader: Reader, earlier: Earlier | None) -> State:
    """Before the first step."""
    formulas = {Param(identifier(name)): formula for name, formula in loop.constants}
    for param, formula in formulas.items():
        if not formula.nonnegative or not any(all(p.positive for p, _ in m) for m, _ in formula.terms):
            raise ProofError(f"{param.name} is not positive")
        if param.name in reader.params or any(p in formulas for p in formula.params):
            raise ProofError(f"{param.name} has a meaning already")
    slacks = {c.name: slack for c in statement.conditions for slack in reader.slack(c)}
    region = Region(slacks, formulas)
    inside = region.constants_at(allowed_point(reader, loop.inside))
    if wrong := [name for name, slack in region.conditions.items() if slack.at(inside) < 0]:
        raise ProofError(f"the point inside violates {wrong[0]}")
    if moves((loop.setting, loop.axioms)):
        raise ProofError("a declaration does not depend on the step")
    distinct_names(theorem, statement, reader)
    found = Reading(theorem, statement, reader, loop.setting, steps_inside=True)
    structural = accept_declarations(found, loop.time)
    axioms = found.axioms(loop.axioms)
    steps = getattr(reader, loop.steps_symbol)
    taken = frozenset({*reader.params, *(name for name, _ in loop.constants)})
    numbers = Numbers(steps, loop.sequences, loop.before.sequences if loop.before else (), taken)
    points = points_near(inside, region)
    state = State(
        loop.setting, {}, axioms, region, steps, ONE, points, numbers=numbers, earlier=earlier, structural=structural
    )
    _reversible(loop, state)
    return state


def _reversible(loop: Loop, state: State) -> None:
    """A reversed variable is free, may differ over the same indices, and may depend on samples where the variable does."""
    if (loop.before is None) != (not loop.reversed):
        raise ProofError("wanted a loop before together with its variables")
    for old, new in loop.reversed.items():
        assert state.earlier is not None
        one, other = state.earlier.state.setting.variable(old), state.setting.variable(new)
        random = bool(state.earlier.state.setting.known(old, 0).entries)
        if not other.is_free or one.space != other.space or not one.index <= other.index:
            raise ProofError(f"{new} is not free, or in another space than {old}")
        for name in one.index:
            if state.earlier.state.setting.index(name) != state.setting.index(name):
                raise ProofError(f"{name} is another index in the loop before")
        if random and not state.setting.known(new, 0).entries:
            raise ProofError(f"{new} depends on no sample, but {old} does")
    if len(set(loop.reversed.values())) != len(loop.reversed):
        raise ProofError("two variables have one reverse")


# --- the statement ----------------------------------------------------------------------------------------------------


def _delivered(
    loop: Loop, each: Delivery, theorem: Any, statement: Any, reader: Reader, state: State, lines: list[Line]
) -> Inequality:
    """The claim of a delivery after the last step."""
    asked = what_is_bounded(loop, each, theorem, statement, reader)
    fact = state.inequality(each.step, position=True)
    refuse_part(fact, each.step)
    bound = -fact.table.get(One(), ZERO)
    if fact.table != state.form(asked.left - bound):
        raise ProofError(f"{each.step} does not bound {asked.left!r}")
    assert state.numbers is not None
    wanted, text = _wanted(each, asked, statement)
    room = state.region.expanded(_at_the_end(wanted, loop, reader, state) * asked.times - state.numbers.at_end(bound))
    if not room.nonnegative:
        raise ProofError(f"{each.target or 'the terms'}: left over {room!r}, which is not certified to be nonnegative")
    if room:
        state.dropped.append(f"{each.target or 'the terms'}: {room!r}")
    claim = f"{asked.left!r} <= {text}" + ("" if asked.times == ONE else f" * {asked.times!r}") + " after the last step"
    lines.append(Line(each.target or "terms", claim, "the last step", (each.step,)))
    return fact


def _wanted(each: Delivery, asked: Bounded, statement: Any) -> tuple[Any, str]:
    """The constant raised to the power, or the sum of the terms, in the symbols of the notation, and words for it."""
    derived = {d.symbol: d for d in statement.derived}
    if each.target:
        expr = statement.constant(each.target).expr ** asked.power
        text = each.target + ("^2" if asked.power == 2 else "")
    else:
        expr, text = sum(term.expr for term in statement.terms), " + ".join(str(term.expr) for term in statement.terms)
    while inner := derived.keys() & expr.free_symbols:
        expr = expr.xreplace({symbol: derived[symbol].expr for symbol in inner})
    return expr, text


def _complete(loop: Loop, statement: Any) -> None:
    """Every constant is delivered, or stands in one that is; and so is the sum of the terms."""
    targets = {each.target for each in loop.delivers}
    derived = {d.name: d for d in statement.derived}
    reached = {name for name in targets if name}
    if statement.terms and "" not in targets:
        raise ProofError("the terms of the statement are not compared")
    for term in statement.terms:
        reached |= {d.name for d in statement.derived if d.symbol in term.expr.free_symbols}
    for _ in derived:
        reached |= {
            d.name for name in reached for d in statement.derived if d.symbol in derived[name].expr.free_symbols
        }
    if missing := sorted(derived.keys() - reached):
        raise ProofError(f"nothing is proved of {missing[0]}")


def _at_the_end(expr: Any, loop: Loop, reader: Reader, state: State) -> Signomial:
    """A formula in which the number of steps may stand, with each function of it as the last value of a sequence."""

    def read(part: Any) -> Signomial:
        if part.is_Add or part.is_Mul:
            total = ZERO if part.is_Add else ONE
            for inner in part.args:
                total = total + read(inner) if part.is_Add else total * read(inner)
            return total
        if part.is_Pow:
            return power(part)
        if getattr(part, "recurrence", None) is not None:
            return _last_value(part, loop, reader, state)
        return reader.read(part)

    def power(part: Any) -> Signomial:
        base, exponent = part.base, part.exp
        if exponent.is_Rational:
            inner = read(base)
            if len(inner.terms) > 1 and exponent.q == 1 and exponent > 0:
                return inner ** int(exponent)
            return _single(inner, loop, state) ** Fraction(int(exponent.p), int(exponent.q))
        nu = next(symbol for symbol in exponent.free_symbols if symbol.name == loop.steps_symbol)
        times, rest = exponent.coeff(nu), exponent.coeff(nu, 0)
        if exponent != times * nu + rest or not (times.is_Integer and rest.is_Integer):
            raise ProofError(f"{part}: wanted a whole multiple of the number of steps in the exponent")
        ratio = read(base)
        for sequence in loop.sequences:
            if sequence.start == ONE and not state.region.expanded(sequence.after - ratio * sequence.now):
                assert state.numbers is not None
                last = state.numbers.at_end(sequence.now)
                return last ** int(times) * (_single(ratio, loop, state) ** int(rest) if rest else ONE)
        raise ProofError(f"{part}: no sequence has these powers")

    return read(expr)


def _single(value: Signomial, loop: Loop, state: State) -> Signomial:
    """The value, or the constant that stands for it, so that it has powers."""
    if len(value.terms) == 1:
        return value
    for name, _ in loop.constants:
        if not state.region.expanded(value - named(name)):
            return named(name)
    return value


def _last_value(node: Any, loop: Loop, reader: Reader, state: State) -> Signomial:
    """The last value of the sequences that start and go on as the function of the number of steps does."""
    assert state.numbers is not None
    recurrence, (count, *arguments) = type(node).recurrence, node.args
    if getattr(count, "name", "") != loop.steps_symbol:
        raise ProofError(f"{node}: wanted the number of steps")
    values = [reader.read(argument) for argument in arguments]
    for declared in (loop.sequences, loop.before.sequences if loop.before else ()):
        for states in permutations(declared, recurrence.states):
            if _goes_on(recurrence, values, states, loop, state):
                return state.numbers.at_end(states[recurrence.result].now)
    raise ProofError(f"{type(node).__name__}: no sequences start and go on as it does")


def _goes_on(recurrence: Any, values: list[Signomial], states: tuple[Sequence, ...], loop: Loop, state: State) -> bool:
    along = [ZERO, ZERO]
    if recurrence.along is not None:
        if loop.before is None:
            return False
        inner = recurrence.along
        picked = [values[recurrence.reads.index(name)] for name in inner.reads]
        for path in permutations(loop.before.sequences, inner.states):
            assert state.earlier is not None
            if _goes_on(inner, picked, path, loop.before, state.earlier.state):
                along = [path[inner.result].end, path[inner.result].reversed]
                break
        else:
            return False
    starts = recurrence.start(*([along[0]] if recurrence.along else []), *values)
    if any(state.region.expanded(signomial(a) - s.start) for a, s in zip(starts, states, strict=True)):
        return False
    try:
        nexts = recurrence.after(*([along[1]] if recurrence.along else []), *(s.now for s in states), *values)
    except ProofError:
        return False
    return not any(state.region.expanded(signomial(a) - s.after) for a, s in zip(nexts, states, strict=True))


def _verdict(
    loop: Loop,
    theorem: Any,
    label: str,
    reader: Reader,
    state: State,
    lines: list[Line],
    final: tuple[Inequality, ...],
) -> Verdict:
    used = frozenset[str]().union(*(assumed(fact.uses) for fact in final))
    facts: list[Any] = []
    idle: list[str] = []
    dropped: list[str] = []
    here: State | None = state
    for prefix, each in reversed(list(loops(loop))):
        assert here is not None
        used |= assumed(here.structural)
        idle += [f"step {prefix}{s.name}" for s in each.steps if s.name not in here.used]
        dropped += [prefix + text for text in here.dropped]
        facts = [*here.facts.values(), *facts]
        here = here.earlier.state if here.earlier else None
    return replace(
        accepted_with(theorem, label, lines, used, state.region.conditions, idle),
        dropped=tuple(dropped),
        reading=_reading(loop),
        facts=tuple(facts),
        formal=(
            *dict.fromkeys(text for _, each in loops(loop) for text in _formal(each, theorem, reader)),
            *said_by(theorem, used),
        ),
        rests_on={"method": "the update equations under definitions"},
        gives=_gives(loop, theorem, theorem.statement(label), reader),
    )


def _gives(loop: Loop, theorem: Any, statement: Any, reader: Reader) -> tuple[str, ...]:
    """The constants that are delivered: by name, or as the root of the terms where these bound what the constant would."""
    whole, found = sum(term.expr for term in statement.terms), []
    for each in loop.delivers:
        if each.target:
            found.append(each.target)
        else:
            power = what_is_bounded(loop, each, theorem, statement, reader).power
            same = (d for d in statement.derived if d.bounds == theorem.metric.bounds)
            found += [d.name for d in same if whole == d.symbol**power]
    return tuple(found)


def _formal(loop: Loop, theorem: Any, reader: Reader) -> tuple[str, ...]:
    return Reading(theorem, None, reader, loop.setting, steps_inside=True).words(loop.axioms)


def _reading(loop: Loop) -> tuple[str, ...]:
    rows = []
    for prefix, each in loops(loop):
        for variable in each.setting.variables:
            rows += [f"{prefix}{variable.name}[{variable.defined:+d}] = {term!r}" for _, term in variable.equations]
        rows += [f"{prefix}{old} reversed is {new}" for old, new in each.reversed.items()]
        rows += [f"{prefix}{s.name}: {s.start!r} at first, then {s.after!r}" for s in each.sequences]
    return (*rows, *(f"{name} = {formula!r}" for name, formula in loop.constants))
