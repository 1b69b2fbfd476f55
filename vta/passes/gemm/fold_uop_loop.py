"""Turn the outer loops of a GEMM kernel into the loops of its instruction.

Up to two loops around all micro-ops become ``VTAUopLoopBegin`` and ``VTAUopLoopEnd``, as long as every micro-op's index
grows by the same step per iteration. Loops that are left stay in the recording closure and write out their micro-ops.

Before::

    attr "coproc_uop_scope" = "VTAPushGEMMOp";
    for (co, 0, 8) { for (i, 0, 7) { for (j, 0, 14) {
      uop_push(0, 0, co*98 + i*14 + j, i*16 + j, co*9, 0, 0, 0)
    } } }

After::

    attr "coproc_uop_scope" = "VTAPushGEMMOp" {
      VTAUopLoopBegin(8, 98, 0, 9)
      VTAUopLoopBegin(7, 14, 16, 0)
      for (j, 0, 14) { uop_push(0, 0, j, j, 0, 0, 0, 0) }
      VTAUopLoopEnd()
      VTAUopLoopEnd()
    }

Where that may leave more micro-ops than the on-chip buffer holds, the two longest loops are folded instead of the
outermost ones, each shortened by the conditions that are a bound of it, as incomplete tiles have them; where that is
not enough, the host runs the first of the others around several kernels. A condition around all micro-ops moves out:
the host tests it before the kernel.

Tests: tests/vta/passes/gemm/test_fold_uop_loop.py and the rest of tests/vta/passes/gemm.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from isa.config import VTAConfig
from isa.origin import Origin
from vta.arith.linear import detect_linear_equation
from vta.arith.simplify import Analyzer
from vta.passes.coproc_axis import is_uop_scope
from vta.passes.errors import PassError
from vta.passes.gemm.micro_op_nest import loop_nest, most_micro_ops
from vta.tir.deep import deep
from vta.tir.dtype import INT32
from vta.tir.expr import And, Builtin, Call, Expr, IntImm, Range, StringImm, binary, same
from vta.tir.func import PrimFunc
from vta.tir.scopes import GEMM_SYMBOL
from vta.tir.stmt import AttrStmt, Evaluate, For, IfThenElse, Stmt, seq
from vta.tir.traverse import map_expr, map_stmt, map_stmt_children, uses_var, walk

__all__ = ["UopKernelError", "fold_uop_loop", "uop_loop_begin", "uop_loop_end"]

_MAX_LOOPS = 2
_OPERANDS = slice(2, 5)
_OPERAND_COUNT = 3


class UopKernelError(PassError):
    """A kernel that does more than push micro-ops."""


def uop_loop_begin(extent: Expr, dst: Expr, src: Expr, wgt: Expr, origin: Origin | None = None) -> Stmt:
    """Return the call that opens a loop of a kernel; the factors are added to the indices in every iteration."""
    args = (StringImm("VTAUopLoopBegin"), extent, dst, src, wgt)
    return Evaluate(Call(INT32, Builtin.CALL_EXTERN, args), origin)


def uop_loop_end(origin: Origin | None = None) -> Stmt:
    """Return the call that closes the innermost open loop of a kernel."""
    return Evaluate(Call(INT32, Builtin.CALL_EXTERN, (StringImm("VTAUopLoopEnd"),)), origin)


def fold_uop_loop(func: PrimFunc, config: VTAConfig) -> PrimFunc:
    """Return ``func`` with the loops of its GEMM kernels folded; raises ``UopKernelError`` for foreign calls."""
    return replace(func, body=_fold_kernels(func.body, Analyzer(), config.uop_depth))


@deep
def _fold_kernels(stmt: Stmt, analyzer: Analyzer, most: int) -> Stmt:
    if isinstance(stmt, AttrStmt) and is_uop_scope(stmt) and same(stmt.value, StringImm(GEMM_SYMBOL)):
        _check_calls(stmt)
        if isinstance(stmt.body, IfThenElse) and stmt.body.else_case is None:
            return replace(stmt.body, then_case=_fold_kernels(replace(stmt, body=stmt.body.then_case), analyzer, most))
        body = _fold(stmt.body, _MAX_LOOPS, analyzer)
        if most_micro_ops(body, analyzer) > most:
            return _fold_other_loops(stmt, analyzer, most)
        return stmt if body is stmt.body else replace(stmt, body=body)
    if isinstance(stmt, For):
        analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
    return map_stmt_children(stmt, lambda child: _fold_kernels(child, analyzer, most), lambda expr: expr)


def _fold_other_loops(kernel: AttrStmt, analyzer: Analyzer, most: int) -> Stmt:
    """Return ``kernel`` with its longest loops folded, the host running as many others around as it takes.

    The order of a kernel's iterations does not matter: sums of products wrap, and resets are all the same. The host
    tests what does not depend on the loops of a kernel, and that a loop runs at all.
    """
    nest = loop_nest(kernel.body, analyzer)
    longest = nest.longest(_MAX_LOOPS, lambda loop: _is_foldable(loop, nest.body, analyzer), analyzer)
    others = [loop for loop in nest.loops if all(loop is not chosen for chosen in longest)]
    hosted: list[For] = []
    while True:
        inside = [*longest, *others]
        mine = [c for c in nest.conditions if any(uses_var(c, loop.loop_var) for loop in inside)]
        body = _fold(nest.around(inside, _where(mine, nest.body)), _MAX_LOOPS, analyzer)
        if most_micro_ops(body, analyzer) <= most or not others:
            break
        hosted.append(others.pop(0))
    runs = [loop.extent > 0 for loop in inside if not analyzer.can_prove(loop.extent > 0)]
    outside = [condition for condition in nest.conditions if condition not in mine]
    return nest.around(hosted, _where([*outside, *runs], replace(kernel, body=body)))


def _where(conditions: Sequence[Expr], body: Stmt) -> Stmt:
    """Return ``body`` under all of ``conditions``."""
    return (
        IfThenElse(reduce(lambda a, b: binary(And, a, b), conditions), body, origin=body.origin) if conditions else body
    )


def _is_foldable(loop: For, body: Stmt, analyzer: Analyzer) -> bool:
    return _common_steps(replace(loop, body=body), analyzer) is not None


def _check_calls(kernel: AttrStmt) -> None:
    for node in walk(kernel.body):
        if isinstance(node, Call) and node.op is Builtin.CALL_EXTERN:
            symbol = node.args[0]
            raise UopKernelError(
                "GEMM kernel",
                expected="micro-ops alone",
                got=f"a call of {symbol.value!r}" if isinstance(symbol, StringImm) else "a call",
                hint="move the call out of the tensorized nest",
                origin=kernel.origin,
            )


def _fold(stmt: Stmt, loops_left: int, analyzer: Analyzer) -> Stmt:
    """Return ``stmt`` with its outermost loops folded, as many as can be."""
    if loops_left == 0 or not isinstance(stmt, For):
        return stmt
    analyzer.bind(stmt.loop_var, Range(stmt.min, stmt.extent))
    steps = _common_steps(stmt, analyzer)
    if steps is None:
        return stmt
    body = map_stmt(stmt.body, on_expr=lambda expr: map_expr(lambda node: _at_start(node, stmt, analyzer), expr))
    if uses_var(body, stmt.loop_var):
        return stmt
    inner = _fold(body, loops_left - 1, analyzer)
    dst, src, wgt = steps
    begin = uop_loop_begin(stmt.extent, dst, src, wgt, stmt.origin)
    return seq([begin, inner, uop_loop_end(stmt.origin)])


def _pushes(stmt: Stmt) -> list[Call]:
    return [node for node in walk(stmt) if isinstance(node, Call) and node.op is Builtin.UOP_PUSH]


def _common_steps(loop: For, analyzer: Analyzer) -> tuple[Expr, ...] | None:
    """Return the steps of the operands that all micro-ops under ``loop`` share, None if they differ or vary.

    An instruction's steps are natural numbers; a nest that counts downwards stays explicit.
    """
    found: tuple[Expr, ...] | None = None
    for push in _pushes(loop.body):
        forms = [detect_linear_equation(operand, [loop.loop_var], analyzer) for operand in push.args[_OPERANDS]]
        steps = tuple(form[0] for form in forms if form is not None)
        if len(steps) != _OPERAND_COUNT or any(not isinstance(s, IntImm) or s.value < 0 for s in steps):
            return None
        if found is not None and not same(found, steps):
            return None
        found = steps
    return found


def _at_start(node: Expr, loop: For, analyzer: Analyzer) -> Expr:
    """Return a micro-op as the first iteration of ``loop`` has it."""
    if not isinstance(node, Call) or node.op is not Builtin.UOP_PUSH:
        return node
    operands = tuple(_base(operand, loop, analyzer) for operand in node.args[_OPERANDS])
    return Call(node.dtype, node.op, (*node.args[:2], *operands, *node.args[2 + _OPERAND_COUNT :]))


def _base(operand: Expr, loop: For, analyzer: Analyzer) -> Expr:
    form = detect_linear_equation(operand, [loop.loop_var], analyzer)
    assert form is not None, "the operand was linear a moment ago"
    step, base = form
    return analyzer.simplify(base + step * loop.min)
