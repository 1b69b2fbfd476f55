"""Turn ALU stages into micro-op kernels of the tensor ALU.

Before::

    attr "coproc_uop_scope" = "VTAPushALUOp";
    attr [IterVar(i0)] "pragma_alu" = 1;
    for (i1, 0, 8) { for (i3, 0, 16) {
      acc[i1*16 + i3] = shift_right(max(acc[i1*16 + i3] + 3, 0), 2)
    } }

After::

    attr "coproc_uop_scope" = "VTAPushALUOp" {
      VTAUopLoopBegin(8, 1, 1, 0); uop_push(1, 0, 0, 0, 0, ADD, 1, 3); VTAUopLoopEnd()
    }
    attr "coproc_uop_scope" = "VTAPushALUOp" {
      VTAUopLoopBegin(8, 1, 1, 0); uop_push(1, 0, 0, 0, 0, MAX, 1, 0); VTAUopLoopEnd()
    }
    attr "coproc_uop_scope" = "VTAPushALUOp" {
      VTAUopLoopBegin(8, 1, 1, 0); uop_push(1, 0, 0, 0, 0, SHR, 1, 2); VTAUopLoopEnd()
    }

A kernel does one operation; a stage may need several, and temporary elements, which come after the function's own in
the accumulator. Loops that are left after folding become loops of the kernel; the runtime takes any number.
Expects the memory planned (StorageRewrite): one block a scratchpad, which starts at index 0.
Modules: ``expression`` (what is computed), ``nest`` (the loops), ``hazards`` (what may overlap what), ``sequence``
(several statements), ``select`` and ``immediate`` (which operations), ``micro_op_kernels`` (how they are written).
Tests: tests/vta/passes/alu/test_inject_alu_intrin.py and the rest of tests/vta/passes/alu.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from isa.config import VTAConfig
from isa.origin import Origin
from vta.arith.simplify import Analyzer
from vta.passes.alu.expression import AluError, Operation
from vta.passes.alu.hazards import Form, OrderPlan, plan_order
from vta.passes.alu.micro_op_kernels import alu_kernel
from vta.passes.alu.nest import AluNest, LaneError, Level, analyse_nest
from vta.passes.alu.select import Selector, Temporaries
from vta.passes.alu.sequence import have_own_blocks, store_nest
from vta.passes.coproc_axis import is_uop_scope
from vta.passes.generic.remove_no_op import is_index_arithmetic
from vta.passes.memory_info import memory_info
from vta.passes.storage.reuse import constant_bits
from vta.passes.storage.tagged_merge import CapacityError
from vta.tir.deep import deep
from vta.tir.expr import And, IterVar, Range, StringImm, Var, binary, const, same
from vta.tir.func import PrimFunc
from vta.tir.scopes import ACC_SCOPE, ALU_SYMBOL
from vta.tir.stmt import (
    Allocate,
    AttrStmt,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    is_noop,
    seq,
)
from vta.tir.traverse import map_stmt, map_stmt_children, substitute, walk

__all__ = ["inject_alu_intrin"]


def inject_alu_intrin(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` with its ALU stages as kernels; raises ``AluError``, ``CapacityError``."""
    temporaries = Temporaries(_elements_in_use(func, config))
    body = _AluInjector(config, temporaries, Analyzer()).visit(func.body)
    if temporaries.peak:
        body = _enlarge(body, config, temporaries)
    return func if body is func.body else replace(func, body=body)


def _accumulator_blocks(stmt: Stmt) -> list[Allocate]:
    return [node for node in walk(stmt) if isinstance(node, Allocate) and node.scope == ACC_SCOPE]


