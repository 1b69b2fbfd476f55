"""Functions of cells as polylines: every cell's number exactly, against tables that numpy makes."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.compiler.random_operators import check
from vta.topi.alu.elementwise import Elementwise
from vta.topi.core.epilogue import Epilogue, applied, needs
from vta.topi.core.table_steps import TableError, table_steps

CELLS = np.arange(-128, 128)
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "abs": np.abs,
    "cos": np.cos,
    "exp": np.exp,
    "hard_swish": lambda r: r * np.clip(r / 6 + 0.5, 0, 1),
    "negative": lambda r: -r,
    "sigmoid": lambda r: 1 / (1 + np.exp(-r)),
    "square": np.square,
    "tanh": np.tanh,
}


def table_of(function: Callable[[np.ndarray], np.ndarray], scale: float, target: float, zero: int) -> np.ndarray:
    return np.clip(np.rint(function(CELLS * scale) / target) + zero, -128, 127).astype(np.int8)


def made(steps: Epilogue, low: int = -128, high: int = 127) -> np.ndarray:
    return applied(np.arange(low, high + 1).reshape(1, 1, -1), steps, [])[0, 0]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("scale", "target"), [(0.05, 0.04), (0.1, 0.0117), (0.013, 0.03)])
def test_a_smooth_function_is_exact_for_every_cell(name: str, scale: float, target: float) -> None:
    table = table_of(FUNCTIONS[name], scale, target, -7)
    assert np.array_equal(made(table_steps(table, most=1000)), table)


@pytest.mark.parametrize("seed", range(4))
def test_any_function_is_exact_for_every_cell(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(-128, 128, 256)
    table[rng.integers(0, 128) :] = rng.integers(-128, 128)  # with an end that is flat
    assert np.array_equal(made(table_steps(table, most=2000)), table)


@pytest.mark.parametrize("value", [-128, 0, 5, 127])
def test_a_function_that_is_the_same_everywhere_takes_three_operations(value: int) -> None:
    steps = table_steps(np.full(256, value), most=4)
    assert set(made(steps)) == {value}


def test_only_cells_that_there_can_be_count() -> None:
    table = np.random.default_rng(1).integers(-128, 128, 256)
    table[128:] = np.arange(128) // 2
    steps = table_steps(table, low=0, high=127, most=3)
    assert np.array_equal(made(steps, 0, 127), table[128:])


def test_what_is_beyond_the_cells_is_a_limit_and_no_piece() -> None:
    table = table_of(lambda r: r, 0.05, 0.0113, 3)
    steps = table_steps(table, most=8)
    assert np.array_equal(made(steps), table)
    assert needs(steps).operations <= 6


def test_a_function_that_takes_too_many_operations_is_refused() -> None:
    table = table_of(FUNCTIONS["sigmoid"], 0.05, 1 / 256, -128)
    count = needs(table_steps(table, most=1000)).operations
    with pytest.raises(TableError) as caught:
        table_steps(table, most=20)
    sentence = f"as a polyline, this function takes {count} operations for a number, and 20 are the most"
    assert str(caught.value) == sentence


def test_a_table_of_another_size_is_refused() -> None:
    with pytest.raises(TableError) as caught:
        table_steps(np.zeros(255), most=20)
    assert str(caught.value) == "a table has 256 numbers for cells, not (255,), and cells are not -128 to 127"


@pytest.mark.parametrize("engine", ["sim", "tsim"])
def test_engines_give_the_same(engine: str) -> None:
    steps = table_steps(table_of(FUNCTIONS["tanh"], 0.05, 0.0313, 0), most=64)
    check(Elementwise((1, 20, 5, 7), steps), "default", engine=engine, seed=3)
