"""SCAFFOLD and FedProx: their bounds against exact second moments on random quadratic clients, x in R, whose curvatures differ; and what
the kernel refuses of them.

Means and second moments of all variables follow a linear recursion, written from sections 20 and 21 of docs/theory/library.md, so that the
left side is exact but for rounding. Steps are often as long as the conditions allow.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
import torch
from fedco.algorithms import FedProx, Scaffold, drive
from fedco.bounds.evaluation.arrays import bound_on_arrays
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import App, Assumed, Mean, ProofError, Quantity, Reader, StartValue, Var, check, sq
from fedco.bounds.proof.kernel.derivation import begin
from fedco.bounds.proof.kernel.readings import Reading
from fedco.bounds.proof.kernel.scalars import At, One
from fedco.bounds.registry import get_theorem
from rewritten import rewritten

COUNT, ROUNDS, SEED = 400, 16, 5
CASES = [(clients, p) for clients in (1, 2, 3, 8) for p in (1, 2, 3, 8)]


@dataclass
class Clients:
    """F_i(x) = h_i x^2 / 2 + a_i x in `COUNT` problems, F convex and least at 0. h, a: (problems, clients)."""

    rng: np.random.Generator
    clients: int
    h: np.ndarray = field(init=False)

    def __post_init__(self):
        apart = self.normal()
        tilt = np.where(
            self.rng.random((COUNT, 1)) < 1 / 2, apart, self.normal()
        )  # along the curvatures, so that drift is a bias
        self.h = (apart - apart.mean(1, keepdims=True)) * self.maybe(-2, 0) + self.log(-2, 0)
        self.a = (tilt - tilt.mean(1, keepdims=True)) * self.maybe(-2, 1)
        self.sigma = self.maybe(-2, 1)
        self.x = self.log(-5, 1)
        self.L = np.abs(self.h).max(1)

    def normal(self):
        return self.rng.normal(size=(COUNT, self.clients))

    def log(self, low, high):
        return 10 ** self.rng.uniform(low, high, size=(COUNT, 1))

    def maybe(self, low, high):
        return self.log(low, high) * self.rng.integers(0, 2, (COUNT, 1))

    def below(self, largest):
        """The largest value for half of them, else a share of it."""
        return largest * np.where(self.rng.random(COUNT) < 1 / 2, 1 - 1e-9, self.rng.random(COUNT))

    @property
    def constants(self):
        slope = (self.h * self.x + self.a).mean(1)
        gap = slope**2 / (2 * self.h.mean(1))
        return dict(L=self.L, sigma=self.sigma[:, 0], F_gap=gap, N=self.clients, b=1)


@dataclass
class Run:
    """A method whose step is linear in its variables, each (problems, clients, columns): columns are the coefficients of all variables
    before the step, of 1 and of the clients' noise."""

    problem: Clients
    p: int
    start: dict

    def step(self, v, slope, begins):
        raise NotImplementedError

    def ends(self, v, p):
        raise NotImplementedError

    def moments(self):
        """Second moments of the variables and of 1 at the steps t = 0, 1, ...; the variables are in the order of `start`."""
        n, size = self.problem.clients, self.problem.clients * len(self.start) + 1
        rows = np.concatenate([np.broadcast_to(u, (COUNT, n)) for u in self.start.values()] + [np.ones((COUNT, 1))], 1)
        S = rows[:, :, None] * rows[:, None, :]
        while True:
            for j in range(self.p):
                yield S
                A = self.matrix(j, size)
                S = np.einsum("nij,njk,nlk->nil", A[:, :, :size], S, A[:, :, :size], optimize=True)
                S += A[:, :, size:] @ A[:, :, size:].transpose(0, 2, 1)

    def matrix(self, j, size):
        problem, n = self.problem, self.problem.clients
        columns = np.broadcast_to(np.eye(size + n), (COUNT, size + n, size + n))
        v = {name: columns[:, k * n : (k + 1) * n] for k, name in enumerate(self.start)}
        one, noise = columns[:, size - 1 : size], columns[:, size:] * problem.sigma[:, :, None]
        v = self.step(v, problem.h[:, :, None] * v["x"] + problem.a[:, :, None] * one + noise, j == 0)
        return np.concatenate([*(self.ends(v) if j == self.p - 1 else v).values(), one], 1)


def mean(u):
    return np.broadcast_to(u.mean(1, keepdims=True), u.shape)


@dataclass
class ScaffoldRun(Run):
    eta: np.ndarray

    def step(self, v, slope, begins):
        x = v["x"] - self.eta * (slope - v["c"] + mean(v["c"]))
        return {"x": x, "c": v["c"], "g": slope if begins else v["g"] + slope}

    def ends(self, v):
        return {"x": mean(v["x"]), "c": v["g"] / self.p, "g": v["g"]}


