"""Whether the loops from an axis inwards compute what a tensor intrinsic declares, and on which parts of the tensors.

Both computations are written in the intrinsic's axes, simplified, and compared node by node. Leading axes of the stage
that the intrinsic does not have must have one trip inside. Tests: tests/vta/te/test_tensorize_match.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod
from typing import TypeAlias

from isa.errors import VTAError
from vta.arith.bounds import Interval
from vta.arith.simplify import Analyzer
from vta.te.iteration import root_intervals
from vta.te.lowering.box import Box
from vta.te.lowering.infer_bound import Placed
from vta.te.lowering.predicates import Guard
from vta.te.lowering.reads import index_interval
from vta.te.operation import domain, load_tensor, tensor_loads
from vta.te.relations import children_of, ends, parents_of
from vta.te.tensor import Tensor
from vta.te.tensorize.compare import same_bodies, same_values, starts
from vta.te.tensorize.intrin import TensorIntrin
from vta.tir.deep import deep
from vta.tir.expr import Expr, IntImm, IterVar, ProducerLoad, Range, Reduce, Var, const
from vta.tir.traverse import map_children, substitute, uses_var, walk

__all__ = ["Match", "TensorizeError", "match_intrinsic"]


class TensorizeError(VTAError, ValueError):
    """Loops that a tensor intrinsic cannot stand for."""


@dataclass(frozen=True, slots=True)
class Match:
    """Which part of each tensor the intrinsic works on.

    ``outputs`` is the region of the stage's outputs, ``inputs`` the tensor and region of each input of the
    intrinsic. ``values`` is what the schedule's variables stand for around the intrinsic. ``starts_alike``: whether the
    stage's reduction begins with the values that the intrinsic begins with.
    """

    outputs: tuple[Range, ...]
    inputs: tuple[tuple[Tensor, tuple[Range, ...]], ...]
    values: Mapping[Var, Expr]
    starts_alike: bool


@dataclass(frozen=True, slots=True)
class _Renaming:
    """``fresh`` variables for the intrinsic's axes, the ``places`` of the stage's root variables in terms of these, and
    what the variables in the intrinsic's declaration become (``names``)."""

    fresh: Mapping[IterVar, Var]
    places: Mapping[Var, Expr]
    names: Mapping[Var, Expr]


_PERMUTED = 4
"""Up to so many inputs are tried in every order."""

_Pairing: TypeAlias = list[tuple[ProducerLoad, Tensor]]
_Inputs: TypeAlias = dict[Tensor, tuple[Tensor, tuple[Range, ...]]]


def match_intrinsic(
    placed: Placed,
    position: int,
    intrinsic: TensorIntrin,
    inner: Sequence[Guard],
    analyzer: Analyzer,
    *,
    guardable: bool,
) -> Match:
    """Return the regions that ``intrinsic`` works on in place of the loops from ``position`` on.

    ``inner`` are the guards that depend on these loops: if ``guardable``, the intrinsic may have the same condition in
    its own body. Raises ``TensorizeError`` where the computations differ.
    """
    matching = _Matching(placed, position, intrinsic, analyzer)
    if inner and not guardable:
        raise matching.dependent_error(inner[0])
    return matching.match(inner)


