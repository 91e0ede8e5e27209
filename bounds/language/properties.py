"""What may hold on a problem beyond its kind and its constants, each with its meaning; theorems assume these by name.

Like the quantities this is vocabulary: it needs neither sympy nor torch, and problems declare the same names.
"""

from __future__ import annotations

from collections.abc import Mapping

_KNOWN: dict[str, str] = {
    "equal_inner_maps": "The inner maps of all clients are one function.",
    "equal_outer_functions": "The outer functions of all clients are one function; their samples may have noise.",
    "one_outer_function": "The outer functions of all clients are one function, whose gradient has no noise.",
    "no_extra_term": "There is no non-compositional part: h = 0.",
    "independent_clients": "The samples of one client are independent of those of all others.",
    "deterministic": "No oracle has noise.",
    "convex": "The objective is convex.",
    "convex_clients": "The objective of every client is convex.",
}
PROPERTIES: Mapping[str, str] = _KNOWN
"""Name -> meaning, those that a package has added included."""


def register_property(name: str, meaning: str) -> None:
    """Add a property, so that theorems may assume it and problems declare it.

    Raises:
        ValueError: no identifier, or a name with another meaning.
    """
    if not name.isidentifier():
        raise ValueError(f"property {name[:40]!r}: wanted letters, digits and _")
    if _KNOWN.setdefault(name, meaning) != meaning:
        raise ValueError(f"property {name}: it means {_KNOWN[name]!r}, so it cannot mean {meaning[:80]!r}")
