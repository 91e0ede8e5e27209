"""Figures run what their pages, their controls and the names of their curves say: nothing is run, what would be is written down."""

from __future__ import annotations

import math
import re
import sys
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fedco.validation.experiments import curves
from fedco.validation.experiments.curves import settings
from fedco.validation.experiments.datasets import Examples, images
from fedco.validation.experiments.figures import Measured, Setup
from fedco.validation.experiments.orderings import check_treatment
from fedco.validation.experiments.reproduce import figures
from quick import slow_but

pytest.importorskip("sklearn")
RUN = {name: f for name, f in figures().items() if f.measure is not None and name != "feddro/figure_6"}
"""Figure 6 of FedDRO is a certified trajectory, which other tests run."""
QUICK = {*RUN} - {"local_scgdm/figure_7"}
"""Figure 7 of Local-SCGDM is its figure 6 with twenty characters in the place of five."""
LONG = 10


digits = cache(images)
"""They are read and split for the first figure."""
MANY = "many images"


def once(folder) -> Examples:
    """The digits, or where the folder is `MANY` as many images as the papers have, small ones without a pattern."""
    if folder != MANY:
        return digits(folder)
    rng = np.random.default_rng(0)
    train, test = ((torch.from_numpy(rng.random((n, 1, 4, 4))), torch.arange(n) % 10) for n in (8000, 2000))
    return Examples("many", *train, *test)


