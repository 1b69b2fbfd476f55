"""Copies become loads and stores: in as few calls as the hardware allows, with loops of the host around them."""

import numpy as np
import pytest

import vta
from isa.origin import Origin
from tests.support.compiler.tir_build import buffer, host_load, loop, outline, pragma, store, when
from tests.support.configs import CONFIGS
from tests.support.hw.dma_copies import ACC, DRAM, INP, OUT, WIDE, around, calls, lowered, nest
from tests.support.isa.alu_model import evaluate
from vta import te, topi
from vta.tir import ops
from vta.tir.dtype import INT8, INT32
from vta.tir.expr import IntImm, Var
from vta.tir.scopes import WGT_SCOPE
from vta.tir.stmt import IfThenElse, LetStmt
from vta.tir.traverse import walk

ZERO = IntImm(0, INT8)


def test_a_contiguous_copy_is_one_row() -> None:
    (i, c), loops = nest((64, 16), "i1", "i3")
    body = around(store(ACC, host_load(WIDE, i * 16 + c), i * 16 + c), loops)
    assert calls(lowered(body)) == ["VTALoadBuffer2D B 0 64 1 64 0 0 0 0 C_buf[0:1024] 3"]
    assert outline(lowered(body)) == ["[2] VTALoadBuffer2D"]


def test_a_tile_of_a_matrix_is_rows_with_a_stride() -> None:
    (i, j, a, b), loops = nest((16, 16, 16, 16), "i0", "i1", "i2", "i3")
    wgt = buffer("W_buf", (65536,), "int8", WGT_SCOPE)
    o, k = Var("o", INT32), Var("k", INT32)
    source = o * 262144 + k * 4096 + i * 16384 + j * 256 + a * 16 + b
    body = around(store(wgt, host_load(DRAM, source), i * 4096 + j * 256 + a * 16 + b), loops)
    result = lowered(body, (o, 4), (k, 4))
    assert calls(result) == ["VTALoadBuffer2D A ((o*1024) + (k*16)) 16 16 64 0 0 0 0 W_buf[0:65536] 1"]
    assert outline(result) == ["for o {", "  for k {", "    [1] VTALoadBuffer2D", "  }", "}"]


def test_one_element_is_a_store_of_one() -> None:
    (c,), loops = nest((16,), "i3")
    o, i = Var("o", INT32), Var("i", INT32)
    body = around(store(OUT, host_load(ACC, i * 16 + c).astype("int8"), o * 256 + i * 16 + c), loops)
    result = lowered(body, (o, 4), (i, 16))
    assert calls(result) == ["VTAStoreBuffer2D C_buf[(i*16):16] 4 C ((o*16) + i) 1 1 1"]
    assert outline(result) == ["for o {", "  for i {", "    [3] VTAStoreBuffer2D", "  }", "}"]


def test_a_padded_load_has_its_pads_in_the_call() -> None:
    (y, x, c), loops = nest((5, 7, 16), "i0", "i1", "i3")
    inside = ops.all(y >= 1, y < 4, x >= 1, x < 6)
    value = ops.if_then_else(inside, host_load(WIDE, y * 80 + x * 16 + c - 96), 0)
    body = around(store(ACC, value, y * 112 + x * 16 + c), loops)
    assert calls(lowered(body)) == ["VTALoadBuffer2D B 0 5 3 5 1 1 1 1 C_buf[0:560] 3"]


def test_pads_at_the_borders_of_a_tiled_image_depend_on_the_tile() -> None:
    (y, x, c), loops = nest((9, 16, 16), "i2", "i3", "i5")
    k, t = Var("k", INT32), Var("t", INT32)
    row = y + t * 7
    inside = ops.all(row >= 1, row < 15, x >= 1, x < 15)
    source = k * 3136 + t * 1568 + y * 224 + x * 16 + c - 240
    body = around(
        store(INP, ops.if_then_else(inside, host_load(DRAM, source), ZERO), y * 256 + x * 16 + c),
        loops,
    )
    assert calls(lowered(body, (k, 16), (t, 2))) == [
        "VTALoadBuffer2D A ((((k*196) + (t*98)) + (max((1 - (t*7)), 0)*14)) - 14) "
        "14 ((9 - max((1 - (t*7)), 0)) - max(((t*7) - 6), 0)) 14 "
        "1 max((1 - (t*7)), 0) 1 max(((t*7) - 6), 0) A_buf[0:2304] 2"
    ]


