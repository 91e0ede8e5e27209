"""The names and defaults of all options, which people's scripts rest on, and what the commands share, on small inputs."""

from __future__ import annotations

import gc
import io
import json
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from fedco.bounds.language.result import Math, Sheet, Table
from fedco.cli import _is_out_of_memory, _one_line, app, common, experiments, falsify, inverse, startup, terminal
from fedco.errors import InputError
from fedco.storage import DamagedWarning
from rich.console import Console

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
DEFAULTS = {
    "compare": {"--cost": "samples"},
    "explore": {"--out": Path("explore.html")},
    "falsify": {
        "--statement": "printed", "--seconds": 60.0, "--jobs": 1, "--seed": 0, "--hidden": "1", "--out": Path("falsified"),
    },
    "plot": {"--over": "", "--sweep": "", "--from": "1000", "--to": "1000000", "--seeds": 64, "--max-hours": 24.0},
    "practice": {"--factor": 4, "--below": 1, "--above": 6, "--seeds": 8, "--root-seed": 0, "--max-hours": 24.0},
    "report": {"--out": Path("report")},
    "reproduce": {"--seeds": 24, "--max-hours": 24.0, "--out": Path("reproduced")},
    "run": {"--seeds": 8, "--root-seed": 0, "--max-hours": 24.0, "--format": "csv"},
    "sharpen": {"--out": Path("sharpened.json")},
    "validate": {"--alpha": "1e-6", "--device": "cpu", "--max-hours": 24.0},
    "verify": {"--cases": 3},
}  # fmt: skip
"""Options with a default; every other option has none, and every flag is off."""
LEAST = {
    ("estimate", "--points"): 2, ("estimate", "--radius"): 0, ("falsify", "--seconds"): 0.1, ("plot", "--seeds"): 16,
    ("practice", "--T"): 1, ("practice", "--factor"): 2, ("practice", "--below"): 0, ("practice", "--above"): 0, ("practice", "--seeds"): 1,
    ("practice", "--budget"): 1,
    ("reproduce", "--seeds"): 6, ("run", "--T"): 1, ("run", "--every"): 1, ("run", "--seeds"): 1, ("validate", "--seeds"): 1,
    ("verify", "--cases"): 1,
}  # fmt: skip
"""The smallest values; --jobs is at least 1 and --max-hours at least 0 everywhere."""
UNDECIDED = {("audit", "--check")}
"""A flag that is neither on nor off until it is given."""


@pytest.mark.parametrize("name", COMMANDS)
def test_options_and_their_defaults(name):
    options = [option for option in COMMANDS[name].params if option.param_type_name == "option"]
    assert "--json" in {option.opts[0] for option in options} and len({option.opts[0] for option in options}) == len(
        options
    )
    given = {}
    for option in options:
        (spelling,) = option.opts
        if option.is_flag:
            assert option.default is (None if (name, spelling) in UNDECIDED else False), spelling
        elif option.default is not None:
            given[spelling] = option.default
        usual = {"--jobs": 1, "--max-hours": 0}.get(spelling)
        assert getattr(option.type, "min", None) == LEAST.get((name, spelling), usual), spelling
        assert getattr(option.type, "max", None) is None and not (option.required and option.default is not None)
    assert given == DEFAULTS.get(name, {})


def test_nothing_of_the_table_is_left_over():
    assert COMMANDS.keys() >= {*DEFAULTS, *(name for name, _ in LEAST)} and len(COMMANDS) == 27


# --- what the commands share ---------------------------------------------------------------------------------------------------


def test_infinities_are_null_at_every_depth(capsys):
    common.emit({"a": (1, math.inf, {"b": [-math.inf, math.nan, 2.5]}), "c": "x"}, "", True)
    out = capsys.readouterr().out
    assert out == json.dumps({"a": [1, None, {"b": [None, None, 2.5]}], "c": "x"}, indent=2) + "\n"
    common.note("said")
    assert capsys.readouterr() == ("", "said\n")


def test_values_are_set_once():
    assert common.read_sets(["a=1", " b = 2/3 "]) == {"a": "1", "b": "2/3"} and common.read_sets(None) == {}
    with pytest.raises(InputError, match="a: set twice; wanted one value"):
        common.read_sets(["a=1", "a=1"])
    assert inverse._pairs("--budget", ["T=1", "b=2"]) == {"T": "1", "b": "2"} and inverse._pairs("--budget", None) == {}
    with pytest.raises(InputError, match="--budget T: set twice"):
        inverse._pairs("--budget", ["T=1", "T=2"])


def test_one_way_to_print():
    common.check_medium(False, False, False)
    for one in ((True, False, False), (False, True, False), (False, False, True)):
        common.check_medium(*one)
    with pytest.raises(InputError, match="--latex: wanted one way to print, got --json and --latex"):
        common.check_medium(True, True, False)
    with pytest.raises(InputError, match="--markdown: wanted one way to print, got --latex and --markdown"):
        common.check_medium(False, True, True)


