"""Tensor intrinsics: a small computation, and the statements that do it on pieces of memory.

Tests: tests/vta/te/test_tensor_intrin.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from isa.errors import VTAError
from vta.te.operation import ComputeOp, Operation
from vta.te.tensor import Tensor, TensorSlice
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.expr import Equality, Expr, ExprLike, IterVar, Operators, Var, convert
from vta.tir.stmt import Evaluate, Stmt
from vta.tir.tensor_intrin import TensorIntrin as BlockIntrinsic

if TYPE_CHECKING:
    from vta.te.tensorize.call import IntrinsicCall

__all__ = ["IntrinsicBody", "TensorIntrin", "TensorIntrinError", "decl_tensor_intrin"]

IntrinsicBody: TypeAlias = Stmt | Expr
_Generated: TypeAlias = IntrinsicBody | Sequence[IntrinsicBody | None] | None


class TensorIntrinError(VTAError, ValueError):
    """A tensor intrinsic that is declared in a way that has no meaning."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TensorIntrin:
    """``op`` says what is computed, ``body`` how: statements on ``buffers``, the inputs' and then the outputs'.

    For a reduction, ``reduce_init`` sets the output to its start value and ``reduce_update`` adds one tile to it; they
    are used where a loop of the reduction stays outside of the intrinsic, ``body`` where none does. A stage that begins
    with other values stores these itself, under the pragma ``start_pragma`` if there is one.
    """

    name: str
    op: ComputeOp
    inputs: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    body: Stmt | None
    reduce_init: Stmt | None
    reduce_update: Stmt | None
    start_pragma: str | None = None
    scalar_params: tuple[Var, ...] = ()

    def __call__(
        self,
        *args: TensorSlice | Tensor | ExprLike,
        reduce_axis: IterVar | Sequence[IterVar] = (),
    ) -> IntrinsicCall:
        """Return the intrinsic on parts of tensors, ``A[i, 0:16]``, and numbers: the body of a ``te.compute``."""
        from vta.te.tensorize.call import IntrinsicCall  # calls are of intrinsics

        parts = [_part(arg) for arg in args if isinstance(arg, TensorSlice | Tensor)]
        numbers = [convert(arg) for arg in args if not isinstance(arg, TensorSlice | Tensor)]
        axes = (reduce_axis,) if isinstance(reduce_axis, IterVar) else tuple(reduce_axis)
        return IntrinsicCall(self, tuple(parts), axes, tuple(numbers))

    def __repr__(self) -> str:
        return f"TensorIntrin({self.name!r})"

    @property
    def input_buffers(self) -> tuple[Buffer, ...]:
        """The buffers of the inputs, in order."""
        return self.buffers[: len(self.inputs)]

    @property
    def output_buffers(self) -> tuple[Buffer, ...]:
        """The buffers of the outputs, in order."""
        return self.buffers[len(self.inputs) :]

    def block_intrinsics(self) -> list[BlockIntrinsic]:
        """Return the intrinsic for ``tir.Schedule``: as a whole, as a step of a reduction, and as the start of one."""
        from vta.te.tensorize import for_blocks  # it makes functions of operations

        return for_blocks.ways(self)


def _part(arg: TensorSlice | Tensor) -> tuple[Tensor, tuple[ExprLike | slice, ...]]:
    if isinstance(arg, Tensor):
        return arg, tuple(slice(0, size) for size in arg.shape)
    return arg.tensor, arg.indices


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[..., _Generated],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Sequence[Var] | None = None,
    default_buffer_params: Mapping[str, object] | None = None,
    start_pragma: str | None = None,
) -> TensorIntrin:
    """Declare that ``fcompute(inputs, outputs)`` does what ``op`` describes.

    ``fcompute`` gets the buffers and returns a statement (or expression), or three: body, reset, update. ``binds``
    gives buffers with a scope, alignment or strides for tensors of ``op``; others are compact, may begin at any
    element, and get ``default_buffer_params``. ``scalar_params`` are variables of ``op`` that a call in a
    ``te.compute`` gives values; ``fcompute`` gets them as a third list. ``start_pragma`` marks stores of start values
    that are not ``op``'s.
    """
    if not isinstance(op, ComputeOp):
        raise TensorIntrinError(f"tensor intrinsic {name!r}: expected the operation of a te.compute, got {op!r}")
    inputs = op.input_tensors
    buffers = tuple(_buffer(t, binds or {}, default_buffer_params or {}, name) for t in (*inputs, *op.outputs))
    ends = list(buffers[: len(inputs)]), list(buffers[len(inputs) :])
    generated = fcompute(*ends, list(scalar_params)) if scalar_params else fcompute(*ends)
    parts = list(generated) if isinstance(generated, tuple | list) else [generated]
    if not 1 <= len(parts) <= 3:
        raise TensorIntrinError(
            f"tensor intrinsic {name!r}: expected one statement, or body, reset and update, got {len(parts)} statements"
        )
    body, reset, update = ([_statement(p, name) for p in parts] + [None, None])[:3]
    return TensorIntrin(name, op, inputs, buffers, body, reset, update, start_pragma, tuple(scalar_params or ()))


def _buffer(tensor: Tensor, binds: Mapping[Tensor, Buffer], params: Mapping[str, object], name: str) -> Buffer:
    if tensor not in binds:
        options = {"offset_factor": 1, **params}
        return decl_buffer(tensor.shape, tensor.dtype, tensor.name, **options)  # type: ignore[arg-type]  # the caller's
    buffer = binds[tensor]
    if len(buffer.shape) != tensor.ndim or buffer.dtype != tensor.dtype:
        raise TensorIntrinError(
            f"tensor intrinsic {name!r}: buffer {buffer.name!r} ({len(buffer.shape)} dimensions of {buffer.dtype}) "
            f"does not fit tensor {tensor.name!r} ({tensor.ndim} dimensions of {tensor.dtype})"
        )
    return buffer


def _statement(part: object, name: str) -> Stmt | None:
    match part:
        case None:
            return None
        case Operators() | Equality():
            return Evaluate(convert(part))
        case _ if isinstance(part, Stmt):
            return part
        case _:
            raise TensorIntrinError(f"tensor intrinsic {name!r}: expected statements or expressions, got {part!r}")
