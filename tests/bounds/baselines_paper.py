"""The baselines in plain Python, from the text of docs/theory/baselines.md: nothing of fedco is imported here."""

from __future__ import annotations


def local_sgd(L, G, sigma, F_gap, eta, p, b, N, T):
    drift = sum(s * s for s in range(int(p))) / p * eta**2 * L**2 * (G**2 + sigma**2 / b)
    return {"initialisation": 2 * F_gap / (eta * T), "variance": L * eta * sigma**2 / (N * b), "drift": drift}


def local_sgd_heterogeneity(L, sigma, zeta, F_gap, eta, p, b, N, T):
    squares, steps = sum(s * s for s in range(int(p))) / p, sum(range(int(p))) / p
    return {
        "initialisation": 2 * F_gap / (eta * T),
        "variance": L * eta * sigma**2 / (N * b),
        "heterogeneity": 2 * 4 * squares * eta**2 * L**2 * zeta**2,
        "noise_drift": 2 * 4 * steps * eta**2 * L**2 * sigma**2 / b * (N - 1) / N,
    }


def minibatch_sgd(L_bar, sigma, F_gap, eta, b, N, T):
    return {"initialisation": 2 * F_gap / (eta * T), "variance": L_bar * eta * sigma**2 / (N * b)}


def scgd(C_f, L_f, C_g, L_g, delta_g, F_gap, eta, gamma, b, N, T):
    noise = delta_g**2 / b
    return {
        "initialisation": 2 * F_gap / (eta * T),
        "inner_start": C_g**2 * L_f**2 * noise * (N * gamma + 2) / (N * gamma * T),
        "inner_noise": C_g**2 * L_f**2 * noise * gamma * (N * gamma + 2) / N,
        "inner_drift": 2 * C_g**6 * C_f**2 * L_f**2 * (eta / gamma) ** 2,
        "variance": (C_g**2 * L_f + C_f * L_g) * eta * C_f**2 * C_g**2 / N,
    }


def biased_sgd(C_g, delta_g, B_f, S_f, S_g, F_gap, eta, b, m, N, T):
    return {
        "initialisation": 2 * F_gap / (eta * T),
        "bias": (C_g * S_f * delta_g) ** 2 / m,
        "variance": (S_g * B_f + S_f * C_g**2) * eta * (B_f * C_g) ** 2 / (N * b),
    }


def averaged_noise(sigma, b, N):
    return {"variance": sigma**2 / (N * b)}


def step(smooth, eta, gradient_sq, direction_sq, bias_sq, noise_sq):
    """(b) of docs/theory/baselines.md: a - eta a^2 with the mean direction a, the gradient, and the noise."""
    return {
        "descent": -eta * gradient_sq / 2,
        "direction": -eta * (1 - smooth * eta) * direction_sq / 2,
        "bias": eta * bias_sq / 2,
        "variance": smooth * eta**2 * noise_sq / 2,
    }


def local_sgd_step(L, **seen):
    return step(L, **seen)


def local_sgd_bias(L, consensus_error):
    return {"drift": L**2 * consensus_error}


def local_sgd_descent(L, eta, gradient_sq, consensus_error, noise_sq):
    found = step(L, eta, gradient_sq, 0, local_sgd_bias(L, consensus_error)["drift"], noise_sq)
    return {"descent": found["descent"], "drift": found["bias"], "variance": found["variance"]}


def local_sgd_drift(G, sigma, eta, p, b):
    return {"drift": sum(s * s for s in range(int(p))) / p * eta**2 * (G**2 + sigma**2 / b)}


def local_sgd_heterogeneity_drift(L, sigma, zeta, eta, p, b, N):
    whole = local_sgd_heterogeneity(1, sigma, zeta, 1, eta, p, b, N, 1)
    return {name: whole[name] for name in ("heterogeneity", "noise_drift")}


def minibatch_sgd_descent(L_bar, eta, gradient_sq, noise_sq):
    """Where the mean direction is the gradient, nothing of the two is left out."""
    found = step(L_bar, eta, gradient_sq, gradient_sq, 0, noise_sq)
    return {"descent": found["descent"] + found["direction"], "variance": found["variance"]}


