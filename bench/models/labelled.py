"""Networks with labelled data, from packages of PyPI and Debian, as tasks that ``bench.accuracy`` measures.

Pictures of text are drawn here, from a seed. Tests: tests/integration/test_labelled.py.
"""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from PIL import Image, ImageDraw, ImageFont

from bench.models.pretrained import efficientnet_lite0, found, o_net, r_net

__all__ = ["TASKS", "Task", "text_lines"]

Array = npt.NDArray[Any]
Labels = npt.NDArray[np.int64]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "networks"
WORDS = (
    "image",
    "network",
    "accelerator",
    "tensor",
    "weight",
    "Lorem",
    "ipsum",
    "matrix",
    "2026",
    "page",
    "VTA",
    "int8",
)


@dataclass(frozen=True, slots=True)
class Task:
    """A network, the data that it is quantised on, and those that it is judged on.

    ``judge`` returns the share of results that are right: of labels, or of the float network's own where there are
    none. ``output`` is the one that is judged.
    """

    model: onnx.ModelProto
    calibration: Array
    test: Array
    labels: Labels | None
    judge: Callable[[Array, "Task"], float]
    output: str
    what: str = "right"
    reference: dict[str, Array] = field(default_factory=dict)

    @property
    def input(self) -> str:
        """The name of the only input."""
        constants = {tensor.name for tensor in self.model.graph.initializer}
        return next(str(value.name) for value in self.model.graph.input if value.name not in constants)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The input's sizes for one sample."""
        return {self.input: (1, *self.test.shape[1:])}


def top_1(result: Array, task: Task) -> float:
    """Return the share of samples whose largest number is at the label."""
    assert task.labels is not None
    return float((result.reshape(len(result), -1).argmax(1) == task.labels).mean())


def same_mask(result: Array, task: Task) -> float:
    """Return the intersection over the union of a mask and the float network's, both above 0.3."""
    mine, theirs = result > 0.3, task.reference["float"] > 0.3
    return float((mine & theirs).sum() / max((mine | theirs).sum(), 1))


# --- photographs


