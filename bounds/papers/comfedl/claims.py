"""ComFedL: what the paper says that a target costs, in terms of `metric <= eps`."""

from ...cost.claims import claims

CLAIMS = claims(
    "comfedl",
    "theorem_1",
    "theorem_1",
    "Table 1 of feddro; Remark 3.7 of local_scgdm",
    samples=("4", 0),
    rounds=("2", 0),
)
