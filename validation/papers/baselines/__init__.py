"""The baselines: how their theorems are run."""

from __future__ import annotations

from typing import Any

from ....algorithms import SCGD, MinibatchSGD
from ...proofs.code import COMPOSITE, ESTIMATES, MODELS, Code
from ...runs.declaration import InPractice
from ...runs.tables import read_runs
from ..fcsg import conditional
from . import lemmas

CODES = {
    "baselines.scgd": (
        Code(
            lambda v: SCGD(eta=v.eta, gamma=v.gamma, b=int(v.b)),
            "local_composite",
            ESTIMATES,
            COMPOSITE,
            {"sample": ("z",), "outer": ("s",)},
        ),
    ),
    "baselines.biased_sgd": (conditional(lambda v: MinibatchSGD(eta=v.eta, b=int(v.b), m=int(v.m)), MODELS),),
}


def network() -> Any:
    """A network with 2 tanh units, 34 parameters: which rows of the wine table are of the rarest cultivar; 4 clients."""
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy

    from ....synthetic.parts.data import read_table
    from ...experiments.estimates import estimate

    features, labels = read_table("wine")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(features.shape[1], 2), nn.Tanh(), nn.Linear(2, 2))
    order = torch.randperm(len(labels))[:160].split(40)
    data = [(features[rows], (labels[rows] > 0).long()) for rows in order]
    needs = "baselines.local_sgd"
    return estimate(model, cross_entropy, data, theorem=needs, points=8, lower_bound=0.0, name="wine_network").problem


RUNS = read_runs(
    __file__,
    chains={
        "baselines.local_sgd": lemmas.LOCAL_SGD,
        "baselines.local_sgd_heterogeneity": lemmas.LOCAL_SGD_HETEROGENEITY,
        "baselines.minibatch_sgd": lemmas.MINIBATCH_SGD,
        "baselines.scgd": lemmas.SCGD,
        "baselines.biased_sgd": lemmas.BIASED_SGD,
    },
    codes=CODES,
    practice={
        "baselines.local_sgd": (
            InPractice("logistic", "Logistic regression, 6 clients with laws of their own", "federated_logistic", 400),
            InPractice("network", "A small network on the wine table, constants estimated", network, 400),
        )
    },
)
