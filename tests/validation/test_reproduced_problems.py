"""The problems and the method that only the papers' experiments have, against plain torch."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fedco.algorithms import Draws, MinibatchSGD, Start, drive
from fedco.errors import InputError
from fedco.synthetic.models import from_model
from fedco.synthetic.models.data import ClientData
from fedco.validation.experiments.area import CodaPlus, area
from fedco.validation.experiments.figures import Setup
from fedco.validation.experiments.reproduce import run_figure
from fedco.validation.experiments.tasks import TaskMethod, with_rotations
from fedco.validation.papers.fcsg.experiments import tasks_of
from fedco.validation.papers.fcsg.gaussian import GaussianInvariant
from fedco.validation.papers.local_scgdm.experiments import characters
from fedco.validation.papers.local_scgdm.sinewave import SinewaveTasks
from torch import nn
from torch.func import functional_call, grad, jacrev
from torch.nn import functional

GENERATOR = torch.Generator().manual_seed(0)


def test_the_network_of_the_sines_has_autograds_derivatives():
    problem = SinewaveTasks(hidden=6)
    net = nn.Sequential(nn.Linear(1, 6), nn.ReLU(), nn.Linear(6, 1)).double()
    points = (
        torch.randn(10, generator=GENERATOR, dtype=torch.float64),
        torch.randn(10, generator=GENERATOR, dtype=torch.float64),
    )

    def loss(x):
        shapes = {"0.weight": (6, 1), "0.bias": (6,), "2.weight": (1, 6), "2.bias": (1,)}
        parts = dict(zip(shapes, x.split([6, 6, 6, 1]), strict=True))
        values = functional_call(net, {k: v.view(shapes[k]) for k, v in parts.items()}, (points[0][:, None],))
        return ((values[:, 0] - points[1]) ** 2).mean()

    x, v = (torch.randn(problem.dim, generator=GENERATOR, dtype=torch.float64) for _ in range(2))
    torch.testing.assert_close(problem.loss(x, points), loss(x))
    torch.testing.assert_close(problem.gradient_of(x, points), grad(loss)(x))
    torch.testing.assert_close(problem.hvp(x, v, points), jacrev(jacrev(loss))(x) @ v)
    at = torch.randn(2, problem.dim, generator=GENERATOR, dtype=torch.float64).requires_grad_()
    (wanted,) = torch.autograd.grad(problem.objective(at).sum(), at)
    torch.testing.assert_close(problem.gradient(at.detach()), wanted)


def test_the_tasks_are_the_papers():
    problem = SinewaveTasks()
    pairs = {(float(a), float(b)) for a, b in problem.table.flatten(0, 1)}
    assert pairs == {(float(a), float(b)) for a in range(1, 6) for b in range(1, 6)} and problem.table.shape == (
        5,
        5,
        2,
    )
    assert problem.dim == 121 and problem.lam == 0.001
    seen = problem.episode(Draws(0, 3, 5).at(4))
    assert seen.drawn.shape == (3, 5, 3) and seen.support[0].shape == (3, 5, 3, 10)
    assert all(len(set(row)) == 3 for row in seen.drawn.flatten(0, 1).tolist())
    amplitude, phase = problem.table[2, seen.drawn[1, 2, 0]].tolist()
    wanted = amplitude * torch.sin(seen.query[0][1, 2, 0] + phase * math.pi / 5)
    torch.testing.assert_close(seen.query[1][1, 2, 0], wanted)


@pytest.mark.parametrize("kind", ["task", "one"])
def test_the_methods_step_is_the_one_it_states(kind):
    """One client after another, in plain loops, for three steps and one average."""
    problem = SinewaveTasks(hidden=4)
    method = TaskMethod(eta=0.02, gamma=0.7, alpha=0.8, p=2, inner_states=kind)
    done = drive(method, problem, steps=3, seeds=1, start=Start())
    draws = Draws(0, 1, 5)
    x = [problem.initial_point.clone() for _ in range(5)]
    u = [[None] * 5 if kind == "task" else [None] for _ in range(5)]
    m = [None] * 5
    for t in range(3):
        seen = problem.episode(draws.at(t))
        for k in range(5):
            pieces = [(seen.support[0][0, k, j], seen.support[1][0, k, j]) for j in range(3)]
            judged = [(seen.query[0][0, k, j], seen.query[1][0, k, j]) for j in range(3)]
            tuned = [x[k] - problem.lam * problem.gradient_of(x[k], one) for one in pieces]
            if kind == "one":
                mean = sum(tuned) / 3
                u[k][0] = mean if u[k][0] is None else 0.3 * u[k][0] + 0.7 * mean
                used = [u[k][0]] * 3
            else:
                used = []
                for j in range(3):
                    i = int(seen.drawn[0, k, j])
                    u[k][i] = tuned[j] if u[k][i] is None else 0.3 * u[k][i] + 0.7 * tuned[j]
                    used.append(u[k][i])
            z = 0
            for at, one, two in zip(used, pieces, judged, strict=True):
                slope = problem.gradient_of(at, two)
                z = z + (slope - problem.lam * problem.hvp(x[k], slope, one)) / 3
            m[k] = z if t == 0 else 0.2 * m[k] + 0.8 * z
            x[k] = x[k] - 0.02 * m[k]
        if t == 1:
            x, m = ([sum(parts) / 5] * 5 for parts in (x, m))
            if kind == "one":
                u = [[sum(own[0] for own in u) / 5] for _ in range(5)]
    torch.testing.assert_close(done.state.x[0], torch.stack(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["task", "one"])
def test_every_run_of_a_grid_of_weights_is_the_run_alone(kind):
    """Two grid points with two seeds each, over a communication."""
    problem = SinewaveTasks(hidden=3, points=4)
    grid = {"eta": (0.02, 0.03), "gamma": (0.7, 0.4), "alpha": (0.8, 1.0)}
    whole = TaskMethod(**{n: torch.tensor(v, dtype=torch.float64) for n, v in grid.items()}, p=2, inner_states=kind)
    found = drive(whole, problem, steps=3, seeds=2).state.x
    assert found.shape == (4, 5, problem.dim)
    for point in range(2):
        one = TaskMethod(**{name: values[point] for name, values in grid.items()}, p=2, inner_states=kind)
        for seed in range(2):
            alone = drive(one, problem, steps=3, seeds=[seed]).state.x[0]
            torch.testing.assert_close(found[2 * point + seed], alone, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("ratio", "sigma_1"), [(2.0, 1.0), (0.5, 2.0)])
def test_the_gaussian_problem_draws_what_the_paper_says_and_has_autograds_derivatives(ratio, sigma_1):
    """Outer samples of deviation sigma_1, inner ones of the ratio times that over the root of m."""
    problem = GaussianInvariant(ratio=ratio, clients=2, sigma_1=sigma_1, test=2000)
    at = torch.randn(2, 10, generator=GENERATOR, dtype=torch.float64).requires_grad_()
    (wanted,) = torch.autograd.grad(problem.objective(at).sum(), at)
    torch.testing.assert_close(problem.gradient(at.detach()), wanted)
    draws = Draws(0, 50, 2).at(0)
    outer = problem.sample_outer(draws, 40)
    assert float(outer.a.std()) == pytest.approx(sigma_1, rel=0.02)
    assert torch.equal(outer.b, torch.where((outer.a * problem.truth).sum(-1) >= 0, 1.0, -1.0).double())
    for m in (1, 4, 100):
        shaken = problem.sample_inner(draws, outer, m).eta - outer.a
        assert float(shaken.std()) == pytest.approx(ratio * sigma_1 / math.sqrt(m), rel=0.02)
    x = torch.full((50, 2, 10), 0.7, dtype=torch.float64)
    inner = problem.sample_inner(draws, outer, 3)
    probe = x[:, :, None].expand(-1, -1, 40, -1).clone().requires_grad_()
    value = torch.nn.functional.softplus(-outer.b * (inner.eta * probe).sum(-1))
    value = value + problem.lam * (problem.gamma * probe**2 / (1 + problem.gamma * probe**2)).sum(-1)
    (slope,) = torch.autograd.grad(value.sum(), probe)
    torch.testing.assert_close(problem.sample_gradient(x, outer, inner), slope)


# --- few-shot classification -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def omniglot_files(tmp_path_factory):
    """Six alphabets of four characters with six images, of which no two are alike."""
    from matplotlib.image import imsave

    folder, rng = tmp_path_factory.mktemp("omniglot"), np.random.default_rng(0)
    for k in range(6):
        for c in range(4):
            place = folder / "images_background" / f"Alphabet{k}" / f"character{c}"
            place.mkdir(parents=True)
            drawn = rng.random((12, 12)) > 0.5
            for j in range(6):
                imsave(
                    place / f"{j}.png", np.kron(drawn ^ (rng.random((12, 12)) > 0.95), np.ones((2, 2))), cmap="gray_r"
                )
    return folder


def test_a_task_is_fine_tuned_and_judged_on_other_images(omniglot_files):
    problem = tasks_of(Setup(data=omniglot_files), 1)
    assert problem.clients == 3 and [len(own) for own in problem.owned] == [5, 5, 5] and len(problem.held) == 6
    parts = [set(own.tolist()) for own in (*problem.owned, problem.held)]
    assert len(set.union(*parts)) == sum(map(len, parts))  # no character is in two parts
    draws = Draws(0, 2, 3).at(0)
    outer = problem.sample_outer(draws, 2)
    for k, own in enumerate(parts[:3]):
        assert all(set(row) <= own and len(set(row)) == 5 for row in outer.outcome[:, k].flatten(0, 1).tolist())
    assert all(sorted(row) == list(range(6)) for row in outer.order.flatten(0, 3).tolist())
    with pytest.raises(ValueError, match="shots of a task"):
        problem.sample_inner(draws, outer, 2)
    x = torch.stack([problem.initial_point, problem.initial_point.flip(0)]).unsqueeze(1).expand(-1, 3, -1)
    found = problem.sample_gradient(x, outer, problem.sample_inner(draws, outer, 1))
    net = problem.flat.model

    def loss(p, images, labels):
        return functional.cross_entropy(problem.flat.outputs(p, images), labels)

    at = x[1, 2].clone().requires_grad_()
    chosen, order = outer.outcome[1, 2, 1], outer.order[1, 2, 1]
    first = problem.pixels[chosen, order[:, 0]]
    rest = torch.stack([problem.pixels[chosen[n], order[n, j]] for n in range(5) for j in range(1, 6)])
    (slope,) = torch.autograd.grad(loss(at, first, torch.arange(5)), at, create_graph=True)
    judged = loss(at - problem.lam * slope, rest, torch.arange(5).repeat_interleave(5))
    (wanted,) = torch.autograd.grad(judged, at)
    torch.testing.assert_close(found[1, 2, 1], wanted)
    assert isinstance(net, nn.Sequential) and sum(isinstance(part, nn.Conv2d) for part in net) == 4


def test_methods_with_and_without_inner_states_learn_tasks(omniglot_files):
    """Without memory of inner states the method of tasks is the biased gradient of FCSG, on its own draws."""
    problem = tasks_of(Setup(data=omniglot_files), 1)
    draws = Draws(0, 1, 3).at(0)
    seen = problem.episode(draws)
    x = problem.initial_point.view(1, 1, 1, -1).expand(1, 3, 1, -1)
    slope = problem.gradient_of(x - problem.lam * problem.gradient_of(x, seen.support), seen.query)
    z = slope - problem.lam * problem.hvp(x, slope, seen.support)
    outer = problem.sample_outer(draws, 1, purpose="tasks")
    torch.testing.assert_close(problem.sample_gradient(x[:, :, 0], outer), z)
    method = TaskMethod(eta=0.1, gamma=1.0, alpha=1.0, p=2, inner_states="one")
    stepped = drive(method, problem, steps=1, seeds=1)
    torch.testing.assert_close(stepped.state.x, x[:, :, 0] - 0.1 * z[:, :, 0])


def test_characters_are_turned_and_alphabets_stay_together(omniglot_files):
    problem = characters(Setup(data=omniglot_files), 5, 1)
    assert problem.clients == 3 and {len(own) for own in problem.owned} == {16} and len(problem.held) == 16
    pixels = torch.arange(8.0).view(2, 1, 4)
    turned = with_rotations(pixels, 2)
    assert turned.shape == (8, 1, 4) and torch.equal(turned[[0, 4]], pixels)
    assert turned[1, 0].tolist() == [1.0, 3.0, 0.0, 2.0] and turned[2, 0].tolist() == [3.0, 2.0, 1.0, 0.0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["local_scgdm/figure_6", "fcsg/figure_2", "fcsg/figure_3"])
def test_the_figures_of_omniglot_run_on_its_files(name, omniglot_files, tmp_path):
    done = run_figure(name, Setup(seeds=6, data=omniglot_files), tmp_path)
    assert done.made.data_name == "Omniglot" and done.judged
    for curve in done.made.curves:
        assert np.isfinite(curve.values["train_loss"]).all() and (curve.values["accuracy"] >= 0).all()


def test_tasks_that_want_more_characters_than_there_are_are_refused(omniglot_files, tmp_path):
    with pytest.raises(InputError, match=r"tasks of 20 characters: .* only 16"):
        run_figure("local_scgdm/figure_7", Setup(seeds=6, data=omniglot_files), tmp_path)


def test_coda_plus_is_a_plain_loop_of_descent_and_ascent():
    """By hand: one client and example at a time, autograd of F, the dual variable up and all others down."""
    rng = np.random.default_rng(0)
    net = nn.Linear(3, 1).double()
    parts = [(torch.tensor(rng.normal(size=(n, 3))), torch.tensor([1] + [0] * (n - 2) + [1])) for n in (4, 6)]
    data = ClientData.of(parts)
    problem = area(net, data, data, "tiny")
    method = CodaPlus(eta=0.1, prox=0.5, tau=2, stage=4, b=3)
    found = drive(method, problem, steps=8, seeds=2, start=Start(x=problem.initial_point + 0.2)).state
    p = 4 / 10

    def surrogate(x, inputs, y):
        a, b, alpha, w, bias = x[0], x[1], x[2], x[3:6], x[6]
        h = inputs @ w + bias
        if y == 1:
            return (1 - p) * (h - a) ** 2 - 2 * (1 + alpha) * (1 - p) * h - p * (1 - p) * alpha**2
        return p * (h - b) ** 2 + 2 * (1 + alpha) * p * h - p * (1 - p) * alpha**2

    for run in range(2):
        centre = (problem.initial_point + 0.2).numpy().copy()
        x = [centre.copy(), centre.copy()]
        for t in range(8):
            index = problem.sample(Draws(0, 2, 2).at(t), 3).index[run]
            for k in range(2):
                at = torch.tensor(x[k], requires_grad=True)
                loss = sum(surrogate(at, parts[k][0][i], int(parts[k][1][i])) for i in index[k].tolist()) / 3
                (slope,) = torch.autograd.grad(loss, at)
                for j in range(7):
                    step = 0.1 / 3 ** (t // 4)
                    if j == 2:
                        x[k][j] += step * slope[j].item()
                    else:
                        x[k][j] -= step * (slope[j].item() + 0.5 * (x[k][j] - centre[j]))
            if t % 2 == 1:
                x = [(x[0] + x[1]) / 2, (x[0] + x[1]) / 2]
            if t == 3:
                centre = x[0].copy()
        np.testing.assert_allclose(found.x[run].numpy(), np.stack(x), rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="multiple of tau"):
        CodaPlus(eta=0.1, prox=0.5, tau=2, stage=3, b=1)


def test_the_saddle_problem_has_the_area_in_its_scores():
    """At the best a, b and alpha the value is p (1 - p) (E (1 - h(z+) + h(z-))^2 - 1), the square surrogate of the area."""
    rng = np.random.default_rng(1)
    inputs, labels = torch.tensor(rng.normal(size=(12, 3))), torch.tensor([1] * 4 + [0] * 8)
    data = ClientData.of([(inputs, labels)])
    net = nn.Linear(3, 1).double()
    problem = area(net, data, data, "tiny")
    h = net(inputs).detach().view(-1)
    plus, minus = h[:4], h[4:]
    x = problem.initial_point.clone()
    x[0], x[1], x[2] = plus.mean(), minus.mean(), minus.mean() - plus.mean()
    p = 4 / 12
    pairs = ((1 - plus[:, None] + minus[None]) ** 2).mean()
    torch.testing.assert_close(problem.objective(x[None])[0], p * (1 - p) * (pairs - 1))
    assert problem.descent_ascent(x.expand(1, 1, -1))[0, 0, :3].abs().max() < 1e-12
    found = problem.predict(x[None], "test")
    torch.testing.assert_close(found.scores[0, 0, :, 0], h)
    uneven = ClientData.of([(inputs[:8], labels[:8]), (inputs[8:], labels[8:])])
    told = area(net, uneven, uneven, "tiny").predict(x[None])
    assert told.weights.tolist() == [[1.0] * 8, [1.0] * 4 + [0.0] * 4]  # every example once, and no filling
    assert told.labels[0].tolist() == [1] * 4 + [0] * 4 and told.scores.shape == (1, 2, 8, 1)


def test_minibatch_sgd_is_fastdro_with_the_kl_divergence_and_no_cap():
    """FastDRO's minibatch step weights the gradients of a batch by the worst law on it: here the law is searched for."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(2)
    inputs, labels, weight = torch.tensor(rng.normal(size=(12, 3))), torch.tensor([0, 1] * 6), 0.7
    net = nn.Linear(3, 2).double()
    parts = [(inputs[:6], labels[:6]), (inputs[6:], labels[6:])]
    problem = from_model(net, functional.cross_entropy, parts, "kl_dro", weight=weight)
    moved = drive(MinibatchSGD(eta=0.3, b=3), problem, steps=1, seeds=1).state.x[0, 0]
    index = problem.sample(Draws(0, 1, 2).at(0), 3).index[0]
    rows = torch.cat([index[0], 6 + index[1]])
    losses = functional.cross_entropy(net(inputs[rows]), labels[rows], reduction="none")
    values = losses.detach().numpy()

    def minus_worst(logits):
        q = np.exp(logits - logits.max())
        q /= q.sum()
        return -(q @ values - weight * (q * np.log(len(q) * q)).sum())

    logits = minimize(minus_worst, np.zeros(6), options={"gtol": 1e-12}).x
    q = np.exp(logits - logits.max())
    slopes = torch.autograd.grad((torch.tensor(q / q.sum()) * losses).sum(), list(net.parameters()))
    start = torch.cat([value.detach().flatten() for value in net.parameters()])
    wanted = start - 0.3 * torch.cat([slope.flatten() for slope in slopes])
    torch.testing.assert_close(moved, wanted, rtol=1e-5, atol=1e-6)


