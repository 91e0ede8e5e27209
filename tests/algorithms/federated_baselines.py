"""Baselines on plain federated, minimax and bilevel problems once more, as loops; the rules of ``reference.py`` hold here too."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
from baselines import chosen, gradients, local_steps
from reference import NOISE, Draw, P, Task, Vector, mean, rate


def two_sided_sgd(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, eta_g=1.0, beta=0.0, b=1, m=None):
    """The server's pseudo-gradient is the negative mean change; SGD with momentum on it."""
    buffer = 0 * x0

    def update(server, x, S, t):
        nonlocal buffer
        pseudo_gradient = -sum(x[i] - server for i in S) / len(S)
        buffer = beta * buffer + pseudo_gradient
        return server - rate(eta_g, t) * buffer

    return local_steps(gradients(data, noise, x0.size, b), noise, x0, len(data.A), T, eta, tau, m, update)


def local_heavy_ball(data, noise: Draw, x0: Vector, y0, T: int, eta, beta, tau, b=1, m=None, momentum="average"):
    """A client's momentum is sum_s beta^(t-s) g_s, kept here as the list of what enters it."""
    N, g, sent = len(data.A), gradients(data, noise, x0.size, b), Counter()
    x, path = [x0] * N, [[x0] * N]
    entered = [[] for _ in range(N)]

    def velocity(i):
        return sum((beta**age * v for age, v in enumerate(reversed(entered[i]))), 0 * x0)

    for t in range(T):
        S = chosen(noise, t - t % tau, N, m)
        for i in range(N):
            entered[i].append(g(i, x[i], t))
        x = [x[i] - rate(eta, t) * velocity(i) for i in range(N)]
        if (t + 1) % tau == 0:
            x = [mean([x[i] for i in S])] * N
            if momentum == "average":
                shared = mean([velocity(i) for i in S])
                entered = [[shared] for _ in range(N)]
            elif momentum == "reset":
                entered = [[] for _ in range(N)]
            sent.update(rounds=1)
            sent["model"] += (2 if momentum == "average" else 1) * x0.size * Fraction(len(S), N)
        path.append(x)
    return path, sent


def fednova(data, noise: Draw, x0: Vector, y0, T: int, eta, tau, steps=None, weights=None, b=1):
    """d_i: the mean over a client's steps of what it subtracted; the server subtracts tau_eff times their weighted sum."""
    N, g, sent = len(data.A), gradients(data, noise, x0.size, b), Counter()
    steps = [tau] * N if steps is None else [steps] * N if isinstance(steps, int) else steps
    p = [1 / N] * N if weights is None else weights
    server, path = x0, [[x0] * N]
    for begin in range(0, T, tau):
        x, subtracted = [server] * N, [[] for _ in range(N)]
        for t in range(begin, min(begin + tau, T)):
            x = list(x)
            for i in range(N):
                if len(subtracted[i]) < steps[i]:
                    subtracted[i].append(rate(eta, t) * g(i, x[i], t))
                    x[i] = x[i] - subtracted[i][-1]
            path.append(x)
        if begin + tau <= T:
            tau_eff = float(np.dot(p, steps))
            server = server - tau_eff * sum(p[i] * mean(subtracted[i]) for i in range(N))
            path[-1] = [server] * N
            sent.update(rounds=1, model=x0.size)
    return path, sent


def delayed_sgd(data, noise: Draw, x0: Vector, y0, T: int, eta, D, b=1, delays="fixed"):
    """The whole list of models is kept, and looked up."""
    N, g, models = len(data.A), gradients(data, noise, x0.size, b), [x0]
    for t in range(T):
        delay = [D if delays == "fixed" else noise.integers("delay", t, i, D + 1) for i in range(N)]
        models.append(models[t] - rate(eta, t) * mean([g(i, models[max(t - delay[i], 0)], t) for i in range(N)]))
    return [[x] * N for x in models], Counter(rounds=T, model=T * x0.size)


