"""What a number bounds, as data: of which function of the problem, for which samples, in which norm.

A row of the vocabulary has its forms here; the kernel of proofs reads its assumptions off them (`implied` says what else follows), and
`prove` prints their words. Plain data: it needs neither sympy nor torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

from ...suggestion import nearest
from .dimension import INNER, OBJECTIVE, ONE, VARIABLE, Dimension

LIPSCHITZ = "Lipschitz constant"
SIZE = "bound of the norm"
NOISE = "standard deviation"
NOISE_SIZE = "bound of the noise"
UNLIKE = "distance from the mean over the clients"
GAP = "value at the start minus infimum"
START = "distance of the first estimate from the value"
SHARE = "share of the clients"
STRONG_CONVEXITY = "strong convexity constant"
WEAK_CONVEXITY = "weak convexity constant"
STRONG_CONCAVITY = "strong concavity constant"
POLYAK_LOJASIEWICZ = "Polyak-Lojasiewicz constant"
DISTANCE = "distance of the start from a minimiser"
AT_START = "bound of the norm at the start"
UNLIKE_AT_START = "distance from the mean over the clients at the start"
AT_MINIMISER = "root mean square at a minimiser"
GROWTH = "factor of the gradient in a bound of the clients' mean square"
REMAINDER = "remainder in a bound of the clients' mean square"
RELATIVE_VARIANCE = "relative variance"
RELATIVE_ERROR = "one minus the relative error"
CONTRACTION = "contraction of the distance from the mean"
GAP_TO_ONE = "one minus the contraction of the distance from the mean"
DELAY = "largest delay"
CENTRAL_DIFFERENCE = "error of a central difference, per squared step"
SECOND_DIFFERENCE = "change of a difference, per step and distance"
DIFFERENCE_NOISE = "standard deviation of a difference, per distance"
PATH = "root mean square distance of two paths"
PATH_SQ = "mean square distance of two paths"

AT_POINTS = (LIPSCHITZ, SIZE, NOISE, NOISE_SIZE, UNLIKE)
"""Kinds that bound something at every point."""
SAMPLE, MEAN_SQUARE, MEAN = "every sample", "mean square", "mean function"
LEVELS = (SAMPLE, MEAN_SQUARE, MEAN)
"""For which samples a bound of a stochastic function holds; each implies the next one."""
_ONLY = {NOISE: MEAN_SQUARE, NOISE_SIZE: SAMPLE}
"""Kinds of bound that hold for one of these only."""
FROBENIUS, OPERATOR = "Frobenius", "operator"
EACH, AVERAGE = "every client", "mean over the clients"

FUNCTIONS: Mapping[str, str] = {
    "outer_gradient": "grad f_k",
    "inner_value": "g_k",
    "inner_jacobian": "grad g_k",
    "extra_gradient": "grad h_k",
    "local_gradient": "grad f_i",
    "local_hessian": "hess f_i",
    "objective_gradient": "grad F",
    "objective": "F",
    "meta_gradient": "grad F_i",
    "estimate_error": "estimate of grad F_i - grad F_i",
    "fine_tuned_model": "model after the fine-tuning steps",
    "dual_loss": "f_i",
    "ascent_gradient": "grad_y f_i",
    "gradient_along_dual": "grad_x f_i(x, .)",
    "maximiser": "y_*",
    "lower_loss": "g_i",
    "lower_gradient": "grad_y g_i",
    "lower_gradient_along_upper": "grad_y g_i(., y)",
    "hypergradient": "grad_x f - grad_xy g [grad_yy g]^-1 grad_y f, along y,",
    "random_set": "a uniform random set",
    "drawn_client": "the client that holds a place of the sample",
    "compressor": "C",
    "mixing_matrix": "W",
    "schedule": "the gradients that are applied",
    "minimiser": "x_*",
}
"""The functions of the kinds of problem, by role, with a short word."""
_SPACES: Mapping[str, tuple[Dimension, Dimension]] = {
    "outer_gradient": (OBJECTIVE / INNER, INNER),
    "inner_value": (INNER, VARIABLE),
    "inner_jacobian": (INNER / VARIABLE, VARIABLE),
    "local_hessian": (OBJECTIVE / VARIABLE**2, VARIABLE),
    "objective": (OBJECTIVE, VARIABLE),
    "fine_tuned_model": (VARIABLE, VARIABLE),
    "dual_loss": (OBJECTIVE, INNER),
    "ascent_gradient": (OBJECTIVE / INNER, INNER),
    "gradient_along_dual": (OBJECTIVE / VARIABLE, INNER),
    "maximiser": (INNER, VARIABLE),
    "lower_loss": (OBJECTIVE, INNER),
    "lower_gradient": (OBJECTIVE / INNER, INNER),
    "lower_gradient_along_upper": (OBJECTIVE / INNER, VARIABLE),
    "hypergradient": (OBJECTIVE / VARIABLE, INNER),
    "random_set": (ONE, ONE),
    "drawn_client": (ONE, ONE),
    "minimiser": (VARIABLE, VARIABLE),
}
_OF_CLIENTS = (
    *("outer_gradient", "inner_value", "inner_jacobian", "extra_gradient", "local_gradient", "local_hessian"),
    *("meta_gradient", "dual_loss", "ascent_gradient", "gradient_along_dual"),
    *("lower_loss", "lower_gradient", "lower_gradient_along_upper"),
)
"""Functions of which each client has its own."""
MORE_IS_STRONGER = (STRONG_CONVEXITY, STRONG_CONCAVITY, POLYAK_LOJASIEWICZ, RELATIVE_ERROR, GAP_TO_ONE)
"""Kinds whose bound says more the larger its number is; of all others a smaller number says more."""
_PURE = (GROWTH, RELATIVE_VARIANCE, RELATIVE_ERROR, CONTRACTION, GAP_TO_ONE, DELAY)
"""Kinds whose number has no dimension."""
_SQUARED_AT_MINIMISER: Mapping[str, str] = {
    MEAN_SQUARE: "E||grad f_i of a sample at x_*||^2",
    MEAN: "(1/N) sum_i ||grad f_i(x_*)||^2",
}
"""The dimensions of a function's value and of its argument; those of a gradient where it is not here."""
DERIVATIVES: Mapping[str, str] = {"inner_value": "inner_jacobian", "local_gradient": "local_hessian"}
"""A function and its derivative."""


