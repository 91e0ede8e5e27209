"""Our own: what Local SGD, minibatch SGD, SCGD and biased SGD achieve. Derivations: docs/theory/baselines.md."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(
    __name__,
    "Baselines: Local SGD, minibatch SGD, SCGD and biased SGD, derived in docs/theory/baselines.md",
    headlines=("local_sgd", "local_sgd_heterogeneity", "minibatch_sgd", "scgd", "biased_sgd"),
    runs="fedco.validation.papers.baselines",
)
