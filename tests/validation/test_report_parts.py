"""The parts of a report: what is measured and in which shares, what is kept of it, and the plots of a bound and of a validation."""

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
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.derivations import prove
from fedco.bounds.registry import get_theorem
from fedco.figures import Axis
from fedco.storage import write_json
from fedco.validation.report import bound_plots, contents, page, pages, rates, tightness
from fedco.validation.report.bound_plots import bound_plot
from fedco.validation.report.plots import convergence_plot
from fedco.validation.runs.controls import Control
from fedco.validation.runs.instance import Instance
from fedco.validation.runs.validate import GROUP
from fedco.validation.statistics.alpha_budget import AlphaBudget
from fedco.validation.statistics.verdict import Outcome, Verdict

# --- what a run says -------------------------------------------------------------------------------------------------------------


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
    monkeypatch.setattr(page, "audit", lambda paper: [finding] if paper is None else [])
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
    monkeypatch.setattr("fedco.validation.lemmas.table.section", lambda found: {"runs": list(found)})
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
        "p.b: rates over its symbols", "p.a: every lemma of the proof, measured", "p.c: every lemma of the proof, measured",
        "negative controls", "counterexamples: certificates and figures", "exact refutations of printed claims",
        "audit: running every check", "status of every statement",
    ]  # fmt: skip


def test_a_whole_report_measures_everything(asked: dict[str, Any], tmp_path: Path) -> None:
    page.write_report(tmp_path, jobs=None)
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


def test_a_report_says_in_a_line_what_it_found() -> None:
    horizons = [{"outcome": "SUPPORTED"}, {"outcome": "REFUTED"}, {"outcome": "SUPPORTED"}]
    outcomes = ("proved", "refuted", "proved")
    cards = [
        {
            "statements": [{"status": {"outcome": o}} for o in outcomes],
            "runs": [{"horizons": horizons}],
            "findings": [1, 2],
        }
    ] * 2
    made = page._counted(Path("index.html"), {"cards": cards, "refutations": [1, 2, 3]}, 12.6)
    assert str(made) == (
        "index.html: statements 2 refuted, 4 proved; 3 exact refutations; verdicts on single instances 2 REFUTED, 4 SUPPORTED; "
        "4 findings re-checked; 13 s"
    )


# --- tightness -------------------------------------------------------------------------------------------------------------------


def test_the_least_tightness_of_the_runs_that_have_one() -> None:
    assert tightness._runs({"runs": [{"tightness": t} for t in (9.0, None, 2.3456, 0.0)]}) == "2.35, on 2 instances"
    assert tightness._runs({"runs": [{"tightness": None}]}) == "not measured" == tightness._runs(None)


def test_how_close_a_search_came(monkeypatch: pytest.MonkeyPatch) -> None:
    near, far = (SimpleNamespace(ratio=r, tested_little=t) for r, t in ((0.98765, False), (2.0, True)))
    parts = {str(i): SimpleNamespace(bundle=name) for i, name in enumerate(("a", "", "b"))}
    for known, kept, wanted in (
        (None, {}, ("not searched", "not searched")),
        (None, parts, ("not searched", "2 of 3 shown to be necessary")),
        (near, {}, ("0.988", "not searched")),
        (far, parts, ("2: hardly anything was tested", "2 of 3 shown to be necessary")),
    ):
        monkeypatch.setattr(tightness, "searched", lambda *_, known=known: known)
        monkeypatch.setattr(tightness, "needed", lambda _, kept=kept: kept)
        assert tightness._search(SimpleNamespace(statement=str), "printed") == wanted  # type: ignore[arg-type]


def test_a_row_of_a_run() -> None:
    row = tightness._row({
        "problem": "p", "case": "c", "hyperparameters": {"eta": "1/2", "p": "3"},
        "horizons": [{}, {"T": 8, "seeds": 4, "outcome": "SUPPORTED", "mean": 0.123456, "bound": 2.0, "tightness": 16.2,
                          "shares": {"a": 0.3, "b": 0.6, "c": 0.1}}],
    })  # fmt: skip
    assert row["largest"] == ["b", 0.6]
    assert tightness._cells(row) == ["p", "c", "eta = 1/2, p = 3", "8", "4", "0.1235", "2", "16.2", "b, 60%"]
    assert tightness._cells({**row, "mean": None, "largest": ["", 0.0]})[5:] == ["–", "2", "16.2", ", 0%"]


# --- plots -----------------------------------------------------------------------------------------------------------------------

TERMS = {"gap": "F_gap/(eta*T)", "noise": "eta*L*sigma**2"}
SYMBOLS = {
    "L": "local_smoothness",
    "sigma": "local_gradient_noise",
    "F_gap": "objective_gap",
    "eta": "step_size",
    "T": "iterations",
}


def mine(**more: Any) -> Any:
    made = {"terms": TERMS, "conditions": {"small": "eta <= 1/(2*L)", "long": "T*eta*L >= 2"}, **more}
    return fedco.define(id="mine.theorem_1", symbols=SYMBOLS, **made).statement()


AT = {"L": "1", "sigma": "1/2", "F_gap": "3", "T": "10"}


