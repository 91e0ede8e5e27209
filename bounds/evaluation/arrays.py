"""A statement on arrays: the answer of `Theorem.bound` where a value is an array, in float64 and at every point at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..language.notation import Binding
from ..language.reading import InputError, is_array, read_values
from ..language.rendering import OfStatement, letter, lines_about, notes_about, status_of, titled
from ..language.result import CONSTANTS, AbstractResult, Sheet, Table
from .evaluate import InadmissibleError, evaluate
from .without_running import (
    NOTHING,
    Beside,
    Limit,
    about_estimates,
    about_limit,
    doubtful_of,
    estimates_of,
    limits,
    listed,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...figures import Plot
    from ..language.theorem import Statement

    Floats = NDArray[np.float64]

_SHOWN = 20
"""Most points in a printed table; a data frame has all of them."""


@dataclass(frozen=True, repr=False, eq=False)
class BoundArray(OfStatement, AbstractResult):
    """A statement evaluated on arrays that broadcast against each other.

    Args:
        total, terms, admissible: arrays of the common shape.
        values: the arrays that were given, and the numbers as floats.
        beside: what else is known of the problem.
    """

    total: Floats
    terms: dict[str, Floats]
    admissible: NDArray[np.bool_]
    values: dict[str, Any]
    about: Statement
    beside: Beside = NOTHING

    def to_dict(self) -> dict[str, Any]:
        """Everything as nested lists, with what is known of the statement."""
        return {
            "theorem": self.theorem,
            "statement": self.statement,
            "metric": self.metric,
            "total": self.total.tolist(),
            "terms": {name: term.tolist() for name, term in self.terms.items()},
            "admissible": self.admissible.tolist(),
            "values": {name: v.tolist() if is_array(v) else v for name, v in self.values.items()},
            "vacuous": None if self.vacuous is None else self.vacuous.tolist(),
            "without_running": [
                {"formula": str(each), "by": each.by, "estimated": list(doubtful_of(each, self.beside))}
                for each in self._limits()
            ],
            "rests_on_estimates": listed(estimates_of(self.about, self.beside)),
            **status_of(self.about),
        }

    def _limits(self) -> tuple[Limit, ...]:
        """What holds without running, as far as every number that it needs was given; a derived constant is none of them."""
        known = {*self.values, *self.beside.quantities}
        found = limits(self.about, self.beside.quantities)
        return tuple(each for each in found if known.issuperset(name for name, _ in each.powers))

    @property
    def vacuous(self) -> NDArray[np.bool_] | None:
        """Where the bound is infinite or not below what holds without running; None where all are finite and nothing is known."""
        import numpy as np

        known = {**self.values, **{name: float(value) for name, value in self.beside.quantities.items()}}
        found = [each.at(known) for each in self._limits()]
        infinite = np.isinf(self.total)
        if found:
            return infinite | (self.total >= np.minimum.reduce(np.broadcast_arrays(*found)))
        return infinite if infinite.any() else None

    def _notes(self) -> tuple[str, ...]:
        count = 0 if self.vacuous is None else int(self.vacuous.sum())
        each = (about_limit(limit, doubtful_of(limit, self.beside)) for limit in self._limits())
        below = (
            f"not below what holds without running, the least of {' and '.join(each)}" if self._limits() else "infinite"
        )
        said = (f"vacuous at {count} of {self.total.size} points: {below}",) if count else ()
        return (*said, *about_estimates(estimates_of(self.about, self.beside)))

    def sheet(self) -> Sheet:
        columns = self._columns()
        rows = tuple(zip(*(column[:_SHOWN].tolist() for column in columns.values()), strict=True))
        count = self.total.size
        more = (f"the first {_SHOWN} of {count} points",) if count > _SHOWN else ()
        outside = count - int(self.admissible.sum())
        wrong = (
            (f"{outside} of {count} points are outside the conditions; it promises nothing there",) if outside else ()
        )
        fixed = tuple((letter(self.about, n), v) for n, v in self.values.items() if not is_array(v))
        tables = Table("points", tuple(columns), rows), Table(CONSTANTS, ("symbol", "value"), fixed)
        return Sheet(self.about.name, None, tables, (*wrong, *self._notes(), *notes_about(self.about), *more), columns)

    def _columns(self) -> dict[str, Any]:
        """One column for each array that was given, the total, each term and whether the conditions hold; flat."""
        import numpy as np

        shape = self.total.shape
        given = {name: np.broadcast_to(v, shape).ravel() for name, v in self.values.items() if is_array(v)}
        terms = {name: term.ravel() for name, term in self.terms.items()}
        return {**given, "total": self.total.ravel(), **terms, "admissible": self.admissible.ravel()}

    def plot(self) -> Plot:
        """The total and its terms over the array that was given, where the statement is admissible.

        Raises:
            InputError: not exactly one array of one dimension was given.
        """
        import numpy as np

        from ...figures import Axis, Curve, log_log_plot, mathtext, plain

        arrays = [name for name, value in self.values.items() if is_array(value)]
        if len(arrays) != 1 or self.total.ndim != 1:
            raise InputError(f"plot: wanted one array of one dimension, got {', '.join(arrays)}")
        binding, metric = self.about.symbols[arrays[0]], self.about.theorem.metric
        x = self.values[arrays[0]].tolist()
        shown = {"bound": self.total, **self.terms}
        curves = [Curve(n, x, np.where(self.admissible, y, np.nan).tolist(), theory=True) for n, y in shown.items()]
        label = f"{mathtext(binding.latex)}: {plain(binding.quantity.meaning)}"
        return log_log_plot(
            curves,
            title=f"{titled(self.about)} over {arrays[0]}",
            x_axis=Axis(label, str(binding.quantity.dimension)),
            y_axis=Axis(mathtext(metric.latex), str(metric.dimension)),
        )

    def __str__(self) -> str:
        count, good = self.total.size, int(self.admissible.sum())
        shape = "x".join(map(str, self.total.shape))
        head = f"{self.about.name}: {self.metric} at {count} points ({shape}), {good} admissible"
        inside = self.total[self.admissible]
        values = [f"  from {inside.min():.6g} to {inside.max():.6g} where admissible"] if good else []
        return "\n".join([head, *values, *(f"  {note}" for note in self._notes()), *lines_about(self.about)])


def bound_on_arrays(
    statement: Statement, values: Mapping[str, Any], *, strict: bool = True, beside: Beside = NOTHING
) -> BoundArray:
    """Evaluate a statement on arrays, in float64; equalities hold to a relative 1e-9.

    Args:
        values: symbol name -> number, as for `bound`, or an array or list of numbers; the arrays broadcast.
        strict: raise where a point is outside the conditions; otherwise `admissible` marks those inside.
        beside: what else is known of the problem; what the bound is compared with.

    Raises:
        InputError: an unknown or missing symbol, a value outside its domain, or arrays that do not broadcast.
        InadmissibleError: a condition fails at a point and `strict` is set.
    """
    import numpy as np

    bindings = statement.symbols
    numbers = {name: value for name, value in values.items() if not is_array(value)}
    known: dict[str, Any] = {n: float(v) for n, v in read_values(bindings, numbers, statement.name).items()}
    for name in (name for name in values if name not in known):
        if name not in bindings:
            raise InputError(f"{name[:30]}: not a symbol of {statement.name}; wanted one of {' '.join(bindings)}")
        known[name] = _checked(bindings[name], values[name])
    try:
        np.broadcast_shapes(*(np.shape(value) for value in known.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(v)}" for name, v in known.items() if is_array(v))
        raise InputError(f"arrays: wanted shapes that broadcast, got {shapes}") from None
    with np.errstate(all="ignore"):
        found = evaluate(statement, **known)
    outside = found["admissible"].size - int(found["admissible"].sum())
    if outside and strict:
        count = found["admissible"].size
        raise InadmissibleError(
            f"{statement.name}: a condition fails at {outside} of {count} points; pass strict=False"
        )
    return BoundArray(found["total"], found["terms"], found["admissible"], known, statement, beside)


def _checked(binding: Binding, value: Any) -> Floats:
    """Numbers in the domain of a symbol.

    Raises:
        InputError: one is not; the message has the first.
    """
    import numpy as np

    domain = binding.quantity.numbers
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{binding.name}: wanted numbers, got {str(value)[:40]!r}") from None
    with np.errstate(invalid="ignore"):
        good = np.isfinite(array) & domain.contains(array)
    if not good.all():
        first = array[~good].flat[0]
        raise InputError(
            f"{binding.name}: wanted {domain.a_number} ({binding.quantity.meaning}) at every point, got {first:g}"
        )
    return array
