"""Every side condition of the kernel refuses the error that it is there for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from fedco.bounds.proof.kernel import (
    COMMUNICATION,
    EVERY,
    LATER,
    LOCAL,
    ONE,
    Act,
    Action,
    App,
    Assume,
    AtStart,
    Bounded,
    Cases,
    Combine,
    Definition,
    Drift,
    Function,
    Given,
    Heterogeneity,
    IndependentMean,
    IndependentMoment,
    Index,
    Instance,
    Invariant,
    Known,
    Later,
    Linear,
    Lipschitz,
    LipschitzOperator,
    Mean,
    NoisyDrift,
    Objective,
    Open,
    Product,
    Project,
    ProofError,
    Quantity,
    SecondMoment,
    Setting,
    SmoothDescent,
    Source,
    Start,
    SumOver,
    Vanishing,
    Var,
    Variable,
    Variance,
    WithinRound,
    facts,
    parameter,
    quantity,
    scalar,
    signomial,
    sq,
    value,
)
from fedco.bounds.proof.kernel.facts import State
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
                (
                    (LOCAL, x - ETA * Mean("i", DIRECTION)),
                    (COMMUNICATION, Mean("k", x - ETA * Mean("i", DIRECTION))),
                ),
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
    quantities = {
        "X": Quantity("X", spread),
        "U": Quantity("U", sq(x)),
        "F": Quantity("F", value("F", Mean("k", x))),
    }
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


def test_what_is_made_from_the_samples_of_a_step_is_not_known_before_it():
    assert {name: table["z"] for name, table in make_setting().levels.items()} == {"x": 0, "y": 1, "p": 0, "r": 0}
    assert {name: table["shared"] for name, table in make_setting().levels.items()} == {
        "x": -1,
        "y": -1,
        "p": 0,
        "r": 0,
    }


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


def test_nothing_defines_itself():
    with pytest.raises(ProofError, match="not known yet"):
        make_setting(variables=(Variable("x", "x", CLIENT, ((EVERY, Var("x", 1)),)),), objectives=())


def test_one_equation_for_each_phase():
    with pytest.raises(ProofError, match="two equations"):
        make_setting(variables=(Variable("x", "x", CLIENT, ((EVERY, x), (LOCAL, x))),), objectives=())


def test_a_function_of_client_samples_has_the_client_index():
    with pytest.raises(ProofError, match="law of its sample"):
        make_setting(functions=(Function("g", "x", "y", ("z",)),), variables=(), objectives=())


def test_no_conditional_expectation_in_an_update():
    with pytest.raises(ProofError, match="no conditional expectation"):
        make_setting(variables=(Variable("x", "x", CLIENT, ((EVERY, Given(PAST, x)),)),), objectives=())


def test_names_are_unique():
    with pytest.raises(ProofError, match="declared twice"):
        make_setting(indices=(Index("k", K), Index("k", B)))


def test_a_quantity_is_a_sum_of_squares_or_a_value():
    for wrong in (-1 * sq(x), sq(x) + value("F", x), value("F", x) + value("F", p)):
        with pytest.raises(ProofError, match="wanted squared norms"):
            Quantity("Q", wrong)


def test_spaces():
    algebra = make_state().algebra
    for wrong in (x + y, Act(jacobian(x), y), App("df", x), Act(x, x)):
        with pytest.raises(ProofError):
            algebra.normal(wrong)
    with pytest.raises(ProofError, match="not two vectors"):
        algebra.inner(x, y)
    with pytest.raises(ProofError, match="not two vectors"):
        algebra.inner(jacobian(x), jacobian(x))


def test_a_batch_of_another_size_at_the_start_is_not_paired_with_later_ones():
    setting = make_setting(indices=(Index("k", K), Index("i", B, True, K)))
    with pytest.raises(ProofError, match="two steps"):
        make_state(setting).algebra.normal(Act(jacobian(x, 0), App("df", g(x, 1))))


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_no_division_by_what_may_be_zero():
    with pytest.raises(ProofError, match="may be 0"):
        1 / SIGMA
    with pytest.raises(ProofError, match="single term"):
        1 / (ETA + L)


def test_no_floats():
    with pytest.raises(ProofError, match="exact"):
        signomial(0.5)


# --- combination ------------------------------------------------------------------------------------------------------

SMALL = Combine(sq(Mean("k", x)), sq(x), squares=((ONE, x - Mean("k", x)),))


def test_a_square():
    assert not apply(SMALL).equal


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
    n = Region({}).slack("I whole")
    assert n == (I - 1) * (I - 2)
    assert "I whole" in apply(Combine((2 * I - 1) * (I - 1) * sq(x), 6 * (I - 1) ** 2 * sq(x))).uses
    refuse("not certified", Combine(sq(x), (I - 1) * sq(x)))


def test_statements_about_a_step_and_about_the_run_do_not_mix():
    bound = Combine(quantity("X"), quantity("X") + 1)
    refuse("do not mix", bound, SumOver("0"), Combine(scalar(0), scalar(1 + T), ((ONE, "0"), (ONE, "1"))))
    refuse("about the run", bound, SumOver("0"), Combine(quantity("X"), 2 * quantity("X") + 1 + T, ((ONE, "1"),)))


# --- instances --------------------------------------------------------------------------------------------------------

FREE = Assume("Lipschitz dF", (App("dF", p), App("dF", r)))


def test_instances():
    assert apply(FREE, Instance("0", (("p", Mean("k", x)),)))
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
    bound = Assume("noise J", (jacobian(x),))
    assert apply(bound, IndependentMoment("0", "i")).bound == SIGMA**2 / B
    refuse("Hilbert-Schmidt", Assume("moment J", (jacobian(x),)), IndependentMoment("0", "i"))


# --- assumptions ------------------------------------------------------------------------------------------------------


def test_assumptions_at_points_that_depend_on_the_sample():
    late = Var("x", 1)
    refuse("depends on the sample", Assume("Lipschitz g", (g(late), g(x))))
    refuse("depends on the sample", Assume("noise g", (g(late),)))
    refuse("depends on the sample", Assume("moment J", (jacobian(late),)))
    refuse("depends on the sample", Assume("Lipschitz J", (jacobian(late), jacobian(x), df(y))))
    refuse("samples differ", Assume("Lipschitz g", (g(x), g(x, 1))))
    refuse("mean over the samples", Assume("heterogeneity g", (g(p),)))
    refuse("depends on k", Assume("heterogeneity g", (App("g", x, (None,)),)))
    refuse("no value of", Assume("Lipschitz g", (x, g(x))))
    refuse("no such assumption", Assume("wished for"))


def test_an_operator_acts_on_a_bounded_vector():
    moment = Assume("moment J", (jacobian(x),))
    assert apply(moment, Action("0", df(y), True))
    fact = apply(moment, Action("0", df(y)))
    assert "past" in repr(fact), "y is not known, so the product is averaged"
    known = apply(moment, Action("0", df(Given(PAST, y))))
    assert "E[" not in repr(known).split("<=")[0].replace("E[y | past]", "")


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


# --- rounds and sums --------------------------------------------------------------------------------------------------

D = x - Mean("k", x)
LATER_X, STEP = Var("x", 1), Mean("i", DIRECTION)
ROUND = (
    Definition("x", "local"),
    Project("0", ("k",)),
    Linear((LATER_X - Mean("k", LATER_X)) - D + ETA * (STEP - Mean("k", STEP)), ((ONE, "0"), (-ONE, "1"))),
    Definition("x", "communication"),
    Project("3", ("k",)),
    Linear(LATER_X - Mean("k", LATER_X), ((ONE, "3"), (-ONE, "4"))),
    Assume("start"),
    Assume("moment J", (jacobian(x),)),
    Action("7", df(y), True),
    Combine(
        sq(ETA * (STEP - Mean("k", STEP))),
        scalar(ETA**2 * L**4),
        ((ETA**2, "8"),),
        squares=((ETA**2, Mean("k", STEP)), (ETA**2, DIRECTION - STEP)),
    ),
)
DRIFT = Drift("X", "2", "5", "6", "9")


def test_drift():
    assert apply(*ROUND, DRIFT).phases is None
    assert apply(*ROUND, replace(DRIFT, where="communications"))
    assert apply(*ROUND, replace(DRIFT, where="every step")).phases == EVERY
    refuse("after a communication", *ROUND, replace(DRIFT, reset="2"))
    refuse("at the start", *ROUND, replace(DRIFT, start="5"))
    refuse("every local step", *ROUND, replace(DRIFT, move="5"))
    refuse("has no sign|nonnegative multiple", *ROUND, replace(DRIFT, growth="8"))
    refuse("wanted all", *ROUND, replace(DRIFT, where="never"))
    refuse("not one squared norm", *ROUND, replace(DRIFT, quantity="F"))
    refuse("after a communication", *ROUND, replace(DRIFT, quantity="U"))


def test_local_and_communication_steps_are_not_mixed():
    both = Mean("k", LATER_X - x + ETA * STEP)
    refuse("no step at which", *ROUND, Linear(2 * both, ((ONE, "1"), (ONE, "4"))))
    refuse("left over", *ROUND, Linear(D, ((ONE, "0"),)))
    refuse("different conclusions", *ROUND, Cases(("0", "3")))


def test_sums():
    bound = Combine(quantity("X", 1), quantity("X", 1) + 1)
    total = apply(bound, SumOver("0"))
    assert "T" in repr(total)
    refuse("at most one step", bound, SumOver("0", start=1, drop=1))
    refuse("only those are summed", SMALL, SumOver("0"))
    refuse("at every step", *ROUND[:6], Open("X"), Later("6", -1), SumOver("7"))


def test_reading_a_statement_at_another_step():
    assert apply(Open("X"), Later("0", -1)).phases == LATER
    refuse("cannot be read", Open("X"), Later("0", -2))
    refuse("cannot be read", *ROUND, Later("2", 1))


def test_the_first_step_needs_a_statement_about_it():
    assert apply(Open("X"), Combine(quantity("X"), quantity("X") + 1), AtStart("1"))
    late = (Combine(quantity("X"), quantity("X") + 1), Later("0", -1))
    refuse("does not hold there", *late, AtStart("1"))


# --- induction, and samples that are averaged away ------------------------------------------------------------------


def test_induction():
    state = make_state()
    for name, claim in {"0": quantity("X", 1) - L, "1": quantity("X", 1) - quantity("X") / 2 - L / 2}.items():
        state.facts[name] = facts.Inequality(facts.fact_form(state.form(claim)), False, EVERY)
    assert Invariant("X", L, "0", "1").apply(state).phases == EVERY
    with pytest.raises(ProofError, match="does not say"):
        Invariant("X", L / 2, "0", "1").apply(state)
    for wrong in (quantity("X", 1) - quantity("X") - L, quantity("X", 1) + quantity("X") - L):
        state.facts["2"] = facts.Inequality(facts.fact_form(state.form(wrong)), False, EVERY)
        with pytest.raises(ProofError, match="not certified"):
            Invariant("X", L, "0", "2").apply(state)
    state.facts["3"] = facts.Inequality(facts.fact_form(state.form(quantity("X", 1) - quantity("U") - L)), False, EVERY)
    with pytest.raises(ProofError, match="more than X"):
        Invariant("X", L, "0", "3").apply(state)


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


# --- products, vectors without length, growth within a round ----------------------------------------------------------

DRAWN = App("sampled", x, (0,))
WITH_OWN = {
    "moment v": SecondMoment("2", "sampled", SIGMA, PAST | Known.sample("z")),
    "noise v": Variance("2", "sampled", SIGMA, PAST | Known.sample("z"), True),
    "blind v": SecondMoment("2", "sampled", SIGMA, PAST),
    "own v": SecondMoment("2", "sampled", SIGMA, PAST | Known.sample("shared")),
    "own noise v": Variance("2", "sampled", SIGMA, PAST | Known.sample("shared"), True),
    "mean df": Lipschitz("1", "sampled", L, of_mean=True),
    "mean bound": Bounded("1", "sampled", L, of_mean=True),
    "mean J": LipschitzOperator("1", "J", L, of_mean=True),
}


def with_own(*rules):
    """As `apply`, with a vector that has a sample of its own."""
    setting = make_setting()
    functions = (*setting.functions, Function("sampled", "x", "dy", ("shared",)))
    state = make_state(make_setting(functions=functions))
    state.axioms = {**AXIOMS, **WITH_OWN}
    for number, rule in enumerate(rules):
        state.facts[str(number)] = rule.apply(state)
    return state.facts[str(len(rules) - 1)]


def refuse_own(message, *rules):
    with pytest.raises(ProofError, match=message):
        with_own(*rules)


def test_products():
    operator, vector = Assume("moment J", (jacobian(x),)), Assume("moment v", (DRAWN,))
    found = with_own(operator, vector, Product("0", "1"))
    assert found.form[0][1] == -(L**2) * SIGMA**2 or found.form[1][1] == -(L**2) * SIGMA**2
    assert with_own(operator, Assume("noise v", (DRAWN,)), Product("0", "1"))
    refuse_own("is not known given", operator, Assume("blind v", (DRAWN,)), Product("0", "1"))
    refuse_own("is not known given", operator, vector, Product("1", "0"))
    known = Assume("blind v", (App("sampled", x, (None,)),))
    refuse_own("no operator on this space", known, vector, Product("0", "1"))
    refuse_own("wanted an moment", operator, Assume("bounded df", (df(y),)), Product("0", "1"))
    refuse_own("not given its own sample", Assume("own v", (DRAWN,)))
    refuse_own("not given its own sample", Assume("own noise v", (DRAWN,)))
    refuse_own("depends on the sample", Assume("noise v", (App("sampled", Var("p", 1), (0,)),)))
    assert with_own(Assume("noise v", (App("sampled", Var("x", 1), (0,)),))), "x is made from other samples only"


def test_assumptions_about_a_mean_function():
    mean = App("sampled", x, (None,))
    assert with_own(Assume("mean bound", (mean,)))
    refuse_own("about the mean", Assume("mean bound", (DRAWN,)))
    refuse_own("about the mean", Assume("mean df", (DRAWN, App("sampled", Mean("k", x), (0,)))))
    refuse_own("about the mean", Assume("mean J", (jacobian(x), jacobian(Mean("k", x)), df(y))))
    assert with_own(Assume("moment J", (jacobian(x),)), Action("0", mean, True))
    refuse_own("no bound for every outcome", Assume("moment J", (jacobian(x),)), Action("0", DRAWN, True))


def test_a_mean_function_is_equal_by_assumption():
    functions = (*make_setting().functions[1:], Function("g", "x", "y", ("z",), CLIENT))
    with pytest.raises(ProofError, match="no assumption says that its mean is the same"):
        make_setting(functions=functions)


def test_a_vector_without_length():
    zero = Combine(sq(D), scalar(0), pairings=((ONE, "0", D),))
    found = apply(Assume("start"), zero, Vanishing("1", D))
    assert found.phases == {"first local", "first communication"}
    refuse("does not say", SMALL, Vanishing("0", D))
    refuse("does not say", Assume("start"), zero, Vanishing("1", x))
    refuse("does not say", Combine(sq(D), sq(D) + 1), Vanishing("0", D))
    refuse("does not say", Combine(-1 * sq(x), scalar(0)), Vanishing("0", x))


def within(changed=(), level=ETA * L, growth=ETA, start=L, factor=1 - ETA * L):
    """A quantity X with X = 0 after communications, X_1 <= eta L^2, X_{t+1} <= (1 - eta L) X_t + eta L + ..."""
    state = make_state()
    claims = {
        "reset": (quantity("X", 1), COMMUNICATION),
        "first": (quantity("X", 1) - ETA * L**2, LOCAL - LATER),
        "later": (quantity("X", 1) - factor * quantity("X") - ETA * L * ETA * L - ETA, LOCAL & LATER),
    } | dict(changed)
    for name, (claim, phases) in claims.items():
        state.facts[name] = facts.Inequality(facts.fact_form(state.form(claim)), False, phases)
    return WithinRound("X", "reset", "first", "later", level, growth, start).apply(state)


def test_growth_within_a_round():
    assert within().phases is None
    wrong = {
        "after a communication": {"reset": (quantity("X", 1), COMMUNICATION & LATER)},
        "is 0 after": {"reset": (quantity("X", 1) - ETA, COMMUNICATION)},
        "does not hold at step 0": {"first": (quantity("X", 1) - ETA, LOCAL & LATER)},
        "by a number": {"first": (quantity("X", 1) - quantity("X"), EVERY)},
        "every later local": {"later": (quantity("X", 1) - ETA, LOCAL - LATER)},
        "and a number": {"later": (quantity("X", 1) - quantity("U"), EVERY)},
        "the factor": {"later": (quantity("X", 1) + quantity("X"), EVERY)},
        "1 minus the factor": {"later": (quantity("X", 1) - 2 * quantity("X"), EVERY)},
    }
    for message, changed in wrong.items():
        with pytest.raises(ProofError, match=message):
            within(changed.items())
    for message, numbers in {
        "what a step adds": {"growth": ETA / 2},
        "the level": {"level": -L},
        "the growth": {"growth": ETA - 2 * L},
        "the start": {"start": L / 2},
    }.items():
        with pytest.raises(ProofError, match=message):
            within(**numbers)
    with pytest.raises(ProofError, match="no nonnegative quantity"):
        WithinRound("F", "reset", "first", "later", L, L, L).apply(make_state())


# --- drift with noise, a mean over clients, constants that are roots --------------------------------------------------


def noisy(noise_term, growth=L, size=SIGMA, weight=ONE, phases=EVERY):
    """x moves by eta times a known part and fresh noise; both are given bounds."""
    known = App("dF", p)
    functions = (
        *make_setting().functions[:1],
        Function("dF", "x", "x"),
        Function("noisy", "x", "x", ("z",), CLIENT, CLIENT),
    )
    drawn = Mean("i", App("noisy", p, (0,)))
    moved = x + known + drawn
    variables = (
        Variable("x", "x", CLIENT, ((LOCAL, moved), (COMMUNICATION, Mean("k", moved)))),
        Variable("p", "x"),
    )
    setting = Setting(make_setting().indices, make_setting().sources, functions, variables)
    state = make_state(setting)
    state.quantities = {"X": Quantity("X", sq(x - Mean("k", x)))}
    rules = {
        "local": Definition("x", "local"),
        "local.mean": Project("local", ("k",)),
        "move": Linear(
            (LATER_X - Mean("k", LATER_X)) - D - (drawn - Mean("k", drawn)), ((ONE, "local"), (-ONE, "local.mean"))
        ),
        "communication": Definition("x", "communication"),
        "communication.mean": Project("communication", ("k",)),
        "reset": Linear(LATER_X - Mean("k", LATER_X), ((ONE, "communication"), (-ONE, "communication.mean"))),
        "start": Assume("start"),
    }
    for name, rule in rules.items():
        state.facts[name] = rule.apply(state)
    given = {
        "drawn": drawn - Mean("k", drawn),
        "centred": (drawn - App("noisy", p, (None,))) - Mean("k", drawn - App("noisy", p, (None,))),
        "next": App("noisy", p, (1,)) - App("noisy", p, (None,)),
    }[noise_term]
    rest = state.algebra.normal((drawn - Mean("k", drawn)) - given)
    for name, term, bound in (("growth", rest, growth), ("size", given, size)):
        form_ = state.form(sq(term) - (bound if not isinstance(bound, str) else quantity(bound)))
        state.facts[name] = facts.Inequality(facts.fact_form(form_), False, phases)
    return NoisyDrift("X", "move", "reset", "start", given, "growth", "size", weight).apply(state)


def test_drift_with_noise():
    found = noisy("centred").table
    bound = -next(c for atom, c in found.items() if repr(atom) == "1")
    assert bound == T * (2 * (I - 1) * (2 * I - 1) / 6 * L + 2 * (I - 1) / 2 * SIGMA)
    for message, given in {
        "not centred": {"noise_term": "drawn"},
        "not known after the step": {"noise_term": "next"},
        "growth: the constant": {"noise_term": "centred", "growth": -L},
        "size: the constant": {"noise_term": "centred", "size": -SIGMA},
        "by a constant": {"noise_term": "centred", "size": "X"},
        "the weight": {"noise_term": "centred", "weight": -ONE},
        "at every step": {"noise_term": "centred", "phases": LATER},
    }.items():
        with pytest.raises(ProofError, match=message):
            noisy(**given)


def test_drift_of_a_known_move_that_is_bounded_by_a_quantity():
    """(1 + a) I(I-1)/2 with a = 1. No run needs more, and at I = 2 one needs all: its first move is the whole drift."""
    table = noisy("centred", growth="X").table
    (coefficient,) = (c for atom, c in table.items() if repr(atom) != "1")
    assert coefficient == 1 - 2 * (I * (I - 1) / 2)
    bound = -next(c for atom, c in noisy("centred", growth="X", weight=3 * ONE).table.items() if repr(atom) == "1")
    assert bound == T * (1 + ONE / 3) * (I - 1) / 2 * SIGMA  # (1 + 1/a) (I-1)/2 for each of the T steps
    for steps in range(2, 8):
        sums = np.tril(np.ones((steps, steps)), -1)  # the drift at each step of a round, from the moves before it
        worst = float(np.linalg.eigvalsh(sums.T @ sums)[-1])
        assert worst <= steps * (steps - 1) / 2 + 1e-12 and (steps > 2 or worst == pytest.approx(1))


def test_a_constant_that_is_a_root():
    root, square = parameter("M"), L**2 + ETA
    (param,) = root.params
    region = Region({}, {param: square}, {param: 2})
    assert region.certified(root**2 - L**2, ())
    assert not region.certified(root**2 - L**2 - 2 * ETA, ())
    assert not region.certified(root - L, ()), "an odd power is left as it is"
    point = {next(iter(L.params)): Fraction(3), next(iter(ETA.params)): Fraction(16)}
    assert region.constants_at(point)[param] == 5
    with pytest.raises(ProofError, match="not rational"):
        region.constants_at({**point, next(iter(ETA.params)): Fraction(1)})
