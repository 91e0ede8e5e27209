"""Derivations that between them use every rule of the kernel, every kind of assumption and every kind of metric; `slow` tries all.

`test_check_on_instances.py` says so of the list as it stands: a rule that no name here uses fails there.
"""

NAMES = (
    "library.gd_strongly_convex",
    "library.gd_convex",
    "library.local_sgd_pl",
    "library.compressed_sgd",
    "library.sampled_sgd",
    "library.gossip_sgd",
    "library.local_sgd_convex",
    "library.error_feedback",
    "library.delayed_sgd",
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
SHORT = (
    "library.gd_convex",
    "library.gd_strongly_convex",
    "library.local_sgd_pl",
    "library.compressed_sgd",
    "library.sampled_sgd",
    "library.sgd_declining",
    "library.sgd_bounded_noise_probable",
    "meta_fl.lemma_4",
    "meta_fl.lemma_4 before:",
    "baselines.local_sgd",
)
"""Of few steps and of different kinds: what an instance is made of for each."""
