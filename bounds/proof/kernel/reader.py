"""From a declared statement to signomials: terms, conditions, and formulas of derived constants, read and never retyped.

A derived constant whose formula may be negative is read as that formula. One whose formula is no signomial, and never negative, stands
for any nonnegative number: `opaque`. A function with a `quotient` (numerator, denominator) is a parameter of its own: the quotient,
and 0 where the numerator is 0. So is a power with symbols in the exponent, of a base that is not negative (`Region.exponentials`),
a derived constant that is a sum of negative powers over the steps (`Region.sums`), and log(1/delta) of a probability delta with
which a bound may fail (`Region.logarithms`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy as sp

from ...language.power import Power
from ...language.power_sum import PowerSum
from .region import log_of_inverse
from .signomial import ONE, Param, ProofError, Signomial, identifier, is_positive, signomial

FAILURE = "failure_probability"
"""The quantity of a probability with which a bound may fail; it lies between 0 and 1."""


class Reader:
    """Reads sympy expressions whose symbols are those of a vocabulary or derived constants of a statement."""

    def __init__(self, theorem: Any, statement: Any):
        self.params = {identifier(binding.name): _param(binding.symbol) for binding in theorem.notation}
        self.formulas: dict[Param, Signomial] = {}
        self.powers: dict[Param, int] = {}
        self.quotients: dict[Param, tuple[Signomial, Signomial]] = {}
        self.exponentials: dict[Param, tuple[Signomial, Signomial]] = {}
        self.sums: dict[Param, tuple[Signomial, Signomial, int]] = {}
        self.logarithms: dict[Param, Param] = {}
        self.notation = theorem.notation
        self.opaque: tuple[str, ...] = ()
        self.signed: dict[str, Signomial] = {}
        for constant in statement.derived:
            self.accept_name(identifier(constant.name))
            if hasattr(constant.expr, "quotient"):
                self.params[constant.name] = self._quotient(constant.expr, constant.name)
                continue
            if isinstance(constant.expr, PowerSum):
                self.params[constant.name] = self._sum(constant.expr, constant.name)
                continue
            try:
                formula, power = self._definition(constant.expr)
            except ProofError:
                if not (constant.symbol.is_nonnegative and self._never_negative(constant.expr)):
                    raise
                self.opaque += (constant.name,)
                self.params[constant.name] = Param(constant.name, positive=False)
                continue
            if self.may_be_negative(formula):
                self.signed[constant.name] = formula
                continue
            param = self.params[constant.name] = Param(constant.name, is_positive(formula))
            self.formulas[param] = formula
            if power != 1:
                self.powers[param] = power
        for term in statement.terms:
            for function in sorted(term.expr.atoms(sp.Function), key=str):
                if hasattr(function, "quotient"):
                    self._quotient(function)
                if isinstance(function, Power):
                    self._exponential(function)
                if isinstance(function, sp.log) and self._probability(function) is not None:
                    self._logarithm(function)

    def accept_name(self, name: str) -> None:
        """Raises where a constant has the name of a symbol or of another constant."""
        if name in self.params or name in self.signed:
            raise ProofError(f"{name} is the name of a symbol or of another constant")

    @staticmethod
    def may_be_negative(formula: Signomial) -> bool:
        return not formula.nonnegative

    def _quotient(self, function: Any, name: str = "") -> Param:
        """The parameter that a quotient is, with the name of the constant that it defines."""
        if not function.is_nonnegative:
            raise ProofError(f"{function} may be negative")
        param = Param(name or str(function), positive=False)
        above, below = (self.read(part) for part in function.quotient)
        if self.quotients.setdefault(param, (above, below)) != (above, below):
            raise ProofError(f"{function}: two quotients of one name")
        return param

    def _sum(self, made: Any, name: str) -> Param:
        """The parameter that a sum of negative powers is: positive, as it has a first term and all are."""
        first, count = (self.read(part) for part in made.args[:2])
        power = made.args[2]
        (((factors, coefficient),), more) = (count.terms[:1], count.terms[1:])
        whole = coefficient >= 1 and coefficient.denominator == 1
        whole = whole and all(param.count and e > 0 and e.denominator == 1 for param, e in factors) and not more
        if not (power.is_Integer and power < 0 and is_positive(first) and whole):
            raise ProofError(
                f"{name}: wanted a sum of negative whole powers of positive numbers, over a number of steps"
            )
        if (first.params | count.params) & (self.formulas.keys() | self.quotients.keys() | self.sums.keys()):
            raise ProofError(f"{name}: wanted symbols of the statement in a sum, got derived constants")
        param = Param(name)
        self.sums[param] = (first, count, int(power))
        return param

    def _exponential(self, power: Power) -> Signomial:
        base, exponent = (self.read(part) for part in power.args)
        if not all(param.count for param in exponent.params) or not exponent.nonnegative:
            raise ProofError(f"{power}: the exponent is no product of whole numbers")
        param = Param(str(power), positive=False)
        if self.exponentials.setdefault(param, (base, exponent)) != (base, exponent):
            raise ProofError(f"{power}: two powers of one name")
        return param.number

    def _logarithm(self, function: Any) -> Signomial:
        """log(1/delta) of a probability delta of failure, which is less than 1."""
        probability = self._probability(function)
        assert probability is not None
        param = log_of_inverse(probability)
        self.logarithms[param] = probability
        return param.number

    def _probability(self, function: Any) -> Param | None:
        """delta of log(1/delta), where it is a probability of failure."""
        (inside,) = function.args
        found = (b.name for b in self.notation if b.symbol == 1 / inside and b.quantity.name == FAILURE)
        return next((self.params[name] for name in found), None)

    def _never_negative(self, expr: Any) -> bool:
        """Whether a formula is nonnegative for all values of its symbols; (1 + a)^n is at least 1 for nonnegative a and n."""
        if any(symbol.name in self.signed for symbol in expr.free_symbols):
            return False
        grown = expr.replace(_at_least_one, lambda _: 1 + sp.Dummy(nonnegative=True))
        return bool(expr.is_nonnegative or sp.expand(grown).is_nonnegative)

    def _definition(self, expr: Any) -> tuple[Signomial, int]:
        """(formula, n) such that the n-th power of a constant is the formula: n = 2 for the root of a sum."""
        if expr.is_Pow and expr.exp.is_Rational and expr.exp.p == 1 and expr.base.is_Add:
            base = self.read(expr.base)
            if base.nonnegative:
                return base, int(expr.exp.q)
        return self.read(expr), 1

    def __getattr__(self, name: str) -> Signomial:
        if name.startswith("_") or name not in {*self.params, *self.signed}:
            raise AttributeError(name)
        if name in self.signed:
            return self.signed[name]
        return self.params[name].number

    def read(self, expr: Any) -> Signomial:
        """The expression as a signomial.

        Raises:
            ProofError: it is none.
        """
        if expr.is_Rational:
            return signomial(Fraction(int(expr.p), int(expr.q)))
        if expr.is_Symbol:
            if expr.name not in {*self.params, *self.signed}:
                raise ProofError(f"{expr}: not a symbol of the statement")
            return getattr(self, expr.name)
        if expr.is_Add or expr.is_Mul:
            total = Signomial() if expr.is_Add else ONE
            for part in expr.args:
                total = total + self.read(part) if expr.is_Add else total * self.read(part)
            return total
        if expr.is_Pow and expr.exp.is_Rational:
            return self.read(expr.base) ** Fraction(int(expr.exp.p), int(expr.exp.q))
        if hasattr(expr, "quotient"):
            return self._quotient(expr).number
        if isinstance(expr, Power):
            return self._exponential(expr)
        if isinstance(expr, sp.log) and self._probability(expr) is not None:
            return self._logarithm(expr)
        raise ProofError(
            f"{expr}: wanted sums, products and rational powers, or log(1/delta) of a probability of failure"
        )

    def slack(self, condition: Any) -> tuple[Signomial, ...]:
        """What is nonnegative where the condition holds: (right - left,), and both signs for an equality."""
        left, right = condition.left, condition.right
        if condition.relation in (">", ">="):
            left, right = right, left
        small, large = self._compared(left, right)
        return (large - small, small - large) if condition.relation == "==" else (large - small,)

    def _compared(self, left: Any, right: Any) -> tuple[Signomial, Signomial]:
        """Both sides raised to a common power and multiplied by the denominators, which keeps the order."""
        try:
            return self.read(left), self.read(right)
        except ProofError:
            first, second = self._factors(left), self._factors(right)
        power = 1
        for _, exponent in first + second:
            power = power * exponent.denominator // _gcd(power, exponent.denominator)
        small, large = ONE, ONE
        for factors, sides in ((first, 0), (second, 1)):
            for base, exponent in factors:
                if not base.nonnegative:
                    raise ProofError(f"{base!r} may be negative: the condition cannot be squared")
                here = (sides == 0) == (exponent > 0)
                if here:
                    small = small * base ** abs(exponent * power)
                else:
                    large = large * base ** abs(exponent * power)
        return small, large

    def _factors(self, expr: Any) -> list[tuple[Signomial, Fraction]]:
        rows: list[tuple[Signomial, Fraction]] = []
        for factor in expr.args if expr.is_Mul else (expr,):
            if factor.is_Pow and factor.exp.is_Rational:
                inner = Fraction(int(factor.exp.p), int(factor.exp.q))
                rows += [(base, e * inner) for base, e in self._factors(factor.base)]
            else:
                rows.append((self.read(factor), Fraction(1)))
        return rows


def _at_least_one(expr: Any) -> bool:
    return bool(expr.is_Pow and (expr.base - 1).is_nonnegative and expr.exp.is_nonnegative)


def _gcd(a: int, b: int) -> int:
    return a if b == 0 else _gcd(b, a % b)


def _param(symbol: Any) -> Param:
    positive = bool(symbol.is_positive)
    return Param(symbol.name, positive, positive and bool(symbol.is_integer))
