"""Charts and pictures of the report, drawn whole for a few points: every place is worked out here."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from fedco.validation.report.charts import SERIES, Axis, Line, Mark, Zone, chart, number, scales
from fedco.validation.report.pictures import instance_picture, scene_pictures
from markupsafe import Markup

LEFT, RIGHT, TOP, BOTTOM = 56, 20, 14, 42
"""The margins, in which the numbers and the names of the axes stand."""
CIRCLE, SQUARE, DIAMOND = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.6,-3.6h7.2v7.2h-7.2z",
    "M0,-5L5,0L0,5L-5,0z",
)


def between(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Where a value stands between two places, for an axis that begins and ends a twentieth beyond its values."""
    low, high = low - (high - low) / 20, high + (high - low) / 20
    return lambda value: round(start + (value - low) / (high - low) * (end - start), 2)


def test_a_chart_is_drawn_whole() -> None:
    """Two lines (one with a band), a mark at a point, one across, one target, a stripe across and one upright."""
    lines = [
        Line("mean <1>", [0, 1, 4, 10], [1, 8, 1, 4], 1, lower=[0, 7, 0, 3], upper=[2, 9, 2, 5], label="1"),
        Line("bound", [0, 10], [2, 9], 8, "bound", label="b"),
    ]
    drawn = chart(
        lines,
        Axis("T"),
        Axis("mean & bound", includes=(0, 10)),
        title="t",
        marks=[Mark("start", 5, 8), Mark("end", 5.5, 4), Mark("cap", y=9, style="cap"), Mark("goal", 4, 1, "target")],
        zones=[Zone(2, 3, "quiet"), Zone(7, 8.03, "never ever in here", upright=True)],
        width=300,
        height=200,
        inside=lambda across, up: Markup("<i>{} {}</i>").format(across(1), up(1)),
    )
    x, y = between(0, 10, LEFT, 300 - RIGHT), between(0, 10, 200 - BOTTOM, TOP)
    wanted = ['<svg class="chart" viewBox="0 0 300 200" role="img" aria-label="t">']
    for t in (0, 2, 4, 6, 8, 10):
        wanted += [f'<path class="grid" d="M{x(t)},14V158"/>', f'<text class="tick x" x="{x(t)}" y="173">{t}</text>']
    for t in (0, 2, 4, 6, 8, 10):
        wanted += [f'<path class="grid" d="M56,{y(t)}H280"/>', f'<text class="tick y" x="50" y="{y(t) + 4}">{t}</text>']
    wanted += [
        '<path class="axis" d="M56,14V158H280"/>',
        '<text class="label x" x="168.0" y="194">T</text>',
        '<text class="label y" transform="translate(11,86.0) rotate(-90)">mean &amp; bound</text>',
        f'<g class="zone"><rect x="56" y="{y(3)}" width="224" height="{round(y(2) - y(3), 2)}"/>',
        f'<text x="168.0" y="{round((y(2) + y(3)) / 2 + 4, 2)}">quiet</text></g>',
        f'<g class="zone"><rect x="{x(7)}" y="14" width="{round(x(8.03) - x(7), 2)}" height="144"/>',
        f'<text x="{round((x(7) + x(8.03)) / 2, 2)}" y="32">never ever</text>',
        f'<text x="{round((x(7) + x(8.03)) / 2, 2)}" y="46">in here</text></g>',
        '<g class="series s1 measured" data-series="1"><title>mean &lt;1&gt;</title>',
        f'<path class="band" d="M{x(0):g},{y(2):g}L{x(1):g},{y(9):g}L{x(4):g},{y(2):g}L{x(10):g},{y(5):g}',
        f'L{x(10):g},{y(3):g}L{x(4):g},{y(0):g}L{x(1):g},{y(7):g}L{x(0):g},{y(0):g}Z"/>',
        f'<path class="line" d="M{x(0):g},{y(1):g}L{x(1):g},{y(8):g}L{x(4):g},{y(1):g}L{x(10):g},{y(4):g}"/>',
        *(
            f'<path class="point" transform="translate({x(a)},{y(b)})" d="{CIRCLE}"/>'
            for a, b in ((0, 1), (1, 8), (4, 1), (10, 4))
        ),
        "</g>",
        '<g class="series s2 bound" data-series="8"><title>bound</title>',
        f'<path class="line" d="M{x(0):g},{y(2):g}L{x(10):g},{y(9):g}"/></g>',
        f'<g class="mark"><path d="{DIAMOND}" transform="translate({x(5)},{y(8)})"/>',
        f'<text class="" x="{x(5) + 9}" y="{y(8) - 7}">start</text></g>',
        f'<g class="mark"><path d="{DIAMOND}" transform="translate({x(5.5)},{y(4)})"/>',
        f'<text class="end" x="{x(5.5) - 9}" y="{y(4) - 7}">end</text></g>',
        f'<g class="cap across"><path d="M56,{y(9)}H280"/><text class="end" x="276" y="{y(9) - 5}">cap</text></g>',
        f'<g class="target"><path d="{DIAMOND}" transform="translate({x(4)},{y(1)})"/>',
        f'<text class="" x="{x(4) + 9}" y="{y(1) + 19}">goal</text></g>',
        f'<text class="end-label s2" x="{x(10) + 7}" y="{y(9) + 4}">b</text>',
        f'<text class="end-label s1" x="{x(10) + 7}" y="{y(4) + 4}">1</text>',
        f"<i>{x(1)} {y(1)}</i></svg>",
    ]
    assert str(drawn) == "".join(wanted)


