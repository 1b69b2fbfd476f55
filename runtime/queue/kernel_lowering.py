"""From a captured micro-op kernel to GEMM or ALU instructions and the micro-ops that they run.

A kernel that fits one instruction becomes that instruction as upstream forms it (``docs/runtime.md``): a single loop
goes to the outer fields of a GEMM and to the inner fields of an ALU instruction. Everything else is expanded, to as few
instructions as possible and then to as few micro-ops: ``runtime.queue.loop_fitting`` brings the loops down to two, and
``runtime.queue.alu_immediate`` brings immediates down to 16 bits.

Tests: ``tests/runtime/queue/test_kernel_lowering.py``.
"""

import dataclasses
import functools
from dataclasses import dataclass

import numpy as np

from isa.config import VTAConfig
from isa.instructions import Alu, AluOpcode, Gemm, MemoryId
from isa.layout import uop_layout
from runtime.queue.alu_immediate import ImmediateStep, split_immediate
from runtime.queue.loop_fitting import (
    Indices,
    LoopLimits,
    Nest,
    fit_loops,
    fits_one_instruction,
    loop_limits,
    visits_each_once,
)
from runtime.queue.uop_kernel import KernelError, KernelMode, KernelOperation, UopKernel, UopLoop

__all__ = ["KernelStep", "UopBlock", "indices_that_matter", "lower_kernel"]


@dataclass(frozen=True, slots=True, eq=False)
class UopBlock:
    """Micro-op words that lie together, on chip and in DRAM. Two blocks of equal words are two blocks."""

    words: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelStep:
    """Instructions that run one block of micro-ops; their micro-op range counts from the block's beginning."""

    block: UopBlock
    instructions: tuple[Gemm | Alu, ...]


def lower_kernel(kernel: UopKernel, config: VTAConfig) -> tuple[KernelStep, ...]:
    """Return what to execute, in order; nothing if the kernel does no work.

    Raises ``KernelError`` for more micro-ops than fit on chip, for an index that leaves its scratchpad, and for an
    immediate that has no exact form.
    """
    if kernel.is_empty or kernel.operation is None:
        return ()
    if len(kernel.uops) > config.uop_depth:
        raise KernelError(
            f"micro-op kernel: it has {len(kernel.uops)} micro-ops, and the on-chip buffer holds {config.uop_depth} "
            f"(LOG_UOP_BUFF_SIZE {config.log_uop_buff_size}); leave a loop around them, or split it into two kernels"
        )
    indices = indices_that_matter(kernel.operation)
    _check_reach(kernel, indices, config)
    nest = Nest(kernel.loops, kernel.uops)
    steps = _immediate_steps(kernel, nest)
    if not steps:
        return ()
    limits = loop_limits(config, alu=kernel.operation.mode is KernelMode.ALU)
    if not fits_one_instruction(nest, limits):
        nest = nest.keep(indices)
    nests = fit_loops(nest, limits, indices, is_sum=kernel.operation.mode is KernelMode.GEMM)
    return tuple(_step(kernel, part, steps, limits, config) for part in nests)


def indices_that_matter(operation: KernelOperation) -> Indices:
    """Return which indices of its micro-ops ``operation`` looks at."""
    if operation.mode is KernelMode.GEMM:
        return Indices(dst=True, src=not operation.reset, wgt=not operation.reset)
    return Indices(dst=True, src=not operation.use_imm, wgt=False, neighbour=operation.fused)


def _check_reach(kernel: UopKernel, indices: Indices, config: VTAConfig) -> None:
    gemm = kernel.operation is not None and kernel.operation.mode is KernelMode.GEMM
    for name, memory in (
        ("dst", MemoryId.ACC),
        ("src", MemoryId.INP if gemm else MemoryId.ACC),
        ("wgt", MemoryId.WGT),
    ):
        if not getattr(indices, name):
            continue
        low = min(getattr(uop, name) for uop in kernel.uops)
        high = max(getattr(uop, name) for uop in kernel.uops)
        for loop in kernel.loops:
            step = (loop.extent - 1) * getattr(loop, name)
            low, high = low + min(step, 0), high + max(step, 0)
        if name == "src" and kernel.operation is not None and kernel.operation.depthwise:
            high += config.depthwise_taps - 1
        if name == "src" and indices.neighbour:
            high += 1
        depth = config.depth(memory)
        if low < 0 or high >= depth:
            raise KernelError(
                f"micro-op kernel ({kernel.operation}): index {name} runs from {low} to {high}, and the "
                f"{memory.name} buffer has elements 0 to {depth - 1}"
            )


def _immediate_steps(kernel: UopKernel, nest: Nest) -> tuple[ImmediateStep | None, ...]:
    """Return the operations to run over the whole kernel, one after the other; None stands for the one as it is."""
    operation = kernel.operation
    assert operation is not None
    if operation.alu_opcode is None or not operation.use_imm:
        return (None,)
    each_once = functools.partial(visits_each_once, nest)
    return split_immediate(operation.alu_opcode, operation.imm, each_once=each_once)


def _step(
    kernel: UopKernel,
    nest: Nest,
    steps: tuple[ImmediateStep | None, ...],
    limits: LoopLimits,
    config: VTAConfig,
) -> KernelStep:
    operation = kernel.operation
    assert operation is not None
    block = UopBlock(_encode_uops(nest, limits, config))
    if operation.alu_opcode is None:
        return KernelStep(block, (_gemm(nest, operation),))
    alu = _alu(nest, operation, operation.alu_opcode)
    instructions = (
        alu if step is None else dataclasses.replace(alu, alu_opcode=step[0], use_imm=True, imm=step[1])
        for step in steps
    )
    return KernelStep(block, tuple(instructions))


def _encode_uops(nest: Nest, limits: LoopLimits, config: VTAConfig) -> tuple[int, ...]:
    words = np.zeros(len(nest.uops), np.int64)
    layout = uop_layout(config)
    for name, limit in (("dst", limits.dst), ("src", limits.uop_src), ("wgt", limits.uop_wgt)):
        values = np.array([getattr(uop, name) for uop in nest.uops], np.int64)
        # Indices that matter were checked; one without meaning (the source of a reset, say) is as good as zero.
        values[values > limit] = 0
        words |= values << layout.offsets[layout.fields.index(layout.field(name))]
    return tuple(words.tolist())


_ONE_TRIP = UopLoop(1, 0, 0, 0)


def _gemm(nest: Nest, operation: KernelOperation) -> Gemm:
    outer, inner = (*nest.loops, _ONE_TRIP, _ONE_TRIP)[:2]
    return Gemm(
        reset=operation.reset,
        depthwise=operation.depthwise,
        uop_end=len(nest.uops),
        iter_out=outer.extent,
        iter_in=inner.extent,
        dst_factor_out=outer.dst,
        dst_factor_in=inner.dst,
        src_factor_out=outer.src,
        src_factor_in=inner.src,
        wgt_factor_out=outer.wgt,
        wgt_factor_in=inner.wgt,
    )


def _alu(nest: Nest, operation: KernelOperation, opcode: AluOpcode) -> Alu:
    outer, inner = (_ONE_TRIP, _ONE_TRIP, *nest.loops)[-2:]
    return Alu(
        alu_opcode=opcode,
        fused=operation.fused,
        imm=operation.imm if operation.fused else 0,
        uop_end=len(nest.uops),
        iter_out=outer.extent,
        iter_in=inner.extent,
        dst_factor_out=outer.dst,
        dst_factor_in=inner.dst,
        src_factor_out=outer.src,
        src_factor_in=inner.src,
    )