_IN_Y = ("ascent_gradient", "lower_gradient")
"""Functions of two variables whose Lipschitz constants are those in the second one."""
_OF_TWO_VARIABLES = ("minimax", "bilevel")
"""Kinds of problem whose functions are of x and y."""
_IN_X: Mapping[str, str] = {"local_gradient": "grad_x f_i"}
"""What a gradient is called there, where it is the one in x."""
_ALONG_BOTH = "{f} is {n}-Lipschitz, and so is grad_y f_i(., y)"
"""Of a continuously differentiable function the two constants are the same."""
_CONVEX_IN_Y = "{f}(x, z) >= {f}(x, y) + <grad_y {f}(x, y), z - y> + {n}/2 ||z - y||^2"
"""Of a function of two variables, in the second one."""
_WORDS: Mapping[str, str] = {
    LIPSCHITZ: "{f}{level} is {n}-Lipschitz{norm}{mean_square}",
    SIZE: "||{f}{level}|| <= {n}{norm}{mean_square}",
    NOISE: "E||{f} of a sample - {f}||^2 <= {n}^2{norm}",
    NOISE_SIZE: "||{f} of a sample - {f}|| <= {n}{norm} for every sample",
    UNLIKE: "||{f} - its mean over the clients|| <= {n}{norm}{across}",
    STRONG_CONVEXITY: "{f}(y) >= {f}(x) + <grad {f}(x), y - x> + {n}/2 ||y - x||^2",
    STRONG_CONCAVITY: "{f}(x, z) <= {f}(x, y) + <grad_y {f}(x, y), z - y> - {n}/2 ||z - y||^2",
    WEAK_CONVEXITY: "{f} + {n}/2 ||x||^2 is convex",
    POLYAK_LOJASIEWICZ: "||grad {f}||^2 >= 2 {n} ({f} - {f}_*)",
    DISTANCE: "||x_0 - x_*|| <= {n}, x_* a minimiser of {f}",
    AT_START: "||{f}(x_0)|| <= {n}",
    UNLIKE_AT_START: "(1/N) sum_i ||{f}(x_0) - its mean over the clients||^2 <= {n}^2",
    AT_MINIMISER: "{square} <= {n}^2, x_* a minimiser of F",
    GROWTH: "(1/N) sum_i ||{f}||^2 <= {n}^2 ||grad F||^2 + a remainder",
    REMAINDER: "(1/N) sum_i ||{f}||^2 <= a factor of ||grad F||^2, + {n}^2",
    RELATIVE_VARIANCE: "E {f}(x) = x and E||{f}(x) - x||^2 <= {n} ||x||^2",
    RELATIVE_ERROR: "E||{f}(x) - x||^2 <= (1 - {n}) ||x||^2",
    CONTRACTION: "x {f} has the mean xbar of x, and ||x {f} - xbar|| <= {n} ||x - xbar||",
    GAP_TO_ONE: "x {f} has the mean xbar of x, and ||x {f} - xbar|| <= (1 - {n}) ||x - xbar||",
    DELAY: "{f} are of iterates at most {n} steps old",
}
"""A bound in words: f is the function, n the number."""


