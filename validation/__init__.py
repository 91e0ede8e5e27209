"""Experiments, statistics, verdicts, figures and the report: the only package that knows the other three."""

from __future__ import annotations

from typing import Any


def validate(*args: Any, **kwargs: Any) -> Any:
    """See `fedco.validation.runs.validate.validate`."""
    from .runs.validate import validate as run

    return run(*args, **kwargs)


__all__ = ["validate"]
