"""Dense layers: every row of the data times every row of the weights, with an epilogue.

``dense`` is TVM's computation on packed tensors, ``schedule_dense`` schedules it with the knobs of TVM's template.
``Dense`` is one layer in its user's terms: any number of rows and channels, filled up to whole blocks.
Tests: tests/vta/topi/matmul/test_dense.py,
tests/vta/topi/transposed/test_recorded_dense_and_transposed.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from vta import te
from vta.environment import Environment
from vta.topi import nn
from vta.topi.core import epilogue
from vta.topi.core.epilogue import Bias, Epilogue
from vta.topi.core.layer_schedule import LayerSchedule
from vta.topi.core.layout import blocks, pack_activations, pack_dense_weights, unpack_activations
from vta.topi.core.operand import Argument, Operand, Source
from vta.topi.core.operator import Operator, OperatorError, Scheduled
from vta.topi.core.parameters import require_cell, require_sizes, require_steps
from vta.topi.core.sizes import sizes
from vta.topi.core.tuned import tuned_tiles
from vta.topi.matmul.matmul_schedule import MatmulTiles, Product, schedule_matmul
from vta.topi.tiling import Price

__all__ = ["Dense", "DenseError", "DenseTemplate", "dense", "schedule_dense"]

Array = npt.NDArray[np.generic]


class DenseError(VTAError, ValueError):
    """Tensors that do not fit a dense layer."""


def dense(
    data: te.Tensor,
    weight: te.Tensor,
    bias: te.Tensor | None = None,
    out_dtype: str = "int32",
    *,
    groups: int = 1,
) -> te.Tensor:
    """Return packed data (N, I, batch, block_in) times packed weights (O, I, block_out, block_in).

    The result is (N, O, batch, block_out). ``bias`` (1, O, batch, block_out) is added in a stage of its own. With
    ``groups``, the weights are (groups * O, ...), and each group of N / groups rows has O of its own.
    """
    for tensor, what in ((data, "data"), (weight, "weight")):
        if tensor.ndim != 4:
            raise DenseError(f"dense: {what} {tensor.name!r} is packed, of 4 dimensions, not of {tensor.ndim}")
    (n, i, batch, block_in), (o, i_w, block_out, block_w) = sizes(data), sizes(weight)
    if (i, block_in) != (i_w, block_w):
        raise DenseError(
            f"dense: data {data.name!r} has {i} blocks of {block_in} channels, and weight {weight.name!r} takes "
            f"{i_w} of {block_w}"
        )
    if n % groups or o % groups:
        raise DenseError(f"dense: {n} rows of blocks and {o} of weights do not make {groups} groups")
    rows, columns = n // groups, o // groups
    k_o, k_i = te.reduce_axis((0, i), name="k_o"), te.reduce_axis((0, block_in), name="k_i")
    shape = (n, columns, batch, block_out)
    sums = te.compute(
        shape,
        lambda b_o, c_o, b_i, c_i: te.sum(
            data[b_o, k_o, b_i, k_i].astype(out_dtype)
            * weight[c_o if groups == 1 else b_o // rows * columns + c_o, k_o, c_i, k_i].astype(out_dtype),
            axis=[k_o, k_i],
        ),
        name="res",
        tag="dense_pack",
    )
    if bias is None:
        return sums
    return te.compute(shape, lambda *i: sums(*i) + bias(0, *i[1:]), name="T_add", tag="broadcast")


@dataclass(frozen=True, slots=True)
class DenseTemplate:
    """The knobs of TVM's template: inner extents of the splits, in elements; threads over output channels, 1 or 2."""

    tile_b: int = 1
    tile_ci: int = 1
    tile_co: int = 1
    oc_nthread: int = 1


