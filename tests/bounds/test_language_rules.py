"""The language by rules of its own: dimensions by the names of quantities, limits met exactly, closed forms, changes of a statement."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from fractions import Fraction as Q
from random import Random

import fedco
import mpmath
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.evaluation.evaluate import bound
from fedco.bounds.language.assumptions import RULES, Rule, rules_for
from fedco.bounds.language.change import Change, narrowed, weakenings
from fedco.bounds.language.definition import define
from fedco.bounds.language.dimension import INNER, OBJECTIVE, ONE, VARIABLE, Dimension
from fedco.bounds.language.fields import MAX_ENTRIES
from fedco.bounds.language.formula import MAX_BITS, MAX_DEPTH, MAX_FORMULA, MAX_POWER, FormulaError, read_formula
from fedco.bounds.language.homogeneity import InhomogeneousError, dimension_of
from fedco.bounds.language.notation import Notation, derived_symbol, slack_symbol
from fedco.bounds.language.paper import Paper
from fedco.bounds.language.quantities import MAX_STEPS, NONNEGATIVE, POSITIVE, QUANTITIES, quantity
from fedco.bounds.language.reading import MAX_BITS as MAX_NUMBER_BITS
from fedco.bounds.language.reading import (
    MAX_FILE,
    is_array,
    missing_values,
    read_number,
    read_toml,
    read_value,
)
from fedco.bounds.language.recursion import (
    Geometric,
    IrrationalError,
    Nested,
    Recurrence,
    least,
    recursion,
    root,
    step_function,
    stepwise,
)
from fedco.bounds.language.theorem import (
    Condition,
    DeclarationError,
    Derived,
    Source,
    Statement,
    Term,
    Theorem,
    put_in,
)
from fedco.bounds.proof.compose import IDENTITY, Smooth, plug_in_bias, root_mean_square
from refusal import is_refused

# --- the vocabulary ----------------------------------------------------------------------------------------------------------

VALUES = {"outer": OBJECTIVE, "inner": INNER, "noncompositional": OBJECTIVE, "local": OBJECTIVE, "objective": OBJECTIVE}
ARGUMENTS = {"outer": INNER}
OWN = {
    "inner_noise": INNER / VARIABLE,  # one number for the value and the Jacobian
    "composite_noise": INNER,
    "initial_inner_error": INNER,
    "objective_gap": OBJECTIVE,
    "gradient_cap": OBJECTIVE / VARIABLE,
    "domain_radius": VARIABLE,
}


def derivatives(name: str) -> int:
    """How often the function is differentiated of which a constant speaks."""
    for words, order in (
        (("value",), 0),
        (("hessian_lipschitz",), 3),
        (("smoothness", "hessian"), 2),
        (("lipschitz", "gradient", "jacobian"), 1),
    ):
        if any(word in name for word in words):
            return order
    # the heterogeneity of a function without a word for its derivative is that of its gradient
    assert name.endswith("heterogeneity"), name
    return 1


@pytest.mark.parametrize("name", [name for name, each in QUANTITIES.items() if each.role == "constant"])
def test_the_dimension_of_a_constant_follows_from_its_name(name: str):
    if not name.startswith((*VALUES, *OWN)):
        pytest.skip("registered by a test")
    found, of = quantity(name), name.partition("_")[0]
    wanted = OWN.get(name) or VALUES[of] / ARGUMENTS.get(of, VARIABLE) ** derivatives(name)
    assert found.dimension == (wanted**4 if name.endswith("fourth_moment") else wanted)
    vanishing = ("noise", "noise_bound", "moment", "heterogeneity", "error", "gap", "cap")
    may_vanish = name.endswith(vanishing) or of == "noncompositional"
    assert found.domain == (NONNEGATIVE if may_vanish else POSITIVE) and found.default is None


def test_dimensions_are_exponents_of_three_units():
    rng = Random(3)
    for _ in range(20):
        (a, b, c), (d, e, f) = ([Q(rng.randint(-4, 4), rng.randint(1, 3)) for _ in range(3)] for _ in range(2))
        one, other, power = Dimension(a, b, c), Dimension(d, e, f), Q(rng.randint(-3, 3), 2)
        assert one * other == Dimension(a + d, b + e, c + f) and one / other == Dimension(a - d, b - e, c - f)
        assert one**power == Dimension(a * power, b * power, c * power)
    assert (str(ONE), str(OBJECTIVE), str(INNER**2 / VARIABLE)) == ("1", "[f]", "[y]^2 [x]^-1")
    assert (OBJECTIVE.f, INNER.y, VARIABLE.x) == (1, 1, 1) and ONE == Dimension() == Dimension(Q(0), Q(0), Q(0))
    assert str(OBJECTIVE ** Q(1, 2)) == "[f]^1/2"


def test_the_dimension_of_an_expression():
    a, b, n = sp.symbols("a b n", positive=True)
    known = {a: OBJECTIVE, b: INNER, n: ONE}
    for expr, wanted in (
        (3 * a * b**2 / sp.sqrt(b), OBJECTIVE * INNER ** Q(3, 2)),
        (a + 2 * a * n, OBJECTIVE),
        (sp.Max(a * b, b * a * n), OBJECTIVE * INNER),
        (sp.Max(a, 0), OBJECTIVE),
        (sp.exp(n) * sp.pi, ONE),
        (n**n, ONE),
        (a**0 + 7, ONE),
        (Geometric(n, n) * a, OBJECTIVE),
    ):
        assert dimension_of(expr, known) == wanted, expr
    for expr, reason in (
        (a + b, "mixed dimensions"),
        (a + 1, "mixed dimensions"),
        (sp.Min(a, b), "mixed dimensions"),
        (sp.log(a), "log of a quantity with a dimension"),
        (a**n, "exponent n of a quantity of dimension"),
        (n**a, "exponent a of dimension"),
        (Geometric(n, a), "mixed dimensions"),
    ):
        with pytest.raises(InhomogeneousError, match=reason):
            dimension_of(expr, known)


def test_symbols_have_the_assumptions_of_their_domain():
    entries = (
        ("L", "L", "local_smoothness"),
        ("s", "s", "local_gradient_noise"),
        ("N", "N", "clients"),
        ("nu", "n", "fine_tuning_steps", "mine"),
    )
    notation = Notation("demo", entries)
    flags = {b.name: (b.symbol.is_positive, b.symbol.is_nonnegative, b.symbol.is_integer) for b in notation}
    assert flags == {
        "L": (True, True, None),
        "s": (None, True, None),
        "N": (True, True, True),
        "nu": (None, True, True),
    }
    assert notation["nu"].meaning == "number of fine-tuning steps inside the objective; mine"
    assert (
        notation["L"].meaning == "largest Lipschitz constant of grad f_i"
        and notation.namespace().N is notation["N"].symbol
    )
    for symbol in (derived_symbol("c"), slack_symbol("w")):
        assert (symbol.is_positive, symbol.is_nonnegative) == (None, True)
    assert "bindings" not in repr(notation)
    with pytest.raises(ValueError, match="declared twice"):
        Notation("demo", (*entries, ("L", "M", "clients")))


# --- constants of compositions, rules for what is missing ------------------------------------------------------------------------


def test_constants_of_a_composition_do_not_depend_on_how_it_is_bracketed():
    f, g, h = (Smooth(*sp.symbols(f"l{n} s{n}", positive=True)) for n in range(3))
    left, right = f.of(g).of(h), f.of(g.of(h))
    assert left.lipschitz == right.lipschitz and sp.expand(left.smoothness - right.smoothness) == 0
    assert f.of(IDENTITY) == f == IDENTITY.of(f)
    assert f.of(g).smoothness == f.lipschitz * g.smoothness + f.smoothness * g.lipschitz**2
    assert (f + g) == Smooth(f.lipschitz + g.lipschitz, f.smoothness + g.smoothness)
    assert f.scaled(3) == Smooth(3 * f.lipschitz, 3 * f.smoothness)
    assert root_mean_square(sp.Integer(3), sp.Integer(4)) == 5
    assert plug_in_bias(f, g, sp.Integer(7)) == 7 * g.lipschitz * f.smoothness


def test_a_rule_takes_its_first_source_that_is_known():
    rule = Rule("r", "m", {"a": ("b*c", "d", "2*d"), "e": ("0",), "g": ("12",)})
    assert rule.value("a", {"b": Q(2), "c": Q(1, 3), "d": Q(5)}) == (Q(2, 3), "b*c")
    assert rule.value("a", {"b": Q(2), "d": Q(5)}) == (Q(5), "d") and rule.value("a", {"b": Q(2)}) is None
    assert rule.value("a", {"b": Q(0), "c": Q(3)}) == (Q(0), "b*c"), "0 is a value"
    assert rule.value("e", {}) == (Q(0), "0") and rule.value("g", {}) == (Q(12), "12") and rule.value("h", {}) is None
    constants = {name for name, each in QUANTITIES.items() if each.role == "constant"}
    assert set(RULES["unit_constants"].fills) >= constants - {"a_quantity_of_these_tests"}
    for name, ends in (("zero_noise", ("_noise", "_fourth_moment")), ("equal_clients", ("_heterogeneity",))):
        assert set(RULES[name].fills) == {q for q in RULES["unit_constants"].fills if q.endswith(ends)}
        assert all(RULES[name].value(q, {}) == (0, "0") for q in RULES[name].fills)
    assert all(QUANTITIES[q].domain == NONNEGATIVE for q in RULES["no_extra_term"].fills)
    assert rules_for(["local_gradient_noise", "local_smoothness"]) == {"zero_noise": ["local_gradient_noise"]}


# --- numbers and formulas at their limits -------------------------------------------------------------------------------------------


def test_a_number_may_be_as_long_as_the_limit_and_no_longer():
    for text in ("1" * 60, "1/" + "3" * 58, "0." + "1" * 58):
        assert read_number("x", text) == Q(text)
        with is_refused(r"in at most 60 characters, got 61: \S{20}…$"):
            read_number("x", text + "1")
    assert read_number("x", "1e100") == 10**100 and read_number("x", "1e-100") == Q(1, 10**100)
    for text in ("1e101", "1e-101"):
        with is_refused("an exponent of at most 100"):
            read_number("x", text)
    largest = 2**MAX_NUMBER_BITS - 1
    for value in (largest, Q(1, largest), -largest):
        assert read_number("x", value) == value
    for value in (largest + 1, Q(1, largest + 2), -largest - 1):
        with is_refused(f"in at most {MAX_NUMBER_BITS} bits"):
            read_number("x", value)
    assert MAX_NUMBER_BITS == 14_000


def test_what_is_many_numbers():
    several = ([1], (1, 2), np.array([1.0]), np.ones((2, 2)))
    single = (1, 1.0, "1", np.float64(1), np.array(1.0), Q(1), None)
    assert all(map(is_array, several)) and not any(map(is_array, single))


def test_what_is_missing_is_named_with_rules_for_constants_only():
    bindings = Notation(
        "demo", (("s", "s", "local_gradient_noise"), ("N", "N", "clients"), ("eta", "e", "step_size"))
    ).bindings
    both = str(missing_values(bindings, ["N", "s"]))
    assert both == (
        "N: wanted a positive integer (number of clients), got nothing; missing: N, s; rules that may fill some in: --assume zero_noise"
    )
    assert str(missing_values(bindings, ["N", "eta"])).endswith("missing: N, eta")
    for name, value, good in (("N", 1, True), ("N", 0, False), ("s", 0, True), ("eta", 0, False), ("eta", "1/3", True)):
        if good:
            assert read_value(bindings[name], value) == Q(value)
        else:
            with is_refused(f"^{name}: wanted a"):
                read_value(bindings[name], value)


NAMES = {name: sp.Symbol(name, positive=True) for name in ("L", "eta", "T")}


def test_a_formula_may_be_as_long_and_deep_as_the_limit_and_no_more():
    L = NAMES["L"]
    assert (MAX_FORMULA, MAX_DEPTH, MAX_POWER, MAX_BITS) == (2000, 40, 64, 4096)
    assert read_formula("L" + " " * (MAX_FORMULA - 1), NAMES) == L
    with pytest.raises(FormulaError, match="at most 2000 characters, got 2001"):
        read_formula("L" + " " * MAX_FORMULA, NAMES)
    for opened, closed in (("(", ")"), ("-", ""), ("sqrt(", ")")):
        read_formula(opened * (MAX_DEPTH - 1) + "L" + closed * (MAX_DEPTH - 1), NAMES)
        with pytest.raises(FormulaError, match="inside each other"):
            read_formula(opened * MAX_DEPTH + "L" + closed * MAX_DEPTH, NAMES)
    assert read_formula("(L) + (L) + " * 60 + "L", NAMES) == 121 * L, "side by side is not deep"
    for exponent in (MAX_POWER, -MAX_POWER, sp.Rational(1, MAX_POWER), sp.Rational(-63, 64)):
        assert read_formula(f"L**({exponent})", NAMES) == L**exponent
    for text in ("L**65", "L**-65", "L**(1/65)", "L**(65/64)"):
        with pytest.raises(FormulaError, match="at most 64"):
            read_formula(text, NAMES)
    assert read_formula("((2**63)**64)*2**63", NAMES) == sp.Integer(2) ** (MAX_BITS - 1)
    for text in (
        "((2**63)**64)*2**63*2",
        "1/(((2**63)**64)*2**64)",
        "((2**63)**64)*2**64",
        "(2**64)**64",
        "((2**63)**64)*2**63 + ((2**63)**64)*2**63",
    ):
        with pytest.raises(FormulaError, match="more than 4096 bits"):
            read_formula(text, NAMES)


def test_entries_and_a_file_may_be_as_many_as_the_limit(tmp_path):
    symbols = {"F_gap": "objective_gap", "eta": "step_size", "T": "iterations"}
    made = {
        n: define(id="m.t", symbols=symbols, terms={f"t{i}": "F_gap/(eta*T)" for i in range(n)})
        for n in (1, MAX_ENTRIES)
    }
    assert [len(theorem.statement().terms) for theorem in made.values()] == [1, 200]
    with is_refused("terms: wanted at most 200 entries or characters, got 201"):
        define(id="m.t", symbols=symbols, terms={f"t{i}": "F_gap/(eta*T)" for i in range(MAX_ENTRIES + 1)})
    file = tmp_path / "long.toml"
    file.write_text("a = 0.10" + " " * (MAX_FILE - 8))
    assert MAX_FILE == 100_000 and read_toml(file) == {"a": "0.10"}
    file.write_text("a = 0.10" + " " * (MAX_FILE - 7))
    with is_refused("at most 100000 bytes, got 100001"):
        read_toml(file)


# --- recursions ------------------------------------------------------------------------------------------------------------------


def test_sums_of_powers_are_what_their_names_say():
    a = sp.Symbol("a", positive=True)
    for n in range(7):
        geometric = sum((a**i for i in range(n)), sp.Integer(0))
        nested = sum((a**i for j in range(1, n) for i in range(j)), sp.Integer(0))
        assert sp.expand(Geometric(n, a) - geometric) == 0 and sp.expand(Nested(n, a) - nested) == 0
        assert Geometric(n, sp.Rational(2, 3)) == geometric.subs(a, sp.Rational(2, 3))
        assert Nested(n, sp.Rational(2, 3)) == nested.subs(a, sp.Rational(2, 3))
    n = sp.Symbol("n", integer=True, nonnegative=True)
    assert sp.latex(Geometric(n, a)) == r"\sum_{l=0}^{n - 1}\left(a\right)^l"
    assert sp.latex(Nested(n + 1, a) ** 2) == r"\left(\sum_{j=1}^{n}\sum_{i=0}^{j-1}\left(a\right)^i\right)^{2}"
    on_arrays = sp.lambdify((n, a), Geometric(n, a), "numpy")
    steps = np.array([[0.0, 1.0, 3.0], [2.5, MAX_STEPS, MAX_STEPS + 1]])
    found = on_arrays(steps, np.array([0.5, 2.0, 1.0]))
    assert np.isnan(found).tolist() == [[False, False, False], [True, False, True]]
    assert found[0].tolist() == [0.0, 1.0, 3.0] and found[1, 1] == 2.0**100 - 1
    assert on_arrays(3, np.array([0.5, 2.0])).tolist() == [1.75, 7.0] and on_arrays(np.array([3.0]), 2.0).tolist() == [
        7.0
    ]
    assert np.isnan(on_arrays(np.array([2.5]), 2.0)).all() and Geometric(-1, a) == 0
    with is_refused(f"at most {MAX_STEPS}, got {MAX_STEPS + 1}"):
        Geometric(MAX_STEPS + 1, a)
    assert Geometric(MAX_STEPS, sp.Integer(1)) == MAX_STEPS


def test_a_rule_along_another_goes_back_through_its_values():
    """There: x -> x/2 + c from 1; back: y -> y x_l + c, from y = x_n + c, and z counts."""
    there = stepwise("there", "(1)", lambda c: (1 + 0 * c,), lambda x, c: (x / 2 + c,))
    back = stepwise("back", "(2)", lambda x, c: (x + c, 0 * c), lambda x, y, z, c: (y * x + c, z + 1), along=there)
    counted = stepwise(
        "counted", "(2)", lambda x, c: (x + c, 0 * c), lambda x, y, z, c: (y * x + c, z + 1), along=there, result=1
    )
    c = Q(1, 3)
    for n in range(4):
        path = [Q(1)]
        for _ in range(n):
            path.append(path[-1] / 2 + c)
        y = path[n] + c
        for l in reversed(range(n)):
            y = y * path[l] + c
        assert back.rule(n, c) == y and counted.rule(n, c) == n and there.rule(n, c) == path[n]
        assert back.rule.along is there.rule and [v[0] for v in there.rule.values(n, c)] == path
    assert (there.rule.states, back.rule.states, there.reads, back.reads) == (1, 2, ("c",), ("c",))
    assert there.rule(-2, c) == 1
    with pytest.raises(TypeError, match="wanted a stepwise rule"):
        stepwise("wrong", "(3)", lambda c: (c,), lambda x, c: (x,), along=recursion("(4)")(lambda steps, c: c))


def test_a_recursion_reads_its_arguments_by_name():
    from types import SimpleNamespace

    @recursion("(5)")
    def rule(steps, rate, start):
        return start * rate**steps

    a, n = sp.symbols("a", positive=True), sp.Symbol("n", integer=True, nonnegative=True)
    assert rule.reads == ("rate", "start") and rule(SimpleNamespace(rate=a, start=3), 2) == 3 * a**2
    assert sp.latex(rule(SimpleNamespace(rate=a, start=sp.Integer(3)), n)) == r"\operatorname{rec}_{(5)}(n)"


def test_a_lazy_rule_stays_exact_and_is_evaluated_to_any_precision():
    def nested(steps, value):
        for _ in range(steps):
            value = 1 + root(value)
        return value

    lazy, eager = (step_function("nested", nested, "n", lazy=lazy) for lazy in (True, False))
    made = lazy(sp.Integer(4), sp.Integer(2))
    assert isinstance(made, lazy) and not isinstance(eager(sp.Integer(2), sp.Integer(2)), eager)
    assert eager(sp.Integer(2), sp.Integer(2)) == 1 + sp.sqrt(1 + sp.sqrt(2))
    assert lazy(sp.Integer(2), sp.Integer(9)) == 3, "an exact root needs no laziness"
    for digits in (20, 60):
        with mpmath.workdps(digits + 10):
            gap = abs(mpmath.mpf(made.evalf(digits)._to_mpmath(300)) - nested_in_mpmath(4))
            assert gap < mpmath.mpf(10) ** (3 - digits)
    n = sp.Symbol("n", integer=True, nonnegative=True)
    assert lazy(n, sp.Integer(2)).evalf(20) == lazy(n, sp.Integer(2)) and made.is_nonnegative


def nested_in_mpmath(steps: int) -> mpmath.mpf:
    value = mpmath.mpf(2)
    for _ in range(steps):
        value = 1 + mpmath.sqrt(value)
    return value


def test_what_rules_are_written_with():
    a, b = sp.symbols("a b", positive=True)
    assert root(Q(9, 4)) == Q(3, 2) and root(16) == 4 and root(a**2) == a and root(np.array([4.0]))[0] == 2.0
    for value in (2, Q(1, 2), Q(4, 3), 8):
        with pytest.raises(IrrationalError):
            root(value)
    assert root(mpmath.mpf(4)) == 2 and root(2.25) == 1.5
    assert least(2, Q(3, 2)) == Q(3, 2) and least(sp.Integer(2), 1) == 1 and least(1, sp.Integer(2)) == 1
    assert least(a, b) == sp.Min(a, b, evaluate=False) and least(a, 1) == sp.Min(a, 1, evaluate=False)
    assert least(np.array([1.0, 5.0]), 2).tolist() == [1.0, 2.0] and least(2, np.array([1.0, 5.0])).tolist() == [
        1.0,
        2.0,
    ]
    assert Recurrence(lambda x: (x, 2 * x), lambda p, q, x: (q, p + x), result=1)(3, 10) == 30


# --- statements and changes of them ---------------------------------------------------------------------------------------------------

NOTATION = Notation(
    "demo",
    (
        ("L", "L", "local_smoothness"),
        ("F_gap", "F", "objective_gap"),
        ("eta", "e", "step_size"),
        ("beta", "b", "momentum"),
        ("T", "T", "iterations"),
        ("p", "p", "communication_period"),
    ),
)
s = NOTATION.namespace()
STATEMENT = Statement(
    "printed",
    (Term("start", s.F_gap / (s.eta * s.T)), Term("rest", s.L * s.F_gap * s.p)),
    (
        Condition("upper", s.eta, "<=", 1 / s.L),
        Condition("lower", s.beta, ">", sp.Rational(1, 2)),
        Condition("choice", s.T, "==", 12 * s.p),
    ),
)
POINT = {"L": 2, "F_gap": 3, "eta": "1/2", "beta": "2/3", "T": 24, "p": 2}


def theorem(**changes) -> Theorem:
    return define_theorem(replace(STATEMENT, **changes))


def define_theorem(statement: Statement, **more) -> Theorem:
    from fedco.bounds.language.metrics import METRICS

    given = {"id": "demo.t", "kind": "theorem", "title": "T", "source": Source("demo", "T"), "notation": NOTATION}
    return Theorem(**{**given, "metric": METRICS["mean_gradient_sq"], "statements": {"printed": statement}} | more)


def test_a_declaration_that_contradicts_itself_does_not_exist():
    assert define_theorem(STATEMENT).statement().name == "demo.t (printed)"
    broken = {
        "relation must be one of": lambda: Condition("c", s.L, "=", s.L),
        "a statement is one of": lambda: replace(STATEMENT, label="draft"),
        "duplicate term": lambda: theorem(terms=(*STATEMENT.terms, STATEMENT.terms[0])),
        "duplicate condition": lambda: theorem(conditions=STATEMENT.conditions * 2),
        "a Float in": lambda: theorem(terms=(Term("start", 0.5 * s.L),)),
        r"schedule of eta: a Float": lambda: theorem(schedule={"eta": sp.Float(0.5) / s.L}),
        r"\['q'\] are not in the notation": lambda: theorem(terms=(Term("start", sp.Symbol("q")),)),
        r"derived constants \['c'\] are never used": lambda: theorem(derived=(Derived("c", s.L, "c"),)),
        "stands under 'corrected'": lambda: define_theorem(STATEMENT, statements={"corrected": STATEMENT}),
        "kind must be one of": lambda: define_theorem(STATEMENT, kind="guess"),
        "not homogeneous": lambda: define_theorem(
            STATEMENT, statements={"corrected": replace(STATEMENT, label="corrected", terms=(Term("start", s.L),))}
        ),
        "belongs to no theorem": lambda: STATEMENT.theorem,
    }
    for message, make in broken.items():
        with pytest.raises(DeclarationError, match=message):
            make()
    with pytest.raises(KeyError, match="no term 'x'; there are"):
        define_theorem(STATEMENT).statement().term("x")
    assert define_theorem(STATEMENT).statement().condition("method_range_beta").relation == "<="
    assert Term("a", 3).role == "a" and Term("a", 3, "b").role == "b" and Term("a", 3).expr is sp.Integer(3)
    assert isinstance(Condition("c", 1, "<", 2).left, sp.Integer) and str(Condition("c", s.eta, "<", 2)) == "eta < 2"
    assert (str(Source("a", "b")), str(Source("a", "b", "3"))) == ("a, b", "a, b, eq. (3)")


def test_what_a_method_can_take_is_listed_where_the_statement_does_not_ask_for_it():
    names = [c.name for c in define_theorem(STATEMENT).statement().method_range]
    assert names == ["method_range_beta", "method_range_p"]
    asked = replace(STATEMENT, conditions=(Condition("a", 1 / s.beta, ">=", 1), Condition("b", s.T / s.p, ">=", 1)))
    assert define_theorem(asked).statement().method_range == (), "in other words, but the same"
    other = replace(STATEMENT, conditions=(Condition("a", s.beta, "<", 2), Condition("b", s.T, ">=", 2 * s.p)))
    assert len(define_theorem(other).statement().method_range) == 2
    equal = replace(STATEMENT, conditions=(Condition("a", s.beta, "==", 1), Condition("b", s.T, "==", s.p)))
    assert len(define_theorem(equal).statement().method_range) == 2, "an equality asks for something else"
    without = replace(STATEMENT, terms=(Term("a", s.F_gap * s.p * s.beta),), conditions=())
    assert [c.name for c in define_theorem(without).statement().method_range] == ["method_range_beta"], (
        "nothing to measure p by"
    )


def test_a_statement_of_a_theorem_is_the_statement():
    made = define_theorem(STATEMENT)
    one = made.statement()
    assert one == STATEMENT and one.owner is made and STATEMENT.owner is None and hash(made) == object.__hash__(made)
    one.kept["x"] = 1
    assert one == STATEMENT and "owner" not in repr(one) and "kept" not in repr(one) and one.of(made).kept == {}
    assert "_cache" not in repr(made) and replace(made).kept == {} and made.statement() is one


@pytest.mark.parametrize("wrong", [0, 1, 2, 3, 4])
def test_a_recursion_is_homogeneous_where_its_first_three_steps_are(wrong: int):
    node = step_function("odd", lambda n, v: v * 2 if n != wrong else v + 1, "o")
    value, n = sp.Symbol("v", positive=True), sp.Symbol("n", integer=True, nonnegative=True)
    known = {value: OBJECTIVE, n: ONE}
    if wrong in (1, 2, 3):
        with pytest.raises(InhomogeneousError):
            dimension_of(node(n, value), known)
    else:
        assert dimension_of(node(n, value), known) == OBJECTIVE


@pytest.mark.parametrize(("relation", "room"), [("<", 2), ("<=", 2), (">", -2), (">=", -2), ("==", -2)])
def test_slack_is_the_room_that_is_left(relation: str, room: int):
    assert Condition("c", sp.Integer(3), relation, sp.Integer(5)).slack == room


def test_roots_of_long_numbers_stay():
    """At most 2048 bits under a root are simplified; a longer number, above or below, stays as it is."""
    x = sp.Symbol("x", positive=True)
    for bits, kept in ((2048, False), (2049, True)):
        square = (2 ** (bits // 2) - 1) ** 2 if not kept else 2 ** (bits - 1)
        for value in (sp.Integer(square), sp.Rational(1, square)):
            found = put_in(sp.sqrt(x) + 1, {x: value})
            assert bool(found.atoms(sp.Pow)) is kept and found.evalf(10) == (sp.sqrt(value) + 1).evalf(10)
    assert put_in(x**2 + x, {x: sp.Integer(2) ** 3000}).is_Integer, "not under a root"


def test_changes_that_weaken_a_statement():
    case = define_theorem(STATEMENT).statement()
    assert [str(change) for change in weakenings(case)] == [
        "start: dropped",
        "rest: dropped",
        "upper: relaxed by a factor of 4",
        "lower: relaxed by a factor of 4",
    ]
    alone = define_theorem(replace(STATEMENT, terms=STATEMENT.terms[:1])).statement()
    assert [change.way for change in weakenings(alone)] == ["relaxed", "relaxed"], "the only term cannot go"
    relaxed = {
        c.name: c
        for name in ("upper", "lower")
        for c in Change(name, "relaxed", Q(4)).of(case).conditions
        if c.name == name
    }
    assert relaxed["upper"].right == 4 / s.L and relaxed["lower"].right == sp.Rational(1, 8), "outwards"
    with is_refused("an equality is a choice"):
        Change("choice", "relaxed", Q(4)).of(case)
    assert Change("rest", "lowered", symbol="p").of(case).terms[1].expr == s.L * s.F_gap * (s.p - 1)
    assert [t.name for t in Change("start", "dropped").of(case).terms] == ["rest"]


def test_a_narrowed_theorem_has_its_further_conditions():
    derived = replace(
        STATEMENT, terms=(*STATEMENT.terms, Term("c", derived_symbol("D") * s.T)), derived=(Derived("D", 2 * s.L, "D"),)
    )
    whole = define_theorem(derived)
    part = narrowed(whole, "printed", ["3 = p", "D<=5", "beta >= 1/3", "T == 12*p"])
    more = part.statement("printed").conditions[3:]
    assert [str(c) for c in more] == ["p == 3", "D <= 5", "beta >= 1/3", "T == 12*p"]
    assert [c.name for c in more] == ["where_1", "where_2", "where_3", "where_4"] and {c.note for c in more} == {
        "chosen by the user"
    }
    assert len(whole.statement("printed").conditions) == 3 and part.statement("printed").theorem is part
    assert bound(part.statement("printed"), {**POINT, "p": 3, "T": 36}).admissible
    assert bound(part.statement("printed"), POINT, strict=False).failed == ("where_1",)
    with is_refused("condition 'p < q': column 5: 'q' is not a declared name"):
        narrowed(whole, "printed", ["p < q"])


def test_a_paper_loads_each_part_once_and_knows_what_rests_on_what():
    asked: list[str] = []

    def parts(part: str):
        asked.append(part)
        rows = {
            "derivations": [("t", len, ("a", "b")), ("a", len, ("c",)), ("d", len)],
            "theorems": [define_theorem(STATEMENT)],
        }
        return rows.get(part, ())

    paper = Paper("demo", "title", parts, ("t",))
    assert paper.lemmas == {"demo.t": ("demo.a", "demo.b"), "demo.a": ("demo.c",)} and list(paper.derivations) == [
        "demo.t",
        "demo.a",
        "demo.d",
    ]
    assert paper.unchecked("demo.t") == ("demo.b", "demo.c") and paper.unchecked("demo.d") == ()
    assert paper.theorem("demo.t") is paper.main_theorems[0] and paper.claims == () == paper.findings
    assert asked == ["derivations", "derivations", "theorems", "claims", "findings"]
    with is_refused(r"'demo\.x': not a theorem"):
        paper.theorem("demo.x")
    assert Paper("demo", "title", {"claims": [1]}).claims == (1,)


# --- changes of local SGD, against the printed terms by hand ----------------------------------------------------------


LOCAL_SGD = {"L": 2, "G": 3, "sigma": 1, "F_gap": 5, "p": 4, "b": 1, "N": 8, "T": 1000, "eta": "1/100"}


def local_sgd() -> Statement:
    return fedco.theorem("baselines.local_sgd").statement("printed")


@pytest.mark.parametrize(
    ("change", "share"),
    [
        (Change("drift", "divided", Fraction(4)), 1 / 4),
        (Change("drift", "power", Fraction(-1, 2), "p"), 1 / 2),  # 4^(-1/2)
        (Change("drift", "power", Fraction(2), "p"), 16),
        (Change("drift", "lowered", symbol="p"), 10 / 21),  # (p - 1)(2p - 1) at 3 and at 4
        (Change("drift", "lowered", symbol="T"), 1),  # no T in it
    ],
    ids=str,
)
def test_one_term_changes_by_what_is_said(change: Change, share: float):
    before, after = (bound(statement, LOCAL_SGD).terms for statement in (local_sgd(), change.of(local_sgd())))
    assert after["drift"] == pytest.approx(share * before["drift"], rel=1e-12)
    assert {**after, "drift": 0} == {**before, "drift": 0}
    assert Change.from_dict(change.to_dict()) == change


def test_what_is_not_there_cannot_be_changed():
    with is_refused("wanted one of"):
        Change("drift", "doubled")
    with is_refused():
        Change("drifts", "dropped").of(local_sgd())
