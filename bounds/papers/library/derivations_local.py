"""The library's theorems on clients that step by themselves, or of which some take part; docs/theory/library.md comments on them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ...proof.author import (
    Derivation,
    NoisyDrift,
    Reader,
    Term,
    Var,
    quantity,
    scalar,
    sq,
    total,
    value,
)
from ...proof.kernel import Delay, Gronwall, Substitute, Sum
from ...proof.tactics import (
    PlainLosses,
    RandomSet,
    averaged_rounds,
    descent_along,
    smooth_descent,
    smooth_mean,
    steep_at_most,
    unlike_rounds,
    variance_of_mean,
)
from .derivations_methods import OneModel

X, AFTER, Z, C = Var("x"), Var("x", 1), Var("z"), Var("c")


def local_sgd_convex(s: Reader, *, strongly: bool = False) -> Derivation:
    """Sections 6 and 14: the mean gradient leads to the minimiser but for the consensus error; F, or the clients, are convex."""
    sgd = unlike_rounds(s)
    proof, here, least = sgd.proof, sgd.clients(X), sgd.proof.minimiser()
    gap, slope, mean = value("F", here) - value("F", least), sgd.full(here), sgd.clients(sgd.gradient(X))
    proof.named(gap=gap, distance=sq(here - least))
    steep_at_most(proof, s.L, here, slope, gap if strongly else quantity("gap"), sq(slope))
    squares: tuple[Term, ...] = (mean - 2 * slope,)
    young = "||c||^2 <= 2 ||grad F||^2 + 2 ||c - grad F||^2 for the mean gradient c"
    if strongly:
        tangent, bias = proof.bound("mu", here, least, of="F", name="tangent"), 1 / s.mu + 2 * s.eta
        drift, squares = s.eta * s.L**2 * bias, (mean - slope + s.mu * (here - least), *squares)
        why = f"2<a, b> <= ||a||^2/mu + mu ||b||^2 for a = c - grad F, and {young}"
    else:
        tangent, bias = proof.convex_clients("convexity", "L", sgd.gradient(X), here, least), 2 * s.eta
        drift = s.eta * s.L * (1 + 2 * s.eta * s.L)
        why = f"||x - x_*||^2 - 2 eta <c, x - x_*> + eta^2 ||c||^2, and {young}"
    above, noise = proof.least("minimiser", here, name="above the minimum"), s.eta**2 * s.sigma**2 / (s.N * s.b)
    proof.claim(
        "approach",
        quantity("distance", 1) <= quantity("distance") - s.eta * quantity("gap") + drift * quantity("X") + noise,
        *("mean", "noise"),
        given={tangent: 2 * s.eta, "slope": 2 * s.eta**2, above: s.eta - 4 * s.eta**2 * s.L, "bias": s.eta * bias},
        squares=squares,
        why=why,
    )
    proof.bound("D", of="distance", name="nearby")
    reasons = proof.sum("approach"), "nearby", "consensus"
    return proof.qed(*reasons, metric="gap", model="x", inside={"eta": Fraction(1, 4)})


def sampled_sgd(s: Reader) -> Derivation:
    """Section 15: the mean over a uniform set of clients has the mean of all as its mean, and a share of their variance."""
    sgd = OneModel(s)
    proof, dF = sgd.proof, sgd.gradient
    chosen, own = RandomSet(proof, "participation"), sgd.batch(sgd.sampled)
    direction = sgd.clients(chosen.of(own))
    sgd.moves(direction)
    batch, pooled = sgd.independent(sgd.noise)
    mean = chosen.mean(own)
    known = proof.mean(mean, "n")
    variance = s.s * s.zeta**2 + s.sigma**2 / (s.r * s.N * s.b)
    proof.claim(
        "noise",
        sq(direction - sgd.slope) <= variance,
        *(batch, pooled, proof.bound("sigma", sgd.sampled), proof.bound("zeta", dF(X))),
        *(chosen.spread(own), mean, known),
        why="a mean of m of N numbers has (N - m)/(m (N - 1)) of their variance",
    )
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    smooth_descent(proof, s.eta, s.L_bar, X, Var("x", 1), variance, 0 * s.eta, "mean", "noise", known, mean)
    inside = {"eta": Fraction(1, 2), "r": Fraction(1, 2), "N": Fraction(4)}
    return proof.qed("descent, summed", "infimum", metric="gradient", model="x", inside=inside)


def delayed_sgd(s: Reader) -> Derivation:
    """Section 16: the distance from the older model is the sum of the moves since, for which the descent pays over the run."""
    sgd = PlainLosses(s)
    proof = sgd.proof
    sampled, old = sgd.gradient(Z, 0), sgd.full(Z)
    direction = sgd.clients(sgd.batch(sampled))
    proof.variable("x", "x", every=X - s.eta * direction)
    proof.older("z", "x", s.tau)
    sgd.minimised()
    proof.named(gradient=sq(sgd.full(X)), M=sq(old), F=value("F", X), A=sq(X - Z))
    M, apart = quantity("M"), quantity("A")
    variance, noise = s.sigma**2 / (s.N * s.b), s.eta * (direction - old)
    sigma = proof.bound("sigma", sampled)
    variance_of_mean(proof, "noise", sampled - sgd.gradient(Z), "n i", s.sigma**2, sigma)
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    proof.at("smooth", p=X, r=Z, name="stale")
    proof.update("x", name="step")
    proof.smooth("F", "smooth", s.L_bar, X, AFTER)
    descent_along(proof, s.eta, s.L_bar, M, s.L_bar**2 * apart, "step", "stale", "noise", variance=variance)
    proof.claim("move", sq(s.eta * old) <= s.eta**2 * M)
    proof.claim("noise of a move", sq(noise) <= s.eta**2 * variance, "noise")
    proof.step("moved", Delay("A", "step", -noise, "move", "noise of a move"))
    per_step = 2 / (s.eta * s.T)
    given = {proof.sum("descent"): per_step, proof.bound("F_gap", of="F", name="infimum"): per_step}
    given["moved"] = s.L_bar**2 / s.T
    return proof.qed(given=given, metric="gradient", model="x", inside={"eta": Fraction(1, 2)})


class Anchored(PlainLosses):
    """Rounds with the server's model z, where a round began, beside the clients' models: X is how far these are apart in mean square,
    Y how far their mean is from z, M the squared mean of their directions without noise."""

    def __init__(self, s: Reader):
        super().__init__(s)
        self.s, self.here, self.own = s, self.clients(X), self.batch(self.sampled)
        self.slope, self.pooled = self.full(self.here), s.sigma**2 / (s.N * s.b)
        self.unlike, self.size = self.errors

    def goes(self, direction: Term, mean: Term, **carried: Mapping[str, Term]) -> None:
        """x_i <- x_i - eta direction, of which `mean` is the mean without noise; a client carries variables with other equations."""
        proof, moved = self.proof, X - self.s.eta * direction
        proof.variable("z", "x", local=Z, communication=self.clients(moved))
        for name, equations in carried.items():
            proof.variable(name, "x", "n", **equations)
        proof.variable("x", "x", "n", local=moved, communication=self.clients(moved))
        self.minimised()
        self.direction, self.mean, self.ahead = direction, mean, self.clients(moved) - Z
        apart, far = sq(self.away(X)), sq(self.here - Z)
        proof.named(gradient=sq(self.slope), X=apart, Y=far, M=sq(mean), F=value("F", self.here))

    def follows(self) -> None:
        """What smoothness and noise say of a step, and `moved`: how far the mean model is from z."""
        s, proof, clients, dF, server = self.s, self.proof, self.clients, self.gradient, Var("z", 1)
        averaged_rounds(proof, clients, s.eta, self.direction, "start")
        smooth_mean(proof, clients, dF, s.L, proof.bound("L", *map(dF, proof.points)))
        gap = sq(self.slope - clients(dF(X)))
        proof.claim("bias", gap <= s.L**2 * quantity("X"), proof.bound("L", dF(self.here), dF(X), name="drifted"))
        variance_of_mean(proof, "noise", self.noise, "n i", s.sigma**2, proof.bound("sigma", self.sampled))
        proof.smooth("F", "smooth", s.L, self.here, clients(AFTER))
        kept, averaged = proof.update("z", name="server"), proof.update("z", "communication", name="server, averaged")
        proof.zero("parts", clients(AFTER) - server - self.ahead, "x local, mean", kept)
        proof.zero("meets", clients(AFTER) - server, "x communication, mean", averaged)
        begun = proof.mean(proof.start("start", X - Z, name="start of the server"), "n")
        noise, one = -s.eta * clients(self.batch(self.noise)), 0 * s.L + 1
        proof.claim("step", sq(s.eta * self.mean) <= s.eta**2 * quantity("M"))
        proof.claim("step noise", sq(noise) <= s.eta**2 * self.pooled, "noise")
        self.rounds = "parts", "meets", begun, noise, "step", "step noise", one
        proof.step("moved", NoisyDrift("Y", *self.rounds))

    def drifts(self, weight: Fraction) -> None:
        """`drift`: how far the models come apart, where `growth` bounds how far their directions are."""
        eta = self.s.eta
        noise = self.noise_apart("noise growth", eta)
        rule = NoisyDrift("X", "apart", "agree", "start", -eta * self.unlike, "growth", noise, 0 * eta + weight)
        self.proof.step("drift", rule)


class SampledRounds(Anchored):
    """Section 24: all clients run, and a set of them that depends on no sample makes the server's model z."""

    def __init__(self, s: Reader):
        super().__init__(s)
        proof = self.proof
        self.chosen = RandomSet(proof, "participation")
        self.moved = X - s.eta * self.own
        self.mean, self.there = self.clients(self.gradient(X)), self.full(Z)
        server = self.clients(self.chosen.of(self.moved))
        proof.variable("z", "x", local=Z, communication=server)
        proof.variable("x", "x", "n", local=self.moved, communication=server)
        self.minimised()
        distances = {"X": sq(self.away(X)), "X_end": sq(self.away(self.moved)), "Y": sq(self.here - Z)}
        proof.named(gradient=sq(self.there), M=sq(self.mean), **distances, F=value("F", self.here))
        self.local, self.averaged = proof.update("x", "local"), proof.update("x", "communication")
        self.local_mean, self.averaged_mean = proof.mean(self.local, "n"), proof.mean(self.averaged, "n")


