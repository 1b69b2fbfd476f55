"""The Perfetto file: tracks whose slices do not overlap, arrows from pushes to pops, counters that add up."""

import io
import itertools
import json
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isa.instructions import Alu, AluOpcode, Finish, Load, MemoryId
from isa.tokens import TokenQueue, pops, pushes
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.trace import Recorded
from vta.inspect.trace.perfetto import microseconds, trace_events, write_perfetto
from vta.inspect.trace.tokens import token_flows


def recorded(path: Path, device: str, seed: int) -> Recorded:
    _, [launch] = record_programs(path / "t", device, some_program(seed))
    return launch


def events_of(launch: Recorded) -> list[dict[str, Any]]:
    text = io.StringIO()
    count = write_perfetto([launch], text)
    events = json.loads(text.getvalue())["traceEvents"]
    assert len(events) == count
    for event in events:
        for key in ("ts", "dur"):  # nanoseconds, as readers see them: one for each cycle
            if key in event:
                event[key] = int(event[key] * 1000)
    return events


def test_a_cycle_is_a_nanosecond_and_the_launch_says_so(tmp_path: Path) -> None:
    for cycles in (*range(3000), *(10**k + d for k in range(4, 12) for d in range(-50, 50)), 1 << 40):
        assert int(microseconds(cycles) * 1000) == cycles
        assert abs(microseconds(cycles) - cycles / 1000) <= 1e-9 * cycles
    for device, unit in (("tsim", "cycle"), ("sim", "step")):
        first = events_of(recorded(tmp_path, device, 1))[0]
        assert first["args"]["name"] == f"launch 0 on {device} (1 {unit} = 1 ns)"


def track_names(events: list[dict[str, Any]]) -> dict[int, str]:
    return {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}


@pytest.mark.parametrize("device", ["sim", "tsim"])
@pytest.mark.parametrize("seed", range(4))
def test_slices_of_one_track_do_not_overlap_and_each_instruction_has_one(
    tmp_path: Path, device: str, seed: int
) -> None:
    launch = recorded(tmp_path, device, seed)
    events = events_of(launch)
    by_track = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            by_track[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert set(by_track) <= set(track_names(events))
    for spans in by_track.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    indices = [e["args"]["index"] for e in events if e["ph"] == "X" and "index" in e.get("args", {})]
    assert sorted(indices) == list(range(len(launch)))


def test_the_tracks_of_a_module_stand_in_the_order_of_their_lanes(tmp_path: Path) -> None:
    load = Load(memory=MemoryId.ACC, dram_base=64, x_size=64, y_size=16, x_stride=64)
    alus = [Alu(alu_opcode=AluOpcode.ADD, use_imm=True, imm=1, uop_end=1) for _ in range(40)]
    program = replace(some_program(0), instructions=(load, *alus, Finish()), origins=())
    _, [launch] = record_programs(tmp_path / "t", "tsim", program)
    names = [name for name in track_names(events_of(launch)).values() if re.fullmatch(r"compute(, lane \d+)?", name)]
    assert len(names) > 10
    assert names == ["compute", *(f"compute, lane {lane}" for lane in range(2, len(names) + 1))]


@pytest.mark.parametrize("seed", range(4))
def test_waits_and_work_fill_the_run_of_every_module(tmp_path: Path, seed: int) -> None:
    launch = recorded(tmp_path, "tsim", seed)
    events = events_of(launch)
    names = track_names(events)
    assert launch.timeline.account is not None
    waited: dict[str, int] = defaultdict(int)
    for event in events:
        if event["ph"] == "X" and names[event["tid"]].endswith(" waits"):
            waited[names[event["tid"]].removesuffix(" waits")] += event["dur"]
    for module, causes in launch.timeline.account.modules.items():
        assert waited[module] + causes["work"] == launch.timeline.duration


@pytest.mark.parametrize("seed", range(4))
def test_every_token_is_an_arrow_from_its_push_to_its_pop(tmp_path: Path, seed: int) -> None:
    launch = recorded(tmp_path, "tsim", seed)
    events = events_of(launch)
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    popped = sum(len(pops(i.module, i.deps)) for i in launch.instructions)
    assert len(starts) == len(ends) == popped > 0
    assert all(starts[key]["ts"] < ends[key]["ts"] and starts[key]["name"] == ends[key]["name"] for key in starts)
    final = dict.fromkeys(TokenQueue, 0)
    for instruction in launch.instructions:
        for queue in pushes(instruction.module, instruction.deps):
            final[queue] += 1
        for queue in pops(instruction.module, instruction.deps):
            final[queue] -= 1
    last = {}
    for event in events:
        if event["ph"] == "C" and event["name"].startswith("tokens "):
            last[event["name"].removeprefix("tokens ")] = event["args"]["tokens"]
            assert event["args"]["tokens"] >= 0
    assert all(last.get(queue.value, 0) == count for queue, count in final.items())
    assert sum(flow.taker is None for flow in token_flows(launch)) == sum(final.values())


def test_the_bandwidth_counter_sums_to_the_bytes_that_moved(tmp_path: Path) -> None:
    launch = recorded(tmp_path, "tsim", 2)
    sums: dict[str, float] = defaultdict(float)
    for event in events_of(launch):
        if event["ph"] == "C" and event["name"].startswith("bytes"):
            sums[event["name"]] += 64 * event["args"]["bytes"]
    bursts, duration = launch.timeline.bursts, launch.timeline.duration
    writes = bursts.client == bursts.clients.index("store")
    within = (bursts.end >= 0) & (bursts.end < duration)
    assert sums["bytes a cycle, written"] == bursts.nbytes[writes & within].sum()
    assert sums["bytes a cycle, read"] == bursts.nbytes[~writes & within].sum()


def test_the_events_of_a_launch_follow_from_what_is_in_it_and_not_from_its_length(tmp_path: Path) -> None:
    launch = recorded(tmp_path, "tsim", 2)
    timeline = launch.timeline
    late = 1 << 45
    long = replace(
        launch,
        timeline=replace(
            timeline,
            duration=timeline.duration + late,
            bursts=replace(timeline.bursts, end=timeline.bursts.end + late // 64 * np.arange(len(timeline.bursts))),
        ),
    )
    assert len(list(trace_events(long))) < 10 * len(list(trace_events(launch)))


def test_where_nothing_moved_the_bandwidth_is_zero(tmp_path: Path) -> None:
    launch = recorded(tmp_path, "tsim", 2)
    ends = launch.timeline.bursts.end
    busy = {int(end) // 64 for end in ends.tolist() if end >= 0}
    shown = [event for event in events_of(launch) if event["name"] == "bytes a cycle, read"]
    assert shown[0]["ts"] == 0
    assert {event["ts"] // 64 for event in shown if event["args"]["bytes"]} <= busy
    times = [event["ts"] for event in shown]
    assert times == sorted(set(times))
    for event, following in itertools.pairwise(shown):
        if following["ts"] > event["ts"] + 64:
            assert event["args"]["bytes"] == 0
