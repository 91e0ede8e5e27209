"""Exact refutations of printed claims: written, replayed, and refused when tampered with."""

import json

import pytest
from fedco.validation.bundle import BundleError, read, replay
from fedco.validation.refutations import BUNDLES, REGISTRY, write_all


def test_every_bundle_is_confirmed_by_its_replay(tmp_path) -> None:
    files = write_all(tmp_path)
    assert set(files) == set(BUNDLES)
    for path in files.values():
        done = replay(read(path), REGISTRY, tolerance=0.0)
        assert done.confirmed and done.verdict.outcome == "REFUTED"


def test_a_tampered_bundle_is_refused(tmp_path) -> None:
    path = write_all(tmp_path)["comfedl.theorem_1"]
    data = json.loads(path.read_text(encoding="utf-8"))
    data["claim"] = "another theorem"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(BundleError):
        read(path)
