"""The vocabulary: one name, one meaning; what a row bounds, formally; and words of a theorem's own."""

from __future__ import annotations

import itertools
import re
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import fedco.bounds
import numpy as np
import pytest
from fedco.bounds import all_theorems, get_theorem
from fedco.bounds.cost.comparison import compare
from fedco.bounds.evaluation.enclosure import enclose_bound
from fedco.bounds.language.bounding import (
    AT_POINTS,
    DERIVATIVES,
    FROBENIUS,
    FUNCTIONS,
    KINDS,
    LEVELS,
    LIPSCHITZ,
    MEAN,
    MEAN_SQUARE,
    NOISE,
    OPERATOR,
    POINTS,
    SAMPLE,
    SIZE,
    Form,
    implied,
    lipschitz,
    noise,
    read_form,
    size,
)
from fedco.bounds.language.definition import define, keys_of
from fedco.bounds.language.dimension import INNER, OBJECTIVE, ONE, VARIABLE, Dimension, modulo, read_dimension
from fedco.bounds.language.notation import Notation
from fedco.bounds.language.quantities import COUNT, DOMAINS, NONNEGATIVE, QUANTITIES, Quantity, quantity, register
from fedco.bounds.language.theorem import Assumption, DeclarationError
from fedco.bounds.proof.derivations import prove
from fedco.bounds.proof.instances import ROLES, largest_square
from fedco.validation.falsifier.attack import falsify
from fedco.validation.runs.generate import instances_of
from refusal import is_refused

from .proof.test_instances import shape_of

NEW = Quantity("a_quantity_of_these_tests", "what the tests say it is", OBJECTIVE / INNER)
CHANGES = {
    "meaning": "something else",
    "dimension": OBJECTIVE,
    "domain": NONNEGATIVE,
    "role": "hyperparameter",
    "absent": Fraction(1),
    "default": Fraction(2),
    "stand_ins": ("outer_lipschitz",),
}


@pytest.mark.parametrize("attribute", CHANGES)
def test_a_quantity_that_contradicts_the_vocabulary_is_refused(attribute):
    register(NEW, NEW)
    changed = replace(NEW, **{attribute: CHANGES[attribute]})
    with pytest.raises(ValueError, match=f"quantity {NEW.name}: its {attribute} is"):
        register(changed)
    with pytest.raises(ValueError, match=f"quantity {NEW.name}: its {attribute} is"):
        Notation("demo", (("a", "a", NEW.name),), extra=(changed,))
    assert quantity(NEW.name) == NEW


def test_papers_contradict_each_other_in_no_quantity_of_their_own():
    own = Quantity("another_quantity_of_these_tests", "of one paper", ONE)
    Notation("first", (("a", "a", own.name),), extra=(own,))
    Notation("second", (("b", "b", own.name),), extra=(own,))
    assert own.name not in QUANTITIES
    with pytest.raises(ValueError, match="its dimension is 1, so it cannot be"):
        Notation("third", (("b", "b", own.name),), extra=(replace(own, dimension=VARIABLE),))


def test_an_unknown_quantity_gets_the_nearest_names():
    with pytest.raises(ValueError, match="nearest names are outer_smoothness"):
        quantity("outer_smothness")
    with pytest.raises(ValueError, match="not a quantity"):
        Notation("demo", (("a", "a", "outer_smothness"),))


@pytest.mark.parametrize("wrong", [{"domain": "real"}, {"role": "knob"}, {"name": "two words"}])
def test_a_malformed_quantity_is_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        replace(NEW, **wrong)


def test_stand_ins_are_constants_of_the_vocabulary_and_never_the_quantity_itself():
    """Their dimension is that of the quantity, except where one number stands for noises of several dimensions."""
    mixed = {"inner_noise", "composite_noise"}
    pairs = [(q, quantity(name)) for q in QUANTITIES.values() for name in q.stand_ins]
    assert pairs and all(a != b and a.role == b.role == "constant" for a, b in pairs)
    assert {a.name for a, b in pairs if a.dimension != b.dimension} == mixed


