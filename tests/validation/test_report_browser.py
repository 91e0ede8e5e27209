"""The report in a browser and out of one: tables and figures are there, and nothing is fetched from anywhere.

The page of these tests is rendered from one short validation and one short sweep; `make report` writes the same template.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fedco.validation.report import page as report_module
from fedco.validation.report.rates import Rates, as_csv
from fedco.validation.runs.controls import run_controls
from fedco.validation.runs.parameters import powers
from fedco.validation.runs.registry import recipes, runs_of, sweep_for
from fedco.validation.runs.sweeps import run_sweep
from fedco.validation.runs.validate import validate
from fedco.validation.statistics.ledger import AlphaLedger

RECIPES = recipes()

THEOREM = "feddro.theorem_5_1"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
TABLES = ("overview-table", "controls-table", "ledger-table", "counterexample-table", "audit-table")
OUTSIDE = re.compile(r"@import|url\((?!['\"]?(#|data:))|<(script|link|iframe|object|embed|base)\b", re.IGNORECASE)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """A whole page in seconds: one instance at two short horizons, one sweep of two points."""
    out = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        first = replace(RECIPES[THEOREM].instances[0], horizons=powers(2, (8, 10), 4))
        patch.setitem(runs_of("feddro").recipes, THEOREM, replace(RECIPES[THEOREM], instances=(first,)))
        found = validate(THEOREM, alpha="1e-3", jobs=1)
        sweep = sweep_for(THEOREM, "K")
        rates = Rates(THEOREM, (run_sweep(replace(sweep, points=sweep.points[:2]), seeds=16),), (), ())
        findings = [
            {"severity": "slip", "id": "x", "where": "<b>", "printed": "1 < 2", "expected": "2", "consequence": "none"}
        ]
        row = {"cells": {"case": "I", "certificate": "certified, 1 boxes"}, "css": "SUPPORTED"}
        shown = [
            {"theorem": "demo.theorem_1", "title": "It fails", "about": "one client", "rows": [row], "figures": []}
        ]
        lemmas = {THEOREM: {"worst": "", "chains": []}}
        return report_module._render([found], [rates], lemmas, run_controls("1e-3"), shown, [], findings, out)


class Page(HTMLParser):
    """What a page has and what it asks for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: dict[str, int] = {}
        self.ids: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.figures = self.svgs = 0
        self._table = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids += [found["id"]] if "id" in found else []
        self.figures += tag == "figure"
        self.svgs += tag == "svg"
        if tag == "table":
            self._table = found.get("id") or found.get("class", "")
        self.rows[self._table] = self.rows.get(self._table, 0) + (tag == "tr")
        self.links += [(tag, found[name]) for name in ("src", "href", "xlink:href", "srcset", "data") if name in found]


def complaints(text: str) -> list[str]:
    """Everything on a page that a browser would fetch, or that leads outside the report's own folder."""
    found = Page(text)
    bad = [f"{tag}: {link[:60]}" for tag, link in found.links if not _stays(tag, link)]
    fragments = {link[1:] for _, link in found.links if link.startswith("#")}
    bad += [f"no such place: #{name}" for name in fragments - set(found.ids)]
    bad += [match.group(0) for match in OUTSIDE.finditer(text)]
    return bad


def _stays(tag: str, link: str) -> bool:
    """A fragment, a data: URI, or (a link that a reader may follow) a file beside the page."""
    if link.startswith(("#", "data:")):
        return True
    return tag == "a" and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/", link) and ".." not in link


def test_nothing_on_the_page_is_fetched(page: Path):
    assert complaints(page.read_text(encoding="utf-8")) == []


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
        '<image xlink:href="http://example.org/a.svg"/>',
    ],
)
def test_the_check_sees_what_it_must(page: Path, planted: str):
    text = page.read_text(encoding="utf-8")
    assert complaints(text.replace("</body>", f"{planted}</body>"))


