"""A paper of one's own: two theorems on parallel SGD and a corollary, declared in Python.

    fedco bound parallel_sgd.py:theorem_1 --set L=1 --set sigma=1 --set F_gap=1 --set N=8 --set eta=1/10 --set b=4 --set T=1000
    fedco audit parallel_sgd.py

Problem: F(x) = (1/N) sum_i F_i(x), grad F is L-Lipschitz, each client's stochastic gradients are independent and unbiased
with variance at most sigma^2.
"""

import fedco

EVERYWHERE = {
    "L": "local_smoothness",
    "sigma": "local_gradient_noise",
    "F_gap": "objective_gap",
    "eta": "step_size",
    "N": "clients",
    "b": "batch_size",
    "T": "iterations",
}
SMALL_STEP = {"step_size": "eta <= 1/L"}

# One descent step: E F(x+) <= F(x) - eta (1 - L eta / 2) ||grad F||^2 + L eta^2 sigma^2 / (2 N b), and eta <= 1/L.
theorem_1 = fedco.define(
    id="parallel_sgd.theorem_1",
    title="minibatch SGD, smooth non-convex",
    symbols=EVERYWHERE,
    terms={"initialisation": "2*F_gap/(eta*T)", "variance": "L*eta*sigma**2/(N*b)"},
    conditions=SMALL_STEP,
    method={"name": "minibatch_sgd", "eta": "eta", "b": "b"},
)

# The same with p local steps between two averages; a client is at most eta p times a stochastic gradient from the average.
theorem_2 = fedco.define(
    id="parallel_sgd.theorem_2",
    title="local SGD, smooth non-convex, bounded gradients",
    symbols={**EVERYWHERE, "G": "local_gradient_bound", "p": "communication_period"},
    derived={"M": "sqrt(G**2 + sigma**2/b)"},
    terms={
        "initialisation": "2*F_gap/(eta*T)",
        "variance": "L*eta*sigma**2/(N*b)",
        "drift": "4*eta**2*p**2*L**2*M**2",
    },
    conditions=SMALL_STEP,
    method={"name": "local_sgd", "eta": "eta", "tau": "p", "b": "b"},
)

# Theorem 1 at eta = sqrt(N b / T) / L: linear speed-up in N b once T >= N b.
corollary_1 = fedco.define(
    id="parallel_sgd.corollary_1",
    title="linear speed-up of minibatch SGD",
    symbols=EVERYWHERE,
    terms={"initialisation": "2*L*F_gap/sqrt(N*b*T)", "variance": "sigma**2/sqrt(N*b*T)"},
    schedule={"eta": "sqrt(N*b/T)/L"},
    conditions={"horizon": "T >= N*b"},
    method={"name": "minibatch_sgd", "eta": "eta", "b": "b"},
    follows_from=theorem_1,
)

paper = fedco.Paper(
    "parallel_sgd",
    "Parallel SGD, an example",
    {"theorems": (theorem_1, theorem_2, corollary_1)},
    headlines=("theorem_1", "theorem_2"),
)
