"""docs/practice.md: five problems with table and picture; `python -m fedco.validation.practice.gallery docs` writes it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...bounds.language.result import markdown_table, shown
from ...bounds.registry import get_theorem
from ...errors import InputError
from ...figures import save
from ...storage import make_folder, write_text
from ..runs.declaration import InPractice
from ..runs.fit import fitting_problems
from ..runs.registry import in_practice
from .answer import Practice
from .compare import practice
from .steps import WITHIN

FOLDER = "practice"
OTHERS_T, OTHERS_SEEDS = 100, 4
"""Horizon and number of seeds on the problems that have no section of their own."""
COMMAND = "python -m fedco.validation.practice.gallery docs"
_HEADS = (
    "problem",
    "theory's step",
    "best on the grid",
    "factor",
    "bound / measured",
    *(f"heuristic {k}" for k in (1, 2)),
)


@dataclass(frozen=True)
class Shown:
    """A problem of the page with what was found on it."""

    theorem: str
    case: InPractice
    answer: Practice

    @property
    def command(self) -> str:
        """What prints the same."""
        sets = "".join(f" --set {name}={value}" for name, value in self.case.settings.items())
        given = self.case.problem if isinstance(self.case.problem, str) else "MODEL"
        return f"fedco practice {self.theorem} --problem {given} --T {self.case.T}{sets}"


def answers() -> Iterator[Shown]:
    """What is found on every problem that a paper's runs declare."""
    return (answer(theorem, case) for theorem, cases in in_practice().items() for case in cases)


def answer(theorem: str, case: InPractice, short: bool = False) -> Shown:
    """What is found on one problem.

    Args:
        short: a few steps, seeds and step sizes only.
    """
    given = case.problem if isinstance(case.problem, str) else case.problem()
    few = {"seeds": 2, "above": 2} if short else {}
    T = case.few if short else case.T
    return Shown(theorem, case, practice(theorem, given, T=T, settings=case.settings, **few))  # type: ignore[arg-type]


def others() -> Iterator[Shown]:
    """The same theorems on every other registered problem that fits them: those of `answers` had a part in the choice of the heuristics."""
    for theorem, cases in in_practice().items():
        shown_already = {case.problem for case in cases}
        for name in fitting_problems(get_theorem(theorem), get_theorem(theorem).default):
            if name not in shown_already:
                case = InPractice(name, name, name, OTHERS_T)
                try:
                    yield Shown(theorem, case, practice(theorem, name, T=OTHERS_T, seeds=OTHERS_SEEDS))
                except InputError as error:
                    print(f"{theorem} on {name}: {error}", file=sys.stderr)


def page(found: list[Shown], rest: list[Shown]) -> str:
    """The page; a picture of each problem lies in `practice/`."""
    parts = [_INTRODUCTION, _table(found), _count(found), _READING, _OTHERS, _table(rest, linked=False), _count(rest)]
    return "\n\n".join([*parts, *(_section(each) for each in found)]) + "\n"


_INTRODUCTION = f"""# Theory beside practice

What a theorem says on a problem, beside what a grid of step sizes measures there, on five problems. `{COMMAND}`
makes this page and its pictures; every number on it is printed by that command."""
_READING = """*Factor* is the metric measured at theory's step size over that at the best one of the grid.
*Heuristic 1* is the step size at which the same bound is least with the typical constants of a pilot run (root mean squares along it);
the first pilot is at theory's step size, each further one at what the one before gives. *Heuristic 2* drops the conditions of the theorem
besides. Each stands with what it measures, over the best of the grid. No theorem stands behind a heuristic.

The grid is theory's step size times powers of 4, by successive halving, with seeds in common. Two products explain the two factors
and multiply out to the last digits. Bound / measured: constants, each as the largest value along the run, with its geometric mean over
all orders; then the steps of the paper's proof, where its lemmas can be observed. Theory's / best: the constants put in one after
the other, the conditions dropped, and the form of the bound. *Observed* is what the lemmas' own statistics show of a term. The metric is
a mean of squared gradients, which are small wherever the objective is flat, so that the table has the objective at the end, too."""


_OTHERS = f"""## Other problems

The root mean square was chosen in place of the largest value because it did better on the five problems above. So here are the same
theorems on every other registered problem that fits them, {OTHERS_T} steps and {OTHERS_SEEDS} seeds."""


def _table(found: list[Shown], linked: bool = True) -> str:
    rows = [[f"[{each.case.title}](#{each.case.name})" if linked else _where(each), *_row(each)] for each in found]
    return "\n".join(markdown_table(_HEADS, rows))


def _where(each: Shown) -> str:
    return f"{each.theorem} on {each.case.title}"


def _row(each: Shown) -> list[str]:
    found, best = each.answer, each.answer.best
    told = found.explanation
    cells = [
        f"{found.step} = {shown(found.theory.step)}",
        "diverged" if best is None else shown(best.step),
        "" if found.gain is None else f"{found.gain:.3g}",
        "" if told is None else f"{told.factor:.3g}",
    ]
    return [*cells, *("diverged" if rule.over_best is None else f"{rule.over_best:.3g}" for rule in found.heuristics)]


def _count(found: list[Shown]) -> str:
    counts = [sum(rules[k].within for rules in (each.answer.heuristics for each in found)) for k in (0, 1)]
    theory = sum(each.answer.gain is not None and each.answer.gain <= WITHIN for each in found)
    return (
        f"Within a factor {WITHIN:g} of the best on the grid: theory's step size on {theory} of {len(found)} problems, "
        f"heuristic 1 on {counts[0]}, heuristic 2 on {counts[1]}."
    )


def _section(each: Shown) -> str:
    head = f'<a id="{each.case.name}"></a>\n\n## {each.case.title}'
    picture = f"![{each.case.title}: measured metric and bound over the step size]({FOLDER}/{each.case.name}.svg)"
    return f"{head}\n\n`{each.command}` prints this.\n\n{picture}\n\n{each.answer.to_markdown()}"


def write(docs: Path, found: list[Shown], rest: list[Shown]) -> Path:
    """practice.md, and the pictures beside it in `practice/`."""
    folder = make_folder(docs / FOLDER)
    for each in found:
        save(each.answer.plot(), folder / f"{each.case.name}.svg")
    return write_text(docs / "practice.md", page(found, rest))


if __name__ == "__main__":
    (target,) = sys.argv[1:]
    print(write(Path(target), list(answers()), list(others())))
