"""meta_fl in plain Python, straight from the paper (and from docs/theory/meta_fl.md for what the paper lacks).

It shares no code with bounds/: floats, lists of batch sizes, sums as printed. D = [D_0..D_nu], H = [D'_0..D'_(nu-1)].
"""

from math import sqrt


def batch_fourth(kappa, sigma, size):  # (68), (69)
    return (kappa + 3 * (size - 1) * sigma**4) / size**3


def L_F(alpha, nu, B, L, rho):  # (19)
    return L * (1 + alpha * L) ** (2 * nu) + B * alpha * rho * (1 + alpha * L) ** (nu - 1) * sum(
        (1 + alpha * L) ** l for l in range(nu)
    )


def h(l, alpha, L, sigma_G, D):  # (20)
    return alpha * sigma_G * sum((1 + alpha * L) ** j / sqrt(D[l - 1 - j]) for j in range(l))


def h2(l, alpha, L, sigma_G, D):  # (21), and 0 where no step has been made
    if l == 0:
        return 0.0
    first = alpha**2 * sigma_G**2 * (2 + 2 * alpha**2 * L**2) ** (l - 1) / D[0]
    return first + 2 * alpha**2 * sigma_G**2 * sum((2 + 2 * alpha**2 * L**2) ** (l - j - 1) / D[j] for j in range(1, l))


def h4(l, alpha, L, sigma_G, kappa_G, D):  # (22)
    if l == 0:
        return 0.0
    ratio = 8 + 64 * alpha**4 * L**4
    first = alpha**4 * (kappa_G + 3 * (D[0] - 1) * sigma_G**4) * ratio ** (l - 1) / D[0] ** 3
    rest = sum((kappa_G + 3 * (D[j] - 1) * sigma_G**4) * ratio ** (l - j - 1) / D[j] ** 3 for j in range(1, l))
    return first + 64 * alpha**4 * rest


def d(nu, alpha, L, rho, sigma_G, sigma_H, D, H):  # (25)
    if nu == 1:
        return alpha**2 * sigma_H**2 / H[0]
    before = d(nu - 1, alpha, L, rho, sigma_G, sigma_H, D, H)
    return 2 * before * (1 + alpha * L + alpha * sigma_H / sqrt(H[nu - 1])) ** 2 + 2 * alpha**2 * (1 + alpha * L) ** (
        2 * nu - 2
    ) * (sigma_H**2 / H[nu - 1] + rho**2 * h2(nu - 1, alpha, L, sigma_G, D))


def d4(nu, alpha, L, rho, sigma_G, sigma_H, kappa_G, kappa_H, D, H):  # (26)
    now = (kappa_H + 3 * (H[nu - 1] - 1) * sigma_H**4) / H[nu - 1] ** 3
    if nu == 1:
        return alpha**4 * now
    before = d4(nu - 1, alpha, L, rho, sigma_G, sigma_H, kappa_G, kappa_H, D, H)
    path = rho**4 * h4(nu - 1, alpha, L, sigma_G, kappa_G, D)
    return 64 * before * ((1 + alpha * L) ** 4 + alpha**4 * now) + 64 * alpha**4 * (1 + alpha * L) ** (4 * nu - 4) * (
        path + now
    )


def mu_F(alpha, nu, B, L, rho, sigma_G, sigma_H, D, H):  # (23)
    return (
        (1 + alpha * L) ** nu * (sigma_G / sqrt(D[nu]) + L * h(nu, alpha, L, sigma_G, D))
        + B * alpha * rho * (1 + alpha * L) ** (nu - 1) * sum(h(j, alpha, L, sigma_G, D) for j in range(1, nu))
        + sqrt(
            d(nu, alpha, L, rho, sigma_G, sigma_H, D, H) * (sigma_G**2 / D[nu] + L**2 * h2(nu, alpha, L, sigma_G, D))
        )
    )


def sigma_F(alpha, nu, B, L, rho, sigma_G, sigma_H, kappa_G, kappa_H, D, H):  # (24)
    last = (kappa_G + 3 * (D[nu] - 1) * sigma_G**4) / D[nu] ** 3 + L**4 * h4(nu, alpha, L, sigma_G, kappa_G, D)
    return sqrt(
        3 * (1 + alpha * L) ** (2 * nu) * (sigma_G**2 / D[nu] + L**2 * h2(nu, alpha, L, sigma_G, D))
        + 3 * B**2 * d(nu, alpha, L, rho, sigma_G, sigma_H, D, H)
        + 6 * sqrt(2 * d4(nu, alpha, L, rho, sigma_G, sigma_H, kappa_G, kappa_H, D, H) * last)
    )


