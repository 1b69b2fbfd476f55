"""How much arithmetic a program does."""

import pytest

from vta import te
from vta.tir import ops
from vta.tir.analyses.flops import FlopsError, estimate_tir_flops
from vta.tir.buffer import decl_buffer
from vta.tir.expr import IntImm, Select, Var
from vta.tir.func import IRModule
from vta.tir.stmt import BufferStore, For, IfThenElse, While, seq

A = decl_buffer((64,), "float32", "A")
i, n = Var("i"), Var("n")


def test_a_product_of_matrices() -> None:
    a, b = te.placeholder((8, 16)), te.placeholder((16, 4))
    k = te.reduce_axis((0, 16))
    product = te.compute((8, 4), lambda y, x: te.sum(a[y, k] * b[k, x], axis=k))
    func = te.create_prim_func([a, b, product])
    assert estimate_tir_flops(IRModule({"main": func})) == estimate_tir_flops(func) == 2 * 8 * 16 * 4


def test_the_longer_branch_counts_and_indices_do_not() -> None:
    one = BufferStore(A, A.load(i + 1) * 2.0 + 1.0, (i,))
    other = BufferStore(A, Select(n > 3, A.load(i), A.load(i) * A.load(i)), (i * 4,))
    assert estimate_tir_flops(one) == 2
    assert estimate_tir_flops(other) == 2
    assert estimate_tir_flops(For(i, IntImm(0), IntImm(10), IfThenElse(i < n, seq([one, one]), other))) == 50


@pytest.mark.parametrize(
    ("stmt", "text"),
    [
        (For(i, IntImm(0), n, BufferStore(A, 1.0, (i,))), "loop 'i' has n iterations, no constant number"),
        (While(ops.all(n > 3), BufferStore(A, 1.0, (n,))), "a while loop has no number of iterations"),
    ],
)
def test_loops_of_unknown_length_are_refused(stmt: For | While, text: str) -> None:
    with pytest.raises(FlopsError) as error:
        estimate_tir_flops(stmt)
    assert str(error.value) == text
