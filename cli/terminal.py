"""How an answer looks to a person: plain text in a pipe, tables, colours and small bars on a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType

_BAR = 20
"""Characters of a full bar."""
_COLOURS = {"SUPPORTED": "green", "REFUTED": "red", "INCONCLUSIVE": "yellow", "NOT_APPLICABLE": "dim"}
_LINES = (
    ("NOT admissible", "bold red"),
    ("REFUTED", "bold red"),
    ("infeasible", "bold red"),
    ("admissible", "green"),
    ("assumed by", "yellow"),
    ("not used", "dim"),
    ("composed from", "yellow"),
    ("[breaks]", "bold red"),
    ("[constant]", "yellow"),
    ("[slip]", "yellow"),
    ("confirmed", "green"),
    ("NOT confirmed", "bold red"),
)


def is_terminal() -> bool:
    """Whether a person looks at stdout; NO_COLOR and a dumb terminal ask for plain text."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show(text: str, terms: dict[str, float] | None = None) -> None:
    """Print an answer; `terms` are the parts of a sum, of which each line `name = value` gets a bar of its share."""
    if not is_terminal():
        print(text)
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=True).print(styled(text, terms))


def styled(text: str, terms: dict[str, float] | None = None) -> RenderableType:
    """The same with colours, and the terms as a table with bars in place of their lines."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    total = sum(terms.values()) if terms else 0.0
    rows: list[Any] = []
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for number, line in enumerate(text.split("\n")):
        name = line.strip().partition(" = ")[0]
        if terms and name in terms and total > 0:
            if not table.rows:
                rows.append(table)
            share = terms[name] / total
            table.add_row(f"  {name}", line.partition(" = ")[2], Text(bar(share), "cyan"), f"{share:.1%}")
            continue
        rows.append(Text(line, "bold" if number == 0 else _style(line)))
    return Group(*rows)


def bar(share: float) -> str:
    """A bar of eighths of a character; anything above zero shows."""
    eighths = max(round(share * _BAR * 8), 1) if share > 0 else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def _style(line: str) -> str:
    plain = line.strip()
    if plain.split(" ")[0] in _COLOURS:
        return _COLOURS[plain.split(" ")[0]]
    return next((style for start, style in _LINES if plain.startswith(start)), "")
