import pytest

from isa.machine.multipliers import Multipliers, share_out


@pytest.mark.parametrize(
    ("most", "products", "lanes", "shared", "gemm", "each", "luts"),
    [
        (65536, 256, 16, False, 256, [3] * 16, 0),
        (65536, 256, 16, True, 128, [3] * 16, 0),
        (144, 256, 16, True, 128, [1] * 16, 16 * (167 + 43)),
        (160, 256, 16, True, 128, [2] * 16, 16 * 43),
        (150, 256, 16, True, 128, [2] * 6 + [1] * 10, 10 * 167 + 16 * 43),
        (20, 256, 16, True, 4, [1] * 16, 124 * 202 + 16 * 210),
        (156, 256, 16, False, 108, [3] * 16, 148 * 108),
        (5, 16, 4, False, 0, [2] + [1] * 3, 3 * 170 + 4 * 170 + 16 * 108),
        (0, 4, 2, False, 0, [0, 0], 2 * 790 + 4 * 108),
    ],
)
def test_multipliers_go_where_they_save_most(
    most: int, products: int, lanes: int, shared: bool, gemm: int, each: list[int], luts: int
) -> None:
    found = share_out(most, products=products, lanes=lanes, shared=shared)
    assert found == Multipliers(gemm, tuple(each), luts)
    assert found.total == min(most, (products // 2 if shared else products) + 3 * lanes)
