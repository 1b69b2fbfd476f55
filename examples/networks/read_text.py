"""Reading text from a picture: PP-OCR finds the lines and turns them upright on the accelerator, the host reads them.

    python examples/networks/read_text.py [--image PICTURE] [--target sim]

The three networks are in the package ``rapidocr-onnxruntime`` (Apache licence), which ``pip download`` fetches the
first time, into ``--models``; nothing of it is installed. Detection (414 million multiplications for 192 x 384 pixels)
and direction are quantised on pages and lines that are drawn here, and run on the accelerator; the recognition network
runs in float, in onnxruntime. Without ``--image`` a page is drawn, one of whose lines stands upside down. Boxes are
upright: slanted lines need a better frame than this.
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from PIL import Image, ImageDraw, ImageFont

import vta
from vta.quantize import quantise

Array = npt.NDArray[Any]
Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""

PACKAGE = "rapidocr-onnxruntime==1.4.4"
DETECTION, DIRECTION, RECOGNITION = (
    "ch_PP-OCRv4_det_infer.onnx", "ch_ppocr_mobile_v2.0_cls_infer.onnx", "ch_PP-OCRv4_rec_infer.onnx",
)  # fmt: skip
HEIGHT, WIDTH = 192, 384
WORDS = ("page", "words", "that", "small", "network", "learns", "find", "and", "read", "on", "an", "accelerator")
PAGE = (("Versatile tensor accelerator", False), ("reads what is written", False), ("even upside down", True))


def models(folder: Path) -> Path:
    """Return where the networks are, fetched by pip if they are not there yet."""
    if not all((folder / name).exists() for name in (DETECTION, DIRECTION, RECOGNITION)):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as fresh:
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", fresh, PACKAGE]
            if subprocess.run(command, check=False).returncode:
                sys.exit(f"pip cannot download {PACKAGE}; put its .onnx files into {folder} by hand (--models)")
            with zipfile.ZipFile(next(Path(fresh).glob("*.whl"))) as wheel:
                for name in (DETECTION, DIRECTION, RECOGNITION):
                    (folder / name).write_bytes(wheel.read(f"rapidocr_onnxruntime/models/{name}"))
    return folder


# --- pictures


def page(lines: tuple[tuple[str, bool], ...]) -> Image.Image:
    """Return a page; a line is its text, and whether it stands upside down."""
    made = Image.new("RGB", (WIDTH, HEIGHT), (236, 232, 220))
    for number, (text, turned) in enumerate(lines):
        font = ImageFont.load_default(24)
        left, top, right, bottom = (int(v) for v in font.getbbox(text))
        line = Image.new("RGB", (right - left + 8, bottom - top + 8), (236, 232, 220))
        ImageDraw.Draw(line).text((4 - left, 4 - top), text, fill=(30, 30, 60), font=font)
        made.paste(line.rotate(180) if turned else line, (24, 20 + number * 54))
    return made


def random_page(rng: np.random.Generator) -> Image.Image:
    """Return a page of random words."""
    return page(tuple((" ".join(rng.choice(WORDS, 3)), bool(rng.random() < 0.3)) for _ in range(3)))


def for_detection(image: Image.Image) -> Array:
    """Return a picture as the detection network takes it."""
    pixels = np.asarray(image.convert("RGB").resize((WIDTH, HEIGHT)), np.float32) / 255
    return (((pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(2, 0, 1)[None]).astype(np.float32)


def for_lines(image: Image.Image, width: int) -> Array:
    """Return a line as the other two networks take it: 48 pixels high, grey behind its end."""
    reach = min(width, max(1, round(image.width * 48 / image.height)))
    pixels = np.zeros((48, width, 3), np.float32)
    pixels[:, :reach] = np.asarray(image.convert("RGB").resize((reach, 48)), np.float32) / 127.5 - 1
    return pixels.transpose(2, 0, 1)[None]


# --- what the networks say


def boxes(mask: Array) -> list[Box]:
    """Return boxes around the connected parts of a mask, from top to bottom, grown to the size of the letters.

    The network marks the middle of a line; it is as much larger as 1.6 times its area over its edge (as PP-OCR has it).
    """
    left_over, found = {(int(y), int(x)) for y, x in np.argwhere(mask)}, []
    while left_over:
        part = [left_over.pop()]
        for y, x in part:  # grows while it is walked
            near = {(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)} & left_over
            left_over -= near
            part += near
        rows, columns = [y for y, _ in part], [x for _, x in part]
        left, top, right, bottom = min(columns), min(rows), max(columns) + 1, max(rows) + 1
        if right - left < 4 or bottom - top < 3:
            continue  # a speck
        grow = round(1.6 * (right - left) * (bottom - top) / (2 * (right - left + bottom - top)))
        height, width = mask.shape
        found.append((max(left - grow, 0), max(top - grow, 0), min(right + grow, width), min(bottom + grow, height)))
    return sorted(found, key=lambda box: box[1])


def text_of(scores: Array, letters: list[str]) -> str:
    """Return the letters of (steps, classes): the best of each step, repeated ones once, class 0 none."""
    best = scores.argmax(1)
    kept = [int(k) for at, k in enumerate(best) if k and (at == 0 or k != best[at - 1])]
    return "".join(letters[k - 1] for k in kept)


class Reader:
    """The three networks, ready to run."""

    def __init__(self, folder: Path, target: str) -> None:
        rng = np.random.default_rng(0)
        pages = [random_page(rng) for _ in range(16)]
        self.detection = _on_accelerator(folder / DETECTION, np.concatenate([for_detection(p) for p in pages]), target)
        lines = [
            page(((" ".join(rng.choice(WORDS, 3)), bool(turned)),)).crop((20, 14, 340, 56)) for turned in [0, 1] * 16
        ]
        self.direction = _on_accelerator(folder / DIRECTION, np.concatenate([for_lines(p, 192) for p in lines]), target)
        self.recognition = onnxruntime.InferenceSession(str(folder / RECOGNITION))
        names = self.recognition.get_modelmeta().custom_metadata_map["character"]
        self.letters = [*names.split("\n"), " "]

    def read(self, image: Image.Image) -> list[tuple[Box, bool, str]]:
        """Return where the lines are, whether they stand upside down, and what they say."""
        name = next(iter(self.detection.network.inputs))
        mask = np.asarray(self.detection.run(None, {name: for_detection(image)})[0])[0, 0] > 0.3
        small, found = image.convert("RGB").resize((WIDTH, HEIGHT)), []
        for box in boxes(mask):
            line = small.crop(box)
            turned = self._turned(line)
            upright = line.rotate(180) if turned else line
            [source] = self.recognition.get_inputs()
            [scores] = self.recognition.run(None, {source.name: for_lines(upright, 320)})
            found.append((box, turned, text_of(np.asarray(scores)[0], self.letters)))
        return found

    def _turned(self, line: Image.Image) -> bool:
        name = next(iter(self.direction.network.inputs))
        [shares] = self.direction.run(None, {name: for_lines(line, 192)})
        return bool(np.asarray(shares)[0].argmax())


def _on_accelerator(path: Path, data: Array, target: str) -> vta.InferenceSession:
    model = onnx.load(path)
    name = model.graph.input[0].name
    made = quantise(model, {name: data})
    print(f"{path.name}: int8, cosine to float {made.report.score.cosine:.4f}", flush=True)
    return vta.InferenceSession(made.model, {name: (1, *data.shape[1:])}, target=target)


def main() -> None:
    """Read a picture, print what it says."""
    parser = argparse.ArgumentParser(description="Read text from a picture on the accelerator.")
    parser.add_argument("--image", type=Path, default=None, help="a picture with upright lines of text")
    parser.add_argument("--models", type=Path, default=Path(tempfile.gettempdir()) / "vta-read-text")
    parser.add_argument("--target", default="sim", choices=["sim", "tsim", "reference"])
    options = parser.parse_args()
    image = page(PAGE) if options.image is None else Image.open(options.image)
    found = Reader(models(options.models), options.target).read(image)
    for (left, top, right, bottom), turned, text in found:
        note = ", upside down" if turned else ""
        print(f"{left:4},{top:4} to {right:4},{bottom:4}{note}: {text}")
    if options.image is None:
        right = sum(a.replace(" ", "") == b.replace(" ", "") for (a, _), (_, _, b) in zip(PAGE, found, strict=False))
        print(f"{right} of {len(PAGE)} lines as they were written")


if __name__ == "__main__":
    main()
