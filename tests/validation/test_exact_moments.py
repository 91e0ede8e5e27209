"""The exact expectations against enumeration, against the engine's own step, and against Monte Carlo."""

from dataclasses import fields
from fractions import Fraction

import pytest
import torch
from exact_moments import Chain, NotAffine, contradicts
from fedco.algorithms import METHODS, Start, drive
from fedco.algorithms.engine import metrics
from fedco.validation.statistics.alpha_budget import AlphaBudget
from linear_quadratic import METHODS as COVERED
from linear_quadratic import Numbers, exact_chain, gradient_statistic

F = Fraction
SETTINGS = {
    "local_scgdm": dict(eta=F(1, 8), alpha=F(2), beta=F(1), gamma=F(2), p=2),
    "comfedl": dict(eta=F(1, 8), tau=2),
    "fcsg": dict(alpha=F(1, 8), q=2, m=2),
    "feddro": dict(eta=F(1, 8), beta=F(1, 4), I=2),
    "modified_fedavg": dict(eta=F(1, 16), I=3),
}
assert set(SETTINGS) == set(COVERED)
SAMPLED = [name for name in SETTINGS if name != "modified_fedavg"]
NUMBERS = Numbers.generated(clients=2, dim=2, inner_dim=2, seed=3)
STEPS = {name: 6 if name == "local_scgdm" else 12 for name in SETTINGS}  # there 5% of the step size moves the mean 10%
SEEDS, SLIP = 8000, 0.95
LEDGER = AlphaBudget(open_ended=True)
for test in (f"{name}/{kind}" for name in SAMPLED for kind in ("exact", "mutant")):
    LEDGER.allot(test, Fraction(1, 10**7), SEEDS)


def floats(settings):
    return {name: v if isinstance(v, int) else float(v) for name, v in settings.items()}


def monte_carlo(name, problem, steps, seeds, **changes):
    method = METHODS[name](**{**floats(SETTINGS[name]), **changes})
    result = drive(
        method,
        problem,
        steps=steps,
        seeds=seeds,
        root_seed=20,
        record={"X": metrics.gradient_norm_squared},
        average=False,
        every=steps,
    )
    return result.final("X")[0].numpy()


@pytest.mark.parametrize("name", SETTINGS)
def test_the_recursion_is_the_sum_over_every_sequence_of_noise(name):
    numbers = Numbers.generated(clients=2, dim=1, inner_dim=1, seed=5)
    problem, chain = exact_chain(name, numbers, SETTINGS[name])
    G = gradient_statistic(problem, chain)
    recursion = chain.mean_square(G, 3)
    assert [chain.enumerated_mean_square(G, t) for t in range(3)] == recursion[:3]
    if len(chain.atoms) <= 16:
        assert chain.enumerated_mean_square(G, 3) == recursion[3]
    assert len(set(recursion)) == 4 and all(value > 0 for value in recursion)


@pytest.mark.parametrize("name", SAMPLED)
def test_noise_matters(name):
    """Without noise the expectation is another: the recursion is not that of the mean model."""
    problem, chain = exact_chain(name, NUMBERS, SETTINGS[name])
    G = gradient_statistic(problem, chain)
    quiet = Chain(chain.start, chain.step, [(((F(0), F(0)),) * 2, F(1))], chain.phase)
    noisy, silent = (one.mean_square(G, STEPS[name])[-1] for one in (chain, quiet))
    assert abs(noisy - silent) > F(4, 100) * silent


