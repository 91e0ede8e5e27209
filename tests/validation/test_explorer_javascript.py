"""What has no JavaScript is refused by name, and names from a stranger's paper cannot become code."""

from __future__ import annotations

import re
from typing import Any

import fedco
import pytest
import sympy as sp
from fedco.bounds.language.recursion import Recurrence, entry, least, root, step_function
from fedco.validation.explorer.javascript import HELPERS, Library, Printer, UntranslatableError, statement_source
from sympy.utilities.lambdify import implemented_function


def translated(function: Any) -> str:
    library = Library()
    library.function(function)
    return library.text()


def with_while(x: Any) -> Any:
    while x > 1:
        x = x / 2
    return x


def with_unknown_name(x: Any) -> Any:
    return x + nothing_of_this_name  # noqa: F821


def with_keyword(x: Any) -> Any:
    return round(x, ndigits=2)


def with_text(x: Any) -> Any:
    return "</script>"


def with_attribute(x: Any) -> Any:
    return x.real


def with_chained_comparison(x: Any) -> Any:
    return 1 if 0 < x < 2 else 0


def with_step(x: Any) -> Any:
    total = 0 * x
    for j in range(0, 6, 2):
        total = total + j
    return total


REFUSED = (
    with_while,
    with_unknown_name,
    with_keyword,
    with_text,
    with_attribute,
    with_chained_comparison,
    with_step,
)


@pytest.mark.parametrize("function", REFUSED)
def test_what_is_outside_the_subset_is_refused_by_name(function: Any) -> None:
    with pytest.raises(UntranslatableError, match=function.__name__):
        translated(function)


def test_a_function_without_source_is_refused() -> None:
    made: dict[str, Any] = {}
    exec("def unseen(x):\n    return x", made)
    with pytest.raises(UntranslatableError, match="source"):
        translated(made["unseen"])


def var(x: Any, new: Any) -> Any:
    """Reserved words of JavaScript as names."""
    let = x / new
    return root(entry(let, 0))


def test_reserved_words_are_only_names() -> None:
    assert "function $f0_var($x, $new)" in translated(var) and "$let = ($x / $new)" in translated(var)


def test_a_function_is_translated_once() -> None:
    library = Library()
    assert library.function(var) == library.function(var) and len(library.sources) == 1


def test_a_symbol_is_printed_by_place_whatever_its_name() -> None:
    hostile = sp.Symbol("alert(1);//")
    assert Printer(Library(), {hostile: "$s[0]"}).doprint(hostile**2 + sp.Rational(1, 3)) == "($s[0]*$s[0]) + 1/3"


def test_lists_of_sizes_and_unknown_functions_are_refused() -> None:
    x = sp.Symbol("x")
    listed = step_function("listed", lambda steps, sizes: steps, "l")(x, sp.Tuple(1, 2))
    for expr in (listed, sp.Function("unknown")(x), sp.gamma(x) + sp.besselj(1, x)):
        with pytest.raises(UntranslatableError):
            Printer(Library(), {x: "$s[0]"}).doprint(expr)


# --- the text of translations, whole ----------------------------------------------------------------------------------------------

FACTOR = 3
RATE = 0.5


def helper(x: Any, y: Any) -> Any:
    return x * FACTOR - y


def everything(n: Any, x: Any, sizes: Any) -> Any:
    """Every statement and expression of the subset."""
    import numpy as np
    import sympy as sp

    if isinstance(n, sp.Basic):
        return None
    else:
        total = 0 * x
    pass
    path = [x]
    for j in range(2, n):
        total = total + x**j / (j + 1)
        path.append(-total)
    for k in range(n):
        total = helper(total, k)
    for l in reversed(range(1, n)):
        total = max(total, l) - min(total, 1) + abs(l) * RATE
    for m in reversed(range(n)):
        total = total + m
    for a, b in zip(path, reversed(path), strict=True):
        total = total + (a if a >= b else entry(sizes, 0))
    first, second = (least(total, n), root(total))
    if first != second:
        total = np.where(np.equal(first, 1), np.sqrt(second), np.nan)
    elif first < second:
        total = first
    else:
        total = helper(*path)
    return total


