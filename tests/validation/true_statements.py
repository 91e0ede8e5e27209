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

import fedco
from fedco.bounds.language.definition import define, keys_of
from fedco.bounds.language.theorem import Statement, Term, Theorem
from fedco.bounds.proof.derivations import derived_ids
from fedco.bounds.registry import get_theorem
from fedco.validation.falsifier.attack import Falsified, falsify

Made = tuple[str, Theorem, str, tuple[str, ...]]
"""What was done to which statement, the theorem, the label, and further conditions."""


def with_statement(theorem: Theorem, statement: Statement, **changes: object) -> Theorem:
    made = replace(statement, **changes)
    return replace(theorem, statements={statement.label: made, "printed": replace(made, label="printed")})


def with_terms(theorem: Theorem, statement: Statement, terms: tuple[Term, ...]) -> Theorem:
    return with_statement(theorem, statement, terms=terms)


def variants(theorem: Theorem, label: str) -> Iterator[Made]:
    """Weaker terms, other orders, constants put in, and parts of the region."""
    statement = theorem.statement(label)
    terms, name = statement.terms, theorem.id
    yield f"{name} as it is", theorem, label, ()
    yield f"{name} in reverse order", with_terms(theorem, statement, terms[::-1]), label, ()
    for i, term in enumerate(terms):
        for factor in (2, 10):
            weaker = (*terms[:i], replace(term, expr=factor * term.expr), *terms[i + 1 :])
            yield f"{name}, {term.name} times {factor}", with_terms(theorem, statement, weaker), label, ()
    halves = tuple(Term(f"{t.name}_{half}", t.expr / 2) for t in terms for half in ("one", "two"))
    yield f"{name}, terms in halves", with_terms(theorem, statement, halves), label, ()
    plain = tuple(replace(t, expr=statement.expand(t.expr)) for t in terms)
    conditions = tuple(c.each_side(statement.expand) for c in statement.conditions)
    if statement.derived and not theorem.follows_from:
        schedule = {name: statement.expand(formula) for name, formula in statement.schedule.items()}
        changes = {"terms": plain, "conditions": conditions, "schedule": schedule, "derived": ()}
        put_in = with_statement(theorem, statement, **changes)
        yield f"{name}, constants put in", put_in, label, ()
    for symbol, binding in theorem.symbols(label).items():
        if binding.quantity.role == "hyperparameter" and binding.quantity.domain == "positive integer":
            yield f"{name} where {symbol} >= 2", theorem, label, (f"{symbol} >= 2",)
        if binding.quantity.domain == "nonnegative real" and binding.quantity.role == "constant":
            yield f"{name} where {symbol} == 0", theorem, label, (f"{symbol} == 0",)


def rewritten(theorem: Theorem) -> Iterator[Made]:
    """A theorem of plain federated SGD as a stranger would write it: other letters, rounds, the average over later iterates."""
    keys = keys_of(theorem, "printed")
    letters = {name: f"c{i}" for i, name in enumerate(keys["symbols"])}

    def put(change: Callable[[str], str], **more: object) -> Theorem:
        table = {n: {k: change(v) if isinstance(v, str) and n != "symbols" else v for k, v in keys[n].items()}
                 for n in ("derived", "terms", "conditions")}  # fmt: skip
        return define(**{**keys, **table, **more})

    def spelled(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda m: letters.get(m[0], m[0]), text)

    method = {k: spelled(v) if isinstance(v, str) and k != "name" else v for k, v in keys["method"].items()}
    symbols = {letters[name]: meaning for name, meaning in keys["symbols"].items()}
    yield f"{theorem.id} in other letters", put(spelled, symbols=symbols, method=method), "printed", ()
    period = next((n for n, q in keys["symbols"].items() if q == "communication_period"), None)
    if period is not None and "T" in keys["symbols"]:
        by_rounds = {**keys["symbols"], "T": "rounds"}
        text = put(lambda s: s.replace("T", f"({period}*T)"), symbols=by_rounds)
        yield f"{theorem.id} in rounds", text, "printed", ()
    later = {name: f"(T + 1)/T*({text.replace('T', '(T + 1)')})" for name, text in keys["terms"].items()}
    yield f"{theorem.id} over later iterates", define(**{**keys, "terms": later, "average": "after"}), "printed", ()


def all_made() -> list[Made]:
    """Every statement, those of different theorems in turn."""
    rows: list[list[Made]] = []
    for name in derived_ids():
        theorem = get_theorem(name)
        if theorem.statement(theorem.default).terms:
            rows.append(list(variants(theorem, theorem.default)))
        if theorem.method is not None and theorem.problem == "federated":
            rows.append(list(rewritten(theorem)))
    return [made for turn in itertools.zip_longest(*rows) for made in turn if made is not None]


def searched(made: Made, seconds: float, clock: Callable[[], float] | None = None, seed: int = 0) -> Falsified:
    _, theorem, label, where = made
    timed = {} if clock is None else {"clock": clock}
    return falsify(theorem, label, seconds=seconds, seed=seed, where=where, **timed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    given = parser.parse_args()
    outcomes: Counter[str] = Counter()
    for made in all_made()[given.first : given.first + given.count]:
        found = searched(made, given.seconds)
        outcomes[found.outcome] += 1
        print(f"{found.outcome:15} {found.ratio:9.6f} {found.evaluations:8} {made[0]}", flush=True)
        if found.outcome != "SURVIVED":
            print("   ", *found.why, flush=True)
    print(dict(outcomes), f"fedco {fedco.__version__}")
    return int(bool(outcomes["REFUTED"]))


if __name__ == "__main__":
    raise SystemExit(main())
