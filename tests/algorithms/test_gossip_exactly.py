"""Gossip SGD decides exactly whether its mixing matrix has a gap that a statement names; a double is the fraction that was typed."""

from __future__ import annotations

from fractions import Fraction

import pytest
from fedco.algorithms.baselines.gossip_sgd import GossipSGD
from fedco.bounds import get_theorem
from fedco.bounds.language.reading import InputError
from fedco.validation.runs.method_of import build_of

RING = GossipSGD(eta=0.1)


@pytest.mark.parametrize(("clients", "gap"), [(4, Fraction(2, 3)), (6, Fraction(1, 3)), (3, Fraction(1))])
def test_the_exact_gap_is_attained_and_no_more(clients, gap):
    """A ring of N has the eigenvalues (1 + 2 cos(2 pi k/N))/3."""
    assert RING.measure(clients)["spectral_gap"] < gap
    assert RING.attains("spectral_gap", float(gap), clients)
    assert RING.attains("mixing_contraction", float(1 - gap), clients)
    assert not RING.attains("spectral_gap", float(gap) + 1e-9, clients)
    assert not RING.attains("mixing_contraction", float(1 - gap) - 1e-9, clients)


def test_a_matrix_that_is_not_symmetric_has_its_largest_singular_value():
    shift = GossipSGD(
        eta=0.1, W=((0.5, 0.5, 0.0), (0.0, 0.5, 0.5), (0.5, 0.0, 0.5))
    )  # |1 + w|/2 = 1/2 for w = exp(2 pi i/3)
    assert shift.attains("spectral_gap", 0.5, 3) and not shift.attains("spectral_gap", 0.5 + 1e-9, 3)


def test_a_run_takes_the_exact_gap_and_refuses_a_larger_one():
    build = build_of(get_theorem("library.gossip_sgd"))
    values = {"eta": 0.01, "b": 1, "N": 6, "L": 1.0, "sigma": 1.0, "zeta": 1.0, "F_gap": 1.0, "T": 10}
    assert build({**values, "rho": 1 / 3}).name == "gossip_sgd"
    with pytest.raises(InputError, match="rho: gossip_sgd has a spectral_gap of"):
        build({**values, "rho": 1 / 3 + 1e-9})
