"""FedDRO: what a reader finds. Each check is exact (Fractions, or ball arithmetic where a square root is needed)."""

from __future__ import annotations

from fractions import Fraction as Q

import sympy as sp

from ...audit.findings import Evidence, confirm, read_findings
from ...audit.refuted import kept
from ...proof.certificates import prove_nonnegative
from ...registry import get_theorem as theorem

# --- the main constants ----------------------------------------------------------------------------------------------


def lost_factor_twenty() -> Evidence:
    """Lbar_fg against the coefficients of Theorem F.6 (both as declared), at L_h = B_g = 0 up to scale."""
    printed = theorem("feddro.theorem_f_1").statement("printed")
    chain = theorem("feddro.theorem_f_6").statement("printed")
    notation = theorem("feddro.theorem_5_1").notation.namespace()
    lbar = printed.expand(printed.constant("Lbar_fg").expr)
    middle = lbar.coeff(notation.B_f**2 * notation.L_g**2)
    long = chain.term("heterogeneity_h").expr
    at_unit = {s: 1 for s in long.free_symbols} | {notation.L_h: 0, notation.B_g: 0, notation.I: 2, notation.L_f: 0}
    from_lemma = Q(int(long.subs(at_unit)), 3)
    return confirm(int(middle) == 1 and from_lemma == 20, defined_with=int(middle), theorem_f_6_gives=str(from_lemma))


def small_inner_lipschitz() -> Evidence:
    """beta = 4 B_g^4 L_f^2 eta cannot absorb the inner error 4 B_g^2 L_f^2 eta of the true Lemma F.2 when B_g < 1."""
    b_g, l_f, eta = Q(1, 2), Q(1), Q(1, 10)
    beta = 4 * b_g**4 * l_f**2 * eta
    left_over = (1 - beta) ** 2 - 1 + 4 * b_g**2 * l_f**2 * eta
    return confirm(left_over > 0, B_g=str(b_g), coefficient_of_inner_error=str(left_over))


def wrong_start() -> Evidence:
    """Inner values in a unit a thousand times larger, everything else the same."""
    case, (left, _), (_, right) = kept("feddro.theorem_5_1")
    return confirm(left > right, B_g=str(case.values["B_g"]), left=float(left), printed_bound=float(right))


# --- independence and communication ----------------------------------------------------------------------------------


def same_sample_twice() -> Evidence:
    """E[grad g(x; z) f'(ybar)] differs from grad g(x) E[f'(ybar)] because ybar was made from the same z.

    K = b = d = 1, g(x; z) = (1 + z) x near x = 1 with z = +-1/2, f' (y) = y / (1 + y^2), first step (x^{-1} = x^0), beta = 1/2,
    so that ybar = (1 - beta) + beta (1 + z).
    """
    beta, support = Q(1, 2), (Q(1, 2), Q(-1, 2))

    def slope(y: Q) -> Q:
        return y / (1 + y * y)

    ybar = {z: (1 - beta) + beta * (1 + z) for z in support}
    true = sum((1 + z) * slope(ybar[z]) for z in support) / 2
    claimed = sum(slope(ybar[z]) for z in support) / 2
    return confirm(
        true != claimed, expectation=str(true), as_if_independent=str(claimed), difference=str(true - claimed)
    )


def estimate_jumps_at_communication() -> Evidence:
    """Both sides of Lemma F.4 at a communication step: from 0 the clients drift to -+eta (I-1), and are then set to 0.

    g_k(x; z) = z x / (1 + x^2) with z = +-1: mean-square Lipschitz with B_g = 1, both variances at most 1; f = 0 and h_k = +-x.
    """
    case, (left, _), (_, right) = kept("feddro.lemma_f_4")
    return confirm(left > right, I=case.values["I"], left=float(left), right=float(right), ratio=float(left / right))


def average_over_other_iterates() -> Evidence:
    """T = 1: the algorithm returns xbar^1, the proof bounds the gradient at xbar^0. Phi(x) = x^2/2 near 1, eta = 1/2."""
    start, eta = Q(1), Q(1, 2)
    proof_side, returned = start**2, (start - eta * start) ** 2
    return confirm(proof_side != returned, proof_bounds=str(proof_side), algorithm_returns=str(returned))


def lost_square() -> Evidence:
    """Two clients pulled apart by h = +-x, one local step of 1/100 without noise: the left side is 1/100, its square 1/10000."""
    eta, pull = Q(1, 100), Q(1)
    apart = eta * pull
    zeros = dict.fromkeys(("L_h", "L_g", "B_f", "sigma_h", "sigma_g", "Delta_g", "consensus_sum"), 0)
    values = {**zeros, "Delta_h": pull, "eta": eta, "I": 2, "b": 1, "elapsed": 1}
    statement = theorem("feddro.lemma_f_3").statement("printed")
    right = sum((term.expr for term in statement.terms), sp.Integer(0)).subs(
        {binding.symbol: sp.Rational(str(values[name])) for name, binding in statement.symbols.items()}
    )
    fact = apart > Q(str(right)) >= apart**2
    return confirm(fact, left=str(apart), its_square=str(apart**2), right=str(right))


def long_rounds(claim: str = "feddro.theorem_5_1.long_rounds") -> Evidence:
    """Both sides with rounds as long as Corollary 1 allows, and the right start."""
    case, (left, _), (_, right) = kept(claim)
    return confirm(left > right, I=case.values["I"], left=float(left), printed_bound=float(right))


def long_rounds_orders() -> Evidence:
    """The same at T = 8 I^4 against a thousand times the constants of Corollary 1."""
    return long_rounds("feddro.corollary_2")


