"""Functions for known sizes compute what the general ones do."""

from collections.abc import Callable

import numpy as np
import pytest

import vta
from vta import te
from vta.build_module import build_generic
from vta.te.lowering.prim_func import create_prim_func
from vta.tir import ir_builder
from vta.tir.buffer import decl_buffer
from vta.tir.expr import IntImm, SizeVar, Var
from vta.tir.func import FunctionError, PrimFunc
from vta.tir.stmt import Block, For
from vta.tir.traverse import walk


def rows() -> PrimFunc:
    m, n = Var("m"), Var("n")
    a, b = Var("a", "handle"), Var("b", "handle")  # type: ignore[arg-type]
    x, y = decl_buffer((m, n), "int32", "X"), decl_buffer((m, n), "int32", "Y")
    ib = ir_builder.create()
    source, target = ib.buffer_ptr(x), ib.buffer_ptr(y)
    with ib.for_range(0, m) as i, ib.for_range(0, n * 2 // 2) as j:
        target[i, j] = source[i, j] * (m + 1)
    return PrimFunc([a, b, m], ib.get(), None, {a: x, b: y})  # type: ignore[arg-type]


def run(func: PrimFunc, *more: int) -> np.ndarray:
    data = np.arange(12, dtype=np.int32).reshape(3, 4)
    out = vta.nd.array(np.zeros_like(data))
    build_generic(func)(vta.nd.array(data), out, *more)
    np.testing.assert_array_equal(out.numpy(), data * 4)
    return out.numpy()


def test_sizes_of_a_buffer_become_numbers() -> None:
    func = rows()
    run(func, 3)
    given = func.specialize({func.params[0]: decl_buffer((3, 4), "int32")})
    loop = given.body
    assert isinstance(loop, For)
    assert int(loop.extent) == 3
    assert [[int(e) for e in b.shape] for b in given.buffer_map.values()] == [[3, 4], [3, 4]]
    run(given, 3)


def test_a_number_is_no_parameter_any_more() -> None:
    func = rows()
    given = func.specialize({func.params[2]: 3})
    assert given.params == func.params[:2]
    assert isinstance(given.body, For)
    assert int(given.body.extent) == 3
    run(given)


def test_blocks_have_the_sizes_too() -> None:
    n = SizeVar("n")
    a = te.placeholder((n,), "int32", "A")
    b = te.compute((n,), lambda i: a[i] * 2, "B")
    c = te.compute((n,), lambda i: b[i] + 1, "C")
    func = create_prim_func([a, c])
    given = func.specialize({func.params[0]: decl_buffer((5,), "int32")})
    blocks = [node for node in walk(given.body) if isinstance(node, Block)]
    assert all(int(axis.dom.extent) == 5 for block in blocks for axis in block.iter_vars if axis.dom is not None)
    assert [int(e) for block in blocks for buffer in block.alloc_buffers for e in buffer.shape] == [5]
    out = vta.nd.array(np.zeros(5, np.int32))
    build_generic(given)(vta.nd.array(np.arange(5, dtype=np.int32)), out)
    assert out.numpy().tolist() == [1, 3, 5, 7, 9]


def test_what_does_not_fit_is_refused() -> None:
    func, other = rows(), Var("z")
    a, _, m = func.params
    fixed = func.specialize({a: decl_buffer((3, 4), "int32")})
    square = PrimFunc([a], func.body, None, {a: decl_buffer((m, m), "int32", "S")})  # type: ignore[arg-type]
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: func.specialize({other: 3}), "specialize: function 'main' has no parameter 'z'"),
        (lambda: func.specialize({a: 3}), "specialize: parameter 'a' is a buffer; give one, not 3"),
        (
            lambda: func.specialize({m: decl_buffer((3,), "int32")}),
            "specialize: parameter 'm' is a number, not a buffer",
        ),
        (
            lambda: func.specialize({a: decl_buffer((3,), "int8")}),
            "specialize: buffer 'X' holds int32 in 2 dimensions, the given one int8 in 1",
        ),
        (
            lambda: fixed.specialize({a: decl_buffer((3, 5), "int32")}),
            "specialize: buffer 'X' has a size of 4, the given one 5",
        ),
        (
            lambda: square.specialize({a: decl_buffer((3, 5), "int32")}),
            "specialize: size 'm' is 3 and 5 at once",
        ),
    ]
    for step, text in wrong:
        with pytest.raises(FunctionError) as error:
            step()
        assert str(error.value) == text
    assert isinstance(fixed.buffer_map[a].shape[0], IntImm)
