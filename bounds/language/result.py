"""What every answer of fedco can do: be printed, shown in a notebook, and put into a paper, a data frame or JSON.

An answer describes itself once, as a `Sheet`: a title, the claim as a formula, tables, and notes. Text, Markdown, LaTeX, HTML and data
frames are made from it here. Nothing that a user or a stranger's file wrote reaches HTML or LaTeX unescaped.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from html import escape
from typing import TYPE_CHECKING, Any

_BAR = re.compile(r"(?<!\\)\|")
"""A bar that is not escaped, which would end a cell."""


if TYPE_CHECKING:
    from pandas import DataFrame

NUMBER = (int, float, Decimal)
DIGITS = 6
"""Significant digits of a number in a table."""
CONSTANTS = "constants"
"""Name of the table that repeats what was given; a terminal leaves it out."""
_ALL_DIGITS = 17
"""Digits that give a double back exactly."""
_FEW_LINES = 6
_LONG_TEXT, _LONG_SHARE = 60, 0.75
"""Characters from which a column wraps in LaTeX, and the share of the line that such columns have together."""
_WRITTEN_OUT = 1e9
"""Whole numbers below this one keep all their digits."""
_TEX_TEXT = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}
_MARKDOWN_TEXT = {mark: f"\\{mark}" for mark in r"\`*_|<>$[]"}


class Math(str):
    """Mathematics: plain text, which has LaTeX without delimiters too; JSON of it is the text.

    Args:
        latex: it, or what makes it when it is asked for.
    """

    _latex: str | Callable[[], str]

    def __new__(cls, text: str, latex: str | Callable[[], str]) -> Math:
        made = super().__new__(cls, text)
        made._latex = latex
        return made

    @property
    def latex(self) -> str:
        return self._latex if isinstance(self._latex, str) else self._latex()

    @property
    def text(self) -> str:
        return str(self)


Cell = str | int | float | bool | Decimal | Math | None
"""A Decimal is a number of which every digit counts, such as one that is to be used again."""


@dataclass(frozen=True)
class Table:
    """Rows under named columns; the names are keys of a data frame and heads of a printed table.

    Args:
        bars: nothing, or a number between -1 and 1 for each row, which a terminal draws beside it; None for no bar.

    Raises:
        ValueError: a row of another length, or another number of bars.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    bars: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        if wrong := [row for row in self.rows if len(row) != len(self.columns)]:
            raise ValueError(f"table {self.name}: wanted rows of {len(self.columns)} cells, got {wrong[0]}")
        if len(self.bars) not in (0, len(self.rows)):
            raise ValueError(f"table {self.name}: wanted a bar for each of {len(self.rows)} rows, got {len(self.bars)}")

    def without_empty_columns(self) -> Table:
        """A printed table leaves out what no row has."""
        kept = [at for at in range(len(self.columns)) if any(row[at] not in (None, "") for row in self.rows)]
        if not self.rows or len(kept) == len(self.columns):
            return self
        rows = tuple(tuple(row[at] for at in kept) for row in self.rows)
        return Table(self.name, tuple(self.columns[at] for at in kept), rows, self.bars)


def relative(values: Iterable[float | None]) -> tuple[float | None, ...]:
    """Bars for numbers: each in units of the largest size; None where it is not finite."""
    known = [None if value is None or value - value != 0 else float(value) for value in values]
    largest = max((abs(value) for value in known if value is not None), default=0.0)
    return tuple(None if value is None or not largest else value / largest for value in known)


@dataclass(frozen=True)
class Sheet:
    """What an answer says.

    Args:
        title: one line of plain text.
        claim: the main formula, where there is one.
        tables: the first is what a data frame holds.
        notes: sentences of plain text; what makes a number unsafe comes first.
        columns: those of the data frame, where the first table is an excerpt.
    """

    title: str
    claim: Math | None = None
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    columns: Mapping[str, Any] | None = None


