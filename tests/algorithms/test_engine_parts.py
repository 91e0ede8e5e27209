"""The parts of the engine by their definitions: metrics, limits, progress, blocks of seeds, and sizes of differences."""

import ctypes
import io
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from fedco.algorithms import METHODS, FedDRO, drive
from fedco.algorithms.engine import checkpoint, driver, limits, memory, metrics, parallel, progress
from fedco.algorithms.engine.draws import Draws
from fedco.algorithms.engine.method import State, is_due
from fedco.algorithms.engine.participation import at_round_start, fraction
from fedco.algorithms.engine.recorder import Recorder
from fedco.algorithms.registry import get_method
from fedco.errors import InputError
from fedco.synthetic.kinds import Predictions
from tiny import TinyData, TinyShared

PROBLEM = TinyShared(TinyData.random(1, 3))
METHOD = FedDRO(eta=0.05, beta=0.3, I=3)


# --- metrics -------------------------------------------------------------------------------------------------------------


def tensor(*rows):
    return torch.tensor(rows, dtype=torch.float64)


SCORES = tensor(  # (runs, clients, samples), one score each: 1 is predicted where it is above 0
    [[0.9, -0.4, 0.0, 0.3], [-0.1, 0.2, 0.2, 7.0]],
    [[-0.9, 0.4, 0.7, -0.3], [0.1, -0.2, -0.5, -7.0]],
)
LABELS = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0]])
WEIGHTS = tensor([1, 1, 1, 1], [1, 1, 1, 0])  # the second client has three examples


class Classified:
    """A problem that knows its predictions: the same on both parts, but for the sign."""

    has_test_data = True

    def __init__(self, scores, weights=WEIGHTS, labels=LABELS):
        self.found = Predictions(scores, labels, weights)

    def predict(self, x, split="train"):
        sign = 1 if split == "train" else -1
        return Predictions(sign * self.found.scores, self.found.labels, self.found.weights)


def on_training_data(metric):
    def measured(problem):
        problem.has_test_data = False
        return metric(problem, State(x=torch.zeros(2, 2, 1, dtype=torch.float64)), 0)

    return measured


def test_shares_of_right_examples_are_counted_by_hand():
    """Right in run 0: yes yes no no | yes yes no -; in run 1: no no yes yes | no no yes -."""
    problem = Classified(SCORES.unsqueeze(-1))
    state = State(x=torch.zeros(2, 2, 1, dtype=torch.float64))
    found = {
        name: metrics.METRICS[name].function(problem, state, 0).tolist()
        for name in ("train_accuracy", "mean_client_train_accuracy", "worst_client_train_accuracy")
    }
    assert found["train_accuracy"] == pytest.approx([4 / 7, 3 / 7])
    assert found["mean_client_train_accuracy"] == pytest.approx([(2 / 4 + 2 / 3) / 2, (2 / 4 + 1 / 3) / 2])
    assert found["worst_client_train_accuracy"] == pytest.approx([1 / 2, 1 / 3])
    # class 1 is at places 0 and 2 of the first client and 1 of the second, class 0 at the four others
    assert on_training_data(metrics.worst_class_accuracy)(problem).tolist() == pytest.approx([2 / 4, 1 / 3])
    everyone = Classified(SCORES.unsqueeze(-1), None)
    assert on_training_data(metrics.accuracy)(everyone).tolist() == pytest.approx([4 / 8, 4 / 8])


def test_test_data_are_taken_where_there_are_some():
    problem, state = Classified(SCORES.unsqueeze(-1)), State(x=torch.zeros(2, 2, 1, dtype=torch.float64))
    assert metrics.accuracy(problem, state, 0).tolist() == pytest.approx([2 / 7, 4 / 7])  # a score of 0 is class 0
    assert metrics.mean_client_accuracy(problem, state, 0).tolist() == pytest.approx([(1 / 4 + 1 / 3) / 2, 7 / 12])
    assert metrics.worst_client_accuracy(problem, state, 0).tolist() == pytest.approx([1 / 4, 1 / 2])
    problem.has_test_data = False
    assert metrics.accuracy(problem, state, 0).tolist() == pytest.approx([4 / 7, 3 / 7])


