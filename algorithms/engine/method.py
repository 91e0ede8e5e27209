"""What a method is: frozen hyperparameters, a typed state, and the three moves that the driver makes.

A method never loops over clients or runs: its tensors are ``(runs, clients, dim)``, and its body reads like the
pseudocode of its paper. Only elementwise operations and sums over the last axis are used, so that a lane (one run, one
client) gets the same bits whatever else is in the batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar

import torch
from torch import Tensor

from ...ranges import AT_MOST, AtMost
from .draws import Draws
from .schedule import Scalar as Scalar
from .schedule import Schedule, is_scalar, largest

Batches = int | tuple[int, ...]  # one batch size, or one for each step of a fixed number of steps
Counts = int | tuple[int, ...]  # one whole number, or one for each client
WHOLE = ("int", "Batches", "Counts")  # how annotations of whole hyperparameters begin


class NotApplicable(ValueError):
    """A method was asked to run on a problem of a kind, or with oracles, that it is not defined for."""


def client_mean(v: Tensor, active: Tensor | None = None) -> Tensor:
    """Mean over the active clients: ``(runs, clients, n)`` -> ``(runs, n)``.

    ``active`` is a 0/1 mask, or how often each client was drawn, which makes it a weighted mean.
    """
    if active is None:
        return v.transpose(1, 2).contiguous().sum(-1) / v.shape[1]
    weight = active.unsqueeze(-1)
    kept = torch.where(weight > 0, weight * v, 0.0)
    return kept.transpose(1, 2).contiguous().sum(-1) / active.sum(-1, keepdim=True)


def broadcast(v: Tensor, clients: int) -> Tensor:
    """The server's broadcast: ``(runs, n)`` -> ``(runs, clients, n)``, one copy per client."""
    return v.unsqueeze(1).expand(-1, clients, -1).contiguous()


def average(v: Tensor, active: Tensor | None = None) -> Tensor:
    """One round of averaging: every client gets the mean over the (active) clients. Shape (runs, clients, n)."""
    return broadcast(client_mean(v, active), v.shape[1])


def descend(x: Tensor, step: Scalar, direction: Tensor) -> Tensor:
    """x - step * direction, in one pass over the models. Shape (runs, clients, n)."""
    return torch.addcmul(x, _tensor(step, x), direction, value=-1)


def blend(old: Tensor, new: Tensor, weight: Scalar) -> Tensor:
    """(1 - weight) old + weight new, in one pass: momentum. Shape (runs, clients, n)."""
    return torch.lerp(old, new, _tensor(weight, old))


def _tensor(size: Scalar, like: Tensor) -> Tensor:
    return size if isinstance(size, Tensor) else torch.full((), size, dtype=like.dtype, device=like.device)


@dataclass(frozen=True, kw_only=True)
class State:
    """What a method carries from step to step; subclasses add tensors with leading (runs, clients).

    Attributes:
        x: the clients' models, (runs, clients, dim).
        active: 0/1 mask (runs, clients) of the clients that take part in this round, or how often each was drawn;
            None when all take part.
    """

    x: Tensor
    active: Tensor | None = None

    @property
    def average(self) -> Tensor:
        """The averaged model xbar that the theorems speak of, (runs, dim)."""
        return client_mean(self.x, self.active)

    def tensors(self) -> dict[str, Tensor]:
        """What it consists of, by name: none for `active` where all take part."""
        values = {declared.name: getattr(self, declared.name) for declared in fields(self)}
        return {name: v for name, v in values.items() if v is not None}


@dataclass(frozen=True)
class Start:
    """Where a run starts; what is None is chosen by the problem (x) or by the method (y).

    Args:
        x: initial model, (dim,) or (runs, dim), the same for all clients.
        y: initial estimate of the inner value, (inner_dim,) or (runs, inner_dim), the same for all clients.
    """

    x: Tensor | None = None
    y: Tensor | None = None

    def models(self, problem: Any, draws: Draws) -> Tensor:
        """x^0 at every client, (runs, clients, dim)."""
        return _at_clients("x", problem.initial_point if self.x is None else self.x, problem.dim, draws)

    def embeddings(self, problem: Any, draws: Draws) -> Tensor | None:
        """y^0 at every client, (runs, clients, inner_dim), or None when it is left to the method."""
        return None if self.y is None else _at_clients("y", self.y, problem.inner_dim, draws)