class AbstractResult(ABC):
    """An answer: `sheet` and `to_dict` are its own, the rest follows. One with numbers has a `plot`, too."""

    @abstractmethod
    def sheet(self) -> Sheet:
        """What it says, for every medium."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """What the command prints with `--json`, but for what it says of a file of constants."""

    def __repr__(self) -> str:
        """A few lines of the text, the last among them: what has to be known of the statement stands there."""
        lines = str(self).splitlines()
        if len(lines) > _FEW_LINES:
            lines = [*lines[: _FEW_LINES - 2], f"  … {len(lines)} lines", lines[-1]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return to_html(self.sheet())

    def _repr_latex_(self) -> str:
        claim = self.sheet().claim
        return rf"$\displaystyle {claim.latex}$" if claim else rf"$\text{{{tex_text(self.sheet().title)}}}$"

    def to_markdown(self) -> str:
        """Markdown with formulas between dollar signs."""
        return to_markdown(self.sheet())

    def to_latex(self) -> str:
        """LaTeX for a paper; needs amsmath and amssymb only."""
        return to_latex(self.sheet())

    def to_frame(self) -> DataFrame:
        """The first table as a pandas data frame; numbers keep all their digits.

        Raises:
            ImportError: pandas is not installed; it comes with the extra `frames`.
        """
        return to_frame(self.sheet())

    def to_json(self) -> str:
        """`to_dict` as text; an infinite number is null."""
        return json.dumps(finite(self.to_dict()), indent=2, allow_nan=False)


# --- numbers ---------------------------------------------------------------------------------------------------------


def shown(value: float | Decimal, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number in at most six significant digits: `0.307427`, `1e-07`, `12048`; a Decimal in all of its own."""
    if isinstance(value, Decimal):
        return f"{float(value):.{_ALL_DIGITS}g}"
    if float(value).is_integer() and abs(value) < _WRITTEN_OUT:
        return f"{value:.0f}"
    rounded = Context(prec=DIGITS, rounding=rounding).create_decimal(Decimal(repr(float(value))))
    return f"{float(rounded):.{DIGITS}g}"


def rounded_up(value: float) -> str:
    """A number that stands on the larger side of `<=`."""
    return shown(value, ROUND_CEILING)


def rounded_down(value: float) -> str:
    """A number that stands on the larger side of `>=`, or an upper end that must stay admissible."""
    return shown(value, ROUND_FLOOR)


def tex_number(text: str) -> str:
    """A printed number as LaTeX: `1.2e-07` as `1.2 \\cdot 10^{-7}`, infinity as its sign."""
    if text in ("inf", "-inf"):
        return text.replace("inf", r"\infty")
    mantissa, mark, exponent = text.partition("e")
    if not mark:
        return mantissa
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \cdot {power}"


def finite(value: Any) -> Any:
    """JSON has no infinities: they become null."""
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and value - value != 0 else value


# --- media -----------------------------------------------------------------------------------------------------------


def tex_text(text: str) -> str:
    """Plain text for LaTeX outside of formulas."""
    return "".join(_TEX_TEXT.get(character, character) for character in text).replace("--", "-{}-")


def markdown_text(text: str) -> str:
    """Plain text for Markdown, which may hold neither markup nor HTML."""
    return "".join(_MARKDOWN_TEXT.get(character, character) for character in text)


def to_markdown(sheet: Sheet) -> str:
    parts = [f"**{markdown_text(sheet.title)}**"]
    parts += [f"$$\n{sheet.claim.latex}\n$$"] if sheet.claim else []
    parts += [f"> {markdown_text(note)}" for note in sheet.notes]
    for table in (each.without_empty_columns() for each in sheet.tables):
        rows = [[_cell(cell, markdown_text, "${}$") for cell in row] for row in table.rows]
        parts.append("\n".join(markdown_table([markdown_text(name) for name in table.columns], rows)))
    return "\n\n".join(parts)


def to_latex(sheet: Sheet) -> str:
    lines = [f"% {' '.join(sheet.title.split())}"]
    lines += [rf"\[ {sheet.claim.latex} \]"] if sheet.claim else []
    lines += [rf"\noindent\textbf{{Note.}} {tex_text(note)}\par" for note in sheet.notes]
    for table in (each.without_empty_columns() for each in sheet.tables):
        lines += _tabular(table)
    return "\n".join(lines)


