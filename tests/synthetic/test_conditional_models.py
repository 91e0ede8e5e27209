"""The conditional forms of a model, by their definitions and by constants that are known in closed form."""

import itertools
import math
from dataclasses import replace

import fedco
import pytest
import torch
from fedco.algorithms import Draws
from fedco.errors import InputError
from fedco.synthetic.estimation import estimate_constants
from fedco.synthetic.estimation.conditional import Outcomes
from fedco.synthetic.estimation.glm import certified_views
from fedco.synthetic.estimation.losses import Losses
from fedco.synthetic.kinds import InnerSample, OuterSample
from fedco.synthetic.models import from_model
from sine_model import Wave
from torch import nn
from torch.nn import functional

GENERATOR = torch.Generator().manual_seed(3)


def normal(*shape):
    return torch.randn(*shape, generator=GENERATOR, dtype=torch.float64)


CLIENTS, ROWS, VIEWS = 2, 3, 4
VIEWED = [(normal(ROWS, VIEWS, 2), torch.tensor([0, 1, 1])) for _ in range(CLIENTS)]
TASKS = [(normal(ROWS, 5, 2), normal(ROWS, 5, 1)) for _ in range(CLIENTS)]
RANKED = [(normal(6, 2), torch.tensor([1, 0, 1, 0, 0, 0])) for _ in range(CLIENTS)]
OUTER = OuterSample(torch.tensor([[[0, 2]], [[1, 1]]]).movedim(0, 1).contiguous())
INNER = InnerSample(torch.tensor([[[[0, 3], [1, 1]], [[2, 0], [1, 0]]]]))


def squared(outputs, targets):
    return (outputs - targets).square().mean()


def invariant(model=None):
    return from_model(model or Wave(2), functional.cross_entropy, VIEWED, "invariant")


def tasks(**options):
    return from_model(Wave(1), squared, TASKS, "maml_tasks", **{"support": 2, "lam": 0.3, **options})


def ranked(**options):
    return from_model(nn.Sequential(nn.Linear(2, 1), nn.Tanh()), None, RANKED, "average_precision", **options)


MADE = {"invariant": invariant, "maml_tasks": tasks, "average_precision": ranked}
X = normal(1, CLIENTS, 6)


def check_by_definition(problem, x, inner, rows_of, tuned, judged, v):
    """Values, pulled vectors, losses and slopes at every client and place, for y = tuned(k, i, rows, x) and the loss judged(k, i, y)."""
    size = len(v)
    for k, place in itertools.product(range(CLIENTS), range(2)):
        i = int(OUTER.outcome[0, k, place])
        at = x[0, k].clone().requires_grad_()
        y = tuned(k, i, rows_of if inner is None else inner.eta[0, k, place].tolist(), at)
        values = problem.inner(x, OUTER, inner)
        torch.testing.assert_close(values[0, k, place], y.detach())
        (pulled,) = torch.autograd.grad(y @ v, at, retain_graph=True)
        found = problem.inner_vjp(x, v.expand(1, CLIENTS, 2, size), OUTER, inner)
        torch.testing.assert_close(found[0, k, place], pulled)
        loss = judged(k, i, y)
        torch.testing.assert_close(problem.outer_value(values, OUTER)[0, k, place], loss.detach())
        (slope,) = torch.autograd.grad(loss, at)
        torch.testing.assert_close(problem.sample_gradient(x, OUTER, inner)[0, k, place], slope)


@pytest.mark.parametrize("inner", [None, INNER], ids=["exact", "sampled"])
def test_an_invariant_model_by_definition(inner):
    def g(k, i, views, x):
        return torch.sin(VIEWED[k][0][i][views] @ x[:4].view(2, 2).T + x[4:]).mean(0)

    def judged(k, i, y):
        return functional.cross_entropy(y[None], VIEWED[k][1][i : i + 1])

    check_by_definition(invariant(), X, inner, list(range(VIEWS)), g, judged, torch.tensor([2.0, -1.0]).double())


