"""Problems made of an nn.Module: every form's gradient by autograd, samples, data of unequal clients, and what is refused."""

import fedco
import pytest
import torch
from fedco.algorithms import ComFedL, Draws, FedDRO, LocalSCGDM, LocalSGD, MetaFL
from fedco.errors import InputError
from fedco.synthetic.models import from_model
from fedco.synthetic.models.base import ModelParts
from fedco.synthetic.models.data import ClientData
from fedco.synthetic.models.flat import FlatModel
from fedco.synthetic.models.precision import PrecisionModel
from fedco.synthetic.models.recognised import LinearGradient
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

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


@pytest.mark.parametrize("form", FORMS)
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


def test_the_objective_is_what_plain_torch_computes():
    problem = from_model(model(), functional.cross_entropy, PARTS, "kl_dro", weight=2.0)
    plain = model().double()
    per_client = [torch.exp(functional.cross_entropy(plain(a), b, reduction="none") / 2).mean() for a, b in PARTS]
    wanted = 2 * torch.log(torch.stack(per_client).mean())
    assert problem.objective(problem.initial_point[None])[0].item() == pytest.approx(wanted.item(), rel=1e-12)
    chi = from_model(model(), functional.cross_entropy, PARTS, "chi2_dro", weight=2.0)
    losses = [functional.cross_entropy(plain(a), b, reduction="none") for a, b in PARTS]
    mean = torch.stack([one.mean() for one in losses]).mean()
    second = torch.stack([(one**2).mean() for one in losses]).mean()
    assert chi.objective(chi.initial_point[None])[0].item() == pytest.approx(
        (mean + (second - mean**2) / 4).item(), rel=1e-12
    )


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


def test_samples_come_from_a_clients_own_rows_and_are_unbiased():
    problem = from_model(model(), functional.cross_entropy, PARTS)
    index = problem.sample(Draws(0, 40, 3).at(0), 500).index
    for k, size in enumerate(SIZES):
        counts = torch.bincount(index[:, k].flatten(), minlength=size).double()
        assert len(counts) == size and float((counts / counts.sum() - 1 / size).abs().max()) < 0.01


def test_loaders_datasets_and_pairs_are_the_same_data():
    sets = [TensorDataset(*pair) for pair in PARTS]
    loaders = [DataLoader(one, batch_size=2) for one in sets]
    problems = [from_model(model(), nn.CrossEntropyLoss(), data) for data in (PARTS, sets, loaders)]
    values = {float(problem.objective(problem.initial_point[None])) for problem in problems}
    assert len(values) == 1


def test_a_loss_of_ones_own_is_the_mean_over_examples():
    own = from_model(model(), lambda o, y: functional.cross_entropy(o, y), PARTS)
    known = from_model(model(), functional.cross_entropy, PARTS)
    point = known.initial_point[None]
    torch.testing.assert_close(own.objective(point), known.objective(point))
    squared = from_model(nn.Linear(6, 2), nn.MSELoss(), [(a, a[:, :2]) for a, _ in PARTS])
    assert squared.objective(squared.initial_point[None]).isfinite().all()


def test_the_surrogate_of_average_precision():
    data = ClientData.of([(a[:4], torch.tensor([1, 0, 1, 0])) for a, _ in PARTS])
    torch.manual_seed(1)
    scored = nn.Linear(6, 1)
    problem = PrecisionModel(ModelParts(FlatModel(scored, functional.mse_loss), data))
    scores = scored.double()(data.inputs)[..., 0]
    values = []
    for k in range(3):
        for plus in (0, 2):
            losses = (1 - scores[k, plus] + scores[k]).clamp_min(0) ** 2
            values.append(-losses[[0, 2]].sum() / losses.sum())
    x = problem.initial_point[None].clone().requires_grad_()
    assert problem.objective(x).item() == pytest.approx(torch.stack(values).mean().item(), rel=1e-9)
    (wanted,) = torch.autograd.grad(problem.objective(x).sum(), x)
    torch.testing.assert_close(problem.gradient(x.detach()), wanted)
    outer = problem.sample_outer(Draws(0, 2, 3).at(0), 2)
    inner = problem.sample_inner(Draws(0, 2, 3).at(0), outer, 3)
    at = x.detach().expand(2, 3, -1)
    chained = problem.inner_vjp(at, problem.outer_gradient(problem.inner(at, outer, inner), outer), outer, inner)
    torch.testing.assert_close(problem.sample_gradient(at, outer, inner), chained)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: from_model(model(), functional.cross_entropy, PARTS, "klm"), "wanted one of federated"),
        (lambda: from_model(model(), functional.cross_entropy, PARTS, lam=1.0), "form federated"),
        (lambda: from_model(model(), functional.cross_entropy, []), "at least one client"),
        (lambda: from_model(model(), functional.cross_entropy, [3]), "client 0"),
        (lambda: from_model(model(), functional.cross_entropy, [(PARTS[0][0], PARTS[0][1][:2])]), "as many targets"),
        (
            lambda: from_model(nn.Sequential(nn.Linear(6, 3), nn.BatchNorm1d(3)), functional.cross_entropy, PARTS),
            "eval",
        ),
        (
            lambda: from_model(nn.Sequential(nn.Linear(6, 3), nn.Dropout()), functional.cross_entropy, PARTS),
            "randomness",
        ),
        (lambda: from_model(nn.ReLU(), functional.cross_entropy, PARTS), "no parameter"),
        (lambda: from_model(model(), functional.cross_entropy, PARTS, start=torch.zeros(3)), "start"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_frozen_parameters_stay_what_they_are():
    frozen = model()
    frozen[0].requires_grad_(False)
    problem = from_model(frozen, functional.cross_entropy, PARTS)
    assert problem.dim == 4 * 3 + 3
    assert problem.objective(problem.initial_point[None]).isfinite().all()


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
