"""The registered problems with their certified constants, kept beside this module: read back at once while the source is the same.

`python -m fedco.validation.runs.problem_list` makes the file. Reading it needs neither torch nor a problem; when a problem's
source has changed, the list is made anew and not kept. Which theorems fit is computed from their declarations every time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from ...algorithms.engine.fingerprint import source_fingerprint
from ...storage import DamagedError, read_json, write_json

FILE = Path(__file__).with_name("problems.json")
FORMAT = "fedco-problems/1"
MADE_FROM = ("synthetic", "bounds/language/quantity.py", "bounds/language/quantities.py")


@dataclass(frozen=True)
class Listed:
    """A registered problem at the parameters of its preset.

    `certificates`: quantity -> value, kind, argument, domain and witness. `parameters`: those that a text can name.
    """

    name: str
    kind: str
    summary: str
    clients: int
    dim: int
    inner_dim: int
    properties: tuple[str, ...]
    parameters: Mapping[str, Any]
    certificates: Mapping[str, Mapping[str, Any]]


@cache
def listed() -> tuple[Listed, ...]:
    """Every registered problem: as kept, or made now where nothing is kept, or something else."""
    try:
        kept = read_json(FILE, FORMAT)
    except (OSError, DamagedError):
        return made()
    if kept["made_from"] != source_fingerprint(MADE_FROM):
        return made()
    return tuple(Listed(**{**row, "properties": tuple(row["properties"])}) for row in kept["problems"])


def made() -> tuple[Listed, ...]:
    """Every registered problem, its constants computed now."""
    from ...synthetic import PRESETS, problem

    return tuple(_of(problem(name), preset) for name, preset in PRESETS.items())


def _of(problem: Any, preset: Any) -> Listed:
    return Listed(
        name=problem.name,
        kind=problem.kind,
        summary=preset.summary,
        clients=problem.clients,
        dim=problem.dim,
        inner_dim=problem.inner_dim,
        properties=tuple(sorted(problem.properties)),
        parameters={k: v for k, v in preset.all_parameters.items() if isinstance(v, (bool, int, float, str))},
        certificates={
            quantity: {
                "value": float(c.value),
                "kind": c.kind,
                "argument": c.argument,
                "domain": c.domain,
                "witness": c.witness,
            }
            for quantity, c in problem.certificates.items()
        },
    )


def write() -> Path:
    """Compute every constant and keep the list."""
    rows = [{each.name: getattr(item, each.name) for each in fields(Listed)} for item in made()]
    return write_json(FILE, {"format": FORMAT, "made_from": source_fingerprint(MADE_FROM), "problems": rows})


if __name__ == "__main__":
    print(write())
