"""Passes over graphs as objects: they do what the functions do, on modules and functions, as the context says."""

import numpy as np
import pytest

import vta
from runtime.executor.operators.convolution import Conv2dAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.types import RelayError
from vta import relay
from vta.instrument import PassTimingInstrument
from vta.relay.front.passes import Sequential
from vta.relay.ir.traverse import calls
from vta.relay.text.printer import to_text


def function() -> relay.Function:
    x = relay.var("x", shape=(1, 4, 6, 6))
    w = relay.const(np.ones((8, 4, 3, 3), np.float32))
    ones = relay.const(np.ones(8, np.float32))
    norm = relay.nn.batch_norm(relay.nn.conv2d(x, w), ones, ones, ones, ones)[0]
    return relay.Function([x], relay.nn.relu(relay.nn.dropout(norm, rate=0.5)))


def operators(given: relay.Function) -> list[str]:
    return [str(each.callee) for each in calls(given) if isinstance(each.callee, Op)]


def test_a_pass_takes_a_module_or_a_function() -> None:
    simplify = relay.transform.SimplifyInference()
    module = relay.IRModule.from_expr(function())
    assert Op.BATCH_NORM not in operators(simplify(module)["main"])
    assert isinstance(simplify(function()), relay.Function)
    assert repr(simplify) == "GraphPass('SimplifyInference', opt_level=0)"
    with pytest.raises(RelayError, match=r"^pass 'SimplifyInference' takes a module or a function of relay, not int$"):
        simplify(3)


ALL = ("SimplifyInference", "FoldConstant", "FoldScaleAxis", "CanonicalizeOps", "EliminateCommonSubexpr")


def sequence() -> Sequential:
    return Sequential([getattr(relay.transform, name)() for name in ALL])


def test_the_context_decides_which_of_a_sequence_run() -> None:
    assert operators(sequence()(function())) == ["nn.conv2d", "multiply", "add", "nn.relu"]
    with vta.PassContext(opt_level=3):
        assert operators(sequence()(function())) == ["nn.conv2d", "add", "nn.relu"]
    with vta.PassContext(opt_level=3, disabled_pass=["FoldScaleAxis"]):
        assert operators(sequence()(function())) == ["nn.conv2d", "multiply", "add", "nn.relu"]
    with vta.PassContext(opt_level=0, required_pass=["FoldConstant"]):
        assert operators(sequence()(function())) == ["nn.conv2d", "multiply", "add", "nn.relu"]
    with vta.PassContext(opt_level=0, disabled_pass=["SimplifyInference"]):
        assert "nn.batch_norm" in operators(sequence()(function()))
    with pytest.raises(RelayError, match=r"^Sequential takes passes, such as relay.transform.FoldConstant\(\), not 3$"):
        Sequential([3])


def test_instruments_hear_of_passes() -> None:
    timing = PassTimingInstrument()
    with vta.PassContext(opt_level=3, instruments=[timing]):
        sequence()(function())
    assert [name for name, _ in timing.times] == [*ALL, "sequential"]


def test_fusion_and_layouts() -> None:
    fused = relay.transform.FuseOps()(relay.transform.SimplifyInference()(function()))
    assert "fused_nn_conv2d" in to_text(fused)
    single = relay.transform.FuseOps(0)(function())
    assert "fused_nn_conv2d_nn" not in to_text(single)
    other = relay.transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(function())
    conv = next(each for each in calls(other) if each.callee is Op.CONV2D)
    assert isinstance(conv.attrs, Conv2dAttrs)
    assert (conv.attrs.data_layout, conv.attrs.kernel_layout) == ("NHWC", "HWIO")
    with pytest.raises(RelayError, match=r"^ConvertLayout takes layouts of data and weights for nn.conv2d, as "):
        relay.transform.ConvertLayout({"nn.dense": ["NHWC", "default"]})


def test_lets_and_dead_code_and_types() -> None:
    x = relay.var("x", shape=(2,))
    v, u = relay.var("v", shape=(2,)), relay.var("u", shape=(2,))
    whole = relay.Function([x], relay.Let(v, relay.exp(x), relay.Let(u, relay.tan(x), relay.add(v, v))))
    assert operators(relay.transform.DeadCodeElimination()(whole)) == ["exp", "add"]
    assert "let" not in to_text(relay.transform.ToGraphNormalForm()(whole))
    assert relay.transform.InferType()(whole) is whole


def test_other_names_are_told() -> None:
    with pytest.raises(AttributeError, match=r"^module 'vta.relay.transform' has no attribute 'Odd'$"):
        relay.transform.Odd  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'vta.relay' has no attribute 'odd'$"):
        relay.odd  # noqa: B018
