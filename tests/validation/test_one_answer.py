"""All verbs read a declaration alike: what is assumed, what the method gets, how long a round is, and what a bundle refutes."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from fractions import Fraction as F
from functools import partial
from pathlib import Path

import fedco
import pytest
import torch
from families import federated
from fedco.algorithms import LocalSGD, Schedule
from fedco.bounds.audit.necessary import kept_bundles
from fedco.bounds.language.definition import keys_of, statement_keys
from fedco.bounds.language.quantities import COUNT, STEPS
from fedco.bounds.registry import all_theorems, get_theorem
from fedco.errors import InputError
from fedco.validation.exact.tensor import ExactTensor, InexactError
from fedco.validation.falsifier import falsify
from fedco.validation.falsifier.confirm import Claimed, NotConfirmed, confirm, sides
from fedco.validation.falsifier.declared import target_of
from fedco.validation.runs.bundle import BundleError, from_dict, read, replay
from fedco.validation.runs.fit import fitting_problems, misfit
from fedco.validation.runs.method_of import (
    UnbuiltError,
    build_in_lanes,
    build_of,
    built_in_fractions,
    period_of,
    steps_of,
)
from fedco.validation.runs.problem_list import listed
from fedco.validation.runs.refutations import registry
from searching import ticking
from small_theorems import symbols

ANY = {"text": "as it says"}
CONVEX = {
    "id": "mine.convex",
    "metric": "mean_gap",
    "average": "after",
    "symbols": symbols("L sigma D eta b N T", L="objective_smoothness"),
    "terms": {"initialisation": "D**2/(2*eta*T)", "variance": "eta*sigma**2/(N*b)"},
    "conditions": {"step_size": "eta <= 1/L"},
    "method": {"name": "minibatch_sgd", "eta": "eta", "b": "b"},
    "assumptions": {"convexity": {**ANY, "says": ["convex objective"]}},
}  # fmt: skip
BUMPED = federated(
    [[F(-26348), F(-5363), F(1984), F(8180)], [F(-26348), F(-5363), F(992), F(8180)]],
    [[F(0), F(1, 970), F(0), F(0)], [F(0), F(-1, 1403), F(-1, 3826), F(0)]],
)
"""Two clients whose mean is not convex; it breaks the bound of `CONVEX`."""
NUMBERS = Claimed(
    BUMPED,
    {"L": F(3395783, 65330134682640), "sigma": F(1, 1000), "D": F(26348)},
    {"eta": F(17314747), "b": F(1), "N": F(100), "T": F(16)},
)
ROUNDS = {
    "id": "mine.rounds",
    "assume": ["deterministic"],
    "symbols": symbols("L F_gap eta p R", L="objective_smoothness"),
    "terms": {"start": "2*F_gap/(eta*R*p)"},
    "conditions": {"step_size": "eta <= 1/L"},
}  # fmt: skip
PLAIN = """
from dataclasses import dataclass, replace
from typing import ClassVar

from fedco.algorithms import Messages, Method, Scalar, State, average


