"""The trusted part: what a checked derivation rests on. It knows no paper, and no sympy beyond reading a declared statement.

signomial    exact numbers with parameters
known        which samples are known; terms: vectors as data; setting: declarations, from which measurability is derived
algebra      the normal form of vectors and inner products
scalars      inner products, values, quantities and their sums; facts: what has been established
region       conditions and certificates; reader: from the declared statement to both
assumptions  the kinds of assumption with their instances; rules: the rules of inference; derivation: the check of a whole derivation
alternatives a statement under one of several assumptions; corollary: a schedule put into a theorem
"""

from .alternatives import Alternatives, check_each
from .assumptions import (
    Axiom,
    Bounded,
    Heterogeneity,
    Lipschitz,
    LipschitzOperator,
    LowerBound,
    SecondMoment,
    Start,
    StartValue,
    Variance,
)
from .corollary import Corollary, follow
from .derivation import Derivation, Step, Verdict, check
from .facts import Inequality, Quantity
from .known import Known
from .reader import Reader
from .region import Certificate
from .rules import (
    Action,
    Assume,
    AtStart,
    Cases,
    Combine,
    Definition,
    Drift,
    Gronwall,
    IndependentMean,
    IndependentMoment,
    Instance,
    Invariant,
    Later,
    Linear,
    MeanMoment,
    NoisyDrift,
    Open,
    Part,
    Product,
    Project,
    SmoothDescent,
    SumOver,
    Triangle,
    Vanishing,
    Weights,
    WithinRound,
)
from .scalars import Scalar, at, dot, quantity, scalar, sq, total, value
from .setting import (
    COMMUNICATION,
    EVERY,
    FIRST,
    LATER,
    LOCAL,
    Function,
    Index,
    Objective,
    Setting,
    Source,
    Variable,
)
from .signomial import ONE, Param, ProofError, Signomial, parameter, signomial
from .terms import Act, App, Given, Mean, Sum, Term, Var

Plan = Derivation | Alternatives | Corollary
"""What a paper may give for a statement."""

__all__ = [
    "COMMUNICATION",
    "EVERY",
    "FIRST",
    "LATER",
    "LOCAL",
    "ONE",
    "Act",
    "Action",
    "Alternatives",
    "App",
    "Assume",
    "AtStart",
    "Axiom",
    "Bounded",
    "Cases",
    "Certificate",
    "Combine",
    "Corollary",
    "Definition",
    "Derivation",
    "Drift",
    "Function",
    "Given",
    "Gronwall",
    "Heterogeneity",
    "IndependentMean",
    "IndependentMoment",
    "Index",
    "Inequality",
    "Instance",
    "Invariant",
    "Known",
    "Later",
    "Linear",
    "Lipschitz",
    "LipschitzOperator",
    "LowerBound",
    "Mean",
    "MeanMoment",
    "NoisyDrift",
    "Objective",
    "Open",
    "Param",
    "Part",
    "Plan",
    "Product",
    "Project",
    "ProofError",
    "Quantity",
    "Reader",
    "Scalar",
    "SecondMoment",
    "Setting",
    "Signomial",
    "SmoothDescent",
    "Source",
    "Start",
    "StartValue",
    "Step",
    "Sum",
    "SumOver",
    "Term",
    "Triangle",
    "Vanishing",
    "Var",
    "Variable",
    "Variance",
    "Verdict",
    "Weights",
    "WithinRound",
    "at",
    "check",
    "check_each",
    "dot",
    "follow",
    "parameter",
    "quantity",
    "scalar",
    "signomial",
    "sq",
    "total",
    "value",
]
