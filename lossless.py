"""Numbers in JSON without loss: doubles in hexadecimal, exact numbers as fractions; nothing is ever executed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any

Number = int | float | Fraction

_MOST_DIGITS = 1_000_000
_DECIMAL_BITS = 3_000  # longer integers are written in hexadecimal, which reads in linear time
_TAGS = ("fraction", "hex")


class LosslessError(ValueError):
    """A value that cannot be written without loss, or a text that `encode` did not write."""


def encode(value: Any) -> Any:
    """Lossless JSON for numbers, strings, lists and string-keyed dicts."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return encode(Fraction(int(value))) if abs(int(value)) >= 2**53 else int(value)
    if isinstance(value, Fraction):
        return {"fraction": [_digits(value.numerator), _digits(value.denominator)]}
    if isinstance(value, float):
        return {"hex": _finite(value).hex()}
    if isinstance(value, Mapping):
        return {_plain_key(key): encode(part) for key, part in value.items()}
    if isinstance(value, Sequence):
        return [encode(part) for part in value]
    raise LosslessError(f"value: wanted a number, string, list or dict, got {type(value).__name__}")


def decode(value: Any) -> Any:
    """Inverse of `encode`. Raises LosslessError on anything that `encode` does not write."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, list):
        return [decode(part) for part in value]
    if not isinstance(value, dict):
        raise LosslessError(f"number: wanted doubles in hexadecimal, got the plain number {value!r}")
    if set(value) == {"hex"} or set(value) == {"fraction"}:
        return _decode_number(value)
    return {_plain_key(key): decode(part) for key, part in value.items()}


def _decode_number(value: Mapping[str, Any]) -> Number:
    try:
        if "hex" in value:
            return _finite(float.fromhex(value["hex"]))
        numerator, denominator = (_integer(text) for text in value["fraction"])
        return Fraction(numerator, denominator)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError) as error:
        raise LosslessError(f"number: cannot read {str(value)[:80]} ({error})") from error


def _integer(text: Any) -> int:
    if not isinstance(text, str) or len(text) > _MOST_DIGITS:
        raise ValueError(f"wanted a string of at most {_MOST_DIGITS} digits")
    return int(text, 16) if "x" in text else int(text)


def _digits(number: int) -> str:
    return str(number) if number.bit_length() <= _DECIMAL_BITS else hex(number)


def _finite(x: float) -> float:
    if not math.isfinite(x):
        raise LosslessError(f"number: wanted a finite double, got {x!r}")
    return x


def _plain_key(key: Any) -> str:
    if not isinstance(key, str) or key in _TAGS:
        raise LosslessError(f"key: wanted a string other than {_TAGS}, got {key!r}")
    return key
