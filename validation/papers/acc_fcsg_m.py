"""Acc-FCSG-M: how its statements are run, on the problems of FCSG."""

from __future__ import annotations

from ...algorithms import AccFCSGM
from ..lemmas.link import LemmaChain, Link, after, before, mean_of, observed
from ..proofs.code import ESTIMATES
from ..runs.declaration import counts_rounds
from ..runs.tables import read_runs
from .fcsg import conditional
from .fcsg.lemmas import DESCENT, ESTIMATE, with_estimate

_OF_ONE_CLIENT = observed(before, "gradient_sq", "update_sq", "error_sq", client_deviation_sq="first_deviation_sq")
CHAIN = LemmaChain(
    with_estimate(at_the_mean=False),
    (
        Link("acc_fcsg_m.lemma_d_3", mean_of("dispersion_sq"), observed(mean_of, "update_sq"), ends_round=None),
        Link(
            "acc_fcsg_m.lemma_d_2",
            after("error_sq"),
            observed(before, "update_sq", "dispersion_sq", "error_sq"),
            feeds="error_sq",
            note="dispersion of the estimates as used: 0 at a communication",
        ),
        Link(
            "acc_fcsg_m.lemma_d_1",
            DESCENT,
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

RUNS = read_runs(
    __file__,
    chains=dict.fromkeys(("acc_fcsg_m.theorem_4_7", "acc_fcsg_m.corollary_4_8"), CHAIN),
    without={"acc_fcsg_m.remark_4_9": counts_rounds("acc_fcsg_m.corollary_4_8")},
    codes=CODES,
)
