"""A bound of a sum of martingale differences that fails with a small probability."""

from __future__ import annotations

from dataclasses import dataclass

from ..assumptions import BoundedNoise
from ..facts import Inequality, Likely, State, inequality
from ..region import log_of_inverse
from ..scalars import Scalar, dot, scalar, sq, total
from ..signomial import ONE, ProofError, Signomial, is_positive, parameter
from ..terms import App, Given, Mean, Term
from .base import Rule
from .probability import independent


@dataclass(frozen=True)
class Martingale(Rule):
    """With probability 1 - delta, sum of <u_t, v_t> <= share/2 sum of ||u_t||^2 + c^2/(share m) log(1/delta), sums over t < T.

    u_t is known before step t, v_t after it: the mean of the noise of a sample, which is at most c for every outcome, over all indices that
    it has. Over those in `over`, of m values together, it is independent given the past; share > 0 is a constant.

    Proof, for c > 0. Given the past <u_t, v_t> is the mean of m independent numbers with mean 0, each at most c ||u_t|| in size. So for
    a = share m/c^2 Hoeffding's lemma gives E[exp(a <u_t, v_t>) | past] <= exp(a share/2 ||u_t||^2), and the exponential of a times the sum
    of <u_s, v_s> - share/2 ||u_s||^2 over s < t is a supermartingale that starts at 1. By Markov's inequality it exceeds 1/delta at T
    with a probability of at most delta. For c = 0 the left side is 0.

    delta is that of the statement, all of which one use takes; so there is one use in a derivation.

    Args:
        product, square: the quantities <u_t, v_t> and ||u_t||^2. vector: u_t.
        axiom: that the noise is bounded. sample: the value of a function, with its sample of step t, of which v_t is the noise.
    """

    product: str
    square: str
    vector: Term
    axiom: str
    sample: App
    over: tuple[str, ...]
    share: Signomial
    title = "martingale with bounded differences"

    def apply(self, state: State) -> Inequality:
        if state.failure is None:
            raise ProofError("a bound that fails with a probability: in a pathwise derivation only")
        if any(isinstance(mark, Likely) for fact in state.facts.values() for mark in fact.uses):
            raise ProofError(
                "a second bound that fails with the probability of the statement: together they fail more often"
            )
        axiom = state.axioms.get(self.axiom)
        if not isinstance(axiom, BoundedNoise):
            raise ProofError(f"{self.axiom}: wanted a bound of the noise of every sample")
        if not is_positive(self.share):
            raise ProofError(f"the share {self.share!r} may be 0 or negative")
        logarithm = log_of_inverse(state.failure)
        if logarithm in self.share.params:
            raise ProofError(
                f"the share {self.share!r} has {logarithm.name} in it, for which the second lock has no exact number"
            )
        uses = axiom.instance(state, (self.sample,)).uses | axiom.certified(state)
        noise, number, names = self._noise(state)
        self._known_before(state)
        self._means(state, self.product, dot(self.vector, noise))
        self._means(state, self.square, sq(self.vector))
        rest = axiom.constant**2 / (self.share * number) * parameter(logarithm.name)
        left, right = total(self.product), self.share / 2 * total(self.square) + scalar(rest)
        mark = Likely.of(left, right, state.failure)
        return inequality(state, left, right, uses | names | {mark}, phases=None)

    def _noise(self, state: State) -> tuple[Term, Signomial, frozenset[str]]:
        """v_t, the number of independent values of which it is the mean, and the assumptions by which they are.

        Raises:
            ProofError: it is not known after step t, or is not centred given the past; its values are not independent.
        """
        past, names = state.setting.past(), frozenset[str]()
        found: Term = self.sample - App(self.sample.function, self.sample.argument, (*self.sample.samples[:-1], None))
        indices = state.algebra.support(state.algebra.normal(found)).index
        for name in sorted(indices - set(self.over)):
            found = Mean(name, found)
        entry, number = state.algebra.normal(found), ONE
        if not state.algebra.support(entry).known <= state.setting.past(1):
            raise ProofError(f"{entry!r} is not known after step t")
        if (centre := state.algebra.normal(Given(past, entry))).parts:
            raise ProofError(f"not centred: its mean given the past is {centre!r}")
        if len(set(self.over)) != len(self.over):
            raise ProofError(f"an index twice in {self.over}")
        for name in self.over:
            names |= independent(state, entry, name, past)
            index = state.setting.index(name)
            if index.first is not None:
                raise ProofError(f"{name} has another size at step 0")
            found, number = Mean(name, found), number * index.size
        return found, number, names

    def _known_before(self, state: State) -> None:
        """Raises unless u_t is one vector that is known before step t."""
        vector = state.algebra.normal(self.vector)
        found = state.algebra.support(vector)
        if found.index:
            raise ProofError(f"{vector!r} differs over {sorted(found.index)}: wanted one vector")
        if not found.known <= state.setting.past():
            raise ProofError(f"{vector!r} is not known before step t")

    def _means(self, state: State, name: str, meaning: Scalar) -> None:
        """Raises unless a quantity is what the rule sums."""
        if name not in state.quantities or state.form(state.quantities[name].meaning) != state.form(meaning):
            raise ProofError(f"{name} is not {meaning!r}")
