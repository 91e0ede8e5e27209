"""What it costs to bring a bound below a target: with the best schedule, with the paper's own, and as orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..language.markdown import table
from ..language.reading import InputError
from ..language.theorem import Statement
from ..optimum.tuning import Tuned, tune
from .orders import Rates, rates
from .resources import MEANING


@dataclass(frozen=True)
class Complexity:
    """Costs to reach `metric <= eps`.

    Args:
        tuned: the cheapest hyperparameters that are not given.
        paper: the same with the statement's schedule kept, where it has one and can reach the target.
        paper_note: why `paper` is missing.
        rates: exact orders as eps goes to 0 (None where the statement has none; then `rates_note` says why).
    """

    theorem: str
    statement: str
    eps: str
    tuned: Tuned
    paper: Tuned | None
    paper_note: str
    rates: Rates | None
    rates_note: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "theorem": self.theorem,
            "statement": self.statement,
            "eps": self.eps,
            "tuned": self.tuned.to_dict(),
            "paper": self.paper.to_dict() if self.paper else None,
            "paper_note": self.paper_note,
            "rates": self.rates.to_dict() if self.rates else None,
            "rates_note": self.rates_note,
        }

    def markdown(self) -> str:
        """A table: resource, tuned, with the paper's schedule, order."""
        rows = []
        for name, value in self.tuned.cost.items():
            with_schedule = f"{self.paper.cost[name]:.6g}" if self.paper else ""
            order = str(self.rates.costs.get(name, "")) if self.rates else ""
            rows.append([MEANING.get(name, name), f"{value:.6g}", with_schedule, order])
        return "\n".join(table(["cost", "tuned", "paper's schedule", "order"], rows))

    def __str__(self) -> str:
        rows = [f"{self.theorem} ({self.statement}): cost of {self.tuned.bound.metric} <= {self.eps}", self.markdown()]
        chosen = self.tuned.values
        rows.append("tuned: " + ", ".join(f"{name} = {self.tuned.bound.numbers[name]:.6g}" for name in chosen))
        notes = [self.tuned.note, self.paper_note, self.rates_note]
        return "\n".join([*rows, *(note for note in notes if note)])


def complexity(statement: Statement, values: Mapping[str, Any], eps: Any, *, cost: Any = None) -> Complexity:
    """T, communication rounds, samples per client and messages by size to bring the bound below eps.

    Args:
        values: constants, and hyperparameters that stay as they are.
        eps: target for the metric of the theorem.
        cost: what the tuned schedule minimises (a resource, or resource -> weight); the samples by default.

    Raises:
        InputError: as `tune`; the paper's schedule and the orders are left out with a note where they do not exist.

    Example:
        >>> import fedco
        >>> found = fedco.theorem("fcsg.theorem_4_1").complexity(L_f=1, L_g=1, S_f=1, S_g=1, sigma_g=1, F_gap=1, N=4,
        ...     eps="1/10")
        >>> found.tuned.bound.total <= 0.1
        True
    """
    tuned = tune(statement, values, eps=eps, cost=cost)
    paper, note = None, ""
    if statement.schedule:
        try:
            paper = tune(statement, values, eps=eps, cost=cost, follow_schedule=True)
        except InputError as error:
            note = f"with the paper's schedule: {error}"
    else:
        note = "the statement has no schedule of its own"
    order, order_note = None, ""
    try:
        order = rates(statement)
    except InputError as error:
        order_note = str(error)
    return Complexity(statement.theorem.id, statement.label, str(eps), tuned, paper, note, order, order_note)
