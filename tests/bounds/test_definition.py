"""A theorem from data, from a paper's folder and from a Python file: each mistake is one line that says what and where."""

from __future__ import annotations

import os
import sys
import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import fedco
import pytest
import sympy as sp
from fedco.bounds import paper_theorems
from fedco.bounds.audit.checks import automatic
from fedco.bounds.audit.status import status
from fedco.bounds.cost.resources import resources
from fedco.bounds.files import is_file, theorem_of_file, theorems_of_file
from fedco.bounds.language import properties
from fedco.bounds.language.bounding import CONVEX, CONVEX_CLIENTS, EQUAL_INNER, EQUAL_OUTER, INDEPENDENT_CLIENTS
from fedco.bounds.language.definition import define, load
from fedco.bounds.language.paper import paper_in_folder
from fedco.bounds.language.paper_file import PaperFile
from fedco.bounds.language.reading import MAX_FILE
from fedco.bounds.language.theorem import DeclarationError
from fedco.validation.runs.method_of import build_of
from refusal import is_refused
from small_theorems import merged, small

EXAMPLE = Path(fedco.__file__).parent / "examples" / "pr_sgd.toml"
TEXT = EXAMPLE.read_text(encoding="utf-8")
KEYS: dict[str, Any] = tomllib.loads(TEXT)
POINT = {"L": 2, "sigma": 3, "G": 4, "F_gap": 5, "eta": "1/10", "p": 6, "N": 7, "T": 1000}


def changed(**tables: Any) -> dict[str, Any]:
    return merged(KEYS, tables)


def test_the_example_is_the_theorem_that_it_writes_down():
    theorem = load(EXAMPLE)
    found = theorem.bound("printed", **POINT)
    L, sigma, G, gap, eta, p, N, T = 2, 3, 4, 5, Fraction(1, 10), 6, 7, 1000
    wanted = {
        "initialisation": 2 * gap / (eta * T),
        "variance": L * eta * sigma**2 / N,
        "drift": 4 * eta**2 * p**2 * L**2 * (G**2 + sigma**2),
    }
    assert found.terms == {name: float(value) for name, value in wanted.items()}
    assert found.total == float(sum(wanted.values()))
    assert found.derived == {"M": 5.0} and found.admissible
    assert not theorem.bound("printed", strict=False, **{**POINT, "eta": "51/100"}).admissible
    assert theorem.bound("printed", **{**POINT, "eta": "1/2"}).admissible
    assert (theorem.id, theorem.problem, theorem.average) == ("pr_sgd.theorem_1", "federated", "before")
    assert theorem.title == "Parallel restarted SGD, smooth non-convex" and theorem.source.paper == "pr_sgd"
    assert str(theorem.metric.dimension) == "[f]^2 [x]^-2"


def test_a_file_and_the_same_keys_in_python_are_the_same_theorem():
    loaded, defined = load(EXAMPLE), define(**KEYS)
    assert loaded.statement() == defined.statement() and resources(loaded.statement("printed")) == resources(
        defined.statement("printed")
    )
    assert loaded.method is not None and defined.method is not None
    assert (loaded.method.name, loaded.method.values) == (defined.method.name, defined.method.values)
    assert loaded.method.folder == EXAMPLE.parent and defined.method.folder is None


def test_what_may_be_left_out():
    theorem = small("2*F_gap/(eta*T)", id="mine.small")
    assert theorem.title == "mine.small" and theorem.source.where == "small" and theorem.problem == "federated"
    assert theorem.statement("printed").conditions == () and theorem.costs == {} and theorem.method is None
    assert resources(theorem.statement("printed")) == {}


