"""The parts of what a target costs, one by one: orders, claims, comparisons and sensitivities against figures by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import fedco
import pytest
import sympy as sp
from fedco.bounds.cost import claims, comparison, complexity, counts, sensitivity
from fedco.bounds.cost.comparison import compare, orders
from fedco.bounds.cost.orders import Order, rates
from fedco.bounds.cost.resources import MEANING, RESOURCES, instead, resource
from fedco.bounds.cost.sensitivity import elasticities, pareto
from fedco.bounds.language import rendering
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.result import relative
from fedco.bounds.language.theorem import MethodCall
from fedco.bounds.region import pictures
from hypothesis import given
from hypothesis import strategies as st
from refusal import is_refused
from small_theorems import EXAMPLE, small

POINT = {"L": 2, "sigma": 3, "G": 4, "F_gap": 5, "eta": "1/10", "p": 6, "N": 7, "T": 1000}
TERMS = {"initialisation": 0.1, "variance": 18 / 70, "drift": 4 * 36 * 4 * 25 / 100}


# --- sensitivity -----------------------------------------------------------------------------------------------------------------


def test_elasticities_are_the_shares_of_the_terms_times_their_powers():
    total = sum(TERMS.values())
    first, second, third = (value / total for value in TERMS.values())
    found = elasticities(EXAMPLE, POINT)
    assert found.total == float(found) == pytest.approx(total, rel=1e-12)
    wanted = {
        "L": second + 2 * third,
        "sigma": 2 * second + third * 2 * 9 / 25,
        "G": third * 2 * 16 / 25,
        "F_gap": first,
        "eta": -first + second + 2 * third,
        "p": 2 * third,
        "N": -second,
        "T": -first,
    }
    assert found.values == pytest.approx(wanted, abs=1e-9)
    ordered = [line.split()[0] for line in str(found).splitlines() if " changes it by " in line]
    sizes = [abs(wanted[name]) for name in ordered]
    assert sizes == pytest.approx(sorted(sizes, reverse=True), abs=1e-9)
    rows = [(symbol.text, value) for symbol, value in found.sheet().tables[0].rows]
    assert rows == [(name, found.values[name]) for name in ordered]
    assert found.plot().data == {"sensitivity": [value for _, value in rows]}


def test_what_is_0_has_no_elasticity_and_a_schedule_of_a_schedule_follows():
    chained = statement("F_gap/(eta*T) + L*eta*p*sigma**2/N", schedule={"eta": "1/(L*p)", "p": "T/N"})
    given = {"F_gap": 2, "T": 60, "N": 3, "sigma": 5, "L": 7}
    found = elasticities(chained, given)  # F_gap L / N + sigma^2 / N
    assert found.total == pytest.approx((14 + 25) / 3)
    assert found.values == pytest.approx({"F_gap": 14 / 39, "L": 14 / 39, "N": -1, "sigma": 50 / 39, "T": 0}, abs=1e-9)
    still = elasticities(chained, given | {"sigma": 0})
    assert "sigma" not in still.values and still.values["F_gap"] == pytest.approx(1)
    assert set(elasticities(chained, given | {"F_gap": 0, "sigma": 0}).values.values()) == {0.0}


@pytest.mark.parametrize(
    ("given", "without"),
    [
        ({"F_gap": 4}, {"F_gap", "eta", "T", "sigma"}),  # 0 there, above it on one side and below it on the other
        ({"F_gap": 4 / (1 + sensitivity.RELATIVE_STEP)}, {"F_gap"}),  # 0 at the upper of the two points
        ({"F_gap": 4 / (1 - sensitivity.RELATIVE_STEP)}, {"F_gap"}),  # 0 at the lower one
        ({"F_gap": 4, "eta": 1 / (1 + sensitivity.RELATIVE_STEP)}, {"eta"}),
        ({"F_gap": 4, "eta": 1 / (1 - sensitivity.RELATIVE_STEP)}, {"eta"}),
        ({"F_gap": 3}, {"F_gap", "eta", "T", "sigma"}),  # below 0
    ],
)
def test_where_a_bound_changes_its_sign_it_has_no_elasticity(given, without):
    """F_gap/(eta T) - sigma^2 with sigma = 1, T = 4 and eta = 1."""
    found = elasticities(statement("F_gap/(eta*T) - sigma**2"), {"eta": 1, "T": 4, "sigma": 1} | given)
    assert all(found.values[name] == 0.0 for name in without) and {*found.values} == {"F_gap", "eta", "T", "sigma"}


def tuned(rounds, samples):
    return SimpleNamespace(cost={"rounds": rounds, "samples": samples})


ENDS = {"samples": (40.0, 200.0), "rounds": (10.0, 900.0)}


@pytest.mark.parametrize(("fewest", "ends"), [(10.0, 2), (40.0, 1)])
def test_weights_of_a_front_span_three_decades_around_the_trade(fewest, ends, monkeypatch):
    """Samples per round at the cheap end, from a tenth of it to nearly a hundred times; the other end only where it has fewer rounds."""
    asked = []

    def fake(statement, values, *, eps, cost):
        asked.append(cost)
        made = {"samples": (40.0, 200.0), "rounds": (fewest, 900.0)}
        return tuned(*made[cost]) if isinstance(cost, str) else tuned(30.0 - len(asked), 200.0 + len(asked))

    monkeypatch.setattr(sensitivity, "tune", fake)
    front = pareto(EXAMPLE, {}, "1/10", points=5)
    assert asked[:2] == ["samples", "rounds"] and all(cost["samples"] == 1 for cost in asked[2:])
    weights = [float(cost["rounds"]) for cost in asked[2:]]
    assert weights == pytest.approx([200 / 40 * 10 ** (3 * step / 4 - 1) for step in (1, 2, 3)])
    assert [item.cost["rounds"] for item in front] == ([10.0] if ends == 2 else []) + [25.0, 26.0, 27.0, 40.0]


def test_a_front_is_drawn_where_a_file_is_given(monkeypatch):
    drawn = []
    monkeypatch.setattr(pictures, "lines_picture", lambda *given: drawn.append(given))
    monkeypatch.setattr(
        sensitivity, "tune", lambda statement, values, *, eps, cost: tuned(*ENDS.get(str(cost), (20.0, 250.0)))
    )
    assert len(pareto(EXAMPLE, {}, "1/10", points=3)) == 3 and not drawn
    pareto(EXAMPLE, {}, "1/10", points=3, figure=Path("f.svg"))
    ((out, curves, *axes, title),) = drawn
    assert (out, curves) == (Path("f.svg"), {EXAMPLE.name: ([10.0, 20.0, 40.0], [900.0, 250.0, 200.0])})
    assert [str(axis) for axis in axes] == ["communication rounds", "samples per client"] and "at most 1/10" in title


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=9))
def test_a_front_has_fewer_samples_with_every_point_and_leaves_out_what_another_beats(costs):
    answers = iter(costs)
    with patch.object(sensitivity, "tune", lambda *given, **asked: tuned(*next(answers))):
        front = [tuple(item.cost.values()) for item in pareto(EXAMPLE, {}, "1/10", points=len(costs))]
    best = {(r, s) for r, s in costs if not any(a <= r and b <= s and (a, b) != (r, s) for a, b in costs)}
    assert front == sorted(best)


# --- orders ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "text", "latex"),
    [
        (Order(F(3, 2), F(0)), "eps^-3/2", r"\epsilon^{-3/2}"),
        (Order(F(0), F(-1)), "clients^-1", "K^{-1}"),
        (Order(F(2), F(1, 2)), "eps^-2 clients^1/2", r"\epsilon^{-2}K^{1/2}"),
        (Order(F(0), F(0)), "1", "1"),
    ],
)
def test_an_order_in_words(order, text, latex):
    assert (str(order), order.latex()) == (text, latex) == (order.math().text, order.math().latex)
    assert order.to_dict() == {"eps": str(-order.eps), "clients": str(order.clients)}


def statement(terms, **more):
    return small(terms, **more).statement("printed")


@pytest.mark.parametrize(
    ("terms", "costs", "first", "wanted"),
    [
        ("F_gap/(eta*T) + L*eta*sigma**2/N", {"samples": "T"}, ("samples",), {"samples": (2, -1)}),
        (
            "F_gap/(eta*T) + L*eta*sigma**2/(N*b)",
            {"samples": "T*b", "rounds": "T"},
            ("rounds", "samples"),
            {"samples": (2, -1), "rounds": (1, 0)},
        ),
        (
            "F_gap/(eta*T) + L*eta*sigma**2/N + L**2*eta**2*(p-1)**2*sigma**2",
            {"samples": "T", "rounds": "T/p"},
            ("samples", "rounds"),
            {"samples": (2, -1), "rounds": (F(3, 2), 0)},
        ),
        ("F_gap/(eta*T) + L*eta*N*sigma**2", {"samples": "T"}, ("samples",), {"samples": (2, 1)}),
    ],
)
def test_orders_of_small_statements_by_hand(terms, costs, first, wanted):
    """T ~ 1/(N eps^2) with eta ~ N eps; a batch of 1/(N eps) with T ~ 1/eps; p ~ eps^(-1/2)/N more steps between rounds; clients
    that add noise."""
    found = rates(statement(terms, costs=costs, conditions={"step": "eta <= 1/L"}), first)
    assert {name: (order.eps, order.clients) for name, order in found.costs.items() if name in costs} == wanted
    assert found.minimised == first and found.about is not None


def test_what_an_equality_fixes_has_an_order_too():
    """T ~ 1/(N eps^2) with eta ~ N eps, and eta p L = 1."""
    tied = statement("F_gap/(eta*T) + L*eta*sigma**2/N", costs={"samples": "T"}, conditions={"tied": "eta*p*L == 1"})
    found = rates(tied, ("samples",))
    assert found.schedule == {"T": order(2, -1), "p": order(1, -1), "eta": order(-1, 1)}


def test_orders_have_a_reason_where_there_are_none():
    with is_refused("it has a floor"):
        rates(statement("F_gap/(eta*T) + sigma**2/N*L*eta + L*F_gap", costs={"samples": "T"}), ("samples",))
    with is_refused("no exponents: the negative number -1"):
        rates(statement("F_gap/(eta*T) + L*eta*max(p - 2, 0)*sigma**2", costs={"samples": "T"}), ("samples",))
    with is_refused(r"rounds: not a resource of m\.t"):
        rates(statement("F_gap/(eta*T)", costs={"samples": "T"}))


def test_a_cost_that_falls_without_limit_has_no_order():
    """eta may grow: T/eta falls with it; it is an error only where that is what is minimised."""
    endless = statement("F_gap/(eta*T)", costs={"samples": "T", "rounds": "T/eta"})
    with is_refused(r"^rounds: its exponent has no minimum in m\.t \(printed\)"):
        rates(endless, ("rounds",))
    assert rates(endless, ("samples",)).costs["samples"] == order(0)


def test_a_number_of_steps_that_is_one_where_that_is_cheaper():
    """What `p - 1` multiplies vanishes at 1: no longer period is as cheap in samples where it costs a constant."""
    found = rates(statement("F_gap/(eta*T) + L*eta*sigma**2/N + F_gap*L*(p-1)", costs={"samples": "T"}), ("samples",))
    assert found.at_one == ("p",) and found.costs["samples"].eps == 2
    drift = "F_gap/(eta*T) + L*eta*sigma**2/N + L**2*eta**2*(p-1)**2*sigma**2"
    assert rates(statement(drift, costs={"samples": "T"}), ("samples",)).at_one == (), "a longer period is as cheap"


# --- claims ----------------------------------------------------------------------------------------------------------------------


def order(eps, clients=0):
    return Order(F(eps), F(clients))


@pytest.mark.parametrize(
    ("found", "best", "agrees", "better", "worse"),
    [
        (order(2), order(2), True, (), ()),
        (order(2, -1), order(1, 9), True, ("printed",), ()),
        (order(2, 1), order(2, 1), False, (), ("printed",)),
        (order(3, -9), order(2, -1), False, ("printed",), ()),
        (None, None, False, (), ("printed",)),
        (order(1, 5), order(3, -9), True, (), ("printed",)),
    ],
)
def test_a_claim_beside_what_follows(found, best, agrees, better, worse):
    """The power of 1/eps decides, then that of the clients."""
    claim = claims.Claim("k.samples", "k.corollary", "k.theorem", "Remark 1", "samples", order(2))
    made = claims.Checked(claim, found, {"printed": best})
    assert (made.agrees, made.better, made.worse) == (agrees, better, worse)
    told = made.to_dict()
    assert (told["agrees"], told["better_schedule_in"], told["does_not_follow_in"]) == (
        agrees,
        list(better),
        list(worse),
    )
    assert f" ~ eps^-2 {'follows' if agrees else 'does not follow'}; best inside k.theorem: printed: {best}" in str(
        made
    )
    refuted = replace(made, refuted_by=("k.b",), corrected=order(3))
    assert ("refuted (k.b); the corrected one gives eps^-3;" in str(refuted)) is agrees
    (row,) = claims.sheet([refuted]).tables[0].rows
    assert row[4:6] == (agrees, True) and (row[3] is None) is (found is None) and row[6].text == "eps^-3"
    (row,) = claims.sheet([made]).tables[0].rows
    assert row[5] is False and row[6] is None and told["corrected"] is None


def test_claims_by_resource():
    first, second = claims.claims("k", "corollary_1", "theorem_1", "Remark 1", samples=(4, -1), rounds=(3, 0))
    assert (first.id, first.statement_of, first.general) == ("k.samples", "k.corollary_1", "k.theorem_1")
    assert (first.order, second.order, second.resource) == (order(4, -1), order(3), "rounds")


# --- comparisons -------------------------------------------------------------------------------------------------------------------


COUNTED = dict.fromkeys(("samples", "rounds", "iterations", "model_messages"), "T")
CHARGED = statement("F_gap/(eta*T) + L*eta*sigma**2/N + L*F_gap", costs=COUNTED)
"""A statement with a floor."""


def cells(markdown):
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in markdown.splitlines()]


def test_a_comparison_says_the_same_in_every_medium():
    """Costs in those of the cheapest plain theorem, each assumption once, what has to be said of a statement after its name, and why
    one says nothing."""
    refuted = fedco.theorem("fcsg.theorem_4_1")
    plain = [fedco.theorem(name) for name in ("baselines.local_sgd", "baselines.minibatch_sgd")]
    asked = {"theorems": [refuted, *plain, CHARGED.theorem], "statement": "printed", "cost": "model_messages"}
    found = compare("1/10", {"clients": 4}, **asked)
    *tuned, without = found.rows
    assert [row.theorem for row in found.rows] == [item.id for item in asked["theorems"]]
    assert without.tuned is None and without.reason.startswith("eps: wanted more than") and without.notes == ()
    for cost in ("samples", "rounds"):
        least = min(row.tuned.cost[cost] for row in tuned[1:])
        assert found.against_plain(cost) == {row.theorem: row.tuned.cost[cost] / least for row in tuned}
    times = found.against_plain()
    assert found.against_plain("embedding_messages") == {} == replace(found, rows=tuned[:1]).against_plain()
    head, _, *lines = cells(found.markdown())
    assert head[-1] == "times plain" and "times plain" not in replace(found, rows=tuned[:1]).markdown()
    assert lines[-1][:4] == ["m.t", "printed", "federated", without.reason]
    written = [[f"{row.tuned.cost[name]:.4g}" if name in row.tuned.cost else "" for name in RESOURCES] for row in tuned]
    assert [line[3:] for line in lines[:-1]] == [
        [*costs, f"{times[row.theorem]:.4g}"] for costs, row in zip(written, tuned, strict=True)
    ]
    table = found.sheet().tables[0]
    assert [row[3:-2] for row in table.rows] == [tuple(map(row.tuned.cost.get, RESOURCES)) for row in tuned] + [
        (None,) * 5
    ]
    assert [row[-2] for row in table.rows] == [*times.values(), None] and table.rows[-1][-1] == without.reason
    assert table.bars == relative([*(row.tuned.cost["model_messages"] for row in tuned), None])
    names = [row.about.name for row in tuned]
    groups = {name: [row.tuned.cost[name] for row in tuned] for name in ("samples", "rounds")}
    assert found.plot().data == groups and names[0] == "fcsg.theorem_4_1 (printed)"
    notes = found.sheet().notes
    cautions = [f"{names[0]}: {text}" for text in rendering.notes_about(refuted.statement("printed"))]
    assert len(cautions) == 1 and notes[0] == cautions[0] and all(note in notes for row in tuned for note in row.notes)
    assumed = sorted({text for row in found.rows for text in row.assumed})
    assert notes[-1] == f"assumed: {', '.join(assumed)}" and "objective_gap = 1" in assumed
    said = "cost of metric <= 1/10, each theorem tuned for the fewest model messages"
    assert str(found) == "\n".join([said, found.markdown(), *notes])
    told = found.to_dict()
    assert told["cost"] == "model_messages" and [each["times_plain"] for each in told["rows"]] == [
        *times.values(),
        None,
    ]
    assert [each["cost"] for each in told["rows"]] == [*(row.tuned.cost for row in tuned), None]
    assert [each["values"] and {*each["values"]} for each in told["rows"]] == [
        *({*row.tuned.values} for row in tuned),
        None,
    ]
    every = (
        {name: f"{100}" for name in found.quantities} | {text.split(" = ")[0]: 1 for text in assumed} | {"clients": 4}
    )
    certain = compare("1/10", every, theorems=[CHARGED.theorem])
    assert certain.sheet().notes == ()


def test_what_stands_for_a_quantity_that_is_not_given(monkeypatch):
    """What is given, the first of its stand-ins that is, or one; a hyperparameter is chosen, unless it has a value without choice."""
    known = {"G": {"stand_ins": ("b", "c")}, "p": {"default": 10}}
    symbols = {
        name: replace(each, quantity=replace(each.quantity, **known.get(name, {"stand_ins": ()})))
        for name, each in EXAMPLE.symbols.items()
    }
    asked = []
    monkeypatch.setattr(type(EXAMPLE.theorem), "symbols", lambda theorem, label: symbols)
    monkeypatch.setattr(
        comparison, "known_quantities", lambda theorems: {"b", "c", *(s.quantity.name for s in symbols.values())}
    )

    def out_of_reach(statement, values, **words):
        asked.append(values)
        raise InputError("out of reach")

    monkeypatch.setattr(comparison, "tune", out_of_reach)
    name = {key: each.quantity.name for key, each in symbols.items()}
    for told, value, assumed in (
        ({name["G"]: 3, "b": 4}, 3, None),
        ({"c": 5, "b": 4}, 4, "b"),
        ({"c": 5}, 5, "c"),
        ({}, 1, "1"),
    ):
        (found,) = compare("1/10", theorems=[EXAMPLE.theorem], quantities={**told, name["p"]: 2}).rows
        assert asked[-1]["G"] == value and asked[-1]["p"] == 2 and not {"eta", "T"} & set(asked[-1])
        assert [text for text in found.assumed if text.startswith(f"{name['G']} ")] == (
            [f"{name['G']} = {assumed}"] if assumed else []
        )
        assert f"{name['L']} = 1" in found.assumed
    compare("1/10", theorems=[EXAMPLE.theorem])
    assert asked[-1]["p"] == 10


def test_which_quantities_a_comparison_takes():
    known = comparison.known_quantities([EXAMPLE.theorem])
    assert {"local_smoothness", "clients", "participation"} <= known and not {"step_size", "iterations"} & known


def test_what_no_comparison_takes():
    one = [EXAMPLE.theorem]
    for words, message in (
        ({"cost": "money"}, "'money': not a resource"),
        ({"statement": "best"}, "best: not a statement"),
        ({"kind": "convex"}, "'convex': not a kind"),
        ({"quantities": {"clients": "many"}}, "clients"),
    ):
        with is_refused(message):
            compare("1/10", theorems=one, **words)
    assert (
        compare("1/10", theorems=one, kind="federated", cost="iterations", statement="corrected").rows[0].statement
        == "printed"
    )


def test_targets_without_an_answer_are_left_out_of_a_curve(monkeypatch):
    drawn = {}
    monkeypatch.setattr(pictures, "lines_picture", lambda out, curves, *axes: drawn.update(curves))
    theorems, targets = [EXAMPLE.theorem, CHARGED.theorem], [0.5, 2.0]
    comparison.figure(Path("f.svg"), targets, theorems=theorems)
    spent = [[row.tuned and row.tuned.cost["samples"] for row in compare(e, theorems=theorems).rows] for e in targets]
    assert spent[0][1] is None and drawn == {
        EXAMPLE.name: (targets, [first for first, _ in spent]),
        CHARGED.name: (targets[1:], [spent[1][1]]),
    }


def test_a_table_of_orders():
    fine = statement("F_gap/(eta*T) + L*eta*sigma**2", costs=COUNTED)
    refuted = fedco.theorem("fcsg.theorem_4_1")
    made = comparison.orders(None, ("printed", "corrected"), [CHARGED.theorem, fine.theorem, refuted])
    without, plain, printed, corrected = made.rows
    assert (without.costs, without.reason) == ({}, "no schedule makes this bound small; it has a floor")
    assert plain.reason == "" and {str(each) for each in plain.costs.values()} == {"eps^-2"}
    assert (printed.statement, corrected.statement) == ("printed", "corrected")
    lines = cells(made.markdown())[2:]
    ordered = ("samples", "rounds", "iterations")
    texts = [[str(row.costs[name]) for name in ordered] for row in made.rows[1:]]
    assert lines[0] == ["m.t", "printed", "federated", without.reason, "", ""]
    assert [line[3:] for line in lines[1:]] == texts
    first, *others = made.sheet().tables[0].rows
    assert first[3:] == (None, None, None, without.reason)
    assert [[cell.text for cell in row[3:6]] for row in others] == texts and [row[6] for row in others] == [""] * 3
    drawn = {name: [float(row.costs[name].eps) for row in made.rows[1:]] for name in ("samples", "rounds")}
    assert made.plot().data == drawn
    cautions = tuple(f"{printed.about.name}: {text}" for text in rendering.notes_about(printed.about))
    assert cautions and made.sheet().notes == cautions and str(made).splitlines()[-len(cautions) :] == [*cautions]
    assert made.to_dict()["rows"] == [row.to_dict() for row in made.rows]
    assert all(cost == {"eps": "-2", "clients": "0"} for cost in plain.to_dict()["costs"].values())


# --- costs -------------------------------------------------------------------------------------------------------------------------


def test_a_resource_that_is_not_counted_is_named_with_those_that_are():
    assert instead("rounds", ["samples", "T"], EXAMPLE).startswith("it has samples T; not counted: rounds")
    assert instead("rounds", [], EXAMPLE).startswith("it has none; not counted: rounds (communication rounds): ")
    assert instead("samplse", ["samples"], EXAMPLE) == "the nearest is samples"


def test_what_need_not_be_said_of_a_method(monkeypatch):
    """A file's method counts with a batch of 1; one of fedco's own does not where an option is not in its formulas."""
    assert counts.DEFAULTS == {"b": 1}
    known = [
        SimpleNamespace(name="tau", annotation="int", default=4, required=False),
        SimpleNamespace(name="mu", annotation="Scalar", default=1.5, required=False),
        SimpleNamespace(name="m", annotation="int", default=True, required=False),
    ]
    own = SimpleNamespace(hyperparameters=known, costs={"rounds": "T/tau"}, uncounted=(), quantities={})
    monkeypatch.setattr(counts, "declared", lambda: {"own": own})
    steps = EXAMPLE.theorem.notation["T"].symbol

    def counted(**options):
        call = MethodCall("own", values, options=options)
        return counts.method_costs(replace(EXAMPLE.theorem, method=call))

    values = {}
    assert counted() == {"rounds": steps / 4}
    values = {"tau": sp.Integer(1)}
    assert counted() == counted(mu=2) == {"rounds": steps} and counted(m=2) == {}


ROOM = {"F_gap": 1, "sigma": 1, "L": 1, "N": 4}


def planned(eta):
    """A statement with a schedule that its conditions leave open."""
    terms = "F_gap/(eta*T) + L*eta*sigma**2/N"
    return replace(statement(terms, costs={"samples": "T", "rounds": "T"}, schedule={"eta": eta}), conditions=())


def test_a_complexity_without_a_schedule_or_an_order_says_so():
    free = complexity.complexity(CHARGED, ROOM, 3)
    assert (free.paper, free.paper_note) == (None, "the statement has no schedule of its own")
    assert free.rates is None and free.rates_note == "m.t (printed): no schedule makes this bound small; it has a floor"
    assert free.notes[1:4] == (free.tuned.how, free.paper_note, free.rates_note) and "vacuous" in free.notes[0]
    found = complexity.complexity(planned("1/L"), ROOM, "1/10")
    assert found.paper is None and found.paper_note.startswith("with the paper's schedule: eps: wanted more than 0.25")
    assert found.to_dict()["paper"] is None and found.to_dict()["paper_note"] == found.paper_note
    assert [*found.plot().data] == ["tuned"] and {line[2] for line in found.sheet().tables[0].rows} == {None}


def test_a_complexity_beside_the_papers_schedule_and_the_orders():
    """What a part knows of its statement is said once, for all of them."""
    statement = planned("1/(L*sqrt(T))")
    both = complexity.complexity(statement, ROOM, "1/10")
    tuned, paper, powers = both.tuned.cost, both.paper.cost, both.rates.costs
    names = [MEANING[name] for name in tuned]
    assert both.plot().data == {"tuned": [*tuned.values()], "paper's schedule": [*paper.values()]}
    assert all(tuned[name] < paper[name] for name in tuned) and both.paper_note == both.rates_note == ""
    rows = both.sheet().tables[0].rows
    assert [line[:3] for line in rows] == [*zip(names, tuned.values(), paper.values(), strict=True)]
    assert [line[3] and line[3].text for line in rows] == [
        str(powers[name]) if name in powers else None for name in tuned
    ]
    assert [made.name for made in both.sheet().tables] == ["costs", "schedule", "binding limits", "constants"]
    assert cells(both.markdown())[2:] == [
        [MEANING[n], f"{tuned[n]:.6g}", f"{paper[n]:.6g}", str(powers.get(n, ""))] for n in tuned
    ]
    eta = both.tuned.bound.numbers["eta"]
    assert f"tuned: eta = {eta:.10g}, T = {tuned['samples']:.0f}\n{both.tuned.how}" in str(both)
    known = rendering.status_of(statement)
    told = {"tuned": both.tuned.numbers_only(), "paper": both.paper.numbers_only(), "rates": both.rates.numbers_only()}
    head = {"theorem": "m.t", "statement": "printed", "eps": "1/10", "paper_note": "", "rates_note": ""}
    certain = {
        "certificate": both.tuned.certificate,
        **both.tuned.bound.worth.to_dict(),
        "missing_costs": both.tuned.missing_costs,
    }
    assert both.to_dict() == {**head, **told, **certain, **known}
    assert not any(known.keys() & part.keys() for part in told.values())


def test_orders_are_drawn_by_their_power_of_the_target():
    found = rates(EXAMPLE)
    costs, schedule = found.sheet().tables
    assert [line[2:] for line in costs.rows] == [(float(o.eps), float(o.clients)) for o in found.costs.values()]
    assert costs.bars == relative(float(order.eps) for order in found.costs.values())
    assert [line[1].text for line in schedule.rows] == [str(order) for order in found.schedule.values()]
    assert found.plot().data == {"cost": [float(order.eps) for order in found.costs.values()]}


def test_costs_are_drawn_on_logarithmic_axes_and_powers_are_not():
    one = statement("F_gap/(eta*T) + L*eta*sigma**2/N", costs={"samples": "T", "rounds": "T"})
    answers = (
        complexity.complexity(one, ROOM, "1/10"),
        compare("1/10", theorems=[one.theorem]),
        comparison.orders(None, ("printed",), [one.theorem]),
        rates(one),
        elasticities(one, ROOM | {"eta": 1, "T": 9}),
    )
    drawn = [each.plot() for each in answers]
    assert [plot.figure.axes[0].get_xscale() for plot in drawn] == ["log", "log", "linear", "linear", "linear"]
    assert [plot.title for plot in drawn[2:]] == [
        "Orders of the cheapest schedule",
        "m.t (printed): orders",
        "m.t (printed): sensitivity",
    ]


def test_orders_of_a_statement_without_clients():
    found = rates(statement("F_gap/(eta*T) + L*eta*sigma**2", costs={"samples": "T"}), ("samples",))
    assert found.costs["samples"] == order(2) and found.schedule["eta"] == order(-1)


def test_a_cost_may_have_every_symbol_of_a_statement():
    counted = small("1/T", units=["objective_gap", "step_size"], costs={"samples": "2*T"})
    assert resource(counted.statement("printed"), "samples") == 2 * counted.notation["T"].symbol


def test_a_resource_that_a_statement_does_not_have():
    with is_refused() as caught:
        resource(EXAMPLE, "embedding_messages")
    offered = str(caught.value).partition("it has ")[2].partition(";")[0].split()
    assert {*offered} == {"iterations", "rounds", "samples", "model_messages", "eta", "p", "N", "T"}
    assert resource(EXAMPLE, "p") == EXAMPLE.symbols["p"].symbol


def test_a_theorem_per_round_counts_the_steps_of_its_rounds():
    method, symbols = {"name": "local_sgd", "eta": "eta", "tau": "K"}, {"R": "rounds", "K": "communication_period"}
    theorem = small("2*F_gap/(eta*K*R)", symbols=symbols, conditions={"step_size": "eta*K <= 1/L"}, method=method)
    costs = counts.method_costs(theorem)
    assert str(costs["iterations"]) == "K*R" and str(costs["rounds"]) == "R"


def test_the_points_of_a_front_are_different_trades():
    """Between the two ends a round has one price after the other, and the cheapest schedules differ."""
    given = {name: value for name, value in POINT.items() if name not in ("eta", "p", "T")}
    front = pareto(EXAMPLE, given, "1/10", points=6)
    rounds, samples = ([t.cost[name] for t in front] for name in ("rounds", "samples"))
    assert len(front) >= 3
    assert all(a < b for a, b in pairwise(rounds))
    assert all(a > b for a, b in pairwise(samples))


def test_orders_of_a_kind_that_there_is_not_are_refused():
    with is_refused("not a kind"):
        orders("convex")
    assert {row.kind for row in orders("conditional", ("printed",)).rows} == {"conditional"}


def test_orders_are_printed_with_their_schedule():
    found = rates(fedco.theorem("fcsg.theorem_4_1").statement("printed"))
    (line,) = [line for line in str(found).splitlines() if line.startswith("  with ")]
    assert line == "  with " + ", ".join(f"{name} ~ {order}" for name, order in found.schedule.items())
    assert set(found.schedule) >= {"alpha", "q", "m", "T"} and "  samples ~ " in str(found)
