"""Negative controls of every report: what must not be called SUPPORTED, and is not.

`validate` adds one per instance, a bound divided until it is REFUTED. Here are the other two: a step far outside the
region, and a problem that declares a constant too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...bounds.registry import get_theorem
from ...synthetic.conformance.suite import with_scaled_certificate
from ..statistics.alpha_budget import AlphaBudget
from ..statistics.verdict import Outcome, Verdict
from .campaign import Experiment, verdict_for
from .declaration import Probe
from .experiments import Measured, measure
from .registry import declared, recipe_for
from .values import evaluate_at

SEEDS = 64
UNDERSTATEMENT = 10


@dataclass(frozen=True)
class Control:
    """A check of the checks: the outcome that is wanted, and the verdict."""

    name: str
    wanted: Outcome
    verdict: Verdict

    @property
    def passed(self) -> bool:
        return self.verdict.outcome is self.wanted


def run_controls(alpha: Fraction | str) -> tuple[tuple[Control, ...], AlphaBudget]:
    """The controls that the papers declare; those that are judged share `alpha`."""
    ledger = AlphaBudget(alpha)
    outside = [(probe, _experiment(probe)) for probe in declared("outside")]
    understated = declared("understated")
    names = [name for _, experiment in outside for name in (experiment.name, _ignored(experiment))]
    ledger.share((*names, *(_gap(probe) for probe in understated)), planned_seeds=SEEDS)
    made = [control for _, experiment in outside for control in _far_step(ledger, experiment)]
    return (*made, *(_understated_gap(ledger, probe) for probe in understated)), ledger


def _experiment(probe: Probe) -> Experiment:
    label = recipe_for(probe.theorem).label
    return Experiment(get_theorem(probe.theorem), label, probe.instance, probe.instance.horizons[0], SEEDS, 0)


def _ignored(experiment: Experiment) -> str:
    return f"control/conditions ignored/{experiment.name}"


def _gap(probe: Probe) -> str:
    return f"control/understated gap/{probe.theorem}"


def _far_step(ledger: AlphaBudget, experiment: Experiment) -> tuple[Control, Control]:
    """Outside the region the theorem does not speak (NOT_APPLICABLE), and its formula is false there (REFUTED)."""
    theorem = experiment.theorem
    found = measure(theorem, experiment.instance, experiment.T, SEEDS, label=experiment.label, strict=False)
    applied = verdict_for(experiment, found, ledger)
    claim = f"{theorem.id} with its conditions ignored"
    formula = _judged(found, found.bound.total, ledger, _ignored(experiment), claim)
    return (
        Control("a step far outside the region", Outcome.NOT_APPLICABLE, applied),
        Control("the same step, conditions ignored", Outcome.REFUTED, formula),
    )


def _understated_gap(ledger: AlphaBudget, probe: Probe) -> Control:
    """The bound from a gap that is declared too small must not survive an honest measurement."""
    experiment = _experiment(probe)
    found = measure(probe.theorem, probe.instance, experiment.T, SEEDS, label=experiment.label)
    liar = with_scaled_certificate(probe.instance.made(), "objective_gap", 1 / UNDERSTATEMENT)
    bound, _ = evaluate_at(experiment.theorem, experiment.label, liar, probe.instance.hyperparameters, experiment.T)
    claim = f"{probe.theorem} with the objective gap declared {UNDERSTATEMENT} times too small"
    return Control("a mis-declared constant", Outcome.REFUTED, _judged(found, bound.total, ledger, _gap(probe), claim))


def _judged(found: Measured, bound: float | None, ledger: AlphaBudget, name: str, claim: str) -> Verdict:
    alpha = ledger.spend(name, actual_seeds=len(found.statistic))
    where = f"{found.instance.name}, T={found.instance.horizons[0]}"
    return found.judged(bound, alpha, f"negative control: {claim}", where)
