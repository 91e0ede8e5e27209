"""Mixing matrices and compressors that leave a part out: what the kernel refuses, what the instances refuse, and their theorems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from altered import refused, with_method
from fedco.algorithms import ErrorFeedback, GossipSGD
from fedco.algorithms.engine.compressors import entries, largest_entries
from fedco.bounds import get_theorem
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.check_on_instances import STYLES, examine, instance, reached
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.finite import Run
from fedco.bounds.proof.instances import Functions
from fedco.bounds.proof.kernel import (
    Accuracy,
    App,
    Assume,
    Function,
    Given,
    IndependentMean,
    Index,
    Known,
    Mean,
    Mixing,
    Pair,
    ProofError,
    Setting,
    Source,
    Var,
    Variable,
    check,
    parameter,
    sq,
)
from fedco.bounds.proof.kernel.facts import Equation, State
from fedco.bounds.proof.kernel.region import Region
from fedco.validation.proofs.code import codes_beside
from fedco.validation.proofs.lock import instances_of
from fedco.validation.runs.method_of import build_of
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

N, T, C = parameter("n", count=True), parameter("T", count=True), parameter("c", positive=False)
X = Var("x")
OWN = frozenset({"i"})
MIX = Function("W", "x", "x", (), OWN, OWN, role="mixing_matrix")
SENT = Function("C", "x", "x", (), OWN, OWN, role="compressor")
NOISY = Function("f", "x", "x", ("z",), OWN, OWN)
CLIENTS = Index("i", N, of="clients")


def setting(mix=MIX, sent=SENT, clients=CLIENTS):
    sources = (Source("z", ("i", "k"), "drawn"),)
    noisy = replace(NOISY, index=frozenset({"i"}))
    variables = (Variable("x", "x", OWN), Variable("y", "y"))
    return Setting((clients, Index("k", parameter("b", count=True), "drawn")), sources, (mix, sent, noisy), variables)


def state(**changes):
    axioms = {"W": Mixing("network", "W", C, "i"), "C": Accuracy("sent", "C", C)}
    return State(setting(**changes), {}, axioms, Region({}), T, N)


def mixed(vector):
    return App("W", vector)


NOISE = App("f", X, (0,)) - App("f", X, (None,))


def test_mixing_keeps_the_mean_and_shrinks_the_distance_from_it():
    mean = Assume("W", (Mean("i", mixed(NOISE)),)).apply(state())
    assert isinstance(mean, Equation) and mean.term == state().algebra.normal(Mean("i", mixed(NOISE) - NOISE))
    shrunk = Assume("W", (mixed(X),)).apply(state())
    assert shrunk.table == state().form(sq(mixed(X) - Mean("i", X)) - C**2 * sq(X - Mean("i", X)))


def test_what_is_sent_is_near_the_vector_whatever_its_mean():
    found = Assume("C", (App("C", X),)).apply(state())
    assert found.table == state().form(sq(App("C", X) - X) - (1 - C) * sq(X)) and not found.equal


REFUSED = {
    "as mixing_matrix": [
        {"mix": replace(MIX, role="local_gradient")},
        {"mix": replace(MIX, domain="y")},
        {"mix": replace(MIX, sources=("z",)), "term": App("W", X, (0,))},
        {"mix": replace(MIX, label="y"), "term": App("W", Pair(X, Var("y")))},
    ],
    "a row for each client": [
        {"mix": replace(MIX, index=frozenset({"i", "k"}), mean_index=frozenset({"i", "k"}))},
        {"clients": replace(CLIENTS, of="batch")},
    ],
    "no value of W": [{"term": App("C", X)}, {"term": X}],
    "got 2": [{"terms": (X, Mean("i", mixed(X)))}],
}


@pytest.mark.parametrize(("reason", "changes"), [(reason, each) for reason, rows in REFUSED.items() for each in rows])
def test_what_is_no_mixing_matrix_is_refused(reason, changes):
    given = {key: value for key, value in changes.items() if not key.startswith("term")}
    with pytest.raises(ProofError, match=reason):
        Assume("W", changes.get("terms", (changes.get("term", mixed(X)),))).apply(state(**given))


PAST = Known.before(["z"])


def averaged(term, over="i"):
    """What independence over an index says of a term less its mean given the past."""
    return IndependentMean(term - Given(PAST, term), over, PAST, False).apply(state())


def test_noise_that_was_mixed_is_not_independent_over_the_clients():
    """False: with everybody averaged ||mean W z||^2 is ||W z||^2, not an n-th of it. Over a batch it stays independent."""
    assert averaged(NOISE).equal
    for term in (mixed(NOISE), mixed(NOISE) + NOISE, App("C", mixed(NOISE))):
        with pytest.raises(ProofError, match="mixes the samples of all values of i"):
            averaged(term)
    assert averaged(mixed(NOISE), "k").equal


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
    sent = Functions(setting(), {}, remains=remains).apply("C", tuple(map(column, values)), ())
    left = sum((s.item() - v) ** 2 for s, v in zip(sent, values, strict=True))
    assert left == remains**2 * sum(v**2 for v in values)


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


# --- the theorems -----------------------------------------------------------------------------------------------------

GOSSIP, MEMORY = get_theorem("library.gossip_sgd"), get_theorem("library.error_feedback")
NUMBERS = {"eta": 0.01, "b": 1, "N": 4, "T": 10}


@pytest.mark.parametrize("share", ["theta/2", "1/2", "theta**2", "theta/N"])
def test_another_accuracy_is_refused(share):
    assert check(derivation(MEMORY), MEMORY, MEMORY.default).accepted
    why = "theta: error_feedback has the compression_accuracy"
    refused(with_method(MEMORY, share=share), derivation(MEMORY), why)


@pytest.mark.parametrize(("theorem", "other"), [(GOSSIP, "minibatch_sgd"), (MEMORY, "compressed_sgd")])
def test_a_method_that_does_not_say_it_is_refused(theorem, other):
    refused(with_method(theorem, other), derivation(theorem), f"the method {other} does not say what its")


def test_a_run_refuses_a_gap_that_is_larger_than_that_of_its_matrix():
    assert build_of(GOSSIP)({**NUMBERS, "rho": 0.66}).topology == "ring"
    with pytest.raises(InputError, match=r"rho: gossip_sgd has a spectral_gap of 0\.666667, got 0\.7"):
        build_of(GOSSIP)({**NUMBERS, "rho": 0.7})
    still = GossipSGD(eta=0.01, W=[[1, 0], [0, 1]])
    with pytest.raises(InputError, match=r"rho: gossip_sgd has a spectral_gap of 0, got 0\.1"):
        build_of(GOSSIP, still)({**NUMBERS, "N": 2, "rho": 0.1})


def test_a_run_refuses_an_accuracy_that_is_larger_than_that_of_the_method():
    assert build_of(MEMORY)({**NUMBERS, "theta": 0.5}).share == 0.5
    with pytest.raises(InputError, match=r"theta: error_feedback has a compression_accuracy of 0\.25, got 0\.5"):
        build_of(MEMORY, ErrorFeedback(eta=0.01, share=0.25))({**NUMBERS, "theta": 0.5})


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