def gamma_F(alpha, nu, B, L, gamma_G, gamma_H):  # (27), (28)
    g = alpha**2 * gamma_H**2 * (1 + alpha * L) ** (2 * nu - 2) * (2 ** (nu - 1) + sum(2**l for l in range(1, nu)))
    return sqrt(15 * B**2 * g + 6 * gamma_G**2 * (1 + alpha * L) ** (2 * nu) * (1 + alpha**2 * L**2))


def first_order(alpha, nu, B, L, sigma_G, D):  # (32), (33)
    left_out = B * ((1 + alpha * L) ** nu + 1)
    square = 2 * sigma_G**2 / D[nu] + 2 * L**2 * h2(nu, alpha, L, sigma_G, D) + 2 * left_out**2
    return sigma_G / sqrt(D[nu]) + L * h(nu, alpha, L, sigma_G, D) + left_out, sqrt(square)


def q(nu, alpha, B, L, rho, delta):  # (41)
    return alpha * rho * delta * B**2 * sum((1 + alpha * L) ** (nu + i - 1) for i in range(nu))


def hessian_free(alpha, nu, B, L, rho, sigma_G, delta, D, H):  # (37) to (40)
    p = sigma_G / sqrt(D[nu]) + L * h(nu, alpha, L, sigma_G, D)
    p2 = sigma_G**2 / D[nu] + L**2 * h2(nu, alpha, L, sigma_G, D)
    for l in range(1, nu + 1):
        p = (1 + alpha * L) * p + alpha / delta * (sigma_G / sqrt(H[nu - l]) + L * h(nu - l, alpha, L, sigma_G, D))
        noise = sigma_G**2 / H[nu - l] + 2 * L**2 * h2(nu - l, alpha, L, sigma_G, D)
        p2 = 3 * p2 * (1 + alpha**2 * L**2) + 3 * alpha**2 / (2 * delta**2) * noise
    rest = q(nu, alpha, B, L, rho, delta)
    return p + rest, sqrt(2 * p2 + 2 * rest**2)


# --- corrected constants, docs/theory/meta_fl.md, part I --------------------------------------------------------------


def corrected_h2(l, alpha, L, sigma_G, D):  # M2
    return alpha**2 * sigma_G**2 * sum((1 + alpha * L) ** (2 * (l - 1 - j)) / D[j] for j in range(l))


def corrected_mu_F(alpha, nu, B, L, rho, sigma_G, D):  # M3
    A = 1 + alpha * L
    path = sum(sqrt(corrected_h2(j, alpha, L, sigma_G, D)) for j in range(1, nu))
    return A**nu * L * sqrt(corrected_h2(nu, alpha, L, sigma_G, D)) + B * alpha * rho * A ** (nu - 1) * path


def corrected_sigma_F(alpha, nu, B, L, rho, sigma_G, sigma_H, D, H):  # M3
    A, v, S = (
        1 + alpha * L,
        sigma_G**2 / D[nu] + L**2 * corrected_h2(nu, alpha, L, sigma_G, D),
        B**2 + sigma_G**2 / D[nu],
    )
    for l in range(1, nu + 1):
        wrong_place = alpha * rho * B * A ** (l - 1) * sqrt(corrected_h2(nu - l, alpha, L, sigma_G, D))
        v = (A * sqrt(v) + wrong_place) ** 2 + alpha**2 * sigma_H**2 / H[nu - l] * S
        S = (A**2 + alpha**2 * sigma_H**2 / H[nu - l]) * S
    return sqrt(v)


def corrected_gamma_F(alpha, nu, B, L, rho, gamma_G, gamma_H):  # M6
    A = 1 + alpha * L
    partial = [sum(A**j for j in range(l)) for l in range(nu)]
    return gamma_G * A ** (2 * nu) + alpha * B * A ** (nu - 1) * (nu * gamma_H + alpha * rho * gamma_G * sum(partial))


def corrected_first_order(alpha, nu, B, L, sigma_G, D):  # M4
    mu = L * sqrt(corrected_h2(nu, alpha, L, sigma_G, D)) + B * ((1 + alpha * L) ** nu - 1)
    return mu, sqrt(sigma_G**2 / D[nu] + mu**2)


