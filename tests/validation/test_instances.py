"""Instances: which theorem fits which problem, what a run takes from both, what is generated, and the kept list of problems."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import pytest
import torch
from fedco import theorem
from fedco.algorithms import FCSG, LocalSGD, Start
from fedco.bounds.language.notation import Notation
from fedco.bounds.registry import all_theorems, get_theorem
from fedco.errors import InputError
from fedco.storage import write_json
from fedco.synthetic import problem
from fedco.validation.runs import generate, problem_list, registry, values
from fedco.validation.runs.fit import fits, fitting_theorems, misfit
from fedco.validation.runs.generate import Generated, Setting, instances_of
from fedco.validation.runs.measures import squared_cap
from fedco.validation.runs.method_of import build_of, fixed_by, steps_of
from fedco.validation.runs.problem_list import listed
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.values import evaluate_at, exact_start, horizon_of, numbers_of

# --- which theorem fits which problem ---------------------------------------------------------------------------------


FEDDRO = "feddro.corollary_1 feddro.corollary_2 feddro.lemma_3_1 feddro.theorem_5_1 feddro.theorem_f_1"
LOCAL = (
    "comfedl.theorem_1 local_scgdm.corollary_3_5 local_scgdm.lemma_4_1 local_scgdm.lemma_4_2 local_scgdm.lemma_4_3"
    " local_scgdm.theorem_3_4"
)
CONDITIONAL = (
    "acc_fcsg_m.corollary_4_8 acc_fcsg_m.theorem_4_7 baselines.biased_sgd fcsg.corollary_4_2 fcsg.lemma_a_2 fcsg.theorem_4_1"
    " fcsg_m.corollary_4_5 fcsg_m.theorem_4_4"
)
META = (
    "meta_fl.lemma_10 meta_fl.lemma_11 meta_fl.lemma_4 meta_fl.lemma_5 meta_fl.lemma_6 meta_fl.lemma_7 meta_fl.theorem_8"
    " meta_fl.theorem_8_FO meta_fl.theorem_8_HF"
)
FEDERATED = "baselines.local_sgd_heterogeneity baselines.minibatch_sgd"
LISTED = {
    "feddro_homogeneous feddro_heterogeneous feddro_noisy chi2_dro chi2_dro_clients imbalanced_logistic_wine fair_classifier": FEDDRO,
    "feddro_without_h feddro_without_h_homogeneous feddro_without_h_noisy kl_dro imbalanced_logistic": f"{FEDDRO} feddro.theorem_4_2",
    "feddro_counterexample": f"{FEDDRO} feddro.theorem_4_1 feddro.theorem_4_2",
    "local_homogeneous": f"{LOCAL} baselines.scgd comfedl.theorem_2",
    "local_heterogeneous": LOCAL,
    "local_noisy": f"{LOCAL} baselines.scgd",
    "conditional_homogeneous conditional_heterogeneous conditional_noisy average_precision invariant_logistic": CONDITIONAL,
    "meta_homogeneous meta_heterogeneous meta_noisy": META,
    "federated_homogeneous federated_heterogeneous federated_noisy federated_sines federated_logistic": f"{FEDERATED} baselines.local_sgd",
    "federated_quadratic federated_breast_cancer": FEDERATED,
    "maml_homogeneous maml_noisy": f"{LOCAL} baselines.scgd local_scgdm.lemma_3_9",
    "maml_heterogeneous": f"{LOCAL} local_scgdm.lemma_3_9",
    "agnostic_maml kl_dro_clients": f"{LOCAL} comfedl.theorem_2",
}
"""Problems -> the theorems that were listed for them."""
OF_PROBLEM = {name: set(listed.split()) for names, listed in LISTED.items() for name in names.split()}
CLAIMS = sorted(set().union(*OF_PROBLEM.values()))
DIFFERENCES = {
    ("feddro_counterexample", "feddro.theorem_4_1"): "it is about this one instance, not about a kind of problem",
}


@pytest.mark.parametrize("name", sorted(OF_PROBLEM))
def test_the_computed_fit_is_what_was_listed_except_where_it_is_explained(name):
    made = problem(name)
    computed = {claim for claim in CLAIMS if fits(get_theorem(claim), made)}
    differences = {(name, claim) for claim in computed ^ OF_PROBLEM[name]}
    assert differences == {pair for pair in DIFFERENCES if pair[0] == name}


def test_every_registered_problem_fits_a_theorem_where_there_is_one_of_its_kind():
    stated = {get_theorem(name).problem for name in all_theorems()}
    assert len(stated) >= 5
    for known in listed():
        assert bool(fitting_theorems(known)) == (known.kind in stated), known.name


def test_a_misfit_says_which_kind_constant_or_property_is_missing():
    noisy, theorem = problem("local_noisy"), get_theorem("comfedl.theorem_2")
    assert misfit(theorem, noisy) == "the problem is not known to have one_outer_function"
    assert "wanted a problem of the kind local_composite, got meta" in misfit(theorem, problem("meta_noisy"))
    poor = SimpleNamespace(kind=noisy.kind, certificates={}, properties=noisy.properties)
    assert "certifies no inner_sample_lipschitz" in misfit(theorem, poor)
    assert fits(replace(theorem, assume=()), noisy)


def test_the_theorems_that_fit_are_listed():
    known = {each.name: each for each in listed()}
    found = fitting_theorems(known["local_homogeneous"])
    assert {"comfedl.theorem_2", "local_scgdm.theorem_3_4"} <= set(found) and "comfedl.lemma_2" not in found
    of_counterexample = fitting_theorems(known["feddro_counterexample"])
    assert "feddro.theorem_5_1" not in of_counterexample, "its L_g is 0, and the theorem divides by it"
    assert fitting_theorems(known["local_heterogeneous"])["local_scgdm.theorem_3_4"] == ("printed",)


# --- what a run takes from a statement, an instance and a method ------------------------------------------------------


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


# --- instances that are generated for a theorem -----------------------------------------------------------------------


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
    assert setting.cap == Q(setting.far.certificates["gradient_cap"].value) ** 2
    cap = float(setting.cap)
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


# --- the kept list of problems ----------------------------------------------------------------------------------------


@pytest.fixture
def forgotten():
    problem_list.listed.cache_clear()
    yield
    problem_list.listed.cache_clear()


def as_json(items):
    return json.loads(json.dumps([{**vars(item), "properties": list(item.properties)} for item in items]))


def close(kept, again):
    """The same structure, and numbers equal up to what another machine's last bits may change."""
    if isinstance(kept, dict):
        return kept.keys() == again.keys() and all(close(kept[key], again[key]) for key in kept)
    if isinstance(kept, list):
        return len(kept) == len(again) and all(map(close, kept, again))
    return kept == again or (isinstance(kept, float) and kept == pytest.approx(again, rel=1e-9))


