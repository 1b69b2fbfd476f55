"""The axis that marks the accelerator's statements."""

from isa.instructions import Module
from isa.origin import Origin
from tests.support.compiler.tir_build import AXIS, block, call, loop, on, thread
from vta.passes.coproc_axis import (
    coproc_axis,
    coproc_scope,
    find_coproc_axis,
    is_coproc_axis,
    is_coproc_scope,
    is_uop_scope,
    uop_scope,
)
from vta.tir.expr import IntImm, StringImm


def test_every_axis_with_the_tag_is_the_accelerator() -> None:
    first, second = coproc_axis(), coproc_axis()
    assert is_coproc_axis(first)
    assert is_coproc_axis(second)
    assert first is not second
    assert not is_coproc_axis(thread("t", 2, call("x")).node)
    assert not is_coproc_axis(None)


def test_the_axis_of_a_program_is_found_or_made() -> None:
    assert find_coproc_axis(loop("i", 4, block(call("x"), on(1, "a")))) is AXIS
    assert is_coproc_axis(find_coproc_axis(call("x")))


def test_scopes_are_made_and_recognised() -> None:
    origin = Origin("A_buf")
    scope = coproc_scope(AXIS, Module.STORE, call("x"), origin)
    kernel = uop_scope(AXIS, "VTAPushGEMMOp", call("x"), origin)
    assert (is_coproc_scope(scope), is_uop_scope(scope)) == (True, False)
    assert (is_coproc_scope(kernel), is_uop_scope(kernel)) == (False, True)
    assert (scope.value, kernel.value) == (IntImm(3), StringImm("VTAPushGEMMOp"))
    assert scope.origin is kernel.origin is origin
