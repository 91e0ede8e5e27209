"""Huang, Li, Huang: Compositional federated learning (2021)."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(__name__)