def test_an_invariant_model_may_give_one_number_for_a_view():
    """A row of one number is the same: outputs `(batch,)` had no axis to take the mean of."""
    rows = [(views, labels.double()[:, None]) for views, labels in VIEWED]
    numbers = [(views, labels[:, 0]) for views, labels in rows]
    row, number = (
        from_model(nn.Sequential(Wave(1), *last), squared, data, "invariant")
        for last, data in (((), rows), ((nn.Flatten(0),), numbers))
    )
    x = torch.stack([row.initial_point, 0.3 - row.initial_point])
    number = replace(number, parts=replace(number.parts, start=row.initial_point))
    assert torch.equal(number.objective(x), row.objective(x)) and torch.equal(number.gradient(x), row.gradient(x))


def task_loss(k, i, rows, at):
    inputs, targets = TASKS[k][0][i][rows], TASKS[k][1][i][rows]
    return (torch.sin(inputs @ at[:2] + at[2]) - targets[:, 0]).square().mean()


@pytest.mark.parametrize("inner", [None, InnerSample(INNER.eta % 2)], ids=["exact", "sampled"])
def test_maml_over_tasks_by_definition(inner):
    def g(k, i, rows, x):
        return x - 0.3 * torch.autograd.grad(task_loss(k, i, rows, x), x, create_graph=True)[0]

    def judged(k, i, y):
        return task_loss(k, i, [2, 3, 4], y)

    check_by_definition(tasks(), X[..., :3], inner, [0, 1], g, judged, torch.tensor([2.0, -1.0, 0.5]).double())


def test_scores_of_tasks_are_those_of_the_tuned_models():
    problem, x = tasks(), X[..., :3]
    found = problem.predict(x[:, 0])
    for k, i in itertools.product(range(CLIENTS), range(ROWS)):
        at = x[0, 0].clone().requires_grad_()
        (step,) = torch.autograd.grad(task_loss(k, i, [0, 1], at), at)
        own, judges = (at - 0.3 * step).detach(), slice(3 * i, 3 * i + 3)
        scores = torch.sin(TASKS[k][0][i][2:] @ own[:2] + own[2])
        torch.testing.assert_close(found.scores[0, k, judges, 0], scores)
        assert torch.equal(found.labels[k, judges], TASKS[k][1][i][2:])
    assert found.scores.shape == (1, CLIENTS, 3 * ROWS, 1) and found.weights is None


@pytest.mark.parametrize("form", MADE)
def test_the_objective_is_exact_and_an_inner_sample_is_a_mean_of_outcomes(form):
    """grad F is that of F; the mean over all outcomes of eta is the inner value that takes none; draws reach every outcome."""
    problem = MADE[form]()
    x = (problem.initial_point + 0.3 * normal(2, problem.dim)).requires_grad_()
    (wanted,) = torch.autograd.grad(problem.objective(x).sum(), x)
    torch.testing.assert_close(problem.gradient(x.detach()), wanted)
    outer, weights = problem.outer_atoms()
    inner, shares = problem.inner_atoms(outer)
    at = problem.to_clients(x.detach())
    alone = [problem.inner(at, outer, inner.only(j)) for j in range(len(shares))]
    torch.testing.assert_close(torch.stack(alone).mean(0), problem.inner(at, outer))
    assert float(weights.sum()) == pytest.approx(1) and float(shares.sum()) == pytest.approx(1)
    drawn = problem.sample_outer(Draws(0, 40, CLIENTS).at(0), 9)
    assert drawn.outcome.unique().tolist() == list(range(len(weights)))
    assert problem.sample_inner(Draws(0, 40, CLIENTS).at(0), drawn, 7).eta.unique().tolist() == list(range(len(shares)))


def test_average_precision_has_no_loss_of_an_example_unless_one_is_given():
    settings = {"alpha": 0.1, "q": 2, "m": 2}
    with pytest.raises(InputError, match="average_precision: has no loss of an example"):
        fedco.run("fcsg", ranked(), T=1, seeds=1, metrics=["train_loss"], settings=settings)


# --- constants -------------------------------------------------------------------------------------------------------------


