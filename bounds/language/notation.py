"""The symbols of a paper, each bound to a quantity of the vocabulary: the only module that creates a sympy Symbol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import sympy as sp

from .quantities import COUNT, NONNEGATIVE, POSITIVE, STEPS, Quantity, quantity, refuse_contradictions

_ASSUMPTIONS: Mapping[str, Mapping[str, bool]] = {
    POSITIVE: {"positive": True},
    NONNEGATIVE: {"nonnegative": True},
    COUNT: {"positive": True, "integer": True},
    STEPS: {"nonnegative": True, "integer": True},
}


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
    def meaning(self) -> str:
        """What the symbol is: the meaning of its quantity, and how this paper uses the letter."""
        return f"{self.quantity.meaning}; {self.note}" if self.note else self.quantity.meaning


@dataclass(frozen=True)
class Notation:
    """The symbols of one paper, in the paper's own letters.

    Args:
        paper: the key of the paper.
        entries: (name, LaTeX, name of the quantity) for each symbol, and how the paper uses the letter where that is
            not what a reader expects.
        extra: quantities that only this paper has.

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
    bindings: Mapping[str, Binding] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = [entry[0] for entry in self.entries]
        if len(set(names)) != len(names):
            raise ValueError(f"notation {self.paper}: a symbol is declared twice in {names}")
        refuse_contradictions(*self.extra)
        own = {each.name: each for each in self.extra}
        bound = {
            name: _bind(name, latex, own.get(of) or quantity(of), *note) for name, latex, of, *note in self.entries
        }
        object.__setattr__(self, "bindings", bound)

    def __getitem__(self, name: str) -> Binding:
        return self.bindings[name]

    def __iter__(self) -> Iterator[Binding]:
        return iter(self.bindings.values())

    def namespace(self) -> SimpleNamespace:
        """The sympy symbols as attributes, so that a declaration reads like the paper."""
        return SimpleNamespace(**{name: binding.symbol for name, binding in self.bindings.items()})


def _bind(name: str, latex: str, of: Quantity, note: str = "") -> Binding:
    return Binding(name, latex, of, sp.Symbol(name, **_ASSUMPTIONS[of.domain]), note)


def derived_symbol(name: str) -> sp.Symbol:
    """The symbol of a derived constant such as L_Phi (nonnegative, since noise may vanish)."""
    return sp.Symbol(name, **_ASSUMPTIONS[NONNEGATIVE])


def slack_symbol(name: str) -> sp.Symbol:
    """A nonnegative auxiliary variable of an exact certificate; never part of a statement."""
    return sp.Symbol(f"slack_{name}", **_ASSUMPTIONS[NONNEGATIVE])


def latex_of(name: str) -> str:
    """The LaTeX of a name of which nothing else is known: subscripts and Greek letters."""
    return sp.latex(sp.Symbol(name))
