"""The one vocabulary of the package: what every symbol of a theorem and every certificate of a problem stands for.

The papers use clashing letters (one calls the inner function f, the others the outer), so a problem certifies *quantities*
and a theorem reads them through its own symbols. A constant is a supremum over all points and all clients, and never a square
unless it says so; norms of Jacobians and Hessians are spectral unless an entry says Frobenius. f_k, g_k and h_k are the outer,
inner and non-compositional functions of client k; f_i is the loss of client i where there is no composition, l_i one sample of it.
This module needs neither sympy nor torch.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .bounding import (
    AT_MINIMISER,
    AT_START,
    AVERAGE,
    CONTRACTION,
    DELAY,
    DISTANCE,
    FROBENIUS,
    GAP,
    GAP_TO_ONE,
    GROWTH,
    MEAN_SQUARE,
    POLYAK_LOJASIEWICZ,
    RELATIVE_ERROR,
    RELATIVE_VARIANCE,
    REMAINDER,
    SAMPLE,
    SHARE,
    START,
    STRONG_CONCAVITY,
    STRONG_CONVEXITY,
    UNLIKE_AT_START,
    WEAK_CONVEXITY,
    Form,
    lipschitz,
    noise,
    noise_size,
    size,
    unlike,
)
from .dimension import INNER, OBJECTIVE, ONE, VARIABLE, Dimension
from .quantity import (
    BELOW_ONE,
    BETWEEN,
    COUNT,
    DOMAINS,
    MAX_STEPS,
    NONNEGATIVE,
    POSITIVE,
    QUANTITIES,
    STEPS,
    UP_TO_ONE,
    WEIGHTS,
    Quantity,
    quantity,
    refuse_contradictions,
    register,
)

__all__ = [
    "BELOW_ONE",
    "BETWEEN",
    "COUNT",
    "DOMAINS",
    "MAX_STEPS",
    "NONNEGATIVE",
    "POSITIVE",
    "QUANTITIES",
    "STEPS",
    "UP_TO_ONE",
    "WEIGHTS",
    "Quantity",
    "quantity",
    "refuse_contradictions",
    "register",
]

Forms = Form | tuple[Form, ...]
_F, _Y, _X = OBJECTIVE, INNER, VARIABLE
_GRADIENT = _F / _X
_CURVATURE = _F / _X**2


def _constant(
    name: str,
    meaning: str,
    *stand_ins: str,
    dimension: Dimension | None = None,
    bounds: Forms = (),
    domain: str = POSITIVE,
    each_of: tuple[str, ...] = (),
) -> None:
    """A constant of the problem; its dimension is that of what it bounds, where none is given."""
    forms = (bounds,) if isinstance(bounds, Form) else bounds
    of = dimension or forms[0].dimension
    register(Quantity(name, meaning, of, domain, stand_ins=stand_ins, bounds=forms, each_of=each_of))


def _noise(name: str, meaning: str, *stand_ins: str, **more: Any) -> None:
    """A constant that may be 0."""
    _constant(name, meaning, *stand_ins, domain=NONNEGATIVE, **more)


def _hyper(
    name: str,
    meaning: str,
    dimension: Dimension = ONE,
    default: Fraction | int | None = None,
    bounds: Forms = (),
    domain: str = POSITIVE,
) -> None:
    value = None if default is None else Fraction(default)
    forms = (bounds,) if isinstance(bounds, Form) else bounds
    register(Quantity(name, meaning, dimension, domain, "hyperparameter", default=value, bounds=forms))


def _count(name: str, meaning: str, domain: str = COUNT, default: int | None = None) -> None:
    _hyper(name, meaning, default=default, domain=domain)


def _batch(name: str, meaning: str) -> None:
    register(Quantity(name, meaning, ONE, COUNT, "hyperparameter", absent=Fraction(1)))


def _observable(name: str, meaning: str, dimension: Dimension, domain: str = NONNEGATIVE) -> None:
    register(Quantity(name, meaning, dimension, domain, "observable"))


# --- the outer functions f_k
_constant(
    "outer_lipschitz",
    "Lipschitz constant of the outer function",
    "outer_mean_square_lipschitz",
    "outer_sample_lipschitz",
    bounds=size("outer_gradient"),
)
_constant(
    "outer_mean_square_lipschitz",
    "root mean square bound of the stochastic outer gradient",
    "outer_sample_lipschitz",
    "outer_lipschitz",
    bounds=size("outer_gradient", MEAN_SQUARE),
)
_constant(
    "outer_sample_lipschitz",
    "bound of the outer gradient of every sample",
    "outer_mean_square_lipschitz",
    "outer_lipschitz",
    bounds=size("outer_gradient", SAMPLE),
)
_constant(
    "outer_smoothness",
    "Lipschitz constant of the outer gradient",
    "outer_sample_smoothness",
    bounds=lipschitz("outer_gradient"),
)
_constant(
    "outer_sample_smoothness",
    "Lipschitz constant of the outer gradient of every sample",
    "outer_smoothness",
    bounds=lipschitz("outer_gradient", SAMPLE),
)
_noise(
    "outer_gradient_noise", "standard-deviation bound of the stochastic outer gradient", bounds=noise("outer_gradient")
)
# --- the inner maps g_k
_constant(
    "inner_lipschitz",
    "Lipschitz constant of the inner map",
    "inner_mean_square_lipschitz",
    "inner_sample_lipschitz",
    bounds=lipschitz("inner_value"),
)
_constant(
    "inner_mean_square_lipschitz",
    "mean-square Lipschitz constant of the stochastic inner map",
    "inner_sample_lipschitz",
    "inner_lipschitz",
    bounds=lipschitz("inner_value", MEAN_SQUARE),
)
_constant(
    "inner_jacobian_mean_square",
    "root mean square bound of the stochastic inner Jacobian",
    "inner_mean_square_lipschitz",
    "inner_sample_lipschitz",
    "inner_lipschitz",
    bounds=size("inner_jacobian", MEAN_SQUARE),
)
_constant(
    "inner_sample_lipschitz",
    "bound of the inner Jacobian of every sample",
    "inner_mean_square_lipschitz",
    "inner_lipschitz",
    bounds=size("inner_jacobian", SAMPLE),
)
_constant(
    "inner_smoothness",
    "Lipschitz constant of the inner Jacobian",
    "inner_sample_smoothness",
    bounds=lipschitz("inner_jacobian"),
)
_constant(
    "inner_sample_smoothness",
    "Lipschitz constant of the inner Jacobian of every sample",
    "inner_smoothness",
    bounds=lipschitz("inner_jacobian", SAMPLE),
)
_noise(
    "inner_jacobian_noise",
    "standard-deviation bound of the stochastic inner Jacobian, Frobenius norm",
    bounds=noise("inner_jacobian", FROBENIUS),
)
_noise("inner_value_noise", "standard-deviation bound of the stochastic inner value", bounds=noise("inner_value"))
_noise(
    "inner_noise",
    "one standard-deviation bound for both the inner value and the inner Jacobian, Frobenius norm",
    "inner_jacobian_noise",
    "inner_value_noise",
    dimension=_Y / _X,
    bounds=(noise("inner_value"), noise("inner_jacobian", FROBENIUS)),
    each_of=("inner_jacobian_noise", "inner_value_noise"),
)
_noise(
    "composite_noise",
    "largest of the inner value, inner Jacobian and outer gradient noise",
    "inner_value_noise",
    "inner_noise",
    bounds=(noise("inner_value"), noise("inner_jacobian", FROBENIUS), noise("outer_gradient")),
    each_of=("inner_jacobian_noise", "inner_value_noise", "outer_gradient_noise"),
)
_noise(
    "inner_jacobian_heterogeneity",
    "bound of ||grad g_k - grad g||, Frobenius norm",
    bounds=unlike("inner_jacobian", FROBENIUS),
)
_noise("initial_inner_error", "norm of y_0 - g(x_0)", bounds=Form(START, "inner_value"))
# --- the non-compositional functions h_k
_noise("noncompositional_smoothness", "Lipschitz constant of grad h_k", bounds=lipschitz("extra_gradient"))
_noise(
    "noncompositional_sample_smoothness",
    "Lipschitz constant of grad h_k of every sample",
    bounds=lipschitz("extra_gradient", SAMPLE),
)
_noise(
    "noncompositional_gradient_noise",
    "standard-deviation bound of the stochastic grad h_k",
    bounds=noise("extra_gradient"),
)
_noise("noncompositional_heterogeneity", "bound of ||grad h_k - grad h||", bounds=unlike("extra_gradient"))
# --- the losses f_i of single clients
_constant("local_gradient_bound", "bound of ||grad f_i|| over all clients", bounds=size("local_gradient"))
_constant("local_smoothness", "largest Lipschitz constant of grad f_i", bounds=lipschitz("local_gradient"))
_constant(
    "local_hessian_lipschitz", "largest Lipschitz constant of the Hessian of f_i", bounds=lipschitz("local_hessian")
)
_constant(
    "local_sample_gradient_bound", "bound of the gradient of f_i of every sample", bounds=size("local_gradient", SAMPLE)
)
_constant(
    "local_sample_smoothness",
    "Lipschitz constant of the gradient of f_i of every sample",
    bounds=lipschitz("local_gradient", SAMPLE),
)
_constant(
    "local_sample_hessian_lipschitz",
    "Lipschitz constant of the Hessian of f_i of every sample",
    bounds=lipschitz("local_hessian", SAMPLE),
)
_noise("local_gradient_noise", "standard-deviation bound of the gradient of one sample", bounds=noise("local_gradient"))
_noise("local_hessian_noise", "standard-deviation bound of the Hessian of one sample", bounds=noise("local_hessian"))
_noise(
    "local_gradient_noise_bound",
    "bound of the noise of the gradient of every sample, ||gradient of one sample - grad f_i||",
    bounds=noise_size("local_gradient"),
)
_noise("local_gradient_fourth_moment", "bound of E||grad l_i - grad f_i||^4", dimension=_GRADIENT**4)
_noise("local_hessian_fourth_moment", "bound of E||hess l_i - hess f_i||^4", dimension=_CURVATURE**4)
_noise(
    "local_gradient_heterogeneity",
    "root of a bound of (1/N) sum_i ||grad f_i - grad f||^2",
    bounds=unlike("local_gradient", over=AVERAGE),
)
_noise(
    "local_hessian_heterogeneity",
    "root of a bound of (1/N) sum_i ||hess f_i - hess f||^2",
    bounds=unlike("local_hessian", over=AVERAGE),
)
_noise(
    "initial_gradient_heterogeneity",
    "how unlike the clients' gradients are at the start: root of (1/N) sum_i ||grad f_i(x_0) - grad f(x_0)||^2",
    bounds=Form(UNLIKE_AT_START, "local_gradient"),
)
# --- the whole objective F
_constant(
    "objective_smoothness",
    "Lipschitz constant of the gradient of the whole objective",
    "local_smoothness",
    bounds=lipschitz("objective_gradient"),
)
_noise("objective_gap", "objective at the start minus its infimum", bounds=Form(GAP, "objective"))
_noise(
    "gradient_cap",
    "bound of ||grad F||: the almost-sure cap of what a verdict averages",
    bounds=size("objective_gradient"),
)
_noise(
    "initial_gradient_norm",
    "norm of the gradient of the objective at the start, ||grad F(x_0)||",
    bounds=Form(AT_START, "objective_gradient"),
)
_constant("client_weight", "weight p_i of a client in F = sum_i p_i f_i", dimension=ONE, domain=WEIGHTS)
_constant("domain_radius", "radius of a ball in which the models stay", dimension=_X)
_noise("initial_distance", "distance of the start from a minimiser, ||x_0 - x_*||", bounds=Form(DISTANCE, "objective"))
_constant(
    "strong_convexity", "strong convexity constant of the whole objective", bounds=Form(STRONG_CONVEXITY, "objective")
)
_constant(
    "polyak_lojasiewicz",
    "Polyak-Lojasiewicz (PL) constant mu: ||grad F||^2 >= 2 mu (F - F_*)",
    bounds=Form(POLYAK_LOJASIEWICZ, "objective"),
)
_noise(
    "weak_convexity",
    "weak convexity constant rho: F + rho/2 ||x||^2 is convex",
    bounds=Form(WEAK_CONVEXITY, "objective"),
)
_constant(
    "dissimilarity_factor",
    "gradient dissimilarity, the factor B in (1/N) sum_i ||grad f_i||^2 <= B^2 ||grad F||^2 + G^2",
    bounds=Form(GROWTH, "local_gradient"),
)
_noise(
    "dissimilarity_remainder",
    "gradient dissimilarity, the remainder G in (1/N) sum_i ||grad f_i||^2 <= B^2 ||grad F||^2 + G^2",
    bounds=Form(REMAINDER, "local_gradient"),
)
_noise(
    "minimiser_second_moment",
    "root of E||gradient of one sample||^2 at a minimiser of F, largest over the clients",
    bounds=Form(AT_MINIMISER, "local_gradient", MEAN_SQUARE),
)
_noise(
    "minimiser_heterogeneity",
    "root of (1/N) sum_i ||grad f_i||^2 at a minimiser of F",
    bounds=Form(AT_MINIMISER, "local_gradient"),
)
# --- max_y (1/N) sum_i f_i(x, y): the smoothness in x at every y is `local_smoothness`, and so is what else has a name above
_constant(
    "dual_smoothness",
    "largest Lipschitz constant of the gradient of f_i(x, y) in y",
    bounds=lipschitz("ascent_gradient"),
)
_constant(
    "coupling",
    "Lipschitz constant of the gradient of f_i(x, y) in x along y, and in y along x",
    bounds=lipschitz("gradient_along_dual"),
)
_constant("strong_concavity", "strong concavity of every f_i(x, y) in y", bounds=Form(STRONG_CONCAVITY, "dual_loss"))
_noise(
    "dual_gradient_noise",
    "standard-deviation bound of the stochastic gradient of f_i(x, y) in y",
    bounds=noise("ascent_gradient"),
)
_noise(
    "dual_heterogeneity",
    "root of a bound of the mean over i of ||gradient of f_i in y - that of the mean||^2",
    bounds=unlike("ascent_gradient", over=AVERAGE),
)
_noise(
    "initial_dual_error",
    "distance of y_0 from the y that is best at x_0: the maximiser of the mean of the f_i(x_0, y), or the minimiser of a lower level",
    bounds=Form(START, "maximiser"),
)
# --- (1/N) sum_i f_i(x, y*(x)), y*(x) least for (1/N) sum_i g_i(x, y): noise of the f_i has names above
_constant(
    "lower_smoothness",
    "largest Lipschitz constant of the gradient of g_i(x, y) in y",
    bounds=lipschitz("lower_gradient"),
)
_constant(
    "lower_strong_convexity", "strong convexity of every g_i(x, y) in y", bounds=Form(STRONG_CONVEXITY, "lower_loss")
)
_constant(
    "lower_coupling",
    "Lipschitz constant of the gradient of g_i(x, y) in y along x",
    bounds=lipschitz("lower_gradient_along_upper"),
)
_noise(
    "lower_gradient_noise",
    "standard-deviation bound of the stochastic gradient of g_i(x, y) in y",
    bounds=noise("lower_gradient"),
)
_noise(
    "lower_heterogeneity",
    "root of a bound of the mean over i of ||gradient of g_i in y - that of the mean||^2",
    bounds=unlike("lower_gradient", over=AVERAGE),
)
_constant("upper_lipschitz", "bound of the gradient of every f_i(x, y) in y", bounds=size("ascent_gradient"))
_constant(
    "hypergradient_smoothness",
    "Lipschitz constant along y of grad_x f - grad_xy g [grad_yy g]^-1 grad_y f, of means over the clients",
    bounds=lipschitz("hypergradient"),
)
# --- what a method is built on: no problem certifies these
_hyper(
    "compression_variance",
    "relative variance omega of an unbiased compressor: E||C(x) - x||^2 <= omega ||x||^2",
    domain=NONNEGATIVE,
    bounds=Form(RELATIVE_VARIANCE, "compressor"),
)
_hyper(
    "compression_accuracy",
    "accuracy delta of a contractive compressor: E||C(x) - x||^2 <= (1 - delta) ||x||^2",
    bounds=Form(RELATIVE_ERROR, "compressor"),
    domain=UP_TO_ONE,
)
_hyper(
    "mixing_contraction",
    "contraction of a mixing (gossip) matrix: largest absolute eigenvalue besides 1",
    bounds=Form(CONTRACTION, "mixing_matrix"),
    domain=BELOW_ONE,
)
_hyper(
    "spectral_gap",
    "spectral gap of a mixing (gossip) matrix: one minus its contraction",
    bounds=Form(GAP_TO_ONE, "mixing_matrix"),
    domain=UP_TO_ONE,
)
_hyper("delay", "largest delay (staleness) of a gradient, in steps", bounds=Form(DELAY, "schedule"), domain=COUNT)
# --- hyperparameters
_hyper("step_size", "step size", _X**2 / _F)
_hyper("step_numerator", "numerator a of a step size that declines in the step t, such as a/(t + t0)", _X**2 / _F)
_hyper("step_offset", "offset t0 of a step size that declines in the step t, such as a/(t + t0)")
_hyper("dual_step_size", "step size in y: of the ascent, or of the descent in a lower level", _Y**2 / _F)
_hyper("series_step_size", "step size in a series of powers that stands for an inverse Hessian in y", _Y**2 / _F)
_count("series_terms", "number of terms of a series of powers that stands for an inverse Hessian")
_hyper("momentum", "weight of the new value in an estimator with momentum")
_hyper(
    "momentum_numerator",
    "numerator beta of a weight of the new value that declines in the step t, such as beta/(t + t0)",
)
_hyper("heavy_ball_momentum", "weight of the last step in a heavy-ball (momentum) method", domain=BELOW_ONE)
_hyper("server_step_size", "step size of the server, a factor of the mean change of the clients' models")
_hyper("server_momentum", "weight of the last change in a momentum at the server", domain=BELOW_ONE)
_hyper("proximal_weight", "weight of the proximal term that keeps a client near the server's model", _CURVATURE)
_hyper("failure_probability", "probability delta with which a bound may fail", domain=BETWEEN)
_hyper("step_scale", "common factor of a step size and the weights of estimators")
_hyper("gradient_momentum", "weight of a new gradient in an estimator, in units of the step scale")
_hyper("inner_momentum", "weight of a new inner value in an estimator, in units of the step scale")
_count("iterations", "number of local iterations")
_count("communication_period", "local iterations between two communications")
_count("client_steps", "local steps of a client in a round")
_count("clients", "number of clients", default=10)
_count("sampled_clients", "number of clients that take part in a round")
_batch("batch_size", "samples per client and iteration")
_batch("outer_batch_size", "samples of the outer function per client and iteration")
_batch("inner_batch_size", "inner samples for each outer sample")
_batch("initial_batch_size", "outer samples per client for the first estimate")
_batch("hessian_batch_size", "samples per Hessian estimate")
_hyper("fine_tuning_step_size", "step size of the fine-tuning steps", _X**2 / _F, Fraction(1, 10))
_count("fine_tuning_steps", "number of fine-tuning steps inside the objective", STEPS, default=1)
_hyper(
    "difference_step",
    "half-width of a central difference for a Hessian, per unit of gradient",
    _X**2 / _F,
    Fraction(1, 100),
)
_hyper(
    "participation", "fraction of the clients that take part in a round", default=1, bounds=Form(SHARE, "random_set")
)
_count("rounds", "number of communication rounds")
_hyper("hidden_constant", "the constant that the paper hides in O(1)", default=1)
_hyper("divergence_weight", "weight of the divergence in a distributionally robust objective", _F)
# --- measured along a run
_observable("gradient_sq", "E||grad F(xbar_t)||^2", _GRADIENT**2)
_observable("mean_direction_sq", "E||conditional mean of the averaged direction||^2", _GRADIENT**2)
_observable("consensus_error", "(1/K) sum_k E||x_k - xbar||^2", _X**2)
_observable("consensus_sum", "sum over the steps so far in this round of the consensus error", _X**2)
_observable("inner_error", "E||ybar - (1/K) sum_k g_k(x_k)||^2", _Y**2)
_observable("mean_exponential", "mean of exp(loss / weight of the divergence)", ONE, POSITIVE)
