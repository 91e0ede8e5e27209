"""Generalised meta FL: what the paper says that a target costs, in terms of `metric <= eps`."""

from ...cost.claims import claims

CLAIMS = claims("meta_fl", "theorem_8", "theorem_8", "Remark 9", rounds=("3/2", 0))
