"""A module's description, for the tests of what stores and reads one."""

from isa.config import VTAConfig
from isa.origin import Origin
from vta.codegen.metadata import FunctionInfo, Metadata, ParameterInfo

__all__ = ["example"]


def example(config: VTAConfig) -> Metadata:
    """Return metadata with something in every field."""
    parameters = (ParameterInfo("A", "int8", (1, None, 16)), ParameterInfo("n", "int32"))
    return Metadata(
        config=config,
        functions=(
            FunctionInfo("gemm", parameters, uses_device=True),
            FunctionInfo("cpu", (), uses_device=False, result="float32"),
        ),
        origins=(Origin("C_buf", "gemm.py:12"), Origin("Zähler")),
        messages=("no memory for 'ä'",),
        triple="x86_64-unknown-linux-gnu",
    )
