"""A fuzz campaign over everything that takes a user's text: only results or one-line errors, within a time and a memory limit.

    python tests/fuzz/fuzz_campaign.py [--inputs 20000] [--seed 0] [--seconds 60] [--gib 4] [--only NAME]

Eight targets: the formula reader, TOML theorems, constants, command lines that answer, command lines that compute or write, the
explorer's page of a stranger's theorem, bundles and the Python entries. Each input is valid in part, so that it gets past the
first check: a real id with a broken number, a real file with one key replaced. Texts are drawn from every class of Unicode
characters, lone surrogates included; numbers from every magnitude. The time limit is one of processor time, so that a loaded
machine finds nothing more; ten times as much passes on the wall before an input counts as hanging. What is found is printed
with the input that shows it; exit status 1 then.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import patch

import fedco
import typer
from fedco import cli, storage
from fedco.bounds.cost.resources import RESOURCES
from fedco.bounds.language.definition import define
from fedco.bounds.language.theorem import DeclarationError
from fedco.bounds.optimum.model import GIVEN
from fedco.bounds.registry import all_theorems
from fedco.errors import InputError
from fedco.suggestion import nearest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from typer.core import TyperGroup

ROOT = Path(fedco.__file__).parent
SHARES = {"formula": 25, "toml": 15, "constants": 15, "command": 15, "work": 5, "page": 2, "bundle": 8, "python": 15}
"""Per cent of the inputs: a page takes half a second, a formula a hundredth of one."""
TARGETS = tuple(SHARES)
FIELDS = tomllib.loads((ROOT / "examples" / "pr_sgd.toml").read_text())
BUNDLES = [json.loads(file.read_text()) for file in sorted((ROOT / "bounds" / "papers").glob("*/refutations/*.json"))]
LINES_BEFORE_THE_END = 2
"""An error is one line; a note of the command, such as the day of the last audit, may stand before it."""

_WORTH_SHOWING, _SHOWN = 2.0, 300
"""Seconds from which on the input that took longest is shown, and how much of it."""

# --- inputs ----------------------------------------------------------------------------------------------------------

texts = st.text(st.characters(codec=None, categories=None), max_size=40) | st.text(max_size=8)
numbers = st.one_of(
    st.integers(-(10**40), 10**40).map(str),
    st.floats().map(str),
    st.fractions().map(str),
    st.sampled_from(
        ["0", "-0", "1e400", "1e-400", "1e99", "1e-99", "1e999999999", "1/0", "0/1", "1/" + "9" * 400, "9" * 5000, "1_0", "0x1",
         "1e1e1", "１２", "٣", "½", "∞", "nan", "inf", "-inf", "True", "None", "1j", "1//3", "1/3/5", " 1", "1 ", "+1", ".5", "5."]
    ),
)  # fmt: skip
good_numbers = st.sampled_from(["1", "2", "1/3", "0.1", "1e-3", "100", "1000000", "1e8", "7/9", "1e-30", "1e30"])
ids = st.sampled_from(sorted(all_theorems()))
problems = st.sampled_from(["federated_noisy", "feddro_noisy", "invariant", "maml"])
SMALL_METHODS = [
    ["local_sgd", "--problem", "federated_noisy", "--set", "tau=2"],
    ["scaffold", "--problem", "federated_noisy", "--set", "tau=3"],
    ["feddro", "--problem", "feddro_noisy", "--set", "beta=0.1", "--set", "I=2"],
    ["fcsg", "--problem", "invariant", "--set", "m=2", "--set", "q=2"],
]
small_runs = st.sampled_from(["baselines.minibatch_sgd", "baselines.local_sgd"])
names = st.sampled_from(sorted({s for item in all_theorems().values() for s in item.symbols()}))
pieces = st.sampled_from(
    [
        *FIELDS["symbols"], *"+-*/(),.^&|=<>!'\"\\;:[]{}@#$%~`?_ \t\n", "**", "//", "sqrt", "min", "max", "exp", "log",
        "__import__", "lambda", "0", "1", "2", "1/3", "1e9", "999999999", "**999999", "x" * 300,
    ]
)  # fmt: skip
formulas = st.lists(pieces, max_size=14).map("".join) | st.lists(pieces | texts, max_size=6).map("".join)
atoms = st.sampled_from(sorted(FIELDS["symbols"])) | st.sampled_from(["2", "1/3", "0.5", "1000000"])
regular = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", " * ", "**2 + ", "**(1/2) * "]), inner).map("".join),
        inner.map("({})".format),
        inner.map("sqrt({})".format),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(inner, st.sampled_from(["2", "-1", "(1/3)", "40", "99999", "(-1/2)"])).map(
            lambda t: f"({t[0]})**{t[1]}"
        ),
    ),
    max_leaves=8,
)
"""Formulas of the grammar; the powers may be absurd."""
deep = st.integers(1, 3000).map(lambda n: "(" * n + "L" + ")" * n) | st.integers(1, 400).map(
    lambda n: "sqrt(" * n + "L" + ")" * n
)
scalars = st.one_of(texts, numbers, formulas, st.integers(), st.floats(), st.booleans(), st.none())
plain = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
objects = st.one_of(
    st.integers(), st.floats(), st.fractions(), st.booleans(), st.none(), texts, numbers, good_numbers, st.lists(st.integers(), max_size=3),
    st.decimals(), st.complex_numbers(), st.binary(max_size=4), st.just(object()), st.just(Fraction(1, 3)), st.just(10**5000),
)  # fmt: skip


@st.composite
def keys(draw: Callable[..., Any]) -> dict[str, Any]:
    """The keys of a valid theorem with one to three places replaced, removed or added."""
    fields = copy.deepcopy(FIELDS)
    for _ in range(draw(st.integers(1, 3))):
        table = fields
        name = draw(st.sampled_from(sorted(fields) or ["id"]))
        if isinstance(fields.get(name), dict) and fields[name] and draw(st.integers(0, 3)):
            table, name = fields[name], draw(st.sampled_from(sorted(fields[name], key=str)))
        how = draw(st.integers(0, 5))
        if how == 0:
            table.pop(name, None)
        elif how == 1:
            table[draw(texts)] = draw(plain)
        else:
            table[name] = draw(formulas | deep if how < 4 else plain)
    return fields


@st.composite
def bundles(draw: Callable[..., Any]) -> bytes:
    """A bundle with a node replaced or removed, half of the time with the checksum of what it now says; or any bytes."""
    if not draw(st.integers(0, 9)):
        return draw(st.binary(max_size=200))
    data = copy.deepcopy(draw(st.sampled_from(BUNDLES)))
    node: Any = data
    for _ in range(draw(st.integers(0, 3))):
        inside = [
            k
            for k in (node if isinstance(node, dict) else range(len(node)))
            if isinstance(node[k], (dict, list)) and node[k]
        ]
        if not inside:
            break
        node = node[draw(st.sampled_from(inside))]
    key = draw(st.sampled_from(sorted(node) if isinstance(node, dict) else list(range(len(node)))))
    if draw(st.booleans()) and isinstance(node, dict):
        del node[key]
    else:
        node[key] = draw(plain)
    text = json.dumps(storage.sealed(data) if draw(st.booleans()) else data, default=str)
    return text.encode(errors="surrogatepass")[: draw(st.sampled_from([None, None, None, 10, 500]))]


@st.composite
def settings_of(draw: Callable[..., Any]) -> list[str]:
    """`--set NAME=VALUE` for the symbols of a theorem, most of them in order."""
    name = draw(ids)
    known = sorted(all_theorems()[name].symbols())
    broken = draw(st.sets(st.sampled_from(known), max_size=2)) if known else set()
    values = {s: draw(numbers | texts) if s in broken else draw(good_numbers) for s in known}
    if not draw(st.integers(0, 4)):
        values[draw(texts | names)] = draw(numbers)
    return [name, *(part for s, value in values.items() for part in ("--set", f"{s}={value}"))]


@st.composite
def commands(draw: Callable[..., Any]) -> list[str]:
    """A command line: one of the quick commands with an id, settings and an option that may be no option."""
    quick = "show bound bound bound admissible complexity audit theorems compare symbols constants replay prove"
    name = draw(st.sampled_from(quick.split()))
    line = [name]
    if name in ("bound", "admissible", "complexity"):
        line += draw(settings_of())
    else:
        line += draw(st.lists(ids | texts, max_size=1))
    if name == "admissible" and draw(st.integers(0, 3)):
        line += ["--solve", draw(names | texts)]
    if not draw(st.integers(0, 2)):
        options = "--json --statement printed corrected --eps -1 --orders --help -h --version --strict --latex --markdown -- --constants"
        extra = st.sampled_from([*options.split(), "/dev/null", "/", "--recheck"])
        line += draw(st.lists(extra | texts | numbers, max_size=3))
    return [part.replace("\0", "\N{REPLACEMENT CHARACTER}") for part in line]


@st.composite
def in_order(draw: Callable[..., Any]) -> list[str]:
    """A command line that asks about any statement and of which every part is in order; the numbers are usual ones or of any size."""
    name = draw(ids)
    theorem = all_theorems()[name]
    label = draw(st.sampled_from(sorted(theorem.statements)))
    any_size = draw(st.booleans())
    whole = st.sampled_from(["1", "2", "100", "1000000"] if any_size else ["1", "2", "3", "8"])
    real = good_numbers if any_size else st.sampled_from(["1", "2", "1/3", "0.1", "1e-3", "7/9"])

    def given_but(*left: str) -> list[str]:
        asked = [(s, binding.quantity.domain) for s, binding in theorem.symbols(label).items() if s not in left]
        values = [(s, draw(real if domain.endswith("real") else whole)) for s, domain in asked]
        return [part for s, value in values for part in ("--set", f"{s}={value}")]

    known = theorem.symbols(label)
    free = [
        s
        for s, binding in known.items()
        if binding.quantity.role == "hyperparameter" and binding.quantity.name not in GIVEN
    ]
    solved = draw(st.sampled_from(free or ["eta"]))
    statement, eps, paid = ["--statement", label], ["--eps", draw(real)], draw(st.sampled_from(sorted(RESOURCES)))
    cost = draw(st.sampled_from([[], ["--cost", paid]]))
    priced = draw(st.sampled_from([[], ["--cost", paid], ["--weight", f"{paid}=3", "--weight", "samples=1"]]))
    budget = draw(st.sampled_from(["samples=100000", "rounds=100", "samples=1e9", f"{paid}=1000"]))
    lines = {
        "show": lambda: [name, *statement],
        "bound": lambda: [name, *statement, *given_but(), *draw(st.sampled_from([[], ["--sensitivity"], ["--strict"]]))],
        "admissible": lambda: [name, *statement, *given_but(solved), "--solve", solved],
        "complexity": lambda: [name, *statement, *given_but(*free), *eps, *cost],
        "tune": lambda: [
            name, *statement, *given_but(*free), *draw(st.sampled_from([[*eps, *priced], ["--budget", budget]]))
        ],
        "compare": lambda: [name, draw(ids), *draw(st.sampled_from([[*eps, *cost], ["--orders", *cost]]))],
        "audit": lambda: [name],
        "symbols": lambda: [name],
        "constants": lambda: [name, *statement],
        "prove": lambda: [name],
    }  # fmt: skip
    command = draw(st.sampled_from(["bound", "bound", "bound", "admissible", "admissible", "tune", *sorted(lines)]))
    return [command, *lines[command](), *draw(st.sampled_from([[], ["--json"]]))]


@st.composite
def work(draw: Callable[..., Any]) -> list[str]:
    """A command that computes or writes into the folder `{place}`: small where it is valid, otherwise broken or absurdly large."""
    small, step = st.sampled_from(["1", "2"]), st.sampled_from(["0.1", "1e-3", "1/3", "1"])
    wild = st.sampled_from(["0", "-1", "99999999999", "1" + "0" * 30, "1e9", "2.5"]) | texts
    count, number, problem, name = (
        st.one_of(*([good] * 7), bad)
        for good, bad in ((small, wild), (step, numbers | texts), (problems, texts), (names, texts))
    )
    theorem = st.one_of(*([small_runs] * 4), ids, texts)
    lines = {
        "run": lambda: ["run", "local_sgd", "--problem", draw(st.one_of(*([st.just("federated_noisy")] * 5), problem)), "--T", draw(count),
                "--seeds", draw(count), "--set", f"tau={draw(count)}", "--grid", f"eta={draw(number)}:{draw(number)}:{draw(count)}",
                *draw(st.sampled_from([[], [], ["--set", "problem.clients=2"], ["--set", "problem.dim=0"]])), "--out", "{place}/run"],
        "tune": lambda: ["tune", *draw(settings_of()), draw(st.sampled_from(["--eps", "--budget", "--range", "--cost"])), draw(number)],
        "validate": lambda: ["validate", draw(theorem), "--problem", draw(problem), "--seeds", draw(count), "--alpha", draw(number),
                     "--max-hours", "0.001", "--jobs", "1", "--out", "{place}/validate"],
        "plot": lambda: ["plot", *draw(settings_of()), "--over", draw(name), "--from", draw(number), "--to", draw(number),
                 "--out", "{place}/" + draw(st.sampled_from(["a.svg", "a.png", "a.exe", ".svg"]))],
        "falsify": lambda: ["falsify", draw(theorem), "--seconds", "0.1", "--hidden", draw(number), "--seed", draw(count),
                    *draw(st.sampled_from([[], [], ["--assume", "no_extra_term"], ["--assume", "x"]])), "--out", "{place}/falsify"],
        "verify": lambda: ["verify", draw(texts | st.just("{place}")), "--cases", draw(count), "--seed", draw(count)],
        "compare-runs": lambda: ["compare-runs", draw(texts | st.just("{place}"))],
        "reproduce": lambda: ["reproduce", draw(texts), "--seeds", draw(count), "--out", "{place}/reproduce"],
        "estimate": lambda: ["estimate", draw(texts), "--theorem", draw(ids | texts), "--points", draw(count), "--radius", draw(number)],
        "counterexample": lambda: ["counterexample", draw(texts), "--case", draw(texts)],
        "report": lambda: ["report", "--quick", "--scheduler", draw(texts), "--jobs", "0", "--out", "{place}/report"],
        "constants": lambda: ["constants", draw(ids | texts), *draw(st.sampled_from([[], ["--statement", "printed"], ["--shared"]])),
                              "--out", "{place}/c.toml"],
        "problems": lambda: ["problems", *draw(st.lists(texts, max_size=1))],
        "algorithms": lambda: ["algorithms", *draw(st.lists(texts, max_size=1))],
    }  # fmt: skip
    line = lines[draw(st.sampled_from(["run", "run", "tune", "validate", *sorted(lines)]))]()
    if not draw(st.integers(0, 3)):
        line = line + draw(
            st.lists(st.sampled_from(["--json", "--latex", "--device", "cuda", "--statement"]) | texts, max_size=2)
        )
    return [part.replace("\0", "\N{REPLACEMENT CHARACTER}") for part in line]


@st.composite
def sound(draw: Callable[..., Any]) -> list[str]:
    """A small command line of which every part is in order, so that it is tried how a command computes; figures and numbers vary."""
    few, step = (
        draw(st.sampled_from(["1", "2", "3"])),
        draw(st.sampled_from(["0.1", "1e-3", "0.01", "0", "1e-30", "1e9"])),
    )
    usual, any_size = st.sampled_from(["1", "2", "1/3", "0.1", "100", "7/9"]), good_numbers
    given = {name: draw(st.one_of(usual, usual, any_size)) for name in ("L_bar", "sigma", "F_gap")}
    constants = [part for name, value in given.items() for part in ("--set", f"{name}={value}")]
    clients = ["--set", f"N={draw(st.sampled_from(['1', '4', '1000000']))}"]
    targets = st.sampled_from(
        ["--eps 0.1", "--eps 1e-6", "--budget samples=1000", "--budget rounds=50 --budget samples=1e9"]
    )
    searched = st.sampled_from(
        ["local_scgdm.lemma_4_2", "baselines.local_sgd", "feddro.theorem_f_6", "meta_fl.lemma_12"]
    )
    figure = st.sampled_from(["", "", "feddro/figure_6 --seeds 6 --out {place}/reproduce"])
    metric = st.sampled_from(["objective", "gradient_sq", "bytes", "consensus_error"])
    few_or_16 = st.sampled_from(["1", "2", "16"])
    level, end = st.sampled_from(["0.1", "1e-3", "1e-30"]), st.sampled_from(["11", "1e9"])
    lines = {
        "run": lambda: ["run", *draw(st.sampled_from(SMALL_METHODS)), "--T", draw(st.sampled_from(["1", "7", "40"])), "--seeds", few,
                "--grid", f"eta={step},0.05", "--metric", draw(metric), "--every", few, "--out", "{place}/run"],
        "tune": lambda: ["tune", "baselines.minibatch_sgd", *constants, *clients, *draw(targets).split()],
        "validate": lambda: ["validate", draw(small_runs), "--problem", "federated_noisy", "--seeds", draw(few_or_16),
                     "--alpha", draw(level), "--jobs", "1", "--out", "{place}/validate"],
        "plot": lambda: ["plot", "baselines.minibatch_sgd", *constants, *clients, "--set", "b=1", "--set", f"eta={step}", "--over", "T",
                 "--from", draw(st.sampled_from(["1", "10"])), "--to", draw(end), "--out", "{place}/a.svg"],
        "falsify": lambda: ["falsify", draw(searched), "--seconds", draw(st.sampled_from(["0.1", "0.5"])), "--seed", few,
                    "--hidden", draw(usual), "--out", "{place}/falsify"],
        "verify": lambda: ["verify", "{place}/made/validate", "--cases", few, "--seed", few],
        "compare-runs": lambda: ["compare-runs", *(["{place}/made/run"] * int(few))],
        "reproduce": lambda: ["reproduce", *draw(figure).split()],
        "counterexample": lambda: ["counterexample", "feddro.theorem_4_1", "--case", draw(st.sampled_from(["I", "II"]))],
        "constants": lambda: ["constants", draw(ids), *draw(st.sampled_from([[], ["--shared"]])), "--out", "{place}/c.toml"],
        "problems": lambda: ["problems"],
        "algorithms": lambda: ["algorithms"],
    }  # fmt: skip
    line = lines[draw(st.sampled_from(["run", "run", "run", "tune", "tune", "validate", *sorted(lines)]))]()
    return line + draw(st.sampled_from([[], ["--json"]]))


MARK = "zzq"
"""In every piece of markup that a stranger's theorem tries to smuggle in; no page of ours has it."""
markup = st.sampled_from(
    [
        f"<script>{MARK}()</script>", f"</script><script>{MARK}()</script>", f"<img src=x onerror={MARK}()>", f"-->{MARK}<b {MARK}>",
        f"</template><svg onload={MARK}()>", f"]]><i class={MARK}>", f"</title><p id={MARK}>", f"' onclick='{MARK}", f'" onclick="{MARK}',
        f"$</span><b {MARK}>$", f"\\href{{javascript:{MARK}}}{{a}}", f"[a](javascript:{MARK})", f"&lt;b {MARK}&gt;", f"<!--{MARK}",
    ]
)  # fmt: skip