def sampled_descent(run: SampledRounds) -> None:
    """F at the mean model falls; at a communication the mean over the set is what it falls to."""
    s, proof, dF = run.s, run.proof, run.gradient
    F, gradient, M, apart, far = map(quantity, ("F", "gradient", "M", "X", "Y"))
    smooth_mean(proof, run.clients, dF, s.L, proof.bound("L", *map(dF, proof.points)))
    proof.claim(
        "bias",
        sq(run.there - run.mean) <= s.L**2 * (apart + far),
        proof.bound("L", dF(Z), dF(X), name="since the round began"),
        squares=(dF(Z) - dF(X) - (run.there - run.mean),),
        why="Jensen over the clients; a distance from z is one from the mean model and that of the mean model",
    )
    proof.at("smooth", p=run.here, r=Z, name="turned")
    variance_of_mean(proof, "noise", run.noise, "n i", s.sigma**2, proof.bound("sigma", run.sampled))
    everybody = run.chosen.mean(run.moved)
    run.chosen.spread(run.moved)
    proof.smooth("F", "smooth", s.L, run.here, run.clients(AFTER))
    after = (
        F
        - s.eta / 2 * gradient
        - (s.eta / 6 - s.L * s.eta**2 / 2) * M
        + s.eta / 2 * s.L**2 * (apart + Fraction(5, 2) * far)
        + s.L * s.eta**2 / 2 * run.pooled
    )
    reasons, squares = (
        ("descent lemma", "bias", "turned", "noise"),
        (2 * run.mean + 3 * (run.slope - run.there),),
    )
    why = "-<v, c> = -<u, c> + <u - v, c> at the gradients u of the server's model and v of the mean model"
    proof.claim("descent", quantity("F", 1) <= after, *reasons, run.local_mean, squares=squares, why=why)
    proof.claim(
        "descent, averaged",
        quantity("F", 1) <= after + s.L / 2 * s.s * quantity("X_end"),
        *(*reasons, run.averaged_mean, "sampled", everybody),
        squares=squares,
        why="the mean over the set has the mean of all as its mean, and a share of their variance",
    )


