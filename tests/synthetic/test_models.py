"""Problems made of a module: by plain torch and loops, and from what a user's `build` returns; what it must not return is refused."""

import math
import re
from dataclasses import replace

import fedco
import pytest
import torch
from fedco.errors import InputError
from fedco.synthetic import Certificate
from fedco.synthetic.kinds import InnerSample, OuterSample
from fedco.synthetic.models import FORMS, flat, from_description, from_model
from fedco.synthetic.models.base import ModelParts
from fedco.synthetic.models.data import ClientData, as_double
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


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.frozen = nn.Parameter(torch.tensor([3.0]), requires_grad=False)
        self.register_buffer("shift", torch.tensor([0.5]))

    def forward(self, a):
        return self.frozen * self.layer(a) + self.shift


def test_what_is_trained_and_where_a_model_starts():
    model = FlatModel(Scaled(), squared)
    x, inputs = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    assert model.dim == 3 and model.outputs(x, inputs).tolist() == [[3 * (1 - 2 + 3) + 0.5]]
    start = torch.cat([p.detach().double().flatten() for p in model.model.layer.parameters()])
    assert torch.equal(model.start, start)
    begun = from_model(Wave(), squared, PARTS, start=x)
    assert begun.initial_point is x and finite_level(begun.parts) == float(begun.local_value(x.expand(1, 3, -1)).max())
    endless = ModelParts(FlatModel(Wave(), lambda o, y: 1e308 * 10 * (1 + (o - y).square().mean())), begun.parts.train)
    assert finite_level(endless) == 0.0


# --- classes of three: float types, buffers, losses that were changed, and one linear layer in closed form


CLASSES = [
    (torch.randn(n, 6, generator=GENERATOR, dtype=torch.float64), torch.randint(3, (n,), generator=GENERATOR))
    for n in (5, 9, 4)
]


def model(dtype=torch.float32) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3)).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_any_float_type_is_computed_in_float64(dtype):
    problem = from_model(model(dtype), functional.cross_entropy, [(a.to(dtype), b) for a, b in CLASSES])
    assert (
        problem.initial_point.dtype == torch.float64
        and problem.gradient(problem.initial_point[None]).dtype == torch.float64
    )
    assert next(problem.parts.flat.model.parameters()).dtype == dtype  # the module itself is left alone


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
    problem = from_model(plain, change(nn.MSELoss()), [(a, a[:, :3]) for a, _ in CLASSES])
    wanted = [(plain(a) - a[:, :3]).square().mean(-1).square().mean() for a, _ in CLASSES]
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
    parts = from_model(layer, loss, [(a.view(-1, 2, 3), targets(len(a))) for a, _ in CLASSES]).parts
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
    assert LinearGradient.of(from_model(model(), functional.cross_entropy, CLASSES).parts) is None
    assert (
        LinearGradient.of(from_model(nn.Linear(6, 3), lambda o, y: functional.cross_entropy(o, y), CLASSES).parts)
        is None
    )


# --- from a description


