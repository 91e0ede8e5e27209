"""The JavaScript of a statement, generated from its declaration: derived constants, terms, both sides of its conditions, schedule.

Formulas go through sympy's printer. A constant given by a recursion is a Python function in a small subset of the language
(arithmetic, loops over ranges, calls of other such functions); its source is translated statement by statement, and anything
outside the subset is refused by name.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import sympy as sp
from sympy.printing.codeprinter import PrintMethodNotImplementedError
from sympy.printing.jscode import JavascriptCodePrinter
from sympy.printing.precedence import PRECEDENCE

from ...bounds.evaluation.evaluate import NOT_WHOLE, WHOLE
from ...bounds.language.power import Power
from ...bounds.language.power_sum import DIRECT, EULER_MACLAURIN, PowerSum
from ...bounds.language.reading import InputError
from ...bounds.language.recursion import Recurrence, Recursion, StepFunction, entry, least, root
from ...bounds.language.theorem import Statement

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

HELPERS = (
    """
const $$range = (low, high) => Array.from({length: Math.max(0, high - low)}, (_, i) => low + i);
const $$zip = (first, ...rest) => first.map((item, i) => [item, ...rest.map((other) => other[i])]);
const $$steps = (n) => Number.isInteger(n) && n <= MOST_STEPS;
const $$floor = (x) => Math.floor(x + Math.min(Math.max(NEAR * Math.abs(x), NEAR), FAR));
const $$ceil = (x) => -$$floor(-x);
const $$powerSum = (first, count, power) => {
  let sum = first > 0 || (power >= 0 && Number.isInteger(power)) ? 0 : NaN;
  const n = count, direct = Math.min(n, DIRECT);
  for (let k = 0; k < direct; k++) sum += Math.pow(first + k, power);
  if (!(n > DIRECT)) return sum;
  const low = first + DIRECT, high = first + n;
  sum += power === -1 ? Math.log(high / low) : (Math.pow(high, power + 1) - Math.pow(low, power + 1)) / (power + 1);
  sum += (Math.pow(low, power) - Math.pow(high, power)) / 2;
  let slope = power;
  [CORRECTIONS].forEach((factor, at) => {
    if (slope === 0) return;
    const order = 2 * at + 1;
    sum += factor * slope * (Math.pow(high, power - order) - Math.pow(low, power - order));
    slope *= (power - order) * (power - order - 1);
  });
  return sum;
};
""".replace("DIRECT", str(DIRECT))
    .replace("NEAR", repr(WHOLE))
    .replace("FAR", repr(NOT_WHOLE))
    .replace("CORRECTIONS", ", ".join(map(repr, EULER_MACLAURIN)))
)
"""Functions that translated code calls; the page defines MOST_STEPS."""


class UntranslatableError(InputError):
    """Something in a declaration has no JavaScript here."""


@dataclass
class Library:
    """The functions that the statements of a page call, each translated once."""

    names: dict[Any, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)

    def function(self, function: Callable[..., Any], *, counts_steps: bool = False) -> str:
        """The JavaScript name of a Python function, which is translated when first asked for.

        Args:
            counts_steps: its first argument is a number of steps; what is no whole number, or too large, gives NaN.

        Raises:
            UntranslatableError: its source is not there, or uses more than the subset.
        """
        key = (function, counts_steps)
        if key not in self.names:
            self.names[key] = f"$f{len(self.names)}_{_identifier(getattr(function, '__name__', 'recurrence'))}"
            self.sources.append(
                _recurrence(self, function, self.names[key])
                if isinstance(function, Recurrence)
                else _Translation(self, function).text(self.names[key], counts_steps)
            )
        return self.names[key]

    def text(self) -> str:
        """All of them, callees first."""
        return HELPERS + "\n".join(self.sources)


def _identifier(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "unnamed"


def _recurrence(library: Library, rule: Recurrence, name: str) -> str:
    """A rule as data: a loop over its steps, where every list has one entry for all of them; backwards where it goes along another."""
    given = [f"${argument}" for argument in rule.reads]
    lines = ["if (!$$steps($$n)) return NaN;", "$$n = Math.max($$n, 0);"]

    def stepped(one: Recurrence, forth: str, start: Sequence[str], after: Sequence[str], read: Sequence[str]) -> str:
        first, rest = library.function(one.start), library.function(one.after)
        begin = f"let $$value = {first}({', '.join([*start, *read])});"
        return f"{begin} for ({forth}) {{ $$value = {rest}({', '.join([*after, '...$$value', *read])}); $$all.push($$value); }}"

    up, down = "let $$l = 0; $$l < $$n; $$l++", "let $$l = $$n - 1; $$l >= 0; $$l--"
    if rule.along is None:
        lines += ["const $$all = [];", stepped(rule, up, [], [], given)]
    else:
        inner, which = rule.along, rule.along.result
        first = library.function(inner.start)
        read = [f"${argument}" for argument in inner.reads]
        lines += [
            f"const $$path = (() => {{ const $$all = [{first}({', '.join(read)})];",
            f"{stepped(inner, up, [], [], read)} return $$all; }})();",
            "const $$all = [];",
            stepped(rule, down, [f"$$path[$$n][{which}]"], [f"$$path[$$l][{which}]"], given),
        ]
    lines.append(f"return $$value[{rule.result}];")
    return f"function {name}({', '.join(['$$n', *given])}) {{ {' '.join(lines)} }}"


def _lambda(function: Callable[..., Any]) -> ast.FunctionDef:
    """The one lambda of its module that stands in its line and has its arguments, as a function that returns its value.

    Raises:
        OSError: its source is not there, or not told apart.
    """
    module, code = inspect.getmodule(function), function.__code__
    if module is None:
        raise OSError
    wanted = list(code.co_varnames[: code.co_argcount])
    found = [
        node
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and [argument.arg for argument in node.args.args] == wanted
    ]
    if len(found) != 1:
        raise OSError
    made = ast.parse("def unnamed(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.args, made.body = found[0].args, [ast.copy_location(ast.Return(found[0].body), found[0])]
    return made


# --- statements ------------------------------------------------------------------------------------------------------


def statement_source(statement: Statement, library: Library) -> str:
    """An object literal with the functions of a statement. Its conditions are its requirements: what the method can take is among them.

    `all(v, o)` fills o with the terms, then left and right side of each condition, then the derived constants; `sides(v, o)`
    fills it with left and right sides alone; `schedule` has a function for each scheduled hyperparameter, by its place. v holds
    the values of the statement's symbols in their order.
    """
    names = {binding.symbol: f"$s[{at}]" for at, binding in enumerate(statement.symbols.values())}
    derived = [(constant.symbol, sp.sympify(constant.expr)) for constant in statement.derived]
    terms = [term.expr for term in statement.terms]
    sides = [side for condition in statement.requirements for side in (condition.left, condition.right)]
    whole = _function([*terms, *sides, *(symbol for symbol, _ in derived)], derived, names, library)
    some = _function(sides, derived, names, library)
    places = list(statement.symbols)
    schedule = ", ".join(
        f"{places.index(name)}: {_function([sp.sympify(expr)], derived, names, library)}"
        for name, expr in statement.schedule.items()
    )
    return f"{{all: {whole}, sides: {some}, schedule: {{{schedule}}}}}"


def _function(
    outputs: Sequence[sp.Expr],
    derived: Iterable[tuple[sp.Symbol, sp.Expr]],
    names: dict[sp.Symbol, str],
    library: Library,
) -> str:
    """A function of (v, o) that writes the outputs into o; common parts are computed once, and only what is needed."""
    pairs = list(derived)
    shared, reduced = sp.cse([*outputs, *(expr for _, expr in pairs)], symbols=sp.numbered_symbols("shared_part_"))
    parts = dict(shared) | {symbol: expr for (symbol, _), expr in zip(pairs, reduced[len(outputs) :], strict=True)}
    printer = Printer(library, dict(names))
    lines: list[str] = []

    def define(symbol: sp.Symbol) -> None:
        if symbol in printer.symbols:
            return
        needed(parts[symbol])
        name = f"$t{len(lines)}"
        lines.append(f"const {name} = {printer.doprint(parts[symbol])};")
        printer.symbols[symbol] = name

    def needed(expr: sp.Expr) -> None:
        for symbol in sorted(expr.free_symbols, key=str):
            define(symbol)

    results = []
    for at, expr in enumerate(reduced[: len(outputs)]):
        needed(expr)
        results.append(f"$o[{at}] = {printer.doprint(expr)};")
    return "($s, $o) => { " + " ".join([*lines, *results]) + " }"


class Printer(JavascriptCodePrinter):
    """sympy's JavaScript printer with our names, whole powers by multiplication, and functions that a paper declares."""

    def __init__(self, library: Library, symbols: dict[sp.Symbol, str]) -> None:
        super().__init__({})
        self.library, self.symbols = library, symbols

    def doprint(self, expr: sp.Expr, assign_to: None = None) -> str:
        try:
            text: str = super().doprint(expr)
        except PrintMethodNotImplementedError:
            text = "\n"
        if self._not_supported or "\n" in text:
            raise UntranslatableError(f"no JavaScript for {sp.sstr(expr)[:80]}")
        return text

    def _print_Symbol(self, expr: sp.Symbol) -> str:
        return self.symbols[expr]

    def _print_Mul(self, expr: sp.Mul) -> str:
        """A power with a symbol in its exponent may be infinite in a double, and 0 times infinity is no number there."""
        powers = [factor for factor in expr.args if isinstance(factor, Power)]
        others = sp.Mul(*(factor for factor in expr.args if factor not in powers))
        if not powers or not others.free_symbols:
            printed: str = super()._print_Mul(expr)
            return printed
        rest = self._print(others)
        return f"({rest} === 0 ? 0 : ({rest})*{'*'.join(map(self._print, powers))})"

    def _print_Pow(self, expr: sp.Pow) -> str:
        if expr.exp == 2 and expr.base.is_Symbol:
            name = self._print(expr.base)
            return f"({name}*{name})"
        printed: str = super()._print_Pow(expr)
        return printed

    def _print_Function(self, expr: sp.Function) -> str:
        if isinstance(expr, Power):
            base, exponent = (self._print(argument) for argument in expr.args)
            return f"Math.exp({exponent})" if expr.args[0] == sp.E else f"Math.pow({base}, {exponent})"
        if isinstance(expr, sp.floor | sp.ceiling):
            return f"${'$floor' if isinstance(expr, sp.floor) else '$ceil'}({self._print(expr.args[0])})"
        if isinstance(expr, PowerSum):
            return f"$$powerSum({', '.join(self._print(argument) for argument in expr.args)})"
        if isinstance(expr, StepFunction):
            if any(isinstance(argument, sp.Tuple) for argument in expr.args):
                raise UntranslatableError(f"{type(expr).__name__}: a list of sizes has no slider")
            called = self.library.function(type(expr).rule, counts_steps=True)
        elif (type(expr).__module__ or "").startswith("sympy."):
            printed: str = super()._print_Function(expr)
            return printed
        else:
            implementation = getattr(type(expr), "_imp_", None)
            if implementation is None:
                raise UntranslatableError(f"{type(expr).__name__}: a function without an implementation")
            called = self.library.function(implementation)
        arguments = ", ".join(self.parenthesize(argument, PRECEDENCE["Lambda"]) for argument in expr.args)
        return f"{called}({arguments})"


