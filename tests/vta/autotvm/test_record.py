"""Records: TVM's lines, there and back; torn and wrong ones."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from vta.autotvm.errors import TuningError, TuningWarning
from vta.autotvm.measure.inputs import MeasureErrorNo, MeasureInput, MeasureResult
from vta.autotvm.record import decode, encode, load_from_file, mend, pick_best
from vta.autotvm.space import ConfigEntity, OtherOptionEntity, SplitEntity
from vta.autotvm.task import extract_from_operators
from vta.topi import Dense

TARGET = "ext_dev -keys=vta,cpu -device=vta -model=sim_1x16_i8w8a32_15_15_18_17"
GIVEN = MeasureInput(
    TARGET,
    ("conv2d_packed.vta", ("TENSOR", (1, 4, 56, 56, 1, 16), "int8"), (1, 1), None),
    ConfigEntity(5, {"tile_h": SplitEntity((-1, 7)), "oc_nthread": OtherOptionEntity(2)}),
)
RESULT = MeasureResult((0.00125, 0.0013), all_cost=1.5, timestamp=1600000000.25)

TVMS = (
    '{"input": ["ext_dev -keys=vta,cpu -device=vta -model=pynq_1x16_i8w8a32_15_15_18_17", "conv2d_packed.vta", '
    '[["TENSOR", [1, 4, 56, 56, 1, 16], "int8"], ["TENSOR", [4, 4, 3, 3, 16, 16], "int8"], [1, 1], [1, 1, 1, 1], '
    '[1, 1], "NCHW1n16c", "int32"], {}], "config": {"index": 43, "code_hash": null, "entity": [["tile_b", "sp", '
    '[-1, 1]], ["tile_h", "sp", [-1, 14]], ["tile_w", "sp", [-1, 28]], ["tile_ci", "sp", [-1, 1]], ["tile_co", "sp", '
    '[-1, 2]], ["oc_nthread", "ot", 1], ["h_nthread", "ot", 2]]}, "result": [[0.0021], 0, 2.5, 1588000000.0], '
    '"version": 0.2, "tvm_version": "0.7.dev1"}'
)


@pytest.mark.parametrize("hardware", [None, (128, 64)])
@pytest.mark.parametrize(
    "result", [RESULT, MeasureResult((), MeasureErrorNo.WRONG_ANSWER, "not numpy's", 0.5, 1600000000.0)]
)
def test_records_are_written_and_read(hardware: tuple[int, int] | None, result: MeasureResult) -> None:
    given = replace(GIVEN, hardware=hardware)
    line = encode(given, result)
    assert "\n" not in line
    assert decode(line) == (given, result)


def test_the_layout_is_that_of_tvm() -> None:
    row = json.loads(encode(GIVEN, RESULT))
    assert row == {
        "input": [TARGET, "conv2d_packed.vta", [["TENSOR", [1, 4, 56, 56, 1, 16], "int8"], [1, 1], None], {}],
        "config": {
            "index": 5,
            "code_hash": None,
            "entity": [["tile_h", "sp", [-1, 7]], ["oc_nthread", "ot", 2]],
        },
        "result": [[0.00125, 0.0013], 0, 1.5, 1600000000.25],
        "version": 0.2,
        "tvm_version": "0.9.0",
    }
    assert json.loads(encode(GIVEN, RESULT, times=False))["result"] == [[0.00125, 0.0013], 0, 0.0, 0.0]


def test_a_record_of_tvm_is_read() -> None:
    given, result = decode(TVMS)
    assert given.workload[3:] == ((1, 1), (1, 1, 1, 1), (1, 1), "NCHW1n16c", "int32")
    assert given.config["tile_w"] == SplitEntity((-1, 28))
    assert (given.hardware, result.cost) == (None, 0.0021)


def test_an_error_costs_more_than_anything() -> None:
    assert MeasureResult((), MeasureErrorNo.COMPILE_HOST).cost == float("inf")
    assert RESULT.cost == pytest.approx(0.001275)


def test_a_file_is_read_whatever_byte_it_ends_at(tmp_path: Path) -> None:
    path, line = tmp_path / "log", encode(GIVEN, RESULT)
    whole = f"# begun\n{line}\n\n{line}\n".encode()
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        cut = not (end == 0 or whole[:end].endswith(b"\n"))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = list(load_from_file(path))
            mend(path)
        assert len(found) == whole[:end].count(line.encode() + b"\n")
        assert [type(each.message) for each in told] == [TuningWarning] * (2 * cut)
        assert path.read_bytes() == whole[: whole[:end].rfind(b"\n") + 1]


def test_a_torn_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(encode(GIVEN, RESULT) + '\n{"inp')
    with pytest.warns(TuningWarning) as told:
        list(load_from_file(path))
    assert str(told[0].message) == (
        f"{path}: the last line is torn, 5 bytes without an end: that record is dropped and measured again"
    )
    mend(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TuningError) as caught:
        list(load_from_file(tmp_path / "none"))
    assert str(caught.value) == f"{tmp_path / 'none'}: cannot be read: No such file or directory"


ROW = json.loads(encode(GIVEN, RESULT))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("[", "a record is a line of JSON, not '[': Expecting value: line 1 column 2 (char 1)"),
        ("[]", "a record has an input, a config and a result, not []"),
        (json.dumps({**ROW, "version": 0.1}), "a record of version 0.1 cannot be read; expected 0.2"),
        (
            json.dumps({**ROW, "hardware": 3}),
            "the hardware of a record is a data_width and a memory_latency, not 3",
        ),
        (
            json.dumps({**ROW, "result": [[], 0, 1, 1]}),
            "the result of a record is costs, number of an error, and two times, not [[], 0, 1, 1]",
        ),
        (
            json.dumps({**ROW, "result": [[1], 77, 1, 1]}),
            "the result of a record is costs, number of an error, and two times, not [[1], 77, 1, 1]",
        ),
    ],
)
def test_lines_that_are_no_records_are_refused_with_their_number(tmp_path: Path, line: str, text: str) -> None:
    with pytest.raises(TuningError) as caught:
        decode(line)
    assert str(caught.value) == text
    path = tmp_path / "log"
    path.write_text(f"#\n{line}\n")
    with pytest.raises(TuningError) as caught:
        list(load_from_file(path))
    assert str(caught.value) == f"{path}:2: {text}"


def test_the_fastest_record_of_each_task_is_picked(tmp_path: Path) -> None:
    tasks = extract_from_operators([Dense(4, 32, 32), Dense(8, 32, 32)])
    rows = []
    for task, costs in ((tasks[0], (3.0, 1.0, 2.0)), (tasks[1], (5.0,))):
        indices = list(task.config_space.valid_indices())
        for index, cost in zip(indices, costs, strict=False):
            rows.append(encode(task.input(task.config_space.get(index)), MeasureResult((cost,))))
        failed = MeasureResult((), MeasureErrorNo.COMPILE_HOST, "no")
        rows.append(encode(task.input(task.config_space.get(indices[-1])), failed))
    (tmp_path / "all").write_text("\n".join(rows) + "\n")
    pick_best(tmp_path / "all", tmp_path / "best")
    assert (tmp_path / "best").read_text().splitlines() == [rows[1], rows[4]]
