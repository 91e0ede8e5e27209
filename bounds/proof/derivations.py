"""Which statements have a derivation, and what the kernel says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from ...user_files import FAILURES, CodeName, told
from ..language.reading import InputError
from ..language.theorem import Theorem
from ..registry import all_papers, get_paper, is_paper, paper_of
from .kernel import (
    Alternatives,
    AtNumbers,
    Derivation,
    Loop,
    Plan,
    ProofError,
    Reader,
    Verdict,
    cases_of,
    check,
    check_each,
    follow,
    run_through,
)
from .kernel.derivation import Progress, begin
from .kernel.loop import loops, settled
from .kernel.problem import GRADIENTS
from .solve import solved


def derivation(theorem: Theorem, label: str = "") -> Plan | None:
    """The derivation of a statement as data, or None where there is none: it is that of the default statement, or of the sharpened.

    Raises:
        InputError: the code that a file of data names for it is not trusted, or fails.
        ProofError: a claim in it does not follow.
    """
    return _derived(theorem, label or theorem.default)


@cache
def _derived(theorem: Theorem, label: str) -> Plan | None:
    """Solved once in a process: the steps are data."""
    found = unsolved(theorem, label)
    return found and solved(found, theorem, label)


def unsolved(theorem: Theorem, label: str = "") -> Plan | None:
    """The derivation of a statement as its author wrote it, with claims that are not solved yet.

    Raises:
        InputError: the code that a file of data names for it is not trusted, or fails.
    """
    label = label or theorem.default
    if theorem.proof is None:
        build = _of_its_paper(theorem, label)
        return build(Reader(theorem, theorem.statement(label))) if build else None
    if label != theorem.default:
        return None
    return _built(theorem.proof.load() if isinstance(theorem.proof, CodeName) else theorem.proof, theorem)


def _built(own: Callable[[Reader], Any], theorem: Theorem) -> Plan:
    """The derivation that a user's function gives.

    Raises:
        InputError: the function fails, or gives something else.
    """
    try:
        found = own(Reader(theorem, theorem.statement()))
    except FAILURES as error:
        raise InputError(f"{theorem.id}: its proof {getattr(own, '__name__', own)} fails: {told(error)}") from error
    if not isinstance(found, Plan):
        raise InputError(f"{theorem.id}: wanted a derivation from its proof, got {type(found).__name__}")
    return found


def _of_its_paper(theorem: Theorem, label: str) -> Callable[[Reader], Plan] | None:
    key = theorem.id.partition(".")[0]
    return get_paper(key).derivation_of(theorem, label) if is_paper(key) else None


def prove(theorem: Theorem, label: str = "") -> Verdict:
    """What the kernel says of the derivation of a statement, checked once in a process.

    Raises:
        InputError: the statement has none.
    """
    if theorem.metric.own is not None:
        raise InputError(
            f"{theorem.id}: no rule of the kernel concludes its metric: {theorem.metric.own.only_in_doubles}"
        )
    if own := [name for name, binding in theorem.symbols(label).items() if binding.per_client]:
        raise InputError(
            f"{theorem.id}: {', '.join(own)} {'have' if len(own) > 1 else 'has'} one number for each client, which no rule of the kernel "
            "reads; state it with one number for all clients and prove that"
        )
    found = _checked(theorem, label or theorem.default)
    if found is None:
        unknown = f"the kernel knows the objective of no problem of the kind {theorem.problem}"
        instead = (
            theorem.notation.words_only("no rule of the kernel can use it")
            or (unknown if theorem.problem and theorem.problem not in GRADIENTS else "")
            or ("" if paper_of(theorem) else 'wanted proof = "FILE.py:NAME", a function that gives one')
            or f"wanted one of {', '.join(derived_ids())}"
        )
        raise InputError(f"{theorem.id}: no derivation of the {label or theorem.default} statement; {instead}")
    return found


@cache
def _checked(theorem: Theorem, label: str) -> Verdict | None:
    try:
        found = derivation(theorem, label)
    except ProofError as error:
        return Verdict(theorem.id, label, False, (), failure=str(error))
    return None if found is None else verdict(found, theorem, label)


def verdict(found: Plan, theorem: Theorem, label: str = "", numbers: AtNumbers | None = None) -> Verdict:
    """What the kernel says of a derivation, or with `numbers` of one of the statement there; for a corollary, with that of its theorem."""
    label = label or theorem.default
    if isinstance(found, Derivation):
        return with_lemmas(found, theorem, check(found, theorem, label, numbers))
    if numbers is not None and not isinstance(found, Alternatives):
        raise ProofError("only a derivation that ends in the statement itself is checked at numbers")
    if isinstance(found, Loop):
        return run_through(found, theorem, label)
    if isinstance(found, Alternatives):
        return check_each(found, theorem, label, numbers)
    return follow(found, theorem, label, premise_of(found.theorem, found.label))


def with_lemmas(found: Derivation, theorem: Theorem, accepted: Verdict) -> Verdict:
    """Without the lemmas that the kernel has checked among what is given; with what those assume."""
    lemmas = {f"{lemma.theorem.id} {lemma.label}" for lemma in found.lemmas}
    left = [name for name in accepted.given if name not in lemmas]
    assumed, formal = set(accepted.assumptions), dict.fromkeys(accepted.formal)
    for lemma in found.lemmas:
        name = f"{lemma.theorem.id} {lemma.label}"
        if name not in accepted.given:
            continue
        known = premise_of(lemma.theorem, lemma.label)
        proved = known.checked and {*lemma.constants} <= {*known.gives}
        if not proved:
            left.append(name)
        formal |= dict.fromkeys(known.formal)
        assumed |= set(known.assumptions) if proved else {item.name for item in lemma.theorem.assumptions}
    return replace(
        accepted,
        given=tuple(left),
        formal=tuple(formal),
        assumptions=tuple(item.name for item in theorem.assumptions if item.name in assumed),
        unused=tuple(name for name in accepted.unused if name not in assumed),
    )


def premise_of(theorem: Theorem, label: str) -> Verdict:
    """What the kernel says of a statement on which another one rests; a failure where it has no derivation."""
    return _checked(theorem, label) or Verdict(
        theorem.id, label, False, (), failure="it has no derivation that the kernel checks"
    )


def checked_steps(plan: Derivation | Loop, theorem: Theorem, label: str) -> Progress:
    """What all steps of a derivation, or of a loop, establish.

    Raises:
        ProofError: a step does not follow.
    """
    if isinstance(plan, Loop):
        statement = theorem.statement(label)
        state = settled(plan, theorem, statement, Reader(theorem, statement))
        return Progress(plan, theorem, label, state)  # type: ignore[arg-type]
    progress = begin(plan, theorem, label)
    for step in plan.steps:
        progress = progress.after(step)
    return progress


def parts_of(plan: Plan | None) -> Iterator[tuple[str, list[tuple[str, Derivation | Loop]]]]:
    """The derivations of a plan that is no corollary: by the name of each case one, or a loop and those before it with their prefixes."""
    for case, each in cases_of(plan):
        if isinstance(each, Loop):
            yield case, [*loops(each)]
        elif isinstance(each, Derivation):
            yield case, [("", each)]


def derived_ids() -> tuple[str, ...]:
    """Ids of the theorems that have a derivation, whether or not it checks."""
    return tuple(name for paper in all_papers() for name in paper.derivations)
