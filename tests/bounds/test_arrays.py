"""Bounds over arrays: large ones are cut into blocks, and the plot of one."""

from __future__ import annotations

from dataclasses import fields, replace

import fedco
import numpy as np
import pytest
from fedco.bounds.evaluation import evaluate
from fedco.bounds.language.reading import InputError

THEOREM = fedco.theorem("baselines.local_sgd")
POINT = {"L": 2, "G": 3, "sigma": 1, "F_gap": 5, "p": 4, "b": 1, "N": 8, "T": 1000}


@pytest.mark.parametrize("block", [1, 7, 24, 1000])
def test_a_grid_is_the_same_in_blocks_of_any_size(block, monkeypatch):
    """Along the first axis, the second, and in what does not vary along either."""
    eta, horizon = np.geomspace(1e-3, 1, 11).reshape(-1, 1), np.array([[10.0, 100.0, 1000.0]])
    varied = POINT | {"eta": eta, "T": horizon, "L": np.linspace(1, 2, 3).reshape(1, 3)}
    whole = THEOREM.bound("printed", strict=False, **varied)
    monkeypatch.setattr(evaluate, "POINTS_PER_BLOCK", block)
    cut = THEOREM.bound("printed", strict=False, **varied)
    assert whole.total.shape == cut.total.shape == (11, 3)
    assert np.array_equal(whole.total, cut.total) and np.array_equal(whole.admissible, cut.admissible)
    assert whole.terms.keys() == cut.terms.keys() and len(cut.terms) >= 3
    assert all(np.array_equal(whole.terms[name], cut.terms[name]) for name in cut.terms)
    assert 0 < whole.admissible.sum() < 33
    for row, column in ((0, 0), (10, 2), (6, 1)):
        point = {name: float(np.broadcast_to(varied[name], (11, 3))[row, column]) for name in ("eta", "T", "L")}
        one = THEOREM.bound("printed", strict=False, **(POINT | point))
        assert cut.total[row, column] == pytest.approx(one.total) and cut.admissible[row, column] == one.admissible


def test_a_plot_is_over_one_array():
    bound = THEOREM.bound("printed", strict=False, **POINT, eta=np.geomspace(1e-3, 1, 5))
    plot = bound.plot()
    assert "eta" in str([getattr(plot, item.name) for item in fields(plot)])
    two = THEOREM.bound("printed", strict=False, **(POINT | {"eta": np.array([0.1, 0.2]), "T": np.array([10.0, 20.0])}))
    square = THEOREM.bound("printed", strict=False, **POINT, eta=np.full((2, 2), 0.1))
    for refused in (two, square):
        with pytest.raises(InputError, match="one array of one dimension"):
            refused.plot()


def test_the_bars_of_terms_have_the_unit_of_the_metric_and_those_of_constants_none():
    with_terms = THEOREM.bound("printed", strict=False, **POINT, eta="1/100")
    label = with_terms.plot().figure.axes[0].get_xlabel()
    assert "F(" in label and "[f]" in label and "[x]" in label, "E |grad F|^2: f^2 / x^2"
    without = replace(with_terms, terms={}, total=None, derived={"c": 2.0, "d": 3.0})
    assert without.plot().figure.axes[0].get_xlabel().startswith("value")
    assert without.plot().data == {"terms": [3.0, 2.0]}


@pytest.mark.parametrize(("points", "more"), [(19, False), (20, False), (21, True)])
def test_what_is_not_printed_is_said(points: int, more: bool):
    found = THEOREM.bound("printed", strict=False, **POINT, eta=np.geomspace(1e-3, 1, points))
    assert (f"the first 20 of {points} points" in found.to_markdown()) is more
    assert len(found.sheet().tables[0].rows) == min(points, 20) and len(found.to_frame()) == points
