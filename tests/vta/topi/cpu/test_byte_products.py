"""Products of bytes: the whole sums at corners of sizes, with dot products of four and without, errors."""

import numpy as np
import pytest

from runtime.native.target import host_features
from vta import te
from vta.build_module import build_generic
from vta.codegen import Module
from vta.processor import Processor, processor_of
from vta.topi.core.operator import OperatorError
from vta.topi.cpu.byte_products import ByteMatmul, dot_16x1x16_uint8_int8_int32

SSE = Processor(4, 16, fuses=False, has_vnni=False)
AVX512 = Processor(16, 32, fuses=True, has_vnni=False)
VNNI = Processor(16, 32, fuses=True, has_vnni=True)

SIZES = [(1, 1, 1), (4, 64, 4), (5, 7, 9), (17, 130, 33), (3, 16, 2), (64, 48, 128), (2, 65, 5), (9, 16, 4)]


def product(sizes: tuple[int, int, int], processor: Processor) -> tuple[ByteMatmul, Module]:
    matmul = ByteMatmul(*sizes, processor)
    args = matmul.placeholders()
    out = matmul.compute(*args)
    return matmul, build_generic(matmul.schedule(out), [*args, out], "llvm -mcpu=native")


def check(sizes: tuple[int, int, int], processor: Processor) -> None:
    rows, columns, depth = sizes
    rng = np.random.default_rng(1)
    a = rng.choice(np.array([0, 1, 127, 128, 254, 255], np.uint8), (rows, depth))
    b = rng.choice(np.array([-128, -127, -1, 0, 1, 127], np.int8), (depth, columns))
    matmul, module = product(sizes, processor)
    found = np.full((rows, columns), 12345, np.int32)
    module(a, matmul.pack(b), found)
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize("sizes", SIZES)
def test_sums_are_whole(sizes: tuple[int, int, int]) -> None:
    check(sizes, SSE if sizes[0] % 2 else AVX512)


@pytest.mark.skipif(not host_features().get("avx512vnni", False), reason="the processor has no AVX-512 VNNI")
@pytest.mark.parametrize("sizes", SIZES)
def test_sums_are_whole_with_dot_products_of_four(sizes: tuple[int, int, int]) -> None:
    check(sizes, VNNI)


def test_the_instruction_is_used_where_the_processor_has_it() -> None:
    _, module = product((8, 64, 32), processor_of())
    assert ("vpdpbusd" in module.get_source()) == processor_of().has_vnni


def test_code_with_the_instruction_is_not_made_for_a_processor_without_it() -> None:
    data, kernel = te.placeholder((4,), "uint8", "data"), te.placeholder((16, 4), "int8", "kernel")
    k = te.reduce_axis((0, 4), "k")
    dots = te.compute((16,), lambda i: te.sum(data[k].astype("int32") * kernel[i, k].astype("int32"), axis=k))
    s = te.create_schedule(dots.op)
    s[dots].tensorize(dots.op.axis[0], dot_16x1x16_uint8_int8_int32())
    module = build_generic(s, [data, kernel, dots], "llvm -mcpu=generic")
    with pytest.raises(RuntimeError) as error:
        module(np.zeros(4, np.uint8), np.zeros((16, 4), np.int8), np.zeros(16, np.int32))
    assert str(error.value) == (
        "the program uses llvm.x86.avx512.vpdpbusd.512, for which a processor needs avx512vnni; the target has it "
        "not: name a processor that does (-mcpu), or the feature (-mattr=+avx512vnni)"
    )


def test_sizes_and_weights_that_do_not_fit() -> None:
    with pytest.raises(OperatorError) as error:
        ByteMatmul(1, 0, 1, SSE)
    assert str(error.value) == "ByteMatmul: expected sizes from 1"
    for wrong in (np.zeros((3, 2), np.int8), np.zeros((2, 3), np.uint8)):
        with pytest.raises(OperatorError) as error:
            ByteMatmul(1, 3, 2, SSE).pack(wrong)
        assert str(error.value) == (f"ByteMatmul: expected weights int8 (2, 3), got {wrong.dtype} {wrong.shape}")
