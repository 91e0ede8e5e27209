"""What methods say of themselves in the same words: the oracles that they call, by kind of problem, and costs."""

from __future__ import annotations

from collections.abc import Mapping

SHARED_ORACLES = ("sample", "inner", "inner_vjp", "outer_gradient", "extra_gradient")
LOCAL_ORACLES = ("sample", "inner", "inner_vjp", "outer_gradient")
CONDITIONAL_ORACLES = ("sample_outer", "sample_inner", "sample_gradient")
META_ORACLES = ("sample", "local_gradient", "local_hvp", "alpha", "nu")
LOSS_ORACLES = ("sample", "local_gradient")
"""Oracles of clients' losses that are no compositions; the meta kind has them too."""
MINIMAX_ORACLES = ("sample", "descent_gradient", "ascent_gradient", "projected", "initial_dual")
BILEVEL_ORACLES = (
    "sample",
    "upper_gradient",
    "upper_gradient_in_y",
    "lower_gradient",
    "lower_hvp",
    "lower_cross",
    "initial_lower",
)

PLAIN_ORACLES: Mapping[str, tuple[str, ...]] = {
    "shared_composite": SHARED_ORACLES,
    "local_composite": LOCAL_ORACLES,
    "conditional": CONDITIONAL_ORACLES,
    "meta": LOSS_ORACLES,
    "federated": LOSS_ORACLES,
}
"""Oracles that the gradient of a client's plain loss calls, by kind of problem."""
VALUE_ORACLES: Mapping[str, tuple[str, ...]] = {
    "local_composite": (*LOCAL_ORACLES, "outer", "inner"),
    "meta": (*LOSS_ORACLES, "local_value"),
    "federated": (*LOSS_ORACLES, "local_value"),
}
"""Oracles that this gradient and the value of the loss call together."""

STEP_COSTS: Mapping[str, str] = {"iterations": "T", "rounds": "T", "samples": "b*T"}
"""Costs of T steps after each of which the clients communicate, but for what they send."""
ROUND_COSTS: Mapping[str, str] = {"iterations": "T", "rounds": "T/tau", "samples": "b*T", "model_messages": "T/tau"}
"""Costs of T local steps in rounds of tau steps, where a client sends one model after each round."""
TWO_MESSAGE_COSTS: Mapping[str, str] = {**ROUND_COSTS, "model_messages": "2*T/tau"}
"""The same costs where a client sends two numbers for each one of the model."""
