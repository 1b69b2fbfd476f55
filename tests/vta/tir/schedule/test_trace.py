"""The trace: as Python, and done again to another function."""

import pytest

from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from vta.tir.schedule import BlockScheduleError, Schedule, Trace
from vta.tir.structural import require_equal


def scheduled() -> Schedule:
    sch = Schedule(gemm_relu()[0])
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, 4])
    sch.reorder(i0, k, i1, j)
    sch.fuse(i1, j)
    sch.cache_read(block, 0, "local")
    sch.parallel(sch.get_loops("D")[0])
    return sch


def test_a_trace_is_python() -> None:
    assert str(scheduled().trace).splitlines() == [
        "b0 = sch.get_block('C')",
        "l0, l1, l2 = sch.get_loops(b0)",
        "l3, l4 = sch.split(l0, [None, 4])",
        "sch.reorder(l3, l2, l4, l1)",
        "l5 = sch.fuse(l4, l1)",
        "b1 = sch.cache_read(b0, 0, 'local')",
        "l6, l7 = sch.get_loops('D')",
        "sch.parallel(l6)",
    ]


def test_the_python_of_a_trace_does_the_same() -> None:
    sch = scheduled()
    again = Schedule(gemm_relu()[0])
    exec("\n".join(sch.trace.as_python()), {"sch": again})
    require_equal(again.mod, sch.mod)


def test_a_trace_is_done_again_to_another_function() -> None:
    sch = scheduled()
    func, inputs, expected = gemm_relu()
    again = Schedule(func)
    sch.trace.apply_to_schedule(again)
    require_equal(again.mod, sch.mod)
    assert again.trace.as_python() == sch.trace.as_python()
    check(again.func, inputs, expected, compiled=False)


def test_a_step_that_does_not_apply_is_refused() -> None:
    with pytest.raises(BlockScheduleError, match="has no block 'C'"):
        scheduled().trace.apply_to_schedule(Schedule(pipeline()[0]))


def test_steps_that_nothing_uses_are_left_out() -> None:
    sch = scheduled()
    sch.get_loops("D")
    sch.sample_categorical([1, 2], [0.5, 0.5])
    sch.enter_postproc()
    sch.unroll(sch.get_loops("D")[1])
    short = sch.trace.simplified(remove_postproc=True)
    assert str(short).splitlines() == str(scheduled().trace).splitlines()
    assert [inst.kind for inst in sch.trace.simplified(remove_postproc=False).insts][-3:] == [
        "enter_postproc", "get_loops", "unroll",
    ]  # fmt: skip
    last = sch.trace.pop()
    assert last is not None
    assert last.kind == "unroll"
    assert Trace().pop() is None


def test_numbers_follow_another_decision() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    tile = sch.sample_perfect_tile(sch.get_loops("C")[0], 2, decision=[3, 4])
    sch.split(sch.get_loops("C")[0], tile)
    assert [sch.get(factor) for factor in tile] == [3, 4]
    assert str(sch.trace).splitlines()[1:] == [
        "v0, v1 = sch.sample_perfect_tile(l0, 2, 16, decision=[3, 4])",
        "l0, l1, l2 = sch.get_loops('C')",
        "l3, l4 = sch.split(l0, [v0, v1])",
    ]
    inst = sch.trace.insts[1]
    assert (sch.trace.get_decision(inst), sch.trace.decisions) == ([3, 4], {1: [3, 4]})
    assert sch.trace.get_decision(sch.trace.insts[0]) is None
    other = Schedule(func)
    sch.trace.with_decision(inst, [6, 2]).apply_to_schedule(other)
    assert [int(str(other.get(loop).extent)) for loop in other.get_loops("C")[:2]] == [6, 2]
    check(other.func, inputs, expected)
    with pytest.raises(BlockScheduleError) as error:
        Trace().with_decision(inst, [1, 12])
    assert str(error.value) == "with_decision: 'sample_perfect_tile' is no step of this trace"
