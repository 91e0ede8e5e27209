"""A violation made as simple as it gets while it is still one: fewer digits, zeros, shorter runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from .confirm import Confirmed, NotConfirmed
from .declared import Target
from .formula import Formula
from .rounding import Draft, confirmed, near

Q = Fraction
_KEPT_RATIO = 1.05
"""A violation by less than this is not worth its simplicity."""
_TOLERANCES = tuple(Q(1, n) for n in (2, 3, 5, 10, 30, 100, 1000, 10**4))
_TINIES = tuple(Q(1, 10**power) for power in (3, 6, 9, 12))
_TRIES, _TRIES_OF_LONG = 250, 8
"""Exact checks of simpler drafts: one takes 10 to 70 ms on one core, and seconds where a long run goes by powers of a round."""
_LONG = 160
"""Number of steps from which a run counts as long."""
Path = tuple[Any, ...]


def shrunk(
    target: Target, formula: Formula, made: Draft, found: Confirmed, *, tries: int | None = None
) -> tuple[Draft, Confirmed]:
    """A simpler draft that is still a violation, and its exact check; the given one where nothing simpler is found.

    Args:
        tries: how many drafts are checked at most; by the length of the run without it. By the clock the same violation would become
            another one each time.
    """
    shrinker = _Shrinker(target, formula, made, found, _affordable(target, found) if tries is None else tries)
    shrinker.run()
    return shrinker.draft, shrinker.found


def _affordable(target: Target, found: Confirmed) -> int:
    steps = 0 if target.length is None else found.claimed.stated(target).get(target.length, 0)
    return _TRIES if steps <= _LONG else _TRIES_OF_LONG


class _Shrinker:
    def __init__(self, target: Target, formula: Formula, made: Draft, found: Confirmed, tries: int) -> None:
        self.target, self.formula, self.draft, self.found, self.tries = target, formula, made, found, tries
        self.kept = min(_KEPT_RATIO, found.ratio)

    def run(self) -> None:
        for play in (Q(1, 2), Q(9, 10)):
            self._try(replace(self.draft, play=play))
        for tolerance in _TOLERANCES:
            if self._try(_rounded(self.draft, tolerance)):
                break
        for tiny in _TINIES:
            if self._try(replace(self.draft, tiny=tiny)):
                break
        while self._pass_over_numbers() and self.tries > 0:
            pass

    def _try(self, other: Draft) -> bool:
        """Take the other draft if it is simpler and still a violation."""
        if self.tries < 1 or cost(other) > cost(self.draft):
            return False
        self.tries -= 1
        try:
            found = confirmed(self.target, self.formula, other)
        except NotConfirmed:
            return False
        if found.ratio < self.kept:
            return False
        self.draft, self.found = other, found
        return True

    def _pass_over_numbers(self) -> bool:
        before, hidden = cost(self.draft), ("free", self.target.named("hidden_constant"))
        for path in [
            path for path in _paths(self.draft) if path != hidden
        ]:  # the value of a constant in O(.) is the user's
            number = _get(self.draft, path)
            for simpler in _simpler(number, is_whole=self._is_whole(path)):
                if _cost_of(simpler) < _cost_of(number) and self._try(_set(self.draft, path, simpler)):
                    break
        return cost(self.draft) < before

    def _is_whole(self, path: Path) -> bool:
        return path[0] == "free" and self.target.symbols[path[1]].quantity.numbers.whole


def _simpler(number: Fraction, *, is_whole: bool) -> Iterator[Fraction]:
    """Candidates to replace a number, the simplest first."""
    sign = -1 if number < 0 else 1
    if is_whole:
        yield from (Q(n) for n in (1, 2, 4, 16, 100, 1000) if n < number)
        return
    yield from (Q(0), Q(sign), Q(sign, 2), Q(2 * sign), Q(10 * sign), Q(sign, 10))
    yield from (near(number, tolerance) for tolerance in _TOLERANCES[:6])
    yield sign * _power_of_ten(abs(number))


def _power_of_ten(size: Fraction) -> Fraction:
    if size == 0:
        return Q(0)
    digits = len(str(size.numerator)) - len(str(size.denominator))
    return Q(10) ** digits


def cost(made: Draft) -> int:
    """Characters that the numbers of a draft take."""
    return sum(_cost_of(_get(made, path)) for path in _paths(made)) + _cost_of(made.tiny)


def _cost_of(number: Fraction) -> int:
    return 0 if number == 0 else len(str(number))


def _paths(made: Draft) -> Iterator[Path]:
    """Where the numbers of a draft stand."""
    for name, value in made.parameters.items():
        yield from (("parameters", name, *rest) for rest in _places(value))
    yield from (("free", name) for name in made.free)


def _places(value: Any) -> Iterator[Path]:
    if isinstance(value, list):
        for index, part in enumerate(value):
            yield from ((index, *rest) for rest in _places(part))
    else:
        yield ()


def _get(made: Draft, path: Path) -> Fraction:
    value: Any = getattr(made, path[0])
    for key in path[1:]:
        value = value[key]
    number: Fraction = value
    return number


def _set(made: Draft, path: Path, number: Fraction) -> Draft:
    """The draft with another number at one place; what the instance and a hyperparameter share changes together."""
    changed = replace(made, **{path[0]: _with(getattr(made, path[0]), path[1:], number)})
    if path == ("parameters", "alpha") and "alpha" in made.free:
        return replace(changed, free={**changed.free, "alpha": number})
    return changed


def _with(value: Any, path: Path, number: Fraction) -> Any:
    if not path:
        return number
    if isinstance(value, list):
        return [_with(part, path[1:], number) if i == path[0] else part for i, part in enumerate(value)]
    return {key: _with(part, path[1:], number) if key == path[0] else part for key, part in value.items()}


def _rounded(made: Draft, tolerance: Fraction) -> Draft:
    """Every number as the simplest fraction within a tolerance; whole numbers stay."""

    def short(value: Any) -> Any:
        return [short(part) for part in value] if isinstance(value, list) else near(value, tolerance)

    parameters = {name: short(value) for name, value in made.parameters.items()}
    free = {n: v if v.denominator == 1 else near(v, tolerance) for n, v in made.free.items()}
    if "alpha" in parameters and "alpha" in free:
        free["alpha"] = parameters["alpha"]
    return replace(made, parameters=parameters, free=free)
