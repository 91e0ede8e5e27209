"""Proofs as data: composing printed lemmas, and exact certificates of polynomial inequalities."""
