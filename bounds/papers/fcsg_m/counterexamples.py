"""FCSG-M: a printed claim refuted under the displayed Assumption 3.1, on the instance of FCSG."""

from ...audit.refutation import Case, declared_in, refutes
from ..fcsg import instances as lab
from ..fcsg.counterexamples import READING, windows
from ..fcsg.instances import smoothness


@refutes(
    "fcsg_m.theorem_4_4",
    "fcsg_m.expected_smoothness",
    variant="displayed_assumption",
    reading=READING,
    alternatives={"every sample has the Lipschitz constants, as the lemmas use": "not refuted"},
)
def fcsg_m() -> Case:
    """FCSG-M on 20000 outcomes, started 300 window widths away from the minimiser."""
    known = lab.windows(20000)
    alpha = 1 / (60 * smoothness(known))
    beta = 5 * smoothness(known) * alpha
    return windows("fcsg_m", 20000, 1 + 300 * lab.WIDTH, alpha, beta, 1, 600, B=10**4, N=10**4)


REFUTATIONS = declared_in(globals())