def test_the_batch_sizes_and_no_other_quantity_count_as_one_where_they_are_absent():
    batches = {name for name, each in QUANTITIES.items() if each.absent is not None}
    assert batches == {name for name in QUANTITIES if name.endswith("batch_size")}
    assert all(QUANTITIES[name].absent == 1 and QUANTITIES[name].domain == COUNT for name in batches)


def test_only_hyperparameters_have_a_default():
    assert all(each.role == "hyperparameter" for each in QUANTITIES.values() if each.default is not None)


UNITS = (OBJECTIVE / INNER**2, VARIABLE**2 / OBJECTIVE, INNER * VARIABLE**-3)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_dimensions_modulo_units_do_not_depend_on_their_order_or_powers(count):
    units, dimension = UNITS[:count], OBJECTIVE**3 / (INNER**2 * VARIABLE)
    wanted = modulo(dimension, units)
    for order in itertools.permutations(units):
        assert modulo(dimension, order) == wanted
        assert modulo(dimension, tuple(unit ** Fraction(-3, 2) for unit in order)) == wanted
        assert all(modulo(dimension * unit**2, order) == wanted for unit in units)
    assert wanted == dimension if count == 0 else wanted != dimension
    assert modulo(ONE, units) == ONE


def test_no_other_module_of_the_engine_creates_a_symbol():
    room = Path(fedco.bounds.__file__).parent
    engine = (path for path in room.rglob("*.py") if "papers" not in path.relative_to(room).parts)
    creators = {path.name for path in engine if re.search(r"\bsp\.Symbol\(", path.read_text("utf-8"))}
    assert creators == {"notation.py", "instance.py"}, "of the second, the variable of curves, which is in no statement"


# --- what the rows of the vocabulary say formally ---------------------------------------------------------------------


OF_PROBLEMS = {name: quantity for name, quantity in QUANTITIES.items() if quantity.role == "constant"}
UNSAID = {"local_gradient_fourth_moment", "local_hessian_fourth_moment", "domain_radius", "client_weight"}
"""Constants that no proof of a theorem reads."""


def test_every_constant_says_what_it_bounds():
    assert {name for name, quantity in OF_PROBLEMS.items() if not quantity.bounds} == UNSAID
    others = {name for name, quantity in QUANTITIES.items() if quantity.bounds} - OF_PROBLEMS.keys()
    of_methods = {"compression_variance", "compression_accuracy", "mixing_contraction", "spectral_gap", "delay"}
    assert others == {"participation", *of_methods}


def test_one_name_bounds_one_thing():
    with pytest.raises(ValueError, match="its bounds is"):
        register(replace(QUANTITIES["outer_smoothness"], bounds=(lipschitz("outer_gradient", SAMPLE),)))
    with pytest.raises(ValueError, match="no function of a problem"):
        Form(SIZE, "wished")
    with pytest.raises(ValueError, match="wanted one of"):
        Form(SIZE, "outer_gradient", "wished")
    assert Quantity("own", "a number", QUANTITIES["momentum"].dimension).bounds == ()


def test_what_follows_from_a_bound():
    """Of a map that is Lipschitz in mean square the mean Jacobian is bounded; a second moment of an operator gives no variance."""
    found = set(implied(lipschitz("inner_value", MEAN_SQUARE)))
    assert size("inner_jacobian") in found and size("inner_jacobian", MEAN_SQUARE) not in found
    assert lipschitz("inner_value", SAMPLE) not in found and lipschitz("inner_value") in found
    assert size("inner_jacobian", SAMPLE) in set(implied(lipschitz("inner_value", SAMPLE)))
    assert NOISE in {form.kind for form in implied(size("outer_gradient", MEAN_SQUARE))}
    assert NOISE not in {form.kind for form in implied(size("inner_jacobian", MEAN_SQUARE))}
    assert noise("inner_jacobian") in set(implied(noise("inner_jacobian", FROBENIUS)))
    assert noise("inner_jacobian", FROBENIUS) not in set(implied(noise("inner_jacobian")))
    for row in (row for each in QUANTITIES.values() for row in each.bounds):
        each = list(implied(row))
        assert each[0] == row and len(set(each)) == len(each), row
        assert {form.function for form in each} <= {row.function, *DERIVATIVES, *DERIVATIVES.values()}


