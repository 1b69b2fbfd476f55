import numpy as np
import pytest

import vta
from tests.support.compiler.epilogue_operator import EpilogueOnly
from tests.support.compiler.random_operators import check, environment, random_arrays
from tests.support.configs import CONFIGS
from tests.support.odd_configs import ODD_CONFIGS
from vta.topi.alu.elementwise import Elementwise
from vta.topi.alu.pooling import AveragePool2d, MaxPool2d
from vta.topi.alu.resize import Upsample2d
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Add, Bias, Residual, Scale, ShiftRight
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


LAYER = Conv2d(
    1, 20, 9, 8, 24, (3, 3), padding=(1, 1, 1, 1), zero_point=3, epilogue=(Bias(), ShiftRight(9), Residual())
)


def layer_arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    names = {operand.name: operand for operand in LAYER.inputs(vta.get_env())}
    return {name: rng.integers(-99, 99, o.shape).astype(o.dtype) for name, o in names.items()}


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("kept", [(), ("kernel", "bias"), ("data", "residual"), ("data", "kernel", "bias", "residual")])
def test_arrays_that_are_bound_stay_and_the_others_move(kept: tuple[str, ...], config: str) -> None:
    compiled = compile(LAYER, environment(config))
    arrays = layer_arrays()
    bound = compiled.bind(**{name: arrays[name] for name in kept})
    assert [operand.name for operand in bound.inputs] == [name for name in arrays if name not in kept]
    for _ in range(2):
        moving = [arrays[operand.name] for operand in bound.inputs]
        np.testing.assert_array_equal(bound(*moving), LAYER.reference(*arrays.values()))
        arrays |= {operand.name: arrays[operand.name] // 2 for operand in bound.inputs}


def test_what_one_operator_leaves_on_the_device_another_one_takes() -> None:
    env = environment("default")
    rng = np.random.default_rng(5)
    first = Conv2d(1, 16, 9, 9, 32, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(8),))
    second = Conv2d(1, 32, 9, 9, 16, (1, 1), epilogue=(ShiftRight(8), Residual()))
    data, *kernels = (rng.integers(-99, 99, s).astype(np.int8) for s in ((1, 16, 9, 9), (32, 16, 3, 3), (16, 32, 1, 1)))
    one, two = (compile(op, env).bind(kernel=kernel) for op, kernel in zip((first, second), kernels, strict=True))
    [packed] = one.pack(data)
    out = two.compiled.empty()
    middle = one.run(packed)
    assert two.run(middle, packed, out=out) is out
    expected = second.reference(first.reference(data, kernels[0]), kernels[1], data)
    np.testing.assert_array_equal(two.unpack(out), expected)
    np.testing.assert_array_equal(one.unpack(middle), first.reference(data, kernels[0]))


def test_a_call_of_a_bound_operator_moves_its_activations_alone() -> None:
    env = environment("default")
    arrays = layer_arrays()
    bound = compile(LAYER, env).bind(kernel=arrays["kernel"], bias=arrays["bias"])
    placed = bound.pack(arrays["data"], arrays["residual"])
    assert [array.shape for array in placed] == [(1, 2, 9, 8, 1, 16)] * 2


def test_arguments_say_what_they_are_made_of() -> None:
    found = {argument.name: argument.sources for argument in LAYER.arguments(vta.get_env())}
    assert found == {
        "data": ("data",),
        "kernel": ("kernel",),
        "bias": ("bias",),
        "residual": ("kernel",),
        "residual_1": ("residual",),
    }
    pool = AveragePool2d(1, 16, 6, 6, (3, 3), padding=(1, 1, 1, 1))
    found = {argument.name: argument.sources for argument in pool.arguments(vta.get_env())}
    assert found == {"data": ("data",), "multipliers": (), "roundings": ()}


def test_arrays_that_cannot_be_bound_are_refused() -> None:
    compiled = compile(Dense(3, 16, 16, (Bias(), Scale(), ShiftRight(8))), environment("default"))
    with pytest.raises(OperatorError) as caught:
        compiled.bind(wieght=np.zeros((16, 16), np.int8))
    assert str(caught.value) == "Dense has no input 'wieght'; it has data, weight, bias, scale"
    with pytest.raises(OperatorError) as caught:
        compiled.bind(weight=np.zeros((16, 15), np.int8))
    assert str(caught.value) == "Dense: weight is int8 of shape (16, 16), not int8 of shape (16, 15)"
    with pytest.raises(OperatorError) as caught:
        compiled.bind(bias=np.zeros(16, np.int32))
    assert str(caught.value) == "Dense: bias is packed together with scale; give both"
    bound = compiled.bind(weight=np.zeros((16, 16), np.int8))
    with pytest.raises(OperatorError) as caught:
        bound(np.zeros((3, 16), np.int8))
    assert str(caught.value) == "Dense takes 3 arrays (data, bias, scale), not 1"
    with pytest.raises(OperatorError) as caught:
        bound.run()
    assert str(caught.value) == "Dense takes 2 packed arrays (data, table), not 0"
