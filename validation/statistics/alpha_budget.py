"""The alpha ledger: one budget of false-verdict probability for all the stochastic tests of a run.

Each test is named and allotted its alpha and its number of seeds before its data are seen, and is spent once. By the
union bound the probability of any false verdict in the run is at most the sum of the allotted alphas, hence at most the
total, whatever the dependence between tests (shared noise included). Amounts are exact fractions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

#: All the stochastic tests of one report share this probability of a false verdict.
REPORT_ALPHA = Fraction(1, 10**6)

_FORMAT = "fedco-alpha-ledger/1"
_LEVEL = re.compile(
    r"[0-9]{1,60}/[0-9]{1,60}|[0-9]{0,60}\.?[0-9]{1,60}(e-?[0-9]{1,3})?"
)  # bounds the work of Fraction()


class LedgerError(ValueError):
    """An allotment or a spending that the ledger's rules forbid."""


def read_level(name: str, level: Fraction | str) -> Fraction:
    """An exact probability strictly between 0 and 1 from `1/1000`, `1e-6` or a Fraction; floats are refused."""
    readable = isinstance(level, Fraction) or (isinstance(level, str) and _LEVEL.fullmatch(level))
    try:
        exact = Fraction(level) if readable else None
    except ZeroDivisionError:
        exact = None
    if exact is None or not 0 < exact < 1:
        raise LedgerError(f"{name}: wanted an exact number in (0, 1) such as '1e-6' or '1/1000', got {level!r}")
    return exact


@dataclass(frozen=True)
class Allotment:
    """One named test: its share of alpha, the seeds planned for it and, once spent, the seeds that it used."""

    name: str
    alpha: Fraction
    planned_seeds: int
    actual_seeds: int | None = None
    deviation: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            raise LedgerError("name: wanted a non-empty test name, got ''")
        read_level(self.name, self.alpha)
        for seeds in (self.planned_seeds, self.actual_seeds):
            if seeds is not None and (isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1):
                raise LedgerError(f"{self.name}: wanted a whole number of seeds >= 1, got {seeds!r}")

    @property
    def spent(self) -> bool:
        return self.actual_seeds is not None


class AlphaBudget:
    """Mutable on purpose: one run owns one ledger, since a copied ledger could be spent twice.

    The first `spend` seals the list of tests. `open_ended=True` allows later allotments, for a caller that meets its
    tests one after another (a test suite); each test must still be allotted before it is spent, and the total still
    binds, so the union bound holds as long as an alpha does not depend on its own test's data.

    Example:
        >>> ledger = AlphaBudget()
        >>> ledger.share(["theorem_5_1/base", "theorem_5_1/noisy"], planned_seeds=256)
        >>> alpha = ledger.spend("theorem_5_1/base", actual_seeds=256)   # Fraction(1, 2000000)
    """

    def __init__(self, total: Fraction | str = REPORT_ALPHA, *, open_ended: bool = False) -> None:
        self.total = read_level("total", total)
        self.open_ended = open_ended
        self._sealed = False
        self._entries: dict[str, Allotment] = {}

    @property
    def entries(self) -> tuple[Allotment, ...]:
        return tuple(self._entries.values())

    @property
    def sealed(self) -> bool:
        return self._sealed

    @property
    def remaining(self) -> Fraction:
        """What is not yet allotted."""
        return self.total - sum((entry.alpha for entry in self.entries), Fraction(0))

    def allot(self, name: str, alpha: Fraction | str, planned_seeds: int) -> Allotment:
        """Reserve `alpha` for the test `name`. Raises LedgerError on a reused name, an overdraft or a sealed ledger."""
        if self._sealed:
            raise LedgerError(f"{name}: the ledger is sealed, tests are allotted before the first one is spent")
        if name in self._entries:
            raise LedgerError(f"{name}: already allotted, a name is used once")
        entry = Allotment(name, read_level(name, alpha), planned_seeds)
        if entry.alpha > self.remaining:
            raise LedgerError(f"{name}: wanted alpha <= {self.remaining} (what remains), got {entry.alpha}")
        self._entries[name] = entry
        return entry

    def share(self, names: Iterable[str], planned_seeds: int | Mapping[str, int]) -> None:
        """Divide what remains equally over `names`; all of them are allotted, or none."""
        listed = list(names)
        clash = sorted({name for name in listed if name in self._entries or listed.count(name) > 1})
        if clash or not listed:
            raise LedgerError(f"names: wanted new and distinct test names, got {clash or 'none'}")
        plan = planned_seeds if isinstance(planned_seeds, Mapping) else dict.fromkeys(listed, planned_seeds)
        if missing := [name for name in listed if name not in plan]:
            raise LedgerError(f"planned_seeds: wanted a number for every test, missing {missing}")
        each = self.remaining / len(listed)
        for entry in [Allotment(name, each, plan[name]) for name in listed]:
            self.allot(entry.name, entry.alpha, entry.planned_seeds)

    def seal(self) -> None:
        """Close the list of tests."""
        self._sealed = True

    def alpha(self, name: str) -> Fraction:
        """What was allotted to `name`."""
        if name not in self._entries:
            raise LedgerError(f"{name}: not allotted in advance; allotted are {sorted(self._entries)}")
        return self._entries[name].alpha

    def spend(self, name: str, *, actual_seeds: int, deviation: str = "") -> Fraction:
        """Spend the test `name`, once, and return its alpha.

        `actual_seeds` must be the planned number; a run that was cut short may be spent on fewer, with the reason in
        `deviation`. More seeds than planned are refused: they are how one goes on until the answer pleases.
        """
        allotted = self.alpha(name)
        entry = self._entries[name]
        if entry.spent:
            raise LedgerError(f"{name}: already spent, a test is looked at once")
        if actual_seeds > entry.planned_seeds or (actual_seeds < entry.planned_seeds and not deviation):
            raise LedgerError(f"{name}: wanted the {entry.planned_seeds} planned seeds, got {actual_seeds}")
        self._entries[name] = replace(entry, actual_seeds=actual_seeds, deviation=deviation)
        self._sealed = self._sealed or not self.open_ended
        return allotted

    def to_dict(self) -> dict[str, Any]:
        tests = [
            {
                "name": entry.name,
                "alpha": str(entry.alpha),
                "planned_seeds": entry.planned_seeds,
                "actual_seeds": entry.actual_seeds,
                "deviation": entry.deviation,
            }
            for entry in self.entries
        ]
        return {
            "format": _FORMAT,
            "total": str(self.total),
            "remaining": str(self.remaining),
            "sealed": self.sealed,
            "open_ended": self.open_ended,
            "tests": tests,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AlphaBudget:
        """Rebuild a ledger; the rules are checked again, so an overspent or duplicated file is refused."""
        if data.get("format") != _FORMAT:
            raise LedgerError(f"format: wanted {_FORMAT!r}, got {data.get('format')!r}")
        try:
            return cls._rebuilt(data)
        except (KeyError, TypeError) as error:
            raise LedgerError(f"ledger: a field is missing or of the wrong type ({error})") from error

    @classmethod
    def _rebuilt(cls, data: Mapping[str, Any]) -> AlphaBudget:
        ledger = cls(data["total"], open_ended=bool(data["open_ended"]))
        for test in data["tests"]:
            ledger.allot(test["name"], test["alpha"], test["planned_seeds"])
        for test in data["tests"]:
            if test["actual_seeds"] is not None:
                ledger.spend(test["name"], actual_seeds=test["actual_seeds"], deviation=test["deviation"])
        ledger._sealed = bool(data["sealed"]) or ledger.sealed
        return ledger
