"""Lemmas 4 to 7, 10 and 11, corrected: the fine-tuning steps of a client; the steps are M1 to M6 of part I of docs/theory/meta_fl.md.

t is the position in the loop of nu steps. u is the path with noise and w that without; the gradient through a path goes back along it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from ...language.bounding import CENTRAL_DIFFERENCE, SECOND_DIFFERENCE
from ...proof.author import ONE, Act, Known, Reader, Scalar, Signomial, Term, Var, sq
from ...proof.kernel import (
    Conditional,
    Given,
    IndependentMean,
    Length,
    Loop,
    ReversedPower,
    Sequence,
    Smaller,
    named,
    signomial,
)
from ...proof.kernel.sequences import number
from ...proof.loops import LoopProof, Part, sequences_of
from . import constants

ZERO, HALF, A = signomial(0), Fraction(1, 2), named("A")
U, V, W, ESTIMATE, NOISELESS, M, R_ = (Var(name) for name in "uvwadmr")
P, Q, END_P, END_Q = Var("p"), Var("q"), Var("p", -1), Var("q", -1)
"""The two paths in reverse, at nu - 1 - t; END: at nu, where step 0 begins."""
S, N, X, k, T, v, b, G, h2, H, R = map(number, (*"SNXkTvbG", "h2", *"HR"))
E = number("E", positive=True)
POWER, SUM, H2 = Sequence("E", ONE, A * E, positive=True), Sequence("S", ZERO, 1 + A * S), Sequence("h2", ZERO, ZERO)
PATH_SUM = Sequence("R", ZERO, R + H2.reversed**HALF, ends="H")
PATH = Known.before(("path",))
BEFORE_LOOP = -2
"""A step before the loop, of which the last gradient batch is."""
ORTHOGONAL = "the noise is orthogonal to the past: squares add"


class FineTuning:
    """A client in a loop over its fine-tuning steps.

    Args:
        before: the loop that this one goes through in reverse, with its two variables `along`.
        per: "i" where the clients differ. noisy: whether the gradients, and the Hessians, have samples.
    """

    def __init__(
        self,
        s: Reader,
        *sequences: Sequence,
        before: Loop | None = None,
        along: str = "uw",
        per: str = "",
        noisy: bool = False,
    ):
        self.s = s
        self.size = s.B * E
        """Bounds the gradient through a path without noise."""
        back = dict(zip(along, "pq", strict=True)) if before else {}
        time, growth = "batches" if noisy else "", {"A": 1 + s.alpha * s.L}
        proof = LoopProof(s, time, entry="start", sequences=sequences, constants=growth, before=before, reversed=back)
        self.proof = proof
        self.clients = proof.clients(s.n, "i")
        if noisy:
            self.batch = proof.batch("j", s.D, "batches")
            proof.source("zeta", "j", "batches")
        if noisy and before:
            self.places = proof.batch("h", s.D_H, "batches")
            proof.source("path", "", "batches")
            proof.source("xi", "h", "batches")
        self.df = proof.function("df", "x -> x", "zeta" if noisy else "", role="local_gradient", per=per)
        if before:
            self.ddf = proof.function("ddf", "x -> (x, x)", "xi" if noisy else "", role="local_hessian", per=per)
            proof.point("p", per, ("path",) if noisy else None)
            proof.point("q", sources=() if noisy else None)

    def through(
        self, gradient: str, path: Term, end: Term, per: str = "", sources: tuple[str, ...] | None = None
    ) -> None:
        """The gradient through a path."""
        vector = Var(gradient)
        self.proof.moves(gradient, vector + self.turn(vector, path), self.df(end), per, sources)

    def turn(self, vector: Term, path: Term = P) -> Term:
        return -self.s.alpha * Act(self.ddf(path), vector)

    def hessian(self, path: Term) -> str:
        """That L bounds the Hessian at a point of a path."""
        name = f"Hessian at {path!r}"
        return name if name in self.proof.names else self.proof.bound("L", self.ddf(path), name=name)

    def turned(self, of: Part, path: Term = P) -> Part:
        """||alpha H v||^2 <= (alpha L root)^2."""
        by, vector, root = of
        action = self.proof.act(self.hessian(path), vector)
        return self.proof.part(f"{by}, turned", self.turn(vector, path), self.s.alpha * self.s.L * root, action, by)

    def changed(self, here: Term, there: Term, supposed: Part) -> Part:
        """||alpha (grad f(here) - grad f(there))||^2 <= (alpha L root)^2."""
        by, _, root = supposed
        move = -self.s.alpha * (self.df(here) - self.df(there))
        lipschitz = self.proof.bound("L", self.df(here), self.df(there))
        return self.proof.part("move", move, self.s.alpha * self.s.L * root, lipschitz, by)

    def size_of_r(self, *, mean: bool = False) -> Part:
        """The gradient r through the path without noise, or that of the mean over the clients, is at most B A^t."""
        s, proof, end = self.s, self.proof, self.df(END_Q)
        supposed, hessian, turn = proof.suppose("r size", R_, self.size), self.hessian(Q), self.turn(R_, Q)
        if mean:
            hessian, turn = proof.jensen(hessian, "i"), -s.alpha * Act(self.clients(self.ddf(Q)), R_)
        turned = proof.part("r turned", turn, s.alpha * s.L * self.size, proof.act(hessian, R_), supposed[0])
        first = proof.bound("B", end, name="gradient at q"), "r, start"
        squares = (end - self.clients(end),) if mean else ()
        return proof.induction(supposed, "r", first=first, squares=squares, parts=(turned,))

    def wrong_point(self, distance: Signomial) -> Part:
        """A Hessian at the wrong point of the path, by `sure` and `apart`."""
        s, right, wrong = self.s, self.ddf(P), self.ddf(Q)
        by = self.proof.bound("rho", right, wrong, R_, sizes=("sure",))
        root = s.alpha * s.rho * self.size * distance
        return self.proof.part("moved", -s.alpha * Act(right - wrong, R_), root, by, "apart")


# --- M1: smoothness ------------------------------------------------------------------------------------------------------


def two_paths(s: Reader) -> Loop:
    """Two paths without noise, from two models."""
    run, length = FineTuning(s, POWER), Length(U - W)
    proof = run.proof
    for path in (U, W):
        proof.moves(path.name, path - s.alpha * run.df(path))
    supposed = proof.suppose("path", U - W, E * length.size)
    first = (proof.step("length", length),)
    proof.induction(supposed, "u", "w", first=first, parts=(run.changed(U, W, supposed),))
    return proof.delivers()


def lemma_4(s: Reader) -> Loop:
    """M1: a and r are the gradients through the paths from two models; so is their mean over the clients."""
    run, distance = FineTuning(s, POWER, SUM, before=two_paths(s)), Length(U - W).size
    proof, df = run.proof, run.df
    run.through("a", P, END_P)
    run.through("r", Q, END_Q)
    proof.sure("sure", run.size_of_r())
    proof.along("apart", "path", sq(U - W), (E * distance) ** 2)
    proof.along("end", "path", sq(U - W), (E * distance) ** 2, end=True)
    size = POWER.end * distance * (s.L * E + s.alpha * s.rho * s.B / A * S)
    supposed = proof.suppose("error", ESTIMATE - R_, size)
    parts = run.turned(supposed), run.wrong_point(POWER.reversed * distance)
    first = proof.bound("L", df(END_P), df(END_Q)), "end", "a, start", "r, start"
    proof.step("power", ReversedPower("E"))
    proof.induction(supposed, "a", "r", "power", first=first, parts=parts)
    return proof.delivers(L_F="error")


# --- M2: the error of the path ---------------------------------------------------------------------------------------------


def noisy_path(s: Reader, **delivers: str) -> Loop:
    """M2: u with the batches D_0, ..., and w without noise."""
    spread, root = s.alpha**2 * s.sigma_G**2 / s.D, h2**HALF
    total, square = sequences_of(constants.corrected_h_sum, s, "H", "h2")
    run = FineTuning(s, square, Sequence("G", ZERO, 1 + A**2 * G), total, noisy=True)
    proof, df = run.proof, run.df
    proof.moves("u", U - s.alpha * run.batch(df(U, 0)))
    proof.moves("w", W - s.alpha * df(W), sources=())
    proof.start("start", U - W)
    noise = proof.independent(df(U, 0) - df(U), "j"), proof.bound("sigma_G", df(U, 0))
    supposed = proof.suppose("path", U - W, root)
    parts = (run.changed(U, W, supposed),)
    proof.induction(supposed, *noise, "u", "w", first=("start",), parts=parts, why=ORTHOGONAL)
    proof.identity("closed", h2, spread * G, A**2, "one batch size for all steps")
    proof.claim("sum", sq(U - W) <= spread * G, "path", "closed")
    return proof.delivers(**delivers)


def lemma_5(s: Reader) -> Loop:
    """First and second moment of the error of the fine-tuned model."""
    return noisy_path(s, h2_nu="sum", h_nu="sum")


# --- M3 and M4: estimates of the gradient ----------------------------------------------------------------------------------


class Estimate:
    """An estimate of the gradient r along the path q without noise, and m, the gradient along the noisy path p."""

    def __init__(self, s: Reader, *sequences: Sequence):
        self.s = s
        run = self.run = FineTuning(s, *sequences, before=noisy_path(s), noisy=True)
        self.proof, self.first = run.proof, run.df(END_P, BEFORE_LOOP)
        self.last_noise = "noise of the last batch", "noise of its samples"
        self.closed = s.alpha**2 * s.sigma_G**2 / s.D * G
        """The bound of the path for one batch size."""
        self.end_of_path = run.proof.numbers.at_end(self.closed) ** HALF
        """h_nu."""

    def begins(self, variable: str, after: Term, mean: Term | None = None) -> None:
        """The estimate, which starts from the last gradient batch, m (or `mean` in its place) and r; and how far the paths end apart."""
        run, proof, df = self.run, self.proof, self.run.df
        proof.moves(variable, after, run.batch(self.first))
        proof.moves("m", mean or M + run.turn(M), df(END_P), sources=("path",))
        run.through("r", Q, END_Q, sources=())
        proof.step(self.last_noise[0], IndependentMean(self.first - df(END_P), "j", PATH))
        proof.bound("sigma_G", self.first, name=self.last_noise[1])
        proof.along("end, closed", "sum", sq(U - W), self.closed, end=True, why="one batch size for all steps")
        proof.bound("L", df(END_P), df(END_Q), name="jump")

    def apart(self) -> Part:
        """How far apart the paths are, and a Hessian at the wrong one of them."""
        self.proof.along("end", "path", sq(U - W), h2, end=True)
        self.proof.along("apart", "path", sq(U - W), h2)
        self.proof.sure("sure", self.run.size_of_r())
        return self.run.wrong_point(H2.reversed**HALF)

    def bias_of_mean(self, root: Signomial, parts: Callable[[Part], tuple[Part, ...]]) -> Part:
        """m against r; `parts` of what is supposed are added in a step."""
        supposed = self.proof.suppose("bias of m", M - R_, root)
        first = "jump", "end, closed", "m, start", "r, start"
        return self.proof.induction(supposed, "m", "r", first=first, parts=parts(supposed))

    def along_path(self, moved: Part) -> Part:
        """The bias of m that goes back along the noisy path."""
        s = self.s
        root = s.L * self.end_of_path * E + s.alpha * s.rho * self.run.size / A * R
        return self.bias_of_mean(root, lambda supposed: (self.run.turned(supposed), moved))

    def mean(self, estimate: Var, root: Signomial, *parts: Part, turned: bool = True) -> Part:
        """The mean of an estimate against m, given the path."""
        name, proof = estimate.name, self.proof
        supposed = proof.suppose("mean", Given(PATH, estimate - M), root)
        first = proof.mean(f"{name}, start", given=PATH), "m, start"
        after = proof.mean(name, given=PATH.later(1))
        own = (self.run.turned(supposed),) if turned else ()
        return proof.induction(supposed, after, "m", first=first, parts=(*own, *parts))

    def bias(self, estimate: Var, mean: Part, of_m: Part) -> str:
        """`mean is m`: given the path the estimate has the mean m; and so the bias of that."""
        proof = self.proof
        equal = proof.mean(proof.vanishing("mean is m", mean), given=Known())
        by, _, root = proof.expected("expected bias of m", of_m)
        return proof.claim("bias", sq(Given(Known(), estimate - R_)) <= root**2, by, equal)


def lemma_6(s: Reader) -> Loop:
    """M3: a is the estimate with the Hessians of batches."""
    each = Estimate(s, *sequences_of(constants.corrected_v, s, "v", "T", POWER, along=H2), PATH_SUM)
    run, proof, a, ddf = each.run, each.proof, ESTIMATE, each.run.ddf
    each.begins("a", a - s.alpha * run.places(Act(ddf(P, 0), a)))
    own = proof.independent(Act(ddf(P, 0) - ddf(P), a), "h")
    noise_by = own, proof.act(proof.bound("sigma_H", ddf(P, 0), given=proof.past), a)
    size = proof.suppose("size", a, T**HALF)
    first, parts = (proof.bound("B", run.df(END_P)), *each.last_noise, "a, start"), (run.turned(size),)
    proof.induction(size, "a", *noise_by, size[0], first=first, parts=parts, why=ORTHOGONAL)
    moved, error = each.apart(), proof.suppose("error", a - R_, v**HALF)
    ends, by = ("jump", "end", *each.last_noise, "a, start", "r, start"), ("a", "r", *noise_by, "size")
    proof.induction(error, *by, first=ends, parts=(run.turned(error), moved), why=ORTHOGONAL)
    bias = each.bias(a, each.mean(a, ZERO), each.along_path(moved))
    return proof.delivers("a", mu_F=bias, sigma_F="error")


def lemma_10(s: Reader) -> Loop:
    """M4: the estimate g stays what it is at the end of the noisy path, and so does its mean m."""
    g, spread = Var("g"), s.sigma_G**2 / s.D
    each = Estimate(s, POWER, Sequence("X", ZERO, X + E))
    run, proof, lipschitz = each.run, each.proof, s.L * each.end_of_path
    each.begins("g", g, M)
    step, _, size = run.size_of_r()
    left_out = proof.part("left out", -run.turn(R_, Q), s.alpha * s.L * size, proof.act(run.hessian(Q), R_), step)
    bias, wanted = lipschitz + s.B * s.alpha * s.L * X, lipschitz + s.B * (E - 1)
    of_m, *_ = each.bias_of_mean(bias, lambda _: (left_out,))
    proof.identity("power", 1 + s.alpha * s.L * X, E, ONE, "alpha L (1 + A + ... + A^(nu-1)) = A^nu - 1")
    closed = proof.part("bias of m, closed", M - R_, wanted, of_m, "power")
    bias_of_g = each.bias(g, each.mean(g, ZERO, turned=False), closed)
    noise = proof.suppose("noise", g - M, spread**HALF)
    proof.induction(noise, "g", "m", first=(*each.last_noise, "g, start", "m, start"))
    why = "given the path, the noise has mean 0: squares add"
    proof.claim("error", sq(g - R_) <= spread + wanted**2, "noise", closed[0], "mean is m", why=why)
    return proof.delivers("g", mu_F_FO=bias_of_g, sigma_F_FO="error")


# --- M5: differences in the place of Hessians --------------------------------------------------------------------------------


class HessianFree:
    """M5: a is the estimate with differences, and d what it is without noise."""

    def __init__(self, s: Reader):
        self.s, self.by_gradient, self.by_hessian = s, (s.sigma_G / s.delta) ** 2, s.sigma_H**2 * T
        moments = sequences_of(constants.corrected_v_HF, s, "v", "b", "T", POWER, along=H2)
        self.each = Estimate(s, *moments, PATH_SUM, SUM)
        self.run, self.proof = self.each.run, self.each.proof
        self.dg = self.proof.function("dg", "x -> x", "xi", role="local_gradient", per="")
        self.noise = self.difference(P, ESTIMATE, 0) - self.difference(P, ESTIMATE)

    def ends(self, point: Term, vector: Term, *sample: int) -> tuple[Term, Term]:
        """The gradients with the batch of a Hessian at both ends of a difference."""
        return self.dg(point + self.s.delta * vector, *sample), self.dg(point - self.s.delta * vector, *sample)

    def difference(self, point: Term, vector: Term, *sample: int) -> Term:
        """In the place of the Hessian times the vector."""
        plus, minus = self.ends(point, vector, *sample)
        return (plus - minus) / (2 * self.s.delta)

    def differenced(self, point: Term, supposed: Part) -> Part:
        """As `FineTuning.turned`."""
        by, vector, root = supposed
        turn = -self.s.alpha * self.difference(point, vector)
        lipschitz = self.proof.bound("L", *self.ends(point, vector))
        return self.proof.part(f"{by}, moved", turn, self.s.alpha * self.s.L * root, lipschitz, by)

    def left_over(self, point: Term, vector: Term, size: str) -> tuple[Term, str]:
        """What the central difference errs by, times -alpha, and the step that bounds it."""
        terms = *self.ends(point, vector), self.run.ddf(point)
        error = -self.s.alpha * self.difference(point, vector) - self.run.turn(vector, point)
        return error, self.proof.bound("rho", *terms, kind=CENTRAL_DIFFERENCE, sizes=(size,))

    def noises(self) -> None:
        """The noise of two gradients, and that of their difference, as both use one batch."""
        proof, (plus, minus), (up, down) = self.proof, self.ends(P, ESTIMATE, 0), self.ends(P, ESTIMATE)
        parts = (plus, plus - up), (minus, down - minus)
        sizes = [(proof.bound("sigma_G", at), noise, self.s.sigma_G) for at, noise in parts]
        both, *_ = proof.added("noise of two gradients", *sizes)
        proof.claim("noise, by gradients", sq(self.noise) <= self.by_gradient, both)
        proof.bound("sigma_H", plus, minus, name="noise of a difference")
        proof.independent(self.noise, "h", name="noise of a batch")

    def smaller(self, name: str, size: str) -> str:
        """The smaller of two bounds of the noise, for this second moment of the estimate."""
        other = self.proof.claim(
            f"{name}, by Hessians", sq(self.noise) <= self.by_hessian, "noise of a difference", size
        )
        bounds = ("noise, by gradients", self.by_gradient), (other, self.by_hessian)
        return self.proof.step(name, Smaller(sq(self.noise), bounds))

    def size(self) -> None:
        """The estimate has the second moment T, whatever the path is."""
        proof = self.proof
        supposed = proof.suppose("size", ESTIMATE, T**HALF)
        by = "noise of a batch", self.smaller("noise, supposed", supposed[0])
        first = proof.bound("B", self.run.df(END_P)), *self.each.last_noise, "a, start"
        parts = (self.differenced(P, supposed),)
        proof.induction(supposed, "a", *by, first=first, parts=parts, why=ORTHOGONAL)
        proof.step("size, given the path", Conditional("size", ESTIMATE, T, PATH))
        self.smaller("noise", "size")

    def noiseless(self) -> None:
        """Without noise the estimate is at most B A^t."""
        supposed = self.proof.suppose("size of d", NOISELESS, self.run.size)
        first, parts = ("gradient at q", "d, start"), (self.differenced(Q, supposed),)
        self.proof.sure("d sure", self.proof.induction(supposed, "d", first=first, parts=parts))

    def error(self) -> Part:
        """The estimate against that without noise; also by a difference at the wrong point of the path."""
        s, proof, d, root = self.s, self.proof, NOISELESS, v**HALF
        at_a, at_p, at_q = self.ends(P, ESTIMATE), self.ends(P, d), self.ends(Q, d)
        shift = proof.bound("rho", *at_p, *at_q, kind=SECOND_DIFFERENCE, sizes=("d sure",))
        shifted = -s.alpha * (self.difference(P, d) - self.difference(Q, d))
        parts = [proof.part("shifted", shifted, s.alpha * s.rho * self.run.size * H2.reversed**HALF, shift, "apart")]
        supposed = proof.suppose("error", ESTIMATE - d, root)
        for name, side, here, there in zip(("up", "down"), (-1, 1), at_a, at_p, strict=True):
            lipschitz, move = proof.bound("L", here, there), side * s.alpha / (2 * s.delta) * (here - there)
            parts.append(proof.part(name, move, s.alpha * s.L / 2 * root, lipschitz, supposed[0]))
        first = "jump", "end", *self.each.last_noise, "a, start", "d, start"
        by = "a", "d", "noise of a batch", "noise"
        return proof.induction(supposed, *by, first=first, parts=tuple(parts), why=ORTHOGONAL)

    def without_noise(self) -> Part:
        """What the differences add to the error: d against r."""
        s, proof, d = self.s, self.proof, NOISELESS
        off = s.alpha * s.rho * s.delta * s.B**2 / 2
        supposed = proof.suppose("error of d", d - R_, off * E / A * S)
        left, by = self.left_over(Q, d, "d sure")
        parts = self.run.turned(supposed, Q), proof.part("off", left, off * E**2, by)
        proof.identity("power", 1 + s.alpha * s.L * S, E, A, "1 + alpha L (1 + A + ... + A^(t-1)) = A^t")
        return proof.induction(supposed, "d", "r", "power", first=("d, start", "r, start"), parts=parts)

    def mean(self) -> Part:
        """Given the path, the estimate has nearly the mean m."""
        left, by = self.left_over(P, ESTIMATE, "size, given the path")
        root = self.s.alpha * self.s.rho * self.s.delta / 2 * T
        off = self.proof.part("mean off", Given(PATH, left), root, by)
        return self.each.mean(ESTIMATE, b, off)


def lemma_11(s: Reader) -> Loop:
    """M5."""
    free, a, d = HessianFree(s), ESTIMATE, NOISELESS
    each, proof = free.each, free.proof
    each.begins("a", a - s.alpha * free.run.places(free.difference(P, a, 0)))
    proof.moves("d", d - s.alpha * free.difference(Q, d), free.run.df(END_Q), sources=())
    free.noises()
    free.size()
    moved = each.apart()
    free.noiseless()
    sigma, *_ = proof.added("sigma", free.error(), free.without_noise())
    of_m, of_a = proof.expected("expected bias of m", each.along_path(moved)), proof.expected("distance", free.mean())
    bias, *_ = proof.added("bias", of_m, of_a)
    return proof.delivers("a", mu_F_HF=bias, sigma_F_HF=sigma)


# --- M6: heterogeneity -----------------------------------------------------------------------------------------------------


def paths_of_clients(s: Reader) -> Loop:
    """M6, step 1: u is the path of a client, v that of the mean f."""
    run = FineTuning(s, POWER, SUM, Sequence("N", ZERO, N + S), per="i")
    proof, mean = run.proof, run.clients(run.df(V))
    proof.moves("u", U - s.alpha * run.df(U), per="i")
    proof.moves("v", V - s.alpha * mean)
    proof.start("start", U - V)
    unlike = proof.bound("gamma_G", run.df(V))
    own = proof.part("own", -s.alpha * (run.df(V) - mean), s.alpha * s.gamma_G, unlike)
    supposed = proof.suppose("path", U - V, s.alpha * s.gamma_G * S)
    proof.induction(supposed, "u", "v", first=("start",), parts=(run.changed(U, V, supposed), own))
    proof.identity("power", 1 + s.alpha * s.L * S, E, A)
    return proof.delivers()


def lemma_7(s: Reader) -> Loop:
    """M6: a is the gradient through the path of a client, r that through the path of f, both from the end of the path on."""
    sequences = POWER, Sequence("k", ZERO, k + 1), Sequence("R", ZERO, R + SUM.reversed, ends="N")
    run = FineTuning(s, *sequences, before=paths_of_clients(s), along="uv", per="i")
    proof, a, df, mean = run.proof, ESTIMATE, run.df, run.clients(run.ddf(Q))
    run.through("a", P, END_P, "i")
    proof.moves("r", R_ - s.alpha * Act(mean, R_), run.clients(df(END_Q)))
    proof.sure("sure", run.size_of_r(mean=True))
    # where the paths end, and on the way back
    distance = s.alpha * s.gamma_G * S
    proof.along("end", "path", sq(U - V), distance**2, end=True)
    proof.along("apart", "path", sq(U - V), distance**2)
    proof.along("power", "power", Scalar(), E - 1 - s.alpha * s.L * S, end=True)
    lipschitz, jump = proof.bound("L", df(END_P), df(END_Q)), df(END_P) - df(END_Q)
    moved = proof.part("end, moved", jump, s.L * proof.numbers.at_end(distance), lipschitz, "end")
    unlike = proof.bound("gamma_G", df(END_Q)), df(END_Q) - run.clients(df(END_Q)), s.gamma_G
    ends, *_ = proof.added("end, apart", moved, unlike)
    size = s.gamma_G * POWER.end * E + s.alpha * run.size / A * (k * s.gamma_H + s.alpha * s.rho * s.gamma_G * R)
    supposed = proof.suppose("error", a - R_, size)
    by = proof.bound("gamma_H", run.ddf(Q), R_, sizes=("sure",))
    own = proof.part("unlike", -s.alpha * Act(run.ddf(Q) - mean, R_), s.alpha * s.gamma_H * run.size, by)
    parts = run.turned(supposed), own, run.wrong_point(s.alpha * s.gamma_G * SUM.reversed)
    proof.induction(supposed, "a", "r", first=(ends, "power", "a, start", "r, start"), parts=parts)
    why, squares = "what is subtracted is the same for all clients", (run.clients(a) - R_,)
    proof.claim("heterogeneity", sq(a - run.clients(a)) <= size**2, "error", squares=squares, why=why)
    return proof.delivers(terms="heterogeneity")
