"""docs/glossary.md defines the words that commands print."""

import ast
import re
from collections import defaultdict
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


FORMER = {
    "dial",
    "dials",
    "errata",
    "sharp",
    "PULL",
    "ROUGH",
    "SPREAD",
    "FAST",
    "SLOW",
    "disagreements",
    "preference_map",
    "twist",
}
"""Words that the field does not use, and that code used once."""
ONE_THING = ("Enclosure", "Rates", "LemmaChain", "compare", "Admissible", "Bound", "Statement", "Theorem", "Verdict")


def defined_names(tree):
    """What the top level of a module defines: classes, functions, and names that get a value."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def test_a_word_is_one_thing_and_former_words_are_gone():
    """The kernel has a vocabulary of its own, for checked derivations, and the commands are named after the verbs."""
    root = Path(fedco.__file__).parent
    rooms = ("algorithms", "bounds", "synthetic", "validation", "cli")
    texts = {path: path.read_text(encoding="utf-8") for room in rooms for path in (root / room).rglob("*.py")}
    words = re.compile(rf"\b(?:{'|'.join((*FORMER, *ONE_THING))})\b")
    trees = {path: ast.parse(text) for path, text in texts.items() if words.search(text)}
    nodes = (node for tree in trees.values() for node in ast.walk(tree))
    named = {
        getattr(node, "id", None) or getattr(node, "arg", None)
        for node in nodes
        if isinstance(node, (ast.Name, ast.arg))
    }
    assert "statement" in named and not FORMER & named
    homes = defaultdict(list)
    for path, tree in trees.items():
        if not path.is_relative_to(root / "bounds" / "proof" / "kernel") and not path.is_relative_to(root / "cli"):
            for name in {*defined_names(tree)} & {*ONE_THING}:
                homes[name].append(path.name)
    assert {name: len(found) for name, found in homes.items()} == dict.fromkeys(ONE_THING, 1), homes
