"""Matrices of unsigned times signed bytes, with sums of 32 bits: ``ByteMatmul``, and the dot product of AVX-512 VNNI.

On a processor that has it, four products and their sum are one instruction for each of 16 outputs; on another one,
bytes are widened and multiplied in vectors. Both give the whole sums, bit for bit. Weights come packed as the
processor's path takes them (``pack``, done once); a block of sums stays in registers over the whole reduction.
Tests: tests/vta/topi/cpu/test_byte_products.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vta import te
from vta.processor import Processor
from vta.tir import ir_builder
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.calls import call_llvm_pure_intrin
from vta.tir.expr import Expr, Var, const
from vta.tir.math_ops import reinterpret
from vta.tir.stmt import Stmt
from vta.topi.core.operator import OperatorError
from vta.topi.nn.pad import pad

__all__ = ["ByteMatmul", "dot_16x1x16_uint8_int8_int32"]

_LANES, _GROUP = 16, 4
"""Outputs of an instruction of VNNI, and products in each."""

_ROWS, _VECTORS = 4, 4
"""What measures best of what the registers hold."""

_MANY_REGISTERS = 32


def dot_16x1x16_uint8_int8_int32() -> te.TensorIntrin:
    """Return 16 dot products of four unsigned bytes with four signed ones each, added to sums: ``vpdpbusd``.

    The processor must have AVX-512 VNNI (``vta.processor.processor_of``); code for another one cannot be made.
    """
    k = te.reduce_axis((0, _GROUP), "k")
    data = te.placeholder((_GROUP,), "uint8", "data")
    kernel = te.placeholder((_LANES, _GROUP), "int8", "kernel")
    dots = te.compute(
        (_LANES,), lambda i: te.sum(data[k].astype("int32") * kernel[i, k].astype("int32"), axis=k), name="dots"
    )
    binds = {
        data: decl_buffer(data.shape, "uint8", "data", offset_factor=1, strides=[1]),
        kernel: decl_buffer(kernel.shape, "int8", "kernel", offset_factor=1, strides=[Var("row"), 1]),
    }
    return te.decl_tensor_intrin(dots.op, _emit_dots, binds=binds, default_buffer_params={"offset_factor": 1})


def _emit_dots(ins: list[Buffer], outs: list[Buffer]) -> tuple[Stmt, Stmt, Stmt]:
    """Return body, reset and update."""
    words = f"int32x{_LANES}"
    zero = const(0, words)
    four = reinterpret("int32", ins[0].vload([0], f"uint8x{_GROUP}")).astype(words)
    weights = reinterpret(words, ins[1].vload([0, 0], f"int8x{_LANES * _GROUP}"))

    def stored(value: Expr) -> Stmt:
        builder = ir_builder.create()
        builder.emit(outs[0].vstore(0, value))
        return builder.get()

    def dots(before: Expr) -> Expr:
        return call_llvm_pure_intrin(words, "llvm.x86.avx512.vpdpbusd.512", 0, before, four, weights)

    return stored(dots(zero)), stored(zero), stored(dots(outs[0].vload([0], words)))


@dataclass(frozen=True, slots=True)
class ByteMatmul:
    """``(rows, depth)`` uint8 times ``(depth, columns)`` int8, as int32."""

    rows: int
    columns: int
    depth: int
    processor: Processor

    def __post_init__(self) -> None:
        """Raise ``OperatorError`` for sizes below 1."""
        if min(self.rows, self.columns, self.depth) < 1:
            raise OperatorError("ByteMatmul: expected sizes from 1")

    @property
    def _in_groups(self) -> bool:
        """Whether dot products of four are used; blocks are no larger than the result, so all of them is needed."""
        return self.processor.has_vnni and self.columns >= _LANES

    @property
    def _block(self) -> tuple[int, int]:
        """Rows and columns whose sums are in registers."""
        if self._in_groups:
            return min(_ROWS, self.rows), min(_VECTORS, self.columns // _LANES) * _LANES
        return min(_ROWS, self.rows), self.processor.lanes * (2 if self.processor.registers >= _MANY_REGISTERS else 1)

    @property
    def _lanes(self) -> int:
        return _LANES if self._in_groups else self.processor.lanes

    @property
    def _group(self) -> int:
        return _GROUP if self._in_groups else 1

    @property
    def packed_shape(self) -> tuple[int, int, int, int]:
        """Of the packed weights: vector of columns, group of the depth, column in its vector, place in its group."""
        width = self._block[1]
        vectors, groups = -(-self.columns // width) * width // self._lanes, -(-self.depth // self._group)
        return vectors, groups, self._lanes, self._group

    def pack(self, weights: npt.NDArray[np.int8]) -> npt.NDArray[Any]:
        """Return weights ``(depth, columns)`` as ``compute`` takes them."""
        if weights.shape != (self.depth, self.columns) or weights.dtype != np.int8:
            raise OperatorError(
                f"ByteMatmul: expected weights int8 {(self.depth, self.columns)}, got {weights.dtype} {weights.shape}"
            )
        vectors, groups, lanes, group = self.packed_shape
        whole = np.zeros((groups * group, vectors * lanes), np.int8)
        whole[: self.depth, : self.columns] = weights
        return np.ascontiguousarray(whole.reshape(groups, group, vectors, lanes).transpose(2, 0, 3, 1))

    def placeholders(self) -> tuple[te.Tensor, te.Tensor]:
        """Return tensors for data and packed weights."""
        return (
            te.placeholder((self.rows, self.depth), "uint8", name="data"),
            te.placeholder(self.packed_shape, "int8", name="weights"),
        )

    def compute(self, data: te.Tensor, weights: te.Tensor) -> te.Tensor:
        """Return the product of data and packed weights."""
        vectors, groups, lanes, group = self.packed_shape
        rows = -(-self.rows // self._block[0]) * self._block[0]
        below, beside = rows - self.rows, groups * group - self.depth
        source = pad(data, [0, 0], [below, beside], const(0, "uint8"), name="pad_temp") if below or beside else data
        k = te.reduce_axis((0, groups * group), "k")

        def element(i: Expr, j: Expr) -> Expr:
            weight = weights(j // lanes, k // group, j % lanes, k % group)
            return te.sum(source(i, k).astype("int32") * weight.astype("int32"), axis=k)

        sums = te.compute((rows, vectors * lanes), element, name="byte_sums")
        return te.compute((self.rows, self.columns), lambda i, j: sums(i, j), name="byte_matmul", tag="injective")

    def schedule(self, out: te.Tensor) -> te.Schedule:
        """Return the schedule of ``out``."""
        s = te.create_schedule(out.op)
        [sums] = [stage.op.output(0) for stage in s.stages if stage.op.name == "byte_sums"]
        (y, x), (height, width) = s[out].op.axis, self._block
        yo, xo, yi, xi = s[out].tile(y, x, height, width)
        s[out].reorder(xo, yo, yi, xi)
        s[sums].compute_at(s[out], yo)
        s[out].vectorize(s[out].split(xi, self._lanes)[1])
        s[out].parallel(s[out].fuse(xo, yo))
        self._schedule_sums(s[sums])
        return s

    def _schedule_sums(self, stage: te.Stage) -> None:
        (y, x), [k] = stage.op.axis, stage.op.reduce_axis
        outer, inner = stage.split(k, self._group)
        vector, lane = stage.split(x, self._lanes)
        stage.reorder(outer, y, vector, lane, inner)
        stage.unroll(y)
        stage.unroll(vector)
        if self._in_groups:
            stage.tensorize(lane, dot_16x1x16_uint8_int8_int32())
        else:
            stage.vectorize(lane)
