"""Each command hands over what was asked, says what was found, and ends with its status: the work itself is replaced."""

from __future__ import annotations

import errno
import json
import os
import sys
from fractions import Fraction
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from fedco.algorithms.engine.progress import Interrupted
from fedco.bounds.language.result import Sheet
from fedco.cli import app, main, options, terminal
from fedco.errors import InputError
from fedco.validation.runs import bundle as bundles
from in_process import invoke as run
from in_process import refused

ID = "feddro.theorem_5_1"


WORK = {
    "validate": ("fedco.validation.runs.validate.validate", [ID]),
    "falsify": ("fedco.validation.falsifier.falsify", [ID]),
    "run": ("fedco.validation.experiments.run.run", ["feddro", "--problem", "p", "--T", "9", "--out", "there"]),
    "reproduce": ("fedco.validation.experiments.reproduce.run_figure", ["k/f"]),
    "verify": ("fedco.validation.runs.verify.verify", ["there", "--seed", "1"]),
    "practice": ("fedco.validation.practice.compare.practice", [ID, "--problem", "p", "--T", "9"]),
    "report": ("fedco.validation.report.page.write_report", []),
    "explore": ("fedco.validation.explorer.page.write_explorer", []),
}
"""The commands that hand all work to one function: which, and their least arguments."""
ELSEWHERE = {
    "as_json", "latex", "markdown", "trust", "device", "lemmas", "each_term", "opened", "whole", "again", "model", "figure_file",
    ("practice", "out"),
}  # fmt: skip
"""Options that choose a way to print, another function, or what is done besides; the tests below have them."""
CALLED = {
    ("validate", "problem"): "problems", ("validate", "statement"): "label", ("run", "steps"): "T", ("run", "metric"): "metrics",
    ("run", "values"): "settings", ("run", "theorem"): "theorems", ("practice", "horizon"): "T", ("practice", "values"): "settings",
}  # fmt: skip
"""What an option is called by the function, where not as by the command."""
READ = {"alpha": ("1/100", Fraction(1, 100)), "hidden": ("3/2", 1.5), "scheduler": ("tcp://h:1",) * 2}
"""A text, and what it means."""


def sample(option, known):
    """Arguments that give an option a value, and what should arrive; `known` is what arrives without them."""
    if option.name in READ:
        text, value = READ[option.name]
    elif option.name == "statement":
        text = value = "corrected" if known == "printed" else "printed"
    elif option.is_flag:
        return option.opts, True
    elif option.multiple:
        return [part for pair in ("a=1", "b=2") for part in (option.opts[0], pair)], ["a=1", "b=2"]
    else:
        value = {"int": 27, "flo": 2.5, "pat": Path("elsewhere")}.get(option.type.name[:3], "something")
        text = str(value)
    return [option.opts[0], text], value


def plainly(value):
    """An argument as it compares: what was repeated as a list of texts."""
    if isinstance(value, dict):
        return [f"{name}={text}" for name, text in value.items()]
    return list(value) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("name", WORK)
def test_each_option_is_one_argument_of_what_does_the_work(name, replaced):
    """Under the name that its signature has; everything else stays as it is without the option."""
    target, least = WORK[name]
    module, _, function = target.rpartition(".")
    known = signature(getattr(import_module(module), function))
    calls = replaced(target, key="k/f")

    def arguments(*more):
        done = run(name, *least, *more)
        assert done.exit_code == 0 and done.stdout.startswith("found in words\n"), (done.output, done.exception)
        given, named = calls.pop()
        bound = known.bind(*given, **named).arguments
        whole = {**bound, **vars(bound.get("setup", SimpleNamespace()))}
        return {key: plainly(value) for key, value in whole.items() if key != "setup" and not callable(value)}

    plain, tried = arguments(), 0
    for option in typer.main.get_command(app).commands[name].params:
        if option.param_type_name == "option" and not {option.name, (name, option.name)} & ELSEWHERE:
            called = CALLED.get((name, option.name), {"max_hours": "hours"}.get(option.name, option.name))
            text, wanted = sample(option, plain.get(called))
            found = arguments(*text)
            changed = {key: value for key, value in found.items() if plain.get(key) != value}
            assert changed == {called: wanted}, option.name
            tried += 1
    assert tried >= 2


