"""What is refused, and what is just allowed: the smallest sizes, both sides of each guard, parameters that contradict each other."""

import math

import pytest
from fedco.synthetic import Certificate
from fedco.synthetic.families.auprc import AveragePrecision
from fedco.synthetic.families.bilevel import QuadraticLower
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
from fedco.synthetic.families.minimax import Saddle
from fedco.synthetic.parts.blocks import Cosine, RadialPseudoHuber, Sine
from fedco.synthetic.parts.bowl import RippledBowl
from fedco.synthetic.parts.data import deal, generated
from fedco.synthetic.parts.inner_map import RippledMap
from fedco.synthetic.parts.noise import Kurtosis

# --- sizes

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


# --- numbers

CERTIFIED = dict(quantity="inner_noise", value=1.0, kind="upper", argument="proof")
EXACT = {**CERTIFIED, "kind": "exact", "witness": 0.99, "points": ((0.0,),)}
DATA = dict(clients=3, samples=8, dim=2, shift=0.5, noise=0.4, seed=0)
DEALT = dict(name="wine", clients=2, samples=4, dim=3, positives=0.5, shift=0.5, seed=0)
MAP = dict(clients=2, dim=4, inner_dim=2, lipschitz=1.5, smoothness=0.6, noise=0.4, heterogeneity=0.3, ripple=0.8)
BOWL = dict(clients=3, dim=4, lipschitz=1.3, smoothness=0.8)
NEITHER = "must be both zero or both positive"


