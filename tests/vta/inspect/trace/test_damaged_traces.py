"""Traces that somebody changed, checksums and all: each is refused in one sentence, or shown by every view.

What a launch must be is in ``vta.inspect.trace.launch_record``.
"""

import io
import json
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isa.limits import Limits
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.trace import TraceError, TraceReader
from vta.inspect.trace.columns import pack, unpack
from vta.inspect.trace.format import HEAD, LAUNCH, MAGIC, read_record, write_record

Parts = tuple[dict[str, Any], dict[str, Any]]
Change = Callable[[dict[str, Any], dict[str, Any]], object]


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[bytes, bytes]]:
    """The records of a trace of the hardware."""
    path = tmp_path_factory.mktemp("whole") / "t"
    record_programs(path, "tsim", some_program(3))
    found = []
    with open(path, "rb") as file:
        file.seek(len(MAGIC))
        while (record := read_record(file)) is not None:
            found.append(record)
    return found


def trace_of(records: list[tuple[bytes, bytes]]) -> io.BytesIO:
    file = io.BytesIO()
    file.write(MAGIC)
    for kind, payload in records:
        write_record(file, kind, payload)
    file.seek(0)
    return file


def changed(records: list[tuple[bytes, bytes]], change: Change, *, of: bytes = LAUNCH) -> io.BytesIO:
    """Return the trace with the records of one kind changed."""
    made = []
    for kind, payload in records:
        head, columns = unpack(payload)
        if kind == of:
            change(head, columns)
        made.append((kind, pack(head, columns)))
    return trace_of(made)


def refusal(file: io.BytesIO, **more: Any) -> str:
    with pytest.raises(TraceError) as caught:
        list(TraceReader(file, where="t", **more))
    return str(caught.value)


def put(name: str, place: int, value: int) -> Change:
    """Return what puts one number into a column."""

    def change(_: dict[str, Any], columns: dict[str, Any]) -> None:
        columns[name] = columns[name].copy()
        columns[name][place] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head, _: head.update(number=7), "its number is 7, and it is launch 0 of the file"),
        (lambda head, _: head.update(number=True), "'number' cannot be True"),
        (lambda head, _: head.update(duration=-1), "the duration cannot be -1"),
        (lambda head, _: head.update(duration=1 << 62), f"the duration cannot be {1 << 62}"),
        (lambda head, _: head.update(duration=1), "'begun' is -1 to 1, not "),
        (lambda head, _: head.update(duration=0.5), "'duration' cannot be 0.5"),
        (lambda head, _: head.update(error=["x"]), "'error' cannot be ['x']"),
        (lambda head, _: head.update(error=3), "'error' cannot be 3"),
        (lambda head, _: head.update(account=[]), "'account' cannot be []"),
        (lambda head, _: head["account"].update(load=3), "the account of load cannot be 3"),
        (lambda head, _: head["account"]["load"].update(work=-1), "a number of cycles of load cannot be -1"),
        (lambda head, _: head["account"]["load"].update(work="1"), "a number of cycles of load cannot be '1'"),
        (lambda head, _: head["account"]["load"].update({"\x1b": 1}), r"a cause cannot be called '\x1b'"),
        (lambda head, _: head["account"].update({"[x]": {}}), "a module cannot be called '[x]'"),
        (lambda head, _: head["account"]["load"].update(work=1), "its account has more cycles for one module than"),
        (lambda head, _: head.update(modules=["load", "load"]), "a module cannot be called 'load'"),
        (lambda head, _: head.update(modules=[["load"]]), "a module cannot be called ['load']"),
        (lambda head, _: head.update(modules=["gpu"]), "it has no column 'gpu.begins'"),
        (lambda head, _: head.update(causes=[]), "a cause is 0 to -1, not 0"),
        (lambda head, _: head.update(causes=[None]), "a cause cannot be called None"),
        (lambda head, _: head.update(clients=[]), "a client of the memory is 0 to -1, not "),
        (lambda head, _: head.update(clients=[{}]), "a client of the memory cannot be called {}"),
        (lambda head, _: head.update(writers=[3]), "a client of the memory cannot be called 3"),
        (lambda head, _: head.update(duration=0), "it has an account of cycles, and lasted none"),
        (lambda head, _: head.update(origins=[3]), "an origin is two to four texts"),
        (lambda head, _: head.update(origins=[["a", 3]]), "an origin is two to four texts"),
        (lambda head, _: head.update(uop_loads={"x": 1}), "'x' is no instruction that loads micro-ops"),
        (lambda head, _: head.update(uop_loads={"-1": 1}), "'-1' is no instruction that loads micro-ops"),
        (lambda head, _: head.update(uop_loads={"9" * 19: 1}), f"'{'9' * 19}' is no instruction that loads micro-ops"),
        (lambda head, _: head.update(uop_loads={"1": 0, "01": 0}), "'01' is no instruction that loads micro-ops"),
        (lambda head, _: head.update(uop_loads={"1": -5}), "a number of micro-ops cannot be -5"),
        (lambda head, _: head.update(uop_loads={"1": 1 << 40}), "5 micro-ops for loads of 1099511627776"),
        (put("begun", 0, -2), "'begun' is -1 to 704, not "),
        (put("begun", 1, 1 << 61), "'begun' is -1 to 704, not "),
        (put("issued", 0, 1 << 40), "'issued' is -1 to 704, not "),
        (put("settled", 0, -9), "'settled' is -1 to 704, not "),
        (put("ended", 0, 0), "an instruction completed before it began"),
        (put("begun", 0, -1), "an instruction completed before it began"),
        (put("origin", 0, 1 << 40), "an origin is -1 to "),
        (put("origin", 0, -2), "an origin is -1 to "),
        (put("burst.begin", 0, -1), f"'burst.begin' is 0 to {1 << 62}, not -1"),
        (put("burst.end", -1, 0), "a burst ends before it begins"),
        (put("burst.nbytes", 0, -1), f"'burst.nbytes' is 0 to {1 << 62}, not -1"),
        (put("burst.address", 0, -1), f"'burst.address' is 0 to {1 << 62}, not -1"),
        (put("burst.client", 0, 99), "a client of the memory is 0 to 5, not 99"),
        (put("load.causes", 0, 255), "a cause is 0 to "),
        (put("load.begins", 1, 0), "the states of load do not begin one after the other"),
        (put("load.begins", 0, -1), "'load.begins' is 0 to "),
        (lambda _, columns: columns.pop("words"), "it has no column 'words'"),
        (lambda _, columns: columns.update(uops=columns["uops"][:1]), "1 micro-ops for loads of 5"),
        (
            lambda _, columns: columns.update({"load.begins": columns["load.begins"][:1]}),
            "load.begins, load.causes are of different lengths",
        ),
        (
            lambda _, columns: columns.update({"burst.end": columns["burst.end"][:1]}),
            "burst.begin, burst.end, burst.address, burst.nbytes, burst.client are of different lengths",
        ),
        *(
            (lambda _, columns, name=name, kind=kind: columns.update({name: columns[name].astype(kind)}), message)
            for name, kind, message in (
                ("words", np.int64, "column 'words' is of uint64, not of int64"),
                ("begun", np.uint64, "column 'begun' is of int64, not of uint64"),
                ("uops", np.uint8, "column 'uops' is of uint32, not of uint8"),
                ("load.causes", np.int64, "column 'load.causes' is of uint8, not of int64"),
                ("origin", np.uint16, "column 'origin' is of int64, not of uint16"),
            )
        ),
    ],
)
def test_a_launch_that_cannot_be_is_refused(records: list[tuple[bytes, bytes]], change: Change, message: str) -> None:
    said = refusal(changed(records, change))
    assert said.startswith(f"t: a launch is damaged: {message}"), said


