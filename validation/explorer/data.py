"""What the page knows of a theorem besides its formulas: words, units, ranges, status, presets; plain data for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...bounds.audit.necessary import needed
from ...bounds.audit.refutation import GRADES, Refutation
from ...bounds.audit.refuted import refutations
from ...bounds.audit.status import Status, status
from ...bounds.evaluation.strategies import admissible_hyperparameters
from ...bounds.evaluation.without_running import CAP_BY, START_BY, limits
from ...bounds.language.client_lists import about_alike, clients_of
from ...bounds.language.notation import Binding
from ...bounds.language.quantities import COUNT, NONNEGATIVE, STEPS
from ...bounds.language.reading import InputError
from ...bounds.language.rendering import statement_latex
from ...bounds.language.theorem import Statement, Theorem
from ...lossless import encode
from ..runs.fit import fitting_problems
from ..runs.recipe import Instance
from ..runs.registry import recipe_for
from ..runs.values import GIVEN_BY_THE_PROBLEM, HORIZONS, constants, known_without_running

Values = dict[str, str]

REALS, SMALL, COUNTS, HORIZON = (1e-4, 1e4), (1e-8, 1e2), (1, 1e6), (1, 1e12)
"""Ranges of the sliders: constants, real hyperparameters, counts, horizons. Any other value may be typed."""
LEAST_DISTANCE = 1e-3
"""Distance of a slider's end from the end of an open domain, relative to that end."""
NOISE = "1/10"
"""A constant that nothing certifies and that may be 0."""
SEED = 0
_SHORT = 9
"""Most digits of a number that is shown as a fraction."""


