"""The common part of layers' schedules."""

import numpy as np
import pytest

import vta
from vta import te
from vta.nd import array, empty, ext_dev
from vta.topi.core.fused import FusedError
from vta.topi.core.layer_schedule import LayerSchedule, use_in_turn
from vta.topi.core.operator import OperatorError
from vta.topi.matmul.dense import dense


def layer() -> tuple[te.Tensor, list[te.Tensor]]:
    data, weight = te.placeholder((4, 2, 1, 16), "int8", "data"), te.placeholder((6, 2, 16, 16), "int8", "weight")
    bias, other = te.placeholder((1, 6, 1, 16), "int32", "bias"), te.placeholder((4, 6, 1, 16), "int8", "other")
    biased = dense(data, weight, bias)
    wide = te.compute(biased.shape, lambda *i: other(*i).astype("int32"), "wide")
    total = te.compute(biased.shape, lambda *i: biased(*i) + wide(*i), "total")
    result = te.compute(total.shape, lambda *i: total(*i).astype("int8"), "result")
    return result, [data, weight, bias, other, result]


def test_operands_and_what_the_epilogue_reads_are_loaded() -> None:
    result, _ = layer()
    made = LayerSchedule.of([result])
    assert [t.op.name for t in (made.data, made.weights)] == ["data.local.inp_buffer", "weight.local.wgt_buffer"]
    assert [t.op.name for t in made.loads] == ["bias.local.acc_buffer", "wide"]
    assert [stage.op.outputs for stage in (made.result, made.sums)] == [(result,), (made.layer.reduction,)]


def test_tiles_that_take_turns_compute_the_layer() -> None:
    result, args = layer()
    made = LayerSchedule.of(result)
    rows, columns, _, _ = made.result.leaf_iter_vars
    outer, inner = made.result.split(columns, factor=2)
    made.result.reorder(outer, rows, inner)
    assert made.take_turns(outer, 1) is outer
    left = made.take_turns(outer, 3)
    assert left is not outer
    made.compute_tile_in(left)
    b, c, b_i, c_i, k_o, k_i = made.sums.leaf_iter_vars
    made.sums.reorder(k_o, b, c, b_i, c_i, k_i)
    made.load_operands_in(k_o)
    made.sums.tensorize(b_i, made.env.gemm)
    made.result.pragma(rows, made.env.dma_copy)
    module = vta.build(made.s, args, target=vta.get_env().target)
    rng = np.random.default_rng(6)
    values = [rng.integers(-9, 9, [int(n) for n in t.shape]).astype(str(t.dtype)) for t in args[:-1]]
    device = ext_dev(0)
    given = [array(value, device) for value in values]
    out = empty(result.shape, "int8", device)
    module(*given, out)
    data, weight, bias, other = (v.astype(np.int32) for v in values)
    expected = np.einsum("nkbi,okci->nobc", data, weight) + bias + other
    np.testing.assert_array_equal(out.numpy(), expected.astype(np.int8))


def test_memory_is_used_in_turn_in_the_first_loop_that_the_copies_divide() -> None:
    result, _ = layer()
    made = LayerSchedule.of(result)
    rows, columns, _, _ = made.result.leaf_iter_vars
    assert use_in_turn(made.result, [rows, columns], {rows: 4, columns: 6}, 1) is columns
    inner = use_in_turn(made.result, [rows, columns], {rows: 4, columns: 6}, 3)
    assert [axis.name for axis in made.result.leaf_iter_vars[:3]] == ["i0", "i1.outer", "i1.inner"]
    assert inner is made.result.leaf_iter_vars[2]
    with pytest.raises(OperatorError) as error:
        use_in_turn(made.result, [rows], {rows: 4}, 5)
    assert str(error.value) == (
        "stage 'result': no loop around its tiles or steps has 5 trips or more, as memory that is used in turn needs: 4"
    )


def test_sums_of_other_than_two_operands_are_refused() -> None:
    data = te.placeholder((4, 3, 1, 16), "int32", "data")
    k = te.reduce_axis((0, 3), "k")
    total = te.compute((4, 1, 16), lambda i, b, c: te.sum(data[i, k, b, c], axis=k), "total")
    result = te.compute(total.shape, lambda *i: total(*i).astype("int8"), "result")
    with pytest.raises(FusedError) as error:
        LayerSchedule.of(result)
    assert str(error.value) == "stage 'total': the sums of a layer read data and weights, not 'data'"
