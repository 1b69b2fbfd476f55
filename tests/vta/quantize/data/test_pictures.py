"""Pictures become what networks take: size, order of channels, mean and deviation."""

from pathlib import Path

import numpy as np
import pytest

from vta.quantize import CalibrationError
from vta.quantize.calibrate.samples import InputType
from vta.quantize.data import Preprocessing, from_pictures

Image = pytest.importorskip("PIL.Image")
COLOUR = InputType("image", (None, 3, 4, 6), np.dtype(np.float32))
GREY = InputType("image", (None, 1, 4, 6), np.dtype(np.float32))


def write(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(pixels).save(path)


def test_pixels_are_scaled_shifted_and_ordered(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    write(tmp_path / "a.png", pixels)
    preprocessing = Preprocessing(mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7), bgr=True)
    found = from_pictures(tmp_path, COLOUR, preprocessing, 5)["image"]
    expected = (pixels[..., ::-1] / 255 - np.array([0.1, 0.2, 0.3])) / np.array([0.5, 0.6, 0.7])
    np.testing.assert_allclose(found, expected.transpose(2, 0, 1)[None], atol=1e-6)


def test_pictures_are_chosen_evenly_and_those_below_count(tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path / f"folder{number % 2}" / f"{number}.png", np.full((4, 6), 40 * number, np.uint8))
    (tmp_path / "notes.txt").write_text("no picture")
    found = from_pictures(tmp_path, GREY, Preprocessing(), 3)["image"]
    np.testing.assert_allclose(found[:, 0, 0, 0] * 255, [0, 160, 120], atol=1e-3)  # 0 2 4, 1 3 5: the 1st, 3rd, 5th


def test_a_crop_keeps_proportions_where_stretching_does_not(tmp_path: Path) -> None:
    pixels = np.zeros((4, 60), np.uint8)
    pixels[:, 27:33] = 255
    write(tmp_path / "wide.png", pixels)
    assert from_pictures(tmp_path, GREY, Preprocessing(crop=True), 1)["image"].min() == 1
    assert from_pictures(tmp_path, GREY, Preprocessing(), 1)["image"].mean() < 0.5


def test_what_is_no_picture_or_takes_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match=r"there are no pictures in it"):
        from_pictures(tmp_path, COLOUR, Preprocessing(), 1)
    (tmp_path / "bad.png").write_bytes(b"nothing")
    with pytest.raises(CalibrationError, match=r"bad\.png: no picture that can be read: of no known kind, or damaged"):
        from_pictures(tmp_path, COLOUR, Preprocessing(), 1)
    (tmp_path / "bad.png").unlink()
    (tmp_path / "bad.ppm").write_bytes(b"P6 12x 12 255 " + bytes(12 * 12 * 3))
    with pytest.raises(CalibrationError, match=r"bad\.ppm: no picture that can be read: of no known kind, or damaged"):
        from_pictures(tmp_path, COLOUR, Preprocessing(), 1)
    (tmp_path / "bad.ppm").unlink()
    write(tmp_path / "bad.png", np.zeros((4, 6), np.uint8))
    flat = InputType("x", (None, 10), np.dtype(np.float32))
    with pytest.raises(CalibrationError, match=r"pictures need an input of 1 or 3 channels whose sizes are known"):
        from_pictures(tmp_path, flat, Preprocessing(), 1)
    with pytest.raises(CalibrationError, match=r"std is positive, not \(0\.0,\)"):
        Preprocessing(std=(0.0,))
    with pytest.raises(CalibrationError, match=r"mean is one number or three"):
        Preprocessing(mean=(0.0, 1.0))
    write(tmp_path / "bad.png", np.zeros((4, 6), np.uint8))
    with pytest.raises(CalibrationError, match=r"mean and std have three numbers"):
        from_pictures(tmp_path, GREY, Preprocessing(mean=(0.1, 0.2, 0.3)), 1)
