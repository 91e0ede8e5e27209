"""Reading a TOML file that a user wrote; a file that cannot be read is one line that names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import InputError
from ...user_files import one_line

MAX_FILE = 100_000
"""Most bytes of a file; the longest built-in theorem would take 8000."""


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a TOML file; a number with a point or an exponent stays text, so that it can be read exactly.

    Raises:
        InputError: no such file, too long, no text, or no TOML (a key given twice included).
    """
    import tomllib  # a command about a built-in theorem does without

    try:
        return tomllib.loads(_text_of(file), parse_float=str)
    except (ValueError, RecursionError) as error:  # a TOML error, bad UTF-8, or an integer too long to read
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file}: wanted a readable TOML file, got {one_line(error)}") from None


def _text_of(file: Path) -> str:
    try:
        if not file.is_file():
            raise InputError(f"{file}: wanted a TOML file, got {'a folder' if file.is_dir() else 'no such file'}")
        if (size := file.stat().st_size) > MAX_FILE:
            raise InputError(f"{file}: wanted a TOML file of at most {MAX_FILE} bytes, got {size}")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: wanted a readable TOML file, got {one_line(error)}") from None
