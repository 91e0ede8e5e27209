"""The experiment of section 5: accuracy after fine-tuning of FedAvg, Per-FedAvg and generalised meta FL.

Source: Jamali, Saber, Bae, "Generalized meta federated learning", section 5.
"""

from __future__ import annotations

from typing import Any

from torch.nn.functional import cross_entropy

from ....algorithms import LocalSGD, MetaFL, PerFedAvg
from ....synthetic.models import from_model
from ...experiments.curves import Best, CurveTable, Row, Size
from ...experiments.datasets import dirichlet, images
from ...experiments.figures import Figure, Setup
from ...experiments.models import network
from ...experiments.orderings import Control, better

TAU, NU, DIRICHLET = 4, 3, 0.01
ALPHA = 0.01
BETAS = Size(Best((0.03, 0.1, 0.3)), Best((0.001,)))
BATCH = Size(10, 40)


def _agents(setup: Setup, spread: float = DIRICHLET) -> Any:
    """Agents with class shares of a Dirichlet law; 4 in 5 of an agent's images train it, the rest test it."""
    found = images(setup.data).flat
    count, own = setup.size(20, 50), setup.size(50, 1000 if setup.data else 50)
    cut = round(0.8 * own)
    parts = dirichlet(found, count, spread, own)
    train, test = ([(a[piece], b[piece]) for a, b in parts] for piece in (slice(cut), slice(cut, None)))
    hidden = (80, 60) if setup.full else (16,)
    model = network((found.features, *hidden, found.classes))
    return from_model(model, cross_entropy, train, "meta", test_loaders=test, name=found.name, alpha=ALPHA, nu=NU)


_SCHEMES = CurveTable(
    (
        Row("generalised meta FL", MetaFL, _agents, {"D": BATCH, "beta": BETAS}),
        Row("Per-FedAvg", PerFedAvg, _agents, {"D": BATCH, "beta": BETAS}),
        Row("FedAvg", LocalSGD, _agents, {"b": BATCH, "eta": BETAS}),
    ),
    ("mean_client_accuracy",),
    rounds=Size(30, 500),
    period="tau",
    settings={"tau": TAU, "m": Size(4, 10)},
    records=15,
    tuned_for="mean_client_accuracy",
)
_MIXED = Control(
    "with the Dirichlet parameter 0.3 instead of 0.01, so that agents have several classes",
    _SCHEMES.changed(spread=0.3),
)
_BETTER = (("generalised meta FL", "Per-FedAvg"), ("Per-FedAvg", "FedAvg"))

FIGURES = (
    Figure(
        "figure_1",
        "accuracy over the agents after three steps of fine-tuning: generalised meta FL, Per-FedAvg, FedAvg",
        "substitute",
        "generalised meta FL is more accurate and faster than Per-FedAvg, and that than FedAvg",
        (
            "scikit-learn's digits in place of CIFAR-10, unless --data names its files",
            "20 agents with 50 images and one hidden layer of 16 units by default; 50 agents, 1000 images and layers of 80 and 60 in "
            "the paper (--full, with --data for the images)",
            "beta is tuned for each method on other seeds, as 30 rounds are run; 0.001 in the paper and with --full, which takes 500 "
            "rounds: the paper does not say how many",
        ),
        tuple(ordering for when in ("end", "along") for ordering in better(_BETTER, "mean_client_accuracy", when=when)),
        _SCHEMES,
        ("mean_client_accuracy",),
        controls=(_MIXED,),
    ),
)
