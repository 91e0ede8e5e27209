"""Every assumption of a derivation at free points: what the kernel would give of it, also where the derivation does not use it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from fedco.bounds.proof.instances import part_of
from fedco.bounds.proof.kernel import (
    App,
    Axiom,
    CentralDifference,
    DifferenceVariance,
    Heterogeneity,
    Lipschitz,
    LipschitzOperator,
    Pair,
    ProofError,
    SecondDifference,
    Setting,
    Term,
    Var,
)
from fedco.bounds.proof.kernel.assumptions import OF_FUNCTIONS
from fedco.bounds.proof.kernel.derivation import Progress
from fedco.bounds.proof.kernel.facts import Fact, Moment
from fedco.bounds.proof.kernel.setting import Function
from fedco.bounds.proof.runs import sized_vectors

TWO = (Lipschitz, LipschitzOperator)
MOVED = (CentralDifference, SecondDifference, DifferenceVariance)


def allowed(progress: Progress) -> dict[str, Fact]:
    """Every assumption at free points, with and without its samples, wherever the kernel gives an instance of it.

    So an assumption is tried also where its derivation does not use it, such as for every sample instead of the mean.
    """
    state, setting = progress.state.copy(), progress.derivation.setting
    found: dict[str, Fact] = {}
    sized = {state.algebra.normal(v): size for v, size in sized_vectors(progress).items()}
    state.sizes = {v: Moment(v, None, size**2) for v, size in sized.items()}
    for name, axiom in state.axioms.items():
        if not isinstance(axiom, OF_FUNCTIONS):
            continue
        for drawn in product((0, None), repeat=len(setting.function(axiom.function).sources)):
            acting = isinstance(axiom, LipschitzOperator) or (isinstance(axiom, Heterogeneity) and axiom.in_mean)
            moving = isinstance(axiom, MOVED)
            vectors = [(v,) for v in sized] if moving else [*_vectors(setting), *((v,) for v in sized)]
            for chosen in vectors if acting or moving else [()]:
                points = _points(setting, setting.function(axiom.function))
                terms = _moved(axiom, points, drawn, *chosen) if moving else _values(axiom, points, drawn) + chosen
                try:
                    found[f"{name} {drawn} {chosen}"] = axiom.instance(state, terms)
                except ProofError:
                    continue
    return found


def _values(axiom: Axiom, points: tuple[Term, ...], drawn: tuple[int | None, ...]) -> tuple[Term, ...]:
    """The function at a free point, or at two of them."""
    return tuple(App(axiom.function, point, drawn) for point in points[: 1 + isinstance(axiom, TWO)])  # type: ignore[attr-defined]


def _moved(axiom: Axiom, points: tuple[Term, ...], drawn: tuple[int | None, ...], vector: Term) -> tuple[Term, ...]:
    """The function at free points that are moved by a part of a vector."""
    (first, second), by = points, Fraction(1, 8) * vector
    if isinstance(axiom, CentralDifference):
        ends = (App(axiom.function, first + by, drawn), App(axiom.function, first - by, drawn))
        return (*ends, App(axiom.derivative, first, drawn))
    chosen = (first, second) if isinstance(axiom, SecondDifference) else (first,)
    return tuple(App(axiom.function, place, drawn) for point in chosen for place in (point + by, point))  # type: ignore[attr-defined]


def _points(setting: Setting, function: Function) -> tuple[Term, ...]:
    """Two arguments of a function: free points of its space, or the mean inner map at them; with a free label where it has one."""
    vectors = sorted((v for v in setting.variables if v.space == "x"), key=lambda v: (bool(v.equations), len(v.index)))
    points: tuple[Term, ...] = tuple(Var(v.name) for v in vectors)[:2]
    if function.domain != "x":
        (inner,) = (f for f in setting.functions if f.space == function.domain)
        points = tuple(inner.averaged(point) for point in _points(setting, inner))
    labels = [Var(v.name) for v in setting.variables if v.is_free and v.space == function.label]
    return tuple(Pair(point, labels[0]) for point in points) if function.label else points


def _vectors(setting: Setting) -> Iterator[tuple[Term, ...]]:
    for function in setting.functions:
        if part_of(setting, function)[0] == "outer":
            for drawn in product((0, None), repeat=len(function.sources)):
                yield (App(function.name, _points(setting, function)[0], drawn),)