@st.composite
def hostile(draw: Callable[..., Any]) -> dict[str, Any]:
    """The keys of a valid theorem whose words are markup."""
    fields = copy.deepcopy(FIELDS)
    words = st.lists(markup | texts, min_size=1, max_size=3).map("".join)
    for name in draw(st.sets(st.sampled_from(["title", "source"]), min_size=1)):
        fields[name] = draw(words)
    if not draw(st.integers(0, 5)):
        fields["id"] = f"stranger.{draw(words)}"
    return fields


# --- what must hold --------------------------------------------------------------------------------------------------


class Finding(AssertionError):
    """An input for which the answer was neither a result nor a one-line error."""


class TooLong(BaseException):
    """The time limit; not an Exception, so that nothing of fedco takes it for an error of its own."""


@contextlib.contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    """End what takes more processor time, or ten times as long, as an interrupt would."""

    def stop(*_: object) -> None:
        raise TooLong

    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def call(function: Callable[..., Any], *given: Any, **named: Any) -> str:
    """Call a Python entry: `answered` or `refused`.

    Raises:
        Finding: another exception than fedco's own, or one of several lines.
    """
    try:
        function(*given, **named)
    except (InputError, DeclarationError) as error:
        if len(str(error).splitlines()) > 1:
            raise Finding(f"an error of several lines: {error!r}") from error
        return "refused"
    except Exception as error:
        raise Finding(f"{type(error).__name__}: {str(error)[:200]}") from error
    return "answered"


