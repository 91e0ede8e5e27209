"""The baselines once more, as plain loops over steps and clients; the rules of ``reference.py`` hold here too."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from reference import Composite, Conditional, Draw, P, Task, Vector, mean, meta_fl, rate


def gradients(data, noise: Draw, size: int, b: int):
    """The gradient of client i's own loss at x on the batch that it draws at step t."""
    o = Task(data)
    return lambda i, x, t: o.gradient(i, x, noise("sample", t, i, b, 2 * size))


def chosen(noise: Draw, t: int, K: int, m: int | None) -> list[int]:
    """The clients of the round that begins at step t."""
    return list(range(K)) if m is None else [i for i in range(K) if noise.subset("clients", t, m)[i]]


def local_steps(gradient, noise: Draw, x0: Vector, K: int, T: int, eta, tau, m=None, update=None, numbers=0):
    """FedAvg: in every round each client takes tau steps x_i <- x_i - eta gradient(i, x_i, t), and those of the round share the mean.

    update: (server, models of all, clients of the round, last step) -> the server's next model; `numbers` are sent beside a model.
    """
    sent, server, path = Counter(), x0, [[x0] * K]
    for begin in range(0, T, tau):
        x, S = [server] * K, chosen(noise, begin, K, m)
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


def _blind(data, noise: Draw, size: int, b: int):
    """Gradient of the mean of f_k(g_k(x; z); z) over b single samples z, each drawn under a name of its own."""
    o = Composite(data)

    def gradient(k, x, t):
        samples = [noise(f"sample {i}", t, k, 1, 3 * P + size)[0] for i in range(b)]
        return mean([o.jacobian(k, x, z).T @ o.grad_f_local(k, o.g(k, x, z), z) for z in samples])

    return gradient


def local_sgd(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, b=1, m=None):
    """McMahan et al., Algorithm 1, on f_k(g_k(x; z); z)."""
    return local_steps(_blind(data, noise, x0.size, b), noise, x0, len(data.A), T, eta, tau, m)


def local_sgd_shared(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, b=1):
    o = Composite(data)

    def gradient(k, x, t):
        samples = [noise(f"sample {i}", t, k, 1, 3 * P + x0.size)[0] for i in range(b)]
        return mean([o.grad_h(k, x, z) + o.jacobian(k, x, z).T @ o.grad_f_shared(o.g(k, x, z)) for z in samples])

    return local_steps(gradient, noise, x0, o.K, T, eta, tau)


def local_sgd_conditional(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, b=1):
    o = Conditional(data, noise, 1)
    return local_steps(lambda n, x, t: o.gradient(n, x, o.batch(t, n, b)), noise, x0, o.N, T, eta, tau)


def local_sgd_meta(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, b=1, m=None):
    return local_steps(gradients(data, noise, x0.size, b), noise, x0, len(data.A), T, eta, tau, m)


def minibatch_sgd(data, noise: Draw, x0: Vector, y0, T: int, eta, b=1):
    """One machine with the samples of all clients: x <- x - eta (grad h + J^T grad f(g)), batch means in each place."""
    o, x, path = Composite(data), x0, [[x0] * len(data.A)]
    for t in range(T):
        samples = [(k, z) for k in range(o.K) for z in noise("sample", t, k, b, 3 * P + x0.size)]
        g, J = mean([o.g(k, x, z) for k, z in samples]), mean([o.jacobian(k, x, z) for k, z in samples])
        x = x - rate(eta, t) * (mean([o.grad_h(k, x, z) for k, z in samples]) + J.T @ o.grad_f_shared(g))
        path.append([x] * o.K)
    return path, Counter(rounds=T, model=T * x0.size, embedding=T * P)


def local_bsgd(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, m=1, b=1):
    """BSGD of Hu et al. at each client: m inner samples, b outer samples apart from them."""
    o = Composite(data)

    def gradient(k, x, t):
        inner, outer = noise("inner", t, k, m, 3 * P + x0.size), noise("outer", t, k, b, 3 * P + x0.size)
        g = mean([o.g(k, x, z) for z in inner])
        return mean([o.jacobian(k, x, z) for z in inner]).T @ mean([o.grad_f_local(k, g, z) for z in outer])

    return local_steps(gradient, noise, x0, o.K, T, eta, tau)


