"""What operators mean whose attributes are left out: as in TVM, and as files of networks have them."""

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from math import inf

import runtime.executor.operators as folder
from runtime.executor.operators.attributes import Attrs

WINDOW = {"strides": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
PRODUCT = {**WINDOW, "groups": 1, "data_layout": "NCHW", "kernel_layout": "OIHW"}
TURNED = {**PRODUCT, "kernel_layout": "IOHW", "output_padding": (0, 0)}
POOL = {**WINDOW, "ceil_mode": False, "layout": "NCHW"}
BYTE = {"out_min": -128, "out_max": 127, "out_dtype": "int8"}
ZEROS = {"input_zero_point": 0, "kernel_zero_point": (0,)}

DEFAULTS: dict[str, dict[str, object]] = {
    "ArgAttrs": {"axis": 0, "keepdims": False, "select_last_index": False},
    "AvgPool2dAttrs": {**POOL, "count_include_pad": False},
    "AxesAttrs": {"axis": None},
    "AxisAttrs": {"axis": 1},
    "BatchMatmulAttrs": {"transpose_a": False, "transpose_b": False},
    "BatchNormAttrs": {"axis": 1, "epsilon": 1e-5},
    "ClipAttrs": {"a_min": -inf, "a_max": inf},
    "ConcatenateAttrs": {"axis": 0},
    "Conv2dAttrs": PRODUCT,
    "Conv2dTransposeAttrs": TURNED,
    "DepthSpaceAttrs": {"mode": "DCR"},
    "DequantizeAttrs": {"axis": 1},
    "ExpandDimsAttrs": {"num_newaxis": 1},
    "GlobalPoolAttrs": {"layout": "NCHW"},
    "HardSigmoidAttrs": {"alpha": 0.2, "beta": 0.5},
    "InstanceNormAttrs": {"epsilon": 1e-5},
    "LayerNormAttrs": {"axis": -1, "epsilon": 1e-5},
    "LookupAttrs": {"axis": 1, "formula": "", "parameters": ()},
    "LrnAttrs": {"size": 5, "axis": 1, "alpha": 1e-4, "beta": 0.75, "bias": 1.0},
    "OneHotAttrs": {"axis": -1, "dtype": "float32"},
    "OnnxNodeAttrs": {"why": ""},
    "OutputAttrs": BYTE,
    "PadAttrs": {"pad_value": 0.0, "pad_mode": "constant"},
    "Pool2dAttrs": POOL,
    "QnnBatchMatmulAttrs": {"transpose_a": False, "transpose_b": False, "a_zero_point": 0, "b_zero_point": 0},
    "QnnConv2dAttrs": {**PRODUCT, **ZEROS},
    "QnnConv2dTransposeAttrs": {**TURNED, **ZEROS},
    "QnnDenseAttrs": ZEROS,
    "QnnMulAttrs": {"lhs_zero_point": 0, "rhs_zero_point": 0},
    "QnnPool2dAttrs": {**POOL, "zero_point": 0, "row_factors": (), "column_factors": ()},
    "QuantizeAttrs": {"out_dtype": "int8", "axis": 1},
    "ReduceAttrs": {"axis": None, "keepdims": False},
    "RescaleAttrs": {
        **BYTE, "shift": 0, "zero_point": 0, "residual_multiplier": 0, "residual_zero_point": 0, "ties_to_even": False,
    },
    "Resize2dAttrs": {
        "method": "linear", "coordinates": "half_pixel", "rounding": "round_prefer_floor", "cubic_alpha": -0.75,
        "exclude_outside": False, "antialias": False, "scales": None, "roi": None, "extrapolation": 0.0,
        "layout": "NCHW",
    },
    "ShapeOfAttrs": {"dtype": "int64"},
    "SlopeAttrs": {"alpha": 0.01},
    "SoftmaxAttrs": {"axis": -1},
    "SplitAttrs": {"axis": 0},
    "StridedSliceAttrs": {"strides": None, "axes": None},
    "TakeAttrs": {"axis": 0},
    "TransposeAttrs": {"axes": None},
    "UpsamplingAttrs": {"layout": "NCHW"},
    "WeightedAttrs": {**BYTE, "lhs_multiplier": 1, "rhs_multiplier": 1, "addend": 0, "shift": 0},
}  # fmt: skip


def attributes() -> Iterator[type[Attrs]]:
    """Yield the classes of attributes of all operators."""
    for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
        for found in vars(importlib.import_module(module.name)).values():
            if isinstance(found, type) and issubclass(found, Attrs) and found.__module__ == module.name:
                yield found


def test_attributes_that_are_left_out_are_the_plain_ones() -> None:
    found = {
        each.__name__: {
            field.name: field.default for field in dataclasses.fields(each) if field.default is not dataclasses.MISSING
        }
        for each in attributes()
    }
    assert {name: defaults for name, defaults in found.items() if defaults} == DEFAULTS
