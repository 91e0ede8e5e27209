"""Local-SCGDM: which findings did not stand when they were read again with the text beside them."""

from ...audit.findings import Withdrawn

SECOND_READING = (
    Withdrawn(
        (
            "local_scgdm.corollary_3_5:condition:step_scale_descent",
            "local_scgdm.corollary_3_5:condition:momentum_range",
            "local_scgdm.corollary_3_5:condition:inner_momentum_range",
            "local_scgdm.corollary_3_5:condition:step_size",
            "local_scgdm.corollary_3_5:condition:period",
            "local_scgdm.corollary_conditions",
        ),
        "a corollary has the conditions of its theorem at its schedule; Remark 3.6 uses them",
    ),
    Withdrawn(
        ("local_scgdm.lemma_4_3:condition:momentum_range", "local_scgdm.lemma_4_3:condition:inner_momentum_range"),
        "the text of Algorithm 1 takes alpha eta and gamma eta between 0 and 1, so that its lemmas speak of no others",
    ),
)