def ordered():
    """(stronger, weaker): quantities of which the first bounds what the second does, by the forms of their rows."""
    rows = {name: row.bounds[0] for name, row in QUANTITIES.items() if len(row.bounds) == 1}
    measured = {name: form for name, form in rows.items() if form.kind in AT_POINTS and form.function in ROLES}
    for (first, form), (second, other) in permutations(measured.items(), 2):
        if other in set(implied(form)):
            yield first, second


FOLLOWING = list(ordered())


@pytest.mark.parametrize(("first", "second"), FOLLOWING)
def test_what_follows_is_no_larger_on_exact_instances(first, second):
    (form,), (weaker,) = QUANTITIES[first].bounds, QUANTITIES[second].bounds
    (role, order), (other, _) = ROLES[form.function], ROLES[weaker.function]
    assert role == other
    straight = form.kind != SIZE or order > 0 or role == "outer"  # a value grows for ever, but without a linear part
    for seed in range(12):
        shapes = {role: shape_of(role, seed, straight=straight)}
        assert largest_square(weaker, shapes) <= largest_square(form, shapes)


def test_the_pairs_are_those_that_a_reader_expects():
    assert {
        ("outer_sample_lipschitz", "outer_lipschitz"),
        ("inner_sample_lipschitz", "inner_mean_square_lipschitz"),
        ("inner_jacobian_mean_square", "inner_mean_square_lipschitz"),
        ("inner_sample_smoothness", "inner_smoothness"),
    } <= set(FOLLOWING)
    assert not {(b, a) for a, b in FOLLOWING} & set(FOLLOWING), "no two quantities bound the same"


def test_the_words_of_a_bound():
    assert lipschitz("outer_gradient", SAMPLE).words("S_f") == "grad f_k of every sample is S_f-Lipschitz"
    assert (
        size("inner_jacobian", MEAN_SQUARE).words("C")
        == "||grad g_k|| <= C (operator norm), in mean square over the samples"
    )
    assert (
        noise("inner_jacobian", FROBENIUS).words("s")
        == "E||grad g_k of a sample - grad g_k||^2 <= s^2 (Frobenius norm)"
    )
    words = [row.words("c") for quantity in QUANTITIES.values() for row in quantity.bounds]
    assert all("c" in text and text == text.strip() for text in words)
    assert len({form.words("c") for form in (Form(k, f, p, n) for k in (LIPSCHITZ, SIZE) for f in FUNCTIONS for p in LEVELS
                                             for n in (OPERATOR, FROBENIUS) if f in DERIVATIVES.values() or n == OPERATOR)}) == (
        2 * 3 * (len(FUNCTIONS) + 2)
    )  # fmt: skip


def test_an_assumption_speaks_of_symbols_that_bound_what_it_says():
    theorem = get_theorem("feddro.theorem_5_1")
    for wrong in (Assumption("own", "", ("wished",)), Assumption("own", "", ("eta",)), Assumption("own", "", (("L_f", "inner_value"),)),
                  Assumption("own", "", (), ("wished",))):  # fmt: skip
        with pytest.raises(DeclarationError, match="own"):
            replace(theorem, assumptions=(*theorem.assumptions, wrong))
    assert replace(theorem, assumptions=(*theorem.assumptions, Assumption("own", "", (("B_g", "inner_jacobian"),))))


def test_every_metric_of_a_proved_theorem_has_a_place():
    places = {theorem.metric.at for theorem in all_theorems().values()}
    assert places - {""} == set(POINTS)
    assert MEAN in LEVELS


def test_functions_of_two_variables_say_in_which_one():
    words = {name: quantity.bounds[0].words("c") for name, quantity in QUANTITIES.items() if quantity.bounds}
    assert words["lower_strong_convexity"].startswith("g_i(x, z) >= g_i(x, y) + <grad_y g_i(x, y), z - y>")
    assert words["lower_smoothness"] == "grad_y g_i(x, .) is c-Lipschitz"
    assert words["coupling"] == "grad_x f_i(x, .) is c-Lipschitz, and so is grad_y f_i(., y)"
    for kind, gradient in (
        ("minimax", "grad_x f_i"),
        ("bilevel", "grad_x f_i"),
        ("federated", "grad f_i"),
        ("meta", "grad f_i"),
    ):
        said = f"E||{gradient} of a sample - {gradient}||^2 <= s^2"
        assert noise("local_gradient").words("s", kind) == said, kind


