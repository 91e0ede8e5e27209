"""Khanduri et al.: FedDRO, federated compositional optimization for distributionally robust learning."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(
    __name__,
    "Khanduri et al.: FedDRO, federated compositional optimization for distributionally robust learning",
    headlines=("theorem_5_1",),
    runs="fedco.validation.papers.feddro",
)
