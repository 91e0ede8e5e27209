"""Random losses with certified constants, and the exact law of the three gradient estimates of meta_fl on them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np


class Loss:
    """l(w; xi) = sum_k a_k cos(b_k.w + c_k) + xi sum_j u_j cos(v_j.w + e_j), E xi = 0, E xi^2 = 1, two values."""

    def __init__(self, rng, dim, noise=1.0):
        self.a, self.b, self.c = rng.normal(size=3), rng.normal(size=(3, dim)), rng.uniform(0, 6, 3)
        self.u, self.v, self.e = noise * rng.normal(size=2), rng.normal(size=(2, dim)), rng.uniform(0, 6, 2)
        self.xi = ((1.0, 0.5), (-1.0, 0.5)) if rng.random() < 0.5 else ((3.0, 0.1), (-1 / 3, 0.9))
        fourth = sum(p * x**4 for x, p in self.xi)
        nb, nv = np.linalg.norm(self.b, axis=1), np.linalg.norm(self.v, axis=1)
        self.B, self.L, self.rho = (np.abs(self.a) @ nb**k for k in (1, 2, 3))
        self.sG, self.sH = np.abs(self.u) @ nv, np.abs(self.u) @ nv**2
        self.kG, self.kH = fourth * self.sG**4, fourth * self.sH**4

    def gradient(self, w, x=0.0):
        smooth = (self.a * np.sin(self.b @ w + self.c)) @ self.b
        return -smooth - x * (self.u * np.sin(self.v @ w + self.e)) @ self.v

    def hessian(self, w, x=0.0):
        smooth = (self.b.T * (self.a * np.cos(self.b @ w + self.c))) @ self.b
        return -smooth - x * (self.v.T * (self.u * np.cos(self.v @ w + self.e))) @ self.v

    def batch(self, size):
        """Law of the mean of `size` draws."""
        law: dict[float, float] = {}
        for draws in product(self.xi, repeat=size):
            mean, chance = sum(x for x, _ in draws) / size, float(np.prod([p for _, p in draws]))
            law[round(mean, 12)] = law.get(round(mean, 12), 0.0) + chance
        return list(law.items())


def path(loss, w, alpha, nu, noise=None):
    points = [w]
    for j in range(nu):
        points.append(points[-1] - alpha * loss.gradient(points[-1], 0.0 if noise is None else noise[j]))
    return points


def meta_gradient(loss, w, alpha, nu):
    *before, last = path(loss, w, alpha, nu)
    value = loss.gradient(last)
    for point in reversed(before):
        value = value - alpha * loss.hessian(point) @ value
    return value


def outcomes(loss, w, alpha, nu, D, H, delta) -> Iterator[tuple]:
    """(probability, path, {estimate name: value}) for every outcome of the 2 nu + 1 batches."""
    laws = [loss.batch(size) for size in (*D, *H)]
    for drawn in product(*laws):
        noise, chance = [x for x, _ in drawn], float(np.prod([p for _, p in drawn]))
        points = path(loss, w, alpha, nu, noise)
        first = exact = free = loss.gradient(points[nu], noise[nu])
        for j in reversed(range(nu)):
            mine = noise[nu + 1 + j]
            exact = exact - alpha * loss.hessian(points[j], mine) @ exact
            plus, minus = (loss.gradient(points[j] + side * delta * free, mine) for side in (1, -1))
            free = free - alpha * (plus - minus) / (2 * delta)
        yield chance, points, {"": exact, "_FO": first, "_HF": free}


def moments(loss, w, alpha, nu, D, H, delta):
    """Norm of the mean error and mean squared error of each estimate."""
    truth = meta_gradient(loss, w, alpha, nu)
    mean = {kind: np.zeros_like(w) for kind in ("", "_FO", "_HF")}
    square = dict.fromkeys(mean, 0.0)
    for chance, _, found in outcomes(loss, w, alpha, nu, D, H, delta):
        for kind, value in found.items():
            mean[kind] = mean[kind] + chance * (value - truth)
            square[kind] += chance * float((value - truth) @ (value - truth))
    return {kind: (np.linalg.norm(mean[kind]), square[kind]) for kind in mean}


def cases(seed, count):
    """Random losses with random nu = 0..3, batches and points."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        dim, nu = int(rng.integers(1, 3)), int(rng.integers(0, 4))
        loss = Loss(rng, dim, noise=float(rng.choice([0.1, 1.0])))
        alpha = float(rng.choice([0.05, 0.3, 1.0])) / loss.L
        D = [int(x) for x in rng.integers(1, 3, nu + 1)] if nu < 3 else [1] * 4
        H = [int(x) for x in rng.integers(1, 3, nu)] if nu < 3 else [1] * 3
        yield loss, alpha, nu, D, H, rng.normal(size=dim), float(rng.choice([0.01, 0.3, 2.0]))
