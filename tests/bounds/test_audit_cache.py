"""The kept audits: current, equal to a new audit, and every check can fail; how they are kept and read is in test_audit_rules.py."""

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from importlib import import_module
from math import isclose
from pathlib import Path
from typing import Any

import fedco
import pytest
from fedco.bounds import papers
from fedco.bounds.audit import audit_cache, make_audit_cache
from fedco.bounds.audit.checks import audit
from fedco.bounds.audit.findings import SEVERITIES, Finding, RecheckError
from fedco.bounds.audit.refuted import exact_instances, kept
from fedco.bounds.audit.status import known_of
from fedco.bounds.registry import get_paper
from quick import slow_but


@pytest.mark.parametrize("key", papers.built_in_keys())
def test_every_built_in_paper_has_a_current_audit(key):
    assert audit_cache.read(key) is not None, "its declarations changed: run `make docs`"


_DECIMAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def same(one: str, other: str) -> bool:
    """The same words and whole numbers, and decimals up to the rounding of another machine."""
    decimals = [[float(number) for number in _DECIMAL.findall(text)] for text in (one, other)]
    words = [_DECIMAL.sub("#", text) for text in (one, other)]
    return words[0] == words[1] and all(isclose(a, b, rel_tol=1e-6) for a, b in zip(*decimals, strict=True))


def flat(row: Mapping[str, Any]) -> dict[str, str]:
    """What a finding says, and the evidence of its check."""
    return {**{name: str(value) for name, value in row.items() if name != "evidence"}, **row["evidence"]}


def compare(key: str, made: Iterable[Finding]) -> None:
    """Findings, checked now, beside those of the same kind in the kept file of a paper, current or not."""
    rows = {
        row["id"]: row for row in json.loads((audit_cache.folder_of(key) / audit_cache.NAME).read_text())["findings"]
    }
    found = {row["id"]: row for row in json.loads(json.dumps([*make_audit_cache.run(made)]))}
    assert [*found] == [name for name in rows if is_automatic(name) == is_automatic(next(iter(found), name))]
    for old, new in ((flat(rows[name]), flat(row)) for name, row in found.items()):
        assert old.keys() == new.keys() and not {name for name in old if not same(old[name], new[name])}, old["id"]


def is_automatic(name: str) -> bool:
    return ":" in name


QUICK = ("fcsg_m", "comfedl", "local_scgdm")


@pytest.mark.parametrize("key", slow_but(QUICK, papers.built_in_keys()))
def test_the_findings_of_a_reader_are_what_was_kept(key):
    compare(key, sorted(get_paper(key).findings, key=lambda each: SEVERITIES.index(each.severity)))


@pytest.mark.parametrize("key", slow_but(QUICK, papers.built_in_keys()))
def test_what_the_audit_finds_by_itself_is_what_was_kept(key):
    compare(key, [each for each in audit(key) if is_automatic(each.id)])


READERS = {finding.id: finding for key in papers.built_in_keys() for finding in get_paper(key).findings}
RESTING = sorted(READERS.keys() & {name for item in exact_instances().values() for name in item.findings})
NUMBERS_ONLY = {"meta_fl.remark_9": "takes the constants of a run, whose left side is another one's"}


@pytest.mark.parametrize("name", RESTING)
def test_a_check_notices_when_a_run_of_it_refutes_nothing(name, monkeypatch):
    """A finding that rests on several runs, such as one for each reading, needs every one of them."""
    checks, harmless, seen = import_module(f"fedco.bounds.papers.{name.partition('.')[0]}.checks"), [], []

    def changed(bundle):
        seen.append(bundle)
        found = kept(bundle)
        less = found.right[0] - abs(found.right[0]) / 2
        return found._replace(left=(less, less)) if bundle in harmless else found

    monkeypatch.setattr(checks, "kept", changed, raising=False)
    READERS[name].check()
    for bundle in {*seen} if name not in NUMBERS_ONLY else ():
        harmless[:] = [bundle]
        with pytest.raises(RecheckError):
            READERS[name].check()


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """`fcsg_m` and the paper beside it that it imports, in a folder of their own."""
    for key in ("fcsg", "fcsg_m"):
        shutil.copytree(audit_cache.folder_of(key), tmp_path / key)
    monkeypatch.setattr(audit_cache, "folder_of", lambda key: tmp_path / key)
    audit_cache.fingerprint.cache_clear()
    yield tmp_path
    audit_cache.fingerprint.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("key", papers.built_in_keys())
def test_what_is_kept_as_proved_is_what_both_locks_accept(key):
    assert list(audit_cache.read(key).proved) == list(make_audit_cache.proved(key)) != []


def test_a_bound_says_proved_only_while_the_kept_audit_is_valid(copied):
    statement = fedco.theorem("fcsg_m.theorem_4_4").statement("corrected")
    assert known_of(statement).word == "proved"
    with open(copied / "fcsg_m" / "corrected.py", "a") as file:
        file.write("\n")
    audit_cache.fingerprint.cache_clear()
    assert known_of(statement).word == "derived"


def test_every_file_that_says_what_code_a_proof_is_compared_with_counts():
    """Those of papers without a folder of their own did not: an edit of theirs left a cache that said that both locks hold."""
    package = Path(audit_cache.__file__).parents[2]
    declaring = {file for file in package.glob("validation/papers/**/*.py") if "\nCODES = " in file.read_text("utf-8")}
    counted = {file for pattern in audit_cache.SECOND_LOCK for file in package.glob(pattern)}
    assert len(declaring) >= 7 and declaring <= counted
