"""Two clients of meta learning with bowls between cones, which `falsify` and `replay` run exactly."""

from __future__ import annotations

from fractions import Fraction as Q

from fedco.validation.exact.problem import Instance

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
