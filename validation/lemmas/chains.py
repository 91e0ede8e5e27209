"""The proofs as chains of lemmas: one entry per theorem, each lemma with the statistics that it names."""

from __future__ import annotations

from ...bounds.language.reading import InputError
from . import comfedl, conditional, feddro, local_scgdm, meta_fl
from .link import Chain

CHAINS: dict[str, Chain] = {
    "feddro.theorem_5_1": feddro.CHAIN,
    "feddro.theorem_f_1": feddro.CHAIN,
    "feddro.corollary_1": feddro.CHAIN,
    "local_scgdm.theorem_3_4": local_scgdm.CHAIN,
    "local_scgdm.corollary_3_5": local_scgdm.CHAIN,
    "comfedl.theorem_1": comfedl.GENERAL,
    "comfedl.theorem_2": comfedl.SPECIAL,
    "fcsg.theorem_4_1": conditional.FCSG,
    "fcsg.corollary_4_2": conditional.FCSG,
    "fcsg_m.theorem_4_4": conditional.FCSG_M,
    "fcsg_m.corollary_4_5": conditional.FCSG_M,
    "acc_fcsg_m.theorem_4_7": conditional.ACC_FCSG_M,
    "acc_fcsg_m.corollary_4_8": conditional.ACC_FCSG_M,
    "meta_fl.theorem_8": meta_fl.EXACT,
    "meta_fl.theorem_8_FO": meta_fl.FIRST_ORDER,
    "meta_fl.theorem_8_HF": meta_fl.HESSIAN_FREE,
}


def chain_for(theorem_id: str) -> Chain:
    """The chain of a theorem.

    Raises:
        InputError: none is declared.
    """
    if theorem_id not in CHAINS:
        raise InputError(f"{theorem_id[:60]}: no chain of lemmas; wanted one of {' '.join(CHAINS)}")
    return CHAINS[theorem_id]
