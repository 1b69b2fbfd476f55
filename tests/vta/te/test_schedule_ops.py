"""The parts of lowering under TVM's names: InferBound, ScheduleOps, SchedulePostProcToPrimFunc."""

import numpy as np
import pytest

from vta import te
from vta.te.lowering.lower import LowerError, ScheduleOps, SchedulePostProcToPrimFunc, schedule_to_func
from vta.tir.buffer import decl_buffer
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
    s, [a, _, c] = program()
    body = ScheduleOps(s)
    other = te.placeholder((4, 10), name="D")
    with pytest.raises(LowerError) as error:
        SchedulePostProcToPrimFunc([a, other], body)
    assert str(error.value) == "argument 'D': the program has no buffer of its name, shape and type"
    with pytest.raises(LowerError) as error:
        SchedulePostProcToPrimFunc([a, 3], body)  # type: ignore[list-item]
    assert str(error.value) == "arguments are tensors and variables, not 3"
    with pytest.raises(LowerError) as error:
        SchedulePostProcToPrimFunc([a, c], body, {a: decl_buffer((4, 10))})
    assert str(error.value).startswith("SchedulePostProcToPrimFunc: bindings of tensors to buffers go to ")