class Given:
    """Draws whose signs are those of one outcome of the noise; a mean of m signs has the right number of ups."""

    def __init__(self, outcome, clients):
        self.outcome, self.clients, self.runs, self.grid = outcome, clients, 1, 1

    def signs(self, purpose, *tail):
        is_z = purpose.endswith(".z") or purpose == "inner"
        rows = []
        for z, s in self.outcome:
            ups = round((float(z if is_z else s) + 1) / 2 * tail[-1])
            rows.append([1.0] * ups + [-1.0] * (tail[-1] - ups))
        return torch.tensor([rows], dtype=torch.float64).view(1, self.clients, *tail)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_engine_takes_the_exact_step_for_every_outcome(name):
    """Two steps of the batched method beside the rational ones, for outcomes of all kinds: they agree to rounding."""
    problem, chain = exact_chain(name, NUMBERS, SETTINGS[name])
    method = METHODS[name](**floats(SETTINGS[name]))
    atoms = [outcome for outcome, _ in chain.atoms]
    for first, second in zip(atoms[:: max(1, len(atoms) // 16)], reversed(atoms), strict=False):
        z, state = chain.start, method.init(problem, Start(), Given(first, 2))
        for t, outcome in enumerate((first, second)):
            z = chain.step(z, outcome, t)
            state = method.communicate(problem, method.local_step(problem, state, Given(outcome, 2), t), t)
        exact = torch.tensor([float(v) for v in z[: state.x.numel()]], dtype=torch.float64)
        assert (state.x.flatten() - exact).abs().max() < 1e-13
        assert not torch.equal(state.x[0, 0], problem.initial_point)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_torch_gradient_is_the_mean_of_the_oracles(name):
    """The exact gradient against the composition of the torch oracles without noise, and the statistic against it."""
    problem, chain = exact_chain(name, NUMBERS, SETTINGS[name])
    x = torch.tensor([[0.3, -1.7], [2.0, 0.5]], dtype=torch.float64)
    spread = x.unsqueeze(1).expand(-1, 2, -1)
    y = problem.inner(spread)
    if problem.kind == "shared_composite":
        y = y.mean(1, keepdim=True).expand_as(y)
    pulled = problem.inner_vjp(spread, problem.outer_gradient(y)).view(2, 2, -1)
    if problem.kind == "shared_composite":
        pulled = pulled + problem.extra_gradient(spread)
    torch.testing.assert_close(problem.gradient(x), pulled.mean(1), rtol=1e-13, atol=1e-13)
    G = gradient_statistic(problem, chain)
    at_start = sum((sum((a * b for a, b in zip(row, [F(1), *chain.start], strict=True)), F(0)) ** 2 for row in G), F(0))
    assert float(at_start) == pytest.approx(
        float(problem.gradient(problem.initial_point[None]).square().sum()), rel=1e-14
    )


@pytest.mark.parametrize("name", SAMPLED)
def test_monte_carlo_agrees_with_the_exact_expectation_and_a_slip_in_the_step_size_does_not(name):
    problem, chain = exact_chain(name, NUMBERS, SETTINGS[name])
    G = gradient_statistic(problem, chain)
    expected, cap = chain.mean_square(G, STEPS[name])[-1], chain.cap(G, STEPS[name])
    values = monte_carlo(name, problem, STEPS[name], SEEDS)
    assert values.std() > 0 and values.max() <= cap
    assert contradicts(values, expected, cap, LEDGER.spend(f"{name}/exact", actual_seeds=SEEDS)) is None
    step_size = "alpha" if name == "fcsg" else "eta"
    mutant = monte_carlo(name, problem, STEPS[name], SEEDS, **{step_size: SLIP * float(SETTINGS[name][step_size])})
    assert contradicts(mutant, expected, cap, LEDGER.spend(f"{name}/mutant", actual_seeds=SEEDS)) is not None


def test_without_noise_the_engine_has_the_exact_value():
    problem, chain = exact_chain("modified_fedavg", NUMBERS, SETTINGS["modified_fedavg"])
    steps, eta = STEPS["modified_fedavg"], float(SETTINGS["modified_fedavg"]["eta"])
    expected = float(chain.mean_square(gradient_statistic(problem, chain), steps)[-1])
    assert monte_carlo("modified_fedavg", problem, steps, 1)[0] == pytest.approx(expected, rel=1e-12)
    slipped = monte_carlo("modified_fedavg", problem, steps, 1, eta=SLIP * eta)
    assert slipped[0] != pytest.approx(expected, rel=1e-2)


def test_a_step_that_is_not_affine_is_refused():
    chain = Chain([F(1)], lambda z, outcome, t: [z[0] * z[0]], [(None, F(1))], lambda t: None)
    with pytest.raises(NotAffine, match="not affine"):
        chain.mean_square([[F(0), F(1)]], 1)
    with pytest.raises(ValueError, match="add up to 1"):
        Chain([F(1)], lambda z, outcome, t: z, [(None, F(1, 2))], lambda t: None)


def test_the_state_of_the_chain_is_that_of_the_method():
    """Every tensor of the method's state is in the chain's state: nothing that the next step reads is left out."""
    for name, settings in SETTINGS.items():
        problem, chain = exact_chain(name, NUMBERS, settings)
        state = drive(METHODS[name](**floats(settings)), problem, steps=1, seeds=1).state
        sizes = {f.name: getattr(state, f.name).numel() for f in fields(state) if getattr(state, f.name) is not None}
        copies = {"feddro": problem.inner_dim, "modified_fedavg": sizes.get("y", 0)}  # y is shared, or made anew
        assert sum(sizes.values()) - copies.get(name, 0) == len(chain.start)
