"""How far two machines' runs of one method can drift apart: a bound known before either has run.

On one machine a lane has the same bits whatever is beside it. On another (a GPU, a processor with another vector width)
sums have another order and `exp` another last bit; the methods then carry such differences on. Let the oracles of the
two machines differ by at most `oracle` at equal arguments (Euclidean norm, for each client), and each operation of the
method on models by at most `operation`. Then the models differ by at most what `deviation` returns.

The bound is no formula beside the method: it is the method's own code, run on sizes of differences instead of models. A
sum or a difference is at most the sum of the sizes, a mean at most their mean, and an oracle passes a difference on with
its certified Lipschitz constant: J^T v, where |v| is at most the Lipschitz constant of f, with |J| |dv| + |v| L_J |dx|.
Growth is geometric, 1 + O(step size) for a step, so the bound says something for some thousand steps of usual size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor

from .draws import Draws
from .method import Method, NotApplicable, Start

_OF_SAMPLES = {"lipschitz": "inner_sample_lipschitz", "smoothness": "inner_sample_smoothness"}
_CONSTANTS: Mapping[str, Mapping[str, str]] = {  # what each kind must certify, for every sample
    "shared_composite": _OF_SAMPLES
    | {
        "outer_lipschitz": "outer_lipschitz",
        "outer_smoothness": "outer_smoothness",
        "extra_smoothness": "noncompositional_sample_smoothness",
    },
    "local_composite": _OF_SAMPLES
    | {"outer_lipschitz": "outer_sample_lipschitz", "outer_smoothness": "outer_sample_smoothness"},
    "conditional": _OF_SAMPLES
    | {"outer_lipschitz": "outer_sample_lipschitz", "outer_smoothness": "outer_sample_smoothness"},
    "meta": {
        "lipschitz": "local_sample_gradient_bound",
        "smoothness": "local_sample_smoothness",
        "hessian_lipschitz": "local_sample_hessian_lipschitz",
    },
    "federated": {"smoothness": "local_sample_smoothness"},
}


def deviation(method: Method, problem: Any, steps: int, *, oracle: float, operation: float = 0.0) -> Tensor:
    """A bound of max_k |x_k - x'_k| before each step and at the end, `(steps + 1, grid)`, for runs on two machines.

    Both have the same start and samples and, where a round has only some of the clients, the same ones. The mean over
    a batch is part of an oracle here.

    Args:
        method: as it is given to `drive`; its tensor-valued hyperparameters are the grid.
        problem: certified; its constants are used, and its oracles are not called.
        steps: T, at least 1.
        oracle: how far one oracle of the two machines may be apart at equal arguments, in the unit of its value.
        operation: the same for one operation of the method on a model or on what it carries along. In float64
            2 (clients + 3) 2^-53 times the largest norm of these and of the oracles' values covers every one of them.

    Raises:
        NotApplicable: the method is not defined on the problem, multiplies two quantities that both differ, or a
            Lipschitz constant is not certified for every sample. The message names what is missing.
        ValueError: for steps < 1 or a negative difference.

    Example:
        >>> from fedco.algorithms import FCSG
        >>> from fedco.synthetic import problem
        >>> bound = deviation(FCSG(alpha=0.1, q=5, m=2), problem("conditional_noisy"), 100, oracle=1e-15)
        >>> bool(1e-12 < bound[-1, 0] < 1e-11)
        True
    """
    if steps < 1 or min(oracle, operation) < 0:
        raise ValueError(f"steps must be at least 1 and differences at least 0; got {steps}, {oracle} and {operation}")
    method.check(problem)
    kind = type("Size", (_Size,), {"operation": float(operation)})
    model = _Model(problem, method, float(oracle), kind)
    method.check(model)
    draws, moves = Draws(0, 1, problem.clients, method.grid), method.over(1)
    with torch.no_grad():
        state = moves.init(model, Start(), draws)
        sizes = [state.x]
        for t in range(steps):
            state = moves.communicate(model, moves.local_step(model, state, draws.at(t), t), t)
            sizes.append(state.x)
    return torch.stack([_plain(size).amax((1, 2)) for size in sizes])


class _Model:
    """What a method sees in place of the problem: each oracle returns how far its values may be apart."""

    def __init__(self, problem: Any, method: Method, oracle: float, size: type[_Size]) -> None:
        certified = {name: c.value for name, c in problem.certificates.items() if c.kind != "estimated"}
        names = _CONSTANTS[problem.kind]
        if lacking := [name for name in names.values() if name not in certified]:
            raise NotApplicable(f"{problem.name} does not certify {', '.join(lacking)}")
        self.kind, self.name, self.clients = problem.kind, f"the differences on {problem.name}", problem.clients
        self.oracle, self.constants = oracle, {own: certified[name] for own, name in names.items()}
        self.alpha, self.nu = getattr(problem, "alpha", None), getattr(problem, "nu", None)
        self.fine_tuning = getattr(method, "nu", None) or self.nu or 0
        self.dim = self.inner_dim = 1  # a size is one number
        self.initial_point = torch.zeros(1, dtype=torch.float64).as_subclass(size)

    def _passed_on(self, *parts: tuple[float, Tensor]) -> Tensor:
        apart = torch.tensor(self.oracle, dtype=torch.float64)
        for constant, size in parts:
            apart = apart + constant * _plain(size)
        return apart.as_subclass(type(parts[0][1]))

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> None:
        """Both machines have the same sample: there is nothing to say of it."""

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> None:
        """As `sample`."""

    def sample_inner(self, draws: Draws, outer: None, m: int, purpose: str = "inner") -> None:
        """As `sample`."""

    def inner(self, x: Tensor, sample: None = None) -> Tensor:
        return self._passed_on((self.constants["lipschitz"], x))

    def outer_gradient(self, y: Tensor, sample: None = None) -> Tensor:
        return self._passed_on((self.constants["outer_smoothness"], y))

    def inner_vjp(self, x: Tensor, v: Tensor, sample: None = None) -> Tensor:
        c = self.constants
        return self._passed_on((c["smoothness"] * c["outer_lipschitz"], x), (c["lipschitz"], v))

    def extra_gradient(self, x: Tensor, sample: None = None) -> Tensor | None:
        smoothness = self.constants["extra_smoothness"]
        return None if smoothness == 0 else self._passed_on((smoothness, x))

    def sample_gradient(self, x: Tensor, outer: None, inner: None = None) -> Tensor:
        c = self.constants
        smoothness = c["smoothness"] * c["outer_lipschitz"] + c["lipschitz"] ** 2 * c["outer_smoothness"]
        return self._passed_on((smoothness, x)).unsqueeze(2)  # one sample stands for a batch: their mean is no further

    def local_gradient(self, x: Tensor, sample: None = None) -> Tensor:
        return self._passed_on((self.constants["smoothness"], x))

    def local_hvp(self, x: Tensor, v: Tensor, sample: None = None) -> Tensor:
        """v is a gradient times at most `fine_tuning` factors I - alpha Hessian."""
        c = self.constants
        longest = c["lipschitz"] * (1 + self.alpha * c["smoothness"]) ** self.fine_tuning
        return self._passed_on((c["hessian_lipschitz"] * longest, x), (c["smoothness"], v))


class _Size(Tensor):
    """How far a tensor of one machine may be from that of the other, `(runs, clients, 1)`; what is no size is equal."""

    operation: ClassVar[float]

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = function.__name__.strip("_"), kwargs or {}
        if name in _SAME:
            return super().__torch_function__(function, types, args, kwargs)
        if name not in _RULES:
            raise NotApplicable(f"there is no rule for how {name} passes a difference on")
        return (_RULES[name](*args, **kwargs) + cls.operation).as_subclass(cls)


def _plain(size: Any) -> Tensor:
    """The number itself; of what is equal on both machines 0."""
    return size.as_subclass(Tensor) if isinstance(size, _Size) else torch.zeros((), dtype=torch.float64)


def _sum(one: Any, other: Any, *, alpha: float = 1.0) -> Tensor:
    return _plain(one) + abs(alpha) * _plain(other)


def _product(one: Any, other: Any) -> Tensor:
    if isinstance(one, _Size) and isinstance(other, _Size):
        raise NotApplicable("a product of two quantities that both differ needs their sizes, which nothing certifies")
    factor, size = (other, one) if isinstance(one, _Size) else (one, other)
    return abs(factor) * _plain(size)


def _quotient(above: Any, below: Any) -> Tensor:
    if isinstance(below, _Size):
        raise NotApplicable("a quotient by a quantity that differs needs a lower bound of it, which nothing certifies")
    return _plain(above) / abs(below)


def _plus_product(onto: Any, one: Any, other: Any, *, value: float = 1.0) -> Tensor:
    return _plain(onto) + abs(value) * _product(one, other)


def _mixture(old: Any, new: Any, weight: Any) -> Tensor:
    return abs(1 - weight) * _plain(old) + abs(weight) * _plain(new)


def _whole(size: Any, *axes: Any, **options: Any) -> Tensor:
    return _plain(size).sum(*axes, **options)


_SAME = {  # move numbers about, or read what a tensor is
    "get",
    "getitem",
    "transpose",
    "contiguous",
    "unsqueeze",
    "squeeze",
    "expand",
    "new_zeros",
    "view",
    "flatten",
    "unflatten",
    "dim",
    "size",
}
_RULES: Mapping[str, Callable[..., Tensor]] = {
    "add": _sum,
    "radd": _sum,
    "sub": _sum,
    "rsub": _sum,
    "mul": _product,
    "rmul": _product,
    "truediv": _quotient,
    "div": _quotient,
    "addcmul": _plus_product,
    "lerp": _mixture,
    "sum": _whole,
    "where": lambda condition, one, other: torch.where(condition, _plain(one), _plain(other)),
}
