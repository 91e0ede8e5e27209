"""A known counterexample, an instance of meta learning that is run exactly, and instances of exact runs in doubles, once for each lane."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from typing import Any

import numpy as np
import torch
from fedco.algorithms import Method
from fedco.algorithms.engine.method import Start
from fedco.synthetic.families.piecewise import FAMILIES, Family
from fedco.validation.exact.problem import Instance
from fedco.validation.falsifier.confirm import Claimed
from fedco.validation.falsifier.noise import Run

BOWLS = Instance(
    "meta",
    {
        "knots": [[Q(-90), Q(-60), Q(60), Q(90)]],
        "curvatures": [[Q(0), Q(1), Q(1), Q(0)]],
        "tilt": [Q(-74), Q(-77)],
        "gradient_noise": [Q(0)] * 2,
        "alpha": Q(1, 3),
        "start": Q(1),
    },
    {"nu": 2},
)
"""Two clients with bowls between cones."""


THEOREM = "local_scgdm.theorem_3_4"
OPPOSITE = Instance(
    "local_composite",
    {
        "inner_slope": [Q(1), Q(-1)],
        "inner_offset": [Q(8), Q(0)],
        "value_noise": [Q(0)] * 2,
        "gradient_noise": [Q(0)] * 2,
        "knots": [[Q(-1), Q(1)]] * 2,
        "slopes": [[Q(-1), Q(1)]] * 2,
        "start": Q(5, 4),
    },
)
"""The instance of docs/refutations/local_scgdm.theorem_3_4.json."""
TINY = Q(1, 10**9)
CLAIMED = Claimed(
    OPPOSITE,
    {
        "C_f": Q(1),
        "C_g": Q(1),
        "L_f": Q(1),
        "L_g": TINY,
        "sigma_f": TINY,
        "sigma_g": TINY,
        "delta_g": TINY,
        "F_gap": Q(5, 4),
    },
    {"alpha": Q(1), "beta": Q(1, 5), "gamma": Q(1), "eta": Q(1, 16), "p": Q(4), "T": Q(256)},
)


def federated(knots: Any, slopes: Any, start: Q = Q(0), noise: Any = None, **more: Any) -> Instance:
    """Clients with these slopes at these knots, `(clients, knots)`, and without noise where none is given."""
    noises = [Q(0)] * len(knots) if noise is None else noise
    return Instance("federated", {"gradient_noise": noises, "knots": knots, "slopes": slopes, "start": start, **more})


def varied(instance: Any, **parameters: Any) -> Any:
    """An instance, or a draft of one, with other parameters."""
    return replace(instance, parameters={**instance.parameters, **parameters})


def silenced(instance: Instance) -> Instance:
    """An instance without its noise."""
    made: Instance = varied(
        instance, **{n: [Q(0)] * len(v) for n, v in instance.parameters.items() if n.endswith("noise")}
    )
    return made


def in_doubles(instance: Instance, lanes: int = 1) -> Family:
    """One instance along so many runs."""
    shapes = FAMILIES[instance.kind].SHAPES
    rows = {n: [float(v)] if shapes[n] == "run" else np.array(v, dtype=float) for n, v in instance.parameters.items()}
    made: Any = FAMILIES[instance.kind]
    family: Family = made({n: torch.tensor(np.stack([row] * lanes)) for n, row in rows.items()}, **instance.settings)
    return family


def run_in_doubles(instance: Instance, method: Method, steps: int, **more: Any) -> Run:
    """A run of one instance; `more` is what is measured of it."""

    def build(lanes: int) -> tuple[Method, Family, Start]:
        family = in_doubles(instance, lanes)
        return method, family, Start(x=family.start, y=family.parameters.get("estimate"))

    return Run(build, 1, steps, **more)
