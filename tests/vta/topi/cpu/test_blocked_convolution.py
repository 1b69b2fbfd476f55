"""Convolutions in blocks of registers: corners of sizes against float64, any processor's blocks, epilogues, errors."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from vta import te
from vta.build_module import build_generic
from vta.processor import Processor, processor_of
from vta.tir import ops
from vta.tir.expr import const
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.blocked_convolution import BlockedConv2d, ConvBlock, conv_block

SSE = Processor(4, 16, fuses=False, has_vnni=False)
AVX2 = Processor(8, 16, fuses=True, has_vnni=False)
AVX512 = Processor(16, 32, fuses=True, has_vnni=False)

Array = npt.NDArray[Any]


def convolved(conv: BlockedConv2d, data: Array, filters: Array) -> tuple[Array, Array]:
    """Return the result in float64, and the sums of absolute products, which roundings are in proportion to."""
    (height, width), (sh, sw), (dh, dw) = conv.size, conv.strides, conv.dilation
    top, left, bottom, right = conv.pads
    padded = np.pad(data.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    n, inner = len(data), filters.shape[1]
    results = np.zeros((2, n, len(filters), height, width))
    for o, f in enumerate(filters.astype(np.float64)):
        first = o // conv.per_group * inner
        for r, c in np.ndindex(*f.shape[1:]):
            part = padded[:, first : first + inner, r * dh :, c * dw :][:, :, ::sh, ::sw][:, :, :height, :width]
            for result, a, b in ((results[0], part, f), (results[1], np.abs(part), np.abs(f))):
                result[:, o] += np.einsum("nchw,c->nhw", a, b[:, r, c])
    return results[0], results[1]


def check(conv: BlockedConv2d, target: str = "llvm", seed: int = 1) -> None:
    rng = np.random.default_rng(seed)
    data = rng.standard_normal(conv.images).astype(conv.dtype)
    filters = rng.standard_normal(conv.filters).astype(conv.dtype)
    images, packed = conv.placeholders()
    out = conv.compute(images, packed)
    module = build_generic(conv.schedule(out), [images, packed, out], target)
    expected, largest = convolved(conv, data, filters)
    found = np.full(expected.shape, np.nan, conv.dtype)
    module(data, conv.pack(filters), found)
    terms = int(np.prod(conv.filters[1:]))
    bound = np.finfo(conv.dtype).eps * terms * largest + np.finfo(conv.dtype).tiny
    assert np.all(np.abs(found - expected) <= bound), conv


CORNERS = [
    ((1, 3, 9, 9), (5, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1),
    ((2, 4, 7, 33), (40, 4, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 1),
    ((1, 5, 8, 8), (33, 5, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((3, 2, 6, 5), (3, 2, 1, 1), (2, 3), (0, 0, 0, 0), (1, 1), 1),
    ((1, 2, 11, 13), (7, 2, 3, 2), (1, 2), (2, 0, 1, 3), (2, 3), 1),
    ((1, 6, 7, 7), (9, 2, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 3),
    ((2, 4, 5, 5), (72, 2, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 2),
    ((1, 6, 5, 5), (6, 1, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 6),
    ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0, 0, 0), (1, 1), 1),
    ((1, 2, 1, 60), (32, 2, 1, 5), (1, 1), (0, 4, 0, 0), (1, 1), 1),
    ((1, 3, 20, 17), (16, 3, 7, 7), (2, 2), (3, 3, 3, 3), (1, 1), 1),
    ((1, 2, 4, 4), (8, 2, 2, 2), (5, 5), (0, 0, 0, 0), (1, 1), 1),
]


@pytest.mark.parametrize("number", range(len(CORNERS)))
def test_corners_of_sizes(number: int) -> None:
    check(BlockedConv2d(*CORNERS[number], (AVX2, AVX512)[number % 2]))


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(CORNERS)))
def test_corners_of_sizes_on_the_other_processor(number: int) -> None:
    check(BlockedConv2d(*CORNERS[number], (AVX512, AVX2)[number % 2]))


@pytest.mark.parametrize(
    ("processor", "dtype", "target"),
    [(SSE, "float32", "llvm -fast-math-contract"), (AVX2, "float64", "llvm"), (processor_of(), "float32", "llvm")],
)
def test_other_processors_and_types(processor: Processor, dtype: str, target: str) -> None:
    check(BlockedConv2d((1, 4, 10, 15), (20, 4, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1, processor, dtype), target)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_random_sizes(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def number(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    groups = number(1, 3)
    channels, outputs = groups * number(1, 5), groups * number(1, 40)
    images = (number(1, 2), channels, number(7, 20), number(7, 40))
    filters = (outputs, channels // groups, number(1, 3), number(1, 3))
    pads = (number(0, 3), number(0, 3), number(0, 3), number(0, 3))
    strides, dilation = (number(1, 3), number(1, 3)), (number(1, 3), number(1, 3))
    check(BlockedConv2d(images, filters, strides, pads, dilation, groups, (SSE, AVX2, AVX512)[seed % 3]), seed=seed)


def test_what_is_computed_of_the_result_is_part_of_its_block() -> None:
    conv = BlockedConv2d((1, 3, 8, 30), (20, 3, 3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1, AVX2)
    images, packed = conv.placeholders()
    bias, out = te.placeholder((20,), "float32", "bias"), conv.compute(images, packed)
    added = te.compute(out.shape, lambda *i: out(*i) + bias(i[1]), "added", tag="broadcast")
    limited = te.compute(out.shape, lambda *i: ops.max(added(*i), const(0.0)), "limited", tag="elemwise")
    module = build_generic(conv.schedule(limited), [images, packed, bias, limited], "llvm")
    rng = np.random.default_rng(5)
    data, filters = (rng.standard_normal(shape).astype(np.float32) for shape in (conv.images, conv.filters))
    offsets, found = rng.standard_normal(20).astype(np.float32), np.zeros((1, 20, 8, 30), np.float32)
    module(data, conv.pack(filters), offsets, found)
    expected = np.maximum(convolved(conv, data, filters)[0] + offsets[:, None, None], 0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_blocks_fill_the_registers_and_waste_few_places() -> None:
    assert conv_block(AVX512, 64, (56, 56)) == ConvBlock(16, 2, 1, 14)
    assert conv_block(AVX512, 512, (7, 7)) == ConvBlock(16, 2, 2, 7)
    assert conv_block(AVX2, 64, (56, 56)) == ConvBlock(8, 2, 1, 5)
    assert conv_block(AVX2, 3, (56, 56)) == ConvBlock(8, 1, 1, 8)
    assert conv_block(AVX512, 64, (1, 3)) == ConvBlock(16, 2, 1, 3)
    assert conv_block(AVX512, 64, (40, 15)) == ConvBlock(16, 2, 1, 8)


def test_sizes_that_do_not_go_together() -> None:
    good = ((1, 4, 8, 8), (6, 2, 3, 3), (1, 1), (0, 0, 0, 0), (1, 1), 2)
    cases: list[tuple[int, Any, str]] = [
        (1, (5, 2, 3, 3), "BlockedConv2d: 4 channels in 2 groups do not go with 5 filters of 2 channels"),
        (0, (1, 5, 8, 8), "BlockedConv2d: 5 channels in 2 groups do not go with 6 filters of 2 channels"),
        (1, (6, 2, 9, 3), "BlockedConv2d: the filters are larger than the padded images"),
        (2, (0, 1), "BlockedConv2d: expected sizes from 1 and pads from 0"),
        (3, (0, 0, -1, 0), "BlockedConv2d: expected sizes from 1 and pads from 0"),
    ]
    for place, value, text in cases:
        wrong = [*good[:place], value, *good[place + 1 :]]
        with pytest.raises(OperatorError) as error:
            BlockedConv2d(*wrong, SSE)
        assert str(error.value) == text
    with pytest.raises(OperatorError) as error:
        BlockedConv2d(*good, SSE).pack(np.zeros((6, 2, 3, 4), np.float32))
    assert str(error.value) == "BlockedConv2d: expected filters of (6, 2, 3, 3), got (6, 2, 3, 4)"
