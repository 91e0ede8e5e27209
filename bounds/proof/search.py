"""Looking for a certificate that a signomial is nonnegative on a region. Nothing here need be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from itertools import combinations_with_replacement, pairwise
from typing import Any

from .kernel.region import Certificate, Region, slacks_of
from .kernel.signomial import Monomial, Param, Signomial

DEPTH = 6
BUDGET = 120
"""Products tried for one number, so that a claim without a certificate is refused quickly."""

Product = tuple[tuple[str, ...], Signomial]
Point = Mapping[Param, Fraction]


def points_near(inside: Point, region: Region) -> tuple[Point, ...]:
    """The given point, and others that have one or two coordinates larger or smaller and satisfy every condition."""
    free = [param for param in inside if param not in region.formulas and param not in region.quotients]
    changes = [(param, factor) for param in free for factor in (Fraction(3), Fraction(1, 3)) if _allowed(param, factor)]
    found = []
    for chosen in ((), *((c,) for c in changes), *pairwise(changes)):
        point = {param: inside[param] for param in free}
        for param, factor in chosen:
            point[param] *= factor
        try:
            point = region.constants_at(point)
        except ValueError:  # a root is not rational there
            continue
        if all(slack.at(point) >= 0 for slack in region.conditions.values() if _whole(slack)):
            found.append(point)
    return tuple(found)


def _allowed(param: Param, factor: Fraction) -> bool:
    return factor > 1 or not param.count


def _whole(value: Signomial) -> bool:
    return all(e.denominator == 1 for monomial, _ in value.terms for _, e in monomial)


def negative_at(value: Signomial, points: Iterable[Point]) -> Point | None:
    """A point at which the value is negative: then no certificate need be looked for."""
    if not _whole(value):
        return None
    return next((point for point in points if value.params <= point.keys() and value.at(point) < 0), None)


def certificate_for(value: Signomial, region: Region) -> Certificate | None:
    """Products of conditions that leave nothing negative, or None where none was found; remembered."""
    parts = (region.conditions, region.formulas, region.powers, region.quotients)
    return _looked_for(value, *(tuple(part.items()) for part in parts))


@lru_cache(maxsize=4096)
def _looked_for(value: Signomial, *parts: tuple[Any, ...]) -> Certificate | None:
    region = Region(*(dict(part) for part in parts))
    for attempt in (_by_counts, _single, _expanded, _double):
        found = attempt(value, region)
        if found is not None and region.certified(value, found):
            return found
    return None


def _single(value: Signomial, region: Region) -> Certificate | None:
    return _cover(value, _products(region, value, 1), BUDGET)


def _double(value: Signomial, region: Region) -> Certificate | None:
    return _cover(value, _products(region, value, 2), BUDGET)


def _expanded(value: Signomial, region: Region) -> Certificate | None:
    """With the formulas of the constants put in."""
    goal = region.expanded(value)
    rows = [(names, region.expanded(product)) for names, product in _products(region, goal, 1)]
    return _cover(goal, rows, BUDGET) if goal != value else None


def _by_counts(value: Signomial, region: Region) -> Certificate | None:
    """A polynomial in one whole number for each monomial in the other parameters, each with its own certificate."""
    for count in (param for param in value.params if param.count):
        exponents = {dict(monomial).get(count, 0) for monomial, _ in value.terms}
        if len(exponents) > 1 and (found := _by_count(value, count)) is not None:
            return found
    return None


def _by_count(value: Signomial, count: Param) -> Certificate | None:
    groups: dict[Monomial, list[tuple[Monomial, Fraction]]] = {}
    for monomial, coefficient in value.terms:
        rest = tuple((p, e) for p, e in monomial if p != count)
        own = tuple((p, e) for p, e in monomial if p == count)
        groups.setdefault(rest, []).append((own, coefficient))
    certificate: Certificate = ()
    for rest, terms in groups.items():
        alone = Signomial(terms)
        found = _cover(alone, _products(Region({}), alone, 2), BUDGET)
        if found is None:
            return None
        certificate += tuple((Signomial([(rest, Fraction(1))]) * factor, names) for factor, names in found)
    return certificate


def _products(region: Region, value: Signomial, degree: int) -> list[Product]:
    names = [*region.conditions, *(f"{p.name}{end}" for p in value.params if p.count for end in (">=1", " whole"))]
    names += [name for param in region.quotients if param in value.params for name in slacks_of(param)]
    rows = []
    for size in range(1, degree + 1):
        for chosen in combinations_with_replacement(names, size):
            product = Signomial([((), 1)])
            for name in chosen:
                product = product * region.slack(name)
            rows.append((chosen, product))
    return rows


def _cover(value: Signomial, products: list[Product], budget: int) -> Certificate | None:
    """Cancel the first negative term by a multiple of a product, the simplest remainder first."""
    if value.nonnegative:
        return ()
    queue: list[tuple[int, int, Signomial, Certificate]] = [(0, 0, value, ())]
    seen, tried = {value}, 0
    while queue and tried < budget:
        _, _, left, found = heappop(queue)
        worst = next((m, c) for m, c in left.terms if c < 0)
        for names, product in products:
            for monomial, coefficient in product.terms:
                factor = _quotient(worst, (monomial, coefficient)) if coefficient < 0 else None
                if factor is None:
                    continue
                rest, tried = left - factor * product, tried + 1
                if rest.nonnegative:
                    return (*found, (factor, names))
                if rest not in seen and len(found) < DEPTH:
                    seen.add(rest)
                    heappush(queue, (_cost(rest, value) + len(found), tried, rest, (*found, (factor, names))))
    return None


def _quotient(above: tuple[Monomial, Fraction], below: tuple[Monomial, Fraction]) -> Signomial | None:
    exponents = dict(above[0])
    for param, exponent in below[0]:
        exponents[param] = exponents.get(param, 0) - exponent
    monomial = tuple(sorted((param, _exponent(e)) for param, e in exponents.items() if e))
    try:
        return Signomial([(monomial, above[1] / below[1])])
    except ValueError:  # would divide by a parameter that may be 0
        return None


def _exponent(value: int | Fraction) -> int | Fraction:
    return int(value) if value.denominator == 1 else value


def _cost(left: Signomial, goal: Signomial) -> int:
    """Negative terms count most, parameters that the goal does not have next, then terms."""
    return 4 * sum(c < 0 for _, c in left.terms) + 2 * len(left.params - goal.params) + len(left.terms)
