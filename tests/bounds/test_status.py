"""What is known of each statement: computed from bundles and certificates, and nothing of the papers is left open."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from fedco.bounds import all_theorems, get_theorem
from fedco.bounds.audit.status import status, table
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.properties import PROPERTIES
from fedco.bounds.language.rendering import describe, to_text
from fedco.validation.explorer import data
from fedco.validation.report import contents


@pytest.mark.parametrize(
    ("name", "given"),
    [("fcsg.corollary_4_2", {"T >= N**3", "b <= B"}), ("fcsg_m.corollary_4_5", {"T >= N**3"})],
)
def test_the_printed_corollaries_of_fcsg_hold_from_N_cubed_on(name, given):
    """Their terms are at least those of the corrected corollary, and that one follows from the corrected theorem."""
    item = get_theorem(name)
    found = status(item)
    assert found.outcome == "derived" and set(found.given) == given
    parent = get_theorem(item.follows_from[0])
    ones = {n: 1 for n, b in item.symbols("corrected").items() if b.quantity.role != "hyperparameter"}
    for N, T in ((1, 1), (3, 27), (4, 10**6)):
        counts = {"N": N, "T": T, "m": 2, "b": 3, "B": 5}
        small = parent.bound("corrected", **ones, **counts, **exact(item, N, T))
        large = item.bound("printed", **{n: v for n, v in {**ones, **counts}.items() if n in item.symbols("printed")})
        assert small.total <= large.total * (1 + 1e-12)


def exact(item, N, T):
    """The schedule's numbers, q rounded down to a whole number of steps, with S_F = 2."""
    period = int((Fraction(T) / N**3) ** 0.25)
    chosen = {"alpha": (N / T) ** 0.5 / 12, "q": max(1, period), "beta": 5 / 6 * (N / T) ** 0.5}
    return {name: value for name, value in chosen.items() if name in item.symbols("corrected")}


def test_every_answer_says_the_same_of_a_statement():
    """What a bound, a description, the report and the explorer say of the same statement."""
    for name, label in (("local_scgdm.theorem_3_4", "composed"), ("fcsg.corollary_4_2", "printed")):
        item = get_theorem(name)
        known = status(item, label)
        said = describe(item)["statements"][label]
        assert (said["status"], tuple(said["refuted_by"])) == (known.word, known.bundles)
        told = contents.statement(item, label, said)["status"]
        assert (told["outcome"], tuple(told["bundles"])) == (known.outcome, known.bundles)
        drawn = data.statement_data(item.statement(label))
        assert (drawn["status"], drawn["why"]) == (known.outcome, known.reason)


@pytest.mark.parametrize("name", ["fcsg.corollary_4_2", "fcsg_m.corollary_4_5"])
def test_a_printed_term_that_is_too_small_does_not_follow(name):
    item = get_theorem(name)
    printed, corrected = item.statement("printed"), item.statement("corrected")
    assert corrected.terms and status(with_statement(item, printed)).outcome == "derived"
    for index, term in enumerate(printed.terms):
        terms = list(printed.terms)
        terms[index] = replace(term, expr=term.expr / 1000)
        assert status(with_statement(item, replace(printed, terms=tuple(terms)))).outcome == "open", term.name


def test_what_the_lemmas_give_is_refuted_with_the_printed_claim():
    for name in ("feddro.theorem_5_1", "feddro.theorem_f_1", "feddro.corollary_1"):
        assert status(get_theorem(name), "composed").outcome == "refuted"
    frozen = status(get_theorem("local_scgdm.theorem_3_4"), "composed")
    assert frozen.outcome == "refuted" and "local_scgdm.theorem_3_4" in frozen.bundles


def test_an_argument_has_words_and_is_the_papers_own():
    item = get_theorem("feddro.theorem_4_2")
    assert status(item).why.startswith("The corrected statement with eta")
    assert status(replace(item)).why != status(item).why, "another theorem under the same id"


@pytest.mark.slow
def test_the_table_is_in_the_audit_and_nothing_is_open():
    text = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    made = table(all_theorems().values())
    assert made in text and "| open |" not in made
    assert made.count("\n") > sum(item.kind in ("theorem", "corollary") for item in all_theorems().values())


def test_the_table_has_theorems_and_corollaries_with_their_bundles_or_why():
    names = ("local_scgdm.theorem_3_4", "local_scgdm.lemma_4_1", "feddro.theorem_4_2")
    first, second = table(map(get_theorem, names)).splitlines()[4:]
    assert first.startswith(f"| {names[0]} | refuted | [{names[0]}](refutations/{names[0]}.json), [")
    assert second.startswith(f"| {names[2]} | derived | The corrected statement with eta")


def test_what_is_assumed_by_name_is_said_in_words():
    """In the text and as data: without it, what is proved of problems without h is false on what is shown."""
    item = get_theorem("feddro.theorem_4_2")
    assert describe(item)["statements"]["corrected"]["assumes"] == {"no_extra_term": PROPERTIES["no_extra_term"]}
    assert to_text(item).count("  assumes no_extra_term: There is no non-compositional part: h = 0.") == len(
        item.labels
    )
    assert describe(get_theorem("fcsg.theorem_4_1"))["statements"]["corrected"]["assumes"] == {}
