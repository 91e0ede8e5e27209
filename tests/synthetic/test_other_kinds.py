"""Local, conditional and meta families, and MAML: exact identities, and bits in any batch."""

import pytest
import torch
from fedco.synthetic import problem
from fedco.synthetic.conformance.oracle_checks import SeededDraws
from fedco.synthetic.families.bowls import FederatedMAML
from fedco.synthetic.families.composite import LocalComposite


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
