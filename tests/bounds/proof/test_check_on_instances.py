"""Each statement of each derivation on small instances, all outcomes enumerated: it holds, and its assumptions are nearly attained."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import pytest
from altered import with_stated
from fedco.bounds import get_theorem
from fedco.bounds.evaluation.enclosure import fmpq_of
from fedco.bounds.evaluation.evaluate import fraction_of
from fedco.bounds.language.change import narrowed
from fedco.bounds.language.quantities import QUANTITIES
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.check_on_instances import (
    NORMAL,
    STATEMENT,
    STYLES,
    as_written,
    both_sides,
    conclusion,
    derivation_names,
    established,
    examine,
    instance,
    instances,
    leaf_names,
)
from fedco.bounds.proof.derivations import unsolved
from fedco.bounds.proof.instances import constant
from fedco.bounds.proof.kernel import (
    FIRST,
    LATER,
    Along,
    Assume,
    CentralDifference,
    ConvexClients,
    Convexity,
    Loop,
    Minimum,
    Param,
    SmoothDescent,
    Source,
    StrongConvexity,
    Var,
    signomial,
)
from fedco.bounds.proof.kernel.assumptions import OF_FUNCTIONS
from fedco.bounds.proof.kernel.facts import Equation
from fedco.bounds.proof.runs import metric_at, unmeasured
from flint import fmpq
from free_points import allowed
from quick import slow_but
from representatives import NAMES, SHORT

IDS = derivation_names()
QUICK = tuple(s for s in STYLES if s.horizon == 1 or s.loud == 0 or s.name == "straight, large")
LOOPS = tuple(name for name in IDS if isinstance(unsolved(get_theorem(name.partition(" ")[0])), Loop))
REVERSED = tuple(name for name in LOOPS if name.partition(" ")[0] + " before:" in LOOPS and " " not in name)
"""Loops that go back along what another made."""
NEARLY = 0.98
"""Share of its bound that each assumption attains on some instance."""
FAR = {"library.sgd_declining": {"infimum": 0.5}, "library.scgd_declining": {"infimum": 0.5}}
"""Less of some: steps that decline do not come to the infimum in as few steps as an instance has."""
ALLOWED = (*SHORT, "local_scgdm.theorem_3_4 A")
"""Operators beside gradients. Central and second differences are tried on an instance in `test_differences.py`."""
ATTAINED = tuple(kind for kind in OF_FUNCTIONS if kind is not CentralDifference)
"""Assumptions that free points attain. A central difference errs most where the Hessian has its kink in the middle."""


@cache
def runs(name):
    """All styles for a loop, whose instances are small; it goes back along what the loop before made."""
    return instances(established(name), STYLES if name in LOOPS else QUICK)


@cache
def free(name):
    """The same with free points, where a loop goes back along another."""
    return instances(established(name), QUICK, free=True) if name in REVERSED else runs(name)


@cache
def quick(name):
    return examine(established(name), runs(name))


@pytest.mark.parametrize("name", slow_but(SHORT, IDS))
def test_every_step_holds_on_small_instances(name):
    found, steps = quick(name), len(established(name).derivation.steps)
    assert found.compared > min(10, steps) * len(QUICK) and not found.failed, str(found.failed[0])


@pytest.mark.parametrize("by", [1, -1])
@pytest.mark.parametrize("pathwise", [False, True])
def test_what_is_written_is_compared_with_its_normal_form(by, pathwise):
    """A side that is larger or smaller as it is written; as an expectation, and outcome by outcome."""
    progress = established("library.gd_convex")
    fact = progress.state.facts["approach"]
    left, right = fact.sides
    run = next(iter(runs("library.gd_convex").values()))
    view = run.outcome_by_outcome() if pathwise else run
    assert all(one.holds for one in both_sides("approach", fact, view))
    slipped = list(both_sides("approach", replace(fact, sides=(left + by, right)), view))
    assert slipped and {one.step for one in slipped if not one.holds} == {f"approach{NORMAL}"}


@pytest.mark.parametrize("name", slow_but(SHORT, LOOPS))
def test_every_step_of_a_loop_and_its_constants_are_compared(name):
    progress, found = established(name), quick(name)
    constants = {f"{STATEMENT} {each.target}".strip() for each in progress.derivation.delivers}
    assert found.steps == {step.name for step in progress.derivation.steps} | constants


@pytest.mark.parametrize("name", slow_but(SHORT, REVERSED))
def test_the_steps_of_a_loop_hold_at_free_points_too(name):
    """All but what rests on the loop before."""
    progress = established(name)
    found = examine(progress, free(name))
    assert not found.failed and found.steps and not found.steps & set(along(progress))


def along(progress):
    """The steps about vectors of the loop before."""
    return [step.name for step in progress.derivation.steps if isinstance(step.rule, Along) and step.rule.left.parts]


@pytest.mark.parametrize("name", slow_but(SHORT, REVERSED))
def test_what_is_read_in_reverse_is_nearly_attained(name):
    """Where a bound of the loop before is: two paths come closer on convex functions, but for long steps."""
    progress = established(name)
    for step in along(progress):
        fact = progress.state.facts[step]
        best = max(one.ratio or 0 for run in runs(name).values() for one in both_sides(step, fact, run))
        assert best >= (0.93 if (name, step) == ("meta_fl.lemma_4", "end") else NEARLY), step


def kinds(names):
    """The rules of these derivations, the assumptions that they may use, and over what and where their metrics are taken."""
    found = [established(name) for name in names]
    rules = {type(step.rule) for each in found for step in each.derivation.steps}
    metrics = {
        (metric.over, metric.at, "probability" in metric.name) for metric in (each.theorem.metric for each in found)
    }
    return rules | {type(axiom) for each in found for axiom in each.state.axioms.values()} | metrics


@pytest.mark.slow
def test_the_names_of_the_quick_suite_use_every_rule_assumption_and_metric():
    assert kinds(NAMES) == kinds(IDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_every_step_holds_on_every_instance(name):
    found = examine(established(name), instances(established(name)))
    assert not found.failed, str(found.failed[0])


def is_about_values(progress, rule) -> bool:
    """Whether a step compares values of the objective, whose ratio says nothing: `test_convex.py` tries these."""
    axioms = progress.state.axioms
    shape = isinstance(rule, Assume) and isinstance(
        axioms.get(rule.axiom), Convexity | ConvexClients | StrongConvexity | Minimum
    )
    shifted = any(function.role == "minimiser" for function in progress.derivation.setting.functions)
    return shape or (isinstance(rule, SmoothDescent) and shifted)


@pytest.mark.parametrize("name", slow_but(SHORT, IDS))
def test_every_assumption_is_nearly_attained(name):
    """A leaf is an instance of an assumption or of independence; an equation such as a common start has no two sides."""
    found, progress = quick(name), established(name)
    leaves = {leaf for leaf in leaf_names(progress) if not isinstance(progress.state.facts[leaf], Equation)}
    leaves -= {step.name for step in progress.derivation.steps if is_about_values(progress, step.rule)}
    assert leaves <= {leaf for leaf in found.tightest if not leaf.startswith(STATEMENT)}
    wanted = {leaf: FAR.get(name, {}).get(leaf, NEARLY) for leaf in leaves}
    assert not {leaf: found.tightest[leaf] for leaf in leaves if found.tightest[leaf] < wanted[leaf]}


@pytest.mark.parametrize("name", slow_but(ALLOWED, IDS))
def test_what_the_assumptions_allow_is_true(name):
    """With and without samples, at free points, also where the derivation does not use it."""
    progress = established(name)
    facts = allowed(progress)
    found = examine(progress, free(name), facts)
    for axiom in (key for key, a in progress.state.axioms.items() if isinstance(a, OF_FUNCTIONS)):
        assert any(key.startswith(f"{axiom} (") for key in facts), axiom
    assert not found.failed, str(found.failed[0])


@pytest.mark.parametrize("name", slow_but(SHORT, LOOPS))
def test_every_assumption_of_a_loop_is_nearly_attained_at_free_points(name):
    progress = established(name)
    found = examine(progress, free(name), allowed(progress))
    for axiom in (key for key, a in progress.state.axioms.items() if isinstance(a, ATTAINED)):
        assert max(r for key, r in found.tightest.items() if key.startswith(f"{axiom} (")) >= NEARLY, axiom


# --- planted slips ----------------------------------------------------------------------------------------------------


def with_axiom(progress, name, axiom):
    """The instances at free points of another assumption in the place of one of the derivation."""
    state = replace(progress.state.copy(), axioms={**progress.state.axioms, name: axiom})
    return {key: f for key, f in allowed(replace(progress, state=state)).items() if key.startswith(f"{name} (")}


@pytest.mark.parametrize("name", slow_but(ALLOWED, IDS))
def test_a_constant_that_is_too_small_is_caught(name):
    """0.98 times the constant of each assumption about a function."""
    progress = established(name)
    for key, axiom in progress.state.axioms.items():
        if isinstance(axiom, ATTAINED):
            slipped = with_axiom(progress, key, replace(axiom, constant=axiom.constant * Fraction(98, 100)))
            assert slipped and examine(progress, free(name), slipped).failed, key


def test_a_number_of_several_bounds_is_measured_by_those_that_are_assumed():
    """FedDRO's sigma_g bounds the noise of an inner map and of its Jacobian; the corrected theorem assumes the second only."""
    progress = established("feddro.theorem_5_1")
    run = instance(next(style for style in STYLES if style.name == "bent with noise"), progress)
    shapes, value = {"inner": run.problem.shapes["g"]}, {param.name: value for param, value in run.point.items()}
    jacobian, inner = (constant((form,), shapes) for form in QUANTITIES["inner_noise"].bounds[::-1])
    assert value["sigma_g"] == fraction_of(jacobian) < fraction_of(inner) == value["delta_g"]


