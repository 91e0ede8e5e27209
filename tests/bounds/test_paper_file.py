"""A paper from `paper.toml`: a stranger's folder loads as a built-in one, and a mistake is one line that says where it is."""

import sys
from pathlib import Path

import fedco
import pytest
from fedco import InputError
from fedco.bounds import paper_theorems
from fedco.bounds.language.paper import paper_in_folder
from fedco.bounds.language.paper_file import PaperFile

FILE = Path(fedco.__file__).parent / "bounds" / "papers" / "baselines" / "paper.toml"
MISTAKES = {
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
    (folder / "paper.toml").write_text(FILE.read_text())
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
    file, text = tmp_path / "paper.toml", FILE.read_text()
    heading = f"\n[{place}]\n"
    file.write_text(text.replace(heading, f"{heading}{line}\n") if heading in text else f"{text}{heading}{line}\n")
    with pytest.raises(InputError) as refused:
        paper = PaperFile(file)
        paper.quantities, paper.metrics, tuple(paper.theorems.values())
    assert reason in str(refused.value) and str(refused.value).startswith(str(file)) and "\n" not in str(refused.value)


@pytest.mark.parametrize(("right", "wrong", "reason"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_that_says_where(right, wrong, reason, tmp_path):
    file, text = tmp_path / "paper.toml", FILE.read_text()
    assert right in text
    file.write_text(text.replace(right, wrong))
    with pytest.raises(InputError) as refused:
        tuple(PaperFile(file).theorems.values())
    assert reason in str(refused.value) and str(refused.value).startswith(str(file)) and "\n" not in str(refused.value)


def with_own_symbols(symbols: str, formula: str, file: Path) -> PaperFile:
    """The baselines with one more claim, in symbols of its own."""
    assumption = next(iter(PaperFile(FILE).table("assumptions")))
    file.write_text(
        f"""{FILE.read_text()}
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
    with pytest.raises(InputError, match=r"theorems\.toy\.printed: term only: .*F_gap"):
        tuple(with_own_symbols(eta, "F_gap", tmp_path / "paper.toml").theorems.values())
    with pytest.raises(InputError, match=r"theorems\.toy, symbols, eta: 'pace' is not a quantity"):
        tuple(with_own_symbols('symbols.eta = "pace"', "eta", tmp_path / "paper.toml").theorems.values())


def test_a_key_that_is_not_the_folders_is_refused(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "__init__.py").write_text("")
    (tmp_path / "elsewhere" / "paper.toml").write_text(FILE.read_text())
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="wanted the key elsewhere"):
        paper_in_folder("elsewhere")
    sys.modules.pop("elsewhere")


META = FILE.parents[1] / "meta_fl" / "paper.toml"


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
    file.write_text(META.read_text().replace(right, wrong))
    with pytest.raises(InputError, match=reason):
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