def run_command(line: list[str]) -> str:
    """Run a command line in this process: `answered` or `refused`.

    Raises:
        Finding: an exception that would be a traceback, an exit status that the command's help does not have, or a long error.
    """
    out, err = io.StringIO(), io.StringIO()
    status: Any = 0
    with patch.object(sys, "argv", ["fedco", *line]), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as end:
            status = end.code or 0
        except Exception as error:
            raise Finding(f"{type(error).__name__}: {str(error)[:200]}") from error
    told = err.getvalue()
    says_no = status == 1 and out.getvalue().strip() and line[0] in says_no_by_status()
    if not (status in (0, 2, 3) or says_no) or "Traceback" in told:
        raise Finding(f"exit status {status!r}: {told[-300:]}")
    if status == 2 and not 1 <= len(told.strip().splitlines()) <= LINES_BEFORE_THE_END:
        raise Finding(f"an error of {len(told.splitlines())} lines: {told[:300]}")
    if status in (0, 1) and "--json" in line and "--help" not in line and out.getvalue().strip():
        json.loads(out.getvalue())
    return "answered" if status in (0, 1) else "refused"


@cache
def says_no_by_status() -> frozenset[str]:
    """The commands whose help says that exit status 1 is an answer: what was asked about does not hold."""
    known = typer.main.get_command(cli.app)
    assert isinstance(known, TyperGroup)
    return frozenset(
        name for name, each in known.commands.items() if "exit status 1" in " ".join((each.help or "").split())
    )