def scgd_moment(C_f, C_g):
    return {"variance": (C_f * C_g) ** 2}


def scgd_value(delta_g, gamma, b, kept_error):
    return {"kept": (1 - gamma) ** 2 * kept_error, "inner_noise": (gamma * delta_g) ** 2 / b}


def scgd_estimate(C_f, C_g, delta_g, eta, gamma, b, N, kept_error):
    least = 2 * gamma * delta_g**2 / (N * b), 2 * eta**2 * C_g**4 * C_f**2 / gamma**2
    return {"kept": (1 - gamma) * kept_error, "inner_noise": gamma * least[0], "inner_drift": gamma * least[1]}


def scgd_values(C_f, C_g, delta_g, eta, gamma, b, N, T):
    whole = scgd(C_f, 1, C_g, 1, delta_g, 1, eta, gamma, b, N, T)
    return {name: whole[name] / C_g**2 for name in ("inner_start", "inner_noise", "inner_drift")}


def scgd_descent(C_f, L_f, C_g, L_g, eta, N, gradient_sq, moment_sq, used_error):
    found = step(C_g**2 * L_f + C_f * L_g, eta, gradient_sq, 0, (C_g * L_f) ** 2 * used_error, moment_sq / N)
    return {name: found[name] for name in ("descent", "bias", "variance")}


def biased_sgd_noise(C_g, B_f, b, N):
    return {"variance": (B_f * C_g) ** 2 / (N * b)}


def biased_sgd_bias(C_g, delta_g, S_f, m):
    return {"bias": (C_g * S_f * delta_g) ** 2 / m}


def biased_sgd_step(C_g, B_f, S_f, S_g, **seen):
    return step(S_g * B_f + S_f * C_g**2, **seen)


def biased_sgd_descent(C_g, B_f, S_f, S_g, **seen):
    found = biased_sgd_step(C_g, B_f, S_f, S_g, direction_sq=0, **seen)
    return {name: found[name] for name in ("descent", "bias", "variance")}


PAPER = {
    (formula.__name__, "printed"): formula
    for formula in (
        *(local_sgd, local_sgd_heterogeneity, minibatch_sgd, scgd, biased_sgd),
        *(averaged_noise, local_sgd_step, local_sgd_bias, local_sgd_descent, local_sgd_drift),
        *(local_sgd_heterogeneity_drift, minibatch_sgd_descent, scgd_moment, scgd_value, scgd_estimate),
        *(scgd_values, scgd_descent, biased_sgd_noise, biased_sgd_bias, biased_sgd_step, biased_sgd_descent),
    )
}
SMOOTH = {
    "local_sgd": lambda v: v["L"],
    "minibatch_sgd": lambda v: v["L_bar"],
    "scgd": lambda v: v["C_g"] ** 2 * v["L_f"] + v["C_f"] * v["L_g"],
    "biased_sgd": lambda v: v["S_g"] * v["B_f"] + v["S_f"] * v["C_g"] ** 2,
}
"""The Lipschitz constant of the gradient of the objective, which limits the step size."""


def limited(smooth):
    return {"step_size": lambda v: (v["eta"] * smooth(v), "<=", 1)}


LONG = {"round_length": lambda v: (2 * (v["L"] * v["eta"]) ** 2 * v["p"] * (v["p"] - 1), "<=", 1)}
WEIGHT = {"momentum_range": lambda v: (v["gamma"], "<=", 1)}
CONDITIONS = {
    **{(name, "printed"): limited(smooth) for name, smooth in SMOOTH.items()},
    ("local_sgd_heterogeneity", "printed"): limited(SMOOTH["local_sgd"]) | LONG,
    ("local_sgd_heterogeneity_drift", "printed"): LONG,
    **{(f"{name}_descent", "printed"): limited(SMOOTH[name]) for name in ("local_sgd", "scgd", "biased_sgd")},
    **{("scgd", label): limited(SMOOTH["scgd"]) | WEIGHT for label in ("printed", "sharpened")},
    ("minibatch_sgd", "sharpened"): limited(SMOOTH["minibatch_sgd"]),
    **{(f"scgd_{name}", "printed"): WEIGHT for name in ("estimate", "values")},
}
