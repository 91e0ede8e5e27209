"""What the report says, as plain data: the page is drawn from it alone, and `report.json` beside the page is the same.

Every formula is LaTeX here and every number a number; nothing is markup, so a page made from a stranger's declarations has
no more markup than one made from ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...bounds.audit.refutation import Case, Refutation
from ...bounds.audit.status import Status, status
from ...bounds.language.rendering import describe
from ...bounds.language.result import finite
from ...bounds.language.theorem import Theorem
from ...bounds.proof.derivations import derivation, prove
from ...bounds.registry import get_paper, is_paper
from ..falsifier.record import searched
from ..runs.campaign import ExperimentResult
from ..runs.declaration import Counterexample
from ..runs.recipe import Instance, Recipe
from ..runs.validate import Validation, measured_slope
from ..statistics.evalues import mean_bracket
from ..statistics.slopes import bound_slope
from .rates import MeasuredRates

FORMAT = "fedco-report/2"
_LONG = 24
"""Most characters of an exact number; a longer one is shown as a decimal."""


def card(theorem: Theorem) -> dict[str, Any]:
    """What is declared and known of a theorem; `measured` has what its runs say."""
    key = theorem.id.partition(".")[0]
    said = describe(theorem)
    statements = [statement(theorem, label, told) for label, told in said["statements"].items()]
    metric = {"name": str(said["metric"]), "latex": said["metric"].latex, "dimension": said["dimension"]}
    return {
        "id": theorem.id,
        "paper": key,
        "paper_title": get_paper(key).title if is_paper(key) else "",
        **{name: said[name] for name in ("kind", "title", "source")},
        "metric": {**metric, "meaning": theorem.metric.meaning},
        "assumptions": [{"name": item["name"], "text": item["text"]} for item in said["assumptions"]],
        "note": theorem.note,
        "default": theorem.default,
        "statements": statements,
        "proof": next(item["proof"] for item in statements if item["label"] == theorem.default),
    }


def measured(
    validation: Validation | None,
    recipe: Recipe | None,
    rates: MeasuredRates | None,
    lemmas: Mapping[str, Any] | None,
    without: str,
) -> dict[str, Any]:
    """What the runs of a theorem say; empty where there are none.

    Args:
        lemmas: the measured chain of its proof (`validation/lemmas/report.py`).
        without: why it is not compared with runs, where that is declared.
    """
    made = {
        "runs": runs(validation) if validation else [],
        "judged": validation.label if validation else "",
        "limit_exponent": recipe.limit_exponent if recipe else None,
        "without": without,
        "rates": rates.to_dict() if rates else None,
        "lemmas": dict(lemmas) if lemmas else None,
    }
    plain: dict[str, Any] = finite(made)  # null where a run diverged
    return plain


def statement(theorem: Theorem, label: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """A statement as it is described, with the LaTeX of its formulas, and what is known of it."""
    said = theorem.statement(label)
    return {
        "label": label,
        "note": told["note"],
        "status": known(status(theorem, label)),
        "search": str(searched(theorem, label) or ""),
        "proof": proof(theorem, label),
        "steps": steps(theorem, label),
        "terms": [{"name": t.name, "role": t.role, "latex": told["terms"][t.name].latex} for t in said.terms],
        "derived": [
            {"name": str(name), "symbol": name.latex, "latex": formula.latex, "meaning": constant.meaning}
            for (name, formula), constant in zip(told["derived"].items(), said.derived, strict=True)
        ],
        "conditions": [
            {"name": c["name"], "latex": c["relation"].latex, "note": c["note"]} for c in told["conditions"]
        ],
        "schedule": [{"symbol": name.latex, "latex": formula.latex} for name, formula in told["schedule"].items()],
        "symbols": [
            {
                "name": str(name),
                "latex": name.latex,
                **{key: str(row[key]) for key in ("meaning", "dimension", "domain", "role")},
            }
            for name, row in told["symbols"].items()
        ],
    }


def known(found: Status) -> dict[str, Any]:
    """A status as data; `given` are conditions that the statement leaves out."""
    return {
        "outcome": found.outcome,
        "word": found.word,
        "why": found.why,
        "given": list(found.given),
        "bundles": list(found.bundles),
    }


def proof(theorem: Theorem, label: str) -> dict[str, Any] | None:
    """What the kernel says of the derivation of a statement, and on what that rests; None where there is no derivation."""
    if derivation(theorem, label) is None:
        return None
    found = prove(theorem, label)
    return {
        "statement": found.statement,
        "checked": found.checked,
        "given": list(found.given),
        "failure": found.failure,
        "steps": len(found.lines),
        "assumptions": list(found.assumptions),
        "conditions": list(found.conditions),
        "loose": list(found.loose),
        "unused": list(found.unused),
        "command": f"fedco prove {theorem.id}",
    }


def steps(theorem: Theorem, label: str) -> list[dict[str, Any]]:
    """Every step of the derivation of a statement; empty where there is none."""
    return [] if derivation(theorem, label) is None else list(prove(theorem, label).to_dict()["steps"])


def runs(validation: Validation) -> list[dict[str, Any]]:
    """One entry per instance, its horizons in order."""
    instances: list[Instance] = []
    for result in validation.results:
        if not any(result.experiment.instance is seen for seen in instances):
            instances.append(result.experiment.instance)
    return [
        _run(instance, [r for r in validation.results if r.experiment.instance is instance]) for instance in instances
    ]


def _run(instance: Instance, results: Sequence[ExperimentResult]) -> dict[str, Any]:
    ordered = sorted(results, key=lambda result: result.experiment.T)
    slope = measured_slope(ordered) if len(ordered) > 1 else None
    horizons = [result.experiment.T for result in ordered]
    bounds = [result.bound.total for result in ordered]
    has_slope = len(ordered) > 1 and all(bounds)
    return {
        "problem": instance.problem_name,
        "parameters": {name: str(value) for name, value in instance.parameters.items()},
        "hyperparameters": {name: str(value) for name, value in instance.hyperparameters.items()},
        "case": instance.case,
        "why": instance.why,
        "horizons": [_horizon(result) for result in ordered],
        "measured_slope": None if slope is None else [slope.slope, slope.lower, slope.upper],
        "bound_slope": bound_slope(horizons, bounds) if has_slope else None,
        "certificates": [
            {"quantity": name, "value": float(item.value), "kind": item.kind, "argument": item.argument}
            for name, item in instance.made().certificates.items()
        ],
    }


def _horizon(result: ExperimentResult) -> dict[str, Any]:
    verdict = result.verdict
    bracket = mean_bracket(result.statistic, result.cap)
    return {
        "T": result.experiment.T,
        "outcome": str(verdict.outcome),
        "reason": verdict.reason,
        "mean": verdict.empirical,
        "lower": bracket.lower,
        "upper": bracket.upper,
        "bound": verdict.bound,
        "tightness": verdict.tightness,
        "shares": dict(verdict.shares),
        "seeds": verdict.seeds,
        "alpha": verdict.alpha,
        "vacuous": verdict.vacuous,
    }


def refutation(item: Refutation, case: Case, file: str, picture: Mapping[str, Any] | None) -> dict[str, Any]:
    """An exact instance that breaks a claim.

    Args:
        case: the instance, rebuilt now.
        file: its bundle, relative to the page.
        picture: the instance drawn, where it can be.
    """
    (low, _), (_, high) = item.sides(case)
    return {
        "name": item.name,
        "claim": item.claim,
        "statement": item.statement,
        "summary": item.summary,
        "grade": item.grade,
        "word": item.word,
        "reading": item.reading,
        "choice": case.choice,
        "alternatives": dict(item.alternatives),
        "checked": list(case.facts),
        "findings": list(item.findings),
        "left": float(low),
        "right": float(high),
        "factor": float(low / high) if high > 0 else None,
        "problem": str(case.problem["name"]),
        "numbers": {name: _shown(value) for name, value in _numbers(case.problem["parameters"]).items()},
        "constants": {name: _shown(value) for name, (value, _) in case.constants.items()},
        "hyperparameters": {name: _shown(value) for name, value in case.hyperparameters.items()},
        "file": file,
        "command": f"fedco replay {file}",
        "picture": picture,
    }


def _numbers(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What defines an instance; of one that is data the parameters of its functions first."""
    whole = {"parameters": {}, **parameters.get("instance", {})}
    return {**whole["parameters"], **{name: value for name, value in parameters.items() if name != "instance"}}


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(part)}" for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_shown(part) for part in value) + "]"
    text = str(value)
    return text if len(text) <= _LONG else f"{float(value):.6g}"


def exhibit(theorem: str, known: Counterexample) -> dict[str, Any]:
    """A paper's own counterexample: its cases as rows, and what can be drawn of each."""
    found = {case: known.summary(case) for case in known.cases}
    return {
        "id": theorem,
        "title": known.title,
        "about": known.about,
        "caption": known.caption,
        "command": f"fedco counterexample {theorem}",
        "rows": [dict(known.row(summary)) for summary in found.values()],
        "scenes": [{"case": case, **known.scene(case)} for case in known.cases] if known.scene else [],
    }
