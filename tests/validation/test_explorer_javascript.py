"""What has no JavaScript is refused by name, and names from a stranger's paper cannot become code."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp
from fedco.bounds.language.recursion import entry, root, step_function
from fedco.validation.explorer.javascript import Library, Printer, UntranslatableError


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