def test_numbers_are_exact_in_both_forms(tmp_path):
    theorem = small("0.3*F_gap/(eta*T)")
    assert not theorem.statement("printed").total.atoms(sp.Float)
    assert theorem.bound("printed", F_gap=1, eta=1, T=1).total == 0.3
    for value in (0.5, Fraction(1, 2), "0.5", "1/2"):
        made = define(**changed(derived={"c": value}, terms={"drift": "4*c*eta**2*p**2*L**2*M**2"}))
        assert made.statement().constant("c").expr == sp.Rational(1, 2)
    path = tmp_path / "half.toml"
    path.write_text(TEXT.replace('M = "sqrt', 'c = 0.1\nM = "sqrt').replace('"4*eta', '"4*c*eta'), encoding="utf-8")
    assert load(path).statement().constant("c").expr == sp.Rational(1, 10)


def test_costs_are_the_methods_count_where_the_file_has_none():
    theorem = load(EXAMPLE)
    T, p = (theorem.notation[name].symbol for name in ("T", "p"))
    assert resources(theorem.statement("printed")) == {
        "iterations": T,
        "rounds": T / p,
        "samples": T,
        "model_messages": T / p,
    }
    twice = define(**changed(costs={"rounds": "2*T/p"}, method={"b": 3}))
    assert resources(twice.statement("printed")) == {
        "iterations": T,
        "rounds": 2 * T / p,
        "samples": 3 * T,
        "model_messages": T / p,
    }
    assert resources(define(**changed(method=None)).statement("printed")) == {"rounds": T / p}


def without_eta(point: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in point.items() if name != "eta"}


def test_a_schedule_is_prescribed_and_may_be_left_out():
    theorem = define(**changed(schedule={"eta": "1/(2*L)"}, conditions=None))
    assert theorem.bound("printed", **without_eta(POINT)).values["eta"] == "1/4"
    assert theorem.bound("printed", **{**POINT, "eta": "1/4"}).admissible
    assert theorem.bound("printed", strict=False, **POINT).failed == ("schedule_eta",)


def test_a_schedule_may_be_all_that_is_left_of_a_symbol():
    keys = changed(schedule={"eta": "1/(2*L)"}, conditions=None)
    keys["terms"] = {"initialisation": "4*L*F_gap/T", "variance": "sigma**2/(2*N)", "drift": "p**2*M**2"}
    assert define(**keys).bound(**without_eta(POINT)).values["eta"] == "1/4"


def test_units_that_a_statement_sets_to_one():
    keys = changed(schedule={"eta": "sqrt(N/T)"}, conditions=None)
    with is_refused(r"wanted dimension \[f\]\^-1 \[x\]\^2, got 1; .*`units`"):
        define(**keys)
    theorem = define(**keys, units=["step_size"])
    assert theorem.bound("printed", **without_eta(POINT)).values["eta"] == "sqrt(70)/100"


def test_a_corollary_says_what_it_follows_from():
    parent = load(EXAMPLE)
    corollary = define(
        **changed(schedule={"eta": "1/L"}, conditions=None, id="pr_sgd.corollary_2"), follows_from=parent
    )
    assert corollary.kind == "corollary" and corollary.follows_from is not None
    assert corollary.follows_from == (parent, {"eta": 1 / parent.notation["L"].symbol})


