"""Intrinsics of a script's own: declared, called by name, found by ``Op.get``; rules and their levels."""

import pytest

from vta.tir import Var
from vta.tir.calls import CallError, Op, call_intrin
from vta.tir.expr import Builtin, Call, StringImm, const
from vta.tir.expr.own_intrinsic import (
    CallEffectKind,
    IntrinsicCall,
    IntrinsicError,
    register_intrin_lowering,
    register_intrin_rule,
    register_op_attr,
    rule_for,
)

X = Var("x", "float32")


def test_a_declared_intrinsic_is_called_by_its_name() -> None:
    with pytest.raises(CallError, match=r"^there is no intrinsic 'tir.of_mine'; there are "):
        call_intrin("float32", "tir.of_mine", X)
    register_op_attr("tir.of_mine", "TCallEffectKind", CallEffectKind.Pure)
    assert Op.get("tir.of_mine").name == "tir.of_mine"
    assert Op.get("tir.of_mine").same_as(Op.get("tir.of_mine"))
    called = call_intrin("float32", Op.get("tir.of_mine"), X)
    assert called == Call("float32", Builtin.CALL_PURE_INTRIN, (StringImm("tir.of_mine"), X))
    register_op_attr("tir.of_mine", "TCallEffectKind", CallEffectKind.Opaque)
    assert call_intrin("float32", "tir.of_mine", X).op is Builtin.CALL_INTRIN


def test_the_rule_of_the_target_counts_before_the_one_for_all_and_the_highest_level_first() -> None:
    seen: list[IntrinsicCall] = []

    @register_op_attr("tir.leveled", "default.FLowerIntrin")
    def of_all(call: IntrinsicCall) -> object:
        seen.append(call)
        return call.args[0]

    register_intrin_lowering("tir.leveled", "llvm", f=lambda call: call.args[0] * 2.0, level=20)
    register_intrin_lowering("tir.leveled", "llvm", f=lambda call: call.args[0] * 3.0)
    rule, call = rule_for("llvm"), IntrinsicCall.of(call_intrin("float32", "tir.leveled", X))
    assert rule is not None
    assert rule(call) == X * 2.0
    register_intrin_lowering("tir.leveled", "llvm", f=lambda call: call.args[0] * 4.0, level=20)
    assert rule(call) == X * 4.0
    other = rule_for("cuda")
    assert other is not None
    assert other(call) is X
    assert [str(each.op.name) for each in seen] == ["tir.leveled"]
    assert of_all is not None


def test_rules_see_calls_of_what_is_here_by_name() -> None:
    call = IntrinsicCall.of(Call("float32", Builtin.EXP, (X,)))
    assert (call.op.name, call.dtype, call.args) == ("tir.exp", "float32", (X,))


def test_what_cannot_be_registered_is_refused() -> None:
    register_intrin_rule("rocm", "twice_said", lambda _: None)
    register_intrin_rule("rocm", "twice_said", lambda _: const(1.0), override=True)
    refused = {
        "target 'rocm' has a rule for 'tir.twice_said' already; override=True, or a higher level, replaces it": (
            lambda: register_intrin_rule("rocm", "twice_said", lambda _: None)
        ),
        "intrinsics are called 'tir.NAME', not 'mylog'": lambda: register_op_attr("mylog", "TCallEffectKind", 1),
        "'tir.exp' is an intrinsic that is here; what it does cannot be changed": (
            lambda: register_op_attr("tir.exp", "TCallEffectKind", CallEffectKind.Opaque)
        ),
        "tir.x: a rule is a function of a call, not 3": lambda: register_op_attr("tir.x", "llvm.FLowerIntrin", 3),
        "nn.conv2d: attribute 'TOpPattern' means nothing here; there are 'TCallEffectKind' and 'TARGET.FLowerIntrin'": (
            lambda: register_op_attr("nn.conv2d", "TOpPattern", 3)
        ),
    }
    for sentence, act in refused.items():
        with pytest.raises(IntrinsicError) as caught:
            act()  # type: ignore[no-untyped-call]
        assert str(caught.value) == sentence
    register_intrin_rule("rocm", "of_text", lambda _: "text")  # type: ignore[arg-type, return-value]
    rule = rule_for("rocm")
    assert rule is not None
    with pytest.raises(IntrinsicError, match=r"^the rule of target 'rocm' for tir.of_text returned 'text', no expr"):
        rule(IntrinsicCall.of(call_intrin("float32", "tir.of_text", X)))
