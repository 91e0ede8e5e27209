"""Small problems on which a link fails: the stochastic form of the instances that the exact bundles refute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ....algorithms import FedDRO
from ....bounds.audit.refuted import refutations
from ....synthetic.certificate import Certificate
from ....synthetic.kinds import AbstractSharedComposite, Draws, Sample
from ...lemmas.link import trace_run
from ...lemmas.report import LemmaReport
from ...lemmas.sides import report_of
from ...lemmas.trace import SEEDS
from .lemmas import CHAIN


@dataclass(frozen=True)
class Signs(Sample):
    """Fair signs, `(runs, clients, batch)`."""

    sign: Tensor


SHOWN = ("feddro.lemma_f_3", "feddro.lemma_f_4")
"""The lemmas that the instance is about."""


@dataclass(frozen=True)
class PulledApart(AbstractSharedComposite):
    """h_1 = x, h_2 = -x, f = 0 and g_k(x; z) = z x/(1 + x^2) with fair signs z: the clients part, g has noise where they go.

    Source: the instance of the bundle feddro.lemma_f_4.
    """

    name: str = "pulled_apart"
    clients: int = 2
    dim: int = 1
    inner_dim: int = 1

    @property
    def initial_point(self) -> Tensor:
        return torch.zeros(1, dtype=torch.float64)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        """The constants of the bundle, by quantity; L_f may be any positive number, since f = 0."""
        from ....bounds.registry import get_theorem

        vocabulary = get_theorem("feddro.lemma_f_4").notation
        known = {name: value for name, (value, _) in refutations()["feddro.lemma_f_4"].case().constants.items()}
        return {
            vocabulary[name].quantity.name: Certificate(
                vocabulary[name].quantity.name, float(value), "upper", "See the bundle feddro.lemma_f_4."
            )
            for name, value in {**known, "L_f": 1, "Phi_gap": 1}.items()
        }

    def objective(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x[:, 0])

    def gradient(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> Signs:
        return Signs(draws.signs(purpose, batch))

    def atoms(self) -> tuple[Signs, Tensor]:
        signs = torch.tensor([1.0, -1.0], dtype=torch.float64)
        return Signs(signs.expand(1, self.clients, 2)), torch.full((2,), 0.5, dtype=torch.float64)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._sign(x, sample) * x / (1 + x * x)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self._sign(x, sample) * (1 - x * x) / (1 + x * x).square() * v

    def _sign(self, x: Tensor, sample: Sample | None) -> Tensor:
        if sample is None:
            return torch.zeros_like(x)
        assert isinstance(sample, Signs)
        return sample.sign.mean(-1, keepdim=True)

    def outer(self, y: Tensor) -> Tensor:
        return torch.zeros_like(y[..., 0])

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return torch.zeros_like(y)

    def extra(self, x: Tensor) -> Tensor:
        return (x * self._pull(x)).sum(-1)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._pull(x)

    def _pull(self, x: Tensor) -> Tensor:
        return torch.tensor([[[1.0], [-1.0]]], dtype=torch.float64, device=x.device).expand_as(x)

    def inner_mean(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


def estimate_at_communication(seeds: int = 8 * SEEDS, rounds: int = 4, I: int = 33) -> LemmaReport:
    """Lemmas F.3 and F.4 on the instance of the bundle, in longer rounds: F.4 holds between communications and fails at
    them."""
    hyper = refutations()["feddro.lemma_f_4"].case().hyperparameters
    numbers = {name: float(value) for name, value in {**hyper, "I": I}.items()}
    method = FedDRO(eta=numbers["eta"], beta=numbers["beta"], I=I, b=int(numbers["b"]))
    problem = PulledApart()
    steps = rounds * I
    trace = trace_run(CHAIN, method, problem, steps, seeds, numbers)
    shown = [link for link in CHAIN.links if link.lemma in SHOWN]
    return report_of(
        "feddro.theorem_5_1",
        "printed",
        shown,
        trace,
        problem,
        f"two clients pulled apart, I={I} (bundle feddro.lemma_f_4)",
        steps,
    )
