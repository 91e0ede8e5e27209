"""Constants that are upper bounds, computed a second time from what their arguments say, with numpy and away from the presets.

The conformance suite notices a bound that is too small where an adversary comes near it, and never one that is too large.
"""

import math
from itertools import product

import mpmath
import numpy as np
import pytest
import torch
from fedco.synthetic.certificate import rounded_up
from fedco.synthetic.families.auprc import AveragePrecision
from fedco.synthetic.families.bowls import Meta
from fedco.synthetic.families.composite import LocalComposite, SharedComposite
from fedco.synthetic.families.conditional import Conditional
from fedco.synthetic.families.dro import ClientChi2, RobustLoss
from fedco.synthetic.families.fairness import FairClassifier
from fedco.synthetic.families.federated import (
    FederatedHuber,
    FederatedQuadratic,
    FederatedSines,
    FederatedStronglyConvex,
)
from fedco.synthetic.families.federated_logistic import FederatedLogistic
from fedco.synthetic.families.invariant import InvariantLogistic
from fedco.synthetic.parts.bowl import RippledBowl
from fedco.synthetic.parts.outer import CenteredOuter
from hypothesis import given
from hypothesis import strategies as st
from test_conformance import AWAY

T = torch.linspace(-25.0, 25.0, 40_001, dtype=torch.float64).requires_grad_()
TANH_2 = 4 / (3 * math.sqrt(3))  # sup |tanh''|


def suprema(function):
    """sup |u'|, sup |u''| and the range of u on a grid."""
    values = function(T)
    (slope,) = torch.autograd.grad(values.sum(), T, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), T)
    return (
        float(slope.detach().abs().max()),
        float(curvature.detach().abs().max()),
        float(values.detach().min()),
        float(values.detach().max()),
    )


def loss_of(instance):
    if instance.loss == "sigmoid":
        return lambda t: instance.M / (1 + torch.exp(t))
    r = math.log(math.exp(instance.M) - 1)
    return lambda t: torch.log1p(torch.exp(-r * torch.tanh(t / r)))


def sizes(features):
    """Per client root of the largest eigenvalue of the mean of a a^T, the same pooled, root mean square length, longest."""
    a = features.numpy()
    own = [math.sqrt(np.linalg.eigvalsh(rows.T @ rows / len(rows))[-1]) for rows in a]
    flat = a.reshape(-1, a.shape[-1])
    pooled = math.sqrt(np.linalg.eigvalsh(flat.T @ flat / len(flat))[-1])
    lengths = np.sqrt((a**2).sum(-1))
    return own, pooled, math.sqrt((lengths**2).mean(-1).max()), lengths.max()


def apart(bounds):
    """|J_k - mean J| <= sum over the others of (|J_k| + |J_l|)/K, for the worst k."""
    K = len(bounds)
    return max(sum((own + other) / K for i, other in enumerate(bounds) if i != k) for k, own in enumerate(bounds))


def of_mean_map(u, instance):
    slope, curvature, low, high = suprema(u)
    own, _, square, longest = sizes(instance.data.features)
    return {
        "inner_lipschitz": slope * max(own),
        "inner_mean_square_lipschitz": slope * max(own),
        "inner_jacobian_mean_square": slope * square,
        "inner_sample_lipschitz": slope * longest,
        "inner_smoothness": curvature * max(own) ** 2,
        "inner_sample_smoothness": curvature * longest**2,
        "inner_jacobian_noise": slope * square,
        "inner_value_noise": (high - low) / 2,
        "inner_noise": max(slope * square, (high - low) / 2),
        "inner_jacobian_heterogeneity": slope * apart(own),
    }


def of_extra(u, instance):
    slope, curvature, _, _ = suprema(u)
    own, _, square, _ = sizes(instance.data.features)
    return {
        "noncompositional_smoothness": curvature * max(own) ** 2,
        "noncompositional_gradient_noise": slope * square,
        "noncompositional_heterogeneity": slope * apart(own),
    }


def start_value(instance):
    return float(instance.objective(instance.initial_point[None]))


def kl_over_samples(p):
    loss, lam = loss_of(p), p.weight
    low, _ = (math.exp(v / lam) for v in suprema(loss)[2:])
    slope, _, smallest, _ = suprema(loss)
    return of_mean_map(lambda t: torch.exp(loss(t) / lam), p) | {
        "outer_lipschitz": lam / low,
        "outer_smoothness": lam / low**2,
        "gradient_cap": slope * sizes(p.data.features)[3],
        "objective_gap": start_value(p) - smallest,
    }


def chi2_over_samples(p):
    loss, lam = loss_of(p), p.weight
    slope, _, smallest, largest = suprema(loss)
    return {
        **of_mean_map(loss, p),
        **of_extra(lambda t: loss(t) + loss(t) ** 2 / (2 * lam), p),
        "outer_lipschitz": largest / lam,
        "outer_smoothness": 1 / lam,
        "gradient_cap": (1 + p.M / lam) * slope * sizes(p.data.features)[1],
        "objective_gap": start_value(p) - smallest,
    }


