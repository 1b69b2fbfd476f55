"""``te.extern``: tensors that a statement of one's own computes.

Tests: tests/vta/te/test_extern.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from isa.errors import VTAError
from isa.origin import Origin
from vta.te.source import user_line
from vta.te.tensor import Tensor, as_index
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.dtype import DType
from vta.tir.expr import Expr, ExprLike, IterVar, Node, Var, convert
from vta.tir.stmt import Evaluate, Stmt
from vta.tir.traverse import substitute

__all__ = ["ExternError", "ExternOp", "extern"]


class ExternError(VTAError, ValueError):
    """A description of ``te.extern`` that computes nothing."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExternOp:
    """Tensors that ``body`` computes: it reads ``input_buffers`` and writes ``output_buffers``."""

    name: str
    tag: str
    attrs: Mapping[str, ExprLike]
    inputs: tuple[Tensor, ...]
    input_buffers: tuple[Buffer, ...]
    output_buffers: tuple[Buffer, ...]
    body: Stmt
    origin: Origin | None = None
    outputs: tuple[Tensor, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        made = tuple(Tensor(self, i, b.shape, b.dtype) for i, b in enumerate(self.output_buffers))
        object.__setattr__(self, "outputs", made)

    @property
    def num_outputs(self) -> int:
        """How many tensors it computes."""
        return len(self.output_buffers)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """What it reads, each once."""
        return tuple(dict.fromkeys(self.inputs))

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """None: its loops are its own."""
        return ()

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """None: its loops are its own."""
        return ()

    def output(self, index: int) -> Tensor:
        """Return output ``index``."""
        return self.outputs[index]

    def statement(self, buffers: Mapping[Tensor, Buffer]) -> Stmt:
        """Return the body on the buffers that its tensors have in a program."""
        values: dict[Var, Expr] = {}
        places: dict[Buffer, Buffer] = {}
        tensors = (*self.inputs, *self.outputs)
        for tensor, own in zip(tensors, (*self.input_buffers, *self.output_buffers), strict=True):
            real = places[own] = buffers[tensor]
            values[own.data] = real.data
            pairs = [(own.elem_offset, real.elem_offset), *zip(own.strides, real.element_strides, strict=False)]
            pairs += zip(own.shape, real.shape, strict=True)
            for mine, given in pairs:
                if isinstance(mine, Var) and mine is not given:
                    values[mine] = given
        return substitute(self.body, values, buffers=places)

    def __repr__(self) -> str:
        return f"extern({self.name})"

    def __hash__(self) -> int:
        return id(self)


def extern(
    shape: ExprLike | Sequence[ExprLike] | Sequence[Sequence[ExprLike]],
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Buffer], list[Buffer]], Stmt | ExprLike],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    in_buffers: Buffer | Sequence[Buffer] | None = None,
    out_buffers: Buffer | Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, ExprLike] | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Return the tensors that ``fcompute(ins, outs)`` computes, a statement (or a call) on buffers.

    ``shape`` is one shape or several; types are those of ``dtype``, else the inputs' own if that is one. ``in_buffers``
    and ``out_buffers`` are for statements that were written before. Raises ``ExternError`` where these do not fit.
    """
    shapes = _shapes(shape, name)
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            raise ExternError(f"extern {name!r}: inputs are tensors, not {tensor!r}")
    ins = _given(in_buffers, name, len(inputs), "in_buffers") or [
        decl_buffer(tensor.shape, tensor.dtype, tensor.op.name) for tensor in inputs
    ]
    outs = _given(out_buffers, name, len(shapes), "out_buffers") or [
        decl_buffer(sizes, kind, name)
        for sizes, kind in zip(shapes, _types(dtype, inputs, len(shapes), name), strict=True)
    ]
    made = fcompute(ins, outs)
    body = made if isinstance(made, Stmt) else Evaluate(convert(made))
    if not isinstance(made, Stmt | Node):
        raise ExternError(f"extern {name!r}: the function must return a statement or a call, not {made!r}")
    origin = Origin(name, user_line())
    op = ExternOp(name, tag, attrs or {}, tuple(inputs), tuple(ins), tuple(outs), body, origin)
    return op.outputs if len(op.outputs) > 1 else op.outputs[0]


def _shapes(shape: Any, name: str) -> list[tuple[Expr, ...]]:
    one = shape if isinstance(shape, Sequence) and not isinstance(shape, str) else (shape,)
    many: list[Any] = list(one) if one and all(isinstance(item, Sequence) for item in one) else [one]
    return [tuple(as_index(size, f"a dimension of {name!r}") for size in sizes) for sizes in many]


def _given(buffers: Buffer | Sequence[Buffer] | None, name: str, count: int, what: str) -> list[Buffer]:
    if buffers is None:
        return []
    given = [buffers] if isinstance(buffers, Buffer) else list(buffers)
    if len(given) != count:
        raise ExternError(f"extern {name!r}: expected {count} {what}, got {len(given)}")
    return given


def _types(dtype: str | Sequence[str] | None, inputs: Sequence[Tensor], count: int, name: str) -> list[DType]:
    if isinstance(dtype, str):
        return [DType(dtype)] * count
    if dtype is not None:
        if len(dtype) != count:
            raise ExternError(f"extern {name!r}: expected {count} types, got {len(dtype)}")
        return [DType(kind) for kind in dtype]
    kinds = {tensor.dtype for tensor in inputs}
    if len(kinds) != 1:
        raise ExternError(f"extern {name!r}: its inputs have {len(kinds)} types; say dtype=")
    return [kinds.pop()] * count
