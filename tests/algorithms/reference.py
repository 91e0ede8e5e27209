"""The methods once more, as plain loops over steps and clients written from the papers' pseudocode.

Nothing here is shared with the code under test: oracles work on one client and one sample at a time. Only the noise
comes from outside, ``noise(purpose, t, k, *tail)``: the numbers that client k draws at step t.
``sent`` counts what one client sends, where the pseudocode sends it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

NOISE, JACOBIAN_NOISE = 0.3, 0.2
P = 2  # inner dimension

Vector = np.ndarray
Draw = Callable[..., np.ndarray]


def mean(vectors: list[Vector]) -> Vector:
    return sum(vectors[1:], vectors[0]) / len(vectors)


def rate(eta, t: int) -> float:
    """eta_t: the number itself, or a / (t + t0) and its square root, t counted in groups of `every` steps."""
    if not hasattr(eta, "every"):
        return eta
    under = math.floor(t / eta.every) + eta.t0
    return eta.a / (math.sqrt(under) if eta.power == Fraction(1, 2) else under ** float(eta.power))


class Composite:
    """g_k, f_k and h_k of one client on one sample z; z None is the expectation."""

    def __init__(self, data) -> None:
        self.d, self.K = data, len(data.A)

    def g(self, k: int, x: Vector, z: Vector | None = None) -> Vector:
        y = np.array([np.sin(self.d.A[k][j] @ x) + self.d.c[k][j] for j in range(P)])
        return y if z is None else y + NOISE * z[:P] + JACOBIAN_NOISE * z[P : 2 * P] * x[0]

    def jacobian(self, k: int, x: Vector, z: Vector | None = None) -> Vector:
        J = np.array([np.cos(self.d.A[k][j] @ x) * self.d.A[k][j] for j in range(P)])
        if z is not None:
            J[:, 0] += JACOBIAN_NOISE * z[P : 2 * P]
        return J

    def grad_f_shared(self, y: Vector) -> Vector:
        return y / np.sqrt(1 + y**2)

    def grad_f_local(self, k: int, y: Vector, z: Vector | None = None) -> Vector:
        return self.d.w[k] * y / np.sqrt(1 + y**2) + (0 if z is None else NOISE * z[2 * P : 3 * P])

    def grad_h(self, k: int, x: Vector, z: Vector | None = None) -> Vector:
        return 2 * self.d.a[k] * x / (1 + x**2) + (0 if z is None else NOISE * z[3 * P :])


def oracles(data) -> Composite:
    """Those of the data; an object that has them itself, in fractions for instance, is taken as it is."""
    return data if hasattr(data, "jacobian") else Composite(data)


def fedavg(data, noise: Draw, x0: Vector, y0: Vector | None, T: int, eta, I, case="I", after_average="recompute"):
    """FedDRO paper, Algorithm 1 (h added to (6))."""
    o, sent = oracles(data), Counter()
    x = [x0.copy() for _ in range(o.K)]
    y = [o.g(k, x0) for k in range(o.K)]
    if case == "II":
        y = [mean(y)] * o.K
    if y0 is not None:
        y = [y0.copy() for _ in range(o.K)]
    path = [x]
    for t in range(T):
        x = [
            x[k] - rate(eta, t) * (o.grad_h(k, x[k]) + o.jacobian(k, x[k]).T @ o.grad_f_shared(y[k]))
            for k in range(o.K)
        ]
        y = [o.g(k, x[k]) for k in range(o.K)]
        if (t + 1) % I == 0:
            x = [mean(x)] * o.K
            sent.update(rounds=1, model=x0.size)
            if case == "II":
                y = [mean([o.g(k, x[k]) for k in range(o.K)])] * o.K
                sent.update(embedding=P)
            elif after_average == "recompute":
                y = [o.g(k, x[k]) for k in range(o.K)]
        path.append(x)
    return path, sent


def modified_fedavg(data, noise: Draw, x0: Vector, y0: Vector | None, T: int, eta, I):
    """Algorithm 1 with y_k^t = ybar^t at every step (Theorem 4.2)."""
    o, sent = oracles(data), Counter()
    x = [x0.copy() for _ in range(o.K)]
    path = [x]
    for t in range(T):
        ybar = mean([o.g(k, x[k]) for k in range(o.K)])
        sent.update(embedding=P)
        x = [
            x[k] - rate(eta, t) * (o.grad_h(k, x[k]) + o.jacobian(k, x[k]).T @ o.grad_f_shared(ybar))
            for k in range(o.K)
        ]
        if (t + 1) % I == 0:
            x = [mean(x)] * o.K
            sent.update(rounds=1, model=x0.size)
        path.append(x)
    return path, sent


def feddro(data, noise: Draw, x0: Vector, y0: Vector | None, T: int, eta, beta, I, b=1, first_update="keep"):
    """FedDRO paper, Algorithm 2."""
    o, sent = oracles(data), Counter()
    x = [x0.copy() for _ in range(o.K)]
    older = x
    ybar = mean([o.g(k, x0) for k in range(o.K)]) if y0 is None else y0.copy()
    path = [x]
    for t in range(T):
        batch = [noise("sample", t, k, b, 3 * P + x0.size) for k in range(o.K)]
        if t > 0 or first_update == "update":
            y = [
                (1 - rate(beta, t)) * (ybar - mean([o.g(k, older[k], z) for z in batch[k]]))
                + mean([o.g(k, x[k], z) for z in batch[k]])
                for k in range(o.K)
            ]
            ybar = mean(y)
            sent.update(embedding=P)
        gradient = [
            mean([o.grad_h(k, x[k], z) for z in batch[k]])
            + mean([o.jacobian(k, x[k], z) for z in batch[k]]).T @ o.grad_f_shared(ybar)
            for k in range(o.K)
        ]
        older, x = x, [x[k] - rate(eta, t) * gradient[k] for k in range(o.K)]
        if (t + 1) % I == 0:
            x = [mean(x)] * o.K
            sent.update(rounds=1, model=x0.size)
        path.append(x)
    return path, sent


def local_scgdm(data, noise: Draw, x0: Vector, y0: Vector | None, T: int, eta, alpha, beta, gamma, p, b=1):
    """Local-SCGDM paper, Algorithm 1."""
    o, sent = oracles(data), Counter()
    x = [x0.copy() for _ in range(o.K)]
    u, m = [None] * o.K, [None] * o.K
    path = [x]
    for t in range(T):
        x = list(x)
        for k in range(o.K):
            zeta = noise("sample", t, k, b, 3 * P + x0.size)
            g = mean([o.g(k, x[k], z) for z in zeta])
            u[k] = g if t == 0 else (1 - gamma * eta) * u[k] + gamma * eta * g
            J, grad = mean([o.jacobian(k, x[k], z) for z in zeta]), mean([o.grad_f_local(k, u[k], z) for z in zeta])
            z_t = J.T @ grad
            m[k] = z_t if t == 0 else (1 - alpha * eta) * m[k] + alpha * eta * z_t
            x[k] = x[k] - beta * eta * m[k]
        if (t + 1) % p == 0:
            u, m, x = [mean(u)] * o.K, [mean(m)] * o.K, [mean(x)] * o.K
            sent.update(rounds=1, model=2 * x0.size, embedding=P)
        path.append(x)
    return path, sent


def chosen(noise: Draw, t: int, K: int, m: int | None, purpose: str = "clients") -> list[int]:
    """The clients of the round that begins at step t."""
    return list(range(K)) if m is None else [i for i in range(K) if noise.subset(purpose, t, m)[i]]


def local_steps(
    gradient, noise: Draw, x0: Vector, K: int, T: int, eta, tau, m=None, update=None, numbers=0, subset="clients"
):
    """FedAvg: in every round each client takes tau steps x_i <- x_i - eta gradient(i, x_i, t), and those of the round share the mean.

    Those outside the round are followed too: the batched code keeps them, unheard.

    update: (server, models of all, clients of the round, last step) -> the server's next model; `numbers` are sent beside a model.
    """
    sent, server, path = Counter(), x0, [[x0] * K]
    for begin in range(0, T, tau):
        x, S = [server] * K, chosen(noise, begin, K, m, subset)
        for t in range(begin, min(begin + tau, T)):
            x = [x[i] - rate(eta, t) * gradient(i, x[i], t) for i in range(K)]
            path.append(x)
        if begin + tau <= T:
            server = update(server, x, S, begin + tau - 1) if update else mean([x[i] for i in S])
            path[-1] = [server] * K
            sent.update(rounds=1)
            sent["model"] += x0.size * Fraction(len(S), K)
            sent["embedding"] += numbers * Fraction(len(S), K)
    return path, sent


def comfedl(data, noise: Draw, w0: Vector, y0, T: int, eta, tau, b=1, b_1=1, m=None, problem_form="general"):
    """ComFedL paper, Algorithm 1, in the names of this package (inner g, outer f)."""
    o, size = oracles(data), 3 * P + w0.size

    def direction(i, w, t):
        B = noise("inner", t, i, b, size)
        g, J = mean([o.g(i, w, z) for z in B]), mean([o.jacobian(i, w, z) for z in B])
        outer = [None] if problem_form == "special" else noise("outer", t, i, b_1, size)
        return J.T @ mean([o.grad_f_local(i, g, z) for z in outer])

    return local_steps(direction, noise, w0, o.K, T, eta, tau, m)


class Conditional:
    """The estimate (3) for one outer sample and its m inner samples."""

    def __init__(self, data, noise: Draw, m: int) -> None:
        self.d, self.noise, self.m, self.N = data, noise, m, len(data.A)

    def batch(self, t: int, n: int, b: int) -> list[tuple[Vector, Vector]]:
        return list(zip(self.noise("outer", t, n, b, 2 * P), self.noise("inner", t, n, b, self.m, P), strict=True))

    def estimate(self, n: int, x: Vector, xi: Vector, etas: Vector) -> Vector:
        angle = self.d.A[n] @ x + 0.3 * xi[:P]
        g = mean([np.sin(angle) + NOISE * eta * (1 + 0.5 * x[0]) for eta in etas])
        J = np.cos(angle)[:, None] * self.d.A[n]
        J[:, 0] += mean([0.5 * NOISE * eta for eta in etas])
        return J.T @ ((self.d.w[n] + 0.3 * xi[P:]) * g / np.sqrt(1 + g**2))

    def gradient(self, n: int, x: Vector, batch: list[tuple[Vector, Vector]]) -> Vector:
        return mean([self.estimate(n, x, xi, etas) for xi, etas in batch])


def _conditional(
    data, noise: Draw, x0: Vector, T: int, alpha, q, m, b, B, update, sends, first_estimate="own", previous_model="own"
):
    """Algorithms 1 and 2 of the FCSG paper with the box's own time: u_1 first, then t = 1, …, T."""
    o, sent = data if hasattr(data, "batch") else Conditional(data, noise, m), Counter()
    everyone = range(o.N)
    x, older = [x0.copy() for _ in everyone], [None] * o.N
    u = [o.gradient(n, x[n], o.batch(0, n, B or b)) for n in everyone]
    path = [x]
    if first_estimate == "averaged":
        u = [mean(u)] * o.N
        if q > 1:  # with q = 1 the first step averages them anyway
            sent.update(rounds=1, model=sends * x0.size)
    for t in range(1, T + 1):
        if t % q == 0:
            ubar = mean(u)
            new = [mean([x[n] - rate(alpha, t - 1) * u[n] for n in everyone])] * o.N
            u = [ubar] * o.N
            sent.update(rounds=1, model=sends * x0.size)
        else:
            new = [x[n] - rate(alpha, t - 1) * u[n] for n in everyone]
        older, x = [mean(x)] * o.N if previous_model == "averaged" and t % q == 0 else x, new
        batches = [o.batch(t, n, b) for n in everyone]
        u = [update(u[n], partial(o.gradient, n, batch=batches[n]), x[n], older[n]) for n in everyone]
        path.append(x)
    return path, sent


