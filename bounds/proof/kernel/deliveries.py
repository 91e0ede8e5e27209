"""What a constant of a lemma bounds, in the variables of a loop: the left side of a delivery is built from the statement.

Paths of the fine-tuning steps, and the gradients through them, are found by their equations, so that nothing else is taken for one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...language.bounding import AVERAGE, LIPSCHITZ, MEAN, PATH, PATH_SQ, SAMPLE, SIZE, UNLIKE, Form
from .algebra import Algebra
from .assumptions import Start
from .known import Known
from .reader import Reader
from .readings import Reading
from .rules import Length
from .scalars import Scalar, sq
from .setting import BATCH, EVERY
from .signomial import ONE, ProofError, Signomial
from .terms import Act, App, Given, Mean, Term, Var

if TYPE_CHECKING:
    from .loop import Delivery, Loop


@dataclass(frozen=True)
class Bounded:
    """What a form says in the variables of a loop: after the last step, left <= constant^power times."""

    left: Scalar
    power: int = 2
    times: Signomial = ONE


def what_is_bounded(loop: Loop, each: Delivery, theorem: Any, statement: Any, reader: Reader) -> Bounded:
    """What the statement says that a constant, or the sum of its terms, bounds, in the variables of the loop.

    Raises:
        ProofError: it says nothing, or the loop has no variables for it.
    """
    found = [d.bounds for d in statement.derived if d.name == each.target] if each.target else [theorem.metric.bounds]
    if not found:
        raise ProofError(f"{each.target}: no derived constant of the statement")
    if len(found[0]) != 1:
        raise ProofError(f"the statement does not say what {each.target or 'the sum of its terms'} bounds")
    return _in_variables(loop, found[0][0], Paths(loop, theorem, statement, reader))


def _in_variables(loop: Loop, form: Form, paths: Paths) -> Bounded:
    what = (form.kind, form.function, form.per)
    if what in ((PATH, "fine_tuned_model", MEAN), (PATH_SQ, "fine_tuned_model", MEAN)):
        return Bounded(sq(paths.sampled - paths.exact), 2 if form.kind == PATH else 1)
    if what == (LIPSCHITZ, "meta_gradient", MEAN):
        (first, start), (second, other) = paths.gradients(2)
        return Bounded(sq(first - second), 2, Length(start - other).size ** 2)
    ((gradient, start),) = paths.gradients(1)
    if what == (UNLIKE, "meta_gradient", MEAN) and form.over == AVERAGE:
        return Bounded(sq(gradient - Mean(paths.common_start(start), gradient)))
    if form.kind == SIZE and form.function == "estimate_error" and form.per != SAMPLE:
        error = paths.estimate(start) - gradient
        return Bounded(sq(Given(Known(), error) if form.per == MEAN else error))
    raise ProofError(f"the kernel does not know what it means that {form.words('c')}")


@dataclass(frozen=True)
class Paths:
    """The paths of the fine-tuning steps, and the gradients through them, among the variables of a loop: found by their equations."""

    loop: Loop
    theorem: Any
    statement: Any
    reader: Reader

    @property
    def exact(self) -> Var:
        """The path of the exact gradient, w - alpha grad f_i(w), in a loop that goes along it."""
        return self._one(_moving(self.loop, self._steps(self.loop, None)))

    @property
    def sampled(self) -> Var:
        """The path of gradients of batches."""
        return self._one(_moving(self.loop, self._steps(self.loop, 0)))

    def gradients(self, count: int) -> list[tuple[Var, Var]]:
        """The variables that are gradients through an exact path, gone through in reverse, each with the path."""
        before = self.loop.before
        found: list[tuple[Var, Var]] = []
        for path in _moving(before, self._steps(before, None)) if before else ():
            back = Var(self.loop.reversed.get(path.name, ""))
            found += [(v, path) for v in self._through(back)] if back.name else []
        if len(found) != count:
            raise ProofError(f"wanted {count} gradients through a path, found {[v.name for v, _ in found]}")
        return found

    def estimate(self, start: Var) -> Var:
        """The estimate of the gradient; its path starts with the exact one."""
        assert self.loop.before is not None
        if not self.loop.estimate or not self.loop.setting.variable(self.loop.estimate).equations:
            raise ProofError("the loop does not say which variable is the estimate of the gradient")
        sampled = self._one(_moving(self.loop.before, self._steps(self.loop.before, 0)))
        self._together(sampled, start)
        return Var(self.loop.estimate)

    def common_start(self, start: Var) -> str:
        """The index of the clients, whose paths start at one model."""
        assert self.loop.before is not None
        free = [Var(v.name) for v in self.loop.before.setting.variables if not v.index]
        if not any(self._starts(start, other) for other in free):
            raise ProofError(f"{start.name} does not start at one model for all clients")
        return self._reading(self.loop).client

    def _reading(self, loop: Loop) -> Reading:
        return Reading(self.theorem, self.statement, self.reader, loop.setting, steps_inside=True)

    def _steps(self, loop: Loop, sample: int | None) -> Callable[[Term], list[Term]]:
        """What a step of the fine-tuning makes of a point, with exact gradients or with those of a batch."""
        reading, alpha = self._reading(loop), getattr(self.reader, self._reading(loop).symbol("fine_tuning_step_size"))
        batches = [""] if sample is None else [index.name for index in loop.setting.indices if index.of == BATCH]

        def step(point: Term) -> list[Term]:
            values = [App(f.name, point, (sample,) * len(f.sources)) for f in reading.with_role("local_gradient")]
            return [point - alpha * (Mean(b, value) if b else value) for value in values for b in batches]

        return step

    def _through(self, back: Var) -> list[Var]:
        """The variables that start with the gradient at the end of a path, and are turned by the Hessians along it, in reverse."""
        reading, algebra = self._reading(self.loop), Algebra(self.loop.setting)
        (hessian,) = reading.with_role("local_hessian")
        alpha = getattr(self.reader, reading.symbol("fine_tuning_step_size"))
        along = hessian.averaged(back)
        ends = [f.averaged(Var(back.name, -1)) for f in reading.with_role("local_gradient")]
        starts = [algebra.normal(a.term) for a in self.loop.axioms.values() if isinstance(a, Start)]
        turned = _moving(self.loop, lambda v: [v - alpha * Act(along, v)])
        return [v for v in turned if any(algebra.normal(v - end) in starts for end in ends)]

    def _starts(self, first: Var, second: Var) -> bool:
        assert self.loop.before is not None
        algebra = Algebra(self.loop.before.setting)
        starts = [algebra.normal(a.term) for a in self.loop.before.axioms.values() if isinstance(a, Start)]
        return algebra.normal(first - second) in starts or algebra.normal(second - first) in starts

    def _together(self, first: Var, second: Var) -> None:
        if not self._starts(first, second):
            raise ProofError(f"the paths {first.name} and {second.name} do not start at one model")

    def _one(self, found: list[Var]) -> Var:
        if len(found) != 1:
            raise ProofError(f"wanted one path of the fine-tuning steps, found {[v.name for v in found]}")
        return found[0]


def _moving(loop: Loop, step: Callable[[Term], list[Term]]) -> list[Var]:
    """The variables that go on as a step says, at every step."""
    algebra, found = Algebra(loop.setting), []
    for variable in loop.setting.variables:
        if len(variable.equations) == 1 and variable.equations[0][0] == EVERY and variable.defined == 1:
            wanted = _well_formed(algebra, step(Var(variable.name)))
            if algebra.normal(variable.equations[0][1]) in wanted:
                found.append(Var(variable.name))
    return found


def _well_formed(algebra: Algebra, terms: list[Term]) -> list[Term]:
    found: list[Term] = []
    for term in terms:
        with suppress(ProofError):
            found.append(algebra.normal(term))
    return found