def test_the_class_of_the_largest_of_several_scores_is_predicted():
    scores = torch.eye(3, dtype=torch.float64)[torch.tensor([[[0, 1], [2, 2]]])]
    problem = Classified(scores, None, torch.tensor([[0, 2], [2, 1]]))
    assert on_training_data(metrics.accuracy)(problem).tolist() == [0.5]
    assert on_training_data(metrics.worst_class_accuracy)(problem).tolist() == [0.0]
    with pytest.raises(InputError, match="wanted two classes with one score, got 3 scores"):
        on_training_data(metrics.average_precision)(problem)


def test_average_precision_is_the_sum_over_thresholds():
    """At each distinct score: the precision of all examples at least as large, times the new share of class 1."""
    problem = Classified(SCORES.unsqueeze(-1))
    found = on_training_data(metrics.average_precision)(problem)
    counted = WEIGHTS > 0
    for run in range(2):
        pairs = list(zip(SCORES[run][counted].tolist(), LABELS[counted].tolist(), strict=True))
        wanted, before, positives = 0.0, 0.0, sum(label for _, label in pairs)
        for threshold in sorted({score for score, _ in pairs}, reverse=True):
            chosen = [label for score, label in pairs if score >= threshold]
            recall = sum(chosen) / positives
            wanted += (recall - before) * sum(chosen) / len(chosen)
            before = recall
        assert float(found[run]) == pytest.approx(wanted, rel=1e-14)


def test_metrics_of_the_models():
    """Two clients at (0, 0) and (4, 2): the mean is (2, 1), each is 5 from it, squared."""
    x = torch.tensor([[[0.0, 0.0], [4.0, 2.0]]], dtype=torch.float64)
    made = SimpleNamespace(
        gradient=lambda v: 3 * v,
        objective=lambda v: v.sum(-1),
        minimiser=torch.tensor([2.0, -3.0], dtype=torch.float64),
        data_loss=lambda v, split: v.sum(-1) + {"train": 10, "test": 20}[split],
    )
    wanted = {
        "objective": 3.0,
        "gradient_sq": 9 * 5.0,
        "distance": 4.0,
        "train_loss": 13.0,
        "test_loss": 23.0,
        "consensus_error": 5.0,
    }
    found = {name: metrics.METRICS[name].function(made, State(x=x), 0).tolist() for name in wanted}
    assert found == {name: [value] for name, value in wanted.items()}
    once = State(x=x, active=torch.tensor([[0.0, 1.0]], dtype=torch.float64))
    assert metrics.consensus_error(made, once, 0).tolist() == [0.0] and metrics.objective(made, once, 0).tolist() == [6]


def test_a_problem_offers_the_metrics_whose_needs_it_has():
    bare, full = SimpleNamespace(), SimpleNamespace(minimiser=0, data_loss=1, has_test_data=True, predict=print)
    assert metrics.metrics_of(bare) == ("objective", "gradient_norm", "gradient_sq", "consensus_error")
    assert metrics.metrics_of(full) == tuple(metrics.METRICS)
    full.has_test_data, full.minimiser = False, None
    assert set(metrics.METRICS) - set(metrics.metrics_of(full)) == {"test_loss", "distance", "gap"}


# --- limits --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1.02e+03 B"),
        (1024, "1 KiB"),
        (1.5 * 2**20, "1.5 MiB"),
        (2**30, "1 GiB"),
        (3 * 2**40, "3 TiB"),
        (2**50, "1 PiB"),
        (2**61, "2.05e+03 PiB"),
    ],
)
def test_a_number_of_bytes_in_words(count, text):
    assert limits.size(count) == text