def gossip_sgd(data, noise: Draw, x0: Vector, y0, T: int, eta, tau=1, b=1, topology="ring", W=None, gamma=None):
    """x <- W x for the matrix of models, one row for each client; a ring is written down by its edges."""
    N, g, sent = len(data.A), gradients(data, noise, x0.size, b), Counter()
    if W is None and (topology == "complete" or N < 3):
        W = np.full((N, N), 1 / N)
    elif W is None:
        W = np.zeros((N, N))
        for i in range(N):
            for j in {i, (i + 1) % N, (i - 1) % N}:
                W[i, j] = 1 / 3
    W = np.array(W) if gamma is None else (1 - gamma) * np.eye(N) + gamma * np.array(W)
    x, path = np.array([x0] * N), [[x0] * N]
    for t in range(T):
        x = np.array([x[i] - rate(eta, t) * g(i, x[i], t) for i in range(N)])
        if (t + 1) % tau == 0:
            x = W @ x
            sent.update(rounds=1)
            sent["model"] += x0.size * Fraction(int(np.count_nonzero(W) - np.count_nonzero(np.diag(W))), N)
        path.append(list(x))
    return path, sent


def _kept(v: Vector, noise: Draw, ratio: int, t: int, i: int) -> Vector:
    """A coordinate survives log2(ratio) tosses, each of which must come out +1, and is made `ratio` times as large."""
    tosses = [noise(f"kept {j}", t, i, v.size) for j in range(int(np.log2(ratio)))]
    return np.array([ratio * v[c] if all(toss[c] > 0 for toss in tosses) else 0.0 for c in range(v.size)])


def compressed_sgd(data, noise: Draw, x0: Vector, y0, T: int, eta, ratio, b=1):
    N, g, x, path = len(data.A), gradients(data, noise, x0.size, b), x0, [[x0] * len(data.A)]
    for t in range(T):
        x = x - rate(eta, t) * mean([_kept(g(i, x, t), noise, ratio, t, i) for i in range(N)])
        path.append([x] * N)
    return path, Counter(rounds=T, model=Fraction(T * x0.size, ratio))


def error_feedback(data, noise: Draw, x0: Vector, y0, T: int, eta, share, b=1):
    k = next(k for k in range(1, x0.size + 1) if k >= x0.size * share)
    N, g, x, path = len(data.A), gradients(data, noise, x0.size, b), x0, [[x0] * len(data.A)]
    memory, sent = [0 * x0 for _ in range(N)], Counter()
    for t in range(T):
        messages = []
        for i in range(N):
            v = memory[i] + rate(eta, t) * g(i, x, t)
            top = sorted(range(v.size), key=lambda c, v=v: (-abs(v[c]), c))[:k]
            messages.append(np.array([v[c] if c in top else 0.0 for c in range(v.size)]))
            memory[i] = np.array([0.0 if c in top else v[c] for c in range(v.size)])
        x = x - mean(messages)
        path.append([x] * N)
        sent.update(rounds=1, model=k)
    return path, sent


def marina(data, noise: Draw, x0: Vector, y0, T: int, eta, p, ratio, b=1, oracle="sample"):
    """Gorbunov et al.'s order: the first estimate before the loop, in the loop the step, the coin and the new estimate."""
    o, N = Task(data), len(data.A)

    def grad(i, x, t):
        if oracle == "sample":
            return o.gradient(i, x, noise("sample", t, i, b, 2 * x0.size))
        return o.gradient(i, x, np.zeros((1, 2 * x0.size)))

    x, g, path = x0, mean([grad(i, x0, 0) for i in range(N)]), [[x0] * N]
    for t in range(1, T + 1):
        new = x - rate(eta, t - 1) * g
        path.append([new] * N)
        if t < T and noise.uniform("coin", t, 0, 1)[0] < p:
            g = mean([grad(i, new, t) for i in range(N)])
        elif t < T:
            g = g + mean([_kept(grad(i, new, t) - grad(i, x, t), noise, ratio, t, i) for i in range(N)])
        x = new
    expected = 1 + (T - 1) * (Fraction(p) + (1 - Fraction(p)) / ratio)
    return path, Counter(rounds=T, model=x0.size * expected)