@pytest.mark.parametrize(("name", "entry"), [("sgda", "noise in x"), ("fed_ttsa", "noise of the upper level")])
def test_the_noise_of_a_gradient_in_x_is_said_of_that_gradient(name, entry):
    """In the theorem's list of assumptions, and in what a proof says that it uses."""
    theorem = get_theorem(f"library.{name}")
    said = [text for item in theorem.assumptions if item.name == entry for text in theorem.formally(item)]
    assert said[0] == "E||grad_x f_i of a sample - grad_x f_i||^2 <= sigma^2"


# --- words of a theorem's own -----------------------------------------------------------------------------------------


KEYS: dict[str, Any] = {
    "id": "mine.averaged",
    "quantities": {
        "sharpness": {"meaning": "a constant mu of the objective", "dimension": "f/x^2"},
        "averaging": {"meaning": "weight of the past", "domain": "[0, 1)", "role": "hyperparameter"},
        "my_smoothness": {
            "meaning": "how fast my gradients change",
            "dimension": "f/x^2",
            "bounds": "Lipschitz constant of local_gradient",
        },
    },
    "symbols": {
        "mu": "sharpness",
        "L": "my_smoothness",
        "rho": "averaging",
        "F_gap": "objective_gap",
        "sigma": "local_gradient_noise",
        "eta": "step_size",
        "T": "iterations",
    },
    "terms": {"start": "2*F_gap/(eta*T)", "noise": "L*eta*sigma**2/(1 - rho)"},
    "conditions": {"step": "eta <= 1/L", "sharp": "mu <= L"},
    "method": {"name": "local_sgd", "eta": "eta", "tau": 1, "b": 1},
}
CONSTANTS = {"mu": 1, "L": 1, "F_gap": 1, "sigma": 1}
POINT = {**CONSTANTS, "rho": "1/2", "eta": "1/10", "T": 100}


def changed(**entry: Any) -> dict[str, Any]:
    """The keys with another entry of `sharpness`; a value None is taken out."""
    keys = deepcopy(KEYS)
    merged = {**keys["quantities"]["sharpness"], **entry}
    keys["quantities"]["sharpness"] = {name: value for name, value in merged.items() if value is not None}
    return keys


# --- dimensions and forms as a file says them --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    {
        "1": ONE,
        "f/x^2": Dimension(f=Fraction(1), x=Fraction(-2)),
        "f x^-2": Dimension(f=Fraction(1), x=Fraction(-2)),
        "[f]^2 [x]^-2": Dimension(f=Fraction(2), x=Fraction(-2)),
        "1/y": Dimension(y=Fraction(-1)),
        "f**(1/2)*x": Dimension(f=Fraction(1, 2), x=Fraction(1)),
        "f/f": ONE,
        "(f/x)**2": Dimension(f=Fraction(2), x=Fraction(-2)),
        "y/(f*x^2)^(1/2)": Dimension(f=Fraction(-1, 2), y=Fraction(1), x=Fraction(-1)),
    }.items(),
)
def test_a_dimension_is_powers_of_three_units(text, wanted):
    assert read_dimension(text) == wanted
    assert read_dimension(wanted.written) == wanted


@pytest.mark.parametrize(
    "text", ["", "g", "f^", "f^x", "2*f", "*f", "f//x", "f^99", "f/x^2)", "f^1/2", "(f/x", "(f+x)", "()"]
)
def test_no_dimension_is_refused(text):
    with pytest.raises(ValueError, match=r"wanted powers of f, y and x such as f/x\^2, or 1"):
        assert read_dimension(text) is None


def test_every_row_of_the_vocabulary_bounds_what_a_file_can_write_and_has_its_dimension():
    rows = [(q, form) for q in QUANTITIES.values() for form in q.bounds]
    assert {form.kind for _, form in rows} <= set(KINDS)
    assert all(read_form(form.written) == form for _, form in rows)
    assert all(form.dimension in q.dimensions for q, form in rows if not q.each_of)
    kept = [q.bounds for q in QUANTITIES.values() if q.bounds]
    assert len(set(kept)) == len(kept)  # so that a word is the one row that bounds the same