MISTAKES = {
    # keys
    "unknown key": (changed(symbol={"L": "x"}), ["'symbol'", "not a key", "nearest is symbols"]),
    "no id": (changed(id=None), ["id is missing"]),
    "no terms": (changed(terms=None), ["terms is missing"]),
    "empty terms": ({**KEYS, "terms": {}}, ["terms is missing"]),
    "no symbols": (changed(symbols=None), ["symbols is missing"]),
    "id without a paper": (changed(id="theorem_1"), ["id", "PAPER.NAME", "'theorem_1'"]),
    "id with a path": (changed(id="../x.y"), ["id", "PAPER.NAME"]),
    "id with escapes": (changed(id="a.b\x1b[31m"), ["id", "PAPER.NAME"]),
    "id a number": (changed(id=3), ["id", "wanted a text", "'3'"]),
    "symbols a list": (changed(symbols=["L"]), ["symbols", "wanted a table"]),
    "assume a text": (changed(assume="equal_clients"), ["assume", "wanted a list of names"]),
    "assume no name": (changed(assume=["Not a name!"]), ["assume", "is not a property", "one_outer_function"]),
    "metric unknown": (
        changed(metric="mean_gradient_s"),
        ["metric", "'mean_gradient_s' is not a metric", "gradient_sq"],
    ),
    "average unknown": (changed(average="afterwards"), ["average", "nearest is after"]),
    "problem no kind": (changed(problem="a b"), ["problem", "not a kind of problem"]),
    "too many": (changed(terms={f"t{i}": "1" for i in range(300)}), ["terms", "at most 200"]),
    # names and quantities
    "unknown quantity": (
        changed(symbols={"L": "local_smothness"}),
        ["symbols, L", "'local_smothness' is no known quantity", "or take local_smoothness"],
    ),
    "quantity a number": (changed(symbols={"L": 3}), ["symbols, L", "'3' is no known quantity"]),
    "symbol no name": (changed(symbols={"L f": "local_smoothness"}), ["symbols", "plain name", "'L f'"]),
    "symbol dunder": (changed(symbols={"__class__": "local_smoothness"}), ["symbols", "plain name"]),
    "symbol a function": (changed(symbols={"max": "local_smoothness"}), ["symbols", "max is a function"]),
    "derived a symbol": (changed(derived={"L": "G"}), ["derived, L", "already a symbol"]),
    "derived too early": (
        changed(derived={"A": "B", "B": "L"}),
        ["derived, A", "column 1", "'B' is not a declared name"],
    ),
    "unused symbol": (changed(symbols={"rho": "local_hessian_lipschitz"}), ["symbol rho is never used"]),
    "unused derived": (changed(derived={"H": "2*L"}), ["derived constant H is never used"]),
    # formulas and dimensions
    "rounded too late": (
        changed(derived={"M": "exp(T)"}, terms={"drift": "floor(M)*G**2"}),
        ["term drift", "rounds exp or a power", "too many digits"],
    ),
    "wrong sum": (changed(derived={"M": "sqrt(G**2 + sigma)"}), ["constant M", "mixed dimensions"]),
    "wrong maximum": (changed(derived={"M": "max(G, L)"}), ["constant M", "mixed dimensions"]),
    # costs, schedule, method, units
    "unknown cost": (changed(costs={"round": "T/p"}), ["costs", "'round'", "not a cost", "nearest is rounds"]),
    "cost undeclared": (changed(costs={"rounds": "T/tau"}), ["costs, rounds", "column 3", "'tau'"]),
    "schedule of nothing": (changed(schedule={"etta": "1/L"}), ["schedule", "'etta'", "nearest is eta"]),
    "schedule of a constant": (changed(schedule={"L": "1/eta"}), ["schedule, L", "hyperparameter"]),
    "method without name": (changed(method={"name": None}), ["method", "name is missing"]),
    "method name a number": (changed(method={"name": 3}), ["method", "name is missing"]),
    "method undeclared": (changed(method={"tau": "q"}), ["method, tau", "column 1", "'q'"]),
    "unknown unit": (changed(units=["step"]), ["units", "'step'", "nearest is step_size"]),
}


