"""Answers in Python, in LaTeX, in Markdown, in HTML and as data frames: the same numbers everywhere, and nothing unescaped."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fedco
import numpy as np
import pytest
from fedco.bounds.cost.comparison import compare, orders
from fedco.bounds.language.result import (
    AbstractResult,
    Math,
    Sheet,
    Table,
    shown,
    tex_text,
    to_html,
    to_latex,
    to_markdown,
)
from fedco.bounds.registry import all_theorems
from in_a_notebook import html, latex
from in_process import run

ID = "fcsg.theorem_4_1"
CONSTANTS = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": "1/2", "F_gap": 1, "N": 4}
POINT = {**CONSTANTS, "alpha": "1/100", "q": 4, "m": 100, "b": 2, "B": 2, "T": 10**5}
OUTSIDE = {**POINT, "alpha": 10}
SETS = [part for name, value in CONSTANTS.items() for part in ("--set", f"{name}={value}")]
AT = [part for name, value in POINT.items() for part in ("--set", f"{name}={value}")]
TWO = (ID, "baselines.biased_sgd")
QUANTITIES = {"clients": 20, "inner_value_noise": 2}

ANSWERS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "bound": (lambda: fedco.theorem(ID).bound(**POINT), ["bound", ID, *AT]),
    "outside": (
        lambda: fedco.theorem(ID).bound(strict=False, **OUTSIDE),
        ["bound", ID, *AT[: AT.index("alpha=1/100")], "alpha=10", *AT[AT.index("alpha=1/100") + 1 :]],
    ),
    "printed": (
        lambda: fedco.theorem(ID).admissible("alpha", "printed", **CONSTANTS, q=4),
        ["admissible", ID, "--solve", "alpha", "--statement", "printed", *SETS, "--set", "q=4"],
    ),
    "region": (
        lambda: fedco.theorem(ID).admissible(("alpha", "q"), "printed", **CONSTANTS),
        ["admissible", ID, "--solve", "alpha,q", "--statement", "printed", *SETS],
    ),
    "budget": (
        lambda: fedco.theorem(ID).tune(budget={"samples": 10**5}, **CONSTANTS),
        ["tune", ID, *SETS, "--budget", "samples=100000"],
    ),
    "target": (lambda: fedco.theorem(ID).tune(eps="1/10", **CONSTANTS), ["tune", ID, *SETS, "--eps", "1/10"]),
    "complexity": (
        lambda: fedco.theorem(ID).complexity(eps="1/10", **CONSTANTS),
        ["complexity", ID, *SETS, "--eps", "1/10"],
    ),
    "compare": (
        lambda: compare("1/10", QUANTITIES, theorems=[fedco.theorem(name) for name in TWO]),
        ["compare", *TWO, "--eps", "1/10", "--set", "clients=20", "--set", "inner_value_noise=2"],
    ),
    "orders": (lambda: orders(theorems=[fedco.theorem(name) for name in TWO]), ["compare", *TWO, "--orders"]),
    "audit": (lambda: fedco.audit(ID), ["audit", ID, "--no-check"]),
}
"""name -> the answer in Python, and the command that gives it."""
OTHERS: dict[str, Callable[[], Any]] = {
    "rates": lambda: fedco.theorem(ID).rates(),
    "sensitivity": lambda: fedco.theorem(ID).elasticities(**POINT),
}


@cache
def answer(name: str) -> Any:
    return ANSWERS[name][0]() if name in ANSWERS else OTHERS[name]()


EVERY = [*ANSWERS, *OTHERS]


@pytest.mark.parametrize("name", ANSWERS)
def test_to_dict_is_what_the_command_prints(name: str):
    done = run(*ANSWERS[name][1], "--json")
    printed = json.loads(done.out)
    mine = json.loads(answer(name).to_json())
    for about_the_file in (
        "assumed",
        "replaced",
        "unused",
    ):  # what the command says of the constants that it was handed
        assert not printed.pop(about_the_file, None)
    if name == "audit":
        assert set(printed.pop("checked").values()) == {None}
    assert mine == printed


@pytest.mark.parametrize("name", EVERY)
def test_every_answer_has_every_face(name: str):
    found = answer(name)
    assert isinstance(found, AbstractResult) and len(repr(found).splitlines()) <= 6
    page = ElementTree.fromstring(html(found))
    assert page.find(".//table") is not None and not page.findall(".//script")
    assert re.fullmatch(r"\$.+\$", latex(found), re.DOTALL)
    assert found.to_markdown().startswith("**") and "\n|" in found.to_markdown()
    frame, table = found.to_frame(), found.sheet().tables[0]
    assert list(frame.columns) == list(table.columns) and len(frame) == len(table.rows) > 0
    text = found.to_latex()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") >= 1


def test_a_frame_keeps_all_digits():
    found = answer("bound")
    frame = found.to_frame().set_index("term")
    assert {name: frame.loc[name, "value"] for name in found.terms} == found.terms
    assert frame.loc["total", "value"] == found.total


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"fedco\[frames\]"):
        answer("bound").to_frame()


def test_float_is_the_number_that_was_asked_for():
    assert float(answer("bound")) == answer("bound").total
    assert float(answer("budget")) == answer("budget").bound.total
    assert float(answer("target")) == float(answer("complexity")) == answer("target").cost["samples"]
    for name in ("region", "audit", "compare"):
        with pytest.raises(TypeError):
            float(answer(name))


def test_tuned_values_are_exact_numbers_that_can_be_used_again():
    best = answer("budget")
    assert best.values["T"] == int(best.values["T"]) and 0 < float(best.values["alpha"]) < 1
    again = fedco.theorem(ID).bound(**CONSTANTS, **best.values)
    assert again.total == best.bound.total
    assert Fraction(best.to_dict()["values"]["alpha"]) == Fraction(best.values["alpha"])


@pytest.mark.parametrize("samples", [10**3, 10**4, 10**5, 10**6])
def test_the_bound_of_a_tuned_schedule_is_rounded_up(samples: int):
    best = fedco.theorem(ID).tune(budget={"samples": samples}, **CONSTANTS)
    printed = float(str(best).splitlines()[1].rpartition(" <= ")[2])
    assert best.bound.total <= printed <= best.bound.total * (1 + 1e-5)


TIGHT = {**CONSTANTS, "S_g": 3, "sigma_g": 0, "F_gap": 100}
"""The tuned step size is 0.04166666662, just below its limit 1/24; in six digits it would be outside."""


@pytest.mark.parametrize("medium", ["text", "--latex", "--markdown", "html", "frame"])
def test_a_printed_schedule_can_be_used_as_it_is_printed(medium: str):
    best = fedco.theorem(ID).tune("printed", budget={"samples": 1000}, **TIGHT)
    sets = [part for name, value in TIGHT.items() for part in ("--set", f"{name}={value}")]
    commands = run(
        "tune", ID, "--statement", "printed", *sets, "--budget", "samples=1000", *([medium] if "--" in medium else [])
    )
    texts = {"text": commands.out, "html": html(best), "frame": best.to_frame().to_csv()}
    (alpha,) = set(re.findall(r"(?<![0-9.])0\.041[0-9]+", texts.get(medium, commands.out)))
    again = fedco.theorem(ID).bound("printed", **TIGHT, **{**best.values, "alpha": alpha})
    assert again.admissible and again.total == best.bound.total
    target = str(fedco.theorem(ID).complexity(eps=5, statement="printed", **TIGHT))
    assert fedco.theorem(ID).bound("printed", **TIGHT, **dict(re.findall(r"(\w+) = ([0-9.]+)", target))).admissible


def test_a_printed_number_stays_on_the_safe_side():
    """A bound is rounded up, the ends of an interval to the inside."""
    for name in ("bound", "budget", "target"):
        found = answer(name)
        bound = found if name == "bound" else found.bound
        printed = re.search(r"\\le ([0-9.]+)(?: \\cdot 10\^\{(-?\d+)\})?$", found.sheet().claim.latex)
        assert bound.total <= float(printed[1]) * 10.0 ** int(printed[2] or 0) <= bound.total * (1 + 1e-5)
    (interval,) = answer("printed").intervals.values()
    assert 0.999 * interval.upper < float(re.search(r", ([0-9.]+)\\right", interval.latex())[1]) <= interval.upper
    assert shown(0.2318) == "0.2318" and shown(1e-7) == "1e-07" and shown(12048.0) == "12048"


def test_outside_the_conditions_no_inequality_is_claimed():
    found = answer("outside")
    assert found.sheet().claim is None and r"\le" not in found.to_latex().partition("% constants")[0]
    assert any("promises nothing" in note for note in found.sheet().notes)
    assert answer("bound").sheet().claim is not None


@pytest.mark.parametrize("medium", ["--latex", "--markdown"])
def test_a_refuted_statement_says_so_in_every_medium(medium: str):
    done = run("bound", "feddro.theorem_4_2", "--statement", "printed", "--json")
    assert done.status == 2  # nothing is set: the statement wants values
    for command in (ANSWERS["printed"][1], ["show", ID, "--statement", "printed"]):
        printed = run(*command, medium).out
        assert "Refuted under the reading" in printed and "fedco replay" in printed
    assert "REFUTED" not in run(*ANSWERS["bound"][1], medium).out
    assert f": fedco replay {ID}" in answer("printed").plot().title
    assert "Refuted under the reading" in html(answer("printed"))


PRINTED = (
    "printed",
    "region",
    "printed bound",
    "printed arrays",
    "printed tuned",
    "printed rates",
    "orders",
    "printed comparison",
)


@pytest.mark.parametrize("name", PRINTED)
def test_a_refuted_statement_says_so_in_python_too(name: str):
    """Printed or looked at, whole or cut to a few lines, and as data."""
    at = {name: value for name, value in POINT.items() if name not in ("b", "B")}
    made: dict[str, Callable[[], Any]] = {
        "printed bound": lambda: fedco.theorem(ID).bound("printed", strict=False, **at),
        "printed arrays": lambda: fedco.theorem(ID).bound("printed", strict=False, **{**at, "alpha": [0.01, 0.02]}),
        "printed tuned": lambda: fedco.theorem(ID).tune("printed", eps=1, **CONSTANTS),
        "printed rates": lambda: fedco.theorem(ID).rates("printed"),
        "printed comparison": lambda: compare(1, theorems=[fedco.theorem(ID)], statement="printed"),
    }
    found = made[name]() if name in made else answer(name)
    for text in (str(found), repr(found), found.to_latex(), found.to_markdown(), html(found)):
        assert "Refuted under the reading" in text and "fedco replay" in text.replace("\\_", "_")
    assert (
        '"status": "refuted under the reading' in found.to_json() and f'"{ID}.displayed_assumption"' in found.to_json()
    )


def test_a_comparison_says_what_it_was_tuned_for():
    """It said `the fewest samples` whatever the cost was."""
    found = compare(1, theorems=[fedco.theorem(ID)], cost="rounds")
    assert "tuned for the fewest rounds" in str(found) and found.to_dict()["cost"] == "rounds"
    assert "tuned for the fewest samples" in str(answer("compare"))
    assert "assumed: inner_jacobian_mean_square = 1" in str(answer("compare"))


def test_a_condition_that_fails_says_what_was_wanted_and_got():
    rows = {
        row[0]: row for table in answer("outside").sheet().tables if table.name == "conditions" for row in table.rows
    }
    assert rows["descent_step"][-2:] == ("<= 1", 20.0) and rows["first_batch"][-2:] == (None, None)
    assert "wanted" in answer("outside").to_latex() and "wanted" not in answer("bound").to_latex()


def test_what_was_wanted_does_not_look_like_what_was_got():
    """A schedule asks for an irrational step size, of which ten digits are not enough: both were printed as 0.04811252243."""
    known = {
        **dict.fromkeys(("L_h", "L_f", "L_g", "B_f", "B_g", "sigma_h", "sigma_g", "Delta_h", "Delta_g", "Phi_gap"), 1)
    }
    at = {**known, "y_err": 0, "K": 4, "I": 1, "b": 1340, "T": 2315520, "eta": "0.04811252243"}
    (failure, *_) = fedco.theorem("feddro.theorem_5_1").bound("printed", strict=False, **at).failures
    wanted, got = re.findall(r"[0-9.]{5,}", str(failure))
    assert wanted != got and wanted.startswith(got[:-1]) and float(wanted) == pytest.approx(3**0.5 / 36, rel=1e-15)


def test_the_assumptions_are_in_every_export_of_a_theorem():
    for medium in ("--latex", "--markdown"):
        printed = run("show", ID, "--statement", "corrected", medium).out
        assert "whole space: no algorithm of the paper projects" in printed
    assert "no algorithm of the paper projects" in html(fedco.theorem(ID))


def test_an_empty_interval_says_which_conditions_conflict():
    found = fedco.theorem(ID).admissible("q", **CONSTANTS, alpha=9, b=1, T=20)
    assert "descent_step: S_F*alpha <= 1" in found.to_markdown().replace("\\", "")
    assert any("does not limit q from above" in note for note in answer("region").sheet().notes)


@pytest.mark.parametrize("name", ANSWERS)
def test_the_command_prints_the_same_latex_and_markdown(name: str):
    found = answer(name)
    for medium, text in (("--latex", found.to_latex()), ("--markdown", found.to_markdown())):
        assert run(*ANSWERS[name][1], medium).out.strip() == text.strip()


def test_show_prints_one_statement():
    text = run("show", ID, "--statement", "corrected", "--latex").out
    assert "corrected" in text and "printed" not in text and r"\begin{align*}" in text
    assert list(json.loads(run("show", ID, "--statement", "corrected", "--json").out)["statements"]) == ["corrected"]
    assert run("show", ID, "--statement", "wrong").status == 2


@pytest.mark.parametrize("name", ["bound", "region", "compare"])
def test_an_answer_draws_itself_with_its_numbers_beside_it(name: str, tmp_path: Path):
    """Of one value each, of a set, and of several theorems; test_what_is_shown.py draws the answers of every verb."""
    plot = answer(name).plot()
    made = plot.save(tmp_path / "figure.svg")
    assert "<svg" in made.read_text(encoding="utf-8")[:600] and plot.data
    head = (tmp_path / "figure.data.csv").read_text(encoding="utf-8").splitlines()[0]
    assert len(head.split(",")) >= len(plot.data) > 0


def test_arrays_are_evaluated_point_by_point():
    theorem, rest = fedco.theorem(ID), {name: value for name, value in POINT.items() if name not in ("alpha", "T")}
    alphas, horizons = np.array([[0.01], [0.02], [10.0]]), [100, 1000]
    found = theorem.bound(strict=False, alpha=alphas, T=horizons, **rest)
    assert isinstance(found, fedco.BoundArray) and found.total.shape == (3, 2)
    for row, alpha in enumerate(("1/100", "1/50", 10)):
        for column, T in enumerate(horizons):
            single = theorem.bound(strict=False, alpha=alpha, T=T, **rest)
            assert found.total[row, column] == pytest.approx(single.total, rel=1e-12)
            assert found.admissible[row, column] == single.admissible
            assert found.terms["drift"][row, column] == pytest.approx(single.terms["drift"], rel=1e-12)
    frame = found.to_frame()
    assert len(frame) == 6 and frame["total"].tolist() == found.total.ravel().tolist()
    assert json.loads(found.to_json())["admissible"] == [[True, True], [True, True], [False, False]]
    assert "2 of 6 points are outside" in found.to_markdown()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"T": [10, -1]}, "T: wanted a positive integer"),
        ({"T": [10, 1.5]}, "T: wanted a positive integer"),
        ({"alpha": [0.1, float("nan")]}, "alpha: wanted a positive real"),
        ({"alpha": ["a"]}, "alpha: wanted numbers"),
        ({"nothing": [1.0]}, "nothing: not a symbol"),
        ({"alpha": [0.1, 0.2], "T": [1, 2, 3]}, "wanted shapes that broadcast"),
    ],
)
def test_arrays_with_bad_values_are_refused_by_name(change: dict[str, Any], said: str):
    with pytest.raises(fedco.InputError, match=said):
        fedco.theorem(ID).bound(**{**POINT, **change})


def test_outside_the_conditions_an_array_raises_unless_asked_not_to():
    with pytest.raises(fedco.InadmissibleError, match="1 of 2 points"):
        fedco.theorem(ID).bound(**{**POINT, "alpha": [0.01, 10.0]})


def test_tab_completion_lists_every_public_name_and_each_can_be_had():
    assert {"theorem", "audit", "compare", "validate", "Bound", "Tuned"} <= set(dir(fedco))
    for name in dir(fedco):
        assert getattr(fedco, name) is not None, name
    assert set(fedco.HOMES) | {"__version__"} == set(fedco.__all__) == set(dir(fedco))


HOSTILE = r"<script>alert(1)</script> \input{x} $x$ `a` | b"


def test_a_title_of_a_stranger_is_text_in_every_medium():
    sheet = Sheet(HOSTILE, Math("x", "x"), (Table(HOSTILE, (HOSTILE, "n"), ((HOSTILE, 1.5),)),), (HOSTILE,))
    page = to_html(sheet)
    assert "<script" not in page and ElementTree.fromstring(page).findall(".//script") == []
    latex = "\n".join(line for line in to_latex(sheet).splitlines() if not line.startswith("%"))
    assert r"\input{" not in latex and tex_text("50% of a_b") == r"50\% of a\_b"
    markdown = to_markdown(sheet)
    assert "<script" not in markdown.replace(r"\<", "") and "$x$" not in markdown.replace(r"\$", "")
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {3}


def test_a_comment_in_latex_cannot_end_early():
    """A title with line breaks stays one comment."""
    assert to_latex(Sheet("a\n\\evil")).startswith("% a \\evil")


TEX = shutil.which("pdflatex")
PREAMBLE = (
    r"\documentclass{article}\usepackage{amsmath,amssymb}\usepackage[a4paper,margin=2cm]{geometry}\begin{document}"
)


@pytest.mark.skipif(TEX is None, reason="no LaTeX on this machine: pdflatex is not on the path")
@pytest.mark.parametrize("what", ["answers", pytest.param("theorems", marks=pytest.mark.slow)])
def test_everything_compiles_with_a_real_latex(tmp_path: Path, what: str):
    if what == "answers":
        parts = [answer(name).to_latex() for name in EVERY]
        parts += [to_latex(Sheet("title", None, (Table("t", ("a & b", "c"), ((HOSTILE, 1e-9),)),), (HOSTILE,)))]
    else:
        parts = [theorem.to_latex() for theorem in all_theorems().values()]
    source = tmp_path / "all.tex"
    source.write_text("\n\n".join([PREAMBLE, *parts, r"\end{document}"]), encoding="utf-8")
    command = [str(TEX), "-interaction=nonstopmode", "-halt-on-error", source.name]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, errors="replace", timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "all.pdf").stat().st_size > 10_000


@pytest.mark.parametrize("T", [1000, 30, 10**6])
def test_each_border_of_a_region_has_its_name_inside_the_frame(T: int):
    """A border that meets the set only near the frame had its name cut off."""
    found = fedco.theorem(ID).admissible(("alpha", "q"), "printed", **CONSTANTS, T=T)
    figure = found.plot().figure
    figure.canvas.draw()
    (axes,) = figure.axes
    frame, names = axes.get_window_extent(), {text.get_text(): text.get_window_extent() for text in axes.texts}
    assert set(names) == {"step_size", "method_range_q"}
    for box in names.values():
        assert frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
