"""Finding a symbol by what it means, and writing down what a statement needs to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from .language.meaning import SAME, TYPO, score, words_of
from .language.notation import Binding
from .language.quantities import QUANTITIES
from .language.quantity import Quantity
from .language.reading import InputError
from .language.theorem import Statement
from .registry import all_papers
from .settings import UNKNOWN, derivable


@dataclass(frozen=True)
class Row:
    """A quantity, and the letters that papers have for it, each with how the paper uses the letter where that needs saying."""

    quantity: Quantity
    letters: Mapping[str, tuple[str, str]]

    def to_dict(self) -> dict[str, Any]:
        return {
            "quantity": self.quantity.name,
            "meaning": self.quantity.meaning,
            "role": self.quantity.role,
            "dimension": str(self.quantity.dimension),
            "domain": self.quantity.domain,
            "symbols": {paper: symbol for paper, (symbol, _) in self.letters.items()},
            "notes": {paper: note for paper, (_, note) in self.letters.items() if note},
        }

    def __str__(self) -> str:
        head = f"{self.quantity.name}: {self.quantity.meaning}  [{self.quantity.dimension}], {self.quantity.domain}"
        papers = [
            f"{paper} {symbol}" + (f" ({note})" if note else "") for paper, (symbol, note) in self.letters.items()
        ]
        return "\n".join([head, f"  {'; '.join(papers)}"] if papers else [head])


def rows() -> tuple[Row, ...]:
    """Every quantity that a problem or a user sets, with the letters of all papers."""
    found: dict[str, tuple[Quantity, dict[str, tuple[str, str]]]] = {n: (q, {}) for n, q in QUANTITIES.items()}
    for paper in all_papers():
        for binding in {b.name: b for theorem in paper.theorems.values() for b in theorem.notation}.values():
            _, letters = found.setdefault(binding.quantity.name, (binding.quantity, {}))
            letters[paper.key] = (binding.name, binding.note)
    return tuple(Row(q, letters) for q, letters in found.values() if q.role != "observable")


def search(words: Sequence[str]) -> list[Row]:
    """The quantities that the words are about, best first: all words in the name, the meaning, a letter or a note.

    Raises:
        InputError: nothing is, with the nearest word there is.
    """
    wanted = [part for word in words for part in ([word] if word.isidentifier() and "_" in word else words_of(word))]
    every = rows()
    if not wanted:
        return list(every)
    scored = [(sum(_score(word, row) for word in wanted), row) for row in every]
    found = [(points, row) for points, row in scored if all(_score(word, row) for word in wanted)]
    if not found:
        known = {word for row in every for word in words_of(f"{row.quantity.name} {row.quantity.meaning}")}
        known |= {word for group in SAME for word in group}
        strange = next((word for word in wanted if not any(_score(word, row) for row in every)), wanted[0])
        meant = get_close_matches(strange.lower(), sorted(known), n=1, cutoff=TYPO)
        instead = f"the nearest word is {meant[0]}" if meant and meant[0] != strange else "try fewer or other words"
        raise InputError(
            f"{' '.join(words)[:60]!r}: no quantity is about this; {instead}; a theorem's file declares its own under [quantities]"
        )
    return [row for _, row in sorted(found, key=lambda pair: -pair[0])]


def _score(word: str, row: Row) -> int:
    """4 for the name itself or a paper's letter, 3 for a word of the name or the meaning, 2 for one that begins so, 1 for a word that
    people have for the same thing."""
    if word == row.quantity.name or word in {symbol for symbol, _ in row.letters.values()}:
        return 4
    notes = " ".join(note for _, note in row.letters.values())
    return score(word, words_of(f"{row.quantity.name} {row.quantity.meaning} {notes}"))


def template(statements: Iterable[Statement], *, shared: bool = False) -> str:
    """A TOML file with everything that the statements need, each with its meaning, dimension and range, still to be filled in.

    Args:
        shared: name each by its quantity, so that the file serves every paper; by its letter otherwise.
    """
    chosen = list(statements)
    lines = [f"# Constants of {', '.join(s.name for s in chosen)}.", '# Replace each "?" by a number: 2, "0.1", "1/3".']
    lines += ["# [f], [y] and [x] are the units of the objective, of the inner value and of the variable."]
    entries: dict[str, Binding] = {}
    for statement in chosen:
        for binding in statement.symbols.values():
            name = binding.quantity.name if shared else binding.name
            if entries.setdefault(name, binding).quantity != binding.quantity:
                raise InputError(f"{name}: means different things in these statements; --shared names quantities")
    constants = {n: b for n, b in entries.items() if b.quantity.role == "constant"}
    chosen_by_user = {n: b for n, b in entries.items() if b.quantity.role == "hyperparameter"}
    for name, binding in constants.items():
        lines += ["", *_entry(name, binding, shared), f'{name} = "{UNKNOWN}"']
    derived = {name: meaning for statement in chosen for name, meaning in derivable(statement).items()}
    if derived:
        lines += ["", "# Where only these are needed, they may be given instead of what they are made from:"]
        lines += [
            f'# {name} = "{UNKNOWN}"' + (f"  # {meaning}" if meaning else "") for name, meaning in derived.items()
        ]
    if chosen_by_user:
        lines += ["", "# Hyperparameters: `fedco tune` chooses those that have no value."]
    for name, binding in chosen_by_user.items():
        lines += ["", *_entry(name, binding, shared), f'# {name} = "{UNKNOWN}"']
    return "\n".join(lines) + "\n"


def _entry(name: str, binding: Binding, shared: bool) -> list[str]:
    quantity = binding.quantity
    other = f"{binding.name} in the paper" if shared else f"quantity {quantity.name}"
    meaning = quantity.meaning if shared else binding.meaning
    dimension = str(quantity.dimension)
    return [f"# {meaning}", f"# {quantity.domain}; dimension {dimension}; {other}"]
