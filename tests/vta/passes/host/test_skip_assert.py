"""Assertions are left out, what their conditions do is not."""

from isa.config import VTAConfig
from vta.passes.host.skip_assert import skip_assert
from vta.tir.calls import call_extern
from vta.tir.expr import Var, const
from vta.tir.func import PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import AssertStmt, Evaluate

n = Var("n")


def test_an_assertion_goes() -> None:
    func = PrimFunc("main", (n,), AssertStmt(n > 3, "large", Evaluate(n)))
    assert skip_assert(func, VTAConfig()).body == Evaluate(n)
    plain = PrimFunc("main", (n,), Evaluate(n))
    assert skip_assert(plain, VTAConfig()).body is plain.body


def test_a_condition_that_calls_something_is_still_computed() -> None:
    condition = call_extern("int32", "f", n) > const(3)
    func = PrimFunc("main", (n,), AssertStmt(condition, "large", Evaluate(n)))
    assert to_text(skip_assert(func, VTAConfig()).body) == '(@tir.call_extern("f", n: int32, dtype=int32) > 3)\nn\n'
