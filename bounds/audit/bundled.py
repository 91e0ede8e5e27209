"""Refutations that are data: the bundles in a paper's folder `refutations/`. They are read here, and nothing is run.

A bundle has the claim with its reading, an instance with its functions as data, each constant with the reason for it, and both sides
as `fedco replay` last found them, with the method's own code in exact numbers. What the instance makes of the claim, and which
printed assumptions its functions satisfy, is decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import sympy as sp

from ...lossless import decode
from ...storage import read_json
from ..evaluation.evaluate import complete, fraction_of
from ..language.bounding import SEPARATE, UNIFORM_SET
from ..registry import get_paper, get_theorem
from .instance import DRAWN, Clients, Curve, Law, X, exact
from .picture import Picture, Slope
from .refutation import Case, Ends, Refutation, RefutationError, right_side

FOLDER = "refutations"
"""The folder with the bundles of a paper, beside its `paper.toml`."""
FORMAT = "fedco-refutation/1"
INSTANCE = "instance"
"""The parameter of a bundle's problem that holds the instance, where the refutation is data."""
NO_READING = "none is needed: the instance satisfies every assumption that fedco show prints"
Number = Fraction | int
Parameters = Mapping[str, Any]


def bundles_in(folder: Path) -> tuple[Refutation, ...]:
    """The refutations that a folder holds as data: the bundles with an instance, and not those that code makes.

    Raises:
        DamagedError: a file is cut or altered.
    """
    kept = {file.stem: decode(dict(read_json(file, FORMAT))) for file in folder.glob("*.json")}
    return tuple(
        from_data(name, kept[name]) for name in sorted(kept) if INSTANCE in kept[name]["problem"]["parameters"]
    )


def from_data(name: str, data: Mapping[str, Any]) -> Refutation:
    """The refutation of a bundle.

    Raises:
        RefutationError: it has no instance.
    """
    notes = data["notes"]
    if INSTANCE not in data["problem"]["parameters"]:
        raise RefutationError(f"{name}: a bundle without an instance")
    claim, label = claimed(data)
    return Refutation(
        name,
        claim,
        tuple(notes["findings"]),
        label,
        notes["instance"],
        partial(case_of, data),
        "" if notes["reading"] == NO_READING else notes["reading"],
        notes.get("slip", ""),
        notes["alternatives"],
        notes.get("evidence", False),
        data,
    )


def claimed(data: Mapping[str, Any]) -> tuple[str, str]:
    """The theorem of a bundle's claim, written as `ID (STATEMENT; reading)`, and the label of its statement."""
    theorem, _, rest = data["claim"].partition(" (")
    return theorem, rest.rstrip(")").partition(";")[0]


def case_of(data: Mapping[str, Any]) -> Case:
    """The instance of a bundle, with what its last replay found.

    Raises:
        RefutationError: an unknown kind of problem.
    """
    notes, values, parameters = data["notes"], data["values"], data["problem"]["parameters"]
    clients = clients_of(**parameters["instance"])
    shown = notes.get("picture")
    case = Case(
        data["problem"],
        {name: (row["value"], row["argument"]) for name, row in data["certificates"].items()},
        data["hyperparameters"],
        Fraction(values[0]) if values[0] == values[-1] else (values[0], values[-1]),
        {**dict.fromkeys(notes["checked"], True), **within_reach(data)},
        observables=notes["observables"],
        choice=notes["choice"],
        picture=None if shown is None else picture_of(clients, **shown),
        clients=clients,
    )
    return replace(case, right=_multiple(data, case)) if "right" in parameters else case


def within_reach(data: Mapping[str, Any]) -> Mapping[str, bool]:
    """What shows that no path of a run leaves the reach that its bundle claims: `stays` in a file of its paper's folder, which it names.

    Where it names none, the run shows it: every step keeps the reach.

    Raises:
        RefutationError: it names no such file.
    """
    parameters = data["problem"]["parameters"]
    if "within" not in parameters:
        return {}
    paper, name = get_paper(data["claim"].partition(".")[0]), str(parameters["within"])
    if not name.isidentifier() or paper.file is None or not (paper.file.folder / f"{name}.py").is_file():
        raise RefutationError(f"reach: wanted `within`, a file in the folder of {paper.key}, got {name[:40]!r}")
    found: Mapping[str, bool] = import_module(f"{paper.file.package}.{name}").stays(parameters, _scheduled(data))
    return found


