"""ComFedL: the derivation of the corrected Theorems 1 and 2; the steps are those of docs/theory/comfedl.md.

Time t counts local steps; `a` is the server's model at the start of the round, `c` the client that holds a place of the
sample C_s: the places are uniform, and need not be independent. The metric is the mean over t of ||grad F(a)||^2, which is the
mean over rounds, as T = S tau.
"""

from __future__ import annotations

from fractions import Fraction

from ...proof.kernel import (
    BATCH,
    COMMUNICATION,
    LOCAL,
    ONE,
    PLACES,
    POSITION,
    Act,
    Action,
    App,
    Assume,
    Assumed,
    Cases,
    CauchySchwarz,
    Combine,
    Definition,
    Derivation,
    Drift,
    Function,
    Given,
    Held,
    IndependentMean,
    Index,
    Instance,
    Known,
    Linear,
    MeanMoment,
    Objective,
    Open,
    Pair,
    Project,
    Quantity,
    Reader,
    Setting,
    Signomial,
    SmoothDescent,
    Source,
    Start,
    Step,
    Substitute,
    Sum,
    SumOver,
    Term,
    Triangle,
    Var,
    Variable,
    parameter,
    quantity,
    scalar,
    signomial,
    sq,
    value,
)
from ...proof.writing import deviation, mean_over

PAST = Known.before(("xi", "zeta", "draw"))
PLACE = frozenset({"k"})
X, A, C, U = Var("x"), Var("a"), Var("c"), Var("u")
NEXT_X, NEXT_A, NEXT_C = Var("x", 1), Var("a", 1), Var("c", 1)
V, W, LABEL = Var("v"), Var("w"), Var("e")
NOWHERE = Sum(())
JUMP = signomial(1)

places = mean_over("k")
batch = mean_over("i")
outer_batch = mean_over("l")
BAR, NEXT = places(X), places(NEXT_X)


def drawn(step: int) -> Term:
    """The client drawn for a place with the sample of a step."""
    return App("draw", NOWHERE, (step,))


def chain(jacobian: Term, point: Term, client: Term, sample: int | None) -> Term:
    """A Jacobian of f, transposed, applied to the gradient of g at a point."""
    return Act(jacobian, outer_batch(App("dg", Pair(point, client), (sample,))))


def direction(x: Term, client: Term) -> Term:
    """u of line 12: one inner batch for the value and the Jacobian, another one for the outer gradient."""
    at = Pair(x, client)
    return chain(batch(App("df", at, (0,))), batch(App("f", at, (0,))), client, 0)


def client_gradient(x: Term, client: Term) -> Term:
    """grad F^i."""
    at = Pair(x, client)
    return Act(App("df", at, (None,)), App("dg", Pair(App("f", at, (None,)), client), (None,)))


def gradient(x: Term, step: int = 0) -> Term:
    """grad F: a client that is drawn now, and averaged."""
    return Given(PAST.later(step), places(client_gradient(x, drawn(step))))


STARTED = places(client_gradient(A, C))
"""U: the mean gradient of the sampled clients at the server's model."""
NEXT_STARTED = places(client_gradient(NEXT_A, NEXT_C))
MEAN_U = places(direction(X, C))


def setting(s: Reader) -> Setting:
    clients = "not stated: clients"
    batches = "not stated: batches"
    moved = X - s.eta * direction(X, C)
    functions = (
        Function("draw", "x", "c", ("draw",), role="drawn_client"),
        Function("f", "x", "y", ("xi",), label="c", role="inner_value"),
        Function("df", "x", ("x", "dy"), ("xi",), label="c", role="inner_jacobian"),
        Function("dg", "y", "dy", ("zeta",), label="c", role="outer_gradient"),
    )
    variables = (
        Variable("x", "x", PLACE, ((LOCAL, moved), (COMMUNICATION, places(moved)))),
        Variable("a", "x", frozenset(), ((LOCAL, A), (COMMUNICATION, places(moved)))),
        Variable("c", "c", PLACE, ((LOCAL, C), (COMMUNICATION, drawn(0)))),
        Variable("v", "x", PLACE),
        Variable("w", "x", PLACE),
        Variable("e", "c", PLACE),
        Variable("p", "x"),
        Variable("r", "x"),
    )
    return Setting(
        (
            Index("k", parameter("m", count=True), clients, of=PLACES),
            Index("i", s.b, batches, of=BATCH),
            Index("l", s.b_1, batches, of=BATCH),
        ),
        (
            Source("draw", ("k",), clients, ("k",)),
            Source("xi", ("k", "i"), batches, ("k",)),
            Source("zeta", ("k", "l"), batches, ("k",)),
        ),
        functions,
        variables,
        (Objective("F", "p", gradient(Var("p")), "11"),),
    )


