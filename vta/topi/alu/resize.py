"""Nearest-neighbour upsampling by whole factors: every cell becomes a rectangle of equal cells.

The ALU repeats the columns in the accumulator; each row of the result is then stored as often as it is needed.
Tests: tests/vta/topi/alu/test_resize.py.
"""

import functools
import math
from dataclasses import dataclass, replace

from vta import te
from vta.environment import Environment
from vta.topi.alu.alu_operator import element_bytes, require_dtype, require_loads, widened
from vta.topi.alu.alu_schedule import AluTiles, alu_schedule
from vta.topi.alu.alu_tiles import AluProblem, Demand, Inner, transfer
from vta.topi.core.epilogue import Epilogue, append, arguments, needs, operands, reference, sources
from vta.topi.core.images import pack_images, packed_extents, packed_shape, unpack_images
from vta.topi.core.operand import Argument, Operand
from vta.topi.core.operator import Array, Operator, OperatorError, Scheduled
from vta.topi.core.parameters import PAIR, require_sizes, require_steps, require_tuple
from vta.topi.core.tuned import tuned_tiles
from vta.topi.tiling import Price

__all__ = ["Upsample2d"]


@dataclass(frozen=True, slots=True)
class Upsample2d(Operator):
    """Cell (y, x) of the result is cell (y // scale[0], x // scale[1]) of the image, after ``epilogue``.

    The steps are done once for each of the image's cells, so none of them may be a ``Residual``.
    """

    batch: int
    channels: int
    height: int
    width: int
    scale: tuple[int, int] = (2, 2)
    epilogue: Epilogue = ()
    dtype: str = "int8"

    def __post_init__(self) -> None:
        require_sizes(self, "batch", "channels", "height", "width")
        require_dtype("Upsample2d", self.dtype)
        require_tuple(self, "scale", PAIR)
        require_steps(self)
        if needs(self.epilogue).residuals:
            raise OperatorError(
                "Upsample2d: a Residual has the result's shape, and the steps come before; add it after"
            )

    @property
    def data_shape(self) -> tuple[int, int, int, int]:
        """The plain shape of the image."""
        return (self.batch, self.channels, self.height, self.width)

    @property
    def output_shape(self) -> tuple[int, int, int, int]:
        """The plain shape of the result."""
        return (self.batch, self.channels, self.height * self.scale[0], self.width * self.scale[1])

    def inputs(self, env: Environment) -> tuple[Operand, ...]:  # noqa: ARG002  # the same for all
        """Return ``data``, then the tensors of the steps."""
        return (Operand("data", self.data_shape, self.dtype), *operands(self.epilogue, self.data_shape))

    def output(self, env: Environment) -> Operand:
        """Return the result."""
        return Operand("res", self.output_shape, env.out_dtype)

    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy."""
        data, *rest = arrays
        cells = reference(data, self.epilogue, rest)
        return cells.repeat(self.scale[0], axis=2).repeat(self.scale[1], axis=3)

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return the packed arrays."""
        data = Argument("data", ("data",), functools.partial(pack_images, env))
        read = sources(self.epilogue, self.data_shape)
        return (data, *arguments(self.epilogue, env, read, rank=6))

    def unpack(self, env: Environment, packed: Array) -> Array:
        """Return the plain result; (N, C, H, scale, W, scale, batch, block) is an image of the larger size."""
        return unpack_images(packed.reshape(packed_shape(env, self.output_shape)), self.output_shape)

    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return the schedule with ``AluTiles``, which count the image's cells."""
        chosen = self._chosen(self.problem(env), tiles)
        shape = packed_shape(env, self.data_shape)
        data = te.placeholder(shape, self.dtype, "data")
        loaded, stages = widened(env, data)
        tail = append(loaded, self.epilogue, env)
        cells = tail.stages[-1] if tail.stages else loaded
        rows, columns = self.scale
        wide = te.compute(
            (*shape[:4], columns, *shape[4:]), lambda b, c, i, j, _, bi, ci: cells(b, c, i, j, bi, ci), name="upsample"
        )
        result = te.compute(
            (*shape[:3], rows, shape[3], columns, *shape[4:]),
            lambda b, c, i, _, j, dj, bi, ci: wide(b, c, i, j, dj, bi, ci).astype(env.out_dtype),
            name="res",
        )
        stages = replace(
            stages,
            elementwise=(*tail.stages, wide),
            direct=(*stages.direct, *tail.inputs),
            tiled=(0, 1, 2, 4),
            repeated=(3,),
        )
        return Scheduled(alu_schedule(env, result, stages, chosen), (data, *tail.inputs, result), chosen)

    def price(self, env: Environment, tiles: object = None) -> Price:
        """Return what a launch with ``AluTiles`` takes."""
        problem = self.problem(env)
        return problem.price(self._chosen(problem, tiles))

    def problem(self, env: Environment) -> AluProblem:
        """Return what tiles take on ``env``."""
        require_loads(env, self)
        b, co, h, w = packed_extents(env, self.data_shape)
        return AluProblem(env, (b, co, h, w), functools.partial(self._demand, env))

    def _chosen(self, problem: AluProblem, tiles: object) -> AluTiles:
        """Return ``tiles``, or tuned ones, or the best."""
        tiles = tuned_tiles(self, problem.env) if tiles is None else tiles
        if not isinstance(tiles, AluTiles | None):
            raise OperatorError(f"Upsample2d: tiles are AluTiles, not {type(tiles).__name__}")
        return problem.best(repr(self)) if tiles is None else tiles

    def _demand(self, env: Environment, inner: Inner) -> Demand:
        count, columns, steps = math.prod(inner), self.scale[1], needs(self.epilogue, env.config)
        extents = packed_extents(env, self.data_shape)
        return Demand(
            elements=count * (1 + steps.held + columns) + inner[1] * steps.rows,
            load=transfer(inner, extents, element_bytes(env, self.dtype)),
            operations=count * (2 * columns + steps.operations),
            kernels=2 + steps.operations,
            temporaries=1,
            copies=math.prod(self.scale),
        )

    @property
    def macs(self) -> int:
        """None."""
        return 0
