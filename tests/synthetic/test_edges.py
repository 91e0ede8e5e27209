"""The smallest sizes, both sides of each guard, noise in one place only, which constants are exact, points that are far enough."""

import math

import mpmath
import numpy as np
import pytest
import torch
from fedco.errors import InputError
from fedco.synthetic import catalogue, problem
from fedco.synthetic.applications.user import LocalFromFunctions, SharedFromFunctions
from fedco.synthetic.conformance.kinds import KINDS, oracle_checks
from fedco.synthetic.conformance.oracle_checks import SeededDraws
from fedco.synthetic.estimation.functions import estimated_certificates
from fedco.synthetic.families.auprc import AveragePrecision
from fedco.synthetic.families.bowls import AgnosticMAML, FederatedBowl, FederatedMAML, Meta
from fedco.synthetic.families.composite import LocalComposite, SharedComposite
from fedco.synthetic.families.conditional import Conditional
from fedco.synthetic.families.dro import ClientChi2, ClientKL, RobustLoss
from fedco.synthetic.families.fairness import FairClassifier
from fedco.synthetic.families.federated import (
    FederatedHuber,
    FederatedQuadratic,
    FederatedSines,
    FederatedStronglyConvex,
)
from fedco.synthetic.families.federated_logistic import FederatedLogistic
from fedco.synthetic.families.invariant import InvariantLogistic
from fedco.synthetic.families.piecewise import FAMILIES, MetaFamily
from fedco.synthetic.families.piecewise.curve import landscape
from fedco.synthetic.kinds import AbstractProblem
from fedco.synthetic.parts.adversary import Budget
from fedco.synthetic.parts.outer import CenteredOuter


def double(*rows):
    return torch.tensor(rows, dtype=torch.float64)


# --- sizes and guards -----------------------------------------------------------------------------------------------------------

ONE = {"clients": 1, "dim": 1}
SMALLEST = [
    (SharedComposite, ONE, ("clients", "dim", "inner_dim")),
    (LocalComposite, ONE, ("clients", "dim", "inner_dim")),
    (Conditional, {**ONE, "outer_support": 1}, ("clients", "dim", "inner_dim", "outer_support")),
    (Meta, ONE, ("clients", "dim")),
    (FederatedBowl, ONE, ("clients", "dim")),
    (FederatedHuber, ONE, ("clients", "dim")),
    (FederatedQuadratic, ONE, ("clients", "dim")),
    (FederatedSines, ONE, ("clients", "dim")),
    (FederatedStronglyConvex, ONE, ("clients", "dim")),
    (FederatedMAML, ONE, ("clients", "dim")),
    (AgnosticMAML, {**ONE, "Delta": 0.0}, ("clients", "dim")),
    (FederatedLogistic, {**ONE, "samples": 1}, ("clients", "dim", "samples")),
    (RobustLoss, {**ONE, "samples": 1}, ("clients", "dim", "samples")),
    (ClientKL, {**ONE, "samples": 1}, ("clients", "dim", "samples")),
    (ClientChi2, {**ONE, "samples": 1}, ("clients", "dim", "samples")),
    (InvariantLogistic, {**ONE, "points": 1}, ("clients", "dim", "points")),
    (AveragePrecision, {"clients": 1, "dim": 2, "samples": 2}, ("clients", "dim", "samples")),
    (FairClassifier, {"clients": 1, "dim": 2, "samples": 8}, ("clients", "dim")),
]


@pytest.mark.parametrize(("family", "sizes", "refused"), SMALLEST, ids=lambda v: getattr(v, "__name__", ""))
def test_the_smallest_sizes_are_a_problem_and_one_less_is_none(family, sizes, refused):
    made = family(**sizes)
    assert (made.clients, made.dim) == (sizes["clients"], sizes["dim"])
    x = made.initial_point.unsqueeze(0)
    assert made.objective(x).shape == (1,) and made.gradient(x).shape == x.shape == (1, made.dim)
    assert bool(made.objective(x).isfinite()) and bool(made.gradient(x).isfinite().all())
    assert all(math.isfinite(certificate.value) for certificate in made.certificates.values())
    for name in refused:
        for size in {sizes.get(name, 1) - 1, 0, -1}:
            with pytest.raises(ValueError, match=rf"{name}|sizes, got .*-?\b[01]\b|a row that is not positive"):
                family(**{**sizes, name: size})


