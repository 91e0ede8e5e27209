"""A linear-quadratic instance with signs as noise, twice: as a torch problem, and in rational numbers.

    g_k(x; z) = (A_k + z B_k) x + a_k + z b_k            z = +-1: value noise, and noise that multiplies the model
    f_k(y; s) = (q/2) |y|^2 + (c_k + s e_k).y            s = +-1
    h_k(x; s) = (r/2) |x|^2 + (d_k + s n_k).x            shared kind only

For the kind `local_composite` F is the mean of f_k(g_k(x)); for `shared_composite` f has c_1 and no noise, and h is added;
for `conditional` xi = s and eta = z. Every entry is a small dyadic number, exact in float64. The gradients are not
Lipschitz-bounded, so no theorem's bound is tested here: the instances serve to check engine and statistics.

The steps at the end are plain loops over clients in `Fraction`, written from the papers' pseudocode; they share no code
with `fedco.algorithms`, and `exact_moments` turns them into exact expectations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import comb
from typing import Any

import torch
from exact_moments import Chain, Matrix, Vector
from fedco.synthetic.kinds import AbstractConditional
from torch import Tensor

_DENOMINATOR = 8


@dataclass(frozen=True)
class Numbers:
    """The data of an instance, exact. A, B: (clients, inner_dim, dim); a, b, c, e: (clients, inner_dim); d, n, x0."""

    A: Sequence[Matrix]
    B: Sequence[Matrix]
    a: Matrix
    b: Matrix
    c: Matrix
    e: Matrix
    d: Matrix
    n: Matrix
    x0: Vector
    q: Fraction = Fraction(1)
    r: Fraction = Fraction(1, 2)

    @staticmethod
    def generated(clients: int, dim: int, inner_dim: int, seed: int) -> Numbers:
        """Entries k/8: A near the first coordinates, everything else small and different at every client."""
        generator = torch.Generator().manual_seed(seed)

        def eighths(*shape: int, most: int) -> Any:
            drawn = torch.randint(-most, most + 1, shape, generator=generator).tolist()
            return _map_nested(lambda v: Fraction(v, _DENOMINATOR), drawn)

        A = [
            [[Fraction(i == j) + v for j, v in enumerate(row)] for i, row in enumerate(rows)]
            for rows in eighths(clients, inner_dim, dim, most=3)
        ]
        vectors = {name: eighths(clients, inner_dim, most=4) for name in ("a", "b", "c", "e")}
        of_h = {name: eighths(clients, dim, most=4) for name in ("d", "n")}
        return Numbers(A, eighths(clients, inner_dim, dim, most=2), **vectors, **of_h, x0=[Fraction(2)] * dim)

    # One client's oracles, exact.
    def g(self, k: int, x: Vector, z: Fraction) -> Vector:
        return _sum(_times(self.jacobian(k, z), x), self.a[k], _scaled(z, self.b[k]))

    def jacobian(self, k: int, z: Fraction) -> Matrix:
        return [_sum(row, _scaled(z, noise)) for row, noise in zip(self.A[k], self.B[k], strict=True)]

    def grad_f(self, k: int, y: Vector, s: Fraction) -> Vector:
        return _sum(_scaled(self.q, y), self.c[k], _scaled(s, self.e[k]))

    def grad_h(self, k: int, x: Vector, s: Fraction) -> Vector:
        return _sum(_scaled(self.r, x), self.d[k], _scaled(s, self.n[k]))

    def pulled(self, k: int, v: Vector, z: Fraction) -> Vector:
        return _times(list(zip(*self.jacobian(k, z), strict=True)), v)

    @property
    def clients(self) -> int:
        return len(self.A)


@dataclass(frozen=True)
class Signs:
    """Means over the batch of the signs z and s, (runs, clients); of a conditional sample (runs, clients, batch)."""

    z: Tensor
    s: Tensor


@dataclass(frozen=True, eq=False)
class LinearQuadratic:
    """The instance as the methods see it; `kind` is one of local_composite, shared_composite and conditional."""

    numbers: Numbers
    kind: str

    @property
    def name(self) -> str:
        return f"linear-quadratic, {self.kind}"

    @property
    def clients(self) -> int:
        return self.numbers.clients

    @property
    def dim(self) -> int:
        return len(self.numbers.x0)

    @property
    def inner_dim(self) -> int:
        return len(self.numbers.a[0])

    @cached_property
    def initial_point(self) -> Tensor:
        return torch.tensor(_map_nested(float, list(self.numbers.x0)), dtype=torch.float64)

    @cached_property
    def _tables(self) -> dict[str, Tensor]:
        of_clients = {name: _map_nested(float, getattr(self.numbers, name)) for name in "ABabcedn"}
        tables = {name: torch.tensor(v, dtype=torch.float64) for name, v in of_clients.items()}
        if self.kind == "shared_composite":
            tables |= {"c": tables["c"][:1].expand_as(tables["c"]), "e": torch.zeros_like(tables["e"])}
        return tables

    def sample(self, draws: Any, batch: int, purpose: str = "sample") -> Signs:
        return Signs(draws.signs(f"{purpose}.z", batch).mean(-1), draws.signs(f"{purpose}.s", batch).mean(-1))

    def sample_outer(self, draws: Any, batch: int, purpose: str = "outer") -> Signs:
        s = draws.signs(purpose, batch)
        return Signs(torch.zeros_like(s), s)

    def sample_inner(self, draws: Any, outer: Signs, m: int, purpose: str = "inner") -> Signs:
        z = draws.signs(purpose, outer.s.shape[-1], m).mean(-1)
        return Signs(z, torch.zeros_like(z))

    def inner(self, x: Tensor, *samples: Signs | None) -> Tensor:
        A, a = self._jacobian(x, samples), self._tables["a"]
        x, z = self._with_batch(x, samples)
        value = (A * x.unsqueeze(-2)).sum(-1)
        a, b = (v.unsqueeze(1) if value.dim() == 4 else v for v in (a, self._tables["b"]))
        return value + a if z is None else value + a + z.unsqueeze(-1) * b

    def inner_vjp(self, x: Tensor, v: Tensor, *samples: Signs | None) -> Tensor:
        A = self._jacobian(x, samples)
        return (A * v.unsqueeze(-1)).transpose(-1, -2).contiguous().sum(-1)

    def outer_gradient(self, y: Tensor, sample: Signs | None = None) -> Tensor:
        c, e = (v.unsqueeze(1) if y.dim() == 4 else v for v in (self._tables["c"], self._tables["e"]))
        gradient = float(self.numbers.q) * y + c
        return gradient if sample is None else gradient + sample.s.unsqueeze(-1) * e

    sample_gradient = AbstractConditional.sample_gradient

    def extra_gradient(self, x: Tensor, sample: Signs | None = None) -> Tensor:
        gradient = float(self.numbers.r) * x + self._tables["d"]
        return gradient if sample is None else gradient + sample.s.unsqueeze(-1) * self._tables["n"]

    def gradient(self, x: Tensor) -> Tensor:
        """Exact gradient of F, `(runs, dim) -> (runs, dim)`, from the rational matrix of `gradient_matrix`."""
        rows = torch.tensor(_map_nested(float, self.gradient_matrix), dtype=torch.float64)
        return (rows[:, 1:] * x.unsqueeze(-2)).sum(-1) + rows[:, 0]

    @cached_property
    def gradient_matrix(self) -> Matrix:
        """grad F(x) = G (1, x), exact, (dim, 1 + dim): found by evaluating it at 0 and at the unit vectors."""
        at_zero = self._exact_gradient([Fraction(0)] * self.dim)
        units = [[Fraction(i == j) for j in range(self.dim)] for i in range(self.dim)]
        columns = [[v - shift for v, shift in zip(self._exact_gradient(unit), at_zero, strict=True)] for unit in units]
        return [[at_zero[i], *(column[i] for column in columns)] for i in range(self.dim)]

    def _exact_gradient(self, x: Vector) -> Vector:
        o, none = self.numbers, Fraction(0)
        everyone = range(self.clients)
        if self.kind == "shared_composite":
            y = _mean([o.g(k, x, none) for k in everyone])
            slope = o.grad_f(0, y, none)
            return _mean([_sum(o.pulled(k, slope, none), o.grad_h(k, x, none)) for k in everyone])
        return _mean([o.pulled(k, o.grad_f(k, o.g(k, x, none), none), none) for k in everyone])

    def _jacobian(self, x: Tensor, samples: Sequence[Signs | None]) -> Tensor:
        """(runs, clients, [batch,] inner_dim, dim)."""
        x, z = self._with_batch(x, samples)
        A, B = self._tables["A"], self._tables["B"]
        if x.dim() == 4:
            A, B = A.unsqueeze(1), B.unsqueeze(1)
        return A if z is None else A + z.unsqueeze(-1).unsqueeze(-1) * B

    def _with_batch(self, x: Tensor, samples: Sequence[Signs | None]) -> tuple[Tensor, Tensor | None]:
        """x with a batch axis for the conditional kind, and z: of the last sample given."""
        last = samples[-1] if samples else None
        return (x.unsqueeze(2) if self.kind == "conditional" else x), None if last is None else last.z


# The methods in rational numbers. A state is {name: list of vectors}; `noise[k]` is (z, s) of client k.

Exact = dict[str, list[Vector]]
ExactStep = Callable[[Exact, Sequence[tuple[Fraction, Fraction]], int], Exact]


def _local_scgdm(o: Numbers, eta: Fraction, alpha: Fraction, beta: Fraction, gamma: Fraction, p: int) -> ExactStep:
    def step(state: Exact, noise: Sequence[tuple[Fraction, Fraction]], t: int) -> Exact:
        x, u, m = [], [], []
        for k, (z, s) in enumerate(noise):
            value = o.g(k, state["x"][k], z)
            new_u = value if t == 0 else _mix(gamma * eta, state["u"][k], value)
            gradient = o.pulled(k, o.grad_f(k, new_u, s), z)
            new_m = gradient if t == 0 else _mix(alpha * eta, state["m"][k], gradient)
            x.append(_sum(state["x"][k], _scaled(-beta * eta, new_m)))
            u.append(new_u)
            m.append(new_m)
        return _averaged({"x": x, "u": u, "m": m}, due=(t + 1) % p == 0)

    return step


def _comfedl(o: Numbers, eta: Fraction, tau: int) -> ExactStep:
    def step(state: Exact, noise: Sequence[tuple[Fraction, Fraction]], t: int) -> Exact:
        x = []
        for k, (z, s) in enumerate(noise):
            gradient = o.pulled(k, o.grad_f(k, o.g(k, state["x"][k], z), s), z)
            x.append(_sum(state["x"][k], _scaled(-eta, gradient)))
        return _averaged({"x": x}, due=(t + 1) % tau == 0)

    return step


def _fcsg(o: Numbers, alpha: Fraction, q: int, m: int) -> ExactStep:
    return _comfedl(o, alpha, q)  # the same estimate, but z is the mean of m signs: see `_laws`


def _feddro(o: Numbers, eta: Fraction, beta: Fraction, I: int) -> ExactStep:
    def step(state: Exact, noise: Sequence[tuple[Fraction, Fraction]], t: int) -> Exact:
        x, older, y = state["x"], state["older"], state["y"][0]
        if t > 0:
            own = [
                _sum(_scaled(1 - beta, _sum(y, _scaled(Fraction(-1), o.g(k, older[k], z)))), o.g(k, x[k], z))
                for k, (z, _) in enumerate(noise)
            ]
            y = _mean(own)
        new = []
        for k, (z, s) in enumerate(noise):
            gradient = _sum(o.grad_h(k, x[k], s), o.pulled(k, o.grad_f(0, y, Fraction(0)), z))
            new.append(_sum(x[k], _scaled(-eta, gradient)))
        return {**_averaged({"x": new}, due=(t + 1) % I == 0), "older": list(x), "y": [y]}

    return step


def _modified_fedavg(o: Numbers, eta: Fraction, I: int) -> ExactStep:
    def step(state: Exact, noise: Sequence[tuple[Fraction, Fraction]], t: int) -> Exact:
        x, none = state["x"], Fraction(0)
        slope = o.grad_f(0, _mean([o.g(k, v, none) for k, v in enumerate(x)]), none)
        new = [_sum(v, _scaled(-eta, _sum(o.grad_h(k, v, none), o.pulled(k, slope, none)))) for k, v in enumerate(x)]
        return _averaged({"x": new}, due=(t + 1) % I == 0)

    return step


_STEPS: Mapping[str, tuple[Callable[..., ExactStep], str, str]] = {
    "local_scgdm": (_local_scgdm, "local_composite", "p"),
    "comfedl": (_comfedl, "local_composite", "tau"),
    "fcsg": (_fcsg, "conditional", "q"),
    "feddro": (_feddro, "shared_composite", "I"),
    "modified_fedavg": (_modified_fedavg, "shared_composite", "I"),
}
METHODS = tuple(_STEPS)


def exact_chain(method: str, numbers: Numbers, hyperparameters: Mapping[str, Any]) -> tuple[LinearQuadratic, Chain]:
    """A method on an instance: the torch problem to run it on, and the chain that has the exact expectations.

    Args:
        method: one of `METHODS`, with batches of one.
        hyperparameters: the method's, exact (`Fraction`, `int`).
    """
    make, kind, period_name = _STEPS[method]
    problem, period = LinearQuadratic(numbers, kind), hyperparameters[period_name]
    step, start = make(numbers, **hyperparameters), _start(method, numbers)

    def flat_step(z: Vector, noise: Sequence[tuple[Fraction, Fraction]], t: int) -> Vector:
        return _flat(step(_unflat(z, start), noise, t))

    def phase(t: int) -> Hashable:
        return t == 0, (t + 1) % period == 0

    return problem, Chain(_flat(start), flat_step, _laws(method, numbers.clients, hyperparameters.get("m", 1)), phase)


def gradient_statistic(problem: LinearQuadratic, chain: Chain) -> Matrix:
    """G with grad F(xbar) = G (1, z): x of all clients comes first in z."""
    rest = len(chain.start) - problem.clients * problem.dim
    return [
        [row[0], *[v / problem.clients for _ in range(problem.clients) for v in row[1:]], *[Fraction(0)] * rest]
        for row in problem.gradient_matrix
    ]


def _start(method: str, o: Numbers) -> Exact:
    """The state before step 0; what the first step replaces is zero."""
    x: list[Vector] = [list(o.x0) for _ in o.A]
    zero_y: Vector = [Fraction(0)] * len(o.a[0])
    if method == "local_scgdm":
        return {"x": x, "u": [zero_y for _ in x], "m": [[Fraction(0)] * len(o.x0) for _ in x]}
    if method == "feddro":
        return {"x": x, "older": x, "y": [_mean([o.g(k, v, Fraction(0)) for k, v in enumerate(x)])]}
    return {"x": x}


def _laws(method: str, clients: int, m: int) -> list[tuple[tuple[tuple[Fraction, Fraction], ...], Fraction]]:
    """Every outcome of the noise of all clients in one step, and its probability; z is a mean of m signs."""
    if method == "modified_fedavg":
        return [(((Fraction(0), Fraction(0)),) * clients, Fraction(1))]
    of_z = [(Fraction(2 * ups - m, m), Fraction(comb(m, ups), 2**m)) for ups in range(m + 1)]
    of_one = [((z, Fraction(s)), weight / 2) for z, weight in of_z for s in (-1, 1)]
    joint = []
    for outcome in product(of_one, repeat=clients):
        weight = Fraction(1)
        for _, own in outcome:
            weight *= own
        joint.append((tuple(noise for noise, _ in outcome), weight))
    return joint


def _averaged(state: Exact, due: bool) -> Exact:
    return {name: [_mean(vs)] * len(vs) for name, vs in state.items()} if due else state


def _flat(state: Exact) -> Vector:
    return [v for vectors in state.values() for vector in vectors for v in vector]


def _unflat(z: Vector, like: Exact) -> Exact:
    numbers = iter(z)
    return {name: [[next(numbers) for _ in vector] for vector in vectors] for name, vectors in like.items()}


def _sum(*vectors: Vector) -> Vector:
    return [sum(entries, Fraction(0)) for entries in zip(*vectors, strict=True)]


def _scaled(factor: Fraction, v: Vector) -> Vector:
    return [factor * entry for entry in v]


def _mix(weight: Fraction, old: Vector, new: Vector) -> Vector:
    return _sum(_scaled(1 - weight, old), _scaled(weight, new))


def _times(matrix: Matrix, v: Vector) -> Vector:
    return [sum((a * b for a, b in zip(row, v, strict=True)), Fraction(0)) for row in matrix]


def _mean(vectors: Sequence[Vector]) -> Vector:
    return _scaled(Fraction(1, len(vectors)), _sum(*vectors))


def _map_nested(function: Callable[[Any], Any], nested: Any) -> Any:
    return [_map_nested(function, v) for v in nested] if isinstance(nested, (list, tuple)) else function(nested)
