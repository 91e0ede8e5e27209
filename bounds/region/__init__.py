"""Admissible sets: conditions, roots, intervals; of one variable, and of several on top of them."""
