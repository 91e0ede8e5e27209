"""Every claim of a derivation on exact instances of the theorem's kind, with constants that are measured on them.

A family is a kind of instance (`bounds.proof.runs.Style`): functions, clients, noise, batches, rounds and starts that differ. Of each
step both sides are compared at every step of the run, of the statement the metric and the bound as it is declared, and the update
equations are compared with the code of the method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from ...bounds.proof.check_on_instances import ALONG, STYLES, Style, examine, instance, reached
from ...bounds.proof.derivations import derivation, parts_of
from ...bounds.proof.kernel import Corollary, Derivation, Loop, Plan, ProofError
from ...bounds.proof.kernel.derivation import Progress
from ...bounds.proof.kernel.terms import variables
from ...bounds.proof.locks import Instances
from ...bounds.proof.runs import unmeasured
from .code import Code, codes_beside, is_of_a_file, measured_otherwise, undecided
from .corollaries import Point, points
from .further import TRIED

BEYOND = (TypeError, KeyError, IndexError, AttributeError, AssertionError, RecursionError)
"""Errors that mean that no family has what is declared: it is not covered."""
SEEDED = ("rounds", "every step", "small", "large", "three clients", "unlike", "bent apart")
"""Families of which further instances are drawn, with long steps."""
SEEDS = 2
"""Number of further draws."""


@dataclass
class _Found:
    """What has been tried so far."""

    tried: int = 0
    families: dict[str, None] = field(default_factory=dict)
    not_covered: dict[str, None] = field(default_factory=dict)
    failed: dict[str, list[str]] = field(default_factory=dict)
    variants: list[str] = field(default_factory=list)

    def without(self, sentence: str) -> None:
        self.not_covered[sentence] = None

    def fails(self, step: str, line: str) -> None:
        """Of each step the first failure is shown, and how many there are."""
        self.failed.setdefault(step, []).append(line.strip())

    def done(self) -> Instances:
        more = {step: f" (and {len(lines) - 1} more)" * (len(lines) > 1) for step, lines in self.failed.items()}
        failed = [lines[0] + more[step] for step, lines in self.failed.items()]
        lists = (self.families, self.not_covered, failed, self.variants)
        return Instances(self.tried, *map(tuple, lists))


def instances_of(plan: Plan, theorem: Theorem, label: str = "", codes: Sequence[Any] | None = None) -> Instances:
    """What a derivation's claims come to.

    Args:
        codes: the method's code in each variant; as the theorem's paper declares it, or the theorem itself, where not given.
    """
    found = _Found()
    _try_plan(plan, theorem, label or theorem.default, codes, found)
    return found.done()


def code_beside(plan: Plan, theorem: Theorem) -> Instances:
    """Only what comes of the update equations beside the code of the method; nothing for a corollary.

    Raises:
        ProofError: the declarations of the derivation are refused.
    """
    found = _Found()
    for case, plans in parts_of(plan):
        _codes([reached(each, theorem, theorem.default) for _, each in plans], case, None, found)
    return found.done()


def _try_plan(plan: Plan, theorem: Theorem, label: str, codes: Sequence[Any] | None, found: _Found) -> None:
    if isinstance(plan, Corollary):
        _try_corollary(plan, theorem, label, found)
    for case, plans in parts_of(plan):
        _try(theorem, label, plans, codes, found, case)


def _try(
    theorem: Theorem,
    label: str,
    plans: Iterable[tuple[str, Derivation | Loop]],
    codes: Sequence[Any] | None,
    found: _Found,
    case: str = "",
) -> None:
    """One derivation, or a loop with those before it."""
    progresses: list[Progress] = []
    for prefix, plan in plans:
        where = f"{case} {prefix}".strip()
        try:
            progress = reached(plan, theorem, label)
        except ProofError as error:
            found.without(f"{where} the declarations of the derivation: {error}".strip())
            return
        progresses.append(progress)
        _families(progress, where, found)
    _codes(progresses, case, codes, found)


def _families(progress: Progress, where: str, found: _Found) -> None:
    steps: set[str] = set()
    reasons: dict[str, str] = {}
    beyond: dict[str, str] = {}
    ran: list[Style] = []
    for style in families(progress):
        try:
            result = examine(progress, {style: instance(style, progress)})
        except (InputError, ProofError) as error:
            reasons[style.name] = str(error)
        except BEYOND as error:
            beyond[style.name] = f"{type(error).__name__} {error}"[:200]
        except (ZeroDivisionError, ValueError, OverflowError) as error:
            found.fails(f"{where} value", f"{where} the statement has no value on the family {style.name}: {error}")
        else:
            ran.append(style)
            steps |= result.steps
            found.tried += result.compared
            found.families[style.name] = None
            for one in result.failed:
                found.fails(f"{where} {one.step}", f"{where} {one}")
    for name, why in beyond.items():
        found.without(f"{where} the family {name}: it cannot be evaluated: {why}".strip())
    for sentence in _left_out(progress, ran, steps, reasons):
        found.without(f"{where} {sentence}".strip())


def families(progress: Progress) -> Iterator[Style]:
    """The families of a derivation's instances; for a loop that goes back along a path also those for that."""
    yield from STYLES
    if progress.state.earlier is not None:
        yield from ALONG
    for style in STYLES:
        if style.name in SEEDED:
            yield from (style.seeded(seed) for seed in range(1, SEEDS + 1))


