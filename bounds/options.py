"""What the verbs of a theorem can be told, once: read by their docstrings in Python and by the options of their commands."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple


class Option(NamedTuple):
    """One thing that a verb can be told.

    Args:
        meaning: a sentence or two, for `--help` and for docstrings.
        metavar: how a command writes its value.
        flag: how a command spells it, where it is not `--` with the name.
        least: the smallest value.
    """

    meaning: str
    metavar: str | None = None
    flag: str = ""
    least: float | None = None


VERBS = {
    "statement": Option(
        "printed (as the paper has it), composed (from its printed lemmas) or corrected; corrected where there is one, else printed.",
        "LABEL",
    ),
    "values": Option(
        "A constant by its letter or its quantity; decimals or fractions such as 1/3, read exactly.", "NAME=VALUE", "--set"
    ),
    "constants": Option(
        "TOML file with constants, which may serve every statement; --set overrides it. `fedco constants` writes one.",
        "FILE.toml",
    ),
    "assume": Option(
        "Rule that fills in constants that are not given; the answer lists them. One of zero_noise, equal_clients, exact_start, "
        "no_extra_term, bounded_domain, stand_ins or unit_constants.",
        "RULE",
    ),
    "solve": Option("Hyperparameters to solve for, e.g. eta or I,T.", "NAME[,NAME]"),
    "budget": Option("Largest amount of a resource (T, rounds, samples, …) or of the weighted cost.", "NAME=AMOUNT"),
    "eps": Option("Target for the bound; minimises the cost."),
    "cost": Option("The resource that is minimised, e.g. rounds.", "NAME"),
    "ranges": Option("Range in which a hyperparameter is chosen; either end may be left out.", "NAME=LOW:HIGH", "--range"),
    "rules_only": Option("Check the rules only and try no instances; the proof is then not called checked."),
}  # fmt: skip


def documented(verb: Callable[..., Any]) -> str:
    """The docstring of a verb, with a line for each parameter that the table has."""
    known = [(name, VERBS[name].meaning) for name in signature(verb).parameters if name in VERBS]
    return "\n".join([verb.__doc__ or "", "", "Args:", *(f"    {name}: {meaning}" for name, meaning in known)])
