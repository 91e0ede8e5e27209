"""A refutation that the falsifier found as a bundle: the whole instance as data, so that a replay rebuilds it from the file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ... import __version__
from ...bounds.audit.refutation import outward
from ...bounds.language.change import Change
from ...bounds.language.definition import define, keys_of, restated, statement_keys
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_paper, is_paper, paper_of
from ...bounds.registry import get_theorem as find
from ...errors import InputError
from ...user_files import is_python_file, name_in_data, split_file
from ..exact.interval import Ends
from ..exact.problem import Instance, as_fractions
from ..runs.bundle import FROM_DATA, Bundle, BundleError, Sides, plain
from .confirm import Claimed, Confirmed, NotConfirmed, coefficient_lower_bound, confirm, sides
from .declared import Target, own_of, target_of
from .formula import Formula
from .lemma import Place

NO_READING = "none is needed"
_ARGUMENT = "at least the supremum that the instance's knots give"


def bundle_of(target: Target, found: Confirmed, why: list[str] | None = None) -> Bundle:
    """The bundle of a confirmed violation."""
    claimed = found.claimed
    return Bundle(
        claim=f"{target.theorem.id} ({target.label})",
        recipe=FROM_DATA,
        mode="exact",
        problem={
            "name": f"{claimed.instance.kind}, {_clients(claimed.instance)} clients",
            "parameters": {**_parameters(claimed), **_attacked(target)},
        },
        certificates={
            name: {"value": plain(value), "kind": "exact", "argument": _ARGUMENT}
            for name, value in claimed.constants.items()
        },
        hyperparameters=plain(dict(claimed.hyperparameters)),
        seeds={},
        values=list(outward(found.left)),
        bound=outward(found.right),
        versions={"fedco": __version__},
        notes={
            "instance": describe(claimed),
            "reading": _reading(target),
            "checked": list(found.checked),
            "why": list(why or []),
        },
    )


def _reading(target: Target) -> str:
    """Under what the claim is refuted, read off what was attacked; a replay makes it anew."""
    if target.change is not None:
        return f"the statement with a change: {target.change}"
    if _is_restated(target.declared, target.label):
        return "as the file writes it down"
    return NO_READING


def _is_restated(theorem: Theorem, label: str) -> bool:
    """Whether a statement of a theorem of fedco's says something else than fedco has there."""
    own = None if paper_of(theorem) is not None else own_of(theorem)
    return own is not None and statement_keys(theorem, label) != statement_keys(own, label)


def _attacked(target: Target) -> dict[str, Any]:
    """What is attacked instead of the declared statement, and what instances were asked to have besides."""
    change = {} if target.change is None else {"change": plain(target.change.to_dict())}
    more = {"assume": list(target.more), "where": list(target.where)}
    return {**change, **{name: listed for name, listed in more.items() if listed}, **definition_of(target)}


def definition_of(target: Target) -> dict[str, Any]:
    """What a bundle has to hold of the theorem itself: nothing of one that comes with fedco.

    Of one that restates such a theorem the statement; of any other all of it, and the hash of the file of its method.

    Raises:
        InputError: it cannot be written down, or bears the id of another theorem.
    """
    theorem, label = target.declared, target.label
    if paper_of(theorem) is not None:
        return {}
    if own_of(theorem) is not None:
        return {"restated": statement_keys(theorem, label)}
    _check_id(theorem.id)
    keys = keys_of(theorem, label, Formula(theorem, label).inherited)
    call = theorem.method
    if call is None or not is_python_file(call.name):
        return {"definition": keys}
    return {"definition": keys, "method_sha256": file_digest(split_file(call.name, call.folder)[0])}


def _check_id(name: str) -> None:
    """Raises where a theorem that is written down would be taken for one that comes with fedco."""
    key = name.partition(".")[0]
    if is_paper(key) and name in get_paper(key).theorems:
        raise InputError(
            f"{name}: a theorem that comes with fedco has this id; wanted another id, such as mine.{name.partition('.')[2]}"
        )


