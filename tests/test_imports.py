"""Which module imports which, read from the source: no circle, imports inside functions included, and the rules of the rooms.

An import under `TYPE_CHECKING` is never run and does not count. The faces `fedco` and `fedco.bounds` name the modules of their
public names in a table, and load them when a name is used; a table of names is no import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import fedco
import pytest

ROOT = Path(fedco.__file__).parent
NO_ROOM = {"tests", "docs", "benchmarks", "examples", "build", "site"}
ROOMS = {
    "bounds": {"bounds", "algorithms.declared"},
    "algorithms": {"algorithms"},
    "synthetic": {
        "synthetic",
        *(f"bounds.language.{name}" for name in ("quantities", "quantity", "properties", "bounding")),
    },
    "validation": {"validation", "bounds", "algorithms", "synthetic"},
    "cli": {"cli", "bounds", "algorithms", "synthetic", "validation"},
}
"""Of each room, what it may import besides the modules that stand beside the rooms."""
FOREIGN = {"bounds": {"torch"}, "algorithms": {"sympy"}, "synthetic": {"sympy"}}


def modules(root: Path) -> dict[str, Path]:
    """Every module of the package, by its name without `fedco`; the package itself is the empty name."""
    files = (path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in NO_ROOM)
    names = ((path.relative_to(root).with_suffix("").parts, path) for path in files)
    return {
        ".".join(parts[:-1] if parts[-1] == "__init__" else parts): path for parts, path in names if parts[0][0] != "."
    }


def run_sometime(node: ast.AST) -> Iterator[ast.AST]:
    """The statements of a module, those inside functions too, but not those under `TYPE_CHECKING`."""
    yield node
    only_for_types = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    for part in node.orelse if only_for_types else ast.iter_child_nodes(node):
        if isinstance(part, ast.stmt | ast.excepthandler | ast.match_case):
            yield from run_sometime(part)


def imports(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """What a module imports: known modules by their name, others by their first part with a star before it."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    for node in run_sometime(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {f"*{alias.name.partition('.')[0]}" for alias in node.names}
        if isinstance(node, ast.ImportFrom) and not node.level:
            found.add(f"*{str(node.module).partition('.')[0]}")
        if isinstance(node, ast.ImportFrom) and node.level:
            above = package.split(".") if package else []
            parts = above[: len(above) - node.level + 1] + ([node.module] if node.module else [])
            for alias in node.names:
                inside = ".".join([*parts, alias.name])
                found.add(inside if inside in known else ".".join(parts))
    return found - {name}


@cache
def graph() -> dict[str, set[str]]:
    known = modules(ROOT)
    return {name: imports(name, path, known) for name, path in known.items()}


def circle(edges: dict[str, set[str]]) -> list[str]:
    """The modules of a circle, each importing the next; none where there is no circle."""
    try:
        TopologicalSorter({name: {other for other in to if other in edges} for name, to in edges.items()}).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_there_is_no_circle():
    edges = graph()
    assert len(edges) > 350 and "bounds.evaluation.evaluate" in edges["bounds.region.conditions"]
    assert circle(edges) == []


@pytest.mark.parametrize(
    "line", ["from ..region.admissible import admissible", "def f():\n    from .. import registry"]
)
def test_a_circle_is_found_also_inside_a_function(line, tmp_path):
    edges = dict(graph())
    written = tmp_path / "theorem.py"
    written.write_text((ROOT / "bounds" / "language" / "theorem.py").read_text() + f"\n\n{line}\n")
    edges["bounds.language.theorem"] = imports("bounds.language.theorem", written, modules(ROOT))
    found = circle(edges)
    assert "bounds.language.theorem" in found and found[0] == found[-1]
    assert all(after in edges[before] for before, after in pairwise(found))


def test_what_is_never_run_does_not_count(tmp_path):
    written = tmp_path / "single.py"
    written.write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .joint import Joint\n")
    assert imports("bounds.region.intervals", written, modules(ROOT)) == {"*typing"}


def test_one_variable_is_asked_without_several_and_both_without_their_answer():
    edges = graph()
    assert "bounds.region.joint" not in edges["bounds.region.intervals"]
    assert "bounds.region.admissible" not in edges["bounds.region.joint"] | edges["bounds.region.intervals"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_it_may(room):
    """The modules beside the rooms (files of the package's own folder) may be imported by all."""
    for name, found in graph().items():
        if name.partition(".")[0] != room:
            continue
        own = {other for other in found if (not other.startswith("*") and "." in other) or other in ROOMS}
        allowed = {o for o in own if any(o == each or o.startswith(f"{each}.") for each in ROOMS[room])}
        assert own == allowed, f"{name} imports {sorted(own - allowed)}"
        foreign = {other[1:] for other in found if other.startswith("*")}
        assert not foreign & FOREIGN.get(room, set()), name