def unshared_clients() -> Evidence:
    """Averaging K copies of one noise leaves the variance alone: the 1/K of Term II needs independent clients."""
    support = (Q(1), Q(-1))
    shared = sum(((z + z) / 2) ** 2 for z in support) / 2
    independent = sum(((a + b) / 2) ** 2 for a in support for b in support) / 4
    return confirm(shared == 1 and independent == Q(1, 2), same_noise=str(shared), independent_noise=str(independent))


# --- reformulations --------------------------------------------------------------------------------------------------


def chi_square_sign() -> Evidence:
    """max_p sum p_i l_i - lambda (m/2) sum (p_i - 1/m)^2 for l = (0, 1), lambda = 10, against the printed objective (5)."""
    losses, lam, m = (Q(0), Q(1)), Q(10), 2
    mean = sum(losses, Q(0)) / m
    variance = sum((l - mean) ** 2 for l in losses) / m

    def inner(shift: Q) -> Q:
        p = (Q(1, 2) - shift, Q(1, 2) + shift)
        return sum(a * b for a, b in zip(p, losses, strict=True)) - lam * Q(m, 2) * sum((a - Q(1, m)) ** 2 for a in p)

    best = inner(1 / (4 * lam))
    printed = -sum(l * l for l in losses) / (2 * lam * m) + mean**2 / (2 * lam)
    follows = mean + variance / (2 * lam)
    optimal = all(best >= inner(1 / (4 * lam) + d) for d in (Q(1, 100), Q(-1, 100)))
    return confirm(
        optimal and best == follows and printed == -variance / (2 * lam),
        maximum=str(best),
        printed_objective=str(printed),
    )


def kl_lost_factor() -> Evidence:
    """The value of the KL problem is lambda log mean exp(l/lambda): with constant losses l it is l, the printed one l/lambda."""
    loss, lam = Q(3), Q(2)
    true, printed = loss, loss / lam
    return confirm(true == lam * printed and true != printed, maximum=str(true), printed_objective=str(printed))


# --- Theorem 4.1 -----------------------------------------------------------------------------------------------------


def sign_before_13() -> Evidence:
    """x / sqrt(x^2 + 4) < 1/2 on [1/2, 11/10] (it increases): the proof states the opposite inequality before (13)."""
    squares = {x: x * x / (x * x + 4) for x in (Q(1, 2), Q(11, 10))}
    return confirm(all(s < Q(1, 4) for s in squares.values()), squares={str(x): str(s) for x, s in squares.items()})


def varying_steps_escape() -> Evidence:
    """Case II with eta^t = a on the shared step and a 2^-n after it (all below 1/22): xbar falls below 1/2, in ball arithmetic."""
    case, (level, _), (_, end) = kept("feddro.theorem_4_1")
    return confirm(level > end and all(case.facts.values()), level=str(level), xbar_at_end=float(end))


# --- printed claims that hold: the docstring is the argument, and the function checks it ---


def modified_fedavg() -> Evidence:
    """The corrected statement with eta = 1/(54 (L_Phi + B_f L_g) sqrt(T)): its conditions hold for I <= T^{1/4} and every T >= 1,
    and both of its terms tend to 0."""
    item = theorem("feddro.theorem_4_2")
    corrected, s = item.statement("corrected"), item.notation.namespace()
    smooth = corrected.constant("L_Phi").symbol
    eta = 1 / (54 * (smooth + s.B_f * s.L_g) * sp.sqrt(s.T))
    longest = {s.eta: eta, s.I: s.T ** sp.Rational(1, 4)}
    horizon = sp.Symbol("horizon", positive=True)  # T as a real number, for the limits

    def at(expr: sp.Expr) -> sp.Expr:
        return expr.xreplace(longest).xreplace({s.T: horizon})

    sums = [sp.limit(at(term.expr), horizon, sp.oo) for term in corrected.terms]
    # eta I <= 1/(54 B_f L_g T^{1/4}) and eta <= 1/(54 L_Phi) are largest at T = 1
    rooms = [at(condition.slack).xreplace({horizon: sp.Integer(1)}) for condition in corrected.conditions]
    certified = all(prove_nonnegative(room) is not None for room in rooms)
    return confirm(all(value == 0 for value in sums) and certified, limits=[str(value) for value in sums])


def vanilla_fedavg() -> Evidence:
    """The corrected statement has the clients of the paper's proof, and longer steps; as there, the step size stays within each round.
    Where it varies within a round other clients satisfy the letter, g_k(x) = x and f(y) = 1/(1 + y^2) from x_0 = 1/2: every step of
    gradient descent leads away from the stationary point 0."""
    item = theorem("feddro.theorem_4_1")
    limits = {label: [c.expr for c in item.statement(label).derived[:2]] for label in ("printed", "corrected")}
    shorter = all(p < c for p, c in zip(limits["printed"], limits["corrected"], strict=True))
    y = sp.Symbol("y", positive=True)
    slope, bend = (sp.diff(1 / (1 + y**2), y, order) for order in (1, 2))
    falls = slope.is_negative is True and sp.solveset(slope.subs(y, sp.Symbol("z", real=True)), domain=sp.S.Reals) == {
        0
    }
    smooth = prove_nonnegative(4 - slope**2) is not None and prove_nonnegative(4 - bend**2) is not None
    return confirm(
        bool(shorter) and falls and smooth,
        limits={label: [str(each) for each in found] for label, found in limits.items()},
        letter="f' < 0 on y > 0, and |f'| and |f''| are at most 2",
    )


HOLDS = (("theorem_4_1", "printed", vanilla_fedavg), ("theorem_4_2", "printed", modified_fedavg))

FINDINGS, SECOND_READING = read_findings(vars())
