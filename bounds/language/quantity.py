"""What a quantity is, and the rule that one name means one thing in the whole package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from .bounding import MORE_IS_STRONGER, Form
from .dimension import Dimension

POSITIVE = "positive real"
NONNEGATIVE = "nonnegative real"
COUNT = "positive integer"
MAX_STEPS = 100
STEPS = f"whole number from 0 to {MAX_STEPS}"
"""A number of steps that a recursion is unrolled for; an exact evaluation of more would take seconds."""
WEIGHTS = "weights with sum 1"
UP_TO_ONE, BELOW_ONE, BETWEEN = "(0, 1]", "[0, 1)", "(0, 1)"
"""A positive share of something, a factor that is less than 1, and a number that is neither 0 nor 1."""


@dataclass(frozen=True)
class Domain:
    """The numbers from 0 to `most`, or without an end.

    Args:
        a_number: a number of it, in words.
        total: what the numbers of all clients add up to, where they have to.
        zero: whether 0 is one of them. whole: whether all are whole numbers. open: whether `most` is not one of them.
    """

    a_number: str
    zero: bool = False
    whole: bool = False
    most: int | None = None
    open: bool = False
    total: int | None = None

    @property
    def plain(self) -> Fraction:
        """1, or 1/2 where that is none of its numbers."""
        return Fraction(1, 2) if self.open else Fraction(1)

    def contains(self, value: Any) -> Any:
        """Whether it has a number, or each of an array of finite numbers."""
        inside = value >= 0 if self.zero else value > 0
        if self.whole:
            inside = inside & (value % 1 == 0)
        if self.most is not None:
            inside = inside & (value < self.most if self.open else value <= self.most)
        return inside


DOMAINS: Mapping[str, Domain] = MappingProxyType(
    {
        POSITIVE: Domain(f"a {POSITIVE}"),
        NONNEGATIVE: Domain(f"a {NONNEGATIVE}", zero=True),
        COUNT: Domain(f"a {COUNT}", whole=True),
        STEPS: Domain(f"a {STEPS}", zero=True, whole=True, most=MAX_STEPS),
        UP_TO_ONE: Domain(f"a number in {UP_TO_ONE}", most=1),
        BELOW_ONE: Domain(f"a number in {BELOW_ONE}", zero=True, most=1, open=True),
        BETWEEN: Domain(f"a number in {BETWEEN}", most=1, open=True),
        WEIGHTS: Domain("a number in [0, 1]", zero=True, most=1, total=1),
    }
)
"""The domains by name."""
ROLES = ("constant", "hyperparameter", "observable")
"""Who sets it: the problem, the user, or a run that measures it."""


@dataclass(frozen=True)
class Quantity:
    """One meaning under one name.

    Args:
        name: an identifier.
        meaning: what it is, in one line.
        dimension: in powers of [f], [y] and [x].
        domain: one of `DOMAINS`.
        role: one of `ROLES`.
        absent: the value that it has in a statement that does not mention it, where that is known: a statement without
            a batch size holds for every size, 1 included.
        default: the value of a hyperparameter that a comparison of theorems fixes where the user does not.
        stand_ins: the quantities whose value may be taken for this one where it is not given: those that bound it from
            above, then weaker ones, which is an assumption on the problem that has to be said.
        bounds: what it bounds, formally; of an observable or a hyperparameter mostly nothing.
        each_of: the quantities, of other dimensions too, that papers bound by this one number. In a sum each summand
            takes it in the dimension of the one that it bounds there.

    Raises:
        ValueError: an unknown domain or role, or a name that is no identifier.
    """

    name: str
    meaning: str
    dimension: Dimension
    domain: str = POSITIVE
    role: str = "constant"
    absent: Fraction | None = None
    default: Fraction | None = None
    stand_ins: tuple[str, ...] = ()
    bounds: tuple[Form, ...] = ()
    each_of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"quantity {self.name!r}: the name must be an identifier")
        if self.domain not in DOMAINS:
            raise ValueError(f"quantity {self.name}: domain must be one of {tuple(DOMAINS)}, got {self.domain!r}")
        if self.role not in ROLES:
            raise ValueError(f"quantity {self.name}: role must be one of {ROLES}, got {self.role!r}")

    @property
    def numbers(self) -> Domain:
        """The numbers that it may be."""
        return DOMAINS[self.domain]

    @property
    def more_is_stronger(self) -> bool:
        """Whether it says more the larger its number is: every smaller positive number holds too."""
        return any(form.kind in MORE_IS_STRONGER for form in self.bounds)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Its own dimension, then those of the quantities that it bounds as well."""
        return tuple(dict.fromkeys((self.dimension, *(quantity(name).dimension for name in self.each_of))))

    @property
    def unit(self) -> str:
        """Its dimension in words; all of them where papers bound several quantities by it."""
        return " or ".join(map(str, self.dimensions))


_SHARED: dict[str, Quantity] = {}
_DECLARED: dict[str, Quantity] = {}
QUANTITIES: Mapping[str, Quantity] = MappingProxyType(_SHARED)
"""The shared quantities: those of `quantities.py`, and those that plug-ins have registered so far."""


def register(*quantities: Quantity) -> None:
    """Quantities join the shared vocabulary, for every theorem and every problem.

    Raises:
        ValueError: one contradicts an earlier declaration of its name.
    """
    refuse_contradictions(*quantities)
    _SHARED.update({new.name: new for new in quantities})


def refuse_contradictions(*quantities: Quantity, shared_only: bool = False) -> None:
    """One name means one thing in the whole package, also where a quantity is a single paper's own; with `shared_only` it may be
    a single theorem's own, and contradict those of other papers and theorems, which never hear of it.

    Raises:
        ValueError: a name was declared before with another meaning, dimension, domain, role or other attribute.
    """
    for new in quantities:
        known = _SHARED.get(new.name, new) if shared_only else _DECLARED.setdefault(new.name, new)
        for attribute in (field.name for field in fields(Quantity)):
            had, got = getattr(known, attribute), getattr(new, attribute)
            if had != got:
                raise ValueError(f"quantity {new.name}: its {attribute} is {had!s}, so it cannot be {got!s} too")


def quantity(name: str) -> Quantity:
    """The quantity with this name.

    Raises:
        ValueError: there is none; the message has the nearest names.
    """
    if name not in QUANTITIES:
        near = get_close_matches(name, QUANTITIES, 3, 0.5)
        hint = f"; the nearest names are {', '.join(near)}" if near else ""
        raise ValueError(f"{name[:40]!r}: not a quantity of the vocabulary{hint}")
    return QUANTITIES[name]