def test_a_word_of_a_theorems_own_is_measured_by_what_it_bounds():
    base, style = get_theorem("baselines.local_sgd_heterogeneity"), next(s for s in STYLES if s.name == "batches")
    entries = tuple((*e[:2], "my_noise", *e[3:]) if e[0] == "sigma" else e for e in base.notation.entries)
    own = replace(base.notation["sigma"].quantity, name="my_noise")
    theorem = replace(base, notation=replace(base.notation, entries=entries, own=(own,)))
    progress = replace(established(base.id), theorem=theorem)
    run = instance(style, progress)
    noise = constant(own.bounds, {"plain": next(iter(run.problem.shapes.values()))})
    assert {param.name: value for param, value in run.point.items()}["sigma"] == fraction_of(noise) != 1
    assert unmeasured(progress, run) == {}


def test_an_assumption_about_the_mean_taken_for_every_sample_is_caught():
    """What this harness found: FedDRO bounds the Jacobian of the mean map; its derivation had assumed it of every sample."""
    progress = established("feddro.theorem_5_1")
    for key in ("B_g of dg", "L_g of dg", "L_h of dh"):
        facts = with_axiom(progress, key, replace(progress.state.axioms[key], of_mean=False))
        assert examine(progress, runs("feddro.theorem_5_1"), facts).failed, key


