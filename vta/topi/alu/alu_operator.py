"""What the operators of the tensor ALU share: packed images in and out, steps at the end, tiles from the search.

Tests: tests/vta/topi/alu/test_alu_operator.py.
"""

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from vta import te
from vta.environment import Environment
from vta.topi.alu.alu_schedule import AluStages, AluTiles, alu_schedule
from vta.topi.alu.alu_tiles import AluProblem, Demand, Inner, transfer
from vta.topi.core.epilogue import Appended, Epilogue, Needs, append, arguments, needs, operands
from vta.topi.core.images import as_images, pack_images, unpack_images
from vta.topi.core.operand import Argument, Operand, Source
from vta.topi.core.operator import Array, Operator, OperatorError, Scheduled
from vta.topi.core.parameters import is_number
from vta.topi.core.sizes import sizes
from vta.topi.core.tuned import tuned_tiles
from vta.topi.tiling import Price

__all__ = ["AluOperator", "Head", "element_bytes", "require_dtype", "require_loads", "require_shape", "widened"]

_DTYPES = ("int8", "int32")
"""Types of numbers that the accumulator loads."""


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """What comes before the steps: the ``tensor`` that they go on from, and the ``stages`` that compute it.

    ``inputs`` are the function's arguments so far; ``demand`` tells what a tile of the output takes.
    """

    tensor: te.Tensor
    stages: AluStages
    inputs: tuple[te.Tensor, ...]
    demand: Callable[[Inner], Demand]


def require_shape(operator: object) -> None:
    """Settle the attribute ``shape`` of ``operator`` as that of a tensor; raises ``OperatorError``."""
    shape = operator.shape  # type: ignore[attr-defined]  # an operator that has one
    sizes = tuple(shape) if isinstance(shape, Iterable) else ()
    if not 2 <= len(sizes) <= 4 or not all(is_number(size, 1) for size in sizes):
        raise OperatorError(
            f"{type(operator).__name__}: a shape is (N, C), (N, C, L) or (N, C, H, W) with sizes from 1, not {shape}"
        )
    object.__setattr__(operator, "shape", tuple(int(size) for size in sizes))


def require_dtype(kind: str, dtype: object) -> None:
    """Raise ``OperatorError`` unless ``kind`` can load numbers of ``dtype``."""
    if dtype not in _DTYPES:
        raise OperatorError(f"{kind}: the accumulator loads {' and '.join(_DTYPES)}, not {dtype!r}")


def require_loads(env: Environment, operator: Operator) -> None:
    """Raise ``OperatorError`` if ``operator`` has an int8 input that the accumulator of ``env`` does not load."""
    for operand in operator.inputs(env):
        if operand.dtype == "int8" and env.inp_dtype != "int8":
            raise OperatorError(
                f"{type(operator).__name__}: {operand.name} is int8, and the accumulator loads 8-bit numbers where "
                f"inputs have 8 bits (LOG_INP_WIDTH 3), not {env.inp_dtype}; give int32"
            )


def widened(env: Environment, data: te.Tensor) -> tuple[te.Tensor, AluStages]:
    """Return ``data`` as the ALU reads it, and how it gets into the accumulator: int8 is converted by its load."""
    if data.dtype == env.acc_dtype:
        return data, AluStages(direct=(data,))
    cast = te.compute(data.shape, lambda *i: data(*i).astype(env.acc_dtype), name="T_cast", tag="elemwise")
    return cast, AluStages(loads=(cast,))


def element_bytes(env: Environment, dtype: str) -> int:
    """Return the size in memory of an element whose numbers are ``dtype``."""
    return env.ACC_ELEM_BYTES if dtype == env.acc_dtype else env.OUT_ELEM_BYTES


