"""The method of near.toml: a step along the mean gradient of a batch at each of N clients."""

from dataclasses import dataclass, replace
from typing import ClassVar

from fedco.algorithms import Messages, Method, Scalar, State, average


@dataclass(frozen=True, eq=False)
class Near(Method):
    """x <- x - eta (1/N) sum_i g_i; eta in [x]^2 / [f], b samples per client and step."""

    name: ClassVar[str] = "near"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = ("sample", "local_gradient")
    costs: ClassVar[dict[str, str]] = {"iterations": "T", "rounds": "T", "samples": "b*T", "model_messages": "T"}

    eta: Scalar
    b: int = 1

    @property
    def gradient_step(self):
        return self.eta  # models are means of gradient steps of this size, so a run stays within a known distance

    def init(self, problem, start, draws):
        return State(x=start.models(problem, draws))

    def local_step(self, problem, state, draws, t):
        gradient = problem.local_gradient(state.x, problem.sample(draws, self.b))
        return replace(state, x=state.x - self.eta * gradient)

    def communicate(self, problem, state, t):
        return replace(state, x=average(state.x))

    def messages(self, problem, T):
        return Messages(rounds=T, model_floats=T * problem.dim)
