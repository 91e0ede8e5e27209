"""What the exact check refuses, guard by guard; and the laws of noise by their definitions."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction as Q
from itertools import product
from types import SimpleNamespace
from typing import Any

import fedco
import numpy as np
import pytest
import sympy as sp
import torch
from families import BOWLS, CLAIMED, THEOREM, federated, varied
from families import BOWLS as META
from fedco.algorithms import MetaFL
from fedco.bounds.language.change import Change
from fedco.bounds.registry import get_theorem
from fedco.errors import InputError
from fedco.validation.exact.draws import Chosen, Columns, EveryPath, choices, laid_out, masks
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.long_run import Counted
from fedco.validation.exact.problem import exact_problem
from fedco.validation.exact.rounds import RandomRound, kept_interval, random_round
from fedco.validation.exact.run import CannotReplay, Walk, as_long_as, scalar
from fedco.validation.exact.statistic import Statistic
from fedco.validation.falsifier import attack, each_term, search
from fedco.validation.falsifier import confirm as module
from fedco.validation.falsifier.bundle import recompute
from fedco.validation.falsifier.confirm import Claimed, Confirmed, NotConfirmed, confirm
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.exact_run import ExactRun
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.laws import FOREVER, MOMENTS, law_of
from fedco.validation.falsifier.lemma import balanced, rows_of
from fedco.validation.falsifier.long_run import floor_of
from fedco.validation.falsifier.noise import SignTable, extremes, moments, paths
from fedco.validation.falsifier.rounding import Draft, drafts, settle
from fedco.validation.falsifier.search_space import INADMISSIBLE, Candidate
from fedco.validation.falsifier.search_spaces import search_spaces
from fedco.validation.runs.bundle import BundleError
from fedco.validation.runs.method_of import value_of
from searching import attacked, replayed, spaces_of, targeted, violation_of
from small_theorems import symbols

SGD, THEOREM_8 = (target_of(get_theorem(name), "printed") for name in ("baselines.local_sgd", "meta_fl.theorem_8"))


def shaped(**hyperparameters: Q) -> list[str]:
    return module.check_shape(THEOREM_8, Claimed(META, {}, hyperparameters), exact_problem(META))


def test_hyperparameters_that_the_instance_has_itself_are_its_own():
    assert shaped() and shaped(alpha=Q(1, 3), nu=Q(2), n=Q(2), r=Q(1)) == shaped(n=Q(6), r=Q(1)) == shaped()
    for given, said in (
        ({"alpha": Q(1, 4)}, "alpha: the instance has 1/3, got 1/4"),
        ({"nu": Q(1)}, "nu: the instance has 2, got 1"),
        ({"n": Q(3)}, "n: wanted a multiple of 2 clients, got 3"),
        ({"n": Q(1)}, "n: wanted a multiple of 2 clients, got 1"),
    ):
        with pytest.raises(ValueError, match=said):
            shaped(**given)


def test_a_part_of_the_clients_is_a_whole_number_of_them_and_no_group():
    assert shaped(n=Q(2), r=Q(1, 2))
    with pytest.raises(ValueError, match="wanted 2 where a part of them takes part, got 4"):
        shaped(n=Q(4), r=Q(1, 2))
    with pytest.raises(ValueError, match="wanted 2 where a part of them takes part, got None"):
        shaped(r=Q(1, 2))
    for share in (Q(1, 4), Q(0), Q(2), Q(-1, 2), Q(3, 2)):
        with pytest.raises(ValueError, match=f"whole number of 2 clients, got {share} of them"):
            shaped(n=Q(2), r=share)
    shares = [ExactRun(THEOREM_8, exact_problem(META), {"r": (r, r)}) for r in (Q(1, 2), Q(1))]
    assert [run.taking_part for run in shares] == [1, 2] and ExactRun(SGD, exact_problem(META), {}).taking_part == 2


def test_constants_are_at_least_those_of_the_instance(monkeypatch):
    grows = {"by": 1}
    monkeypatch.setattr(module, "_right", lambda target, claimed: (grows["by"] * claimed.constants["F_gap"],) * 2)
    monkeypatch.setattr(module, "_completed", lambda target, stated, claimed: {})
    names = {b.quantity.name: name for name, b in SGD.symbols.items() if b.quantity.role == "constant"}
    problem: Any = SimpleNamespace(constants=lambda: dict.fromkeys(names, Q(2)))

    def check(**constants: Q) -> list[str]:
        return module.check_constants(SGD, Claimed(META, constants, {}), problem)

    true = dict.fromkeys(names.values(), Q(2))
    assert len(check(**true)) == 1
    for name in true:
        assert check(**{**true, name: Q(3)})
        with pytest.raises(ValueError, match=f"^{name}: declared 19/10, the instance has 2"):
            check(**{**true, name: Q(19, 10)})
        with pytest.raises(ValueError, match="constants: wanted"):
            check(**{n: v for n, v in true.items() if n != name})
    with pytest.raises(ValueError, match="constants: wanted"):
        check(**true, extra=Q(1))
    for by, is_refused in ((0, False), (-1, True)):  # a bound that falls with the gap
        grows["by"] = by
        assert check(**true)  # the gap itself may be declared whatever the bound does
        if is_refused:
            with pytest.raises(ValueError, match="F_gap: declared larger than it is, and the bound does not grow"):
                check(**{**true, "F_gap": Q(3)})
        else:
            assert check(**{**true, "F_gap": Q(3)})
        assert check(**{**true, "L": Q(3)})


# Gradient descent with step size 1 on F' = x/2 beyond -5 and x up to 0, from -10: F(x_0) - F_* is 43.75 and D = 10.
SLOWER = federated([[Q(-10), Q(-5), Q(0)]], [[Q(-15, 2), Q(-5), Q(0)]], Q(-10))
DESCENT = {
    "id": "mine.descent",
    "metric": "last_distance_sq",
    "assume": ["deterministic", "convex"],
    "symbols": symbols("L_bar F_gap D eta T"),
    "terms": {"start": "(1 - L_bar*eta)**(2*T)*D**2"},
    "conditions": {"step_size": "eta <= 1/L_bar", "gap": "F_gap == L_bar*D**2/2"},
    "method": {"name": "minibatch_sgd", "eta": "eta", "b": 1},
}


def test_a_gap_that_a_condition_speaks_of_is_the_one_that_the_instance_has():
    """The statement is true: the equality forces F' = L (x - x_*) on the way. A true theorem was refuted with a gap declared larger."""
    target = target_of(fedco.define(**DESCENT), "printed")
    given = {"eta": Q(1), "T": Q(1)}
    with pytest.raises(NotConfirmed, match="gap"):
        confirm(target, Claimed(SLOWER, {"L_bar": Q(1), "F_gap": Q(50), "D": Q(10)}, given))
    symbols = {name: meaning for name, meaning in DESCENT["symbols"].items() if name != "F_gap"}
    without = {**DESCENT, "symbols": symbols, "conditions": {"step_size": "eta <= 1/L_bar"}}
    found = confirm(target_of(fedco.define(**without), "printed"), Claimed(SLOWER, {"L_bar": Q(1), "D": Q(10)}, given))
    assert found.left[0] == Q(25, 4) and found.right[1] == 0


