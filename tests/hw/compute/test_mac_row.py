# amaranth: UnusedElaboratable=no
"""The dot product is exact for every width, every cycle."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hw.compute.mac_row import MacRow, dot_latency, dot_width
from hw.sim import compile_design
from tests.support.hw.compute_rig import random_bits


def _pack(values: npt.NDArray[Any], width: int) -> Any:
    return sum((int(value) & ((1 << width) - 1)) << (index * width) for index, value in enumerate(values))


@pytest.mark.parametrize("multipliers", [None, 1, 0])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(("lanes", "inp_width", "wgt_width"), [(1, 8, 8), (2, 8, 8), (4, 4, 2), (8, 1, 1), (16, 8, 8)])
def test_a_dot_product_is_exact_a_fixed_number_of_cycles_after_its_operands(
    lanes: int, inp_width: int, wgt_width: int, rows: int, multipliers: int | None
) -> None:
    rng = np.random.default_rng(lanes)
    row_of = MacRow(lanes=lanes, inp_width=inp_width, wgt_width=wgt_width, rows=rows, multipliers=multipliers)
    design = compile_design(row_of)
    design.poke("rst", 1)  # no register on the way is cleared by a reset
    inp = random_bits(rng, (60, lanes), inp_width)
    wgt = random_bits(rng, (60, rows, lanes), wgt_width)
    inp[:4], wgt[:4] = -(1 << (inp_width - 1)), -(1 << (wgt_width - 1))
    dots = []
    for row in range(60):
        design.poke("inp", _pack(inp[row], inp_width))
        design.poke("wgt", _pack(wgt[row].reshape(-1), wgt_width))
        design.step()
        dots.append(design.peek("dots"))
    latency = dot_latency(lanes)
    width = dot_width(lanes=lanes, inp_width=inp_width, wgt_width=wgt_width)
    expected = [_pack(sums, width) for sums in np.einsum("nl,nrl->nr", inp, wgt)]
    assert dots[latency - 1 :] == expected[: 61 - latency]


def test_a_dot_product_has_the_bits_of_its_greatest_value() -> None:
    assert dot_width(lanes=16, inp_width=8, wgt_width=8) == 20
    assert -(1 << 19) < 16 * 128 * 128 < 1 << 19


def test_lanes_must_be_a_power_of_two() -> None:
    with pytest.raises(ValueError, match=r"^MacRow needs a power of two of lanes, not 3$"):
        MacRow(lanes=3, inp_width=8, wgt_width=8)


def test_there_are_one_or_two_rows() -> None:
    with pytest.raises(ValueError, match=r"^MacRow has one row or two, not 3$"):
        MacRow(lanes=4, inp_width=8, wgt_width=8, rows=3)