# --- functions written in Python -------------------------------------------------------------------------------------

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_COMPARE = {ast.Eq: "===", ast.NotEq: "!==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_ARRAY = {"equal": "({} === {})", "where": "({} ? {} : {})", "sqrt": "Math.sqrt({})"}
"""Functions of numpy that an implementation may use, on single numbers."""
_BUILT_IN = {
    root: "Math.sqrt({})",
    least: "Math.min({}, {})",
    min: "Math.min({}, {})",
    max: "Math.max({}, {})",
    abs: "Math.abs({})",
    entry: "{}",
}
"""A declared statement has one size for all steps, so an entry of it is the size itself."""


class _Translation:
    """One Python function as JavaScript. Local names get a `$` in front, so that none is a reserved word or (with two) one of ours."""

    def __init__(self, library: Library, function: Callable[..., Any]) -> None:
        self.library, self.called = library, function.__name__
        try:
            found: ast.stmt
            found = (
                _lambda(function)
                if self.called == "<lambda>"
                else ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
            )
        except (OSError, TypeError):
            raise UntranslatableError(f"{self.called}: its source is not there") from None
        if not isinstance(found, ast.FunctionDef):
            raise self.refused(found, "wanted a function")
        self.tree = found
        self.scope: dict[str, Any] = {**vars(__import__("builtins")), **getattr(function, "__globals__", {})}
        self.arguments = [argument.arg for argument in found.args.args]
        self.locals = {
            node.id for node in ast.walk(found) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for node in ast.walk(found):
            if isinstance(node, ast.Import):
                self.scope |= {name.asname or name.name: __import__(name.name) for name in node.names}

    def refused(self, node: ast.AST, why: str) -> UntranslatableError:
        return UntranslatableError(
            f"{self.called}, line {getattr(node, 'lineno', 0)}: {why}; it has no JavaScript here"
        )

    def text(self, name: str, counts_steps: bool) -> str:
        declared = sorted(self.locals - set(self.arguments))
        lines = [f"if (!$$steps(${self.arguments[0]})) return NaN;"] if counts_steps else []
        lines += [f"let {', '.join(f'${local}' for local in declared)};"] if declared else []
        lines += self.block(self.tree.body)
        arguments = ", ".join(f"${argument}" for argument in self.arguments)
        return f"function {name}({arguments}) {{ {' '.join(lines)} }}"

    def block(self, body: Sequence[ast.stmt]) -> list[str]:
        return [line for node in body for line in self.statement(node)]

    def statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.Pass():
                return []
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[item])):
                return [f"${name}.push({self.expression(item)});"]
            case ast.Assign(targets=[target], value=value):
                return [f"{self.target(target)} = {self.expression(value)};"]
            case ast.Return(value=ast.expr() as value):
                return [f"return {self.expression(value)};"]
            case ast.If(test=test, body=body, orelse=orelse):
                if self.is_about_symbols(test):
                    return self.block(orelse)
                otherwise = f"else {{ {' '.join(self.block(orelse))} }}" if orelse else ""
                return [f"if ({self.expression(test)}) {{ {' '.join(self.block(body))} }} {otherwise}"]
            case ast.For(target=target, iter=over, body=body, orelse=[]):
                return [f"{self.loop(target, over)} {{ {' '.join(self.block(body))} }}"]
        raise self.refused(node, f"the statement {type(node).__name__}")

    def is_about_symbols(self, test: ast.expr) -> bool:
        """`isinstance(x, sp.Basic)`: never true of a number."""
        match test:
            case ast.Call(
                func=ast.Name(id="isinstance"), args=[_, ast.Attribute(value=ast.Name(id=module), attr="Basic")]
            ):
                return self.scope.get(module) is sp
        return False

    def target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return f"${node.id}"
        if isinstance(node, ast.Tuple):
            return f"[{', '.join(map(self.target, node.elts))}]"
        raise self.refused(node, "an assignment to something else than names")

    def loop(self, target: ast.expr, over: ast.expr) -> str:
        match target, over:
            case ast.Name(id=name), ast.Call(func=ast.Name(id="range"), args=ends):
                low, high = self.ends(ends)
                return f"for (${name} = {low}; ${name} < {high}; ${name}++)"
            case ast.Name(id=name), ast.Call(
                func=ast.Name(id="reversed"), args=[ast.Call(func=ast.Name(id="range"), args=ends)]
            ):
                low, high = self.ends(ends)
                return f"for (${name} = {high} - 1; ${name} >= {low}; ${name}--)"
        return f"for ({self.target(target)} of {self.expression(over)})"

    def ends(self, ends: Sequence[ast.expr]) -> tuple[str, str]:
        if len(ends) not in (1, 2):
            raise self.refused(ends[0], "a range with a step")
        low = self.expression(ends[0]) if len(ends) == 2 else "0"
        return low, self.expression(ends[-1])

    def expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                return repr(value)
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return f"Math.pow({self.expression(left)}, {self.expression(right)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return f"({self.expression(left)} {_BINARY[type(op)]} {self.expression(right)})"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.expression(operand)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return f"({self.expression(left)} {_COMPARE[type(op)]} {self.expression(right)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.expression(test)} ? {self.expression(body)} : {self.expression(orelse)})"
            case ast.Starred(value=value):
                return f"...{self.expression(value)}"
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return f"[{', '.join(map(self.expression, items))}]"
            case ast.Attribute(value=ast.Name(id=module), attr="nan") if self.is_numpy(module):
                return "NaN"
            case ast.Call(func=function, args=arguments, keywords=keywords):
                return self.call(node, function, arguments, {keyword.arg for keyword in keywords})
        raise self.refused(node, f"the expression {ast.unparse(node)[:60]}")

    def name(self, node: ast.expr, name: str) -> str:
        if name in self.locals or name in self.arguments:
            return f"${name}"
        value = self.scope.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return repr(value)
        raise self.refused(node, f"the name {name}")

    def is_numpy(self, module: str) -> bool:
        found = self.scope.get(module)
        return isinstance(found, ModuleType) and found.__name__ == "numpy"

    def call(self, node: ast.expr, function: ast.expr, arguments: Sequence[ast.expr], keywords: set[str | None]) -> str:
        if keywords - {"strict"}:
            raise self.refused(node, "a call with keywords")
        match function:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if self.is_numpy(module) and name in _ARRAY:
                return _ARRAY[name].format(*map(self.expression, arguments))
            case ast.Attribute(value=ast.Name(id=name), attr="rule") if isinstance(self.scope.get(name), Recursion):
                return self.applied(self.scope[name].rule, arguments, counts_steps=True)
            case ast.Name(id=name) if name not in self.locals and callable(self.scope.get(name)):
                return self.named_call(node, self.scope[name], arguments)
        raise self.refused(node, f"the call {ast.unparse(function)[:60]}")

    def named_call(self, node: ast.expr, called: Any, arguments: Sequence[ast.expr]) -> str:
        if called is range:
            low, high = self.ends(arguments)
            return f"$$range({low}, {high})"
        if called is reversed:
            return f"[...{self.expression(arguments[0])}].reverse()"
        if called is zip:
            return f"$$zip({', '.join(map(self.expression, arguments))})"
        if called in _BUILT_IN:
            return _BUILT_IN[called].format(*map(self.expression, arguments))
        if not inspect.isfunction(called):
            raise self.refused(node, f"the call of {getattr(called, '__name__', called)}")
        return self.applied(called, arguments)

    def applied(self, called: Callable[..., Any], arguments: Sequence[ast.expr], *, counts_steps: bool = False) -> str:
        name = self.library.function(called, counts_steps=counts_steps)
        return f"{name}({', '.join(map(self.expression, arguments))})"
