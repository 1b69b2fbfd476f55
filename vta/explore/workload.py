"""What runs on every configuration: a layer, the layers of a network of the list, or an ONNX model.

Tests: tests/vta/explore/test_workload.py.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from isa.printable import short
from vta.explore.sweep import ExploreError
from vta.topi.conv.conv2d_operator import Conv2d
from vta.topi.core.epilogue import Bias, Clip, ShiftRight
from vta.topi.core.operator import Operator

__all__ = ["NETWORKS", "Workload", "workload_of"]


def _conv(size: int, channels_in: int, channels_out: int, kernel: int, stride: int) -> Conv2d:
    """Return a layer with the epilogue of a quantised network."""
    return Conv2d(
        1, channels_in, size, size, channels_out, (kernel, kernel), (stride, stride), (kernel // 2,) * 4,
        epilogue=(ShiftRight(8), Bias(), Clip(0, 127)),
    )  # fmt: skip


_RESNET18 = {
    "C2": _conv(56, 64, 64, 3, 1),
    "C3": _conv(56, 64, 128, 3, 2),
    "C4": _conv(56, 64, 128, 1, 2),
    "C5": _conv(28, 128, 128, 3, 1),
    "C6": _conv(28, 128, 256, 3, 2),
    "C7": _conv(28, 128, 256, 1, 2),
    "C8": _conv(14, 256, 256, 3, 1),
    "C9": _conv(14, 256, 512, 3, 2),
    "C10": _conv(14, 256, 512, 1, 2),
    "C11": _conv(7, 512, 512, 3, 1),
}

NETWORKS: Mapping[str, Mapping[str, Operator]] = {"resnet18": _RESNET18}
"""Layers that are known by name: ``resnet18`` are all of them, ``C2`` is one."""


@dataclass(frozen=True, slots=True)
class Workload:
    """``layers`` by name, or the ONNX ``model`` in a file."""

    name: str
    layers: tuple[tuple[str, Operator], ...] = ()
    model: Path | None = None


def workload_of(text: str) -> Workload:
    """Return what ``text`` names: ``resnet18``, layers such as ``C2`` or ``C2,C11``, or an ONNX file."""
    path = Path(text)
    if path.suffix == ".onnx":
        if not path.is_file():
            raise ExploreError(f"{text}: no such file; expected an ONNX model")
        return Workload(path.name, model=path.resolve())
    if text in NETWORKS:
        return Workload(text, tuple(NETWORKS[text].items()))
    layers = {name: layer for network in NETWORKS.values() for name, layer in network.items()}
    chosen = text.split(",")
    for name in chosen:
        if name not in layers:
            known = (*NETWORKS, *layers)
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "name an ONNX file for a network of your own"
            raise ExploreError(
                f"{short(text)}: expected {', '.join(known)} or an ONNX file, found {short(name)}; {hint}"
            )
    return Workload(text, tuple((name, layers[name]) for name in chosen))
