"""How the theorems of a paper are run, read from a table beside the paper's code: `runs.toml` in its folder, or `KEY.toml` beside `KEY.py`.

    [parameters]                     sets of parameters of problems, by name; those of `parameters.SETS` are known everywhere
    far = "near local_noise sigma_f=0.3"

    [theorem_1]                      the end of the theorem's id
    method = "sgd"                   or { name = "sgd", form = "special" } with words; without it the theorem's own
    asks = "B"                       what the method gets besides what it has no default for, in every run and search
    label, average, limit_exponent   as in `Recipe`; `every` names the symbol, `defaults` are settings
    instances = [{ problem, at = "eta=1/25 tau=1", with = "far", T = [200, 400], case, why }]
    complexity = true                the first sweep is the schedule along which costs are measured; or a sweep of its own
    sweeps = [{ over = "b", from = "rest", T = 200, values = [4, 16], claimed = -0.5, hyper = { b_1 = [4, 16] }, why }]

    [theorem_1.from]                 where sweeps start, for those that share it: `from` may be such a row itself
    rest = { problem, at, with }

What moves along with the values of a sweep, `hyper` and `parameters`, is a list of as many, one number for all, or
`{ times = 0.375 }`. `at` are hyperparameters, exact; `with` are names of sets and parameters, of which the later ones count.
`like = "theorem_2"` takes what a table does not say from another one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from ...algorithms import Method
from ...algorithms.declared import DEFAULTS
from ...algorithms.engine.method import annotation_of
from ...algorithms.registry import get_method
from ...bounds.language.reading import InputError, read_number
from ...bounds.registry import get_theorem
from .declaration import Runs, Sweep
from .method_of import build_of, steps_of
from .recipe import SETS, Build, Instance, Recipe
from .values import GIVEN_BY_THE_PROBLEM, HORIZONS

Exact = int | Fraction
_INSTANCE = {"problem", "at", "with", "T", "case", "why"}
_OPTIONS = ("average", "label", "limit_exponent")
_THEOREM = {*_OPTIONS, "like", "method", "asks", "every", "defaults", "instances", "sweeps", "complexity", "from"}


def read_runs(file: str, methods: Mapping[str, Build] | None = None, **more: Any) -> Runs:
    """What the table beside a module declares.

    Args:
        file: the module's `__file__`; its folder's name, or its own, is the paper's key.
        methods: what builds a method that the table cannot name, by the end of the theorem's id.
        more: what a table does not say: chains, codes, …

    Raises:
        ValueError: a row without a key, or with one too many; the message names the theorem.
    """
    place = Path(file)
    in_folder = place.stem == "__init__"
    key = place.parent.name if in_folder else place.stem
    table = place.with_name("runs.toml") if in_folder else place.with_suffix(".toml")
    tables: dict[str, Any] = tomllib.loads(table.read_text(encoding="utf-8"))
    sets = dict(SETS)
    for name, text in tables.pop("parameters", {}).items():
        sets[name] = _parameters(text, sets)
    read = [
        _Table(f"{key}.{name}", {**tables.get(rows.get("like", ""), {}), **rows}, sets) for name, rows in tables.items()
    ]
    run = {one: one.method() or (methods or {}).get(one.name) for one in read if "instances" in one.rows}
    return Runs(
        recipes={one.id: one.recipe(method) for one, method in run.items() if method},
        instances={one.id: one.instances() for one, method in run.items() if not method},
        sweeps={one.id: found for one in read if (found := one.sweeps)},
        complexities={one.id: sweep for one in read if (sweep := one.complexity()) is not None},
        **more,
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """The table of one theorem."""

    id: str
    rows: Mapping[str, Any]
    sets: Mapping[str, Mapping[str, Any]]

    def __post_init__(self) -> None:
        if unknown := self.rows.keys() - _THEOREM:
            raise ValueError(
                f"{self.id}: wanted the keys {', '.join(sorted(_THEOREM))}, got {', '.join(sorted(unknown))}"
            )

    @property
    def name(self) -> str:
        return self.id.partition(".")[2]

    @property
    def label(self) -> str:
        return str(self.rows.get("label", "printed"))

    def method(self) -> Build | None:
        """What the table names: a method that gets what it needs as the theorem's own does, else from the symbols of the same name.

        It asks for what it has no default for, for a batch size of the paper's notation and for what the table's `asks` names; what
        else it may be given is taken where there is a value. A search learns by this for which symbols it has to choose values.
        """
        if "method" not in self.rows:
            return None
        given = self.rows["method"]
        options = {} if isinstance(given, str) else {name: value for name, value in given.items() if name != "name"}
        owner, theorem = get_method(given if isinstance(given, str) else given["name"]), get_theorem(self.id)
        if theorem.method is not None:
            built = build_of(theorem, owner)
            return lambda values: replace(built(values), **options)
        own = [declared for declared in fields(owner) if declared.name not in options]
        batches = DEFAULTS.keys() & theorem.notation.bindings.keys()
        always = {*batches, *self.rows.get("asks", "").split()}
        asked = {each.name for each in own if each.default is MISSING or each.name in always}
        whole = {each.name for each in own if annotation_of(each).startswith("int")}

        def build(values: Mapping[str, Any]) -> Method:
            taken = [each.name for each in own if each.name in asked or each.name in values]
            found = {name: values[name] for name in taken}
            return owner(**{name: int(found[name]) if name in whole else found[name] for name in taken}, **options)

        return build

    def recipe(self, method: Build) -> Recipe:
        options: dict[str, Any] = {n: self.rows[n] for n in _OPTIONS if n in self.rows}
        if every := self.rows.get("every"):
            options["every"] = lambda values: int(values[every])
        defaults = _hyperparameters(self.rows.get("defaults", ""))
        return Recipe(method, self.instances(), steps=steps_of(get_theorem(self.id)), defaults=defaults, **options)

    def instances(self) -> tuple[Instance, ...]:
        return tuple(self._instance(row) for row in self.rows["instances"])

    def _instance(self, row: Mapping[str, Any]) -> Instance:
        if row.keys() - _INSTANCE or "problem" not in row:
            raise ValueError(
                f"{self.id}: wanted an instance with a problem and {', '.join(sorted(_INSTANCE))}, got {dict(row)}"
            )
        return Instance(
            row["problem"],
            _hyperparameters(row.get("at", "")),
            row.get("why", "sweep"),
            _parameters(row.get("with", ""), self.sets),
            tuple(row.get("T", ())),
            row.get("case", "interior"),
        )

    @cached_property
    def sweeps(self) -> tuple[Sweep, ...]:
        return tuple(self._sweep(row) for row in self.rows.get("sweeps", ()))

    def complexity(self) -> Sweep | None:
        found = self.rows.get("complexity")
        return self._sweep(found) if isinstance(found, Mapping) else self.sweeps[0] if found else None

    def _sweep(self, row: Mapping[str, Any]) -> Sweep:
        given = dict(row)
        start = given.pop("from")
        base = self._instance(self.rows["from"][start] if isinstance(start, str) else start)
        values = [_exact(value) for value in given.pop("values")]
        along_with: dict[str, Any] = {
            name: _column(self.id, values, given.pop(name, None)) for name in ("hyper", "parameters")
        }
        over, T, why = given.pop("over"), given.pop("T", 0), given.pop("why")
        return along(self.id, over, base, T, values, why, label=self.label, **along_with, **given)


def along(
    theorem_id: str,
    over: str,
    base: Instance,
    T: int | Callable[[Any], int],
    values: Sequence[Any],
    why: str,
    *,
    label: str = "printed",
    claimed: float | None = None,
    hyper: Callable[[Any], Mapping[str, Any]] | None = None,
    parameters: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Sweep:
    """A sweep from a base instance, driven by what the declaration says the symbol is.

    A horizon moves T; a constant, and what belongs to the objective (clients, nu, alpha), is a parameter of the problem of the
    same name unless `parameters` says which; everything else is a hyperparameter. `hyper` adds what moves along with it.

    Raises:
        InputError: the statement has no such symbol.
    """
    symbols = get_theorem(theorem_id).symbols(label)
    if over not in symbols:
        raise InputError(f"{over[:30]}: not a symbol of {theorem_id}; wanted one of {' '.join(symbols)}")
    quantity = symbols[over].quantity
    given = GIVEN_BY_THE_PROBLEM.get(quantity.name)

    def point(value: Any) -> tuple[Instance, int]:
        is_horizon = quantity.name in HORIZONS
        is_hyper = quantity.role == "hyperparameter" and not is_horizon and given is None
        chosen = {**base.hyperparameters, **({over: value} if is_hyper else {}), **(hyper(value) if hyper else {})}
        own = {} if is_hyper or is_horizon else {given or over: value}
        on_problem = {**base.parameters, **(parameters(value) if parameters else own)}
        horizon = int(value) if is_horizon else T(value) if callable(T) else T
        return Instance(base.problem, chosen, why, on_problem, (horizon,)), horizon

    return Sweep(theorem_id, label, over, tuple(point(value) for value in values), why, claimed)


def _column(theorem: str, values: Sequence[Any], moves: Mapping[str, Any] | None) -> Callable[[Any], Any] | None:
    """What moves along with each value: a list of as many, a multiple of it, or one number for all."""
    if moves is None:
        return None
    if any(isinstance(column, list) and len(column) != len(values) for column in moves.values()):
        raise ValueError(f"{theorem}: wanted {len(values)} values of each of {', '.join(moves)}")

    def at(value: Any, column: Any) -> Any:
        if isinstance(column, Mapping):
            return column["times"] * value
        return _exact(column[values.index(value)] if isinstance(column, list) else column)

    return lambda value: {name: at(value, column) for name, column in moves.items()}


def _exact(value: Any) -> Any:
    """A text is a fraction; a number stays what it is."""
    return Fraction(value) if isinstance(value, str) else value


def _hyperparameters(text: str) -> dict[str, Exact]:
    found: dict[str, Exact] = {}
    for setting in text.split():
        name, _, number = setting.partition("=")
        value = read_number(name, number)
        found[name] = int(value) if value.denominator == 1 else value
    return found


def _parameters(text: str, sets: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in text.split():
        name, equals, number = part.partition("=")
        if not equals and name not in sets:
            raise ValueError(f"{name}: no set of parameters; wanted NAME=NUMBER or one of {', '.join(sets)}")
        found |= {name: float(number) if "." in number else int(number)} if equals else sets[name]
    return found
