"""The symbols of a paper, each bound to a quantity of the vocabulary: the only module that creates a sympy Symbol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import sympy as sp

from ...notebook import ShownAsTable
from .clients import SUFFIX, ClientSymbol
from .quantities import DOMAINS, NONNEGATIVE, Quantity, quantity, refuse_contradictions


@dataclass(frozen=True)
class Binding:
    """A paper's symbol: its ASCII name (= keyword, CLI name, JSON key), its LaTeX and the quantity it stands for.

    `note` says how this paper uses the letter, where that is not what a reader expects.
    """

    name: str
    latex: str
    quantity: Quantity
    symbol: sp.Symbol
    note: str = ""

    @property
    def per_client(self) -> bool:
        """Whether it has one number for each client."""
        return isinstance(self.symbol, ClientSymbol)

    @property
    def meaning(self) -> str:
        """What the symbol is: the meaning of its quantity, whether each client has one, and how this paper uses the letter."""
        each = ("one for each client",) if self.per_client else ()
        return "; ".join(filter(None, (self.quantity.meaning, *each, self.note)))


class Symbols(ShownAsTable, dict[str, Binding]):
    """The symbols of a statement by name, as keys and as attributes: `symbols.eta` is `symbols["eta"]`; both complete."""

    @property
    def title(self) -> str:
        roles: dict[str, list[str]] = {}
        for name, binding in self.items():
            roles.setdefault(binding.quantity.role, []).append(name)
        return "; ".join(f"{role}s {' '.join(names)}" for role, names in roles.items())

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        heads = ("symbol", "quantity", "meaning", "unit", "domain")
        found = [(n, b.quantity.name, b.meaning, b.quantity.unit, b.quantity.domain) for n, b in self.items()]
        return heads, found

    def __getattr__(self, name: str) -> Binding:
        if name not in self:
            raise AttributeError(f"{name[:40]}: not a symbol of this statement; wanted one of {' '.join(self)}")
        return self[name]

    def __dir__(self) -> list[str]:
        return list(self)


@dataclass(frozen=True)
class Notation:
    """The symbols of one paper, in the paper's own letters.

    Args:
        paper: the key of the paper.
        entries: (name, LaTeX, name of the quantity) for each symbol, and how the paper uses the letter where that is
            not what a reader expects.
        extra: quantities that only this paper has.
        own: quantities that only one theorem has: another may have the same name for something else.

    Raises:
        ValueError: a symbol is declared twice, a quantity is unknown, or an extra one contradicts another declaration of its name.

    Example:
        >>> notation = Notation("demo", (("L_f", "L_f", "outer_smoothness"),))
        >>> notation["L_f"].quantity.name
        'outer_smoothness'
    """

    paper: str
    entries: tuple[tuple[str, str, str] | tuple[str, str, str, str], ...]
    extra: tuple[Quantity, ...] = ()
    own: tuple[Quantity, ...] = ()
    bindings: Mapping[str, Binding] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = [entry[0] for entry in self.entries]
        if len(set(names)) != len(names):
            raise ValueError(f"notation {self.paper}: a symbol is declared twice in {names}")
        refuse_contradictions(*self.extra)
        refuse_contradictions(*self.own, shared_only=True)
        known = {each.name: each for each in (*self.extra, *self.own)}
        bound = {
            name: _bind(name, latex, known.get(of) or quantity(of), *note) for name, latex, of, *note in self.entries
        }
        object.__setattr__(self, "bindings", bound)

    def __getitem__(self, name: str) -> Binding:
        return self.bindings[name]

    def __iter__(self) -> Iterator[Binding]:
        return iter(self.bindings.values())

    @property
    def symbols(self) -> dict[str, sp.Symbol]:
        """The sympy symbols by name."""
        return {name: binding.symbol for name, binding in self.bindings.items()}

    def words_only(self, therefore: str) -> str:
        """That constants of one theorem's own have no formal bound, and what cannot be done therefore; empty where all have one."""
        found = [b for b in self if b.quantity in self.own and b.quantity.role == "constant" and not b.quantity.bounds]
        listed = ", ".join(f"{b.name} ({b.quantity.name})" for b in found)
        return f"{listed} is words only, without `bounds` under [quantities]: {therefore}" if found else ""

    def namespace(self) -> SimpleNamespace:
        """The sympy symbols as attributes, so that a declaration reads like the paper."""
        return SimpleNamespace(**self.symbols)


def _bind(name: str, latex: str, of: Quantity, note: str = "") -> Binding:
    return Binding(name, latex, of, _symbol(name, of.domain), note)


def _symbol(name: str, domain: str) -> sp.Symbol:
    numbers = DOMAINS[domain]
    whole = {"integer": True} if numbers.whole else {}
    made = ClientSymbol if name.endswith(SUFFIX) else sp.Symbol
    return made(name, **{"nonnegative" if numbers.zero else "positive": True}, **whole)


def derived_symbol(name: str) -> sp.Symbol:
    """The symbol of a derived constant such as L_Phi (nonnegative, since noise may vanish)."""
    return _symbol(name, NONNEGATIVE)


STEP = sp.Symbol("t", integer=True, nonnegative=True)
"""The step t = 0, 1, ... in the hyperparameters of a method; never part of a statement."""


def slack_symbol(name: str) -> sp.Symbol:
    """A nonnegative auxiliary variable of an exact certificate; never part of a statement."""
    return _symbol(f"slack_{name}", NONNEGATIVE)


def letters_of(names: Iterable[str]) -> dict[str, str]:
    """The LaTeX of several names, each of which has its own: of L_1 and L1 the second is set as it is written."""
    found: dict[str, str] = {}
    for name in names:
        letter = latex_of(name)
        found[name] = rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}" if letter in found.values() else letter
    return found


def latex_of(name: str) -> str:
    """The LaTeX of a name of which nothing else is known: subscripts and Greek letters."""
    return sp.latex(sp.Symbol(name))
