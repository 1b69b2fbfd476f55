"""Float networks become int8 networks: post-training quantisation, calibrated on data.

``quantise(model, {"image": pictures})`` returns a standard ONNX model with ``QuantizeLinear`` and ``DequantizeLinear``
(onnxruntime runs it, and ``vta.InferenceSession``), and a report, layer by layer. ``prepare`` makes a graph ready,
``calibrate`` looks at its numbers, ``improve`` changes it to lose less, ``data`` reads pictures and arrays.
"""

from vta.quantize.calibrate.samples import Samples, input_types
from vta.quantize.errors import CalibrationError, QuantizeError
from vta.quantize.options import Method, Options
from vta.quantize.quantise import Quantised, quantise
from vta.quantize.report import LayerReport, Report
from vta.quantize.score import Score

__all__ = [
    "CalibrationError",
    "LayerReport",
    "Method",
    "Options",
    "Quantised",
    "QuantizeError",
    "Report",
    "Samples",
    "Score",
    "input_types",
    "quantise",
]  # fmt: skip
