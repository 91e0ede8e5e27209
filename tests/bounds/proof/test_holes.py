"""No derivation of a false statement is accepted: the attacks that once were, and the kernel with one of their holes opened again.

With one hole open the rules accept the attack, and the second lock by itself does not.
"""

from __future__ import annotations

import pytest
from fedco.bounds.proof.locks import Proof
from fedco.validation.proofs.lock import instances_of
from holes import ATTACKS, MORE, by_rules_alone, outcome, reopened, verdict

WHY = {
    1: "what the first round adds",
    2: "p is not free: it stands in the update equation of q",
    3: "left over",
    4: "not certified to be nonnegative",
    5: "sigma is the name of a symbol",
    6: "differs over n, which it does not have",
    7: "first does not hold at every step",
    8: "left over",
    9: "'u - w' is no identifier",
    10: "'h2 reversed' is no identifier",
    11: "a source twice",
    12: "may be negative",
    13: "which is free",
    14: "N is another quantity",
    15: "no assumption says that its mean is the same over ['i']",
    16: "averaged over the point p",
    17: "is known earlier",
    18: "has fewer indices",
    19: "depends on samples on which no variable in it may depend",
    20: "is about another method",
    21: "which the corollary does not list",
}
ALL = ATTACKS | MORE


@pytest.mark.parametrize("hole", ALL, ids=lambda hole: f"{hole}_{ALL[hole].__name__}")
def test_a_false_statement_is_refused(hole):
    """By the rules alone for the reason of that hole; and where declarations are read off the statement."""
    found = outcome(hole)
    assert not found.accepted and WHY[hole] in found.failure, found.failure
    assert not outcome(hole, rules_alone=False).accepted


@pytest.mark.parametrize("hole", ATTACKS, ids=lambda hole: f"{hole}_{ATTACKS[hole].__name__}")
def test_the_attack_goes_through_that_hole_alone(hole):
    """With the hole open again the kernel accepts the false statement, so that the test above could fail; with another one it does not."""
    with reopened(hole):
        assert outcome(hole).checked, outcome(hole).failure
    with reopened(hole % len(ATTACKS) + 1):
        assert not outcome(hole).accepted


QUICK = (2, 3, 6, 8, 11, 12, 13)


@pytest.mark.parametrize("hole", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in ATTACKS])
def test_the_instances_hold_where_one_hole_is_open(hole):
    """By a claim that is false on an instance; that the code of the method differs is not counted."""
    with reopened(hole):
        attack = ATTACKS[hole]()
        with by_rules_alone(attack):
            accepted, found = verdict(attack), instances_of(attack.plan, attack.theorem)
    assert accepted.checked, accepted.failure
    claims = [line for line in found.failed if not line.startswith("as declared: ")]
    assert claims and (" against " in claims[0] or "schedule of" in claims[0]), found
    assert not Proof(accepted, found).checked
