"""Reading a formula that a user typed: a grammar of our own, from text to sympy, and nothing of it is ever executed.

    formula  = product {("+" | "-") product}
    product  = factor {("*" | "/") factor}
    factor   = ("+" | "-") factor | atom ["**" factor]
    atom     = number | name | function "(" formula {"," formula} ")" | "(" formula ")" | sum
    sum      = "sum" "(" name "," formula "," formula "," formula ")"      from one end to the other, and what is summed
             | ("sum_i" | "mean_i" | "max_i" | "min_i") "(" formula ")"    over the clients, of what each has
    relation = formula ("<" | "<=" | ">=" | ">" | "==") formula

Numbers are exact (0.1 is 1/10), names are those that the caller declares, functions are those of `FUNCTIONS`. A power whose exponent
has names in it, and exp, are a `power.Power`. Length, depth and the size of numbers are bounded: a short text can neither run long
nor fill the memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

import sympy as sp

from ...suggestion import nearest
from .clients import OVER_CLIENTS, SUFFIX, bare
from .power import MAX_POWER, Power
from .power_sum import NoSumError, sum_over
from .reading import InputError, read_number

MAX_FORMULA = 2000
"""Most characters of one formula."""
MAX_DEPTH = 40
"""Most parentheses, signs and powers inside each other."""
MAX_BITS = 4096
"""Most bits of a number to which a part of a formula evaluates."""
RELATIONS = ("<", "<=", ">=", ">", "==")
FUNCTIONS = ("sqrt", "min", "max", "log", "exp", "floor", "ceil", "sum", *OVER_CLIENTS)

_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_]*)"
    r"|(?P<mark>\*\*|<=|>=|==|[-+*/(),<>])"
)
_INSTEAD = {
    "^": "**",
    "=<": "<=",
    "=>": ">=",
    "=": "==",
    "≤": "<=",
    "≥": ">=",
    "·": "*",
    "×": "*",
    "−": "-",
    "–": "-",
    "√": "sqrt()",
    "²": "**2",
}


class FormulaError(InputError):
    """A formula that cannot be read; the message says at which column, counted from 1."""


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    column: int


def read_formula(text: str, names: Mapping[str, sp.Expr]) -> sp.Expr:
    """The expression that a text writes down.

    Args:
        text: for instance `4*eta**2*p**2*L**2`.
        names: the declared names and what they stand for; no other name is read.

    Raises:
        FormulaError: anything that is not in the grammar, an undeclared name, a division by zero, a value that is not
            real, or a text beyond the limits.

    Example:
        >>> eta, L = sp.symbols("eta L", positive=True)
        >>> read_formula("2*eta/(0.1*L)", {"eta": eta, "L": L})
        20*eta/L
    """
    reader = _Reader(text, names)
    found = reader.formula()
    reader.wants_end("an operator")
    return found


def read_relation(text: str, names: Mapping[str, sp.Expr]) -> tuple[sp.Expr, str, sp.Expr]:
    """Left side, relation and right side of a condition such as `eta <= 1/L`; raises as `read_formula`."""
    reader = _Reader(text, names)
    left = reader.formula()
    relation = reader.relation()
    right = reader.formula()
    reader.wants_end("an operator; a chain such as a < b < c is two conditions")
    return left, relation, right


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            _refuse(at + 1, _strange(text[at : at + 2]))
        if match.lastgroup != "space":
            found.append(_Token(str(match.lastgroup), match.group(), at + 1))
        at = match.end()
    return [*found, _Token("end", "", len(text) + 1)]


def _strange(begins: str) -> str:
    character = begins if begins in _INSTEAD else begins[0]
    hint = f"; write {_INSTEAD[character]}" if character in _INSTEAD else ""
    return f"{character!a} is not part of a formula (numbers, names, + - * / ** ( ) , {' '.join(FUNCTIONS)}){hint}"


def _refuse(column: int, reason: str) -> NoReturn:
    raise FormulaError(f"column {column}: {reason}")


class _Reader:
    """A text with a position; each method reads one rule of the grammar and leaves the position behind it."""

    def __init__(self, text: str, names: Mapping[str, sp.Expr]) -> None:
        if len(text) > MAX_FORMULA:
            raise FormulaError(f"wanted a formula of at most {MAX_FORMULA} characters, got {len(text)}")
        self.names = names
        self.tokens = _tokens(text)
        self.position = 0
        self.depth = 0

    @property
    def here(self) -> _Token:
        return self.tokens[self.position]

    def accept(self, *marks: str) -> _Token | None:
        """The next token, if it is one of these marks."""
        token = self.here
        if token.kind != "mark" or token.text not in marks:
            return None
        self.position += 1
        return token

    def expect(self, mark: str, opened: _Token) -> None:
        if self.accept(mark) is None:
            _refuse(self.here.column, f"wanted {mark!r} for the '(' of column {opened.column}, got {self._shown()}")

    def wants_end(self, wanted: str) -> None:
        if self.here.kind != "end":
            _refuse(self.here.column, f"wanted {wanted} or the end, got {self._shown()}")

    def _shown(self) -> str:
        return repr(self.here.text[:30]) if self.here.text else "the end"

    def relation(self) -> str:
        token = self.accept(*RELATIONS)
        if token is None:
            _refuse(self.here.column, f"wanted an operator or a relation ({' '.join(RELATIONS)}), got {self._shown()}")
        return token.text

    def formula(self) -> sp.Expr:
        column = self.here.column
        parts = [self.product()]
        while sign := self.accept("+", "-"):
            part = self.product()
            parts.append(part if sign.text == "+" else -part)
        return _sane(sp.Add(*parts), column) if len(parts) > 1 else parts[0]

    def product(self) -> sp.Expr:
        column = self.here.column
        parts = [self.factor()]
        while mark := self.accept("*", "/"):
            at = self.here.column
            part = self.factor()
            if mark.text == "/" and part.is_zero:
                _refuse(at, "a division by zero")
            parts.append(part if mark.text == "*" else 1 / part)
        return _sane(sp.Mul(*parts), column) if len(parts) > 1 else parts[0]

    def factor(self) -> sp.Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            _refuse(self.here.column, f"more than {MAX_DEPTH} parentheses, signs and powers inside each other")
        sign = self.accept("+", "-")
        found = self.factor() if sign else self.power()
        self.depth -= 1
        return -found if sign and sign.text == "-" else found

    def power(self) -> sp.Expr:
        column = self.here.column
        base = self.atom()
        if not self.accept("**"):
            return base
        at = self.here.column
        return _power(base, self.factor(), column, at)

    def atom(self) -> sp.Expr:
        token = self.here
        if opened := self.accept("("):
            found = self.formula()
            self.expect(")", opened)
            return found
        self.position += 1
        if token.kind == "number":
            return _number(token)
        if token.kind == "name":
            return self._named(token)
        self.position -= 1
        _refuse(token.column, f"wanted a number, a name or '(', got {self._shown()}")

    def _named(self, token: _Token) -> sp.Expr:
        called = self.accept("(")
        if token.text in self.names and not called:
            return self.names[token.text]
        if called and token.text in FUNCTIONS:
            return self._call(token, called)
        if called:
            _refuse(token.column, f"{token.text[:30]!r} cannot be called; the only functions are {' '.join(FUNCTIONS)}")
        if token.text in FUNCTIONS:
            _refuse(token.column, f"wanted '(' after {token.text}")
        _refuse(token.column, f"{token.text[:30]!r} is not a declared name; {nearest(token.text, self.names)}")

    def _sum(self, token: _Token, opened: _Token) -> sp.Expr:
        """A sum over an index that is a name of its own, from one whole number to another."""
        index = self.here
        if index.kind != "name" or index.text in (*self.names, *FUNCTIONS):
            _refuse(index.column, f"wanted a new name for what the sum is over, such as t, got {self._shown()}")
        self.position += 1
        self.expect(",", opened)
        low = self.formula()
        self.expect(",", opened)
        high = self.formula()
        self.expect(",", opened)
        counter = sp.Dummy(index.text, integer=True, **{"positive" if low.is_positive else "nonnegative": True})
        outside, self.names = self.names, {**self.names, index.text: counter}
        try:
            summand = self.formula()
        finally:
            self.names = outside
        self.expect(")", opened)
        try:
            return _sane(sum_over(counter, low, high, summand), token.column)
        except NoSumError as error:
            _refuse(token.column, f"sum: {error}")

    def _call(self, token: _Token, opened: _Token) -> sp.Expr:
        if token.text == "sum":
            return self._sum(token, opened)
        arguments = [self.formula()]
        while self.accept(","):
            arguments.append(self.formula())
        self.expect(")", opened)
        if token.text not in ("min", "max"):
            if len(arguments) != 1:
                _refuse(token.column, f"{token.text} takes one argument, got {len(arguments)}")
            return _of_one(token, arguments[0])
        if len(arguments) < 2:
            _refuse(token.column, f"{token.text} takes two arguments or more, got 1")
        function: Callable[..., sp.Expr] = sp.Max if token.text == "max" else sp.Min
        return function(*arguments, evaluate=False)


def _number(token: _Token) -> sp.Rational:
    try:
        return sp.Rational(read_number("number", token.text))
    except InputError as error:
        _refuse(token.column, str(error).removeprefix("number: "))


def _of_one(token: _Token, argument: sp.Expr) -> sp.Expr:
    """A function of one argument."""
    if token.text in OVER_CLIENTS:
        if not bare(argument):
            wanted = f"wanted a symbol with one number for each client in it (its name ends in {SUFFIX})"
            _refuse(token.column, f"{token.text}: {wanted}, got {str(argument)[:40]}")
        return OVER_CLIENTS[token.text](argument)
    if token.text == "sqrt":
        return _power(argument, sp.Rational(1, 2), token.column, token.column)
    if token.text == "log":
        if argument.is_zero or argument.is_negative:
            _refuse(token.column, f"wanted the log of a positive number, got {str(argument)[:40]}")
        return _sane(sp.log(argument), token.column)
    if token.text == "exp":
        return _sane(Power(sp.E, argument), token.column)
    if argument.has(Power, sp.exp):
        _refuse(token.column, f"{token.text} of exp or of a power with names in the exponent has too many digits")
    return _sane(sp.floor(argument) if token.text == "floor" else sp.ceiling(argument), token.column)


def _power(base: sp.Expr, exponent: sp.Expr, column: int, at: int) -> sp.Expr:
    if not exponent.is_Rational:
        if base.is_zero:
            _refuse(column, f"wanted a base that is not 0 for the exponent {str(exponent)[:40]}")
        return _sane(Power(base, exponent), column)
    if max(abs(exponent.p), exponent.q) > MAX_POWER:
        limit = f"wanted an exponent with a numerator and a denominator of at most {MAX_POWER}"
        _refuse(at, f"{limit}, got {str(exponent)[:40]}")
    if base.is_zero and exponent < 0:
        _refuse(column, "a division by zero")
    if base.is_Rational and _bits(base) * abs(exponent) > MAX_BITS:
        _refuse(column, f"a number of more than {MAX_BITS} bits")
    return _sane(base**exponent, column)


def _bits(number: sp.Rational) -> int:
    return max(abs(number.p).bit_length(), number.q.bit_length())


def _sane(expr: sp.Expr, column: int) -> sp.Expr:
    """The expression, if it is a real number of bounded size or has names in it."""
    if expr.is_Rational and _bits(expr) > MAX_BITS:
        _refuse(column, f"a number of more than {MAX_BITS} bits")
    if all(map(_is_plain, sp.preorder_traversal(expr))):  # real as its names are; asking sympy takes milliseconds
        return expr
    if expr.has(sp.I, sp.zoo, sp.nan, sp.oo, -sp.oo) or expr.is_real is False:
        _refuse(column, "not a real number (the root of a negative number, or a division by zero)")
    return expr


def _is_plain(part: sp.Basic) -> bool:
    """Whether a part makes nothing unreal of real numbers: a sum, a product, a power with a whole exponent, a name or a rational."""
    return bool(
        part.is_Add or part.is_Mul or part.is_Symbol or part.is_Rational or (part.is_Pow and part.exp.is_Integer)
    )
