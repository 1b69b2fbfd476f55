import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from tests.support.compiler.random_operators import environment
from vta.topi.alu.alu_schedule import AluTiles
from vta.topi.alu.elementwise import Elementwise
from vta.topi.alu.resize import Upsample2d
from vta.topi.core.epilogue import Bias, Clip, Multiply, Residual
from vta.topi.core.operand import Operand
from vta.topi.core.operator import Operator, OperatorError, compile  # noqa: A004  # what it does


def test_inputs_are_the_data_then_the_tensors_of_the_steps() -> None:
    operator = Elementwise((2, 24, 5), (Bias(), Multiply(3), Residual()), "int32")
    env = environment("default")
    assert operator.inputs(env) == (
        Operand("data", (2, 24, 5), "int32"),
        Operand("bias", (24,), "int32"),
        Operand("residual", (2, 24, 5), "int8"),
    )
    assert operator.output(env) == Operand("res", (2, 24, 5), "int8")
    assert (operator.macs, operator.flops) == (0, 0)


def test_the_schedule_names_the_tiles_that_it_was_given() -> None:
    tiles = AluTiles(1, 2, 3, 4)
    assert Elementwise((1, 32, 6, 8)).schedule(environment("default"), tiles).tiles == tiles


def test_other_tiles_are_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        Elementwise((1, 32, 6, 8)).schedule(environment("default"), (1, 2, 3, 4))
    assert str(caught.value) == "Elementwise: tiles are AluTiles, not tuple"


def test_shapes_and_types_that_the_accumulator_does_not_load_are_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        Elementwise((5,))
    assert str(caught.value) == (
        "Elementwise: a shape is (N, C), (N, C, L) or (N, C, H, W) with sizes from 1, not (5,)"
    )
    with pytest.raises(OperatorError) as caught:
        Elementwise((5, 0))
    assert str(caught.value) == (
        "Elementwise: a shape is (N, C), (N, C, L) or (N, C, H, W) with sizes from 1, not (5, 0)"
    )
    with pytest.raises(OperatorError) as caught:
        Elementwise((5, 6), dtype="int16")
    assert str(caught.value) == "Elementwise: the accumulator loads int8 and int32, not 'int16'"


NARROW = VTAConfig(log_inp_width=2, log_wgt_width=2, log_inp_buff_size=14, log_wgt_buff_size=17)


@pytest.mark.parametrize("operator", [Elementwise((1, 16)), Upsample2d(1, 16, 2, 2)])
def test_int8_is_refused_where_inputs_are_narrower(operator: Operator) -> None:
    with pytest.raises(OperatorError) as caught:
        operator.schedule(vta.Environment(NARROW))
    assert str(caught.value) == (
        f"{type(operator).__name__}: data is int8, and the accumulator loads 8-bit numbers where inputs have 8 bits "
        "(LOG_INP_WIDTH 3), not int4; give int32"
    )


def test_int32_becomes_int4_where_inputs_have_4_bits() -> None:
    operator = Elementwise((1, 20, 3), (Clip(-8, 7),), "int32")
    data = np.random.default_rng(1).integers(-20, 20, (1, 20, 3)).astype(np.int32)
    result = compile(operator, vta.Environment(NARROW))(data)
    np.testing.assert_array_equal(result, np.clip(data, -8, 7))
