"""A campaign against `estimate`: what it certifies of 200 models is attacked by loops over the examples and torch's own autograd.

Nothing of the package's attack is used: the module is run as its user runs it, one example after another, and curvatures are
difference quotients of gradients, which no bound of the Hessian lets exceed it. Each run prints what it counted:

    python -m pytest tests/synthetic/test_estimate_campaign.py -m slow -s
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import MethodType
from typing import Any

import fedco
import pytest
import torch
from fedco.errors import InputError
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize, prune

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's: of broadcasting, of vmap, of what is old
ROUNDING = 1e-8
"""Of a difference quotient over steps of a thousandth of the distance from 0."""
FEATURES, EXAMPLES, TURNS = 3, (5, 7), 3


# --- data and losses -----------------------------------------------------------------------------------------------------


def distributions(n, g):
    weights = torch.rand(n, 3, generator=g, dtype=torch.float64)
    return weights / weights.sum(-1, keepdim=True)


TARGETS: dict[str, Callable[[int, torch.Generator], torch.Tensor]] = {
    "classes": lambda n, g: torch.randint(0, 3, (n,), generator=g),
    "distributions": distributions,
    "float32 distributions": lambda n, g: distributions(n, g).float(),
    "sums of 7": lambda n, g: 7 * distributions(n, g),
    "negative entries": lambda n, g: distributions(n, g) + torch.tensor([-0.5, 0.5, 0.0]).double(),
    "0 or 1": lambda n, g: torch.randint(0, 2, (n, 1), generator=g).double(),
    "in [0, 1]": lambda n, g: torch.rand(n, 1, generator=g, dtype=torch.float64),
    "-1 or 1": lambda n, g: 2.0 * torch.randint(0, 2, (n, 1), generator=g).double() - 1,
    "up to 5": lambda n, g: 5 * torch.rand(n, 1, generator=g, dtype=torch.float64),
    "reals": lambda n, g: torch.randn(n, 1, generator=g, dtype=torch.float64),
    "three reals": lambda n, g: torch.randn(n, 3, generator=g, dtype=torch.float64),
    "reals without an axis": lambda n, g: torch.randn(n, generator=g, dtype=torch.float64),
    "integers": lambda n, g: torch.randint(-4, 5, (n, 1), generator=g),
}
OUTPUTS = {
    "0 or 1": 1,
    "in [0, 1]": 1,
    "-1 or 1": 1,
    "up to 5": 1,
    "reals": 1,
    "reals without an axis": 1,
    "integers": 1,
}


class Scaled(nn.CrossEntropyLoss):
    def forward(self, outputs, targets):
        return 9 * super().forward(outputs, targets)


def with_own_forward(module, factor=9.0):
    """A module whose instance has another forward than its class."""
    of_class = type(module).forward
    module.forward = MethodType(lambda self, *given: factor * of_class(self, *given), module)
    return module


def with_hook(module, factor=9.0):
    module.register_forward_hook(lambda _, given, output: factor * output)
    return module


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


CE, BCE, MSE = nn.CrossEntropyLoss, nn.BCEWithLogitsLoss, nn.MSELoss
PLAIN_LOSSES = [
    (CE, "classes"),
    (lambda: functional.cross_entropy, "classes"),
    (CE, "distributions"),
    (BCE, "0 or 1"),
    (lambda: functional.binary_cross_entropy_with_logits, "in [0, 1]"),
    (MSE, "reals"),
    (lambda: functional.mse_loss, "three reals"),
]
OTHER_LOSSES: dict[str, tuple[Callable[[], Any], str]] = {
    "sum": (lambda: CE(reduction="sum"), "classes"),
    "sum of squares": (lambda: MSE(reduction="sum"), "three reals"),
    "sum of logistic losses": (lambda: BCE(reduction="sum"), "0 or 1"),
    "weights of classes": (lambda: CE(weight=tensor(1, 9, 1)), "classes"),
    "weights of classes in a distribution": (lambda: CE(weight=tensor(1, 9, 1)), "distributions"),
    "weight": (lambda: BCE(weight=tensor(9)), "0 or 1"),
    "pos_weight": (lambda: BCE(pos_weight=tensor(9)), "0 or 1"),
    "label smoothing": (lambda: CE(label_smoothing=0.3), "classes"),
    "negative label smoothing": (lambda: partial(functional.cross_entropy, label_smoothing=0.3), "classes"),
    "an ignored class": (lambda: CE(ignore_index=1), "classes"),
    "an ignored class that is not there": (lambda: CE(ignore_index=7), "classes"),
    "a closure": (lambda: lambda o, y: 9 * functional.cross_entropy(o, y), "classes"),
    "a closure below 0": (lambda: lambda o, y: functional.cross_entropy(o, y) - 3, "classes"),
    "a subclass": (Scaled, "classes"),
    "a forward of the instance": (lambda: with_own_forward(CE()), "classes"),
    "a forward of the instance, squares": (lambda: with_own_forward(MSE()), "reals"),
    "a hook": (lambda: with_hook(BCE()), "0 or 1"),
    "signs": (BCE, "-1 or 1"),
    "logistic of up to 5": (BCE, "up to 5"),
    "sums of 7": (CE, "sums of 7"),
    "negative entries": (CE, "negative entries"),
    "rounded distributions": (CE, "float32 distributions"),
    "squares without an axis": (MSE, "reals without an axis"),
    "squares of signs": (MSE, "-1 or 1"),
    "squares of integers": (MSE, "integers"),
    "l1": (nn.L1Loss, "reals"),
    "l1 without an axis": (nn.L1Loss, "reals without an axis"),
    "huber": (lambda: nn.HuberLoss(delta=3.0), "reals"),
    "smooth l1": (lambda: nn.SmoothL1Loss(beta=0.01), "three reals"),
    "soft margins": (nn.SoftMarginLoss, "-1 or 1"),
}


# --- models --------------------------------------------------------------------------------------------------------------


class Doubled(nn.Linear):
    def forward(self, a):
        return 2 * super().forward(a)


class Twice(nn.Module):
    def forward(self, weight):
        return 2 * weight


class WithBuffer(nn.Module):
    """A linear layer with a scale that is a buffer, in a module of its own."""

    def __init__(self, outputs):
        super().__init__()
        self.inner = nn.Linear(FEATURES, outputs)
        self.register_buffer("scale", torch.tensor(4.0))

    def forward(self, a):
        return self.scale * self.inner(a)


class Container(nn.Sequential):
    def forward(self, a):
        return 3 * super().forward(a)


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self, outputs):
        super().__init__()
        self.first, self.second = nn.Linear(FEATURES, FEATURES), nn.Linear(FEATURES, FEATURES)
        self.second.weight = self.first.weight
        self.last = nn.Linear(FEATURES, outputs)

    def forward(self, a):
        return self.last(self.second(self.first(a)))


def changed(outputs, change):
    """A linear layer after `change(layer)`."""
    layer = nn.Linear(FEATURES, outputs)
    change(layer)
    return layer


def zeros(outputs):
    layer = nn.Linear(FEATURES, outputs)
    for p in layer.parameters():
        nn.init.zeros_(p)
    return layer


PLAIN_MODELS: dict[str, Callable[[int], nn.Module]] = {
    "float32": lambda k: nn.Linear(FEATURES, k),
    "float64 without a bias": lambda k: nn.Linear(FEATURES, k, bias=False, dtype=torch.float64),
    "flattened": lambda k: nn.Sequential(nn.Flatten(), nn.Linear(FEATURES, k)),
    "from 0": zeros,
}
NETWORKS: dict[str, Callable[[int], nn.Module]] = {
    "tanh": lambda k: nn.Sequential(nn.Linear(FEATURES, 2), nn.Tanh(), nn.Linear(2, k)),
    "relu": lambda k: nn.Sequential(nn.Linear(FEATURES, 2), nn.ReLU(), nn.Linear(2, k)),
    "two linear layers": lambda k: nn.Sequential(nn.Linear(FEATURES, 2), nn.Linear(2, k)),
}
OTHER_MODELS: dict[str, Callable[[int], nn.Module]] = {
    "a subclass": lambda k: Doubled(FEATURES, k),
    "a subclass of the container": lambda k: Container(nn.Linear(FEATURES, k)),
    "a forward of the instance": lambda k: with_own_forward(nn.Linear(FEATURES, k)),
    "a call of the instance": lambda k: changed(k, lambda m: setattr(m, "_call_impl", lambda a: 7 * m.forward(a))),
    "a hook": lambda k: with_hook(nn.Linear(FEATURES, k)),
    "a hook of the container": lambda k: with_hook(nn.Sequential(nn.Linear(FEATURES, k))),
    "a pre-hook": lambda k: changed(k, lambda m: m.register_forward_pre_hook(lambda _, given: (5 * given[0],))),
    "a parametrisation": lambda k: changed(k, lambda m: parametrize.register_parametrization(m, "weight", Twice())),
    "weight norm": lambda k: parametrizations.weight_norm(nn.Linear(FEATURES, k)),
    "old weight norm": lambda k: nn.utils.weight_norm(nn.Linear(FEATURES, k)),
    "pruned": lambda k: prune.l1_unstructured(nn.Linear(FEATURES, k), "weight", amount=2),
    "another size than it says": lambda k: changed(k, lambda m: setattr(m, "out_features", 50)),
    "one bias for all": lambda k: changed(k, lambda m: setattr(m, "bias", nn.Parameter(torch.zeros(1)))),
    "a bias that is not trained": lambda k: changed(k, lambda m: m.bias.requires_grad_(False)),
    "a parameter that is not used": lambda k: changed(k, lambda m: setattr(m, "more", nn.Parameter(torch.ones(2)))),
    "a buffer": WithBuffer,
    "shared parameters": Tied,
    "a last layer that flattens": lambda k: nn.Sequential(nn.Linear(FEATURES, k), nn.Flatten()),
    "dropout, off": lambda k: nn.Sequential(nn.Dropout(0.5), nn.Linear(FEATURES, k)).eval(),
    "dropout, on": lambda k: nn.Sequential(nn.Dropout(0.5), nn.Linear(FEATURES, k)),
    "batch norm, off": lambda k: nn.Sequential(nn.BatchNorm1d(FEATURES), nn.Linear(FEATURES, k)).eval(),
    "batch norm, on": lambda k: nn.Sequential(nn.BatchNorm1d(FEATURES), nn.Linear(FEATURES, k)),
}
FORMS = {
    "kl_clients": {"gamma": 2.0, "level": 0.5},
    "kl_dro": {"weight": 2.0},
    "chi2_dro": {"weight": 2.0},
    "maml": {"lam": 0.2},
    "meta": {"alpha": 0.2, "nu": 2},
}


@dataclass(frozen=True)
class Case:
    """A model, its loss and its data, as functions: each call makes them anew, the same."""

    name: str
    model: Callable[[int], nn.Module]
    loss: Callable[[], Any]
    targets: str
    ordinary: bool = False
    scale: float = 1.0
    form: str = "federated"
    seed: int = 0

    def made(self):
        torch.manual_seed(self.seed)
        g = torch.Generator().manual_seed(self.seed)
        data = []
        for n in EXAMPLES:
            inputs = self.scale * (torch.randn(n, FEATURES, generator=g, dtype=torch.float64) + 0.5)
            data.append((inputs, TARGETS[self.targets](n, g)))
        return self.model(OUTPUTS.get(self.targets, 3)), self.loss(), data


def cases() -> list[Case]:
    found = []
    for model, build in PLAIN_MODELS.items():
        for k, (loss, targets) in enumerate(PLAIN_LOSSES):
            for scale in (0.1, 1.0, 10.0):
                found.append(Case(f"{model}, loss {k}, inputs of {scale}", build, loss, targets, True, scale))
    for model, build in NETWORKS.items():
        found += [Case(f"{model}, loss {k}", build, *of) for k, of in enumerate(PLAIN_LOSSES[::2])]
    for model, build in OTHER_MODELS.items():
        found += [Case(f"{model}, loss {k}", build, *of, scale=0.3) for k, of in enumerate(PLAIN_LOSSES[::3])]
    for loss, of in OTHER_LOSSES.items():
        found.append(Case(f"loss: {loss}", PLAIN_MODELS["float32"], *of))
    for form in FORMS:
        for k, of in enumerate(PLAIN_LOSSES[::3]):
            found.append(Case(f"{form}, loss {k}", PLAIN_MODELS["float32"], *of, form=form))
    return [Case(**{**vars(one), "seed": seed}) for seed, one in enumerate(found)]


# --- the truth, and the attack -------------------------------------------------------------------------------------------


class Truth:
    """The module as it is, in double precision, one example after another."""

    def __init__(self, case: Case) -> None:
        self.case = case
        model, self.loss, data = case.made()
        self.model = model.double()
        self.data = [(a, y.double() if y.is_floating_point() else y) for a, y in data]
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        self.start = torch.cat([p.detach().flatten() for p in self.parameters])

    def losses(self, x):
        """Of every example, by client."""
        with torch.no_grad():
            for p, value in zip(self.parameters, x.split([p.numel() for p in self.parameters]), strict=True):
                p.copy_(value.view_as(p))
        return [[self.loss(self.model(a[i : i + 1]), y[i : i + 1]) for i in range(len(a))] for a, y in self.data]

    def gradients(self, x):
        """Of every example, one `(examples, dim)` for each client."""
        return [torch.stack([self._slope(one) for one in client]) for client in self.losses(x)]

    def _slope(self, loss):
        found = torch.autograd.grad(loss, self.parameters, allow_unused=True, retain_graph=True)
        pairs = zip(found, self.parameters, strict=True)
        return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs])

    def means(self, x):
        return [torch.stack(client).mean().detach() for client in self.losses(x)]

    def objective(self, x) -> float:
        """Of the form."""
        form, number = self.case.form, FORMS.get(self.case.form, {})
        if form in ("maml", "meta"):
            rate, steps = number.get("lam", number.get("alpha")), number.get("nu", 1)
            tuned = []
            for k in range(len(self.data)):
                at = x
                for _ in range(steps):
                    at = at - rate * self.gradients(at)[k].mean(0)
                tuned.append(self.means(at)[k])
            return float(torch.stack(tuned).mean())
        if form == "kl_clients":
            return float(torch.stack([((m - number["level"]) / number["gamma"]).exp() for m in self.means(x)]).mean())
        if form == "federated":
            return float(torch.stack(self.means(x)).mean())
        each, weight = [torch.stack(client).detach() for client in self.losses(x)], number["weight"]

        def mean(u):
            return torch.stack([u(client).mean() for client in each]).mean()

        if form == "kl_dro":
            return float(weight * mean(lambda l: (l / weight).exp()).log())
        return float(mean(lambda l: l) + (mean(lambda l: l * l) - mean(lambda l: l) ** 2) / (2 * weight))


def lengths(gradients) -> dict[str, float]:
    """What a bound of gradients bounds, at one point."""
    means = torch.stack([client.mean(0) for client in gradients])
    return {
        "local_sample_gradient_bound": max(float(client.norm(dim=1).max()) for client in gradients),
        "local_gradient_bound": float(means.norm(dim=1).max()),
        "gradient_cap": float(means.mean(0).norm()),
        "local_gradient_noise": max(float((c - c.mean(0)).square().sum(1).mean().sqrt()) for c in gradients),
        "local_gradient_heterogeneity": float((means - means.mean(0)).square().sum(1).mean().sqrt()),
    }


def moved(truth, x, v) -> dict[str, torch.Tensor]:
    """Difference quotients along v of what has a bounded Hessian: the longest of its kind."""
    step = 1e-3 * (1 + float(x.norm()))
    v = v / v.norm()
    ends = zip(truth.gradients(x + step * v), truth.gradients(x - step * v), strict=True)
    apart = [(there - here) / (2 * step) for there, here in ends]
    means = torch.stack([client.mean(0) for client in apart])
    samples = torch.cat(apart)
    return {
        "local_sample_smoothness": samples[int(samples.norm(dim=1).argmax())],
        "local_smoothness": means[int(means.norm(dim=1).argmax())],
        "objective_smoothness": means.mean(0),
    }


def hostile(start, g):
    yield start
    yield torch.zeros_like(start)
    for size in (0.03, 0.3, 1.0, 3.0, 30.0, 3e3):
        yield size * torch.randn(len(start), generator=g, dtype=torch.float64)


def descended(truth, x, steps=15) -> float:
    """The least objective that a descent by finite differences of it finds."""
    value, size = truth.objective(x), 1.0
    for _ in range(steps):
        h = 1e-5 * torch.eye(len(x), dtype=torch.float64)
        slope = tensor(*[(truth.objective(x + e) - truth.objective(x - e)) / 2e-5 for e in h])
        while size > 1e-8 and not truth.objective(x - size * slope) < value:
            size /= 4
        if size <= 1e-8:
            break
        x, size = x - size * slope, 3 * size
        value = truth.objective(x)
    return value


def largest(truth, wanted, g) -> dict[str, float]:
    """The largest value found of each wanted quantity: at hostile points, and by a random search about the worst of them."""
    best = dict.fromkeys(wanted, 0.0)
    where = dict.fromkeys(wanted, truth.start)

    def note(name, value, x):
        if name in best and value > best[name]:
            best[name], where[name] = value, x

    def look(x, names):
        if LENGTHS & names:
            for name, value in lengths(truth.gradients(x)).items():
                note(name, value, x)
        for name in CURVATURES & names:
            v = torch.randn(len(x), generator=g, dtype=torch.float64)
            for _ in range(TURNS):
                quotients = moved(truth, x, v)
                for other, vector in quotients.items():
                    note(other, float(vector.norm()), x)
                v = quotients[name] if float(quotients[name].norm()) > 0 else v

    for x in hostile(truth.start, g):
        look(x, best.keys())
    for step in range(4):
        for name in wanted:
            x = where[name]
            away = torch.randn(len(x), generator=g, dtype=torch.float64)
            look(x + (0.3 + float(x.norm())) * 0.5 ** (step + 1) * away / away.norm(), {name})
    return best


CURVATURES = {"local_smoothness", "objective_smoothness", "local_sample_smoothness"}
OF_THE_FORM = {
    "outer_gradient_noise", "outer_lipschitz", "outer_mean_square_lipschitz", "outer_sample_lipschitz", "outer_smoothness",
    "outer_sample_smoothness", "noncompositional_smoothness", "noncompositional_gradient_noise", "noncompositional_heterogeneity",
}  # fmt: skip
"""What a form certifies of its own outer function, whatever the model."""


@dataclass
class Tally:
    """What a campaign counted."""

    said: Counter = field(default_factory=Counter)
    ratios: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def __str__(self):
        top = max(self.ratios, key=self.ratios.__getitem__)
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self.said.items()))
        return f"{counts}; largest ratio of found to certified {self.ratios[top]:.10f} ({top})"


def attack(case: Case, tally: Tally) -> None:
    """Everything that `estimate` certifies of a case, against the truth."""
    tally.said["models"] += 1
    model, loss, data = case.made()
    truth = Truth(case)
    try:
        found = fedco.estimate(
            model, loss, data, case.form, points=2, along=truth.start[None], radius=1.0, **FORMS.get(case.form, {})
        )
    except InputError as error:
        tally.said["refused"] += 1
        if case.ordinary or "certified as at most" in str(error):
            tally.wrong.append(f"{case.name}: {error}")
        return
    except RuntimeError as error:
        tally.wrong.append(f"{case.name}: {str(error).splitlines()[0]}")
        return
    upper = {name: one.value for name, one in found.items() if one.kind == "upper" and name not in OF_THE_FORM}
    wanted = sorted(upper.keys() - {"objective_gap"})
    expected = CURVATURES if "mse" in str(loss).lower() else CURVATURES | LENGTHS
    if case.ordinary:
        tally.said["ordinary"] += 1
        if expected | {"objective_gap"} == upper.keys():
            tally.said["ordinary and certified"] += 1
        else:
            tally.wrong.append(f"{case.name}: only {sorted(upper)} are certified")
    elif wanted:
        tally.said["others certified beyond the gap"] += 1
    g = torch.Generator().manual_seed(1000 + case.seed)
    reached = largest(truth, wanted, g) if wanted else {}
    if "objective_gap" in upper:
        points = list(hostile(truth.start, g))
        least = min([descended(truth, truth.start), *(truth.objective(x) for x in points)])
        reached["objective_gap"] = truth.objective(truth.start) - least
    assert reached.keys() == upper.keys()
    for name, value in reached.items():
        tally.said["certificates"] += 1
        ratio = value / upper[name]
        tally.ratios[f"{name} of {case.name}"] = ratio
        if not ratio <= 1 + ROUNDING:
            tally.said["exceeded"] += 1
            tally.wrong.append(f"{name} of {case.name}: certified {upper[name]:.9g}, found {value:.9g}")


LENGTHS = set(lengths([torch.ones(1, 1), torch.ones(1, 1)]))


def campaign(chosen) -> Tally:
    tally = Tally()
    for case in chosen:
        attack(case, tally)
    print(f"\n{tally}", *tally.wrong, sep="\n")
    return tally


def test_a_few_models():
    """One from each part of the list."""
    ordinary, others = ([one for one in cases() if one.ordinary == is_so] for is_so in (True, False))
    tally = campaign([ordinary[5], others[4]])
    assert not tally.wrong and tally.said["models"] == 2 and tally.said["ordinary and certified"] == 1


@pytest.mark.slow
def test_the_whole_campaign():
    tally = campaign(cases())
    assert not tally.wrong and tally.said["models"] >= 200 and tally.said["ordinary and certified"] == 84


def test_the_campaign_sees_a_false_certificate(monkeypatch):
    """Nine tenths of each curvature, and the attack of the package switched off."""
    from dataclasses import replace

    from fedco.synthetic.estimation import forms
    from fedco.synthetic.estimation.glm import certified

    monkeypatch.setattr(forms, "survive", lambda *_: None)
    monkeypatch.setattr(
        forms, "certified", lambda parts: (replace(one, value=0.9 * one.value) for one in certified(parts))
    )
    squares = next(one for one in cases() if one.ordinary and one.targets == "reals")
    said = campaign([squares]).wrong
    assert {line.split()[0] for line in said} == CURVATURES
