"""Answers that say what they are worth: what holds without running, how near an optimum is, and one clear line for hostile input."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
from dataclasses import replace
from fractions import Fraction
from math import inf
from pathlib import Path

import fedco
import pytest
import sympy as sp
from fedco.bounds import all_theorems, get_theorem
from fedco.bounds.evaluation.without_running import GAP_BY, Worth, about_estimates, limits
from fedco.bounds.language.bounding import LIPSCHITZ
from fedco.bounds.language.quantities import QUANTITIES
from fedco.bounds.language.reading import InputError
from fedco.bounds.settings import resolve
from fedco.cli import app
from fedco.synthetic import problem, problems
from in_a_notebook import html
from refusal import is_refused
from small_theorems import small
from typer.testing import CliRunner

LOCAL = "baselines.local_sgd"
SGD, STEP = {"initialisation": "2*F_gap/(eta*T)", "variance": "L*eta*sigma**2"}, {"step_size": "eta <= 1/L"}
MINE = small(SGD, id="mine.theorem_1", conditions=STEP)
CONSTANTS = {"L": 2, "sigma": 1, "G": 3, "F_gap": "1/4", "N": 4}
AT = {**CONSTANTS, "eta": "1/10", "p": 1, "b": 1, "T": 100}


def bound(**more):
    return get_theorem(LOCAL).bound(strict=False, **{**AT, **more})


def asked(*arguments: str) -> dict:
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def sets(values) -> list[str]:
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


# --- the rule --------------------------------------------------------------------------------------------------------


def test_the_least_of_what_is_known_is_compared_with():
    """2 L F_gap = 1 and G^2 = 9 by the symbols; the cap and the gradient at the start where they are given."""
    assert (bound().worth.value, str(bound().worth.limit)) == (1, "2 L F_gap")
    capped = bound(gradient_cap="1/2").worth
    assert (capped.value, str(capped.limit)) == (Fraction(1, 4), "gradient_cap^2")
    start = bound(gradient_cap="1/2", initial_gradient_norm="1/10").worth
    assert (start.value, str(start.limit)) == (Fraction(1, 100), "initial_gradient_norm^2")
    small = bound(G="1/3").worth
    assert (small.value, str(small.limit)) == (Fraction(1, 9), "G^2")


def test_a_bound_is_vacuous_from_equality_on():
    total = Fraction(bound(eta="1/4", sigma=0).total)
    assert bound(eta="1/4", sigma=0, p=1).worth.vacuous is False and total < 1
    at = {**AT, "sigma": 0, "T": 1, "eta": 1, "p": 1, "G": 100}
    found = get_theorem(LOCAL).bound(strict=False, **at)
    assert found.total == 2 * Fraction(1, 4) and found.worth.vacuous is False
    assert get_theorem(LOCAL).bound(strict=False, **{**at, "L": 1}).worth.vacuous is True


def test_the_gap_counts_by_its_quantity_and_not_by_its_letter():
    """F is as smooth as its clients where it is their mean; a composition is not as smooth as its outer function."""
    assert [str(each) for each in limits(small(SGD).statement())] == ["2 L F_gap"]
    assert limits(small(SGD, problem="meta").statement()) == ()
    renamed = small("2*F_gap/(eta*T) + beta*eta*sigma**2", symbols={"beta": "local_smoothness"})
    assert [str(each) for each in limits(renamed.statement())] == ["2 beta F_gap"]
    for item in all_theorems().values():
        for label in item.labels:
            for limit in limits(item.statement(label)):
                derived = {constant.name for constant in item.statement(label).derived}
                named = {name if name in derived else item.notation[name].quantity.name for name, _ in limit.powers}
                if limit.by == GAP_BY:
                    assert "objective_gap" in named
                    (smooth,) = named - {"objective_gap"}
                    assert smooth in {*derived, "objective_smoothness"} or (
                        item.problem == "federated" and "smoothness" in smooth
                    )
                    if smooth in derived:
                        (form,) = item.statement(label).constant(smooth).bounds
                        assert form.kind == LIPSCHITZ and form.function in ("objective_gradient", "meta_gradient")


def test_only_a_squared_gradient_of_the_objective_is_compared():
    for item in all_theorems().values():
        for label in item.labels:
            if not item.metric.at:
                assert limits(item.statement(label), QUANTITIES) == (), item.id


@pytest.mark.parametrize("name", problems())
def test_every_limit_holds_at_the_start_of_every_certified_problem(name):
    """Each limit of each theorem of its kind, put together from the certificates: none is below its metric at the start."""
    made = problem(name)
    at = made.initial_point.unsqueeze(0)
    starts = {"gradient_sq": float(made.gradient(at).square().sum())}
    if "initial_distance" in made.certificates:
        starts["gap"] = float(made.objective(at) - made.objective(made.minimiser.unsqueeze(0)))
        starts["distance_sq"] = float((at - made.minimiser).square().sum())
    known = {name: Fraction(each.value) for name, each in made.certificates.items()}
    tried = 0
    for item in all_theorems().values():
        if item.problem != made.kind or not {*item.assume, *item.statement().assume} <= made.properties:
            continue
        statement = item.statement()
        values = {b.name: known[b.quantity.name] for b in statement.symbols.values() if b.quantity.name in known}
        values |= known
        for constant in statement.derived:
            table = {s: sp.Rational(str(values[str(s)])) for s in constant.expr.free_symbols if str(s) in values}
            if constant.bounds and (number := constant.expr.xreplace(table)).is_number:
                values[constant.name] = Fraction(float(number))
        for limit in limits(statement, known):
            if {name for name, _ in limit.powers} <= values.keys():
                if item.metric.of in starts:
                    assert float(limit.at(values)) >= starts[item.metric.of] * (1 - 1e-9), (item.id, limit)
                tried += 1
    stated = {item.problem for item in all_theorems().values()}
    assert tried or made.kind == "meta" or made.kind not in stated or "objective_smoothness" not in known


# --- what is given ---------------------------------------------------------------------------------------------------


def test_what_helps_the_comparison_may_be_given_and_nothing_else():
    with is_refused("inner_lipschitz: not a symbol"):
        bound(inner_lipschitz=1)
    with is_refused("gradient_cap: wanted a nonnegative real"):
        bound(gradient_cap=-1)
    with is_refused("initial_gradient_norm"):
        get_theorem("fcsg.lemma_a_2").bound(S_f=1, S_g=1, L_f=1, L_g=1, initial_gradient_norm=1)
    found = resolve(get_theorem("meta_fl.theorem_8").statement(), {}, {"objective_smoothness": 3, "gradient_cap": 2})
    assert dict(found.beside.quantities) == {"objective_smoothness": 3, "gradient_cap": 2} and found.unused == ()


def test_a_constants_file_says_which_constants_are_estimates(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('L = 2\ninitial_gradient_norm = "0.1"\n[estimated]\nL = "at 95% confidence"\n', encoding="utf-8")
    rest = {name: value for name, value in AT.items() if name != "L"}
    found = get_theorem(LOCAL).bound(strict=False, constants=file, **rest)
    assert dict(found.worth.estimates) == {"L": "at 95% confidence"} and found.worth.vacuous
    assert "rests on estimates" in str(found) and "L (at 95% confidence)" in str(found)
    three = about_estimates({"L": "surely", "G": "hardly", "sigma": "surely"})
    assert three == ("rests on estimates, outside of which it promises nothing: L, sigma (surely); G (hardly)",)
    assert not get_theorem(LOCAL).bound(strict=False, constants=file, **rest, L=2).worth.estimates, "L was typed"
    printed = asked("bound", LOCAL, "--constants", str(file), *sets(rest))
    assert printed["rests_on_estimates"] == [{"symbol": "L", "how_sure": "at 95% confidence"}]
    for wrong, said in (("L = 1\n[estimated]\nS = 'x'\n", "S"), ("L = 1\nestimated = 3\n", "table of texts")):
        file.write_text(wrong, encoding="utf-8")
        with is_refused(said):
            resolve(get_theorem(LOCAL).statement(), {}, file)


def test_a_limit_that_is_an_estimate_itself_is_called_one():
    shared = {**CONSTANTS, "estimated": {"L": "guessed"}}
    at = {name: value for name, value in AT.items() if name not in CONSTANTS}
    found = get_theorem(LOCAL).bound(strict=False, constants=shared, **at)
    assert found.worth.doubtful == ("L",) and found.to_dict()["without_running"]["estimated"] == ["L"]


def test_an_estimate_of_a_derived_constant_is_one_that_the_answer_rests_on():
    theorem = get_theorem("local_scgdm.theorem_3_4")
    shared = {"L_F": 3, "estimated": {"L_F": "from 100 samples"}}
    rest = {"eta": 1, "beta": "1/100", "alpha": 1, "gamma": 1, "T": 100, "p": 1, "F_gap": 1}
    found = theorem.bound(strict=False, assume="unit_constants", constants=shared, **rest)
    assert dict(found.worth.estimates) == {"L_F": "from 100 samples"}
    assert "L_F (from 100 samples)" in str(found)
    arrays = theorem.bound(strict=False, assume="unit_constants", constants=shared, **{**rest, "T": [10, 100]})
    assert {"symbol": "L_F", "how_sure": "from 100 samples"} in arrays.to_dict()["rests_on_estimates"]


def test_an_infinite_bound_says_nothing_whatever_is_known():
    theorem, found = small("F_gap/(eta*T)"), Worth(inf)
    assert found.vacuous is True and found.notes == ("vacuous: the bound is infinite",)
    assert Worth(1.0).vacuous is None and Worth(1.0).notes == ()
    arrays = theorem.bound(strict=False, F_gap=10**300, eta=[1e-300, 1], T=1)
    assert arrays.to_dict()["vacuous"] == [True, False] and "vacuous at 1 of 2 points: infinite" in str(arrays)
    assert theorem.bound(strict=False, F_gap=1, eta=[1, 2], T=1).to_dict()["vacuous"] is None


def test_a_bound_below_0_of_what_is_never_negative_says_so():
    terms = {"first": "F_gap/(eta*T)", "less": "-sigma**2"}
    wrong = small(terms)
    at = {"F_gap": 1, "eta": 1, "T": 4}
    assert "below 0, which the metric never is" in str(wrong.bound(sigma=1, **at))
    assert "below 0" not in str(wrong.bound(sigma="1/2", **at))  # equal to 0
    outside = small(terms, conditions={"short": "T <= 3"})
    assert "below 0" not in str(outside.bound(strict=False, sigma=1, **at)), "it promises nothing there"
    descent = fedco.theorem("feddro.lemma_f_2")
    assert not descent.metric.at, "a step of a proof may go down"


def test_an_answer_over_arrays_names_what_it_is_compared_with():
    shared = {**CONSTANTS, "estimated": {"L": "guessed"}}
    at = {**{name: value for name, value in AT.items() if name not in CONSTANTS}, "T": [1, 100]}
    found = get_theorem(LOCAL).bound(strict=False, constants=shared, **at)
    (gap,) = [each for each in found.to_dict()["without_running"] if each["formula"] == "2 L F_gap"]
    assert gap == {"formula": "2 L F_gap", "by": GAP_BY, "estimated": ["L"]}
    assert "2 L F_gap" in str(found) and "estimated: L" in str(found)


@pytest.mark.parametrize("estimated", [{"S": "guessed"}, {"L": 3}, "L"])
def test_estimates_are_texts_about_constants_that_are_given(estimated):
    with is_refused("estimated: wanted"):
        get_theorem(LOCAL).bound(strict=False, constants={**CONSTANTS, "estimated": estimated}, eta=1, p=1, b=1, T=1)


# --- the answers -----------------------------------------------------------------------------------------------------


def test_every_answer_says_that_it_is_vacuous():
    theorem = get_theorem(LOCAL)
    short = theorem.tune(budget={"T": 1}, **CONSTANTS)
    wide = theorem.complexity(eps=5, **CONSTANTS)
    arrays = theorem.bound(strict=False, **{**AT, "T": [1, 10**9]}, initial_gradient_norm=1)
    for found in (short, wide):
        assert found.to_dict()["vacuous"] is True and found.to_dict()["without_running"]["formula"] == "2 L F_gap"
        for text in (str(found), found.to_markdown(), html(found), found.to_latex()):
            assert "vacuous" in text and "2 L F" in text
    assert arrays.vacuous.tolist() == [True, False] and "vacuous at 1 of 2 points" in str(arrays)
    printed = asked("tune", LOCAL, *sets(CONSTANTS), "--budget", "T=1")
    assert printed["vacuous"] is True and printed["without_running"]["value"] == 1.0
    assert asked("complexity", LOCAL, *sets(CONSTANTS), "--eps", "5")["vacuous"] is True


def test_a_bound_that_says_something_has_no_word_of_it():
    found = bound(eta="1/100", T=10**6)
    assert found.worth.vacuous is False and "vacuous" not in str(found) and found.to_dict()["vacuous"] is False
    keys = {"id": "mine.theorem_1", "terms": {"all": "sigma**2"}, "symbols": {"sigma": "local_gradient_noise"}}
    unknown = fedco.define(**keys).bound(sigma=1)
    assert unknown.worth.vacuous is None and unknown.to_dict()["without_running"] is None


def test_the_smoothness_of_a_composition_counts_though_it_is_derived():
    """2 L_Phi Phi_gap, with L_Phi = B_f L_g + B_g^2 L_f + L_h = 3 from its parts, or as it is given."""
    theorem = get_theorem("feddro.theorem_5_1")
    at = {"K": 4, "I": 1, "b": 1, "T": 10**4, "eta": "1/100", "beta": "1/100"}
    found = theorem.bound(strict=False, assume="unit_constants", **at).worth
    assert (str(found.limit), found.value) == ("2 L_Phi Phi_gap", 6)
    given = theorem.bound(strict=False, assume="unit_constants", constants={"L_Phi": "1/1000"}, **at).worth
    assert given.value == Fraction(1, 500) and given.vacuous
    for name in ("local_scgdm.theorem_3_4", "fcsg.theorem_4_1", "meta_fl.theorem_8"):
        assert GAP_BY in [limit.by for limit in limits(get_theorem(name).statement())], name


def test_how_near_an_answer_is_to_the_optimum_is_said_with_the_cost_of_a_target():
    found = get_theorem(LOCAL).complexity(eps="1/10", **CONSTANTS)
    assert found.to_dict()["certificate"] == found.tuned.certificate
    assert found.tuned.certificate in str(found) and found.tuned.certificate in found.to_markdown()
    table = fedco.compare("1/10", {"clients": 4}, theorems=[LOCAL])
    assert table.to_dict()["rows"][0]["certificate"] == table.rows[0].tuned.certificate


def test_a_cost_that_is_missing_says_what_counts_it_in_which_unit_and_how_to_declare_it():
    plain = MINE.tune(budget={"T": 100}, L=1, sigma=1, F_gap=1)
    assert set(plain.missing_costs) == {"iterations", "rounds", "samples", "model_messages", "embedding_messages"}
    for word in ("samples (samples per client)", "compressed_sgd", "costs"):
        assert word in plain.missing_costs["samples"] and word in str(plain)
    costs = dict.fromkeys(("rounds", "samples", "model_messages", "iterations"), "T")
    own = small(SGD, conditions=STEP, costs=costs)
    assert own.tune(budget={"T": 100}, L=1, sigma=1, F_gap=1).missing_costs == {}
    with is_refused(r"rounds \(communication rounds\).*compressed_sgd.*costs"):
        MINE.tune(budget={"rounds": 10}, L=1, sigma=1, F_gap=1)
    listed = fedco.compare("1/10", {}, theorems=[MINE], cost="samples")
    assert "samples (samples per client)" in str(listed)


# --- ordinary and hostile input gets an answer or one clear line ------------------------------------------------------


BY_NOISE = small(SGD, conditions={"step_size": "eta <= min(1/L, F_gap/(L*eta*sigma**2*T))"})
IN_MAX = small("max(2*F_gap/(eta*T), L*eta*sigma**2, F_gap*L**2*F_gap/sigma**2)")
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
    outside = small(SGD, id="mine.theorem_4", conditions=STEP, costs=costs)
    plain = small(SGD, id="mine.theorem_5", conditions=STEP)
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