def _left_out(progress: Progress, ran: list[Style], steps: set[str], reasons: dict[str, str]) -> Iterator[str]:
    """What no family that ran says anything of."""
    if not ran:
        yield f"every claim: no instance satisfies what is assumed: {next(iter(reasons.values()), 'no family')}"
        return
    for name, quantity in unmeasured(progress, instance(ran[0], progress)).items():
        yield f"{name}: no family has a {quantity}"
    for step in progress.derivation.steps:
        if step.name not in progress.state.facts:
            yield f"step {step.name} and what follows: the rules do not come to it"
            break
        if step.name not in steps:
            yield f"step {step.name}: it has a value on no instance"
    wanted = {
        "rounds of more than one step": any(s.period > 1 for s in ran),
        "rounds of one step": any(s.period == 1 for s in ran),
        "clients that differ": any(s.mixed and s.clients > 1 for s in ran),
        "noise": any(s.loud for s in ran),
        "batches of more than one sample": any(s.b > 1 for s in ran) and any(s.m > 1 for s in ran),
        "another draw": any(s.seed for s in ran),
    }
    for name, there in wanted.items():
        if not there:
            yield f"{name}: no such instance satisfies what is assumed: {next(iter(reasons.values()), '')}"


def _codes(progresses: Sequence[Progress], case: str, codes: Sequence[Any] | None, found: _Found) -> None:
    """The update equations beside the code of the method in each of its variants."""
    *_, last = progresses
    declared = codes_beside(last, case) if codes is None else codes
    if not declared:
        found.without(f"{case} the code of the method: none is declared beside the update equations".strip())
    read: set[str] = set()
    if any(isinstance(code, Code) and code.named for code in declared):
        for sentence in undecided(last.theorem):
            found.without(f"{case} the code of the method: {sentence}".strip())
    for code in declared:
        try:
            beside = code.beside(last) if isinstance(code, Code) else code.beside(progresses)
            differences = [str(one) for one in beside.differences()]
        except (InputError, ProofError, ValueError, ZeroDivisionError, *BEYOND) as error:
            found.without(
                f"{case} the code of the method: it cannot be run beside the update equations: {error}".strip()[:300]
            )
            continue
        name = f"{case} {code.variant or 'as declared'}".strip()
        read |= beside.read
        if code.covered and differences:
            for one in differences:
                found.fails(name, f"{name}: {one}")
        elif code.covered:
            found.variants.append(f"{name}: its code has the update equations{_tried(code, last)}")
        else:
            why = differences[0] if differences else "its code has the same update equations"
            found.variants.append(f"not about {name}: {why}")
    if sentence := measured_otherwise(last.theorem):
        found.variants.append(sentence)
    if declared:
        for name in sorted(not_compared(progresses, read)):
            found.without(f"{case} the update equations of {name}: the code keeps no such value".strip())


def _tried(code: Any, progress: Progress) -> str:
    """How far the code of a file was compared: beyond that it may do otherwise."""
    named = isinstance(code, Code) and code.named
    return f" as far as it was compared: {TRIED}" if named and is_of_a_file(progress.theorem) else ""


def not_compared(progresses: Sequence[Progress], read: set[str]) -> set[str]:
    """Variables with equations that the code does not keep, nor anything that is computed from them at once or over others."""
    rows = [(p.state.algebra, v) for p in progresses for v in p.derivation.setting.variables if v.equations]
    enters = {
        v.name: {name for _, term in v.equations for name, _ in variables(algebra.normal(term))} for algebra, v in rows
    }
    models = {p.derivation.model for p in progresses if isinstance(p.derivation, Derivation)}
    found, new = set[str](), read & enters.keys()
    while new:
        found |= new
        new = set().union(*(enters[name] for name in new)) & enters.keys() - found
    return enters.keys() - found | models - read


def _try_corollary(plan: Corollary, theorem: Theorem, label: str, found: _Found) -> None:
    """Its theorem on the instances of that, and at points what is put in: the conditions hold, and the bound is no smaller."""
    premise = derivation(plan.theorem, plan.label)
    if premise is None:
        found.without(f"{plan.theorem.id}: no derivation of the {plan.label} statement")
    else:
        _try_plan(premise, plan.theorem, plan.label, None, found)
    tried: list[Point] = list(points(plan, theorem, label))
    found.tried += len(tried)
    found.families["the schedule at points"] = None
    for point in tried:
        if not point.holds:
            found.fails(f"schedule {point.theorem}", str(point))
    if not tried:
        found.without("the schedule: no point satisfies the conditions")
