"""Every side condition of the kernel refuses the error that it is there for."""

from __future__ import annotations

import pytest
from fedco.bounds.proof.kernel import (
    COMMUNICATION,
    EVERY,
    LOCAL,
    ONE,
    Act,
    App,
    Assume,
    Bounded,
    Combine,
    Definition,
    Function,
    Given,
    Heterogeneity,
    IndependentMean,
    IndependentMoment,
    Index,
    Instance,
    Known,
    Lipschitz,
    LipschitzOperator,
    Mean,
    Objective,
    ProofError,
    Quantity,
    SecondMoment,
    Setting,
    SmoothDescent,
    Source,
    Start,
    SumOver,
    Var,
    Variable,
    Variance,
    parameter,
    quantity,
    scalar,
    sq,
    value,
)
from fedco.bounds.proof.kernel.facts import State
from fedco.bounds.proof.kernel.known import Averaged
from fedco.bounds.proof.kernel.region import Region

K, B, L, ETA = (parameter(name, count=name in "KB") for name in ("K", "B", "L", "eta"))
I, T = parameter("I", count=True), parameter("T", count=True)
SIGMA = parameter("sigma", positive=False)
PAST = Known.before(("z", "shared"))
x, y, p, r = Var("x"), Var("y"), Var("p"), Var("r")
CLIENT = frozenset({"k"})


def g(point, step=0):
    return App("g", point, (step,))


def jacobian(point, step=0):
    return App("J", point, (step,))


def df(point):
    return App("df", point)


DIRECTION = Act(jacobian(x), df(y))
"""As in FedDRO: y is made from the samples of step t, and so is the Jacobian."""


def make_setting(**changes):
    table = {
        "indices": (Index("k", K), Index("i", B, True)),
        "sources": (Source("z", ("k", "i"), "independent samples"), Source("shared", (), "independent samples")),
        "functions": (
            Function("g", "x", "y", ("z",), CLIENT, CLIENT),
            Function("common", "x", "y", ("shared",)),
            Function("J", "x", ("x", "dy"), ("z",), CLIENT, CLIENT),
            Function("df", "y", "dy"),
            Function("dF", "x", "x"),
        ),
        "variables": (
            Variable("y", "y", frozenset(), ((EVERY, Mean("k", Mean("i", g(x)))),), 0),
            Variable(
                "x",
                "x",
                CLIENT,
                ((LOCAL, x - ETA * Mean("i", DIRECTION)), (COMMUNICATION, Mean("k", x - ETA * Mean("i", DIRECTION)))),
            ),
            Variable("p", "x"),
            Variable("r", "x"),
        ),
        "objectives": (Objective("F", "p", App("dF", p), "gradient"),),
    }
    return Setting(**{**table, **changes})


AXIOMS = {
    "Lipschitz g": Lipschitz("1", "g", L, True),
    "Lipschitz df": Lipschitz("1", "df", L),
    "Lipschitz dF": Lipschitz("1", "dF", L),
    "Lipschitz J": LipschitzOperator("1", "J", L, True),
    "bounded df": Bounded("1", "df", L),
    "moment J": SecondMoment("2", "J", L, PAST),
    "noise J": Variance("2", "J", SIGMA, PAST),
    "noise g": Variance("2", "g", SIGMA),
    "heterogeneity g": Heterogeneity("3", "g", L, "k"),
    "start": Start("4", x - Mean("k", x)),
}


def make_state(setting=None):
    spread = sq(x - Mean("k", x))
    quantities = {"X": Quantity("X", spread), "U": Quantity("U", sq(x)), "F": Quantity("F", value("F", Mean("k", x)))}
    return State(setting or make_setting(), quantities, AXIOMS, Region({"step": 1 - ETA * L}), T, I)


def apply(*rules):
    """The last of some rules, each result named by its position."""
    state = make_state()
    for number, rule in enumerate(rules):
        state.facts[str(number)] = rule.apply(state)
    return state.facts[str(len(rules) - 1)]


def refuse(message, *rules):
    with pytest.raises(ProofError, match=message):
        apply(*rules)


# --- measurability is derived -----------------------------------------------------------------------------------------