class Planned:
    """What a figure would run: its curves, and the grids of its tunings, with their problems."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, key: str, setup: Setup) -> None:
        self.setup, self.curves, self.tunings = setup, [], []
        module = sys.modules[f"fedco.validation.papers.{key}.experiments"]
        monkeypatch.setattr(curves, "tuned", self._tuned)
        monkeypatch.setattr(curves, "curve", self._curve)
        monkeypatch.setattr(module, "images", once, raising=False)
        if hasattr(module, "omniglot"):
            monkeypatch.setattr(module, "omniglot", drawn)

    def _tuned(self, setup, owner, settings, grid, problem, T, metric, *, larger):
        best = {name: values[0] for name, values in grid.items()}
        method = owner(**settings, **best)
        self.tunings.append(
            SimpleNamespace(method=method, grid=grid, problem=problem, T=T, metric=metric, larger=larger)
        )
        return method, best

    def _curve(self, setup, name, method, problem, T, metrics, *, panel="", period=1, records=40):
        self.curves.append(
            SimpleNamespace(
                panel=panel, name=name, method=method, problem=problem, T=T, period=period, records=records, setup=setup
            )
        )
        values = {metric: np.zeros((8, LONG)) for metric in metrics}
        models = problem.initial_point.expand(setup.seeds, -1)
        return Measured(panel, name, range(LONG), values, settings=settings(setup, method, problem, T), models=models)

    @property
    def words(self) -> set[str]:
        """The numbers of all curves and tunings, each in words."""
        found: set[str] = set()
        for each in self.curves:
            found |= _of_method(each.method) | _of_problem(each.problem)
            found |= {f"{each.T} steps", f"{each.T // each.period} rounds", f"{each.records} records"}
        for each in self.tunings:
            found |= _of_method(each.method) | _of_problem(each.problem)
            found |= {f"{name} in {' '.join(f'{v:g}' for v in values)}" for name, values in each.grid.items()}
        return found


def _of_method(method) -> set[str]:
    numbers = {n: v for n, v in method.hyperparameters().items() if isinstance(v, (int, float))}
    return {f"{name}={value:.10g}" for name, value in numbers.items()}


NAMES = (
    "gamma",
    "unseen",
    "test",
    "nu",
    "alpha",
    "lam",
    "weight",
    "ways",
    "shots",
    "drawn",
    "tune_steps",
    "tune_rate",
    "level",
)


def _of_problem(problem) -> set[str]:
    words = {f"{problem.clients} clients", f"dim={problem.dim}"}
    words |= {f"{n}={getattr(problem, n):g}" for n in NAMES if isinstance(getattr(problem, n, None), (int, float))}
    parts = getattr(problem, "parts", None)
    if parts is None or not hasattr(parts, "train"):
        return words
    labels, counts = parts.train.targets, parts.train.counts.tolist()
    words |= {f"{count} images" for count in counts} | {f"{count} test images" for count in parts.test.counts.tolist()}
    own = torch.stack([torch.bincount(labels[k, : counts[k]], minlength=10) for k in range(len(counts))])
    words |= {f"rho={round(float(own[0, 0] / counts[0]), 2):g}", f"rare class {int(own[:, 0].sum())}"}
    words |= {f"{int((own > 0).sum(1).max())} classes at most"}
    linear = [part for part in parts.flat.model.modules() if isinstance(part, torch.nn.Linear)]
    return words | {f"hidden {' '.join(str(part.out_features) for part in linear[:-1])}"}


def drawn(folder, side):
    """Omniglot with four alphabets of ten characters, blank; its sizes are those of the test below."""
    names = tuple(name for name in ("Arcadian", "Greek", "Runic", "Tagalog") for _ in range(10))
    return SimpleNamespace(pixels=torch.zeros(len(names), 20, side * side, dtype=torch.float64), alphabets=names)


KEPT: dict[object, Planned] = {}


def plan(name, measure=None, **options) -> Planned:
    """What a figure, or a control of it, would run; planned once."""
    figure = RUN[name]
    key = (measure or figure.measure, *options.items())
    if key not in KEPT:
        setup = Setup(**{"data": "images" if figure.source == "omniglot" else None, **options})
        with pytest.MonkeyPatch.context() as patch:
            planned = Planned(patch, name.partition("/")[0], setup)
            planned.made = (measure or figure.measure)(setup)
        KEPT[key] = planned
    return KEPT[key]


def value_of(each, name: str):
    """What a run has under the name that its curve gives it."""
    if name == "C":
        return each.problem.clients
    found = getattr(each.problem, name, None) if name == "gamma" else None
    return getattr(each.method, name, found) if found is None else found


@pytest.mark.parametrize("name", slow_but(QUICK, RUN))
def test_a_figure_has_the_curves_of_its_orderings_and_names_them_after_what_runs(name):
    planned = plan(name)
    values = {curve.key: curve.values for curve in planned.made.curves}
    for ordering in RUN[name].orderings:
        assert ordering.metric in values[ordering.better] and ordering.metric in values[ordering.worse]
        assert ordering.better != ordering.worse
    assert all(metric in next(iter(values.values())) for metric in RUN[name].metrics)
    assert len(values) == len(planned.made.curves)
    for each in planned.curves:
        for symbol, text in re.findall(r"\b([A-Za-z]+)=([\d.]+)", f"{each.panel} {each.name}"):
            if symbol != "rho":
                assert value_of(each, symbol) == float(text), (each.panel, each.name)


CONTROLS = {
    (name.partition("/")[0], control.change): (name, control)
    for name, figure in RUN.items()
    for control in figure.controls
}


@pytest.mark.parametrize(("name", "control"), [(name, each) for name, f in RUN.items() for each in f.controls])
def test_a_control_treats_all_methods_alike_and_has_every_ordering(name, control):
    compared = {curve for each in RUN[name].orderings for curve in (each.better, each.worse)}
    changed = plan(name, control.measure).made
    check_treatment(control.change, plan(name).made, changed, compared)
    curves = {curve.key: curve.values for curve in changed.curves}
    for each in RUN[name].orderings:
        assert each.metric in curves[each.better] and each.metric in curves[each.worse]


DEFAULT = {
    "comfedl/figure_2": ["1000 images", "20 images", "10 clients", "b=10", "60 rounds", "tau=1", "tau=5", "tau=10",
                        "gamma=0.1", "gamma=2"],
    "comfedl/figure_3": ["1000 images", "20 images", "10 clients", "b=10", "60 rounds", "eta=0.001", "gamma=0.08",
                        "q=0.2", "gamma=0.5", "tau=5"],
    "comfedl/figure_4": ["hidden 16", "b=10", "b_1=10", "40 rounds", "lam=0.1", "tune_rate=0.1", "tune_steps=1", "rho=0.28"],
    "comfedl/figure_5": ["hidden 16", "tau=1", "tau=3", "tau=5", "eta=0.2", "40 rounds"],
    "comfedl/figure_6": ["rho=0.1", "rho=0.28", "rho=0.64", "rho=0.91", "eta=0.2", "b=10", "tau=5"],
    "comfedl/figure_7": ["gamma=0.5", "lam=0.1", "40 rounds"],
    "comfedl/figure_8": ["gamma=0.25", "gamma=0.5", "gamma=1", "gamma=2", "40 rounds"],
    "fcsg/figure_1": ["2000 steps", "test=5000", "m=1", "m=10", "m=100", "q=50", "alpha in 0.01 0.005 0.001",
                        "beta in 0.001 0.01 0.1 0.5 0.9"],
    "fcsg/figure_2": ["40 steps", "drawn=1", "shots=1", "ways=5", "alpha in 0.1 0.05", "eta in 0.1 0.05"],
    "fcsg/figure_3": ["40 steps", "drawn=1", "shots=5", "ways=5", "m=5"],
    "fcsg/table_2": ["8 clients", "q=10", "tau=10", "b=2", "m=16", "b=34", "stage=80", "prox=0.002", "hidden 16"],
    "feddro/figure_1": ["8 clients", "b=16", "rare class 20", "beta=0.5", "weight=1", "I=1"],
    "feddro/figure_2": ["8 clients", "b=16", "rare class 20", "beta=0.5", "eta=0.1", "I=1", "I=4", "I=16"],
    "feddro/figure_3": ["8 clients", "b=16", "rare class 20", "beta=0.5", "weight=1", "eta=0.1", "I=16"],
    "feddro/figure_5": ["b=16", "eta=0.1", "1 clients", "2 clients", "3 clients", "4 clients"],
    "local_scgdm/figure_1": ["800 steps", "unseen=100", "eta=0.01", "p=5"],
    "local_scgdm/figure_2": ["800 steps", "unseen=100", "eta=0.01", "gamma=0.7", "gamma=0.9", "gamma=1", "alpha=0.8",
                        "alpha=1", "p=5", "dim=121"],
    "local_scgdm/figure_3": ["800 steps", "gamma=0.3", "gamma=0.5", "gamma=0.7", "gamma=0.9", "alpha=0.8"],
    "local_scgdm/figure_4": ["800 steps", "p=1", "p=5", "p=10", "p=20", "gamma=0.7", "alpha=0.8"],
    "local_scgdm/figure_5": ["800 steps", "alpha=0.5", "alpha=0.7", "alpha=0.8", "alpha=0.9", "gamma=0.7"],
    "local_scgdm/figure_6": ["40 steps", "drawn=1", "shots=1", "shots=5", "ways=5", "eta=0.1", "gamma=0.99", "gamma=1",
                        "alpha=0.9", "alpha=1"],
    "local_scgdm/figure_7": ["40 steps", "drawn=1", "ways=20"],
    "meta_fl/figure_1": ["20 clients", "40 images", "10 test images", "hidden 16", "30 rounds", "tau=4", "nu=3", "alpha=0.01", "m=4"],
}  # fmt: skip
"""What the page of a figure says of its default size, in its differences and its title, read there once more."""
_CHARACTERS = ["5000 steps", "drawn=4"]
"""Of Omniglot, with the network of four layers of 64 filters: 640 numbers, three times 36928, 512 of the norms, and the last layer's."""
_LONG_SINES = ["20000 steps", "unseen=600"]
FULL = {
    "comfedl/figure_2": ["500 rounds", "tau=1", "tau=5", "tau=10", "gamma=0.1", "gamma=0.2", "gamma=2", "gamma=5"],
    "comfedl/figure_3": ["500 rounds", "eta=0.01", "gamma=0.08", "q=0.2"],
    "comfedl/figure_4": ["400 rounds", "dim=28394", "lam=0.1"],
    "comfedl/figure_5": ["400 rounds", "eta=0.05", "tau=1", "tau=3", "tau=5"],
    "comfedl/figure_6": ["400 rounds", "eta=0.05"],
    "comfedl/figure_7": ["400 rounds", "eta=0.05", "level=0"],
    "comfedl/figure_8": ["400 rounds", "eta in 0.01", "level=0"],
    "fcsg/figure_1": ["10000 steps", "test=50000"],
    "fcsg/figure_2": [*_CHARACTERS, "dim=112261", "b=4", "q=5", "p=5", "alpha in 0.1 0.05 0.01", "eta in 0.1 0.05 0.01",
                      "alpha in 0.1 0.5 0.9", "beta in 0.1 0.5 0.9", "gamma in 0.1 0.5 0.9"],
    "fcsg/figure_3": [*_CHARACTERS, "shots=5", "m=5", "b=4", "beta in 0.1 0.5 0.9"],
    "fcsg/table_2": ["8 clients", "q=10", "b=2", "m=16", "b=34", "prox=0.002", "4000 steps", "stage=800"],
    "feddro/figure_1": ["eta in 0.001 0.01 0.05 0.1"],
    "feddro/figure_2": ["I=1", "I=4", "I=16", "I=32", "I=64", "eta=0.1"],
    "feddro/figure_3": ["I=1", "I=4", "I=16", "I=32", "I=64"],
    "local_scgdm/figure_1": _LONG_SINES,
    "local_scgdm/figure_2": _LONG_SINES,
    "local_scgdm/figure_3": _LONG_SINES,
    "local_scgdm/figure_4": _LONG_SINES,
    "local_scgdm/figure_5": _LONG_SINES,
    "local_scgdm/figure_6": [*_CHARACTERS, "dim=112261"],
    "local_scgdm/figure_7": [*_CHARACTERS, "dim=113236"],
    "meta_fl/figure_1": ["50 clients", "hidden 80 60", "500 rounds", "beta in 0.001", "eta in 0.001"],
}  # fmt: skip
"""The same of `--full`."""


