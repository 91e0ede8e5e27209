"""A set of clients that takes part."""

from __future__ import annotations

from ..author import Act, Proof, Term
from ..kernel import Sum


class RandomSet:
    """A uniform set of clients, drawn at each step by an entry of the list; `r` is the share of the clients that are in it."""

    def __init__(self, proof: Proof, entry: str, per: str = "n"):
        proof.source("set", "", entry)
        self.proof, self.weights = proof, proof.function("chosen", "x -> (x, x)", "set", role="random_set", per=per)

    def of(self, term: Term, drawn: int | None = 0) -> Term:
        """What a client contributes to the mean over the set of a step: n/m times the term, 0 outside it; over all sets for None."""
        return Act(self.weights(Sum(()), drawn), term)

    def mean(self, term: Term, name: str = "everybody in the mean") -> str:
        """The mean over all sets is that over all clients."""
        return self.proof.bound("r", self.of(term, None), of="chosen", name=name)

    def spread(self, term: Term, name: str = "sampled") -> str:
        """How far the mean over a set is from that."""
        return self.proof.bound("r", self.of(term), of="chosen", name=name)