# --- what the papers say of their data, once more --------------------------------------------------------------------------


def test_the_gaussian_objective_is_that_of_the_paper_with_its_regulariser():
    """Equation (4) on the held-out samples, lambda = 0.001 and gamma = 10; sigma_1 = 1, d = 10, 16 clients, 50000 samples."""
    problem = GaussianInvariant(test=300)
    assert (problem.lam, problem.gamma, problem.sigma_1, problem.dim, problem.clients) == (0.001, 10.0, 1.0, 10, 16)
    assert GaussianInvariant().test == 50_000 and not problem.initial_point.any() and len(problem.initial_point) == 10
    a, b = (part.numpy() for part in problem.held_out)
    assert a.shape == (300, 10) and set(b) == {1.0, -1.0} and ((a @ problem.truth.numpy() >= 0) == (b > 0)).all()
    x = np.linspace(-1, 2, 10)
    losses = np.log1p(np.exp(-b * (a @ x))).mean() + 0.001 * (10 * x**2 / (1 + 10 * x**2)).sum()
    assert float(problem.objective(torch.from_numpy(x)[None])[0]) == pytest.approx(losses, rel=1e-12)
    assert torch.equal(problem.data_loss(torch.ones(1, 10).double()), problem.objective(torch.ones(1, 10).double()))
    scores = problem.predict(torch.from_numpy(x)[None])
    assert scores.scores.shape == (1, 1, 300, 1) and scores.labels.tolist() == [(b > 0).astype(int).tolist()]
    np.testing.assert_allclose(scores.scores[0, 0, :, 0], a @ x)
    wide = GaussianInvariant(test=2000, sigma_1=3.0)
    assert float(wide.held_out[0].std()) == pytest.approx(3.0, rel=0.05)
    assert wide.to_clients(torch.ones(2, 10)).shape == (2, 16, 10)


