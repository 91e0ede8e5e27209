"""Bounds that hold with a probability, by a martingale: what the kernel refuses, and what the second lock sees.

Every number of a pathwise derivation has its value along a run; the rule `Martingale` is the only step that may fail on some of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from functools import cache
from math import log

import fedco
import pytest
from altered import with_declared, with_entry, with_rule
from fedco.bounds import get_theorem
from fedco.bounds.language.bounding import MEAN_SQUARE, NOISE, NOISE_SIZE, Form
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.metrics import METRICS, with_probability
from fedco.bounds.language.theorem import Condition
from fedco.bounds.proof import instances as instances_module
from fedco.bounds.proof.author import Reader, dot, sq, total, value
from fedco.bounds.proof.check_on_instances import OFTEN, STATEMENT, STYLES, examine, instances, reached
from fedco.bounds.proof.derivations import checked_steps, derivation
from fedco.bounds.proof.finite import LAW
from fedco.bounds.proof.kernel import (
    EVERY,
    LATER,
    ONE,
    App,
    Assume,
    AtNumbers,
    BoundedNoise,
    Corollary,
    Derivation,
    Given,
    Martingale,
    Mean,
    ProofError,
    Scalar,
    Step,
    Var,
    check,
    clock,
    follow,
    parameter,
)
from fedco.bounds.proof.kernel.algebra import Algebra
from fedco.bounds.proof.kernel.derivation import begin
from fedco.bounds.proof.kernel.facts import Inequality, Likely, State, inequality
from fedco.bounds.proof.kernel.rules import PATHWISE, RULES
from fedco.bounds.proof.kernel.scalars import One, form
from fedco.bounds.proof.kernel.signomial import POSITION, Signomial
from fedco.bounds.proof.kernel.terms import shifted
from fedco.bounds.proof.solve import Solver, solved
from fedco.bounds.proof.tactics import Sgd
from fedco.validation.proofs.lock import instances_of

BOUNDED = get_theorem("library.sgd_bounded_noise_probable")
MARKOV = get_theorem("library.sgd_probable")
X, AFTER = Var("x"), Var("x", 1)


# --- the theorem ------------------------------------------------------------------------------------------------------


@cache
def proof() -> Derivation:
    found = derivation(BOUNDED)
    assert isinstance(found, Derivation)
    return found


def changed(name: str = "martingale", **fields) -> Derivation:
    """The derivation with other fields of the rule of one step."""
    return with_rule(proof(), name, **fields)


def the_rule() -> Martingale:
    (found,) = (step.rule for step in proof().steps if step.name == "martingale")
    assert isinstance(found, Martingale)
    return found


def refusal(plan: Derivation, theorem=BOUNDED) -> str:
    found = check(plan, theorem, "printed")
    assert not found.accepted
    return found.failure


def written(change: Callable[..., None] = lambda *given: None, theorem=BOUNDED, **options) -> Derivation:
    """The derivation as its author writes it, up to the descent; `change` may declare and claim more."""
    s = Reader(theorem, theorem.statement("printed"))
    sgd = Sgd(s, pooled=True, **{"pathwise": True, **options})
    proof, slope = sgd.proof, sgd.full(X)
    proof.update("x", name="step")
    proof.quantity("gradient", sq(slope))
    proof.quantity("F", value("F", X))
    change(sgd, slope, sgd.clients(sgd.batch(sgd.noise)))
    reason = proof.bound("F_gap", of="F", name="infimum")
    return proof.qed(reason, metric="gradient", model="x")


def why_not(change: Callable[..., None], theorem=BOUNDED, **options) -> str:
    """Why the last step that `change` adds is refused; the conclusion is not reached."""
    plan = written(change, theorem, **options)
    with pytest.raises(ProofError) as raised:
        solved(plan, theorem, "printed")
    assert "the statement" not in str(raised.value), "only the conclusion was refused"
    return str(raised.value)


def test_both_locks_hold():
    verdict = check(proof(), BOUNDED, "printed")
    assert verdict.accepted and verdict.rests_on["metric"].endswith(", along a run")
    assert {"bounded noise", "independence", "smoothness", "infimum"} == set(verdict.assumptions)
    assert not any("E F" in line.claim for line in verdict.lines)
    found = instances_of(proof(), BOUNDED)
    assert found.hold and len(found.families) > 20


def test_its_bound_grows_with_the_logarithm_and_that_of_markov_with_its_argument():
    """The numbers of section 25 of the page."""
    values = {"L_bar": 1, "F_gap": 1, "eta": "1/10", "N": 8, "b": 4, "T": 1000}
    deltas = ("1/2", "1/10", "1/1000")
    probable = [float(BOUNDED.bound(sigma_inf="1/2", delta=delta, **values).total) for delta in deltas]
    by_markov = [float(MARKOV.bound(sigma="1/2", delta=delta, **values).total) for delta in deltas]
    assert probable[2] - probable[1] == pytest.approx(log(100) / 64000)
    assert [f"{x:.3g}" for x in by_markov] == ["0.0416", "0.208", "20.8"]
    assert [f"{x:.4f}" for x in probable[1:]] == ["0.0450", "0.0451"] and probable[0] > by_markov[0]


# --- the statement: what does not follow ------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["last_gradient_sq", "last_gap", "mean_gap"])
def test_another_metric_does_not_follow(word):
    theorem = replace(BOUNDED, metric=with_probability(METRICS[word], "delta", r"\delta"))
    refusal(proof(), theorem)


def test_the_least_gradient_is_below_the_mean():
    metric = with_probability(METRICS["minimum_gradient_sq"], "delta", r"\delta")
    assert check(proof(), replace(BOUNDED, metric=metric), "printed").accepted


def test_a_bound_of_the_expectation_does_not_follow():
    theorem = replace(BOUNDED, metric=METRICS["mean_gradient_sq"])
    assert "holds with a probability" in refusal(proof(), theorem)


def test_it_is_one_or_the_other():
    assert "in a pathwise derivation only" in refusal(replace(proof(), pathwise=False))
    plan = derivation(MARKOV)
    assert "not in a pathwise derivation" in refusal(replace(plan, pathwise=True), MARKOV)


# --- the rule: what it refuses ----------------------------------------------------------------------------------------

SAMPLE = App("dF", X, (0,))
MOVING = POSITION.number
SLOPE = Mean("n", App("dF", X, (None,)))
RULE = {
    "a share that grows with t": ({"share": clock()}, "position in the round, or about the step"),
    "a share that depends on the round": ({"share": 1 + MOVING}, "position in the round, or about the step"),
    "no share": ({"share": 0 * ONE}, "may be 0 or negative"),
    "a negative share": ({"share": -ONE}, "may be 0 or negative"),
    "a share with the logarithm in it": ({"share": parameter("log(1/delta)")}, "has log(1/delta) in it"),
    "a share that may be 0": ({"share": parameter("F_gap", positive=False)}, "may be 0 or negative"),
    "a vector that depends on the new noise": (
        {"vector": -1 * Mean("n", Mean("i", SAMPLE))},
        "is not known before step t",
    ),
    "the gradient after the step": (
        {"vector": -1 * Mean("n", App("dF", AFTER, (None,)))},
        "is not known before step t",
    ),
    "a vector for each client": ({"vector": -1 * App("dF", X, (None,))}, "wanted one vector"),
    "another vector": ({"vector": SLOPE}, "drift is not"),
    "twice the vector": ({"vector": -2 * SLOPE}, "drift is not"),
    "the noise of the last step": ({"sample": App("dF", X, (-1,))}, "depends on the sample"),
    "noise that is known": ({"sample": App("dF", Var("x", -1), (-1,))}, "not centred"),
    "the noise of the next step": ({"sample": App("dF", X, (1,))}, "is not known after step t"),
    "noise at the next model": ({"sample": App("dF", AFTER, (0,))}, "depends on the sample"),
    "no noise": ({"sample": App("dF", X, (None,))}, "has no sample"),
    "independent over an index twice": ({"over": ("i", "n", "n")}, "an index twice"),
    "another quantity": ({"product": "gradient"}, "gradient is not"),
    "another square": ({"square": "F"}, "F is not"),
    "no such quantity": ({"square": "missing"}, "missing is not"),
    "another assumption": ({"axiom": "L_bar of F"}, "wanted a bound of the noise"),
}


@pytest.mark.parametrize(("fields", "reason"), RULE.values(), ids=RULE)
def test_what_is_no_bounded_martingale_is_refused(fields, reason):
    plan = changed(**fields)
    found = refusal(plan)
    assert reason in found and "step martingale" in found


def test_fewer_independent_values_give_less():
    """Of the b samples of a client, whatever those of other clients: true, and less than the statement says."""
    plan = changed(over=("i",))
    begun = checked_steps(plan, BOUNDED, "printed")
    assert "log(1/delta)*sigma_inf^2/b" in repr(begun.state.facts["martingale"])
    assert "left over" in refusal(plan)


def test_one_delta_is_used_once():
    steps = (*proof().steps, Step("again", the_rule()))
    assert "step again: a second bound" in refusal(replace(proof(), steps=steps))


def test_what_follows_rests_on_it():
    verdict = check(proof(), BOUNDED, "printed")
    marks = [mark for mark in verdict.facts[-1].uses if isinstance(mark, Likely)]
    assert [mark.failure.name for mark in marks] == ["delta"] and "with probability 1 - delta" in str(marks[0])


def test_a_standard_deviation_is_no_bound_of_the_noise():
    statement = BOUNDED.statement("printed")
    names = {b.name: b.symbol for b in BOUNDED.notation}
    terms = tuple(replace(t, expr=t.expr.xreplace({names["sigma_inf"]: names["sigma"]})) for t in statement.terms)
    listed = with_entry(BOUNDED, BOUNDED.assumptions[1].name, bounds=("sigma",))
    theorem = with_statement(listed, replace(statement, terms=terms))

    def change(sgd, slope, error):
        sgd.proof.quantity("drift", dot(-1 * slope, error))
        sgd.proof.martingale("martingale", "drift", "gradient", -1 * slope, "sigma", sgd.sampled, "n i", ONE)

    assert "wanted a bound of the noise of every sample" in why_not(change, theorem)


def test_samples_that_clients_share_are_not_independent_over_them():
    shared, joint = (with_declared(proof(), "sources", "xi", **own) for own in ({"index": ("i",)}, {"joint": ("n",)}))
    assert "xi is the same for all values of n" in refusal(shared)
    assert "may depend on each other over n" in refusal(joint)


def test_independence_is_what_the_theorem_assumes():
    entry = next(item for item in BOUNDED.assumptions if item.name == "independence")
    for left in entry.says[:3]:
        says = tuple(word for word in entry.says if word != left)
        refusal(proof(), with_entry(BOUNDED, "independence", says=says))


def test_an_index_of_another_size_at_step_0_is_not_counted():
    (batch,) = (index for index in proof().setting.indices if index.name == "i")
    assert refusal(with_declared(proof(), "indices", "i", first=3 * batch.size))


# --- a pathwise derivation: no fact about an expectation ---------------------------------------------------------------


def test_rules_that_may_speak_of_expectations_are_refused():
    begun = begin(replace(proof(), steps=()), BOUNDED, "printed")
    others = [rule for rule in RULES if rule not in PATHWISE]
    assert len(others) == len(RULES) - len(PATHWISE) > 30
    for kind in others:
        with pytest.raises(ProofError, match="not in a pathwise derivation"):
            begun.after(Step("new", object.__new__(kind)))


def named(change: Callable[..., None], theorem=BOUNDED) -> Callable[..., None]:
    """A claim in the symbols of the statement."""

    def with_symbols(sgd, slope, error):
        sgd.s = Reader(theorem, theorem.statement("printed"))
        change(sgd, slope, error)

    return with_symbols


def cross_term(sgd, slope, error):
    """The noise has the mean 0 given the past, but along a run it has a product with the gradient."""
    sgd.proof.claim("cross", dot(slope, error) <= 0 * sgd.s.eta, equal=True)


def independent_mean(sgd, slope, error):
    sgd.proof.independent(sgd.noise, "i")


def small_mean(sgd, slope, error):
    """The variance of a mean of N b samples, without the rule that says so."""
    proof = sgd.proof
    proof.claim("noise", sq(error) <= sgd.s.sigma_inf**2 / sgd.s.N, proof.bound("sigma_inf", sgd.sampled))


def variance(sgd, slope, error):
    """The variance that the bound of the noise implies is one in expectation."""
    sgd.proof.bound("sigma_inf", sgd.sampled, kind="standard deviation")


def orthogonal(sgd, slope, error):
    """||a + noise||^2 = ||a||^2 + ||noise||^2 holds in the mean."""
    sgd.proof.claim("sum", sq(slope + error) <= sq(slope) + sq(error), equal=True)


def contraction(sgd, slope, error):
    """Along a run a gradient of a sample is not shorter than its mean."""
    sgd.proof.claim("shorter", sq(slope) <= sq(slope + error), squares=(error,))


def projected(sgd, slope, error):
    sgd.proof.mean("step", given=sgd.proof.past)


def conditional(sgd, slope, error):
    sgd.proof.claim("mean", sq(sgd.proof.given(slope + error)) <= sq(slope + error))


IN_EXPECTATION = {
    "the cross term": (cross_term, "does not follow"),
    "independent samples": (independent_mean, "not in a pathwise derivation"),
    "the variance of a mean": (small_mean, "does not follow|left over"),
    "a standard deviation": (variance, "need not hold along every run"),
    "orthogonal noise": (orthogonal, "does not follow"),
    "a mean that is shorter": (contraction, "does not follow|left over|no reason"),
    "the mean of an equation": (projected, "not in a pathwise derivation"),
    "a conditional mean that is shorter": (conditional, "does not follow|left over|no reason"),
}


@pytest.mark.parametrize(("change", "reason"), IN_EXPECTATION.values(), ids=IN_EXPECTATION)
def test_what_holds_in_expectation_only_is_refused(change, reason):
    assert re.search(reason, why_not(named(change)))


@pytest.mark.parametrize("change", [cross_term, orthogonal, contraction])
def test_and_accepted_of_expectations(change):
    """The same claims are true in the mean, where no derivation is pathwise: so it is that which refuses them."""

    plan = written(named(change, MARKOV), MARKOV, pathwise=False)
    with pytest.raises(ProofError, match="the statement"):  # of the descent, which is left out, and of no claim before
        solved(plan, MARKOV, "printed")


def test_assumptions_about_expectations_are_refused():
    kinds = [kind for kind in fedco.bounds.proof.kernel.assumptions.KINDS if not kind.sure]
    assert len(kinds) > 15 and BoundedNoise not in kinds
    begun = begin(replace(proof(), steps=()), BOUNDED, "printed")
    for kind in kinds:
        begun.state.axioms["new"] = object.__new__(kind)
        with pytest.raises(ProofError, match="need not hold along every run"):
            begun.after(Step("said", Assume("new", (SAMPLE,))))


def test_the_metric_is_compared_along_a_run():
    """<grad F, gradient of a sample> has the expectation of ||grad F||^2, and another value along a run."""

    def change(sgd, slope, error):
        sgd.proof.quantity("sampled", dot(slope, slope + error))

    plan = replace(written(change), metric="sampled", conclusion=(), inside=proof().inside)
    assert "is not the squared gradient of F" in refusal(plan)


def test_a_start_that_is_random_is_refused():
    """Nothing says what x becomes at the first step; or it is given at step -1, so that the sample of that step is in its start."""
    plan = replace(proof(), steps=tuple(s for s in proof().steps if s.name == "infimum"))
    ((_, term),) = plan.setting.variable("x").equations
    for own in ({"equations": ((LATER, term),)}, {"defined": 0, "equations": ((EVERY, shifted(term, -1)),)}):
        assert "x may be random at the start" in refusal(with_declared(plan, "variables", "x", **own))


def test_an_inner_product_has_a_name_in_a_pathwise_derivation_only():
    def change(sgd, slope, error):
        sgd.proof.quantity("drift", dot(slope, error))

    assert "in a pathwise derivation only" in why_not(change, MARKOV, pathwise=False)


def test_neither_numbers_nor_a_clock_nor_lemmas():
    values = dict.fromkeys(("L_bar", "sigma_inf", "F_gap", "eta", "N", "b", "T"), Q(1)) | {"delta": Q(1, 2)}
    found = check(proof(), BOUNDED, "printed", AtNumbers(values, Q(10)))
    assert not found.accepted and "not checked at numbers" in found.failure
    assert "has no clock" in refusal(replace(proof(), offset=ONE))


def test_nothing_is_put_in_for_the_probability():
    statement = BOUNDED.statement("printed")
    names = {b.name: b.symbol for b in BOUNDED.notation}
    fixed = Condition("chosen", names["delta"], "==", read_formula("1/T", names))
    own = replace(BOUNDED, id="library.mine")
    theorem = with_statement(own, replace(statement, conditions=(*statement.conditions, fixed)))
    premise = check(proof(), BOUNDED, "printed")
    inside = {"L_bar": Q(1), "eta": Q(1), "T": Q(2)}
    found = follow(Corollary(BOUNDED, inside, label="printed"), theorem, "printed", premise)
    assert not found.accepted and "nothing is put in for a symbol in a logarithm" in found.failure


# --- the algebra along a run ------------------------------------------------------------------------------------------


def test_along_a_run_only_indices_are_averaged():
    setting = proof().setting
    mean, sample = App("dF", X, (None,)), SAMPLE
    noise = sample - mean
    run, expected = Algebra(setting, pathwise=True), Algebra(setting)

    def product(algebra, left, right):
        return form(algebra, dot(left, right))

    both = Mean("n", Mean("i", noise))
    assert product(expected, SLOPE, both) == {} != product(run, SLOPE, both)
    assert product(run, SLOPE, both) == product(run, SLOPE, noise)  # a mean over indices, of a vector without any
    assert product(run, both, both) == product(run, noise, both) != product(run, noise, noise)
    assert product(run, Given(setting.past(), noise), noise) == {}  # a vector that is 0


# --- the second lock --------------------------------------------------------------------------------------------------


SEEING = tuple(
    style
    for style in STYLES
    if style.name in ("straight, small", "bent with noise", "flat", "unlike", "rounds", "every step")
)
"""Styles of which one or another shows each fault."""


def seen(plan: Derivation | None = None, theorem=BOUNDED) -> set[str]:
    """The steps that fail on an instance."""
    progress = reached(plan or proof(), theorem, "printed")
    return {one.step for one in examine(progress, instances(progress, SEEING)).failed}


def test_it_follows_every_run():
    progress = reached(proof(), BOUNDED, "printed")
    runs = instances(progress)
    found = examine(progress, runs)
    assert not found.failed and found.steps >= {*progress.state.facts, STATEMENT, f"martingale{OFTEN}"}
    assert min(found.tightest.values()) >= 0.99
    assert len(runs) == len(STYLES)


def claimed(right: Callable[[Scalar, Martingale, State], Scalar]):
    """The rule of the kernel with another right side in the place of the sound one."""
    sound = Martingale.apply

    def apply(self: Martingale, state: State) -> Inequality:
        found = sound(self, state)
        left, other = total(self.product), right(found.sides[1], self, state)
        names = frozenset(name for name in found.uses if isinstance(name, str))
        return inequality(state, left, other, names | {Likely.of(left, other, state.failure)}, phases=None)

    return apply


def scaled(rest: Signomial | Q, squares: Signomial | Q = ONE):
    """With the logarithm, and the sum of squares, times other numbers."""
    return claimed(
        lambda right, rule, state: Scalar(
            tuple(((rest if isinstance(atom, One) else squares) * c, atom) for c, atom in right.parts)
        )
    )


UNSOUND = {
    "half the logarithm": scaled(Q(1, 2)),
    "N b independent values counted twice": scaled(1 / (parameter("N", count=True) * parameter("b", count=True))),
    "no logarithm": scaled(Q(1, 1000)),
    "no sum of squares": scaled(Q(1, 2), Q(0)),
}


@pytest.mark.parametrize("apply", UNSOUND.values(), ids=UNSOUND)
def test_a_rule_that_says_too_much_fails_on_the_instances(monkeypatch, apply):
    monkeypatch.setattr(Martingale, "apply", apply)
    assert f"martingale{OFTEN}" in seen()


def test_a_bound_that_forgets_on_what_it_rests_fails_on_the_instances(monkeypatch):
    """Without its mark a bound that fails on some runs is taken for one of all runs."""
    sound = Martingale.apply
    monkeypatch.setattr(
        Martingale, "apply", lambda self, state: replace(sound(self, state), uses=frozenset({"bounded noise"}))
    )
    assert "martingale" in seen()


@pytest.mark.parametrize("change", [cross_term, orthogonal, contraction])
def test_an_expectation_in_a_pathwise_derivation_fails_on_the_instances(monkeypatch, change):
    """With the algebra of expectations the kernel takes the claim; along the runs it does not hold."""
    monkeypatch.setattr(Algebra, "_seen_from", lambda self, other, node: self.support(other))
    plan = written(named(change))
    steps = Solver(begin(replace(plan, steps=(), conclusion=(), inside=proof().inside), BOUNDED, "printed").state).all(
        plan.steps
    )
    (failed,) = seen(replace(plan, steps=steps, conclusion=(), inside=proof().inside))
    assert failed.partition(",")[0] in {"cross", "sum", "shorter"}


def test_noise_that_is_larger_than_its_bound_fails_on_the_instances(monkeypatch):
    """The standard deviation in the place of the bound of every sample."""
    exact = instances_module.largest_square

    def smaller(form, shapes, law=LAW):
        return exact(Form(NOISE, form.function, MEAN_SQUARE) if form.kind == NOISE_SIZE else form, shapes, LAW)

    monkeypatch.setattr(instances_module, "largest_square", smaller)
    assert {"sigma_inf of dF", "noise"} <= seen()


def test_a_sharper_statement_fails_on_an_instance():
    """The metric exceeds a tenth of the bound with a larger probability than delta."""
    statement = BOUNDED.statement("printed")
    terms = tuple(replace(term, expr=term.expr / 10) for term in statement.terms)
    assert STATEMENT in seen(theorem=with_statement(BOUNDED, replace(statement, terms=terms)))


@pytest.mark.parametrize("most", ["1/100", pytest.param("1/2", marks=pytest.mark.slow)])
def test_a_condition_on_the_probability_leaves_the_instances_that_see_a_fault(monkeypatch, most):
    """The law of the noise does not hang on the probability; a probability that the conditions admit is found."""
    statement = BOUNDED.statement("printed")
    names = {name: binding.symbol for name, binding in statement.symbols.items()}
    rare = Condition("rare", names["delta"], "<=", read_formula(most, names))
    theorem = with_statement(BOUNDED, replace(statement, conditions=(*statement.conditions, rare)))
    plan = replace(proof(), inside={**proof().inside, "delta": Q(1, 1000)})
    progress = reached(plan, theorem, "printed")
    assert len(instances(progress)) == len(STYLES) and not examine(progress, instances(progress, SEEING)).failed
    monkeypatch.setattr(Martingale, "apply", scaled(Q(1, 2)))
    assert f"martingale{OFTEN}" in seen(plan, theorem)
