"""A search: in which order and how long it visits its spaces, what it keeps of each visit, what it goes on with, what is kept of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fedco import theorem
from fedco.bounds.language.change import Change, with_statement
from fedco.bounds.language.theorem import Condition
from fedco.validation.exact.run import MOST_SIGNS
from fedco.validation.falsifier import search
from fedco.validation.falsifier import search_spaces as module
from fedco.validation.falsifier.confirm import NotConfirmed
from fedco.validation.falsifier.edges import bisected, edge
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.laws import FOREVER, INFINITE, NONE, PARTIAL, PATHS, POWERS
from fedco.validation.falsifier.laws.base import EACH_LANE_STEP, EACH_RUN_BEGUN, EACH_STEP
from fedco.validation.falsifier.laws.lanes import SHORT
from fedco.validation.falsifier.laws.powers import rounds_compared
from fedco.validation.falsifier.noise import MOST_SIGNS as MOST_MOMENTS
from fedco.validation.falsifier.search import Claim, Search, Visit, followed, is_guided, next_power, visiting_order
from fedco.validation.falsifier.search_space import REJECTED, SearchSpace
from fedco.validation.falsifier.search_spaces import PERIODS, ROUNDS, Asked, search_spaces
from fedco.validation.falsifier.spaces import SILENT_BOWL, SPACES
from fedco.validation.falsifier.unit_cube import UnitCube
from searching import spaces_of, targeted, visited

# --- search spaces ---------------------------------------------------------------------------------------------------------------


def listed(name: str, *where: str, label: str = "printed"):
    return spaces_of(name, label, where=where)


def silent(name: str, *where: str):
    return Asked(*targeted(name, where=where)).silent()


def laws(found) -> dict[str, list]:
    made: dict[str, list] = {}
    for search_space in found:
        made.setdefault(search_space.law.name, []).append(search_space)
    return made


def test_numbers_of_clients_divide_that_of_the_statement():
    """Equal groups of two or of all; eight in long runs with noise, where each client counts by itself."""
    for where, plain, many in (
        ((), {1, 2}, {1, 2, 8}),
        (("N=3",), {1}, {1}),
        (("N=12",), {1, 2}, {1, 2}),
        (("N=8",), {1, 2}, {1, 2, 8}),
    ):
        made = laws(listed("baselines.local_sgd", "p=2", *where))
        assert {i.clients for i in made["none"]} == plain and {i.clients for i in made["powers"]} == many
        assert {i.clients for i in made["moments"]} == {i.clients for i in made["paths"]} == plain
        assert [i.clients for i in made.get("infinite clients", ())] == ([] if where else [1, 2])
        keys = [(i.law.name, i.space.name, i.clients, i.horizon, i.stays) for each in made.values() for i in each]
        assert len(keys) == len(set(keys))


def test_only_a_free_length_has_endless_and_very_long_runs():
    made = laws(listed("baselines.local_sgd", "p=2", "T=16"))
    assert set(made) == {"none", "moments", "paths"} and not any(i.stays for each in made.values() for i in each)
    assert {i.horizon for law in ("none", "moments") for i in made[law]} == {16}


def test_a_statement_about_batches_has_no_runs_with_noise():
    free, one, two = (listed("baselines.local_sgd", "p=2", *where) for where in ((), ("b=1",), ("b=2",)))
    assert {i.law.name for i in two} == {"none"} and [i.name for i in two] == [
        i.name for i in free if not i.law.has_noise
    ]
    assert {i.law.name for i in one} == {"none", "moments", "paths", "powers", "infinite clients"}


def test_noise_is_run_in_closed_moments_over_all_paths_and_in_powers():
    made = laws(listed("baselines.local_sgd", "p=2"))
    assert all(0 < i.signs <= MOST_MOMENTS and i.space in SPACES["federated"].affine for i in made["moments"])
    bowls = [i for i in made["none"] if i.space.name == SILENT_BOWL]
    assert {(i.clients, i.horizon) for i in made["moments"]} == {
        (i.clients, i.horizon) for i in bowls if i.horizon * i.clients <= MOST_MOMENTS
    }  # one sign for each client and step
    for search_space in made["paths"]:
        rounds = search_space.horizon // search_space.period
        assert search_space.space is SPACES["federated"].silent[0] and search_space.signs <= MOST_SIGNS
        assert rounds == max(SHORT) or 2 * search_space.signs > MOST_SIGNS
    for search_space in made["powers"]:
        assert (
            search_space.steps_of(search_space.horizon) == search_space.period * (1 + 2**31) and not search_space.stays
        )
        assert search_space.space in SPACES["federated"].affine
    assert all(i.stays and i.space in SPACES["federated"].crowded for i in made["infinite clients"])


def test_an_endless_run_needs_a_space_that_shifts_and_a_method_that_keeps_models_only():
    made = [i for i in listed("baselines.local_sgd", "p=2") if not i.law.has_noise]
    assert {i.space.name for i in made if i.stays} == {
        s.name for s in SPACES["federated"].silent if s.shifted is not None
    }
    assert not any(i.stays for i in listed("baselines.local_sgd", "p=1") if not i.law.has_noise)
    momentum = silent("local_scgdm.theorem_3_4", "p=2")
    assert momentum and not any(i.stays for i in momentum)


def test_runs_over_all_paths_are_on_every_space_but_the_bowls():
    made = laws(listed("baselines.scgd", "T=16"))
    of = SPACES["local_composite"]
    assert {i.space.name for i in made["paths"]} == {s.name for s in (*of.silent[:-1], *of.bent, *of.multiplied)}
    assert SPACES["local_composite"].silent[-1].name == SILENT_BOWL and set(made) == {"none", "moments", "paths"}


def test_silent_bowls_run_long_where_several_clients_carry_more_than_models_through_long_rounds():
    """Elsewhere a few steps say as much as many."""
    target, formula = targeted("local_scgdm.theorem_3_4")
    silent = SPACES["local_composite"].silent[-1]
    for clients, period, some in ((2, 2, True), (1, 2, False), (2, 1, False)):
        made = SearchSpace(target, formula, silent, clients, period, 16)
        assert not made.keeps_models_only
        found = [i for i in POWERS.search_spaces(Asked(target, formula), [made]) if i.space is silent]
        assert bool(found) == some


def test_a_part_of_the_clients_is_one_of_two():
    names = [s.name for s in SPACES["meta"].partial]
    for where, some in (
        (("r=1/2",), True),
        (("r=1/2", "n=2"), True),
        (("r=1/2", "n=4"), False),
        (("r=1/4",), False),
        (("r=1/2", "K=16"), False),
    ):
        found = listed("meta_fl.theorem_8", "nu=3", "tau=3", *where)
        assert [i.space.name for i in found] == (names if some else [])
        assert all(
            (i.law.name, i.clients, i.period, i.stays, i.settings) == ("partial participation", 2, 3, True, {"nu": 3})
            for i in found
        )
    everybody = listed("meta_fl.theorem_8", "nu=1", "tau=1", "r=1")
    assert {i.law.name for i in everybody} == {"none", "powers", "infinite clients"}
    either = listed("meta_fl.theorem_8", "nu=1", "tau=1")
    assert {i.law.name for i in either} == {"none", "powers", "infinite clients", "partial participation"}
    for search_space in either:
        if search_space.law.name == "powers":  # the length of this statement is in rounds
            assert search_space.horizon == 1 + 2**31


def test_the_steps_of_a_fine_tuning_are_two_and_one_or_those_of_the_statement():
    found = silent("meta_fl.theorem_8", "tau=1", "K=16", "r=1")
    assert {i.settings["nu"] for i in found} == {1, 2}
    assert {i.settings["nu"] for i in silent("meta_fl.theorem_8", "tau=1", "K=16", "r=1", "nu=3")} == {3}


def test_a_lemma_is_compared_along_a_few_rounds_of_up_to_three_clients():
    found = listed("local_scgdm.lemma_4_2")
    assert {i.clients for i in found} == {1, 2, 3} and not any(i.stays or i.law.name == "powers" for i in found)
    silent = [i for i in found if not i.law.has_noise]
    assert {(i.period, i.horizon) for i in silent} == {(p, n * p) for p in PERIODS for n in ROUNDS}


def test_hyperparameters_that_are_no_step_size_are_what_the_island_says_or_free():
    made = SearchSpace(*targeted("meta_fl.theorem_8"), SPACES["meta"].silent[0], 2, 3, 16, {"nu": 2}, hidden=7.0)

    def number(of: SearchSpace, quantity: str, at: float = 0.0, domain: str = "positive integer"):
        cube = UnitCube(np.full((2, 5), at))
        found = of._hyperparameter(cube, quantity, domain, {"alpha": np.array([0.25, 0.5])})
        return found if found is None else np.broadcast_to(found, (2,)).tolist()

    for quantity in ("step_size", "iterations", "rounds"):
        assert number(made, quantity) is None
    for quantity, value in (
        ("communication_period", 3.0),
        ("participation", 1.0),
        ("hidden_constant", 7.0),
        ("fine_tuning_steps", 2.0),
    ):
        assert number(made, quantity) == [value] * 2
    assert number(replace(made, law=PARTIAL), "participation") == [0.5] * 2
    assert number(made, "fine_tuning_step_size") == [0.25, 0.5]
    for at in (0.0, 0.3, 0.6, 1.0):
        (clients, _), (batch, _) = number(made, "clients", at), number(made, "batch_size", at)
        assert clients % 2 == 0 and clients >= 2 and batch >= 1 and batch == round(batch)
        assert (clients > 2) == (batch > 1) == (at > 0.5)
        assert 0 < number(made, "momentum", at, "positive real")[0] <= 1
        assert 0 < number(made, "difference_step", at, "positive real")[0] <= 0.1
    assert number(replace(made, law=INFINITE), "clients") == [2 * FOREVER] * 2
    assert number(replace(made, law=PATHS), "batch_size", 1.0) == [1.0] * 2  # one sample where there is noise
    assert number(replace(made, law=PATHS), "clients", 1.0) == [2.0] * 2


def test_free_counts_are_powers_of_four_where_a_schedule_with_roots_is_run_in_powers():
    """So that its roots are rational; elsewhere any whole number, on a log-scale."""
    points = np.random.default_rng(0).random((64, 40))
    for name, law, is_rooted in (
        ("feddro.theorem_5_1", POWERS, True),
        ("feddro.theorem_5_1", NONE, False),
        ("meta_fl.theorem_8", POWERS, False),
    ):
        target, formula = targeted(name)
        bowls = next(
            (s for s in SPACES[target.kind].silent if s.name == SILENT_BOWL),
            replace(SPACES["meta"].silent[0], name=SILENT_BOWL),
        )
        made = SearchSpace(target, formula, bowls, 2, 4, 2 * 4**14, {"nu": 1}, law=law)
        assert made.horizon_decides is (name == "feddro.theorem_5_1")
        counts = [n for n in ("b", "D", "K", "n") if n in (values := made.decode(UnitCube(points))[1])]
        assert counts
        for count in counts:
            numbers = np.unique(values[count] / (2 if target.symbols[count].quantity.name == "clients" else 1))
            powers = np.log(numbers) / np.log(4)
            assert len(numbers) > 3 and (np.abs(powers - np.round(powers)) < 1e-12).all() == is_rooted


def test_a_step_is_a_part_of_its_limit_or_anything_where_there_is_none():
    made = SearchSpace(*targeted("baselines.local_sgd"), SPACES["federated"].silent[0], 2, 1, 16)
    points = np.random.default_rng(0).random((400, made.size))
    parameters, values, (step,) = made.decode(UnitCube(points))
    assert ((step.fraction > 0) & (step.fraction <= 1)).all() and 150 < (step.fraction == 1).sum() < 250
    assert step.fraction.min() < 0.1 and step.without_limit.min() < 0.1 and step.without_limit.max() > 10
    known = made.with_steps({**made.constants(made.family(parameters, 400)), **values}, [step])
    np.testing.assert_allclose(known["eta"], step.fraction / known["L"], rtol=1e-8)  # eta <= 1/L
    free: Any = SimpleNamespace(determined={}, admits=lambda tried: True, complete=dict)
    assert (replace(made, formula=free).with_steps(values, [step])["eta"] == step.without_limit).all()
    assert replace(made, formula=SimpleNamespace(determined={"eta": 1})).with_steps(values, [step]) == values  # type: ignore[arg-type]


def test_an_endless_run_of_random_rounds_is_affine_as_far_as_the_rests_of_its_choices():
    """Two clients whose slopes at 0 are 1 and -1 rest at -1 and at 1: the Hessian must be 1 between, and need not be beyond."""
    made = SearchSpace(
        *targeted("meta_fl.theorem_8"), SPACES["meta"].partial[0], 2, 3, 16, {"nu": 1}, True, 1.0, PARTIAL
    )
    far = np.array([0.5, 1.0, 1.01, 1.1, 20.0])  # a rest at a kink is not where a round is affine
    one, zero = np.ones(5), np.zeros(5)
    parameters = {
        "knots": np.stack([-far - 1, -far, far, far + 1], axis=-1)[:, None],
        "curvatures": np.stack([zero, one, one, zero], axis=-1)[:, None],
        "tilt": np.stack([-far - 0.5 + 1, -far - 0.5 - 1], axis=1),
        "gradient_noise": np.zeros((5, 2)),
        "alpha": 0.5 * one,
        "start": zero,
    }
    _, values, steps = made.decode(UnitCube(np.full((5, made.size), 0.65)))
    values = made.with_steps({**made.constants(made.family(parameters, 5)), **values}, steps)
    found = made.law.left(made, parameters, {**values, "alpha": parameters["alpha"], "beta": 0.5 * one}, 5)
    (squares,), off = found.sides, found.astray
    assert (off > 0).tolist() == [True, True, False, False, False]
    assert not squares[:2].any() and squares[2] > 0 and squares[3:] == pytest.approx(squares[2])


def test_so_many_of_the_lengths_that_a_schedule_has_are_searched(monkeypatch):
    asked = Asked(*targeted("local_scgdm.corollary_3_5"))
    every = list(asked.lengths(1))
    for most in (1, 2):
        monkeypatch.setattr(module, "MOST_HORIZONS", most)
        assert list(asked.lengths(1)) == every[:most] != every


def test_a_long_run_takes_as_much_more_time_as_more_lengths_are_compared():
    bowls = SPACES["federated"].silent[1]
    made = SearchSpace(*targeted("baselines.local_sgd"), bowls, 2, 4, 4 * (1 + 2**7), law=POWERS)
    longer = replace(made, horizon=4 * (1 + 2**10))
    assert (len(rounds_compared(made)), len(rounds_compared(longer))) == (3, 4)
    assert longer.effort(64) - made.effort(64) == pytest.approx(EACH_RUN_BEGUN * EACH_STEP)
    for period in (4, 8):  # lanes: an instance, and for each client a sign and each number that it keeps, changed
        of = replace(made, period=period, horizon=period * (1 + 2**7))
        lanes = 64 * 2 * (1 + 2 * (3 + 2 * period))
        assert of.effort(128) - of.effort(64) == pytest.approx(3 * period * lanes * EACH_LANE_STEP)


def test_a_round_of_a_meta_problem_takes_as_much_more_time_as_it_has_draws():
    """It was thought to take a thirtieth of its time, so that one batch of long rounds outlasted a search of a minute."""
    listed = spaces_of("meta_fl.theorem_8", "corrected")
    made = next(s for s in listed if s.law is POWERS and s.settings["nu"] == 2 and s.clients == 2)
    lanes = 64 * 2 * (1 + 2 * (3 + 5 * made.period))  # two fine-tuning steps draw three gradients and two Hessians
    assert made.effort(128) - made.effort(64) == pytest.approx(3 * made.period * lanes * 15 * EACH_LANE_STEP)


# --- the order of the visits --------------------------------------------------------------------------------------------------


class Stub:
    """A search space whose points score what is given, and which notes how many it was asked for."""

    def __init__(
        self, name: str, score: float = -1.0, *, size: int = 3, clients: int = 1, stepped: int = 1, stays=False
    ):
        self.name, self.value, self.size, self.clients = name, score, size, clients
        self.stepped, self.stays, self.asked = stepped, stays, list[np.ndarray]()

    def judged(self, rows, panel):
        self.asked.append(rows)
        scores = np.full((1, len(rows)), self.value)
        return scores, scores

    def effort(self, count: int) -> float:
        return 0.5


def running(stubs, claims=None, until: float = 1.0, progress=None) -> Search:
    run = object.__new__(Search)
    run.search_spaces, run.claims, run.seed, run.panel = stubs, claims or [Claim(None)], 0, None  # type: ignore[arg-type]
    run.progress, run.clock, run.began, run.until, run.evaluations = progress, lambda: 0.0, 0.0, until, 0
    run.longest, run.longest_check, run.grown, run.is_late = 15.0, 20.0, set(range(len(stubs))), False
    return run


def test_the_first_sample_takes_short_runs_first_and_three_clients_last():
    seen = []
    stubs = [
        Stub("a", stepped=256),
        Stub("b", stepped=3, clients=3),
        Stub("c", stepped=64, clients=2),
        Stub("d", stepped=100),
        Stub("e", stepped=10**6),
    ]
    run = running(stubs, progress=lambda now: seen.append((now.search_space, now.evaluations)))
    run.sample()
    # so many up to 64 steps, half of it up to 128, a quarter up to 256, never less than 32
    assert seen == [("c", 256), ("d", 256 + 128), ("a", 384 + 64), ("e", 448 + 32), ("b", 480 + 256)]
    assert run.claims[0].found.evaluations == 736 and all(len(s.asked) == 1 for s in stubs)
    points = stubs[0].asked[0]
    assert points.shape == (64, 3) and points.min() >= 0 and points.max() <= 1
    for dimension in points.T:  # a Sobol sample has one point in each of as many parts of equal length
        assert sorted((dimension * 64).astype(int)) == list(range(64))
    run = running([Stub("a")], until=-1.0)
    run.sample()
    assert not run.search_spaces[0].asked


def test_batches_that_take_long_are_smaller_and_islands_with_too_long_ones_left_out(monkeypatch):
    class Slow(Stub):
        def effort(self, count: int) -> float:
            return count * each[self.name]

    each = {"a": 0.001, "b": 0.01, "c": 0.03, "d": 0.05}
    search_spaces = [Slow(name) for name in each]
    claim = Claim(None)  # type: ignore[arg-type]
    run = Search(search_spaces, SimpleNamespace(), [claim], 0, 5.0, None, lambda: 0.0)  # type: ignore[arg-type]
    assert claim.found.families == ["a", "b", "c"] and claim.found.left_out == ["d"]  # a batch may take 1.25 s
    run.sample()
    assert [len(search_space.asked[0]) for search_space in search_spaces[:3]] == [256, 64, 32] and not search_spaces[
        3
    ].asked
    sizes = []
    monkeypatch.setattr(search, "differential_evolution", lambda *a, init, **more: sizes.append(len(init)))
    for index in range(3):
        run._visit(index, claim, 3.0, 0)
    assert sizes == [255, 63, 31]
    short = Search(search_spaces, SimpleNamespace(), [Claim(None)], 0, 0.0, None, lambda: 0.0)  # type: ignore[arg-type]
    assert short.search_spaces == search_spaces[:2]  # half a second, however short the search


def test_the_seconds_are_kept_where_rounds_are_long(monkeypatch):
    """By the seconds that batches take on the machine they were measured on: on a slow or busy one a search compares less."""
    taken, judged = [], SearchSpace.judged

    def counted(space, points, panel):
        taken.append(space.effort(len(points)))
        return judged(space, points, panel)

    monkeypatch.setattr(SearchSpace, "judged", counted)
    given = targeted("feddro.theorem_5_1", "corrected", where=("I=256",))
    found = visited(*given, seconds=2.0, clock=lambda: sum(taken))
    assert max(taken) <= 0.5 and 2.0 < sum(taken) <= 2.0 + 0.5
    assert found.evaluations > 0 and any("rounds of 256" in name for name in found.families) and found.left_out


def test_turns_are_longer_and_several_claims_share_them():
    one, visits = Claim(None), []  # type: ignore[arg-type]
    run = running([Stub("a"), Stub("b"), Stub("c")], [one])
    run._visit = lambda *given: visits.append(given) or (len(visits) == 7 and setattr(run, "until", -1.0))  # type: ignore[method-assign]
    run.evolve()
    assert [(i, turn) for i, _, _, turn in visits] == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2)]
    shares = [share for _, _, share, _ in visits]
    assert shares[0] == shares[2] and shares[3] / shares[2] == shares[6] / shares[5] == search._GROWTH > 1
    changes = [Change(part, "divided", Q(4)) for part in "xyx"]
    claims, visits = [Claim(None, change) for change in changes], []  # type: ignore[arg-type, assignment]
    run = running([Stub(name) for name in "abcdefgh"], claims)
    run._visit = lambda index, claim, *more: (
        visits.append((index, claims.index(claim), more[1]))
        or (  # type: ignore[method-assign]
            len(visits) == 19 and setattr(run, "until", -1.0)
        )
    )
    run.evolve()
    first = [(rank, claim, 0) for rank in range(3) for claim in (0, 1)]  # the third claim is about the first one's term
    assert visits == [*first, *((rank, claim, 1) for rank in range(6) for claim in (0, 1)), (0, 0, 2)]
    nothing = running([])
    nothing.evolve()


def start_of_visit(monkeypatch, stub: Stub, turn: int, claims=None, known=None, share: float = 3.0, of: int = 0):
    given = {}
    monkeypatch.setattr(search, "differential_evolution", lambda *a, **more: given.update(more, bounds=a[1]))
    run = running([stub], claims)
    claim = run.claims[of]
    if known is not None:
        claim.remember((0, False), known, -np.arange(len(known), dtype=float))
    run._visit(0, claim, share, turn)
    return given


def test_a_visit_starts_from_the_best_known_points_every_other_turn(monkeypatch):
    known = 2.0 + np.arange(150.0).reshape(50, 3)
    for turn, recalled in ((0, False), (1, True), (2, False), (3, True)):
        given = start_of_visit(monkeypatch, Stub("a"), turn, known=known)
        assert given["bounds"] == [(0.0, 1.0)] * 3 and given["init"].shape == (255, 3) and given["maxiter"] == 6
        assert given["tol"] == 0  # a visit ends by its own rules, not where the scores of a generation are alike
        kept = given["init"] > 1
        assert kept.any() == recalled
        if recalled:
            assert (given["init"][:48] == known[:48]).all() and not kept[48:].any()
    several = [Claim(None), Claim(None)]  # type: ignore[arg-type]
    assert (start_of_visit(monkeypatch, Stub("a"), 0, several, known)["init"] > 1).any()
    assert start_of_visit(monkeypatch, Stub("a"), 1)["init"].max() <= 1
    starts = [start_of_visit(monkeypatch, Stub("a"), turn)["init"] for turn in (0, 0, 2)]
    assert (starts[0] == starts[1]).all() and (starts[0] != starts[2]).any()
    other = start_of_visit(monkeypatch, Stub("a"), 0, [Claim(None), Claim(None)], of=1)["init"]  # type: ignore[arg-type]
    assert (other != starts[0]).any()


def test_a_visit_has_at_least_one_generation_and_five_points(monkeypatch):
    assert start_of_visit(monkeypatch, Stub("a"), 0, share=0.1)["maxiter"] == 1
    assert start_of_visit(monkeypatch, Stub("a", size=100), 0)["init"].shape == (200, 100)
    assert len(start_of_visit(monkeypatch, Stub("a", size=300), 0)["init"]) == 5


# --- one visit ----------------------------------------------------------------------------------------------------------------


def visit(score: float = -1.0, progress=None) -> Visit:
    run = running([Stub("a", score)], progress=progress)
    return Visit(run, 0, run.claims[0])


def test_a_generation_is_scored_remembered_and_counted():
    made, columns = visit(-0.25), np.arange(12.0).reshape(3, 4)
    assert made.objective(columns).tolist() == [0.25] * 4
    (rows,) = made.search_space.asked
    assert (rows == columns.T).all() and made.search.evaluations == made.claim.found.evaluations == 4
    assert made.claim.found.ratio == pytest.approx(10**-0.25) and made.claim.found.where == "a"
    assert (made.claim.points[0, False][0] == columns.T).all() and (0, True) not in made.claim.points
    assert (made.best, made.stalled) == (-0.25, 0)
    for value, stalled in ((-0.25, 1), (-0.25 + 1e-7, 2), (-0.5, 3), (-0.2, 0)):
        made.search_space.value = value
        made.objective(columns)
        assert made.stalled == stalled
    assert made.best == -0.2


def test_what_is_no_number_and_what_is_above_the_bound_is_no_ratio():
    """One above 1 counts as what the exact check makes of it; one of 1 is one."""
    for score, ratio in ((-9.0, 0.0), (-8.9, 10**-8.9), (0.0, 1.0), (0.004, 0.0)):
        made = visit(score)
        made.objective(np.zeros((3, 2)))
        assert made.claim.found.ratio == pytest.approx(ratio)


def test_a_candidate_is_checked_once_until_a_better_one_comes(monkeypatch):
    made, checked = visit(), []
    monkeypatch.setattr(made, "_check", lambda claim, point: checked.append(point.tolist()))
    for score in (0.004, 0.006, 0.05, 0.057, 0.1, 0.2):
        made._keep(made.claim, np.array([score]), score)
    assert checked == [[0.006], [0.057], [0.2]]


def test_the_first_draft_that_is_confirmed_is_the_violation(monkeypatch):
    made = visit()
    made.search_space.formula, made.search_space.settings, made.search_space.least = None, {}, {}
    made.search_space.candidate = lambda point, panel, of: (point, of)
    monkeypatch.setattr(search, "drafts", lambda target, formula, candidate, settings, least: iter("abcd"))

    def confirmed(target, formula, draft):
        if draft in "ab":
            raise NotConfirmed(f"not {draft}", {"a": None, "b": 3.0}[draft])
        return draft.upper()

    monkeypatch.setattr(search, "confirmed", confirmed)
    made._check(made.claim, np.zeros(3))
    found = made.claim.found
    assert (found.violation, found.draft, found.refused) == ("C", "c", ["not a", "not b"])
    assert found.ratio == 1.0 and not made.claim.is_open  # an inexact ratio above 1 is none


def test_a_run_that_refutes_one_claim_is_tried_on_every_other_open_one(monkeypatch):
    """Each that it may refute: one below its bound is left alone, one that the exact check does not confirm stays open."""
    first, *others = claims = [Claim(name) for name in "abcd"]  # type: ignore[arg-type]
    made = Visit(running([Stub("s")], claims), 0, first)
    made.search_space.scores = lambda points, panel: np.array([[1.0], [search._MARGIN], [1.0], [1.0]])
    first.found.violation, first.found.draft, first.refuted_on = "violation", "draft", "where"  # type: ignore[assignment]

    def confirm_beside(target, violation):
        if target == "c":
            raise NotConfirmed("the bound holds")
        return f"{violation} of {target}"

    monkeypatch.setattr(search, "confirm_beside", confirm_beside)
    made._check_beside(first, np.zeros(3))
    assert [other.found.violation for other in others] == [None, None, "violation of d"]
    assert (others[-1].found.draft, others[-1].refuted_on) == ("draft", "where") and others[1].refuted_on is None


def test_when_a_visit_ends():
    told = []
    made = visit(progress=told.append)
    made.search.clock = lambda: 0.75
    assert not made.after_generation() and (told[0].seconds, told[0].search_space, told[0].ratio) == (0.75, "a", 0.0)
    made.search.began = 0.5
    assert not made.after_generation() and told[1].seconds == 0.25
    made.search.clock = lambda: 1.5
    assert made.after_generation()
    for best, stalled, ends in (
        (-1.0, search._STALLED, False),
        (-1.0, search._STALLED + 1, True),
        (REJECTED, 5, False),
        (REJECTED, 6, True),
        (REJECTED + 1, 6, False),
    ):
        made = visit()
        made.best, made.stalled = best, stalled
        assert made.after_generation() == ends
    made = visit()
    made.claim.found.violation = SimpleNamespace()  # type: ignore[assignment]
    assert made.after_generation()


def test_an_interrupt_keeps_what_was_found(monkeypatch):
    target, formula = targeted("baselines.local_sgd", where=("p=1", "T=16", "b=2"))
    claims = [Claim(target), Claim(target)]

    def stop(now):
        raise KeyboardInterrupt

    search.search_together(target, formula, claims, seconds=60.0, progress=stop, clock=lambda: 5.0)
    for claim in claims:
        assert claim.found.refused[-1] == "interrupted by the user" and claim.found.evaluations == 256
        assert claim.found.families == [i.name for i in search_spaces(target, formula)]
    assert Q(claims[0].found.ratio).limit_denominator(10**6) > 0


def test_a_search_is_a_sample_and_then_visits_with_what_it_was_given(monkeypatch):
    (target, formula), done = targeted("baselines.local_sgd", where=("p=1", "T=16", "b=2")), []
    for name in ("sample", "evolve"):
        monkeypatch.setattr(Search, name, lambda run, name=name: done.append((name, run)))
    found = search.search(target, formula, seconds=60.0, seed=7, hidden=3.0, clock=lambda: 5.0)
    (first, run), (second, same) = done
    assert (first, second) == ("sample", "evolve") and run is same
    assert (run.seed, run.began, run.until, run.evaluations) == (7, 5.0, 65.0, 0)
    assert [(c.target, c.change, c.found) for c in run.claims] == [(target, None, found)]
    assert (
        run.search_spaces
        and {i.hidden for i in run.search_spaces} == {3.0}
        and found.families == [i.name for i in run.search_spaces]
    )
    run.clock = lambda: 65.0
    assert not run.is_over
    run.clock = lambda: 65.5
    assert run.is_over


# --- which points, search spaces and claims a search goes on with -----------------------------------------------------


@pytest.mark.parametrize("count", [1, 40, 5000])
def test_halvings_at_once_are_those_one_by_one(count: int) -> None:
    """Bit by bit, and for what changes back and forth on the way, where several ends could be found; more at once of few intervals."""
    rng = np.random.default_rng(2)
    low, high = -rng.random(count) - 1, rng.random(count) + 1

    def holds(x: np.ndarray) -> np.ndarray:
        return np.sin(40 * x) < 0.3 * np.arange(count) / count

    found = bisected(holds, low, high, 30)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = np.where(holds(middle), middle, low), np.where(holds(middle), high, middle)
    assert np.array_equal(found, (low, high)) and (high - low < 1e-8).all() and len(set(low)) == count
    assert bisected(lambda x: np.array(True), np.zeros(2), np.full(2, 8.0), 3)[0].tolist() == [7, 7]


@pytest.mark.parametrize(
    ("relation", "held", "over"),
    [
        ("<", [1, 0, 0, 0], [0, 0, 0.5, 1]),
        ("<=", [1, 1, 0, 0], [0, 0, 0.5, 1]),
        (">", [0, 0, 1, 0], [1 / 3, 0, 0, 1]),
        (">=", [0, 1, 1, 0], [1 / 3, 0, 0, 1]),
        ("==", [0, 1, 0, 0], [1 / 3, 0, 0.5, 1]),
    ],
)
def test_a_relation_is_judged_with_its_excess(relation, held, over):
    """eta of 1, 2, 3 and no number against 1/L of 2, 2, 1 and 1."""
    item = theorem("baselines.minibatch_sgd")
    eta, L = (item.notation[name].symbol for name in ("eta", "L_bar"))
    only = replace(item.statement("printed"), conditions=(Condition("c", eta, relation, 1 / L),))
    formula = Formula(with_statement(item, only), "printed")
    values = dict.fromkeys(formula.names, np.ones(4)) | {
        "eta": np.array([1.0, 2.0, 3.0, np.nan]),
        "L_bar": 1 / np.array([2.0, 2, 1, 1]),
    }
    found = formula.sides(values)
    assert found.admissible.tolist() == [bool(x) for x in held] and found.excess.tolist() == pytest.approx(over)


def test_a_claim_keeps_its_best_points():
    claim = Claim(target=None)  # type: ignore[arg-type]
    points = np.arange(100.0)[:, None]
    claim.remember((0, False), points, -np.abs(points[:, 0] - 50))
    claim.remember((0, False), np.array([[7.5], [8.5]]), np.array([1.0, -1000.0]))
    kept, scores = claim.points[0, False]
    assert len(kept) == 64 and kept[0, 0] == 7.5 and kept[1, 0] == 50 and (np.diff(scores) <= 0).all()
    assert claim.best == {(0, False): 1.0} and claim.is_open
    claim.found.saw(0.3, "a")
    claim.found.saw(0.2, "b")
    assert (claim.found.ratio, claim.found.where) == (0.3, "a")


def test_powers_of_two():
    assert [next_power(n) for n in (1, 2, 3, 4, 5, 64, 65)] == [1, 2, 4, 4, 8, 64, 128]


def test_islands_are_visited_by_turns_endless_and_finite_the_best_first():
    claim = Claim(target=None)  # type: ignore[arg-type]
    claim.best = {(0, False): -1.0, (1, False): -2.0, (2, False): 0.5, (3, False): -0.5, (0, True): 9.0}
    search_spaces = [SimpleNamespace(stays=stays) for stays in (True, False, False, True)]
    assert visiting_order(search_spaces, claim, False) == [3, 2, 0, 1]  # type: ignore[arg-type]
    claim.best[3, False] = -30.0  # nothing valid there
    assert visiting_order(search_spaces, claim, False) == [0, 2, 1]
    assert visiting_order(search_spaces, claim, True) == [
        0,
        1,
        3,
        2,
    ]  # search spaces that nobody has seen come after those with a score


def test_of_the_changes_of_one_term_the_first_open_one_is_followed():
    changed = [Claim(None, Change(part, "divided", Q(4))) for part in ("a", "a", "b")]  # type: ignore[arg-type]
    plain = Claim(target=None)  # type: ignore[arg-type]
    claims = [plain, *changed]
    assert followed(claims) == [plain, changed[0], changed[2]]
    changed[0].found.violation = SimpleNamespace()
    assert followed(claims) == [plain, changed[1], changed[2]]
    for claim in claims:
        claim.found.violation = SimpleNamespace()
    assert followed(claims) == []
    turns = [(is_guided(changed[0], turn), is_guided(plain, turn)) for turn in range(6)]
    assert turns == [(t % 3 != 2, False) for t in range(6)]


def test_a_lost_power_is_followed_beside_less_of_a_term_and_neither_while_the_term_may_be_missing():
    """Less of a term that has slack is never refuted, and must not be in the way of an order that is."""
    dropped, less, period, clients, other = changed = [
        Claim(None, change)  # type: ignore[arg-type]
        for change in (
            Change("a", "dropped"),
            Change("a", "divided", Q(4)),
            Change("a", "power", Q(-1), "p"),
            Change("a", "power", Q(-1), "N"),
            Change("b", "power", Q(-1), "N"),
        )
    ]
    assert followed(changed) == [dropped, other]
    dropped.found.violation = SimpleNamespace()
    assert followed(changed) == [less, period, clients, other]


def test_the_largest_step_that_conditions_admit():
    formula = Formula(theorem("baselines.minibatch_sgd"), "printed")
    names = [n for n, b in formula.theorem.symbols("printed").items()]
    values = dict.fromkeys(names, Q(1)) | {"L_bar": Q(4)}
    eta = 10.0 ** float(edge(formula, {name: float(value) for name, value in values.items()}, "eta", 1, {}, 1)[0])
    exact = formula.theorem.admissible("eta", "printed", L_bar=4).intervals["eta"].upper
    assert eta == pytest.approx(float(exact), rel=1e-9) and eta <= float(exact) * (1 + 1e-12)
