"""Estimation beyond one point: the region of a run, what is asked for and nothing else, and rules that cap what a search finds."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fedco.synthetic import Certificate
from fedco.synthetic.applications.user import LocalFromFunctions
from fedco.synthetic.estimation import estimate_constants, forms, functions, glm
from fedco.synthetic.estimation.lanczos import spectral_norm
from fedco.synthetic.models import from_model
from fedco.synthetic.parts.adversary import Budget
from sine_model import Wave, squared
from torch import nn
from torch.nn import functional

GENERATOR = torch.Generator().manual_seed(8)
PARTS = [
    (
        torch.randn(n, 2, generator=GENERATOR, dtype=torch.float64),
        torch.randn(n, 1, generator=GENERATOR, dtype=torch.float64),
    )
    for n in (3, 2)
]
OPTIONS = {
    "federated": {},
    "kl_clients": {"gamma": 1.7, "level": 0.3},
    "kl_dro": {"weight": 2.3},
    "chi2_dro": {"weight": 2.3},
    "maml": {"lam": 0.7},
    "meta": {"alpha": 0.3, "nu": 2},
}


def made(form, parts=PARTS):
    return from_model(Wave(), squared, parts, form, start=torch.tensor([0.7, -0.4, 0.3]).double(), **OPTIONS[form])


def values(problem, **more):
    found = estimate_constants(problem, along=problem.initial_point[None], radius=0.0, points=2, **more)
    return {name: one.value for name, one in found.items()}, found


def test_the_region_reaches_a_tenth_of_the_longest_way_from_the_start():
    run = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 7.0], [1.0, -1.0, 3.0]], dtype=torch.float64)
    names = frozenset({"gradient_cap"})
    for along, wanted in ((run, 0.4), (run[:1], 0.0), (run.flip(0), 0.5)):
        assert estimate_constants(made("federated"), along=along, points=1, only=names).region.radius == pytest.approx(
            wanted
        )
    assert estimate_constants(made("federated"), along=run, radius=0.07, points=1, only=names).region.radius == 0.07


RULES = {
    "kl_clients": lambda v: v["inner_lipschitz"] ** 2 * v["outer_smoothness"] + v["outer_lipschitz"] * v["inner_smoothness"],
    "kl_dro": lambda v: v["inner_lipschitz"] ** 2 * 2.3 + 2.3 * v["inner_smoothness"],
    "chi2_dro": lambda v: v["inner_lipschitz"] ** 2 / 2.3 + v["outer_lipschitz"] * v["inner_smoothness"] + v["noncompositional_smoothness"],
    "maml": lambda v: v["inner_lipschitz"] ** 2 * v["outer_smoothness"] + v["outer_lipschitz"] * v["inner_smoothness"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "size"), [*((form, size) for form in RULES if form != "maml" for size in (1e9, 1e-9)), ("maml", 1e9)]
)
def test_a_chain_rule_that_gives_less_than_what_is_found_is_told(form, size, monkeypatch):
    """What was found is kept, whatever the form: the parts of the rule are estimates."""
    monkeypatch.setattr(
        forms, "smoothness_of", lambda problem: lambda x: torch.full((len(x),), size, dtype=torch.float64)
    )
    found, whole = values(made(form))
    rule = RULES[form](found)
    assert found["objective_smoothness"] == pytest.approx(size, rel=1e-12) and 1e-9 < rule < 1e9
    assert (f"gives only {rule:.4g}" in whole["objective_smoothness"].method) is (size > rule)


def test_the_mean_of_hessians_beside_the_largest(monkeypatch):
    largest = values(made("federated"))[0]["local_smoothness"]
    too_large = forms.Row("too large", lambda losses, x: torch.full((len(x),), 2 * largest, dtype=torch.float64))
    monkeypatch.setitem(forms.LOSSES, "objective_smoothness", too_large)
    _, whole = values(made("federated"))
    assert (
        "the largest norm of a client's Hessian, which is no smaller, gives only"
        in whole["objective_smoothness"].method
    )
    assert whole["objective_smoothness"].value == 2 * largest


@pytest.mark.parametrize(
    "form", [form for form in OPTIONS if form != "maml"]
)  # whose constants are all made of the same few
def test_what_is_asked_for_alone_is_what_all_of_it_says(form):
    """Nothing else comes back, and only the parts of a rule are sought with it."""
    problem = made(form)
    every, _ = values(problem)
    parts = {
        "inner_noise": {"inner_jacobian_noise", "inner_value_noise"},
        "composite_noise": {"inner_jacobian_noise", "inner_value_noise"},
        "objective_smoothness": {"inner_lipschitz", "inner_smoothness", "noncompositional_smoothness"},
        "gradient_cap": {"inner_lipschitz"},
    }
    always = {"kl_clients": {"outer_lipschitz"}, "chi2_dro": {"outer_lipschitz"}}.get(form, set())
    asked = {*parts, "local_gradient_noise", "inner_value_noise", "noncompositional_heterogeneity", "objective_gap"}
    if form == "meta":  # whose other constants are sought as those of the plain form
        asked = {"local_hessian_heterogeneity", "objective_gap"}
    for name in every.keys() & asked:
        said = []
        found, _ = values(problem, only=frozenset({name}), progress=said.append)
        assert found.keys() == {name} and found[name] == pytest.approx(every[name], rel=1e-9), name
        assert {*said} <= {name} | parts.get(name, set()) | always, name
    if form in ("kl_dro", "chi2_dro"):
        assert every["inner_noise"] == max(every["inner_jacobian_noise"], every["inner_value_noise"])


class Waves(nn.Module):
    """The loss of an example with input a is (a_1 sin^2 w_1 + a_2 sin^2 w_2)/2, whose Hessian at 0 is diag(a)."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return (x * torch.sin(self.w) ** 2).sum(-1, keepdim=True) / 2