def local_bsgd_conditional(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, m=1, b=1):
    o = Conditional(data, noise, m)
    return local_steps(lambda n, x, t: o.gradient(n, x, o.batch(t, n, b)), noise, x0, o.N, T, eta, tau)


def minibatch_sgd_local(data, noise: Draw, x0: Vector, y0, T: int, eta, b=1):
    return local_bsgd(data, noise, x0, y0, T, eta, 1, m=b, b=b)


def minibatch_sgd_conditional(data, noise: Draw, x0: Vector, y0, T: int, eta, b=1, m=1):
    return local_bsgd_conditional(data, noise, x0, y0, T, eta, 1, m=m, b=b)


def minibatch_sgd_meta(data, noise: Draw, x0: Vector, y0, T: int, eta, b=1):
    """Every factor of the chain rule on a batch of its own."""
    return meta_fl(data, noise, x0, y0, T, eta, 1, D=b)


def minibatch_sgd_federated(data, noise: Draw, x0: Vector, y0, T: int, eta, b=1):
    """A mean of steps from one model is a step along the mean."""
    return local_sgd_meta(data, noise, x0, y0, T, eta, 1, b)


def local_scgd(
    data, noise: Draw, x0: Vector, y0, T: int, eta, gamma, p, b=1, inner_value="new", outer_sample="independent"
):
    """Gao et al., equation (2), at each client; x and u are averaged every p steps."""
    o, sent, path = Composite(data), Counter(), [[x0] * len(data.A)]
    x, u = list(path[0]), [None] * o.K
    for t in range(T):
        for k in range(o.K):
            xi = noise("sample", t, k, b, 3 * P + x0.size)
            zeta = xi if outer_sample == "same" else noise("outer", t, k, b, 3 * P + x0.size)
            g, J = mean([o.g(k, x[k], z) for z in xi]), mean([o.jacobian(k, x[k], z) for z in xi])
            u_t = g if u[k] is None else u[k]
            u[k] = (1 - rate(gamma, t)) * u_t + rate(gamma, t) * g
            at = {"new": u[k], "old": u_t}[inner_value]
            x[k] = x[k] - rate(eta, t) * J.T @ mean([o.grad_f_local(k, at, z) for z in zeta])
        if (t + 1) % p == 0:
            x, u = [mean(x)] * o.K, [mean(u)] * o.K
            sent.update(rounds=1, model=x0.size, embedding=P)
        path.append(list(x))
    return path, sent


def scgd(data, noise: Draw, x0: Vector, y0, T: int, **settings):
    return local_scgd(data, noise, x0, y0, T, p=1, **settings)


def gcivr(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, b=1, B=None):
    """Zhang and Xiao, Algorithm 1, with the same estimator for grad h, on the pooled samples of the clients."""
    o, x, older, path = Composite(data), x0, None, [[x0] * len(data.A)]
    for t in range(T):
        epoch = t % tau == 0
        pool = []
        for k in range(o.K):
            is_exact = epoch and B is None
            purpose, size = ("epoch", B) if epoch else ("sample", b)
            drawn = [None] if is_exact else list(noise(purpose, t, k, size, 3 * P + x0.size))
            pool += [(k, z) for z in drawn]

        def over(oracle, at, pool=pool):
            return mean([oracle(k, at, z) for k, z in pool])

        if epoch:
            y, J, u = over(o.g, x), over(o.jacobian, x), over(o.grad_h, x)
        else:
            y = y + over(o.g, x) - over(o.g, older)
            J = J + over(o.jacobian, x) - over(o.jacobian, older)
            u = u + over(o.grad_h, x) - over(o.grad_h, older)
        older, x = x, x - rate(eta, t) * (u + J.T @ o.grad_f_shared(y))
        path.append([x] * o.K)
    return path, Counter(rounds=T, model=T * x0.size, embedding=T * P)


