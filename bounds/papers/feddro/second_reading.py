"""FedDRO: which findings did not stand when they were read again with the text beside them, and which have one cause."""

from ...audit.findings import Again, Withdrawn

SECOND_READING = (
    Again(
        "feddro.theorem_5_1:units",
        (
            "feddro.corollary_1:units",
            "feddro.corollary_2:units",
            "feddro.theorem_f_1:units",
            "feddro.lemma_f_5:units",
            "feddro.theorem_f_6:units",
        ),
    ),
    Withdrawn(
        (
            "feddro.theorem_5_1:homogeneity",
            "feddro.corollary_1:homogeneity",
            "feddro.theorem_f_1:homogeneity",
            "feddro.lemma_f_4:homogeneity",
            "feddro.lemma_f_5:homogeneity",
            "feddro.theorem_f_6:homogeneity",
        ),
        "Assumption 2 bounds the deviation of the Jacobian and of the value by the one sigma_g^2: one letter, two bounds, no fault",
    ),
    Withdrawn(
        (
            "feddro.theorem_5_1:condition:momentum_range",
            "feddro.corollary_1:condition:momentum_range",
            "feddro.corollary_2:condition:momentum_range",
            "feddro.theorem_f_1:condition:momentum_range",
            "feddro.lemma_f_5:condition:momentum_range",
            "feddro.theorem_4_2:condition:momentum_range",
        ),
        "Algorithm 2 takes a momentum between 0 and 1, so that the theorem speaks of no other",
    ),
    Withdrawn(
        (
            "feddro.theorem_4_2:terms",
            "feddro.theorem_4_2:condition:step_size_direction",
            "feddro.theorem_4_2:condition:step_size_drift",
            "feddro.theorem_4_2:condition:momentum_choice",
            "feddro.theorem_4_2:condition:step_size_period",
        ),
        "Theorem 4.2 says that some step size converges and prints no rate: there is nothing that a proof's conditions could contradict",
    ),
)
