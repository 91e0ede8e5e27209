"""ComFedL: the derivation of the corrected Theorems 1 and 2; the steps are those of docs/theory/comfedl.md.

Time t counts local steps; `a` is the server's model at the start of the round, `c` the client that holds a place of the
sample C_s: the places are uniform, and need not be independent. The metric is the mean over t of ||grad F(a)||^2, which is the
mean over rounds, as T = S tau.
"""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import Act, Derivation, Drift, Proof, Reader, Term, Var, quantity, sq, value
from ...proof.kernel import PLACES, POSITION, CauchySchwarz, Given, Held, Pair, Substitute, Sum, parameter, scalar
from ...proof.tactics import smooth_composition, summed_descent

X, A, C = Var("x"), Var("a"), Var("c")
NEXT_X, NEXT_A, NEXT_C = Var("x", 1), Var("a", 1), Var("c", 1)
V, W, LABEL = Var("v"), Var("w"), Var("e")
J = POSITION.number
CLIENTS, BATCHES = "not stated: clients", "not stated: batches"


class ComFedL:
    """The problem and the method, with the sizes of its vectors."""

    def __init__(self, s: Reader):
        self.s, proof = s, Proof(s, time=BATCHES)
        self.proof = proof
        self.places = proof.index("k", parameter("m", count=True), CLIENTS, of=PLACES)
        self.batch, self.outer_batch = proof.batch("i", s.b, BATCHES), proof.batch("l", s.b_1, BATCHES)
        proof.source("draw", "k", CLIENTS, joint="k")
        proof.source("xi", "k i", BATCHES, joint="k")
        proof.source("zeta", "k l", BATCHES, joint="k")
        self.draw = proof.function("draw", "x -> c", "draw", role="drawn_client", per="")
        self.f = proof.function("f", "x -> y", "xi", role="inner_value", per="", label="c")
        self.df = proof.function("df", "x -> (x, dy)", "xi", role="inner_jacobian", per="", label="c")
        self.dg = proof.function("dg", "y -> dy", "zeta", role="outer_gradient", per="", label="c")
        moved = X - s.eta * self.direction()
        proof.variable("x", "x", "k", local=moved, communication=self.places(moved))
        proof.variable("a", "x", "", local=A, communication=self.places(moved))
        proof.variable("c", "c", "k", local=C, communication=self.drawn(0))
        proof.free("v w", "x", "k")
        proof.free("e", "c", "k")
        proof.free("p r", "x")
        proof.objective("F", self.gradient, "11")
        self.here, self.there = self.places(X), self.places(NEXT_X)
        self.started = self.places(self.client_gradient(A, C))
        """The mean gradient of the sampled clients at the server's model."""
        self.cap = s.G_f * s.G_g
        """Bounds directions and gradients."""
        self.size = s.L_g * s.G_f * s.sigma * s.b ** Fraction(-1, 2)
        """Bounds the bias of a direction."""
        self.wrong = proof.given(self.direction()) - self.client_gradient(X, C)

    def drawn(self, step: int) -> Term:
        """The client drawn for a place with the sample of a step."""
        return self.draw(Sum(()), step)

    def exact(self, x: Term, client: Term) -> Term:
        """The outer gradient at the inner value."""
        return self.dg(Pair(self.f(Pair(x, client)), client))

    def sampled(self, point: Term) -> Term:
        """The outer gradient of a batch."""
        return self.outer_batch(self.dg(Pair(point, C), 0))

    def direction(self) -> Term:
        """u of line 12: one inner batch for the value and the Jacobian, another one for the outer gradient."""
        at = Pair(X, C)
        return Act(self.batch(self.df(at, 0)), self.sampled(self.batch(self.f(at, 0))))

    def client_gradient(self, x: Term, client: Term) -> Term:
        """grad F^i."""
        return Act(self.df(Pair(x, client)), self.exact(x, client))

    def gradient(self, x: Term, step: int = 0) -> Term:
        """grad F: a client that is drawn now, and averaged."""
        return Given(self.proof.past.later(step), self.places(self.client_gradient(x, self.drawn(step))))


