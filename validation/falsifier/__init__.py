"""Find out that a statement is false: a search over small adversarial instances, each violation checked exactly.

>>> from fedco.validation.falsifier import falsify
>>> falsify("local_scgdm.theorem_3_4", seconds=30).outcome           # doctest: +SKIP
'REFUTED'
"""

from .attack import Falsified, assert_not_falsified, falsify

__all__ = ["Falsified", "assert_not_falsified", "falsify"]
