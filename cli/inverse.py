"""The inverse questions: fedco tune | complexity | compare (registered once bounds/ has them)."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Nothing to register yet."""
