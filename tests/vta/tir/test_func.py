"""Functions and modules."""

import pytest

from isa.config import VTAConfig
from vta.tir.expr import Var, const
from vta.tir.func import IRModule, PrimFunc
from vta.tir.printer import to_text
from vta.tir.stmt import Evaluate

n = Var("n")
FUNC = PrimFunc("main", (n,), Evaluate(n + 1), {})


def test_a_function_shows_itself_as_text() -> None:
    assert str(FUNC) == to_text(FUNC) == "@main = primfn(n: int32) -> () {\n  (n + 1)\n}\n"


def test_a_module_finds_functions_by_name() -> None:
    module = IRModule({"main": FUNC}, VTAConfig())
    assert module["main"] is FUNC
    assert str(module) == str(FUNC)
    with pytest.raises(KeyError):
        module["other"]


def test_functions_do_not_share_attributes() -> None:
    other = PrimFunc("other", (), Evaluate(const(0)), {})
    assert FUNC.attrs == {}
    assert other.attrs is not FUNC.attrs