def test_what_needs_more_than_is_free_is_refused(monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": 1 << 30)
    limits.check_memory(1 << 30, "seeds")
    with pytest.raises(
        InputError, match="seeds: wanted a run that fits in the 1 GiB that are free, got one of at least 2"
    ):
        limits.check_memory(1 << 31, "seeds")
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": None)
    limits.check_memory(1 << 60, "seeds")
    asked = []
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": asked.append(device) or 0)
    limits.check_memory((1 << 28) - 1, "seeds")
    assert not asked
    with pytest.raises(InputError, match="the 0 B that are free, got one of at least 256 MiB"):
        limits.check_memory(1 << 28, "seeds", "meta")
    assert asked == ["meta"]


def test_processes_are_as_many_as_fit(monkeypatch):
    free = 10 * limits.PROCESS_BYTES
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": free)
    limits.check_jobs(10)
    with pytest.raises(
        InputError, match=r"at most 10 processes of 250 MiB in the 2.44 GiB that are free, got 11, which take 2"
    ):
        limits.check_jobs(11)
    with pytest.raises(InputError, match="at least 1 process, got 0"):
        limits.check_jobs(0)
    for cores, wanted in ((4, 4), (None, 1), (16, 10)):
        monkeypatch.setattr(limits.os, "cpu_count", lambda cores=cores: cores)
        assert limits.usual_jobs() == wanted
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": 5)
    assert limits.usual_jobs() == 1
    limits.check_jobs(1)  # one process always runs
    with pytest.raises(InputError, match="at most 1 processes"):
        limits.check_jobs(2)
    monkeypatch.setattr(limits, "free_memory", lambda device="cpu": None)
    assert limits.usual_jobs() == 16
    limits.check_jobs(10**6)


def test_what_is_free_is_the_least_that_the_system_and_the_control_group_say(monkeypatch):
    texts = {
        "/proc/meminfo": "MemTotal:  9 kB\nMemAvailable:   3000 kB\n",
        "/sys/fs/cgroup/memory.max": "max\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "2000000\n",
    }

    def read(path):
        if str(path) not in texts:
            raise FileNotFoundError(path)
        return texts[str(path)]

    monkeypatch.setattr(Path, "read_text", read)
    assert limits.free_memory() == 2_000_000
    texts["/sys/fs/cgroup/memory.max"] = "4096000000"
    assert limits.free_memory() == 3000 * 1024
    texts["/proc/meminfo"] = "nothing here"
    assert limits.free_memory() == 4_096_000_000
    del texts["/proc/meminfo"]
    monkeypatch.setattr(limits.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 5}.get)
    assert limits.free_memory() == 5 * 4096
    texts.clear()
    assert limits.free_memory() == 5 * 4096


def test_the_c_library_is_told_three_sizes(monkeypatch):
    told = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(mallopt=lambda *pair: told.append(pair) or 1))
    assert memory.keep_freed_memory.__wrapped__() is True
    # M_TRIM_THRESHOLD -1: 256 MiB kept; M_TOP_PAD -2: grows by 64 MiB; M_MMAP_THRESHOLD -3: its largest value, 32 MiB
    assert told == [(-1, 256 << 20), (-2, 64 << 20), (-3, 32 << 20)]
    for refused in (1, 2, 3):
        monkeypatch.setattr(
            ctypes, "CDLL", lambda name, no=refused: SimpleNamespace(mallopt=lambda option, size: int(option != -no))
        )
        assert memory.keep_freed_memory.__wrapped__() is False
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    assert memory.keep_freed_memory.__wrapped__() is False
    monkeypatch.setattr(memory, "os", SimpleNamespace(name="nt"))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: 1 / 0)
    assert memory.keep_freed_memory.__wrapped__() is False


def test_a_run_asks_for_two_tensors_of_the_state_and_its_buffers(monkeypatch):
    """8 bytes for each of 2 runs x 3 clients x 3, twice, and of values and sums at 0, 4, 8 and 9, and their times and counts."""
    asked = []
    monkeypatch.setattr(driver, "check_memory", lambda needed, what, device: asked.append((needed, what)))
    drive(METHOD, PROBLEM, steps=9, seeds=2, record={"F": metrics.objective}, every=4)
    assert asked == [(8 * (2 * (2 * 3 * 3 + 2 * 4) + 2 * 4), "steps and seeds")]


def test_seed_indices_are_asked_for_before_they_are_made(monkeypatch):
    asked = []
    for module in (parallel, driver):
        monkeypatch.setattr(module, "check_memory", lambda needed, what, device="cpu": asked.append((needed, what)))
    monkeypatch.setattr("fedco.algorithms.engine.draws.check_memory", lambda n, what, device: asked.append((n, what)))
    Draws(0, 7, 3)
    Draws(0, [4, 2], 3)
    assert asked == [(7 * (40 + 8 * 3), "seeds"), (2 * (40 + 8 * 3), "seeds")]


# --- progress ------------------------------------------------------------------------------------------------------------


class Log(io.StringIO):
    flushed = 0

    def flush(self):
        self.flushed += 1


