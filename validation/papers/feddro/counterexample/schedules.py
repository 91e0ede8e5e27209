"""Step sizes that vary inside a round: the sequence that defeats the literal reading of Theorem 4.1 in case II.

The theorem claims non-convergence for *any* 0 < eta^t < C_eta. In case II the first step of a round is an exact
gradient step of Phi, because the shared embedding is g(xbar). Let round n use a at that step and split a 2^-n evenly
over the I - 1 others: every eta^t lies in (0, C_eta), yet
    xbar_{n+1} = xbar_n - a xbar_n / sqrt(xbar_n^2 + 4) + e_n,   |e_n| <= 3 a 2^-n,
so that |xbar_n| <= q^n / 2 + 3 a sum_{m < n} q^(n-1-m) 2^-m -> 0 with q = 1 - a / sqrt(5), as long as |xbar| <= 1,
which the sum of the e_n guarantees for a <= 1/12. Little of the instance was used: with `a` small enough the same
schedule gives grad Phi(xbar) -> 0 in case II wherever the paper's assumptions hold and Phi is bounded below.

Source: feddro, Theorem 4.1 (`for any 0 < eta^t < C_eta`), Algorithm 1 case II.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from .certificate import exact_ball, slope_ball, upper_fraction
from .instance import PAPER, PAPER_LEVEL, Case, Claim, local_gradients

#: Beyond this shared step the envelope's |xbar| <= 1 is not guaranteed: 1/2 + 3 a (1 + 1/2 + ...) <= 1 needs a <= 1/12.
LARGEST_SHARED_STEP = Fraction(1, 12)


@dataclass(frozen=True)
class ScheduleRefutation:
    """A run of case II with every step size in (0, eta_max) whose xbar tends to 0.

    `first_round_below`: the first communication round at which xbar is certified below 1/2. `final_bound`: a certified
    upper bound of |xbar| after `rounds` rounds, by arb. `envelope_bound`: what the closed formula gives there; that
    formula tends to 0 with the number of rounds, which proves convergence.
    """

    eta_max: Fraction
    shared_step: Fraction
    local_steps: int
    rounds: int
    first_round_below: int
    final_bound: Fraction
    envelope_bound: Fraction


def refute_varying_steps(eta_max: Fraction, local_steps: int = 2, rounds: int = 500) -> ScheduleRefutation:
    """Run the shrinking schedule below eta_max, in arb balls; ArithmeticError if xbar is never certified below 1/2."""
    if eta_max <= 0 or local_steps < 2:
        raise ValueError(f"wanted eta_max > 0 and local_steps >= 2, got {eta_max} and {local_steps}")
    shared_step = min(eta_max * Fraction(9, 10), LARGEST_SHARED_STEP)
    claim = Claim(Case.II, eta_max=eta_max, local_steps=local_steps)
    level = exact_ball(PAPER_LEVEL)
    lower, upper, first_below = level, level, 0
    for n in range(rounds):
        local_step = shared_step / 2**n / (local_steps - 1)
        lower = _one_round(claim, lower, shared_step, local_step).lower()  # the round is increasing in xbar: eta <= 1/8
        upper = _one_round(claim, upper, shared_step, local_step).upper()
        if not first_below and upper < level:
            first_below = n + 1
    if not (first_below and lower.is_finite() and upper.is_finite()):
        raise ArithmeticError(f"after {rounds} rounds xbar is not certified below 1/2: [{lower}, {upper}]")
    return ScheduleRefutation(
        eta_max=eta_max,
        shared_step=shared_step,
        local_steps=local_steps,
        rounds=rounds,
        first_round_below=first_below,
        final_bound=upper_fraction(abs(lower).max(abs(upper))),
        envelope_bound=envelope(shared_step, rounds),
    )


def envelope(shared_step: Fraction, rounds: int) -> Fraction:
    """q^n / 2 + 3 a (q^n - 2^-n) / (q - 1/2) with q = 1 - 4a/9 >= 1 - a/sqrt(5), rounded up: it tends to 0."""
    q = exact_ball(1 - shared_step * Fraction(4, 9))
    decay, halving = q**rounds, exact_ball(Fraction(1, 2**rounds))
    noise = exact_ball(3 * shared_step) * (decay - halving) / (q - exact_ball(Fraction(1, 2)))
    return upper_fraction(decay / 2 + noise)


def _one_round(claim: Claim, mean: arb, shared_step: Fraction, local_step: Fraction) -> arb:
    points = [mean] * PAPER.clients
    for step in range(claim.local_steps):
        eta = exact_ball(shared_step if step == 0 else local_step)
        gradients, _ = local_gradients(claim, points, step, slope_ball)
        points = [point - eta * gradient for point, gradient in zip(points, gradients, strict=True)]
    return sum(points[1:], points[0]) / PAPER.clients