def _elements_in_use(func: PrimFunc, config: VTAConfig) -> int:
    """Return how many accumulator elements the function's own block takes."""
    blocks = _accumulator_blocks(func.body)
    if len(blocks) > 1:
        raise AluError(
            "ALU stages",
            expected="one block of accumulator memory",
            got=f"{len(blocks)}: {', '.join(repr(block.buffer_var.name) for block in blocks)}",
            hint="StorageRewrite puts them into one; do not disable it",
            origin=blocks[0].origin,
        )
    unit = memory_info(config, ACC_SCOPE).unit_bits
    return sum(-(-(constant_bits(block) or 0) // unit) for block in blocks)


def _enlarge(body: Stmt, config: VTAConfig, temporaries: Temporaries) -> Stmt:
    """Return ``body`` with room for the temporaries in its accumulator block."""
    info = memory_info(config, ACC_SCOPE)
    total = temporaries.base + temporaries.peak
    if total > info.depth:
        origin = next((block.origin for block in _accumulator_blocks(body)), None)
        raise CapacityError(
            f"memory {ACC_SCOPE!r} is too small for the stages' buffers ({temporaries.base} elements) and the "
            f"temporaries of ALU stages ({temporaries.peak})",
            expected=f"at most {info.depth} elements ({info.max_num_bits // 8} bytes)",
            got=f"{total} elements ({total * info.unit_bits // 8} bytes)",
            hint="use smaller tiles, or compute the stage in several stages of one operation each",
            origin=origin,
        )

    def enlarge(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Allocate) or stmt.scope != ACC_SCOPE:
            return stmt
        return replace(stmt, extents=(const(total * info.unit_bits // stmt.dtype.bits),))

    return map_stmt(body, enlarge)


class _AluInjector:
    """The walk over a function: ``analyzer`` knows the loops around the stage at hand."""

    def __init__(self, config: VTAConfig, temporaries: Temporaries, analyzer: Analyzer) -> None:
        self._config = config
        self._temporaries = temporaries
        self._analyzer = analyzer

    @deep
    def visit(self, stmt: Stmt) -> Stmt:
        match stmt:
            case AttrStmt(node=IterVar() as axis) if is_uop_scope(stmt) and same(stmt.value, StringImm(ALU_SYMBOL)):
                return self._stage(stmt.body, [], axis, stmt.origin)
            case For():
                self._analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
            case LetStmt() if is_index_arithmetic(stmt.value):
                self._analyzer.bind(stmt.var, stmt.value)
            case _:
                pass
        return map_stmt_children(stmt, self.visit, lambda expr: expr)

    # --- the statements of a stage -----------------------------------------------------------------------------------

    @deep
    def _stage(self, stmt: Stmt, levels: list[Level], axis: IterVar, origin: Origin | None) -> Stmt:
        """Return the kernels for ``stmt``, which stands under ``levels`` of loops and conditions."""
        origin = stmt.origin or origin
        match stmt:
            case BufferStore():
                return self._store(stmt, levels, axis, origin)
            case For():
                return self._stage(stmt.body, [*levels, stmt], axis, origin)
            case IfThenElse(else_case=None):
                return self._stage(stmt.then_case, [*levels, stmt.condition], axis, origin)
            case AttrStmt():
                return self._stage(stmt.body, levels, axis, origin)
            case LetStmt():
                return self._stage(substitute(stmt.body, {stmt.var: stmt.value}), levels, axis, origin)
            case SeqStmt():
                return self._sequence(stmt, levels, axis, origin)
            case IfThenElse(else_case=else_case) if else_case is not None:
                return self._on_host(levels, lambda: self._branches(stmt, else_case, axis, origin))
            case Evaluate() if is_noop(stmt):
                return stmt
            case _:
                raise AluError(
                    "ALU stage",
                    expected="loops and conditions around stores into the accumulator",
                    got="a call" if isinstance(stmt, Evaluate) else type(stmt).__name__,
                    hint="put env.alu on a stage that computes, not on one that copies or is tensorized, and inside of "
                    "the loops in which its operands are loaded",
                    origin=origin,
                )

    def _sequence(self, stmt: SeqStmt, levels: Sequence[Level], axis: IterVar, origin: Origin | None) -> Stmt:
        problem: AluError | None = None
        try:
            apart = self._distributed(stmt, levels, axis, origin)
        except AluError as error:
            problem, apart = error, None
        if apart is not None:
            return apart
        try:
            return self._on_host(levels, lambda: seq([self._stage(s, [], axis, origin) for s in stmt.stmts]))
        except LaneError as error:
            if problem is None and not any(isinstance(level, For) for level in levels):
                raise
            raise (problem or self._order_error(stmt, origin)) from error

    def _order_error(self, stmt: SeqStmt, origin: Origin | None) -> AluError:
        names = dict.fromkeys(node.buffer.name for node in walk(stmt) if isinstance(node, BufferStore))
        return AluError(
            f"ALU stage into {', '.join(map(repr, names))}",
            expected="several stores (a reduction's start and its updates, or several outputs) that can be done one "
            "after the other, each for all elements",
            got="stores of which one may touch, in an iteration of the loops around them, what another one stores in "
            "another iteration",
            hint="make the loops of the reduction the outermost ones, or give every output a stage of its own",
            origin=origin,
        )

    def _distributed(self, stmt: SeqStmt, levels: Sequence[Level], axis: IterVar, origin: Origin | None) -> Stmt | None:
        """Return the statements of ``stmt`` one after the other, each under all of ``levels``; None if that may differ.

        Raises the error of a statement that cannot be done under all of them. It is the same where every iteration of
        the loops stores to elements of its own (the same ones in a reduction and its initial value, different ones in a
        stage of several outputs), and reads no others that are stored here.
        """
        nests = [nest for nest in map(store_nest, stmt.stmts) if nest is not None]
        if len(nests) < len(stmt.stmts) or not have_own_blocks(levels, nests, self._analyzer):
            return None
        planned = [self._planned(nest.store, [*levels, *nest.levels], origin) for nest in nests]
        if any(plan.needs_order for _, plan in planned):
            return None
        return seq([self._stage(child, list(levels), axis, origin) for child in stmt.stmts])

    def _on_host(self, levels: Sequence[Level], build: Callable[[], Stmt]) -> Stmt:
        """Return what ``build`` gives under ``levels`` that the host runs."""
        for level in levels:
            if isinstance(level, For):
                self._analyzer.bind(level.loop_var, Range(level.min, level.extent))
        body = build()
        for level in reversed(levels):
            body = _around(level, body)
        return body

    def _branches(self, stmt: IfThenElse, else_case: Stmt, axis: IterVar, origin: Origin | None) -> Stmt:
        then_case = self._stage(stmt.then_case, [], axis, origin)
        return replace(stmt, then_case=then_case, else_case=self._stage(else_case, [], axis, origin))

    def _store(self, store: BufferStore, levels: Sequence[Level], axis: IterVar, origin: Origin | None) -> Stmt:
        """Return the kernels for one store."""
        nest, plan = self._planned(store, levels, origin)
        selector = Selector(
            result=nest.result,
            sizes=tuple(loop.size for loop in nest.loops),
            temporaries=self._temporaries,
            values=self._analyzer,
            origin=origin,
            fused=bool(self._config.fused_alu),
        )
        if isinstance(plan.tree, Operation) and plan.form is Form.ACCUMULATE:
            selector.accumulate(plan.tree)
        else:
            selector.store(plan.tree)
        body = seq([alu_kernel(op, nest.loops, axis, origin) for op in selector.ops])
        if nest.guards:
            body = IfThenElse(reduce(lambda a, b: binary(And, a, b), nest.guards), body, origin=origin)
        for loop in reversed(nest.hosted):
            body = _around(loop, body)
        return body

    def _planned(self, store: BufferStore, levels: Sequence[Level], origin: Origin | None) -> tuple[AluNest, OrderPlan]:
        """Return the nest with as many loops left to the host as a right order needs."""
        host: list[Var] = []
        name = store.buffer.name
        while True:
            nest = analyse_nest(levels, store, self._config, self._analyzer, host_also=host, origin=origin)
            plan = plan_order(nest, name, self._analyzer, origin)
            if plan.form is not Form.SPLIT:
                return nest, plan
            if not any(isinstance(level, For) and level.loop_var in plan.host for level in levels):
                raise AluError(
                    f"ALU stage into {name!r}",
                    expected="loops that can run one after the other",
                    got="a loop over lanes that goes on to elements which are stored more than once",
                    hint="keep the axes of lanes and the others apart (no fuse)",
                    origin=origin,
                )
            host.extend(plan.host)


def _around(level: Level, body: Stmt) -> Stmt:
    """Return ``body`` in a loop or under a condition of the host."""
    if isinstance(level, For):
        return replace(level, body=body, kind=ForKind.SERIAL)
    return IfThenElse(level, body, origin=body.origin)
