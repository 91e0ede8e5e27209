"""What certificates say beyond a number: their ranges, what their stated points attain, and constants by hand."""

import math

import pytest
import torch
from broken import GLANCE
from fedco.synthetic import Certificate
from fedco.synthetic.certificate import rounded_up
from fedco.synthetic.conformance import suite
from fedco.synthetic.conformance.kinds import get_kind
from fedco.synthetic.conformance.suite import check_problem
from fedco.synthetic.families.bowls import AgnosticMAML, FederatedBowl, FederatedMAML, Meta
from fedco.synthetic.families.composite import LocalComposite, SharedComposite
from fedco.synthetic.families.conditional import Conditional
from fedco.synthetic.families.counterexample import FedAvgCounterexample
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
from fedco.synthetic.parts.bowl import RippledBowl
from hypothesis import given
from hypothesis import strategies as st

# --- certificates -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantity", "value", "kind", "changes", "complaint"),
    [
        ("speed", 1.0, "upper", {}, "not a quantity"),
        ("clients", 1.0, "upper", {}, "only constants of a problem are certified"),
        ("inner_noise", -1e-9, "upper", {}, "at least 0"),
        ("inner_noise", math.nan, "upper", {}, "finite"),
        ("inner_noise", math.inf, "upper", {}, "finite"),
        ("inner_noise", 1.0, "guess", {}, "kind must be in"),
        ("inner_noise", 1.0, "upper", {"argument": " "}, "argument is missing"),
        *(("inner_noise", 0.0, "upper", {"witness": witness}, "witness must be in") for witness in (-1e-9, 1 + 1e-9)),
        ("inner_noise", 1.0, "exact", {"witness": 0.9899, "points": ((0.0,),)}, "exact needs points"),
        ("inner_noise", 1.0, "exact", {"witness": 1.0}, "exact needs points"),
        ("inner_noise", 1.0, "exact", {"points": ((0.0,),)}, "exact needs points"),
    ],
)  # fmt: skip
def test_a_certificate_that_proves_nothing_cannot_exist(quantity, value, kind, changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        Certificate(quantity, value, kind, **{"argument": "proof", **changes})


def test_a_certificate_at_the_ends_of_its_ranges():
    for witness in (0.0, 1.0):
        Certificate("inner_noise", 0.0, "upper", "proof", witness=witness)
    Certificate("inner_noise", 1.0, "exact", "proof", witness=0.99, points=((0.0,),))
    Certificate("inner_noise", 0.0, "exact", "proof")  # nothing attains 0
    assert rounded_up(0.0) == 0.0 and rounded_up(1.0) == 1 + 2.0**-33


AWAY = {
    "shared": SharedComposite(clients=3, dim=6, inner_dim=2, B_f=1.3, L_f=0.4, B_g=1.7, L_g=0.2, B_h=0.7, L_h=0.6,
        sigma_g=0.5, Delta_g=0.4, Delta_h=0.2, sigma_h=0.3, ripple=0.7, target=1.5, start=4.0),
    "shared, no target": SharedComposite(clients=2, dim=3, B_f=0.4, L_f=1.7, B_g=2.1, L_g=0.9, B_h=1.7, L_h=0.3, target=0.0),
    "shared, no noise": SharedComposite(clients=4, dim=4, B_f=0.4, L_f=1.7, B_g=2.1, L_g=0.9, Delta_g=1.1, target=-3.0),
    "local": LocalComposite(clients=3, dim=6, inner_dim=2, C_f=1.4, C_g=1.6, L_f=0.3, L_g=0.2, sigma_f=0.6, sigma_g=0.4,
        delta_g=0.2, Delta_g=0.3, spread=0.5, target=-1.2, start=3.0),
    "local, one map": LocalComposite(clients=2, dim=3, inner_dim=3, C_f=0.4, C_g=2.6, L_f=1.3, L_g=0.7, sigma_g=0.2,
        delta_g=0.9, target=1.2, start=3.0),
    "conditional": Conditional(clients=2, dim=6, inner_dim=2, outer_support=3, L_f=1.4, S_f=0.3, L_g=1.6, S_g=0.9, sigma_g=0.5,
        jacobian_noise=0.4, Delta=0.3, spread=0.5, clients_differ=True, target=1.2, start=3.0),
    "bowl": FederatedBowl(clients=5, dim=4, G=1.3, L=0.8, sigma=0.4, kurtosis=3, noise_wavenumber=1.7, Delta=0.5),
    "meta": Meta(clients=4, dim=2, alpha=0.7, nu=3, B=1.9, L=0.6, sigma_G=0.2, sigma_H=0.3, kurtosis=2, Delta=1.1, start=2.0),
    "quadratic": FederatedQuadratic(clients=4, dim=3, L=1.7, mu=0.4, sigma=0.6, kurtosis=3, Delta=0.7, start=2.0),
    "huber": FederatedHuber(clients=5, dim=3, L=1.7, G=2.3, sigma=0.6, kurtosis=2, Delta=0.7, start=2.0),
    "sines": FederatedSines(clients=3, dim=2, L=1.7, G=2.3, sigma=0.6, kurtosis=3, Delta=0.7, start=2.0),
    "strongly convex": FederatedStronglyConvex(clients=4, dim=3, L=1.7, mu=0.4, knee=0.6, sigma=0.6, Delta=0.7, start=2.0),
    "logistic": FederatedLogistic(clients=3, samples=7, dim=4, shift=0.7, seed=2, start=2.5, ridge=0.3),
    "invariance": InvariantLogistic(clients=3, points=5, dim=3, sigma_2=0.4, saturation=1.7, reg=0.3, gamma=2.2, shift=0.5),
    "counterexample": FedAvgCounterexample(),
    "KL": RobustLoss(clients=3, samples=5, dim=3, M=1.6, weight=0.7),
    "chi-square": RobustLoss(clients=3, samples=5, dim=3, penalty="chi2", M=1.6, weight=2.3),
    "KL over clients": ClientKL(clients=3, samples=5, dim=3, M=1.6, gamma=0.7),
    "chi-square over clients": ClientChi2(clients=3, samples=5, dim=3, M=1.6, gamma=2.3),
    "agnostic MAML": AgnosticMAML(clients=3, dim=4, lam=0.7, G=1.7, L_1=0.6, sigma_1=0.3, sigma_2=0.5, kurtosis=2, Delta=0.4,
        gamma=1.7, top=2.6),
    "MAML": FederatedMAML(clients=3, dim=4, lam=0.7, G=1.7, L_1=0.6, sigma_1=0.3, sigma_2=0.5, kurtosis=2, Delta=0.4, start=3.0),
    "two groups": FairClassifier(clients=2, samples=6, dim=4, rho=0.6, width=0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", AWAY)
def test_what_is_promised_of_stated_points_is_what_they_attain(name):
    """Within two thousandths: a promise far below would let a wrong point pass."""
    instance = AWAY[name]
    for quantity, certificate in instance.certificates.items():
        if certificate.points and certificate.value > 0:
            of = get_kind(instance.kind).inequalities[quantity]
            attained = suite.at_stated_points(instance, certificate, of) / of.largest(float(certificate.value))
            assert certificate.witness <= attained + 1e-7 and attained < certificate.witness + 2e-3, quantity
    if name in ("bowl", "meta"):
        assert instance.certificates["local_gradient_bound"].witness > 0.99  # far, at a crest of the ripples


@pytest.mark.parametrize("name", AWAY)
def test_a_problem_conforms_where_no_parameter_is_1(name):
    check_problem(AWAY[name], GLANCE)


def test_hessians_that_do_not_differ_do_so_exactly():
    """Without heterogeneity the constant is 0, and exact; with it, it is attained where all clients have a crest."""
    for delta in (0.0, 0.3):
        found = Meta(clients=4, dim=2, Delta=delta).certificates["local_hessian_heterogeneity"]
        assert found.kind == "exact" and found.points and (found.value == 0) == (delta == 0)


def test_constants_of_a_bowl_whose_noise_turns_faster():
    made = RippledBowl(3, 4, 1.3, 0.8, noise=0.4, heterogeneity=0.5, noise_wavenumber=1.7)
    assert {c.quantity: c.value for c in made.certificates()} == {
        "noncompositional_smoothness": 0.8,
        "noncompositional_sample_smoothness": pytest.approx(0.8 + 0.4 * 1.7),
        "noncompositional_gradient_noise": 0.4,
        "noncompositional_heterogeneity": 0.5,
    }
    for wavenumber in (0.0, 1000.1, math.nan):
        with pytest.raises(ValueError, match=r"bowl: the noise wavenumber must be in \(0, 1000"):
            RippledBowl(3, 4, 1.3, 0.8, noise_wavenumber=wavenumber)
    RippledBowl(3, 4, 1.3, 0.8, noise_wavenumber=1000.0)
    with pytest.raises(ValueError, match="heterogeneity needs at least 2 clients, got 1"):
        RippledBowl(1, 4, 1.3, 0.8, heterogeneity=0.1)
    with pytest.raises(ValueError, match="too large for the Lipschitz constant"):
        RippledBowl(1, 1, 1.0, 1e6)


def test_separable_losses_by_hand():
    p = AWAY["huber"]
    x = torch.tensor([[0.1, -3.0, 0.5]], dtype=torch.float64)
    g = 1.6 / math.sqrt(3)
    heights = [0.85 * t * t if abs(t) <= g / 1.7 else g * abs(t) - g * g / 3.4 for t in x[0].tolist()]
    assert float(p.objective(x)) == pytest.approx(sum(heights))
    assert AWAY["quadratic"].curvatures.tolist() == pytest.approx([1.7, 1.05, 0.4])
    assert FederatedQuadratic(clients=1, dim=1, L=2.0).curvatures.tolist() == [2.0]
    assert FederatedQuadratic(clients=1, dim=2, L=2.0, mu=0.5).curvatures.tolist() == [2.0, 0.5]
    assert FederatedQuadratic(L=1.0, mu=1.0).mu == FederatedQuadratic(L=1.0, mu=0.0).L  # both ends of mu
    for mu in (-0.1, 1.1):
        with pytest.raises(ValueError, match=r"mu must be in \[0, L\]"):
            FederatedQuadratic(L=1.0, mu=mu)
    for family in (FederatedHuber, FederatedSines):
        for G in (0.5, math.inf, math.nan):
            with pytest.raises(ValueError, match="G must exceed Delta"):
                family(G=G, Delta=0.5)
    with pytest.raises(ValueError, match="Delta > 0 needs at least 3 clients, got 2"):
        FederatedHuber(clients=2, Delta=0.1)
    with pytest.raises(ValueError, match=r"wavenumber .* exceeds 1000"):
        FederatedSines(dim=1, L=1001.0, G=1.0)
    assert FederatedSines(dim=1, L=1000.0, G=1.0).wave.wavenumber == 1000.0


# --- sizes computed from data are rounded up to a grid ----------------------------------------------------------------


@given(st.floats(1e-12, 1e12))
def test_rounding_goes_up_by_little_and_keeps_the_order(size):
    found = rounded_up(size)
    assert size * (1 + 5e-13) < found <= size * (1 + 2e-10)
    assert rounded_up(math.nextafter(size, math.inf)) >= found


def test_last_bits_do_not_show():
    sizes = [math.sqrt(n) for n in range(2, 400)]
    assert all(rounded_up(size) == rounded_up(size * (1 + 1e-15)) == rounded_up(size * (1 - 1e-15)) for size in sizes)
    assert rounded_up(0.0) == 0.0


def test_constants_of_data_are_on_the_grid():
    found = FederatedLogistic().certificates
    for name in ("local_gradient_noise", "local_gradient_heterogeneity", "objective_gap"):
        mantissa, _ = math.frexp(float(found[name].value))
        assert math.ldexp(mantissa, 40).is_integer(), name