def corrected_hessian_free(alpha, nu, B, L, rho, sigma_G, sigma_H, delta, D, H):  # M5
    A, v, T = (
        1 + alpha * L,
        sigma_G**2 / D[nu] + L**2 * corrected_h2(nu, alpha, L, sigma_G, D),
        B**2 + sigma_G**2 / D[nu],
    )
    added = rest = 0.0
    for l in range(1, nu + 1):
        added = A * added + alpha * rho * delta / 2 * T
        rest = A * rest + alpha * rho * delta / 2 * B**2 * A ** (2 * l - 2)
        noise = min(sigma_G**2 / delta**2, sigma_H**2 * T) / H[nu - l]
        wrong_place = alpha * rho * B * A ** (l - 1) * sqrt(corrected_h2(nu - l, alpha, L, sigma_G, D))
        v = (A * sqrt(v) + wrong_place) ** 2 + alpha**2 * noise
        T = A**2 * T + alpha**2 * noise
    return corrected_mu_F(alpha, nu, B, L, rho, sigma_G, D) + added, sqrt(v) + rest


# --- every constant by its name ---------------------------------------------------------------------------------------

ABSENT = dict.fromkeys(
    (
        "alpha",
        "B",
        "L",
        "rho",
        "sigma_G",
        "sigma_H",
        "kappa_G",
        "kappa_H",
        "gamma_G",
        "gamma_H",
        "delta",
        "D",
        "D_H",
        "nu",
    ),
    1.0,
)
"""A statement that does not have a symbol has no constant that depends on it."""


def sizes(nu, D, D_H, **_):
    """A statement has one batch size for all steps."""
    return int(nu), [D] * (int(nu) + 1), [D_H] * int(nu)


def printed(**given):
    v = ABSENT | given
    nu, D, H = sizes(**v)
    path, hessian = (v["alpha"], v["L"], v["sigma_G"]), (v["rho"], v["sigma_G"], v["sigma_H"])
    smooth, moments = (v["alpha"], nu, v["B"], v["L"]), (v["kappa_G"], v["kappa_H"])
    out = {
        "L_F": L_F(*smooth, v["rho"]),
        "h_nu": h(nu, *path, D),
        "h2_nu": h2(nu, *path, D),
        "h4_nu": h4(nu, *path, v["kappa_G"], D),
        "d_nu": d(nu, v["alpha"], v["L"], *hessian, D, H),
        "d4_nu": d4(nu, v["alpha"], v["L"], *hessian, *moments, D, H),
        "mu_F": mu_F(*smooth, *hessian, D, H),
        "sigma_F": sigma_F(*smooth, *hessian, *moments, D, H),
        "gamma_F": gamma_F(*smooth, v["gamma_G"], v["gamma_H"]),
        "q_nu": q(nu, v["alpha"], v["B"], v["L"], v["rho"], v["delta"]),
        "kbar_G": batch_fourth(v["kappa_G"], v["sigma_G"], v["D"]),
        "kbar_H": batch_fourth(v["kappa_H"], v["sigma_H"], v["D_H"]),
    }
    out["mu_F_FO"], out["sigma_F_FO"] = first_order(*smooth, v["sigma_G"], D)
    out["mu_F_HF"], out["sigma_F_HF"] = hessian_free(*smooth, v["rho"], v["sigma_G"], v["delta"], D, H)
    return out | {"heterogeneity": out["gamma_F"] ** 2}


def corrected(**given):
    v = ABSENT | given
    nu, D, H = sizes(**v)
    smooth, hessian = (v["alpha"], nu, v["B"], v["L"]), (v["rho"], v["sigma_G"], v["sigma_H"])
    out = {
        "L_F": L_F(*smooth, v["rho"]),
        "h2_nu": corrected_h2(nu, v["alpha"], v["L"], v["sigma_G"], D),
        "mu_F": corrected_mu_F(*smooth, v["rho"], v["sigma_G"], D),
        "sigma_F": corrected_sigma_F(*smooth, *hessian, D, H),
        "gamma_F": corrected_gamma_F(*smooth, v["rho"], v["gamma_G"], v["gamma_H"]),
        "q_nu": q(nu, v["alpha"], v["B"], v["L"], v["rho"], v["delta"]) / 2,
    }
    out["mu_F_FO"], out["sigma_F_FO"] = corrected_first_order(*smooth, v["sigma_G"], D)
    out["mu_F_HF"], out["sigma_F_HF"] = corrected_hessian_free(*smooth, *hessian, v["delta"], D, H)
    return out | {"h_nu": out["h2_nu"] ** 0.5, "heterogeneity": out["gamma_F"] ** 2}


