"""Mock pragmas leave statements out, and every ALU stage becomes a kernel of the compute module."""

from dataclasses import replace

from isa.config import VTAConfig
from isa.origin import Origin
from tests.support.compiler.tir_build import block, call, function, loop, on, outline, pragma
from vta.passes.alu.annotate_alu_coproc_scope import annotate_alu_coproc_scope
from vta.passes.coproc_axis import is_coproc_axis, is_uop_scope
from vta.passes.dma.inject_skip_copy import inject_skip_copy
from vta.passes.pragma import is_pragma, pragma_name
from vta.tir.expr import StringImm
from vta.tir.scopes import ALU_SYMBOL
from vta.tir.stmt import AttrStmt, Stmt
from vta.tir.traverse import walk

CONFIG = VTAConfig()


def annotated(stmt: Stmt) -> Stmt:
    return annotate_alu_coproc_scope(function(stmt), CONFIG).body


def test_skipped_copies_are_left_out() -> None:
    body = block(pragma("skip_dma_copy", loop("i", 4, call("copy"))), call("rest"))
    assert outline(inject_skip_copy(function(body), CONFIG).body) == ["rest"]


def test_other_pragmas_are_not_skipped() -> None:
    body = pragma("dma_copy", call("copy"))
    assert inject_skip_copy(function(body), CONFIG).body is body


def test_an_alu_stage_is_a_kernel_of_the_compute_module_and_keeps_its_pragma() -> None:
    result = annotated(pragma("alu", loop("i", 4, call("x"))))
    assert outline(result) == ["[2] coproc_uop_scope { pragma_alu { for i { x } } }"]
    (scope,) = (node for node in walk(result) if is_uop_scope(node))
    assert isinstance(scope, AttrStmt)
    assert scope.value == StringImm(ALU_SYMBOL)


def test_skipped_alu_stages_are_left_out() -> None:
    assert outline(annotated(block(pragma("skip_alu", call("x")), call("rest")))) == ["rest"]


def test_stages_share_the_axis_that_the_function_has() -> None:
    result = annotated(block(on(1, "load"), pragma("alu", call("x"))))
    axes = {id(n.node) for n in walk(result) if isinstance(n, AttrStmt) and is_coproc_axis(n.node)}
    assert len(axes) == 1


def test_an_alu_stage_keeps_its_origin() -> None:
    origin = Origin("relu", "net.py:7")
    result = annotated(replace(pragma("alu", call("x")), origin=origin))
    assert [node.origin for node in walk(result) if isinstance(node, AttrStmt)] == [origin, origin, origin]


def test_a_pragma_is_named_by_its_key_or_by_the_value_of_a_scope() -> None:
    plain = pragma("alu", call("x"))
    assert pragma_name(plain) == "alu"
    assert pragma_name(replace(plain, key="pragma_scope", value=StringImm("dma_copy"))) == "dma_copy"
    assert pragma_name(on(1, "load")) is None
    assert pragma_name(plain.body) is None
    assert is_pragma(plain, "alu")
    assert not is_pragma(plain, "dma_copy")


def test_a_wait_on_the_same_loop_stands_outside_of_the_kernel() -> None:
    both = pragma("alu", pragma("coproc_sync", loop("i", 4, call("x"))))
    assert outline(annotated(both)) == [
        "pragma_coproc_sync {",
        "  [2] coproc_uop_scope { pragma_alu { for i { x } } }",
        "}",
    ]
    three = pragma("alu", pragma("unroll", pragma("coproc_sync", call("x"))))
    assert outline(annotated(three)) == [
        "pragma_coproc_sync {",
        "  [2] coproc_uop_scope { pragma_alu { pragma_unroll { x } } }",
        "}",
    ]
