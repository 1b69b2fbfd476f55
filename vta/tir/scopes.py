"""The memory scopes of the accelerator, and the names that tie TIR to the runtime.

Tests: tests/vta/passes/test_memory_info.py.
"""

__all__ = [
    "ACC_SCOPE",
    "ALU_SYMBOL",
    "DEPTHWISE_MODE",
    "FUSED_MODE",
    "GEMM_SYMBOL",
    "INP_SCOPE",
    "WGT_SCOPE",
]

INP_SCOPE = "local.inp_buffer"
WGT_SCOPE = "local.wgt_buffer"
ACC_SCOPE = "local.acc_buffer"

GEMM_SYMBOL = "VTAPushGEMMOp"
ALU_SYMBOL = "VTAPushALUOp"
"""Values of the ``coproc_uop_scope`` attribute: the runtime entry that a micro-op kernel is pushed through."""

DEPTHWISE_MODE = 2
"""The first argument of a ``uop_push`` that multiplies lane by lane; 0 is GEMM, 1 the ALU."""

FUSED_MODE = 3
"""The first argument of a ``uop_push`` of the ALU that does two operations, and shifts by its immediate."""
