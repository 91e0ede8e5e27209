"""Figures: labelled with units, self-contained, reproducible, and carrying their data."""

import math
from pathlib import Path
from typing import Any

import fedco
import matplotlib.colors
import numpy as np
import pytest
from fedco.bounds.language.reading import InputError
from fedco.bounds.registry import all_theorems, get_theorem
from fedco.figures import (
    PALETTE,
    Axis,
    Curve,
    bar_plot,
    data_file,
    log_log_plot,
    look,
    mathtext,
    plain,
    save,
)
from fedco.storage import write_json
from fedco.validation.report.bound_plots import bound_plot
from fedco.validation.runs.validate import RESULTS, convergence_plot
from fedco.validation.statistics.slopes import SlopeEstimate
from matplotlib.mathtext import MathTextParser
from quick import slowly
from small_theorems import symbols

T = [100, 200, 400, 800]
MEAN, BOUND = [0.4, 0.28, 0.2, 0.14], [4.0, 2.9, 2.1, 1.6]
METRIC = Axis(r"mean of $\|\nabla\Phi\|^2$", "[f]²/[x]²")


@pytest.fixture
def plot():
    return convergence_plot(
        T,
        MEAN,
        BOUND,
        title='FedDRO <bowl> & "K=8"',
        metric=METRIC,
        band=([0.3, 0.2, 0.0, 0.1], [0.5, 0.4, 0.3, float("inf")]),
        measured_slope=SlopeEstimate(-0.505, -0.52, -0.49, 0.95, 64),
        limit_exponent=-0.5,
    )


def test_axes_are_logarithmic_and_carry_units(plot):
    axes = plot.figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlabel() == "$T$  (local steps)" and "[f]²/[x]²" in axes.get_ylabel()
    assert str(Axis("K", "1")) == "K"
    with pytest.raises(ValueError, match="unit"):
        Axis("T", "")


def test_the_legend_shows_both_slopes(plot):
    texts = [text.get_text() for text in plot.figure.legends[0].get_texts()]
    assert texts[0] == "empirical, slope -0.505 [-0.520, -0.490]"
    assert texts[1].startswith("bound, slope -0.44")
    assert "-0.5" in texts[2] and "guide" in texts[2]


def test_the_data_behind_the_figure_are_returned(plot):
    columns = plot.data
    name = "empirical, slope -0.505 [-0.520, -0.490]"
    assert columns[f"{name}: x"] == T and columns[f"{name}: y"] == MEAN
    assert columns[f"{name}: upper"] == [0.5, 0.4, 0.3, None]
    assert [values for key, values in columns.items() if key.startswith("bound") and key.endswith("y")] == [BOUND]
    lines = plot.figure.axes[0].get_lines()
    assert [list(line.get_xdata()) for line in lines] == [T, T, T]
    assert list(lines[1].get_ydata()) == BOUND


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), slowly(("pdf", b"%PDF"))])
def test_saving_is_reproducible(plot, tmp_path, suffix, start):
    first = save(plot, tmp_path / f"a.{suffix}").read_bytes()
    assert first.startswith(start) and first == save(plot, tmp_path / f"b.{suffix}").read_bytes()


def test_the_suffix_of_a_figure_is_checked(plot, tmp_path):
    with pytest.raises(ValueError, match="format"):
        save(plot, tmp_path / "a.gif")


def test_every_curve_differs_in_colour_and_dash():
    curves = [Curve(str(i), [1, 10], [1, 10 + i]) for i in range(len(PALETTE))]
    lines = log_log_plot(curves, title="t", x_axis=Axis("K", "1"), y_axis=METRIC).figure.axes[0].get_lines()
    assert len({line.get_color() for line in lines}) == len(lines)
    assert len({(line.get_marker(), str(line._dash_pattern)) for line in lines}) == len(lines)


def test_tick_labels_do_not_overlap(plot):
    renderer = plot.figure.canvas.get_renderer()
    plot.figure.draw(renderer)
    axes = plot.figure.axes[0]
    for labels in (axes.get_xticklabels(which="both"), axes.get_yticklabels(which="both")):
        boxes = [label.get_window_extent(renderer) for label in labels if label.get_text()]
        assert len(boxes) >= 2
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_the_palette_stays_readable_on_white():
    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in matplotlib.colors.to_rgb(colour)]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    contrast = [1.05 / (luminance(colour) + 0.05) for colour in PALETTE]
    assert min(contrast) > 2.0
    assert 1.05 / (luminance("#F0E442") + 0.05) < 2.0  # the palette's yellow, left out, would fail


def test_curves_are_checked():
    for bad in ({"y": [1.0]}, {"lower": [1.0, 2.0]}, {"lower": [1.0, 2.0], "upper": [1.0]}):
        with pytest.raises(ValueError, match="one length"):
            Curve(**({"name": "a", "x": [1, 2], "y": [1.0, 2.0]} | bad))
    with pytest.raises(ValueError, match="distinct"):
        log_log_plot([Curve("a", [1], [1]), Curve("a", [1], [1])], title="", x_axis=METRIC, y_axis=METRIC)