def sampled_drift(run: SampledRounds) -> None:
    """How far clients are apart, within a round and at its end, and how far their mean is from the server's model."""
    s, proof, clients, away, dF, one = run.s, run.proof, run.clients, run.away, run.gradient, 0 * run.s.L + 1
    proof.zero("apart", away(AFTER) - away(run.moved), run.local, run.local_mean)
    proof.zero("agree", away(AFTER), run.averaged, run.averaged_mean)
    begun = proof.start("participation", X - Z, name="start of the server")
    together = proof.mean(begun, "n")
    proof.zero("alike", away(X), begun, together)
    kept, renewed = proof.update("z", name="server"), proof.update("z", "communication", name="server, averaged")
    there, step = Var("z", 1), s.eta * clients(run.own)
    proof.zero("parts", clients(AFTER) - there - (run.here - Z) + step, run.local_mean, kept)
    proof.zero("meets", clients(AFTER) - there, run.averaged_mean, renewed)
    unlike, bent = away(dF(run.here)), away(dF(X) - dF(run.here))
    proof.claim(
        "growth",
        sq(s.eta * away(dF(X))) <= s.eta**2 * (3 * s.L**2 * quantity("X") + Fraction(3, 2) * s.zeta**2),
        *(proof.bound("L", dF(run.here), dF(X), name="drifted"), proof.bound("zeta", dF(run.here))),
        squares=(clients(dF(X) - dF(run.here)), 2 * bent - unlike),
        why="Young's inequality with 2",
    )
    noise = run.noise_apart("noise growth", s.eta)
    rounds = "apart", "agree", "alike", -s.eta * run.unlike, "growth", noise, one
    proof.step("drift", NoisyDrift("X", *rounds))
    proof.step("drift, end", NoisyDrift("X", *rounds, end="X_end"))
    pooled = -s.eta * clients(run.batch(run.noise))
    proof.claim("step", sq(s.eta * run.mean) <= s.eta**2 * quantity("M"))
    proof.claim("step noise", sq(pooled) <= s.eta**2 * run.pooled, "noise")
    proof.step("moved", NoisyDrift("Y", "parts", "meets", together, pooled, "step", "step noise", one))


