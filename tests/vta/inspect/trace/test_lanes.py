"""Lanes: no span covers another, none is there without need, and what never completed is seen to the end."""

import itertools
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from isa.bulk import words_to_array
from isa.encoding import encode
from isa.instructions import Finish, Load, MemoryId
from runtime.observe.timeline import NEVER
from runtime.session import Session
from tests.support.configs import CONFIGS
from vta.inspect.trace import read_trace, recording
from vta.inspect.trace.lanes import end_of, instruction_lanes, lanes
from vta.inspect.trace.perfetto import microseconds, trace_events


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20))))
def test_lanes_never_overlap_and_are_as_few_as_needed(spans: list[tuple[int, int]]) -> None:
    spans = sorted((begin, begin + length) for begin, length in spans)
    chosen = lanes([begin for begin, _ in spans], [end for _, end in spans])
    for lane in set(chosen):
        own = [span for span, its in zip(spans, chosen, strict=True) if its == lane]
        assert all(a[1] < b[0] for a, b in itertools.pairwise(own))
    depth = max((sum(b <= time <= e for b, e in spans) for time in range(72)), default=0)
    assert len(set(chosen)) == depth


def test_an_instruction_that_did_not_complete_is_shown_up_to_the_end(tmp_path: Path) -> None:
    config = CONFIGS["default"]
    session = Session(config, "tsim")
    place = session.memory.alloc(4096)
    load = Load(memory=MemoryId.INP, dram_base=0x100, x_size=64, y_size=1)
    words = words_to_array([encode(load, config), encode(Finish(), config)])
    session.memory.write(place, 0, words.tobytes())
    with recording(session, tmp_path / "t"):
        session.device.launch(place.address, 2)
    with read_trace(tmp_path / "t") as reader:
        [launch] = list(reader)
    # Such as hardware leaves that stops amid an instruction.
    ended = launch.timeline.ended.copy()
    ended[0] = NEVER
    timeline = replace(launch.timeline, ended=ended)
    launch = replace(launch, timeline=timeline)
    begin, last = int(timeline.begun[0]), timeline.duration - 1
    assert 0 <= begin < last == end_of(timeline, 0)
    assert instruction_lanes(launch)[0] == 0
    [shown] = [event for event in trace_events(launch) if event["name"] == "load.inp"]
    assert (shown["ts"], shown["dur"]) == (microseconds(begin), microseconds(last - begin + 1))
    assert dict(shown["args"])["completed"] is False