def test_the_kept_list_is_current(forgotten, monkeypatch):
    monkeypatch.setattr(problem_list, "made", lambda: pytest.fail("a problem's source changed: run `make docs`"))
    assert len(problem_list.listed()) >= 30


def test_the_kept_list_is_what_is_made_now(forgotten):
    kept, again = as_json(problem_list.listed()), as_json(problem_list.made())
    assert close(kept, again)
    value = kept[0]["certificates"]["outer_lipschitz"]
    assert not close(
        [{**kept[0], "certificates": {"outer_lipschitz": {**value, "value": value["value"] + 1e-6}}}], again[:1]
    )


@pytest.mark.parametrize("change", [{"made_from": "x"}, {"format": "fedco-problems/0"}, {"sha256": "0"}, None])
def test_another_file_is_not_used(forgotten, change, tmp_path, monkeypatch):
    marker = (replace(problem_list.listed()[0], name="made now"),)
    problem_list.listed.cache_clear()
    plain = json.loads(problem_list.FILE.read_text())
    monkeypatch.setattr(problem_list, "FILE", tmp_path / "problems.json")
    monkeypatch.setattr(problem_list, "made", lambda: marker)
    if change and "sha256" in change:
        problem_list.FILE.write_text(json.dumps(plain | change))
    elif change:
        write_json(problem_list.FILE, {key: part for key, part in (plain | change).items() if key != "sha256"})
    assert problem_list.listed() == marker