DRIFTS: dict[str, tuple[Any, list[str]]] = {
    "undeclared": ("4*eta**2*p**2*LL**2*M**2", ["column 15", "'LL'", "nearest is L"]),
    "a call": ("sin(T)*G**2", ["column 1", "'sin' cannot be called"]),
    "code": ("__import__('os').system('x')", ["column 1"]),
    "a relation": ("eta <= 1/L", ["column 5"]),
    "true": (True, ["formula as text", "'True'"]),
    "a list": (["G**2"], ["formula as text"]),
    "a symbol": (sp.Symbol("G") ** 2, ["formula as text"]),
    "not finite": (float("nan"), ["column 1", "'nan'"]),
    "zero division": ("G**2/0", ["column 6", "division by zero"]),
    "huge": ("9**9**9", ["column 4"]),
    "wrong dimension": ("4*eta*p**2*L**2*M**2", ["wanted dimension [f]^2 [x]^-2", "got [f]^3 [x]^-4"]),
}
STEP_SIZES = {
    "a call": ("eta <= f(L)", ["column 8", "'f' cannot be called"]),
    "no relation": ("1/L", ["column 4", "relation"]),
    "wrong dimension": ("eta <= 1/G", ["wanted dimension [f]^-1 [x]^2", "got [f]^-1 [x]"]),
}
MISTAKES |= {
    f"drift: {name}": (changed(terms={"drift": text}), ["term drift", *said]) for name, (text, said) in DRIFTS.items()
}
MISTAKES |= {
    f"step size: {name}": (changed(conditions={"step_size": text}), ["condition step_size", *said])
    for name, (text, said) in STEP_SIZES.items()
}


@pytest.mark.parametrize(("keys", "named"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_that_says_what_and_where(keys: dict[str, Any], named: list[str]):
    with is_refused() as caught:
        define(**keys)
    message = str(caught.value)
    assert message.isprintable() and len(message) < 300
    assert all(word in message for word in named), message


FILES = {
    "prose": ("this is no TOML", "wanted a readable TOML file"),
    "a key twice": ('id = "a.b"\nid = "a.c"', "wanted a readable TOML file"),
    "a term twice": (TEXT.replace("drift =", "variance ="), "wanted a readable TOML file"),
    "a table twice": (TEXT + "\n[symbols]\nq = 1\n", "wanted a readable TOML file"),
    "a date": (TEXT.replace('"4*eta**2*p**2*L**2*M**2"', "1979-05-27"), "term drift: wanted a formula"),
    "empty": ("", "id is missing"),
    "deep": ("a = " + "[" * 5000 + "]" * 5000, "wanted a readable TOML file"),
    "a huge integer": (TEXT.replace("b = 1", "b = " + "1" * 5000), "wanted a readable TOML file"),
    "a huge exponent": (TEXT.replace("b = 1", "b = 1e7000000"), "method, b: column 1"),
    "too long": ("#" * (MAX_FILE + 1), "at most 100000 bytes"),
    "not text": (b"\xff\xfe\x00", "wanted a readable TOML file"),
}


@pytest.mark.parametrize(("text", "reason"), FILES.values(), ids=FILES)
def test_a_bad_file_is_one_line_that_names_it(text: str | bytes, reason: str, tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with is_refused() as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ") and reason in str(caught.value)
    assert str(caught.value).isprintable()


def test_files_that_cannot_be_opened(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.toml")
    for path, reason in (
        (tmp_path / "none.toml", "no such file"),
        (tmp_path, "got a folder"),
        (tmp_path / "pipe.toml", "no such file"),
    ):
        with is_refused(reason):
            load(path)
    with is_refused("no such file"):
        load("/dev/zero")


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"terms": {"a": "F_gap/(eta*T)*sqrt(1 - L*eta)"}}, "a: not a real number"),
        ({"terms": {"a": "F_gap/(eta*T)"}, "conditions": {"c": "sqrt(1 - L*eta) <= 1"}}, "not a real number"),
        ({"terms": {"a": "F_gap/(eta*T*(1 - 2/(L*eta)))"}}, "denominator"),
    ],
)
def test_a_root_of_a_negative_number_is_one_line_too(parts: dict[str, Any], named: str):
    """Where a formula is not a real number, evaluating it is refused; elsewhere it is exact."""
    theorem = small(**parts)
    with is_refused(named):
        theorem.bound(F_gap=1, eta=2, T=1, L=1, strict=False)
    assert theorem.bound(F_gap=1, eta="1/2", T=1, L=1, strict=False).total is not None


