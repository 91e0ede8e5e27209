"""The rules of inference, each a frozen record whose `apply` checks its premises and returns the new fact.

Together with the normal form (algebra.py), the certificates (region.py), the assumptions (assumptions.py) and the rule for
corollaries (corollary.py) this is all that a checked derivation rests on.
"""

from .base import Rule, Weights
from .combination import Combine, Instance, Open, Triangle
from .growth import Gronwall
from .probability import Action, Assume, IndependentMean, IndependentMoment, MeanMoment, Product
from .rounds import Drift, NoisyDrift, WithinRound
from .smoothness import SmoothDescent
from .sums import AtStart, Invariant, Part, SumOver
from .vectors import Cases, Definition, Later, Linear, Project, Vanishing

RULES = (
    Definition,
    Project,
    Linear,
    Cases,
    Later,
    Vanishing,
    Combine,
    Open,
    Instance,
    Assume,
    IndependentMean,
    MeanMoment,
    IndependentMoment,
    Action,
    Product,
    Triangle,
    SmoothDescent,
    Drift,
    NoisyDrift,
    WithinRound,
    Gronwall,
    SumOver,
    Invariant,
    AtStart,
    Part,
)
__all__ = ["RULES", "Rule", "Weights", *(rule.__name__ for rule in RULES)]
