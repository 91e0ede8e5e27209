"""The rules of the audit, one by one: on small theorems made for it, and against sums and integrals done by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction as F
from pathlib import Path

import fedco
import pytest
import sympy as sp
from fedco import figures
from fedco.bounds.audit import audit_cache, checks, make_audit_cache, refuted
from fedco.bounds.audit import decide as deciding
from fedco.bounds.audit import status as states
from fedco.bounds.audit.checks import audit, automatic, compare_expressions, compare_terms, never_negative, recheck
from fedco.bounds.audit.decide import decide
from fedco.bounds.audit.findings import Finding, Findings, RecheckError, confirm
from fedco.bounds.audit.refuted import refuted_by
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.definition import load
from fedco.bounds.language.theorem import Condition, Derived, Statement, Term
from fedco.bounds.papers import built_in_keys
from fedco.bounds.registry import get_paper, get_theorem
from fedco.storage import write_json
from quick import slow_but
from refusal import is_refused

EXAMPLE = load(Path(fedco.__file__).parent / "examples" / "pr_sgd.toml")
L, G, gap, eta, p, N, T, sigma = (
    EXAMPLE.notation[name].symbol for name in ("L", "G", "F_gap", "eta", "p", "N", "T", "sigma")
)
x, y, z = sp.symbols("x y z", positive=True)
SUM = {"initialisation": 2 * gap / (eta * T), "drift": eta**2 * p**2 * L**2 * G**2}


def statement(label, terms=SUM, *, conditions=(), schedule=None):
    made = tuple(Term(name, expr) for name, expr in terms.items())
    return Statement(label, made, tuple(conditions), schedule=schedule or {})


def theorem(printed=None, composed=None, **changed):
    """The example with other statements."""
    given = {"printed": printed or statement("printed"), "composed": composed}
    return replace(EXAMPLE, statements={label: item for label, item in given.items() if item}, **changed)


# --- comparisons ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("larger", "smaller", "outcome"),
    [
        (x + y, y + x, "equal"),
        (sp.sqrt(x * y), sp.sqrt(x) * sp.sqrt(y), "equal"),
        (x + y, x, "larger"),
        (x, x + y, "violated"),
        (x + y, sp.Max(x, y), "larger"),
        (x + y, sp.Max(x, 2 * y), "violated"),
        (x + y, sp.Max(2 * x, y), "violated"),
        (x + y + z, sp.Max(x, sp.Max(y, z) + x), "larger"),
        (sp.Max(x, y), x, "open"),
        (x + y + (x + y) * z, sp.Max(x, y) * sp.Max(1, z), "larger"),
        (x + y, sp.Max(x, y) * sp.Max(1, z), "violated"),
        (N, sp.Integer(1), "larger"),
        (N, sp.Integer(2), "violated"),
    ],
)
def test_two_expressions_are_compared_for_all_positive_values(larger, smaller, outcome):
    found, point = compare_expressions(larger, smaller)
    assert found == outcome and (point is not None) is (outcome == "violated")
    if point:
        table = {s: sp.Rational(point[str(s)]) for s in larger.free_symbols | smaller.free_symbols}
        assert larger.xreplace(table) < smaller.xreplace(table)


def test_a_violation_satisfies_what_is_given():
    assert compare_expressions(x, y)[0] == "violated"
    assert compare_expressions(x, y, (Condition("c", x, ">=", y),)) == ("open", None)


@pytest.mark.parametrize(
    ("expr", "nonnegative"),
    [
        (N - 1, True),
        (N - 2, False),
        (x - 1, False),
        (sp.sqrt(N) - 1, True),
        (sp.cbrt(N) * sp.sqrt(N) - sp.cbrt(N), True),
        (sp.sqrt(N) + sp.cbrt(N) - 2, True),
        (N ** sp.Rational(3, 4) - 1, True),
        (N * sp.sqrt(x) - sp.sqrt(x), True),
        (sp.sqrt(N) * x - sp.sqrt(x), False),
        ((N - 1) * x + y, True),
        ((N - 1) * x - y, False),
    ],
)
def test_counts_are_at_least_one_and_nothing_else_is(expr, nonnegative):
    assert never_negative(expr) is nonnegative


def test_a_number_of_steps_that_may_be_0_is_not_at_least_one():
    steps = sp.Symbol("k", integer=True, nonnegative=True)
    assert not never_negative(steps - 1) and never_negative(steps)


def test_a_schedule_is_put_in_until_nothing_of_it_is_left():
    chain = theorem(statement("printed", schedule={"eta": 1 / (L * p), "p": T / N, "N": 2 * L}))
    assert checks.scheduled(chain.statement("printed"), eta + N) == 2 / T + 2 * L
    assert checks.scheduled(chain.statement("printed"), G) == G


def test_terms_are_compared_at_the_schedule_of_the_statement_that_has_one():
    """`eta = 1/L` makes the two equal; without it neither is larger, wherever the schedule stands."""
    terms = {"a": eta * L * G**2}, {"a": G**2}
    for mine, others in ((terms[0], terms[1]), (terms[1], terms[0])):
        free = theorem(statement("printed", mine), statement("composed", others))
        assert compare_terms(free)["a"][0] == "violated"
        for which in ("printed", "composed"):
            made = [
                statement(label, its, schedule={"eta": 1 / L} if label == which else None)
                for label, its in (("printed", mine), ("composed", others))
            ]
            assert compare_terms(theorem(*made))["a"] == ("equal", None)


def test_a_term_that_a_statement_does_not_have_is_0():
    found = compare_terms(theorem(statement("printed", {"a": G**2}), statement("composed", {"b": G**2})))
    assert found["a"][0] == "larger" and found["b"][0] == "violated"


def test_where_terms_are_compared():
    made = theorem(statement("printed", {"a": G**2}), statement("composed", {"a": 2 * G**2}))
    assert compare_terms(made)["a"][0] == "violated"
    assert compare_terms(replace(made, compared_where=(Condition("c", G, "<=", sp.Integer(0)),)))["a"][0] == "open"


# --- findings and their checks ---------------------------------------------------------------------------------------------------


def test_a_smaller_term_is_one_finding_whose_check_holds():
    made = theorem(statement("printed"), statement("composed", {**SUM, "drift": 9 * SUM["drift"], "more": G**2}))
    (found,) = automatic(made)
    assert (found.id, found.where) == ("pr_sgd.theorem_1:terms", "term drift, term more")
    assert found.expected == sp.sstr(sp.factor_terms(9 * SUM["drift"])) and "term drift is smaller" in found.consequence
    assert set(found.check()) == {"drift", "more"} and " < " in found.check()["more"]
    same = theorem(statement("printed"), statement("composed", {**SUM, "drift": SUM["drift"] / 9}))
    assert [*automatic(same)] == []


def asked_again(found: Finding, about, *evidence):
    """The check of a finding, of another theorem or with other evidence: a finding that is no longer true is not confirmed."""
    return found.check.func(about, *(evidence or found.check.args[1:]))


@pytest.mark.parametrize(("second", "fine"), [(2 * G, True), (G, False), (G / 2, False)])
def test_every_term_of_a_finding_is_smaller_at_its_point(second, fine):
    """Of what the lemmas give."""
    small, large = {"a": G, "b": G}, {"a": 3 * G, "b": 2 * G}
    made = theorem(statement("printed", small), statement("composed", large))
    (found,) = (each for each in automatic(made) if each.id.endswith(":terms"))
    assert set(found.check.args[-1]) == {"a", "b"}
    later = theorem(statement("printed", small), statement("composed", large | {"b": second}))
    if fine:
        assert asked_again(found, later)
    else:
        with pytest.raises(RecheckError):
            asked_again(found, later)


@pytest.mark.parametrize(("second", "fine"), [(2 * G, True), (0, True), (-G, False)])
def test_the_sum_of_a_corollary_is_smaller_at_the_point_of_its_finding(second, fine):
    small, large = {"a": G, "b": G}, {"a": 3 * G, "b": 2 * G}

    def corollary(parent):
        return theorem(
            statement("printed", small), follows_from=(theorem(statement("printed", parent)), {}), kind="corollary"
        )

    (found,) = (each for each in automatic(corollary(large)) if each.id.endswith(":corollary"))
    later = corollary({"a": 3 * G, "b": second})
    if fine:
        assert asked_again(found, later)
    else:
        with pytest.raises(RecheckError):
            asked_again(found, later)


def test_a_condition_that_only_the_lemmas_need_is_a_finding():
    """Neither the condition that is printed too, nor one that the schedule makes trivial, nor one that is implied."""
    printed = [Condition("step_size", eta, "<=", 1 / (2 * L))]
    composed = [
        Condition("trivial", p, ">=", p),
        *printed,
        Condition("implied", eta, "<=", 1 / L),
        Condition("period", p, "<=", N, "of the drift"),
        Condition("horizon", T, ">=", N),
    ]
    made = theorem(statement("printed", conditions=printed), statement("composed", conditions=composed))
    found = {finding.id.rpartition(":")[2]: finding for finding in automatic(made)}
    assert [*found] == ["period", "horizon"]
    assert found["period"].expected == "p <= N (of the drift)" and "(used in the proof)" in found["horizon"].expected
    assert all(finding.check()["violated"] for finding in found.values())
    with pytest.raises(RecheckError):
        asked_again(found["period"], made, "period", {"p": F(2), "N": F(2), "eta": F(1), "L": F(1, 2), "T": F(1)})


def test_conditions_are_compared_with_the_schedule_put_in():
    """`p <= 4` is trivial at `p = 4`, whoever states it; `p >= 2 eta L p` is then `4 >= 8 eta L`."""
    schedule = {"p": sp.Integer(4)}
    conditions = (Condition("a", p, ">=", 2 * eta * L * p), Condition("b", p, "<=", sp.Integer(4)))
    own = theorem(statement("printed", conditions=conditions, schedule=schedule))
    assert [(c.left, c.right) for c in checks.stated(own) if c.name in "ab"] == [(4, 8 * eta * L)]
    lemmas = theorem(statement("printed", schedule=schedule), statement("composed", conditions=conditions))
    assert [found.id.rpartition(":")[2] for found in automatic(lemmas)] == ["a"]


def test_the_checks_of_dimensions_need_a_place_that_does_not_fit():
    wrong = theorem(statement("printed", {**SUM, "drift": G}))
    (found,) = automatic(wrong)
    assert (found.kind, found.where) == ("homogeneity", "term drift") and [*found.check()["places"]] == ["term drift"]
    with pytest.raises(RecheckError):
        asked_again(found, theorem())
    assert [*automatic(theorem())] == []


def test_units_that_the_paper_sets_to_one_are_told_from_slips():
    unit = EXAMPLE.notation["G"].quantity.dimension
    terms = {**SUM, **{f"t{n}": n * G for n in range(1, 7)}, "bad": G**2 * L}
    made = theorem(statement("printed", terms), unit_choices=(unit,))
    found = {finding.kind: finding for finding in automatic(made)}
    assert set(found) == {"homogeneity", "units"} and found["homogeneity"].where.endswith("term bad")
    assert found["units"].check()["places"] > found["units"].check()["left_with_units"] > 0
    assert found["units"].printed.endswith("(term t1, term t2, term t3, term t4, …)")
    assert found["units"].printed.startswith("6 places ")
    for other in (theorem(statement("printed", {**SUM, "bad": G**2 * L})), theorem(statement("printed", terms))):
        with pytest.raises(RecheckError):
            asked_again(found["units"], other)  # no place that units explain, or none of them


def test_a_corollary_is_compared_with_its_theorem_where_the_counts_are_whole():
    parent = theorem()
    schedule = {"eta": 1 / L, "p": T / N}
    inside = {"initialisation": 2 * gap * L / T, "drift": T**2 / N**2 * G**2}
    fine = theorem(statement("printed", inside), follows_from=(parent, schedule), kind="corollary")
    assert {name: item[0] for name, item in checks.corollary_terms(fine).items()} == dict.fromkeys(inside, "equal")
    assert checks.corollary_terms(fine) is checks.corollary_terms(fine) and [*automatic(fine)] == []
    small = replace(fine, statements={"printed": statement("printed", {"drift": T / N * G**2})})
    found = {finding.kind: finding for finding in automatic(small)}
    assert found["corollary"].where == "term drift" and found["corollary"].check()
    given = checks.corollary_terms(small)["drift"][1]
    assert given["T"] / given["N"] > 1  # a period of at least one step
    one = replace(fine, statements={"printed": statement("printed", inside | {"drift": T**2 / N**2 * G**2 * F(1, 2)})})
    assert checks.corollary_terms(one)["drift"][0] == "violated"


def test_the_period_of_a_corollary_is_at_least_one():
    """p^2 G^2 for p G^2 is smaller below one only, which no period is."""
    parent = theorem(statement("printed", {"a": p * G**2}))
    made = theorem(statement("printed", {"a": (T / N) ** 2 * G**2}), follows_from=(parent, {"p": T / N}))
    assert checks.corollary_terms(made)["a"][0] == "open"
    assert checks.corollary_terms(replace(made, follows_from=(parent, {"p": 2 * T / N})))["a"][0] == "violated"


def test_a_corollary_is_no_smaller_because_of_how_its_terms_are_named_or_divided():
    schedule = {"eta": 1 / L, "p": T / N}
    start, drift = 2 * gap * L / T, T**2 / N**2 * G**2

    def made(terms, *conditions):
        printed = statement("printed", terms, conditions=conditions)
        return theorem(printed, follows_from=(theorem(), schedule), kind="corollary")

    for terms in (
        {"a": start, "b": drift},
        {"all": start + drift},
        {"initialisation": start / 2, "drift": drift + start / 2},
    ):
        assert [*automatic(made(terms))] == []
    (found,) = automatic(made({"all": start + drift / 2}))
    assert (found.kind, found.where) == ("corollary", "the sum of the terms") and found.check()


def test_a_corollary_is_compared_where_its_own_condition_holds():
    """T/N G^2 is at least T^2/N^2 G^2 where T <= N, and only there."""
    printed = {"initialisation": 2 * gap * L / T, "drift": T / N * G**2}
    conditions = (Condition("short", T, "<=", N), Condition("step", T, ">=", N))
    own = statement("printed", printed, conditions=conditions)
    assert [*automatic(theorem(own, follows_from=(theorem(), {"eta": 1 / L, "p": T / N}), kind="corollary"))] == []


def test_a_schedule_may_go_through_a_constant_of_the_corollary():
    """eta = g with g = 1/L is eta = 1/L."""
    step = Derived("g", 1 / L, "g")
    terms = {"initialisation": 2 * gap * L / T, "drift": T**2 / N**2 * G**2}
    own = replace(statement("printed", terms, schedule={"eta": step.symbol}), derived=(step,))
    made = theorem(own, follows_from=(theorem(), {"eta": step.symbol, "p": T / N}), kind="corollary")
    assert [found.kind for found in automatic(made) if found.kind == "corollary"] == []


def test_only_a_printed_statement_is_compared():
    corrected = replace(EXAMPLE, statements={"corrected": statement("corrected")})
    assert [*automatic(corrected)] == []
    wrong = {"printed": statement("printed", {"drift": G**2 / 4})}
    of_corrected = replace(EXAMPLE, statements=wrong, follows_from=(corrected, {"p": T / N}), kind="corollary")
    assert [*automatic(of_corrected)] == []


def test_the_audit_of_a_part_is_that_part_of_the_audit():
    whole = audit("fcsg_m")
    assert [found.id for found in whole] == [found.id for found in audit(get_paper("fcsg_m"))]
    for name in ("fcsg_m.theorem_4_4", "fcsg_m.corollary_4_5"):
        part = [found.id for found in whole if found.theorem == name]
        assert [found.id for found in audit(name)] == [found.id for found in audit(get_theorem(name))] == part != []
    assert {found.id for found in checks.of_paper(get_paper("fcsg_m"))} == {found.id for found in whole}
    assert audit(EXAMPLE) == []  # of a paper that fedco does not have


def test_one_finding_is_checked_again():
    key = "fcsg_m"
    reader = get_paper(key).findings[0].id
    assert recheck(reader) and recheck("fcsg_m.theorem_4_4:terms") and recheck(reader, key)
    for unknown, said in (
        ("nobody.theorem_1:terms", "fedco audit"),
        ("fcsg_m.nothing:terms", "fedco audit"),
        (f"{reader}x", "nearest is"),
        ("fcsg_m.theorem_4_4:term", "nearest is fcsg_m.theorem_4_4:terms"),
    ):
        with is_refused(said):
            recheck(unknown)


def finding(name="a.b", severity="slip", about="a.theorem_1", check=lambda: {"n": 1}, **more):
    return Finding(name, about, "line 1", "index", severity, "this", "that", "nothing", check, **more)


def test_findings_are_listed_and_drawn(monkeypatch):
    monkeypatch.setattr(refuted, "bundles_of", lambda name: {"a.b": ("one", "two"), "a.c": ()}[name])
    both, alone = finding().to_dict(), finding("a.c", given="f.toml").to_dict()
    assert (both["bundle"], both["bundles"]) == (
        "refutations/one.json",
        ["refutations/one.json", "refutations/two.json"],
    )
    assert (alone["bundle"], alone["bundles"]) == (None, [])
    assert (both["recheck"], alone["recheck"]) == ("fedco audit --recheck a.b", "fedco audit f.toml --recheck a.c")
    assert str(Findings()) == "no findings"
    text = str(Findings([finding(), finding("a.c")]))
    assert text.count("\n\n") == 1 and text.count("  refuted:     fedco replay docs/refutations/") == 2
    assert confirm(True, n=3) == {"n": 3}
    monkeypatch.setattr(figures, "bar_plot", lambda groups, **words: groups)
    counted = Findings([finding(), finding("a.c"), finding("a.c", "breaks", "a.other")]).plot()
    none = {"a.theorem_1": 0.0, "a.other": 0.0}
    assert counted == {"slip": none | {"a.theorem_1": 2.0}, "breaks": none | {"a.other": 1.0}, "constant": none}


# --- what is kept ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def papers(monkeypatch):
    """Two papers with two findings each, of which one has an audit cache; and what was audited."""
    items = {
        key: [finding(f"{key}.slip", "slip", f"{key}.t"), finding(f"{key}.breaks", "breaks", f"{key}.other")]
        for key in ("kept", "free")
    }
    asked = []

    def fake(about):
        asked.append(about)
        key, dot, _ = about.partition(".")
        return [found for found in items.get(key, ()) if not dot or found.theorem == about]

    rows = tuple(found.to_dict() | {"evidence": "old"} for found in items["kept"])
    monkeypatch.setattr(checks, "audit", fake)
    monkeypatch.setattr(
        make_audit_cache, "read", lambda key: audit_cache.AuditCache(key, "2026-01-02", rows) if key == "kept" else None
    )
    monkeypatch.setattr(make_audit_cache.built_in, "built_in_keys", lambda: ("kept",))
    monkeypatch.setattr(
        make_audit_cache.user_files, "installed", lambda group: {"free": None} if group == "papers" else {}
    )
    monkeypatch.setattr(make_audit_cache.user_files, "is_file", lambda part: part.endswith(".toml"))
    return asked


@pytest.mark.parametrize(
    ("about", "check", "audited", "ids"),
    [
        (None, None, ["free"], ["kept.breaks", "free.breaks", "kept.slip", "free.slip"]),
        (None, True, ["kept", "free"], ["kept.breaks", "free.breaks", "kept.slip", "free.slip"]),
        (None, False, ["kept", "free"], ["kept.breaks", "free.breaks", "kept.slip", "free.slip"]),
        ("kept", None, [], ["kept.breaks", "kept.slip"]),
        ("kept.t", None, [], ["kept.slip"]),
        ("kept.nothing", None, ["kept.nothing"], []),
        ("free.t", None, ["free.t"], ["free.slip"]),
        ("kept.toml", None, ["kept.toml"], []),
    ],
)
def test_what_is_kept_is_not_checked_again_unless_it_is_asked_for(papers, about, check, audited, ids):
    today = datetime.now(UTC).date().isoformat()
    rows, days = make_audit_cache.findings(about, check)
    assert papers == audited and [row["id"] for row in rows] == ids
    for part, day in days.items():
        assert day == ("2026-01-02" if part not in audited else None if check is False else today)
    for row in rows:
        new = row["id"].partition(".")[0] in {part.partition(".")[0] for part in audited}
        assert row.get("evidence") == ("old" if not new else None if check is False else {"n": "1"})


@pytest.fixture
def room(tmp_path, monkeypatch):
    """A package with a checking room and three papers, `a` importing `b` and `b` importing `a`."""
    for file, text in {
        "outside.py": "",
        "bounds/audit/audit_cache.py": "",
        "bounds/kernel.py": "",
        "bounds/papers/a/text.py": "from __future__ import annotations\nfrom ..b import x\n",
        "bounds/papers/b/__init__.py": "    from ..a.text import y\nfrom ..d.e import z\n",
        "bounds/papers/c/text.py": "",
        "bounds/papers/d/e.py": "",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    monkeypatch.setattr(audit_cache, "__file__", str(tmp_path / "bounds/audit/audit_cache.py"))
    return tmp_path


@pytest.mark.parametrize(
    ("file", "counts"),
    [
        ("bounds/papers/a/text.py", True),
        ("bounds/papers/a/new.py", True),
        ("bounds/papers/b/__init__.py", True),
        ("bounds/papers/d/e.py", True),
        ("bounds/kernel.py", True),
        ("bounds/audit/new.py", True),
        ("bounds/papers/c/text.py", False),
        ("bounds/papers/a/notes.txt", False),
        ("outside.py", False),
    ],
)
def test_a_ledger_depends_on_its_paper_on_what_that_imports_and_on_what_checks_it(room, file, counts):
    measure, folder = audit_cache.fingerprint.__wrapped__, room / "bounds/papers/a"
    before = measure(folder)
    assert measure(folder) == before
    with (room / file).open("a") as out:
        out.write("# more\n")
    assert (measure(folder) != before) is counts


def test_a_kept_ledger_is_read_while_it_fits(tmp_path, monkeypatch):
    monkeypatch.setattr(audit_cache, "folder_of", lambda key: tmp_path if key == "k" else None)
    monkeypatch.setattr(audit_cache, "fingerprint", lambda folder: "now")
    assert audit_cache.read("k") is None and audit_cache.read("other") is None
    content = {
        "format": audit_cache.FORMAT,
        "made_from": "now",
        "checked": "d",
        "findings": [{"id": "f"}],
        "proved": ["p"],
        "statuses": {},
    }
    write_json(tmp_path / audit_cache.NAME, content)
    assert audit_cache.read("k") == audit_cache.AuditCache("k", "d", ({"id": "f"},), ("p",))
    write_json(tmp_path / audit_cache.NAME, content | {"made_from": "then"})
    assert audit_cache.read("k") is None
    (tmp_path / audit_cache.NAME).write_text("{")
    assert audit_cache.read("k") is None


# --- what is said of a statement -------------------------------------------------------------------------------------------------


PROVE = "has a derivation that a kernel checks: fedco prove"
UNCHECKED = "derived in docs/theory (local_scgdm), not checked by the kernel"
INSTEAD = "; --statement corrected holds"
READING = "Refuted under the reading (the displayed formula of Assumption 3.1 alone): an exact instance breaks this statement: "


@pytest.mark.parametrize(
    ("name", "label", "outcome", "bundles", "text", "words"),
    [
        ("feddro.theorem_5_1", "printed", "refuted", 3, f".theorem_5_1.json and 2 more{INSTEAD}", "refuted by feddro.theorem_5_1, feddro"),
        ("local_scgdm.theorem_3_4", "printed", "refuted", 2, f".theorem_3_4.json and 1 more{INSTEAD}", "refuted by local_scgdm.theorem"),
        ("local_scgdm.corollary_3_5", "printed", "refuted", 1, f".corollary_3_5.json{INSTEAD}", "refuted by local_scgdm.corol"),
        ("feddro.theorem_f_1", "composed", "refuted", 1, ".long_rounds_composed.json", "refuted by feddro.theorem_f_1.long"),
        ("fcsg.theorem_4_1", "printed", "reading", 1, f"displayed_assumption.json{INSTEAD}", "refuted under the read"),
        ("feddro.lemma_f_2", "printed", "slip", 1, "feddro.lemma_f_2.json", "slip (meant: 4 B_g^2 L_f^2 eta) by feddro.lemma_f_2"),
        ("local_scgdm.corollary_3_5", "composed", "refuted", 1, f".corollary_3_5.json{INSTEAD}", "refuted by local_scgdm.corollary_3_5"),
        ("comfedl.theorem_1", "composed", "composed", 0, f"no promise{INSTEAD}", "composed"),
        ("fcsg.corollary_4_2", "printed", "derived", 0, "only where T >= N**3; b <= B", "derived only where T >= N**3; b <= B"),
        ("fcsg_m.lemma_c_3", "printed", "derived", 0, "", "derived: term by term at least the corrected statement"),
        ("local_scgdm.remark_3_6", "composed", "composed", 0, "and is no promise", "composed"),
        ("local_scgdm.theorem_3_4", "corrected", "derived", 0, "", f"{PROVE} local_scgdm.theorem_3_4"),
        ("local_scgdm.lemma_3_9", "corrected", "derived", 0, UNCHECKED, UNCHECKED),
        ("baselines.minibatch_sgd", "sharpened", "derived", 0, "", f"{PROVE} baselines.minibatch_sgd --statement sharpened"),
        ("baselines.averaged_noise", "printed", "derived", 0, "", "derived"),
        ("local_scgdm.remark_3_6", "printed", "open", 0, "", "open"),
    ],
)  # fmt: skip
def test_what_has_to_be_known_of_a_statement(name, label, outcome, bundles, text, words):
    """By its label, the other statements, the instances that break it, its derivation and the argument that its paper gives."""
    asked = get_theorem(name).statement(label)
    found = decide(asked.theorem, label, "")
    assert (found.outcome, len(found.bundles)) == (outcome, bundles)
    assert found.warning.endswith(text) and bool(found.warning) is bool(text)
    assert states.standing(asked).startswith(words)
    which = (
        "the instance that breaks the printed statement"
        if name.startswith("local") and label == "composed"
        else "an exact instance"
    )
    first = {
        "refuted": f"REFUTED: {which} breaks this statement: ",
        "reading": READING,
        "slip": "Slip (meant: ",
    }
    assert found.warning.startswith(first.get(outcome, ""))
    of_proved = decide(asked.theorem, label, "today")
    said = (found.word, found.warning, found.bundles) if bundles else ("proved", "", ())
    assert (of_proved.word, of_proved.warning, of_proved.bundles) == said


def test_a_derivation_that_rests_on_lemmas_names_them(monkeypatch):
    """No paper has one now."""
    for module in (deciding, states):
        monkeypatch.setattr(module, "rests_on", lambda about: ("k.l", "k.m"))
    monkeypatch.setattr(audit_cache, "read", lambda key: None)
    asked = get_theorem("local_scgdm.theorem_3_4").statement("corrected")
    said = f"the kernel checks its derivation given k.l, k.m: {UNCHECKED}"
    assert states.known_of(asked).warning == said
    assert states.standing(asked) == f"{said}: fedco prove local_scgdm.theorem_3_4"


def test_a_corrected_statement_that_is_refuted_sends_nobody_to_itself(monkeypatch):
    """No paper has one."""
    monkeypatch.setattr(deciding, "refuted_by", lambda about: ("local_scgdm.corollary_3_5",))
    found = decide(get_theorem("local_scgdm.corollary_3_5"), "corrected", "today")
    assert found.outcome == "refuted" and found.warning.endswith("/local_scgdm.corollary_3_5.json")


def test_of_a_strangers_statement_only_its_label_is_known():
    item, _ = known("printed", printed=HALF)
    unchecked = {"corrected": ("derived", "derived by its author, not checked by the kernel"), "printed": ("open", "")}
    for label, said in unchecked.items():
        found = states.status(item, label)
        assert (found.word, found.warning) == said


@pytest.mark.parametrize("name", ["baselines.local_sgd", "fcsg.theorem_4_1"])
def test_a_strangers_theorem_is_not_what_a_paper_has_under_its_id(name):
    """A bound a thousand times smaller under the id of a statement that is proved, or refuted: nothing is known of it."""
    declared = get_theorem(name)
    for label in declared.labels:
        statement = declared.statement(label)
        terms = tuple(replace(term, expr=term.expr / 1000) for term in statement.terms)
        other = with_statement(declared, replace(statement, terms=terms)).statement(label)
        assert states.known_of(other).word == {"corrected": "derived", "composed": "composed"}.get(label, "open")
        assert states.proved_on(other) == "" and refuted_by(other) == ()


@pytest.mark.parametrize("key", slow_but(("fcsg_m", "baselines"), built_in_keys()))
def test_what_is_kept_to_be_said_of_a_statement_is_what_is_computed(key):
    kept = audit_cache.read(key)
    for theorem in get_paper(key).theorems.values():
        for label in theorem.labels:
            name = f"{theorem.id} {label}"
            assert kept.statuses[name] == decide(theorem, label, kept.checked if name in kept.proved else "").to_dict()


EQUAL = (Condition("c", p, "==", T),)
CORRECTED = (Condition("a", p, "<=", T), Condition("b", eta, "<", 1 / L))


def known(label, *, printed=SUM, composed=SUM, corrected=SUM, conditions=EQUAL, **changed):
    """The example with three statements, of which nothing but this is known: it belongs to no paper."""
    made = {
        "printed": statement("printed", printed, conditions=conditions),
        "composed": statement("composed", composed),
        "corrected": statement("corrected", corrected, conditions=CORRECTED),
    }
    return replace(EXAMPLE, statements=made, **changed), label


HALF = {**SUM, "drift": SUM["drift"] / 2}


def test_a_statement_whose_terms_are_those_of_the_corrected_one_is_derived_where_that_holds():
    """`p == T` gives `p <= T`; a statement that is smaller in one term is open, and one of the lemmas is what it is."""
    assert (
        str(states.status(*known("printed")))
        == f"derived: term by term at least the corrected statement where {CORRECTED[1]}"
    )
    assert str(states.status(*known("printed", printed=HALF))) == "open: neither derived nor refuted"
    assert str(states.status(*known("", printed=HALF))) == "open: neither derived nor refuted"
    assert states.status(*known("composed", composed=HALF)).outcome == "composed"
    assert states.status(*known("corrected")).why == "derived by its author, not checked by the kernel"
    assert states.status(theorem()).outcome == "open", "nothing corrected"


@pytest.mark.parametrize(
    ("own", "wanted", "gives"),
    [
        ("==", "<=", True),
        ("==", ">=", True),
        ("==", "<", False),
        ("==", ">", False),
        ("<=", "<", False),
        ("<", "<=", False),
    ],
)
def test_an_equation_gives_the_weak_inequality_between_its_sides(own, wanted, gives):
    for left, right, expected in ((p, T, gives), (p, 2 * T, False)):
        item, label = known("printed", conditions=(Condition("a", left, own, right),))
        needed = Condition("b", p, wanted, T)
        corrected = replace(item.statement("corrected"), conditions=(needed,))
        assert states.status(with_statement(item, corrected), label).given == (() if expected else (str(needed),))
    same, label = known("printed", conditions=(needed,))
    assert states.status(with_statement(same, corrected), label).given == ()


@pytest.mark.parametrize(
    ("terms", "covered"),
    [
        (SUM, True),
        ({**SUM, "more": G**2}, True),
        ({**SUM, "drift": 2 * SUM["drift"]}, True),
        (HALF, False),
        ({"drift": SUM["drift"]}, False),
        ({**SUM, "initialisation": sp.sqrt(SUM["initialisation"] ** 2 + G**4)}, True),
        ({**SUM, "initialisation": sp.sqrt(SUM["initialisation"] ** 2 / 2 + G**4)}, False),
        ({**SUM, "initialisation": -2 * sp.sqrt(SUM["initialisation"] ** 2 + G**4)}, False),
    ],
)
def test_every_term_of_the_corrected_statement_has_to_be_covered(terms, covered):
    """Compared by squares where roots stand in the way, and both sides are nonnegative."""
    assert (states.status(*known("printed", printed=terms)).outcome == "derived") is covered


def test_statements_are_compared_at_the_schedule_of_the_one_that_has_one():
    at, with_it, without = {"eta": 1 / L}, {"a": eta * L * G**2}, {"a": G**2}
    for printed, corrected, schedules in ((with_it, without, (at, None)), (without, with_it, (None, at))):
        made = {
            label: statement(label, terms, schedule=schedule)
            for label, terms, schedule in zip(("printed", "corrected"), (printed, corrected), schedules, strict=True)
        }
        assert states.status(replace(EXAMPLE, statements=made), "printed").outcome == "derived"
