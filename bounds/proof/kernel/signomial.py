"""Exact numbers with parameters: sums of rational multiples of powers of named parameters.

A parameter is a nonnegative real; one that may be 0 never gets a negative exponent, so nothing here can divide by zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from typing import Any, Union


class ProofError(ValueError):
    """A step does not follow, or a declaration is not allowed; the message says what is left over or missing."""


@dataclass(frozen=True, order=True)
class Param:
    """A nonnegative parameter; `positive` excludes 0, `count` makes it a whole number of at least 1.

    `moving`: in a statement about step t it stands for a number that depends on t. `least`: the two numbers of which it is the smaller.
    """

    name: str
    positive: bool = True
    count: bool = False
    moving: bool = False
    least: tuple[Signomial, ...] = ()

    def __post_init__(self) -> None:
        if self.count and not self.positive:
            raise ProofError(f"{self.name}: a count is positive")
        if bool(self.least) != self.name.startswith(LEAST):
            raise ProofError(f"{self.name}: the name of a minimum")

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def number(self) -> Signomial:
        """The parameter itself."""
        return Signomial([(((self, 1),), 1)])


LEAST = "min("
"""Beginning of the name of the smaller of two numbers, and of no other name."""


Exponent = int | Fraction
Monomial = tuple[tuple[Param, Exponent], ...]
Coefficient = Union["Signomial", Fraction, int]


class Signomial:
    """A sum of terms c * p1^e1 * p2^e2 ... with rational c and e; immutable, equal when the terms are."""

    __slots__ = ("_hash", "_params", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction | int] | Iterable[tuple[Monomial, Fraction | int]] = ()):
        collected: dict[Monomial, Fraction] = {}
        given: Any = terms if type(terms) in (list, tuple) or not isinstance(terms, Mapping) else terms.items()
        for monomial, coefficient in given:
            new = coefficient if type(coefficient) is Fraction else Fraction(coefficient)
            before = collected.get(monomial)
            collected[monomial] = new if before is None else before + new
        for monomial in collected:
            for param, exponent in monomial:
                if exponent < 0 and not param.positive:
                    raise ProofError(f"{param.name} may be 0: no division by it")
        found = [(m, c) for m, c in collected.items() if c]
        self.terms = tuple(sorted(found, key=_order) if len(found) > 1 else found)
        self._hash: int | None = None
        self._params: frozenset[Param] | None = None

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Signomial) and self.terms == other.terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.terms)
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Coefficient) -> Signomial:
        if not isinstance(other, Signomial | int | Fraction):
            return NotImplemented
        table = dict(self.terms)
        for monomial, coefficient in signomial(other).terms:
            before = table.get(monomial)
            table[monomial] = coefficient if before is None else before + coefficient
        return _in_order([(monomial, coefficient) for monomial, coefficient in table.items() if coefficient])

    def __mul__(self, other: Coefficient) -> Signomial:
        if not isinstance(other, Signomial | int | Fraction):
            return NotImplemented
        left, right = self.terms, signomial(other).terms
        for terms, factor in ((left, right), (right, left)):
            if len(factor) == 1:
                ((monomial, coefficient),) = factor
                if not monomial:
                    return _scaled(terms, coefficient)
                return _in_order([(_times(m, monomial), c * coefficient) for m, c in terms])
        return Signomial([(_times(m, n), c * d) for m, c in left for n, d in right])

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Signomial:
        return _scaled(self.terms, Fraction(-1))

    def __sub__(self, other: Coefficient) -> Signomial:
        if not isinstance(other, Signomial | int | Fraction):
            return NotImplemented
        return self + -signomial(other)

    def __rsub__(self, other: Coefficient) -> Signomial:
        return signomial(other) - self

    def __truediv__(self, other: Coefficient) -> Signomial:
        return self * signomial(other) ** -1

    def __rtruediv__(self, other: Coefficient) -> Signomial:
        return signomial(other) * self**-1

    def __pow__(self, exponent: int | Fraction) -> Signomial:
        exponent = Fraction(exponent)
        if exponent.denominator == 1 and exponent >= 0:
            result = ONE
            for _ in range(int(exponent)):
                result = result * self
            return result
        if len(self.terms) != 1:
            raise ProofError(f"({self})^{exponent}: only a single term has such a power")
        (monomial, coefficient), power = self.terms[0], exponent
        raised = tuple((p, _exponent(e * power)) for p, e in monomial)
        return Signomial([(raised, _rational_power(coefficient, power))])

    def sqrt(self) -> Signomial:
        """The root of a single term."""
        return self ** Fraction(1, 2)

    def __repr__(self) -> str:
        return _text(self)

    @property
    def params(self) -> frozenset[Param]:
        """Its parameters; in the place of a minimum those of the two numbers."""
        if self._params is None:
            own = frozenset(param for monomial, _ in self.terms for param, _ in monomial)
            inner = (value.params for param in own for value in param.least)
            self._params = frozenset(param for param in own if not param.least).union(*inner)
        return self._params

    def least(self, other: Coefficient) -> Signomial:
        """The smaller of two nonnegative numbers, as a parameter of its own."""
        first, second = sorted((self, signomial(other)), key=repr)
        if not (first.nonnegative and second.nonnegative):
            raise ProofError(f"{first!r} or {second!r} may be negative: no minimum")
        param = Param(f"{LEAST}{first!r}, {second!r})", positive=False, least=(first, second))
        return first if first == second else param.number

    @property
    def nonnegative(self) -> bool:
        """Whether nothing is subtracted: then the value is nonnegative for all parameters."""
        return all(coefficient >= 0 for _, coefficient in self.terms)

    def substitute(self, param: Param, value: Signomial, power: int = 1) -> Signomial:
        """`value` for param^power; a value of several terms needs whole nonnegative exponents.

        Raises:
            ProofError: the parameter stands in a minimum.
        """
        total = ZERO
        for monomial, coefficient in self.terms:
            if any(param in part.params for p, _ in monomial for part in p.least):
                raise ProofError(f"{param.name} stands in a minimum: nothing can be put in for it there")
            rest = tuple((p, e) for p, e in monomial if p != param)
            exponent = _exponent(Fraction(dict(monomial).get(param, 0)) / power)
            total = total + Signomial([(rest, coefficient)]) * (value**exponent if exponent else ONE)
        return total

    def at(self, point: Mapping[Param, Fraction]) -> Fraction:
        """The exact value at a rational point.

        Raises:
            ProofError: a parameter has no value there, or a root of one is not rational.
        """
        if missing := sorted(param.name for param in self.params - point.keys()):
            logarithm = str(missing[0]).startswith("log(")
            more = ", of which only the sign is known: it may stand in the terms of a bound" if logarithm else ""
            raise ProofError(f"no value for {missing[0]}{more}")
        total = Fraction(0)
        for monomial, coefficient in self.terms:
            for param, exponent in monomial:
                here = min(value.at(point) for value in param.least) if param.least else Fraction(point[param])
                coefficient *= here**exponent if isinstance(exponent, int) else _rational_power(here, exponent)
            total += coefficient
        return total


def _order(term: tuple[Monomial, Fraction]) -> list[tuple[str, bool, bool, Exponent]]:
    return [(p.name, p.positive, p.count, e) for p, e in term[0]]


def _times(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    exponents = dict(left)
    for param, exponent in right:
        exponents[param] = _exponent(exponents.get(param, 0) + exponent)
    return tuple(sorted([item for item in exponents.items() if item[1]], key=_param_order))


def _param_order(item: tuple[Param, Exponent]) -> tuple[str, bool, bool, bool, tuple[Signomial, ...]]:
    """That of the parameters, faster."""
    param = item[0]
    return param.name, param.positive, param.count, param.moving, param.least


def _in_order(terms: list[tuple[Monomial, Fraction]]) -> Signomial:
    """Terms of a sum or a product of signomials: their monomials differ, and none of them divides by what may be 0."""
    return _made(tuple(sorted(terms, key=_order) if len(terms) > 1 else terms))


def _scaled(terms: tuple[tuple[Monomial, Fraction], ...], factor: Fraction) -> Signomial:
    """A number other than 0 times terms, which stay in their order."""
    return _made(terms if factor == 1 else tuple([(monomial, coefficient * factor) for monomial, coefficient in terms]))


def _made(terms: tuple[tuple[Monomial, Fraction], ...]) -> Signomial:
    """Terms as they stand in a signomial."""
    found = Signomial.__new__(Signomial)
    found.terms, found._hash, found._params = terms, None, None
    return found


def _exponent(value: Exponent) -> Exponent:
    return int(value) if value.denominator == 1 else value


def _rational_power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator == 1:
        return base ** int(exponent)
    roots = []
    for number in (base.numerator, base.denominator):
        root = round(number ** (1 / exponent.denominator)) if number > 0 else 0
        if root**exponent.denominator != number:
            raise ProofError(f"{base}^{exponent} is not rational")
        roots.append(root)
    return Fraction(*roots) ** exponent.numerator


def signomial(value: Coefficient) -> Signomial:
    """A number or a signomial as a signomial; a float is refused."""
    if isinstance(value, Signomial):
        return value
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise ProofError(f"{value!r}: wanted an exact number")
    return Signomial([((), Fraction(value))])


def parameter(name: str, *, positive: bool = True, count: bool = False) -> Signomial:
    """The parameter as a signomial."""
    return Param(name, positive, count).number


def _text(value: Signomial) -> str:
    if not value.terms:
        return "0"
    parts = [_term_text(monomial, coefficient) for monomial, coefficient in value.terms]
    return " + ".join(parts).replace("+ -", "- ")


def _term_text(monomial: Monomial, coefficient: Fraction) -> str:
    above = [_power_text(p, e) for p, e in monomial if e > 0]
    below = [_power_text(p, -e) for p, e in monomial if e < 0]
    if coefficient.denominator != 1:
        below.insert(0, str(coefficient.denominator))
    number = coefficient.numerator
    head = "*".join(([] if number in (1, -1) and above else [str(abs(number))]) + above)
    tail = "" if not below else "/" + (below[0] if len(below) == 1 else f"({'*'.join(below)})")
    return ("-" if number < 0 else "") + head + tail


def _power_text(param: Param, exponent: Exponent) -> str:
    if exponent == 1:
        return param.name
    return f"{param.name}^{exponent if exponent.denominator == 1 else f'({exponent})'}"


POSITION = Param("position in the round", positive=False, moving=True)
"""In a statement about step t: how many steps the round is old, t mod n for n steps in a round."""
CLOCK = Param("(t + offset)", moving=True)
"""In a statement about step t: t + the positive `offset` of the derivation, by which step sizes such as a/(t + t0) decline."""
SINCE_START = "t >= 0"
"""The name of the condition that the clock shows at least the offset."""


def identifier(name: str) -> str:
    """The name of a thing, which is an identifier: so nothing that is written with several names or signs reads like it.

    Raises:
        ProofError: it is none.
    """
    if not name.isidentifier():
        raise ProofError(f"the name {name!r} is no identifier")
    return name


def mentions(value: object, param: Param) -> bool:
    """Whether a parameter stands anywhere in a declaration, a rule or a fact."""
    return param in params_in(value)


def moves(value: object) -> bool:
    """Whether a number that depends on the step stands anywhere in a declaration, a rule or a fact."""
    return any(param.moving for param in params_in(value))


def clock() -> Signomial:
    """The clock as a signomial."""
    return CLOCK.number


def is_positive(value: Signomial) -> bool:
    """Whether a number is positive for all values of its parameters: nothing subtracted, and one term that is never 0."""
    return value.nonnegative and any(all(p.positive for p, _ in monomial) for monomial, _ in value.terms)


def holds(value: object, kind: type) -> bool:
    """Whether an object of this kind stands anywhere in a declaration, a rule or a fact."""
    return isinstance(value, kind) or any(holds(part, kind) for part in _parts_of(value))


def params_in(value: object) -> frozenset[Param]:
    """The parameters that stand anywhere in a declaration, a rule or a fact."""
    if isinstance(value, Param):
        return frozenset({value}).union(*(part.params for part in value.least))
    if isinstance(value, Signomial):
        return value.params
    return frozenset().union(*(params_in(part) for part in _parts_of(value)))


def _parts_of(value: object) -> Iterable[object]:
    kind: Any = type(value)
    if kind in _LEAVES:
        return ()
    if isinstance(value, Mapping):
        return (*value.keys(), *value.values())
    if isinstance(value, tuple | list | frozenset):
        return value
    return [getattr(value, name) for name in _field_names(kind)]


_LEAVES = frozenset({type(None), str, bool, int, Fraction})
"""Types, and none that is derived from them, of most of what is asked about."""


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    """Of a dataclass; another type has none."""
    return tuple(item.name for item in fields(kind)) if is_dataclass(kind) else ()


def put_in_numbers(value: Signomial, table: Mapping[Param, Signomial]) -> Signomial:
    """Numbers put in for parameters, all at once; one of several terms needs whole nonnegative exponents."""
    total = ZERO
    for monomial, coefficient in value.terms:
        product = Signomial([(tuple((p, e) for p, e in monomial if p not in table and not p.least), coefficient)])
        for param, exponent in monomial:
            if param.least:
                first, second = (put_in_numbers(part, table) for part in param.least)
                product = product * first.least(second) ** exponent
            elif param in table:
                product = product * table[param] ** exponent
        total = total + product
    return total


ZERO = Signomial()
ONE = Signomial([((), 1)])
