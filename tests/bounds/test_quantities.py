"""The vocabulary: one name, one meaning; readable without sympy; and the dimension algebra under it."""

import itertools
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import fedco.bounds
import pytest
from fedco.bounds.language.dimension import INNER, OBJECTIVE, ONE, VARIABLE, modulo
from fedco.bounds.language.notation import Notation
from fedco.bounds.language.quantities import COUNT, NONNEGATIVE, QUANTITIES, Quantity, quantity, register

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
