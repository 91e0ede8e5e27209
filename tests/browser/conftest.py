"""A real browser for tests: pages are opened from disk, and a page that complains or asks for anything outside fails its test.

A Chromium is looked for in FEDCO_CHROMIUM, then on the PATH. Where there is none the tests are skipped, unless
FEDCO_BROWSER=required is set (`.ci/run` sets it): then they fail.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
"""No name resolves but this machine's own address, so that whatever a page asks for stays here; it is noted all the same."""
LOCAL = ("file:", "data:", "blob:", "about:")
SERIOUS = ("serious", "critical")


def chromium_path() -> str | None:
    """Where a Chromium is, or None."""
    given = os.environ.get("FEDCO_CHROMIUM")
    return shutil.which(given) if given else next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class Watch:
    """What went wrong on the pages of one test."""

    complaints: list[str] = field(default_factory=list)

    def over(self, page: Any) -> None:
        for event, noted in self._events():
            page.on(event, noted)

    def leave(self, page: Any) -> None:
        for event, noted in self._events():
            page.remove_listener(event, noted)

    def _events(self) -> tuple[tuple[str, Callable[[Any], None]], ...]:
        return ("console", self._message), ("pageerror", self._error), ("request", self._request)

    def _message(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _error(self, error: Any) -> None:
        self.complaints.append(f"page error: {error}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith(LOCAL):
            self.complaints.append(f"request to outside: {request.url[:200]}")


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium; skips the test where there is none, or fails it where one is required."""
    found = chromium_path()
    if found is None:
        message = f"no Chromium: FEDCO_CHROMIUM is unset or wrong, and none of {', '.join(NAMES)} is on the PATH"
        (pytest.fail if os.environ.get("FEDCO_BROWSER") == "required" else pytest.skip)(message)
    return found


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """A headless browser for the tests of one module. It is not kept longer: while it lives no other event loop can run in
    the process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield made
        made.close()


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Fails the test at its end when one of its pages logged an error or a warning, threw, or asked for anything outside."""
    noted = Watch()
    yield noted
    assert noted.complaints == []


@pytest.fixture(scope="module")
def tabs(browser: Any) -> list[Any]:
    """Empty tabs, each in a context of its own, that earlier tests of the module gave back: a new one takes half a second."""
    return []


@pytest.fixture
def open_page(browser: Any, tabs: list[Any], watch: Watch) -> Iterator[Callable[..., Any]]:
    """A function `open_page(path, fragment="", width=1000, height=800, scheme="light", **context options)` -> a loaded page.

    Every page has a context of its own. A tab is used again by a later test, without what the earlier one left: the page, what it
    stored, the window, the medium. With context options it is new, and is closed.
    """
    used, special = [], []

    def opened(
        path: Path, fragment: str = "", *, width: int = 1000, height: int = 800, scheme: str = "light", **options: Any
    ) -> Any:
        page = tabs.pop() if tabs and not options else browser.new_context(**options).new_page()
        (special if options else used).append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(media="null", color_scheme=scheme)
        watch.over(page)
        page.goto(path.resolve().as_uri() + fragment)
        return page

    yield opened
    for page in special:
        page.context.close()
    for page in used:
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
        page.goto("about:blank")
        watch.leave(page)
        tabs.append(page)


RESET = "() => { history.replaceState(null, '', location.pathname); dispatchEvent(new Event('hashchange')); }"


@pytest.fixture(scope="module")
def headline_tab(browser: Any, headline_page: Path) -> Iterator[Any]:
    """The explorer in one tab for the tests of a module: to load it takes longer than most of what they ask of it."""
    page = browser.new_context().new_page()
    page.goto(headline_page.resolve().as_uri())
    yield page
    page.context.close()


@pytest.fixture
def headline(headline_tab: Any, watch: Watch) -> Iterator[Any]:
    """The same tab with the theorem, the numbers, the window and the medium with which it is opened."""
    watch.over(headline_tab)
    headline_tab.set_viewport_size({"width": 1000, "height": 800})
    headline_tab.emulate_media(media="null", color_scheme="light")
    headline_tab.evaluate(RESET)
    headline_tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    yield headline_tab
    watch.leave(headline_tab)


@pytest.fixture
def accessibility() -> Callable[[Any], list[str]]:
    """A function of a page: its serious and critical violations by axe, one line each."""
    from axe_playwright_python.sync_playwright import Axe

    def violations(page: Any) -> list[str]:
        found = Axe().run(page).response["violations"]
        return [
            f"{item['id']} ({item['impact']}): {item['help']}; {node['target']} {node.get('failureSummary', '')[:300]}"
            for item in found
            if item["impact"] in SERIOUS
            for node in item["nodes"]
        ]

    return violations


def overflow(page: Any) -> int:
    """By how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.fixture
def sideways() -> Callable[[Any], int]:
    """A function of a page: by how many pixels it is wider than its window."""
    return overflow


@pytest.fixture(scope="session")
def headline_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The explorer with the headline theorems of all papers."""
    from fedco.validation.explorer.page import write_explorer
    from once import made_once

    return made_once(tmp_path_factory, "explorer", lambda out: write_explorer(out / "explore.html")) / "explore.html"
