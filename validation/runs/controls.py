"""Negative controls of every report: what must not be called SUPPORTED, and is not.

`validate` adds one per instance, a bound divided until it is REFUTED. Here are the other two: a step far outside the
region, and a problem that declares a constant too small.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...bounds.registry import get_theorem
from ...synthetic import problem as find_problem
from ...synthetic.conformance.suite import with_scaled_certificate
from ..statistics.ledger import AlphaLedger
from ..statistics.verdict import Outcome, Verdict, judge
from .campaign import Experiment, verdict_for
from .experiments import Measured, evaluate_at, measure
from .instance import Instance
from .registry import recipe_for

SEEDS = 64
FAR = "feddro.theorem_4_2"
FAR_STEP = Instance(
    "feddro_without_h",
    {"eta": Fraction(100), "I": 1},
    "a step size 60 times beyond 1 / L_Phi",
    {"start": 8.0, "dim": 8, "clients": 4, "B_g": 1.1, "Delta_g": 0.0},
    (200,),
)
UNDERSTATED = Instance(
    "feddro_homogeneous",
    {"I": 1, "b": 1},
    "the objective gap declared 10 times too small",
    {"start": 8.0, "dim": 8},
    (256,),
)
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


def run_controls(alpha: Fraction | str) -> tuple[tuple[Control, ...], AlphaLedger]:
    """The two controls, three verdicts; the two stochastic ones share `alpha`."""
    ledger = AlphaLedger(alpha)
    label = recipe_for(FAR).label
    experiment = Experiment(get_theorem(FAR), label, FAR_STEP, FAR_STEP.horizons[0], SEEDS, 0)
    ignored, gap = "control/conditions ignored", "control/understated gap"
    ledger.share((experiment.name, ignored, gap), planned_seeds=SEEDS)
    return (*_far_step(ledger, experiment, ignored), _understated_gap(ledger, gap)), ledger


def _far_step(ledger: AlphaLedger, experiment: Experiment, ignored: str) -> tuple[Control, Control]:
    """Outside the region the theorem does not speak (NOT_APPLICABLE), and its formula is false there (REFUTED)."""
    found = measure(FAR, FAR_STEP, experiment.T, SEEDS, label=experiment.label, strict=False)
    applied = verdict_for(experiment, found.bound, found.cap, found.certificates, found.statistic, ledger)
    formula = _judged(found, found.bound.total, ledger, ignored, f"{FAR} with its conditions ignored")
    return (
        Control("a step far outside the region", Outcome.NOT_APPLICABLE, applied),
        Control("the same step, conditions ignored", Outcome.REFUTED, formula),
    )


def _understated_gap(ledger: AlphaLedger, name: str) -> Control:
    """The bound from a gap that is declared too small must not survive an honest measurement."""
    theorem_id, T = "feddro.theorem_5_1", UNDERSTATED.horizons[0]
    found = measure(theorem_id, UNDERSTATED, T, SEEDS)
    liar = with_scaled_certificate(
        find_problem(UNDERSTATED.problem, **UNDERSTATED.parameters), "objective_gap", 1 / UNDERSTATEMENT
    )
    bound, _ = evaluate_at(get_theorem(theorem_id), "printed", liar, UNDERSTATED.hyperparameters, T)
    claim = f"{theorem_id} with the objective gap declared {UNDERSTATEMENT} times too small"
    return Control("a mis-declared constant", Outcome.REFUTED, _judged(found, bound.total, ledger, name, claim))


def _judged(found: Measured, bound: float | None, ledger: AlphaLedger, name: str, claim: str) -> Verdict:
    assert bound is not None
    alpha = ledger.spend(name, actual_seeds=len(found.statistic))
    where = f"{found.instance.name}, T={found.instance.horizons[0]}"
    return judge(
        found.statistic,
        bound,
        alpha=alpha,
        cap=found.cap,
        certificates_kind=found.certificates,
        claim=f"negative control: {claim}",
        instance=where,
    )