def local_storm(data, noise: Draw, x0: Vector, y0, T: int, eta, a, tau, b=1, B=None):
    """d_t = grad f(x_t, xi_t) + (1 - a)(d_{t-1} - grad f(x_{t-1}, xi_t)) at every client."""
    o, N, sent = Task(data), len(data.A), Counter()
    x, older, d, path = [x0] * N, None, None, [[x0] * N]
    for t in range(T):
        xi = [noise("sample", t, i, (B or b) if t == 0 else b, 2 * x0.size) for i in range(N)]
        new = [o.gradient(i, x[i], xi[i]) for i in range(N)]
        if t > 0:
            correction = [d[i] - o.gradient(i, older[i], xi[i]) for i in range(N)]
            new = [new[i] + (1 - rate(a, t)) * correction[i] for i in range(N)]
        d, older = new, x
        x = [x[i] - rate(eta, t) * d[i] for i in range(N)]
        if (t + 1) % tau == 0:
            x, d = [mean(x)] * N, [mean(d)] * N
            sent.update(rounds=1, model=2 * x0.size)
        path.append(x)
    return path, sent


def fedadam(
    data,
    noise: Draw,
    x0: Vector,
    y0,
    T: int,
    eta,
    tau,
    eta_g,
    beta_1=0.9,
    beta_2=0.99,
    epsilon=1e-3,
    b=1,
    m=None,
    variant="adam",
):
    """One coordinate of the server's moments at a time."""
    u, v = [0.0] * x0.size, [epsilon**2] * x0.size

    def update(server, x, S, t):
        server = server.copy()
        for c in range(x0.size):
            D = sum(x[i][c] - server[c] for i in S) / len(S)
            u[c] = beta_1 * u[c] + (1 - beta_1) * D
            if variant == "adam":
                v[c] = beta_2 * v[c] + (1 - beta_2) * D**2
            elif variant == "adagrad":
                v[c] = v[c] + D**2
            else:
                v[c] = v[c] - (1 - beta_2) * D**2 * (1 if v[c] > D**2 else -1 if v[c] < D**2 else 0)
            server[c] += rate(eta_g, t) * u[c] / (v[c] ** 0.5 + epsilon)
        return server

    return local_steps(gradients(data, noise, x0.size, b), noise, x0, len(data.A), T, eta, tau, m, update)


def fedglomo(data, noise: Draw, x0: Vector, y0, T: int, eta, beta, tau, a=1.0, b=1, m=None):
    """u = beta D + (1 - beta) u + (1 - beta)(D - D'), as the server's momentum is written; D' is run from its model before."""
    o, N, sent = Task(data), len(data.A), Counter()
    path, server, before, u = [[x0] * N], x0, None, None

    def run(start, i, begin, end):
        """The models of client i at the steps of a round from `start`."""
        models, d = [start], None
        for t in range(begin, end):
            xi = noise("sample", t, i, b, 2 * x0.size)
            new = o.gradient(i, models[-1], xi)
            if d is not None:
                new = new + (1 - a) * (d - o.gradient(i, models[-2], xi))
            d = new
            models.append(models[-1] - rate(eta, t) * d)
        return models

    for begin in range(0, T, tau):
        end, S = min(begin + tau, T), chosen(noise, begin, N, m)
        models = [run(server, i, begin, end) for i in range(N)]
        path += [[models[i][j] for i in range(N)] for j in range(1, end - begin + 1)]
        if begin + tau > T:
            break
        D = mean([models[i][-1] - server for i in S])
        if before is None:
            u = D
        else:
            D_before = mean([run(before, i, begin, end)[-1] - before for i in S])
            u = beta * D + (1 - beta) * u + (1 - beta) * (D - D_before)
        before, server = server, server + u
        path[-1] = [server] * N
        sent.update(rounds=1)
        sent["model"] += 2 * x0.size * Fraction(len(S), N)
    return path, sent