AXIOMS = {
    "outer smoothness": Assumed("L_g", "dg"),
    "inner smoothness": Assumed("L_f", "df"),
    "smooth objective": Assumed("L", "F"),
    "outer gradient": Assumed("G_g", "dg"),
    "inner Jacobian": Assumed("G_f", "df"),
    "inner Lipschitz": Assumed("G_f", "f"),
    "value noise": Assumed("sigma", "f"),
    "start": Start("not stated: start", X - A),
    "first clients": Start("not stated: clients", C - drawn(-1)),
    "lower bound": Assumed("F_gap", "F"),
}


def smoothness(s: Reader) -> tuple[Step, ...]:
    """Step 2: grad F^i is L_client-Lipschitz."""
    at_v, at_w = (App("f", Pair(x, LABEL), (None,)) for x in (V, W))
    outer = App("dg", Pair(at_v, LABEL), (None,)), App("dg", Pair(at_w, LABEL), (None,))
    inner = App("df", Pair(V, LABEL), (None,)), App("df", Pair(W, LABEL), (None,))
    first, second = Act(inner[0], outer[0] - outer[1]), Act(inner[0] - inner[1], outer[1])
    gap = sq(V - W)
    return (
        Step("client.outer", Assume("outer smoothness", outer)),
        Step("client.inner", Assume("inner Lipschitz", (at_v, at_w))),
        Step("client.jacobian", Assume("inner Jacobian", (inner[0],))),
        Step("client.action", Action("client.jacobian", outer[0] - outer[1])),
        Step(
            "client.first",
            Combine(
                sq(first),
                (s.G_f**2 * s.L_g) ** 2 * gap,
                ((ONE, "client.action"), (s.G_f**2, "client.outer"), (s.G_f**2 * s.L_g**2, "client.inner")),
            ),
        ),
        Step("client.second", Assume("inner smoothness", (*inner, outer[1]))),
        Step(
            "client.sum",
            Triangle((("client.first", first, s.G_f**2 * s.L_g), ("client.second", second, s.G_g * s.L_f)), gap),
        ),
        Step(
            "client",
            Combine(
                sq(client_gradient(V, LABEL) - client_gradient(W, LABEL)),
                s.L_client**2 * gap,
                ((ONE, "client.sum"),),
            ),
        ),
    )


def bias(s: Reader) -> tuple[Step, ...]:
    """Step 1: the noises of the outer gradient and of the inner Jacobian average out, that of the inner value does not."""
    at = Pair(X, C)
    sampled, exact = batch(App("f", at, (0,))), App("f", at, (None,))
    jacobian = App("df", at, (0,))
    outer = App("dg", Pair(sampled, C), (None,)), App("dg", Pair(exact, C), (None,))
    noise = App("f", at, (0,)) - exact
    wrong = Given(PAST, direction(X, C)) - client_gradient(X, C)
    size = s.L_g * s.G_f * s.sigma * s.b ** Fraction(-1, 2)
    return (
        Step("bias.jacobian", Assume("inner Jacobian", (jacobian,))),
        Step("bias.mean", MeanMoment("bias.jacobian", ("i",))),
        Step("bias.action", Action("bias.mean", outer[0] - outer[1])),
        Step("bias.outer", Assume("outer smoothness", outer)),
        Step("bias.batch", IndependentMean(noise, "i", PAST)),
        Step("bias.noise", Assume("value noise", (App("f", at, (0,)),))),
        Step(
            "bias.places",
            Combine(
                sq(wrong),
                scalar(size**2),
                (
                    (ONE, "bias.action"),
                    (s.G_f**2, "bias.outer"),
                    (s.G_f**2 * s.L_g**2, "bias.batch"),
                    (s.G_f**2 * s.L_g**2 / s.b, "bias.noise"),
                ),
                ((ONE, Act(batch(jacobian), outer[0] - outer[1]) - wrong),),
            ),
        ),
        Step("bias", Combine(sq(places(wrong)), scalar(size**2), ((ONE, "bias.places"),), deviation("k", wrong))),
    )


