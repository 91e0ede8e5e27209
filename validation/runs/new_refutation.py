"""A refutation from a short TOML file: `python -m fedco.validation.runs.new_refutation FILE.toml` runs the instance and writes its bundle.

    claim = "local_scgdm.theorem_3_4"       the theorem, corollary or lemma; statement = "printed" without another label
    variant = "equal_inner"                 where a claim has several instances
    name = "..."                            what the instance is, in a few words
    summary = "..."                         and in a line
    findings = ["local_scgdm.equal_inner"]  the findings of the audit that it is the evidence of
    reading, slip, choice = "..."           where the claim is false under a reading only; where a letter or a sign is wrong; how the
                                            instance reads a line that the paper leaves open
    [alternatives]                          another reading = "refuted", "not refuted" or "undecided"
    [instance]                              kind, start, and the parameters of the family of that kind: inner_slope, inner_offset,
                                            knots and slopes of the outer functions, ... Noise that is not given is 0
    [constants]                             SYMBOL = [value, "why the instance has it"]
    [hyperparameters]                       SYMBOL = value, those that the method needs besides included
    [place]                                 row, steps: for a lemma, where in a run of so many steps it is compared
    [method]                                an option of the method, where its pseudocode has several readings
    [reach]                                 model, inner_value: what none exceeds, so that second moments close; within = "FILE" where a
                                            file of the paper shows it and not every step
    [picture]                               interval = [from, to], marks = { start = 0 }

Numbers are exact: whole numbers, decimals, or fractions as text ("1/3"). Neither side is typed: the left one is run with the method's
own code, the right one is the declared statement.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...bounds.audit.bundled import FOLDER, NO_READING, from_data
from ...bounds.audit.refutation import Refutation, RefutationError
from ...bounds.language.reading import InputError, read_number, read_toml
from ...bounds.registry import get_paper
from .bundle import write
from .refutations import bundle_of

_KEYS = {"claim", "name", "summary", "findings", "instance", "constants", "hyperparameters"}
_MORE = {
    "statement",
    "variant",
    "reading",
    "slip",
    "choice",
    "alternatives",
    "place",
    "interval",
    "reach",
    "within",
    "method",
    "picture",
    "order",
    "evidence",
}
_SILENT = ("value_noise", "gradient_noise")
_NOISY = {
    "local_composite": _SILENT,
    "conditional": _SILENT,
    "shared_composite": _SILENT,
    "federated": _SILENT[1:],
    "meta": _SILENT[1:],
}
"""Parameters of each kind that a file may leave out."""


def refutation_from(file: Path) -> Refutation:
    """What a file declares, before anything is run.

    Raises:
        InputError: a key is missing or unknown, or a number cannot be read.
    """
    keys = read_toml(file)
    if (wrong := sorted(_KEYS - set(keys))) or (wrong := sorted(set(keys) - _KEYS - _MORE)):
        raise InputError(
            f"{file}: {wrong[0]}: wanted the keys {' '.join(sorted(_KEYS))}, and of {' '.join(sorted(_MORE))}"
        )
    instance = dict(keys["instance"])
    kind, settings = str(instance.pop("kind", "")), instance.pop("settings", {})
    parameters = {name: _exact(name, value) for name, value in instance.items()}
    if kind not in _NOISY or "start" not in parameters:
        raise InputError(
            f"{file}: instance: wanted a start, and a kind among {' '.join(sorted(_NOISY))}, got {kind[:40]!r}"
        )
    clients = max(len(value) for value in parameters.values() if isinstance(value, list))
    silent = {name: [0] * clients for name in _NOISY[kind]}
    more: dict[str, Any] = {part: _exact(part, keys[part]) for part in ("place", "interval", "reach") if part in keys}
    more |= {part: keys[part] for part in ("within", "method") if part in keys}
    words: dict[str, Any] = {part: keys[part] for part in ("slip", "order", "evidence") if part in keys}
    if "picture" in keys:
        words["picture"] = _exact("picture", keys["picture"])
    claim, statement = str(keys["claim"]), str(keys.get("statement", "printed"))
    name = ".".join(part for part in (claim, str(keys.get("variant", ""))) if part)
    shape = {"kind": kind, "parameters": {**silent, **parameters}, "settings": settings}
    data = {
        "claim": f"{claim} ({statement})",
        "recipe": name,
        "problem": {"name": keys["name"], "parameters": {"instance": shape, **more}},
        "certificates": {
            symbol: {"value": _exact(symbol, value), "kind": "exact", "argument": why}
            for symbol, (value, why) in keys["constants"].items()
        },
        "hyperparameters": {symbol: _exact(symbol, value) for symbol, value in keys["hyperparameters"].items()},
        "values": [0, 0],
        "notes": {
            "instance": " ".join(str(keys["summary"]).split()),
            "reading": keys.get("reading", NO_READING),
            "choice": keys.get("choice", ""),
            "alternatives": keys.get("alternatives", {}),
            "findings": keys["findings"],
            "observables": {},
            "checked": [],
            **words,
        },
    }
    return from_data(name, data)


def _exact(name: str, value: Any) -> Any:
    """Numbers in nested lists and tables, read exactly; the words of a picture as they are."""
    if isinstance(value, Mapping):
        return {str(key): part if key == "variable" else _exact(f"{name}.{key}", part) for key, part in value.items()}
    if isinstance(value, list):
        return [_exact(name, part) for part in value]
    number = read_number(name, value)
    return int(number) if number.denominator == 1 else Fraction(number)


def write_new(file: Path, folder: Path | None = None) -> Path:
    """Run what a file declares and write its bundle.

    Args:
        folder: where; without it beside the `paper.toml` of the claim's paper.

    Raises:
        InputError: see `refutation_from`.
        RefutationError, InadmissibleError: the instance is not what the file says, or violates an assumption; or a printed condition
            fails.
        BundleError: it does not refute the claim.
    """
    item = refutation_from(file)
    made = bundle_of(item)
    if made.notes["reading"] != (item.reading or NO_READING):
        raise RefutationError(
            f"{item.name}: the instance is one {made.notes['reading']}: correct it, or say so as its reading"
        )
    target = folder or get_paper(item.claim.partition(".")[0]).written.folder / FOLDER
    return write(made, target / f"{item.name}.json")


if __name__ == "__main__":
    for given in sys.argv[1:]:
        print(write_new(Path(given)))
