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
from fedco.cli import app, command, main, options, startup, terminal
from fedco.cli.command import Answer, noted, pairs
from fedco.cli.runs import problem_text
from fedco.errors import InputError
from in_process import refused, run
from rich.console import Console
from typer.testing import CliRunner

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


def test_every_row_of_the_table_of_options_is_used_and_every_option_has_its_words():
    kept = {**options.OPTIONS, **options.ARGUMENTS}
    taken = {
        options.option_of(name, option.name)[0]
        for name, made in COMMANDS.items()
        for option in made.params
        if option.name != "help"
    }
    assert taken == kept.keys() and not options.OPTIONS.keys() & options.ARGUMENTS.keys()
    assert all(option.help for made in COMMANDS.values() for option in made.params)
    assert options.COMPLETED.keys() <= kept.keys()


# --- what the commands share ---------------------------------------------------------------------------------------------------


def test_infinities_are_null_at_every_depth(capsys):
    Answer({"a": (1, math.inf, {"b": [-math.inf, math.nan, 2.5]}), "c": "x"}, "").show("json")
    out = capsys.readouterr().out
    assert out == json.dumps({"a": [1, None, {"b": [None, None, 2.5]}], "c": "x"}, indent=2) + "\n"
    command.note("said")
    assert capsys.readouterr() == ("", "said\n")


def test_values_are_set_once():
    assert pairs(["a=1", " b = 2/3 "]) == {"a": "1", "b": "2/3"} and pairs(None) == {}
    with pytest.raises(InputError, match=r"^a: set twice; wanted one value"):
        pairs(["a=1", "a=1"])
    with pytest.raises(InputError, match="--budget T: set twice"):
        pairs(["T=1", "T=2"], "--budget")


def test_one_way_to_print():
    values = [part for name in ("L_h", "L_f", "L_g", "B_f", "B_g") for part in ("--set", f"{name}=1")]
    at = ["bound", "feddro.lemma_3_1", *values]
    for one in ("--json", "--latex", "--markdown"):
        assert CliRunner().invoke(app, [*at, one]).exit_code == 0
    refused("--latex: wanted one way to print, got --json and --latex", *at, "--json", "--latex")
    refused("--markdown: wanted one way to print, got --latex and --markdown", *at, "--markdown", "--latex")
    refused("--html: wanted one way to print, got --json and --html", "prove", "fcsg.theorem_4_1", "--html", "--json")


SHEET = Sheet("Title", Math("x**2 <= y", "x"), (Table("t", ("name", "value"), (("a", 1.0), ("b", 3.5))),), ("A note",))


def test_an_answer_in_each_medium(capsys, monkeypatch):
    answer = Answer({"a": 1}, "in words", lambda: [SHEET, SHEET], {"html": lambda: "<p>\n"})
    monkeypatch.setattr(terminal, "is_terminal", lambda: False)

    def printed(medium):
        answer.show(medium)
        return capsys.readouterr().out

    assert printed("") == "in words\n" and printed("html") == "<p>\n"
    assert printed("markdown").count("**Title**") == 2 == printed("latex").count("% Title")
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    assert "A note" in printed("") and "in words" not in printed("") and printed("json") == '{\n  "a": 1\n}\n'
    assert noted(SHEET, ("more",)).notes == ("A note", "more") and SHEET.notes == ("A note",)


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
    alike = drawn([Sheet("T", None, (Table("t", ("word", "value"), (("a" * 30, "b" * 30),) * 2),))], 40)
    assert alike.count("a" * 30) == 2 and not any("word" in line for line in alike)
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
    """Columns of 4, 10 and 29, two blanks between: with the last, which wraps at 24, they need 4 + 10 + 24 + 6."""

    def is_a_table(width, *row):
        lines = drawn([Sheet("T", None, (Table("t", ("x", "y", "z")[: len(row)], (row,)),))], width)
        return lines[2].split() == ["x", "y", "z"][: len(row)]

    two = ("a" * 4, "b" * 10)
    words, word = " ".join(["c" * 5] * 5), "c" * 29
    assert is_a_table(44, *two, words) and not is_a_table(43, *two, words)
    assert is_a_table(49, *two, word) and not is_a_table(48, *two, word)  # one word that is longer than what wraps
    assert is_a_table(18, *two) and not is_a_table(17, *two)


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
    out = io.StringIO()
    terminal.show_sheets(
        [Sheet("x", None, (), (line,))], Console(file=out, force_terminal=True, color_system="standard")
    )
    code = {
        "green": "\x1b[32m",
        "bold red": "\x1b[1;31m",
        "yellow": "\x1b[33m",
        "dim": "\x1b[2m",
        "cyan": "\x1b[36m",
        "": "",
    }[style]
    assert out.getvalue().splitlines()[-1].removesuffix("\x1b[0m") == f"{code}{line}"


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


def test_a_search_writes_one_line_over_and_keeps_what_is_done(monkeypatch, swap):
    told = SimpleNamespace(seconds=1.25, evaluations=1234, ratio=0.98765, search_space="i" * 80)
    done = SimpleNamespace(change="without a", verdict="SURVIVED", ratio=0.5, to_dict=dict)

    def search(*given, progress, **named):
        progress(told)
        return [done]

    swap("fedco.validation.falsifier.each_term.each_term", search)
    swap("fedco.validation.falsifier.each_term.as_table", lambda parts: "")
    monkeypatch.setattr(sys, "argv", ["fedco", "falsify", "feddro.theorem_5_1", "--each-term"])
    shown = f"\r   1.2 s       1234 instances  best ratio 0.9877  {'i' * 70}"
    finished = "without a: SURVIVED, ratio 0.5"
    for tty, wanted in ((True, f"{shown}\r{finished:<120}".rstrip() + "\n"), (False, f"{finished}\n")):
        stream = Stream()
        stream.tty = tty
        monkeypatch.setattr(sys, "stderr", stream)
        with pytest.raises(SystemExit) as ended:
            main()
        assert stream.getvalue() == wanted and not ended.value.code


def test_a_hidden_constant_is_positive():
    for text in ("0", "-1"):
        refused("--hidden: wanted a positive number or `any`, got", "falsify", "feddro.theorem_5_1", "--hidden", text)


ROW = {
    "name": "p", "kind": "k", "summary": "what it is", "clients": 3, "dim": 4, "inner_dim": 2,
    "properties": ["a", "b"], "parameters": {"x": 1, "y": 2.5}, "fits": ["t.1", "t.2"], "only": {"t.2": ["printed"]},
    "constants": {"inner_noise": {"value": 0.125, "kind": "exact"}},
}  # fmt: skip


def test_a_problem_in_words():
    assert problem_text(ROW) == (
        "p (k, 3 clients, dimension 4): what it is\n  fits t.1, t.2 (printed)\n  properties a, b\n  parameters x=1, y=2.5\n"
        f"  {'inner_noise':<36} {'0.125':<12} exact"
    )
    bare = problem_text({**ROW, "fits": [], "constants": {}}).splitlines()
    assert bare[1] == "  fits no theorem as it stands"


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


def test_version_and_help():
    assert run("--version")[:2] == (0, "fedco 0.1.0\n")
    assert run("-h")[1] == run("--help")[1]
    assert "Usage" in run("bound", "-h")[1]