def test_tables_have_rows_and_figures_have_their_data(page: Path):
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    assert all(found.rows[name] >= 2 for name in (*TABLES, "rates-table")), found.rows
    assert found.figures == found.svgs >= 2
    assert (
        text.count('href="data:application/json;base64,') == text.count('href="data:text/csv;base64,') == found.figures
    )
    assert len(set(found.ids)) == len(found.ids)
    assert "1 &lt; 2" in text and "&lt;b&gt;" in text


def test_every_control_got_what_was_wanted(page: Path):
    rows = re.findall(
        r"<td>([A-Z_]+)</td><td class=\"[A-Z_]+\">([A-Z_]+)</td>",
        page.read_text(encoding="utf-8").split('id="controls"')[1],
    )
    assert len(rows) >= 4 and all(wanted == got for wanted, got in rows)
    assert {wanted for wanted, _ in rows} == {"REFUTED", "NOT_APPLICABLE"}


def test_data_as_csv_pads_short_columns():
    assert as_csv({"a: x": [1.0, 2.0], "b: y": [None]}) == "a: x,b: y\n1.0,\n2.0,\n"


def test_the_ledger_of_the_controls_is_shared_out_in_advance():
    controls, ledger = run_controls("1e-3")
    assert isinstance(ledger, AlphaLedger) and ledger.remaining == 0
    assert [control.passed for control in controls] == [True, True, True]


@pytest.fixture(scope="module")
def browser() -> str:
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    pytest.skip(f"no headless browser on this machine: looked for {', '.join(BROWSERS)}")


def laid_out(browser: str, page: Path, folder: Path, planted: str = "") -> dict[str, list]:
    """What a headless browser makes of a page: heights of the tables, sizes of the figures, addresses that it asks for.

    No name resolves, so whatever a page asks for stays on this machine; the browser lists it all the same.
    """
    probe = (
        "<script>addEventListener('load', () => { const box = e => e.getBoundingClientRect();"
        "document.title = JSON.stringify({tables: [...document.querySelectorAll('table')].map(t => box(t).height),"
        "figures: [...document.querySelectorAll('figure svg')].map(s => [box(s).width, box(s).height]),"
        "asked: performance.getEntriesByType('resource').map(e => e.name)}); });</script>"
    )
    copy = folder / "page.html"
    copy.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{planted}{probe}</body>"), encoding="utf-8")
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
    closed = ("--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking", "--disable-component-update")
    command = [browser, *flags, *closed, f"--user-data-dir={folder / 'profile'}", "--dump-dom", copy.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    title = re.search(r"<title>(\{.*?\})</title>", done.stdout)
    assert title, done.stderr[-500:]
    return json.loads(title.group(1))


@pytest.mark.slow
def test_a_browser_lays_out_tables_and_figures_and_asks_for_nothing(page: Path, browser: str, tmp_path: Path):
    seen = laid_out(browser, page, tmp_path)
    assert sum(height > 10 for height in seen["tables"]) >= len(TABLES)
    assert len(seen["figures"]) >= 2 and all(width > 200 and height > 100 for width, height in seen["figures"])
    assert seen["asked"] == []


@pytest.mark.slow
def test_the_browser_would_have_noticed(page: Path, browser: str, tmp_path: Path):
    address = "http://nowhere.invalid/a.png"
    assert laid_out(browser, page, tmp_path, f'<img src="{address}">')["asked"] == [address]


def test_a_quick_report_judges_every_theorem_on_short_runs():
    for name, recipe in RECIPES.items():
        short = report_module._shortest(recipe.instances)
        assert 1 <= len(short) <= report_module.BRIEF, name
        longest = max(instance.horizons[0] for instance in short)
        others = [instance for instance in recipe.instances if instance.name not in {item.name for item in short}]
        assert all(len(instance.horizons) == 1 for instance in short)
        assert all(min(instance.horizons) >= longest for instance in others)
