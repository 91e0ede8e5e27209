"""The metric of envelope.toml: ||grad F_m(x)||^2 for F_m(x) = min_z F(z) + L||z - x||^2, which is ||grad F||^2 where z is least."""


def envelope(problem, state, t):
    """(runs,) at the averaged models (runs, dim) of a state before step t."""
    L = float(problem.certificates["objective_smoothness"].value)
    near = state.average
    for _ in range(40):  # each halves the distance from the z that is least
        near = state.average - problem.gradient(near) / (2 * L)
    return problem.gradient(near).square().sum(-1)