@dataclass(frozen=True)
class Form:
    """One thing that a number bounds.

    Args:
        kind: what it is, such as `LIPSCHITZ`. function: a role of `FUNCTIONS`.
        per: for every sample, in mean square, or of the mean over the samples.
        norm: of an operator. over: for every client, or as a root mean square over the clients.

    Raises:
        ValueError: a function or level that there is not, or one that the kind does not have.
    """

    kind: str
    function: str
    per: str = MEAN
    norm: str = OPERATOR
    over: str = EACH

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise ValueError(f"{self.function!r}: no function of a problem; there are {', '.join(FUNCTIONS)}")
        if self.per not in LEVELS:
            raise ValueError(f"{self.per!r}: wanted one of {LEVELS}")
        if self.over != EACH and self.kind != UNLIKE:
            raise ValueError(f"{self.over!r} goes with the {UNLIKE} only, not with the {self.kind}")
        if self.kind == NOISE and self.per != MEAN_SQUARE:
            raise ValueError(f"{self.per!r}: a {NOISE} is in {MEAN_SQUARE}")
        if self.kind == NOISE_SIZE and self.per != SAMPLE:
            raise ValueError(f"{self.per!r}: a {NOISE_SIZE} is one of {SAMPLE}")

    @property
    def is_of_one_client(self) -> bool:
        """Whether it bounds a function of each client by itself, so that every client may have a number of its own."""
        return self.kind in AT_POINTS and self.over == EACH and self.function in _OF_CLIENTS

    @property
    def dimension(self) -> Dimension:
        """That of the number, where the kind is one of `KINDS`."""
        if self.kind in _PURE:
            return ONE
        value, argument = _SPACES.get(self.function, (OBJECTIVE / VARIABLE, VARIABLE))
        if self.kind in (STRONG_CONVEXITY, WEAK_CONVEXITY, STRONG_CONCAVITY, POLYAK_LOJASIEWICZ):
            return value / argument**2
        return {LIPSCHITZ: value / argument, DISTANCE: argument}.get(self.kind, value)

    @property
    def written(self) -> str:
        """As `read_form` reads it."""
        usual = Form(self.kind, self.function, _ONLY.get(self.kind, MEAN))
        said = [getattr(self, part) for part in ("per", "norm", "over") if getattr(self, part) != getattr(usual, part)]
        return ", ".join([f"{self.kind} of {self.function}", *said])

    def words(self, number: str, problem: str = "") -> str:
        """The bound as a formula in words, with the number that bounds it; `problem` is the kind that it is said of."""
        in_x = _IN_X if problem in _OF_TWO_VARIABLES else {}
        what = in_x.get(self.function, FUNCTIONS[self.function])
        level = {SAMPLE: " of every sample", MEAN_SQUARE: "", MEAN: ""}[self.per]
        mean_square = ", in mean square over the samples" if self.per == MEAN_SQUARE else ""
        norm = f" ({self.norm} norm)" if self.function in DERIVATIVES.values() else ""
        across = ", in mean square over the clients" if self.over == AVERAGE else ", for every client"
        said = _WORDS.get(self.kind, "{n} is the " + self.kind + " of {f}")
        if self.function in _IN_Y and self.kind == LIPSCHITZ:
            what = f"{what}(x, .)"
        if (self.function, self.kind, self.per) == ("gradient_along_dual", LIPSCHITZ, MEAN):
            said = _ALONG_BOTH
        if self.function == "lower_loss" and self.kind == STRONG_CONVEXITY:
            said = _CONVEX_IN_Y
        square = _SQUARED_AT_MINIMISER.get(self.per, "")
        return said.format(
            f=what, n=number, level=level, mean_square=mean_square, norm=norm, across=across, square=square
        )