@pytest.mark.parametrize("name", slow_but(QUICK, DEFAULT))
def test_the_default_sizes_are_those_of_the_page(name):
    assert {*DEFAULT[name]} - plan(name).words == set()


@pytest.mark.parametrize("name", FULL)
def test_the_full_sizes_are_those_of_the_page(name):
    assert {*FULL[name]} - plan(name, full=True).words == set()


OF_FILES = {
    "comfedl/figure_3": ["5000 images", "20 images", "10 clients"],
    "comfedl/figure_4": ["1000 images", "200 test images"],
    "feddro/figure_1": ["rare class 100", "8 clients"],
    "meta_fl/figure_1": ["50 clients", "800 images", "200 test images"],
}
"""The sizes that `--full` has with a folder of data, as the papers give them."""


@pytest.mark.parametrize("name", OF_FILES)
def test_the_papers_sizes_are_taken_where_there_are_as_many_images(name):
    assert {*OF_FILES[name]} - plan(name, full=True, data=MANY).words == set()


def test_a_step_that_the_page_names_for_all_curves_is_the_one_that_they_take():
    told = 0
    for name in sorted(QUICK):
        planned = plan(name)
        if (eta := planned.made.chosen.get("eta")) is not None:
            assert {each.method.eta for each in planned.curves} == {eta}, name
            told += 1
    assert told >= 4


