"""The documentation as a site: built strictly, read over a local server, nothing asked for from outside."""

from __future__ import annotations

import functools
import html
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fedco
import nbformat
import pytest
from fedco.bounds.registry import all_theorems

ROOT = Path(fedco.__file__).parent
pytestmark = pytest.mark.slow


class Quiet(SimpleHTTPRequestHandler):
    """A server that keeps its log to itself."""

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source")
    (source / "fedco").symlink_to(ROOT)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "FEDCO_SOURCE": str(source), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def opened(browser: Any, url: str, asked: list[str], **options: Any) -> Any:
    """A loaded page; what it asks for elsewhere, and what it complains about, is noted."""
    page = browser.new_context(**options).new_page()
    origin = url.split("/", 3)[:3]
    page.on(
        "request", lambda r: asked.append(r.url) if r.url.split("/", 3)[:3] != origin and "data:" not in r.url else 0
    )
    page.on("console", lambda message: asked.append(message.text) if message.type == "error" else 0)
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.goto(url, wait_until="networkidle")
    return page


def test_every_theorem_has_a_page_with_typeset_formulas(site: Path) -> None:
    for name, theorem in all_theorems().items():
        text = (site / "theorems" / f"{name}.html").read_text(encoding="utf-8")
        assert "arithmatex" not in text and "\\frac" not in text and "&amp;</mi>" not in text
        assert "<math" in text or theorem.kind not in ("theorem", "corollary"), name
        assert not re.search(r"^\d+\. \*\*|^\| ---|^- `", text, re.MULTILINE), name  # Markdown that was not set


def test_notebooks_are_pages_with_their_outputs(site: Path) -> None:
    """Every output that is kept in a notebook is on its page: text, tables and figures."""
    for path in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        page = (site / "notebooks" / f"{path.stem}.html").read_text(encoding="utf-8")
        shown = " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())
        cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        outputs = [output for cell in cells for output in cell.outputs]
        assert outputs and (site / "notebooks" / path.name).exists()
        figures = sum("image/svg+xml" in output.get("data", {}) for output in outputs)
        assert (
            page.count("The figure that the cell above draws")
            == figures
            == len([*(site / "notebooks").glob(f"{path.stem}/*.svg")])
        )
        for output in outputs:
            data = output.get("data", {})
            if data.keys() <= {"text/plain"}:
                text = output.get("text") or data["text/plain"]
                assert " ".join(text.split()) in shown, text
        assert all(" ".join(cell.source.split()) in shown for cell in cells)
        tables = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
        assert tables and page.count("<table") >= sum(table.count("<table") for table in tables)


def test_no_page_asks_for_anything_outside(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert {page.stem for page in (site / "theorems").glob("*.html")} >= set(all_theorems()) and len(pages) > 100
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not [place for place in ('src="http', 'src="//', "@import", 'href="https://fonts') if place in text], (
            path
        )


def test_the_reference_has_every_public_name(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    public = [f"fedco.{module}.{found}" for name, (module, found) in fedco.HOMES.items() if name in fedco.__all__]
    missing = [name for name in public if f'id="{name}"' not in text]
    assert missing == []


def test_the_start_page_holds_the_explorer_and_the_search_finds(browser: Any, address: str) -> None:
    asked: list[str] = []
    page = opened(browser, f"{address}/index.html", asked, viewport={"width": 1300, "height": 900})
    frame = page.frame_locator("iframe.explorer")
    frame.locator("select").first.wait_for()
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially("consensus")
    page.locator(".md-search-result__item").first.wait_for(timeout=120_000)
    assert asked == []


PHONE = (
    "index",
    "audit",
    "theorems/feddro.theorem_5_1",
    "theory/fcsg",
    "reference/method",
    "notebooks/tutorial",
    "notebooks/is_this_theorem_right",
    "notebooks/my_model",
    "practice",
    "glossary",
)


@pytest.mark.parametrize("name", PHONE)
def test_a_page_fits_a_phone(browser: Any, address: str, sideways: Callable[[Any], int], name: str) -> None:
    asked: list[str] = []
    page = opened(browser, f"{address}/{name}.html", asked, viewport={"width": 400, "height": 800})
    assert sideways(page) <= 0 and asked == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_a_screen_reader(
    browser: Any, address: str, accessibility: Callable[[Any], list[str]], scheme: str
) -> None:
    asked: list[str] = []
    backgrounds = set()
    for name in (*PHONE, "tour", "howto/your-own-theorem", "reference/python"):
        page = opened(browser, f"{address}/{name}.html", asked, color_scheme=scheme)
        backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert accessibility(page) == [], name
    assert asked == [] and len(backgrounds) == 1 and ("rgb(255, 255, 255)" in backgrounds) == (scheme == "light")


def test_dark_is_a_button_and_code_can_be_copied(browser: Any, address: str) -> None:
    asked: list[str] = []
    allowed = ["clipboard-read", "clipboard-write"]
    page = opened(browser, f"{address}/howto/explore.html", asked, color_scheme="light", permissions=allowed)
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("label[for=__palette_1]").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.locator(".highlight").first.hover()
    page.locator("button[data-md-type=copy], .md-clipboard").first.click()
    page.wait_for_timeout(200)
    assert "fedco explore" in page.evaluate("navigator.clipboard.readText()") and asked == []


def test_links_search_and_code_are_reached_by_the_keyboard(browser: Any, address: str) -> None:
    asked: list[str] = []
    page = opened(browser, f"{address}/howto/explore.html", asked, viewport={"width": 1300, "height": 900})
    reached = set()
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className + ' ' + (document.activeElement.href ?? '')"))
    assert any("md-tabs__link" in each for each in reached) and any("your-own-theorem" in each for each in reached)
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.wait_for_timeout(200)
    assert "md-search__input" in page.evaluate("document.activeElement.className") and asked == []
