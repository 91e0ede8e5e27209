"""Numbers of single clients in a formula, and what is made of them: sum_i, mean_i, max_i and min_i.

A symbol whose name ends in `_i`, such as `L_i`, has one number for each client; in a statement it stands inside one of `OVER_CLIENTS`.
With the lists of numbers a formula is one of numbers (`at_clients`); with one number for all clients it is one without lists (`alike`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import sympy as sp
from sympy.printing.precedence import PRECEDENCE

SUFFIX = "_i"
"""Ending of the name of a symbol that has one number for each client."""


class ClientSymbol(sp.Symbol):
    """A symbol that stands for one number of each client."""


class OverClients(sp.Function):
    """What is made of one number of each client; a factor that is the same for all of them stands before it."""

    nargs = 1
    word: ClassVar[str]
    symbol: ClassVar[str]

    @classmethod
    def of(cls, values: Sequence[sp.Expr]) -> sp.Expr:
        """What it makes of the numbers of all clients."""
        raise NotImplementedError

    @classmethod
    def alike(cls, value: sp.Expr, clients: sp.Expr) -> sp.Expr:
        """What it makes of one number that all clients have."""
        raise NotImplementedError

    @classmethod
    def eval(cls, each: sp.Expr) -> sp.Expr | None:
        factors = sp.Mul.make_args(each)
        before = sp.Mul(*(part for part in factors if not bare(part) and part.is_nonnegative))
        if before == 1 or not bare(each):
            return None
        return before * cls(sp.Mul(*(part for part in factors if bare(part) or not part.is_nonnegative)))

    def _eval_is_positive(self) -> bool | None:
        return self.args[0].is_positive

    def _eval_is_nonnegative(self) -> bool | None:
        return self.args[0].is_nonnegative

    def _eval_is_extended_real(self) -> bool | None:
        return self.args[0].is_extended_real

    def _sympystr(self, printer: Any) -> str:
        return f"{self.word}({printer._print(self.args[0])})"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        text = rf"\left({self.symbol} {printer.parenthesize(self.args[0], PRECEDENCE['Mul'], strict=True)}\right)"
        return f"{text}^{{{exp}}}" if exp else text


class SumOverClients(OverClients):
    """sum_i(x): the sum over the clients."""

    word, symbol = "sum_i", r"\sum_{i}"

    @classmethod
    def of(cls, values: Sequence[sp.Expr]) -> sp.Expr:
        return sp.Add(*values)

    @classmethod
    def alike(cls, value: sp.Expr, clients: sp.Expr) -> sp.Expr:
        return clients * value

    def _eval_is_integer(self) -> bool | None:
        return self.args[0].is_integer


class MeanOverClients(OverClients):
    """mean_i(x): the plain mean over the clients."""

    word, symbol = "mean_i", r"\operatorname{mean}_{i}"

    @classmethod
    def of(cls, values: Sequence[sp.Expr]) -> sp.Expr:
        return sp.Add(*values) / len(values)

    @classmethod
    def alike(cls, value: sp.Expr, clients: sp.Expr) -> sp.Expr:
        return value


class _Extreme(OverClients):
    @classmethod
    def alike(cls, value: sp.Expr, clients: sp.Expr) -> sp.Expr:
        return value

    def _eval_is_integer(self) -> bool | None:
        return self.args[0].is_integer


class MaxOverClients(_Extreme):
    """max_i(x): the largest of the clients' numbers."""

    word, symbol = "max_i", r"\max_{i}"

    @classmethod
    def of(cls, values: Sequence[sp.Expr]) -> sp.Expr:
        return _largest(sp.Max, values)


class MinOverClients(_Extreme):
    """min_i(x): the least of the clients' numbers."""

    word, symbol = "min_i", r"\min_{i}"

    @classmethod
    def of(cls, values: Sequence[sp.Expr]) -> sp.Expr:
        return _largest(sp.Min, values)


