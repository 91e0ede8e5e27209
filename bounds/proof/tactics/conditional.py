"""The conditional problem, F_n(x) = E_xi f_xi(E_eta g(x; xi, eta)): gradients through inner batches, and how far they are off."""

from __future__ import annotations

from typing import Any

from ..author import MEAN_SQUARE, Act, Proof, Reader, Signomial, Term, Written, sq
from .smoothness import smooth_composition


class Conditional:
    """The functions of N clients, with b outer samples of m inner samples each, and what is known of them at points without an index.

    Args:
        symbols: those that bound df, its changes, dg, its changes, the noise of g, and the changes of grad F.
        outer, inner: the entries by which the samples are independent. first: the outer batch size of the first step, where it is
            another one.
    """

    def __init__(
        self, proof: Proof, s: Reader, symbols: str, outer: str, inner: str, *, first: Signomial | None = None
    ):
        self.proof, self.s, self.symbols = proof, s, symbols.split()
        self.clients = proof.clients(s.N)
        self.batch, self.inner = proof.batch("i", s.b, outer, first), proof.batch("j", s.m, inner)
        proof.source("xi", "n i", outer)
        proof.source("eta", "n i j", inner)
        self.df = proof.function("df", "y -> dy", "xi", role="outer_gradient", mean_per="n")
        self.g = proof.function("g", "x -> y", "xi eta", role="inner_value", mean_per="n")
        self.dg = proof.function("dg", "x -> (x, dy)", "xi eta", role="inner_jacobian", mean_per="n")
        of_df, to_df, of_dg, _, noise, _ = (getattr(s, name) for name in self.symbols)
        self.product = of_df**2 * of_dg**2
        """Bounds the second moment of a stochastic gradient."""
        self.delta = of_dg**2 * to_df**2 * noise**2 / s.m
        """Bounds the squared bias of a stochastic gradient."""

    # --- vectors ----------------------------------------------------------------------------------------------------------

    def exact(self, x: Term) -> Term:
        """The gradient of f_xi at the mean of g."""
        return self.df(self.g(x, 0), 0)

    def drawn(self, x: Term) -> Term:
        """The gradient of f_xi at the mean of an inner batch."""
        return self.df(self.inner(self.g(x, 0, 0)), 0)

    def sampled(self, x: Term) -> Term:
        """The stochastic gradient for one outer sample and m inner samples."""
        return Act(self.inner(self.dg(x, 0, 0)), self.drawn(x))

    def plug_in(self, x: Term) -> Term:
        """Its mean, the gradient of what the samples are of."""
        return self.proof.given(self.sampled(x))

    def gradient(self, x: Term) -> Term:
        """grad F_n."""
        return self.proof.given(Act(self.dg(x, 0), self.exact(x)))

    # --- assumptions ------------------------------------------------------------------------------------------------------

    def jacobian(self, x: Term, *drawn: int) -> str:
        """The second moment of the Jacobian at a point."""
        return self.proof.bound(self.symbols[2], self.dg(x, *drawn), per=MEAN_SQUARE, given=self.proof.past)

    def batch_jacobian(self, x: Term) -> str:
        """The same for the mean of an inner batch."""
        return self.proof.jensen(self.jacobian(x, 0, 0), "j")

    # --- arguments --------------------------------------------------------------------------------------------------------

    def smooth_gradient(
        self, name: str, v: Term, w: Term, *, with_batch: bool = True, for_samples: bool = False
    ) -> str:
        """||G(v) - G(w)||^2 <= S^2 ||v - w||^2 for a gradient G: by the two differences of a product.

        Args:
            with_batch: through an inner batch; else through the means over it. for_samples: with the same samples at both points, in
                mean square; else for the mean given the past.
        """
        proof, g, dg = self.proof, self.g, self.dg
        of_df, to_df, of_dg, to_dg, _, smooth = (getattr(self.s, name) for name in self.symbols)
        steep, bent, lipschitz, curved, *_ = self.symbols
        used: dict[str, Any] = {} if for_samples else {"per": MEAN_SQUARE}
        outer: Written = self.drawn if with_batch else self.exact
        samples, average = ((0, 0), self.inner) if with_batch else ((0,), lambda term: term)
        proof.bounded(steep, "df")
        changes = (
            proof.bound(bent, outer(v), outer(w)),
            proof.bound(lipschitz, g(v, *samples), g(w, *samples), **used),
        )
        if for_samples:
            moment = proof.jensen(proof.bound(lipschitz, dg(v, 0, 0)), "j")
        else:
            moment = self.batch_jacobian(v) if with_batch else self.jacobian(v, 0)
        second = Act(dg(v, *samples) - dg(w, *samples), outer(w))
        left_out = [g(v, *samples) - g(w, *samples)] * with_batch + [second] * for_samples
        return smooth_composition(
            proof,
            lambda x: average(dg(x, *samples)),
            outer,
            smooth,
            (to_df * of_dg**2, (moment, *changes)),
            (to_dg * of_df, (proof.bound(curved, dg(v, *samples), dg(w, *samples), outer(w), **used),)),
            points=(v, w),
            wrap=(lambda term: term) if for_samples else proof.given,
            name=name,
            squares=tuple(term - average(term) for term in left_out),
        )

    def bias(self, x: Term, jacobian: str, left: Term, *squares: Term) -> str:
        """`bias`: ||left||^2 <= delta, for the plug-in gradient less the gradient at a point, or the mean of that with `squares`."""
        proof, drawn, exact, (_, bent, _, _, noise, _) = self.proof, self.drawn(x), self.exact(x), self.symbols
        return proof.claim(
            "bias",
            sq(left) <= self.delta,
            proof.act(jacobian, drawn - exact, why="conditional Cauchy-Schwarz"),
            proof.bound(bent, drawn, exact),
            proof.independent(self.g(x, 0, 0) - self.g(x, 0), "j", given="xi"),
            proof.bound(noise, self.g(x, 0, 0)),
            squares=squares,
            why="E[grad ghat | xi] = grad g, so only the argument of grad f differs",
        )