def test_br_057_padding_with_batches_of_two() -> None:
    config = CONFIGS["b2k16"]
    (y, x, b, c), loops = nest((10, 10, 2, 16), "i2", "i3", "i4", "i5")
    inside = ops.all(y >= 1, y < 9, x >= 1, x < 9)
    source = (y - 1) * 256 + (x - 1) * 32 + b * 16 + c
    body = around(
        store(INP, ops.if_then_else(inside, host_load(DRAM, source), ZERO), y * 320 + x * 32 + b * 16 + c),
        loops,
    )
    assert calls(lowered(body, config=config)) == ["VTALoadBuffer2D A 0 8 8 8 1 1 1 1 A_buf[0:3200] 2"]


def test_padding_inside_of_a_loop_over_channels_is_left_to_host_loops() -> None:
    (k, y, x, c), loops = nest((2, 4, 5, 16), "k", "y", "x", "c")
    inside = ops.all(y >= 1, y < 3, x >= 1, x < 4)
    source = k * 2048 + y * 64 + x * 16 + c
    body = around(
        store(INP, ops.if_then_else(inside, host_load(DRAM, source), ZERO), k * 320 + y * 80 + x * 16 + c),
        loops,
    )
    assert outline(lowered(body)) == ["[1] for k { VTALoadBuffer2D }"]
    assert calls(lowered(body)) == ["VTALoadBuffer2D A ((k*128) + 5) 3 2 4 1 1 1 1 A_buf[(k*320):320] 2"]


def test_more_dimensions_than_two_are_loops_of_the_host() -> None:
    (i, j, k, c), loops = nest((2, 3, 4, 16), "i", "j", "k", "c")
    body = around(store(INP, host_load(DRAM, i * 4096 + j * 512 + k * 16 + c), i * 192 + j * 64 + k * 16 + c), loops)
    assert calls(lowered(body)) == ["VTALoadBuffer2D A (i*256) 4 3 32 0 0 0 0 A_buf[(i*192):192] 2"]
    assert outline(lowered(body)) == ["[1] for i { VTALoadBuffer2D }"]


def test_int8_data_is_widened_by_a_load_into_the_accumulator() -> None:
    (i, c), loops = nest((4, 16), "i", "c")
    body = around(store(ACC, host_load(DRAM, i * 16 + c).astype("int32"), i * 16 + c), loops)
    assert calls(lowered(body)) == ["VTALoadBuffer2D A 0 4 1 4 0 0 0 0 C_buf[0:64] 5"]


def test_widened_data_may_be_padded() -> None:
    (i, c), loops = nest((4, 16), "i", "c")
    value = ops.if_then_else(i >= 1, host_load(DRAM, i * 16 + c - 16).astype("int32"), 0)
    assert calls(lowered(around(store(ACC, value, i * 16 + c), loops))) == [
        "VTALoadBuffer2D A 0 3 1 3 1 0 0 0 C_buf[0:64] 5"
    ]


def test_a_row_of_padding_alone_writes_zeros() -> None:
    (x, c), loops = nest((4, 16), "x", "c")
    o = Var("o", INT32)
    value = ops.if_then_else(o >= 1, host_load(DRAM, o * 64 + x * 16 + c - 64), ZERO)
    result = lowered(around(store(INP, value, x * 16 + c), loops), (o, 3))
    assert outline(result) == [
        "for o {",
        "  [1] if { VTALoadBuffer2D } else { VTALoadBuffer2D }",
        "}",
    ]
    assert calls(result) == [
        "VTALoadBuffer2D A ((o*4) - 4) 4 1 4 0 0 0 0 A_buf[0:64] 2",
        "VTALoadBuffer2D A 0 0 0 4 4 1 0 0 A_buf[0:64] 2",
    ]


def test_a_broadcast_reads_the_same_row_again() -> None:
    (i, j, c), loops = nest((5, 4, 16), "i", "j", "c")
    body = around(store(ACC, host_load(WIDE, j * 16 + c), i * 64 + j * 16 + c), loops)
    assert calls(lowered(body)) == ["VTALoadBuffer2D B 0 4 5 0 0 0 0 0 C_buf[0:320] 3"]


