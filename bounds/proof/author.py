"""What a derivation is written with: declarations, and steps that say a claim and its reasons.

    proof = Proof(s, time="independence")
    clients = proof.clients(s.N)
    ...
    proof.claim("noise", sq(clients(noise)) <= s.sigma**2 / s.N, proof.independent(noise, "n"), proof.bound("sigma", noisy))

Every method for a step returns its name, so that it can stand where a later step gives its reasons. Nothing here need be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, combinations, count
from typing import Any

from ..language.bounding import MEAN, MEAN_SQUARE
from .claims import Claim, Conclusion, Vanishes
from .kernel import (
    BATCH,
    CLIENTS,
    COMMUNICATION,
    EVERY,
    FIRST,
    LATER,
    LOCAL,
    ONE,
    AboveTangents,
    Act,
    Action,
    App,
    Assume,
    Assumed,
    AtStart,
    Cases,
    Convexity,
    Declared,
    Definition,
    Derivation,
    Drift,
    Function,
    Geometric,
    Given,
    IndependentMean,
    Index,
    Instance,
    Known,
    Later,
    Lemma,
    Martingale,
    Mean,
    MeanMoment,
    Minimum,
    NoisyDrift,
    Objective,
    Product,
    Project,
    Quantity,
    Reader,
    Scalar,
    Setting,
    Signomial,
    SmoothDescent,
    Source,
    Start,
    Step,
    Sum,
    SumOver,
    Term,
    Triangle,
    Var,
    Variable,
    Weighted,
    clock,
    dot,
    quantity,
    scalar,
    sq,
    total,
    value,
)
from .kernel.region import Certificate
from .kernel.rules import Rule
from .kernel.scalars import Claimed

Written = Callable[[Term], Term]
PHASES = {"every": EVERY, "local": LOCAL, "communication": COMMUNICATION, "first": FIRST, "later": LATER}
PHASES |= {
    f"{when}_{step}": PHASES[when] & PHASES[step] for when in ("first", "later") for step in ("local", "communication")
}


def functions_in(terms: Iterable[Term]) -> str:
    """The function that is applied in the first of the terms that is a value of one."""
    return next(term.function for term in terms if isinstance(term, App))


def differences(*parts: Term) -> tuple[Term, ...]:
    """a - b for each two of n vectors: their squared norms add up to n (||a_1||^2 + ... + ||a_n||^2) - ||a_1 + ... + a_n||^2."""
    return tuple(a - b for a, b in combinations(parts, 2))


def free_name(name: str, taken: Container[str]) -> str:
    """The name, with a number where it is taken."""
    names = chain([name], (f"{name} {i}" for i in count(2)))
    return next(each for each in names if each not in taken)


@dataclass
class Proof:
    """A derivation while it is written.

    Args:
        s: the symbols of the statement. time: the assumption that samples of different steps are independent.
        pathwise: every step holds along a run, or with the probability of the statement (`martingale`); none is about an expectation.
    """

    s: Reader
    time: str
    indices: list[Index] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    objectives: list[Objective] = field(default_factory=list)
    quantities: list[Quantity] = field(default_factory=list)
    axioms: dict[str, Declared] = field(default_factory=dict)
    offset: Signomial | None = None
    steps: list[Step] = field(default_factory=list)
    pathwise: bool = False

    def clock(self, offset: Signomial) -> Signomial:
        """t + offset at step t: by it step sizes a/(t + t0) decline, and weights of claims grow."""
        self.offset = offset
        return clock()

    # --- declarations ---------------------------------------------------------------------------------------------------

    def index(
        self, name: str, size: Signomial, identical: str = "", *, first: Signomial | None = None, of: str = ""
    ) -> Written:
        """An index; returns the mean over it."""
        self.indices.append(Index(name, size, identical, first, of))
        return lambda term: Mean(name, term)

    def size(self, index: str) -> Signomial:
        """How many values an index has."""
        return next(each.size for each in self.indices if each.name == index)

    def clients(self, size: Signomial, name: str = "n") -> Written:
        return self.index(name, size, of=CLIENTS)

    def batch(self, name: str, size: Signomial, identical: str, first: Signomial | None = None) -> Written:
        return self.index(name, size, identical, first=first, of=BATCH)

    def source(self, name: str, over: str, independent: str, joint: str = "") -> None:
        """Fresh samples over some indices; over those in `joint` they may depend on each other."""
        self.sources.append(Source(name, tuple(over.split()), independent, tuple(joint.split())))

    def function(
        self,
        name: str,
        maps: str,
        samples: str = "",
        *,
        role: str,
        per: str = "n",
        mean_per: str | None = None,
        equal: str = "",
        label: str = "",
    ) -> Callable[..., App]:
        """A function, such as "x -> y", or "x -> (x, y)" for operators from y to x.

        Returns:
            f(point) for its mean over the samples, f(point, 0) with the first sample of step t, and so on.
        """
        domain, _, to = maps.partition(" -> ")
        space = tuple(to[1:-1].split(", ")) if to.startswith("(") else to
        own = frozenset(per.split())
        left = frozenset() if equal else own if mean_per is None else frozenset(mean_per.split())
        names = tuple(samples.split())
        self.functions.append(Function(name, domain, space, names, own, left, equal, label, role))  # type: ignore[arg-type]
        return lambda point, *drawn: App(name, point, (*drawn, *[None] * (len(names) - len(drawn))))

    def variable(self, name: str, space: str, per: str = "", defined: int = 1, /, **updates: Term) -> Var:
        """A variable with its next value at the steps `every`, `local`, `communication`, `first`, `later` or `first_local`, and so on.

        Without any it is a free point; with `defined` 0 the updates give its value at the step itself.
        """
        equations = tuple((PHASES[phase], term) for phase, term in updates.items())
        self.variables.append(Variable(name, space, frozenset(per.split()), equations, defined))
        return Var(name)

    def older(self, name: str, of: str, steps: Signomial) -> Var:
        """A variable that is another one of so many steps before; of step 0 where that was never."""
        newer = next(each for each in self.variables if each.name == of)
        self.variables.append(Variable(name, newer.space, newer.index, of=of, behind=steps))
        return Var(name)

    @property
    def points(self) -> tuple[Var, Var]:
        """The free points p and r, between which an objective is smooth."""
        return Var("p"), Var("r")

    def free(self, names: str, space: str, per: str = "") -> tuple[Var, ...]:
        return tuple(self.variable(name, space, per) for name in names.split())

    def objective(self, name: str, gradient: Written, assumption: str, at: str = "p") -> None:
        self.objectives.append(Objective(name, at, gradient(Var(at)), assumption))

    def minimiser(self, name: str = "w", space: str = "x") -> App:
        """The point where the objective is least."""
        return self.function(name, f"{space} -> {space}", role="minimiser", per="")(Sum(()))

    def quantity(self, name: str, meaning: Scalar) -> Scalar:
        """A name for a number at step t."""
        self.quantities.append(Quantity(name, meaning))
        return quantity(name)

    def named(self, **meanings: Scalar) -> None:
        """Names for several numbers at step t."""
        for name, meaning in meanings.items():
            self.quantity(name, meaning)

    @property
    def past(self) -> Known:
        return Known.before([source.name for source in self.sources])

    def known(self, samples: str = "") -> Known:
        """The past, and the samples of some sources at step t."""
        found = self.past
        for name in samples.split():
            found = found | Known.sample(name)
        return found

    def given(self, term: Term, samples: str = "") -> Term:
        """The expectation given the past and some samples."""
        return Given(self.known(samples), term)

    # --- steps ------------------------------------------------------------------------------------------------------------

    def step(self, name: str, rule: Rule, why: str = "") -> str:
        """Any step; a name that is taken gets a number."""
        name = free_name(name, self.names)
        self.steps.append(Step(name, rule, why))
        return name

    def claim(
        self,
        name: str,
        claimed: Claimed,
        *by: str,
        squares: tuple[Term, ...] = (),
        given: Mapping[str, Signomial | int | Fraction] | None = None,
        certificates: tuple[Certificate, ...] = (),
        equal: bool = False,
        why: str = "",
    ) -> str:
        """left <= right because of earlier steps: inequalities, and equations that are paired with vectors.

        Args:
            squares: vectors whose squared norms may be left out. given: the multipliers of some steps, where they are not determined.
        """
        reasons = tuple(part for each in by for part in ([each] if each in self.names else each.split()))
        fixed = tuple((step, ONE * factor) for step, factor in (given or {}).items())
        left, right = claimed.left, claimed.right
        return self.step(name, Claim(left, right, reasons, squares, fixed, equal, certificates), why)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(step.name for step in self.steps)

    def zero(self, name: str, term: Term, *by: str, why: str = "") -> str:
        """term = 0, a linear combination of earlier equations."""
        return self.step(name, Vanishes(term, by), why)

    def bounded(self, symbol: str, of: str, **used: Any) -> str:
        """That a symbol bounds what it says of a function, for the bounds of its values; `per`, `kind` and `given` as in `Assumed`."""
        assumed = Assumed(symbol, of, **used)
        same = [key for key, item in self.axioms.items() if item == assumed]
        key = same[0] if same else free_name(f"{symbol} of {of}", self.axioms)
        self.axioms[key] = assumed
        return key

    def bound(
        self, symbol: str, *terms: Term, of: str = "", name: str = "", sizes: tuple[str, ...] = (), **used: Any
    ) -> str:
        """What a symbol says of the function that is applied in the first term, at these terms."""
        of = of or functions_in(terms)
        return self.step(name or f"{symbol} of {of}", Assume(self.bounded(symbol, of, **used), terms, sizes))

    def convex(self, entry: str, here: Term, there: Term, objective: str = "F", name: str = "convexity") -> str:
        """F(there) >= F(here) + <grad F(here), there - here>, by an entry of the list of assumptions."""
        self.axioms[f"{entry}: convexity"] = Convexity(entry, objective)
        return self.step(name, Assume(f"{entry}: convexity", (here, there)))

    def convex_clients(
        self, entry: str, symbol: str, gradient: App, above: Term, below: Term, name: str = "three points"
    ) -> str:
        """F(above) - F(below) <= <grad F_n(y_n), above - below> + L/2 ||above - y_n||^2, by an entry of the list and the constant of the
        symbol L, where the gradient is that of the clients' convex F_n at y_n."""
        self.axioms[f"{entry}: clients"] = AboveTangents(entry, symbol, "F")
        return self.step(name, Assume(f"{entry}: clients", (gradient, above, below)))

    def least(self, entry: str, point: Term, objective: str = "F", name: str = "minimum") -> str:
        """F(x_*) <= F(point), by an entry of the list of assumptions."""
        least = next(f.name for f in self.functions if f.role == "minimiser")
        self.axioms[f"{entry}: minimum"] = Minimum(entry, objective, least)
        return self.step(name, Assume(f"{entry}: minimum", (point,)))

    def start(self, entry: str, term: Term, name: str = "") -> str:
        """term = 0 at step 0, by an entry of the list of assumptions; with a name where the entry says several such things."""
        name = name or entry
        self.axioms[name] = Start(entry, term)
        return self.step(name, Assume(name))

    def update(self, variable: str, phase: str = "local", name: str = "") -> str:
        """The update equation of a variable."""
        return self.step(name or f"{variable} {phase}", Definition(variable, phase))

    def mean(self, equation: str, over: str = "", given: Known | None = None) -> str:
        """The mean of an equation over indices, or its expectation given samples."""
        return self.step(
            f"{equation}, mean" if over else f"{equation}, expected", Project(equation, tuple(over.split()), given)
        )

    def cases(self, name: str, *steps: str) -> str:
        """The same conclusion at different kinds of step."""
        return self.step(name, Cases(steps))

    def independent(self, term: Term, over: str, given: str = "", *, first: bool = False, name: str = "") -> str:
        """||mean z||^2 = ||z||^2 / n for terms that are centred and independent over an index given the past (and samples)."""
        return self.step(name or f"independence over {over}", IndependentMean(term, over, self.known(given), first))

    def act(self, operator: str, vector: Term, *, bounded: bool = False, name: str = "", why: str = "") -> str:
        """||M v||^2 <= bound(M) ||v||^2, or with `bounded` by the sure bound of v."""
        return self.step(name or "conditional Cauchy-Schwarz", Action(operator, vector, bounded), why)

    def jensen(self, moment: str, over: str, name: str = "") -> str:
        """The bound of an operator, for its mean over indices."""
        return self.step(name or f"{moment}, mean", MeanMoment(moment, tuple(over.split())))

    def product(self, operator: str, vector: str, why: str = "") -> str:
        """E||M v||^2 <= a b from bounds of M and of v given what M is made from."""
        return self.step("product", Product(operator, vector), why)

    def triangle(self, name: str, common: Scalar, *parts: tuple[str, Term, Signomial]) -> str:
        """||a_1 + a_2||^2 <= (r_1 + r_2)^2 R from ||a_i||^2 <= r_i^2 R; (step, a_i, r_i) each."""
        return self.step(name, Triangle(parts, common))

    def at(self, step: str, why: str = "", name: str = "", **points: Term) -> str:
        """A statement about free points, at others."""
        return self.step(name or f"{step}, there", Instance(step, tuple(points.items())), why)

    def later(self, step: str, by: int = 1) -> str:
        return self.step(f"{step}, later", Later(step, by))

    def smooth(
        self, objective: str, lipschitz: str, constant: Signomial, here: Term, there: Term, other: str = "r"
    ) -> str:
        """The descent lemma between two points."""
        return self.step("descent lemma", SmoothDescent(objective, lipschitz, constant, other, here, there))

    def sum(self, step: str, name: str = "", **options: Any) -> str:
        return self.step(name or f"{step}, summed", SumOver(step, **options))

    def contraction(self, step: str, of: str, factor: Signomial, rest: Signomial, name: str = "", why: str = "") -> str:
        """Q_T <= factor^T Q_0 + rest from Q_{t+1} <= factor Q_t + c."""
        return self.step(name or f"{step}, all steps", Geometric(of, step, factor, rest), why)

    def weighted(
        self,
        step: str,
        weights: Mapping[str, Signomial],
        name: str = "",
        why: str = "",
        summed: Mapping[str, Signomial] | None = None,
        start: int = 0,
    ) -> str:
        """w(T) Q_T <= w(0) Q_0 + T c from w(t + 1) Q_{t+1} <= w(t) Q_t + c, for polynomials w in the clock, of one or more quantities Q;
        what `summed` quantities add on the left at every step, with their weights, is added up. With `start` = 1 from the steps t >= 1."""
        rule = Weighted(tuple(weights.items()), step, tuple((summed or {}).items()), start)
        return self.step(name or f"{step}, all steps", rule, why)

    def martingale(
        self, name: str, product: str, square: str, vector: Term, symbol: str, sample: App, over: str, share: Signomial
    ) -> str:
        """But for the probability of the statement, the sum of `product` is at most share/2 that of `square`, + c^2/(share m) log(1/delta).

        They are the quantities <vector, noise> and ||vector||^2 for the mean noise of a sample, which the symbol bounds by c, and which
        is independent `over` indices of m values.
        """
        axiom = self.bounded(symbol, sample.function)
        return self.step(name, Martingale(product, square, vector, axiom, sample, tuple(over.split()), share))

    def at_start(self, step: str) -> str:
        return self.step(f"{step}, at 0", AtStart(step))

    def qed(
        self,
        *by: str,
        metric: str,
        model: str,
        inside: Mapping[str, Fraction | int] | None = None,
        given: Mapping[str, Signomial | int] | None = None,
        lemmas: tuple[Lemma, ...] = (),
        either: str = "",
    ) -> Derivation:
        """The statement is the sum of these steps, with multipliers; every symbol that `inside` does not name is 1 at the point inside."""
        fixed = tuple((step, ONE * factor) for step, factor in (given or {}).items())
        return Derivation(
            self.setting,
            tuple(self.quantities),
            self.axioms,
            tuple(self.steps),
            Conclusion(by, fixed),  # type: ignore[arg-type]
            metric,
            model,
            {name: Fraction(number) for name, number in (inside or {}).items()},
            self.time,
            lemmas,
            either,
            self.offset,
            self.pathwise,
        )

    @property
    def setting(self) -> Setting:
        functions, variables = tuple(self.functions), tuple(self.variables)
        return Setting(tuple(self.indices), tuple(self.sources), functions, variables, tuple(self.objectives))


__all__ = ["MEAN", "MEAN_SQUARE", "Act", "Drift", "NoisyDrift", "dot", "scalar", "sq", "total", "value"]
"""What a derivation needs beside the rest, and this file hands on."""
