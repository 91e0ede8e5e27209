"""Replayable bundles: everything that a REFUTED verdict rests on, in one JSON file that anyone can re-check.

A bundle holds the problem with its parameters, the certificates, the hyperparameters, the seeds, the values, both sides and
the versions. Numbers are kept without loss: doubles in hexadecimal, exact numbers as fractions. Nothing in a file is
ever executed: there is no pickle, and `replay` runs a function that the *caller* registered under the bundle's recipe.

A bundle whose stored numbers do not refute its claim refuses to exist, when it is built as when it is read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...bounds.language.result import AbstractResult, Sheet
from ...lossless import LosslessError, decode, encode
from ...storage import DamagedError, read_json, sealed, unsealed, write_json
from ..statistics.evalues import Number
from ..statistics.verdict import Outcome, Verdict, judge, judge_exact

if TYPE_CHECKING:
    from ...figures import Plot

FORMAT = "fedco-refutation/1"
MODES = ("e-value", "exact")
FROM_DATA = "falsifier"
"""The recipe of bundles that hold a whole instance."""

MOST_BYTES = 64 * 2**20


class BundleError(ValueError):
    """A bundle that is damaged, incomplete, or does not refute what it says it refutes."""


@dataclass(frozen=True)
class Bundle:
    """One refutation of `claim` on one instance.

    Fields: `recipe` names the function that recomputes both sides; `problem` = {"name", "parameters"}; `certificates` =
    {quantity: {"value", "kind", ...}}; `hyperparameters` and `seeds` as the recipe reads them. In mode "e-value",
    `values` holds one X per seed and `alpha` the level; in mode "exact" it holds the enclosure (lower, upper) of the
    left side. `bound` is the enclosure of the right side in both. `values`, `bound` and `cap` share the claim's unit.
    """

    claim: str
    recipe: str
    mode: str
    problem: Mapping[str, Any]
    certificates: Mapping[str, Mapping[str, Any]]
    hyperparameters: Mapping[str, Any]
    seeds: Mapping[str, Any]
    values: Sequence[Number]
    bound: tuple[Number, Number]
    versions: Mapping[str, str]
    alpha: Fraction | None = None
    cap: Number | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mode not in MODES or (self.mode == "e-value") != (self.alpha is not None):
            raise BundleError(
                f"mode: wanted 'e-value' with alpha or 'exact' without, got {self.mode!r}, {self.alpha!r}"
            )
        if not {"name", "parameters"} <= set(self.problem):
            raise BundleError(f"problem: wanted the keys name and parameters, got {sorted(self.problem)}")
        if not self.certificates or any(not {"value", "kind"} <= set(c) for c in self.certificates.values()):
            raise BundleError("certificates: wanted at least one, each with value and kind")
        verdict = verdict_of(self, self.values, self.bound)
        if verdict.outcome is not Outcome.REFUTED:
            raise BundleError(f"{self.claim}: wanted numbers that refute the claim, got {verdict}")


class Sides(NamedTuple):
    """What a recipe recomputes: `values`, `bound`, `claim` and `notes` as in `Bundle`.

    A recipe that does not compare the words of a file makes them anew; without them those of the file stand.
    """

    values: Sequence[Number]
    bound: tuple[Number, Number]
    claim: str = ""
    notes: Mapping[str, Any] | None = None


@dataclass(frozen=True, repr=False)
class Replay(AbstractResult):
    """Outcome of a replay: `confirmed` when the recomputed numbers refute the claim and agree with the stored ones.

    `notes`: what is said of the refutation, made anew where a recipe does not compare the words of the file.
    """

    verdict: Verdict
    largest_difference: float
    confirmed: bool
    notes: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {**self.verdict.to_dict(), "confirmed": self.confirmed, "largest_difference": self.largest_difference}

    def __str__(self) -> str:
        said = "confirmed" if self.confirmed else "NOT confirmed"
        return f"{self.verdict}\n{said}; largest relative difference to what is stored: {self.largest_difference:.3g}"

    def sheet(self) -> Sheet:
        whole = self.verdict.sheet()
        return replace(whole, notes=(str(self).splitlines()[-1].strip(), *whole.notes))

    def plot(self) -> Plot:
        """Both sides of the claim, as recomputed."""
        return self.verdict.plot()


def verdict_of(bundle: Bundle, values: Sequence[Number], bound: tuple[Number, Number]) -> Verdict:
    """The verdict that two sides give under the bundle's claim, level and certificates."""
    kinds = [str(certificate["kind"]) for certificate in bundle.certificates.values()]
    name = str(bundle.problem["name"])
    try:
        if bundle.mode == "exact":
            if len(values) > 2:
                raise ValueError(f"values: wanted one number or an enclosure (lower, upper), got {len(values)}")
            left = (values[0], values[-1])
            return judge_exact(left, bound, certificates_kind=kinds, cap=bundle.cap, claim=bundle.claim, instance=name)
        assert bundle.alpha is not None
        return judge(
            [float(value) for value in values],
            max(bound),
            alpha=bundle.alpha,
            certificates_kind=kinds,
            cap=bundle.cap,
            claim=bundle.claim,
            instance=name,
        )
    except (ValueError, TypeError, IndexError) as error:
        raise BundleError(f"{bundle.claim}: the two sides cannot be judged ({error})") from error


