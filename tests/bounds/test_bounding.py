"""What the rows of the vocabulary say formally: every constant bounds something, and what a bound implies holds on exact instances."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from fedco.bounds import all_theorems, get_theorem
from fedco.bounds.language.bounding import (
    AT_POINTS,
    DERIVATIVES,
    FROBENIUS,
    FUNCTIONS,
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
    size,
)
from fedco.bounds.language.quantities import QUANTITIES, Quantity, register
from fedco.bounds.language.theorem import Assumption, DeclarationError
from fedco.bounds.proof.instances import ROLES, largest_square

from .proof.test_instances import shape_of

CONSTANTS = {name: quantity for name, quantity in QUANTITIES.items() if quantity.role == "constant"}
UNSAID = {"local_gradient_fourth_moment", "local_hessian_fourth_moment", "domain_radius", "client_weight"}
"""Constants that no proof of a theorem reads."""


def test_every_constant_says_what_it_bounds():
    assert {name for name, quantity in CONSTANTS.items() if not quantity.bounds} == UNSAID
    others = {name for name, quantity in QUANTITIES.items() if quantity.bounds} - CONSTANTS.keys()
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
    for name, quantity in QUANTITIES.items():
        for row in quantity.bounds:
            each = list(implied(row))
            assert each[0] == row and len(set(each)) == len(each), name
            assert {form.function for form in each} <= {row.function, *DERIVATIVES, *DERIVATIVES.values()}


def ordered():
    """(stronger, weaker): quantities of which the first bounds what the second does, by the forms of their rows."""
    rows = {name: row.bounds[0] for name, row in QUANTITIES.items() if len(row.bounds) == 1}
    measured = {name: form for name, form in rows.items() if form.kind in AT_POINTS and form.function in ROLES}
    for (first, form), (second, other) in permutations(measured.items(), 2):
        if other in set(implied(form)):
            yield first, second


PAIRS = list(ordered())


@pytest.mark.parametrize(("first", "second"), PAIRS)
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
    } <= set(PAIRS)
    assert not {(b, a) for a, b in PAIRS} & set(PAIRS), "no two quantities bound the same"


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
