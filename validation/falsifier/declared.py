"""What is falsified, read off the declarations: kind, quantities, method, statistic. The one place that knows where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import sympy as sp

from ...algorithms import Method
from ...algorithms.registry import get_method
from ...bounds.evaluation.weights import has_rational_weights, names_in
from ...bounds.language.bounding import MEAN_MODEL, SERVER_MODEL
from ...bounds.language.change import Change, changed, narrowed
from ...bounds.language.client_lists import with_clients_alike
from ...bounds.language.metrics import gradient_power
from ...bounds.language.notation import Binding
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_paper, is_paper
from ..exact.statistic import Statistic
from ..lemmas.link import LemmaChain, Link
from ..runs.method_of import build_in_lanes, every_of, period_of, steps_of
from ..runs.registry import chains, is_run, recipe_for
from .formula import LENGTHS, Formula
from .properties import PROPERTIES

Values = Mapping[str, Any]
MINIMISED = ("federated",)
"""Kinds of problem whose instances have a minimiser that is known."""


@dataclass(frozen=True)
class Target:
    """A statement with everything that a search has to know of it.

    Args:
        kind: kind of problem.
        method: builds the algorithm from the values of the symbols.
        average: "before" averages over t = 0..T-1, "after" over t = 1..T.
        steps: the local steps that the values stand for.
        every: the statistic uses every so many steps; None uses all.
        measured: symbol -> quantity that no formula of the method gives, such as the gap of a mixing matrix.
        is_chosen: whether the theorem leaves open what these depend on, so that a method is chosen that has them.
        chain, link: for a lemma, the chain of its proof and its place in it, which say what is compared.
        declared: the theorem as it was given: `theorem` is that one, changed or narrowed.
        change: how the statement differs from that of the declared theorem; None where it does not, or says less.
        more: further properties that an instance must have, chosen by the user.
        where: further conditions on the statement, chosen by the user: a part of its region is searched.
    """

    theorem: Theorem
    label: str
    kind: str
    method: Callable[[Values], Method]
    declared: Theorem
    average: str = "before"
    steps: Callable[[Values], int] = lambda values: int(values["T"])
    every: Callable[[Values], int] | None = None
    measured: Mapping[str, str] = field(default_factory=dict)
    is_chosen: bool = False
    chain: LemmaChain | None = None
    link: Link | None = None
    change: Change | None = None
    more: tuple[str, ...] = ()
    where: tuple[str, ...] = ()

    @cached_property
    def stated(self) -> dict[str, Binding]:
        """The symbols of the statement by name."""
        return self.theorem.symbols(self.label)

    @cached_property
    def symbols(self) -> dict[str, Binding]:
        """Those of the statement, and those that the method needs besides: a statement may leave out what it holds for.

        A changed statement keeps the symbols of the declared one.
        """
        kept = self.declared.symbols(self.label)
        extra = {name: self.theorem.notation[name] for name in self._needed if name not in self.stated}
        return {**self.stated, **kept, **extra}

    @property
    def assumed(self) -> tuple[str, ...]:
        """Named properties that an instance must have."""
        return tuple(dict.fromkeys((*self.theorem.statement(self.label).assumed, *self.more)))

    def statistic(self, whole: Values) -> Statistic:
        """What the left side takes of a run, at these values of the whole numbers; of an expectation."""
        metric = self.theorem.metric
        return Statistic(metric.of, metric.over, self.every(whole) if self.every else 1, self.average == "after")

    @property
    def needs_curvature(self) -> bool:
        """Whether the objective has to grow as a square does."""
        return any(self.named(quantity) for quantity in ("strong_convexity", "polyak_lojasiewicz"))

    @property
    def _needed(self) -> list[str]:
        """The symbols that the method, the length of a run and the left side are made of, found by asking once."""
        probe = _Probe()
        self.method(probe)
        if self.chain is None:
            self.steps(probe)
        else:
            probe.asked.append(self.chain.period)
        probe.asked += [self.theorem.metric.failure, *names_in(self.theorem.metric)]
        return [name for name in probe.asked if name in self.theorem.notation.bindings]

    @property
    def length(self) -> str | None:
        """The symbol for the length of a run, where the statement has one."""
        return next((n for n, b in self.symbols.items() if b.quantity.name in LENGTHS), None)

    @cached_property
    def period(self) -> str | int:
        """The steps of a round: a symbol, or a number."""
        return (self.named("communication_period") or 1) if self.theorem.method is None else period_of(self.theorem)

    def round_length(self, whole: Values) -> int:
        """The steps of a round at these values of the symbols."""
        return int(whole[self.period]) if isinstance(self.period, str) else self.period

    def named(self, quantity: str) -> str | None:
        """The symbol that stands for a quantity."""
        return next((name for name, b in self.symbols.items() if b.quantity.name == quantity), None)


class _Probe(dict[str, Any]):
    """Values that are 1 whatever is asked for, and what was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __missing__(self, name: str) -> int:
        self.asked.append(name)
        return 1