def schedule_dense(
    outs: te.Tensor | Sequence[te.Tensor], tiles: DenseTemplate | None = None, env: Environment | None = None
) -> te.Schedule:
    """Return TVM's schedule of a dense layer with its epilogue, whose last stage casts to ``env.out_dtype``.

    ``tiles`` defaults to tiles of one, as TVM-VTA without a tuning log has it; ``env`` to the current environment.
    """
    made, tiles = LayerSchedule.of(outs, env), tiles or DenseTemplate()
    result, sums = made.result, made.sums
    b, co, _, _ = result.leaf_iter_vars
    b0, b1 = result.split(b, factor=tiles.tile_b)
    co0, co1 = result.split(co, factor=tiles.tile_co)
    result.reorder(b0, co0, b1, co1)
    made.compute_tile_in(co0)
    made.take_turns(co0, tiles.oc_nthread)
    x_b, x_co, x_bi, x_ci, k_o, k_i = sums.leaf_iter_vars
    sums.reorder(x_b, k_o, x_co, x_bi, x_ci, k_i)
    k0, _ = sums.split(k_o, factor=tiles.tile_ci)
    made.load_operands_in(k0)
    sums.tensorize(x_bi, made.env.gemm)
    result.pragma(co1, made.env.dma_copy)
    return made.s