def sizes(s: Reader) -> tuple[Step, ...]:
    """Directions and gradients are at most G = G_f G_g."""
    both = s.G_f**2 * s.G_g**2
    at = Pair(V, LABEL)
    here = Pair(X, C)
    return (
        Step("size.jacobian", Assume("inner Jacobian", (App("df", here, (0,)),))),
        Step("size.mean", MeanMoment("size.jacobian", ("i",))),
        Step(
            "size.action",
            Action("size.mean", outer_batch(App("dg", Pair(batch(App("f", here, (0,))), C), (0,))), True),
        ),
        Step("size", Combine(sq(direction(X, C)), scalar(both), ((ONE, "size.action"),))),
        Step("size.client jacobian", Assume("inner Jacobian", (App("df", at, (None,)),))),
        Step(
            "size.client",
            Action("size.client jacobian", App("dg", Pair(App("f", at, (None,)), LABEL), (None,)), True),
        ),
        Step("size.started client", Instance("size.client", (("v", A), ("e", C)))),
        Step(
            "size.started",
            Combine(sq(STARTED), scalar(both), ((ONE, "size.started client"),), deviation("k", client_gradient(A, C))),
        ),
        Step("size.drawn jacobian", Assume("inner Jacobian", (App("df", Pair(BAR, drawn(0)), (None,)),))),
        Step(
            "size.drawn",
            Action(
                "size.drawn jacobian",
                App("dg", Pair(App("f", Pair(BAR, drawn(0)), (None,)), drawn(0)), (None,)),
                True,
            ),
        ),
        Step(
            "size.gradient",
            Combine(
                sq(gradient(BAR)),
                scalar(both),
                ((ONE, "size.drawn"),),
                ((ONE, client_gradient(BAR, drawn(0)) - gradient(BAR)),),
            ),
        ),
    )


def rounds(s: Reader) -> tuple[Step, ...]:
    """Step 3: the models leave the server's model by at most eta G in a step."""
    both, u = s.G_f**2 * s.G_g**2, direction(X, C)
    distance, mean_distance = NEXT_X - NEXT_A, BAR - A
    return (
        Step("x.local", Definition("x", "local")),
        Step("x.shared", Definition("x", "communication")),
        Step("a.local", Definition("a", "local")),
        Step("a.shared", Definition("a", "communication")),
        Step("c.local", Definition("c", "local")),
        Step("c.shared", Definition("c", "communication")),
        Step("x.local.mean", Project("x.local", ("k",))),
        Step("x.shared.mean", Project("x.shared", ("k",))),
        Step("mean.local", Linear(NEXT - BAR + s.eta * MEAN_U, ((ONE, "x.local.mean"),))),
        Step("mean.shared", Linear(NEXT - BAR + s.eta * MEAN_U, ((ONE, "x.shared.mean"),))),
        Step("mean", Cases(("mean.local", "mean.shared"))),
        Step("away", Linear(distance - (X - A) + s.eta * u, ((ONE, "x.local"), (-ONE, "a.local")))),
        Step("agree", Linear(distance, ((ONE, "x.shared"), (-ONE, "a.shared")))),
        Step("start", Assume("start")),
        Step(
            "growth",
            Combine(sq(s.eta * u), scalar(s.eta**2 * both), ((s.eta**2, "size"),)),
        ),
        Step("drift", Drift("X", "away", "agree", "start", "growth", "position")),
        Step("X", Open("X")),
        Step(
            "mean drift",
            Combine(
                sq(mean_distance),
                scalar((s.eta * s.G_f * s.G_g * J) ** 2),
                ((ONE, "drift"), (-ONE, "X")),
                deviation("k", X - A),
            ),
        ),
    )


J = Signomial([(((POSITION, 1),), 1)])


def uniform(s: Reader) -> tuple[Step, ...]:
    """<grad F(a), U> has the mean ||grad F(a)||^2: the clients are drawn after a, and both are kept for a round."""
    names = ("R", "S", "Z")
    terms = {"R": gradient(A), "S": STARTED, "Z": gradient(A) - STARTED}
    later = {"R": gradient(NEXT_A, 1), "S": NEXT_STARTED, "Z": gradient(NEXT_A, 1) - NEXT_STARTED}
    here = {"R": gradient(A, 1), "S": STARTED, "Z": gradient(A, 1) - STARTED}
    kept = ((NEXT_A, A, "a.local"), (NEXT_C, C, "c.local"))
    first = places(client_gradient(A, drawn(-1)))
    fresh = places(client_gradient(NEXT_A, drawn(0)))
    opened = [Step(f"{name} {shift}", Open(name, shift)) for name in names for shift in (0, 1)]
    rows = []
    for name in names:
        table = kept[:1] if name == "R" else kept
        rows += [
            Step(f"{name}.same", Substitute(later[name], table)),
            Step(
                f"{name}.kept",
                Combine(
                    quantity(name, 1),
                    quantity(name),
                    ((ONE, f"{name} 1"), (-ONE, f"{name} 0")),
                    pairings=((ONE, f"{name}.same", later[name] + here[name]),),
                    equal=True,
                ),
            ),
        ]

    def relation(name: str, shift: int, table: dict[str, Term], equation: str, drawn_: Term) -> Step:
        weights = tuple((sign, f"{q} {shift}") for sign, q in ((ONE, "R"), (-ONE, "S"), (ONE, "Z")))
        pairing = ((signomial(-2), equation, table["R"]),)
        return Step(
            name,
            Combine(
                quantity("Z", shift) + quantity("R", shift),
                quantity("S", shift),
                weights,
                pairings=pairing,
                equal=True,
            ),
        )

    return (
        *opened,
        *rows,
        Step("first clients", Assume("first clients")),
        Step("first.drawn", Substitute(STARTED, ((C, drawn(-1), "first clients"),))),
        relation("uniform.first", 0, terms, "first.drawn", first),
        Step("next.drawn", Substitute(NEXT_STARTED, ((NEXT_C, drawn(0), "c.shared"),))),
        relation("uniform.next", 1, later, "next.drawn", fresh),
        Step(
            "uniform",
            Held("uniform.first", "uniform.next", tuple(f"{name}.kept" for name in names)),
            "C_s is drawn independently of the server's model",
        ),
    )


