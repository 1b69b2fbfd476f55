"""What is told of results while a tuner works: a log, a line of progress. Tests: tests/vta/autotvm/test_callback.py."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from vta.autotvm.measure.inputs import MeasureInput, MeasureResult
from vta.autotvm.record import encode, load_from_file, mend
from vta.autotvm.tuner.tuner import Callback, Tuner

__all__ = ["log_to_file", "progress_bar"]


def log_to_file(path: str | os.PathLike[str], *, times: bool = False) -> Callback:
    """Return a callback that adds a record to ``path`` for each result that it does not have yet.

    Equal searches write equal logs; with ``times``, records also say how long they took and when, which no two searches
    share. A torn last line, which a killed process leaves, is cut off first.
    """
    place = Path(path)
    mend(place)
    there = {_key(given) for given, _ in load_from_file(place)} if place.exists() else set()

    def write(_: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        with place.open("a", encoding="utf-8") as log:
            for given, result in zip(inputs, results, strict=True):
                if _key(given) not in there:
                    there.add(_key(given))
                    log.write(encode(given, result, times=times) + "\n")

    return write


def _key(given: MeasureInput) -> str:
    """Return what tells measurements apart; the number of a choice may change from version to version."""
    return encode(given, MeasureResult((1.0,)), times=False)


def progress_bar(n_trial: int, *, prefix: str = "") -> Callback:
    """Return a callback that prints on stderr how many of ``n_trial`` were tried, the last one and the best so far."""
    done = 0

    def show(tuner: Tuner, inputs: Sequence[MeasureInput], results: Sequence[MeasureResult]) -> None:
        nonlocal done
        done += len(inputs)
        last = results[-1]
        now = f"error {last.error_no}" if last.error_no else _speed(tuner, last.cost)
        best = "none yet" if tuner.best_config is None else _speed(tuner, tuner.best_cost)
        end = "\n" if done >= n_trial else ""
        print(f"\r{prefix}{done}/{n_trial}: {now}, best {best}\033[K", end=end, file=sys.stderr, flush=True)

    return show


def _speed(tuner: Tuner, cost: float) -> str:
    flop = tuner.task.flop
    return f"{cost * 1e6:.1f} us" + (f" ({flop / cost / 1e9:.2f} GOPS)" if flop else "")
