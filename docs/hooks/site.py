"""What `make site` makes beside the Markdown files: the navigation, the explorer on the start page, the notebooks as pages, and
formulas as MathML.

mkdocs calls the functions `on_…` of this file (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

import html
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fedco
from fedco.bounds.language.typesetting import mathml
from fedco.bounds.registry import all_papers
from fedco.validation.explorer.page import write_explorer
from fedco.validation.report.pages import theorem_pages
from fedco.validation.runs.refutations import kept
from mkdocs.structure.files import File
from nbconvert import MarkdownExporter

DISPLAYED = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
BARE_LETTER = re.compile(r"\\mathbb +([A-Za-z])")
WIDE = re.compile(r'<(div class="fedco"|div(?=>\s*<style scoped)|p(?=><math [^>]*display="block"))')
"""Outputs of notebooks that scroll sideways."""
EXPLORER = "explore.html"
TOUR = "tour.md"
EXPERIMENTS = "reproduced/index.md"
PUBLIC = "<!-- every public name -->"


def on_config(config: Any) -> Any:
    """The navigation: what a reader looks for first stands first; no page is left out, and a new one finds its place."""
    docs = Path(config.docs_dir)
    config.nav = [
        {"Start": "index.md"},
        {"Tour": TOUR},
        {"Notebooks": [page(docs, path.with_suffix(".md")) for path in notebooks(docs)]},
        {"How to": [{title(path): page(docs, path)} for path in sorted((docs / "howto").glob("*.md"))]},
        {"Theorems": ["theorems/index.md", *theorems()]},
        {"Derivations": [{title(path): page(docs, path)} for path in sorted((docs / "theory").glob("*.md"))]},
        {"Audit": "audit.md"},
        {"Practice": "practice.md"},
        *([{"Experiments": EXPERIMENTS}] if (docs / EXPERIMENTS).exists() else []),
        {"Glossary": "glossary.md"},
        {"Reference": [{title(path): page(docs, path)} for path in sorted((docs / "reference").glob("*.md"))]},
        {"Inside": [{title(path): page(docs, path)} for path in sorted(docs.glob("*.md")) if path.stem not in PLACED]},
    ]
    return config


PLACED = ("index", "audit", "practice", "glossary")
"""Pages with a place of their own; every other page of docs/ stands under the last heading."""


def title(path: Path) -> str:
    """The first heading of a page."""
    first = next(line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# "))
    return first.removeprefix("# ").strip()


def page(docs: Path, path: Path) -> str:
    return path.relative_to(docs).as_posix()


def theorems() -> list[dict[str, Any]]:
    """One group for each paper, its statements in the order in which it declares them."""
    return [
        {paper.key: [{name.partition(".")[2]: f"theorems/{name}.md"} for name in paper.theorems]}
        for paper in all_papers()
        if paper.theorems
    ]


def notebooks(docs: Path) -> list[Path]:
    """The notebooks, the tutorial first."""
    return sorted((docs / "notebooks").glob("*.ipynb"), key=lambda path: (path.stem != "tutorial", path.stem))


def on_files(files: Any, config: Any) -> Any:
    """A page for each theorem, the refutations, the explorer with the main theorems, the README, whose commands a test runs, as a tour,
    and the notebooks."""
    files.append(File.generated(config, TOUR, content=tour(Path(config.docs_dir))))
    for name, content in theorem_pages().items():
        files.append(File.generated(config, f"theorems/{name}", content=content))
    for name, path in kept().items():
        files.append(File.generated(config, f"refutations/{name}.json", abs_src_path=str(path)))
    for path in notebooks(Path(config.docs_dir)):
        for name, content in notebook_files(path):
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / EXPLORER
        write_explorer(made)
        files.append(File.generated(config, EXPLORER, content=made.read_text(encoding="utf-8")))
    return files


def tour(docs: Path) -> str:
    """The README as a page, its links into docs/ as links between pages; a notebook is a page here."""
    text = (docs.parent / "README.md").read_text(encoding="utf-8").replace("](docs/", "](").replace(".ipynb)", ".md)")
    return text.replace("# fedco\n", "# A tour\n", 1)


def notebook_files(path: Path) -> Iterator[tuple[str, str | bytes]]:
    """A notebook with its kept outputs as a page, and the figures on it."""
    text, resources = MarkdownExporter().from_filename(
        str(path), {"unique_key": path.stem, "output_files_dir": path.stem}
    )
    yield from resources["outputs"].items()
    heading, _, rest = text.partition("\n")
    note = f"[The notebook]({path.name}). A test runs it from top to bottom and compares every output with those shown here."
    yield (
        f"{path.stem}.md",
        f"{heading}\n\n{note}\n{rest}".replace("![svg](", "![The figure that the cell above draws]("),
    )


def on_page_markdown(text: str, **_: Any) -> str:
    """The public names of the package with their docstrings."""
    return text.replace(PUBLIC, "\n".join(map(documented, public_names())))


def public_names() -> list[str]:
    """What `import fedco` offers, where each is defined, in alphabetical order."""
    homes = {name: place for name, place in fedco.HOMES.items() if name in fedco.__all__}
    return [f"fedco.{module}.{attribute}" for module, attribute in (homes[name] for name in sorted(homes))]


def documented(name: str) -> str:
    return f"::: {name}\n"


def on_page_content(text: str, **_: Any) -> str:
    """Formulas as MathML; one that cannot be set stops the build. What may be too wide for a page is scrolled with the keyboard, too."""
    text = WIDE.sub(r'<\1 tabindex="0"', text)
    text = DISPLAYED.sub(
        lambda match: f'<div class="formula" tabindex="0">{formula(match[1], display=True)}</div>', text
    )
    return INLINE.sub(lambda match: formula(match[1], display=False), text)


def on_post_page(text: str, **_: Any) -> str:
    """The theme's search is a dialog, which needs a name for a screen reader."""
    return text.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def formula(latex: str, *, display: bool) -> str:
    """A `<math>` element. The converter wants braces after `\\mathbb` and knows `align*`, not `aligned`.

    Raises:
        ValueError: a sign of alignment is left in the formula.
    """
    text = BARE_LETTER.sub(r"\\mathbb{\1}", html.unescape(latex)).replace("{aligned}", "{align*}")
    made = mathml(text, display=display).replace(">|</mo>", ' lspace="0" rspace="0">|</mo>')
    if "&amp;</m" in made:
        raise ValueError(f"not set: {latex[:80]}")
    return made
