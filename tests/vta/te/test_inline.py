import numpy as np

from tests.support.compiler.te_run import loops, lowered, outputs, run
from vta import te


def test_a_chain_of_inlined_stages_is_one_loop_nest() -> None:
    x = te.placeholder((4, 6), "int32", "x")
    a = te.compute((6, 4), lambda i, j: x[j, i] + 1, "a")
    b = te.compute((24,), lambda i: a[i // 4, i % 4] * 2, "b")
    c = te.compute((24,), lambda i: b[23 - i], "c")
    s = te.create_schedule(c.op)
    s[a].compute_inline()
    s[b].compute_inline()
    assert loops(lowered(s, [x, c])) == ["i:24"]
    data = np.arange(24, dtype=np.int32).reshape(4, 6)
    assert (run(s, [x, c], data) == ((data.T + 1) * 2).reshape(-1)[::-1]).all()


def test_an_inlined_stage_goes_into_reductions_and_their_conditions() -> None:
    x = te.placeholder((8,), "int32", "x")
    doubled = te.compute((8,), lambda i: x[i] * 2, "doubled")
    k = te.reduce_axis((0, 8), "k")
    y = te.compute((1,), lambda _i: te.sum(doubled[k], axis=k, where=doubled[k] > 6), "y")
    s = te.create_schedule(y.op)
    s[doubled].compute_inline()
    assert run(s, [x, y], np.arange(8, dtype=np.int32)).tolist() == [8 + 10 + 12 + 14]


def test_each_output_of_an_inlined_stage_is_its_own_expression() -> None:
    x = te.placeholder((5,), "int32", "x")
    plus, times = te.compute((5,), lambda i: (x[i] + 1, x[i] * 3), "pair")
    y = te.compute((5,), lambda i: plus[i] - times[i], "y")
    s = te.create_schedule(y.op)
    s[plus].compute_inline()
    data = np.arange(5, dtype=np.int32)
    assert (run(s, [x, y], data) == data + 1 - data * 3).all()


def test_an_inlined_stage_read_at_an_element_of_another_is_nested() -> None:
    x = te.placeholder((6,), "int32", "x")
    index = te.compute((6,), lambda i: 5 - i + 0 * x[i], "index")
    value = te.compute((6,), lambda i: x[i] + 10, "value")
    y = te.compute((6,), lambda i: value[index[i]], "y")
    s = te.create_schedule(y.op)
    s[index].compute_inline()
    s[value].compute_inline()
    data = np.arange(6, dtype=np.int32)
    assert (run(s, [x, y], data) == data[::-1] + 10).all()


def test_a_stage_inlined_into_several_outputs_vanishes() -> None:
    x = te.placeholder((3,), "int32", "x")
    a = te.compute((3,), lambda i: x[i] + 1, "a")
    b, c = te.compute((3,), lambda i: a[i] * 2, "b"), te.compute((3,), lambda i: a[i] * 3, "c")
    s = te.create_schedule([b.op, c.op])
    s[a].compute_inline()
    data = np.arange(3, dtype=np.int32)
    results = outputs(s, [x, b, c], data)
    assert [r.tolist() for r in results] == [[2, 4, 6], [3, 6, 9]]