@pytest.mark.parametrize(
    ("family", "allowed", "refused", "said"),
    [
        (RobustLoss, dict(penalty="chi2", M=1.5, weight=1.5), dict(weight=1.4999), "chi2 needs weight >= M"),
        (RobustLoss, dict(penalty="kl", M=1.5, weight=0.1), dict(penalty="ki"), "penalty must be 'kl' or 'chi2'"),
        (ClientChi2, dict(M=1.5, gamma=1.5), dict(gamma=1.4999), "gamma must be finite and at least M"),
        (ClientChi2, dict(M=1.5, gamma=1.5), dict(gamma=math.inf), "gamma must be finite and at least M"),
        (AveragePrecision, dict(margin=0.5001, saturation=0.25), dict(margin=0.5), "margin > 2 saturation > 0"),
        (AveragePrecision, dict(saturation=1e-3), dict(saturation=0.0), "margin > 2 saturation > 0"),
        (AveragePrecision, dict(samples=12, positives=0.95), dict(positives=0.96), "a row that is not positive"),
        (AveragePrecision, dict(margin=2.0), dict(margin=math.inf), "margin > 2 saturation > 0"),
        (FairClassifier, dict(groups=2), dict(groups=1), "groups must be at least 2"),
        (Meta, dict(nu=0), dict(nu=-1), "nu at least 0"),
        (Meta, dict(alpha=1e-9), dict(alpha=math.inf), "alpha must be positive"),
        (Meta, dict(B=1.0, Delta=0.99), dict(Delta=1.0), "B must exceed Delta"),
        (FederatedMAML, dict(G=1.0, Delta=0.999), dict(Delta=1.0), "G must exceed Delta"),
        (FederatedBowl, dict(G=1.0, Delta=0.99), dict(Delta=1.0), "G must exceed Delta"),
        (FederatedHuber, dict(G=1.0, Delta=0.999), dict(Delta=1.0), "G must exceed Delta"),
        (SharedComposite, dict(B_g=1.0, sigma_g=0.999), dict(sigma_g=1.0), "B_g must exceed sigma_g"),
        (SharedComposite, dict(sigma_g=0.0), dict(sigma_g=-0.1), "B_g must exceed sigma_g"),
        *((SharedComposite, dict(B_h=0.0), {name: 0.1}, r"without h \(B_h = 0\)") for name in ("L_h", "sigma_h", "Delta_h")),
        (LocalComposite, dict(C_f=1.0, sigma_f=0.999), dict(sigma_f=1.0), "C_f must exceed sigma_f"),
        (LocalComposite, dict(sigma_f=0.0), dict(sigma_f=-0.1), "C_f must exceed sigma_f"),
        (Conditional, dict(S_g=0.101, sigma_g=0.1, jacobian_noise=0.1), dict(S_g=0.1), "S_g must exceed jacobian_noise"),
        *((InvariantLogistic, {name: 0.0}, {name: -1e-9}, f"{name} must be") for name in ("sigma_2", "reg", "shift")),
        *((InvariantLogistic, {name: 1e-3}, {name: 0.0}, f"{name} must be") for name in ("saturation", "gamma", "start")),
        *((family, dict(start=0.0), dict(start=-1e-9), "start must be") for family in (Meta, FederatedMAML, FederatedBowl,
          FederatedHuber, SharedComposite, LocalComposite, Conditional, FederatedLogistic)),
        (FederatedLogistic, dict(ridge=0.0), dict(ridge=-1e-9), "ridge must be"),
    ],
)  # fmt: skip
def test_a_guard_lets_in_what_is_just_allowed(family, allowed, refused, said):
    family(**allowed)
    with pytest.raises(ValueError, match=said):
        family(**{**allowed, **refused})


