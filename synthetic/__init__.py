"""Problems whose constants are known and certified.

>>> from fedco.synthetic import problem
>>> problem("feddro_heterogeneous").certificates["inner_jacobian_heterogeneity"].value
0.35
"""

from .catalogue import PRESETS, Preset, problem, problems
from .certificate import Certificate, by_quantity
from .kinds import (
    AbstractConditional,
    AbstractFederated,
    AbstractLocalComposite,
    AbstractMeta,
    AbstractProblem,
    AbstractSharedComposite,
    Sample,
)

__all__ = [
    "PRESETS",
    "AbstractConditional",
    "AbstractFederated",
    "AbstractLocalComposite",
    "AbstractMeta",
    "AbstractProblem",
    "AbstractSharedComposite",
    "Certificate",
    "Preset",
    "Sample",
    "by_quantity",
    "problem",
    "problems",
]