def test_a_gap_that_sets_the_step_size_is_the_one_that_the_instance_has():
    chosen = "2*F_gap/(L_bar**2*D**2)"
    given = {"L_bar": Q(1), "F_gap": Q(50), "D": Q(10)}
    asked = {**DESCENT, "conditions": {"step_size": f"eta == {chosen}"}}
    with pytest.raises(NotConfirmed, match=r"step_size fails .*wanted == 0.875, got 1"):
        confirm(target_of(fedco.define(**asked), "printed"), Claimed(SLOWER, given, {"eta": Q(1), "T": Q(1)}))
    scheduled = {**DESCENT, "conditions": {"step_size": "eta <= 1/L_bar"}, "schedule": {"eta": chosen}}
    with pytest.raises(NotConfirmed, match="F_gap: declared larger than it is, and eta depends on it"):
        confirm(target_of(fedco.define(**scheduled), "printed"), Claimed(SLOWER, given, {"T": Q(1)}))


def test_gaps_are_compared_all_together(monkeypatch):
    """A bound that is small where either of two gaps is declared larger, and large with both as they are."""
    target = target_of(fedco.define(**DESCENT), "printed")
    names = {b.quantity.name: name for name, b in target.symbols.items() if b.quantity.role == "constant"}
    problem: Any = SimpleNamespace(constants=lambda: dict.fromkeys(names, Q(2)))
    monkeypatch.setattr(module, "_completed", lambda target, stated, claimed: {})
    monkeypatch.setattr(module, "_right", lambda _, made: (Q(made.constants["F_gap"] == 2 == made.constants["D"]),) * 2)
    for gap, distance in ((3, 2), (2, 3), (3, 3)):
        with pytest.raises(ValueError, match="declared larger than it is, and the bound does not grow"):
            module.check_constants(
                target, Claimed(SLOWER, {"L_bar": Q(2), "F_gap": Q(gap), "D": Q(distance)}, {}), problem
            )
    assert module.check_constants(target, Claimed(SLOWER, dict.fromkeys(names.values(), Q(2)), {}), problem)


def test_a_constant_is_no_hyperparameter():
    """Of a name that was both, the constant was checked and the hyperparameter put into the bound: a proved theorem was refuted."""
    with pytest.raises(ValueError, match="F_gap: it is a constant"):
        Claimed(SLOWER, {"F_gap": Q(50)}, {"F_gap": Q(1, 100)})