class Terminal(Log):
    def isatty(self):
        return True


def test_one_line_is_kept_up_to_date_on_a_terminal():
    shown = Terminal()
    show = progress.to_stream(shown, "a: ")
    show(progress.Progress(2, 4, 0, 10, 2.0))
    show(progress.Progress(4, 4, 0, 10, 2.5))
    lines = ["a: step 2/4, 10 lane-steps/s, 2 s left", "a: step 4/4, 16 lane-steps/s, 0 s left"]
    assert shown.getvalue() == f"\r{lines[0]:<78}\r{lines[1]:<78}\n" and shown.flushed == 2


def test_a_log_gets_a_line_every_ten_seconds_and_one_at_the_end():
    shown = Log()
    show = progress.to_stream(shown)
    for step, seconds in ((1, 9.0), (2, 10.0), (3, 10.5), (4, 20.4), (5, 20.6), (6, 20.7)):
        show(progress.Progress(step, 6, 0, 1, seconds))
    assert [line.split(",")[0] for line in shown.getvalue().splitlines()] == ["step 3/6", "step 5/6", "step 6/6"]
    assert shown.flushed == 3  # each line can be read at once


def test_speed_counts_what_this_process_did():
    report = progress.Progress(6, 9, 2, 12, 2.0)
    assert report.lane_steps_per_second == 24.0 and report.seconds_left == 1.5
    assert progress.Progress(6, 9, 2, 12, 0.0).lane_steps_per_second == pytest.approx(4 * 12 / 1e-9)


def test_a_run_reports_about_twice_a_second(monkeypatch):
    """The clock goes on by 0.2 s whenever it is read: a report at the first time over 0.5 s from the one before."""
    clock = iter(range(100))
    monkeypatch.setattr(driver.time, "perf_counter", lambda: 0.2 * next(clock))
    told = []
    reporter = driver._Reporter(told.append, 3, 12, 5)
    for step in range(4, 13):
        reporter.report(step)
    assert [(each.step, each.first_step, each.steps, each.lanes) for each in told] == [
        (6, 3, 12, 5), (8, 3, 12, 5), (10, 3, 12, 5), (12, 3, 12, 5),
    ]  # fmt: skip
    assert told[0].seconds == pytest.approx(0.8)
    driver._Reporter(None, 0, 1, 1).report(1)  # nobody asked


# --- blocks of seeds, buffers and checkpoints -----------------------------------------------------------------------------


@dataclass
class Sized:
    dim: int
    initial_point: torch.Tensor


def blocks_of(seeds, clients, dim, grid, at_once=None):
    draws = Draws(0, seeds, clients, grid)
    return [(c.start, c.stop) for c in driver._columns(draws, Sized(dim, torch.zeros(1)), at_once)]


def test_blocks_hold_half_a_million_numbers_and_are_as_equal_as_they_can_be():
    fitting = (1 << 19) // (4 * 8 * 64)  # 256 seeds of 4 grid points, 8 clients and 64 coordinates
    assert blocks_of(fitting, 8, 64, 4) == [(0, 256)]
    assert blocks_of(fitting + 1, 8, 64, 4) == [(0, 129), (129, 257)]
    assert blocks_of(5, 8, 1 << 20, 4) == [(i, i + 1) for i in range(5)]
    assert blocks_of(7, 2, 2, 1, at_once=3) == [(0, 3), (3, 6), (6, 7)]
    elsewhere = Sized(1 << 20, torch.zeros(1, device="meta"))
    assert [(c.start, c.stop) for c in driver._columns(Draws(0, 5, 8), elsewhere, None)] == [(0, 5)]


def test_the_number_of_threads_is_set_and_restored():
    before = torch.get_num_threads()
    seen = []

    def spy(problem, state, t):
        seen.append(torch.get_num_threads())
        return state.x[:, 0, 0]

    for threads in (1, 2):
        drive(METHOD, PROBLEM, steps=1, record={"spy": spy}, threads=threads)
    assert seen == [1, 1, 2, 2] and torch.get_num_threads() == before


