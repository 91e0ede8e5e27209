"""Tables, colours and bars on a terminal, and in a pipe the plain text of the answer."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import fedco
import pytest
from fedco.bounds.cost.comparison import compare, orders
from fedco.bounds.language.rendering import sheets_of, to_text
from fedco.bounds.language.result import CONSTANTS, Math, Sheet, Table, relative, shown
from fedco.cli.terminal import bar, show_sheets
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
    "compare": (
        ["compare", *TWO, "--eps", "1"],
        lambda: compare(1, theorems=[fedco.theorem(name) for name in TWO]),
    ),
    "orders": (["compare", *TWO, "--orders"], lambda: orders(theorems=[fedco.theorem(name) for name in TWO])),
    "audit": (["audit", ID, "--no-check"], lambda: fedco.audit(ID)),
    "replay": (["replay", "local_scgdm.corollary_3_5"], lambda: "confirmed\nREFUTED"),
    "theorems": (["theorems", "fcsg"], lambda: ""),
}
"""name -> a command, and how its plain text begins."""
CODE = """
import json, sys
from fedco.cli import main
for arguments in json.loads(sys.argv[1]):
    print("\\f", flush=True)
    sys.argv = ["fedco", *arguments]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, arguments
"""
"""Several commands in one process, a form feed before each."""
VALIDATE = ["validate", "baselines.minibatch_sgd", "--problem", "federated_noisy", "--seeds", "16", "--jobs", "1"]


def on_a_terminal(*commands: list[str], **environment: str) -> list[str]:
    """What each command writes to a pseudo-terminal of 200 columns."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.Popen(
        [sys.executable, "-c", CODE, json.dumps(commands)],
        stdout=theirs,
        stdin=theirs,
        stderr=subprocess.DEVNULL,
        env=kept | {"TERM": "xterm-256color", "COLUMNS": "200"} | environment,
    )
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
    assert done.wait(300) == 0
    return b"".join(parts).decode().replace("\r\n", "\n").split("\f\n")[1:]


@cache
def terminal() -> dict[str, str]:
    return dict(zip(COMMANDS, on_a_terminal(*(command for command, _ in COMMANDS.values())), strict=True))


@cache
def pipe() -> dict[str, str]:
    command = [sys.executable, "-c", CODE, json.dumps([command for command, _ in COMMANDS.values()])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return dict(zip(COMMANDS, done.stdout.split("\f\n")[1:], strict=True))


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_terminal_has_tables_and_colours_and_a_pipe_the_plain_text(name: str):
    looked_at, read = terminal()[name], pipe()[name]
    assert "\x1b[" in looked_at and ("───" in looked_at) == (name != "audit")  # sentences are paragraphs
    assert not {"\x1b", "─", "█"} & set(read) and read.startswith(str(COMMANDS[name][1]()))


@pytest.mark.parametrize("name", ["bound", "tune", "complexity", "compare", "replay"])
def test_shares_and_sizes_have_bars(name: str):
    assert "█" * 20 in terminal()[name] or name == "bound"
    assert "█" in terminal()[name]


def test_what_is_wrong_is_red_on_a_terminal_too():
    for name in ("show", "admissible", "orders", "replay"):
        assert "\x1b[1;31m" in terminal()[name], name
    for name in ("show", "admissible", "orders"):
        assert "fedco replay docs/refutations/fcsg.theorem_4_1" in plain(terminal()[name])


@pytest.mark.slow
def test_verdicts_are_a_table_with_bars():
    (shown_,) = on_a_terminal(VALIDATE)
    assert "\x1b[31m" in shown_ or "\x1b[1;31m" in shown_
    assert "█" * 20 in shown_ and "───" in shown_ and "negative control" in plain(shown_)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii"}])
def test_who_asks_for_no_colours_gets_plain_text(environment: dict[str, str]):
    (written,) = on_a_terminal(COMMANDS["bound"][0], **environment)
    assert written == pipe()["bound"]


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


@pytest.mark.parametrize("width", [60, 100, 200])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_word_of_an_answer_is_lost_at_any_width(name: str, width: int):
    sheets = ANSWERS[name]()
    text = drawn(sheets, width)
    squeezed = re.sub(r"\s", "", text)
    for sheet in sheets:
        for table in (table for table in sheet.tables if table.name != CONSTANTS):
            for cell in (cell for row in table.rows for cell in row if cell not in (None, "")):
                words = cell.text if isinstance(cell, Math) else cell
                written = words if isinstance(words, str) else "" if isinstance(words, bool) else shown(words)
                for word in written.replace("**", "^").split():
                    assert word in text or word in squeezed, (table.name, word)
        assert all(note in text for note in sheet.notes)
    assert "…" not in text


def test_what_does_not_fit_is_not_cut():
    rows = (("breaks", "a" * 30, "same", "b " * 40), ("slip", "c" * 30, "same", "d " * 40))
    sheet = Sheet("title", None, (Table("t", ("severity", "id", "kind", "text"), rows, (1.0, None)),))
    wide, middle, narrow = (drawn([sheet], width).splitlines() for width in (160, 70, 30))
    assert any("severity" in line and "kind" in line for line in wide)
    assert "kind: same" in middle and any("severity" in line and "text" in line for line in middle)
    assert "breaks" in narrow and sum(line.count("b") for line in narrow) == sum(line.count("b") for line in wide)


def test_two_columns_of_sentences_are_paragraphs_however_wide_the_terminal():
    rows = tuple((word, f"this is {word} " * 9, f"that is {word} " * 9) for word in ("first", "second"))
    lines = drawn([Sheet("title", None, (Table("t", ("word", "this", "that"), rows),))], 400).splitlines()
    assert "first" in lines and not any("word" in line for line in lines)
    assert sum(line.strip().startswith("this") for line in lines) == 2


def test_rows_that_are_all_the_same_are_paragraphs_where_they_do_not_fit():
    sheet = Sheet("title", None, (Table("t", ("word", "value"), (("a" * 30, "b" * 30),) * 2),))
    lines = drawn([sheet], 40).splitlines()
    assert lines.count("a" * 30) == 2 and not any("word" in line for line in lines)


def test_the_first_word_of_a_note_has_its_colour():
    out = io.StringIO()
    notes = ("SUPPORTED at 0.1", "[breaks] a line", "yes and no", "plain SUPPORTED", "NOT admissible here")
    show_sheets([Sheet("x", None, (), notes)], Console(file=out, force_terminal=True, color_system="standard"))
    green, red = "\x1b[32m", "\x1b[1;31m"
    written = out.getvalue().splitlines()[-len(notes) :]
    assert [line.partition("m")[0] + "m" for line in written[:3]] == [green, red, green]
    assert written[3] == notes[3] and written[4].startswith(red)


def test_bars_are_shares_and_sizes():
    assert [bar(share) for share in (0, 1e-9, 0.5, 1, 7)] == ["", "▏", "█" * 10, "█" * 20, "█" * 20]
    assert bar(-0.5) == "-" + "█" * 10
    assert relative([1, None, -4, float("inf")]) == (0.25, None, -1.0, None) and relative([0.0]) == (None,)
    with pytest.raises(ValueError, match="a bar for each of 1 rows"):
        Table("t", ("a",), ((1,),), (0.5, 0.5))
    sheet = Sheet("x", None, (Table("terms", ("term", "value"), (("a", 1.0), ("b", 3.0)), (0.25, 0.75)),))
    lines = drawn([sheet], 100).splitlines()
    assert re.fullmatch(r"a\s+1\s+█{5}\s*", lines[-2]) and re.fullmatch(r"b\s+3\s+█{15}\s*", lines[-1])
