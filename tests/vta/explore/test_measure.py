"""Measuring one configuration: cycles by both ways, areas, and what cannot be measured."""

from dataclasses import replace
from pathlib import Path

import pytest

from hw.fpga import area
from isa.config import VTAConfig
from isa.machine.hardware_config import HardwareConfig
from runtime.devices.device import HardwareSetup
from vta.explore.measure import Request, Wanted, answer, estimated_area
from vta.explore.sweep import Point, points_of
from vta.explore.workload import Workload
from vta.topi import Conv2d
from vta.topi.core.epilogue import Clip, ShiftRight

SMALL = Workload("small", (("conv", Conv2d(1, 32, 7, 7, 32, (3, 3), epilogue=(ShiftRight(8), Clip(0, 127)))),))


def point(sweep: str = "bus=64") -> Point:
    [only] = points_of([sweep])
    return only


def test_predicted_cycles_are_close_to_those_of_the_hardware() -> None:
    predicted, taken = (answer(Request(point(), SMALL, each)) for each in (Wanted.PREDICTED, Wanted.TSIM))
    assert predicted["layers"] == {"conv": predicted["cycles"]}
    assert predicted["cycles"] == pytest.approx(taken["cycles"], rel=0.05)


def test_a_layer_that_does_not_fit_is_an_answer_too() -> None:
    wide = Workload("wide", (("wide", Conv2d(1, 64, 40, 40, 64, (1, 20))),))
    [small] = points_of(["block=64", "inp=1K"])
    assert "no tiles fit this configuration" in str(answer(Request(small, wide, Wanted.PREDICTED))["error"])


def test_a_whole_model_is_predicted_and_not_simulated(tmp_path: Path) -> None:
    model = Workload("m.onnx", model=tmp_path / "m.onnx")
    assert answer(Request(point(), model, Wanted.TSIM)) == {
        "error": "m.onnx: cycles of a whole model are predicted; take --cycles predicted, or name layers"
    }


def test_estimates_grow_with_what_they_are_of() -> None:
    setup = HardwareSetup()
    small, large = (estimated_area(VTAConfig(log_block=n, log_wgt_buff_size=16, log_acc_buff_size=16,
                                             log_inp_buff_size=14), setup) for n in (3, 4))  # fmt: skip
    assert all(small[name] < large[name] for name in ("lut", "ff", "dsp"))
    assert large["dsp"] == 256 + 48
    shared = replace(setup, hardware=HardwareConfig(share_multipliers=1))
    assert estimated_area(VTAConfig(), shared)["dsp"] == 128 + 48
    fewer = estimated_area(VTAConfig(), replace(setup, hardware=HardwareConfig(most_multipliers=144)))
    assert fewer["dsp"] == 144
    assert fewer["lut"] > large["lut"]
    assert estimated_area(VTAConfig(), setup)["bram"] > estimated_area(VTAConfig(log_wgt_buff_size=16), setup)["bram"]


def test_an_area_is_synthesised_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    seen: list[str] = []

    def counted(verilog: str) -> area.Area:
        seen.append(verilog)
        return area.Area(1, 2, 3, 4.5)

    monkeypatch.setattr(area, "core_area", counted)
    request = Request(point("block=4"), SMALL, Wanted.YOSYS)
    [tiny] = points_of(["block=4", "inp=4K", "wgt=4K", "acc=4K", "uop=4K"])
    request = Request(tiny, SMALL, Wanted.YOSYS)
    assert answer(request) == answer(request) == {"lut": 1, "ff": 2, "dsp": 3, "bram": 4.5}
    assert len(seen) == 1
    assert "module vta_core" in seen[0]


def test_a_clock_without_the_tools_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hw.fpga.place.missing_tools", lambda: ("nextpnr-ecp5: install it",))
    assert answer(Request(point(), SMALL, Wanted.FMAX)) == {"error": "missing: nextpnr-ecp5: install it"}
