"""What a definition consists of, and what has no place on the accelerator."""

from collections.abc import Callable

import pytest

import vta
from tests.support.tuning import definitions as d
from vta import te, topi
from vta.auto_scheduler.parts import parts_of
from vta.auto_scheduler.products import DefinitionError


def names(tensors: tuple[te.Tensor, ...]) -> list[str]:
    return [tensor.name for tensor in tensors]


def test_each_stage_goes_to_the_unit_that_does_it() -> None:
    env = vta.get_env()
    found = parts_of(d.gated(1, 4, 4, 1)[-1], env)
    assert [product.weights.name for product in found.products] == ["kernel", "gate"]
    assert names(found.inlined) == ["pad_data", "pad_data"]
    assert names(found.stages) == [
        "T_right_shift", "T_right_shift", "clipA", "clipB", "T_multiply", "T_right_shift", "clipA", "clipB",
    ]  # fmt: skip
    assert found.outer == (1, 1, 4, 4)
    found = parts_of(d.convolution(1, 4, 1)[-1], env)
    assert names(found.direct) == ["bias"]
    found = parts_of(d.pool_with_residual(1, 4)[-1], env)
    assert names(found.loads) == ["T_cast", "T_cast"]
    assert names(found.computed) == ["T_cast", "pool", "T_cast", "T_add", "clipA", "clipB"]
    assert found.source_of(found.loads[1]).name == "other"


def test_pads_of_bytes_are_part_of_their_conversion() -> None:
    data = te.placeholder((1, 1, 4, 4, 1, 16), "int8", "data")
    padded = topi.nn.pad(data, [0, 0, 1, 1, 0, 0], [0, 0, 1, 1, 0, 0])
    found = parts_of(topi.cast(topi.relu(topi.cast(padded, "int32")), "int8"), vta.get_env())
    assert (len(found.loads), len(found.inlined), len(found.stages)) == (1, 1, 1)
    wide = topi.cast(data, "int32")
    twice = topi.add(wide, topi.nn.pad(wide, [0] * 6, [0] * 6))
    held = parts_of(topi.cast(twice, "int8"), vta.get_env())
    assert len(held.loads) == 1  # the accumulator has it, so it is not loaded once more


def image(dtype: str = "int8", cell: tuple[int, ...] = (1, 16)) -> te.Tensor:
    return te.placeholder((1, 1, 4, 4, *cell), dtype, "x")


def of_a_computed_image() -> te.Tensor:
    made = topi.cast(topi.relu(topi.cast(image(), "int32")), "int8")
    kernel = te.placeholder((1, 1, 1, 1, 16, 16), "int8", "kernel")
    return topi.cast(topi.conv2d(made, kernel, 1, 0, 1), "int8")


def read_twice() -> te.Tensor:
    padded = topi.nn.pad(image(), [0] * 6, [0] * 6)
    kernel = te.placeholder((1, 1, 1, 1, 16, 16), "int8", "kernel")
    sums = topi.conv2d(padded, kernel, 1, 0, 1)
    both = te.compute(sums.shape, lambda *i: sums(*i) + padded(*i).astype("int32") * 2, name="both")
    return topi.cast(both, "int8")


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (
            lambda: topi.relu(te.placeholder((4, 4), "int32", "x")),
            "stage 'T_relu': a result is int8 of three dimensions or more, the last two of which are an element of 1 x "
            "16 (BATCH x BLOCK_OUT); it is int32 of (4, 4)",
        ),
        (
            image,
            "stage 'x': what is stored is converted by a stage of its own; end with topi.cast(..., 'int8')",
        ),
        (
            of_a_computed_image,
            "stage 'T_cast': GEMM reads what lies in memory, as it is or padded with zeros, and this is computed; "
            "store it in a function of its own first",
        ),
        (
            read_twice,
            "stage 'PadInput': GEMM reads it, and stage 'both' in the accumulator does, too; define it once for each",
        ),
        (
            lambda: topi.cast(topi.add(topi.cast(image(), "int32"), image()), "int8"),
            "tensor 'x': stage 'T_add' computes with int8, and the ALU with int32; convert it by a stage of its own, "
            "topi.cast(x, 'int32')",
        ),
        (
            lambda: topi.cast(topi.relu(topi.cast(image(), "int16")), "int8"),
            "stage 'T_cast': the ALU computes int32, not int16; convert numbers when they are loaded, and when they "
            "are stored",
        ),
        (
            lambda: te.compute(
                (1, 1, 4, 4, 1, 16), lambda *i: image("int32", (1, 8))(*i[:5], i[5] // 2).astype("int8"), name="y"
            ),
            "tensor 'x': the last two of three dimensions or more are an element of the accumulator, 1 x 16 (BATCH x "
            "BLOCK_OUT), and dimension 5 has 8; pack the tensor in blocks",
        ),
        (
            lambda: te.compute(
                (1, 1, 4, 4, 1, 16),
                lambda *i: (topi.cast(image("int8", (1, 8)), "int32")(*i[:5], 0) + 1).astype("int8"),
                name="y",
            ),
            "stage 'T_cast': the last two of three dimensions or more are an element of the accumulator, 1 x 16 (BATCH "
            "x BLOCK_OUT), and axis 'i5' has 8; pack the tensor in blocks",
        ),
        (
            lambda: te.compute(
                (1, 1, 4, 4, 1, 16), lambda *i: te.placeholder((1, 16), "int32", "x")(*i[4:]).astype("int8"), name="y"
            ),
            "tensor 'x': the last two of three dimensions or more are an element of the accumulator, 1 x 16 (BATCH x "
            "BLOCK_OUT), and it has 2 dimensions; pack the tensor in blocks",
        ),
    ],
)
def test_what_has_no_place_is_refused(output: Callable[[], te.Tensor], text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parts_of(output(), vta.get_env())
    assert str(caught.value) == text
