"""A derivation as data, and the verdict of the kernel on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ..search import points_near
from .assumptions import KINDS, Axiom
from .facts import Fact, Quantity, State, assumed
from .known import Averaged
from .reader import Reader
from .region import Region
from .rules import POSITIONAL, RULES, Combine, Rule, Weights
from .scalars import Inner, One, Scalar, Total
from .setting import Setting
from .signomial import ONE, Param, ProofError, Signomial, holds, moves
from .terms import Term, Var, is_pointwise, replaced


@dataclass(frozen=True)
class Step:
    """One line of a derivation: its name, the rule with everything that it needs, and a sentence for the reader."""

    name: str
    rule: Rule
    why: str = ""


@dataclass(frozen=True)
class Lemma:
    """A statement that a derivation takes as true: an axiom whose assumption is its id is what it says.

    Args:
        constants: those of the theorem's statement that the lemma gives, each with what it bounds; both define them alike.
        assumes: entries of the theorem's list of assumptions on which the lemma rests.
    """

    theorem: Any
    label: str
    constants: tuple[tuple[str, str], ...]
    assumes: tuple[str, ...]


@dataclass(frozen=True)
class Derivation:
    """Everything the kernel needs to re-check a statement.

    Args:
        metric: the quantity whose average over 0 <= t < T the statement bounds; it must be the squared gradient of an
            objective at `point`.
        conclusion: multipliers and earlier steps that add up to the statement, whose terms are read off the declaration.
        period: name of the symbol for the number of local steps in a round; horizon: for the number of all steps, or the names
            of two whole numbers whose product it is, such as "tau*K".
        inside: rational values that satisfy every condition, to show that the region is not empty.
        time: name of the assumption that samples of different steps are independent, on which conditional expectations rest.
        lemmas: statements that are taken as true; the verdict says so.
    """

    setting: Setting
    quantities: tuple[Quantity, ...]
    axioms: Mapping[str, Axiom]
    steps: tuple[Step, ...]
    conclusion: Weights
    metric: str
    objective: str
    point: Term
    period: str
    inside: Mapping[str, Fraction]
    time: str
    horizon: str = "T"
    lemmas: tuple[Lemma, ...] = ()


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
    conditions that are used with room only.
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
        return data if self.accepted else {**data, "failure": self.failure}

    def __str__(self) -> str:
        rows = [f"{self.theorem}, {self.statement}", *(f"  {text}" for text in self.reading), ""]
        for number, x in enumerate(self.lines, 1):
            rows.append(f"{number:>3}. {x.name}: {x.claim}")
            rows.append(
                f"     {x.rule}" + (f", from {', '.join(x.uses)}" if x.uses else "") + (f". {x.why}" if x.why else "")
            )
        rows += ["", *(f"assumed: {name}" for name in self.assumptions), *(f"used: {name}" for name in self.conditions)]
        rows += [f"not used: {name}" for name in self.unused] + [f"left out in {text}" for text in self.dropped]
        rows += [f"used with room only: {name}" for name in self.loose]
        rows += [f"given, not checked by the kernel: {name}" for name in self.given]
        found = f"checked given {', '.join(self.given)}" if self.given else "checked"
        rows.append(f"{found}: {len(self.lines)} steps" if self.accepted else f"NOT CHECKED: {self.failure}")
        return "\n".join(rows)


@dataclass(frozen=True)
class Progress:
    """The lines checked so far, and what they established."""

    derivation: Derivation
    theorem: Any
    label: str
    state: State
    lines: tuple[Line, ...] = ()

    def after(self, step: Step) -> Progress:
        """With one more step; what is here already stays as it is.

        Raises:
            ProofError: the step does not follow.
        """
        state = self.state.copy()
        line = checked_line(state, step)
        return replace(self, state=state, lines=(*self.lines, line))


def begin(derivation: Derivation, theorem: Any, label: str = "corrected") -> Progress:
    """Before the first step.

    Raises:
        ProofError: the declarations are not allowed.
    """
    statement = theorem.statement(label)
    return Progress(derivation, theorem, label, _state(derivation, theorem, statement, Reader(theorem, statement)))


def check(derivation: Derivation, theorem: Any, label: str = "corrected") -> Verdict:
    """Re-check a derivation of `theorem.statement(label)`; every step, with exact arithmetic."""
    try:
        return finish(begin(derivation, theorem, label))
    except ProofError as error:
        return Verdict(theorem.id, label, False, (), failure=str(error))


def finish(progress: Progress) -> Verdict:
    """The verdict after the steps of the derivation that are still to be checked, and the conclusion."""
    derivation, theorem, label = progress.derivation, progress.theorem, progress.label
    state, lines = progress.state.copy(), list(progress.lines)
    try:
        for step in derivation.steps[len(lines) :]:
            try:
                lines.append(checked_line(state, step))
            except ProofError as error:
                raise ProofError(f"step {step.name}: {error}") from None
        statement = theorem.statement(label)
        final = _conclusion(derivation, statement, Reader(theorem, statement), state)
        lines.append(checked_line(state, Step("conclusion", final)))
    except ProofError as error:
        return Verdict(theorem.id, label, False, tuple(lines), failure=str(error))
    return _verdict(derivation, theorem, label, state, lines)


def _state(derivation: Derivation, theorem: Any, statement: Any, reader: Reader) -> State:
    region = _region(statement, reader)
    inside = _inhabited(region, reader, derivation.inside)
    _known_assumptions(derivation, theorem, statement)
    for lemma in derivation.lemmas:
        _applies(lemma, statement, theorem)
    if any(moves(each) for each in (derivation.setting, derivation.quantities, derivation.axioms)):
        raise ProofError("a declaration does not depend on the position in the round")
    names = [q.name for q in derivation.quantities]
    if len(set(names)) != len(names):
        raise ProofError("a quantity is declared twice")
    quantities = {q.name: q for q in derivation.quantities}
    horizon, period = _count(reader, derivation.horizon), _count(reader, derivation.period)
    points = points_near(inside, region)
    return State(derivation.setting, quantities, dict(derivation.axioms), region, horizon, period, points)


def _count(reader: Reader, text: str) -> Signomial:
    """A whole number, or a product of whole numbers."""
    found = ONE
    for name in text.split("*"):
        if not reader.params[name].count:
            raise ProofError(f"{name} is not a whole number")
        found = found * getattr(reader, name)
    return found


def _region(statement: Any, reader: Reader) -> Region:
    slacks: dict[str, Signomial] = {}
    for condition in statement.conditions:
        first, *second = reader.slack(condition)
        slacks[condition.name] = first
        for other in second:
            slacks[f"{condition.name} reversed"] = other
    return Region(slacks, dict(reader.formulas), dict(reader.powers), dict(reader.quotients))


def allowed_point(reader: Reader, values: Mapping[str, Fraction]) -> dict[Param, Fraction]:
    """Values of symbols as a point; each must be one that its symbol can have."""
    point: dict[Param, Fraction] = {reader.params[name]: Fraction(value) for name, value in values.items()}
    for param, value in point.items():
        if value < 0 or (param.positive and value == 0) or (param.count and value.denominator != 1):
            raise ProofError(f"the point inside: {param.name} = {value} is not allowed")
    return point


def _inhabited(region: Region, reader: Reader, inside: Mapping[str, Fraction]) -> dict[Param, Fraction]:
    """A rational point at which the conditions hold, so nothing is proved from a contradiction."""
    point = region.constants_at(allowed_point(reader, inside))
    for name, slack in region.conditions.items():
        if slack.at(point) < 0:
            raise ProofError(f"the point inside violates {name}")
    return point


def _known_assumptions(derivation: Derivation, theorem: Any, statement: Any) -> None:
    listed = {item.name for item in theorem.assumptions}
    if both := sorted(listed & {condition.name for condition in statement.conditions}):
        raise ProofError(f"{both[0]!r} is the name of an assumption and of a condition")
    names = {source.independent for source in derivation.setting.sources} | {derivation.time}
    names |= {objective.assumption for objective in derivation.setting.objectives} | _structural(derivation)
    for axiom in derivation.axioms.values():
        if type(axiom) not in KINDS:
            raise ProofError(f"{axiom!r} is no kind of assumption that the kernel knows")
        names |= axiom.names
    for lemma in derivation.lemmas:
        names = (names - {lemma.theorem.id}) | set(lemma.assumes)
    if unknown := sorted(names - listed):
        raise ProofError(f"{unknown[0]!r} is not in the theorem's list of assumptions")


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
    for name, _ in lemma.constants:
        if name not in own or name not in other or _unfolded(name, own) != _unfolded(name, other):
            raise ProofError(f"the constant {name} is not that of {lemma.theorem.id}")


def _unfolded(name: str, derived: Mapping[str, Any]) -> Any:
    """The formula of a derived constant with those of the others in their places."""
    expr = derived[name].expr
    while inner := [d for d in derived.values() if d.name != name and d.symbol in expr.free_symbols]:
        expr = expr.xreplace({d.symbol: d.expr for d in inner})
    return expr


def _structural(derivation: Derivation) -> frozenset[str]:
    """Assumptions that the declarations themselves use: equal mean functions."""
    return frozenset(f.equal for f in derivation.setting.functions if f.equal)


def checked_line(state: State, step: Step) -> Line:
    if type(step.rule) not in RULES:
        raise ProofError(f"{step.rule!r} is no rule")
    if type(step.rule) not in POSITIONAL and moves(step.rule):
        raise ProofError(f"{step.rule.title}: not for statements about the position in the round")
    if step.name in state.facts:
        raise ProofError("there is a step of this name already")
    if holds(step.rule, Averaged):
        raise ProofError("a sample that is averaged away has no step that can be written")
    before = len(state.dropped)
    fact = step.rule.apply(state)
    state.dropped[before:] = [f"{step.name}: {text}" for text in state.dropped[before:]]
    state.facts[step.name] = fact
    return Line(step.name, repr(fact), step.rule.title, tuple(dict.fromkeys(step.rule.uses)), step.why)


def _conclusion(derivation: Derivation, statement: Any, reader: Reader, state: State) -> Combine:
    """The statement itself, read off its declaration: average of the metric <= sum of the terms."""
    if derivation.metric not in state.quantities:
        raise ProofError(f"{derivation.metric}: no such quantity")
    objective = derivation.setting.objective(derivation.objective)
    point = state.algebra.normal(derivation.point)
    own, there = state.algebra.support(Var(objective.at)), state.algebra.support(point)
    if not there.index <= own.index or not (there.known <= own.known or is_pointwise(objective.gradient)):
        raise ProofError(f"the gradient at {derivation.point!r}: {objective.at} has fewer indices, or is known earlier")
    gradient = replaced(objective.gradient, {objective.at: point})
    wanted = state.form(Scalar(((ONE, Inner(gradient, gradient)),)))
    if state.form(state.quantities[derivation.metric].meaning) != wanted:
        raise ProofError(
            f"{derivation.metric} is not the squared gradient of {derivation.objective} at {derivation.point!r}"
        )
    total = Scalar(tuple((reader.read(term.expr), One()) for term in statement.terms))
    return Combine(Scalar(((1 / state.horizon, Total(derivation.metric)),)), total, derivation.conclusion)


def _verdict(derivation: Derivation, theorem: Any, label: str, state: State, lines: list[Line]) -> Verdict:
    listed = [item.name for item in theorem.assumptions]
    used = assumed(state.facts["conclusion"].uses) | {derivation.time} | _structural(derivation)
    lemmas = {lemma.theorem.id: lemma for lemma in derivation.lemmas}
    given = tuple(f"{name} {lemma.label}" for name, lemma in lemmas.items() if name in used)
    idle_lemmas = [name for name in lemmas if name not in used]
    used = (used - lemmas.keys()).union(*(lemmas[name].assumes for name in lemmas if name in used))
    idle = [step.name for step in derivation.steps if step.name not in state.used]
    return Verdict(
        theorem.id,
        label,
        True,
        tuple(lines),
        tuple(name for name in listed if name in used),
        tuple(sorted(used - set(listed))),
        tuple(
            [name for name in (*listed, *state.region.conditions) if name not in used]
            + [*idle_lemmas, *(f"step {name}" for name in idle)]
        ),
        tuple(state.dropped),
        tuple(sorted(used - set(listed) - state.exact)),
        reading=(*_reading(derivation), *_given(derivation, theorem, label)),
        facts=tuple(state.facts.values()),
        given=given,
    )


def _reading(derivation: Derivation) -> tuple[str, ...]:
    """The update equations and the named quantities, in words of the derivation."""
    rows = []
    for variable in derivation.setting.variables:
        for phases, term in variable.equations:
            place = "" if len(phases) == 4 else f"   ({', '.join(sorted(phases))})"
            rows.append(f"{variable.name}[{variable.defined:+d}] = {term!r}{place}")
    rows += [f"{o.name} has the gradient {o.gradient!r} at {o.at}" for o in derivation.setting.objectives]
    return (*rows, *(f"{q.name} = {q.meaning!r}" for q in derivation.quantities))


def _given(derivation: Derivation, theorem: Any, label: str) -> tuple[str, ...]:
    """What is taken from elsewhere: constants without a formula that the kernel reads, and what the lemmas say of them."""
    meanings = {name: f", {text}, by {e.theorem.id}" for e in derivation.lemmas for name, text in e.constants}
    names = Reader(theorem, theorem.statement(label)).opaque
    return tuple(f"{name}: any nonnegative number{meanings[name]}" for name in names if name in meanings)


__all__ = ["Derivation", "Lemma", "Line", "Progress", "Step", "Verdict", "allowed_point", "begin", "check", "finish"]
