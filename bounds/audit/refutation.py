"""A refutation: one exact instance that satisfies every stated assumption of a printed claim, and breaks it.

It is a bundle in `bounds/papers/<key>/refutations/` (`bundled.py`). Where no bundle can say the instance, it is a function in
`counterexamples.py` of the paper's folder, decorated with `refutes`, that builds it in exact numbers and returns a `Case`. Nothing else
has to be told: the audit links its findings, the report lists it, `fedco replay` recomputes it, and the tests mutate it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ..evaluation.enclosure import EnclosureError, enclose_bound
from ..registry import get_theorem
from .instance import Checked, Clients, NotChecked, check
from .picture import Picture

Number = Fraction | int
Ends = tuple[Fraction, Fraction]

_BITS = 96
"""Bits to which enclosures are rounded outward: a relative 1e-28, in short files."""
_WORKING_BITS = 4 * _BITS
"""Further bits of the computation, so that the rounded ends do not depend on the order in which sympy keeps a sum."""


GRADES = {
    "refuted": "the instance satisfies every assumption that `fedco show` prints, and no letter, sign or power repairs the claim",
    "reading": "false under the reading that is named; under another one it is not known to be false",
    "slip": "a letter, a sign, a power or a lost factor; the line that was meant is another claim",
}
"""What an exact instance shows of a claim, gravest first. Only the first counts as a refutation."""
VERDICTS = ("refuted", "not refuted", "undecided")
"""What the instance, or the bundle that the reading names, shows of the claim under another reading."""


class RefutationError(AssertionError):
    """An instance is not what it says: a fact fails, a constant is missing, or a printed condition does not hold."""


@dataclass(frozen=True)
class Case:
    """An instance with both sides' ingredients.

    Args:
        problem: {"name": ..., "parameters": every number that defines the instance}.
        constants: symbol of the printed statement -> (value, why the instance has this constant).
        hyperparameters: symbol -> value.
        left: the exact left side, or an enclosure (lower, upper); in the unit of the claim's metric.
        facts: what was checked while the instance was built, as a sentence -> whether it is true.
        observables: for a lemma, the exact values of the run that its right side refers to.
        right: only for a claim that is no sum of terms; otherwise the printed statement is evaluated.
        choice: how the instance reads a line that the paper leaves open; empty if there is none.
        clients: the functions of the instance, from which every assumption that `fedco show` prints is decided.
        assumptions: the same by hand: name of an assumption -> whether the instance satisfies it, computed.
        picture: how it looks, where it can be drawn over one variable.
    """

    problem: Mapping[str, Any]
    constants: Mapping[str, tuple[Number, str]]
    hyperparameters: Mapping[str, Number]
    left: Number | Ends
    facts: Mapping[str, bool]
    observables: Mapping[str, Number] = field(default_factory=dict)
    right: Ends | None = None
    choice: str = ""
    picture: Picture | None = field(default=None, compare=False)
    assumptions: Mapping[str, bool] = field(default_factory=dict)
    clients: Clients | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """
        Raises:
            RefutationError: a symbol has two values.
        """
        names = [*self.constants, *self.hyperparameters, *self.observables]
        if twice := sorted(name for name in {*names} if names.count(name) > 1):
            raise RefutationError(f"{twice[0]}: it has more than one value")

    @property
    def values(self) -> dict[str, Number]:
        """Every symbol with its value."""
        constants = {name: value for name, (value, _) in self.constants.items()}
        return {**constants, **self.hyperparameters, **self.observables}


@dataclass(frozen=True)
class Refutation:
    """`name` is the claim's id, followed by a word where a claim has several instances; `findings` are audit ids.

    `statement` is "printed", or "composed" for what the paper's own lemmas give when the printed conditions are repaired.

    Args:
        reading: the reading under which the claim is false, where the instance does not satisfy every assumption that
            `fedco show` prints in the paper's words; empty where it does.
        slip: what was meant, where a letter, a sign, a power or a factor is all that is wrong.
        alternatives: another reading of an ambiguous line or assumption -> one of `VERDICTS` under it.
        is_evidence: whether it stands behind its findings only, and in no list of refutations.
        data: the bundle that it is read from, with its numbers; None for one that a function builds.

    Raises:
        RefutationError: an unknown verdict, or a claim that another reading saves and that names no reading.
    """

    name: str
    claim: str
    findings: tuple[str, ...]
    statement: str
    summary: str
    make: Callable[[], Case] = field(repr=False)
    reading: str = ""
    slip: str = ""
    alternatives: Mapping[str, str] = field(default_factory=dict)
    is_evidence: bool = False
    data: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        verdicts = set(self.alternatives.values())
        if not verdicts <= set(VERDICTS):
            raise RefutationError(f"{self.name}: wanted verdicts among {VERDICTS}, got {sorted(verdicts)}")
        if verdicts - {"refuted"} and not (self.reading or self.slip):
            raise RefutationError(f"{self.name}: not refuted under another reading, and names none of its own")

    @property
    def grade(self) -> str:
        """A key of `GRADES`: a slip whose repaired line is refuted too does not excuse the claim."""
        if self.reading:
            return "reading"
        return "slip" if self.slip and self.alternatives.get(self.slip) != "refuted" else "refuted"

    @property
    def order(self) -> int:
        """Refutations with a smaller number stand first in every list; those with the same in the order of their claims."""
        return int(self._notes.get("order", 0))

    @property
    def _notes(self) -> Mapping[str, Any]:
        return {} if self.data is None else self.data["notes"]

    @property
    def weight(self) -> int:
        """The place of its grade; 0 is the gravest."""
        return list(GRADES).index(self.grade)

    @property
    def word(self) -> str:
        """The grade with its reading, or with what was meant."""
        words = {"reading": f"refuted under the reading ({self.reading})", "slip": f"slip (meant: {self.slip})"}
        return words.get(self.grade, self.grade)

    @property
    def stands(self) -> bool:
        """Whether it has its grade on what it holds: the left side that the last replay found is above the bound, evaluated now,
        where the printed conditions hold, and every printed assumption is decided on its functions. Nothing is run."""
        try:
            case = self.case()
            left, right = self.sides(case)
            return self.graded(case).grade == self.grade and left[0] > right[1]
        except (RefutationError, EnclosureError, ValueError):
            return False

    def graded(self, case: Case) -> Refutation:
        """The same, with an assumption that the instance violates as its reading.

        Raises:
            RefutationError: the instance speaks of an assumption that the claim does not have; or it is to refute the claim
                without a reading, and an assumption that `fedco show` prints is not decided on it.
        """
        known = {assumption.name for assumption in get_theorem(self.claim).assumptions}
        if strange := sorted(set(case.assumptions) - known):
            raise RefutationError(f"{self.name}: {strange[0]!r} is no assumption of {self.claim}")
        violated = [name for name, holds in case.assumptions.items() if not holds]
        violated = violated or [item.name for item in self.checked(case) if not item.holds]
        return replace(self, reading=f"without assumption {violated[0]}") if violated and not self.reading else self

    def checked(self, case: Case) -> tuple[Checked, ...]:
        """Every assumption that `fedco show` prints of the claim, decided on the functions of the instance; none without functions.

        Raises:
            RefutationError: it names no reading, and one of the assumptions is not decided.
        """
        theorem = get_theorem(self.claim)
        if case.clients is None:
            left = [each.name for each in theorem.assumptions if each.name not in case.assumptions]
            if left and self.grade == "refuted":
                raise RefutationError(f"{self.name}: names no reading, and nothing decides assumption {left[0]}")
            return ()
        given = {name: value for name, (value, _) in case.constants.items()}
        try:
            return check(theorem.assumptions, theorem.statement(self.statement), case.clients, given)
        except NotChecked as error:
            if self.grade != "refuted":
                return ()
            raise RefutationError(f"{self.name}: {error}") from None

    def case(self) -> Case:
        """The instance, rebuilt now.

        Raises:
            RefutationError: one of its facts fails.
        """
        made = self.make()
        if wrong := [fact for fact, holds in made.facts.items() if not holds]:
            raise RefutationError(f"{self.name}: not true of the instance: {wrong[0]}")
        return made

    def sides(self, case: Case) -> tuple[Ends, Ends]:
        """Enclosures of the left side and of the claimed right side.

        Raises:
            InadmissibleError: a printed condition does not hold.
            RefutationError: a constant is not one of the statement.
        """
        left = case.left if isinstance(case.left, tuple) else (Fraction(case.left), Fraction(case.left))
        return outward(left), case.right or right_side(self.claim, self.statement, case)


def right_side(claim: str, statement: str, case: Case) -> Ends:
    """An enclosure of the claimed bound at the exact numbers of a case."""
    theorem = get_theorem(claim)
    symbols = theorem.symbols(statement)
    if unknown := sorted({*case.constants, *case.observables} - set(symbols)):
        raise RefutationError(f"{unknown[0]}: not a symbol of {claim} ({statement})")
    values: dict[str, Any] = {name: value for name, value in case.values.items() if name in symbols}
    theorem.bound(statement, **values)  # raises where a condition fails
    total = enclose_bound(theorem.statement(statement), values, bits=_WORKING_BITS)["total"]
    return outward((total.lower, total.upper))


def outward(interval: Ends, bits: int = _BITS) -> Ends:
    """Dyadic ends of at most `bits` bits that contain the interval; a short exact number stays as it is."""
    low, high = interval
    if low == high and max(low.numerator.bit_length(), low.denominator.bit_length()) <= 512:
        return low, high
    return _rounded(low, bits, up=False), _rounded(high, bits, up=True)


def _rounded(number: Fraction, bits: int, *, up: bool) -> Fraction:
    if number == 0:
        return number
    shift = bits - (abs(number.numerator).bit_length() - number.denominator.bit_length())
    scaled = number * Fraction(2) ** shift
    return Fraction(-(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator) / (
        Fraction(2) ** shift
    )


def refutes(
    claim: str,
    *findings: str,
    reading: str = "",
    slip: str = "",
    alternatives: Mapping[str, str] | None = None,
    variant: str = "",
    statement: str = "printed",
    evidence: bool = False,
) -> Callable[[Callable[[], Case]], Callable[[], Case]]:
    """Declare the decorated function as a refutation of a printed claim; its docstring says the instance in a line.

    Args:
        claim: id of the theorem, corollary or lemma.
        findings: ids of the audit findings that it is the evidence of.
        reading: the reading under which the claim is false; empty where the instance satisfies every printed assumption.
        slip: what was meant, where only a letter, a sign, a power or a factor is wrong.
        alternatives: another reading of an ambiguous line or assumption -> one of `VERDICTS` under it.
        variant: tells several instances of one claim apart.
        evidence: whether it stands behind its findings only: the claim is refuted by others, or is true of other instances.
        statement: "printed", or "composed" for the most charitable reading.
    """

    def declare(make: Callable[[], Case]) -> Callable[[], Case]:
        name = f"{claim}.{variant}" if variant else claim
        if not make.__doc__:
            raise RefutationError(f"{name}: without a docstring")
        summary = " ".join(make.__doc__.split())
        make.refutation = Refutation(  # type: ignore[attr-defined]
            name, claim, findings, statement, summary, make, reading, slip, dict(alternatives or {}), evidence
        )
        return make

    return declare


def declared_in(names: Mapping[str, Any]) -> tuple[Refutation, ...]:
    """The refutations that a module declares: `REFUTATIONS = declared_in(globals())` is its last line.

    Raises:
        RefutationError: two have one name.
    """
    own = [value for value in names.values() if getattr(value, "__module__", None) == names["__name__"]]
    found = tuple(value.refutation for value in own if hasattr(value, "refutation"))
    if twice := {item.name for item in found if sum(other.name == item.name for other in found) > 1}:
        raise RefutationError(f"{min(twice)}: declared twice")
    return found
