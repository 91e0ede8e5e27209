"""The method that a theorem is about, from the values of its symbols and of the instance's hyperparameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...algorithms import FCSG, FCSGM, AccFCSGM, ComFedL, FedDRO, LocalSCGDM, MetaFL, Method, ModifiedFedAvg


def feddro(values: Mapping[str, float]) -> Method:
    return FedDRO(eta=values["eta"], beta=values["beta"], I=int(values["I"]), b=int(values["b"]))


def modified_fedavg(values: Mapping[str, float]) -> Method:
    return ModifiedFedAvg(eta=values["eta"], I=int(values["I"]))


def _optional(values: Mapping[str, float], name: str) -> int | None:
    return int(values[name]) if name in values else None


def fcsg(values: Mapping[str, float]) -> Method:
    """b and B stand in the algorithm and not in the printed theorem, which holds for any."""
    return FCSG(
        alpha=values["alpha"], q=int(values["q"]), m=int(values["m"]), b=int(values["b"]), B=_optional(values, "B")
    )


def with_momentum(method: type[FCSGM] | type[AccFCSGM]) -> Callable[[Mapping[str, float]], Method]:
    def build(values: Mapping[str, float]) -> Method:
        whole = {name: int(values[name]) for name in ("q", "m", "b", "B")}
        return method(alpha=values["alpha"], beta=values["beta"], **whole)

    return build


def comfedl(problem_form: str) -> Callable[[Mapping[str, float]], Method]:
    """m is the number of clients in C_s; no statement depends on it."""

    def build(values: Mapping[str, float]) -> Method:
        return ComFedL(
            eta=values["eta"],
            tau=int(values["tau"]),
            b=int(values["b"]),
            b_1=_optional(values, "b_1") or 1,
            m=_optional(values, "m"),
            problem_form=problem_form,
        )

    return build


def local_scgdm(values: Mapping[str, float]) -> Method:
    """One sample per step, as in the box of Algorithm 1; the theorem has no batch size."""
    eta, alpha, beta, gamma = (values[name] for name in ("eta", "alpha", "beta", "gamma"))
    return LocalSCGDM(eta=eta, alpha=alpha, beta=beta, gamma=gamma, p=int(values["p"]))


def meta_fl(variant: str) -> Callable[[Mapping[str, float]], Method]:
    def build(values: Mapping[str, float]) -> Method:
        return MetaFL(
            beta=values["beta"],
            tau=int(values["tau"]),
            D=int(values["D"]),
            D_H=_optional(values, "D_H"),
            m=round(values["r"] * values["n"]),
            variant=variant,
            delta=values.get("delta", MetaFL.delta),
        )

    return build
