"""Problems made of an nn.Module: every form's gradient by autograd, samples, data of unequal clients, and what is refused."""

import fedco
import pytest
import torch
from fedco.algorithms import ComFedL, FedDRO, LocalSCGDM, LocalSGD, MetaFL
from fedco.synthetic.models import from_model
from fedco.synthetic.models.recognised import LinearGradient
from quick import slow_but
from torch import nn
from torch.nn import functional

GENERATOR = torch.Generator().manual_seed(0)
SIZES = (5, 9, 4)
PARTS = [
    (torch.randn(n, 6, generator=GENERATOR, dtype=torch.float64), torch.randint(3, (n,), generator=GENERATOR))
    for n in SIZES
]
FORMS = {
    "federated": ({}, LocalSGD(eta=0.1, tau=2, b=3)),
    "kl_clients": ({"gamma": 0.5, "level": 1.0}, ComFedL(eta=0.1, tau=2, b=3, problem_form="special")),
    "kl_dro": ({"weight": 2.0}, FedDRO(eta=0.1, beta=0.2, I=2, b=3)),
    "chi2_dro": ({"weight": 2.0}, FedDRO(eta=0.1, beta=0.2, I=2, b=3)),
    "maml": ({"lam": 0.1}, LocalSCGDM(eta=0.1, alpha=1.0, beta=1.0, gamma=1.0, p=2, b=3)),
    "agnostic_maml": ({"lam": 0.1, "gamma": 0.5, "level": 1.2}, ComFedL(eta=0.1, tau=2, b=3, problem_form="special")),
    "meta": ({"alpha": 0.1, "nu": 2}, MetaFL(beta=0.1, tau=2, D=3)),
}


def model(dtype=torch.float32) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3)).to(dtype)


@pytest.mark.parametrize("form", slow_but({"federated", "chi2_dro", "agnostic_maml"}, FORMS))
def test_each_form_has_the_gradient_of_its_objective_and_its_methods_descend(form):
    options, method = FORMS[form]
    generator = torch.Generator().manual_seed(1)
    problem = from_model(model(), functional.cross_entropy, PARTS, form, test_loaders=PARTS, **options)
    x = (
        problem.initial_point + 0.3 * torch.randn(2, problem.dim, generator=generator, dtype=torch.float64)
    ).requires_grad_()
    (wanted,) = torch.autograd.grad(problem.objective(x).sum(), x)
    torch.testing.assert_close(problem.gradient(x.detach()), wanted, rtol=1e-9, atol=1e-12)
    done = fedco.run(method, problem, T=20, seeds=2, metrics=["objective", "accuracy", "train_loss", "test_loss"])
    assert (done.final("objective") < done.table.values["objective"][:, :, 0]).all()
    assert (done.final("train_loss") == done.final("test_loss")).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_any_float_type_is_computed_in_float64(dtype):
    problem = from_model(model(dtype), functional.cross_entropy, [(a.to(dtype), b) for a, b in PARTS])
    assert (
        problem.initial_point.dtype == torch.float64
        and problem.gradient(problem.initial_point[None]).dtype == torch.float64
    )
    assert next(problem.parts.flat.model.parameters()).dtype == dtype  # the module itself is left alone


class Shifted(nn.Module):
    """A linear layer and a buffer of its own."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 3)
        self.register_buffer("shift", torch.tensor([0.5, -1.0, 2.0]))

    def forward(self, x):
        return self.inner(x) + self.shift


def test_the_first_thing_that_is_asked_may_be_a_hessian():
    """A buffer of float32 was made float64 within its two gradients, and could not be used after them."""
    problem = from_model(Shifted(), functional.cross_entropy, PARTS)
    point = problem.to_clients(problem.initial_point[None])
    first = problem.local_hvp(point, point)
    assert torch.equal(problem.local_hvp(point, point), first)


def squaring_hook(loss):
    loss.register_forward_hook(lambda _, given, output: output.square())
    return loss


def squaring_forward(loss):
    loss.forward = lambda outputs, targets: functional.mse_loss(outputs, targets).square()
    return loss


@pytest.mark.parametrize("change", [squaring_hook, squaring_forward])
def test_a_loss_that_was_changed_is_taken_of_one_example_at_a_time(change):
    """The losses of a batch are asked of torch before the mean over the three numbers of an example: a hook then sees these."""
    torch.manual_seed(0)
    plain = nn.Linear(6, 3).double()
    problem = from_model(plain, change(nn.MSELoss()), [(a, a[:, :3]) for a, _ in PARTS])
    wanted = [(plain(a) - a[:, :3]).square().mean(-1).square().mean() for a, _ in PARTS]
    found = problem.objective(problem.initial_point[None]).item()
    assert found == pytest.approx(torch.stack(wanted).mean().item(), rel=1e-12)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("loss", "outputs", "targets"),
    [
        (functional.cross_entropy, 3, lambda n: torch.arange(n) % 3),
        (nn.CrossEntropyLoss, 3, lambda n: torch.rand(n, 3, dtype=torch.float64).softmax(-1)),
        (functional.binary_cross_entropy_with_logits, 1, lambda n: torch.rand(n, 1, dtype=torch.float64)),
        (nn.MSELoss(), 2, lambda n: torch.randn(n, 2, dtype=torch.float64)),
    ],
)
def test_one_linear_layer_has_the_gradient_of_autograd_in_closed_form(loss, outputs, targets, bias, monkeypatch):
    """With and without a sample, for many runs in parts as well."""
    layer = nn.Sequential(nn.Flatten(), nn.Linear(6, outputs, bias=bias))
    parts = from_model(layer, loss, [(a.view(-1, 2, 3), targets(len(a))) for a, _ in PARTS]).parts
    closed = LinearGradient.of(parts)
    assert closed is not None
    x = torch.randn(5, 3, parts.flat.dim, dtype=torch.float64)
    for index in (None, torch.randint(4, (5, 3, 2))):
        rows = parts.train.rows(index)
        wanted = parts.flat.gradient(x, rows)
        torch.testing.assert_close(parts.gradient(x, index), wanted, rtol=1e-10, atol=1e-12)
        monkeypatch.setattr("fedco.synthetic.models.recognised.MOST_NUMBERS", 1)
        torch.testing.assert_close(closed(x, rows), wanted, rtol=1e-10, atol=1e-12)


def test_what_is_not_recognised_has_autograd():
    assert LinearGradient.of(from_model(model(), functional.cross_entropy, PARTS).parts) is None
    assert (
        LinearGradient.of(from_model(nn.Linear(6, 3), lambda o, y: functional.cross_entropy(o, y), PARTS).parts) is None
    )
