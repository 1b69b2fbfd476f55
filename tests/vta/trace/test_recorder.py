"""The recorder: failed launches are recorded too, and it leaves the device as it was."""

from dataclasses import replace
from pathlib import Path

import pytest

from isa.instructions import Deps, Finish, Gemm, Load, MemoryId
from runtime.devices.device import DeadlockError
from runtime.session import Session
from tests.support.recorded_runs import some_program
from vta.trace import read_trace, recording


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
        origins=None,
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
