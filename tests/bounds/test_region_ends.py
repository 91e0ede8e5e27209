"""What an interval says of itself, and how sets are drawn."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from fedco.bounds.language.definition import define
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Condition
from fedco.bounds.region import pictures
from fedco.bounds.region.admissible import region_picture
from fedco.bounds.region.intervals import Interval, intersect
from fedco.bounds.region.pictures import intervals_plot, label_place, region_plot, window_around


def test_the_exact_ends_are_kept_but_not_printed_nor_compared():
    x = sp.Symbol("x", positive=True)
    (root,) = intersect([Condition("c", x**2, "<=", sp.Integer(2))], x)
    low, high = root.enclosure["upper"]
    assert low**2 < 2 < high**2 and "enclosure" not in repr(root)
    (near,) = intersect([Condition("c", x, "<=", sp.Rational(low + (high - low) / 3))], x)
    assert near == root and near.enclosure != root.enclosure


def test_a_coefficient_that_vanishes_unseen_does_not_move_an_end():
    """sqrt(3 + 2 sqrt(2)) = 1 + sqrt(2): what is left is x^3 <= 2 x."""
    x = sp.Symbol("x", positive=True)
    (found,) = intersect([Condition("c", x**3 + 1 + sp.sqrt(2), "<=", 2 * x + sp.sqrt(3 + 2 * sp.sqrt(2)))], x)
    low, high = found.enclosure["upper"]
    assert low**2 < 2 < high**2 and high - low < 1e-15
    assert found.lower == 0 and not found.lower_closed


def test_a_picture_spans_three_decades_around_the_ends():
    def of(low: float, high: float | None) -> tuple[float, float]:
        interval = Interval(low, high, False, False, {})
        window, other = window_around({"x": interval}, ("x", "y"))
        assert other == (1e-4, 1e4), "nothing is known of y"
        return window

    for low, high in ((2.0, None), (0.0, 2000.0), (0.0, None), (2.0, 5.0)):
        left, right = of(low, high)
        assert 0 < left < (low or right) and right > (high or low)
        if not low or high is None:
            assert right / left == pytest.approx(3 * 1.5 * 1000)
    assert of(2.0, 5.0) == pytest.approx((2 / 1.5, 15))
    assert of(0.0, None)[0] < 1 < of(0.0, None)[1], "of a set without ends the part around 1"


# --- pictures -------------------------------------------------------------------------------------------------------------------

SYMBOLS = {"F_gap": "objective_gap", "L": "local_smoothness", "eta": "step_size", "beta": "momentum", "T": "iterations"}
CONDITIONS = {"a": "eta*L*beta <= 1", "b": "1/10 <= eta*L", "far": "eta*L <= 10**6", "line": "T == 12"}
WINDOW = ((0.01, 100.0), (0.001, 10.0))


def statement():
    terms = {"all": "F_gap/(eta*T)"}
    return define(id="picture.case", symbols=SYMBOLS, terms=terms, conditions=CONDITIONS).statement("printed")


def test_a_region_is_drawn_with_its_borders(monkeypatch):
    interior = {"eta": "1/2", "beta": "1/4"}
    plot = region_plot(statement(), ("eta", "beta"), {"L": 1, "T": 12}, {}, interior, WINDOW)
    assert plot.data["a point inside: eta"] == [0.5] and plot.data["a point inside: beta"] == [0.25]
    drawn = {name.partition(":")[0] for name in plot.data}
    assert drawn == {"a", "b", "a point inside", "method_range_beta"}, "what is outside the window has no border in it"
    for name, value in (("a", lambda e, b: e * b), ("b", lambda e, b: 10 * e), ("method_range_beta", lambda e, b: b)):
        points = list(zip(plot.data[f"{name}: eta"], plot.data[f"{name}: beta"], strict=True))
        assert len(points) > 200 and all(value(e, b) == pytest.approx(1, rel=2e-2) for e, b in points), name
    (axes,) = plot.figure.axes
    assert (axes.get_xlim(), axes.get_ylim()) == WINDOW and plot.title == "picture.case (printed): admissible set"
    assert "step size" in axes.get_xlabel() and "weight" in axes.get_ylabel()
    (filled,) = [c for c in axes.collections if len(c.get_facecolor())]
    inside = [
        any(path.contains_point(at) for path in filled.get_paths())
        for at in ((0.5, 0.25), (0.05, 0.25), (5, 0.5), (5, 0.1))
    ]
    assert inside == [True, False, False, True] and not any(p.contains_point((0.5, 2)) for p in filled.get_paths())
    (marked,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert (list(marked.get_xdata()), list(marked.get_ydata())) == ([0.5], [0.25])
    legend = [text.get_text() for each in plot.figure.legends for text in each.get_texts()]
    assert set(legend) == {"a", "b", "method_range_beta", "a point inside"}
    assert {text.get_text() for text in axes.texts} == {"a", "b", "method_range_beta"}
    bare = region_plot(statement(), ("eta", "beta"), {"L": 1, "T": 12}, {}, {"eta": "1/2"}, WINDOW)
    assert not any(name.startswith("a point") for name in bare.data)
    monkeypatch.setattr(pictures, "POINTS", 40)
    for top, borders in (
        (1.5, {"a", "b", "method_range_beta"}),
        (0.9, {"a", "b"}),
    ):  # beta <= 1 just inside, just outside
        near = region_plot(statement(), ("eta", "beta"), {"L": 1, "T": 12}, {}, {}, ((0.01, 100.0), (0.001, top)))
        assert {name.partition(":")[0] for name in near.data} == borders
    none = region_plot(statement(), ("eta", "beta"), {"L": 1, "T": 12}, {}, {}, ((0.01, 100.0), (1.2, 10.0)))
    assert {name.partition(":")[0] for name in none.data} == {"a", "b"}, "beta <= 1 holds nowhere"
    chosen = region_plot(
        statement(), ("eta", "beta"), {"L": 1, "T": 12}, {"eta": Interval(2.0, 8.0, True, True, {})}, {}
    )
    assert chosen.figure.axes[0].get_xlim() == pytest.approx((2 / 1.5, 24)) and chosen.figure.axes[0].get_ylim() == (
        1e-4,
        1e4,
    )


@pytest.mark.parametrize(
    ("x", "along", "wanted"),
    [
        (1.0, (1, 10), 10**0.5),  # the middle of the part along the set
        (1.0, (0.01, 100), 1.0),
        (1.0, (5, 100), (5 * 10**1.4) ** 0.5),  # of what is within the frame
        (1.0, (60, 100), 10 ** (-2 + 4 * 0.85)),  # as near to it as the name is within the frame
        (1.0, (0.01, 0.012), 10 ** (-2 + 4 * 0.15)),
        (1.0, None, 1.0),  # the set is elsewhere
        (0.02, (2, 20), 40**0.5),  # the border runs along the frame
        (50.0, (2, 20), 40**0.5),
        (0.0105, (2, 20), 40**0.5),  # on the frame: nowhere is better
    ],
)
def test_the_name_of_a_border_stands_beside_the_set(x, along, wanted):
    """A vertical border in a frame from 1/100 to 100 on both axes, and the same lying down."""
    ys = np.geomspace(0.01, 100, 401)
    grid = np.geomspace(0.01, 100, 400)
    near = np.abs(np.log(grid / x)) < 0.03
    inside = np.zeros((400, 400), dtype=bool)
    if along:
        inside[np.ix_((grid >= along[0]) & (grid <= along[1]), near)] = True
    upright = SimpleNamespace(allsegs=[[np.column_stack([np.full(401, x), ys]), np.empty((0, 2))]])
    lying = SimpleNamespace(allsegs=[[np.column_stack([ys, np.full(401, x)])]])
    found = label_place(upright, inside, (0.01, 100), (0.01, 100))
    assert found == pytest.approx((x, wanted), rel=0.05)
    assert label_place(lying, inside.T, (0.01, 100), (0.01, 100)) == pytest.approx((wanted, x), rel=0.05)


def test_intervals_are_bars_with_their_ends():
    rows = [("eta", Interval(0.0, 0.5, False, True, {"lower": None, "upper": "a"}))]
    rows += [("beta", Interval(2.0, 4000.0, False, True, {"lower": "b", "upper": None}))]
    rows += [("T", Interval(3.0, None, True, False, {"lower": "c", "upper": None}))]
    plot = intervals_plot(statement(), rows)
    (axes,) = plot.figure.axes
    assert axes.get_xlim() == pytest.approx((0.5 / 1000, 40000)) and axes.get_ylim() == pytest.approx((2.6, -0.7))
    assert plot.figure.get_figheight() == pytest.approx(1.2 + 3 * 0.55)
    bars = [line for line in axes.lines if line.get_marker() == "None"]
    assert len({bar.get_color() for bar in bars}) == 3
    assert [(list(bar.get_xdata()), list(bar.get_ydata())) for bar in bars] == [
        ([0.5 / 1000, 0.5], [0, 0]),
        ([2, 4000], [1, 1]),
        ([3, 40000], [2, 2]),
    ]
    marks = {(line.get_xdata()[0], line.get_ydata()[0]): line for line in axes.lines if line.get_marker() == "o"}
    closed = {at: line.get_markerfacecolor() != "white" for at, line in marks.items()}
    assert closed == {(0.5, 0): True, (2.0, 1): False, (4000.0, 1): True, (3.0, 2): True}
    assert {text.xy: text.get_text() for text in axes.texts} == {
        (0.5, 0): "0.5\na",
        (2.0, 1): "2\nb",
        (4000.0, 1): "4000\n",
        (3.0, 2): "3\nc",
    }
    assert list(axes.get_yticks()) == [0, 1, 2]
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"$\eta$", r"$\beta$", "$T$"]
    assert not any(line.get_visible() for line in axes.yaxis.get_gridlines())
    assert plot.data == {"lower": [0.0, 2.0, 3.0], "upper": [0.5, 4000.0, None]}
    nothing = intervals_plot(statement(), [("eta", Interval(0.0, None, False, False, {"lower": None, "upper": None}))])
    assert nothing.figure.axes[0].get_xlim() == pytest.approx((1e-3, 10)) and not nothing.figure.axes[0].texts


def test_a_window_is_named_after_each_axis():
    one, other = Interval(2.0, 5.0, False, False, {}), Interval(10.0, 20.0, False, False, {})
    assert window_around({"x": one, "y": other}, ("x", "y")) == ((2 / 1.5, 15), (10 / 1.5, 60))
    assert window_around({"y": other}, ("x", "y")) == ((1e-4, 1e4), (10 / 1.5, 60))


# --- answers --------------------------------------------------------------------------------------------------------------------

TOGETHER = """picture.case (printed):
  eta in `[0.1, 1000000]` (binding: b / far)
  beta in `(0, 1]` (binding: - / method_range_beta)
  where a: beta*eta <= 1
  where b: 1/10 <= eta
  where far: eta <= 1000000
  where method_range_beta: beta <= 1
  for instance {inside}
  method_range_beta: beta <= 1 (the weight of what is new in a moving average)"""
RANGE_OF_BETA = "method_range_beta: beta <= 1 (the weight of what is new in a moving average)"


def cells(table):
    return [tuple(getattr(cell, "text", cell) for cell in row) for row in table.rows]


def test_the_answer_for_two_hyperparameters(monkeypatch):
    found = statement().theorem.admissible(("eta", "beta"), "printed", L=1, T=12)
    eta, beta = (found.interior[name] for name in ("eta", "beta"))
    assert str(found) == TOGETHER.format(inside=f"eta = {eta}, beta = {beta}")
    page = found.sheet()
    tables = {table.name: cells(table) for table in page.tables}
    assert [*tables] == ["admissible values", "together they satisfy", "a point inside", "constants"]
    assert tables["together they satisfy"] == [
        ("a", "beta*eta <= 1"), ("b", "1/10 <= eta"), ("far", "eta <= 1000000"), ("method_range_beta", "beta <= 1")
    ]  # fmt: skip
    assert tables["a point inside"] == [("eta", eta), ("beta", beta)] and page.notes == (RANGE_OF_BETA,)
    assert page.claim.text == "eta in [0.1, 1000000], beta in (0, 1]"
    assert page.claim.latex == r"\eta \in \left[0.1, 1000000\right],\quad \beta \in \left(0, 1\right]"
    data = found.to_dict()
    assert data["conditions"] == [f"{name}: {words}" for name, words in tables["together they satisfy"]]
    assert data["interior"] == found.interior and "note" not in data and data["remarks"] == [RANGE_OF_BETA]
    drawn = []
    monkeypatch.setattr(pictures, "region_plot", lambda about, names, given, *rest: drawn.append((names, given)))
    monkeypatch.setattr(pictures, "intervals_plot", lambda about, rows: drawn.append([name for name, _ in rows]))
    monkeypatch.setattr(pictures, "save_picture", lambda plot, out: drawn.append(out))
    found.plot()
    replace(found, feasible=False).plot()
    replace(found, solved=("eta",)).plot()
    replace(found, solved=("eta", "beta", "T")).plot()
    assert drawn == [(("eta", "beta"), {"L": 1, "T": 12}), *[["eta", "beta"]] * 3]
    again = region_picture(statement(), ("eta", "beta"), {"L": 1, "T": 12}, "out.svg")
    assert drawn[-1] == "out.svg" and again == found
    with pytest.raises(InputError, match="wanted two hyperparameters, got 1"):
        region_picture(statement(), ("eta",), {"L": 1, "T": 12}, "out.svg")


def test_long_formulas_are_shown_with_few_digits():
    """On the page and in the answer; short ones with all of theirs."""
    long = Fraction(10**60 + 1, 10**55 + 7)
    found = statement().theorem.admissible(("eta", "beta"), "printed", L=long, T=12)
    shown = dict(cells(found.sheet().tables[1]))
    assert shown["a"] == "100000.0*beta*eta <= 1"
    assert "a: 100000.0*beta*eta <= 1" in found.to_dict()["conditions"]
    short = statement().theorem.admissible(("eta", "beta"), "printed", L=Fraction(10**30 + 1, 10**30), T=12)
    assert str(10**30 + 1) in dict(cells(short.sheet().tables[1]))["a"] and str(10**30 + 1) in str(
        short.to_dict()["conditions"]
    )
