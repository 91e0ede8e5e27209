"""How an answer looks to a person: plain text in a pipe; tables, colours and small bars on a terminal.

What is shown on a terminal is the answer's own `Sheet`, the one that LaTeX, Markdown and HTML are made of.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..bounds.language.result import CONSTANTS, NUMBER, Cell, Math, Sheet, Table, is_long, is_numeric, shown

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_BAR = 20
"""Width of a full bar, in characters."""
_GAP = 2
"""Characters between two columns; the last one belongs to the box."""
_READABLE = 24
"""Least width of a column whose text wraps."""
_WORDS = {
    "SUPPORTED": "green",
    "REFUTED": "bold red",
    "INCONCLUSIVE": "yellow",
    "NOT_APPLICABLE": "dim",
    "SURVIVED": "green",
    "refuted": "bold red",
    "breaks": "bold red",
    "constant": "yellow",
    "slip": "cyan",
    "yes": "green",
    "no": "bold red",
}
"""Colour of a cell that is one of these words; each says by itself what its colour says."""
_LINES = (
    ("NOT admissible", "bold red"),
    ("infeasible", "bold red"),
    ("no admissible value", "bold red"),
    ("outside the conditions", "bold red"),
    ("admissible", "green"),
    ("assumed", "yellow"),
    ("not used", "dim"),
    ("composed from", "yellow"),
    ("NOT confirmed", "bold red"),
    ("confirmed", "green"),
)


def is_terminal() -> bool:
    """Whether a person looks at stdout; NO_COLOR, a dumb terminal and one without these characters ask for plain text."""
    asked_not = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not asked_not and (sys.stdout.encoding or "").lower().startswith("utf")


def show(text: str) -> None:
    """Print an answer that has no sheet."""
    if not is_terminal():
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for number, line in enumerate(text.split("\n")):
        console.print(Text(line, "bold" if number == 0 else _style(line)), soft_wrap=True)


def show_sheets(sheets: Iterable[Sheet], console: Console | None = None) -> None:
    """Print sheets on a terminal: title, formula, tables, and last what has to be known of them."""
    from rich.console import Console
    from rich.text import Text

    console = console or Console(highlight=False)
    for number, sheet in enumerate(sheets):
        if number:
            console.print()
        console.print(Text(sheet.title, "bold"), soft_wrap=True)
        if sheet.claim:
            console.print(Text(_readable(sheet.claim.text)), soft_wrap=True)
        for table in sheet.tables:
            if table.rows and table.name != CONSTANTS:
                console.print()
                for part in drawn(table.without_empty_columns(), console.width):
                    console.print(part)
        if sheet.notes:
            console.print()
        for note in sheet.notes:
            console.print(Text(note, _style(note)), soft_wrap=True)


def drawn(table: Table, width: int) -> Iterator[RenderableType]:
    """A table that fits: as it is, or with one column that wraps, or without columns that say the same in every row, or, where
    that is not enough, one paragraph for each row."""
    texts = [[_text(cell) for cell in row] for row in table.rows]
    places = list(range(len(table.columns)))
    same = [place for place in places if len(texts) > 1 and len({row[place] for row in texts}) == 1]
    rest = [place for place in places if place not in same]
    if _fits(table, texts, places, width):
        yield _grid(table, texts, places, width)
    elif _fits(table, texts, rest, width):
        yield from (_line(f"{_head(table.columns[place])}: ", texts[0][place]) for place in same)
        yield _grid(table, texts, rest, width)
    else:
        for number, row in enumerate(texts):
            yield from _paragraph(table, row, table.bars[number] if table.bars else None)


def _fits(table: Table, texts: list[list[str]], places: list[int], width: int) -> bool:
    """Whether the columns fit beside each other when the widest wraps; two columns of sentences are never a table."""
    widths = _widths(table, texts, places)
    long = [place for place in places if is_long(tuple(row[place] for row in texts))]
    if not widths or len(long) > 1:
        return False
    wraps = widths.index(max(widths))
    words = [len(word) for row in texts for word in row[places[wraps]].split()]
    least = max([min(widths[wraps], _READABLE), *words])
    return sum(widths) - widths[wraps] + least + _GAP * len(widths) <= width


def _widths(table: Table, texts: list[list[str]], places: list[int]) -> list[int]:
    return [max(len(_head(table.columns[p])), *(len(row[p]) for row in texts)) for p in places]


def _grid(table: Table, texts: list[list[str]], places: list[int], width: int) -> RenderableType:
    from rich import box
    from rich.table import Table as Grid
    from rich.text import Text

    widths = _widths(table, texts, places)
    widest = widths.index(max(widths))
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP - 1, 0, 0), show_edge=False, header_style="dim")
    for number, place in enumerate(places):
        right = is_numeric(tuple(row[place] for row in table.rows))
        grid.add_column(_head(table.columns[place]), justify="right" if right else "left", no_wrap=number != widest)
    bars = table.bars if sum(widths) + _GAP * len(widths) + _BAR < width else ()
    if bars:
        grid.add_column("", no_wrap=True)
    for number, row in enumerate(texts):
        cells = [Text(row[place], _WORDS.get(row[place], "")) for place in places]
        grid.add_row(*cells, *([Text(bar(bars[number] or 0.0), "cyan")] if bars else []))
    return grid


def _paragraph(table: Table, row: list[str], share: float | None) -> Iterator[RenderableType]:
    """A row as lines: what it is first, then each cell with its name, and the bar."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 1))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in zip(table.columns[1:], row[1:], strict=True):
        if text:
            grid.add_row(f"  {_head(name)}", Text(text, _WORDS.get(text, "")))
    if share:
        grid.add_row("", Text(bar(share), "cyan"))
    yield Text(row[0], f"bold {_WORDS.get(row[0], '')}".strip())
    yield grid


def _line(name: str, text: str) -> RenderableType:
    from rich.text import Text

    return Text.assemble((name, "dim"), (text, _WORDS.get(text, "")))


def _head(name: str) -> str:
    return name.replace("_", " ")


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, Math):
        return _readable(cell.text)
    return shown(cell) if isinstance(cell, NUMBER) else _readable(cell)


def _readable(formula: str) -> str:
    return formula.replace("**", "^")


def bar(share: float) -> str:
    """A bar of eighths of a character, for a share between -1 and 1; anything but zero shows, and what is below it has a minus."""
    eighths = max(round(min(abs(share), 1.0) * _BAR * 8), 1) if share else 0
    whole, rest = divmod(eighths, 8)
    return ("-" if share < 0 else "") + "█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def _style(line: str) -> str:
    plain = line.strip()
    if "REFUTED: " in plain or "an exact instance breaks this statement" in plain:
        return _WORDS["REFUTED"]
    word = plain.partition(" ")[0].strip("[]")
    return _WORDS.get(word, "") or next((style for start, style in _LINES if plain.startswith(start)), "")
