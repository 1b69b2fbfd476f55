"""What a compiled module knows about itself: configuration, functions with their arguments, origins, error texts.

It lies in the object file as JSON (``sealed_object``), so that a file that was saved, moved or loaded again needs
nothing beside it. Tests: tests/vta/codegen/test_metadata.py.
"""

import json
from dataclasses import dataclass

from isa.config import VTAConfig
from isa.errors import VTAError
from isa.origin import Origin

__all__ = ["RESULT_TYPES", "VERSION", "FunctionInfo", "Metadata", "MetadataError", "ParameterInfo"]

VERSION = 2
"""Of the description's format."""


RESULT_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
)  # fmt: skip
"""What a function may give."""


class MetadataError(VTAError, ValueError):
    """Bytes that are not an object of this toolchain, or not a whole one."""


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """One argument of a function: a tensor of ``shape`` (None for a dimension known at the call only), or a scalar.

    ``shape`` is None for scalars.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None = None

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.name}: {self.dtype}"
        dims = ", ".join("?" if dim is None else str(dim) for dim in self.shape)
        return f"{self.name}: {self.dtype}[{dims}]"


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """One function: its parameters, and whether it asks anything of the accelerator's runtime.

    ``result`` is the type of what it gives (``tir.ret``), empty for nothing; the machine function stores that at the
    address that is its last argument.
    """

    name: str
    parameters: tuple[ParameterInfo, ...]
    uses_device: bool
    result: str = ""

    @property
    def open_dimensions(self) -> tuple[tuple[int, int], ...]:
        """(parameter, dimension) of every extent that the machine function takes as an argument, in its order."""
        return tuple(
            (place, dim)
            for place, parameter in enumerate(self.parameters)
            for dim, extent in enumerate(parameter.shape or ())
            if extent is None
        )

    def __str__(self) -> str:
        result = f" -> {self.result}" if self.result else ""
        return f"{self.name}({', '.join(map(str, self.parameters))}){result}"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Everything about one module. ``messages[code - 1]`` is what a function means that returns ``code``."""

    config: VTAConfig
    functions: tuple[FunctionInfo, ...]
    origins: tuple[Origin, ...]
    messages: tuple[str, ...]
    triple: str

    def to_json(self) -> str:
        """Return the metadata as one line of JSON."""
        return json.dumps(
            {
                "version": VERSION,
                "triple": self.triple,
                "config": self.config.to_dict(),
                "digest": self.config.digest,
                "functions": [_function_to_dict(function) for function in self.functions],
                "origins": [[origin.stage, origin.source] for origin in self.origins],
                "messages": list(self.messages),
            },
            separators=(",", ":"),
        )


def _function_to_dict(function: FunctionInfo) -> dict[str, object]:
    return {
        "name": function.name,
        "uses_device": function.uses_device,
        "parameters": [
            {"name": p.name, "dtype": p.dtype, "shape": None if p.shape is None else list(p.shape)}
            for p in function.parameters
        ],
        **({"result": function.result} if function.result else {}),
    }
