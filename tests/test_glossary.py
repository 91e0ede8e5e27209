"""docs/glossary.md defines the words that commands print."""

import re
from pathlib import Path

import fedco
import pytest
from fedco.bounds.cost.resources import MEANING
from fedco.bounds.language.theorem import LABELS
from fedco.synthetic.certificate import CERTIFICATE_KINDS
from fedco.synthetic.conformance.kinds import KINDS
from fedco.validation.statistics.verdict import Outcome

PAGE = (Path(fedco.__file__).parent / "docs" / "glossary.md").read_text(encoding="utf-8")
DEFINED = dict(re.findall(r"^- \*\*(.+?)\*\*: (.+)$", PAGE, flags=re.MULTILINE))
PRINTED = {
    *LABELS,
    *CERTIFICATE_KINDS,
    *map(str, Outcome),
    *(name.replace("_", " ") for name in MEANING),
    *("admissible", "binding", "slack", "metric", "finding", "proved", "derived", "refuted", "open"),
    *("certificate", "witness", "property", "kind", "vacuous", "tightness", "e-value", "almost-sure cap", "alpha"),
}


@pytest.mark.parametrize("word", sorted(PRINTED))
def test_a_word_that_is_printed_is_defined(word):
    assert word in DEFINED and DEFINED[word].endswith(".")


def test_the_kinds_of_problems_are_those_that_exist():
    assert all(kind in DEFINED["kind"] for kind in KINDS)


def test_each_word_is_defined_once_and_in_order():
    for section in PAGE.split("\n## ")[1:]:
        words = [word.lower() for word in re.findall(r"^- \*\*(.+?)\*\*", section, flags=re.MULTILINE)]
        assert words == sorted(words)
    assert PAGE.count("\n- **") == len(DEFINED)
