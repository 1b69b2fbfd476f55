"""Parts of tensors that a tile reads, dimensions that they depend on, windows that do not overlap."""

import vta
from tests.support.tuning import definitions as d
from vta import te, topi
from vta.auto_scheduler.parts import parts_of
from vta.auto_scheduler.regions import Regions


def test_a_tile_reads_its_windows_of_what_it_is_computed_from() -> None:
    data, other, result = d.pool_with_residual(4, 6)
    boxes = Regions(result).boxes((1, 2, 3, 6, 1, 16))
    assert boxes[data] == (1, 2, 6, 12, 1, 16)
    assert boxes[other] == (1, 2, 3, 6, 1, 16)
    data, kernel, bias, result = d.convolution(2, 5, 3)
    boxes = Regions(result).boxes((1, 1, 2, 5, 1, 16))
    assert boxes[kernel] == (1, 2, 3, 3, 16, 16)
    assert boxes[bias] == (1, 1, 1, 1, 1, 16)
    assert boxes[data] == (1, 2, 4, 5, 1, 16)


def test_a_step_reads_what_its_sums_need() -> None:
    data, kernel, _, result = d.convolution(4, 5, 3)
    [product] = parts_of(result, vta.get_env()).products
    sums = {axis.var: size for axis, size in zip(product.sums, (2, 1, 3), strict=True)}
    boxes = Regions(result).boxes((1, 3, 2, 2, 1, 16), sums)
    assert boxes[kernel] == (3, 2, 1, 3, 16, 16)
    assert boxes[data] == (1, 2, 2, 4, 1, 16)


def test_dimensions_are_followed_through_stages_and_groups() -> None:
    data, kernel, bias, result = d.depthwise(3, 7, 5)
    found = Regions(result).dimensions()
    assert found[data] >= {1, 2, 3}
    assert found[kernel] & {0, 1, 2, 3} == {1}
    assert found[bias] & {0, 1, 2, 3} == {1}


def test_indices_that_are_no_sum_read_what_their_bounds_say() -> None:
    x = te.placeholder((8, 16), "int32", "x")
    y = te.compute((8, 16), lambda i, j: x(i // 2, j), name="y")
    z = te.compute((8, 16), lambda i, j: y(i * i, j), name="z")
    boxes = Regions(z).boxes((3, 16))
    assert boxes[y] == (8, 16)  # not known
    assert boxes[x] == (4, 16)


def test_windows_are_apart_or_not() -> None:
    data = te.placeholder((1, 1, 6, 6, 1, 16), "int32", "data")

    def pooled(size: int, stride: int, pad: int = 0) -> te.Tensor | None:
        shape = (size, size), (stride, stride), (1, 1), (pad,) * 4
        pool = topi.nn.pool2d(data, *shape, "max", layout="NCHW1n16c")
        return Regions(pool).apart(pool)

    assert pooled(2, 2) is pooled(2, 3) is data
    assert pooled(3, 2) is pooled(2, 2, 1) is None
    assert Regions(data).apart(data) is None
