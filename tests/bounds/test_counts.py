"""The costs that a theorem takes from its method are what the method sends and draws."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import fedco
import pytest
from fedco.algorithms import METHODS, drive
from fedco.algorithms.declared import declared
from fedco.bounds.cost.resources import resources
from fedco.bounds.language.definition import define
from fedco.bounds.language.reading import InputError
from fedco.synthetic import problem
from fedco.user_files import load_object

EXAMPLES = Path(fedco.__file__).parent / "examples"
SYMBOLS = {
    "F_gap": "objective_gap",
    "eta": "step_size",
    "N": "clients",
    "T": "iterations",
    "p": "communication_period",
    "b": "batch_size",
}
T, P, B = 12, 3, 2


def theorem(method):
    """A statement that uses every symbol, about this method."""
    terms = {"a": "2*F_gap/(eta*T)", "b": "F_gap*p/(eta*b*N)"}
    return define(id="mine.theorem_1", symbols=SYMBOLS, terms=terms, method=method)


def formulas(name, **more):
    given = {"eta": "eta", "b": "b", **({"tau": "p"} if name in declared() and has_rounds(name) else {}), **more}
    made = theorem({"name": name, **given})
    values = {made.notation["T"].symbol: T, made.notation["p"].symbol: P, made.notation["b"].symbol: B}
    return {key: Fraction(str(expr.xreplace(values))) for key, expr in resources(made.statement("printed")).items()}


def measured(kind, **more):
    """Rounds, samples, and messages of either size of one client, counted in a run."""
    drawn = []
    own = next((each for each in ("minimax", "bilevel") if each in kind.kinds), "federated")
    plain = problem(f"{own}_heterogeneous")
    draw = type(plain).sample

    def counting(self, draws, batch, purpose="sample"):
        drawn.append(batch)
        return draw(self, draws, batch, purpose)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(plain), "sample", counting)
        drive(kind(eta=0.1, b=B, **more), plain, steps=T, seeds=1, record={})
    sent = kind(eta=0.1, b=B, **more).messages(plain, T)
    counts = {"rounds": sent.rounds, "model_messages": Fraction(sent.model_floats) / plain.dim, "samples": sum(drawn)}
    return (
        {**counts, "embedding_messages": Fraction(sent.embedding_floats) / plain.inner_dim}
        if plain.inner_dim
        else counts
    )


MORE = {
    "compressed_sgd": {"ratio": 4},
    "delayed_sgd": {"D": 2},
    "error_feedback": {"share": 0.25},
    "fed_ttsa": {"eta_y": 0.5, "eta_v": 0.5, "K": 4},
    "fedadam": {"eta_g": 0.5},
    "fednova": {"steps": 1},
    "fedglomo": {"beta": 0.5},
    "fedprox": {"mu": 0.5},
    "local_heavy_ball": {"beta": 0.5},
    "local_sgda": {"eta_y": 0.5},
    "local_storm": {"a": 0.5},
    "marina": {"p": 0.5, "ratio": 2},
}
UNCOUNTED = {"error_feedback": {"model_messages"}}
"""What depends on more than hyperparameters: how many numbers the model has."""


def has_rounds(name):
    return any(each.name == "tau" for each in declared()[name].hyperparameters)


@pytest.mark.parametrize("name", sorted(name for name, method in declared().items() if method.costs))
def test_a_count_is_what_the_method_does(name):
    more = MORE.get(name, {})
    period = {"tau": P} if has_rounds(name) else {}
    counted = {"iterations": T, **measured(METHODS[name], **period, **more)}
    assert formulas(name, **more) == {
        key: value for key, value in counted.items() if key not in UNCOUNTED.get(name, ())
    }


def test_a_method_of_a_file_says_what_it_costs():
    name = f"{EXAMPLES}/half_sgd.py:HalfSGD"
    assert formulas(name) == {"iterations": T, **measured(load_object(name))}


def test_what_is_not_counted_is_not_claimed():
    sampled = measured(METHODS["local_sgd"], tau=P, m=2)
    assert formulas("local_sgd", m=2) == {"iterations": T, "rounds": sampled["rounds"]} != formulas("local_sgd")
    assert formulas("minibatch_sgd", m=2) == {}
    assert formulas("fednova", steps=2) == formulas("fednova") != {}
    assert formulas("fedprox", mu="1/2") != {}
    with pytest.raises(InputError, match="'no_such_method' is not a method"):
        formulas("no_such_method")


def test_a_method_with_a_count_that_cannot_be_read(tmp_path):
    (tmp_path / "bad.py").write_text("class Bad:\n    costs = {'rounds': 'T/q'}\n")
    with pytest.raises(InputError, match=r"mine\.theorem_1: rounds of the method .*bad\.py:Bad, 'T/q', column 3: 'q'"):
        resources(theorem({"name": f"{tmp_path}/bad.py:Bad"}).statement("printed"))