def test_the_error_of_the_paper_is_refused():
    """FedDRO, (16): y leaves the conditional expectation although it is made from the samples of the Jacobian."""
    algebra = make_state().algebra
    moved = Act(Given(PAST, jacobian(x)), df(y))
    assert algebra.normal(Given(PAST, DIRECTION)) != algebra.normal(moved)
    known = Act(jacobian(x), df(Given(PAST, y)))
    assert algebra.normal(Given(PAST, known)) == algebra.normal(Act(Given(PAST, jacobian(x)), df(Given(PAST, y))))


def test_centring_at_a_point_that_depends_on_the_sample():
    noise = g(x) - App("g", x, (None,))
    assert not make_state().algebra.normal(Given(PAST, noise)).parts
    late = Var("x", 1)
    refuse("not centred", IndependentMean(g(late) - App("g", late, (None,)), "i", PAST))


# --- declarations -----------------------------------------------------------------------------------------------------


def test_a_function_of_client_samples_has_the_client_index():
    with pytest.raises(ProofError, match="law of its sample"):
        make_setting(functions=(Function("g", "x", "y", ("z",)),), variables=(), objectives=())


def test_no_conditional_expectation_in_an_update():
    with pytest.raises(ProofError, match="no conditional expectation"):
        make_setting(variables=(Variable("x", "x", CLIENT, ((EVERY, Given(PAST, x)),)),), objectives=())


def test_no_sample_without_a_step_in_an_update():
    """w = g(p; v) for a sample v that is averaged away would count as known with p, and so g(p; v) as its mean."""
    w = Variable("w", "y", CLIENT | {"i"}, ((EVERY, App("g", p, (Averaged(0),))),), 0)
    with pytest.raises(ProofError, match="no step that can be written"):
        make_setting(variables=(Variable("p", "x"), w), objectives=())


def test_names_are_unique():
    with pytest.raises(ProofError, match="declared twice"):
        make_setting(indices=(Index("k", K), Index("k", B)))


def test_an_inner_product_is_of_two_vectors_of_one_space():
    algebra = make_state().algebra
    with pytest.raises(ProofError, match="not two vectors"):
        algebra.inner(x, y)
    with pytest.raises(ProofError, match="not two vectors"):
        algebra.inner(jacobian(x), jacobian(x))


def test_a_batch_of_another_size_at_the_start_is_not_paired_with_later_ones():
    setting = make_setting(indices=(Index("k", K), Index("i", B, True, K)))
    with pytest.raises(ProofError, match="two steps"):
        make_state(setting).algebra.normal(Act(jacobian(x, 0), App("df", g(x, 1))))


# --- combination ------------------------------------------------------------------------------------------------------

SMALL = Combine(sq(Mean("k", x)), sq(x), squares=((ONE, x - Mean("k", x)),))


@pytest.mark.parametrize(
    ("message", "rules"),
    [
        ("no sign", (Combine(sq(x + p), sq(x) + sq(p)),)),
        ("not certified", (Combine(sq(x), sq(Mean("k", x))),)),
        ("multiplier", (SMALL, Combine(-1 * sq(x), -1 * sq(Mean("k", x)), ((-ONE, "0"),)))),
        ("multiplier", (SMALL, Combine(ETA * sq(x), sq(x), ((1 - ETA, "0"),)))),
        ("square", (Combine(-1 * sq(x), scalar(0), squares=((-ONE, x),)),)),
        ("no squares", (Combine(sq(x), sq(x), squares=((ONE, x),), equal=True),)),
        ("no equation", (SMALL, Combine(sq(x), sq(x), ((ONE, "0"),), equal=True))),
        ("no sign", (Combine(value("F", p), scalar(0)),)),
        ("no such step", (Combine(sq(x), sq(x), ((ONE, "later"),)),)),
        ("wanted an inequality", (Definition("x", "local"), Combine(sq(x), sq(x), ((ONE, "0"),)))),
    ],
)
def test_what_does_not_follow(message, rules):
    refuse(message, *rules)


def test_a_condition_certifies_and_is_reported():
    fact = apply(Combine(ETA * L * sq(x), sq(x)))
    assert fact.uses == {"step"}
    refuse("not certified", Combine(2 * ETA * L * sq(x), sq(x)))


def test_whole_numbers():
    assert "I whole" in apply(Combine((2 * I - 1) * (I - 1) * sq(x), 6 * (I - 1) ** 2 * sq(x))).uses
    refuse("not certified", Combine(sq(x), (I - 1) * sq(x)))


