"""The library's theorems on clients that step by themselves, or of which some take part; docs/theory/library.md comments on them."""

from __future__ import annotations

from fractions import Fraction

from ...proof.author import Act, Derivation, Reader, Term, Var, quantity, sq, total, value
from ...proof.kernel import Gronwall, NoisyDrift, Substitute, Sum
from ...proof.tactics import PlainLosses, averaged_rounds, smooth_descent, smooth_mean, unlike_rounds, variance_of_mean
from .derivations_methods import OneModel

X, AFTER = Var("x"), Var("x", 1)


def local_sgd_convex(s: Reader) -> Derivation:
    """Section 14: the mean gradient of convex clients leads to the minimiser but for the consensus error."""
    sgd = unlike_rounds(s)
    proof, here, least = sgd.proof, sgd.clients(X), sgd.proof.minimiser()
    slope, mean = sgd.full(here), sgd.clients(sgd.gradient(X))
    proof.quantity("gap", value("F", here) - value("F", least))
    proof.quantity("distance", sq(here - least))
    nearer = here - 1 / s.L * slope
    lemma = proof.smooth("F", "smooth", s.L, here, nearer)
    proof.claim("slope", sq(slope) <= 2 * s.L * quantity("gap"), proof.least("minimiser", nearer), lemma)
    proof.convex_clients("convexity", "L", sgd.gradient(X), here, least)
    above = proof.least("minimiser", here, name="above the minimum")
    drift, noise = s.eta * s.L * (1 + 2 * s.eta * s.L), s.eta**2 * s.sigma**2 / (s.N * s.b)
    proof.claim(
        "approach",
        quantity("distance", 1) <= quantity("distance") - s.eta * quantity("gap") + drift * quantity("X") + noise,
        *("mean", "noise"),
        given={
            "three points": 2 * s.eta,
            "slope": 2 * s.eta**2,
            above: s.eta - 4 * s.eta**2 * s.L,
            "bias": 2 * s.eta**2,
        },
        squares=(mean - 2 * slope,),
        why="||x - x_*||^2 - 2 eta <c, x - x_*> + eta^2 ||c||^2 at the mean gradient c; ||c||^2 <= 2 ||grad F||^2 + 2 ||c - grad F||^2",
    )
    proof.bound("D", of="distance", name="nearby")
    reasons = proof.sum("approach"), "nearby", "consensus"
    return proof.qed(*reasons, metric="gap", model="x", inside={"eta": Fraction(1, 4)})


def sampled_sgd(s: Reader) -> Derivation:
    """Section 15: the mean over a uniform set of clients has the mean of all as its mean, and a share of their variance."""
    sgd = OneModel(s)
    proof, dF = sgd.proof, sgd.gradient
    proof.source("set", "", "participation")
    chosen = proof.function("chosen", "x -> (x, x)", "set", role="random_set")
    own = sgd.batch(sgd.sampled)

    def weighted(drawn: int | None) -> Term:
        return Act(chosen(Sum(()), drawn), own)

    direction = sgd.clients(weighted(0))
    sgd.moves(direction)
    batch, pooled = sgd.independent(sgd.noise)
    mean = proof.bound("r", weighted(None), of="chosen", name="everybody in the mean")
    known = proof.mean(mean, "n")
    variance = s.s * s.zeta**2 + s.sigma**2 / (s.r * s.N * s.b)
    proof.claim(
        "noise",
        sq(direction - sgd.slope) <= variance,
        *(batch, pooled, proof.bound("sigma", sgd.sampled), proof.bound("zeta", dF(X))),
        *(proof.bound("r", weighted(0), of="chosen", name="sampled"), mean, known),
        why="a mean of m of N numbers has (N - m)/(m (N - 1)) of their variance",
    )
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    smooth_descent(proof, s.eta, s.L_bar, X, Var("x", 1), variance, 0 * s.eta, "mean", "noise", known, mean)
    inside = {"eta": Fraction(1, 2), "r": Fraction(1, 2), "N": Fraction(4)}
    return proof.qed("descent, summed", "infimum", metric="gradient", model="x", inside=inside)


