"""The words of hybrid script as Python's functions."""

import numpy as np
import pytest

from vta.te.hybrid.emulation import HYBRID_GLOBALS, emulated


@pytest.mark.parametrize(
    ("word", "arguments", "result"),
    [
        ("popcount", (np.int32(-1),), 32), ("popcount", (np.uint8(5),), 2), ("sigmoid", (0.0,), 0.5),
        ("round", (-2.5,), -2.0), ("round", (3.5,), 4.0), ("rsqrt", (4.0,), 0.5), ("erf", (0.0,), 0.0),
        ("ceil_div", (7, 2), 4), ("likely", (True,), True), ("int32", (2.7,), 2), ("max_num_threads", (), 1),
    ],
)  # fmt: skip
def test_words_compute(word: str, arguments: tuple[float, ...], result: float) -> None:
    assert HYBRID_GLOBALS[word](*arguments) == result


def test_memory_is_zero_and_threads_run_one_after_the_other() -> None:
    assert HYBRID_GLOBALS["allocate"]((2, 3), "int8", "local").tolist() == [[0, 0, 0], [0, 0, 0]]
    assert list(HYBRID_GLOBALS["bind"]("threadIdx.x", 3)) == [0, 1, 2]
    assert list(HYBRID_GLOBALS["unroll"](1, 3)) == [1, 2]


def test_a_functions_own_names_stay() -> None:
    def f() -> object:
        return sigmoid(0.0)  # type: ignore[name-defined]  # noqa: F821

    assert emulated(f)() == 0.5
    assert "sigmoid" not in f.__globals__
