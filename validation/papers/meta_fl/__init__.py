"""Meta FL: how Theorem 8 is run, with its three estimates, and its code beside the update equations of the loops and of the theorem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ....algorithms import MetaFL, Method
from ...proofs.code import Code
from ...proofs.loops import ALL, PATH, LoopCode
from ...runs.recipe import Build, optional
from ...runs.tables import read_runs
from . import lemmas


def _loop(variant: str = "exact") -> Callable[[float], MetaFL]:
    return lambda delta: MetaFL(beta=1.0, tau=1, D=2, D_H=3, variant=variant, delta=delta)


SAMPLED, NOISELESS = LoopCode(_loop(), "u", "a"), LoopCode(_loop(), "w", "r")
FIRST_ORDER, HESSIAN_FREE = "variant = first_order", "variant = hessian_free"
NOISY_PATH = LoopCode(_loop(), "u", "m", frozenset({PATH}))


def _first_order(path: str, back: str = "", noisy: frozenset[str] = frozenset()) -> LoopCode:
    return LoopCode(_loop("first_order"), path, back, noisy, still=True, variant=FIRST_ORDER)


def _theorem(variant: str) -> tuple[Code, ...]:
    """The estimate of the gradient is a gradient plus an error, as in the theorem; what it is, the lemmas compare."""
    some = Code(
        lambda v: MetaFL(beta=v.beta, tau=v.tau, m=round(v.r * v.n), variant=variant),
        "meta",
        {"w": lambda step: step.after.x},
        {"gradient": "dF", "error": "e"},
        {"gradient 0": ("batches",)},
        model="w",
        sets="chosen",
        variant=f"variant = {variant}, some clients in each round",
    )
    return some, replace(some, left_out=0, variant=f"variant = {variant}, all clients in every round")


CODES = {
    "meta_fl.lemma_4": (SAMPLED, NOISELESS),
    "meta_fl.lemma_5": (_first_order("u", noisy=ALL), _first_order("w")),
    "meta_fl.lemma_6": (replace(SAMPLED, noisy=ALL), NOISY_PATH, NOISELESS),
    "meta_fl.lemma_7": (SAMPLED, replace(NOISELESS, path="v", shared=True)),
    "meta_fl.lemma_10": (_first_order("u", "g", ALL), _first_order("u", "m", frozenset({PATH})), NOISELESS),
    "meta_fl.lemma_11": (
        LoopCode(_loop("hessian_free"), "u", "a", ALL, variant=HESSIAN_FREE),
        LoopCode(_loop("hessian_free"), "w", "d", variant=HESSIAN_FREE),
        NOISY_PATH,
        NOISELESS,
    ),
    "meta_fl.theorem_8": _theorem("exact"),
    "meta_fl.theorem_8_FO": _theorem("first_order"),
    "meta_fl.theorem_8_HF": _theorem("hessian_free"),
}


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