def test_costs_and_weights():
    assert inverse._cost("rounds", None) == "rounds" and inverse._cost(None, ["a=2"]) == {"a": "2"}
    assert inverse._cost(None, None) is None
    with pytest.raises(InputError, match="wanted either --cost or --weight, got both"):
        inverse._cost("rounds", ["a=2"])


SHEET = Sheet("Title", Math("x**2 <= y", "x"), (Table("t", ("name", "value"), (("a", 1.0), ("b", 3.5))),), ("A note",))


def test_a_sheet_in_each_medium(capsys, monkeypatch):
    monkeypatch.setattr(terminal, "is_terminal", lambda: False)
    assert common.emit_sheets(lambda: [SHEET], False) is False and common.emit_sheets(lambda: [SHEET], True) is False
    assert capsys.readouterr().out == ""
    shown = []
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    monkeypatch.setattr(terminal, "show_sheets", shown.append)
    assert common.emit_sheets(lambda: [SHEET], False) is True and shown == [[SHEET]]
    assert common.emit_sheets(lambda: [SHEET], True) is False and len(shown) == 1
    listed = common.listing("Methods", ("a", "b"), iter([("1", "2")]))
    assert listed == Sheet("Methods", None, (Table("Methods", ("a", "b"), (("1", "2"),)),))
    assert common.noted(SHEET, ("more",)).notes == ("A note", "more") and SHEET.notes == ("A note",)


# --- on a terminal ---------------------------------------------------------------------------------------------------------------


def drawn(sheets, width):
    out = io.StringIO()
    terminal.show_sheets(sheets, Console(file=out, width=width, color_system=None, highlight=False))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_sheets_on_a_wide_terminal_as_a_whole():
    left_out = Table("constants", ("name",), (("never shown",),))
    empty = Table("none", ("name",), ())
    bars = Table("sizes", ("a_name", "value", "gone"), (("first", 1.0, ""), ("second", 10.5, None)), (1.0, 0.25))
    claim = Sheet("Title", Math("x**2 <= y", "x"), (left_out, empty, bars), ("One note", "Another"))
    assert drawn([claim, Sheet("Next")], 100) == [
        "Title",
        "x^2 <= y",
        "",
        "a name  value",
        "─" * 35,
        "first       1  ████████████████████",
        "second   10.5  █████",
        "",
        "One note",
        "Another",
        "",
        "Next",
    ]


def test_columns_that_are_the_same_are_lines_and_rows_that_do_not_fit_paragraphs():
    rows = (("x" * 20, "same", True, None), ("y" * 20, "same", False, 2.5))
    made = Sheet("T", None, (Table("t", ("name", "of_kind", "is", "size"), rows, (None, -0.5)),))
    assert drawn([made], 40) == [
        "T",
        "",
        "of kind: same",
        "name                  is   size",
        "─" * 31,
        f"{'x' * 20}  yes",
        f"{'y' * 20}  no    2.5",
    ]
    assert drawn([made], 25) == [
        "T",
        "",
        "x" * 20,
        "  of kind same",
        "  is      yes",
        "y" * 20,
        "  of kind same",
        "  is      no",
        "  size    2.5",
        "          -██████████",
    ]


def test_what_fits():
    """Columns of 4, 10 and 30, two blanks between: with one that wraps at 24 they need 4 + 10 + 24 + 6."""
    texts = [["a" * 4, "b" * 10, " ".join(["c" * 5] * 5)]]
    table = Table("t", ("x", "y", "z"), (tuple(texts[0]),))
    assert terminal._widths(table, texts, [0, 1, 2]) == [4, 10, 29]
    assert terminal._fits(table, texts, [0, 1, 2], 44) and not terminal._fits(table, texts, [0, 1, 2], 43)
    assert not terminal._fits(table, texts, [], 99)
    long = [["a" * 4, "b" * 10, "c" * 29]]  # one word that is longer than what wraps
    assert terminal._fits(table, long, [0, 1, 2], 49) and not terminal._fits(table, long, [0, 1, 2], 48)
    assert terminal._fits(table, texts, [0, 1], 18) and not terminal._fits(table, texts, [0, 1], 17)


@pytest.mark.parametrize(
    ("line", "style"),
    [
        ("  admissible: x", "green"), ("NOT admissible", "bold red"), ("infeasible", "bold red"), ("assumed y", "yellow"),
        ("no admissible value", "bold red"), ("not used: z", "dim"), ("confirmed", "green"), ("NOT confirmed", "bold red"),
        ("outside the conditions", "bold red"), ("composed from", "yellow"), ("x REFUTED: y", "bold red"), ("plain", ""),
        ("[slip] z", "cyan"), ("INCONCLUSIVE z", "yellow"), ("NOT_APPLICABLE", "dim"), ("SURVIVED", "green"),
    ],
)  # fmt: skip
def test_colours_of_lines(line, style):
    assert terminal._style(line) == style