def file_digest(file: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _target(bundle: Bundle, method: Path | None) -> Target:
    name, _, label = bundle.claim.partition(" (")
    parameters = bundle.problem["parameters"]
    change = Change.from_dict(parameters["change"]) if "change" in parameters else None
    more, where = (tuple(map(str, parameters.get(part, ()))) for part in ("assume", "where"))
    if "definition" in parameters:
        return target_of(_stranger(name, parameters, method), "printed", change, more, where)
    theorem, label = find(name_in_data(name)), label.rstrip(")")
    if "restated" in parameters:
        theorem = restated(theorem, label, parameters["restated"])
    return target_of(theorem, label, change, more, where)


def _stranger(claimed: str, parameters: Mapping[str, Any], method: Path | None) -> Theorem:
    """The theorem that a bundle defines; code that it names is run only where the user gives the file.

    Raises:
        BundleError: the claim is about a theorem with another id, the method stands in a file that is not given, or another file is
            given.
        InputError: it has the id of a theorem that comes with fedco.
    """
    keys = dict(parameters["definition"])
    if keys.get("id") != claimed:
        raise BundleError(
            f"it defines {str(keys.get('id'))[:60]!r}, and its claim is about {claimed[:60]!r}; wanted one id"
        )
    _check_id(claimed)
    named = str(keys.get("method", {}).get("name", ""))
    if is_python_file(named):
        wanted, (file, attribute) = str(parameters.get("method_sha256")), split_file(named)
        if method is None:
            raise BundleError(
                f"it is about {named}, code that is not run unless you give the file (sha256 {wanted}): --method FILE"
            )
        if (got := file_digest(method)) != wanted:
            raise BundleError(f"{method}: wanted the file {file.name} with sha256 {wanted}, got {got}")
        keys["method"] = {**keys["method"], "name": f"{method.resolve()}:{attribute}"}
    return define(**keys)


def _clients(instance: Instance) -> int:
    return max(len(v) for v in instance.parameters.values() if isinstance(v, list))


def _parameters(claimed: Claimed) -> dict[str, Any]:
    interval = None if claimed.interval is None else list(claimed.interval)
    place = None if claimed.place is None else {"row": claimed.place.row, "steps": claimed.place.steps}
    made: dict[str, Any] = plain({"instance": claimed.instance.to_dict(), "interval": interval, "place": place})
    return made


def describe(claimed: Claimed) -> str:
    """The instance in one line."""
    shown = ", ".join(f"{name} = {_short(value)}" for name, value in claimed.instance.parameters.items())
    return f"{claimed.instance.kind}: {shown}"


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_short(part) for part in value) + "]"
    text = str(value)
    return text if len(text) <= 24 else f"{float(value):.12g}"


def claimed_of(bundle: Bundle) -> Claimed:
    """What a bundle claims, read back from its data alone.

    Raises:
        BundleError: data of another form.
    """
    try:
        parameters = bundle.problem["parameters"]
        instance = Instance.from_dict(parameters["instance"])
        constants = {name: as_fractions(c["value"]) for name, c in bundle.certificates.items()}
        hyperparameters = {name: as_fractions(value) for name, value in bundle.hyperparameters.items()}
        place = (
            None if parameters.get("place") is None else Place(**{k: int(v) for k, v in parameters["place"].items()})
        )
        return Claimed(instance, constants, hyperparameters, _interval(parameters["interval"]), place)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BundleError(f"problem: wanted an instance as the falsifier writes it ({error})") from error


def _interval(ends: Any) -> Ends | None:
    if ends is None:
        return None
    low, high = as_fractions(list(ends))
    return low, high


def needed_part(bundle: Bundle) -> float:
    """The part of the changed term's coefficient that the instance needs; see `coefficient_lower_bound`.

    Raises:
        NotConfirmed: the instance does not break the statement with its change.
    """
    target = _target(bundle, None)
    return coefficient_lower_bound(target, confirm(target, claimed_of(bundle)))


def recompute(bundle: Bundle, method: Path | None = None) -> Sides:
    """Both sides from the file's instance, every assumption and condition checked again; claim and notes are made anew.

    Args:
        method: the file of the method, for a theorem whose method is not fedco's own; it is run.

    Raises:
        BundleError: the instance is not what the bundle says.
    """
    try:
        target, claimed = _target(bundle, method), claimed_of(bundle)
        found = sides(target, claimed)
    except (NotConfirmed, ValueError, KeyError) as error:
        raise BundleError(str(error)) from error
    reading = _reading(target)
    claim = f"{target.theorem.id} ({target.label})"
    if reading != NO_READING:
        claim = f"another statement than {claim} ({reading})"
    if "definition" in bundle.problem["parameters"]:
        reading += "; the theorem is the one that the file defines"
    return Sides(
        list(outward(found.left)), outward(found.right), claim, {"instance": describe(claimed), "reading": reading}
    )