EVERYTHING = (
    "function $f1_helper($x, $y) { return (($x * 3) - $y); }"
    "\n"
    "function $f0_everything($n, $x, $sizes) { "
    "if (!$$steps($n)) return NaN; "
    "let $a, $b, $first, $j, $k, $l, $m, $path, $second, $total; "
    "$total = (0 * $x); "
    "$path = [$x]; "
    "for ($j = 2; $j < $n; $j++) { $total = ($total + (Math.pow($x, $j) / ($j + 1))); $path.push((-$total)); } "
    "for ($k = 0; $k < $n; $k++) { $total = $f1_helper($total, $k); } "
    "for ($l = $n - 1; $l >= 1; $l--) { $total = ((Math.max($total, $l) - Math.min($total, 1)) + (Math.abs($l) * 0.5)); } "
    "for ($m = $n - 1; $m >= 0; $m--) { $total = ($total + $m); } "
    "for ([$a, $b] of $$zip($path, [...$path].reverse())) { $total = ($total + (($a >= $b) ? $a : $sizes)); } "
    "[$first, $second] = [Math.min($total, $n), Math.sqrt($total)]; "
    "if (($first !== $second)) { $total = (($first === 1) ? Math.sqrt($second) : NaN); } "
    "else { if (($first < $second)) { $total = $first; } else { $total = $f1_helper(...$path); } } "
    "return $total; }"
)


def test_the_whole_subset_is_translated() -> None:
    library = Library()
    assert library.function(everything, counts_steps=True) == "$f0_everything"
    assert library.text() == HELPERS + EVERYTHING


def test_a_function_of_steps_is_another_than_the_function_itself() -> None:
    library = Library()
    names = [library.function(helper), library.function(helper, counts_steps=True), library.function(helper)]
    assert names == ["$f0_helper", "$f1_helper", "$f0_helper"] and len(library.sources) == 2
    assert "$$steps" not in library.sources[0] and "if (!$$steps($x)) return NaN;" in library.sources[1]


def with_flag(x: Any) -> Any:
    return helper(x, TRUTH)


TRUTH = True


def with_true(x: Any) -> Any:
    return x + True


def with_item(x: Any) -> Any:
    x[0] = 1
    return x


def with_else_of_a_loop(x: Any) -> Any:
    for j in range(3):
        x = x + j
    else:
        x = 0
    return x


def with_shadowed_call(x: Any) -> Any:
    helper = x
    return helper(x, 1)


def with_class(x: Any) -> Any:
    return Library(x)


def with_other_array_function(x: Any) -> Any:
    import numpy as np

    return np.exp(x)


def with_other_module(x: Any) -> Any:
    import math

    return math.sqrt(x)


@pytest.mark.parametrize("function", [with_flag, with_true, with_item, with_else_of_a_loop, with_shadowed_call, with_class,
                                      with_other_array_function, with_other_module])  # fmt: skip
def test_what_only_looks_like_the_subset_is_refused(function: Any) -> None:
    with pytest.raises(UntranslatableError, match=f"{function.__name__}.*no JavaScript here"):
        translated(function)


def test_a_lambda_is_told_from_the_others_of_its_line_by_its_arguments() -> None:
    one, two = (lambda x: x + 1), (lambda y: y * 2)
    assert "function $f0_unnamed($x) { return ($x + 1); }" in translated(one)
    assert "function $f0_unnamed($y) { return ($y * 2); }" in translated(two)
    first, second = (lambda x: x + 1), (lambda x: x * 2)
    for same in (first, second):
        with pytest.raises(UntranslatableError, match="source"):
            translated(same)


GOING = Recurrence(lambda eta: (1, eta), lambda a, b, eta: (a + eta, a * b), result=1)
BACK = Recurrence(lambda end, eta, size: (end,), lambda at, last, eta, size: (last + at * size,), along=GOING)


