"""The kinds of assumption that a derivation may declare, each with the instances that it has.

An assumption names the entry of the theorem's own list that it formalises. The constants are root bounds, not squares.
Where an instance needs a point that does not depend on a sample, that is checked, never declared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from inspect import isabstract
from typing import ClassVar

from .facts import Equation, Fact, Inequality, Moment, State, Uses, inequality
from .known import Known
from .scalars import At, Value, dot, scalar, sq, value
from .setting import CLIENTS, EVERY, FIRST, MIXING, Variable
from .signomial import ONE, ZERO, ProofError, Signomial
from .terms import Act, App, Given, Mean, Pair, Proj, Sum, Term, Var, replaced, samples, variables

NOTHING = Known()


class Declared:
    """What a derivation may declare that it assumes: `readings.Assumed`, of which the kernel makes an assumption, or a `Start`."""


@dataclass(frozen=True)
class Axiom(ABC):
    """Base of the assumptions; `assumption` is the name in the theorem's list."""

    assumption: str
    conditional = False
    """Whether an instance may rest on a bound of E[|v|^2 | given] of a vector, not only on a sure one."""
    sure: ClassVar[bool] = False
    """Whether its instances hold along every run, not only in expectation: a pathwise derivation may use no others."""

    @property
    def names(self) -> frozenset[str]:
        """The entries of the theorem's list on which an instance rests."""
        return frozenset({self.assumption})

    def certified(self, state: State) -> frozenset[str]:
        """The conditions by which its constants are nonnegative.

        Raises:
            ProofError: one may be negative.
        """
        used = frozenset[str]()
        for item in fields(self):
            number = getattr(self, item.name)
            if isinstance(number, Signomial):
                names = state.certify(number)
                if names is None:
                    raise ProofError(f"the {item.name} {number!r} of an assumption may be negative")
                used |= names
        return used

    @abstractmethod
    def instance(self, state: State, terms: tuple[Term, ...]) -> Fact:
        """What the assumption says of these terms.

        Raises:
            ProofError: it says nothing of them.
        """


def _apps(state: State, function: str, terms: tuple[Term, ...], count: int) -> list[App]:
    """`count` applications of the function with the same samples."""
    if len(terms) != count:
        raise ProofError(f"{function}: wanted {count} terms, got {len(terms)}")
    found: list[App] = []
    for term in terms:
        state.algebra.space(term)
        if not isinstance(term, App) or term.function != function:
            raise ProofError(f"{term!r} is no value of {function}")
        found.append(term)
    if len({app.samples for app in found}) > 1:
        raise ProofError(f"{function}: the samples differ")
    return found


def _drawn(state: State, app: App) -> Known:
    known = Known()
    for source, step in zip(state.setting.function(app.function).sources, app.samples, strict=True):
        if step is not None:
            known = known | Known.sample(source, step)
    return known


def _new_to(state: State, known: Known, terms: list[Term], what: str) -> None:
    """Raises unless no term depends on any of the sources."""
    for term in terms:
        common = state.algebra.support(state.algebra.argument(term)).known & known
        if common != Known():
            raise ProofError(f"{what}: the point {term!r} depends on the sample {common!r} itself")


def _means_over_last(state: State, what: str, *apps: App) -> tuple[Known, list[App]]:
    """The last sample of values that have the same ones, and each value averaged over it.

    Raises:
        ProofError: there is none, or a point depends on it.
    """
    step = apps[0].samples[-1] if apps[0].samples else None
    if step is None:
        raise ProofError(f"{apps[0]!r} has no sample to be averaged")
    own = Known.sample(state.setting.function(apps[0].function).sources[-1], step)
    _new_to(state, own, [app.argument for app in apps], what)
    return own, [App(app.function, app.argument, (*app.samples[:-1], None)) for app in apps]


def _vector_function(state: State, name: str) -> None:
    if not isinstance(state.setting.function(name).space, str):
        raise ProofError(f"{name}: its values are operators")


def _operator_function(state: State, name: str) -> None:
    if isinstance(state.setting.function(name).space, str):
        raise ProofError(f"{name}: its values are no operators")


def _free_of(state: State, index: str, *points: Term) -> None:
    for point in points:
        if index in state.algebra.support(state.algebra.argument(point)).index:
            raise ProofError(f"the point {point!r} depends on {index}")


def _apart(state: State, left: App, right: App) -> Term:
    """The difference of two points; a function is Lipschitz in its point for one label."""
    first, second = state.algebra.argument(left.argument), state.algebra.argument(right.argument)
    if isinstance(first, Pair) and isinstance(second, Pair):
        if first.label != second.label:
            raise ProofError(f"{left!r} and {right!r} have different labels")
        return first.point - second.point
    return left.argument - right.argument


