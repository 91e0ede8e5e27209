"""Everything that fedco knows of a paper, as data: its theorems, what it claims, what is wrong with it, how it is run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...suggestion import instead
from .paper_file import FILE, PaperFile, paper_file
from .reading import InputError
from .theorem import Theorem

if TYPE_CHECKING:
    from ..audit.findings import Again, Evidence, Finding, Withdrawn
    from ..audit.refutation import Refutation
    from ..proof.kernel import Plan, Reader

PARTS = {
    "findings": ("checks", "FINDINGS"),
    "second_reading": ("checks", "SECOND_READING"),
    "counterexamples": ("counterexamples", "REFUTATIONS"),
    "derivations": ("derivations", "DERIVATIONS"),
    "sharpened": ("derivations", "SHARPENED"),
    "holds": ("checks", "HOLDS"),
}
"""The parts of a paper that are code: the file of its folder, and the name in it that holds the declarations."""


@dataclass(frozen=True, eq=False)
class Paper:
    """A paper, or one algorithm of a paper that has several. Each theorem carries its own notation, kind of problem and costs.

    Args:
        key: what its ids begin with, for instance `feddro`.
        title: authors, title, year.
        parts: name of a part (theorems, claims, or a key of `PARTS`) -> its declarations, as a mapping, or as a function that is
            called once for each part, when it is first asked for. A part that is missing is empty. Theorems may be a mapping by id.
        headlines: names of the theorems that `compare` sets side by side, without the key.
        runs: the module that says how its theorems are run; imported only when something is run. Empty where nothing is.
        file: its `paper.toml`, where it has one.
    """

    key: str
    title: str
    parts: Mapping[str, Collection[Any]] | Callable[[str], Collection[Any]]
    headlines: tuple[str, ...] = ()
    runs: str = ""
    file: PaperFile | None = None

    @property
    def written(self) -> PaperFile:
        """Its `paper.toml`.

        Raises:
            InputError: it has none.
        """
        if self.file is None:
            raise InputError(f"{self.key}: the paper has no {FILE}")
        return self.file

    def load(self, part: str) -> Collection[Any]:
        """The declarations of a part."""
        return self.parts(part) if callable(self.parts) else self.parts.get(part, ())

    @cached_property
    def theorems(self) -> Mapping[str, Theorem]:
        """Its theorems, corollaries and lemmas by id."""
        found = self.load("theorems")
        return found if isinstance(found, Mapping) else {item.id: item for item in found}

    @cached_property
    def claims(self) -> tuple[Mapping[str, Any], ...]:
        """What it says that a target costs: rows of its `paper.toml` that `cost.claims` reads."""
        return tuple(self.load("claims"))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What a reader found; the automatic findings follow from the declarations."""
        return tuple(self.load("findings"))

    @cached_property
    def repeated(self) -> tuple[Finding | Again, ...]:
        """Findings whose slip is seen again in others."""
        every = (*self.findings, *self.load("second_reading"))
        return tuple(item for item in every if getattr(item, "seen_in", ()))

    @cached_property
    def withdrawn(self) -> tuple[Withdrawn, ...]:
        """Findings that did not stand when they were read again, with the reason."""
        return tuple(item for item in self.load("second_reading") if hasattr(item, "ids"))

    @cached_property
    def counterexamples(self) -> dict[str, Refutation]:
        """Exact instances that break a claim, by name."""
        return {item.name: item for item in self.load("counterexamples")}

    @cached_property
    def derivations(self) -> dict[str, Callable[[Reader], Plan]]:
        """Id of a theorem -> the derivation of its corrected statement, as a function of the symbols."""
        return {f"{self.key}.{name}": build for name, build, *_ in self.load("derivations")}

    @cached_property
    def sharpened(self) -> dict[str, Callable[[Reader], Plan]]:
        """Id of a theorem -> the derivation of its `sharpened` statement."""
        return {f"{self.key}.{name}": build for name, build in self.load("sharpened")}

    def derivation_of(self, theorem: Theorem, label: str) -> Callable[[Reader], Plan] | None:
        """The derivation of a statement, where there is one: of the default one, or of the sharpened."""
        if label == "sharpened":
            return self.sharpened.get(theorem.id)
        return self.derivations.get(theorem.id) if label == theorem.default else None

    @cached_property
    def lemmas(self) -> dict[str, tuple[str, ...]]:
        """Id of a theorem -> ids of the lemmas that its derivation takes as true."""
        rows = ((name, given) for name, _, *rest in self.load("derivations") for given in rest)
        return {f"{self.key}.{name}": tuple(f"{self.key}.{lemma}" for lemma in given) for name, given in rows}

    def unchecked(self, name: str) -> tuple[str, ...]:
        """The lemmas without a derivation of their own on which a derivation rests, directly or by other lemmas."""
        found = [left for lemma in self.lemmas.get(name, ()) for left in self.unchecked(lemma)]
        own = [lemma for lemma in self.lemmas.get(name, ()) if lemma not in self.derivations]
        return tuple(dict.fromkeys((*own, *found)))

    @cached_property
    def holds(self) -> dict[tuple[str, str], Callable[[], Evidence]]:
        """(Id of a theorem, statement) -> what shows that this statement holds as it stands; the docstring is the argument."""
        return {(f"{self.key}.{name}", label): check for name, label, check in self.load("holds")}

    @property
    def main_theorems(self) -> tuple[Theorem, ...]:
        """The headline theorems."""
        return tuple(self.theorems[f"{self.key}.{name}"] for name in self.headlines)

    def theorem(self, name: str) -> Theorem:
        """The theorem with this id.

        Raises:
            InputError: no such theorem; the message lists those of the paper.
        """
        if name not in self.theorems:
            raise InputError(f"{name[:60]!r}: not a theorem; {instead(name, tuple(self.theorems))}")
        return self.theorems[name]


def paper_in_folder(package: str) -> Paper:
    """A paper in the folder of a package: its `paper.toml` has theorems and claims, the files of `PARTS` what is code, as far as
    there are such files.

    Raises:
        InputError: no `paper.toml`, one that cannot be read, or one that has another key.
    """
    key = package.rpartition(".")[2]
    file = Path(str(import_module(package).__file__)).with_name(FILE)
    written = paper_file(file, package)

    def load(part: str) -> Collection[Any]:
        if part in ("theorems", "claims"):
            return written.theorems if part == "theorems" else written.claims
        file, name = PARTS[part]
        module = f"{package}.{file}"
        return tuple(getattr(import_module(module), name, ())) if find_spec(module) else ()

    if written.key != key:
        raise InputError(f"{file}: wanted the key {key}, as the folder is named, got {written.key[:40]!r}")
    return Paper(key, written.title, load, written.headlines, written.runs, written)
