from typing import Any

import pytest

from vta import te
from vta.arith.bounds import Interval
from vta.arith.simplify import Analyzer
from vta.te.iteration import Loop
from vta.te.lowering.box import Box
from vta.tir.expr import Expr, IterVar, Range, Var, const


def loop(name: str, extent: int) -> Loop:
    tensor = te.compute((1,), lambda _i: te.const(0))
    stage = te.create_schedule(tensor.op)[tensor]
    var = Var(name)
    return Loop(stage, IterVar(None, var), var, const(extent), False)


def box_of(
    size: Expr | int, *accesses: tuple[Expr | int | None, Expr | int | None], loops: tuple[Loop, ...] = ()
) -> str:
    analyzer = Analyzer({each.var: Range(const(0), each.extent) for each in loops})
    box = Box((te.var("n") if size is None else const(size) if isinstance(size, int) else size,), analyzer)
    for low, high in accesses:
        ends = [const(e) if isinstance(e, int) else e for e in (low, high)]
        box.add(0, Interval(*ends))
    (dom,) = box.ranges(loops)
    return f"{dom.min}+{dom.extent}"


@pytest.mark.parametrize(
    ("size", "accesses", "expected"),
    [
        (10, [(2, 4)], "2+3"),
        (10, [(2, 4), (7, 8)], "2+7"),
        (10, [(-3, 4)], "0+5"),
        (10, [(4, 12)], "4+6"),
        (10, [(-1, 10)], "0+10"),
        (10, [(None, 3)], "0+4"),
        (10, [(3, None)], "3+7"),
        (10, [], "0+10"),
        (10, [(5, 4)], "5+1"),
    ],
)
def test_a_constant_box_is_tight_and_within_the_tensor(size: int, accesses: Any, expected: str) -> None:
    assert box_of(size, *accesses) == expected


def test_the_ends_may_depend_on_outer_loops() -> None:
    o = loop("o", 4)
    assert box_of(100, (o.var * 7, o.var * 7 + 8), loops=(o,)) == "(o*7)+9"
    assert box_of(100, (o.var * 7, o.var * 7 + 8), (o.var * 7 - 1, o.var * 7), loops=(o,)) == "((o*7) - 1)+10"


def test_a_box_as_large_as_the_tensor_is_the_tensor() -> None:
    o = loop("o", 4)
    assert box_of(9, (o.var * 7, o.var * 7 + 8), loops=(o,)) == "0+9"


def test_an_extent_that_varies_becomes_the_largest() -> None:
    o = loop("o", 4)
    assert box_of(100, (const(2), o.var + 5), loops=(o,)) == "2+7"
    assert box_of(100, (o.var * 4 // 6, (o.var * 4 + 3) // 6), loops=(o,)) == "floordiv((o*4), 6)+2"


def test_ends_that_cannot_be_compared_are_kept_as_minimum_and_maximum() -> None:
    o, p = loop("o", 4), loop("p", 5)
    assert box_of(100, (o.var, o.var), (p.var, p.var), loops=(o, p)) == "min(o, p)+5"


def test_a_symbolic_size_is_kept() -> None:
    n = te.var("n")
    assert box_of(n, (0, n - 1)) == "0+n"
    assert box_of(n, (-1, n)) == "0+n"
    assert box_of(n, (None, None)) == "0+n"


def test_the_exact_box_may_leave_the_tensor() -> None:
    box = Box((const(10),), Analyzer())
    box.add(0, Interval(const(-2), const(13)))
    (dom,) = box.exact_ranges()
    assert (int(dom.min), int(dom.extent)) == (-2, 16)