def test_a_chart_has_the_size_of_a_page_where_none_is_given() -> None:
    across, up = scales([Line("a", [0, 1], [0, 1])], Axis("x"), Axis("y"))
    assert across.ends == (-0.05, 1.05, 56, 410) and up.ends == (-0.05, 1.05, 258, 14)
    assert (across(0), across(1), up(0), up(1)) == (72.09, 393.91, 246.91, 25.09)
    assert 'viewBox="0 0 430 300"' in chart([Line("a", [0, 1], [0, 1])], Axis("x"), Axis("y"), title="")


@pytest.mark.parametrize(
    ("values", "log", "ends"),
    [
        ((3.0,), False, (1.5, 4.5)),  # half of the value on both sides
        ((-3.0,), False, (-4.5, -1.5)),
        ((0.5,), False, (0.0, 1.0)),  # at least a half
        ((0.0,), False, (-0.5, 0.5)),
        ((100.0,), True, (1.5, 2.5)),  # half a decade
        ((1.0, 100.0), True, (-0.1, 2.1)),
    ],
)
def test_an_axis_reaches_a_little_beyond_its_values(values: tuple[float, ...], log: bool, ends: tuple) -> None:
    across, _ = scales([Line("a", values, [1.0] * len(values))], Axis("x", log), Axis("y"))
    assert (across.low, across.high) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 10, (0, 2, 4, 6, 8, 10)),
        (0, 5, (0, 1, 2, 3, 4, 5)),
        (0, 12, (0, 2.5, 5, 7.5, 10, 12.5)),
        (-1, 26, (0, 5, 10, 15, 20, 25)),
        (30, 80, (30, 40, 50, 60, 70, 80)),
        (0, 6 / 1.1, (0, 1, 2, 3, 4, 5)),  # the rough step is a nice number
    ],
)
def test_the_ticks_are_multiples_of_a_nice_number(low: float, high: float, ticks: tuple) -> None:
    across, _ = scales([Line("a", [low, high], [0, 1])], Axis("x"), Axis("y"))
    assert across.ticks == pytest.approx(ticks)


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """The ticks of a logarithmic axis whose ends are these powers of ten."""
    edge = (high - low) / 22  # a twentieth of what the values span lies on either side
    return scales([Line("a", [10 ** (low + edge), 10 ** (high - edge)], [0, 1])], Axis("x", True), Axis("y"))[0].ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (-0.1, 1.5, (1, 2, 5, 10, 20)),  # less than two decades: 1, 2, 5
        (-0.1, 1.95, (1, 10)),
        (0.1, 0.9, (2, 5)),
        (-0.5, 5.2, (1, 10, 100, 1e3, 1e4, 1e5)),
        (-0.2, 6.1, (1, 100, 1e4, 1e6)),  # more than six: every second one
        (-3.2, 10.1, (1e-3, 1, 1e3, 1e6, 1e9)),
    ],
)
def test_the_ticks_of_a_logarithmic_axis_are_powers_of_ten(low: float, high: float, ticks: tuple) -> None:
    assert log_ticks(low, high) == pytest.approx(ticks)


