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
        page.on("console", lambda message: self._message(message))
        page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        page.on("request", lambda request: self._request(request.url))

    def _message(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"console {message.type}: {message.text}")

    def _request(self, url: str) -> None:
        if not url.startswith(LOCAL):
            self.complaints.append(f"request to outside: {url[:200]}")


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


@pytest.fixture
def open_page(browser: Any, watch: Watch) -> Iterator[Callable[..., Any]]:
    """A function `open_page(path, fragment="", width=1000, height=800, scheme="light", **context options)` -> a loaded page."""
    contexts = []

    def opened(
        path: Path, fragment: str = "", *, width: int = 1000, height: int = 800, scheme: str = "light", **options: Any
    ) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        watch.over(page)
        page.goto(path.resolve().as_uri() + fragment)
        return page

    yield opened
    for context in contexts:
        context.close()


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

    out = tmp_path_factory.mktemp("explorer") / "explore.html"
    write_explorer(out)
    return out
