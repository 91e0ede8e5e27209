"""What a report is told and measures: runs instance by instance, refutations, cards, proofs; a whole one of theorems that cost nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fedco
import numpy as np
import pytest
from fedco.bounds.audit.status import Status
from fedco.bounds.proof.derivations import prove
from fedco.bounds.registry import get_theorem
from fedco.validation.report import contents, page, pages, rates
from fedco.validation.runs.controls import Control
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.validate import GROUP
from fedco.validation.statistics.alpha_budget import AlphaBudget
from fedco.validation.statistics.verdict import Outcome, Verdict
from small_theorems import symbols


def verdict(T: int, outcome: Outcome = Outcome.SUPPORTED) -> Verdict:
    return Verdict(
        outcome, f"t at {T}", "bowl", "seen", "e-values", 8, 1e-3, 0.5, bound=2.0, tightness=4.0, shares={"gap": 1.0}
    )


def result(instance: Instance, T: int, total: float = 2.0) -> Any:
    halves = np.repeat([0.4, 0.6] if T == 16 else [0.3, 0.2], GROUP)  # -1/2 in the mean of the two, and not in each
    return SimpleNamespace(
        experiment=SimpleNamespace(instance=instance, T=T),
        bound=SimpleNamespace(total=total),
        verdict=verdict(T),
        statistic=halves,
        cap=4.0,
    )


def bowl(**more: Any) -> Instance:
    made = SimpleNamespace(
        name="bowl", certificates={"L": SimpleNamespace(value=Fraction(1, 2), kind="exact", argument="a")}
    )
    return Instance(made, {"eta": Fraction(1, 8)}, "why", **{"parameters": {"K": 4}, **more})


def test_the_runs_of_a_validation_are_told_instance_by_instance_and_in_order_of_the_horizon() -> None:
    first, second = bowl(case="edge"), bowl()
    found = [result(first, 64, 1.0), result(second, 16), result(first, 16, 2.0)]
    one, two = contents.runs(SimpleNamespace(results=found))  # type: ignore[arg-type]
    assert [h["T"] for h in one["horizons"]] == [16, 64] and [h["T"] for h in two["horizons"]] == [16]
    assert (one["problem"], one["parameters"], one["hyperparameters"]) == ("bowl", {"K": "4"}, {"eta": "1/8"})
    assert (one["case"], one["why"]) == ("edge", "why")
    assert one["bound_slope"] == pytest.approx(-0.5) and one["measured_slope"][0] == pytest.approx(-0.5)
    assert one["measured_slope"][1] < -0.5 < one["measured_slope"][2]
    assert (two["bound_slope"], two["measured_slope"]) == (None, None)
    assert one["certificates"] == [{"quantity": "L", "value": 0.5, "kind": "exact", "argument": "a"}]
    horizon = one["horizons"][0]
    assert horizon["lower"] < 0.5 < horizon["upper"] < 4.0
    assert {k: horizon[k] for k in ("T", "outcome", "mean", "bound", "tightness", "shares", "seeds", "alpha", "vacuous")} == {
        "T": 16, "outcome": "SUPPORTED", "mean": 0.5, "bound": 2.0, "tightness": 4.0, "shares": {"gap": 1.0}, "seeds": 8,
        "alpha": 1e-3, "vacuous": False,
    }  # fmt: skip
    (nothing,) = contents.runs(SimpleNamespace(results=[result(first, 16, 0.0), result(first, 64, 0.0)]))  # type: ignore[arg-type]
    assert nothing["bound_slope"] is None and nothing["measured_slope"] is not None


def test_what_no_run_says_is_empty_and_no_number_is_infinite() -> None:
    assert contents.measured(None, None, None, None, "it counts rounds") == {
        "runs": [], "judged": "", "limit_exponent": None, "without": "it counts rounds", "rates": None, "lemmas": None,
    }  # fmt: skip
    recipe = SimpleNamespace(limit_exponent=-0.25)
    found = SimpleNamespace(results=(), label="printed")
    swept = rates.MeasuredRates("t", (), (), ())
    lemmas = {"runs": [math.inf, {"a": (1.0, math.nan)}], "worst": "w"}
    assert contents.measured(found, recipe, swept, lemmas, "") == {  # type: ignore[arg-type]
        "runs": [], "judged": "printed", "limit_exponent": -0.25, "without": "",
        "rates": {"theorem": "t", "sweeps": [], "costs": [], "hidden_constant": []},
        "lemmas": {"runs": [None, {"a": [1.0, None]}], "worst": "w"},
    }  # fmt: skip


@pytest.mark.parametrize(("right", "factor"), [(2, 1.5), (0, None), (-1, None)])
def test_a_refutation_is_told_by_the_low_end_of_its_left_side_and_the_high_end_of_its_right_one(
    right: int, factor: float | None
) -> None:
    case = SimpleNamespace(
        choice="",
        facts={"it is smooth": True},
        problem={"name": "bowl", "parameters": {"s": (1, Fraction(1, 3)), "long": Fraction(10**12 + 1, 10**12 + 3)}},
        constants={"L": (Fraction(1, 2), "exact")},
        hyperparameters={"eta": 10**23, "more": 10**24},
    )
    item = SimpleNamespace(
        sides=lambda _: ((3, 5), (right - 1, right)), name="n", claim="c", statement="printed", summary="s", grade="slip",
        word="slip (meant: a plus)", reading="",
        alternatives={"other": "refuted"}, findings=("f",),
    )  # fmt: skip
    made = contents.refutation(item, case, "refutations/n.json", None)  # type: ignore[arg-type]
    assert (made["left"], made["right"], made["factor"]) == (3.0, right, factor)
    assert made["numbers"] == {"s": "[1, 1/3]", "long": "1"} and made["constants"] == {"L": "1/2"}
    assert made["hyperparameters"] == {"eta": "1" + 23 * "0", "more": "1e+24"}  # 24 characters, and 25
    assert (made["checked"], made["command"], made["findings"]) == (
        ["it is smooth"],
        "fedco replay refutations/n.json",
        ["f"],
    )


def test_a_counterexample_without_a_scene_has_none() -> None:
    known = SimpleNamespace(
        cases=("I", "II"), summary=lambda case: {"case": case}, title="t", about="a", caption="c", row=dict, scene=None
    )
    made = contents.exhibit("p.t", known)  # type: ignore[arg-type]
    assert (
        made["rows"] == [{"case": "I"}, {"case": "II"}]
        and made["scenes"] == []
        and made["command"] == "fedco counterexample p.t"
    )


def test_a_card_of_a_theorem_without_a_paper_a_proof_or_a_search() -> None:
    theorem = fedco.define(
        id="mine.theorem_1",
        symbols={name: SYMBOLS[name] for name in ("L", "F_gap", "eta", "T")},
        terms={"gap": "M/eta"},
        derived={"M": "F_gap/T"},
        conditions={"small": "eta <= 1/(2*L)"},
    )
    made = contents.card(theorem)
    assert (made["id"], made["paper"], made["paper_title"], made["proof"]) == ("mine.theorem_1", "mine", "", None)
    (said,) = made["statements"]
    assert (said["search"], said["proof"], said["steps"]) == ("", None, []) and said["status"]["outcome"] == "open"
    assert (said["derived"][0]["name"], said["derived"][0]["symbol"]) in (("M", "M"), ("M", r"\text{M}"))
    assert [term["name"] for term in said["terms"]] == ["gap"] and [c["name"] for c in said["conditions"]] == ["small"]
    assert {s["name"]: s["role"] for s in said["symbols"]}["eta"] == "hyperparameter" and said["schedule"] == []
    assert contents.card(get_theorem("fcsg.theorem_4_1"))["paper_title"]


def test_what_the_kernel_says_of_a_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {
        "given": ("a",),
        "failure": "",
        "lines": (1, 2, 3),
        "assumptions": ("s",),
        "conditions": ("c",),
        "loose": (),
        "unused": ("u",),
    }
    verdict = SimpleNamespace(statement="corrected", checked=True, to_dict=lambda: {"steps": ["x", "y"]}, **parts)
    monkeypatch.setattr(contents, "derivation", lambda theorem, label: object() if label == "corrected" else None)
    monkeypatch.setattr(contents, "prove", lambda theorem, label: verdict)
    theorem = SimpleNamespace(id="p.t")
    assert contents.proof(theorem, "corrected") == {  # type: ignore[arg-type]
        "statement": "corrected", "checked": True, "given": ["a"], "failure": "", "steps": 3, "assumptions": ["s"], "conditions": ["c"],
        "loose": [], "unused": ["u"], "command": "fedco prove p.t",
    }  # fmt: skip
    assert contents.steps(theorem, "corrected") == ["x", "y"]  # type: ignore[arg-type]
    assert contents.proof(theorem, "printed") is None and contents.steps(theorem, "printed") == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "**Proved** in 14 steps, each checked by the kernel and on exact instances"),
        ({"given": ("x", "y")}, "**Proved given x, y**, which no kernel has checked, in 14 steps, each checked"),
        ({"accepted": False, "failure": "left over"}, "**The kernel does not accept it**: left over"),
    ],
)
def test_the_box_of_a_derivation_says_what_the_kernel_says(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], said: str
) -> None:
    theorem = get_theorem("baselines.minibatch_sgd")
    checked = replace(prove(theorem), **more)
    monkeypatch.setattr(pages, "prove", lambda *_: checked)
    monkeypatch.setattr(pages, "status", lambda *_: Status("proved", ""))
    lines = pages.theorem_page(theorem).splitlines()
    assert any(line.startswith("## Proof of the ") for line in lines)
    assert f"{said}; `fedco prove baselines.minibatch_sgd` checks it again." in lines
    assert ("<details markdown><summary>The proof, line by line</summary>" in lines) == checked.accepted
    assert any(line.startswith("(1) ") for line in lines) == checked.accepted
    monkeypatch.setattr(pages, "status", lambda *_: Status("derived", ""))
    words = "**Not proved**: the kernel checks 14 steps, and that they hold on instances is not kept"
    assert any(words in line for line in pages.theorem_page(theorem).splitlines()) == (not more)


def test_where_a_theorem_is_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = SimpleNamespace(instances=[bowl(case="edge")], label="printed")
    monkeypatch.setattr(pages, "recipes", lambda: {"p.a": recipe})
    monkeypatch.setattr(pages, "why_without", lambda name: "it counts rounds" if name == "p.b" else "")
    assert pages.validated_on("p.a") == ["`bowl[K=4] (eta=1/8)`, edge: why; statement `printed`"]
    assert pages.validated_on("p.b") == ["no run: it counts rounds"] and pages.validated_on("p.c")[0].startswith(
        "no run: a lemma is measured"
    )
    assert pages.index().startswith("# Theorems\n\n- [") and pages.index().endswith(".md)\n")


SYMBOLS = symbols("L sigma F_gap eta T")


# --- a whole report, of theorems that cost nothing ---------------------------------------------------------------------------------


def instances(*horizons: tuple[int, ...]) -> tuple[Instance, ...]:
    return tuple(bowl(horizons=each) for each in horizons)


EVIDENCE = "feddro.theorem_4_1"
"""Of what findings rest on, the instance that is rebuilt soonest."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a report asks of the rooms that measure, with four theorems: `p.a` in full, sweeps of `p.b` in a short report."""
    asked: dict[str, Any] = {"validate": {}, "rates": {}, "lemmas": {}, "shown": None}
    recipes = {name: SimpleNamespace(label=f"label of {name}", instances=instances((32, 8), (4, 16), (64,), (2,)), limit_exponent=-0.5)
               for name in ("p.a", "p.b", "p.c")}  # fmt: skip

    def validate(name: str, **more: Any) -> Any:
        asked["validate"][name] = more
        ledger = AlphaBudget(more["alpha"])
        ledger.share([f"{name}/x"], planned_seeds=8)
        return SimpleNamespace(results=(), label=more["label"], controls=(verdict(1, Outcome.REFUTED),), ledger=ledger)

    def card(name: str) -> dict[str, Any]:
        return {"id": name, "statements": [{"status": {"outcome": "open"}}, {"status": {"outcome": "refuted"}}]}

    def measure_rates(name: str, **more: Any) -> rates.MeasuredRates:
        asked["rates"][name] = more
        return rates.MeasuredRates(name, (), (), ())

    control = Control("a far step", Outcome.NOT_APPLICABLE, verdict(2))
    monkeypatch.setattr(page, "recipes", lambda: recipes)
    monkeypatch.setattr(page, "recipe_for", recipes.__getitem__)
    monkeypatch.setattr(page, "declared", {"in_full": ("p.a",), "sweeps_in_short": ("p.b",)}.__getitem__)
    monkeypatch.setattr(page, "validate", validate)
    monkeypatch.setattr(page, "measure_rates", measure_rates)
    monkeypatch.setattr(
        page, "run_controls", lambda share: (asked.update(controls=share), ((control,), AlphaBudget(share)))[1]
    )
    monkeypatch.setattr(page, "chains", lambda: {"p.a": None, "p.c": None})
    monkeypatch.setattr(page, "counterexamples", dict)
    monkeypatch.setattr(page, "declared_refutations", dict)
    monkeypatch.setattr(page, "evidence", lambda: [EVIDENCE])
    monkeypatch.setattr(page, "why_without", lambda name: f"without {name}" if name == "p.d" else "")
    monkeypatch.setattr(
        page, "cached_json", lambda folder, name, make: asked.setdefault(f"{folder.name}/{name}", make())
    )
    finding = SimpleNamespace(check=lambda: asked.update(checked=True), to_dict=lambda: {"theorem": "p.b", "id": "f"})
    monkeypatch.setattr(page, "all_papers", lambda: [SimpleNamespace(key="p")])
    monkeypatch.setattr(page, "audit", lambda paper: [finding] if paper == "p" else [])
    monkeypatch.setattr(page, "all_theorems", lambda: {name: name for name in ("p.a", "p.b", "p.c", "p.d")})
    monkeypatch.setattr(page.contents, "card", card)
    monkeypatch.setattr(page, "write_kept", lambda target: {"figures": 3})
    monkeypatch.setattr(page, "render", lambda made: asked.update(shown=made) or "<p>")

    def measure_chain(theorem: str, instance: Instance, T: int, *, seeds: int, cache: Path) -> Any:
        asked["lemmas"][theorem] = (min(instance.horizons), T, seeds, cache)
        return theorem

    monkeypatch.setattr("fedco.validation.lemmas.measure.measure_chain", measure_chain)
    monkeypatch.setattr(
        "fedco.validation.lemmas.measure.measure_lemmas",
        lambda theorem, *, cache: asked["lemmas"].update({theorem: ("all", cache)}) or [theorem],
    )
    monkeypatch.setattr("fedco.validation.lemmas.report.section", lambda found: {"runs": list(found)})
    return asked


