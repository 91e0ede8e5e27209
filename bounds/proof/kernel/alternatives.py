"""A statement that assumes one of several things: a derivation for each of them, of the whole statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .derivation import AtNumbers, Derivation, Line, Verdict, check, one_case_of
from .signomial import ProofError


@dataclass(frozen=True)
class Alternatives:
    """Cases, (name, derivation) each; `assumption` is the entry of the theorem's list that says that one of them applies."""

    assumption: str
    cases: tuple[tuple[str, Derivation], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.cases]
        if len(set(names)) != len(names) or len(names) < 2:
            raise ProofError(f"wanted two or more cases with different names, got {names}")


def cases_of(plan: Any) -> tuple[tuple[str, Any], ...]:
    """The derivations of several cases by their names; another plan by itself, without a name."""
    return plan.cases if isinstance(plan, Alternatives) else (("", plan),)


def with_cases(plan: Any, made: Iterable[tuple[str, Any]]) -> Any:
    """The plan with others in the places of what `cases_of` gives."""
    cases = tuple(made)
    return replace(plan, cases=cases) if isinstance(plan, Alternatives) else cases[0][1]


def check_each(found: Alternatives, theorem: Any, label: str, numbers: AtNumbers | None = None) -> Verdict:
    """Re-check every case; what a case uses, leaves out or fails at has its name in front."""
    listed = [item.name for item in theorem.assumptions]
    verdicts = {name: check(derivation, theorem, label, numbers) for name, derivation in found.cases}
    lines = tuple(
        Line(f"{name}: {x.name}", x.claim, x.rule, tuple(f"{name}: {step}" for step in x.uses), x.why)
        for name, verdict in verdicts.items()
        for x in verdict.lines
    )
    failures = [f"{name}: {verdict.failure}" for name, verdict in verdicts.items() if not verdict.accepted]
    if found.assumption not in listed:
        failures.append(f"{found.assumption!r} is not in the theorem's list of assumptions")
    failures += [f"{name}: no case of {found.assumption!r}" for name, d in found.cases if d.either != found.assumption]
    others = one_case_of(found.assumption)
    if failures:
        return Verdict(theorem.id, label, False, lines, failure="; ".join(failures), at=numbers)
    each = tuple(verdicts.values())
    used = {name for verdict in each for name in verdict.assumptions} | {found.assumption}
    conditions = {name for verdict in each for name in verdict.conditions}
    exact = {name for verdict in each for name in set(verdict.conditions) - set(verdict.loose)}
    return Verdict(
        theorem.id,
        label,
        True,
        lines,
        tuple(name for name in listed if name in used),
        tuple(sorted(conditions)),
        tuple(dict.fromkeys(name for verdict in each for name in verdict.unused if name not in used | conditions)),
        _named(verdicts, "dropped"),
        tuple(sorted(conditions - exact)),
        reading=_named(verdicts, "reading"),
        facts=tuple(fact for verdict in each for fact in verdict.facts),
        given=tuple(dict.fromkeys(name for verdict in each for name in verdict.given if name != others)),
        formal=tuple(dict.fromkeys(text for verdict in each for text in verdict.formal)),
        rests_on=each[0].rests_on,
        at=numbers,
    )


def _named(verdicts: dict[str, Verdict], what: str) -> tuple[str, ...]:
    rows: Iterable[str] = (f"{name}: {text}" for name, verdict in verdicts.items() for text in getattr(verdict, what))
    return tuple(rows)
