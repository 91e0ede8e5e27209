"""Named rules that fill in constants which a user does not know; each is an assumption on the problem, and is said beside the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from .quantities import NONNEGATIVE, QUANTITIES


@dataclass(frozen=True)
class Rule:
    """What a rule takes for a quantity that is not given.

    Args:
        name: as the command line has it. meaning: what it assumes of the problem, in a few words.
        fills: quantity -> sources, the first whose quantities are known is taken: a number, or quantities joined by `*`.
        fills_any: whether it takes the plain number of its domain for any other quantity.
    """

    name: str
    meaning: str
    fills: Mapping[str, tuple[str, ...]]
    fills_any: bool = False

    def value(
        self, quantity: str, known: Mapping[str, Fraction], plain: Fraction = Fraction(1)
    ) -> tuple[Fraction, str] | None:
        """The value and its source, or None where the rule says nothing or lacks a quantity."""
        for source in self.fills.get(quantity, (str(plain),) if self.fills_any else ()):
            parts = [Fraction(part) if part[0].isdigit() else known.get(part) for part in source.split("*")]
            if None not in parts:
                value = Fraction(1)
                for part in parts:
                    value *= part or Fraction(0)
                return value, source
        return None


def _zero(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    return {name: ("0",) for name in names if QUANTITIES[name].domain == NONNEGATIVE}


_CONSTANTS = [name for name, quantity in QUANTITIES.items() if quantity.role == "constant"]
RULES: Mapping[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "zero_noise",
            "every oracle is exact",
            _zero(name for name in _CONSTANTS if name.endswith(("_noise", "_fourth_moment"))),
        ),
        Rule("equal_clients", "all clients are the same", _zero(n for n in _CONSTANTS if n.endswith("_heterogeneity"))),
        Rule("exact_start", "the first inner estimate is exact", _zero(["initial_inner_error"])),
        Rule(
            "no_extra_term",
            "there is no non-compositional function",
            _zero(name for name in _CONSTANTS if name.startswith("noncompositional_")),
        ),
        Rule(
            "bounded_domain",
            "the models stay in a ball of radius domain_radius, at whose centre the inner value has no noise",
            {"inner_value_noise": ("inner_jacobian_noise*domain_radius", "inner_noise*domain_radius")},
        ),
        Rule(
            "stand_ins",
            "a constant of samples, of a mean square or of the mean function is taken for another one of the same function",
            {name: QUANTITIES[name].stand_ins for name in _CONSTANTS if QUANTITIES[name].stand_ins},
        ),
        Rule(
            "unit_constants",
            "every constant that is not given is 1, or 1/2 where it is less than 1",
            {name: (str(QUANTITIES[name].numbers.plain),) for name in _CONSTANTS},
            fills_any=True,
        ),
    )
}
"""The rules by name. Where several are asked for, the first that knows a value is taken."""


def rules_for(quantities: Iterable[str]) -> dict[str, list[str]]:
    """Rule -> those of the quantities that it may fill; without `unit_constants`, which fills anything."""
    wanted = list(quantities)
    found = {name: [q for q in wanted if q in rule.fills] for name, rule in RULES.items() if name != "unit_constants"}
    return {name: filled for name, filled in found.items() if filled}
