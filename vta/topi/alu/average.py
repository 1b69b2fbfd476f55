"""The average of a pooling's windows, from their sums: exact division on the tensor ALU.

Where all windows divide by the same number, it is in the operations; otherwise a multiplier and an offset for every
place are loaded beside the data. Tests: tests/vta/topi/alu/test_average.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vta import te
from vta.environment import Environment
from vta.tir.expr import Expr
from vta.topi.alu.division import Quotient, Rounding, common_quotients, division

__all__ = ["Average", "Averaged"]

Element: TypeAlias = Callable[[Expr, tuple[Expr, ...]], Expr]
"""What a stage computes of the number so far and its indices."""

_LOW, _HIGH = -128, 127
"""What the numbers of a sum are."""


@dataclass(frozen=True, slots=True, eq=False)
class Averaged:
    """The averages, the stages that compute them, in order, and the tables that these read."""

    tensor: te.Tensor
    stages: tuple[te.Tensor, ...]
    tables: tuple[te.Tensor, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Average:
    """Division of sums of int8 numbers by ``counts``, (H, W), rounded; raises ``DivisionError``."""

    counts: npt.NDArray[np.int64]
    rounding: Rounding

    @property
    def is_uniform(self) -> bool:
        """Whether all windows divide by the same number."""
        return bool((self.counts == self.counts.flat[0]).all())

    @property
    def held(self) -> int:
        """How many accumulator elements an output takes beside its sum."""
        return 2 * self.rounding.is_symmetric + 2

    def quotients(self) -> dict[int, Quotient]:
        """Return multiplier, offset and shift for every count; the shift is the same for all."""
        low = 0 if self.rounding.is_symmetric else _LOW
        high = -_LOW if self.rounding.is_symmetric else _HIGH
        return common_quotients((int(count) for count in np.unique(self.counts)), low, high, self.rounding)

    def tables(self, env: Environment) -> tuple[npt.NDArray[np.int32], ...]:
        """Return the packed multipliers and offsets; none if all windows divide by the same number."""
        if self.is_uniform:
            return ()
        found = self.quotients()
        lanes = (1, 1, *self.counts.shape, env.BATCH, env.BLOCK_OUT)
        return tuple(
            np.ascontiguousarray(
                np.broadcast_to(np.vectorize(value)(self.counts)[None, None, :, :, None, None], lanes), np.int32
            )
            for value in (lambda n: found[n].multiplier, lambda n: found[n].offset)
        )

    def of(self, env: Environment, sums: te.Tensor) -> Averaged:
        """Return the averages of packed ``sums``."""
        chain = _Chain(sums)
        sign = None
        if self.rounding.is_symmetric:
            sign = chain.add(lambda x, _: (x >> 31) * 2 + 1, "sign")
            chain.now = sums
            chain.add(_times(sign), "magnitude")
        tables = self._by_constant(chain) if self.is_uniform else self._by_place(env, chain)
        if sign is not None:
            chain.add(_times(sign), "signed")
        return Averaged(chain.now, tuple(chain.stages), tables)

    def _by_place(self, env: Environment, chain: "_Chain") -> tuple[te.Tensor, ...]:
        shape = (1, 1, *self.counts.shape, env.BATCH, env.BLOCK_OUT)
        multipliers = te.placeholder(shape, name="multipliers", dtype=env.acc_dtype)
        offsets = te.placeholder(shape, name="roundings", dtype=env.acc_dtype)
        [shift] = {quotient.shift for quotient in self.quotients().values()}
        # A table that is named first is loaded first: beside the data, into memory of its own, not after the sums.
        chain.add(lambda x, i: multipliers(0, 0, *i[2:]) * x, "product")
        chain.add(lambda x, i: offsets(0, 0, *i[2:]) + x, "offset")
        chain.add(lambda x, _: x >> shift, "quotient")
        return (multipliers, offsets)

    def _by_constant(self, chain: "_Chain") -> tuple[te.Tensor, ...]:
        count = int(self.counts.flat[0])
        bias = self.rounding.bias(count)
        low = 0 if self.rounding.is_symmetric else _LOW * count
        high = (-_LOW if self.rounding.is_symmetric else _HIGH) * count
        how = division(count, low + bias, high + bias)
        if bias:
            chain.add(lambda x, _: x + bias, "biased")
        if how.halvings:
            chain.add(lambda x, _: x >> how.halvings, "halved")
        dividend, quotient = chain.now, how.quotient
        if quotient.shift:
            chain.add(lambda x, _: x * quotient.multiplier, "product")
            if quotient.offset:
                chain.add(lambda x, _: x + quotient.offset, "offset")
            near = chain.add(lambda x, _: x >> quotient.shift, "quotient")
            if how.correct_by:
                chain.add(lambda x, _: x * -how.correct_by, "back")
                chain.add(lambda x, i: x + dividend(*i), "remainder")
                chain.add(lambda x, _: x >> 31, "excess")
                chain.add(lambda x, i: x + near(*i), "corrected")
        return ()


def _times(factor: te.Tensor) -> Element:
    return lambda x, i: x * factor(*i)


class _Chain:
    """Stages one after the other, each of what the last one computed."""

    def __init__(self, start: te.Tensor) -> None:
        self.now = start
        self.stages: list[te.Tensor] = []

    def add(self, element: Element, name: str) -> te.Tensor:
        """Append a stage: ``element`` gets what there is so far, and the indices."""
        before = self.now
        self.now = te.compute(before.shape, lambda *i: element(before(*i), i), name=f"pool_{name}", tag="elemwise")
        self.stages.append(self.now)
        return self.now
