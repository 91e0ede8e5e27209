"""Nonnegative numbers X_0, X_1, ..., given by a recursion, that bound what happens along the nu steps of a loop.

In a statement about step t the name of a sequence stands for its value X_t. What is gone through in reverse, such as the path of an
earlier loop, has the value X_{nu-1-t} at step t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .signomial import ONE, ZERO, Param, ProofError, Signomial, identifier, is_positive, moves, put_in_numbers


@dataclass(frozen=True)
class Sequence:
    """X_0 = start, and X_{t+1} = after, in which the names of sequences stand for their values at step t.

    `ends`: a sequence X' of the earlier loop with X'_0 = 0 and X'_{l+1} = X'_l + g_l. This one has the same terms, last one first:
    X_0 = 0 and X_{t+1} = X_t + g_{nu-1-t}, so that both end with the same number.
    """

    name: str
    start: Signomial
    after: Signomial
    positive: bool = False
    ends: str = ""

    @property
    def now(self) -> Signomial:
        """Its value at step t."""
        return number(self.name, self.positive)

    @property
    def reversed(self) -> Signomial:
        """Its value at step nu - 1 - t."""
        return number(f"{self.name} reversed", self.positive)

    @property
    def end(self) -> Signomial:
        """Its value after the last step."""
        return number(f"{self.name}(end)", self.positive, moving=False)


def number(name: str, positive: bool = False, *, moving: bool = True) -> Signomial:
    """A number that depends on the step (or does not), as a signomial."""
    return Param(name, positive, False, moving).number


@dataclass(frozen=True)
class Numbers:
    """The sequences of a loop of `steps` steps, and those of the loop before it; refuses to exist when one of them is not defined."""

    steps: Signomial
    own: tuple[Sequence, ...]
    earlier: tuple[Sequence, ...] = ()
    taken: frozenset[str] = frozenset()
    _tables: dict[str, Mapping[Param, Signomial]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = [identifier(s.name) for s in self.own]
        if len(set(names)) != len(names) or self.taken & {*names, *(f"{name}(end)" for name in names)}:
            raise ProofError("a sequence has the name of another number")
        known = {param_of(s.now) for s in self.own} | {param_of(s.reversed) for s in self.earlier}
        for sequence in self.own:
            if unknown := {p for p in sequence.after.params if p.moving} - known:
                raise ProofError(f"{sequence.name}: no such sequence as {sorted(unknown)[0].name}")
            if moves(sequence.start) or not (sequence.start.nonnegative and sequence.after.nonnegative):
                raise ProofError(f"{sequence.name} may be negative, or starts with a number that depends on the step")
            if sequence.positive and not (is_positive(sequence.start) and is_positive(sequence.after)):
                raise ProofError(f"{sequence.name} may be 0")
            self._accept_end(sequence)
        ends = {param_of(s.now): self._end(s) for s in (*self.earlier, *self.own)}
        tables = {
            "start": {param_of(s.now): s.start for s in self.own},
            "after": {param_of(s.now): s.after for s in self.own},
            "end": ends,
            "reversed": {param_of(s.now): s.reversed for s in self.earlier},
        }
        object.__setattr__(self, "_tables", tables)

    def _accept_end(self, sequence: Sequence) -> None:
        for other in self.earlier:
            if other.name == sequence.name and other != sequence:
                raise ProofError(f"{sequence.name} is another sequence in the loop before")
        if sequence.ends:
            other = self.find(sequence.ends, earlier=True)
            own, theirs = (s.after - s.now for s in (sequence, other))
            reverse = {param_of(s.now): s.reversed for s in self.earlier}
            if sequence.start or other.start or other.ends or param_of(other.now) in theirs.params:
                raise ProofError(f"{sequence.name}: wanted two sums that start with 0")
            if own != put_in_numbers(theirs, reverse):
                raise ProofError(f"{sequence.name} is not the sum {other.name}, last term first")

    def _end(self, sequence: Sequence) -> Signomial:
        if sequence.ends:
            return self.find(sequence.ends, earlier=True).end
        return self.steps if (sequence.start, sequence.after) == (ZERO, sequence.now + ONE) else sequence.end

    def find(self, name: str, *, earlier: bool = False) -> Sequence:
        """The sequence of this name.

        Raises:
            ProofError: there is none.
        """
        for sequence in self.earlier if earlier else self.own:
            if sequence.name == name:
                return sequence
        raise ProofError(f"{name}: no such sequence")

    def at_start(self, value: Signomial) -> Signomial:
        """A number of step t at step 0."""
        return self._put(value, "start")

    def after(self, value: Signomial) -> Signomial:
        """A number of step t at step t + 1."""
        return self._put(value, "after")

    def at_end(self, value: Signomial) -> Signomial:
        """A number of step t after the last step; of this loop, or of the one before."""
        return self._put(value, "end")

    def reversed(self, value: Signomial) -> Signomial:
        """A number of step t of the loop before, at its step nu - 1 - t."""
        return self._put(value, "reversed")

    def _put(self, value: Signomial, table: str) -> Signomial:
        if missing := {p for p in value.params if p.moving} - self._tables[table].keys():
            raise ProofError(f"{sorted(missing)[0].name} has no value there")
        return put_in_numbers(value, self._tables[table])


def param_of(value: Signomial) -> Param:
    """The parameter of which a number consists."""
    ((((param, _),), _),) = value.terms
    return param