def test_what_an_equality_says_of_a_constant_is_declared_of_it():
    target, formula = targeted(fedco.define(**DESCENT))
    nearly = {**SLOWER.parameters, "slopes": [[Q(-10) + Q(1, 10**10), Q(-5), Q(0)]]}  # the equality holds in doubles
    draft = Draft("federated", nearly, {}, {"eta": Q(1), "T": Q(1)}, Q(1), Q(1, 10**15), False)
    made = settle(target, formula, draft)
    assert made.constants["F_gap"] == 50 and "F_gap" not in made.hyperparameters
    with pytest.raises(NotConfirmed):
        confirm(target, made)


def test_a_violation_is_certainly_above_the_bound(monkeypatch):
    """Its lower end above the upper one of the bound: equal sides are none."""

    def sides_of(left, right):
        made = Confirmed(Claimed(META, {}, {}), left, right)
        monkeypatch.setattr(module, "sides", lambda target, claimed: made)
        return made

    for left, right, ratio in (((1, 9), (0, 1), 1.0), ((Q(1, 2), 9), (0, 2), 0.25), ((-1, 2), (0, 4), -0.25)):
        sides_of(tuple(map(Q, left)), tuple(map(Q, right)))
        with pytest.raises(NotConfirmed, match=r"the bound holds") as refused:
            confirm(SGD, Claimed(META, {}, {}))
        assert refused.value.ratio == ratio
    made = sides_of((Q(5), Q(9)), (Q(1), Q(4)))
    assert confirm(SGD, made.claimed) is made and made.ratio == 1.25
    for upper in (Q(0), Q(-1)):
        assert replace(made, right=(Q(-2), upper)).ratio == float("inf")
    assert NotConfirmed("x").ratio is None


def test_an_endless_run_is_of_whole_rounds_from_their_first_steps():

    def run(target, steps: int) -> ExactRun:
        point = {"p": (Q(3), Q(3)), "T": (Q(steps), Q(steps))}
        return ExactRun(target, exact_problem(META), point, (Q(1), Q(1)))

    run(SGD, 6).check()
    for target, steps in ((SGD, 7), (SGD, 8), (replace(SGD, average="after"), 6)):
        with pytest.raises(CannotReplay, match="whole rounds"):
            run(target, steps).check()


def test_what_a_method_is_built_from():
    """Whole numbers as such, the clients of the instance, everything else as one exact number."""
    problem = exact_problem(META)
    point = {name: (Q(7), Q(7)) for name in THEOREM_8.symbols} | {"r": (Q(1, 2), Q(1, 2)), "beta": (Q(1, 9), Q(1, 9))}
    run = ExactRun(THEOREM_8, problem, point)
    whole, handed = run.whole, run.handed
    assert whole == dict.fromkeys(("nu", "D", "D_H", "tau", "n", "K"), 7)
    assert all(isinstance(value, int) for value in whole.values())
    assert handed["n"] == 2 and handed["tau"] == 7 and handed["r"] == Q(1, 2)
    assert handed["beta"].numbers.item() == Q(1, 9) and set(handed) == set(point)
    for bad in ((Q(7, 2), Q(7, 2)), (Q(7), Q(8))):
        with pytest.raises(ValueError, match="K: wanted a whole number, got"):
            _ = ExactRun(THEOREM_8, problem, {**point, "K": bad}).handed


WELL = federated([[Q(-8), Q(8)]], [[Q(-8), Q(8)]])


def test_an_endless_run_starts_within_its_interval_ends_included():
    """F' = x and steps of 1/2: every round of two keeps [-c, c]."""
    point = {"eta": (Q(1, 2),) * 2, "p": (Q(2),) * 2, "b": (Q(1),) * 2, "N": (Q(1),) * 2, "T": (Q(4),) * 2}

    def left(start: Q, interval, target=SGD, **more: Any) -> Any:
        problem = exact_problem(varied(WELL, start=start))
        run = ExactRun(target, problem, {**point, **more}, interval)
        run.check()
        return law_of(run).left_side(run)

    for start in (Q(-1), Q(0), Q(1)):
        assert left(start, (Q(-1), Q(1)))[1] == Q(5, 8)  # 1 and 1/4 at most
    for start in (Q(-11, 10), Q(11, 10)):
        with pytest.raises(CannotReplay, match="the start is not in the interval"):
            left(start, (Q(-1), Q(1)))
    # without an interval: 1, 1/2, 1/4, 1/8 from 1
    assert left(Q(1), None) == ((1 + Q(1, 4) + Q(1, 16) + Q(1, 64)) / 4,) * 2
    every = replace(SGD, every=lambda values: values["p"])
    assert left(Q(1), None, every) == ((1 + Q(1, 16)) / 2,) * 2
    with pytest.raises(CannotReplay, match="one of whole rounds"):
        left(Q(1), None, every, T=(Q(5),) * 2)


