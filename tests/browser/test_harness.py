"""The harness notices what it must: each planted fault is seen, and a clean page passes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from quick import slowly

CLEAN = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title></head>
<body><main><h1>t</h1><p>text</p>{}</main></body></html>"""


def page_with(folder: Path, body: str) -> Path:
    path = folder / "page.html"
    path.write_text(CLEAN.format(body), encoding="utf-8")
    return path


def test_a_clean_page_has_no_complaints(
    open_page: Any, watch: Any, accessibility: Any, sideways: Any, tmp_path: Path
) -> None:
    page = open_page(page_with(tmp_path, '<img alt="" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'))
    assert watch.complaints == [] and accessibility(page) == [] and sideways(page) == 0


@pytest.mark.parametrize(
    ("planted", "wanted"),
    [
        ('<img alt="" src="http://nowhere.invalid/a.png">', "request to outside: http://nowhere.invalid/a.png"),
        ("<script>fetch('https://nowhere.invalid/b').catch(() => 0)</script>", "request to outside"),
        ("<script>console.error('broken')</script>", "console error: broken"),
        ("<script>throw new Error('thrown')</script>", "page error: thrown"),
    ],
)
def test_a_complaint_is_noted(open_page: Any, watch: Any, tmp_path: Path, planted: str, wanted: str) -> None:
    open_page(page_with(tmp_path, planted)).wait_for_load_state("networkidle")
    assert any(line.startswith(wanted) for line in watch.complaints), watch.complaints
    watch.complaints.clear()


def test_bad_contrast_and_a_nameless_button_are_serious(open_page: Any, accessibility: Any, tmp_path: Path) -> None:
    page = open_page(page_with(tmp_path, '<button></button><p style="color:#aaa;background:#fff">faint</p>'))
    found = accessibility(page)
    assert any("button-name" in line for line in found) and any("color-contrast" in line for line in found)


def test_a_wide_page_is_measured(open_page: Any, sideways: Any, tmp_path: Path) -> None:
    page = open_page(page_with(tmp_path, '<div style="width:700px">wide</div>'), width=400)
    assert sideways(page) > 200


@pytest.mark.parametrize("time", ["once", "again"])
def test_a_page_has_nothing_of_an_earlier_test(open_page: Any, tmp_path: Path, time: str) -> None:
    """The one that comes second has the tab and the file of the first, which left everything else than it was."""
    body = "<script>window.left = localStorage.length + sessionStorage.length</script>"
    page = open_page(page_with(tmp_path.parent, body), "#place")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("left") == 0 and page.evaluate("window.dirty") is None
    assert page.evaluate("[innerWidth, innerHeight]") == [1000, 800]
    for unwanted in ("print", "(prefers-color-scheme: dark)"):
        assert not page.evaluate("asked => matchMedia(asked).matches", unwanted)
    assert page.evaluate("document.querySelector('p:hover')") is None
    page.evaluate("localStorage.theme = 'dark'; sessionStorage.place = '1'; window.dirty = true")
    page.set_viewport_size({"width": 500, "height": 400})
    page.emulate_media(media="print", color_scheme="dark")
    page.hover("p")
    assert page.evaluate("document.querySelector('p:hover')") is not None
    assert page.evaluate("localStorage.length + sessionStorage.length") == 2


@pytest.mark.parametrize(("demand", "outcome"), [slowly(("", "1 skipped")), ("required", "1 error")])
def test_without_a_browser_tests_skip_unless_one_is_required(demand: str, outcome: str) -> None:
    environment = {**os.environ, "FEDCO_CHROMIUM": "/nowhere/chromium", "FEDCO_BROWSER": demand}
    one = f"{__file__}::test_a_wide_page_is_measured"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", one]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert outcome in done.stdout, done.stdout[-500:]
