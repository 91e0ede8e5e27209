"""Pages to look at: fedco report | explore"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .command import Answer, Texts, command, note


@command(trust=True, computes=True)
def report(
    out: Path = Path("report"),
    quick: bool = False,
    jobs: int | None = None,
    scheduler: str | None = None,
    opened: bool = False,
) -> Answer:
    """Write the report, one self-contained HTML page: theorems, constants, verdicts, rates, counterexamples, the audit, runs."""
    from ..validation.report.page import write_report

    return _page(write_report(out, quick=quick, jobs=jobs, scheduler=scheduler), opened)


@command(trust=True)
def explore(
    names: Texts = None, out: Path = Path("explore.html"), measured: Path | None = None, opened: bool = False
) -> Answer:
    """Write one offline HTML page on which the constants of a theorem can be moved and its bound follows.

    The page has sliders for every constant and hyperparameter. It draws the bound and its terms over any of them, and shows how far
    each condition is from failing, the admissible interval of each hyperparameter and the admissible set of two, elasticities, the
    printed statement beside the corrected one, and several theorems on the same constants. It needs no server and no network.

    Examples: fedco explore --out explore.html --open; fedco explore my_bound.toml feddro.theorem_5_1
    """
    from ..validation.explorer.page import write_explorer

    return _page(write_explorer(out, names or (), measured=measured, say=note), opened)


def _page(made: Any, opened: bool) -> Answer:
    """What was written, shown in the browser where that is asked for."""
    if opened:
        import webbrowser

        if not webbrowser.open(made.page.resolve().as_uri()):
            note(f"no browser found: open {made.page} by hand")
    return Answer(made.to_dict(), made)
