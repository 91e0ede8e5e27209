"""What a user's `build` returns is a problem wherever one is named, and what it must not return is said in one line."""

import re

import fedco
import pytest
import torch
from fedco.errors import InputError
from fedco.synthetic.models import FORMS, from_description
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

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


def same(one, other):
    return torch.equal(one.objective(one.initial_point[None]), other.objective(other.initial_point[None]))


def test_a_function_a_description_and_a_dict_are_the_same_problem(file):
    made = fedco.problem(f"{file}:build")
    assert made.kind == "federated" and made.name == "my_model" and made.clients == 2
    others = [
        fedco.problem(f"{file}:described"),
        fedco.problem(from_description(_loaded(file))),
        fedco.problem(_loaded(file)),
    ]
    assert all(same(made, other) for other in others)
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
        iter([(ROWS, LABELS)] * 2),
    ],
    ids=["dataset", "loader", "generator"],
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
        ({"loss": "cross_entropi"}, "loss: wanted a function .* or one of cross_entropy mse_loss .*, got 'cross_entropi'"),
        ({"loss": 3}, "loss: wanted a function .*, got int"),
        ({"loss": functional.mse_loss}, r"loss: wanted one that takes outputs \(1, 2\) and targets \(1,\) of torch.int64, got"),
        ({"loss": nn.CrossEntropyLoss(reduction="none")}, r"loss: wanted a scalar for .*, got a tensor of shape \(1,\)"),
        ({"loss": lambda o, y: 1.0}, "loss: wanted a scalar for .*, got float"),
        ({"clients": ROWS}, "clients: wanted a list with a DataLoader, a Dataset or a pair of tensors for each, got Tensor"),
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


def test_a_buffer_that_is_only_read_is_no_obstacle():
    assert fedco.problem(described(model=Counting(False))).dim == 8


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
    """Those of docs/howto/from-a-model-to-a-schedule.md: the smoothness of an inner sample is lam times that of its Hessian."""
    few = fedco.problem(f"{file}:build", size=3).parts
    here = {"along": torch.linspace(-1, 1, 8).double()[None], "points": 1, "theorem": "comfedl.theorem_1"}
    described = {**_loaded(file), "clients": [*zip(few.train.inputs, few.train.targets, strict=True)], "form": "maml"}
    small, large = (fedco.estimate({**described, "lam": lam}, **here) for lam in (1e-3, 2e-3))
    assert small["inner_sample_smoothness"].value > 0
    assert large["inner_sample_smoothness"].value == pytest.approx(2 * small["inner_sample_smoothness"].value, rel=0.05)
