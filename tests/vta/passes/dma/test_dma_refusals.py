"""What no load or store does is refused: which condition does not hold, and of which stage."""

import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import buffer, host_load, loop, pragma, store
from tests.support.hw.dma_copies import ACC, CONFIG, DRAM, INP, OUT, WIDE, around, calls, lowered, nest
from vta.passes.dma.copies import DmaError
from vta.tir import ops
from vta.tir.dtype import INT8, INT32
from vta.tir.expr import IntImm, Var
from vta.tir.scopes import INP_SCOPE
from vta.tir.stmt import Stmt

ZERO = IntImm(0, INT8)


def refusal(body: Stmt, *outer: tuple[Var, int], config: VTAConfig = CONFIG) -> str:
    with pytest.raises(DmaError) as caught:
        lowered(body, *outer, config=config)
    return str(caught.value)


def test_br_059_a_computation_is_no_copy() -> None:
    (c,), loops = nest((16,), "c")
    assert refusal(around(store(ACC, host_load(WIDE, c) + 1, c), loops)) == (
        "stage 'C_buf': dma_copy: the value is no element of another buffer: expected A[...], a conversion of it, or "
        "if_then_else(condition, A[...], 0), got (B[c] + 1); "
        "use pragma alu for what computes, and dma_copy for the stage that only copies"
    )


def test_br_059_a_transpose_within_elements_is_refused() -> None:
    (i, j), loops = nest((16, 16), "i", "j")
    assert refusal(around(store(INP, host_load(DRAM, j * 16 + i), i * 16 + j), loops)) == (
        "stage 'A_buf': dma_copy: axis j is not contiguous in DRAM: expected elements of local.inp_buffer, which are "
        "1 x 16 numbers, so a stride of 1, got a stride of 16; the numbers of an element must have the same order on "
        "both sides (no transpose)"
    )


def test_br_059_a_loop_that_starts_at_one_is_refused() -> None:
    i, c = Var("i", INT32), Var("c", INT32)
    body = loop(i, 3, loop(c, 16, store(ACC, host_load(WIDE, i * 16 + c), i * 16 + c)), low=1)
    assert refusal(body) == (
        "the function: dma_copy: the loop over i does not start at 0: expected a nest of loops that start at 0, "
        "got a start of 1"
    )


def test_several_statements_are_no_copy() -> None:
    (c,), loops = nest((16,), "c")
    body = loop(c, 16, store(ACC, host_load(WIDE, c), c), store(ACC, host_load(WIDE, c), c))
    assert loops[0][0] is c
    assert refusal(body) == (
        "the function: dma_copy: the body is no copy: expected loops around one store of an element, "
        "got several statements; put the pragma on a stage that only copies"
    )


def test_padding_with_another_number_is_refused() -> None:
    (i, c), loops = nest((4, 16), "i", "c")
    body = around(store(ACC, ops.if_then_else(i >= 1, host_load(WIDE, i * 16 + c - 16), 7), i * 16 + c), loops)
    assert refusal(body) == (
        "stage 'C_buf': dma_copy: the padding is not zero: expected 0 where the condition does not hold "
        "(a load pads with zeros), got 7; pad on the host, or with an ALU stage"
    )


def test_a_padding_condition_of_two_loops_is_refused() -> None:
    (i, j, c), loops = nest((4, 4, 16), "i", "j", "c")
    value = ops.if_then_else(i + j >= 1, host_load(WIDE, i * 64 + j * 16 + c), 0)
    assert refusal(around(store(ACC, value, i * 64 + j * 16 + c), loops)) == (
        "stage 'C_buf': dma_copy: the padding condition is no bound of one loop: expected a conjunction of "
        "comparisons, each linear in one loop of the copy, got (1 <= (i + j)); "
        "pad before splitting or fusing the axes, or compute the stage on the host"
    )


def test_a_buffer_of_two_dimensions_is_refused() -> None:
    (i, c), loops = nest((4, 16), "i", "c")
    tiles = buffer("tiles", (4, 16), "int32")
    assert refusal(around(store(ACC, host_load(tiles, i, c), i * 16 + c), loops)) == (
        "stage 'C_buf': dma_copy: buffer 'tiles' has 2 dimensions: expected one-dimensional memory, got i, c; "
        "run StorageFlatten first"
    )


def test_only_the_loops_in_which_an_index_is_not_linear_go_to_the_host() -> None:
    (i, j, c), loops = nest((4, 3, 16), "i", "j", "c")
    index = i * i * 160 + j * 16 + c
    assert calls(lowered(around(store(ACC, host_load(WIDE, index), i * 48 + j * 16 + c), loops))) == [
        "VTALoadBuffer2D B ((i*i)*10) 3 1 3 0 0 0 0 C_buf[(i*48):48] 3"
    ]


def test_two_conversions_are_refused() -> None:
    (c,), loops = nest((16,), "c")
    value = host_load(WIDE, c).astype("int8").astype("int32")
    assert refusal(around(store(ACC, value, c), loops)) == (
        "stage 'C_buf': dma_copy: the value is converted more than once: expected at most one conversion, "
        "got cast(int32, cast(int8, B[c]))"
    )


