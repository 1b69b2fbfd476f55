"""``vta quantize``, and ``vta run`` of float networks with data."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from tests.support.relay.float_models import small_network
from vta.cli.app import app
from vta.quantize.errors import CalibrationWarning


def vta(*arguments: object, columns: int = 200) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": str(columns)})
    return result.exit_code, result.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    onnx.save(small_network(), tmp_path / "small.onnx")
    np.save(tmp_path / "data.npy", np.random.default_rng(8).standard_normal((16, 3, 8, 8)).astype(np.float32))
    return tmp_path


def test_a_model_its_report_and_its_picture_are_written(folder: Path) -> None:
    code, text = vta(
        "quantize", folder / "small.onnx", "--data", folder / "data.npy", "-o", folder / "out.onnx",
        "--report", folder / "report.json", "--picture", folder / "report.svg", "--method", "mse", "--asymmetric",
    )  # fmt: skip
    assert code == 0, text
    assert "int8 layer by layer" in text
    assert "outputs against float on held samples: cosine 0.99" in text
    onnx.checker.check_model(onnx.load(folder / "out.onnx"), full_check=True)
    report = json.loads((folder / "report.json").read_text())
    assert {row["method"] for row in report["layers"]} == {"mse"}
    assert (folder / "report.svg").read_text().startswith("<svg")


def test_on_eighty_columns_the_report_is_two_tables_and_nothing_is_cut(folder: Path) -> None:
    code, text = vta("quantize", folder / "small.onnx", "--data", folder / "data.npy", columns=80)
    assert code == 0, text
    table = text.split("what paid")[0].split("outputs against")[0]
    assert "int8 layer by layer, continued" in table
    assert "share of error" in table
    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in text


def test_a_float_network_runs_with_data_and_says_that_it_was_quantised(folder: Path) -> None:
    code, text = vta("run", folder / "small.onnx", "--data", folder / "data.npy", "--target", "sim")
    assert code == 0, text
    assert "small.onnx is a float network: quantised on the way" in text
    assert "logits: float32 of shape (1, 5)" in text


def test_what_is_missing_or_wrong_is_said(folder: Path) -> None:
    code, text = vta("quantize", folder / "small.onnx")
    assert code == 2
    assert "--data PATH is missing" in text
    code, text = vta("quantize", folder / "small.onnx", "--data", folder / "data.npy", "--method", "magic")
    assert code == 2
    assert "--method takes min-max, percentile, mse, kl, not 'magic'" in text
    code, text = vta("quantize", folder / "small.onnx", "--data", folder / "data.npy", "--mean", "red")
    assert code == 2
    assert "--mean takes one number or three with commas, not 'red'" in text
    code, text = vta("quantize", folder / "small.onnx", "--data", folder / "none.npy")
    assert code == 1
    assert "none.npy: cannot be read: No such file or directory" in text
    assert not (folder / "small.int8.onnx").exists()


def test_a_model_that_is_quantised_already_is_named(folder: Path) -> None:
    vta("quantize", folder / "small.onnx", "--data", folder / "data.npy", "-o", folder / "int8.onnx")
    for command in ("quantize", "run"):
        code, text = vta(command, folder / "int8.onnx", "--data", folder / "data.npy")
        assert code == 1
        assert f"error: {folder / 'int8.onnx'}: node 'conv1.weight.dequantize' (DequantizeLinear): " in text
        assert "the model is quantised already; give the float model" in text


def test_one_sample_deserves_a_warning(folder: Path) -> None:
    arguments = ["quantize", folder / "small.onnx", "--data", folder / "data.npy", "--count"]
    with pytest.warns(CalibrationWarning) as caught:
        assert vta(*arguments, 1)[0] == 0
    assert [str(each.message) for each in caught] == [
        "ranges from one sample clip what others reach; give a hundred that look like those to come"
    ]
    assert vta(*arguments, 2)[0] == 0


def test_where_zero_lies_can_be_chosen(folder: Path) -> None:
    found = {}
    for option in ("--symmetric", "--asymmetric", None):
        options = ["--report", folder / "report.json", *([option] if option else [])]
        assert vta("quantize", folder / "small.onnx", "--data", folder / "data.npy", *options)[0] == 0
        rows = json.loads((folder / "report.json").read_text())["layers"]
        found[option] = sum(row["zero"] != 0 for row in rows)
    assert found["--symmetric"] == 0 < found[None] < found["--asymmetric"]
