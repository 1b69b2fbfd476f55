"""The recorder: failed launches are recorded too, and it leaves the device as it was."""

import resource
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest

from isa.instructions import Deps, Finish, Gemm, Load, MemoryId
from runtime.devices.device import DeadlockError
from runtime.session import Session
from tests.support.runtime.recorded_runs import some_program
from vta.inspect.trace import RecordingError, read_trace, recording


@pytest.mark.parametrize("device", ["reference", "sim", "tsim"])
def test_a_launch_that_fails_is_in_the_trace_with_its_error(tmp_path: Path, device: str) -> None:
    path = tmp_path / "t"
    stuck = replace(
        some_program(0),
        instructions=(
            Load(memory=MemoryId.INP, dram_base=0x100, x_size=1, y_size=1),
            Gemm(deps=Deps(pop_prev=True)),
            Finish(),
        ),
        origins=(),
    )
    session = Session(stuck.config, device)
    with recording(session, path):
        session.run_program(some_program(1))
        with pytest.raises(DeadlockError) as caught:
            session.run_program(stuck)
    session.run_program(some_program(2))
    with read_trace(path) as reader:
        launches = list(reader)
        assert reader.whole
    assert [launch.timeline.error for launch in launches] == [None, str(caught.value)]
    assert launches[1].timeline.ended.tolist()[0] >= 0
    assert launches[1].timeline.ended.tolist()[1:] == [-1, -1]


def test_a_disk_that_fills_up_ends_the_recording_and_not_the_run(tmp_path: Path) -> None:
    path, program = tmp_path / "t", some_program(1)
    session = Session(program.config, "sim")
    limit, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.raises(RecordingError) as caught, recording(session, path):  # noqa: PT012  # the end of it raises
        session.run_program(program)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, most))
        try:
            session.run_program(program)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
        session.run_program(program)
    assert session.device.stats.launches == 3
    assert str(caught.value) == (
        f"{path}: the recording stopped: File too large; the trace has 1 whole launch, and what was recorded went on "
        "without it"
    )
    with read_trace(path) as reader:
        assert [launch.number for launch in reader] == [0]
        assert not reader.whole


def test_a_full_disk_at_the_beginning_is_the_systems_error_with_the_files_name() -> None:
    program = some_program(1)
    match = r"^\[Errno 28\] No space left on device: '/dev/full'$"
    with pytest.raises(OSError, match=match), recording(Session(program.config, "sim"), "/dev/full"):
        pytest.fail("nothing is to run")


def test_what_interrupts_the_writing_of_a_launch_leaves_a_file_that_counts_as_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, program = tmp_path / "t", some_program(1)
    session = Session(program.config, "sim")

    def interrupted(file: IO[bytes], kind: bytes, payload: bytes) -> None:
        file.write(kind + payload[:10])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), recording(session, path):  # noqa: PT012  # the second launch raises
        session.run_program(program)
        monkeypatch.setattr("vta.inspect.trace.writer.write_record", interrupted)
        session.run_program(program)
    with read_trace(path) as reader:
        assert [launch.number for launch in reader] == [0]
        assert not reader.whole


def test_a_recording_inside_another_takes_nothing_from_it(tmp_path: Path) -> None:
    program = some_program(1)
    session, counts = Session(program.config, "sim"), []
    with recording(session, tmp_path / "outer"):
        session.run_program(program)
        with recording(session, tmp_path / "inner"):
            session.run_program(program)
        session.run_program(program)
    session.run_program(program)
    for name in ("outer", "inner"):
        with read_trace(tmp_path / name) as reader:
            counts.append(len(list(reader)))
    assert counts == [3, 1]
