"""How moves are written: merged loops, slices, tables of the smallest type."""

import numpy as np

from vta.relay.c.move_code import move_code, table_text
from vta.relay.c.moves import CONSTANT, Move
from vta.tir.dtype import DType

INT8 = DType("int8")


def lines(move: Move, operands: list[int]) -> list[str]:
    return move_code(move, "m", "int8_t", INT8, operands).split("\n")


def test_a_copy_is_one_loop() -> None:
    shape = (2, 3, 4)
    move = Move(np.zeros(shape, np.int64), np.arange(24).reshape(shape), np.zeros(shape, np.int8))
    assert lines(move, [0]) == [
        "static void m(const int8_t *restrict in0, int8_t *restrict out)", "{",
        "    for (long i0 = 0; i0 < 24; ++i0)", "        out[i0] = in0[i0];", "}", "",
    ]  # fmt: skip


def test_a_single_element_needs_no_loop() -> None:
    assert "    out[0] = in0[5];" in lines(Move(np.array(0), np.array(5), np.array(0, np.int8)), [0])


def test_what_goes_in_steps_slice_by_slice_is_a_loop_for_each() -> None:
    place = np.stack([np.arange(5), np.arange(5) * 2 + 1])
    text = lines(Move(np.zeros((2, 5), np.int64), place, np.zeros((2, 5), np.int8)), [0])
    assert "        out[i0] = in0[i0];" in text
    assert "        out[5 + i0] = in0[1 + 2 * i0];" in text


def test_what_does_not_go_in_steps_is_a_table() -> None:
    place = np.array([3, 1, 4, 1, 5, 9, 2, 6] * 9)
    text = lines(Move(np.zeros(72, np.int64), place, np.zeros(72, np.int8)), [0])
    assert "    static const uint8_t from0[] = {" in text
    assert "        out[to0[i]] = in0[from0[i]];" in text


def test_constants_are_filled_in_first_and_rarer_ones_placed() -> None:
    operand = np.full(6, CONSTANT)
    move = Move(operand, np.zeros(6, np.int64), np.array([7, 7, 3, 7, 7, 3], np.int8))
    text = lines(move, [])
    assert text[0] == "static void m(int8_t *restrict out)"
    assert text[2:4] == ["    for (long i = 0; i < 6; ++i)", "        out[i] = 7;"]
    assert "        2, 5," in text
    assert "        out[at0[i]] = 3;" in text


def test_tables_have_the_smallest_type() -> None:
    for most, kind in ((255, "uint8_t"), (256, "uint16_t"), (1 << 16, "uint32_t")):
        assert next(table_text(np.array([0, most]), "t")) == f"static const {kind} t[] = {{"
