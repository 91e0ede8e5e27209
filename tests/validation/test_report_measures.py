"""What a report measures: a whole one everything, a short one its shares, of theorems that cost nothing."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fedco.validation.report import page, rates
from fedco.validation.runs.controls import Control
from fedco.validation.runs.instance import Instance
from fedco.validation.statistics.alpha_budget import AlphaBudget
from fedco.validation.statistics.verdict import Outcome, Verdict

# --- what a run says -------------------------------------------------------------------------------------------------------------


def verdict(T: int, outcome: Outcome = Outcome.SUPPORTED) -> Verdict:
    return Verdict(
        outcome, f"t at {T}", "bowl", "seen", "e-values", 8, 1e-3, 0.5, bound=2.0, tightness=4.0, shares={"gap": 1.0}
    )


def bowl(**more: Any) -> Instance:
    made = SimpleNamespace(
        name="bowl", certificates={"L": SimpleNamespace(value=Fraction(1, 2), kind="exact", argument="a")}
    )
    return Instance(made, {"eta": Fraction(1, 8)}, "why", **{"parameters": {"K": 4}, **more})


# --- a whole report, of theorems that cost nothing ---------------------------------------------------------------------------------


def instances(*horizons: tuple[int, ...]) -> tuple[Instance, ...]:
    return tuple(bowl(horizons=each) for each in horizons)


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
