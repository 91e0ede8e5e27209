"""A derivation as data, and the verdict of the kernel on it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..search import points_near
from .assumptions import Declared
from .facts import Fact, Quantity, State, assumed
from .known import Averaged
from .problem import (
    accept_declarations,
    accept_metric,
    accept_schedules,
    horizon,
    left_side,
    period,
    rests_on,
    right_side,
)
from .reader import Reader
from .readings import Reading
from .region import Region, slacks_of
from .rules import PATHWISE, POSITIONAL, RULES, WITH_CLOCK, Combine, Rule, Weights
from .scalars import along_a_run
from .setting import Setting
from .signomial import (
    CLOCK,
    SINCE_START,
    Param,
    ProofError,
    Signomial,
    clock,
    holds,
    is_positive,
    moves,
    params_in,
)


@dataclass(frozen=True)
class Step:
    """One line of a derivation: its name, the rule with everything that it needs, and a sentence for the reader."""

    name: str
    rule: Rule
    why: str = ""


@dataclass(frozen=True)
class Lemma:
    """A statement that a derivation takes as true: what it gives stands under its id in the place of an assumption.

    Args:
        constants: those of the theorem's statement that the lemma gives; both define them alike, and the lemma says what they bound.
    """

    theorem: Any
    label: str
    constants: tuple[str, ...]


@dataclass(frozen=True)
class Derivation:
    """Everything the kernel needs to re-check a statement; its constants, horizon, period and metric are read off that.

    Args:
        axioms: what is assumed, by names of the derivation's own: `Assumed` for a bound, `Start` for the start of a variable.
        metric: the quantity that is the theorem's metric at step t; the statement bounds its average over 0 <= t < T, or its last value.
        conclusion: multipliers and earlier steps that add up to the statement, whose terms are read off the declaration.
        model: the variable that is the models of the clients.
        inside: rational values that satisfy every condition, to show that the region is not empty.
        time: name of the assumption that samples of different steps are independent, on which conditional expectations rest.
        lemmas: statements that are taken as true; the verdict says so.
        either: an entry of the list by which one of several things holds, of which this derivation covers one (`Alternatives`).
        offset: a positive number; the update equations may then speak of the clock, t + offset at step t.
        pathwise: every step holds along almost every run, or with the probability of the statement; none is about an expectation.
    """

    setting: Setting
    quantities: tuple[Quantity, ...]
    axioms: Mapping[str, Declared]
    steps: tuple[Step, ...]
    conclusion: Weights
    metric: str
    model: str
    inside: Mapping[str, Fraction]
    time: str
    lemmas: tuple[Lemma, ...] = ()
    either: str = ""
    offset: Signomial | None = None
    pathwise: bool = False


@dataclass(frozen=True)
class AtNumbers:
    """A statement at values of its symbols, with one number in the place of its terms; its conditions are not needed."""

    values: Mapping[str, Fraction]
    bound: Fraction

    def __str__(self) -> str:
        return f"at {', '.join(f'{name} = {value}' for name, value in self.values.items())}: at most {self.bound}"


@dataclass(frozen=True)
class Line:
    """A checked step as text."""

    name: str
    claim: str
    rule: str
    uses: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether the kernel accepts a derivation; if not, the step where it stopped and why.

    `accepted`: every step follows; `given`: the statements that are taken as true and that the kernel has not checked, so that
    the theorem is `checked` only where there are none. `dropped`: the nonnegative numbers that single steps leave out; `loose`:
    conditions that are used with room only. `formal`: the assumed bounds in words; `rests_on`: the metric, the horizon, the
    period and the variant of the method that the derivation is about. `at`: the numbers at which it holds, where it is not the statement.
    `gives`: the constants of the statement of which it is checked that they bound what the statement says of them.
    """

    theorem: str
    statement: str
    accepted: bool
    lines: tuple[Line, ...]
    assumptions: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    failure: str = ""
    reading: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = field(default=(), repr=False)
    given: tuple[str, ...] = ()
    formal: tuple[str, ...] = ()
    rests_on: Mapping[str, str] = field(default_factory=dict)
    at: AtNumbers | None = None
    gives: tuple[str, ...] = ()

    @property
    def checked(self) -> bool:
        """Whether the kernel has checked the theorem and every statement on which it rests."""
        return self.accepted and not self.given

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "theorem": self.theorem,
            "statement": self.statement,
            "checked": self.checked,
            "accepted": self.accepted,
            "rules": self.accepted,
            "rests_on": dict(self.rests_on),
            "formal": list(self.formal),
            "given": list(self.given),
            "steps": [
                {"name": x.name, "claim": x.claim, "rule": x.rule, "uses": list(x.uses), "why": x.why}
                for x in self.lines
            ],
            "assumptions": list(self.assumptions),
            "conditions": list(self.conditions),
            "unused": list(self.unused),
            "dropped": list(self.dropped),
            "loose": list(self.loose),
            "definitions": list(self.reading),
        }
        if self.at is not None:
            data |= {"at": {k: str(v) for k, v in self.at.values.items()}, "bound": str(self.at.bound)}
        return data if self.accepted else {**data, "failure": self.failure}

    def __str__(self) -> str:
        place = f", {self.at}" if self.at else ""
        rows = [f"{self.theorem}, {self.statement}{place}", *(f"  {text}" for text in self.reading), ""]
        for number, x in enumerate(self.lines, 1):
            rows.append(f"{number:>3}. {x.name}: {x.claim}")
            rows.append(
                f"     {x.rule}" + (f", from {', '.join(x.uses)}" if x.uses else "") + (f". {x.why}" if x.why else "")
            )
        rows += ["", *(f"{name}: {text}" for name, text in self.rests_on.items())]
        rows += [f"assumed, formally: {text}" for text in self.formal]
        rows += [*(f"assumed: {name}" for name in self.assumptions), *(f"used: {name}" for name in self.conditions)]
        rows += [f"not used: {name}" for name in self.unused] + [f"left out in {text}" for text in self.dropped]
        rows += [f"used with room only: {name}" for name in self.loose]
        rows += [f"given, not checked by the kernel: {name}" for name in self.given]
        found = f"checked given {', '.join(self.given)}" if self.given else "checked"
        rows.append(f"{found}: {len(self.lines)} steps" if self.accepted else f"NOT CHECKED: {self.failure}")
        return "\n".join(rows)


