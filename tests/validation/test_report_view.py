"""What the report's templates print, from contents of a few lines: every sentence, count and bar is written out here."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from fedco.validation.report import view

FIXTURE = json.loads((Path(__file__).parents[1] / "browser" / "report.json").read_text(encoding="utf-8"))


def horizon(T: int, **more: Any) -> dict[str, Any]:
    judged = {"outcome": "SUPPORTED", "mean": 0.5, "bound": 2.0, "lower": 0.25, "upper": 1.0, "tightness": 4.0}
    return {"T": T, **judged, "shares": {"gap": 0.75, "drift": 0.25, "nothing": 0.0}, **more}


def run(*horizons: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"problem": "bowl", "parameters": {"K": "4", "r": "1/3"}, "case": "c", "why": "w", "certificates": []}
    return {**said, "hyperparameters": {}, "horizons": horizons, "measured_slope": None, "bound_slope": None, **more}


def card(*runs: dict[str, Any], **more: Any) -> dict[str, Any]:
    item = copy.deepcopy(FIXTURE["cards"][0])
    return {
        **item,
        "id": "one.theorem_2",
        "runs": list(runs),
        "judged": "printed",
        "lemmas": None,
        "rates": None,
        **more,
    }


def statement(label: str, outcome: str, **more: Any) -> dict[str, Any]:
    parts = ("terms", "derived", "conditions", "schedule", "symbols")
    status = {"outcome": outcome, "word": outcome, "why": "", "given": [], "bundles": []}
    return {"label": label, "status": status, "proof": None, **{part: [] for part in parts}, **more}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("theorem_5_1", "Theorem 5.1"),
        ("theorem_8", "Theorem 8"),
        ("corollary_d_2", "Corollary D.2"),
        ("lemma_3_1_first_part", "Lemma 3.1 first part"),
        ("lemma_4_corrected", "Lemma 4 corrected"),
        ("lemma_4_of_appendix", "Lemma 4 of appendix"),
        ("remark_2", "Remark 2"),
        ("local_sgd", "Local sgd"),
        ("theorem", "Theorem"),
    ],
)
def test_a_theorem_is_called_as_its_paper_does(name: str, shown: str) -> None:
    assert view.short_name({"id": f"paper.{name}"}) == shown


def test_what_was_found_is_a_sentence() -> None:
    main = [
        {"statements": [statement("printed", outcome), *more]}
        for outcome, more in (
            ("refuted", [statement("corrected", "proved")]),
            ("refuted", []),
            ("proved", [statement("corrected", "proved")]),
            ("derived", []),
            ("open", []),
        )
    ]
    main += [{"statements": [statement("printed", outcome)]} for outcome in ("reading", "slip", "slip")]
    grades = [{"grade": grade} for grade in ("refuted", "reading", "slip", "refuted")]
    assert view.sentence(main, grades) == (
        "Of 8 theorems and corollaries, 2 are refuted, 2 hold and 1 are open; 1 of the refuted ones have a corrected statement. "
        "Counted apart: 1 refuted under one reading only, 2 with a slip of a letter or a sign. "
        "2 exact instances of refuted claims, lemmas included, can be replayed."
    )
    assert view.sentence(main[2:3], grades[:1]) == (
        "Of 1 theorem and corollaries, 0 are refuted, 1 hold and none are open; 0 of the refuted ones have a corrected statement. "
        "Counted apart: 0 refuted under one reading only, 0 with a slip of a letter or a sign. "
        "1 exact instance of refuted claims, lemmas included, can be replayed."
    )


def test_the_first_screen_counts_everything() -> None:
    found = view.dashboard(FIXTURE, [f for item in FIXTURE["cards"] for f in item["findings"]])
    del found["sentence"]
    every = [s["status"]["outcome"] for item in FIXTURE["cards"] for s in item["statements"]]
    assert found == {
        "printed": [{"name": name, "count": 1} for name in ("refuted", "open", "proved")],
        "corrected": [{"name": "proved", "count": 1}],
        "all": [{"name": name, "count": every.count(name)} for name in view.OUTCOMES if name in every],
        "main": 3,
        "verdicts": [{"name": "SUPPORTED", "count": 7}],
        "instances": 4,
        "findings": [{"name": name, "count": 1} for name in ("breaks", "constant", "slip")],
        "refutations": [{"name": name, "count": n} for name, n in (("refuted", 1), ("reading", 1), ("slip", 1))],
        "controls": [{"name": "as wanted", "count": 2}, {"name": "not as wanted", "count": 0}],
    }


def test_what_is_known_of_a_theorem_is_a_sentence_for_each_kind_of_evidence() -> None:
    item = card(
        run(horizon(1), horizon(2, outcome="INCONCLUSIVE")),
        run(horizon(4)),
        judged="composed",
        statements=[
            statement("printed", "refuted"),
            statement("composed", "open"),
            statement("corrected", "proved", proof={"steps": 31}),
            statement("other", "proved"),
        ],
    )
    item["statements"][1]["status"]["why"] = "nobody knows"
    mine = [{"statement": "printed", "grade": "refuted", "factor": factor} for factor in (1.5, None, 2.25)]
    mine.append({"statement": "printed", "grade": "slip", "factor": 100})
    assert view._summary(item, mine) == [
        "Printed: refuted by 3 exact instances, by a factor 2.25.",
        "Composed: open, nobody knows.",
        "Corrected: proved in 31 steps that the kernel checks.",
        "Other: proved.",
        "Runs of the composed statement on 2 certified instances: 2 SUPPORTED, 1 INCONCLUSIVE; each verdict is about its own "
        "instance.",
    ]
    assert view._summary({**item, "runs": []}, mine[1:2])[0] == "Printed: refuted by 1 exact instance."
    assert len(view._summary({**item, "runs": []}, [])) == 4


def test_a_run_has_a_row() -> None:
    found = view._run(
        8,
        run(
            horizon(16),
            horizon(64, outcome="REFUTED", tightness=0.123456, shares={"gap": 1.0}),
            horizon(256, outcome="SUPPORTED"),
            measured_slope=[-0.505, -0.52, -0.4],
            bound_slope=-0.499,
            hyperparameters={"eta": "1/64", "beta": "123456/7890123", "p": "4", "q": "1234567890"},
        ),
    )
    assert {
        name: found[name] for name in ("index", "series", "T", "slope", "slope_of_bound", "tightness", "dials")
    } == {
        "index": 8,
        "series": 2,
        "T": 256,
        "slope": "-0.51 [-0.52, -0.40]",
        "slope_of_bound": "-0.50",
        "tightness": "4",
        "dials": "eta = 1/64, beta = 0.01565, p = 4, q = 1234567890",
    }
    assert found["problem_dials"] == "K = 4, r = 1/3" and found["shares"] == horizon(1)["shares"]
    assert found["outcomes"] == [
        {"name": "SUPPORTED", "sign": "✓", "count": 2},
        {"name": "REFUTED", "sign": "✗", "count": 1},
    ]
    bare = view._run(6, run(horizon(1, tightness=None)))
    assert [bare[name] for name in ("series", "slope", "slope_of_bound", "tightness", "tightness_width")] == [
        6,
        "",
        "",
        "",
        0,
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [("12/3456", "12/3456"), ("12/34567", "3.47·10⁻⁴"), ("-1000000/3", "-3.33·10⁵"), ("12345678", "12345678")],
)
def test_a_long_fraction_is_a_decimal(value: str, shown: str) -> None:
    assert view._brief(value) == shown


@pytest.mark.parametrize(
    ("tightness", "width"),
    [
        (None, 0),
        (0.0, 0),
        (-1.0, 0),
        (float("inf"), 0),
        (0.5, 2),
        (1.0, 2),
        (1e3, 50),
        (1e4, 67),
        (1e6, 100),
        (1e9, 100),
    ],
)
def test_a_bar_of_tightness_is_full_at_a_million(tightness: float | None, width: int) -> None:
    assert view._width(tightness) == width


def test_the_parts_of_a_bound_are_those_of_the_longest_horizon_that_are_not_nothing() -> None:
    terms = [{"name": name, "latex": name, "role": "r"} for name in ("drift", "local_gap", "nothing", "left_out")]
    made = view._statement(statement("printed", "open", terms=terms), {"default": "printed"})
    row = view._run(3, run(horizon(2, shares={"local_gap": 0.8755, "drift": 0.1245, "nothing": 0.0, "unknown": 0.5})))
    assert view._shares(row, made) == {
        "index": 3,
        "T": 2,
        "parts": [
            {"letter": "b", "series": 2, "name": "local gap", "percent": 87.5},
            {"letter": "a", "series": 1, "name": "drift", "percent": 12.4},
        ],
    }
    assert view._shares({**row, "shares": {"nothing": 0.0}}, made) is None


def test_every_formula_is_typeset_and_every_term_has_a_letter() -> None:
    terms = [{"name": f"t{k}", "latex": f"x_{{{k}}}", "role": "r"} for k in range(54)]
    made = view._statement(
        statement(
            "corrected",
            "open",
            terms=terms,
            derived=[{"symbol": "M", "latex": "a b"}],
            conditions=[{"latex": r"a \le b", "name": "c"}],
            schedule=[{"symbol": r"\eta", "latex": "c"}],
        ),
        {"default": "corrected"},
    )
    letters = [term["letter"] for term in made["terms"]]
    assert (
        letters[:26] == list("abcdefghijklmnopqrstuvwxyz")
        and letters[26:28] == ["aa", "ab"]
        and letters[51:] == ["az", "ba", "bb"]
    )
    assert [term["series"] for term in made["terms"]][:8] == [1, 2, 3, 4, 5, 6, 1, 2]
    assert made["terms"][3]["math"] == view.math_of("x_{3}")
    assert made["derived"] == [{"symbol": view.math_of("M"), "latex": "a b", "math": view.math_of("a b")}]
    assert made["conditions"][0]["math"] == view.math_of(r"a \le b")
    assert made["schedule"] == [{"math": view.math_of(r"\eta = c")}]
    assert (
        made["is_default"] and not view._statement(statement("printed", "open"), {"default": "corrected"})["is_default"]
    )


def test_a_formula_without_noise() -> None:
    assert view.math_of("") == ""
    assert view.math_of("x^2") == "<math><mrow><msup><mi>x</mi><mn>2</mn></msup></mrow></math>"
    assert '<mo lspace="0" rspace="0">|</mo>' in view.math_of("|x|").replace(' stretchy="false"', "").replace(
        ' fence="false"', ""
    )


def ticks(drawn: str, axis: str) -> list[str]:
    """The numbers on an axis of a chart."""
    return re.findall(rf'class="tick {axis}"[^>]*>([^<]*)', drawn)


def test_a_chart_has_a_bound_and_a_mean_for_each_instance() -> None:
    runs = [
        view._run(1, run(horizon(16), horizon(64, mean=None, bound=1.0, lower=0.5, upper=2.0))),
        view._run(2, run(horizon(32, mean=0.125, bound=8.0))),
    ]
    made = view.figure_of(card(), runs)
    assert made["data"] == {
        "instance 1: bound: T": [16.0, 64.0],
        "instance 1: bound": [2.0, 1.0],
        "instance 1: measured mean: T": [16.0, 64.0],
        "instance 1: measured mean": [0.5, None],
        "instance 1: measured mean, lower": [0.25, 0.5],
        "instance 1: measured mean, upper": [1.0, 2.0],
        "instance 2: bound: T": [32.0],
        "instance 2: bound": [8.0],
        "instance 2: measured mean: T": [32.0],
        "instance 2: measured mean": [0.125],
        "instance 2: measured mean, lower": [0.25],
        "instance 2: measured mean, upper": [1.0],
    }
    assert (
        made["file"] == "one.theorem_2"
        and made["title"] == "one.theorem_2: bound and measured mean against T, 2 instances"
    )
    drawn = str(made["svg"])
    assert (
        drawn.count("from mean to bound") == 1 and "instance 2: from mean to bound" in drawn
    )  # only where there is one point
    assert f">mean and bound, in {card()['metric']['dimension']}<" in drawn
    assert drawn.count('class="end-label s1"') == 2 == drawn.count('class="end-label s2"')
    assert all(f'class="series {look}"' in drawn for look in ("s1 bound", "s1 measured", "s2 gap"))
    assert ticks(drawn, "x") == ["20", "50"] and "0.5" in ticks(drawn, "y")  # both axes logarithmic: 1, 2, 5 of a power


def test_what_a_card_shows() -> None:
    lemmas = {"runs": [{"title": "t"}], "worst": "w"}
    made = view.card(
        card(run(horizon(4)), lemmas=lemmas, judged="corrected", default="printed"),
        [{**FIXTURE["refutations"][0], "claim": "one.theorem_2"}, FIXTURE["refutations"][1]],
    )
    assert [item["claim"] for item in made["broken_by"]] == ["one.theorem_2"]
    assert (made["name"], made["is_main"], made["printed"], made["corrected"]) == (
        "Theorem 2",
        True,
        "refuted",
        "proved",
    )
    assert made["statuses"] == ["proved", "refuted"] and made["lemmas"] == lemmas and made["rates"] is None
    judged = next(s for s in made["statements"] if s["label"] == "corrected")
    assert made["judged_terms"] is judged["terms"]
    assert (
        view.card(card(judged=""), [])["judged_terms"] is not None
        and view.card(card(kind="lemma"), [])["is_main"] is False
    )
    bare = view.card(card(lemmas={"runs": []}), [])
    assert bare["lemmas"] is None and bare["figure"] is None and bare["shares"] == []
    names = [symbol["name"] for symbol in made["symbols"]]
    assert len(names) == len(set(names)) and all(s["math"] == view.math_of(s["latex"]) for s in made["symbols"])
    words = made["search"].split()
    assert {"one.theorem_2", "refuted", "proved", "drift", "smooth", "first.drift"} <= set(words) and made[
        "search"
    ].islower()


def test_certified_constants_with_one_argument_share_a_row() -> None:
    def certificate(value: float, argument: str = "all", kind: str = "exact") -> dict[str, Any]:
        return {"quantity": "local_smoothness", "kind": kind, "argument": argument, "value": value}

    runs = [{"certificates": [certificate(value)]} for value in (1.0, 2.0, 1.0)]
    runs.append({"certificates": [certificate(3.0, "other"), certificate(4.0, kind="upper")]})
    assert view._certificates(runs) == [
        {"quantity": "local smoothness", "kind": "exact", "argument": "all", "values": "1, 3: 1; 2: 2"},
        {"quantity": "local smoothness", "kind": "exact", "argument": "other", "values": "4: 3"},
        {"quantity": "local smoothness", "kind": "upper", "argument": "all", "values": "4: 4"},
    ]


def test_a_sweep_a_cost_and_a_hidden_constant_have_a_row() -> None:
    found = FIXTURE["cards"][0]["rates"]
    made = view.rates(found)
    (sweep,), (cost,), (constant,) = made["sweeps"], made["costs"], made["constants"]
    given = found["sweeps"][0]
    assert (sweep["slope"], sweep["slope_of_bound"], sweep["claimed"]) == (
        "{:.2f} [{:.2f}, {:.2f}]".format(*given["measured_slope"]),
        "-0.95",
        "-1",
    )
    assert sweep["figure"]["title"] == "first.theorem_5_1 over N" and sweep["figure"]["file"] == "first.theorem_5_1_N"
    assert sweep["figure"]["data"] == {
        "measured mean: N": [float(x) for x in given["values"]],
        "measured mean": given["mean"],
        "bound: N": [float(x) for x in given["values"]],
        "bound": given["bound"],
    }
    drawn = str(sweep["figure"]["svg"])
    assert 'class="series s1 measured"' in drawn and 'class="series s2 bound"' in drawn and ">mean and bound<" in drawn
    assert ticks(drawn, "x") == ["2", "5", "10"] and "0.5" in ticks(drawn, "y")
    assert (
        cost["bound"] == "-2.000"
        and cost["claimed"] == "-2"
        and (cost["where"], cost["why"]) == ("Remark 1", "the schedule")
    )
    assert cost["measured"] == "{:.2f} [{:.2f}, {:.2f}]".format(*found["costs"][0]["measured_exponent"])
    assert view._cost({**found["costs"][0], "claimed_exponent": None})["claimed"] == "–"
    assert view._sweep({**given, "claimed_exponent": None}, "t")["claimed"] == ""
    assert constant == {"over": "N", "needed": "0.5", "end": "2", "growth": "–", "proved": "–"}
    grown = {"over": "K", "needed": [0.5, 2.5, 1.0], "upper": [1.0, 3.0, 9.0], "slope": 0.126, "proved": 40.0}
    assert view._constant(grown) == {"over": "K", "needed": "2.5", "end": "9", "growth": "0.13", "proved": "40"}


@pytest.mark.parametrize(
    ("factor", "width"), [(0.5, 100.0), (1.0, 100.0), (1.25, 80.0), (3.0, 33.3), (66.0, 1.5), (1e6, 1.5)]
)
def test_the_smaller_side_is_a_bar_of_its_share(factor: float, width: float) -> None:
    assert view.refutation({**FIXTURE["refutations"][0], "factor": factor})["width"] == width


def test_a_refutation_has_its_sides_and_its_picture() -> None:
    item = FIXTURE["refutations"][0]
    made = view.refutation({**item, "name": "one.lemma_1.second_part", "claim": "one.lemma_1"})
    assert (made["short"], made["left_shown"], made["right_shown"], made["factor_shown"]) == (
        "second part",
        "45063",
        "1",
        "45063",
    )
    assert made["figure"]["file"] == "one.lemma_1.second_part_instance"
    unknown = view.refutation({**item, "factor": None, "picture": None})
    assert (unknown["factor_shown"], unknown["width"], unknown["figure"]) == ("", 0, None)
    assert made["search"] == f"one.lemma_1.second_part {item['summary']} {item['word']} one.lemma_1".lower()


def test_refutations_of_theorems_come_first_and_the_weighty_ones_before_the_others() -> None:
    listed = [("a.lemma_1", "refuted"), ("a.theorem_1", "new"), ("a.theorem_2", "reading"), ("a.corollary_1", "slip"),
              ("a.lemma_2", "slip"), ("b.theorem_1", "refuted")]  # fmt: skip
    ordered = view._by_weight([{"claim": claim, "grade": grade} for claim, grade in listed])
    assert [(item["claim"], item["grade"]) for item in ordered] == [listed[k] for k in (5, 2, 3, 1, 0, 4)]


def test_the_page_has_every_part_in_its_order() -> None:
    made = view.page(FIXTURE)
    assert [item["severity"] for item in made["findings"]] == ["breaks", "constant", "slip"]
    assert made["kinds"] == [
        k for k in ("theorem", "corollary", "lemma", "claim") if k in {c["kind"] for c in FIXTURE["cards"]}
    ]
    assert [item["name"] for item in made["refutations"]] == [
        i["name"] for i in view._by_weight(FIXTURE["refutations"])
    ]
    assert made["exhibits"][0]["scenes"][0]["case"] == "I" and set(made["exhibits"][0]["scenes"][0]) == {
        "case",
        "rounds",
        "play",
        "paths",
    }
    assert made["exhibits"][0]["scenes"][0]["rounds"]["title"].startswith("first.theorem_5_1, case I:")
    assert [item["index"] for item in made["cards"][0]["runs"]] == [1, 2, 3]
    lemmas = [{**item, "kind": "lemma"} for item in FIXTURE["cards"]]
    assert view.page({**FIXTURE, "cards": lemmas})["kinds"] == ["lemma"]
    same = ("controls", "ledger", "versions", "covered")
    assert {name: made[name] for name in same} == {name: FIXTURE[name] for name in same}
    assert str(view.breakable("a.b_<c>")) == "a.<wbr>b_<wbr>&lt;c&gt;"
    assert view.short(None) == "–" and view.short(0.5) == "0.5"
