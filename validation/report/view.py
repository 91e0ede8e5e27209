"""From the report's contents to what its templates print: formulas typeset, charts drawn, sentences and counts made."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from markupsafe import Markup

from ...bounds.audit.refutation import GRADES
from ...bounds.cost.resources import MEANING
from ...bounds.language.typesetting import mathml
from .chart_data import figure
from .charts import Axis, Line, number
from .pictures import instance_picture, scene_pictures

OUTCOMES = {
    "refuted": ("✗", "refuted", "an exact instance satisfies its conditions and breaks it"),
    "reading": (
        "△",
        "refuted under a reading",
        "an exact instance breaks it under one reading of the paper, not under another",
    ),
    "slip": ("·", "slip", "an exact instance breaks it; a letter, a sign or a factor repairs it"),
    "open": ("○", "open", "neither derived nor refuted"),
    "composed": ("◇", "composed", "put together by code from the paper's lemmas as printed; no promise"),
    "derived": (
        "◆",
        "derived",
        "follows by a derivation that was read and tested, of which the kernel has not checked all",
    ),
    "proved": ("✓", "proved", "the kernel checks its derivation, and every step holds on exact instances"),
}
"""What can be known of a statement, worst first: sign, word, meaning."""
SEVERITIES = {
    "breaks": ("✗", "does not follow as stated"),
    "constant": ("△", "survives with another constant or condition"),
    "slip": ("·", "a slip of notation, units or a tacit assumption"),
}
VERDICTS = {"SUPPORTED": "✓", "INCONCLUSIVE": "○", "REFUTED": "✗", "NOT_APPLICABLE": "–"}
_KINDS = {"theorem": "Theorem", "corollary": "Corollary", "lemma": "Lemma", "claim": "Claim"}
_NOISE = (' xmlns="http://www.w3.org/1998/Math/MathML"', ' display="inline"')
"""Attributes that HTML does without."""
_MAIN = ("theorem", "corollary")
_ALONE = re.compile(r"<mrow>(<(m[ino])>[^<]*</\2>)</mrow>")
"""A group of one letter or number, which needs no group."""
_FRACTION = re.compile(r"(-?\d{1,300})/(\d{1,300})")
_LONG = 7
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TIGHTNESS_DECADES = 6
"""A bar of tightness is full at a bound of a million times the mean."""


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
    """Everything that the templates name."""
    cards = [card(item, contents["refutations"]) for item in contents["cards"]]
    findings = [finding for item in contents["cards"] for finding in item["findings"]]
    return {
        "papers": _papers(cards),
        "cards": cards,
        "dashboard": dashboard(contents, findings),
        "refutations": [refutation(item) for item in _by_weight(contents["refutations"])],
        "exhibits": [exhibit(item) for item in contents["exhibits"]],
        "findings": sorted(findings, key=lambda item: list(SEVERITIES).index(item["severity"])),
        "controls": contents["controls"],
        "ledger": contents["ledger"],
        "versions": contents["versions"],
        "covered": contents["covered"],
        "experiments": contents.get("experiments"),
        "outcomes": OUTCOMES,
        "severities": SEVERITIES,
        "verdict_signs": VERDICTS,
        "grades": GRADES,
        "kinds": [kind for kind in _KINDS if any(item["kind"] == kind for item in cards)],
    }


def _papers(cards: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
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
    return f"{word.capitalize()} {place}{f' {tail}' if tail else ''}"


def card(item: Mapping[str, Any], refutations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A theorem's card."""
    mine = [r for r in refutations if r["claim"] == item["id"]]
    runs = [_run(index, run) for index, run in enumerate(item["runs"], start=1)]
    statements = [_statement(s, item) for s in item["statements"]]
    shown = next(s for s in statements if s["label"] == item["default"])
    judged = next((s for s in statements if s["label"] == item["judged"]), shown)
    lemmas = item["lemmas"] if item["lemmas"] and item["lemmas"]["runs"] else None
    return {
        **item,
        "name": short_name(item),
        "is_main": item["kind"] in _MAIN,
        "metric": {**item["metric"], "math": math_of(item["metric"]["latex"])},
        "statements": statements,
        "printed": _outcome(item, "printed"),
        "corrected": _outcome(item, "corrected"),
        "statuses": sorted({s["status"]["outcome"] for s in statements}),
        "runs": runs,
        "figure": figure_of(item, runs) if runs else None,
        "shares": [row for run in runs if (row := _shares(run, judged))],
        "judged_terms": judged["terms"],
        "lemmas": lemmas,
        "rates": rates(item["rates"]) if item["rates"] else None,
        "broken_by": [refutation(r) for r in _by_weight(mine)],
        "summary": _summary(item, mine),
        "symbols": _symbols(item),
        "certificates": _certificates(item["runs"]),
        "search": " ".join([item["id"], item["title"], item["source"], item["kind"], *_words(item)]).lower(),
    }


