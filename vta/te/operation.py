"""Operations: placeholders and computations, and the functions that a program describes them with.

An operation and its tensors are made together and never change; what a schedule does to a computation becomes a new
operation with the same output tensors (``ComputeOp.redefined``). Tests: tests/vta/te/test_operation.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np

from isa.errors import VTAError
from isa.origin import Origin
from vta.te.elements import ComputeError, as_element
from vta.te.extern import ExternOp
from vta.te.hybrid_op import HybridOp
from vta.te.lowering.index_range import check_indices
from vta.te.scans.scan_op import ScanOp
from vta.te.source import user_line
from vta.te.tensor import Tensor, TensorError, as_index, as_range
from vta.tir.dtype import DType
from vta.tir.expr import (
    Equality,
    Expr,
    ExprLike,
    IntImm,
    IterKind,
    IterVar,
    Operators,
    ProducerLoad,
    Range,
    Reduce,
    Var,
    const,
    same,
)
from vta.tir.traverse import walk

if TYPE_CHECKING:
    from vta.te.tensorize.call import IntrinsicCall
    from vta.te.tensorize.intrin import TensorIntrin

__all__ = [
    "ComputeError", "ComputeOp", "IntrinsicLoops", "Operation", "PlaceholderError", "PlaceholderOp", "Scalar",
    "compute", "placeholder", "reduce_axis", "tag_scope", "thread_axis",
]  # fmt: skip


class PlaceholderError(VTAError, AttributeError):
    """An input of the program was asked for the loops that only a computation has."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlaceholderOp:
    """An input of the program."""

    name: str
    shape: tuple[Expr, ...]
    dtype: DType
    origin: Origin | None = None
    outputs: tuple[Tensor, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", (Tensor(self, 0, self.shape, self.dtype),))

    @property
    def num_outputs(self) -> int:
        """One."""
        return 1

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """None: it reads nothing."""
        return ()

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """None: ``PlaceholderError``. It is here so that an operation of either kind has it."""
        raise PlaceholderError(self._without("axis"))

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """None: ``PlaceholderError``."""
        raise PlaceholderError(self._without("reduce_axis"))

    def _without(self, name: str) -> str:
        return f"{self.name!r} is a placeholder, which has no loops and so no {name}; the stages that read it have some"

    def output(self, index: int) -> Tensor:
        """Return the tensor."""
        return self.outputs[index]

    def __repr__(self) -> str:
        return f"placeholder({self.name})"

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, slots=True)
class IntrinsicLoops:
    """An intrinsic that stands for the loops of these axes, the first ones outside."""

    intrinsic: TensorIntrin
    axes: tuple[IterVar, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComputeOp:
    """Each element of the outputs as an expression of the axes.

    ``body`` has an expression for each output; either none of them or each of them is a ``Reduce`` (the same one, with
    different ``value_index``). ``axis`` are the output's axes. The outputs share one shape.
    ``called``: the intrinsic whose call the body is.
    ``reads_earlier_rows``: of a placeholder, before its first one too, which a scan's state alone may be asked for.
    """

    name: str
    tag: str
    attrs: Mapping[str, ExprLike]
    axis: tuple[IterVar, ...]
    body: tuple[Expr, ...]
    origin: Origin | None = None
    outputs: tuple[Tensor, ...] = ()
    reads_earlier_rows: bool = False
    called: IntrinsicLoops | None = None
    input_tensors: tuple[Tensor, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        shape = tuple(domain(axis).extent for axis in self.axis)
        if not self.outputs:
            tensors = tuple(Tensor(self, i, shape, expr.dtype) for i, expr in enumerate(self.body))
            object.__setattr__(self, "outputs", tensors)
        object.__setattr__(self, "input_tensors", tuple(dict.fromkeys(load_tensor(e) for e in tensor_loads(self.body))))

    @property
    def num_outputs(self) -> int:
        """How many tensors it computes."""
        return len(self.body)

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The shape of every output."""
        return self.outputs[0].shape

    @property
    def dtype(self) -> DType:
        """The element type of the first output."""
        return self.outputs[0].dtype

    @property
    def reduce_axis(self) -> tuple[IterVar, ...]:
        """The axes that are reduced over."""
        first = self.body[0]
        return first.axis if isinstance(first, Reduce) else ()

    def output(self, index: int) -> Tensor:
        """Return output ``index``."""
        return self.outputs[index]

    def redefined(self, body: tuple[Expr, ...], axis: tuple[IterVar, ...] | None = None) -> ComputeOp:
        """Return the operation that computes the same tensors by another ``body``."""
        axes = self.axis if axis is None else axis
        return ComputeOp(self.name, self.tag, self.attrs, axes, body, self.origin, self.outputs)

    def __repr__(self) -> str:
        return f"compute({self.name}, axis=[{', '.join(axis.name for axis in self.axis)}])"

    def __hash__(self) -> int:
        return id(self)


Operation: TypeAlias = PlaceholderOp | ComputeOp | ExternOp | ScanOp | HybridOp

Scalar: TypeAlias = "Operators | Equality | int | float | np.generic"
"""What a computation may return for one element."""


def domain(axis: IterVar) -> Range:
    """Return the domain that ``axis`` was declared with."""
    assert axis.dom is not None, f"axis {axis.name!r} has no domain of its own"
    return axis.dom


def tensor_loads(body: Sequence[Expr]) -> Iterator[ProducerLoad]:
    """Yield what ``body`` reads, in order; the outputs of one reduction share their reads."""
    shared = body[:1] if body and isinstance(body[0], Reduce) else body
    for expr in shared:
        for node in walk(expr):
            if isinstance(node, ProducerLoad):
                yield node


def load_tensor(load: ProducerLoad) -> Tensor:
    """Return the tensor that ``load`` reads."""
    assert isinstance(load.producer, Tensor), "te bodies read tensors"
    return load.producer


def _shape(shape: ExprLike | Sequence[ExprLike], name: str) -> tuple[Expr, ...]:
    sizes = shape if isinstance(shape, Sequence) and not isinstance(shape, str) else [shape]
    whole = [int(size) if isinstance(size, float) and size.is_integer() else size for size in sizes]
    result = tuple(as_index(size, f"dimension {i} of {name!r}") for i, size in enumerate(whole))
    for i, size in enumerate(result):
        if isinstance(size, IntImm) and size.value < 1:
            raise TensorError(f"dimension {i} of {name!r}: expected at least 1, got {size.value}")
    return result


def placeholder(shape: ExprLike | Sequence[ExprLike], dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """Return an input tensor (float32 if no type is given). Sizes may be Python or numpy integers, or expressions."""
    kind = DType("float32" if dtype is None else dtype)
    return PlaceholderOp(name, _shape(shape, name), kind, Origin(name, user_line())).outputs[0]


_AMBIENT_TAG: ContextVar[str] = ContextVar("te.tag_scope", default="")


class tag_scope(ContextDecorator):  # noqa: N801  # TVM's name
    """Tag the operations that are described inside: ``with te.tag_scope("elemwise"):``, or as a decorator."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._tokens: list[Token[str]] = []

    def __enter__(self) -> tag_scope:
        if _AMBIENT_TAG.get():
            raise ComputeError(f"tag_scope({self.tag!r}) inside tag_scope({_AMBIENT_TAG.get()!r}); scopes do not nest")
        self._tokens.append(_AMBIENT_TAG.set(self.tag))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _AMBIENT_TAG.reset(self._tokens.pop())


@overload
def compute(
    shape: ExprLike | Sequence[ExprLike],
    fcompute: Callable[..., Scalar | IntrinsicCall],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, ExprLike] | None = None,
) -> Tensor: ...
@overload
def compute(
    shape: ExprLike | Sequence[ExprLike],
    fcompute: Callable[..., Sequence[Scalar]],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, ExprLike] | None = None,
) -> tuple[Tensor, ...]: ...
def compute(
    shape: ExprLike | Sequence[ExprLike],
    fcompute: Callable[..., Scalar | IntrinsicCall | Sequence[Scalar]],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, ExprLike] | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Return the tensor of ``shape`` whose element at (i, j, ...) is ``fcompute(i, j, ...)``.

    If ``fcompute`` returns several expressions, several tensors come back. A reduction must be the whole expression.
    A function of fewer indices gives elements that are the same along the dimensions behind them, or calls a tensor
    intrinsic, which stands for these. The axes take the names of ``fcompute``'s arguments (i0, i1, ... for ``*i``).
    Raises ``ComputeError``, and
    ``TensorError`` for a read that certainly goes beyond its tensor.
    """
    from vta.te.tensorize.call import IntrinsicCall, body_of_call  # intrinsics are of operations

    sizes = _shape(shape, name)
    names = _axis_names(fcompute, len(sizes), name)
    axes = tuple(IterVar(Range(const(0), size), Var(axis)) for axis, size in zip(names, sizes, strict=False))
    result = fcompute(*(axis.var for axis in axes))
    if isinstance(result, IntrinsicCall):
        called = body_of_call(result, sizes[len(axes) :], name)
        first = called.body[0]
        inner = first.axis[len(result.reduce_axis) :] if isinstance(first, Reduce) else ()
        loops = IntrinsicLoops(called.intrinsic, (*called.inner_axes, *inner))
        whole = (*axes, *called.inner_axes)
        _check_body(called.body, name)
        check_indices(called.body, whole, name)
        made = ComputeOp(name, tag, attrs or {}, whole, called.body, Origin(name, user_line()), called=loops)
        return made.outputs if made.num_outputs > 1 else made.outputs[0]
    axes += tuple(
        IterVar(Range(const(0), size), Var(f"ax{k}")) for k, size in enumerate(sizes[len(axes) :])
    )  # the same along these
    several = isinstance(result, tuple | list)
    body = tuple(as_element(value, name) for value in (result if isinstance(result, tuple | list) else [result]))
    _check_body(body, name)
    earlier = check_indices(body, axes, name)
    origin = Origin(name, user_line())
    op = ComputeOp(name, tag or _AMBIENT_TAG.get(), attrs or {}, axes, body, origin, reads_earlier_rows=earlier)
    return op.outputs if several and len(body) > 1 else op.outputs[0]


def _axis_names(fcompute: Callable[..., object], count: int, stage: str) -> list[str]:
    parameters = inspect.signature(fcompute).parameters.values()
    names = [
        p.name for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]  # fmt: skip
    if any(p.kind is p.VAR_POSITIONAL for p in parameters) or not (names or parameters):
        names += [f"i{i}" for i in range(len(names), count)]
    if len(names) > count:
        raise ComputeError(
            f"compute {stage!r}: the shape has {count} dimensions, but the function takes {len(names)} indices: "
            f"({', '.join(names)})"
        )
    return names


def _check_body(body: tuple[Expr, ...], name: str) -> None:
    if not body:
        raise ComputeError(f"compute {name!r}: the function returned no expression")
    reductions = [expr for expr in body if isinstance(expr, Reduce)]
    inner = [part for expr in body for part in (_parts(expr) if isinstance(expr, Reduce) else (expr,))]
    if any(isinstance(node, Reduce) for part in inner for node in walk(part)):
        raise ComputeError(
            f"compute {name!r}: a reduction (sum, max, ...) inside an expression; a reduction must be a stage of its "
            "own: give it its own te.compute and use that tensor here"
        )
    if not reductions:
        return
    for axis in reductions[0].axis:
        if any(isinstance(node, ProducerLoad) for e in (domain(axis).min, domain(axis).extent) for node in walk(e)):
            raise ComputeError(
                f"compute {name!r}: the range of reduction axis {axis.name!r} depends on an element of a tensor; "
                "take a range that covers every case, with the condition as where="
            )
    first = reductions[0]
    whole = len(first.source) == len(reductions) == len(body)
    if not whole or any(not _one_reduction(first, e) or e.value_index != i for i, e in enumerate(reductions)):
        raise ComputeError(
            f"compute {name!r}: the outputs must be all the results of one reduction, in their order, or no reductions"
        )


def _one_reduction(a: Reduce, b: Reduce) -> bool:
    if len(a.axis) != len(b.axis) or any(x is not y for x, y in zip(a.axis, b.axis, strict=True)):
        return False
    parts = ((a.source, b.source), (a.condition, b.condition), (a.init, b.init))
    return a is b or (a.combiner is b.combiner and all(same(x, y) for x, y in parts))


def _parts(reduce: Reduce) -> tuple[Expr, ...]:
    return (*reduce.source, *reduce.init, reduce.condition)


def reduce_axis(
    dom: Range | tuple[ExprLike, ExprLike] | list[ExprLike], name: str = "rv", thread_tag: str = ""
) -> IterVar:
    """Return an axis to reduce over: ``dom`` is (begin, end). The bounds may depend on output indices."""
    return IterVar(as_range(dom, f"reduce_axis {name!r}"), Var(name), IterKind.COMM_REDUCE, thread_tag)


def thread_axis(
    dom: str | int | np.integer | Range | tuple[ExprLike, ExprLike] | list[ExprLike] | None = None,
    tag: str = "",
    name: str = "",
) -> IterVar:
    """Return a thread axis to bind a loop to: ``thread_axis("cthread")``; with an extent ``thread_axis(2, "cthread")``.

    "cthread" and "vthread..." are virtual threads; "rotate" is a loop whose iterations use copies of their scratchpad
    memory in turn, so that loads, products and stores of several overlap (a reduction may be bound to it too). The tag
    "vta" is the accelerator's own and cannot be bound to. "threadIdx.x" and the like are a GPU's, for which schedules
    are lowered and no code is made.
    """
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ComputeError("thread_axis needs a tag, for example te.thread_axis('cthread')")
    if tag.startswith(("threadIdx.", "blockIdx.")) and tag.partition(".")[2] not in ("x", "y", "z"):
        raise ComputeError(f"thread_axis: a GPU has {tag.partition('.')[0]}.x, .y and .z, not {tag!r}; fuse loops")
    if isinstance(dom, int | np.integer):
        dom = (0, int(dom))
    label = name or tag
    extent = None if dom is None else as_range(dom, f"thread_axis {label!r}")
    return IterVar(extent, Var(label), IterKind.THREAD_INDEX, tag)
