"""The plain federated kind: parameters away from 1, certificates from raw data, meta FL at nu = 0."""

import math

import fedco
import pytest
import torch
from fedco.algorithms import LocalSGD, MinibatchSGD, drive
from fedco.algorithms.engine.method import State
from fedco.algorithms.engine.metrics import distance, distance_squared, gap
from fedco.algorithms.registry import get_method
from fedco.bounds.language.reading import InputError
from fedco.synthetic import problem
from fedco.synthetic.conformance.property_checks import CHECKS
from fedco.synthetic.families.bowls import FederatedBowl, Meta
from fedco.synthetic.families.federated import (
    FederatedHuber,
    FederatedQuadratic,
    FederatedSines,
    FederatedStronglyConvex,
)
from fedco.synthetic.families.federated_logistic import FederatedLogistic
from fedco.synthetic.parts.noise import NoiseSample
from fedco.validation.runs.measures import metric_cap
from test_conformance import AWAY

UNBOUNDED = {"local_gradient_bound", "local_sample_gradient_bound", "gradient_cap"}


def test_only_bounded_gradients_are_certified_as_bounded():
    for instance in (each for each in AWAY.values() if each.kind == "federated"):
        is_unbounded = (
            isinstance(instance, FederatedQuadratic | FederatedStronglyConvex) or getattr(instance, "ridge", 0.0) > 0
        )
        assert (
            UNBOUNDED.isdisjoint(instance.certificates) if is_unbounded else instance.certificates.keys() >= UNBOUNDED
        )


def test_the_infimum_of_the_logistic_loss_is_bounded_from_below_and_nearly_attained():
    """The gap is exact: the dual (no ridge) and the strongly convex (ridge) lower bounds meet the Newton point."""
    for instance in (
        AWAY["logistic without a ridge"],
        AWAY["logistic of a table"],
        problem("federated_logistic"),
        problem("federated_breast_cancer"),
    ):
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


# --- problems with a known minimiser: their growth, how far runs come from there, and what is refused


GROWING = {
    "quadratic": FederatedQuadratic(clients=4, dim=3, L=1.5, mu=0.25, sigma=0.5, Delta=0.75, start=2.0),
    "strongly convex": FederatedStronglyConvex(
        clients=4, dim=3, L=1.5, mu=0.25, knee=0.5, sigma=0.5, Delta=0.75, start=2.0
    ),
}
CONVEX = {**GROWING, "huber": FederatedHuber(clients=4, dim=3, L=1.5, G=2.0, sigma=0.5, Delta=0.75, start=2.0)}


def test_a_quadratic_with_one_coordinate_grows_by_its_only_curvature():
    made = FederatedQuadratic(clients=1, dim=1, L=2.0, mu=0.5)
    assert float(made.certificates["strong_convexity"].value) == 2.0
    assert "strong_convexity" not in FederatedQuadratic(mu=0.0).certificates


@pytest.mark.parametrize("name", CONVEX)
def test_a_convex_problem_says_so_and_is(name: str):
    made = CONVEX[name]
    for name in ("convex", "convex_clients"):
        assert name in made.properties
        assert CHECKS[name](made, 0)


def test_the_value_of_a_strongly_convex_problem_is_the_integral_of_its_slope():
    made = GROWING["strongly convex"]
    for x in (0.2, 0.5, 0.9, -3.0):
        near = min(abs(x), 0.5)
        by_hand = 0.25 * x * x / 2 + 1.25 * (near * near / 2 + near * (abs(x) - near))
        point = torch.tensor([[x, 0.0, 0.0]], dtype=torch.float64)
        assert float(made.objective(point)) == pytest.approx(by_hand, rel=1e-14)
        slope = 0.25 * x + 1.25 * math.copysign(near, x)
        assert made.gradient(point)[0].tolist() == pytest.approx([slope, 0.0, 0.0])


# --- how far a run comes from the minimiser ---------------------------------------------------------------------------