def test_an_unknown_property_is_refused_with_the_nearest():
    with is_refused(r"assume: 'independant_clients' is not a property; the nearest is independent_clients"):
        define(**changed(assume=["independant_clients"]))
    theorem = define(**changed(assume=["independent_clients"]))
    with pytest.raises(
        DeclarationError, match="assumes 'determinstic', which is not a property; the nearest is deterministic"
    ):
        replace(theorem, assume=("determinstic",))
    stricter = replace(theorem.statement("printed"), assume=("no_extra_therm",))
    with pytest.raises(DeclarationError, match="the nearest is no_extra_term"):
        replace(theorem, statements={"printed": stricter})


@pytest.mark.parametrize("name", properties.PROPERTIES)
def test_a_named_property_is_shown_with_its_meaning_and_says_what_the_kernel_reads(name):
    theorem = define(**changed(assume=[name]))
    said = next(item for item in theorem.assumptions if item.name == name)
    assert said.text == properties.PROPERTIES[name] and said.text in str(theorem.to_dict())
    wanted = {"independent_clients": INDEPENDENT_CLIENTS, "equal_inner_maps": EQUAL_INNER}
    wanted |= {"convex": CONVEX, "convex_clients": CONVEX_CLIENTS}
    assert said.says == ((wanted[name],) if name in wanted else (EQUAL_OUTER,) if "outer" in name else ())


def test_a_package_may_add_a_property(monkeypatch):
    monkeypatch.setattr(properties, "_KNOWN", dict(properties.PROPERTIES))
    monkeypatch.setattr(properties, "PROPERTIES", properties._KNOWN)
    properties.register_property("clients_on_a_ring", "Each client has two neighbours.")
    assert properties.PROPERTIES["clients_on_a_ring"] == "Each client has two neighbours."
    with pytest.raises(ValueError, match="cannot mean"):
        properties.register_property("deterministic", "Something else.")
    with pytest.raises(ValueError, match="letters, digits"):
        properties.register_property("two words", "Something.")


def test_a_method_gets_its_words():
    scaffold = {"name": "scaffold", "eta": "eta", "tau": "p", "control": "gradient"}
    theorem = define(
        **changed(method={**dict.fromkeys(KEYS["method"]), **scaffold}, costs=dict.fromkeys(KEYS["costs"]))
    )
    assert theorem.method.options == {"control": "gradient"} and set(theorem.method.values) == {"eta", "tau"}
    assert resources(theorem.statement("printed")) == {}  # its own count is that of the default reading
    made = build_of(theorem)({"eta": 0.1, "p": 3, "T": 10})
    assert (made.name, made.control, made.tau) == ("scaffold", "gradient", 3)
    with is_refused("'gradient'"):
        define(**changed(method={**dict.fromkeys(KEYS["method"]), **scaffold, "control": None, "eta_g": "gradient"}))


def test_a_method_of_a_file_gets_its_words(tmp_path):
    (tmp_path / "mine.py").write_text("class Mine:\n    mode: str = 'slow'\n    eta: float = 1\n")
    keys = changed(
        method={**dict.fromkeys(KEYS["method"]), "name": f"{tmp_path}/mine.py:Mine", "eta": "eta", "mode": "fast"}
    )
    assert define(**keys).method.options == {"mode": "fast"}


def test_a_corrected_statement_alone_is_a_theorem():
    printed = load(EXAMPLE)
    alone = replace(printed, statements={"corrected": replace(printed.statement("printed"), label="corrected")})
    assert alone.labels == ("corrected",) and alone.default == alone.first == "corrected" and printed.first == "printed"
    assert alone.bound(**POINT).total == printed.bound(**POINT).total
    assert alone.admissible("eta", **{k: v for k, v in POINT.items() if k != "eta"}).feasible
    assert fedco.audit(alone) is not None and list(automatic(alone)) == []
    assert status(alone).outcome == "derived"
    with pytest.raises(DeclarationError, match="needs its printed statement, or a corrected one"):
        replace(printed, statements={"composed": replace(printed.statement("printed"), label="composed")})


