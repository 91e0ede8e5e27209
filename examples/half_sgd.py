"""A method of one's own: SGD whose clients send a random half of the coordinates of their gradients.

half_sgd.toml states its theorem and names it as `half_sgd.py:HalfSGD`.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from fedco.algorithms import Messages, Method, Scalar, State, average


@dataclass(frozen=True, eq=False)
class HalfSGD(Method):
    """x <- x - eta (1/N) sum_i C(g_i): C keeps each coordinate with probability 1/2 and doubles it, so that E C(g) = g.

    Args:
        eta: step size, in [x]^2 / [f].
        b: batch size.
    """

    name: ClassVar[str] = "half_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = ("sample", "local_gradient")
    costs: ClassVar[dict[str, str]] = {"iterations": "T", "rounds": "T", "samples": "b*T", "model_messages": "T/2"}

    eta: Scalar
    b: int = 1

    def init(self, problem, start, draws):
        return State(x=start.models(problem, draws))

    def local_step(self, problem, state, draws, t):
        gradient = problem.local_gradient(state.x, problem.sample(draws, self.b))
        doubled_or_dropped = 1 + draws.signs("mask", problem.dim)
        return replace(state, x=state.x - self.eta * doubled_or_dropped * gradient)

    def communicate(self, problem, state, t):
        return replace(state, x=average(state.x))

    def messages(self, problem, T):
        return Messages(rounds=T, model_floats=Fraction(T * problem.dim, 2))
