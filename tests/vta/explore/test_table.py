"""Rows and CSV of outcomes."""

import csv
import io

from vta.explore.study import Outcome
from vta.explore.sweep import points_of
from vta.explore.table import csv_text, rows_of

POINTS = points_of(["block=16,12", "bus=64"])
FOUND = {"cycles": 1234567, "cycles_by": "tsim", "lut": 1000, "ff": 900, "dsp": 304, "bram": 100.5, "area_by": "yosys",
         "layers": {"C2": 1234567}}  # fmt: skip
OUTCOMES = [Outcome(POINTS[0], FOUND), Outcome(POINTS[1], problems={"configuration": POINTS[1].problem})]


def test_numbers_are_as_people_write_them_and_what_is_missing_says_why() -> None:
    head, first, second = rows_of(OUTCOMES)
    assert head == ["configuration", "best", "cycles", "lut", "ff", "dsp", "bram", "mhz", "from", "note"]
    assert first == ["block=16, bus=64", "*", "1,234,567", "1,000", "900", "304", "100.5", "", "tsim, yosys", ""]
    assert second[0] == "block=12, bus=64"
    assert second[-1] == "configuration: block is 12, but it must be a power of two"


def test_the_csv_has_a_column_for_each_key_and_layer() -> None:
    first, second = csv.DictReader(io.StringIO(csv_text(OUTCOMES)))
    assert (first["block"], first["bus"], first["best"], first["cycles"], first["bram"]) == (
        "16", "64", "1", "1234567", "100.5",
    )  # fmt: skip
    assert first["cycles C2"] == "1234567"
    assert (second["cycles"], second["best"]) == ("", "0")
    assert csv_text([]).count("\n") == 1