@pytest.mark.parametrize("average", [True, False])
def test_a_checkpoint_holds_the_rows_that_are_filled(average):
    """Every 4 steps of 10: after 5 steps the rows of 0 and 4 are filled, after 8 the same, after 9 that of 8 too."""
    made = Recorder({"F": lambda problem, state, t: state + t}, 10, 4, average, 2, torch.device("cpu"))
    assert made.times == [0, 4, 8, 10] and made.counts().tolist() == ([0, 4, 8, 10] if average else [0, 1, 2, 3])
    for t, rows in ((0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3), (10, 3)):
        assert made.arrays(t)["values/F"].shape == (rows, 2) == made.arrays(t)["sums/F"].shape
    for t in range(5):
        made.observe(None, torch.tensor([0.0, 100.0], dtype=torch.float64), t)
    assert made.values["F"][:2].tolist() == [[0, 100], [4, 104]]
    assert made.sums["F"][1].tolist() == ([6, 406] if average else [0, 100])
    other = Recorder(made.record, 10, 4, average, 2, torch.device("cpu"))
    other.restore({name: rows.clone() for name, rows in made.arrays(5).items()})  # as a file gives them back
    for t in range(5, 11):
        for each in (made, other):
            each.observe(None, torch.tensor([0.0, 100.0], dtype=torch.float64), t)
    assert torch.equal(made.values["F"], other.values["F"]) and torch.equal(made.sums["F"], other.sums["F"])
    assert made.values["F"][:, 0].tolist() == [0, 4, 8, 10]


def test_a_checkpoint_is_written_every_thirty_seconds_or_steps(monkeypatch, tmp_path):
    now, written = [100.0], []
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoint.store, "write", lambda path, tensors, description: written.append(description["t"]))
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


def test_dealing_out_takes_turns_and_names_a_file_for_each(monkeypatch, tmp_path):
    given = []
    monkeypatch.setattr(parallel, "drive_alone", lambda method, problem, **mine: given.append(mine))
    monkeypatch.setattr(parallel, "gathered", lambda results, indices: indices)
    monkeypatch.setattr("joblib.Parallel", lambda n_jobs, mmap_mode: lambda work: [f(*a, **k) for f, a, k in work])
    seeds = [5, 0, 2, 9, 1]
    found = parallel.drive_in_processes(
        METHOD, PROBLEM, jobs=3, seeds=seeds, checkpoint=tmp_path / "r", progress=print, steps=7
    )
    assert found == seeds and [each["seeds"] for each in given] == [[5, 9], [0, 1], [2]]
    assert [Path(each["checkpoint"]).name for each in given] == ["r.0-of-3", "r.1-of-3", "r.2-of-3"]
    assert [each["progress"] for each in given] == [print, None, None] and {each["steps"] for each in given} == {7}
    given.clear()
    parallel.drive_in_processes(METHOD, PROBLEM, jobs=8, seeds=2)
    assert [each["seeds"] for each in given] == [[0], [1]] and not any(each["checkpoint"] for each in given)


def test_a_round_begins_with_clients_of_its_own():
    draws = Draws(3, 4, 5)
    state = State(x=torch.zeros(4, 5, 1))
    assert (
        at_round_start(state, draws.at(2), 2, 3, 2) is state and at_round_start(state, draws.at(3), 3, 3, None) is state
    )
    assert torch.equal(at_round_start(state, draws.at(3), 3, 3, 2).active, draws.at(3).subset("clients", 2))
    assert fraction(SimpleNamespace(clients=6), 4) == Fraction(2, 3) and fraction(None, None) == 1
    assert [t for t in range(7) if is_due(t, 3)] == [2, 5]


# --- what is sent ----------------------------------------------------------------------------------------------------------

