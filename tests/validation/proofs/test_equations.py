"""The update equations of each derivation, loops included, and the code of the method in each of its variants: the same vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp
from fedco.bounds.proof.check_on_instances import derivation_names, established
from fedco.bounds.proof.derivations import unsolved
from fedco.bounds.proof.kernel import COMMUNICATION, LOCAL, Loop, Sum, Term, Var
from fedco.bounds.proof.mutation import mutants
from fedco.bounds.registry import get_theorem
from fedco.validation.proofs.code import codes_beside
from fedco.validation.proofs.loops import LENGTHS, LoopProblem, computed
from fedco.validation.proofs.paths import PATHS, PERIODS, STEPS
from fedco.validation.runs.registry import codes_of
from quick import slow_but

NAMES = tuple(n for n in derivation_names() if not isinstance(unsolved(get_theorem(n.partition(" ")[0])), Loop))
THEOREMS = {name: get_theorem(name.partition(" ")[0]) for name in NAMES}
DIFFERENT = slow_but({(t.method.name if t.method else t.id): name for name, t in THEOREMS.items()}.values(), NAMES)
"""In the quick tests the last derivation about each method."""
CHANGED = (
    "baselines.local_sgd",
    "baselines.scgd",
    "library.sgd_declining",
    "library.scaffold",
    "library.error_feedback",
    "comfedl.theorem_1",
    "feddro.theorem_5_1",
    "meta_fl.theorem_8",
)
"""With clients apart and together, estimates, a clock, controls, what is sent, sets of clients, other phases, steps inside."""


@cache
def variants(name: str):
    return codes_beside(established(name), name.partition(" ")[2])


@cache
def beside(name: str, variant: int = 0):
    """The code and the equations, on one instance."""
    return variants(name)[variant].beside(established(name))


def differences(name: str, setting: Any = None, variant: int = 0) -> Iterator[str]:
    """One at a time: whether there is one takes much less than all of them."""
    return map(str, beside(name, variant).differences(setting))


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_equations_are_what_the_code_does(name):
    """In each variant that the theorem covers; one that it does not cover has other values. Those of loops are below."""
    declared = {v.name for v in established(name).derivation.setting.variables if v.equations}
    assert declared - beside(name).read <= {"u", "c", "d", "v", "e", "z"}, (
        "what stands in the model's equation is compared through it; labels are drawn, not computed"
    )
    assert variants(name)
    for variant in range(len(variants(name))):
        assert any(differences(name, variant=variant)) is not beside(name, variant).code.covered, variant


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_paths_are_not_degenerate(name):
    """Every step moves every client's model, paths differ, and so do clients between communications."""
    found = beside(name)
    models = [step.after.x for step in found.steps(2)]
    assert all(((b - a).abs() > 1e-4).any(dim=-1).all() for a, b in pairwise(models))
    if established(name).derivation.setting.sources:
        assert (models[-1][0] - models[-1][1]).abs().max() > 1e-4
    first = found.steps(2)[0].stepped.x
    assert (first[:, 0] - first[:, 1]).abs().max() > 1e-4
    assert {found.along(n).phase(t) for n in PERIODS for t in range(STEPS)} == LOCAL | COMMUNICATION


# --- planted slips ----------------------------------------------------------------------------------------------------


def with_equations(name: str, variable: str, equations: Any) -> Any:
    setting = beside(name).base.setting
    changed = replace(setting.variable(variable), equations=equations)
    return replace(setting, variables=tuple(changed if v.name == variable else v for v in setting.variables))


@pytest.mark.parametrize("name", slow_but(CHANGED, NAMES))
def test_every_change_of_an_equation_is_seen(name):
    """Doubled, halved and negated coefficients, exponents, shifts of samples and of variables, in every phase."""
    setting = beside(name).base.setting
    tried = 0
    for variable in setting.variables:
        if variable.name not in beside(name).read:
            continue
        for mutant in mutants(variable.equations):
            try:
                changed = with_equations(name, variable.name, mutant.value)
            except ValueError:
                continue  # refused at construction
            tried += 1
            assert _is_seen(name, changed), f"{variable.name}{mutant.where}"
    assert tried >= 4


@pytest.mark.parametrize(("name", "variable"), [("scaffold", "c"), ("scaffold", "u"), ("fedprox", "z")])
def test_every_change_of_a_variable_behind_the_models_is_seen_in_them(name, variable):
    """The controls and what is gathered for them, and the model that the proximal term holds to: only the models are compared."""
    found = f"library.{name}"
    assert variable not in beside(found).read
    equations = beside(found).base.setting.variable(variable).equations
    changes = []
    for mutant in mutants(equations):
        with suppress(ValueError):  # refused at construction
            changes.append((mutant.where, with_equations(found, variable, mutant.value)))
    unseen = [where for where, changed in changes if not _is_seen(found, changed)]
    assert len(changes) >= 4 and not unseen, unseen


def _is_seen(name: str, setting: Any) -> bool:
    try:
        return any(differences(name, setting))
    except ValueError:  # it takes a batch of step 0 for one of another size
        return True