def per_fedavg(data, noise: Draw, x0: Vector, y0, T: int, beta, tau, D=1, D_H=None, m=None):
    """Fallah et al., Algorithm 1: one step of fine-tuning."""
    first, second = (D, D) if isinstance(D, int) else D
    return meta_fl(data, noise, x0, y0, T, beta, tau, D=(first, second), D_H=D_H or first, m=m, nu=1)


def local_moml(
    data,
    noise: Draw,
    x0: Vector,
    y0,
    T: int,
    eta,
    beta,
    tau,
    b=1,
    b_0=None,
    m=None,
    memory="reset",
    variant="exact",
    alpha=0.1,
):
    o, size, u = Task(data), 2 * x0.size, {}

    def direction(i, w, t):
        if t == 0 or (t % tau == 0 and memory == "reset"):
            u[i] = w - alpha * o.gradient(i, w, noise("memory", t, i, b_0 or b, size))
        tuned = w - alpha * o.gradient(i, w, noise("support", t, i, b, size))
        u[i] = (1 - beta) * u[i] + beta * tuned
        d = o.gradient(i, u[i], noise("query", t, i, b, size))
        H = o.hessian(i, w, noise("hessian", t, i, b, size)) if variant == "exact" else np.zeros((x0.size, x0.size))
        return (np.eye(x0.size) - alpha * H) @ d

    return local_steps(direction, noise, x0, o.N, T, eta, tau, m)


def onto_simplex(v: list[float]) -> list[float]:
    """Michelot's projection: shift the entries that are left to sum 1, drop those that are not positive, repeat."""
    left = set(range(len(v)))
    while True:
        shift = (sum(v[i] for i in left) - 1) / len(left)
        dropped = {i for i in left if v[i] <= shift}
        if not dropped:
            return [v[i] - shift if i in left else 0.0 for i in range(len(v))]
        left -= dropped


