"""What may be declared, what is read off a statement, and what is refused before the first step."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from itertools import product
from types import SimpleNamespace

import pytest
import sympy as sp
from fedco.bounds import get_theorem
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import (
    COMMUNICATION,
    EVERY,
    LOCAL,
    Act,
    App,
    Function,
    Index,
    Known,
    Mean,
    Numbers,
    Objective,
    Pair,
    ProofError,
    Quantity,
    Reader,
    Sequence,
    Setting,
    Source,
    Sum,
    Var,
    Variable,
    check,
    parameter,
    signomial,
    sq,
    value,
)
from fedco.bounds.proof.kernel.algebra import Algebra
from fedco.bounds.proof.kernel.derivation import allowed_point, begin
from fedco.bounds.proof.kernel.facts import State
from fedco.bounds.proof.kernel.region import Region
from fedco.bounds.proof.kernel.scalars import At, Inner, Named, One, Total, Value, later, scalar

X, Y, N = sp.Symbol("x", positive=True), sp.Symbol("y", positive=True), sp.Symbol("n", positive=True, integer=True)
Z = sp.Symbol("z", nonnegative=True)
NOTATION = tuple(SimpleNamespace(name=s.name, symbol=s) for s in (X, Y, Z, N))


class Share(sp.Function):
    """x/(y - 1), and 0 where x is."""

    is_nonnegative = True

    @property
    def quotient(self):
        return self.args[0], self.args[1] - 1


class Doubtful(Share):
    is_nonnegative = False


def reader(derived=(), terms=()):
    rows = [SimpleNamespace(name=s.name, symbol=s, expr=expr) for s, expr in derived]
    statement = SimpleNamespace(derived=rows, terms=[SimpleNamespace(expr=t) for t in terms])
    return Reader(SimpleNamespace(notation=NOTATION), statement)


def at_point(found, given):
    """The value of a number, of which each parameter is one of the symbols."""
    return found.at({param: given[param.name] for param in found.params})


POINTS = [
    dict(zip("xyzn", values, strict=True))
    for values in product((Q(1, 4), Q(2), Q(9)), (Q(1, 9), Q(1), Q(16)), (Q(0), Q(3)), (Q(1), Q(4)))
]


# --- the reader -------------------------------------------------------------------------------------------------------


def test_an_expression_is_read_as_it_is():
    own = reader()
    for expr in (
        X + 2 * Y - Z / 3,
        X * (Y - 1) ** 2 * N / Y**3,
        sp.sqrt(X) * Y - sp.Rational(7, 5),
        X ** sp.Rational(-3, 2) + Z**2,
        (X + Y) * (X - Y),
    ):
        found = own.read(expr)
        for given in POINTS:
            root = expr.subs({s: sp.Rational(given[s.name].numerator, given[s.name].denominator) for s in (X, Y, Z, N)})
            if root.is_Rational:
                assert at_point(found, given) == Q(int(root.p), int(root.q))
    for wrong, message in (
        (sp.Symbol("w"), "not a symbol"),
        (sp.log(X), "wanted sums"),
        (X**Y, "wanted sums"),
        (sp.sqrt(X + Y), "single term"),
    ):
        with pytest.raises(ProofError, match=message):
            own.read(wrong)
    with pytest.raises(AttributeError):
        _ = own.wished


CONDITIONS = [
    (X, "<=", 2 * Y),
    (X, "<", 2 * Y),
    (X, ">=", 2 * Y),
    (X, ">", Y / 3),
    (X, "==", 2 * Y),
    (sp.sqrt(X + Y), "<=", 3),
    (X, ">=", sp.sqrt(X * Y + 1)),
    (X / sp.sqrt(1 + Y), "<=", Y),
    ((X + 1) ** sp.Rational(2, 3), "<=", Y + 1),
    (Y, "<=", 1 / (X * sp.sqrt(X + Z))),
    (X / sp.sqrt(X + 1), "<=", Y / (Y + Z + 1) ** sp.Rational(1, 3)),
]


@pytest.mark.parametrize(("left", "relation", "right"), CONDITIONS)
def test_a_condition_is_read_with_its_sign(left, relation, right):
    """Also where both sides have to be raised to a power: the slack has the sign of what the condition compares."""
    found = reader().slack(SimpleNamespace(left=left, relation=relation, right=sp.sympify(right)))
    assert len(found) == (2 if relation == "==" else 1)
    assert len(found) == 1 or found[1] == -found[0]
    signs = set()
    for given in POINTS:
        table = {s: sp.Rational(given[s.name].numerator, given[s.name].denominator) for s in (X, Y, Z, N)}
        gap = sp.sympify(right).subs(table) - left.subs(table)
        wanted = sp.sign(sp.N(gap, 30) if abs(sp.N(gap, 30)) > 1e-20 else 0)
        number = at_point(found[0], given)
        sign = (number > 0) - (number < 0)
        assert sign == (-wanted if relation in (">", ">=") else wanted)
        signs.add(sign)
    assert {-1, 1} <= signs


def test_what_may_be_negative_is_not_squared():
    for left, right in ((sp.sqrt(X - Y), X), (X - Y, sp.sqrt(X + Y))):
        with pytest.raises(ProofError, match="may be negative"):
            reader().slack(SimpleNamespace(left=left, relation="<=", right=right))


def test_constants_are_formulas_roots_or_any_number():
    c, root, cube, zero, free, apart = (sp.Symbol(n, nonnegative=True) for n in ("c", "M", "W", "o", "q", "a"))
    own = reader(
        ((c, X + 2 * Z), (root, sp.sqrt(X + Y)), (cube, (X + 1) ** sp.Rational(1, 3)), (zero, Z), (free, sp.log(1 + X)),
         (apart, X - Y))
    )  # fmt: skip
    formulas = {param.name: formula for param, formula in own.formulas.items()}
    x, y, z = parameter("x"), parameter("y"), parameter("z", positive=False)
    assert formulas == {"c": x + 2 * z, "M": x + y, "W": x + 1, "o": z}
    assert own.a == x - y and "a" not in own.params, "a constant that may be negative is its formula, and no parameter"
    assert {param.name: power for param, power in own.powers.items()} == {"M": 2, "W": 3}
    assert own.opaque == ("q",) and not own.params["q"].positive
    positive = {name: own.params[name].positive for name in ("c", "M", "W", "o")}
    assert positive == {"c": True, "M": True, "W": True, "o": False}
    assert own.params["n"].count and not own.params["x"].count and not own.params["z"].positive
    with pytest.raises(ProofError):
        reader(((sp.Symbol("any"), sp.log(X)),))
    with pytest.raises(ProofError):
        reader(((sp.Symbol("any"), sp.sqrt(X - Y)),))


def test_quotients_are_numbers_of_their_own():
    own = reader(terms=(X * Share(X, Y), Y))
    ((param, (above, below)),) = own.quotients.items()
    assert not param.positive and (above, below) == (own.x, own.y - 1)
    assert own.read(2 * Share(X, Y)) == 2 * own.read(Share(X, Y)) and own.read(Share(X, Y)).params == {param}
    with pytest.raises(ProofError, match="may be negative"):
        reader(terms=(Doubtful(X, Y),))


# --- a point inside, names, kinds -------------------------------------------------------------------------------------


def test_a_point_that_its_symbols_can_have():
    own = reader()
    found = allowed_point(own, {"x": Q(1, 3), "z": Q(0), "n": Q(4)})
    assert {param.name: number for param, number in found.items()} == {"x": Q(1, 3), "z": 0, "n": 4}
    for name, wrong in (("x", 0), ("x", -1), ("z", -1), ("n", Q(1, 2)), ("n", 0), ("n", -2)):
        with pytest.raises(ProofError, match=f"{name} = {wrong} is not allowed"):
            allowed_point(own, {name: Q(wrong)})


NAME = "fcsg.theorem_4_1"


def refused(message, **changes):
    theorem = get_theorem(NAME)
    found = check(replace(derivation(theorem), **changes), theorem)
    assert not found.accepted and not found.lines and message in found.failure, found.failure


def test_the_point_inside_may_lie_on_the_border():
    """A condition holds there with equality; a little outside it does not."""
    theorem = get_theorem(NAME)
    plan = derivation(theorem)
    state = begin(plan, theorem).state
    region = state.region
    inside = dict(plan.inside)
    point = region.constants_at(allowed_point(Reader(theorem, theorem.statement()), inside))
    (alpha,) = (param for param in point if param.name == "alpha")
    slacks = {name: slack for name, slack in region.conditions.items() if alpha in slack.params}
    largest = min(_root(slack, alpha, point) for slack in slacks.values())
    assert begin(replace(plan, inside={**inside, "alpha": largest}), theorem)
    refused("violates", inside={**inside, "alpha": largest * Q(1001, 1000)})


def _root(slack, param, point):
    """Where a slack that is linear in a parameter is 0."""
    low, high = (slack.at({**point, param: v}) for v in (Q(1), Q(2)))
    return 1 - low / (high - low)


def test_quantities():
    p = Var("p")
    for wrong in (
        2 * value("F", p),
        value("F", p) + 1,
        scalar(1),
        2 * scalar(Inner(p, Var("r"))),
        scalar(Inner(p, Var("r"))) + sq(p),
        (parameter("a") - 2) * sq(p),
    ):
        with pytest.raises(ProofError, match="wanted squared norms"):
            Quantity("Q", wrong)
    assert Quantity("Q", 2 * sq(p) + sq(Var("r"))).nonnegative and not Quantity("F", value("F", p)).nonnegative


# --- settings ---------------------------------------------------------------------------------------------------------

x, y, p = Var("x"), Var("y"), Var("p")
CLIENT = frozenset({"k"})


def make(*variables_, functions=(), sources=(), **more):
    return Setting((Index("k", parameter("K", count=True)),), sources, functions, variables_, **more)


def test_an_equation_uses_what_is_known():
    """x[t+1] may use y[t+1] where y is declared before it, and never what comes later."""
    both = Variable("y", "x", equations=((EVERY, y),)), Variable("x", "x", equations=((EVERY, Var("y", 1)),))
    assert make(*both)
    for wrong in (
        both[::-1],
        (both[0], Variable("x", "x", equations=((EVERY, Var("y", 2)),))),
        (Variable("x", "x", equations=((EVERY, Var("x", 1)),)),),
        (Variable("x", "x", equations=((EVERY, Var("p", 2)),)), Variable("p", "x")),
        (Variable("y", "x", equations=((EVERY, y),), defined=0),),
    ):
        with pytest.raises(ProofError, match="which is not known yet"):
            make(*wrong)
    assert make(Variable("y", "x", equations=((EVERY, Var("y", -1)),), defined=0))
    with pytest.raises(ProofError, match="unknown phase"):
        make(Variable("x", "x", equations=((frozenset({"last"}), x),)))


def test_functions_and_sources_that_are_declared():
    drawn = (Source("z", ("k",), "independent"),)
    with pytest.raises(ProofError, match="an index that it does not have"):
        make(functions=(Function("f", "x", "x", (), frozenset(), CLIENT),))
    for wrong in (
        lambda: make(functions=(Function("f", "x", "x", ("z",), CLIENT, CLIENT),)),
        lambda: make(Variable("p", "x", sources=("z",))),
        lambda: make(
            sources=(Source("z", ("j",), "independent"),), functions=(Function("f", "x", "x", ("z",), CLIENT, CLIENT),)
        ),
    ):
        with pytest.raises(ProofError, match="no such"):
            wrong()
    assert make(Variable("p", "x", sources=("z",)), sources=drawn).levels == {"p": {"z": 0}}


def test_when_variables_are_known():
    """By the samples of the steps before t + l; one that has equations at all steps starts as a constant."""
    drawn = (Source("z", ("k",), "independent"), Source("s", (), "independent"))
    functions = (
        Function("f", "x", "x", ("z",), CLIENT, CLIENT),
        Function("g", "x", "x", ("s",)),
        Function("M", "x", ("x", "x"), ("z",), CLIENT, CLIENT),
        Function("l", "x", "x", (), label="x"),
    )
    found = make(
        Variable("y", "x", equations=((EVERY, Mean("k", App("f", x, (0,)))),), defined=0),
        Variable("x", "x", equations=((LOCAL, x - y), (COMMUNICATION, App("g", x, (-2,))))),
        Variable("w", "x", equations=((LOCAL, Act(Mean("k", App("M", p, (-1,))), App("g", p, (0,)))),)),
        Variable("v", "x", equations=((EVERY, App("l", Pair(p, x))),)),
        Variable("p", "x"),
        functions=functions,
        sources=drawn,
    )
    assert found.levels == {
        "y": {"z": 1, "s": -1},
        "x": {"z": 0, "s": -1},
        "w": {"z": 0, "s": 0},
        "v": {"z": -1, "s": -1},
        "p": {"z": 0, "s": 0},
    }
    assert found.known("y", 2).has("z", 2) and not found.known("y", 2).has("z", 3)
    assert found.past(1) == Known.before(("z", "s"), 1)


def test_vectors_of_one_space():
    setting = make(
        Variable("x", "x"),
        Variable("y", "y"),
        functions=(Function("f", "x", "y", ("z",), CLIENT, CLIENT), Function("M", "x", ("x", "y"))),
        sources=(Source("z", ("k",), "independent"),),
    )
    algebra = Algebra(setting)
    for wrong, message in (
        (x + y, "2 spaces"),
        (App("f", x, ()), "takes 1 samples"),
        (App("f", y, (0,)), "the argument is not in x"),
        (App("f", Pair(x, x), (0,)), "the domain, which has none"),
        (Act(App("M", x), x), "no operator on this space"),
        (Act(x, y), "no operator on this space"),
        (Pair(x, y), "is the argument of a function"),
    ):
        with pytest.raises(ProofError, match=message):
            algebra.space(wrong)
    assert algebra.space(Act(App("M", x), y)) == "x" and algebra.space(App("M", Sum(()))) == ("x", "y")
    assert algebra.space(2 * App("f", x, (0,)) - y) == "y"


# --- terms and scalars ------------------------------------------------------------------------------------------------


def test_scalars_at_a_later_step():
    assert later(Inner(x, Var("y", 1)), 2) == Inner(Var("x", 2), Var("y", 3))
    assert later(Value("F", x), 1) == Value("F", Var("x", 1)) and later(Named("Q", -1), 3) == Named("Q", 2)
    assert later(One(), 4) == One()
    for atom in (Total("Q"), At("Q")):
        with pytest.raises(ProofError, match="has no step"):
            later(atom, 1)


def test_which_scalars_have_a_sign():
    quantities = {"Q": Quantity("Q", sq(x)), "F": Quantity("F", value("F", x))}
    state = State(
        make(Variable("x", "x"), objectives=(Objective("F", "x", x, "a"),)),
        quantities,
        {},
        Region({}),
        *[parameter("T")] * 2,
    )
    for atom in (One(), Inner(x, x), Named("Q", 1), Total("Q"), Total("Q", True), At("Q")):
        assert state.nonnegative_atom(atom)
    for atom in (Inner(x, y), Value("F", x), Named("F"), Total("F"), At("F", True)):
        assert not state.nonnegative_atom(atom)
    for atom in (Named("wished"), Total("wished"), At("wished")):
        with pytest.raises(ProofError, match="no such quantity"):
            state.form(scalar(atom))


# --- sequences --------------------------------------------------------------------------------------------------------

ZERO, ONE = signomial(0), signomial(1)
NU = parameter("nu", positive=False)


def test_sequences_that_are_not_defined():
    one = Sequence("X", ONE, ONE)
    now = Sequence("S", ZERO, ZERO).now
    total = Sequence("S", ZERO, now + one.now)
    own = Sequence("R", ZERO, Sequence("R", ZERO, ZERO).now + one.reversed, ends="S")
    moved = Sequence("D", one.now, ONE)
    for sequences, earlier, taken, message in (
        ((one, moved), (), (), "depends on the step"),
        ((one,), (), ("X",), "another number"),
        ((one,), (), ("X(end)",), "another number"),
        (
            (replace(one, after=one.now + 1), replace(own, ends="X")),
            (one, total),
            (),
            "is another sequence in the loop before",
        ),
        ((own,), (one, replace(total, start=ONE)), (), "two sums that start with 0"),
        ((replace(own, start=ONE),), (one, total), (), "two sums that start with 0"),
        ((own,), (one, replace(total, after=2 * now + one.now)), (), "two sums that start with 0"),
        ((replace(own, after=own.now + one.reversed + 1),), (one, total), (), "is not the sum"),
        ((Sequence("P", ONE, ZERO, positive=True),), (), (), "may be 0"),
        ((Sequence("P", NU, ONE, positive=True),), (), (), "may be 0"),
    ):
        with pytest.raises(ProofError, match=message):
            Numbers(NU, sequences, earlier, frozenset(taken))
    assert Numbers(NU, (own,), (one, total)).at_end(2 * own.now) == 2 * total.end


def test_values_of_sequences():
    power = Sequence("X", ONE, 3 * Sequence("X", ONE, ONE).now)
    count = Sequence("C", ZERO, Sequence("C", ZERO, ZERO).now + 1)
    found = Numbers(NU, (power, count), (power,))
    number = 5 * power.now * count.now + count.now**2
    assert (
        found.at_start(number + power.now) == ONE
        and found.after(power.now + count.now) == 3 * power.now + count.now + 1
    )
    assert found.at_end(number) == 5 * power.end * NU + NU**2, "the count of the steps ends with their number"
    assert found.reversed(2 * power.now) == 2 * power.reversed
    for job, wrong in ((found.at_start, power.reversed), (found.after, power.reversed), (found.reversed, count.now)):
        with pytest.raises(ProofError, match="has no value there"):
            job(wrong)
    with pytest.raises(ProofError, match="no such sequence"):
        found.find("C", earlier=True)
    other = Numbers(NU, (Sequence("C", ONE, count.after),))
    assert other.at_end(count.now) == count.end, "it started with 1"
