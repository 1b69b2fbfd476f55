"""Which allocations may lie in the same memory, because no two of them are in use at the same time.

Goes through the points of a function in order. New memory takes the place of an operand that dies in the very statement
that computes it, if that can run in place; else the place of memory that is free, larger pieces first and nothing more
than sixteen times larger or smaller; else a place of its own. Tests: tests/vta/passes/storage/test_storage_rewrite.py
and the rest of tests/vta/passes/storage.
"""

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from math import prod

from vta.passes.storage.in_place import can_run_in_place
from vta.passes.storage.liveness import Liveness, Point, PointKind, is_attach_scope
from vta.tir.buffer import is_global
from vta.tir.dtype import DType
from vta.tir.expr import IntImm, Var, same
from vta.tir.stmt import Allocate
from vta.tir.traverse import uses_var

__all__ = ["ROOT", "Sharing", "StoragePlace", "constant_bits", "is_tagged", "plan_places"]

ROOT = 0
"""The attach scope that is the whole function; the others count from 1 in the order of their statements."""

_MATCH_RANGE = 16
_MAX_BEGINS_IN_PLACE = 2
"""TVM's bounds on reuse. Places decide the addresses in a program, and the recorded programs were made with these."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """What may share memory: operands and results of one statement; memory that is free; a program's of the host."""

    in_place: bool = True
    reuse: bool = True
    of_host: bool = False


@dataclass(slots=True)
class StoragePlace:
    """A piece of memory ``scope``, ``bits`` large, in attach scope ``attach``, that serves ``allocations`` in turn.

    Where the size is not constant, ``bits`` is 0, and all allocations have the extents of the first one.
    """

    scope: str
    dtype: DType
    attach: int
    bits: int
    allocations: list[Allocate] = field(default_factory=list)

    @property
    def var(self) -> Var:
        """The variable that stands for the place: that of its first allocation."""
        return self.allocations[0].buffer_var


_OF_GPUS = ("wmma.", "shared.")


def is_tagged(scope: str) -> bool:
    """Whether ``scope`` is a special memory ("local.acc_buffer") and not the host's, DRAM or a GPU's."""
    return "." in scope and not scope.startswith(_OF_GPUS)


def constant_bits(stmt: Allocate) -> int | None:
    """Return the exact size of an allocation, None if it is not constant."""
    if not all(isinstance(extent, IntImm) for extent in stmt.extents):
        return None
    elements = prod(extent.value for extent in stmt.extents if isinstance(extent, IntImm))
    return elements * stmt.dtype.bits * stmt.dtype.lanes


def plan_places(live: Liveness, sharing: Sharing) -> list[StoragePlace]:
    """Return the places that the allocations of a function need, in order of their first use.

    Left out are allocations that are never used, and those whose place is not ours to choose: DRAM and host memory of a
    size that is not constant, unless the whole program is the host's, and host memory whose address is handed out.
    """
    planner = _PlacePlanner(live, sharing)
    for point in live.points:
        planner.step(point)
    return planner.places


class _PlacePlanner:
    """The state of the walk: where memory is, which places are free, which attach scope is open."""

    def __init__(self, live: Liveness, sharing: Sharing) -> None:
        self.places: list[StoragePlace] = []
        self._live = live
        self._sharing = sharing
        self._of: dict[Var, StoragePlace] = {}
        self._taken_over: set[Var] = set()
        self._free: list[tuple[int, int, StoragePlace]] = []
        self._freed = 0
        self._open_scopes = [ROOT]
        self._scope_count = 0

    def step(self, point: Point) -> None:
        if point.kind is not PointKind.END:
            for var in point.begins:
                if self._is_planned(var):
                    self._begin(self._live.allocations[var], point)
            if is_attach_scope(point.stmt):
                self._scope_count += 1
                self._open_scopes.append(self._scope_count)
        elif is_attach_scope(point.stmt):
            self._open_scopes.pop()
        if point.kind is not PointKind.BEGIN:
            for var in point.ends:
                if var in self._of and var not in self._taken_over:
                    self._release(self._of[var])

    def _is_planned(self, var: Var) -> bool:
        stmt = self._live.allocations[var]
        if is_tagged(stmt.scope):
            return True
        size = constant_bits(stmt)
        if size is None:
            movable = self._sharing.of_host and not any(uses_var(extent, self._live.defined) for extent in stmt.extents)
        else:
            movable = size > 0 and (self._sharing.of_host or not is_global(stmt.scope))
        fixed = not movable or var in self._live.addressed
        return not fixed and isinstance(stmt.condition, IntImm) and bool(stmt.condition.value)

    def _begin(self, stmt: Allocate, point: Point) -> None:
        bits = constant_bits(stmt) or 0
        place = self._operand_place(stmt, bits, point) if self._sharing.in_place else None
        if place is None and self._sharing.reuse:
            place = self._free_place(stmt, bits)
        if place is None:
            place = StoragePlace(stmt.scope, stmt.dtype.element, self._open_scopes[-1], bits)
            self.places.append(place)
        place.bits = max(place.bits, bits)
        place.allocations.append(stmt)
        self._of[stmt.buffer_var] = place

    def _operand_place(self, stmt: Allocate, bits: int, point: Point) -> StoragePlace | None:
        """Return the place of an operand that dies in this statement and may be overwritten."""
        if len(point.begins) > _MAX_BEGINS_IN_PLACE:
            return None
        for var in point.ends:
            place = self._of.get(var)
            if place is None or var in self._taken_over or not self._fits(place, stmt):
                continue
            if place.bits == bits and _as_large(place, stmt) and can_run_in_place(point.stmt, stmt.buffer_var, var):
                self._taken_over.add(var)  # the place lives on under the result's name: its operand must not free it
                return place
        return None

    def _fits(self, place: StoragePlace, stmt: Allocate, *, any_type: bool = False) -> bool:
        same_type = any_type or place.dtype == stmt.dtype.element
        return place.scope == stmt.scope and place.attach == self._open_scopes[-1] and same_type

    def _free_place(self, stmt: Allocate, bits: int) -> StoragePlace | None:
        if bits == 0:
            at = next((k for k, (*_, p) in enumerate(self._free) if self._fits(p, stmt) and _as_large(p, stmt)), None)
            return None if at is None else self._free.pop(at)[2]
        sizes = [size for size, _, _ in self._free]
        begin, middle = bisect_left(sizes, bits // _MATCH_RANGE), bisect_left(sizes, bits)
        end = bisect_right(sizes, bits * _MATCH_RANGE)
        # Larger pieces first: a smaller one grows, which takes memory, where a larger one takes none.
        for at in (*range(middle, end), *range(middle - 1, begin - 1, -1)):
            if not self._free[at][0]:
                continue
            # A scratchpad has no types of its own, and one that grows would have to keep the alignment of both.
            any_type = at >= middle and is_tagged(stmt.scope)
            if self._fits(self._free[at][2], stmt, any_type=any_type):
                return self._free.pop(at)[2]
        return None

    def _release(self, place: StoragePlace) -> None:
        self._freed += 1
        insort(self._free, (place.bits, self._freed, place), key=lambda item: item[:2])


def _as_large(place: StoragePlace, stmt: Allocate) -> bool:
    """Whether a place has the size of an allocation, where one of them is not constant."""
    return bool(place.bits) or same(place.allocations[0].extents, stmt.extents)
