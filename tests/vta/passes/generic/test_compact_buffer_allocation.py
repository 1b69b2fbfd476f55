"""Memory of blocks: where it is used, as large as it takes; shared between iterations only where it must be."""

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.block_programs import check, gemm_relu, pipeline
from vta.passes.generic.compact_buffer_allocation import compact_buffer_allocation
from vta.tir.expr import IntImm
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.schedule import Schedule
from vta.tir.script import from_source
from vta.tir.stmt import Block, BufferRealize, For
from vta.tir.traverse import walk
from vta.tir.verify import verify


def sizes(func: PrimFunc) -> dict[str, tuple[list[int], int]]:
    """Return how large the buffers are, and how many loops are around them."""
    done = verify(compact_buffer_allocation(func, VTAConfig()))
    found = {}
    stack: list[tuple[object, int]] = [(done.body, 0)]
    while stack:
        node, depth = stack.pop()
        match node:
            case BufferRealize():
                extents = [r.extent.value for r in node.bounds if isinstance(r.extent, IntImm)]
                found[node.buffer.name] = (extents, depth)
                stack.append((node.body, depth))
            case For():
                stack.append((node.body, depth + 1))
            case Block():
                found.update(
                    {b.name: ([e.value for e in b.shape if isinstance(e, IntImm)], -1) for b in node.alloc_buffers}
                )
                stack.append((node.body, depth))
            case _:
                stack += [(child, depth) for child in getattr(node, "stmts", ())]
    return found


def test_buffers_follow_what_uses_them() -> None:
    func, inputs, expected = pipeline()
    sch = Schedule(func)
    assert sizes(sch.func) == {"P": ([9, 14], 0), "Q": ([9, 14], 0)}
    outer, _ = sch.split(sch.get_loops("R")[1], [None, 5])
    sch.compute_at("Q", outer, preserve_unit_loops=True)
    assert sizes(sch.func) == {"P": ([9, 14], 0), "Q": ([1, 7], 2)}
    sch.compute_at("P", sch.get_loops("Q")[2])
    assert sizes(sch.func) == {"P": ([1, 7], 3), "Q": ([1, 7], 2)}
    check(sch.func, inputs, expected)


def test_a_sum_stays_outside_of_the_loops_that_it_goes_over() -> None:
    func, inputs, expected = gemm_relu()
    sch = Schedule(func)
    i, j, k = sch.get_loops("C")
    k0, _ = sch.split(k, [None, 2])
    sch.reorder(i, k0, j)
    sch.reverse_compute_at("D", i)
    assert sizes(sch.func) == {"C": ([1, 10], 1)}
    check(sch.func, inputs, expected)


SHARED = """
@T.prim_func
def f(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, [8], "int32")
    B = T.match_buffer(b, [8], "int32")
    with T.block("root"):
        M = T.alloc_buffer([8], "int32")
        for i in T.serial(0, 8):
            {}
"""
BLOCK = "with T.block('{}'):\n                vi = T.axis.{}(8, i)\n                {}\n            "

READ = ("R", "spatial", "B[vi] = M[0]")
FILL = ("W", "spatial", "M[0] = A[vi]")
ONCE = ("W", "spatial", "if vi == 0:\n                    M[0] = A[vi]")
SUM = ("W", "reduce", "with T.init():\n                    M[0] = 0\n                M[0] = M[0] + A[vi]")
FIRST = ("R", "spatial", "B[vi] = T.if_then_else(vi > 0, M[0], 0, dtype='int32')")
IN_TURN = ("W", "spatial", "M[vi % 2] = A[vi]")
OTHER = ("R", "spatial", "B[vi] = T.if_then_else(vi > 0, M[(vi + 1) % 2], 0, dtype='int32')")
LATE = ("X", "spatial", "M[1] = A[vi]")
EARLY = ("R", "spatial", "B[vi] = T.if_then_else(vi > 0, M[1], M[0], dtype='int32')")


@pytest.mark.parametrize(
    ("parts", "alone"),
    [
        ([FILL, READ], True),
        ([("W", "spatial", "M[vi] = A[vi]"), ("R", "spatial", "B[vi] = M[vi]")], True),
        ([IN_TURN, OTHER], False),
        ([ONCE, READ], False),
        ([SUM, READ], False),
        ([FIRST, FILL], False),
        ([FILL, EARLY, LATE], False),
    ],
)
def test_what_one_iteration_leaves_to_the_next_is_kept(parts: list[tuple[str, str, str]], *, alone: bool) -> None:
    func = from_source(SHARED.format("".join(BLOCK.format(*part) for part in parts)))
    assert isinstance(func, PrimFunc)
    assert sizes(func)["M"][1] == (1 if alone else 0)
    values = np.arange(1, 9, dtype=np.int32)
    results = []
    for program in (func, compact_buffer_allocation(func, VTAConfig())):
        out = np.zeros(8, np.int32)
        run_func(program, [values, out])
        results.append(out.tolist())
    assert results[0] == results[1]


def test_memory_behind_a_pointer_stays() -> None:
    call = 'with T.block("S"):\n                T.evaluate(T.call_extern("f", M.data, dtype="int32"))'
    func = from_source(SHARED.format(f"M[0] = A[i]\n            {call}"))
    assert isinstance(func, PrimFunc)
    assert sizes(func) == {"M": ([8], -1)}
    assert any(isinstance(node, Block) for node in walk(func.body))


def test_a_program_without_blocks_is_left_alone() -> None:
    func = PrimFunc()
    assert compact_buffer_allocation(func, VTAConfig()) is func
