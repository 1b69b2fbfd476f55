"""What blocks touch: by every element that a run of the loops touches."""

import pytest

from vta.arith.block_regions import analyzer_for, region_of, touches, union, why_not_all
from vta.tir.blocks import blocks_in
from vta.tir.expr import IntImm, Range
from vta.tir.func import PrimFunc
from vta.tir.schedule.tree import loops_around
from vta.tir.script import from_source
from vta.tir.stmt import Block, For
from vta.tir.traverse import walk

HEAD = """
@T.prim_func
def f(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, [64], "int32")
    B = T.match_buffer(b, [64], "int32")
    for i in T.serial(0, 4):
        for j in T.serial(0, 5):
            with T.block("S"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(5, j)
"""


NESTED = """for k in T.serial(0, 3):
    with T.block('N'):
        vk = T.axis.spatial(3, k)
        B[vi + vj * 3 + vk] = 1"""


def parts(body: str) -> tuple[PrimFunc, For]:
    """Return a function whose block has ``body``, and its inner loop."""
    func = from_source(HEAD + "".join(f"                {line}\n" for line in body.splitlines()))
    assert isinstance(func, PrimFunc)
    block = next(b for b in blocks_in(func.body) if b.name == "S")
    return func, loops_around(func, block)[1]


@pytest.mark.parametrize(
    ("body", "low", "extent", "complete"),
    [
        ("B[vi * 5 + vj] = 1", lambda i: i * 5, 5, True),
        ("B[vi * 10 + vj * 2] = 1", lambda i: i * 10, 9, False),
        ("B[vi + vj] = A[vj]", lambda i: i, 5, True),
        ("for k in T.serial(0, 3):\n    B[vi * 3 + vj + k] = 1", lambda i: i * 3, 7, True),
        (NESTED, lambda i: i, 15, True),
        ("T.where(j < 4)\nB[vi * 5 + vj] = 1", lambda i: i * 5, 5, False),
        ("if vj > 1:\n    B[vi * 5 + vj] = 1", lambda i: i * 5, 5, False),
    ],
)  # fmt: skip
def test_a_region_is_all_that_is_touched_while_the_outer_loop_stands(
    body: str, low: object, extent: int, *, complete: bool
) -> None:
    assert callable(low)
    func, loop = parts(body)
    buffer = func.buffer_map[func.params[1]]
    analyzer = analyzer_for(node for node in walk(func.body) if isinstance(node, For))
    [touch] = touches(loop, buffer)
    assert touch.writes
    [interval] = region_of(touch, analyzer)
    outer = next(node.loop_var for node in walk(func.body) if isinstance(node, For))
    assert interval.min is not None
    assert analyzer.can_prove_equal(interval.min, low(outer))
    assert union([interval], buffer.shape[0], analyzer).extent == IntImm(extent)
    assert (why_not_all(touch, analyzer) is None) is complete


def test_what_a_block_says_of_itself_counts_where_its_body_does_not_show_it() -> None:
    text = (
        'T.reads(A[vi * 8:vi * 8 + 8])\nT.writes(B[vj])\nT.evaluate(T.call_extern("f", A.data, B.data, dtype="int32"))'
    )
    func, loop = parts(text)
    a, b = (func.buffer_map[param] for param in func.params)
    analyzer = analyzer_for(node for node in walk(func.body) if isinstance(node, For))
    [read], [write] = touches(loop, a), touches(loop, b)
    assert (read.writes, write.writes) == (False, True)
    assert union(region_of(read, analyzer), a.shape[0], analyzer).extent == IntImm(8)
    assert union(region_of(write, analyzer), b.shape[0], analyzer) == Range(IntImm(0), IntImm(5))


def test_reads_come_before_the_write_of_a_statement_and_a_reduction_updates() -> None:
    func, loop = parts("B[vi] = B[vi] + A[vj]")
    b = func.buffer_map[func.params[1]]
    assert [(t.writes, t.updates) for t in touches(loop, b)] == [(False, False), (True, False)]
    block = next(node for node in walk(loop) if isinstance(node, Block))
    assert block.name == "S"
    assert [t.access.buffer.name for t in touches(loop, func.buffer_map[func.params[0]])] == ["A"]


def test_values_that_are_made_on_the_way_may_be_anything() -> None:
    func, loop = parts("with T.let(T.var('int32'), A[vj]):\n    B[0] = 1")
    analyzer = analyzer_for(node for node in walk(func.body) if isinstance(node, For))
    assert len(touches(loop, func.buffer_map[func.params[0]])) == 1
    func, loop = parts("B[A[vj]] = 1")
    [touch] = touches(loop, func.buffer_map[func.params[1]])
    assert union(region_of(touch, analyzer), IntImm(64), analyzer) == Range(IntImm(0), IntImm(64))
