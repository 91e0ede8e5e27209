"""What `fedco practice` answers: a row for each step size, the best of theory and of the grid, and the products between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ...bounds.language.rendering import titled
from ...bounds.language.result import AbstractResult, Cell, Sheet, Table, finite, shown
from ...bounds.language.theorem import Theorem
from ...errors import InputError
from ...figures import Axis, Curve, Panel, Plot, mathtext, panel_plot
from ...storage import make_folder, write_json, write_text
from ..experiments.table import csv_text

if TYPE_CHECKING:
    from .explain import ConstantLine, Explanation
    from .relax import ConditionLine
    from .steps import GainLine, Heuristic


@dataclass(frozen=True)
class Row:
    """One step size.

    Args:
        step: its value. times: it over theory's. rounds: in which models are shared.
        bound_text: why there is no bound; empty where there is one.
        mean: of the measured metric over the seeds; None where a seed diverged, or where nothing was run.
        low, high: ends of its 95% t-interval; None with one seed.
        diverged: how many seeds diverged. seeds: how many were run; fewer where successive halving dropped the step size.
        bound: of the theorem; None where a condition fails. formula: the same without the conditions, where it promises nothing.
        objective: at the averaged model after the last step, the mean over the seeds.
    """

    step: float
    times: float
    rounds: int
    bound_text: str
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    diverged: int = 0
    bound: float | None = None
    formula: float | None = None
    seeds: int = 0
    objective: float | None = None

    @property
    def measured(self) -> float | str:
        """The mean, or why there is none."""
        if self.mean is not None:
            return self.mean
        return f"diverged ({self.diverged} seeds)" if self.diverged else "not run"


_Entry: TypeAlias = tuple[tuple[Cell, ...], str]
"""The row of a table, and the line of text that says the same; without a line where the heading says it."""


@dataclass(frozen=True)
class _Listed:
    """A list of the answer: a table, and lines of text below a heading."""

    name: str
    heads: tuple[str, ...]
    heading: str
    entries: tuple[_Entry, ...]

    @property
    def table(self) -> Table:
        return Table(self.name, self.heads, tuple(row for row, _ in self.entries))

    @property
    def lines(self) -> list[str]:
        return [self.heading, *(f"  {line}" for _, line in self.entries if line)]


@dataclass(frozen=True, repr=False)
class Practice(AbstractResult):
    """A theorem's step size beside a grid, on one problem.

    Args:
        steps: local steps of every run. step: the symbol that the grid varies. settings: the other hyperparameters, theory's.
        rows: by rising step size; theory's has `times` 1.
        explanation: of bound / measured at theory's step size; None where that cannot be computed.
        gains: the path from theory's step size to the best one; the product of its factors is `gain`.
        conditions: how far each could be relaxed. heuristics: other step sizes that the theorem gives.
        budget, runs: runs (one seed at one step size) that the grid was allowed, and that were made in all.
        start_objective: of the problem, before any step.
    """

    theorem: Theorem
    statement: str
    problem: str
    steps: int
    seeds: int
    root_seed: int
    step: str
    settings: Mapping[str, float]
    rows: tuple[Row, ...]
    explanation: Explanation | None
    notes: tuple[str, ...] = ()
    gains: tuple[GainLine, ...] = ()
    conditions: tuple[ConditionLine, ...] = ()
    heuristics: tuple[Heuristic, ...] = ()
    budget: int = 0
    grid_runs: int = 0
    runs: int = 0
    start_objective: float | None = None

    @property
    def theory(self) -> Row:
        """The row of the hyperparameters that make the bound least."""
        return next(row for row in self.rows if row.times == 1)

    @property
    def best(self) -> Row | None:
        """The row with the least measured mean, of those that have all seeds; None where every row diverged."""
        full = (row for row in self.rows if row.mean is not None and row.seeds == self.seeds)
        return min(full, key=lambda row: row.mean, default=None)  # type: ignore[arg-type,return-value]

    @property
    def best_objective(self) -> Row | None:
        """The row that ends with the least objective, whatever its metric."""
        known = (row for row in self.rows if row.objective is not None)
        return min(known, key=lambda row: row.objective, default=None)  # type: ignore[arg-type,return-value]

    @property
    def gain(self) -> float | None:
        """Measured at theory's step size / measured at the best of the grid; None where one of them is missing or 0."""
        theory, best = self.theory.mean, self.best and self.best.mean
        return theory / best if theory is not None and best else None

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which constant to measure better, which assumption is to blame, and which term a better theorem should attack."""
        if self.explanation is None:
            return ()
        return (
            _constant_sentence(self.explanation),
            _assumption_sentence(self.explanation, self.gains, self.theorem),
            _term_sentence(self.explanation),
        )

    def to_dict(self) -> dict[str, Any]:
        own = {item.name: getattr(self, item.name) for item in fields(self)}
        lined = ("rows", "gains", "conditions", "heuristics")
        return {
            **own,
            **{name: [asdict(line) for line in own[name]] for name in lined},
            "theorem": self.theorem.id,
            "metric": self.theorem.metric.name,
            "settings": dict(self.settings),
            "theory": self.theory.step,
            "best": self.best and self.best.step,
            "best_objective": self.best_objective and self.best_objective.step,
            "gain": self.gain,
            "explanation": self.explanation and asdict(self.explanation),
            "sentences": list(self.sentences),
            "notes": list(self.notes),
        }

    def sheet(self) -> Sheet:
        tables = [self._grid(), *(each.table for each in self._lists())]
        return Sheet(self._title(), None, tuple(tables), (*self.sentences, *self.notes, *self._said()))

    def _grid(self) -> Table:
        rows = tuple(
            (r.step, r.times, r.rounds, r.seeds, r.measured, r.low, r.high, r.bound_text or r.bound, r.objective)
            for r in self.rows
        )
        heads = (self.step, "times theory", "rounds", "seeds", "measured", "low", "high", "bound", "objective")
        return Table("grid", heads, rows)

    def _lists(self) -> Iterator[_Listed]:
        """The lists of the answer after the grid; an empty one is left out."""
        if (found := self.explanation) is not None:
            yield _Listed(
                "product",
                ("bound / measured", "in the bound", "along the run", "factor"),
                f"bound / measured at theory's step size: {found.factor:.4g} =",
                (*_product(found),),
            )
            yield _Listed(
                "terms",
                ("term", "in the bound", "along the run", "times measured", "observed", "slack"),
                "terms with constants along the run, over the measured metric; slack against what the run shows of them:",
                (*_terms(found),),
            )
        if self.gains:
            yield _Listed(
                "gain",
                ("put in or dropped", "name", self.step, "measured", "factor"),
                f"measured at theory's / at the best step size: {self.gain:.4g} =",
                (*self._path(),),
            )
        if self.conditions:
            yield _Listed(
                "conditions",
                ("condition", "relation", "at theory's", "relaxed to", "until"),
                "conditions, smaller side / larger side, and how far the grid relaxes them:",
                (*self._relaxed(),),
            )
        if self.heuristics:
            yield _Listed(
                "heuristics",
                ("heuristic", "pilot runs", self.step, "measured", "times the best", "within 3"),
                "heuristics, which no theorem stands behind:",
                (*self._rules(),),
            )

    def _path(self) -> Iterator[_Entry]:
        for line in self.gains:
            said = {
                "constant": f"{line.name} along the run",
                "condition": f"without the condition {line.name}",
                "terms": f"the form of the bound, whose term {line.name} grows most",
            }[line.kind]
            row = (line.kind, line.name, line.step, line.measured, line.factor)
            yield row, f"{line.factor:<10.4g} {said}: {self.step} = {line.step:.4g}"

    def _relaxed(self) -> Iterator[_Entry]:
        for line in self.conditions:
            at = "" if line.at_theory is None else f"{line.at_theory:.4g} at theory's"
            to = f", {line.relaxed:.4g} at {self.step} = {line.step:.4g}" if line.relaxed is not None else ""
            row = (line.name, line.relation, line.at_theory, line.relaxed, line.stopped)
            yield row, f"{line.name}: {at}{to}; {line.stopped}"

    def _rules(self) -> Iterator[_Entry]:
        for rule in self.heuristics:
            found = "diverged" if rule.measured is None else shown(rule.measured)
            over = "" if rule.over_best is None else f", {rule.over_best:.4g} times the best"
            pilots = len(rule.pilots)
            row = (rule.name, pilots, rule.step, rule.measured, rule.over_best, rule.within)
            yield row, f"{rule.name}: {self.step} = {rule.step:.4g} after {pilots} pilots, measured {found}{over}"

    def _title(self) -> str:
        others = "".join(f", {name} = {value:.6g}" for name, value in self.settings.items())
        return f"{self.theorem.id} ({self.statement}) on {self.problem}: {self.steps} steps, {self.seeds} seeds{others}"

    def _said(self) -> tuple[str, ...]:
        """Best in theory, best on the grid, and what stays as it is in the product."""
        best, theory = self.best, self.theory
        said = [f"least bound: {self.step} = {theory.step:.4g}, measured {_text(theory.measured)}"]
        if best is theory:
            said.append("least measured: the same step size; no other of the grid does better")
        elif best is not None:
            less = f", {self.gain:.4g} times less" if self.gain else ""
            said.append(
                f"least measured: {self.step} = {best.step:.4g}, {best.times:g} times theory's, measured {_text(best.measured)}{less}"
            )
        if any(row.diverged for row in self.rows):
            from .bench import DIVERGED

            where = ", ".join(f"{row.step:.4g}" for row in self.rows if row.diverged)
            said.append(
                f"diverged at {self.step} = {where}: the metric is not finite, "
                f"or more than {DIVERGED:g} times the squared gradient norm at the start"
            )
        if best is not None and best is self.rows[-1]:
            said.append("the largest step size of the grid is the best one: a wider grid may have a better one")
        if (lowest := self.best_objective) is not None and best is not None and lowest is not best:
            said.append(
                f"least objective at the end: {self.step} = {lowest.step:.4g}, {_number(lowest.objective)}; "
                f"{_number(best.objective)} where the metric is least, {_number(self.start_objective)} at the start"
            )
        if self.explanation is None:
            said.append("bound / measured cannot be computed at theory's step size")
        else:
            said += [f"{name} stays as it is: {why}" for name, why in self.explanation.kept.items()]
            said += [f"no links of a proof: {why}" for why in (self.explanation.no_links,) if why]
        return tuple(said)

    def __repr__(self) -> str:
        """Six lines: both best step sizes, and the sentences."""
        return "\n".join([self._title(), *(f"  {text}" for text in (*self._said()[:2], *self.sentences))])

    def __str__(self) -> str:
        lines = [self._title(), f"  metric {self.theorem.metric.name}; 95% t-interval of the mean over the seeds"]
        if self.budget:
            lines.append(
                f"  successive halving, seeds in common: {self.grid_runs} of {self.budget} runs for the grid, {self.runs} in all"
            )
        lines.append(
            f"  {self.step:>12} {'x theory':>10} {'rounds':>7} {'seeds':>5} {'objective':>10} {'measured':>18}  {'interval':<24} bound"
        )
        lines += [f"  {_line(row)}" for row in self.rows]
        lines += [f"  {text}" for text in self._said()]
        lines += [f"  {line}" for each in self._lists() for line in each.lines]
        return "\n".join([*lines, *(f"  {text}" for text in (*self.notes, *self.sentences))])

    def plot(self) -> Plot:
        """Measured metric with its interval, and the bound, over the step size; theory's, the heuristics' and the best one marked.

        Raises:
            InputError: every run diverged.
        """
        rows = [row for row in self.rows if row.mean is not None]
        if not rows:
            raise InputError("plot: every run diverged; wanted a grid with smaller step sizes (--below)")
        means = [float(row.mean or 0) for row in rows]
        low = [mean if row.low is None else row.low for row, mean in zip(rows, means, strict=True)]
        high = [mean if row.high is None else row.high for row, mean in zip(rows, means, strict=True)]
        curves = [Curve("measured, 95% t-interval", [row.step for row in rows], means, low, high)]
        bounded = {row.step: row.bound for row in self.rows if row.bound is not None}
        if bounded:
            curves.append(Curve("bound, where its conditions hold", list(bounded), list(bounded.values()), theory=True))
        curves += self._marks()
        metric = self.theorem.metric
        where = ", ".join(f"{row.step:.3g}" for row in self.rows if row.diverged)
        panel = Panel(
            curves,
            Axis(f"step size {self.step}" + (f" (diverged at {where})" if where else ""), "1"),
            Axis(mathtext(metric.latex), str(metric.dimension)),
            x_log=True,
            y_log=min(means) > 0,
        )
        title = f"{titled(self.theorem.statement(self.statement))} on {self.problem}: {rows[0].rounds} rounds, {self.steps} steps"
        return panel_plot([panel], title=title)

    def _marks(self) -> Iterator[Curve]:
        theory, best = self.theory, self.best
        if theory.mean is not None:
            yield Curve(f"best in theory: {self.step} = {theory.step:.3g}", [theory.step], [theory.mean])
        if best is not None and best.mean is not None and best is not theory:
            less = f", {self.gain:.3g} times less" if self.gain else ""
            yield Curve(f"best on the grid: {self.step} = {best.step:.3g}{less}", [best.step], [best.mean])
        for rule in self.heuristics:
            if rule.measured is not None:
                yield Curve(f"heuristic, {rule.name}", [rule.step], [rule.measured])

    def write(self, folder: str | Path) -> Path:
        """`practice.png` and `practice.svg`, the grid as `table.csv`, and everything as `practice.json`.

        Raises:
            InputError: every run diverged.
        """
        place = make_folder(folder)
        figure = self.plot()
        for kind in ("png", "svg"):
            figure.save(place / f"practice.{kind}")
        heads = [item.name for item in fields(Row)]
        rows = [["" if (v := getattr(row, name)) is None else v for name in heads] for row in self.rows]
        write_text(place / "table.csv", csv_text(heads, rows))
        write_json(place / "practice.json", finite(self.to_dict()))
        return place


_REMAINS = "what remains, the quotient"
_TELLING = 1.005
"""The least factor of which a sentence speaks: a smaller one is printed as 1."""


def _product(found: Explanation) -> Iterator[_Entry]:
    """Bound over measured value as a product."""
    for line in found.constants:
        said = f"{line.symbol}: {line.worst:.4g} in the bound, {line.along:.4g} along the run"
        yield (line.symbol, line.worst, line.along, line.factor), f"{line.factor:<10.4g} {said}"
    for link in found.links:
        yield (link.name, None, link.bound, link.factor), f"{link.factor:<10.4g} {link.name}: {link.bound:.4g}"
    if not found.links:
        said = f"{_REMAINS}: the sum of the terms over the measured metric"
        yield (_REMAINS, None, None, found.remaining), f"{found.remaining:<10.4g} {said}"
    yield ("product", None, None, found.factor), ""


def _terms(found: Explanation) -> Iterator[_Entry]:
    for term in found.terms:
        slack = "" if term.slack is None else f"slack {term.slack:.4g}"
        row = (term.name, term.worst, term.value, term.times, term.counterpart, term.slack)
        yield row, f"{term.times:<10.4g} {term.name:<24} {slack}".rstrip()


def _constant_sentence(found: Explanation) -> str:
    """Which constant to measure better: the largest factor of the product."""
    line = max(found.constants, key=lambda line: line.factor, default=None)
    if line is None or line.factor < _TELLING:
        return "Constants: a better value of none makes this bound smaller by half a percent, as far as they are measured along the run."
    return (
        f"Measure {line.symbol} better: it is {line.worst:.4g} in the bound and {line.along:.4g} along the run, "
        f"which makes {line.factor:.4g} of the factor {found.factor:.4g}."
    )


def _assumption_sentence(found: Explanation, gains: tuple[GainLine, ...], theorem: Theorem) -> str:
    """Which assumption is to blame, as far as constants are measured: the one whose constants have the largest factor together; and the
    condition that costs most."""
    groups: dict[str, list[ConstantLine]] = {}
    for line in found.constants:
        for name in line.assumptions:
            groups.setdefault(name, []).append(line)
    factors = {name: prod(line.factor for line in lines) for name, lines in groups.items()}
    name = max(factors, key=lambda name: factors[name], default="")
    held = max((line for line in gains if line.kind == "condition"), key=lambda line: line.factor, default=None)
    costs = (
        ""
        if held is None or held.factor < _TELLING
        else f"; of the step size, the condition {held.name} costs a factor {held.factor:.4g}"
    )
    if not name or factors[name] < _TELLING:
        return f"Assumptions: none has a constant that makes this bound larger by half a percent, as far as they are measured{costs}."
    symbols = ", ".join(line.symbol for line in groups[name])
    text = next(item.text for item in theorem.assumptions if item.name == name)
    return f'The assumption to blame is "{name}" ({text}): its {symbols} for the whole space costs a factor {factors[name]:.4g}{costs}.'


def _term_sentence(found: Explanation) -> str:
    """What a better theorem should attack: the step of the proof with the largest factor, and the term with the most, with constants
    along the run, above what the run shows of it."""
    term = max(found.terms, key=lambda term: term.excess)
    link = max(found.links, key=lambda link: link.factor, default=None)
    slack = "" if term.slack is None else f", {term.slack:.4g} times what the run shows of it"
    step = (
        "" if link is None else f"the step {link.name} of the proof, which loses most, a factor {link.factor:.4g}, and "
    )
    return f"A better theorem should attack {step}the term {term.name}: it is {term.times:.4g} times the measured metric{slack}."


def _line(row: Row) -> str:
    """A row of the grid as text."""
    ends = "" if row.low is None or row.high is None else f"[{row.low:.4g}, {row.high:.4g}]"
    bound = row.bound_text if row.bound is None else f"{row.bound:.4g}"
    size = f"{row.step:>12.4g} {row.times:>10.4g} {row.rounds:>7} {row.seeds:>5}"
    return f"{size} {_number(row.objective):>10} {_text(row.measured):>18}  {ends:<24} {bound}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else shown(value)
