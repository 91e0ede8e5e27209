"""What it costs to bring a bound below a target: with the best schedule, with the paper's own, and as orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..evaluation.without_running import NOTHING, Beside
from ..language.reading import InputError
from ..language.rendering import OfStatement, lines_about, notes_about, status_of, titled
from ..language.result import AbstractResult, Math, Sheet, Table, markdown_table, shown, tex_number
from ..language.theorem import Statement
from ..optimum.tuning import Tuned, tune
from .orders import Rates, rates
from .resources import MEANING

if TYPE_CHECKING:
    from ...figures import Plot


@dataclass(frozen=True, repr=False)
class Complexity(OfStatement, AbstractResult):
    """Costs to reach `metric <= eps`; `float` gives the one that was minimised.

    Args:
        tuned: the cheapest hyperparameters that are not given.
        paper: the same with the statement's schedule kept, where it has one and can reach the target.
        paper_note: why `paper` is missing.
        rates: exact orders as eps goes to 0 (None where the statement has none; then `rates_note` says why).
    """

    eps: str
    tuned: Tuned
    paper: Tuned | None
    paper_note: str
    rates: Rates | None
    rates_note: str = ""

    @property
    def about(self) -> Statement:
        return self.tuned.about

    def to_dict(self) -> dict[str, Any]:
        return {
            "theorem": self.theorem,
            "statement": self.statement,
            "eps": self.eps,
            "tuned": self.tuned.numbers_only(),
            "paper": self.paper.numbers_only() if self.paper else None,
            "paper_note": self.paper_note,
            "rates": self.rates.numbers_only() if self.rates else None,
            "rates_note": self.rates_note,
            "certificate": self.tuned.certificate,
            **self.tuned.bound.worth.to_dict(),
            "missing_costs": self.tuned.missing_costs,
            **status_of(self.about),
        }

    def __float__(self) -> float:
        return float(self.tuned)

    def sheet(self) -> Sheet:
        of_paper = self.paper.amounts if self.paper else {}
        rows = tuple(
            (
                MEANING.get(name, name),
                value,
                of_paper.get(name),
                self.rates.costs[name].math() if self.rates and name in self.rates.costs else None,
            )
            for name, value in self.tuned.amounts.items()
        )
        costs = Table("costs", ("cost", "tuned", "paper's schedule", "order"), rows)
        tuned = self.tuned.sheet()
        notes = (*notes_about(self.about), *self.notes)
        metric = self.about.theorem.metric
        claim = Math(
            f"{metric.name} <= {self.eps}", rf"{metric.latex} \le {tex_number(shown(float(Fraction(self.eps))))}"
        )
        return Sheet(
            f"{self.about.name}: cost of a target",
            claim,
            (costs, *(t for t in tuned.tables if t.name != "costs")),
            notes,
        )

    def plot(self) -> Plot:
        """Every cost, tuned and with the paper's schedule."""
        from ...figures import Axis, bar_plot

        groups = {"tuned": self.tuned.cost} | ({"paper's schedule": self.paper.cost} if self.paper else {})
        named = {group: {MEANING.get(n, n): value for n, value in costs.items()} for group, costs in groups.items()}
        title = f"{titled(self.about)}: cost of a bound of {self.eps}"
        return bar_plot(named, title=title, axis=Axis("amount", "1"), log=True)

    @property
    def notes(self) -> tuple[str, ...]:
        """How near the answer is to the optimum, why a schedule or an order is missing, and what nothing counts."""
        own = tuple(note for note in (self.tuned.note, self.paper_note, self.rates_note) if note)
        return (*self.tuned.bound.worth.notes, self.tuned.how, *own, *self.tuned.missing)

    def markdown(self) -> str:
        """A table: resource, tuned, with the paper's schedule, order."""
        rows, of_paper = [], self.paper.amounts if self.paper else {}
        for name, value in self.tuned.amounts.items():
            with_schedule = f"{of_paper[name]:.6g}" if name in of_paper else ""
            order = str(self.rates.costs.get(name, "")) if self.rates else ""
            rows.append([MEANING.get(name, name), f"{value:.6g}", with_schedule, order])
        return "\n".join(markdown_table(["cost", "tuned", "paper's schedule", "order"], rows))

    def __str__(self) -> str:
        rows = [f"{self.about.name}: cost of {self.tuned.bound.metric} <= {self.eps}", self.markdown()]
        chosen = self.tuned.values
        rows.append("tuned: " + ", ".join(f"{name} = {self.tuned.bound.numbers[name]:.10g}" for name in chosen))
        return "\n".join([*rows, *self.notes, *lines_about(self.about)])


def complexity(
    statement: Statement, values: Mapping[str, Any], eps: Any, *, cost: Any = None, beside: Beside = NOTHING
) -> Complexity:
    """T, communication rounds, samples per client and messages by size to bring the bound below eps.

    Args:
        values: constants, and hyperparameters that stay as they are.
        eps: target for the metric of the theorem.
        cost: what the tuned schedule minimises (a resource, or resource -> weight); the samples by default.
        beside: what else is known of the problem; what the target is compared with.

    Raises:
        InputError: as `tune`; the paper's schedule and the orders are left out with a note where they do not exist.

    Example:
        >>> import fedco
        >>> found = fedco.theorem("fcsg.theorem_4_1").complexity(L_f=1, L_g=1, S_f=1, S_g=1, sigma_g=1, F_gap=1, N=4,
        ...     eps="1/10")
        >>> found.tuned.bound.total <= 0.1
        True
    """
    tuned = tune(statement, values, eps=eps, cost=cost, beside=beside)
    paper, note = None, ""
    if statement.schedule:
        try:
            paper = tune(statement, values, eps=eps, cost=cost, follow_schedule=True, beside=beside)
        except InputError as error:
            note = f"with the paper's schedule: {error}"
    else:
        note = "the statement has no schedule of its own"
    order, order_note = None, ""
    try:
        order = rates(statement)
    except InputError as error:
        order_note = str(error)
    return Complexity(str(eps), tuned, paper, note, order, order_note)
