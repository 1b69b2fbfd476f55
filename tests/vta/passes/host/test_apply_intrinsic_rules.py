"""Rules of a script are applied to its program, at any depth, once for each intrinsic."""

import numpy as np
import pytest

from vta import te
from vta.build_module import build_generic, lower_generic
from vta.codegen import CodegenError
from vta.passes.host.apply_intrinsic_rules import IntrinsicRuleError, apply_intrinsic_rules
from vta.tir.calls import call_intrin, call_pure_extern
from vta.tir.expr import Expr
from vta.tir.expr.own_intrinsic import CallEffectKind, IntrinsicCall, register_intrin_lowering, register_op_attr
from vta.tir.printer import to_text

VALUES = np.linspace(1, 2, 8, dtype=np.float32)


def own(name: str, x: Expr) -> Expr:
    return call_intrin("float32", name, x)


def program(name: str) -> tuple[te.Schedule, list[te.Tensor]]:
    register_op_attr(name, "TCallEffectKind", CallEffectKind.Pure)
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: own(name, own(name, a[i]) + 1.0), name="B")
    return te.create_schedule(b.op), [a, b]


def test_calls_inside_of_calls_become_what_the_rule_says() -> None:
    s, args = program("tir.log_of_mine")

    @register_intrin_lowering("tir.log_of_mine", "llvm")
    def rule(call: IntrinsicCall) -> Expr:
        return call_pure_extern("float32", "logf", call.args[0])

    out = np.zeros_like(VALUES)
    build_generic(s, args, "llvm")(VALUES, out)
    np.testing.assert_allclose(out, np.log(np.log(VALUES) + 1), rtol=1e-6)
    assert rule is not None


def test_a_rule_may_use_what_it_is_for_and_other_rules_what_it_makes() -> None:
    s, args = program("tir.outer_one")
    register_op_attr("tir.inner_one", "TCallEffectKind", CallEffectKind.Pure)
    register_intrin_lowering("tir.outer_one", "llvm", f=lambda call: own("tir.inner_one", call.args[0]) + 1.0)
    register_intrin_lowering("tir.inner_one", "llvm", f=lambda call: call.args[0] * 2.0)
    out = np.zeros_like(VALUES)
    build_generic(s, args, "llvm")(VALUES, out)
    np.testing.assert_allclose(out, (VALUES * 2 + 1 + 1) * 2 + 1)
    [func] = lower_generic(s, args).functions.values()
    register_intrin_lowering("tir.outer_one", "cuda", f=lambda call: own("tir.outer_one", call.args[0]))
    assert to_text(apply_intrinsic_rules(func, "cuda")) == to_text(func)
    register_intrin_lowering("tir.outer_one", "rocm", f=lambda call: own("tir.outer_one", call.args[0]) * 2.0)
    assert to_text(apply_intrinsic_rules(func, "rocm")).count("2.0f32") == 2, "once for each call"


def test_a_rule_keeps_the_type() -> None:
    s, args = program("tir.narrowed")
    register_intrin_lowering("tir.narrowed", "llvm", f=lambda call: call.args[0].astype("float16"))
    with pytest.raises(IntrinsicRuleError) as caught:
        build_generic(s, args, "llvm")
    assert str(caught.value) == (
        "the rule for tir.narrowed makes float16 of a call that is float32; cast what it returns"
    )


def test_an_intrinsic_without_a_rule_has_no_code() -> None:
    s, args = program("tir.ruleless")
    with pytest.raises(CodegenError) as caught:
        build_generic(s, args, "llvm")
    assert "intrinsic 'tir.ruleless' has no rule for this target; register_intrin_lowering('tir.ruleless', " in str(
        caught.value
    )
