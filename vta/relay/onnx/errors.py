"""The error of importing. Tests: tests/vta/relay/onnx."""

from isa.errors import VTAError

__all__ = ["OnnxError"]


class OnnxError(VTAError, ValueError):
    """A file that is no sound model, or a model that cannot be imported: the message names the node."""