def test_what_an_axis_includes_and_a_stripe_lie_on_it() -> None:
    line, across, up = Line("a", [2, 3], [2, 3]), Axis("x", includes=(0,)), Axis("y")
    x, y = scales([line], across, up, zones=[Zone(1, 4, "")], marks=[Mark("", 9, None), Mark("", None, 7)])
    assert (x.low, x.high, y.low, y.high) == pytest.approx((-0.45, 9.45, 0.7, 7.3))
    x, y = scales([line], across, up, zones=[Zone(1, 4, "", upright=True)])
    assert (x.low, x.high, y.low, y.high) == pytest.approx((-0.2, 4.2, 1.95, 3.05))


@pytest.mark.parametrize(
    ("value", "text"),
    [(1e-3, "0.001"), (0.00099, "9.9·10⁻⁴"), (99999.4, "99999"), (1e5, "10⁵"), (9999.4, "9999"), (9999.6, "10000"), (9999.5, "10000"),
     (-12345.6, "-12346"), (123456, "1.23·10⁵"), (20000000, "2·10⁷"), (-0.5, "-0.5")],
)  # fmt: skip
def test_a_number_changes_its_form_at_a_thousandth_and_at_a_hundred_thousand(value: float, text: str) -> None:
    assert number(value) == text


def path_of(line: Line, **more: object) -> list[tuple[float, float]]:
    """The corners of a drawn line, with axes on which a unit of x and of y is one of the picture."""
    width, height = 56 + 20 + 110, 14 + 42 + 110
    axes = Axis("x", includes=(0, 100)), Axis("y", includes=(0, 100))
    drawn = chart([line], *axes, title="", width=width, height=height, **more)  # type: ignore[arg-type]
    (found,) = re.findall(r'class="line" d="M([^"]*)"', drawn)
    corners = [tuple(map(float, corner.split(","))) for corner in found.split("L")]
    return [(round(a - 61, 2), round(119 - b, 2)) for a, b in corners]


def test_a_line_keeps_the_points_that_can_be_seen() -> None:
    """A point counts when it lies more than a fifth of a unit beside the line through those that stay."""
    assert path_of(Line("a", [0, 50, 100], [0, 0.19, 0])) == [(0, 0), (100, 0)]
    assert path_of(Line("a", [0, 50, 100], [0, 0.21, 0])) == [(0, 0), (50, 0.21), (100, 0)]
    steep = [(0.0, 0.0), (0.25, 50.0), (0.0, 100.0)]
    assert path_of(Line("a", *zip(*steep, strict=True))) == steep
    corners = [(0.0, 0.0), (10.0, 40.0), (20.0, 10.0), (60.0, 90.0), (100.0, 50.0)]
    more = [((a + c) / 2, (b + d) / 2) for (a, b), (c, d) in pairwise(corners)]
    every = sorted([*corners, *more])
    assert path_of(Line("a", *zip(*every, strict=True))) == corners
    closed = [(0.0, 0.0), (30.0, 40.0), (0.2, 0.1), (0.0, 0.0)]  # its ends are one point
    assert path_of(Line("a", *zip(*closed, strict=True))) == [(0, 0), (30, 40), (0, 0)]
    pointed = Line("a", [0, 1, 2], [5, 5, 5], lower=[5, 4, 3], upper=[5, 6, 7])
    assert (
        len(
            re.findall(
                r"[ML]", chart([pointed], Axis("x"), Axis("y"), title="").split('class="band" d=')[1].split("/>")[0]
            )
        )
        == 4
    )


