"""Touched elements: the range of all that brute force finds."""

from itertools import product

import pytest

from vta.arith.simplify import simplify
from vta.arith.touched import TouchedError, domain_touched
from vta.tir.buffer import decl_buffer
from vta.tir.expr import BufferLoad, Expr, IntImm, Ramp, Var
from vta.tir.stmt import BufferStore, For
from vta.tir.traverse import substitute


def box(indices: list[list[Expr]], i: Var, j: Var) -> list[tuple[int, int]]:
    points = [
        [int(_number(e, {i: IntImm(x), j: IntImm(y)})) for e in index]
        for x, y in product(range(1, 6), range(4))
        for index in indices
    ]
    return [(min(p[d] for p in points), max(p[d] for p in points)) for d in range(2)]


def _number(expr: Expr, values: dict[Var, Expr]) -> int:
    result = simplify(substitute(expr, values))
    assert isinstance(result, IntImm)
    return result.value


def test_the_range_is_that_of_all_iterations() -> None:
    i, j = Var("i"), Var("j")
    a = decl_buffer((9, 9), "int32", "a")
    b = decl_buffer((9, 9), "int32", "b")
    store: tuple[Expr, ...] = (i, j)
    loads: list[tuple[Expr, ...]] = [(i - 1, j * 2 + 1), (j + 3, i - j)]
    value = BufferLoad(a, loads[0]) + BufferLoad(a, loads[1]) + BufferLoad(b, (i + 1, i))
    program = For(i, IntImm(1), IntImm(5), For(j, IntImm(0), IntImm(4), BufferStore(a, value, store)))
    for buffer, reads, writes, indices in (
        (a, True, False, loads), (a, False, True, [store]), (a, True, True, [store, *loads]),
        (b, True, True, [(i + 1, i)]),
    ):  # fmt: skip
        found = domain_touched(program, buffer, reads, writes)
        ends = [(int(r.min), int(r.min) + int(r.extent) - 1) for r in found]  # type: ignore[call-overload]
        assert ends == box([list(index) for index in indices], i, j)
    assert domain_touched(program, b, False, True) == []


def test_ends_may_be_variables() -> None:
    i, m = Var("i"), Var("m")
    a = decl_buffer((9,), "int32", "a")
    [found] = domain_touched(For(i, IntImm(0), m, BufferStore(a, IntImm(0), (i + 2,))), a, True, True)
    assert (str(found.min), str(found.extent)) == ("2", "m")


def test_no_bounds_are_no_range() -> None:
    i = Var("i")
    a = decl_buffer((9,), "int32", "a")
    unknown = BufferLoad(a, (i,))
    with pytest.raises(TouchedError) as error:
        domain_touched(For(i, IntImm(0), IntImm(3), BufferStore(a, IntImm(0), (unknown,))), a, False, True)
    assert str(error.value) == "the elements of 'a' that are touched have no bounds in dimension 0"


def test_lanes_are_touched_each() -> None:
    i = Var("i")
    a = decl_buffer((99,), "int32", "a")
    store = a.vstore(i * 8, BufferLoad(a, (Ramp(i * 8 + 20, IntImm(-2), 4),)))
    [read], [written] = (
        domain_touched(For(i, IntImm(0), IntImm(4), store), a, *which) for which in ((True, False), (False, True))
    )
    assert (str(read.min), str(read.extent)) == ("14", "31")
    assert (str(written.min), str(written.extent)) == ("0", "28")