@dataclass(frozen=True, eq=False)
class Mean(Method):
    name: ClassVar[str] = "mean"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = ("local_gradient",)
    QUANTITIES
    eta: Scalar
    p: int = 1

    def init(self, problem, start, draws):
        return State(x=start.models(problem, draws))

    def local_step(self, problem, state, draws, t):
        return replace(state, x=state.x - self.eta * average(problem.local_gradient(state.x)))

    def communicate(self, problem, state, t):
        return state

    def messages(self, problem, T):
        return Messages(rounds=T // self.p, model_floats=T // self.p * problem.dim)
"""
SAYS_PERIOD = 'quantities: ClassVar[dict[str, str]] = {"p": "communication_period"}'


def of_file(folder: Path, quantities: str, **method):
    """The theorem in rounds about a method in a file of its own."""
    file = folder / "own.py"
    file.write_text(PLAIN.replace("QUANTITIES", quantities))
    return fedco.define(**ROUNDS, method={"name": f"{file}:Mean", "eta": "eta", **method})


# --- what is assumed ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["says", "assume"])
def test_no_instance_that_is_not_convex_refutes_a_theorem_for_convex_objectives(how):
    keys = CONVEX if how == "says" else {**CONVEX, "assumptions": {}, "assume": ["convex"]}
    theorem = fedco.define(**keys)
    with pytest.raises(NotConfirmed, match="does not have the property convex"):
        confirm(target_of(theorem, "printed"), NUMBERS)
    assert "federated_sines" not in fitting_problems(theorem) and fitting_problems(theorem)


def test_the_same_instance_refutes_the_statement_for_any_objective():
    theorem = fedco.define(**{**CONVEX, "assumptions": {}})
    assert confirm(target_of(theorem, "printed"), NUMBERS).ratio > 1
    assert "federated_sines" in fitting_problems(theorem)


@pytest.mark.parametrize(
    ("saying", "property_", "kind"),
    [
        ("convex objective", "convex", "federated"),
        ("convex clients", "convex_clients", "federated"),
        ("equal inner functions", "equal_inner_maps", "local_composite"),
        ("equal outer functions", "equal_outer_functions", "local_composite"),
        ("independent clients", "independent_clients", "federated"),
    ],
)
def test_a_property_is_read_from_what_an_assumption_says(saying, property_, kind):
    keys = {**CONVEX, "problem": kind, "metric": "mean_gradient_sq", "units": ["step_size", "objective_gap"]}
    theorem = fedco.define(**{**keys, "assumptions": {"own": {**ANY, "says": [saying]}}, "method": {}})
    assert theorem.statement().assumed == (property_,)


def test_what_instances_cannot_be_given_is_named():
    either = {**CONVEX, "assumptions": {"either": {**ANY, "says": ["convex objective", "one of several"]}}}
    theorem = fedco.define(**either)
    found = falsify(theorem, seconds=1.0, clock=ticking())
    assert found.outcome == "NOT_APPLICABLE"
    assert found.why[0].endswith(
        "falsify cannot make instances with 'either', which says one of several things: wanted one of them under `assume` too"
    )
    assert falsify(theorem, seconds=2.0, clock=ticking(), assume=("convex",)).outcome == "SURVIVED"
    problems = {each.name: each for each in listed()}
    assert "says one of several things" in misfit(theorem, problems["federated_sines"])
    assert not misfit(theorem, problems["federated_quadratic"])


def test_a_statement_about_whole_rounds_is_not_broken_by_others():
    keys = {
        "id": "mine.rounds",
        "symbols": {"G": "gradient_cap", "eta": "step_size", "p": "communication_period", "T": "iterations", "N": "clients"},
        "terms": {"cap": "G**2/1000"},
        "conditions": {"range": "eta*p*N*T >= 0"},
        "units": ["step_size"],
        "method": {"name": "local_sgd", "eta": "eta", "tau": "p", "b": 1},
    }  # fmt: skip
    instance = federated([[F(-9), F(9)]], [[F(-9), F(9)]], F(1))
    claimed = Claimed(instance, {"G": F(9)}, {"eta": F(1, 10), "p": F(2), "T": F(5), "N": F(1)})
    assert sides(target_of(fedco.define(**keys), "printed"), claimed).ratio > 1
    whole = fedco.define(**keys, assumptions={"whole": {**ANY, "says": ["whole rounds"]}})
    with pytest.raises(NotConfirmed, match="about whole rounds, got 5 steps in rounds of 2"):
        sides(target_of(whole, "printed"), claimed)
    even = replace(claimed, hyperparameters={**claimed.hyperparameters, "T": F(6)})
    assert sides(target_of(whole, "printed"), even).ratio > 1
    again = fedco.define(**keys_of(whole, "printed"))
    assert again.statement().said == ("whole rounds",), "a bundle holds what the theorem says"


# --- what the method gets -----------------------------------------------------------------------------------------------------


def test_a_symbol_with_the_name_of_a_hyperparameter_has_to_be_given():
    method = {"name": "minibatch_sgd", "eta": "eta"}
    with pytest.raises(InputError) as error:
        fedco.define(**{**CONVEX, "method": method})
    wanted = 'wanted b = "b" or a number under [method], or another name for the symbol'
    assert str(error.value).endswith(wanted) and "\n" not in str(error.value)
    assert fedco.define(**{**CONVEX, "method": {**method, "b": 2}}).method.values["b"] == 2
    renamed = {name.replace("b", "batch"): meaning for name, meaning in CONVEX["symbols"].items()}
    terms = {**CONVEX["terms"], "variance": "eta*sigma**2/(N*batch)"}
    other = fedco.define(**{**CONVEX, "symbols": renamed, "terms": terms, "method": method})
    values = {"eta": 0.5, "batch": 4, "N": 2, "T": 3, "L": 1, "D": 1, "sigma": 1}
    assert build_of(other)(values).b == 1 == build_in_lanes(other)(values).b


def test_a_default_of_a_method_in_a_file_holds_in_every_verb(tmp_path):
    """The symbol p is not given to the method, which then has its own p = 1 in runs as in searches."""
    theorem = of_file(tmp_path, SAYS_PERIOD)
    values = {"eta": 0.5, "p": 4, "R": 2, "L": 1, "F_gap": 1}
    assert build_of(theorem)(values).p == 1 == build_in_lanes(theorem)(values).p
    assert built_in_fractions(theorem, {name: F(value) for name, value in values.items()}).p == 1
    given = build_of(theorem, type(build_of(theorem)(values)))
    assert given(values).p == 4, "a class that the caller gives takes the symbols of the same name"


def test_a_hyperparameter_that_a_method_in_a_file_does_not_have_is_refused_in_every_verb(tmp_path):
    """A run left it out without a word, and had the default in its place."""
    theorem = of_file(tmp_path, SAYS_PERIOD, q="p")
    values = {"eta": 0.5, "p": 4, "R": 2, "L": 1, "F_gap": 1}
    for build in (build_of(theorem), lambda _: build_in_lanes(theorem), partial(built_in_fractions, theorem)):
        with pytest.raises(InputError, match=r"its method mean has no hyperparameter q; wanted one of eta, p$"):
            build(values)


def test_a_method_in_a_file_that_cannot_be_made_of_lanes_is_searched_by_none(tmp_path):
    theorem = of_file(tmp_path, "def __post_init__(self):\n        raise TypeError('wanted a float')")
    with pytest.raises(
        InputError, match=r"own.py:Mean: cannot be built from what the theorem gives it: wanted a float$"
    ):
        build_in_lanes(theorem)({"eta": torch.ones(2)})


FITTING = {"participation": F(1, 2), "compression_variance": F(2), "step_offset": F(5, 2)}
"""Of quantities of which a method makes a whole number, or that make a share of another one."""


@pytest.mark.parametrize("name", [name for name in all_theorems() if get_theorem(name).method is not None])
def test_a_method_has_the_same_hyperparameters_in_doubles_in_a_search_and_in_fractions(name):
    theorem = get_theorem(name)
    values = {}
    for index, (symbol, binding) in enumerate(theorem.symbols(theorem.first).items()):
        number = F(4 + 2 * (index % 3)) if binding.quantity.domain in (COUNT, STEPS) else F(2 + index % 2, 21 + index)
        values[symbol] = FITTING.get(binding.quantity.name, number)
    doubles = {symbol: float(value) for symbol, value in values.items()}
    lanes = {symbol: torch.tensor([value] * 3, dtype=torch.float64) for symbol, value in doubles.items()}
    exact = {symbol: ExactTensor.of([value]) for symbol, value in values.items()}
    run, searched = build_of(theorem)(doubles), build_in_lanes(theorem)
    for other in (searched(doubles), searched(lanes), searched(exact), built_in_fractions(theorem, values)):
        assert type(other) is type(run)
        for declared in fields(run):
            ours, theirs = (numbers_in(getattr(method, declared.name)) for method in (run, other))
            for a, b in zip(ours, theirs, strict=True):
                assert a == b or math.isclose(a, b, rel_tol=1e-15), declared.name
                assert isinstance(a, int) == isinstance(b, int), declared.name


def about(method):
    """A theorem about a method with formulas in some of its symbols."""
    letters = symbols("eta p T N beta t0 G", G="gradient_cap")
    terms, own = {"all": "G**2*beta*eta*p*t0/(N*T)"}, {"eta": "eta", **method}
    return fedco.define(id="mine.built", symbols=letters, terms=terms, units=["step_size"], method=own)


NUMBERS_OF = {"eta": F(1, 4), "p": F(3), "T": F(12), "N": F(2), "beta": F(1, 3), "t0": F(5, 2)}
DOUBLES = {name: float(value) for name, value in NUMBERS_OF.items()}


@pytest.mark.parametrize("period", ["p/2", "(p + 2)/2"])
def test_a_period_that_is_not_whole_is_the_users_in_a_run_and_of_no_use_in_a_search(period):
    theorem, got = about({"name": "local_sgd", "tau": period}), F(3, 2) if period == "p/2" else F(5, 2)
    with pytest.raises(InputError, match=rf"mine.built: its method wants a whole number for tau, got {float(got)}$"):
        build_of(theorem)(DOUBLES)
    with pytest.raises(InputError, match=rf"mine.built: its method wants a whole number for tau, got {got}$"):
        built_in_fractions(theorem, NUMBERS_OF)
    search = build_in_lanes(theorem)
    with pytest.raises(
        UnbuiltError, match=r"local_sgd: wants a whole number for tau; a search makes p/2.* any number$"
    ):
        search(NUMBERS_OF)
    assert search({**NUMBERS_OF, "p": F(4)}).tau in (2, 3)
    assert search({**NUMBERS_OF, "p": torch.tensor([4.0, 4.0], dtype=torch.float64)}).tau in (2, 3)
    with pytest.raises(UnbuiltError):
        search({**NUMBERS_OF, "p": torch.tensor([4.0, 8.0], dtype=torch.float64)})


def test_a_number_that_is_no_fraction_has_no_exact_run_and_no_search():
    theorem = about({"name": "local_sgd", "eta": "eta/sqrt(N)", "tau": "p"})
    assert build_of(theorem)({**DOUBLES, "N": 4.0}).eta == 1 / 8
    assert numbers_in(built_in_fractions(theorem, {**NUMBERS_OF, "N": F(4)}).eta) == [F(1, 8)]
    with pytest.raises(InexactError, match=r"^eta = sqrt\(2\)/8 is no fraction$"):
        built_in_fractions(theorem, NUMBERS_OF)
    with pytest.raises(InputError, match="wanted sums, products and whole powers"):
        build_in_lanes(theorem)(NUMBERS_OF)


def test_a_step_size_that_changes_each_p_steps_is_built_in_a_run_and_in_no_search():
    theorem = about({"name": "local_sgd", "eta": "eta/(floor(t/p) + t0)", "tau": "p"})
    assert build_of(theorem)(DOUBLES).eta.every == 3
    assert built_in_fractions(theorem, NUMBERS_OF).eta.every == 3
    with pytest.raises(InputError, match=r"a whole number of steps K in floor\(t/K\)$"):
        build_in_lanes(theorem)


def test_an_instance_of_a_search_outside_of_the_conditions_disturbs_no_other():
    """A weight above 1 and a schedule without a first step size are no methods; such an instance counts for nothing."""
    lanes = {name: torch.tensor([float(value)] * 2, dtype=torch.float64) for name, value in NUMBERS_OF.items()}
    lanes |= {
        "beta": torch.tensor([0.25, 1.5], dtype=torch.float64),
        "t0": torch.tensor([2.5, 0.0], dtype=torch.float64),
    }
    theorem = about({"name": "local_storm", "eta": "eta/(t + t0)", "a": "beta", "tau": "p"})
    made = build_in_lanes(theorem)(lanes)
    assert made.a.tolist() == [0.25, 1.0] and made.eta.t0[0] == 2.5 and 0 < made.eta.t0[1] < 1e-200
    assert build_in_lanes(theorem)({**NUMBERS_OF, "beta": 1.5, "t0": 0.0}).a == 1.0
    falling = about({"name": "local_storm", "a": "beta/sqrt(t + t0)", "tau": "p"})
    assert build_in_lanes(falling)({**NUMBERS_OF, "beta": 9.0, "t0": 4.0}).a.at(0) == 1.0
    with pytest.raises(ValueError, match="must be at most 1"):
        build_of(theorem)({**DOUBLES, "beta": 1.5})


def test_numbers_of_a_formula_are_exact_in_an_exact_search():
    theorem = about({"name": "local_sgd", "eta": "eta/3", "tau": "p"})
    third = about({"name": "local_sgd", "eta": "1/3", "tau": "p"})
    exact = {name: ExactTensor.of([value]) for name, value in NUMBERS_OF.items()}
    assert build_in_lanes(theorem)(exact).eta.numbers.tolist() == [F(1, 12)]
    assert build_in_lanes(third)(exact).eta.numbers.tolist() == [F(1, 3)]
    assert build_in_lanes(third)(NUMBERS_OF).eta == 1 / 3 == build_of(third)(DOUBLES).eta


def test_a_class_of_the_callers_needs_none_of_the_hyperparameters_that_the_theorem_gives_its_own_method():
    theorem = about({"name": "local_storm", "a": "beta", "tau": "p"})
    made = build_of(theorem, LocalSGD)(DOUBLES)
    assert (made.eta, made.tau, made.b) == (0.25, 3, 1)


def numbers_in(value):
    """What a hyperparameter consists of: numbers or a word; of lanes that are the same, one."""
    if isinstance(value, Schedule):
        return [*numbers_in(value.a), *numbers_in(value.t0), float(value.power), value.every]
    if isinstance(value, ExactTensor):
        return [float(each) for each in value.numbers]
    if isinstance(value, torch.Tensor):
        return value.unique().tolist()
    return [value]


@pytest.mark.parametrize("quantities", ["", SAYS_PERIOD])
def test_a_round_has_as_many_steps_as_its_symbol_says(tmp_path, quantities):
    """The proof reads R p steps off the statement; a run had R where the class does not say what p is."""
    theorem = of_file(tmp_path, quantities, p="p")
    assert period_of(theorem) == "p" and steps_of(theorem)({"p": 4, "R": 2}) == 8
    target = target_of(theorem, "printed")
    assert target.steps({"p": 4, "R": 2}) == 8 and target.round_length({"p": 4, "R": 2}) == 4


@pytest.mark.parametrize(
    ("quantities", "given", "got"),
    [
        ("", {}, "no hyperparameter of .*own.py:Mean is known to be that"),
        ("", {"p": 2}, "no hyperparameter of .*own.py:Mean is known to be that"),
        (SAYS_PERIOD, {"p": 2}, "own.py:Mean gets p = 2"),
        (SAYS_PERIOD, {}, "own.py:Mean gets p = 1"),
    ],
)
def test_rounds_of_another_length_than_the_symbol_are_refused(tmp_path, quantities, given, got):
    with pytest.raises(InputError, match=f"p is the statement's number of steps in a round, and .*{got}; wanted it"):
        steps_of(of_file(tmp_path, quantities, **given))


def test_rounds_of_a_method_of_fedcos_that_has_none_are_refused():
    theorem = fedco.define(**ROUNDS, method={"name": "minibatch_sgd", "eta": "eta"})
    with pytest.raises(InputError, match="no hyperparameter of minibatch_sgd is known to be that"):
        target_of(theorem, "printed")
    assert falsify(theorem, seconds=1.0).outcome == "NOT_APPLICABLE"


# --- what a bundle refutes ----------------------------------------------------------------------------------------------------

CHANGED = "baselines.local_sgd.printed.variance"


def test_a_changed_statement_is_named_whatever_the_notes_say():
    kept = from_dict(kept_bundles()[CHANGED])
    edited = replace(kept, notes={"reading": "none is needed", "status": "refuted", "assumptions": {"smooth": True}})
    done = replay(edited, registry(None))
    change = "the statement with a change: variance: divided by "
    assert done.confirmed and done.notes["reading"].startswith(change) and done.notes.keys() == {"instance", "reading"}
    assert done.verdict.claim.startswith(f"another statement than baselines.local_sgd (printed) ({change}")


def test_a_statement_that_the_file_writes_down_is_another_one():
    kept = from_dict(kept_bundles()[CHANGED])
    keys = statement_keys(get_theorem("baselines.local_sgd"), "printed")
    parameters = {name: part for name, part in kept.problem["parameters"].items() if name != "change"}
    smaller = {**keys, "terms": {**keys["terms"], "variance": f"({keys['terms']['variance']})/1000"}}
    bundle = replace(kept, problem={**kept.problem, "parameters": {**parameters, "restated": smaller}})
    words = "another statement than baselines.local_sgd (printed) (as the file writes it down)"
    assert replay(bundle, registry(None)).verdict.claim == words
    same = replace(kept, problem={**kept.problem, "parameters": {**parameters, "restated": keys}})
    done = replay(same, registry(None))
    assert not done.confirmed and done.verdict.claim == "baselines.local_sgd (printed)", "which holds on this instance"


def test_another_theorem_does_not_pass_for_one_of_fedcos():
    kept = from_dict(kept_bundles()[CHANGED])
    theorem = get_theorem("baselines.local_sgd")
    keys = keys_of(theorem, "printed")
    smaller = {**keys["terms"], "variance": f"({keys['terms']['variance']})/1000"}
    parameters = {name: part for name, part in kept.problem["parameters"].items() if name != "change"}

    def defined(claim: str, name: str):
        definition = {**keys, "terms": smaller, "id": name}
        problem = {**kept.problem, "parameters": {**parameters, "definition": definition}}
        return replace(kept, claim=f"{claim} (printed)", problem=problem, notes={"reading": "none is needed"})

    with pytest.raises(
        BundleError, match="a theorem that comes with fedco has this id; wanted another id, such as mine"
    ):
        replay(defined(theorem.id, theorem.id), registry(None))
    with pytest.raises(BundleError, match=r"it defines 'mine\.sgd', and its claim is about 'baselines\.local_sgd'"):
        replay(defined(theorem.id, "mine.sgd"), registry(None))
    done = replay(defined("mine.sgd", "mine.sgd"), registry(None))
    assert done.notes["reading"] == "none is needed; the theorem is the one that the file defines"
    assert done.verdict.claim == "mine.sgd (printed)"


def test_a_search_refuses_a_theorem_whose_bundle_would_be_taken_for_one_of_fedcos():
    keys = keys_of(get_theorem("baselines.local_sgd"), "printed")
    found = falsify(fedco.define(**keys), seconds=1.0)
    assert found.outcome == "NOT_APPLICABLE" and "wanted another id, such as mine.local_sgd" in found.why[0]


# --- fine-tuning without a symbol ---------------------------------------------------------------------------------------------


META = {
    "id": "mine.meta",
    "problem": "meta",
    "symbols": {"B": "local_gradient_bound", "eta": "step_size", "N": "clients", "T": "iterations"},
    "terms": {"cap": "B**2/1000"},
    "conditions": {"range": "eta*N*T >= 0"},
    "units": ["step_size"],
    "method": {"name": "local_sgd", "eta": "eta", "tau": 1},
}


def test_a_statement_about_any_number_of_fine_tuning_steps_is_searched(tmp_path):
    found = falsify(fedco.define(**META), seconds=20.0, clock=ticking(), out=tmp_path)
    assert found.refuted and replay(read(found.path), registry(None)).confirmed
    assert found.found.problem["parameters"]["instance"]["settings"]["nu"] >= 1


@pytest.mark.slow
def test_a_constant_that_no_instance_has_is_named():
    cap = {**META, "symbols": {**META["symbols"], "B": "gradient_cap"}}
    unknown = falsify(fedco.define(**cap), seconds=60.0, clock=ticking())
    assert not unknown.refuted and any("no known gradient_cap" in line for line in unknown.why)
