"""TVM's options about loops and arguments (``tir.LoopPartition``, ``tir.UnrollLoop``, ...), applied to a function.

Tests: tests/vta/front/test_loop_options.py.
"""

from collections.abc import Mapping
from dataclasses import replace

from isa.config import VTAConfig
from vta.passes.optional.instrument_bound_checkers import instrument_bound_checkers
from vta.tir.expr import IntImm
from vta.tir.func import PrimFunc
from vta.tir.stmt import PRAGMA_PREFIX, AttrStmt
from vta.transform import OptionError, PassContext

__all__ = ["passes_switched_off", "split_of_double_buffers", "with_bound_checks", "with_options", "with_unrolling"]

_PARTITION = "tir.LoopPartition"
_UNROLL = "tir.UnrollLoop"
_DISABLE_VECTORIZE = "tir.disable_vectorize"
_NOALIAS = "tir.noalias"

_PARTITION_KEYS: Mapping[str, type] = {"partition_const_loop": bool, "no_unroll_loop_with_extent_one": bool}
_UNROLL_KEYS: Mapping[str, type] = {
    "auto_max_step": int, "auto_max_depth": int, "auto_max_extent": int, "explicit_unroll": bool,
}  # fmt: skip
_UNROLL_PRAGMAS: Mapping[str, str] = {
    "explicit_unroll": "unroll_explicit", "auto_max_step": "auto_unroll_max_step",
    "auto_max_depth": "auto_unroll_max_depth", "auto_max_extent": "auto_unroll_max_extent",
}  # fmt: skip
_HOIST = "tir.HoistIfThenElse"
_HOIST_KEYS: Mapping[str, type] = {"support_block_scope_hosting": bool}
_DOUBLE = "tir.InjectDoubleBuffer"
_DOUBLE_KEYS: Mapping[str, type] = {"split_loop": int}
_BOUND_CHECKERS = "tir.instrument_bound_checkers"
_ARTICLES: Mapping[type, str] = {bool: "a bool", int: "an int"}


def passes_switched_off(context: PassContext) -> set[str]:
    """Return the passes that options leave out: loops are split and turned into vectors unless one says otherwise."""
    off: set[str] = set()
    if context.config.get(_DISABLE_VECTORIZE, False):
        off.add("VectorizeLoop")
    if not _settings(context, _PARTITION, _PARTITION_KEYS).get("partition_const_loop", True):
        off.add("LoopPartition")
    return off


def with_options(func: PrimFunc, context: PassContext) -> PrimFunc:
    """Return ``func`` with the unrolling that is asked for, and with what its arguments may be."""
    _settings(context, _HOIST, _HOIST_KEYS)
    func = with_unrolling(func, context)
    if _NOALIAS in context.config:
        func = replace(func, attrs={**func.attrs, _NOALIAS: bool(context.config[_NOALIAS])})
    return func


def with_unrolling(func: PrimFunc, context: PassContext) -> PrimFunc:
    """Return ``func`` under the pragmas for the unrolling that is asked for."""
    unroll = _settings(context, _UNROLL, _UNROLL_KEYS)
    for key, name in _UNROLL_PRAGMAS.items():
        if key in unroll:
            value = unroll[key]
            assert isinstance(value, int)
            func = replace(func, body=AttrStmt(None, PRAGMA_PREFIX + name, IntImm(int(value)), func.body))
    return func


def split_of_double_buffers(context: PassContext) -> int:
    """Return how many iterations are written out of a loop with double buffers."""
    count = _settings(context, _DOUBLE, _DOUBLE_KEYS).get("split_loop", 1)
    assert isinstance(count, int)
    if count < 1:
        raise OptionError(f"option {_DOUBLE!r}: 'split_loop' is at least 1, not {count}")
    return count


def with_bound_checks(func: PrimFunc, config: VTAConfig, context: PassContext, *, accelerator: bool) -> PrimFunc:
    """Return ``func`` with checks of what it touches, if they are asked for: of programs of the CPU alone."""
    if not context.config.get(_BOUND_CHECKERS, False):
        return func
    if accelerator:
        raise OptionError(
            f"option {_BOUND_CHECKERS!r} is for programs of the CPU; for the accelerator's, run them with the "
            "sanitizer of `vta check` or on the target 'reference'"
        )
    return instrument_bound_checkers(func, config)


def _settings(context: PassContext, option: str, keys: Mapping[str, type]) -> Mapping[str, object]:
    settings = context.config.get(option, {})
    assert isinstance(settings, Mapping), "options are checked when a context is made"
    for key, value in settings.items():
        if key not in keys:
            raise OptionError(f"option {option!r} has no setting {key!r}; known are {', '.join(keys)}")
        if not isinstance(value, keys[key]):
            raise OptionError(f"option {option!r}: {key!r} takes {_ARTICLES[keys[key]]}, not {value!r}")
    return settings
