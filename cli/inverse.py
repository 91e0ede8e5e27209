"""The inverse questions: fedco tune | complexity | compare"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..bounds.language.reading import InputError, split_assignment
from .common import (
    Assume,
    Constants,
    Json,
    Latex,
    Markdown,
    Sets,
    StatementOption,
    Trust,
    chosen_statement,
    emit,
    emit_about,
    emit_sheets,
    note,
    noted,
    read_sets,
    settled,
)
from .theory import TheoremId

if TYPE_CHECKING:
    from ..bounds.language.theorem import Theorem

Budgets = Annotated[
    list[str] | None,
    typer.Option("--budget", metavar="NAME=AMOUNT", help="Largest T, rounds, samples, … or weighted cost. Repeatable."),
]
Weights = Annotated[
    list[str] | None,
    typer.Option("--weight", metavar="NAME=PRICE", help="Price of one unit in a weighted cost. Repeatable."),
]
Ranges = Annotated[
    list[str] | None,
    typer.Option(
        "--range", metavar="NAME=LOW:HIGH", help="Range of a free hyperparameter; either end may be empty. Repeatable."
    ),
]
Cost = Annotated[
    str | None, typer.Option("--cost", metavar="NAME", help="What a target should cost least of, e.g. rounds.")
]
Figure = Annotated[
    Path | None, typer.Option("--figure", metavar="FILE", help="Also write a figure (.png, .svg, .pdf).")
]


def tune(
    name: TheoremId,
    sets: Sets = None,
    constants: Constants = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="FILE.py:NAME",
            help="Estimate the constants of this model first, as `fedco estimate` does; the answer says which it rests on.",
        ),
    ] = None,
    assume: Assume = None,
    budget: Budgets = None,
    eps: Annotated[str | None, typer.Option("--eps", help="Target for the bound; minimises the cost.")] = None,
    cost: Cost = None,
    weight: Weights = None,
    limits: Ranges = None,
    statement: StatementOption = None,
    latex: Latex = False,
    markdown: Markdown = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Best hyperparameters: least bound under a budget, or least cost to reach a target.

    Example: fedco tune fcsg.theorem_4_1 --set L_f=1 --set L_g=1 --set S_f=1 --set S_g=1 --set sigma_g=1 --set F_gap=1
    --set N=4 --budget samples=1000000
    """
    from ..bounds.optimum.tuning import tune as tuned
    from ..bounds.registry import get_theorem as theorem

    item = theorem(name)
    chosen = item.statement(chosen_statement(item, statement))
    if model is not None and constants is not None:
        raise InputError("--model: wanted either --model or --constants, got both")
    shared = constants if model is None else _estimated(model, item, chosen.label)
    given = settled(chosen, sets, shared, assume)
    result = tuned(
        given.statement,
        given.values,
        budget=_pairs("--budget", budget) or None,
        eps=eps,
        cost=_cost(cost, weight),
        ranges={key: _range(key, text) for key, text in _pairs("--range", limits).items()},
        beside=given.beside,
    )
    if not emit_sheets(lambda: [noted(result.sheet(), given.notes)], as_json, latex, markdown):
        emit_about(chosen, result.to_dict(), result, as_json, given)


def _estimated(model: str, theorem: Theorem, label: str) -> dict[str, Any]:
    """The constants of a statement for a model."""
    from ..validation.experiments.estimates import estimate, for_theorem

    found = estimate(model, theorem=theorem, statement=label, progress=lambda name: note(f"  {name}"))
    return for_theorem(found, theorem, label).constants()


