"""An instance of meta learning that is run exactly, and the instances of exact runs in doubles, each as often as a run has lanes."""

from __future__ import annotations

from fractions import Fraction as Q
from typing import Any

import numpy as np
import torch
from fedco.algorithms import Method
from fedco.algorithms.engine.method import Start
from fedco.synthetic.families.piecewise import FAMILIES, Family
from fedco.validation.exact.problem import Instance
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
