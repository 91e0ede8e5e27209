"""Jamali, Saber, Bae: Generalized meta federated learning with several fine-tuning steps."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(
    __name__,
    "Jamali, Saber, Bae: Generalized meta federated learning with several fine-tuning steps",
    headlines=("theorem_8", "theorem_8_FO", "theorem_8_HF"),
    runs="fedco.validation.papers.meta_fl",
)
