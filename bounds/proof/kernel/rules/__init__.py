"""The rules of inference, each a frozen record whose `apply` checks its premises and returns the new fact.

Together with the normal form (algebra.py), the certificates (region.py), the assumptions (assumptions.py) and the rule for
corollaries (corollary.py) this is all that a checked derivation rests on.
"""
# ruff: noqa: F401 (what is imported here is what the package offers)

from .base import Rule, Weights
from .combination import CauchySchwarz, Combine, Instance, Open, Smaller, Triangle
from .growth import Geometric, Gronwall, Weighted
from .loops import Along, Conditional, Identity, Induction, Length, ReversedPower, Suppose, Sure
from .martingale import Martingale
from .probability import Action, Assume, IndependentMean, IndependentMoment, MeanMoment, Product
from .rounds import Delay, Drift, Held, NoisyDrift, WithinRound
from .smoothness import SmoothDescent
from .sums import AtStart, Invariant, Part, SumOver
from .vectors import Cases, Definition, Later, Linear, Project, Substitute, Vanishing

RULES: tuple[type[Rule], ...] = tuple(
    each for each in tuple(globals().values()) if isinstance(each, type) and issubclass(each, Rule) and each is not Rule
)
"""Those that are imported here, and no others."""
LOOP = (Suppose, Induction, Identity, Along, ReversedPower, Length, Sure, Conditional)
POSITIONAL = (Linear, Combine, Triangle, CauchySchwarz, Smaller, SumOver, Weighted, *LOOP)
"""Rules for statements about a step that may speak of numbers that depend on it, such as its position in the round."""
WITH_CLOCK = (Assume, IndependentMean, Action)
"""Further rules for statements about one step in whose vectors the clock may stand, outside of loops: at every step it shows a number."""
PATHWISE = (Definition, Linear, Combine, Open, Assume, SmoothDescent, SumOver, Martingale)
"""Rules of a pathwise derivation: from what holds along almost every run they make what does, and `Martingale` what does with a
probability. `Assume` gives an instance of a `sure` assumption."""
IN_A_LOOP = (
    *LOOP,
    Definition,
    Project,
    Linear,
    Vanishing,
    Combine,
    Assume,
    IndependentMean,
    MeanMoment,
    Action,
    Triangle,
    CauchySchwarz,
    Smaller,
)
"""Rules that may be used in a loop, which may have no steps."""
