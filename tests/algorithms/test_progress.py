"""What a run says while it runs, and how often."""

import io
from itertools import pairwise

import pytest
from fedco.algorithms import FedDRO, drive
from fedco.algorithms.engine import driver, progress
from tiny import TinyData, TinyShared

PROBLEM = TinyShared(TinyData.random(1, 3))


METHOD = FedDRO(eta=0.05, beta=0.3, I=3)


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
    clock = iter(range(1000))
    monkeypatch.setattr(driver.time, "perf_counter", lambda: 0.2 * next(clock))
    told = []
    drive(METHOD, PROBLEM, steps=12, seeds=5, progress=told.append)
    apart = [after.seconds - before.seconds for before, after in pairwise(told)]
    assert len(told) > 3 and all(0.5 < seconds < 1.1 for seconds in apart[:-1]) and told[-1].step == 12
    assert {(each.first_step, each.steps, each.lanes) for each in told} == {(0, 12, 5 * 3)}