def test_a_declared_cost_is_compared_with_the_count_of_the_method():
    (finding,) = fedco.audit(define(**KEYS | {"costs": {"rounds": "T/p**2"}}))
    assert finding.id == "pr_sgd.theorem_1:costs.rounds" and finding.expected == "the method local_sgd counts T/p"
    assert {name: str(value) for name, value in finding.check().items()} == {"declared": "T/p**2", "counted": "T/p"}
    for same in ("T/p", "floor(T/p)", "max(ceil(T/p), 1)"):
        assert list(fedco.audit(define(**KEYS | {"costs": {"rounds": same}}))) == []


# --- a paper from paper.toml: a stranger's folder loads as a built-in one ---------------------------------------------


BASELINES = Path(fedco.__file__).parent / "bounds" / "papers" / "baselines" / "paper.toml"
PAPER_MISTAKES = {
    "symbol": ('sigma = "local_gradient_noise"', 'sigma = "noise"', "symbols, sigma: 'noise' is not a quantity"),
    "formula": ("2*F_gap/(eta*T)", "2*F_gab/(eta*T)", "theorems.local_sgd.printed: term initialisation: column 3"),
    "key": ("problem =", "problems =", "theorems.local_sgd: 'problems' is not a key here; the nearest is problem"),
    "detail": ('role = "drift"', 'rule = "drift"', "term noise_drift: 'rule' is not a key of a formula"),
    "assumption": ('["client_smoothness"', '["smoothness"', "'smoothness' is not an assumption of the paper"),
    "bounds": ('bounds = ["G"]', 'bounds = ["T"]', "assumption bounded gradients: T bounds nothing"),
    "dimension": ('"(f/x)**2"', '"f + x"', "metrics.stationarity, dimension"),
    "only": ('says = ["differentiable', 'only = "proved"\nsays = ["differentiable', "'proved' is not a statement"),
    "says": (
        '["start of the method"]',
        '["start"]',
        "assumptions.start, says: 'start' is not something that a proof reads",
    ),
}


def test_a_strangers_folder_says_the_same(tmp_path, monkeypatch):
    folder = tmp_path / "baselines"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "paper.toml").write_text(BASELINES.read_text())
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "baselines", raising=False)
    paper = paper_in_folder("baselines")
    sys.modules.pop("baselines")
    assert paper.title.startswith("Baselines") and len(paper.main_theorems) == 5 and len(paper.theorems) == 21
    for name, built_in in paper_theorems("baselines").items():
        found = paper.theorem(name)
        assert found is paper.theorem(name)
        assert found.statement() == built_in.statement()
        for part in ("title", "source", "notation", "metric", "assumptions", "assume", "problem", "costs", "method"):
            assert getattr(found, part) == getattr(built_in, part), part


@pytest.mark.parametrize(
    ("place", "line", "reason"),
    [
        ("theorems.local_sgd", "units = 3", "theorems.local_sgd, units: wanted a list of names, got '3'"),
        ("theorems.local_sgd", "note = 3", "theorems.local_sgd, note: wanted a text, got '3'"),
        ("theorems.local_sgd", "absent = 3", "theorems.local_sgd, absent: wanted a table, got '3'"),
        ("theorems.local_sgd", "like = 3", "theorems.local_sgd, like: wanted a text, got '3'"),
        (
            "theorems.local_sgd.printed",
            "assume = 3",
            "theorems.local_sgd.printed, assume: wanted a list of names, got '3'",
        ),
        ("theorems.local_sgd.printed", "schedule = 3", "theorems.local_sgd.printed, schedule: wanted a table, got '3'"),
        ("metrics.other", 'name = "x"', "metrics.other: latex is missing; wanted name, latex, dimension"),
        ("assumptions.other", "text = 3", "assumptions.other, text: wanted a text, got '3'"),
        (
            "quantities.other",
            "meaning = 3",
            "quantities, other, meaning: wanted a text in one line of at most 200 characters",
        ),
        ("claims", 'where = "here"', "claims: wanted tables, each under [[claims]], got"),
    ],
)
def test_what_is_of_another_type_is_one_line_too(place, line, reason, tmp_path):
    """Also of what nothing has read until now: it was a traceback, or accepted."""
    file, text = tmp_path / "paper.toml", BASELINES.read_text()
    heading = f"\n[{place}]\n"
    file.write_text(text.replace(heading, f"{heading}{line}\n") if heading in text else f"{text}{heading}{line}\n")
    with is_refused() as refused:
        paper = PaperFile(file)
        paper.quantities, paper.metrics, tuple(paper.theorems.values())
    assert reason in str(refused.value) and str(refused.value).startswith(str(file))