def local_sgda(data, noise: Draw, x0: Vector, y0, T: int, eta, eta_y, tau, b=1, m=None):
    """Simultaneous steps at every client, each coordinate of y kept above -1/2: at a client within a round, of the mean at its end."""
    N, size, sent = len(data.A), x0.size + P, Counter()
    x, y, path = [x0] * N, [np.full(P, 0.25) if y0 is None else y0] * N, [[x0] * N]
    for t in range(T):
        S = chosen(noise, t - t % tau, N, m)
        new_x, new_y = [], []
        for i in range(N):
            z = mean(list(noise("sample", t, i, b, size)))
            u = data.A[i] @ x[i]
            down = data.A[i].T @ (np.cos(u) * y[i]) + data.a[i] + NOISE * z[: x0.size]
            up = np.sin(u) + data.c[i] - data.w[i] * y[i] + NOISE * z[x0.size :]
            new_x.append(x[i] - rate(eta, t) * down)
            new_y.append(y[i] + rate(eta_y, t) * up)
        x, y = new_x, new_y
        if (t + 1) % tau == 0:
            x, y = [mean([x[i] for i in S])] * N, [mean([y[i] for i in S])] * N
        y = [np.maximum(each, -0.5) for each in y]
        if (t + 1) % tau == 0:
            sent.update(rounds=1)
            sent["model"] += x0.size * Fraction(len(S), N)
            sent["embedding"] += P * Fraction(len(S), N)
        path.append(x)
    return path, sent


def fed_ttsa(data, noise: Draw, x0: Vector, y0, T: int, eta, eta_y, eta_v, K, tau=1, b=1):
    """The inverse Hessian as the series that is written, summed term by term with powers of a matrix."""
    N, n, sent = len(data.A), x0.size, Counter()
    x, y, path = x0, np.full(P, 0.25) if y0 is None else y0, [[x0] * N]
    for t in range(T):
        moved = []
        for i in range(N):
            own, u = y, np.sin(data.A[i] @ x)
            for j in range(tau):
                z = mean(list(noise(f"lower {j}", t, i, b, 2 * P + n)))[:P]
                slope = own / np.sqrt(1 + own**2)
                up = data.w[i] * (slope + own) - data.c[i] - u * (1 + slope / 4)
                own = own - rate(eta_y, t) * (up + NOISE * z)
            moved.append(own)
        y = mean(moved)
        sent["embedding"] += P
        z = [mean(list(noise("upper", t, i, b, 2 * P + n))) for i in range(N)]
        slope = mean([data.c[i] * y + NOISE * z[i][-P:] for i in range(N)])
        bend = (1 + y**2) ** -1.5
        hessian = np.diag(mean([data.w[i] * (bend + 1) - np.sin(data.A[i] @ x) * bend / 4 for i in range(N)]))
        powers = [np.linalg.matrix_power(np.eye(P) - eta_v * hessian, k) for k in range(K)]
        v = eta_v * sum(power @ slope for power in powers)
        sent["embedding"] += K * P
        coupled = 1 + y / np.sqrt(1 + y**2) / 4
        jacobians = [(np.cos(data.A[i] @ x) * coupled)[:, None] * data.A[i] for i in range(N)]
        along = [np.cos(data.a[i] * x) * data.a[i] + NOISE * z[i][P:-P] + jacobians[i].T @ v for i in range(N)]
        x = x - rate(eta, t) * mean(along)
        sent["model"] += n
        sent.update(rounds=K + 2)
        path.append([x] * N)
    return path, sent
