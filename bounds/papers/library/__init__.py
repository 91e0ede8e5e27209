"""Theorems of the wider field, with constants and proofs of our own: convex, strongly convex and Polyak-Lojasiewicz objectives."""

from ...language.paper import paper_in_folder

PAPER = paper_in_folder(__name__)
