"""Our own: what Local SGD, minibatch SGD, SCGD and biased SGD achieve. Derivations: docs/theory/baselines.md."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(__name__)
