"""What the exact check refuses, guard by guard: each at the last value that passes and at the first that does not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace
from typing import Any

import pytest
from fedco.bounds.registry import get_theorem
from fedco.validation.falsifier import confirm as module
from fedco.validation.falsifier import record
from fedco.validation.falsifier.confirm import Claimed, Confirmed, NotConfirmed, confirm
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.each_term import NECESSARY, Part
from fedco.validation.falsifier.exact.problem import Instance, exact_problem
from fedco.validation.falsifier.exact.run import CannotReplay

META = Instance(
    "meta",
    {
        "knots": [[Q(-90), Q(-60), Q(60), Q(90)]],
        "curvatures": [[Q(0), Q(1), Q(1), Q(0)]],
        "tilt": [Q(-74), Q(-77)],
        "gradient_noise": [Q(0)] * 2,
        "alpha": Q(1, 3),
        "start": Q(1),
    },
    {"nu": 2},
)
SGD, THEOREM_8 = (target_of(get_theorem(name), "printed") for name in ("baselines.local_sgd", "meta_fl.theorem_8"))


def shaped(**hyperparameters: Q) -> list[str]:
    return module._check_shape(THEOREM_8, Claimed(META, {}, hyperparameters), exact_problem(META))


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
    assert [module._taking_part(THEOREM_8, exact_problem(META), {"r": (r, r)}) for r in (Q(1, 2), Q(1))] == [1, 2]
    assert module._taking_part(SGD, exact_problem(META), {}) == 2


def test_constants_are_at_least_those_of_the_instance(monkeypatch):
    grows = {"by": 1}
    monkeypatch.setattr(module, "_right", lambda target, claimed: (grows["by"] * claimed.constants["F_gap"],) * 2)
    names = {b.quantity.name: name for name, b in SGD.symbols.items() if b.quantity.role == "constant"}
    problem: Any = SimpleNamespace(constants=lambda: dict.fromkeys(names, Q(2)))

    def check(**constants: Q) -> list[str]:
        return module._check_constants(SGD, Claimed(META, constants, {}), problem)

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
    module._whole_rounds(SGD, {"T": 6}, 3)
    for target, steps in ((SGD, 7), (SGD, 8), (replace(SGD, average="after"), 6)):
        with pytest.raises(CannotReplay, match="whole rounds"):
            module._whole_rounds(target, {"T": steps}, 3)


def test_what_a_method_is_built_from():
    """Whole numbers as such, the clients of the instance, everything else as one exact number."""
    problem = exact_problem(META)
    point = {name: (Q(7), Q(7)) for name in THEOREM_8.symbols} | {"r": (Q(1, 2), Q(1, 2)), "beta": (Q(1, 9), Q(1, 9))}
    whole, handed = module._handed(THEOREM_8, problem, point)
    assert whole == dict.fromkeys(("nu", "D", "D_H", "tau", "n", "K"), 7)
    assert all(isinstance(value, int) for value in whole.values())
    assert handed["n"] == 2 and handed["tau"] == 7 and handed["r"] == Q(1, 2)
    assert handed["beta"].numbers.item() == Q(1, 9) and set(handed) == set(point)
    for bad in ((Q(7, 2), Q(7, 2)), (Q(7), Q(8))):
        with pytest.raises(ValueError, match="K: wanted a whole number, got"):
            module._handed(THEOREM_8, problem, {**point, "K": bad})


WELL = Instance(
    "federated",
    {"knots": [[Q(-8), Q(8)]], "slopes": [[Q(-8), Q(8)]], "gradient_noise": [Q(0)], "start": Q(0)},
)


def test_an_endless_run_starts_within_its_interval_ends_included():
    """F' = x and steps of 1/2: every round of two keeps [-c, c]."""
    point = {"eta": (Q(1, 2),) * 2, "p": (Q(2),) * 2, "b": (Q(1),) * 2, "N": (Q(1),) * 2, "T": (Q(4),) * 2}

    def left(start: Q, interval) -> Any:
        problem = exact_problem(replace(WELL, parameters={**WELL.parameters, "start": start}))
        return module._left(SGD, Claimed(WELL, {}, {}, interval), problem, point)

    for start in (Q(-1), Q(0), Q(1)):
        assert left(start, (Q(-1), Q(1)))[1] == Q(5, 8)  # 1 and 1/4 at most
    for start in (Q(-11, 10), Q(11, 10)):
        with pytest.raises(CannotReplay, match="the start is not in the interval"):
            left(start, (Q(-1), Q(1)))
    # without an interval: 1, 1/2, 1/4, 1/8 from 1
    assert left(Q(1), None) == ((1 + Q(1, 4) + Q(1, 16) + Q(1, 64)) / 4,) * 2
    every = replace(SGD, every=lambda values: values["p"])
    problem = exact_problem(replace(WELL, parameters={**WELL.parameters, "start": Q(1)}))
    assert module._left(every, Claimed(WELL, {}, {}), problem, point) == ((1 + Q(1, 16)) / 2,) * 2
    with pytest.raises(CannotReplay, match="one of whole rounds"):
        module._left(every, Claimed(WELL, {}, {}), problem, {**point, "T": (Q(5),) * 2})


