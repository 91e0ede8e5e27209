"""What a notebook shows of an object that is a title and rows. Imports nothing of fedco: every room may use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame

_DIGITS = 6
_ROWS = 40
"""Rows of a table that are shown; a data frame has all."""
_TEXT = 90
"""Most characters of a cell that are shown."""


class ShownAsTable(ABC):
    """An object that is a title and rows: `title` and `rows` are its own, what a notebook asks for follows."""

    @property
    @abstractmethod
    def title(self) -> str:
        """One line."""

    @abstractmethod
    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Heads, and a list of rows."""

    def __repr__(self) -> str:
        return self.title

    def _repr_html_(self) -> str:
        heads, rows = self.rows()
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
        body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows[:_ROWS])
        more = f"<p>… {len(rows)} rows</p>" if len(rows) > _ROWS else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div class="fedco"><p><strong>{escape(self.title)}</strong></p>{table}{more}</div>'

    def to_frame(self) -> DataFrame:
        """The rows as a pandas data frame.

        Raises:
            ImportError: pandas is not installed; it comes with the extra `frames`.
        """
        try:
            from pandas import DataFrame
        except ImportError:
            raise ImportError("to_frame: wanted pandas, which is not installed; pip install 'fedco[frames]'") from None
        heads, rows = self.rows()
        frame = DataFrame([list(row) for row in rows], columns=list(heads))
        frame.attrs["title"] = self.title
        return frame


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    text = "" if value is None else str(value)
    return escape(text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…")
