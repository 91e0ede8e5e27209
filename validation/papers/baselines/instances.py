"""The baselines: their methods, and the instances on which their theorems are validated."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ....algorithms import SCGD, LocalSGD, Method, MinibatchSGD
from ...runs.instance import Instance
from ...runs.parameters import AT_REST, LOCAL_NOISE
from ...runs.parameters import NEAR as COMPOSITE
from ...runs.recipe import Recipe, optional

R = Fraction
NEAR = {"start": 5.0}
NOISE = {**LOCAL_NOISE, "sigma_f": 0.3}


def local_sgd(values: Mapping[str, float]) -> Method:
    return LocalSGD(eta=values["eta"], tau=int(values["p"]), b=int(values["b"]))


def minibatch_sgd(values: Mapping[str, float]) -> Method:
    """On a conditional problem m is the inner batch of each of the b outer samples."""
    return MinibatchSGD(eta=values["eta"], b=int(values["b"]), m=optional(values, "m") or 1)


def scgd(values: Mapping[str, float]) -> Method:
    return SCGD(eta=values["eta"], gamma=values["gamma"], b=int(values["b"]))


LOCAL_SGD = Recipe(
    local_sgd,
    (
        Instance(
            "federated_homogeneous", {"eta": R(1, 2), "p": 4, "b": 1}, "equal clients, rounds of 4", NEAR, (100, 200)
        ),
        Instance(
            "federated_heterogeneous", {"eta": R(1, 2), "p": 3, "b": 1}, "clients differ, rounds of 3", NEAR, (100, 200)
        ),
        Instance("federated_noisy", {"eta": R(1, 4), "p": 4, "b": 2}, "noise as large as the signal", NEAR, (200, 400)),
        Instance(
            "federated_noisy",
            {"eta": R(3, 20), "p": 4, "b": 2},
            "least bound for rounds of 4",
            NEAR,
            (300, 400),
            "tuned",
        ),
        Instance(
            "federated_homogeneous",
            {"eta": R(7, 5), "p": 1, "b": 1},
            "eta at 98% of its largest value",
            NEAR,
            (40, 80),
            "edge",
        ),
        Instance(
            "federated_noisy",
            {"eta": R(1, 4), "p": 4, "b": 2},
            "start near rest: noise and drift make the bound",
            {"start": 0.1},
            (200, 400),
            "stress",
        ),
    ),
)

LOCAL_SGD_HETEROGENEITY = Recipe(
    local_sgd,
    (
        Instance(
            "federated_homogeneous", {"eta": R(1, 4), "p": 4, "b": 1}, "equal clients, rounds of 4", NEAR, (100, 200)
        ),
        Instance(
            "federated_heterogeneous", {"eta": R(1, 4), "p": 4, "b": 1}, "clients differ, rounds of 4", NEAR, (100, 200)
        ),
        Instance("federated_noisy", {"eta": R(1, 4), "p": 3, "b": 2}, "noise as large as the signal", NEAR, (200, 400)),
        Instance(
            "federated_noisy",
            {"eta": R(1, 5), "p": 3, "b": 2},
            "least bound for rounds of 3",
            NEAR,
            (300, 400),
            "tuned",
        ),
        Instance(
            "federated_heterogeneous",
            {"eta": R(1, 3), "p": 4, "b": 1},
            "eta at 98% of its largest value",
            NEAR,
            (100, 200),
            "edge",
        ),
        Instance(
            "federated_noisy",
            {"eta": R(1, 4), "p": 3, "b": 2},
            "start near rest: noise, drift and heterogeneity",
            {"start": 0.1, "Delta": 0.8, "sigma": 0.4},
            (200, 400),
            "stress",
        ),
    ),
)

MINIBATCH_SGD = Recipe(
    minibatch_sgd,
    (
        Instance("federated_homogeneous", {"eta": R(1), "b": 1}, "equal clients", NEAR, (50, 100)),
        Instance("federated_heterogeneous", {"eta": R(1), "b": 2}, "clients differ, batches of 2", NEAR, (50, 100)),
        Instance("federated_logistic", {"eta": R(10), "b": 2}, "logistic regression", {}, (50, 100)),
        Instance("federated_noisy", {"eta": R(6, 5), "b": 1}, "least bound", NEAR, (75, 100), "tuned"),
        Instance(
            "federated_noisy", {"eta": R(7, 5), "b": 1}, "eta at 98% of its largest value", NEAR, (100, 200), "edge"
        ),
        Instance(
            "federated_noisy",
            {"eta": R(10, 7), "b": 2},
            "start near rest at the largest step: variance alone",
            {"start": 0.1},
            (100, 200),
            "stress",
        ),
    ),
)

SCGD_RECIPE = Recipe(
    scgd,
    (
        Instance(
            "local_homogeneous", {"eta": R(1, 10), "gamma": R(1, 2), "b": 1}, "equal clients", COMPOSITE, (200, 400)
        ),
        Instance(
            "local_heterogeneous",
            {"eta": R(1, 10), "gamma": R(1, 2), "b": 1},
            "outer functions differ",
            {**COMPOSITE, "Delta_g": 0.0},
            (200, 400),
        ),
        Instance(
            "local_noisy",
            {"eta": R(1, 10), "gamma": R(1, 3), "b": 1},
            "all oracles noisy",
            {**COMPOSITE, **NOISE},
            (400, 800),
        ),
        Instance(
            "local_noisy",
            {"eta": R(21, 100), "gamma": R(1), "b": 1},
            "least bound: the noise is too small to average",
            {**COMPOSITE, **NOISE},
            (400, 800),
            "tuned",
        ),
        Instance(
            "local_homogeneous",
            {"eta": R(93, 10), "gamma": R(1), "b": 1},
            "eta at 98% of its largest value, 32 clients",
            {**COMPOSITE, "clients": 32, "L_f": 0.05, "L_g": 0.05},
            (100, 200),
            "edge",
        ),
        Instance(
            "local_noisy",
            {"eta": R(1, 10), "gamma": R(1, 3), "b": 1},
            "start at rest: inner error and variance",
            {**AT_REST, **NOISE},
            (200, 400),
            "stress",
        ),
    ),
)

BIASED_SGD = Recipe(
    minibatch_sgd,
    (
        Instance(
            "conditional_homogeneous",
            {"eta": R(1, 5), "m": 2, "b": 1},
            "one law for all clients",
            COMPOSITE,
            (100, 200),
        ),
        Instance(
            "conditional_heterogeneous",
            {"eta": R(1, 5), "m": 2, "b": 1},
            "every client has outcomes of its own",
            COMPOSITE,
            (100, 200),
        ),
        Instance(
            "conditional_noisy",
            {"eta": R(1, 5), "m": 2, "b": 1},
            "inner noise of half the signal",
            COMPOSITE,
            (200, 400),
        ),
        Instance("conditional_noisy", {"eta": R(1, 2), "m": 4, "b": 1}, "least bound", COMPOSITE, (300, 400), "tuned"),
        Instance(
            "conditional_homogeneous",
            {"eta": R(9, 5), "m": 2, "b": 1},
            "eta at 97% of its largest value",
            COMPOSITE,
            (100, 200),
            "edge",
        ),
        Instance(
            "conditional_noisy",
            {"eta": R(1, 20), "m": 1, "b": 1},
            "start at rest, one inner sample: bias and variance",
            AT_REST,
            (200, 400),
            "stress",
        ),
    ),
)
