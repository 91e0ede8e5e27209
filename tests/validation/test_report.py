"""What the report says and prints, from contents of a few lines, without a browser; `tests/browser/test_report.py` has the page in one."""

from __future__ import annotations

import copy
import json
import math
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fedco.bounds.audit.refuted import refutations
from fedco.bounds.registry import get_theorem
from fedco.validation.experiments.keeping import write_kept
from fedco.validation.experiments.reproduce import listing
from fedco.validation.report import contents, view
from fedco.validation.report import page as report_module
from fedco.validation.report.charts import Axis, Line, figure
from fedco.validation.report.page import render
from fedco.validation.report.rates import MeasuredRates
from fedco.validation.runs.controls import run_controls
from fedco.validation.runs.registry import counterexamples, recipes, sweep_for
from fedco.validation.runs.sweeps import run_sweep
from fedco.validation.runs.validate import validate
from fedco.validation.statistics.alpha_budget import AlphaBudget

RECIPES = recipes()
THEOREM = "fcsg.theorem_4_1"
FIXTURE = json.loads((Path(__file__).parents[1] / "browser" / "report.json").read_text(encoding="utf-8"))
OUTSIDE = re.compile(
    r"@import|(?<![a-z])url\((?!['\"]?(#|data:))|<(link|iframe|object|embed|base)\b|<script[^>]*\bsrc", re.IGNORECASE
)


@pytest.fixture(scope="module")
def card() -> dict:
    """A real card in seconds: one instance at two short horizons, one sweep of two points."""
    recipe = RECIPES[THEOREM]
    first = replace(recipe.instances[0], horizons=(75, 150))
    found = validate(THEOREM, instances=(first,), alpha="1e-3", jobs=1)
    sweep = sweep_for(THEOREM, "N")
    rates = MeasuredRates(THEOREM, (run_sweep(replace(sweep, points=sweep.points[:2]), seeds=16),), (), ())
    made = contents.card(get_theorem(THEOREM)) | contents.measured(found, recipe, rates, None, "")
    return made | {"findings": []}


def same_shape(found, wanted, where="") -> list[str]:
    """Where two JSON values differ in their keys; the first entry of a list stands for all."""
    if isinstance(found, dict) and isinstance(wanted, dict) and not where.endswith(FREE):
        wrong = [f"{where}: {key}" for key in set(found) ^ set(wanted)]
        both = sorted(set(found) & set(wanted))
        return wrong + [line for key in both for line in same_shape(found[key], wanted[key], f"{where}.{key}")]
    if isinstance(found, list) and isinstance(wanted, list) and found and wanted:
        return same_shape(found[0], wanted[0], f"{where}[]")
    return []


FREE = ("parameters", "hyperparameters", "shares", "terms", "numbers", "constants", "alternatives", "rows[]")
"""Objects whose keys are names of a theorem's own."""


def test_the_contents_of_the_browser_tests_are_those_of_a_report(card):
    assert same_shape(card, FIXTURE["cards"][0], "card") == []
    item = refutations()["local_scgdm.theorem_3_4"]
    case = item.case()
    made = contents.refutation(item, case, "refutations/x.json", case.picture.drawn())
    assert same_shape(made, FIXTURE["refutations"][0], "refutation") == []
    theorem, known = next(iter(counterexamples().items()))
    assert same_shape(contents.exhibit(theorem, known), FIXTURE["exhibits"][0], "exhibit") == []


def test_a_card_says_what_refutes_its_claim_and_what_its_runs_say(card):
    mine = [r for r in FIXTURE["refutations"] if r["claim"] == "first.theorem_5_1"]
    shown = view.card({**FIXTURE["cards"][0]}, mine)
    assert shown["printed"] == "refuted" and shown["corrected"] == "proved"
    assert shown["summary"][0] == "Printed: refuted by 1 exact instance, by a factor 45063."
    assert shown["summary"][1] == "Corrected: proved in 3 steps that the kernel checks."
    assert "each verdict is about its own instance" in shown["summary"][2]
    real = view.card(card, [])
    assert real["printed"] == "reading" and real["name"] == "Theorem 4.1"
    assert "SUPPORTED" in real["summary"][-1] and "printed statement on 1 certified instance" in real["summary"][-1]
    parts = view.shares(real["runs"][0], real["shown_terms"])
    assert sum(percent for *_, percent in parts) == pytest.approx(100, abs=0.5)
    assert len(view.figure_of(real)["data"]["instance 1: bound"]) == 2


