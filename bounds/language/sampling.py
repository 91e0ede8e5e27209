"""The variance of a mean over a uniform random subset: a sympy function of our own, as it is 0 where nobody is left out."""

from __future__ import annotations

from typing import Any

import sympy as sp


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