# --- from doubles to fractions, and what is written ------------------------------------------------------------------------------


def candidate(**changes: Any) -> Candidate:
    parameters = {"knots": np.array([[-8.0, 8.0]]), "slopes": np.array([[-8.0, 8.0]]), "gradient_noise": np.zeros(1)}
    values = {"eta": 1 / 3 + 1e-9, "p": 2.0, "b": 1.0, "N": 2 * FOREVER, "T": 16.0 + 1e-9}
    return Candidate({**parameters, "start": np.float64(2 / 7 + 1e-12)}, {**values, **changes}, 0.5, False, None)


def test_a_candidate_is_drafted_in_short_fractions_and_then_as_it_is():
    """Within a millionth; whole numbers are whole, infinitely many clients a multiple of 10^60."""
    formula = Formula(SGD.theorem, "printed")
    short, exact = drafts(SGD, formula, candidate(), {"nu": 3})
    assert short.free == {"eta": Q(1, 3), "p": 2, "b": 1, "N": 2 * 10**60, "T": 16}
    assert short.parameters["start"] == Q(2, 7) and short.parameters["knots"] == [[-8, 8]]
    assert exact.free["eta"] == Q(1 / 3 + 1e-9) and exact.parameters["start"] == Q(2 / 7 + 1e-12)
    for made in (short, exact):
        assert (made.kind, made.settings, made.stays, made.place) == ("federated", {"nu": 3}, False, None)
        assert made.parameters["gradient_noise"] == [0] and made.tiny == Q(1, 10**15) and 0.99 < made.play < 1
    wide = next(iter(drafts(SGD, formula, candidate(eta=0.25 * (1 + 2e-6)), {})))
    assert wide.free["eta"] != Q(1, 4) and abs(wide.free["eta"] / Q(0.25 * (1 + 2e-6)) - 1) <= Q(1, 10**6)


def test_a_settled_draft_declares_the_constants_of_its_instance():
    """What is 0 is declared as tiny, what a condition sets larger is larger; the step is just below its limit or the wanted one."""
    plain_target = SGD, Formula(SGD.theorem, "printed")
    (made, _), names = drafts(*plain_target, candidate(), {}), {"L": Q(1), "F_gap": Q(2, 49)}
    made = replace(made, free={**made.free, "N": Q(1)})
    claimed = settle(*plain_target, made)
    assert {n: claimed.constants[n] for n in names} == names and claimed.constants["sigma"] == made.tiny
    limit = SGD.theorem.admissible("eta", "printed", L=1, p=2, b=1, N=1, T=16).intervals["eta"].upper
    top = min(Q(float(limit)), made.free["eta"])
    step = claimed.hyperparameters["eta"]
    assert top * made.play <= step < top and step.denominator < 2000
    assert claimed.place is None and claimed.interval is None
    small = settle(*plain_target, replace(made, free={**made.free, "eta": Q(1, 1000)}))
    assert Q(999, 10**6) <= small.hyperparameters["eta"] < Q(1, 1000)
    larger, smaller = (target_of(SGD.theorem, "printed", where=(text,)) for text in ("sigma = 5", "L = 1/2"))
    assert settle(larger, Formula(larger.theorem, "printed"), made).constants == {**claimed.constants, "sigma": Q(5)}
    with pytest.raises(NotConfirmed, match="eta: no admissible value"):
        settle(smaller, Formula(smaller.theorem, "printed"), made)
    flat = varied(made, slopes=[[Q(1), Q(1)]])
    with pytest.raises(NotConfirmed, match="unbounded"):
        settle(*plain_target, flat)


def test_the_file_of_a_refutation_is_named_after_what_was_attacked(tmp_path, monkeypatch):
    monkeypatch.setattr(attack, "write", lambda bundle, path: path.name)
    own = "baselines.local_sgd.printed"
    for target, name in (
        (SGD, own),
        (replace(SGD, change=Change("drift", "dropped")), f"{own}.drift_dropped"),
        (replace(SGD, more=("one_outer_function", "no_extra_term")), f"{own}.one_outer_function.no_extra_term"),
    ):
        assert attack._written(None, target, tmp_path) == f"{name}.falsified.json"  # type: ignore[arg-type]
    parts = [attack._written(None, replace(SGD, where=where), tmp_path) for where in (("a", "b"), ("b", "a"), ("a",))]  # type: ignore[arg-type]
    assert parts[0] == parts[1] != parts[2] and all(
        re.fullmatch(own + r"\.where_\w{8}\.falsified\.json", p) for p in parts
    )