def test_a_proof_that_rests_on_a_lemma_names_it():
    made = json.loads(json.dumps(FIXTURE))
    known = next(s["proof"] for card in made["cards"] for s in card["statements"] if s["proof"])
    before = report_module.render(made).count("Proof checked by the kernel given")
    known |= {"checked": False, "given": ["first.lemma_1 printed"]}
    text = report_module.render(made)
    assert (
        before == 0
        and text.count("Proof checked by the kernel given first.lemma_1 printed, which it has not checked") == 1
    )
    assert "does not accept" not in text


def test_a_paper_is_called_by_its_title_and_without_one_by_its_key():
    cards = [{"paper": key, "paper_title": title, "kind": "theorem"} for key, title in (("a", "On a"), ("b", ""))]
    cards.append({"paper": "a", "paper_title": "On a", "kind": "lemma"})
    papers = view.papers(cards)
    assert [(p["key"], p["title"], len(p["main"]), len(p["other"])) for p in papers] == [
        ("a", "On a", 1, 1),
        ("b", "b", 1, 0),
    ]


class Page(HTMLParser):
    """The ids of a page and what it links to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        self.links += [(tag, found[name]) for name in ("src", "href", "xlink:href", "srcset", "data") if name in found]


def complaints(text: str) -> list[str]:
    """Everything on a page that a browser would fetch, that leads outside the report's own folder, or nowhere."""
    found = Page(text)
    bad = [f"{tag}: {link[:60]}" for tag, link in found.links if not _stays(tag, link)]
    fragments = {link[1:] for _, link in found.links if link.startswith("#")}
    bad += [f"no such place: #{name}" for name in sorted(fragments - set(found.ids))]
    bad += [f"twice: {name}" for name in set(found.ids) if found.ids.count(name) > 1]
    return bad + [match.group(0) for match in OUTSIDE.finditer(text)]


def _stays(tag: str, link: str) -> bool:
    """A fragment, a data: URI, or (a link that a reader may follow) a file beside the page."""
    if link.startswith(("#", "data:")):
        return True
    return tag == "a" and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/", link) and ".." not in link


@pytest.fixture(scope="module")
def text() -> str:
    return report_module.render(FIXTURE)


def test_nothing_on_the_page_is_fetched_and_every_link_leads_somewhere(text):
    assert complaints(text) == []


def test_the_kept_experiments_have_a_page_that_fetches_nothing(tmp_path):
    page = tmp_path / "experiments.html"
    found = write_kept(page)
    made = page.read_text(encoding="utf-8")
    assert complaints(made) == [] and len(made) < 3_000_000
    runs = [row for row in listing() if row["runs"] and row["standing"] != "needs data"]
    assert found is not None and found["figures"] == len(runs) == made.count("<figure>")
    for row in listing():
        assert escape(row["title"]) in made and escape(row["paper_shows"]) in made, row["figure"]
    shown = report_module.render({**FIXTURE, "experiments": found})
    assert complaints(shown) == [] and f"{found['figures']} figures and tables that were run" in shown


@pytest.mark.parametrize(
    "planted",
    [
        '<img src="https://example.org/a.png">',
        '<script src="a.js"></script>',
        "<style>@import 'a.css';</style>",
        "<p style='background:url(http://example.org/a)'>",
        '<a href="//example.org">x</a>',
        '<a href="../secret">x</a>',
        '<a href="#nowhere">x</a>',
        '<p id="overview">',
        '<image xlink:href="http://example.org/a.svg"/>',
    ],
)
def test_the_check_sees_what_it_must(text, planted):
    assert complaints(text.replace("</body>", f"{planted}</body>"))


EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)> </script> {{ 7 * 7 }}'


