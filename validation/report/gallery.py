"""docs/gallery: one page per figure, with the command that makes it; `python -m fedco.validation.report.gallery docs` writes it.

A page is written for every sweep and for every case of a certified counterexample. The figures lie beside the pages; they are drawn from
measurements that are kept in the cache folder, so a second run costs nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...figures import save
from ...storage import write_text
from ..runs.declaration import Counterexample
from ..runs.registry import counterexamples, sweeps
from ..runs.sweep import Sweep
from ..runs.sweeps import run_sweep, sweep_figure

FOLDER = "gallery"


@dataclass(frozen=True)
class Page:
    """A page of the gallery: `name`.md, its figure `name`.svg and the numbers behind it, `name`.data.csv."""

    name: str
    title: str
    command: str
    text: str
    draw: Callable[[Path, Path | None], str]

    def markdown(self) -> str:
        shown = f"![{self.title}]({self.name}.svg)\n\n[The numbers]({self.name}.data.csv)."
        return f"# {self.title}\n\n{shown} {self.text}\n\n    {self.command}\n"


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
    for theorem, shown in counterexamples().items():
        for case in shown.cases:

            def draw(target: Path, cache: Path | None, shown: Counterexample = shown, case: str = case) -> str:
                save(shown.figure(case), target)
                return f"{shown.title}, case {case}"

            command = f"fedco counterexample {theorem} --case {case} --out ."
            yield Page(f"{theorem}_case_{case}", f"{shown.title}, case {case}", command, shown.caption, draw)


def write(docs: Path, *, cache: Path | None = None) -> list[Path]:
    """Draw every figure, and write its page and the index."""
    folder = docs / FOLDER
    written, listed = [], []
    for page in pages():
        target = folder / f"{page.name}.svg"
        print(page.draw(target, cache), file=sys.stderr, flush=True)
        path = folder / f"{page.name}.md"
        write_text(path, page.markdown())
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
