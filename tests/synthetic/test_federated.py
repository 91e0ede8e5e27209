"""The plain federated kind: parameters away from 1, certificates from raw data, meta FL at nu = 0."""

import math

import numpy as np
import pytest
import torch
from fedco.algorithms import LocalSGD, MetaFL, drive, metrics
from fedco.synthetic import problem
from fedco.synthetic.applications.federated_logistic import FederatedLogistic
from fedco.synthetic.conformance.suite import Budget, check_problem
from fedco.synthetic.families.federated import (
    FederatedHuber,
    FederatedQuadratic,
    FederatedSines,
    FederatedStronglyConvex,
)
from fedco.synthetic.families.federated_bowl import FederatedBowl
from fedco.synthetic.families.meta import Meta
from fedco.synthetic.parts.data import deal

GLANCE = Budget(lanes=2, steps=2)
SHARE = math.sqrt((1 + 1 / 4 + 1 / 4) / 3)  # root of the mean square of 1, -1/2, -1/2
COMMON = dict(L=0.6, sigma=0.3, kurtosis=3, Delta=0.4, clients=6, dim=5, start=3.0)
SAME = {"local_smoothness": 0.6, "local_sample_smoothness": 0.6, "objective_smoothness": 0.6,
        "local_gradient_noise": 0.3, "local_gradient_fourth_moment": 3 * 0.3**4,
        "local_gradient_noise_bound": 0.3 * math.sqrt(3),
        "local_gradient_heterogeneity": SHARE * 0.4}  # fmt: skip
BOUNDED = {"local_gradient_bound": 1.7, "local_sample_gradient_bound": 1.7 + 0.3 * math.sqrt(3), "gradient_cap": 1.3}
PARAMETERS = [
    (FederatedQuadratic(mu=0.2, **COMMON), SAME),
    (FederatedStronglyConvex(mu=0.2, **COMMON), SAME | {"strong_convexity": 0.2, "initial_distance": 3.0}),
    (FederatedHuber(G=1.7, **COMMON), SAME | BOUNDED),
    (FederatedSines(G=1.7, **COMMON), SAME | BOUNDED),
    (FederatedBowl(G=1.7, noise_wavenumber=0.7, **COMMON),
     {"local_gradient_bound": 1.7, "local_smoothness": 0.6, "local_gradient_noise": 0.3, "gradient_cap": 1.3,
      "local_gradient_fourth_moment": 3 * 0.3**4, "local_gradient_heterogeneity": 0.4,
      "local_sample_smoothness": 0.6 + 0.3 * 0.7 * math.sqrt(3)}),
]  # fmt: skip
UNBOUNDED = {"local_gradient_bound", "local_sample_gradient_bound", "gradient_cap"}
FAMILIES = [instance for instance, _ in PARAMETERS] + [
    FederatedLogistic(clients=3, samples=7, dim=3, shift=0.8),
    FederatedLogistic(clients=4, samples=12, dim=4, ridge=0.3, table="wine", positives=0.25),
    FederatedHuber(clients=4, dim=2, G=0.7, L=2.5, Delta=0.3, sigma=0.1),
    FederatedSines(clients=1, dim=1, G=0.7, L=2.5),
]


def named(instance):
    return f"{instance.name}-{instance.clients}-{instance.dim}"


@pytest.mark.parametrize(("instance", "wanted"), PARAMETERS, ids=lambda v: getattr(v, "name", ""))
def test_parameters_come_back_as_certificates(instance, wanted):
    for quantity, value in wanted.items():
        assert float(instance.certificates[quantity].value) == pytest.approx(value, rel=1e-9), quantity


@pytest.mark.parametrize("instance", FAMILIES, ids=named)
def test_a_family_conforms_away_from_its_presets(instance):
    check_problem(instance, Budget(lanes=6, steps=12))


def test_only_bounded_gradients_are_certified_as_bounded():
    for instance in FAMILIES:
        is_unbounded = (
            isinstance(instance, FederatedQuadratic | FederatedStronglyConvex) or getattr(instance, "ridge", 0.0) > 0
        )
        assert (
            UNBOUNDED.isdisjoint(instance.certificates) if is_unbounded else instance.certificates.keys() >= UNBOUNDED
        )


