"""The proof of near.toml: claims with their reasons. The multipliers are found, and the kernel checks the sums."""

from fractions import Fraction

from fedco.bounds.proof.author import Proof, Var, quantity, sq, value


def prove(s):
    proof = Proof(s, time="samples")
    # the problem and the method
    clients, batch = proof.clients(s.N), proof.batch("i", s.b, "samples")
    proof.source("xi", "n i", "samples")
    dF = proof.function("dF", "x -> x", "xi", role="local_gradient", mean_per="n")
    x, least = Var("x"), proof.minimiser()
    direction, gradient = clients(batch(dF(x, 0))), clients(dF(x))
    proof.variable("x", "x", every=x - s.eta * direction)
    p, r = proof.free("p r", "x")
    proof.objective("F", lambda point: clients(dF(point)), "smoothness")
    proof.quantity("distance", sq(x - least))
    # the proof
    variance = s.sigma**2 / (s.N * s.b)
    noise = dF(x, 0) - dF(x)
    of_clients, of_batch = proof.independent(batch(noise), "n"), proof.independent(noise, "i")
    proof.claim("noise", sq(direction - gradient) <= variance, of_clients, of_batch, proof.bound("sigma", dF(x, 0)))
    proof.bound("L", p, r, of="F", name="smooth")
    lower = x - 1 / s.L * gradient
    proof.smooth("F", "smooth", s.L, x, lower)
    gap = value("F", x) - value("F", least)
    proof.claim("slope", sq(gradient) <= 2 * s.L * gap, proof.least("minimiser", lower), "descent lemma")
    proof.bound("mu", x, least, of="F", name="tangent")
    proof.update("x", name="step")
    nearer = (1 - s.mu * s.eta) * quantity("distance") + s.eta**2 * variance
    weights = {"tangent": 2 * s.eta, "slope": s.eta / s.L}
    proof.claim("nearer", quantity("distance", 1) <= nearer, "step", "noise", given=weights)
    proof.contraction("nearer", "distance", 1 - s.mu * s.eta, s.eta * variance / s.mu, name="all steps")
    proof.bound("D", of="distance", name="start")
    return proof.qed("all steps", "start", metric="distance", model="x", inside={"eta": Fraction(1, 2)})
