"""A uniform set drawn at a step, the end of a round, lemmas taken as true: what the kernel refuses, and what is true by enumeration."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from functools import cache
from itertools import combinations
from random import Random

import pytest
from altered import refused as refused_by_check
from altered import with_method, with_stated
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.theorem import Assumption
from fedco.bounds.proof.derivations import checked_steps, derivation, prove
from fedco.bounds.proof.kernel import (
    ONE,
    Act,
    App,
    Assume,
    Function,
    Index,
    Mean,
    NoisyDrift,
    Param,
    ProofError,
    Quantity,
    RandomSet,
    Reader,
    Setting,
    Signomial,
    Source,
    Sum,
    Var,
    Variable,
    check,
    parameter,
    scalar,
    sq,
)
from fedco.bounds.proof.kernel.facts import Equation, State
from fedco.bounds.proof.kernel.region import Region
from fedco.bounds.proof.kernel.scalars import One
from rewritten import rewritten

N, M, T = parameter("n", count=True), parameter("m"), parameter("T", count=True)
SHARE = Param("share", positive=False)
S = SHARE.number
SIZES = {"few": N - M, "some": M - 1}
X = Var("x")


def weights(step=0):
    return App("chosen", Sum(()), (step,))


def setting(**changes):
    told = {
        "indices": (Index("i", N), Index("b", N, True)),
        "sources": (Source("set", (), "drawn"), Source("z", ("i",), "z")),
        "chosen": Function("chosen", "x", ("x", "x"), ("set",), frozenset({"i"}), frozenset({"i"})),
        "others": (Function("f", "x", "x", ("z",), frozenset({"i"}), frozenset({"i"})),),
    } | changes
    free = (Variable("x", "x", frozenset({"i"})), Variable("y", "x"))
    return Setting(told["indices"], told["sources"], (told["chosen"], *told["others"]), free)


def state(axiom=None, quotient=(N - M, M * (N - 1)), conditions=SIZES, **changes):
    region = Region(dict(conditions), quotients={SHARE: quotient} if quotient else {})
    axiom = axiom or RandomSet("drawn", "chosen", "i", M, S)
    return State(setting(**changes), {}, {"set": axiom}, region, T, N)


def test_the_mean_over_a_set():
    found = Assume("set", (Act(weights(), X),)).apply(state())
    assert found.equal and found.uses == {"drawn", "few", "some"}
    assert found.form == Assume("set", (Act(weights(), 1 * X),)).apply(state()).form
    mean = Assume("set", (Act(weights(None), X),)).apply(state())
    assert isinstance(mean, Equation) and "few" in mean.uses
    small = Assume("set").apply(state())
    assert small.phases is None and small.table == {One(): S * M - 1}


REFUSED = {
    "is not": [
        {"quotient": (N - M, M * N)},
        {"quotient": (N - M, N - 1)},
        {"quotient": (M - N, M * (N - 1))},
        {"quotient": (N - M + 1, M * (N - 1))},
        {"quotient": (Signomial(), Signomial())},
        {"quotient": (T * (N - M), M * (N - 1))},
        {"quotient": None},
        {"axiom": RandomSet("drawn", "chosen", "i", M, 2 * S)},
        {"axiom": RandomSet("drawn", "chosen", "i", M, (N - M) / M)},
        {"axiom": RandomSet("drawn", "chosen", "i", M - 1, S)},
    ],
    "may be empty": [{"conditions": {"few": N - M}}],
    "may be larger": [{"conditions": {"some": M - 1}}],
    "one set is drawn": [
        {"sources": (Source("set", ("i",), "drawn"), Source("z", ("i",), "z"))},
        {"axiom": RandomSet("z", "chosen", "i", M, S)},
    ],
    "wanted operators": [
        {"axiom": RandomSet("drawn", "chosen", "b", M, S)},
        {"axiom": RandomSet("drawn", "f", "i", M, S)},
        {"chosen": Function("chosen", "x", ("x", "d"), ("set",), frozenset({"i"}), frozenset({"i"}))},
        {"chosen": Function("chosen", "x", ("x", "x"), ("set", "z"), frozenset({"i"}), frozenset({"i"}))},
        {"chosen": Function("chosen", "x", ("x", "x"), ("set",), frozenset({"i"}), frozenset({"i"}), label="x")},
    ],
    "stands for the set alone": [
        {"others": (Function("f", "x", "x", ("set",), frozenset({"i"}), frozenset({"i"})),)},
        {"indices": (Index("i", N, first=N), Index("b", N, True))},
    ],
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_wrong_declaration_is_refused(message):
    for changes in REFUSED[message]:
        with pytest.raises(ProofError, match=message):
            Assume("set", (Act(weights(), X),)).apply(state(**changes))


def test_a_vector_that_depends_on_the_set_is_refused():
    """Its mean over the set need not be that of all: the vector could be 0 outside the set."""
    drawn = Act(weights(), X)
    for vector in (drawn, Mean("i", drawn), X + App("f", Mean("i", drawn), (0,))):
        with pytest.raises(ProofError, match="depends on the sample"):
            Assume("set", (Act(weights(), vector),)).apply(state())
    later = App("f", Mean("i", Act(weights(-1), X)), (0,))
    assert Assume("set", (Act(weights(), later),)).apply(state()).equal, "an earlier set is another one"


def test_other_terms_are_refused():
    for terms in ((X,), (Act(weights(), X), X), (Act(App("chosen", Var("y"), (0,)), X),)):
        with pytest.raises(ProofError):
            Assume("set", terms).apply(state())


def test_the_mean_over_a_set_by_enumeration():
    """Every n to 5 and m to n: mean, second moment and s m <= 1, attained by m = 1; n = 1 has no variance."""
    rng, fact = Random(0), Assume("set", (Act(weights(), X),)).apply(state())
    largest = Q(0)
    for n in range(1, 6):
        for m in range(1, n + 1):
            share = Q(n - m, m * (n - 1)) if n > m else Q(0)
            values = {p: v for p, v in (*((q, Q(n)) for q in N.params), *((q, Q(m)) for q in M.params))} | {
                SHARE: share
            }
            v = [Q(rng.randint(-9, 9)) for _ in range(n)]
            means = [sum(chosen) / Q(m) for chosen in combinations(v, m)]
            exact = sum(each**2 for each in means) / len(means)
            _, right = fact.sides
            (_, first), (_, second) = right.parts
            assert [sq(Mean("i", X)), sq(X)] == [scalar(second), scalar(first)]
            squares = sum(each**2 for each in v) / n, (sum(v) / n) ** 2
            bound = sum(c.at(values) * number for (c, _), number in zip(right.parts, squares, strict=True))
            assert exact == bound and sum(means) / len(means) == sum(v) / n
            largest = max(largest, share * m)
    assert largest == 1


# --- what a round would end with --------------------------------------------------------------------------------------

MAIN = "meta_fl.theorem_8"


def plan():
    return derivation(get_theorem(MAIN))


@cache
def established():
    return checked_steps(plan(), get_theorem(MAIN), "corrected")


def test_another_end_is_refused():
    (step,) = (s for s in plan().steps if s.name == "drift, end")
    state = established().state.copy()
    for end, message in (("Lambda", "not the squared norm after another step"), ("wished", "no such quantity")):
        with pytest.raises(ProofError, match=message):
            replace(step.rule, end=end).apply(state)
    half = Quantity("half", Q(1, 2) * state.quantities["Lambda_end"].meaning)
    state.quantities = {**state.quantities, "half": half}
    with pytest.raises(ProofError, match="not the squared norm after another step"):
        replace(step.rule, end="half").apply(state)
    assert isinstance(step.rule, NoisyDrift) and step.rule.apply(established().state.copy())


# --- lemmas, whole numbers, constants without a formula ---------------------------------------------------------------


def refused(message, **changes):
    found = check(replace(plan(), **changes), get_theorem(MAIN))
    assert not found.accepted and not found.checked and message in found.failure, found.failure


def test_a_lemma_must_be_about_the_same_constants():
    smooth, estimate, similar = plan().lemmas
    for i, lemma in enumerate(plan().lemmas):
        said = lemma.theorem.statement(lemma.label)
        doubled = tuple(replace(d, expr=2 * d.expr) for d in said.derived)
        other = replace(lemma, theorem=with_statement(lemma.theorem, replace(said, derived=doubled)))
        lemmas = (*plan().lemmas[:i], other, *plan().lemmas[i + 1 :])
        refused(f"the constant {lemma.constants[0]} is not that", lemmas=lemmas)
    refused("does not rest on itself", lemmas=(*plan().lemmas, replace(smooth, theorem=get_theorem(MAIN))))
    refused("needs steps", lemmas=(smooth, replace(estimate, label="printed"), similar))
    refused("gamma_F: no symbol of the theorem", lemmas=(smooth, estimate))
    more = (*similar.theorem.assumptions, Assumption("wished for", "something else"))
    wishing = replace(similar, theorem=replace(similar.theorem, assumptions=more))
    refused("assumes 'wished for', which the theorem does not list", lemmas=(smooth, estimate, wishing))
    stronger = replace(smooth.theorem, assume=(*smooth.theorem.assume, "no_extra_term"))
    refused("assumes more of a problem", lemmas=(replace(smooth, theorem=stronger), estimate, similar))
    other = replace(similar.theorem, problem="federated")
    refused("other problems", lemmas=(smooth, estimate, replace(similar, theorem=other)))


def test_what_is_given_is_said():
    found = check(plan(), get_theorem(MAIN))
    assert found.accepted and not found.checked
    assert found.given == ("meta_fl.lemma_4 printed", "meta_fl.lemma_6 corrected", "meta_fl.lemma_7 corrected")
    data = found.to_dict()
    assert data["checked"] is False and data["accepted"] is True and data["given"] == list(found.given)
    assert "checked given meta_fl.lemma_4 printed" in str(found)
    assert any(row.startswith("gamma_F: any nonnegative number") for row in found.reading)
    assert {"3", "5"} <= set(prove(get_theorem(MAIN)).assumptions), "what the lemmas assume"


def test_the_number_of_steps_is_that_of_the_rounds_times_the_steps_of_one():
    assert established().state.horizon == established().state.period * Reader(
        get_theorem(MAIN), get_theorem(MAIN).statement()
    ).read(get_theorem(MAIN).notation.namespace().K)


def test_a_name_of_an_assumption_and_of_a_condition_is_refused():
    found = check(plan(), with_stated(get_theorem(MAIN), "conditions", "step_size", name="batches"))
    assert not found.accepted and "'batches' is the name of two of the assumptions" in found.failure


# --- a method that a theorem names ------------------------------------------------------------------------------------

SAMPLED = get_theorem("library.sampled_sgd")


@pytest.mark.parametrize("formula", ["N - 1", "", "N", "2", "r*N + 1", "N/2 + 1/2"])
def test_another_number_of_clients_is_refused(formula):
    """N - 1 is r N at both points at which the code is compared: both locks accepted it, and it is false where r = 1."""
    assert check(derivation(SAMPLED), with_method(SAMPLED, m="N*r"), "printed").accepted
    why = "for the clients that take part, the statement's are N*r"
    refused_by_check(with_method(SAMPLED, m=formula), derivation(SAMPLED), why)


def test_a_method_without_sets_of_clients_is_refused():
    other = with_method(SAMPLED, "minibatch_sgd")
    refused_by_check(other, derivation(SAMPLED), "minibatch_sgd gets [] for the clients")


@pytest.mark.parametrize(
    ("term", "formula"),
    [
        ("heterogeneity", "0*zeta"),
        ("heterogeneity", "r*s*L_bar*eta*zeta**2"),
        ("heterogeneity", "s*L_bar*eta*zeta**2/2"),
        ("variance", "L_bar*eta*sigma**2/(N*b)"),
        ("variance", "L_bar*eta*sigma**2/(r*N**2*b)"),
    ],
)
def test_what_clients_that_are_left_out_cost_is_not_left_out(term, formula):
    with pytest.raises(ProofError, match="the statement"):
        derivation(rewritten(SAMPLED, {term: formula}))


# --- a quotient by its definition -------------------------------------------------------------------------------------


def test_a_quotient_is_what_it_is_by_its_definition():
    region = Region({}, quotients={SHARE: (N - M, M * (N - 1))})
    gap = region.slack("share defined")
    assert gap == N - M - S * M * (N - 1) and region.slack("share defined reversed") == -gap
    n, m = (next(iter(each.params)) for each in (N, M))
    for size, chosen in ((1, 1), (2, 1), (5, 3), (4, 4)):
        point = region.constants_at({n: Q(size), m: Q(chosen)})
        assert gap.at(point) == 0, "also where it is 0/0"
    assert region.certified(gap, ((ONE, ("share defined",)),))
    assert not region.certified(gap - S, ((ONE, ("share defined",)),))
    with pytest.raises(ProofError, match="not a condition"):
        region.slack("another defined")


def test_a_constant_may_be_a_quotient_and_keeps_its_name():
    reader = Reader(SAMPLED, SAMPLED.statement("printed"))
    ((param, (above, below)),) = reader.quotients.items()
    assert param.name == "s" and (above, below) == (1 - reader.r, reader.r * (reader.N - 1))
    assert "s" not in {each.name for each in reader.formulas}
