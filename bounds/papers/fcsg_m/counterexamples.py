"""FCSG-M: a printed claim refuted under the displayed Assumption 3.1, on the instance of FCSG with its 20,000 outcomes."""

from ...audit.refutation import Case, declared_in, refutes
from ..fcsg.counterexamples import READING, SAVED, WIDTH, case, smoothness, windows


@refutes(
    "fcsg_m.theorem_4_4",
    "fcsg_m.expected_smoothness",
    variant="displayed_assumption",
    reading=READING,
    alternatives=SAVED,
)
def fcsg_m() -> Case:
    """FCSG-M on 20000 outcomes, started 300 window widths away from the minimiser."""
    S_F = smoothness(windows(20000))
    return case(20000, 1 + 300 * WIDTH, 1 / (60 * S_F), 5 * S_F / (60 * S_F), 600, B=10**4, N=10**4)


REFUTATIONS = declared_in(globals())