def test_noise_shared_by_the_clients_is_caught():
    progress = established("baselines.local_sgd")
    setting = progress.derivation.setting
    shared = replace(setting, sources=(Source("xi", ("i",), "independence"),))
    state = replace(progress.state.copy(), setting=shared)
    run = instance(STYLES[0], replace(progress, state=state, derivation=replace(progress.derivation, setting=shared)))
    failed = {n for n in leaf_names(progress) for one in both_sides(n, progress.state.facts[n], run) if not one.holds}
    assert failed == {"independence over n"}


def with_other(run, **changed):
    """The run with something else in its place; what came first is drawn first."""
    other = replace(run, **changed)
    for source, step in run.bits[:1]:
        other.sample(source, step)
    return other


def forward(run):
    """From the start of the path to its end, in the place of from its end to its start."""
    return with_other(run, free=lambda name, time, sample: run.free(name, run.horizon - 2 - time, sample))


def too_early(run):
    """Numbers of the loop before at l - 1 in the place of l."""
    first, found = run.moving[0], []
    ends = {p: first[q] for p in first for q in first if q.name == p.name.replace("(end)", " reversed") != p.name}
    for here, after in zip(run.moving, run.moving[1:] + run.moving[-1:], strict=True):
        found.append({**here, **ends, **{p: v for p, v in after.items() if p.name.endswith(" reversed")}})
    return with_other(run, moving=found)