@dataclass
class FedProxRun(Run):
    eta: np.ndarray
    gamma: np.ndarray

    def step(self, v, slope, begins):
        return {"x": v["x"] - self.eta * (slope + self.gamma * (v["x"] - v["z"])), "z": v["z"]}

    def ends(self, v):
        return {"x": mean(v["x"]), "z": mean(v["x"])}


def columns(values):
    return values[:, None, None]


def scaffold(problem, p):
    eta = problem.below(np.minimum(1 / 2, 1 / np.sqrt(np.maximum(14 * p * (p - 1), 1e-9))) / problem.L)
    return ScaffoldRun(problem, p, {"x": problem.x, "c": 0.0, "g": 0.0}, columns(eta)), dict(eta=eta)


def fedprox(problem, p):
    gamma = problem.L * problem.log(-3, 1)[:, 0]
    eta = problem.below(1 / (2 * p * (problem.L + gamma)))
    return FedProxRun(problem, p, {"x": problem.x, "z": problem.x}, columns(eta), columns(gamma)), dict(
        eta=eta, gamma=gamma
    )


MADE = {"library.scaffold": scaffold, "library.fedprox": fedprox}


def form(problem, weights, tilt, size):
    """A linear form of the models and 1, as a row."""
    row = np.zeros((COUNT, size))
    row[:, : problem.clients], row[:, -1] = weights / problem.clients, tilt
    return row


def square(S, row):
    return np.einsum("ni,nij,nj->n", row, S, row)


@cache
def along(id, seed=SEED):
    """What `steps` yields, run once."""
    return tuple(steps(id, seed))


def steps(id, seed):
    """(constants, left side) of problems at a number of horizons. zeta is as large as the clients' gradients are apart in mean square at
    any step of the run, which is all that a proof needs of it."""
    rng = np.random.default_rng(seed)
    for clients, p in CASES:
        problem = Clients(rng, clients)
        run, chosen = MADE[id](problem, p)
        h, a, total, apart, first = problem.h, problem.a, np.zeros(COUNT), np.zeros(COUNT), None
        for t, S in zip(range(1, ROUNDS * p + 1), run.moments(), strict=False):
            size = S.shape[1]
            total += square(S, form(problem, h.mean(1, keepdims=True), a.mean(1), size))
            each = (form(problem, (h[:, i] - h.mean(1))[:, None], a[:, i] - a.mean(1), size) for i in range(clients))
            unlike = sum(square(S, row) for row in each) / clients
            apart = np.maximum(apart, unlike)
            first = unlike if first is None else first
            if t in (p, p + 1, 2 * p, 4 * p, ROUNDS * p):
                own = dict(zeta_0=np.sqrt(first)) if id == "library.scaffold" else dict(zeta=np.sqrt(apart))
                yield problem.constants | chosen | own | dict(p=p, T=t), total / t


def largest_ratio(id, scaled="", factor=1.0):
    """Left over right side, the largest over problems and horizons, with one term of the bound times a factor."""
    statement, found = get_theorem(id).statement("printed"), 0.0
    for constants, left in along(id):
        values = bound_on_arrays(statement, constants)
        assert values.admissible.all()
        right = sum(term * factor if name == scaled else term for name, term in values.terms.items())
        found = max(found, float((left / right).max()))
    return found


@pytest.mark.parametrize("id", MADE)
def test_no_quadratic_clients_exceed_the_bound(id):
    assert 0.6 < largest_ratio(id) <= 1


@pytest.mark.parametrize(
    ("id", "term", "factor"),
    [
        ("library.scaffold", "initialisation", 1 / 2),
        ("library.scaffold", "variance", 1 / 2),
        ("library.scaffold", "first_round", 1 / 1000),
        ("library.fedprox", "initialisation", 1 / 2),
        ("library.fedprox", "variance", 1 / 2),
        ("library.fedprox", "heterogeneity", 1 / 100),
    ],
)
def test_a_bound_with_a_smaller_term_is_exceeded(id, term, factor):
    """Noise that drifts is seen nowhere: on quadratic functions it leaves no bias of a size that noise itself does not hide."""
    assert largest_ratio(id, term, factor) > 1.1


