"""Records of measurements: a line of JSON each, in the layout of TVM's logs, version 0.2.

A line has ``input`` (target, template, arguments, {}), ``config``, ``result`` (costs, number of the error, seconds that
it took, time of day) and, beyond TVM's, ``hardware``. A process that is killed leaves at most its last line torn: that
one is dropped, with a ``TuningWarning``. Tests: tests/vta/autotvm/test_record.py.
"""

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from isa.errors import VTAError
from isa.printable import short
from vta.autotvm.errors import TuningError, TuningWarning
from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureInput, MeasureResult
from vta.autotvm.space import ConfigEntity
from vta.autotvm.workload import serialised

__all__ = ["VERSION", "decode", "encode", "load_from_file", "mend", "pick_best"]

VERSION = 0.2
_WRITER = "0.9.0"
"""The TVM whose layout it is."""


def encode(given: MeasureInput, result: MeasureResult, *, times: bool = True) -> str:
    """Return a record's line, its end left out; without ``times``, what depends on the time of day is 0."""
    name, *arguments = given.workload
    costs = [result.error] if result.error_no else list(result.costs)
    clock = [result.all_cost, result.timestamp] if times else [0.0, 0.0]
    row: dict[str, object] = {
        "input": [given.target, name, arguments, {}],
        "config": given.config.to_json_dict(),
        "result": [costs, int(result.error_no), *clock],
        "version": VERSION,
        "tvm_version": _WRITER,
    }
    if given.hardware is not None:
        row["hardware"] = {"data_width": given.hardware[0], "memory_latency": given.hardware[1]}
    return json.dumps(row)


def decode(row: str) -> tuple[MeasureInput, MeasureResult]:
    """Return what a line says; raises ``TuningError`` for anything that is no record of this version."""
    try:
        found = json.loads(row)
    except (ValueError, RecursionError) as error:
        raise TuningError(f"a record is a line of JSON, not {short(row)}: {error}") from None
    if isinstance(found, dict) and found.get("version") != VERSION:
        raise TuningError(f"a record of version {short(found.get('version'))} cannot be read; expected {VERSION}")
    match found:
        case {"input": [str(target), str(name), [*arguments], *_], "config": config, "result": result}:
            workload = (name, *(serialised(argument) for argument in arguments))
            given = MeasureInput(target, workload, ConfigEntity.from_json_dict(config), _hardware(found))
            return given, _result(result)
        case _:
            raise TuningError(f"a record has an input, a config and a result, not {short(found)}")


def _hardware(found: dict[str, object]) -> tuple[int, int] | None:
    match found.get("hardware"):
        case None:
            return None
        case {"data_width": int(bits), "memory_latency": int(latency)}:
            return bits, latency
        case other:
            raise TuningError(f"the hardware of a record is a data_width and a memory_latency, not {short(other)}")


def _result(written: object) -> MeasureResult:
    match written:
        case [[*costs], int(number), int() | float() as took, int() | float() as when] if number in list(
            MeasureErrorNo
        ):
            kind = MeasureErrorNo(number)
            if kind:
                return MeasureResult((), kind, " ".join(str(cost) for cost in costs), took, when)
            if _are_seconds(costs):
                return MeasureResult(tuple(costs), kind, "", took, when)
    raise TuningError(f"the result of a record is costs, number of an error, and two times, not {short(written)}")


def _are_seconds(costs: list[object]) -> TypeGuard[list[float]]:
    return bool(costs) and all(isinstance(cost, int | float) and cost > 0 for cost in costs)


def load_from_file(path: str | os.PathLike[str]) -> Iterator[tuple[MeasureInput, MeasureResult]]:
    """Yield the records of a file, in order; lines that begin with # are comments.

    A last line without its end is dropped, with a ``TuningWarning``. Raises ``TuningError`` naming the line for any
    other that is no record, and for a file that cannot be read.
    """
    whole, torn = _parts(Path(path))
    for number, line in enumerate(whole.split(b"\n"), 1):
        if not line.strip() or line.startswith(b"#"):
            continue
        try:
            record = decode(line.decode("utf-8", "replace"))
        except VTAError as error:
            raise TuningError(f"{path}:{number}: {error}") from None
        yield record
    if torn:
        _warn(path, torn)


def pick_best(in_file: str | os.PathLike[str], out_file: str | os.PathLike[str]) -> None:
    """Write the fastest record of each task on each hardware to ``out_file``, in the order in which they were found."""
    best: dict[object, tuple[MeasureInput, MeasureResult]] = {}
    for given, result in load_from_file(in_file):
        key = (given.target, given.workload, given.hardware)
        if not result.error_no and (key not in best or result.cost < best[key][1].cost):
            best[key] = (given, result)
    lines = (encode(given, result) + "\n" for given, result in best.values())
    Path(out_file).write_text("".join(lines), encoding="utf-8")


def mend(path: str | os.PathLike[str]) -> None:
    """Cut off a last line without its end, with a ``TuningWarning``: records can be added then. The file may be new."""
    place = Path(path)
    if not place.exists():
        return
    whole, torn = _parts(place)
    if torn:
        os.truncate(place, len(whole))
        _warn(path, torn)


def _parts(path: Path) -> tuple[bytes, bytes]:
    """Return the whole lines of a file, and what comes after them."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TuningError(f"{path}: cannot be read: {error.strerror}") from None
    end = content.rfind(b"\n") + 1
    return content[:end], content[end:]


def _warn(path: str | os.PathLike[str], torn: bytes) -> None:
    warnings.warn(
        f"{path}: the last line is torn, {len(torn)} bytes without an end: that record is dropped and measured again",
        TuningWarning,
        stacklevel=3,
    )
