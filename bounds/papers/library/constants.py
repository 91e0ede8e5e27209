"""A constant of the library that is no formula of the file."""

from __future__ import annotations

from types import SimpleNamespace

import sympy as sp

from ...language.clients import sampling


def share(s: SimpleNamespace) -> sp.Expr:
    """(1 - r)/(r (N - 1)), and 0 where all clients take part."""
    return sampling(s.r, s.N)
