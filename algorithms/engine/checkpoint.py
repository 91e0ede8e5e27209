"""A run on disk: saved now and then, and resumed to the last bit or refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from ... import storage
from .draws import Draws
from .fingerprint import TRAJECTORY, code_fingerprint, source_fingerprint
from .method import Method, Start, State
from .recorder import Recorder
from .result import read_tensors, under, write_tensors

_SECONDS_BETWEEN_CHECKPOINTS = 30.0
_OTHER_ARITHMETIC = " (fedco's methods or problems, torch, or the processor changed since: the last bits could differ)"


class Checkpoint:
    """Saves the state, the buffers and the identity of the run, and refuses to resume another run's file."""

    def __init__(self, path: str | Path | None, every: int | None, identity: dict[str, Any]) -> None:
        self.path, self.every, self.identity = path and Path(path), every, identity
        self.saved = time.monotonic()

    def save_if_due(self, t: int, state: Callable[[], State], recorder: Recorder, is_last: bool) -> None:
        is_late = time.monotonic() - self.saved > _SECONDS_BETWEEN_CHECKPOINTS
        is_time = is_late if self.every is None else t % self.every == 0
        if self.path and (is_last or is_time):
            tensors = {f"state/{name}": v for name, v in state().tensors().items()}
            write_tensors(self.path, tensors | recorder.arrays(t), {"t": t, "run": self.identity})
            self.saved = time.monotonic()

    def resume(self, initial: State, recorder: Recorder, steps: int, hand_out: Callable[[State], None]) -> int:
        """The step to begin with: that of the file, whose state (of the type of ``initial``) is handed out; 0 without.

        A damaged file is set aside with a warning, and the run begins anew.
        """
        path = self.path
        found = path and storage.undamaged(path, lambda: read_tensors(path, initial.x.device))
        if not found:
            return 0
        arrays, description = found
        differing = [name for name, value in self.identity.items() if description.get("run", {}).get(name) != value]
        if differing or description["t"] > steps:
            raise ValueError(
                f"checkpoint {self.path} belongs to another run: {', '.join(differing) or 'it is longer'}"
                f"{_OTHER_ARITHMETIC if differing == ['arithmetic'] else ''}"
            )
        recorder.restore(arrays)
        hand_out(type(initial)(**under("state/", arrays)))
        return description["t"]


def identity(method: Method, problem: Any, draws: Draws, start: Start, recorder: Recorder) -> dict[str, Any]:
    """What two runs must share to have the same trajectory to the last bit, as JSON gives it back."""
    given = {name: None if v is None else v.tolist() for name, v in vars(start).items()}
    origin = problem.initial_point.unsqueeze(0)
    device = problem.initial_point.device
    processor = torch.cuda.get_device_name(device) if device.type == "cuda" else torch.backends.cpu.get_cpu_capability()
    arithmetic = [source_fingerprint(TRAJECTORY), torch.__version__, processor]
    code = code_fingerprint(method, problem)  # a user's own lie outside TRAJECTORY
    return {
        "format": 1,
        "arithmetic": arithmetic,
        "code": code,
        "method": method.name,
        "hyperparameters": method.hyperparameters(),
        "problem": problem.name,
        "kind": problem.kind,
        "clients": problem.clients,
        "dim": problem.dim,
        "start": given,
        "origin": origin[0].tolist(),
        "objective at the origin": float(f"{problem.objective(origin).item():.9g}"),
        "root_seed": draws.root_seed,
        "seeds": list(draws.seed_indices),
        "grid": draws.grid,
        "record": list(recorder.record),
        "every": recorder.every,
        "average": recorder.average,
        "shares": None if recorder.shares is None else [float(share) for share in recorder.shares],
    }