def to_toml(value: Any) -> str:
    """A value in TOML, as far as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(k))} = {to_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    return (
        str(value)
        if isinstance(value, (int, float))
        else json.dumps("" if value is None else str(value), ensure_ascii=False)
    )


def write_toml(folder: Path, fields: dict[str, Any]) -> str:
    """A TOML file with these keys; returns its path."""
    file = folder / "given.toml"
    text = "\n".join(f"{json.dumps(str(name))} = {to_toml(value)}" for name, value in fields.items())
    file.write_bytes(text.encode(errors="surrogatepass"))
    return str(file)


def try_formula(folder: Path, text: str) -> str:
    fields = {
        **FIELDS,
        "units": ["local_smoothness", "local_gradient_noise", "objective_gap"],
        "terms": {**FIELDS["terms"], "given": text},
    }
    return call(define, **fields)


def try_toml(folder: Path, fields: dict[str, Any]) -> str:
    file = write_toml(folder, fields)
    outcome = run_command(["show", file])
    run_command(["bound", file, "--set", "L=1", "--set", "eta=1/10"])
    return outcome


def try_work(folder: Path, line: list[str]) -> str:
    if not (folder / "made").exists():  # for the commands that read what others wrote
        made = str(folder / "made")
        run_command(["run", *SMALL_METHODS[0], "--set", "eta=0.1", "--T", "4", "--seeds", "2", "--out", f"{made}/run"])
        run_command(["validate", "baselines.minibatch_sgd", "--problem", "federated_noisy", "--seeds", "4", "--jobs", "1",
                     "--out", f"{made}/validate"])  # fmt: skip
    (folder / "c.toml").unlink(missing_ok=True)  # a file that is there is not written over
    return run_command([part.replace("{place}", str(folder)) for part in line])


class _Elements(HTMLParser):
    """What stands where markup stands: names of elements, and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.found += [
            part for name, value in attrs for part in (name, *([value] if _runs(tag, name) and value else []))
        ]


