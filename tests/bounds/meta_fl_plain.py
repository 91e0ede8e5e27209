"""meta_fl written again as plain Python, straight from the paper (and from docs/theory/meta_fl.md for what the
paper lacks).

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


def mu_F_FO(alpha, nu, B, L, sigma_G, D):  # (32)
    return sigma_G / sqrt(D[nu]) + L * h(nu, alpha, L, sigma_G, D) + B * ((1 + alpha * L) ** nu + 1)


def sigma_F_FO(alpha, nu, B, L, sigma_G, D):  # (33)
    path = 2 * L**2 * h2(nu, alpha, L, sigma_G, D)
    return sqrt(2 * sigma_G**2 / D[nu] + path + 2 * B**2 * ((1 + alpha * L) ** nu + 1) ** 2)


def q(nu, alpha, B, L, rho, delta):  # (41)
    return alpha * rho * delta * B**2 * sum((1 + alpha * L) ** (nu + i - 1) for i in range(nu))


def mu_F_HF(alpha, nu, B, L, rho, sigma_G, delta, D, H):  # (37), (39)
    p = sigma_G / sqrt(D[nu]) + L * h(nu, alpha, L, sigma_G, D)
    for l in range(1, nu + 1):
        noise = sigma_G / sqrt(H[nu - l]) + L * h(nu - l, alpha, L, sigma_G, D)
        p = (1 + alpha * L) * p + alpha / delta * noise
    return p + q(nu, alpha, B, L, rho, delta)


def sigma_F_HF(alpha, nu, B, L, rho, sigma_G, delta, D, H):  # (38), (40)
    p = sigma_G**2 / D[nu] + L**2 * h2(nu, alpha, L, sigma_G, D)
    for l in range(1, nu + 1):
        noise = sigma_G**2 / H[nu - l] + 2 * L**2 * h2(nu - l, alpha, L, sigma_G, D)
        p = 3 * p * (1 + alpha**2 * L**2) + 3 * alpha**2 / (2 * delta**2) * noise
    return sqrt(2 * p + 2 * q(nu, alpha, B, L, rho, delta) ** 2)


# --- Theorem 8 -------------------------------------------------------------------------------------------------------


def theorem_8_printed(F_gap, beta, tau, r, n, K, c, L_F, mu, sigma, gamma):  # (30)
    bracket = beta * L_F * (1 + beta * L_F * tau * (tau - 1)) * sigma**2
    bracket += beta * L_F * gamma**2 * ((1 - r) / (r * (n - 1)) + beta * L_F * tau * (tau - 1))
    return 4 * F_gap / (beta * tau * K) + c * (bracket + mu**2)


def theorem_8_explicit(F_gap, beta, tau, r, n, K, L_F, mu, sigma, gamma):  # docs/theory/meta_fl.md, part II
    s = 0.0 if r == 1 else (1 - r) / (r * (n - 1))
    x = beta * L_F
    return {
        "initialisation": 4 * F_gap / (beta * tau * K),
        "noise": (2 + 40 / 9 * s) * x * sigma**2,
        "drift_noise": 20 / 3 * x**2 * (tau - 1) * sigma**2,
        "sampling": 2320 / 243 * s * tau * x * gamma**2,
        "drift_heterogeneity": 800 / 81 * x**2 * tau * (tau - 1) * gamma**2,
        "bias": 1228 / 243 * mu**2,
    }


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


def per_fedavg(alpha, B, L, rho, sigma_G, sigma_H, gamma_G, gamma_H, D_in, D_out, D_H):
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