def test_new_sines_are_drawn_over_the_papers_ranges_and_judged_after_one_step():
    """Amplitudes in [0.1, 5], phases in [0, pi] in units of pi/5, 10 points in [-5, 5] to tune and 10 others to judge."""
    problem = SinewaveTasks(unseen=400)
    assert SinewaveTasks().unseen == 600 and (problem.hidden, problem.points, problem.drawn, problem.tasks) == (
        40,
        10,
        3,
        5,
    )
    (x, y), (other, _) = problem.fixed["test"]
    assert x.shape == (400, 10) and problem.fixed["train"][0][0].shape == (25, 10) and not torch.equal(x, other)
    for inputs in (x, other):
        assert float(inputs.min()) == pytest.approx(-5, abs=0.05) and float(inputs.max()) == pytest.approx(5, abs=0.05)
    assert float(y.abs().max()) <= 5 and float(y.abs().max()) > 4.5
    generator = torch.Generator().manual_seed(1)
    table = torch.rand(400, 2, generator=generator, dtype=torch.float64)
    amplitude, phase = 0.1 + 4.9 * table[:, :1], 5 * table[:, 1:]
    np.testing.assert_allclose(y, amplitude * torch.sin(x + phase * math.pi / 5))
    at = problem.initial_point[None]
    losses = []
    for k in range(400):
        one, two = ((p[0][k], p[1][k]) for p in problem.fixed["test"])
        losses.append(float(problem.loss(at[0] - 0.001 * problem.gradient_of(at[0], one), two)))
    assert float(problem.data_loss(at, "test")[0]) == pytest.approx(np.mean(losses), rel=1e-12)
    assert (
        float(problem.objective(at)[0])
        == float(problem.data_loss(at, "train")[0])
        != float(problem.data_loss(at, "test")[0])
    )