def free_point(state: State, name: str) -> Variable:
    """A variable for which any vector may be put in: no equation and no assumption about the start ties it to anything.

    Raises:
        ProofError: something does.
    """
    variable = state.setting.variable(name)
    if not variable.is_free:
        raise ProofError(f"{name} is not free: it has update equations")
    for other in state.setting.variables:
        if any(name == tied for _, term in other.equations for tied, _ in variables(term)):
            raise ProofError(f"{name} is not free: it stands in the update equation of {other.name}")
    for axiom in state.axioms.values():
        if isinstance(axiom, Start) and any(name == tied for tied, _ in variables(axiom.term)):
            raise ProofError(f"{name} is not free: it stands in what is assumed of the start")
    return variable


def _averaged(app: App, of_mean: bool) -> None:
    """With `of_mean` an assumption is about the mean function: no sample is left."""
    if of_mean and any(step is not None for step in app.samples):
        raise ProofError(f"{app!r}: the assumption is about the mean over the samples")


@dataclass(frozen=True)
class Lipschitz(Axiom):
    """|f(y; w) - f(z; w)| <= c |y - z| for every sample; with `mean_square` in mean square, at points free of the sample;
    with `of_mean` for the mean function only.

    Terms: f(y; w), f(z; w).
    """

    function: str
    constant: Signomial
    mean_square: bool = False
    of_mean: bool = False

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        _vector_function(state, self.function)
        left, right = _apps(state, self.function, terms, 2)
        _averaged(left, self.of_mean)
        if self.mean_square:
            points = [left.argument, right.argument]
            _new_to(state, _drawn(state, left), points, f"{self.function} is Lipschitz in mean square only")
        gap = self.constant**2 * sq(_apart(state, left, right))
        return inequality(state, sq(left - right), gap, frozenset({self.assumption}))


@dataclass(frozen=True)
class Bounded(Axiom):
    """|f(y; w)| <= c for every sample (with `of_mean` for the mean function only), in the operator norm where f is an operator.

    Terms: f(y; w).
    """

    function: str
    constant: Signomial
    of_mean: bool = False
    sure: ClassVar[bool] = True

    def instance(self, state: State, terms: tuple[Term, ...]) -> Fact:
        (app,) = _apps(state, self.function, terms, 1)
        _averaged(app, self.of_mean)
        uses = frozenset({self.assumption})
        if not isinstance(state.setting.function(self.function).space, str):
            return Moment(state.algebra.normal(app), None, self.constant**2, False, uses, repr(app))
        return inequality(state, sq(app), scalar(self.constant**2), uses)


@dataclass(frozen=True)
class SecondMoment(Axiom):
    """E|f(p; w)|^2 <= c^2 (operator norm where f is an operator) at points that do not depend on the sample. Terms: f(p; w).

    The bound is conditional on everything that neither depends on the sample nor on what comes with it: `given`.
    """

    function: str
    constant: Signomial
    given: Known = NOTHING

    def instance(self, state: State, terms: tuple[Term, ...]) -> Moment:
        (app,) = _apps(state, self.function, terms, 1)
        drawn = _drawn(state, app)
        _new_to(state, drawn, [app.argument], f"{self.function} has a bounded second moment only")
        if drawn & self.given != Known():
            raise ProofError(f"{self.function}: the bound is not given its own sample")
        uses = frozenset({self.assumption})
        return Moment(state.algebra.normal(app), self.given, self.constant**2, False, uses, repr(app))


@dataclass(frozen=True)
class Variance(Axiom):
    """E|f(p; w) - E_w f(p; w)|^2 <= c^2, where w is the last sample of f and p does not depend on it. Terms: f(p; w).

    For an operator the norm is Hilbert-Schmidt (with `spectral` the operator norm) and the bound is conditional on `given`, which
    must not hold w; so it is for a vector with `conditional`.
    """

    function: str
    constant: Signomial
    given: Known = NOTHING
    conditional: bool = False
    spectral: bool = False

    def instance(self, state: State, terms: tuple[Term, ...]) -> Fact:
        (app,) = _apps(state, self.function, terms, 1)
        own, (centre,) = _means_over_last(state, f"the variance of {self.function}", app)
        uses = frozenset({self.assumption})
        if isinstance(state.setting.function(self.function).space, str) and not self.conditional:
            return inequality(state, sq(app - centre), scalar(self.constant**2), uses)
        if own & self.given != Known():
            raise ProofError(f"{self.function}: the bound is not given its own sample")
        noise = app - centre
        return Moment(state.algebra.normal(noise), self.given, self.constant**2, not self.spectral, uses, repr(noise))