def test_a_stale_estimate_is_seen():
    """x_t - alpha u_t for x_t - alpha u_{t+1}."""
    x, u = Var("x"), Var("u")
    (local, move), *rest = beside("fcsg_m.theorem_4_4").base.setting.variable("x").equations
    stale = Sum(tuple((c, u if term == Var("u", 1) else term) for c, term in move.parts))
    assert isinstance(move, Sum) and stale != move and (x in [term for _, term in move.parts])
    changed = with_equations("fcsg_m.theorem_4_4", "x", ((local, stale), *rest))
    assert next(differences("fcsg_m.theorem_4_4", changed)).startswith("x after step 0")


@pytest.mark.parametrize(
    ("name", "key", "formula"),
    [
        *(("delayed_sgd", "D", "N + b - 4"), ("delayed_sgd", "D", "2"), ("sgd_convex", "b", "5 - N")),
        *(
            ("scaffold", "eta_g", "1/2"),
            ("scaffold", "eta", "eta/2"),
            ("fedprox", "mu", "0"),
            ("fedprox", "mu", "2*gamma"),
        ),
    ],
)
def test_a_size_that_was_made_to_agree_is_seen(name, key, formula):
    """The first and the last are those of the theorem for 3 clients with batches of 2, and for 2 with batches of 3: accepted once."""
    progress = established(f"library.{name}")
    theorem = progress.theorem
    symbols = {binding.name: binding.symbol for binding in theorem.notation}
    values = {**theorem.method.values, key: sp.sympify(formula, symbols)}
    other = replace(progress, theorem=replace(theorem, method=replace(theorem.method, values=values)))
    (code,) = codes_beside(other)
    assert any(code.beside(other).differences())


# --- the two loops of each lemma on meta learning, along a path and back ----------------------------------------------


LEMMAS = tuple(n for n in derivation_names() if " " not in n and isinstance(unsolved(get_theorem(n)), Loop))


@cache
def prepared(name: str):
    """The checked steps of each loop of a lemma, the first one first."""
    names = [n for n in derivation_names() if n == f"{name} before:"] + [name]
    return tuple(map(established, names))


@cache
def loops_beside(name: str):
    """The code, in each of its variants, and the loops."""
    return tuple(code.beside(prepared(name)) for code in codes_of(get_theorem(name)))


def loop_differences(name: str, *changed: Any, **more: Any) -> Iterator[str]:
    """One at a time: whether there is one takes much less than all of them."""
    return (str(one) for each in loops_beside(name) for one in each.differences(*changed, **more))


# --- tests ------------------------------------------------------------------------------------------------------------


def test_every_loop_is_compared():
    """Every variable that has equations."""
    for name in LEMMAS:
        declared = {v.name for p in prepared(name) for v in p.derivation.setting.variables if v.equations}
        assert declared == set().union(*(each.read for each in loops_beside(name))) != set()


@pytest.mark.parametrize("name", LEMMAS)
def test_the_equations_of_loops_are_what_the_code_does(name):
    assert not list(loop_differences(name))


@pytest.mark.parametrize("name", LEMMAS)
def test_the_paths_of_loops_are_not_degenerate(name):
    """Models move, gradients turn, and what has other batches has another value."""
    ends = []
    for each in loops_beside(name):
        models, gradients = each.kept(LENGTHS[-1])
        ends.append(gradients[-1])
        assert all((b - a).abs().max() > 1e-4 for a, b in (*pairwise(models), *pairwise(gradients)))
        if each.code.noisy:
            assert (models[-1][0] - models[-1][1]).abs().max() > 1e-4
    assert all((a - b).abs().max() > 1e-4 for i, a in enumerate(ends) for b in ends[:i])


@pytest.mark.parametrize("name", slow_but([name for name in LEMMAS if name != "meta_fl.lemma_11"], LEMMAS))
def test_every_change_of_an_equation_or_of_the_start_is_seen(name):
    """Coefficients, exponents, signs and the steps of samples, in both loops and where the second one starts."""
    settings = tuple(base.setting for _, base in loops_beside(name)[0].made)
    tried = 0
    for i, setting in enumerate(settings):
        for variable in setting.variables:
            for mutant in mutants(variable.equations):
                try:
                    changed = replace(variable, equations=mutant.value)
                    other = replace(
                        setting, variables=tuple(changed if v.name == variable.name else v for v in setting.variables)
                    )
                except ValueError:
                    continue  # refused at construction
                tried += 1
                assert any(loop_differences(name, (*settings[:i], other, *settings[i + 1 :]))), (
                    f"{variable.name}{mutant.where}"
                )
    *_, (_, last) = loops_beside(name)[0].made
    for key, term in last.start.items():
        for mutant in mutants(term) if isinstance(term, Term) and len(settings) > 1 else ():
            tried += 1
            assert any(loop_differences(name, start={**last.start, key: mutant.value})), f"{key}{mutant.where}"
    assert tried >= 8


def test_a_batch_in_the_place_of_another_is_seen():
    """The batch of the first gradient on the path for that of the second, and the Hessian's of the other end of the path."""
    each = loops_beside("meta_fl.lemma_6")[0]

    class Slipped(LoopProblem):
        slip = ""

        def place(self, kind, number):
            run, source, step, index = super().place(kind, number)
            return run, source, 0 if kind == self.slip else step, index

    for slip in ("gradient", "hessian"):
        problem = Slipped(each.along(3), each.code)
        problem.slip = slip
        *_, found = computed(problem, each.code)[1]
        assert (found - each.kept(3)[1][-1]).abs().max() > 1e-4
    assert np.prod(found.shape) == PATHS * 3 * 2