def test_a_level_of_validate_is_between_0_and_1(replaced):
    calls = replaced("fedco.validation.runs.validate.validate")
    assert json.loads(run("validate", ID, "--json").stdout) == {"found": "found in words"}
    assert calls[0][1]["alpha"] == Fraction(1, 10**6) and calls[0][1]["quiet"] is False
    for level in ("0", "1", "-1", "2"):
        refused("wanted a level between 0 and 1, got", "validate", ID, "--alpha", level)


def test_validate_lemmas(replaced, found, tmp_path):
    calls = replaced("fedco.validation.lemmas.measure.measure_lemmas", lambda: [found(), found()])
    out = tmp_path / "out"
    done = run(
        "validate", ID, "--lemmas", "--problem", "a", "--seeds", "5", "--statement", "corrected", "--out", str(out)
    )
    assert done.stdout == "found in words\n\nfound in words\n" and (out / "lemmas").is_dir()
    assert calls.pop() == ((ID,), {"problems": ["a"], "seeds": 5, "label": "corrected", "cache": out / "lemmas"})
    done = json.loads(run("validate", ID, "--lemmas", "--json").stdout)
    assert (
        done == {"theorem": ID, "kind": "measurement", "runs": [{"found": "found in words"}] * 2}
        and calls[0][1]["cache"] is None
    )


def test_a_device_that_is_not_there_is_refused(replaced, monkeypatch):
    import torch

    calls = replaced("fedco.validation.runs.validate.validate")
    for there in (True, False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        done = run("validate", ID, "--device", "cuda")
        assert there or str(done.exception) == "--device cuda: wanted a machine with a CUDA device, found none"
    assert [named["device"] for _, named in calls] == ["cuda"]
    assert str(run("validate", ID, "--device", "tpu").exception) == "--device tpu: wanted cpu or cuda"


def test_falsify_says_where_its_bundle_is(replaced):
    calls = replaced("fedco.validation.falsifier.falsify", path="there/bundle.json")
    assert run("falsify", ID).stdout == "found in words\n  bundle: there/bundle.json\n"
    assert json.loads(run("falsify", ID, "--json").stdout) == {"found": "found in words"}
    assert calls[0][1]["assume"] == () == calls[0][1]["where"]


def test_falsify_any_hidden_constant_and_each_term(replaced):
    calls = replaced("fedco.validation.falsifier.attack.any_value")
    done = run("falsify", ID, "--hidden", "any", "--assume", "p", "--json")
    assert json.loads(done.stdout) == {"found": "found in words"} and calls.pop()[1]["assume"] == ("p",)
    calls = replaced(
        "fedco.validation.falsifier.each_term.each_term",
        lambda: [SimpleNamespace(change="without a", verdict="SURVIVED", ratio=0.5, to_dict=lambda: {"a": 1})],
    )
    replaced("fedco.validation.falsifier.each_term.as_table", "a table")
    done = run("falsify", ID, "--each-term", "--hidden", "2")
    assert done.stdout == f"{ID} (printed)\na table\n" and "without a: SURVIVED, ratio 0.5\n" in done.stderr
    assert calls[0][1]["hidden"] == 2.0
    done = run("falsify", ID, "--each-term", "--json")
    assert json.loads(done.stdout) == {"theorem": ID, "statement": "printed", "parts": [{"a": 1}]}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--each-term", "--assume", "p"], "--each-term: takes neither"),
        (["--each-term", "--where", "I=1"], "--each-term: takes neither"),
        (["--each-term", "--scheduler", "tcp://h:1"], "--scheduler: spreads searches"),
        (["--hidden", "any", "--scheduler", "tcp://h:1"], "--scheduler: spreads searches"),
    ],
)
def test_falsify_refuses_what_does_not_go_together(asked, said):
    refused(said, "falsify", ID, *asked)


