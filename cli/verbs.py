"""The questions about a statement with values: fedco bound | admissible | tune | complexity | compare | sharpen"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..bounds.language.reading import InputError, read_number
from .command import Answer, Asked, Texts, answer_of, command, note, pairs


@command("latex", "markdown", trust=True)
def bound(asked: Asked, strict: bool = False, sensitivity: bool = False) -> Answer:
    """Evaluate a bound; outside the conditions the value is printed with "admissible": false and the conditions that fail.

    Example: fedco bound feddro.lemma_3_1 --set L_h=1 --set L_f=1/2 --set L_g=1 --set B_f=1 --set B_g=2
    """
    from ..bounds.evaluation.evaluate import bound as evaluated

    given = asked.resolved()
    result = evaluated(given.statement, given.values, strict=False, beside=given.beside)
    answer = asked.answer([result], given)
    if sensitivity:
        from ..bounds.cost.sensitivity import elasticities  # brings in the optimiser

        found = elasticities(given.statement, given.values)
        answer = asked.answer([result, found], given, sensitivity=found.to_dict())
    return replace(answer, status=3 if strict and not result.admissible else 0)


@command("latex", "markdown", trust=True)
def admissible(asked: Asked, solve: str, strict: bool = False, figure_file: Path | None = None) -> Answer:
    """Compute the exact admissible interval of a hyperparameter, with the condition that binds at each end.

    Example: fedco admissible feddro.theorem_5_1 --solve I --set T=100000 --set L_h=1 ...
    """
    from ..bounds.region.admissible import admissible as solved
    from ..bounds.region.admissible import region_picture
    from ..bounds.settings import symbol_of

    parts = [part.strip() for part in solve.split(",") if part.strip()]
    if not parts:
        raise InputError("--solve: wanted the name of a hyperparameter, got nothing")
    names = tuple(symbol_of(asked.chosen, name) or name for name in parts)
    given = asked.resolved(*names)
    if figure_file is None:
        result = solved(given.statement, names, given.values)
    elif len(names) == 2:
        result = region_picture(given.statement, (names[0], names[1]), given.values, figure_file)
    else:
        raise InputError(f"--figure: wanted two names in --solve, got {len(names)}")
    return replace(asked.answer([result], given), status=3 if strict and not result.feasible else 0)


@command("latex", "markdown", trust=True)
def tune(
    asked: Asked,
    model: str | None = None,
    budget: Texts = None,
    eps: str | None = None,
    cost: str | None = None,
    weight: Texts = None,
    ranges: Texts = None,
) -> Answer:
    """Find the best hyperparameters: least bound under a budget, or least cost to reach a target.

    Example: fedco tune fcsg.theorem_4_1 --set L_f=1 --set L_g=1 --set S_f=1 --set S_g=1 --set sigma_g=1 --set F_gap=1
    --set N=4 --budget samples=1000000
    """
    from ..bounds.optimum.tuning import tune as tuned

    if model is not None and asked.constants is not None:
        raise InputError("--model: wanted either --model or --constants, got both")
    given = asked.resolved(shared=None if model is None else _estimated(model, asked))
    result = tuned(
        given.statement,
        given.values,
        budget=pairs(budget, "--budget") or None,
        eps=eps,
        cost=_cost(cost, weight),
        ranges={key: _range(key, text) for key, text in pairs(ranges, "--range").items()},
        beside=given.beside,
    )
    return asked.answer([result], given)


def _estimated(model: str, asked: Asked) -> dict[str, Any]:
    """The constants of a statement for a model."""
    from ..validation.experiments.estimates import estimate, for_theorem

    theorem, label = asked.theorem, asked.chosen.label
    found = estimate(model, theorem=theorem, statement=label, progress=lambda name: note(f"  {name}"))
    return for_theorem(found, theorem, label).constants()


@command("latex", "markdown", trust=True)
def complexity(
    asked: Asked,
    eps: str | None = None,
    cost: str | None = None,
    weight: Texts = None,
    figure_file: Path | None = None,
) -> Answer:
    """Count the iterations, rounds, samples and messages to reach a target, and their exact orders as it goes to 0.

    Example: fedco complexity fcsg.theorem_4_1
    """
    from ..bounds.cost.complexity import complexity as reaching
    from ..bounds.cost.sensitivity import pareto

    if eps is None:
        if asked.values or asked.constants or asked.assume or figure_file:
            raise InputError(
                "--eps: wanted a target, got nothing; without one only the orders are shown, for any constants"
            )
        return _orders(asked)
    given = asked.resolved()
    result = reaching(given.statement, given.values, eps, cost=_cost(cost, weight), beside=given.beside)
    if figure_file is not None:
        pareto(given.statement, given.values, eps, figure=figure_file)
    return asked.answer([result], given)


def _orders(asked: Asked) -> Answer:
    """The orders of a statement, and the claims about them."""
    from ..bounds.cost import claims
    from ..bounds.registry import paper_of

    found = asked.theorem.rates(asked.chosen.label)
    of_a_paper = paper_of(asked.theorem) is not None  # not one of a user's that has the id of another
    checked = [claims.check(claim) for claim in claims.about(asked.theorem.id)] if of_a_paper else []
    rows = {**found.to_dict(), "claims": [row.to_dict() for row in checked]}
    sheets = lambda: [found.sheet(), claims.sheet(checked)]  # noqa: E731
    return Answer(rows, "\n".join(map(str, (found, *checked))), sheets).about(asked.chosen)


def _listed(text: str) -> str | list[str]:
    """A value, or with commas the numbers of single clients."""
    return text.split(",") if "," in text else text


@command("latex", "markdown", trust=True)
def compare(
    names: Texts = None,
    eps: str | None = None,
    orders: bool = False,
    values: Texts = None,
    constants: Path | None = None,
    kind: str | None = None,
    cost: str = "samples",
    statement: str | None = None,
    figure_file: Path | None = None,
) -> Answer:
    """Compare theorems on the same quantities, named as in the shared vocabulary (outer_smoothness, clients, …).

    Example: fedco compare --eps 1/10 --set clients=20 --set inner_value_noise=2 --kind conditional
    """
    from ..bounds.cost import comparison as comparing
    from ..bounds.registry import get_theorems
    from ..bounds.settings import of_quantities, read_constants

    given, shared = pairs(values), read_constants(constants) if constants else {}
    chosen = [item for name in names or () for item in get_theorems(name) if item.kind in ("theorem", "corollary")]
    if orders:
        if eps is not None or given or shared or figure_file is not None:
            raise InputError("--orders: wanted it alone or with --kind; the orders hold for any constants and targets")
        return answer_of(comparing.orders(kind, theorems=chosen))
    if eps is None:
        raise InputError("--eps: wanted a target, got nothing; or --orders for the orders as it goes to 0")
    known, unused = of_quantities(shared, comparing.known_quantities(chosen))
    quantities = {**known, **{name: _listed(value) for name, value in given.items()}}
    options: dict[str, Any] = {"theorems": chosen, "kind": kind, "statement": statement, "cost": cost}
    result = comparing.compare(eps, quantities, **options)
    if figure_file is not None:
        target = float(read_number("--eps", eps))
        targets = [target * factor for factor in (10.0, 10**0.5, 1.0, 10**-0.5, 0.1)]
        comparing.figure(figure_file, targets, quantities, **options)
    return answer_of(result, *([f"not used: {', '.join(unused)}"] if unused else []), unused=list(unused))


@command(trust=True)
def sharpen(
    name: str,
    values: Texts = None,
    constants: Path | None = None,
    assume: Texts = None,
    tune: bool = False,
    out: Path = Path("sharpened.json"),
) -> Answer:
    """Look for the least bound that the premises of a theorem's proof give at your constants; exit status 1 where no smaller one is found.

    A proof adds up inequalities with multipliers that a person chose, such as the weights in Young's inequality. Here a semidefinite
    program chooses them anew for one set of numbers. They are rounded to fractions, and the kernel checks the new proof step by step;
    only what it accepts is reported. The conditions of the theorem need not hold.

    The certificate is a file of data: values, a bound and steps. `fedco prove sharpened.json` checks it again, by the rules of the
    kernel; `fedco prove ID` also tries exact instances, for the statement itself.

    The inequalities that the proof starts from, and the constants inside its rules for rounds and contractions, stay as they are.
    Where no smaller bound is found, the answer is "not sharpened", with the reason.

    With --tune the step sizes and momenta that have no value are chosen too, as powers of 2.

    Examples: fedco sharpen fcsg.theorem_4_1 --constants mine.toml --out mine.json; fedco prove mine.json;
    fedco sharpen baselines.minibatch_sgd --set L_bar=1 --set sigma=1 --set F_gap=1 --set eta=1/10 --set b=1 --set N=4 --set T=100
    """
    from ..bounds.proof.sharpen import save, sharpen_tuned
    from ..bounds.proof.sharpen import sharpen as sharpened

    given = Asked(name, None, values, constants, assume).resolved()
    chosen = sharpen_tuned(given.statement, given.values, note=note) if tune else None
    found = chosen.best if chosen else sharpened(given.statement, given.values, note=note)
    said, path = chosen or found, None
    if found.bound is not None:
        save(found, out, name)
        path = str(out)
    data = {**said.to_dict(), "certificate": path, **given.to_dict()}
    return Answer(data, "\n".join([said.text(path), *given.notes]), status=int(found.bound is None))


def _range(name: str, text: str) -> tuple[str | None, str | None]:
    low, colon, high = text.partition(":")
    if not colon:
        raise InputError(f"--range {name}: wanted LOW:HIGH, got {text[:30]!r}")
    return low.strip() or None, high.strip() or None


def _cost(cost: str | None, weight: Texts) -> str | dict[str, str] | None:
    weights = pairs(weight, "--weight")
    if cost and weights:
        raise InputError("--cost: wanted either --cost or --weight, got both")
    return weights or cost
