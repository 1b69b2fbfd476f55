"""A model of the host's program and the tensor ALU: runs the micro-op kernels of a lowered function on numpy.

It knows host loops, conditions and lets, the calls ``VTAUopLoopBegin`` and ``VTAUopLoopEnd``, and ``uop_push`` of
mode 1 and of mode 3, which does two operations and a shift.
Deliberately separate from the runtime and the reference interpreter.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isa.instructions import AluOpcode
from tests.support.compiler.tir_eval import evaluate as evaluate_arrays
from tests.support.isa.alu_judge import judge_lanes
from vta.tir.expr import Builtin, Call, Expr, StringImm, Var
from vta.tir.stmt import Allocate, AttrKey, AttrStmt, Evaluate, For, IfThenElse, LetStmt, SeqStmt, Stmt

__all__ = ["Kernel", "kernels_of", "run_kernels"]

Accumulator = NDArray[np.int32]
"""Elements by lanes."""


@dataclass(frozen=True)
class Kernel:
    """What one kernel recorded: loops as (extent, dst, src, wgt), micro-ops as the eight arguments of ``uop_push``."""

    loops: tuple[tuple[int, ...], ...]
    pushes: tuple[tuple[int, ...], ...]


def evaluate(expr: Expr, env: Mapping[Var, int]) -> int:
    """Return the value of an index expression."""
    return int(evaluate_arrays(expr, {var: np.asarray(value, np.int64) for var, value in env.items()}))


def kernels_of(stmt: Stmt) -> list[Kernel]:
    """Return the kernels that the host pushes, in order, with all host loops run."""
    found: list[Kernel] = []
    _run(stmt, {}, found)
    return found


def run_kernels(stmt: Stmt, acc: Accumulator) -> Accumulator:
    """Return the accumulator after the host has run ``stmt``."""
    acc = acc.copy()
    for kernel in kernels_of(stmt):
        assert len({push[5:] for push in kernel.pushes}) == 1, "one kernel does one operation"
        _execute(kernel, acc, 0, (0, 0))
    return acc


def _execute(kernel: Kernel, acc: Accumulator, depth: int, offset: tuple[int, int]) -> None:
    if depth < len(kernel.loops):
        extent, dst, src, _ = kernel.loops[depth]
        for i in range(extent):
            _execute(kernel, acc, depth + 1, (offset[0] + i * dst, offset[1] + i * src))
        return
    for mode, _, dst, src, _, opcode, use_imm, imm in kernel.pushes:
        assert mode in (1, 3), "an ALU kernel"
        assert -(1 << 15) <= imm < 1 << 15, f"immediate {imm} does not fit the instruction"
        target = dst + offset[0]
        assert 0 <= target < len(acc), f"accumulator index {target}"
        place = src + offset[1]
        result = judge_lanes(AluOpcode(opcode), acc[target], imm if use_imm else acc[place])
        if mode == 3:
            assert not use_imm, "an operand of a fused step is an accumulator"
            then = {AluOpcode.MAX: AluOpcode.MIN, AluOpcode.MUL: AluOpcode.ADD}[AluOpcode(opcode)]
            result = judge_lanes(AluOpcode.SHR, judge_lanes(then, result, acc[place + 1]), imm)
        acc[target] = result


def _run(stmt: Stmt, env: Mapping[Var, int], found: list[Kernel]) -> None:
    match stmt:
        case SeqStmt():
            for child in stmt.stmts:
                _run(child, env, found)
        case For():
            low, extent = evaluate(stmt.min, env), evaluate(stmt.extent, env)
            for i in range(low, low + extent):
                _run(stmt.body, {**env, stmt.loop_var: i}, found)
        case IfThenElse():
            if evaluate(stmt.condition, env):
                _run(stmt.then_case, env, found)
            elif stmt.else_case is not None:
                _run(stmt.else_case, env, found)
        case LetStmt():
            _run(stmt.body, {**env, stmt.var: evaluate(stmt.value, env)}, found)
        case AttrStmt(key=AttrKey.COPROC_UOP_SCOPE):
            found.append(_record(stmt.body, env))
        case AttrStmt() | Allocate():
            _run(stmt.body, env, found)
        case Evaluate():
            pass
        case _:
            raise AssertionError(f"{type(stmt).__name__} is left for the host")


def _record(stmt: Stmt, env: Mapping[Var, int]) -> Kernel:
    loops: list[tuple[int, ...]] = []
    pushes: list[tuple[int, ...]] = []
    calls: list[tuple[str, tuple[int, ...]]] = []
    _collect(stmt, env, calls)
    for name, args in calls:
        match name:
            case "VTAUopLoopBegin":
                assert not pushes, "loops enclose all micro-ops"
                loops.append(args)
            case "push":
                pushes.append(args)
            case _:
                assert name == "VTAUopLoopEnd"
    assert len(loops) == sum(name == "VTAUopLoopEnd" for name, _ in calls), "every loop ends"
    return Kernel(tuple(loops), tuple(pushes))


def _collect(stmt: Stmt, env: Mapping[Var, int], calls: list[tuple[str, tuple[int, ...]]]) -> None:
    match stmt:
        case SeqStmt():
            for child in stmt.stmts:
                _collect(child, env, calls)
        case For():
            for i in range(evaluate(stmt.extent, env)):
                _collect(stmt.body, {**env, stmt.loop_var: evaluate(stmt.min, env) + i}, calls)
        case IfThenElse(else_case=None):
            if evaluate(stmt.condition, env):
                _collect(stmt.then_case, env, calls)
        case Evaluate(value=Call() as call):
            calls.append(_call(call, env))
        case _:
            raise AssertionError(f"{type(stmt).__name__} in a kernel")


def _call(call: Call, env: Mapping[Var, int]) -> tuple[str, tuple[int, ...]]:
    def numbers(args: tuple[Expr, ...]) -> tuple[int, ...]:
        return tuple(evaluate(arg, env) for arg in args)

    match call:
        case Call(op=Builtin.UOP_PUSH):
            return "push", numbers(call.args)
        case Call(op=Builtin.CALL_EXTERN, args=(StringImm(value=name), *rest)):
            return name, numbers(tuple(rest))
        case _:
            raise AssertionError(f"{call.op} in a kernel")