# --- Theorem 8 -------------------------------------------------------------------------------------------------------


def theorem_8(kind):
    """(30)."""

    def total(F_gap, beta, tau, r, n, K, c, **v):
        known = printed(**v)
        L, mu, sigma, gamma = (known[name] for name in ("L_F", f"mu_F{kind}", f"sigma_F{kind}", "gamma_F"))
        bracket = beta * L * (1 + beta * L * tau * (tau - 1)) * sigma**2
        bracket += beta * L * gamma**2 * ((1 - r) / (r * (n - 1)) + beta * L * tau * (tau - 1))
        return known | {"total": 4 * F_gap / (beta * tau * K) + c * (bracket + mu**2)}

    return total


def theorem_8_explicit(kind, constants):
    """docs/theory/meta_fl.md, part II."""

    def terms(F_gap, beta, tau, r, n, K, **v):
        known = constants(**v)
        mu, sigma, gamma = (known[name] for name in (f"mu_F{kind}", f"sigma_F{kind}", "gamma_F"))
        s, x = (1 - r) / (r * (n - 1)), beta * known["L_F"]
        return known | {
            "initialisation": 4 * F_gap / (beta * tau * K),
            "noise": (2 + 40 / 9 * s) * x * sigma**2,
            "drift_noise": 20 / 3 * x**2 * (tau - 1) * sigma**2,
            "sampling": 2320 / 243 * s * tau * x * gamma**2,
            "drift_heterogeneity": 800 / 81 * x**2 * tau * (tau - 1) * gamma**2,
            "bias": 1228 / 243 * mu**2,
        }

    return terms


KINDS = {"theorem_8": "", "theorem_8_FO": "_FO", "theorem_8_HF": "_HF"}
PAPER = {
    **{(f"lemma_{i}", label): printed for i in (4, 5, 6, 7, 10, 11, 12) for label in ("printed", "composed")},
    **{(f"lemma_{i}", "corrected"): corrected for i in (5, 6, 7, 10, 11)},
    **{(name, "printed"): theorem_8(kind) for name, kind in KINDS.items()},
    **{(name, "composed"): theorem_8_explicit(kind, printed) for name, kind in KINDS.items()},
    **{(name, "corrected"): theorem_8_explicit(kind, corrected) for name, kind in KINDS.items()},
}
STEPS = {"steps": lambda v: (v["nu"], ">=", 1)}
EIGHT = {
    "participation": lambda v: (v["r"], "<=", 1),
    "participants": lambda v: (v["r"] * v["n"], ">=", 1),
    "step_size": lambda v: (
        v["beta"] * 10 * v["tau"] * L_F(v["alpha"], int(v["nu"]), v["B"], v["L"], v["rho"]),
        "<=",
        1,
    ),
}
CONDITIONS = {
    **{(f"lemma_{i}", label): STEPS for i in (5, 6, 7, 10, 11) for label in ("printed", "composed")},
    ("lemma_6", "printed"): {"steps": lambda v: (v["nu"], ">", 1)},
    **{
        (name, label): EIGHT if label in ("corrected", "sharpened") else EIGHT | STEPS
        for name in KINDS
        for label in ("printed", "composed", "corrected", "sharpened")
    },
}


def per_fedavg(alpha, B, L, rho, sigma_G, sigma_H, gamma_G, gamma_H, D_in, D_out, D_H, **_):
    """Constants of Fallah, Mokhtari, Ozdaglar (2020) for one step and alpha <= 1/L."""
    inner = 1 / D_out + (alpha * L) ** 2 / D_in
    return {
        "L_F": 4 * L + alpha * rho * B,
        "mu_F": 2 * alpha * L * sigma_G / sqrt(D_in),
        "sigma_F": sqrt(
            max(0.0, 12 * (B**2 + sigma_G**2 * inner) * (1 + sigma_H**2 * alpha**2 / (4 * D_H)) - 12 * B**2)
        ),
        "gamma_F": sqrt(3 * B**2 * alpha**2 * gamma_H**2 + 192 * gamma_G**2),
    }
