"""The vocabulary of constants: every symbol of every theorem is bound to one quantity declared here.

The papers use clashing letters (ComFedL calls the inner function f, the others the outer), so a problem certifies
*quantities* and a theorem reads them through its own symbols. This is the only module that creates a sympy Symbol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import sympy as sp

from .dimension import INNER, OBJECTIVE, ONE, VARIABLE, Dimension

POSITIVE = "positive real"
NONNEGATIVE = "nonnegative real"
COUNT = "positive integer"
MAX_STEPS = 100
STEPS = f"whole number from 0 to {MAX_STEPS}"
"""A number of steps that a recursion is unrolled for; an exact evaluation of more would take seconds."""
_ASSUMPTIONS = {
    POSITIVE: {"positive": True},
    NONNEGATIVE: {"nonnegative": True},
    COUNT: {"positive": True, "integer": True},
    STEPS: {"nonnegative": True, "integer": True},
}


@dataclass(frozen=True)
class Quantity:
    """One physical meaning: `role` says who sets it (the problem, the user, or a run that measures it)."""

    name: str
    meaning: str
    dimension: Dimension
    domain: str = POSITIVE
    role: str = "constant"

    def __post_init__(self) -> None:
        if self.domain not in _ASSUMPTIONS:
            raise ValueError(f"quantity {self.name}: domain must be one of {sorted(_ASSUMPTIONS)}, got {self.domain!r}")
        if self.role not in ("constant", "hyperparameter", "observable", "derived"):
            raise ValueError(f"quantity {self.name}: unknown role {self.role!r}")


_F, _Y, _X = OBJECTIVE, INNER, VARIABLE
_GRADIENT = _F / _X
_CURVATURE = _F / _X**2


def _table() -> dict[str, Quantity]:
    rows: list[Quantity] = []

    def constant(name: str, meaning: str, dimension: Dimension, domain: str = POSITIVE) -> None:
        rows.append(Quantity(name, meaning, dimension, domain))

    def hyper(name: str, meaning: str, dimension: Dimension = ONE, domain: str = POSITIVE) -> None:
        rows.append(Quantity(name, meaning, dimension, domain, "hyperparameter"))

    def observable(name: str, meaning: str, dimension: Dimension) -> None:
        rows.append(Quantity(name, meaning, dimension, NONNEGATIVE, "observable"))

    # Lipschitz and smoothness constants of the parts
    constant("outer_lipschitz", "Lipschitz constant of the outer function", _F / _Y)
    constant("outer_mean_square_lipschitz", "root bound of E||grad f(y; zeta)||^2", _F / _Y)
    constant("outer_sample_lipschitz", "bound of the outer gradient of every sample", _F / _Y)
    constant("outer_smoothness", "Lipschitz constant of the outer gradient", _F / _Y**2)
    constant("outer_sample_smoothness", "Lipschitz constant of the outer gradient of every sample", _F / _Y**2)
    constant("inner_lipschitz", "Lipschitz constant of the inner map", _Y / _X)
    constant("inner_mean_square_lipschitz", "mean-square Lipschitz constant of the stochastic inner map", _Y / _X)
    constant("inner_sample_lipschitz", "bound of the inner Jacobian of every sample", _Y / _X)
    constant("inner_smoothness", "Lipschitz constant of the inner Jacobian", _Y / _X**2)
    constant("inner_sample_smoothness", "Lipschitz constant of the inner Jacobian of every sample", _Y / _X**2)
    constant("noncompositional_smoothness", "Lipschitz constant of grad h", _CURVATURE, NONNEGATIVE)
    constant("objective_smoothness", "Lipschitz constant of the gradient of the whole objective", _CURVATURE)
    # noise
    for name, meaning, dimension in (
        ("outer_gradient_noise", "standard-deviation bound of the stochastic outer gradient", _F / _Y),
        ("inner_jacobian_noise", "standard-deviation bound of the stochastic inner Jacobian", _Y / _X),
        ("inner_value_noise", "standard-deviation bound of the stochastic inner value", _Y),
        ("inner_noise", "one standard-deviation bound for both the inner value and the inner Jacobian", _Y / _X),
        ("composite_noise", "largest of the inner value, inner Jacobian and outer gradient noise", _Y),
        ("noncompositional_gradient_noise", "standard-deviation bound of the stochastic grad h", _GRADIENT),
    ):
        constant(name, meaning, dimension, NONNEGATIVE)
    # heterogeneity
    constant("noncompositional_heterogeneity", "bound of ||grad h_k - grad h||", _GRADIENT, NONNEGATIVE)
    constant("inner_jacobian_heterogeneity", "bound of ||grad g_k - grad g||", _Y / _X, NONNEGATIVE)
    # losses of single clients (several fine-tuning steps)
    constant("local_gradient_bound", "bound of ||grad f_i|| over all clients", _GRADIENT)
    constant("local_smoothness", "largest Lipschitz constant of grad f_i", _CURVATURE)
    constant("local_hessian_lipschitz", "largest Lipschitz constant of the Hessian of f_i", _F / _X**3)
    constant("local_gradient_noise", "standard-deviation bound of the gradient of one sample", _GRADIENT, NONNEGATIVE)
    constant("local_hessian_noise", "standard-deviation bound of the Hessian of one sample", _CURVATURE, NONNEGATIVE)
    constant("local_gradient_fourth_moment", "bound of E||grad l_i - grad f_i||^4", _GRADIENT**4, NONNEGATIVE)
    constant("local_hessian_fourth_moment", "bound of E||hess l_i - hess f_i||^4", _CURVATURE**4, NONNEGATIVE)
    for name, meaning, dimension in (
        ("local_gradient_heterogeneity", "root of a bound of (1/N) sum_i ||grad f_i - grad f||^2", _GRADIENT),
        ("local_hessian_heterogeneity", "root of a bound of (1/N) sum_i ||hess f_i - hess f||^2", _CURVATURE),
    ):
        constant(name, meaning, dimension, NONNEGATIVE)
    # start
    constant("objective_gap", "objective at the start minus its infimum", _F, NONNEGATIVE)
    constant("initial_inner_error", "norm of y_0 - g(x_0)", _Y, NONNEGATIVE)
    # hyperparameters
    hyper("step_size", "step size", _X**2 / _F)
    hyper("momentum", "momentum parameter of an estimator")
    hyper("iterations", "number of local iterations", domain=COUNT)
    hyper("communication_period", "local iterations between two communications", domain=COUNT)
    hyper("clients", "number of clients", domain=COUNT)
    hyper("batch_size", "samples per client and iteration", domain=COUNT)
    hyper("fine_tuning_step_size", "step size of the fine-tuning steps", _X**2 / _F)
    hyper("fine_tuning_steps", "number of fine-tuning steps inside the objective", domain=STEPS)
    hyper("hessian_batch_size", "samples per Hessian estimate", domain=COUNT)
    hyper("difference_step", "half-width of a central difference for a Hessian, per unit of gradient", _X**2 / _F)
    hyper("participation", "fraction of the clients that take part in a round")
    hyper("rounds", "number of communication rounds", domain=COUNT)
    hyper("hidden_constant", "the constant that the paper hides in O(1)")
    # measured along a run
    observable("gradient_sq", "E||grad F(xbar_t)||^2", _GRADIENT**2)
    observable("mean_direction_sq", "E||conditional mean of the averaged direction||^2", _GRADIENT**2)
    observable("consensus_error", "(1/K) sum_k E||x_k - xbar||^2", _X**2)
    observable("consensus_sum", "sum over the steps so far in this round of the consensus error", _X**2)
    observable("inner_error", "E||ybar - (1/K) sum_k g_k(x_k)||^2", _Y**2)
    return {row.name: row for row in rows}


QUANTITIES: Mapping[str, Quantity] = _table()


@dataclass(frozen=True)
class Binding:
    """A paper's symbol: its ASCII name (= keyword, CLI name, JSON key), its LaTeX and the quantity it stands for."""

    name: str
    latex: str
    quantity: Quantity
    symbol: sp.Symbol


