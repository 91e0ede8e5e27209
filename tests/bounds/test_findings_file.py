"""What a finding is, and the file of a paper that has its findings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fedco.bounds.audit.findings import Again, Withdrawn, read_findings
from fedco.bounds.registry import get_paper
from fedco.errors import InputError


@pytest.mark.parametrize("changed", [{"kind": "wish"}, {"severity": "grave"}])
def test_a_finding_has_a_known_kind_and_severity(changed):
    finding = get_paper("fcsg_m").findings[0]
    assert replace(finding) == finding
    with pytest.raises(ValueError, match="unknown kind"):
        replace(finding, **changed)


ROW = """[[findings]]
id = "k.lost"
theorem = "k.t"
where = "(1)"
kind = "constant"
severity = "slip"
printed = "1"
expected = "2"
consequence = "none"
"""


def read_from(folder, text):
    (folder / "findings.toml").write_text(text)
    return read_findings({"__file__": str(folder / "checks.py"), "lost": dict, "found": list, "number": 1})


def test_a_finding_is_checked_by_the_function_of_its_name_or_by_the_one_that_it_names(tmp_path):
    more = ROW.replace("k.lost", "k.other") + 'check = "found"\nseen_in = ["k.lost"]\n'
    again = (
        '[[again]]\nid = "k.t:units"\nseen_in = ["k.u:units"]\n[[withdrawn]]\nids = ["k.gone"]\nwhy = "read again"\n'
    )
    (first, second), others = read_from(tmp_path, ROW + more + again)
    assert (first.check, first.seen_in, second.check, second.seen_in) == (dict, (), list, ("k.lost",))
    assert others == (Again("k.t:units", ("k.u:units",)), Withdrawn(("k.gone",), "read again"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROW.replace("lost", "unknown"), "k.unknown: wanted the name of a function"),
        (ROW + 'check = "number"\n', "got 'number'"),
        (ROW + 'checked = "lost"\n', "checked"),
        (ROW.replace('where = "(1)"\n', ""), "where"),
        (ROW.replace("slip", "grave"), "grave"),
        ("[[finding]]\n", "wanted the tables findings, again, withdrawn, got 'finding'"),
        ("[[findings]\n", "readable TOML"),
        ("findings = 3\n", r"wanted \[\[findings\]\], one table for each row"),
        (ROW.replace("[[findings]]", "[findings]"), r"wanted \[\[findings\]\], one table for each row"),
    ],
)
def test_a_findings_file_that_cannot_be_read_as_meant_is_refused(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        read_from(tmp_path, text)
