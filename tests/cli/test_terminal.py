"""Tables, colours and bars on a terminal, and in a pipe the plain text of the answer."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import fedco
import pytest
from fedco.bounds.cost.comparison import compare, orders
from fedco.bounds.language.rendering import sheets_of, to_text
from fedco.bounds.language.result import CONSTANTS, Math, Sheet, Table, relative, shown
from fedco.cli import main
from fedco.cli.terminal import bar, show_sheets
from quick import slowly
from rich.console import Console

ID = "fcsg.theorem_4_1"
KNOWN = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": "1/2", "F_gap": 1, "N": 4}
POINT = {**KNOWN, "m": 4, "b": 1, "q": 2, "T": 1000, "alpha": "1/10"}
SETS = [part for name, value in KNOWN.items() for part in ("--set", f"{name}={value}")]
AT = [part for name, value in POINT.items() for part in ("--set", f"{name}={value}")]
TWO = (ID, "baselines.biased_sgd")

COMMANDS: dict[str, tuple[list[str], Callable[[], Any]]] = {
    "show": (["show", ID], lambda: to_text(fedco.theorem(ID))),
    "bound": (["bound", ID, *AT], lambda: fedco.theorem(ID).bound(**POINT)),
    "tune": (["tune", ID, *SETS, "--eps", "1"], lambda: fedco.theorem(ID).tune(eps=1, **KNOWN)),
    "admissible": (
        ["admissible", ID, "--solve", "alpha", "--statement", "printed", *SETS, "--set", "q=4"],
        lambda: fedco.theorem(ID).admissible("alpha", "printed", **KNOWN, q=4),
    ),
    "complexity": (["complexity", ID], lambda: fedco.theorem(ID).rates()),
    "compare": (["compare", *TWO, "--eps", "1"], lambda: compare(1, theorems=[fedco.theorem(name) for name in TWO])),
    "orders": (["compare", *TWO, "--orders"], lambda: orders(theorems=[fedco.theorem(name) for name in TWO])),
    "audit": (["audit", ID, "--no-check"], lambda: fedco.audit(ID)),
    "replay": (["replay", "local_scgdm.corollary_3_5"], lambda: "confirmed\nREFUTED"),
    "theorems": (["theorems", "fcsg"], lambda: ""),
}
"""name -> a command, and how its plain text begins."""
VALIDATE = ["validate", "baselines.minibatch_sgd", "--problem", "federated_noisy", "--seeds", "16", "--jobs", "1"]


class Screen(io.StringIO):
    """Standard output that says that it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def written(arguments: list[str], out: io.StringIO) -> str:
    """What a command in this process writes."""
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        patch.delenv("NO_COLOR", raising=False)
        patch.delenv("FORCE_COLOR", raising=False)
        for name, value in {"TERM": "xterm-256color", "COLUMNS": "200"}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["fedco", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, arguments
    return out.getvalue()


@cache
def terminal(name: str) -> str:
    return written(COMMANDS[name][0], Screen())


@cache
def pipe(name: str) -> str:
    return written(COMMANDS[name][0], io.StringIO())


def on_a_pseudo_terminal(command: list[str], **environment: str) -> str:
    """What a command in a process of its own writes to a pseudo-terminal of 200 columns."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.Popen(
        [sys.executable, "-m", "fedco", *command],
        stdout=theirs,
        stdin=theirs,
        stderr=subprocess.DEVNULL,
        env=kept | {"TERM": "xterm-256color", "COLUMNS": "200"} | environment,
    )
    os.close(theirs)
    parts = []
    with contextlib.suppress(OSError):
        while part := os.read(ours, 65536):
            parts.append(part)
    os.close(ours)
    assert done.wait(300) == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_terminal_has_tables_and_colours_and_a_pipe_the_plain_text(name: str):
    looked_at, read = terminal(name), pipe(name)
    assert "\x1b[" in looked_at and ("───" in looked_at) == (name != "audit")  # sentences are paragraphs
    assert not {"\x1b", "─", "█"} & set(read) and read.startswith(str(COMMANDS[name][1]()))


@pytest.mark.parametrize("name", ["bound", "tune", "complexity", "compare", "replay"])
def test_shares_and_sizes_have_bars(name: str):
    assert "█" * 20 in terminal(name) or name == "bound"
    assert "█" in terminal(name)


def test_what_is_wrong_is_red_on_a_terminal_too():
    for name in ("show", "admissible", "orders", "replay"):
        assert "\x1b[1;31m" in terminal(name), name
    for name in ("show", "admissible", "orders"):
        assert "fedco replay docs/refutations/fcsg.theorem_4_1" in plain(terminal(name))


@pytest.mark.slow
def test_verdicts_are_a_table_with_bars():
    shown_ = written(VALIDATE, Screen())
    assert "\x1b[31m" in shown_ or "\x1b[1;31m" in shown_
    assert "█" * 20 in shown_ and "───" in shown_ and "negative control" in plain(shown_)


@pytest.mark.parametrize(("environment", "written"), [({}, terminal), slowly(({"PYTHONIOENCODING": "ascii"}, pipe))])
def test_a_process_on_a_terminal(environment: dict[str, str], written: Callable[[str], str]):
    """Without these characters it writes plain text; test_interface.py has what else asks for that."""
    assert on_a_pseudo_terminal(COMMANDS["bound"][0], **environment) == written("bound")


def drawn(sheets: list[Sheet], width: int) -> str:
    out = io.StringIO()
    show_sheets(sheets, Console(file=out, force_terminal=True, width=width, color_system="standard"))
    return plain(out.getvalue())


ANSWERS: dict[str, Callable[[], list[Sheet]]] = {
    "show": lambda: sheets_of(fedco.theorem("feddro.theorem_5_1")),
    "tune": lambda: [fedco.theorem(ID).tune(eps=1, **KNOWN).sheet()],
    "outside": lambda: [fedco.theorem(ID).bound(strict=False, **{**POINT, "alpha": 10}).sheet()],
    "audit": lambda: [fedco.audit("feddro.lemma_f_2").sheet()],
    "orders": lambda: [orders(theorems=[fedco.theorem(name) for name in TWO]).sheet()],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_no_word_of_an_answer_is_lost_at_any_width(name: str):
    sheets = ANSWERS[name]()
    for sheet, width in product(sheets, (60, 100, 200)):
        text = drawn([sheet], width)
        squeezed = re.sub(r"\s", "", text)
        for table in (table for table in sheet.tables if table.name != CONSTANTS):
            for cell in (cell for row in table.rows for cell in row if cell not in (None, "")):
                words = cell.text if isinstance(cell, Math) else cell
                written = words if isinstance(words, str) else "" if isinstance(words, bool) else shown(words)
                for word in written.replace("**", "^").split():
                    assert word in text or word in squeezed, (table.name, word)
        assert all(note in text for note in sheet.notes) and "…" not in text


def test_two_columns_of_sentences_are_paragraphs_however_wide_the_terminal():
    rows = tuple((word, f"this is {word} " * 9, f"that is {word} " * 9) for word in ("first", "second"))
    lines = drawn([Sheet("title", None, (Table("t", ("word", "this", "that"), rows),))], 400).splitlines()
    assert "first" in lines and not any("word" in line for line in lines)
    assert sum(line.strip().startswith("this") for line in lines) == 2


def test_bars_are_shares_and_sizes():
    assert [bar(share) for share in (0, 1e-9, 0.5, 1, 7)] == ["", "▏", "█" * 10, "█" * 20, "█" * 20]
    assert (
        [bar(n / 160) for n in (8, 11, 15)] == ["█", "█▍", "█▉"] and bar(-1e-9) == "-▏" and bar(-3.0) == "-" + "█" * 20
    )
    assert relative([1, None, -4, float("inf")]) == (0.25, None, -1.0, None) and relative([0.0]) == (None,)
    with pytest.raises(ValueError, match="a bar for each of 1 rows"):
        Table("t", ("a",), ((1,),), (0.5, 0.5))