class AluOperator(Operator):
    """An operator without GEMM whose tensors are images (N, C), (N, C, L) or (N, C, H, W)."""

    __slots__ = ()

    @property
    @abstractmethod
    def epilogue(self) -> Epilogue:
        """What is done with every number at the end."""

    @property
    @abstractmethod
    def output_shape(self) -> tuple[int, ...]:
        """The plain shape of the result."""

    @abstractmethod
    def data(self) -> tuple[Operand, ...]:
        """Return the inputs that are not those of the steps."""

    @abstractmethod
    def head(self, env: Environment) -> Head:
        """Return what comes before the steps."""

    def inputs(self, env: Environment) -> tuple[Operand, ...]:  # noqa: ARG002  # the same for all
        """Return the data, then the tensors of the steps."""
        return (*self.data(), *operands(self.epilogue, self.output_shape))

    def output(self, env: Environment) -> Operand:
        """Return the result."""
        return Operand("res", self.output_shape, env.out_dtype)

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return the packed arrays, every one with six dimensions."""
        data = [Argument(o.name, (o.name,), functools.partial(pack_images, env)) for o in self.data()]
        read = [Source((o.name,), as_images) for o in operands(self.epilogue, self.output_shape)]
        return (*data, *self.tables(env), *arguments(self.epilogue, env, read, rank=6))

    def tables(self, env: Environment) -> tuple[Argument, ...]:  # noqa: ARG002  # for operators with tables
        """Return the constants that the function takes after the data."""
        return ()

    def unpack(self, env: Environment, packed: Array) -> Array:  # noqa: ARG002  # the same for all
        """Return the plain result."""
        return unpack_images(packed, self.output_shape)

    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return the schedule with ``AluTiles``."""
        head, tail = self._stages(env)
        tiles = self._chosen(self._problem(env, head, tail), tiles)
        schedule = alu_schedule(env, tail.result, _joined(env, head, tail), tiles)
        return Scheduled(schedule, (*head.inputs, *tail.inputs, tail.result), tiles)

    def price(self, env: Environment, tiles: object = None) -> Price:
        """Return what a launch with ``AluTiles`` takes."""
        problem = self.problem(env)
        return problem.price(self._chosen(problem, tiles))

    def problem(self, env: Environment) -> AluProblem:
        """Return what tiles take on ``env``."""
        return self._problem(env, *self._stages(env))

    def _problem(self, env: Environment, head: Head, tail: Appended) -> AluProblem:
        demand = functools.partial(_demand, env, head, tail, needs(self.epilogue, env.config))
        b, co, h, w = sizes(tail.result)[:4]
        return AluProblem(env, (b, co, h, w), demand)

    def _stages(self, env: Environment) -> tuple[Head, Appended]:
        require_loads(env, self)
        head = self.head(env)
        return head, append(head.tensor, self.epilogue, env)

    def _chosen(self, problem: AluProblem, tiles: object) -> AluTiles:
        """Return ``tiles``, or tuned ones, or the best."""
        tiles = tuned_tiles(self, problem.env) if tiles is None else tiles
        if tiles is None:
            return problem.best(repr(self))
        if not isinstance(tiles, AluTiles):
            raise OperatorError(f"{type(self).__name__}: tiles are AluTiles, not {type(tiles).__name__}")
        return tiles

    @property
    def macs(self) -> int:
        """None."""
        return 0


def _joined(env: Environment, head: Head, tail: Appended) -> AluStages:
    return replace(
        head.stages,
        loads=(*head.stages.loads, *tail.widened),
        elementwise=(*head.stages.elementwise, *tail.stages),
        direct=(*head.stages.direct, *(tensor for tensor in tail.inputs if tensor.dtype == env.acc_dtype)),
    )


def _demand(env: Environment, head: Head, tail: Appended, steps: Needs, inner: Inner) -> Demand:
    """Return what a tile takes: the head, and beside it what the steps need."""
    base, count = head.demand(inner), math.prod(inner)
    elements, load = base.elements + steps.held * count, base.load
    boxes = [inner] * steps.residuals
    if steps.rows:
        boxes.insert(0, (1, inner[1] * steps.rows, 1, 1))
    for tensor, wanted in zip(tail.inputs, boxes, strict=True):
        extents = [int(extent) for extent in tensor.shape[:4]]
        box = [min(size, extent) for size, extent in zip(wanted, extents, strict=True)]
        elements += math.prod(box)
        load += transfer(box, extents, element_bytes(env, str(tensor.dtype)))
    return Demand(
        elements=elements,
        load=load,
        operations=base.operations + steps.operations * count,
        kernels=base.kernels + steps.operations,
        temporaries=base.temporaries + 1,
    )