def test_a_run_measures_the_objective_unless_told_otherwise(replaced):
    calls = replaced("fedco.validation.experiments.run.run")
    run("run", "feddro", "--problem", "p", "--T", "9", "--out", "there")
    assert calls[0][0] == ("feddro", "p") and calls[0][1]["metrics"] == ["objective"] and calls[0][1]["theorems"] == ()


def test_a_stopped_run_says_so(swap):
    def stop(*given, **named):
        raise Interrupted("stopped")

    swap("fedco.validation.experiments.run.run", stop)
    done = run("run", "feddro", "--problem", "p", "--T", "9", "--out", "there")
    assert done.exit_code == 130 and done.stderr == "fedco: stopped; the same command goes on from here\n"


def test_compare_runs(replaced):
    calls = replaced("fedco.validation.experiments.table.compared", ["a row"])
    replaced("fedco.validation.experiments.table.comparison_text", "a table")
    assert run("compare-runs", "a", "b").stdout == "a table\n" and calls[0][0] == ([Path("a"), Path("b")],)
    assert json.loads(run("compare-runs", "a", "--json").stdout) == {"runs": ["a row"]}


def test_reproduce(replaced, found):
    calls = replaced("fedco.validation.experiments.reproduce.run_figure", lambda: found(key="k/f"))
    assert run("reproduce", "k/f", "--out", "o").stdout == f"found in words\nwritten to {Path('o') / 'k/f'}\n"
    assert calls.pop()[0][0] == "k/f"
    calls = replaced("fedco.validation.experiments.reproduce.run_all", [1, 2])
    assert run("reproduce", "--all", "--again", "--out", "o").stdout == f"2 figures: {Path('o') / 'index.html'}\n"
    assert calls[0][0][1] == Path("o") and calls[0][0][3:] == (True, None)
    assert json.loads(run("reproduce", "--all", "--json").stdout) == {"figures": [1, 2]} and calls[1][0][3] is False
    replaced("fedco.validation.experiments.reproduce.listing", ["f"])
    replaced("fedco.validation.experiments.reproduce.listing_text", "the list")
    assert run("reproduce").stdout == "the list\n"
    assert json.loads(run("reproduce", "--json").stdout) == {"figures": ["f"]}
    refused("wanted either KEY/FIGURE or --all", "reproduce", "k/f", "--all")


def test_verify(replaced):
    replaced("fedco.validation.runs.verify.verify")
    done = run("verify", "there", "--seed", "4", "--json")
    assert json.loads(done.stdout) == {"found": "found in words", "seed": 4} and done.exit_code == 0
    assert done.stderr == "sample chosen by --seed 4\n"
    seeds = [json.loads(run("verify", "there", "--json").stdout)["seed"] for _ in range(4)]
    assert len({*seeds}) > 1 and all(0 <= seed < 10**6 for seed in seeds)
    replaced("fedco.validation.runs.verify.verify", verified=False)
    assert run("verify", "there").exit_code == 1


@pytest.mark.parametrize("name", ["explore", "report"])
def test_a_page_is_opened_where_that_is_asked_for(name, replaced, monkeypatch, tmp_path):
    calls, opened = replaced(WORK[name][0], page=tmp_path / "page.html"), []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or len(opened) < 2)
    assert run(name).stderr == "" and not opened
    assert run(name, "--open").stderr == "" and opened == [(tmp_path / "page.html").as_uri()]
    assert run(name, "--open").stderr == f"no browser found: open {tmp_path / 'page.html'} by hand\n"
    if name == "explore":
        run(name, "a", "b")
        assert calls[-1][0][1] == ["a", "b"]


def test_constants_never_write_over_a_file(tmp_path):
    out = tmp_path / "c.toml"
    done = run("constants", ID, "--out", str(out), "--json")
    data = json.loads(done.stdout)
    assert data["file"] == str(out) and out.read_text() == data["toml"] and "B_g" in data["toml"]
    assert run("constants", ID).stdout == data["toml"].rstrip("\n") + "\n"
    shared = json.loads(run("constants", ID, "--shared", "--json").stdout)
    assert shared["file"] is None and "outer_smoothness" in shared["toml"] and shared["toml"] != data["toml"]
    refused("wanted a new file, got one that is there", "constants", ID, "--out", str(out))


