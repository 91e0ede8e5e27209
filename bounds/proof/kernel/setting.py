"""What a derivation speaks about: indices, sources of randomness, functions, and variables with their update equations.

Measurability is never declared. A variable is known at the step that its update equations imply, found here as the least
solution; a variable without equations is a free point, known before step t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .known import Averaged, Known
from .signomial import ProofError, Signomial, identifier, is_positive
from .terms import App, Given, Proj, Term, Var, inside, variables

PHASES = ("first local", "first communication", "local", "communication")
"""Kinds of step: step 0 or a later one, without or with communication at its end."""
EVERY = frozenset(PHASES)
LATER = frozenset({"local", "communication"})
FIRST = EVERY - LATER
LOCAL = frozenset({"first local", "local"})
COMMUNICATION = EVERY - LOCAL
CLIENTS, BATCH, PLACES = "clients", "batch", "places"
COMPRESSOR, MIXING = "compressor", "mixing_matrix"
"""Roles of functions that a method is built on, not its problem. The value of a mixing matrix at a client depends on its argument at
every client; that of any other function only on the argument there."""
Space = str | tuple[str, str]


@dataclass(frozen=True)
class Index:
    """An index such as the client; `first` is its size at step 0 if different.

    `identical` names the assumption that the samples have equal laws over the index; `of`: `CLIENTS`, `BATCH`, or
    `PLACES` of drawn clients.
    """

    name: str
    size: Signomial
    identical: str = ""
    first: Signomial | None = None
    of: str = ""


@dataclass(frozen=True)
class Source:
    """Fresh samples at every step, one for each value of `index`; `independent` names the assumption for independence over it.

    Over the indices in `joint` they may depend on each other, as the clients of a set that is drawn without replacement.
    """

    name: str
    index: tuple[str, ...]
    independent: str
    joint: tuple[str, ...] = ()


@dataclass(frozen=True)
class Function:
    """A map from `domain` to `space` (a pair (to, from) for a linear operator), which may depend on samples and on an index.

    `mean_index` is what is left of the index where every sample is averaged; `equal` names the assumption that the mean
    function is the same for all values of an index that is not left. `label`: the space of the label of its argument, if any.
    `role`: which function of the kind of problem it is, of `language.bounding.FUNCTIONS`.
    """

    name: str
    domain: str
    space: Space
    sources: tuple[str, ...] = ()
    index: frozenset[str] = frozenset()
    mean_index: frozenset[str] = frozenset()
    equal: str = ""
    label: str = ""
    role: str = ""

    def averaged(self, point: Term) -> App:
        """Its mean over the samples at a point."""
        return App(self.name, point, (None,) * len(self.sources))


@dataclass(frozen=True)
class Variable:
    """A process with its update equations, (phases, term) each, for the value at step t + `defined`; free without any.

    `sources`: those on which a free one, or its start, may depend, where these are not all.
    `of`: another variable, of which it is the value `behind` >= 1 steps before, or at the start where that was never.
    """

    name: str
    space: str
    index: frozenset[str] = frozenset()
    equations: tuple[tuple[frozenset[str], Term], ...] = ()
    defined: int = 1
    sources: tuple[str, ...] | None = None
    of: str = ""
    behind: Signomial | None = None

    @property
    def starts_as_a_constant(self) -> bool:
        """Whether equations say what it becomes at every step: then it depends on no sample before the first one."""
        return frozenset().union(*(phases for phases, _ in self.equations)) == EVERY

    @property
    def is_free(self) -> bool:
        """Whether nothing says what it is."""
        return not self.equations and not self.of


@dataclass(frozen=True)
class Objective:
    """A function with its gradient at a free point `at`, and the assumption that it has this gradient."""

    name: str
    at: str
    gradient: Term
    assumption: str


@dataclass(frozen=True)
class Setting:
    """All declarations of one derivation; refuses to exist when they contradict each other."""

    indices: tuple[Index, ...]
    sources: tuple[Source, ...]
    functions: tuple[Function, ...]
    variables: tuple[Variable, ...]
    objectives: tuple[Objective, ...] = ()
    levels: Mapping[str, Mapping[str, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups: tuple[tuple[Any, ...], ...] = (self.indices, self.sources, self.variables)
        for group in (*groups, (*self.functions, *self.objectives)):
            names = [identifier(item.name) for item in group]
            if len(set(names)) != len(names):
                raise ProofError(f"declared twice: {sorted(n for n in names if names.count(n) > 1)[0]}")
        for function in self.functions:
            self._accept_function(function)
        for position, variable in enumerate(self.variables):
            self._accept_equations(variable, {v.name for v in self.variables[:position]})
        object.__setattr__(self, "levels", self._least_levels())
        for objective in self.objectives:
            self._accept_gradient(objective, objective.gradient)

    def _accept_gradient(self, objective: Objective, term: Term) -> None:
        """A gradient is a function of its point: inside a conditional expectation the point is known."""
        if isinstance(term, Given | Proj) and not all(self.known(*each) <= term.known for each in variables(term)):
            raise ProofError(f"{objective.name}: its gradient is averaged over the point {objective.at}")
        for inner in inside(term):
            self._accept_gradient(objective, inner)

    def _accept_function(self, function: Function) -> None:
        self.accept_sources(function)
        differ = {i for s in function.sources for i in self.source(s).index if not self.index(i).identical}
        if missing := differ - function.index:
            raise ProofError(
                f"{function.name}: the law of its sample depends on {sorted(missing)}, so must the function"
            )
        if not function.mean_index <= function.index:
            raise ProofError(f"{function.name}: its mean depends on an index that it does not have")
        gone = function.index - function.mean_index
        if gone and not function.equal:
            raise ProofError(f"{function.name}: no assumption says that its mean is the same over {sorted(gone)}")

    @staticmethod
    def accept_sources(function: Function) -> None:
        """Raises where a source stands twice: its samples would not be independent of each other."""
        if len(set(function.sources)) != len(function.sources):
            raise ProofError(f"{function.name}: a source twice")

    def _accept_equations(self, variable: Variable, earlier: set[str]) -> None:
        """Explicit recursions only: nothing may define itself, and no phase is covered twice."""
        if variable.of or variable.behind is not None:
            self._accept_older(variable, earlier)
        seen: set[str] = set()
        for phases, term in variable.equations:
            if phases & seen or not phases <= EVERY:
                raise ProofError(f"{variable.name}: two equations for one phase, or an unknown phase")
            seen |= phases
            for name, shift in variables(term):
                limit = self.variable(name).defined
                if shift > limit or (shift == limit and name not in earlier):
                    raise ProofError(f"{variable.name}: its equation uses {name}[{shift:+d}], which is not known yet")

    def _accept_older(self, variable: Variable, others: set[str]) -> None:
        """An older value of a variable with one equation for all steps; it is known when that is, and so before step t."""
        if variable.of not in others or variable.behind is None or not is_positive(variable.behind):
            raise ProofError(f"{variable.name}: wanted a variable declared before it, and how many steps behind it is")
        newer = self.variable(variable.of)
        if newer.of or newer.defined != 1 or [phases for phases, _ in newer.equations] != [EVERY]:
            raise ProofError(f"{variable.name}: {newer.name} has no single equation for its next value")
        own, whole = (variable.space, variable.index), (newer.space, newer.index)
        if variable.equations or variable.defined != 1 or variable.sources is not None or own != whole:
            raise ProofError(f"{variable.name} is {newer.name} of an earlier step, and nothing else")

    def _least_levels(self) -> dict[str, dict[str, int]]:
        """Variable -> source -> level l such that the variable at step t is determined by its samples before t + l.

        A variable that follows equations at all steps starts as a constant; another one may be made from all that is past.
        """
        names = self.source_names
        levels = {v.name: dict.fromkeys(self._possible(v), -1 if v.starts_as_a_constant else 0) for v in self.variables}
        for _ in range(8 * (len(levels) + 1) * (len(names) + 1)):
            raised = {v.name: _highest([levels[v.name], *self._levels_of(v, levels)]) for v in self.variables}
            if raised == levels:
                return levels
            levels = raised
        raise ProofError("the update equations do not determine when the variables are known")

    def _possible(self, variable: Variable) -> tuple[str, ...]:
        if variable.sources is None:
            return self.source_names
        for source in variable.sources:
            self.source(source)
        return variable.sources

    def _levels_of(self, variable: Variable, levels: Mapping[str, Mapping[str, int]]) -> list[dict[str, int]]:
        found = [_latest(self, term, levels) for _, term in variable.equations]
        return [{source: level - variable.defined for source, level in each.items()} for each in found]

    def known(self, name: str, shift: int) -> Known:
        """What determines a variable at step t + shift."""
        return Known.of({source: (level + shift, frozenset()) for source, level in self.levels[name].items()})

    @property
    def source_names(self) -> tuple[str, ...]:
        return tuple(source.name for source in self.sources)

    def past(self, level: int = 0) -> Known:
        """Every sample of the steps before t + level."""
        return Known.before(self.source_names, level)

    def index(self, name: str) -> Index:
        return _find(self.indices, name, "index")

    def source(self, name: str) -> Source:
        return _find(self.sources, name, "source")

    def function(self, name: str) -> Function:
        return _find(self.functions, name, "function")

    def variable(self, name: str) -> Variable:
        return _find(self.variables, name, "variable")

    def objective(self, name: str) -> Objective:
        return _find(self.objectives, name, "objective")


def _find(items: tuple, name: str, what: str):
    for item in items:
        if item.name == name:
            return item
    raise ProofError(f"{name}: no such {what}; there are {[item.name for item in items]}")


def _highest(tables: list[Mapping[str, int]] | list[dict[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for table in tables:
        for source, level in table.items():
            found[source] = max(level, found.get(source, level))
    return found


def _latest(setting: Setting, term: Term, levels: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Source -> smallest l such that the term is determined by its samples before t + l; only sources on which it depends."""
    match term:
        case Var(name, shift):
            return {source: level + shift for source, level in levels[name].items()}
        case App(name, argument, samples):
            drawn = [
                {source: s + 1}
                for source, s in zip(setting.function(name).sources, samples, strict=True)
                if isinstance(s, int)
            ]
            if any(isinstance(s, Averaged) for s in samples):
                raise ProofError("a sample that is averaged away has no step that can be written")
            return _highest([_latest(setting, argument, levels), *drawn])
        case Given() | Proj():
            raise ProofError("an update equation holds no conditional expectation")
    return _highest([_latest(setting, inner, levels) for inner in inside(term)])
