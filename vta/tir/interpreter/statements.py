"""The interpreter's statements: a function of TIR to a Python function over lists.

Each data variable is a list of elements. A line number table tells which statement a line of the source came from.
Tests: tests/vta/tir/test_interpreter.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import assert_never

from vta.tir.blocks import block_as_loops, misplaced
from vta.tir.buffer import Buffer, size_variable
from vta.tir.deep import deep
from vta.tir.dtype import DType
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterVar, Range, Shuffle, Var
from vta.tir.func import PrimFunc
from vta.tir.interpreter.expressions import (
    BufferLayout,
    Code,
    ExprWriter,
    InterpreterError,
    LayoutDimension,
    combine,
    lane,
    number,
)
from vta.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrKey,
    AttrStmt,
    Block,
    BufferRealize,
    BufferStore,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Prefetch,
    ProducerRealize,
    ProducerStore,
    SeqStmt,
    Stmt,
    While,
    is_noop,
)
from vta.tir.traverse import substitute

__all__ = ["Memory", "Source", "write_function"]

_THREADS = (AttrKey.VIRTUAL_THREAD, AttrKey.THREAD_EXTENT)


@dataclass(frozen=True, slots=True)
class Memory:
    """The list behind a data variable, and the type of its elements."""

    name: str
    dtype: DType


@dataclass(slots=True)
class Source:
    """The written function: its lines, the statement and the variables' names behind them."""

    lines: list[str] = field(default_factory=list)
    stmts: dict[int, Stmt] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    memories: dict[Var, Memory] = field(default_factory=dict)
    scalars: dict[Var, str] = field(default_factory=dict)
    stored: set[Var] = field(default_factory=set)


def write_function(func: PrimFunc) -> Source:
    """Return the source of ``func``: parameters are the lists of ``memories``, then the integers of ``scalars``."""
    return _StmtWriter().function(func)


def size_variables(func: PrimFunc) -> list[Var]:
    """Return the variables in the shapes of the parameters' buffers, in order of appearance."""
    shapes = [e for p in func.params if p in func.buffer_map for e in func.buffer_map[p].shape]
    return list(dict.fromkeys(var for var in map(size_variable, shapes) if var is not None))


