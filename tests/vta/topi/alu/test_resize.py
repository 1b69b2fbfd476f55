import pytest

from tests.support.compiler.random_operators import check, environment
from tests.support.configs import CONFIGS
from vta.topi.alu.alu_schedule import AluTiles
from vta.topi.alu.resize import Upsample2d
from vta.topi.core.epilogue import Bias, Relu, Residual
from vta.topi.core.operand import Operand
from vta.topi.core.operator import OperatorError

OPERATORS = [
    Upsample2d(1, 20, 7, 9),
    Upsample2d(2, 40, 13, 14, (3, 1), (Bias(), Relu())),
    Upsample2d(2, 33, 5, 6, (1, 4), dtype="int32"),
    Upsample2d(1, 16, 4, 4, (1, 1)),
]


@pytest.mark.parametrize("number", range(len(OPERATORS)))
def test_upsampling_is_that_of_numpy(number: int) -> None:
    for config in [[*CONFIGS][number], [*CONFIGS][(number + 2) % 5]]:
        check(OPERATORS[number], config, seed=number)


def test_tiles_count_the_image_s_cells() -> None:
    check(OPERATORS[0], "default", tiles=AluTiles(1, 1, 3, 9))
    check(OPERATORS[0], "default", tiles=AluTiles(1, 2, 7, 5, threads=2, thread_axis=3))


def test_the_result_is_larger_than_the_data() -> None:
    env = environment("default")
    operator = OPERATORS[1]
    assert operator.inputs(env) == (Operand("data", (2, 40, 13, 14), "int8"), Operand("bias", (40,), "int32"))
    assert operator.output(env) == Operand("res", (2, 40, 39, 14), "int8")
    assert operator.macs == 0


def test_instances_that_cannot_be_are_refused() -> None:
    with pytest.raises(OperatorError) as caught:
        Upsample2d(1, 16, 4, 4, (0, 2))
    assert str(caught.value) == "Upsample2d: scale takes 2 numbers from 1 (rows, columns), not (0, 2)"
    with pytest.raises(OperatorError) as caught:
        Upsample2d(1, 16, 4, 4, epilogue=(Residual(),))
    assert str(caught.value) == (
        "Upsample2d: a Residual has the result's shape, and the steps come before; add it after"
    )
    with pytest.raises(OperatorError) as caught:
        OPERATORS[0].schedule(environment("default"), 5)
    assert str(caught.value) == "Upsample2d: tiles are AluTiles, not int"