@dataclass(frozen=True)
class BoundedNoise(Axiom):
    """|f(p; w) - E_w f(p; w)| <= c for every sample, where w is the last sample of f and p does not depend on it. Terms: f(p; w)."""

    function: str
    constant: Signomial
    sure: ClassVar[bool] = True

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        _vector_function(state, self.function)
        (app,) = _apps(state, self.function, terms, 1)
        _, (centre,) = _means_over_last(state, f"the noise of {self.function}", app)
        return inequality(state, sq(app - centre), scalar(self.constant**2), frozenset({self.assumption}))


@dataclass(frozen=True)
class Heterogeneity(Axiom):
    """|f_k(p) - mean_k f_k(p)|^2 <= c^2 for every k, at points that do not depend on k, for mean functions. Terms: f(p).

    Of vectors only the mean over k is bounded, so that for them a bound of that mean is enough. So it is for operators with
    `in_mean`: then they are applied to a vector that does not depend on k and has a sure bound. Terms: f(p), v.
    """

    function: str
    constant: Signomial
    index: str
    in_mean: bool = False

    def instance(self, state: State, terms: tuple[Term, ...]) -> Fact:
        (app,) = _apps(state, self.function, terms[:1], 1)
        if len(terms) != 1 + self.in_mean:
            raise ProofError(f"{self.function}: wanted {1 + self.in_mean} terms")
        if any(step is not None for step in app.samples):
            raise ProofError(f"{app!r}: the bound is for the mean over the samples")
        _free_of(state, self.index, app.argument)
        gap = app - Mean(self.index, app)
        uses = frozenset({self.assumption})
        if self.in_mean:
            _operator_function(state, self.function)
            vector = state.algebra.normal(terms[1])
            _free_of(state, self.index, vector)
            bound, more = sure_bound(state, vector)
            return inequality(state, sq(Act(gap, vector)), scalar((self.constant * bound) ** 2), uses | more)
        if not isinstance(state.setting.function(self.function).space, str):
            return Moment(state.algebra.normal(gap), None, self.constant**2, False, uses, repr(gap))
        return inequality(state, sq(gap), scalar(self.constant**2), uses)


@dataclass(frozen=True)
class LipschitzOperator(Axiom):
    """|J(p; w) - J(r; w)| <= c |p - r| in the operator norm, applied to a vector with a sure bound.

    Terms: J(p; w), J(r; w), v. For every sample; with `of_mean` for the mean function only.

    With `in_mean` only E[|.| | p, r] <= c |p - r|, so the product is
    averaged over everything but what p and r depend on, and p and r must not depend on the sample.
    """

    function: str
    constant: Signomial
    in_mean: bool = False
    of_mean: bool = False

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        _operator_function(state, self.function)
        if len(terms) != 3:
            raise ProofError(f"{self.function}: wanted two values and a vector")
        left, right = _apps(state, self.function, terms[:2], 2)
        _averaged(left, self.of_mean)
        vector = state.algebra.normal(terms[2])
        bound, uses = sure_bound(state, vector)
        product: Term = Act(left - right, vector)
        if self.in_mean:
            points: list[Term] = [left.argument, right.argument]
            _new_to(state, _drawn(state, left), points, f"{self.function} is Lipschitz in the mean only")
            supports = [state.algebra.support(state.algebra.argument(point)).known for point in points]
            product = Given(supports[0] | supports[1], product)
        gap = (self.constant * bound) ** 2 * sq(_apart(state, left, right))
        return inequality(state, sq(product), gap, uses | {self.assumption})


@dataclass(frozen=True)
class _OfDerivative(Axiom):
    """An assumption about the derivative of a function, by what it says of differences of the function.

    A difference f(p) - f(r) is the integral of the derivative J(r + s (p - r)) (p - r) over 0 <= s <= 1; `differentiable` names the
    assumption by which it is.
    """

    function: str
    constant: Signomial
    differentiable: str

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.assumption, self.differentiable})


