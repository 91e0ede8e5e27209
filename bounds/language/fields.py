"""The tables of definitions and of papers: which keys each has, what a key holds, and which ones it needs.

Whoever reads a table has it checked here first, so that a key that it does not have, and a value of another type, are one line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from .theorem import LABELS, RESOURCES

MAX_ENTRIES = 200
"""Most entries of one table, and most characters of one text, of a definition."""
TEXT, NAMES, TABLE, TEXT_OR_TABLE = "a text", "a list of names", "a table", "a text, or a table"
LINE = f"a text in one line of at most {MAX_ENTRIES} characters"
TEXTS, TABLES, ANYTHING = "a text, or a list of texts", "tables, each under [[claims]]", "what its reader wants"
_TYPES: Mapping[str, Any] = {
    TEXT: str,
    LINE: str,
    NAMES: (list, tuple),
    TABLE: Mapping,
    TEXT_OR_TABLE: (str, Mapping),
    TEXTS: (str, list, tuple),
    TABLES: list,
    ANYTHING: object,
}


@dataclass(frozen=True)
class Fields:
    """A sort of table.

    Args:
        key: what its keys are called in a message. keys: key -> what it holds. needed: those that it has to have.
        such_as: an example, where a table is not a matter of course.
    """

    key: str
    keys: Mapping[str, str]
    needed: tuple[str, ...] = ()
    such_as: str = ""

    @property
    def wanted(self) -> str:
        """The table in words."""
        return f"{TABLE} such as {self.such_as}" if self.such_as else TABLE


def holds(value: Any, what: str) -> bool:
    """Whether a value is of the type that a field wants."""
    if what == LINE and isinstance(value, str):
        return bool(value.strip()) and value.isprintable() and len(value) <= MAX_ENTRIES
    return isinstance(value, _TYPES[what])


def _keys(**names: str) -> dict[str, str]:
    """What several keys hold: text -> the keys, in one line."""
    kinds = {
        **{"text": TEXT, "line": LINE, "names": NAMES, "table": TABLE},
        **{"text_or_table": TEXT_OR_TABLE, "texts": TEXTS, "anything": ANYTHING},
    }
    return {key: kinds[kind] for kind, keys in names.items() for key in keys.split()}


DEFINITION = Fields(
    "a key of a theorem",
    _keys(
        text="id title source problem weights average proof",
        text_or_table="metric",
        names="assume units",
        table="quantities symbols derived terms conditions schedule costs method assumptions probability",
    ),
    ("id", "symbols", "terms"),
)
QUANTITY = Fields(
    "a key of a quantity",
    _keys(line="meaning", anything="dimension domain role", texts="bounds"),
    ("meaning",),
    such_as='{ meaning = "…", dimension = "f/x^2" }',
)
METRIC = Fields("a key of a metric", _keys(line="measure over dimension meaning", anything="cap"))
ASSUMPTION = Fields(
    "a key of an assumption", _keys(text="text", names="bounds says"), ("text",), such_as='{ text = "…", says = ["…"] }'
)


def formula_with(more: Collection[str]) -> Fields:
    """A formula in a table, with these texts about it."""
    return Fields("a key of a formula", {"formula": ANYTHING, **dict.fromkeys(more, TEXT)})


def texts(keys: Collection[str]) -> Fields:
    """A table of texts, under any names."""
    return Fields("a key here", dict.fromkeys(keys, TEXT))


PROBABILITY = Fields("a key here", _keys(anything="failure"))

STATEMENT = Fields("a key here", _keys(table="terms conditions derived schedule put_in", text="note", names="assume"))
THEOREM = Fields(
    "a key here",
    _keys(
        text="kind title source equation problem average weights not_composed note like",
        text_or_table="metric follows_from",
        names="assumptions also_assumes assume units",
        table="costs absent method multiples compared_where symbols unreached probability put_in",
    )
    | dict.fromkeys(LABELS, TEXT_OR_TABLE),
)
PAPER = Fields("a key here", _keys(text="key title runs shares", names="headlines"), ("key", "title"))
SHARED = ("quantities", "symbols", "metrics", "assumptions", "derived", "conditions", "defaults")
"""Tables that a paper may take from another one."""
FILE = Fields(
    "a key here", dict.fromkeys(("paper", *SHARED, "theorems"), TABLE) | {"claims": TABLES}, ("paper", "theorems")
)
PAPERS_METRIC = Fields(
    "a key here", _keys(text="name latex dimension meaning at", texts="bounds"), ("name", "latex", "dimension")
)
PAPERS_ASSUMPTION = Fields("a key here", _keys(text="name text only", names="bounds says"), ("text",))
MADE = Fields("a key here", _keys(text="by latex meaning", names="of", texts="bounds"))
"""A constant that code makes."""
CODE = Fields("a key here", _keys(text="by", names="of"))
FOLLOWS_FROM = Fields("a key here", _keys(text="theorem", table="at"))
CLAIM = Fields(
    "a key here",
    _keys(text="statement_of general where") | dict.fromkeys(RESOURCES, ANYTHING),
    ("statement_of", "general", "where"),
)
