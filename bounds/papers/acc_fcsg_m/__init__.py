"""Wu et al.: Federated conditional stochastic optimization (NeurIPS 2023), Acc-FCSG-M."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(
    __name__,
    "Wu et al.: Federated conditional stochastic optimization (NeurIPS 2023), Acc-FCSG-M",
    headlines=("theorem_4_7",),
    runs="fedco.validation.papers.acc_fcsg_m",
)
