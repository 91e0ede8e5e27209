"""Statements that are known to be true, made from proved ones; none may be refuted.

python tests/validation/true_statements.py [--seconds 10] [--first 0] [--count 1000] searches each and prints what came of it;
exit status 1 where one is refuted.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import fedco
from fedco.algorithms.declared import declared
from fedco.bounds.language.change import Change, with_statement
from fedco.bounds.language.definition import define, keys_of
from fedco.bounds.language.metrics import MEAN, METRICS
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Term, Theorem
from fedco.bounds.proof.derivations import derived_ids
from fedco.bounds.registry import get_theorem
from fedco.validation.falsifier.attack import Falsified, falsify
from fedco.validation.falsifier.bundle import definition_of
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.instance_space import OF_A_MATRIX
from fedco.validation.runs.registry import recipes

METHODS = {
    "local_scgdm.theorem_3_4": "local_scgdm",
    "fcsg.theorem_4_1": "fcsg",
    "fcsg_m.theorem_4_4": "fcsg_m",
    "acc_fcsg_m.theorem_4_7": "acc_fcsg_m",
    "feddro.theorem_5_1": "feddro",
    "feddro.theorem_4_2": "modified_fedavg",
}
"""The method of a theorem of a paper, as a stranger names it under [method]."""


class Made(NamedTuple):
    """What was done to which statement; further conditions, and a change that makes it weaker."""

    name: str
    theorem: Theorem
    label: str
    where: tuple[str, ...] = ()
    change: Change | None = None


def variants(theorem: Theorem, label: str) -> Iterator[Made]:
    """Weaker terms, other orders, constants put in, and parts of the region."""
    statement = theorem.statement(label)
    terms, name = statement.terms, theorem.id

    def restated(what: str, **changes: Any) -> Made:
        return Made(f"{name}{what}", with_statement(theorem, replace(statement, **changes)), label)

    yield Made(f"{name} as it is", theorem, label)
    yield restated(" in reverse order", terms=terms[::-1])
    for term in terms:
        for factor in (2, 10):
            weaker = Change(term.name, "divided", Fraction(1, factor))
            yield Made(f"{name}, {term.name} times {factor}", theorem, label, change=weaker)
    yield restated(
        ", terms in halves", terms=tuple(Term(f"{t.name}_{half}", t.expr / 2) for t in terms for half in ("one", "two"))
    )
    if statement.derived and not theorem.follows_from:
        yield restated(
            ", constants put in",
            terms=tuple(replace(t, expr=statement.expand(t.expr)) for t in terms),
            conditions=tuple(c.each_side(statement.expand) for c in statement.conditions),
            schedule={name: statement.expand(formula) for name, formula in statement.schedule.items()},
            derived=(),
        )
    for condition in statement.conditions:
        if condition.relation != "==":
            stronger = Change(condition.name, "relaxed", Fraction(1, 2))
            yield Made(f"{name}, {condition.name} twice as strict", theorem, label, change=stronger)
    for symbol, binding in theorem.symbols(label).items():
        if binding.quantity.role == "hyperparameter" and binding.quantity.domain == "positive integer":
            yield Made(f"{name} where {symbol} >= 2", theorem, label, (f"{symbol} >= 2",))
        if binding.quantity.domain == "nonnegative real" and binding.quantity.role == "constant":
            yield Made(f"{name} where {symbol} == 0", theorem, label, (f"{symbol} == 0",))
        if binding.quantity.name == "participation":
            yield Made(f"{name} where {symbol} == 1/2", theorem, label, (f"{symbol} == 1/2",))


def rewritten(theorem: Theorem) -> Iterator[Made]:
    """A theorem as a stranger would write it: with its method, in other letters, in rounds, in other units, over later iterates."""
    keys = {**_with_method(theorem), "id": f"rewritten.{theorem.id.partition('.')[2]}"}
    names = list(keys["symbols"])

    def put(change: Callable[[str], str], **more: Any) -> Theorem:
        table = {
            part: {name: change(text) for name, text in keys[part].items()}
            for part in ("derived", "terms", "conditions")
        }
        schedule = {change(name): change(text) for name, text in keys["schedule"].items()}
        return define(**{**keys, **table, "schedule": schedule, **more})

    def replaced(name: str, text: str) -> Callable[[str], str]:
        return lambda formula: re.sub(rf"\b{name}\b", text, formula)

    letters = {name: f"c{i}" for i, name in enumerate(names)}
    backwards = dict(zip(names, names[::-1], strict=True))
    for how, table in (("in other letters", letters), ("with its letters exchanged", backwards)):

        def spelled(text: str, table: dict[str, str] = table) -> str:
            return re.sub(r"[A-Za-z_]\w*", lambda m: table.get(m[0], m[0]), text)

        method = {k: spelled(v) if isinstance(v, str) and k != "name" else v for k, v in keys["method"].items()}
        symbols = {table[name]: meaning for name, meaning in keys["symbols"].items()}
        probability = {part: spelled(text) for part, text in keys.get("probability", {}).items()}
        more = {"probability": probability} if probability else {}
        more |= {"weights": spelled(keys["weights"])} if "weights" in keys else {}
        yield Made(f"{theorem.id} {how}", put(spelled, symbols=symbols, method=method, **more), "printed")
    weaker = {**keys["terms"], "more": _symbol(keys, "objective_gap") or f"{_symbol(keys, 'initial_distance')}**2"}
    other_units = define(**{**keys, "terms": weaker, "units": ["step_size"]})
    yield Made(f"{theorem.id} where a unit is set to 1", other_units, "printed")
    length, period = _symbol(keys, "iterations"), _symbol(keys, "communication_period")
    if length and period:
        by_rounds = put(replaced(length, f"({period}*{length})"), symbols={**keys["symbols"], length: "rounds"})
        yield Made(f"{theorem.id} in rounds", by_rounds, "printed")
    asked = " ".join(text for part in ("derived", "conditions", "schedule") for text in keys[part].values())
    is_mean = theorem.metric.over == MEAN and keys["average"] == "before"
    if length and is_mean and not theorem.multiples and not re.search(rf"\b{length}\b", asked):
        longer = replaced(length, f"({length} + 1)")
        later = {name: f"({length} + 1)/{length}*({longer(text)})" for name, text in keys["terms"].items()}
        over_later = define(**{**keys, "terms": later, "average": "after"})
        yield Made(f"{theorem.id} over later iterates", over_later, "printed")


def _with_method(theorem: Theorem) -> dict[str, Any]:
    """The keys of a theorem; of a paper's with the method that its paper declares to run for it."""
    if theorem.method is not None:
        return keys_of(theorem, "printed")
    metric = METRICS["mean_gradient_sq"]
    keys = keys_of(replace(theorem, metric=metric, average=recipes()[theorem.id].average), theorem.default)
    keys["units"] = []
    taken = [each.name for each in declared()[METHODS[theorem.id]].hyperparameters]
    return {
        **keys,
        "method": {"name": METHODS[theorem.id], **{name: name for name in taken if name in keys["symbols"]}},
    }


def _symbol(keys: dict[str, Any], quantity: str) -> str:
    """The symbol that stands for a quantity; empty where there is none."""
    return next((name for name, meaning in keys["symbols"].items() if meaning == quantity), "")


NO_FORMULAS = ("library.sampled_sgd", "library.fedavg_sampled")
"""A constant of its statement is made by code, of which a stranger's file has none."""


@cache
def all_made() -> tuple[Made, ...]:
    """Every statement of a theorem that can be searched, those of different theorems in turn."""
    rows: list[list[Made]] = []
    for name in derived_ids():
        theorem = get_theorem(name)
        try:
            target_of(theorem, theorem.default)
        except (
            InputError
        ):  # a metric that the exact check does not evaluate, or a lemma that is not measured along a run
            continue
        if any(b.quantity.name in OF_A_MATRIX for b in theorem.symbols(theorem.default).values()):
            continue  # a search chooses no matrix of the clients
        if theorem.statement(theorem.default).terms:
            rows.append(list(variants(theorem, theorem.default)))
        if (theorem.method is not None or theorem.id in METHODS) and theorem.id not in NO_FORMULAS:
            rows.append(list(rewritten(theorem)))
    return tuple(m for turn in itertools.zip_longest(*rows) for m in turn if m is not None)


def is_written(made: Made) -> bool:
    """Whether it can be kept in a bundle: what cannot is not searched."""
    try:
        definition_of(target_of(made.theorem, made.label))
    except InputError:
        return False
    return True


def searched(made: Made, seconds: float, clock: Callable[[], float] | None = None, seed: int = 0) -> Falsified:
    timed = {} if clock is None else {"clock": clock}
    return falsify(made.theorem, made.label, seconds=seconds, seed=seed, where=made.where, change=made.change, **timed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    given = parser.parse_args()
    outcomes: Counter[str] = Counter()
    for made in filter(is_written, all_made()[given.first : given.first + given.count]):
        found = searched(made, given.seconds)
        outcomes[found.outcome] += 1
        print(f"{found.outcome:15} {found.ratio:9.6f} {found.evaluations:8} {made.name}", flush=True)
        if found.outcome != "SURVIVED":
            print("   ", *found.why, flush=True)
    print(dict(outcomes), f"fedco {fedco.__version__}")
    return int(bool(outcomes["REFUTED"]))


if __name__ == "__main__":
    raise SystemExit(main())
