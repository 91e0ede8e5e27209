"""The trusted part: what a checked derivation rests on. It knows no paper, and no sympy beyond reading a declared statement.

signomial    exact numbers with parameters
known        which samples are known; terms: vectors as data; setting: declarations, from which measurability is derived
algebra      the normal form of vectors and inner products
scalars      inner products, values, quantities and their sums; facts: what has been established
region       conditions and certificates; reader: from the declared statement to both
assumptions  the kinds of assumption with their instances; readings: those of a statement, read off its symbols; problem: what is declared,
             compared with the statement; rules: the rules of inference; derivation: the check of a whole derivation
sequences    numbers given by a recursion; loop: statements about a loop of nu steps inside one step of a method;
             deliveries: what the constants of such a statement bound
alternatives a statement under one of several assumptions; corollary: a schedule put into a theorem
"""
# ruff: noqa: F401 (what is imported here is what the package offers)

from .alternatives import Alternatives, cases_of, check_each, with_cases
from .assumptions import (
    Accuracy,
    Axiom,
    Bounded,
    BoundedNoise,
    CentralDifference,
    Compressor,
    ConvexClients,
    Convexity,
    Declared,
    DifferenceVariance,
    Heterogeneity,
    Lipschitz,
    LipschitzOperator,
    LowerBound,
    Minimum,
    Mixing,
    PolyakLojasiewicz,
    RandomSet,
    SecondDifference,
    SecondMoment,
    Smooth,
    Start,
    StartValue,
    StrongConvexity,
    Variance,
)
from .corollary import Corollary, follow
from .derivation import AtNumbers, Derivation, Lemma, Step, Verdict, check
from .facts import Inequality, Quantity
from .known import Known
from .loop import Delivery, Loop, named, run_through
from .reader import Reader
from .readings import AboveTangents, Assumed
from .region import Certificate
from .rules import (
    Action,
    Along,
    Assume,
    AtStart,
    Cases,
    CauchySchwarz,
    Combine,
    Conditional,
    Definition,
    Delay,
    Drift,
    Geometric,
    Gronwall,
    Held,
    Identity,
    IndependentMean,
    IndependentMoment,
    Induction,
    Instance,
    Invariant,
    Later,
    Length,
    Linear,
    Martingale,
    MeanMoment,
    NoisyDrift,
    Open,
    Part,
    Product,
    Project,
    ReversedPower,
    Smaller,
    SmoothDescent,
    Substitute,
    SumOver,
    Suppose,
    Sure,
    Triangle,
    Vanishing,
    Weighted,
    Weights,
    WithinRound,
)
from .scalars import Scalar, at, dot, quantity, scalar, sq, total, value
from .sequences import Numbers, Sequence
from .setting import (
    BATCH,
    CLIENTS,
    COMMUNICATION,
    COMPRESSOR,
    EVERY,
    FIRST,
    LATER,
    LOCAL,
    MIXING,
    PLACES,
    Function,
    Index,
    Objective,
    Setting,
    Source,
    Variable,
)
from .signomial import CLOCK, ONE, POSITION, Param, ProofError, Signomial, clock, parameter, signomial
from .terms import Act, App, Given, Mean, Pair, Sum, Term, Var

Plan = Derivation | Alternatives | Corollary | Loop
"""What a paper may give for a statement."""
