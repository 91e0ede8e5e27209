"""Small changes of a Python source that a test suite should notice: a sign, a comparison, a constant, a dropped statement."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}
_LENGTH = 70


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Args:
        file: its path in the package.
        function: the qualified name of the function around the change; empty at the level of the module.
        line: of the change.
        change: what was there and what is there now.
        again: how many changes of the file have the same function and the same words and stand before it.
        source: the whole file with the change.
    """

    file: str
    function: str
    line: int
    change: str
    again: int
    source: str

    @property
    def name(self) -> str:
        """What it is called as long as the changed words stay: no line number."""
        number = f" ({self.again + 1})" if self.again else ""
        return f"{self.file}::{self.function or '<module>'}: {self.change}{number}"


def mutants(file: str, source: str) -> list[Mutant]:
    """Every mutant of a source, in the order of the file."""
    found: list[Mutant] = []
    seen: dict[tuple[str, str], int] = {}
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for function, node, new in _changes(ast.parse(source), ""):
        low = starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        high = starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        words = ast.unparse(new)
        if isinstance(new, ast.expr):
            words = f"({words})"
        change = f"{_short(ast.unparse(node))} -> {_short(ast.unparse(new))}"
        again = seen.get((function, change), 0)
        seen[function, change] = again + 1
        changed = (data[:low] + words.encode() + data[high:]).decode()
        found.append(Mutant(file, function, node.lineno, change, again, changed))  # type: ignore[attr-defined]
    return found


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LENGTH else line[: _LENGTH - 1] + "…"


def _changes(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST, ast.AST]]:
    """The function around each place that can change, the place, and what comes there."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        function = f"{function}.{node.name}" if function else node.name
        for each in node.body:
            yield from _changes(each, function)
        if not isinstance(node, ast.ClassDef):
            for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d)):
                yield from _changes(default, function)
        return
    if isinstance(node, ast.AnnAssign):
        if node.value:
            yield from _changes(node.value, function)
        return
    if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return  # words for a person
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    yield from ((function, node, new) for new in _replacements(node))
    if isinstance(node, (ast.If, ast.IfExp)):
        yield function, node.test, ast.UnaryOp(ast.Not(), node.test)
    if isinstance(node, ast.Raise):
        return  # the words of an error
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # a docstring
    for child in ast.iter_child_nodes(node):
        yield from _changes(child, function)


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    new = copy.copy(node)
    match new:
        case ast.Compare(ops=[only]) if type(only) in _COMPARED:
            new.ops = [_COMPARED[type(only)]()]
            yield new
        case ast.BinOp() if type(new.op) in _COMPUTED and not (_is_text(new.left) or _is_text(new.right)):
            new.op = _COMPUTED[type(new.op)]()
            yield new
        case ast.AugAssign() if type(new.op) in _COMPUTED and not _is_text(new.value):
            new.op = _COMPUTED[type(new.op)]()
            yield new
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield new.operand
        case ast.BoolOp():
            new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
            yield new
        case ast.Constant(value=bool()):
            yield ast.Constant(not new.value)
        case ast.Constant(value=int() | float()) if new.value + 1 != new.value:
            yield ast.Constant(new.value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            new.func = ast.Name(_CALLED[name])
            yield new
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Continue():
            yield ast.Break()
        case ast.Break():
            yield ast.Continue()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