def kl_over_clients(p):
    loss, gamma = loss_of(p), p.gamma
    maps = of_mean_map(loss, p)
    slope, _, smallest, largest = suprema(loss)
    steepest = math.exp(largest / gamma) / gamma
    return maps | {
        **dict.fromkeys(("outer_lipschitz", "outer_mean_square_lipschitz", "outer_sample_lipschitz"), steepest),
        **dict.fromkeys(("outer_smoothness", "outer_sample_smoothness"), steepest / gamma),
        "outer_gradient_noise": 0.0,
        "composite_noise": max(maps["inner_jacobian_noise"], maps["inner_value_noise"]),
        "objective_smoothness": maps["inner_lipschitz"] ** 2 * steepest / gamma + steepest * maps["inner_smoothness"],
        "gradient_cap": steepest * slope * sum(sizes(p.data.features)[0]) / p.clients,
        "objective_gap": start_value(p) - math.exp(smallest / gamma),
    }


def chi2_over_clients(p):
    loss, gamma = loss_of(p), p.gamma
    maps = of_mean_map(loss, p)
    slope, curvature, smallest, largest = suprema(loss)
    own, _, square, _ = sizes(p.data.features)
    top = 1 + p.M / gamma
    return maps | {
        "noncompositional_smoothness": max(own) ** 2 * (top * curvature + slope**2 / gamma),
        "noncompositional_gradient_noise": top * slope * square,
        "noncompositional_heterogeneity": top * slope * apart(own),
        "outer_lipschitz": largest / gamma,
        "outer_smoothness": 1 / gamma,
        "gradient_cap": slope * max(own),
        "objective_gap": start_value(p) - smallest,
    }


def fair(p):
    slope, curvature, smallest, largest = suprema(loss_of(p))
    features = p.data.features
    own, pooled, _, _ = sizes(features)
    features, (_, labels, held_out) = features.numpy(), p.dealt
    positive, n = labels.numpy() > 0, p.samples
    edges = np.quantile(held_out.numpy(), np.arange(1, p.groups) / p.groups)
    group = np.searchsorted(edges, held_out.numpy(), side="left")
    w = np.zeros((p.clients, n, p.groups))
    for j in range(p.groups):
        inside = positive & (group == j)
        w[..., j] = p.clients * n * (inside / inside.sum() - positive / positive.sum())
    lengths = np.sqrt((w**2).sum(-1))
    spectral = [np.linalg.norm(each, 2) / math.sqrt(n) for each in w]
    frobenius = [np.linalg.norm(each) / math.sqrt(n) for each in w]
    of_value = largest * math.sqrt((lengths**2).mean(-1).max())
    of_jacobian = slope * math.sqrt(((lengths**2) * (features**2).sum(-1)).mean(-1).max())
    whole = np.linalg.norm(w.reshape(-1, p.groups), 2) / math.sqrt(p.clients * n)
    return of_extra(loss_of(p), p) | {
        "inner_lipschitz": slope * max(a * b for a, b in zip(spectral, own, strict=True)),
        "inner_mean_square_lipschitz": slope * lengths.max() * max(own),
        "inner_smoothness": curvature * lengths.max() * max(own) ** 2,
        "inner_jacobian_noise": of_jacobian,
        "inner_value_noise": of_value,
        "inner_noise": max(of_jacobian, of_value),
        "inner_jacobian_heterogeneity": slope * apart([a * b for a, b in zip(frobenius, own, strict=True)]),
        "outer_lipschitz": p.rho,
        "outer_smoothness": p.rho / p.width,
        "gradient_cap": slope * pooled * (1 + p.rho * whole),
        "objective_gap": start_value(p) - smallest,
    }


def average_precision(p):
    rows, labels = (each.numpy() for each in p.data)
    lengths = np.sqrt((rows**2).sum(-1))
    own, longest = lengths[labels > 0].max(), lengths.max()
    e, r = p.margin + 2 * p.saturation, p.saturation
    low, high = (p.margin - 2 * r) ** 2, e**2
    second = max(
        np.mean([(1 + y) * (own + size) ** 2 for y, size in zip(*each, strict=True)])
        for each in zip(labels, lengths, strict=True)
    )
    bent = TANH_2 / r * (own**2 + longest**2)
    # |a| <= 3H/2, |a'| <= 1, |a''| <= 1/H; b <= 5/(4L), |b'| <= 1/L^2, |b''| <= 2/L^3
    a, b = (3 * high / 2, 1, 1 / high), (5 / (4 * low), 1 / low**2, 2 / low**3)
    outer_lipschitz = math.sqrt((a[1] * b[0]) ** 2 + (a[0] * b[1]) ** 2)
    hessian = np.array([[a[2] * b[0], a[1] * b[1]], [a[1] * b[1], a[0] * b[2]]])
    return {
        "outer_sample_lipschitz": outer_lipschitz,
        "outer_mean_square_lipschitz": outer_lipschitz,
        "outer_sample_smoothness": np.linalg.norm(hessian),
        "inner_jacobian_mean_square": 2 * e * math.sqrt(second),
        "inner_sample_lipschitz": math.sqrt(2) * 2 * e * (own + longest),
        "inner_sample_smoothness": math.sqrt(2) * (2 * (own + longest) ** 2 + 2 * e * bent),
        "inner_value_noise": math.sqrt((high - low) ** 2 + high**2) / 2,
        "gradient_cap": 2 * (own + longest) / (p.margin - 2 * r),
        "objective_gap": start_value(p) + 1,
    }