_READ_BY_THE_KERNEL = (*AT_POINTS, GAP, START, SHARE)
_OF_A_CLASS = (
    STRONG_CONVEXITY,
    WEAK_CONVEXITY,
    STRONG_CONCAVITY,
    POLYAK_LOJASIEWICZ,
    DISTANCE,
    AT_START,
    UNLIKE_AT_START,
    AT_MINIMISER,
    GROWTH,
    REMAINDER,
)
_OF_A_METHOD = (RELATIVE_VARIANCE, RELATIVE_ERROR, CONTRACTION, GAP_TO_ONE, DELAY)
KINDS = (*_READ_BY_THE_KERNEL, *_OF_A_CLASS, *_OF_A_METHOD)
"""The kinds of bound that a file may write down; what follows from one of them is never written."""
_ABOUT = re.compile(r"(?P<kind>.+) of (?P<function>[a-z_]+)")


def read_form(text: str) -> Form:
    """The form that a text such as `Lipschitz constant of local_gradient, every sample` writes down.

    What follows the function, each after a comma: for which samples (`LEVELS`), `Frobenius` or `operator` norm, `every client` or
    `mean over the clients`. A standard deviation is in mean square, a bound of the noise one of every sample.

    Raises:
        ValueError: the text writes down none; the message says what is wanted.
    """
    first, *more = (part.strip() for part in text.split(","))
    match = _ABOUT.fullmatch(first)
    if match is None or match["kind"] not in KINDS:
        close = nearest((match["kind"] if match else first)[:60], {kind: kind for kind in (*KINDS, *FUNCTIONS)})
        meant = f"; {close}" if close.startswith("the nearest") else ""
        raise ValueError(
            f"{first[:40]!r}: wanted KIND of FUNCTION, such as Lipschitz constant of local_gradient{meant}"
        )
    if match["function"] not in FUNCTIONS:
        raise ValueError(f"{match['function'][:40]!r}: no function; {nearest(match['function'], FUNCTIONS)}")
    said = {
        name: value
        for name, values in (("per", LEVELS), ("norm", (FROBENIUS, OPERATOR)), ("over", (EACH, AVERAGE)))
        for value in values
        if value in more
    }
    if unknown := [part for part in more if part not in said.values()]:
        listed = ", ".join((*LEVELS, FROBENIUS, OPERATOR, EACH, AVERAGE))
        raise ValueError(f"{unknown[0][:40]!r}: wanted after the function one of {listed}")
    per = {"per": _ONLY[match["kind"]]} if match["kind"] in _ONLY else {}
    return Form(match["kind"], match["function"], **{**per, **said})


def lipschitz(function: str, per: str = MEAN) -> Form:
    return Form(LIPSCHITZ, function, per)


def size(function: str, per: str = MEAN) -> Form:
    return Form(SIZE, function, per)


def noise(function: str, norm: str = OPERATOR) -> Form:
    return Form(NOISE, function, MEAN_SQUARE, norm)