@dataclass(frozen=True)
class CentralDifference(_OfDerivative):
    """|f(p + u) - f(p - u) - 2 J(p) u| <= c |u|^2 for mean functions, where the derivative J of f is c-Lipschitz in the operator norm.

    Terms: f(p + u), f(p - u), J(p), where u is a number times a vector of the `sizes`. Of one with |u|^2 <= b surely the left side
    is bounded; of one with E[|u|^2 | given] <= b its expectation given the same.
    """

    derivative: str
    conditional = True

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        _vector_function(state, self.function)
        _derivative_of(state, self.derivative, self.function)
        right, left = _apps(state, self.function, terms[:2], 2)
        (slope,) = _apps(state, self.derivative, terms[2:], 1)
        _averaged(right, True)
        _averaged(slope, True)
        half = (right.argument - left.argument) / 2
        if state.algebra.normal(right.argument + left.argument - 2 * slope.argument).parts:
            raise ProofError(f"{slope.argument!r} is not in the middle of {right.argument!r} and {left.argument!r}")
        step = state.algebra.normal(half)
        size = state.sizes.get(Sum(tuple((ONE, node) for _, node in step.parts))) if len(step.parts) == 1 else None
        if size is None:
            raise ProofError(f"{step!r}: no bound of the vector is given")
        error: Term = right - left - 2 * Act(slope, half)
        if size.given is not None:
            error = Given(size.given, error)
        bound = self.constant * step.parts[0][0] ** 2 * size.bound
        return inequality(state, sq(error), scalar(bound**2), size.uses | self.names)


@dataclass(frozen=True)
class SecondDifference(_OfDerivative):
    """|f(p + u) - f(p) - f(r + u) + f(r)| <= c |u| |p - r| for mean functions, where the derivative of f is c-Lipschitz in operator norm.

    Terms: f(p + u), f(p), f(r + u), f(r), where u has a sure bound.
    """

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        _vector_function(state, self.function)
        far, near, far_too, near_too = _apps(state, self.function, terms, 4)
        _averaged(far, True)
        step = state.algebra.normal(_apart(state, far, near))
        if step != state.algebra.normal(_apart(state, far_too, near_too)):
            raise ProofError(f"{far!r} and {far_too!r} are not equally far from {near!r} and {near_too!r}")
        bound, uses = sure_bound(state, step)
        gap = (self.constant * bound) ** 2 * sq(_apart(state, near, near_too))
        return inequality(state, sq(far - near - (far_too - near_too)), gap, uses | self.names)


@dataclass(frozen=True)
class DifferenceVariance(_OfDerivative):
    """E|f(p; w) - f(r; w) - E_w(f(p; w) - f(r; w))|^2 <= c^2 |p - r|^2, where w is the last sample of f and neither p nor r depends on it:
    at every point the derivative of f(.; w) has the variance c^2 in the operator norm.

    Terms: f(p; w), f(r; w).
    """

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        _vector_function(state, self.function)
        left, right = _apps(state, self.function, terms, 2)
        _, mean = _means_over_last(state, f"the variance of differences of {self.function}", left, right)
        noise = left - right - (mean[0] - mean[1])
        return inequality(state, sq(noise), self.constant**2 * sq(_apart(state, left, right)), self.names)


def _derivative_of(state: State, derivative: str, function: str) -> None:
    """Raises unless one can be the derivative of the other."""
    of, own = state.setting.function(function), state.setting.function(derivative)
    if own.space != (of.space, of.domain) or own.domain != of.domain or own.label or of.label:
        raise ProofError(f"{derivative} is no derivative of {function}: it maps other spaces")
    if own.mean_index != of.mean_index:
        raise ProofError(f"{derivative} is no derivative of {function}: its mean depends on other indices")


@dataclass(frozen=True)
class Smooth(Axiom):
    """The gradient of an objective is c-Lipschitz. Terms: two free variables without an index, the objective's own and another."""

    objective: str
    constant: Signomial
    sure: ClassVar[bool] = True

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        objective = state.setting.objective(self.objective)
        if (
            len(terms) != 2
            or not all(isinstance(term, Var) and not term.shift for term in terms)
            or len(set(terms)) != 2
        ):
            raise ProofError("the gradient is Lipschitz at two free points without an index")
        p, r = terms
        points = [free_point(state, name) for term in terms for name, _ in variables(term)]
        if p != Var(objective.at) or any(point.index for point in points):
            raise ProofError("the gradient is Lipschitz at two free points without an index")
        if points[0].space != points[1].space:
            raise ProofError("the points are in different spaces")
        change = objective.gradient - replaced(objective.gradient, {objective.at: r})
        return inequality(state, sq(change), self.constant**2 * sq(p - r), frozenset({self.assumption}))