def test_a_short_report_measures_one_theorem_in_full_and_the_others_briefly(
    asked: dict[str, Any], tmp_path: Path, capsys: Any
) -> None:
    made = page.write_report(tmp_path / "out", quick=True, jobs=1, scheduler="tcp://x")
    share = Fraction(1, 10**6) / 4  # three validations and the controls
    assert asked["controls"] == share and asked["checked"]
    for name, brief in (("p.a", False), ("p.b", True), ("p.c", True)):
        given = asked["validate"][name]
        chosen = given.pop("instances")
        assert given == {
            "label": f"label of {name}", "alpha": share, "jobs": 1, "out": tmp_path / "out" / name, "quiet": False, "scheduler": "tcp://x",
        }  # fmt: skip
        assert (chosen is not None) == brief
        assert not brief or [item.horizons for item in chosen] == [(2,), (4,), (8,)]
    assert asked["rates"] == {
        "p.b": {"jobs": 1, "cache": tmp_path / "out" / "p.b" / "measurements", "scheduler": "tcp://x"}
    }
    assert asked["lemmas"] == {
        "p.a": ("all", tmp_path / "out" / "p.a" / "lemmas"), "p.c": (2, 2, 8, tmp_path / "out" / "p.c" / "lemmas"),
    }  # fmt: skip
    said = json.loads((tmp_path / "out" / "report.json").read_text())
    assert said["covered"].startswith(
        "A short report: p.a with all instances, each of the 2 other theorems with runs on at most 3 instances"
    )
    assert {item["id"]: (item["judged"], item["without"], len(item["findings"])) for item in said["cards"]} == {
        "p.a": ("label of p.a", "", 0), "p.b": ("label of p.b", "", 1), "p.c": ("label of p.c", "", 0), "p.d": ("", "without p.d", 0),
    }  # fmt: skip
    assert [item["lemmas"] for item in said["cards"]] == [{"runs": ["p.a"]}, None, {"runs": ["p.c"]}, None]
    assert said["ledger"]["total"] == "1/1000000" and [test["name"] for test in said["ledger"]["tests"]] == [
        "p.a/x",
        "p.b/x",
        "p.c/x",
    ]
    assert said["controls"] == [
        {"kind": "a far step", "name": "t at 2 on bowl", "wanted": "NOT_APPLICABLE", "got": "SUPPORTED"},
        *[{"kind": "a divided bound", "name": "t at 1 on bowl", "wanted": "REFUTED", "got": "REFUTED"}] * 3,
    ]
    assert {"parts/exhibits", "parts/audit", "parts/theory"} <= set(asked)
    assert (tmp_path / "out" / "refutations" / f"{EVIDENCE}.json").exists()
    assert (made.page, (tmp_path / "out" / "index.html").read_text()) == (tmp_path / "out" / "index.html", "<p>")
    assert (made.statements, made.verdicts, made.findings, made.refutations) == ({"refuted": 4, "open": 4}, {}, 1, 0)
    assert 0 <= made.seconds < 60 and made.to_dict()["page"] == str(made.page)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "p.b: rates over its symbols", "every lemma of the 2 proofs that have a chain, measured",
        "negative controls", "counterexamples: certificates and figures", "exact refutations of printed claims",
        "audit: running every check", "status of every statement",
    ]  # fmt: skip


def test_a_whole_report_measures_everything(asked: dict[str, Any], tmp_path: Path) -> None:
    page.write_report(tmp_path, jobs=1)
    assert (
        all(asked["validate"][name]["instances"] is None for name in ("p.a", "p.b", "p.c")) and len(asked["rates"]) == 3
    )
    assert asked["lemmas"]["p.c"] == ("all", tmp_path / "p.c" / "lemmas") and asked["rates"]["p.a"]["jobs"] >= 1
    assert asked["shown"]["covered"] == "All 3 theorems with runs were measured on all of their instances."
    assert (tmp_path / "report.json").exists() and asked["shown"]["experiments"] == {"figures": 3}


def test_a_report_of_too_many_processes_does_not_begin(asked: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="jobs"):
        page.write_report(tmp_path, jobs=10**9)
    assert asked["validate"] == {}


@pytest.mark.slow
def test_processes_change_neither_the_order_nor_what_is_made() -> None:
    names = ["c", "a", "b"]
    assert page.spread(str.upper, names, 2) == page.spread(str.upper, names, 1) == ["C", "A", "B"]
