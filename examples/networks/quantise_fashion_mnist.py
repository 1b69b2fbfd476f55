"""From a float network to the accelerator: quantise, run, look at the mistakes.

    python examples/networks/quantise_fashion_mnist.py [--count 200] [--power-of-two] [--picture mistakes.png]

The float network beside this file is quantised on 100 pictures, and judged on others that neither training nor
quantising has seen. The report says what every layer loses.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from rich.console import Console
from rich.table import Table

import vta
from vta.quantize import Options, Report, quantise
from vta.relay.interpreter import run
from vta.relay.onnx.importer import from_onnx

HERE = Path(__file__).resolve().parent
CLASSES = ("t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")
CALIBRATION = 100

Pictures = npt.NDArray[np.float32]


def show_report(console: Console, report: Report) -> None:
    """Print what every layer became."""
    table = Table(title="int8 layer by layer")
    for name in ("layer", "range", "found by", "signal to noise", "share of the error"):
        table.add_column(name)
    for row in report.layers:
        reach, quality = f"{row.low:.2f} to {row.high:.2f}", f"{row.sqnr_db:.1f} dB"
        table.add_row(row.name, reach, row.method, quality, f"{100 * row.error_share:.1f} %")
    console.print(table)
    console.print(f"what paid: {', '.join(report.improvements) or 'nothing'}; cosine {report.score.cosine:.5f}")


def save_mistakes(path: Path, images: npt.NDArray[np.uint8]) -> None:
    """Write pictures side by side."""
    from PIL import Image

    strip = np.concatenate([np.pad(image, 2, constant_values=128) for image in images], axis=1)
    Image.fromarray(strip).resize((strip.shape[1] * 4, strip.shape[0] * 4)).save(path)


def main() -> None:
    """Quantise, run, compare, and print."""
    parser = argparse.ArgumentParser(description="Quantise a classifier of clothes and run it.")
    parser.add_argument("--count", type=int, default=200, help="pictures to judge by, up to 900")
    parser.add_argument("--power-of-two", action="store_true", help="scales that are powers of two")
    parser.add_argument("--picture", type=Path, default=None, help="where to draw the mistakes")
    options = parser.parse_args()
    console = Console(highlight=False)
    with np.load(HERE / "fashion_mnist_test_1000.npz") as data:
        raw, labels = data["images"], data["labels"][CALIBRATION : CALIBRATION + options.count]
    images: Pictures = ((raw[:, None].astype(np.float32) / 255) - 0.286) / 0.353
    model = onnx.load(HERE / "fashion_mnist.float.onnx")

    made = quantise(model, {"image": images[:CALIBRATION]}, Options(power_of_two=options.power_of_two))
    show_report(console, made.report)

    judged = images[CALIBRATION : CALIBRATION + options.count]
    [logits] = vta.InferenceSession(made.model).run(None, {"image": judged})
    real = np.asarray(run(from_onnx(model, {"image": judged.shape}), [judged]))
    guesses = logits.argmax(1)
    console.print(f"float: {100 * np.mean(real.argmax(1) == labels):.1f} % of {len(labels)} pictures are right")
    console.print(f"int8 on the accelerator: {100 * np.mean(guesses == labels):.1f} %")
    console.print(f"the same class as float: {100 * np.mean(guesses == real.argmax(1)):.1f} %")
    wrong = np.flatnonzero(guesses != labels)
    console.print("mistaken: " + ", ".join(f"{CLASSES[labels[i]]} for {CLASSES[guesses[i]]}" for i in wrong[:8]))
    if options.picture is not None and len(wrong):
        save_mistakes(options.picture, raw[CALIBRATION + wrong[:16]])
    if np.mean(guesses == real.argmax(1)) < 0.97:
        raise SystemExit("int8 and float disagree on more than 3 % of the pictures")


if __name__ == "__main__":
    main()