def _runs(tag: str, attribute: str) -> bool:
    """Whether a browser would do something with the value; elsewhere an attribute may hold any text."""
    return attribute.startswith("on") or attribute in ("href", "src", "style", "srcdoc", "action")


def try_page(folder: Path, fields: dict[str, Any]) -> str:
    page = folder / "page.html"
    page.unlink(missing_ok=True)
    outcome = run_command(["explore", write_toml(folder, fields), "--out", str(page)])
    if outcome == "answered":
        seen = _Elements()
        seen.feed(page.read_text(encoding="utf-8"))
        if any(MARK in part for part in seen.found):
            raise Finding(f"markup of a stranger in the page: {[part for part in seen.found if MARK in part][:3]}")
    return outcome


def try_constants(folder: Path, given: tuple[str, dict[str, Any]]) -> str:
    name, values = given
    return run_command(["bound", name, "--constants", write_toml(folder, values)])


def try_bundle(folder: Path, content: bytes) -> str:
    file = folder / "given.json"
    file.write_bytes(content)
    return run_command(["replay", str(file)])


def try_python(folder: Path, given: tuple[str, dict[str, Any], str]) -> str:
    name, values, text = given
    call(fedco.theorem, text)
    nearest(text, ["a"])
    return call(lambda: fedco.theorem(name).bound(strict=False, **values))


