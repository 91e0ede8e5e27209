"""Problems made of a module, by plain torch and loops: clients of 3, 5 and 4 examples, samples, fine-tuning, what is deployed."""

import math
from dataclasses import replace

import pytest
import torch
from fedco.errors import InputError
from fedco.synthetic import Certificate
from fedco.synthetic.kinds import InnerSample, OuterSample
from fedco.synthetic.models import flat, from_model
from fedco.synthetic.models.base import ModelParts
from fedco.synthetic.models.data import ClientData, as_double, collect
from fedco.synthetic.models.flat import FlatModel
from fedco.synthetic.models.forms import finite_level
from fedco.synthetic.models.precision import PrecisionModel
from fedco.synthetic.models.recognised import LinearGradient
from fedco.synthetic.parts.noise import IndexSample, PairSample
from sine_model import Wave, squared
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

GENERATOR = torch.Generator().manual_seed(8)
SIZES = (3, 5, 4)
PARTS = [
    (
        torch.randn(n, 2, generator=GENERATOR, dtype=torch.float64),
        torch.randn(n, 1, generator=GENERATOR, dtype=torch.float64),
    )
    for n in SIZES
]
TEST = [(inputs + 0.5, targets - 0.25) for inputs, targets in PARTS]


def made(form="federated", **options):
    return from_model(Wave(), squared, PARTS, form, test_loaders=TEST, **options)


X = torch.tensor(
    [[[0.7, -0.4, 0.3], [0.1, 0.9, -0.2], [-0.5, 0.2, 0.8]]], dtype=torch.float64
)  # one model for each client
V = torch.tensor([[[1.0, -2.0, 0.5], [0.3, 0.4, 0.1], [2.0, 0.0, -1.0]]], dtype=torch.float64)
FIRST = torch.tensor([[[0, 2], [4, 4], [3, 0]]])
SECOND = torch.tensor([[[1, 1], [0, 3], [2, 1]]])


def loss(k, rows=None, u=lambda v: v, parts=PARTS):
    """The mean over all rows of client k, or over these, of u of the losses."""
    inputs, targets = parts[k]
    chosen = range(len(inputs)) if rows is None else rows[0, k].tolist()
    return lambda x: torch.stack(
        [u((torch.sin(inputs[i] @ x[:2] + x[2]) - targets[i, 0]) ** 2 + 0.1) for i in chosen]
    ).mean()


def grad(f, x):
    return torch.autograd.functional.jacobian(f, x)


def per_client(of):
    return torch.stack([of(k, X[0, k]) for k in range(3)]).unsqueeze(0)


def same(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("rows", "sample"), [(None, None), (FIRST, IndexSample(FIRST))])
def test_local_losses_with_and_without_a_sample(rows, sample):
    for problem in (made(), made("meta", alpha=0.3, nu=2)):
        same(problem.local_value(X), per_client(lambda k, x: loss(k)(x)))
        same(problem.local_gradient(X, sample), per_client(lambda k, x: grad(loss(k, rows), x)))
        wanted = per_client(lambda k, x: torch.autograd.functional.hessian(loss(k, rows), x) @ V[0, k])
        same(problem.local_hvp(X, V, sample), wanted)


@pytest.mark.parametrize(("rows", "sample"), [(None, None), (FIRST, IndexSample(FIRST))])
def test_robust_forms_with_and_without_a_sample(rows, sample):
    y, v = torch.tensor([[[0.4], [1.7], [2.9]]], dtype=torch.float64), torch.tensor([[[2.0], [-1.0], [0.5]]]).double()
    kl, chi, clients = (
        made("kl_dro", weight=1.7),
        made("chi2_dro", weight=2.3),
        made("kl_clients", gamma=1.3, level=0.4),
    )

    def u(losses):
        return torch.exp(losses / 1.7)

    same(kl.inner(X, sample), per_client(lambda k, x: loss(k, rows, u)(x).view(1)))
    same(kl.inner_vjp(X, v, sample), per_client(lambda k, x: grad(loss(k, rows, u), x)) * v)
    wanted = [1.7 * (0.4 - 1), 1.7 * math.log(1.7), 1.7 * math.log(2.9)]  # linear below 1
    same(kl.outer(y), torch.tensor([wanted], dtype=torch.float64))
    same(kl.outer_gradient(y), torch.tensor([[[1.7], [1.0], [1.7 / 2.9]]], dtype=torch.float64))
    assert kl.extra_gradient(X, sample) is None and not kl.extra(X).any() and kl.extra(X).shape == (1, 3)

    def h(losses):
        return losses + losses**2 / (2 * 2.3)

    same(chi.inner(X, sample), per_client(lambda k, x: loss(k, rows)(x).view(1)))
    same(chi.outer(y), -(y[..., 0] ** 2) / 4.6)
    same(chi.outer_gradient(y), -y / 2.3)
    same(chi.extra(X), per_client(lambda k, x: loss(k, None, h)(x)))
    same(chi.extra_gradient(X, sample), per_client(lambda k, x: grad(loss(k, rows, h), x)))
    same(clients.inner_vjp(X, v, sample), per_client(lambda k, x: grad(loss(k, rows), x)) * v)
    same(clients.outer(y), torch.exp((y[..., 0] - 0.4) / 1.3))
    same(clients.outer_gradient(y), torch.exp((y - 0.4) / 1.3) / 1.3)


