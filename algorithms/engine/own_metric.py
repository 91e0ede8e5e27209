"""A metric of a user's own: what a function of a file gives, checked at every call, as it may be recorded like any other."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import isfunction
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from ...user_files import FAILURES, CodeName, told


@dataclass(frozen=True)
class OwnMetric:
    """`(problem, state, t) -> (runs,)`, the numbers that the function of that name gives."""

    code: CodeName

    @property
    def function(self) -> Any:
        """The function itself.

        Raises:
            InputError: the code is not trusted, there is no such file or name, the file fails, or it is no function written with `def`:
                what is kept is made again when the file of a function changes, and of other objects no file is known.
        """
        found = self.code.load()
        if not isfunction(found):
            raise InputError(
                f"{self.code.text}: wanted a function (problem, state, t) -> (runs,), got {str(found)[:40]!r}"
            )
        return found

    def __call__(self, problem: Any, state: Any, t: int) -> Tensor:
        """The numbers, `(runs,)` in float64.

        Raises:
            InputError: the function fails, or gives something else than a number that is at least 0 for each run.
        """
        try:
            found = self.function(problem, state, t)
        except InputError:
            raise
        except FAILURES as error:
            raise InputError(f"{self.code.text}: fails at step {t}: {told(error)}") from error
        wanted = (
            f"{self.code.text}: wanted a tensor of {len(state.average)} numbers that are at least 0, one for each run"
        )
        if not isinstance(found, Tensor) or found.is_complex():
            raise InputError(f"{wanted}, got a {type(found).__name__} at step {t}")
        if found.layout is not torch.strided or found.device.type == "meta":
            raise InputError(f"{wanted}, got one that is sparse or has no numbers at step {t}")
        if found.shape != state.average.shape[:1]:
            raise InputError(f"{wanted}, got the shape {tuple(found.shape)} at step {t}")
        values = found.detach().to(torch.float64)
        if not bool((values >= 0).all()):
            bad = values[~(values >= 0)][0]
            raise InputError(f"{wanted}, got {float(bad):g} at step {t}")
        return values


def own_metric(code: CodeName) -> OwnMetric:
    """The metric that a name stands for; its file is run here.

    Raises:
        InputError: as `OwnMetric.function`.
    """
    found = OwnMetric(code)
    found.function  # noqa: B018, refused at once where there is none
    return found
