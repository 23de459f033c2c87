"""The small changes of a file's functions that `mutation.py` tries, one by one."""

from __future__ import annotations

import ast
import copy
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent

COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
CALCULATIONS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
# Calls whose keywords are conditions on rows, or what is written to them.
QUERIES: Final = {"filter", "exclude", "get", "update", "create", "get_or_create"}
# What a log says is no behaviour.
LOGGING: Final = {"debug", "info", "warning", "error", "exception", "log"}
# Fields of nodes in which nothing runs.
STILL: Final = {"annotation", "returns", "decorator_list", "ctx"}

Route = tuple[tuple[str, int | None], ...]
# What a node becomes, in words and as a node. It is given a copy, and may change it.
Change = tuple[str, ast.AST]


# ── What a piece of code can become ──────────────────────────────────────────
def _comparison(node: ast.Compare) -> Iterator[Change]:
    if len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        old = type(node.ops[0])
        node.ops = [COMPARISONS[old]()]
        yield f"{old.__name__} becomes {COMPARISONS[old].__name__}", node


def _connection(node: ast.BoolOp) -> Iterator[Change]:
    node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield f"becomes {type(node.op).__name__}", node


def _negation(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not):
        yield "not is dropped", node.operand


def _condition(node: ast.If | ast.IfExp | ast.While) -> Iterator[Change]:
    node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
    yield "the condition is negated", node


def _calculation(node: ast.BinOp) -> Iterator[Change]:
    old = type(node.op)
    if old in CALCULATIONS:
        node.op = CALCULATIONS[old]()
        yield f"{old.__name__} becomes {CALCULATIONS[old].__name__}", node


def _constant(node: ast.Constant) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield f"becomes {not node.value}", ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield f"{node.value} becomes {node.value + 1}", ast.Constant(node.value + 1)


def _result(node: ast.Return) -> Iterator[Change]:
    if node.value and not (
        isinstance(node.value, ast.Constant) and node.value.value is None
    ):
        yield "returns None", ast.Return(ast.Constant(None))


def _call_statement(node: ast.Expr) -> Iterator[Change]:
    if isinstance(node.value, ast.Call) and _called(node.value) not in LOGGING:
        yield "the call is dropped", ast.Pass()


def _assignment(node: ast.Assign | ast.AugAssign) -> Iterator[Change]:
    if isinstance(node, ast.AugAssign) or isinstance(node.targets[0], ast.Attribute):
        yield "the assignment is dropped", ast.Pass()


def _refusal(_node: ast.Raise) -> Iterator[Change]:
    yield "nothing is raised", ast.Pass()


def _query(node: ast.Call) -> Iterator[Change]:
    if _called(node) not in QUERIES:
        return
    for keyword in list(node.keywords):
        if keyword.arg is not None:
            shorter = copy.copy(node)
            shorter.keywords = [other for other in node.keywords if other != keyword]
            yield f"{keyword.arg}= is dropped", shorter


CHANGES: Final[dict[type[ast.AST], Callable[[Any], Iterator[Change]]]] = {
    ast.Compare: _comparison,
    ast.BoolOp: _connection,
    ast.UnaryOp: _negation,
    ast.If: _condition,
    ast.IfExp: _condition,
    ast.While: _condition,
    ast.BinOp: _calculation,
    ast.Constant: _constant,
    ast.Return: _result,
    ast.Expr: _call_statement,
    ast.Assign: _assignment,
    ast.AugAssign: _assignment,
    ast.Raise: _refusal,
    ast.Call: _query,
}


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


# ── Where in a file ──────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Mutant:
    """One change: its lines, the function that it is in, and the changed module."""

    path: str
    function: str
    first_line: int
    line: int
    last_line: int
    what: str
    tree: ast.Module = field(repr=False)


def _functions(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the outermost functions with their qualified names."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")


def _routes(node: ast.AST, route: Route) -> Iterator[Route]:
    """Yield the way to every node that runs; texts of f-strings do not count."""
    yield route
    if isinstance(node, ast.JoinedStr):
        return
    for name, value in ast.iter_fields(node):
        if name in STILL or isinstance(value, ast.arguments):
            continue
        nodes = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in nodes:
            if isinstance(child, ast.AST):
                yield from _routes(child, (*route, (name, index)))


def _at(node: Any, route: Route) -> Any:
    for name, index in route:
        node = getattr(node, name)
        node = node if index is None else node[index]
    return node


def _replaced(tree: ast.Module, place: int, route: Route, new: ast.AST) -> ast.Module:
    """Return a copy of the module with another node in a function."""
    copied = copy.deepcopy(tree)
    definition = list(_functions(copied.body))[place][1]
    old, holder = _at(definition, route), _at(definition, route[:-1])
    name, index = route[-1]
    for node in ast.walk(new):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, old)
    if index is None:
        setattr(holder, name, new)
    else:
        getattr(holder, name)[index] = new
    return ast.fix_missing_locations(copied)


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield every change of a file's functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for place, (name, definition) in enumerate(_functions(tree.body)):
        decorators = [node.lineno for node in definition.decorator_list]
        for start, statement in enumerate(definition.body):
            for route in _routes(statement, (("body", start),)):
                node = _at(definition, route)
                change = CHANGES.get(type(node), lambda _: iter(()))
                for what, new in change(copy.deepcopy(node)):
                    yield Mutant(
                        path=str(path.resolve().relative_to(ROOT)),
                        function=name,
                        first_line=min([definition.lineno, *decorators]),
                        line=getattr(node, "lineno", statement.lineno),
                        last_line=getattr(node, "end_lineno", statement.lineno),
                        what=what,
                        tree=_replaced(tree, place, route, new),
                    )


# ── In the running program ───────────────────────────────────────────────────
def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def apply(mutant: Mutant) -> bool:
    """Give the function the changed code, wherever something holds it.

    False where that cannot be: the change uses other variables from outside.
    """
    file = str(ROOT / mutant.path)
    key = (file, mutant.function, mutant.first_line)
    compiled = compile(mutant.tree, file, "exec", dont_inherit=True)
    new = next(code for code in _codes(compiled) if _key(code) == key)
    for live in gc.get_objects():
        if isinstance(live, FunctionType) and _key(live.__code__) == key:
            if live.__code__.co_freevars != new.co_freevars:
                return False
            live.__code__ = new
    return True


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno
