"""The audits of the papers: kept and equal to new ones, findings on the most charitable reading, and what is known of each statement."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from fractions import Fraction as F
from importlib import import_module
from math import isclose
from pathlib import Path
from typing import Any

import fedco
import pytest
import sympy as sp
from fedco.bounds import all_theorems, get_theorem, papers
from fedco.bounds.audit import audit_cache, make_audit_cache
from fedco.bounds.audit.checks import audit, automatic, stated
from fedco.bounds.audit.findings import SEVERITIES, Again, Finding, RecheckError, Withdrawn, read_findings
from fedco.bounds.audit.findings import describe as described
from fedco.bounds.audit.refuted import causes, exact_instances, kept
from fedco.bounds.audit.status import known_of, status, table
from fedco.bounds.language.notation import Notation
from fedco.bounds.language.properties import PROPERTIES
from fedco.bounds.language.rendering import describe, to_text
from fedco.bounds.language.theorem import Metric, Source, Statement, Term, Theorem
from fedco.bounds.registry import all_papers, get_paper
from fedco.validation.explorer import data
from fedco.validation.report import contents
from quick import slow_but
from refusal import is_refused


@pytest.mark.parametrize("key", papers.built_in_keys())
def test_every_built_in_paper_has_a_current_audit(key):
    assert audit_cache.read(key) is not None, "its declarations changed: run `make docs`"


_DECIMAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def same(one: str, other: str) -> bool:
    """The same words and whole numbers, and decimals up to the rounding of another machine."""
    decimals = [[float(number) for number in _DECIMAL.findall(text)] for text in (one, other)]
    words = [_DECIMAL.sub("#", text) for text in (one, other)]
    return words[0] == words[1] and all(isclose(a, b, rel_tol=1e-6) for a, b in zip(*decimals, strict=True))


def flat(row: Mapping[str, Any]) -> dict[str, str]:
    """What a finding says, and the evidence of its check."""
    return {**{name: str(value) for name, value in row.items() if name != "evidence"}, **row["evidence"]}


def compare(key: str, made: Iterable[Finding]) -> None:
    """Findings, checked now, beside those of the same kind in the kept file of a paper, current or not."""
    rows = {
        row["id"]: row for row in json.loads((audit_cache.folder_of(key) / audit_cache.NAME).read_text())["findings"]
    }
    found = {row["id"]: row for row in json.loads(json.dumps([*make_audit_cache.run(made)]))}
    assert [*found] == [name for name in rows if is_automatic(name) == is_automatic(next(iter(found), name))]
    for old, new in ((flat(rows[name]), flat(row)) for name, row in found.items()):
        assert old.keys() == new.keys() and not {name for name in old if not same(old[name], new[name])}, old["id"]


def is_automatic(name: str) -> bool:
    return ":" in name


QUICK = ("fcsg_m", "comfedl", "local_scgdm")


@pytest.mark.parametrize("key", slow_but(QUICK, papers.built_in_keys()))
def test_the_findings_of_a_reader_are_what_was_kept(key):
    compare(key, sorted(get_paper(key).findings, key=lambda each: SEVERITIES.index(each.severity)))


@pytest.mark.parametrize("key", slow_but(QUICK, papers.built_in_keys()))
def test_what_the_audit_finds_by_itself_is_what_was_kept(key):
    compare(key, [each for each in audit(key) if is_automatic(each.id)])


READERS = {finding.id: finding for key in papers.built_in_keys() for finding in get_paper(key).findings}
RESTING = sorted(READERS.keys() & {name for item in exact_instances().values() for name in item.findings})
NUMBERS_ONLY = {"meta_fl.remark_9": "takes the constants of a run, whose left side is another one's"}


@pytest.mark.parametrize("name", RESTING)
def test_a_check_notices_when_a_run_of_it_refutes_nothing(name, monkeypatch):
    """A finding that rests on several runs, such as one for each reading, needs every one of them."""
    checks, harmless, seen = import_module(f"fedco.bounds.papers.{name.partition('.')[0]}.checks"), [], []

    def changed(bundle):
        seen.append(bundle)
        found = kept(bundle)
        less = found.right[0] - abs(found.right[0]) / 2
        return found._replace(left=(less, less)) if bundle in harmless else found

    monkeypatch.setattr(checks, "kept", changed, raising=False)
    READERS[name].check()
    for bundle in {*seen} if name not in NUMBERS_ONLY else ():
        harmless[:] = [bundle]
        with pytest.raises(RecheckError):
            READERS[name].check()


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """`fcsg_m` and the paper beside it that it imports, in a folder of their own."""
    for key in ("fcsg", "fcsg_m"):
        shutil.copytree(audit_cache.folder_of(key), tmp_path / key)
    monkeypatch.setattr(audit_cache, "folder_of", lambda key: tmp_path / key)
    audit_cache.fingerprint.cache_clear()
    yield tmp_path
    audit_cache.fingerprint.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("key", papers.built_in_keys())
def test_what_is_kept_as_proved_is_what_both_locks_accept(key):
    assert list(audit_cache.read(key).proved) == list(make_audit_cache.proved(key)) != []


def test_a_bound_says_proved_only_while_the_kept_audit_is_valid(copied):
    statement = fedco.theorem("fcsg_m.theorem_4_4").statement("corrected")
    assert known_of(statement).word == "proved"
    with open(copied / "fcsg_m" / "corrected.py", "a") as file:
        file.write("\n")
    audit_cache.fingerprint.cache_clear()
    assert known_of(statement).word == "derived"


def test_every_file_that_says_what_code_a_proof_is_compared_with_counts():
    """Those of papers without a folder of their own did not: an edit of theirs left a cache that said that both locks hold."""
    package = Path(audit_cache.__file__).parents[2]
    declaring = {file for file in package.glob("validation/papers/**/*.py") if "\nCODES = " in file.read_text("utf-8")}
    counted = {file for pattern in audit_cache.SECOND_LOCK for file in package.glob(pattern)}
    assert len(declaring) >= 7 and declaring <= counted


# --- the file of a paper that has its findings ------------------------------------------------------------------------


@pytest.mark.parametrize("changed", [{"kind": "wish"}, {"severity": "grave"}])
def test_a_finding_has_a_known_kind_and_severity(changed):
    finding = get_paper("fcsg_m").findings[0]
    assert replace(finding) == finding
    with pytest.raises(ValueError, match="unknown kind"):
        replace(finding, **changed)


ROW = """[[findings]]
id = "k.lost"
theorem = "k.t"
where = "(1)"
kind = "constant"
severity = "slip"
printed = "1"
expected = "2"
consequence = "none"
"""


def read_from(folder, text):
    (folder / "findings.toml").write_text(text)
    return read_findings({"__file__": str(folder / "checks.py"), "lost": dict, "found": list, "number": 1})


def test_a_finding_is_checked_by_the_function_of_its_name_or_by_the_one_that_it_names(tmp_path):
    more = ROW.replace("k.lost", "k.other") + 'check = "found"\nseen_in = ["k.lost"]\n'
    again = (
        '[[again]]\nid = "k.t:units"\nseen_in = ["k.u:units"]\n[[withdrawn]]\nids = ["k.gone"]\nwhy = "read again"\n'
    )
    (first, second), others = read_from(tmp_path, ROW + more + again)
    assert (first.check, first.seen_in, second.check, second.seen_in) == (dict, (), list, ("k.lost",))
    assert others == (Again("k.t:units", ("k.u:units",)), Withdrawn(("k.gone",), "read again"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROW.replace("lost", "unknown"), "k.unknown: wanted the name of a function"),
        (ROW + 'check = "number"\n', "got 'number'"),
        (ROW + 'checked = "lost"\n', "checked"),
        (ROW.replace('where = "(1)"\n', ""), "where"),
        (ROW.replace("slip", "grave"), "grave"),
        ("[[finding]]\n", "wanted the tables findings, again, withdrawn, got 'finding'"),
        ("[[findings]\n", "readable TOML"),
        ("findings = 3\n", r"wanted \[\[findings\]\], one table for each row"),
        (ROW.replace("[[findings]]", "[findings]"), r"wanted \[\[findings\]\], one table for each row"),
    ],
)
def test_a_findings_file_that_cannot_be_read_as_meant_is_refused(tmp_path, text, said):
    with is_refused(said):
        read_from(tmp_path, text)


# --- a letter for two bounds --------------------------------------------------------------------------------------------


def declared(term, quantity="inner_noise"):
    notation = Notation(
        "demo",
        (
            ("B_f", "B_f", "outer_lipschitz"),
            ("B_g", "B_g", "inner_lipschitz"),
            ("L_f", "L_f", "outer_smoothness"),
            ("s", "s", quantity),
        ),
    )
    s = notation.namespace()
    dimension = (notation["B_f"].quantity.dimension * notation["B_g"].quantity.dimension) ** 2
    statement = Statement("printed", (Term("noise", term(s)),))
    return Theorem(
        "demo.theorem",
        "theorem",
        "t",
        Source("demo", "1"),
        notation,
        Metric("m", "m", dimension),
        {"printed": statement},
    )


def both(s):
    """The noise of the Jacobian and that of the value, by one letter."""
    return (s.B_f**2 + s.L_f**2 * s.B_g**2) * s.s**2


def test_a_letter_for_two_bounds_is_two_quantities():
    assert [*automatic(declared(both))] == []
    (found,) = automatic(declared(both, "inner_jacobian_noise"))
    assert found.kind == "homogeneity"


@pytest.mark.parametrize(
    "wrong", [lambda s: both(s) * s.B_g, lambda s: (s.B_f**2 + s.L_f * s.B_g**2) * s.s**2, lambda s: both(s) / s.s]
)
def test_a_slip_beside_such_a_letter_is_still_found(wrong):
    (found,) = automatic(declared(wrong))
    assert found.kind == "homogeneity" and found.check()["places"]


def test_a_letter_for_two_bounds_is_no_finding_about_a_paper_and_show_says_what_it_is():
    for name in ("theorem_5_1", "corollary_1", "theorem_f_1", "lemma_f_4", "lemma_f_5", "theorem_f_6"):
        item = get_theorem(f"feddro.{name}")
        assert not item.inhomogeneities(item.statement("printed"), item.unit_choices), name
    (line, *_) = (
        line for line in to_text(get_theorem("feddro.theorem_5_1")).split("\n") if line.strip().startswith("sigma_g ")
    )
    assert "[[y] [x]^-1 or [y]]" in line


# --- findings on the most charitable reading ---------------------------------------------------------------------------


def test_a_witness_satisfies_the_conditions_of_the_statement():
    """And one that does not is refused."""
    theorem = get_theorem("local_scgdm.theorem_3_4")
    (found,) = (finding for finding in automatic(theorem) if finding.kind == "constant")
    assert found.check()
    points = found.check.args[1]
    for point in points.values():
        table = {theorem.notation[name].symbol: sp.Rational(v.numerator, v.denominator) for name, v in point.items()}
        sides = [c.each_side(lambda side, table=table: side.xreplace(table)) for c in stated(theorem)]
        assert all(c.slack >= 0 for c in sides if not c.left.free_symbols | c.right.free_symbols)
    planted = {name: {**point, "eta": F(10**6)} for name, point in points.items()}
    with pytest.raises(RecheckError):
        found.check.func(theorem, planted)


def test_a_corollary_has_the_conditions_of_its_theorem():
    names = {finding.id for finding in automatic(get_theorem("local_scgdm.corollary_3_5"))}
    assert not [name for name in names if ":condition:" in name]


def test_what_was_withdrawn_is_gone_and_has_a_reason():
    current = {row["id"] for row in make_audit_cache.findings()[0]}
    gone = [name for paper in all_papers() for item in paper.withdrawn for name in item.ids]
    assert len(gone) == len(set(gone)) == 34 and not current & set(gone)
    assert all(len(item.why) > 30 for paper in all_papers() for item in paper.withdrawn)
    assert {*causes(), *(name for names in causes().values() for name in names)} <= current


def test_a_claim_that_does_not_follow_has_an_instance_or_says_that_it_has_none():
    for paper in all_papers():
        for finding in paper.findings:
            assert finding.charitable and finding.where
            text = described(finding.to_dict())
            assert ("no exact instance is kept" in text) == (finding.severity == "breaks" and not finding.bundles)
            assert f"reading:     {finding.charitable}" in text


def test_a_slip_seen_again_is_one_cause():
    found = audit("acc_fcsg_m")
    conditions = [item for item in found if item.cause == "acc_fcsg_m.printed_conditions"]
    assert {item.id.partition(":")[2] for item in conditions} == {
        "condition:step_size",
        "condition:momentum_choice",
        "",
    }


# --- what is known of each statement ----------------------------------------------------------------------------------


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
