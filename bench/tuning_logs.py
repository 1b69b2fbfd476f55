"""Logs of tuning for the fuzzer: how they are made, damaged and read.

A log is read, and what it says is applied: to two operators that its records are for. Tests:
tests/bench/test_fuzz_corpus.py.
"""

import json
import random
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

from bench.mutations import changed_bytes, changed_json
from vta.autotvm.errors import TuningWarning
from vta.autotvm.history import apply_history_best
from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureResult
from vta.autotvm.record import encode, load_from_file, mend
from vta.autotvm.task import extract_from_operators
from vta.environment import get_env
from vta.topi import Conv2d, Dense
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.operator import Operator

__all__ = ["damaged_log", "logs", "read_log"]

_OPERATORS: tuple[Operator, ...] = (
    Dense(4, 32, 48, (ShiftRight(8), Clip(0, 127))),
    Conv2d(1, 32, 7, 7, 32, (3, 3), padding=(1, 1, 1, 1), epilogue=(ShiftRight(4), Bias(), Clip(-8, 7))),
)
"""What the records of the seeds are for."""


def logs() -> list[bytes]:
    """Return a log of each operator, one of both, and that one as TVM writes it: without steps and knobs of ours."""
    lines: list[list[str]] = []
    for task in extract_from_operators(_OPERATORS):
        valid = list(task.config_space.valid_indices())
        results = (
            MeasureResult((0.002,)),
            MeasureResult((), MeasureErrorNo.COMPILE_HOST, "no"),
            MeasureResult((0.001,)),
        )
        places = (0, len(valid) // 2, -1)
        lines.append(
            [
                encode(task.input(task.config_space.get(valid[at])), result)
                for at, result in zip(places, results, strict=True)
            ]
        )
    both = ["# of two tasks", *lines[0], "", *lines[1]]
    return ["".join(f"{line}\n" for line in part).encode() for part in (*lines, both, [_older(line) for line in both])]


def _older(line: str) -> str:
    if not line.startswith("{"):
        return line
    row = json.loads(line)
    row["input"][2] = row["input"][2][:-1]
    row["config"]["entity"] = [knob for knob in row["config"]["entity"] if knob[0].startswith("tile_")]
    return json.dumps(row)


def damaged_log(rng: random.Random, data: bytes) -> bytes:
    """Return the log with something in a record changed, a line lost, repeated or torn, or bytes changed."""
    if rng.random() < 0.15:
        return changed_bytes(rng, data)
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(lines))
        match rng.randrange(12):
            case 0:
                del lines[at]
                lines = lines or [b""]
            case 1:
                lines.insert(rng.randrange(len(lines) + 1), lines[at])
            case 2:
                lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
            case _ if lines[at].startswith(b"{"):
                with suppress(ValueError):  # a line that was torn before
                    lines[at] = json.dumps(changed_json(rng, json.loads(lines[at]))).encode()
            case _:
                continue
    return b"\n".join(lines)


def read_log(data: bytes) -> None:
    """Read a log, write its records again, and schedule the operators that its records may be for."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", TuningWarning)
        path = Path(folder, "records.log")
        path.write_bytes(data)
        for given, result in load_from_file(path):
            encode(given, result)
        mend(path)
        with apply_history_best(path):
            for operator in _OPERATORS:
                operator.schedule(get_env())