# --- a lemma along a run -----------------------------------------------------------------------------------------------------------


def test_a_statement_between_communications_speaks_of_no_end_of_a_round_and_of_no_step_after_one():
    left = np.arange(6.0)[:, None]
    link: Any = SimpleNamespace(
        left=lambda trace: left,
        observables={"z": lambda trace: np.array([1.0, 2.0])},
        keeps=None,
        between=("inner",),
        ends_round=lambda trace, rows: [(t + 1) % trace.period == 0 for t in range(rows)],
    )

    def kept(label: str, period: int = 3, **changes: Any) -> list[int]:
        found, seen, keep = rows_of(SimpleNamespace(**{**vars(link), **changes}), label, SimpleNamespace(period=period))  # type: ignore[arg-type]
        assert found is left and seen["z"].tolist() == [[1.0, 2.0]]
        return np.flatnonzero(keep).tolist()

    assert kept("printed") == [0, 1, 2, 3, 4, 5] and kept("inner") == [0, 1, 4]
    assert kept("inner", period=1) == [] and kept("inner", period=7) == [0, 1, 2, 3, 4, 5]
    odd = {"keeps": lambda trace, rows: [t % 2 == 1 for t in range(rows)]}
    assert kept("printed", **odd) == [1, 3, 5] and kept("inner", **odd) == [1]
    assert kept("inner", ends_round=None) == [0, 1, 2, 3, 4, 5]


def test_both_sides_are_sums_of_positive_parts():
    for left, terms, sides in (
        (3, [1, 2], (3, 3)),
        (-3, [1, 2], (0, 6)),
        (3, [-1, 2], (4, 2)),
        (-3, [-1, -2], (3, 3)),
        (0, [], (0, 0)),
    ):
        assert balanced(Q(left), [Q(t) for t in terms], max) == sides


def along_a_run(name: str) -> tuple[Any, Claimed]:
    """An instance at random of a lemma, at the row of a run where it is worst."""
    target, formula = targeted(name)
    search_space = search_spaces(target, formula)[0]
    points = np.random.default_rng(0).random((16, search_space.size))
    candidate = search_space.candidate(points[int(search_space.score(points).argmax())])
    return target, settle(target, formula, next(drafts(target, formula, candidate, search_space.settings)))


def test_both_sides_of_a_lemma_are_enclosed_and_its_place_is_a_row_of_a_short_run():
    target, claimed = along_a_run("fcsg_m.lemma_c_1")  # whose coefficients and observables move parts to either side
    found = module.sides(target, claimed)
    for low, high in (found.left, found.right):
        assert 0 < low < high < low * (1 + Q(1, 2**80))
    rows = claimed.place.steps
    for place, said in (
        (None, "the row of the run"),
        (replace(claimed.place, row=rows), f"row {rows} of {rows}"),
        (replace(claimed.place, row=-1), f"row -1 of {rows}"),
        (replace(claimed.place, steps=257), "257 steps: wanted at most 256"),
    ):
        with pytest.raises(NotConfirmed, match=said):
            module.sides(target, replace(claimed, place=place))


def test_a_lemma_of_a_whole_run_has_as_many_steps_as_a_run_may_have():
    target, claimed = along_a_run("fcsg.lemma_b_1")
    assert module.sides(target, claimed)
    for steps in (4097, 10**6):
        long = replace(claimed, hyperparameters={**claimed.hyperparameters, "T": Q(steps)})
        with pytest.raises(NotConfirmed, match=f"{steps} steps: wanted at most 4096"):
            module.sides(target, long)


def test_a_loss_that_falls_without_end_has_no_least_value():
    """Far to the left its slope is that at the first knot, far to the right that at the last one; 0 is no fall."""
    problem: Any = exact_problem(META)
    ends = [problem.slope_number(0, t) - META.parameters["tilt"][0] for t in (Q(-90), Q(90))]
    assert ends[1] - ends[0] == 150  # the area of the Hessian
    for tilt, is_bounded in (
        (-ends[0], True), (-ends[0] + Q(1, 2), False), (-ends[0] + 200, False),
        (-ends[1], True), (-ends[1] - Q(1, 2), False), (-ends[1] - 200, False), (-sum(ends) / 2, True),
    ):  # fmt: skip
        for tilts in ([tilt, -sum(ends) / 2], [-sum(ends) / 2, tilt]):
            made: Any = exact_problem(varied(META, tilt=tilts))
            if is_bounded:
                assert made.constants()["objective_gap"] > 0
            else:
                with pytest.raises(ValueError, match="unbounded below"):
                    made.constants()


# --- searches that follow each other -----------------------------------------------------------------------------------------------


