"""Acc-FCSG-M: what the exact orders say about the printed theorem. The check is a linear program in rationals."""

from __future__ import annotations

from fractions import Fraction as Q

from ...audit.findings import Evidence, confirm


def printed_rate() -> Evidence:
    """Least samples that Theorem 4.7 allows with its printed momentum, and with that of the proof; metric <= eps^2."""
    from ...cost.orders import Order, rates
    from ...registry import get_theorem as theorem

    found = {
        label: rates(theorem("acc_fcsg_m.theorem_4_7").statement(label)).costs["samples"]
        for label in ("printed", "composed")
    }
    plain = rates(theorem("fcsg.theorem_4_1").statement("printed")).costs["samples"]
    return confirm(
        found["printed"] == Order(Q(3), Q(-1)) == plain and found["composed"] == Order(Q(5, 2), Q(-1)),
        printed=f"samples ~ {found['printed']} for metric <= eps, that is eps^-6",
        composed=f"samples ~ {found['composed']}, that is eps^-5",
        fcsg=f"samples ~ {plain} without acceleration",
    )