def invariant(p):
    a = p.data[0].numpy()
    d, r = p.dim, p.saturation
    size, shake = np.sqrt((a**2).sum(-1)).max(), p.sigma_2 * math.sqrt(d)
    longest, square = size + shake, math.sqrt(size**2 + shake**2)
    s = np.linspace(0, 3, 100_001)
    slope = p.reg * math.sqrt(d * p.gamma) * (2 * s / (1 + s**2) ** 2).max()
    return {
        "outer_sample_lipschitz": math.sqrt(2),
        "outer_mean_square_lipschitz": math.sqrt(2),
        "outer_sample_smoothness": 1 / 4,
        "inner_jacobian_mean_square": math.sqrt(square**2 + slope**2),
        "inner_sample_lipschitz": math.sqrt(longest**2 + slope**2),
        "inner_sample_smoothness": math.sqrt((TANH_2 * longest**2 / r) ** 2 + (2 * p.reg * p.gamma) ** 2),
        "inner_value_noise": r,
        "objective_smoothness": longest**2 * (1 / 4 + TANH_2 / r) + 2 * p.reg * p.gamma,
        "gradient_cap": square + slope,
        "objective_gap": start_value(p),
    }


def plain_logistic(p):
    m = p.data.features.numpy()
    own, pooled, _, longest = sizes(p.data.features)
    means = m.mean(1)
    scatter = [math.sqrt(((rows - mean) ** 2).sum(-1).mean()) for rows, mean in zip(m, means, strict=True)]
    lengths = [math.sqrt((rows**2).sum(-1).mean()) for rows in m]
    between = math.sqrt(((means - means.mean(0)) ** 2).sum(-1).mean())
    found = {
        "local_smoothness": max(own) ** 2 / 4 + p.ridge,
        "objective_smoothness": pooled**2 / 4 + p.ridge,
        "local_sample_smoothness": longest**2 / 4 + p.ridge,
        "local_gradient_noise": max(a + b for a, b in zip(scatter, lengths, strict=True)) / 2,
        "local_gradient_heterogeneity": (between + math.sqrt(np.mean(np.square(own)))) / 2,
    }
    if p.ridge > 0:
        return found
    return found | {
        "local_gradient_bound": max(np.linalg.norm(mean) + size for mean, size in zip(means, own, strict=True)) / 2,
        "local_sample_gradient_bound": longest,
        "gradient_cap": (np.linalg.norm(m.mean((0, 1))) + pooled) / 2,
    }


def third(bowl):
    """sup of the third derivative of bowl, ripples and client wave: B w^2 3 r (w^2 + r^2)^(-5/2) is largest at r = w/2."""
    w = bowl.radial.lipschitz / bowl.radial.smoothness
    of_bowl = bowl.radial.lipschitz * w**2 * 3 * (w / 2) * (w**2 + (w / 2) ** 2) ** -2.5
    ripple, client = bowl.ripple, bowl.client_wave
    return of_bowl + ripple.lipschitz * ripple.wavenumber**2 + client.lipschitz * client.wavenumber**2


def least_loss(bowl, t):
    """min over t of bowl(t) - Delta min(t, 1/p), from below the value of every client that has a tilt."""
    A, w, delta, p = bowl.radial.lipschitz, bowl.radial.width, bowl.heterogeneity, bowl.client_wavenumber
    return max(-delta / p, (A * (np.sqrt(w**2 + t**2) - w) - delta * t).min() if delta < A else -math.inf)


def losses(p, lipschitz, smoothness, sigma_G, sigma_H, k):
    """Of the local losses, whose gradient noise is sigma_G z cos, and Hessian noise sigma_H z sin, with |z| <= sqrt(k)."""
    bowl, most = p.bowl, math.sqrt(k)
    wave = sigma_H / sigma_G if sigma_G > 0 else 1.0
    share = 1.0 if p.clients % 2 == 0 else math.sqrt((p.clients - 1) / p.clients)
    return {
        "local_gradient_bound": lipschitz,
        "local_smoothness": smoothness,
        "local_hessian_lipschitz": third(bowl),
        "local_sample_gradient_bound": lipschitz + most * sigma_G,
        "local_sample_smoothness": smoothness + most * sigma_H,
        "local_sample_hessian_lipschitz": third(bowl) + most * sigma_H * wave,
        "local_gradient_noise": sigma_G,
        "local_hessian_noise": sigma_H,
        "local_gradient_fourth_moment": k * sigma_G**4,
        "local_hessian_fourth_moment": k * sigma_H**4,
        "local_gradient_heterogeneity": share * bowl.heterogeneity,
        "local_hessian_heterogeneity": share * bowl.heterogeneity * bowl.client_wavenumber,
    }