REFUSED = [
    (SharedComposite, dict(B_h=1.0, L_h=0.0), "smoothness must be finite and positive"),
    (SharedComposite, dict(B_f=0.0), "lipschitz must be finite and positive"),
    (SharedComposite, dict(L_f=-1.0), "smoothness must be finite and positive"),
    (SharedComposite, dict(target=math.inf), "target must be finite"),
    (SharedComposite, dict(B_h=1.0, L_h=1.0, sigma_h=-1.0), "noise must be finite and at least 0"),
    (LocalComposite, dict(C_g=0.1, sigma_g=0.2, delta_g=0.1), "C_g must exceed sigma_g"),
    (LocalComposite, dict(sigma_g=0.2), "sigma_g and delta_g must be both zero or both positive"),
    (LocalComposite, dict(spread=-1.0), "spread must be"),
    (LocalComposite, dict(sigma_g=1e-3, delta_g=1e-9), "noise wavenumber"),
    (LocalComposite, dict(start=math.nan), "start must be finite"),
    (Conditional, dict(sigma_g=0.0), "sigma_g and jacobian_noise must be both zero or both positive"),
    (Conditional, dict(Delta=5.0), "must exceed the heterogeneity"),
    (Meta, dict(sigma_G=0.1), "sigma_G and sigma_H must be both zero or both positive"),
    (Meta, dict(kurtosis=0), "kurtosis must be a positive integer"),
    (FederatedMAML, dict(lam=-0.1), "lam must be finite and positive"),
    (FederatedMAML, dict(sigma_2=0.0), "sigma_1 and sigma_2 must be both zero or both positive"),
    (FederatedQuadratic, dict(L=0.0), "L must be finite and positive"),
    (FederatedHuber, dict(sigma=-1.0), "sigma must be finite and at least 0"),
    (FederatedLogistic, dict(table="iris"), "table must be one of"),
    (RobustLoss, dict(weight=0.0), "weight must be"),
    (RobustLoss, dict(M=-1.0), "M must be"),
    *((family, dict(inner_dim=2), "inner_dim is 1") for family in (RobustLoss, ClientKL, ClientChi2, AgnosticMAML)),
    (ClientKL, dict(gamma=0.0), "gamma must be"),
    (ClientKL, dict(loss="hinge"), "loss must be one of"),
    (AgnosticMAML, dict(top=0.0), "top must be"),
    (AgnosticMAML, dict(Delta=2.0), "G must exceed Delta"),
    (FairClassifier, dict(rho=0.0), "rho must be"),
    (FairClassifier, dict(width=-1.0), "width must be"),
    (FairClassifier, dict(groups=30), "each needs a positive row"),
    (FairClassifier, dict(M=0.5), "must exceed log 2"),
]


@pytest.mark.parametrize(("family", "parameters", "said"), REFUSED)
def test_parameters_that_contradict_each_other_are_refused(family, parameters, said):
    with pytest.raises(ValueError, match=said):
        family(**parameters)


# --- which constants are exact --------------------------------------------------------------------------------------------------

SMALL = dict(clients=4, dim=4)


@pytest.mark.parametrize(
    ("instance", "upper"),
    [
        # a sum of two functions that are steepest, or most curved, at different points is bounded by the sum of the bounds
        (SharedComposite(**SMALL), {"objective_smoothness", "gradient_cap"}),
        (SharedComposite(**SMALL, B_h=0.7, L_h=0.6, sigma_h=0.2, sigma_g=0.3, Delta_g=0.2, Delta_h=0.1),
         {"objective_smoothness", "gradient_cap", "objective_gap", "inner_sample_smoothness", "noncompositional_sample_smoothness"}),
        (LocalComposite(**SMALL), {"objective_smoothness", "gradient_cap"}),
        (LocalComposite(**SMALL, sigma_f=0.3), {"objective_smoothness", "gradient_cap", "outer_sample_smoothness"}),
        (LocalComposite(**SMALL, C_g=1.5, sigma_g=0.3, delta_g=0.2, Delta_g=0.2),
         {"objective_smoothness", "gradient_cap", "objective_gap", "inner_sample_smoothness"}),
        (LocalComposite(**SMALL, spread=0.3), {"objective_smoothness", "gradient_cap", "objective_gap"}),
        (Conditional(**SMALL, S_g=0.9, sigma_g=0.0, jacobian_noise=0.0), {"objective_smoothness", "gradient_cap"}),
        (Conditional(**SMALL, S_g=0.9, Delta=0.2), {"objective_smoothness", "gradient_cap", "objective_gap", "inner_sample_smoothness"}),
        (FederatedQuadratic(**SMALL, sigma=0.3, Delta=0.2), set()),
        (FederatedHuber(**SMALL, sigma=0.3, Delta=0.2), set()),
        (FederatedSines(**SMALL, sigma=0.3, Delta=0.2), set()),
        (FederatedStronglyConvex(**SMALL, sigma=0.3, Delta=0.2), set()),
    ],
    ids=lambda v: getattr(v, "name", ""),
)  # fmt: skip
def test_which_constants_are_suprema(instance, upper):
    kinds = {quantity: certificate.kind for quantity, certificate in instance.certificates.items()}
    assert {quantity for quantity, kind in kinds.items() if kind != "exact"} == upper


@pytest.mark.parametrize(
    ("instance", "exact"),
    [
        (RobustLoss(clients=2, samples=4), {"outer_lipschitz", "outer_smoothness", "noncompositional_smoothness",
         "noncompositional_sample_smoothness", "noncompositional_gradient_noise", "noncompositional_heterogeneity"}),
        (RobustLoss(clients=2, samples=4, penalty="chi2", weight=2.0), {"outer_lipschitz", "outer_smoothness"}),
        (ClientChi2(clients=2, samples=4), {"outer_lipschitz", "outer_smoothness"}),
        (FairClassifier(clients=2, samples=8), {"outer_lipschitz", "outer_smoothness"}),
        (AveragePrecision(clients=2, samples=8), set()),
        (InvariantLogistic(clients=2), {"outer_sample_smoothness"}),
        (FederatedLogistic(clients=2, samples=4), {"local_smoothness", "local_sample_smoothness", "objective_smoothness", "objective_gap",
         "initial_gradient_heterogeneity"}),
    ],
    ids=lambda v: getattr(v, "name", ""),
)  # fmt: skip
def test_what_is_exact_with_data(instance, exact):
    """Of data only the curvature of the logistic loss at 0; else the outer functions, and what is 0."""
    found = {quantity for quantity, certificate in instance.certificates.items() if certificate.kind == "exact"}
    assert found == exact


