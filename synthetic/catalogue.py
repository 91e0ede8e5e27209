"""The registered problems: a name, the family that builds it, and its parameters.

The FedDRO presets are tuned for Theorem 5.1 with eta = sqrt(bK/T): at the horizons in the comments the printed bound is
well below gradient_cap^2, so that a verdict can support it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from typing import Any

import torch

from ..errors import InputError
from ..suggestion import instead
from ..user_files import FAILURES, installed, is_python_file, load_installed, load_object, one_line, split_file, told
from .families.auprc import AveragePrecision
from .families.bilevel import QuadraticLower
from .families.bowls import AgnosticMAML, FederatedBowl, FederatedMAML, Meta
from .families.composite import LocalComposite, SharedComposite
from .families.conditional import Conditional
from .families.counterexample import FedAvgCounterexample
from .families.dro import ClientChi2, ClientKL, RobustLoss
from .families.fairness import FairClassifier
from .families.federated import FederatedHuber, FederatedQuadratic, FederatedSines, FederatedStronglyConvex
from .families.federated_logistic import FederatedLogistic
from .families.invariant import InvariantLogistic
from .families.minimax import Saddle
from .kinds import AbstractProblem
from .models.build import from_description


@dataclass(frozen=True)
class Preset:
    """How to build a problem: `family(name=..., **parameters)`."""

    family: Callable[..., AbstractProblem]
    summary: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def all_parameters(self) -> dict[str, Any]:
        """Every parameter with its value: the defaults of the family, and what the preset sets."""
        defaults = {name: item.default for name, item in signature(self.family).parameters.items() if name != "name"}
        return {**defaults, **self.parameters}


_FEDDRO = {"B_f": 1.0, "L_f": 0.2, "L_g": 0.1, "B_h": 0.3, "L_h": 0.1, "ripple": 0.8, "target": 2.0, "start": 20.0}
_LOCAL = {"C_f": 1.0, "L_f": 0.2, "L_g": 0.1, "ripple": 0.8, "target": 2.0, "start": 20.0}
_CONDITIONAL = {"L_f": 1.0, "S_f": 0.2, "S_g": 0.25, "ripple": 0.8, "target": 2.0, "start": 20.0}
_META = {"alpha": 0.1, "L": 0.3, "start": 12.0}
_TABLE = {"clients": 5, "dim": 6, "loss": "logistic", "M": 2.0, "weight": 2.0, "shift": 0.5}
_HUBER = {"G": 1.2, "L": 0.7, "start": 12.0}
_MAML = {"dim": 4, "lam": 0.1, "L_1": 0.3, "start": 12.0}

PRESETS: dict[str, Preset] = {
    "feddro_homogeneous": Preset(
        SharedComposite,
        "4 equal clients, little noise",
        _FEDDRO | {"clients": 4, "B_g": 1.05, "sigma_g": 0.1, "sigma_h": 0.1},
    ),
    "feddro_heterogeneous": Preset(
        SharedComposite,
        "8 clients whose Jacobians and gradients differ as much as they turn",
        _FEDDRO
        | {"clients": 8, "inner_dim": 2, "B_g": 1.35, "sigma_g": 0.1, "sigma_h": 0.1, "Delta_g": 0.35, "Delta_h": 0.25},
    ),
    "feddro_noisy": Preset(
        SharedComposite,
        "16 equal clients with noise nearly as large as the signal",
        _FEDDRO | {"clients": 16, "inner_dim": 4, "B_g": 1.3, "sigma_g": 0.8, "sigma_h": 0.8},
    ),
    "feddro_without_h": Preset(
        SharedComposite,
        "8 clients and h = 0, for Theorem 4.2",
        _FEDDRO | {"clients": 8, "inner_dim": 2, "B_h": 0.0, "L_h": 0.0, "B_g": 1.35, "Delta_g": 0.35, "sigma_g": 0.1},
    ),
    "feddro_without_h_homogeneous": Preset(
        SharedComposite,
        "4 equal clients and h = 0, little noise",
        _FEDDRO | {"clients": 4, "B_h": 0.0, "L_h": 0.0, "B_g": 1.05, "sigma_g": 0.1},
    ),
    "feddro_without_h_noisy": Preset(
        SharedComposite,
        "8 equal clients and h = 0, inner noise nearly as large as the signal",
        _FEDDRO | {"clients": 8, "inner_dim": 2, "B_h": 0.0, "L_h": 0.0, "B_g": 1.3, "sigma_g": 0.8},
    ),
    "feddro_counterexample": Preset(FedAvgCounterexample, "the paper's two clients on which vanilla FedAvg fails"),
    "local_homogeneous": Preset(
        LocalComposite,
        "4 equal clients with one outer function, little inner noise",
        _LOCAL | {"clients": 4, "C_g": 1.05, "sigma_g": 0.1, "delta_g": 0.1},
    ),
    "local_heterogeneous": Preset(
        LocalComposite,
        "8 clients whose inner and outer functions differ",
        _LOCAL
        | {
            "clients": 8,
            "inner_dim": 2,
            "C_g": 1.4,
            "sigma_f": 0.1,
            "sigma_g": 0.1,
            "delta_g": 0.1,
            "Delta_g": 0.4,
            "spread": 1.0,
        },
    ),
    "local_noisy": Preset(
        LocalComposite,
        "16 equal clients, all three oracles noisy",
        _LOCAL | {"clients": 16, "inner_dim": 4, "C_g": 1.3, "sigma_f": 0.5, "sigma_g": 0.5, "delta_g": 0.4},
    ),
    "conditional_homogeneous": Preset(
        Conditional,
        "4 clients with one law of 4 outcomes, little inner noise",
        _CONDITIONAL | {"clients": 4, "L_g": 1.2, "Delta": 0.1, "sigma_g": 0.1, "jacobian_noise": 0.1},
    ),
    "conditional_heterogeneous": Preset(
        Conditional,
        "8 clients, each with 4 outcomes of its own",
        _CONDITIONAL
        | {
            "clients": 8,
            "inner_dim": 2,
            "L_g": 1.4,
            "Delta": 0.4,
            "spread": 1.0,
            "clients_differ": True,
            "sigma_g": 0.1,
            "jacobian_noise": 0.1,
        },
    ),
    "conditional_noisy": Preset(
        Conditional,
        "8 clients with one law, inner noise as large as half the signal",
        _CONDITIONAL
        | {
            "clients": 8,
            "inner_dim": 2,
            "L_g": 1.3,
            "Delta": 0.1,
            "spread": 0.5,
            "sigma_g": 0.8,
            "jacobian_noise": 0.3,
        },
    ),
    "meta_homogeneous": Preset(
        Meta, "4 agents with one task, little noise", _META | {"clients": 4, "sigma_G": 0.05, "sigma_H": 0.05}
    ),
    "meta_heterogeneous": Preset(
        Meta,
        "8 agents whose tasks have different minimisers, 3 fine-tuning steps",
        _META | {"clients": 8, "nu": 3, "B": 1.3, "Delta": 0.3, "sigma_G": 0.05, "sigma_H": 0.05},
    ),
    "meta_noisy": Preset(
        Meta,
        "16 agents with one task, noise of kurtosis 3",
        _META | {"clients": 16, "sigma_G": 0.5, "sigma_H": 0.3, "kurtosis": 3},
    ),
    "federated_homogeneous": Preset(
        FederatedHuber, "4 equal clients with Huber losses, little noise", _HUBER | {"clients": 4, "sigma": 0.1}
    ),
    "federated_heterogeneous": Preset(
        FederatedBowl,
        "8 clients with non-convex losses whose gradients and Hessians differ",
        {"G": 1.3, "L": 0.6, "Delta": 0.3, "sigma": 0.1, "noise_wavenumber": 0.7, "start": 8.0},
    ),
    "federated_noisy": Preset(
        FederatedHuber,
        "8 clients with Huber losses that differ, noise of kurtosis 3 nearly as large as the signal",
        _HUBER | {"Delta": 0.2, "sigma": 0.8, "kurtosis": 3},
    ),
    "federated_quadratic": Preset(
        FederatedQuadratic,
        "8 clients with quadratic losses and different minimisers: unbounded gradients",
        {"L": 0.7, "mu": 0.2, "Delta": 0.4, "sigma": 0.3},
    ),
    "federated_strongly_convex": Preset(
        FederatedStronglyConvex,
        "4 clients with strongly convex losses, steep near the minimiser and flat away from it",
        {"clients": 4, "L": 0.8, "mu": 0.2, "Delta": 0.2, "sigma": 0.4, "start": 5.0},
    ),
    "federated_sines": Preset(
        FederatedSines,
        "6 clients with tilted sines: non-convex, with stationary points everywhere",
        {"clients": 6, "dim": 4, "L": 0.7, "G": 1.2, "Delta": 0.3, "sigma": 0.2, "start": 1.0},
    ),
    "federated_logistic": Preset(
        FederatedLogistic, "logistic regression on generated data, 6 clients with laws of their own"
    ),
    "federated_breast_cancer": Preset(
        FederatedLogistic,
        "logistic regression with a ridge, breast cancer table sorted over 5 clients",
        {"clients": 5, "samples": 24, "dim": 6, "ridge": 0.05, "table": "breast_cancer", "shift": 1.0},
    ),
    "maml_homogeneous": Preset(
        FederatedMAML, "4 clients with one task, little noise", _MAML | {"clients": 4, "sigma_1": 0.05, "sigma_2": 0.05}
    ),
    "maml_heterogeneous": Preset(
        FederatedMAML,
        "8 clients whose tasks have different minimisers",
        _MAML | {"clients": 8, "G": 1.3, "Delta": 0.3, "sigma_1": 0.05, "sigma_2": 0.05},
    ),
    "maml_noisy": Preset(
        FederatedMAML,
        "8 clients with one task, noise of kurtosis 3",
        _MAML | {"clients": 8, "sigma_1": 0.4, "sigma_2": 0.2, "kurtosis": 3},
    ),
    "agnostic_maml": Preset(
        AgnosticMAML, "distribution-agnostic MAML: KL-regularised DRO over 6 clients' fine-tuned losses"
    ),
    "kl_dro": Preset(RobustLoss, "KL-regularised DRO of a sigmoid loss, 6 clients", {"penalty": "kl", "shift": 0.5}),
    "chi2_dro": Preset(
        RobustLoss, "chi-square-regularised DRO of a sigmoid loss, 6 clients", {"penalty": "chi2", "shift": 0.5}
    ),
    "kl_dro_clients": Preset(ClientKL, "KL-regularised DRO over 6 clients (not samples) of a sigmoid loss"),
    "chi2_dro_clients": Preset(
        ClientChi2, "chi-square-regularised DRO over 6 clients (not samples) of a sigmoid loss", {"samples": 5}
    ),
    "imbalanced_logistic": Preset(
        RobustLoss,
        "KL-regularised DRO of a saturated logistic loss, breast cancer table, 1 malignant row in 8",
        _TABLE | {"penalty": "kl", "table": "breast_cancer", "positives": 0.125},
    ),
    "imbalanced_logistic_wine": Preset(
        RobustLoss,
        "chi-square-regularised DRO of a saturated logistic loss, wine table, one row of a cultivar in 8",
        _TABLE | {"penalty": "chi2", "table": "wine", "positives": 0.125},
    ),
    "fair_classifier": Preset(
        FairClassifier, "logistic loss with equal opportunity of two groups, breast cancer table"
    ),
    "average_precision": Preset(AveragePrecision, "the AUPRC surrogate, breast cancer table, 1 malignant row in 4"),
    "invariant_logistic": Preset(
        InvariantLogistic, "invariant logistic regression with saturated margins, 4 clients", {"shift": 0.5}
    ),
    "minimax_homogeneous": Preset(Saddle, "6 equal clients, little noise", {"sigma": 0.1, "sigma_y": 0.1}),
    "minimax_heterogeneous": Preset(
        Saddle,
        "6 clients whose gradients in x and y differ as much as they turn",
        {"sigma": 0.1, "sigma_y": 0.1, "Delta": 0.5, "Delta_y": 0.5},
    ),
    "minimax_noisy": Preset(
        Saddle,
        "12 equal clients with noise nearly as large as the signal in x and in y",
        {"clients": 12, "sigma": 0.8, "sigma_y": 0.8, "kurtosis": 3},
    ),
    "bilevel_homogeneous": Preset(
        QuadraticLower, "6 equal clients, little noise", {"sigma": 0.1, "sigma_y": 0.1, "sigma_g": 0.1}
    ),
    "bilevel_heterogeneous": Preset(
        QuadraticLower,
        "6 clients whose gradients in x and y and whose lower curvatures differ",
        {"sigma": 0.1, "sigma_y": 0.1, "sigma_g": 0.1, "chi": 0.5, "Delta": 0.5, "Delta_y": 0.5, "Delta_g": 0.5},
    ),
    "bilevel_noisy": Preset(
        QuadraticLower,
        "12 equal clients with noise nearly as large as the signal in both levels",
        {"clients": 12, "sigma": 0.5, "sigma_y": 0.5, "sigma_g": 0.5, "kurtosis": 3},
    ),
}


def problems() -> tuple[str, ...]:
    """The names of the registered problems, whose constants are proved."""
    return tuple(PRESETS)


def problem(name: str | Mapping[str, Any] | AbstractProblem, /, **parameters: Any) -> AbstractProblem:
    """A registered problem, one of an installed package (group `fedco.problems`), that of `FILE.py:NAME`, or that of a model.

    Args:
        name: `FILE.py:NAME` is a problem, or a function that returns one or a description of a model: a dict with the keys model,
            loss and clients, and what `synthetic.models.from_description` takes beside them. A description, or a problem, may be
            given itself.
        parameters: they override those of the preset, or the entries of the description.

    Raises:
        ValueError: for an unknown name or parameter, or a description of which no problem can be made.

    Example:
        >>> problem("feddro_noisy", clients=4).clients
        4
    """
    if not isinstance(name, str):
        return _from_outside("", name, parameters)
    if is_python_file(name):
        return _from_outside(name, load_object(name), parameters)
    if name not in PRESETS and name in installed("problems"):
        return _from_outside(name, load_installed("problems", name), parameters)
    if name not in PRESETS:
        raise InputError(f"unknown problem {name[:40]!r}; {instead(name, tuple(PRESETS))}, or FILE.py:NAME")
    preset = PRESETS[name]
    known = set(signature(preset.family).parameters)
    if not parameters.keys() <= known:
        raise ValueError(f"problem {name} has no parameter {sorted(parameters.keys() - known)}; it has {sorted(known)}")
    try:
        found = preset.family(**{"name": name, **preset.parameters, **parameters})
        if parameters:
            found.certificates  # noqa: B018, computed here: what is no double is refused before anything runs
    except (ArithmeticError, torch.linalg.LinAlgError):
        given = ", ".join(f"{key}={value}" for key, value in parameters.items())
        raise InputError(
            f"problem {name}: wanted parameters whose constants are finite in doubles, got {given[:80]}"
        ) from None
    return found


def _from_outside(name: str, found: Any, parameters: Mapping[str, Any]) -> AbstractProblem:
    """A problem as it stands, or what a preset, a class, a function or a description makes; `parameters` go to it."""
    about = f"{name}: " if name else ""
    try:
        if isinstance(found, Preset):
            found = found.family(**{"name": name, **found.parameters, **parameters})
        elif callable(found):
            found = _called(found, parameters)
        elif parameters and not isinstance(found, Mapping):
            found = replace(found, **parameters)
        else:
            found = _described(found, parameters)
        if isinstance(found, Mapping):
            found = from_description(found, split_file(name)[0].stem or "model")
    except (TypeError, ValueError) as error:
        raise InputError(f"{about}{one_line(error)}") from None
    except FAILURES as error:
        raise InputError(f"{about}{told(error)}") from error
    if missing := [part for part in ("kind", "certificates", "gradient", "initial_point") if not hasattr(found, part)]:
        raise InputError(
            f"{about}wanted a problem, or a dict with model, loss and clients, or a function that makes one; got "
            f"{type(found).__name__}, which has no {', '.join(missing)}"
        )
    return found


def _called(make: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    """What a function makes of its own parameters; where that is a description, the others are entries of it."""
    known = signature(make).parameters
    takes_all = any(one.kind is Parameter.VAR_KEYWORD for one in known.values())
    own = {key: value for key, value in parameters.items() if takes_all or key in known}
    made = make(**own)
    others = {key: value for key, value in parameters.items() if key not in own}
    if isinstance(made, Mapping):
        return _described(made, others)
    return make(**parameters) if others else made


def _described(found: Any, parameters: Mapping[str, Any]) -> Any:
    return {**found, **parameters} if isinstance(found, Mapping) else found
