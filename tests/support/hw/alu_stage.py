"""ALU stages made by hand, lowered, and compared with what the interpreter says that their loops do."""

from collections.abc import Callable

import numpy as np
import pytest

from isa.config import VTAConfig
from isa.instructions import AluOpcode
from tests.support.compiler.tir_build import AXIS, alloc, buffer, function, loop, pragma, store
from tests.support.isa.alu_model import Kernel, kernels_of, run_kernels
from vta.passes.alu.expression import AluError
from vta.passes.alu.inject_alu_intrin import inject_alu_intrin
from vta.passes.coproc_axis import uop_scope
from vta.tir.buffer import Buffer
from vta.tir.expr import ExprLike, Var
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.scopes import ACC_SCOPE, ALU_SYMBOL
from vta.tir.stmt import Allocate, Stmt

__all__ = [
    "ADD", "DEFAULT", "MAX", "MIN", "MUL", "SHR", "Make", "accumulator", "check", "elementwise", "kernels", "lower",
    "opcodes", "refusal", "stage",
]  # fmt: skip

MIN, MAX, ADD, SHR, MUL = AluOpcode.MIN, AluOpcode.MAX, AluOpcode.ADD, AluOpcode.SHR, AluOpcode.MUL
DEFAULT = VTAConfig()

Make = Callable[[Buffer], Stmt]
"""Makes the loops of a stage in the accumulator's block."""


def accumulator(elements: int, config: VTAConfig = DEFAULT) -> Buffer:
    """The accumulator's block, ``elements`` large."""
    return buffer("acc", [elements * config.batch * config.block_out], "int32", ACC_SCOPE)


def stage(*body: Stmt) -> Stmt:
    """An ALU stage in a kernel scope of its own."""
    return uop_scope(AXIS, ALU_SYMBOL, pragma("alu", *body))


def lower(acc: Buffer, body: Stmt, config: VTAConfig = DEFAULT) -> PrimFunc:
    return inject_alu_intrin(function(alloc(acc, body)), config)


def check(acc: Buffer, body: Stmt, config: VTAConfig = DEFAULT, seed: int = 1) -> PrimFunc:
    """Lower ``body``; the kernels must leave the accumulator as the interpreter leaves it for the loops."""
    lanes = config.batch * config.block_out
    lowered = lower(acc, body, config)
    assert isinstance(lowered.body, Allocate)
    size = int(np.prod([int(e) for e in lowered.body.extents]))
    rng = np.random.default_rng(seed)
    contents = rng.integers(-(1 << 31), 1 << 31, size).astype(np.int32)
    contents[::3] = rng.integers(-300, 300, contents[::3].size)
    own = int(acc.shape[0])
    expected = contents[:own].copy()
    run_func(function(body, acc), [expected])
    got = run_kernels(lowered.body.body, contents.reshape(-1, lanes)).reshape(-1)
    np.testing.assert_array_equal(got[:own], expected)
    return lowered


def elementwise(fn: Callable[..., ExprLike], count: int, *offsets: int, lanes: int = 16) -> Make:
    """``acc[offsets[0] + i] = fn(acc[offsets[1] + i], ...)`` for ``count`` elements; offsets count elements."""

    def make(acc: Buffer) -> Stmt:
        i, k = Var("i"), Var("k")
        at = [i * lanes + k + offset * lanes for offset in offsets]
        return loop(i, count, loop(k, lanes, store(acc, fn(*(acc.load(x) for x in at[1:])), at[0])))

    return make


def kernels(make: Make, elements: int = 64) -> list[Kernel]:
    acc = accumulator(elements)
    return kernels_of(check(acc, stage(make(acc))).body)


def opcodes(make: Make, elements: int = 64) -> list[tuple[int, int, int]]:
    """(opcode, use_imm, imm) of every kernel."""
    found = kernels(make, elements)
    assert all(len(kernel.pushes) == 1 for kernel in found)
    operations = [kernel.pushes[0][5:] for kernel in found]
    return [(opcode, use_imm, imm) for opcode, use_imm, imm in operations]


def refusal(make: Make) -> str:
    """Return the text with which a stage is refused."""
    with pytest.raises(AluError) as error:
        lower(acc := accumulator(64), stage(make(acc)))
    return str(error.value)