def test_a_curve_is_fitted_to_ten_points_in_one_step():
    problem = SinewaveTasks(hidden=6)
    task, inputs = torch.tensor([2.5, 1.5], dtype=torch.float64), torch.linspace(-5, 5, 7, dtype=torch.float64)
    x = torch.stack([problem.initial_point, 2 * problem.initial_point])
    found, truth = problem.fitted(x, task, inputs)
    np.testing.assert_allclose(truth, 2.5 * torch.sin(inputs + 1.5 * math.pi / 5))
    uniform = torch.rand(10, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    points = 10 * uniform - 5
    support = (points, 2.5 * torch.sin(points + 1.5 * math.pi / 5))
    tuned = x - 0.001 * problem.gradient_of(x, support)
    into, bias, out, last = tuned[1, :6], tuned[1, 6:12], tuned[1, 12:18], tuned[1, 18]
    np.testing.assert_allclose(found[1], torch.relu(inputs[:, None] * into + bias) @ out + last)


def test_a_unit_at_its_kink_has_the_derivative_of_torchs_relu():
    problem = SinewaveTasks(hidden=1)
    x = torch.tensor([1.0, 0.0, 2.0, 0.5], dtype=torch.float64)
    points = (torch.tensor([0.0, 1.0], dtype=torch.float64), torch.tensor([3.0, 1.0], dtype=torch.float64))

    def loss(at):
        return ((torch.relu(points[0] * at[0] + at[1]) * at[2] + at[3] - points[1]) ** 2).mean()

    np.testing.assert_allclose(problem.gradient_of(x, points), grad(loss)(x))


def test_what_a_method_of_tasks_sends() -> None:
    problem = SimpleNamespace(dim=5)

    def sent(**more: Any) -> tuple[int, int, int]:
        found = TaskMethod(**{"eta": 0.1, "gamma": 0.5, "alpha": 0.5, "p": 3, "inner_states": "task", **more}).messages(
            problem, 11
        )
        return found.rounds, found.model_floats, found.embedding_floats

    assert sent() == (3, 30, 0) and sent(inner_states="one") == (3, 30, 15)
    assert sent(alpha=1) == (3, 15, 0) and sent(alpha=torch.tensor([1.0, 0.5], dtype=torch.float64)) == (3, 30, 0)
