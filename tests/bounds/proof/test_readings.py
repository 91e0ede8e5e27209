"""Assumptions, constants, metric, horizon and period are read off the statement: what a derivation types cannot make it weaker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from altered import with_declared, with_entry, with_quantity, with_stated
from fedco.bounds import get_theorem
from fedco.bounds.language.bounding import MEAN_SQUARE, NOISE, PARTICIPANTS, SAMPLE, SERVER_MODEL, SIZE
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.rendering import describe
from fedco.bounds.language.theorem import Assumption
from fedco.bounds.proof.derivations import derivation, prove, verdict
from fedco.bounds.proof.kernel import (
    App,
    Assumed,
    Bounded,
    Function,
    Given,
    IndependentMean,
    Known,
    Lipschitz,
    LowerBound,
    Pair,
    ProofError,
    RandomSet,
    Reader,
    Smooth,
    Start,
    StartValue,
    Step,
    Sum,
    Var,
    Variance,
    check,
    run_through,
    signomial,
    sq,
    value,
)
from fedco.bounds.proof.kernel.derivation import begin
from quick import slow_but

POOLED, LOCAL, UNLIKE = (
    get_theorem(f"baselines.{name}") for name in ("minibatch_sgd", "local_sgd", "local_sgd_heterogeneity")
)
DRO, META, DRAWN = (get_theorem(name) for name in ("feddro.theorem_5_1", "meta_fl.theorem_8", "comfedl.theorem_1"))
THOUSAND = 1000


def refused(theorem, message, plan=None, **changes):
    """The kernel refuses the derivation with other declarations, and says why."""
    found = verdict(replace(plan or derivation(get_theorem(theorem.id)), **changes), theorem)
    assert not found.accepted and message in found.failure, found.failure or "accepted"


def with_axioms(theorem, **changed):
    return {"axioms": {**derivation(theorem).axioms, **changed}}


def divided(theorem, name):
    """The theorem with one of its terms a thousandth of what it is."""
    return with_stated(theorem, "terms", name, expr=theorem.statement().term(name).expr / THOUSAND)


# --- constants --------------------------------------------------------------------------------------------------------


def test_gradient_descent_with_a_step_of_1000_over_L_is_refused():
    """With a typed constant L/1000 it was accepted."""
    statement = POOLED.statement()
    wide = tuple(replace(c, right=THOUSAND * c.right) for c in statement.conditions)
    theorem = with_statement(
        divided(POOLED, "variance"), replace(divided(POOLED, "variance").statement(), conditions=wide)
    )
    L = Reader(theorem, theorem.statement()).L_bar
    refused(theorem, "step descent")
    for typed in (Smooth("smoothness", "F", L / THOUSAND), Lipschitz("smoothness", "dF", L / THOUSAND)):
        refused(theorem, "read off, not typed", **with_axioms(POOLED, smoothness=typed))


@pytest.mark.parametrize(
    ("theorem", "term", "axiom", "typed"),
    [
        (POOLED, "variance", "noise", lambda s: Variance("noise", "dF", s.sigma / THOUSAND)),
        (POOLED, "initialisation", "infimum", lambda s: LowerBound("infimum", "F", s.F_gap / THOUSAND)),
        (LOCAL, "drift", "bounded gradients", lambda s: Bounded("bounded gradients", "dF", s.G / THOUSAND, True)),
        (
            DRO,
            "inner_initialisation",
            "y_err of Y",
            lambda s: StartValue("Algorithm 2, line 2", "Y", s.y_err**2 / THOUSAND, -1),
        ),
        (META, "sampling", "set", lambda s: RandomSet("drawn clients", "chosen", "i", s.n, signomial(0))),
    ],
)
def test_a_constant_is_never_typed(theorem, term, axiom, typed):
    """The variance of sigma/1000, the gap of F_gap/1000, ...: what is handed in is refused, and what is read off does not give it."""
    smaller = divided(theorem, term)
    refused(smaller, "")
    refused(
        smaller, "read off, not typed", **with_axioms(theorem, **{axiom: typed(Reader(theorem, theorem.statement()))})
    )


def test_a_symbol_says_what_its_quantity_bounds_and_nothing_else():
    plan = derivation(DRO)
    for wrong, message in (
        (Assumed("B_g", "dg", per=SAMPLE), "B_g says nothing of dg every sample"),
        (Assumed("B_g", "dg", SIZE, MEAN_SQUARE), "says nothing of dg"),
        (Assumed("L_h", "dg"), "L_h says nothing of dg"),
        (Assumed("sigma_g", "dh"), "sigma_g says nothing of dh"),
        (Assumed("Delta_h", "dh", NOISE), "Delta_h says nothing of dh standard deviation"),
        (Assumed("eta", "dg"), "it bounds nothing"),
        (Assumed("L_Phi", "Phi"), "L_Phi: no symbol of the theorem"),
        (Assumed("L_f", "wished"), "nothing that a symbol could bound"),
    ):
        refused(DRO, message, axioms={**plan.axioms, "wish": wrong})


def test_the_entry_of_the_list_is_the_one_that_states_the_bound():
    state = begin(derivation(DRO), DRO).state
    entries = {name: axiom.assumption for name, axiom in state.axioms.items()}
    assert (entries["B_g of g"], entries["B_g of dg"]) == ("1 (Lipschitz)", "not stated: mean map")
    refused(
        with_entry(DRO, "not stated: mean map", bounds=()),
        "no assumption of the theorem states what B_g bounds of grad g_k",
    )
    twice = (*DRO.assumptions, Assumption("again", "L_f once more", ("L_f",)))
    refused(replace(DRO, assumptions=twice), "2 assumptions of the theorem state what L_f bounds")


def test_the_gap_is_that_of_the_mean_model_and_the_first_error_that_of_the_estimate():
    plan = derivation(DRO)
    other = {q.name: q for q in plan.quantities}
    for name, meaning, message in (
        ("Phi", value("Phi", Var("x", 1)), "Phi is not the value of the objective at"),
        ("Y", 2 * other["Y"].meaning, "Y is not the squared distance"),
        ("Y", sq(Var("y")), "Y is not the squared distance"),
    ):
        refused(DRO, message, with_quantity(plan, name, meaning))


# --- what the declarations rest on --------------------------------------------------------------------------------------


def changed_setting(theorem, kind, name, **changes):
    return {"setting": with_declared(derivation(theorem), kind, name, **changes).setting}


@pytest.mark.parametrize("theorem", [UNLIKE, DRO])
def test_clients_are_not_identical(theorem):
    """`identical` named no assumption, and clients declared so were accepted."""
    (client, *_), entry = derivation(theorem).setting.indices, derivation(theorem).setting.sources[0].independent
    refused(
        theorem, "the clients are not identical", **changed_setting(theorem, "indices", client.name, identical=entry)
    )


def test_the_law_of_a_batch_is_an_assumption_that_is_listed():
    refused(
        LOCAL,
        "'wished for' is not in the theorem's list",
        **changed_setting(LOCAL, "indices", "i", identical="wished for"),
    )
    refused(
        LOCAL, "does not say that all samples of a batch", **changed_setting(LOCAL, "indices", "i", identical="noise")
    )


def test_the_size_of_an_index_is_that_of_the_statement():
    s = Reader(LOCAL, LOCAL.statement())
    refused(LOCAL, "is not the size of the clients", **changed_setting(LOCAL, "indices", "n", size=s.N**2))
    refused(LOCAL, "is not the size of the clients", **changed_setting(LOCAL, "indices", "n", size=s.b))
    refused(LOCAL, "is not the size of the batch", **changed_setting(LOCAL, "indices", "i", size=s.T))
    refused(LOCAL, "is not the size of the batch", **changed_setting(LOCAL, "indices", "i", size=1000 * s.b))
    refused(LOCAL, "wanted an index of", **changed_setting(LOCAL, "indices", "i", of="wished"))


def test_a_set_without_replacement_has_no_independent_places():
    """With a source for each place, the places of a uniform set were as good as drawn with replacement."""
    refused(DRAWN, "drawn together, not independently", **changed_setting(DRAWN, "sources", "draw", joint=()))
    plan = derivation(DRAWN)
    own = (*plan.setting.functions, Function("q", "x", "x", (), label="c", role="local_gradient"))
    progress = begin(replace(plan, setting=replace(plan.setting, functions=own)), DRAWN)
    past, drawn = Known.before(("xi", "zeta", "draw")), App("q", Pair(Var("p"), App("draw", Sum(()), (0,))))
    with pytest.raises(ProofError, match="may depend on each other over k"):
        progress.after(Step("wish", IndependentMean(drawn - Given(past, drawn), "k", past)))
    with pytest.raises(ProofError, match="does not say that a uniform set"):
        begin(replace(plan, **changed_setting(DRAWN, "sources", "draw", independent="not stated: batches")), DRAWN)


def test_one_case_of_several_is_not_the_theorem():
    """With equal inner maps alone the theorem for line 13 or none was accepted."""
    theorem = get_theorem("local_scgdm.theorem_3_4")
    plan = derivation(theorem)
    for name, case in plan.cases:
        found = verdict(case, theorem)
        assert found.accepted and not found.checked and "the other cases" in found.given[0]
        if name == "A":
            refused(theorem, "covers one of them only", case, either="")
    bare = replace(plan, cases=tuple((name, replace(case, either="3.1")) for name, case in plan.cases))
    assert "no case of" in verdict(bare, theorem).failure


def test_every_structural_assumption_names_an_entry_that_says_it():
    refused(LOCAL, "does not say that the samples of a step", time="noise")
    refused(
        LOCAL,
        "does not say that the samples in a batch",
        **changed_setting(LOCAL, "sources", "xi", independent="noise"),
    )
    refused(LOCAL, "does not say that the objective", **changed_setting(LOCAL, "objectives", "F", assumption="noise"))
    apart = derivation(LOCAL).axioms["start"].term
    refused(LOCAL, "does not say that the variables", **with_axioms(LOCAL, start=Start("noise", apart)))
    silent = tuple(replace(a, says=()) for a in LOCAL.assumptions)
    refused(replace(LOCAL, assumptions=silent), "does not say")


def test_a_start_says_where_a_variable_of_the_method_starts_and_no_more():
    apart, x = derivation(LOCAL).axioms["start"].term, Var("x")
    for term in (
        x,
        2 * x - Var("p"),
        x - App("dF", Var("p"), (None,)),
        Var("p") - Var("r"),
        x - Given(Known(), x),
        x - Var("p"),
    ):
        refused(LOCAL, "does not say where a variable starts", **with_axioms(LOCAL, start=Start("start", term)))
    refused(LOCAL, "another start says", **with_axioms(LOCAL, again=Start("start", apart)))


def test_the_objective_and_its_functions_are_those_of_the_kind_of_problem():
    plan = derivation(LOCAL)
    gradient = plan.setting.objectives[0].gradient
    refused(
        LOCAL,
        "is not the gradient of the objective",
        **changed_setting(LOCAL, "objectives", "F", gradient=gradient / 2),
    )
    for role, message in (
        ("wished", "wanted the role"),
        ("outer_gradient", "wanted one function that is the local_gradient"),
    ):
        refused(LOCAL, message, **changed_setting(LOCAL, "functions", "dF", role=role))
    refused(replace(LOCAL, problem="minimax"), "no kind of problem whose objective the kernel knows")
    noisy = changed_setting(DRO, "functions", "df", index=frozenset("k"), mean_index=frozenset("k"))
    refused(DRO, "one function without noise", **noisy)
    scgd = get_theorem("baselines.scgd")
    refused(
        scgd, "does not say that the inner maps", **changed_setting(scgd, "functions", "g", equal="outer functions")
    )
    refused(
        scgd, "does not say that the outer functions", **changed_setting(scgd, "functions", "df", equal="inner map")
    )
    exact = get_theorem("feddro.theorem_4_2")
    alone = changed_setting(exact, "functions", "g", index=frozenset(), mean_index=frozenset())
    refused(exact, "the inner_value differs from client to client", **alone)


# --- metric, average, horizon, period ----------------------------------------------------------------------------------


def test_the_metric_is_the_theorems():
    """Any words were accepted for a metric, and either average."""
    refused(replace(POOLED, average="after"), "is not the squared gradient of F at")
    refused(
        replace(POOLED, metric=replace(POOLED.metric, at="")), "no metric of which the kernel knows where it is taken"
    )
    refused(replace(LOCAL, metric=replace(LOCAL.metric, at=SERVER_MODEL)), "is not the squared gradient of F at")
    refused(replace(LOCAL, metric=replace(LOCAL.metric, at=PARTICIPANTS)), "random_set")
    refused(LOCAL, "is not the squared gradient of F at", metric="X")
    refused(LOCAL, "wished: no such quantity", metric="wished")


def test_the_server_holds_its_model_for_a_round():
    a = next(v for v in derivation(DRAWN).setting.variables if v.name == "a")
    (local, _), (shared, term) = a.equations
    for equations in (((local, Var("x")), (shared, term)), ((local, Var("a")), (shared, Var("a")))):
        refused(DRAWN, "", **changed_setting(DRAWN, "variables", "a", equations=equations))
    refused(
        with_entry(DRAWN, "not stated: whole rounds", says=()),
        "no assumption of the theorem says that the horizon is a whole number",
    )


def renamed(theorem, changes):
    """The theorem whose symbols stand for other quantities."""
    entries = tuple((n, latex, changes.get(n, of), *note) for n, latex, of, *note in theorem.notation.entries)
    return replace(theorem, notation=replace(theorem.notation, entries=entries))


def test_the_period_is_what_the_method_is_given():
    for tau in (2 * LOCAL.notation["p"].symbol, LOCAL.notation["b"].symbol, 5):
        method = replace(LOCAL.method, values={**LOCAL.method.values, "tau": tau})
        refused(replace(LOCAL, method=method), "the statement's period is p")


def test_the_horizon_is_what_stands_for_the_steps():
    """T rounds are T p steps, whatever the letter; a sum over T steps was accepted."""
    by_rounds = renamed(LOCAL, {"T": "rounds"})
    state = begin(derivation(LOCAL), by_rounds, "printed").state
    assert state.horizon == state.period * Reader(LOCAL, LOCAL.statement()).T
    refused(by_rounds, "")
    refused(renamed(LOCAL, {"T": "batch_size"}), "no symbol of the statement is a number of steps")
    refused(renamed(LOCAL, {"m": "iterations"}), "m and T both stand for the iterations")
    refused(renamed(LOCAL, {"p": "inner_batch_size"}), "local_sgd gets tau = p, the statement's period is 1")
    no_method = replace(renamed(LOCAL, {"p": "inner_batch_size"}), method=None)
    refused(no_method, "no symbol of the statement is the number of local steps")
    assert prove(LOCAL).rests_on["period"] == "p steps in a round"


# --- lemmas and deliveries ----------------------------------------------------------------------------------------------


def test_an_assumption_of_a_lemma_does_not_vanish():
    """What a lemma assumes was typed in the derivation, and left out of the list where that was shorter."""
    for name in ("3", "5", "start"):
        shorter = replace(META, assumptions=tuple(a for a in META.assumptions if a.name != name))
        refused(shorter, "which the theorem does not list")
    refused(with_entry(META, "5", text="something weaker"), "assumes '5', which the theorem does not list")


def test_a_lemma_says_what_its_constants_bound():
    plan = derivation(META)
    similar = plan.lemmas[2]
    said = similar.theorem.statement(similar.label)
    silent = tuple(replace(d, bounds=()) for d in said.derived)
    other = replace(similar, theorem=with_statement(similar.theorem, replace(said, derived=silent)))
    refused(META, "gamma_F says nothing of dF", lemmas=(*plan.lemmas[:2], other))


LEMMAS = ("lemma_4", "lemma_5", "lemma_6", "lemma_7", "lemma_10", "lemma_11")


@pytest.mark.parametrize("name", slow_but(("lemma_4", "lemma_5", "lemma_7", "lemma_10"), LEMMAS))
def test_a_lemma_delivers_what_its_statement_says(name):
    """With a factor of its own a delivery gave constants a thousand times too small."""
    theorem = get_theorem(f"meta_fl.{name}")
    plan, statement = derivation(theorem), theorem.statement()
    for target in {each.target for each in plan.delivers}:
        name = target or "gamma_F"
        smaller = with_stated(theorem, "derived", name, expr=statement.constant(name).expr / THOUSAND)
        slipped = run_through(plan, smaller, theorem.default)
        assert not slipped.accepted and "left over" in slipped.failure
    silent = replace(statement, derived=tuple(replace(d, bounds=()) for d in statement.derived))
    unsaid = replace(with_statement(theorem, silent), metric=replace(theorem.metric, bounds=()))
    found = run_through(plan, with_statement(unsaid, silent), theorem.default)
    assert not found.accepted and "does not say what" in found.failure


@pytest.mark.parametrize("name", ["lemma_4", "lemma_6", "lemma_7"])
def test_a_gradient_through_a_path_is_recognised_by_its_equations(name):
    """Half a Hessian step, a start at another point, or the noisy path: then nothing is the gradient, and nothing is delivered."""
    theorem = get_theorem(f"meta_fl.{name}")
    plan = derivation(theorem)
    of = "a" if name != "lemma_6" else "r"
    variable = plan.setting.variable(of)
    ((phases, term),) = variable.equations
    half = with_declared(plan, "variables", of, equations=((phases, Var(of) + (term - Var(of)) / 2),))
    found = run_through(half, theorem, theorem.default)
    assert not found.accepted
    found = run_through(replace(plan, estimate="wished"), theorem, theorem.default)
    assert found.accepted == (name != "lemma_6")


# --- words --------------------------------------------------------------------------------------------------------------


def test_the_words_of_a_proof():
    found = prove(LOCAL)
    assert "smoothness: grad f_i is L-Lipschitz" in found.formal
    assert "noise: E||grad f_i of a sample - grad f_i||^2 <= sigma^2" in found.formal
    assert found.rests_on["metric"].endswith("at the mean of all clients' models, over the steps t = 0..T-1")
    drawn = prove(DRAWN).rests_on
    assert "server's model" in drawn["metric"] and "a new set of clients at each round" in drawn["method"]


def test_names_are_told_apart():
    """Assumptions, conditions, what is known of whole numbers, and lemmas: no two of one name."""
    statement = LOCAL.statement()
    for name in ("noise", "T>=1", "b whole"):
        conditions = (*statement.conditions, replace(statement.conditions[0], name=name))
        refused(with_statement(LOCAL, replace(statement, conditions=conditions)), f"{name!r} is the name of two")
    chosen = get_theorem("acc_fcsg_m.theorem_4_7").statement().condition("momentum_choice")
    assert chosen.relation == "=="
    theorem = get_theorem("acc_fcsg_m.theorem_4_7")
    more = (*theorem.statement().conditions, replace(chosen, name="momentum_choice reversed"))
    refused(with_statement(theorem, replace(theorem.statement(), conditions=more)), "is the name of two")


def test_no_part_of_a_name_is_read():
    """A condition whose name is that of a power of another one took its place, and was not among what is used."""
    corollary = get_theorem("fcsg.corollary_4_2")
    statement = corollary.statement()
    (name, exponent), *_ = derivation(corollary).powers
    more = (*statement.conditions, replace(statement.condition(name), name=f"{name}^{exponent}"))
    refused(with_statement(corollary, replace(statement, conditions=more)), "is the name of two")
    renamed = with_stated(corollary, "conditions", "alpha_choice", name="T reversed")
    found = verdict(derivation(corollary), renamed)
    assert found.accepted and "T reversed" in found.conditions


def test_a_derivation_of_another_statement_of_the_same_theorem_is_compared_with_that():
    assert check(derivation(LOCAL), LOCAL, "printed").checked


def test_what_an_assumption_says_is_told_beside_its_words():
    """An author writes the words; what a proof reads off an entry is printed too, so that words that say less are seen."""
    theorem, saying = get_theorem(LOCAL), "the samples of a step are independent of those of all other steps"
    found = prove(LOCAL)
    (entry,) = (item for item in theorem.assumptions if "fresh samples" in item.says)
    assert f"{entry.name}: {saying}" in found.formal and saying in str(found)
    shown = describe(theorem)["assumptions"]
    assert saying in next(each["formal"] for each in shown if each["name"] == entry.name)
