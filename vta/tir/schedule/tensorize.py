"""``tensorize``: an intrinsic in the place of the loops that compute what it does.

The loops become a block first (``blockize``). Both computations are written in the axes of that block's inner one,
simplified, and compared statement by statement; what is read and written then says which parts of the buffers the
intrinsic works on. Tests: tests/vta/tir/schedule/test_tensorize.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from vta.arith.block_regions import analyzer_for
from vta.arith.iter_map import IterMapLevel, detect_iter_map
from vta.tir.buffer import Buffer
from vta.tir.dtype import HANDLE
from vta.tir.expr import Builtin, Call, Expr, IntImm, IterKind, IterVar, Range, Var, const
from vta.tir.func import PrimFunc
from vta.tir.regions import BufferRegion
from vta.tir.schedule.blockize import blockized
from vta.tir.schedule.errors import BlockScheduleError
from vta.tir.schedule.fresh_intrinsic import fresh_intrinsic
from vta.tir.schedule.matching import Pairing, difference, same_statements
from vta.tir.schedule.tree import block_named, loops_around, replaced
from vta.tir.stmt import AttrKey, AttrStmt, Block, BufferStore, For, Stmt
from vta.tir.tensor_intrin import SeveralIntrinsics, TensorIntrin, buffers_of, nest_of
from vta.tir.traverse import substitute, walk

__all__ = ["tensorized"]


def tensorized(func: PrimFunc, target: Var | str, intrinsic: object) -> PrimFunc:
    """Put an intrinsic, or the one of that name, in the place of a loop and what is in it, or of a block's insides."""
    ways = _ways(intrinsic)
    errors: list[BlockScheduleError] = []
    for way in ways:
        try:
            return _with(func, target, way)
        except BlockScheduleError as error:
            errors.append(error)
    raise errors[0]


def _ways(intrinsic: object) -> Sequence[TensorIntrin]:
    match intrinsic:
        case str():
            return [TensorIntrin.get(intrinsic)]
        case TensorIntrin():
            return [intrinsic]
        case SeveralIntrinsics():
            return intrinsic.block_intrinsics()
        case _:
            raise BlockScheduleError(f"tensorize: expected an intrinsic or the name of one, not {intrinsic!r}")


def _with(func: PrimFunc, target: Var | str, intrinsic: TensorIntrin) -> PrimFunc:
    if isinstance(target, str):
        outer = block_named(func, target)
    else:
        func, name = blockized(func, target, "tensorize")
        outer = block_named(func, name)
    around = loops_around(func, outer)
    start, body = outer.init, outer.body
    place = f"tensorize: block {outer.name!r}"
    loops, inner = _inner(body, place)
    uses = _Using(func, place, outer, around)
    _, described = nest_of(intrinsic.desc, intrinsic.name)
    if described.init is not None and start is not None:
        reduced = [a for a in outer.iter_vars if a.kind is not IterKind.DATA_PAR and not _is_single(a)]
        if reduced:
            raise BlockScheduleError(
                f"{place}: intrinsic {intrinsic.name!r} begins the reduction, of which axis {reduced[0].name!r} is "
                "outside; decompose the reduction first"
            )
        inner = replace(inner, init=_whole_start(start))
        start = None
    made = uses.bound(intrinsic, loops, inner)
    if start is not None and intrinsic.start is not None:
        start_loops, start_block = _inner(start, place)
        start = uses.bound(intrinsic.start, start_loops, start_block).stmt
    new = replace(outer, init=start, body=made.stmt, reads=made.reads, writes=made.writes)
    return replaced(func, {id(outer): new})


def _is_single(axis: IterVar) -> bool:
    return axis.dom is not None and isinstance(axis.dom.extent, IntImm) and axis.dom.extent.value == 1


def _whole_start(start: Stmt) -> Stmt:
    """Return the statement of a start that ``blockize`` put into loops of its own."""
    while not isinstance(start, Block):
        assert isinstance(start, For)
        start = start.body
    return start


def _inner(stmt: Stmt, place: str) -> tuple[list[For], Block]:
    loops: list[For] = []
    while isinstance(stmt, For):
        loops.append(stmt)
        stmt = stmt.body
    if not isinstance(stmt, Block):
        raise BlockScheduleError(f"{place}: expected loops around one block in it; blockize a loop, or give the loop")
    return loops, stmt


@dataclass(frozen=True, slots=True)
class _Bound:
    stmt: Stmt
    reads: tuple[BufferRegion, ...]
    writes: tuple[BufferRegion, ...]