def _tabular(table: Table) -> list[str]:
    columns = list(zip(*table.rows, strict=True))
    long = [is_long(column) for column in columns]
    width = _LONG_SHARE / max(1, sum(long))
    kinds = ("r" if is_numeric(column) else "l" for column in columns)
    align = "".join(rf"p{{{width:.2f}\linewidth}}" if wide else kind for kind, wide in zip(kinds, long, strict=True))
    head = " & ".join(tex_text(name.replace("_", " ")) for name in table.columns)
    rows = [" & ".join(_cell(cell, tex_text, "${}$") for cell in row) + r" \\" for row in table.rows]
    opening = rf"\begin{{tabular}}{{{align or 'l' * len(table.columns)}}}"
    return [
        f"% {' '.join(table.name.split())}",
        r"\par\medskip\noindent",
        opening,
        r"\hline",
        head + r" \\",
        r"\hline",
        *rows,
        r"\hline",
        r"\end{tabular}",
    ]


def is_long(column: tuple[Cell, ...]) -> bool:
    """Whether a cell of a column is text that should wrap."""
    return any(isinstance(cell, str) and not isinstance(cell, Math) and len(cell) > _LONG_TEXT for cell in column)


def is_numeric(column: tuple[Cell, ...]) -> bool:
    """Whether a column holds numbers and nothing else."""
    return all((isinstance(cell, NUMBER) and not isinstance(cell, bool)) or cell is None for cell in column)


def _cell(cell: Cell, plain: Any, formula: str) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Math):
        return formula.format(cell.latex)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, NUMBER):
        return formula.format(tex_number(shown(cell)))
    return str(plain(cell))


def to_html(sheet: Sheet) -> str:
    """A fragment for a page or a notebook; formulas are MathML, further tables are folded."""
    from .typesetting import mathml

    parts = [f"<p><strong>{escape(sheet.title)}</strong></p>"]
    parts += [f"<p>{mathml(sheet.claim.latex, display=True)}</p>"] if sheet.claim else []
    parts += [f'<p role="note">{escape(note)}</p>' for note in sheet.notes]
    for place, table in enumerate(each.without_empty_columns() for each in sheet.tables):
        made = "".join(_html_table(table))
        name = escape(table.name.replace("_", " "))
        parts.append(f"<details><summary>{name}</summary>{made}</details>" if place else made)
    return '<div class="fedco">' + "".join(parts) + "</div>"


def _html_table(table: Table) -> Iterator[str]:
    yield "<table><thead><tr>"
    yield from (f'<th scope="col">{escape(name.replace("_", " "))}</th>' for name in table.columns)
    yield "</tr></thead><tbody>"
    for row in table.rows:
        yield "<tr>" + "".join(f"<td>{_html_cell(cell)}</td>" for cell in row) + "</tr>"
    yield "</tbody></table>"


def _html_cell(cell: Cell) -> str:
    from .typesetting import mathml

    if isinstance(cell, Math):
        return mathml(cell.latex)
    if isinstance(cell, NUMBER) and not isinstance(cell, bool):
        return escape(shown(cell))
    return _cell(cell, escape, "")


def _in_frame(cell: Cell) -> str | float | None:
    return str(cell) if isinstance(cell, Math) else float(cell) if isinstance(cell, Decimal) else cell


def to_frame(sheet: Sheet) -> DataFrame:
    try:
        from pandas import DataFrame
    except ImportError:
        raise ImportError("to_frame: wanted pandas, which is not installed; pip install 'fedco[frames]'") from None
    table = sheet.tables[0]
    rows = [[_in_frame(cell) for cell in row] for row in table.rows]
    frame = DataFrame(rows, columns=list(table.columns)) if sheet.columns is None else DataFrame(dict(sheet.columns))
    frame.attrs |= {"title": sheet.title, "notes": list(sheet.notes)}
    return frame


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, align: bool = True) -> list[str]:
    """The lines of a table in Markdown; a short row is filled with empty cells.

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