def fcsg(data, noise: Draw, x0: Vector, y0, T: int, alpha, q, m, b=1, B=None):
    return _conditional(data, noise, x0, T, alpha, q, m, b, B, lambda u, gradient, x, older: gradient(x), 1)


def fcsg_m(data, noise: Draw, x0: Vector, y0, T: int, alpha, beta, q, m, b=1, B=None):
    def update(u, gradient, x, older):
        return (1 - beta) * u + beta * gradient(x)

    return _conditional(data, noise, x0, T, alpha, q, m, b, B, update, 2)


def acc_fcsg_m(
    data,
    noise: Draw,
    x0: Vector,
    y0,
    T: int,
    alpha,
    beta,
    q,
    m,
    b=1,
    B=None,
    first_estimate="own",
    previous_model="own",
):
    def update(u, gradient, x, older):
        return gradient(x) + (1 - beta) * (u - gradient(older))

    return _conditional(data, noise, x0, T, alpha, q, m, b, B, update, 2, first_estimate, previous_model)


class Task:
    """Stochastic gradient and Hessian of f_i, averaged over a batch of signs z = (z_1, z_2)."""

    def __init__(self, data) -> None:
        self.d, self.N = data, len(data.A)

    def gradient(self, i: int, w: Vector, batch: Vector) -> Vector:
        u, n = self.d.A[i] @ w, w.size
        exact = self.d.A[i].T @ (self.d.w[i] * u / np.sqrt(1 + u**2)) + self.d.a[i]
        return mean([exact + NOISE * z[:n] + JACOBIAN_NOISE * z[n:] * w for z in batch])

    def value(self, i: int, w: Vector) -> float:
        return float(self.d.w[i] @ np.sqrt(1 + (self.d.A[i] @ w) ** 2) + self.d.a[i] @ w + 20)

    def hessian(self, i: int, w: Vector, batch: Vector) -> Vector:
        u, n = self.d.A[i] @ w, w.size
        exact = self.d.A[i].T @ np.diag(self.d.w[i] * (1 + u**2) ** -1.5) @ self.d.A[i]
        return mean([exact + JACOBIAN_NOISE * np.diag(z[n:]) for z in batch])