@dataclass(frozen=True, slots=True)
class _Using:
    func: PrimFunc
    place: str
    outer: Block
    around: Sequence[For]

    def bound(self, intrinsic: TensorIntrin, loops: Sequence[For], inner: Block) -> _Bound:
        """Return what ``intrinsic`` does in the place of ``loops`` around ``inner``; raises ``BlockScheduleError``."""
        _, described = nest_of(intrinsic.desc, intrinsic.name)
        if not (isinstance(inner.predicate, IntImm) and inner.predicate.value):
            raise self._error(intrinsic, f"the condition {inner.predicate} is in it; split by a factor that divides")
        self._require_whole(intrinsic, loops, inner)
        names = self._paired_axes(intrinsic, inner, described)
        analyzer = analyzer_for(self.around)
        for axis in (*self.outer.iter_vars, *inner.iter_vars):
            if axis.dom is not None:
                analyzer.bind(axis.var, axis.dom)
        pairing = Pairing([axis.var for axis in inner.iter_vars], analyzer)
        like = substitute(replace(described, iter_vars=(), values=(), predicate=const(True, "bool")), names)
        assert isinstance(like, Block)
        own_init = inner.init.body if isinstance(inner.init, Block) else inner.init
        own_names = _start_names(inner) if isinstance(inner.init, Block) else {}
        if own_init is not None:
            own_init = substitute(own_init, own_names)
        if (own_init is None) is not (like.init is None):
            which = ("a", "none") if own_init is not None else ("no", "one")
            raise self._error(intrinsic, f"the block has {which[0]} start of its own, the intrinsic {which[1]}")
        if not (same_statements(inner.body, like.body, pairing) and same_statements(own_init, like.init, pairing)):
            raise self._error(intrinsic, difference(inner, like))
        return self._placed(intrinsic, pairing.found, described)

    def _error(self, intrinsic: TensorIntrin, reason: str) -> BlockScheduleError:
        return BlockScheduleError(f"{self.place}, intrinsic {intrinsic.name!r}: {reason}")

    def _require_whole(self, intrinsic: TensorIntrin, loops: Sequence[For], inner: Block) -> None:
        """Refuse loops that leave out some of what the axes of the block stand for."""
        ranges = {loop.loop_var: Range(loop.min, loop.extent) for loop in loops}
        counts = [loop.extent.value for loop in loops if isinstance(loop.extent, IntImm)]
        sizes = [a.dom.extent.value for a in inner.iter_vars if a.dom and isinstance(a.dom.extent, IntImm)]
        complete = len(counts) == len(loops) and len(sizes) == len(inner.iter_vars) and prod(counts) == prod(sizes)
        unlike = inner.values and detect_iter_map(inner.values, ranges, True, IterMapLevel.Bijective).errors
        if not complete or unlike:
            raise self._error(
                intrinsic,
                f"the loops {', '.join(loop.loop_var.name for loop in loops) or 'none'} do not go once over each value "
                f"of the axes {', '.join(axis.name for axis in inner.iter_vars) or 'none'}",
            )

    def _paired_axes(self, intrinsic: TensorIntrin, inner: Block, described: Block) -> dict[Var, Expr]:
        """Return what the axes of the description stand for; those of one value are that value."""
        names: dict[Var, Expr] = {}
        for kind in dict.fromkeys(axis.kind for axis in (*inner.iter_vars, *described.iter_vars)):
            own = [axis for axis in inner.iter_vars if axis.kind is kind]
            like = [axis for axis in described.iter_vars if axis.kind is kind]
            names.update({a.var: a.dom.min for a in like if a.dom is not None and _is_single(a)})
            like = [axis for axis in like if not _is_single(axis)]
            if [_size(axis) for axis in own] != [_size(axis) for axis in like]:
                raise self._error(
                    intrinsic,
                    f"the {_KINDS.get(kind, 'other')} axes inside have {_sizes(own)} values, those of the intrinsic "
                    f"{_sizes(like)}",
                )
            for mine, its in zip(own, like, strict=True):
                assert its.dom is not None
                names[its.var] = mine.var if _at_zero(its.dom.min) else mine.var + its.dom.min
        return names

    def _placed(
        self, intrinsic: TensorIntrin, found: Mapping[Buffer, tuple[Buffer, tuple[Expr, ...]]], described: Block
    ) -> _Bound:
        """Return the intrinsic's statements on the parts of the buffers that were found."""
        body, views = fresh_intrinsic(self.func, intrinsic)
        written = {node.buffer for node in walk(described) if isinstance(node, BufferStore)}
        reads: list[BufferRegion] = []
        writes: list[BufferRegion] = []
        for like, view in reversed(list(zip(buffers_of(intrinsic.desc, intrinsic.name), views, strict=True))):
            if like not in found:
                raise self._error(intrinsic, f"its buffer {like.name!r} is not used by what it describes")
            target, begin = found[like]
            if (view.scope or "global") != (target.scope or "global"):
                raise self._error(
                    intrinsic,
                    f"buffer {target.name!r} is in memory {target.scope or 'global'!r}, that of the intrinsic in "
                    f"{view.scope or 'global'!r}; set_scope, cache_read or cache_write put it there",
                )
            extra = len(begin) - len(like.shape)
            extents = [const(1, index.dtype) for index in begin[:extra]] + list(like.shape)
            region = tuple(Range(low, extent) for low, extent in zip(begin, extents, strict=True))
            ends = tuple(end for part in region for end in (part.min, part.extent))
            body = AttrStmt(
                (view, target), AttrKey.BUFFER_BIND_SCOPE, Call(HANDLE, Builtin.TUPLE, ends), body, self.outer.origin
            )
            (writes if like in written else reads).insert(0, BufferRegion(target, region))
        return _Bound(body, tuple(reads), tuple(writes))


_KINDS = {IterKind.DATA_PAR: "output", IterKind.COMM_REDUCE: "reduction"}


def _start_names(inner: Block) -> dict[Var, Expr]:
    """Return which axes of a block the axes of its start, which ``blockize`` made, stand for."""
    assert isinstance(inner.init, Block)
    data = [axis for axis in inner.iter_vars if axis.kind is IterKind.DATA_PAR]
    return {axis.var: like.var for axis, like in zip(inner.init.iter_vars, data, strict=True)}


def _size(axis: IterVar) -> str:
    return "" if axis.dom is None else str(axis.dom.extent)


def _sizes(axes: Sequence[IterVar]) -> str:
    return " and ".join(map(_size, axes)) or "no"


def _at_zero(expr: Expr) -> bool:
    return isinstance(expr, IntImm) and expr.value == 0
