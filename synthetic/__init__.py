"""Problems whose constants are known and certified.

>>> from fedco.synthetic import problem
>>> problem("feddro_heterogeneous").certificates["inner_jacobian_heterogeneity"].value
0.35
"""

from .catalogue import PRESETS, Preset, problem, problems
from .certificate import QUANTITIES, Certificate
from .kinds.problem import AbstractProblem, Sample

__all__ = ["PRESETS", "QUANTITIES", "AbstractProblem", "Certificate", "Preset", "Sample", "problem", "problems"]