def noise_size(function: str) -> Form:
    return Form(NOISE_SIZE, function, SAMPLE)


def unlike(function: str, norm: str = OPERATOR, over: str = EACH) -> Form:
    return Form(UNLIKE, function, MEAN, norm, over)


def implied(form: Form) -> Iterator[Form]:
    """The form, and all that a number that bounds it bounds as well, the strongest first."""
    found = [form]
    for each in found:
        found += [new for new in _weaker(each) if new not in found]
    yield from found


def about(form: Form, function: str = "") -> Form | None:
    """The strongest thing that a bound says of a function, in words that a reader knows; the bound itself without one."""
    if not function or form.function == function:
        return form
    return next(
        (each for each in implied(form) if each.function == function and each.kind in _READ_BY_THE_KERNEL), None
    )


def _weaker(form: Form) -> Iterator[Form]:
    """What follows in one step, for functions that are differentiable."""
    if form.kind in (LIPSCHITZ, SIZE) and form.per != MEAN:
        yield replace(form, per=LEVELS[LEVELS.index(form.per) + 1])
    if form.norm == FROBENIUS:
        yield replace(form, norm=OPERATOR)
    if form.kind == NOISE_SIZE:
        yield Form(NOISE, form.function, MEAN_SQUARE, form.norm)
    if form.kind == UNLIKE and form.over == EACH:
        yield replace(form, over=AVERAGE)
    if form.kind == SIZE and form.per == MEAN_SQUARE and form.function not in DERIVATIVES.values():
        yield Form(NOISE, form.function, MEAN_SQUARE)  # of a vector: the operator norm has no inner product
    for function, derivative in DERIVATIVES.items():
        yield from _of_derivative(form, function) if form.function == derivative else ()
        if (
            form.function == function and form.kind == LIPSCHITZ
        ):  # in mean square, only the mean of the derivative is bounded
            yield Form(SIZE, derivative, SAMPLE if form.per == SAMPLE else MEAN)


def _of_derivative(form: Form, function: str) -> Iterator[Form]:
    """What a bound of the derivative says of the function: a difference is an integral of the derivative."""
    if form.kind == SIZE:
        yield Form(LIPSCHITZ, function, form.per)
    if form.kind == LIPSCHITZ:
        yield from (Form(kind, function) for kind in (CENTRAL_DIFFERENCE, SECOND_DIFFERENCE) if form.per == MEAN)
    if form.kind == NOISE:
        yield Form(DIFFERENCE_NOISE, function, MEAN_SQUARE)


Outcomes = Sequence[tuple[Any, Any]]
"""(probability, value) of each sample: numbers, or vectors that can be added and multiplied by numbers."""


def joint(laws: Iterable[Outcomes]) -> list[tuple[Any, tuple[Any, ...]]]:
    """(probability, values) of every outcome of independent samples with these laws, the last one changing first."""
    found: list[tuple[Any, tuple[Any, ...]]] = [(1, ())]
    for law in laws:
        found = [(before * p, (*values, value)) for before, values in found for p, value in law]
    return found


def squares(form: Form, clients: Sequence[Outcomes], square: Callable[[Any], Any]) -> list[Any]:
    """What the square of the number that a form is about bounds at one point, of a size, a standard deviation or a distance.

    A Lipschitz constant is the size of the derivative along every direction of length 1.

    Args:
        clients: what the function has there for each client, or of the derivative along one direction.
        square: of the norm of a value.

    Raises:
        ValueError: another kind of bound.
    """
    if form.kind not in AT_POINTS:
        raise ValueError(f"{form.kind}: no bound at every point")
    means = [_expected(law) for law in clients]
    if form.kind == UNLIKE:
        middle = reduce(add, means) / len(means)
        apart = [square(mean - middle) for mean in means]
        return [reduce(add, apart) / len(apart)] if form.over == AVERAGE else apart
    if form.kind in (NOISE, NOISE_SIZE):
        clients = [[(p, value - mean) for p, value in law] for law, mean in zip(clients, means, strict=True)]
    if form.per == MEAN:
        return [square(mean) for mean in means]
    sizes = [[(p, square(value)) for p, value in law] for law in clients]
    return [_expected(law) for law in sizes] if form.per == MEAN_SQUARE else [x for law in sizes for _, x in law]