def near_zero(form, clients, **options):
    """Constants within 1e-3 of the point 0, where each client has examples with Hessians of these diagonals."""
    data = [(torch.tensor(rows).double(), torch.zeros(len(rows), 1).double()) for rows in clients]
    zero = torch.zeros(2, dtype=torch.float64)
    problem = from_model(Waves(), lambda out, target: out.mean(), data, form, start=zero, **options)
    found = estimate_constants(problem, along=zero[None], radius=1e-3, points=20, lower_bound=-2.0)
    return {name: one.value for name, one in found.items()}


def test_hessians_of_clients_differ_by_more_than_their_norm():
    """The mean square of a spectral norm about the mean may exceed that about 0: diag(1, 1), diag(-1, 1) and diag(1, -1)."""
    rows = [[1.0, 1.0]], [[-1.0, 1.0]], [[1.0, -1.0]]
    found = near_zero("meta", rows, alpha=0.01, nu=1)["local_hessian_heterogeneity"]
    assert found == pytest.approx(math.sqrt((4 + 16 + 16) / 27), rel=1e-4)


def test_the_mean_square_of_a_jacobian_is_no_sum_of_squares():
    """Two samples with Jacobians I -+ e_1 e_1^T / 2: the norms 1/2 along e_1, and 1 across it, and 3/2."""
    found = near_zero("maml", [[[1.0, 0.0], [-1.0, 0.0]]] * 2, lam=0.5)
    assert found["inner_jacobian_mean_square"] >= math.sqrt((1 + 1.5**2) / 2)


def test_lanczos_knows_no_scale():
    """Norms of a matrix times 1e-12 or 1e12 are as many times those of the matrix, also where it has few eigenvalues."""
    few = torch.tensor([1.0, 1.0, -3.0, -3.0, 2.0, 2.0] * 10, dtype=torch.float64)
    for scale in (1e-12, 1.0, 1e12):
        upper, found = spectral_norm(lambda v, scale=scale: scale * few * v, (60,), 12, 1e-3)
        assert float(found) == pytest.approx(3 * scale, rel=1e-9) and float(upper) >= float(found)


# --- linear models, whose constants are certified ----------------------------------------------------------------------------------

ROWS = [torch.randn(n, 2, 2, generator=GENERATOR, dtype=torch.float64) for n in (3, 6)]


def linear(outputs, bias=True, first=()):
    return nn.Sequential(*first, nn.Flatten(), nn.Linear(4, outputs, bias=bias).double())