def descent(s: Reader) -> tuple[Step, ...]:
    """Steps 4 and 5."""
    cap = s.G_f * s.G_g
    far = s.eta * cap * J
    here, start = gradient(BAR), gradient(A)
    wrong = places(Given(PAST, direction(X, C)) - client_gradient(X, C))
    moved = places(client_gradient(X, C) - client_gradient(A, C))
    size = s.L_g * s.G_f * s.sigma * s.b ** Fraction(-1, 2)
    away = NEXT - BAR
    return (
        Step("moved.client", Instance("client", (("v", X), ("w", A), ("e", C)))),
        Step(
            "moved",
            Combine(
                sq(moved),
                scalar((s.L_client * far) ** 2),
                ((ONE, "moved.client"), (s.L_client**2, "drift"), (-(s.L_client**2), "X")),
                deviation("k", client_gradient(X, C) - client_gradient(A, C)),
            ),
        ),
        Step(
            "error",
            Triangle((("bias", wrong, size), ("moved", moved, s.L_client * far)), scalar(1)),
            "bias and drift of the directions",
        ),
        Step(
            "error.product",
            CauchySchwarz((("size.gradient", here, cap), ("error", -(wrong + moved), size + s.L_client * far))),
        ),
        Step("smooth", Assume("smooth objective", (Var("p"), Var("r")))),
        Step("smooth.points", Instance("smooth", (("p", BAR), ("r", A)))),
        Step(
            "turned",
            Combine(
                sq(here - start),
                scalar((s.L * far) ** 2),
                ((ONE, "smooth.points"), (s.L**2, "mean drift")),
            ),
        ),
        Step("turned.product", CauchySchwarz((("turned", here - start, s.L * far), ("size.started", -STARTED, cap)))),
        Step("smooth step", SmoothDescent("F", "smooth", s.L, "r", BAR, NEXT)),
        Step("F", Open("F")),
        Step("F.next", Open("F", 1)),
        Step(
            "descent",
            Combine(
                quantity("F", 1),
                quantity("F")
                - s.eta * quantity("R")
                + s.eta * cap * (size + s.L_client * far)
                + s.eta * s.L * far * cap
                + s.L * s.eta**2 / 2 * cap**2,
                (
                    (ONE, "smooth step"),
                    (ONE, "F.next"),
                    (-ONE, "F"),
                    (s.eta, "error.product"),
                    (s.eta, "turned.product"),
                    (s.L * s.eta**2 / 2, "size"),
                    (s.eta / 2, "R 0"),
                    (s.eta / 2, "S 0"),
                    (-s.eta / 2, "Z 0"),
                    (s.eta / 2, "uniform"),
                ),
                deviation("k", direction(X, C), weight=s.L * s.eta**2 / 2),
                pairings=((ONE, "mean", here), (s.L / 2, "mean", away - s.eta * MEAN_U)),
            ),
        ),
        Step("sum", SumOver("descent")),
        Step("bounded", Assume("lower bound")),
    )


def theorem(s: Reader) -> Derivation:
    """Descent along the mean gradient of the sampled clients at the start of the round."""
    per = 1 / (s.eta * s.T)
    return Derivation(
        setting(s),
        (
            Quantity("X", sq(X - A)),
            Quantity("R", sq(gradient(A))),
            Quantity("S", sq(STARTED)),
            Quantity("Z", sq(gradient(A) - STARTED)),
            Quantity("F", value("F", BAR)),
        ),
        AXIOMS,
        (*smoothness(s), *bias(s), *sizes(s), *rounds(s), *uniform(s), *descent(s)),
        ((per, "sum"), (per, "bounded")),
        "R",
        "x",
        dict.fromkeys(("G_f", "G_g", "L_f", "L_g", "L", "sigma", "F_gap", "eta", "tau", "b", "b_1", "T"), Fraction(1)),
        "not stated: batches",
    )


DERIVATIONS = (("theorem_1", theorem), ("theorem_2", theorem))