FILE = """
import torch
from torch import nn

def build(size=20):
    torch.manual_seed(0)
    x = torch.randn(2 * size, 3)
    data = [(part, (part[:, 0] > 0).long()) for part in x.split(size)]
    return {"model": nn.Linear(3, 2), "loss": "cross_entropy", "clients": data, "points": 3}

described = build()
number = 3

def pair():
    return nn.Linear(3, 2), []

def fails():
    raise FileNotFoundError("no table\\nhere")
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "my_model.py").write_text(FILE)
    return tmp_path / "my_model.py"


def agree(one, other):
    return torch.equal(one.objective(one.initial_point[None]), other.objective(other.initial_point[None]))


def test_a_function_a_description_and_a_dict_are_the_same_problem(file):
    made = fedco.problem(f"{file}:build")
    assert made.kind == "federated" and made.name == "my_model" and made.clients == 2
    others = [
        fedco.problem(f"{file}:described"),
        fedco.problem(from_description(_loaded(file))),
        fedco.problem(_loaded(file)),
    ]
    assert all(agree(made, other) for other in others)
    assert fedco.problem(made) is made


def _loaded(file):
    from fedco.user_files import load_object

    return load_object(f"{file}:described")


def test_parameters_go_to_the_function_and_else_to_the_description(file):
    small = fedco.problem(f"{file}:build", size=5, form="kl_dro", weight=2.5)
    assert (small.kind, small.weight, small.name) == ("shared_composite", 2.5, "my_model")
    assert small.parts.train.counts.tolist() == [5, 5]
    assert fedco.problem(_loaded(file), form="meta", alpha=0.2, nu=3).nu == 3


def test_estimates_of_a_file_look_as_the_description_says(file):
    asked = {"form": "kl_dro", "theorem": "feddro.theorem_4_2", "along": torch.zeros(1, 8, dtype=torch.float64)}
    found = fedco.estimate(f"{file}:build", **asked)
    assert 3 in dict(found["inner_smoothness"].growth)  # points, of the description
    more = fedco.estimate(_loaded(file), **asked, points=4)
    assert 4 in dict(more["inner_smoothness"].growth)
    ready = found.problem
    assert ready.certificates["inner_smoothness"].kind == "estimated" and not ready.certified


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("number", "wanted a problem, or a dict with model, loss and clients, or a function that makes one; got int"),
        ("pair", "wanted a problem, or a dict with model, loss and clients, or a function that makes one; got tuple"),
        ("fails", "my_model.py:fails: FileNotFoundError: no table here"),
        ("nothing", "wanted FILE.py:NAME with one of its names"),
    ],
)
def test_a_file_with_something_else_is_refused(file, name, said):
    with pytest.raises(InputError, match=said) as caught:
        fedco.problem(f"{file}:{name}")
    assert "\n" not in str(caught.value)


ROWS = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))


LABELS = torch.tensor([0, 1, 1, 0, 1, 0])


class Counting(nn.Module):
    """A buffer that counts the calls, in place, and another that is only read."""

    def __init__(self, counts):
        super().__init__()
        self.layer, self.counts = nn.Linear(3, 2), counts
        self.register_buffer("calls", torch.zeros(1))
        self.register_buffer("shift", torch.full((2,), float("nan")))

    def forward(self, x):
        if self.counts:
            self.calls.add_(1)
        return self.layer(x) + torch.nan_to_num(self.shift)


class Random(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return functional.dropout(self.layer(x))


def described(**changed):
    return {"model": nn.Linear(3, 2), "loss": functional.cross_entropy, "clients": [(ROWS, LABELS)] * 2, **changed}


@pytest.mark.parametrize(
    "clients",
    [
        [TensorDataset(ROWS, LABELS)] * 2,
        [DataLoader(TensorDataset(ROWS, LABELS), batch_size=4)] * 2,
        [list(TensorDataset(ROWS, LABELS))] * 2,
        [[ROWS, LABELS]] * 2,
        iter([(ROWS, LABELS)] * 2),
    ],
    ids=["dataset", "loader", "examples", "list", "generator"],
)
@pytest.mark.parametrize(
    "loss", ["cross_entropy", nn.CrossEntropyLoss, nn.CrossEntropyLoss(), lambda o, y: functional.cross_entropy(o, y)]
)
def test_losses_by_type_and_data_of_any_kind(loss, clients):
    torch.manual_seed(0)
    if not isinstance(clients, list):
        clients = [(ROWS, LABELS)] * 2  # a generator is read once; here as often as the test runs
    made, plain = fedco.problem(described(loss=loss, clients=clients)), fedco.problem(described())
    x = torch.linspace(-1, 1, made.dim).double()[None]
    torch.testing.assert_close(made.objective(x), plain.objective(x))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": 3}, "model: wanted an nn.Module, got int"),
        ({"model": nn.ReLU()}, "ReLU: has no parameter"),
        ({"start": torch.zeros(3)}, r"start: wanted float64 of shape \(8,\), got torch.float32 \(3,\)"),
        ({"model": nn.Linear(4, 2)}, r"model: wanted one that takes a batch of one example of shape \(3,\), got"),
        ({"model": Random()}, "model: wanted one without randomness, got two answers for one example"),
        ({"model": Counting(True)}, "calls: wanted a model whose loss is a mean over examples, got a buffer that it changes"),
        ({"model": nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))}, "1: wanted a model whose loss is a mean over examples"),
        ({"model": nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, track_running_stats=False)).eval()}, "mean over examples"),
        ({"model": nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))}, "1: wanted a model without randomness"),
        ({"loss": "cross_entropi"}, "loss: wanted a function .* or one of cross_entropy mse_loss .*, got 'cross_entropi'"),
        ({"loss": 3}, "loss: wanted a function .*, got int"),
        ({"loss": functional.mse_loss}, r"loss: wanted one that takes outputs \(1, 2\) and targets \(1,\) of torch.int64, got"),
        ({"loss": nn.CrossEntropyLoss(reduction="none")}, r"loss: wanted a scalar for .*, got a tensor of shape \(1,\)"),
        ({"loss": lambda o, y: 1.0}, "loss: wanted a scalar for .*, got float"),
        ({"clients": ROWS}, "clients: wanted a list with a DataLoader, a Dataset or a pair of tensors for each, got Tensor"),
        ({"clients": []}, "wanted at least one client, got none"),
        ({"clients": [(ROWS, LABELS[:1])]}, "client 0: wanted as many targets as inputs, at least one, got 6 and 1"),
        ({"clients": [(ROWS[:0], LABELS[:0])]}, "client 0: wanted as many targets as inputs, at least one, got 0 and 0"),
        ({"clients": [(ROWS, LABELS), (ROWS[:, :2], LABELS)]}, r"client 1: wanted inputs of the shape \(3,\) of client 0, got \(2,\)"),
        ({"clients": [(ROWS, ROWS), (ROWS, LABELS)]}, r"client 1: wanted targets of the shape \(3,\) of client 0, got \(\)"),
        ({"clients": [3]}, "client 0: wanted a DataLoader, a Dataset of .input, target., or a pair of tensors, got int"),
        ({"clients": [(ROWS, LABELS), [[1, 2, 3]]]}, "client 1: wanted a DataLoader"),
        ({"clients": [[]]}, "client 0: has no data"),
        ({"form": "kl"}, f"form 'kl': wanted one of {' '.join(FORMS)}"),
        ({"form": "kl_dro", "gamma": 2.0}, "form kl_dro: has no gamma; wanted weight"),
        ({"wieght": 2.0}, "form federated: has no wieght; wanted tune_steps or tune_rate"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(changed, said):
    with pytest.raises(InputError, match=said) as caught:
        fedco.problem(described(**changed))
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_named():
    for keys, said in ((("loss", "clients"), "without loss, clients"), (("model",), "without model")):
        with pytest.raises(InputError, match=said):
            fedco.problem({name: value for name, value in described().items() if name not in keys})


def test_buffers_that_are_only_read_and_layers_that_are_off_are_no_obstacle():
    off = [nn.Sequential(nn.Linear(3, 2), last) for last in (nn.BatchNorm1d(2), nn.Dropout(0.5))]
    for model in (Counting(False), *(each.eval() for each in off), nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.0))):
        assert fedco.problem(described(model=model)).dim >= 8


def fitted(outputs, targets):
    return functional.binary_cross_entropy_with_logits(outputs, targets.double().view(outputs.shape))


def test_accuracy_wants_classes_and_takes_zeros_and_ones_of_any_shape():
    for targets, labels in ((LABELS, LABELS), (LABELS.double()[:, None], LABELS), (LABELS.double(), LABELS)):
        one = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0 if targets.dim() == 1 else 1))
        changed = {"model": one, "loss": fitted, "clients": [(ROWS, targets)]}
        made = fedco.problem(described(**changed))
        assert made.predict(made.initial_point[None]).labels.tolist() == [labels.tolist()]
    regression = fedco.problem(described(loss=functional.mse_loss, clients=[(ROWS, torch.randn(6, 2))]))
    with pytest.raises(InputError, match="accuracy: wanted targets that are classes 0, 1, …, got real numbers"):
        fedco.run("local_sgd", regression, T=1, seeds=1, settings={"eta": 0.1, "tau": 1}, metrics=["accuracy"])


@pytest.mark.parametrize(
    ("form", "numbers", "said"),
    [
        ("meta", {"nu": 1.5}, "nu: wanted a whole number of at least 1, got 1.5"),
        ("meta", {"nu": 0}, "nu: wanted a whole number of at least 1, got 0"),
        ("meta", {"alpha": True}, "alpha: wanted a finite number above 0, got True"),
        ("meta", {"alpha": -0.1}, "alpha: wanted a finite number above 0, got -0.1"),
        ("maml", {"lam": -1}, "lam: wanted a finite number above 0, got -1"),
        ("maml", {"lam": float("nan")}, "lam: wanted a finite number above 0, got nan"),
        ("kl_dro", {"weight": "1/3"}, "weight: wanted a finite number above 0, got '1/3'"),
        ("kl_dro", {"weight": 0}, "weight: wanted a finite number above 0, got 0"),
        ("kl_clients", {"gamma": float("inf"), "level": 0}, "gamma: wanted a finite number above 0, got inf"),
        ("kl_clients", {"gamma": 1, "level": float("nan")}, "level: wanted a finite number, got nan"),
    ],
)
def test_numbers_of_a_form_are_read(file, form, numbers, said):
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        fedco.problem(_loaded(file), form=form, **numbers)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"points": 0}, "points: wanted a whole number of at least 1, got 0"),
        ({"points": 1.5}, "points: wanted a whole number of at least 1, got 1.5"),
        ({"radius": "1"}, "radius: wanted a finite number of at least 0, got '1'"),
        ({"seed": "a"}, "seed: wanted a whole number of at least 0, got 'a'"),
        ({"lower_bound": float("nan")}, "lower_bound: wanted a finite number, got nan"),
    ],
)
def test_numbers_of_a_search_are_read(file, given, said):
    with pytest.raises(InputError, match=f"^{re.escape(said)}$"):
        fedco.estimate(_loaded(file), **given)


def test_constants_are_not_given_for_a_theorem_that_is_about_other_problems(file):
    """Clients whose tuned models differ have no equal inner maps, and a chi-square penalty has an extra term h."""
    for form, numbers, theorem, missing in (
        ("maml", {"lam": 0.1}, "local_scgdm.theorem_3_4", "equal_inner_maps"),
        ("chi2_dro", {"weight": 5}, "feddro.theorem_4_2", "no_extra_term"),
    ):
        with pytest.raises(InputError, match=f"does not fit {theorem} .corrected.: .*{missing}"):
            fedco.estimate({**_loaded(file), "form": form, **numbers}, theorem=theorem)


def test_maml_has_the_constants_of_comfedl(file):
    """Those of docs/howto/from-a-model-to-a-schedule.md: the smoothness of an inner sample is lam times that of its Hessian.

    Of two classes the loss is softplus of -+s for s = w . t, |ds| = sqrt 2 |t|: its third derivative is p (1 - p)(1 - 2p) |ds|^3.
    """
    few, x, lam = fedco.problem(f"{file}:build", size=3).parts.train, torch.linspace(-1, 1, 8).double(), 1e-3
    described = {**_loaded(file), "clients": [*zip(few.inputs, few.targets, strict=True)], "form": "maml", "lam": lam}
    found = fedco.estimate(described, along=x[None], points=1, theorem="comfedl.theorem_1")
    p = torch.sigmoid(few.inputs.flatten(0, 1) @ (x[3:6] - x[:3]) + x[7] - x[6])
    turns = (2 * (few.inputs.flatten(0, 1).square().sum(-1) + 1)).sqrt()
    wanted = lam * float((p * (1 - p) * (1 - 2 * p) * turns**3).abs().max())
    assert 0.9 * wanted < found["inner_sample_smoothness"].value < 1.05 * wanted
