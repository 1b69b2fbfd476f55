"""Pooling on the tensor ALU, maxima, averages, sums: any kernel, strides, pads, dilation, ceil mode, channels.

Every tap of the window is one operation over the outputs whose tap exists, so a pad never takes part. An average is
divided exactly, by the rule of ``vta.topi.alu.division.divided``; a sum is what steps with a real scale may divide.
Tests: tests/vta/topi/alu/test_pooling.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vta import te
from vta.environment import Environment
from vta.topi.alu.alu_operator import AluOperator, Head, require_dtype
from vta.topi.alu.alu_tiles import Demand, Inner, transfer
from vta.topi.alu.average import Average
from vta.topi.alu.division import Rounding, divided
from vta.topi.alu.place_offsets import PlaceFactors, PlaceOffsets
from vta.topi.alu.pool_reduction import Combine, PoolReduction
from vta.topi.alu.pool_window import PoolAxis
from vta.topi.core.epilogue import Epilogue, reference
from vta.topi.core.images import packed_extents, packed_shape
from vta.topi.core.operand import Argument, Operand
from vta.topi.core.operator import Array, OperatorError
from vta.topi.core.parameters import (
    PADS,
    PAIR,
    require_cell,
    require_choice,
    require_flags,
    require_sizes,
    require_steps,
    require_tuple,
)

__all__ = ["AveragePool2d", "MaxPool2d", "SumPool2d"]


@dataclass(frozen=True, slots=True)
class _Pool2d(AluOperator):
    """Windows of ``kernel`` cells over images; ``padding`` is (top, left, bottom, right)."""

    batch: int
    channels: int
    height: int
    width: int
    kernel: tuple[int, int]
    strides: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    ceil_mode: bool = False
    epilogue: Epilogue = ()

    @property
    def data_shape(self) -> tuple[int, int, int, int]:
        """The plain shape of the images."""
        return (self.batch, self.channels, self.height, self.width)

    @property
    def axes(self) -> tuple[PoolAxis, PoolAxis]:
        """The windows along height and width."""
        top, left, bottom, right = self.padding
        (kh, kw), (sh, sw), (dh, dw) = self.kernel, self.strides, self.dilation
        return (
            PoolAxis("height", self.height, kh, sh, top, bottom, dh, self.ceil_mode),
            PoolAxis("width", self.width, kw, sw, left, right, dw, self.ceil_mode),
        )

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The plain shape of the result."""
        return (self.batch, self.channels, *(axis.count for axis in self.axes))

    @property
    def _existing(self) -> npt.NDArray[np.int64]:
        """How many cells each window has, pads not counted."""
        height, width = self.axes
        return np.outer(height.existing, width.existing)

    def _require_window(self) -> None:
        """Refuse parameters that are no window, and windows that consist of pads alone."""
        require_sizes(self, "batch", "channels", "height", "width")
        for name in ("kernel", "strides", "dilation"):
            require_tuple(self, name, PAIR)
        require_tuple(self, "padding", PADS, least=0)
        require_flags(self, "ceil_mode")
        require_steps(self)
        for axis in self.axes:
            empty = np.flatnonzero(axis.existing == 0)
            if len(empty):
                raise OperatorError(
                    f"{type(self).__name__}: window {empty[0]} along {axis.name} has pads alone (kernel {axis.kernel}, "
                    f"pads {axis.before} and {axis.after}, dilation {axis.dilation}); use pads smaller than the window"
                )

    def _taps(self, data: Array, fill: int) -> Iterator[Array]:
        """Yield, for every tap, its cell of every window; ``fill`` where there is none."""
        height, width = self.axes
        edges = [(0, 0), (0, 0), (height.before, height.beyond), (width.before, width.beyond)]
        padded = np.pad(data.astype(np.int64), edges, constant_values=fill)
        for dy in (height.places + height.before).T:
            for dx in (width.places + width.before).T:
                yield padded[:, :, dy][:, :, :, dx]

    def _reduced(self, env: Environment, combine: Combine, dtype: str) -> Head:
        way = PoolReduction.chosen(env, combine, self.axes, dtype)
        data = te.placeholder(packed_shape(env, self.data_shape), name="data", dtype=dtype)
        reduced = way.reduced(env, data)
        extents = packed_extents(env, self.data_shape)
        return Head(reduced.tensor, reduced.stages, (data,), lambda inner: way.demand(env, extents, inner))


