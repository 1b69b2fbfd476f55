"""``vta quantize``: a float ONNX model as an int8 one. Tests: tests/vta/cli/test_quantize_command.py."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isa.whole_file import write_whole
from vta.cli.networks import ShapeOption, shapes_of
from vta.cli.quantizing import (
    BgrOption,
    CountOption,
    CropOption,
    DataOption,
    MeanOption,
    StdOption,
    preprocessing_of,
    quantising,
    report_table,
    tell_score,
)
from vta.cli.reporting import reported, require_file, require_outputs
from vta.cli.style import say

if TYPE_CHECKING:
    from vta.quantize import Method

__all__ = ["quantize"]


def quantize(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A float ONNX model.")],
    data: DataOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to write (default: MODEL.int8.onnx).")
    ] = None,
    count: CountOption = 100,
    mean: MeanOption = "0",
    std: StdOption = "1",
    crop: CropOption = False,
    bgr: BgrOption = False,
    shape: ShapeOption = None,
    asymmetric: Annotated[
        bool | None,
        typer.Option(
            "--asymmetric/--symmetric",
            help="Zero need not be cell 0 (finer steps, more work at edges), or is; by default where it costs nothing.",
        ),
    ] = None,
    per_tensor: Annotated[bool, typer.Option("--per-tensor", help="One scale for all channels of a weight.")] = False,
    power_of_two: Annotated[
        bool, typer.Option("--power-of-two", help="Scales that are powers of two: shifts alone.")
    ] = False,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="NAME", help="How to find ranges: min-max, percentile, mse, kl; repeatable."),
    ] = None,
    percentile: Annotated[float, typer.Option("--percentile", help="What --method percentile keeps.")] = 99.99,
    floor: Annotated[
        float | None, typer.Option("--floor", help="Least cosine to float; the worst layers stay float until then.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="NODE", help="A node that stays float; repeatable.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", metavar="FILE", help="Write the report as JSON.")] = None,
    picture: Annotated[Path | None, typer.Option("--picture", metavar="FILE", help="Draw the report as SVG.")] = None,
) -> None:
    """Quantise a float ONNX model on calibration data; the result is standard ONNX, which onnxruntime runs as well."""
    with reported():
        require_file(model, "a float ONNX model")
        if data is None:
            raise typer.BadParameter("--data PATH is missing: a folder of pictures, an .npy or an .npz file")
        place = output or model.with_suffix(".int8.onnx")
        require_outputs(model, {"--output": place, "--report": report, "--picture": picture})
        from vta.quantize import Options, input_types, quantise  # and with it ONNX, which takes long to load
        from vta.quantize.data.source import load, sized
        from vta.quantize.picture import svg
        from vta.relay.onnx.loading import load_model

        loaded = load_model(model)
        options = Options(
            methods=_methods(method), per_channel=not per_tensor, power_of_two=power_of_two,
            symmetric=None if asymmetric is None else not asymmetric, percentile=percentile, floor=floor,
            keep=tuple(keep or ()),
        )  # fmt: skip
        types = sized(input_types(loaded), shapes_of(shape))
        samples = load(data, types, preprocessing_of(mean, std, crop=crop, bgr=bgr), count)
        with quantising(model, samples):
            made = quantise(loaded, samples, options)
        write_whole(place, made.model.SerializeToString())
        if report is not None:
            write_whole(report, made.report.to_json().encode())
        if picture is not None:
            write_whole(picture, svg(made.report).encode())
        report_table(made.report)
        tell_score(made.report)
        say(f"{place}: {place.stat().st_size:,} bytes; `vta run {place}` runs it")


def _methods(names: list[str] | None) -> "tuple[Method, ...]":
    from vta.quantize import Method

    unknown = [name for name in names or () if name not in list(Method)]
    if unknown:
        raise typer.BadParameter(f"--method takes {', '.join(Method)}, not {unknown[0]!r}")
    return tuple(Method(name) for name in dict.fromkeys(names)) if names else tuple(Method)