@pytest.mark.parametrize(("right", "wrong", "reason"), PAPER_MISTAKES.values(), ids=PAPER_MISTAKES)
def test_a_mistake_is_one_line_that_says_where(right, wrong, reason, tmp_path):
    file, text = tmp_path / "paper.toml", BASELINES.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong))
    with is_refused() as refused:
        tuple(PaperFile(file).theorems.values())
    assert reason in str(refused.value) and str(refused.value).startswith(str(file))


def with_own_symbols(symbols: str, formula: str, file: Path) -> PaperFile:
    """The baselines with one more claim, in symbols of its own."""
    assumption = next(iter(PaperFile(BASELINES).table("assumptions")))
    file.write_text(
        f"""{BASELINES.read_text()}
[theorems.toy]
kind = "claim"
assumptions = ["{assumption}"]
costs = {{}}
method = {{}}
{symbols}
[theorems.toy.printed]
terms.only = "{formula}"
"""
    )
    return PaperFile(file)


def test_a_theorem_may_have_symbols_of_its_own(tmp_path):
    """A letter of the paper that stands for something else in one claim; the paper's own letters are unknown there."""
    eta = """symbols.eta = ["momentum", '\\eta']"""
    paper = with_own_symbols(eta, "eta**2", tmp_path / "paper.toml")
    toy, other = paper.theorems["baselines.toy"], paper.theorems["baselines.local_sgd"]
    assert [binding.name for binding in toy.notation] == ["eta"]
    assert toy.notation["eta"].quantity.name == "momentum" and other.notation["eta"].quantity.name == "step_size"
    assert all(assumption.bounds == () for assumption in toy.assumptions)
    assert any(assumption.bounds for assumption in other.assumptions)
    with is_refused(r"theorems\.toy\.printed: term only: .*F_gap"):
        tuple(with_own_symbols(eta, "F_gap", tmp_path / "paper.toml").theorems.values())
    with is_refused(r"theorems\.toy, symbols, eta: 'pace' is not a quantity"):
        tuple(with_own_symbols('symbols.eta = "pace"', "eta", tmp_path / "paper.toml").theorems.values())


def test_a_key_that_is_not_the_folders_is_refused(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "__init__.py").write_text("")
    (tmp_path / "elsewhere" / "paper.toml").write_text(BASELINES.read_text())
    monkeypatch.syspath_prepend(tmp_path)
    with is_refused("wanted the key elsewhere"):
        paper_in_folder("elsewhere")
    sys.modules.pop("elsewhere")


META_FL = BASELINES.parents[1] / "meta_fl" / "paper.toml"


@pytest.mark.parametrize(
    ("right", "wrong", "reason"),
    [
        ('like = "theorem_8"', 'like = "theorem_9"', "theorems.theorem_8_FO: 'theorem_9' is not a theorem of the paper"),
        ('put_in = { mu_F = "mu_F_FO"', 'put_in = { mu_G = "mu_F_FO"', "put_in: 'mu_G' is not a constant of the paper"),
        ('put_in = { mu_F = "mu_F_FO"', 'put_in = { mu_F = "mu_G_FO"', "put_in, mu_F: column 1"),
    ],
)  # fmt: skip
def test_a_theorem_like_another_names_what_there_is(right, wrong, reason, tmp_path):
    file = tmp_path / "paper.toml"
    file.write_text(META_FL.read_text().replace(right, wrong))
    with is_refused(reason):
        PaperFile(file).theorems["meta_fl.theorem_8_FO"].statement("printed")


