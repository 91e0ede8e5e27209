"""Sizes computed from data are rounded up to a grid: above what was computed, and the same when its last bits differ."""

from __future__ import annotations

import math

from fedco.synthetic.applications.federated_logistic import FederatedLogistic
from fedco.synthetic.certificate import rounded_up
from hypothesis import given
from hypothesis import strategies as st


@given(st.floats(1e-12, 1e12))
def test_rounding_goes_up_by_little_and_keeps_the_order(size):
    found = rounded_up(size)
    assert size * (1 + 5e-13) < found <= size * (1 + 2e-10)
    assert rounded_up(math.nextafter(size, math.inf)) >= found


def test_last_bits_do_not_show():
    sizes = [math.sqrt(n) for n in range(2, 400)]
    assert all(rounded_up(size) == rounded_up(size * (1 + 1e-15)) == rounded_up(size * (1 - 1e-15)) for size in sizes)
    assert rounded_up(0.0) == 0.0


def test_constants_of_data_are_on_the_grid():
    found = FederatedLogistic().certificates
    for name in ("local_gradient_noise", "local_gradient_heterogeneity", "objective_gap"):
        mantissa, _ = math.frexp(float(found[name].value))
        assert math.ldexp(mantissa, 40).is_integer(), name