def delayed_sgd(s: Reader) -> Derivation:
    """Section 16: F plus a multiple of the squared distance of the last two models."""
    sgd = PlainLosses(s)
    proof, Z, after = sgd.proof, Var("z"), Var("x", 1)
    sampled = sgd.gradient(Z, 0)
    direction = sgd.clients(sgd.batch(sampled))
    proof.variable("x", "x", every=X - s.eta * direction)
    proof.variable("z", "x", every=X)
    sgd.minimised()
    slope, weight = sgd.full(X), s.eta * s.L_bar**2 / 2
    gradient, apart = proof.quantity("gradient", sq(slope)), proof.quantity("A", sq(X - Z))
    proof.quantity("F", value("F", X))
    variance = s.sigma**2 / (s.N * s.b)
    sigma = proof.bound("sigma", sampled)
    variance_of_mean(proof, "noise", sampled - sgd.gradient(Z), "n i", s.sigma**2, sigma)
    proof.bound("L_bar", *proof.points, of="F", name="smooth")
    proof.at("smooth", p=X, r=Z, name="stale")
    proof.update("x", name="step")
    proof.update("z", name="kept")
    lemma = proof.smooth("F", "smooth", s.L_bar, X, after)
    later = quantity("F", 1) + weight * quantity("A", 1)
    moved = (s.L_bar / 2 + weight) * s.eta**2
    proof.claim(
        "potential",
        later <= quantity("F") + weight * apart - s.eta / 2 * gradient + moved * variance,
        *("step", "kept"),
        given={lemma: 1, "stale": s.eta / 2, "noise": moved},
        why="-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2; the next two models are a step apart",
    )
    proof.claim("together", apart <= 0, proof.start("start", Z - X))
    reasons = proof.sum("potential"), proof.bound("F_gap", of="F", name="infimum"), proof.at_start("together")
    return proof.qed(*reasons, metric="gradient", model="x", inside={"eta": Fraction(1, 2)})


