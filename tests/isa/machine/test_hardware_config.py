import dataclasses
from typing import Any

import pytest

from isa.machine.hardware_config import HardwareConfig, HardwareConfigError


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"data_width": 96}, "data_width is 96, but it must be one of 64, 128, 256, 512"),
        ({"addr_width": 20}, "addr_width is 20, but it must be 32 to 64"),
        ({"inst_queue_depth": 0}, "inst_queue_depth is 0, but it must be 1 to 1024"),
        ({"data_width": 512, "fetch_buffer_depth": 4}, "fetch_buffer_depth is 4, but it must be 8 to 1024"),
        ({"max_burst_beats": 48}, "max_burst_beats is 48, but it must be a power of two, such as 32"),
        ({"fetch_buffer_depth": 12}, "fetch_buffer_depth is 12, but it must be a power of two, such as 8"),
        ({"read_bursts": 0}, "read_bursts is 0, but it must be 1 to 256"),
        ({"load_jobs": "4"}, "load_jobs is '4', but it must be a whole number"),
        (
            {"axi3": 1},
            "max_burst_beats is 64, but bursts of AXI3 have 16 beats at most; set max_burst_beats to 16, too",
        ),
        ({"axi3": 2}, "axi3 is 2, but it must be 0 to 1"),
        ({"axi_cache": 16}, "axi_cache is 16, but it must be 0 to 15"),
        ({"axi_prot": 8}, "axi_prot is 8, but it must be 0 to 7"),
        ({"store_jobs": True}, "store_jobs is True, but it must be a whole number"),
    ],
)
def test_a_value_outside_its_rule_is_refused_with_a_sentence(change: Any, text: str) -> None:
    with pytest.raises(HardwareConfigError) as caught:
        HardwareConfig(**change)
    assert str(caught.value) == text


@pytest.mark.parametrize(("width", "beats"), [(64, 256), (128, 256), (256, 128), (512, 64)])
def test_a_burst_never_spans_more_than_a_page(width: int, beats: int) -> None:
    config = HardwareConfig(data_width=width, max_burst_beats=256)
    assert config.burst_beats == beats
    assert config.burst_beats * config.beat_bytes <= 4096


def test_the_hardware_that_is_measured_is_the_default() -> None:
    told = dataclasses.asdict(HardwareConfig())
    assert {name: told[name] for name in ("data_width", "read_bursts", "read_beats", "write_bursts")} == {
        "data_width": 64, "read_bursts": 64, "read_beats": 128, "write_bursts": 64,
    }  # fmt: skip
    assert (told["fetch_buffer_depth"], told["max_burst_beats"], told["load_jobs"], told["store_jobs"]) == (
        32,
        64,
        4,
        4,
    )


def test_the_digest_tells_every_field_apart() -> None:
    base = HardwareConfig(max_burst_beats=8)
    changes = {
        "addr_width": 40,
        "data_width": 128,
        "inst_queue_depth": 1,
        "fetch_buffer_depth": 64,
        "max_burst_beats": 16,
        "read_bursts": 8,
        "read_beats": 64,
        "write_bursts": 8,
        "load_jobs": 2,
        "store_jobs": 2,
        "share_multipliers": 1,
        "most_multipliers": 144,
        "axi3": 1,
        "axi_cache": 15,
        "axi_prot": 2,
        "cause_counters": 0,
    }
    assert set(changes) == {field.name for field in dataclasses.fields(HardwareConfig)}
    digests = {dataclasses.replace(base, **{name: value}).digest for name, value in changes.items()}
    assert len(digests | {base.digest}) == len(changes) + 1
    assert len(base.digest) == 16


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("read_bursts", 1, 256), ("read_beats", 1, 4096), ("write_bursts", 1, 256), ("load_jobs", 2, 64),
     ("store_jobs", 2, 64), ("inst_queue_depth", 1, 1024), ("max_burst_beats", 1, 256)],
)  # fmt: skip
def test_the_ends_of_a_range_belong_to_it(name: str, low: int, high: int) -> None:
    for value in (low, high):
        assert getattr(HardwareConfig(**{name: value}), name) == value
    for value in (low - 1, high + 1):
        with pytest.raises(HardwareConfigError) as error:
            HardwareConfig(**{name: value})
        assert str(error.value) == f"{name} is {value}, but it must be {low} to {high}"