def hostile(value, key=""):
    """The same contents with markup in every text that is no formula, number or name that the page works with."""
    if isinstance(value, dict):
        return {name: hostile(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [hostile(part, key) for part in value]
    fixed = {"latex", "symbol", "outcome", "label", "severity", "grade", "kind", "paper", "id", "default", "judged", "claim",
             "statement", "theorem", "resource", "wanted", "got", "format", "name", "left", "right"}  # fmt: skip
    return value + EVIL if isinstance(value, str) and key not in fixed else value


def test_markup_in_any_text_stays_text(text):
    page = report_module.render(hostile(FIXTURE))
    assert "<script>alert(1)" not in page and "<img" not in page
    assert page.count("<script>") == text.count("<script>") and page.count("</script>") == text.count("</script>")
    assert page.count("{{ 7 * 7 }}") > 20


def test_markup_in_a_formula_stays_text():
    shown = str(view.math_of(r"\text{<script>alert(1)</script>} < L"))
    assert "<script" not in shown and shown.startswith("<math") and "&lt;" in shown


def test_a_figure_has_every_number_that_it_shows():
    lines = [Line("a", [1, 2], [3.0, math.inf]), Line("gap", [1, 1], [1, 2], style="gap")]
    made = figure(lines, Axis("T"), Axis("y"), title="t", file="a b")
    assert made["data"] == {"a: T": [1.0, 2.0], "a": [3.0, None]} and made["file"] == "a_b"


def test_the_ledger_of_the_controls_is_shared_out_in_advance():
    controls, ledger = run_controls("1e-3")
    assert isinstance(ledger, AlphaBudget) and ledger.remaining == 0
    assert [control.passed for control in controls] == [True, True, True]


def test_a_quick_report_judges_every_theorem_on_short_runs():
    for name, recipe in RECIPES.items():
        short = report_module.shortest_instances(recipe.instances)
        assert 1 <= len(short) <= report_module.BRIEF, name
        longest = max(instance.horizons[0] for instance in short)
        others = [instance for instance in recipe.instances if instance.name not in {item.name for item in short}]
        assert all(len(instance.horizons) == 1 for instance in short)
        assert all(min(instance.horizons) >= longest for instance in others)


def test_the_table_of_constants_has_their_values():
    page = report_module.render(FIXTURE)
    shown = [constant["values"] for item in FIXTURE["cards"] for constant in view.card(item, [])["certificates"]]
    assert shown and all(f"<td>{value}</td>" in page for value in shown)
    assert "built-in method" not in page


# --- what the templates print -----------------------------------------------------------------------------------------


def horizon(T: int, **more: Any) -> dict[str, Any]:
    judged = {"outcome": "SUPPORTED", "mean": 0.5, "bound": 2.0, "lower": 0.25, "upper": 1.0, "tightness": 4.0,
              "seeds": 8, "reason": "r"}  # fmt: skip
    return {"T": T, **judged, "shares": {"gap": 0.75, "drift": 0.25, "nothing": 0.0}, **more}


def run(*horizons: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"problem": "bowl", "parameters": {"K": "4", "r": "1/3"}, "case": "c", "why": "w", "certificates": []}
    return {**said, "hyperparameters": {}, "horizons": horizons, "measured_slope": None, "bound_slope": None, **more}


def card_of(*runs: dict[str, Any], **more: Any) -> dict[str, Any]:
    item = copy.deepcopy(FIXTURE["cards"][0])
    return {
        **item,
        "id": "one.theorem_2",
        "runs": list(runs),
        "judged": "printed",
        "lemmas": None,
        "rates": None,
        **more,
    }


def statement(label: str, outcome: str, **more: Any) -> dict[str, Any]:
    parts = ("terms", "derived", "conditions", "schedule", "symbols")
    status = {"outcome": outcome, "word": outcome, "why": "", "given": [], "bundles": []}
    return {"label": label, "status": status, "proof": None, **{part: [] for part in parts}, **more}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("theorem_5_1", "Theorem 5.1"),
        ("theorem_8", "Theorem 8"),
        ("corollary_d_2", "Corollary D.2"),
        ("lemma_3_1_first_part", "Lemma 3.1 first part"),
        ("lemma_4_corrected", "Lemma 4 corrected"),
        ("lemma_4_of_appendix", "Lemma 4 of appendix"),
        ("remark_2", "Remark 2"),
        ("local_sgd", "Local sgd"),
        ("theorem", "Theorem"),
    ],
)
def test_a_theorem_is_called_as_its_paper_does(name: str, shown: str) -> None:
    assert view.short_name({"id": f"paper.{name}"}) == shown


