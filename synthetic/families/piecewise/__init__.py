"""Families: problems whose parameters are tensors over the runs, so that one batch holds thousands of different instances.

Everything is one-dimensional and small: one to four clients, affine inner maps, functions whose derivatives are piecewise
linear. Each constant of the vocabulary is then a closed formula in the parameters, and so is the infimum of the objective.
A family is a problem like any other; methods run on it through `drive`, each instance a run.
"""

from .composite import ConditionalFamily, LocalCompositeFamily, SharedCompositeFamily
from .curve import PiecewiseLinear
from .family import Family
from .local_losses import FederatedFamily, MetaFamily
from .second_variable import BilevelFamily, MinimaxFamily

FAMILIES: dict[str, type[Family]] = {
    family.kind: family
    for family in (
        LocalCompositeFamily,
        SharedCompositeFamily,
        ConditionalFamily,
        MetaFamily,
        FederatedFamily,
        MinimaxFamily,
        BilevelFamily,
    )
}
"""Kind of problem -> its family."""

__all__ = [
    "FAMILIES",
    "BilevelFamily",
    "ConditionalFamily",
    "Family",
    "FederatedFamily",
    "LocalCompositeFamily",
    "MetaFamily",
    "MinimaxFamily",
    "PiecewiseLinear",
    "SharedCompositeFamily",
]