@pytest.mark.parametrize("noise", [0.0, 0.4])
@pytest.mark.parametrize(
    ("target", "spread"), [(0.0, 0.0), (5e3, 0.0), (-5e3, 0.0), (0.0, 5e3), (3e3, 4e3), (0.3, 0.2)]
)
def test_stated_points_are_far_from_every_centre(target, spread, noise):
    """However far the centres are: the slope is within 1e-4 of its supremum there, and the curvature at the pair."""
    made = CenteredOuter(3, 2, 1.3, 0.7, noise, target, spread)
    stated = {c.quantity: [double(*p).expand(1, 3, 2) for p in c.points] for c in made.certificates() if c.points}
    ones = torch.ones(1, 3, dtype=torch.float64)
    for quantity, sup in (("outer_lipschitz", 1.3), ("outer_mean_square_lipschitz", 1.3)):
        (far,) = stated[quantity]
        assert float(made.gradient(far).norm(dim=-1).max()) >= 0.9999 * sup
    (far,) = stated["outer_sample_lipschitz"]
    assert float(made.gradient(far, ones).norm(dim=-1).max()) >= 0.9999 * (1.3 + noise)
    a, b = stated["outer_smoothness"]
    turn = (made.gradient(b) - made.gradient(a)).norm(dim=-1) / (b - a).norm(dim=-1)
    assert float(turn.max()) >= 0.9998 * 0.7


# --- families of piecewise linear slopes ------------------------------------------------------------------------------------------


def piecewise(kind, **values):
    """One instance with two clients; what is not given is 0, knots -1, 0, 2 and slopes -1, 0.3, 1.2."""
    shapes = {"run": (1, 1), "client": (1, 2), "knots": (1, 2, 3), "shared": (1, 1, 3)}
    made = {}
    for name, shape in FAMILIES[kind].SHAPES.items():
        default = (
            double(-1.0, 0.0, 2.0)
            if name.endswith("knots")
            else double(-1.0, 0.3, 1.2)
            if name.endswith("slopes")
            else double(0.0)
        )
        made[name] = double(*values[name]).expand(shapes[shape]) if name in values else default.expand(shapes[shape])
    return FAMILIES[kind](made)


@pytest.mark.parametrize("kind", ["local_composite", "shared_composite", "conditional", "federated"])
@pytest.mark.parametrize("noisy", ["", "value_noise", "gradient_noise", "both"])
def test_noise_in_one_place_only(kind, noisy):
    """Samples are atoms, as often as their probabilities say, and the oracles expect what they should."""
    noises = {
        name: (0.4, 0.7)
        for name in ("value_noise", "gradient_noise")
        if noisy in (name, "both") and name in FAMILIES[kind].SHAPES
    }
    instance = piecewise(kind, inner_slope=(1.3, -0.7), inner_offset=(0.2, 0.5), **noises)
    # without noise a batch of any size is one sample
    silent = {"bits"} if "value_noise" not in noises and (kind == "conditional" or not noises) else set()
    failures = {name: list(found) for name, found in oracle_checks(instance, 0) if name not in silent}
    assert not any(failures.values()), failures
    constants = {name: float(value) for name, value in instance.constants().items()}
    for name, quantities in (
        ("value_noise", ("inner_value_noise",)),
        ("gradient_noise", ("local_gradient_noise", "outer_gradient_noise", "noncompositional_gradient_noise")),
    ):
        for quantity in quantities:
            assert constants.get(quantity, 0.7 if name in noises else 0.0) == pytest.approx(
                0.7 if name in noises else 0.0
            ), quantity