def meta_fl(
    data,
    noise: Draw,
    w0: Vector,
    y0,
    T: int,
    beta,
    tau,
    D=1,
    D_H=None,
    m=None,
    variant="exact",
    delta=1e-3,
    nu=2,
    alpha=0.1,
):
    """Generalised meta FL paper, Algorithm 1 with the local updates of Algorithms 2, 3 and 4."""
    o, size = Task(data), 2 * w0.size
    D = [D] * (nu + 1) if isinstance(D, int) else list(D)
    D_H = D[:nu] if D_H is None else [D_H] * nu if isinstance(D_H, int) else list(D_H)

    def direction(i: int, w_in: Vector, t: int) -> Vector:
        w = [w_in]
        for l in range(1, nu + 1):
            w.append(w[l - 1] - alpha * o.gradient(i, w[l - 1], noise(f"gradient {l - 1}", t, i, D[l - 1], size)))
        d = o.gradient(i, w[nu], noise(f"gradient {nu}", t, i, D[nu], size))
        for l in range(1, nu + 1):
            batch = noise(f"hessian {nu - l}", t, i, D_H[nu - l], size)
            if variant == "exact":
                d = (np.eye(w0.size) - alpha * o.hessian(i, w[nu - l], batch)) @ d
            elif variant == "hessian_free":
                ahead, behind = o.gradient(i, w[nu - l] + delta * d, batch), o.gradient(i, w[nu - l] - delta * d, batch)
                d = d - alpha / (2 * delta) * (ahead - behind)
        return d

    return local_steps(direction, noise, w0, o.N, T, beta, tau, m, subset="agents")
