"""The lowering passes, in order, and how they are run.

``PIPELINE`` is the whole list. Every entry is a function from (PrimFunc, VTAConfig) to PrimFunc in a module of its own.
Tests: tests/vta/passes/test_pipelines.py.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum

from isa.config import VTAConfig
from isa.errors import VTAError
from vta.passes.alu.annotate_alu_coproc_scope import annotate_alu_coproc_scope
from vta.passes.alu.inject_alu_intrin import inject_alu_intrin
from vta.passes.alu.reduce_in_place import reduce_in_place
from vta.passes.dma.inject_dma_intrin import inject_dma_intrin
from vta.passes.dma.inject_skip_copy import inject_skip_copy
from vta.passes.gemm.fold_uop_loop import fold_uop_loop
from vta.passes.gemm.inject_conv2d_transpose_skip import inject_conv2d_transpose_skip
from vta.passes.generic.bind_deep_expressions import bind_deep_expressions
from vta.passes.generic.common_subexpr_elim import common_subexpr_elim
from vta.passes.generic.compact_buffer_allocation import compact_buffer_allocation
from vta.passes.generic.lift_attr_scope import lift_attr_scope
from vta.passes.generic.lower_blocks import lower_blocks
from vta.passes.generic.remove_no_op import remove_no_op
from vta.passes.generic.settle_loop_ends import settle_loop_ends
from vta.passes.generic.simplify import simplify
from vta.passes.host.cpu_access_rewrite import cpu_access_rewrite
from vta.passes.host.hoist_if_then_else import hoist_if_then_else
from vta.passes.host.loop_partition import loop_partition
from vta.passes.host.narrow_data_type import narrow_data_type
from vta.passes.host.set_debug_mode import set_debug_mode
from vta.passes.host.unroll_loop import unroll_loop
from vta.passes.host.vectorize_loop import vectorize_loop
from vta.passes.storage.early_rewrite import early_rewrite
from vta.passes.storage.lift_alloc_to_scope_begin import lift_alloc_to_scope_begin
from vta.passes.storage.lower_device_storage_access_info import lower_device_storage_access_info
from vta.passes.storage.storage_flatten import storage_flatten
from vta.passes.storage.storage_rewrite import storage_rewrite
from vta.passes.sync.inject_coproc_sync import inject_coproc_sync
from vta.passes.vthread.inject_virtual_thread import inject_virtual_thread
from vta.tir.func import Pass, PrimFunc
from vta.tir.stmt import AttrKey

__all__ = [
    "PIPELINE",
    "AfterEach",
    "BeforeEach",
    "NamedPass",
    "PassNameError",
    "PassScope",
    "pass_names",
    "passes",
    "run",
]

AfterEach = Callable[[str, PrimFunc], None]
"""Called with a pass's name and its result: to print, to time, to verify."""

BeforeEach = Callable[[str, PrimFunc], bool]
"""Called with a pass's name and the function that it will get; returns whether the pass is to run."""

_PREFIXES = ("tir.vta.", "tir.")
_AFTER_EARLY_REWRITE = "EarlyRewrite"
_SET_DEBUG_MODE = "SetDebugMode"


class PassNameError(VTAError, ValueError):
    """A name that no pass has."""


class PassScope(Enum):
    """Which programs a pass is for."""

    ANY = "any program"
    ACCELERATOR = "programs of the accelerator"


@dataclass(frozen=True, slots=True)
class NamedPass:
    """A pass, the name under which it is disabled, printed and timed (TVM's, without ``tir.``), and what it is for."""

    name: str
    func: Pass
    scope: PassScope


_ANY, _ACCELERATOR = PassScope.ANY, PassScope.ACCELERATOR