class Line(nn.Linear):
    """One linear layer that is not recognised as one: everything is estimated."""


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("loss", "slope", "curvature"), [("cross_entropy", math.sqrt(2), 0.5), ("mse_loss", None, 1.0)]
)
def test_constants_of_a_linear_invariant_model(bias, loss, slope, curvature):
    """J J^T = (|v|^2 + 1) I for one view v, the cross-entropy has slope sqrt 2 and curvature 1/2 at most, and the map is linear."""
    data = VIEWED if slope else [(views, normal(ROWS, 2)) for views, _ in VIEWED]
    torch.manual_seed(0)
    linear = nn.Linear(2, 2, bias=bias).double()
    other = Line(2, 2, bias=bias).double()
    other.load_state_dict(linear.state_dict())
    about = torch.cat([p.detach().flatten() for p in linear.parameters()])[None]
    proved, searched = (
        estimate_constants(from_model(model, loss, data, "invariant"), along=about, points=4, radius=3.0)
        for model in (linear, other)
    )
    lengths = torch.stack([(views.square().sum(-1) + bias) for views, _ in data])
    ones = torch.ones(CLIENTS * ROWS, int(bias), dtype=torch.float64)
    means = torch.cat([torch.cat([views.mean(1) for views, _ in data]), ones], dim=-1)  # t of the mean view
    moment = float(torch.linalg.eigvalsh(means.T @ means / len(means))[-1])
    wanted = {
        "objective_smoothness": curvature * moment,
        **({"gradient_cap": slope * float(means.norm(dim=-1).mean())} if slope else {}),
        "inner_sample_lipschitz": math.sqrt(float(lengths.max())),
        "inner_jacobian_mean_square": math.sqrt(float(lengths.mean(-1).max())),
        "inner_sample_smoothness": 1e-9,  # it is 0, where a theorem wants a positive number
        "outer_sample_smoothness": curvature,
        **({"outer_sample_lipschitz": slope, "outer_mean_square_lipschitz": slope} if slope else {}),
    }
    for name, value in wanted.items():
        assert proved[name].value == pytest.approx(value) and proved[name].kind == "upper", name
    assert proved["inner_value_noise"].kind == "estimated"  # it grows with the parameters
    assert (proved["gradient_cap"].kind == "upper") is (slope is not None)
    for name, one in searched.items():
        assert one.kind == "estimated" or name == "objective_gap"
        if proved[name].kind == "upper" and name != "objective_gap":
            assert one.value <= proved[name].value * (1 + 1e-6), name
            if name.startswith("inner_") or not slope:  # these do not depend on the parameters
                assert one.value == pytest.approx(proved[name].value, rel=1e-6), name


@pytest.mark.parametrize(
    "name", ["inner_sample_lipschitz", "inner_jacobian_mean_square", "outer_sample_lipschitz", "gradient_cap"]
)
def test_a_certificate_that_is_too_small_is_not_handed_out(name, monkeypatch):
    from fedco.synthetic.estimation import conditional

    def smaller(problem):
        for one in certified_views(problem):
            yield replace(one, value=0.1 * float(one.value)) if one.quantity == name else one

    problem = invariant(nn.Linear(2, 2).double())
    asked = {"along": problem.initial_point[None], "points": 2, "only": frozenset({name})}
    assert estimate_constants(problem, **asked)[name].kind == "upper"
    monkeypatch.setattr(conditional, "certified_views", smaller)
    with pytest.raises(InputError, match=f"{name}: certified as at most .* at a point that was tried"):
        estimate_constants(problem, **asked)


@pytest.mark.parametrize("form", MADE)
def test_every_constant_is_at_least_what_its_definition_gives_at_the_start(form):
    """The inequalities of the conformance suite, at a point of the region, do not exceed what was estimated there."""
    from fedco.synthetic.conformance.kinds import get_kind

    problem = MADE[form]()
    at = problem.initial_point[None]
    found = {name: one.value for name, one in estimate_constants(problem, along=at, radius=1e-9, points=2).items()}
    kind = get_kind("conditional")
    assert set(kind.required) <= found.keys()
    checked = 0
    for name, inequality in kind.inequalities.items():
        if name not in found or name == "objective_gap":
            continue
        outer, _ = problem.outer_atoms()
        points = [at] if inequality.space == "x" else [problem.inner(problem.to_clients(at), outer)[:, 0, 0]]
        if inequality.pair:
            near = points[0] + 1e-4 * normal(40, points[0].shape[-1])
            points = [points[0].expand_as(near), near]
        ratio = float(inequality.ratio(problem, *points).max())
        checked += 1
        assert ratio <= found[name] * (1 + 1e-3), name
        if inequality.space == "x" and not inequality.pair:
            assert ratio == pytest.approx(found[name], rel=1e-6), name  # one point: the definition itself
    assert checked >= 7