@pytest.mark.parametrize("kind", ["local_composite", "shared_composite", "conditional"])
@pytest.mark.parametrize("slopes", [(0.0, 1.0), (1.0, 1.0), (0.0, 0.0), (1.0, -1.0), (2.0, -0.5)])
def test_a_landscape_where_inner_maps_are_flat_or_of_slope_one(kind, slopes):
    """On a fine line: the infimum, the largest slope, and the largest difference quotient."""
    instance = piecewise(kind, inner_slope=slopes, inner_offset=(0.2, 0.5), start=(3.0,))
    line = torch.linspace(-6.0, 6.0, 12_001, dtype=torch.float64).unsqueeze(-1)
    values, rates = instance.objective(line), instance.gradient(line).squeeze(-1)
    constants = {name: float(value) for name, value in instance.constants().items()}
    assert constants["gradient_cap"] == pytest.approx(float(rates.abs().max()), abs=1e-9)
    assert constants["objective_smoothness"] == pytest.approx(
        float(rates.diff().abs().max()) / 1e-3, rel=1e-6, abs=1e-9
    )
    bounded = float(rates[0]) <= 0 <= float(rates[-1])
    gap = float(instance.objective(instance.start) - values.min()) if bounded else math.inf
    assert constants["objective_gap"] == pytest.approx(gap, abs=1e-6)


@pytest.mark.parametrize("kind", FAMILIES)
def test_constants_of_an_instance_do_not_depend_on_the_others(kind):
    """Five instances with two clients beside each other, and each alone."""
    generator = torch.Generator().manual_seed(3)
    shapes = {"run": (5, 1), "client": (5, 2), "knots": (5, 2, 4), "shared": (5, 1, 4)}
    made = {}
    for name, shape in FAMILIES[kind].SHAPES.items():
        values = torch.rand(shapes[shape], generator=generator, dtype=torch.float64) + 0.1
        made[name] = (values.cumsum(-1) - 1.5) if name.endswith("knots") else values
        if name.endswith("slopes"):
            made[name][..., 0] *= -1
        if name in ("curvatures", "tilt"):  # bounded below: f' rises from below 0 to above 0
            made[name] = torch.nn.functional.pad(values[..., 1:-1], (1, 1)) if name == "curvatures" else -0.05 * values
    family = MetaFamily(made, nu=2) if kind == "meta" else FAMILIES[kind](made)
    together = family.constants()
    for run in range(5):
        alone = family.pick(run).constants()
        assert alone.keys() == together.keys()
        for quantity, value in alone.items():
            assert value.shape == (1,) and together[quantity].shape == (5,)
            assert float(together[quantity][run]) == pytest.approx(float(value), rel=1e-12), quantity
    assert any(float(values.std()) > 1e-3 for values in together.values())


def test_terms_whose_knots_differ_are_apart_by_at_most_twice_the_largest():
    """h_1' and h_2' break at other places: no closed formula for the largest difference, so a bound; with equal knots it is one."""
    knots = double([-1.0, 0.0, 2.0], [-0.5, 0.5, 1.0])
    slopes = double([-1.0, 0.3, 1.2], [0.4, -0.9, 1.5])
    equal, other = (
        piecewise("shared_composite", extra_knots=each.tolist(), extra_slopes=slopes.tolist())
        for each in (knots[:1].expand(2, 3), knots)
    )
    assert float(equal.constants()["noncompositional_heterogeneity"]) == pytest.approx(0.7)
    line = np.linspace(-3.0, 3.0, 6001)
    rates = [np.interp(line, k, v) for k, v in zip(knots.numpy(), slopes.numpy(), strict=True)]
    apart = np.abs(rates[0] - np.mean(rates, axis=0)).max()
    bound = float(other.constants()["noncompositional_heterogeneity"])
    assert apart > 0.7 and apart <= bound == pytest.approx(2 * 1.5)


def by_quadrature(points, slopes, at_first, lowest=-30.0, highest=30.0):
    """inf F, sup |F''|, sup |F'| where F' is linear between points (sorted here) and constant outside, by a fine sum."""
    order = np.argsort(points, kind="stable")
    points, slopes = np.asarray(points)[order], np.asarray(slopes)[order]
    line = np.unique(np.concatenate([np.linspace(lowest, highest, 200_001), points]))
    rate = np.interp(line, points, slopes)
    values = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(line))])
    values = values - np.interp(points[0], line, values) + at_first
    return values, line, np.interp(points, line, values)


