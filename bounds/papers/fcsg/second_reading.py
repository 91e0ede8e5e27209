"""FCSG: which findings did not stand when they were read again with the text beside them."""

from ...audit.findings import Withdrawn

SECOND_READING = (
    Withdrawn(
        ("fcsg.corollary_4_2:condition:whole_period",),
        "a communication period is a whole number of steps; the corollary is about those horizons for which its own is",
    ),
)