def certificates(model, loss, outputs):
    """What is certified of a model on `ROWS`, with targets that fit the loss."""
    if "function cross_entropy" in str(loss) or "CrossEntropy" in str(loss):
        targets = [torch.arange(len(a)) % outputs for a in ROWS]
    else:
        targets = [torch.linspace(0, 1, len(a) * outputs).double().view(-1, outputs) for a in ROWS]
    parts = from_model(model, loss, list(zip(ROWS, targets, strict=True))).parts
    return {each.quantity: float(each.value) for each in glm.certified(parts)}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("loss", "outputs", "slope", "curvature"),
    [
        (functional.cross_entropy, 3, math.sqrt(2), 1 / 2),
        (nn.CrossEntropyLoss(), 2, math.sqrt(2), 1 / 2),
        (functional.binary_cross_entropy_with_logits, 1, 1, 1 / 4),
        (nn.BCEWithLogitsLoss(), 1, 1, 1 / 4),
        (functional.mse_loss, 3, None, 2 / 3),
        (nn.MSELoss(), 1, None, 2.0),
    ],
)
def test_constants_of_a_linear_model_by_hand(loss, outputs, slope, curvature, bias):
    """Inputs t with a constant 1 where there is a bias; the constants of the whole are those of mean t t^T and mean |t|^2."""
    t = [np.concatenate([a.flatten(1).numpy(), np.ones((len(a), int(bias)))], axis=1) for a in ROWS]
    moments = [rows.T @ rows / len(rows) for rows in t]
    lengths = [(rows**2).sum(1) for rows in t]
    wanted = {
        "local_smoothness": curvature * max(np.linalg.eigvalsh(m)[-1] for m in moments),
        "objective_smoothness": curvature * np.linalg.eigvalsh(sum(moments) / 2)[-1],
        "local_sample_smoothness": curvature * max(each.max() for each in lengths),
    }
    if slope:
        second = slope * math.sqrt(max(each.mean() for each in lengths))
        wanted |= {
            "local_sample_gradient_bound": slope * math.sqrt(max(each.max() for each in lengths)),
            **dict.fromkeys(("local_gradient_bound", "gradient_cap", "local_gradient_noise"), second),
            "local_gradient_heterogeneity": slope * math.sqrt(np.mean([each.mean() for each in lengths])),
        }
    assert certificates(linear(outputs, bias), loss, outputs) == pytest.approx(wanted, rel=1e-9)
    assert lengths[0].mean() != pytest.approx(lengths[1].mean(), rel=0.05)  # clients differ


# --- problems of functions: a composition has at most what the chain rule makes of its parts ---------------------------------------


def estimates(**values):
    return {name: Certificate(name, value, "estimated", "found") for name, value in values.items()}


FOUND = dict(outer_smoothness=0.3, inner_smoothness=0.7, objective_smoothness=1e3, gradient_cap=1e3, objective_gap=1e3)


@pytest.mark.parametrize(
    ("kind", "properties", "slopes", "caps"),
    [
        ("local_composite", set(), {"inner_jacobian_mean_square": 1.3, "outer_mean_square_lipschitz": 1.7}, (1.3, 1.7)),
        ("shared_composite", {"no_extra_term"}, {"inner_mean_square_lipschitz": 1.4, "outer_lipschitz": 1.6}, (1.4, 1.6)),
        # the constant of the larger set of theorems first, where both are known
        ("local_composite", set(), {"inner_mean_square_lipschitz": 9.0, "inner_jacobian_mean_square": 1.3,
                                    "outer_lipschitz": 9.0, "outer_mean_square_lipschitz": 1.7}, (1.3, 1.7)),
        ("shared_composite", set(), {"inner_mean_square_lipschitz": 1.4, "outer_lipschitz": 1.6}, None),  # there is an h
        ("federated", set(), {}, None),
        ("local_composite", set(), {"inner_jacobian_mean_square": 1.3}, None),
        ("local_composite", set(), {"outer_lipschitz": 1.6}, None),
    ],
)  # fmt: skip
def test_constants_of_a_composition_are_capped(kind, properties, slopes, caps):
    problem = SimpleNamespace(kind=kind, properties=frozenset(properties))
    found = estimates(**FOUND, **slopes)
    made = functions.capped(problem, found, 1e4)
    if caps is None:
        assert made == found and made is not found
        return
    J, slope = caps
    wanted = {"objective_smoothness": J**2 * 0.3 + slope * 0.7, "gradient_cap": J * slope}
    for name, one in made.items():
        if name in wanted:
            assert one.value == pytest.approx(wanted[name]) and "which is below the 1000 of: found" in one.argument
        else:
            assert one is found[name]
    low = functions.capped(problem, {**found, **estimates(objective_smoothness=1e-3, gradient_cap=J * slope)}, 1e4)
    assert low["objective_smoothness"].value == 1e-3 and low["gradient_cap"].argument == "found"
    with pytest.raises(KeyError):
        functions.capped(problem, {name: one for name, one in found.items() if name != "outer_smoothness"}, 1e4)
    assert functions.capped(problem, found, 1.5) == found  # 1000 was found of 1.5: a part must be too small


