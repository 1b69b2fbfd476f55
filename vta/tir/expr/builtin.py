"""The intrinsics that a ``Call`` may name.

Tests: tests/vta/tir/test_expr.py.
"""

from enum import StrEnum

__all__ = ["Builtin"]


class Builtin(StrEnum):
    """The intrinsics that a ``Call`` may name; values are their printed names."""

    CALL_EXTERN = "tir.call_extern"
    ACCESS_PTR = "tir.tvm_access_ptr"
    ADDRESS_OF = "tir.address_of"
    TYPE_ANNOTATION = "tir.type_annotation"
    TUPLE = "tir.tvm_tuple"
    THREAD_CONTEXT = "tir.tvm_thread_context"
    IF_THEN_ELSE = "tir.if_then_else"
    LIKELY = "tir.likely"
    SHIFT_LEFT = "tir.shift_left"
    SHIFT_RIGHT = "tir.shift_right"
    BITWISE_AND = "tir.bitwise_and"
    BITWISE_OR = "tir.bitwise_or"
    BITWISE_XOR = "tir.bitwise_xor"
    BITWISE_NOT = "tir.bitwise_not"
    ABS = "tir.fabs"
    EXP = "tir.exp"
    LOG = "tir.log"
    SQRT = "tir.sqrt"
    TANH = "tir.tanh"
    SIGMOID = "tir.sigmoid"
    POW = "tir.pow"
    FLOOR = "tir.floor"
    CEIL = "tir.ceil"
    ROUND = "tir.round"
    TRUNC = "tir.trunc"
    COMMAND_HANDLE = "tir.vta.command_handle"
    UOP_PUSH = "tir.vta.uop_push"
    COPROC_SYNC = "tir.vta.coproc_sync"
    COPROC_DEP_PUSH = "tir.vta.coproc_dep_push"
    COPROC_DEP_POP = "tir.vta.coproc_dep_pop"
    COPROC_READ_BARRIER = "tir.vta.coproc_read_barrier"
    COPROC_WRITE_BARRIER = "tir.vta.coproc_write_barrier"
