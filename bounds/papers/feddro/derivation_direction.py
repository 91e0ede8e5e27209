"""FedDRO, for the kernel: the estimate of g, and bias, variance and spread of the directions; steps 2 to 5."""

from __future__ import annotations

from ...proof.kernel import (
    ONE,
    Act,
    Action,
    Assume,
    Combine,
    Definition,
    IndependentMean,
    IndependentMoment,
    Linear,
    MeanMoment,
    Open,
    Project,
    Reader,
    Step,
    Term,
    Var,
    quantity,
    signomial,
    sq,
)
from ...proof.sum_of_squares import apart, deviation
from .derivation_problem import (
    BAR,
    BEFORE,
    DIRECTION,
    ERROR,
    EXPECTED_Y,
    FOUR,
    JACOBIAN_NOISE,
    PAST,
    THREE,
    TWO,
    A,
    Constants,
    D,
    X,
    Y,
    batch,
    clients,
    df,
    dh,
    dh_sampled,
    everyone,
    expected,
    g,
    g_sampled,
    gradient,
    jacobian,
    jacobian_sampled,
)


def innovation(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 2: the estimate of g and its innovation."""
    old = 1 - s.beta
    error_before = Var("y", -1) - clients(g(BEFORE))
    value_noise = g_sampled(X) - g(X)
    change = g_sampled(X) - g_sampled(BEFORE)
    moved_noise = change - (g(X) - g(BEFORE))
    z = s.beta * value_noise + old * moved_noise
    centre = EXPECTED_Y - clients(g(X))
    return (
        Step("estimate", Definition("y", "local")),
        Step("estimate.mean", Project("estimate", (), PAST), "the samples of step t are new to x^t and x^{t-1}"),
        Step("estimate.centre", Linear(centre - old * error_before, ((ONE, "estimate.mean"),))),
        Step("innovation", Linear(Y - EXPECTED_Y - everyone(z), ((ONE, "estimate"), (-ONE, "estimate.mean")))),
        Step("Y", Open("Y")),
        Step("Y.before", Open("Y", -1)),
        Step("N", Open("N")),
        Step(
            "error",
            Combine(
                quantity("Y"),
                old**2 * quantity("Y", -1) + quantity("N"),
                ((ONE, "Y"), (-(old**2), "Y.before"), (-ONE, "N")),
                pairings=((ONE, "estimate.centre", centre + old * error_before),),
                equal=True,
            ),
            "the innovation is orthogonal to what is known",
        ),
        Step("noise.clients", IndependentMean(batch(z), "k", PAST)),
        Step("noise.batch", IndependentMean(z, "i", PAST)),
        Step("noise.value", Assume("value noise", (g_sampled(X),))),
        Step("noise.change", Assume("inner Lipschitz", (g_sampled(X), g_sampled(BEFORE)))),
        Step("S.before", Open("S", -1)),
        Step(
            "noise",
            Combine(
                quantity("N"),
                2 * s.beta**2 * s.delta_g**2 / c.bK + 2 * s.B_g**2 / c.bK * quantity("S", -1),
                (
                    (ONE, "N"),
                    (ONE, "noise.clients"),
                    (1 / s.K, "noise.batch"),
                    (2 * s.beta**2 / c.bK, "noise.value"),
                    (2 * old**2 / c.bK, "noise.change"),
                    (-2 * s.B_g**2 * old**2 / c.bK, "S.before"),
                ),
                (
                    *apart(s.beta * value_noise, old * moved_noise, weight=1 / c.bK),
                    (2 * old**2 / c.bK, g(X) - g(BEFORE)),
                ),
                pairings=((ONE, "innovation", Y - EXPECTED_Y + everyone(z)),),
            ),
            "new noise of the value, and of its change; (1 - beta)^2 <= 1",
        ),
    )


def operators(s: Reader) -> tuple[Step, ...]:
    """Bounds of the Jacobians at the clients' models."""
    return (
        Step("jacobian", Assume("inner Jacobian", (jacobian(X),))),
        Step("jacobian.mean", MeanMoment("jacobian", ("k",))),
        Step("jacobian.noise", Assume("Jacobian noise", (jacobian_sampled(X),))),
        Step("jacobian.batch", IndependentMoment("jacobian.noise", "i")),
        Step("jacobian.clients", IndependentMoment("jacobian.batch", "k")),
        Step("outer.innovation", Assume("outer smoothness", (df(Y), df(EXPECTED_Y)))),
    )


def bias(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 3: the conditional direction, with y inside the conditional expectation."""
    at_mean = df(clients(g(BAR)))
    extra, change = dh(BAR) - dh(X), Act(jacobian(BAR) - jacobian(X), at_mean)
    values = g(X) - g(BAR)
    third = expected(Act(clients(jacobian(X)), at_mean - df(Y)))
    fourth = expected(Act(everyone(JACOBIAN_NOISE), df(Y) - df(EXPECTED_Y)))
    third_open = Act(clients(jacobian(X)), at_mean - df(Y))
    noise = s.sigma_g**2 * s.L_f**2 / c.bK
    pull = c.rho + 2 * s.B_g**4 * s.L_f**2
    return (
        Step("X", Open("X")),
        Step("bias.h", Assume("extra smoothness", (dh(BAR), dh(X)))),
        Step("bias.jacobian", Assume("inner smoothness", (jacobian(BAR), jacobian(X), at_mean))),
        Step("bias.action", Action("jacobian.mean", at_mean - df(Y))),
        Step("bias.outer", Assume("outer smoothness", (at_mean, df(Y)))),
        Step("bias.inner", Assume("inner Lipschitz", (g(X), g(BAR)))),
        Step("bias.noise", Action("jacobian.clients", df(Y) - df(EXPECTED_Y)), "conditional Cauchy-Schwarz"),
        Step(
            "bias",
            Combine(
                sq(gradient(BAR) - A),
                4 * pull * quantity("X") + 8 * c.by_value * quantity("Y") + 4 * noise * quantity("N"),
                (
                    (FOUR, "bias.h"),
                    (FOUR, "bias.jacobian"),
                    (FOUR, "bias.action"),
                    (4 * s.B_g**2, "bias.outer"),
                    (8 * c.by_value, "bias.inner"),
                    (FOUR, "bias.noise"),
                    (4 * s.sigma_g**2 / c.bK, "outer.innovation"),
                    (-4 * pull, "X"),
                    (-8 * c.by_value, "Y"),
                    (-4 * noise, "N"),
                ),
                (
                    *apart(clients(extra), clients(change), third, -fourth),
                    *deviation("k", extra, change, weight=FOUR),
                    (FOUR, third_open - third),
                    *apart(ERROR, clients(values), weight=4 * c.by_value),
                    *deviation("k", values, weight=8 * c.by_value),
                ),
            ),
            "grad h, the Jacobians, the arguments of grad f, and the noise of the Jacobian that y has seen",
        ),
    )


def variance(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 4: A is the closest known vector to D, so any other centre gives a bound."""
    extra = dh_sampled(X) - dh(X)
    noise = Act(everyone(JACOBIAN_NOISE), df(Y))
    outer = Act(clients(jacobian(X)), df(Y) - df(EXPECTED_Y))
    centre = clients(dh(X)) + Act(clients(jacobian(X)), df(EXPECTED_Y))
    return (
        Step("variance.h", Assume("extra noise", (dh_sampled(X),))),
        Step("variance.batch", IndependentMean(extra, "i", PAST)),
        Step("variance.clients", IndependentMean(batch(extra), "k", PAST)),
        Step("variance.jacobian", Action("jacobian.clients", df(Y), True)),
        Step("variance.outer", Action("jacobian.mean", df(Y) - df(EXPECTED_Y))),
        Step(
            "variance",
            Combine(
                sq(D - A),
                3 * c.v / c.bK + 3 * c.by_value * quantity("N"),
                (
                    (THREE, "variance.clients"),
                    (3 / s.K, "variance.batch"),
                    (3 / c.bK, "variance.h"),
                    (THREE, "variance.jacobian"),
                    (THREE, "variance.outer"),
                    (3 * s.B_g**2, "outer.innovation"),
                    (-3 * c.by_value, "N"),
                ),
                (*apart(everyone(extra), noise, outer), (ONE, A - centre)),
            ),
        ),
    )


def spread(s: Reader, c: Constants) -> tuple[Step, ...]:
    """Step 5: the directions differ by noise, drift and heterogeneity."""
    extra = dh_sampled(X) - dh(X)
    noise_h, noise_g = batch(extra), Act(batch(JACOBIAN_NOISE), df(Y))
    noise, exact_h, exact_g = noise_h + noise_g, dh(X), Act(jacobian(X), df(Y))
    drift_h, drift_g = dh(X) - dh(BAR), Act(jacobian(X) - jacobian(BAR), df(Y))
    unlike_h = dh(BAR) - clients(dh(BAR))
    unlike_g = Act(jacobian(BAR) - clients(jacobian(BAR)), df(Y))
    twelve, twenty_four = signomial(12), signomial(24)

    def away(term: Term) -> Term:
        return term - clients(term)

    return (
        Step("spread.noise", Action("jacobian.batch", df(Y), True)),
        Step("spread.drift h", Assume("extra smoothness", (dh(X), dh(BAR)))),
        Step("spread.drift g", Assume("inner smoothness", (jacobian(X), jacobian(BAR), df(Y)))),
        Step("spread.unlike h", Assume("extra heterogeneity", (dh(BAR),))),
        Step("spread.unlike J", Assume("Jacobian heterogeneity", (jacobian(BAR),))),
        Step("spread.unlike g", Action("spread.unlike J", df(Y), True)),
        Step(
            "spread",
            Combine(
                sq(DIRECTION - D),
                24 * c.rho * quantity("X") + c.c0,
                (
                    (FOUR, "variance.batch"),
                    (4 / s.b, "variance.h"),
                    (FOUR, "spread.noise"),
                    (twenty_four, "spread.drift h"),
                    (twenty_four, "spread.drift g"),
                    (twelve, "spread.unlike h"),
                    (twelve, "spread.unlike g"),
                    (-24 * c.rho, "X"),
                ),
                (
                    *apart(away(noise), away(exact_h + exact_g)),
                    (TWO, clients(noise)),
                    *apart(noise_h, noise_g, weight=TWO),
                    *apart(away(exact_h), away(exact_g), weight=TWO),
                    *apart(drift_h, unlike_h, -clients(drift_h), weight=FOUR),
                    *apart(drift_g, unlike_g, -clients(drift_g), weight=FOUR),
                    *deviation("k", drift_h, drift_g, weight=twelve),
                ),
            ),
            "noise against the rest, h against the composition, then drift, heterogeneity and drift of the mean",
        ),
        Step(
            "growth",
            Combine(
                sq(s.eta * (DIRECTION - D)),
                s.eta**2 * (24 * c.rho * quantity("X") + c.c0),
                ((s.eta**2, "spread"),),
            ),
        ),
    )