def gap_of_losses(p):
    t = np.linspace(0, 400 * p.bowl.radial.width, 400_001)
    share = (p.clients - p.clients % 2) / p.clients
    return start_value(p) - share * least_loss(p.bowl, t)


def meta(p):
    L, B, alpha, nu, rho = p.L, p.B, p.alpha, p.nu, third(p.bowl)
    growth = 1 + alpha * L
    # the last gradient moves by L growth^nu; factor l by alpha rho growth^l, times the other nu - 1 factors and B
    moved = sum(alpha * rho * growth**step * growth ** (nu - 1) * B for step in range(nu))
    return losses(p, B, L, p.sigma_G, p.sigma_H, p.kurtosis) | {
        "objective_smoothness": growth**nu * L * growth**nu + moved,
        "gradient_cap": growth**nu * B,
        "objective_gap": gap_of_losses(p),
    }


def maml(p):
    lam, s, most, rho = p.lam, 1 + p.lam * p.L_1, math.sqrt(p.kurtosis), third(p.bowl)
    d, wave = lam * p.sigma_2, p.sigma_2 / p.sigma_1
    return losses(p, p.G, p.L_1, p.sigma_1, p.sigma_2, p.kurtosis) | {
        "inner_lipschitz": s,
        "inner_jacobian_mean_square": math.sqrt(s**2 + 2 * s * d / most + d**2),
        "inner_mean_square_lipschitz": math.sqrt(s**2 + d**2),
        "inner_sample_lipschitz": s + d * most,
        "inner_smoothness": lam * rho,
        "inner_sample_smoothness": lam * (rho + p.sigma_2 * wave * most),
        "inner_jacobian_noise": d,
        "inner_value_noise": lam * p.sigma_1,
        "outer_lipschitz": p.G,
        "outer_smoothness": p.L_1,
        "outer_mean_square_lipschitz": math.sqrt(p.G**2 + p.sigma_1**2),
        "outer_gradient_noise": p.sigma_1,
        "outer_sample_lipschitz": p.G + p.sigma_1 * most,
        "outer_sample_smoothness": p.L_1 + p.sigma_2 * most,
        "composite_noise": max(d, lam * p.sigma_1, p.sigma_1),
        "objective_smoothness": s**2 * p.L_1 + lam * rho * p.G,
        "gradient_cap": s * p.G,
        "objective_gap": gap_of_losses(p),
    }


def agnostic(p):
    lam, G, L, most, rho = p.lam, p.G, p.L_1, math.sqrt(p.kurtosis), third(p.bowl)
    s, d, wave = 1 + lam * L, lam * p.sigma_2, p.sigma_2 / p.sigma_1
    values, weights = np.array([most, -most, 0.0]), np.array([0.5, 0.5, p.kurtosis - 1]) / p.kurtosis
    turn = s + d * np.abs(values)  # |J_z|
    moves = turn**2 * L + G * lam * (rho + p.sigma_2 * wave * np.abs(values))
    steepest = math.exp(p.top / p.gamma) / p.gamma
    maps = {
        "inner_lipschitz": G * (weights @ turn),
        "inner_jacobian_mean_square": G * math.sqrt(weights @ turn**2),
        "inner_mean_square_lipschitz": G * math.sqrt(weights @ turn**2),
        "inner_sample_lipschitz": G * turn.max(),
        "inner_smoothness": weights @ moves,
        "inner_sample_smoothness": moves.max(),
        "inner_value_noise": G * lam * p.sigma_1,
        "inner_jacobian_noise": G * d + turn.max() * L * lam * p.sigma_1,
    }
    t = np.linspace(0, 400 * p.bowl.radial.width, 400_001)
    least = (p.clients - p.clients % 2) / p.clients * least_loss(p.bowl, t)
    at_least = math.exp(least / p.gamma) if least > 0 else 1 + least / p.gamma  # linear below 0
    return maps | {
        **dict.fromkeys(("outer_lipschitz", "outer_mean_square_lipschitz", "outer_sample_lipschitz"), steepest),
        **dict.fromkeys(("outer_smoothness", "outer_sample_smoothness"), steepest / p.gamma),
        "outer_gradient_noise": 0.0,
        "composite_noise": max(maps["inner_value_noise"], maps["inner_jacobian_noise"]),
        "objective_smoothness": maps["inner_lipschitz"] ** 2 * steepest / p.gamma + steepest * maps["inner_smoothness"],
        "gradient_cap": maps["inner_lipschitz"] * steepest,
        "objective_gap": start_value(p) - at_least,
    }


