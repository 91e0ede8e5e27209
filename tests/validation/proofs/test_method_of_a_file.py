"""False theorems whose method differs from the update equations where five steps in doubles do not show it; each was accepted once."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import fedco
import pytest
import sympy as sp
from fedco.algorithms.declared import declared
from fedco.bounds import get_theorem
from fedco.bounds.language.definition import load
from fedco.bounds.language.theorem import MethodCall
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import Mean, Reader, Var
from fedco.bounds.proof.kernel.terms import App
from fedco.bounds.proof.locks import Instances
from fedco.validation.proofs.further import TRIED
from fedco.validation.proofs.lock import code_beside
from quick import slow_but

EXAMPLES = Path(fedco.__file__).parent / "examples"
PLAIN = "baselines.local_sgd"
HEAD = """
from typing import ClassVar
import torch
from fedco.algorithms.baselines.{module} import *
from fedco.algorithms.baselines import {module}
from fedco.algorithms.engine.compressors import largest_entries
from fedco.algorithms.engine.method import descend
from fedco.algorithms.engine.schedule import at
class Own({module}.{name}):
    name: ClassVar[str] = "own"
"""


def own(folder: Path, theorem: str, body: str, **values: str) -> Instances:
    """The code of a class that derives from a theorem's method and differs from it in `body`, in a file."""
    declares = declared()[get_theorem(theorem).method.name]
    head = HEAD.format(module=declares.module.rpartition(".")[2], name=declares.class_name)
    return in_file(folder, theorem, head + body, "Own", **values)


def in_file(folder: Path, theorem: str, source: str, name: str, **values: str) -> Instances:
    base = load(theorem, trust=True) if theorem.endswith(".toml") else get_theorem(theorem)
    (folder / "own.py").write_text(source, encoding="utf-8")
    symbols = {binding.name: binding.symbol for binding in base.notation}
    formulas = {**base.method.values, **{key: sp.sympify(text, symbols) for key, text in values.items()}}
    call = replace(base.method, name=f"{folder}/own.py:{name}", values=formulas)
    return code_beside(derivation(base), replace(base, method=call, title="mine"))


def near(folder: Path, line: str = "") -> Instances:
    """The example of a method in a file, with another line in the place of its step."""
    source = (EXAMPLES / "near_method.py").read_text(encoding="utf-8")
    step = "return replace(state, x=state.x - self.eta * gradient)"
    assert step in source
    return in_file(folder, str(EXAMPLES / "near.toml"), "import torch\n" + source.replace(step, line or step), "Near")


# --- what is true is accepted, and the answer says what was tried ------------------------------------------------------


@pytest.mark.parametrize("theorem", slow_but(("storm",), ("compressed_sgd", "gossip_sgd", "storm", "error_feedback")))
def test_fedcos_own_code_is_accepted_in_a_file(tmp_path, theorem):
    found = own(tmp_path, f"library.{theorem}", "")
    assert found.variants == (f"as declared: its code has the update equations as far as it was compared: {TRIED}",)
    assert not found.failed and not found.not_covered


def test_the_example_is_accepted(tmp_path):
    found = near(tmp_path)
    assert TRIED in found.variants[0] and not found.failed and not found.not_covered


# --- later steps, long and short vectors ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("return replace(state, x=state.x - (self.eta if t < 8 else 4 * self.eta) * gradient)", "x after step 8"),
        ("return replace(state, x=state.x - self.eta * gradient.clamp(-1000, 1000))", "x after step 0"),
        ("return replace(state, x=state.x - self.eta * torch.where(gradient.abs() > 1e-5, gradient, 0.0))", "1e-06"),
    ],
)
def test_a_method_that_differs_later_or_elsewhere_is_seen(tmp_path, line, said):
    (text,) = near(tmp_path, line).failed
    assert said in text and "the code has" in text


# --- small numbers ----------------------------------------------------------------------------------------------------


def test_a_tiny_number_among_the_hyperparameters_is_seen():
    base = get_theorem(PLAIN)
    values = {**base.method.values, "mu": sp.Rational(1, 10**13)}
    prox = replace(base, method=MethodCall("fedprox", values), title="mine")
    (text,) = code_beside(derivation(base), prox).failed
    assert "in exact numbers" in text
    none = replace(prox, method=MethodCall("fedprox", {**values, "mu": sp.Integer(0)}))
    assert not code_beside(derivation(base), none).failed


def test_a_step_size_that_is_a_little_longer_is_seen():
    base = load(str(EXAMPLES / "near.toml"), trust=True)
    values = {**base.method.values, "eta": base.method.values["eta"] * (1 + sp.Rational(1, 10**13))}
    longer = replace(base, method=replace(base.method, name="minibatch_sgd", values=values))
    (text,) = code_beside(derivation(base), longer).failed
    assert "in exact numbers" in text


def test_equations_with_a_step_that_is_a_little_longer_are_seen():
    theorem = replace(get_theorem(PLAIN), title="mine")
    plan = derivation(get_theorem(PLAIN))
    eta = Reader(theorem, theorem.statement()).eta
    moved = Var("x") - eta * (1 + Fraction(1, 10**13)) * Mean("i", App("dF", Var("x"), (0,)))
    x = plan.setting.variable("x")
    (local, step), (communication, _) = x.equations
    assert step == Var("x") - eta * Mean("i", App("dF", Var("x"), (0,)))
    changed = replace(x, equations=((local, moved), (communication, Mean("n", moved))))
    setting = replace(plan.setting, variables=tuple(changed if v.name == "x" else v for v in plan.setting.variables))
    (text,) = code_beside(replace(plan, setting=setting, steps=()), theorem).failed
    assert "in exact numbers" in text


