"""Lipschitz gradients of compositions and of means."""

from __future__ import annotations

from ..author import MEAN, Act, Proof, Reader, Signomial, Term, Written, functions_in, sq

Part = tuple[Signomial, tuple[str, ...]]


def smooth_composition(
    proof: Proof,
    jacobian: Written,
    outer: Written,
    constant: Signomial,
    first: Part,
    second: Part,
    *,
    points: tuple[Term, Term],
    wrap: Written = lambda term: term,
    name: str = "smooth client",
    squares: tuple[Term, ...] = (),
    rest: tuple[tuple[str, Term, Signomial], ...] = (),
) -> str:
    """The gradient x -> J(x) h(x), in expectation by `wrap`, is Lipschitz: by the two differences of a product.

    Args:
        first: a, with ||J(v) (h(v) - h(w))|| <= a ||v - w|| by these steps, the first of which bounds the Jacobian.
        second: b, with ||(J(v) - J(w)) h(w)|| <= b ||v - w|| by these steps.
        constant: at least a + b + c. points: v and w. squares: vectors whose squared norms the two steps may leave out.
        rest: what else is added to the gradient: (step, its difference, c), with ||difference|| <= c ||v - w|| by the step.
    """
    v, w = points
    gap, change = sq(v - w), outer(v) - outer(w)
    (a, (moment, *lipschitz)), (b, reasons) = first, second
    by_outer, by_jacobian = wrap(Act(jacobian(v), change)), wrap(Act(jacobian(v) - jacobian(w), outer(w)))
    action = proof.act(moment, change)
    one = proof.claim(f"{name}, outer part", sq(by_outer) <= a**2 * gap, action, *lipschitz, squares=squares)
    other = proof.claim(f"{name}, inner part", sq(by_jacobian) <= b**2 * gap, *reasons, squares=squares)
    parts = proof.triangle(f"{name}, parts", gap, (one, by_outer, a), (other, by_jacobian, b), *rest)
    whole = sum((difference for _, difference, _ in rest), by_outer + by_jacobian)
    return proof.claim(name, sq(whole) <= constant**2 * gap, parts)


def smooth_composite(
    proof: Proof, s: Reader, maps: tuple[Written, Written, Written], symbols: str, points: tuple[Term, Term]
) -> str:
    """`smooth client`: x -> dg(x) df(g(x)) is Lipschitz with the constant of the last symbol, by bounds of df and dg in the mean.

    Args:
        maps: g, dg and df. symbols: that bounds df, that bounds its changes, the same two of dg, and what comes out.
        points: v and w.
    """
    g, dg, df = maps
    size, change, of_jacobian, of_changes, _ = symbols.split()
    B_f, L_f, B_g, L_g, constant = (getattr(s, name) for name in symbols.split())
    v, w = points

    def outer(x: Term) -> Term:
        return df(g(x))

    proof.bounded(size, functions_in([outer(v)]), per=MEAN)
    lipschitz = proof.bound(change, outer(v), outer(w)), proof.bound(of_jacobian, g(v), g(w), per=MEAN)
    first = B_g**2 * L_f, (proof.bound(of_jacobian, dg(v), per=MEAN), *lipschitz)
    second = B_f * L_g, (proof.bound(of_changes, dg(v), dg(w), outer(w)),)
    return smooth_composition(proof, dg, outer, constant, first, second, points=points)


def smooth_mean(proof: Proof, clients: Written, gradient: Written, constant: Signomial, client: str) -> str:
    """`smooth`: the mean over the clients of their gradients changes by no more than those do, at free points p and r."""
    p, r = proof.points
    change = gradient(p) - gradient(r)
    return proof.claim("smooth", sq(clients(change)) <= constant**2 * sq(p - r), client, why="Jensen over the clients")