class Quadratic:
    """One of the problems without noise, as the engine takes it."""

    kind, name, dim, inner_dim = "federated", "quadratic", 1, 0

    def __init__(self, h, a, x):
        self.h, self.a, self.initial_point = (torch.tensor(each).unsqueeze(-1) for each in (h, a, x[0]))
        self.clients = len(h)

    def sample(self, draws, b, purpose="sample"):
        return None

    def local_gradient(self, x, sample=None):
        return self.h * x + self.a


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("id", MADE)
def test_the_recursion_is_that_of_the_method(id, case):
    """Without noise, at every client, for three rounds and a step."""
    problem, lane, steps = Clients(np.random.default_rng(SEED), case[0]), 7, 3 * case[1] + 1
    problem.sigma = 0 * problem.sigma
    run, chosen = MADE[id](problem, case[1])
    eta, *gamma = (float(value[lane]) for value in chosen.values())
    method = FedProx(eta=eta, mu=gamma[0], tau=case[1]) if gamma else Scaffold(eta=eta, tau=case[1])
    found = drive(method, Quadratic(problem.h[lane], problem.a[lane], problem.x[lane]), steps=steps).state.x
    *_, S = islice(run.moments(), steps + 1)
    np.testing.assert_allclose(found[0, :, 0].numpy(), S[lane, : case[0], -1], rtol=1e-9)


# --- what the kernel refuses ------------------------------------------------------------------------------------------

SCAFFOLD, FEDPROX = (get_theorem(id) for id in MADE)
SMALLER = [
    (SCAFFOLD, "noise_drift", "6*(p - 1)*eta**2*L**2*sigma**2/b"),
    (SCAFFOLD, "noise_drift", "7*(p - 1)*eta**2*L**2*sigma**2/(N*b)"),
    (SCAFFOLD, "first_round", "p**2*(p - 1)*eta**2*L**2*zeta_0**2/T"),
    (SCAFFOLD, "first_round", "0*zeta_0"),
    (SCAFFOLD, "variance", "L*eta*sigma**2/(2*N*b)"),
    (FEDPROX, "initialisation", "2*F_gap/(eta*T)"),
    (FEDPROX, "variance", "(1 + eta*gamma*p)*L*eta*sigma**2/(N*b)"),
    (FEDPROX, "heterogeneity", "(8*p/9 - 8/9)*(2*p - 1)*eta**2*L**2*zeta**2"),
    (FEDPROX, "noise_drift", "(1 + eta*gamma*p)*(8*p/3 - 8/3)*(1 - 1/N)*eta**2*L**2*sigma**2/(N*b)"),
]


@pytest.mark.parametrize(("theorem", "term", "formula"), SMALLER)
def test_a_stronger_statement_does_not_follow(theorem, term, formula):
    with pytest.raises(ProofError, match="the statement"):
        derivation(rewritten(theorem, term, formula))


def test_controls_that_start_elsewhere_are_refused():
    listed = tuple(item for item in SCAFFOLD.assumptions if item.name != "controls at rest")
    found = check(derivation(SCAFFOLD), replace(SCAFFOLD, assumptions=listed), "printed")
    assert "'controls at rest' is not in the theorem's list" in found.failure


def first_gradients(meaning, of="unlike"):
    """What the kernel makes of zeta_0, as a bound of a quantity or of a value of the clients' gradient at the server's model."""
    plan = derivation(SCAFFOLD)
    reader = Reader(SCAFFOLD, SCAFFOLD.statement())
    reading = Reading(SCAFFOLD, SCAFFOLD.statement(), reader, plan.setting, (Quantity("unlike", meaning),), "x")
    return reading.axioms({"first": Assumed("zeta_0", of)})["first"]


def gradients(point, *samples):
    return App("dF", point, samples or (None,))


X = Var("x")
HERE = Mean("n", X)


def away(term):
    return term - Mean("n", term)


def test_what_is_unlike_at_the_start_is_bounded_there_and_nowhere_else():
    axiom = first_gradients(sq(away(gradients(HERE))))
    assert isinstance(axiom, StartValue) and axiom.assumption == "first gradients" and axiom.offset == 0
    plan = derivation(SCAFFOLD)
    fact = axiom.instance(begin(plan, SCAFFOLD, "printed").state, ())
    assert fact.phases is None and [type(atom) for atom, _ in fact.form if not isinstance(atom, One)] == [At]


@pytest.mark.parametrize(
    "meaning",
    [
        sq(gradients(HERE)),
        sq(away(gradients(X))),
        sq(away(gradients(Var("z")))),
        sq(away(gradients(HERE, 0))),
        sq(Mean("n", gradients(HERE))),
        2 * sq(away(gradients(HERE))),
        sq(away(gradients(Mean("n", Var("x", 1))))),
        sq(away(Var("c"))),
    ],
    ids=repr,
)
def test_it_bounds_no_other_quantity(meaning):
    with pytest.raises(ProofError, match="is not the squared distance of"):
        first_gradients(meaning)


def test_it_bounds_no_gradient_at_any_point():
    with pytest.raises(ProofError, match="zeta_0 says nothing of dF"):
        first_gradients(sq(away(gradients(HERE))), of="dF")
