"""The papers' complexity claims, checked against the exact orders of their own statements.

A paper that asks for E||grad||^2 <= eps^2 (Wu et al., Gao et al.) is translated to `metric <= eps` by halving its
exponents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from ..audit.refuted import refuted_by
from ..language.paper import Paper
from ..language.reading import InputError
from ..language.result import Sheet, Table
from ..registry import all_papers, get_theorem
from .orders import Order, Rates, rates


@dataclass(frozen=True)
class Claim:
    """`resource = O(eps^-eps clients^clients)`, in terms of `metric <= eps`.

    Args:
        statement_of: the theorem or corollary whose printed statement has the claimed schedule.
        general: the theorem behind it, inside which a better schedule may exist.
    """

    id: str
    statement_of: str
    general: str
    where: str
    resource: str
    order: Order


def claims(paper: str, statement_of: str, general: str, where: str, **orders: Sequence[str | int]) -> tuple[Claim, ...]:
    """One claim per resource: `resource=(exponent of 1/eps, exponent of the clients)`; names without the paper's key."""
    return tuple(
        Claim(
            f"{paper}.{name}",
            f"{paper}.{statement_of}",
            f"{paper}.{general}",
            where,
            name,
            Order(Fraction(eps), Fraction(clients)),
        )
        for name, (eps, clients) in orders.items()
    )


@dataclass(frozen=True)
class Checked:
    """A claim next to what follows.

    Args:
        found: the order with the claimed schedule (the printed corollary), samples first.
        best: statement label -> the least order that the general theorem allows without more samples.
        refuted_by: bundles that break the printed statement: what follows from it does not hold for that.
        corrected: the order with the schedule of the corrected corollary, where there is one.
    """

    claim: Claim
    found: Order | None
    best: dict[str, Order | None]
    refuted_by: tuple[str, ...] = ()
    corrected: Order | None = None

    @property
    def agrees(self) -> bool:
        """Whether the printed statement gives what is claimed."""
        return self.found is not None and not _is_larger(self.found, self.claim.order)

    @property
    def better(self) -> tuple[str, ...]:
        """Statements of the general theorem inside which a cheaper schedule exists."""
        return tuple(
            label for label, order in self.best.items() if order is not None and _is_larger(self.claim.order, order)
        )

    @property
    def worse(self) -> tuple[str, ...]:
        """Statements of the general theorem that do not give what is claimed."""
        return tuple(
            label for label, order in self.best.items() if order is None or _is_larger(order, self.claim.order)
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "claim": self.claim.id,
            "where": self.claim.where,
            "claimed": str(self.claim.order),
            "found": str(self.found),
            "agrees": self.agrees,
            "refuted_by": list(self.refuted_by),
            "corrected": None if self.corrected is None else str(self.corrected),
            "best": {label: str(order) for label, order in self.best.items()},
            "better_schedule_in": list(self.better),
            "does_not_follow_in": list(self.worse),
        }

    def __str__(self) -> str:
        verdict = "follows" if self.agrees else "does not follow"
        if self.agrees and self.refuted_by:
            verdict = f"follows only from the printed statement, which is refuted ({self.refuted_by[0]})"
            verdict += f"; the corrected one gives {self.corrected}" if self.corrected else ""
        best = ", ".join(f"{label}: {order}" for label, order in self.best.items())
        claimed = f"{self.claim.where}: {self.claim.resource} ~ {self.claim.order} {verdict}"
        return f"{claimed}; best inside {self.claim.general}: {best}"


def sheet(checked: Sequence[Checked]) -> Sheet:
    """Claims as a table."""
    rows = tuple(
        (
            row.claim.where,
            row.claim.resource,
            row.claim.order.math(),
            row.found.math() if row.found else None,
            row.agrees,
            bool(row.refuted_by),
            row.corrected.math() if row.corrected else None,
            ", ".join(f"{label}: {order}" for label, order in row.best.items()),
        )
        for row in checked
    )
    heads = (
        "where",
        "cost",
        "claimed",
        "printed statement gives",
        "follows",
        "printed refuted",
        "corrected statement gives",
        "least order inside the theorem",
    )
    return Sheet("Complexity claims of the paper", None, (Table("claims", heads, rows),))


def _is_larger(left: Order, right: Order) -> bool:
    """Whether it is known to grow faster: by the number of clients only where both powers are known."""
    if left.eps != right.eps:
        return left.eps > right.eps
    return left.clients is not None and right.clients is not None and left.clients > right.clients


def check(claim: Claim) -> Checked:
    """The claim against the printed corollary and against every statement of the theorem behind it."""
    general = get_theorem(claim.general)
    best = {label: _least(claim, claim.general, label) for label in general.labels}
    item = get_theorem(claim.statement_of)
    corrected = _least(claim, claim.statement_of, "corrected") if "corrected" in item.labels else None
    broken = refuted_by(item.statement("printed"))
    return Checked(claim, _least(claim, claim.statement_of, "printed"), best, broken, corrected)


def _least(claim: Claim, name: str, label: str) -> Order | None:
    found = _rates(name, label)
    return found.costs.get(claim.resource) if found else None


@cache
def _rates(name: str, label: str) -> Rates | None:
    try:
        return rates(get_theorem(name).statement(label))
    except InputError:
        return None


def about(name: str) -> tuple[Claim, ...]:
    """The claims that rest on a theorem or on its corollary, by id; none for a theorem without any."""
    every = (claim for paper in all_papers() for claim in claims_of(paper))
    return tuple(claim for claim in every if name in (claim.statement_of, claim.general))


def claims_of(paper: Paper) -> Iterator[Claim]:
    """What a paper says that its theorems cost, from the rows of its `paper.toml`."""
    for row in paper.claims:
        yield from claims(paper.key, **row)