def test_every_part_of_a_head_is_needed(records: list[tuple[bytes, bytes]]) -> None:
    for of, kind in ((LAUNCH, "a launch"), (HEAD, "the header")):
        head, _ = unpack(next(payload for each, payload in records if each == of))
        for name in head.keys() - {"version"}:
            said = refusal(changed(records, lambda head, _, name=name: head.pop(name), of=of))  # type: ignore[misc]
            assert said == f"t: {kind} is damaged: {name!r} is missing"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head: head.update(device=3), "'device' cannot be 3"),
        (lambda head: head.update(hardware=[]), "'hardware' cannot be []"),
        (lambda head: head["hardware"].update(data_width=0), "'data_width' of the hardware cannot be 0"),
        (lambda head: head["hardware"].update(data_width=12), "'data_width' of the hardware cannot be 12"),
        (lambda head: head["hardware"].update(data_width="64"), "'data_width' of the hardware cannot be '64'"),
        (lambda head: head["hardware"].update(memory_latency=0), "'memory_latency' of the hardware cannot be 0"),
        (lambda head: head["hardware"].update(lanes=True), "'lanes' of the hardware cannot be True"),
        (lambda head: head.update(versions={"python": 3}), "'python' cannot be 3"),
        (lambda head: head["config"].pop("LOG_BLOCK"), "t: missing key LOG_BLOCK"),
        (lambda head: head["config"].update(LOG_BLOCK=1 << 80), "t: LOG_BLOCK "),
    ],
)
def test_a_header_that_cannot_be_is_refused(
    records: list[tuple[bytes, bytes]], change: Callable[[dict[str, Any]], object], message: str
) -> None:
    said = refusal(changed(records, lambda head, _: change(head), of=HEAD))
    assert said.startswith(f"t: the header is damaged: {message}"), said


def payload(head: bytes, columns: bytes = b"") -> bytes:
    """Return a payload with this head as text."""
    return zlib.compress(struct.pack("<I", len(head)) + head + columns)


