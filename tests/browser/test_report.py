"""The report in a real browser. The page is rendered from a small file of contents, not from runs: `report.json` beside this file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fedco.validation.report.page import render
from quick import slowly

CONTENTS = json.loads(Path(__file__).with_name("report.json").read_text(encoding="utf-8"))
CARDS = [card["id"] for card in CONTENTS["cards"]]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "index.html"
    path.write_text(render(CONTENTS), encoding="utf-8")
    return path


@pytest.fixture
def page(open_page: Callable[..., Any], page_file: Path) -> Any:
    return open_page(page_file)


def shown(page: Any, selector: str = ".card") -> list[str]:
    """The ids of the elements that are not hidden by search and filters."""
    found: list[str] = page.eval_on_selector_all(
        selector, "items => items.filter(item => !item.hidden).map(item => item.id)"
    )
    return found


def rows(page: Any, table: str, column: int) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        f"{table} tbody tr", f"rows => rows.map(row => row.cells[{column}].textContent.trim())"
    )
    return found


def test_the_first_screen_says_what_holds_and_what_does_not(open_page: Callable[..., Any], page_file: Path) -> None:
    page = open_page(page_file, width=1600, height=900)
    lead = page.inner_text("#overview .lead")
    assert "Of 3 theorems and corollaries, 1 are refuted, 1 hold and 1 are open" in lead
    assert page.inner_text(".tile.wide").count("refuted") == 1
    assert page.locator(".map .chip").count() == 3
    assert page.locator(".map").bounding_box()["y"] + page.locator(".map").bounding_box()["height"] <= 900
    assert "all supported" not in page.content().lower()
    page.wait_for_load_state("networkidle")


def test_every_claim_has_an_address_and_its_status_in_words(page: Any) -> None:
    assert shown(page) == CARDS
    for card in CONTENTS["cards"]:
        text = page.eval_on_selector(f"[id='{card['id']}']", "card => card.textContent")
        for statement in card["statements"]:
            assert f"{statement['label']} " in text and statement["status"]["outcome"] in text
    refuted = page.eval_on_selector("[id='first.theorem_5_1']", "card => card.textContent")
    assert "fedco replay refutations/first.theorem_5_1.json" in refuted and "45063" in refuted


def test_markup_of_a_stranger_stays_text(page: Any) -> None:
    assert page.evaluate("window.stolen === undefined")
    assert page.locator("main img").count() == 0
    assert page.locator("script").count() == 2 + page.locator("script[type='application/json']").count() - 1
    title = page.eval_on_selector("[id='second.theorem_1'] .title", "item => item.textContent")
    assert title.startswith("<script>window.stolen = 1</script>")


def test_search_leaves_what_fits(page: Any) -> None:
    page.fill("#search", "corollary schedule")
    assert shown(page) == ["first.corollary_1"]
    assert page.input_value("#search") and "1 statements" in page.inner_text("#count")
    assert not page.is_visible("#overview")
    page.fill("#search", "no such thing")
    assert shown(page) == [] and page.is_visible("#nothing")
    page.click("#clear")
    assert shown(page) == CARDS and page.is_visible("#overview")
    page.fill("#search", "drift")
    assert page.eval_on_selector_all("#audit-table tbody tr", "rows => rows.map(row => row.hidden)") == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("paper", "second", ["second.theorem_1"]),
        ("status", "refuted", ["first.theorem_5_1", "first.lemma_2"]),
        ("status", "proved", ["first.theorem_5_1", "first.corollary_1"]),
        ("kind", "claim", ["first.remark_3_7"]),
    ],
)
def test_a_filter_leaves_what_fits(page: Any, name: str, value: str, wanted: list[str]) -> None:
    page.select_option(f"#filter-{name}", value)
    assert shown(page) == wanted
    page.select_option(f"#filter-{name}", "")
    assert shown(page) == CARDS


def test_tables_sort_numbers_as_numbers(page: Any) -> None:
    table = "#refutations-table"
    head = page.locator(f"{table} th", has_text="over claimed")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [text.split()[0] for text in rows(page, table, 1)] == ["1.047", "45063", "0.1"]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert [text.split()[0] for text in rows(page, table, 1)] == ["0.1", "45063", "1.047"]
    audit = page.locator("#audit-table th", has_text="severity").locator("button")
    audit.click()
    assert [text.split()[-1] for text in rows(page, "#audit-table", 0)] == ["breaks", "constant", "slip"]


def test_dark_and_light_follow_the_system_until_chosen(open_page: Callable[..., Any], page_file: Path) -> None:
    def background(page: Any) -> str:
        found: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return found

    dark, light = open_page(page_file, scheme="dark"), open_page(page_file)
    assert background(dark) != background(light)
    before = background(light)
    light.click("#theme")
    assert background(light) == background(dark)
    light.keyboard.press("t")
    assert background(light) == before


@pytest.mark.parametrize("width", [400, 1600, *map(slowly, (700, 1000, 2000))])
def test_the_page_never_scrolls_sideways(
    open_page: Callable[..., Any], sideways: Callable[[Any], int], page_file: Path, width: int
) -> None:
    page = open_page(page_file, width=width)
    assert sideways(page) <= 0
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert sideways(page) <= 0


@pytest.mark.parametrize(("width", "scheme"), [(1000, "dark"), *map(slowly, [(1000, "light"), (400, "light")])])
def test_nothing_serious_for_a_screen_reader(
    open_page: Callable[..., Any], accessibility: Callable[[Any], list[str]], page_file: Path, width: int, scheme: str
) -> None:
    page = open_page(page_file, width=width, scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    page.wait_for_timeout(100)
    assert accessibility(page) == []


def test_everything_can_be_reached_with_the_keyboard(open_page: Callable[..., Any], page_file: Path) -> None:
    page = open_page(page_file, width=1600)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    wanted = page.evaluate(
        "[...document.querySelectorAll('a[href], button, select, input, summary')]"
        ".filter(item => item.checkVisibility() && item.tabIndex >= 0).length"
    )
    seen = 1
    for _ in range(wanted + 40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        seen += page.evaluate("document.activeElement.matches('a[href], button, select, input, summary')")
    assert seen >= wanted
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == CARDS[1]
    page.keyboard.press("k")
    assert page.evaluate("document.activeElement.id") == CARDS[0]


def test_a_statement_is_a_tab(page: Any) -> None:
    card = "[id='first.theorem_5_1']"
    assert page.locator(f"{card} [role=tab][aria-selected=true]").inner_text().startswith("corrected")
    assert page.is_visible(f"{card} [data-label=corrected] math") and not page.is_visible(
        f"{card} [data-label=printed]"
    )
    page.locator(f"{card} [role=tab]").first.click()
    assert page.is_visible(f"{card} [data-label=printed]") and not page.is_visible(f"{card} [data-label=corrected]")
    page.keyboard.press("ArrowRight")
    assert page.is_visible(f"{card} [data-label=corrected]")


def test_a_proved_statement_has_a_box_with_every_step(page: Any) -> None:
    """Whatever its label is; the box says on what the proof rests and how it is checked again."""
    proved = [(c["id"], s) for c in CONTENTS["cards"] for s in c["statements"] if s["status"]["outcome"] == "proved"]
    assert {s["label"] for _, s in proved} == {"printed", "corrected"}
    assert page.locator(".proof").count() == len(proved)
    for name, statement in proved:
        box = page.locator(f"[id='{name}-{statement['label']}'] .proof")
        said = box.text_content()
        known = statement["proof"]
        assert "Proof checked by the kernel" in said and f"{known['steps']} steps" in said and known["command"] in said
        assert all(item in said for key in ("assumptions", "conditions", "loose", "unused") for item in known[key])
        assert box.locator(".steps li").count() == len(statement["steps"])
        box.locator("summary").click()
        assert box.locator(".steps li").last.is_visible()


def test_a_search_that_tested_hardly_anything_says_so(page: Any) -> None:
    assert "tested hardly anything" in page.inner_text("[id='first.corollary_1']")


@pytest.mark.parametrize("place", ["finding-first.drift", "refuted-first.lemma_2", "first.theorem_5_1-printed"])
def test_an_address_opens_what_holds_it(open_page: Callable[..., Any], page_file: Path, place: str) -> None:
    page = open_page(page_file, f"#{place}")
    assert page.is_visible(f"[id='{place}']")
    other = open_page(page_file)
    assert not other.is_visible(f"[id='{place}']")


def test_the_counterexample_moves(page: Any) -> None:
    last = page.locator(".ball").first.get_attribute("transform")
    page.evaluate("document.querySelector('.player input').value = 0")
    page.dispatch_event(".player input", "input")
    first = page.locator(".ball").first.get_attribute("transform")
    assert first != last and page.inner_text(".player output") == "0"
    page.click(".play")
    page.wait_for_function("document.querySelector('.player output').value === '60'")
    assert page.locator(".ball").first.get_attribute("transform") == last


def test_copy_and_downloads(open_page: Callable[..., Any], page_file: Path, tmp_path: Path) -> None:
    page = open_page(page_file, permissions=["clipboard-read", "clipboard-write"])
    command = "[id='refuted-first.theorem_5_1'] .command"
    page.click(f"{command} .copy")
    page.wait_for_function(f"document.querySelector(\"{command} .copy\").textContent.startsWith('copied')")
    assert page.evaluate("navigator.clipboard.readText()") == "fedco replay refutations/first.theorem_5_1.json"
    for kind in ("json", "csv"):
        with page.expect_download() as waiting:
            page.click(f"[id='first.theorem_5_1'] > .pair .downloads [data-kind={kind}]")
        waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    data = json.loads((tmp_path / "first.theorem_5_1.json").read_text())
    assert data["instance 1: measured mean"] == [h["mean"] for h in CONTENTS["cards"][0]["runs"][0]["horizons"]]
    lines = (tmp_path / "first.theorem_5_1.csv").read_text().splitlines()
    assert len(lines) == 4 and lines[0].startswith('"instance 1: bound: T","instance 1: bound"')


def test_print_opens_everything_and_closes_it_again(page: Any) -> None:
    closed = page.locator("details:not([open])").count()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0 < closed
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == closed
    page.click("#theme")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible(".top") and page.is_visible("[id='first.theorem_5_1'] [data-label=printed]")