def test_a_composition_of_functions_is_no_rougher_than_the_chain_rule_says():
    """exp(sum of waves) over clients: the direct search goes far out, where exp is steep; the parts do not."""
    data = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    problem = LocalFromFunctions(
        lambda x, row: torch.sin(row @ x).unsqueeze(0),
        lambda y, _: torch.exp(y).sum(),
        data,
        start=torch.ones(5, dtype=torch.float64),
        budget=Budget(lanes=4, steps=6, farthest=1.0),
    )
    found = {name: float(one.value) for name, one in problem.certificates.items()}
    rule = found["inner_jacobian_mean_square"] ** 2 * found["outer_smoothness"]
    rule += found["outer_mean_square_lipschitz"] * found["inner_smoothness"]
    assert found["objective_smoothness"] <= rule
    assert found["gradient_cap"] <= found["inner_jacobian_mean_square"] * found["outer_mean_square_lipschitz"]
    assert {one.kind for one in problem.certificates.values()} == {"estimated"}


class Given(nn.Module):
    """The output w on the input 1; it starts at 0."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1, 1, bias=False).double()
        with torch.no_grad():
            self.layer.weight.zero_()

    def forward(self, a):
        return self.layer(a)


def gap_at(y, form, **options):
    one = torch.ones(1, 1, dtype=torch.float64)
    problem = from_model(Given(), functional.mse_loss, [(one, y * one)], form, **options)
    found = estimate_constants(problem, along=problem.initial_point[None], only=frozenset({"objective_gap"}))[
        "objective_gap"
    ]
    assert found.kind == "upper"
    return Fraction(found.value)


@pytest.mark.parametrize("y", [0.7, 0.3, 0.9, 1.1, 0.6, 1.7])
def test_an_upper_bound_of_the_gap_is_one_in_exact_numbers(y):
    """The gap is y^2; in doubles it was now above and now below."""
    assert Fraction(y) ** 2 <= gap_at(y, "federated") <= Fraction(y) ** 2 * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("y", [1.8e-8, 1.2e-7, 3.3e-7, 0.5])
def test_the_gap_of_exponentials_does_not_cancel(y):
    """The gap is exp(y^2) - 1, of which the difference of doubles had lost a third."""
    square = Fraction(y) ** 2
    series = sum(square**k / math.factorial(k) for k in range(1, 20))
    assert series <= gap_at(y, "kl_clients") <= series * (1 + Fraction(1, 10**9))


def test_a_gap_of_0_that_is_rounding_is_an_estimate():
    """1e16 + 1 - 1e16 is 0 in doubles: the loss at the start is 1, and the computed one 0 was an upper bound of the gap."""
    inputs, targets = torch.tensor([[1e16, 1.0, 1e16]], dtype=torch.float64), torch.zeros(1, 1, dtype=torch.float64)

    def gap_of(weights, inputs):
        layer = nn.Linear(3, 1, bias=False).double()
        start = torch.tensor(weights, dtype=torch.float64)
        parts = [(inputs, targets), (inputs, targets)]
        made = from_model(layer, nn.MSELoss(), parts, "federated", start=start)
        return estimate_constants(made, along=made.initial_point[None], radius=0.0, points=2)["objective_gap"]

    found = gap_of([1.0, 1.0, -1.0], inputs)
    assert found.kind == "estimated" and found.value >= 1
    for weights, others in (([0.0, 0.0, 0.0], inputs), ([1.0, 1.0, -1.0], inputs.clamp_max(3.0))):
        assert gap_of(weights, others).kind == "upper"