BY_HAND = {
    "KL": kl_over_samples,
    "KL of a table": kl_over_samples,
    "chi-square": chi2_over_samples,
    "KL over clients": kl_over_clients,
    "KL over clients, logistic": kl_over_clients,
    "chi-square over clients": chi2_over_clients,
    "chi-square over clients, logistic": chi2_over_clients,
    "two groups": fair,
    "three groups": fair,
    "average precision": average_precision,
    "average precision with a wide margin": average_precision,
    "invariance": invariant,
    "logistic": plain_logistic,
    "logistic without a ridge": plain_logistic,
    "logistic of a table": plain_logistic,
    "meta": meta,
    "meta, fine-tuned twice": meta,
    "MAML": maml,
    "agnostic MAML": agnostic,
}
GIVEN_ELSEWHERE = {"FederatedLogistic": {"objective_gap", "initial_gradient_heterogeneity"}}
"""Quantities that another test pins: the gap of a logistic loss needs its minimiser, and the gradients at the start are evaluated."""


@pytest.mark.parametrize("name", BY_HAND)
def test_every_constant_is_what_its_argument_says(name):
    instance = AWAY[name]
    wanted = BY_HAND[name](instance)
    found = {quantity: float(certificate.value) for quantity, certificate in instance.certificates.items()}
    extra = {q for q in found if q.startswith("noncompositional_")} - wanted.keys()
    assert not any(found[q] for q in extra)
    assert found.keys() - extra - GIVEN_ELSEWHERE.get(type(instance).__name__, set()) == wanted.keys()
    # an enclosed supremum is at most 2e-5 too large, a product of two 4e-5; what is rounded is rounded up
    wrong = {
        q: found[q] / wanted[q] if wanted[q] else found[q]
        for q in wanted
        if not wanted[q] * (1 - 1e-14) - 1e-15 <= found[q] <= wanted[q] * (1 + 5e-5) + 1e-12
    }
    assert not wrong


def wave_sum(map_):
    """The mean map's Lipschitz constant of the Jacobian: ripples only, the client terms cancel."""
    slope = map_.mean_lipschitz / ((1 + map_.ripple) * math.sqrt(map_.group))
    return map_.ripple * slope * map_.wavenumber


def test_the_gap_of_a_shared_composite_is_that_to_a_minimum_over_the_radius():
    shared = AWAY["shared"]
    steepest, bowl = math.sqrt(1.7**2 - 0.5**2) - 0.4, shared.bowl
    radius = np.linspace(0.0, 10.0, 200_001)
    miss = np.maximum(1.5 * math.sqrt(2) - steepest * radius, 0)
    w_f, w_h = 1.3 / 0.4, bowl.radial.lipschitz / bowl.radial.smoothness
    below = 1.3 * (np.sqrt(w_f**2 + miss**2) - w_f) + bowl.radial.lipschitz * (np.sqrt(w_h**2 + radius**2) - w_h)
    gap = float(shared.certificates["objective_gap"].value)
    assert gap == pytest.approx(start_value(shared) - below.min(), rel=1e-6)


def test_constants_of_the_losses_without_fine_tuning():
    plain = AWAY["bowl"]
    c = {q: float(each.value) for q, each in plain.certificates.items()}
    wanted = {q: v for q, v in losses(plain, 1.3, 0.8, 0.4, 0.4 * 1.7, 3).items() if "hessian" not in q}
    bowl = plain.bowl
    wanted["objective_smoothness"] = bowl.radial.smoothness + bowl.ripple.lipschitz * bowl.ripple.wavenumber
    start = plain.to_clients(plain.initial_point.unsqueeze(0)).clone().requires_grad_()
    (slopes,) = torch.autograd.grad(plain.local_value(start).sum(), start)
    apart = (slopes - slopes.mean(1, keepdim=True)).square().sum(-1).mean().sqrt().item()
    assert apart <= c.pop("initial_gradient_heterogeneity") <= apart * (1 + 1e-11)  # rounded up
    wanted |= {"gradient_cap": 1.3 - 0.5, "objective_gap": start_value(plain)}
    assert c == pytest.approx(wanted, rel=1e-12)


# --- the families once more, with and without each of their terms -----------------------------------------------------------------