CHANGES = {
    "comfedl: with the best step size": ["eta in 0.03 0.1 0.3 1", "eta in 0.00015 0.0005 0.0015 0.005", "gamma=0.08", "q=0.2"],
    "comfedl: with rho = 0.91": ["rho=0.91", "eta in 0.05 0.2 0.8"],
    "meta_fl: with the Dirichlet parameter 0.3": ["20 clients"],
    "feddro: with batches of 2 instead of 16": ["b=2"],
    "feddro: with 5 images of each rare class": ["rare class 5", "b=16"],
    "local_scgdm: with the step 0.02": ["eta=0.02", "gamma=0.9", "alpha=1"],
    "local_scgdm: with the step 0.05 instead of 0.01": ["eta=0.05", "800 steps"],
    "local_scgdm: with twice as many steps": ["eta=0.01", "1600 steps"],
}  # fmt: skip
"""What a control says that it changes, and the numbers that this means."""


@pytest.mark.parametrize("change", CHANGES)
def test_a_control_changes_what_it_says(change):
    """In every run that is made for it."""
    key, _, words = change.partition(": ")
    runs = {
        control.measure: name
        for name, figure in RUN.items()
        for control in figure.controls
        if name.startswith(f"{key}/") and control.change.startswith(words)
    }
    assert runs
    for measure, name in runs.items():
        assert {*CHANGES[change]} - plan(name, measure).words == set(), name


