"""Jamali, Saber, Bae: Generalized meta federated learning with several fine-tuning steps."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(__name__)