def smoothness(com: ComFedL) -> None:
    """Step 2, `client`: grad F^i is L_client-Lipschitz."""
    s, proof = com.s, com.proof

    def at(x: Term) -> Term:
        return Pair(x, LABEL)

    def outer(x: Term) -> Term:
        return com.exact(x, LABEL)

    lipschitz = proof.bound("L_g", outer(V), outer(W)), proof.bound("G_f", com.f(at(V)), com.f(at(W)))
    smooth_composition(
        proof,
        lambda x: com.df(at(x)),
        outer,
        s.L_client,
        (s.G_f**2 * s.L_g, (proof.bound("G_f", com.df(at(V))), *lipschitz)),
        (s.G_g * s.L_f, (proof.bound("L_f", com.df(at(V)), com.df(at(W)), outer(W)),)),
        points=(V, W),
        name="client",
    )


def bias(com: ComFedL) -> None:
    """Step 1: the noises of the outer gradient and of the inner Jacobian average out, that of the inner value does not."""
    proof, at = com.proof, Pair(X, C)
    sampled, exact, jacobian = com.batch(com.f(at, 0)), com.f(at), com.df(at, 0)
    outer = com.dg(Pair(sampled, C)), com.dg(Pair(exact, C))
    proof.claim(
        "bias of a place",
        sq(com.wrong) <= com.size**2,
        proof.act(proof.jensen(proof.bound("G_f", jacobian), "i"), outer[0] - outer[1]),
        proof.bound("L_g", *outer),
        proof.independent(com.f(at, 0) - exact, "i"),
        proof.bound("sigma", com.f(at, 0)),
        squares=(Act(com.batch(jacobian), outer[0] - outer[1]) - com.wrong,),
    )
    proof.claim(
        "bias",
        sq(com.places(com.wrong)) <= com.size**2,
        "bias of a place",
        squares=(com.wrong - com.places(com.wrong),),
    )


def sizes(com: ComFedL) -> None:
    """Directions and gradients are at most G = G_f G_g."""
    proof, here, at = com.proof, Pair(X, C), Pair(V, LABEL)
    proof.bounded("G_g", "dg")
    jacobian = proof.jensen(proof.bound("G_f", com.df(here, 0)), "i")
    vector = com.sampled(com.batch(com.f(here, 0)))
    proof.act(jacobian, vector, bounded=True, name="size")
    client = proof.act(proof.bound("G_f", com.df(at)), com.exact(V, LABEL), bounded=True, name="size, client")
    proof.claim("size, started", sq(com.started) <= com.cap**2, proof.at(client, v=A, e=C))
    drawn = com.drawn(0)
    moment = proof.bound("G_f", com.df(Pair(com.here, drawn)))
    proof.act(moment, com.exact(com.here, drawn), bounded=True, name="size, drawn")
    gradient = com.gradient(com.here)
    lower = com.client_gradient(com.here, drawn) - gradient
    proof.claim("size, gradient", sq(gradient) <= com.cap**2, "size, drawn", squares=(lower,))


def rounds(com: ComFedL) -> None:
    """Step 3: the models leave the server's model by at most eta G in a step."""
    s, proof, u = com.s, com.proof, com.direction()
    for variable in "xac":
        for phase in ("local", "communication"):
            proof.update(variable, phase)
    together = com.there - com.here + s.eta * com.places(u)
    means = [proof.mean(f"x {phase}", "k") for phase in ("local", "communication")]
    proof.cases("mean", *(proof.zero(f"mean of {name}", together, name) for name in means))
    proof.zero("away", NEXT_X - NEXT_A - (X - A) + s.eta * u, "x local", "a local")
    proof.zero("agree", NEXT_X - NEXT_A, "x communication", "a communication")
    proof.start("not stated: start", X - A)
    proof.claim("growth", sq(s.eta * u) <= s.eta**2 * com.cap**2, "size")
    proof.step("drift", Drift("X", "away", "agree", "not stated: start", "growth", "position"))
    far = (s.eta * com.cap * J) ** 2
    proof.claim("mean drift", sq(com.here - A) <= far, "drift", squares=(X - A - com.places(X - A),))


