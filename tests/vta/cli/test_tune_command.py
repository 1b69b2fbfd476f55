"""``vta tune``: layers of text and of models, logs that are gone on with, what cannot be tuned."""

from pathlib import Path

from typer.testing import CliRunner

from vta.autotvm.record import load_from_file
from vta.cli.app import app

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "networks" / "fashion_mnist.int8.onnx"
LAYER = "Dense(4, 32, 32, (ShiftRight(4),))"


def vta(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["tune", *map(str, arguments)], env={"COLUMNS": "200"})
    return result.exit_code, result.output


def test_a_layer_is_tuned_and_its_log_is_gone_on_with(tmp_path: Path) -> None:
    log = tmp_path / "records.log"
    options = (LAYER, "--log", log, "--tuner", "ga", "--workers", "0", "--latency", "9")
    code, text = vta(*options, "--trials", "2")
    assert code == 0, text
    assert text.startswith("1/1 Dense(rows=4, in_channels=32, out_channels=32, ")
    assert " cycles, the best of 2 choices\n" in text
    first = log.read_bytes()
    assert vta(*options, "--trials", "3")[0] == 0
    assert log.read_bytes().startswith(first)
    records = list(load_from_file(log))
    assert len(records) == 3
    assert {given.hardware for given, _ in records} == {(64, 9)}


def test_layers_of_a_model_are_found(tmp_path: Path) -> None:
    log = tmp_path / "records.log"
    code, text = vta(EXAMPLE, "--log", log, "--tuner", "grid", "--workers", "0", "--trials", "1")
    assert code == 0, text
    counts = [line.partition(" ")[0] for line in text.splitlines()[:-1]]
    assert counts == [f"{number}/{len(counts)}" for number in range(1, len(counts) + 1)]
    assert len(list(load_from_file(log))) == len(counts) > 3


def test_what_cannot_be_tuned_is_one_sentence(tmp_path: Path) -> None:
    log = ("--log", tmp_path / "log")
    assert vta("missing.onnx", *log) == (
        1, "error: missing.onnx: no such file; expected an ONNX model, or a layer such as Dense(1, 256, 128)\n",
    )  # fmt: skip
    assert vta("BatchMatmul(1, 16, 16, 16)", *log) == (
        1,
        "error: BatchMatmul(1, 16, 16, 16): there is no layer to tune: the accelerator computes none that has "
        "choices\n",
    )
    assert vta(LAYER, "--log", tmp_path) == (1, f"error: {tmp_path}: this is a folder; name a file in it\n")
    assert vta(LAYER, "--trials", "0")[0] == 2


def test_a_scheduler_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    code, text = vta(LAYER, "--log", tmp_path / "log", "--scheduler", "nonsense://x")
    assert code == 1
    assert text.startswith("error: nonsense://x: no dask scheduler answers there (")
    assert text.endswith("start one with `dask scheduler`, and workers with `dask worker ADDRESS`\n")
