"""Local-SCGDM: Lemmas 4.1 to 4.3, A.1, A.2 and the potential along a run of Algorithm 1.

u_{t+1} and m_{t+1} are those that line 13 leaves at the end of step t: averaged when t + 1 is a communication. The
momentum that makes a step is the one before the averaging.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ....bounds.papers.local_scgdm.composed import potential_weights
from ....bounds.registry import get_theorem
from ...lemmas.link import LemmaChain, Link, after, at, at_start, before, change, mean_of, observed
from ...lemmas.metrics import client_gradient, consensus, dispersion, gradient_sq, objective, per_run, square_mean
from ...lemmas.trace import Array, Numbers, Step, StepMetric, Trace
from ...runs.method_of import value_of
from ...runs.values import constants


def metrics(problem: Any, numbers: Numbers) -> Mapping[str, StepMetric]:
    weight = numbers["alpha"] * numbers["eta"]
    for_momentum, for_inner = weights_of_potential(problem, numbers)

    def fresh_gradient_spread(step: Step) -> Tensor:
        """Spread of the stochastic gradients z, read off the momentum update."""
        if step.t == 0:
            return dispersion(step.stepped.m)
        new = per_run(weight, step.stepped.m)
        return dispersion((step.stepped.m - (1 - new) * step.before.m) / new)

    def potential(step: Step) -> Tensor:
        return objective(step) + for_momentum * momentum_error(step) + for_inner * inner_error(step)

    return {
        "objective": objective,
        "gradient_sq": gradient_sq,
        "consensus": consensus,
        "inner_error": inner_error,
        "momentum_error": momentum_error,
        "momentum_sq": lambda step: square_mean(step.stepped.m),
        "inner_spread": lambda step: dispersion(step.before.u),
        "fresh_inner_spread": lambda step: dispersion(step.stepped.u),
        "gradient_spread": fresh_gradient_spread,
        "potential": potential,
    }


def inner_error(step: Step) -> Tensor:
    """(1/K) sum_k ||u_{t+1} - g_k(x_t)||^2."""
    return square_mean(step.after.u - step.problem.inner(step.before.x))


def momentum_error(step: Step) -> Tensor:
    """(1/K) sum_k ||m_{t+1} - grad F_k(x_t)||^2."""
    return square_mean(step.after.m - client_gradient(step.problem, step.before.x))


def weights_of_potential(problem: Any, numbers: Numbers) -> tuple[Any, Any]:
    """The weights of the potential (14), from their one declaration; constants come from the numbers or the certificates."""
    theorem = get_theorem("local_scgdm.theorem_3_4")
    weights, known = potential_weights(), dict(numbers)
    if any(str(symbol) not in known for weight in weights for symbol in weight.free_symbols):
        certified = constants(theorem, "printed", problem)[0]
        known = {**known, **{name: float(value) for name, value in certified.items()}}
    momentum, inner = (value_of(weight, known) for weight in weights)
    return momentum, inner


def _later(trace: Trace, rows: int) -> Array:
    """Row i is about step i + 1."""
    return trace.ends_round(rows + 1)[1:]


def _per_round(values: Array, trace: Trace) -> Array:
    """(rounds, seeds): sums over the whole rounds of a run."""
    rounds = trace.steps // trace.period
    return values[: rounds * trace.period].reshape(rounds, trace.period, -1).sum(axis=1)


CHAIN = LemmaChain(
    metrics,
    (
        Link(
            "local_scgdm.lemma_a_1",
            lambda r: _per_round(r["inner_spread"], r)[1:],
            {"consensus_sum": lambda r: _per_round(r["consensus"], r)[1:]},
            ends_round=None,
            note="sums over rounds from the second on",
        ),
        Link(
            "local_scgdm.lemma_a_2",
            at("gradient_spread"),
            observed(at, inner_consensus="fresh_inner_spread", consensus_error="consensus"),
        ),
        Link(
            "local_scgdm.lemma_4_3",
            mean_of("consensus"),
            ends_round=None,
            feeds="consensus_error",
        ),
        Link(
            "local_scgdm.lemma_4_2",
            after("inner_error"),
            observed(before, "momentum_sq", "inner_error"),
            _later,
        ),
        Link(
            "local_scgdm.lemma_4_1",
            after("momentum_error"),
            {**observed(before, "momentum_error", "momentum_sq"), "next_inner_error": after("inner_error")},
            _later,
            between=("corrected",),
        ),
        Link(
            "local_scgdm.descent",
            change("objective"),
            observed(before, "gradient_sq", "momentum_sq", "momentum_error", consensus_error="consensus"),
        ),
        Link(
            "local_scgdm.potential_step",
            change("potential"),
            observed(before, "gradient_sq", "momentum_sq", consensus_error="consensus"),
            _later,
        ),
        Link(
            "local_scgdm.potential",
            change("potential"),
            observed(before, "gradient_sq", consensus_error="consensus"),
            _later,
        ),
        Link(
            "local_scgdm.summed",
            mean_of("gradient_sq"),
            observed(at_start, start_momentum_error="momentum_error", start_inner_error="inner_error"),
            ends_round=None,
            bounds_gradient=True,
        ),
    ),
    period="p",
)
