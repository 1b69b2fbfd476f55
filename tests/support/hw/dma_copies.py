"""Hand-made copies for the tests of DMA: buffers, loop nests, and the calls that they become as text."""

from collections.abc import Sequence

from isa.config import VTAConfig
from tests.support.compiler.tir_build import buffer, function, loop, pragma
from vta.passes.dma.inject_dma_intrin import inject_dma_intrin
from vta.tir.dtype import INT32
from vta.tir.expr import Builtin, Call, Expr, IntImm, StringImm, Var
from vta.tir.printer import to_text
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE
from vta.tir.stmt import Stmt
from vta.tir.traverse import walk

__all__ = ["ACC", "CONFIG", "DRAM", "INP", "OUT", "WIDE", "around", "calls", "lowered", "nest"]

CONFIG = VTAConfig()
DRAM = buffer("A", (1 << 16,), "int8")
INP = buffer("A_buf", (1 << 14,), "int8", INP_SCOPE)
ACC = buffer("C_buf", (1 << 14,), "int32", ACC_SCOPE)
OUT = buffer("C", (1 << 16,), "int8")
WIDE = buffer("B", (1 << 16,), "int32")


def lowered(body: Stmt, *around: tuple[Var, int], config: VTAConfig = CONFIG) -> Stmt:
    """Lower ``body`` under the pragma, inside loops."""
    stmt: Stmt = pragma("dma_copy", body)
    for var, extent in reversed(around):
        stmt = loop(var, extent, stmt)
    return inject_dma_intrin(function(stmt, DRAM, OUT, WIDE), config).body


def calls(stmt: Stmt) -> list[str]:
    """Symbol and arguments of every transfer, as text: offset, sizes, stride, pads, place, memory."""
    found = []
    for node in walk(stmt):
        match node:
            case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=symbol), _, *args)):
                found.append(" ".join([symbol, *map(argument, args)]))
            case _:
                continue
    return found


def argument(expr: Expr) -> str:
    match expr:
        case Call(op=Builtin.ACCESS_PTR, args=(_, data, start, extent, _)):
            return f"{argument(data)}[{argument(start)}:{argument(extent)}]"
        case Var():
            return expr.name
        case IntImm():
            return str(expr.value)
        case _:
            return to_text(expr)


def nest(extents: Sequence[int], *names: str) -> tuple[list[Var], list[tuple[Var, int]]]:
    variables = [Var(name, INT32) for name in names]
    return variables, list(zip(variables, extents, strict=True))


def around(body: Stmt, loops: Sequence[tuple[Var, int]]) -> Stmt:
    for var, extent in reversed(loops):
        body = loop(var, extent, body)
    return body