def test_values_of_a_hidden_constant_are_searched_up_to_the_first_that_survives(monkeypatch, tmp_path):
    asked = []

    def search(theorem, statement, **more):
        asked.append(more)
        return SimpleNamespace(refuted=more["hidden"] < 5, outcome="", ratio=0.0, path=None, to_dict=dict)

    monkeypatch.setattr(attack, "falsify", search)
    theorem = THEOREM_8.theorem
    found = attack.any_value(
        theorem, seconds=2.0, seed=3, where=("nu=1",), assume=("x",), out=tmp_path, values=(1, 2.5, 10, 100)
    )
    assert list(found.searches) == [1, 2.5, 10] and found.refuted == [1, 2.5]
    assert [more["out"] for more in asked] == [tmp_path / f"hidden_{value}" for value in ("1", "2.5", "10")]
    assert {(more["seconds"], more["seed"], more["where"], more["assume"]) for more in asked} == {
        (2.0, 3, ("nu=1",), ("x",))
    }
    assert found.to_dict()["refuted_up_to"] == 2.5 and [row["value"] for row in found.to_dict()["sequence"]] == [
        1,
        2.5,
        10,
    ]
    assert attack.any_value(theorem, values=(1,)).refuted == [1] and asked[-1] == {"hidden": 1, "out": None}
    assert attack.any_value(theorem, values=(5,)).to_dict()["refuted_up_to"] is None
    with pytest.raises(InputError, match="hides no constant"):
        attack.any_value(SGD.theorem)


def test_the_hyperparameters_of_a_method_are_sums_products_and_whole_powers():
    x, y = sp.symbols("x y")
    numbers = {"x": Q(2), "y": Q(3)}
    assert value_of(5 * y + 1 / (3 * x**2) - x * y, numbers) == 15 + Q(1, 12) - 6
    assert value_of(x**3 / y, numbers) == Q(8, 3) and value_of(sp.Rational(1, 3), {}) == Q(1, 3)
    found = value_of(y + sp.Rational(1, 4) / x, {"x": np.array([2.0, 4.0]), "y": Q(1, 2)})
    assert found.tolist() == [0.625, 0.5625]
    for bad, said in (
        (sp.sqrt(x), "whole powers"),
        (sp.exp(x), "whole powers"),
        (x + sp.Symbol("z"), "z: the method needs it"),
    ):
        with pytest.raises(InputError, match=said):
            value_of(bad, numbers)


def test_a_condition_that_is_not_refuted_is_relaxed_by_nothing():
    name = SGD.theorem.statement("printed").conditions[0].name
    found = SimpleNamespace(refuted=False, ratio=0.5, evaluations=1, seconds=1.0, path=None, found=None)
    part = each_term.relaxed_part(Change(name, "relaxed", Q(4)), found)
    assert (part.verdict, part.relaxed, part.bundle) == ("not shown", None, None)
    assert part.between == "relaxing it by 4 is not refuted"


def test_an_exact_run_is_broken_off_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch):
    target, _ = targeted(THEOREM)
    steps = iter(range(3))
    with as_long_as(lambda: next(steps, None) is None), pytest.raises(NotConfirmed, match="broken off at step 3"):
        confirm(target, CLAIMED)
    monkeypatch.setattr(search, "_CHECK_PART", 0.0)
    monkeypatch.setattr(search, "_SHORTEST_CHECK", -1.0)
    found = attacked(*targeted("comfedl.theorem_1"), seconds=0.05)
    assert found.violation is None and "takes too long: broken off at step 0" in found.refused[0]


# --- laws of noise ----------------------------------------------------------------------------------------------------


def test_which_steps_of_a_round_count():
    assert [t for t in range(-1, 9) if Counted(6, Statistic(every=2, after=False)).at(t)] == [0, 2, 4]
    assert [t for t in range(-1, 9) if Counted(6, Statistic(every=3, after=True)).at(t)] == [3, 6]
    assert [
        Counted(6, Statistic(every=every, after=after)).number for every, after in product((1, 2, 3, 6), (False, True))
    ] == [
        6,
        6,
        3,
        3,
        2,
        2,
        1,
        1,
    ]


def test_what_of_a_gradient_is_nothing_but_rounding():
    """1e-14 of the steepest slope, squared."""
    linear = {"slopes": np.array([[[-3.0, 2.0]]])}
    assert floor_of(linear) == pytest.approx([9e-28], rel=1e-9)
    assert floor_of({**linear, "inner_slope": np.array([[-2.0, 1.0]])}) == pytest.approx([36e-28], rel=1e-9)
    assert floor_of({**linear, "extra_slopes": np.array([[[4.0]]])}) == pytest.approx([49e-28], rel=1e-9)
    meta = {"curvatures": np.array([[[0.0, -2.0]]]), "alpha": np.array([0.5]), "tilt": np.array([[3.0, -1.0]])}
    assert floor_of(meta) == pytest.approx([(1e-14 * 3 * 4) ** 2], rel=1e-9)


