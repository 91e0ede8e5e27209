"""A tensor of exact numbers, so that a method's own code runs in fractions or intervals.

Methods call a handful of torch operations. Each of them is carried out here on an array of Python numbers; any other
operation is an error, never a rounded result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...bounds.language.recursion import IrrationalError, root
from .interval import Bends

_LONGEST_FLOAT = 2**20
"""A float with a larger denominator is a rounded number, and has no place in an exact run."""


class InexactError(ArithmeticError):
    """A method calls an operation that has no exact counterpart here, or brings in a rounded number."""


class ExactTensor(Tensor):
    """Looks like a float64 tensor of the same shape to a method; `numbers` holds the exact entries.

    Example:
        >>> third = ExactTensor.of([Fraction(1, 3)])
        >>> torch.lerp(third, 2 * third, third).numbers
        array([Fraction(4, 9)], dtype=object)
    """

    numbers: np.ndarray

    @staticmethod
    def of(entries: Any) -> ExactTensor:
        """From nested lists of numbers, or an array of objects."""
        numbers = np.asarray(entries, dtype=object)
        made = torch.Tensor._make_wrapper_subclass(ExactTensor, numbers.shape, dtype=torch.float64)
        made.numbers = numbers
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__
        if name in ("__get__", "dim", "numel", "size", "__len__"):
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        if name not in _OPERATIONS:
            raise InexactError(f"{name}: no exact counterpart; a method that calls it cannot be replayed in fractions")
        result = _OPERATIONS[name](*args, **(kwargs or {}))
        return ExactTensor.of(result) if isinstance(result, np.ndarray) else result

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        raise InexactError(f"{func}: reached torch's own arithmetic, which rounds")

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"ExactTensor({self.numbers.tolist()})"


def raw(value: Any) -> Any:
    """The numbers of an operand: an array of exact entries, or one number.

    Raises:
        InexactError: a float that is no short dyadic fraction.
    """
    if isinstance(value, ExactTensor):
        return value.numbers
    if isinstance(value, Tensor):
        return laid_out([_exact(entry) for entry in value.flatten().tolist()], tuple(value.shape))
    return _exact(value) if isinstance(value, float) else value


def laid_out(entries: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    """Entries as an array of objects."""
    made = np.empty(len(entries), dtype=object)
    made[:] = entries
    return made.reshape(shape)


def tensors_of(state: Any) -> dict[str, np.ndarray]:
    """The exact numbers of a method's state by name, `(lanes, ...)`."""
    return {name: part.numbers for name, part in vars(state).items() if isinstance(part, ExactTensor)}


def entries_of(state: Any, lane: int = 0) -> list[Any]:
    """The entries of one lane of a state; what is the same in all lanes may be held once."""
    parts = tensors_of(state).values()
    return [entry for numbers in parts for entry in numbers[lane if len(numbers) > 1 else 0].flatten()]


def with_entries(state: Any, entries: Sequence[Any], lanes: int = 1) -> Any:
    """The state with these entries in each of so many lanes."""
    made, first = {}, 0
    for name, numbers in tensors_of(state).items():
        one = numbers[:1].copy()
        one.flat[:] = entries[first : first + one.size]
        made[name], first = ExactTensor.of(np.repeat(one, lanes, axis=0)), first + one.size
    return replace(state, **made)


def _exact(number: float | int | bool) -> Any:
    if isinstance(number, float):
        fraction = Fraction(number)
        if fraction.denominator > _LONGEST_FLOAT:
            raise InexactError(f"{number!r}: a rounded number in an exact run")
        return fraction
    return number