def _symbols(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The symbols of all statements, each once."""
    found = {symbol["name"]: symbol for s in item["statements"] for symbol in s["symbols"]}
    return [{**symbol, "math": math_of(symbol["latex"])} for symbol in found.values()]


def _certificates(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
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


def _summary(item: Mapping[str, Any], mine: Sequence[Mapping[str, Any]]) -> list[str]:
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


def _statement(s: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, Any]:
    """Formulas typeset; a term has a letter that names it in the bars."""
    terms = [
        {**term, "math": math_of(term["latex"]), "letter": _letter(index), "series": index % 6 + 1}
        for index, term in enumerate(s["terms"])
    ]
    return {
        **s,
        "terms": terms,
        "derived": [{**d, "symbol": math_of(d["symbol"]), "math": math_of(d["latex"])} for d in s["derived"]],
        "conditions": [{**c, "math": math_of(c["latex"])} for c in s["conditions"]],
        "schedule": [{"math": math_of(f"{d['symbol']} = {d['latex']}")} for d in s["schedule"]],
        "is_default": s["label"] == item["default"],
    }


def _letter(index: int) -> str:
    return _LETTERS[index] if index < len(_LETTERS) else f"{_LETTERS[index // 26 - 1]}{_LETTERS[index % 26]}"


def _run(index: int, run: Mapping[str, Any]) -> dict[str, Any]:
    last = run["horizons"][-1]
    slope = run["measured_slope"]
    outcomes = Counter(h["outcome"] for h in run["horizons"])
    return {
        **run,
        "index": index,
        "series": (index - 1) % 6 + 1,
        "outcomes": [{"name": name, "sign": VERDICTS[name], "count": n} for name, n in outcomes.items()],
        "T": last["T"],
        "slope": "" if slope is None else _slope(slope),
        "slope_of_bound": "" if run["bound_slope"] is None else f"{run['bound_slope']:.2f}",
        "tightness": "" if last["tightness"] is None else number(last["tightness"]),
        "tightness_width": _width(last["tightness"]),
        "shares": last["shares"],
        "dials": ", ".join(f"{name} = {_brief(value)}" for name, value in run["hyperparameters"].items()),
        "problem_dials": ", ".join(f"{name} = {value}" for name, value in run["parameters"].items()),
    }


def _brief(value: str) -> str:
    """A fraction that is long to read as a decimal; anything else as it is."""
    parts = _FRACTION.fullmatch(value)
    return number(int(parts[1]) / int(parts[2])) if parts and len(value) > _LONG else value


def _width(tightness: float | None) -> int:
    """Percent of a bar, on a log scale."""
    if tightness is None or tightness <= 0 or not math.isfinite(tightness):
        return 0
    return round(100 * min(1.0, max(0.02, math.log10(max(tightness, 1)) / _TIGHTNESS_DECADES)))


def _shares(run: Mapping[str, Any], judged: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parts of the bound at the longest horizon, for a stacked bar."""
    terms = {term["name"]: term for term in judged["terms"]}
    parts = [
        {
            "letter": terms[name]["letter"],
            "series": terms[name]["series"],
            "name": name.replace("_", " "),
            "percent": round(100 * share, 1),
        }
        for name, share in run["shares"].items()
        if name in terms and share > 0
    ]
    return {"index": run["index"], "T": run["T"], "parts": parts} if parts else None


def figure_of(item: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Measured means and bounds against T, two lines for each instance."""
    lines = []
    for run in runs:
        T = [h["T"] for h in run["horizons"]]
        means, bounds = ([h[key] or math.nan for h in run["horizons"]] for key in ("mean", "bound"))
        if len(T) == 1:
            lines.append(
                Line(f"instance {run['index']}: from mean to bound", T * 2, [*means, *bounds], run["series"], "gap")
            )
        name, label = f"instance {run['index']}", str(run["index"])
        lower, upper = ([h[key] for h in run["horizons"]] for key in ("lower", "upper"))
        lines.append(Line(f"{name}: bound", T, bounds, run["series"], "bound", label=label))
        lines.append(Line(f"{name}: measured mean", T, means, run["series"], "measured", lower, upper, label))
    return figure(
        lines,
        Axis("T", log=True),
        Axis(f"mean and bound, in {item['metric']['dimension']}", log=True),
        title=f"{item['id']}: bound and measured mean against T, {_many(len(runs), 'instance')}",
        file=item["id"],
    )


def rates(found: Mapping[str, Any]) -> dict[str, Any]:
    """The sweeps of a theorem: a chart for each, and a row of numbers."""
    return {
        "sweeps": [_sweep(sweep, found["theorem"]) for sweep in found["sweeps"]],
        "costs": [_cost(cost) for cost in found["costs"]],
        "constants": [_constant(item) for item in found["hidden_constant"]],
    }


def _cost(cost: Mapping[str, Any]) -> dict[str, str]:
    return {
        "resource": MEANING[cost["resource"]],
        "measured": _slope(cost["measured_exponent"]),
        "bound": f"{cost['bound_exponent']:.3f}",
        "claimed": "–" if cost["claimed_exponent"] is None else f"{cost['claimed_exponent']:.3g}",
        "where": cost["claim"],
        "why": cost["why"],
    }


def _constant(item: Mapping[str, Any]) -> dict[str, str]:
    return {
        "over": item["over"],
        "needed": number(max(item["needed"])),
        "end": number(max(item["upper"])),
        "growth": "–" if item["slope"] is None else f"{item['slope']:.2f}",
        "proved": short(item["proved"]),
    }


def _slope(interval: Sequence[float]) -> str:
    """A measured slope with its 95% interval."""
    return f"{interval[0]:.2f} [{interval[1]:.2f}, {interval[2]:.2f}]"


def _sweep(sweep: Mapping[str, Any], theorem: str) -> dict[str, Any]:
    measured, bound = sweep["measured_slope"], sweep["bound_slope"]
    lines = [
        Line("measured mean", sweep["values"], sweep["mean"], 1, "measured"),
        Line("bound", sweep["values"], sweep["bound"], 2, "bound"),
    ]
    return {
        **sweep,
        "slope": _slope(measured),
        "slope_of_bound": f"{bound:.2f}",
        "claimed": "" if sweep["claimed_exponent"] is None else f"{sweep['claimed_exponent']:.3g}",
        "figure": figure(
            lines,
            Axis(sweep["over"], log=True),
            Axis("mean and bound", log=True),
            title=f"{theorem} over {sweep['over']}",
            file=f"{theorem}_{sweep['over']}",
        ),
    }


def refutation(item: Mapping[str, Any]) -> dict[str, Any]:
    """An exact instance: the two sides as bars, the instance as a picture."""
    factor = item["factor"]
    return {
        **item,
        "short": item["name"].removeprefix(item["claim"]).lstrip(".").replace("_", " "),
        "left_shown": number(item["left"]),
        "right_shown": number(item["right"]),
        "factor_shown": "" if factor is None else number(factor),
        "width": 0 if factor is None else _share_of_bar(factor),
        "figure": instance_picture(item["picture"], item["name"]) if item.get("picture") else None,
        "search": " ".join([item["name"], item["summary"], item["word"], item["claim"]]).lower(),
    }


def _share_of_bar(factor: float) -> float:
    """Width of the smaller bar in percent: the ratio itself while it can be seen, then a sliver."""
    return round(max(1.5, 100 / factor), 1) if factor > 1 else 100.0


def _by_weight(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Refutations of theorems first, mathematical ones before slips and readings; otherwise as the papers have them."""
    order = list(GRADES)

    def key(item: Mapping[str, Any]) -> tuple[bool, int]:
        name = item["claim"].partition(".")[2]
        return not name.startswith(_MAIN), order.index(item["grade"]) if item["grade"] in order else len(order)

    return sorted(items, key=key)


def exhibit(item: Mapping[str, Any]) -> dict[str, Any]:
    """A paper's own counterexample."""
    scenes = [
        {**scene_pictures(scene, f"{item['id']}, case {scene['case']}"), "case": scene["case"]}
        for scene in item["scenes"]
    ]
    return {**item, "scenes": scenes}