def furthest(made, step: float, steps: int, period: int) -> float:
    """The largest distance of a client's model over all constant signs of the noise, in plain numbers."""
    signs = torch.tensor([[s] * made.clients for s in (-1.0, 1.0)], dtype=torch.float64)
    x = made.to_clients(made.initial_point.unsqueeze(0)).repeat(2, 1, 1).clone()
    noise, far = NoiseSample(made.law.largest * signs.unsqueeze(-1)), 0.0
    for t in range(steps):
        x = x - step * made.local_gradient(x, noise)
        far = max(far, float(x.norm(dim=-1).max()))
        if (t + 1) % period == 0:
            x = x.mean(1, keepdim=True).expand_as(x).clone()
    return far


@pytest.mark.parametrize("name", CONVEX)
@pytest.mark.parametrize(("step", "period"), [(0.1, 1), (0.6, 5), (0.6, 40), (1.3, 40)])
def test_no_run_leaves_its_reach(name: str, step: float, period: int):
    made = CONVEX[name]
    assert furthest(made, step, 40, period) <= made.reach(step, 40)


def test_the_reach_is_nearly_attained():
    """One client without a flat direction: pushed along the axis with the smallest curvature for ever."""
    made = FederatedQuadratic(clients=1, dim=1, L=0.5, mu=0.5, sigma=1.0, start=1.0)
    assert made.reach(1.0, 400) == pytest.approx(2.0)
    assert furthest(made, 1.0, 400, 1) == pytest.approx(2.0)
    flat = FederatedHuber(clients=1, dim=1, L=1.0, G=1e-6, sigma=1.0, start=1.0)
    assert furthest(flat, 0.5, 20, 1) == pytest.approx(flat.reach(0.5, 20), rel=1e-4)


def test_nothing_is_known_of_long_steps_or_of_what_is_not_convex():
    assert GROWING["quadratic"].reach(1.4, 10) is None
    assert FederatedSines(clients=3, dim=2, L=1.5, G=2.0).reach(0.1, 10) is None


# --- metrics ----------------------------------------------------------------------------------------------------------


def test_gap_and_distance_are_those_of_the_averaged_model():
    made = GROWING["quadratic"]
    x = torch.arange(12.0, dtype=torch.float64).view(1, 4, 3)
    state = State(x=x)
    mean = x.mean(1)
    curvatures = torch.tensor([1.5, 0.875, 0.25], dtype=torch.float64)
    assert float(gap(made, state, 0)) == pytest.approx(float((curvatures * mean**2).sum() / 2))
    assert float(distance_squared(made, state, 0)) == pytest.approx(float((mean**2).sum()))
    assert float(distance(made, state, 0)) == pytest.approx(math.sqrt(float((mean**2).sum())))


def test_a_method_without_gradient_steps_has_no_cap_of_a_gap():
    theorem = fedco.theorem("library.sgd_pl")
    made = GROWING["quadratic"]
    assert LocalSGD(eta=0.1, tau=2).gradient_step == MinibatchSGD(eta=0.1).gradient_step == 0.1
    cap = metric_cap(theorem, made, lambda: LocalSGD(eta=0.1, tau=2), lambda: 10)
    assert cap == pytest.approx(1.5 * made.reach(0.1, 10) ** 2 / 2)
    scaffold = get_method("scaffold")
    with pytest.raises(InputError, match="the method scaffold has no bound"):
        metric_cap(theorem, made, lambda: scaffold(eta=0.1, tau=2), lambda: 10)
    with pytest.raises(InputError, match="no bound"):
        metric_cap(theorem, problem("federated_sines"), lambda: LocalSGD(eta=0.1, tau=2), lambda: 10)
    with pytest.raises(InputError, match="federated_logistic has no bound"):
        metric_cap(theorem, problem("federated_logistic"), lambda: LocalSGD(eta=0.1, tau=2), lambda: 10)
    distance_of = fedco.theorem("library.sgd_strongly_convex")
    assert metric_cap(distance_of, made, lambda: LocalSGD(eta=0.1, tau=2), lambda: 10) == pytest.approx(
        made.reach(0.1, 10) ** 2
    )