@dataclass(frozen=True, slots=True)
class Dense(Operator):
    """``rows`` of ``in_channels`` numbers times weights (out_channels, in_channels): data, weight, the epilogue's.

    The data's ``zero_point`` is what stands for zero. Results are int8, or whole numbers with ``out_dtype`` int32, as
    logits are: for the host, because the accelerator stores them byte by byte.
    """

    rows: int
    in_channels: int
    out_channels: int
    epilogue: Epilogue = ()
    zero_point: int = 0
    out_dtype: str = "int8"

    def __post_init__(self) -> None:
        if self.out_dtype not in ("int8", "int32"):
            raise OperatorError(f"Dense: out_dtype is int8 or int32, not {self.out_dtype!r}")
        require_sizes(self, "rows", "in_channels", "out_channels")
        require_steps(self)
        require_cell(self, "zero_point")

    @property
    def _steps(self) -> Epilogue:
        """The epilogue, behind a step that adds what the zero point does."""
        return (Bias(), *self.epilogue) if self.zero_point else self.epilogue

    def _zero_point_sums(self, weight: Array) -> Array:
        """Return what the zero point adds to each channel."""
        sums: npt.NDArray[np.int32] = -self.zero_point * weight.sum(axis=1, dtype=np.int32)
        return sums

    def inputs(self, env: Environment) -> tuple[Operand, ...]:
        """Return data (rows, in_channels), weight (out_channels, in_channels), and what the epilogue reads."""
        return (
            Operand("data", (self.rows, self.in_channels), env.inp_dtype),
            Operand("weight", (self.out_channels, self.in_channels), env.wgt_dtype),
            *epilogue.operands(self.epilogue, self._shape),
        )

    def output(self, env: Environment) -> Operand:
        """Return the result (rows, out_channels)."""
        return Operand("res", self._shape, "int32" if self._is_whole else env.out_dtype)

    @property
    def _is_whole(self) -> bool:
        return self.out_dtype == "int32"

    @property
    def _shape(self) -> tuple[int, int]:
        return self.rows, self.out_channels

    def reference(self, *arrays: Array) -> Array:
        """Return the product in int32, through the epilogue."""
        data, weight, *rest = arrays
        sums = product(data.astype(np.int32) - self.zero_point, weight.T)
        return (epilogue.applied if self._is_whole else epilogue.reference)(sums, self.epilogue, rest)

    def reference_on(self, env: Environment, *arrays: Array) -> Array:
        """Return what every engine of ``env`` must give."""
        return self.reference(*arrays) if self._is_whole else Operator.reference_on(self, env, *arrays)

    def arguments(self, env: Environment) -> tuple[Argument, ...]:
        """Return data (N, I, batch, block_in), weight (O, I, block_out, block_in), and what the epilogue reads."""
        added = (Source(("weight",), self._zero_point_sums),) if self.zero_point else ()
        read = (*added, *epilogue.sources(self.epilogue, self._shape))
        return (
            Argument("data", ("data",), lambda data: pack_activations(data, batch=env.BATCH, block=env.BLOCK_IN)),
            Argument(
                "weight",
                ("weight",),
                lambda weight: pack_dense_weights(weight, block_in=env.BLOCK_IN, block_out=env.BLOCK_OUT),
            ),
            *epilogue.arguments(self._steps, env, read, rank=4),
            *([epilogue.byte_shifts(env, rank=4)] if self._is_whole else []),
        )

    def unpack(self, env: Environment, packed: Array) -> Array:  # noqa: ARG002  # the array has the blocks' sizes
        """Return the rows and channels that are no padding."""
        return unpack_activations(epilogue.joined_bytes(packed) if self._is_whole else packed, *self._shape)

    def problem(self, env: Environment) -> Product:
        """Return the product of blocks that it is on ``env``."""
        return Product(
            env,
            blocks(self.rows, env.BATCH),
            blocks(self.in_channels, env.BLOCK_IN),
            blocks(self.out_channels, env.BLOCK_OUT),
            self._steps,
            whole_numbers=self._is_whole,
        )

    def _chosen(self, problem: Product, tiles: object) -> MatmulTiles:
        """Return ``tiles`` if they fit, or the best ones."""
        tiles = problem.best_tiles(repr(self)) if tiles is None else tiles
        if not isinstance(tiles, MatmulTiles):
            raise OperatorError(f"Dense: tiles are MatmulTiles or a DenseTemplate, not {tiles!r}")
        problem.require_tiles(tiles, repr(self))
        return tiles

    def price(self, env: Environment, tiles: object = None) -> Price:
        """Return what a launch with ``tiles`` takes; TVM's ``DenseTemplate`` has no model."""
        tiles = tuned_tiles(self, env) if tiles is None else tiles
        if isinstance(tiles, DenseTemplate):
            raise OperatorError("Dense: TVM's DenseTemplate has no model; give MatmulTiles")
        problem = self.problem(env)
        return problem.price(self._chosen(problem, tiles))

    def schedule(self, env: Environment, tiles: object = None) -> Scheduled:
        """Return the schedule for ``tiles``: ``MatmulTiles``, TVM's ``DenseTemplate``, tuned ones, or the best ones."""
        tiles = tuned_tiles(self, env) if tiles is None else tiles
        if self._is_whole and env.OUT_WIDTH != 8:
            raise OperatorError(f"Dense: results of int32 are stored in bytes, and {env.out_dtype} is no byte")
        problem = self.problem(env)
        rows, inner, columns = problem.rows, problem.inner, problem.columns
        data = te.placeholder((rows, inner, env.BATCH, env.BLOCK_IN), env.inp_dtype, "data")
        weight = te.placeholder((columns, inner, env.BLOCK_OUT, env.BLOCK_IN), env.wgt_dtype, "weight")
        if isinstance(tiles, DenseTemplate):
            if self._is_whole:
                raise OperatorError("Dense: results of int32 take MatmulTiles, not TVM's DenseTemplate")
            appended = epilogue.append(dense(data, weight, out_dtype=env.acc_dtype), self._steps, env)
            s = schedule_dense(appended.result, tiles, env)
        else:
            tiles = self._chosen(problem, tiles)
            whole = tiles.whole(rows, columns)
            sums = dense(_padded(data, whole[0]), _padded(weight, whole[1]), out_dtype=env.acc_dtype)
            shape = (rows, columns, env.BATCH, env.BLOCK_OUT)
            appended = epilogue.append(sums, self._steps, env, shape, whole_numbers=self._is_whole)
            s = schedule_matmul(appended.result, tiles, env)
        return Scheduled(s, (data, weight, *appended.inputs, appended.result), tiles)

    @property
    def macs(self) -> int:
        """Multiplications of the product."""
        return self.rows * self.in_channels * self.out_channels


def _padded(tensor: te.Tensor, rows: int) -> te.Tensor:
    """Return ``tensor`` with rows of zeros after it, ``rows`` in all."""
    behind = rows - sizes(tensor)[0]
    return nn.pad(tensor, [0, 0, 0, 0], [behind, 0, 0, 0], name=f"pad_{tensor.name}") if behind else tensor


def product(a: Array, b: Array) -> Array:
    """Return the matrix product(s) of narrow integers, exact, in int64 (by way of float64, which BLAS is fast at)."""
    exact: npt.NDArray[np.float64] = np.matmul(a.astype(np.float64), b.astype(np.float64))
    return exact.astype(np.int64)