def whole_of(p):
    """Smoothness, cap, and the gap or what it is at most, of each family's objective: from its docstring and its parts' constants."""
    c = {quantity: float(certificate.value) for quantity, certificate in p.certificates.items()}
    start = start_value(p)
    if isinstance(p, SharedComposite):
        steepest = math.sqrt(p.B_g**2 - p.sigma_g**2) - p.Delta_g
        mean_h = 0.0 if p.B_h == 0 else p.bowl.radial.smoothness + p.bowl.ripple.lipschitz * p.bowl.ripple.wavenumber
        exact = p.target == 0 or p.B_h == 0
        smooth, cap = mean_h + p.B_f * wave_sum(p.inner_map) + steepest**2 * p.L_f, p.B_h + p.B_f * steepest
        rest = {
            "outer_lipschitz": p.B_f, "outer_smoothness": p.L_f, "inner_smoothness": p.L_g, "inner_noise": p.sigma_g,
            "inner_mean_square_lipschitz": p.B_g, "inner_jacobian_heterogeneity": p.Delta_g, "noncompositional_smoothness": p.L_h,
            "noncompositional_gradient_noise": p.sigma_h, "noncompositional_heterogeneity": p.Delta_h,
            "noncompositional_sample_smoothness": p.L_h + p.sigma_h,
        }  # fmt: skip
    elif isinstance(p, LocalComposite):
        B, steepest = math.sqrt(p.C_f**2 - p.sigma_f**2), p.inner_map.lipschitz
        paired = (p.clients - p.clients % 2) / p.clients
        exact = p.Delta_g == p.spread == 0
        smooth, cap = steepest**2 * p.L_f + B * p.L_g, B * (steepest - p.Delta_g + p.Delta_g * paired)
        rest = {
            "outer_smoothness": p.L_f, "inner_smoothness": p.L_g, "inner_jacobian_heterogeneity": p.Delta_g,
            "composite_noise": max(p.sigma_f, p.sigma_g, p.delta_g), "outer_lipschitz": B, "outer_mean_square_lipschitz": p.C_f,
            "outer_gradient_noise": p.sigma_f, "outer_sample_lipschitz": B + p.sigma_f, "inner_jacobian_mean_square": p.C_g,
            "inner_sample_lipschitz": steepest + p.sigma_g, "inner_value_noise": p.delta_g, "inner_jacobian_noise": p.sigma_g,
            "outer_sample_smoothness": p.L_f + p.sigma_f,
            "inner_sample_smoothness": p.L_g + (p.sigma_g**2 / p.delta_g if p.delta_g else 0.0),
        }  # fmt: skip
    else:
        bent = p.S_g - (p.jacobian_noise**2 / p.sigma_g if p.sigma_g else 0.0)
        laws = p.outer_support * (p.clients if p.clients_differ else 1)
        steepest, exact = p.inner_map.lipschitz, p.Delta == p.spread == 0
        smooth, cap = steepest**2 * p.S_f + p.L_f * bent, p.L_f * (steepest - p.Delta + p.Delta * (laws > 1))
        rest = {
            "outer_sample_lipschitz": p.L_f, "outer_mean_square_lipschitz": p.L_f, "outer_sample_smoothness": p.S_f,
            "inner_jacobian_mean_square": p.L_g, "inner_sample_lipschitz": steepest + p.jacobian_noise,
            "inner_sample_smoothness": p.S_g, "inner_value_noise": p.sigma_g,
        }  # fmt: skip
    return c, rest | {"objective_smoothness": smooth, "gradient_cap": cap, "objective_gap": start}, exact


TERMS = [
    *(
        SharedComposite(clients=k, dim=6, inner_dim=m, B_f=1.3, L_f=0.4, B_g=1.7, L_g=0.2, sigma_g=noise, Delta_g=apart,
                        ripple=0.7, target=target, start=4.0, **({"B_h": 0.7, "L_h": 0.6, "sigma_h": 0.3} if h else {}))
        for k, m, noise, apart, target, h in product((3, 4), (1, 2), (0.0, 0.5), (0.0, 0.4), (0.0, -1.5), (False, True))
    ),
    *(
        LocalComposite(clients=k, dim=6, inner_dim=m, C_f=1.4, C_g=1.6, L_f=0.3, L_g=0.2, sigma_f=jitter, sigma_g=noise,
                       delta_g=0.7 * noise, Delta_g=apart, spread=spread, target=-1.2, start=3.0)
        for k, m, jitter, noise, apart, spread in product((3, 4), (1, 2), (0.0, 0.6), (0.0, 0.4), (0.0, 0.3), (0.0, 0.5))
    ),
    *(
        Conditional(clients=2, dim=6, inner_dim=2, outer_support=support, L_f=1.4, S_f=0.3, L_g=1.6, S_g=0.9, sigma_g=noise,
                    jacobian_noise=0.8 * noise, Delta=apart, spread=spread, clients_differ=differ, target=1.2, start=3.0)
        for support, noise, apart, spread, differ in product((2, 3), (0.0, 0.5), (0.0, 0.3), (0.0, 0.5), (False, True))
    ),
]  # fmt: skip


def test_constants_of_the_families_with_and_without_each_term():
    """All 160 combinations: a constant of a term that is not there is 0, one of a sum does not lose a term."""
    for p in TERMS:
        found, wanted, exact = whole_of(p)
        for quantity, value in wanted.items():
            if quantity == "objective_gap" and not exact and isinstance(p, SharedComposite):
                assert 0 < found[quantity] < value  # less a bound of the infimum, which is above 0
            else:
                assert found[quantity] == pytest.approx(value, rel=1e-7, abs=1e-12), (p, quantity)
        assert p.certificates["objective_gap"].kind == ("exact" if exact else "upper"), p