def test_a_form_says_of_what_for_which_samples_and_in_which_norm():
    assert read_form("bound of the norm of inner_jacobian, every sample, Frobenius") == Form(
        "bound of the norm", "inner_jacobian", "every sample", "Frobenius"
    )
    assert read_form("standard deviation of local_gradient").per == "mean square"


# --- what a word is ----------------------------------------------------------------------------------------------------


def test_words_serve_as_quantities():
    theorem = define(**KEYS)
    mu, L, rho = (theorem.notation[name] for name in ("mu", "L", "rho"))
    assert (mu.quantity.name, mu.quantity.bounds, str(mu.quantity.dimension)) == ("sharpness", (), "[f] [x]^-2")
    assert L.quantity is QUANTITIES["local_smoothness"] and L.meaning.endswith("; how fast my gradients change")
    assert (rho.quantity.role, rho.quantity.domain, rho.symbol.is_nonnegative) == ("hyperparameter", "[0, 1)", True)
    assert theorem.bound(**POINT).terms == {"start": 0.2, "noise": 0.2}
    by_words = {**POINT, "sharpness": 1, "averaging": "1/2"}
    assert theorem.bound(**{n: v for n, v in by_words.items() if n not in ("mu", "rho")}).total == 0.4
    assert enclose_bound(theorem.statement(), POINT)["total"].contains(Fraction(2, 5))
    assert theorem.bound(**{**POINT, "rho": np.array([0.0, 0.5])}).total.tolist() == pytest.approx([0.3, 0.4])


def test_two_theorems_may_mean_different_things_by_a_word_and_a_shared_word_means_one_thing():
    first, second = define(**KEYS), define(**changed(dimension="f/x^2", meaning="something else"))
    assert first.notation["mu"].quantity != second.notation["mu"].quantity
    with is_refused(r"sharpness: means a constant mu .* in mine.averaged, something else .* in mine.averaged"):
        compare(1, {"sharpness": 1}, theorems=[first, second])
    assert compare(1, {"local_smoothness": 1}, theorems=[first, second]).rows[0].tuned is not None
    own = replace(first.notation["mu"].quantity, name="step_size")
    with pytest.raises(ValueError, match="quantity step_size: its meaning is step size"):
        replace(first.notation, own=(own,))


@pytest.mark.parametrize("domain", [name for name, numbers in DOMAINS.items() if numbers.total is None])
def test_numbers_of_every_domain_and_of_no_other(domain):
    theorem = define(**changed(domain=domain, dimension=None), units=["my_smoothness"])
    inside = {n for n in (-1, 0, Fraction(1, 2), 1, 2, 101) if DOMAINS[domain].contains(Fraction(n))}
    assert (
        inside
        == {
            "positive real": {Fraction(1, 2), 1, 2, 101},
            "nonnegative real": {0, Fraction(1, 2), 1, 2, 101},
            "positive integer": {1, 2, 101},
            "whole number from 0 to 100": {0, 1, 2},
            "(0, 1]": {Fraction(1, 2), 1},
            "[0, 1)": {0, Fraction(1, 2)},
            "(0, 1)": {Fraction(1, 2)},
        }[domain]
    )
    for value in (-1, 0, Fraction(1, 2), 1, 2, 101):
        if value in inside:
            assert theorem.bound(**{**POINT, "mu": value}, strict=False).values["mu"] == str(value)
            continue
        for given in (value, np.array([float(value)])):
            with is_refused("mu: wanted a") as caught:
                theorem.bound(**{**POINT, "mu": given}, strict=False)
            assert domain in str(caught.value)


def test_regions_and_the_tuner_keep_a_share_in_its_domain():
    theorem = define(**KEYS)
    found = theorem.admissible("rho", **{n: v for n, v in POINT.items() if n != "rho"}).intervals["rho"]
    assert (found.lower, found.lower_closed, found.upper, found.upper_closed) == (0, True, 1, False)
    keys = {**KEYS, "conditions": {**KEYS["conditions"], "more": "rho >= eta*L"}}
    there = define(**keys).admissible("rho", **{n: v for n, v in POINT.items() if n != "rho"}).intervals["rho"]
    assert (there.lower, there.lower_closed, there.binding["lower"]) == (0.1, True, "more")
    best = theorem.tune(budget={"T": 1000}, **CONSTANTS)
    assert best.values["rho"] == 0 and best.bound.admissible
    assert best.value == pytest.approx(2 * (2 / 1000) ** 0.5, rel=1e-6)
    assert theorem.tune(budget={"T": 1000}, rho="1/2", **CONSTANTS).value == pytest.approx(
        2 * (4 / 1000) ** 0.5, rel=1e-6
    )