def test_a_theorem_says_only_what_differs_from_another():
    one, other = (fedco.theorem(f"meta_fl.theorem_8{end}").statement("printed") for end in ("", "_FO"))
    assert one.conditions == other.conditions and len(one.terms) == len(other.terms)
    symbols = {str(symbol) for term in other.terms for symbol in term.expr.free_symbols}
    assert {"mu_F_FO", "sigma_F_FO"} <= symbols and not {"mu_F", "sigma_F"} & symbols
    assert [term.name for term in one.terms if term.expr == other.term(term.name).expr] == [
        "initialisation",
        "sampling",
        "drift_heterogeneity",
    ]


# --- FILE.toml and FILE.py:NAME stand for a theorem wherever an id does -----------------------------------------------


SYMBOLS = '{"F_gap": "objective_gap", "eta": "step_size", "T": "iterations"}'
ONE = (
    f'import fedco\nfirst = fedco.define(id="mine.theorem_1", symbols={SYMBOLS}, terms={{"all": "2*F_gap/(eta*T)"}})\n'
)
TWO = (
    ONE
    + f'second = fedco.define(id="mine.remark_2", symbols={SYMBOLS}, terms={{"all": "F_gap/(eta*T)"}})\nagain = first\n'
)
PAPER = TWO + 'paper = fedco.Paper("mine", "My paper", {"theorems": (first, second)})\ndel first, second, again\n'


def test_what_is_a_file():
    assert all(is_file(text) for text in ("a.toml", "d/a.toml", "a.py", "a.py:b", "/d/a.py:b"))
    assert not any(is_file(text) for text in ("feddro.theorem_5_1", "feddro", "", "a.json", "toml"))


@pytest.mark.parametrize("text", [TWO, PAPER], ids=["variables", "a paper"])
def test_a_theorem_of_a_python_file(tmp_path: Path, text: str):
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert list(theorems_of_file(str(file))) == ["mine.theorem_1", "mine.remark_2"]
    for name in ("mine.theorem_1", "theorem_1"):
        assert theorem_of_file(f"{file}:{name}").id == "mine.theorem_1"
    assert list(theorems_of_file(f"{file}:remark_2")) == ["mine.remark_2"]
    assert theorem_of_file(f"{file}:theorem_1") is theorem_of_file(f"{file}:theorem_1")
    with is_refused(r"mine\.py: wanted FILE\.py:NAME with one of "):
        theorem_of_file(str(file))
    with is_refused(r"mine\.py: 'theorem_2' is not one of its theorems; "):
        theorem_of_file(f"{file}:theorem_2")


def test_a_variable_names_a_theorem(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(TWO)
    assert theorem_of_file(f"{file}:second").id == "mine.remark_2"


def test_one_theorem_needs_no_name(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(ONE)
    assert theorem_of_file(str(file)).id == "mine.theorem_1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = 1\n", "declares a theorem, found none"),
        (ONE + ONE.replace("first", "other").replace("2*F_gap", "3*F_gap"), "two theorems have the id mine.theorem_1"),
        (ONE.replace("2*F_gap", "2*F_gab"), "line 2: mine.theorem_1: term all: column 3: 'F_gab'"),
    ],
)
def test_a_file_without_sound_theorems(tmp_path: Path, text: str, reason: str):
    file = tmp_path / "mine.py"
    file.write_text(text)
    with is_refused() as caught:
        theorems_of_file(str(file))
    assert str(caught.value).startswith(f"{file}: ") and reason in str(caught.value)
