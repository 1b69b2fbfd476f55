"""``time_evaluator``: how often it calls, and what it gives. Nothing here depends on how long anything takes."""

import pytest

from runtime.evaluator import BenchmarkResult, Evaluator


def test_a_function_is_called_once_more_than_it_is_timed() -> None:
    calls: list[tuple[object, ...]] = []
    result = Evaluator(lambda *a: calls.append(a), number=3, repeat=4, min_repeat_ms=0)(1, 2)
    assert calls == [(1, 2)] * 13
    assert len(result.results) == 4
    assert all(seconds >= 0 for seconds in result.results)


def test_the_numbers_of_a_result() -> None:
    result = BenchmarkResult((1.0, 2.0, 6.0))
    assert (result.mean, result.median, result.min, result.max) == (3.0, 2.0, 1.0, 6.0)
    assert result.std == pytest.approx((14 / 3) ** 0.5)


def test_a_row_that_is_too_short_is_repeated_with_more_calls() -> None:
    calls = 0

    def count() -> None:
        nonlocal calls
        calls += 1

    Evaluator(count, number=1, repeat=1, min_repeat_ms=1)()
    assert calls > 2


def test_counts_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="number and repeat are at least 1, not 0 and 1"):
        Evaluator(print, number=0, repeat=1, min_repeat_ms=0)
