"""What a tile takes: parts of tensors that are read, elements, operations, what is loaded."""

import vta
from tests.support.tuning.definitions import convolution, pool_with_residual
from vta.auto_scheduler.demand import boxes_of, demand_of
from vta.topi import MaxPool2d
from vta.topi.alu.alu_template import alu_stages


def test_a_tile_reads_its_windows_of_what_it_is_computed_from() -> None:
    data, other, result = pool_with_residual(4, 6)
    boxes = boxes_of(result, (1, 2, 3, 6, 1, 16))
    assert boxes[data] == (1, 2, 6, 12, 1, 16)
    assert boxes[other] == (1, 2, 3, 6, 1, 16)
    data, kernel, bias, result = convolution(2, 5, 3)
    boxes = boxes_of(result, (1, 1, 2, 5, 1, 16))
    assert boxes[kernel] == (1, 2, 3, 3, 16, 16)
    assert boxes[bias] == (1, 1, 1, 1, 1, 16)
    assert boxes[data] == (1, 2, 4, 5, 1, 16)


def test_a_pool_takes_what_the_library_says_that_its_pool_takes() -> None:
    env = vta.get_env()
    _, _, result = pool_with_residual(2, 6)
    found = demand_of(result, alu_stages(result, env), env)((1, 2, 3, 6))
    alone = MaxPool2d(1, 32, 12, 12, (2, 2), (2, 2)).problem(env).demand((1, 2, 3, 6))
    count = 2 * 3 * 6
    assert found.operations == 4 * count + 3 * count  # four cells of a window; a sum and two limits
    assert found.elements == alone.elements + count + 3 * count
    assert found.load.size == alone.load.size + count * 16
    assert found.kernels == 4
