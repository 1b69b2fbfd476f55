"""A tensor intrinsic of te as one for blocks."""

import vta
from vta import te
from vta.te.tensorize.for_blocks import ways
from vta.tir.tensor_intrin import nest_of


def test_a_reduction_is_whole_a_step_and_a_start() -> None:
    found = ways(vta.get_env().gemm)
    assert [way.name for way in found] == ["GEMM", "GEMM step", "GEMM start"]
    whole, step, start = found
    assert nest_of(whole.desc, "x")[1].init is not None
    assert nest_of(step.desc, "x")[1].init is None
    assert step.start is start
    assert [axis.name for axis in nest_of(start.desc, "x")[1].iter_vars] == ["v_i", "v_j"]
    assert [len(way.impl.params) for way in found] == [3, 3, 1]


def test_what_is_no_reduction_is_one_way() -> None:
    a = te.placeholder((4,), name="a")
    b = te.compute((4,), lambda i: a[i] + 1, name="b")
    intrinsic = te.decl_tensor_intrin(b.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x4")))
    assert [way.name for way in intrinsic.block_intrinsics()] == ["tensor_intrin"]
    assert repr(intrinsic) == "TensorIntrin('tensor_intrin')"


def test_a_reduction_without_a_step_is_whole_alone() -> None:
    a, k = te.placeholder((4,), name="a"), te.reduce_axis((0, 4), name="k")
    b = te.compute((1,), lambda i: te.sum(a[k + i], axis=k), name="b")
    intrinsic = te.decl_tensor_intrin(b.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0)))
    assert [way.name for way in intrinsic.block_intrinsics()] == ["tensor_intrin"]
