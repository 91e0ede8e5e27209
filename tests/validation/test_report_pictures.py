"""What the report draws of exact instances and of counterexamples, for a few points: which line is which, where marks and balls stand."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fedco.validation.report.charts import Axis, Line, scales
from fedco.validation.report.pictures import instance_picture, scene_pictures

PICTURE = {
    "variable": "x",
    "x": [0.0, 1.0, 2.0],
    "clients": [[1.0, 2.0, 3.0], [3.0, 2.0, 9.0]],
    "mean": [2.0, 2.0, 6.0],
    "objective": None,
    "marks": {"start": 2.0, "stuck": 2.0, "minimiser": 1.0},
}


def lines_of(svg: str) -> list[tuple[str, str, str, str]]:
    """Of every line its number, its colour, its style and its name."""
    found = re.findall(r'<g class="series (s\d) (\w+)" data-series="(\d+)"><title>([^<]*)', svg)
    return [(series, colour, style, name) for colour, style, series, name in found]


def test_the_clients_are_thin_and_their_mean_is_the_objective() -> None:
    made = instance_picture(PICTURE, "a.lemma_1")
    assert made["title"] == "a.lemma_1: 2 clients (thin) and the objective (thick) over x"
    assert made["file"] == "a.lemma_1_instance"
    assert lines_of(made["svg"]) == [
        ("1", "s1", "thin", "client 1"),
        ("2", "s2", "thin", "client 2"),
        ("6", "s6", "strong", "objective"),
    ]
    assert made["data"]["objective"] == [2.0, 2.0, 6.0] and made["data"]["client 2"] == [3.0, 2.0, 9.0]
    assert re.findall(r'class="end-label s(\d)"[^>]*>(\d)', made["svg"]) == [("2", "2"), ("1", "1")]  # from above
    assert 'viewBox="0 0 340 210"' in made["svg"] and ">height</text>" in made["svg"] and ">x</text>" in made["svg"]


def test_every_point_of_the_picture_has_its_height() -> None:
    with pytest.raises(ValueError, match="zip"):
        instance_picture({**PICTURE, "x": [0.0, 1.0, 2.0, 3.0]}, "a")


def test_one_client_needs_no_number() -> None:
    made = instance_picture({**PICTURE, "clients": [[2.0, 2.0, 6.0]]}, "a")
    assert "1 client (thin)" in made["title"] and "end-label" not in made["svg"]


def test_an_objective_of_its_own_stands_above_the_mean_of_the_clients() -> None:
    made = instance_picture({**PICTURE, "objective": [0.0, 5.0, 4.0]}, "a")
    assert [line[1:] for line in lines_of(made["svg"])[2:]] == [
        ("s5", "guide", "mean of the clients"),
        ("s6", "strong", "objective"),
    ]
    assert made["data"]["objective"] == [0.0, 5.0, 4.0] and made["data"]["mean of the clients"] == [2.0, 2.0, 6.0]
    _, up = scales([Line("", [0, 2], [0, 9])], Axis("x"), Axis("y"), width=340, height=210)
    heights = re.findall(r'<g class="mark"><path d="[^"]*" transform="translate\([\d.]+,([\d.]+)\)"', made["svg"])
    assert list(map(float, heights)) == [up(4.0), up(5.0)]  # on the thick line


@pytest.mark.parametrize(
    ("marks", "shown"),
    [
        ({"start": 2.0, "stuck": 2.0, "minimiser": 1.0}, ["start, stuck", "minimiser"]),
        ({"a": 0.0, "b": 1.0, "c": 1.0}, ["a", "b, c"]),
        ({"a": 0.0, "b": 1.0, "c": 2.0}, ["a", "b", "c"]),
    ],
)
def test_marks_at_one_place_share_their_words(marks: dict[str, float], shown: list[str]) -> None:
    made = instance_picture({**PICTURE, "marks": marks}, "a")
    assert re.findall(r'<g class="mark">.*?<text[^>]*>([^<]*)', made["svg"]) == shown


def test_marks_nearer_than_three_hundredths_of_the_axis_are_one() -> None:
    fine = {"x": [10.0, 10.059, 10.062, 12.0], "mean": [1.0] * 4, "clients": [[1.0] * 4]}
    for place, shown in ((10.059, ["a, b"]), (10.062, ["a", "b"])):
        made = instance_picture({**PICTURE, **fine, "marks": {"a": 10.0, "b": place}}, "a")
        assert re.findall(r'<g class="mark">.*?<text[^>]*>([^<]*)', made["svg"]) == shown


SCENE: dict[str, Any] = {
    "floor": {"at": 0.5, "text": "never in here"},
    "target": {"at": 0.0, "text": "stationary"},
    "round": "round",
    "variable": "model",
    "landscape": {"label": "the objective", "x": [-1.0, 0.0, 2.0], "y": [1.0, -1.0, 7.0]},
    "story": "One climbs.",
    "paths": [
        {"name": f"path {k}", "values": [1.0, 2 - k / 4, 2 - k / 4], "converges": k == 7, "limit": 1.5 if k == 1 else None}
        for k in range(1, 8)
    ],
}  # fmt: skip


def test_every_path_is_a_line_over_the_rounds() -> None:
    made = scene_pictures(SCENE, "case I")
    rounds = made["rounds"]
    assert rounds["title"] == "case I: model at every round" and rounds["file"] == "case_I"
    assert 'viewBox="0 0 560 330"' in rounds["svg"]
    assert lines_of(rounds["svg"]) == [
        (str(k), f"s{(k - 1) % 6 + 1}", "converging" if k == 7 else "strong", f"path {k}") for k in range(1, 8)
    ]
    assert rounds["data"]["path 2: round"] == [0.0, 1.0, 2.0] and rounds["data"]["path 2"] == [1.0, 1.5, 1.5]
    across, up = scales(
        [Line("", [0, 2], [0, 1.75])], Axis("round"), Axis("model"), width=560, height=330
    )  # from the target to the highest path
    (limit,) = re.findall(r'<g class="limit"><path d="[^"]*" transform="translate\(([\d.]+),([\d.]+)\)"', rounds["svg"])
    assert tuple(map(float, limit)) == (across(2), up(1.5))
    assert set(re.findall(r'class="line" d="[^"]*L([\d.]+),[\d.]+"', rounds["svg"])) == {f"{across(2):g}"}
    assert (
        f'<g class="target across"><path d="M56,{up(0)}H540"/>' in rounds["svg"]
        and ">stationary</text>" in rounds["svg"]
    )
    assert f'<rect x="56" y="{up(0.5)}" width="484" height="{round(up(0) - up(0.5), 2)}"/>' in rounds["svg"]
    assert [(p["index"], p["series"], p["name"], p["converges"]) for p in made["paths"]] == [
        (str(k), (k - 1) % 6 + 1, f"path {k}", k == 7) for k in range(1, 8)
    ]


def test_every_path_has_a_ball_on_the_objective_at_its_last_round() -> None:
    play = scene_pictures(SCENE, "case I")["play"]
    assert (play["rounds"], play["word"], play["story"]) == (2, "round", "One climbs.")
    assert play["numbers"]["paths"] == [path["values"] for path in SCENE["paths"]]
    assert (play["numbers"]["x"], play["numbers"]["y"]) == (SCENE["landscape"]["x"], SCENE["landscape"]["y"])
    across, up = scales(
        [Line("", [-1, 2], [-1, 7])], Axis("model"), Axis("", includes=(-1.96,)), width=560, height=330
    )  # room below for a word: 0.12 of the height of the landscape
    assert play["numbers"]["across"] == across.ends and play["numbers"]["up"] == up.ends
    balls = re.findall(
        r'<g class="ball s(\d)( converging)?" transform="translate\(([\d.]+),([\d.]+)\)"><title>(path \d)</title>'
        r'<circle r="9"/><text y="4">(\d)</text></g>',
        play["svg"],
    )
    assert [(int(s), bool(c), float(x), float(y), name, int(n)) for s, c, x, y, name, n in balls] == [
        ((k - 1) % 6 + 1, k == 7, across(2 - k / 4), up(4 * (2 - k / 4) - 1) - 10, f"path {k}", k) for k in range(1, 8)
    ]
    assert lines_of(play["svg"]) == [("6", "s6", "strong", "the objective")]
    target = re.findall(r'<g class="target"><path d="[^"]*" transform="translate\(([\d.]+),([\d.]+)\)"', play["svg"])
    assert [tuple(map(float, place)) for place in target] == [(across(0), up(-1))]
    assert f'<rect x="{across(0)}" y="14" width="{round(across(0.5) - across(0), 2)}" height="274"/>' in play["svg"]
    assert 'viewBox="0 0 560 330"' in play["svg"] and 'aria-label="case I: where every method stands' in play["svg"]


@pytest.mark.parametrize(
    ("at", "height"), [(-1.0, 1.0), (-0.5, 0.0), (0.0, -1.0), (1.5, 5.0), (2.0, 7.0), (3.0, 11.0), (-2.0, 3.0)]
)
def test_a_ball_stands_on_the_line_between_the_nearest_points(at: float, height: float) -> None:
    """Beyond the ends on the line through the last two."""
    scene = {**SCENE, "paths": [{"name": "p", "values": [at], "converges": True}]}
    play = scene_pictures(scene, "a")["play"]
    _, up = scales([Line("", [0, 1], [-1, 7])], Axis(""), Axis("", includes=(-1.96,)), width=560, height=330)
    ((shown,),) = [re.findall(r'class="ball[^>]*,([-\d.]+)\)"', play["svg"])]
    assert float(shown) == pytest.approx(up(height) - 10)
