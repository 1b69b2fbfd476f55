import numpy as np
import pytest

import vta
from tests.support.compiler.epilogue_operator import EpilogueOnly
from tests.support.compiler.random_operators import check, environment, random_arrays
from tests.support.odd_configs import ODD_CONFIGS
from vta.topi.alu.elementwise import Elementwise
from vta.topi.alu.pooling import MaxPool2d
from vta.topi.alu.resize import Upsample2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Add, Bias, ShiftRight
from vta.topi.core.operand import Operand
from vta.topi.core.operator import Operator, OperatorError, compile  # noqa: A004
from vta.topi.matmul.dense import Dense
from vta.topi.transposed.conv2d_transpose_operator import Conv2dTranspose

OPERATOR = EpilogueOnly((2, 24, 5, 7), (Bias(), ShiftRight(4)))


def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.integers(-2000, 2000, (2, 24, 5, 7)).astype(np.int32), rng.integers(-9, 9, 24).astype(np.int32)


@pytest.mark.parametrize("target", ["sim", "reference", "tsim"])
def test_a_compiled_operator_takes_and_gives_plain_arrays_on_every_engine(target: str) -> None:
    env = vta.Environment({**vta.get_env().config.to_dict(), "TARGET": target})
    data, bias = arrays()
    compiled = compile(OPERATOR, env)
    assert compiled.env.session.device.name == target
    np.testing.assert_array_equal(compiled(data, bias), OPERATOR.reference(data, bias))
    np.testing.assert_array_equal(compiled(data, bias + 1), OPERATOR.reference(data, bias + 1))


def test_an_operator_describes_its_tensors() -> None:
    env = vta.get_env()
    assert OPERATOR.inputs(env) == (Operand("data", (2, 24, 5, 7), "int32"), Operand("bias", (24,), "int32"))
    assert OPERATOR.output(env) == Operand("res", (2, 24, 5, 7), "int8")
    assert (OPERATOR.macs, OPERATOR.flops) == (0, 0)


def test_packed_arrays_can_be_given_too() -> None:
    env = vta.get_env()
    data, bias = arrays()
    packed = compile(OPERATOR, env).packed(*OPERATOR.pack(env, data, bias))
    assert packed.shape == (2, 2, 5, 7, 1, 16)
    np.testing.assert_array_equal(OPERATOR.unpack(env, packed), OPERATOR.reference(data, bias))


def test_arrays_that_do_not_go_with_an_operator_are_refused() -> None:
    compiled = compile(OPERATOR, vta.get_env())
    data, bias = arrays()
    with pytest.raises(OperatorError) as caught:
        compiled(data)
    assert str(caught.value) == "EpilogueOnly takes 2 arrays (data, bias), not 1"
    with pytest.raises(OperatorError) as caught:
        compiled(data, bias[:-1])
    assert str(caught.value) == "EpilogueOnly: bias is int32 of shape (24,), not int32 of shape (23,)"
    with pytest.raises(OperatorError) as caught:
        compiled(data.astype(np.int64), bias)
    assert str(caught.value) == (
        "EpilogueOnly: data is int32 of shape (2, 24, 5, 7), not int64 of shape (2, 24, 5, 7); "
        ".astype('int32') converts numbers that fit"
    )


UNCLIPPED = [
    Conv2d(2, 5, 6, 7, 9, (3, 3), epilogue=(Bias(), ShiftRight(1))),
    Conv2dTranspose(1, 5, 3, 4, 9, (2, 2), (2, 2)),
    Dense(3, 20, 9, (Add(3),)),
    Elementwise((2, 20, 3), (Add(-7),), "int32"),
    MaxPool2d(1, 9, 5, 6, (2, 2), dtype="int32"),
    Upsample2d(1, 3, 2, 5, dtype="int32"),
]


@pytest.mark.parametrize("config", [name for name, config in ODD_CONFIGS.items() if config.inp_width < 8])
@pytest.mark.parametrize("operator", UNCLIPPED, ids=lambda operator: type(operator).__name__)
def test_outputs_narrower_than_8_bits_wrap_in_the_twin_as_in_the_hardware(operator: Operator, config: str) -> None:
    check(operator, config, seed=1)
    env = environment(config)
    arrays = random_arrays(np.random.default_rng(1), operator, env)
    whole, bits = operator.reference(*arrays).astype(int), env.OUT_WIDTH
    wrapped = compile(operator, env).reference(*arrays)
    np.testing.assert_array_equal(wrapped, (whole + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))
    assert wrapped.dtype == np.int8


def test_the_twin_of_a_compiled_operator_takes_what_the_operator_takes() -> None:
    compiled = compile(OPERATOR, vta.get_env())
    np.testing.assert_array_equal(compiled.reference(*arrays()), OPERATOR.reference(*arrays()))
    with pytest.raises(OperatorError, match=r"EpilogueOnly takes 2 arrays \(data, bias\), not 1"):
        compiled.reference(arrays()[0])
