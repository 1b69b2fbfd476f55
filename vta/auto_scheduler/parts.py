"""What a definition consists of, by the unit that does it. Tests: tests/vta/auto_scheduler/test_parts.py."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from vta import te
from vta.auto_scheduler.gathers import gathered
from vta.auto_scheduler.products import DefinitionError, Product, has_products, product_of
from vta.environment import Environment
from vta.tir.expr import Builtin, Call, Cast, Expr, IntImm, ProducerLoad
from vta.topi.core.fused import producers_first
from vta.topi.core.sizes import sizes

__all__ = ["Parts", "parts_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """``output`` and what is computed before it.

    ``products`` are GEMM's, ``stages`` the ALU's, elementwise or reductions, in order; ``loads`` are converted or
    padded on their way into the accumulator, ``direct`` are read there as they are; ``inlined`` are part of a load.
    """

    output: te.Tensor
    products: tuple[Product, ...]
    stages: tuple[te.Tensor, ...]
    loads: tuple[te.Tensor, ...]
    direct: tuple[te.Tensor, ...]
    inlined: tuple[te.Tensor, ...]

    @property
    def outer(self) -> tuple[int, ...]:
        """The extents of the output's dimensions that tiles cut: all but the element's."""
        return sizes(self.output)[:-2]

    @property
    def computed(self) -> tuple[te.Tensor, ...]:
        """What takes accumulators, in the order in which it is computed."""
        taking = {product.tensor for product in self.products} | {*self.stages, *self.loads, *self.direct}
        return tuple(tensor for tensor in producers_first(self.output) if tensor in taking)

    def source_of(self, tensor: te.Tensor) -> te.Tensor:
        """Return what the load of ``tensor`` reads in memory."""
        while not isinstance(tensor.op, te.PlaceholderOp):
            [tensor] = tensor.op.input_tensors
        return tensor


def parts_of(output: te.Tensor, env: Environment) -> Parts:
    """Return what ``output`` is computed from on ``env``; raises ``DefinitionError`` for what has no place there."""
    _require_stored(output, env)
    output = gathered(output, _products(output, env))
    return _Sorted(output, _products(output, env), env).parts()


def _products(output: te.Tensor, env: Environment) -> dict[te.Tensor, Product]:
    return {tensor: product_of(tensor, env) for tensor in producers_first(output) if has_products(tensor)}


@dataclass(frozen=True, slots=True)
class _Sorted:
    output: te.Tensor
    products: Mapping[te.Tensor, Product]
    env: Environment

    def parts(self) -> Parts:
        order = producers_first(self.output)
        readers = {tensor: [each for each in order if tensor in each.op.input_tensors] for tensor in order}
        operands = {operand for product in self.products.values() for operand in (product.data, product.weights)}
        moving = self._moving(order, readers)
        stages: list[te.Tensor] = []
        loads: list[te.Tensor] = []
        direct: list[te.Tensor] = []
        inlined: list[te.Tensor] = []
        for operand in operands:
            if operand not in moving:
                raise DefinitionError(
                    f"stage {operand.name!r}: GEMM reads what lies in memory, as it is or padded with zeros, and this "
                    "is computed; store it in a function of its own first"
                )
        for tensor in order[:-1]:
            alone = [each for each in readers[tensor] if each not in moving and each not in self.products]
            if tensor in self.products:
                continue
            if isinstance(tensor.op, te.PlaceholderOp):
                if alone:
                    self._require_number(tensor, alone)
                    direct.append(tensor)
            elif tensor not in moving:
                self._require_alu(tensor)
                stages.append(tensor)
            elif not alone:
                inlined.append(tensor)
            else:
                self._require_apart(tensor, operands, alone)
                loads.append(tensor)
        return Parts(
            self.output, tuple(self.products.values()), tuple(stages), tuple(loads), tuple(direct), tuple(inlined)
        )

    def _moving(self, order: Sequence[te.Tensor], readers: Mapping[te.Tensor, Sequence[te.Tensor]]) -> set[te.Tensor]:
        """Return the tensors that loads alone make of what lies in memory, and what lies there.

        What the accumulator holds is not loaded once more: who moves it further is a stage of the ALU's.
        """
        moving: set[te.Tensor] = set()
        for tensor in order[:-1]:
            if isinstance(tensor.op, te.PlaceholderOp) or (
                _only_moves(tensor.op) and all(source in moving for source in tensor.op.input_tensors)
            ):
                moving.add(tensor)
        for tensor in order:
            held = any(each not in moving and each not in self.products for each in readers[tensor])
            if tensor in moving and held and not isinstance(tensor.op, te.PlaceholderOp):
                moving.difference_update(_behind(readers, tensor))
        return moving

    def _require_number(self, tensor: te.Tensor, readers: Sequence[te.Tensor]) -> None:
        if str(tensor.dtype) != self.env.acc_dtype:
            raise DefinitionError(
                f"tensor {tensor.name!r}: stage {readers[0].name!r} computes with {tensor.dtype}, and the ALU with "
                f"{self.env.acc_dtype}; convert it by a stage of its own, topi.cast({tensor.name}, "
                f"{self.env.acc_dtype!r})"
            )
        self._require_element(f"tensor {tensor.name!r}", tensor)

    def _require_apart(self, tensor: te.Tensor, operands: Collection[te.Tensor], readers: Sequence[te.Tensor]) -> None:
        """Refuse stages that are read by GEMM and in the accumulator, or that are none of its numbers."""
        if tensor in operands:
            raise DefinitionError(
                f"stage {tensor.name!r}: GEMM reads it, and stage {readers[0].name!r} in the accumulator does, too; "
                "define it once for each"
            )
        self._require_alu(tensor)

    def _require_alu(self, tensor: te.Tensor) -> None:
        """Refuse stages whose results have no place in the accumulator."""
        if str(tensor.dtype) != self.env.acc_dtype:
            raise DefinitionError(
                f"stage {tensor.name!r}: the ALU computes {self.env.acc_dtype}, not {tensor.dtype}; convert numbers "
                "when they are loaded, and when they are stored"
            )
        self._require_element(f"stage {tensor.name!r}", tensor)

    def _require_element(self, what: str, tensor: te.Tensor) -> None:
        cell = (self.env.BATCH, self.env.BLOCK_OUT)
        extents = sizes(tensor)
        if len(extents) >= 3 and extents[-2:] == cell:
            return
        axes = [axis.name for axis in tensor.op.axis] if isinstance(tensor.op, te.ComputeOp) else []
        wrong = [place for place in (-2, -1) if len(extents) >= 3 and extents[place] != cell[place]]
        got = f"it has {len(extents)} dimensions"
        if wrong:
            place = wrong[0] % len(extents)
            got = f"{f'axis {axes[place]!r}' if axes else f'dimension {place}'} has {extents[place]}"
        raise DefinitionError(
            f"{what}: the last two of three dimensions or more are an element of the accumulator, {cell[0]} x "
            f"{cell[1]} (BATCH x BLOCK_OUT), and {got}; pack the tensor in blocks"
        )


def _behind(readers: Mapping[te.Tensor, Sequence[te.Tensor]], tensor: te.Tensor) -> set[te.Tensor]:
    """Return what is computed from ``tensor``."""
    found: set[te.Tensor] = set()
    work = list(readers[tensor])
    while work:
        each = work.pop()
        if each not in found:
            found.add(each)
            work.extend(readers[each])
    return found


def _only_moves(op: te.Operation) -> bool:
    """Whether ``op`` is what it reads at another place, converted or with zeros around it."""
    if not isinstance(op, te.ComputeOp) or op.reduce_axis or len(op.body) != 1 or len(op.input_tensors) != 1:
        return False
    return _is_moved(op.body[0])


def _is_moved(value: Expr) -> bool:
    match value:
        case ProducerLoad():
            return True
        case Cast(value=inner):
            return _is_moved(inner)
        case Call(op=Builtin.IF_THEN_ELSE, args=(_, chosen, IntImm(value=0))):
            return _is_moved(chosen)
        case _:
            return False


def _require_stored(output: te.Tensor, env: Environment) -> None:
    """Refuse results that no store can write."""
    cell = (env.BATCH, env.BLOCK_OUT)
    if str(output.dtype) != env.out_dtype or output.ndim < 3 or sizes(output)[-2:] != cell:
        raise DefinitionError(
            f"stage {output.name!r}: a result is {env.out_dtype} of three dimensions or more, the last two of which "
            f"are an element of {cell[0]} x {cell[1]} (BATCH x BLOCK_OUT); it is {output.dtype} of {sizes(output)}"
        )
    if not isinstance(output.op, te.ComputeOp) or output.op.reduce_axis:
        raise DefinitionError(
            f"stage {output.name!r}: what is stored is converted by a stage of its own; end with topi.cast(..., "
            f"{env.out_dtype!r})"
        )
