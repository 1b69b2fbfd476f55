"""Layers of other layouts become NCHW, with the same numbers."""

import numpy as np

from runtime.executor.operators.names import Op
from vta import relay
from vta.relay.interpreter import run
from vta.relay.ir.traverse import calls
from vta.relay.transform.plain_layouts import plain_layouts

RNG = np.random.default_rng(5)


def test_layers_are_computed_in_nchw_and_transposes_between_them_go() -> None:
    x = relay.var("x", shape=(2, 9, 8, 3))
    w = relay.const(RNG.standard_normal((3, 2, 3, 5)).astype(np.float32))
    conv = relay.nn.conv2d(x, w, padding=(1, 0), strides=(2, 1), data_layout="NHWC", kernel_layout="HWIO")
    pool = relay.nn.max_pool2d(conv, pool_size=2, strides=2, layout="NHWC")
    back = relay.const(RNG.standard_normal((5, 4, 3, 3)).astype(np.float32))
    wide = relay.nn.conv2d_transpose(pool, back, data_layout="NHWC", kernel_layout="IOHW")
    function = relay.Function([x], relay.nn.global_avg_pool2d(wide, layout="NHWC"))
    plain = plain_layouts(function)
    data = RNG.standard_normal((2, 9, 8, 3)).astype(np.float32)
    np.testing.assert_allclose(run(plain, [data]), run(function, [data]), rtol=1e-5, atol=1e-5)
    layouts = {getattr(each.attrs, "data_layout", getattr(each.attrs, "layout", "")) for each in calls(plain)}
    assert layouts == {"NCHW", ""}
    assert sum(each.callee is Op.TRANSPOSE for each in calls(plain)) == 2  # at the ends


def test_what_follows_element_by_element_is_computed_before_the_transpose() -> None:
    x, y = relay.var("x", shape=(1, 6, 6, 3)), relay.var("y", shape=(1, 6, 6, 5))
    w = relay.const(RNG.standard_normal((3, 3, 3, 5)).astype(np.float32))
    row = relay.const(RNG.standard_normal(5).astype(np.float32))
    conv = relay.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO")
    biased = relay.nn.prelu(relay.nn.bias_add(conv, row, axis=-1), row, axis=3)
    factor = relay.multiply(relay.add(biased, row), relay.const(2.0))
    again = relay.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO")
    function = relay.Function([x, y], relay.subtract(relay.add(factor, again), y))
    plain = plain_layouts(function)
    data = [RNG.standard_normal(shape).astype(np.float32) for shape in ((1, 6, 6, 3), (1, 6, 6, 5))]
    np.testing.assert_allclose(run(plain, data), run(function, data), rtol=1e-4, atol=1e-4)
    names = [str(each.callee) for each in calls(plain)]
    assert names[-2:] == ["transpose", "subtract"]  # the other operand of the last one is not a transpose
    assert names.count("transpose") == 3


def test_plain_and_blocked_layers_are_left_alone() -> None:
    x = relay.var("x", shape=(1, 16, 4, 4))
    w = relay.var("w", shape=(16, 16, 1, 1))
    blocked = relay.layout_transform(x, "NCHW", "NCHW1n16c")
    function = relay.Function([x, w], relay.Tuple([
        relay.nn.conv2d(x, w), relay.nn.global_max_pool2d(blocked, layout="NCHW1n16c"),
    ]))  # fmt: skip
    assert plain_layouts(function) is function