def target_of(
    theorem: Theorem,
    label: str,
    change: Change | None = None,
    more: tuple[str, ...] = (),
    where: tuple[str, ...] = (),
) -> Target:
    """The target of a theorem's statement, or of one with a change; where each client has numbers of its own, with equal ones.

    Args:
        more: named properties that an instance must have besides those that the statement assumes.
        where: conditions besides those of the statement, as `narrowed` reads them.

    Raises:
        InputError: the declarations do not say what to run, the statement bounds nothing, or a condition is about
            nothing that an instance has.
    """
    theorem = with_clients_alike(theorem)
    if not theorem.statement(label).terms and not _is_compared(theorem):
        raise InputError(f"{theorem.id} ({label}): defines constants and bounds nothing")
    known = [name for name, known in PROPERTIES.items() if known.kinds is None or theorem.problem in known.kinds]
    statement = theorem.statement(label)
    for name in statement.left_open(more):
        what = f"cannot make instances with {name!r}, which says one of several things"
        raise InputError(f"{theorem.id} ({label}): falsify {what}: wanted one of them under `assume` too")
    for name in (*statement.assumed, *more):
        if name not in known:
            of_kind = f"no instance of the kind {theorem.problem} is made to have; wanted one of {' '.join(known)}"
            raise InputError(f"{theorem.id} ({label}): assumes {name}, which {of_kind}")
    if len(lengths := [n for n, b in theorem.symbols(label).items() if b.quantity.name in LENGTHS]) > 1:
        raise InputError(
            f"{theorem.id} ({label}): the length of the run has two symbols, {' and '.join(lengths)}, and the exact check sets one: "
            "wanted one of them, with the steps of a round times the rounds in the place of the iterations"
        )
    attacked = theorem if change is None else changed(theorem, label, change)
    target = replace(_target_of(attacked, label, own_of(theorem)), declared=theorem, change=change, more=more)
    return _narrowed(target, where) if where else target


def formula_of(target: Target) -> Formula:
    """The statement of a target, compiled for a search; one with a relaxed condition is attacked outside the condition as it was.

    Inside it says what the declared statement says.
    """
    change, outside = target.change, None
    if change is not None and change.way == "relaxed":
        stated = target.declared.statement(target.label).conditions
        outside = next(condition for condition in stated if condition.name == change.part)
    return Formula(target.theorem, target.label, outside)


def _narrowed(target: Target, where: tuple[str, ...]) -> Target:
    """The same statement on a part of its region; the conditions are about what an instance of it has.

    Raises:
        InputError: another symbol in a condition.
    """
    found = replace(target, theorem=narrowed(target.theorem, target.label, where), where=where)
    statement = found.theorem.statement(target.label)
    own = {n: b for n, b in target.symbols.items() if b.quantity.role != "observable"}
    for condition in statement.conditions[-len(where) :]:
        binding = own.get(str(condition.left))
        if condition.relation == "==" and binding is not None and binding.quantity.name == "fine_tuning_step_size":
            raise InputError(f"{condition}: instances have {binding.name} of their own; wanted an inequality")
        asked = statement.symbols_of(condition.left) | statement.symbols_of(condition.right)
        if other := sorted({str(symbol) for symbol in asked} - set(own)):
            raise InputError(f"{condition}: no instance has {other[0]} before it runs; wanted {' '.join(own)}")
    return found


def own_of(theorem: Theorem) -> Theorem | None:
    """The theorem of a paper that this one is, or that it restates: what its paper declares of its runs holds for it.

    None for a theorem of one's own, whatever its id.
    """
    key = theorem.id.partition(".")[0]
    own = get_paper(key).theorems.get(theorem.id) if is_paper(key) else None
    if own is None or own.notation != theorem.notation:
        return None
    kept = ("metric", "problem", "average", "method")
    return own if all(getattr(own, name) == getattr(theorem, name) for name in kept) else None