def test_a_line_has_as_many_heights_as_places() -> None:
    for line in (Line("a", [0, 1], [1]), Line("a", [0, 1], [1, 2], lower=[0], upper=[2, 3])):
        with pytest.raises(ValueError, match="zip"):
            chart([line], Axis("x"), Axis("y"), title="")


def test_a_single_point_is_drawn_whatever_the_style() -> None:
    for style, points, wanted in (("bound", 1, 1), ("bound", 2, 0), ("measured", 2, 2)):
        drawn = chart([Line("a", range(points), range(points), 2, style)], Axis("x"), Axis("y"), title="")
        assert drawn.count('class="point"') == wanted
    assert SQUARE in chart([Line("a", [1], [1], 2, "bound")], Axis("x"), Axis("y"), title="")


def test_colours_and_markers_start_again_after_the_last() -> None:
    def look(series: int) -> tuple[str, str]:
        drawn = chart([Line("a", [0], [0], series, label="x")], Axis("x"), Axis("y"), title="")
        shape = drawn.split('class="point"')[1].split(' d="')[1].split('"')[0]
        assert len(re.findall(rf"\bs{(series - 1) % 6 + 1}\b", drawn)) == 2  # the line, and its label
        return shape, re.findall(r"series (s\d)", drawn)[0]

    looks = [look(series) for series in range(1, 2 * SERIES + 1)]
    assert looks[:SERIES] == looks[SERIES:] and len(set(looks)) == SERIES == 6


def test_a_band_needs_two_points_that_the_axes_can_show() -> None:
    log = Axis("x"), Axis("y", log=True)
    for lower, upper, wanted in (
        ([1, 1, 1], [3, 3, 3], 3),
        ([1, 0, 1], [3, 3, 3], 2),
        ([0, 1, 0], [3, 3, 3], 0),
        ([1, 1, 1], [math.inf, 3, math.nan], 0),
    ):
        drawn = chart([Line("a", [0, 1, 2], [2, 2, 2], lower=lower, upper=upper)], *log, title="")
        assert ('class="band"' in drawn) == (wanted > 0)
    half = Line("a", [0, 1], [2, 2], lower=[1, 1])
    assert 'class="band"' not in chart([half], *log, title="")
    for x, wanted in (((0, 1, 2), True), ((0, 0, 2), False)):  # the end of a logarithmic axis
        line = Line("a", x, [2, 2, 2], lower=[1, 1, 1], upper=[3, 3, 3])
        assert ('class="band"' in chart([line], Axis("x", log=True), Axis("y", log=True), title="")) == wanted


def test_labels_that_would_overlap_are_pushed_down_from_the_highest() -> None:
    lines = [Line(str(k), [0, 1], [0, y], k, label=f"n{k}") for k, y in enumerate((1.0, 0.999, 0.2), 1)]
    drawn = chart([*lines, Line("no label", [0, 2], [0, 1])], Axis("x"), Axis("y"), title="")
    found = re.findall(r'class="end-label s(\d)" x="([\d.]+)" y="([\d.]+)">n(\d)', drawn)
    x, y = between(0, 2, 56, 410), between(0, 1, 258, 14)
    assert [(int(s), float(a), round(float(b), 2)) for s, a, b, _ in found] == [
        (1, x(1) + 7, round(y(1.0) + 4, 2)),
        (2, x(1) + 7, round(y(1.0) + 15, 2)),
        (3, x(1) + 7, round(y(0.2) + 4, 2)),
    ]


def test_no_line_is_no_chart_and_a_line_without_points_is_left_out() -> None:
    seen, unseen = Line("a", [1], [1]), Line("b", [1], [-1], label="b")
    axes = Axis("x"), Axis("y", log=True)
    assert chart([unseen], *axes, title="") == "" == chart([], *axes, title="")
    drawn = chart([seen, unseen], *axes, title="")
    assert drawn.count("<g ") == 1 and "end-label" not in drawn


# --- exact instances and counterexamples ------------------------------------------------------------------------------


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
