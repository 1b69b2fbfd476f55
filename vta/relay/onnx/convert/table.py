"""Which converter an ONNX operator has. Tests: tests/vta/relay/onnx/test_backend_cases.py."""

import difflib
from collections.abc import Mapping

from vta.relay.onnx.convert import (
    activations,
    arithmetic,
    control,
    layers,
    normalising,
    quantised,
    rearranging,
    reductions,
    resizing,
    windows,
)
from vta.relay.onnx.convert.converter import Converter
from vta.relay.onnx.node import Node

__all__ = ["CONVERTERS", "converter"]

_FAMILIES = (
    activations, arithmetic, control, layers, normalising, quantised, rearranging, reductions, resizing, windows,
)  # fmt: skip

CONVERTERS: Mapping[str, Converter] = {kind: made for family in _FAMILIES for kind, made in family.CONVERTERS.items()}
"""Operator, with its domain in front where that is not ONNX's own -> its converter."""


def converter(node: Node) -> Converter:
    """Return the converter of a node; raises ``OnnxError`` where there is none."""
    found = CONVERTERS.get(node.kind)
    if found is None:
        close = difflib.get_close_matches(node.kind, CONVERTERS, n=1)
        hint = f"; is {close[0]} meant?" if close and not node.proto.domain else ""
        node.refuse(f"this operator is not supported{hint}")
    return found
