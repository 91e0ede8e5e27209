"""Hypothesis strategies drawn from the declared domains: values for a statement, for our tests and for a user's own.

    >>> import fedco
    >>> from fedco.bounds.evaluation.strategies import values
    >>> admissible = values(fedco.theorem("feddro.theorem_5_1").statement("corrected"))

Hypothesis is needed by whoever calls this, and by nothing else in the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from ..language.notation import Binding
from ..language.quantities import COUNT, DOMAINS, STEPS
from ..language.theorem import Statement
from .evaluate import complete, evaluate, holds

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Values = dict[str, Fraction]

MODERATE_STEPS = 5
"""Recursions are drawn with at most so many steps: their exact values have thousands of digits beyond."""
TRIES = 4096
"""Candidates per draw of the constants: floating point screens them, exact arithmetic decides."""
REALS = tuple(Fraction(digit) * Fraction(10) ** power for power in range(-12, 3) for digit in (1, 2, 5))
COUNTS = tuple(Fraction(n) for n in (1, 2, 3, 5, 8, 16, 100)) + tuple(Fraction(10) ** k for k in range(3, 25))


def values(statement: Statement, *, admissible: bool = True) -> SearchStrategy[Values]:
    """Exact values for the symbols of a statement, each inside its declared domain.

    Args:
        statement: a statement of a theorem, for instance `theorem.statement("printed")`.
        admissible: only values that satisfy every condition and that the method can take, decided exactly.

    Returns:
        A strategy of dicts, symbol name -> Fraction. Symbols that the statement's schedule determines are left out.

    Raises:
        ModuleNotFoundError: hypothesis is not installed.
    """
    st = _hypothesis()
    drawn = _free_bindings(statement)
    if not admissible or not statement.requirements:
        return st.fixed_dictionaries({name: number(binding) for name, binding in drawn.items()})
    hyper = {name: binding for name, binding in drawn.items() if binding.quantity.role == "hyperparameter"}
    rest = {name: number(binding) for name, binding in drawn.items() if name not in hyper}

    def choose(constants: Values, seed: int) -> Values | None:
        return admissible_hyperparameters(statement, constants, tuple(hyper), seed)

    found = st.builds(choose, st.fixed_dictionaries(rest), st.integers(0, 2**20))
    return found.filter(lambda point: point is not None)


def number(binding: Binding) -> SearchStrategy[Fraction]:
    """A value in the domain of one symbol: small fractions over a few scales, zero where the domain has it."""
    return _in_domain(binding.quantity.domain)


@cache
def _in_domain(domain: str) -> SearchStrategy[Fraction]:
    """One strategy for all symbols of a domain: hypothesis looks into each new one, which takes longer than to draw from it."""
    st = _hypothesis()
    if domain == COUNT:
        return st.one_of(st.integers(1, 12), st.integers(13, 10**6)).map(Fraction)
    if domain == STEPS:
        return st.integers(0, MODERATE_STEPS).map(Fraction)
    scale = st.sampled_from((Fraction(1), Fraction(1, 10), Fraction(10)))
    numbers = DOMAINS[domain]
    positive = st.builds(lambda p, q, unit: Fraction(p, q) * unit, st.integers(1, 30), st.integers(1, 12), scale)
    if numbers.most is not None:
        positive = st.builds(lambda p, q: Fraction(p, p + q), st.integers(1, 30), st.integers(int(numbers.open), 300))
    return st.one_of(positive, st.just(Fraction(0))) if numbers.zero else positive


def admissible_hyperparameters(
    statement: Statement, constants: Mapping[str, Fraction], names: tuple[str, ...], seed: int
) -> Values | None:
    """The constants with hyperparameters that satisfy every condition, or None where the search finds none."""
    import numpy as np

    rng = np.random.default_rng(seed)
    bindings = statement.symbols
    ladders = {name: _ladder(bindings[name].quantity.domain) for name in names}
    chosen = {name: rng.integers(len(ladder), size=TRIES) for name, ladder in ladders.items()}
    arrays = {name: _floats(ladder)[chosen[name]] for name, ladder in ladders.items()}
    with np.errstate(all="ignore"):
        found = evaluate(statement, **{name: float(v) for name, v in constants.items()}, **arrays)["admissible"]
    for row in np.flatnonzero(np.broadcast_to(found, (TRIES,)))[:3]:
        point = {**constants, **{name: ladders[name][chosen[name][row]] for name in names}}
        if satisfies(statement, point):
            return point
    return None


def satisfies(statement: Statement, point: Mapping[str, Any]) -> bool:
    """Whether every condition of a statement holds at a point and the method can take it, decided exactly."""
    known = complete(statement, point)
    return all(holds(c.each_side(lambda side: statement.at(side, known))) for c in statement.requirements)


def _free_bindings(statement: Statement) -> dict[str, Binding]:
    return {name: binding for name, binding in statement.symbols.items() if name not in statement.schedule}


def _ladder(domain: str) -> tuple[Fraction, ...]:
    if domain == STEPS:
        return tuple(Fraction(n) for n in range(MODERATE_STEPS + 1))
    if domain == COUNT:
        return COUNTS
    numbers = DOMAINS[domain]
    ends = tuple(Fraction(n) for n in range(2) if numbers.most is not None and numbers.contains(Fraction(n)))
    return ends + tuple(value for value in REALS if numbers.contains(value) and value not in ends)


@cache
def _floats(ladder: tuple[Fraction, ...]) -> Any:
    import numpy as np

    return np.array([float(value) for value in ladder])


def _hypothesis() -> Any:
    try:
        from hypothesis import strategies
    except ModuleNotFoundError:
        message = (
            "fedco.bounds.evaluation.strategies needs the package hypothesis: pip install hypothesis (or fedco[test])"
        )
        raise ModuleNotFoundError(message, name="hypothesis") from None
    return strategies