def test_every_control_is_listed_above():
    for key, change in CONTROLS:
        assert any(f"{key}: {change}".startswith(each) for each in (*CHANGES, "fcsg: with normal noise")), change


def test_noise_on_every_pixel_is_of_deviation_one_half():
    _, control = CONTROLS["fcsg", next(change for _, change in CONTROLS if "normal noise" in change)]
    noisy, plain = (plan("fcsg/table_2", measure).curves[0].problem.parts for measure in (control.measure, None))
    for split in ("train", "test"):
        moved = getattr(noisy, split).inputs - getattr(plain, split).inputs
        assert float(moved.std()) == pytest.approx(0.5, rel=0.05) and abs(float(moved.mean())) < 0.02


def test_dirichlet_shares_of_three_tenths_give_agents_several_classes():
    _, control = CONTROLS["meta_fl", next(change for _, change in CONTROLS if "Dirichlet" in change)]
    mixed, plain = (
        plan("meta_fl/figure_1", measure).curves[0].problem.parts.train for measure in (control.measure, None)
    )
    numbers = [
        [len(set(row[:n].tolist())) for row, n in zip(of.targets, of.counts.tolist(), strict=True)]
        for of in (mixed, plain)
    ]
    assert np.mean(numbers[0]) > 3 and np.mean(numbers[1]) < 2


def test_tuning_asks_for_the_metric_of_the_figure_and_the_right_end_of_it():
    """The larger accuracy, the smaller loss; on runs that are no longer than those of the figure."""
    for name in (
        "comfedl/figure_8",
        "fcsg/figure_1",
        "fcsg/figure_2",
        "fcsg/table_2",
        "feddro/figure_3",
        "meta_fl/figure_1",
    ):
        planned = plan(name)
        assert planned.tunings
        for each in planned.tunings:
            assert each.larger == ("loss" not in each.metric)
            assert 20 <= each.T <= max(run.T for run in planned.curves)


def test_negative_and_positive_classes_are_dealt_out_alike():
    """Of the positive classes a fifth is kept, and every client has as many as any other."""
    (parts,) = {id(e.problem.parts): e.problem.parts for e in plan("fcsg/table_2").curves if e.name == "FCSG"}.values()
    labels = [row[:n] for row, n in zip(parts.train.targets, parts.train.counts.tolist(), strict=True)]
    positive, negative = ([int((own == sign).sum()) for own in labels] for sign in (1, 0))
    assert max(positive) == min(positive) and max(negative) == min(negative)
    assert sum(positive) / sum(negative) == pytest.approx(0.2, abs=0.01)
    held = torch.cat([row[:n] for row, n in zip(parts.test.targets, parts.test.counts.tolist(), strict=True)])
    assert 0.4 < float(held.double().mean()) < 0.6


