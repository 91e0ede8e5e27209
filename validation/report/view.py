"""What the report's templates say beyond its contents: sentences, counts and orders, charts, and filters that write out one value."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from markupsafe import Markup

from ...bounds.audit.refutation import GRADES
from ...bounds.audit.status import OUTCOMES
from ...bounds.cost.resources import MEANING
from ...bounds.language.typesetting import mathml
from .charts import SERIES, Axis, Line, figure, number
from .pictures import instance_picture, scene_pictures

SEVERITIES = {
    "breaks": ("✗", "does not follow as stated"),
    "constant": ("△", "survives with another constant or condition"),
    "slip": ("·", "a slip of notation, units or a tacit assumption"),
}
VERDICTS = {"SUPPORTED": "✓", "INCONCLUSIVE": "○", "REFUTED": "✗", "NOT_APPLICABLE": "–"}
_KINDS = ("theorem", "corollary", "lemma", "claim")
_NOISE = (' xmlns="http://www.w3.org/1998/Math/MathML"', ' display="inline"')
"""Attributes that are left out in HTML."""
_MAIN = ("theorem", "corollary")
_ALONE = re.compile(r"<mrow>(<(m[ino])>[^<]*</\2>)</mrow>")
"""A group of one letter or number, which needs no group."""
_FRACTION = re.compile(r"(-?\d{1,300})/(\d{1,300})")
_LONG = 7
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TIGHTNESS_DECADES = 6
"""Bound over mean at which a bar of tightness is full."""


@cache
def math_of(latex: str) -> Markup:
    """A `<math>` element from LaTeX; markup in the text is escaped by the converter, which builds an XML tree."""
    made = mathml(latex) if latex else ""
    for noise in _NOISE:
        made = made.replace(noise, "")
    return Markup(_ALONE.sub(r"\1", made).replace(">|</mo>", ' lspace="0" rspace="0">|</mo>'))


def short(value: float | None) -> str:
    """A number for a table; a dash where there is none."""
    return "–" if value is None else number(value)


def breakable(name: str) -> Markup:
    """An identifier that may break after a dot or an underscore."""
    return Markup("").join(
        part + Markup("<wbr>") if part in "._" else Markup.escape(part) for part in re.split(r"([._])", name)
    )


def page(contents: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the templates name: the contents, and what follows from them."""
    cards = [card(item, contents["refutations"]) for item in contents["cards"]]
    findings = [finding for item in cards for finding in item["findings"]]
    return {
        "experiments": None,
        **contents,
        "papers": papers(cards),
        "dashboard": dashboard(contents, findings),
        "refutations": by_weight(contents["refutations"]),
        "findings": sorted(findings, key=lambda item: list(SEVERITIES).index(item["severity"])),
        "outcomes": OUTCOMES,
        "severities": SEVERITIES,
        "verdict_signs": VERDICTS,
        "grades": GRADES,
        "meaning": MEANING,
        "kinds": [kind for kind in _KINDS if any(item["kind"] == kind for item in cards)],
        "figure_of": figure_of,
        "sweep_figure": sweep_figure,
        "instance_picture": instance_picture,
        "scene_pictures": scene_pictures,
    }