def test_statements_about_a_step_and_about_the_run_do_not_mix():
    bound = Combine(quantity("X"), quantity("X") + 1)
    refuse("do not mix", bound, SumOver("0"), Combine(scalar(0), scalar(1 + T), ((ONE, "0"), (ONE, "1"))))
    refuse("about the run", bound, SumOver("0"), Combine(quantity("X"), 2 * quantity("X") + 1 + T, ((ONE, "1"),)))


# --- instances --------------------------------------------------------------------------------------------------------

FREE = Assume("Lipschitz dF", (App("dF", p), App("dF", r)))


def test_instances():
    refuse("depends on", FREE, Instance("0", (("p", x),)))
    refuse("depends on", FREE, Instance("0", (("p", Mean("k", Var("x", 1))),)))
    refuse("another space", FREE, Instance("0", (("p", Given(PAST, y)),)))
    refuse("not free", Combine(sq(x), sq(x)), Instance("0", (("x", p),)))


# --- probability ------------------------------------------------------------------------------------------------------


def noise(point=x, step=0):
    return g(point, step) - App("g", point, (None,))


def test_independent_means():
    assert apply(IndependentMean(noise(), "i", PAST)).equal
    refuse("not centred", IndependentMean(g(x), "i", PAST))
    common = App("common", x, (0,)) - App("common", x, (None,))
    refuse("same for all values", IndependentMean(common, "k", PAST))
    mixed = Act(jacobian(x) - App("J", x, (None,)), df(y))
    centred = mixed - Given(PAST, mixed)
    refuse("samples of step t itself", IndependentMean(centred, "k", PAST))
    refuse("mixes the samples", IndependentMean(Mean("k", noise()) + noise(), "k", PAST))
    refuse("does not depend on the index", IndependentMean(Mean("k", noise()), "k", PAST))


def test_independent_operators():
    refuse("Hilbert-Schmidt", Assume("moment J", (jacobian(x),)), IndependentMoment("0", "i"))


# --- smoothness -------------------------------------------------------------------------------------------------------

BAR, NEXT = Mean("k", x), Mean("k", Var("x", 1))


def test_smooth_descent():
    assert apply(FREE, SmoothDescent("F", "0", L, "r", BAR, NEXT))
    refuse("not known before", FREE, SmoothDescent("F", "0", L, "r", NEXT, BAR))
    refuse("does not say", FREE, SmoothDescent("F", "0", L / 2, "r", BAR, NEXT))
    refuse("may be negative", FREE, SmoothDescent("F", "0", -L, "r", BAR, NEXT))
    refuse("does not say", SMALL, SmoothDescent("F", "0", L, "r", BAR, NEXT))


def test_a_gradient_is_averaged_over_its_samples():
    sampled = App("common", p, (0,))
    functions = (
        *make_setting().functions[:1],
        Function("common", "x", "x", ("shared",)),
        *make_setting().functions[2:],
    )
    for gradient, message in ((sampled, "not averaged"), (App("common", p, (-1,)), "point alone"), (x, "point alone")):
        setting = make_setting(objectives=(Objective("F", "p", gradient, "gradient"),), functions=functions)
        state = make_state(setting)
        state.facts["0"] = SMALL.apply(state)
        with pytest.raises(ProofError, match=message):
            SmoothDescent("F", "0", L, "r", BAR, NEXT).apply(state)


# --- samples that are averaged away -----------------------------------------------------------------------------------


def test_which_step_averaged_samples_were_of_does_not_matter():
    algebra = make_state().algebra
    old = Mean("k", Var("x", -1))
    now = Given(PAST, Act(jacobian(old), App("df", g(old))))
    then = Given(PAST.later(-1), Act(jacobian(old, -1), App("df", g(old, -1))))
    assert algebra.normal(now) == algebra.normal(then)
    other = Given(PAST, Act(jacobian(old), App("df", g(old, 1))))
    assert algebra.normal(now) != algebra.normal(other), "one sample used twice is not two samples"


def test_a_batch_of_another_size_at_the_start_keeps_its_step():
    algebra = make_state(make_setting(indices=(Index("k", K), Index("i", B, True, K)))).algebra
    old = Mean("k", Var("x", -1))
    now = Given(PAST, App("df", Mean("i", g(old))))
    then = Given(PAST.later(-1), App("df", Mean("i", g(old, -1))))
    assert algebra.normal(now) != algebra.normal(then)