def test_what_was_found_is_a_sentence() -> None:
    main = [
        {"statements": [statement("printed", outcome), *more]}
        for outcome, more in (
            ("refuted", [statement("corrected", "proved")]),
            ("refuted", []),
            ("proved", [statement("corrected", "proved")]),
            ("derived", []),
            ("open", []),
        )
    ]
    main += [{"statements": [statement("printed", outcome)]} for outcome in ("reading", "slip", "slip")]
    grades = [{"grade": grade} for grade in ("refuted", "reading", "slip", "refuted")]
    assert view.sentence(main, grades) == (
        "Of 8 theorems and corollaries, 2 are refuted, 2 hold and 1 are open; 1 of the refuted ones have a corrected statement. "
        "Counted apart: 1 refuted under one reading only, 2 with a slip of a letter or a sign. "
        "2 exact instances of refuted claims, lemmas included, can be replayed."
    )
    assert view.sentence(main[2:3], grades[:1]) == (
        "Of 1 theorem and corollaries, 0 are refuted, 1 hold and none are open; 0 of the refuted ones have a corrected statement. "
        "Counted apart: 0 refuted under one reading only, 0 with a slip of a letter or a sign. "
        "1 exact instance of refuted claims, lemmas included, can be replayed."
    )


def test_the_first_screen_counts_everything() -> None:
    found = view.dashboard(FIXTURE, [f for item in FIXTURE["cards"] for f in item["findings"]])
    del found["sentence"]
    every = [s["status"]["outcome"] for item in FIXTURE["cards"] for s in item["statements"]]
    assert found == {
        "printed": [{"name": name, "count": 1} for name in ("refuted", "open", "proved")],
        "corrected": [{"name": "proved", "count": 1}],
        "all": [{"name": name, "count": every.count(name)} for name in view.OUTCOMES if name in every],
        "main": 3,
        "verdicts": [{"name": "SUPPORTED", "count": 7}],
        "instances": 4,
        "findings": [{"name": name, "count": 1} for name in ("breaks", "constant", "slip")],
        "refutations": [{"name": name, "count": n} for name, n in (("refuted", 1), ("reading", 1), ("slip", 1))],
        "controls": [{"name": "as wanted", "count": 2}, {"name": "not as wanted", "count": 0}],
    }
    broken = view.dashboard({**FIXTURE, "controls": [{**FIXTURE["controls"][0], "got": "SUPPORTED"}]}, [])
    assert [item["count"] for item in broken["controls"]] == [0, 1]


def test_what_is_known_of_a_theorem_is_a_sentence_for_each_kind_of_evidence() -> None:
    item = card_of(
        run(horizon(1), horizon(2, outcome="INCONCLUSIVE")),
        run(horizon(4)),
        judged="composed",
        statements=[
            statement("printed", "refuted"),
            statement("composed", "open"),
            statement("corrected", "proved", proof={"steps": 31}),
            statement("other", "proved"),
        ],
    )
    item["statements"][1]["status"]["why"] = "nobody knows"
    mine = [{"statement": "printed", "grade": "refuted", "factor": factor} for factor in (1.5, None, 2.25)]
    mine.append({"statement": "printed", "grade": "slip", "factor": 100})
    assert view.summary(item, mine) == [
        "Printed: refuted by 3 exact instances, by a factor 2.25.",
        "Composed: open, nobody knows.",
        "Corrected: proved in 31 steps that the kernel checks.",
        "Other: proved.",
        "Runs of the composed statement on 2 certified instances: 2 SUPPORTED, 1 INCONCLUSIVE; each verdict is about its own "
        "instance.",
    ]
    assert view.summary({**item, "runs": []}, mine[1:2])[0] == "Printed: refuted by 1 exact instance."
    assert len(view.summary({**item, "runs": []}, [])) == 4


def page_of(*cards: dict[str, Any], **more: Any) -> str:
    """The page with these cards alone."""
    return render({**FIXTURE, "cards": [{**each, "findings": []} for each in cards], "refutations": [], **more})


def rows_of(text: str, table: str) -> list[list[str]]:
    """The cells of the first table of a class, as text."""
    body = text.partition(f'class="sortable {table}"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    cells = (re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in body.split("<tr")[1:])
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in row] for row in cells]


