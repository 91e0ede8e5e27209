"""What a derivation declares, compared with the statement: the problem, its samples, the horizon, the period and the metric.

Nothing here is declared by a derivation that the statement says: the gradient of the objective is that of the kind of problem, the
metric is taken where the theorem says, and every structural assumption names an entry of the theorem's list that says it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations, permutations
from math import comb
from typing import Any

import sympy as sp

from ...language import bounding
from ...language.metrics import AVERAGED, DISTANCE_SQ, GAP, GRADIENT, GRADIENT_SQ, LAST, TAKE_WEIGHTS, gradient_power
from ...language.notation import STEP
from ...language.power_sum import power_of
from ...language.schedule import read_schedule
from .algebra import Algebra
from .assumptions import Start
from .readings import Reading, given_for
from .scalars import One, Scalar, at, form, sq, total, weighted_total
from .setting import (
    BATCH,
    CLIENTS,
    COMMUNICATION,
    COMPRESSOR,
    LOCAL,
    PLACES,
    Function,
    Index,
    Objective,
    Source,
    Variable,
)
from .signomial import ONE, ZERO, ProofError, Signomial, clock, is_positive
from .terms import Act, App, Given, Mean, Pair, Sum, Term, Var, is_pointwise, replaced, shifted

# --- the problem ------------------------------------------------------------------------------------------------------


def _federated(reading: Reading, p: Term) -> Term:
    return Mean(reading.client, reading.function("local_gradient").averaged(p))


def _meta(reading: Reading, p: Term) -> Term:
    return Mean(reading.client, reading.function("meta_gradient").averaged(p))


def _local_composite(reading: Reading, p: Term) -> Term:
    """(1/K) sum_k grad g_k^T grad f_k(g_k); with labels, the mean over a client drawn now."""
    jacobian, outer, inner = (reading.function(role) for role in ("inner_jacobian", "outer_gradient", "inner_value"))
    if not inner.label:
        return Mean(reading.client, Act(jacobian.averaged(p), outer.averaged(inner.averaged(p))))
    draw = reading.function("drawn_client")
    (place,) = (index.name for index in reading.setting.indices if index.of == PLACES)
    label = App(draw.name, Sum(()), (0,))
    here = Pair(p, label)
    chain = Act(jacobian.averaged(here), outer.averaged(Pair(inner.averaged(here), label)))
    return Given(reading.setting.past(), Mean(place, chain))


def _shared_composite(reading: Reading, p: Term) -> Term:
    """(1/K) sum_k grad h_k + (mean Jacobian)^T grad f(mean value); h is left out where the theorem says that there is none."""
    jacobian, outer, inner = (reading.function(role) for role in ("inner_jacobian", "outer_gradient", "inner_value"))
    over = reading.client
    chain: Term = Act(Mean(over, jacobian.averaged(p)), outer.averaged(Mean(over, inner.averaged(p))))
    if "no_extra_term" in (*reading.theorem.assume, *reading.statement.assume):
        return chain
    return Mean(over, reading.function("extra_gradient").averaged(p)) + chain


def _conditional(reading: Reading, p: Term) -> Term:
    """(1/N) sum_n E_xi[grad g(., xi)^T grad f_xi(g(., xi))]; the first sample of g is that of f, the second is averaged."""
    jacobian, outer, inner = (reading.function(role) for role in ("inner_jacobian", "outer_gradient", "inner_value"))
    if not jacobian.sources == inner.sources or inner.sources[:1] != outer.sources or len(inner.sources) != 2:
        raise ProofError("wanted an outer sample that f and g share, and an inner one of g")
    chain = Act(App(jacobian.name, p, (0, None)), App(outer.name, App(inner.name, p, (0, None)), (0,)))
    return Mean(reading.client, Given(reading.setting.past(), chain))


GRADIENTS: Mapping[str, Callable[[Reading, Term], Term]] = {
    "federated": _federated,
    "local_composite": _local_composite,
    "shared_composite": _shared_composite,
    "conditional": _conditional,
    "meta": _meta,
}
"""The gradient of the objective of each kind of problem."""
SHARED = {"shared_composite": ("outer_gradient",)}
"""The functions that all clients have in common, by the kind of problem."""
SAMPLES = {("conditional", "inner_value"): 2, ("conditional", "inner_jacobian"): 2}
"""How many samples a function has, by the kind of problem and its role; one or none where it is not here."""
EQUAL = {
    "outer_gradient": bounding.EQUAL_OUTER,
    "inner_value": bounding.EQUAL_INNER,
    "inner_jacobian": bounding.EQUAL_INNER,
}


def accept_declarations(reading: Reading, time: str) -> frozenset[str]:
    """The assumptions on which the declarations rest.

    Raises:
        ProofError: one is not what the statement is about, or names no assumption that says it.
    """
    setting = reading.setting
    names = {_index(reading, index) for index in setting.indices} | {_source(reading, s) for s in setting.sources}
    names |= _apart(reading)
    for variable in setting.variables:
        names |= _older(reading, variable)
    for function in setting.functions:
        names |= _function(reading, function)
    for objective in setting.objectives:
        reading.says(objective.assumption, bounding.DIFFERENTIABLE)
        _objective_gradient(reading, objective.gradient, Var(objective.at))
    if time or setting.sources:
        reading.says(time, bounding.FRESH)
    return frozenset(names | {time}) - {""}


def _index(reading: Reading, index: Index) -> str:
    """The name of the assumption by which an index is identical."""
    if index.of not in (CLIENTS, BATCH, PLACES):
        raise ProofError(f"{index.name}: wanted an index of the clients, of a batch or of places")
    for size in [index.size] + ([index.first] if index.first is not None else []):
        _sized(reading, index, size)
    if index.identical:
        if index.of == CLIENTS:
            raise ProofError(f"{index.name}: the clients are not identical")
        reading.says(index.identical, bounding.ONE_LAW)
    return index.identical


def _sized(reading: Reading, index: Index, size: Signomial) -> None:
    """The size of an index is the symbol of the statement for it, or a number of which the statement does not speak."""
    names = {param.name for param in size.params}
    single = size in [param.number for param in size.params]
    known = names & reading.reader.params.keys()
    of = [b.quantity.name for b in reading.theorem.notation if b.name in known]
    clients = {b.name for b in reading.theorem.notation if b.quantity.name == "clients" and index.of == CLIENTS}
    fits = not clients if not known else bool(of) and all(name.endswith("batch_size") for name in of)
    if not single or not (fits if index.of == BATCH or not known else names == clients):
        raise ProofError(f"{index.name}: {size!r} is not the size of the {index.of} in the statement")


def _source(reading: Reading, source: Source) -> str:
    """The name of the assumption by which samples are independent; of clients, it says how they are drawn."""
    roles = {f.role for f in reading.setting.functions if source.name in f.sources}
    left = {i: reading.setting.index(i).of for i in source.index if i not in source.joint}
    if roles & {"drawn_client", "random_set"}:
        if left:
            raise ProofError(
                f"{source.name}: the clients of a set are drawn together, not independently over {sorted(left)}"
            )
        reading.says(source.independent, bounding.UNIFORM_SET)
        return source.independent
    if BATCH in left.values():
        reading.says(source.independent, bounding.INDEPENDENT)
    if {CLIENTS, PLACES} & set(left.values()):
        reading.says(source.independent, bounding.INDEPENDENT_CLIENTS)
    reading.says(source.independent, bounding.SEPARATE, bounding.INDEPENDENT, bounding.INDEPENDENT_CLIENTS)
    return source.independent


def _older(reading: Reading, variable: Variable) -> set[str]:
    """The name of the assumption that says what was before the start, for a variable of an earlier step.

    Raises:
        ProofError: it is not of as many steps before as the theorem's method is given for its delay.
    """
    if variable.behind is None:
        return set()
    name, method = reading.symbol("delay"), reading.theorem.method
    if not name or variable.behind != getattr(reading.reader, name):
        raise ProofError(f"{variable.name}: {variable.behind!r} is no delay of the statement")
    given = given_for(method, "delay")
    if method is not None and list(given.values()) != [reading.theorem.notation[name].symbol]:
        raise ProofError(f"{method.name} gets {dict(given)} for its delay, the statement's is {name}")
    return {reading.that_says(bounding.STARTS)}


def _apart(reading: Reading) -> set[str]:
    """The name of the assumption by which samples of the problem that no function has together are independent, where there are such."""
    functions = reading.setting.functions
    drawn = {name for f in functions if f.role in ("drawn_client", "random_set", COMPRESSOR) for name in f.sources}
    sources = [source for source in reading.setting.sources if source.name not in drawn]
    together = {pair for f in functions for pair in permutations(f.sources, 2)}
    if all((a.name, b.name) in together for a, b in combinations(sources, 2)):
        return set()
    own = {source.independent for source in sources}
    entries = [item.name for item in reading.theorem.assumptions if bounding.SEPARATE in item.says]
    entry = next((name for name in entries if name in own), "") or reading.that_says(bounding.SEPARATE)
    reading.says(entry, bounding.SEPARATE)
    return {entry}


def _function(reading: Reading, function: Function) -> set[str]:
    if function.role not in bounding.FUNCTIONS:
        raise ProofError(f"{function.name}: wanted the role of a function of the problem, got {function.role!r}")
    clients = {index.name for index in reading.setting.indices if index.of == CLIENTS}
    if function.role == "minimiser" and (function.index or function.sources or function.label):
        raise ProofError(f"{function.name}: the minimiser of the objective is one point")
    if function.role == "minimiser" and function.space != reading.setting.variable(reading.model).space:
        raise ProofError(f"{function.name}: the minimiser is in the space of the models")
    alone = function.label or function.role in ("drawn_client", "minimiser") or reading.steps_inside
    common = function.role in SHARED.get(reading.theorem.problem, ())
    if common and (function.index or function.sources):
        raise ProofError(f"{function.name}: the {function.role} is one function without noise")
    if not (alone or common or clients <= function.index):
        raise ProofError(f"{function.name}: the {function.role} differs from client to client")
    _sampled(reading, function)
    if function.equal:
        if function.role not in EQUAL:
            raise ProofError(f"{function.name}: no assumption makes the {function.role} of all clients equal")
        reading.says(function.equal, EQUAL[function.role])
    return {function.equal} - {""}


def _sampled(reading: Reading, function: Function) -> None:
    """A function has the samples of its kind of problem; without any, the statement does not speak of its noise.

    A bound of the noise is one over all samples together, so that it does not hold given some of several.
    """
    if len(function.sources) > SAMPLES.get((reading.theorem.problem, function.role), 1):
        raise ProofError(f"{function.name}: the {function.role} of the problem has no {len(function.sources)} samples")
    if function.sources or reading.steps_inside:
        return
    for name, binding in reading.statement.symbols.items():
        kinds = [row.kind for row in binding.quantity.bounds if row.function == function.role]
        if {bounding.NOISE, bounding.NOISE_SIZE} & set(kinds):
            raise ProofError(f"{function.name}: it has no samples, and {name} bounds their noise")


def _objective_gradient(reading: Reading, declared: Term, point: Term) -> None:
    """Raises unless the declared gradient is that of the kind of problem."""
    kind = reading.theorem.problem
    if kind not in GRADIENTS:
        raise ProofError(
            f"{kind!r}: no kind of problem whose objective the kernel knows; there are {', '.join(GRADIENTS)}"
        )
    wanted, algebra = GRADIENTS[kind](reading, point), Algebra(reading.setting)
    if algebra.normal(declared) != algebra.normal(wanted):
        raise ProofError(f"{declared!r} is not the gradient of the objective, {wanted!r}")


# --- horizon, period, metric ------------------------------------------------------------------------------------------


def period(reading: Reading) -> Signomial:
    """The number of local steps in a round: the symbol for it, which is what the theorem's method is given.

    It is 1 where the statement does not speak of it, and the method is not given it.
    """
    name, method = reading.symbol("communication_period"), reading.theorem.method
    symbol, given = reading.theorem.notation[name].symbol if name else 1, given_for(method, "communication_period")
    if name not in reading.statement.symbols and symbol not in given.values():
        name, symbol = "", 1
    for key, value in given.items():
        if value != symbol:
            raise ProofError(f"{method.name} gets {key} = {value}, the statement's period is {name or 1}")
    if not name and any(_local(phases) for v in reading.setting.variables for phases, _ in v.equations):
        raise ProofError("no symbol of the statement is the number of local steps in a round")
    return _count(reading, name) if name else ONE


def accept_schedules(reading: Reading, offset: Signomial | None) -> None:
    """Raises unless a step size of the method that depends on the step depends on the clock of the derivation, and on nothing else."""
    method = reading.theorem.method
    for name, formula in (method.schedules if method else {}).items():
        found = read_schedule(formula)
        if (
            found is None
            or found.every != 1
            or found.power != 1
            or offset is None
            or reading.reader.read(found.t0) != offset
        ):
            shown = "no clock" if offset is None else f"the clock t + {offset!r}"
            raise ProofError(f"{method.name} gets {name} = {formula}, and the derivation has {shown}")


def _local(phases: frozenset[str]) -> bool:
    """Whether an equation holds at local steps only, or at communications only."""
    return len(phases & LOCAL) != len(phases & COMMUNICATION)


def horizon(reading: Reading) -> Signomial:
    """The number of steps: the symbol for it, or rounds times steps in a round."""
    name, rounds = reading.symbol("iterations"), reading.symbol("rounds")
    if name:
        return _count(reading, name)
    if not rounds:
        raise ProofError("no symbol of the statement is a number of steps or of rounds")
    return _count(reading, rounds) * period(reading)


def _count(reading: Reading, name: str) -> Signomial:
    if not reading.reader.params[name].count:
        raise ProofError(f"{name} is not a whole number")
    return getattr(reading.reader, name)


def metric_points(reading: Reading, axioms: Mapping[str, Any]) -> tuple[Term, ...]:
    """Where the theorem's metric is taken, at step t; several terms where the method has several names for it.

    The last iterate is that of step T, whatever the steps t are over which others average.

    Raises:
        ProofError: the metric is none that the kernel knows.
    """
    where, theorem = reading.theorem.metric.at, reading.theorem
    if theorem.metric.own is not None:
        raise ProofError(f"{theorem.metric.name}: {theorem.metric.own.only_in_doubles}")
    if where == bounding.MEAN_MODEL:
        if reading.with_role("random_set") and reading.setting.variable(reading.model).index:
            raise ProofError(
                f"{theorem.metric.name}: a run measures the mean of the clients that take part, not of all"
            )
        found: tuple[Term, ...] = (reading.mean_model,)
    elif where == bounding.PARTICIPANTS:
        weights = App(reading.function("random_set").name, Sum(()), (0,))
        found = (Mean(reading.client, Act(weights, Var(reading.model))),)
    elif where == bounding.SERVER_MODEL:
        found = tuple(Var(v.name) for v in reading.setting.variables if _is_server(reading, v, axioms))
    else:
        raise ProofError(f"{theorem.metric.name}: no metric of which the kernel knows where it is taken")
    if theorem.metric.over == LAST and where != bounding.MEAN_MODEL:
        raise ProofError(f"{theorem.metric.name}: of the last iterate, the kernel knows the mean model only")
    if theorem.average == "after" and theorem.metric.over != LAST:
        if where != bounding.MEAN_MODEL:
            raise ProofError(
                f"{theorem.metric.name}: after each round a run takes it at the new model, at each step before that the "
                'kernel would take the old one; wanted average = "before"'
            )
        return tuple(shifted(term, 1) for term in found)
    return found


def _is_server(reading: Reading, variable: Variable, axioms: Mapping[str, Any]) -> bool:
    """Whether a variable starts with the models, stays within a round, and becomes what the models become at a communication."""
    algebra, model = Algebra(reading.setting), reading.setting.variable(reading.model)
    own, models = _at(variable, LOCAL), _at(model, COMMUNICATION)
    shared = _at(variable, COMMUNICATION)
    if variable.index or None in (own, shared, models) or own != Var(variable.name):
        return False
    apart = algebra.normal(Var(model.name) - Var(variable.name))
    starts = [algebra.normal(a.term) for a in axioms.values() if isinstance(a, Start)]
    return algebra.normal(shared - models) == Sum(()) and (apart in starts or algebra.normal(-1 * apart) in starts)


def _at(variable: Variable, phases: frozenset[str]) -> Any:
    found = [term for where, term in variable.equations if phases <= where]
    return found[0] if found else None


def accept_point(reading: Reading, objective: Objective, point: Term) -> None:
    """Raises unless the gradient of an objective may be taken at a point: one with the indices of its free point, known no later.

    A gradient that is made of values at the point alone may be taken at one that is known later.
    """
    algebra = Algebra(reading.setting)
    own, there = algebra.support(Var(objective.at)), algebra.support(algebra.normal(point))
    if not there.index <= own.index or not (there.known <= own.known or is_pointwise(objective.gradient)):
        raise ProofError(f"the gradient at {point!r}: {objective.at} has fewer indices, or is known earlier")


def accept_metric(reading: Reading, meaning: Scalar, axioms: Mapping[str, Any]) -> frozenset[str]:
    """The assumptions on which it rests that a named quantity is the theorem's metric at step t.

    Raises:
        ProofError: it is something else.
    """
    if len(reading.setting.objectives) != 1:
        raise ProofError("wanted one objective")
    algebra, points = Algebra(reading.setting, pathwise=reading.pathwise), metric_points(reading, axioms)
    wanted = [form(algebra, measured(reading, point)) for point in points]
    if form(algebra, meaning) not in wanted:
        where = " or ".join(map(repr, points)) or "a model of the server"
        what = MEASURED[reading.theorem.metric.of].format(F=reading.setting.objectives[0].name)
        raise ProofError(f"{meaning!r} is not {what} at {where}, as the metric says")
    metric = reading.theorem.metric
    rests = {reading.that_says(bounding.WHOLE_ROUNDS)} if metric.at == bounding.SERVER_MODEL else set()
    rests |= {reading.that_says(bounding.MINIMISER)} if not gradient_power(metric) else set()
    rests |= _convex(reading) if metric.over == AVERAGED else set()
    return frozenset(rests)


def _convex(reading: Reading) -> set[str]:
    """The assumption on which it rests that what is measured is a convex function of the iterate.

    Raises:
        ProofError: it is not known to be one.
    """
    metric = reading.theorem.metric
    if metric.of == DISTANCE_SQ:
        return set()
    if metric.of != GAP:
        raise ProofError(f"{metric.name}: no convex function of the iterate, so that the mean is not above it")
    of_the_objective = bounding.Form(bounding.STRONG_CONVEXITY, "objective")
    strongly = (b.name for b in reading.theorem.notation if of_the_objective in b.quantity.bounds)
    for name in strongly:
        if any({name, (name, "objective")} & set(item.bounds) for item in reading.theorem.assumptions):
            return {reading.entry(name, "objective")}
    entry = reading.that_says(bounding.CONVEX)
    reading.says(entry, bounding.CONVEX)
    return {entry}


MEASURED = {
    GRADIENT_SQ: "the squared gradient of {F}",
    GRADIENT: "the squared gradient of {F}",
    GAP: "how far {F} is above its minimum",
    DISTANCE_SQ: "the squared distance from the minimiser of {F}",
}


def measured(reading: Reading, point: Term, *, of_the_run: bool = False) -> Scalar:
    """What the theorem's metric measures, at a point, of a norm its square; `of_the_run`, at one that is made of several steps, of which
    no proof speaks.

    Raises:
        ProofError: the gradient may not be taken there, or the problem has no minimiser.
    """
    (objective,) = reading.setting.objectives
    if not of_the_run:
        accept_point(reading, objective, point)
    match reading.theorem.metric.of:
        case "gradient_sq" | "gradient":
            return sq(replaced(objective.gradient, {objective.at: point}))
        case "gap":
            return reading.above_minimum(point)
        case "distance_sq":
            return sq(point - reading.minimiser)
    raise ProofError(f"{reading.theorem.metric.name}: the kernel does not know what it measures")


def left_side(reading: Reading, name: str, steps: Signomial, offset: Signomial | None) -> Scalar:
    """The left side of the statement, by the quantity that is its metric at step t: of a minimum, the mean is above it.

    Where the iterates have weights it is times the sum of these: a weighted sum over the steps. So it is at an averaged iterate, above
    whose value the mean is, by Jensen's inequality. Of a norm it is the mean of the squares, which is at least its squared mean.

    Args:
        offset: what the clock of the derivation shows at step 0, where it has one.
    """
    if reading.theorem.metric.over == LAST:
        return at(name, end=True)
    if reading.theorem.metric.over not in TAKE_WEIGHTS:
        return 1 / steps * total(name)
    return weighted_total(name, weight(reading, offset))


def right_side(reading: Reading, steps: Signomial, bound: Fraction | None = None) -> Scalar:
    """The right side of the statement: the sum of its terms, or a bound in their place, squared where the metric is a norm; times the
    sum of the weights of the iterates, as `left_side`.

    Where it holds with probability 1 - delta, delta times that: by Markov's inequality a number that is not negative, as every metric
    that the kernel knows is along a run, exceeds B with a probability of at most delta where its expectation is at most delta B. Not
    where the derivation is pathwise: what it says of the metric holds along a run, with that probability.
    """
    by_markov = reading.theorem.metric.failure and not reading.pathwise
    factor = getattr(reading.reader, reading.theorem.metric.failure) if by_markov else ONE
    terms = (reading.reader.read(term.expr) for term in reading.statement.terms)
    parts = tuple(factor * part for part in (terms if bound is None else (ONE * bound,)))
    if reading.theorem.metric.of == GRADIENT:
        if not all(part.nonnegative for part in parts):
            raise ProofError("the bound of a norm: wanted a sum that is nowhere negative, as its square is compared")
        parts = (sum(parts, ZERO) ** 2,)
    whole = sum_of_weights(reading, steps)
    return Scalar(tuple((whole * part, One()) for part in parts))


def sum_of_weights(reading: Reading, steps: Signomial) -> Signomial:
    """What both sides of the statement are multiplied by: the sum of the weights of the iterates, 1 where they have none."""
    if reading.theorem.metric.over not in TAKE_WEIGHTS:
        return ONE
    if (declining := _declining(reading)) is None:
        return summed(weights(reading), steps)
    factor, first, power = declining
    for param, made in reading.reader.sums.items():
        if made == (first, steps, power):
            return factor * param.number
    raise ProofError(f"no constant of the statement is the sum of its weights {reading.theorem.metric.weights}")


def weight(reading: Reading, offset: Signomial | None) -> Signomial:
    """The weight of the iterate that the theorem's metric measures at step t, by what the clock shows there.

    Raises:
        ProofError: as `weights`; or it is a negative power of something else than what the clock shows.
    """
    if (declining := _declining(reading)) is None:
        return at_clock(weights(reading), offset)
    factor, first, power = declining
    if first != offset:
        shown = "no clock" if offset is None else f"the clock t + {offset!r}"
        raise ProofError(f"the weights {reading.theorem.metric.weights}, and the derivation has {shown}")
    return factor * clock() ** power


def _declining(reading: Reading) -> tuple[Signomial, Signomial, int] | None:
    """(c, o, e) of weights c (t + o)^e with c > 0 and a negative whole number e; None where they are none."""
    formula = reading.theorem.metric.weights
    found = None if formula is None else power_of(formula, STEP)
    if found is None or not found[2].is_Integer or found[2] >= 0:
        return None
    factor, first = reading.reader.read(found[0]), reading.reader.read(found[1])
    first = first + 1 if reading.theorem.average == "after" else first
    if not is_positive(factor) or not is_positive(first):
        raise ProofError(f"the weights {formula}: wanted positive ones")
    return factor, first, int(found[2])


def weights(reading: Reading) -> tuple[Signomial, ...]:
    """The weight of the iterate that the theorem's metric measures at step t, by its powers of t.

    Raises:
        ProofError: it is no polynomial in t, or one that may be negative, or 0 at the first of these iterates.
    """
    formula = reading.theorem.metric.weights
    formula = sp.S.One if formula is None else formula
    after = reading.theorem.average == "after"
    formula = sp.expand(formula.xreplace({STEP: STEP + 1}) if after else formula)
    if not formula.is_polynomial(STEP):
        raise ProofError(
            f"the weights {formula}: the kernel knows polynomials in t and negative whole powers of t + t0"
        )
    found = tuple(reading.reader.read(c) for c in reversed(sp.Poly(formula, STEP).all_coeffs()))
    if not all(coefficient.nonnegative for coefficient in found) or not is_positive(found[0]):
        raise ProofError(
            f"the weights {formula}: wanted a sum of powers of t with nonnegative factors, that is positive at t = 0"
        )
    return found


def at_clock(powers: tuple[Signomial, ...], offset: Signomial | None) -> Signomial:
    """A polynomial in t by what the clock shows at step t."""
    if offset is None and len(powers) > 1:
        raise ProofError("the derivation has no clock, and the weights depend on the step")
    time = ONE if offset is None else clock() - offset
    return sum((c * time**k for k, c in enumerate(powers)), ZERO)


def summed(powers: tuple[Signomial, ...], steps: Signomial) -> Signomial:
    """The sum of a polynomial in t over 0 <= t < T.

    The sums s_k of t^k have T^(k+1) = sum over i <= k of binomial(k + 1, i) s_i.
    """
    sums: list[Signomial] = []
    for k in range(len(powers)):
        lower = sum((comb(k + 1, i) * earlier for i, earlier in enumerate(sums)), ZERO)
        sums.append((steps ** (k + 1) - lower) / (k + 1))
    return sum((c * each for c, each in zip(powers, sums, strict=True)), ZERO)


def rests_on(reading: Reading) -> dict[str, str]:
    """The metric, horizon, period and variant of the method of a derivation, in words."""
    theorem, method = reading.theorem, reading.theorem.method
    options = ", ".join(f"{k} = {v}" for k, v in {**method.values, **method.options}.items()) if method else ""
    drawn = (
        ", a new set of clients at each round"
        if any(f.role in ("random_set", "drawn_client") for f in reading.setting.functions)
        else ", all clients"
    )
    name = f"{method.name} ({options})" if method else "the update equations under definitions"
    after = " after each step, t = 1..T" if theorem.average == "after" else ""
    place = bounding.POINTS.get(theorem.metric.at, "") + after
    if theorem.metric.over == LAST:
        place = bounding.LAST_MODEL
    if theorem.metric.of == GRADIENT:
        place += ", by Jensen's inequality from its square"
    if theorem.metric.over == AVERAGED:
        place += ", by Jensen's inequality from their mean with the same weights"
    if theorem.metric.failure:
        place += ", along a run" if reading.pathwise else ", by Markov's inequality from its expectation"
    return {
        "metric": f"{theorem.metric.name}: {place}",
        "horizon": f"{horizon(reading)!r} steps",
        "period": f"{period(reading)!r} steps in a round",
        "method": name + drawn,
    }
