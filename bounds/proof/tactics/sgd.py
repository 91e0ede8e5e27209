"""SGD on plain losses: every client steps along its gradient of a batch, and the models are averaged after each step or each round."""

from __future__ import annotations

from fractions import Fraction

from ..author import Derivation, Proof, Reader, Scalar, Signomial, Term, Var, quantity, sq, total, value
from ..kernel import NoisyDrift
from .descent import smooth_descent
from .rounds import averaged_rounds, variance_of_mean
from .smoothness import smooth_mean

X, AFTER = Var("x"), Var("x", 1)


class PlainLosses:
    """The problem: N clients with a batch of samples each; what is measured at x, and the noise of a sample.

    Args:
        first: the batch size of the first step, where it is another one. exact: the gradients have no noise.
        pathwise: what is proved holds along a run, with a probability.
    """

    def __init__(self, s: Reader, *, first: Signomial | None = None, exact: bool = False, pathwise: bool = False):
        proof = self.proof = Proof(s, time="" if exact else "independence", pathwise=pathwise)
        self.clients, self.exact = proof.clients(s.N), exact
        if not exact:
            self.batch = proof.batch("i", s.b, "independence", first=first)
            proof.source("xi", "n i", "independence")
        self.gradient = proof.function("dF", "x -> x", "" if exact else "xi", role="local_gradient", mean_per="n")
        self.sampled = self.gradient(X) if exact else self.gradient(X, 0)
        self.noise = self.sampled - self.gradient(X)

    def minimised(self) -> None:
        """The objective, and the free points between which it is smooth; after the variables."""
        self.proof.free("p r", "x")
        self.proof.objective("F", self.full, "smoothness")

    def full(self, x: Term) -> Term:
        """grad F at one point."""
        return self.clients(self.gradient(x))

    def away(self, term: Term) -> Term:
        return term - self.clients(term)

    @property
    def errors(self) -> tuple[Term, Signomial]:
        """The noise of a batch, less its mean over the clients, and its size."""
        s = self.proof.s
        return self.away(self.batch(self.noise)), (1 - 1 / s.N) * s.sigma**2 / s.b

    def noise_apart(self, name: str, scale: Signomial) -> str:
        """How large a multiple of that noise is; after `variance_of_mean` of the noise."""
        noise, size = self.errors
        reasons = "independence over n", "independence over i", "sigma of dF"
        why = "independent errors, less their mean over the clients"
        return self.proof.claim(name, sq(scale * noise) <= scale**2 * size, *reasons, why=why)


class Sgd(PlainLosses):
    """A method that steps by -eta times the mean gradient of a batch; `pooled`: from the mean model.

    Args:
        declining: t0, where the step size is a/(t + t0). mixed: the models are mixed after every step, instead of averaged.
    """

    def __init__(
        self,
        s: Reader,
        *,
        pooled: bool,
        declining: Signomial | None = None,
        exact: bool = False,
        mixed: bool = False,
        pathwise: bool = False,
    ):
        super().__init__(s, exact=exact, pathwise=pathwise)
        self.eta = s.eta if declining is None else s.a / self.proof.clock(declining)
        moved = self.stepped = X - self.eta * (self.sampled if exact else self.batch(self.sampled))
        if mixed:
            self.mix = self.proof.function("W", "x -> x", role="mixing_matrix")
            self.proof.variable("x", "x", "n", every=self.mix(moved))
        elif pooled:
            self.proof.variable("x", "x", every=self.clients(moved))
        else:
            self.proof.variable("x", "x", "n", local=moved, communication=self.clients(moved))
        self.minimised()

    def average_noise(self, s: Reader) -> Signomial:
        """`noise`: the variance of the mean of N b samples; 0 where there is none."""
        if self.exact:
            return 0 * self.eta
        variance_of_mean(self.proof, "noise", self.noise, "n i", s.sigma**2, self.proof.bound("sigma", self.sampled))
        return s.sigma**2 / (s.N * s.b)

    def descend(
        self, s: Reader, smoothness: Signomial, bias: Scalar | Signomial, *by: str, kept: Signomial | None = None
    ) -> None:
        """The noise of N b samples, and the sum of the descent, with `kept` times the squared gradient."""
        proof, here = self.proof, self.clients(X)
        proof.named(gradient=sq(self.full(here)), F=value("F", here))
        noise, moved = self.average_noise(s), ("mean",) if self.exact else ("mean", "noise")
        smooth_descent(proof, s.eta, smoothness, here, self.clients(AFTER), noise, bias, *moved, *by, kept=kept)

    def proved(self, *by: str, **inside: Fraction) -> Derivation:
        return self.proof.qed(*by, metric="gradient", model="x", inside={"eta": Fraction(1, 2), **inside})


