"""The notebooks of docs/notebooks: run from top to bottom they give the outputs that are kept in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fedco
import nbformat
import pytest
from same_text import agree

FOLDER = Path(fedco.__file__).parent / "docs" / "notebooks"
NOTEBOOKS = {"tutorial": [], "is_this_theorem_right": [pytest.mark.slow], "my_model": [pytest.mark.slow]}

ESTIMATED = {"my_model": 1e-3}
"""An estimate, and what rests on it, ends in other digits on another processor (1e-5 of it was seen)."""


def cells(notebook: Any) -> Iterator[Any]:
    yield from (cell for cell in notebook.cells if cell.cell_type == "code")


def texts(cell: Any) -> list[str]:
    """What a cell prints and shows, as text; a figure's as its one line."""
    return [out.get("text") or out.get("data", {}).get("text/plain", "") for out in cell.outputs]


def test_these_are_all_the_notebooks():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_outputs_are_kept_and_none_is_an_error(name: str):
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    counts = [cell.execution_count for cell in cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    assert not [out for cell in cells(notebook) for out in cell.outputs if out.output_type == "error"]
    shown = {kind for cell in cells(notebook) for out in cell.outputs for kind in out.get("data", {})}
    assert {"text/html", "text/plain"} <= shown and ("image/svg+xml" in shown) == (name != "is_this_theorem_right")


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks) for name, marks in NOTEBOOKS.items()])
@pytest.mark.filterwarnings("default")
def test_a_run_gives_what_is_kept(name: str, tmp_path: Path):
    from nbclient import NotebookClient

    kept = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    again = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    for cell in cells(again):
        cell.outputs = []
    NotebookClient(again, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    compared = 0
    for before, now in zip(cells(kept), cells(again), strict=True):
        if "found.why" not in before.source:  # the sentences depend on how far a search of some seconds gets
            assert agree(texts(now), texts(before), ESTIMATED.get(name, 0)), (texts(now), before.source)
            compared += bool(texts(before))
    assert compared >= 8
