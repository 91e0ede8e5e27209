"""Ordinary and hostile input gets an answer or one clear line, never a traceback."""

from __future__ import annotations

import ast
import doctest
import importlib
from dataclasses import replace
from pathlib import Path

import fedco
import pytest
from fedco.bounds.language.reading import InputError
from in_a_notebook import html

KEYS = {
    "symbols": {
        "L": "local_smoothness",
        "F_gap": "objective_gap",
        "eta": "step_size",
        "T": "iterations",
        "sigma": "local_gradient_noise",
    },
    "terms": {"initialisation": "2*F_gap/(eta*T)", "variance": "L*eta*sigma**2"},
}
MINE = fedco.define(id="mine.theorem_1", conditions={"step_size": "eta <= 1/L"}, **KEYS)
BY_NOISE = fedco.define(
    id="mine.theorem_2", conditions={"step_size": "eta <= min(1/L, F_gap/(L*eta*sigma**2*T))"}, **KEYS
)
IN_MAX = fedco.define(
    id="mine.theorem_3",
    symbols=KEYS["symbols"],
    terms={"all": "max(2*F_gap/(eta*T), L*eta*sigma**2, F_gap*L**2*F_gap/sigma**2)"},
)
ROOT = Path(fedco.__file__).parent
POINT = {"L": 1, "F_gap": 1, "eta": "1/10", "T": 10, "sigma": 1}


def test_every_import_in_an_example_of_a_docstring_resolves():
    found = []
    paths = (
        part for room in ("bounds", "algorithms", "synthetic", "validation") for part in (ROOT / room).rglob("*.py")
    )
    for path in (each for each in paths if ">>> " in each.read_text()):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not (
                text := ast.get_docstring(node)
            ):
                continue
            for example in doctest.DocTestParser().get_examples(text):
                for line in ast.walk(ast.parse(example.source)):
                    if isinstance(line, ast.ImportFrom | ast.Import):
                        found.append((path, line))
    for path, line in found:
        for alias in line.names:
            if isinstance(line, ast.Import):
                importlib.import_module(alias.name)
                continue
            owner = importlib.import_module(line.module)
            if not hasattr(owner, alias.name):
                assert importlib.util.find_spec(f"{line.module}.{alias.name}"), (path.name, ast.unparse(line))
    assert len(found) > 8


@pytest.mark.parametrize("cost", ["rounds", "samples", "iterations"])
def test_a_comparison_of_outside_theorems_is_printed(cost):
    costs = {"rounds": "T", "iterations": "T"}
    outside = fedco.define(id="mine.theorem_4", conditions={"step_size": "eta <= 1/L"}, costs=costs, **KEYS)
    plain = fedco.define(id="mine.theorem_5", conditions={"step_size": "eta <= 1/L"}, **KEYS)
    found = fedco.compare("1/10", theorems=[outside, MINE, plain], cost=cost)
    for text in (str(found), found.markdown(), found.to_latex(), html(found), str(found.sheet())):
        assert all(name in text or name.replace("_", r"\_") in text for name in ("mine.theorem_4", "mine.theorem_5"))
    rows = found.markdown().splitlines()
    assert len({row.count("|") for row in rows}) == 1


@pytest.mark.parametrize("theorem", [MINE, BY_NOISE, IN_MAX])
@pytest.mark.parametrize("zero", [("sigma",), ("F_gap",), ("sigma", "F_gap")])
@pytest.mark.parametrize("verb", ["bound", "admissible", "budget", "eps", "complexity", "compare", "elasticities"])
def test_zeros_get_an_answer_or_one_line(verb, zero, theorem):
    values = {**POINT, **dict.fromkeys(zero, 0)}
    constants = {name: values[name] for name in ("L", "F_gap", "sigma")}
    ask = {
        "bound": lambda: theorem.bound(strict=False, **values),
        "elasticities": lambda: theorem.elasticities(**values),
        "admissible": lambda: theorem.admissible("eta", **{n: v for n, v in values.items() if n != "eta"}),
        "budget": lambda: theorem.tune(budget={"T": 100}, **constants),
        "eps": lambda: theorem.tune(eps="1/10", **constants),
        "complexity": lambda: theorem.complexity(eps="1/10", **constants),
        "compare": lambda: fedco.compare(
            "1/10",
            {"local_smoothness": 1, "objective_gap": values["F_gap"], "local_gradient_noise": values["sigma"]},
            theorems=[theorem],
        ),
    }[verb]
    try:
        found = ask()
    except InputError as error:
        assert "\n" not in str(error)
        return
    for shown in (str(found), found.to_latex(), str(found.to_dict())):
        assert not any(word in shown.split() for word in ("nan", "inf", "zoo"))


def test_the_words_of_a_tuned_point_say_how_near_it_is():
    exact = MINE.tune(budget={"T": 100}, L=1, F_gap=1, sigma=1)
    assert exact.certificate == "global optimum" and "geometric program, global optimum" in str(exact)
    assert exact.to_dict()["certificate"] == "global optimum"
    wide = replace(exact, gap=0.44)
    assert wide.certificate == wide.to_dict()["certificate"] == "optimum within 44%"
    assert "global optimum" not in str(wide) and "optimum within 44%" in str(wide)
    assert replace(exact, gap=None, lower=None).certificate == "not certified"
