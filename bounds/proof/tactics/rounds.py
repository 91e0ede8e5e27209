"""Clients that step by themselves: the mean of their models at a communication, noise that is averaged, a set that takes part."""

from __future__ import annotations

from ..author import ONE, Act, Mean, Proof, Signomial, Term, Var, Written, sq
from ..kernel import Sum


def averaged_rounds(
    proof: Proof, clients: Written, step: Signomial, direction: Term, entry: str, model: str = "x", index: str = "n"
) -> None:
    """For a model that moves by -step * direction and is averaged at communications.

    `apart`: how the models part at local steps; `agree`: they are one after a communication; `mean`: the mean model always
    moves by the mean direction; and the start, under the entry of the list that says that all clients start alike.
    """
    x, after = Var(model), Var(model, 1)

    def away(term: Term) -> Term:
        return term - clients(term)

    local, averaged = proof.update(model, "local"), proof.update(model, "communication")
    local_mean, averaged_mean = proof.mean(local, index), proof.mean(averaged, index)
    proof.zero("apart", away(after) - away(x) + step * away(direction), local, local_mean)
    proof.zero("agree", away(after), averaged, averaged_mean)
    proof.start(entry, away(x))
    together = clients(after) - clients(x) + step * clients(direction)
    proof.cases(
        "mean", proof.zero("mean, local", together, local_mean), proof.zero("mean, averaged", together, averaged_mean)
    )


def variance_of_mean(
    proof: Proof, name: str, noise: Term, over: str, variance: Signomial, *by: str, why: str = ""
) -> str:
    """||mean z||^2 <= variance / number: noise that is independent over each of the indices, the last one inside.

    ||z||^2 <= variance follows from the steps in `by`.
    """
    inner, number, reasons = noise, ONE, []
    for index in reversed(over.split()):
        reasons.append(proof.independent(inner, index))
        inner, number = Mean(index, inner), proof.size(index) * number
    return proof.claim(name, sq(inner) <= variance / number, *reasons, *by, why=why)


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
