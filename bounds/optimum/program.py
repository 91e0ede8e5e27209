"""Geometric programs: minimise a posynomial subject to posynomials <= 1, globally, with a lower bound that proves it.

In the logarithms of the variables the problem is convex. It is handed to Clarabel (the solver that cvxpy uses by
default) as exponential cones; a test solves the same problems with `cvxpy(gp=True)`. The lower bound does not rely on
the solver: the weights that it returns are projected on the dual feasible set, and the dual function is evaluated
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from typing import Any

from ..language.reading import InputError
from .posynomial import Posynomial

_TOLERANCE = 1e-10
_WIDE, _WIDEST = 80.0, 700.0
"""Logarithms of variables are kept within the first distance of 0 (e^80 is 5e34), so that every problem has a bounded solution, and within
the second one, where doubles end, if there is none; what is proved is proved within the second."""


@dataclass(frozen=True)
class Solution:
    """An optimum of a geometric program.

    Args:
        point: variable -> value.
        value: objective at the point.
        lower: a proved lower bound of the optimum (minus nothing the solver says); 0 where the projection fails, or where
            none was asked for.
        prices: constraint name -> relative decrease of the optimum per relative relaxation of the constraint.
        escapes: variables that ran into the far edge of the search range: the optimum is not attained.
    """

    point: dict[str, float]
    value: float
    lower: float
    prices: dict[str, float]
    escapes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        return (self.value - self.lower) / self.value if self.value > 0 else 0.0


@dataclass(frozen=True)
class Program:
    """`objective` to minimise, `constraints` (name, posynomial <= 1)."""

    objective: Posynomial
    constraints: tuple[tuple[str, Posynomial], ...]

    @property
    def names(self) -> tuple[str, ...]:
        found = set(self.objective.names).union(*(part.names for _, part in self.constraints))
        return tuple(sorted(found))

    @property
    def size(self) -> int:
        """How many monomials there are."""
        return len(self.objective.terms) + sum(len(part.terms) for _, part in self.constraints)


def _log_form(part: Posynomial, names: Sequence[str]) -> tuple[Any, Any]:
    """Exponent matrix and logarithms of the coefficients."""
    import numpy as np

    index = {name: i for i, name in enumerate(names)}
    matrix = np.zeros((len(part.terms), len(names)))
    for row, exponents in enumerate(part.terms):
        for name, power in exponents:
            matrix[row, index[name]] = float(power)
    return matrix, np.log(np.fromiter(part.terms.values(), float))


def solve(program: Program, *, proved: bool = True) -> Solution | None:
    """The global optimum, or None where the constraints exclude each other.

    A constraint without variables is checked, not passed on.

    Args:
        proved: whether the lower bound is wanted; it is 0 where it is not.
    """
    import numpy as np

    names = program.names
    kept: list[tuple[str, Any, Any]] = []
    for name, part in program.constraints:
        if not part.terms:
            continue
        if not part.names:
            if part.at({}) > 1 + 1e-12:
                return None
            continue
        kept.append((name, *_log_form(part, names)))
    if not program.objective.terms:
        raise InputError("nothing to minimise: the objective is 0 at these values, whatever is chosen")
    objective = _log_form(program.objective, names)
    if not names:
        value = program.objective.at({})
        return Solution({}, value, value, {})
    for wide in (_WIDE, _WIDEST):
        answer = _clarabel(objective, kept, len(names), wide)
        if answer is not None:
            break
    else:
        return None
    x, multipliers = answer
    point = {name: exp(v) for name, v in zip(names, x, strict=True)}
    value = program.objective.at(point)
    prices: dict[str, float] = {}
    for (name, _, _), multiplier in zip(kept, multipliers, strict=True):
        prices[name] = prices.get(name, 0.0) + max(float(multiplier), 0.0)
    escapes = tuple(name for name, v in zip(names, x, strict=True) if abs(v) > 0.9 * wide)
    lower = 0.0
    if proved:
        lower = exp(min(_dual_value(objective, [(a, b) for _, a, b in kept], multipliers, np.asarray(x)), 700.0))
    return Solution(point, value, min(lower, value), prices, escapes)


def _clarabel(
    objective: tuple[Any, Any], constraints: list[tuple[str, Any, Any]], size: int, wide: float
) -> tuple[Any, Any] | None:
    """Minimise log-sum-exp(A x + b) subject to log-sum-exp(A_i x + b_i) <= 0; returns x and the multipliers."""
    import clarabel  # type: ignore[import-untyped]
    import numpy as np

    groups = [(*objective, True)] + [(a, b, False) for _, a, b in constraints]
    summed = [len(b) > 1 for _, b, _ in groups]
    extra = sum(len(b) for (_, b, _), many in zip(groups, summed, strict=True) if many)
    width = size + 1 + extra  # x, t, one variable per exponential
    rows: list[Any] = []
    right: list[float] = []
    cone_rows: list[Any] = []
    cone_right: list[float] = []
    owner: list[int] = []
    column = size + 1
    for number, ((matrix, shift, is_objective), many) in enumerate(zip(groups, summed, strict=True)):
        if not many:
            row = np.zeros(width)
            row[:size], row[size] = matrix[0], -1.0 if is_objective else 0.0
            rows.append(row)
            right.append(-shift[0])
            owner.append(number)
            continue
        total = np.zeros(width)
        for line, constant in zip(matrix, shift, strict=True):
            total[column] = 1.0
            first, last = np.zeros(width), np.zeros(width)
            first[:size], first[size] = -line, 1.0 if is_objective else 0.0
            last[column] = -1.0
            cone_rows += [first, np.zeros(width), last]
            cone_right += [constant, 1.0, 0.0]
            column += 1
        rows.append(total)
        right.append(1.0)
        owner.append(number)
    for i in range(size):
        for direction in (1.0, -1.0):
            row = np.zeros(width)
            row[i] = direction
            rows.append(row)
            right.append(wide)
    cost = np.zeros(width)
    cost[size] = 1.0
    cones = [clarabel.NonnegativeConeT(len(rows))] + [clarabel.ExponentialConeT() for _ in range(len(cone_rows) // 3)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
    problem = clarabel.DefaultSolver(
        Columns.of(np.zeros((width, width))),
        cost,
        Columns.of(np.array(rows + cone_rows)),
        np.array(right + cone_right),
        cones,
        settings,
    )
    result = problem.solve()
    if str(result.status) not in ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations"):
        return None
    x = np.array(result.x[:size])
    if str(result.status) not in ("Solved", "AlmostSolved") and not _nearly_feasible(x, constraints):
        return None
    return x, np.array(result.z[: len(owner)])[1:]


@dataclass(frozen=True)
class Columns:
    """A sparse matrix by columns, with those attributes of scipy's `csc_matrix` that Clarabel reads: to import scipy takes
    a tenth of a tuner's answer, and to build one of its matrices a third of a small program's solution."""

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    has_canonical_format: bool = True

    @staticmethod
    def of(matrix: Any) -> Columns:
        import numpy as np

        columns, rows = np.nonzero(matrix.T)
        ends = np.cumsum(np.bincount(columns, minlength=matrix.shape[1]))
        return Columns(matrix[rows, columns], rows, np.concatenate([[0], ends]), matrix.shape)


def _nearly_feasible(x: Any, constraints: list[tuple[str, Any, Any]]) -> bool:
    import numpy as np

    return all(np.logaddexp.reduce(a @ x + b) <= 1e-6 for _, a, b in constraints)


def _dual_value(objective: tuple[Any, Any], constraints: list[tuple[Any, Any]], multipliers: Any, x: Any) -> float:
    """The dual function at the solver's weights, moved to where it is finite: sum_k d_k (b_k - log(d_k / group)).

    Each monomial has a weight d_k >= 0; those of the objective add up to 1 and the exponents cancel, A^T d = 0. Any
    such weights prove a lower bound of the optimum (of its logarithm).
    """
    import numpy as np

    groups = [objective, *constraints]
    scale = [1.0, *(max(float(m), 0.0) for m in multipliers)]
    weights = np.concatenate([s * _softmax(a @ x + b) for s, (a, b) in zip(scale, groups, strict=True)])
    matrix = np.vstack([a for a, _ in groups])
    count = len(objective[1])
    equations = np.vstack([matrix.T, np.concatenate([np.ones(count), np.zeros(len(weights) - count)])])
    target = np.append(np.zeros(matrix.shape[1]), 1.0)
    for _ in range(5):  # correct relatively, so that small weights stay positive
        scaled = equations * weights
        step = np.linalg.lstsq(scaled, target - equations @ weights, rcond=None)[0]
        weights = weights * np.maximum(1 + step, 0.0)
    if np.max(np.abs(equations @ weights - target)) > 1e-9:
        return -inf
    value, start = 0.0, 0
    for _, shift in groups:
        part = weights[start : start + len(shift)]
        start += len(shift)
        total = part.sum()
        value += sum(d * (b - log(d / total)) for d, b in zip(part, shift, strict=True) if d > 0)
    return value - _WIDEST * float(np.sum(np.abs(equations[:-1] @ weights)))


def _softmax(values: Any) -> Any:
    import numpy as np

    shifted = np.exp(values - np.max(values))
    return shifted / shifted.sum()