def test_a_share_that_helps_is_chosen_inside_its_domain():
    """The best is at rho = 1 if that were in the domain; below it the tuner comes as near as it says."""
    keys = {**KEYS, "terms": {"start": "2*F_gap/(eta*T)", "noise": "L*eta*sigma**2*(2 - rho)"}}
    best = define(**keys).tune(budget={"T": 1000}, **CONSTANTS)
    assert 0.99 < best.values["rho"] < 1
    up_to = deepcopy(keys)
    up_to["quantities"]["averaging"]["domain"] = "(0, 1]"
    up_to["terms"]["noise"] = "L*eta*sigma**2/rho"
    assert define(**up_to).tune(budget={"T": 1000}, **CONSTANTS).values["rho"] == pytest.approx(1, rel=1e-6)


# --- what cannot be done with words ------------------------------------------------------------------------------------


def test_words_without_a_bound_say_what_they_are_not_good_for():
    theorem = define(**KEYS)
    with is_refused(r"mu \(sharpness\) is words only.*: no rule of the kernel can use it"):
        prove(theorem)
    with is_refused(r"mu \(sharpness\) is words only.*: no problem can certify it"):
        instances_of(theorem, "printed", ())
    found = falsify(theorem, seconds=1)
    assert found.outcome == "NOT_APPLICABLE" and "mu (sharpness) is words only" in found.why[0]


PL = {
    "id": "mine.pl",
    "symbols": {"mu": "polyak_lojasiewicz", "F_gap": "objective_gap", "eta": "step_size", "T": "iterations"},
    "terms": {"start": "2*F_gap/(eta*T)"},
    "conditions": {"step": "eta <= 1/mu"},
    "method": {"name": "local_sgd", "eta": "eta", "tau": 1, "b": 1},
}
"""A theorem that is false, as gradients have noise."""


def test_a_constant_that_no_instance_of_a_search_has_is_named():
    theorem = define(**PL)
    assert "||grad F||^2 >= 2 mu (F - F_*)" in theorem.formally(theorem.assumptions[0])[0]
    assert falsify(theorem, seconds=1).outcome == "REFUTED"  # there is noise, of which the bound does not speak
    weak = define(**{**PL, "symbols": {**PL["symbols"], "mu": "weak_convexity"}})
    found = falsify(weak, seconds=0.1)
    assert found.outcome == "NOT_APPLICABLE" and found.why == ("mu: no instance has a known weak_convexity",)
    with is_refused(r"federated_quadratic.*: .* certifies no gradient_cap"):
        instances_of(theorem, "printed", ())


def test_the_tuner_does_not_choose_how_sure_a_bound_is():
    symbols = {**PL["symbols"], "delta": "failure_probability"}
    theorem = define(**{**PL, "symbols": symbols, "terms": {"start": "2*F_gap/(eta*T*delta)"}})
    with is_refused(r"delta: wanted a number in \(0, 1\)"):
        theorem.tune(budget={"T": 100}, mu=1, F_gap=1)
    assert theorem.tune(budget={"T": 100}, mu=1, F_gap=1, delta="1/10").value == pytest.approx(0.2, rel=1e-6)


def test_a_word_with_a_bound_is_certified_as_the_row_that_bounds_the_same():
    keys = deepcopy(KEYS)
    del keys["quantities"]["sharpness"], keys["symbols"]["mu"], keys["conditions"]["sharp"]
    assert falsify(define(**keys), seconds=0.1).outcome == "SURVIVED"
    keys["quantities"]["my_smoothness"]["bounds"] = "Lipschitz constant of local_gradient, every sample"
    assert define(**keys).notation["L"].quantity.name == "local_sample_smoothness"