def _expected(law: Outcomes) -> Any:
    return reduce(add, (p * value for p, value in law))


# --- what an assumption says besides bounds ----------------------------------------------------------------------------

FRESH = "fresh samples"
INDEPENDENT = "independent samples in a batch"
INDEPENDENT_CLIENTS = "independent clients"
SEPARATE = "independent kinds of samples"
ONE_LAW = "one law of the samples"
UNIFORM_SET = "uniform set of clients"
STARTS = "start of the method"
AT_ZERO = "start of the estimates at zero"
DIFFERENTIABLE = "differentiable objective"
SMOOTH_FUNCTIONS = "differentiable functions"
SMOOTH_SAMPLES = "differentiable samples"
EQUAL_INNER = "equal inner functions"
EQUAL_OUTER = "equal outer functions"
WHOLE_ROUNDS = "whole rounds"
CONVEX = "convex objective"
CONVEX_CLIENTS = "convex clients"
MINIMISER = "minimiser of the objective"
EITHER = "one of several"
SAYINGS: Mapping[str, str] = {
    FRESH: "the samples of a step are independent of those of all other steps",
    INDEPENDENT: "the samples in a batch are independent of each other",
    INDEPENDENT_CLIENTS: "the samples of different clients are independent",
    SEPARATE: "samples of different kinds, such as those of outer and inner functions, are independent of each other",
    ONE_LAW: "all samples of a batch, or all places of a sample of clients, have one law",
    UNIFORM_SET: "a uniform set of the clients is drawn without replacement, independently of all else",
    STARTS: "the variables of the method start where its own code starts them",
    AT_ZERO: "the variables of the method that are not its models are 0 before the first step",
    DIFFERENTIABLE: "the objective is differentiable, with the gradient that its formula gives",
    SMOOTH_FUNCTIONS: "the mean functions are differentiable as often as their bounds speak of",
    SMOOTH_SAMPLES: "every sample is differentiable as often as its bounds speak of",
    EQUAL_INNER: "the inner maps of all clients are one function",
    EQUAL_OUTER: "the outer functions of all clients are one function",
    WHOLE_ROUNDS: "the horizon is a whole number of rounds",
    CONVEX: "the objective is convex",
    CONVEX_CLIENTS: "the objective of every client is convex and differentiable",
    MINIMISER: "the objective is least at a point x_*",
    EITHER: "one of several things holds, each of which has a derivation of its own",
}
"""What an entry of a list of assumptions may say besides bounds, with its meaning; the kernel compares these words."""
OF_PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "independent_clients": (INDEPENDENT_CLIENTS,),
    "equal_inner_maps": (EQUAL_INNER,),
    "equal_outer_functions": (EQUAL_OUTER,),
    "one_outer_function": (EQUAL_OUTER,),
    "convex": (CONVEX,),
    "convex_clients": (CONVEX_CLIENTS,),
}
"""What named properties of a problem say of these; the others say nothing that the kernel reads."""
PROPERTY_THAT_SAYS: Mapping[str, str] = {
    saying: name for name, sayings in reversed(list(OF_PROPERTIES.items())) for saying in sayings
}
"""The named property that says no more than this; instances and problems have properties, so that it is what they need."""

MEAN_MODEL, SERVER_MODEL, PARTICIPANTS = "mean model", "server's model", "mean of the clients that take part"
POINTS: Mapping[str, str] = {
    MEAN_MODEL: "at the mean of all clients' models, over the steps t = 0..T-1",
    SERVER_MODEL: "at the server's model before each round, over the rounds",
    PARTICIPANTS: "at the mean of the models of the clients that take part, over the steps t = 0..T-1",
}
"""Where a metric is taken, and over what it averages its expectation."""
LAST_MODEL = "at the mean of all clients' models after the last step"
