"""FCSG-M: how its statements are run, on the problems of FCSG."""

from __future__ import annotations

from ...algorithms import FCSGM
from ..lemmas.link import LemmaChain, Link, at_start, mean_of, observed
from ..proofs.code import ESTIMATES
from ..runs.declaration import counts_rounds
from ..runs.tables import read_runs
from .fcsg import conditional
from .fcsg.lemmas import DESCENT, ESTIMATE, per_step, summed_consensus, with_estimate

CHAIN = LemmaChain(
    with_estimate(at_the_mean=True),
    (
        Link("fcsg_m.lemma_c_3", summed_consensus, ends_round=None, feeds="consensus_error", fed=per_step),
        Link(
            "fcsg_m.lemma_c_2",
            mean_of("error_sq"),
            {
                **observed(mean_of, "update_sq", consensus_error="consensus"),
                "start_error_sq": at_start("error_sq"),
            },
            ends_round=None,
            feeds="error_sq",
        ),
        Link("fcsg_m.lemma_c_1", DESCENT, ESTIMATE),
    ),
    period="q",
)

CODES = {
    "fcsg_m.theorem_4_4": (
        conditional(lambda v: FCSGM(alpha=v.alpha, beta=v.beta, q=v.q, m=v.m, b=v.b, B=v.B), ESTIMATES),
    )
}

RUNS = read_runs(
    __file__,
    chains=dict.fromkeys(("fcsg_m.theorem_4_4", "fcsg_m.corollary_4_5"), CHAIN),
    without={"fcsg_m.remark_4_6": counts_rounds("fcsg_m.corollary_4_5")},
    codes=CODES,
)