@dataclass(frozen=True)
class Progress:
    """The lines checked so far, and what they established; with `values` at numbers only."""

    derivation: Derivation
    theorem: Any
    label: str
    state: State
    lines: tuple[Line, ...] = ()
    values: Mapping[str, Fraction] | None = None

    def after(self, step: Step) -> Progress:
        """With one more step; what is here already stays as it is.

        Raises:
            ProofError: the step does not follow.
        """
        state = self.state.copy()
        line = checked_line(state, step)
        return replace(self, state=state, lines=(*self.lines, line))

    @cached_property
    def reading(self) -> Reading:
        """What the assumptions are read off."""
        statement = self.theorem.statement(self.label)
        return reading(self.derivation, self.theorem, statement, Reader(self.theorem, statement))

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict after the steps that are still to be checked, where it is not at numbers."""
        return finish(self)


def begin(
    derivation: Derivation, theorem: Any, label: str = "corrected", values: Mapping[str, Fraction] | None = None
) -> Progress:
    """Before the first step.

    Args:
        values: those of the symbols of the statement, where it is checked at numbers.

    Raises:
        ProofError: the declarations, or the values, are not allowed.
    """
    statement = theorem.statement(label)
    state = _state(derivation, theorem, statement, Reader(theorem, statement), values)
    return Progress(derivation, theorem, label, state, values=values)


def check(derivation: Derivation, theorem: Any, label: str = "corrected", numbers: AtNumbers | None = None) -> Verdict:
    """Re-check a derivation of `theorem.statement(label)`, or of that at numbers; every step, with exact arithmetic."""
    try:
        values, bound = (numbers.values, numbers.bound) if numbers else (None, None)
        found = finish(begin(derivation, theorem, label, values), bound)
    except ProofError as error:
        found = Verdict(theorem.id, label, False, (), failure=str(error))
    return replace(found, at=numbers)


def finish(progress: Progress, bound: Fraction | None = None) -> Verdict:
    """The verdict after the steps of the derivation that are still to be checked, and the conclusion.

    Args:
        bound: at numbers, the number in the place of the terms of the statement.

    Raises:
        ProofError: at numbers without a bound, or the other way round.
    """
    derivation, theorem, label = progress.derivation, progress.theorem, progress.label
    if (bound is None) != (progress.values is None):
        raise ProofError("a bound that is a number goes with values of the symbols")
    state, lines = progress.state.copy(), list(progress.lines)
    try:
        for step in derivation.steps[len(lines) :]:
            try:
                lines.append(checked_line(state, step))
            except ProofError as error:
                raise ProofError(f"step {step.name}: {error}") from None
        final = _conclusion(derivation, progress.reading, state, bound)
        lines.append(checked_line(state, Step("conclusion", final)))
    except ProofError as error:
        return Verdict(theorem.id, label, False, tuple(lines), failure=str(error))
    return _verdict(derivation, progress.reading, label, state, lines)


def reading(derivation: Derivation, theorem: Any, statement: Any, reader: Reader) -> Reading:
    """What the assumptions of a derivation are read off."""
    lemmas = derivation.lemmas
    declared = derivation.setting, derivation.quantities, derivation.model, lemmas
    return Reading(theorem, statement, reader, *declared, either=derivation.either, pathwise=derivation.pathwise)


def _state(
    derivation: Derivation, theorem: Any, statement: Any, reader: Reader, values: Mapping[str, Fraction] | None
) -> State:
    failure = _failure(derivation, theorem, reader, values)
    region = _region(statement, reader, derivation.offset)
    if values is None:
        inside = _inhabited(region, reader, derivation.inside, derivation.offset)
    else:
        if derivation.offset is not None:
            raise ProofError("at numbers: the proof has a clock, and what depends on t has no number")
        if constants := sorted(values.keys() - {binding.name for binding in theorem.notation}):
            raise ProofError(f"{constants[0]} is no symbol of the theorem: its value is that of its formula")
        if derivation.lemmas:  # they are taken as true under their conditions
            _inhabited(region, reader, values, None)
        region = region.at(allowed_point(reader, values))
        inside = {param: formula.at({}) for param, formula in region.formulas.items() if param not in region.powers}
    distinct_names(theorem, statement, reader, (lemma.theorem.id for lemma in derivation.lemmas))
    for lemma in derivation.lemmas:
        _applies(lemma, statement, theorem)
    declarations = (derivation.setting, derivation.quantities, derivation.axioms)
    if any(holds(each, Averaged) for each in declarations):
        raise ProofError("a sample that is averaged away has no step that can be written")
    if any(moves(each) for each in _fixed(derivation)):
        raise ProofError("a declaration does not depend on the position in the round, or on the step")
    names = [q.name for q in derivation.quantities]
    if len(set(names)) != len(names):
        raise ProofError("a quantity is declared twice")
    found = reading(derivation, theorem, statement, reader)
    accept_schedules(found, derivation.offset)
    structural = accept_declarations(found, derivation.time)
    axioms = found.axioms(derivation.axioms)
    quantities = {q.name: q for q in derivation.quantities}
    points = points_near(inside, region) if values is None else (inside,)
    sizes = horizon(found), period(found)
    state = State(
        derivation.setting,
        quantities,
        axioms,
        region,
        *sizes,
        points,
        structural=structural,
        offset=derivation.offset,
        failure=failure,
    )
    for param, (base, _) in region.exponentials.items():
        if state.certify(base) is None:
            raise ProofError(f"{param.name}: its base may be negative{state.where_negative(base)}")
    return state


def _failure(derivation: Derivation, theorem: Any, reader: Reader, values: Any) -> Param | None:
    """The probability with which a statement may fail, for a pathwise derivation of it; None for one of expectations.

    Raises:
        ProofError: the derivation is pathwise and the statement is about an expectation; or it is about neither.
    """
    if not derivation.pathwise:
        if products := [q.name for q in derivation.quantities if q.is_inner_product]:
            raise ProofError(f"{products[0]}: an inner product has a name in a pathwise derivation only")
        return None
    if not theorem.metric.failure:
        raise ProofError("a pathwise derivation is of a bound that holds with a probability")
    if derivation.lemmas or derivation.offset is not None or values is not None:
        raise ProofError("a pathwise derivation takes no lemmas, has no clock, and is not checked at numbers")
    return reader.params[theorem.metric.failure]


def _fixed(derivation: Derivation) -> tuple[Any, ...]:
    """The declarations that are the same at every step: with a clock, all but the coefficients of the update equations."""
    setting, rest = derivation.setting, (derivation.quantities, derivation.axioms, derivation.offset)
    if derivation.offset is None:
        return (setting, *rest)
    if not is_positive(derivation.offset):
        raise ProofError(f"the offset {derivation.offset!r} may be 0 or negative")
    equations = [term for variable in setting.variables for _, term in variable.equations]
    moving = frozenset(param for term in equations for param in params_in(term) if param.moving)
    return (setting.indices, setting.sources, setting.functions, setting.objectives, *rest, *(moving - {CLOCK}))


def distinct_names(theorem: Any, statement: Any, reader: Reader, lemmas: Iterable[str] = ()) -> None:
    """Raises unless assumptions, conditions and lemmas have names of their own, as a verdict tells them apart by these."""
    conditions = [c.name for c in statement.conditions]
    conditions += [f"{c.name} reversed" for c in statement.conditions if c.relation == "=="]
    counts = [f"{param.name}{text}" for param in reader.params.values() if param.count for text in (">=1", " whole")]
    counts += [name for param in reader.quotients for name in slacks_of(param)]
    distinct([*(item.name for item in theorem.assumptions), *conditions, *counts, *lemmas, SINCE_START])


def distinct(names: Sequence[str]) -> None:
    """Raises unless all are different."""
    if both := [name for i, name in enumerate(names) if name in names[:i]]:
        raise ProofError(f"{both[0]!r} is the name of two of the assumptions, conditions and lemmas")


def _region(statement: Any, reader: Reader, offset: Signomial | None) -> Region:
    slacks: dict[str, Signomial] = {} if offset is None else {SINCE_START: clock() - offset}
    for condition in statement.conditions:
        first, *second = reader.slack(condition)
        slacks[condition.name] = first
        for other in second:
            slacks[f"{condition.name} reversed"] = other
    formulas, powers = dict(reader.formulas), dict(reader.powers)
    others = dict(reader.quotients), dict(reader.exponentials), dict(reader.sums), dict(reader.logarithms)
    return Region(slacks, formulas, powers, *others)


def allowed_point(reader: Reader, values: Mapping[str, Fraction]) -> dict[Param, Fraction]:
    """Values of symbols as a point; each must be one that its symbol can have."""
    if unknown := sorted(values.keys() - reader.params.keys()):
        raise ProofError(f"the point inside: the statement has no symbol {unknown[0]}")
    point: dict[Param, Fraction] = {reader.params[name]: Fraction(value) for name, value in values.items()}
    for param, value in point.items():
        if value < 0 or (param.positive and value == 0) or (param.count and value.denominator != 1):
            raise ProofError(f"the point inside: {param.name} = {value} is not allowed")
    return point


def _inhabited(
    region: Region, reader: Reader, inside: Mapping[str, Fraction], offset: Signomial | None
) -> dict[Param, Fraction]:
    """A rational point at which the conditions hold, at step 0, so nothing is proved from a contradiction."""
    point = region.constants_at(allowed_point(reader, inside))
    if offset is not None:
        point[CLOCK] = offset.at(point)
    for name, slack in region.conditions.items():
        if slack.at(point) < 0:
            raise ProofError(f"the point inside violates {name}")
    return point


def _applies(lemma: Lemma, statement: Any, theorem: Any) -> None:
    """Raises unless a lemma is about the same problems, needs no more than the statement, and defines its constants alike."""
    if lemma.theorem.id == theorem.id:
        raise ProofError(f"{theorem.id} does not rest on itself")
    said = lemma.theorem.statement(lemma.label)
    if lemma.theorem.problem != theorem.problem or lemma.theorem.notation != theorem.notation:
        raise ProofError(f"{lemma.theorem.id} is about other problems or in other symbols")
    if not {*lemma.theorem.assume, *said.assume} <= {*theorem.assume, *statement.assume}:
        raise ProofError(f"{lemma.theorem.id} assumes more of a problem")
    if missing := [c.name for c in said.conditions if c not in statement.conditions]:
        raise ProofError(f"{lemma.theorem.id} needs {missing[0]}, which the statement does not state")
    own, other = ({d.name: d for d in each.derived} for each in (statement, said))
    missing = [item.name for item in lemma.theorem.assumptions if item not in theorem.assumptions]
    if missing:
        raise ProofError(f"{lemma.theorem.id} assumes {missing[0]!r}, which the theorem does not list")
    for name in lemma.constants:
        if name not in own or name not in other or _unfolded(name, own) != _unfolded(name, other):
            raise ProofError(f"the constant {name} is not that of {lemma.theorem.id}")


def _unfolded(name: str, derived: Mapping[str, Any]) -> Any:
    """The formula of a derived constant with those of the others in their places."""
    expr = derived[name].expr
    while inner := [d for d in derived.values() if d.name != name and d.symbol in expr.free_symbols]:
        expr = expr.xreplace({d.symbol: d.expr for d in inner})
    return expr


def checked_line(state: State, step: Step) -> Line:
    if type(step.rule) not in RULES:
        raise ProofError(f"{step.rule!r} is no rule")
    if state.failure is not None and type(step.rule) not in PATHWISE:
        raise ProofError(f"{step.rule.title}: not in a pathwise derivation, as it may be about an expectation")
    present = params_in(step.rule)
    moving = {param for param in present if param.moving}
    by_clock = moving == {CLOCK} and state.numbers is None and type(step.rule) in WITH_CLOCK
    if moving and type(step.rule) not in POSITIONAL and not by_clock:
        raise ProofError(f"{step.rule.title}: not for statements about the position in the round, or about the step")
    if state.offset is None and CLOCK in present:
        raise ProofError("the derivation has no clock")
    if step.name in state.facts:
        raise ProofError("there is a step of this name already")
    if holds(step.rule, Averaged):
        raise ProofError("a sample that is averaged away has no step that can be written")
    before = len(state.dropped)
    fact = step.rule.apply(state)
    state.dropped[before:] = [f"{step.name}: {text}" for text in state.dropped[before:]]
    state.facts[step.name] = fact
    return Line(step.name, repr(fact), step.rule.title, tuple(dict.fromkeys(step.rule.uses)), step.why)


def _conclusion(derivation: Derivation, found: Reading, state: State, bound: Fraction | None) -> Combine:
    """The statement itself, read off its declaration: metric <= sum of the terms, or at numbers <= the bound."""
    if derivation.metric not in state.quantities:
        raise ProofError(f"{derivation.metric}: no such quantity")
    state.structural |= accept_metric(found, state.quantities[derivation.metric].meaning, state.axioms)
    right = right_side(found, state.horizon, bound)
    return Combine(left_side(found, derivation.metric, state.horizon, state.offset), right, derivation.conclusion)


def _verdict(derivation: Derivation, found: Reading, label: str, state: State, lines: list[Line]) -> Verdict:
    theorem = found.theorem
    used = assumed(state.facts["conclusion"].uses) | state.structural
    for base, _ in state.region.exponentials.values():
        used |= state.certify(base) or frozenset()
    lemmas = {lemma.theorem.id: lemma for lemma in derivation.lemmas}
    given = tuple(f"{name} {lemma.label}" for name, lemma in lemmas.items() if name in used)
    given += (one_case_of(derivation.either),) if derivation.either else ()
    idle_lemmas = [name for name in lemmas if name not in used]
    used = assumed(used - lemmas.keys())
    idle = [f"step {step.name}" for step in derivation.steps if step.name not in state.used]
    accepted = accepted_with(theorem, label, lines, used, state.region.conditions, (*idle_lemmas, *idle))
    return replace(
        accepted,
        dropped=tuple(state.dropped),
        loose=tuple(name for name in accepted.conditions if name not in state.exact),
        reading=(*_reading(derivation), *_given(derivation, found.reader)),
        facts=tuple(state.facts.values()),
        given=given,
        formal=(*found.words(derivation.axioms), *said_by(theorem, used)),
        rests_on=rests_on(found),
    )


def accepted_with(
    theorem: Any, label: str, lines: list[Line], used: frozenset[str], conditions: Iterable[str], idle: Iterable[str]
) -> Verdict:
    """That a derivation is accepted, with the assumptions and conditions among what it used, and those that it did not."""
    listed = [item.name for item in theorem.assumptions]
    return Verdict(
        theorem.id,
        label,
        True,
        tuple(lines),
        assumptions=tuple(name for name in listed if name in used),
        conditions=tuple(sorted(used - set(listed))),
        unused=(*(name for name in (*listed, *conditions) if name not in used), *idle),
    )


def said_by(theorem: Any, names: Collection[str]) -> tuple[str, ...]:
    """What the entries of a theorem's list with these names say besides bounds, in words."""
    return tuple(f"{item.name}: {text}" for item in theorem.assumptions if item.name in names for text in item.sayings)