def test_the_swing_of_an_accuracy_is_its_mean_move_in_the_second_half():
    from fedco.validation.papers.fcsg.experiments import with_swing

    values = np.array([[0.0, 9.0, 0.1, 0.3, 0.2, 0.2], [5.0, 5.0, 1.0, 1.0, 1.0, 0.4]])
    made = with_swing(Measured("p", "n", range(6), {"accuracy": values}, "rounds"))
    np.testing.assert_allclose(made.values["swing of accuracy"], [[0.05] * 6, [0.3] * 6])
    assert made.values["accuracy"] is values and (made.panel, made.name, made.over) == ("p", "n", "rounds")


def test_fitted_curves_have_their_mean_squared_error():
    """Beside the sine itself, which is off by nothing, on the interval of the data."""
    made = plan("local_scgdm/figure_1", seeds=2).made
    truth = made.curves[-1]
    inputs = np.array(truth.times)
    assert inputs[0] == -5 and inputs[-1] == 5
    np.testing.assert_allclose(truth.values["value"], [2.5 * np.sin(inputs + 1.5 * math.pi / 5)] * 2)
    assert not truth.values["squared error"].any()
    for curve in made.curves[:-1]:
        error = ((curve.values["value"] - truth.values["value"]) ** 2).mean(1, keepdims=True)
        np.testing.assert_allclose(curve.values["squared error"], np.repeat(error, len(inputs), axis=1))


def test_characters_are_dealt_out_to_train_and_to_test():
    """FCSG: at random, 1028 and 423 of 1623 to train and test. Local-SCGDM: whole alphabets, 33 and 12 of 50, turned four times."""
    (problem,) = {e.problem for e in plan("fcsg/figure_2").curves}
    owned, held = [set(rows.tolist()) for rows in problem.owned], set(problem.held.tolist())
    assert len(held) == 40 * 423 // 1623 and sum(map(len, owned)) == 40 * 1028 // 1623
    assert len(owned) == 5 and all(not own & held and len(own) == 5 for own in owned)
    assert len(set().union(*owned)) == 25
    problem = plan("local_scgdm/figure_6").curves[0].problem
    assert [rows.tolist() for rows in problem.owned] == [[*range(40)], [*range(40, 80)]]
    assert problem.held.tolist() == [*range(160)][-40:]


def test_the_exponential_is_divided_by_its_level_except_where_the_page_says_as_it_stands():
    """Figures 7 and 8, by default and in full."""

    def levels(name, **options) -> list[float]:
        return [each.problem.level for each in plan(name, **options).curves if hasattr(each.problem, "level")]

    for name in ("comfedl/figure_7", "comfedl/figure_8"):
        found, full = levels(name), levels(name, full=True)
        assert found and all(level > 1 for level in found) and not any(full)


def test_a_figure_of_a_linear_model_has_it_at_full_size_too():
    sizes = [
        {each.problem.dim for each in plan("feddro/figure_5", **options).curves} for options in ({}, {"full": True})
    ]
    assert sizes[0] == sizes[1] and len(sizes[0]) == 1


def test_methods_without_an_inner_batch_see_as_many_samples_in_a_step():
    """One outer sample and m inner ones for each of b: b (m + 1) for those that have only b."""
    seen = [each.method.hyperparameters() for each in plan("fcsg/table_2").curves]
    nested, plain = ([h for h in seen if bool(h.get("m")) is has] for has in (True, False))
    assert nested and len(plain) >= 2
    assert {h["b"] * (h["m"] + 1) for h in nested} == {h["b"] for h in plain}