OVER_CLIENTS: Mapping[str, type[OverClients]] = {
    each.word: each for each in (SumOverClients, MeanOverClients, MaxOverClients, MinOverClients)
}
"""The functions over all clients that formulas may call, by name."""


def _largest(function: Callable[..., sp.Expr], values: Sequence[sp.Expr]) -> sp.Expr:
    distinct = tuple(dict.fromkeys(values))
    if len(distinct) == 1 or all(value.is_number for value in distinct):
        return function(*distinct)
    return function(*distinct, evaluate=False)  # sympy compares each pair of formulas otherwise


def bare(expr: sp.Basic) -> frozenset[ClientSymbol]:
    """The symbols of single clients in an expression that stand outside of every sum, mean, max and min over the clients."""
    if isinstance(expr, ClientSymbol):
        return frozenset({expr})
    if isinstance(expr, OverClients):
        return frozenset()
    return frozenset().union(*map(bare, expr.args))


def client_symbols(expr: sp.Basic) -> frozenset[ClientSymbol]:
    """All of its symbols of single clients."""
    return frozenset(expr.atoms(ClientSymbol))


def at_clients(expr: sp.Expr, lists: Mapping[sp.Symbol, Sequence[sp.Expr]]) -> sp.Expr:
    """The expression with numbers of the clients: what stands over them is worked out.

    Args:
        lists: symbol -> its number at each client, for every symbol of single clients in the expression; of one length.

    Example:
        >>> L, eta = ClientSymbol("L_i", positive=True), sp.symbols("eta", positive=True)
        >>> at_clients(SumOverClients(eta * L**2), {L: (sp.Integer(1), sp.Integer(3))})
        10*eta
    """
    clients = range(min(map(len, lists.values()), default=0))
    return _without_clients(
        expr, lambda item, each: item.of([each.xreplace({s: lists[s][i] for s in bare(each)}) for i in clients])
    )


def alike(expr: sp.Expr, numbers: Mapping[sp.Symbol, sp.Expr], clients: sp.Expr) -> sp.Expr:
    """The expression where every client has the same numbers.

    Args:
        numbers: symbol of single clients -> what it is at every client. clients: how many there are.
    """
    found = _without_clients(expr, lambda item, each: item.alike(each.xreplace(dict(numbers)), clients))
    return found.xreplace(dict(numbers))


def _without_clients(expr: sp.Expr, made: Callable[[type[OverClients], sp.Expr], sp.Expr]) -> sp.Expr:
    """The expression with what `made` makes of each part over the clients in its place, the inner ones first."""
    expr, known = sp.sympify(expr), dict[sp.Expr, sp.Expr]()
    for item in sorted(expr.atoms(OverClients), key=sp.count_ops):
        known[item] = made(type(item), item.args[0].xreplace(known))
    return expr.xreplace(known)


def _take_part(r: Any, n: Any) -> Any:
    if isinstance(r, sp.Basic):
        return sp.Integer(0) if r == 1 else (1 - r) / (r * (n - 1))
    import numpy as np

    return np.where(np.equal(r, 1), 0.0, (1 - r) / (r * np.where(np.equal(n, 1), np.nan, n - 1)))


class sampling(sp.Function):
    """Variance of a mean over a random subset, per population variance: (1-r)/(r(n-1)), and 0 when everyone takes
    part.
    """

    is_nonnegative = True
    _imp_ = staticmethod(_take_part)

    @property
    def quotient(self) -> tuple[sp.Expr, sp.Expr]:
        """Numerator and denominator."""
        r, n = self.args
        return 1 - r, r * (n - 1)

    @classmethod
    def eval(cls, r: sp.Expr, n: sp.Expr) -> sp.Expr | None:
        return _take_part(r, n) if r == 1 or (r.is_number and n.is_number) else None

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        r, n = (printer._print(argument) for argument in self.args)
        text = rf"\frac{{1-{r}}}{{{r}({n}-1)}}"
        return rf"\left({text}\right)^{{{exp}}}" if exp else text
