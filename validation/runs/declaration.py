"""What a paper declares of its runs: one object, read by everything that runs, measures or draws one of its theorems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...figures import Plot
from ..lemmas.link import LemmaChain
from .recipe import Instance, Recipe


@dataclass(frozen=True)
class Sweep:
    """A symbol of a theorem and the points along it.

    Args:
        over: a symbol of the statement.
        label: which statement.
        points: (instance, T) each.
        claimed: the exponent that the paper names for this symbol, None where it names none.
        why: what the base instance is and what is kept fixed.
    """

    theorem: str
    label: str
    over: str
    points: tuple[tuple[Instance, int], ...]
    why: str
    claimed: float | None = None

    @property
    def name(self) -> str:
        return f"{self.theorem} over {self.over}"


@dataclass(frozen=True)
class Probe:
    """An instance on which something must not be called SUPPORTED."""

    theorem: str
    instance: Instance


@dataclass(frozen=True)
class Counterexample:
    """A paper's own counterexample, certified case by case.

    Args:
        title: what it shows, as a heading.
        about: the instance and what is certified of it, for the report.
        cases: their labels, as the command line takes them.
        summary: case -> everything certified about it, ready for JSON.
        text: a summary -> the lines that the command prints.
        row: a summary -> the cells of its row in the report, by heading; the verdict's heading is `certificate`.
        figure: case -> the figure with its data.
        caption: what every figure shows, for the report.
        scene: case -> what the report draws and lets a reader play, as plain data: `landscape` (`x`, `y`, `label`),
            `paths` (each `name`, `values` by round, `converges`, and `limit` where one is certified), `floor` and `target`
            (each `at` and `text`), `round` and `variable`, the words on the axes, and `story`, what happens in a
            sentence. None where there is nothing to play.
    """

    title: str
    about: str
    cases: tuple[str, ...]
    summary: Callable[[str], Mapping[str, Any]]
    text: Callable[[Mapping[str, Any]], str]
    row: Callable[[Mapping[str, Any]], Mapping[str, str]]
    figure: Callable[[str], Plot]
    caption: str
    scene: Callable[[str], Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class InPractice:
    """A problem on which a theorem's step size is compared with a grid, for docs/practice.md.

    Args:
        name: of its files. title: what it is, as a heading.
        problem: a registered name, or a function that builds it. T: horizon, as the theorem counts it.
        settings: hyperparameters that stay, by the theorem's symbols. few: a horizon that takes a second or two.
    """

    name: str
    title: str
    problem: str | Callable[[], Any]
    T: int
    settings: Mapping[str, int] = field(default_factory=dict)
    few: int = 20


@dataclass(frozen=True)
class Runs:
    """How the theorems of a paper are run; every mapping is by theorem id.

    Args:
        recipes: how a statement is validated.
        instances: on what a theorem is validated that says all else itself: its method, its metric and over what that averages.
        chains: the lemmas of its proof in their order, with the statistics that they name.
        sweeps: one line per symbol along which the statistic and the bound are compared.
        complexities: the schedule along which the costs of reaching a target are measured.
        without: why a statement cannot be compared with a run. Lemmas are not listed: they are measured with the chain
            of their theorem.
        counterexamples: the paper's own counterexamples, certified.
        in_full: theorems that a short report treats in full.
        sweeps_in_short: theorems whose sweeps a short report measures.
        outside: controls with a step far outside the region.
        codes: theorem id, or `ID CASE` where there are several derivations -> the method's code, in each of its variants, as it
            stands beside the update equations that `fedco prove` takes (`proofs.code.Code`, `proofs.loops.LoopCode`).
        practice: the problems of docs/practice.md.
        understated: controls on a problem whose objective gap is then declared too small.
    """

    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    chains: Mapping[str, LemmaChain] = field(default_factory=dict)
    sweeps: Mapping[str, tuple[Sweep, ...]] = field(default_factory=dict)
    complexities: Mapping[str, Sweep] = field(default_factory=dict)
    without: Mapping[str, str] = field(default_factory=dict)
    counterexamples: Mapping[str, Counterexample] = field(default_factory=dict)
    in_full: tuple[str, ...] = ()
    sweeps_in_short: tuple[str, ...] = ()
    outside: tuple[Probe, ...] = ()
    understated: tuple[Probe, ...] = ()
    codes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    instances: Mapping[str, tuple[Instance, ...]] = field(default_factory=dict)
    practice: Mapping[str, tuple[InPractice, ...]] = field(default_factory=dict)


def counts_rounds(schedule: str) -> str:
    """Why a statement about rounds and samples has no recipe; `schedule` is the statement whose sweeps measure them."""
    return f"it counts rounds and bounds no statistic of a run; the exponents are measured along {schedule} in `fedco report`"