@pytest.mark.parametrize("change", [forward, too_early])
@pytest.mark.parametrize("name", slow_but(SHORT, REVERSED))
def test_a_slip_in_the_reverse_is_caught(name, change):
    """By what is read in reverse itself; paths are not far apart at their start, where a wrong order has their end."""
    progress = established(name)
    rules = {step.name: step.rule for step in progress.derivation.steps}
    steps = [step for step in along(progress) if not (change is forward and rules[step].end)]
    slipped = [change(run) for style, run in runs(name).items() if not style.ends]
    failed = {
        n for n in steps for run in slipped for one in both_sides(n, progress.state.facts[n], run) if not one.holds
    }
    assert failed == set(steps)


@pytest.mark.slow
def test_feddro_may_keep_its_first_estimate():
    """The other reading of the start: step 0 uses the given estimate. No step about step 0 holds then, but the statement does."""
    progress, given = established("feddro.theorem_5_1"), Var("y", -1)
    setting = progress.derivation.setting
    y = setting.variable("y")
    kept = replace(y, equations=((FIRST, given), *((phases & LATER, term) for phases, term in y.equations)))
    other = replace(setting, variables=(kept, *(v for v in setting.variables if v.name != "y")))
    state = replace(progress.state.copy(), setting=other)
    changed = replace(progress, state=state, derivation=replace(progress.derivation, setting=other))
    fact, ratios = conclusion(progress), []
    for style in STYLES:
        (one,) = both_sides("conclusion", fact, instance(style, changed))
        assert one.holds, str(one)
        ratios.append(one.ratio)
    assert max(ratios) > 0.04, "the bound is not far above what it bounds"


def test_a_wrong_size_is_caught():
    """A batch of B at step 0, and of b later, in the place of each other."""
    progress = established("fcsg.theorem_4_1")
    (style,) = (s for s in STYLES if s.name == "batches")
    run = instance(style, progress)
    later, first = (progress.state.facts[f"independence over i, {when}"] for when in ("later", "first"))
    for fact, other in ((later, first), (first, later)):
        assert all(one.holds for one in both_sides("batch", fact, run))
        assert not all(one.holds for one in both_sides("batch", replace(fact, phases=other.phases), run))


def with_condition(name, text):
    progress = established(name)
    return replace(progress, theorem=narrowed(progress.theorem, progress.label, [text]))


def test_a_condition_that_is_an_equality_chooses_no_constant():
    """mu = L was written over the mu of functions that grow less: claims about a larger mu, which a true theorem fails."""
    name = "library.sgd_strongly_convex"
    assert [instance(style, with_condition(name, "eta == 1/(4*L_bar)")) for style in QUICK[:2]]
    for text, said in (
        ("mu == L_bar", "not meet"),
        ("D == 1/7", "not meet"),
        ("T == 2**20", "not meet"),
        ("mu*eta == 1/3", "no admissible step size"),
    ):
        for style in QUICK[:2]:
            with pytest.raises(InputError, match=said):
                instance(style, with_condition(name, text))


def test_a_size_that_a_condition_sets_is_that_of_the_instances():
    name = "library.sgd_strongly_convex"
    assert {instance(style, established(name)).size("i", True) for style in STYLES if style.b > 1} != {1}
    for style in (style for style in STYLES if style.b > 1):
        made = instance(style, with_condition(name, "b == 1"))
        assert made.size("i", True) == 1


