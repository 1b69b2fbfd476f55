"""The parts of lowering under TVM's names: InferBound, ScheduleOps, SchedulePostProcToPrimFunc."""

import numpy as np
import pytest

from vta import te
from vta.te.lowering.lower import LowerError, ScheduleOps, schedule_to_func
from vta.te.lowering.post_proc import SchedulePostProcToPrimFunc, VerifyCompactBuffer, get_binds
from vta.tir.buffer import decl_buffer
from vta.tir.calls import call_extern
from vta.tir.interpreter.run import run_func
from vta.tir.printer import to_text
from vta.tir.structural import require_equal


def program() -> tuple[te.Schedule, list[te.Tensor]]:
    a = te.placeholder((4, 10), name="A")
    b = te.compute((4, 10), lambda i, j: a[i, j] + 1, name="B")
    c = te.compute((4, 10), lambda i, j: b[i, j] * 2, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], c.op.axis[0])
    s[c].split(c.op.axis[1], 4)
    return s, [a, b, c]


def test_the_loops_alone_need_no_arguments() -> None:
    s, _ = program()
    s = s.normalize()
    text = to_text(ScheduleOps(s, te.schedule.InferBound(s)))
    assert text.startswith("realize(C: Buffer(C_1: Pointer(float32), float32, [4, 10], []), [0:4, 0:10], True {")
    assert text.count("for (") == 4


def test_a_function_is_made_of_them() -> None:
    s, [a, _, c] = program()
    func = SchedulePostProcToPrimFunc([a, c], ScheduleOps(s), None)
    require_equal(func, schedule_to_func(s, [a, c], "main"))
    out, values = np.zeros((4, 10), np.float32), np.arange(40, dtype=np.float32).reshape(4, 10)
    run_func(func, [values, out])
    np.testing.assert_array_equal(out, (values + 1) * 2)


def test_tensors_without_a_buffer_are_refused() -> None:
    s, [a, _, _] = program()
    body = ScheduleOps(s)
    other = te.placeholder((4, 10), name="D")
    with pytest.raises(LowerError) as error:
        SchedulePostProcToPrimFunc([a, other], body)
    assert str(error.value) == "argument 'D': the program has no buffer of its name, shape and type"
    with pytest.raises(LowerError) as error:
        SchedulePostProcToPrimFunc([a, 3], body)  # type: ignore[list-item]
    assert str(error.value) == "arguments are tensors, buffers and variables, not 3"
    with pytest.raises(LowerError) as error:
        get_binds([a, "A"])  # type: ignore[list-item]
    assert str(error.value) == "arguments are tensors, buffers and variables, not 'A'"


def test_buffers_of_ones_own_take_the_place_of_those_of_tensors() -> None:
    s, [a, b, c] = program()
    body = ScheduleOps(s, te.schedule.InferBound(s), False)
    rows = decl_buffer((4, 10), "float32", "rows", strides=(16, 1))
    func = SchedulePostProcToPrimFunc([rows, c], body, {a: rows})
    assert next(iter(func.buffer_map.values())) is rows
    text = to_text(func)
    assert "(rows[i, " in text
    assert "A[" not in text
    binds, args = get_binds([a, c])
    func = SchedulePostProcToPrimFunc(args, body, binds)
    assert [func.buffer_map[param] for param in func.params] == args == list(binds.values())
    out, values = np.zeros((4, 10), np.float32), np.arange(40, dtype=np.float32).reshape(4, 10)
    run_func(func, [values, out])
    np.testing.assert_array_equal(out, (values + 1) * 2)
    with pytest.raises(LowerError) as error:
        SchedulePostProcToPrimFunc([a, c], body, {te.placeholder((4, 10), name="D"): rows})
    assert str(error.value) == "argument 'D': the program has no buffer of its name, shape and type"
    assert b.name == "B"


def test_loops_of_one_iteration_are_not_kept() -> None:
    with pytest.raises(LowerError) as error:
        ScheduleOps(program()[0], None, True)
    assert str(error.value) == ("ScheduleOps: loops of one iteration are not kept; leave debug_keep_trivial_loop out")


def test_programs_with_intrinsics_bind_parts_of_buffers() -> None:
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i] + 1, name="y")
    strides = {t: decl_buffer((4,), "float32", t.name, offset_factor=1) for t in (x, y)}
    add = te.decl_tensor_intrin(
        y.op, lambda ins, outs: call_extern("int32", "add", ins[0].access_ptr("r"), outs[0].access_ptr("w")),
        binds=strides,
    )  # fmt: skip
    s, [_, _, c] = program()
    assert not VerifyCompactBuffer(ScheduleOps(s))
    a = te.placeholder((4, 8), name="A")
    c = te.compute((4, 8), lambda i, j: a[i, j] + 1, name="C")
    s = te.create_schedule(c.op)
    s[c].tensorize(s[c].split(c.op.axis[1], 4)[1], add)
    assert VerifyCompactBuffer(ScheduleOps(s))