def test_prove_ends_with_its_status(replaced):
    calls = replaced("fedco.bounds.proof.locks.prove", checked=False)
    assert run("prove", ID).exit_code == 1 and calls[0][0][0].id == ID
    assert calls[0][1]["given"] == ID and calls[0][1]["rules_only"] is False
    replaced("fedco.bounds.proof.locks.prove", checked=True)
    done = run("prove", ID, "--json")
    assert done.exit_code == 0 and json.loads(done.stdout) == {"found": "found in words"}


def test_audit_checks_one_finding_again(replaced):
    calls = replaced("fedco.bounds.audit.checks.recheck", {"x": Fraction(1, 3)})
    assert run("audit", ID, "--recheck", "f").stdout.startswith("f: confirmed\n") and calls[0][0] == ("f", ID)
    data = json.loads(run("audit", "--recheck", "f", "--json").stdout)
    assert data == {"finding": "f", "confirmed": True, "evidence": {"x": "1/3"}}


def test_a_sweep_is_drawn_beside_its_bound(replaced, tmp_path):
    calls = replaced("fedco.validation.runs.sweeps.run_sweep")
    replaced("fedco.validation.runs.sweeps.sweep_figure", lambda: SimpleNamespace(data=[1]))
    saved = replaced("fedco.figures.save")
    replaced("fedco.validation.runs.registry.sweep_for", "the sweep")
    out = tmp_path / "new" / "s.svg"
    done = run("plot", ID, "--sweep", "K", "--out", str(out), "--seeds", "32", "--cache", "c", "--jobs", "2", "--max-hours", "5",
               "--json")  # fmt: skip
    assert json.loads(done.stdout) == {"found": "found in words", "file": str(out), "data": [1]} and out.parent.is_dir()
    wanted = (("the sweep",), {"seeds": 32, "jobs": 2, "cache": Path("c"), "hours": 5.0})
    assert wanted in calls and saved[-1][0][1] == out
    assert run("plot", ID, "--sweep", "K", "--out", str(out)).stdout == f"found in words\nwrote {out}\n"
    for asked, said in (
        (["--out", "x.gif", "--over", "T"], "wanted a file ending in .svg, .png or .pdf"),
        (["--out", "x.svg"], "wanted either --over NAME or --sweep NAME"),
        (["--out", "x.svg", "--over", "T", "--sweep", "K"], "wanted either --over NAME or --sweep NAME"),
    ):
        refused(said, "plot", ID, *asked)


@pytest.fixture
def replays(monkeypatch):
    """Replace what replays a bundle by answers, one for each call: whether it is confirmed."""
    verdict = SimpleNamespace(to_dict=lambda: {"v": 1}, sheet=lambda: Sheet("v", None, (), ("note",)))

    def answered(*outcomes):
        done = iter([SimpleNamespace(confirmed=each, largest_difference=0.5, verdict=verdict) for each in outcomes])
        monkeypatch.setattr(
            bundles, "replay", lambda kept, registry: SimpleNamespace(**vars(next(done)), notes=kept.notes)
        )

    return answered


def test_what_a_replay_found(replays, swap, monkeypatch):
    notes = {"reading": "as printed", "z": "no", "assumptions": {"1": True, "2": False}}
    checks = {"assumption_checks": {"1": ["a", "b"], "2": ["c"]}}
    for confirmed, word in ((True, "confirmed"), (False, "NOT confirmed")):
        for more in ({}, checks):
            swap("fedco.validation.runs.refutations.names_about", lambda name: ())
            swap(
                "fedco.validation.runs.refutations.named_bundle",
                lambda name, more=more: SimpleNamespace(notes=notes | more),
            )
            replays(*[confirmed] * 3)
            done, data = run("replay", "dir/x.json"), json.loads(run("replay", "dir/x.json", "--json").stdout)
            assert done.exit_code == (0 if confirmed else 1) and data["assumptions"] == {"1": True, "2": False}
            lines = done.stdout.splitlines()
            assert lines[0] == word and lines[2] == "  reading: as printed"
            assert lines[3:] == (["  assumption 1 holds: a; b", "  assumption 2 is violated: c"] if more else [])
            shown = []
            monkeypatch.setattr(terminal, "is_terminal", lambda: True)
            monkeypatch.setattr(terminal, "show_sheets", shown.extend)
            run("replay", "dir/x.json")
            monkeypatch.setattr(terminal, "is_terminal", lambda: False)
            assert shown[0].title == f"x: {word}" and shown[0].notes[:3] == (word, "note", "reading: as printed")


