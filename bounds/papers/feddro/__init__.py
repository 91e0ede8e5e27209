"""Khanduri et al.: FedDRO, federated compositional optimization for distributionally robust learning."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(__name__)
