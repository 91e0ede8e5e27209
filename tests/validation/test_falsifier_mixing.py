"""Gossip: a matrix that is chosen has the gap that a statement speaks of; one that a theorem names has its own, and no more."""

from __future__ import annotations

from fractions import Fraction as Q
from typing import Any

import fedco
import pytest
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.registry import get_theorem
from fedco.user_files import trusting
from fedco.validation.exact.problem import Instance, exact_problem
from fedco.validation.falsifier.attack import falsify
from fedco.validation.falsifier.confirm import Claimed, Confirmed, NotConfirmed, sides
from fedco.validation.falsifier.declared import target_of
from searching import falsified, spaces_of

CURVATURES, CENTRES, FAR = (Q(1), Q(3), Q(1, 2), Q(2)), (Q(0), Q(2), Q(-1), Q(1)), 100


def on(**method: Any) -> Theorem:
    """The theorem of the library, its method with more words, such as a network that it names."""
    theorem = get_theorem("library.gossip_sgd")
    keys = {
        "id": "others.gossip",
        "problem": "federated",
        "symbols": {n: b.quantity.name for n, b in theorem.symbols("printed").items()},
        "terms": {
            "initialisation": "2*F_gap/(eta*T)",
            "variance": "L*eta*sigma**2/(N*b)",
            "consensus": "2*(1 - rho)**2*(1 - 1/N)*L**2*eta**2*sigma**2/(rho*b)",
            "heterogeneity": "6*(1 - rho)**2*L**2*eta**2*zeta**2/rho**2",
        },
        "conditions": {"step_size": "2*eta*L <= rho", "gap": "rho <= 1"},
        "method": {"name": "gossip_sgd", "eta": "eta", "tau": 1, "b": "b", **method},
    }
    return fedco.define(**keys)


def claim(theorem: Theorem, rho: Q, T: int = 3, **sizes: Q) -> Confirmed:
    """Four clients with the slopes curvature (x - centre), the first one with noise."""
    reach = [(c - FAR, c + FAR) for c in CENTRES]
    slopes = [[-h * FAR, h * FAR] for h in CURVATURES]
    noise = [Q(1), Q(0), Q(0), Q(0)]
    parts = {"knots": [list(r) for r in reach], "slopes": slopes, "gradient_noise": noise, "start": Q(5)}
    instance, target = Instance("federated", parts), target_of(theorem, "printed")
    true = exact_problem(instance).constants()
    constants = {n: true[b.quantity.name] for n, b in target.symbols.items() if b.quantity.role == "constant"}
    chosen = {"eta": Q(1, 20), "b": Q(1), "N": Q(4), "T": Q(T), "rho": rho, **sizes}
    return sides(target, Claimed(instance, constants, chosen))


def by_hand(W: list[list[Q]], T: int) -> Q:
    """The mean of the expected squared gradients at the mean model: a mean path, and what each of the signs of the first client does."""

    def stepped(x: list[Q], pushed: Q, pulled: bool = True) -> list[Q]:
        moved = [
            v - Q(1, 20) * (h * (v - c * pulled) + (pushed if i == 0 else 0))
            for i, (v, h, c) in enumerate(zip(x, CURVATURES, CENTRES, strict=True))
        ]
        return [sum(w * m for w, m in zip(row, moved, strict=True)) for row in W]

    def slope(x: list[Q], pulled: bool = True) -> Q:
        mean = sum(x) / 4
        return sum(h * (mean - c * pulled) for h, c in zip(CURVATURES, CENTRES, strict=True)) / 4

    path, signs, total = [Q(5)] * 4, [], Q(0)
    for _ in range(T):
        total += slope(path) ** 2 + sum(slope(each, pulled=False) ** 2 for each in signs)
        path, signs = stepped(path, Q(0)), [stepped(each, Q(0), pulled=False) for each in signs]
        signs.append(stepped([Q(0)] * 4, Q(1), pulled=False))
    return total / T


def towards_the_mean(rho: Q) -> list[list[Q]]:
    return [[(1 - rho) * (i == j) + rho / 4 for j in range(4)] for i in range(4)]


RING = [[Q(0) if abs(i - j) == 2 else Q(1, 3) for j in range(4)] for i in range(4)]


@pytest.mark.parametrize("rho", [Q(1, 3), Q(1)])
def test_the_left_side_is_that_of_a_matrix_with_this_gap(rho):
    expected = by_hand(towards_the_mean(rho), 3)
    assert claim(on(), rho).left == (expected, expected)


