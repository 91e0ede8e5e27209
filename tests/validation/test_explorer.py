"""The explorer's page without a browser: what it is made of, and formulas as JavaScript, in which no name can become code."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any

import fedco
import pytest
import sympy as sp
import torch
from fedco.bounds.audit.refutation import GRADES
from fedco.bounds.audit.refuted import refutations
from fedco.bounds.audit.status import Status
from fedco.bounds.evaluation.without_running import START_BY
from fedco.bounds.language.recursion import Recurrence, entry, least, root, step_function
from fedco.bounds.language.theorem import Condition
from fedco.bounds.registry import all_papers
from fedco.errors import InputError
from fedco.lossless import encode
from fedco.storage import write_json
from fedco.validation.explorer import data as explorer_data
from fedco.validation.explorer.data import presets_of, statement_data, symbol_data, theorem_data
from fedco.validation.explorer.javascript import HELPERS, Library, Printer, UntranslatableError, statement_source
from fedco.validation.explorer.page import as_json, chosen_theorems, write_explorer
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.validate import RESULTS, read_measured
from small_theorems import symbols
from sympy.utilities.lambdify import implemented_function

SYMBOLS = symbols("L sigma F_gap b p eta N T")
CONDITIONS = {"step_size": "eta <= 1/L", "period": "p <= b"}
TERMS = {"all": "2*F_gap/(eta*T)", "noise": "eta*L*sigma**2/(b*N)", "drift": "(p - 1)*L**2*eta**2*sigma**2"}


@pytest.fixture
def data(monkeypatch):
    """A theorem that no problem fits."""
    monkeypatch.setattr("fedco.validation.explorer.data.fitting_problems", lambda *_: [])
    theorem = fedco.define(id="mine.theorem_1", symbols=SYMBOLS, terms=TERMS, conditions=CONDITIONS)
    return theorem_data(theorem, "mine.toml", [])


def test_every_symbol_has_the_range_of_its_kind(data):
    assert data["horizon"] == "T"
    ranges = {symbol["name"]: (symbol["low"], symbol["high"]) for symbol in data["symbols"]}
    assert {name: ranges[name] for name in ("L", "eta", "p", "N", "T")} == {
        "L": (1e-4, 1e4),
        "eta": (1e-8, 1e2),
        "p": (1, 1e6),
        "N": (1, 1e6),
        "T": (1, 1e12),
    }
    assert {symbol["name"] for symbol in data["symbols"] if symbol["whole"]} == {"b", "p", "N", "T"}
    assert {symbol["name"] for symbol in data["symbols"] if symbol["tuned"]} == {"eta"}


def test_the_axes_are_the_pair_that_a_condition_binds(data):
    """The batch and the period stand together in a condition, without any other symbol; the step size stands alone."""
    assert data["statements"][0]["axes"] == ["b", "p"]


def test_the_page_starts_at_values_that_the_conditions_admit(data):
    at = {name: Fraction(value) for name, value in data["values"].items()}
    assert data["presets"] == [] and set(at) == set(SYMBOLS)
    assert (at["L"], at["sigma"], at["F_gap"]) == (1, Fraction(1, 10), Fraction(1, 10)), "constants are not chosen"
    assert 0 < at["eta"] * at["L"] <= 1 and at["p"] <= at["b"]


def test_a_scheduled_symbol_is_not_chosen(monkeypatch):
    monkeypatch.setattr("fedco.validation.explorer.data.fitting_problems", lambda *_: [])
    asked = []
    monkeypatch.setattr(
        explorer_data, "admissible_hyperparameters", lambda *given: asked.append(given) or {"b": Fraction(3)}
    )
    values = theorem_data(made(schedule={"p": "b"}).theorem, "x", [])["values"]
    ((_, known, chosen, _),) = asked
    assert (
        set(chosen) == {"eta", "b", "N", "T"}
        and set(known) == {"L", "sigma", "F_gap"}
        and (values["b"], values["p"]) == ("3", "1")
    )


def test_formulas_have_the_same_value_as_javascript():
    """Whatever the exponent: the text is read as Python, whose `math` has the functions of `Math`."""
    x, y = sp.symbols("x y", positive=True)
    powers = [
        x**2,
        x**3,
        x**-1,
        x**-2,
        x ** sp.Rational(1, 2),
        x ** sp.Rational(-3, 2),
        (x + y) ** 2,
        (x + y) ** 3,
        x**y,
    ]
    rng = Random(0)
    for expr in [*powers, sum(powers), x**2 * y**3 / (1 + x) ** 2]:
        text = Printer(Library(), {x: "x", y: "y"}).doprint(expr)
        at = {x: rng.uniform(0.3, 3), y: rng.uniform(0.3, 3)}
        value = eval(text, {"__builtins__": {}, "Math": math, "x": at[x], "y": at[y]})
        assert value == pytest.approx(float(expr.subs(at)), rel=1e-12), text


# --- what is said of every symbol, statement and preset ---------------------------------------------------------------------------


def kind_of(quantity: str, data: dict) -> dict:
    return next(symbol for symbol in data["symbols"] if symbol["quantity"] == quantity)


def test_a_symbol_says_what_may_be_typed_for_it():
    """A number of steps, which may be 0; a constant that may be 0; a small real; whole numbers; a value to begin with."""
    data = {"symbols": [symbol_data(binding) for binding in fedco.theorem("meta_fl.theorem_8").notation]}
    said = ("domain", "whole", "zero", "steps", "low", "high", "tuned", "fallback")
    assert {
        q: tuple(kind_of(q, data)[name] for name in said)
        for q in ("fine_tuning_steps", "communication_period", "rounds")
    } == {
        "fine_tuning_steps": ("whole number from 0 to 100", True, True, True, 0, 20, False, "1"),
        "communication_period": ("positive integer", True, False, False, 1, 1e6, False, "1"),
        "rounds": ("positive integer", True, False, False, 1, 1e12, False, "1"),
    }
    small, noise = kind_of("fine_tuning_step_size", data), kind_of("local_gradient_noise", data)
    assert (small["low"], small["high"], small["tuned"], small["fallback"], small["zero"]) == (
        1e-8,
        1e2,
        False,
        "1/10",
        False,
    )
    assert (noise["low"], noise["high"], noise["tuned"], noise["fallback"], noise["zero"]) == (
        1e-4,
        1e4,
        False,
        "1/10",
        True,
    )
    step, bound = kind_of("step_size", data), kind_of("local_gradient_bound", data)
    assert (step["tuned"], step["fallback"], bound["tuned"], bound["fallback"]) == (True, "1", False, "1")
    assert (bound["unit"], bound["role"], bound["meaning"] != "") == ("[f] [x]^-1", "constant", True)


def test_a_batch_size_that_nobody_names_is_one(data):
    assert kind_of("batch_size", data)["fallback"] == "1" and kind_of("clients", data)["fallback"] == "10"
    assert kind_of("clients", data)["tuned"] is False and kind_of("objective_gap", data)["fallback"] == "1/10"


def made(**more):
    parts = {"symbols": SYMBOLS, "terms": TERMS, "conditions": CONDITIONS}
    return fedco.define(id="mine.theorem_1", **{**parts, **more}).statement()


def axes(*conditions, term="L*F_gap*p*beta*b*nu"):
    """Of a statement whose conditions bind these symbols; of the step size and others, made a number by L."""
    parts = symbols("p eta beta b nu L F_gap")
    used = {name: parts[name] for name in parts if re.search(rf"\b{name}\b", " ".join((term, *conditions)))}
    stated = {f"c_{at}": condition for at, condition in enumerate(conditions)}
    return statement_data(made(symbols=used, terms={"all": term}, conditions=stated))["axes"]


def test_the_axes_are_the_pair_of_most_conditions_real_ones_first():
    assert axes("eta*L <= 1") == ["eta", "beta"] == axes("L*eta <= 1", "nu*eta*L <= 1", "eta*L <= nu")
    assert axes("p <= b", "eta*L <= beta") == ["eta", "beta"]  # of two pairs the first
    assert axes("p <= b", "p*b <= 5", "eta*L <= beta") == ["p", "b"]
    assert axes("p*L*eta <= 1", "eta*L <= p", "eta*L <= beta", "b <= beta") == ["eta", "p"]
    assert axes("eta*L*nu <= 1", term="L*F_gap") == []


def test_a_schedule_is_ordered_by_what_its_formulas_need():
    said = statement_data(made(schedule={"eta": "1/(L*p)", "p": "b", "b": "2*N"}, conditions={"a": "eta <= 1/L"}))
    assert said["order"] == ["b", "p", "eta"] and sorted(said["fixed"]) == ["b", "eta", "p"]
    with pytest.raises(InputError, match="need each other") as refused:
        statement_data(made(schedule={"p": "b", "b": "p", "eta": "1/L"}))
    assert "eta" not in str(refused.value).split("schedules of ")[1].split(" need")[0]


def test_an_equality_ties_a_scheduled_symbol():
    """Whichever side it stands on; an inequality leaves it free, and so does an equality about others."""
    statement = made(schedule={"p": "b"})
    p, b, N = (statement.symbols[name].symbol for name in ("p", "b", "N"))
    for left, relation, right, tied in (
        (p, "==", b, True),
        (b + 1, "==", 2 * p, True),
        (p, "<=", b, False),
        (N, "==", b, False),
    ):
        conditions = (Condition("free", p, "<=", N), Condition("x", left, relation, right))
        assert statement_data(replace(statement, conditions=conditions))["fixed"] == ["p"] * tied


def test_how_a_status_is_checked_again(monkeypatch):
    def checks(known):
        monkeypatch.setattr(explorer_data, "status", lambda theorem, label: known)
        return statement_data(made())["checks"]

    names = list(refutations())[:2]
    shown = checks(Status("refuted", "", bundles=tuple(names)))
    for name, check in zip(names, shown, strict=True):
        item = refutations()[name]
        other = "".join(f" With {reading}: {verdict}." for reading, verdict in item.alternatives.items())
        assert check == {
            "command": f"fedco replay docs/refutations/{name}.json",
            "about": f"{item.word}: {GRADES[item.grade]}. {item.summary}{other}",
        }
    kernel = [{"command": "fedco prove mine.theorem_1", "about": ""}]
    assert checks(Status("proved", "")) == kernel
    assert checks(Status("open", "")) == []


def test_what_is_said_of_a_statement():
    statement = made(derived={"M": "2*L*eta"}, conditions={"small": "M <= 1"})
    said = statement_data(statement)
    assert said["status"] == "open" and not said["why"].startswith("open") and said["checks"] == []
    assert said["symbols"] == list(statement.symbols) and [term["name"] for term in said["terms"]] == [
        "all",
        "noise",
        "drift",
    ]
    assert [(c["name"], c["relation"]) for c in said["conditions"]] == [
        (c.name, c.relation) for c in statement.requirements
    ]
    assert [constant["name"] for constant in said["derived"]] == ["M"] and "eta" in said["latex"]


class Bowl:
    """A problem that certifies what the small theorem needs."""

    name, clients = "bowl", 7
    initial_point = torch.zeros(2)

    def gradient(self, x):
        return x + torch.tensor([3.0, 4.0])

    def __init__(self, **values):
        self.certificates = {
            name: SimpleNamespace(value=value, kind="exact")
            for name, value in (
                {"local_smoothness": Fraction(1, 3), "objective_gap": 2, "local_gradient_noise": 0.1} | values
            ).items()
            if value is not None
        }


def test_a_preset_has_the_constants_of_its_problem_and_what_is_chosen(monkeypatch):
    instance = Instance(
        Bowl(), {"eta": Fraction(1, 8), "p": 3, "of_another": 4}, "why", horizons=(64, 256), case="edge"
    )
    rows = [
        {"theorem": theorem, "problem": problem, "instance": {"parameters": encode({}), "hyperparameters": encode(hyper)}, "T": T,
         "verdict": {"empirical": mean, "bracket": [0, 1]}}
        for theorem, problem, hyper, T, mean in (
            ("mine.theorem_1", "bowl", instance.hyperparameters, 64, 0.5), ("mine.theorem_1", "bowl", instance.hyperparameters, 256, 0.25),
            ("mine.theorem_2", "bowl", instance.hyperparameters, 64, 9.0), ("mine.theorem_1", "arc", instance.hyperparameters, 64, 9.0),
            ("mine.theorem_1", "bowl", {"eta": 1}, 64, 9.0),
        )
    ]  # fmt: skip
    monkeypatch.setattr(explorer_data, "recipe_for", lambda theorem: SimpleNamespace(instances=[instance]))
    (preset,) = presets_of(made().theorem, rows)
    assert preset == {
        "name": instance.name,
        "why": "why (edge)",
        "values": {"L": "1/3", "F_gap": "2", "sigma": "0.1", "N": "7", "T": "64", "eta": "1/8", "p": "3"},
        "of_problem": ["L", "sigma", "F_gap", "N"],
        "estimated": [],
        "limits": [{"by": START_BY, "formula": "", "factor": 25.0, "powers": []}],
        "measured": [{"at": 64, "mean": 0.5, "bracket": [0, 1]}, {"at": 256, "mean": 0.25, "bracket": [0, 1]}],
    }
    starts = theorem_data(made().theorem, "x", [])["values"]
    assert starts == {**preset["values"], "b": "1"}


def test_what_holds_without_running_goes_to_the_page_as_products_of_symbols(monkeypatch):
    limits = statement_data(made())["limits"]
    assert [(each["formula"], each["factor"], each["powers"]) for each in limits] == [
        ("2 L F_gap", 2, [["L", 1], ["F_gap", 1]])
    ]
    bowl = Bowl(gradient_cap=6)
    bowl.certificates["local_gradient_noise"].kind = "estimated"
    monkeypatch.setattr(
        explorer_data, "recipe_for", lambda theorem: SimpleNamespace(instances=[Instance(bowl, {}, "")])
    )
    (preset,) = presets_of(made().theorem, [])
    assert preset["estimated"] == ["sigma"] and [each["factor"] for each in preset["limits"]] == [25.0, 36.0]


def test_a_problem_that_certifies_too_little_gives_no_constants(monkeypatch):
    instance = Instance(Bowl(objective_gap=None), {"eta": 1}, "why")
    monkeypatch.setattr(explorer_data, "recipe_for", lambda theorem: SimpleNamespace(instances=[instance]))
    (preset,) = presets_of(made().theorem, [])
    assert preset["values"] == {"N": "7", "eta": "1"}  # and no horizon


def test_every_problem_that_fits_is_a_preset_where_no_instance_is_declared(monkeypatch):
    monkeypatch.setattr(explorer_data, "fitting_problems", lambda *_: ["federated_noisy"])
    theorem = made().theorem
    assert theorem.problem and [preset["name"] for preset in presets_of(theorem, [])] == ["federated_noisy ()"]
    assert presets_of(theorem, [])[0]["why"] == "a problem that fits (interior)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(Fraction(3), "3"), (Fraction(10**20), "1" + 20 * "0"), (Fraction(1, 3), "1/3"), (Fraction(1234, 5677), "1234/5677"),
     (Fraction(12345, 6787), repr(12345 / 6787)), (Fraction(4115, 2263), "4115/2263"), (Fraction(0.1), "0.1")],
)  # fmt: skip
def test_a_number_is_written_as_one_types_it(monkeypatch, value, shown):
    instance = Instance(Bowl(), {"eta": value}, "why")
    monkeypatch.setattr(explorer_data, "recipe_for", lambda theorem: SimpleNamespace(instances=[instance]))
    assert presets_of(made().theorem, [])[0]["values"]["eta"] == shown


def test_results_are_read_from_a_folder_and_those_in_it(tmp_path):
    with pytest.raises(InputError, match=r"got one without results\.json"):
        read_measured(tmp_path)
    for name, T in ((".", 1), ("b", 3), ("a", 2), ("a/deeper", 9)):
        (tmp_path / name).mkdir(exist_ok=True)
        row = {"theorem": "t", "problem": "p", "T": T, "verdict": {"empirical": 0.5}}
        write_json(tmp_path / name / "results.json", {"format": RESULTS, "results": [row]})
    assert [row["T"] for row in read_measured(tmp_path)] == [1, 2, 3]
    for wrong in ({}, {"format": RESULTS}, {"format": RESULTS, "results": [{"T": 1}]}):
        write_json(tmp_path / "b" / "results.json", wrong)
        with pytest.raises(InputError, match="wanted the folder of a validate run, got "):
            read_measured(tmp_path)


# --- the page ---------------------------------------------------------------------------------------------------------------------


def file_of(tmp_path, name="one", title="a title"):
    head = f'id = "mine.theorem_{name}"\ntitle = "{title}"\n[symbols]\nF_gap = "objective_gap"\nT = "iterations"\neta = "step_size"\n'
    file = tmp_path / f"{name}.toml"
    file.write_text(
        f'{head}[derived]\nM = "2*F_gap/T"\n[terms]\na = "M/eta"\nb = "3*M/eta"\n[conditions]\nlong = "T >= 3"\n'
    )
    return str(file)


def test_the_page_holds_the_theorems_that_were_asked_for(tmp_path):
    said, files = [], [file_of(tmp_path, "one", "a </script> title"), file_of(tmp_path, "two")]
    made = write_explorer(tmp_path / "page.html", files, say=said.append)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert said == ["mine.theorem_one", "mine.theorem_two"] == list(made.theorems) and made.statements == 2
    assert made.to_dict() == {
        "page": str(made.page), "size": len(text.encode()), "theorems": ["mine.theorem_one", "mine.theorem_two"], "statements": 2,
    }  # fmt: skip
    assert str(made) == f"{made.page}: 2 theorems, 2 statements, {len(text.encode()) / 1e6:.2f} MB"
    (data,) = re.findall(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.DOTALL)
    one, two = json.loads(data)["theorems"]
    assert (one["number"], two["number"], one["reference"], one["title"]) == (0, 1, files[0], "a </script> title")
    assert [theorem["statements"][0]["key"] for theorem in (one, two)] == [0, 1]
    ids = re.findall(r'<template id="([^"]*)"><math', text)
    symbols = [f"m-{k}-{at}" for k in (0, 1) for at in range(3)]
    assert sorted(ids) == sorted(
        ["t-0-0", "t-0-1", "c-0-0", "d-0-0", "t-1-0", "t-1-1", "c-1-0", "d-1-0", "b-0", "b-1", *symbols]
    )
    assert "const MOST_STEPS = 100, MAX_CLIENTS = 10000;" in text and text.count("{all: ($s, $o)") == 2
    assert f"fedco {fedco.__version__}" in text


def test_without_names_the_page_has_the_main_theorems_of_all_papers(tmp_path):
    found = chosen_theorems(())
    wanted = [theorem.id for paper in all_papers() for theorem in paper.main_theorems]
    assert [theorem.id for theorem, _ in found] == wanted == [reference for _, reference in found] and len(wanted) > 10
    assert [reference for _, reference in chosen_theorems(["fcsg.theorem_4_1"] * 2)] == ["fcsg.theorem_4_1"]
    (tmp_path / "other").mkdir()
    files = [file_of(tmp_path, "one"), file_of(tmp_path, "two"), file_of(tmp_path / "other", "one")]
    with pytest.raises(InputError, match=r"mine\.theorem_one: two theorems have this id"):
        write_explorer(tmp_path / "page.html", files)
    assert not (tmp_path / "page.html").exists()


def test_no_tag_can_begin_in_the_data():
    text = as_json({"a": "<!--\u2028é</script>&", "b": 0.5})
    assert (
        text == '{"a":"\\u003c!--\\u2028é\\u003c/script\\u003e\\u0026","b":0.5}'
        and json.loads(text)["a"] == "<!--\u2028é</script>&"
    )
    with pytest.raises(ValueError, match="JSON"):
        as_json({"a": math.inf})


# --- formulas as JavaScript -------------------------------------------------------------------------------------------


def translated(function: Any) -> str:
    library = Library()
    library.function(function)
    return library.text()


def test_a_function_without_source_is_refused() -> None:
    made: dict[str, Any] = {}
    exec("def unseen(x):\n    return x", made)
    with pytest.raises(UntranslatableError, match="source"):
        translated(made["unseen"])


def var(x: Any, new: Any) -> Any:
    """Reserved words of JavaScript as names."""
    let = x / new
    return root(entry(let, 0))


def test_reserved_words_are_only_names() -> None:
    assert "function $f0_var($x, $new)" in translated(var) and "$let = ($x / $new)" in translated(var)


def test_a_function_is_translated_once() -> None:
    library = Library()
    assert library.function(var) == library.function(var) and len(library.sources) == 1


def test_a_symbol_is_printed_by_place_whatever_its_name() -> None:
    hostile = sp.Symbol("alert(1);//")
    assert Printer(Library(), {hostile: "$s[0]"}).doprint(hostile**2 + sp.Rational(1, 3)) == "($s[0]*$s[0]) + 1/3"


def test_lists_of_sizes_and_unknown_functions_are_refused() -> None:
    x = sp.Symbol("x")
    listed = step_function("listed", lambda steps, sizes: steps, "l")(x, sp.Tuple(1, 2))
    for expr in (listed, sp.Function("unknown")(x), sp.gamma(x) + sp.besselj(1, x)):
        with pytest.raises(UntranslatableError):
            Printer(Library(), {x: "$s[0]"}).doprint(expr)


# --- the text of translations, whole ----------------------------------------------------------------------------------------------

FACTOR = 3
RATE = 0.5


def helper(x: Any, y: Any) -> Any:
    return x * FACTOR - y


def everything(n: Any, x: Any, sizes: Any) -> Any:
    """Every statement and expression of the subset."""
    import numpy as np
    import sympy as sp

    if isinstance(n, sp.Basic):
        return None
    else:
        total = 0 * x
    pass
    path = [x]
    for j in range(2, n):
        total = total + x**j / (j + 1)
        path.append(-total)
    for k in range(n):
        total = helper(total, k)
    for l in reversed(range(1, n)):
        total = max(total, l) - min(total, 1) + abs(l) * RATE
    for m in reversed(range(n)):
        total = total + m
    for a, b in zip(path, reversed(path), strict=True):
        total = total + (a if a >= b else entry(sizes, 0))
    first, second = (least(total, n), root(total))
    if first != second:
        total = np.where(np.equal(first, 1), np.sqrt(second), np.nan)
    elif first < second:
        total = first
    else:
        total = helper(*path)
    return total


EVERYTHING = (
    "function $f1_helper($x, $y) { return (($x * 3) - $y); }"
    "\n"
    "function $f0_everything($n, $x, $sizes) { "
    "if (!$$steps($n)) return NaN; "
    "let $a, $b, $first, $j, $k, $l, $m, $path, $second, $total; "
    "$total = (0 * $x); "
    "$path = [$x]; "
    "for ($j = 2; $j < $n; $j++) { $total = ($total + (Math.pow($x, $j) / ($j + 1))); $path.push((-$total)); } "
    "for ($k = 0; $k < $n; $k++) { $total = $f1_helper($total, $k); } "
    "for ($l = $n - 1; $l >= 1; $l--) { $total = ((Math.max($total, $l) - Math.min($total, 1)) + (Math.abs($l) * 0.5)); } "
    "for ($m = $n - 1; $m >= 0; $m--) { $total = ($total + $m); } "
    "for ([$a, $b] of $$zip($path, [...$path].reverse())) { $total = ($total + (($a >= $b) ? $a : $sizes)); } "
    "[$first, $second] = [Math.min($total, $n), Math.sqrt($total)]; "
    "if (($first !== $second)) { $total = (($first === 1) ? Math.sqrt($second) : NaN); } "
    "else { if (($first < $second)) { $total = $first; } else { $total = $f1_helper(...$path); } } "
    "return $total; }"
)


def test_the_whole_subset_is_translated() -> None:
    library = Library()
    assert library.function(everything, counts_steps=True) == "$f0_everything"
    assert library.text() == HELPERS + EVERYTHING


def test_a_function_of_steps_is_another_than_the_function_itself() -> None:
    library = Library()
    names = [library.function(helper), library.function(helper, counts_steps=True), library.function(helper)]
    assert names == ["$f0_helper", "$f1_helper", "$f0_helper"] and len(library.sources) == 2
    assert "$$steps" not in library.sources[0] and "if (!$$steps($x)) return NaN;" in library.sources[1]


TRUTH = True


def with_while(x: Any) -> Any:
    while x > 1:
        x = x / 2
    return x


def with_step(x: Any) -> Any:
    for j in range(0, 6, 2):
        x = x + j
    return x


def with_item(x: Any) -> Any:
    x[0] = 1
    return x


def with_else_of_a_loop(x: Any) -> Any:
    for j in range(3):
        x = x + j
    else:
        x = 0
    return x


def with_shadowed_call(x: Any) -> Any:
    helper = x
    return helper(x, 1)


def with_other_array_function(x: Any) -> Any:
    import numpy as np

    return np.exp(x)


def with_other_module(x: Any) -> Any:
    import math

    return math.sqrt(x)


REFUSED = [
    (lambda x: x + nothing_of_this_name, "the name nothing_of_this_name"),  # noqa: F821
    (lambda x: round(x, ndigits=2), "a call with keywords"),
    (lambda x: "</script>", "the expression '</script>'"),
    (lambda x: x.real, "the expression x.real"),
    (lambda x: 1 if 0 < x < 2 else 0, "the expression 0 < x < 2"),
    (lambda x: helper(x, TRUTH), "the name TRUTH"),
    (lambda x: x + True, "the expression True"),
    (lambda x: Library(x), "the call of Library"),
    (with_while, "with_while, line 2: the statement While"),
    (with_step, "with_step, line 2: a range with a step"),
    *((each, each.__name__) for each in (with_item, with_else_of_a_loop, with_shadowed_call, with_other_array_function, with_other_module)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "said"), REFUSED)
def test_what_is_outside_the_subset_is_refused_by_name(function: Any, said: str) -> None:
    """Also what only looks like it."""
    with pytest.raises(UntranslatableError, match=f"{re.escape(said)}.*no JavaScript here"):
        translated(function)


def test_a_lambda_is_told_from_the_others_of_its_line_by_its_arguments() -> None:
    one, two = (lambda x: x + 1), (lambda y: y * 2)
    assert "function $f0_unnamed($x) { return ($x + 1); }" in translated(one)
    assert "function $f0_unnamed($y) { return ($y * 2); }" in translated(two)
    first, second = (lambda x: x + 1), (lambda x: x * 2)
    for same in (first, second):
        with pytest.raises(UntranslatableError, match="source"):
            translated(same)


GOING = Recurrence(lambda eta: (1, eta), lambda a, b, eta: (a + eta, a * b), result=1)
BACK = Recurrence(lambda end, eta, size: (end,), lambda at, last, eta, size: (last + at * size,), along=GOING)


def test_a_recurrence_is_a_loop() -> None:
    library = Library()
    name = library.function(GOING)
    assert name == "$f0_recurrence"
    assert library.text() == HELPERS + "\n".join([
        "function $f1_unnamed($eta) { return [1, $eta]; }",
        "function $f2_unnamed($a, $b, $eta) { return [($a + $eta), ($a * $b)]; }",
        "function $f0_recurrence($$n, $eta) { if (!$$steps($$n)) return NaN; $$n = Math.max($$n, 0); const $$all = []; "
        "let $$value = $f1_unnamed($eta); for (let $$l = 0; $$l < $$n; $$l++) "
        "{ $$value = $f2_unnamed(...$$value, $eta); $$all.push($$value); } return $$value[1]; }",
    ])  # fmt: skip


def test_a_recurrence_along_another_goes_back_through_it() -> None:
    library = Library()
    library.function(BACK)
    assert library.sources[-1] == (
        "function $f0_recurrence($$n, $eta, $size) { if (!$$steps($$n)) return NaN; $$n = Math.max($$n, 0); "
        "const $$path = (() => { const $$all = [$f1_unnamed($eta)]; let $$value = $f1_unnamed($eta); "
        "for (let $$l = 0; $$l < $$n; $$l++) { $$value = $f2_unnamed(...$$value, $eta); $$all.push($$value); } return $$all; })(); "
        "const $$all = []; let $$value = $f3_unnamed($$path[$$n][1], $eta, $size); "
        "for (let $$l = $$n - 1; $$l >= 0; $$l--) { $$value = $f4_unnamed($$path[$$l][1], ...$$value, $eta, $size); $$all.push($$value); } "
        "return $$value[0]; }"
    )


def test_functions_that_a_paper_declares_are_called() -> None:
    x, n = sp.Symbol("x", positive=True), sp.Symbol("n", integer=True)
    library = Library()
    stepped = step_function("stepped", helper, "l")(n, x + 1)
    given = implemented_function("given", helper)(x, 2 * x)
    printer = Printer(library, {x: "$s[0]", n: "$s[1]"})
    assert printer.doprint(stepped + 1) == "$f0_helper($s[1], $s[0] + 1) + 1"
    assert printer.doprint(given) == "$f1_helper($s[0], 2*$s[0])"
    assert printer.doprint(sp.sqrt(x) + sp.exp(x)) == "Math.sqrt($s[0]) + Math.exp($s[0])"
    assert printer.doprint((x + 1) ** 2 + x**3 + x**2) == "Math.pow($s[0], 3) + ($s[0]*$s[0]) + Math.pow($s[0] + 1, 2)"


def values_of(source: str, at: list[float]) -> list[float]:
    """What a function of a statement writes; a formula without functions is Python as well."""
    body = source.removeprefix("($s, $o) => { ").removesuffix(" }").replace("const ", "").replace("$", "")
    written: dict[int, float] = {}
    exec(body.replace("; ", "\n").removesuffix(";"), {"__builtins__": {}, "s": at, "o": written})
    assert list(written) == list(range(len(written)))
    return list(written.values())


def test_a_statement_is_an_object_of_functions() -> None:
    """Terms, then both sides of each condition, then what is derived; common parts once, and only those that are needed."""
    statement = fedco.define(
        id="mine.theorem_1",
        symbols={"L": "local_smoothness", "F_gap": "objective_gap", "eta": "step_size", "T": "iterations"},
        derived={"M": "2*F_gap/T", "H": "L*eta"},
        terms={"a": "M/eta", "b": "3*M*L"},
        conditions={"small": "5*H <= 1"},
        schedule={"eta": "1/(7*L*T)"},
    ).statement()
    source = statement_source(statement, Library())
    found = re.fullmatch(r"\{all: (.*), sides: (.*), schedule: \{2: (.*)\}\}", source)
    assert found
    L, F, eta, T = at = [2.0, 3.0, 0.25, 11.0]
    sides = [
        side
        for c in statement.requirements
        for side in ((eta, 1 / (7 * L * T)) if c.relation == "==" else (5 * L * eta, 1))
    ]
    whole, some, scheduled = found.groups()
    assert values_of(whole, at) == pytest.approx([2 * F / T / eta, 6 * F / T * L, *sides, 2 * F / T, L * eta])
    assert values_of(some, at) == pytest.approx(sides) and len(sides) == 4
    assert values_of(scheduled, at) == pytest.approx([1 / (7 * L * T)])
    assert whole.count("$s[1]") == 1 and "$s[1]" not in some + scheduled