def _drfa(gradient, loss, noise: Draw, x0: Vector, N: int, T: int, eta, gamma, tau, m):
    """Deng et al., Algorithm 1. The server's random numbers are those of client 0."""
    m, sent, path = m or N, Counter(), [[x0] * N]
    weights, shared = [1 / N] * N, x0
    for s in range(-(-T // tau)):
        start = s * tau
        numbers = noise.uniform("clients", start, 0, m)
        stepping = []
        for number in numbers:
            i, left = 0, number * math.fsum(weights)
            while i < N - 1 and left >= weights[i]:
                left -= weights[i]
                i += 1
            stepping.append(i)
        moment = noise.integers("moment", start, 0, tau) + 1  # t' - s tau, counts finished steps
        x, snapshot = [shared] * N, None
        for j in range(min(tau, T - start)):
            x = [x[i] - rate(eta, start + j) * gradient(i, x[i], start + j) for i in range(N)]
            if j + 1 == moment:
                snapshot = mean([x[i] for i in stepping])
            if j + 1 < tau:
                path.append(list(x))
        if start + tau > T:
            break
        shared = mean([x[i] for i in stepping])
        path.append([shared] * N)
        sent["rounds"] += 1
        sent["model"] += 2 * x0.size * Fraction(m, N)
        sent["embedding"] += Fraction(m, N)
        if start + tau < T:
            U = noise.subset("loss clients", start + tau, m)
            v = [N / m * loss(i, snapshot, start + tau) if U[i] else 0.0 for i in range(N)]
            weights = onto_simplex([weights[i] + tau * gamma * v[i] for i in range(N)])
    return path, sent


def drfa(data, noise: Draw, x0: Vector, y0, T: int, eta, gamma, tau, b=1, m=None):
    o = Composite(data)

    def loss(k, x, t):
        g = mean([o.g(k, x, z) for z in noise("loss", t, k, b, 3 * P + x0.size)])
        return float(data.w[k] @ np.sqrt(1 + g**2))

    return _drfa(_blind(data, noise, x0.size, b), loss, noise, x0, o.K, T, eta, gamma, tau, m)


def drfa_meta(data, noise: Draw, x0: Vector, y0, T: int, eta, gamma, tau, b=1, m=None):
    o, gradient = Task(data), gradients(data, noise, x0.size, b)
    return _drfa(gradient, lambda i, x, t: o.value(i, x), noise, x0, o.N, T, eta, gamma, tau, m)


def _q_fedavg(gradient, loss, noise: Draw, x0: Vector, N: int, T: int, eta, q, tau, m, L):
    """Li et al., Algorithm 2."""
    L = 1 / eta if L is None else L

    def update(shared, x, S, t):
        Delta, h = np.zeros(x0.size), 0.0
        for k in S:
            F, Delta_w = loss(k, shared), L * (shared - x[k])
            Delta = Delta + F**q * Delta_w
            h += q * F ** (q - 1) * float(Delta_w @ Delta_w) + L * F**q
        return shared - Delta / h

    return local_steps(gradient, noise, x0, N, T, eta, tau, m, update, numbers=1)


def q_fedavg(data, noise: Draw, x0: Vector, y0, T: int, eta, q, tau, b=1, m=None, L=None):
    o = Composite(data)

    def loss(k, x):
        return float(data.w[k] @ np.sqrt(1 + o.g(k, x) ** 2))

    return _q_fedavg(_blind(data, noise, x0.size, b), loss, noise, x0, o.K, T, eta, q, tau, m, L)


def q_fedavg_meta(data, noise: Draw, x0: Vector, y0, T: int, eta, q, tau, b=1, m=None, L=None):
    o, gradient = Task(data), gradients(data, noise, x0.size, b)
    return _q_fedavg(gradient, o.value, noise, x0, o.N, T, eta, q, tau, m, L)


def scaffold(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, eta_g=1.0, b=1, m=None, control="average"):
    """Karimireddy et al., Algorithm 1: lines of the box, option II by its own formula c_i - c + (x - y_i) / (K eta_l).

    With steps that change within a round it is the mean of the gradients, which that formula gives for equal ones.
    """
    o, sent = Task(data), Counter()
    x, c, c_i = x0, 0 * x0, [0 * x0 for _ in range(o.N)]
    path = [[x0] * o.N]
    for begin in range(0, T, tau):
        S, y, gathered = chosen(noise, begin, o.N, m), [x] * o.N, []
        for t in range(begin, min(begin + tau, T)):
            g = [o.gradient(i, y[i], noise("sample", t, i, b, 2 * x0.size)) for i in range(o.N)]
            gathered.append(g)
            y = [y[i] - rate(eta, t) * (g[i] - c_i[i] + c) for i in range(o.N)]
            path.append(y)
        if begin + tau > T:
            break
        if isinstance(eta, float):
            new = [c_i[i] - c + (x - y[i]) / (tau * eta) for i in range(o.N)]
        else:
            new = [mean([g[i] for g in gathered]) for i in range(o.N)]
        if control == "gradient":
            new = [o.gradient(i, x, noise("control", begin, i, b, 2 * x0.size)) for i in range(o.N)]
        moved, turned = mean([y[i] - x for i in S]), mean([new[i] - c_i[i] for i in S])
        for i in S:
            c_i[i] = new[i]
        x, c = x + eta_g * moved, c + len(S) / o.N * turned
        path[-1] = [x] * o.N
        sent.update(rounds=1)
        sent["model"] += 2 * x0.size * Fraction(len(S), o.N)
    return path, sent


def fedprox(data, noise: Draw, x0: Vector, y0, T: int, eta, mu, tau, b=1, m=None):
    """Li et al., Algorithm 2: gradient steps on h_k(w; w^t) = F_k(w) + (mu / 2) |w - w^t|^2, w^t the model of the round."""
    server, own = {}, gradients(data, noise, x0.size, b)

    def gradient(i, w, t):
        if t % tau == 0:
            server[i] = w
        return own(i, w, t) + mu * (w - server[i])

    return local_steps(gradient, noise, x0, len(data.A), T, eta, tau, m)