def test_bars_in_eighths():
    assert [terminal.bar(n / 160) for n in (1, 8, 11, 15)] == ["▏", "█", "█▍", "█▉"]
    assert terminal.bar(-1e-9) == "-▏" and terminal.bar(-3.0) == "-" + "█" * 20


@pytest.mark.parametrize(
    ("tty", "encoding", "environment", "wanted"),
    [
        (True, "utf-8", {}, True),
        (True, "UTF-8", {"NO_COLOR": ""}, True),
        (False, "utf-8", {}, False),
        (True, "ascii", {}, False),
        (True, None, {}, False),
        (True, "utf-8", {"NO_COLOR": "1"}, False),
        (True, "utf-8", {"TERM": "dumb"}, False),
    ],
)
def test_what_is_a_terminal(tty, encoding, environment, wanted, monkeypatch):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: tty, encoding=encoding))
    assert bool(terminal.is_terminal()) is wanted


# --- progress of a search, listings, errors ---------------------------------------------------------------------------------------


class Stream(io.StringIO):
    tty = True

    def isatty(self):
        return self.tty


def test_a_search_writes_one_line_over_and_keeps_what_is_done(monkeypatch):
    stream = Stream()
    monkeypatch.setattr(sys, "stderr", stream)
    line = falsify._Line()
    told = SimpleNamespace(seconds=1.25, evaluations=1234, ratio=0.98765, search_space="i" * 80)
    line(told)
    line.done("finished")
    shown = f"\r   1.2 s       1234 instances  best ratio 0.9877  {'i' * 70}"
    assert stream.getvalue() == f"{shown}\r{'finished':<120}".rstrip() + "\n"
    stream = Stream()
    stream.tty = False
    monkeypatch.setattr(sys, "stderr", stream)
    line(told)
    line.done("finished")
    assert stream.getvalue() == "finished\n"


def test_a_hidden_constant_is_positive():
    assert falsify._number("3/2") == 1.5
    for text in ("0", "-1"):
        with pytest.raises(InputError, match="--hidden: wanted a positive number or `any`, got"):
            falsify._number(text)


ROW = {
    "name": "p", "kind": "k", "summary": "what it is", "clients": 3, "dim": 4, "inner_dim": 2, "certified": True,
    "properties": ["a", "b"], "parameters": {"x": 1, "y": 2.5}, "fits": ["t.1", "t.2"],
    "constants": {"inner_noise": {"value": 0.125, "kind": "exact"}},
}  # fmt: skip


def test_a_problem_in_words():
    assert experiments._problem_text(ROW) == (
        "p (k, 3 clients, dimension 4): what it is\n  fits t.1, t.2\n  properties a, b\n  parameters x=1, y=2.5\n"
        f"  {'inner_noise':<36} {'0.125':<12} exact"
    )
    bare = experiments._problem_text({**ROW, "fits": [], "constants": {}, "certified": False}).splitlines()
    assert bare[1] == "  fits no theorem as it stands" and bare[-1].startswith("  constants are estimated on request")


def test_devices():
    assert experiments._check_device("cpu") == "cpu"
    with pytest.raises(InputError, match="--device tpu: wanted cpu or cuda"):
        experiments._check_device("tpu")


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (MemoryError(), True), (OSError(12, "x"), True), (OSError(13, "out of memory"), False), (RuntimeError("x"), False),
        (RuntimeError("can't start new thread"), True), (RuntimeError("CUDA out of memory."), True),
        (RuntimeError("you can't allocate memory"), True),
    ],
)  # fmt: skip
def test_what_is_too_little_memory(error, wanted):
    assert _is_out_of_memory(error) is wanted


def test_a_damaged_file_is_one_line_and_other_warnings_are_as_ever(capsys):
    others = []
    show = _one_line(lambda *told: others.append(told))
    show(DamagedWarning("x was damaged"), DamagedWarning, "file", 3)
    assert capsys.readouterr().err == "fedco: x was damaged\n" and others == []
    show(UserWarning("else"), UserWarning, "file", 3)
    assert others[0][1:] == (UserWarning, "file", 3) and capsys.readouterr().err == ""


def test_a_fast_start_is_prepared_once(monkeypatch):
    kept = gc.get_threshold()
    monkeypatch.setitem(sys.modules, "sympy", sys)
    registered = []
    monkeypatch.setattr(startup, "atexit", SimpleNamespace(register=registered.append))
    monkeypatch.delenv("SYMPY_GROUND_TYPES", raising=False)
    startup.prepare()
    assert registered == [] and gc.get_threshold() == kept
    monkeypatch.delitem(sys.modules, "sympy")
    monkeypatch.setitem(sys.modules, "sympy.tensor.tensor", sys)  # stays as it is
    try:
        startup.prepare()
        assert registered == [gc.freeze] and gc.get_threshold()[0] == 1_000_000
        assert os.environ["SYMPY_GROUND_TYPES"] == "python" and sys.modules["sympy.tensor.tensor"] is sys
    finally:
        gc.set_threshold(*kept)
        os.environ.pop("SYMPY_GROUND_TYPES", None)