def test_the_left_side_of_a_named_network_is_that_of_its_matrix():
    expected = by_hand(RING, 3)
    assert claim(on(topology="ring"), Q(2, 3)).left == (expected, expected)
    assert claim(on(topology="ring"), Q(1, 2)).left == (expected, expected)  # a smaller gap is one that it has too


def test_a_gap_that_the_named_network_has_not_is_refused():
    with pytest.raises(NotConfirmed, match="rho: gossip_sgd with 4 clients has no spectral_gap of 667/1000"):
        claim(on(topology="ring"), Q(667, 1000))
    with pytest.raises(NotConfirmed, match="N: wanted 4, of which the theorem's matrix is one, got 8"):
        claim(on(topology="ring"), Q(2, 3), N=Q(8))
    with pytest.raises(NotConfirmed):
        claim(on(), Q(3, 2))


def test_groups_of_equal_clients_go_to_the_mean_of_all_as_one():
    assert claim(on(), Q(1, 3), N=Q(4000)).left[1] < claim(on(), Q(1, 3)).left[0]  # less noise


def test_a_round_that_leaves_the_models_apart_is_no_map_of_a_start():
    found = spaces_of(on())
    assert found and not any(space.stays for space in found)


def test_a_network_that_depends_on_a_symbol_is_not_searched():
    """With half of the way gone the gap is half of what the statement says; nothing here would notice."""
    found = falsify(on(topology="complete", gamma="rho/2"), seconds=1)
    assert found.outcome == "NOT_APPLICABLE" and "gamma = rho/2" in found.why[0]


def test_a_named_network_is_searched_with_the_gap_that_it_has():
    found = falsified(on(topology="ring"), seconds=0.1)
    assert found.outcome == "SURVIVED" and 0 < found.ratio <= 1


def test_two_numbers_of_one_matrix_are_not_searched():
    """A true theorem was refuted: its contraction and its gap were chosen apart, and the matrix had the last one."""
    keys = {
        "id": "others.two",
        "problem": "federated",
        "symbols": {**{n: b.quantity.name for n, b in on().symbols("printed").items()}, "lam": "mixing_contraction"},
        "terms": {
            "a": "2*F_gap/(eta*T)",
            "b": "L*eta*sigma**2/(N*b)",
            "c": "lam*L**2*eta**2*(sigma**2 + zeta**2)/rho**2",
        },
        "conditions": {"step_size": "2*eta*L <= rho"},
        "method": {"name": "gossip_sgd", "eta": "eta", "tau": 1, "b": "b"},
    }
    found = falsify(fedco.define(**keys), seconds=1)
    assert found.outcome == "NOT_APPLICABLE" and "numbers of one matrix" in found.why[0]


SILENT = """
from fractions import Fraction
from fedco.algorithms.baselines.gossip_sgd import GossipSGD

class Inheriting(GossipSGD):
    "Nobody talks, and how a matrix with a gap is chosen is said of another method."
    def after_round(self, problem, state, t):
        return state
    def mixing(self, clients):
        return tuple(tuple(Fraction(int(i == j)) for j in range(clients)) for i in range(clients))

class Boasting(Inheriting):
    "The same, and it says that it has any gap."
    def attaining(self, quantity, value):
        return self
"""


@pytest.mark.parametrize("name", ["Inheriting", "Boasting"])
def test_a_matrix_that_is_said_to_have_a_gap_is_asked(name, tmp_path):
    (tmp_path / "silent.py").write_text(SILENT)
    with trusting():
        theorem = on(name=f"{tmp_path / 'silent.py'}:{name}")
        with pytest.raises(NotConfirmed, match="with 4 clients has no spectral_gap of 1/3"):
            claim(theorem, Q(1, 3))


def test_a_method_without_a_matrix_has_no_gap():
    keys = {
        "id": "others.none",
        "problem": "federated",
        "symbols": {
            "L": "local_smoothness",
            "F_gap": "objective_gap",
            "eta": "step_size",
            "rho": "spectral_gap",
            "T": "iterations",
        },
        "terms": {"a": "2*F_gap/(rho*eta*T)"},
        "conditions": {"step": "eta*L <= 1"},
        "method": {"name": "local_sgd", "eta": "eta", "tau": 1, "b": 1},
    }
    found = falsify(fedco.define(**keys), seconds=1)
    assert found.outcome == "NOT_APPLICABLE" and "the method says of none what it has" in found.why[0]
