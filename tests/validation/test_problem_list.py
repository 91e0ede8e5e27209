"""The kept list of problems: current, equal to one made now, used without torch, and not used when something changed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fedco.storage import write_json
from fedco.validation.runs import problem_list


@pytest.fixture(autouse=True)
def _forget():
    problem_list.listed.cache_clear()
    yield
    problem_list.listed.cache_clear()


def as_json(items):
    return json.loads(json.dumps([{**vars(item), "properties": list(item.properties)} for item in items]))


def close(kept, again):
    """The same structure, and numbers equal up to what another machine's last bits may change."""
    if isinstance(kept, dict):
        return kept.keys() == again.keys() and all(close(kept[key], again[key]) for key in kept)
    if isinstance(kept, list):
        return len(kept) == len(again) and all(map(close, kept, again))
    return kept == again or (isinstance(kept, float) and kept == pytest.approx(again, rel=1e-9))


def test_the_kept_list_is_current(monkeypatch):
    monkeypatch.setattr(problem_list, "made", lambda: pytest.fail("a problem's source changed: run `make docs`"))
    assert len(problem_list.listed()) >= 30


def test_the_kept_list_is_what_is_made_now():
    kept, again = as_json(problem_list.listed()), as_json(problem_list.made())
    assert close(kept, again)
    value = kept[0]["certificates"]["outer_lipschitz"]
    assert not close(
        [{**kept[0], "certificates": {"outer_lipschitz": {**value, "value": value["value"] + 1e-6}}}], again[:1]
    )


@pytest.mark.parametrize("change", [{"made_from": "x"}, {"format": "fedco-problems/0"}, {"sha256": "0"}, None])
def test_another_file_is_not_used(change, tmp_path, monkeypatch):
    marker = (replace(problem_list.listed()[0], name="made now"),)
    problem_list.listed.cache_clear()
    plain = json.loads(problem_list.FILE.read_text())
    monkeypatch.setattr(problem_list, "FILE", tmp_path / "problems.json")
    monkeypatch.setattr(problem_list, "made", lambda: marker)
    if change and "sha256" in change:
        problem_list.FILE.write_text(json.dumps(plain | change))
    elif change:
        write_json(problem_list.FILE, {key: part for key, part in (plain | change).items() if key != "sha256"})
    assert problem_list.listed() == marker
