"""The plain federated kind: parameters away from 1, certificates from raw data, meta FL at nu = 0."""

import pytest
import torch
from fedco.algorithms import LocalSGD, drive
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

GLANCE = Budget(lanes=2, steps=2)
COMMON = dict(L=0.6, sigma=0.3, kurtosis=3, Delta=0.4, clients=6, dim=5, start=3.0)
UNBOUNDED = {"local_gradient_bound", "local_sample_gradient_bound", "gradient_cap"}
FAMILIES = [
    FederatedQuadratic(mu=0.2, **COMMON),
    FederatedStronglyConvex(mu=0.2, **COMMON),
    FederatedHuber(G=1.7, **COMMON),
    FederatedSines(G=1.7, **COMMON),
    FederatedBowl(G=1.7, noise_wavenumber=0.7, **COMMON),
    FederatedLogistic(clients=3, samples=7, dim=3, shift=0.8),
    FederatedLogistic(clients=4, samples=12, dim=4, ridge=0.3, table="wine", positives=0.25),
    FederatedHuber(clients=4, dim=2, G=0.7, L=2.5, Delta=0.3, sigma=0.1),
    FederatedSines(clients=1, dim=1, G=0.7, L=2.5),
]


def named(instance):
    return f"{instance.name}-{instance.clients}-{instance.dim}"


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


def test_the_infimum_of_the_logistic_loss_is_bounded_from_below_and_nearly_attained():
    """The gap is exact: the dual (no ridge) and the strongly convex (ridge) lower bounds meet the Newton point."""
    for instance in (FAMILIES[5], FAMILIES[6], problem("federated_logistic"), problem("federated_breast_cancer")):
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