def test_a_long_range_of_the_logarithm_leaves_its_curvature_exact():
    """The pair that attains it is as near the lower end as is needed; a thousandth of the range was too far, and the problem refused."""
    one = RobustLoss(penalty="kl", weight=0.3).certificates["outer_smoothness"]
    (a,), (b,) = one.points
    assert one.kind == "exact" and b - a < 1e-3 * math.exp(1 / 0.3)
    assert (0.3 / a - 0.3 / b) / (b - a) == pytest.approx(one.witness * float(one.value), rel=1e-6)


# --- which constants are exact

SMALL = dict(clients=4, dim=4)


@pytest.mark.parametrize(
    ("instance", "upper"),
    [
        # a sum of two functions that are steepest, or most curved, at different points is bounded by the sum of the bounds
        (SharedComposite(**SMALL), {"objective_smoothness", "gradient_cap"}),
        (SharedComposite(**SMALL, B_h=0.7, L_h=0.6, sigma_h=0.2, sigma_g=0.3, Delta_g=0.2, Delta_h=0.1),
         {"objective_smoothness", "gradient_cap", "objective_gap", "inner_sample_smoothness", "noncompositional_sample_smoothness"}),
        (LocalComposite(**SMALL), {"objective_smoothness", "gradient_cap"}),
        (LocalComposite(**SMALL, sigma_f=0.3), {"objective_smoothness", "gradient_cap", "outer_sample_smoothness"}),
        (LocalComposite(**SMALL, C_g=1.5, sigma_g=0.3, delta_g=0.2, Delta_g=0.2),
         {"objective_smoothness", "gradient_cap", "objective_gap", "inner_sample_smoothness"}),
        (LocalComposite(**SMALL, spread=0.3), {"objective_smoothness", "gradient_cap", "objective_gap"}),
        (Conditional(**SMALL, S_g=0.9, sigma_g=0.0, jacobian_noise=0.0), {"objective_smoothness", "gradient_cap"}),
        (Conditional(**SMALL, S_g=0.9, Delta=0.2), {"objective_smoothness", "gradient_cap", "objective_gap", "inner_sample_smoothness"}),
        (FederatedQuadratic(**SMALL, sigma=0.3, Delta=0.2), set()),
        (FederatedHuber(**SMALL, sigma=0.3, Delta=0.2), set()),
        (FederatedSines(**SMALL, sigma=0.3, Delta=0.2), set()),
        (FederatedStronglyConvex(**SMALL, sigma=0.3, Delta=0.2), set()),
    ],
    ids=lambda v: getattr(v, "name", ""),
)  # fmt: skip
def test_which_constants_are_suprema(instance, upper):
    kinds = {quantity: certificate.kind for quantity, certificate in instance.certificates.items()}
    assert {quantity for quantity, kind in kinds.items() if kind != "exact"} == upper


@pytest.mark.parametrize(
    ("instance", "exact"),
    [
        (RobustLoss(clients=2, samples=4), {"outer_lipschitz", "outer_smoothness", "noncompositional_smoothness",
         "noncompositional_sample_smoothness", "noncompositional_gradient_noise", "noncompositional_heterogeneity"}),
        (RobustLoss(clients=2, samples=4, penalty="chi2", weight=2.0), {"outer_lipschitz", "outer_smoothness"}),
        (ClientChi2(clients=2, samples=4), {"outer_lipschitz", "outer_smoothness"}),
        (FairClassifier(clients=2, samples=8), {"outer_lipschitz", "outer_smoothness"}),
        (AveragePrecision(clients=2, samples=8), set()),
        (InvariantLogistic(clients=2), {"outer_sample_smoothness"}),
        (FederatedLogistic(clients=2, samples=4), {"local_smoothness", "local_sample_smoothness", "objective_smoothness", "objective_gap",
         "initial_gradient_heterogeneity"}),
    ],
    ids=lambda v: getattr(v, "name", ""),
)  # fmt: skip
def test_what_is_exact_with_data(instance, exact):
    """Of data only the curvature of the logistic loss at 0; else the outer functions, and what is 0."""
    found = {quantity for quantity, certificate in instance.certificates.items() if certificate.kind == "exact"}
    assert found == exact