def described(*columns: object) -> bytes:
    return payload(json.dumps({"columns": columns}).encode(), bytes(8))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (b"", "what is compressed ends early, or something follows it"),
        (b"x" * 40, "Error -3 while decompressing data: incorrect header check"),
        (zlib.compress(b"abcd")[:-1], "what is compressed ends early, or something follows it"),
        (zlib.compress(b"") + b"x", "what is compressed ends early, or something follows it"),
        (zlib.compress(b"ab"), "no head"),
        (zlib.compress(struct.pack("<I", 9) + b"{}"), "the head is not a JSON object"),
        (payload(b"{"), "the head is not JSON"),
        (payload(b"\xff"), "the head is not JSON"),
        (payload(b"[" * 100_000), "the head is not JSON"),
        (payload(b'{"columns": [], "duration": NaN}'), "the head is not JSON"),
        (payload(b'{"columns": [], "duration": ' + b"9" * 5000 + b"}"), "the head is not JSON"),
        (payload(b"[]"), "the head is not a JSON object"),
        (payload(b"{}"), "None describes none"),
        (payload(b'{"columns": 3}'), "3 describes none"),
        (described(["a", "int64", "<i8"]), "['a', 'int64', '<i8'] describes none"),
        (described(["a", "float64", "<f8", 1]), "['a', 'float64', '<f8', 1] describes none"),
        (described(["a", "int64", ">i8", 1]), "['a', 'int64', '>i8', 1] describes none"),
        (described(["a", "uint64", "|u1", 8]), "['a', 'uint64', '|u1', 8] describes none"),
        (described(["a", "int64", "<i8", -1]), "['a', 'int64', '<i8', -1] describes none"),
        (described(["a", "int64", "<i8", 1.0]), "['a', 'int64', '<i8', 1.0] describes none"),
        (described([["a"], "int64", "<i8", 1]), "[['a'], 'int64', '<i8', 1] describes none"),
        (described(["a", "int64", "<i8", 2]), "'a' is there twice, or reaches beyond the end"),
        (described(["a", "int64", "<i4", 1], ["a", "int64", "<i4", 1]), "'a' is there twice, or reaches beyond the"),
        (described(["a", "int64", "<i4", 1]), "4 bytes belong to nothing"),
    ],
)
def test_a_record_without_columns_is_refused(records: list[tuple[bytes, bytes]], made: bytes, message: str) -> None:
    said = refusal(trace_of([records[0], (LAUNCH, made)]))
    assert said.startswith(f"t: a record is damaged: no columns: {message}"), said


def bomb(count: int, stored: bytes) -> bytes:
    """Return a payload with one column of ``count`` zeros; a thousand of them take a byte of it."""
    head = b'{"columns": [["words", "%s", "%s", %d]]}'
    name, width = {b"|i1": (b"int64", 1), b"<u8": (b"uint64", 8)}[stored]
    return payload(head % (name, stored, count), bytes(width * count))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            bomb(36 << 20, b"<u8"),
            "what is compressed in it would take 272 MiB of memory, and the limit is 256 MiB (for a ",
        ),
        (
            bomb(36 << 20, b"|i1"),
            "column 'words' would take 288 MiB of memory, and the limit is 256 MiB, less the 36 MiB",
        ),
        (payload(b"[" + b"{}," * (8 << 20) + b"1]"), "the head would take 768 MiB of memory, and the limit is 256 MiB"),
    ],
    ids=["columns", "differences", "head"],
)
def test_a_record_that_unpacks_to_much_more_is_refused(
    records: list[tuple[bytes, bytes]], made: bytes, message: str
) -> None:
    said = refusal(trace_of([records[0], (LAUNCH, made)]))
    assert said.startswith(f"t: {message}"), said
    assert said.endswith("raise it (--max-memory) if you trust the file")


def test_a_launch_of_very_many_instructions_is_refused_before_they_are_decoded(
    records: list[tuple[bytes, bytes]],
) -> None:
    def grown(_: dict[str, Any], columns: dict[str, Any]) -> None:
        for name in ("words", "origin", "begun", "ended", "issued", "settled"):
            columns[name] = np.zeros((600_000 * (1 + (name == "words")),), columns[name].dtype)

    file = changed(records, grown)
    assert len(file.getvalue()) < 60_000
    assert refusal(file).startswith("t: launch 0 with 600000 instructions would take 293 MiB of memory")
    file.seek(0)
    assert "'uop_loads'" not in refusal(file, limits=Limits(memory=1 << 30))


def test_random_changes_are_one_error_or_a_launch(records: list[tuple[bytes, bytes]]) -> None:
    """No number and no column leads to anything but a ``TraceError`` or a launch whose parts can be looked at."""
    rng, refused, shown = random.Random(5), 0, 0
    numbers = [-(1 << 63), -2, -1, 0, 1, 2, 255, 1 << 31, 1 << 40, (1 << 63) - 1]

    def damage(head: dict[str, Any], columns: dict[str, Any]) -> None:
        name = rng.choice(list(columns))
        column = columns[name].copy()
        if column.size:
            bounds = np.iinfo(column.dtype)
            column[rng.randrange(column.size)] = min(max(rng.choice(numbers), bounds.min), bounds.max)
        columns[name] = column

    for _ in range(400):
        try:
            launches = list(TraceReader(changed(records, damage), where="t"))
        except TraceError as error:
            assert str(error).startswith("t: a launch is damaged: ")  # noqa: PT017
            refused += 1
            continue
        assert len(launches) == 1
        shown += 1
    assert refused > 100
    assert shown > 20
