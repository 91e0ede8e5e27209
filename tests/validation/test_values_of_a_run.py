"""What a run takes from a statement, an instance and a method: numbers, horizons, steps, starts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import pytest
import torch
from fedco import theorem
from fedco.algorithms import FCSG, LocalSGD, Start
from fedco.bounds.language.notation import Notation
from fedco.bounds.language.reading import InputError
from fedco.synthetic import problem
from fedco.validation.runs import values
from fedco.validation.runs.generate import Setting
from fedco.validation.runs.measures import squared_cap
from fedco.validation.runs.method_of import build_of, fixed_by, steps_of
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.values import evaluate_at, exact_start, horizon_of, numbers_of

SGD = "baselines.local_sgd"


INSTANCE = Instance("federated_noisy", {"eta": Q(1, 4), "p": 4, "b": 2}, "why", {"start": 5.0}, (200, 400))


def test_numbers_of_a_method_come_from_the_statement_then_the_instance_then_the_defaults():
    bound = SimpleNamespace(numbers={"eta": 0.5}, about=SimpleNamespace(clients={"tau_i": (1, Q(5, 2))}))
    instance = replace(INSTANCE, hyperparameters={"eta": Q(1, 4), "m": 3})
    each = {"tau_i": (1.0, 2.5)}
    assert numbers_of(instance, bound, {"m": 1, "b": Q(7, 2)}) == {"eta": 0.5, "m": 3.0, "b": 3.5, **each}
    assert numbers_of(instance, bound) == {"eta": 0.5, "m": 3.0, **each}


def test_a_horizon_is_iterations_or_else_rounds():
    assert horizon_of(theorem(SGD), "printed") == "T" and horizon_of(theorem("meta_fl.theorem_8"), "printed") == "K"
    with pytest.raises(InputError, match="no number of iterations or rounds"):
        horizon_of(theorem("meta_fl.lemma_5"), "printed")


def test_a_bound_at_a_horizon_takes_constants_from_the_problem_and_leaves_out_what_it_does_not_name():
    bound, kind = evaluate_at(
        theorem(SGD), "printed", problem("federated_noisy"), {**INSTANCE.hyperparameters, "m": 99}, 200
    )
    again = theorem(SGD).bound("printed", **bound.values)
    assert bound.total == again.total and "m" not in bound.values and Q(bound.values["T"]) == 200
    assert Q(bound.values["N"]) == problem("federated_noisy").clients and kind in ("exact", "upper")


def test_the_weakest_certificate_is_the_kind_of_a_bound():
    item = theorem(SGD)
    kinds = iter(("exact", "upper", "estimated", "upper"))
    known = {name: SimpleNamespace(value=1, kind=next(kinds, "exact")) for name in (
        b.quantity.name for b in item.symbols("printed").values() if b.quantity.role == "constant")}  # fmt: skip
    made = SimpleNamespace(certificates=known, name="x", clients=4)
    assert values.constants(item, "printed", made)[1] == "estimated"
    for certificate in known.values():
        certificate.kind = "exact"
    assert values.constants(item, "printed", made)[1] == "exact"
    next(iter(known.values())).kind = "upper"
    assert values.constants(item, "printed", made)[1] == "upper"


def test_a_start_has_the_exact_inner_value_where_the_kind_has_one_for_all():
    assert exact_start(problem("federated_noisy")) == Start()
    made = problem("feddro_heterogeneous")
    x = made.initial_point
    assert torch.equal(exact_start(made).y, made.inner_mean(x.unsqueeze(0))[0])


def test_a_method_of_the_callers_is_built_as_it_is_given():
    item = theorem(SGD)
    ready = LocalSGD(eta=0.1, tau=3)
    assert build_of(item, ready)({}) is ready
    own = build_of(item, lambda values: LocalSGD(eta=values["eta"], tau=7))({"eta": 2.0})
    assert (own.eta, own.tau) == (2.0, 7)
    with pytest.raises(InputError, match="declares no method"):
        build_of(replace(item, method=None))


def test_a_class_gets_its_hyperparameters_from_the_symbols_of_the_same_name_and_whole_numbers_whole():
    item = replace(theorem("fcsg.theorem_4_1"), method=None)
    made = build_of(item, FCSG)({"alpha": 0.25, "q": 3.0, "m": 2.0, "b": 1.0})
    assert (made.alpha, made.q, made.m) == (0.25, 3, 2) and isinstance(made.q, int)
    with pytest.raises(InputError, match="wants alpha, which the theorem does not give"):
        build_of(item, FCSG)({"q": 2.0, "m": 2.0})


def test_hyperparameters_of_a_given_method_are_fixed_and_those_of_a_class_are_not():
    item = theorem("fcsg.theorem_4_1")
    fixed = fixed_by(item, FCSG(alpha=0.25, q=3, m=2, b=1))
    assert {name: fixed[name] for name in ("alpha", "q", "m")} == {"alpha": Q(1, 4), "q": 3, "m": 2}
    assert fixed_by(item, FCSG) == {} and fixed_by(item, None) == {}


def test_local_steps_are_the_iterations_or_the_rounds_times_their_length():
    assert steps_of(theorem(SGD))({"T": 12.0}) == 12
    assert steps_of(theorem("meta_fl.theorem_8"))({"K": 5.0, "tau": 3.0}) == 15
    with pytest.raises(InputError, match="no symbol for the number of iterations or of rounds"):
        steps_of(
            SimpleNamespace(id="x", notation=[SimpleNamespace(name="D", quantity=SimpleNamespace(name="batch_size"))])
        )
    (rounds,) = Notation("x", (("R", "R", "rounds"),))
    assert (
        steps_of(
            SimpleNamespace(id="x", notation=[rounds], method=None, first="", symbols=lambda label: {"R": rounds})
        )({"R": 7.0})
        == 7
    )


def test_an_instance_says_its_name_and_refuses_an_unknown_case():
    assert INSTANCE.name == "federated_noisy[start=5.0] (eta=1/4, p=4, b=2)"
    assert (
        Instance("x", {"a": 1}, "").name == "x (a=1)"
        and Instance(SimpleNamespace(name="own"), {}, "").problem_name == "own"
    )
    with pytest.raises(ValueError, match="wanted a case among"):
        replace(INSTANCE, case="nowhere")


# --- the cap of a squared gradient norm, which decides what can be supported ------------------------------------------


NAMES = ("feddro_heterogeneous", "feddro_noisy", "meta_heterogeneous")


@pytest.mark.parametrize("name", NAMES)
def test_the_cap_is_the_square_of_the_certified_norm(name):
    instance = problem(name)
    norm = float(instance.certificates["gradient_cap"].value)
    assert abs(norm - 1) > 0.1, "with a norm near 1 this test would see nothing"
    assert squared_cap(instance) == pytest.approx(norm * norm, rel=1e-15)
    start = instance.gradient(instance.initial_point.unsqueeze(0))
    assert float(start.square().sum()) <= squared_cap(instance)


def test_generated_instances_use_the_same_cap():
    setting = Setting(theorem("feddro.theorem_5_1"), "corrected", "feddro_heterogeneous", {})
    assert setting.cap == Q(setting.far.certificates["gradient_cap"].value) ** 2
    assert float(setting.cap) == pytest.approx(squared_cap(setting.far), rel=1e-15)


def test_a_problem_with_unbounded_gradients_has_no_cap():
    with pytest.raises(InputError, match="gradient_cap"):
        squared_cap(problem("federated_quadratic"))
