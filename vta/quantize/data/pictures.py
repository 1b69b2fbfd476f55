"""Samples from a folder of pictures: resized, in the order of channels that a network takes, mean and deviation off.

Tests: tests/vta/quantize/data/test_pictures.py.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vta.quantize.calibrate.samples import InputType
from vta.quantize.errors import CalibrationError

__all__ = ["Preprocessing", "from_pictures", "prepared_picture"]

_ENDINGS = {".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Preprocessing:
    """``(pixel / 255 - mean) / std`` for each channel; one number stands for all channels.

    ``crop`` takes the largest part from the middle that has the network's proportions, instead of stretching; ``bgr``
    gives blue first, as networks trained with OpenCV have it.
    """

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    crop: bool = False
    bgr: bool = False

    def __post_init__(self) -> None:
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, 3) or not np.isfinite(values).all():
                raise CalibrationError(f"{name} is one number or three, for pixels from 0 to 1, not {values}")
        if not all(value > 0 for value in self.std):
            raise CalibrationError(f"std is positive, not {self.std}")


def from_pictures(
    folder: Path, wanted: InputType, preprocessing: Preprocessing, count: int
) -> dict[str, npt.NDArray[np.float32]]:
    """Return up to ``count`` pictures of a folder and those below it, evenly chosen in the order of their names."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in _ENDINGS and path.is_file())
    if not files:
        raise CalibrationError(f"{folder}: there are no pictures in it ({', '.join(sorted(_ENDINGS))})")
    if len(wanted.shape) != 4 or wanted.shape[1] not in (1, 3) or None in wanted.shape[2:]:
        raise CalibrationError(
            f"pictures need an input of 1 or 3 channels whose sizes are known, and the model takes {wanted}; "
            "give sizes (--shape), or data as .npy"
        )
    if wanted.dtype.kind != "f":
        raise CalibrationError(f"pictures become real numbers, and the model takes {wanted.dtype}; give data as .npy")
    chosen = [files[at * len(files) // min(count, len(files))] for at in range(min(count, len(files)))]
    return {wanted.name: np.stack([prepared_picture(path, wanted, preprocessing) for path in chosen])}


def prepared_picture(path: Path, wanted: InputType, preprocessing: Preprocessing) -> npt.NDArray[np.float32]:
    """Return one picture as planes of an input of known sizes."""
    try:
        from PIL import Image
    except ImportError:
        raise CalibrationError(
            "pictures need Pillow: pip install 'vta-toolchain[pictures]'; or give data as .npy"
        ) from None
    _, channels, height, width = wanted.shape
    assert height is not None
    assert width is not None
    try:
        with Image.open(path) as opened:
            image = opened.convert("L" if channels == 1 else "RGB")
    except MemoryError:
        raise
    except Exception as error:  # damaged files: OSError, SyntaxError, ValueError and more, by their format
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "of no known kind, or damaged"
        raise CalibrationError(f"{path}: no picture that can be read: {reason}") from None
    if preprocessing.crop:
        image = _cropped(image, height=height, width=width)
    pixels = np.asarray(image.resize((width, height), Image.Resampling.BICUBIC), np.float32)
    planes = pixels.reshape(height, width, -1).transpose(2, 0, 1) / 255
    if preprocessing.bgr:
        planes = planes[::-1]
    mean, std = (np.array(v, np.float32).reshape(-1, 1, 1) for v in (preprocessing.mean, preprocessing.std))
    if channels == 1 and max(len(mean), len(std)) > 1:
        raise CalibrationError(f"mean and std have three numbers, and the model takes {wanted} of one channel")
    made: npt.NDArray[np.float32] = ((planes - mean) / std).astype(np.float32)
    return made


def _cropped(image: Any, *, height: int, width: int) -> Any:
    """Return the largest part from the middle of a picture that has the proportions of ``width`` to ``height``."""
    across, down = image.size
    inner = min(across, down * width // height), min(down, across * height // width)
    left, top = (across - inner[0]) // 2, (down - inner[1]) // 2
    return image.crop((left, top, left + max(1, inner[0]), top + max(1, inner[1])))