def local_rounds(s: Reader) -> Sgd:
    """Local SGD: how the mean model moves, and the bias of its direction by the consensus error X."""
    sgd = Sgd(s, pooled=False)
    averaged_rounds(sgd.proof, sgd.clients, s.eta, sgd.batch(sgd.sampled), "start")
    apart_models(sgd, s)
    return sgd


def apart_models(sgd: Sgd, s: Reader) -> Scalar:
    """X, the consensus error: `smooth`, and `bias`, what it changes of the mean direction."""
    proof, gradient, here = sgd.proof, sgd.gradient, sgd.clients(X)
    error = proof.quantity("X", sq(sgd.away(X)))
    smooth_mean(proof, sgd.clients, gradient, s.L, proof.bound("L", *map(gradient, proof.points)))
    alike = proof.bound("L", gradient(here), gradient(X))
    gap = gradient(here) - gradient(X)
    proof.claim("bias", sq(sgd.clients(gap)) <= s.L**2 * error, alike, why="Jensen over the clients, and smoothness")
    return error


def local_descent(s: Reader) -> Sgd:
    """Local SGD, up to a bound of the consensus error X."""
    sgd = local_rounds(s)
    sgd.descend(s, s.L, s.L**2 * quantity("X"), "bias")
    return sgd


def unlike_descent(s: Reader) -> Sgd:
    """Local SGD, with the consensus error of clients that differ."""
    return _drifted(local_descent(s), s)


def unlike_rounds(s: Reader) -> Sgd:
    """The same without the descent."""
    sgd = local_rounds(s)
    sgd.average_noise(s)
    return _drifted(sgd, s)


def _drifted(sgd: Sgd, s: Reader) -> Sgd:
    """`consensus`: drift by heterogeneity adds up over a round, noise does not."""
    proof = sgd.proof
    noise, size = apart_steps(sgd, s)
    third = 0 * s.L + Fraction(1, 3)
    proof.step("drift", NoisyDrift("X", "apart", "agree", "start", -s.eta * noise, "growth", "noise growth", third))
    rounds = Fraction(4, 3) * (s.p - 1) * (2 * s.p - 1) * s.zeta**2 + 4 * (s.p - 1) * size
    claimed = total("X") <= s.T * s.eta**2 * rounds
    proof.claim("consensus", claimed, "drift", why="A <= a A + c with a <= 1/2")
    return sgd


def apart_steps(sgd: Sgd, s: Reader) -> tuple[Term, Signomial]:
    """`growth` and `noise growth`: how far the steps of clients that differ are apart, by X and by noise; that noise and its size."""
    proof, gradient, here, error = sgd.proof, sgd.gradient, sgd.clients(X), quantity("X")
    moved, unlike = gradient(X) - gradient(here), sgd.away(gradient(here))
    proof.claim(
        "growth",
        sq(s.eta * sgd.away(gradient(X))) <= s.eta**2 * (Fraction(3, 2) * s.L**2 * error + 3 * s.zeta**2),
        "L of dF 2",
        proof.bound("zeta", gradient(here)),
        squares=(sgd.clients(moved), moved - 2 * unlike),
        why="Young's inequality with 1/2; the mean over the clients is the closest common vector",
    )
    noise, size = sgd.errors
    sgd.noise_apart("noise growth", s.eta)
    return noise, size