def test_lanes_of_moments_and_of_paths_are_expectations():
    """Of (1 + s_1 + 2 s_2 + 3 s_3)^2 over fair signs: 1 + 1 + 4 + 9."""
    for lanes in (moments(3), paths(3)):
        square = (1 + lanes.table @ torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)) ** 2
        assert lanes.expectation(square.numpy()) == pytest.approx([15.0])
        assert float(lanes.weights.sum()) == pytest.approx(1)
    assert len(moments(3)) == 7 and len(paths(3)) == 8 and len({tuple(row) for row in paths(3).table.tolist()}) == 8
    assert extremes(np.array([[2.0, -1.0, 0.0]])).tolist() == [[1, -1, 1], [-1, 1, -1]]


def test_signs_are_numbered_in_the_order_in_which_they_are_asked_for():
    table = SignTable(torch.arange(12.0, dtype=torch.float64).view(1, 12), clients=2)
    assert table.at(0).signs("a", 2).tolist() == [[[0, 1], [2, 3]]]
    assert table.at(1).signs("a").tolist() == [[4, 5]] and table.at(0).signs("a", 2).tolist() == [[[0, 1], [2, 3]]]
    assert table.at(1).signs("b", 3).tolist() == [[[6, 7, 8], [9, 10, 11]]]
    assert not table.at(2).signs("c").any() and table.columns.count == 14
    assert table.at(0).subset("clients", 2).tolist() == [[1, 1]]
    with pytest.raises(ValueError, match="1 of 2 clients"):
        table.subset("clients", 1)
    lanes = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    several = SignTable(lanes, clients=2, instances=2)
    assert several.runs == 4 and several.at(0).signs("a").tolist() == lanes.repeat(2, 1).tolist()
    columns = Columns()
    assert [columns.of(("x",), 3), columns.of(("y",), 2), columns.of(("x",), 3), columns.count] == [0, 3, 0, 5]


def test_each_client_of_a_crowd_follows_every_path_of_its_own():
    draws = EveryPath(2, 2, runs=3)
    first, second = draws.at(0).signs("a"), draws.at(1).signs("a")
    assert first.shape == (3, 8) and {*zip(first[0].tolist(), second[0].tolist(), strict=True)} == {
        *product((-1, 1), repeat=2)
    }
    assert first[0, :4].tolist() == first[0, 4:].tolist() and (first == first[:1]).all()
    with pytest.raises(ValueError, match="more than 2 signs"):
        draws.at(2).signs("a")
    turned = EveryPath(2, 2, turned=5)
    assert (turned.at(0).signs("a")[0] != first[0]).nonzero().flatten().tolist() == [5]
    with pytest.raises(ValueError, match="4 of 8 clients"):
        draws.subset("x", 4)
    assert draws.subset("x", 8).shape == (3, 8)
    out = laid_out(
        {"a": np.array([[1.0, 2.0]]), "k": np.array([[[3.0], [4.0]]]), "s": np.array([5.0])},
        {"a": "client", "k": "knots", "s": "run"},
        1,
    )
    assert (
        out["a"].tolist() == [[1, 1, 2, 2]] and out["k"].tolist() == [[[3], [3], [4], [4]]] and out["s"].tolist() == [5]
    )


def test_choices_of_clients_and_their_masks():
    assert choices(3, 2) == [(1, 1, 0), (1, 0, 1), (0, 1, 1)]
    assert masks(2, 1, 2).tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    chosen = Chosen(masks(3, 2, 1))
    assert chosen.subset("x", 2) is chosen.mask and (chosen.runs, chosen.clients) == (3, 3)
    with pytest.raises(ValueError, match="1 clients are asked for"):
        chosen.subset("x", 1)


def test_a_random_round_stays_within_what_it_says_of_finitely_many():
    """Two choices, run as all paths: the mean of squares over K rounds from 1 is off the endless one by at most `off` / K."""
    move = RandomRound(
        np.array([0.5, -0.25]), np.array([0.2, -0.1]), np.array([[0.3], [-0.7]]), np.array([[1.5], [0.4]])
    )
    square, off = move.mean_square()
    for start in (1.0, -1.0):
        at, weights, total = np.array([start]), np.ones(1), 0.0
        for _ in range(12):
            total += float(weights @ sum(0.5 * (move.d[j, 0] + move.e[j, 0] * at) ** 2 for j in (0, 1)))
            at = np.concatenate([move.a[j] * at + move.b[j] for j in (0, 1)])
            weights = np.concatenate([weights / 2] * 2)
        assert abs(total / 12 - square) <= off / 12
        last = float(weights @ sum(0.5 * (move.d[j, 0] + move.e[j, 0] * at) ** 2 for j in (0, 1)))
        assert last == pytest.approx(square, rel=1e-3)


