"""Tensor expressions and schedules, under TVM's names.

Computations (``placeholder``, ``compute``, ``reduce_axis``, ``sum``, ...), their schedules (``create_schedule`` and the
primitives of its stages), tensor intrinsics, and lowering to TIR (``vta.te.lowering.lower``).
"""

from vta.te import hybrid, schedule
from vta.te.extern import ExternError, ExternOp, extern
from vta.te.gradient import GradientError, gradient
from vta.te.hybrid import HybridError
from vta.te.hybrid_op import HybridOp
from vta.te.lowering import lower
from vta.te.lowering.lower import LowerError, schedule_to_func
from vta.te.lowering.prim_func import create_prim_func
from vta.te.operation import (
    ComputeError,
    ComputeOp,
    Operation,
    PlaceholderOp,
    compute,
    placeholder,
    reduce_axis,
    tag_scope,
    thread_axis,
)
from vta.te.reducer import comm_reducer, max, min, sum  # noqa: A004  # TVM's names
from vta.te.scalars import const, div, indexdiv, indexmod, size_var, var
from vta.te.scans.scan import ScanError, scan
from vta.te.scans.scan_op import ScanOp
from vta.te.schedule import Schedule, create_schedule
from vta.te.stage import ScheduleError, Stage
from vta.te.tensor import Tensor, TensorError, TensorSlice
from vta.te.tensorize.intrin import TensorIntrin, TensorIntrinError, decl_tensor_intrin
from vta.te.tensorize.replace import TensorizeError
from vta.tir.ops import (  # TVM's names
    abs,  # noqa: A004
    all,  # noqa: A004
    any,  # noqa: A004
    ceil,
    exp,
    floor,
    floordiv,
    floormod,
    if_then_else,
    likely,
    log,
    max_value,
    min_value,
    power,
    round,  # noqa: A004
    sigmoid,
    sqrt,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)

__all__ = [
    "ComputeError", "ComputeOp", "ExternError", "ExternOp", "GradientError", "HybridError", "HybridOp",
    "LowerError", "Operation", "PlaceholderOp", "ScanError", "ScanOp", "Schedule", "ScheduleError", "Stage",
    "Tensor", "TensorError", "TensorIntrin", "TensorIntrinError", "TensorSlice", "TensorizeError", "abs", "all",
    "any", "ceil", "comm_reducer", "compute", "const", "create_prim_func", "create_schedule", "decl_tensor_intrin",
    "div", "exp", "extern", "floor", "floordiv", "floormod", "gradient", "hybrid", "if_then_else", "indexdiv",
    "indexmod", "likely", "log", "lower", "max", "max_value", "min", "min_value", "placeholder", "power",
    "reduce_axis", "round", "scan", "schedule", "schedule_to_func", "sigmoid", "size_var", "sqrt", "sum",
    "tag_scope", "tanh", "thread_axis", "trunc", "truncdiv", "truncmod", "var",
]  # fmt: skip
