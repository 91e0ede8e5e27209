"""The library's theorems on networks without a server and on compressors that are not unbiased; docs/theory/library.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import Derivation, Reader, Var, quantity, scalar, sq, total, value
from ...proof.kernel import AtStart
from ...proof.tactics import PlainLosses, Sgd, apart_models, apart_steps, variance_of_mean

X, AFTER = Var("x"), Var("x", 1)


def gossip_sgd(s: Reader) -> Derivation:
    """Section 12: mixing keeps the mean model and takes a share rho of the consensus error away, steps add to it."""
    sgd = Sgd(s, pooled=False, mixed=True)
    proof, clients, kept = sgd.proof, sgd.clients, 1 - s.rho
    step, mixed = proof.update("x", name="step"), sgd.mix(sgd.stepped)
    mean = proof.bound("rho", clients(mixed), of="W", name="mean kept")
    together = clients(AFTER) - clients(sgd.stepped)
    proof.zero("mean", together, proof.mean(step, "n"), mean, why="the columns of W sum to 1")
    error = apart_models(sgd, s)
    sgd.descend(s, s.L, s.L**2 * error, "bias")
    _, size = apart_steps(sgd, s)
    added = kept**2 * s.eta**2 * (3 * s.zeta**2 / s.rho + size)
    proof.claim(
        "consensus",
        quantity("X", 1) <= (1 - s.rho / 2) * error + added,
        *(step, "mean"),
        given={proof.bound("rho", mixed, name="mixing"): 1, "growth": kept**2 / s.rho, "noise growth": kept**2},
        squares=(s.rho * sgd.away(X) + kept * s.eta * sgd.away(sgd.gradient(X)),),
        why="c^2 ||a + e||^2 <= c ||a||^2 + c^2/rho ||e||^2 for c = 1 - rho; 2 eta L <= rho; fresh noise is orthogonal",
    )
    proof.sum("consensus")
    proof.claim("alike", error <= 0, proof.start("start", sgd.away(X)))
    proof.claim("spread", total("X") <= 2 * s.T / s.rho * added, "consensus, summed", proof.at_start("alike"))
    return sgd.proved("descent, summed", "infimum", "spread", eta=Fraction(1, 4), rho=Fraction(3, 4))


def error_feedback(s: Reader) -> Derivation:
    """Section 13: the model less the mean memory moves by the mean gradient; F there plus a multiple of the squared memories falls."""
    sgd = PlainLosses(s)
    proof, clients, dF, left = sgd.proof, sgd.clients, sgd.gradient, 1 - s.theta
    sent = proof.function("C", "x -> x", role="compressor")
    memory, least, own = Var("e"), proof.minimiser(), sgd.batch(sgd.sampled)
    wanted = memory + s.eta * own
    proof.variable("e", "x", "n", every=wanted - sent(wanted))
    proof.variable("x", "x", every=X - clients(sent(wanted)))
    sgd.minimised()
    slope, here, there = sgd.full(X), X - clients(memory), AFTER - clients(Var("e", 1))
    gradient, E = proof.quantity("gradient", sq(slope)), proof.quantity("E", sq(memory))
    proof.quantity("gap", value("F", X) - value("F", least))
    F = proof.quantity("ahead", value("F", here) - value("F", least))
    kept, moved = proof.update("e", name="memory"), proof.update("x", name="model")
    proof.zero("step", there - here + s.eta * clients(own), moved, proof.mean(kept, "n"))
    noise = proof.bound("sigma", sgd.sampled)
    variance_of_mean(proof, "noise", sgd.noise, "n i", s.sigma**2, noise)
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    lemma = proof.smooth("F", "smooth", s.L_bar, here, there)
    variance = s.L_bar * s.eta**2 / 2 * s.sigma**2 / (s.N * s.b)
    proof.claim(
        "descent",
        quantity("ahead", 1)
        <= F - s.eta / 2 * (1 - s.L_bar * s.eta) * gradient + s.eta / 2 * s.L_bar**2 * E + variance,
        *(lemma, "step", "noise"),
        given={proof.at("smooth", p=X, r=here): s.eta / 2},
        squares=(sgd.full(here), sgd.away(memory)),
        why="-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2; Jensen over the clients",
    )
    size, growth = s.sigma**2 / s.b, left * (2 - s.theta) / s.theta * s.eta**2
    accurate = proof.bound("theta", sent(wanted), name="accuracy")
    proof.claim(
        "memories",
        quantity("E", 1) <= (1 - s.theta / 2) * E + growth * (gradient + s.zeta**2) + left * s.eta**2 * size,
        *(kept, "independence over i", noise, proof.bound("zeta", dF(X))),
        given={accurate: 1},
        squares=(s.theta * memory - 2 * left * s.eta * dF(X),),
        why="c ||a + g||^2 <= (c + theta/2) ||a||^2 + c (1 + c)/theta ||g||^2 for c = 1 - theta; fresh noise is orthogonal",
    )
    weight = s.eta * s.L_bar**2 / s.theta
    added = variance + weight * (growth * s.zeta**2 + left * s.eta**2 * size)
    proof.claim(
        "potential",
        quantity("ahead", 1) + weight * quantity("E", 1) <= F + weight * E - Fraction(3, 8) * s.eta * gradient + added,
        given={"descent": 1, "memories": weight},
        why="4 eta L_bar <= theta",
    )
    proof.sum("potential")
    proof.claim("above", scalar(0 * s.eta) <= F, proof.least("minimiser", here))
    end = proof.step("above, at T", AtStart("above", end=True))
    empty = proof.start("memories at rest", memory)
    proof.claim("first", F + weight * E <= quantity("gap"), empty, proof.smooth("F", "smooth", s.L_bar, X, here))
    start = proof.bound("F_gap", of="gap", name="start")
    reasons = "potential, summed", end, proof.at_start("first"), start
    return proof.qed(*reasons, metric="gradient", model="x", inside={"eta": Fraction(1, 16), "theta": Fraction(1, 2)})


DERIVATIONS = (("gossip_sgd", gossip_sgd), ("error_feedback", error_feedback))
