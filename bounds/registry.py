"""Which papers there are: the built-in ones, and those of installed packages.

A paper is imported when its key is first asked for, so that a command about one theorem does not pay for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from ..notebook import ShownAsTable
from ..suggestion import instead, nearest
from ..user_files import all_that_load, installed, load_installed
from . import papers as built_in
from .files import is_file, theorem_of_file, theorems_of_file
from .language.paper import Paper
from .language.reading import InputError
from .language.theorem import Theorem

_built_in = cache(built_in.built_in_keys)


def paper_keys() -> tuple[str, ...]:
    """The keys of all papers: built in, and announced by installed packages (group `fedco.papers`)."""
    return tuple(dict.fromkeys((*_built_in(), *installed("papers"))))


def is_paper(key: str) -> bool:
    """Whether a paper has this key; installed packages are asked last, because that is slow."""
    return key in _built_in() or key in installed("papers")


@cache
def loaded(key: str) -> Paper:
    if key in _built_in():
        return import_module(f"{built_in.__name__}.{key}").PAPER
    paper: Paper = load_installed("papers", key, Paper)
    if paper.key != key:
        raise InputError(f"{key}: announced in fedco.papers, but the paper there has the key {paper.key[:40]!r}")
    return paper


def get_paper(key: str) -> Paper:
    """The paper with this key.

    Raises:
        InputError: no such paper.
    """
    if not is_paper(key):
        raise InputError(f"{str(key)[:40]!r}: not a paper; {instead(str(key), paper_keys())}")
    return loaded(key)


def all_papers() -> tuple[Paper, ...]:
    """All papers; an installed one that cannot be loaded is left out with a warning."""
    return tuple(all_that_load(paper_keys(), get_paper).values())


def paper_theorems(key: str) -> Mapping[str, Theorem]:
    """All theorems of one paper, by id.

    Raises:
        InputError: no such paper.
    """
    return get_paper(key).theorems


class Theorems(ShownAsTable, dict[str, Theorem]):
    """Theorems, lemmas and claims by id."""

    @property
    def title(self) -> str:
        papers = Counter(name.partition(".")[0] for name in self)
        return f"{len(self)} theorems, lemmas and claims: " + ", ".join(f"{key} {n}" for key, n in papers.items())

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        found = [(name, item.kind, item.title, ", ".join(item.labels)) for name, item in self.items()]
        return ("id", "kind", "title", "statements"), found


def all_theorems() -> Theorems:
    """Every theorem, by id."""
    return Theorems({name: item for paper in all_papers() for name, item in paper.theorems.items()})


def paper_of(theorem: Theorem) -> Paper | None:
    """The paper that declares this theorem; None for a theorem of one's own, whatever its id."""
    key = theorem.id.partition(".")[0]
    paper = get_paper(key) if is_paper(key) else None
    return paper if paper is not None and paper.theorems.get(theorem.id) is theorem else None


def get_theorem(name: str | Theorem) -> Theorem:
    """The theorem with this id, for instance `feddro.theorem_5_1`, or of a file: FILE.toml or FILE.py:NAME.

    Raises:
        InputError: no such theorem; the message lists those of the paper. A file that defines none says why.
    """
    if isinstance(name, Theorem):
        return name
    if isinstance(name, str) and is_file(name):
        return theorem_of_file(name)
    if not isinstance(name, str) or not is_paper(name.partition(".")[0]):
        raise InputError(f"{str(name)[:60]!r}: not a theorem; {_meant(str(name))}")
    return get_paper(name.partition(".")[0]).theorem(name)


class _Lookup:
    """`theorem("PAPER.NAME")` and `theorem["PAPER.NAME"]`: the theorem with this id; of a file, `theorem("FILE.toml")`. Ids complete in
    IPython, in either form.

    Raises:
        InputError: no such theorem; the message lists those of the paper.
    """

    def __call__(self, name: str | Theorem) -> Theorem:
        return get_theorem(name)

    def __getitem__(self, name: str) -> Theorem:
        return get_theorem(name)

    def __repr__(self) -> str:
        return f"theorem: {all_theorems().title}"

    def _ipython_key_completions_(self) -> list[str]:
        return list(all_theorems())


theorem = _Lookup()


def _meant(name: str) -> str:
    """What an id of no paper may have meant: the same name in the paper with the nearest key."""
    key, _, rest = name.partition(".")
    near = nearest(key, paper_keys()).removeprefix("the nearest is ")
    if near in paper_keys() and f"{near}.{rest}" in paper_theorems(near):
        return f"the nearest is {near}.{rest}"
    return f"wanted one of PAPER.NAME, PAPER among {' '.join(paper_keys())}"


def get_theorems(name: str) -> list[Theorem]:
    """Every theorem of a paper key or of a file, or the one theorem of an id.

    Raises:
        InputError: no such paper, file or theorem.
    """
    if is_file(name):
        return list(theorems_of_file(name).values())
    return [get_theorem(name)] if "." in name else list(paper_theorems(name).values())