def gradient_at(state: State, name: str, point: Term) -> Term:
    """The gradient of an objective at a point that is known before step t, so that the samples inside the gradient are new to it.

    Raises:
        ProofError: the gradient depends on more than its point, or is not averaged over its samples; the point is known later.
    """
    objective = state.setting.objective(name)
    free, gradient = Var(objective.at), objective.gradient
    if {each for each, _ in variables(gradient)} != {objective.at} or min(samples(gradient), default=0) < 0:
        raise ProofError("the gradient must depend on its point alone")
    if free_point(state, objective.at).index:
        raise ProofError("the point of the gradient must be free and without an index")
    if not state.algebra.support(state.algebra.normal(gradient)) <= state.algebra.support(free):
        raise ProofError("the gradient is not averaged over its samples")
    there = in_its_space(state, name, point)
    if not state.algebra.support(there) <= state.algebra.support(free):
        raise ProofError(f"{there!r} is not known before the samples of the gradient")
    return replaced(gradient, {objective.at: there})


def in_its_space(state: State, name: str, point: Term) -> Sum:
    """A point of the space on which an objective is defined.

    Raises:
        ProofError: it is in another one.
    """
    at = state.setting.variable(state.setting.objective(name).at)
    if state.algebra.space(point) != at.space:
        raise ProofError(f"{point!r} is in another space")
    return state.algebra.normal(point)


@dataclass(frozen=True)
class _Below(Axiom):
    """F(a) >= F(b) + <grad F(b), a - b> + c/2 ||a - b||^2, in the mean, where b is known before the samples of the gradient.

    Terms: b, a.
    """

    objective: str

    def tangent(self, state: State, terms: tuple[Term, ...], c: Signomial) -> Inequality:
        if len(terms) != 2:
            raise ProofError(f"{self.objective}: wanted two points, got {len(terms)}")
        here, there = terms
        gradient = gradient_at(state, self.objective, here)
        in_its_space(state, self.objective, there)
        step = there - here
        left = value(self.objective, here) + dot(gradient, step) + c / 2 * sq(step)
        uses = frozenset({self.assumption, state.setting.objective(self.objective).assumption})
        return inequality(state, left, value(self.objective, there), uses)


@dataclass(frozen=True)
class Convexity(Declared, _Below):
    """A differentiable convex objective lies above its tangents. Terms: b, a."""

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        return self.tangent(state, terms, ZERO)


@dataclass(frozen=True)
class ConvexClients(Axiom):
    """F(b) - F(a) <= mean_k [<grad F_k(y_k), b - a> + c/2 ||b - y_k||^2] for clients whose F_k are convex, with c-Lipschitz gradients.

    F_k(a) >= F_k(y_k) + <grad F_k(y_k), a - y_k> and F_k(b) <= F_k(y_k) + <grad F_k(y_k), b - y_k> + c/2 ||b - y_k||^2, for every outcome
    and client; a and b are the same for all clients, so that the mean of F_k there is F. `smooth`: the entry that states c.
    Terms: grad F_k(y_k), a value of `function` that is averaged over its samples; b; a.
    """

    objective: str
    function: str
    index: str
    constant: Signomial
    smooth: str

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.assumption, self.smooth})

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        if len(terms) != 3:
            raise ProofError(f"{self.objective}: wanted a gradient and two points, got {len(terms)}")
        (gradient,), (above, below) = _apps(state, self.function, terms[:1], 1), terms[1:]
        _averaged(gradient, True)
        objective, algebra = state.setting.objective(self.objective), state.algebra
        own = Mean(self.index, App(self.function, Var(objective.at), gradient.samples))
        if algebra.normal(own) != algebra.normal(objective.gradient):
            raise ProofError(f"{self.objective} is not the mean of the clients' objectives over {self.index}")
        if extra := algebra.support(in_its_space(state, self.objective, gradient.argument)).index - {self.index}:
            raise ProofError(f"the point {gradient.argument!r} depends on {sorted(extra)}")
        for point in (above, below):
            if depends := algebra.support(in_its_space(state, self.objective, point)).index:
                raise ProofError(f"the point {point!r} depends on {sorted(depends)}")
        right = dot(gradient, above - below) + self.constant / 2 * sq(above - gradient.argument)
        fall = value(self.objective, above) - value(self.objective, below)
        return inequality(state, fall, right, self.names | {objective.assumption})


@dataclass(frozen=True)
class StrongConvexity(_Below):
    """A differentiable strongly convex objective lies above its tangents by c/2 ||a - b||^2. Terms: b, a."""

    constant: Signomial

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        return self.tangent(state, terms, self.constant)


@dataclass(frozen=True)
class Minimum(Declared, Axiom):
    """An objective is least at x_*, the value of the function `minimiser`. Terms: any point b, for F(x_*) <= F(b)."""

    objective: str
    minimiser: str

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        if len(terms) != 1:
            raise ProofError(f"{self.objective}: wanted one point, got {len(terms)}")
        in_its_space(state, self.objective, terms[0])
        least = value(self.objective, App(self.minimiser, Sum(())))
        return inequality(state, least, value(self.objective, terms[0]), frozenset({self.assumption}))