@pytest.mark.parametrize(
    ("points", "slopes", "bounded"),
    [
        ([0.0, 1.0, 2.5, 4.0], [-2.0, 1.0, -0.5, 3.0], True),
        ([2.5, 0.0, 4.0, 1.0], [-0.5, -2.0, 3.0, 1.0], True),  # in any order
        ([0.0, 1.0, 1.0, 3.0], [-1.0, 0.5, 0.5, 2.0], True),  # a breakpoint twice
        ([0.0, 1.0, 2.0], [0.0, 2.0, 1.0], True),  # flat to the left: the infimum is there
        ([0.0, 1.0, 2.0], [-1.0, -2.0, 0.0], True),  # flat to the right
        ([0.0, 1.0, 2.0], [-1.0, 0.0, 3.0], True),  # a minimum at a breakpoint
        ([0.0, 1.0, 2.0], [1e-9, -1.0, 3.0], False),
        ([0.0, 1.0, 2.0], [-1.0, 2.0, -1e-9], False),
    ],
)
def test_a_landscape_is_what_a_fine_sum_says(points, slopes, bounded):
    values, _, there = by_quadrature(points, slopes, 0.7)
    order = np.argsort(points, kind="stable")
    at = np.empty(len(points))
    at[order] = there
    found = landscape(double(points), double(at.tolist()), double(slopes))
    if bounded:
        assert float(found.infimum) == pytest.approx(values.min(), abs=1e-7)
    else:
        assert float(found.infimum) == -math.inf
    sorted_points, sorted_slopes = np.asarray(points)[order], np.asarray(slopes)[order]
    widths = np.diff(sorted_points)
    rates = np.abs(np.diff(sorted_slopes))[widths > 0] / widths[widths > 0]
    assert float(found.smoothness) == pytest.approx(rates.max())
    assert float(found.steepest) == pytest.approx(np.abs(slopes).max())


@pytest.mark.parametrize(
    ("tilt", "gap"), [(0.0, 0.0), (1e-9, math.inf), (-0.5, 1 / 3), (-1.0, 1.0), (-1.0 - 1e-9, math.inf)]
)
def test_losses_that_are_flat_at_an_end_have_a_minimum_there(tilt, gap):
    """f' rises from the tilt by 1 in all: 0 at the left end or at the right one is still bounded below; with -1/2 F falls by 1/2 - 1/6."""
    family = MetaFamily(
        {
            "knots": double([[0.0, 1.0, 2.0]]),
            "curvatures": double([[0.0, 1.0, 0.0]]),
            "tilt": double([tilt]),
            "gradient_noise": double([0.0]),
            "alpha": double([0.1]),
            "start": double([0.0]),
        },
        nu=0,
    )
    assert float(family.constants()["objective_gap"]) == pytest.approx(gap)


# --- problems of functions ------------------------------------------------------------------------------------------------------


class Counting:
    """Draws that say what they were asked for: the largest of each kind, and zeros."""

    def __init__(self):
        self.asked = {}

    def integers(self, purpose, high, *tail):
        self.asked[purpose] = (high, tail)
        return torch.full((1, 2, *tail), high - 1)


def test_samples_of_functions_are_their_data():
    """Two data sets of 3 and 4 rows at each client, one of 3, or one for both parts."""
    first, second = (
        double(*[[[float(10 * k + i)] for i in range(3)] for k in range(2)]),
        double(*[[[100.0 + i] for i in range(4)]] * 2),
    )
    start = double(1.0, 2.0)

    def inner(x, row):
        return x * row

    def outer(y, row):
        return y.sum() * (1.0 if row is None else row[0])

    both = LocalFromFunctions(inner, outer, first, second, start)
    one = LocalFromFunctions(inner, outer, first, None, start)
    shared = SharedFromFunctions(inner, lambda y, _: y.sum(), first, None, start)
    for made, asked in (
        (both, {"s.inner": (3, (5,)), "s.outer": (4, (5,))}),
        (one, {"s.inner": (3, (5,)), "s.outer": (1, (5,))}),
        (shared, {"s": (3, (5,))}),
    ):
        draws = Counting()
        made.sample(draws, 5, "s")
        assert draws.asked == asked and (made.clients, made.dim) == (2, 2)
        atoms, weights = made.atoms()
        count = {both: 12, one: 3, shared: 3}[made]
        assert weights.tolist() == pytest.approx([1 / count] * count)
        assert {tensor.shape for tensor in vars(atoms).values()} == {(1, 2, count)}
    x = start.expand(1, 2, 2)
    for k in range(2):
        assert torch.allclose(both.inner(x)[0, k], start * (10 * k + 1))
    assert (
        both.outer(x).tolist() == [[3.0 * 101.5] * 2]
        and one.outer(x).tolist() == [[3.0] * 2] == shared.outer(x).tolist()
    )
    assert shared.outer(x[:, 0]).tolist() == [3.0] and torch.equal(
        shared.outer_gradient(x[:, 0]), torch.ones(1, 2).double()
    )
    assert both.inner_dim == one.inner_dim == shared.inner_dim == 2
    assert one.properties - both.properties == {"equal_outer_functions", "one_outer_function"}
    assert "no_extra_term" in shared.properties and not shared.extra(x).any() and shared.extra_gradient(x) is None


# --- problems that are not fedco's own -------------------------------------------------------------------------------------------

