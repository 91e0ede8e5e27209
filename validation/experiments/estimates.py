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
from ...synthetic.estimation import Estimate, Estimates, estimate_constants
from ...synthetic.estimation.search import POINTS
from ...synthetic.models import from_model
from ...synthetic.models.flat import Loss
from ...user_files import load_object
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
    model: nn.Module,
    loss: Loss,
    client_loaders: Iterable[Any],
    form: str = "federated",
    *,
    along: Tensor | None = None,
    theorem: str | Theorem | None = None,
    radius: float | None = None,
    points: int = POINTS,
    lower_bound: float | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Estimates:
    """Estimate the constants that theorems need of a model, a loss and client data.

    Args:
        model: any nn.Module, as it is, of any float type. loss: (outputs, targets) -> scalar.
        client_loaders: one DataLoader, Dataset or pair of tensors per client, read whole.
        form: federated, kl_clients, kl_dro, chi2_dro, maml or meta; options: its numbers (gamma, weight, lam, alpha, nu).
        along: `(points, dim)`, a run to look along; gradient descent from the module's parameters without it.
        theorem: only what its statement needs; everything without it. The rest as for `estimate_constants`.

    Returns:
        The estimates by quantity; `.problem` runs with every method of its kind, and carries them as its constants.

    Raises:
        InputError: a form without estimates, data that do not fit, or a theorem about another kind of problem.
    """
    problem = from_model(model, loss, client_loaders, form, **options)
    item = None if theorem is None else get_theorem(theorem)
    if item is not None and item.problem != problem.kind:
        raise InputError(
            f"{item.id}: is about the kind {item.problem}, got the form {form}, of the kind {problem.kind}"
        )
    only = None if item is None else frozenset(_needed(item))
    return estimate_constants(
        problem,
        along=along,
        radius=radius,
        points=points,
        lower_bound=lower_bound,
        seed=seed,
        only=only,
        progress=progress,
    )


def _needed(theorem: Theorem) -> Iterable[str]:
    symbols = theorem.symbols(theorem.default).values()
    return (
        b.quantity.name for b in symbols if b.quantity.role == "constant" and b.quantity.name not in CHOSEN_BY_THE_RUN
    )


def for_theorem(found: Estimates, theorem: str | Theorem) -> ForTheorem:
    """The constants of a theorem's default statement by symbol.

    Raises:
        InputError: it needs what was not estimated.
    """
    item = get_theorem(theorem)
    values: dict[str, Fraction] = {}
    used: dict[str, Estimate] = {}
    for name, binding in item.symbols(item.default).items():
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
    return ForTheorem(item, item.default, values, used, norm)


KEYS = ("model", "loss", "clients")


def from_file(
    text: str, theorem: str | Theorem, progress: Callable[[str], None] | None = None, **options: Any
) -> Estimates:
    """Of `FILE.py:NAME`, a function without arguments that returns a dict: model, loss, clients, and what `estimate` takes
    beside them (form, along, and the form's numbers).

    Raises:
        InputError: no such function, or it returns something else.
    """
    build = load_object(text)
    found = build() if callable(build) else build
    if not isinstance(found, Mapping) or not set(KEYS) <= set(found):
        raise InputError(
            f"{text}: wanted a function that returns a dict with {', '.join(KEYS)}, got {type(found).__name__}"
        )
    rest = {name: value for name, value in found.items() if name not in KEYS}
    return estimate(
        found["model"], found["loss"], found["clients"], theorem=theorem, progress=progress, **{**rest, **options}
    )


def write(found: Estimates, theorem: str | Theorem, out: Path) -> ForTheorem:
    """Write the constants file."""
    made = for_theorem(found, theorem)
    write_text(out, made.toml())
    return made
