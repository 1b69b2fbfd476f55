"""Random programs of the host that change memory between, and under, conditions on memory.

Loads and stores of a few small arrays under loops, conditions with and without else, lets, choices and calls to be
simplified: whatever a pass believes about memory that has changed since shows in the arrays. Loops end at elements of
memory, too. Every index is in range, and nothing is divided by zero.
"""

from dataclasses import dataclass, field
from random import Random

import numpy as np

from vta.tir import ops
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.expr import Expr, Var, cast_to, const
from vta.tir.func import PrimFunc
from vta.tir.stmt import BufferStore, For, ForKind, IfThenElse, LetStmt, Stmt, seq
from vta.tir.traverse import free_vars

__all__ = ["MemoryProgram", "memory_program"]

_SIZES = (1, 2, 5)
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class MemoryProgram:
    """A function of three integer arrays, one of floats and a number, and arguments for it."""

    func: PrimFunc
    arrays: tuple[np.ndarray, ...]
    number: int


def memory_program(rng: Random) -> MemoryProgram:
    """Return a program and its arguments."""
    buffers = [decl_buffer((size,), "int32", f"A{size}") for size in _SIZES]
    buffers.append(decl_buffer((3,), "float32", "F"))
    number = Var("n")
    handles = [Var(buffer.name, "handle") for buffer in buffers]
    writer = _Writer(rng, buffers, [number])
    body = writer.block(_DEPTH)
    func = PrimFunc("main", (*handles, number), body, dict(zip(handles, buffers, strict=True)))
    values = np.random.default_rng(rng.randrange(1 << 30))
    arrays = [values.integers(-2, 6, size).astype(np.int32) for size in _SIZES]
    floats = np.array([rng.choice([0.0, -0.0, 1.5, -2.0, np.inf, np.nan]) for _ in range(3)], np.float32)
    return MemoryProgram(func, (*arrays, floats), rng.randrange(-2, 6))


@dataclass(slots=True)
class _Writer:
    rng: Random
    buffers: list[Buffer]
    variables: list[Var]
    seen: list[Expr] = field(default_factory=list)
    """Conditions that were used, to be asked again."""

    def block(self, depth: int) -> Stmt:
        return seq([self.stmt(depth) for _ in range(self.rng.randint(1, 3))])

    def stmt(self, depth: int) -> Stmt:
        if depth == 0 or self.rng.random() < 0.25:
            return self.store()
        match self.rng.randrange(4):
            case 0:
                return self.loop(depth)
            case 1:
                return self.let(depth)
            case _:
                condition = self.condition()
                other = self.block(depth - 1) if self.rng.random() < 0.5 else None
                return IfThenElse(condition, self.block(depth - 1), other)

    def store(self) -> Stmt:
        buffer = self.rng.choice(self.buffers)
        value = self.number(2)
        return BufferStore(buffer, cast_to(value, buffer.dtype), (self.index(buffer),))

    def loop(self, depth: int) -> Stmt:
        var = Var(self.rng.choice("ijk"))
        low = self.rng.choice([const(0), const(self.rng.randint(-1, 2)), self.bounded()])
        extent = self.rng.choice([const(self.rng.randint(0, 4)), const(1), const(2), self.bounded()])
        kind = self.rng.choice([ForKind.SERIAL, ForKind.SERIAL, ForKind.UNROLLED, ForKind.VECTORIZED])
        self.variables.append(var)
        body = self.block(depth - 1)
        self.variables.pop()
        return For(var, low, extent, body, kind)

    def let(self, depth: int) -> Stmt:
        value = self.number(1)
        var = Var("v", value.dtype)
        self.variables.append(var)
        body = self.block(depth - 1)
        self.variables.pop()
        return LetStmt(var, value, body)

    def bounded(self) -> Expr:
        """Return a number from 0 to 3."""
        return ops.floormod(self.number(0), 4)

    def index(self, buffer: Buffer) -> Expr:
        size = buffer.shape[0]
        place = self.rng.choice([const(0), self.number(0)])
        return ops.floormod(place, size)

    def load(self) -> Expr:
        buffer = self.rng.choice(self.buffers[:3])
        return buffer.load(self.index(buffer) if self.rng.random() < 0.3 else const(0))

    def number(self, depth: int) -> Expr:
        """Return an integer."""
        if depth == 0 or self.rng.random() < 0.3:
            return self.rng.choice([self.load(), const(self.rng.randint(-2, 5)), self.rng.choice(self.variables)])
        a, b = self.number(depth - 1), self.number(depth - 1)
        match self.rng.randrange(7):
            case 0:
                return a + b
            case 1:
                return a - b
            case 2:
                return a * self.rng.randint(-2, 3)
            case 3:
                return ops.max(a, b)
            case 4:
                return ops.select(self.condition(), a, b)
            case 5:
                return ops.if_then_else(self.condition(), a, b)
            case _:
                return ops.floordiv(a, self.rng.choice([2, 3]))

    def condition(self) -> Expr:
        """Return a condition: often one that was asked before."""
        asked = [c for c in self.seen if all(var in self.variables for var in free_vars(c) if var.dtype != "handle")]
        if asked and self.rng.random() < 0.45:
            found = self.rng.choice(asked)
            return found if self.rng.random() < 0.7 else ops.all(found, self.comparison())
        result = self.comparison()
        if self.rng.random() < 0.3:
            kind = self.rng.choice([ops.all, ops.any])
            result = kind(result, self.comparison())
        if self.rng.random() < 0.15:
            result = ops.likely(result)
        self.seen.append(result)
        return result

    def comparison(self) -> Expr:
        if self.rng.random() < 0.2:
            floats = self.buffers[3]
            a, b = floats.load(const(0)), self.rng.choice([floats.load(const(1)), const(0.0, "float32")])
        else:
            a, b = self.load(), self.number(0)
        found = self.rng.choice([a < b, a <= b, a > b, a >= b, a == b, a != b])
        return found if isinstance(found, Expr) else found.asexpr()