def papers(cards: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The papers in order, each with its cards, theorems and corollaries before lemmas and claims."""
    keys = dict.fromkeys(item["paper"] for item in cards)
    return [
        {
            "key": key,
            "title": next(item["paper_title"] for item in cards if item["paper"] == key) or key,
            "main": [item for item in cards if item["paper"] == key and item["kind"] in _MAIN],
            "other": [item for item in cards if item["paper"] == key and item["kind"] not in _MAIN],
        }
        for key in keys
    ]


def dashboard(contents: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts of everything, for the first screen."""
    main = [item for item in contents["cards"] if item["kind"] in _MAIN]
    verdicts = [h["outcome"] for item in contents["cards"] for run in item["runs"] for h in run["horizons"]]
    controls = contents["controls"]
    return {
        "sentence": sentence(main, contents["refutations"]),
        "printed": _counted(OUTCOMES, (_outcome(item, "printed") for item in main)),
        "corrected": _counted(OUTCOMES, (_outcome(item, "corrected") for item in main if _has(item, "corrected"))),
        "all": _counted(OUTCOMES, (s["status"]["outcome"] for item in contents["cards"] for s in item["statements"])),
        "main": len(main),
        "verdicts": _counted(VERDICTS, verdicts),
        "instances": sum(len(item["runs"]) for item in contents["cards"]),
        "findings": _counted(SEVERITIES, (finding["severity"] for finding in findings)),
        "refutations": _counted(GRADES, (item["grade"] for item in contents["refutations"])),
        "controls": [
            {"name": "as wanted", "count": sum(c["wanted"] == c["got"] for c in controls)},
            {"name": "not as wanted", "count": sum(c["wanted"] != c["got"] for c in controls)},
        ],
    }


def sentence(main: Sequence[Mapping[str, Any]], refutations: Sequence[Mapping[str, Any]]) -> str:
    """What was found, in words."""
    refuted = [item for item in main if _outcome(item, "printed") == "refuted"]
    holding = [item for item in main if _outcome(item, "printed") in ("proved", "derived")]
    repaired = [item for item in refuted if _has(item, "corrected")]
    under = [item for item in main if _outcome(item, "printed") == "reading"]
    slips = [item for item in main if _outcome(item, "printed") == "slip"]
    left = len(main) - len(refuted) - len(under) - len(slips) - len(holding)
    plain = sum(item["grade"] == "refuted" for item in refutations)
    words = (
        f"Of {_many(len(main), 'theorem')} and corollaries, {len(refuted)} are refuted, {len(holding)} hold and "
        f"{left or 'none'} are open; {len(repaired)} of the refuted ones have a corrected statement. Counted apart: "
        f"{len(under)} refuted under one reading only, {len(slips)} with a slip of a letter or a sign. "
    )
    return words + f"{_many(plain, 'exact instance')} of refuted claims, lemmas included, can be replayed."


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _counted(names: Iterable[str], found: Iterable[str]) -> list[dict[str, Any]]:
    counts = Counter(found)
    return [{"name": name, "count": counts[name]} for name in names if counts[name]]


def _has(item: Mapping[str, Any], label: str) -> bool:
    return any(s["label"] == label for s in item["statements"])


def _outcome(item: Mapping[str, Any], label: str) -> str:
    return next((s["status"]["outcome"] for s in item["statements"] if s["label"] == label), "")


def short_name(item: Mapping[str, Any]) -> str:
    """`Theorem 5.1` from the source where it starts with the kind's word, else the id without the paper."""
    name = item["id"].partition(".")[2].replace("_", " ")
    match = re.match(r"(theorem|corollary|lemma|remark) (\w+) ?(\w*) ?(.*)", name)
    if not match:
        return name[:1].upper() + name[1:]
    word, first, second, rest = match.groups()
    is_second = bool(second) and (second.isdigit())
    place = f"{first.upper() if first.isalpha() else first}.{second}" if is_second else first
    tail = rest if is_second else f"{second} {rest}".strip()
    return f"{word[:1].upper()}{word[1:]} {place}{f' {tail}' if tail else ''}"


def card(item: Mapping[str, Any], refutations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A theorem's card: its contents, and what follows from them."""
    mine = [r for r in refutations if r["claim"] == item["id"]]
    by_label = {s["label"]: s for s in item["statements"]}
    return {
        **item,
        "name": short_name(item),
        "is_main": item["kind"] in _MAIN,
        "printed": _outcome(item, "printed"),
        "corrected": _outcome(item, "corrected"),
        "statuses": sorted({s["status"]["outcome"] for s in item["statements"]}),
        "shown_terms": by_label.get(item["judged"], by_label[item["default"]])["terms"],
        "lemmas": item["lemmas"] if item["lemmas"] and item["lemmas"]["runs"] else None,
        "broken_by": by_weight(mine),
        "summary": summary(item, mine),
        "symbols": list({symbol["name"]: symbol for s in item["statements"] for symbol in s["symbols"]}.values()),
        "certificates": certificates(item["runs"]),
        "search": " ".join([item["id"], item["title"], item["source"], item["kind"], *_words(item)]).lower(),
    }


def certificates(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The certified constants of all instances; those with one argument share a row."""
    rows: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for index, run in enumerate(runs, start=1):
        for c in run["certificates"]:
            values = rows.setdefault((c["quantity"], c["kind"], c["argument"]), {})
            values.setdefault(number(c["value"]), []).append(str(index))
    return [
        {
            "quantity": quantity.replace("_", " "),
            "kind": kind,
            "argument": argument,
            "values": "; ".join(f"{', '.join(which)}: {value}" for value, which in values.items()),
        }
        for (quantity, kind, argument), values in rows.items()
    ]


def _words(item: Mapping[str, Any]) -> Iterable[str]:
    for s in item["statements"]:
        yield s["status"]["outcome"]
        yield from (term["name"] for term in s["terms"])
    yield from (a["name"] for a in item["assumptions"])
    yield from (f["id"] for f in item["findings"])


def summary(item: Mapping[str, Any], mine: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is known of the theorem, a sentence for each kind of evidence."""
    said = []
    for s in item["statements"]:
        broken = [r for r in mine if (r["statement"], r["grade"]) == (s["label"], s["status"]["outcome"])]
        text = f"{s['label'].capitalize()}: {s['status']['word']}"
        if broken:
            worst = max((r["factor"] for r in broken if r["factor"]), default=None)
            text += f" by {_many(len(broken), 'exact instance')}" + (f", by a factor {number(worst)}" if worst else "")
        elif s["status"]["outcome"] == "proved" and s["proof"]:
            text += f" in {s['proof']['steps']} steps that the kernel checks"
        elif s["status"]["why"]:
            text += f", {s['status']['why']}"
        said.append(f"{text}.")
    judged = [h["outcome"] for run in item["runs"] for h in run["horizons"]]
    if judged:
        counts = ", ".join(f"{count} {name}" for name, count in Counter(judged).items())
        said.append(
            f"Runs of the {item['judged']} statement on {_many(len(item['runs']), 'certified instance')}: {counts}; "
            "each verdict is about its own instance."
        )
    return said


# --- one value, written out: the filters of the templates ------------------------------------------------------------


def letter(index: int) -> str:
    """The letter that names a term in the bars, from its place: a, b, …, z, aa, …"""
    return _LETTERS[index] if index < len(_LETTERS) else f"{_LETTERS[index // 26 - 1]}{_LETTERS[index % 26]}"


def series(index: int) -> int:
    """The colour of a place, from 1."""
    return index % SERIES + 1


def listed_values(values: Mapping[str, str], brief: bool = False) -> str:
    """`eta = 1/64, p = 4`; where it is to be brief, a fraction that is long to read as a decimal."""
    return ", ".join(f"{name} = {_brief(value) if brief else value}" for name, value in values.items())


def _brief(value: str) -> str:
    parts = _FRACTION.fullmatch(value)
    return number(int(parts[1]) / int(parts[2])) if parts and len(value) > _LONG else value


def gauge(tightness: float | None) -> int:
    """Percent of a bar of tightness, on a log scale."""
    if tightness is None or tightness <= 0 or not math.isfinite(tightness):
        return 0
    return round(100 * min(1.0, max(0.02, math.log10(max(tightness, 1)) / _TIGHTNESS_DECADES)))


def shares(run: Mapping[str, Any], terms: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, float]]:
    """The parts of the bound at the longest horizon: place among the terms, name, percent."""
    places = {term["name"]: place for place, term in enumerate(terms)}
    found = run["horizons"][-1]["shares"].items()
    return [(places[n], n.replace("_", " "), round(100 * part, 1)) for n, part in found if n in places and part > 0]


def slope(interval: Sequence[float] | None) -> str:
    """A measured slope with its 95% interval; a dash where there is none."""
    return "–" if interval is None else f"{interval[0]:.2f} [{interval[1]:.2f}, {interval[2]:.2f}]"


def other_side(factor: float) -> float:
    """Width of the smaller bar of a refutation in percent: the ratio itself while it can be seen, then a sliver."""
    return round(max(1.5, 100 / factor), 1) if factor > 1 else 100.0


def formatted(value: float | None, form: str) -> str:
    """A number in a format such as `.2f`; a dash where there is none."""
    return "–" if value is None else f"{value:{form}}"


FILTERS = {
    "math": math_of,
    "short": short,
    "breakable": breakable,
    "letter": letter,
    "series": series,
    "listed_values": listed_values,
    "gauge": gauge,
    "shares": shares,
    "slope": slope,
    "other_side": other_side,
    "formatted": formatted,
    "counted": lambda names: Counter(names).items(),
}


# --- charts ----------------------------------------------------------------------------------------------------------


def figure_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Measured means and bounds of a card against T, two lines for each instance."""
    lines = []
    for index, run in enumerate(item["runs"]):
        T = [h["T"] for h in run["horizons"]]
        means, bounds = ([h[key] or math.nan for h in run["horizons"]] for key in ("mean", "bound"))
        name, label, colour = f"instance {index + 1}", str(index + 1), series(index)
        if len(T) == 1:
            lines.append(Line(f"{name}: from mean to bound", T * 2, [*means, *bounds], colour, "gap"))
        lower, upper = ([h[key] for h in run["horizons"]] for key in ("lower", "upper"))
        lines.append(Line(f"{name}: bound", T, bounds, colour, "bound", label=label))
        lines.append(Line(f"{name}: measured mean", T, means, colour, "measured", lower, upper, label))
    return figure(
        lines,
        Axis("T", log=True),
        Axis(f"mean and bound, in {item['metric']['dimension']}", log=True),
        title=f"{item['id']}: bound and measured mean against T, {_many(len(item['runs']), 'instance')}",
        file=item["id"],
    )


def sweep_figure(sweep: Mapping[str, Any], theorem: str) -> dict[str, Any]:
    """A sweep of a theorem: the measured mean and the bound over one symbol."""
    lines = [
        Line("measured mean", sweep["values"], sweep["mean"], 1, "measured"),
        Line("bound", sweep["values"], sweep["bound"], 2, "bound"),
    ]
    return figure(
        lines,
        Axis(sweep["over"], log=True),
        Axis("mean and bound", log=True),
        title=f"{theorem} over {sweep['over']}",
        file=f"{theorem}_{sweep['over']}",
    )


def by_weight(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Refutations of theorems first, mathematical ones before slips and readings; otherwise as the papers have them."""
    order = list(GRADES)

    def key(item: Mapping[str, Any]) -> tuple[bool, int]:
        name = item["claim"].partition(".")[2]
        return not name.startswith(_MAIN), order.index(item["grade"]) if item["grade"] in order else len(order)

    return sorted(items, key=key)
