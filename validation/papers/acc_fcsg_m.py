"""Acc-FCSG-M: how its statements are run, on the problems of FCSG."""

from __future__ import annotations

from fractions import Fraction

from ...algorithms import AccFCSGM
from ..lemmas.link import LemmaChain, Link
from ..proofs.code import ESTIMATES
from ..runs.declaration import Runs, counts_rounds
from ..runs.instance import Instance
from ..runs.parameters import AT_REST, NEAR, powers
from .fcsg.codes import conditional
from .fcsg.instances import at_rest, three_problems, with_momentum
from .fcsg.lemmas import ESTIMATE, before, change, mean_of, with_estimate
from .fcsg.sweeps import ONE, of_complexity, of_corollary, of_theorem

R = Fraction


def _further() -> tuple[Instance, ...]:
    return (
        Instance(
            "conditional_noisy",
            {"alpha": R(13, 250), "q": 2, "m": 2, "b": 1, "B": 4},
            "least bound for rounds of 2",
            NEAR,
            (500, 750),
            "tuned",
        ),
        Instance(
            "conditional_homogeneous",
            {"alpha": R(28, 100), "q": 1, "m": 2, "b": 4, "B": 4},
            "alpha at 98% of its largest value",
            NEAR,
            (250, 500),
            "edge",
        ),
        Instance(
            "conditional_noisy",
            {"alpha": R(1, 20), "q": 2, "m": 1, "b": 1, "B": 4},
            "start at rest, one inner sample: bias, drift and variance make the bound",
            AT_REST,
            (200, 400),
            "stress",
        ),
    )


RECIPES = {
    "acc_fcsg_m.theorem_4_7": three_problems(
        with_momentum(AccFCSGM),
        ({"alpha": R(1, 20), "q": 1, "m": 2, "b": 2, "B": 4}, (250, 500)),
        ({"alpha": R(1, 25), "q": 2, "m": 2, "b": 1, "B": 4}, (300, 600)),
        ({"alpha": R(1, 25), "q": 2, "m": 2, "b": 1, "B": 4}, (450, 750)),
        *_further(),
        limit_exponent=-2 / 3,
    ),
    "acc_fcsg_m.corollary_4_8": three_problems(
        with_momentum(AccFCSGM),
        ({"m": 2, "b": 1}, powers(3, (2, 3), 64)),
        ({"m": 2, "b": 1}, powers(3, (3, 4), 64)),
        ({"m": 2, "b": 1}, powers(3, (3, 4), 64)),
        *at_rest(1728, 4096, clients=8),
        limit_exponent=-2 / 3,
        case="schedule",
        parameters={**NEAR, "clients": 8},
    ),
}
SWEEPS = {
    "acc_fcsg_m.theorem_4_7": of_theorem(
        "acc_fcsg_m.theorem_4_7",
        {"alpha": R(1, 50), "q": 1, "B": 4, **ONE},
        ("b", "B"),
        (R(1, 20), (250, 500, 1000)),
    ),
    "acc_fcsg_m.corollary_4_8": of_corollary("acc_fcsg_m.corollary_4_8", ONE, 512, 1000, 1728, claimed=-2 / 3),
}
COMPLEXITIES = {"acc_fcsg_m.corollary_4_8": of_complexity("acc_fcsg_m.corollary_4_8", 3, (8, 10, 14))}
_SEEN = ("gradient_sq", "update_sq", "error_sq")
_OF_ONE_CLIENT = {**{n: before(n) for n in _SEEN}, "client_deviation_sq": before("first_deviation_sq")}
CHAIN = LemmaChain(
    with_estimate(at_the_mean=False),
    (
        Link("acc_fcsg_m.lemma_d_3", mean_of("dispersion_sq"), {"update_sq": mean_of("update_sq")}, ends_round=None),
        Link(
            "acc_fcsg_m.lemma_d_2",
            lambda r: r["error_sq"][1:],
            {name: before(name) for name in ("update_sq", "dispersion_sq", "error_sq")},
            feeds="error_sq",
            note="dispersion of the estimates as used: 0 at a communication",
        ),
        Link(
            "acc_fcsg_m.lemma_d_1",
            change,
            ESTIMATE,
            statement="corrected",
            also={"printed": _OF_ONE_CLIENT},
            note="with the sum over the clients; as printed the deviation is that of one client, here the first",
        ),
    ),
    period="q",
)

CODES = {
    "acc_fcsg_m.theorem_4_7": (
        conditional(
            lambda v: AccFCSGM(alpha=v.alpha, beta=v.beta, q=v.q, m=v.m, b=v.b, B=v.B),
            {**ESTIMATES, "h": lambda step: step.stepped.u},
        ),
    )
}

RUNS = Runs(
    RECIPES,
    chains=dict.fromkeys(RECIPES, CHAIN),
    sweeps=SWEEPS,
    complexities=COMPLEXITIES,
    without={"acc_fcsg_m.remark_4_9": counts_rounds("acc_fcsg_m.corollary_4_8")},
    codes=CODES,
)
