"""The usual letters of the theorems that tests define, and what each means."""

from __future__ import annotations

MEANING = {
    "L": "local_smoothness",
    "L_bar": "objective_smoothness",
    "mu": "strong_convexity",
    "sigma": "local_gradient_noise",
    "G": "local_gradient_bound",
    "zeta": "local_gradient_heterogeneity",
    "F_gap": "objective_gap",
    "D": "initial_distance",
    "eta": "step_size",
    "b": "batch_size",
    "p": "communication_period",
    "beta": "momentum",
    "t0": "step_offset",
    "K": "communication_period",
    "a": "step_numerator",
    "nu": "fine_tuning_steps",
    "rho": "spectral_gap",
    "delta": "failure_probability",
    "N": "clients",
    "T": "iterations",
    "R": "rounds",
}


def symbols(letters: str, **others: str) -> dict[str, str]:
    """The table of symbols of a theorem: usual letters, with a space between them, and others with their quantities."""
    return {letter: MEANING[letter] for letter in letters.split()} | others
