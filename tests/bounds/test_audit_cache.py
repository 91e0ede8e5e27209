"""The kept audits: current, equal to a new audit, and not used when damaged or made from other declarations."""

import json
import shutil
from pathlib import Path

import fedco
import pytest
from fedco.bounds import papers
from fedco.bounds.audit import audit_cache, make_audit_cache
from fedco.bounds.audit.checks import audit
from fedco.bounds.audit.findings import SEVERITIES
from fedco.bounds.audit.statement_warning import statement_warning

QUICK = ("fcsg_m", "baselines")


@pytest.mark.parametrize("key", papers.built_in_keys())
def test_every_built_in_paper_has_a_current_ledger(key):
    assert audit_cache.read(key) is not None, "its declarations changed: run `make docs`"


@pytest.mark.parametrize(
    "key", [pytest.param(k, marks=() if k in QUICK else pytest.mark.slow) for k in papers.built_in_keys()]
)
def test_ledger_equals_a_new_audit(key):
    assert [dict(row) for row in audit_cache.read(key).rows] == list(
        json.loads(json.dumps([*make_audit_cache.run(audit(key))]))
    )


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """`fcsg_m` and the paper beside it that it imports, in a folder of their own."""
    for key in ("fcsg", "fcsg_m"):
        shutil.copytree(audit_cache.folder_of(key), tmp_path / key)
    monkeypatch.setattr(audit_cache, "folder_of", lambda key: tmp_path / key)
    audit_cache.fingerprint.cache_clear()
    yield tmp_path
    audit_cache.fingerprint.cache_clear()


def test_copied_ledger_is_read(copied):
    assert audit_cache.read("fcsg_m") is not None


@pytest.mark.parametrize("changed", ["fcsg_m/corrected.py", "fcsg/paper.toml"])
def test_ledger_of_changed_declarations_is_not_used(copied, changed):
    with open(copied / changed, "a") as file:
        file.write("\n")
    assert audit_cache.read("fcsg_m") is None


def test_ledger_made_with_another_kernel_is_not_used(copied, monkeypatch, tmp_path_factory):
    room, own = tmp_path_factory.mktemp("room") / "bounds", Path(audit_cache.__file__).parents[1]
    shutil.copytree(own, room, ignore=shutil.ignore_patterns("papers", "__pycache__"))
    for beside in ("validation", "algorithms"):
        (room.parent / beside).symlink_to(own.parent / beside)
    monkeypatch.setattr(audit_cache, "__file__", str(room / "audit" / "audit_cache.py"))
    assert audit_cache.read("fcsg_m") is not None
    with open(room / "proof" / "kernel" / "algebra.py", "a") as file:
        file.write("\n")
    audit_cache.fingerprint.cache_clear()
    assert audit_cache.read("fcsg_m") is None


def test_altered_ledger_is_not_used(copied):
    file = copied / "fcsg_m" / audit_cache.NAME
    file.write_text(file.read_text().replace('"slip"', '"breaks"', 1))
    assert audit_cache.read("fcsg_m") is None


def test_checks_are_run_where_no_ledger_is_valid(copied, monkeypatch):
    kept, days = make_audit_cache.findings("fcsg_m")
    (copied / "fcsg_m" / audit_cache.NAME).unlink()
    made, today = make_audit_cache.findings("fcsg_m")
    assert made == kept and days["fcsg_m"] <= today["fcsg_m"]
    assert make_audit_cache.findings("fcsg_m", check=False)[1] == {"fcsg_m": None}
    monkeypatch.setattr(
        make_audit_cache, "read", lambda key: pytest.fail("an audit cache was read although every check is to run")
    )
    assert make_audit_cache.findings("fcsg_m", check=True)[0] == kept


def test_list_is_worst_first_and_can_be_narrowed():
    rows, _ = make_audit_cache.findings()
    ranks = [SEVERITIES.index(row["severity"]) for row in rows]
    assert ranks == sorted(ranks) and len(rows) == len({row["id"] for row in rows})
    about, _ = make_audit_cache.findings("feddro.lemma_f_2")
    assert about == [row for row in rows if row["theorem"] == "feddro.lemma_f_2"] != []


@pytest.mark.slow
@pytest.mark.parametrize("key", papers.built_in_keys())
def test_what_is_kept_as_proved_is_what_both_locks_accept(key):
    assert list(audit_cache.read(key).proved) == list(make_audit_cache.proved(key)) != []


def test_a_bound_says_proved_only_while_the_ledger_is_valid(copied):
    statement = fedco.theorem("fcsg_m.theorem_4_4").statement("corrected")
    assert statement_warning(statement).status == "proved"
    with open(copied / "fcsg_m" / "corrected.py", "a") as file:
        file.write("\n")
    audit_cache.fingerprint.cache_clear()
    assert statement_warning(statement).status == "derived"
