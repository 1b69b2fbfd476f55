"""The operation that a function of ``te.hybrid`` makes. Tests: tests/vta/te/hybrid/test_script.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from isa.origin import Origin
from vta.te.tensor import Tensor
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import BufferLoad, Expr, ExprLike, IterKind, IterVar, PointerType, ProducerLoad, Range, Var
from vta.tir.stmt import BufferRealize, BufferStore, For, ProducerRealize, ProducerStore, Stmt, seq
from vta.tir.traverse import map_expr, map_stmt, walk

__all__ = ["HybridOp", "with_buffers"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HybridOp:
    """Tensors that ``body`` computes, in loops that a schedule may change: one of ``axis`` for each.

    ``body`` stores to ``places``, which have the names that the function's text gave to ``outputs``, and may store to
    inputs (``changes``). Before it come ``zeros``, for elements that it reads before they are stored, or never stores.
    """

    name: str
    tag: str
    attrs: Mapping[str, ExprLike]
    inputs: tuple[Tensor, ...]
    places: tuple[Tensor, ...]
    body: Stmt
    zeros: tuple[Stmt, ...] = ()
    changes: tuple[Tensor, ...] = ()
    origin: Origin | None = None
    axis: tuple[IterVar, ...] = field(init=False, default=())
    outputs: tuple[Tensor, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        made = tuple(Tensor(self, i, place.shape, place.dtype) for i, place in enumerate(self.places))
        object.__setattr__(self, "outputs", made)
        loops = (node for node in walk(self.body) if isinstance(node, For))
        axes = (IterVar(Range(loop.min, loop.extent), loop.loop_var, IterKind.DATA_PAR) for loop in loops)
        object.__setattr__(self, "axis", tuple(axes))

    @property
    def num_outputs(self) -> int:
        """How many tensors it computes."""
        return len(self.places)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """What it reads, each once."""
        return tuple(dict.fromkeys(self.inputs))

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """None: which of its loops are reductions is not known."""
        return ()

    def output(self, index: int) -> Tensor:
        """Return output ``index``."""
        return self.outputs[index]

    def statement(self, body: Stmt, buffers: Mapping[Tensor, Buffer]) -> Stmt:
        """Return ``body``, this one's or what a schedule made of it, on the buffers of a program."""
        known = {tensor: buffers[tensor] for tensor in self.inputs}
        known |= {place: buffers[own] for place, own in zip(self.places, self.outputs, strict=True)}
        return with_buffers(seq([*self.zeros, body]), known)

    def __repr__(self) -> str:
        return f"hybrid({self.name})"

    def __hash__(self) -> int:
        return id(self)


def with_buffers(body: Stmt, known: Mapping[Tensor, Buffer]) -> Stmt:
    """Return ``body`` with buffers for tensors: the ``known`` ones, and new ones for what it realises."""
    buffers: dict[object, Buffer] = dict(known.items())
    for node in walk(body):
        if isinstance(node, ProducerRealize):
            buffers[node.producer] = _own(node)

    def on_expr(expr: Expr) -> Expr:
        return map_expr(
            lambda e: BufferLoad(buffers[e.producer], e.indices) if isinstance(e, ProducerLoad) else e, expr
        )

    def on_stmt(stmt: Stmt) -> Stmt:
        match stmt:
            case ProducerStore():
                return BufferStore(buffers[stmt.producer], stmt.value, stmt.indices)
            case ProducerRealize():
                return BufferRealize(buffers[stmt.producer], stmt.bounds, stmt.body, stmt.condition)
            case _:
                return stmt

    return map_stmt(body, on_stmt, on_expr)


def _own(realize: ProducerRealize) -> Buffer:
    tensor = realize.producer
    memory = realize.storage_scope or "global"
    data = Var(tensor.name, HANDLE, PointerType(tensor.dtype, memory))
    return Buffer(tensor.name, data, tensor.dtype, tensor.shape, scope=memory)
