"""Local-SCGDM: what the paper says that a target costs, in terms of `metric <= eps`."""

from ...cost.claims import claims

CLAIMS = claims("local_scgdm", "corollary_3_5", "theorem_3_4", "Remark 3.7", samples=("2", 0), rounds=("3/2", 0))
