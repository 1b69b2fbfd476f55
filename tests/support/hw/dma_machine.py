"""Executes the load and store calls of a lowered function on numpy arrays, with its loops and conditions.

Memory is given by data variable: one-dimensional arrays, scratchpads in numbers of their own type. A load that covers a
position twice, or leaves its memory, is an error; so is a negative size.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from isa.config import VTAConfig
from isa.instructions import MemoryId
from tests.support.compiler.tir_eval import evaluate
from vta.passes.memory_info import find_memory, output_memory
from vta.tir.expr import Builtin, Call, Expr, IntImm, StringImm, Var
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE, WGT_SCOPE
from vta.tir.stmt import Allocate, AttrStmt, Evaluate, For, IfThenElse, SeqStmt, Stmt

__all__ = ["DmaMachine"]

_SCOPES = {
    MemoryId.INP: INP_SCOPE,
    MemoryId.WGT: WGT_SCOPE,
    MemoryId.ACC: ACC_SCOPE,
    MemoryId.ACC_8BIT: ACC_SCOPE,
}


@dataclass
class DmaMachine:
    """``calls`` has the sizes, stride and pads of every call, in order."""

    config: VTAConfig
    memory: Mapping[Var, np.ndarray]
    calls: list[tuple[int, ...]] = field(default_factory=list)

    def run(self, stmt: Stmt, env: Mapping[Var, int] | None = None) -> None:
        env = env or {}
        match stmt:
            case SeqStmt():
                for child in stmt.stmts:
                    self.run(child, env)
            case AttrStmt() | Allocate():
                self.run(stmt.body, env)
            case For():
                for i in range(self.number(stmt.min, env), self.number(stmt.min + stmt.extent, env)):
                    self.run(stmt.body, {**env, stmt.loop_var: i})
            case IfThenElse():
                case = stmt.then_case if self.number(stmt.condition, env) else stmt.else_case
                if case is not None:
                    self.run(case, env)
            case Evaluate(value=Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=symbol), _, *args))):
                self.call(symbol, args, env)
            case _:
                raise AssertionError(f"{type(stmt).__name__} is no transfer")

    def number(self, expr: Expr, env: Mapping[Var, int]) -> int:
        return int(evaluate(expr, {var: np.asarray(value) for var, value in env.items()}))

    def call(self, symbol: str, args: list[Expr], env: Mapping[Var, int]) -> None:
        match symbol, args:
            case "VTALoadBuffer2D", [Var() as source, offset, *sizes, place, IntImm(value=number)]:
                numbers = [self.number(e, env) for e in (offset, *sizes)]
                self.load(self.memory[source], *numbers, place=place, number=MemoryId(number), env=env)
            case "VTAStoreBuffer2D", [place, IntImm(value=MemoryId.OUT), Var() as target, *rest]:
                first, x, y, stride = (self.number(e, env) for e in rest)
                assert first >= 0
                self.calls.append((x, y, stride))
                info = output_memory(self.config)
                scratch, start = self.place(place, x * y * info.lanes, env)
                dram = self.memory[target].reshape(-1, info.lanes)
                values = scratch[start : start + x * y * info.lanes].reshape(y, x, info.lanes)
                for row in range(y):
                    begin = first + row * stride
                    assert begin >= 0
                    assert begin + x <= len(dram)
                    dram[begin : begin + x] = values[row].astype(dram.dtype)
            case other:
                raise AssertionError(f"unexpected call {other}")

    def load(
        self,
        source: np.ndarray,
        offset: int,
        x: int,
        y: int,
        stride: int,
        *pads: int,
        place: Expr,
        number: MemoryId,
        env: Mapping[Var, int],
    ) -> None:
        assert offset >= 0
        self.calls.append((x, y, stride, *pads))
        x_before, y_before, x_after, y_after = pads
        assert min(x, y, *pads) >= 0
        info = find_memory(self.config, _SCOPES[number])
        assert info is not None
        width, rows = x_before + x + x_after, y_before + y + y_after
        scratch, start = self.place(place, width * rows * info.lanes, env)
        assert (source.dtype == np.int8 and scratch.dtype == np.int32) is (number is MemoryId.ACC_8BIT)
        tile = np.zeros((rows, width, info.lanes), scratch.dtype)
        dram = source.reshape(-1, info.lanes)
        for row in range(y if x else 0):
            begin = offset + row * stride
            assert begin >= 0
            assert begin + x <= len(dram)
            tile[y_before + row, x_before : x_before + x] = dram[begin : begin + x]
        scratch[start : start + tile.size] = tile.reshape(-1)

    def place(self, pointer: Expr, count: int, env: Mapping[Var, int]) -> tuple[np.ndarray, int]:
        """Return the scratchpad and the position that an access pointer names; it must cover ``count`` numbers."""
        assert isinstance(pointer, Call)
        assert pointer.op is Builtin.ACCESS_PTR
        _, data, start, extent, _ = pointer.args
        assert isinstance(data, Var)
        scratch, begin = self.memory[data], self.number(start, env)
        assert self.number(extent, env) == count
        assert begin >= 0
        assert begin + count <= len(scratch)
        return scratch, begin
