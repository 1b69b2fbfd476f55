"""Sums of products that GEMM computes, recognised by their expressions.

Tests: tests/vta/auto_scheduler/test_products.py.

A step of GEMM adds to one element, (BATCH, BLOCK_OUT) numbers, what one element of the data, (BATCH, BLOCK_IN), gives
with one of the weights, (BLOCK_OUT, BLOCK_IN). With DEPTHWISE_TAPS there is a step lane by lane, too
(``vta.intrin.depthwise_product``). Whatever loops are around such a step, a definition may have.
"""

from dataclasses import dataclass

from isa.errors import VTAError
from vta import te
from vta.environment import Environment
from vta.intrin import depthwise_product
from vta.tir.expr import (
    Add,
    Builtin,
    Call,
    Cast,
    Expr,
    IntImm,
    IterVar,
    Mul,
    ProducerLoad,
    Reduce,
    Var,
    same,
)
from vta.tir.traverse import walk
from vta.topi.core.sizes import sizes

__all__ = ["DefinitionError", "Product", "extent_of", "has_products", "product_of"]


class DefinitionError(VTAError, ValueError):
    """A definition that no schedule is found for."""


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A stage that sums products: of ``data`` and ``weights``, as its expression reads them.

    ``sums`` are the axes that it sums over, without the last one, which is inside of a step. A step takes ``taps``
    places at once, lane by lane, or is one of whole blocks (0).
    """

    tensor: te.Tensor
    data: te.Tensor
    weights: te.Tensor
    sums: tuple[IterVar, ...]
    taps: int = 0

    @property
    def op(self) -> te.ComputeOp:
        """The operation."""
        assert isinstance(self.tensor.op, te.ComputeOp)
        return self.tensor.op


def extent_of(axis: IterVar) -> int:
    """Return how many iterations ``axis`` has."""
    assert axis.dom is not None
    assert isinstance(axis.dom.extent, IntImm)
    return axis.dom.extent.value


def has_products(tensor: te.Tensor) -> bool:
    """Whether a stage sums products: what GEMM is for."""
    op = tensor.op
    if not isinstance(op, te.ComputeOp) or not op.reduce_axis:
        return False
    return any(
        isinstance(node, Mul) and not isinstance(node.a, IntImm) and not isinstance(node.b, IntImm)
        for body in op.body
        if isinstance(body, Reduce)
        for source in body.source
        for node in _values(source)
    )


def _values(expr: Expr) -> list[Expr]:
    """Return the parts of ``expr`` that are numbers of tensors, what is inside of an index left out."""
    found, work = [], [expr]
    while work:
        node = work.pop()
        found.append(node)
        match node:
            case Mul(a=a, b=b) | Add(a=a, b=b):
                work += [a, b]
            case Cast(value=value):
                work.append(value)
            case Call(op=Builtin.IF_THEN_ELSE, args=(_, chosen, other)):
                work += [chosen, other]
            case _:
                continue
    return found


def product_of(tensor: te.Tensor, env: Environment) -> Product:
    """Return ``tensor`` as GEMM computes it on ``env``; raises ``DefinitionError`` naming the stage, and the axis."""
    return _Recognised(tensor, env).product()


@dataclass(frozen=True, slots=True)
class _Recognised:
    tensor: te.Tensor
    env: Environment

    def product(self) -> Product:
        op = self.tensor.op
        assert isinstance(op, te.ComputeOp)
        if len(op.body) != 1:
            raise self._error(f"it has {len(op.body)} results at once, and GEMM has one")
        [body] = op.body
        assert isinstance(body, Reduce)
        self._require_sum(body)
        self._require_cell(op)
        *sums, inner = op.reduce_axis
        [source] = body.source
        lanes = self._lane_by_lane(source, inner)
        first, second = lanes or self._factors(source)
        loads = [self._operand(first), self._operand(second)]
        data, weights = sorted(loads, key=lambda load: self._is_weight(load))
        self._require_lanes(op, data, weights, inner, taps=bool(lanes))
        return Product(
            self.tensor,
            self._typed(data, self.env.inp_dtype, "data"),
            self._typed(weights, self.env.wgt_dtype, "weights"),
            tuple(sums),
            self.env.config.depthwise_taps if lanes else 0,
        )

    def _error(self, reason: str) -> DefinitionError:
        return DefinitionError(f"stage {self.tensor.name!r}: {reason}")

    def _require_sum(self, body: Reduce) -> None:
        """Refuse other reductions, conditions, and sums that begin with something."""
        combined = body.combiner.result
        if len(combined) != 1 or not isinstance(combined[0], Add):
            raise self._error("GEMM sums products; another reduction of products has no unit")
        if not (isinstance(body.condition, IntImm) and body.condition.value):
            raise self._error("GEMM sums all products; put the condition into a stage that pads an operand with zeros")
        if body.init and not all(isinstance(value, IntImm) and not value.value for value in body.init):
            raise self._error("GEMM's sums begin with zero; add what they begin with in a stage behind them")
        if str(body.dtype) != self.env.acc_dtype:
            raise self._error(f"GEMM's sums are {self.env.acc_dtype}, not {body.dtype}")

    def _require_cell(self, op: te.ComputeOp) -> None:
        """Refuse results whose last two dimensions are no element of the accumulator."""
        cell = (self.env.BATCH, self.env.BLOCK_OUT)
        extents = sizes(self.tensor)
        if len(extents) < 3:
            raise self._error(
                f"a result of GEMM has the dimensions of an element, {cell[0]} x {cell[1]}, and one or more in front "
                f"of them, not {len(extents)} in all"
            )
        for axis, extent, wanted, name in zip(op.axis[-2:], extents[-2:], cell, ("BATCH", "BLOCK_OUT"), strict=True):
            if extent != wanted:
                raise self._error(
                    f"axis {axis.name!r} is inside of an element of GEMM's result, where {name} is {wanted}, and it "
                    f"has {extent}; pack the tensor in blocks, filled up with zeros"
                )

    def _lane_by_lane(self, source: Expr, inner: IterVar) -> tuple[Expr, Expr] | None:
        """Return the factors of a step that takes taps lane by lane, None if it is none."""
        taps = self.env.config.depthwise_taps
        match source:
            case Call(op=Builtin.IF_THEN_ELSE, args=(condition, Mul(a=data, b=weight), IntImm(value=0))):
                wanted = depthwise_product(lambda _: data, weight, inner.var, taps) if taps else None
                if isinstance(wanted, Call) and same(wanted.args[0], condition):
                    return data, weight
                raise self._error(
                    f"GEMM takes {taps} places lane by lane in a step (DEPTHWISE_TAPS), and the condition on axis "
                    f"{inner.name!r} says otherwise; write it with vta.intrin.depthwise_product"
                )
            case _:
                return None

    def _factors(self, source: Expr) -> tuple[Expr, Expr]:
        match source:
            case Mul(a=a, b=b):
                return a, b
            case _:
                raise self._error("GEMM sums products of two numbers; compute anything else in stages of its own")

    def _operand(self, factor: Expr) -> ProducerLoad:
        match factor:
            case Cast(value=ProducerLoad() as load) if str(factor.dtype) == self.env.acc_dtype:
                return load
            case ProducerLoad() as load:
                return load
            case _:
                raise self._error(
                    f"a factor of GEMM is a number of a tensor, converted to {self.env.acc_dtype}; compute what is "
                    "done to it before in a stage behind the sums, or on the host"
                )

    def _is_weight(self, load: ProducerLoad) -> bool:
        """Whether the place of the second last dimension is the lane of the result: that of a weight's row."""
        op = self.tensor.op
        assert isinstance(op, te.ComputeOp)
        return len(load.indices) > 2 and load.indices[-2] is op.axis[-1].var

    def _require_lanes(
        self, op: te.ComputeOp, data: ProducerLoad, weights: ProducerLoad, inner: IterVar, *, taps: bool
    ) -> None:
        """Refuse operands whose last dimensions are not those of GEMM's elements."""
        row, lane = op.axis[-2], op.axis[-1]
        block = self.env.BLOCK_IN
        if extent_of(inner) != block:
            raise self._error(
                f"axis {inner.name!r}, the last one that is summed over, is inside of a step of GEMM, where BLOCK_IN "
                f"is {block}, and it has {extent_of(inner)}; sum over blocks of channels, then over the channels of a "
                "block"
            )
        wanted = (
            (data, (row.var, lane.var if taps else inner.var), "BATCH", "the data"),
            (weights, (lane.var, inner.var), "BLOCK_OUT", "the weights"),
        )
        for load, places, rows, what in wanted:
            for place, found in zip(places, load.indices[-2:], strict=False):
                if not _is_place(found, place):
                    names = {row.var: row.name, lane.var: lane.name, inner.var: inner.name}
                    raise self._error(
                        f"{what} {load.producer.name!r} are read by axis {names[place]!r} in one of their last two "
                        f"dimensions, those of GEMM's element ({rows} x {'BLOCK' if taps else 'BLOCK_IN'}), not by "
                        f"{found}; pack the tensor, lanes last"
                    )
            used = {node for index in load.indices[:-2] for node in walk(index) if isinstance(node, Var)}
            if used & {row.var, lane.var} or (not taps and inner.var in used):
                raise self._error(
                    f"{what} {load.producer.name!r} are read at a place that depends on a lane, and GEMM reads whole "
                    "elements"
                )

    def _typed(self, load: ProducerLoad, dtype: str, what: str) -> te.Tensor:
        tensor = load.producer
        assert isinstance(tensor, te.Tensor)
        if str(tensor.dtype) != dtype:
            raise self._error(f"{what} {tensor.name!r} are {dtype}, not {tensor.dtype}")
        return tensor


def _is_place(index: Expr, var: Var) -> bool:
    """Whether ``index`` is ``var``, or the 0 of a dimension of one."""
    return index is var or (isinstance(index, IntImm) and index.value == 0)
