"""The two loops of each lemma on meta learning, along a path and back, and the code of the method: the same vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from fedco.bounds import get_theorem
from fedco.bounds.proof.check_on_instances import derivation_names, established
from fedco.bounds.proof.derivations import unsolved
from fedco.bounds.proof.kernel import Loop, Term
from fedco.bounds.proof.mutation import mutants
from fedco.validation.proofs.loops import LENGTHS, LoopProblem, computed
from fedco.validation.proofs.paths import PATHS
from fedco.validation.runs.registry import codes_of
from quick import slow_but

LEMMAS = tuple(n for n in derivation_names() if " " not in n and isinstance(unsolved(get_theorem(n)), Loop))


@cache
def prepared(name: str):
    """The checked steps of each loop of a lemma, the first one first."""
    names = [n for n in derivation_names() if n == f"{name} before:"] + [name]
    return tuple(map(established, names))


@cache
def beside(name: str):
    """The code, in each of its variants, and the loops."""
    return tuple(code.beside(prepared(name)) for code in codes_of(get_theorem(name)))


def differences(name: str, *changed: Any, **more: Any) -> Iterator[str]:
    """One at a time: whether there is one takes much less than all of them."""
    return (str(one) for each in beside(name) for one in each.differences(*changed, **more))


# --- tests ------------------------------------------------------------------------------------------------------------


def test_every_loop_is_compared():
    """Every variable that has equations."""
    for name in LEMMAS:
        declared = {v.name for p in prepared(name) for v in p.derivation.setting.variables if v.equations}
        assert declared == set().union(*(each.read for each in beside(name))) != set()


@pytest.mark.parametrize("name", LEMMAS)
def test_the_equations_are_what_the_code_does(name):
    assert not list(differences(name))


@pytest.mark.parametrize("name", LEMMAS)
def test_the_paths_are_not_degenerate(name):
    """Models move, gradients turn, and what has other batches has another value."""
    ends = []
    for each in beside(name):
        models, gradients = each.kept(LENGTHS[-1])
        ends.append(gradients[-1])
        assert all((b - a).abs().max() > 1e-4 for a, b in (*pairwise(models), *pairwise(gradients)))
        if each.code.noisy:
            assert (models[-1][0] - models[-1][1]).abs().max() > 1e-4
    assert all((a - b).abs().max() > 1e-4 for i, a in enumerate(ends) for b in ends[:i])


@pytest.mark.parametrize("name", slow_but([name for name in LEMMAS if name != "meta_fl.lemma_11"], LEMMAS))
def test_every_change_of_an_equation_or_of_the_start_is_seen(name):
    """Coefficients, exponents, signs and the steps of samples, in both loops and where the second one starts."""
    settings = tuple(base.setting for _, base in beside(name)[0].made)
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
                assert any(differences(name, (*settings[:i], other, *settings[i + 1 :]))), (
                    f"{variable.name}{mutant.where}"
                )
    *_, (_, last) = beside(name)[0].made
    for key, term in last.start.items():
        for mutant in mutants(term) if isinstance(term, Term) and len(settings) > 1 else ():
            tried += 1
            assert any(differences(name, start={**last.start, key: mutant.value})), f"{key}{mutant.where}"
    assert tried >= 8


def test_a_batch_in_the_place_of_another_is_seen():
    """The batch of the first gradient on the path for that of the second, and the Hessian's of the other end of the path."""
    each = beside("meta_fl.lemma_6")[0]

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
