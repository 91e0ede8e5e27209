"""How large a term of the declared statement would have to be at an instance that refutes a weakened one."""

from __future__ import annotations

from fractions import Fraction

from ...bounds.evaluation.enclosure import EnclosureError, enclose_bound
from ...bounds.language.reading import InputError
from .confirm import BITS, Confirmed
from .declared import Target

Q = Fraction


def coefficient_lower_bound(target: Target, found: Confirmed) -> float:
    """The part of the term's coefficient that the instance needs: with any smaller part the bound is violated there.

    0 where the change is none of a term's coefficient, or where the term vanishes there.
    """
    change, declared = target.change, target.declared
    if change is None or change.way not in ("dropped", "divided"):
        return 0.0
    statement = declared.statement(target.label)
    try:
        known = {**found.claimed.values, **found.seen}
        point = {name: value for name, value in known.items() if name in statement.symbols}
        lower, upper = enclose_bound(statement, point, bits=BITS)[change.part].pair
    except (InputError, EnclosureError, KeyError):
        return 0.0
    if lower <= 0:
        return 0.0
    kept = Q(0) if change.way == "dropped" else 1 / change.factor
    return max(0.0, float((found.left[0] - found.right[1]) / upper + kept))