@st.composite
def python_calls(draw: Callable[..., Any]) -> tuple[str, dict[str, Any], str]:
    name = draw(ids)
    known = sorted(all_theorems()[name].symbols())
    values = {s: draw(objects) if not draw(st.integers(0, 5)) else draw(good_numbers) for s in known}
    return name, values, draw(texts)


@st.composite
def constants(draw: Callable[..., Any]) -> tuple[str, dict[str, Any]]:
    """All constants of a theorem, up to two of them replaced, sometimes with one more."""
    name = draw(ids)
    known = sorted(all_theorems()[name].symbols())
    values: dict[str, Any] = {s: draw(good_numbers) for s in known}
    for _ in range(draw(st.integers(0, 2)) if known else 0):
        values[draw(st.sampled_from(known))] = draw(plain)
    if not draw(st.integers(0, 3)):
        values[draw(names | texts)] = draw(plain | good_numbers)
    return name, values


INPUTS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Path, Any], str]]] = {
    "formula": (regular | regular | formulas | deep | texts, try_formula),
    "toml": (keys(), try_toml),
    "constants": (constants(), try_constants),
    "command": (in_order() | commands(), lambda folder, line: run_command(line)),
    "work": (sound() | work(), try_work),
    "page": (hostile(), try_page),
    "bundle": (bundles(), try_bundle),
    "python": (python_calls(), try_python),
}