def _at_clients(name: str, value: Tensor, size: int, draws: Draws) -> Tensor:
    if value.shape not in ((size,), (draws.runs, size)) or value.dtype != torch.float64:
        raise ValueError(
            f"start.{name} must be float64 of shape ({size},) or ({draws.runs}, {size}); "
            f"got {value.dtype} of shape {tuple(value.shape)}"
        )
    return broadcast(value.expand(draws.runs, size), draws.clients)


@dataclass(frozen=True)
class Messages:
    """What one client sends to the server in T steps; the server sends as much back.

    Attributes:
        rounds: rounds in which models are shared.
        model_floats: numbers in model-sized messages (models, momenta, gradient estimates).
        embedding_floats: numbers in messages of the size of the inner value.

    With partial participation the two counts are the mean over clients, an exact fraction.
    """

    rounds: int
    model_floats: int | Fraction
    embedding_floats: int | Fraction = 0

    def to_json(self) -> dict[str, str]:
        """The counts as exact text."""
        return {name: str(count) for name, count in vars(self).items()}

    @staticmethod
    def from_json(counts: dict[str, str]) -> Messages:
        """The inverse of ``to_json``."""
        return Messages(int(counts["rounds"]), Fraction(counts["model_floats"]), Fraction(counts["embedding_floats"]))