@pytest.mark.parametrize(("one", "two", "sample"), [(None, None, None), (FIRST, SECOND, PairSample(FIRST, SECOND))])
def test_fine_tuned_forms_take_one_batch_to_tune_and_another_to_judge(one, two, sample):
    maml, agnostic = made("maml", lam=0.3), made("agnostic_maml", lam=0.3, gamma=1.3, level=0.4)

    def tuned(k, x):
        return x - 0.3 * torch.func.grad(loss(k, one))(x)

    same(maml.inner(X, sample), per_client(lambda k, x: x - 0.3 * grad(loss(k, one), x)))
    wanted = per_client(lambda k, x: V[0, k] - 0.3 * torch.autograd.functional.hessian(loss(k, one), x) @ V[0, k])
    same(maml.inner_vjp(X, V, sample), wanted)
    same(maml.outer(X), per_client(lambda k, x: loss(k)(x)))
    same(maml.outer_gradient(X, sample), per_client(lambda k, x: grad(loss(k, two), x)))
    judged = per_client(lambda k, x: loss(k, two)(tuned(k, x)).view(1))
    same(agnostic.inner(X, sample), judged)
    v = torch.tensor([[[2.0], [-1.0], [0.5]]]).double()
    wanted = per_client(lambda k, x: torch.func.grad(lambda at: loss(k, two)(tuned(k, at)))(x)) * v
    same(agnostic.inner_vjp(X, v, sample), wanted)


class Uniform:
    """The same numbers for every client and purpose, but for a shift by its name."""

    def uniform(self, purpose, *tail):
        first = torch.linspace(0.001, 0.999, math.prod(tail), dtype=torch.float64)
        return (
            (first if purpose.endswith((".tune", "sample", "inner")) else first.flip(0))
            .view(1, 1, *tail)
            .expand(1, 3, *tail)
        )