def test_rows_and_columns_that_run_backwards_are_loops_of_the_host() -> None:
    (y, x, c), loops = nest((3, 4, 16), "y", "x", "c")
    upside_down = around(store(ACC, host_load(WIDE, (2 - y) * 64 + x * 16 + c), y * 64 + x * 16 + c), loops)
    result = lowered(upside_down)
    assert calls(result) == ["VTALoadBuffer2D B ((0 - (y*4)) + 8) 4 1 4 0 0 0 0 C_buf[(y*64):64] 3"]
    assert outline(result) == ["[2] for y { VTALoadBuffer2D }"]
    mirrored = around(store(OUT, host_load(ACC, y * 64 + x * 16 + c).astype("int8"), (2 - y) * 64 + x * 16 + c), loops)
    assert calls(lowered(mirrored)) == ["VTAStoreBuffer2D C_buf[(y*64):64] 4 C ((0 - (y*4)) + 8) 4 1 4"]


def test_the_order_of_the_loops_does_not_matter() -> None:
    (i, j, c), loops = nest((5, 4, 16), "i", "j", "c")
    body = around(
        store(ACC, host_load(WIDE, i * 160 + j * 16 + c), i * 64 + j * 16 + c), [loops[1], loops[0], loops[2]]
    )
    assert calls(lowered(body)) == ["VTALoadBuffer2D B 0 4 5 10 0 0 0 0 C_buf[0:320] 3"]


def test_a_transpose_of_tiles_moves_columns() -> None:
    (i, j, c), loops = nest((3, 4, 16), "i", "j", "c")
    body = around(store(INP, host_load(DRAM, j * 48 + i * 16 + c), i * 64 + j * 16 + c), loops)
    assert calls(lowered(body)) == ["VTALoadBuffer2D A i 1 4 3 0 0 0 0 A_buf[(i*64):64] 2"]


def test_br_065_a_guard_of_a_split_cuts_the_last_store() -> None:
    (i, c), loops = nest((4, 16), "i.inner", "c")
    o = Var("i.outer", INT32)
    guarded = when(
        ops.likely(o * 4 + i < 10), store(OUT, host_load(ACC, i * 16 + c).astype("int8"), o * 64 + i * 16 + c)
    )
    result = lowered(around(guarded, loops), (o, 3))
    assert calls(result) == [
        "VTAStoreBuffer2D C_buf[0:(min((10 - (i.outer*4)), 4)*16)] 4 C (i.outer*4) "
        "min((10 - (i.outer*4)), 4) 1 min((10 - (i.outer*4)), 4)"
    ]


def test_a_guard_of_two_loops_leaves_the_outer_one_to_the_host() -> None:
    (i, j, c), loops = nest((3, 4, 16), "i", "j", "c")
    guarded = when(ops.likely(i * 4 + j < 10), store(ACC, host_load(WIDE, i * 64 + j * 16 + c), i * 64 + j * 16 + c))
    result = lowered(around(guarded, loops))
    assert outline(result) == ["[2] for i { VTALoadBuffer2D }"]
    assert calls(result) == [
        "VTALoadBuffer2D B (i*4) min((10 - (i*4)), 4) 1 min((10 - (i*4)), 4) 0 0 0 0 "
        "C_buf[(i*64):(min((10 - (i*4)), 4)*16)] 3"
    ]


def test_a_guard_that_is_no_bound_is_tested_by_the_host() -> None:
    (i, c), loops = nest((6, 16), "i", "c")
    guarded = when((i % 2 == 0).asexpr(), store(ACC, host_load(WIDE, i * 16 + c), i * 16 + c))
    assert outline(lowered(around(guarded, loops))) == ["[2] for i { if { VTALoadBuffer2D } }"]


def test_a_guard_of_outer_loops_alone_is_tested_by_the_host() -> None:
    (c,), loops = nest((16,), "c")
    o = Var("o", INT32)
    guarded = when(o < 2, store(ACC, host_load(WIDE, o * 16 + c), c))
    assert outline(lowered(around(guarded, loops), (o, 3))) == ["for o {", "  [2] if { VTALoadBuffer2D }", "}"]


def test_a_long_contiguous_axis_is_cut_into_elements() -> None:
    (c,), loops = nest((64,), "c")
    assert calls(lowered(around(store(ACC, host_load(WIDE, c), c), loops))) == [
        "VTALoadBuffer2D B 0 4 1 4 0 0 0 0 C_buf[0:64] 3"
    ]


def test_calls_carry_the_origin_of_their_copy() -> None:
    (c,), loops = nest((16,), "c")
    origin = Origin("A_buf", "gemm.py:12")
    copy = store(ACC, host_load(WIDE, c), c)
    body = around(type(copy)(copy.buffer, copy.value, copy.indices, origin), loops)
    stamped = [node.origin for node in walk(lowered(body)) if getattr(node, "origin", None) is not None]
    assert stamped == [origin, origin]