class _StmtWriter:
    def __init__(self) -> None:
        self._source = Source()
        self._exprs = ExprWriter(locate=self._locate)
        self._indent = 1
        self._parameters: set[Buffer] = set()

    # Source

    def _line(self, text: str, stmt: Stmt | None = None) -> None:
        self._source.lines.append("    " * self._indent + text)
        if stmt is not None:
            self._source.stmts[len(self._source.lines)] = stmt

    @contextmanager
    def _block(self, header: str, stmt: Stmt) -> Iterator[None]:
        self._line(header, stmt)
        self._indent += 1
        before = len(self._source.lines)
        yield
        if len(self._source.lines) == before:
            self._line("pass")
        self._indent -= 1

    def _name(self, prefix: str, name: str) -> str:
        readable = "".join(c if c.isalnum() else "_" for c in name)
        result = f"{prefix}{len(self._source.variables)}_{readable}"
        self._source.variables[result] = name
        return result

    def _define(self, var: Var, low: int, high: int) -> str:
        """Give a variable a Python name and a range."""
        name = self._name("v", var.name)
        bounds = var.dtype.bounds if var.dtype.is_int else (low, high)
        self._exprs.names[var] = Code(name, max(low, bounds[0]), min(high, bounds[1]))
        return name

    def _let_lanes(self, stmt: LetStmt) -> None:
        """Write the let of a vector as one of each lane."""
        lanes = [Var(stmt.var.name, stmt.var.dtype.element) for _ in range(stmt.var.dtype.lanes)]
        for place, var in enumerate(lanes):
            value = self._exprs.write(lane(stmt.value, place))
            self._line(f"{self._define(var, value.lo, value.hi)} = {value.text}", stmt)
        vector = Shuffle(tuple(lanes), tuple(range(len(lanes))))
        self.statement(substitute(stmt.body, {stmt.var: vector}))

    # Functions and memory

    def function(self, func: PrimFunc) -> Source:
        """Write a whole function."""
        self._parameters = set(func.buffer_map.values())
        for param in func.params:
            if param in func.buffer_map:
                buffer = func.buffer_map[param]
                self._source.memories[buffer.data] = Memory(self._name("m", buffer.name), buffer.dtype)
        scalars = [p for p in func.params if p not in func.buffer_map]
        for var in dict.fromkeys((*scalars, *size_variables(func))):
            self._source.scalars[var] = self._define(var, *var.dtype.bounds)
        params = [m.name for m in self._source.memories.values()] + list(self._source.scalars.values())
        self._source.lines.append(f"def program({', '.join(params)}):")
        self.statement(func.body)
        self._line("return")
        return self._source

    def _locate(self, buffer: Buffer) -> BufferLayout:
        """Return the place of a buffer that was not realised: it describes its data variable's memory."""
        memory = self._source.memories.get(buffer.data)
        if memory is None:
            raise InterpreterError(f"buffer {buffer.name!r} is used where its memory {buffer.data.name!r} is not there")
        if memory.dtype != buffer.dtype.element:
            raise InterpreterError(f"buffer {buffer.name!r} is {buffer.dtype}, but its memory holds {memory.dtype}")
        write = self._exprs.write
        dims = tuple(
            LayoutDimension(number(0), write(extent), write(stride))
            for extent, stride in zip(buffer.shape, buffer.element_strides, strict=True)
        )
        return BufferLayout(memory.name, write(buffer.elem_offset), dims)

    def _allocate(self, stmt: Allocate) -> None:
        size = number(1)
        for extent in stmt.extents:
            size = combine("*", size, self._exprs.write(extent))
        memory = self._memory(stmt.buffer_var, stmt.dtype.element)
        lanes = "" if stmt.dtype.lanes == 1 else f" * {stmt.dtype.lanes}"
        self._line(f"{memory.name} = [None] * {size.text}{lanes}", stmt)
        self.statement(stmt.body)

    def _memory(self, data: Var, dtype: DType) -> Memory:
        """Return the list behind ``data``: the one it had before, if it comes to life again."""
        known = self._source.memories.get(data)
        memory = Memory(self._name("m", data.name) if known is None else known.name, dtype)
        self._source.memories[data] = memory
        return memory

    def _realize(self, stmt: BufferRealize) -> None:
        if stmt.buffer not in self._parameters:
            memory = self._memory(stmt.buffer.data, stmt.buffer.dtype)
            lows = [self._hoisted(bound.min, "low", stmt) for bound in stmt.bounds]
            extents = [self._hoisted(bound.extent, "extent", stmt) for bound in stmt.bounds]
            strides: list[Code] = []
            size = number(1)
            for extent in reversed(extents):
                strides.insert(0, size if size.value is not None else self._held(size, "stride", stmt))
                size = combine("*", size, extent)
            dims = tuple(map(LayoutDimension, lows, extents, strides))
            self._exprs.places[stmt.buffer] = BufferLayout(memory.name, number(0), dims)
            self._line(f"{memory.name} = [None] * {size.text}", stmt)
        self.statement(stmt.body)

    def _hoisted(self, expr: Expr, role: str, stmt: Stmt) -> Code:
        code = self._exprs.write(expr)
        return code if code.value is not None or code.text.isidentifier() else self._held(code, role, stmt)

    def _held(self, code: Code, role: str, stmt: Stmt) -> Code:
        """Compute a value once, before the statement, and return its name."""
        name = f"{role}{len(self._source.lines)}"
        self._line(f"{name} = {code.text}", stmt)
        return Code(name, code.lo, code.hi)

    # Statements

    @deep
    def statement(self, stmt: Stmt) -> None:
        """Write a statement."""
        match stmt:
            case SeqStmt():
                for item in stmt.stmts:
                    self.statement(item)
            case For():
                self._loop(stmt.loop_var, Range(stmt.min, stmt.extent), stmt, stmt.body)
            case BufferStore():
                self._store(stmt)
            case IfThenElse():
                with self._block(f"if {self._exprs.write(stmt.condition).text}:", stmt):
                    self.statement(stmt.then_case)
                if stmt.else_case is not None:
                    with self._block("else:", stmt):
                        self.statement(stmt.else_case)
            case Evaluate(value=Call(op=Builtin.RET, args=(given,))):
                self._line(f"return {self._exprs.write(given).text}", stmt)
            case Evaluate():
                if not is_noop(stmt):
                    self._line(self._exprs.write(stmt.value).text, stmt)
            case AttrStmt():
                self._attribute(stmt)
            case Allocate():
                self._allocate(stmt)
            case BufferRealize():
                self._realize(stmt)
            case LetStmt() if stmt.var.dtype.lanes > 1:
                self._let_lanes(stmt)
            case LetStmt():
                value = self._exprs.write(stmt.value)
                self._line(f"{self._define(stmt.var, value.lo, value.hi)} = {value.text}", stmt)
                self.statement(stmt.body)
            case AssertStmt():
                with self._block(f"if not {self._exprs.write(stmt.condition).text}:", stmt):
                    self._line(f"_assertion({stmt.message.value!r})", stmt)
                self.statement(stmt.body)
            case Block():
                self.statement(block_as_loops(stmt))
            case While():
                with self._block(f"while {self._exprs.write(stmt.condition).text}:", stmt):
                    self.statement(stmt.body)
            case Prefetch():
                pass
            case ProducerStore() | ProducerRealize():
                raise misplaced(stmt)
            case _:
                assert_never(stmt)

    def _loop(self, var: Var, domain: Range, stmt: Stmt, body: Stmt) -> None:
        low, extent = self._exprs.write(domain.min), self._exprs.write(domain.extent)
        end = combine("+", low, extent)
        name = self._define(var, low.lo, max(low.lo, end.hi - 1))
        with self._block(f"for {name} in range({low.text}, {end.text}):", stmt):
            self.statement(body)

    def _store(self, stmt: BufferStore) -> None:
        self._source.stored.add(stmt.buffer.data)
        place = self._exprs.place(stmt.buffer)
        lanes = max([i.dtype.lanes for i in stmt.indices] + [stmt.value.dtype.lanes])
        if lanes == 1:
            target = f"{place.memory}[{self._exprs.index(stmt.buffer, stmt.indices)}]"
            self._line(f"{target} = {self._exprs.write(stmt.value).text}", stmt)
            return
        values = ", ".join(self._exprs.write(lane(stmt.value, i)).text for i in range(lanes))
        indices = [tuple(lane(index, i) for index in stmt.indices) for i in range(lanes)]
        targets = ", ".join(f"{place.memory}[{self._exprs.index(stmt.buffer, index)}]" for index in indices)
        self._line(f"{targets} = {values}", stmt)

    def _attribute(self, stmt: AttrStmt) -> None:
        match stmt.node:
            case IterVar(var=var) if stmt.key in _THREADS:
                self._loop(var, Range(IntImm(0), stmt.value), stmt, stmt.body)
                return
            case (view, target) if stmt.key == AttrKey.BUFFER_BIND_SCOPE:
                self._bind_view(view, target, stmt)
                self.statement(stmt.body)
                if view.data in self._source.stored:
                    self._source.stored.add(target.data)
                return
            case _:
                pass
        self.statement(stmt.body)

    def _bind_view(self, view: Buffer, target: Buffer, stmt: AttrStmt) -> None:
        """Let ``view`` stand for a region of ``target``: its dimensions are the last ones of the target."""
        region = stmt.value.args[::2] if hasattr(stmt.value, "args") else ()
        place = self._exprs.place(target)
        skipped = len(place.dims) - len(view.shape)
        if len(region) != len(place.dims) or skipped < 0:
            raise InterpreterError(
                f"view {view.name!r} of {len(view.shape)} dimensions and {len(region)} region entries does not fit the "
                f"{len(place.dims)} dimensions of {target.name!r}"
            )
        offset = place.offset
        for low, dim in zip(region, place.dims, strict=True):
            position = combine("-", self._exprs.write(low), dim.low)
            offset = combine("+", offset, combine("*", position, dim.stride))
        offset = self._held(offset, "offset", stmt)
        if isinstance(view.elem_offset, Var):
            self._exprs.names[view.elem_offset] = offset
        for stride, dim in zip(view.strides, place.dims[skipped:], strict=False):
            if isinstance(stride, Var):
                self._exprs.names[stride] = dim.stride
        extents = [self._exprs.write(extent) for extent in view.shape]
        dims = tuple(
            LayoutDimension(number(0), extent, dim.stride)
            for extent, dim in zip(extents, place.dims[skipped:], strict=True)
        )
        self._exprs.places[view] = BufferLayout(place.memory, offset, dims)
