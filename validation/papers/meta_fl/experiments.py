"""The experiment of section 5: accuracy after fine-tuning of FedAvg, Per-FedAvg and generalised meta FL.

Source: Jamali, Saber, Bae, "Generalized meta federated learning", section 5.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from torch.nn.functional import cross_entropy

from ....algorithms import LocalSGD, MetaFL, Method, PerFedAvg
from ....synthetic.models import from_model
from ...experiments import splits
from ...experiments.datasets import images
from ...experiments.figures import Figure, Made, Setup, curve, tuned
from ...experiments.models import network
from ...experiments.orderings import Control, Ordering

TAU, NU, DIRICHLET = 4, 3, 0.01
ALPHA = 0.01
BETAS, PAPER_BETA = (0.03, 0.1, 0.3), 0.001


def _agents(setup: Setup, spread: float) -> Any:
    """Agents with class shares of a Dirichlet law; 4 in 5 of an agent's images train it, the rest test it."""
    found = images(setup.data).flat
    count, own = setup.size(20, 50), setup.size(50, 1000 if setup.data else 50)
    cut = round(0.8 * own)
    parts = splits.dirichlet(found, count, spread, own)
    train, test = ([(a[piece], b[piece]) for a, b in parts] for piece in (slice(cut), slice(cut, None)))
    hidden = (80, 60) if setup.full else (16,)
    model = network((found.features, *hidden, found.classes))
    return from_model(model, cross_entropy, train, "meta", test_loaders=test, name=found.name, alpha=ALPHA, nu=NU)


def _schemes(setup: Setup, spread: float = DIRICHLET) -> Made:
    problem = _agents(setup, spread)
    m, rounds, D = problem.clients // 5, setup.size(30, 500), setup.size(10, 40)
    curves, chosen = [], {}
    runs: tuple[tuple[str, type[Method], dict[str, Any], str], ...] = (
        ("generalised meta FL", MetaFL, {"D": D}, "beta"),
        ("Per-FedAvg", PerFedAvg, {"D": D}, "beta"),
        ("FedAvg", LocalSGD, {"b": D}, "eta"),
    )
    for name, owner, own, step in runs:
        fixed = {"tau": TAU, "m": m, **own}
        method, chosen[name] = tuned(
            setup,
            owner,
            fixed,
            {step: list(setup.size(BETAS, (PAPER_BETA,)))},
            problem,
            rounds * TAU,
            "mean_client_accuracy",
            larger=True,
        )
        curves.append(
            curve(setup, name, method, problem, rounds * TAU, ("mean_client_accuracy",), period=TAU, records=15)
        )
    return Made(tuple(curves), chosen, data_name=problem.name)


_MIXED = Control(
    "with the Dirichlet parameter 0.3 instead of 0.01, so that agents have several classes",
    partial(_schemes, spread=0.3),
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
        tuple(Ordering(*pair, "mean_client_accuracy", when=when) for when in ("end", "along") for pair in _BETTER),
        _schemes,
        ("mean_client_accuracy",),
        controls=(_MIXED,),
    ),
)
