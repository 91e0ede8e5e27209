"""Which papers there are, and their theorems by id.

Papers are loaded one by one, when first asked for, so that a command about one theorem does not pay for the others.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from .files import is_file, theorem_of_file, theorems_of_file
from .language.reading import InputError
from .language.theorem import Theorem

PAPERS = ("local_scgdm", "comfedl", "fcsg", "fcsg_m", "acc_fcsg_m", "meta_fl", "feddro")


@cache
def paper_theorems(paper: str) -> dict[str, Theorem]:
    """All registered theorems of one paper key, by id.

    Raises:
        InputError: no such paper.
    """
    if paper not in PAPERS:
        raise InputError(f"{paper[:40]!r}: not a paper; wanted one of {' '.join(PAPERS)}")
    return {item.id: item for item in import_module(f".papers.{paper}.theorems", __package__).THEOREMS}


def all_theorems() -> dict[str, Theorem]:
    """Every registered theorem, by id."""
    return {name: item for paper in PAPERS for name, item in paper_theorems(paper).items()}


def get_theorem(name: str | Theorem) -> Theorem:
    """The theorem with this id, for instance `feddro.theorem_5_1`, or of a file: FILE.toml or FILE.py:NAME.

    Raises:
        InputError: no such theorem; the message lists those of the paper. A file that defines none says why.
    """
    if isinstance(name, Theorem):
        return name
    if isinstance(name, str) and is_file(name):
        return theorem_of_file(name)
    if not isinstance(name, str) or name.partition(".")[0] not in PAPERS:
        raise InputError(f"{str(name)[:60]!r}: not a theorem; wanted one of PAPER.NAME, PAPER among {' '.join(PAPERS)}")
    known = paper_theorems(name.partition(".")[0])
    if name not in known:
        raise InputError(f"{name[:60]!r}: not a theorem; wanted one of {' '.join(known)}")
    return known[name]


def get_theorems(name: str) -> list[Theorem]:
    """Every theorem of a paper key or of a file, or the one theorem of an id.

    Raises:
        InputError: no such paper, file or theorem.
    """
    if is_file(name):
        return list(theorems_of_file(name).values())
    return [get_theorem(name)] if "." in name else list(paper_theorems(name).values())
