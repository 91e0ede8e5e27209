"""FedDRO: what the paper says that a target costs, in terms of `metric <= eps`."""

from ...cost.claims import claims

CLAIMS = (
    *claims("feddro", "corollary_1", "theorem_5_1", "Corollary 2", samples=("2", -1), rounds=("3/2", 0)),
    *claims(
        "feddro",
        "corollary_1",
        "theorem_5_1",
        "text after Corollary 2",
        model_messages=("3/2", 0),
        embedding_messages=("2", -1),
    ),
)
