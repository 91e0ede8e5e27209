"""The findings of a reader, from the `findings.toml` of a paper; the functions that check them stand in `checks.py` beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..language.reading import InputError
from ..language.toml_file import read_toml
from .findings import Again, Finding, Withdrawn

FILE = "findings.toml"
TABLES = {"findings": Finding, "again": Again, "withdrawn": Withdrawn}


def read_findings(module: Mapping[str, Any]) -> tuple[tuple[Finding, ...], tuple[Again | Withdrawn, ...]]:
    """The findings in their order, and what was seen again elsewhere or did not stand when it was read again.

    A row of `findings` has the words of `Finding`; `check` is the name of a function of the module, without it the id behind the key.

    Args:
        module: `vars()` of the `checks.py` that calls this.

    Raises:
        InputError: the file cannot be read, has another table, or a row has a word too many or too few, or no check.
    """
    file = Path(module["__file__"]).with_name(FILE)
    tables = read_toml(file)
    if unknown := tables.keys() - TABLES.keys():
        raise InputError(f"{file}: wanted the tables {', '.join(TABLES)}, got {sorted(unknown)[0][:40]!r}")
    for table, rows in tables.items():
        if not (isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows)):
            raise InputError(f"{file}: wanted [[{table}]], one table for each row")
    made = {table: tuple(_row(file, table, row, module) for row in tables.get(table, ())) for table in TABLES}
    return made["findings"], (*made["again"], *made["withdrawn"])


def _row(file: Path, table: str, row: Mapping[str, Any], module: Mapping[str, Any]) -> Any:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    if table == "findings":
        name = str(values.get("check", str(values.get("id")).rpartition(".")[2]))
        if not callable(check := module.get(name)):
            raise InputError(
                f"{file}: {values.get('id')}: wanted the name of a function of checks.py, got {name[:40]!r}"
            )
        values["check"] = check
    try:
        return TABLES[table](**values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{file}: [[{table}]] {values.get('id', '')}: {error}") from None