def test_a_bundle_holds_the_words():
    theorem = define(**KEYS)
    keys = keys_of(theorem, "printed")
    assert list(keys["quantities"]) == ["sharpness", "averaging"]
    again = define(**keys)
    assert [b.quantity for b in again.notation] == [b.quantity for b in theorem.notation]
    assert again.statement() == theorem.statement()


# --- mistakes ----------------------------------------------------------------------------------------------------------

MISTAKES = {
    "unknown quantity": (
        {**KEYS, "symbols": {**KEYS["symbols"], "mu": "sharpnes"}},
        "symbols, mu: 'sharpnes' is no known quantity: declare it under [quantities], or take sharpness",
    ),
    "nothing near": (
        {**KEYS, "symbols": {**KEYS["symbols"], "mu": "qqqqqq"}},
        "declare it under [quantities], or look for one with `fedco symbols`",
    ),
    "no table": ({**KEYS, "quantities": {"a": "b"}}, "quantities, a: wanted a table such as"),
    "no name": ({**KEYS, "quantities": {"a b": {"meaning": "x"}}}, "quantities: wanted a plain name"),
    "unknown key": (
        changed(unit="1"),
        "quantities, sharpness: 'unit' is not a key of a quantity; wanted one of meaning",
    ),
    "no meaning": (changed(meaning=None), "quantities, sharpness: meaning is missing; wanted meaning"),
    "a long meaning": (changed(meaning="x" * 300), "quantities, sharpness, meaning: wanted a text in one line"),
    "two lines": (changed(meaning="x\ny"), "quantities, sharpness, meaning: wanted a text in one line"),
    "dimension": (changed(dimension="kg"), "quantities, sharpness, dimension: wanted powers of f, y and x"),
    "domain": (changed(domain="[0, 2]"), "quantities, sharpness, domain: '[0, 2]' is not a domain; the nearest is"),
    "role": (changed(role="observable"), "quantities, sharpness, role: 'observable' is not a role; wanted one of"),
    "bounds": (changed(bounds="smoothness"), "quantities, sharpness, bounds: 'smoothness': wanted KIND of FUNCTION"),
    "bounds a number": (changed(bounds=3), "quantities, sharpness, bounds: wanted a text, or a list of texts"),
    "function": (
        changed(bounds="Lipschitz constant of local_gradien"),
        "quantities, sharpness, bounds: 'local_gradien': no function; the nearest is local_gradient",
    ),
    "level": (
        changed(bounds="Lipschitz constant of local_gradient, now and then"),
        "bounds: 'now and then': wanted after the function one of every sample",
    ),
    "dimension of a form": (
        changed(bounds="bound of the norm of local_gradient"),
        "sharpness: the bound of the norm of local_gradient has dimension [f] [x]^-1, got [f] [x]^-2",
    ),
    "a hyperparameter that bounds": (
        changed(bounds="Lipschitz constant of local_gradient", role="hyperparameter"),
        "quantities, sharpness, bounds: a hyperparameter bounds nothing",
    ),
    "another domain than the row": (
        changed(bounds="Lipschitz constant of local_gradient", domain="(0, 1]"),
        "domain: wanted the domain of local_smoothness, which bounds the same (positive real), got (0, 1]",
    ),
    "a word of the vocabulary": (
        {**KEYS, "quantities": {**KEYS["quantities"], "step_size": {"meaning": "my step"}}},
        "quantities, step_size, meaning: it is a quantity of the vocabulary",
    ),
    "no symbol": (
        {**KEYS, "quantities": {**KEYS["quantities"], "other": {"meaning": "nothing"}}},
        "quantities, other: no symbol stands for it",
    ),
}


@pytest.mark.parametrize(("keys", "wanted"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line(keys: dict[str, Any], wanted: str):
    with is_refused() as caught:
        define(**keys)
    message = str(caught.value)
    assert wanted in message and message.isprintable() and len(message) < 300


def test_dimensions_of_words_are_checked():
    with is_refused(r"term start: wanted dimension \[f\]\^2 \[x\]\^-2, got \[f\]\^3 \[x\]\^-4"):
        define(**{**KEYS, "terms": {**KEYS["terms"], "start": "2*F_gap*mu/(eta*T)"}})
