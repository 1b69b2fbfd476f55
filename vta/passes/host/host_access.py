"""Refuse host code that touches on-chip memory: a stage that nothing maps onto the accelerator.

The host cannot address the scratchpads. A schedule that gives a stage a scope there, but no pragma or intrinsic that
makes the accelerator fill and read it, ends here with a sentence, not in a failure of a later pass.

Tests: tests/vta/passes/host/test_host_access.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from isa.config import VTAConfig
from isa.origin import Origin
from vta.passes.coproc_axis import is_coproc_scope
from vta.passes.errors import PassError
from vta.passes.memory_info import find_memory
from vta.passes.pragma import pragma_name
from vta.tir.buffer import Buffer
from vta.tir.deep import deep
from vta.tir.expr import BufferLoad, Expr, Var
from vta.tir.stmt import AttrStmt, BufferStore, Stmt
from vta.tir.traverse import children, walk

__all__ = ["HostAccessError", "check_host_access"]

_MARK = (
    "mark the outermost loop of the stage with pragma env.dma_copy (a copy) or env.alu (arithmetic), or tensorize it "
    "with env.gemm"
)
_MARK_INITIAL = (
    "the initial values of a reduction are set before its outermost reduction loop: mark a loop around that one "
    "(s[stage].fuse() without arguments makes one)"
)


class HostAccessError(PassError):
    """Host code that touches on-chip memory."""


def check_host_access(body: Stmt, config: VTAConfig) -> None:
    """Raise ``HostAccessError`` for the first access of the host to a scratchpad."""
    _AccessCheck(config, frozenset(_written_by_accelerator(body))).visit(body)


def _written_by_accelerator(body: Stmt) -> Iterator[Var]:
    for scope in walk(body):
        if isinstance(scope, AttrStmt) and is_coproc_scope(scope):
            yield from (node.buffer.data for node in walk(scope) if isinstance(node, BufferStore))


@dataclass(frozen=True, slots=True)
class _AccessCheck:
    config: VTAConfig
    written: frozenset[Var]
    origin: Origin | None = None
    pragmas: tuple[str, ...] = ()

    @deep
    def visit(self, stmt: Stmt) -> None:
        """Check ``stmt`` and what is in it."""
        if is_coproc_scope(stmt):
            return
        here = self if stmt.origin is None else replace(self, origin=stmt.origin)
        name = pragma_name(stmt)
        if name is not None:
            here = replace(here, pragmas=(*here.pragmas, name))
        if isinstance(stmt, BufferStore):
            here.check(stmt.buffer, "writes")
        for child in children(stmt):
            if isinstance(child, Stmt):
                here.visit(child)
            else:
                here.visit_expr(child)

    def visit_expr(self, expr: Expr) -> None:
        for node in walk(expr):
            if isinstance(node, BufferLoad):
                self.check(node.buffer, "reads")

    def check(self, buffer: Buffer, verb: str) -> None:
        """Raise the error if ``buffer`` is on the chip."""
        if find_memory(self.config, buffer.scope) is None:
            return
        pragmas = ", ".join(f"'{name}'" for name in self.pragmas)
        raise HostAccessError(
            f"the host {verb} {buffer.name!r} in {buffer.scope}",
            expected="work of the accelerator, which alone reaches this memory",
            got="loops of the host" + (f" under pragma {pragmas}" if pragmas else ""),
            hint=_MARK_INITIAL if verb == "writes" and buffer.data in self.written else _MARK,
            origin=self.origin,
        )
