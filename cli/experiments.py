"""fedco problems | algorithms | validate | counterexample | report | replay"""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Filled in with validation/."""
