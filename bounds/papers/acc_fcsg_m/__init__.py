"""Wu et al.: Federated conditional stochastic optimization (NeurIPS 2023), Acc-FCSG-M."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(__name__)