@dataclass(frozen=True)
class PolyakLojasiewicz(Axiom):
    """2 c (F(b) - F(x_*)) <= ||grad F(b)||^2, in the mean, where b is known before the samples of the gradient. Terms: b."""

    objective: str
    constant: Signomial
    minimiser: str
    there: str
    """The entry by which x_* is a minimiser."""

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        if len(terms) != 1:
            raise ProofError(f"{self.objective}: wanted one point, got {len(terms)}")
        gradient = gradient_at(state, self.objective, terms[0])
        gap = value(self.objective, terms[0]) - value(self.objective, App(self.minimiser, Sum(())))
        uses = frozenset({self.assumption, self.there, state.setting.objective(self.objective).assumption})
        return inequality(state, 2 * self.constant * gap, sq(gradient), uses)


@dataclass(frozen=True)
class Start(Declared, Axiom):
    """A linear combination of variables vanishes at t = 0; with samples of earlier steps, which the variables then may depend on."""

    term: Term

    def instance(self, state: State, terms: tuple[Term, ...]) -> Equation:
        term: Sum = state.algebra.normal(self.term)
        if terms:
            raise ProofError("the start takes no terms")
        self.accept(state, term)
        if not _determines(state, term):
            raise ProofError(f"the start {term!r} depends on samples on which no variable in it may depend")
        return Equation(term, FIRST, frozenset({self.assumption}), f"{self.term!r} = 0 at t = 0")

    def accept(self, state: State, term: Sum) -> None:
        """Raises where it is about a free variable, for which any vector may be put in."""
        for _, node in term.parts:
            if isinstance(node, Var) and not state.setting.variable(node.name).equations:
                raise ProofError(f"the start {term!r} is about {node.name}, which is free")


def _determines(state: State, term: Sum) -> bool:
    """Whether a variable that has no value at the start yet may depend on everything on which the combination depends."""
    whole = state.algebra.support(term)
    nodes = [
        node for _, node in term.parts if isinstance(node, Var) and _is_open(state.setting.variable(node.name), node)
    ]
    return any(whole <= state.algebra.support(node) for node in nodes)


def _is_open(variable: Variable, here: Var) -> bool:
    """Whether no equation says what it is at the start."""
    first = any(phases & FIRST for phases, _ in variable.equations)
    return bool(variable.equations) and (here.shift < variable.defined or not first)


@dataclass(frozen=True)
class StartValue(Axiom):
    """A quantity at step 0 + offset is at most a constant."""

    quantity: str
    bound: Signomial
    offset: int = 0

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        if self.quantity not in state.quantities or terms:
            raise ProofError(f"{self.quantity}: no such quantity")
        at = scalar(At(self.quantity, False, self.offset))
        return inequality(state, at, scalar(self.bound), frozenset({self.assumption}), phases=None)


@dataclass(frozen=True)
class LowerBound(Axiom):
    """value at the start minus value at any point <= gap, for a quantity that is the value of an objective.

    Along a run the value at the start is that of a start which is not random.
    """

    quantity: str
    gap: Signomial
    sure: ClassVar[bool] = True

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        if self.quantity not in state.quantities or terms:
            raise ProofError(f"{self.quantity} is not the value of an objective")
        (_, atom), *others = state.quantities[self.quantity].meaning.parts
        if others or not isinstance(atom, Value):
            raise ProofError(f"{self.quantity} is not the value of an objective")
        if state.failure is not None:
            for name, shift in variables(atom.point):
                variable = state.setting.variable(name)
                if not variable.starts_as_a_constant or variable.defined <= shift:
                    raise ProofError(f"{self.quantity}: {name} may be random at the start")
        fall = scalar(At(self.quantity)) - scalar(At(self.quantity, True))
        return inequality(state, fall, scalar(self.gap), frozenset({self.assumption}), phases=None)


