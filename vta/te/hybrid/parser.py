"""The statements of hybrid script: a function's text to statements of TIR on tensors.

For ``for i in range(n): c[i] = a[i] * 2``::

    for (i, 0, n) {
      c[i] = (a[i]*2)

Names of the function's surroundings are read once, when the function is described. A call of another hybrid script puts
its body in the call's place. Tests: tests/vta/te/hybrid/test_parser.py.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from vta.arith.simplify import Analyzer
from vta.te.hybrid.emulation import LOOPS
from vta.te.hybrid.expressions import ExpressionReader, is_known
from vta.te.hybrid.scopes import Local, Scope, filled, needs_zeros, place
from vta.te.operation import PlaceholderOp
from vta.te.tensor import Tensor, as_index
from vta.tir.deep import deep
from vta.tir.dtype import INT32, DType
from vta.tir.expr import Expr, IntImm, IterKind, IterVar, ProducerLoad, StringImm, Var, const, convert
from vta.tir.expr.coercion import cast_to
from vta.tir.stmt import (
    AssertStmt,
    AttrKey,
    AttrStmt,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    ProducerStore,
    Stmt,
    seq,
    stmt_list,
)

__all__ = ["Described", "FunctionReader", "FunctionText"]

_KINDS: Mapping[str, ForKind] = {
    "range": ForKind.SERIAL, "serial": ForKind.SERIAL, "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED, "unroll": ForKind.UNROLLED,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A function's syntax tree, the file and line where it begins, and what its free names are."""

    tree: ast.FunctionDef
    file: str
    line: int
    surroundings: Mapping[str, Any]

    def where(self, node: ast.AST) -> str:
        """Return ``file.py:12`` for a node of the tree."""
        return f"{self.file}:{self.line + getattr(node, 'lineno', 1) - 1}"


class _Script(Protocol):
    """A function that is hybrid script, too."""

    def text(self) -> FunctionText:
        """Return its text."""
        ...


@dataclass(frozen=True, slots=True)
class Described:
    """What a function computes: ``places`` are its outputs as ``body`` stores them, after ``zeros``."""

    body: Stmt
    zeros: tuple[Stmt, ...]
    places: tuple[Tensor, ...]
    changes: tuple[Tensor, ...]