def test_samples_are_positions_of_a_clients_own_examples():
    index = made().sample(Uniform(), 60).index
    assert [index[0, k].unique().tolist() for k in range(3)] == [[*range(n)] for n in SIZES]
    assert [torch.bincount(index[0, k]).tolist() for k in range(3)] == [[60 // n] * n for n in SIZES]
    pair = made("maml").sample(Uniform(), 60)
    assert torch.equal(pair.index, index) and torch.equal(pair.second, index.flip(-1))
    data = made().parts.train
    ends = torch.tensor([0.0, 1.0 - 2.0**-53], dtype=torch.float64).expand(1, 3, 2)
    assert data.positions(ends).tolist() == [[[0, 2], [0, 4], [0, 3]]]
    with pytest.raises(ValueError, match="as many examples at every client"):
        made().atoms()
    equal = from_model(Wave(), squared, [(a[:3], b[:3]) for a, b in PARTS])
    atoms, weights = equal.atoms()
    assert atoms.index.tolist() == [[[0, 1, 2]] * 3] and weights.tolist() == pytest.approx([1 / 3] * 3)


def test_what_is_deployed_is_fine_tuned_on_all_data_of_a_client():
    x = X[:, 0]

    def steps(k, rate, count):
        at = x[0]
        for _ in range(count):
            at = at - rate * grad(loss(k), at)
        return at

    forms = [
        ("federated", {}, 0.0, 0),
        ("federated", {"tune_steps": 2, "tune_rate": 0.3}, 0.3, 2),
        ("maml", {"lam": 0.3}, 0.3, 1),
        ("agnostic_maml", {"lam": 0.2}, 0.2, 1),
        ("meta", {"alpha": 0.1, "nu": 3}, 0.1, 3),
        ("kl_dro", {}, 0.0, 0),
    ]
    for form, options, rate, count in forms:
        problem = made(form, **options)
        own = [steps(k, rate, count) for k in range(3)]
        same(problem.deployed(x)[0], torch.stack(own))
        for split, parts in (("train", PARTS), ("test", TEST)):
            values = torch.stack([loss(k, parts=parts)(at) for k, at in enumerate(own)])
            same(problem.data_loss(x, split), values.mean().view(1))
            found = problem.predict(x, split)
            for k, (at, (inputs, _)) in enumerate(zip(own, parts, strict=True)):
                same(found.scores[0, k, : SIZES[k], 0], torch.sin(inputs @ at[:2] + at[2]))
            assert found.weights.tolist() == [[1.0] * n + [0.0] * (5 - n) for n in SIZES]
    assert made().has_test_data and not from_model(Wave(), squared, PARTS).has_test_data
    for split, problem in (("test", from_model(Wave(), squared, PARTS)), ("other", made())):
        with pytest.raises(ValueError, match=f"model has no {split} data"):
            problem.predict(x, split)


@pytest.mark.parametrize(
    ("form", "kind", "inner", "more"),
    [
        ("federated", "federated", 0, set()),
        ("meta", "meta", 0, set()),
        ("maml", "local_composite", 3, set()),
        ("kl_clients", "local_composite", 1, {"equal_outer_functions", "one_outer_function"}),
        ("agnostic_maml", "local_composite", 1, {"equal_outer_functions", "one_outer_function"}),
        ("kl_dro", "shared_composite", 1, {"no_extra_term"}),
        ("chi2_dro", "shared_composite", 1, set()),
    ],
)
def test_what_a_form_says_of_itself(form, kind, inner, more):
    problem = made(form, **({"gamma": 1.3} if form in ("kl_clients", "agnostic_maml") else {}))
    assert (problem.kind, problem.clients, problem.dim, problem.inner_dim, problem.name) == (kind, 3, 3, inner, "model")
    assert problem.properties == {"independent_clients"} | more and not problem.certified and not problem.certificates
    if inner:
        assert problem.inner(X).shape == (1, 3, inner) and problem.outer(problem.inner(X)).shape == (1, 3)
        assert problem.inner_vjp(X, problem.inner(X)).shape == X.shape
    known = {kind: {"L": Certificate("local_smoothness", 1.0, kind, "proof")} for kind in ("upper", "estimated")}
    for constants, certified in ((known["upper"], True), (known["estimated"], False)):
        carrying = replace(problem, parts=replace(problem.parts, constants=constants))
        assert carrying.certified is certified and carrying.certificates is constants
    both = {"M": known["estimated"]["L"], **known["upper"]}
    assert not replace(problem, parts=replace(problem.parts, constants=both)).certified


def test_filling_has_no_weight():
    data = made().parts.train
    assert (data.clients, data.most, data.counts.tolist()) == (3, 5, [3, 5, 4])
    assert data.weights.tolist() == [[1 / 3] * 3 + [0] * 2, [1 / 5] * 5, [1 / 4] * 4 + [0]]
    assert torch.equal(data.inputs[0, 3:], PARTS[0][0][:1].expand(2, -1)) and data.inputs.shape == (3, 5, 2)
    inputs, targets, weights = data.rows(FIRST)
    assert weights.tolist() == [[[0.5, 0.5]] * 3] and torch.equal(inputs[0, 1, 0], PARTS[1][0][4])
    assert torch.equal(targets[0, 2], PARTS[2][1][[3, 0]])
    assert as_double(torch.zeros(1, dtype=torch.float16)).dtype == torch.float64
    assert as_double(torch.zeros(1, dtype=torch.int32)).dtype == torch.int32


def test_data_that_do_not_fit_are_named():
    one = torch.zeros(2, 3)
    for parts, said in (
        ([], "wanted at least one client, got none"),
        ([(one, one[:1])], "client 0: wanted as many targets as inputs, at least one, got 2 and 1"),
        ([(one[:0], one[:0])], "client 0: wanted as many targets as inputs, at least one, got 0 and 0"),
        ([(one, one), (one[:, :2], one)], r"client 1: wanted inputs of the shape \(3,\) of client 0, got \(2,\)"),
        ([(one, one), (one, one[:, :2])], r"client 1: wanted targets of the shape \(3,\) of client 0, got \(2,\)"),
    ):
        with pytest.raises(InputError, match=said):
            ClientData.of(parts)
    for loaders, said in (
        ([3], "client 0: wanted a DataLoader, a Dataset of .input, target., or a pair of tensors, got int"),
        ([(one, one), [[1, 2, 3]]], "client 1: wanted a DataLoader"),
        ([[]], "client 0: has no data"),
    ):
        with pytest.raises(InputError, match=said):
            collect(loaders)
    pair = (one + torch.arange(2).unsqueeze(1), one)
    kinds = (
        pair,
        TensorDataset(*pair),
        DataLoader(TensorDataset(*pair), batch_size=2),
        list(TensorDataset(*pair)),
        list(pair),
    )
    for kind in kinds:
        assert torch.equal(collect([kind]).inputs[0], pair[0].double())


def test_lanes_in_parts_are_the_lanes_of_a_whole(monkeypatch):
    """Six lanes, however few fit: the same numbers, to rounding."""
    problem = made()
    x = X.repeat(2, 1, 1) + torch.arange(2).view(2, 1, 1)
    whole = problem.local_gradient(x)
    for most in (200, 1):
        monkeypatch.setattr(flat, "MOST_NUMBERS", most)
        same(problem.local_gradient(x), whole)


def test_losses_in_one_call_are_those_one_by_one():
    outputs = torch.randn(4, 3, generator=GENERATOR, dtype=torch.float64)
    classes = torch.tensor([0, 2, 1, 1])
    cases = [
        (functional.cross_entropy, classes, True),
        (nn.CrossEntropyLoss(), classes, True),
        (nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0]).double()), classes, False),
        (nn.CrossEntropyLoss(reduction="sum"), classes, False),
        (nn.MSELoss(), outputs.flip(0), True),
        (functional.mse_loss, outputs.flip(0), True),
        (lambda o, y: functional.mse_loss(o, y), outputs.flip(0), False),
        (type("Mine", (nn.MSELoss,), {"__module__": "elsewhere"})(), outputs.flip(0), False),
    ]
    for loss_, targets, at_once in cases:
        model = FlatModel(nn.Linear(3, 3, bias=False).double(), loss_)
        assert (model.at_once is not None) is at_once
        eye = torch.eye(3, dtype=torch.float64).flatten()
        wanted = torch.stack([loss_(outputs[i : i + 1], targets[i : i + 1]) for i in range(4)])
        same(model.examples(eye, outputs, targets), wanted)


def test_what_is_fixed_and_what_is_refused():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)
            self.frozen = nn.Parameter(torch.tensor([3.0]), requires_grad=False)
            self.register_buffer("shift", torch.tensor([0.5]))

        def forward(self, a):
            return self.frozen * self.layer(a) + self.shift

    model = FlatModel(Scaled(), squared)
    x, inputs = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    assert model.dim == 3 and model.outputs(x, inputs).tolist() == [[3 * (1 - 2 + 3) + 0.5]]
    start = torch.cat([p.detach().double().flatten() for p in model.model.layer.parameters()])
    assert torch.equal(model.start, start)
    norm, drop = nn.BatchNorm1d(3), nn.Dropout(0.5)
    for part, said in ((norm, "whose loss is a mean over examples"), (drop, "without randomness")):
        with pytest.raises(InputError, match=f"1: wanted a model {said}"):
            FlatModel(nn.Sequential(nn.Linear(2, 3), part), squared)
        FlatModel(nn.Sequential(nn.Linear(2, 3), part).eval(), squared)
    with pytest.raises(InputError, match="mean over examples"):
        FlatModel(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, track_running_stats=False)).eval(), squared)
    FlatModel(nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.0)), squared)
    begun = from_model(Wave(), squared, PARTS, start=x)
    assert begun.initial_point is x and finite_level(begun.parts) == float(begun.local_value(x.expand(1, 3, -1)).max())
    endless = ModelParts(FlatModel(Wave(), lambda o, y: 1e308 * 10 * (1 + (o - y).square().mean())), begun.parts.train)
    assert finite_level(endless) == 0.0


def precision():
    labels = [torch.tensor(row) for row in ([0, 1, 1], [1, 0, 0, 0, 1], [0, 1, 0, 1])]
    data = ClientData.of([(inputs, each) for (inputs, _), each in zip(PARTS, labels, strict=True)])
    return PrecisionModel(ModelParts(FlatModel(nn.Linear(2, 1).double(), functional.mse_loss), data), margin=0.7)


