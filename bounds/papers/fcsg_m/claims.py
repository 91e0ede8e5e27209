"""FCSG-M: what the paper says that a target costs, in terms of `metric <= eps`."""

from ...cost.claims import claims

CLAIMS = claims(
    "fcsg_m", "corollary_4_5", "theorem_4_4", "Remark 4.6", iterations=("2", -1), samples=("3", -1), rounds=("3/2", 0)
)
