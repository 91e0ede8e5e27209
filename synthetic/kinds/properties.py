"""What may hold on a problem beyond its kind and its constants, each with its meaning; theorems assume these by name."""

from __future__ import annotations

from collections.abc import Mapping

PROPERTIES: Mapping[str, str] = {
    "equal_inner_maps": "The inner maps of all clients are one function.",
    "one_outer_function": "The outer functions of all clients are one function, whose gradient has no noise.",
    "no_extra_term": "There is no non-compositional part: h = 0.",
    "independent_clients": "The samples of one client are independent of those of all others.",
    "deterministic": "No oracle has noise.",
}
INDEPENDENT_CLIENTS = frozenset({"independent_clients"})
