"""Every certificate follows a change of units: a dropped square or a quotient upside down shows, also where a bound is loose.

An upper bound that is wrong is caught by the conformance suite only near its supremum, and not at all where it is too large. Here objective
and inner values are measured in other units: each parameter changes by its own dimension, and then so must each certificate.
"""

import dataclasses
import math

import pytest
from fedco.bounds.language.quantities import QUANTITIES
from fedco.synthetic import problem

BOTH = (7.0, 3.0)
"""How many new units an old one of the objective, and of an inner value, is."""
UNITS = {"maml_heterogeneous": (7.0, 1.0), "agnostic_maml": (1.0, 3.0)}
"""In MAML the inner value is a model; where the outer function is an exponential, the objective has no unit."""
WITHOUT_UNIT = {
    (
        "local_heterogeneous",
        "outer_sample_smoothness",
    ): "the noise varies over one unit of the inner value, whatever this is",
    ("local_noisy", "outer_sample_smoothness"): "the noise varies over one unit of the inner value, whatever this is",
    ("maml_heterogeneous", "composite_noise"): "the largest of three noises that have different units",
    ("agnostic_maml", "composite_noise"): "the largest of three noises that have different units",
}
"""(Problem, quantity) -> why it cannot follow."""

COMPOSITE = {"B_f": (1, -1), "C_f": (1, -1), "L_f": (1, -2), "sigma_f": (1, -1)}
INNER = {
    "B_g": (0, 1),
    "C_g": (0, 1),
    "L_g": (0, 1),
    "sigma_g": (0, 1),
    "delta_g": (0, 1),
    "Delta_g": (0, 1),
    "target": (0, 1),
}
EXTRA = {"B_h": (1, 0), "L_h": (1, 0), "sigma_h": (1, 0), "Delta_h": (1, 0)}
CONDITIONAL = {"L_f": (1, -1), "S_f": (1, -2), "L_g": (0, 1), "S_g": (0, 1), "sigma_g": (0, 1), "target": (0, 1)}
CONDITIONAL |= {"jacobian_noise": (0, 1), "Delta": (0, 1), "spread": (0, 1)}
META = {"alpha": (-1, 0), "lam": (-1, 0)} | dict.fromkeys(
    ("B", "L", "G", "L_1", "sigma_G", "sigma_H", "sigma_1", "sigma_2"), (1, 0)
)
PLAIN = dict.fromkeys(("L", "sigma", "G", "mu", "Delta"), (1, 0))
CASES = {
    "feddro_heterogeneous": COMPOSITE | INNER | EXTRA,
    "feddro_without_h_noisy": COMPOSITE | INNER | EXTRA,
    "local_heterogeneous": COMPOSITE | INNER | {"spread": (0, 1)},
    "local_noisy": COMPOSITE | INNER | {"spread": (0, 1)},
    "conditional_heterogeneous": CONDITIONAL,
    "conditional_noisy": CONDITIONAL,
    "meta_heterogeneous": META | {"Delta": (1, 0)},
    "meta_noisy": META | {"Delta": (1, 0)},
    "maml_heterogeneous": META | {"Delta": (1, 0)},
    "agnostic_maml": {p: (y, f) for p, (f, y) in META.items()} | dict.fromkeys(("Delta", "gamma", "top"), (0, 1)),
    "federated_homogeneous": PLAIN,
    "federated_heterogeneous": PLAIN,
    "federated_quadratic": PLAIN,
    "federated_sines": PLAIN,
}


def in_other_units(name, F, Y):
    instance = problem(name)
    fields = {f.name for f in dataclasses.fields(instance) if f.init}
    scale = {p: F**f * Y**y for p, (f, y) in CASES[name].items() if p in fields and getattr(instance, p) is not None}
    return instance, dataclasses.replace(instance, **{p: getattr(instance, p) * by for p, by in scale.items()})


@pytest.mark.parametrize("name", CASES)
def test_certificates_follow_a_change_of_units(name):
    F, Y = UNITS.get(name, BOTH)
    before, after = in_other_units(name, F, Y)
    wrong = {}
    for quantity, certificate in before.certificates.items():
        f, y, _ = dataclasses.astuple(QUANTITIES[quantity].dimension)
        expected = float(certificate.value) * F ** float(f) * Y ** float(y)
        found = float(after.certificates[quantity].value)
        if (name, quantity) in WITHOUT_UNIT:
            continue
        if not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12):
            wrong[quantity] = found / expected if expected else found
    assert not wrong
