"""Accesses that bounds show to be outside are refused, others pass."""

import pytest

from vta.passes.optional.oob_checker import OutOfBoundsError, check_bounds
from vta.tir.buffer import Buffer, decl_buffer
from vta.tir.expr import Expr, IntImm, Var
from vta.tir.func import IRModule, PrimFunc
from vta.tir.stmt import BufferStore, For, IfThenElse, Stmt
from vta.tir_passes import OOBChecker

i, n = Var("i"), Var("n")


def program(size: Expr | int, read: Expr, guard: Expr | None = None) -> PrimFunc:
    a: Buffer = decl_buffer((2, size), "int32", "a")
    b = decl_buffer((8,), "int32", "b")
    body: Stmt = BufferStore(b, a.load(1, read), (i,))
    if guard is not None:
        body = IfThenElse(guard, body)
    return PrimFunc("f", (), For(i, IntImm(0), IntImm(8), body))


@pytest.mark.parametrize(
    ("size", "read", "text"),
    [
        (8, i + 1, "function 'f': buffer 'a' has 8 elements in dimension 1, and index (i + 1) is 1 to 8"),
        (8, i - 2, "function 'f': buffer 'a' has 8 elements in dimension 1, and index (i - 2) is -2 to 5"),
        (n, n + i, "function 'f': buffer 'a' has n elements in dimension 1, and index (n + i) is None to None"),
    ],
)
def test_what_is_outside_is_refused(size: Expr | int, read: Expr, text: str) -> None:
    with pytest.raises(OutOfBoundsError) as error:
        check_bounds(program(size, read))
    assert str(error.value) == text


def test_what_is_inside_or_guarded_or_unknown_passes() -> None:
    for func in (program(8, i), program(8, i + 1, (i < 7).asexpr()), program(n, i), program(8, i + n)):
        check_bounds(func)
        OOBChecker()(IRModule({"f": func}))