def test_less_than_an_element_is_refused() -> None:
    (c,), loops = nest((8,), "c")
    assert refusal(around(store(ACC, host_load(WIDE, c), c), loops)) == (
        "stage 'C_buf': dma_copy: it copies less than an element: expected elements of local.acc_buffer, which are "
        "1 x 16 numbers, got 8 numbers"
    )


def test_rows_that_do_not_divide_into_elements_are_refused() -> None:
    (c,), loops = nest((24,), "c")
    assert refusal(around(store(ACC, host_load(WIDE, c), c), loops)) == (
        "stage 'C_buf': dma_copy: axis c does not divide into elements: expected elements of local.acc_buffer, "
        "which are 1 x 16 numbers, got 24 numbers in a row"
    )


def test_padding_within_an_element_is_refused() -> None:
    (c,), loops = nest((16,), "c")
    body = around(store(ACC, ops.if_then_else(c >= 3, host_load(WIDE, c), 0), c), loops)
    assert refusal(body) == (
        "stage 'C_buf': dma_copy: axis c pads or cuts within an element: expected elements of local.acc_buffer, "
        "which are 1 x 16 numbers, got an extent of 13, padded by 3 and 0; pad or guard whole elements only"
    )


def test_an_offset_within_an_element_is_refused() -> None:
    (c,), loops = nest((16,), "c")
    assert refusal(around(store(ACC, host_load(WIDE, c + 3), c), loops)) == (
        "stage 'C_buf': dma_copy: the offset in DRAM is no whole number of elements: expected a multiple of 16, got 3"
    )


def test_a_stride_within_an_element_is_refused() -> None:
    (i, c), loops = nest((4, 16), "i", "c")
    assert refusal(around(store(ACC, host_load(WIDE, i * 20 + c), i * 16 + c), loops)) == (
        "stage 'C_buf': dma_copy: the stride of axis i in DRAM is no whole number of elements: "
        "expected a multiple of 16, got 20"
    )


def test_a_copy_within_dram_is_refused() -> None:
    (c,), loops = nest((16,), "c")
    assert refusal(around(store(OUT, host_load(DRAM, c), c), loops)) == (
        "stage 'C': dma_copy: it does not cross the chip's border: expected a copy from DRAM to a scratchpad, or from "
        "the accumulator to DRAM, got global to global; set_scope() decides where a stage's result lives"
    )


def test_only_the_accumulator_is_stored() -> None:
    (c,), loops = nest((16,), "c")
    assert refusal(around(store(OUT, host_load(INP, c), c), loops)) == (
        "stage 'C': dma_copy: only the accumulator can be stored: expected local.acc_buffer, got local.inp_buffer; "
        "compute the result in the accumulator"
    )


def test_a_store_narrows_to_the_output_type() -> None:
    (c,), loops = nest((16,), "c")
    assert refusal(around(store(WIDE, host_load(ACC, c), c), loops)) == (
        "stage 'B': dma_copy: a store keeps the low 8 bits of each number: expected int32 to int8, got int32 to int32; "
        "end the computation with a cast to int8"
    )


def test_a_store_cannot_pad() -> None:
    (i, c), loops = nest((4, 16), "i", "c")
    value = ops.if_then_else(i >= 1, host_load(ACC, i * 16 + c - 16).astype("int8"), ZERO)
    assert refusal(around(store(OUT, value, i * 16 + c), loops)) == (
        "stage 'C': dma_copy: a store cannot pad: expected a plain copy, got if_then_else(condition, A[...], 0)"
    )


def test_a_load_does_not_convert_otherwise() -> None:
    (c,), loops = nest((16,), "c")
    unsigned = buffer("U", (64,), "uint8")
    assert refusal(around(store(ACC, host_load(unsigned, c).astype("int32"), c), loops)) == (
        "stage 'C_buf': dma_copy: a load into local.acc_buffer cannot convert like this: "
        "expected int32 to int32 or int8 to int32, got uint8 to int32"
    )
    narrow = buffer("small", (64,), "int16", INP_SCOPE)
    assert refusal(around(store(narrow, host_load(DRAM, c).astype("int16"), c), loops)) == (
        "stage 'small': dma_copy: a load into local.inp_buffer cannot convert like this: "
        "expected int8 to int8, got int8 to int16"
    )


def test_a_wait_inside_of_a_copy_is_refused() -> None:
    i, c = Var("i", INT32), Var("c", INT32)
    inner = pragma("coproc_sync", loop(c, 16, store(ACC, host_load(WIDE, i * 16 + c), i * 16 + c)))
    assert refusal(loop(i, 4, inner)) == (
        "the function: dma_copy: the body is no copy: expected loops around one store of an element, "
        "got pragma coproc_sync on a loop of the copy; put the pragma on a stage that only copies"
    )
