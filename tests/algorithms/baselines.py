"""The baselines once more, as plain loops over steps and clients; the rules of ``reference.py`` hold here too."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
from reference import NOISE, Composite, Conditional, Draw, P, Task, Vector, chosen, local_steps, mean, meta_fl, rate


def gradients(data, noise: Draw, size: int, b: int):
    """The gradient of client i's own loss at x on the batch that it draws at step t."""
    o = Task(data)
    return lambda i, x, t: o.gradient(i, x, noise("sample", t, i, b, 2 * size))


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


# --- on plain federated, minimax and bilevel problems


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