def test_a_run_has_a_row() -> None:
    long = run(
        horizon(16),
        horizon(64, outcome="REFUTED", tightness=0.123456, shares={"gap": 1.0}),
        horizon(256, outcome="SUPPORTED"),
        measured_slope=[-0.505, -0.52, -0.4],
        bound_slope=-0.499,
        hyperparameters={"eta": "1/64", "beta": "123456/7890123", "p": "4", "q": "1234567890"},
    )
    text = page_of(card_of(long, run(horizon(1, tightness=None))))
    assert rows_of(text, "instances-table") == [
        ["1 c bowl", "✓ 2 supported, ✗ 1 refuted", "4", "-0.51 [-0.52, -0.40]", "-0.50"],
        ["2 c bowl", "✓ 1 supported", "–", "–", "–"],
    ]
    assert "bowl (K = 4, r = 1/3)" in text and "c: w. eta = 1/64, beta = 0.01565, p = 4, q = 1234567890" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [("12/3456", "12/3456"), ("12/34567", "3.47·10⁻⁴"), ("-1000000/3", "-3.33·10⁵"), ("12345678", "12345678")],
)
def test_a_long_fraction_is_a_decimal(value: str, shown: str) -> None:
    assert (
        view.listed_values({"x": value}, brief=True) == f"x = {shown}"
        and view.listed_values({"x": value}) == f"x = {value}"
    )


@pytest.mark.parametrize(
    ("tightness", "width"),
    [
        (None, 0),
        (0.0, 0),
        (-1.0, 0),
        (float("inf"), 0),
        (0.5, 2),
        (1.0, 2),
        (1e3, 50),
        (1e4, 67),
        (1e6, 100),
        (1e9, 100),
    ],
)
def test_a_bar_of_tightness_is_full_at_a_million(tightness: float | None, width: int) -> None:
    assert view.gauge(tightness) == width


def test_the_parts_of_a_bound_are_those_of_the_longest_horizon_that_are_not_nothing() -> None:
    terms = [{"name": name} for name in ("drift", "local_gap", "nothing", "left_out")]
    last = run(horizon(2, shares={"local_gap": 0.8755, "drift": 0.1245, "nothing": 0.0, "unknown": 0.5}))
    assert view.shares(last, terms) == [(1, "local gap", 87.5), (0, "drift", 12.4)]
    assert view.shares(run(horizon(2, shares={"nothing": 0.0})), terms) == []


def test_every_formula_is_typeset_and_every_term_has_a_letter() -> None:
    letters = [view.letter(index) for index in range(54)]
    assert letters[:26] == list("abcdefghijklmnopqrstuvwxyz") and letters[26:28] == ["aa", "ab"]
    assert letters[51:] == ["az", "ba", "bb"]
    assert [view.series(index) for index in range(8)] == [1, 2, 3, 4, 5, 6, 1, 2]
    terms = [{"name": f"t{k}", "latex": f"x_{{{k}}}", "role": "r"} for k in range(3)]
    one = statement(
        "corrected",
        "open",
        note="",
        search="",
        steps=[],
        terms=terms,
        derived=[{"name": "M", "symbol": "M", "latex": "a b", "meaning": ""}],
        conditions=[{"latex": r"a \le b", "name": "c", "note": ""}],
        schedule=[{"symbol": r"\eta", "latex": "c"}],
    )
    text = page_of(card_of(statements=[one, {**one, "label": "printed"}], default="corrected"))
    for latex in ("x_{2}", "M", "a b", r"a \le b", r"\eta = c"):
        assert str(view.math_of(latex)) in text, latex
    assert text.count(" data-default ") == 1 and "<b>c</b> t2</span>" in text


def test_a_formula_without_noise() -> None:
    assert view.math_of("") == ""
    assert view.math_of("x^2") == "<math><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>"
    assert '<mo lspace="0" rspace="0">|</mo>' in view.math_of("|x|").replace(' stretchy="false"', "").replace(
        ' fence="false"', ""
    )


def ticks(drawn: str, axis: str) -> list[str]:
    """The numbers on an axis of a chart."""
    return re.findall(rf'class="tick {axis}"[^>]*>([^<]*)', drawn)