def sampled_totals(run: SampledRounds) -> None:
    """The sums of these distances over the run, where 3 p eta L <= 1."""
    s, proof = run.s, run.proof
    square = s.T * s.eta**2
    spread = Fraction(3, 4) * (s.p - 1) * (2 * s.p - 1) * s.zeta**2 + Fraction(3, 2) * (s.p - 1) * run.size
    proof.claim("consensus", total("X") <= square * spread, "drift", why="A <= a A + c with a <= 1/3")
    ends = total("X_end", communications=True) <= square * (4 * s.p * s.zeta**2 + 3 * run.size)
    length, loud = 3 * s.p * s.eta * s.L, square * s.sigma**2 / (s.N * s.b)
    short = (
        (square * s.p * s.zeta**2, ("step_size",)),
        (square * s.p * s.zeta**2 * length, ("step_size",)),
        (square * s.p * s.zeta**2 * length**2 / (2 * s.p**2), ("p>=1",)),
        (loud, ("step_size", "N>=1")),
        (loud * length, ("step_size", "N>=1")),
        (loud * length**2 / s.p, ("N>=1",)),
    )
    proof.claim(
        "spread at the end",
        ends,
        given={"drift, end": 1, "consensus": 6 * s.p * s.eta**2 * s.L**2},
        certificates=(short,),
        why="after p steps; 9 p^2 eta^2 L^2 <= 1",
    )
    fifth = Fraction(5, 18) / s.p
    paid = (
        (1 / (3 * s.p), ("step_size",)),
        (fifth, ("step_size", "p>=1")),
        (fifth * length, ("step_size", "p>=1")),
        (fifth / 5, ("p>=1",)),
    )
    proof.claim(
        "distance of the mean model",
        Fraction(5, 2) * s.L**2 * total("Y")
        <= (Fraction(1, 3) - s.L * s.eta) * total("M") + Fraction(5, 2) * (s.p - 1) * square * s.L**2 * run.pooled,
        given={"moved": Fraction(5, 2) * s.L**2},
        certificates=(paid,),
        why="3 p eta L <= 1",
    )


