"""FCSG-M: how its statements are run, on the problems of FCSG."""

from __future__ import annotations

from fractions import Fraction

from ...algorithms import FCSGM
from ..lemmas.link import LemmaChain, Link
from ..proofs.code import ESTIMATES
from ..runs.declaration import Runs, counts_rounds
from ..runs.instance import Instance
from ..runs.parameters import AT_REST, NEAR, powers
from .fcsg.codes import conditional
from .fcsg.instances import at_rest, three_problems, with_momentum
from .fcsg.lemmas import ESTIMATE, change, mean_of, per_step, summed_consensus, with_estimate
from .fcsg.sweeps import ONE, of_complexity, of_corollary, of_theorem

R = Fraction


def _further() -> tuple[Instance, ...]:
    return (
        Instance(
            "conditional_noisy",
            {"alpha": R(27, 1000), "q": 2, "m": 4, "b": 1, "B": 4},
            "least bound for rounds of 2",
            NEAR,
            (900, 1250),
            "tuned",
        ),
        Instance(
            "conditional_homogeneous",
            {"alpha": R(3, 20), "q": 1, "m": 2, "b": 1, "B": 4},
            "half of the largest alpha, 32 clients: at the largest, drift alone exceeds the cap",
            {**NEAR, "clients": 32},
            (200, 400),
            "interior",
        ),
        Instance(
            "conditional_noisy",
            {"alpha": R(1, 60), "q": 2, "m": 2, "b": 1, "B": 4},
            "start at rest: variance, drift and bias make the bound",
            AT_REST,
            (200, 400),
            "stress",
        ),
    )


RECIPES = {
    "fcsg_m.theorem_4_4": three_problems(
        with_momentum(FCSGM),
        ({"alpha": R(1, 20), "q": 1, "m": 2, "b": 1, "B": 4}, (400, 800)),
        ({"alpha": R(1, 40), "q": 2, "m": 2, "b": 1, "B": 4}, (500, 1000)),
        ({"alpha": R(1, 40), "q": 2, "m": 4, "b": 1, "B": 4}, (750, 1250)),
        *_further(),
    ),
    "fcsg_m.corollary_4_5": three_problems(
        with_momentum(FCSGM),
        ({"m": 2, "b": 1, "B": 1}, powers(4, (5, 6), 8)),
        ({"m": 2, "b": 1, "B": 1}, powers(4, (5, 6), 8)),
        ({"m": 4, "b": 1, "B": 1}, powers(4, (5, 6), 8)),
        *at_rest(5000, 10368, clients=2, B=1),
        case="schedule",
        parameters={"start": 2.0, "dim": 8, "clients": 2},
    ),
}
SWEEPS = {
    "fcsg_m.theorem_4_4": of_theorem(
        "fcsg_m.theorem_4_4",
        {"alpha": R(1, 100), "q": 1, "B": 4, **ONE},
        ("B",),
        (R(1, 20), (400, 800, 1600)),
    ),
    "fcsg_m.corollary_4_5": of_corollary("fcsg_m.corollary_4_5", {**ONE, "B": 1}, 625, 1296, 2401),
}
COMPLEXITIES = {"fcsg_m.corollary_4_5": of_complexity("fcsg_m.corollary_4_5", 4, (6, 8, 10), B=1)}
CHAIN = LemmaChain(
    with_estimate(at_the_mean=True),
    (
        Link("fcsg_m.lemma_c_3", summed_consensus, ends_round=None, feeds="consensus_error", fed=per_step),
        Link(
            "fcsg_m.lemma_c_2",
            mean_of("error_sq"),
            {
                "consensus_error": mean_of("consensus"),
                "update_sq": mean_of("update_sq"),
                "start_error_sq": lambda r: r["error_sq"][0][None, :],
            },
            ends_round=None,
            feeds="error_sq",
        ),
        Link("fcsg_m.lemma_c_1", change, ESTIMATE),
    ),
    period="q",
)

CODES = {
    "fcsg_m.theorem_4_4": (
        conditional(lambda v: FCSGM(alpha=v.alpha, beta=v.beta, q=v.q, m=v.m, b=v.b, B=v.B), ESTIMATES),
    )
}

RUNS = Runs(
    RECIPES,
    chains=dict.fromkeys(RECIPES, CHAIN),
    sweeps=SWEEPS,
    complexities=COMPLEXITIES,
    without={"fcsg_m.remark_4_6": counts_rounds("fcsg_m.corollary_4_5")},
    codes=CODES,
)