@pytest.mark.parametrize("noise", [0.0, 0.4])
@pytest.mark.parametrize(
    ("target", "spread"), [(0.0, 0.0), (5e3, 0.0), (-5e3, 0.0), (0.0, 5e3), (3e3, 4e3), (0.3, 0.2)]
)
def test_stated_points_are_far_from_every_centre(target, spread, noise):
    """However far the centres are: the slope is within 1e-4 of its supremum there, and the curvature at the pair."""
    made = CenteredOuter(3, 2, 1.3, 0.7, noise, target, spread)
    stated = {
        c.quantity: [torch.tensor(p).double().expand(1, 3, 2) for p in c.points]
        for c in made.certificates()
        if c.points
    }
    ones = torch.ones(1, 3, dtype=torch.float64)
    for quantity, sup in (("outer_lipschitz", 1.3), ("outer_mean_square_lipschitz", 1.3)):
        (far,) = stated[quantity]
        assert float(made.gradient(far).norm(dim=-1).max()) >= 0.9999 * sup
    (far,) = stated["outer_sample_lipschitz"]
    assert float(made.gradient(far, ones).norm(dim=-1).max()) >= 0.9999 * (1.3 + noise)
    a, b = stated["outer_smoothness"]
    turn = (made.gradient(b) - made.gradient(a)).norm(dim=-1) / (b - a).norm(dim=-1)
    assert float(turn.max()) >= 0.9998 * 0.7


def test_hessians_that_do_not_differ_do_so_exactly():
    """Without heterogeneity the constant is 0, and exact; with it, it is attained where all clients have a crest."""
    for delta in (0.0, 0.3):
        found = Meta(clients=4, dim=2, Delta=delta).certificates["local_hessian_heterogeneity"]
        assert found.kind == "exact" and found.points and (found.value == 0) == (delta == 0)


def test_constants_of_a_bowl_whose_noise_turns_faster():
    made = RippledBowl(3, 4, 1.3, 0.8, noise=0.4, heterogeneity=0.5, noise_wavenumber=1.7)
    assert {c.quantity: c.value for c in made.certificates()} == {
        "noncompositional_smoothness": 0.8,
        "noncompositional_sample_smoothness": pytest.approx(0.8 + 0.4 * 1.7),
        "noncompositional_gradient_noise": 0.4,
        "noncompositional_heterogeneity": 0.5,
    }


def test_separable_losses_by_hand():
    p = AWAY["huber"]
    x = torch.tensor([[0.1, -3.0, 0.5]], dtype=torch.float64)
    g = 1.6 / math.sqrt(3)
    heights = [0.85 * t * t if abs(t) <= g / 1.7 else g * abs(t) - g * g / 3.4 for t in x[0].tolist()]
    assert float(p.objective(x)) == pytest.approx(sum(heights))
    assert AWAY["quadratic"].curvatures.tolist() == pytest.approx([1.7, 1.05, 0.4])
    assert FederatedQuadratic(clients=1, dim=1, L=2.0).curvatures.tolist() == [2.0]
    assert FederatedQuadratic(clients=1, dim=2, L=2.0, mu=0.5).curvatures.tolist() == [2.0, 0.5]


@pytest.mark.parametrize("start", [1e-9, 1.8e-8, 1e-3, 3.0])
def test_the_gap_of_a_cosine_is_known_near_its_minimum_too(start):
    """1 - cos t is 0 in doubles where t is 1e-9, and t^2/2 is not; the certificate says that it is exact."""
    gap = FederatedSines(clients=3, dim=1, start=start, L=1.0, G=1.0).certificates["objective_gap"]
    with mpmath.workdps(40):
        assert gap.kind == "exact" and abs(gap.value / (1 - mpmath.cos(start)) - 1) < 1e-14


@pytest.mark.parametrize("ridge", [1e-2, 1e10, 1e15])
def test_a_gap_that_is_smaller_than_the_rounding_of_its_parts_is_not_below_the_truth(ridge):
    made = FederatedLogistic(ridge=ridge, start=0.0)
    rows = made.data.features.flatten(0, 1)
    first = float(rows.mean(0).square().sum()) / 4  # |grad F(0)|^2, where the curvature is at least ridge and near it
    gap = made.certificates["objective_gap"].value
    if ridge > 1:
        assert gap >= first / (2 * (ridge + float(rows.square().sum(-1).mean()))) > 0
    assert 0 < gap < 1


# --- sizes computed from data are rounded up to a grid


@given(st.floats(1e-12, 1e12))
def test_rounding_goes_up_by_little_and_keeps_the_order(size):
    found = rounded_up(size)
    assert size * (1 + 5e-13) < found <= size * (1 + 2e-10)
    assert rounded_up(math.nextafter(size, math.inf)) >= found


def test_last_bits_do_not_show():
    sizes = [math.sqrt(n) for n in range(2, 400)]
    assert all(rounded_up(size) == rounded_up(size * (1 + 1e-15)) == rounded_up(size * (1 - 1e-15)) for size in sizes)
    assert rounded_up(0.0) == 0.0


def test_constants_of_data_are_on_the_grid():
    found = FederatedLogistic().certificates
    for name in ("local_gradient_noise", "local_gradient_heterogeneity", "objective_gap"):
        mantissa, _ = math.frexp(float(found[name].value))
        assert math.ldexp(mantissa, 40).is_integer(), name
