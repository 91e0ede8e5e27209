"""FedDRO: the derivations that the kernel checks; docs/theory/feddro.md comments on them."""

from .derivation_main import theorem_5_1
from .derivation_modified import theorem_4_2

DERIVATIONS = (("theorem_5_1", theorem_5_1), ("theorem_4_2", theorem_4_2))