def test_a_round_has_four_steps_where_a_condition_has_a_root_of_their_number():
    """Of two steps the root is not rational."""
    progress = established("baselines.local_sgd")
    period, region = progress.state.period, progress.state.region
    assert instance(STYLES[0], progress).period == 2
    rooted = replace(region, conditions={**region.conditions, "rounds": 2 - period ** Fraction(1, 2)})
    assert instance(STYLES[0], replace(progress, state=replace(progress.state.copy(), region=rooted))).period == 4


def test_the_instances_are_not_degenerate():
    """Noise in every function of samples, clients that differ, batches of other sizes at step 0, B_g from 1e-3 to 1e3."""
    assert {style.scale for style in STYLES} == {Fraction(1, 1000), Fraction(1), Fraction(1000)}
    assert any(style.b == 2 and style.B == 3 for style in STYLES) and any(style.m == 2 for style in STYLES)
    assert any(style.period == 1 for style in STYLES)
    assert any(style.horizon % style.period for style in STYLES), "a last short round"


@pytest.mark.parametrize("order", [2, 3])
def test_a_constant_that_is_a_root_has_its_value(order):
    """Of a cube root the square root was taken."""
    progress, names = established("library.gd_convex"), [Param("whole"), Param("between")]
    formulas = dict(zip(names, (signomial(2**order), signomial(7)), strict=True))
    region = progress.state.region
    rooted = replace(region, formulas={**region.formulas, **formulas}, powers=dict.fromkeys(names, order))
    point = instance(STYLES[0], replace(progress, state=replace(progress.state.copy(), region=rooted))).point
    whole, between = (point[name] for name in names)
    assert whole == 2 and 7 <= between**order < 7 + Fraction(1, 10**40)


def test_every_case_and_every_loop_before_another_has_a_name():
    assert {"local_scgdm.theorem_3_4 A", "local_scgdm.theorem_3_4 B", "meta_fl.lemma_4 before:"} < {*IDS}
    for name in ("local_scgdm.theorem_3_4", "local_scgdm.theorem_3_4 C", "meta_fl.lemma_4 after:"):
        with pytest.raises(InputError, match="no derivation of its own"):
            established(name)


@pytest.mark.parametrize(("average", "first"), [("before", 0), ("after", 1)])
def test_the_metric_weighs_the_iterates_that_it_speaks_of(average, first):
    """t + t0 of the iterate at t, from 0 on or from 1 on."""
    name = "library.sgd_strongly_convex_weighted"
    progress = established(name)
    progress = replace(progress, theorem=replace(progress.theorem, average=average))
    run = instance(next(style for style in STYLES if style.name == "rounds"), established(name))
    (start,) = (value for param, value in run.point.items() if param.name == "t0")
    gap = progress.reading.above_minimum(progress.reading.mean_model)
    rows = [(fmpq_of(t + start), run.scalar(gap, t)) for t in range(first, first + run.horizon)]
    wanted = sum((weight * value for weight, value in rows), fmpq(0)) / sum((weight for weight, _ in rows), fmpq(0))
    assert run.horizon > 1 and metric_at(progress, run) == wanted > 0


def test_a_constant_that_a_loop_delivers_is_compared_where_the_loop_has_ended():
    name = "meta_fl.lemma_4"
    progress = established(name)
    target = next(each.target for each in progress.derivation.delivers if each.target)
    expr = progress.theorem.statement(progress.label).constant(target).expr
    smaller = with_stated(progress.theorem, "derived", target, expr=expr / 1000)
    failed = {one.step for one in examine(replace(progress, theorem=smaller), runs(name)).failed}
    assert failed == {f"{STATEMENT} {target}"}


def test_a_normal_form_with_another_value_is_seen():
    """With the real normal forms nothing is found; with twice these every vector that is not 0."""
    progress = established("library.gd_convex")
    algebra, run = progress.state.algebra, next(iter(runs("library.gd_convex").values()))
    for factor, is_seen in ((1, False), (2, True)):
        other = SimpleNamespace(normal=lambda term, factor=factor: factor * algebra.normal(term))
        found = [
            one
            for step in progress.derivation.steps
            for one in as_written(step.name, step.rule, progress.state.facts[step.name], other, run)
        ]
        assert bool(found) == is_seen and not any(one.holds for one in found)