def test_a_chart_has_a_bound_and_a_mean_for_each_instance() -> None:
    runs = [
        run(horizon(16), horizon(64, mean=None, bound=1.0, lower=0.5, upper=2.0)),
        run(horizon(32, mean=0.125, bound=8.0)),
    ]
    made = view.figure_of(card_of(*runs))
    assert made["data"] == {
        "instance 1: bound: T": [16.0, 64.0],
        "instance 1: bound": [2.0, 1.0],
        "instance 1: measured mean: T": [16.0, 64.0],
        "instance 1: measured mean": [0.5, None],
        "instance 1: measured mean, lower": [0.25, 0.5],
        "instance 1: measured mean, upper": [1.0, 2.0],
        "instance 2: bound: T": [32.0],
        "instance 2: bound": [8.0],
        "instance 2: measured mean: T": [32.0],
        "instance 2: measured mean": [0.125],
        "instance 2: measured mean, lower": [0.25],
        "instance 2: measured mean, upper": [1.0],
    }
    assert (
        made["file"] == "one.theorem_2"
        and made["title"] == "one.theorem_2: bound and measured mean against T, 2 instances"
    )
    drawn = str(made["svg"])
    assert (
        drawn.count("from mean to bound") == 1 and "instance 2: from mean to bound" in drawn
    )  # only where there is one point
    assert f">mean and bound, in {card_of()['metric']['dimension']}<" in drawn
    assert drawn.count('class="end-label s1"') == 2 == drawn.count('class="end-label s2"')
    assert all(f'class="series {look}"' in drawn for look in ("s1 bound", "s1 measured", "s2 gap"))
    assert ticks(drawn, "x") == ["20", "50"] and "0.5" in ticks(drawn, "y")  # both axes logarithmic: 1, 2, 5 of a power


def test_what_a_card_shows() -> None:
    lemmas = {"runs": [{"title": "t"}], "worst": "w"}
    made = view.card(
        card_of(run(horizon(4)), lemmas=lemmas, judged="corrected", default="printed"),
        [{**FIXTURE["refutations"][0], "claim": "one.theorem_2"}, FIXTURE["refutations"][1]],
    )
    assert [item["claim"] for item in made["broken_by"]] == ["one.theorem_2"]
    assert (made["name"], made["is_main"], made["printed"], made["corrected"]) == (
        "Theorem 2",
        True,
        "refuted",
        "proved",
    )
    assert made["statuses"] == ["proved", "refuted"] and made["lemmas"] == lemmas and made["rates"] is None
    judged = next(s for s in made["statements"] if s["label"] == "corrected")
    assert made["shown_terms"] is judged["terms"]
    assert view.card(card_of(judged=""), [])["shown_terms"] and view.card(card_of(kind="lemma"), [])["is_main"] is False
    assert view.card(card_of(lemmas={"runs": []}), [])["lemmas"] is None
    names = [symbol["name"] for symbol in made["symbols"]]
    assert names and len(names) == len(set(names))
    words = made["search"].split()
    assert {"one.theorem_2", "refuted", "proved", "drift", "smooth", "first.drift"} <= set(words) and made[
        "search"
    ].islower()


def test_certified_constants_with_one_argument_share_a_row() -> None:
    def certificate(value: float, argument: str = "all", kind: str = "exact") -> dict[str, Any]:
        return {"quantity": "local_smoothness", "kind": kind, "argument": argument, "value": value}

    runs = [{"certificates": [certificate(value)]} for value in (1.0, 2.0, 1.0)]
    runs.append({"certificates": [certificate(3.0, "other"), certificate(4.0, kind="upper")]})
    assert view.certificates(runs) == [
        {"quantity": "local smoothness", "kind": "exact", "argument": "all", "values": "1, 3: 1; 2: 2"},
        {"quantity": "local smoothness", "kind": "exact", "argument": "other", "values": "4: 3"},
        {"quantity": "local smoothness", "kind": "upper", "argument": "all", "values": "4: 4"},
    ]