def _scheduled(data: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters of a bundle, those that the schedule of its statement sets included."""
    claim, label = claimed(data)
    statement = get_theorem(claim).statement(label)
    values = {name: row["value"] for name, row in data["certificates"].items()} | data["hyperparameters"]
    point = complete(statement, {name: value for name, value in values.items() if name in statement.symbols})
    found = {str(symbol): fraction_of(v) for symbol, v in point.items() if v.is_Rational}
    return {**found, **data["hyperparameters"]}


def _multiple(data: Mapping[str, Any], case: Case) -> Ends:
    """What stands for an order: so many times the bound of another claim."""
    right = data["problem"]["parameters"]["right"]
    low, high = right_side(right["claim"], claimed(data)[1], case)
    return right["times"] * low, right["times"] * high


# --- functions -------------------------------------------------------------------------------------------------------


def clients_of(kind: str, parameters: Parameters, settings: Mapping[str, int] | None = None) -> Clients:
    """The functions of an instance as data; `parameters` are those of the family of its kind.

    Raises:
        RefutationError: an unknown kind of problem, or parameters that do not fit it.
    """
    if kind not in _KINDS:
        raise RefutationError(f"{kind[:40]}: wanted a kind of problem among {sorted(_KINDS)}")
    try:
        return _KINDS[kind](parameters, settings or {})
    except (ValueError, KeyError, TypeError) as error:
        raise RefutationError(
            f"instance: wanted the parameters of {kind}, one entry of each for every client ({error})"
        ) from None


def _own_outer(parameters: Parameters, settings: Mapping[str, int]) -> Clients:
    outer = _slopes(parameters["knots"], parameters["slopes"])
    inner = _inner(parameters)
    return _drawn(parameters, settings, outer=_with_signs(outer, parameters.get("gradient_noise"), X), inner=inner)


def _shared_outer(parameters: Parameters, settings: Mapping[str, int]) -> Clients:
    (outer,) = _slopes(parameters["knots"], parameters["slopes"])
    inner = _inner(parameters)
    extra = _with_signs(_slopes(parameters["extra_knots"], parameters["extra_slopes"]), parameters["gradient_noise"], X)
    outers, estimate = (Law.surely(outer),) * len(inner), parameters["estimate"]
    return _drawn(parameters, settings, outer=outers, inner=inner, extra=extra, estimate=estimate)


def _plain(parameters: Parameters, settings: Mapping[str, int]) -> Clients:
    own = _slopes(parameters["knots"], parameters["slopes"])
    return _drawn(parameters, settings, local=_with_signs(own, parameters["gradient_noise"], X))


def _meta(parameters: Parameters, settings: Mapping[str, int]) -> Clients:
    """f_i' is tilt_i left of all knots of the one piecewise linear Hessian; F is the mean of the f_i after fine-tuning.

    Raises:
        RefutationError: a client's function is unbounded below.
    """
    (knots,) = (
        list(zip(p, v, strict=True)) for p, v in zip(parameters["knots"], parameters["curvatures"], strict=True)
    )
    rise = -Curve.with_curvature(knots).derivative.at(knots[0][0])
    own = [Curve.with_curvature(knots, Fraction(str(exact(tilt) + rise))) for tilt in parameters["tilt"]]
    if not all(curve.is_bounded_below for curve in own):
        raise RefutationError("meta: a client's function is unbounded below")
    noisy = _with_signs(own, parameters.get("gradient_noise"), X)
    drawn = {UNIFORM_SET: "the clients of a round are drawn afresh, every set of so many alike"}
    gap = partial(_is_near_the_infimum, own, parameters["alpha"], settings.get("nu", 1), parameters["start"])
    return _drawn(parameters, settings, drawn, local=noisy, derivatives=2, gap=gap)


def _is_near_the_infimum(own: Sequence[Curve], alpha: Number, nu: int, start: Number, number: Fraction) -> bool:
    """Whether F is at most so much larger at the start than its infimum, F being the mean of the f_i after fine-tuning.

    Where 0 <= f_i'' <= 1/alpha, a step of fine-tuning is monotone and keeps the zero of f_i', so that F_i' has the sign of w beyond the
    zeros of all clients. Where all f_i'' are one number a between these zeros, F_i' is a (1 - alpha a)^(2 nu) (w - zero of f_i') there.

    Raises:
        ValueError: the functions are others.
    """
    second = [curve.derivative.derivative for curve in own]
    if all(((-1) * bend).is_at_most(0) and bend.is_at_most(1 / exact(alpha)) for bend in second):
        at = exact(start)
        for low, high, expr in own[0].derivative.pieces:
            lines = [curve.derivative.on(low, high) for curve in own]
            if (a := sp.diff(expr, X)) == 0 or any(sp.expand(sp.diff(line, X) - a) != 0 for line in lines):
                continue
            zeros = [sp.solve(line, X)[0] for line in lines]
            if all(low <= point <= high for point in (*zeros, at)) and min(zeros) <= at <= max(zeros):
                apart = at - sum(zeros) / len(zeros)
                return bool(a * (1 - exact(alpha) * a) ** (2 * nu) * apart**2 / 2 <= exact(number))
    raise ValueError("how far the start is above the infimum after fine-tuning is not decided")


_KINDS: Mapping[str, Callable[[Parameters, Mapping[str, int]], Clients]] = {
    "local_composite": _own_outer,
    "conditional": _own_outer,
    "shared_composite": _shared_outer,
    "federated": _plain,
    "meta": _meta,
}


def _drawn(
    parameters: Parameters, settings: Mapping[str, int], more: Mapping[str, str] | None = None, **functions: Any
) -> Clients:
    """Clients whose signs, where they have any, are drawn as the methods draw them."""
    noisy = any(len(law.samples) > 1 for laws in functions.values() if isinstance(laws, tuple) for law in laws)
    reasons = {"not stated: domain": "the functions are defined on the whole line", **(more or {})}
    if noisy:
        said = [saying for saying in DRAWN if not settings.get("one_sample") or saying != SEPARATE]
        reasons |= dict.fromkeys(said, "the signs are drawn afresh for every step and client")
    return Clients(parameters["start"], by_construction=reasons, **functions)


def _slopes(positions: Sequence[Sequence[Number]], values: Sequence[Sequence[Number]]) -> list[Curve]:
    return [Curve.with_slope(list(zip(p, v, strict=True))) for p, v in zip(positions, values, strict=True)]


def _inner(parameters: Parameters) -> tuple[Law, ...]:
    lines = [
        Curve.whole(exact(slope) * X + exact(offset))
        for slope, offset in zip(parameters["inner_slope"], parameters["inner_offset"], strict=True)
    ]
    return _with_signs(lines, _inner_noises(parameters), 1)


def _inner_noises(parameters: Parameters) -> Sequence[Any]:
    """What the sign adds to each inner value: a number or data, and where Jacobians have noise the integral of it from 0 on."""
    values, sizes = parameters["value_noise"], parameters.get("jacobian_noise") or [0] * len(parameters["value_noise"])
    w, found = parameters.get("noise_reach", 0), []
    for value, size in zip(values, sizes, strict=True):
        slope = ((-2 * w, 0), (-w, size), (w, size), (2 * w, 0)) if size else ()
        found.append(_added(value, 1) + Curve.with_slope(slope) if size else value)
    return found


def _with_signs(curves: Sequence[Curve], noises: Sequence[Any] | None, by: Any) -> tuple[Law, ...]:
    """Curves to which a fair sign adds or takes away a function, or a number times `by`."""
    found = []
    for curve, noise in zip(curves, noises or [0] * len(curves), strict=True):
        added = noise if isinstance(noise, Curve) else _added(noise, by)
        found.append(Law.fair(curve + added, curve - added) if noise else Law.surely(curve))
    return tuple(found)


def _added(noise: Any, by: Any) -> Curve:
    return function_of(noise) if isinstance(noise, Mapping) else Curve.whole(exact(noise) * by)


def function_of(data: Mapping[str, Any]) -> Curve:
    """A function that is data: 0 at 0 with a piecewise linear derivative ("slope": knots), or a quotient of polynomials ("rational":
    their coefficients from the constant on).

    Raises:
        RefutationError: another form of data.
    """
    if set(data) == {"slope"}:
        return Curve.with_slope(data["slope"])
    if set(data) == {"rational"}:
        top, bottom = (sum(exact(c) * X**power for power, c in enumerate(part)) for part in data["rational"])
        return Curve.whole(top / bottom)
    raise RefutationError(f"a function: wanted slope or rational, got {sorted(data)}")


# --- pictures --------------------------------------------------------------------------------------------------------


def picture_of(
    clients: Clients, interval: Sequence[Number], marks: Mapping[str, Number], variable: str = "x"
) -> Picture:
    """The clients' objectives over an interval of the model."""
    low, high = interval
    curves = _objectives(clients)
    ends = sorted({end for curve in curves for _, end, _ in curve.pieces if exact(low) < end < exact(high)})
    return Picture(
        tuple(_slope(curve) for curve in curves),
        (low, high),
        marks,
        tuple(fraction_of(end) for end in ends),
        variable,
        _slope(clients.objective) if clients.extra else None,
    )


def _objectives(clients: Clients) -> list[Curve]:
    """What each client has of the objective; of a meta-problem its own function, before any fine-tuning."""
    if clients.local:
        return [law.mean for law in clients.local]
    whole = Curve.whole(0)
    found = []
    for k, (outer, inner) in enumerate(zip(clients.outer, clients.inner, strict=True)):
        line = inner.mean.line
        if line is None:
            raise RefutationError("a picture is drawn of inner maps that are straight lines in the mean")
        found.append(outer.mean.after(*line) + (clients.extra[k].mean if clients.extra else whole))
    return found


def _slope(curve: Curve) -> Slope:
    derivative = curve.derivative
    return lambda x: float(derivative.at(x if isinstance(x, int) else Fraction(x)))