def _target_of(theorem: Theorem, label: str, own: Theorem | None) -> Target:
    """The target of a statement as it stands; `own` is the theorem of a paper whose declared runs hold for it."""
    if theorem.metric.own is not None:
        why = f"the exact check does not evaluate its metric: {theorem.metric.own.only_in_doubles}"
        raise InputError(f"{theorem.id}: {why}; `fedco validate` measures it")
    if theorem.method is not None:
        if theorem.metric.at not in (MEAN_MODEL, SERVER_MODEL):
            known = "a measure of the clients' mean model, or of the server's"
            raise InputError(f"{theorem.id}: bounds {theorem.metric.name}, and the exact check evaluates {known} only")
        if not gradient_power(theorem.metric) and theorem.problem not in MINIMISED:
            kinds = f"only instances of the kind {' or '.join(MINIMISED)} have a minimiser that is known exactly"
            raise InputError(f"{theorem.id}: bounds {theorem.metric.name}, and {kinds}")
        if not has_rational_weights(theorem.metric):
            what = f"the weights {theorem.metric.weights}, and the exact check takes those that are rational numbers"
            raise InputError(f"{theorem.id}: bounds {theorem.metric.name} with {what}")
        call = theorem.method
        owner = get_method(call.name, call.code)
        measured = {n: b.quantity.name for n, b in theorem.symbols(label).items() if b.quantity.name in owner.measured}
        is_chosen = "attaining" in vars(owner) and not {*call.options, *call.values} & {*owner.measured_by}
        if is_chosen and len(measured) > 1:
            why = (
                f"{' and '.join(measured)} are numbers of one matrix, and a search chooses one that has a single number"
            )
            raise InputError(f"{theorem.id}: {why}")
        changing = [n for n in owner.measured_by if n in call.values and sp.sympify(call.values[n]).free_symbols]
        if measured and changing:
            why = f"{', '.join(measured)} is what the method has at {changing[0]} = {call.values[changing[0]]}, and no search knows how"
            raise InputError(f"{theorem.id}: {why} it depends on that")
        build = build_in_lanes(theorem, measured if is_chosen else {})
        steps, every = steps_of(theorem), every_of(theorem)
        target = Target(theorem, label, theorem.problem, build, theorem, theorem.average, steps, every)
        return replace(target, measured=measured, is_chosen=is_chosen)
    if own is not None:
        if is_run(own.id):
            recipe = recipe_for(own.id)
            average, steps, every = recipe.average, recipe.steps, recipe.every
            return Target(theorem, label, theorem.problem, recipe.method, theorem, average, steps, every)
        for about, chain in chains().items():
            found = [link for link in chain.links if link.lemma == own.id]
            if found:
                link = next((link for link in found if link.of_a_run), found[0])
                return _lemma(theorem, label, about, chain, link)
    raise InputError(f"{theorem.id}: no method and statistic are declared for it")


def _is_compared(theorem: Theorem) -> bool:
    """Whether a chain compares a constant that the lemma defines with a run."""
    links = () if own_of(theorem) is None else (link for chain in chains().values() for link in chain.links)
    return any(link.lemma == theorem.id and link.right is not None for link in links)


def _lemma(theorem: Theorem, label: str, about: str, chain: LemmaChain, link: Link) -> Target:
    """A lemma of the chain of a theorem's proof, on runs of that theorem's method.

    Raises:
        InputError: the chain compares another statement of the lemma, because this one cannot be measured.
    """
    if label in link.also:
        link = replace(link, observables=link.also[label], statement=label)
    if link.statement and link.statement != label:
        raise InputError(
            f"{theorem.id} ({label}): cannot be measured along a run; `{link.statement}` can ({link.note})"
        )
    if not link.of_a_run:
        raise InputError(
            f"{theorem.id} ({label}): about every outcome of a batch, which no family of its kind has noise for"
        )
    recipe, proved = recipe_for(about), get_paper(about.partition(".")[0]).theorems[about]
    build = recipe.method if proved.method is None else build_in_lanes(proved)
    return Target(theorem, label, theorem.problem, build, theorem, steps=recipe.steps, chain=chain, link=link)
