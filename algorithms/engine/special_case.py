"""A method that is another one at fixed hyperparameters."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from .draws import Draws
from .method import Messages, Method, Start, State


@dataclass(frozen=True, eq=False)
class SpecialCase(Method):
    """A subclass only says which method it is, on which kind of problem; all four moves are that method's."""

    @abstractmethod
    def general(self, kind: str) -> Method:
        """The method that this one is, on problems of this kind."""

    def _moves(self, problem: Any) -> Method:
        made: dict[str, Method] = self.__dict__.setdefault("_made", {})  # once per run: construction checks its fields
        if problem.kind not in made:
            made[problem.kind] = self.general(problem.kind)
        return made[problem.kind]

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        return self._moves(problem).init(problem, start, draws)

    def local_step(self, problem: Any, state: Any, draws: Draws, t: int) -> State:
        return self._moves(problem).local_step(problem, state, draws, t)

    def communicate(self, problem: Any, state: Any, t: int) -> State:
        return self._moves(problem).communicate(problem, state, t)

    def messages(self, problem: Any, T: int) -> Messages:
        return self._moves(problem).messages(problem, T)
