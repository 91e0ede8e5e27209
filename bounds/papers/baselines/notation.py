"""Symbols, assumptions and metric of the baselines. Derivations: docs/theory/baselines.md.

Local SGD and minibatch SGD: F(x) = (1/N) sum_i F_i(x). SCGD: F(x) = (1/N) sum_k f_k(g(x)). Biased SGD:
F(x) = (1/N) sum_n E_xi f_xi(E_{eta|xi} g_eta(x, xi)).
"""

from __future__ import annotations

from ...language.bounding import (
    DIFFERENTIABLE,
    EQUAL_INNER,
    FRESH,
    INDEPENDENT,
    INDEPENDENT_CLIENTS,
    MEAN_MODEL,
    ONE_LAW,
    SEPARATE,
    STARTS,
)
from ...language.dimension import OBJECTIVE, VARIABLE
from ...language.notation import Notation
from ...language.theorem import Assumption, Metric, Source

NOTATION = Notation(
    "baselines",
    (
        ("L", "L", "local_smoothness"),
        ("L_bar", r"\bar L", "objective_smoothness"),
        ("G", "G", "local_gradient_bound"),
        ("sigma", r"\sigma", "local_gradient_noise"),
        ("zeta", r"\zeta", "local_gradient_heterogeneity"),
        ("C_f", "C_f", "outer_mean_square_lipschitz"),
        ("L_f", "L_f", "outer_smoothness"),
        ("C_g", "C_g", "inner_jacobian_mean_square"),
        ("L_g", "L_g", "inner_smoothness"),
        ("delta_g", r"\delta_g", "inner_value_noise"),
        ("B_f", "B_f", "outer_sample_lipschitz"),
        ("S_f", "S_f", "outer_sample_smoothness"),
        ("S_g", "S_g", "inner_sample_smoothness"),
        ("F_gap", r"(F(\bar x_0)-F_*)", "objective_gap"),
        ("eta", r"\eta", "step_size"),
        ("gamma", r"\gamma", "momentum"),
        ("p", "p", "communication_period"),
        ("b", "b", "batch_size"),
        ("m", "m", "inner_batch_size"),
        ("N", "N", "clients"),
        ("T", "T", "iterations"),
    ),
)
s = NOTATION.namespace()

STATIONARITY = Metric(
    "(1/T) sum_t E||grad F(xbar_t)||^2",
    r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\nabla F(\bar x_t)\|^2",
    (OBJECTIVE / VARIABLE) ** 2,
    "average over t = 0..T-1 of the averaged model",
    MEAN_MODEL,
)

_INDEPENDENT = Assumption(
    "independence",
    "samples are fresh at every step, independent over the clients and within a batch, and have one law within a batch",
    says=(FRESH, INDEPENDENT, INDEPENDENT_CLIENTS, ONE_LAW),
)
_START = Assumption("start", "all clients start from one model", says=(STARTS,))
_INFIMUM = Assumption("infimum", "F is bounded below by F_*", ("F_gap",))
_GRADIENT = Assumption(
    "gradient", "F is differentiable, with the gradient that the chain rule gives", says=(DIFFERENTIABLE,)
)
FEDERATED = (
    Assumption(
        "smoothness", "every F_i is differentiable, and every grad F_i is L-Lipschitz", ("L",), (DIFFERENTIABLE,)
    ),
    Assumption(
        "noise",
        "stochastic gradients of F_i are unbiased, with a standard deviation of at most sigma at every point",
        ("sigma",),
    ),
    _INFIMUM,
    _INDEPENDENT,
    _START,
)
BOUNDED = Assumption("bounded gradients", "||grad F_i(x)|| <= G for every client and point", ("G",))
SIMILAR = Assumption("heterogeneity", "(1/N) sum_i ||grad F_i(x) - grad F(x)||^2 <= zeta^2 at every point", ("zeta",))
POOLED = (
    Assumption("smoothness", "F is differentiable, and grad F is L_bar-Lipschitz", ("L_bar",), (DIFFERENTIABLE,)),
    *FEDERATED[1:],
)
COMPOSITE = (
    Assumption("outer functions", "E||grad f_k(y; s)||^2 <= C_f^2; grad f_k is L_f-Lipschitz", ("C_f", "L_f")),
    Assumption(
        "inner map",
        "all g_k are one map g; E||Jacobian of g(x; z)||^2 <= C_g^2, so that g is C_g-Lipschitz; its Jacobian is L_g-Lipschitz",
        ("C_g", "L_g"),
        (EQUAL_INNER,),
    ),
    Assumption("inner value", "the noise of g(x; z) has a standard deviation of at most delta_g", ("delta_g",)),
    Assumption(
        "samples",
        "the outer samples of a step are independent over the clients and within a batch, and of its inner samples, "
        "which value and Jacobian share",
        says=(INDEPENDENT, INDEPENDENT_CLIENTS, SEPARATE),
    ),
    _INDEPENDENT,
    _INFIMUM,
    _GRADIENT,
)
CONDITIONAL = (
    Assumption("outer functions", "every f_xi is B_f-Lipschitz with an S_f-Lipschitz gradient", ("B_f", "S_f")),
    Assumption(
        "inner maps",
        "E||Jacobian of g_eta||^2 <= C_g^2; the Jacobian of every g_eta(., xi) is S_g-Lipschitz",
        ("C_g", "S_g"),
    ),
    Assumption(
        "inner value", "given xi, the noise of g_eta(x, xi) has a standard deviation of at most delta_g", ("delta_g",)
    ),
    _INDEPENDENT,
    _INFIMUM,
    _GRADIENT,
)


def source(section: str) -> Source:
    """Our own derivation: a section of docs/theory/baselines.md."""
    return Source("baselines", f"docs/theory/baselines.md, section {section}")
