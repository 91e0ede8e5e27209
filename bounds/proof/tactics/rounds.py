"""Clients that step by themselves and take the mean of their models at a communication."""

from __future__ import annotations

from ..author import Proof, Signomial, Term, Var, Written


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
