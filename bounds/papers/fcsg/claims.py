"""FCSG: what the paper says that a target costs, in terms of `metric <= eps`."""

from ...cost.claims import claims

CLAIMS = claims(
    "fcsg", "corollary_4_2", "theorem_4_1", "Remark 4.3", iterations=("2", -1), samples=("3", -1), rounds=("3/2", 0)
)
