"""What a checkpoint holds, when it is written, and which ones are refused."""

import shutil
from pathlib import Path

import pytest
import torch
from fedco.algorithms import FedDRO, ModifiedFedAvg, Result, Start, drive
from fedco.algorithms.engine import checkpoint, metrics
from fedco.algorithms.engine.method import State
from fedco.algorithms.engine.recorder import Recorder
from fedco.storage import DamagedError, DamagedWarning
from fedco.user_files import load_object
from tiny import TinyData, TinyShared


def test_a_checkpoint_is_written_every_thirty_seconds_or_steps(monkeypatch, tmp_path):
    now, written = [100.0], []
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(
        checkpoint, "write_tensors", lambda path, tensors, description: written.append(description["t"])
    )
    recorder = Recorder({}, 10, 1, True, 1, torch.device("cpu"))

    def save(saver, t, is_last=False):
        saver.save_if_due(t, lambda: State(x=torch.zeros(1, 1, 1)), recorder, is_last)

    by_clock = checkpoint.Checkpoint(tmp_path / "a", None, {})
    for t, at in ((1, 129.0), (2, 130.0), (3, 130.5), (4, 160.0), (5, 161.0)):
        now[0] = at
        save(by_clock, t)
    save(by_clock, 6, is_last=True)
    assert written == [3, 5, 6]
    written.clear()
    by_steps = checkpoint.Checkpoint(tmp_path / "a", 3, {})
    for t in range(1, 8):
        now[0] += 1000
        save(by_steps, t)
    assert written == [3, 6]
    written.clear()
    save(checkpoint.Checkpoint(None, 1, {}), 1, is_last=True)
    assert written == []


PROBLEM = TinyShared(TinyData.random(1, 3))


METHOD = FedDRO(eta=0.05, beta=0.3, I=3, b=2)


RECORD = {"gradient": metrics.gradient_norm_squared, "drift": metrics.consensus_error, "F": metrics.objective}


CHANGES = {
    "another problem of the same name": dict(problem=TinyShared(TinyData.random(2, 3))),
    "hyperparameters": dict(method=FedDRO(eta=0.06, beta=0.3, I=3, b=2)),
    "method": dict(method=ModifiedFedAvg(eta=0.05, I=3)),
    "root_seed": dict(root_seed=1),
    "seeds": dict(seeds=3),
    "start": dict(start=Start(y=torch.zeros(2, dtype=torch.float64))),
    "record": dict(record={"F": metrics.objective}),
    "every": dict(every=2),
    "longer": dict(steps=5),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_checkpoint_of_another_run_is_refused(what, tmp_path):
    base = dict(method=METHOD, problem=PROBLEM, steps=9, seeds=2, record=RECORD, checkpoint=tmp_path / "run.npz")
    drive(**base)
    with pytest.raises(ValueError, match="belongs to another run"):
        drive(**{**base, **CHANGES[what]})


@pytest.mark.parametrize(
    ("where", "what", "other"),
    [(torch, "__version__", "another"), (torch.backends.cpu, "get_cpu_capability", lambda: "another")],
)
def test_a_checkpoint_of_other_arithmetic_is_refused(where, what, other, monkeypatch, tmp_path):
    """Resumed to the last bit or refused: also when torch was updated, or on a processor with other vector instructions."""
    base = dict(method=METHOD, problem=PROBLEM, seeds=2, checkpoint=tmp_path / "run.npz")
    drive(steps=4, **base)
    drive(steps=5, **base)
    monkeypatch.setattr(where, what, other)
    with pytest.raises(ValueError, match=r"another run: arithmetic .*torch, or the processor changed since"):
        drive(steps=6, **base)


@pytest.mark.parametrize("changed", ["method", "problem", None])
def test_a_checkpoint_of_other_code_of_the_users_is_refused(changed, tmp_path):
    """A method and a problem of files of the user's own: another line in one of them is another run."""
    examples = Path(__file__).parents[2] / "examples"
    names = {"method": "half_sgd", "problem": "ring"}
    for name in names.values():
        shutil.copy(examples / f"{name}.py", tmp_path)

    def run(steps):
        method = load_object("half_sgd.py:HalfSGD", tmp_path)(eta=0.1)
        drive(method, load_object("ring.py:problem", tmp_path), steps=steps, seeds=2, checkpoint=tmp_path / "run.npz")

    run(4)
    run(5)
    if changed is None:
        run(6)
        return
    file = tmp_path / f"{names[changed]}.py"
    file.write_text(file.read_text() + "\nANOTHER = 1\n")
    with pytest.raises(ValueError, match="belongs to another run: code"):
        run(6)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not really", b"\x80\x04K\x01."])
def test_a_file_that_is_no_checkpoint_is_set_aside_and_the_run_begins_anew(content, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.warns(DamagedWarning, match=r"run\.npz was damaged"):
        begun = drive(METHOD, PROBLEM, steps=2, checkpoint=path)
    assert torch.equal(begun.state.x, drive(METHOD, PROBLEM, steps=2).state.x)
    assert (tmp_path / "run.npz.damaged").read_bytes() == content and path.exists()
    with pytest.raises(DamagedError):
        Result.load(tmp_path / "run.npz.damaged")