SENT = [  # method, hyperparameters, and of 11 steps with 5 clients: rounds, numbers of models (dim 3), of inner values (dim 2)
    ("fedavg", dict(I=3), (3, 9, 0)),
    ("fedavg", dict(I=3, case="II"), (3, 9, 6)),
    ("modified_fedavg", dict(I=3), (3, 9, 22)),
    ("feddro", dict(I=3, beta=0.5), (3, 9, 20)),
    ("feddro", dict(I=3, beta=0.5, first_update="update"), (3, 9, 22)),
    ("gcivr", dict(tau=4), (11, 33, 22)),
    ("local_scgdm", dict(p=3, alpha=1.0, beta=1.0, gamma=1.0), (3, 18, 6)),
    ("local_scgd", dict(p=3, gamma=0.5), (3, 9, 6)),
    ("scgd", dict(gamma=0.5), (11, 33, 22)),
    ("comfedl", dict(tau=3, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("comfedl", dict(tau=3), (3, 9, 0)),
    ("local_bsgd", dict(tau=3), (3, 9, 0)),
    ("fcsg", dict(q=3, m=1), (3, 9, 0)),
    ("fcsg_m", dict(q=3, m=1, beta=0.5), (3, 18, 0)),
    ("acc_fcsg_m", dict(q=3, m=1, beta=0.5), (3, 18, 0)),
    ("meta_fl", dict(tau=3, m=4), (3, 9 * Fraction(4, 5), 0)),
    ("per_fedavg", dict(tau=3), (3, 9, 0)),
    ("local_moml", dict(tau=3, beta=0.5, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("local_sgd", dict(tau=3, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("minibatch_sgd", dict(), (11, 33, 22)),  # of a shared composite; of any other kind no inner values
    ("fedprox", dict(tau=3, mu=0.1, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("scaffold", dict(tau=3, m=2), (3, 18 * Fraction(2, 5), 0)),
    ("q_fedavg", dict(tau=3, q=1.0, m=2), (3, 9 * Fraction(2, 5), 3 * Fraction(2, 5))),
    ("drfa", dict(tau=3, gamma=0.1, m=2), (3, 18 * Fraction(2, 5), 3 * Fraction(2, 5))),
    ("two_sided_sgd", dict(tau=3, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("local_heavy_ball", dict(tau=3, beta=0.5, m=2), (3, 18 * Fraction(2, 5), 0)),
    ("local_heavy_ball", dict(tau=3, beta=0.5, momentum="keep"), (3, 9, 0)),
    ("fednova", dict(tau=3, steps=[1, 2, 3, 3, 3]), (3, 9, 0)),
    ("delayed_sgd", dict(D=2), (11, 33, 0)),
    ("gossip_sgd", dict(tau=3), (3, 2 * 9, 0)),
    ("gossip_sgd", dict(tau=3, topology="complete"), (3, 4 * 9, 0)),
    ("compressed_sgd", dict(ratio=4), (11, Fraction(33, 4), 0)),
    ("error_feedback", dict(share=0.5), (11, 22, 0)),
    ("error_feedback", dict(share=1), (11, 33, 0)),
    ("marina", dict(p=0.5, ratio=4), (11, 3 + 30 * Fraction(5, 8), 0)),
    ("local_storm", dict(tau=3, a=0.5), (3, 18, 0)),
    ("local_sgda", dict(tau=3, eta_y=0.1, m=2), (3, 9 * Fraction(2, 5), 6 * Fraction(2, 5))),
    ("fed_ttsa", dict(eta_y=0.1, eta_v=0.1, K=4), (66, 33, 110)),
    ("fedadam", dict(tau=3, eta_g=0.1, m=2), (3, 9 * Fraction(2, 5), 0)),
    ("fedglomo", dict(tau=3, beta=0.5, m=2), (3, 18 * Fraction(2, 5), 0)),
]


@pytest.mark.parametrize(("name", "settings", "wanted"), SENT)
def test_what_a_client_sends_in_eleven_steps(name, settings, wanted):
    method = METHODS[name]
    step = next(field.name for field in fields(method) if field.name in ("eta", "alpha", "beta"))
    made = method(**{step: 0.1, **settings}) if step not in settings else method(**{"eta": 0.1, **settings})
    sent = made.messages(SimpleNamespace(kind=made.kinds[0], clients=5, dim=3, inner_dim=2), 11)
    assert (sent.rounds, sent.model_floats, sent.embedding_floats) == wanted
    assert {each for each, *_ in SENT} == set(METHODS)


def test_mini_batches_of_a_plain_loss_need_no_inner_values():
    sent = METHODS["minibatch_sgd"](eta=0.1).messages(
        SimpleNamespace(kind="federated", clients=5, dim=3, inner_dim=2), 11
    )
    assert (sent.rounds, sent.model_floats, sent.embedding_floats) == (11, 33, 0)


def test_a_name_that_is_no_method_is_refused():
    with pytest.raises(InputError, match=r"'fedrdo': not a method; .*feddro.*, or FILE\.py:NAME"):
        get_method("fedrdo")