def scaffold(s: Reader) -> Derivation:
    """Section 20: the controls are means over the round before, off by how far the models moved since and by averaged noise."""
    sgd = PlainLosses(s)
    proof, clients, away, dF, batch = sgd.proof, sgd.clients, sgd.away, sgd.gradient, sgd.batch
    Z, U, C, own = Var("z"), Var("u"), Var("c"), batch(sgd.sampled)
    direction, gathered = own - C + clients(C), U + own - dF(Z)
    moved, here, server = X - s.eta * direction, clients(X), Var("z", 1)
    proof.variable("z", "x", local=Z, communication=clients(moved))
    proof.variable("u", "x", "n", local=gathered, communication=Sum(()))
    proof.variable("c", "x", "n", local=C, communication=dF(Z) + 1 / s.p * gathered)
    proof.variable("x", "x", "n", local=moved, communication=clients(moved))
    sgd.minimised()
    slope, mean, ahead = sgd.full(here), clients(dF(X)), here - Z - s.eta * clients(own)
    gradient, M = proof.quantity("gradient", sq(slope)), proof.quantity("M", sq(mean))
    F, apart, far = proof.quantity("F", value("F", here)), sq(away(X)), sq(here - Z)
    apart, far = proof.quantity("X", apart), proof.quantity("Y", far)
    off, gone = proof.quantity("Q", sq(away(C - dF(Z)))), proof.quantity("Y_end", sq(ahead))
    proof.quantity("U", sq(away(U)))
    made = proof.quantity("U_end", sq(away(gathered)))

    averaged_rounds(proof, clients, s.eta, direction, "start")
    client = proof.bound("L", *map(dF, proof.points))
    smooth_mean(proof, clients, dF, s.L, client)
    proof.claim("bias", sq(slope - mean) <= s.L**2 * apart, proof.bound("L", dF(here), dF(X)))
    sigma = proof.bound("sigma", sgd.sampled)
    pooled, size = s.sigma**2 / (s.N * s.b), (1 - 1 / s.N) * s.sigma**2 / s.b
    variance_of_mean(proof, "noise", sgd.noise, "n i", s.sigma**2, sigma)
    lemma = proof.smooth("F", "smooth", s.L, here, clients(AFTER))
    proof.claim(
        "descent",
        quantity("F", 1)
        <= F
        - s.eta / 2 * gradient
        - (s.eta - s.L * s.eta**2) / 2 * M
        + s.eta / 2 * s.L**2 * apart
        + s.L * s.eta**2 / 2 * pooled,
        *(lemma, "mean", "noise", "bias"),
        why="-2<a, c> = ||a - c||^2 - ||a||^2 - ||c||^2",
    )

    # how far the mean model is from that of the server
    kept, averaged = proof.update("z", name="server"), proof.update("z", "communication", name="server, averaged")
    left = proof.zero("moves", clients(AFTER) - server - ahead, "x local, mean", kept)
    proof.zero("there", clients(AFTER) - server, "x communication, mean", averaged)
    begun = proof.mean(proof.start("start", X - Z, name="start of the server"), "n")
    noise, exact, one = -s.eta * clients(batch(sgd.noise)), -s.eta * mean, 0 * s.L + 1
    proof.claim("step", sq(exact) <= s.eta**2 * M)
    proof.claim("step noise", sq(noise) <= s.eta**2 * pooled, "noise")
    rounds = left, "there", begun, noise, "step", "step noise", one
    proof.step("moved", NoisyDrift("Y", *rounds))
    proof.step("moved in a round", NoisyDrift("Y", *rounds, end="Y_end"))

    # the controls of the next round
    change, spread = dF(X) - dF(Z), away(batch(sgd.noise))
    gather, afresh = proof.update("u", name="gathered"), proof.update("u", "communication", name="gathered afresh")
    gathers = proof.zero("gathers", away(Var("u", 1)) - away(gathered), gather, proof.mean(gather, "n"))
    emptied = proof.zero("emptied", away(Var("u", 1)), afresh, proof.mean(afresh, "n"))
    empty = proof.start("controls at rest", U, name="nothing gathered")
    rest = proof.zero("nothing gathered, apart", away(U), empty, proof.mean(empty, "n"))
    lipschitz = proof.bound("L", dF(X), dF(Z), name="smooth clients")
    proof.claim("gathered drift", sq(away(change)) <= s.L**2 * (apart + far), lipschitz, squares=(clients(change),))
    independent = "independence over n", "independence over i", sigma
    proof.claim("gathered noise", sq(spread) <= size, *independent)
    growth = "gathered drift", "gathered noise"
    proof.step("made", NoisyDrift("U", gathers, emptied, rest, spread, *growth, 2 * one, end="U_end"))
    stays = proof.step("the same gradients", Substitute(dF(server), ((server, Z, kept),)))
    same = proof.zero("same", Var("c", 1) - dF(server) - C + dF(Z), proof.update("c", name="controls"), stays)
    proof.claim("kept controls", quantity("Q", 1) <= off, same, proof.mean(same, "n"))
    onward, later = proof.zero("onward", server - Z - ahead, averaged), dF(Z) - dF(server)
    proof.claim("moved gradients", sq(later) <= s.L**2 * gone, proof.bound("L", dF(Z), dF(server), name="there"), onward)
    renewed = proof.update("c", "communication", name="controls, renewed")
    proof.claim(
        "new controls",
        quantity("Q", 1) <= Fraction(4, 3) / s.p**2 * made + 4 * s.L**2 * gone,
        *(renewed, proof.mean(renewed, "n"), "moved gradients"),
        squares=(away(gathered) - 3 * s.p * away(later), clients(later)),
        why="||a + c||^2 <= 4/3 ||a||^2 + 4 ||c||^2",
    )
    proof.sum("kept controls", name="controls at communications", communication="new controls")
    proof.step("controls elsewhere", Gronwall("Q", "kept controls", "new controls", 0 * one, one))
    none = proof.start("controls at rest", C, name="no control")
    proof.claim("first", off <= s.zeta**2, none, proof.mean(none, "n"), proof.bound("zeta", dF(Z)))
    sums, controls = total("X") + total("Y"), proof.at_start("first")
    proof.claim(
        "controls, summed",
        total("Q") <= s.p * s.zeta**2 + 4 * s.L**2 * sums + 2 * s.T * size / s.p
        + 8 * s.p * s.L**2 * s.eta**2 * (s.p * total("M") + s.T * pooled),
        *("controls elsewhere", "controls at communications", controls, "made", "moved in a round"),
    )

    # how far the models are apart
    lag = away(C - dF(Z))
    proof.claim(
        "growth",
        sq(s.eta * away(dF(X) - C)) <= s.eta**2 * (4 * s.L**2 * (apart + far) + Fraction(4, 3) * off),
        lipschitz,
        squares=(clients(change), 3 * away(change) + lag),
        why="||a - c||^2 <= 4 ||a||^2 + 4/3 ||c||^2",
    )
    proof.claim("noise growth", sq(s.eta * spread) <= s.eta**2 * size, *independent)
    half = one / 2
    proof.step("drift", NoisyDrift("X", "apart", "agree", "start", -s.eta * spread, "growth", "noise growth", half))
    K = 7 * s.p * (s.p - 1) * s.eta**2
    proof.claim(
        "consensus",
        total("X") <= 2 * K * s.L**2 * total("Y") + (s.p - 1) * s.eta**2 * (
            2 * s.p**2 * s.zeta**2 + 7 * s.T * size + 16 * s.p**2 * s.L**2 * s.eta**2 * (s.p * total("M") + s.T * pooled)
        ),
        *("drift", "controls, summed"),
        why="A <= a A + c with a <= 1/2",
    )
    square, noisy = s.eta**4 * s.L**2 * s.p**2, s.T * s.eta**2 * pooled
    paid = (
        (1 / (2 * s.L**2), ("round_length",)),
        (7 * s.p * s.eta**2, ("round_length", "p>=1")),
        (52 * square, ("p>=1", "p>=1")),
        (16 * square, ("p whole",)),
    )
    rare = (
        (Fraction(23, 7) * noisy, ("round_length", "p>=1")),
        (Fraction(26, 7) * noisy, ("p>=1",)),
        (16 * noisy * s.eta**2 * s.L**2 * s.p, ("p whole",)),
    )
    proof.claim(
        "spread",
        total("X") <= total("M") / 2 / s.L**2 + (s.p - 1) * s.eta**2 * (2 * s.p**2 * s.zeta**2 + 7 * s.T * s.sigma**2 / s.b),
        given={"consensus": 1, "moved": 2 * K * s.L**2},
        certificates=(paid, rare),
        why="14 p (p - 1) eta^2 L^2 <= 1, and p <= 2 (p - 1) unless p = 1",
    )
    proof.sum("descent")
    proof.bound("F_gap", of="F", name="infimum")
    per_step = 2 / (s.eta * s.T)
    reasons = {"descent, summed": per_step, "infimum": per_step, "spread": s.L**2 / s.T}
    return proof.qed(given=reasons, metric="gradient", model="x", inside={"eta": Fraction(1, 16), "p": 2})


DERIVATIONS = (
    ("local_sgd_convex", local_sgd_convex),
    ("sampled_sgd", sampled_sgd),
    ("delayed_sgd", delayed_sgd),
    ("scaffold", scaffold),
)
