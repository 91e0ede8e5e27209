"""Wu et al.: Federated conditional stochastic optimization (NeurIPS 2023), FCSG-M."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(
    __name__,
    "Wu et al.: Federated conditional stochastic optimization (NeurIPS 2023), FCSG-M",
    headlines=("theorem_4_4",),
    runs="fedco.validation.papers.fcsg_m",
)