def test_the_logistic_loss_is_that_of_the_table():
    """Values and gradients from the rows themselves, in numpy."""
    instance = problem("federated_breast_cancer")
    features, labels, _ = deal("breast_cancer", instance.clients, instance.samples, instance.dim, 0.5, 1.0, 0)
    x = np.linspace(-2.0, 3.0, instance.dim)
    rows, signs = features.numpy(), labels.numpy()
    margins = signs * (rows @ x)
    values = np.log1p(np.exp(-margins)).mean(-1) + 0.025 * (x @ x)
    slopes = -signs / (1 + np.exp(margins))
    gradients = (slopes[..., None] * rows).mean(1) + 0.05 * x
    at = torch.tensor(x).expand(1, instance.clients, -1)
    np.testing.assert_allclose(instance.local_value(at)[0].numpy(), values, rtol=1e-12)
    np.testing.assert_allclose(instance.local_gradient(at)[0].numpy(), gradients, rtol=1e-12)
    assert instance.ridge == 0.05 and np.ptp(values) > 1e-3


def test_the_infimum_of_the_logistic_loss_is_bounded_from_below_and_nearly_attained():
    """The gap is exact: the dual (no ridge) and the strongly convex (ridge) lower bounds meet the Newton point."""
    for instance in (FAMILIES[4], FAMILIES[5], problem("federated_logistic"), problem("federated_breast_cancer")):
        gap = instance.certificates["objective_gap"]
        assert gap.kind == "exact" and gap.witness > 1 - 1e-8


def test_the_gap_of_separable_data_is_bounded_by_a_loss_of_zero():
    instance = FederatedLogistic(clients=2, samples=3, dim=4, noise=0.0, shift=0.0)
    gap = instance.certificates["objective_gap"]
    assert float(gap.value) == pytest.approx(float(instance.objective(instance.initial_point[None])), rel=1e-9)


def test_meta_fl_without_fine_tuning_is_the_federated_kind():
    """nu = 0: the same objective, gradient and constants; and the same trajectories, to the last bit."""
    meta = Meta(clients=5, dim=4, alpha=0.3, nu=0, B=1.7, L=0.6, sigma_G=0.3, sigma_H=0.21, kurtosis=3, Delta=0.4)
    plain = FederatedBowl(clients=5, dim=4, G=1.7, L=0.6, sigma=0.3, kurtosis=3, noise_wavenumber=0.7, Delta=0.4)
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64) * 5
    torch.testing.assert_close(meta.objective(x), plain.objective(x), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(meta.gradient(x), plain.gradient(x), rtol=1e-13, atol=1e-13)
    for quantity in plain.certificates.keys() & meta.certificates.keys() - {"objective_smoothness", "gradient_cap"}:
        known, other = plain.certificates[quantity], meta.certificates[quantity]
        assert float(known.value) == pytest.approx(float(other.value)) or other.kind == "upper", quantity
    models = [drive(LocalSGD(eta=0.2, tau=3, b=2), p, steps=20, seeds=3).state.x for p in (meta, plain)]
    assert torch.equal(*models) and float(models[0].std()) > 0


@pytest.mark.parametrize("variant", ["exact", "first_order", "hessian_free"])
def test_the_meta_method_without_fine_tuning_is_local_sgd(variant):
    meta = Meta(clients=5, dim=4, nu=0, B=1.7, L=0.6, Delta=0.4)
    plain = FederatedBowl(clients=5, dim=4, G=1.7, L=0.6, Delta=0.4)
    record = {"gradient": metrics.gradient_norm_squared}
    left = drive(MetaFL(beta=0.2, tau=3, variant=variant), meta, steps=20, record=record)
    right = drive(LocalSGD(eta=0.2, tau=3), plain, steps=20, record=record)
    assert torch.equal(left.state.x, right.state.x)
    torch.testing.assert_close(left.values["gradient"], right.values["gradient"], rtol=1e-12, atol=1e-15)
