"""How far a run is, and how to stop it without losing it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TextIO

_SECONDS_BETWEEN_LOG_LINES = 10.0


class Interrupted(KeyboardInterrupt):
    """The user stopped a run; its checkpoint was saved first."""


@dataclass(frozen=True)
class Progress:
    """A report on a run under way.

    Attributes:
        step, steps: steps done, and steps wanted.
        first_step: the step that this process began with (not 0 after a resume).
        lanes: runs times clients, all stepping at once.
        seconds: time since this process began stepping.
    """

    step: int
    steps: int
    first_step: int
    lanes: int
    seconds: float

    @property
    def lane_steps_per_second(self) -> float:
        """Steps times lanes per second."""
        return (self.step - self.first_step) * self.lanes / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """Time left at this pace; infinite before the first step."""
        done = self.step - self.first_step
        return (self.steps - self.step) * self.seconds / done if done else float("inf")


def to_stream(stream: TextIO | None = None, label: str = "") -> Callable[[Progress], None]:
    """A callback for ``drive``, to stderr unless told otherwise: one line kept up to date on a terminal, and elsewhere
    (a log file) one line every ten seconds."""
    last_line = 0.0

    def show(report: Progress) -> None:
        nonlocal last_line
        target = stream or sys.stderr  # looked up here: the callback may travel to another process
        is_end = report.step >= report.steps
        line = (
            f"{label}step {report.step}/{report.steps}, {report.lane_steps_per_second:.3g} lane-steps/s, "
            f"{report.seconds_left:.0f} s left"
        )
        if target.isatty():
            print(f"\r{line:<78}", end="\n" if is_end else "", file=target, flush=True)
        elif is_end or report.seconds - last_line > _SECONDS_BETWEEN_LOG_LINES:
            last_line = report.seconds
            print(line, file=target, flush=True)

    return show


@contextmanager
def stop_request() -> Iterator[Callable[[], bool]]:
    """While inside, a first Ctrl-C or SIGTERM only makes the yielded function true; a second one interrupts at once."""
    asked: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    is_main = threading.current_thread() is threading.main_thread()  # only there may handlers be set
    signals = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    previous = {number: signal.signal(number, remember) for number in signals}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
