"""What the report says and how it is drawn, without a browser; `tests/browser/test_report.py` has the page in one."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fedco.bounds.audit.refuted import refutations
from fedco.bounds.registry import get_theorem
from fedco.validation.experiments.keeping import write_kept
from fedco.validation.experiments.reproduce import listing
from fedco.validation.report import contents, view
from fedco.validation.report import page as report_module
from fedco.validation.report.charts import Axis, Line, figure
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
