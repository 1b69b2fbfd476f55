"""Trace files: what is written is read, a file that was cut off is read up to there, and damage is named."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isa.config import VTAConfig
from runtime.observe.timeline import Timeline
from runtime.session import Session
from tests.support.runtime.recorded_runs import record_programs, same_launch, some_program
from vta.inspect.trace import Recorded, TraceError, TraceHeader, TraceReader, TraceWriter, read_trace
from vta.inspect.trace.columns import pack, unpack
from vta.inspect.trace.format import HEAD, LAUNCH, MAGIC, read_record, write_record
from vta.inspect.trace.model import UopReader, loaded_uops


@pytest.mark.parametrize("device", ["reference", "sim", "tsim"])
def test_a_launch_is_read_as_it_was_recorded(tmp_path: Path, device: str) -> None:
    programs = [some_program(seed) for seed in (3, 4)]
    session = Session(programs[0].config, device)
    expected: list[Recorded] = []

    def keep(timeline: Timeline) -> None:
        uops = loaded_uops(timeline, session.memory.address_space())
        expected.append(Recorded(len(expected), timeline, uops))

    session.device.set_timeline(keep)
    for program in programs:
        session.run_program(program)
    header, launches = record_programs(tmp_path / "t", device, *programs)
    assert (header.device, header.config, header.program) == (device, programs[0].config, "test")
    assert set(header.versions) == {"vta-toolchain"}
    assert ("memory_latency" in header.hardware) == (device == "tsim")
    assert [launch.number for launch in launches] == [0, 1]
    assert all(same_launch(a, b) for a, b in zip(launches, expected, strict=True))
    for launch, program in zip(launches, programs, strict=True):
        assert launch.instructions == list(program.instructions)
        assert launch.uops
        for words in launch.uops.values():
            assert set(words.tolist()) <= set(program.uops)


def test_a_file_that_was_cut_off_is_read_up_to_its_last_whole_launch(tmp_path: Path) -> None:
    path = tmp_path / "t"
    _, whole = record_programs(path, "sim", *(some_program(seed) for seed in (1, 2, 3)))
    data = path.read_bytes()
    found = set()
    for length in range(len(data) - 1, len(MAGIC), -97):
        try:
            reader = TraceReader(io.BytesIO(data[:length]))
        except TraceError as error:
            assert "was cut off at the beginning" in str(error)  # noqa: PT017
            continue
        launches = list(reader)
        assert not reader.whole
        assert all(same_launch(a, b) for a, b in zip(launches, whole, strict=False))
        found.add(len(launches))
    assert found >= {1, 2, 3}


def test_a_changed_byte_is_noticed_and_its_record_named(tmp_path: Path) -> None:
    path = tmp_path / "t"
    record_programs(path, "sim", some_program(1))
    data = bytearray(path.read_bytes())
    for at in range(len(MAGIC), len(data), max(1, len(data) // 50)):
        data[at] ^= 0x10
        assert what_is_wrong(bytes(data)).startswith("t: ")
        data[at] ^= 0x10
    assert what_is_wrong(bytes(data)) == ""


def what_is_wrong(data: bytes) -> str:
    """Return how a trace named t is refused; a length that became too long looks like a cut."""
    try:
        reader = TraceReader(io.BytesIO(data), where="t")
        count = len(list(reader))
    except TraceError as error:
        return str(error)
    return "" if reader.whole else f"t: cut after launch {count}"


def test_what_is_no_trace_is_refused_in_one_sentence() -> None:
    for content in (b"", b"VTAPROG\n1234", b"x" * 100):
        with pytest.raises(TraceError, match=r": this is no trace; expected a file that `vta run --record` wrote$"):
            TraceReader(io.BytesIO(content))


def test_another_version_is_refused() -> None:
    file = io.BytesIO()
    file.write(MAGIC)
    write_record(file, HEAD, pack({"version": 99}, {}))
    file.seek(0)
    with pytest.raises(TraceError, match=r"^trace: version 99 of the format; this program reads version 1, so record"):
        TraceReader(file)


def test_a_header_without_its_parts_is_refused() -> None:
    file = io.BytesIO()
    file.write(MAGIC)
    write_record(file, HEAD, pack({"version": 1, "config": VTAConfig().to_dict()}, {}))
    file.seek(0)
    with pytest.raises(TraceError, match=r"^trace: the header is damaged: 'device' is missing$"):
        TraceReader(file)


def test_a_trace_without_launches_is_whole() -> None:
    file = io.BytesIO()
    TraceWriter(file, TraceHeader("sim", VTAConfig(), {}, "", {})).close()
    file.seek(0)
    reader = TraceReader(file)
    assert list(reader) == []
    assert reader.whole
    assert reader.header.config == VTAConfig()


def test_a_length_beyond_memory_counts_as_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "t"
    record_programs(path, "sim", some_program(1))
    data = bytearray(path.read_bytes())
    second = len(MAGIC) + 16 + int.from_bytes(data[len(MAGIC) + 4 : len(MAGIC) + 12], "little")
    data[second + 11] = 0x7F
    path.write_bytes(data)
    with read_trace(path) as reader:
        assert list(reader) == []
        assert not reader.whole


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> io.BytesIO:
    """Return the trace with each launch changed, its checksum right."""
    changed = io.BytesIO()
    changed.write(MAGIC)
    with open(path, "rb") as file:
        file.seek(len(MAGIC))
        while (record := read_record(file)) is not None:
            kind, payload = record
            head, columns = unpack(payload)
            if kind == LAUNCH:
                change(head, columns)
            write_record(changed, kind, pack(head, columns))
    changed.seek(0)
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head, _: head.update(duration="long"), "'duration' cannot be 'long'"),
        (lambda head, _: head.pop("origins"), "'origins' is missing"),
        (lambda _, columns: columns.pop("uops"), "it has no column 'uops'"),
        (
            lambda _, columns: columns.update({"ended": columns["ended"][1:]}),
            "origin, begun, ended, issued, settled are of different lengths",
        ),
        (lambda _, columns: columns.update(words=columns["words"][2:]), "42 halves of words for 22 instructions"),
    ],
)
def test_a_launch_whose_parts_do_not_fit_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object], message: str
) -> None:
    path = tmp_path / "t"
    record_programs(path, "tsim", some_program(3))
    with pytest.raises(TraceError, match="^trace: a launch is damaged: " + re.escape(message)):
        list(TraceReader(rewritten(path, change)))


def test_micro_ops_are_those_of_each_launch_whether_its_words_are_new_or_come_again() -> None:
    first, second = some_program(3), some_program(4)
    session = Session(first.config, "sim")
    timelines: list[Timeline] = []
    session.device.set_timeline(timelines.append)
    reader = UopReader()
    for program in (first, second, second, first):
        session.run_program(program)
        memory = np.random.default_rng(len(timelines)).integers(0, 256, 1 << 20, np.uint8)
        found, expected = reader.read(timelines[-1], memory), loaded_uops(timelines[-1], memory)
        assert found
        assert {index: words.tolist() for index, words in found.items()} == {
            index: words.tolist() for index, words in expected.items()
        }