@dataclass(frozen=True)
class RandomSet(Axiom):
    """A uniform set of m = `size` of the n values of an index is drawn at a step, independently of all other samples.

    `function` holds the weights W: n/m for the values in the set, 0 for the others, as multiples of the identity. Each has mean 1,
    W_i^2 the mean n/m and W_i W_j the mean n(m-1)/(m(n-1)) for i != j. `share` is s = (n-m)/(m(n-1)), and 0 where m = n: for a
    vector v that does not depend on the set, whatever else it depends on,
    ||mean W v||^2 = s ||v||^2 + (1 - s) ||mean v||^2: the mean over the set has the mean of all as its mean, and s times their
    variance as its variance. Terms: W(w) v. Where W is averaged: W(.) v = v, for every v. Without terms: s m <= 1, as m >= 1.
    """

    function: str
    index: str
    size: Signomial
    share: Signomial

    def instance(self, state: State, terms: tuple[Term, ...]) -> Fact:
        uses = frozenset({self.assumption}) | self._declared(state)
        if not terms:
            return inequality(state, scalar(self.share * self.size), scalar(1), uses, phases=None)
        if len(terms) != 1 or not isinstance(terms[0], Act):
            raise ProofError(f"{self.function}: wanted the weights applied to a vector")
        term, vector = terms[0], terms[0].vector
        (app,) = _apps(state, self.function, (term.operator,), 1)
        if state.algebra.argument(app.argument) != Sum(()):
            raise ProofError(f"{app!r}: the weights depend on the set alone")
        if app.samples == (None,):
            return Equation(state.algebra.normal(term - vector), EVERY, uses, f"{term!r} = {vector!r}")
        _new_to(state, _drawn(state, app), [vector], "the mean over a random set")
        right = self.share * sq(vector) + (1 - self.share) * sq(Mean(self.index, vector))
        return inequality(state, sq(Mean(self.index, term)), right, uses, equal=True)

    def _declared(self, state: State) -> frozenset[str]:
        """The conditions by which 1 <= m <= n; raises where the declarations are not those of a random set."""
        function, index = state.setting.function(self.function), state.setting.index(self.index)
        spaces = {function.domain, *function.space} if not isinstance(function.space, str) else set()
        if (
            len(spaces) != 1
            or len(function.sources) != 1
            or function.index != frozenset({self.index})
            or function.label
        ):
            raise ProofError(f"{self.function}: wanted operators on one space, of one sample, for each {self.index}")
        source = state.setting.source(function.sources[0])
        if source.index or source.independent != self.assumption:
            raise ProofError(f"{source.name}: one set is drawn, by the assumption {self.assumption!r}")
        if sum(source.name in other.sources for other in state.setting.functions) != 1 or index.first is not None:
            raise ProofError(f"{source.name} stands for the set alone, and {self.index} has one size")
        n, m = index.size, self.size
        quotients = [pair for param, pair in state.region.quotients.items() if self.share == param.number]
        if not any(_same_quotient(*pair, n - m, m * (n - 1)) for pair in quotients):
            raise ProofError(f"{self.share!r} is not ({n - m!r})/({m * (n - 1)!r})")
        used = frozenset[str]()
        for what, number in (("the set may be empty", m - 1), ("the set may be larger than all", n - m)):
            used |= state.nonnegative(f"{what}: ({number!r})", number)
        return used


@dataclass(frozen=True)
class _OfCompressor(Axiom):
    """What is assumed of a map C of one space into itself, whose sample, if it has one, is that of the compressor alone.

    Terms: C(v; w), for a vector v that does not depend on the sample w, whatever else it depends on.
    """

    function: str
    constant: Signomial
    samples: ClassVar[tuple[int, ...]] = (0, 1)
    """How many it may have."""

    def applied(self, state: State, terms: tuple[Term, ...]) -> App:
        """The one application; raises where the declarations are not those of a compressor."""
        function = state.setting.function(self.function)
        if function.domain != function.space or function.label or len(function.sources) not in self.samples:
            raise ProofError(f"{self.function}: wanted a map of one space into itself, with one sample")
        for source in function.sources:
            if sum(source in other.sources for other in state.setting.functions) != 1:
                raise ProofError(f"{source} stands for the choice of the compressor alone")
        (app,) = _apps(state, self.function, terms, 1)
        _new_to(state, _drawn(state, app), [app.argument], "what is left out by a compressor")
        return app


@dataclass(frozen=True)
class Compressor(_OfCompressor):
    """E_w C(v; w) = v and E||C(v; w) - v||^2 <= c ||v||^2. Terms: C(v; .) for the first, C(v; w) for the second."""

    samples: ClassVar[tuple[int, ...]] = (1,)

    def instance(self, state: State, terms: tuple[Term, ...]) -> Fact:
        app, uses = self.applied(state, terms), frozenset({self.assumption})
        if app.samples == (None,):
            return Equation(state.algebra.normal(app - app.argument), EVERY, uses, f"{app!r} = {app.argument!r}")
        return inequality(state, sq(app - app.argument), self.constant * sq(app.argument), uses)


