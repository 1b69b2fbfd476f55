"""Int8 forms of float models by onnxruntime's static quantiser (QDQ), calibrated on pictures from a seed.

Tests: tests/integration/test_models.py.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx

__all__ = ["pictures", "quantised"]

Array = npt.NDArray[np.float32]


def pictures(count: int, shape: tuple[int, int, int], *, seed: int) -> Array:
    """Return pictures (count, c, h, w) with the falling spectrum of photographs, zero mean and unit deviation."""
    rng = np.random.default_rng(seed)
    c, h, w = shape
    rows, columns = np.fft.fftfreq(h)[:, None], np.fft.rfftfreq(w)[None, :]
    falling = 1 / np.maximum(np.hypot(rows, columns), 1 / max(h, w))
    noise = rng.standard_normal((count, c, h, w // 2 + 1)) + 1j * rng.standard_normal((count, c, h, w // 2 + 1))
    images = np.fft.irfft2(noise * falling, (h, w))
    images -= images.mean((1, 2, 3), keepdims=True)
    return (images / images.std((1, 2, 3), keepdims=True)).astype(np.float32)


def quantised(
    model: onnx.ModelProto, images: Array, *, per_channel: bool = True, symmetric: bool = True
) -> onnx.ModelProto:
    """Return the QDQ form with int8 activations and weights, calibrated on ``images``, one at a time."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(CalibrationDataReader):
        """Feeds one picture after the other."""

        def __init__(self) -> None:
            self._rest: Iterator[Array] = iter(images[:, None])

        def get_next(self) -> dict[str, Array] | None:
            picture = next(self._rest, None)
            return None if picture is None else {"image": picture}

    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "float.onnx", Path(folder) / "int8.onnx"
        onnx.save(model, source)
        quantize_static(
            source, target, Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8,
            weight_type=QuantType.QInt8, per_channel=per_channel,
            extra_options={"ActivationSymmetric": symmetric, "WeightSymmetric": True},
        )  # fmt: skip
        return onnx.load(target)
