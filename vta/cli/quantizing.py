"""Quantising on the command line: the options that say how, and the report as a table.

Tests: tests/vta/cli/test_quantize_command.py.
"""

import math
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isa.printable import in_one_line
from vta.cli.networks import shapes_of
from vta.cli.reporting import UserError, counted
from vta.cli.style import Screen, say
from vta.cli.wide_table import tables_of

if TYPE_CHECKING:
    from vta.quantize import Samples
    from vta.quantize.data import Preprocessing
    from vta.quantize.report import Report

__all__ = [
    "BgrOption", "Calibration", "CountOption", "CropOption", "DataOption", "MeanOption", "StdOption",
    "preprocessing_of", "quantised_on_the_way", "quantising", "report_table", "tell_score",
]  # fmt: skip

DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="PATH", help="Calibration data: a folder of pictures, an .npy or an .npz file."),
]
CountOption = Annotated[int, typer.Option("--count", metavar="N", help="At most so many samples of the data.")]
MeanOption = Annotated[
    str, typer.Option("--mean", metavar="A[,B,C]", help="Taken off pixels from 0 to 1, one number or one a channel.")
]
StdOption = Annotated[str, typer.Option("--std", metavar="A[,B,C]", help="What pixels are then divided by.")]
CropOption = Annotated[bool, typer.Option("--crop", help="Cut pictures to the input's proportions; else stretch them.")]
BgrOption = Annotated[bool, typer.Option("--bgr", help="Give blue first, as OpenCV does.")]


def preprocessing_of(mean: str, std: str, *, crop: bool, bgr: bool) -> "Preprocessing":
    """Return what options say about pictures."""
    from vta.quantize.data import Preprocessing  # and with it ONNX, which takes long to load

    return Preprocessing(mean=_numbers("--mean", mean), std=_numbers("--std", std), crop=crop, bgr=bgr)


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"{option} takes one number or three with commas, not {text!r}") from None


@dataclass(frozen=True, slots=True)
class Calibration:
    """The data that a float network is quantised on before it runs, and what is done to pictures."""

    data: Path
    count: int
    mean: str
    std: str
    crop: bool
    bgr: bool


@contextmanager
def quantising(file: Path, samples: "Samples") -> Iterator[None]:
    """While the model of ``file`` is quantised: what is wrong with it begins with its name; one sample gets a warning.

    Raises ``UserError``; what is wrong with the data is said as it is.
    """
    from vta.quantize import CalibrationError, QuantizeError
    from vta.quantize.errors import CalibrationWarning

    if samples.count == 1:
        few = "ranges from one sample clip what others reach; give a hundred that look like those to come"
        warnings.warn(few, CalibrationWarning, stacklevel=3)
    try:
        yield
    except CalibrationError:
        raise
    except QuantizeError as error:
        raise UserError(f"{file}: {error}") from None


@contextmanager
def quantised_on_the_way(file: Path, wanted: Calibration | None, shapes: Sequence[str] | None) -> Iterator[Path]:
    """Yield the file itself, or with data that of its int8 form, and say on stderr what became of it."""
    if wanted is None:
        yield file
        return
    from vta.quantize import input_types, quantise
    from vta.quantize.data.source import load, sized
    from vta.relay.onnx.loading import load_model

    if file.suffix != ".onnx":
        raise UserError(f"{file}: --data quantises a float ONNX model, and this is a compiled network")
    model = load_model(file)
    preprocessing = preprocessing_of(wanted.mean, wanted.std, crop=wanted.crop, bgr=wanted.bgr)
    samples = load(wanted.data, sized(input_types(model), shapes_of(shapes)), preprocessing, wanted.count)
    with quantising(file, samples):
        made = quantise(model, samples)
    say(
        f"{file} is a float network: quantised on the way; `vta quantize` keeps the result and shows every layer",
        err=True,
    )
    tell_score(made.report, err=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"{file.stem}.int8.onnx"
        place.write_bytes(made.model.SerializeToString())
        yield place


def report_table(report: "Report") -> None:
    """Print what was decided for every layer."""
    columns = ("layer", "range", "found by", "scale", "zero", "SQNR", "clipped", "weights' SQNR", "share of error")
    rows = [
        [
            in_one_line(row.name), f"{row.low:.4g} to {row.high:.4g}", row.method, f"{row.scale:.4g}", str(row.zero),
            _decibels(row.sqnr_db), f"{100 * row.clipped:.3f} %",
            "" if row.weight_sqnr_db is None else _decibels(row.weight_sqnr_db), f"{100 * row.error_share:.1f} %",
        ]
        for row in report.layers
    ]  # fmt: skip
    screen = Screen()
    for table in tables_of("int8 layer by layer", columns, rows, width=screen.width):
        screen.print(table)
    for what, names in (("what paid", report.improvements), ("stays float", report.kept_float)):
        if names:
            say(f"{what}: {', '.join(map(in_one_line, names))}")


def tell_score(report: "Report", *, err: bool = False) -> None:
    """Say how close the int8 network comes to the float one."""
    say(
        f"outputs against float on held samples: cosine {report.score.cosine:.5f}, {_decibels(report.score.sqnr_db)}; "
        f"calibrated on {counted(report.samples, 'sample')}",
        err=err,
    )


def _decibels(value: float) -> str:
    return "exact" if math.isinf(value) and value > 0 else f"{value:.1f} dB"
