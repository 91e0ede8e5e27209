"""The papers' complexity claims, checked against the exact orders of their own statements.

A paper that asks for E||grad||^2 <= eps^2 (Wu et al., Gao et al.) is translated to `metric <= eps` by halving its
exponents.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from ..language.reading import InputError
from ..registry import get_theorem as find
from .orders import Order, Rates, rates

_ORDERS = (("samples", "rounds"), ("rounds", "samples"))


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


def _claims(paper: str, statement_of: str, general: str, where: str, **orders: tuple[str, int]) -> tuple[Claim, ...]:
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


CLAIMS = (
    *_claims("feddro", "corollary_1", "theorem_5_1", "Corollary 2", samples=("2", -1), rounds=("3/2", 0)),
    *_claims(
        "feddro",
        "corollary_1",
        "theorem_5_1",
        "text after Corollary 2",
        model_messages=("3/2", 0),
        embedding_messages=("2", -1),
    ),
    *_claims(
        "fcsg", "corollary_4_2", "theorem_4_1", "Remark 4.3", iterations=("2", -1), samples=("3", -1), rounds=("3/2", 0)
    ),
    *_claims(
        "fcsg_m",
        "corollary_4_5",
        "theorem_4_4",
        "Remark 4.6",
        iterations=("2", -1),
        samples=("3", -1),
        rounds=("3/2", 0),
    ),
    *_claims(
        "acc_fcsg_m",
        "corollary_4_8",
        "theorem_4_7",
        "Remark 4.9",
        iterations=("3/2", -1),
        samples=("5/2", -1),
        rounds=("1", 0),
    ),
    *_claims("local_scgdm", "corollary_3_5", "theorem_3_4", "Remark 3.7", samples=("2", 0), rounds=("3/2", 0)),
    *_claims("meta_fl", "theorem_8", "theorem_8", "Remark 9", rounds=("3/2", 0)),
    *_claims(
        "comfedl",
        "theorem_1",
        "theorem_1",
        "Table 1 of feddro; Remark 3.7 of local_scgdm",
        samples=("4", 0),
        rounds=("2", 0),
    ),
)


@dataclass(frozen=True)
class Checked:
    """A claim next to what follows.

    Args:
        found: the order with the claimed schedule (the printed corollary), samples first.
        best: statement label -> the least order that the general theorem allows without more samples.
    """

    claim: Claim
    found: Order | None
    best: dict[str, Order | None]

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
            "best": {label: str(order) for label, order in self.best.items()},
            "better_schedule_in": list(self.better),
            "does_not_follow_in": list(self.worse),
        }

    def __str__(self) -> str:
        verdict = "follows" if self.agrees else "does not follow"
        best = ", ".join(f"{label}: {order}" for label, order in self.best.items())
        claimed = f"{self.claim.where}: {self.claim.resource} ~ {self.claim.order} {verdict}"
        return f"{claimed}; best inside {self.claim.general}: {best}"


def _is_larger(left: Order, right: Order) -> bool:
    return (left.eps, left.clients) > (right.eps, right.clients)


def check(claim: Claim) -> Checked:
    """The claim against the printed corollary and against every statement of the theorem behind it."""
    general = find(claim.general)
    best = {label: _least(claim, claim.general, label) for label in general.labels}
    return Checked(claim, _least(claim, claim.statement_of, "printed"), best)


def _least(claim: Claim, name: str, label: str) -> Order | None:
    found = _rates(name, label)
    return found.costs.get(claim.resource) if found else None


@cache
def _rates(name: str, label: str) -> Rates | None:
    try:
        return rates(find(name), label, _ORDERS[0])
    except InputError:
        return None


def about(name: str) -> tuple[Claim, ...]:
    """The claims that rest on a theorem or on its corollary, by id; none for a theorem without any."""
    return tuple(claim for claim in CLAIMS if name in (claim.statement_of, claim.general))


def disagreements() -> tuple[Checked, ...]:
    """Claims that do not follow from the printed corollary, or from some statement of the theorem behind it."""
    checked = (check(claim) for claim in CLAIMS)
    return tuple(row for row in checked if not row.agrees or row.worse)