def _binary(operation: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda a, b: _array(operation(raw(a), raw(b)))


def _array(result: Any) -> np.ndarray:
    return np.asarray(result, dtype=object)


def _addcmul(base: Any, a: Any, b: Any, *, value: Any = 1) -> np.ndarray:
    return _array(raw(base) + value * (raw(a) * raw(b)))


def _lerp(start: Any, end: Any, weight: Any) -> np.ndarray:
    w = raw(weight)
    return _array((1 - w) * raw(start) + w * raw(end))


def _sum(a: Any, axis: Any = None, dim: Any = None, keepdim: bool = False) -> np.ndarray:
    where = dim if axis is None else axis
    return _array(raw(a).sum(axis=tuple(where) if isinstance(where, list) else where, keepdims=keepdim))


def _mean(a: Any, dim: Any = None, keepdim: bool = False) -> np.ndarray:
    numbers = raw(a)
    count = numbers.size if dim is None else numbers.shape[dim]
    return _array(numbers.sum(axis=dim, keepdims=keepdim) / Fraction(count))


def _expand(a: Any, *shape: Any) -> np.ndarray:
    wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    numbers = raw(a)
    padded = (1,) * (len(wanted) - numbers.ndim) + numbers.shape
    full = tuple(have if want == -1 else want for have, want in zip(padded, wanted, strict=True))
    return np.broadcast_to(numbers.reshape(padded), full)


def _view(a: Any, *shape: Any) -> np.ndarray:
    return raw(a).reshape(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


def _where(condition: Any, a: Any, b: Any) -> np.ndarray:
    chosen = condition.numpy() if isinstance(condition, Tensor) else condition
    return _array(np.where(chosen, raw(a), raw(b)))


def _squeeze(a: Any, dim: int) -> np.ndarray:
    numbers = raw(a)
    return np.squeeze(numbers, axis=dim) if numbers.shape[dim] == 1 else numbers


def _roots(a: Any) -> np.ndarray:
    """Square roots of squares of fractions.

    Raises:
        Bends: of a random number, which has one on every path.
        InexactError: another root.
    """
    numbers = raw(a)
    found = np.empty(numbers.shape, dtype=object)
    for place in np.ndindex(numbers.shape):
        if not isinstance(numbers[place], (int, Fraction)):
            raise Bends("sqrt of a random number")
        try:
            found[place] = root(numbers[place])
        except IrrationalError as error:
            raise InexactError(f"{error}: irrational") from None
    return found


def _power(a: Any, exponent: float) -> np.ndarray:
    """Refused: what is raised to a power that is a number in double precision has no exact value.

    Raises:
        InexactError: always.
    """
    raise InexactError(f"the power {exponent:g}: irrational")


def _filled(number: Fraction) -> Callable[..., np.ndarray]:
    def fill(a: Any, *shape: Any, **_: Any) -> np.ndarray:
        size = tuple(a.shape) if not shape else shape[0] if not isinstance(shape[0], int) else shape
        return np.full(tuple(size), number, dtype=object)

    return fill


def _compared(operation: Callable[[Any, Any], Any]) -> Callable[..., Tensor]:
    return lambda a, b: torch.tensor(np.asarray(operation(raw(a), raw(b)), dtype=bool))


def _subtract_from(a: Any, b: Any) -> np.ndarray:
    return _array(raw(b) - raw(a))


_OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "add": _binary(lambda a, b: a + b),
    "sub": _binary(lambda a, b: a - b),
    "rsub": _subtract_from,
    "__rsub__": _subtract_from,
    "mul": _binary(lambda a, b: a * b),
    "div": _binary(lambda a, b: a / (Fraction(b) if isinstance(b, int) else b)),
    "__rdiv__": lambda a, b: _array(Fraction(1) * raw(b) / raw(a)),
    "reciprocal": lambda a: _array(Fraction(1) / raw(a)),
    "neg": lambda a: _array(-raw(a)),
    "sqrt": _roots,
    "pow": _power,
    "square": lambda a: _array(raw(a) * raw(a)),
    "lerp": _lerp,
    "addcmul": _addcmul,
    "sum": _sum,
    "mean": _mean,
    "where": _where,
    "cat": lambda parts, dim=0: np.concatenate([raw(part) for part in parts], axis=dim),
    "transpose": lambda a, i, j: np.swapaxes(raw(a), i, j),
    "contiguous": lambda a: raw(a),
    "clone": lambda a: raw(a),
    "to": lambda a, *_, **__: raw(a),
    "expand": _expand,
    "view": _view,
    "reshape": _view,
    "unsqueeze": lambda a, dim: np.expand_dims(raw(a), dim),
    "squeeze": _squeeze,
    "repeat_interleave": lambda a, repeats: np.repeat(raw(a), repeats),
    "new_zeros": _filled(Fraction(0)),
    "zeros_like": _filled(Fraction(0)),
    "ge": _compared(lambda a, b: a >= b),
    "gt": _compared(lambda a, b: a > b),
    "le": _compared(lambda a, b: a <= b),
    "lt": _compared(lambda a, b: a < b),
    "isfinite": lambda a: torch.ones(tuple(a.shape), dtype=torch.bool),
    "__getitem__": lambda a, index: _array(raw(a)[index]),
}
