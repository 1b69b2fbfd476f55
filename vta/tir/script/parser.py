"""TVMScript to functions and modules: the text of a Python function, read as statements of TIR.

What a block reads and writes (``T.reads``, ``T.writes``) follows from its body here, and counts where that does
not show it, as where an intrinsic gets pointers. A word that this toolchain has no statement for (``T.match_buffer``
inside of a block, sparse ones) is refused with its line. Tests: tests/vta/tir/script/test_parser.py.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from isa.errors import VTAError
from vta.tir.blocks import is_opaque
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.deep import deep
from vta.tir.dtype import HANDLE, DType
from vta.tir.expr import (
    Expr,
    FloatImm,
    IntImm,
    IterKind,
    IterVar,
    Range,
    StringImm,
    Sub,
    Var,
    binary,
    const,
    convert,
    match_types,
)
from vta.tir.func import IRModule, PrimFunc
from vta.tir.script.expressions import Reader, ScriptError
from vta.tir.script.scopes import ATTRIBUTES, LOOPS, BlockParts, region_of, scope_of
from vta.tir.stmt import Annotation, Block, BufferStore, Evaluate, For, IfThenElse, Stmt, While, seq
from vta.tir.traverse import walk

__all__ = ["ScriptError", "from_source", "ir_module", "prim_func"]


def prim_func(function: Callable[..., Any]) -> PrimFunc:
    """Return the function that the text of ``function`` describes (as a decorator: ``@T.prim_func``)."""
    text, outer = _source(function)
    names = {**getattr(function, "__globals__", {}), **inspect.getclosurevars(function).nonlocals}
    return _FunctionReader(text, outer, names).function()


def ir_module(cls: type) -> IRModule:
    """Return the module of the functions of a class (as a decorator: ``@tvm.script.ir_module``)."""
    functions = {name: value for name, value in vars(cls).items() if isinstance(value, PrimFunc)}
    return IRModule(functions)


def from_source(text: str) -> PrimFunc | IRModule:
    """Return the function, or the module, of a text that ``to_script`` (or TVM) wrote; raises ``ScriptError``."""
    try:
        tree = ast.parse(textwrap.dedent(text))
    except SyntaxError as error:
        raise ScriptError(f"line {error.lineno}: {error.msg}") from None
    for node in tree.body:
        match node:
            case ast.FunctionDef():
                return _FunctionReader(node, 0, {}).function()
            case ast.ClassDef():
                parts = [part for part in node.body if isinstance(part, ast.FunctionDef)]
                return IRModule({part.name: _FunctionReader(part, 0, {}).function() for part in parts})
            case _:
                continue
    raise ScriptError("line 1: the text has neither a function under @T.prim_func nor a class under @ir_module")


def _source(function: Callable[..., Any]) -> tuple[ast.FunctionDef, int]:
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        raise ScriptError(
            f"function {function.__name__!r} has no source; write it in a file, or use from_source"
        ) from None
    (node,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(node, ast.FunctionDef)
    return node, first - 1


class _FunctionReader:
    """Reads one function."""

    def __init__(self, node: ast.FunctionDef, line: int, names: Mapping[str, Any]) -> None:
        self._node = node
        self._line = line
        self.names: dict[str, Any] = {k: v for k, v in names.items() if k not in ("T", "tir")}
        self.reader = Reader(self.names, self.where)
        self.attrs: dict[str, Any] = {}
        self.buffers: dict[Var, Buffer] = {}
        self.declared: dict[Var, Buffer] = {}
        self.blocks: list[BlockParts] = [BlockParts()]

    def where(self, node: ast.AST) -> str:
        """Return the place of ``node``."""
        return f"{self._node.name}, line {getattr(node, 'lineno', 1) + self._line}"

    def function(self) -> PrimFunc:
        """Return the function."""
        params = [self._parameter(arg) for arg in self._node.args.args]
        body = self.statements(self._node.body)
        own = tuple(self.blocks[0].alloc_buffers)
        has_root = isinstance(body, Block) and body.name == "root"
        if own or (not has_root and any(isinstance(node, Block) for node in walk(body))):
            body = Block("root", (), (), body, alloc_buffers=own)
        name = str(self.attrs.get("global_symbol", self._node.name))
        return PrimFunc(name, tuple(params), body, self.buffers, self.attrs, self.declared)

    def _parameter(self, arg: ast.arg) -> Var:
        kind = arg.annotation
        if isinstance(kind, ast.Subscript | ast.Call) and ast.unparse(kind).startswith(("T.Buffer", "tir.Buffer")):
            inner = kind.slice if isinstance(kind, ast.Subscript) else ast.Tuple(kind.args)
            given = self.reader.value(inner)
            typed = isinstance(given, list) and len(given) > 1 and isinstance(given[-1], str)
            shape, dtype = given if typed else (given, "float32")
            if isinstance(shape, list) and len(shape) == 1 and isinstance(shape[0], list):
                (shape,) = shape
            buffer = self.names[arg.arg] = decl_buffer(shape, dtype, arg.arg)
            handle = Var(arg.arg, HANDLE)
            self.buffers[handle] = buffer
            return handle
        word = "" if kind is None else self.reader.word(kind)
        if not word:
            raise self.reader.refusal(
                arg, f"parameter {arg.arg!r} needs a type, for example T.handle or T.Buffer[(8,), 'float32']"
            )
        var = self.names[arg.arg] = Var(arg.arg, DType(word))
        return var

    # Statements

    @deep
    def statements(self, nodes: list[ast.stmt]) -> Stmt:
        """Return statements as one."""
        found: list[Stmt] = []
        for place, node in enumerate(nodes):
            rest = nodes[place + 1 :]
            wrapped = self._wrapping(node, rest)
            if wrapped is not None:
                found.append(wrapped)
                break
            made = self.statement(node)
            if made is not None:
                found.append(made)
        return found[0] if len(found) == 1 else seq(found)

    def _wrapping(self, node: ast.stmt, rest: list[ast.stmt]) -> Stmt | None:
        """Return the statement that goes on to the end of its block: a scope without ``with``; None for others."""
        match node:
            case ast.Expr(value=ast.Call() as call) if self.reader.word(call.func) in ATTRIBUTES:
                return scope_of(self, call, None, lambda: self.statements(rest))
            case ast.Assign(targets=[ast.Name() as target], value=ast.Call() as call) if (
                self.reader.word(call.func) == "allocate"
            ):
                return scope_of(self, call, target, lambda: self.statements(rest))
            case _:
                return None

    def statement(self, node: ast.stmt) -> Stmt | None:
        """Return a statement; None for one that declares something."""
        match node:
            case ast.Pass():
                return None
            case ast.Expr(value=ast.Constant(value=str())):
                return None
            case ast.Expr(value=ast.Call() as call):
                return self._word(call)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                return self._store(target, value)
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                loaded = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
                return self._store(target, ast.copy_location(ast.BinOp(loaded, op, value), node))
            case ast.Assign(targets=[target], value=value):
                self._define(target, value)
                return None
            case ast.For():
                return self._loop(node)
            case ast.If():
                condition = self.reader.expr(node.test)
                then = self.statements(node.body)
                return IfThenElse(condition, then, self.statements(node.orelse) if node.orelse else None)
            case ast.While() if not node.orelse:
                return While(self.reader.expr(node.test), self.statements(node.body))
            case ast.With(items=[item]) if isinstance(item.context_expr, ast.Call):
                return self._with(item.context_expr, item.optional_vars, node)
            case _:
                raise self.reader.refusal(node, f"{ast.unparse(node).splitlines()[0]!r} has no meaning in a script")

    def _store(self, target: ast.Subscript, value: ast.expr) -> Stmt:
        buffer = self.reader.value(target.value)
        if not isinstance(buffer, Buffer):
            raise self.reader.refusal(target, f"{ast.unparse(target.value)} is no buffer")
        given = self.reader.value(value)
        try:
            return self._stored(target, buffer, given)
        except ScriptError:
            raise
        except VTAError as error:
            raise self.reader.refusal(target, str(error)) from None

    def _stored(self, target: ast.Subscript, buffer: Buffer, given: Any) -> Stmt:
        lanes = max([1, *(index.dtype.lanes for index in self.reader.indices(target, buffer))])
        kind = buffer.dtype.with_lanes(lanes)
        stored = const(given, kind) if isinstance(given, int | float) else convert(given)
        if stored.dtype != kind:
            raise self.reader.refusal(target, f"buffer {buffer.name!r} holds {kind}, not {stored.dtype}; use T.cast")
        return BufferStore(buffer, stored, self.reader.indices(target, buffer))

    def _word(self, call: ast.Call) -> Stmt | None:
        word = self.reader.word(call.func)
        if word in ("reads", "writes"):
            self._regions(call, word)
            return None
        given, named = self.reader.arguments(call)
        match word:
            case "evaluate" if len(call.args) == 1:
                return Evaluate(self.reader.expr(call.args[0]))
            case "func_attr":
                self.attrs.update({k: v.value if isinstance(v, IntImm) else v for k, v in given[0].items()})
            case "block_attr" if len(given) == 1 and isinstance(given[0], dict):
                self.blocks[-1].annotations.update({k: self._annotation(v, call) for k, v in given[0].items()})
            case "where" if len(given) == 1:
                self.blocks[-1].predicate = convert(given[0])
            case "preflattened_buffer":
                self._preflattened("buffer", given, named, call)
            case "":
                raise self.reader.refusal(
                    call, f"{ast.unparse(call.func)} is no word of the script; words begin with T."
                )
            case _:
                return Evaluate(convert(self.reader.call(call)))
        return None

    def _regions(self, call: ast.Call, word: str) -> None:
        nodes = [item for arg in call.args for item in (arg.elts if isinstance(arg, ast.List) else [arg])]
        found = tuple(region_of(self, node) for node in nodes)
        if word == "reads":
            self.blocks[-1].reads = found
        else:
            self.blocks[-1].writes = found

    @deep
    def _annotation(self, value: Any, call: ast.Call) -> Annotation:
        match value:
            case IntImm() | StringImm() | FloatImm():
                return value.value
            case int() | float() | str():
                return value
            case list():
                return tuple(self._annotation(item, call) for item in value)
            case _:
                raise self.reader.refusal(call, f"an annotation is a number, a text or a list of these, not {value}")

    def _define(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and (word := self.reader.word(value.func)).startswith("axis."):
            self._axes(target, value, word.removeprefix("axis."))
            return
        if not isinstance(target, ast.Name):
            raise self.reader.refusal(target, f"{ast.unparse(target)} cannot be defined")
        if isinstance(value, ast.Call) and self.reader.word(value.func) in _BUFFERS:
            self.names[target.id] = self._declared(target.id, value)
            return
        made = self.reader.value(value)
        if isinstance(value, ast.Call) and self.reader.word(value.func) == "var":
            made = Var(target.id, made.dtype)
        self.names[target.id] = made

    def _declared(self, name: str, call: ast.Call) -> Buffer:
        """Return the buffer that a word declares under ``name``."""
        word = self.reader.word(call.func)
        given, named = self.reader.arguments(call)
        if word == "match_buffer":
            if len(self.blocks) > 1 or not isinstance(given[0], Var):
                raise self.reader.refusal(
                    call, "T.match_buffer: regions of buffers cannot be matched here; index the buffer itself"
                )
            buffer = self.buffers[given[0]] = self._buffer(name, given[1:], named, None)
            return buffer
        if word == "preflattened_buffer":
            return self._preflattened(name, given, named, call)
        buffer = self._buffer(name, given, named, named.get("data"))
        if word == "alloc_buffer":
            self.blocks[-1].alloc_buffers.append(buffer)
        elif buffer.data not in self.names.values():
            self.names[f"{name}.data"] = buffer.data
        return buffer

    def _preflattened(self, name: str, given: list[Any], named: Mapping[str, Any], call: ast.Call) -> Buffer:
        """Return what the buffer of a parameter was before storage flattening."""
        param = next((p for p, b in self.buffers.items() if given and b is given[0]), None)
        if param is None:
            raise self.reader.refusal(call, "T.preflattened_buffer is about the buffer of a parameter")
        buffer = self.declared[param] = self._buffer(name, given[1:], named, given[0].data)
        return buffer

    def _buffer(self, name: str, given: list[Any], named: Mapping[str, Any], data: Var | None) -> Buffer:
        kind = given[1] if len(given) > 1 else named.get("dtype", "float32")
        return decl_buffer(
            given[0] if given else named["shape"], kind, name, data,
            strides=named.get("strides"), elem_offset=named.get("elem_offset"), scope=named.get("scope", ""),
            data_alignment=named.get("align", -1), offset_factor=named.get("offset_factor", 0),
        )  # fmt: skip

    def _axes(self, target: ast.expr, call: ast.Call, word: str) -> None:
        """Define axes of the block around."""
        given, _ = self.reader.arguments(call)
        if word == "remap":
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = given[1] if isinstance(given[1], list) else [given[1]]
            for name, letter, value in zip(names, given[0], values, strict=True):
                self._axis(name, letter, self._range_of(value, call), value)
            return
        dom = given[0] if isinstance(given[0], Range) else self._dom(given[0])
        self._axis(target, word, dom, given[1] if len(given) > 1 else dom.min)

    def _dom(self, value: Any) -> Range:
        if isinstance(value, list):
            low, high = match_types(value[0], value[1])
            return Range(low, binary(Sub, high, low))
        return Range(const(0), convert(value))

    def _range_of(self, value: Any, call: ast.Call) -> Range:
        for loop, dom in self.blocks[0].loops:
            if loop is value:
                return dom
        raise self.reader.refusal(call, "T.axis.remap takes the variables of loops")

    def _axis(self, target: ast.expr, word: str, dom: Range, value: Any) -> None:
        kind = _AXIS_KINDS.get(word)
        if kind is None or not isinstance(target, ast.Name) or len(self.blocks) < 2:
            raise self.reader.refusal(target, f"T.axis.{word} defines no axis here")
        axis = IterVar(dom, Var(target.id, dom.extent.dtype), kind)
        self.names[target.id] = axis.var
        self.blocks[-1].axes.append((axis, convert(value)))

    def _loop(self, node: ast.For) -> Stmt:
        call = node.iter
        if not isinstance(call, ast.Call):
            raise self.reader.refusal(
                node, "a loop walks over T.serial, T.parallel, T.vectorized, T.unroll, T.grid or range"
            )
        word = "serial" if ast.unparse(call.func) == "range" else self.reader.word(call.func)
        given, named = self.reader.arguments(call)
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        if word == "grid":
            ranges = [Range(const(0), convert(extent)) for extent in given]
        elif word in LOOPS:
            ranges = [self._span(given, named)]
        else:
            raise self.reader.refusal(
                node, f"T.{word} is no loop that there is here; use T.serial, T.parallel or T.vectorized"
            )
        if len(targets) != len(ranges):
            raise self.reader.refusal(node, f"expected {len(ranges)} loop variables, got {len(targets)}")
        variables = []
        for target, dom in zip(targets, ranges, strict=True):
            assert isinstance(target, ast.Name)
            var = self.names[target.id] = Var(target.id, dom.extent.dtype)
            self.blocks[0].loops.append((var, dom))
            variables.append(var)
        body = self.statements(node.body)
        notes = {key: self._annotation(value, call) for key, value in (named.get("annotations") or {}).items()}
        thread = str(named.get("thread", ""))
        if (word == "thread_binding") is not bool(thread):
            raise self.reader.refusal(node, 'T.thread_binding, and no other loop, has a thread, as in thread="cthread"')
        for var, dom in zip(reversed(variables), reversed(ranges), strict=True):
            body = For(var, dom.min, dom.extent, body, LOOPS.get(word, LOOPS["serial"]), thread, notes)
        return body

    def _span(self, given: list[Any], named: Mapping[str, Any]) -> Range:
        if "extent" in named:
            return Range(*match_types(given[0], named["extent"]))
        if len(given) == 1:
            return Range(const(0, convert(given[0]).dtype), convert(given[0]))
        low, high = match_types(given[0], given[1])
        at_zero = isinstance(low, IntImm) and low.value == 0
        return Range(low, high if at_zero else binary(Sub, high, low))

    def _with(self, call: ast.Call, target: ast.expr | None, node: ast.With) -> Stmt:
        if self.reader.word(call.func) == "block":
            return self._block(call, node)
        if self.reader.word(call.func) == "init":
            self.blocks[-1].init = self.statements(node.body)
            return seq([])
        return scope_of(self, call, target, lambda: self.statements(node.body))

    def _block(self, call: ast.Call, node: ast.With) -> Stmt:
        given, _ = self.reader.arguments(call)
        self.blocks.append(BlockParts())
        body = self.statements(node.body)
        parts = self.blocks.pop()
        axes = tuple(axis for axis, _ in parts.axes)
        values: tuple[Expr, ...] = tuple(value for _, value in parts.axes)
        name = str(given[0]) if given and given[0] else ("root" if len(self.blocks) == 1 and not axes else "block")
        said = (parts.reads, parts.writes) if is_opaque(body) else (None, None)
        own = tuple(parts.alloc_buffers)
        return Block(name, axes, values, body, parts.init, parts.predicate, own, None, *said, parts.annotations)


_BUFFERS = ("match_buffer", "alloc_buffer", "buffer_decl", "preflattened_buffer")
_AXIS_KINDS = {
    "spatial": IterKind.DATA_PAR, "S": IterKind.DATA_PAR, "reduce": IterKind.COMM_REDUCE, "R": IterKind.COMM_REDUCE,
    "opaque": IterKind.OPAQUE, "O": IterKind.OPAQUE,
}  # fmt: skip