def theorem_data(theorem: Theorem, reference: str, measured: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A theorem for the page.

    Args:
        reference: what the command line calls it: its id, or the file that it came from.
        measured: rows of the results of validations.
    """
    presets = presets_of(theorem, measured)
    horizon = next((b.name for q in HORIZONS for b in _symbols(theorem).values() if b.quantity.name == q), "")
    return {
        "id": theorem.id,
        "reference": reference,
        "kind": theorem.kind,
        "title": theorem.title,
        "source": str(theorem.source),
        "problem": theorem.problem,
        "assumptions": [{"name": item.name, "text": item.text} for item in theorem.assumptions],
        "metric": {
            "name": theorem.metric.name,
            "unit": str(theorem.metric.dimension),
            "meaning": theorem.metric.meaning,
            **({"own": True} if theorem.metric.own is not None else {}),
        },
        "horizon": horizon,
        "default": theorem.default,
        "symbols": [symbol_data(b, theorem.alike.get(b.name)) for b in _symbols(theorem).values()],
        "clients": clients_of(theorem),
        "weights": [name for names in theorem.alike if "/" in names for name in theorem.alike[names].split(", ")],
        "values": _starting_values(theorem, presets),
        "presets": presets,
        "statements": [statement_data(theorem.statement(label)) for label in theorem.labels],
    }


def _symbols(theorem: Theorem) -> dict[str, Binding]:
    """The symbols of all its statements, in the order of the notation."""
    used = {name for label in theorem.labels for name in theorem.symbols(label)}
    return {binding.name: binding for binding in theorem.notation if binding.name in used}


def _axes(statement: Statement) -> list[str]:
    """The two hyperparameters that stand together in most conditions, real ones first."""
    conditions = [statement.symbols_of(c.left) | statement.symbols_of(c.right) for c in statement.requirements]
    hyper = [
        b for b in statement.symbols.values() if b.quantity.role == "hyperparameter" and b.quantity.domain != STEPS
    ]
    hyper.sort(key=lambda b: b.quantity.domain == COUNT)
    pairs = [(a, b) for at, a in enumerate(hyper) for b in hyper[at + 1 :]]
    if not pairs:
        return []
    chosen = max(pairs, key=lambda pair: sum({pair[0].symbol, pair[1].symbol} <= used for used in conditions))
    return [binding.name for binding in chosen]


def symbol_data(binding: Binding, written: str | None = None) -> dict[str, Any]:
    """
    Args:
        written: what it is called where each client has numbers of its own, if not the same; empty where it has no name there.
    """
    quantity = binding.quantity
    low, high = _range(binding)
    return {
        "name": binding.name,
        "written": binding.name if written is None else written,
        "quantity": quantity.name,
        "meaning": quantity.meaning,
        "unit": quantity.unit,
        "domain": quantity.domain,
        "a_number": quantity.numbers.a_number,
        "whole": quantity.numbers.whole,
        "zero": quantity.numbers.zero,
        "steps": quantity.domain == STEPS,
        "most": quantity.numbers.most,
        "open": quantity.numbers.open,
        "role": quantity.role,
        "low": low,
        "high": high,
        "stand_ins": list(quantity.stand_ins),
        "tuned": quantity.role == "hyperparameter" and not quantity.numbers.whole and quantity.default is None,
        "fallback": _fallback(binding),
    }


def _range(binding: Binding) -> tuple[float, float]:
    quantity = binding.quantity
    numbers = quantity.numbers
    if quantity.domain == STEPS:
        return 0, 20
    if numbers.whole:
        return HORIZON if quantity.name in HORIZONS else COUNTS
    if numbers.most is not None:
        return SMALL[0], numbers.most * (1 - LEAST_DISTANCE if numbers.open else 1)
    return SMALL if quantity.role == "hyperparameter" else REALS


def _fallback(binding: Binding) -> str:
    """A value where nothing says one."""
    quantity = binding.quantity
    known = quantity.default if quantity.default is not None else quantity.absent
    if known is not None:
        return _text(known)
    return NOISE if quantity.domain == NONNEGATIVE else _text(quantity.numbers.plain)


def statement_data(statement: Statement) -> dict[str, Any]:
    known = status(statement.theorem, statement.label)
    return {
        "label": statement.label,
        "note": "; ".join(filter(None, (statement.note, about_alike(statement.theorem)))),
        "status": known.outcome,
        "word": known.word,
        "why": known.reason,
        "checks": _checks(statement, known),
        "symbols": list(statement.symbols),
        "order": _order(statement),
        "axes": _axes(statement),
        "fixed": [name for name in statement.schedule if _is_tied(statement, name)],
        "terms": [
            {"name": term.name, "role": term.role, "needed": _needed(statement, term.name)} for term in statement.terms
        ],
        "conditions": [
            {
                "name": c.name,
                "relation": c.relation,
                "note": c.note,
                "divides": c in statement.multiples,
                "needed": _needed(statement, c.name),
            }
            for c in statement.requirements
        ],
        "derived": [{"name": constant.name, "meaning": constant.meaning} for constant in statement.derived],
        "limits": [
            {
                "by": limit.by,
                "formula": str(limit),
                "factor": limit.factor,
                "powers": [list(pair) for pair in limit.powers],
            }
            for limit in limits(statement)
            if {name for name, _ in limit.powers} <= statement.symbols.keys()
        ],
        "latex": statement_latex(statement),
    }


def _needed(statement: Statement, part: str) -> str:
    """What an exact instance shows of a term or condition, with the command that checks it, or why none does; else empty."""
    known = needed(statement).get(part)
    if known is None or not (known.bundle or known.why):
        return ""
    return f"{known} (fedco replay {known.bundle})" if known.bundle else str(known)


def _checks(statement: Statement, known: Status) -> list[dict[str, Any]]:
    """How a reader checks the status again, and what each refutation is worth."""
    if known.bundles:
        return [_instance(refutations()[name]) for name in known.bundles]
    return [{"command": f"fedco prove {statement.theorem.id}", "about": ""}] if known.outcome == "proved" else []


def _instance(item: Refutation) -> dict[str, Any]:
    other = "".join(f" With {reading}: {verdict}." for reading, verdict in item.alternatives.items())
    about = f"{item.word}: {GRADES[item.grade]}. {item.summary}{other}"
    return {"command": f"fedco replay docs/refutations/{item.name}.json", "about": about}


def _is_tied(statement: Statement, name: str) -> bool:
    """Whether an equality among the conditions determines a scheduled hyperparameter."""
    symbol = statement.symbols[name].symbol
    return any(
        c.relation == "==" and symbol in (c.left.free_symbols | c.right.free_symbols) for c in statement.conditions
    )


def _order(statement: Statement) -> list[str]:
    """The scheduled hyperparameters, each after those that its formula needs.

    Raises:
        InputError: two need each other.
    """
    needs = {
        name: {str(symbol) for symbol in statement.symbols_of(expr)} & set(statement.schedule)
        for name, expr in statement.schedule.items()
    }
    ordered: list[str] = []
    while len(ordered) < len(needs):
        ready = [name for name in needs if name not in ordered and needs[name] <= set(ordered)]
        if not ready:
            raise InputError(
                f"{statement.name}: the schedules of {', '.join(set(needs) - set(ordered))} need each other"
            )
        ordered += ready
    return ordered


# --- values to start from --------------------------------------------------------------------------------------------


def presets_of(theorem: Theorem, measured: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Certified problems with their constants: the instances on which the theorem is validated, else every problem that fits."""
    try:
        instances: Sequence[Instance] = recipe_for(theorem).instances
    except InputError:
        instances = ()
    if not instances and theorem.problem:
        instances = [Instance(name, {}, "a problem that fits") for name in fitting_problems(theorem, theorem.default)]
    return [_preset(theorem, instance, measured) for instance in instances]


def _preset(theorem: Theorem, instance: Instance, measured: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    problem = instance.made()
    values: Values = {}
    estimated: set[str] = set()
    for label in theorem.labels:
        try:
            certified, _ = constants(theorem, label, problem)
        except InputError:  # another statement may need a constant that the problem does not certify
            continue
        values |= {name: _text(value) for name, value in certified.items()}
        estimated |= {name for name in certified if _is_estimated(problem, theorem.notation[name])}
    symbols = _symbols(theorem)
    for name, binding in symbols.items():
        given = getattr(problem, GIVEN_BY_THE_PROBLEM.get(binding.quantity.name, ""), None)
        if given is not None:
            values[name] = _text(Fraction(given))
        elif binding.quantity.name in HORIZONS and instance.horizons:
            values[name] = str(instance.horizons[0])
    values |= {name: _text(Fraction(value)) for name, value in instance.hyperparameters.items() if name in symbols}
    return {
        "name": instance.name,
        "why": f"{instance.why} ({instance.case})",
        "values": values,
        "of_problem": [name for name, binding in symbols.items() if name in values and _is_of_problem(binding)],
        "estimated": sorted(estimated),
        "limits": _limits(theorem, problem),
        "measured": _points(theorem, instance, measured),
    }


def _is_of_problem(binding: Binding) -> bool:
    return binding.quantity.role == "constant" or binding.quantity.name in GIVEN_BY_THE_PROBLEM


def _is_estimated(problem: Any, binding: Binding) -> bool:
    certificate = problem.certificates.get(binding.quantity.name)
    return certificate is not None and certificate.kind == "estimated"


def _limits(theorem: Theorem, problem: Any) -> list[dict[str, Any]]:
    """What holds of the metric without running on this problem: its gradient at the start, and its certified cap."""
    if not theorem.metric.is_squared_gradient:
        return []
    known = known_without_running(problem).quantities
    named = {"initial_gradient_norm": START_BY, "gradient_cap": CAP_BY}
    squares = {by: float(known[name]) ** 2 for name, by in named.items() if name in known}
    return [{"by": by, "formula": "", "factor": value, "powers": []} for by, value in squares.items()]


def _points(theorem: Theorem, instance: Instance, measured: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What a validation measured on the instance: horizon, mean, and the 95% bracket where there is one."""
    wanted = {"parameters": encode(instance.parameters), "hyperparameters": encode(instance.hyperparameters)}
    return [
        {"at": row["T"], "mean": row["verdict"]["empirical"], "bracket": row["verdict"]["bracket"]}
        for row in measured
        if (row["theorem"], row["problem"], row["instance"]) == (theorem.id, instance.problem_name, wanted)
    ]


def _starting_values(theorem: Theorem, presets: Sequence[Mapping[str, Any]]) -> Values:
    """A value for every symbol that a user sets: the first preset, or constants 1 with admissible hyperparameters."""
    symbols = _symbols(theorem)
    plain = {name: _fallback(binding) for name, binding in symbols.items()}
    if presets:
        return plain | presets[0]["values"]
    statement = theorem.statement()
    hyper = [
        n for n, b in statement.symbols.items() if b.quantity.role == "hyperparameter" and n not in statement.schedule
    ]
    known = {name: Fraction(plain[name]) for name in statement.symbols if name not in {*hyper, *statement.schedule}}
    found = admissible_hyperparameters(statement, known, tuple(hyper), SEED) if statement.conditions else None
    return plain | {name: _text(value) for name, value in (found or {}).items()}


def _text(value: Fraction) -> str:
    """A number as one types it: whole, a short fraction, else the shortest decimal of its double."""
    short = str(value)
    return short if value.denominator == 1 or len(short) <= _SHORT else repr(float(value))
