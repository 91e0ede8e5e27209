"""Meta FL: how Theorem 8 is run, with its three estimates."""

from __future__ import annotations

from collections.abc import Mapping

from ....algorithms import MetaFL, Method
from ...runs.recipe import Build, optional
from ...runs.tables import read_runs
from . import lemmas
from .codes import CODES


def meta_fl(variant: str) -> Build:
    """r n clients take part in a round."""

    def build(values: Mapping[str, float]) -> Method:
        return MetaFL(
            beta=values["beta"],
            tau=int(values["tau"]),
            D=int(values["D"]),
            D_H=optional(values, "D_H"),
            m=round(values["r"] * values["n"]),
            variant=variant,
            delta=values.get("delta", MetaFL.delta),
        )

    return build


RUNS = read_runs(
    __file__,
    {
        "theorem_8": meta_fl("exact"),
        "theorem_8_FO": meta_fl("first_order"),
        "theorem_8_HF": meta_fl("hessian_free"),
    },
    chains={
        "meta_fl.theorem_8": lemmas.EXACT,
        "meta_fl.theorem_8_FO": lemmas.FIRST_ORDER,
        "meta_fl.theorem_8_HF": lemmas.HESSIAN_FREE,
    },
    codes=CODES,
)
