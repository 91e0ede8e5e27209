"""What every verb returns fits a screen, shows as a table in a notebook, and becomes a data frame and a figure; names complete."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fedco
import numpy as np
import pytest
import torch
from fedco.bounds.language.result import AbstractResult
from fedco.figures import Plot
from fedco.ipython_names import names_for
from fedco.validation.runs.refutations import bundle_file
from in_a_notebook import html, svg
from torch import nn

ID, OTHER, PROBLEM = "baselines.minibatch_sgd", "baselines.local_sgd", "federated_logistic"
POINT = {"L_bar": 1, "sigma": 1, "F_gap": 1, "N": 4, "b": 1}
LINES, SIZE = 24, 1200
"""Of a screen: lines, and characters in all."""


def theorem() -> Any:
    return fedco.theorem(ID)


def estimates() -> Any:
    torch.manual_seed(0)
    rows = torch.randn(40, 3)
    data = [(part, (part[:, 0] > 0).long()) for part in rows.split(20)]
    model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2))
    return fedco.estimate(model, nn.functional.cross_entropy, data, theorem=OTHER, points=2)


def bundle() -> Path:
    return bundle_file("local_scgdm.theorem_3_4")


VERBS: dict[str, Callable[[], Any]] = {
    "bound": lambda: theorem().bound(**POINT, eta="1/10", T=100),
    "bound on arrays": lambda: theorem().bound(**POINT, eta=np.array([0.1, 0.2]), T=100),
    "admissible": lambda: theorem().admissible("eta", **POINT, T=100),
    "tune": lambda: theorem().tune(budget={"T": 100}, **POINT),
    "complexity": lambda: theorem().complexity(eps="1/10", **POINT),
    "rates": lambda: theorem().rates(),
    "elasticities": lambda: theorem().elasticities(**POINT, eta="1/10", T=100),
    "prove": lambda: theorem().prove(rules_only=True),
    "compare": lambda: fedco.compare(theorem(), OTHER),
    "audit": lambda: fedco.audit("feddro.theorem_5_1"),
    "run": lambda: fedco.run("minibatch_sgd", PROBLEM, T=10, seeds=2, grid={"eta": [0.1, 1.0]}),
    "practice": lambda: fedco.practice(ID, PROBLEM, T=10, seeds=2, above=1),
    "validate": lambda: fedco.validate(ID, problems=[PROBLEM], seeds=16),
    "falsify": lambda: fedco.falsify(ID, seconds=0.5),
    "falsify what is false": lambda: fedco.falsify("acc_fcsg_m.lemma_d_2", statement="printed", seconds=60),
    "replay": lambda: fedco.replay(bundle()),
    "estimate": estimates,
    "drive": lambda: fedco.drive(
        fedco.algorithms.MinibatchSGD(eta=0.1, b=1),
        fedco.problem(PROBLEM),
        steps=6,
        seeds=2,
        record={"gradient_sq": fedco.algorithms.metrics.METRICS["gradient_sq"].function},
    ),
}
"""Answers, by verb."""
NAMES: dict[str, Callable[[], Any]] = {
    "theorem": theorem,
    "theorems": fedco.theorems,
    "problem": lambda: fedco.problem(PROBLEM),
    "symbols": lambda: theorem().symbols(),
    "finding": lambda: fedco.audit("feddro.theorem_5_1")[0],
    "verdict": lambda: made("validate").verdicts[0],
}
"""What is looked up, or a part of an answer; it has no figure."""
SHOWS_TEXT = {
    "problems": "a tuple of names",
    "define": "a theorem",
    "load": "a theorem",
    "assert_not_falsified": "nothing",
}
"""Verbs that return no object of their own, and what they return."""


@cache
def made(name: str) -> Any:
    return (VERBS | NAMES)[name]()


def test_every_verb_is_here():
    verbs = {name for name in fedco.__all__ if name[0].islower() and callable(getattr(fedco, name))}
    of_a_theorem = {"bound", "admissible", "tune", "complexity", "rates", "elasticities", "prove"}
    asked = VERBS.keys() - {"bound on arrays", "falsify what is false"}
    assert verbs | of_a_theorem == asked | (NAMES.keys() - {"symbols", "finding", "verdict"}) | SHOWS_TEXT.keys()


@pytest.mark.parametrize("name", [*VERBS, *NAMES])
def test_a_repr_is_a_screen_and_html_and_a_frame_are_there(name: str):
    answer = made(name)
    lines = repr(answer).splitlines()
    assert 1 <= len(lines) <= LINES and len(repr(answer)) <= SIZE, repr(answer)
    assert "tensor(" not in repr(answer) and "object at 0x" not in repr(answer)
    page = ElementTree.fromstring(f"<div>{html(answer)}</div>")
    assert page.find(".//table") is not None and not page.findall(".//script")
    pytest.importorskip("pandas")
    frame = answer.to_frame()
    assert len(frame.columns) >= 2 and (len(frame) or name == "falsify")  # one that survived has no instance
    if isinstance(answer, AbstractResult):
        table = answer.sheet().tables[0]
        alike = list(frame.columns) == list(table.columns) and len(frame) == len(table.rows)
        assert alike != (name == "run"), "the frame of runs has a row for each seed"
        assert answer.to_markdown().startswith("**") and r"\begin{tabular}" in answer.to_latex()
        assert json.loads(answer.to_json())


def test_what_was_measured_is_short_and_a_validation_has_a_row_for_each_verdict():
    found = made("validate")
    assert [row[0] for row in found.sheet().tables[0].rows] == [str(verdict.outcome) for verdict in found.verdicts]
    assert found.to_dict()["status"] == "proved"
    for name in ("validate", "verdict", "falsify", "falsify what is false"):
        assert isinstance(made(name), AbstractResult) and len(repr(made(name)).splitlines()) <= 6, name


@pytest.mark.parametrize("name", VERBS)
def test_an_answer_has_a_figure(name: str):
    plot = made(name).plot()
    assert isinstance(plot, Plot) and plot.data and "<svg" in svg(plot)


# --- names complete ----------------------------------------------------------------------------------------------------------


def test_symbols_are_keys_and_attributes_and_nothing_else_is_listed():
    symbols = theorem().symbols()
    assert dir(symbols) == sorted(symbols) and symbols.eta is symbols["eta"] and set(symbols) == {*POINT, "eta", "T"}
    with pytest.raises(AttributeError, match="nothing: not a symbol of this statement; wanted one of"):
        _ = symbols.nothing


def test_a_verb_says_the_symbols_of_its_theorem():
    """Editors read the signature of what stands before the bracket."""
    for name in ("bound", "admissible", "tune", "complexity", "elasticities"):
        known = signature(getattr(theorem(), name)).parameters
        assert {*POINT, "eta", "T"} <= known.keys() and "statement" in known, name
        assert "nothing" not in known and getattr(theorem(), name).__doc__
    other = signature(fedco.theorem("feddro.theorem_5_1").bound).parameters
    assert "Phi_gap" in other and "L_bar" not in other


def test_ids_complete_inside_calls():
    assert names_for('fedco.theorem("feddro.theorem_4') == (
        "feddro.theorem_4",
        ["feddro.theorem_4_1", "feddro.theorem_4_2"],
    )
    assert names_for("fedco.compare(t, 'baselines.sc") == (
        "baselines.sc",
        [name for name in fedco.theorems() if name.startswith("baselines.sc")],
    )
    assert names_for('fedco.problem("kl') == ("kl", ["kl_dro", "kl_dro_clients"])
    assert names_for('x = fedco.run("minibatch')[1] == ["minibatch_sgd"]
    assert "federated_logistic" in names_for(f'fedco.practice("{ID}", problem="federated')[1]
    assert names_for('print("fed')[1] == [] and names_for('fedco.theorem("feddro.theorem_4_1")')[1] == []
    assert fedco.theorem["feddro.theorem_4_1"] is fedco.theorem("feddro.theorem_4_1")
    assert fedco.theorem._ipython_key_completions_() == list(fedco.theorems())


IN_IPYTHON = """
from IPython.testing.globalipapp import start_ipython
shell = start_ipython()
shell.run_cell("import fedco; t = fedco.theorem('feddro.theorem_5_1'); s = t.symbols()")
complete = lambda text: shell.complete(None, text, len(text))[1]
assert complete('fedco.theorem("feddro.theorem_4') == ["feddro.theorem_4_1", "feddro.theorem_4_2"]
assert complete('fedco.theorem["feddro.theorem_4') == ["feddro.theorem_4_1", "feddro.theorem_4_2"]
assert complete('s["Phi') == ["Phi_gap"]
shell.Completer.use_jedi = False
assert ".Phi_gap" in complete("s.Phi") and "Phi_gap=" in complete("t.bound(Phi")
print("completed")
"""


@pytest.mark.slow
def test_ipython_completes():
    pytest.importorskip("IPython")
    done = subprocess.run([sys.executable, "-c", IN_IPYTHON], capture_output=True, text=True, check=False)
    assert "completed" in done.stdout, done.stderr[-2000:]
