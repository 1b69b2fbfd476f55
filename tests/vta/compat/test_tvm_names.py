"""What ``import tvm`` answers: the names of the tutorials, with TVM's semantics."""

from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.compat.answer import Answer
from vta.compat.tvm_names import tvm_names


@pytest.fixture(scope="module")
def tvm() -> Answer:
    return Answer("tvm", tvm_names())


@pytest.mark.parametrize(
    "path",
    [
        "te.placeholder", "te.compute", "te.reduce_axis", "te.sum", "te.max", "te.min", "te.thread_axis", "te.var",
        "te.create_schedule", "te.schedule.AutoInlineInjective", "te.decl_tensor_intrin", "tir.if_then_else", "tir.all",
        "tir.const", "tir.decl_buffer", "tir.Select", "topi.nn.pad", "nd.array", "nd.empty", "rpc.LocalSession",
        "target.Target", "target.vta", "target.create", "runtime.load_module", "runtime.enabled", "runtime.Module",
        "contrib.utils.tempdir", "contrib.util.tempdir", "transform.PassContext", "testing.assert_allclose", "lower",
        "build", "IRModule", "cpu", "ext_dev", "device", "DataType", "ir.IRModule", "ir.transform.PassContext",
    ],
)  # fmt: skip
def test_a_name_of_the_tutorials_is_there(tvm: Answer, path: str) -> None:
    value: object = tvm
    for name in path.split("."):
        value = getattr(value, name)
    assert value is not None


def test_names_are_ours(tvm: Any) -> None:
    assert tvm.te.compute is te.compute
    assert tvm.nd.array is vta.nd.array
    assert tvm.target.Target is vta.target.Target


def test_tvms_own_lower_and_build_know_nothing_of_the_accelerator(tvm: Any) -> None:
    a = te.placeholder((8,), name="A", dtype="int32")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    s = te.create_schedule(b.op)
    assert "B[i] = (A[i] + 1)" in str(tvm.lower(s, [a, b], simple_mode=True)).replace("_2", "").replace("_3", "")
    out = tvm.nd.empty((8,), "int32")
    tvm.build(s, [a, b])(tvm.nd.array(np.arange(8, dtype=np.int32)), out)
    assert out.numpy().tolist() == list(range(1, 9))


def test_small_answers(tvm: Any) -> None:
    assert tvm.runtime.enabled("llvm")
    assert not tvm.runtime.enabled("rpc")
    tvm.testing.assert_allclose(np.ones(3), np.ones(3) + 1e-9)
    with pytest.raises(AssertionError):
        tvm.testing.assert_allclose(np.ones(3), np.zeros(3))
