"""Pictures that the report draws from plain data: the exact instances that break a claim, and a counterexample to play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from .charts import SERIES, Axis, Line, Mark, Scale, Zone, chart, figure

_WIDTH, _HEIGHT = 340, 210
_SAME = 0.03
"""Marks closer than this share of the axis are one mark."""


def instance_picture(picture: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Every client's function over the model, their mean thick, with marked models (`bounds/audit/picture.py`)."""
    x, variable = picture["x"], picture["variable"]
    clients = picture["clients"]
    lines = [
        Line(f"client {k}", x, heights, k, "thin", label=str(k) if len(clients) > 1 else "")
        for k, heights in enumerate(clients, start=1)
    ]
    shown = picture["objective"] or picture["mean"]
    if picture["objective"]:
        lines.append(Line("mean of the clients", x, picture["mean"], 5, "guide"))
    lines.append(Line("objective", x, shown, 6, "strong"))
    at = dict(zip(x, shown, strict=True))
    marks = [Mark(word, place, at[place]) for place, word in _apart(picture["marks"], _SAME * (x[-1] - x[0])).items()]
    count = f"{len(clients)} client{'' if len(clients) == 1 else 's'}"
    return figure(
        lines,
        Axis(variable),
        Axis("height"),
        title=f"{name}: {count} (thin) and the objective (thick) over {variable}",
        file=f"{name}_instance",
        marks=marks,
        width=_WIDTH,
        height=_HEIGHT,
    )


def _apart(marks: Mapping[str, float], width: float) -> dict[float, str]:
    """Place -> words; marks that would be drawn on each other share the place of the first."""
    placed: dict[float, str] = {}
    for word, at in marks.items():
        near = next((place for place in placed if abs(place - at) < width), at)
        placed[near] = f"{placed[near]}, {word}" if near in placed else word
    return placed


def scene_pictures(scene: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A counterexample: every path over the rounds, and the objective on which a reader can play them."""
    floor, target, paths = scene["floor"], scene["target"], scene["paths"]
    lines = [_path(index, path) for index, path in enumerate(paths, start=1)]
    limits = [
        Mark("", len(path["values"]) - 1, path["limit"], "limit") for path in paths if path.get("limit") is not None
    ]
    rounds = figure(
        lines,
        Axis(scene["round"]),
        Axis(scene["variable"]),
        title=f"{name}: {scene['variable']} at every {scene['round']}",
        file=name,
        marks=[*limits, Mark(target["text"], None, target["at"], "target")],
        zones=[Zone(target["at"], floor["at"], floor["text"])],
        width=560,
        height=330,
    )
    return {"rounds": rounds, "play": _play(scene, name), "paths": _legend(lines, paths)}


def _legend(lines: Sequence[Line], paths: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"index": line.label, "series": (line.series - 1) % SERIES + 1, **path}
        for line, path in zip(lines, paths, strict=True)
    ]


def _path(index: int, path: Mapping[str, Any]) -> Line:
    values = path["values"]
    style = "converging" if path["converges"] else "strong"
    return Line(path["name"], range(len(values)), values, index, style, label=str(index))


def _play(scene: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The objective with a ball for every path, at its last round; the numbers with which a script moves them."""
    land, floor, target = scene["landscape"], scene["floor"], scene["target"]
    line = Line(land["label"], land["x"], land["y"], 6, "strong")
    numbers: dict[str, Any] = {"paths": [path["values"] for path in scene["paths"]], "x": land["x"], "y": land["y"]}

    def balls(across: Scale, up: Scale) -> Markup:
        numbers["across"], numbers["up"] = across.ends, up.ends
        made = [_ball(index, path, land, across, up) for index, path in enumerate(scene["paths"], start=1)]
        return Markup("").join(made)

    svg = chart(
        [line],
        Axis(scene["variable"]),
        Axis(land["label"], includes=(min(land["y"]) - _ROOM * (max(land["y"]) - min(land["y"])),)),
        title=f"{name}: where every method stands on the objective",
        marks=[Mark(target["text"], target["at"], _height(land, target["at"]), "target")],
        zones=[Zone(target["at"], floor["at"], floor["text"], upright=True)],
        width=560,
        height=330,
        inside=balls,
    )
    return {
        "svg": svg,
        "numbers": numbers,
        "rounds": len(scene["paths"][0]["values"]) - 1,
        "word": scene["round"],
        "story": scene["story"],
    }


_ROOM = 0.12
"""Empty space below the landscape, for the word at its lowest point."""


def _ball(index: int, path: Mapping[str, Any], land: Mapping[str, Any], across: Scale, up: Scale) -> Markup:
    x = path["values"][-1]
    return Markup(
        '<g class="ball s{}{}" transform="translate({},{})"><title>{}</title><circle r="9"/><text y="4">{}</text></g>'
    ).format(
        (index - 1) % SERIES + 1,
        " converging" if path["converges"] else "",
        across(x),
        up(_height(land, x)) - 10,
        path["name"],
        index,
    )


def _height(land: Mapping[str, Any], at: float) -> float:
    """The landscape between the two nearest of its points."""
    x, y = land["x"], land["y"]
    place = next((i for i in range(1, len(x)) if x[i] >= at), len(x) - 1)
    share = (at - x[place - 1]) / (x[place] - x[place - 1])
    return float(y[place - 1] + share * (y[place] - y[place - 1]))
