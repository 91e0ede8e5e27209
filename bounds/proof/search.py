"""Looking for a certificate that a signomial is nonnegative on a region. Nothing here need be trusted."""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations_with_replacement

from .kernel.region import Certificate, Region
from .kernel.signomial import Monomial, Param, Signomial

DEPTH = 6
DEGREE = 2
BUDGET = 400
"""Products tried for one number, so that a claim without a certificate is refused quickly."""


def certificate_for(value: Signomial, region: Region) -> Certificate | None:
    """Products of conditions that leave nothing negative, or None where none was found."""
    for count in (param for param in value.params if param.count):
        if (found := _by_count(value, count)) is not None and region.certified(value, found):
            return found
    for goal in dict.fromkeys((value, region.expanded(value))):
        for degree in range(1, DEGREE + 1):
            products = _products(region, goal, degree, goal is not value)
            found = _cover(goal, products, DEPTH)
            if found is not None and region.certified(value, found):
                return found
    return None


def _by_count(value: Signomial, count: Param) -> Certificate | None:
    """A polynomial in a whole number for each monomial in the other parameters, each with its own certificate."""
    groups: dict[Monomial, list[tuple[Monomial, Fraction]]] = {}
    for monomial, coefficient in value.terms:
        rest = tuple((p, e) for p, e in monomial if p != count)
        own = tuple((p, e) for p, e in monomial if p == count)
        groups.setdefault(rest, []).append((own, coefficient))
    alone = Region({})
    certificate: Certificate = ()
    for rest, terms in groups.items():
        found = _cover(Signomial(terms), _products(alone, Signomial(terms), 2, False), DEPTH)
        if found is None:
            return None
        certificate += tuple((Signomial([(rest, Fraction(1))]) * factor, names) for factor, names in found)
    return certificate


def _products(region: Region, value: Signomial, degree: int, expanded: bool) -> list[tuple[tuple[str, ...], Signomial]]:
    names = [*region.conditions, *(f"{p.name}{end}" for p in value.params if p.count for end in (">=1", " whole"))]
    rows = []
    for size in range(1, degree + 1):
        for chosen in combinations_with_replacement(names, size):
            product = Signomial([((), 1)])
            for name in chosen:
                product = product * region.slack(name)
            rows.append((chosen, region.expanded(product) if expanded else product))
    return rows


def _cover(value: Signomial, products: list[tuple[tuple[str, ...], Signomial]], depth: int) -> Certificate | None:
    """Cancel the first negative term by a multiple of a product, the simplest remainder first."""
    queue: list[tuple[int, int, Signomial, Certificate]] = [(0, 0, value, ())]
    seen, tried = {value}, 0
    while queue and tried < BUDGET:
        _, _, left, found = heappop(queue)
        worst = next(((m, c) for m, c in left.terms if c < 0), None)
        if worst is None:
            return found
        for names, product in products:
            for monomial, coefficient in product.terms:
                factor = _quotient(worst, (monomial, coefficient)) if coefficient < 0 else None
                if factor is None:
                    continue
                rest = left - factor * product
                if rest not in seen and len(found) < depth:
                    seen.add(rest)
                    tried += 1
                    heappush(queue, (_cost(rest, value) + len(found), tried, rest, (*found, (factor, names))))
    return None


def _quotient(above: tuple[Monomial, Fraction], below: tuple[Monomial, Fraction]) -> Signomial | None:
    try:
        return Signomial([above]) / Signomial([below])
    except ValueError:  # would divide by a parameter that may be 0
        return None


def _cost(left: Signomial, goal: Signomial) -> int:
    """Negative terms count most, parameters that the goal does not have next, then terms."""
    return 4 * sum(c < 0 for _, c in left.terms) + 2 * len(left.params - goal.params) + len(left.terms)
