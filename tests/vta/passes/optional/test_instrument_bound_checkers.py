"""Checks of what a program touches: they fail exactly where numpy would, and vanish where nothing can fail."""

from collections.abc import Callable

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from isa.errors import VTAError
from vta import te
from vta.build_module import build_generic, lower, schedule_to_module
from vta.codegen import Module
from vta.passes.optional.instrument_bound_checkers import BoundCheckError, instrument_bound_checkers
from vta.tir import ir_builder
from vta.tir.buffer import decl_buffer
from vta.tir.expr import Broadcast, BufferLoad, IntImm, Var
from vta.tir.func import PrimFunc
from vta.tir.stmt import AssertStmt, Evaluate
from vta.tir.traverse import walk
from vta.transform import OptionError, PassContext

CHECKED = PassContext(config={"tir.instrument_bound_checkers": True})


def shifted(offset: int, schedule: Callable[[te.Schedule, te.Tensor], None]) -> Module:
    n = te.var("n")
    a = te.placeholder((n,), "int32", "A")
    c = te.compute((n,), lambda i: a[i + offset] * 2, "C")
    s = te.create_schedule(c.op)
    schedule(s, c)
    with CHECKED:
        return build_generic(s, [a, c])


def plain(s: te.Schedule, c: te.Tensor) -> None:
    pass


def vectors(s: te.Schedule, c: te.Tensor) -> None:
    outer, inner = s[c].split(c.op.axis[0], 8)
    s[c].vectorize(inner)
    s[c].parallel(outer)


@pytest.mark.parametrize("schedule", [plain, vectors])
@pytest.mark.parametrize("offset", [-1, 0, 1])
@pytest.mark.parametrize("size", [1, 8, 13])
def test_an_element_beyond_an_array_ends_the_call(
    schedule: Callable[[te.Schedule, te.Tensor], None], offset: int, size: int
) -> None:
    run = shifted(offset, schedule)
    a, c = vta.nd.array(np.arange(size, dtype=np.int32)), vta.nd.array(np.zeros(size, np.int32))
    if offset == 0:
        run(a, c)
        np.testing.assert_array_equal(c.numpy(), np.arange(size) * 2)
        return
    with pytest.raises(VTAError, match="element of 'A' outside of its bounds is read"):
        run(a, c)


def test_conditions_and_inner_stages_count() -> None:
    a = te.placeholder((10,), "int32", "A")
    padded = te.compute((14,), lambda i: te.if_then_else(te.all(i >= 2, i < 12), a[i - 2], 0), "padded")
    k = te.reduce_axis((0, 5), "k")
    c = te.compute((10,), lambda i: te.sum(padded[i + k], axis=k), "C")
    s = te.create_schedule(c.op)
    s[padded].compute_at(s[c], c.op.axis[0])
    checked = instrument_bound_checkers(schedule_to_module(s, [a, c])["main"], VTAConfig())
    assert not any(isinstance(node, AssertStmt) for node in walk(checked.body))
    with CHECKED:
        run = build_generic(s, [a, c])
    x, out = np.arange(10, dtype=np.int32), vta.nd.array(np.zeros(10, np.int32))
    run(vta.nd.array(x), out)
    np.testing.assert_array_equal(out.numpy(), np.convolve(x, np.ones(5, np.int32), "same"))


def test_indices_that_are_read_are_checked_before_what_they_name() -> None:
    table, places = te.placeholder((4,), "int32", "table"), te.placeholder((6,), "int32", "places")
    c = te.compute((6,), lambda i: table[places[i]], "C")
    with CHECKED:
        run = build_generic(te.create_schedule(c.op), [table, places, c])
    t, out = vta.nd.array(np.array([5, 6, 7, 8], np.int32)), vta.nd.array(np.zeros(6, np.int32))
    run(t, vta.nd.array(np.array([3, 2, 1, 0, 0, 1], np.int32)), out)
    assert out.numpy().tolist() == [8, 7, 6, 5, 5, 6]
    for wrong in (4, -1):
        with pytest.raises(VTAError, match="element of 'table' outside of its bounds is read"):
            run(t, vta.nd.array(np.full(6, wrong, np.int32)), out)


def test_written_elements_branches_and_vectors_are_checked() -> None:
    ib = ir_builder.create()
    n, a = Var("n"), decl_buffer((8,), "int32", "A")
    with ib.if_scope(n < 6):
        ib.emit(a.vstore((n,), Broadcast(IntImm(7), 4)))
    with ib.else_scope():
        ib.buffer_ptr(a)[n] = 1
    func = PrimFunc([a, n], ib.get())  # type: ignore[arg-type]
    with CHECKED:
        run = build_generic(func)
    for place, fits in ((4, True), (5, False), (7, True), (8, False), (-1, False)):
        out = vta.nd.array(np.zeros(8, np.int32))
        if fits:
            run(out, place)
            assert out.numpy()[place] == (7 if place < 6 else 1)
        else:
            with pytest.raises(VTAError, match="element of 'A' outside of its bounds is written"):
                run(out, place)


def test_what_cannot_be_checked_is_refused() -> None:
    a, x = decl_buffer((8,), "int32", "A"), Var("x", "int32x4")  # type: ignore[arg-type]
    func = PrimFunc([a, x], Evaluate(BufferLoad(a, (x,))))  # type: ignore[arg-type]
    with pytest.raises(BoundCheckError) as error:
        instrument_bound_checkers(func, VTAConfig())
    assert str(error.value) == (
        "the function: an index of buffer 'A': expected a number, or a vector of evenly spaced ones, got x; such an "
        "access cannot be checked; leave tir.instrument_bound_checkers out"
    )
    with CHECKED, pytest.raises(OptionError) as option:
        lower(PrimFunc([a], Evaluate(IntImm(0))))  # type: ignore[arg-type]
    assert str(option.value) == (
        "option 'tir.instrument_bound_checkers' is for programs of the CPU; for the accelerator's, run them with the "
        "sanitizer of `vta check` or on the target 'reference'"
    )


def test_bare_memory_has_no_bounds() -> None:
    ib = ir_builder.create()
    ib.pointer("int32", "A")[Var("n")] = 1
    body = ib.get()
    pointer = next(node.buffer.data for node in walk(body) if hasattr(node, "buffer"))
    func = PrimFunc([pointer, Var("n")], body)  # type: ignore[arg-type]
    assert instrument_bound_checkers(func, VTAConfig()).body is body
