"""Every registered problem, and others of its family, go through the public conformance suite: one line each, every check for each."""

from functools import cache

import pytest
import torch
from broken import GLANCE
from fedco.synthetic import PRESETS, problem, problems
from fedco.synthetic.conformance import inequalities, suite
from fedco.synthetic.conformance.inequalities import along_axes, atom_list, each_atom, mean_square, norm
from fedco.synthetic.conformance.kinds import get_kind
from fedco.synthetic.conformance.suite import Budget, ConformanceError, check_problem, with_scaled_certificate
from fedco.synthetic.families.auprc import AveragePrecision
from fedco.synthetic.families.bilevel import QuadraticLower
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
from fedco.synthetic.families.minimax import Saddle
from quick import slow_but

REPRESENTATIVES = {
    "feddro_heterogeneous", "feddro_without_h", "feddro_counterexample", "local_heterogeneous", "conditional_heterogeneous",
    "meta_noisy", "federated_homogeneous", "federated_heterogeneous", "federated_quadratic", "federated_strongly_convex",
    "federated_sines", "federated_breast_cancer", "maml_heterogeneous", "agnostic_maml", "kl_dro", "chi2_dro", "kl_dro_clients",
    "chi2_dro_clients", "fair_classifier", "average_precision", "invariant_logistic", "minimax_heterogeneous", "bilevel_heterogeneous",
}  # fmt: skip
"""What a quick run tries: of every family one, with all of its terms, and the two penalties of robust learning."""
ONE_PERCENT = 0.99
ONE_TRY = Budget(lanes=1, steps=1)
QUICK = Budget(lanes=12, steps=6)
THOROUGH = Budget(lanes=192, steps=45, seed=1)
made = cache(problem)
"""The certificates of an instance are computed once, for all tests: in none of them does an instance change."""


def exact_certificates(name):
    return [q for q, c in made(name).certificates.items() if c.kind == "exact" and c.value > 0]


def test_every_family_has_a_quick_problem():
    assert {PRESETS[name].family for name in REPRESENTATIVES} == {preset.family for preset in PRESETS.values()}


@pytest.mark.parametrize("name", slow_but(REPRESENTATIVES, problems()))
def test_problem_conforms(name):
    report = check_problem(made(name), QUICK)
    assert {check.name for check in report.checks} >= set(made(name).certificates)
    assert report.evaluations > 0


@pytest.mark.parametrize("name", slow_but(REPRESENTATIVES, problems()))
def test_every_exact_certificate_a_little_too_small_or_too_large_is_caught_by_its_stated_points(name):
    for quantity in exact_certificates(name):
        for factor in (ONE_PERCENT, 1.02):
            mutant = with_scaled_certificate(made(name), quantity, factor)
            with pytest.raises(ConformanceError, match=quantity):
                check_problem(mutant, ONE_TRY, quantities=(quantity,))


OF_X_ALONE = [
    name
    for name, preset in PRESETS.items()
    if preset.family.kind not in ("minimax", "bilevel") and hasattr(preset.family, "atoms")
]
OF_EACH_SAMPLE = {
    "feddro_heterogeneous",
    "local_heterogeneous",
    "meta_noisy",
    "federated_heterogeneous",
    "kl_dro",
    "chi2_dro_clients",
}


@pytest.mark.parametrize("name", slow_but(OF_EACH_SAMPLE, OF_X_ALONE))
def test_atoms_and_axes_beside_each_other_are_those_one_by_one(name, monkeypatch):
    """To the last bit: one call for many is faster, and finds the same."""
    instance = made(name)
    x = instance.to_clients(torch.linspace(-2, 3, 3 * instance.dim, dtype=torch.float64).reshape(3, -1))
    map_ = getattr(instance, "inner", getattr(instance, "local_gradient", None))
    product, size = getattr(instance, "local_hvp", None), instance.dim
    if instance.inner_dim and product is None:
        product, size = instance.inner_vjp, instance.inner_dim
    atoms = list(atom_list(instance))

    def in_calls():
        errors = each_atom(instance, lambda x, exact, atom: norm(map_(x, atom) - exact), x, map_(x))
        sizes, _ = each_atom(instance, lambda x, atom: norm(map_(x, atom)), x)
        found = [mean_square(*errors), sizes.amax(0)]
        samples = (None, atoms[0][0]) if product else ()
        return found + [torch.stack(along_axes(product, size, x, sample)) for sample in samples]

    together = in_calls()
    monkeypatch.setattr(inequalities, "TOGETHER", 1)
    expected = [
        sum(weight * norm(map_(x, atom) - map_(x)) ** 2 for atom, weight in atoms).sqrt(),
        torch.stack([norm(map_(x, atom)) for atom, _ in atoms]).amax(0),
    ]
    for sample in (None, atoms[0][0]) if product else ():
        axes = torch.eye(size, dtype=x.dtype)
        expected.append(torch.stack([product(x, axis.expand(*x.shape[:-1], size), sample) for axis in axes]))
    torch.testing.assert_close(together[0], expected[0], rtol=1e-14, atol=0)
    for one, other, plain in zip(together[1:], in_calls()[1:], expected[1:], strict=True):
        assert torch.equal(one, plain) and torch.equal(other, plain)


