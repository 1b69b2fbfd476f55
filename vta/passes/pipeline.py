"""The lowering passes, in order, and how they are run.

``PIPELINE`` is the whole list. Every entry is a function from (PrimFunc, VTAConfig) to PrimFunc in a module of its own.
May import the passes. Tests: tests/vta/passes/test_pipeline.py.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import get_close_matches

from isa.config import VTAConfig
from vta.passes.annotate_alu_coproc_scope import annotate_alu_coproc_scope
from vta.passes.common_subexpr_elim import common_subexpr_elim
from vta.passes.cpu_access_rewrite import cpu_access_rewrite
from vta.passes.early_rewrite import early_rewrite
from vta.passes.fold_uop_loop import fold_uop_loop
from vta.passes.hoist_if_then_else import hoist_if_then_else
from vta.passes.inject_alu_intrin import inject_alu_intrin
from vta.passes.inject_coproc_sync import inject_coproc_sync
from vta.passes.inject_dma_intrin import inject_dma_intrin
from vta.passes.inject_skip_copy import inject_skip_copy
from vta.passes.inject_virtual_thread import inject_virtual_thread
from vta.passes.lift_alloc_to_scope_begin import lift_alloc_to_scope_begin
from vta.passes.lift_attr_scope import lift_attr_scope
from vta.passes.lower_device_storage_access_info import lower_device_storage_access_info
from vta.passes.remove_no_op import remove_no_op
from vta.passes.set_debug_mode import set_debug_mode
from vta.passes.simplify import simplify
from vta.passes.storage_flatten import storage_flatten
from vta.passes.storage_rewrite import storage_rewrite
from vta.passes.unroll_loop import unroll_loop
from vta.passes.vectorize_loop import vectorize_loop
from vta.tir.func import Pass, PrimFunc
from vta.tir.stmt import AttrKey

__all__ = ["PIPELINE", "AfterEach", "NamedPass", "PassNameError", "pass_names", "passes", "run"]

AfterEach = Callable[[str, PrimFunc], None]
"""Called with a pass's name and its result: to print, to time, to verify."""

_PREFIXES = ("tir.vta.", "tir.")
_AFTER_EARLY_REWRITE = "EarlyRewrite"
_SET_DEBUG_MODE = "SetDebugMode"


class PassNameError(ValueError):
    """A name that no pass has."""


@dataclass(frozen=True, slots=True)
class NamedPass:
    """A pass and the name under which it is disabled, printed and timed (TVM's, without ``tir.``)."""

    name: str
    func: Pass


PIPELINE: tuple[NamedPass, ...] = (
    NamedPass("StorageFlatten", storage_flatten),
    NamedPass("Simplify", simplify),
    NamedPass("InjectDMAIntrin", inject_dma_intrin),
    NamedPass("InjectSkipCopy", inject_skip_copy),
    NamedPass("AnnotateALUCoProcScope", annotate_alu_coproc_scope),
    NamedPass("LiftAttrScope", lift_attr_scope(AttrKey.COPROC_UOP_SCOPE)),
    NamedPass("LiftAllocToScopeBegin", lift_alloc_to_scope_begin),
    NamedPass("LiftAttrScope", lift_attr_scope(AttrKey.COPROC_SCOPE)),
    NamedPass("InjectCoProcSync", inject_coproc_sync),
    NamedPass(_AFTER_EARLY_REWRITE, early_rewrite),
    NamedPass("VectorizeLoop", vectorize_loop),
    NamedPass("InjectVirtualThread", inject_virtual_thread),
    NamedPass("StorageRewrite", storage_rewrite),
    NamedPass("UnrollLoop", unroll_loop),
    NamedPass("InjectALUIntrin", inject_alu_intrin),
    NamedPass("Simplify", simplify),
    NamedPass("RemoveNoOp", remove_no_op),
    NamedPass("HoistIfThenElse", hoist_if_then_else),
    NamedPass("LowerDeviceStorageAccessInfo", lower_device_storage_access_info),
    NamedPass("FoldUopLoop", fold_uop_loop),
    NamedPass("CPUAccessRewrite", cpu_access_rewrite),
    NamedPass("CommonSubexprElimTIR", common_subexpr_elim),
)
"""From the scheduled loop nests to host code that calls the runtime. A name may stand at several places."""


def passes(debug_flag: int = 0) -> tuple[NamedPass, ...]:
    """Return the passes in order; with a debug flag, the one that sets it stands after EarlyRewrite."""
    if debug_flag == 0:
        return PIPELINE
    at = next(i for i, entry in enumerate(PIPELINE) if entry.name == _AFTER_EARLY_REWRITE) + 1
    return (*PIPELINE[:at], NamedPass(_SET_DEBUG_MODE, set_debug_mode(debug_flag)), *PIPELINE[at:])


def pass_names() -> list[str]:
    """Return the names that can be disabled, in order, each once."""
    return list(dict.fromkeys([*(entry.name for entry in PIPELINE), _SET_DEBUG_MODE]))


def run(
    func: PrimFunc,
    config: VTAConfig,
    *,
    disabled: Collection[str] = (),
    after_each: AfterEach | None = None,
    debug_flag: int = 0,
) -> PrimFunc:
    """Return ``func`` lowered to host code for ``config``.

    ``disabled`` names passes to leave out, with or without TVM's prefix "tir."; ``after_each`` sees every result.
    Raises ``PassNameError`` for an unknown name, and the error of the pass that cannot lower the function.
    """
    left_out = {_known_name(name) for name in disabled}
    for entry in passes(debug_flag):
        if entry.name in left_out:
            continue
        func = entry.func(func, config)
        if after_each is not None:
            after_each(entry.name, func)
    return func


def _known_name(name: str) -> str:
    """Return the pipeline's spelling of ``name``."""
    known = pass_names()
    bare = name
    for prefix in _PREFIXES:
        if bare.startswith(prefix):
            bare = bare.removeprefix(prefix)
            break
    if bare in known:
        return bare
    close = get_close_matches(bare, known, n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}?" if close else f"the passes are {', '.join(known)}"
    raise PassNameError(f"disabled pass {name!r}: there is no pass of that name; {hint}")
