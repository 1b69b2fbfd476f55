"""Real limits as cells, and sums that no integer operator does."""

import numpy as np
import pytest

from runtime.executor.operators.types import TensorType
from vta.relay.backend.steps import requantize_steps
from vta.relay.integer.scaling import Target, rescaled
from vta.relay.integer.values import Cells, Sums, Term
from vta.relay.interpreter import run
from vta.relay.ir.nodes import Call, Function, Var

INF = float("inf")
CELLS = Var("cells", TensorType((1, 4, 2, 2), "int8"))
SUMS = Var("sums", TensorType((1, 4, 2, 2), "int32"))


@pytest.mark.parametrize(
    ("low", "high", "limits"),
    [(-INF, INF, (-128, 127)), (0, INF, (3, 127)), (0, 6, (3, 63)), (-1, 1e9, (-7, 127)), (100, 200, (127, 127))],
)
def test_limits_are_the_cells_that_they_become(low: float, high: float, limits: tuple[int, int]) -> None:
    assert Target(0.1, 3).limits(low, high) == limits


def test_nothing_is_done_where_nothing_changes() -> None:
    assert rescaled(Sums(None, (Cells(CELLS, 0.1, 3),), 1), Target(0.1, 3)) is CELLS


def test_sums_of_three_tensors_and_biases_beyond_32_bits_are_left_to_floating_point() -> None:
    cells = tuple(Cells(CELLS, 0.1, 0) for _ in range(3))
    assert rescaled(Sums(None, cells, 1), Target(0.1, 0)) is None
    term = Term(SUMS, np.array([1e-9]))
    assert rescaled(Sums(term, (), 1, offset=np.array([10.0])), Target(0.1, 0)) is None


@pytest.mark.parametrize("ratio", [0.5, 0.99, 1.5, 3.7, 20.0])
@pytest.mark.parametrize("zero", [0, -128])
def test_a_residual_as_wide_as_it_likes_has_steps_of_32_bits(ratio: float, zero: int) -> None:
    residual = Cells(
        Var(
            "residual",
            TensorType((1, 4, 2, 2), "int8"),
        ),
        0.1 * ratio,
        zero,
    )
    scale = np.array([1e-5, 2e-4, 3e-3, 0.0999])
    made = rescaled(Sums(Term(SUMS, scale), (residual,), 1, offset=np.array([0.5, -3, 7, 0])), Target(0.1, 3))
    assert isinstance(made, Call)
    assert requantize_steps(made).steps


@pytest.mark.parametrize("seed", range(3))
def test_a_sum_of_two_tensors_is_near_for_every_pair_of_cells(seed: int) -> None:
    """At scales up to a hundred times apart, and zero points at the ends: all 65,536 pairs, against real numbers."""
    rng = np.random.default_rng(seed)
    lhs, rhs = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
    for _ in range(25):
        scales = 2.0 ** rng.uniform(-7, 7, 3)
        zeros = [int(rng.choice([-128, 0, 127, rng.integers(-128, 128)])) for _ in range(3)]
        params = [Var(name, TensorType((256, 256), "int8")) for name in "ab"]
        cells = tuple(Cells(params[i], float(scales[i]), zeros[i]) for i in range(2))
        made = rescaled(Sums(None, cells, 1), Target(float(scales[2]), zeros[2]))
        assert isinstance(made, Call)
        got = run(Function(tuple(params), made), [lhs.astype(np.int8), rhs.astype(np.int8)])
        exact = ((lhs - zeros[0]) * scales[0] + (rhs - zeros[1]) * scales[1]) / scales[2] + zeros[2]
        assert np.abs(got - np.clip(exact, -128, 127)).max() <= 0.5 + 1 / 16


@pytest.mark.parametrize("bits", [1, 2, 7])
@pytest.mark.parametrize("offset", [-3.5, -0.25, 0.5, 2.75, 4.0])
def test_a_bias_between_whole_sums_rounds_a_shift_exactly(bits: int, offset: float) -> None:
    """Of powers of two, a fraction of a sum decides what would else be a tie; those go to even numbers."""
    unit, wide = 2.0**-9, TensorType((1, 1, 1, 1024), "int32")
    made = rescaled(
        Sums(Term(Var("x", wide), np.array([unit])), (), 1, offset=np.array([offset * unit])), Target(unit * 2**bits, 0)
    )
    assert isinstance(made, Call)
    numbers = np.arange(-512, 512)
    found = run(Function((made.args[0],), made), [numbers.reshape(wide.shape).astype(np.int32)])  # type: ignore[arg-type]
    exact = np.clip((numbers + offset) / 2**bits, -128, 127)
    np.testing.assert_array_equal(np.asarray(found).reshape(-1), np.rint(exact))


def test_a_bias_of_coarse_sums_is_not_lost() -> None:
    """A fraction of a sum that is a cell of the result, or several, cannot be left out: such layers stay real."""
    for unit, offset in ((0.1, 0.05), (1.0, 0.3), (2.0**-3, 2.0**-4), (2.0**-1, 2.0**-3)):
        term = Term(SUMS, np.array([unit]))
        assert rescaled(Sums(term, (), 1, offset=np.array([offset])), Target(0.125 if unit < 1 else 0.1, 0)) is None
        assert rescaled(Sums(term, (), 1, offset=np.array([offset * 1e-3])), Target(unit * 100, 0)) is not None


@pytest.mark.parametrize("finer", [1, 2, 4])
def test_a_residual_finer_than_sums_meets_no_tie_by_a_bias_that_was_lost(finer: int) -> None:
    """Of steps as coarse as sums, a half of one tells nothing; of finer ones it would be a tie: that stays real."""
    residual = Cells(CELLS, 0.5 / finer, 0)
    made = rescaled(Sums(Term(SUMS, np.array([0.5])), (residual,), 1, offset=np.array([0.25])), Target(1.0, 0))
    assert (made is None) == (finer > 1)
