"""Tables in Markdown, for pages and for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_BAR = re.compile(r"(?<!\\)\|")
"""A bar that is not escaped, which would end a cell."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, align: bool = True) -> list[str]:
    """The lines of a table; a short row is filled with empty cells.

    Args:
        align: columns line up in plain text too, for a terminal; on a page long formulas would push the rest away, and there a
            bar within a cell is escaped.
    """
    cells = [[*row, *[""] * (len(head) - len(row))] for row in ([*head], *rows)]
    if not align:
        cells = [[_BAR.sub(r"\|", cell) for cell in row] for row in cells]
    widths = [max(map(len, column)) if align else 0 for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    return [lines[0], "|" + "|".join("-" * max(width + 2, 3) for width in widths) + "|", *lines[1:]]
