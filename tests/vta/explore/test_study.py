"""Exploring: what is measured of which points, what a log saves, what is said of the rest."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from isa.config import VTAConfig
from vta.explore import study
from vta.explore.log import Log, digest_of
from vta.explore.measure import Area, Cycles, Request, Wanted
from vta.explore.study import Outcome, Plan, explored, on_front
from vta.explore.sweep import ExploreError, points_of
from vta.explore.workload import Workload, workload_of

SMALL = VTAConfig(log_inp_buff_size=14, log_wgt_buff_size=16, log_acc_buff_size=16)
POINTS = points_of(["block=8,12,16", "bus=64,128"], SMALL)
WORKLOAD = workload_of("C10")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Answers that take no time, and what was asked for."""
    seen: list[Request] = []

    def quick(request: Request) -> dict[str, object]:
        seen.append(request)
        config, setup = request.point.config, request.point.setup
        assert config is not None
        assert setup is not None
        products = config.block_in * config.block_out
        match request.wanted:
            case Wanted.PREDICTED | Wanted.TSIM:
                return {"cycles": 10**6 // products - setup.hardware.data_width, "layers": {}}
            case Wanted.FMAX:
                return {"error": "missing: nextpnr"}
            case _:
                return {"lut": products * setup.hardware.data_width, "ff": 1, "dsp": products, "bram": 1.5}

    monkeypatch.setattr(study, "answer", quick)
    return seen


def by_name(outcomes: list[Outcome]) -> Mapping[str, Outcome]:
    return {outcome.point.name: outcome for outcome in outcomes}


def test_every_point_has_an_outcome_in_its_place_and_what_cannot_be_says_why(asked: list[Request]) -> None:
    outcomes = explored(POINTS, WORKLOAD, Plan(), Log())
    assert [outcome.point for outcome in outcomes] == POINTS
    assert by_name(outcomes)["block=12, bus=64"].problems == {
        "configuration": "block is 12, but it must be a power of two"
    }
    assert by_name(outcomes)["block=16, bus=64"].number("cycles") == 10**6 // 256 - 64
    assert {request.wanted for request in asked} == {Wanted.PREDICTED, Wanted.ESTIMATE}


def test_what_is_dear_goes_to_the_best_within_the_budget(asked: list[Request]) -> None:
    plan = Plan(cycles=Cycles.TSIM, area=Area.YOSYS, budget=1)
    outcomes = by_name(explored(POINTS, WORKLOAD, plan, Log()))
    dear = [request for request in asked if request.wanted in (Wanted.TSIM, Wanted.YOSYS)]
    assert [request.point.name for request in dear] == ["block=16, bus=128"] * 2
    assert outcomes["block=16, bus=128"].found["cycles_by"] == "tsim"
    assert outcomes["block=16, bus=128"].found["area_by"] == "yosys"
    other = outcomes["block=8, bus=64"]
    assert other.found["cycles_by"] == "predicted"
    assert other.problems == {"tsim and yosys": "beyond the budget: estimates say that others are better"}


def test_a_column_that_cannot_be_had_says_why(asked: list[Request]) -> None:
    outcomes = by_name(explored(POINTS, WORKLOAD, Plan(fmax=True, budget=1), Log()))
    assert outcomes["block=16, bus=128"].problems == {"fmax": "missing: nextpnr"}


def test_what_nothing_beats_is_on_the_front(asked: list[Request]) -> None:
    best = on_front(explored(POINTS, WORKLOAD, Plan(), Log()))
    assert [outcome.point.name for outcome in best] == [
        "block=8, bus=64", "block=8, bus=128", "block=16, bus=64", "block=16, bus=128",
    ]  # fmt: skip


def test_a_run_that_was_killed_at_any_byte_loses_and_repeats_nothing(asked: list[Request], tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    plan = Plan(cycles=Cycles.TSIM, budget=2)
    whole = explored(POINTS, WORKLOAD, plan, Log(file))
    text, total = file.read_bytes(), len(asked)
    assert len(text.splitlines()) == total
    for cut in range(0, len(text), 97):
        file.write_bytes(text[:cut])
        asked.clear()
        assert explored(POINTS, WORKLOAD, plan, Log(file)) == whole
        assert len(asked) == total - text[:cut].count(b"\n")
        assert file.read_bytes() == text


def test_a_log_of_something_else_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(json.dumps({"digest": "x", "answer": {}}) + "\nhello\n")
    with pytest.raises(ExploreError) as caught:
        Log(file)
    assert str(caught.value) == (
        f"{file}:2: expected a line that vta explore wrote, found something else; "
        "name another file, or remove that line"
    )


def test_digests_tell_apart_what_is_measured() -> None:
    points = [point for point in POINTS if point.config is not None]
    requests = [Request(point, WORKLOAD, wanted) for point in points for wanted in Wanted]
    other = [Request(points[0], workload_of("C4"), Wanted.PREDICTED), Request(points[0], WORKLOAD, Wanted.FMAX, "25k")]
    assert len({digest_of(request) for request in (*requests, *other)}) == len(requests) + 2
    area = Request(points[0], workload_of("C4"), Wanted.YOSYS)
    assert digest_of(area) == digest_of(Request(points[0], WORKLOAD, Wanted.YOSYS))  # it does not depend on what runs


def test_workers_find_what_one_process_finds() -> None:
    points, workload = points_of(["bus=64,128"]), Workload("C10", WORKLOAD.layers)
    alone = explored(points, workload, Plan(), Log())
    assert explored(points, workload, Plan(workers=2), Log()) == alone
    assert alone[0].number("cycles") != alone[1].number("cycles")
