"""The oracle calls of a run written down, and answered once more by another machine: a GPU, or other vector instructions.

As a program, `two_machines.py CALLS ANSWERS`, it answers the calls in a process of its own and makes the run again.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import torch
from fedco.algorithms import drive

ORACLES = ("inner", "inner_vjp", "outer_gradient", "extra_gradient", "sample_gradient", "local_gradient", "local_hvp")
ROOT_SEED = 5


class Answering:
    """A problem whose oracles' values go through `answer(name, arguments, value)`; all else is the problem's."""

    def __init__(self, problem, answer):
        self.problem, self.answer = problem, answer

    def __getattr__(self, name):
        found = getattr(self.problem, name)
        if name not in ORACLES:
            return found

        def oracle(*arguments):
            value = found(*arguments)
            return value if value is None else self.answer(name, arguments, value)

        return oracle


def run(method, problem, steps, seeds):
    """The models at the end, on the CPU."""
    state = drive(method, problem, steps=steps, seeds=seeds, root_seed=ROOT_SEED).state
    assert state is not None
    return state.x.cpu()


def path(method, problem, steps, seeds):
    """The models at the start and after each step."""
    models = []

    def keep(problem, state, t):
        models.append(state.x.cpu().clone())
        return state.x[:, 0, 0]

    drive(method, problem, steps=steps, seeds=seeds, root_seed=ROOT_SEED, record={"models": keep})
    return models


def recorded(method, problem, steps, seeds):
    """The models at the end, and every call of an oracle."""
    calls = []

    def write_down(name, arguments, value):
        calls.append((name, arguments, value))
        return value

    return run(method, Answering(problem, write_down), steps, seeds), calls


def answered(problem, calls, device="cpu"):
    """What this machine's problem says to the same calls."""
    with torch.no_grad():
        return [getattr(problem, name)(*(moved(v, device) for v in arguments)).cpu() for name, arguments, _ in calls]


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if is_dataclass(value):
        return replace(value, **{field.name: moved(getattr(value, field.name), device) for field in fields(value)})
    return value


def on_other_instructions(questions, folder: Path):
    """(models, answers) of each (method, problem, steps, seeds, calls): one process, no vector instructions beyond the default."""
    asked, told = folder / "calls", folder / "answers"
    asked.write_bytes(pickle.dumps(questions))
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": "default", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, __file__, str(asked), str(told)], check=True, env=environment)
    return pickle.loads(told.read_bytes())


if __name__ == "__main__":
    torch.set_num_threads(1)
    answers = [
        (run(method, problem, steps, seeds), answered(problem, calls))
        for method, problem, steps, seeds, calls in pickle.loads(Path(sys.argv[1]).read_bytes())
    ]
    Path(sys.argv[2]).write_bytes(pickle.dumps(answers))
