"""Where the parameters may lie, and certificates that a signomial is nonnegative there.

A certificate is a list of (multiplier, names): the sum of multiplier * product of the named slacks is subtracted, and nothing
negative may remain. Whoever finds it need not be trusted; `Region.certified` only multiplies and compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from .signomial import Param, ProofError, Signomial, parameter, signomial

Certificate = tuple[tuple[Signomial, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Region:
    """The conditions as slacks (name -> expression that is nonnegative), and constants with their formulas.

    `powers` says which constants are roots: the power of such a constant, not itself, is its formula. `quotients`: parameters
    that are (above, below), above over below, and 0 where above is 0. `exponentials`: parameters that are (base, exponent). `sums`:
    parameters that are (first, count, power), the sum of the powers of first, first + 1, ..., of which there are `count`. `logarithms`:
    parameters that are log(1/p) of a probability p, of which nothing is known here but that they are positive.
    A count n adds the slacks `n>=1` (n - 1) and `n whole` ((n - 1)(n - 2), nonnegative for whole n), a quotient s the slacks
    `s defined` (above - s below) and `s defined reversed`, both of which are 0 wherever the quotient has a value.
    """

    conditions: Mapping[str, Signomial]
    formulas: Mapping[Param, Signomial] = field(default_factory=dict)
    powers: Mapping[Param, int] = field(default_factory=dict)
    quotients: Mapping[Param, tuple[Signomial, Signomial]] = field(default_factory=dict)
    exponentials: Mapping[Param, tuple[Signomial, Signomial]] = field(default_factory=dict)
    sums: Mapping[Param, tuple[Signomial, Signomial, int]] = field(default_factory=dict)
    logarithms: Mapping[Param, Param] = field(default_factory=dict)

    def slack(self, name: str) -> Signomial:
        """The nonnegative expression with this name.

        Raises:
            ProofError: there is none.
        """
        if name in self.conditions:
            return self.conditions[name]
        for quotient, (above, below) in self.quotients.items():
            if name in slacks_of(quotient):
                gap = above - quotient.number * below
                return gap if name == slacks_of(quotient)[0] else -gap
        param = Param(name.split(">=")[0].split(" whole")[0], True, True)
        n = parameter(param.name, count=True)
        if name == f"{param.name}>=1":
            return n - 1
        if name == f"{param.name} whole":
            return (n - 1) * (n - 2)
        raise ProofError(f"{name!r} is not a condition; there are {sorted(self.conditions)}")

    def remainder(self, value: Signomial, certificate: Certificate) -> Signomial:
        """The value without the products of the certificate, formulas put in; nonnegative terms only if it is one."""
        left = value
        for multiplier, names in certificate:
            product = multiplier
            for name in names:
                product = product * self.slack(name)
            left = left - product
        return left if left.nonnegative else self.expanded(left)

    def certified(self, value: Signomial, certificate: Certificate) -> bool:
        """Whether the certificate shows value >= 0 on the region."""
        fair = all(multiplier.nonnegative for multiplier, _ in certificate)
        return fair and self.remainder(value, certificate).nonnegative

    def expanded(self, value: Signomial) -> Signomial:
        """The value times a positive factor, with the formulas of the constants put in."""
        for param, formula in reversed(list(self.formulas.items())):
            power = self.powers.get(param, 1)
            exponents = [e for m, _ in value.terms for p, e in m if p == param]
            if any(Fraction(e, power).denominator != 1 for e in exponents):
                return value
            lowest = min(exponents, default=0)
            if lowest < 0:
                value = value * parameter(param.name, positive=param.positive, count=param.count) ** -lowest
            value = value.substitute(param, formula, power)
        return value

    def constants_at(self, point: Mapping[Param, Fraction]) -> dict[Param, Fraction]:
        """The point with the values of the constants.

        Raises:
            ProofError: a root is not rational.
        """
        found = dict(point)
        for param, (first, count, power) in self.sums.items():
            found[param] = sum_of_powers(param.name, first.at(found), count.at(found), power)
        for param, formula in self.formulas.items():
            root = signomial(formula.at(found)) ** Fraction(1, self.powers.get(param, 1))
            found[param] = root.at({})
        for param, (above, below) in self.quotients.items():
            number = above.at(found)
            if number and not below.at(found):
                raise ProofError(f"{param.name} is a division by 0")
            found[param] = number / below.at(found) if number else Fraction(0)
        for param, (base, exponent) in self.exponentials.items():
            found[param] = whole_power(param.name, base.at(found), exponent.at(found))
        return found

    def at(self, values: Mapping[Param, Fraction]) -> Region:
        """Where the parameters have these values: whether something is nonnegative there is a comparison of numbers.

        The conditions are left out, as none is needed to compare numbers. A root that is not rational keeps its formula.

        Raises:
            ProofError: a constant divides by 0.
        """
        found, left = Region({}, sums=self.sums).constants_at(values), {}
        for param, formula in self.formulas.items():
            try:
                found |= Region({}, {param: formula}, self.powers).constants_at(found)
            except ProofError:
                if param not in self.powers:
                    raise
                left[param] = formula
        for more in (Region({}, quotients=self.quotients), Region({}, exponentials=self.exponentials)):
            found |= more.constants_at(found)
        formulas = {param: signomial(value) for param, value in found.items()}
        powers = {param: power for param, power in self.powers.items() if param in left}
        return Region({}, {**formulas, **left}, powers, self.quotients, self.exponentials, self.sums)


def log_of_inverse(probability: Param) -> Param:
    """log(1/p) of a probability p < 1."""
    return Param(f"log(1/{probability.name})")


LONGEST_SUM = 4096
"""Most terms of a sum that is worked out at a point."""


def sum_of_powers(name: str, first: Fraction, count: Fraction, power: int) -> Fraction:
    """first^power + (first + 1)^power + ..., so many terms.

    Raises:
        ProofError: their number is no whole number, or too large.
    """
    if count.denominator != 1 or not 0 <= count <= LONGEST_SUM:
        raise ProofError(f"{name}: wanted a number of terms from 0 to {LONGEST_SUM}, got {count}")
    return sum(((first + k) ** power for k in range(int(count))), Fraction(0))


def whole_power(name: str, base: Fraction, exponent: Fraction) -> Fraction:
    """A power of a number that is not negative.

    Raises:
        ProofError: the exponent is no whole number.
    """
    if exponent.denominator != 1 or exponent < 0:
        raise ProofError(f"{name}: the exponent {exponent} is no whole number")
    return base**exponent.numerator


def slacks_of(quotient: Param) -> tuple[str, str]:
    """The names of the slacks by which a quotient is above over below."""
    return f"{quotient.name} defined", f"{quotient.name} defined reversed"


def used_conditions(certificate: Iterable[tuple[Signomial, tuple[str, ...]]]) -> frozenset[str]:
    """Names of the slacks that a certificate multiplies by something."""
    return frozenset(name for multiplier, names in certificate if multiplier for name in names)
