"""One small theorem that is shown word by word, as an answer and on a page."""

from __future__ import annotations

from dataclasses import replace

from fedco.bounds.language.metrics import METRICS
from fedco.bounds.language.notation import Notation
from fedco.bounds.language.theorem import Assumption, Condition, Derived, Source, Statement, Term, Theorem

NOTATION = Notation(
    "demo",
    (
        ("L", "L", "local_smoothness"),
        ("sigma", r"\sigma", "local_gradient_noise"),
        ("F_gap", r"\Delta", "objective_gap"),
        ("eta", r"\eta", "step_size", "the same for all clients"),
        ("T", "T", "iterations"),
        ("N", "N", "clients"),
    ),
)
s = NOTATION.namespace()
DERIVED = Derived("V", s.sigma**2 / s.N, "V", "variance of a mean")
PRINTED = Statement(
    "printed",
    (
        Term("initialisation", 2 * s.F_gap / (s.eta * s.T)),
        Term("first_noise", s.L * s.eta * DERIVED.symbol, "variance"),
    ),
    (Condition("step_size", s.eta, "<=", 1 / s.L, "for the descent lemma"), Condition("horizon", s.T, ">", 3)),
    (DERIVED,),
    {"eta": 1 / (2 * s.L)},
    "without its footnote",
)
THEOREM = Theorem(
    "demo.theorem_1",
    "theorem",
    "A demonstration",
    Source("demo", "Theorem 1", "7"),
    NOTATION,
    METRICS["mean_gradient_sq"],
    {"printed": PRINTED, "corrected": replace(PRINTED, label="corrected", note="", schedule={})},
    (Assumption("smooth", "every loss is smooth"),),
)