def test_a_rounded_number_in_the_code_is_not_covered(tmp_path):
    found = near(tmp_path, "return replace(state, x=state.x - (1 + 1e-13) * self.eta * gradient)")
    assert any("a rounded number" in text for text in found.not_covered) and not found.variants


def test_numbers_that_are_not_simple_are_not_covered_where_the_code_has_no_exact_run():
    base = get_theorem("library.error_feedback")
    values = {**base.method.values, "eta": base.method.values["eta"] * (1 + sp.Rational(1, 10**13))}
    found = code_beside(derivation(base), replace(base, method=replace(base.method, values=values), title="mine"))
    assert any("doubles do not decide" in text for text in found.not_covered)


# --- samples ----------------------------------------------------------------------------------------------------------

TWO_SAMPLES = """
    def local_step(self, problem, state, draws, t):
        d = problem.local_gradient(state.x, problem.sample(draws, self.b if t > 0 else self.B or self.b))
        if t > 0:
            other = problem.sample(draws, self.b, purpose="inner")
            d = d + (1 - at(self.a, t)) * (state.d - problem.local_gradient(state.previous, other))
        return LocalSTORMState(x=descend(state.x, at(self.eta, t), d), previous=state.x, d=d)
"""
DRAWN_BEFORE = """
    def init(self, problem, start, draws):
        x = start.models(problem, draws)
        d = problem.local_gradient(x, problem.sample(draws, self.B))
        return LocalSTORMState(x=x, previous=x, d=d)

    def local_step(self, problem, state, draws, t):
        if t > 0:
            return super().local_step(problem, state, draws, t)
        return LocalSTORMState(x=descend(state.x, at(self.eta, t), state.d), previous=state.x, d=state.d)
"""


def test_two_draws_of_one_step_are_two_samples(tmp_path):
    (text,) = own(tmp_path, "library.storm", TWO_SAMPLES).failed
    assert "xi of step 1: the code draws two of them, sample and inner" in text


def test_what_is_drawn_before_the_first_step_is_not_its_sample(tmp_path):
    (text, *_) = own(tmp_path, "library.storm", DRAWN_BEFORE).failed
    assert "after step 0" in text


# --- what a method says of itself -------------------------------------------------------------------------------------


def test_a_compressor_that_says_too_little_of_its_variance_is_seen(tmp_path):
    body = '    constants: ClassVar = {"compression_variance": "ratio/2"}\n'
    (text,) = own(tmp_path, "library.compressed_sgd", body, ratio="2*omega").failed
    assert "omega = 2" in text and "E|C(v) - v|^2 is at least 2." in text


def test_a_compressor_that_sends_fewer_entries_than_its_share_is_seen(tmp_path):
    body = "    def sent(self, v):\n        return largest_entries(v, 1)\n"
    (text,) = own(tmp_path, "library.error_feedback", body).failed
    assert "theta = 0.1, 17 dimensions" in text and "leaves out" in text


def test_a_matrix_that_mixes_less_than_it_says_is_seen(tmp_path):
    body = (
        "    def measure(self, clients):\n"
        "        return {name: min(2 * value, 1.0) for name, value in super().measure(clients).items()}\n"
    )
    (text,) = own(tmp_path, "library.gossip_sgd", body).failed
    assert text.startswith("as declared: 5 clients: own says that its spectral_gap is better than")


# --- the gradient after fine-tuning -----------------------------------------------------------------------------------

META = """
id = "mine.meta"
problem = "meta"
metric = "mean_gradient_sq"
proof = "own_proof.py:prove"
[symbols]
L = "objective_smoothness"
F_gap = "objective_gap"
eta = "step_size"
N = "clients"
T = "iterations"
[terms]
start = "2*F_gap/(eta*T)"
[conditions]
step_size = "eta <= 1/L"
clients = "N >= 1"
[assumptions.smoothness]
text = "F is differentiable, and grad F is L-Lipschitz"
bounds = ["L"]
says = ["differentiable objective"]
[method]
name = "local_sgd"
eta = "eta"
tau = 1
"""
META_PROOF = """
from fractions import Fraction
from fedco.bounds.proof.author import Proof, Var, sq, value
from fedco.bounds.proof.tactics import smooth_descent

def prove(s):
    x, after, proof = Var("x"), Var("x", 1), Proof(s, time="")
    clients, dF = proof.clients(s.N), proof.function("dF", "x -> x", role="meta_gradient", mean_per="n")
    proof.variable("x", "x", every=x - s.eta * clients(dF(x)))
    p, r = proof.free("p r", "x")
    proof.objective("F", lambda point: clients(dF(point)), "smoothness")
    proof.quantity("gradient", sq(clients(dF(x))))
    proof.quantity("F", value("F", x))
    proof.bound("L", p, r, of="F", name="smooth")
    proof.bound("F_gap", of="F", name="infimum")
    smooth_descent(proof, s.eta, s.L, x, after, 0 * s.eta, 0 * s.eta, proof.update("x"))
    return proof.qed("descent, summed", "infimum", metric="gradient", model="x", inside={"eta": Fraction(1, 2)})
"""


def test_a_step_along_the_plain_loss_is_not_one_along_the_gradient_after_fine_tuning(tmp_path):
    (tmp_path / "own.toml").write_text(META, encoding="utf-8")
    (tmp_path / "own_proof.py").write_text(META_PROOF, encoding="utf-8")
    theorem = load(str(tmp_path / "own.toml"), trust=True)
    found = code_beside(derivation(theorem), theorem)
    assert any("the gradient after fine-tuning" in text for text in found.not_covered) and not found.variants
