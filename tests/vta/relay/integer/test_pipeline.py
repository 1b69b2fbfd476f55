import numpy as np

from runtime.executor.operators.convolution import Conv2dAttrs
from runtime.executor.operators.names import Op
from runtime.executor.operators.normalise import BatchNormAttrs
from runtime.executor.operators.qnn.quantize import DequantizeAttrs, QuantizeAttrs
from runtime.executor.operators.types import TensorType
from tests.support.relay.random_integers import random_network
from vta.relay.integer.pipeline import TO_INTEGERS, integer_network
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Constant, Expr, Function, Var, constant
from vta.relay.ir.traverse import calls
from vta.relay.ops.call import call

X = Var("x", TensorType((1, 3, 6, 6), "int8"))
RNG = np.random.default_rng(1)


def real(value: Expr, scale: float = 0.05) -> Expr:
    return call(Op.DEQUANTIZE, [value, constant(scale, "float32"), constant(0, "int8")], DequantizeAttrs(0))


def cells(value: Expr) -> Expr:
    return call(Op.QUANTIZE, [value, constant(0.04, "float32"), constant(0, "int8")], QuantizeAttrs("int8", 0))


def operators(model: Function) -> list[object]:
    """Return the operators of the integer network, which gives what the model gives, but for one."""
    after = integer_network(model)
    data = RNG.integers(-128, 128, (1, 3, 6, 6)).astype(np.int8)
    found, expected = run(after, [data]), run(model, [data])
    assert isinstance(found, np.ndarray)
    assert isinstance(expected, np.ndarray)
    assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1
    return [each.callee for each in calls(after)]


def test_a_batch_norm_behind_a_convolution_becomes_part_of_its_scale() -> None:
    weight = real(Constant(RNG.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8)), 0.01)
    conv = call(Op.CONV2D, [real(X), weight], Conv2dAttrs(padding=(1, 1, 1, 1)))
    parts = [Constant(RNG.uniform(0.5, 1, 4).astype(np.float32)) for _ in range(4)]
    norm = call(Op.BATCH_NORM, [conv, *parts], BatchNormAttrs())
    assert operators(Function((X,), cells(call(Op.RELU, [norm])))) == [Op.QNN_CONV2D, Op.RESCALE]


def test_readers_that_dequantise_each_for_itself_are_one_function_of_one_tensor() -> None:
    swish = call(Op.MULTIPLY, [real(X), call(Op.SIGMOID, [real(X)])])
    assert operators(Function((X,), cells(swish))) == [Op.QNN_LOOKUP]


def test_after_each_pass_its_name_and_result_are_told() -> None:
    seen: list[str] = []
    integer_network(random_network(1).model, lambda name, _: seen.append(name))
    assert seen == [each.name for each in TO_INTEGERS]
