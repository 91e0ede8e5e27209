"""Problems with something wrong, and that the conformance suite says so."""

import copy

import pytest
from fedco.synthetic.conformance.suite import Budget, ConformanceError, check_problem, with_scaled_certificate

GLANCE = Budget(lanes=2, steps=2)
OFF = 1 + 1e-6


def mutant_of(original, **methods):
    """A copy whose named methods are replaced (an instance attribute hides a method)."""
    mutant = copy.copy(original)
    mutant.__dict__.update(methods)
    return mutant


def is_caught(complaint, original, quantities=None, **methods):
    with pytest.raises(ConformanceError, match=complaint):
        check_problem(mutant_of(original, **methods), GLANCE, quantities=quantities)


def is_caught_a_little_too_small(quantity, original):
    """98% of an exact certificate, 60% of an upper bound."""
    factor = 0.98 if original.certificates[quantity].kind == "exact" else 0.6
    is_caught(quantity, with_scaled_certificate(original, quantity, factor), (quantity,))


def only_sampled(oracle, factor=OFF):
    """Right without a sample, the last argument, and wrong with one."""
    return lambda *given: oracle(*given) * (factor if given[-1] is not None and len(given) > 1 else 1)
