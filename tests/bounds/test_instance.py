"""Functions of one variable in exact arithmetic, and the assumptions that are decided on them."""

from fractions import Fraction as Q
from itertools import pairwise

import pytest
import sympy as sp
from fedco.bounds import get_theorem
from fedco.bounds.audit.instance import Checked, Clients, Curve, Law, NotChecked, X, check, nonnegative
from fedco.bounds.language import bounding
from fedco.bounds.language.bounding import AVERAGE, FROBENIUS, MEAN, MEAN_SQUARE, SAMPLE, Form
from hypothesis import given, settings
from hypothesis import strategies as st

HUBER = Curve.with_slope([(-1, -1), (1, 1)])
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
    step = Curve(((-sp.oo, sp.Integer(0), sp.Integer(0)), (sp.Integer(0), sp.oo, sp.Integer(1))))
    assert not step.is_continuous and step.is_bounded
    assert not Clients(Q(0), local=(Law.surely(step),)).is_smooth
    kink = Curve(((-sp.oo, sp.Integer(0), -X), (sp.Integer(0), sp.oo, X)))
    assert kink.is_continuous and not Clients(Q(0), local=(Law.surely(kink),)).is_smooth
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
    kink = Curve(((-sp.oo, sp.Integer(0), -X), (sp.Integer(0), sp.oo, X)))
    step = Curve(((-sp.oo, sp.Integer(0), sp.Integer(0)), (sp.Integer(0), sp.oo, sp.Integer(1))))
    for curve in (kink, step):
        clients = Clients(Q(0), local=(Law.surely(curve),))
        assert not holds(clients, Form(bounding.LIPSCHITZ, "local_gradient"), 10**6)
        assert not holds(clients, Form(bounding.SIZE, "local_gradient"), 10**6)
    jump = Clients(Q(0), (Law.surely(HUBER),), (Law.surely(step),))
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
    kink = Curve(((-sp.oo, sp.Integer(0), -X), (sp.Integer(0), sp.oo, X)))
    rows = checked({**CONSTANTS, "F_gap": 10}, Clients(Q(1), (Law.surely(kink),), CHAIN.inner))
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