@dataclass(frozen=True, eq=False)
class Method(ABC):
    """A federated method. Subclasses are frozen dataclasses whose fields are the paper's hyperparameters.

    A field typed ``Scalar`` takes a number or a 1-d float64 tensor with one value per grid point; the grid points of a
    run share its random numbers. One typed ``Scalar | Schedule`` takes a schedule in t too, and its method asks for
    ``at(eta, t)``. Step sizes outside a theorem's region are allowed: whether a bound then says anything
    is not for a method to decide. What no run of it can have is refused: a weight above 1 when it is made, more clients
    in a round than there are by ``check``, a period longer than the run by ``check_steps`` (`fedco/ranges.py`).
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]  # problem kinds that the method is defined for
    needs: ClassVar[tuple[str, ...]]  # oracles that it calls
    needs_on: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # and those that it calls on one kind only
    costs: ClassVar[
        Mapping[str, str]
    ] = {}  # what T local steps cost, by resource: formulas in T and the hyperparameters
    uncounted: ClassVar[tuple[str, ...]] = ()  # hyperparameters that change none of these costs
    quantities: ClassVar[Mapping[str, str]] = {}  # hyperparameters that have a largest value, as quantities
    constants: ClassVar[
        Mapping[str, str]
    ] = {}  # quantities that the method itself has, as formulas in the hyperparameters
    measured: ClassVar[tuple[str, ...]] = ()  # those that no formula gives: what `measure` finds
    measured_by: ClassVar[tuple[str, ...]] = ()  # the hyperparameters that they depend on

    @abstractmethod
    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        """The state before step 0; ``draws`` are those of step -1."""

    @abstractmethod
    def local_step(self, problem: Any, state: Any, draws: Draws, t: int) -> State:
        """Step t at every client; ``draws`` are those of step t."""

    @abstractmethod
    def communicate(self, problem: Any, state: Any, t: int) -> State:
        """What is shared after step t: called after every step, the method looks at t and its period."""

    @abstractmethod
    def messages(self, problem: Any, T: int) -> Messages:
        """What one client sends in T steps."""

    def measure(self, clients: int) -> Mapping[str, float]:
        """The quantities in `measured` for this many clients, rounded so that they say no more than what is true."""
        return {}

    def attains(self, quantity: str, value: float | Fraction, clients: int) -> bool:
        """Whether such a quantity is as good as a number, where rounding leaves it open; a method may decide it exactly."""
        return False

    def attaining(self, quantity: str, value: Scalar) -> Self:
        """The method with `measured_by` chosen so that such a quantity is a number, for any number of clients above 1.

        Raises:
            ValueError: nothing says how.
        """
        raise ValueError(f"{self.name}: nothing says how its {quantity} is chosen")

    @property
    def gradient_step(self) -> Scalar | None:
        """The largest step size of a method whose models are means of models that step along gradients of samples; None for others."""
        return None

    def __post_init__(self) -> None:
        for declared in fields(self):
            if isinstance(getattr(self, declared.name), list | tuple):
                object.__setattr__(self, declared.name, _frozen(getattr(self, declared.name)))
            self._check_field(declared, getattr(self, declared.name))
        if len(self._grid_sizes()) > 1:
            raise ValueError(f"{self.name}: tensors over grid points differ in length: {sorted(self._grid_sizes())}")
        self._check_range("", 1)

    def _check_range(self, over: str, size: int) -> None:
        """Raise ValueError if a hyperparameter exceeds its largest value in units of ``over``, which is ``size`` here."""
        for name, limit in self._limits(over):
            per = next((h for h, quantity in self.quantities.items() if quantity == limit.per), "")
            value = getattr(self, name)
            if value is not None and not _at_most(largest(value) * (largest(getattr(self, per)) if per else 1), size):
                shown = f"{name} {per}".strip()
                wanted = f"at most {size}" + (f", the {limit.over.replace('_', ' ')}" if limit.over else "")
                raise ValueError(f"{self.name}: {shown} must be {wanted} ({limit.why}); got {value!r}")

    def _limits(self, over: str) -> list[tuple[str, AtMost]]:
        known = [(name, AT_MOST.get(quantity)) for name, quantity in self.quantities.items()]
        return [(name, limit) for name, limit in known if limit is not None and limit.over == over]

    def _check_field(self, declared: Field[Any], value: Any) -> None:
        annotation, options = annotation_of(declared), declared.metadata.get("options", ())
        is_unset_option = value is None and "None" in annotation
        if annotation.startswith("Scalar") and not (is_unset_option or is_scalar(value)):
            takes_schedules = "Schedule" in annotation
            if not (takes_schedules and isinstance(value, Schedule)):
                or_schedule = ", or a Schedule" if takes_schedules else ""
                self._refuse(declared, f"a finite number >= 0, or a 1-d float64 tensor of such{or_schedule}", value)
        if annotation.startswith("int") and not (is_unset_option or _is_count(value)):
            self._refuse(declared, "an integer >= 1", value)
        if annotation.startswith(("Batches", "Counts")) and not (is_unset_option or _are_counts(value)):
            self._refuse(declared, "an integer >= 1, or a list of such", value)
        if options and value not in options:
            self._refuse(declared, f"one of {', '.join(options)}", value)

    def _refuse(self, declared: Field[Any], wanted: str, value: Any) -> None:
        raise ValueError(f"{self.name}: {declared.name} must be {wanted}; got {value!r}")

    def _grid_sizes(self) -> set[int]:
        values = (getattr(self, declared.name) for declared in fields(self))
        return {tensor.shape[0] for value in values for tensor in _tensors_of(value)}

    @property
    def grid(self) -> int:
        """Number of grid points: the length of the tensor-valued hyperparameters, else 1."""
        return next(iter(self._grid_sizes()), 1)

    def over(self, seeds: int, device: torch.device | str = "cpu") -> Self:
        """The same method with each grid tensor laid out over the runs, (grid * seeds, 1, 1), ready to multiply."""

        def lay_out(v: Tensor) -> Tensor:
            return v.to(device).repeat_interleave(seeds).view(-1, 1, 1)

        values = {declared.name: getattr(self, declared.name) for declared in fields(self)}
        over_grid = {name: v for name, v in values.items() if _tensors_of(v)}
        return replace(
            self, **{name: v.over(lay_out) if isinstance(v, Schedule) else lay_out(v) for name, v in over_grid.items()}
        )

    def check(self, problem: Any) -> None:
        """Raise NotApplicable, naming the reason, unless the method is defined on this problem; ValueError if it has too
        few clients."""
        if problem.kind not in self.kinds:
            raise NotApplicable(
                f"{self.name} is not defined on problem kind {problem.kind!r} "
                f"({problem.name}); it runs on {', '.join(self.kinds)}"
            )
        needs = (*self.needs, *self.needs_on.get(problem.kind, ()))
        missing = [oracle for oracle in needs if not hasattr(problem, oracle)]
        if missing:
            raise NotApplicable(f"{self.name} needs {', '.join(missing)}: {problem.name} does not have such an oracle")
        self._check_range("clients", problem.clients)

    def check_steps(self, steps: int) -> None:
        """Raise ValueError unless a run of this many steps has at least one round."""
        self._check_range("iterations", steps)

    @property
    def is_scheduled(self) -> bool:
        """Whether a hyperparameter depends on t, so that no step or round is like another."""
        return any(isinstance(getattr(self, declared.name), Schedule) for declared in fields(self))

    def hyperparameters(self) -> dict[str, Any]:
        """Names and values as JSON can hold them; a grid tensor becomes a list, a schedule its formula."""
        values = {declared.name: getattr(self, declared.name) for declared in fields(self)}
        return {name: _plain(v) for name, v in values.items()}


@dataclass(frozen=True, eq=False)
class SpecialCase(Method):
    """A method that is another one at fixed hyperparameters: it says which one, on which kind of problem; all four moves are that one's."""

    @abstractmethod
    def general(self, kind: str) -> Method:
        """The method that this one is, on problems of this kind."""

    def _moves(self, problem: Any) -> Method:
        made: dict[str, Method] = self.__dict__.setdefault("_made", {})  # once per run: construction checks its fields
        if problem.kind not in made:
            made[problem.kind] = self.general(problem.kind)
        return made[problem.kind]

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        return self._moves(problem).init(problem, start, draws)

    def local_step(self, problem: Any, state: Any, draws: Draws, t: int) -> State:
        return self._moves(problem).local_step(problem, state, draws, t)

    def communicate(self, problem: Any, state: Any, t: int) -> State:
        return self._moves(problem).communicate(problem, state, t)

    def messages(self, problem: Any, T: int) -> Messages:
        return self._moves(problem).messages(problem, T)