def test_values_that_a_log_axis_cannot_show_are_kept_in_the_data():
    plot = log_log_plot([Curve("a", [1, 2, 3], [1.0, 0.0, float("nan")])], title="", x_axis=METRIC, y_axis=METRIC)
    assert plot.data["a: y"] == [1.0, 0.0, None]


def test_no_two_of_many_curves_share_colour_and_dash():
    shapes = [(shape["color"], str(shape["linestyle"])) for shape in map(look, range(49))]
    assert len(set(shapes)) == 49


def test_the_legend_lies_below_the_axes_and_the_numbers_beside_the_file(plot, tmp_path):
    made = save(plot, tmp_path / "figure.png")
    renderer = plot.figure.canvas.get_renderer()
    plot.figure.draw(renderer)
    (legend,) = plot.figure.legends
    assert legend.get_window_extent(renderer).y1 <= plot.figure.axes[0].get_window_extent(renderer).y0
    head, first, *_ = data_file(made).read_text(encoding="utf-8").splitlines()
    assert head.count(",") >= 4 and first.split(",")[0] == "100.0"


@pytest.mark.parametrize("step", [5, slowly(1)])
def test_every_letter_of_every_paper_can_stand_on_an_axis(step):
    parser = MathTextParser("agg")
    letters = {theorem.metric.latex for theorem in all_theorems().values()}
    letters |= {binding.latex for theorem in all_theorems().values() for binding in theorem.notation}
    for latex in sorted(letters)[::step]:
        parser.parse(mathtext(latex))


def test_bars_keep_their_numbers_and_leave_out_what_a_log_axis_cannot_show():
    made = bar_plot({"a": {"x": 1.0, "y": 0.0}, "b": {"x": None, "y": 10.0}}, title="t", axis=METRIC, log=True)
    assert made.data == {"a": [1.0, 0.0], "b": [None, 10.0]} and len(made.figure.legends) == 1


def test_a_long_label_of_the_horizontal_axis_is_broken_and_stays_on_the_figure():
    """The longest meanings of all papers, with their letters and units; a formula in a label stays whole."""
    axes = {
        Axis(f"{mathtext(b.latex)}: {plain(b.quantity.meaning)}", str(b.quantity.dimension))
        for theorem in all_theorems().values()
        for b in theorem.notation
    }
    longest = sorted(axes, key=lambda axis: (-len(str(axis)), str(axis)))[:4]
    broken = 0
    for axis in longest:
        figure = log_log_plot([Curve("mean", T, MEAN)], title="", x_axis=axis, y_axis=METRIC).figure
        figure.canvas.draw()
        label = figure.axes[0].xaxis.label
        box = label.get_window_extent()
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width, label.get_text()
        assert label.get_text().split() == str(axis).split() and label.get_text().count("$") == str(axis).count("$")
        broken += "\n" in label.get_text()
    assert broken == len(longest)


def test_an_end_of_the_axis_where_a_condition_fails_is_blank_and_says_which():
    """The printed step-size limit of Theorem 4.1 is 1/(6 q S_F), here 1/24 (q = 2, S_F = 2)."""
    statement = get_theorem("fcsg.theorem_4_1").statement("printed")
    ones = ("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap", "N", "m")
    drawn, gaps = bound_plot(statement, "alpha", (1e-3, 1), {**dict.fromkeys(ones, "1"), "q": "2", "T": "100"})
    (gap,) = gaps
    shown = [x <= 1 / 24 for x in drawn.data["bound: x"]]
    first = next(x for x in drawn.data["bound: x"] if x > 1 / 24)
    assert gap.startswith(f"alpha = {first:g} to 1: step_size")
    assert [y is not None for y in drawn.data["bound: y"]] == shown and set(shown) == {True, False}


TERMS = {"gap": "F_gap/(eta*T)", "noise": "eta*L*sigma**2"}


SYMBOLS = symbols("L sigma F_gap eta T")


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
    blank = x[~inside & (x < 0.3)], x[~inside & (x > 0.3)]
    assert [gap.split(":")[0] for gap in gaps] == [f"eta = {part[0]:g} to {part[-1]:g}" for part in blank]
    assert "long" in gaps[0] and "small" not in gaps[0] and "small" in gaps[1] and "long" not in gaps[1]
    assert bound_plot(mine(), "eta", (0.25, 0.45), AT)[1] == []


def test_a_count_is_drawn_at_whole_numbers_and_a_term_of_nothing_is_left_out() -> None:
    drawn, _ = bound_plot(mine(), "T", (20, 24), {**AT, "eta": "1/8", "sigma": "0"})
    assert drawn.data["bound: x"] == [20.0, 21.0, 22.0, 23.0, 24.0]
    with pytest.raises(InputError, match=r"wanted a whole number between from and to, got 20\.2 and 20\.7"):
        bound_plot(mine(), "T", (20.2, 20.7), {**AT, "eta": "1/8"})
    assert bound_plot(mine(), "T", (19.6, 24.4), {**AT, "eta": "1/8"})[0].data["bound: x"][::4] == [20.0, 24.0]
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
    write_json(tmp_path / "results.json", {"format": RESULTS, "results": rows})
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
