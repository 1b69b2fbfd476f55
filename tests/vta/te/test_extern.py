"""Tensors that a statement of one's own computes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vta
from runtime.packed_func import register_func, remove_global_func
from vta import te, tir
from vta.build_module import build_generic
from vta.te.extern import ExternError
from vta.te.stage import ScheduleError
from vta.tir import ir_builder
from vta.tir.calls import call_packed


def refused(kind: type[Exception], text: str, call: Callable[..., Any]) -> None:
    with pytest.raises(kind) as error:
        call()
    assert str(error.value) == text


def doubled(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
    ib = ir_builder.create()
    source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    with ib.for_range(0, ins[0].shape[0]) as i:
        target[i] = source[i] * 2
    return ib.get()


def test_a_statement_stands_between_stages() -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), "int32", "A")
    b = te.compute((n,), lambda i: a[i] + 1, "B")
    c = te.extern((n,), [b], doubled, name="C")
    assert isinstance(c, te.Tensor)
    d = te.compute((n,), lambda i: c[i] - a[i], "D")
    assert (c.dtype, c.op.input_tensors, c.op.num_outputs, c.op.axis, str(c.op)) == ("int32", (b,), 1, (), "extern(C)")
    out = vta.nd.empty((7,), "int32")
    build_generic(te.create_schedule(d.op), [a, d])(vta.nd.array(np.arange(7, dtype=np.int32)), out)
    assert out.numpy().tolist() == [(i + 1) * 2 - i for i in range(7)]


def test_several_outputs_of_a_packed_function() -> None:
    def parts(a: Any, low: Any, high: Any) -> None:
        low.copyfrom(a.numpy() & 15)
        high.copyfrom((a.numpy() >> 4).astype(np.int64))

    register_func("test.extern.parts", parts)
    a = te.placeholder((2, 3), "int32", "A")
    both = te.extern(
        [(2, 3), (2, 3)], [a], lambda i, o: call_packed("test.extern.parts", i[0], *o), dtype=["int32", "int64"]
    )
    assert isinstance(both, tuple)
    low, high = both
    out = [vta.nd.empty((2, 3), "int32"), vta.nd.empty((2, 3), "int64")]
    values = np.arange(0, 96, 16, dtype=np.int32).reshape(2, 3) + 5
    build_generic(te.create_schedule(low.op), [a, low, high])(vta.nd.array(values), *out)
    remove_global_func("test.extern.parts")
    assert (out[0].numpy() == values & 15).all()
    assert (out[1].numpy() == values >> 4).all()


def test_buffers_of_ones_own_take_the_places_of_the_programs() -> None:
    strides, offset = te.var("stride"), te.var("offset")
    given = tir.decl_buffer((4,), "int32", "given", strides=[strides], elem_offset=offset, offset_factor=1)
    made = tir.decl_buffer((4,), "int32", "made")
    a = te.placeholder((4,), "int32", "A")

    def copied(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        ib = ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4) as i:
            target[i] = source[3 - i] + strides + offset
        return ib.get()

    c = te.extern((4,), [a], copied, in_buffers=given, out_buffers=[made])
    out = vta.nd.empty((4,), "int32")
    build_generic(te.create_schedule(c.op), [a, c])(vta.nd.array(np.arange(4, dtype=np.int32)), out)
    assert out.numpy().tolist() == [4, 3, 2, 1]


def test_descriptions_that_do_not_fit_are_refused() -> None:
    a, b = te.placeholder((4,), "int32", "A"), te.placeholder((4,), "int8", "B")
    refused(ExternError, "extern 'extern': inputs are tensors, not 3", lambda: te.extern((4,), [3], doubled))  # type: ignore[list-item]
    refused(
        ExternError, "extern 'e': its inputs have 2 types; say dtype=", lambda: te.extern((4,), [a, b], doubled, "e")
    )
    refused(
        ExternError, "extern 'e': expected 1 types, got 2",
        lambda: te.extern((4,), [a], doubled, "e", dtype=["int8", "int8"]),
    )  # fmt: skip
    refused(
        ExternError, "extern 'e': expected 1 in_buffers, got 2",
        lambda: te.extern((4,), [a], doubled, "e", in_buffers=[tir.decl_buffer((4,))] * 2),
    )  # fmt: skip
    refused(
        ExternError, "extern 'e': the function must return a statement or a call, not 3",
        lambda: te.extern((4,), [a], lambda i, o: 3, "e"),  # noqa: ARG005
    )  # fmt: skip


def test_what_a_statement_reads_is_computed_whole_and_in_memory() -> None:
    a = te.placeholder((4,), "int32", "A")
    b = te.compute((4,), lambda i: a[i] + 1, "B")
    c = te.extern((4,), [b], doubled, name="C")
    assert isinstance(c, te.Tensor)
    d = te.compute((4,), lambda i: c[i] + b[i], "D")
    s = te.create_schedule(d.op)
    s[b].compute_at(s[d], d.op.axis[0])
    refused(
        ScheduleError, "stage 'B': compute_at: stage 'C' reads all of it; compute it at the root",
        lambda: te.schedule.InferBound(s),
    )  # fmt: skip
    s = te.create_schedule(d.op)
    s[b].compute_inline()
    refused(
        ScheduleError, "stage 'B': compute_inline: stage 'C' reads it from memory; compute it at the root",
        lambda: te.schedule.InferBound(s),
    )  # fmt: skip
    refused(
        ScheduleError, "stage 'C': compute_at: the loops of a statement of te.extern are its own; they stay",
        lambda: s[c].compute_at(s[d], d.op.axis[0]),
    )  # fmt: skip