def test_a_sweep_a_cost_and_a_hidden_constant_have_a_row() -> None:
    found = copy.deepcopy(FIXTURE["cards"][0]["rates"])
    (sweep,), (cost,) = found["sweeps"], found["costs"]
    made = view.sweep_figure(sweep, "first.theorem_5_1")
    assert made["title"] == "first.theorem_5_1 over N" and made["file"] == "first.theorem_5_1_N"
    assert made["data"] == {
        "measured mean: N": [float(x) for x in sweep["values"]],
        "measured mean": sweep["mean"],
        "bound: N": [float(x) for x in sweep["values"]],
        "bound": sweep["bound"],
    }
    drawn = str(made["svg"])
    assert 'class="series s1 measured"' in drawn and 'class="series s2 bound"' in drawn and ">mean and bound<" in drawn
    assert ticks(drawn, "x") == ["2", "5", "10"] and "0.5" in ticks(drawn, "y")

    def interval(of: list[float]) -> str:
        return "{:.2f} [{:.2f}, {:.2f}]".format(*of)

    text = page_of(card_of(rates=found))
    assert rows_of(text, "rates-table")[0][:4] == ["N", interval(sweep["measured_slope"]), "-0.95", "-1"]
    exponent = interval(cost["measured_exponent"])
    assert rows_of(text, "cost-table")[0][1:] == [exponent, "-2.000", "-2", "Remark 1"] and "the schedule" in text
    assert rows_of(text, "hidden-constant") == [["N", "0.5", "2", "–", "–"]]
    sweep["claimed_exponent"] = cost["claimed_exponent"] = None
    grown = {"over": "K", "needed": [0.5, 2.5, 1.0], "upper": [1.0, 3.0, 9.0], "slope": 0.126, "proved": 40.0}
    text = page_of(card_of(rates={**found, "hidden_constant": [grown]}))
    assert rows_of(text, "rates-table")[0][3] == "–" == rows_of(text, "cost-table")[0][3]
    assert rows_of(text, "hidden-constant") == [["K", "2.5", "9", "0.13", "40"]]


@pytest.mark.parametrize(
    ("factor", "width"), [(0.5, 100.0), (1.0, 100.0), (1.25, 80.0), (3.0, 33.3), (66.0, 1.5), (1e6, 1.5)]
)
def test_the_smaller_side_is_a_bar_of_its_share(factor: float, width: float) -> None:
    assert view.other_side(factor) == width


def test_a_refutation_has_its_sides_and_its_picture() -> None:
    item = {**FIXTURE["refutations"][0], "name": "one.theorem_2.second_part", "claim": "one.theorem_2"}
    text = page_of(card_of(), refutations=[item])
    shown = text.partition('<article class="refutation"')[2].partition("</article>")[0]
    assert "<h5>second part" in shown and '<b class="factor">45063 ×</b> what is claimed' in shown and "<svg" in shown
    assert '<span class="side left"></span> 45063<' in shown and 'style="width:1.5%"></span> 1<' in shown
    assert (
        f'data-search="one.theorem_2.second_part {item["summary"]} {item["word"]} one.theorem_2"'.lower()
        in text.lower()
    )
    unknown = page_of(card_of(), refutations=[{**item, "factor": None, "picture": None}])
    shown = unknown.partition('<article class="refutation"')[2].partition("</article>")[0]
    assert (
        '<b class="factor">45063</b> where 1 is claimed' in shown and "<svg" not in shown and "side left" not in shown
    )


def test_refutations_of_theorems_come_first_and_the_weighty_ones_before_the_others() -> None:
    listed = [("a.lemma_1", "refuted"), ("a.theorem_1", "new"), ("a.theorem_2", "reading"), ("a.corollary_1", "slip"),
              ("a.lemma_2", "slip"), ("b.theorem_1", "refuted")]  # fmt: skip
    ordered = view.by_weight([{"claim": claim, "grade": grade} for claim, grade in listed])
    assert [(item["claim"], item["grade"]) for item in ordered] == [listed[k] for k in (5, 2, 3, 1, 0, 4)]


def test_the_page_has_every_part_in_its_order() -> None:
    made = view.page(FIXTURE)
    assert [item["severity"] for item in made["findings"]] == ["breaks", "constant", "slip"]
    assert made["kinds"] == [
        k for k in ("theorem", "corollary", "lemma", "claim") if k in {c["kind"] for c in FIXTURE["cards"]}
    ]
    assert [item["name"] for item in made["refutations"]] == [i["name"] for i in view.by_weight(FIXTURE["refutations"])]
    lemmas = [{**item, "kind": "lemma"} for item in FIXTURE["cards"]]
    assert view.page({**FIXTURE, "cards": lemmas})["kinds"] == ["lemma"]
    same = ("controls", "ledger", "versions", "covered")
    assert {name: made[name] for name in same} == {name: FIXTURE[name] for name in same}
    assert str(view.breakable("a.b_<c>")) == "a.<wbr>b_<wbr>&lt;c&gt;"
    assert view.short(None) == "–" and view.short(0.5) == "0.5"
