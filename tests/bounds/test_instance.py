"""Exact instances: the assumptions that are decided on functions of one variable, refutations by what they hold, and pictures."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction as F
from fractions import Fraction as Q
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fedco
import pytest
import sympy as sp
from fedco.bounds.audit import decide as deciding
from fedco.bounds.audit import picture, refutation, refuted
from fedco.bounds.audit import status as states
from fedco.bounds.audit.bundled import from_data
from fedco.bounds.audit.decide import decide
from fedco.bounds.audit.instance import Checked, Clients, Curve, Law, NotChecked, X, check, nonnegative
from fedco.bounds.audit.picture import POINTS, Picture, affine
from fedco.bounds.audit.refutation import Case, Refutation, RefutationError, declared_in, outward, refutes, right_side
from fedco.bounds.audit.refuted import gravest, refutations, refuted_by
from fedco.bounds.audit.status import status
from fedco.bounds.language import bounding
from fedco.bounds.language.bounding import AVERAGE, FROBENIUS, MEAN, MEAN_SQUARE, SAMPLE, Form
from fedco.bounds.language.definition import load
from fedco.bounds.language.rendering import to_text
from fedco.bounds.language.theorem import Condition, Statement, Term
from fedco.bounds.registry import get_theorem
from hypothesis import given, settings
from hypothesis import strategies as st

HUBER = Curve.with_slope([(-1, -1), (1, 1)])
KINK = Curve(((-sp.oo, sp.Integer(0), -X), (sp.Integer(0), sp.oo, X)))
STEP = Curve(((-sp.oo, sp.Integer(0), sp.Integer(0)), (sp.Integer(0), sp.oo, sp.Integer(1))))
NOISY = Law.fair(Curve.whole(X + X**2 / 2), Curve.whole(X - X**2 / 2))


def holds(clients: Clients, form: Form, number: Q | int) -> bool:
    return clients.satisfies(form, number)


# --- curves ----------------------------------------------------------------------------------------------------------


def test_a_curve_is_the_integral_of_its_slope():
    assert [HUBER.at(x) for x in (-3, -1, 0, Q(1, 2), 3)] == [Q(5, 2), Q(1, 2), 0, sp.Rational(1, 8), Q(5, 2)]
    assert [HUBER.derivative.at(x) for x in (-3, Q(1, 2), 3)] == [-1, sp.Rational(1, 2), 1]
    bump = Curve.with_curvature([(-1, 0), (0, 1), (1, 0)], slope=2)
    assert (
        bump.at(0) == 0 and bump.derivative.at(0) == 2 and bump.derivative.derivative.at(Q(1, 2)) == sp.Rational(1, 2)
    )
    assert bump.derivative.at(5) - bump.derivative.at(-5) == 1 and bump.is_continuous and bump.derivative.is_continuous


def test_pieces_cover_the_line():
    with pytest.raises(ValueError, match="cover the line"):
        Curve(((-sp.oo, sp.Integer(0), X), (sp.Integer(1), sp.oo, X)))


def test_a_jump_is_seen():
    assert not STEP.is_continuous and STEP.is_bounded
    assert not Clients(Q(0), local=(Law.surely(STEP),)).is_smooth
    assert KINK.is_continuous and not Clients(Q(0), local=(Law.surely(KINK),)).is_smooth
    assert Clients(Q(0), local=(Law.surely(HUBER),)).is_smooth
    assert not Clients(Q(0), local=(Law.surely(HUBER),), derivatives=2).is_smooth


@pytest.mark.parametrize(
    ("expr", "low", "high", "wanted"),
    [
        (X**2, -sp.oo, sp.oo, True),
        (X**2 - sp.Rational(1, 10**12), -sp.oo, sp.oo, False),
        ((X - 1) ** 2 * (X + 1) ** 4, -sp.oo, sp.oo, True),
        (X, 0, sp.oo, True),
        (X, -sp.oo, 0, False),
        (X**3, 0, 1, True),
        ((X - 1) ** 2 * X, 0, 2, True),
        (1 / (X**2 + 1), -sp.oo, sp.oo, True),
        (1 / X, -1, 1, False),
        (1 / X**2, -1, 1, False),
        (0, -sp.oo, sp.oo, True),
        (-1, 0, 1, False),
        (X * (1 - X), 0, 1, True),
        (X * (1 - X), 0, sp.Rational(1001, 1000), False),
    ],
)
def test_whether_a_function_is_nonnegative_is_decided_exactly(expr, low, high, wanted):
    assert nonnegative(sp.sympify(expr), sp.sympify(low), sp.sympify(high)) == wanted


@settings(max_examples=25)
@given(
    roots=st.lists(st.fractions(-3, 3, max_denominator=5), max_size=4),
    sign=st.sampled_from([-1, 1]),
    ends=st.tuples(st.integers(-4, 0), st.integers(1, 4)),
)
def test_the_decision_agrees_with_the_signs_between_the_roots(roots, sign, ends):
    expr = sp.Integer(sign)
    for root in roots:
        expr *= X - sp.Rational(root.numerator, root.denominator)
    low, high = ends
    cuts = sorted({Q(low), Q(high), *(root for root in roots if low < root < high)})
    middles = [(a + b) / 2 for a, b in pairwise(cuts)]
    assert nonnegative(sp.expand(expr), sp.Integer(low), sp.Integer(high)) == all(
        expr.subs(X, sp.Rational(m.numerator, m.denominator)) >= 0 for m in middles
    )


@settings(max_examples=20)
@given(
    knots=st.lists(
        st.tuples(st.integers(-5, 5), st.integers(-4, 4)), min_size=2, max_size=5, unique_by=lambda pair: pair[0]
    ),
    slope=st.fractions(-2, 2, max_denominator=3),
    offset=st.fractions(-2, 2, max_denominator=3),
    x=st.fractions(-6, 6, max_denominator=4),
)
def test_a_composition_with_a_line_has_the_values_of_a_composition(knots, slope, offset, x):
    curve = Curve.with_slope(knots)
    assert curve.after(slope, offset).at(x) == curve.at(slope * x + offset)
    assert curve.is_continuous and curve.derivative.is_continuous
    size = max(abs(y) for _, y in knots)
    assert curve.derivative.squared.is_at_most(size**2)
    assert size == 0 or not curve.derivative.squared.is_at_most(size**2 - Q(1, 10**9))


def test_what_is_bounded_below():
    assert HUBER.is_bounded_below and not ((-1) * HUBER).is_bounded_below and not Curve.whole(X).is_bounded_below
    assert Curve.whole(1 / (1 + X**2)).is_bounded_below and Curve.whole(3).is_bounded


def test_probabilities_add_up():
    with pytest.raises(ValueError, match="add up to 1"):
        Law(((Q(1, 2), HUBER),))


# --- what a number bounds: largest value that fails, least that holds --------------------------------------------------

PLAIN = Clients(Q(0), local=(Law.surely(HUBER), Law.surely(2 * HUBER)))
CHAIN = Clients(Q(1), (Law.surely(HUBER),), (Law.surely(Curve.whole(2 * X + 1)),))
SHARED = Clients(
    Q(0),
    (Law.surely(HUBER),) * 2,
    (Law.fair(Curve.whole(3 * X), Curve.whole(X)),) * 2,
    (Law.surely(Curve.whole(X)), Law.surely(Curve.whole(-X))),
    estimate=Q(1, 3),
)
LEAST = [
    (PLAIN, Form(bounding.SIZE, "local_gradient"), Q(2)),
    (PLAIN, Form(bounding.LIPSCHITZ, "local_gradient"), Q(2)),
    (PLAIN, Form(bounding.UNLIKE, "local_gradient"), Q(1, 2)),
    (PLAIN, Form(bounding.UNLIKE, "local_gradient", over=AVERAGE), Q(1, 2)),
    (PLAIN, Form(bounding.UNLIKE, "local_hessian"), Q(1, 2)),
    (CHAIN, Form(bounding.GAP, "objective"), Q(5, 2)),
    (CHAIN, Form(bounding.SIZE, "inner_jacobian", MEAN), Q(2)),
    (SHARED, Form(bounding.LIPSCHITZ, "inner_value", SAMPLE), Q(3)),
    (SHARED, Form(bounding.LIPSCHITZ, "inner_value", MEAN), Q(2)),
    (SHARED, Form(bounding.NOISE, "inner_jacobian", MEAN_SQUARE, FROBENIUS), Q(1)),
    (SHARED, Form(bounding.START, "inner_value"), Q(1, 3)),
    (SHARED, Form(bounding.UNLIKE, "extra_gradient"), Q(1)),
]


@pytest.mark.parametrize(("clients", "form", "least"), LEAST)
def test_the_least_number_that_bounds_is_accepted_and_nothing_below(clients, form, least):
    assert holds(clients, form, least) and holds(clients, form, 2 * least)
    assert not holds(clients, form, least - Q(1, 10**12)) and clients.is_bounded(form)


def test_a_bound_in_mean_square_is_not_one_of_the_mean():
    root = Q(2236068, 10**6)  # just above sqrt(5)
    assert holds(SHARED, Form(bounding.LIPSCHITZ, "inner_value", MEAN_SQUARE), root)
    assert not holds(SHARED, Form(bounding.LIPSCHITZ, "inner_value", MEAN_SQUARE), Q(2236067, 10**6))


def test_at_a_kink_or_a_jump_no_number_bounds_a_slope():
    """Piece by piece |x| has a derivative with slope 0, and a step has slope 0: neither is Lipschitz with 0."""
    for curve in (KINK, STEP):
        clients = Clients(Q(0), local=(Law.surely(curve),))
        assert not holds(clients, Form(bounding.LIPSCHITZ, "local_gradient"), 10**6)
        assert not holds(clients, Form(bounding.SIZE, "local_gradient"), 10**6)
    jump = Clients(Q(0), (Law.surely(HUBER),), (Law.surely(STEP),))
    assert not holds(jump, Form(bounding.LIPSCHITZ, "inner_value"), 10**6)


def test_noise_that_grows_is_bounded_by_nothing():
    clients = Clients(Q(0), local=(NOISY,))
    form = Form(bounding.NOISE, "local_gradient", MEAN_SQUARE)
    assert not clients.is_bounded(form) and not holds(clients, form, 10**9)


def test_what_the_instance_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="has no grad h_k"):
        CHAIN.satisfies(Form(bounding.SIZE, "extra_gradient"), 1)
    with pytest.raises(ValueError, match="no first estimate"):
        CHAIN.satisfies(Form(bounding.START, "inner_value"), 1)
    with pytest.raises(ValueError, match="not decided"):
        CHAIN.satisfies(Form(bounding.STRONG_CONVEXITY, "outer_gradient"), 1)
    curved = Clients(Q(0), (Law.surely(HUBER),), (Law.surely(HUBER),))
    with pytest.raises(ValueError, match="straight lines"):
        _ = curved.objective


# --- the assumptions of a statement ----------------------------------------------------------------------------------

LOCAL = get_theorem("local_scgdm.theorem_3_4")
CONSTANTS = {"C_f": 1, "C_g": 2, "L_f": 1, "L_g": Q(1, 10), "F_gap": Q(5, 2)}
CONSTANTS |= dict.fromkeys(("sigma_f", "sigma_g", "delta_g"), Q(1, 10))


def checked(constants=CONSTANTS, clients=CHAIN) -> dict[str, Checked]:
    return {row.name: row for row in check(LOCAL.assumptions, LOCAL.statement("printed"), clients, constants)}


def test_every_assumption_of_the_statement_is_decided_and_those_of_others_are_not():
    rows = checked()
    assert all(row.holds for row in rows.values())
    others = {item.name for item in LOCAL.assumptions if item.only}
    assert others == {"not stated: clients"} and rows.keys() == {item.name for item in LOCAL.assumptions} - others
    assert rows["3.2"].how == (
        "||grad f_k|| <= C_f, in mean square over the samples with C_f = 1",
        "||grad g_k|| <= C_g (operator norm), in mean square over the samples with C_g = 2",
    )


@pytest.mark.parametrize(
    ("symbol", "entry"), [("C_f", "3.2"), ("C_g", "3.2"), ("L_f", "3.1"), ("F_gap", "not stated: start")]
)
def test_a_constant_that_is_too_small_violates_its_assumption(symbol, entry):
    rows = checked({**CONSTANTS, symbol: CONSTANTS[symbol] - Q(1, 10**9)})
    assert [name for name, row in rows.items() if not row.holds] == [entry]


def test_noise_violates_the_bounds_of_noise_and_needs_words_on_independence():
    noisy = Clients(Q(1), (Law.fair(HUBER, 3 * HUBER),), (Law.surely(Curve.whole(2 * X + 1)),))
    with pytest.raises(NotChecked, match="fresh samples"):
        checked(clients=noisy)
    reasons = dict.fromkeys((bounding.FRESH, bounding.SEPARATE), "drawn afresh")
    told = Clients(Q(1), noisy.outer, noisy.inner, by_construction=reasons)
    rows = checked({**CONSTANTS, "C_f": 3, "L_f": 3, "F_gap": 5}, told)
    assert [name for name, row in rows.items() if not row.holds] == ["3.3"]


def test_a_kink_violates_differentiability():
    rows = checked({**CONSTANTS, "F_gap": 10}, Clients(Q(1), (Law.surely(KINK),), CHAIN.inner))
    assert "not stated: chain rule" in [name for name, row in rows.items() if not row.holds]


def test_a_constant_that_the_claim_does_not_use_has_to_exist():
    some = {name: value for name, value in CONSTANTS.items() if name != "C_f"}
    assert checked(some)["3.2"].holds
    square = Clients(Q(1), (Law.surely(Curve.whole(X**2)),), CHAIN.inner)
    rows = checked({**some, "L_f": 2, "F_gap": 9}, square)
    assert not rows["3.2"].holds and rows["3.1"].holds


def test_an_entry_that_is_only_words_needs_a_reason():
    item = get_theorem("acc_fcsg_m.theorem_4_7")
    with pytest.raises(NotChecked, match="domain"):
        check(
            item.assumptions,
            item.statement("printed"),
            CHAIN,
            {"L_f": 1, "L_g": 2, "S_f": 1, "S_g": 1, "sigma_g": 1, "F_gap": 9},
        )


EXAMPLE = load(Path(fedco.__file__).parent / "examples" / "pr_sgd.toml")
G, T, p = (EXAMPLE.notation[name].symbol for name in ("G", "T", "p"))


# --- exact instances ---------------------------------------------------------------------------------------------------------------


def instance(**changed):
    numbers = {"L": F(2), "sigma": F(0), "G": F(3), "F_gap": F(1, 7)}
    chosen = {"eta": F(1, 8), "p": 3, "N": 2, "T": 11}
    given = {
        "problem": {"name": "p"},
        "constants": {name: (value, "why") for name, value in numbers.items()},
        "hyperparameters": chosen,
        "left": F(5),
        "facts": {"a fact": True},
    }
    return Case(**(given | changed))


def test_the_right_side_of_an_instance_encloses_the_bound(monkeypatch):
    monkeypatch.setattr(refutation, "get_theorem", lambda name: EXAMPLE)
    exact = 2 * F(1, 7) * 8 / 11 + 4 * F(1, 64) * 9 * 4 * 9  # L eta sigma^2 / N is 0
    low, high = right_side("c", "printed", instance())
    assert low <= exact <= high and high - low < F(1, 2**80)
    with pytest.raises(RefutationError, match="Lipschitz: not a symbol"):
        right_side("c", "printed", instance(observables={"Lipschitz": F(1)}))
    with pytest.raises(ValueError, match="step_size"):
        right_side("c", "printed", instance(hyperparameters={"eta": F(3), "p": 3, "N": 2, "T": 11}))
    assert right_side("c", "printed", instance(hyperparameters=instance().hyperparameters | {"unused": 1})) == (
        low,
        high,
    )
    item = Refutation("n", "c", (), "printed", "s", instance)
    assert item.sides(instance()) == ((5, 5), (low, high)) and item.case() == instance()
    assert item.sides(instance(left=(F(1), F(2)), right=(F(3), F(4)))) == ((1, 2), (3, 4))
    assert replace(instance(), picture=Picture((abs,), (0, 1))) == instance() and "make" not in repr(item)
    assert instance(observables={"o": 2}).values["o"] == 2 and instance().values["L"] == 2


@pytest.mark.parametrize("number", [F(1, 3), F(10**40, 7), F(1, 3 * 10**40), F(255, 256), F(511, 512) + F(1, 10**200)])
@pytest.mark.parametrize("sign", [1, -1])
def test_ends_are_the_neighbours_with_so_many_bits(number, sign):
    number *= sign
    low, high = outward((number, number + F(1, 10**300)), bits=8)
    for end, inward in ((low, F(1)), (high, F(-1))):
        size = F(2) ** (abs(end.numerator).bit_length() - end.denominator.bit_length() - 8)
        assert (end / size).denominator <= 4  # a whole number of at most about 8 bits, times a power of two
        assert 0 <= (number - end) * inward < 8 * size


def test_an_exact_number_stays_while_it_is_short():
    for number in (F(0), F(1, 3), F(2**511, 3), F(3, 2**511), F(2**512 - 1)):
        assert outward((number, number)) == (number, number)
    for number in (F(2**512 + 1, 3), F(3, 2**512 + 1)):
        low, high = outward((number, number))
        assert low < number < high and (high - low) / number < F(1, 2**94) and (high - low) / number > F(1, 2**98)
    assert outward((F(0), F(1, 3)))[0] == 0


@pytest.mark.parametrize(
    ("reading", "slip", "alternatives", "grade"),
    [
        ("", "", {}, "refuted"),
        ("", "", {"r": "refuted"}, "refuted"),
        ("f is linear", "", {"r": "not refuted"}, "reading"),
        ("", "a plus", {"r": "refuted", "s": "undecided"}, "slip"),
        ("", "a plus", {"a plus": "not refuted"}, "slip"),
        ("", "a plus", {"a plus": "refuted"}, "refuted"),
        ("", "", {"r": "not refuted"}, None),
        ("", "", {"r": "undecided"}, None),
        ("", "a plus", {"r": "perhaps"}, None),
    ],
)
def test_the_grade_of_a_refutation_is_computed(reading, slip, alternatives, grade):
    """A slip whose repaired line is refuted too is a refutation; what another reading saves has to name its own."""

    def make():
        return Refutation("n", "c", (), "printed", "s", instance, reading, slip, alternatives)

    if grade is None:
        with pytest.raises(RefutationError):
            make()
    else:
        assert make().grade == grade and all(word in make().word for word in (reading, slip) if grade != "refuted")


def test_an_instance_that_violates_an_assumption_is_no_refutation(monkeypatch):
    """Whatever is declared: the grade follows from the instance."""
    known = SimpleNamespace(assumptions=(SimpleNamespace(name="smooth"), SimpleNamespace(name="bounded")))
    monkeypatch.setattr(refutation, "get_theorem", lambda claim: known)
    item = Refutation("n", "c", (), "printed", "s", instance)
    assert item.graded(instance(assumptions={"smooth": True, "bounded": True})).grade == "refuted"
    opened = item.graded(instance(assumptions={"smooth": True, "bounded": False}))
    assert opened.grade == "reading" and opened.word == "refuted under the reading (without assumption bounded)"
    with pytest.raises(RefutationError, match="names no reading, and nothing decides assumption bounded"):
        item.graded(instance(assumptions={"smooth": True}))
    assert (
        Refutation("n", "c", (), "printed", "s", instance, "a reading").graded(instance()).word.endswith("(a reading)")
    )
    with pytest.raises(RefutationError, match="'convex' is no assumption of c"):
        item.graded(instance(assumptions={"convex": True}))


def test_refutations_are_declared_by_a_decorator():
    def one():
        """An instance
        in two lines."""
        return instance(facts={"a": True, "b": False})

    declared = refutes("k.t", "k.f", "k.g", slip="a plus", variant="v", statement="composed")(one)
    item = declared.refutation
    assert declared is one and (item.name, item.claim, item.findings) == ("k.t.v", "k.t", ("k.f", "k.g"))
    assert (item.summary, item.statement, item.grade) == ("An instance in two lines.", "composed", "slip")
    with pytest.raises(RefutationError, match="not true of the instance: b"):
        item.case()
    with pytest.raises(RefutationError, match=r"k\.t: without a docstring"):
        refutes("k.t", slip="a plus")(lambda: None)
    names = {"__name__": __name__, "one": one, "EXAMPLE": EXAMPLE, "sp": sp, "imported": Refutation}
    assert declared_in(names) == (item,)
    assert declared_in(names | {"__name__": "another.module"}) == ()

    def two():
        """Again."""

    refutes("k.t", slip="a plus", variant="v")(two)
    with pytest.raises(RefutationError, match=r"k\.t\.v: declared twice"):
        declared_in(names | {"two": two})
    refutes("k.t", slip="a plus")(two)
    assert [each.name for each in declared_in(names | {"two": two})] == ["k.t.v", "k.t"]


# --- pictures ----------------------------------------------------------------------------------------------------------------------


def test_a_picture_by_hand():
    """The slope 2x - 1 has the height x^2 - x; the mean with -x has half of x^2/2 - x."""
    assert affine(F(2), -1)(F(3)) == 5
    drawn = Picture(
        (affine(2, -1), affine(-1, 0)), (0, F(3)), kinks=(F(1, 7), 4, -1, 3), objective=affine(0, 2)
    ).drawn()
    xs = sorted([i * F(3, 60) for i in range(61)] + [F(1, 7)])
    assert len(drawn["x"]) == POINTS + 2 == 62 and drawn["x"] == [float(at) for at in xs]
    assert drawn["clients"][0] == pytest.approx([float(at**2 - at) for at in xs], abs=1e-12)
    assert drawn["mean"] == pytest.approx([float(at**2 / 2 - at) / 2 for at in xs], abs=1e-12)
    assert drawn["objective"] == pytest.approx([float(2 * at) for at in xs], abs=1e-12)
    assert (drawn["variable"], drawn["marks"], drawn["clients"][1][0]) == ("x", {}, 0)


def test_heights_are_0_at_the_first_mark():
    marks = {"start": F(5, 3), "end": 2}
    drawn = Picture((affine(2, 0),), (1, 2), marks, variable="y").drawn()
    assert drawn["marks"] == {"start": float(F(5, 3)), "end": 2.0} and drawn["variable"] == "y"
    assert drawn["clients"][0][drawn["x"].index(float(F(5, 3)))] == 0 and drawn["objective"] is None
    assert drawn["clients"][0] == pytest.approx([at**2 - 25 / 9 for at in drawn["x"]])
    assert picture.POINTS == 60


def with_term(label, expr, *conditions):
    return Statement(label, (Term("all", expr),), conditions)


@pytest.fixture
def refuted_with(monkeypatch):
    """These refutations of the example, by the statement that each is declared for."""

    def declare(*items: Refutation):
        monkeypatch.setattr(
            deciding, "refuted_by", lambda said: tuple(i.name for i in items if i.statement == said.label)
        )
        monkeypatch.setattr(refuted, "refutations", lambda: {item.name: item for item in items})
        monkeypatch.setattr(refuted, "stands", lambda name: True)  # which do: the end of this file
        monkeypatch.setattr(deciding, "refutations", lambda: {item.name: item for item in items})

    return declare


@pytest.mark.parametrize(
    ("name", "changed", "broken"),
    [
        ("above", {}, True),
        ("enclosed", {"left": (F(1), F(99))}, False),
        ("below", {"left": F(1)}, False),
        ("own", {"right": (F(0), F(1))}, False),
        ("outside", {"hyperparameters": {"eta": F(1, 8), "p": 3, "N": 2, "T": 2}}, False),
    ],
)
def test_a_printed_instance_breaks_the_composed_statement_where_it_does(
    name, changed, broken, refuted_with, monkeypatch
):
    """Beyond the enclosures, where its conditions hold, and not where the instance has a right side of its own for its claim."""
    only = {"left": F(10), "constants": {"G": (F(3), "why")}}
    item = replace(
        EXAMPLE,
        statements={
            "printed": with_term("printed", G**2 / 9),
            "composed": with_term("composed", G**2, Condition("horizon", T, ">=", p)),
        },
    )
    monkeypatch.setattr(refutation, "get_theorem", lambda claim: item)
    refuted_with(Refutation(name, item.id, (), "printed", "s", lambda: instance(**(only | changed))))
    found = states.status(item, "composed")
    assert (found.outcome, found.bundles) == (("refuted", (name,)) if broken else ("composed", ()))
    unprinted = {"corrected": with_term("corrected", G**2), "composed": item.statement("composed")}
    assert states.status(replace(item, statements=unprinted), "composed").outcome != "refuted"
    refuted_with(Refutation(name, item.id, (), "composed", "s", instance))
    assert states.status(item, "composed").bundles == (name,)


# --- the kept refutations ---------------------------------------------------------------------------------------------


DISPLAYED = ("fcsg.theorem_4_1", "fcsg_m.theorem_4_4")


@cache
def built(name):
    return refutations()[name].case()


@pytest.mark.parametrize("name", sorted(refutations()))
def test_the_declared_grade_is_that_of_the_instance(name):
    """An instance that violates an assumption which `fedco show` prints is no refutation without a reading."""
    item, case = refutations()[name], built(name)
    assert item.graded(case).word == item.word
    violated = [assumption for assumption, holds in case.assumptions.items() if not holds]
    assert item.grade == "reading" if violated else item.grade in ("refuted", "reading", "slip")


@pytest.mark.parametrize("name", DISPLAYED)
def test_the_window_instances_violate_the_words_of_assumption_3_1(name):
    item = refutations()[f"{name}.displayed_assumption"]
    assert built(item.name).assumptions["3.1"] is False
    theorem = get_theorem(name)
    assert any(assumption.name == "3.1" and "every f_xi" in assumption.text for assumption in theorem.assumptions)
    found = status(theorem, "printed")
    assert found.outcome == "reading"
    assert "otherwise derived" in found.why
    assert f"status: {found.word} by {item.name}" in to_text(theorem)


def test_one_instance_without_a_reading_decides():
    found = gravest(refuted_by(get_theorem("local_scgdm.theorem_3_4").statement("printed")))
    assert {item.grade for item in found} == {"refuted"} and "local_scgdm.theorem_3_4.one_sample" not in {
        i.name for i in found
    }
    assert status(get_theorem("comfedl.theorem_1"), "printed").outcome == "slip"
    assert status(get_theorem("acc_fcsg_m.theorem_4_7"), "printed").outcome == "reading", (
        "of a letter that it does not define"
    )
    assert status(get_theorem("acc_fcsg_m.corollary_4_8"), "printed").outcome == "refuted"


def test_what_is_drawn_is_what_was_certified():
    """Marks on the grid, a height for every model; the drop from the start to the minimiser is the certified gap."""
    cases = {name: built(name) for name in refutations()}
    pictured = {name: case for name, case in cases.items() if case.picture is not None}
    assert len(pictured) > len(cases) * 3 / 4
    gaps = lowest = 0
    for name, case in pictured.items():
        drawn = case.picture.drawn()
        marks, at = drawn["marks"], dict(zip(drawn["x"], drawn["mean"], strict=True))
        assert set(marks.values()) <= set(drawn["x"]), name
        assert all(len(heights) == len(drawn["x"]) for heights in drawn["clients"]), name
        assert any(any(heights) for heights in drawn["clients"]), name
        if {"start", "minimiser"} <= set(marks) and "F_gap" in case.constants:
            gap = float(case.constants["F_gap"][0])  # Simpson across a kink that is not on the grid
            assert at[marks["start"]] - at[marks["minimiser"]] == pytest.approx(gap, rel=2e-2), name
            gaps += 1
        for word in {"start, the minimiser", "start, a minimiser"} & set(marks):
            assert at[marks[word]] <= min(drawn["mean"]) + 1e-9, name
            lowest += 1
    assert gaps >= 4 and lowest


def test_a_picture_without_clients_or_with_an_empty_interval_is_refused():
    for functions, interval, message in (((), (0, 1), "a client"), ((abs,), (1, 1), "interval")):
        with pytest.raises(ValueError, match=message):
            Picture(functions, interval)


NAME = next(
    name
    for name, item in refutations().items()
    if item.data is not None and item.grade == "refuted" and item.statement == "printed"
)


def edited(change: Callable[[dict[str, Any]], Any]):
    data = deepcopy(dict(refutations()[NAME].data or {}))
    change(data)
    return from_data(NAME, data)


def test_a_kept_refutation_stands():
    assert refutations()[NAME].stands
    assert edited(lambda data: None).stands


def _larger_constants(data: dict[str, Any]) -> None:
    for row in data["certificates"].values():
        row["value"] = 1000 * row["value"]


def _smaller_constants(data: dict[str, Any]) -> None:
    for row in data["certificates"].values():
        row["value"] = row["value"] / 1000


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(values=[0]),
        lambda data: data.update(values=[data["bound"][0], data["bound"][0]]),
        _larger_constants,
        _smaller_constants,
        lambda data: data["problem"]["parameters"]["instance"].update(kind="nothing"),
    ],
    ids=["a left side of 0", "a left side at the bound", "larger constants", "smaller constants", "no such kind"],
)
def test_an_edited_bundle_does_not_stand(change: Callable[[dict[str, Any]], Any]):
    """By its left side, by its bound, or by an assumption that its functions violate."""
    assert not edited(change).stands


def test_a_statement_whose_bundle_does_not_stand_is_not_called_refuted(monkeypatch):
    item = refutations()[NAME]
    statement = get_theorem(item.claim).statement(item.statement)
    fallen = edited(lambda data: data.update(values=[0]))
    monkeypatch.setattr("fedco.bounds.audit.refuted.refutations", lambda: {NAME: fallen})
    monkeypatch.setattr("fedco.bounds.audit.refuted.stands", lambda name: fallen.stands)
    monkeypatch.setattr("fedco.bounds.audit.decide.refuted_by", lambda statement: (NAME,))
    assert decide(statement.theorem, statement.label, "").outcome != "refuted"
