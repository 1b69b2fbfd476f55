"""Products of matrices that are both activations: ``Matmul`` of two, ``BatchMatmul`` of pairs.

The second operand is packed like the weights of a dense layer. The products of a batch stand one after the other in
the accelerator's rows. Tests: tests/vta/topi/matmul/test_batch_matmul.py.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vta import te
from vta.environment import Environment
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Epilogue
from vta.topi.core.layout import blocks, pack_activations, pack_dense_weights, unpack_activations
from vta.topi.core.operand import Argument, Operand, Source
from vta.topi.core.operator import Operator, OperatorError, Scheduled
from vta.topi.core.parameters import require_flags, require_sizes, require_steps
from vta.topi.matmul.dense import Dense, dense, product
from vta.topi.matmul.matmul_schedule import MatmulTiles, Product, schedule_matmul
from vta.topi.tiling import Price

__all__ = ["BatchMatmul", "Matmul"]

Array = npt.NDArray[np.generic]

_FINE = 32
_COARSE = 8
"""So many blocks of rows or columns, or more, are filled up to a multiple of that, so that tiles can divide them."""


@dataclass(frozen=True, slots=True)
class Matmul(Operator):
    """(rows, inner) times (inner, columns); ``transpose_a`` and ``transpose_b`` say that an operand comes turned.

    Steps of the epilogue with one value a channel have one a column.
    """

    rows: int
    inner: int
    columns: int
    transpose_a: bool = False
    transpose_b: bool = False
    epilogue: Epilogue = ()

    def __post_init__(self) -> None:
        require_sizes(self, "rows", "inner", "columns")
        require_flags(self, "transpose_a", "transpose_b")
        require_steps(self)

    @property
    def layer(self) -> Dense:
        """The dense layer that does the same, whose weights are the second operand, turned."""
        return Dense(self.rows, self.inner, self.columns, self.epilogue)

    @property
    def macs(self) -> int:
        """Multiplications of the product."""
        return self.layer.macs

    def inputs(self, env: Environment) -> tuple[Operand, ...]:
        """Return the two operands, and what the epilogue reads."""
        a = (self.inner, self.rows) if self.transpose_a else (self.rows, self.inner)
        b = (self.columns, self.inner) if self.transpose_b else (self.inner, self.columns)
        return Operand("a", a, env.inp_dtype), Operand("b", b, env.wgt_dtype), *self.layer.inputs(env)[2:]

    def output(self, env: Environment) -> Operand:
        """Return the result (rows, columns)."""
        return self.layer.output(env)

    def _turned(self, a: Array, b: Array) -> tuple[Array, Array]:
        return a.T if self.transpose_a else a, b if self.transpose_b else b.T

    def reference(self, *arrays: Array) -> Array:
        """Return the product in int32, through the epilogue."""
        a, b, *rest = arrays
        return self.layer.reference(*self._turned(a, b), *rest)

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return a like data, b like weights, and what the epilogue reads."""
        data, weight, *rest = self.layer.arguments(env)
        return (
            Argument("a", ("a",), lambda a: data.pack(a.T if self.transpose_a else a)),
            Argument("b", ("b",), lambda b: weight.pack(b if self.transpose_b else b.T)),
            *rest,
        )

    def unpack(self, env: Environment, packed: Array) -> Array:
        """Return the rows and columns that are no padding."""
        return self.layer.unpack(env, packed)

    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return the schedule for ``tiles``: ``MatmulTiles``, or the best that were found."""
        return self.layer.schedule(env, tiles)

    def price(self, env: Environment, tiles: object = None) -> Price:
        """Return what a launch with ``tiles`` takes."""
        return self.layer.price(env, tiles)


def _divisible(count: int) -> int:
    return blocks(count, _COARSE) * _COARSE if count >= _FINE else count


def _filled(values: Array, shape: tuple[int, ...]) -> Array:
    """Return ``values`` with zeros after them in every dimension, up to ``shape``."""
    filled = np.zeros(shape, values.dtype)
    filled[tuple(slice(extent) for extent in values.shape)] = values
    return filled


@dataclass(frozen=True, slots=True)
class BatchMatmul(Operator):
    """``batch`` products of (rows, inner) with (inner, columns); ``transpose_a`` and ``transpose_b`` give them turned.

    TVM's ``batch_matmul`` has ``transpose_b`` set. Steps of the epilogue with one value a channel have one a column.
    """

    batch: int
    rows: int
    inner: int
    columns: int
    transpose_a: bool = False
    transpose_b: bool = True
    epilogue: Epilogue = ()

    def __post_init__(self) -> None:
        require_sizes(self, "batch", "rows", "inner", "columns")
        require_flags(self, "transpose_a", "transpose_b")
        require_steps(self)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The plain shape of the result."""
        return self.batch, self.rows, self.columns

    @property
    def macs(self) -> int:
        """Multiplications of all products."""
        return self.batch * self.rows * self.inner * self.columns

    def inputs(self, env: Environment) -> tuple[Operand, ...]:
        """Return the two operands, and what the epilogue reads."""
        a = (self.inner, self.rows) if self.transpose_a else (self.rows, self.inner)
        b = (self.columns, self.inner) if self.transpose_b else (self.inner, self.columns)
        return (
            Operand("a", (self.batch, *a), env.inp_dtype),
            Operand("b", (self.batch, *b), env.wgt_dtype),
            *(self._of_result(operand) for operand in epilogue.operands(self.epilogue, self._flat)),
        )

    @property
    def _flat(self) -> tuple[int, int]:
        """The result with all rows one after the other."""
        return self.batch * self.rows, self.columns

    def _of_result(self, operand: Operand) -> Operand:
        shape = self.shape if operand.shape == self._flat else operand.shape
        return Operand(operand.name, shape, operand.dtype)

    def output(self, env: Environment) -> Operand:
        """Return the result (batch, rows, columns)."""
        return Operand("res", self.shape, env.out_dtype)

    def reference(self, *arrays: Array) -> Array:
        """Return the products in int32, through the epilogue."""
        a, b, *rest = arrays
        left = a.swapaxes(1, 2) if self.transpose_a else a
        right = b.swapaxes(1, 2) if self.transpose_b else b
        sums = product(left, right).reshape(self._flat)
        values = [value.reshape(self._flat) if value.ndim == 3 else value for value in rest]
        return epilogue.reference(sums, self.epilogue, values).reshape(self.shape)

    def _blocks(self, env: Environment) -> tuple[int, int, int]:
        """Return rows, inner dimension and columns of one product in blocks."""
        rows, columns = _divisible(blocks(self.rows, env.BATCH)), _divisible(blocks(self.columns, env.BLOCK_OUT))
        return rows, blocks(self.inner, env.BLOCK_IN), columns

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return a in rows, b like the weights of dense layers one after the other, and what the epilogue reads."""
        counts = self._blocks(env)
        rows, columns = counts[0] * env.BATCH, counts[2] * env.BLOCK_OUT

        def in_rows(a: Array) -> Array:
            left = _filled(a.swapaxes(1, 2) if self.transpose_a else a, (self.batch, rows, self.inner))
            return pack_activations(left.reshape(-1, self.inner), batch=env.BATCH, block=env.BLOCK_IN)

        def in_columns(b: Array) -> Array:
            right = _filled(b if self.transpose_b else b.swapaxes(1, 2), (self.batch, columns, self.inner))
            sizes = {"block_in": env.BLOCK_IN, "block_out": env.BLOCK_OUT}
            return np.concatenate([pack_dense_weights(one, **sizes) for one in right])

        def of_result(value: Array) -> Array:
            if value.ndim == 3:
                return _filled(value, (self.batch, rows, columns)).reshape(-1, columns)
            return _filled(value, (columns,))

        read = [Source((o.name,), of_result) for o in epilogue.operands(self.epilogue, self._flat)]
        return (
            Argument("a", ("a",), in_rows),
            Argument("b", ("b",), in_columns),
            *epilogue.arguments(self.epilogue, env, read, rank=4),
        )

    def unpack(self, env: Environment, packed: Array) -> Array:
        """Return the rows and columns that are no padding."""
        rows = self._blocks(env)[0] * env.BATCH
        plain = unpack_activations(packed, self.batch * rows, self.columns)
        return plain.reshape(self.batch, rows, self.columns)[:, : self.rows]

    def problem(self, env: Environment) -> Product:
        """Return the products of blocks that it is on ``env``."""
        return Product(env, *self._blocks(env), self.epilogue, groups=self.batch)

    def _chosen(self, problem: Product, tiles: object) -> MatmulTiles:
        """Return ``tiles`` if they divide the products and fit, or the best ones."""
        rows, columns = problem.rows, problem.columns
        tiles = problem.best_tiles(repr(self)) if tiles is None else tiles
        if not isinstance(tiles, MatmulTiles):
            raise OperatorError(f"{type(self).__name__}: tiles are MatmulTiles, not {tiles!r}")
        if rows % tiles.rows or columns % tiles.columns:
            raise OperatorError(
                f"{type(self).__name__}: tiles of {tiles.rows} x {tiles.columns} blocks do not divide each of the "
                f"{self.batch} products of {rows} x {columns} blocks"
            )
        problem.require_tiles(tiles, repr(self))
        return tiles

    def price(self, env: Environment, tiles: object = None) -> Price:
        """Return what a launch with ``tiles`` takes."""
        problem = self.problem(env)
        return problem.price(self._chosen(problem, tiles))

    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return the schedule for ``tiles``: ``MatmulTiles``, or the best that were found."""
        problem = self.problem(env)
        rows, inner, columns = problem.rows, problem.inner, problem.columns
        tiles = self._chosen(problem, tiles)
        data = te.placeholder((self.batch * rows, inner, env.BATCH, env.BLOCK_IN), env.inp_dtype, "a")
        weight = te.placeholder((self.batch * columns, inner, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "b")
        sums = dense(data, weight, out_dtype=env.acc_dtype, groups=self.batch)
        appended = epilogue.append(sums, self.epilogue, env)
        s = schedule_matmul(appended.result, tiles, env, groups=self.batch)
        return Scheduled(s, (data, weight, *appended.inputs, appended.result), tiles)
