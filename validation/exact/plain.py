"""Plain federated problems and losses after fine-tuning, in exact numbers."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

from ...synthetic.families.piecewise import FederatedFamily, MetaFamily
from .base import ExactProblem, Instance, OfOneCurve, Signs, at, curves, integral_at, per_client
from .curve import Curve, mean, minimiser, polyak_lojasiewicz, tilted
from .interval import Bends
from .noise import Noisy
from .sampled import Sampled, root_above
from .tensor import ExactTensor, raw

Q = Fraction


class ExactFederated(OfOneCurve):
    """F(x) = (1/N) sum_i F_i(x), F_i'(x) = p_i(x) + curvature x with piecewise linear p_i."""

    FAMILY = FederatedFamily

    @cached_property
    def client_slopes(self) -> list[Curve]:
        """F_i'."""
        rate = self.parameters.get("curvature", Q(0))
        return [tilted(p, rate) for p in curves(self.parameters["knots"], self.parameters["slopes"])]

    @cached_property
    def derivative(self) -> Curve:
        """F'."""
        return mean(self.client_slopes)

    @cached_property
    def minimiser(self) -> Fraction:
        return minimiser(self.derivative)

    @property
    def is_convex(self) -> bool:
        return self.derivative.flattest() >= 0

    @property
    def has_convex_clients(self) -> bool:
        return all(slope.flattest() >= 0 for slope in self.client_slopes)

    @property
    def rate_at_minimiser(self) -> Fraction:
        rate, _ = self.derivative.rates(self.minimiser, self.minimiser)
        if not rate:
            raise Bends("the objective is flat at its minimiser")
        return rate

    def local_gradient(self, x: Any, sample: Signs | None = None) -> ExactTensor:
        signs = sample.outer if sample else None
        return self._with_noise(lambda i, t: at(self.client_slopes[i], t), "gradient_noise", signs, x)

    def functions(self) -> dict[str, Sampled]:
        return {
            "local_gradient": Sampled.of(self.client_slopes, self.noise_sizes("gradient_noise")),
            "objective_gradient": self.gradient_of_objective,
        }

    def of_the_objective(self) -> dict[str, Fraction]:
        noise = self.noise_sizes("gradient_noise")
        least = [curve(self.minimiser) ** 2 for curve in self.client_slopes]
        return {
            "local_gradient_fourth_moment": max(noise) ** 4,
            "initial_gradient_heterogeneity": root_above(self._spread(self.start)),
            "objective_gap": self.gap,
            "strong_convexity": max(Q(0), self.derivative.flattest()),
            "polyak_lojasiewicz": polyak_lojasiewicz(self.derivative),
            "initial_distance": abs(self.start - self.minimiser),
            "minimiser_heterogeneity": root_above(sum(least, Q(0)) / self.clients),
            "minimiser_second_moment": root_above(max(a + b**2 for a, b in zip(least, noise, strict=True))),
        }

    def _spread(self, t: Fraction) -> Fraction:
        """(1/N) sum_i |f_i'(t) - F'(t)|^2."""
        return sum(((curve(t) - self.derivative(t)) ** 2 for curve in self.client_slopes), Q(0)) / self.clients