@dataclass(frozen=True)
class Vocabulary:
    """The symbols of one paper, in the paper's own letters.

    Example:
        >>> words = Vocabulary("demo", (("L_f", "L_f", "outer_smoothness"),))
        >>> words["L_f"].quantity.name
        'outer_smoothness'
    """

    paper: str
    entries: tuple[tuple[str, str, str], ...]
    extra: tuple[Quantity, ...] = ()
    bindings: Mapping[str, Binding] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        known = {**QUANTITIES, **{quantity.name: quantity for quantity in self.extra}}
        names = [name for name, _, _ in self.entries]
        if len(set(names)) != len(names):
            raise ValueError(f"vocabulary {self.paper}: a symbol is declared twice in {names}")
        bound = {name: _bind(name, latex, known[quantity]) for name, latex, quantity in self.entries}
        object.__setattr__(self, "bindings", bound)

    def __getitem__(self, name: str) -> Binding:
        return self.bindings[name]

    def __iter__(self) -> Iterator[Binding]:
        return iter(self.bindings.values())

    def namespace(self) -> SimpleNamespace:
        """The sympy symbols as attributes, so that a declaration reads like the paper."""
        return SimpleNamespace(**{name: binding.symbol for name, binding in self.bindings.items()})


def _bind(name: str, latex: str, quantity: Quantity) -> Binding:
    return Binding(name, latex, quantity, sp.Symbol(name, **_ASSUMPTIONS[quantity.domain]))


def derived_symbol(name: str) -> sp.Symbol:
    """The symbol of a derived constant such as L_Phi (nonnegative, since noise may vanish)."""
    return sp.Symbol(name, **_ASSUMPTIONS[NONNEGATIVE])


def slack_symbol(name: str) -> sp.Symbol:
    """A nonnegative auxiliary variable of an exact certificate; never part of a statement."""
    return sp.Symbol(f"slack_{name}", **_ASSUMPTIONS[NONNEGATIVE])
