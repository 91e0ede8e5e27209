"""A derivation that the kernel has checked, as a document: setting, assumptions, quantities, named paragraphs, the conclusion.

Every line that needs a proof is a displayed formula with a number and its reason; what is only read off (an update equation, the
meaning of a quantity, an earlier line at other points) is named in the reason of the line that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ...language.reading import InputError
from ...language.rendering import condition_latex, latex_of
from ...language.result import Math
from ...language.typesetting import letters_of
from ..derivations import checked_steps, derivation
from ..kernel import (
    Action,
    Alternatives,
    Assume,
    AtStart,
    Combine,
    Conditional,
    Corollary,
    Definition,
    Derivation,
    Identity,
    IndependentMean,
    IndependentMoment,
    Instance,
    Later,
    Length,
    Linear,
    Loop,
    Martingale,
    MeanMoment,
    Open,
    Plan,
    Project,
    Substitute,
    Suppose,
    Sure,
    Verdict,
)
from ..kernel.facts import Equation, Fact, Likely, Moment, State, assumed
from ..kernel.loop import loops
from ..kernel.rules import Rule
from ..kernel.scalars import Inner, Scalar
from ..kernel.setting import PHASES
from ..kernel.signomial import Signomial
from ..kernel.terms import Term
from ..locks import Instances, Proof
from .notation import Notation

Piece = str | Math
Text = tuple[Piece, ...]

READ_OFF = (
    *(Assume, Definition, Project, Instance, Open, Later, AtStart, Linear, Substitute, Suppose, Length),
    *(Action, MeanMoment, IndependentMean, IndependentMoment, Identity, Sure, Conditional),
)
"""Rules whose lines open no paragraph: they stand in that of the line which needs them."""
NAMED = (Definition, Open, Instance, Later)
"""Rules whose lines are not displayed: a reason names them."""
_PHASES = {
    frozenset({"local", "first local"}): "at steps without communication",
    frozenset({"communication", "first communication"}): "at steps that end with a communication",
    frozenset({"local", "communication"}): "at every step but the first",
    frozenset({"first local", "first communication"}): "at the first step",
    frozenset({"first local"}): "at the first step, without communication",
    frozenset({"first communication"}): "at the first step, which ends with a communication",
    frozenset({"local"}): "at later steps without communication",
    frozenset({"communication"}): "at later steps that end with a communication",
}


@dataclass(frozen=True)
class Heading:
    """A title; `level` 1 is that of a part."""

    text: str
    level: int = 1


@dataclass(frozen=True)
class Paragraph:
    text: Text


@dataclass(frozen=True)
class Listing:
    items: tuple[Text, ...]


@dataclass(frozen=True)
class Display:
    """A formula on a line of its own; with a number, and the reason why it holds."""

    latex: str
    number: str = ""
    reason: Text = ()


Block = Heading | Paragraph | Listing | Display


@dataclass(frozen=True)
class Document:
    """A proof to read. `title` is plain text."""

    title: str
    blocks: tuple[Block, ...]


def document(theorem: Any, verdict: Verdict, proof: Proof | None = None) -> Document:
    """The proof of a theorem's statement of which the kernel said `verdict`, as a document; with `proof` also how it was checked.

    Raises:
        InputError: the kernel does not accept the derivation.
    """
    if not verdict.accepted:
        raise InputError(f"{theorem.id}: the kernel does not accept the derivation: {verdict.failure}")
    plan = derivation(theorem, verdict.statement)
    assert plan is not None
    rows = _Writer(theorem, verdict, proof).blocks(plan)
    return Document(f"Proof of {theorem.id}, {verdict.statement}: {theorem.title}", tuple(rows))


@dataclass
class _Writer:
    theorem: Any
    verdict: Verdict
    proof: Proof | None
    count: int = 0

    @property
    def label(self) -> str:
        return self.verdict.statement

    def blocks(self, plan: Plan) -> Iterator[Block]:
        yield from self._claim()
        match plan:
            case Derivation():
                yield from self._derivation(plan, "")
            case Alternatives():
                for name, case in plan.cases:
                    yield Heading(f"Case: {name}")
                    yield from self._derivation(case, f"{name}: ")
            case Loop():
                yield from self._loop(plan)
            case Corollary():
                yield from self._corollary(plan)
        yield from self._end()

    # --- what is claimed, and what it rests on --------------------------------------------------------------------------

    @property
    def statement(self) -> Any:
        return self.theorem.statement(self.label)

    def _claim(self) -> Iterator[Block]:
        statement, verdict = self.statement, self.verdict
        yield Heading("Claim")
        terms = [latex_of(statement, term.expr) for term in statement.terms]
        yield Display(f"{self.theorem.metric.latex} \\le {' + '.join(terms)}".replace("+ -", "- "))
        stated = [condition for condition in statement.conditions if condition.name in verdict.conditions]
        if statement.derived:
            rows = [rf"{c.latex} = {latex_of(statement, c.expr)}" for c in statement.derived]
            yield Paragraph(("with ", *_joined(map(_math, rows)), "."))
        if stated:
            words = [Math(str(c), condition_latex(statement, c)) for c in stated]
            yield Paragraph(("It holds where ", *_joined(words), "."))
        yield Heading("Assumptions")
        known = {item.name: item.text for item in self.theorem.assumptions}
        items: list[Text] = [(f"{name}: {known.get(name, '')}",) for name in verdict.assumptions]
        if items:
            yield Listing(tuple(items))
        if verdict.formal:
            yield Paragraph(("Formally, that is:",))
            yield Listing(tuple((text,) for text in verdict.formal))
        if verdict.given:
            yield Paragraph((f"Taken as true, not checked by the kernel: {', '.join(verdict.given)}.",))

    def _end(self) -> Iterator[Block]:
        verdict = self.verdict
        yield Heading("What is not used")
        rows: list[Text] = [(f"used with room only: {name}",) for name in verdict.loose]
        rows += [(f"not used: {name}",) for name in verdict.unused]
        if rows:
            yield Listing(tuple(rows))
        else:
            yield Paragraph(("Every assumption and every condition is used, none with room only.",))
        rested = [(f"{name}: {text}",) for name, text in verdict.rests_on.items()]
        yield Heading("What the proof is about")
        yield Listing(tuple(rested))
        if self.proof is not None:
            yield from self._checked(self.proof.instances)

    def _checked(self, found: Instances | None) -> Iterator[Block]:
        verdict = self.verdict
        yield Heading("How it was checked")
        given = f", given {', '.join(verdict.given)}" if verdict.given else ""
        yield Paragraph((f"By the rules of the kernel: {len(verdict.lines)} lines follow{given}.",))
        if found is None:
            yield Paragraph(("No exact instance was tried, so the proof is not called checked.",))
        else:
            tried = f"On exact instances: {found.tried} comparisons on {len(found.families)} families."
            yield Paragraph((f"{tried} {'All hold.' if found.hold else 'They do not confirm the proof.'}",))
            if rows := [(text,) for text in (*found.failed, *found.not_covered)]:
                yield Listing(tuple(rows))

    # --- a derivation ---------------------------------------------------------------------------------------------------

    def _notation(self, state: State) -> Notation:
        statement = self.statement
        symbols = {binding.name: binding.symbol for binding in self.theorem.notation}
        symbols |= {constant.name: constant.symbol for constant in statement.derived}
        horizon = state.horizon if state.numbers is None else None
        quantities = tuple(state.quantities.values())
        return Notation(state.algebra, letters_of(statement), symbols, horizon, quantities, state.offset)

    def _derivation(self, plan: Derivation, prefix: str) -> Iterator[Block]:
        place = [line.name for line in self.verdict.lines].index(f"{prefix}conclusion")
        yield from self._lines(plan, conclusion=self.verdict.facts[place])

    def _lines(self, plan: Derivation | Loop, conclusion: Fact | None = None) -> Iterator[Block]:
        """The setting, the lines in paragraphs, and what they leave out; `conclusion`: the statement, as the last line."""
        state = checked_steps(plan, self.theorem, self.label).state
        notation, facts = self._notation(state), dict(state.facts)
        rules: dict[str, Rule] = {step.name: step.rule for step in plan.steps}
        if conclusion is not None and isinstance(plan, Derivation):
            facts["conclusion"], rules["conclusion"] = conclusion, _final(plan)
        steps = _Steps(self, notation, state, facts, rules, {step.name: step.why for step in plan.steps})
        rows = list(steps.blocks())
        yield from self._setting(notation, plan)
        yield from rows
        yield from steps.slack()

    def _loop(self, plan: Loop) -> Iterator[Block]:
        for prefix, each in reversed(list(loops(plan))):
            if prefix:
                yield Heading("The loop before")
            yield from self._lines(each)
        final = [line for line in self.verdict.lines if line.rule == "the last step"]
        if final:
            yield Heading("After the last step", 2)
            yield Listing(tuple((f"{line.claim} (from {', '.join(line.uses)})",) for line in final))

    def _corollary(self, plan: Corollary) -> Iterator[Block]:
        yield Heading("Proof")
        yield Paragraph((f"The schedule is put into {plan.theorem.id} ({plan.label}), which the kernel has checked.",))
        statement = self.statement
        parent = {t.name: t.expr for t in plan.theorem.statement(plan.label).terms}
        own = {t.name: t.expr for t in statement.terms}
        conditions = {c.name: c for c in (*statement.conditions, *plan.theorem.statement(plan.label).conditions)}
        for line in self.verdict.lines:
            kind, _, name = line.name.partition(" ")
            if kind == "term" and name in parent and name in own:
                shown = f"{latex_of(statement, parent[name])} \\le {latex_of(statement, own[name])}"
            elif (name or kind) in conditions:
                shown = condition_latex(statement, conditions[name or kind])
            else:
                shown = ""
            reason = f"{line.rule}{': by ' + ', '.join(line.uses) if line.uses else ''}."
            yield Display(shown, self.next(), (reason,)) if shown else Paragraph((f"{line.claim} ({reason})",))

    def next(self) -> str:
        self.count += 1
        return str(self.count)

    def _setting(self, notation: Notation, plan: Derivation | Loop) -> Iterator[Block]:
        setting, model = notation.setting, plan.model if isinstance(plan, Derivation) else ""
        yield Heading("Setting")
        rows: list[Text] = []
        for variable in setting.variables:
            for phases, term in variable.equations:
                shown = _math(f"{notation.variable(variable, variable.defined)} = {notation.term(term)}")
                place = _place(phases)
                rows.append((shown, f", {place}" if place else "", *_model(variable.name == model)))
            if variable.behind is not None:
                older = notation.variable(setting.variable(variable.of)).replace(
                    "_{t}", f"_{{t-{notation.number(variable.behind)}}}"
                )
                shown = _math(f"{notation.variable(variable)} = {older}")
                rows.append((shown, ", the first value where there was none yet"))
        rows += [(_math(notation.gradient(objective)),) for objective in setting.objectives]
        for quantity in notation.quantities:
            rows.append((_math(f"{notation.quantity(quantity.name, 't')} = {notation.scalar(quantity.meaning)}"),))
        if isinstance(plan, Loop):
            rows += _sequences(notation, plan)
        rows += [(_math(f"{hat} = {meaning}"),) for hat, meaning in notation.hats.items()]
        yield Listing(tuple(rows))
        names = [notation.variable(v) for v in setting.variables if v.is_free]
        if names:
            yield Paragraph(("Free points, which stand for any vectors: ", *_joined(map(_math, names)), "."))
        left_out = "a sample left out of a function is averaged."
        if notation.algebra.pathwise:
            yield Paragraph((f"Every line holds along almost every run, with the values of that run; {left_out}",))
        else:
            given = f" is the expectation given all samples of the steps before t; {left_out}"
            yield Paragraph((_math(r"\mathbb{E}_{t}"), given))
        for index in notation.conventions:
            found = setting.index(index)
            first, later = (_math(notation.number(size)) for size in (found.first or found.size, found.size))
            average = _math(rf"\operatorname{{avg}}_{{{index}}}")
            yield Paragraph((average, " is the mean over ", first, " samples at step 0 and over ", later, " later."))


def _math(latex: str) -> Math:
    return Math(latex, latex)


def _sequences(notation: Notation, plan: Loop) -> list[Text]:
    rows: list[Text] = [(_math(f"{name} = {notation.number(formula)}"),) for name, formula in plan.constants]
    for each in plan.sequences:
        now, start = notation.number(each.now), notation.number(each.start)
        first, after = now.replace("{t}", "{0}"), now.replace("{t}", "{t+1}")
        rows.append((_math(rf"{first} = {start},\quad {after} = {notation.number(each.after)}"),))
    return rows + [(f"{old} reversed is {new}",) for old, new in plan.reversed.items()]


def _model(is_model: bool) -> Text:
    return (" (the models of the clients)",) if is_model else ()


def _final(plan: Derivation) -> Rule:
    """The last line: the statement, which is read off its declaration, with the multipliers of the derivation."""
    return Combine(Scalar(), Scalar(), plan.conclusion)


@dataclass
class _Steps:
    """The lines of one derivation, in paragraphs."""

    writer: _Writer
    notation: Notation
    state: State
    facts: dict[str, Fact]
    rules: dict[str, Rule]
    why: dict[str, str]
    numbers: dict[str, str] = field(default_factory=dict)

    def blocks(self) -> Iterator[Block]:
        for title, names in self._paragraphs():
            shown = [name for name in names if not isinstance(self.rules[name], NAMED)]
            rows: list[Block] = []
            for name in shown:
                formula = self._formula(name)
                if same := [n for n in self.rules[name].uses if n in self.numbers and self._formula(n) == formula]:
                    self.numbers[name] = self.numbers[same[0]]
                    continue
                number = self.numbers[name] = self.writer.next()
                rows.append(Display(formula, number, self._reason(name)))
            if rows:
                yield Heading(title, 1 if title == "Conclusion" else 2)
                yield from rows

    def slack(self) -> Iterator[Block]:
        """What single lines leave out, which is not negative."""
        items: list[Text] = []
        for name, rule in self.rules.items():
            if not isinstance(rule, Combine) or name not in self.numbers:
                continue
            if name == "conclusion":
                left, right = self.facts[name].sides  # type: ignore[union-attr,misc]
                rule = replace(rule, left=left, right=right)
            left_over, _ = rule.left_over(self.state)
            parts = [(c, atom) for atom, c in left_over.items() if self.state.region.expanded(c)]
            if parts:
                shown = [_math(self.notation.scalar(Scalar((part,)))) for part in parts]
                items.append((f"In ({self.numbers[name]}): ", *_joined(shown)))
        if items:
            yield Paragraph(("Left out on the way, as it is not negative:",))
            yield Listing(tuple(items))

    def _paragraphs(self) -> Iterator[tuple[str, list[str]]]:
        """(title, steps): each ends with the last of the lines that share the beginning of a name."""
        rows: list[str] = []
        names = list(self.rules)
        for place, name in enumerate(names):
            rows.append(name)
            if self._is_read_off(name):
                continue
            following = next((n for n in names[place + 1 :] if not self._is_read_off(n)), "")
            if _base(following) != _base(name):
                yield _title(_base(name)), rows
                rows = []
        if rows:
            yield "Further lines", rows

    def _is_read_off(self, name: str) -> bool:
        """Whether a line opens no paragraph; so does an equation that holds at all kinds of step."""
        return isinstance(self.rules[name], READ_OFF) or isinstance(self.facts[name], Equation)

    def _formula(self, name: str) -> str:
        fact = self.facts[name]
        phases = None if isinstance(fact, Moment) else fact.phases
        chance = [f"with probability 1 - {mark.failure.name}" for mark in fact.uses if isinstance(mark, Likely)]
        return self.notation.fact(fact, " ".join(chance) or (_place(phases) if phases is not None else ""))

    # --- reasons --------------------------------------------------------------------------------------------------------

    def _reason(self, name: str) -> Text:
        rule = self.rules[name]
        why = f" ({self.why[name]})" if self.why.get(name) else ""
        names = "; ".join(sorted(assumed(self.facts[name].uses)))
        if isinstance(rule, Assume):
            return (f"Assumption: {names}{why}." if names else f"Assumed{why}.",)
        if isinstance(rule, Martingale):
            return (f"{rule.title.capitalize()}: {names}{why}.",)
        if isinstance(rule, Combine):
            return (*self._combination(rule), f"{why}.")
        parts = list(_joined_text(self._reference(each) for each in dict.fromkeys(rule.uses)))
        head = rule.title[:1].upper() + rule.title[1:]
        return (f"{head}: ", *parts, f"{why}.") if parts else (f"{head}{why}.",)

    def _combination(self, rule: Combine) -> Text:
        summands: list[Text] = [self._times(factor, self._reference(name)) for factor, name in rule.weights]
        for factor, name, vector in rule.pairings:
            shown = _math(self.notation.times(factor, self.notation.closed(vector)))
            summands.append((*self._reference(name), " paired with ", shown))
        found: list[Piece] = []
        for place, summand in enumerate(summands):
            found += [*([", plus "] if place else []), *summand]
        if not found:
            found = ["By the rules for norms, inner products and independent samples"]
        elif len(summands) == 1:
            found = ["From ", *found]
        else:
            found = ["Add ", *found]
        left_out = [self._square(factor, term) for factor, term in rule.squares]
        if left_out:
            found += ["; left out, as they are not negative: ", *_joined(left_out)]
        return tuple(found)

    def _square(self, factor: Signomial, term: Term) -> Math:
        return _math(self.notation.times(factor, self.notation.atom(Inner(term, term))))

    def _times(self, factor: Signomial, reference: Text) -> Text:
        number = self.notation.number(factor)
        return reference if number == "1" else (_math(number), " times ", *reference)

    def _reference(self, name: str) -> Text:
        """How a reason names an earlier line."""
        if name in self.numbers:
            return (f"({self.numbers[name]})",)
        match self.rules[name]:
            case Definition(variable):
                return ("the update of ", _math(self.notation.variable(self.notation.setting.variable(variable))))
            case Open(quantity, shift):
                return ("the meaning of ", _math(self.notation.quantity(quantity, f"t{shift:+d}" if shift else "t")))
            case Instance(step, points):
                shown = [f"{point} = {self.notation.term(value)}" for point, value in points]
                return (*self._reference(step), " at ", *_joined(map(_math, shown)))
            case Later(step, by):
                return (*self._reference(step), f" {by} step{'s' if by != 1 else ''} later")
        return (f"'{name}'",)


def _base(name: str) -> str:
    return name.partition(", ")[0].partition(".")[0].rstrip(" 0123456789")


def _title(base: str) -> str:
    return base[:1].upper() + base[1:].replace("_", " ")


def _place(phases: frozenset[str]) -> str:
    """The steps at which something holds, where these are not all."""
    if len(phases) == len(PHASES):
        return ""
    return _PHASES.get(phases) or "at steps of the kinds " + ", ".join(sorted(phases))


def _joined(items: Iterable[Piece]) -> Text:
    """With commas, and `and` before the last one."""
    return _joined_text((item,) for item in items)


def _joined_text(items: Iterable[Text]) -> Text:
    rows = list(items)
    found: list[Piece] = []
    for place, row in enumerate(rows):
        found += [*([" and " if place == len(rows) - 1 else ", "] if place else []), *row]
    return tuple(found)


__all__ = ["Block", "Display", "Document", "Heading", "Listing", "Paragraph", "Piece", "document"]