class ExactMeta(ExactProblem):
    """F(w) = (1/N) sum_i f_i(w_nu^i), f_i' = tilt_i + the integral of one piecewise linear Hessian."""

    FAMILY = MetaFamily
    OLDER = frozenset(("gradient_noise",))

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.nu, self.step = self.settings["nu"], self.parameters["alpha"]
        self.alpha = ExactTensor.of([[[self.step]]])  # methods multiply models by it
        ends = (self.hessian.knots[0][1], self.hessian.knots[-1][1])
        if ends != (0, 0):
            raise ValueError(f"meta: the Hessian must vanish at its ends, got {ends}")

    @cached_property
    def hessian(self) -> Curve:
        return curves(self.parameters["knots"], self.parameters["curvatures"])[0]

    @property
    def steepest(self) -> Fraction:
        """By the chain rule: every fine-tuning step stretches by at most 1 + alpha sup|f_i''|."""
        points = [*self.hessian.positions, *self.hessian.zeros()]
        steep = max(abs(self.slope_number(i, t)) for i in range(self.clients) for t in points)
        return (1 + self.step * self.hessian.bound()) ** self.nu * steep

    def slope_number(self, i: int, t: Any) -> Any:
        """f_i'."""
        return self.parameters["tilt"][i] + (
            t.antiderivative(self.hessian) if isinstance(t, Noisy) else integral_at(self.hessian, t)
        )

    def client_gradient(self, i: int, w: Any) -> Any:
        """F_i', equation (8) of the problem: the chain rule along the fine-tuning."""
        path = [w]
        for _ in range(self.nu):
            path.append(path[-1] - self.step * self.slope_number(i, path[-1]))
        direction = self.slope_number(i, path[-1])
        for point in reversed(path[:-1]):
            direction = direction * (1 - self.step * at(self.hessian, point))
        return direction

    def client_gradients(self, w: Any) -> ExactTensor:
        """F_i' at the model of client i, `(runs, clients, 1)`: what the kind calls so."""
        return per_client(self.client_gradient, w)

    def gradient_at(self, x: Any) -> Any:
        first, *others = (self.client_gradient(i, x) for i in range(self.clients))
        return sum(others, first) / Q(self.clients)

    def local_gradient(self, x: Any, sample: Signs | None = None) -> ExactTensor:
        return self._with_noise(self.slope_number, "gradient_noise", sample.outer if sample else None, x)

    def local_hvp(self, x: Any, v: Any, sample: Signs | None = None) -> ExactTensor:
        return ExactTensor.of(per_client(lambda _, t: at(self.hessian, t), x).numbers * raw(v))

    def _value(self, i: int, t: Fraction) -> Fraction:
        return self.parameters["tilt"][i] * (t - self.hessian.positions[0]) + self.hessian.second_integral(t)

    def objective_at(self, x: Any) -> Any:
        total = Q(0)
        for i in range(self.clients):
            point = x
            for _ in range(self.nu):
                point -= self.step * self.slope_number(i, point)
            total += self._value(i, point)
        return total / self.clients

    def _least(self, i: int) -> Fraction:
        """A lower bound of inf f_i: f_i is convex where its derivative changes sign upwards, above its tangents.

        Raises:
            ValueError: f_i is unbounded below.
        """
        points = sorted({*self.hessian.positions, *self.hessian.zeros()})
        slopes = [self.slope_number(i, t) for t in points]
        if slopes[0] > 0 or slopes[-1] < 0:
            raise ValueError("a client's loss is unbounded below")
        values = [self._value(i, t) for t in points]
        lowest = min(values)
        for a, b, u, v, low, high in zip(points, points[1:], slopes, slopes[1:], values, values[1:], strict=False):
            if u < 0 < v:
                lowest = min(lowest, max(low + u * (b - a), high - v * (b - a)))
        return lowest

    def functions(self) -> dict[str, Sampled]:
        points, clients = [*self.hessian.positions, *self.hessian.zeros()], range(self.clients)
        slopes = [[self.slope_number(i, t) for i in clients] for t in points]
        bends = [[self.hessian(t)] * self.clients for t in points]
        noise, flat = self.noise_sizes("gradient_noise"), [Q(0)] * self.clients
        return {
            "local_gradient": Sampled.with_even_noise(slopes, bends, noise, flat),
            "local_hessian": Sampled.of([self.hessian] * self.clients),
        }

    def of_the_objective(self) -> dict[str, Fraction]:
        least = sum((self._least(i) for i in range(self.clients)), Q(0)) / self.clients
        return {
            "local_gradient_fourth_moment": max(self.noise_sizes("gradient_noise")) ** 4,
            "local_hessian_fourth_moment": Q(0),
            "objective_gap": self.objective_at(self.start) - least,
        }