def uniform(com: ComFedL) -> None:
    """<grad F(a), U> has the mean ||grad F(a)||^2: the clients are drawn after a, and both are kept for a round."""
    proof, started = com.proof, com.started
    next_started = com.places(com.client_gradient(NEXT_A, NEXT_C))
    later = {"R": com.gradient(NEXT_A, 1), "S": next_started, "Z": com.gradient(NEXT_A, 1) - next_started}
    a, c = (NEXT_A, A, "a local"), (NEXT_C, C, "c local")
    for name, vector in later.items():
        same = proof.step(f"{name}, the same", Substitute(vector, (a,) if name == "R" else (a, c)))
        proof.claim(f"{name}, kept", quantity(name, 1) <= quantity(name), same, equal=True)

    def relation(name: str, shift: int, equation: str) -> str:
        left = quantity("Z", shift) + quantity("R", shift)
        return proof.claim(name, left <= quantity("S", shift), equation, equal=True)

    proof.start(CLIENTS, C - com.drawn(-1))
    proof.step("first drawn", Substitute(started, ((C, com.drawn(-1), CLIENTS),)))
    proof.step("next drawn", Substitute(next_started, ((NEXT_C, com.drawn(0), "c communication"),)))
    ends = relation("uniform, first", 0, "first drawn"), relation("uniform, next", 1, "next drawn")
    kept = tuple(f"{name}, kept" for name in later)
    proof.step("uniform", Held(*ends, kept), "C_s is drawn independently of the server's model")


def descent(com: ComFedL) -> None:
    """Steps 4 and 5."""
    s, proof, cap, size = com.s, com.proof, com.cap, com.size
    far, here, start, u = s.eta * cap * J, com.gradient(com.here), com.gradient(A), com.direction()
    wrong, change = com.places(com.wrong), com.client_gradient(X, C) - com.client_gradient(A, C)
    moved, drifted = com.places(change), s.L_client * far
    client = proof.at("client", v=X, w=A, e=C)
    proof.claim("moved", sq(moved) <= drifted**2, client, "drift", squares=(change - moved,))
    one = scalar(s.eta**0)
    proof.triangle("error", one, ("bias", wrong, size), ("moved", moved, drifted))
    parts = ("size, gradient", here, cap), ("error", -(wrong + moved), size + drifted)
    proof.step("error product", CauchySchwarz(parts))
    smooth = proof.bound("L", *proof.points, of="F", name="smooth")
    proof.claim("turned", sq(here - start) <= (s.L * far) ** 2, proof.at(smooth, p=com.here, r=A), "mean drift")
    parts = ("turned", here - start, s.L * far), ("size, started", -com.started, cap)
    proof.step("turned product", CauchySchwarz(parts))
    proof.smooth("F", "smooth", s.L, com.here, com.there)
    proof.claim(
        "descent",
        quantity("F", 1)
        <= quantity("F")
        - s.eta * quantity("R")
        + s.eta * cap * (size + drifted)
        + s.eta * s.L * far * cap
        + s.L * s.eta**2 / 2 * cap**2,
        "descent lemma",
        "error product",
        "turned product",
        "size",
        "uniform",
        "mean",
        squares=(u - com.places(u),),
    )
    summed_descent(proof)


def theorem(s: Reader) -> Derivation:
    """Descent along the mean gradient of the sampled clients at the start of the round."""
    com = ComFedL(s)
    start = com.gradient(A)
    distances = {"X": sq(X - A), "R": sq(start), "S": sq(com.started), "Z": sq(start - com.started)}
    com.proof.named(**distances, F=value("F", com.here))
    for part in (smoothness, bias, sizes, rounds, uniform, descent):
        part(com)
    return com.proof.qed("descent, summed", "infimum", metric="R", model="x")


DERIVATIONS = (("theorem_1", theorem), ("theorem_2", theorem))