def fuzz(target: str, inputs: int, *, start: int = 0, seconds: int = 60) -> tuple[Counter[str], int, tuple[float, Any]]:
    """Try so many inputs of one target; returns how many were answered and refused, how many were different, and the longest time of one
    with that input.

    Raises:
        Finding: with the shortest input found for which the answer is neither.
    """
    strategy, attempt = INPUTS[target]
    counts: Counter[str] = Counter()
    different: set[int] = set()
    longest: tuple[float, Any] = (0.0, None)

    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")

        @seed(start)
        @settings(
            max_examples=inputs,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        )
        @given(strategy)
        def check(value: Any) -> None:
            nonlocal longest
            before = time.process_time()
            try:
                with time_limit(seconds):
                    counts[attempt(Path(place), value)] += 1
                    different.add(hash(pickle.dumps(value)))
            except TooLong:
                raise Finding(f"longer than {seconds} s") from None
            except MemoryError:
                raise Finding("more memory than allowed") from None
            longest = max(longest, (time.process_time() - before, value), key=lambda each: each[0])

        check()
    return counts, len(different), longest


def main() -> int:
    """Run the campaign and print one line for each target; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=60, help="processor time of one input")
    parser.add_argument("--gib", type=float, default=4.0)
    parser.add_argument("--only", choices=TARGETS)
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (int(asked.gib * 2**30),) * 2)
    targets = (asked.only,) if asked.only else TARGETS
    found = 0
    for target in targets:
        begin = time.perf_counter()
        try:
            inputs = asked.inputs if asked.only else asked.inputs * SHARES[target] // 100
            counts, different, longest = fuzz(target, inputs, start=asked.seed, seconds=asked.seconds)
        except Finding as finding:
            found += 1
            print(f"{target}: {finding}\n  " + "\n  ".join(getattr(finding, "__notes__", ())), flush=True)
            continue
        told = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
        seconds, value = longest
        which = f" ({str(value)[:_SHOWN]})" if seconds > _WORTH_SHOWING else ""
        print(
            f"{target}: {told}; {different} different; the longest took {seconds:.1f} s{which}; {time.perf_counter() - begin:.0f} s in all",
            flush=True,
        )
    return int(found > 0)


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "200")
    raise SystemExit(main())
