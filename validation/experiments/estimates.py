"""From a model of one's own to the constants of a theorem: `fedco.estimate`, and the file that `fedco estimate` writes."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from ...bounds.language.quantities import QUANTITIES
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_theorem
from ...bounds.settings import ESTIMATED
from ...errors import InputError
from ...storage import write_text
from ...synthetic import problem as find_problem
from ...synthetic.estimation import Estimate, Estimates, estimate_constants
from ...synthetic.models import AbstractModelProblem, form_of, forms_of
from ..runs.fit import misfit_of_properties
from ..runs.values import CHOSEN_BY_THE_RUN, GIVEN_BY_THE_PROBLEM

_WIDTH = 116
_START = "initial_gradient_norm"


@dataclass(frozen=True)
class ForTheorem:
    """The constants that a statement needs, by its own symbols.

    Attributes:
        values: exact, as fractions of the doubles; with what belongs to the problem (the number of clients, …).
        estimates: the estimate behind each symbol that has one.
        initial_gradient_norm: of the whole objective at the start, in double precision; None where the metric is no squared gradient.
    """

    theorem: Theorem
    label: str
    values: Mapping[str, Fraction]
    estimates: Mapping[str, Estimate]
    initial_gradient_norm: float | None = None

    @property
    def how_sure(self) -> dict[str, str]:
        """Symbol -> what is promised of its value, of those that are estimates."""
        return {name: one.how_sure for name, one in self.estimates.items() if one.kind == "estimated"}

    def constants(self) -> dict[str, Any]:
        """What the file holds, for `constants=` of the verbs: exact values, and which of them are estimates."""
        start = {} if self.initial_gradient_norm is None else {_START: Fraction(self.initial_gradient_norm)}
        return {**self.values, **start, ESTIMATED: self.how_sure}

    def toml(self) -> str:
        """A constants file with a comment on every value, and a table of those that are estimates; `--constants FILE` of the other
        commands reads both."""
        lines = [
            f"# Constants of {self.theorem.id} ({self.label}), estimated by fedco.",
            "# An estimate plans a run and supports no bound: outside of the points that were tried a constant may be larger.",
        ]
        for name, value in self.values.items():
            one = self.estimates.get(name)
            quantity = self.theorem.symbols(self.label)[name].quantity
            said = f"{quantity.meaning}. " + (
                f"{one.kind}, {one.where}: {one.said}" if one else "Given by the problem."
            )
            lines += ["", *(f"# {line}" for line in textwrap.wrap(said, _WIDTH))]
            exact = value.denominator == 1
            lines.append(f"{name} = {value}" if exact else f'{name} = "{float(value)!r}"')
        if self.initial_gradient_norm is not None:
            said = f"# {QUANTITIES[_START].meaning}; a bound that is not below its square says nothing."
            lines += ["", said, f'{_START} = "{self.initial_gradient_norm!r}"']
        if self.how_sure:
            lines += ["", f"[{ESTIMATED}]", *(f"{name} = {json.dumps(text)}" for name, text in self.how_sure.items())]
        return "\n".join(lines) + "\n"


def estimate(
    model: nn.Module | str | Mapping[str, Any] | AbstractModelProblem,
    loss: Any = None,
    client_loaders: Iterable[Any] | None = None,
    form: str | None = None,
    *,
    along: Tensor | None = None,
    theorem: str | Theorem | None = None,
    statement: str = "",
    radius: float | None = None,
    points: int | None = None,
    lower_bound: float | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Estimates:
    """Estimate the constants that theorems need of a model, a loss and client data.

    Args:
        model: any nn.Module, as it is, of any float type, with loss and client_loaders; or, without these, what `fedco.problem` takes of a
            model: `FILE.py:NAME`, a description, or the problem itself.
        loss: (outputs, targets) -> scalar.
        client_loaders: one DataLoader, Dataset or pair of tensors per client, read whole.
        form: one of `synthetic.models.FORMS` but agnostic_maml, federated without it; options: its numbers (gamma, weight, lam, …).
        along: `(points, dim)`, a run to look along; gradient descent from the module's parameters without it.
        theorem: only what its statement needs; everything without it. statement: a label, the default one without it.
        radius, points, lower_bound, seed: as for `estimate_constants`; what the description says of them without them.

    Returns:
        The estimates by quantity; `.problem` runs with every method of its kind, and carries them as its constants.

    Raises:
        InputError: a form without estimates, data that do not fit, or a theorem about another kind of problem, or one that assumes what
            the problem is not known to have.
    """
    chosen = options if form is None else {"form": form, **options}
    description = (
        {"model": model, "loss": loss, "clients": client_loaders or ()} if isinstance(model, nn.Module) else model
    )
    problem = find_problem(description, **chosen)
    if not isinstance(problem, AbstractModelProblem):
        raise InputError(
            f"estimate: wanted a model, its loss and the data of its clients, got the problem {problem.name}"
        )
    only = None if theorem is None else frozenset(_needed(get_theorem(theorem), statement, problem))
    given = {"along": along, "radius": radius, "points": points, "lower_bound": lower_bound, "seed": seed}
    search = {**problem.parts.search, **{name: value for name, value in given.items() if value is not None}}
    return estimate_constants(problem, only=only, progress=progress, **search)


def with_constants(
    problem: Any,
    theorem: Theorem,
    label: str = "",
    progress: Callable[[str], None] | None = None,
    also: Iterable[str] = (),
) -> Any:
    """A problem of a model with the constants that a statement needs, and `also` others; any other problem as it is.

    Raises:
        InputError: the theorem is about another kind of problem.
    """
    if not isinstance(problem, AbstractModelProblem) or problem.certificates:
        return problem
    only = frozenset((*_needed(theorem, label, problem), *also))
    return estimate_constants(problem, only=only, progress=progress, **problem.parts.search).problem


def _needed(theorem: Theorem, label: str, problem: AbstractModelProblem) -> list[str]:
    """The quantities of a statement that a problem has to certify."""
    if theorem.problem != problem.kind:
        forms = forms_of(theorem.problem)
        wanted = f"which the forms {' '.join(forms)} make" if forms else "of which no model makes a problem"
        raise InputError(
            f"{theorem.id}: is about the kind {theorem.problem or 'that it does not say'}, {wanted}; got the form {form_of(problem)}, "
            f"of the kind {problem.kind}"
        )
    label = label or theorem.default
    if reason := misfit_of_properties(theorem, problem, label):
        raise InputError(f"{problem.name}: does not fit {theorem.id} ({label}): {reason}")
    symbols = theorem.symbols(label).values()
    constants = (b.quantity.name for b in symbols if b.quantity.role == "constant")
    return [name for name in constants if name not in CHOSEN_BY_THE_RUN]


def for_theorem(found: Estimates, theorem: str | Theorem, statement: str = "") -> ForTheorem:
    """The constants of a theorem's statement, the default one without a label, by symbol.

    Raises:
        InputError: it needs what was not estimated.
    """
    item = get_theorem(theorem)
    label = item.statement(statement or item.default).label
    values: dict[str, Fraction] = {}
    used: dict[str, Estimate] = {}
    for name, binding in item.symbols(label).items():
        quantity = binding.quantity.name
        if quantity in CHOSEN_BY_THE_RUN:
            values[name] = Fraction(0)
        elif binding.quantity.role == "constant":
            used[name] = found[quantity]
            values[name] = Fraction(used[name].value)
        elif quantity in GIVEN_BY_THE_PROBLEM:
            values[name] = Fraction(str(getattr(found.problem, GIVEN_BY_THE_PROBLEM[quantity])))
    start = found.problem.initial_point.unsqueeze(0)
    norm = float(found.problem.gradient(start).norm()) if item.metric.is_squared_gradient else None
    return ForTheorem(item, label, values, used, norm)


def write(found: Estimates, theorem: str | Theorem, out: Path) -> ForTheorem:
    """Write the constants file."""
    made = for_theorem(found, theorem)
    write_text(out, made.toml())
    return made