OUTSIDE = """
from fedco.synthetic.catalogue import Preset
from fedco.synthetic.families.federated import FederatedHuber

instance = FederatedHuber(clients=3, dim=2, L=0.7)
preset = Preset(FederatedHuber, "mine", {"clients": 3, "dim": 2})


def made(clients=5, dim=4):
    return FederatedHuber(clients=clients, dim=dim)


number = 7
"""


def test_a_problem_of_a_file_is_taken_as_it_stands_or_made(tmp_path):
    """An instance, a preset, a class and a function, each with and without parameters."""
    file = tmp_path / "mine.py"
    file.write_text(OUTSIDE)
    sizes = {"instance": (3, 2), "preset": (3, 2), "made": (5, 4), "FederatedHuber": (8, 6)}
    for name, (clients, dim) in sizes.items():
        plain, other = problem(f"{file}:{name}"), problem(f"{file}:{name}", clients=4)
        assert isinstance(plain, AbstractProblem) and (plain.clients, plain.dim, other.clients) == (clients, dim, 4), (
            name
        )
    assert problem(f"{file}:preset").name == f"{file}:preset" and problem(f"{file}:instance").L == 0.7
    for name, parameters, said in (
        (
            "number",
            {},
            r"mine\.py:number: wanted a problem, .*; got int, which has no kind, certificates, gradient, initial_point",
        ),
        ("number", {"clients": 4}, r"mine\.py:number: "),
        ("made", {"colour": 1}, r"mine\.py:made: .*colour"),
        ("instance", {"L": -1.0}, r"mine\.py:instance: L must be finite and positive"),
    ):
        with pytest.raises(InputError, match=said):
            problem(f"{file}:{name}", **parameters)


def test_a_problem_of_an_installed_package_comes_after_fedcos_own(monkeypatch):
    loaded = []
    monkeypatch.setattr(catalogue, "installed", lambda group: {"problems": ("rings", "feddro_noisy")}[group])
    monkeypatch.setattr(catalogue, "load_installed", lambda group, name: loaded.append((group, name)) or FederatedHuber)
    assert problem("rings", clients=4).clients == 4 and loaded == [("problems", "rings")]
    assert isinstance(problem("feddro_noisy"), SharedComposite) and len(loaded) == 1
    with pytest.raises(InputError, match=r"unknown problem 'feddro_noizy'; .*feddro_noisy.*, or FILE\.py:NAME"):
        problem("feddro_noizy")


# --- outer functions beyond the values that the inner map takes ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "f", "slope"),
    [
        (RobustLoss(clients=2, samples=4, M=1.4, weight=0.7), lambda y: 0.7 * math.log(y), lambda y: 0.7 / y),
        (RobustLoss(clients=2, samples=4, penalty="chi2", M=1.4, weight=2.3), lambda y: -y * y / 4.6, lambda y: -y / 2.3),
        (ClientChi2(clients=2, samples=4, M=1.4, gamma=2.3), lambda y: -y * y / 4.6, lambda y: -y / 2.3),
        (AgnosticMAML(clients=2, gamma=0.7, top=1.4), lambda y: math.exp(y / 0.7), lambda y: math.exp(y / 0.7) / 0.7),
        (ClientKL(clients=2, samples=4, M=1.4, gamma=0.7), lambda y: math.exp(y / 0.7), lambda y: math.exp(y / 0.7) / 0.7),
    ],
)  # fmt: skip
def test_outer_functions_are_continued_linearly(made, f, slope):
    low, high = (0.0, 1.4) if made.kind == "local_composite" else made.inner_function.range
    line = np.linspace(low - 2.0, high + 2.0, 41)
    for y in line:
        inside = min(max(y, low), high)
        at = double([[y], [y]]).view(1, 2, 1)
        assert made.outer(at).tolist() == [pytest.approx([f(inside) + slope(inside) * (y - inside)] * 2, abs=1e-12)]
        assert made.outer_gradient(at).flatten().tolist() == pytest.approx([slope(inside)] * 2)


def test_a_safety_factor_of_one_is_none():
    """Constants are then what was found; twice the factor is twice the constant, but for the gap above a known bound."""
    instance = FederatedHuber(clients=2, dim=2, L=0.7, sigma=0.3)
    one, two = (estimated_certificates(instance, Budget(lanes=2, steps=1), factor) for factor in (1.0, 2.0))
    assert all(float(two[name].value) == pytest.approx(2 * float(one[name].value)) for name in one)
    assert {name: float(one[name].value) for name in ("local_smoothness", "local_gradient_noise")} == pytest.approx(
        {"local_smoothness": 0.7, "local_gradient_noise": 0.3}
    )
    assert one.keys() == set(KINDS["federated"].required) and {each.kind for each in one.values()} == {"estimated"}
    gap = estimated_certificates(instance, Budget(lanes=2, steps=1), 2.0, lower_bound=0.0)["objective_gap"]
    assert gap.kind == "upper" and gap.value == float(instance.objective(instance.initial_point[None]))


