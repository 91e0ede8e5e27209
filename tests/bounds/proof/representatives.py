"""Derivations that between them use every rule of the kernel, every kind of assumption and every kind of metric; `slow` tries all.

`test_check_on_instances.py` says so of the list as it stands: a rule that no name here uses fails there.
"""

from collections.abc import Iterable
from typing import Any

import pytest

NAMES = (
    "library.gd_strongly_convex",
    "library.gd_convex",
    "library.local_sgd_pl",
    "library.compressed_sgd",
    "library.sampled_sgd",
    "library.gossip_sgd",
    "library.local_sgd_convex",
    "library.error_feedback",
    "library.sgd_declining",
    "library.sgd_strongly_convex_averaged",
    "library.sgd_probable",
    "library.sgd_bounded_noise_probable",
    "meta_fl.lemma_4",
    "meta_fl.lemma_4 before:",
    "meta_fl.lemma_5",
    "meta_fl.lemma_7 before:",
    "meta_fl.lemma_11",
    "meta_fl.theorem_8",
    "baselines.local_sgd",
    "local_scgdm.theorem_3_4 A",
    "comfedl.theorem_2",
    "feddro.theorem_5_1",
    "acc_fcsg_m.theorem_4_7",
)
THEOREMS = tuple(dict.fromkeys(name.partition(" ")[0] for name in NAMES))


def slow_but(few: Iterable[str], names: Iterable[str]) -> list[Any]:
    """The names as parameters of a test, all but a few of them slow."""
    return [name if name in few else pytest.param(name, marks=pytest.mark.slow) for name in names]
