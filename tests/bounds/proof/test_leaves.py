"""Each statement of each derivation on small instances, all outcomes enumerated: it holds, and its assumptions are nearly attained."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from fedco.bounds import get_theorem
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import FIRST, LATER, CentralDifference, Loop, Source, Var
from fedco.bounds.proof.kernel.facts import Equation
from fedco.bounds.proof.leaves import (
    FUNCTIONS,
    STYLES,
    allowed,
    both_sides,
    conclusion,
    derivation_names,
    established,
    examine,
    instance,
    instances,
    leaf_names,
)

IDS = derivation_names()
QUICK = tuple(s for s in STYLES if s.horizon == 1 or s.loud == 0 or s.name == "straight, large")
LOOPS = tuple(name for name in IDS if isinstance(derivation(get_theorem(name.partition(" ")[0])), Loop))
NEARLY = 0.98
"""Share of its bound that each assumption attains on some instance."""
NOT_ATTAINED = (
    {("feddro.theorem_5_1", "bounded"): 0.6}
    | {
        (f"comfedl.theorem_{i}", leaf): ratio
        for i in (1, 2)
        for leaf, ratio in (("bias.outer", 0.47), ("smooth", 0.19))
    }
    | {(f"meta_fl.lemma_{i}", "moved.hessian"): 0.81 for i in (4, 6, 7)}
    | {("meta_fl.lemma_7", "unlike.hessian"): 0.06}
    | {
        ("meta_fl.lemma_11", leaf): ratio
        for leaf, ratio in (
            ("moved.hessian", 0.81),
            ("moved.difference", 0.81),
            ("q.central", 0.06),
            ("mean.central", 0.003),
        )
    }
)
"""Leaves that no instance nearly attains, with what was measured.

