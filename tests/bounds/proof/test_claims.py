"""Claims with reasons: the multipliers that are found, the certificates, and what is said of a claim that does not follow."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random

import fedco
import pytest
from altered import with_rule
from fedco.bounds import get_theorem
from fedco.bounds.language.change import Change, changed
from fedco.bounds.papers.baselines import derivations as baselines
from fedco.bounds.proof.author import Proof, Var, quantity, sq
from fedco.bounds.proof.claims import Claim
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import Combine, ProofError, Reader, check, parameter, run_through, signomial
from fedco.bounds.proof.kernel.region import Region
from fedco.bounds.proof.linear import NotSolved, Point, profile, solution
from fedco.bounds.proof.search import certificate_for, negative_at, points_near
from fedco.bounds.proof.solve import solved
from fedco.bounds.registry import get_paper
from quick import slowly

LOCAL_SGD = "baselines.local_sgd"
a, b, c = parameter("a"), parameter("b"), parameter("c", positive=False)


def written(name: str = LOCAL_SGD):
    """A derivation as its author wrote it."""
    theorem = get_theorem(name)
    paper = get_paper(name.partition(".")[0])
    return theorem, paper.derivations[name](Reader(theorem, theorem.statement()))


def refusal(plan, theorem) -> str:
    with pytest.raises(ProofError) as caught:
        solved(plan, theorem, theorem.default)
    return str(caught.value)


# --- the linear algebra -----------------------------------------------------------------------------------------------


def number(rng):
    p, q = Fraction(rng.randint(-6, 6), rng.randint(1, 4)), rng.randint(-1, 1)
    return p * a ** rng.randint(-2, 2) * b ** Fraction(rng.randint(-2, 2), 2) * c ** rng.randint(0, 2) + q


@pytest.mark.parametrize("seed", range(25))
def test_what_is_solved_for_is_what_the_columns_add_up_to(seed):
    """A system that has a solution is solved, whatever its rank, or it is said why not."""
    rng = Random(seed)
    entries, multipliers = [number(rng) for _ in range(9)], [number(rng) for _ in range(3)]
    columns = [{row: entries[3 * k + row] for row in range(3) if entries[3 * k + row]} for k in range(3)]
    goal = {row: sum((columns[k].get(row, 0 * a) * multipliers[k] for k in range(3)), 0 * a) for row in range(3)}
    found = profile(Point(Region({})), goal, columns, range(3), 3)
    assert not found.failed
    try:
        values = solution(goal, columns, found)
    except NotSolved:
        return  # another solution of a system of lower rank may be no sum of products of powers
    for row in range(3):
        assert sum((columns[k].get(row, 0 * a) * v for k, v in values.items()), 0 * a) == goal[row]


def test_division_by_a_sum_is_exact():
    goal, columns = {0: a**2 - b**2, 1: c * (a + b)}, [{0: a + b}, {1: c}]
    found = profile(Point(Region({})), goal, columns, (0, 1), 2)
    assert solution(goal, columns, found) == {0: a - b, 1: a + b}
    with pytest.raises(NotSolved, match="no sum of products of powers"):
        solution({0: signomial(1)}, columns[:1], replace(found, support=(0,), pivots=(0,)))
    with pytest.raises(NotSolved, match="no division by it"):
        solution({0: a}, [{0: c}], replace(found, support=(0,), pivots=(0,)))


def test_rows_that_cannot_hold_are_named():
    found = profile(Point(Region({})), {"x": a, "y": b}, [{"x": a}], ("x", "y"), 2)
    assert found.failed == ("y",) and found.support == (0,)


def test_constants_have_the_values_of_their_formulas():
    theorem, _ = written("baselines.biased_sgd")
    reader = Reader(theorem, theorem.statement())
    formula = reader.S_g * reader.B_f + reader.S_f * reader.C_g**2
    at = Point(Region({}, reader.formulas, reader.powers)).at
    assert at(reader.S_F) == at(formula) and at(reader.S_F**2) == at(formula**2) != at(formula)


# --- the search for certificates --------------------------------------------------------------------------------------

A, B, N = a, b, parameter("n", count=True)


def test_points_near_one_inside():
    """That point first; every other one with one or two coordinates three times as large or small, where all conditions hold."""
    a, b, n, c = (next(iter(x.params)) for x in (A, B, N, parameter("c")))
    region = Region({"small": 4 - A}, {c: A * B}, {})
    found = points_near({a: Fraction(2), b: Fraction(5), n: Fraction(3)}, region)
    assert found[0] == {a: 2, b: 5, n: 3, c: 10}
    assert all(point[a] <= 4 and point[c] == point[a] * point[b] and point[n].denominator == 1 for point in found)
    moved = [{p.name: point[p] / found[0][p] for p in (a, b, n) if point[p] != found[0][p]} for point in found]
    single = [change for change in moved if len(change) == 1]
    wanted = ({"a": Fraction(1, 3)}, {"b": Fraction(3)}, {"b": Fraction(1, 3)}, {"n": Fraction(3)})
    assert sorted(map(str, single)) == sorted(map(str, wanted)), "a whole number is only enlarged, and a is at most 4"
    assert {len(change) for change in moved} == {0, 1, 2}


def test_a_point_at_which_a_number_is_negative():
    (a,), (b,) = A.params, B.params
    points = ({a: Fraction(1), b: Fraction(1)}, {a: Fraction(4), b: Fraction(1)})
    assert negative_at(3 - A, points) == points[1] and negative_at(5 - A, points) is None
    assert negative_at(A - 1, points) is None and negative_at(A - B - 1, points) == points[0]
    assert negative_at(1 - A ** Fraction(1, 2) - B, points) is None, "roots may not be rational"
    assert negative_at(1 - N, points) is None, "no value"


def test_certificates_that_are_found_show_it():
    region = Region({"small": 1 - A, "order": B - A})
    for number in (1 - A**2, B - A**3 / 1, 2 * B - A * B - A, (1 - A) * (B - A) + B, (N - 1) * (2 * N - 3) + 0 * A):
        found = certificate_for(number, region)
        assert found is not None and region.certified(number, found), number
    for number in (A - 1, A - B, 2 - A - B, N - 2):
        assert certificate_for(number, region) is None, number


# --- claims -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, _ in baselines.DERIVATIONS])
def test_every_claim_becomes_the_same_combination_each_time(name):
    theorem, plan = written(f"baselines.{name}")
    first, second = (solved(plan, theorem, theorem.default) for _ in range(2))
    assert first == second == derivation(theorem)
    names = {step.name for step in plan.steps if isinstance(step.rule, Claim)}
    assert names and all(isinstance(step.rule, Combine) for step in first.steps if step.name in names)
    assert check(first, theorem, theorem.default).accepted


def test_the_kernel_takes_no_claim_for_a_fact():
    theorem, plan = written()
    inside = solved(plan, theorem, theorem.default).inside
    found = check(replace(plan, conclusion=(), inside=inside), theorem, theorem.default)
    assert not found.accepted and "no rule" in found.failure


def test_a_claim_is_neither_true_nor_false():
    with pytest.raises(ProofError, match="is to be proved"):
        bool(sq(Var("x")) <= sq(Var("x")))


def test_multipliers_that_the_author_gives():
    theorem, plan = written("baselines.scgd")
    claim = next(step.rule for step in plan.steps if step.name == "error, later")
    found = next(step.rule for step in derivation(theorem).steps if step.name == "error, later")
    assert set(claim.given) <= {(name, factor) for factor, name in found.weights}
    doubled = tuple((name, 2 * factor) for name, factor in claim.given)
    assert "step error, later: " in refusal(with_rule(plan, "error, later", given=doubled), theorem)


def test_what_does_not_follow_is_said():
    theorem, plan = written()
    bias = next(step.rule for step in plan.steps if step.name == "bias")
    assert "step bias: " in refusal(with_rule(plan, "bias", by=()), theorem)
    half = refusal(with_rule(plan, "bias", right=bias.right * Fraction(1, 2)), theorem)
    assert "step bias: " in half and "it follows with" not in half, "nothing is proposed for a claim that says too much"
    other = with_rule(plan, "bias", by=("smooth",))
    assert "left over: " in refusal(other, theorem)
    missing = with_rule(plan, "bias", by=("wished for",))
    assert "wished for: no such step before this one" in refusal(missing, theorem)
    loose = with_rule(plan, "growth", right=quantity("X"))
    assert "step growth: " in refusal(loose, theorem)
    apart = with_rule(plan, "apart", term=Var("x", 1) - Var("x"))
    assert "step apart: does not follow; left over: " in refusal(apart, theorem)


REASONS = [
    (key, step.name, reason)
    for key in (LOCAL_SGD, "library.sgd_strongly_convex")
    for step in written(key)[1].steps
    if isinstance(step.rule, Claim)
    for reason in step.rule.by
]


@pytest.mark.parametrize(
    ("key", "step", "reason"), [case if place % 3 == 0 else slowly(case) for place, case in enumerate(REASONS)]
)
def test_a_reason_that_was_forgotten_is_proposed(key, step, reason):
    theorem, plan = written(key)
    claim = next(each.rule for each in plan.steps if each.name == step)
    less = with_rule(plan, step, by=tuple(name for name in claim.by if name != reason))
    assert f"it follows with {reason!r} among its reasons" in refusal(less, theorem)


def test_all_reasons_that_were_forgotten_are_proposed_and_no_more():
    theorem, plan = written()
    claim = next(step.rule for step in plan.steps if step.name == "descent")
    found = refusal(with_rule(plan, "descent", by=claim.by[:-2]), theorem)
    assert f"it follows with {claim.by[-2]!r} and {claim.by[-1]!r} among its reasons" in found


def test_a_step_that_does_not_follow_is_no_proof():
    """`prove` gives the reason, as for a derivation that the kernel refuses."""
    theorem, plan = written()
    proof = Proof(Reader(theorem, theorem.statement()), time="independence")
    assert proof.step("mean", plan.steps[0].rule) == "mean" and proof.step("mean", plan.steps[0].rule) == "mean 2"
    with pytest.raises(ProofError, match="the statement: "):
        solved(replace(plan, conclusion=replace(plan.conclusion, by=("descent, summed",))), theorem, theorem.default)


# --- claims in a loop ---------------------------------------------------------------------------------------------------


def loop(name: str = "meta_fl.lemma_4"):
    theorem = get_theorem(name)
    return theorem, get_paper("meta_fl").derivations[name](Reader(theorem, theorem.statement()))


def test_claims_in_a_loop_and_in_the_loop_before_become_combinations():
    theorem, plan = loop()
    for before in (plan, plan.before):
        assert any(isinstance(step.rule, Claim) for step in before.steps)
    found = solved(plan, theorem, theorem.default)
    assert not any(isinstance(step.rule, Claim) for each in (found, found.before) for step in each.steps)
    assert found == solved(plan, theorem, theorem.default) == derivation(theorem) == solved(found, theorem, "printed")
    assert run_through(found, theorem, theorem.default).accepted


def test_a_claim_in_a_loop_that_does_not_follow_is_named():
    theorem, plan = loop()
    (step,) = (step for step in plan.steps if step.name == "error, next")
    said = refusal(with_rule(plan, step.name, right=step.rule.right * Fraction(1, 2)), theorem)
    assert said.startswith(f"step {step.name}: ")
    assert "left over" in refusal(with_rule(plan, step.name, by=()), theorem)
    before = with_rule(plan.before, "path, next", by=("path, grown",))
    assert refusal(replace(plan, before=before), theorem).startswith("step before: path, next: ")


def test_what_a_formula_gives_is_divided_by_as_its_name():
    """(L alpha + 1) x = A x y + ... with A = 1 + alpha L: the multiplier has A in a denominator, and no sum."""
    theorem, plan = loop()
    found = {step.name: step.rule for step in solved(plan, theorem, theorem.default).steps}["error, next"]
    (factor,) = (factor for factor, name in found.weights if name == "power")
    assert {p.name for p in factor.params} >= {"A", "rho"} and "L" not in {p.name for p in factor.params}


# --- the tutorial -------------------------------------------------------------------------------------------------------


HOWTO = Path(fedco.__file__).parent / "docs" / "howto"
WRITTEN = [
    ("write-a-derivation.md", "minibatch_sgd", "baselines.minibatch_sgd", 30),
    ("three-proofs.md", "gradient_descent", "library.gd", 10),
    ("three-proofs.md", "local_sgd", "baselines.local_sgd", 40),
    ("three-proofs.md", "scgd", "baselines.scgd", 60),
]
"""Page, function, theorem, and the lines that the page says at most, without comments."""


@pytest.mark.parametrize(("page", "name", "about", "lines"), WRITTEN)
def test_the_proofs_of_the_pages_are_checked(page, name, about, lines):
    text = "\n\n".join(re.findall(r"```python\n(.*?)```", (HOWTO / page).read_text(), re.DOTALL))
    space: dict = {}
    exec(text, space)
    theorem = get_theorem(about)
    plan = space[name](Reader(theorem, theorem.statement()))
    found = check(solved(plan, theorem, theorem.default), theorem, theorem.default)
    assert found.checked, found.failure
    assert not [said for said in found.unused if said.startswith("step ")]
    body = re.split(r"^def ", text, flags=re.MULTILINE)
    (written,) = (part for part in body if part.startswith(f"{name}("))
    counted = [line for line in written.splitlines()[1:] if line.strip() and not line.strip().startswith("#")]
    assert lines // 3 <= len(counted) <= lines
    less = changed(theorem, theorem.default, Change(theorem.statement().terms[0].name, "divided", Fraction(101, 100)))
    assert refusal(space[name](Reader(less, less.statement())), less)
