"""Copies under a pragma go to the caller's function: their parts of buffers, their zeros, and what is no copy."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic, schedule_to_module
from vta.passes.optional.inject_copy_intrin import CopyIntrinError
from vta.tir.buffer import Buffer
from vta.tir.calls import call_extern
from vta.tir.expr import Expr, IntImm, const
from vta.tir.func import IRModule
from vta.tir.stmt import Evaluate, Stmt
from vta.tir_passes import InjectCopyIntrin, Simplify, StorageFlatten
from vta.transform import PassContext


def flattened(a: te.Tensor, b: te.Tensor, axis: int = 0) -> IRModule:
    s = te.create_schedule(b.op)
    s[b].pragma(b.op.axis[axis], "memcpy")
    return Simplify()(StorageFlatten(64)(schedule_to_module(s, [a, b])))


def taken(module: IRModule) -> dict[str, Any]:
    """Return what the caller's function gets, as text."""
    found: dict[str, Any] = {}

    def take(source: Buffer, target: Buffer, before: Sequence[Expr], after: Sequence[Expr], zero: object) -> Stmt:
        for name, part in (("source", source), ("target", target)):
            found[name] = (*(" ".join(map(str, items)) for items in (part.shape, part.strides)), str(part.elem_offset))
        found["zeros"] = (list(map(str, before)), list(map(str, after)), str(zero))
        return Evaluate(IntImm(0))

    InjectCopyIntrin("memcpy", take)(module)
    return found


def test_a_part_of_rows_is_a_copy_with_strides() -> None:
    a = te.placeholder((16, 32), name="A")
    found = taken(flattened(a, te.compute((16, 16), lambda i, j: a[i, j + 3], name="B")))
    assert found["source"] == ("16 16", "32 1", "3")
    assert found["target"] == ("16 16", "16 1", "0")
    assert found["zeros"] == ([], [], "None")


def test_sizes_may_be_variables_and_an_element_is_a_copy() -> None:
    m, n = te.var("m"), te.var("n")
    a = te.placeholder((m, n), name="A")
    found = taken(flattened(a, te.compute((m, n), lambda i, j: a[i, j], name="B")))
    assert found["source"] == found["target"] == ("m n", "n 1", "0")
    one = te.placeholder((1,), name="A")
    assert taken(flattened(one, te.compute((1,), lambda i: one[i], name="B")))["source"] == ("1", "1", "0")


def test_zeros_around_are_counted() -> None:
    a = te.placeholder((8, 4), name="A")
    b = te.compute((11, 4), lambda i, j: te.if_then_else(te.all(i >= 1, i < 9), a[i - 1, j], 0.0), name="B")
    found = taken(flattened(a, b))
    assert found["source"][0] == "8 4"
    assert found["target"][0] == "11 4"
    assert found["zeros"] == (["1", "0"], ["2", "0"], "0.0f32")


def test_a_library_function_copies() -> None:
    a = te.placeholder((6, 8), name="A")
    b = te.compute((6, 8), lambda i, j: a[i, j], name="B")
    s = te.create_schedule(b.op)
    s[b].pragma(b.op.axis[1], "memcpy")

    def copy(source: Buffer, target: Buffer, *_: object) -> Expr:
        (size,) = [int(extent) for extent in source.shape if isinstance(extent, IntImm)]
        places = (target.access_ptr("w"), source.access_ptr("r"))
        return call_extern("handle", "memcpy", *places, const(size * 4, "int64"))

    with PassContext(config={"tir.add_lower_pass": [(1, InjectCopyIntrin("memcpy", copy))]}):
        function = build_generic(s, [a, b])
    values, out = np.arange(48, dtype=np.float32).reshape(6, 8), vta.nd.array(np.zeros((6, 8), np.float32))
    function(vta.nd.array(values), out)
    assert np.array_equal(out.numpy(), values)


def test_what_is_no_copy_is_refused() -> None:
    a = te.placeholder((4, 4), name="A")
    with pytest.raises(CopyIntrinError) as caught:
        taken(flattened(a, te.compute((4, 4), lambda i, j: a[i, j] * 2, name="B")))
    assert "memcpy: the value is no element of another buffer: expected A[...]" in str(caught.value)
    with pytest.raises(CopyIntrinError) as caught:
        taken(flattened(a, te.compute((4, 4), lambda i, j: a[i, j].astype("int32"), name="B")))
    assert "memcpy: a copy: expected numbers of one type, got float32 to int32" in str(caught.value)