def test_completion():
    assert options.theorem_ids("feddro.theorem_5") == ["feddro.theorem_5_1"]
    assert {"feddro.", "fcsg."} <= {*options.theorem_ids("f")} and options.theorem_ids("nothing") == []
    assert all(name.startswith("local_scgdm.") for name in options.theorem_ids("local_sc"))
    assert {"local_sgd", "local_scgdm"} <= {*options.method_names("local_s")} <= {*options.method_names("l")}
    assert all(name.startswith("local_s") for name in options.method_names("local_s"))
    assert "feddro_noisy" in options.problem_names("feddro_n") and options.problem_names("zzz") == []


NO_MEMORY = (
    MemoryError(),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8000 bytes. Error code 12"),
    RuntimeError("can't start new thread"),
    RuntimeError("CUDA out of memory."),
)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InputError("wrong"), "fedco: wrong\n"),
        (OSError(2, "gone", "a/file"), "fedco: a/file: cannot be read or written (gone)\n"),
        *((error, "fedco: not enough memory; wanted fewer seeds, points or processes (--jobs)") for error in NO_MEMORY),
        (SystemError("x"), "fedco: Python itself failed (x), as it does when memory runs out"),
        (typer.Abort(), "fedco: stopped\n"),
    ],
)
def test_errors_end_in_one_line_and_status_2(error, said, swap, capsys):
    def fail(**named):
        raise error

    swap("fedco.cli.app", fail)
    with pytest.raises(SystemExit) as ended:
        main()
    found = capsys.readouterr().err
    assert ended.value.code == 2 and found.startswith(said) and found.count("\n") == 1


def test_other_errors_keep_their_traceback_and_a_status_is_passed_on(swap):
    for error in (RuntimeError("x"), OSError("without a file"), OSError(13, "out of memory")):
        swap("fedco.cli.app", lambda error=error, **named: (_ for _ in ()).throw(error))
        with pytest.raises(type(error)):
            main()
    for status, code in ((3, 3), (None, 0), ("words", 0)):
        swap("fedco.cli.app", lambda status=status, **named: status)
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code


def test_ctrl_c_ends_without_a_traceback(monkeypatch, swap, capsys):
    def stop(*given, **named):
        raise KeyboardInterrupt

    swap("fedco.validation.runs.verify.verify", stop)
    monkeypatch.setattr(sys, "argv", ["fedco", "verify", "there", "--seed", "1"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130 and capsys.readouterr() == ("", "sample chosen by --seed 1\n")


LONG = {
    **{name: WORK[name] for name in ("validate", "report", "run", "reproduce", "verify")},
    "plot": ("fedco.validation.runs.sweeps.run_sweep", [ID, "--sweep", "K", "--out", "s.svg"]),
}
"""The commands that compute for long, what does it, and their least arguments."""


@pytest.mark.parametrize("policy", [None, "ACTIVE"])
def test_threads_that_wait_sleep_unless_the_user_wants_otherwise(policy, replaced, found, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    replaced("fedco.validation.runs.sweeps.sweep_figure", lambda: SimpleNamespace(data=[]))
    replaced("fedco.figures.save")
    replaced("fedco.validation.runs.registry.sweep_for", "the sweep")
    for name, (target, arguments) in LONG.items():
        replaced(target, lambda: found(key="k/f"))
        monkeypatch.setenv("OMP_WAIT_POLICY", policy or "")
        if policy is None:
            monkeypatch.delenv("OMP_WAIT_POLICY")
        assert run(name, *arguments).exit_code == 0 and os.environ["OMP_WAIT_POLICY"] == (policy or "PASSIVE"), name
