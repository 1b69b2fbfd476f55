"""The history of reports: lines of JSON, of which a bad one is named."""

from dataclasses import replace
from pathlib import Path

import pytest

from hw.fpga.history import Entry, append_entry, history_lines, read_history
from hw.fpga.place import FpgaError

ENTRY = Entry(
    when="2026-01-31 10:20:30", name="1x4", config="a1", hardware="b2", device="85k", speed=6, seed=1, mhz=50.7,
    lut=21000, ff=12000, dsp=28, bram=40,
)  # fmt: skip


def test_entries_come_back_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    assert read_history(file) == ()
    entries = (ENTRY, replace(ENTRY, seed=2, mhz=51), replace(ENTRY, device="45k"))
    for entry in entries:
        append_entry(file, entry)
    assert read_history(file) == entries


def test_entries_are_alike_where_accelerator_and_part_are() -> None:
    assert ENTRY.is_like(replace(ENTRY, seed=7, mhz=1.0, when="later", lut=1))
    for change in ({"config": "c"}, {"hardware": "c"}, {"device": "25k"}, {"speed": 8}):
        assert not ENTRY.is_like(replace(ENTRY, **change))  # type: ignore[arg-type]


def test_a_line_says_what_was_found() -> None:
    assert list(history_lines([ENTRY])) == [
        "  2026-01-31 10:20:30  seed 1    50.7 MHz  LUT 21,000, FF 12,000, multipliers 28, block RAMs 40"
    ]


KEYS = "when, name, config, hardware, device, speed, seed, mhz, lut, ff, dsp, bram"


@pytest.mark.parametrize("line", ["", "{", "[]", "{}", "[" * 100_000])
def test_a_line_that_is_no_report_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "history.jsonl"
    append_entry(file, ENTRY)
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(FpgaError) as caught:
        read_history(file)
    assert str(caught.value).startswith(f"{file}, line 2: expected a report's {KEYS}, got ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lut": 1.5}, "lut to be a printable int, got 1.5"),
        ({"mhz": True}, "mhz to be a printable float, got True"),
        ({"when": "\x1b[2J"}, "when to be a printable str, got '\\x1b[2J'"),
    ],
)
def test_a_value_of_another_kind_is_named(tmp_path: Path, change: dict[str, object], said: str) -> None:
    file = tmp_path / "history.jsonl"
    append_entry(file, replace(ENTRY, **change))  # type: ignore[arg-type]
    with pytest.raises(FpgaError) as caught:
        read_history(file)
    assert str(caught.value) == f"{file}, line 1: expected {said}"


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FpgaError, match=r": the history cannot be read \(.*\); name another file$"):
        read_history(tmp_path)
    with pytest.raises(FpgaError, match=r": the history cannot be written \(Is a directory\); name another file$"):
        append_entry(tmp_path, ENTRY)
    large = tmp_path / "large"
    with large.open("wb") as output:
        output.truncate((1 << 24) + 1)
    with pytest.raises(FpgaError, match=r": a history has 16777216 bytes at most; name another file$"):
        read_history(large)