@dataclass(frozen=True, slots=True)
class _Matching:
    placed: Placed
    position: int
    intrinsic: TensorIntrin
    analyzer: Analyzer

    def match(self, inner: Sequence[Guard]) -> Match:
        op, target = self.placed.op, self.intrinsic.op
        intervals = root_intervals(self.placed.iteration, self.position, self.analyzer)
        regions = {axis: self._region(intervals[axis.var]) for axis in self.placed.iteration.region}
        if bool(op.reduce_axis) != bool(target.reduce_axis):
            kinds = ["a reduction" if o.reduce_axis else "no reduction" for o in (op, target)]
            raise self._error(f"the stage is {kinds[0]}, but the intrinsic {self.intrinsic.name!r} {kinds[1]}")
        pairs = self._paired(op.axis, target.axis, regions) | self._paired(op.reduce_axis, target.reduce_axis, regions)
        ours, theirs = ([str(t.dtype) for t in o.outputs] for o in (op, target))
        if ours != theirs:
            raise self._error(f"expected outputs of type {', '.join(theirs)}, got {', '.join(ours)}")
        self._check_box(regions)
        values = self._values(regions, pairs)
        fresh = {axis: Var(axis.name) for axis in (*target.axis, *target.reduce_axis)}
        places: dict[Var, Expr] = {
            axis.var: fresh[pairs[axis]] + dom.min if axis in pairs else dom.min for axis, dom in regions.items()
        }
        names: dict[Var, Expr] = places | dict(values) | {axis.var: var for axis, var in fresh.items()}
        renaming = _Renaming(fresh, places, names)
        inputs = self._matching_inputs(inner, renaming, intervals)
        outputs = tuple(regions[axis] for axis in op.axis)
        return Match(outputs, tuple(inputs.values()), values, self._starts_alike(renaming))

    def _starts_alike(self, renaming: _Renaming) -> bool:
        """Whether both reductions begin with the same values; an element of a tensor is no such value."""
        own, target = self.placed.body[0], self.intrinsic.op.body[0]
        if not isinstance(own, Reduce) or not isinstance(target, Reduce) or self._start_is_read:
            return True
        ours = [substitute(value, renaming.places) for value in starts(own)]
        theirs = [substitute(value, renaming.names) for value in starts(target)]
        return not _reads(ours) and same_values(ours, theirs, self._bound_analyzer(renaming))

    @property
    def _start_is_read(self) -> bool:
        """Whether the intrinsic begins with elements of an input: then the stage must begin with the same."""
        target = self.intrinsic.op.body[0]
        return isinstance(target, Reduce) and _reads(target.init)

    def _compared(self, body: Sequence[Expr]) -> list[Expr]:
        """Return ``body`` without the start values, which need not be the same."""
        if self._start_is_read:
            return list(body)
        return [replace(expr, init=()) if isinstance(expr, Reduce) else expr for expr in body]

    def _matching_inputs(
        self, inner: Sequence[Guard], renaming: _Renaming, intervals: Mapping[Var, Interval]
    ) -> _Inputs:
        """Return the inputs of the first pairing of reads under which the computations are the same."""
        errors: list[TensorizeError] = []
        for pairing in self._pairings():
            try:
                inputs = self._inputs(pairing, intervals)
                self._compare(inner, renaming, pairing, inputs)
            except TensorizeError as error:
                errors.append(error)
            else:
                return inputs
        raise errors[0]

    def _error(self, reason: str) -> TensorizeError:
        axis = self.placed.iteration.loops[self.position].axis
        return TensorizeError(f"Tensorize failed: stage {self.placed.stage.name!r}, axis {axis.name!r}: {reason}")

    def _region(self, interval: Interval) -> Range:
        low, high = ends(interval)
        return Range(low, const(1) if low is high else self.analyzer.simplify(high - low + 1))

    def _paired(
        self, own: Sequence[IterVar], target: Sequence[IterVar], regions: Mapping[IterVar, Range]
    ) -> dict[IterVar, IterVar]:
        """Return the intrinsic's axis for each of ``own`` but the leading ones of one trip."""
        extra = len(own) - len(target)
        sizes = [regions[axis].extent for axis in own]
        wanted = [const(1)] * max(extra, 0) + [domain(axis).extent for axis in target]
        fits = extra >= 0 and all(self.analyzer.can_prove_equal(a, b) for a, b in zip(sizes, wanted, strict=True))
        if not fits:
            raise self._error(self._order_message(regions))
        return dict(zip(own[extra:], target, strict=True))

    def _order_message(self, regions: Mapping[IterVar, Range]) -> str:
        op, target, stage = self.placed.op, self.intrinsic.op, self.placed.stage
        got = ", ".join(f"{axis.name}: {dom.extent}" for axis, dom in regions.items())
        needs = ", ".join(f"{axis.name}: {domain(axis).extent}" for axis in (*target.axis, *target.reduce_axis))
        text = f"the loops inside cover {got}, but the intrinsic {self.intrinsic.name!r} computes {needs}"
        expected = self._expected_order()
        if expected:
            text += f"; expected axis order, from the tensorised axis inwards: {', '.join(expected)}"
        elif len(op.axis) < len(target.axis) or len(op.reduce_axis) < len(target.reduce_axis):
            text += f"; the stage has {len(op.axis)} output and {len(op.reduce_axis)} reduction axes"
        return f"{text}; got the loops: {', '.join(leaf.name for leaf in stage.leaf_iter_vars)}"

    def _expected_order(self) -> list[str]:
        """Return the loops that the intrinsic's axes would be, if there is one of the right size for each."""
        result: list[str] = []
        op, target = self.placed.op, self.intrinsic.op
        for own, wanted in ((op.axis, target.axis), (op.reduce_axis, target.reduce_axis)):
            if len(own) < len(wanted):
                return []
            for axis, like in zip(own[len(own) - len(wanted) :], wanted, strict=True):
                leaf = self._leaf_of_size(axis, domain(like).extent)
                if leaf is None:
                    return []
                result.append(leaf.name)
        return result

    def _leaf_of_size(self, axis: IterVar, size: Expr) -> IterVar | None:
        below = [axis]
        for relation in self.placed.iteration.relations:
            if any(parent in below for parent in parents_of(relation)):
                below.extend(children_of(relation))
        extents = self.placed.iteration.extents
        leaves = [leaf for leaf in self.placed.stage.leaf_iter_vars if any(leaf is b for b in below)]
        fitting = [leaf for leaf in leaves if self.analyzer.can_prove_equal(extents[leaf], size)]
        return fitting[-1] if fitting else None

    def _check_box(self, regions: Mapping[IterVar, Range]) -> None:
        """Check that the loops inside visit every element of the region once."""
        trips = [loop.extent for loop in self.placed.iteration.loops[self.position :]]
        sizes = [dom.extent for dom in regions.values()]
        visited = [t.value for t in trips if isinstance(t, IntImm)]
        covered = [s.value for s in sizes if isinstance(s, IntImm)]
        if len(visited) != len(trips) or len(covered) != len(sizes) or prod(visited) != prod(covered):
            raise self._error(
                f"the loops inside do {' * '.join(map(str, trips))} steps, but touch {' * '.join(map(str, sizes))} "
                "elements; expected loops that cover a box of constant size exactly"
            )

    def _values(self, regions: Mapping[IterVar, Range], pairs: Mapping[IterVar, IterVar]) -> dict[Var, Expr]:
        loops = (*self.placed.around, *self.placed.iteration.loops[: self.position])
        values = {loop.axis.var: loop.value for loop in loops if loop.value is not loop.axis.var}
        values.update({axis.var: dom.min for axis, dom in regions.items() if axis not in pairs})
        return values

    def _inputs(self, pairing: _Pairing, intervals: Mapping[Var, Interval]) -> _Inputs:
        """Return for each of the intrinsic's inputs the tensor of the stage and the region that is read of it."""
        result: _Inputs = {}
        for like in self.intrinsic.inputs:
            loads = [load for load, target in pairing if target is like]
            tensor = load_tensor(loads[0])
            if tensor.dtype != like.dtype:
                raise self._error(
                    f"input {like.name!r} of the intrinsic is {like.dtype}, but {tensor.name!r} is {tensor.dtype}"
                )
            box = Box(tensor.shape, self.analyzer)
            for load in loads:
                for dim, index in enumerate(load.indices):
                    box.add(dim, index_interval(index, intervals, self.analyzer))
            result[like] = (tensor, tuple(self._fitted(tensor, box.exact_ranges(), like)))
        return result

    def _pairings(self) -> Iterator[_Pairing]:
        """Yield ways to take each read of the stage for an input: by position, by order of appearance, and the others.

        The others are tried because operands may be written in another order.
        """
        own, target = (list(tensor_loads(self._compared(b))) for b in (self.placed.body, self.intrinsic.op.body))
        inputs = self.intrinsic.inputs
        tensors = list(dict.fromkeys(load_tensor(load) for load in own))
        if len(own) == len(target):
            pairs = [(load, load_tensor(like)) for load, like in zip(own, target, strict=True)]
            if len({(like, load_tensor(load)) for load, like in pairs}) == len(inputs):
                yield pairs
        elif len(tensors) != len(inputs):
            names = ", ".join(t.name for t in tensors) or "none"
            raise self._error(f"expected {len(inputs)} input tensors, got {len(tensors)}: {names}")
        if len(tensors) == len(inputs) <= _PERMUTED:
            for order in permutations(inputs):
                chosen = dict(zip(tensors, order, strict=True))
                yield [(load, chosen[load_tensor(load)]) for load in own]

    def _fitted(self, tensor: Tensor, region: Sequence[Range], like: Tensor) -> list[Range]:
        """Return ``region`` as large as input ``like`` of the intrinsic, which may see more than it reads."""
        extra = tensor.ndim - like.ndim
        wanted = [const(1)] * max(extra, 0) + list(like.shape)
        result: list[Range] = []
        for dom, size, whole in zip(region, wanted, tensor.shape, strict=False):
            inside = self.analyzer.can_prove(dom.extent < size) and self.analyzer.can_prove(dom.min + size <= whole)
            result.append(Range(dom.min, size) if inside else dom)
        same_size = all(self.analyzer.can_prove_equal(d.extent, s) for d, s in zip(result, wanted, strict=False))
        if extra < 0 or not same_size:
            got, needs = (", ".join(map(str, sizes)) for sizes in ([d.extent for d in result], like.shape))
            raise self._error(
                f"the loops inside read a region of size ({got}) of tensor {tensor.name!r}, but input {like.name!r} of "
                f"the intrinsic has the shape ({needs})"
            )
        return result

    def _compare(self, inner: Sequence[Guard], renaming: _Renaming, pairing: _Pairing, inputs: _Inputs) -> None:
        analyzer = self._bound_analyzer(renaming)
        reads = iter(pairing)

        @deep
        def rename(expr: Expr) -> Expr:
            if isinstance(expr, Var):
                return renaming.places.get(expr, expr)
            if not isinstance(expr, ProducerLoad):
                return map_children(rename, expr)
            _, like = next(reads)
            tensor, region = inputs[like]
            extra = tensor.ndim - like.ndim
            indices = [rename(i) - dom.min for i, dom in zip(expr.indices, region, strict=True)]
            return ProducerLoad(like, tuple(indices[extra:]))

        shared = 1 if pairing and self.placed.op.reduce_axis else None
        own = [rename(expr) for expr in self._compared(self.placed.body)[:shared]]
        target = [substitute(expr, renaming.names) for expr in self._compared(self.intrinsic.op.body)[: len(own)]]
        conditions = [self._over_roots(guard, renaming.places) for guard in inner]
        if same_bodies(own, target, conditions, analyzer):
            return
        if inner:
            raise self.dependent_error(inner[0])
        ours, theirs = ("\n".join(f"    {analyzer.simplify(e)}" for e in body) for body in (own, target))
        raise self._error(f"it computes\n{ours}\nbut the intrinsic {self.intrinsic.name!r} computes\n{theirs}")

    def _bound_analyzer(self, renaming: _Renaming) -> Analyzer:
        analyzer = Analyzer()
        for loop in (*reversed(self.placed.around), *self.placed.iteration.loops[: self.position]):
            analyzer.bind(loop.var, Range(const(0), loop.extent))
        for axis, var in renaming.fresh.items():
            analyzer.bind(var, domain(axis))
        return analyzer

    def _over_roots(self, guard: Guard, places: Mapping[Var, Expr]) -> Expr:
        """Return a guard in the intrinsic's axes; only a tensor's end can be one, the end of a loop cannot."""
        if not guard.element:
            raise self.dependent_error(guard)
        return substitute(guard.of(guard.axis.var), places)

    def dependent_error(self, guard: Guard) -> TensorizeError:
        """Return the error that a condition depends on the loops that the intrinsic stands for."""
        loops = self.placed.iteration.loops[self.position :]
        used = [loop.axis.name for loop in loops if uses_var(guard.condition, loop.var)]
        return self._error(
            f"split condition {guard.condition} depends on axis {', '.join(used)}, which the intrinsic "
            f"{self.intrinsic.name!r} stands for; choose a factor that divides, or an intrinsic whose body has this "
            "condition itself"
        )


def _reads(exprs: Sequence[Expr]) -> bool:
    """Whether an element of a tensor is in ``exprs``."""
    return any(isinstance(node, ProducerLoad) for expr in exprs for node in walk(expr))