@pytest.mark.slow
@pytest.mark.parametrize("name", problems())
def test_every_exact_certificate_one_percent_too_small_is_caught_by_the_adversary_alone(name):
    for quantity in exact_certificates(name):
        mutant = with_scaled_certificate(made(name), quantity, ONE_PERCENT)
        with pytest.raises(ConformanceError, match=quantity):
            check_problem(mutant, Budget(lanes=24, steps=60), quantities=(quantity,), use_stated_points=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", problems())
def test_a_hundred_thousand_adversarial_pairs_find_no_violation(name):
    certificates = tuple(made(name).certificates)
    tried = check_problem(made(name), THOROUGH, quantities=certificates).evaluations
    assert tried >= 100_000


@pytest.mark.parametrize("name", ["feddro_homogeneous", "feddro_heterogeneous", "feddro_noisy"])
def test_presets_are_not_convex(name):
    """The Hessian has clearly negative eigenvalues at the start, and g_k and h_k bend both ways."""
    instance = made(name)
    hessian = torch.autograd.functional.hessian(lambda x: instance.objective(x[None])[0], instance.initial_point)
    assert torch.linalg.eigvalsh(hessian)[0] < -0.01


# --- away from the registered ones

DATA = dict(clients=3, samples=7, dim=4, shift=0.7, seed=2, start=2.5)
TABLE = dict(table="wine", clients=3, samples=6, dim=5, positives=0.4, shift=0.6, seed=1, start=1.5)
LOGISTIC = dict(loss="logistic", M=1.9)
LOWER_NOISE = {"sigma": 0.4, "sigma_y": 0.2, "sigma_g": 0.3}
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
    "meta, fine-tuned twice": Meta(clients=5, dim=4, alpha=0.3, nu=2, B=1.3, L=0.8, sigma_G=0.4, sigma_H=0.3, kurtosis=3, Delta=0.5,
        start=3.0),
    "quadratic": FederatedQuadratic(clients=4, dim=3, L=1.7, mu=0.4, sigma=0.6, kurtosis=3, Delta=0.7, start=2.0),
    "huber": FederatedHuber(clients=5, dim=3, L=1.7, G=2.3, sigma=0.6, kurtosis=2, Delta=0.7, start=2.0),
    "sines": FederatedSines(clients=3, dim=2, L=1.7, G=2.3, sigma=0.6, kurtosis=3, Delta=0.7, start=2.0),
    "strongly convex": FederatedStronglyConvex(clients=4, dim=3, L=1.7, mu=0.4, knee=0.6, sigma=0.6, Delta=0.7, start=2.0),
    "logistic": FederatedLogistic(**DATA, ridge=0.3),
    "invariance": InvariantLogistic(clients=3, points=5, dim=3, sigma_2=0.4, saturation=1.7, reg=0.3, gamma=2.2, shift=0.5, seed=4),
    "counterexample": FedAvgCounterexample(),
    "KL": RobustLoss(**DATA, M=1.6, weight=0.7),
    "KL of a table": RobustLoss(**TABLE, **LOGISTIC, weight=2.3),
    "chi-square": RobustLoss(**DATA, penalty="chi2", M=1.6, weight=2.3),
    "KL over clients": ClientKL(**DATA, M=1.6, gamma=0.7),
    "KL over clients, logistic": ClientKL(**TABLE, **LOGISTIC, gamma=2.3),
    "chi-square over clients": ClientChi2(**DATA, M=1.6, gamma=2.3),
    "chi-square over clients, logistic": ClientChi2(**TABLE, **LOGISTIC, gamma=2.3),
    "average precision": AveragePrecision(**TABLE, margin=1.3, saturation=0.4),
    "average precision with a wide margin": AveragePrecision(**TABLE, margin=3.0, saturation=0.4),
    "agnostic MAML": AgnosticMAML(clients=3, dim=4, lam=0.7, G=1.7, L_1=0.6, sigma_1=0.3, sigma_2=0.5, kurtosis=2, Delta=0.4,
        gamma=1.7, top=2.6),
    "MAML": FederatedMAML(clients=3, dim=4, lam=0.7, G=1.7, L_1=0.6, sigma_1=0.3, sigma_2=0.5, kurtosis=2, Delta=0.4, start=3.0),
    "two groups": FairClassifier(**{**TABLE, "table": "breast_cancer"}, rho=0.6, width=0.3),
    "three groups": FairClassifier(**{**TABLE, "samples": 8}, groups=3, rho=1.7, width=0.2, M=1.4),
    "logistic without a ridge": FederatedLogistic(**DATA),
    "logistic of a table": FederatedLogistic(**TABLE, ridge=0.3),
    "one sine": FederatedSines(clients=1, dim=1, G=0.7, L=2.5),
    "saddle": Saddle(clients=7, dim=3, a=0.3, b=0.8, mu=0.6, R=2.0, sigma=0.4, sigma_y=0.2, Delta=0.5, Delta_y=0.7),
    "saddle, convex, one client": Saddle(clients=1, dim=2, a=0.0, sigma=0.1, kurtosis=4),
    "saddle, a small box": Saddle(clients=3, dim=5, R=0.01, mu=2.0, Delta_y=3.0),
    "bilevel": QuadraticLower(clients=7, dim=3, Delta=0.5, Delta_y=0.7, Delta_g=0.4, a=0.3, r=0.7, c=0.8, mu=0.6, l=1.5, **LOWER_NOISE),
    "bilevel, curvatures differ": QuadraticLower(clients=6, dim=5, chi=1.5, Delta_g=0.4, mu=0.2, kurtosis=3, **LOWER_NOISE),
    "bilevel, convex, one client": QuadraticLower(clients=1, dim=2, a=0.0, sigma=0.1, kurtosis=4),
    "bilevel, one coordinate": QuadraticLower(clients=2, dim=1, mu=0.1, l=0.1),
    "bilevel, a weak lower level": QuadraticLower(c=1.0, mu=1e-3),
    "bilevel, a strong answer": QuadraticLower(c=100.0, mu=0.5),
}  # fmt: skip
"""Of every family some with no parameter at 1, and with terms left out, beside the registered ones."""


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