FedDRO: the infimum is far after 256 admissible steps. ComFedL: the smoothness of F is taken from the product rule, which is not
exact, and no instance is at the edge of the outer function for all its samples. Meta FL: the operators act on the gradient through
the path, which is largest where the Hessians vanish; on free vectors their assumptions are attained. A central difference errs most
where the Hessian has its kink in the middle (`test_a_central_difference_errs_by_no_more`)."""

ATTAINED = tuple(kind for kind in FUNCTIONS if kind is not CentralDifference)


@cache
def checked(name):
    return established(name)


@cache
def runs(name):
    return instances(checked(name), QUICK)


@cache
def quick(name):
    return examine(checked(name), runs(name))


@pytest.mark.parametrize("name", IDS)
def test_every_step_holds_on_small_instances(name):
    found, steps = quick(name), len(checked(name).derivation.steps)
    assert found.compared > min(10, steps) * len(QUICK) and not found.failed, str(found.failed[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_every_step_holds_on_every_instance(name):
    found = examine(checked(name), instances(checked(name)))
    assert not found.failed, str(found.failed[0])


@pytest.mark.parametrize("name", IDS)
def test_every_assumption_is_nearly_attained(name):
    """A leaf is an instance of an assumption or of independence; an equation such as a common start has no two sides."""
    found, progress = quick(name), checked(name)
    leaves = {leaf for leaf in leaf_names(progress) if not isinstance(progress.state.facts[leaf], Equation)}
    assert leaves == set(found.tightest)
    loose = {(name, leaf): ratio for leaf, ratio in found.tightest.items() if ratio < NEARLY}
    assert loose.keys() == {key for key in NOT_ATTAINED if key[0] == name}
    assert all(ratio >= NOT_ATTAINED[key] for key, ratio in loose.items())


@pytest.mark.parametrize("name", IDS)
def test_what_the_assumptions_allow_is_true(name):
    """With and without samples, at free points, also where the derivation does not use it."""
    progress = checked(name)
    facts = allowed(progress)
    found = examine(progress, runs(name), facts)
    for axiom in (key for key, a in progress.state.axioms.items() if isinstance(a, FUNCTIONS)):
        assert any(key.startswith(f"{axiom} (") for key in facts), axiom
    assert not found.failed, str(found.failed[0])


@pytest.mark.parametrize("name", LOOPS)
def test_every_assumption_of_a_loop_is_nearly_attained_at_free_points(name):
    progress = checked(name)
    found = examine(progress, runs(name), allowed(progress))
    for axiom in (key for key, a in progress.state.axioms.items() if isinstance(a, ATTAINED)):
        assert max(r for key, r in found.tightest.items() if key.startswith(f"{axiom} (")) >= NEARLY, axiom


# --- planted slips ----------------------------------------------------------------------------------------------------


def with_axiom(progress, name, axiom):
    """The instances at free points of another assumption in the place of one of the derivation."""
    state = replace(progress.state.copy(), axioms={**progress.state.axioms, name: axiom})
    return {key: f for key, f in allowed(replace(progress, state=state)).items() if key.startswith(f"{name} (")}


@pytest.mark.parametrize("name", IDS)
def test_a_constant_that_is_too_small_is_caught(name):
    """0.98 times the constant of each assumption about a function."""
    progress = checked(name)
    for key, axiom in progress.state.axioms.items():
        if isinstance(axiom, ATTAINED):
            slipped = with_axiom(progress, key, replace(axiom, constant=axiom.constant * Fraction(98, 100)))
            assert slipped and examine(progress, runs(name), slipped).failed, key


def test_an_assumption_about_the_mean_taken_for_every_sample_is_caught():
    """What this harness found: FedDRO bounds the Jacobian of the mean map; its derivation had assumed it of every sample."""
    progress = checked("feddro.theorem_5_1")
    for key in ("inner Jacobian", "inner smoothness", "extra smoothness"):
        facts = with_axiom(progress, key, replace(progress.state.axioms[key], of_mean=False))
        assert examine(progress, runs("feddro.theorem_5_1"), facts).failed, key


def test_noise_shared_by_the_clients_is_caught():
    progress = checked("baselines.local_sgd")
    setting = progress.derivation.setting
    shared = replace(setting, sources=(Source("xi", ("i",), "independence"),))
    state = replace(progress.state.copy(), setting=shared)
    run = instance(STYLES[0], replace(progress, state=state, derivation=replace(progress.derivation, setting=shared)))
    failed = {n for n in leaf_names(progress) for one in both_sides(n, progress.state.facts[n], run) if not one.holds}
    assert failed == {"noise.clients"}


def test_feddro_may_keep_its_first_estimate():
    """The other reading of the start: step 0 uses the given estimate. No step about step 0 holds then, but the statement does."""
    progress, given = checked("feddro.theorem_5_1"), Var("y", -1)
    setting = progress.derivation.setting
    y = setting.variable("y")
    kept = replace(y, equations=((FIRST, given), *((phases & LATER, term) for phases, term in y.equations)))
    other = replace(setting, variables=(kept, *(v for v in setting.variables if v.name != "y")))
    state = replace(progress.state.copy(), setting=other)
    changed = replace(progress, state=state, derivation=replace(progress.derivation, setting=other))
    fact, ratios = conclusion(progress), []
    for style in QUICK:
        (one,) = both_sides("conclusion", fact, instance(style, changed))
        assert one.holds, str(one)
        ratios.append(one.ratio)
    assert max(ratios) > 0.04


def test_a_wrong_size_is_caught():
    """A batch of B at step 0, and of b later, in the place of each other."""
    progress = checked("fcsg.theorem_4_1")
    (style,) = (s for s in STYLES if s.name == "batches")
    run = instance(style, progress)
    later, first = (progress.state.facts[f"noise.batch.{when}"] for when in ("later", "first"))
    for fact, other in ((later, first), (first, later)):
        assert all(one.holds for one in both_sides("batch", fact, run))
        assert not all(one.holds for one in both_sides("batch", replace(fact, phases=other.phases), run))


def test_the_instances_are_not_degenerate():
    """Noise in every function of samples, clients that differ, batches of other sizes at step 0, B_g from 1e-3 to 1e3."""
    assert {style.scale for style in STYLES} == {Fraction(1, 1000), Fraction(1), Fraction(1000)}
    assert any(style.b == 2 and style.B == 3 for style in STYLES) and any(style.m == 2 for style in STYLES)
    assert any(style.period == 1 for style in STYLES)
    assert any(style.horizon % style.period for style in STYLES), "a last short round"
