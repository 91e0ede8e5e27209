"""The kinds of problems, and the properties that a problem may declare."""

from ...bounds.language.properties import PROPERTIES
from .bilevel import AbstractBilevel
from .composite import AbstractComposite, AbstractLocalComposite, AbstractSharedComposite
from .conditional import AbstractConditional, InnerSample, OuterSample
from .federated import AbstractFederated
from .meta import AbstractMeta
from .minimax import AbstractMinimax
from .predictions import Predictions
from .problem import (
    INDEPENDENT_CLIENTS,
    ONE_OUTER_FUNCTION,
    AbstractProblem,
    AbstractSampled,
    Draws,
    Sample,
    batch_mean,
    client_mean,
)

__all__ = [
    "INDEPENDENT_CLIENTS",
    "ONE_OUTER_FUNCTION",
    "PROPERTIES",
    "AbstractBilevel",
    "AbstractComposite",
    "AbstractConditional",
    "AbstractFederated",
    "AbstractLocalComposite",
    "AbstractMeta",
    "AbstractMinimax",
    "AbstractProblem",
    "AbstractSampled",
    "AbstractSharedComposite",
    "Draws",
    "InnerSample",
    "OuterSample",
    "Predictions",
    "Sample",
    "batch_mean",
    "client_mean",
]
