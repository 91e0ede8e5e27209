"""ComFedL: which findings did not stand when they were read again with the text beside them, and which have one cause."""

from ...audit.findings import Again, Withdrawn

SECOND_READING = (
    Again("comfedl.remark_1:units", ("comfedl.remark_2:units",)),
    Withdrawn(
        (
            "comfedl.theorem_1:units",
            "comfedl.theorem_2:units",
            "comfedl.lemma_3:units",
            "comfedl.lemma_4:units",
            "comfedl.lemma_3_step:units",
            "comfedl.lemma_4_step:units",
        ),
        "Assumption 3 bounds three noises by the one sigma: one letter, three bounds, no fault; what it costs is comfedl.sigma_max",
    ),
)