def fedavg_sampled(s: Reader) -> Derivation:
    """FedAvg where a set of clients takes part in each round, at the server's model."""
    run = SampledRounds(s)
    proof = run.proof
    for part in (sampled_descent, sampled_drift, sampled_totals):
        part(run)
    left_out = scalar(1 / s.N + s.s * (1 - 1 / s.N)) <= scalar(1 / (s.r * s.N))
    proof.claim("fewer", left_out, why="noise is averaged over the clients of a round")
    per_step = 2 / (s.eta * s.T)
    given = {
        proof.at_start("fewer"): 3 * s.L * s.eta * s.sigma**2 / s.b,
        proof.sum("descent", communication="descent, averaged"): per_step,
        proof.bound("F_gap", of="F", name="infimum"): per_step,
        "consensus": s.L**2 / s.T,
        "distance of the mean model": 1 / s.T,
        "spread at the end": s.L * s.s / (s.eta * s.T),
    }
    inside = {"eta": Fraction(1, 16), "p": Fraction(2), "r": Fraction(1, 2), "N": Fraction(4)}
    return proof.qed(given=given, metric="gradient", model="x", inside=inside)


def scaffold(s: Reader) -> Derivation:
    """Section 20: the controls are means over the round before, off by how far the models moved since and by averaged noise."""
    sgd = Anchored(s)
    proof, clients, away, dF = sgd.proof, sgd.clients, sgd.away, sgd.gradient
    gathered = Var("u") + sgd.own - dF(Z)
    renewed = {"local": C, "communication": dF(Z) + 1 / s.p * gathered}
    mean = clients(dF(X))
    sgd.goes(sgd.own - C + clients(C), mean, u={"local": gathered, "communication": Sum(())}, c=renewed)
    proof.named(Q=sq(away(C - dF(Z))), U=sq(away(Var("u"))), U_end=sq(away(gathered)))
    proof.named(Y_end=sq(sgd.ahead), unlike=sq(away(dF(sgd.here))))
    sgd.follows()
    M, apart, far = map(quantity, "MXY")
    descent_along(proof, s.eta, s.L, M, s.L**2 * apart, "mean", "noise", "bias", variance=sgd.pooled)
    _controls(sgd, gathered)
    change, lag = away(dF(X) - dF(Z)), away(C - dF(Z))
    proof.claim(
        "growth",
        sq(s.eta * away(dF(X) - C)) <= s.eta**2 * (4 * s.L**2 * (apart + far) + Fraction(4, 3) * quantity("Q")),
        "since the round began",
        squares=(clients(dF(X) - dF(Z)), 3 * change + lag),
        why="||a - c||^2 <= 4 ||a||^2 + 4/3 ||c||^2",
    )
    sgd.drifts(Fraction(1, 2))
    p, square = s.p, s.eta**2
    moved = 8 * p * s.L**2 * square * (p * total("M") + s.T * sgd.pooled)
    proof.claim(
        "controls, summed",
        total("Q") <= p * s.zeta_0**2 + 4 * s.L**2 * (total("X") + total("Y")) + 2 * s.T * sgd.size / p + moved,
        *("controls elsewhere", "controls at communications", "first controls, at 0", "zeta_0 of unlike"),
        *("made", "moved in a round"),
    )
    K = 7 * p * (p - 1) * square * s.L**2
    rest = (p - 1) * square * (2 * p**2 * s.zeta_0**2 + 7 * s.T * sgd.size + 2 * p * moved)
    proof.claim(
        "consensus",
        total("X") <= 2 * K * total("Y") + rest,
        *("drift", "controls, summed"),
        why="A <= a A + c with a <= 1/2",
    )
    paid = (
        (1 / (2 * s.L**2), ("round_length",)),
        (7 * p * square, ("round_length", "p>=1")),
        (52 * (p * square * s.L) ** 2, ("p>=1", "p>=1")),
        (16 * (p * square * s.L) ** 2, ("p whole",)),
    )
    variance = s.T * square * sgd.pooled
    pooled = (
        (Fraction(23, 7) * variance, ("round_length", "p>=1")),
        (Fraction(26, 7) * variance, ("p>=1",)),
        (16 * variance * square * s.L**2 * p, ("p whole",)),
    )
    drift = (p - 1) * square * (2 * p**2 * s.zeta_0**2 + 7 * s.T * s.sigma**2 / s.b)
    proof.claim(
        "spread",
        total("X") <= total("M") / (2 * s.L**2) + drift,
        given={"consensus": 1, "moved": 2 * K},
        certificates=(paid, pooled),
        why="14 p (p - 1) eta^2 L^2 <= 1, and p <= 2 (p - 1) unless p = 1",
    )
    per_step = 2 / (s.eta * s.T)
    given = {proof.sum("descent"): per_step, proof.bound("F_gap", of="F", name="infimum"): per_step}
    given["spread"] = s.L**2 / s.T
    return proof.qed(given=given, metric="gradient", model="x", inside={"eta": Fraction(1, 16), "p": 2})


