"""The body of a stage: the stores that compute one element, and those that start and update a reduction.

Tests: tests/vta/te/test_lower.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vta.arith.simplify import Analyzer
from vta.te.iteration import Loop
from vta.te.lowering.infer_bound import Placed
from vta.te.lowering.nest import guarded, init_nest
from vta.te.lowering.predicates import guards
from vta.te.operation import load_tensor
from vta.te.tensor import Tensor
from vta.tir.buffer import Buffer
from vta.tir.expr import Binary, BufferLoad, Compare, Expr, IntImm, ProducerLoad, Reduce, Var, binary
from vta.tir.stmt import BufferStore, IfThenElse, LetStmt, Stmt, seq
from vta.tir.traverse import map_expr, substitute

__all__ = ["Parts", "StageBody"]


@dataclass(frozen=True, slots=True)
class Parts:
    """What stands inside the loops: ``update``, and for a reduction ``init`` in loops of its own before it."""

    update: Stmt
    init: Stmt | None = None
    init_loops: tuple[Loop, ...] = ()


@dataclass(frozen=True, slots=True)
class StageBody:
    """Writes the stores of one stage; ``buffers`` has the memory of every tensor."""

    placed: Placed
    buffers: Mapping[Tensor, Buffer]

    def statements(self, analyzer: Analyzer, common: int) -> Parts:
        """Return the stores under their guards; ``common`` loops are around both init and update."""
        placed, iteration = self.placed, self.placed.iteration
        origin = placed.op.origin
        first = placed.body[0]
        conditions = guards(iteration, analyzer, values=iteration.values, positions=iteration.positions)
        if not isinstance(first, Reduce):
            return Parts(self._where(guarded(conditions, self.stores(placed.body, iteration.positions), origin)))
        nest = init_nest(placed, common, len(iteration.loops))
        start = guards(iteration, analyzer, values=nest.values, positions=nest.positions)
        init = guarded(start, self.stores(first.init or first.combiner.identity, nest.positions), origin)
        return Parts(self._where(guarded(conditions, self._update(first), origin)), init, nest.loops)

    def _where(self, body: Stmt) -> Stmt:
        """Return ``body`` under the condition that the schedule set for its stores."""
        condition = self.placed.stage.store_predicate
        if condition is None:
            return body
        iteration = self.placed.iteration
        places = {axis.var: value for axis, value in iteration.values.items()} | dict(iteration.positions)
        return IfThenElse(self.expression(condition, places), body, None, self.placed.op.origin)

    def expression(self, expr: Expr, positions: Mapping[Var, Expr]) -> Expr:
        """Return ``expr`` with buffers for tensors and ``positions`` for root variables; constants are folded."""

        def on_node(node: Expr) -> Expr:
            match node:
                case Var():
                    return positions.get(node, node)
                case ProducerLoad():
                    return BufferLoad(self.buffers[load_tensor(node)], node.indices)
                case Binary() | Compare() if isinstance(node.a, IntImm) or isinstance(node.b, IntImm):
                    return binary(type(node), node.a, node.b)
                case _:
                    return node

        return map_expr(on_node, expr)

    def stores(self, values: tuple[Expr, ...], positions: Mapping[Var, Expr]) -> Stmt:
        """Return the stores of ``values``, one for each output, at ``positions`` of the output's axes."""
        op = self.placed.op
        indices = tuple(positions[axis.var] for axis in op.axis)
        return seq(
            BufferStore(self.buffers[tensor], self.expression(value, positions), indices, op.origin)
            for tensor, value in zip(op.outputs, values, strict=True)
        )

    def _update(self, reduce: Reduce) -> Stmt:
        op, positions = self.placed.op, self.placed.iteration.positions
        indices = tuple(positions[axis.var] for axis in op.axis)
        old = [BufferLoad(self.buffers[tensor], indices) for tensor in op.outputs]
        new = [self.expression(source, positions) for source in reduce.source]
        combined = dict(zip((*reduce.combiner.lhs, *reduce.combiner.rhs), [*old, *new], strict=True))
        values = [substitute(value, combined) for value in reduce.combiner.result]
        update = self._update_all(values, indices)
        condition = self.expression(reduce.condition, positions)
        if isinstance(condition, IntImm) and condition.value:
            return update
        return IfThenElse(condition, update, None, op.origin)

    def _update_all(self, values: list[Expr], indices: tuple[Expr, ...]) -> Stmt:
        """Store all values; several are computed before the first of them is stored, because they read one another."""
        op = self.placed.op
        if len(values) == 1:
            return BufferStore(self.buffers[op.outputs[0]], values[0], indices, op.origin)
        held = [Var(f"{tensor.name}.new", tensor.dtype) for tensor in op.outputs]
        result: Stmt = seq(
            BufferStore(self.buffers[tensor], var, indices, op.origin)
            for tensor, var in zip(op.outputs, held, strict=True)
        )
        for var, value in zip(reversed(held), reversed(values), strict=True):
            result = LetStmt(var, value, result, op.origin)
        return result
