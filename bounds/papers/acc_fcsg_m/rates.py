"""Acc-FCSG-M: what the exact orders say about the printed theorem. The check is a linear program in rationals."""

from __future__ import annotations

from fractions import Fraction as Q

from ...audit.findings import Evidence, Finding, confirm


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


FINDINGS = (
    Finding(
        "acc_fcsg_m.printed_rate",
        "acc_fcsg_m.theorem_4_7",
        "beta = 5 S_F alpha; Remark 4.9, Table 1",
        "rate",
        "breaks",
        "O(N^-1 eps^-5) samples",
        "with beta = 5 S_F alpha as printed no choice of alpha, q, m, b, B and T needs fewer than N^-1 eps^-6 samples, "
        "as many as FCSG; eps^-5 needs beta = c alpha^2 as in the proof",
        "the printed theorem has no acceleration: its best schedule is as expensive as that of FCSG",
        printed_rate,
    ),
)