PIPELINE: tuple[NamedPass, ...] = (
    NamedPass("InjectConv2DTransposeSkip", inject_conv2d_transpose_skip, _ACCELERATOR),
    NamedPass("CompactBufferAllocation", compact_buffer_allocation, _ANY),
    NamedPass("LowerBlocks", lower_blocks, _ANY),
    NamedPass("SettleLoopEnds", settle_loop_ends, _ANY),
    NamedPass("ReduceInPlace", reduce_in_place, _ACCELERATOR),
    NamedPass("StorageFlatten", storage_flatten, _ANY),
    NamedPass("BindDeepExpressions", bind_deep_expressions, _ANY),
    NamedPass("NarrowDataType", narrow_data_type, _ANY),
    NamedPass("Simplify", simplify, _ANY),
    NamedPass("InjectDMAIntrin", inject_dma_intrin, _ACCELERATOR),
    NamedPass("InjectSkipCopy", inject_skip_copy, _ACCELERATOR),
    NamedPass("AnnotateALUCoProcScope", annotate_alu_coproc_scope, _ACCELERATOR),
    NamedPass("LiftAttrScope", lift_attr_scope(AttrKey.COPROC_UOP_SCOPE), _ACCELERATOR),
    NamedPass("LiftAllocToScopeBegin", lift_alloc_to_scope_begin, _ACCELERATOR),
    NamedPass("LiftAttrScope", lift_attr_scope(AttrKey.COPROC_SCOPE), _ACCELERATOR),
    NamedPass("InjectCoProcSync", inject_coproc_sync, _ACCELERATOR),
    NamedPass(_AFTER_EARLY_REWRITE, early_rewrite, _ACCELERATOR),
    NamedPass("LoopPartition", loop_partition, _ANY),
    NamedPass("VectorizeLoop", vectorize_loop, _ANY),
    NamedPass("InjectVirtualThread", inject_virtual_thread, _ANY),
    NamedPass("StorageRewrite", storage_rewrite, _ANY),
    NamedPass("UnrollLoop", unroll_loop, _ANY),
    NamedPass("InjectALUIntrin", inject_alu_intrin, _ACCELERATOR),
    NamedPass("Simplify", simplify, _ANY),
    NamedPass("RemoveNoOp", remove_no_op, _ANY),
    NamedPass("HoistIfThenElse", hoist_if_then_else, _ANY),
    NamedPass("LowerDeviceStorageAccessInfo", lower_device_storage_access_info, _ACCELERATOR),
    NamedPass("FoldUopLoop", fold_uop_loop, _ACCELERATOR),
    NamedPass("CPUAccessRewrite", cpu_access_rewrite, _ACCELERATOR),
    NamedPass("CommonSubexprElimTIR", common_subexpr_elim, _ANY),
)
"""From the scheduled loop nests to host code that calls the runtime. A name may stand at several places."""


_PHASE_ENDS: tuple[str | None, ...] = (None, _AFTER_EARLY_REWRITE, "InjectALUIntrin", "CPUAccessRewrite")
"""TVM's four phases: the pass after which those go that a user adds to a phase; to phase 0, before all others."""


def passes(debug_flag: int = 0, added: Sequence[tuple[int, Pass]] = ()) -> tuple[NamedPass, ...]:
    """Return the passes in order; with a debug flag, the one that sets it stands after EarlyRewrite.

    ``added`` has (phase, pass) of passes to run in addition, in TVM's phases 0 to 3; they go by their functions' names.
    Raises ``PassNameError`` for another phase.
    """
    if not debug_flag and not added:
        return PIPELINE
    extra: dict[str | None, list[NamedPass]] = {}
    if debug_flag:
        extra[_AFTER_EARLY_REWRITE] = [NamedPass(_SET_DEBUG_MODE, set_debug_mode(debug_flag), _ACCELERATOR)]
    for phase, func in added:
        if phase not in range(len(_PHASE_ENDS)):
            raise PassNameError(f"added pass {_name_of(func)!r}: there are phases 0 to 3, not {phase}")
        extra.setdefault(_PHASE_ENDS[phase], []).append(NamedPass(_name_of(func), func, _ANY))
    whole = list(extra.get(None, []))
    for entry in PIPELINE:
        whole += [entry, *extra.get(entry.name, [])]
    return tuple(whole)


def _name_of(func: Pass) -> str:
    return str(getattr(func, "__name__", type(func).__name__))


def pass_names() -> list[str]:
    """Return the names that can be disabled, in order, each once."""
    return list(dict.fromkeys([*(entry.name for entry in PIPELINE), _SET_DEBUG_MODE]))


def run(
    func: PrimFunc,
    config: VTAConfig,
    *,
    scope: PassScope = PassScope.ACCELERATOR,
    disabled: Collection[str] = (),
    before_each: BeforeEach | None = None,
    after_each: AfterEach | None = None,
    debug_flag: int = 0,
    added: Sequence[tuple[int, Pass]] = (),
) -> PrimFunc:
    """Return ``func`` lowered to host code for ``config``.

    With ``scope`` ANY the accelerator's passes are left out: what they look for is not in a CPU's program.
    ``disabled`` names more passes to leave out, with or without TVM's prefix "tir."; ``before_each`` may leave out
    others; ``after_each`` sees every result;
    ``added`` are passes of the user's own, see ``passes``.
    Raises ``PassNameError`` for an unknown name, and the error of the pass that cannot lower the function.
    """
    left_out = {_known_name(name) for name in disabled}
    for entry in passes(debug_flag, added):
        if entry.name in left_out or (scope is PassScope.ANY and entry.scope is PassScope.ACCELERATOR):
            continue
        if before_each is not None and not before_each(entry.name, func):
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
    close = get_close_matches(bare, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"the passes are {', '.join(known)}"
    raise PassNameError(f"disabled pass {name!r}: there is no pass of that name; {hint}")
