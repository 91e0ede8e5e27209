"""Outside a paper's own places no module names a theorem, a paper's key or a method: the mechanism knows of none in particular.

Read from the source of every module: identifiers, and string literals that are no docstrings. Docstrings may give a source or an
example. A paper's own places are its folder, its file of runs, the files of the methods, and the applications.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import fedco
import pytest
from fedco.algorithms.declared import declared
from fedco.bounds import paper_keys

ROOT = Path(fedco.__file__).parent
OWN_PLACES = (
    "bounds/papers/",
    "validation/papers/",
    "algorithms/methods/",
    "algorithms/baselines/",
    "tests/",
    "docs/",
    "benchmarks/",
    "examples/",
)
ALLOWED = {
    "cli/options.py": {"feddro", "theorem_5", "theorem_1"},  # the examples in the help of an argument
    "bounds/language/definition.py": {
        "theorem_1",
        "local_sgd",
    },  # the examples in messages about a malformed id or method
    "synthetic/catalogue.py": {"feddro", "FedAvg"},  # names of registered problems, which people script against
    "synthetic/families/counterexample.py": {"feddro"},  # the name of one of them
}
"""File -> what it may name nevertheless, and why."""
TEMPLATES = (".html", ".js", ".css")


@cache
def names() -> re.Pattern[str]:
    """A key of a paper, the end of an id, the name of a method or of its class, as a word or as the beginning of one."""
    words = {*paper_keys(), *declared(), *(method.class_name for method in declared().values())}
    words -= {"baselines", "library"}  # English words
    numbered = r"(?:theorem|lemma|corollary|proposition|remark)_(?:[0-9]|[a-z]_[0-9])"
    known = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{known})(?![A-Za-z0-9])|(?<![A-Za-z0-9]){numbered}")


def named(source: str) -> set[str]:
    """What a module names, as it is written there."""
    if not names().search(source):  # parsing takes longer
        return set()
    tree = ast.parse(source)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body
        if isinstance(node.body[0], ast.Expr)
    }
    found = set()
    for node in ast.walk(tree):
        texts = []
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            texts = [node.value]
        elif isinstance(node, ast.Name):
            texts = [node.id]
        elif isinstance(node, ast.Attribute):
            texts = [node.attr]
        elif isinstance(node, ast.alias):
            texts = [node.name, node.asname or ""]
        elif isinstance(node, ast.ImportFrom):
            texts = [node.module or ""]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            texts = [node.name]
        elif isinstance(node, (ast.arg, ast.keyword)):
            texts = [node.arg or ""]
        found |= {match.group() for text in texts for match in names().finditer(text)}
    return found


def others() -> dict[str, Path]:
    found = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*.py")}
    return {name: path for name, path in found.items() if name[0] != "." and not name.startswith(OWN_PLACES)}


def test_no_other_module_names_a_theorem_a_paper_or_a_method():
    found = {name: named(path.read_text(encoding="utf-8")) for name, path in others().items()}
    assert len(found) > 200
    assert {name: sorted(words) for name, words in found.items() if words - ALLOWED.get(name, set())} == {}


def test_what_is_allowed_is_needed():
    for name, words in ALLOWED.items():
        assert named((ROOT / name).read_text(encoding="utf-8")) == words, name


def test_no_template_does_either():
    files = [
        path for path in ROOT.rglob("*") if path.suffix in TEMPLATES and path.relative_to(ROOT).parts[0] == "validation"
    ]
    assert files
    for path in files:
        assert names().findall(path.read_text(encoding="utf-8")) == [], path.name


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("if theorem.id == 'feddro.theorem_5_1': pass", "theorem_5"),
        ("COSTS = {'fcsg_m': 3}", "fcsg_m"),
        ("x = f'{key}.corollary_1'", "corollary_1"),
        ("NAME = 'x.lemma_d_2'", "lemma_d_2"),
        ("from ..papers.meta_fl import theorems", "meta_fl"),
        ("from ..papers import comfedl", "comfedl"),
        ("from ..algorithms import FedDRO", "FedDRO"),
        ("method = module.AccFCSGM", "AccFCSGM"),
        ("def of_local_scgdm(): pass", "local_scgdm"),
        ("f(feddro=1)", "feddro"),
        ("PRESET = 'feddro_noisy'", "feddro"),
    ],
)
def test_a_name_is_noticed(source, word):
    assert word in named(source)


@pytest.mark.parametrize(
    "source", ["theorem_id = lemma_sides", "'a corollary and its theorem'", "def f():\n    'feddro'"]
)
def test_other_words_are_not(source):
    assert named(source) == set()