@dataclass(frozen=True)
class Accuracy(_OfCompressor):
    """E||C(v; w) - v||^2 <= (1 - c) ||v||^2, or surely where C has no sample; C(v) need not have the mean v. Terms: C(v; w)."""

    def instance(self, state: State, terms: tuple[Term, ...]) -> Inequality:
        app = self.applied(state, terms)
        if None in app.samples:
            raise ProofError(f"{app!r}: the assumption is about what is sent, not about its mean")
        left_out = (1 - self.constant) * sq(app.argument)
        return inequality(state, sq(app - app.argument), left_out, frozenset({self.assumption}))


@dataclass(frozen=True)
class Mixing(Axiom):
    """mean_i (W v)_i = mean_i v_i and ||W v - mean_i v||^2 <= c^2 ||v - mean_i v||^2, where W mixes the clients i by fixed weights.

    Terms: mean_i W(v) for the first, W(v) for the second, for any vector v. The value of W(v) at a client depends on v at every
    client, so that samples that are independent over the clients are not so after it: `rules.probability` refuses that.
    """

    function: str
    contraction: Signomial
    index: str

    def instance(self, state: State, terms: tuple[Term, ...]) -> Fact:
        self._declared(state)
        uses = frozenset({self.assumption})
        means = [term.term for term in terms if isinstance(term, Mean) and term.index == self.index]
        (app,) = _apps(state, self.function, tuple(means) if len(means) == len(terms) else terms, 1)
        mean = Mean(self.index, app.argument)
        if means:
            text = f"{terms[0]!r} = {mean!r}"
            return Equation(state.algebra.normal(terms[0] - mean), EVERY, uses, text)
        return inequality(state, sq(app - mean), self.contraction**2 * sq(app.argument - mean), uses)

    def _declared(self, state: State) -> None:
        """Raises where the declarations are not those of a mixing matrix of the clients."""
        function, index = state.setting.function(self.function), state.setting.index(self.index)
        if function.role != MIXING or function.domain != function.space or function.label or function.sources:
            raise ProofError(f"{self.function}: wanted a map of one space into itself without samples, as {MIXING}")
        if function.index != frozenset({self.index}) or index.of != CLIENTS or index.identical:
            raise ProofError(f"{self.function}: a mixing matrix has a row for each client")


def _same_quotient(above: Signomial, below: Signomial, numerator: Signomial, denominator: Signomial) -> bool:
    """Whether both parts of a quotient are those of another one times one positive factor."""
    if not (above and below and numerator and denominator):
        return False
    for monomial, coefficient in numerator.terms:
        factor = Signomial(above.terms[:1]) / Signomial([(monomial, coefficient)])
        positive = factor.nonnegative and all(param.positive for part, _ in factor.terms for param, _ in part)
        if positive and above == factor * numerator and below == factor * denominator:
            return True
    return False


def sure_bound(state: State, term: Term) -> tuple[Signomial, Uses]:
    """A bound of |term| that holds for every outcome, and the assumptions that give it."""
    known = state.sizes.get(term if isinstance(term, Sum) else Sum(((ONE, term),)))
    if known is not None and known.given is None:
        return known.bound ** Fraction(1, 2), known.uses
    match term:
        case Sum(parts):
            total, uses = ZERO, Uses()
            for coefficient, node in parts:
                bound, more = sure_bound(state, node)
                size = coefficient if coefficient.nonnegative else -coefficient
                if not size.nonnegative:
                    raise ProofError(f"the sign of {coefficient!r} is not known")
                total, uses = total + size * bound, uses | more
            return total, uses
        case App(function, _, drawn):
            for axiom in state.axioms.values():
                averaged = all(step is None for step in drawn)
                if isinstance(axiom, Bounded) and axiom.function == function and (averaged or not axiom.of_mean):
                    return axiom.constant, frozenset({axiom.assumption}) | axiom.certified(state)
        case Proj(_, _, inner):
            return sure_bound(state, inner)
        case Act(operator, vector):
            first, uses = sure_bound(state, operator)
            second, more = sure_bound(state, vector)
            return first * second, uses | more
    raise ProofError(f"{term!r}: no bound for every outcome is assumed")


OF_FUNCTIONS = (
    Lipschitz,
    Bounded,
    SecondMoment,
    Variance,
    BoundedNoise,
    Heterogeneity,
    LipschitzOperator,
    CentralDifference,
    SecondDifference,
    DifferenceVariance,
)
"""Assumptions that a number bounds a function at every point."""
KINDS: tuple[type[Axiom], ...] = tuple(
    each
    for each in tuple(globals().values())
    if isinstance(each, type) and issubclass(each, Axiom) and not isabstract(each)
)
"""All of this file."""
__all__ = ["KINDS", "free_point", "gradient_at", "sure_bound", *(kind.__name__ for kind in KINDS)]
