"""What of a statement is necessary: each kept instance breaks it with the part at what is said of it; and what is kept of searches."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from fractions import Fraction as Q
from functools import cache
from pathlib import Path

import fedco
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.audit import necessary
from fedco.bounds.audit.necessary import Needed, kept_bundles, needed, searched_for, seconds_for
from fedco.bounds.evaluation.evaluate import bound as evaluated
from fedco.bounds.language.change import Change, changed, narrowed, with_statement
from fedco.bounds.language.theorem import Term
from fedco.bounds.proof.sharpen.record import hindrance, improved, parts_given, rows_in, values_of
from fedco.bounds.registry import all_theorems, get_theorem, paper_keys
from fedco.errors import InputError
from fedco.storage import DamagedError
from fedco.validation.explorer.data import statement_data
from fedco.validation.falsifier import attack, each_term, necessary_table, record
from fedco.validation.falsifier.attack import falsify, falsify_changes
from fedco.validation.falsifier.bundle import claimed_of, needed_part
from fedco.validation.falsifier.carry import are_related, carried, with_free_choices
from fedco.validation.falsifier.confirm import coefficient_lower_bound, confirm
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.each_term import NECESSARY, Part
from fedco.validation.falsifier.necessary_table import (
    FAR,
    GIVEN_UP,
    HELD,
    LESS,
    SAID,
    SHARPENED,
    SHARPER,
    as_markdown,
    reason,
    statements,
    unsearched,
)
from fedco.validation.report.pages import paper_pages
from fedco.validation.runs.bundle import from_dict
from fedco.validation.runs.refutations import named_bundle, replay
from in_a_notebook import html
from quick import slow_but
from searching import ticking


@cache
def parts():
    """Name of a kept instance -> the statement and the part that it is about."""
    statements = [t.statement(label) for t in all_theorems().values() for label in t.labels]
    return {part.bundle: (each, part) for each in statements for part in needed(each).values() if part.bundle}


SGD = get_theorem("baselines.local_sgd")


def test_every_kept_instance_is_of_a_statement_as_it_stands():
    assert parts().keys() == kept_bundles().keys() and len(parts()) > 40


@pytest.mark.parametrize("name", slow_but(sorted(kept_bundles())[10::10], kept_bundles()))
def test_every_kept_instance_breaks_the_statement_with_what_is_said_of_its_part(name):
    statement, part = parts()[name]
    bundle = named_bundle(name)
    change = Change.from_dict(bundle.problem["parameters"]["change"])
    assert bundle.claim == f"{statement.theorem.id} ({statement.label})" and change.part == part.part
    if part.kind == "condition":
        assert (change.way, float(change.factor)) == ("relaxed", part.relaxed)
    elif part.least:
        assert change.way == "divided" and Q(str(part.least)) == 1 / change.factor
    else:
        assert change.way == "dropped"
    assert replay(name).confirmed
    assert part.kind == "condition" or part.least <= needed_part(bundle) <= 1, "the whole term is enough"


def test_what_is_kept_is_forgotten_when_the_statement_changes():
    theorem = get_theorem("fcsg.theorem_4_1")
    assert needed(theorem.statement("corrected")) and searched_for(theorem.statement("corrected"))
    other = changed(theorem, "corrected", Change("drift", "divided", Q(2))).statement("corrected")
    assert needed(other) == {} and searched_for(other) == ""


@pytest.fixture
def finds(monkeypatch):
    """A search of local SGD that finds the kept instances of some of its parts."""

    def found(*names):
        listed = [named_bundle(f"baselines.local_sgd.printed.{name}") for name in names]
        parts = [Part(name, "", "", NECESSARY, 1.0, found=each) for name, each in zip(names, listed, strict=True)]
        monkeypatch.setattr(record, "each_term", lambda *given, **more: iter(parts))

    return found


def test_a_search_is_kept_with_its_instances(tmp_path, monkeypatch, finds):
    """The instance of the largest part is put to the very part that is said, rounded down."""
    file = tmp_path / "necessary.json"
    finds("initialisation", "variance", "drift", "step_size")
    found = record.keep_parts(SGD, "printed", 1.5, file=file)
    statement = SGD.statement("printed")
    assert needed(statement, file) == found and set(found) == {"initialisation", "variance", "drift", "step_size"}
    assert "1.5 s of processor time for each part" in searched_for(statement, file)
    assert found["variance"].least > 0 and found["variance"].bundle == "baselines.local_sgd.printed.variance"
    assert all(part.bundle for part in found.values()), "every part of a tight theorem is necessary"
    bundles = kept_bundles(file)
    assert bundles.keys() == {part.bundle for part in found.values() if part.bundle}
    for part in found.values():
        if part.bundle:
            assert from_dict(bundles[part.bundle]).bound[1] < from_dict(bundles[part.bundle]).values[0]
    monkeypatch.setattr(necessary, "FILE", file)
    assert replay("baselines.local_sgd.printed.variance").confirmed


def test_it_is_shown_where_the_term_is_shown(command):
    theorem = fedco.theorem("fcsg.theorem_4_1")
    part = needed(theorem.statement("corrected"))["variance"]
    lines = command("show", theorem.id).stdout.splitlines()
    assert [line.endswith(f"[{part}]") for line in lines if line.strip().startswith("+ variance")].count(True) == 1
    shown = json.loads(command("show", theorem.id, "--json").stdout)
    assert shown["statements"]["corrected"]["necessary"]["variance"] == {"least": part.least, "bundle": part.bundle}
    assert shown["statements"]["printed"]["necessary"] == {}
    assert str(part) in html(theorem) and part.bundle in html(theorem)
    assert str(part) in theorem.to_markdown()
    terms = {term["name"]: term["needed"] for term in statement_data(theorem.statement("corrected"))["terms"]}
    assert terms["variance"] == f"{part} (fedco replay {part.bundle})"
    assert all(not term["needed"] for term in statement_data(theorem.statement("printed"))["terms"])
    done = command("replay", part.bundle)
    assert done.returncode == 0 and done.stdout.startswith("confirmed") and "variance: divided by" in done.stdout


def test_the_page_of_a_theorem_has_a_row_for_every_part_and_names_the_instance_of_those_that_have_one():
    theorem = get_theorem("feddro.theorem_5_1")
    lines, statement = record.lines_of(theorem), theorem.statement("corrected")
    first = lines.index("## What of `corrected` is necessary")
    rows = lines[lines.index("|---|---|---|", first) + 1 :]
    known = needed(statement).values()
    assert searched_for(statement) in lines[first + 2] and {bool(part.bundle) for part in known} == {True, False}
    for row, part in zip(rows, known, strict=False):
        assert row == (f"| {part.part} | {part} | `{part.bundle}` |" if part.bundle else f"| {part.part} | {part} |  |")
    assert rows[len(known)] == ""


def test_a_name_that_no_instance_has_is_refused():
    with pytest.raises(InputError, match="wanted the file of a bundle or the name of a refutation"):
        named_bundle("fcsg.theorem_4_1.corrected.no_such_part")


@pytest.mark.parametrize("paper", slow_but(["fcsg_m"], [*paper_keys(), ""]))
def test_the_table_is_made_of_what_is_kept(paper):
    """The rows of each paper, and the whole page."""
    page = (Path(fedco.__file__).parent / "docs" / "necessary.md").read_text(encoding="utf-8")
    made = as_markdown([each for each in statements() if each.theorem.id.startswith(paper)])
    rows = [line for line in made.splitlines() if line.startswith(f"| {paper}.")]
    assert page == made if not paper else {*rows} <= {*page.splitlines()}


def test_a_reason_is_about_a_part_of_its_theorem():
    said = [theorem for theorem in all_theorems().values() if theorem.unreached]
    assert said
    for theorem in said:
        statement = theorem.statement()
        assert set(theorem.unreached) <= {part.name for part in (*statement.terms, *statement.conditions)}
        for name, part in needed(statement).items():
            its = theorem.follows_from[0].unreached if theorem.follows_from else {}
            assert part.why == theorem.unreached.get(name, its.get(name, ""))
            assert not part.why or part.kind == "condition" or part.ratio > FAR


@pytest.mark.parametrize(
    ("name", "label", "says"),
    [
        ("library.error_feedback", "printed", "only as a whole, not part by part"),
        ("meta_fl.lemma_7", "corrected", "it has one term and no condition"),
    ],
)
def test_why_nothing_is_kept_of_a_statement(name, label, says):
    """A search of the whole statement is no missing search."""
    assert unsearched(get_theorem(name).statement(label)).startswith(says)


def test_what_cannot_be_searched_says_so():
    gap = get_theorem("library.gossip_sgd")
    method = replace(gap.method, values={**gap.method.values, "gamma": gap.notation["rho"].symbol})
    told = unsearched(replace(gap, method=method).statement())
    assert told.startswith("it cannot be searched: library.gossip_sgd: rho is what the method has at gamma = rho")


def test_what_is_known_stays_where_a_search_finds_less(tmp_path, finds):
    file, statement = tmp_path / "necessary.json", SGD.statement("printed")
    drift = record.keep_instance(named_bundle("baselines.local_sgd.printed.drift"), file=file)
    assert drift.least == needed(statement)["drift"].least > 0.5
    assert needed(statement, file)["variance"] == Needed("variance", "term") and seconds_for(statement, file) == 0
    finds("variance")
    for _ in range(2):
        record.keep_parts(SGD, "printed", 0.25, file=file)
    found = needed(statement, file)
    assert found["drift"] == drift and found["variance"].least > 0 and seconds_for(statement, file) == 0.5
    assert kept_bundles(file).keys() == {part.bundle for part in found.values() if part.bundle}
    less = Needed("drift", "term", 0.1, bundle="n")
    assert less.less_than(drift) and not drift.less_than(less) and Needed("drift", "term").less_than(less)
    four, two = (Needed("a", "condition", relaxed=by, bundle="n") for by in (4.0, 2.0))
    assert Needed("a", "condition").less_than(four) and four.less_than(two)


def test_of_a_statement_that_is_false_as_it_stands_no_part_is_kept(tmp_path, monkeypatch):
    whole = Part("printed", each_term.WHOLE, "", each_term.REFUTED, 2.0)
    monkeypatch.setattr(record, "each_term", lambda *given, **more: iter([whole]))
    with pytest.raises(InputError, match="refuted as it stands, so that its parts say nothing"):
        record.keep_parts(SGD, "printed", 1.0, file=tmp_path / "necessary.json")
    assert not (tmp_path / "necessary.json").exists()


def test_an_instance_of_no_part_is_refused(tmp_path):
    with pytest.raises(InputError, match="wanted the refutation of a statement with a part changed"):
        record.keep_instance(named_bundle("feddro.theorem_4_1"), file=tmp_path / "necessary.json")


@pytest.mark.parametrize(
    ("name", "part", "kind", "says"),
    [
        ("local_scgdm.theorem_3_4", "inner_noise_second", HELD, "at most 0.75 times inner_noise, which stays"),
        ("acc_fcsg_m.theorem_4_7", "drift", HELD, "at most 1.67 times variance"),
        ("fcsg_m.theorem_4_4", "start", SHARPER, "the statement without it at each of 5 sets of constants"),
        ("fcsg_m.corollary_4_5", "start", SHARPER, "as in fcsg_m.theorem_4_4: the premises"),
        ("feddro.theorem_5_1", "inner_variance", SAID, "while every path of the noise stays"),
        ("feddro.corollary_1", "inner_variance", SAID, "as in feddro.theorem_5_1: while every path of the noise stays"),
        ("fcsg_m.theorem_4_4 sharpened", "variance", SHARPER, "with 0.19 of it at each of 5 sets of constants"),
        ("meta_fl.theorem_8_FO", "drift_heterogeneity", LESS, "the sharpened statement has 0.562 of it"),
        ("fcsg.theorem_4_1", "initialisation", "", ""),
    ],
)
def test_the_reason_of_a_term_of_which_little_is_known(name, part, kind, says):
    theorem, _, label = name.partition(" ")
    found = reason(get_theorem(theorem).statement(label), part)
    assert found[0] == kind and says in found[1]


def test_a_sharpened_statement_is_no_reason_where_far_less_of_it_may_be_right_or_where_it_asks_for_more(monkeypatch):
    """It says that a term is too large; that the rest of it is needed is what its own instance shows."""
    theorem = get_theorem("meta_fl.theorem_8")
    about, own = (theorem.statement(label) for label in ("corrected", "sharpened"))
    assert reason(about, "drift_heterogeneity")[0] == LESS
    assert reason(own, "drift_heterogeneity")[0] != LESS, "there is none that is sharper"
    known = {label: dict(needed(theorem.statement(label))) for label in ("corrected", "sharpened")}
    known["sharpened"]["drift_heterogeneity"] = Needed("drift_heterogeneity", "term", 0.01, bundle="n")
    monkeypatch.setattr(necessary_table, "needed", lambda statement: known[statement.label])
    assert reason(about, "drift_heterogeneity") == ("", "")
    monkeypatch.undo()
    wider = replace(about, conditions=[c for c in about.conditions if c.name != "step_size"])
    assert reason(wider, "drift_heterogeneity") == ("", "")


def test_where_the_premises_give_a_statement_without_a_term_no_instance_needs_it():
    """What is said of a term is what the sharpened bounds say at their constants; a row of another statement says nothing."""
    statement = get_theorem("fcsg_m.theorem_4_4").statement("corrected")
    kept = [row for row in rows_in(SHARPENED) if row["theorem"] == statement.theorem.id]
    rows = [row for row in kept if row["statement"] == "corrected"]
    given = parts_given(statement, kept)
    assert given == parts_given(statement, rows) and len(rows) == len(given["start"]) < len(kept), (
        "its own rows alone count"
    )
    for place, row in enumerate(rows):
        here = statement.theorem.bound("corrected", **{name: Q(value) for name, value in row["at"].items()})
        for name, parts in given.items():
            less = here.total - here.terms[name] * (1 - parts[place])
            assert less == pytest.approx(row["sharpened"], rel=1e-9)
    assert max(given["start"]) < 0 < max(given["variance"]) < GIVEN_UP
    other = [{**row, "stated": 2 * row["stated"]} for row in rows]
    assert parts_given(statement, other) == {term.name: [] for term in statement.terms}


def test_a_twentieth_of_the_first_inner_error_does_not_suffice_where_one_of_two_inner_numbers_bends():
    """What `unreached` says of SCGD with steps that decline. g(x) = (x, x^2/2) near the start 0 and f(u, v) = L u^2/2 + v there, both
    continued with the slopes that they have at the ends: F is quadratic as far as any path goes, so that moments say what it does."""
    outer, delta, beta, t0, a, steps = 0.007, 67.0, 4.0, 1800.0, 12.0, 600
    far = 1.2 * outer * delta
    moments, reach, left = np.zeros((2, 2)), np.zeros(2), 0.0
    for t in range(steps):
        step, kept = a / (t + t0), 0.0 if t == 0 else 1 - beta / (t + t0)
        left += (1 + outer) ** 2 * moments[0, 0] / (t + t0)
        sample, move = np.array([[1, 0], [1 - kept, kept]]), np.array([[1 - step, -step * outer], [0, 1]])
        moments = sample @ moments @ sample.T + np.diag([0, ((1 - kept) * delta) ** 2])
        moments = move @ moments @ move.T
        reach = abs(move) @ (abs(sample) @ reach + [0, (1 - kept) * delta])
        assert reach[0] < far and reach[1] < delta + far
    inner, slope = float(np.hypot(1, far)), float(np.hypot(1, outer * (delta + far)))
    constants = {"C_g": inner, "L_g": 1, "C_f": slope, "L_f": outer, "delta_g": delta, "F_gap": 0}
    bound = get_theorem("library.scgd_declining").bound(**constants, a=a, t0=t0, beta=beta, b=1, N=1, T=steps)
    weights = sum(1 / (t + t0) for t in range(steps))
    assert left / weights > bound.total - 0.95 * bound.terms["inner_start"] > 0


def test_a_term_that_is_necessary_is_given_back_as_far_as_instances_go(monkeypatch):
    """The climb goes beyond the first refutation, in changes of the same term each of which leaves more than the one before.

    Violations stay as they were found: to make them simpler takes far longer than the search.
    """
    monkeypatch.setattr(attack, "shrunk", lambda target, formula, made, found: (made, found))
    kept, dropped = {}, Change("drift", "dropped")

    def heard(*given, **more):
        kept.update(falsify_changes(*given, **more))
        return kept

    monkeypatch.setattr(each_term, "falsify_changes", heard)
    parts = {part.part: part for part in each_term.each_term(SGD, "printed", seconds=25, clock=ticking())}
    assert [*parts] == ["initialisation", "variance", "drift", "step_size"] and parts["step_size"].relaxed == 4
    assert {part.verdict for part in parts.values()} == {NECESSARY}, "every part of a tight theorem is necessary"
    found = {change: result for change, result in kept.items() if change.part == "drift"}
    assert next(iter(found)) == dropped and len(found) > 1
    left = [0 if change.way == "dropped" else 1 / change.factor for change in found]
    assert left == sorted(set(left)) and all(change.part == "drift" for change in found)
    refuted = [result for result in found.values() if result.refuted]
    assert len(refuted) >= len(found) - 1, "the last one may be open"
    assert all(below.needed < part for below, part in zip(refuted, left[1:], strict=False))
    assert parts["drift"].least == max(result.needed for result in refuted) > found[dropped].needed > 0
    assert needed_part(parts["drift"].found) == pytest.approx(parts["drift"].least), "the instance that needs the most"


def test_an_instance_shows_the_same_part_of_another_label_and_of_a_variant():
    """The left side is that of the instance; what is needed grows as the coefficient shrinks."""
    kept = named_bundle("fcsg_m.theorem_4_4.corrected.bias")
    corrected, sharpened = map(get_theorem("fcsg_m.theorem_4_4").statement, ("corrected", "sharpened"))
    parts = {}
    for about in (corrected, sharpened):
        ((change, found),) = carried(kept, about)
        assert change == Change("bias", "dropped") and found.left[0] > found.right[1]
        parts[about.label] = coefficient_lower_bound(target_of(about.theorem, about.label, change), found)
    assert parts["sharpened"] == pytest.approx(8 / 5 * parts["corrected"], rel=1e-2)
    variant = get_theorem("meta_fl.theorem_8_FO").statement("corrected")
    noise = named_bundle("meta_fl.theorem_8_HF.corrected.noise")
    assert {change.part for change, _ in carried(noise, variant)} == {"noise"}


def test_an_instance_shows_nothing_of_another_problem_or_outside_of_the_conditions():
    kept = named_bundle("fcsg_m.theorem_4_4.corrected.bias")
    assert list(carried(kept, SGD.statement("printed"))) == []
    theorem = get_theorem("fcsg_m.theorem_4_4")
    steep = next(v for n, v in kept.hyperparameters.items() if n == "alpha")
    fewer = narrowed(theorem, "corrected", [f"alpha <= {Q(steep) / 2}"]).statement("corrected")
    assert list(carried(kept, fewer)) == []


def test_what_a_schedule_only_proposes_is_free():
    theorem = get_theorem("fcsg_m.theorem_4_4")
    assert set(theorem.statement("corrected").schedule) == {"beta"}
    assert not with_free_choices(theorem, "corrected").statement("corrected").schedule
    asked = get_theorem("acc_fcsg_m.theorem_4_7")
    assert with_free_choices(asked, "corrected") is asked, "a condition asks for this momentum"


def test_related_are_labels_corollaries_and_variants():
    of = {
        name: get_theorem(name).statement()
        for name in ("fcsg_m.theorem_4_4", "fcsg_m.corollary_4_5", "fcsg.theorem_4_1")
    }
    theorem, corollary, other = of.values()
    assert are_related(theorem, theorem.theorem.statement("sharpened")) and are_related(corollary, theorem)
    assert are_related(*(get_theorem(f"meta_fl.theorem_8{end}").statement() for end in ("", "_HF")))
    assert not are_related(theorem, other)


def test_carried_instances_are_kept_where_they_show_more(tmp_path):
    file = tmp_path / "necessary.json"
    about = get_theorem("fcsg_m.theorem_4_4").statement("sharpened")
    bias = record.keep_instance(named_bundle("fcsg_m.theorem_4_4.corrected.bias"), file=file)
    found = record.keep_carried(about, file=file)
    assert found["bias"].least > bias.least > 0 and found["variance"] == Needed("variance", "term")
    assert found["bias"].bundle == "fcsg_m.theorem_4_4.sharpened.bias" and needed(about, file) == found


@pytest.mark.parametrize("name", [theorem.id for theorem in improved() if not hindrance(theorem)])
def test_no_term_of_a_sharpened_statement_is_larger_at_the_sets_of_constants(name):
    theorem = get_theorem(name)
    own = theorem.statement("sharpened")
    for number in range(2):
        values = values_of(theorem.statement(), number)
        before = evaluated(theorem.statement(), values, strict=False)
        after = evaluated(own, {n: v for n, v in values.items() if n in own.symbols}, strict=False)
        assert after.admissible and after.total <= before.total


@pytest.mark.parametrize("label", slow_but(["corrected"], ["corrected", "sharpened"]))
def test_what_is_necessary_of_feddro_is_so_for_both_averages(label):
    """Searches take its metric at t = 1..T, as Algorithm 2 does; the proofs are about t = 0..T-1 (docs/theory/feddro.md)."""
    statement, kept = get_theorem("feddro.theorem_5_1").statement(label), kept_bundles()
    shown = [from_dict(kept[part.bundle]) for part in needed(statement).values() if part.bundle]
    assert len(shown) >= 5
    for bundle in shown:
        change = Change.from_dict(bundle.problem["parameters"]["change"])
        target = target_of(statement.theorem, label, change)
        assert target.average == "after"
        confirm(replace(target, average="before"), claimed_of(bundle))


# --- what is kept of searches, and what pages print of it -------------------------------------------------------------


PAGE = Path(fedco.__file__).parent / "docs" / "falsifier.md"


@pytest.fixture
def kept_file(tmp_path, monkeypatch):
    """Where searches are kept, of so many turns instead of seconds."""
    path = tmp_path / "searches.json"
    monkeypatch.setattr(record, "FILE", path)
    monkeypatch.setattr(record, "falsify", lambda *given, **more: falsify(*given, **{**more, "clock": ticking()}))
    record.kept_searches.cache_clear()
    yield path
    record.kept_searches.cache_clear()


def test_a_search_is_kept_and_forgotten_when_its_statement_changes(kept_file) -> None:
    assert record.searched(SGD, "printed") is None
    made = record.keep(SGD, "printed", 12.0, file=kept_file)
    assert made["outcome"] == "SURVIVED"
    found = record.searched(SGD, "printed")
    assert (found.evaluations, found.ratio) == (made["evaluations"], made["ratio"])
    assert f"survived {found.evaluations} instances" in str(found)
    assert any(str(found.evaluations) in text for text in record.lines_of(SGD))
    page = paper_pages("baselines", [])["baselines.local_sgd.md"]
    assert "## Searched for counterexamples" in page
    other = changed(SGD, "printed", Change("drift", "dropped"))
    assert record.searched(other, "printed") is None


def test_what_cannot_be_searched_is_not_kept(kept_file) -> None:
    statement = SGD.statement("printed")
    odd = with_statement(SGD, replace(statement, terms=(*statement.terms, Term("odd", sp.sin(1)))))
    with pytest.raises(InputError, match=r"baselines\.local_sgd: .*cannot be written as formulas"):
        record.keep(odd, "printed", 1.0, file=kept_file)
    assert not kept_file.exists()


def test_a_search_that_came_nowhere_near_the_bound_says_that_it_tested_hardly_anything() -> None:
    near = record.Searched("SURVIVED", 0.4, 1000, 5.0, "2026-11-22", "0.1.0")
    assert str(near).startswith("survived 1000 instances") and not near.tested_little
    far = replace(near, ratio=1e-12)
    assert far.tested_little and "survived" not in str(far)
    assert "no instance came above 1e-12 of the bound, so the search tested hardly anything" in str(far)
    assert "no admissible instance was found, nothing was tested" in str(replace(near, ratio=0.0))
    assert not replace(far, outcome="REFUTED").tested_little


def test_the_python_of_the_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands, but for a tenth of its seconds."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert program.count("seconds=5)") == 1
    monkeypatch.chdir(PAGE.parents[1] / "examples")
    names: dict[str, object] = {}
    exec(compile(program.replace("seconds=5)", "seconds=0.5)"), PAGE.name, "exec"), names)
    tests = [found for name, found in names.items() if name.startswith("test_")]
    assert len(tests) == 1
    for test in tests:
        test()


def test_a_damaged_file_is_refused(kept_file) -> None:
    record.keep(SGD, "printed", 2.0, file=kept_file)
    stored = json.loads(kept_file.read_text())
    stored["searches"]["baselines.local_sgd (printed)"]["ratio"] = 0.1
    kept_file.write_text(json.dumps(stored))
    record.kept_searches.cache_clear()
    with pytest.raises(DamagedError, match="sha256"):
        record.searched(SGD, "printed")


def test_no_kept_search_refutes_what_is_said_to_hold() -> None:
    """The file in the repository: every corrected statement that was searched survived."""
    kept = [(t, s) for t in record.searchable("corrected") if (s := record.searched(t, "corrected")) is not None]
    if not record.FILE.exists():
        pytest.skip("no search is kept in the repository")
    assert kept
    assert [t.id for t, s in kept if s.outcome != "SURVIVED" or s.ratio > 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, t in all_theorems().items() if "corrected" in t.labels])
def test_no_corrected_statement_is_refuted_in_ten_minutes(name, tmp_path) -> None:
    """`python -m fedco.validation.falsifier.record --seconds 600` keeps the same; here nothing in the repository changes."""
    theorem, began = get_theorem(name), time.process_time()
    if theorem not in record.searchable("corrected"):
        pytest.skip("nothing says how it is run on a family")
    made = record.keep(theorem, "corrected", 600.0, file=tmp_path / "searches.json")
    assert made["outcome"] == "SURVIVED"
    assert made["ratio"] <= 1
    assert time.process_time() - began > 590
