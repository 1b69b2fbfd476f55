"""The numbers of the HTML page: equal to the trace's, and safe to stand in a page."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from isa.origin import Origin
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.trace.html import page_text
from vta.inspect.trace.page_data import page_data


@pytest.mark.parametrize("device", ["sim", "tsim"])
def test_the_page_has_the_columns_of_the_trace(tmp_path: Path, device: str) -> None:
    header, [launch] = record_programs(tmp_path / "t", device, some_program(7))
    data = page_data(header, [launch])
    assert (data["device"], data["program"], data["digest"]) == (device, "test", header.config.digest)
    [shown] = data["launches"]
    timeline = launch.timeline
    assert shown["clock"] is (device == "tsim")
    assert shown["duration"] == timeline.duration
    assert shown["instructions"]["begun"] == timeline.begun.tolist()
    assert shown["instructions"]["ended"] == timeline.ended.tolist()
    assert len(shown["instructions"]["text"]) == len(launch)
    assert [memory["depth"] for memory in shown["memories"]] == [
        header.config.inp_depth, header.config.wgt_depth, header.config.acc_depth
    ]  # fmt: skip
    assert (shown["account"] is None) == (shown["roofline"] is None) == (device == "sim")
    for states in shown["states"].values():
        assert len(states["begins"]) == len(states["causes"])


def test_a_name_cannot_end_the_script_that_holds_the_numbers(tmp_path: Path) -> None:
    program = some_program(7)
    evil = Origin("</script><b>", "/*DATA*/ /*JS*/")
    program = replace(program, origins=tuple(evil for _ in program.instructions))
    header, [launch] = record_programs(tmp_path / "t", "sim", program)
    text = page_text(page_data(header, [launch]))
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    assert json.loads(found[1])["launches"][0]["instructions"]["origins"] == [str(evil)]
    assert "</script><b>" not in text
    assert not re.search(r"(src|href)=\"(?!data:)", text)  # nothing comes from elsewhere


def test_a_failed_launch_is_drawn_until_nothing_happens_any_more(tmp_path: Path) -> None:
    header, [launch] = record_programs(tmp_path / "t", "tsim", some_program(7))
    timeline = launch.timeline
    [whole] = page_data(header, [launch])["launches"]
    assert whole["axis"] == whole["duration"] == timeline.duration
    stuck = replace(launch, timeline=replace(timeline, duration=timeline.duration + 100_000, error="deadlock"))
    [shown] = page_data(header, [stuck])["launches"]
    assert shown["duration"] == timeline.duration + 100_000
    last = max(int(timeline.ended.max()), *(int(states.begins.max()) for states in timeline.states.values()))
    assert last < shown["axis"] <= 1.2 * last + 16
    empty = replace(launch, timeline=replace(timeline, error="illegal", duration=3))
    assert page_data(header, [empty])["launches"][0]["axis"] == 3