@pytest.mark.parametrize(
    ("made", "allowed", "refused", "said"),
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
        (SharedComposite, {}, dict(B_h=1.0, L_h=0.0), "smoothness must be finite and positive"),
        (SharedComposite, {}, dict(B_f=0.0), "lipschitz must be finite and positive"),
        (SharedComposite, {}, dict(L_f=-1.0), "smoothness must be finite and positive"),
        (SharedComposite, {}, dict(target=math.inf), "target must be finite"),
        (SharedComposite, {}, dict(B_h=1.0, L_h=1.0, sigma_h=-1.0), "noise must be finite and at least 0"),
        (LocalComposite, {}, dict(C_g=0.1, sigma_g=0.2, delta_g=0.1), "C_g must exceed sigma_g"),
        (LocalComposite, {}, dict(sigma_g=0.2), "sigma_g and delta_g must be both zero or both positive"),
        (LocalComposite, {}, dict(spread=-1.0), "spread must be"),
        (LocalComposite, {}, dict(sigma_g=1e-3, delta_g=1e-9), "noise wavenumber"),
        (LocalComposite, {}, dict(start=math.nan), "start must be finite"),
        (Conditional, {}, dict(sigma_g=0.0), "sigma_g and jacobian_noise must be both zero or both positive"),
        (Conditional, {}, dict(Delta=5.0), "must exceed the heterogeneity"),
        (Meta, {}, dict(sigma_G=0.1), "sigma_G and sigma_H must be both zero or both positive"),
        (Meta, {}, dict(kurtosis=0), "kurtosis must be a positive integer"),
        (FederatedMAML, {}, dict(lam=-0.1), "lam must be finite and positive"),
        (FederatedMAML, {}, dict(sigma_2=0.0), "sigma_1 and sigma_2 must be both zero or both positive"),
        (FederatedQuadratic, {}, dict(L=0.0), "L must be finite and positive"),
        (FederatedHuber, {}, dict(sigma=-1.0), "sigma must be finite and at least 0"),
        (FederatedLogistic, {}, dict(table="iris"), "table must be one of"),
        (RobustLoss, {}, dict(weight=0.0), "weight must be"),
        (RobustLoss, {}, dict(M=-1.0), "M must be"),
        *((family, {}, dict(inner_dim=2), "inner_dim is 1") for family in (RobustLoss, ClientKL, ClientChi2, AgnosticMAML)),
        (ClientKL, {}, dict(gamma=0.0), "gamma must be"),
        (ClientKL, {}, dict(loss="hinge"), "loss must be one of"),
        (AgnosticMAML, {}, dict(top=0.0), "top must be"),
        (AgnosticMAML, {}, dict(Delta=2.0), "G must exceed Delta"),
        (FairClassifier, {}, dict(rho=0.0), "rho must be"),
        (FairClassifier, {}, dict(width=-1.0), "width must be"),
        (FairClassifier, {}, dict(groups=30), "each needs a positive row"),
        (FairClassifier, {}, dict(M=0.5), "must exceed log 2"),
        (Saddle, {}, {"mu": 0.0}, "mu"),
        (Saddle, {}, {"b": 0.0}, "b"),
        (Saddle, {}, {"R": -1.0}, "R"),
        (Saddle, {}, {"sigma_y": -1.0}, "sigma_y"),
        (Saddle, {}, {"Delta": 1.0, "clients": 2}, "at least 3 clients, got 2"),
        (Saddle, {}, {"kurtosis": 1.5}, "kurtosis"),
        (QuadraticLower, {}, {"mu": 0.0}, "mu"),
        (QuadraticLower, {}, {"mu": 2.0}, "mu must be at most l"),
        (QuadraticLower, {}, {"c": 0.0}, "c"),
        (QuadraticLower, {}, {"sigma_g": -1.0}, "sigma_g"),
        (QuadraticLower, {}, {"chi": 2.0}, "chi must be below 2"),
        (QuadraticLower, {}, {"chi": 0.5, "clients": 2}, "at least 3 clients, got 2"),
        (QuadraticLower, {}, {"kurtosis": 1.5}, "kurtosis"),
        *((family, {}, {name: wrong}, f"^{name} must be finite and positive, got") for family, name in
          ((FederatedQuadratic, "L"), (FederatedStronglyConvex, "knee")) for wrong in (0.0, -1e-300, math.inf, math.nan)),
        *((FederatedHuber, {name: 0.0}, {name: wrong}, f"^{name} must be finite and at least 0, got") for name in ("sigma", "start")
          for wrong in (-1e-300, math.inf, math.nan)),
        *((Meta, dict(sigma_G=0.1, sigma_H=0.1), {name: 0.0}, f"sigma_G and sigma_H {NEITHER}") for name in ("sigma_G", "sigma_H")),
        *((FederatedQuadratic, dict(L=1.0, mu=mu), dict(mu=wrong), r"mu must be in \[0, L\]") for mu, wrong in ((0.0, -0.1), (1.0, 1.1))),
        (FederatedStronglyConvex, dict(L=1.0), dict(mu=0.0), "mu"),
        (FederatedStronglyConvex, dict(L=1.0), dict(mu=2.0), "mu"),
        *((family, dict(G=0.6, Delta=0.5), dict(G=wrong), "G must exceed Delta") for family in (FederatedHuber, FederatedSines)
          for wrong in (0.5, math.inf, math.nan)),
        (FederatedHuber, dict(clients=3, Delta=0.1), dict(clients=2), "Delta > 0 needs at least 3 clients, got 2"),
        (FederatedSines, dict(dim=1, L=1000.0, G=1.0), dict(L=1001.0), r"wavenumber .* exceeds 1000"),
        # certificates that prove nothing
        (Certificate, CERTIFIED, dict(quantity="speed"), "not a quantity"),
        (Certificate, CERTIFIED, dict(quantity="clients"), "only constants of a problem are certified"),
        (Certificate, {**CERTIFIED, "value": 0.0}, dict(value=-1e-9), "at least 0"),
        *((Certificate, CERTIFIED, dict(value=wrong), "finite") for wrong in (math.nan, math.inf)),
        (Certificate, CERTIFIED, dict(kind="guess"), "kind must be in"),
        (Certificate, CERTIFIED, dict(argument=" "), "argument is missing"),
        *((Certificate, {**CERTIFIED, "witness": end}, dict(witness=beyond), "witness must be in")
          for end, beyond in ((0.0, -1e-9), (1.0, 1 + 1e-9))),
        *((Certificate, EXACT, wrong, "exact needs points") for wrong in (dict(witness=0.9899), dict(points=()), dict(witness=None))),
        (Certificate, {**CERTIFIED, "kind": "exact", "value": 0.0}, dict(value=1.0), "exact needs points"),  # nothing attains 0
        # parts of problems, and their data
        *((wave, dict(steepness=1.0, wavenumber=0.0), wrong, wave.__name__) for wave in (Sine, Cosine)
          for wrong in (dict(steepness=-1.0), dict(steepness=math.nan), dict(wavenumber=math.inf))),
        *((RadialPseudoHuber, dict(lipschitz=1.0, smoothness=1.0), wrong, "RadialPseudoHuber")
          for wrong in (dict(lipschitz=-1.0), dict(lipschitz=math.nan), dict(smoothness=math.inf))),
        *((RadialPseudoHuber, dict(lipschitz=0.0, smoothness=0.0), {name: 1.0}, NEITHER) for name in ("lipschitz", "smoothness")),
        (RippledMap, {**MAP, "heterogeneity": 0.0, "clients": 1}, dict(clients=0), "must be positive"),
        (RippledMap, MAP, dict(dim=0), "must be positive"),
        (RippledMap, MAP, dict(inner_dim=3), "must divide dim"),
        (RippledMap, MAP, dict(noise_wavenumber=0.0), "noise wavenumber"),
        (RippledMap, {**MAP, "noise_wavenumber": 1000.0}, dict(noise_wavenumber=1000.1), "noise wavenumber"),
        (RippledMap, MAP, dict(heterogeneity=1.5), "must exceed the heterogeneity"),
        (RippledMap, MAP, dict(lipschitz=math.inf), "must exceed the heterogeneity"),
        (RippledMap, MAP, dict(clients=1), "at least 2 clients"),
        (RippledMap, {**MAP, "ripple": 0.0}, dict(heterogeneity=0.0), "affine"),
        (RippledMap, MAP, dict(smoothness=1e6), "too large for ripple"),
        (RippledMap, MAP, dict(noise=-0.1), "inner map: noise must be"),
        (RippledBowl, BOWL, dict(noise_wavenumber=0.0), r"bowl: the noise wavenumber must be in \(0, 1000"),
        *((RippledBowl, {**BOWL, "noise_wavenumber": 1000.0}, dict(noise_wavenumber=wrong), "bowl: the noise wavenumber")
          for wrong in (1000.1, math.nan)),
        (RippledBowl, {**BOWL, "heterogeneity": 0.1}, dict(clients=1), "heterogeneity needs at least 2 clients, got 1"),
        (RippledBowl, {**BOWL, "clients": 1}, dict(smoothness=1e6), "too large for the Lipschitz constant"),
        *((Kurtosis, dict(k=1), dict(k=wrong), "kurtosis must be a positive integer") for wrong in (0, -1, 2.0, None)),
        *((generated, {**DATA, name: end}, {name: beyond}, "data: need 0 <= shift <= 1, noise >= 0 and positive sizes")
          for name, end, beyond in (("clients", 1, 0), ("samples", 1, 0), ("dim", 1, 0), ("shift", 0.0, -0.1), ("shift", 1.0, 1.1),
                                    ("noise", 0.0, -0.1))),
        (deal, DEALT, dict(name="iris"), "table must be one of"),
        *((deal, {**DEALT, "dim": end}, dict(dim=beyond), r"dim must be in \[2, 13\]") for end, beyond in ((2, 1), (13, 14))),
        (deal, {**DEALT, "clients": 4, "samples": 24}, dict(clients=7, samples=14), "has 48 rows of one class"),
        *((deal, {**DEALT, name: end}, {name: beyond}, "need 0 < positives < 1 and 0 <= shift <= 1")
          for name, end, beyond in (("shift", 0.0, -0.1), ("positives", 0.01, 0.0), ("positives", 0.5, 1.0), ("shift", 1.0, 1.1))),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_a_guard_lets_in_what_is_just_allowed(made, allowed, refused, said):
    made(**allowed)
    with pytest.raises(ValueError, match=said):
        made(**{**allowed, **refused})