@pytest.mark.parametrize("start", [1e-9, 1.8e-8, 1e-3, 3.0])
def test_the_gap_of_a_cosine_is_known_near_its_minimum_too(start):
    """1 - cos t is 0 in doubles where t is 1e-9, and t^2/2 is not; the certificate says that it is exact."""
    gap = FederatedSines(clients=3, dim=1, start=start, L=1.0, G=1.0).certificates["objective_gap"]
    with mpmath.workdps(40):
        assert gap.kind == "exact" and abs(gap.value / (1 - mpmath.cos(start)) - 1) < 1e-14


@pytest.mark.parametrize("ridge", [1e-2, 1e10, 1e15])
def test_a_gap_that_is_smaller_than_the_rounding_of_its_parts_is_not_below_the_truth(ridge):
    made = FederatedLogistic(ridge=ridge, start=0.0)
    rows = made.data.features.flatten(0, 1)
    first = float(rows.mean(0).square().sum()) / 4  # |grad F(0)|^2, where the curvature is at least ridge and near it
    gap = made.certificates["objective_gap"].value
    if ridge > 1:
        assert gap >= first / (2 * (ridge + float(rows.square().sum(-1).mean()))) > 0
    assert 0 < gap < 1


# --- exact identities, and bits in any batch --------------------------------------------------------------------------------


def test_inner_noise_is_conditional_on_the_outer_sample():
    """The inner error depends on xi, and exact conditional expectations differ between outcomes and between clients."""
    instance = problem("conditional_heterogeneous")
    x = instance.initial_point.expand(1, instance.clients, -1)
    outer, _ = instance.outer_atoms()
    means = instance.inner(x, outer)
    assert not torch.allclose(means[0, 0, 0], means[0, 0, 2]) and not torch.allclose(means[0, 0], means[0, 1])
    inner, _ = instance.inner_atoms(outer)
    errors = (instance.inner(x, outer, inner.only(0)) - means).norm(dim=-1)[0, 0]
    assert len({round(float(error), 9) for error in errors}) > 1


def test_lemma_3_9_needs_its_cross_term():
    """Spectral norms: the paper's C_g^2 = (1 + lam L_1)^2 + lam^2 sigma_2^2 is below the second moment at a point."""
    instance = FederatedMAML(clients=1, dim=2, lam=1.0, L_1=0.05, G=1.0, sigma_1=0.5, sigma_2=0.5)
    crest = torch.tensor(instance.certificates["local_hessian_noise"].points[0], dtype=torch.float64).expand(1, 1, 2)
    sample, weights = instance.atoms()
    basis = torch.eye(2, dtype=torch.float64)
    second_moment = 0.0
    for i, weight in enumerate(weights.tolist()):
        columns = [instance.inner_vjp(crest, e.expand(1, 1, 2), sample.at(i))[0, 0] for e in basis]
        second_moment += weight * float(torch.linalg.matrix_norm(torch.stack(columns), ord=2)) ** 2
    printed = (1 + instance.lam * instance.L_1) ** 2 + (instance.lam * instance.sigma_2) ** 2
    assert printed < second_moment <= float(instance.certificates["inner_jacobian_mean_square"].value) ** 2


@pytest.mark.parametrize("runs", [1, 2, 5, 33])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (7, 1), (6, 3), (20, 4)])
def test_a_run_keeps_its_bits_in_any_batch(runs, shape):
    """More shapes than the suite tries: vector widths, tails and broadcasts all differ between them."""
    dim, inner_dim = shape
    generator = torch.Generator().manual_seed(runs)
    noise = dict(sigma_f=0.2, sigma_g=0.2, delta_g=0.3)
    for instance in (
        LocalComposite(clients=3, dim=dim, inner_dim=inner_dim, C_g=1.5, Delta_g=0.3, spread=1.0, **noise),
        FederatedMAML(clients=3, dim=dim, Delta=0.1),
    ):
        x = 5 * torch.randn(runs, 3, dim, generator=generator, dtype=torch.float64)
        v = torch.randn(runs, 3, instance.inner_dim, generator=generator, dtype=torch.float64)
        sample = instance.sample(SeededDraws(runs, 3), 2)
        whole = instance.inner_vjp(x, instance.outer_gradient(v, sample), sample)
        for run in range(runs):
            own = type(sample)(*(getattr(sample, name)[run : run + 1] for name in sample.__dataclass_fields__))
            alone = instance.inner_vjp(x[run : run + 1], instance.outer_gradient(v[run : run + 1], own), own)
            assert torch.equal(whole[run : run + 1], alone)
