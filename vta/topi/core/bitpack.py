"""Several narrow numbers in one int8: neighbours of the last dimension, the first one in the lowest bits.

That is how scratchpads and arrays of int4, int2 and int1 hold them. ``bitpack`` describes it in te, for the host;
``pack_bits`` and ``unpack_bits`` do it with numpy. Tests: tests/vta/topi/core/test_bitpack.py.
"""

from functools import reduce

import numpy as np
import numpy.typing as npt

from vta import te
from vta.tir.expr import Expr
from vta.topi.core.operator import OperatorError
from vta.topi.core.sizes import sizes

__all__ = ["bitpack", "pack_bits", "unpack_bits"]

_BYTE = 8


def bitpack(data: te.Tensor, bits: int, pack_type: str = "int8", name: str = "bitpack") -> te.Tensor:
    """Return the low ``bits`` bits of every number of ``data``, ``8 // bits`` in each int8; TVM-VTA's function."""
    if pack_type != "int8":
        raise OperatorError(f"bitpack packs into int8, not {pack_type!r}")
    *outer, last = sizes(data)
    lanes = _lanes(bits, last)

    def element(*i: Expr) -> Expr:
        parts = [
            (data(*i[:-1], i[-1] * lanes + lane).astype("int32") & ((1 << bits) - 1)) << (bits * lane)
            for lane in range(lanes)
        ]
        return reduce(lambda a, b: a | b, parts).astype(pack_type)

    return te.compute((*outer, last // lanes), element, name=name, tag="bitpack")


def pack_bits(array: npt.NDArray[np.integer], bits: int) -> npt.NDArray[np.int8]:
    """Return what ``bitpack`` computes, in numpy."""
    last = array.shape[-1] if array.ndim else 0
    lanes = _lanes(bits, last)
    low = array.astype(np.int64) & ((1 << bits) - 1)
    apart = low.reshape(*array.shape[:-1], last // lanes, lanes) << (bits * np.arange(lanes))
    packed: npt.NDArray[np.uint8] = apart.sum(axis=-1).astype(np.uint8)
    return packed.view(np.int8)


def unpack_bits(packed: npt.NDArray[np.int8], bits: int, *, signed: bool = True) -> npt.NDArray[np.int8]:
    """Return the numbers that ``pack_bits`` packed; those of one bit are 0 and -1 if ``signed``."""
    lanes = _lanes(bits, _BYTE)
    low = (packed.view(np.uint8)[..., None] >> (bits * np.arange(lanes, dtype=np.uint8))) & ((1 << bits) - 1)
    numbers = low.astype(np.int16)
    if signed:
        numbers -= (numbers >> (bits - 1)) << bits
    return numbers.astype(np.int8).reshape(*packed.shape[:-1], packed.shape[-1] * lanes)


def _lanes(bits: int, last: int) -> int:
    if bits not in (1, 2, 4, 8):
        raise OperatorError(f"numbers of 1, 2, 4 or 8 bits are packed, not of {bits}")
    lanes = _BYTE // bits
    if last % lanes or not last:
        raise OperatorError(f"{lanes} numbers of {bits} bits make an int8, and the last dimension has {last}")
    return lanes