@dataclass(frozen=True, slots=True)
class MaxPool2d(_Pool2d):
    """The largest cell of each window, then ``epilogue``; ``dtype`` is int8 or int32. Pads are no cells."""

    dtype: str = "int8"

    def __post_init__(self) -> None:
        require_dtype("MaxPool2d", self.dtype)
        self._require_window()

    def data(self) -> tuple[Operand, ...]:
        """Return ``data``."""
        return (Operand("data", self.data_shape, self.dtype),)

    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy."""
        data, *rest = arrays
        largest = np.max(list(self._taps(data, -(1 << 31))), axis=0)
        return reference(largest, self.epilogue, rest)

    def head(self, env: Environment) -> Head:
        """Return the reduction."""
        return self._reduced(env, Combine.MAX, self.dtype)


@dataclass(frozen=True, slots=True)
class AveragePool2d(_Pool2d):
    """The average of each window of int8 cells, rounded to an integer by ``rounding``, then ``epilogue``.

    Pads are ``zero_point``; they count, also in the divisor, with ``count_include_pad``. Cells that a last window in
    ``ceil_mode`` reaches beyond the pads never count.
    """

    count_include_pad: bool = False
    rounding: Rounding = Rounding.HALF_UP
    zero_point: int = 0

    def __post_init__(self) -> None:
        require_flags(self, "count_include_pad")
        require_cell(self, "zero_point")
        require_choice(self, "rounding", Rounding)
        self._require_window()
        if not self._average.is_uniform:
            self._average.quotients()

    @property
    def _average(self) -> Average:
        height, width = self.axes
        rows, columns = ((axis.with_pads if self.count_include_pad else axis.existing) for axis in (height, width))
        return Average(np.outer(rows, columns), self.rounding)

    def data(self) -> tuple[Operand, ...]:
        """Return ``data``."""
        return (Operand("data", self.data_shape, "int8"),)

    @property
    def _pads(self) -> PlaceOffsets:
        """What pads that count add."""
        return PlaceOffsets(self.zero_point * (self._average.counts - self._existing))

    def tables(self, env: Environment) -> tuple[Argument, ...]:
        """Return what pads add and the numbers to divide with, where they depend on the place."""
        made = self._average.tables(env)
        names = ("multipliers", "roundings")[: len(made)]
        divisors = (Argument(name, (), lambda table=table: table) for name, table in zip(names, made, strict=True))
        return (*self._pads.arguments(env), *divisors)

    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy."""
        data, *rest = arrays
        sums = np.sum(list(self._taps(data, 0)), axis=0) + self._pads.values
        return reference(divided(sums, self._average.counts, self.rounding), self.epilogue, rest)

    def head(self, env: Environment) -> Head:
        """Return the sums and their division."""
        sums = self._pads.added(env, self._reduced(env, Combine.SUM, "int8"))
        average = self._average
        averaged = average.of(env, sums.tensor)
        stages = replace(
            sums.stages,
            elementwise=(*sums.stages.elementwise, *averaged.stages),
            direct=(*sums.stages.direct, *averaged.tables),
        )
        counts = average.counts.shape

        def demand(inner: Inner) -> Demand:
            b, co, h, w = inner
            base = sums.demand(inner)
            tables = len(averaged.tables)
            load = transfer((1, 1, h, w), (1, 1, *counts), env.ACC_ELEM_BYTES).times(tables)
            work = len(averaged.stages) * b * co * h * w
            return replace(
                base,
                elements=base.elements + average.held * b * co * h * w + tables * h * w,
                load=base.load + load,
                operations=base.operations + work,
                kernels=base.kernels + len(averaged.stages),
                temporaries=1,
            )

        return Head(averaged.tensor, stages, (*sums.inputs, *averaged.tables), demand)


@dataclass(frozen=True, slots=True)
class SumPool2d(_Pool2d):
    """The sum of each window of int8 cells less ``zero_point``, in int32, then ``epilogue``; pads add nothing.

    An average of another scale is steps with that scale over the number of cells, rounded once
    (``vta.topi.core.fixed_point``). Where windows have different numbers of cells, ``row_factors`` and
    ``column_factors``, one for each row and column of the result, make one scale of theirs.
    """

    zero_point: int = 0
    row_factors: tuple[int, ...] = ()
    column_factors: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require_cell(self, "zero_point")
        self._require_window()
        for name, axis in zip(("row_factors", "column_factors"), self.axes, strict=True):
            if getattr(self, name):
                require_tuple(self, name, tuple(f"window {number}" for number in range(axis.count)))

    @property
    def _zeros(self) -> PlaceOffsets:
        """What the zero point adds."""
        return PlaceOffsets(-self.zero_point * self._existing)

    @property
    def _factors(self) -> PlaceFactors:
        """What each place is multiplied by."""
        return PlaceFactors(
            np.outer(*(
                np.array(factors or [1] * axis.count, np.int64)
                for factors, axis in zip((self.row_factors, self.column_factors), self.axes, strict=True)
            ))
        )  # fmt: skip

    def data(self) -> tuple[Operand, ...]:
        """Return ``data``."""
        return (Operand("data", self.data_shape, "int8"),)

    def tables(self, env: Environment) -> tuple[Argument, ...]:
        """Return what the zero point adds and the factors, where they depend on the place."""
        return (*self._zeros.arguments(env), *self._factors.arguments(env))

    def reference(self, *arrays: Array) -> Array:
        """Return the result in numpy."""
        data, *rest = arrays
        sums = np.sum(list(self._taps(data, 0)), axis=0) + self._zeros.values
        return reference(sums * self._factors.values, self.epilogue, rest)

    def head(self, env: Environment) -> Head:
        """Return the sums, multiplied."""
        summed = self._zeros.added(env, self._reduced(env, Combine.SUM, "int8"))
        return self._factors.multiplied(env, summed)
