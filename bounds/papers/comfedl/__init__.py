"""Huang, Li, Huang: Compositional federated learning (2021). Here f is the inner function and g the outer."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(
    __name__,
    "Huang, Li, Huang: Compositional federated learning (2021)",
    headlines=("theorem_1", "theorem_2"),
    runs="fedco.validation.papers.comfedl",
)
