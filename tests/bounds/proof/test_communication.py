"""Compressors, mixing matrices and sets of clients: what the kernel says of them and refuses, what the instances refuse, their theorems."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from itertools import combinations, product
from random import Random

import numpy as np
import pytest
import sympy as sp
import torch
from altered import refused, with_entry, with_method, with_stated
from fedco.algorithms import MARINA, CompressedSGD, ErrorFeedback, GossipSGD
from fedco.algorithms.engine.compressors import entries, largest_entries, sparsified
from fedco.bounds import get_theorem
from fedco.bounds.language.bounding import AT_ZERO, STARTS
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.check_on_instances import STYLES, examine, instance, reached
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.finite import LAW, Run
from fedco.bounds.proof.instances import Functions
from fedco.bounds.proof.kernel import (
    ONE,
    Accuracy,
    Act,
    App,
    Assume,
    Compressor,
    Function,
    Given,
    IndependentMean,
    Index,
    Known,
    Mean,
    Mixing,
    Pair,
    Param,
    ProofError,
    RandomSet,
    Reader,
    Setting,
    Signomial,
    Source,
    Start,
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
from fedco.validation.proofs.code import codes_beside
from fedco.validation.proofs.lock import instances_of
from fedco.validation.runs.method_of import build_of
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from rewritten import rewritten

N, B, T = (parameter(name, count=True) for name in "nbT")
C, OMEGA = parameter("c", positive=False), parameter("omega", positive=False)
M, SHARE = parameter("m"), Param("share", positive=False)
S = SHARE.number
X = Var("x")
OWN = frozenset({"i"})
SENT = Function("C", "x", "x", ("kept",), OWN, OWN, role="compressor")
NEAR = Function("near", "x", "x", (), OWN, OWN, role="compressor")
MIX = Function("W", "x", "x", (), OWN, OWN, role="mixing_matrix")
CHOSEN = Function("chosen", "x", ("x", "x"), ("set",), OWN, OWN)
NOISY = Function("f", "x", "x", ("z",), OWN, OWN)
CLIENTS = Index("i", N, of="clients")
DECLARED = {
    "indices": (CLIENTS, Index("k", B, "drawn")),
    "sources": (Source("kept", ("i",), "drawn"), Source("set", (), "drawn"), Source("z", ("i", "k"), "drawn")),
    "functions": (SENT, NEAR, MIX, CHOSEN, NOISY),
    "variables": (Variable("x", "x", OWN), Variable("y", "y"), Variable("p", "x")),
}
AXIOMS = {
    "C": Compressor("drawn", "C", OMEGA),
    "near": Accuracy("sent", "near", C),
    "W": Mixing("network", "W", C, "i"),
    "set": RandomSet("drawn", "chosen", "i", M, S),
}
SIZES = {"few": N - M, "some": M - 1}
PAST = Known.before(["kept", "set", "z"])


def setting(*others):
    """The declarations with others in the place of those of their names."""
    named = {each.name: each for each in others}
    return Setting(**{kind: tuple(named.get(each.name, each) for each in own) for kind, own in DECLARED.items()})


def state(*others, quotient=(N - M, M * (N - 1)), conditions=SIZES, **axioms):
    region = Region(dict(conditions), quotients={SHARE: quotient} if quotient else {})
    return State(setting(*others), {}, {**AXIOMS, **axioms}, region, T, N)


def said(axiom, *terms, others=(), **changes):
    return Assume(axiom, terms).apply(state(*others, **changes))


def sent(vector, step=0):
    return App("C", vector, (step,))


def mixed(vector):
    return App("W", vector)


def weights(step=0):
    return App("chosen", Sum(()), (step,))


NOISE = App("f", X, (0,)) - App("f", X, (None,))
DRAWN = Act(weights(), X)


# --- what is said of them ---------------------------------------------------------------------------------------------


def test_the_mean_of_what_a_compressor_sends_is_the_vector_and_its_variance_is_relative():
    noisy = App("f", X, (0,))
    mean, variance = said("C", sent(noisy, None)), said("C", sent(noisy))
    assert isinstance(mean, Equation) and mean.uses == {"drawn"}
    assert variance.table == state().form(sq(sent(noisy) - noisy) - OMEGA * sq(noisy)) and not variance.equal


def test_mixing_keeps_the_mean_and_shrinks_the_distance_from_it():
    mean = said("W", Mean("i", mixed(NOISE)))
    assert isinstance(mean, Equation) and mean.term == state().algebra.normal(Mean("i", mixed(NOISE) - NOISE))
    shrunk = said("W", mixed(X))
    assert shrunk.table == state().form(sq(mixed(X) - Mean("i", X)) - C**2 * sq(X - Mean("i", X)))


def test_what_is_sent_is_near_the_vector_whatever_its_mean():
    found = said("near", App("near", X))
    assert found.table == state().form(sq(App("near", X) - X) - (1 - C) * sq(X)) and not found.equal


def test_the_mean_over_a_set():
    found = said("set", DRAWN)
    assert found.equal and found.uses == {"drawn", "few", "some"}
    assert found.form == said("set", Act(weights(), 1 * X)).form
    mean = said("set", Act(weights(None), X))
    assert isinstance(mean, Equation) and "few" in mean.uses
    small = said("set")
    assert small.phases is None and small.table == {One(): S * M - 1}
    later = App("f", Mean("i", Act(weights(-1), X)), (0,))
    assert said("set", Act(weights(), later)).equal, "an earlier set is another one"


def of_a_set(*given, function="chosen", index="i", size=M, share=S, assumption="drawn"):
    return {"set": RandomSet(assumption, function, index, size, share)}


REFUSED = {
    ("C", "depends on the sample"): [{"terms": (sent(sent(X)),)}, {"terms": (sent(App("f", sent(X), (0,))),)}],
    ("C", "the compressor alone"): [{"others": (replace(NOISY, sources=("z", "kept")),)}],
    ("C", "one space into itself"): [
        {"others": (replace(SENT, domain="y"),)},
        {"others": (replace(SENT, sources=("kept", "z")),)},
        {"others": (replace(SENT, sources=()),), "terms": (App("C", X, ()),)},
        {"others": (replace(SENT, label="y"),), "terms": (App("C", Pair(X, Var("y")), (0,)),)},
    ],
    ("C", "no value of C"): [{"terms": (App("f", X, (0,)),)}],
    ("C", "not about its mean"): [{"C": Accuracy("drawn", "C", OMEGA), "terms": (sent(X, None),)}],
    ("W", "as mixing_matrix"): [
        {"others": (replace(MIX, role="local_gradient"),)},
        {"others": (replace(MIX, domain="y"),)},
        {"others": (replace(MIX, sources=("z",)),), "terms": (App("W", X, (0,)),)},
        {"others": (replace(MIX, label="y"),), "terms": (App("W", Pair(X, Var("y"))),)},
    ],
    ("W", "a row for each client"): [
        {"others": (replace(MIX, index=frozenset("ik"), mean_index=frozenset("ik")),)},
        {"others": (replace(CLIENTS, of="batch"),)},
    ],
    ("W", "no value of W"): [{"terms": (App("near", X),)}, {"terms": (X,)}],
    ("W", "got 2"): [{"terms": (X, Mean("i", mixed(X)))}],
    ("set", "is not"): [
        *({"quotient": each} for each in ((N - M, M * N), (N - M, N - 1), (M - N, M * (N - 1)), None)),
        {"quotient": (N - M + 1, M * (N - 1))},
        {"quotient": (Signomial(), Signomial())},
        {"quotient": (T * (N - M), M * (N - 1))},
        *(of_a_set(share=each) for each in (2 * S, (N - M) / M)),
        of_a_set(size=M - 1),
    ],
    ("set", "may be empty"): [{"conditions": {"few": N - M}}],
    ("set", "may be larger"): [{"conditions": {"some": M - 1}}],
    ("set", "one set is drawn"): [{"others": (Source("set", ("i",), "drawn"),)}, of_a_set(assumption="z")],
    ("set", "wanted operators"): [
        of_a_set(index="k"),
        of_a_set(function="f"),
        *(
            {"others": (replace(CHOSEN, **each),)}
            for each in ({"space": ("x", "d")}, {"sources": ("set", "z")}, {"label": "x"})
        ),
    ],
    ("set", "stands for the set alone"): [
        {"others": (replace(NOISY, sources=("set",)),)},
        {"others": (replace(CLIENTS, first=N),)},
    ],
    ("set", "depends on the sample"): [
        {"terms": (Act(weights(), vector),)}
        for vector in (DRAWN, Mean("i", DRAWN), X + App("f", Mean("i", DRAWN), (0,)))
    ],
    ("set", "wanted the weights applied to a vector"): [{"terms": (X,)}, {"terms": (DRAWN, X)}],
    ("set", "the weights depend on the set alone"): [{"terms": (Act(App("chosen", Var("p"), (0,)), X),)}],
}
"""Axiom and reason -> other declarations, and other terms. The mean over a set of a vector that is 0 outside of it is another one."""
USUAL = {"C": sent(X), "W": mixed(X), "set": DRAWN}


@pytest.mark.parametrize(
    ("axiom", "reason", "changes"), [(*case, changes) for case, rows in REFUSED.items() for changes in rows]
)
def test_what_is_none_of_them_is_refused(axiom, reason, changes):
    with pytest.raises(ProofError, match=reason):
        said(axiom, *changes.get("terms", (USUAL[axiom],)), **{k: v for k, v in changes.items() if k != "terms"})


def averaged(term, over="i", *others):
    """What independence over an index says of a term less its mean given the past."""
    return IndependentMean(term - Given(PAST, term), over, PAST, False).apply(state(*others))


def test_one_choice_for_all_clients_is_not_averaged():
    """Without a choice of its own for every client the errors do not cancel."""
    assert averaged(sent(X)).equal
    with pytest.raises(ProofError, match="the same for all values of i"):
        averaged(sent(X), "i", Source("kept", (), "drawn"))


def test_noise_that_was_mixed_is_not_independent_over_the_clients():
    """False: with everybody averaged ||mean W z||^2 is ||W z||^2, not an n-th of it. Over a batch it stays independent."""
    assert averaged(NOISE).equal
    for term in (mixed(NOISE), mixed(NOISE) + NOISE, App("near", mixed(NOISE))):
        with pytest.raises(ProofError, match="mixes the samples of all values of i"):
            averaged(term)
    assert averaged(mixed(NOISE), "k").equal


def test_the_mean_over_a_set_by_enumeration():
    """Every n to 5 and m to n: mean, second moment and s m <= 1, attained by m = 1; n = 1 has no variance."""
    rng, fact = Random(0), said("set", DRAWN)
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


# --- the instances ----------------------------------------------------------------------------------------------------


def column(*numbers):
    return np.array([[fmpq(n)] for n in numbers], dtype=object)


@given(st.lists(st.integers(-9, 9), min_size=2, max_size=5), st.fractions(0, 1, max_denominator=9))
def test_the_mixing_of_the_instances_attains_its_contraction(values, c):
    functions = Functions(setting(), {}, remains=fmpq(c.numerator, c.denominator))
    before, (after, _) = column(*values), functions.apply("W", (column(*values), column(*values)), ())
    mean = fmpq(sum(values), len(values))
    assert after.mean() == mean
    assert ((after - mean) ** 2).sum() == fmpq(c.numerator, c.denominator) ** 2 * ((before - mean) ** 2).sum()


@given(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), st.fractions(0, 1, max_denominator=9))
def test_the_compressor_of_the_instances_attains_its_accuracy(values, c):
    remains = fmpq(c.numerator, c.denominator)
    sent = Functions(setting(), {}, remains=remains).apply("near", tuple(map(column, values)), ())
    left = sum((s.item() - v) ** 2 for s, v in zip(sent, values, strict=True))
    assert left == remains**2 * sum(v**2 for v in values)


@pytest.mark.parametrize("c", [fmpq(1), fmpq(1, 2), fmpq(3)])
def test_the_compressor_of_the_instances_attains_both(c):
    """(1 + c w) v with the law of the samples: mean v, variance c^2 |v|^2."""
    functions, v = Functions(setting(), {}, compression=c), (fmpq(3), fmpq(-2))
    point = tuple(np.array([x], dtype=object) for x in v)
    rows = [(p, functions.apply("C", point, (np.array([w], dtype=object),))) for p, w in LAW]
    for i, x in enumerate(v):
        assert sum(p * row[i].item() for p, row in rows) == x
    square = sum(p * sum((row[i].item() - x) ** 2 for i, x in enumerate(v)) for p, row in rows)
    assert square == c**2 * sum(x**2 for x in v)
    assert functions.apply("C", point, (0,)) == point


# --- what the methods say of themselves -------------------------------------------------------------------------------


@given(st.integers(1, 9), st.sampled_from(["ring", "complete"]), st.data())
def test_a_matrix_contracts_as_the_method_says(clients, topology, data):
    method = GossipSGD(eta=0.1, topology=topology)
    W = np.array(method.mixing(clients), dtype=float)
    said = method.measure(clients)
    assert said["spectral_gap"] == 1 - said["mixing_contraction"]
    x = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=clients, max_size=clients)))
    left, apart = np.linalg.norm(W @ x - x.mean()), np.linalg.norm(x - x.mean())
    assert left <= said["mixing_contraction"] * apart + 1e-9
    eigenvalues = sorted(abs(np.linalg.eigvalsh(W)))  # a ring is symmetric
    attained = eigenvalues[-2] if clients > 1 else 0.0
    assert said["mixing_contraction"] == pytest.approx(attained, abs=1e-9)


def test_a_matrix_that_is_not_symmetric_contracts_by_its_largest_singular_value():
    W = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert GossipSGD(eta=0.1, W=W).measure(3)["spectral_gap"] == 0


@given(st.floats(0, 1), st.lists(st.floats(-9, 9), min_size=1, max_size=12))
def test_a_share_of_the_entries_has_its_accuracy(share, numbers):
    k, v = entries(share, len(numbers)), torch.tensor([[numbers]], dtype=torch.float64)
    assert 1 <= k <= len(numbers) and k / len(numbers) >= share
    assert k == 1 or (k - 1) / len(numbers) < share
    left = ((largest_entries(v, k) - v) ** 2).sum()
    assert left <= (1 - share) * (v**2).sum() * (1 + 1e-12)
    shares = torch.tensor([share, share], dtype=torch.float64).view(2, 1, 1)
    both = largest_entries(v.expand(2, 1, -1), entries(shares, len(numbers)))
    assert torch.equal(both, largest_entries(v, k).expand(2, 1, -1))


@pytest.mark.parametrize("ratio", [1, 2, 8])
def test_what_a_method_says_of_its_compressor_is_what_it_does(ratio):
    """Over all outcomes: the signs of one coordinate, each drawn apart."""
    (formula,) = {each.constants["compression_variance"] for each in (CompressedSGD, MARINA)}
    outcomes = list(product((-1.0, 1.0), repeat=ratio.bit_length() - 1))
    sent = [sparsified(torch.ones(1, 1, 1), Signs(row), ratio).item() for row in outcomes]
    variance = sum((x - 1) ** 2 for x in sent) / len(sent)
    assert sum(sent) / len(sent) == 1 and variance == float(read_formula(formula, {"ratio": sp.Integer(ratio)}))


class Signs:
    """Given signs, one for each purpose."""

    def __init__(self, row):
        self.row = iter(row)

    def signs(self, purpose, size):
        return torch.full((1, 1, size), next(self.row))


# --- the theorems -----------------------------------------------------------------------------------------------------

GOSSIP, MEMORY, COMPRESSED, SAMPLED = (
    get_theorem(f"library.{name}") for name in ("gossip_sgd", "error_feedback", "compressed_sgd", "sampled_sgd")
)
NUMBERS = {"eta": 0.01, "b": 1, "N": 4, "T": 10}


@pytest.mark.parametrize(
    ("theorem", "same"), [(MEMORY, {}), (COMPRESSED, {"ratio": "omega + 1"}), (SAMPLED, {"m": "N*r"})]
)
def test_the_same_formula_written_otherwise_is_accepted(theorem, same):
    assert check(derivation(theorem), with_method(theorem, **same), theorem.default).accepted


FORMULAS = {
    "theta: error_feedback has the compression_accuracy": (MEMORY, "share", ("theta/2", "1/2", "theta**2", "theta/N")),
    "omega: compressed_sgd has the compression_variance": (
        COMPRESSED,
        "ratio",
        ("1 + omega**2", "2*omega", "2", "1 + N*omega/4"),
    ),
    "for the clients that take part, the statement's are N*r": (
        SAMPLED,
        "m",
        ("N - 1", "", "N", "2", "r*N + 1", "N/2 + 1/2"),
    ),
}
"""The first three ratios are 2 at omega = 1, and N - 1 clients are r N at both points, at which both locks compared: they were accepted."""


@pytest.mark.parametrize(
    ("theorem", "other", "why"),
    [
        (SAMPLED, with_method(SAMPLED, "minibatch_sgd"), "minibatch_sgd gets [] for the clients"),
        (GOSSIP, with_method(GOSSIP, "minibatch_sgd"), "the method minibatch_sgd does not say what its"),
        (MEMORY, with_method(MEMORY, "compressed_sgd"), "the method compressed_sgd does not say what its"),
        *((of, with_method(of, **{name: text}), why) for why, (of, name, texts) in FORMULAS.items() for text in texts),
    ],
)
def test_a_method_with_another_compressor_matrix_or_set_is_refused(theorem, other, why):
    refused(other, derivation(theorem), why)


def test_a_run_has_what_the_numbers_say():
    assert build_of(COMPRESSED)({**NUMBERS, "omega": 3.0}).ratio == 4
    assert build_of(GOSSIP)({**NUMBERS, "rho": 0.66}).topology == "ring"
    assert build_of(MEMORY)({**NUMBERS, "theta": 0.5}).share == 0.5


@pytest.mark.parametrize(
    ("theorem", "method", "numbers", "said"),
    [
        (with_method(COMPRESSED, ratio="8"), None, {"omega": 3.0}, "omega: compressed_sgd has a compression_variance of 7, got 3"),
        (COMPRESSED, CompressedSGD(eta=0.1, ratio=8), {"omega": 3.0}, "compression_variance of 7, got 3"),
        (COMPRESSED, lambda values: CompressedSGD(0.1, 8), {"omega": 3.0}, "compression_variance of 7, got 3"),
        (GOSSIP, None, {"rho": 0.7}, r"rho: gossip_sgd has a spectral_gap of 0\.666667, got 0\.7"),
        (GOSSIP, GossipSGD(eta=0.01, W=[[1, 0], [0, 1]]), {"N": 2, "rho": 0.1}, r"a spectral_gap of 0, got 0\.1"),
        (MEMORY, ErrorFeedback(eta=0.01, share=0.25), {"theta": 0.5}, r"compression_accuracy of 0\.25, got 0\.5"),
    ],
)  # fmt: skip
def test_a_run_refuses_what_is_more_than_that_of_its_method(theorem, method, numbers, said):
    with pytest.raises(InputError, match=said):
        build_of(theorem, method)({**NUMBERS, **numbers})


def test_a_longer_step_does_not_follow():
    (condition,) = COMPRESSED.statement().conditions
    theorem = with_stated(COMPRESSED, "conditions", condition.name, right=condition.right * 2)
    with pytest.raises(ProofError, match="descent"):
        derivation(theorem)


def started(term, says):
    """Heavy ball with another start of a variable, under an entry of the list that says something else."""
    theorem = with_entry(get_theorem("library.heavy_ball"), "momentum at rest", says=(says,))
    plan = derivation(get_theorem("library.heavy_ball"))
    axioms = {**plan.axioms, "momentum at rest": Start("momentum at rest", term)}
    return check(replace(plan, axioms=axioms), theorem, theorem.default)


@pytest.mark.parametrize(
    ("term", "says", "reason"),
    [
        (Var("v"), STARTS, "does not say that"),
        (X, AT_ZERO, "does not say that"),
        (X, STARTS, "does not say where a variable starts"),
        (2 * Var("v"), STARTS, "does not say that"),
        (Var("v", 1), AT_ZERO, "depends on samples"),
        (Var("v") - X, AT_ZERO, "does not say that"),
    ],
)
def test_only_an_estimate_starts_at_zero_and_only_where_the_list_says_so(term, says, reason):
    assert started(Var("v"), AT_ZERO).accepted
    found = started(term, says)
    assert not found.accepted and reason in found.failure


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


class NotDoublyStochastic(Functions):
    """Every client takes the model of the first one: the mean is not kept."""

    def apply(self, function, point, samples):
        if self.setting.function(function).role != "mixing_matrix":
            return super().apply(function, point, samples)
        return tuple(np.repeat(x[:1], x.shape[0], axis=0) for x in point)


def test_the_instances_refuse_a_matrix_that_does_not_keep_the_mean():
    """Beside the rules: the same derivation, on a run whose matrix is another one."""
    progress, style = reached(derivation(GOSSIP), GOSSIP, GOSSIP.default), STYLES[-3]
    run = instance(style, progress)
    assert not examine(progress, {style: run}).failed
    own = run.problem
    run.problem = NotDoublyStochastic(own.setting, own.shapes, own.sets, own.compression, own.remains)
    other = fresh(run)
    assert "mean kept" in {one.step for one in examine(progress, {style: other}).failed}


def fresh(run):
    """The same run, with nothing computed yet."""
    own = (run.setting, run.problem, run.point, run.horizon, run.period, run.start, run.free, run.quiet)
    return Run(*own, run.quantities, run.moving, run.laws)


@pytest.mark.parametrize(("theorem", "variable"), [(GOSSIP, "x"), (MEMORY, "e")], ids=["gossip", "memory"])
def test_equations_that_mix_or_send_something_else_are_not_those_of_the_code(theorem, variable):
    """The models are mixed before the step and not after it; the memories keep everything."""
    progress = reached(derivation(theorem), theorem, theorem.default)
    (code,) = codes_beside(progress)
    beside, own = code.beside(progress), progress.derivation.setting
    assert not list(beside.differences())
    changed = []
    for each in own.variables:
        ((phases, term),) = each.equations or ((None, None),)
        if each.name == variable and theorem is GOSSIP:
            each = replace(each, equations=((phases, mixed(X) + term.argument - X),))
        elif each.name == variable:
            sent = next(node for _, node in term.parts if isinstance(node, App) and node.function == "C")
            each = replace(each, equations=((phases, term + sent),))
        changed.append(each)
    assert list(beside.differences(replace(beside.progress.derivation.setting, variables=tuple(changed))))


LIARS = """
from dataclasses import dataclass, replace
from fractions import Fraction
from fedco.algorithms import ErrorFeedback, GossipSGD


