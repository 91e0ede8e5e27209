"""Gao, Li, Huang: On the convergence of local stochastic compositional gradient descent with momentum (ICML 2022)."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(__name__)
