"""Colours and bars on a terminal, plain text in a pipe."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys

import pytest
from fedco.cli.terminal import bar, styled
from rich.console import Console

BOUND = [
    "bound",
    "fcsg.theorem_4_1",
    *(p for v in ("L_f=1", "L_g=1", "S_f=1", "S_g=1", "sigma_g=1", "F_gap=1", "N=4") for p in ("--set", v)),
]
BOUND += [p for v in ("m=4", "b=1", "q=2", "T=1000", "alpha=1/10") for p in ("--set", v)]
CODE = "import sys; from fedco.cli import main; sys.argv = ['fedco', *sys.argv[1:]]; main()"


def on_a_terminal(arguments, **environment):
    """What the command writes to a pseudo-terminal."""
    ours, theirs = pty.openpty()
    env = {n: v for n, v in os.environ.items() if n not in ("NO_COLOR", "FORCE_COLOR")} | {
        "TERM": "xterm-256color",
        **environment,
    }
    done = subprocess.Popen([sys.executable, "-c", CODE, *arguments], stdout=theirs, stdin=theirs, env=env)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    assert done.wait(120) == 0
    return b"".join(parts).decode()


def test_a_bound_has_bars_and_colours_on_a_terminal_and_the_same_numbers():
    shown = on_a_terminal(BOUND)
    piped = subprocess.run([sys.executable, "-c", CODE, *BOUND], capture_output=True, text=True, check=True).stdout
    assert "\x1b[" in shown and "█" in shown and "%" in shown
    assert "\x1b" not in piped and "█" not in piped
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    for line in piped.splitlines():
        for word in line.split():
            assert word == "=" or word in plain, word


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_asks_for_no_colours_gets_plain_text(environment):
    assert "\x1b" not in on_a_terminal(BOUND, **environment)


def test_bars_are_shares():
    assert [bar(share) for share in (0, 1e-9, 0.5, 1)] == ["", "▏", "█" * 10, "█" * 20]
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, color_system="standard")
    console.print(styled("x <= 4\n  a = 1\n  b = 3\n  L_F = 2\n  NOT admissible:\n    c: q <= 1", {"a": 1.0, "b": 3.0}))
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    assert re.fullmatch(r"\s*a\s+1\s+█{5}\s+25\.0%\s*", lines[1]) and re.fullmatch(
        r"\s*b\s+3\s+█{15}\s+75\.0%\s*", lines[2]
    )
    assert lines[3].strip() == "L_F = 2" and "\x1b[1;31m  NOT admissible" in out.getvalue()