def test_a_recurrence_is_a_loop() -> None:
    library = Library()
    name = library.function(GOING)
    assert name == "$f0_recurrence"
    assert library.text() == HELPERS + "\n".join([
        "function $f1_unnamed($eta) { return [1, $eta]; }",
        "function $f2_unnamed($a, $b, $eta) { return [($a + $eta), ($a * $b)]; }",
        "function $f0_recurrence($$n, $eta) { if (!$$steps($$n)) return NaN; $$n = Math.max($$n, 0); const $$all = []; "
        "let $$value = $f1_unnamed($eta); for (let $$l = 0; $$l < $$n; $$l++) "
        "{ $$value = $f2_unnamed(...$$value, $eta); $$all.push($$value); } return $$value[1]; }",
    ])  # fmt: skip


def test_a_recurrence_along_another_goes_back_through_it() -> None:
    library = Library()
    library.function(BACK)
    assert library.sources[-1] == (
        "function $f0_recurrence($$n, $eta, $size) { if (!$$steps($$n)) return NaN; $$n = Math.max($$n, 0); "
        "const $$path = (() => { const $$all = [$f1_unnamed($eta)]; let $$value = $f1_unnamed($eta); "
        "for (let $$l = 0; $$l < $$n; $$l++) { $$value = $f2_unnamed(...$$value, $eta); $$all.push($$value); } return $$all; })(); "
        "const $$all = []; let $$value = $f3_unnamed($$path[$$n][1], $eta, $size); "
        "for (let $$l = $$n - 1; $$l >= 0; $$l--) { $$value = $f4_unnamed($$path[$$l][1], ...$$value, $eta, $size); $$all.push($$value); } "
        "return $$value[0]; }"
    )


def test_functions_that_a_paper_declares_are_called() -> None:
    x, n = sp.Symbol("x", positive=True), sp.Symbol("n", integer=True)
    library = Library()
    stepped = step_function("stepped", helper, "l")(n, x + 1)
    given = implemented_function("given", helper)(x, 2 * x)
    printer = Printer(library, {x: "$s[0]", n: "$s[1]"})
    assert printer.doprint(stepped + 1) == "$f0_helper($s[1], $s[0] + 1) + 1"
    assert printer.doprint(given) == "$f1_helper($s[0], 2*$s[0])"
    assert printer.doprint(sp.sqrt(x) + sp.exp(x)) == "Math.sqrt($s[0]) + Math.exp($s[0])"
    assert printer.doprint((x + 1) ** 2 + x**3 + x**2) == "Math.pow($s[0], 3) + ($s[0]*$s[0]) + Math.pow($s[0] + 1, 2)"


def values_of(source: str, at: list[float]) -> list[float]:
    """What a function of a statement writes; a formula without functions is Python as well."""
    body = source.removeprefix("($s, $o) => { ").removesuffix(" }").replace("const ", "").replace("$", "")
    written: dict[int, float] = {}
    exec(body.replace("; ", "\n").removesuffix(";"), {"__builtins__": {}, "s": at, "o": written})
    assert list(written) == list(range(len(written)))
    return list(written.values())


def test_a_statement_is_an_object_of_functions() -> None:
    """Terms, then both sides of each condition, then what is derived; common parts once, and only those that are needed."""
    statement = fedco.define(
        id="mine.theorem_1",
        symbols={"L": "local_smoothness", "F_gap": "objective_gap", "eta": "step_size", "T": "iterations"},
        derived={"M": "2*F_gap/T", "H": "L*eta"},
        terms={"a": "M/eta", "b": "3*M*L"},
        conditions={"small": "5*H <= 1"},
        schedule={"eta": "1/(7*L*T)"},
    ).statement()
    source = statement_source(statement, Library())
    found = re.fullmatch(r"\{all: (.*), sides: (.*), schedule: \{2: (.*)\}\}", source)
    assert found
    L, F, eta, T = at = [2.0, 3.0, 0.25, 11.0]
    sides = [
        side
        for c in statement.requirements
        for side in ((eta, 1 / (7 * L * T)) if c.relation == "==" else (5 * L * eta, 1))
    ]
    whole, some, scheduled = found.groups()
    assert values_of(whole, at) == pytest.approx([2 * F / T / eta, 6 * F / T * L, *sides, 2 * F / T, L * eta])
    assert values_of(some, at) == pytest.approx(sides) and len(sides) == 4
    assert values_of(scheduled, at) == pytest.approx([1 / (7 * L * T)])
    assert whole.count("$s[1]") == 1 and "$s[1]" not in some + scheduled
