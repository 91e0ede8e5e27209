"""Proofs as data: derivations that a kernel checks, composing printed lemmas, certificates of polynomial inequalities."""
