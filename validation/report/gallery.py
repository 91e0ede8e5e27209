"""docs/gallery: one page per figure, with the command that makes it; `python -m fedco.validation.report.gallery docs` writes it.

A page is written for every sweep and for the counterexample. The figures lie beside the pages; they are drawn from
measurements that are kept in the cache folder, so a second run costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...storage import write_text
from ..runs.registry import declared, sweeps
from ..runs.sweep import Sweep
from ..runs.sweeps import run_sweep, sweep_figure
from .plots import Plot, save

FOLDER = "gallery"
SHOWN = declared("in_full")
"""Theorems whose figures are kept in the repository; pages without a figure say how to make it."""


@dataclass(frozen=True)
class Page:
    """A page of the gallery: `name`.md, and `name`.svg when the figure is drawn."""

    name: str
    title: str
    command: str
    text: str
    draw: Callable[[Path, Path | None], str]

    def markdown(self, has_figure: bool) -> str:
        shown = f"\n![{self.title}]({self.name}.svg)\n" if has_figure else ""
        return f"# {self.title}\n{shown}\n{self.text}\n\n    {self.command}\n"


def pages() -> list[Page]:
    """Every page, in the order of the index."""
    return [*(_sweep_page(sweep) for found in sweeps().values() for sweep in found), *_counterexample_pages()]


def _sweep_page(sweep: Sweep) -> Page:
    name = f"{sweep.theorem}_{sweep.over}"
    claimed = "" if sweep.claimed is None else f" The paper's exponent is {sweep.claimed:.3g}."
    text = (
        f"Measured mean of the theorem's statistic over `{sweep.over}` ({len(sweep.points)} points, each a run of its own), "
        f"with the bound and its largest terms. Instance: {sweep.why}.{claimed} The legend holds the measured log-log slope "
        "with its 95% interval and the bound's own slope over the same points."
    )

    def draw(target: Path, cache: Path | None) -> str:
        found = run_sweep(sweep, cache=cache)
        save(sweep_figure(found), target)
        return str(found)

    command = f"fedco plot {sweep.theorem} --sweep {sweep.over} --out {name}.svg"
    return Page(name, f"{sweep.theorem} over {sweep.over}", command, text, draw)


def _counterexample_pages() -> Iterator[Page]:
    for case in ("I", "II"):
        name = f"counterexample_case_{case}"
        text = (
            "xbar at each communication of vanilla FedAvg for several step sizes, with certified limit points, and the two "
            "methods that do reach the stationary point 0 (dashed)."
        )

        def draw(target: Path, cache: Path | None, case: str = case) -> str:
            from ..counterexample import figure
            from .companions import converging

            drawn = figure(case, converging())
            save(Plot(drawn.figure, f"case {case}", drawn.data), target)
            return f"counterexample, case {case}"

        command = f"fedco counterexample feddro.theorem_4_1 --case {case} --out ."
        yield Page(name, f"Vanilla FedAvg does not converge, case {case}", command, text, draw)


def write(docs: Path, *, cache: Path | None = None, shown: tuple[str, ...] = SHOWN) -> list[Path]:
    """Write every page and the index; draw the figures of the theorems in `shown` and of the counterexample."""
    folder = docs / FOLDER
    written, listed = [], []
    for page in pages():
        target = folder / f"{page.name}.svg"
        if page.name.startswith(("counterexample", *(f"{name}_" for name in shown))):
            print(page.draw(target, cache), file=sys.stderr, flush=True)
        path = folder / f"{page.name}.md"
        write_text(path, page.markdown(target.exists()))
        written.append(path)
        listed.append(f"- [{page.title}]({path.name})")
    index = folder / "index.md"
    write_text(index, INDEX + "\n".join(listed) + "\n")
    return [*written, index]


INDEX = """# Gallery
One page per figure, with the command that makes it. Written by `python -m fedco.validation.report.gallery docs [CACHE]`; the report
(`fedco report`) shows all of them with the data behind each.

"""

if __name__ == "__main__":
    write(Path(sys.argv[1]), cache=Path(sys.argv[2]) if len(sys.argv) > 2 else None)