@dataclass(slots=True)
class FunctionReader:
    """Reads one function; ``scopes`` are those of the function that calls it, if one does."""

    text: FunctionText
    is_script: Callable[[object], bool]
    scopes: list[Scope] = field(default_factory=lambda: [Scope()])
    depth: int = 1
    conditions: int = 0
    callers: tuple[str, ...] = ()
    changes: dict[Tensor, None] = field(default_factory=dict)
    _names: dict[str, Any] = field(default_factory=dict)
    _outputs: dict[str, Tensor] = field(default_factory=dict)
    _own: set[Tensor] = field(default_factory=set)
    _returned: list[str] | None = None
    _stores: dict[str, int] = field(default_factory=dict)
    _read: ExpressionReader = field(init=False)
    _fills: dict[int, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names.update(self.text.surroundings)
        self._read = ExpressionReader(self._names, self.text.where)
        self._read.called = self._called
        for node in ast.walk(self.text.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._stores[node.id] = self._stores.get(node.id, 0) + 1
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self._stores[node.target.id] = self._stores.get(node.target.id, 0) + 1

    def read(self, arguments: Sequence[Any]) -> Described:
        """Return what the function computes of ``arguments``."""
        body = self._function(arguments)
        places = self._places()
        zeros = tuple(filled(t) for t in places if needs_zeros(t, stmt_list(body), is_output=True))
        return Described(self.scopes[0].around(body), zeros, places, tuple(self.changes))

    def _function(self, arguments: Sequence[Any]) -> Stmt:
        tree = self.text.tree
        names = [argument.arg for argument in tree.args.args]
        if tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs or tree.args.defaults:
            raise self._read.refusal(tree, f"{tree.name}: a hybrid script takes arguments by position alone")
        if len(names) != len(arguments):
            raise self._read.refusal(tree, f"{tree.name}: expected {len(names)} arguments, got {len(arguments)}")
        self._names.update(zip(names, map(_argument, arguments), strict=True))
        return self._block(tree.body)

    def _places(self) -> tuple[Tensor, ...]:
        tree = self.text.tree
        if self._returned is None:
            raise self._read.refusal(tree, f"{tree.name}: a hybrid script returns its output tensors")
        missing = [name for name in self._outputs if name not in self._returned]
        if missing:
            raise self._read.refusal(tree, f"{tree.name}: output tensor {missing[0]!r} is not returned")
        return tuple(self._outputs[name] for name in self._returned)

    # Statements

    def _block(self, nodes: Sequence[ast.stmt]) -> Stmt:
        stmts: list[Stmt] = []
        for node in nodes:
            if self._returned is not None:
                raise self._read.refusal(node, "a statement after return is never run")
            stmts += stmt_list(self._statement(node))
        kept = [
            stmt for i, stmt in enumerate(stmts)
            if id(stmt) not in self._fills or needs_zeros(self._fills[id(stmt)], stmts[i + 1 :], is_output=False)
        ]  # fmt: skip
        return seq(kept)

    @deep
    def _statement(self, node: ast.stmt) -> Stmt:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return seq([])
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                return self._assign_several(node, targets, value)
            case ast.Assign(targets=[target], value=value):
                return self._assign(target, value)
            case ast.AugAssign():
                value = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
                return self._store(node.target, self._read.expr(value))
            case ast.For(orelse=[]):
                return self._loop(node)
            case ast.If():
                return self._branches(node)
            case ast.Assert():
                return self._assertion(node)
            case ast.Return(value=ast.expr() as value):
                self._returned = self._returned_names(value)
                return seq([])
            case _:
                first = ast.unparse(node).splitlines()[0]
                raise self._read.refusal(node, f"{first!r} has no meaning in a hybrid script")

    def _is_inside(self) -> bool:
        """Whether what is read now is in a loop or a condition of the function."""
        return len(self.scopes) > self.depth or self.scopes[-1].conditions > self.conditions

    def _returned_names(self, value: ast.expr) -> list[str]:
        items = value.elts if isinstance(value, ast.Tuple) else [value]
        names = [item.id for item in items if isinstance(item, ast.Name) and item.id in self._outputs]
        if len(names) != len(items) or len(set(names)) != len(names):
            raise self._read.refusal(value, f"return takes output tensors, each once, not {ast.unparse(value)}")
        if self._is_inside():
            raise self._read.refusal(value, "return stands at the end of a function, not in a loop or condition")
        return names

    def _branches(self, node: ast.If) -> Stmt:
        condition = self._read.value(node.test)
        if is_known(condition):
            return self._block(node.body if condition else node.orelse)
        test = self._read.expr(node.test)
        scope = self.scopes[-1]
        scope.conditions += 1
        then = self._block(node.body)
        otherwise = self._block(node.orelse) if node.orelse else None
        scope.conditions -= 1
        return IfThenElse(test if test.dtype == "bool" else convert(test != 0), then, otherwise)

    def _assertion(self, node: ast.Assert) -> Stmt:
        message = "" if node.msg is None else self._read.value(node.msg)
        return AssertStmt(self._read.expr(node.test), StringImm(str(message)), Evaluate(IntImm(0)))

    def _loop(self, node: ast.For) -> Stmt:
        call = node.iter
        if not isinstance(node.target, ast.Name) or not isinstance(call, ast.Call):
            raise self._read.refusal(node, f"a loop has one variable and walks over one of {', '.join(LOOPS)}")
        word = call.func.id if isinstance(call.func, ast.Name) else ast.unparse(call.func)
        if word not in LOOPS or call.keywords:
            raise self._read.refusal(node, f"a loop walks over one of {', '.join(LOOPS)}, not {ast.unparse(call)}")
        if word == "bind":
            return self._threads(node.target.id, call, node)
        if not 1 <= len(call.args) <= 2:
            raise self._read.refusal(node, f"{word} takes an end, or a begin and an end, not {len(call.args)} values")
        if word == "const_range":
            return self._repeated(node.target.id, call, node)
        begin, end = [const(0), *map(self._read.expr, call.args)][-2:]
        low, high = as_index(begin, "the begin of a loop"), as_index(end, "the end of a loop")
        var = Var(node.target.id, INT32)
        body = self._inside(var, node, _KINDS[word])
        return For(var, low, Analyzer().simplify(high - low), body, _KINDS[word])

    def _inside(self, var: Var, node: ast.For, kind: ForKind) -> Stmt:
        """Return the body of a loop, in a scope of its own."""
        before = self._names.get(var.name)
        if isinstance(before, Local | Tensor):
            raise self._read.refusal(node, f"loop variable {var.name!r} has the name of something else in the function")
        self._names[var.name] = var
        self.scopes.append(Scope(kind))
        body = self._block(node.body)
        scope = self.scopes.pop()
        for name in (var.name, *scope.names):
            self._names.pop(name, None)
        if before is not None:
            self._names[var.name] = before
        return scope.around(body)

    def _threads(self, name: str, call: ast.Call, node: ast.For) -> Stmt:
        match [self._read.value(item) for item in call.args]:
            case [str() as tag, extent]:
                var = Var(name, INT32)
                axis = IterVar(None, var, IterKind.THREAD_INDEX, tag)
                count = as_index(convert(extent), "the number of threads")
                return AttrStmt(axis, AttrKey.THREAD_EXTENT, count, self._inside(var, node, ForKind.PARALLEL))
            case _:
                raise self._read.refusal(node, "bind takes the name of a thread axis and the number of threads")

    def _repeated(self, name: str, call: ast.Call, node: ast.For) -> Stmt:
        """Return the body once for each value of a loop that is known while the function is read."""
        ends = [self._read.constant(item, "const_range") for item in call.args]
        stmts: list[Stmt] = []
        for value in range(*ends):
            self._names[name] = value
            stmts += stmt_list(self._block(node.body))
        self._names.pop(name, None)
        return seq(stmts)

    # Assignments

    def _assign_several(self, node: ast.AST, targets: Sequence[ast.expr], value: ast.expr) -> Stmt:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            called: Any = self._names.get(value.func.id)
            if self.is_script(called):
                return self._inlined(ast.Tuple(list(targets)), value, called)
        raise self._read.refusal(node, f"{ast.unparse(node)}: assign one thing after the other")

    def _assign(self, target: ast.expr, value: ast.expr) -> Stmt:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            word = value.func.id
            if word in ("allocate", "output_tensor"):
                return self._memory(target, word, value)
            if self.is_script(self._names.get(word)):
                return self._inlined(target, value, self._names[word])
        given = self._read.value(value)
        if isinstance(target, ast.Name) and isinstance(given, tuple | list):
            self._names[target.id] = given
            return seq([])
        if isinstance(target, ast.Name) and is_known(given) and self._stores[target.id] == 1:
            self._names[target.id] = given
            return seq([])
        return self._store(target, self._read.expr(value))

    def _memory(self, target: ast.expr, word: str, call: ast.Call) -> Stmt:
        if not isinstance(target, ast.Name) or isinstance(self._names.get(target.id), Local | Tensor):
            raise self._read.refusal(call, f"{word} makes a tensor with a new name, not {ast.unparse(target)}")
        given = [self._read.value(item) for item in call.args]
        named = {word.arg: self._read.value(word.value) for word in call.keywords}
        shape, kind, scope = [*given, *[None] * 3][:3]
        shape, kind = named.get("shape", shape), named.get("dtype", kind) or "float32"
        memory = str(named.get("scope", scope) or "")
        sizes = shape if isinstance(shape, tuple | list) else (shape,)
        dims = tuple(as_index(convert(size), f"a dimension of {target.id!r}") for size in sizes)
        tensor = self._names[target.id] = place(target.id, dims, DType(str(kind)))
        if word == "output_tensor":
            if self._is_inside():
                raise self._read.refusal(call, "output_tensor stands outside of loops and conditions")
            self._outputs[target.id] = tensor
            return seq([])
        self._own.add(tensor)
        self._declare(target.id, tensor, memory)
        zeros = filled(tensor)
        self._fills[id(zeros)] = tensor
        return zeros

    def _declare(self, name: str, tensor: Tensor, memory: str = "") -> None:
        """Let a tensor exist in the innermost scope whose every run assigns it, else further out."""
        at = len(self.scopes) - 1
        while at > 0 and self.scopes[at].conditions and self.scopes[at].kind in (ForKind.SERIAL, ForKind.UNROLLED):
            at -= 1
        self.scopes[at].own.append((tensor, memory))
        self.scopes[at].names.append(name)

    def _store(self, target: ast.expr, value: Expr) -> Stmt:
        match target:
            case ast.Name(id=name):
                return self._store_variable(target, name, value)
            case ast.Subscript():
                element = self._read.value(target)
                if not isinstance(element, ProducerLoad) or not isinstance(element.producer, Tensor):
                    raise self._read.refusal(target, f"{ast.unparse(target)} is no element of a tensor to store in")
                self._check_change(target, element.producer)
                return ProducerStore(element.producer, cast_to(value, element.dtype), element.indices)
            case _:
                raise self._read.refusal(target, f"nothing can be assigned to {ast.unparse(target)}")

    def _check_change(self, node: ast.AST, tensor: Tensor) -> None:
        if tensor in self._own or any(tensor is output for output in self._outputs.values()):
            return
        if any(tensor is own for scope in self.scopes for own, _ in scope.own):
            return
        if not isinstance(tensor.op, PlaceholderOp):
            raise self._read.refusal(node, f"{tensor.name!r} is computed by another stage; copy it and change the copy")
        self.changes[tensor] = None

    def _store_variable(self, target: ast.expr, name: str, value: Expr) -> Stmt:
        known = self._names.get(name)
        if isinstance(known, Var | Tensor):
            kind = "a tensor" if isinstance(known, Tensor) else "a loop's variable or a parameter"
            raise self._read.refusal(target, f"{name!r} is {kind}, and nothing else can have its name")
        if not isinstance(known, Local):
            line = self.text.line + getattr(target, "lineno", 1) - 1
            known = self._names[name] = Local(place(name, (const(1),), value.dtype), line)
            self._declare(name, known.tensor)
        kind = known.tensor.dtype
        if value.dtype != kind and not (kind.is_float or isinstance(value, IntImm)):
            raise self._read.refusal(
                target, f"{name!r} holds {kind} since line {known.line}, not {value.dtype}; convert it with {kind}(...)"
            )
        return ProducerStore(known.tensor, cast_to(value, kind), (const(0),))

    # Calls of other scripts

    def _inlined(self, target: ast.expr, call: ast.Call, script: _Script) -> Stmt:
        given = [self._read.value(item) for item in call.args]
        depth, conditions, text = len(self.scopes), self.scopes[-1].conditions, script.text()
        callers = (*self.callers, f"{self.text.file}:{self.text.line}")
        if f"{text.file}:{text.line}" in callers:
            raise self._read.refusal(call, f"{ast.unparse(call.func)} calls itself, which never ends here")
        inner = FunctionReader(text, self.is_script, self.scopes, depth, conditions, callers, self.changes)
        inner._own = {tensor for scope in self.scopes for tensor, _ in scope.own} | set(self._outputs.values())
        body = inner._function(given)
        places = inner._places()
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if len(targets) != len(places) or not all(isinstance(item, ast.Name) for item in targets):
            raise self._read.refusal(call, f"{ast.unparse(call.func)} returns {len(places)} tensors, for as many names")
        stmts: list[Stmt] = []
        for item, tensor in zip(targets, places, strict=True):
            assert isinstance(item, ast.Name)
            self._names[item.id] = tensor
            self._own.add(tensor)
            self._declare(item.id, tensor)
            if needs_zeros(tensor, stmt_list(body), is_output=True):
                stmts.append(filled(tensor))
        return seq([*stmts, body])

    def _called(self, node: ast.Call, function: Any, given: list[Any]) -> Any:  # noqa: ARG002
        if self.is_script(function):
            raise self._read.refusal(
                node, f"{ast.unparse(node)}: assign what another script returns to a name of its own"
            )
        raise self._read.refusal(node, f"{ast.unparse(node.func)} is no hybrid script, and cannot be called in one")


def _argument(value: Any) -> Any:
    """Return what a parameter stands for: numbers of numpy's and of TVM's as they are, lists as tuples."""
    match value:
        case np.generic():
            return value.item()
        case StringImm():
            return value.value
        case list() | tuple():
            return tuple(map(_argument, value))
        case _:
            return value