def _controls(sgd: Anchored, gathered: Term) -> None:
    """Sums of Q, how far a control is from the gradient where its round began, less the means over the clients."""
    s, proof, clients, away, dF, server = sgd.s, sgd.proof, sgd.clients, sgd.away, sgd.gradient, Var("z", 1)
    U, far, one = Var("u"), quantity("X") + quantity("Y"), 0 * s.L + 1
    change, later = dF(X) - dF(Z), dF(Z) - dF(server)
    smooth = proof.bound("L", dF(X), dF(Z), name="since the round began")
    proof.claim("gathered drift", sq(away(change)) <= s.L**2 * far, smooth, squares=(clients(change),))
    noise = sgd.noise_apart("gathered noise", one)
    goes, stops = proof.update("u", name="gathered"), proof.update("u", "communication", name="gathered afresh")
    none, empty = proof.start("controls at rest", U, name="nothing gathered"), away(Var("u", 1))
    parts = proof.zero("gathered apart", empty - away(gathered), goes, proof.mean(goes, "n"))
    meets = proof.zero("gathered afresh, apart", empty, stops, proof.mean(stops, "n"))
    begun = proof.zero("nothing gathered, apart", away(U), none, proof.mean(none, "n"))
    rounds = parts, meets, begun, sgd.unlike, "gathered drift", noise, 2 * one
    proof.step("made", NoisyDrift("U", *rounds, end="U_end"))
    proof.step("moved in a round", NoisyDrift("Y", *sgd.rounds, end="Y_end"))

    proof.step("same gradients", Substitute(dF(server), ((server, Z, "server"),)))
    same = Var("c", 1) - dF(server) - C + dF(Z)
    kept = proof.zero("same controls", same, proof.update("c", name="controls"), "same gradients")
    proof.claim("kept controls", quantity("Q", 1) <= quantity("Q"), kept)
    onward = proof.zero("onward", server - Z - sgd.ahead, "server, averaged")
    moves = proof.bound("L", dF(Z), dF(server), name="there")
    proof.claim("moved gradients", sq(later) <= s.L**2 * quantity("Y_end"), moves, onward)
    proof.claim(
        "new controls",
        quantity("Q", 1) <= Fraction(4, 3) / s.p**2 * quantity("U_end") + 4 * s.L**2 * quantity("Y_end"),
        *(proof.update("c", "communication", name="controls, renewed"), "moved gradients"),
        squares=(away(gathered) - 3 * s.p * away(later), clients(later)),
        why="||a + c||^2 <= 4/3 ||a||^2 + 4 ||c||^2",
    )
    proof.sum("kept controls", name="controls at communications", communication="new controls")
    proof.step("controls elsewhere", Gronwall("Q", "kept controls", "new controls", 0 * one, one))
    rest = proof.start("controls at rest", C, name="no control")
    first = proof.zero("server at first", Z - sgd.here, "start of the server, mean")
    proof.step("first gradients", Substitute(dF(Z), ((Z, sgd.here, first),)))
    proof.claim("first controls", quantity("Q") <= quantity("unlike"), rest, "first gradients")
    proof.at_start("first controls")
    proof.bound("zeta_0", of="unlike")


def fedprox(s: Reader) -> Derivation:
    """Section 21: F plus gamma/2 times the squared distance from the server's model falls; H is the squared gradient of that."""
    sgd = Anchored(s)
    proof, clients, away, dF, gone = sgd.proof, sgd.clients, sgd.away, sgd.gradient, sgd.here - Z
    sgd.goes(sgd.own + s.gamma * (X - Z), clients(dF(X)) + s.gamma * gone)
    held, curved = sgd.slope + s.gamma * gone, s.L + s.gamma
    H, q = proof.quantity("H", sq(held)), s.eta * s.gamma * s.p
    sgd.follows()
    F, gradient, M, apart, far = map(quantity, ("F", "gradient", "M", "X", "Y"))
    claimed = (
        quantity("F", 1) + s.gamma / 2 * quantity("Y", 1)
        <= F
        + s.gamma / 2 * far
        - s.eta / 2 * H
        - (s.eta - curved * s.eta**2) / 2 * M
        + s.eta / 2 * s.L**2 * apart
        + curved * s.eta**2 / 2 * sgd.pooled
    )
    reasons, why = ("descent lemma", "mean", "noise", "bias"), "-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2"
    rows = (
        proof.claim("potential, local", claimed, *reasons, "parts", why=why),
        proof.claim("potential, averaged", claimed, *reasons, "meets", squares=(sgd.ahead,), why=why),
    )
    proof.cases("potential", *rows)
    proof.claim("together", far <= 0, "start of the server, mean")
    proof.claim(
        "let go",
        gradient <= (1 + q) * (H + s.gamma / (s.eta * s.p) * far),
        squares=(gone + s.eta * s.p * held,),
        why="||a - c||^2 <= (1 + q) ||a||^2 + (1 + 1/q) ||c||^2",
    )
    moved, unlike = dF(X) - dF(sgd.here), away(dF(sgd.here))
    step = proof.claim("bent", sq(away(moved)) <= s.L**2 * apart, "drifted", squares=(clients(moved),))
    pull = proof.claim("pull", sq(s.gamma * away(X)) <= s.gamma**2 * apart)
    both = proof.triangle("bent and pulled", apart, (step, away(moved), s.L), (pull, s.gamma * away(X), s.gamma))
    proof.claim(
        "growth",
        sq(s.eta * away(dF(X) + s.gamma * X)) <= s.eta**2 * (Fraction(3, 2) * curved**2 * apart + 3 * s.zeta**2),
        *(both, proof.bound("zeta", dF(sgd.here))),
        squares=(away(moved) + s.gamma * away(X) - 2 * unlike,),
        why="Young's inequality with 1/2",
    )
    sgd.drifts(Fraction(1, 3))
    rounds = Fraction(8, 9) * (s.p - 1) * (2 * s.p - 1) * s.zeta**2 + Fraction(8, 3) * (s.p - 1) * sgd.size
    claimed = total("X") <= s.T * s.eta**2 * rounds
    proof.claim("consensus", claimed, "drift", why="A <= a A + c with a <= 1/4")
    per_step = 2 * (1 + q) / (s.eta * s.T)
    given = {
        proof.sum("potential"): per_step,
        proof.bound("F_gap", of="F", name="infimum"): per_step,
        proof.at_start("together"): per_step * s.gamma / 2,
        proof.sum("let go"): 1 / s.T,
        "moved": (1 + q) * s.gamma / (s.eta * s.p * s.T),
        "consensus": (1 + q) * s.L**2 / s.T,
    }
    return proof.qed(given=given, metric="gradient", model="x", inside={"eta": Fraction(1, 16), "p": 2})


DERIVATIONS = (
    ("local_sgd_convex", local_sgd_convex),
    ("sampled_sgd", sampled_sgd),
    ("fedavg_sampled", fedavg_sampled),
    ("delayed_sgd", delayed_sgd),
    ("scaffold", scaffold),
    ("fedprox", fedprox),
)