def test_average_precision_of_a_model_at_a_sample():
    problem = precision()
    positives = [[1, 2], [0, 4], [1, 3]]
    assert problem.positives.tolist() == positives
    outer = OuterSample(torch.tensor([[[1], [0], [1]]]))
    inner = InnerSample(torch.tensor([[[[0, 2]], [[3, 4]], [[0, 1]]]]))
    v = torch.tensor([[[[2.0, -1.0]]] * 3], dtype=torch.float64)

    def u(k, partners):
        own, labels = PARTS[k][0][positives[k][outer.outcome[0, k, 0]]], problem.parts.train.targets[k]

        def of(x):
            rows = torch.stack([(0.7 - own @ x[:2] + PARTS[k][0][i] @ x[:2]).clamp_min(0) ** 2 for i in partners])
            return torch.stack([(rows * labels[torch.tensor(partners)]).mean(), rows.mean()])

        return of

    values = per_client(lambda k, x: u(k, inner.eta[0, k, 0].tolist())(x)).unsqueeze(2)
    same(problem.inner(X, outer, inner), values)
    jacobians = per_client(lambda k, x: grad(u(k, inner.eta[0, k, 0].tolist()), x)).unsqueeze(2)
    same(problem.inner_vjp(X, v, outer, inner), torch.einsum("rkbi,rkbij->rkbj", v, jacobians))
    below = values[..., 1] + 1e-12
    same(problem.outer_value(values, outer), -values[..., 0] / below)
    slope = torch.stack([-1 / below, values[..., 0] / below**2], dim=-1)
    same(problem.outer_gradient(values, outer), slope)
    same(problem.sample_gradient(X, outer, inner), torch.einsum("rkbi,rkbij->rkbj", slope, jacobians))
    tiny = torch.tensor([[[[0.0, 0.0], [1e-12, 1e-12]]] * 3], dtype=torch.float64)  # without losses the ratio is 0
    assert problem.inner_dim == 2 and problem.outer_value(tiny, outer)[0, 0].tolist() == pytest.approx([0.0, -0.5])
    wanted = [[-1e12, 0.0], [-0.5e12, 0.25e12]]
    assert problem.outer_gradient(tiny, outer)[0, 0].tolist() == [pytest.approx(row) for row in wanted]
    drawn = problem.sample_inner(Uniform(), OuterSample(torch.zeros(1, 3, 2, dtype=torch.int64)), 30, "inner").eta
    assert [torch.bincount(drawn[0, k].flatten()).tolist() for k in range(3)] == [[20] * 3, [12] * 5, [15] * 4]
    atoms, weights = problem.outer_atoms()
    assert atoms.outcome.tolist() == [[[0, 1]] * 3] and weights.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match=r"as many examples at every client, got \[3, 5, 4\]"):
        problem.inner_atoms(outer)
    exact = per_client(lambda k, x: u(k, list(range(SIZES[k])))(x)).unsqueeze(2)  # filling has no weight
    same(problem.inner(X, outer), exact)
    found = problem.predict(X[:, 0])
    assert found.labels.tolist()[1] == [1, 0, 0, 0, 1] and found.weights.sum(1).tolist() == [3, 5, 4]
    for labels in ([[1, 1, 0], [1, 0, 0]], [[0, 0], [0, 0]]):
        data = ClientData.of([(torch.zeros(len(each), 2), torch.tensor(each)) for each in labels])
        with pytest.raises(ValueError, match="positive examples: wanted as many at every client, got"):
            PrecisionModel(ModelParts(FlatModel(nn.Linear(2, 1), functional.mse_loss), data))


# --- classes of three: float types, buffers, losses that were changed, and one linear layer in closed form


ROWS = [
    (torch.randn(n, 6, generator=GENERATOR, dtype=torch.float64), torch.randint(3, (n,), generator=GENERATOR))
    for n in (5, 9, 4)
]


def model(dtype=torch.float32) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_any_float_type_is_computed_in_float64(dtype):
    problem = from_model(model(dtype), functional.cross_entropy, [(a.to(dtype), b) for a, b in ROWS])
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
    problem = from_model(Shifted(), functional.cross_entropy, ROWS)
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
    problem = from_model(plain, change(nn.MSELoss()), [(a, a[:, :3]) for a, _ in ROWS])
    wanted = [(plain(a) - a[:, :3]).square().mean(-1).square().mean() for a, _ in ROWS]
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
    parts = from_model(layer, loss, [(a.view(-1, 2, 3), targets(len(a))) for a, _ in ROWS]).parts
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
    assert LinearGradient.of(from_model(model(), functional.cross_entropy, ROWS).parts) is None
    assert (
        LinearGradient.of(from_model(nn.Linear(6, 3), lambda o, y: functional.cross_entropy(o, y), ROWS).parts) is None
    )
