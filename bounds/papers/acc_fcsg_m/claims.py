"""Acc-FCSG-M: what the paper says that a target costs, in terms of `metric <= eps`."""

from ...cost.claims import claims

CLAIMS = claims(
    "acc_fcsg_m",
    "corollary_4_8",
    "theorem_4_7",
    "Remark 4.9",
    iterations=("3/2", -1),
    samples=("5/2", -1),
    rounds=("1", 0),
)