def test_a_bound_over_a_symbol_is_blank_where_a_condition_fails_at_either_end() -> None:
    drawn, gaps = bound_plot(mine(), "eta", (0.1, 1), {**AT, "eta": "1/7"})
    x = np.array(drawn.data["bound: x"])
    inside = (x <= 0.5) & (x * 10 >= 2)
    assert len(x) == 60 and x[0] == pytest.approx(0.1) and x[-1] == pytest.approx(1) and set(inside) == {True, False}
    assert np.diff(np.log(x)) == pytest.approx(math.log(10) / 59)
    for name, value in (("bound", 0.3 / x + x / 4), ("gap", 0.3 / x), ("noise", x / 4)):
        shown = drawn.data[f"{name}: y"]
        assert [y is not None for y in shown] == list(inside)
        assert [y for y in shown if y is not None] == pytest.approx(list(value[inside]))
    assert [gap.split(":")[0] for gap in gaps] == ["eta = 0.1", "eta = 1"]
    assert "long" in gaps[0] and "small" not in gaps[0] and "small" in gaps[1] and "long" not in gaps[1]
    assert bound_plot(mine(), "eta", (0.25, 0.45), AT)[1] == []


def test_a_count_is_drawn_at_whole_numbers_and_a_term_of_nothing_is_left_out() -> None:
    drawn, _ = bound_plot(mine(), "T", (20, 24), {**AT, "eta": "1/8", "sigma": "0"})
    assert drawn.data["bound: x"] == [20.0, 21.0, 22.0, 23.0, 24.0]
    assert drawn.data["noise: y"] == [None] * 5 and drawn.data["gap: y"] == pytest.approx(
        [24 / T for T in range(20, 25)]
    )


@pytest.mark.parametrize(
    ("over", "ends", "why"),
    [
        ("et", (0.1, 1), "et: not a symbol of mine.theorem_1"),
        ("eta", (0, 1), "wanted 0 < from < to, got 0 and 1"),
        ("eta", (1, 1), "wanted 0 < from < to, got 1 and 1"),
        ("eta", (2, 1), "wanted 0 < from < to"),
        ("eta", (1, 2), r"no admissible value between 1 and 2 for mine.theorem_1.*; small.*"),
        ("eta", (0.01, 0.02), r"no admissible value between 0.01 and 0.02 .*; long.*"),
    ],
)
def test_what_cannot_be_drawn_is_refused(over: str, ends: tuple[float, float], why: str) -> None:
    with pytest.raises(InputError, match=why):
        bound_plot(mine(), over, ends, AT)


def test_the_end_at_which_less_fails_says_why_there_is_nothing_to_draw() -> None:
    both = mine(conditions={"small": "eta <= 1/(2*L)", "noisy": "sigma**2 <= L*F_gap/100"})
    with pytest.raises(InputError) as refused:
        bound_plot(both, "eta", (0.1, 1), AT)
    assert "noisy" in str(refused.value) and "small" not in str(refused.value)


def test_a_statement_without_terms_has_nothing_to_plot() -> None:
    constants = get_theorem("local_scgdm.lemma_3_9").statement("printed")
    with pytest.raises(InputError, match="has no terms to plot"):
        bound_plot(constants, "lam", (0.1, 1), dict.fromkeys(constants.symbols, "1"))


def test_the_means_of_a_validation_stand_beside_a_bound_over_its_horizon(tmp_path: Path) -> None:
    def row(theorem: str, problem: str, T: int, mean: float) -> dict[str, Any]:
        return {"theorem": theorem, "problem": problem, "T": T, "verdict": {"empirical": mean}}

    rows = [row("mine.theorem_1", "bowl", 32, 0.5), row("mine.theorem_1", "arc", 30, 0.25), row("mine.theorem_1", "bowl", 24, 1.0),
            row("other.theorem_1", "bowl", 20, 9.0)]  # fmt: skip
    write_json(tmp_path / "results.json", {"format": bound_plots.RESULTS, "results": rows})
    drawn, _ = bound_plot(mine(), "T", (20, 40), {**AT, "eta": "1/4"}, tmp_path)
    measured = {name: values for name, values in drawn.data.items() if name.startswith("empirical")}
    assert measured == {
        "empirical, arc: x": [30], "empirical, arc: y": [0.25], "empirical, bowl: x": [24, 32], "empirical, bowl: y": [1.0, 0.5],
    }  # fmt: skip
    elsewhere, _ = bound_plot(mine(), "eta", (0.25, 0.45), AT, tmp_path)
    assert not any(name.startswith("empirical") for name in elsewhere.data)
    with pytest.raises(InputError, match="wanted the folder of a validate run"):
        bound_plot(mine(), "T", (20, 40), {**AT, "eta": "1/4"}, tmp_path / "nothing")


def test_the_guide_is_the_power_below_the_last_point() -> None:
    made = convergence_plot(
        [10, 40, 90], [4.0, 2.0, 1.0], [8.0, 4.0, 8 / 3], title="t", metric=Axis("m", "1"), limit_exponent=-1.5
    )
    shown = made.data["limit exponent -1.5 (guide): y"]
    assert shown == pytest.approx([0.6 * 9**1.5, 0.6 * 2.25**1.5, 0.6])
    assert "bound, slope -0.500 over these T: y" in made.data and "empirical: upper" not in made.data
    single = convergence_plot([10], [4.0], [8.0], title="t", metric=Axis("m", "1"))
    assert set(single.data) >= {"bound: y", "empirical: y"} and not any("guide" in name for name in single.data)
    assert single.title == "t"