def test_a_wait_on_the_same_loop_stands_outside_of_the_copy() -> None:
    (i, c), loops = nest((4, 16), "i", "c")
    body = pragma("coproc_sync", around(store(ACC, host_load(WIDE, i * 16 + c), i * 16 + c), loops))
    assert outline(lowered(body)) == ["pragma_coproc_sync {", "  [2] VTALoadBuffer2D", "}"]


def test_other_pragmas_and_lets_within_a_copy_change_nothing() -> None:
    (i, c), loops = nest((4, 16), "i", "c")
    z = Var("z", INT32)
    copy = LetStmt(z, i * 16, pragma("unroll", store(ACC, host_load(WIDE, z + c), z + c)))
    assert calls(lowered(around(copy, loops))) == ["VTALoadBuffer2D B 0 4 1 4 0 0 0 0 C_buf[0:64] 3"]


def test_symbolic_sizes_stay_symbolic() -> None:
    m, n = Var("m", INT32), Var("n", INT32)
    i, j, c = (Var(name, INT32) for name in "ijc")
    copy = store(ACC, host_load(WIDE, i * 640 + j * 16 + c), i * (n * 16) + j * 16 + c)
    body = loop(i, m, loop(j, n, loop(c, 16, copy)))
    assert calls(lowered(body)) == ["VTALoadBuffer2D B 0 n m 40 0 0 0 0 C_buf[0:((n*m)*16)] 3"]


@pytest.mark.parametrize("first", range(4))
@pytest.mark.parametrize("rows", [1, 3])
def test_a_load_of_pads_alone_writes_zeros(rows: int, first: int) -> None:
    """A tile of one row, out of ``rows`` rows of pads around one of data, on an accumulator that is not empty."""
    env, device = vta.get_env(), vta.nd.ext_dev(0)
    data = te.placeholder((1, 5, env.BATCH, env.BLOCK_OUT), "int32", "data")
    padded = topi.nn.pad(data, [rows, 0, 0, 0], [3, 0, 0, 0], name="padded")
    more = te.compute(data.shape, lambda i, j, b, c: padded[i * 2 + first, j, b, c] + 1, "more")
    result = te.compute(more.shape, lambda *i: more(*i).astype("int8"), "result")
    s = te.create_schedule(result.op)
    for tensor, mark in ((padded, env.dma_copy), (more, env.alu)):
        s[tensor].set_scope(env.acc_scope)
        s[tensor].compute_at(s[result], s[result].op.axis[0])
        s[tensor].pragma(s[tensor].op.axis[0], mark)
    s[result].pragma(s[result].op.axis[1], env.dma_copy)
    module = vta.build(s, [data, result], target=env.target)
    shape = tuple(int(n) for n in data.shape)
    values = np.random.default_rng(first).integers(-9, 9, shape).astype(np.int32)
    out = vta.nd.empty(shape, "int8", device)
    for _ in range(2):
        module(vta.nd.array(values, device), out)
    expected = np.pad(values, [(rows, 3), (0, 0), (0, 0), (0, 0)])[first : first + 1] + 1
    np.testing.assert_array_equal(out.numpy(), expected)


def test_padding_of_a_loop_of_the_host_moves_what_is_read_behind_it() -> None:
    (k, y, x, c), loops = nest((4, 4, 5, 16), "k", "y", "x", "c")
    inside = ops.all(k >= 1, k < 3, y >= 1, y < 3, x >= 1, x < 4)
    source = k * 2048 + (y - 1) * 64 + (x - 1) * 16 + c - 2048
    body = around(
        store(INP, ops.if_then_else(inside, host_load(DRAM, source), ZERO), k * 320 + y * 80 + x * 16 + c),
        loops,
    )
    assert outline(lowered(body)) == ["[1] for k { if { VTALoadBuffer2D } else { VTALoadBuffer2D } }"]
    assert calls(lowered(body)) == [
        "VTALoadBuffer2D A ((k*128) - 128) 3 2 4 1 1 1 1 A_buf[(k*320):320] 2",
        "VTALoadBuffer2D A 0 0 0 4 5 4 0 0 A_buf[(k*320):320] 2",
    ]
    [condition] = [node.condition for node in walk(lowered(body)) if isinstance(node, IfThenElse)]
    [k_of_host] = {node for node in walk(condition) if isinstance(node, Var)}
    held = [number for number in range(4) if evaluate(condition, {k_of_host: number})]
    assert held == [1, 2]