def one_case_of(entry: str) -> str:
    """What is given of a derivation that covers one of several cases."""
    return f"the other cases of {entry!r}"


def _reading(derivation: Derivation) -> tuple[str, ...]:
    """The update equations and the named quantities, in words of the derivation."""
    rows = [] if derivation.offset is None else [f"offset = {derivation.offset!r}"]
    for variable in derivation.setting.variables:
        for phases, term in variable.equations:
            place = "" if len(phases) == 4 else f"   ({', '.join(sorted(phases))})"
            rows.append(f"{variable.name}[{variable.defined:+d}] = {term!r}{place}")
        if variable.behind is not None:
            rows.append(f"{variable.name} = {variable.of} of {variable.behind!r} steps before, at first of step 0")
    rows += [f"{f.name} is where the objective is least" for f in derivation.setting.functions if f.role == "minimiser"]
    rows += [f"{o.name} has the gradient {o.gradient!r} at {o.at}" for o in derivation.setting.objectives]
    of = along_a_run if derivation.pathwise else repr
    rows += [f"{q.name} = {q.meaning.text(of)}" for q in derivation.quantities]
    return (
        (*rows, "every line holds along almost every run, with the values of that run")
        if derivation.pathwise
        else tuple(rows)
    )


def _given(derivation: Derivation, reader: Reader) -> tuple[str, ...]:
    """What is taken from elsewhere: constants without a formula that the kernel reads, and what the lemmas say of them."""
    meanings = {name: f", by {e.theorem.id}" for e in derivation.lemmas for name in e.constants}
    return tuple(f"{name}: any nonnegative number{meanings[name]}" for name in reader.opaque if name in meanings)
