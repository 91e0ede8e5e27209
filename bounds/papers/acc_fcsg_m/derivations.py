"""Acc-FCSG-M: the derivation of the corrected Theorem 4.7; problem, bias and consensus are those of FCSG."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from ...proof.author import Derivation, Drift, Reader, Signomial, Var, quantity, sq, total
from ...proof.kernel import Certificate, Corollary, Gronwall, signomial
from ...proof.kernel.terms import shifted
from ...proof.tactics import descent_along, summed_descent
from ..fcsg.derivations import AFTER, Fcsg, V, W, X
from . import PAPER

BEFORE = Var("x", -1)
U, USED, FRESH = Var("u"), Var("u", 1), Var("h", 1)
"""FRESH is the estimate of line 14; USED is what the clients step with, its mean at a communication."""
RATE, GROWTH = signomial(Fraction(37, 36)), signomial(Fraction(14, 5))
"""exp(37/36) <= 14/5."""
SHARE = Fraction(25, 24)
"""1/(1 - 2 GROWTH/144) <= 25/24."""


@dataclass(frozen=True)
class Parts:
    """The weights of the three parts of grad F - ubar in Lemma D.1, and what the terms come to.

    Args:
        apart: of how far the clients are apart, 1/apart + 2/wrong = 1.
        wrong: of the bias, and of the error of the estimate.
        drift: coefficient of c^2 alpha^2 L_f^2 L_g^2/S_F^2.
        is_one: whether that is written as 30 drift beta L_f^2 L_g^2/(N b), which it is, beside the variance.
        first_block: coefficient of q (q - 1) L_f^2 L_g^2/T.
    """

    apart: Fraction
    wrong: Fraction
    drift: Fraction
    first_block: Fraction
    is_one: bool = False

    @property
    def moved(self) -> Fraction:
        """Of the moves of the mean model, which feed the error with 1/15."""
        return self.wrong / 15


EVEN = Parts(Fraction(3), Fraction(3), Fraction(1, 3), Fraction(3, 5))
UNEVEN = Parts(Fraction(6), Fraction(12, 5), Fraction(4, 15), Fraction(1, 2), is_one=True)
"""Of the corrected and of the sharpened statement: next to nothing depends on how far the clients are apart."""


class AccFcsgM(Fcsg):
    """Lines 2, 6 and 14, and the certificates from the conditions on the step size; docs/theory/fcsg.md, section 4."""

    def __init__(self, s: Reader, parts: Parts):
        super().__init__(s)
        self.parts = parts
        proof, G, G_before = self.proof, self.sampled(X), self.sampled(BEFORE)
        self.y = s.alpha * s.S_F
        self.G, self.change = G, G - (1 - s.beta) * G_before
        """What a client adds to (1 - beta) u, per sample."""
        self.fresh = (1 - s.beta) * U + self.batch(self.change)
        self.target = self.clients(self.plug_in(X))
        proof.variable("h", "x", "n", first=self.batch(G), later=self.fresh)
        proof.variable("u", "x", "n", local=FRESH, communication=self.clients(FRESH))
        self.steps(USED)

    def short(self, factor: Signomial) -> Certificate:
        """factor (1/144 - (alpha q S_F)^2) >= 0."""
        s = self.s
        return ((factor * s.q**2 * s.S_F**2 * (1 / (12 * s.q * s.S_F) + s.alpha), ("step_size",)),)

    def long(self, factor: Signomial) -> Certificate:
        """factor (9/16 - q^3 (alpha S_F)^2) >= 0."""
        s = self.s
        limit = Fraction(3, 4) * s.q ** Fraction(-3, 2) / s.S_F
        return ((factor * s.q**3 * s.S_F**2 * (limit + s.alpha), ("long_round",)),)

    def momentum(self, factor: Signomial) -> Certificate:
        """factor (1 - beta) >= 0, from beta = 30 (alpha S_F)^2/(b N) and (alpha S_F)^2 <= 1/(144 q^2)."""
        s = self.s
        left = Fraction(30, 144) * factor / (s.b * s.N)
        return (
            (factor, ("momentum_choice",)),
            *self.short(30 * factor / (s.b * s.N * s.q**2)),
            (left / s.q**2, ("q>=1",)),
            (left / s.q, ("q>=1",)),
            (left, ("b>=1",)),
            (left * s.b, ("N>=1",)),
        )

    def small(self, factor: Signomial) -> Certificate:
        """factor (apart/2 ((1/144)^2 - (alpha q S_F)^4) + moved (9/16 - q^3 (alpha S_F)^2)) >= 0."""
        fourth = self.parts.apart / 2 * factor
        near = self.short(fourth * self.y**2 * self.s.q**2)
        return (*near, *self.short(fourth / 144), *self.long(self.parts.moved * factor))


def updates(acc: AccFcsgM) -> None:
    """The fresh estimate, and what is used of it."""
    proof, clients = acc.proof, acc.clients
    for name, phase in (("h, first", "first local"), ("h, later", "local")):
        proof.mean(proof.update("h", phase, name=name), "n")
    proof.later("h, later")
    local, shared = (proof.update("u", phase) for phase in ("local", "communication"))
    local_mean, shared_mean = proof.mean(local, "n"), proof.mean(shared, "n")
    proof.zero("u, agree", acc.away(USED), shared, shared_mean)
    together = clients(USED) - clients(FRESH)
    proof.cases(
        "ubar", proof.zero("ubar, local", together, local_mean), proof.zero("ubar, shared", together, shared_mean)
    )


def moves(acc: AccFcsgM) -> None:
    """Step 1: how far a client moves; at a communication it is moved to the mean as well."""
    s, proof = acc.s, acc.proof
    D, W_, error = quantity("D"), quantity("W"), quantity("X")
    proof.claim("V, local", quantity("V") <= s.alpha**2 * (D + W_), "x local")
    why = "the two parts are orthogonal"
    proof.claim("V, shared", quantity("V") <= error + s.alpha**2 * W_, "x communication", why=why)
    proof.sum("V, local", communication="V, shared", name="V, summed")
    proof.claim("D, local", quantity("H") >= D, "u local", "u local, mean")
    proof.claim("D, shared", 0 * s.alpha >= D, "u, agree")
    proof.sum("D, local", communication="D, shared", name="D, summed")
    proof.claim("growth", sq(s.alpha * acc.away(USED)) <= s.alpha**2 * D)
    start = "Algorithm 1, line 2"
    proof.step("drift", Drift("X", "apart", "agree", start, "growth"))
    proof.step("drift, shared", Drift("X", "apart", "agree", start, "growth", "communications"))
    proof.at("sampled", v=X, w=BEFORE)
    proof.at("moment", v=BEFORE)


def dispersion(acc: AccFcsgM) -> None:
    """Steps 3 and 4: the fresh estimates spread within a round and start afresh after a communication."""
    s, proof, q, clients, away = acc.s, acc.proof, acc.s.q, acc.clients, acc.away
    change, G_before = acc.change, acc.sampled(BEFORE)
    added = acc.batch(change)
    squared, local = 2 * s.beta**2 * acc.product, 2 * (1 + q) * s.S_F**2
    proof.claim(
        "change",
        sq(change) <= 2 * s.S_F**2 * sq(X - BEFORE) + squared,
        "sampled, there",
        "moment, there",
        squares=(acc.G - G_before - s.beta * G_before,),
        why="G(x) - (1-beta) G(x') = (G(x) - G(x')) + beta G(x')",
    )
    proof.claim(
        "spread",
        sq(away(FRESH)) <= (1 + 1 / q) * sq(away(U)) + (1 + q) * (2 * s.S_F**2 * sq(X - BEFORE) + squared),
        "change",
        "h, later",
        "h, later, mean",
        squares=((1 - s.beta) / q * away(U) - away(added), change - added, clients(added), away(U)),
        certificates=(acc.momentum((1 + 1 / q) * s.beta),),
        why="Young's inequality with the weight 1/q",
    )
    proof.later("spread")
    proof.later("change")
    grown = 1 + 1 / q + local * s.alpha**2
    proof.claim(
        "spread, local",
        quantity("H", 1) <= grown * quantity("H") + local * s.alpha**2 * quantity("W") + (1 + q) * squared,
        "spread, later",
        "V, local",
        "D, local",
    )
    change_next = shifted(change, 1)
    proof.claim(
        "spread, shared",
        quantity("H", 1) <= 2 * s.S_F**2 * (quantity("X") + s.alpha**2 * quantity("W")) + squared,
        "change, later",
        "V, shared",
        "h, later, later",
        "u, agree",
        squares=(change_next - acc.batch(change_next), clients(acc.batch(change_next))),
        why="the estimates agree, the models were moved",
    )
    certificate = (*acc.short(2 * (1 + q) / q**2), (1 / (72 * q**2), ("q>=1",)))
    proof.step("growth of a round", Gronwall("H", "spread, local", "spread, shared", RATE, GROWTH, (certificate,)))
    proof.claim(
        "spread, first",
        quantity("H") <= acc.product,
        "moment, now",
        "h, first",
        squares=(acc.G - acc.batch(acc.G), clients(acc.batch(acc.G))),
    )
    bound = 2 * (q + 1) * acc.y**2 * total("W") + acc.product + q * s.beta**2 * acc.product * s.T
    scale = SHARE * GROWTH
    proof.claim(
        "dispersion",
        total("D") <= scale * (q - 1) * bound,
        given={
            "D, summed": SHARE,
            "growth of a round": SHARE,
            proof.at_start("spread, first"): scale * (q - 1),
            "drift, shared": scale * (q - 1) * 2 * s.S_F**2,
        },
        certificates=((*acc.short(2 * scale), (2 * scale * acc.y**2, ("q>=1",))),),
        why="the jump after a communication is at most the spread of the round before",
    )


def tracking(acc: AccFcsgM) -> None:
    """Step 2: the error of the mean estimate."""
    s, proof, batch, product = acc.s, acc.proof, acc.batch, acc.product
    noise, first = acc.change - proof.given(acc.change), acc.G - acc.plug_in(X)
    per, large = 1 / (s.N * s.b), 1 / (s.N * s.B)
    before = acc.clients(acc.plug_in(BEFORE))
    proof.claim(
        "error",
        quantity("E")
        <= (1 - s.beta) * quantity("E", -1) + per * (2 * s.S_F**2 * quantity("V", -1) + 2 * s.beta**2 * product),
        proof.independent(batch(noise), "n"),
        proof.independent(noise, "i"),
        "change",
        "ubar",
        "h, later, mean",
        squares=(proof.given(acc.change), acc.clients(U) - before),
        certificates=(acc.momentum(s.beta),),
        why="the fresh noise is orthogonal; (1-beta)^2 <= 1-beta",
    )
    proof.claim(
        "error, first",
        quantity("E") <= large * product,
        proof.independent(batch(first), "n"),
        proof.independent(first, "i", first=True),
        "moment, now",
        "ubar",
        "h, first, mean",
        squares=(acc.plug_in(X),),
    )
    errors = (
        large * product / s.beta + Fraction(1, 15) * (s.q * total("D") + total("W")) + 2 * s.beta * per * product * s.T
    )
    reversed_choice = (2 * per * s.S_F**2 / (s.c * s.alpha**2 * s.beta), ("momentum_choice reversed",))
    proof.claim(
        "errors",
        total("E") <= errors,
        given={
            proof.sum(proof.later("error"), drop=1): 1 / s.beta,
            proof.at_start("error, first"): 1 / s.beta,
            "V, summed": 1 / (15 * s.alpha**2),
            "drift, shared": 1 / (15 * s.alpha**2),
        },
        certificates=(acc.momentum(1 / s.beta), (reversed_choice,)),
        why="beta = c alpha^2 with c = 30 S_F^2/(b N)",
    )


def descent(acc: AccFcsgM) -> None:
    """Step 5: Lemma D.1."""
    s, proof, clients, here = acc.s, acc.proof, acc.clients, acc.here
    full, exact, plug_in, used = acc.gradient(here), acc.gradient(X), acc.plug_in(X), clients(USED)
    one, two, three = clients(full - exact), clients(exact - plug_in), acc.target - used
    proof.smooth("F", "smooth", s.S_F, here, acc.there)
    parts = acc.parts
    errors = parts.apart * s.S_F**2 * quantity("X") + parts.wrong * (acc.delta + quantity("E"))
    descent_along(
        proof,
        s.alpha,
        s.S_F,
        quantity("W"),
        errors,
        proof.at("smooth client", v=here, w=X),
        proof.at("bias", v=X),
        "mean",
        squares=(
            parts.apart * one - parts.wrong * two,
            parts.apart * one - parts.wrong * three,
            two - three,
            acc.away(full - exact),
            acc.away(exact - plug_in),
        ),
        why="grad F - ubar in three parts",
    )
    summed_descent(proof)


def closing(acc: AccFcsgM) -> None:
    """Step 6: the mean estimate absorbs its share of the errors."""
    s, product = acc.s, acc.product
    parts = acc.parts
    weight = parts.apart / 2 * acc.y**2 * s.q**2 + parts.moved * s.q
    scale = SHARE * GROWTH
    rest = signomial(parts.first_block) - scale * parts.moved
    squared = s.c**2 * s.alpha**2 / s.S_F**2 * product * s.T
    first = (*acc.small(2 * scale), (s.S_F, ("step_size",)), (1 / (12 * s.q), ("q>=1",)))
    second = (
        *acc.small(scale * squared),
        (scale * s.q**2 * weight * (s.c * s.alpha**2 + s.beta) * product * s.T, ("momentum_choice",)),
        *((factor, ("q>=1", *names)) for factor, names in acc.short(parts.apart / 2 * scale * product)),
        (product * rest, ("q whole",)),
        (product * (2 * rest - scale * parts.apart / 288), ("q>=1",)),
    )
    tail = parts.wrong * (product / (s.beta * s.N * s.B) + 2 * s.beta * product * s.T / (s.N * s.b))
    per = 30 * parts.drift * product * s.T / (s.N * s.b)
    tail = (
        tail + (per * s.beta if parts.is_one else parts.drift * squared) + parts.first_block * s.q * (s.q - 1) * product
    )
    acc.proof.claim(
        "tail",
        parts.wrong * total("E") + parts.apart * s.S_F**2 * total("X") - (1 - acc.y) * total("W") <= tail,
        given={"errors": parts.wrong, "drift": parts.apart * s.S_F**2, "dispersion": weight},
        certificates=(first, (*second, (per, ("momentum_choice reversed",))) if parts.is_one else second),
        why="5.83 (3/2 k^4 + q k^2/5) <= 11/12 - 1/5 for k = alpha q S_F <= 1/12 and q k^2 <= 9/16",
    )


def theorem_4_7(s: Reader, parts: Parts = EVEN) -> Derivation:
    """Acc-FCSG-M: descent along the mean estimate; its error is fed by the moves, they by the spread of the estimates."""
    acc = AccFcsgM(s, parts)
    used = acc.clients(USED)
    sizes = {"X": sq(acc.away(X)), "H": sq(acc.away(FRESH)), "D": sq(acc.away(USED)), "W": sq(used)}
    acc.named(**sizes, V=sq(AFTER - X), E=sq(used - acc.target))
    acc.smoothness()
    acc.plug_in_bias()
    acc.smooth_gradient("sampled", V, W, for_samples=True)
    acc.second_moment(V)
    acc.rounds(USED)
    updates(acc)
    moves(acc)
    acc.proof.at("moment", name="moment, now", v=X)
    for part in (dispersion, tracking, descent, closing):
        part(acc)
    inside = {"alpha": Fraction(1, 24), "beta": Fraction(5, 24)}
    return acc.proof.qed("descent, summed", "infimum", "tail", metric="gradient", model="x", inside=inside)


def corollary_4_8(_: Reader) -> Corollary:
    """The schedule put into Theorem 4.7; the two conditions on q are those on alpha."""
    inside = dict.fromkeys(("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap", "q", "m", "b", "N"), Fraction(1))
    return Corollary(
        PAPER.theorem("acc_fcsg_m.theorem_4_7"), inside | {"T": Fraction(8)}, (("long_round", Fraction(1, 6)),)
    )


DERIVATIONS = (("theorem_4_7", theorem_4_7), ("corollary_4_8", corollary_4_8))
SHARPENED = (("theorem_4_7", partial(theorem_4_7, parts=UNEVEN)),)
