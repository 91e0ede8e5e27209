"""Instances that are generated for a theorem: horizons, steps, starts, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import pytest
from fedco import theorem
from fedco.bounds.language.reading import InputError
from fedco.synthetic import problem
from fedco.validation.runs import generate, registry
from fedco.validation.runs.generate import Generated, Setting, instances_of

SGD = "baselines.local_sgd"


def scheduled(name="fcsg.corollary_4_2", on="conditional_homogeneous") -> Setting:
    return Setting(theorem(name), "printed", on, {})


def test_prescribed_horizons_have_whole_roots_and_begin_where_the_bound_is_small():
    """Generated horizons of a schedule are N^j n^k, two of them at least twice apart, and the bound says something at the first."""
    (instance, *_) = instances_of(theorem("fcsg.corollary_4_2"), "printed", (), ["conditional_homogeneous"]).instances
    setting = scheduled()
    N, (first, second) = setting.far.clients, instance.horizons
    every = {N**j * n**k for j in range(4) for k in (2, 3, 4) for n in range(2, 142)}
    assert {first, second} <= every and 16 <= first <= second / 2 and second <= 20_000
    earlier = [T for T in every if 16 <= T < first]
    assert setting.says_something(instance, first) and not any(setting.says_something(instance, T) for T in earlier)
    assert earlier and setting.is_small(setting.bound(instance, first))


def test_two_horizons_are_taken_the_second_at_least_twice_the_first(monkeypatch):
    setting, asked = scheduled(), []
    instance = setting.instance({}, "", "schedule")

    def says(self, instance, T):
        asked.append(T)
        return T != 30

    monkeypatch.setattr(Setting, "says_something", says)
    assert setting.at_two(instance, iter([30, 40, 79, 80, 90])).horizons == (40, 80) and asked == [30, 40, 80]
    for few in ([30, 40, 79], [40, 20_001], []):
        with pytest.raises(InputError, match="at two horizons up to 20000"):
            setting.at_two(instance, iter(few))
    assert setting.at_two(instance, iter([10_000, 20_000])).horizons == (10_000, 20_000)


def test_generated_numbers_are_short_and_horizons_are_whole_rounds():
    tuned = Setting(theorem(SGD), "printed", "federated_noisy", {}).tuned
    eta = float(tuned.hyperparameters["eta"])
    assert float(f"{eta:.3g}") == eta and tuned.hyperparameters["p"] == 2
    assert all(T % 4 == 0 for T in tuned.horizons) and len(tuned.horizons) == 2


def test_a_setting_leaves_steps_to_the_tuner_and_chooses_the_rest():
    """Periods of 2, batches of one, everybody takes part, a hidden constant as the theorem declares it; what is fixed stays."""
    setting = Setting(theorem("meta_fl.theorem_8"), "printed", "meta_noisy", {})
    whole = setting.whole()
    assert whole["tau"] == 2 and whole["r"] == 1 and whole["D"] == 1 and whole["c"] == 10 and "beta" not in whole
    assert "K" not in whole and "n" not in whole and "nu" not in whole and "alpha" not in whole
    assert setting.whole(7)["tau"] == 7 and setting.step == "beta"
    fixed = replace(setting, fixed={"beta": Q(1, 100), "tau": Q(3)})
    assert fixed.step is None and fixed.whole()["tau"] == 3
    assert scheduled().step is None and "q" not in scheduled().whole() and scheduled().scheduled >= {"q", "alpha"}
    given = setting.values(whole)
    assert (
        given["n"] == setting.far.clients and given["nu"] == setting.far.nu and given["tau"] == 2 and "K" not in given
    )


def test_a_bound_is_small_below_three_quarters_of_the_cap():
    setting = Setting(theorem(SGD), "printed", "federated_noisy", {})
    cap = float(setting.far.certificates["gradient_cap"].value) ** 2
    assert float(setting.cap) == pytest.approx(cap)
    for total, small in ((0.74 * cap, True), (0.76 * cap, False), (None, False)):
        assert setting.is_small(SimpleNamespace(total=total)) is small


def test_a_start_is_not_moved_further_away_and_unknown_parameters_are_left_out():
    setting = Setting(theorem(SGD), "printed", "federated_noisy", {})
    assert setting.instance({}, "", "tuned").parameters["start"] <= 8.0
    assert setting.instance({}, "", "stress", rest=True).parameters["start"] == 0.0
    assert setting.instance({}, "", "tuned").parameters.keys() <= {"start", "dim"}
    assert not Setting(theorem(SGD), "printed", setting.far, {}).instance({}, "", "tuned").parameters


def test_what_a_theorem_is_validated_on():
    declared = registry.recipe_for(SGD).instances
    item = theorem(SGD)
    assert instances_of(item, "printed", declared) == Generated(tuple(declared), ())
    only = instances_of(item, "printed", declared, ["federated_homogeneous"]).instances
    assert only == tuple(i for i in declared if i.problem == "federated_homogeneous") and len(only) == 2
    with pytest.raises(
        InputError, match=r"--problem local_noisy: not an instance of baselines.local_sgd: wanted a problem of the kind"
    ):
        instances_of(item, "printed", declared, ["federated_homogeneous", "local_noisy"])
    with pytest.raises(InputError, match="no problem to validate it on"):
        instances_of(item, "printed", (), [])
    assert Generated((), ("a", "b", "a")).why == "a; b"


def test_a_problem_that_is_named_twice_is_used_once():
    declared = registry.recipe_for("feddro.theorem_5_1").instances
    names = list(dict.fromkeys(each.problem for each in declared if isinstance(each.problem, str)))[:1]
    once, twice = (
        instances_of(theorem("feddro.theorem_5_1"), "printed", declared, n * names).instances for n in (1, 2)
    )
    assert once == twice != ()


def test_at_rest_is_refused_where_the_gap_stays(monkeypatch):
    with pytest.raises(InputError, match="no parameter that starts it at a stationary point"):
        _ = Setting(theorem(SGD), "printed", problem("federated_noisy"), {}).at_rest
    setting = Setting(theorem(SGD), "printed", "federated_noisy", {})
    gap = float(setting.at_rest.certificates["objective_gap"].value)
    assert gap <= 0.01 * float(setting.far.certificates["objective_gap"].value)
    monkeypatch.setattr(generate, "RESTING", -1.0)
    with pytest.raises(InputError, match="no parameter that starts it"):
        _ = Setting(theorem(SGD), "printed", "federated_noisy", {}).at_rest