def fashion(folder: Path) -> Task:
    """Return the classifier of clothes with the official 10,000 test pictures."""

    def images(name: str) -> Array:
        raw = np.frombuffer(
            gzip.decompress(found(folder, f"{name}-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16
        )
        return ((raw.reshape(-1, 1, 28, 28).astype(np.float32) / 255) - 0.286) / 0.353

    labels = np.frombuffer(gzip.decompress(found(folder, "t10k-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    model = onnx.load(EXAMPLES / "fashion_mnist.float.onnx")
    return Task(model, images("train")[:500], images("t10k"), labels.astype(np.int64), top_1, "logits")


def efficientnet(folder: Path) -> Task:
    """Return EfficientNet-Lite0 with the 20 ImageNet pictures of foolbox, calibrated on crops of scikit-image's.

    The pictures are prepared as the network's authors do it: 224/256 of the shorter side, from the middle.
    """
    return _labelled_photographs(folder, 224 / 256)


def efficientnet_stretched(folder: Path) -> Task:
    """Return the same with pictures that are stretched to the input's size."""
    return _labelled_photographs(folder, None)


def _labelled_photographs(folder: Path, share: float | None) -> Task:
    paths = sorted(found(folder, "imagenet_00_243.jpg").parent.glob("imagenet_*.jpg"))
    images = [Image.open(path) for path in paths]
    test = np.stack([_photograph(image if share is None else _middle(image, share)) for image in images])
    labels = np.array([int(path.stem.split("_")[2]) for path in paths])
    return Task(efficientnet_lite0(folder), crops(folder, 100), test, labels, top_1, "_fc")


def _middle(image: Image.Image, share: float) -> Image.Image:
    """Return a square of a share of the shorter side."""
    side = round(min(image.size) * share)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    return image.crop((left, top, left + side, top + side))


_NATURAL = (
    "astronaut.png", "chelsea.png", "coffee.png", "hubble_deep_field.jpg", "rocket.jpg", "retina.jpg",
    "motorcycle_left.png", "ihc.png", "camera.png", "grass.png", "gravel.png", "brick.png",
)  # fmt: skip


def crops(folder: Path, count: int) -> Array:
    """Return parts of natural pictures, some of them mirrored, drawn from a seed."""
    rng = np.random.default_rng(0)
    files = [found(folder, name) for name in _NATURAL]
    made = []
    for number in range(count):
        image = Image.open(files[number % len(files)]).convert("RGB")
        side = int(min(image.size) * rng.uniform(0.4, 1))
        left, top = (int(rng.integers(0, extent - side + 1)) for extent in image.size)
        part = _photograph(image.crop((left, top, left + side, top + side)))
        made.append(part[:, :, ::-1] if rng.random() < 0.5 else part)
    return np.stack(made)


def _photograph(image: Image.Image) -> Array:
    small = image.convert("RGB").resize((224, 224), Image.Resampling.BICUBIC)
    return ((np.asarray(small, np.float32) - 127) / 128).transpose(2, 0, 1)


def _faces(folder: Path, model: onnx.ModelProto, size: int) -> Task:
    """Return 100 faces and 100 other pictures; every fourth of them mirrored is what it is quantised on."""
    grey = np.load(found(folder, "lfw_subset.npy"))
    grey = grey * 255 if grey.max() <= 1 else grey
    sized = [Image.fromarray(each.astype(np.uint8)).resize((size, size), Image.Resampling.BILINEAR) for each in grey]
    images = (np.stack([np.asarray(each, np.float32) for each in sized])[:, None].repeat(3, 1) - 127.5) / 128
    labels = np.repeat([1, 0], 100)
    return Task(model, np.ascontiguousarray(images[::4, :, :, ::-1]), images, labels, top_1, "face")


def rnet(folder: Path) -> Task:
    """Return MTCNN's R-Net with faces and others."""
    return _faces(folder, r_net(folder), 24)


def onet(folder: Path) -> Task:
    """Return MTCNN's O-Net with the same."""
    return _faces(folder, o_net(folder), 48)


# --- text


def text_lines(count: int, *, seed: int, height: int = 48, width: int = 192) -> tuple[Array, Labels]:
    """Return pictures of lines of words, half of them upside down (1): (count, 3, height, width) from -1 to 1."""
    rng = np.random.default_rng(seed)
    images, labels = [], rng.integers(0, 2, count)
    for label in labels:
        paper, ink = int(rng.integers(180, 256)), int(rng.integers(0, 90))
        image = Image.new("L", (width, height), paper)
        text = " ".join(rng.choice(WORDS, 3))
        font = ImageFont.load_default(int(rng.integers(22, 32)))
        ImageDraw.Draw(image).text((int(rng.integers(2, 10)), int(rng.integers(2, 10))), text, fill=ink, font=font)
        pixels = np.asarray(image.rotate(180) if label else image, np.float32)
        images.append((pixels / 255 - 0.5) / 0.5)
    return np.stack(images)[:, None].repeat(3, 1), labels.astype(np.int64)


def pages(count: int, *, seed: int, height: int = 192, width: int = 384) -> Array:
    """Return pictures of pages with lines of words, normalised as ImageNet's."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        image = Image.new("RGB", (width, height), tuple(int(v) for v in rng.integers(170, 256, 3)))
        draw, top = ImageDraw.Draw(image), int(rng.integers(4, 20))
        while top < height - 30:
            size = int(rng.integers(12, 30))
            text = " ".join(rng.choice(WORDS, int(rng.integers(1, 5))))
            colour = tuple(int(v) for v in rng.integers(0, 100, 3))
            draw.text((int(rng.integers(4, 60)), top), text, fill=colour, font=ImageFont.load_default(size))
            top += size + int(rng.integers(6, 24))
        pixels = np.asarray(image, np.float32) / 255
        made.append(((pixels - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]).transpose(2, 0, 1))
    return np.stack(made).astype(np.float32)


def direction(folder: Path) -> Task:
    """Return PP-OCR's classifier of a line's direction with 200 lines."""
    model = onnx.load(found(folder, "ch_ppocr_mobile_v2.0_cls_infer.onnx"))
    lines, labels = text_lines(200, seed=1)
    return Task(model, text_lines(64, seed=2)[0], lines, labels, top_1, model.graph.output[0].name)


def detection(folder: Path) -> Task:
    """Return PP-OCR's detection network with 8 pages; what it finds in float is what it shall find."""
    model = onnx.load(found(folder, "ch_PP-OCRv4_det_infer.onnx"))
    output = model.graph.output[0].name
    return Task(model, pages(24, seed=3), pages(8, seed=4), None, same_mask, output, "mask's IoU with float")


TASKS: Mapping[str, Callable[[Path], Task]] = {
    "fashion": fashion, "efficientnet": efficientnet, "stretched": efficientnet_stretched, "rnet": rnet, "onet": onet,
    "direction": direction, "detection": detection,
}  # fmt: skip
"""Name on the command line -> what makes the task of a folder of packages."""
