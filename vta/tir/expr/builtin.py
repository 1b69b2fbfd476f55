"""The intrinsics that a ``Call`` may name, and what passes have to know about each.

Tests: tests/vta/tir/test_expr.py.
"""

from enum import Flag, StrEnum, auto
from typing import Self

__all__ = ["Builtin", "Trait"]


class Trait(Flag):
    """What is true of an intrinsic; one without traits calls a function that may do anything."""

    NONE = 0
    PURE = auto()
    """It gives a value and does nothing else: a call that nobody uses can go."""
    LANEWISE = auto()
    """On vectors it does to every lane what it does to a number."""
    ORDERED = auto()
    """It is work of the accelerator, or orders it: it is never copied, left out or moved past another."""


_PURE, _LANEWISE, _ORDERED = Trait.PURE, Trait.PURE | Trait.LANEWISE, Trait.ORDERED


class Builtin(StrEnum):
    """The intrinsics that a ``Call`` may name; values are their printed names."""

    traits: Trait

    def __new__(cls, printed: str, traits: Trait) -> Self:
        """Make the member that is printed as ``printed``."""
        member = str.__new__(cls, printed)
        member._value_ = printed
        member.traits = traits
        return member

    CALL_EXTERN = "tir.call_extern", Trait.NONE
    CALL_PURE_EXTERN = "tir.call_pure_extern", _PURE
    CALL_INTRIN = "tir.call_intrin", Trait.NONE
    CALL_PURE_INTRIN = "tir.call_pure_intrin", _PURE
    CALL_PACKED = "tir.tvm_call_packed", Trait.NONE
    RET = "tir.ret", Trait.NONE
    STRUCT_GET = "tir.tvm_struct_get", Trait.NONE
    STRUCT_SET = "tir.tvm_struct_set", Trait.NONE
    IS_NULL = "tir.isnullptr", _PURE
    FILL_FRAGMENT = "tir.tvm_fill_fragment", Trait.NONE
    LOAD_MATRIX_SYNC = "tir.tvm_load_matrix_sync", Trait.NONE
    MMA_SYNC = "tir.tvm_mma_sync", Trait.NONE
    STORE_MATRIX_SYNC = "tir.tvm_store_matrix_sync", Trait.NONE
    MAKE_ARRAY = "tir.tvm_stack_make_array", _PURE
    ACCESS_PTR = "tir.tvm_access_ptr", _PURE
    ADDRESS_OF = "tir.address_of", _PURE
    TYPE_ANNOTATION = "tir.type_annotation", _PURE
    TUPLE = "tir.tvm_tuple", _PURE
    THREAD_CONTEXT = "tir.tvm_thread_context", _PURE
    IF_THEN_ELSE = "tir.if_then_else", _PURE
    LIKELY = "tir.likely", _LANEWISE
    SHIFT_LEFT = "tir.shift_left", _LANEWISE
    SHIFT_RIGHT = "tir.shift_right", _LANEWISE
    BITWISE_AND = "tir.bitwise_and", _LANEWISE
    BITWISE_OR = "tir.bitwise_or", _LANEWISE
    BITWISE_XOR = "tir.bitwise_xor", _LANEWISE
    BITWISE_NOT = "tir.bitwise_not", _LANEWISE
    ABS = "tir.fabs", _LANEWISE
    EXP = "tir.exp", _LANEWISE
    LOG = "tir.log", _LANEWISE
    SQRT = "tir.sqrt", _LANEWISE
    TANH = "tir.tanh", _LANEWISE
    SIGMOID = "tir.sigmoid", _LANEWISE
    POW = "tir.pow", _LANEWISE
    FLOOR = "tir.floor", _LANEWISE
    CEIL = "tir.ceil", _LANEWISE
    ROUND = "tir.round", _LANEWISE
    TRUNC = "tir.trunc", _LANEWISE
    ERF = "tir.erf", _LANEWISE
    SIN = "tir.sin", _LANEWISE
    COS = "tir.cos", _LANEWISE
    TAN = "tir.tan", _LANEWISE
    ASIN = "tir.asin", _LANEWISE
    ACOS = "tir.acos", _LANEWISE
    ATAN = "tir.atan", _LANEWISE
    SINH = "tir.sinh", _LANEWISE
    COSH = "tir.cosh", _LANEWISE
    ASINH = "tir.asinh", _LANEWISE
    ACOSH = "tir.acosh", _LANEWISE
    ATANH = "tir.atanh", _LANEWISE
    EXP2 = "tir.exp2", _LANEWISE
    LOG2 = "tir.log2", _LANEWISE
    LOG10 = "tir.log10", _LANEWISE
    LOG1P = "tir.log1p", _LANEWISE
    ATAN2 = "tir.atan2", _LANEWISE
    HYPOT = "tir.hypot", _LANEWISE
    COPYSIGN = "tir.copysign", _LANEWISE
    NEXTAFTER = "tir.nextafter", _LANEWISE
    FMOD = "tir.fmod", _LANEWISE
    ISNAN = "tir.isnan", _LANEWISE
    POPCOUNT = "tir.popcount", _LANEWISE
    CLZ = "tir.clz", _LANEWISE
    REINTERPRET = "tir.reinterpret", _LANEWISE
    COMMAND_HANDLE = "tir.vta.command_handle", _PURE
    UOP_PUSH = "tir.vta.uop_push", _ORDERED
    COPROC_SYNC = "tir.vta.coproc_sync", _ORDERED
    COPROC_DEP_PUSH = "tir.vta.coproc_dep_push", _ORDERED
    COPROC_DEP_POP = "tir.vta.coproc_dep_pop", _ORDERED
    COPROC_READ_BARRIER = "tir.vta.coproc_read_barrier", _ORDERED
    COPROC_WRITE_BARRIER = "tir.vta.coproc_write_barrier", _ORDERED

    @property
    def name(self) -> str:
        """The printed name."""
        return self._value_

    def same_as(self, other: object) -> bool:
        """Whether ``other`` is this intrinsic."""
        return self is other

    @property
    def is_pure(self) -> bool:
        """Whether it does nothing but give a value."""
        return Trait.PURE in self.traits

    @property
    def is_lanewise(self) -> bool:
        """Whether it does to every lane of a vector what it does to a number."""
        return Trait.LANEWISE in self.traits

    @property
    def is_ordered(self) -> bool:
        """Whether it is work of the accelerator, or orders it."""
        return Trait.ORDERED in self.traits