# --- what is kept ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path, monkeypatch):
    file, searched = tmp_path / "searches.json", []

    def falsify(theorem, label, **more):
        searched.append((theorem.id, label, more["seconds"], more["seed"]))
        return SimpleNamespace(outcome="SURVIVED", ratio=0.25 * len(searched), evaluations=7)

    def each_term(theorem, label, **more):
        yield Part("noise", "term", "noise dropped", NECESSARY, 2.0, least=0.5, bundle="somewhere.json")

    monkeypatch.setattr(record, "FILE", file)
    monkeypatch.setattr(record, "falsify", falsify)
    monkeypatch.setattr(record, "each_term", each_term)
    record._kept.cache_clear()
    yield file, searched
    record._kept.cache_clear()


def test_parts_are_kept_with_the_search_of_their_statement(kept):
    """Which is made where there is none, and not again."""
    file, searched = kept
    sgd = get_theorem("baselines.local_sgd")
    first = record.keep_parts(sgd, "printed", 2.0, seed=3, file=file)
    assert searched == [("baselines.local_sgd", "printed", 2.0, 3)] and first["ratio"] == 0.25
    (part,) = first["parts"]
    assert part["known"] == "coefficient between 0.5 and 1 of the stated one" and part["part"] == "noise"
    assert "bundle" not in part and part["verdict"] == NECESSARY
    again = record.keep_parts(sgd, "printed", 2.0, file=file)
    assert len(searched) == 1 and again == first
    found = record.searched(sgd, "printed")
    assert found is not None and found.ratio == 0.25 and found.parts == (part,)
    assert record.lines_of(sgd) == [
        "## Searched for counterexamples",
        "",
        f"- `printed`: {found}.",
        "",
        "Each part of `printed` weakened and searched:",
        "",
        "| part | weakened | verdict | known |",
        "|---|---|---|---|",
        "| noise | noise dropped | necessary | coefficient between 0.5 and 1 of the stated one |",
        "",
    ]
    other = record.keep(get_theorem("baselines.scgd"), "printed", 1.0, file=file)
    assert other["ratio"] == 0.5 and record.searched(sgd, "printed") == found  # the first one stays


def test_the_command_searches_what_is_named_and_says_what_cannot_be(kept, monkeypatch, capsys):
    made = []

    def keep(theorem, label, seconds):
        made.append((theorem.id, label, seconds))
        if theorem.id == "meta_fl.lemma_7":
            raise record.InputError("no method")
        return {"outcome": "SURVIVED", "ratio": 0.123456, "evaluations": 9}

    monkeypatch.setattr(record, "keep", keep)
    monkeypatch.setattr(record, "keep_parts", lambda theorem, label, seconds: keep(theorem, label, -seconds))
    monkeypatch.setattr(record.torch, "set_num_threads", lambda number: None)
    names = ["baselines.local_sgd", "meta_fl.lemma_7", "baselines.scgd"]
    monkeypatch.setattr("sys.argv", ["record", *names, "--seconds", "3", "--statement", "printed"])
    record.main()
    assert made == [(name, "printed", 3.0) for name in names]
    assert capsys.readouterr().out.splitlines() == [
        "baselines.local_sgd printed SURVIVED 0.1235 9",
        "meta_fl.lemma_7 printed NOT_APPLICABLE no method",
        "baselines.scgd printed SURVIVED 0.1235 9",
    ]
    made.clear()
    monkeypatch.setattr(
        record, "searchable", lambda label: iter([get_theorem("baselines.scgd")]) if label == "x" else ()
    )
    monkeypatch.setattr("sys.argv", ["record", "--each-term", "--statement", "x"])
    record.main()
    assert made == [("baselines.scgd", "x", -60.0)]
