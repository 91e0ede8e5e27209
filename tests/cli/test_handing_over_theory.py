"""The commands about statements hand over what was asked and print what was found: the mathematics itself is replaced or tiny."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from fedco.bounds.evaluation.without_running import Beside
from in_process import invoke as run
from in_process import refused, swapping

ID = "feddro.lemma_3_1"
SETS = [part for name in ("L_h", "L_f", "L_g", "B_f", "B_g") for part in ("--set", f"{name}=1")]


def test_a_module_that_is_first_imported_under_a_replacement_gets_the_function_back(monkeypatch):
    from fedco.bounds.evaluation import evaluate

    original, meanwhile = evaluate.bound, ModuleType("fedco.imported_meanwhile")
    monkeypatch.setitem(sys.modules, meanwhile.__name__, meanwhile)
    with swapping() as swap:
        for answer in (1, 2):  # one upon another
            swap("fedco.bounds.evaluation.evaluate.bound", lambda answer=answer: answer)
        exec("from fedco.bounds.evaluation.evaluate import bound", vars(meanwhile))
        assert meanwhile.bound() == 2
    assert evaluate.bound is original and meanwhile.bound is original


def test_a_list_of_theorems():
    rows = json.loads(run("theorems", "fcsg", "--json").stdout)["theorems"]
    lines = run("theorems", "fcsg").stdout.splitlines()
    assert len(rows) == len(lines) and all(row["id"].startswith("fcsg.") for row in rows)
    row = next(row for row in rows if row["id"] == "fcsg.theorem_4_1")
    assert row["kind"] == "theorem" and {"printed", "corrected"} <= {*row["statements"]}
    assert f"{row['id']:<32} {'theorem':<10} {row['title']}  [{', '.join(row['statements'])}]" in lines
    assert len(json.loads(run("theorems", "--json").stdout)["theorems"]) > len(rows)


def test_a_bound_with_and_without_sensitivity(replaced, found):
    calls = replaced("fedco.bounds.evaluation.evaluate.bound", found("a bound"))
    sensitive = replaced("fedco.bounds.cost.sensitivity.elasticities", found("percents"))
    plain = run("bound", ID, *SETS)
    assert plain.stdout.splitlines()[0] == "a bound" and "percents" not in plain.stdout and plain.exit_code == 0
    ((_, values), named) = calls[0]
    assert named == {"strict": False, "beside": Beside()} and values["B_f"] == "1" and len(calls) == 1
    both = run("bound", ID, *SETS, "--sensitivity")
    assert both.stdout.splitlines()[:2] == ["a bound", "percents"] and len(sensitive) == 3
    data = json.loads(run("bound", ID, *SETS, "--sensitivity", "--json").stdout)
    assert data["sensitivity"] == {"found": "percents"} and data["found"] == "a bound"
    assert "sensitivity" not in json.loads(run("bound", ID, *SETS, "--json").stdout)
    assert "percents" in run("bound", ID, *SETS, "--sensitivity", "--markdown").stdout


@pytest.mark.parametrize(
    ("strict", "good", "status"), [(True, False, 3), (True, True, 0), (False, False, 0), (False, True, 0)]
)
def test_strictness_is_a_status(strict, good, status, replaced, found):
    replaced("fedco.bounds.evaluation.evaluate.bound", found(admissible=good))
    replaced("fedco.bounds.region.admissible.admissible", found(feasible=good))
    more = ["--strict"] if strict else []
    assert run("bound", ID, *SETS, *more).exit_code == status
    assert run("admissible", ID, "--solve", "B_g", *SETS[:-2], *more).exit_code == status


def test_admissible_sets_and_their_picture(replaced, found):
    calls = replaced("fedco.bounds.region.admissible.admissible", found())
    drawn = replaced("fedco.bounds.region.admissible.region_picture", found())
    assert run("admissible", ID, "--solve", " B_f , B_g ", *SETS[:-4]).stdout.startswith("found in words")
    ((_, names, values), _) = calls.pop()
    assert names == ("B_f", "B_g") and "B_g" not in values and values["L_h"] == "1"
    run("admissible", ID, "--solve", "outer_lipschitz", *SETS[:-4], "--set", "B_g=1")
    assert calls.pop()[0][1] == ("B_f",)
    run("admissible", ID, "--solve", "B_f,B_g", *SETS[:-4], "--figure", "f.png")
    ((_, pair, _, file), _) = drawn.pop()
    assert pair == ("B_f", "B_g") and file == Path("f.png")
    refused("--figure: wanted two names in --solve, got 1", "admissible", ID, "--solve", "B_f", *SETS[:-4], "--set", "B_g=1",
            "--figure", "f.png")  # fmt: skip
    refused("--solve: wanted the name of a hyperparameter, got nothing", "admissible", ID, "--solve", " , ")
    refused("B_g: both solved for and set", "admissible", ID, "--solve", "B_g", *SETS)


def test_findings_and_when_they_were_checked(replaced):
    calls = replaced(
        "fedco.bounds.audit.make_audit_cache.findings",
        ([{"x": 1, "cause": ""}, {"x": 2, "cause": ""}], {"a": "2026-01-02", "b": "", "c": "2026-01-01"}),
    )
    replaced("fedco.bounds.audit.findings.describe", "described")
    done = run("audit", ID, "--check")
    assert done.stdout == "described\n\ndescribed\n" and calls[0][0] == (ID, True)
    assert done.stderr == "2 findings, every check confirmed on 2026-01-01 to 2026-01-02\n"
    data = json.loads(run("audit", "--no-check", "--json").stdout)
    assert [row["x"] for row in data["findings"]] == [1, 2] and data["checked"]["c"] == "2026-01-01"
    replaced("fedco.bounds.audit.make_audit_cache.findings", ([], {"a": ""}))
    assert run("audit").stderr == "no findings: there was no check to run\n" and calls[-1][0] == (None, None)


def test_tune_hands_over_budgets_ranges_and_prices(replaced, found):
    calls = replaced("fedco.bounds.optimum.tuning.tune", found())
    ranges = [part for each in ("b= 1 : ", "q=:4", "m=2:5") for part in ("--range", each)]
    asked = ["--budget", "T=5", "--eps", "1/3", "--weight", "rounds=2", *ranges]
    assert run("tune", "fcsg.theorem_4_1", "--set", "L_f=1", *asked).stdout.startswith("found in words")
    ((_, values), named) = calls.pop()
    assert values == {"L_f": "1"} and named == {
        "budget": {"T": "5"}, "eps": "1/3", "cost": {"rounds": "2"}, "ranges": {"b": ("1", None), "q": (None, "4"), "m": ("2", "5")},
        "beside": Beside(),
    }  # fmt: skip
    run("tune", "fcsg.theorem_4_1", "--cost", "rounds")
    assert calls.pop()[1] == {"budget": None, "eps": None, "cost": "rounds", "ranges": {}, "beside": Beside()}
    refused("--range b: wanted LOW:HIGH, got '4'", "tune", "fcsg.theorem_4_1", "--range", "b=4")


def test_complexity_with_a_target_and_its_picture(replaced, found):
    calls = replaced("fedco.bounds.cost.complexity.complexity", found())
    drawn = replaced("fedco.bounds.cost.sensitivity.pareto", None)
    done = run(
        "complexity", "fcsg.theorem_4_1", "--eps", "1/10", "--cost", "rounds", "--figure", "f.svg", "--set", "L_f=2"
    )
    assert done.stdout.startswith("found in words")
    assert calls[0][0][1:] == ({"L_f": "2"}, "1/10") and calls[0][1] == {"cost": "rounds", "beside": Beside()}
    assert drawn[1][0][1:] == ({"L_f": "2"}, "1/10") and drawn[1][1] == {"figure": Path("f.svg")}
    run("complexity", "fcsg.theorem_4_1", "--eps", "1/10")
    assert len(calls) == 3 and calls[2][1] == {"cost": None, "beside": Beside()}
    for more in (["--set", "L_f=1"], ["--assume", "zero_noise"], ["--figure", "f.svg"]):
        refused("--eps: wanted a target, got nothing", "complexity", "fcsg.theorem_4_1", *more)


def test_orders_come_with_the_claims_about_them(monkeypatch, found):
    from fedco.bounds.cost import claims

    monkeypatch.setattr(claims, "about", lambda name: [f"{name} claims"])
    monkeypatch.setattr(claims, "check", found)
    done = run("complexity", "fcsg.theorem_4_1")
    lines = [line for line in done.stdout.splitlines() if not line.startswith("  ")]
    assert lines[-1] == "fcsg.theorem_4_1 claims" and len(lines) >= 2
    assert json.loads(run("complexity", "fcsg.theorem_4_1", "--json").stdout)["claims"] == [
        {"found": "fcsg.theorem_4_1 claims"}
    ]


def test_comparisons(replaced, found):
    calls = replaced("fedco.bounds.cost.comparison.compare", found())
    drawn = replaced("fedco.bounds.cost.comparison.figure", None)
    asked = [
        "fcsg",
        "--eps",
        "1/4",
        "--set",
        "clients=20",
        "--kind",
        "conditional",
        "--cost",
        "rounds",
        "--statement",
        "printed",
    ]
    done = run("compare", *asked)
    assert done.stdout == "found in words\n"
    ((eps, values), named) = calls.pop()
    assert (
        eps == "1/4"
        and values == {"clients": "20"}
        and {t.kind for t in named.pop("theorems")} <= {"theorem", "corollary"}
    )
    assert named == {"kind": "conditional", "statement": "printed", "cost": "rounds"}
    run("compare", *asked, "--figure", "f.svg")
    (file, targets, values), named = drawn[-1]
    assert file == Path("f.svg") and values == {"clients": "20"} and named["cost"] == "rounds"
    assert targets == pytest.approx([2.5, 10**0.5 / 4, 0.25, 0.25 / 10**0.5, 0.025])
    assert json.loads(run("compare", *asked, "--json").stdout) == {"found": "found in words", "unused": []}
    run("compare", "--eps", "1")
    assert calls[-1][1]["theorems"] == [] and calls[-1][1]["cost"] == "samples"


def test_orders_are_asked_for_alone(replaced, tmp_path, found):
    calls = replaced("fedco.bounds.cost.comparison.orders", found())
    assert run("compare", "--orders", "--kind", "meta").stdout == "found in words\n"
    assert calls[0] == (("meta",), {"theorems": []})
    assert json.loads(run("compare", "--orders", "--json").stdout) == {"found": "found in words"}
    file = tmp_path / "c.toml"
    file.write_text("clients = 3\n")
    for more in (["--eps", "1"], ["--set", "clients=2"], ["--figure", "f.svg"], ["--constants", str(file)]):
        refused("--orders: wanted it alone or with --kind", "compare", "--orders", *more)
    refused("--eps: wanted a target, got nothing; or --orders", "compare")


def test_what_is_said_of_a_statement_is_printed_with_it(swap, capsys):
    """The caution once, after the notes about the values; JSON has its status, and what refutes it."""
    from fedco.cli.command import Answer

    known = SimpleNamespace(warning="REFUTED: by x", said={"status": "refuted", "refuted_by": ["x"]})
    swap("fedco.bounds.audit.status.known_of", lambda statement: known)
    given = SimpleNamespace(notes=("assumed: a",), to_dict=lambda: {"assumed": ["a"]})
    told = Answer({"v": Fraction(1).numerator}, "line\n  REFUTED: by x\nend").about(None, given)
    told.show("")
    assert capsys.readouterr().out == "line\nend\n  assumed: a\n  REFUTED: by x\n"
    told.show("json")
    assert json.loads(capsys.readouterr().out) == {"v": 1, "assumed": ["a"], "status": "refuted", "refuted_by": ["x"]}
    known.warning = ""
    Answer({}, "line\n\nend").about(None).show("")
    assert capsys.readouterr().out == "line\n\nend\n"