@dataclass(frozen=True, eq=False)
class Copies(GossipSGD):
    name = "copies"

    def mixing(self, clients):
        return tuple(tuple(Fraction(int(j == 0)) for j in range(clients)) for _ in range(clients))

    def measure(self, clients):
        return {"mixing_contraction": 0.0, "spectral_gap": 1.0}

    def after_round(self, problem, state, t):
        return replace(state, x=state.x[:, :1].expand_as(state.x).contiguous())


@dataclass(frozen=True, eq=False)
class Keeps(Copies):
    name = "keeps"

    def mixing(self, clients):
        return tuple(tuple(Fraction(int(i == j)) for j in range(clients)) for i in range(clients))

    def after_round(self, problem, state, t):
        return state


@dataclass(frozen=True, eq=False)
class Silent(GossipSGD):
    name = "silent"

    def measure(self, clients):
        return {}


@dataclass(frozen=True, eq=False)
class Mute(ErrorFeedback):
    name = "mute"

    def sent(self, v):
        return 0 * v
"""


@pytest.mark.parametrize(
    ("theorem", "name", "why"),
    [
        (GOSSIP, "Copies", "does not keep the mean"),
        (GOSSIP, "Keeps", "leaves 1 of a distance from the mean, the symbol says 0.8"),
        (GOSSIP, "Silent", "lists spectral_gap under `measured`, and measure() does not give it"),
        (MEMORY, "Mute", "leaves out more of a vector than an accuracy of 0.36 allows"),
    ],
)
def test_what_a_method_says_of_its_matrix_or_compressor_is_compared_with_it(tmp_path, theorem, name, why, one_family):
    """The equations take both from the method, so that they agree with its code whatever it says."""
    (tmp_path / "liars.py").write_text(LIARS)
    told = replace(theorem, method=replace(theorem.method, name=f"liars.py:{name}", folder=tmp_path))
    found = instances_of(derivation(theorem), told)
    assert not found.hold and any(why in line for line in found.not_covered), found.not_covered


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
