"""What a derivation about a loop inside one step of a method is written with: as `author.py`, and inductions over the steps.

Nothing here need be trusted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..language.recursion import Recurrence, Recursion
from .author import ONE, Known, Proof, Reader, Scalar, Signomial, Term, Var, scalar, sq
from .kernel import (
    EVERY,
    Along,
    Definition,
    Delivery,
    Given,
    Identity,
    Induction,
    Loop,
    Numbers,
    Sequence,
    Suppose,
    Sure,
    Vanishing,
    Variable,
    signomial,
)
from .kernel.sequences import number
from .kernel.terms import shifted


def sequences_of(
    constant: Recursion, s: Reader, *values: str | Sequence, along: Sequence | None = None
) -> tuple[Sequence, ...]:
    """The values of a constant that is given step by step, as sequences with these names, or as those that they are.

    Args:
        along: the sequence of the loop before through which it goes back.
    """
    rule, given = constant.rule, [getattr(s, name) for name in constant.reads]
    if not isinstance(rule, Recurrence):
        raise TypeError(f"{constant.node.__name__}: wanted a constant that is given step by step")
    now = [number(each) if isinstance(each, str) else each.now for each in values]
    start = rule.start(*([along.end] if along else []), *given)
    after = rule.after(*([along.reversed] if along else []), *now, *given)
    rows = zip(values, start, after, strict=True)
    return tuple(Sequence(x, signomial(a), signomial(b)) if isinstance(x, str) else x for x, a, b in rows)


Part = tuple[str, Term, Signomial]
"""(step, v, r): the step says that ||v||^2 <= r^2."""


@dataclass
class LoopProof(Proof):
    """A derivation about a loop while it is written.

    Args:
        sequences: the numbers that bound things. constants: names for numbers.
        before: the loop that this one goes through in reverse. reversed: its variables, and those that they are here.
        entry: the entry of the list that says where the variables start. space: that of the variables. count: the symbol for the
            number of steps.
    """

    entry: str = ""
    space: str = "x"
    count: str = "nu"
    sequences: tuple[Sequence, ...] = ()
    constants: Mapping[str, Signomial] = field(default_factory=dict)
    before: Loop | None = None
    reversed: Mapping[str, str] = field(default_factory=dict)

    @property
    def numbers(self) -> Numbers:
        return Numbers(getattr(self.s, self.count), self.sequences, self.before.sequences if self.before else ())

    def point(self, name: str, per: str = "", sources: tuple[str, ...] | None = None) -> None:
        """A free point; `sources`: those on which it may depend, if not all."""
        self.variables.append(Variable(name, self.space, frozenset(per.split()), sources=sources))

    def moves(
        self,
        name: str,
        after: Term,
        start: Term | None = None,
        per: str = "",
        sources: tuple[str, ...] | None = None,
    ) -> None:
        """A variable with its update equation, as a step of its name, and where it starts.

        Args:
            sources: those on which its start may depend, if not all.
        """
        self.variables.append(Variable(name, self.space, frozenset(per.split()), ((EVERY, after),), sources=sources))
        self.step(name, Definition(name, "local"))
        if start is not None:
            self.start(self.entry, Var(name) - start, f"{name}, start")

    # --- vectors with a bound -----------------------------------------------------------------------------------------------

    def part(self, name: str, vector: Term, root: Signomial, *by: str, **more: Any) -> Part:
        """||vector||^2 <= root^2 as a claim."""
        return self.claim(name, sq(vector) <= root**2, *by, **more), vector, root

    def suppose(self, name: str, vector: Term, root: Signomial) -> Part:
        """`name, supposed`: the hypothesis of an induction, which has the name itself."""
        return self.step(f"{name}{_SUPPOSED}", Suppose(sq(vector), root**2)), vector, root

    def induction(
        self,
        supposed: Part,
        *by: str,
        first: tuple[str, ...],
        parts: tuple[Part, ...] = (),
        squares: tuple[Term, ...] = (),
        why: str = "",
    ) -> Part:
        """What is supposed holds at every step.

        Args:
            by: with ||vector + parts||^2 these give ||vector[+1]||^2. first: what gives it at step 0, less the `squares`.
            parts: what is added to the vector in a step.
        """
        grown, vector, root = supposed
        name, square = grown.removesuffix(_SUPPOSED), root**2
        at_start = sq(vector) <= scalar(self.numbers.at_start(square))
        start = self.claim(f"{name}, first", at_start, *first, squares=squares)
        if parts:
            grown, *_ = self.added(f"{name}, grown", supposed, *parts)
        after = sq(shifted(vector, 1)) <= scalar(self.numbers.after(square))
        goes_on = self.claim(f"{name}, next", after, grown, *by, why=why)
        return self.step(name, Induction(sq(vector), square, start, goes_on)), vector, root

    def added(self, name: str, *parts: Part) -> Part:
        """The sum of vectors, by the triangle inequality."""
        (_, vector, root), *others = parts
        for _, term, size in others:
            vector, root = vector + term, root + size
        return self.triangle(name, scalar(ONE), *parts), vector, root

    def expected(self, name: str, size: Part) -> Part:
        """The bound of a vector, for its mean over all samples."""
        step, vector, root = size
        mean = Given(Known(), vector)
        return self.part(name, mean, root, step, squares=(vector - mean,))

    def sure(self, name: str, size: Part) -> str:
        """The bound of a vector that depends on no sample and on no index."""
        return self.step(name, Sure(*size))

    def vanishing(self, name: str, size: Part) -> str:
        """vector = 0 from ||vector||^2 <= 0."""
        step, vector, _ = size
        return self.step(name, Vanishing(step, vector))

    # --- numbers, and the loop before ----------------------------------------------------------------------------------------

    def identity(self, name: str, left: Signomial, right: Signomial, factor: Signomial, why: str = "") -> str:
        """left = right for numbers at every step, whose difference is multiplied by a factor at each step."""
        return self.step(name, Identity(left, right, factor), why)

    def along(self, name: str, step: str, left: Scalar, bound: Signomial, *, end: bool = False, why: str = "") -> str:
        """What a step of the loop before says, in reverse; with `end` where this one begins."""
        return self.step(name, Along(step, left, bound, end), why)

    def delivers(self, estimate: str = "", /, **steps: str) -> Loop:
        """The loop: the step that bounds what each derived constant bounds, or `terms` for what the metric says.

        Args:
            estimate: the variable that is the method's estimate of the gradient, where the statement bounds its error.
        """
        s = self.s
        free = (name for name, param in s.params.items() if name not in s.opaque and param not in s.formulas)
        return Loop(
            self.setting,
            self.axioms,
            self.sequences,
            tuple(self.steps),
            tuple(Delivery("" if target == "terms" else target, step) for target, step in steps.items()),
            tuple(self.constants.items()),
            dict.fromkeys(free, Fraction(1)),
            self.time,
            self.count,
            before=self.before,
            reversed=self.reversed,
            estimate=estimate,
        )


_SUPPOSED = ", supposed"

__all__ = ["LoopProof", "Part", "sequences_of"]
