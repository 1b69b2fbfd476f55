"""A stage: one operation of a schedule, and the primitives that say how its loops run.

Every primitive checks its arguments at the call. Tests: tests/vta/te/test_stage.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

from isa.errors import VTAError
from vta.te.axis_attrs import AxisAttrs, AxisView
from vta.te.hybrid_op import HybridOp
from vta.te.operation import ComputeOp, IntrinsicLoops, Operation, PlaceholderOp
from vta.te.relations import Fuse, Relation, Role, Singleton, Split, children_of, parents_of, roles_down
from vta.te.scans.scan_op import ScanOp
from vta.te.tensor import Tensor, TensorError, as_index
from vta.te.tensorize.intrin import TensorIntrin
from vta.tir.dtype import BOOL
from vta.tir.expr import Expr, ExprLike, IntImm, IterKind, IterVar, StringImm, Var, convert
from vta.tir.stmt import ForKind

if TYPE_CHECKING:
    from vta.te.group import Group
    from vta.te.schedule import Schedule

__all__ = ["Attach", "AttachAt", "AttachKind", "AxisAttrs", "ScheduleError", "Stage", "root_axes"]


class ScheduleError(VTAError, ValueError):
    """A schedule primitive that does not apply where it was called."""


_KINDS_BY_PRAGMA = {"unroll": "unroll", "vectorize": "vectorize"}
"""Pragmas that are another way to say how a loop runs."""


class AttachKind(Enum):
    """Where a stage is computed, if not at an axis of another stage."""

    ROOT = auto()
    INLINE = auto()


@dataclass(frozen=True, slots=True)
class AttachAt:
    """Computed in the body of loop ``axis`` of ``stage``."""

    stage: Stage
    axis: IterVar


_OF_SCRIPTS = ("split", "fuse", "reorder", "bind", "vectorize", "unroll", "parallel", "pragma")
"""What may be done to the loops of a hybrid script."""

Attach: TypeAlias = AttachKind | AttachAt


def root_axes(op: Operation) -> tuple[IterVar, ...]:
    """Return the axes that ``op`` starts with: the output's, then the reduction's."""
    return () if isinstance(op, PlaceholderOp) else (*op.axis, *op.reduce_axis)


@dataclass(slots=True, eq=False, repr=False)
class Stage:
    """How one operation is computed. Made by ``create_schedule``; ``s[tensor]`` finds it.

    ``relations`` tell how ``leaf_iter_vars``, the loops from the outermost to the innermost, came from the axes of
    ``op``, ``scope`` is the memory of the output ("" is DRAM). ``origin_op`` is the operation that the user described.
    """

    op: Operation
    origin_op: Operation
    schedule: Schedule
    is_output: bool = False
    relations: list[Relation] = field(default_factory=list)
    leaf_iter_vars: list[IterVar] = field(default_factory=list)
    attrs: dict[IterVar, AxisAttrs] = field(default_factory=dict)
    attach: Attach = AttachKind.ROOT
    scope: str = ""
    double_buffered: bool = False
    group: Group | None = None
    store_predicate: Expr | None = None

    def __post_init__(self) -> None:
        self.leaf_iter_vars = self.leaf_iter_vars or list(root_axes(self.op))

    def __repr__(self) -> str:
        return f"stage({self.name})"

    def __hash__(self) -> int:
        return id(self)

    @property
    def name(self) -> str:
        """The operation's name."""
        return self.op.name

    @property
    def all_iter_vars(self) -> list[IterVar]:
        """Every axis: the operation's, and those that splits and fusions made."""
        return [*root_axes(self.op), *(child for relation in self.relations for child in children_of(relation))]

    @property
    def is_inlined(self) -> bool:
        """Whether its expression replaces the reads of its output."""
        return self.attach is AttachKind.INLINE

    @property
    def is_scheduled(self) -> bool:
        """Whether any primitive but ``compute_inline`` and ``set_scope`` was applied."""
        return bool(self.relations or self.attrs) or isinstance(self.attach, AttachAt)

    def compute_op(self, primitive: str) -> ComputeOp:
        """Return the computation; raises ``ScheduleError`` for a placeholder."""
        if not isinstance(self.op, ComputeOp):
            if isinstance(self.op, HybridOp):
                raise ScheduleError(
                    f"stage {self.name!r}: {primitive}: a hybrid script's loops can be split, fused, reordered, "
                    "bound, vectorized, unrolled and parallel, and nothing else"
                )
            if isinstance(self.op, PlaceholderOp):
                raise ScheduleError(f"stage {self.name!r}: {primitive}: a placeholder is not computed; it has no loops")
            what = "scan" if isinstance(self.op, ScanOp) else "statement of te.extern"
            raise ScheduleError(f"stage {self.name!r}: {primitive}: the loops of a {what} are its own; they stay")
        return self.op

    def roles(self) -> dict[IterVar, Role]:
        """Return what each axis walks over."""
        op = self.op if isinstance(self.op, HybridOp) else self.compute_op("axes")
        roles = dict.fromkeys(op.axis, Role.DATA) | dict.fromkeys(op.reduce_axis, Role.REDUCE)
        roles_down(self.relations, roles)
        return roles

    @property
    def iter_var_attrs(self) -> Mapping[IterVar, AxisView]:
        """What was said about axes, under TVM's names."""
        return {axis: AxisView(axis, attrs) for axis, attrs in self.attrs.items()}

    @property
    def attach_type(self) -> int:
        """Where the stage is computed, as TVM's number: 1 at the root, 2 inlined, 4 at a loop of another stage."""
        return {AttachKind.ROOT: 1, AttachKind.INLINE: 2}[self.attach] if isinstance(self.attach, AttachKind) else 4

    def thread_of(self, axis: IterVar) -> IterVar | None:
        """Return the thread axis that ``axis`` is bound to."""
        return self.attrs[axis].thread if axis in self.attrs else None

    def leaf(self, axis: IterVar, primitive: str, *, of_scan: bool = False) -> int:
        """Return the position of loop ``axis``; raises ``ScheduleError`` telling where it went if it is none.

        The loop of a scan is one where ``of_scan`` is said: others are computed in it, and it stays as it is.
        """
        scripted = isinstance(self.op, HybridOp) and primitive in _OF_SCRIPTS
        if not scripted and not (of_scan and isinstance(self.op, ScanOp)):
            self.compute_op(primitive)
        for i, leaf in enumerate(self.leaf_iter_vars):
            if leaf is axis:
                return i
        loops = ", ".join(leaf.name for leaf in self.leaf_iter_vars) or "none"
        raise ScheduleError(
            f"stage {self.name!r}: {primitive}: {self._absent(axis)}; the loops of stage {self.name!r} are now: {loops}"
        )

    def _absent(self, axis: object) -> str:
        if not isinstance(axis, IterVar):
            return f"expected an axis, got {axis!r}"
        for relation in self.relations:
            if any(parent is axis for parent in parents_of(relation)):
                verb = "split" if isinstance(relation, Split) else "fused"
                into = " and ".join(repr(child.name) for child in children_of(relation))
                return f"axis {axis.name!r} is no loop any more, it was {verb} into {into}"
        if axis.kind is IterKind.THREAD_INDEX:
            return f"{axis.name!r} is a thread axis, not a loop; bind a loop to it"
        return f"axis {axis.name!r} is not an axis of this stage"

    def _attrs(self, axis: IterVar) -> AxisAttrs:
        return self.attrs.setdefault(axis, AxisAttrs())

    def _free(self, axis: IterVar, primitive: str) -> int:
        """Return the position of a loop of which nothing was said yet that ``primitive`` would lose."""
        position = self.leaf(axis, primitive)
        said = self.attrs[axis].said if axis in self.attrs else ""
        if said:
            raise ScheduleError(
                f"stage {self.name!r}: {primitive}: axis {axis.name!r} already carries {said}, which would be lost; "
                f"{primitive} first, then mark the loops that it makes"
            )
        return position

    def split(
        self, parent: IterVar, factor: ExprLike | None = None, nparts: ExprLike | None = None
    ) -> tuple[IterVar, IterVar]:
        """Split loop ``parent`` in two and return (outer, inner): inner has ``factor`` trips, or outer ``nparts``."""
        position = self._free(parent, "split")
        if (factor is None) == (nparts is None):
            got = "neither" if factor is None else "both"
            raise ScheduleError(f"stage {self.name!r}: split of {parent.name!r}: give factor or nparts, got {got}")
        by = self._size(factor if factor is not None else nparts, "factor" if nparts is None else "nparts", parent)
        outer, inner = (IterVar(None, Var(f"{parent.name}.{part}"), parent.kind) for part in ("outer", "inner"))
        self.relations.append(
            Split(parent, outer, inner, by if nparts is None else None, None if nparts is None else by)
        )
        self.leaf_iter_vars[position : position + 1] = [outer, inner]
        return outer, inner

    def _size(self, value: ExprLike | None, what: str, parent: IterVar) -> Expr:
        place = f"stage {self.name!r}: split of {parent.name!r}"
        assert value is not None
        try:
            size = as_index(value, what)
        except TensorError as error:
            raise ScheduleError(f"{place}: {error}") from error
        if isinstance(size, IntImm) and size.value < 1:
            raise ScheduleError(f"{place}: expected a {what} of at least 1, got {size.value}")
        return size

    def fuse(self, *args: IterVar) -> IterVar:
        """Fuse loops that follow one another, outermost first, and return the fused loop.

        Without arguments a dummy loop of one trip comes first.
        """
        if not args or not isinstance(self.op, HybridOp):
            self.compute_op("fuse")
        if not args:
            dummy = IterVar(None, Var("singleton"))
            self.relations.append(Singleton(dummy))
            self.leaf_iter_vars.insert(0, dummy)
            return dummy
        self._distinct(args, "fuse")
        fused = args[0]
        self._free(fused, "fuse")
        for axis in args[1:]:
            fused = self._fuse_two(fused, axis)
        return fused

    def _fuse_two(self, outer: IterVar, inner: IterVar) -> IterVar:
        at, after = self._free(outer, "fuse"), self._free(inner, "fuse")
        if after == at - 1:
            outer, inner, at = inner, outer, after
        elif after != at + 1:
            loops = ", ".join(leaf.name for leaf in self.leaf_iter_vars)
            raise ScheduleError(
                f"stage {self.name!r}: fuse: {outer.name!r} and {inner.name!r} do not follow one another; "
                f"reorder them first; the loops are now: {loops}"
            )
        reduces = IterKind.COMM_REDUCE in (outer.kind, inner.kind)
        kind = IterKind.COMM_REDUCE if reduces else outer.kind
        fused = IterVar(None, Var(f"{outer.name}.{inner.name}.fused"), kind)
        self.relations.append(Fuse(outer, inner, fused))
        self.leaf_iter_vars[at : at + 2] = [fused]
        return fused

    def reorder(self, *args: IterVar) -> None:
        """Put the given loops into this order, in the places that they have among the others."""
        positions = [self.leaf(axis, "reorder") for axis in args]
        self._distinct(args, "reorder")
        for position, axis in zip(sorted(positions), args, strict=True):
            self.leaf_iter_vars[position] = axis

    def _distinct(self, args: tuple[IterVar, ...], primitive: str) -> None:
        for i, axis in enumerate(args):
            if any(axis is earlier for earlier in args[:i]):
                raise ScheduleError(f"stage {self.name!r}: {primitive}: axis {axis.name!r} is given twice")

    def tile(
        self, x_parent: IterVar, y_parent: IterVar, x_factor: ExprLike, y_factor: ExprLike
    ) -> tuple[IterVar, IterVar, IterVar, IterVar]:
        """Split two loops and return (x_outer, y_outer, x_inner, y_inner), which is also their new order."""
        self._distinct((x_parent, y_parent), "tile")
        self._free(y_parent, "tile")
        x_outer, x_inner = self.split(x_parent, factor=x_factor)
        y_outer, y_inner = self.split(y_parent, factor=y_factor)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def compute_at(self, parent: Stage, scope: IterVar) -> None:
        """Compute this stage in the body of loop ``scope`` of ``parent``: there, only what is needed there."""
        self.compute_op("compute_at")
        self._may_move("compute_at")
        if not isinstance(parent, Stage):
            raise ScheduleError(f"stage {self.name!r}: compute_at: expected a stage, s[tensor], got {parent!r}")
        if parent is self:
            raise ScheduleError(f"stage {self.name!r}: compute_at: stage {self.name!r} cannot be computed at itself")
        if parent.schedule is not self.schedule:
            raise ScheduleError(f"stage {self.name!r}: compute_at: stage {parent.name!r} belongs to another schedule")
        if self.schedule.consumes(self, parent):
            raise ScheduleError(
                f"stage {self.name!r}: compute_at: stage {self.name!r} reads stage {parent.name!r}, so computing it at "
                f"{parent.name!r} would be a cycle"
            )
        if not self.schedule.consumes(parent, self):
            raise ScheduleError(
                f"stage {self.name!r}: compute_at: stage {parent.name!r} does not read stage {self.name!r}"
            )
        parent.leaf(scope, f"compute_at of stage {self.name!r}", of_scan=True)
        self.attach = AttachAt(parent, scope)

    def _may_move(self, primitive: str) -> None:
        if self.is_output:
            raise ScheduleError(
                f"stage {self.name!r}: {primitive}: it is an output of the schedule, which stays at the root"
            )

    def compute_inline(self) -> None:
        """Put this stage's expression wherever its output is read."""
        op = self.compute_op("compute_inline")
        self._may_move("compute_inline")
        if op.reduce_axis:
            raise ScheduleError(
                f"stage {self.name!r}: compute_inline: it is a reduction; reductions must be a stage of their own, "
                "computed at the root or at a loop"
            )
        self.attach = AttachKind.INLINE

    def compute_root(self) -> None:
        """Compute this stage on its own, before all that read it (the default)."""
        self.attach = AttachKind.ROOT

    def set_scope(self, scope: str) -> None:
        """Keep the output in memory ``scope``, for example ``env.acc_scope``; "" or "global" is DRAM."""
        if isinstance(self.op, PlaceholderOp):
            self.compute_op("set_scope")
        if not isinstance(scope, str):
            raise ScheduleError(f"stage {self.name!r}: set_scope: expected the name of a memory, got {scope!r}")
        self.scope = scope

    def bind(self, ivar: IterVar, thread_ivar: IterVar) -> None:
        """Run loop ``ivar`` on the virtual threads of ``thread_ivar`` (``te.thread_axis("cthread")``, or "rotate").

        A reduction may be bound to "rotate", and to the threads of a GPU's block, which share their sums.
        """
        self.leaf(ivar, "bind")
        if not isinstance(thread_ivar, IterVar) or thread_ivar.kind is not IterKind.THREAD_INDEX:
            name = repr(thread_ivar.name) if isinstance(thread_ivar, IterVar) else repr(thread_ivar)
            raise ScheduleError(
                f"stage {self.name!r}: bind of {ivar.name!r}: {name} is not a thread axis; make one with "
                "te.thread_axis('cthread')"
            )
        if thread_ivar.thread_tag == "vta":
            raise ScheduleError(
                f"stage {self.name!r}: bind of {ivar.name!r}: the tag 'vta' is the accelerator's own; use 'cthread'"
            )
        self._not_reduction(ivar, "bind", unless=thread_ivar.thread_tag.startswith(("rotate", "threadIdx.")))
        self._set_loop(ivar, "bind").thread = thread_ivar

    def _not_reduction(self, axis: IterVar, primitive: str, *, unless: bool = False) -> None:
        if Role.REDUCE in self.roles()[axis] and not unless:
            raise ScheduleError(
                f"stage {self.name!r}: {primitive}: axis {axis.name!r} walks over a reduction, in which order matters"
            )

    def _set_loop(self, axis: IterVar, primitive: str) -> AxisAttrs:
        attrs = self._attrs(axis)
        if attrs.runs:
            raise ScheduleError(f"stage {self.name!r}: {primitive}: axis {axis.name!r} already carries {attrs.runs}")
        return attrs

    def _mark(self, axis: IterVar, kind: ForKind, primitive: str) -> None:
        self.leaf(axis, primitive)
        if kind is not ForKind.UNROLLED:
            self._not_reduction(axis, primitive)
        self._set_loop(axis, primitive).kind = kind

    def vectorize(self, var: IterVar) -> None:
        """Run the iterations of loop ``var`` as one vector operation."""
        self._mark(var, ForKind.VECTORIZED, "vectorize")

    def unroll(self, var: IterVar) -> None:
        """Write out the iterations of loop ``var``."""
        self._mark(var, ForKind.UNROLLED, "unroll")

    def parallel(self, var: IterVar) -> None:
        """Let the iterations of loop ``var`` run in any order, on several threads."""
        self._mark(var, ForKind.PARALLEL, "parallel")

    def tensorize(self, var: IterVar, tensor_intrin: TensorIntrin) -> None:
        """Do what loop ``var`` and all inside of it compute with ``tensor_intrin``."""
        self.leaf(var, "tensorize")
        if not isinstance(tensor_intrin, TensorIntrin):
            raise ScheduleError(
                f"stage {self.name!r}: tensorize: expected the result of te.decl_tensor_intrin, got {tensor_intrin!r}"
            )
        self._set_loop(var, "tensorize").intrinsic = tensor_intrin

    def use_intrinsic(self, called: IntrinsicLoops) -> None:
        """Let an intrinsic stand for its loops, inside of all others: for a computation that is a call of one."""
        inside = [any(leaf is own for own in called.axes) for leaf in self.leaf_iter_vars]
        if not any(inside):  # it stands for one element: for a loop of one iteration
            _, single = self.split(self.leaf_iter_vars[-1], factor=1)
            self.tensorize(single, called.intrinsic)
            return
        outside = [leaf for leaf, own in zip(self.leaf_iter_vars, inside, strict=True) if not own]
        self.reorder(*outside, *called.axes)
        self.tensorize(called.axes[0], called.intrinsic)

    def pragma(self, var: IterVar, pragma_type: str, pragma_value: ExprLike | None = None) -> None:
        """Mark loop ``var`` and all inside of it with ``pragma_type`` (value 1 if none is given)."""
        self.leaf(var, "pragma")
        if not isinstance(pragma_type, str) or not pragma_type:
            raise ScheduleError(f"stage {self.name!r}: pragma: expected the name of a pragma, got {pragma_type!r}")
        kind = _KINDS_BY_PRAGMA.get(pragma_type)
        if kind is not None:
            getattr(self, kind)(var)
            return
        value = convert(1 if pragma_value is None else pragma_value)
        if not isinstance(value, IntImm | StringImm):
            raise ScheduleError(
                f"stage {self.name!r}: pragma {pragma_type!r}: expected a number or a string, got {value}"
            )
        self._attrs(var).pragmas.append((pragma_type, value))

    def storage_align(self, axis: IterVar, factor: int, offset: int) -> None:
        """Make the stride of output dimension ``axis`` equal ``offset`` modulo ``factor`` (in elements)."""
        op = self.compute_op("storage_align")
        if not any(axis is own for own in op.axis):
            dims = ", ".join(own.name for own in op.axis)
            raise ScheduleError(
                f"stage {self.name!r}: storage_align: expected one of the output's axes {dims}, got {axis!r}"
            )
        if factor < 1 or not 0 <= offset < factor:
            raise ScheduleError(
                f"stage {self.name!r}: storage_align: expected 0 <= offset < factor, got {offset} and {factor}"
            )
        self._attrs(axis).align = (int(factor), int(offset))

    def set_store_predicate(self, predicate: ExprLike) -> None:
        """Store only where ``predicate``, a condition on the stage's axes and loops, holds."""
        self.compute_op("set_store_predicate")
        condition = convert(predicate)
        if condition.dtype != BOOL:
            raise ScheduleError(
                f"stage {self.name!r}: set_store_predicate: expected a condition (bool), got {condition}"
            )
        self.store_predicate = condition

    def prefetch(self, tensor: Tensor, var: IterVar, offset: ExprLike) -> None:
        """Take the hint that ``tensor`` is read ``offset`` iterations of ``var`` later, which processors find out."""
        self.leaf(var, "prefetch")
        as_index(offset, f"stage {self.name!r}: prefetch")
        if not any(tensor is read for read in self.op.input_tensors):
            raise ScheduleError(f"stage {self.name!r}: prefetch: it does not read {tensor!r}")

    def double_buffer(self) -> None:
        """Keep two copies of the output, so that one is filled while the other is read."""
        self.compute_op("double_buffer")
        self._may_move("double_buffer")
        self.double_buffered = True
