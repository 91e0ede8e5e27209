"""Reading what a user typed: exact numbers only, never an expression.

User text reaches `fractions.Fraction` after a regular expression and a length limit, and nothing else: no sympify, no eval.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Rational
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...suggestion import instead
from ...user_files import one_line
from .assumptions import rules_for
from .notation import Binding

MAX_LENGTH = 60
MAX_EXPONENT = 100
MAX_BITS = 14_000
"""Most bits of a numerator or denominator that is given as a number; a text is far shorter."""
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,4}))?", re.ASCII)
_FRACTION = re.compile(r"[+-]?\d+/\d+", re.ASCII)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,60}", re.ASCII)


__all__ = [
    "InputError",
    "is_array",
    "missing_values",
    "read_number",
    "read_value",
    "read_values",
    "shown_name",
    "split_assignment",
]


def read_number(name: str, value: Any, wanted: str = "a finite number") -> Fraction:
    """An exact rational from text such as `0.1`, `1e-3`, `1/3`, or from a Python number (a float is read as it prints).

    Raises:
        InputError: not a plain decimal or fraction, not finite, too long, or a zero denominator.
    """
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # a scalar of numpy or torch
        value = value.item()
    if isinstance(value, bool) or value is None:
        raise InputError(f"{name}: wanted {wanted}, got {value!r}")
    if isinstance(value, Rational):  # int, Fraction, sympy's rationals
        above, below = int(value.numerator), int(value.denominator)
        if max(above.bit_length(), below.bit_length()) > MAX_BITS:
            raise InputError(
                f"{name}: wanted {wanted} in at most {MAX_BITS} bits, got {above.bit_length()} over {below.bit_length()}"
            )
        return Fraction(above, below)
    if isinstance(value, str):
        return _read_text(name, value.strip(), wanted)
    if isinstance(value, float) and math.isfinite(value):
        return Fraction(repr(value))
    raise InputError(f"{name}: wanted {wanted}, got {' '.join(repr(value).split())[:60]}")


def is_array(value: Any) -> bool:
    """Whether a value is many numbers: a list, a tuple, or an array or a series of at least one dimension."""
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0


def _read_text(name: str, text: str, wanted: str) -> Fraction:
    shown = text if len(text) <= MAX_LENGTH else text[:20] + "…"
    if len(text) > MAX_LENGTH:
        raise InputError(f"{name}: wanted {wanted} in at most {MAX_LENGTH} characters, got {len(text)}: {shown}")
    if _FRACTION.fullmatch(text):
        if not int(text.partition("/")[2]):
            raise InputError(f"{name}: wanted {wanted}, got {shown} with a zero denominator")
        return Fraction(text)
    match = _DECIMAL.fullmatch(text)
    if not match:
        raise InputError(f"{name}: wanted {wanted} as a decimal or a fraction such as 1/3, got {shown!r}")
    if match.group(1) and abs(int(match.group(1))) > MAX_EXPONENT:
        raise InputError(f"{name}: wanted {wanted} with an exponent of at most {MAX_EXPONENT}, got {shown}")
    return Fraction(text)


def read_value(binding: Binding, value: Any) -> Fraction:
    """A number in the domain of a symbol.

    Raises:
        InputError: outside the domain; the message names the symbol, its domain and the value.
    """
    domain = binding.quantity.numbers
    number = read_number(binding.name, value, domain.a_number)
    if not domain.contains(number):
        raise InputError(f"{binding.name}: wanted {domain.a_number} ({binding.meaning}), got {value}")
    return number


def refuse_lists(bindings: Mapping[str, Binding], where: str) -> None:
    """Raises where a symbol has one number for each client."""
    if lists := [name for name, binding in bindings.items() if binding.per_client]:
        raise InputError(
            f"{lists[0]}: has one number for each client in {where}; wanted the statement with their lists, see for_clients"
        )


def read_values(bindings: Mapping[str, Binding], values: Mapping[str, Any], where: str) -> dict[str, Fraction]:
    """Numbers for symbols; a symbol that is not among `bindings`, or has one number for each client, is an error."""
    for name in values:
        if name not in bindings:
            raise InputError(f"{shown_name(name)}: not a symbol of {where}; {instead(str(name), tuple(bindings))}")
    refuse_lists(bindings, where)
    return {name: read_value(bindings[name], value) for name, value in values.items()}


def missing_values(bindings: Mapping[str, Binding], missing: Iterable[str]) -> InputError:
    """What to say where symbols have no value: what the first one is, all of them, and what could fill them in."""
    names = list(missing)
    first = bindings[names[0]]
    rules = rules_for(bindings[name].quantity.name for name in names if bindings[name].quantity.role == "constant")
    hint = f"; rules that may fill some in: --assume {', '.join(rules)}" if rules else ""
    return InputError(
        f"{names[0]}: wanted {first.quantity.numbers.a_number} ({first.meaning}), got nothing; missing: {', '.join(names)}{hint}"
    )


def shown_name(name: Any) -> str:
    """A name that a user typed, as a message may print it."""
    return str(name) if _NAME.fullmatch(str(name)) else repr(str(name)[:30])


def split_assignment(text: str) -> tuple[str, str]:
    """`NAME=VALUE` into its two parts.

    Raises:
        InputError: no `=`, or a name that is not an identifier.
    """
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not _NAME.fullmatch(name):
        raise InputError(f"{text[:40]!r}: wanted NAME=VALUE with a plain name")
    return name, value.strip()


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