def replay(bundle: Bundle, registry: Mapping[str, Callable[[Bundle], Sides]], *, tolerance: float = 1e-9) -> Replay:
    """Recompute both sides from scratch and judge again; the same data are judged, so no alpha is spent.

    Args:
        registry: recipe name -> function of the bundle that returns both sides. Only these functions are run.
        tolerance: largest relative difference between stored and recomputed numbers (0 for exact recipes).

    Raises:
        BundleError: the recipe is not registered.
    """
    if bundle.recipe not in registry:
        raise BundleError(f"recipe: wanted one of {sorted(registry)}, got {bundle.recipe!r}")
    sides = registry[bundle.recipe](bundle)
    verdict = verdict_of(replace(bundle, claim=sides.claim or bundle.claim), sides.values, sides.bound)
    difference = max(_difference(bundle.values, sides.values), _difference(bundle.bound, sides.bound))
    confirmed = verdict.outcome is Outcome.REFUTED and difference <= tolerance
    return Replay(verdict, difference, confirmed, bundle.notes if sides.notes is None else sides.notes)


def write(bundle: Bundle, path: str | os.PathLike[str]) -> Path:
    """Write the bundle atomically: the target holds the old file or the whole new one, never a part."""
    return write_json(path, to_dict(bundle))


def read(path: str | os.PathLike[str]) -> Bundle:
    """Read and check a bundle: size, format, hash, every field, and that its numbers refute. Raises BundleError."""
    try:
        return _checked(read_json(path, FORMAT, most_bytes=MOST_BYTES))
    except DamagedError as error:
        raise BundleError(str(error)) from error


def to_dict(bundle: Bundle) -> dict[str, Any]:
    """JSON-safe dict with the sha256 of its content."""
    return sealed({"format": FORMAT} | {f.name: encode(getattr(bundle, f.name)) for f in fields(Bundle)})


def from_dict(data: Any) -> Bundle:
    """The bundle in a dict made by `to_dict`. Raises BundleError."""
    try:
        return _checked(unsealed(data, FORMAT))
    except DamagedError as error:
        raise BundleError(str(error)) from error


def _checked(plain: Mapping[str, Any]) -> Bundle:
    """The bundle whose content agreed with its hash. Raises BundleError."""
    names = {f.name for f in fields(Bundle)}
    if set(plain) != names | {"format"}:
        raise BundleError(f"fields: missing or unknown {sorted(set(plain) ^ (names | {'format'}))}")
    try:
        decoded = {name: decode(plain[name]) for name in names}
    except (LosslessError, RecursionError) as error:
        raise BundleError(f"fields: {error}") from error
    _check_types(decoded)
    if "dials" in decoded["problem"]:  # the name of this key in files from before it was `parameters`
        decoded["problem"] = {"parameters" if key == "dials" else key: part for key, part in decoded["problem"].items()}
    return Bundle(**{**decoded, "bound": tuple(decoded["bound"])})


def plain(value: Any) -> Any:
    """Whole fractions as integers, tuples as lists: what a file gives back is then equal to what was written."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def _difference(stored: Sequence[Number], again: Sequence[Number]) -> float:
    """Largest relative difference, exact when both sides are; infinite when the lengths differ."""
    if len(stored) != len(again):
        return math.inf
    return max((_relative(Fraction(a), Fraction(b)) for a, b in zip(stored, again, strict=True)), default=0.0)


def _relative(a: Fraction, b: Fraction) -> float:
    return float(abs(a - b) / max(abs(a), abs(b))) if a != b else 0.0


def _check_types(decoded: Mapping[str, Any]) -> None:
    wanted = {str: ("claim", "recipe", "mode"), list: ("values", "bound")}
    wanted[dict] = ("problem", "certificates", "hyperparameters", "seeds", "versions", "notes")
    for kind, names in wanted.items():
        for name in names:
            if not isinstance(decoded[name], kind):
                raise BundleError(f"{name}: wanted a {kind.__name__}, got {type(decoded[name]).__name__}")
    numbers = [*decoded["values"], *decoded["bound"], *(decoded[n] for n in ("alpha", "cap") if decoded[n] is not None)]
    if len(decoded["bound"]) != 2 or any(isinstance(x, bool) or not isinstance(x, Number) for x in numbers):
        raise BundleError("values, bound, alpha, cap: wanted numbers, and two of them (lower, upper) for bound")
    if any(not isinstance(certificate, dict) for certificate in decoded["certificates"].values()):
        raise BundleError("certificates: wanted a dict for each quantity")