def test_a_lane_that_overflows_is_left_out_and_its_neighbours_stay_as_they_are():
    """A step size without a limit, in a bowl that grows as a square does: nothing is warned of, and such an instance is none."""
    space = next(
        space
        for space in spaces_of("library.sgd_strongly_convex_gap_declining", where=("sigma == 0",))
        if space.law is MOMENTS and (space.clients, space.horizon) == (1, 64)
    )
    points = np.random.default_rng(0).random((64, space.size))
    parameters, values = space.numbers(points)
    found = space.law.left(space, parameters, values, len(points))
    overflown = ~np.isfinite(found.sides[-1])
    assert 0 < overflown.sum() < len(points) and (found.astray == 1).any() and not np.isnan(found.astray).any()
    scores = space.score(points)
    assert (scores[overflown] < INADMISSIBLE).all() and (scores[~overflown] > INADMISSIBLE).any()
    assert scores[~overflown].tolist() == space.score(points[~overflown]).tolist()


# --- endless runs in which a part of the clients takes part ---


THEOREM_8_OF_META = "meta_fl.theorem_8"
PERIOD, ROUNDS = 3, 5


def method() -> MetaFL:
    return MetaFL(beta=scalar(Q(3, 5)), tau=PERIOD, m=1)


def round_of_bowls():
    problem = exact_problem(BOWLS)
    interval = kept_interval(method(), problem, PERIOD, 1)
    return problem, interval, random_round(method(), problem, PERIOD, interval, 1, 1)


class Listed:
    """The clients of one round after the other."""

    def __init__(self, masks: list[tuple[int, ...]]) -> None:
        self.masks, self.now, self.runs, self.clients, self.seed_indices = masks, 0, 1, 2, (0,)

    def at(self, step: int) -> Listed:
        self.now = step // PERIOD
        return self

    def subset(self, purpose: str, size: int):
        return Chosen(torch.tensor([self.masks[self.now]], dtype=torch.float64)).subset(purpose, size)


def test_closed_moments_are_the_mean_over_every_choice_of_clients() -> None:
    """Five rounds of the method's own code for all 2^5 choices, and the recursion of the moments from the same start."""
    problem, (low, high), found = round_of_bowls()
    total = Q(0)
    for chosen in product(choices(2, 1), repeat=ROUNDS):
        run = Walk(method(), problem, problem.start, Listed(list(chosen)))
        for _ in range(ROUNDS * PERIOD):
            total += problem.gradient_at(run.average) ** 2
            run.step()
    mean = total / 2**ROUNDS / (ROUNDS * PERIOD)

    first = (problem.start - (low + high) / 2) / ((high - low) / 2)
    second, predicted = first**2, Q(0)
    for _ in range(ROUNDS):
        squares = found.d**2 + 2 * found.d * found.e * first + found.e**2 * second
        predicted += squares.sum() / squares.size
        first, second = (
            (found.a * first + found.b).sum() / 2,
            (found.a**2 * second + 2 * found.a * found.b * first + found.b**2).sum() / 2,
        )
    assert predicted / ROUNDS == mean

    square, off = found.mean_square()
    assert abs(square - mean) <= off / ROUNDS
    assert off / ROUNDS > 0
    assert abs(square - mean) > off / ROUNDS / 100  # the margin is no vain one


def test_an_interval_that_a_choice_leaves_is_refused() -> None:
    problem, (low, high), _ = round_of_bowls()
    with pytest.raises(CannotReplay, match="leaves"):
        random_round(method(), problem, PERIOD, (low / 2, high / 2), 1, 1)
    with pytest.raises(Bends):
        random_round(method(), problem, PERIOD, (Q(-100), Q(100)), 1, 1)
    alike = varied(BOWLS, tilt=[Q(-75)] * 2)
    with pytest.raises(CannotReplay, match="one point"):
        kept_interval(method(), exact_problem(alike), PERIOD, 1)


def test_theorem_8_is_refuted_where_one_of_two_clients_takes_part() -> None:
    target, found = violation_of(THEOREM_8_OF_META, where=("r=1/2", "tau=1"))
    bundle = replayed(target, found)
    assert bundle.hyperparameters["r"] == Q(1, 2)
    for name, value in (("n", 4), ("r", Q(1, 4)), ("r", Q(3, 4))):
        with pytest.raises(BundleError):
            recompute(replace(bundle, hyperparameters={**bundle.hyperparameters, name: value}))
    claimed = found.claimed
    low, high = claimed.interval
    for interval in ((low / 2, high / 2), (high, high + 1), None):
        with pytest.raises(NotConfirmed):
            confirm(target, replace(claimed, interval=interval))
