"""One set of constants for every statement: names, rules for what is missing, derived constants, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
from fedco import bounds, theorem
from fedco.bounds.evaluation.evaluate import bound
from fedco.bounds.language.assumptions import RULES, rules_for
from fedco.bounds.language.quantities import QUANTITIES
from fedco.bounds.settings import derivable, resolve, symbol_of
from fedco.bounds.vocabulary import search, template
from refusal import is_refused

FCSG = theorem("fcsg.theorem_4_1")
FEDDRO = theorem("feddro.theorem_5_1")
SCGDM = theorem("local_scgdm.theorem_3_4")
POINT = {"alpha": "1/1000", "q": 2, "m": 3, "b": 1, "B": 1, "N": 4, "T": 10**6}


def used(statement, values):
    return {name: value for name, value in values.items() if name in statement.symbols}


def test_quantities_are_the_letters_of_every_paper():
    letters = {"L_f": 2, "L_g": 3, "S_f": 5, "S_g": 7, "sigma_g": 1, "F_gap": 11}
    named = {FCSG.notation[name].quantity.name: value for name, value in letters.items()}
    point = used(FCSG.statement(), POINT)
    assert FCSG.bound(**letters, **point).total == FCSG.bound(**named, **point).total
    assert resolve(FEDDRO.statement(), {"outer_smoothness": 2, "clients": 4}).values == {"L_f": 2, "K": 4}
    assert resolve(theorem("comfedl.theorem_1").statement(), {}, {"inner_sample_smoothness": 2}).values == {"L_f": 2}


def test_a_quantity_is_one_symbol_at_most_in_every_statement():
    for item in bounds.all_theorems().values():
        for label in item.labels:
            for name, binding in item.statement(label).symbols.items():
                assert symbol_of(item.statement(label), binding.quantity.name) == name


def test_what_a_statement_does_not_use_is_listed_and_what_nothing_has_is_refused():
    found = resolve(FCSG.statement(), {"S_f": 1}, {"S_f": 2, "B_f": 3, "outer_lipschitz": 4, "L_1": 5, "L_Phi": 6})
    assert (found.values, found.unused) == ({"S_f": 1}, ("B_f", "outer_lipschitz", "L_1", "L_Phi"))
    assert found.notes == ("not used: B_f, outer_lipschitz, L_1, L_Phi",)
    for name, meant in (("S_ff", "S_f"), ("outer_sample_smothness", "outer_sample_smoothness")):
        for place in ({"shared": {name: 1}, "values": {}}, {"values": {name: 1}}):
            with is_refused(f"{name}: not a symbol of .*the nearest is {meant}"):
                resolve(FCSG.statement(), **place)
    with is_refused("B_f: not a symbol"):
        resolve(FCSG.statement(), {"B_f": 1})


def test_two_values_for_one_symbol_are_refused_and_the_command_line_goes_first():
    assert resolve(FCSG.statement(), {"outer_sample_smoothness": "1/2", "S_f": "0.5"}).values == {"S_f": "0.5"}
    with is_refused(r"outer_sample_smoothness: is S_f in fcsg\.theorem_4_1 .*S_f has another value"):
        resolve(FCSG.statement(), {"S_f": 2, "outer_sample_smoothness": 1})
    assert resolve(FCSG.statement(), {"S_f": 2}, {"outer_sample_smoothness": 1}).values == {"S_f": 2}


def test_a_derived_constant_stands_for_its_parts():
    """S_F = S_g L_f + S_f L_g^2 with parts 2, 3, 5, 7 is 59."""
    parts = {"L_f": 2, "L_g": 3, "S_f": 5, "S_g": 7, "F_gap": 11, "sigma_g": 0}
    point = used(FCSG.statement(), POINT)
    whole = resolve(FCSG.statement(), {**point, "L_f": 2, "L_g": 3, "F_gap": 11, "sigma_g": 0, "S_F": 59})
    assert whole.replaced == (("S_F", "59"),) and "S_g" not in whole.statement.symbols
    made = bound(whole.statement, {**whole.values, "S_f": 5} if "S_f" in whole.statement.symbols else whole.values)
    given = FCSG.bound(**parts, **point)
    assert made.terms == given.terms and made.derived["S_F"] == 59
    larger = resolve(FCSG.statement(), {**parts, **point, "S_F": 60})
    assert "S_g" in larger.unused and bound(larger.statement, larger.values).total > given.total
    assert "L_Phi" in derivable(FEDDRO.statement()) and derivable(theorem("feddro.lemma_3_1").statement()) == {}
    assert "T_th" not in derivable(FEDDRO.statement("printed")), "it depends on hyperparameters"


def test_only_the_parts_that_nothing_else_needs_may_be_left_out():
    whole = resolve(FEDDRO.statement(), {"L_Phi": 3})
    assert {"L_h", "L_f", "B_g"} <= set(whole.statement.symbols), "they occur beside L_Phi too"
    with is_refused("L_h: wanted a nonnegative real"):
        bound(whole.statement, whole.values)


def test_rules_fill_in_what_is_missing_and_nothing_else():
    found = resolve(FEDDRO.statement(), {"sigma_h": 1}, assume=("zero_noise", "equal_clients", "exact_start"))
    assert {item.symbol: item.rule for item in found.assumed} == {
        "sigma_g": "zero_noise",
        "delta_g": "zero_noise",
        "Delta_h": "equal_clients",
        "Delta_g": "equal_clients",
        "y_err": "exact_start",
    }
    assert found.values["sigma_h"] == 1 and found.values["delta_g"] == "0"
    assert "assumed by zero_noise (every oracle is exact): sigma_g = 0, delta_g = 0" in found.notes
    assert found.to_dict()["assumed"][0] == {"symbol": "sigma_g", "value": "0", "rule": "zero_noise", "source": "0"}
    assert resolve(FEDDRO.statement(), {}, assume="zero_noise").values.keys() == {"sigma_h", "sigma_g", "delta_g"}
    with is_refused("'zero-noise': not an assumption; the nearest is zero_noise"):
        resolve(FEDDRO.statement(), {}, assume="zero-noise")


def test_the_value_noise_from_that_of_the_jacobian_and_a_radius():
    known = {"sigma_g": "1/3", "domain_radius": 6}
    for item, jacobian in ((FEDDRO, "inner_noise"), (SCGDM, "inner_jacobian_noise")):
        found = resolve(item.statement(), {"sigma_g": "1/3"}, {"domain_radius": 6}, ("bounded_domain", "zero_noise"))
        (filled,) = (each for each in found.assumed if each.symbol == "delta_g")
        assert (filled.value, filled.rule, filled.source) == ("2", "bounded_domain", f"{jacobian}*domain_radius")
    without = resolve(FEDDRO.statement(), {"sigma_g": known["sigma_g"]}, assume=("bounded_domain", "zero_noise"))
    assert without.values["delta_g"] == "0", "without the radius the next rule is asked"


def test_a_stronger_constant_stands_in_for_a_weaker_one():
    found = resolve(FCSG.statement(), {}, {"outer_smoothness": 3}, ("stand_ins",))
    assert found.values["S_f"] == "3" and found.assumed[0].source == "outer_smoothness"


def test_the_rules_speak_of_quantities_and_keep_their_units():
    for rule in RULES.values():
        for quantity, sources in rule.fills.items():
            assert quantity in QUANTITIES and QUANTITIES[quantity].role == "constant", rule.name
            for source in sources:
                parts = [QUANTITIES[part].dimension for part in source.split("*") if not part[0].isdigit()]
                if rule.name == "bounded_domain":
                    assert parts[0] * parts[1] == QUANTITIES[quantity].dimension
                assert source != "0" or QUANTITIES[quantity].domain == "nonnegative real"
    assert set(rules_for(["inner_value_noise"])) == {"zero_noise", "bounded_domain"}


def test_a_missing_value_says_what_it_is_and_how_the_paper_uses_the_letter():
    with is_refused(r"alpha: .*step size; alpha is the step size here, not a momentum"):
        FCSG.bound(L_f=1, L_g=1, S_f=1, S_g=1, sigma_g=1, F_gap=1, q=1, m=1, b=1, N=1, T=1)
    everything = {n: 1 for n, b in SCGDM.symbols().items() if b.quantity.role == "constant"}
    for name, said in (("alpha", "alpha.eta is the weight"), ("beta", "move by beta.eta"), ("eta", "multiplies beta")):
        others = {n: 1 for n in ("alpha", "beta", "gamma", "eta", "p", "T") if n != name}
        with is_refused(f"{name}: wanted .*{said}"):
            SCGDM.bound(**everything, **others)
    with is_refused("--assume zero_noise"):
        FEDDRO.bound()


def test_the_python_calls_take_the_file_and_the_rules(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'outer_sample_smoothness = 1\nL_f = "?"\nL_h = 4\ninner_sample_smoothness = 1\nobjective_gap = "1/2"\n'
    )
    known = {"L_f": 1, "L_g": 1, "q": 1, "N": 4, "m": 4}
    found = FCSG.bound(constants=file, assume="zero_noise", **used(FCSG.statement(), {**POINT, **known}))
    assert found.numbers["F_gap"] == 0.5 and found.numbers["sigma_g"] == 0
    region = FCSG.admissible("alpha", constants={"S_f": 1, "S_g": 1, "alpha": 3}, L_f=1, L_g=1, b=1, q=2, sigma_g=0)
    assert region.feasible
    assert FCSG.tune(eps=1, constants=file, assume="zero_noise", L_f=1, L_g=1, N=4).bound.total <= 1


# --- finding names, and writing a file -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "first"),
    [
        (["step", "size"], "step_size"),
        (["learning", "rate"], "step_size"),
        (["distance"], "initial_distance"),
        (["distance", "start"], "initial_distance"),
        (["variance"], "compression_variance"),
        (["variance", "gradient"], "outer_gradient_noise"),
        (["strong", "convexity"], "strong_convexity"),
        (["PL"], "polyak_lojasiewicz"),
        (["staleness"], "delay"),
        (["gossip"], "mixing_contraction"),
        (["probability"], "failure_probability"),
        (["heavy", "ball"], "heavy_ball_momentum"),
        (["frobnicator"], None),
        (["inner", "noise", "value"], "inner_value_noise"),
        (["outer_smoothness"], "outer_smoothness"),
        (["momentum", "gradient"], "gradient_momentum"),
        (["Delta_g"], "inner_jacobian_heterogeneity"),
        (["communic"], "communication_period"),
    ],
)
def test_a_name_is_found_by_its_meaning(words, first):
    if first is None:
        with is_refused("no quantity is about this; try fewer or other words"):
            search(words)
        return
    assert search(words)[0].quantity.name == first


def test_a_mistyped_word_leads_to_one_that_is_nearly_the_same_and_to_no_other():
    with is_refused("the nearest word is momentum; a theorem's file declares its own"):
        search(["momentun"])
    with is_refused("try fewer or other words"):
        search(["dissonance"])  # shares most letters with distance


def test_the_letters_of_all_papers_stand_beside_a_meaning():
    (step, *_) = search(["step_size"])
    assert {"fcsg": "alpha", "feddro": "eta", "local_scgdm": "beta"}.items() <= step.to_dict()["symbols"].items()
    assert "move by beta*eta" in step.to_dict()["notes"]["local_scgdm"]
    assert all(row.quantity.role != "observable" for row in search([]))


@pytest.mark.parametrize("shared", [False, True])
def test_a_filled_in_template_is_a_file_of_constants(shared, tmp_path):
    statements = [FCSG.statement()] if not shared else [FCSG.statement(), FEDDRO.statement(), SCGDM.statement()]
    file = tmp_path / "constants.toml"
    file.write_text(template(statements, shared=shared))
    assert resolve(FCSG.statement(), {}, file).values == {}, "nothing is filled in yet"
    filled = template(statements, shared=shared).replace('= "?"', '= "1/2"')
    file.write_text(filled)
    constants = {n for n, b in FCSG.symbols().items() if b.quantity.role == "constant"}
    assert set(resolve(FCSG.statement(), {}, file).values) == constants
    assert set(map(Fraction, resolve(FCSG.statement(), {}, file).values.values())) == {Fraction(1, 2)}
    for name in constants:
        binding = FCSG.notation[name]
        assert binding.quantity.meaning in filled and f"{binding.quantity.domain}; dimension" in filled


def test_letters_that_clash_need_the_shared_names():
    with is_refused("means different things"):
        template([FEDDRO.statement(), theorem("comfedl.theorem_1").statement()])
