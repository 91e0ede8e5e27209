"""Looking for a certificate that a signomial is nonnegative on a region. Nothing here need be trusted."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement

from .kernel.region import Certificate, Region
from .kernel.signomial import Monomial, Signomial

DEPTH = 6
DEGREE = 2
BUDGET = 60
"""Products tried for one number, so that a claim without a certificate is refused quickly."""


def certificate_for(value: Signomial, region: Region) -> Certificate | None:
    """Products of conditions that leave nothing negative, or None where none was found."""
    for goal in dict.fromkeys((value, region.expanded(value))):
        for degree in range(1, DEGREE + 1):
            products = _products(region, goal, degree, goal is not value)
            found = _cover(goal, products, DEPTH, [BUDGET])
            if found is not None and region.certified(value, found):
                return found
    return None


def _products(
    region: Region, value: Signomial, degree: int, expanded: bool
) -> list[tuple[tuple[str, ...], Signomial]]:
    names = [*region.conditions, *(f"{p.name}{end}" for p in value.params if p.count for end in (">=1", " whole"))]
    rows = []
    for size in range(1, degree + 1):
        for chosen in combinations_with_replacement(names, size):
            product = Signomial([((), 1)])
            for name in chosen:
                product = product * region.slack(name)
            rows.append((chosen, region.expanded(product) if expanded else product))
    return rows


def _cover(
    value: Signomial, products: list[tuple[tuple[str, ...], Signomial]], depth: int, budget: list[int]
) -> Certificate | None:
    """Cancel the first negative term by a multiple of a product, and go on with the simplest remainder."""
    worst = next(((m, c) for m, c in value.terms if c < 0), None)
    if worst is None:
        return ()
    if depth == 0:
        return None
    rows = []
    for names, product in products:
        for monomial, coefficient in product.terms:
            if coefficient < 0 and (factor := _quotient(worst, (monomial, coefficient))) is not None:
                left = value - factor * product
                rows.append((_size(left), len(rows), left, factor, names))
    for size, _, left, factor, names in sorted(rows):
        budget[0] -= 1
        if budget[0] < 0 or size[0] > _size(value)[0]:
            return None
        rest = _cover(left, products, depth - 1, budget)
        if rest is not None:
            return ((factor, names), *rest)
    return None


def _quotient(above: tuple[Monomial, Fraction], below: tuple[Monomial, Fraction]) -> Signomial | None:
    try:
        return Signomial([above]) / Signomial([below])
    except ValueError:  # would divide by a parameter that may be 0
        return None


def _size(value: Signomial) -> tuple[int, int]:
    """(negative terms, terms): the simpler the better."""
    return sum(c < 0 for _, c in value.terms), len(value.terms)
