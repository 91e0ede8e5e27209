"""What a report is told: runs instance by instance, refutations, cards, proofs, and where a theorem is validated."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import fedco
import numpy as np
import pytest
from fedco.bounds.audit.status import Status
from fedco.bounds.proof.derivations import prove
from fedco.bounds.registry import get_theorem
from fedco.validation.report import contents, pages, rates
from fedco.validation.runs.instance import Instance
from fedco.validation.runs.validate import GROUP
from fedco.validation.statistics.verdict import Outcome, Verdict


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


SYMBOLS = {
    "L": "local_smoothness",
    "sigma": "local_gradient_noise",
    "F_gap": "objective_gap",
    "eta": "step_size",
    "T": "iterations",
}