def annotation_of(declared: Field[Any]) -> str:
    """The annotation of a hyperparameter as it is written, also where its module evaluates annotations."""
    if isinstance(declared.type, str):
        return declared.type
    text = getattr(declared.type, "__name__", str(declared.type))
    return text.replace(str(Scalar), "Scalar").replace(str(Batches), "Batches")


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.flatten().tolist()
    if isinstance(value, Schedule):
        return value.plain()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def _tensors_of(value: Any) -> tuple[Tensor, ...]:
    if isinstance(value, Schedule):
        return value.tensors
    return (value,) if isinstance(value, Tensor) else ()


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _are_counts(value: Any) -> bool:
    return _is_count(value) or (isinstance(value, tuple) and len(value) > 0 and all(map(_is_count, value)))


def _at_most(value: Scalar, limit: int) -> bool:
    """But for rounding: a formula that is the limit may come out above it."""
    if type(value) in (float, Tensor):  # not what a subclass computes exactly
        value = value * _BELOW_ONE
    return bool((value <= limit).all()) if isinstance(value, Tensor) else value <= limit


_BELOW_ONE = 1 - 2.0**-50


def is_due(t: int, period: int) -> bool:
    """Whether the step t (counted from 0) ends a period: (t + 1) mod period = 0."""
    return (t + 1) % period == 0


def choice(*options: str) -> Any:
    """A dataclass field for a place where the pseudocode has several readings; the first option is the default."""
    return field(default=options[0], metadata={"options": options})


AnyState = TypeVar("AnyState", bound=State)


# --- partial participation: a round is run by m clients, drawn uniformly without replacement ---


def participants(draws: Draws, m: int | None, purpose: str = "clients") -> Tensor | None:
    """The clients of a round as a 0/1 mask (runs, clients); None when all take part."""
    return None if m is None else draws.subset(purpose, m)


def at_round_start(
    state: AnyState, draws: Draws, t: int, period: int, m: int | None, purpose: str = "clients"
) -> AnyState:
    """The state with the clients of a new round, when step t begins one."""
    if m is None or t % period:
        return state
    return replace(state, active=participants(draws, m, purpose))


def fraction(problem: Any, m: int | None) -> int | Fraction:
    """The share of the rounds that one client takes part in, as a mean over clients."""
    return 1 if m is None else Fraction(m, problem.clients)