def test_the_second_derivatives_of_a_tuned_model_are_lam_times_those_of_the_gradient():
    """And no more than the largest of an example's sum of third derivatives, here by central differences of its Hessian."""
    at, found = tasks().initial_point[None], {}
    for lam in (0.3, 0.6):
        only = frozenset({"inner_sample_smoothness"})
        found[lam] = estimate_constants(tasks(lam=lam), along=at, radius=1e-9, points=2, only=only)[
            "inner_sample_smoothness"
        ].value
    assert found[0.6] == pytest.approx(2 * found[0.3])
    losses = Losses(tasks().tuning())
    steps = normal(200, 3)
    steps = 1e-4 * steps / steps.norm(dim=-1, keepdim=True)
    largest = 0.3 * float(losses.hessian_change(at.expand(200, -1), steps).max())
    assert 0.9 * largest <= found[0.3] <= 1.3 * largest


def test_the_smoothness_of_a_wave_by_its_hessian():
    """Of one component the Hessian norm itself, here against the whole Hessian by autograd."""
    problem = from_model(Wave(1), squared, [(a, b[:, None].double()) for a, b in VIEWED], "invariant")
    x = problem.initial_point[None] + 0.2
    norms = []
    for views, _ in VIEWED:
        for view in views.flatten(0, 1):
            full = torch.autograd.functional.hessian(lambda at, v=view: torch.sin(v @ at[:2] + at[2]), x[0])
            norms.append(float(torch.linalg.matrix_norm(full, ord=2)))
    assert float(Outcomes(problem).sample_smoothness(x)) == pytest.approx(max(norms), rel=1e-5)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: from_model(nn.Linear(2, 2), functional.cross_entropy, [(normal(3, 2), torch.tensor([0, 1, 1]))], "invariant"),
         r"invariant: wanted inputs \(views, ...\) of every example, got examples of shape \(2,\)"),
        (lambda: from_model(Wave(2), functional.cross_entropy, [VIEWED[0], (VIEWED[1][0][:2], VIEWED[1][1][:2])], "invariant"),
         r"wanted as many examples at every client, got \[3, 2\]"),
        (lambda: tasks(support=5), "support: wanted 1 to 4 of the 5 examples of a task, got 5"),
        (lambda: from_model(Wave(2), functional.cross_entropy, VIEWED, "maml_tasks"), r"maml_tasks: wanted inputs and targets"),
        (lambda: from_model(nn.Linear(2, 1), None, VIEWED, "invariant"), "loss: wanted a function"),
        (lambda: fedco.estimate(Wave(2), functional.cross_entropy, VIEWED, "invariant", theorem="baselines.local_sgd"),
         "baselines.local_sgd: is about the kind federated, which the forms federated make; got the form invariant, of the kind cond"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(make, said):
    with pytest.raises(InputError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_the_outer_functions_are_looked_at_where_batches_of_inner_draws_go():
    """One parameter, three examples to tune on: only the mean of (6, 6, -6) comes where the loss of the judge is steep."""

    def loss(outputs, targets):
        pull = torch.sqrt(1 + (outputs - targets) ** 2) - 1
        steep = 50 * torch.sqrt(1e-4 + (outputs - 0.66).clamp(-0.2, 0.2) ** 2) + 1
        return torch.where(targets == 0, steep, pull).mean()

    model = torch.nn.Linear(1, 1, bias=False).double()
    torch.nn.init.zeros_(model.weight)
    inputs = torch.ones(2, 4, 1, dtype=torch.float64)
    targets = torch.tensor([-6.0, 6.0, 0.6, 0.0], dtype=torch.float64).view(1, 4, 1).repeat(2, 1, 1)
    problem = from_model(model, loss, [(inputs, targets)] * 2, "maml_tasks", lam=2.0, support=3)
    found = estimate_constants(
        problem, along=torch.zeros(1, 1).double(), radius=0.1, points=10, only=frozenset({"outer_sample_lipschitz"})
    )
    assert found["outer_sample_lipschitz"].value > 40
