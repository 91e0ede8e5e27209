"""Each hole of the kernel opened again, alone: the rules accept the attack, and the second lock by itself does not.

`holes.py` has the attacks: whole derivations of false statements, of strangers' theorems.
"""

from __future__ import annotations

import pytest
from fedco.bounds.proof.locks import Proof
from fedco.validation.proofs.lock import instances_of

holes = pytest.importorskip("holes")
QUICK = (2, 3, 6, 8, 11, 12, 13)
CAUGHT = range(1, 15)
"""All fourteen; at least twelve were wanted."""


def tried(hole: int):
    """What the rules say with the hole, what the instances say, and the claims that fail there."""
    with holes.reopened(hole):
        attack = holes.ATTACKS[hole]()
        with holes.by_rules_alone(attack):
            accepted, found = holes.verdict(attack), instances_of(attack.plan, attack.theorem)
    return accepted, found, [line for line in found.failed if not line.startswith("as declared: ")]


@pytest.mark.parametrize("hole", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in CAUGHT])
def test_the_instances_hold_where_one_hole_is_open(hole):
    """By a claim that is false on an instance; that the code of the method differs is not counted."""
    accepted, found, claims = tried(hole)
    assert accepted.checked, accepted.failure
    assert claims and (" against " in claims[0] or "schedule of" in claims[0]), found
    assert not Proof(accepted, found).checked


if __name__ == "__main__":
    print("| hole | attack | claims that fail | the first of them |\n|---|---|---|---|")
    for hole in CAUGHT:
        _, _, claims = tried(hole)
        first = claims[0] if claims else "none"
        print(f"| {hole} | {holes.ATTACKS[hole].__name__.replace('_', ' ')} | {len(claims)} | {first} |", flush=True)
