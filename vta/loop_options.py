"""TVM's options about loops and arguments (``tir.LoopPartition``, ``tir.UnrollLoop``, ...), applied to a function.

Tests: tests/vta/front/test_loop_options.py.
"""

from collections.abc import Mapping
from dataclasses import replace

from vta.tir.expr import IntImm
from vta.tir.func import PrimFunc
from vta.tir.stmt import PRAGMA_PREFIX, AttrStmt
from vta.transform import OptionError, PassContext

__all__ = ["passes_switched_off", "with_options"]

_PARTITION = "tir.LoopPartition"
_UNROLL = "tir.UnrollLoop"
_DISABLE_VECTORIZE = "tir.disable_vectorize"
_NOALIAS = "tir.noalias"

_PARTITION_KEYS: Mapping[str, type] = {"partition_const_loop": bool, "no_unroll_loop_with_extent_one": bool}
_UNROLL_KEYS: Mapping[str, type] = {"auto_max_step": int, "explicit_unroll": bool}
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
    unroll = _settings(context, _UNROLL, _UNROLL_KEYS)
    for key, name in (("explicit_unroll", "unroll_explicit"), ("auto_max_step", "auto_unroll_max_step")):
        if key in unroll:
            value = unroll[key]
            assert isinstance(value, int)
            func = replace(func, body=AttrStmt(None, PRAGMA_PREFIX + name, IntImm(int(value)), func.body))
    if _NOALIAS in context.config:
        func = replace(func, attrs={**func.attrs, _NOALIAS: bool(context.config[_NOALIAS])})
    return func


def _settings(context: PassContext, option: str, keys: Mapping[str, type]) -> Mapping[str, object]:
    settings = context.config.get(option, {})
    assert isinstance(settings, Mapping), "options are checked when a context is made"
    for key, value in settings.items():
        if key not in keys:
            raise OptionError(f"option {option!r} has no setting {key!r}; known are {', '.join(keys)}")
        if not isinstance(value, keys[key]):
            raise OptionError(f"option {option!r}: {key!r} takes {_ARTICLES[keys[key]]}, not {value!r}")
    return settings