def complexity(
    name: TheoremId,
    sets: Sets = None,
    constants: Constants = None,
    assume: Assume = None,
    eps: Annotated[
        str | None, typer.Option("--eps", help="Target for the bound; without it only the exact orders.")
    ] = None,
    cost: Cost = None,
    weight: Weights = None,
    statement: StatementOption = None,
    figure: Figure = None,
    latex: Latex = False,
    markdown: Markdown = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Iterations, rounds, samples and messages to reach a target, and their exact orders as it goes to 0.

    Example: fedco complexity fcsg.theorem_4_1
    """
    from ..bounds.cost.complexity import complexity as reaching
    from ..bounds.cost.sensitivity import pareto
    from ..bounds.registry import get_theorem as theorem

    item = theorem(name)
    label = chosen_statement(item, statement)
    if eps is None:
        if sets or constants or assume or figure:
            raise InputError(
                "--eps: wanted a target, got nothing; without one only the orders are shown, for any constants"
            )
        from ..bounds.cost import claims

        found = item.rates(label)
        checked = [claims.check(claim) for claim in claims.about(item.id)]
        if emit_sheets(lambda: [found.sheet(), claims.sheet(checked)], as_json, latex, markdown):
            return
        rows = {**found.to_dict(), "claims": [row.to_dict() for row in checked]}
        emit_about(item.statement(label), rows, "\n".join(map(str, (found, *checked))), as_json)
        return
    given = settled(item.statement(label), sets, constants, assume)
    result = reaching(given.statement, given.values, eps, cost=_cost(cost, weight), beside=given.beside)
    if figure is not None:
        pareto(given.statement, given.values, eps, figure=figure)
    if not emit_sheets(lambda: [noted(result.sheet(), given.notes)], as_json, latex, markdown):
        emit_about(item.statement(label), result.to_dict(), result, as_json, given)


def compare(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID|FILE]...", help="Theorems to compare; the main ones of all papers without any."),
    ] = None,
    eps: Annotated[str | None, typer.Option("--eps", help="Target for the metric of every theorem.")] = None,
    orders: Annotated[
        bool, typer.Option("--orders", help="Instead the exact orders as the target goes to 0: needs no constants.")
    ] = False,
    sets: Sets = None,
    constants: Constants = None,
    kind: Annotated[str | None, typer.Option("--kind", help="Only one kind of problem, e.g. conditional.")] = None,
    cost: Annotated[str, typer.Option("--cost", metavar="NAME", help="What each theorem is tuned for.")] = "samples",
    statement: Annotated[
        str | None,
        typer.Option(
            "--statement", metavar="LABEL", help="printed, composed or corrected; the best available without it."
        ),
    ] = None,
    figure: Figure = None,
    latex: Latex = False,
    markdown: Markdown = False,
    as_json: Json = False,
    trust: Trust = False,
) -> None:
    """Theorems on the same quantities, named as in the shared vocabulary (outer_smoothness, clients, …).

    Example: fedco compare --eps 1/10 --set clients=20 --set inner_value_noise=2 --kind conditional
    """
    from ..bounds.cost import comparison as comparing
    from ..bounds.registry import get_theorems
    from ..bounds.settings import of_quantities, read_constants

    given, shared = read_sets(sets), read_constants(constants) if constants else {}
    chosen = [item for name in names or () for item in get_theorems(name) if item.kind in ("theorem", "corollary")]
    if orders:
        if eps is not None or given or shared or figure is not None:
            raise InputError("--orders: wanted it alone or with --kind; the orders hold for any constants and targets")
        table = comparing.orders(kind, theorems=chosen)
        if not emit_sheets(lambda: [table.sheet()], as_json, latex, markdown):
            emit(table.to_dict(), table, as_json)
        return
    if eps is None:
        raise InputError("--eps: wanted a target, got nothing; or --orders for the orders as it goes to 0")
    known, unused = of_quantities(shared, comparing.known_quantities(chosen))
    quantities = {**known, **given}
    result = comparing.compare(eps, quantities, theorems=chosen, kind=kind, statement=statement, cost=cost)
    if figure is not None:
        target = float(_number("--eps", eps))
        targets = [target * factor for factor in (10.0, 10**0.5, 1.0, 10**-0.5, 0.1)]
        comparing.figure(figure, targets, quantities, theorems=chosen, kind=kind, statement=statement, cost=cost)
    left_over = (f"not used: {', '.join(unused)}",) if unused else ()
    if not emit_sheets(lambda: [noted(result.sheet(), left_over)], as_json, latex, markdown):
        text = "\n".join([str(result), *left_over])
        emit({**result.to_dict(), "unused": list(unused)}, text, as_json)


def _number(name: str, text: str) -> Any:
    from ..bounds.language.reading import read_number

    return read_number(name, text)


def _pairs(option: str, items: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in items or []:
        name, value = split_assignment(item)
        if name in found:
            raise InputError(f"{option} {name}: set twice; wanted one value")
        found[name] = value
    return found


def _range(name: str, text: str) -> tuple[str | None, str | None]:
    low, colon, high = text.partition(":")
    if not colon:
        raise InputError(f"--range {name}: wanted LOW:HIGH, got {text[:30]!r}")
    return low.strip() or None, high.strip() or None


def _cost(cost: str | None, weight: list[str] | None) -> str | dict[str, str] | None:
    weights = _pairs("--weight", weight)
    if cost and weights:
        raise InputError("--cost: wanted either --cost or --weight, got both")
    return weights or cost


def register(app: typer.Typer) -> None:
    for command in (tune, complexity, compare):
        app.command()(command)
