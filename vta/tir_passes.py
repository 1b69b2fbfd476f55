"""This toolchain's passes as objects, under TVM's names: ``tvm.tir.transform.StorageFlatten(64)``, ...

Each is a function that returns an object to call with a module. Arguments are TVM's; a value that means nothing here is
refused. Tests: tests/vta/front/test_tir_passes.py.
"""

from __future__ import annotations

from collections.abc import Callable

from isa.errors import VTAError
from vta.instrument import PassInfo
from vta.loop_options import split_of_double_buffers, with_unrolling
from vta.pass_objects import FunctionPass, ModulePass, of_function, prim_func_pass
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
from vta.passes.host.convert_for_loops_to_serial import convert_for_loops_to_serial
from vta.passes.host.cpu_access_rewrite import cpu_access_rewrite
from vta.passes.host.hoist_if_then_else import hoist_if_then_else
from vta.passes.host.loop_partition import loop_partition
from vta.passes.host.narrow_data_type import narrow_to
from vta.passes.host.skip_assert import skip_assert
from vta.passes.host.unroll_loop import unroll_loop
from vta.passes.host.vectorize_loop import vectorize_loop
from vta.passes.optional.combine_context_call import combine_context_call
from vta.passes.optional.inject_copy_intrin import MakeCopy, inject_copy_intrin
from vta.passes.optional.inject_double_buffer import inject_double_buffer
from vta.passes.optional.inject_prefetch import inject_prefetch
from vta.passes.optional.instrument_bound_checkers import instrument_bound_checkers
from vta.passes.optional.lower_intrin import lower_intrin
from vta.passes.optional.make_packed_api import make_packed_api
from vta.passes.optional.oob_checker import check_bounds
from vta.passes.optional.rewrite_unsafe_select import rewrite_unsafe_select
from vta.passes.storage.early_rewrite import early_rewrite
from vta.passes.storage.lift_alloc_to_scope_begin import lift_alloc_to_scope_begin
from vta.passes.storage.lower_device_storage_access_info import lower_device_storage_access_info
from vta.passes.storage.storage_flatten import storage_flatten
from vta.passes.storage.storage_rewrite import storage_rewrite
from vta.passes.sync.inject_coproc_sync import inject_coproc_sync
from vta.passes.vthread.inject_virtual_thread import inject_virtual_thread
from vta.tir.analysis import verify_memory
from vta.tir.dtype import DType
from vta.tir.func import IRModule, PrimFunc
from vta.tir.stmt import AttrKey
from vta.transform import PassContext

__all__ = [
    "AnnotateALUCoProcScope", "AnnotateEntryFunc", "Apply", "BindDeepExpressions", "CPUAccessRewrite", "CoProcSync",
    "CombineContextCall", "CommonSubexprElimTIR", "CompactBufferAllocation", "ConvertForLoopsToSerial", "EarlyRewrite",
    "Filter", "FoldUopLoop", "HoistIfThenElse", "HostMemoryError", "InjectALUIntrin", "InjectCoProcSync",
    "InjectConv2DTransposeSkip", "InjectCopyIntrin", "InjectDMAIntrin", "InjectDoubleBuffer", "InjectPrefetch",
    "InjectSkipCopy", "InjectVirtualThread",
    "InstrumentBoundCheckers", "LiftAllocToScopeBegin", "LiftAttrScope", "LoopPartition", "LowerBlocks",
    "LowerDeviceStorageAccessInfo", "LowerIntrin", "MakePackedAPI", "NarrowDataType", "OOBChecker", "PassArgumentError",
    "ReduceInPlace", "RemoveNoOp", "RewriteUnsafeSelect", "SettleLoopEnds", "Simplify", "SkipAssert", "StorageFlatten",
    "StorageRewrite", "UnrollLoop", "VectorizeLoop", "VerifyMemory", "prim_func_pass",
]  # fmt: skip


class PassArgumentError(VTAError, ValueError):
    """An argument of a pass that means nothing here."""


class HostMemoryError(VTAError, RuntimeError):
    """A function in which the host touches memory that it cannot address."""


def _identity(name: str) -> FunctionPass:
    return of_function(lambda func, config: func, name)  # noqa: ARG005  # a pass's signature


def Simplify() -> FunctionPass:  # noqa: N802  # TVM's names, here and below
    """Expressions in normal form, conditions decided."""
    return of_function(simplify, "Simplify")


def StorageFlatten(cache_line_size: int = 64, create_bound_attribute: bool = False) -> FunctionPass:  # noqa: N802
    """Buffers become one-dimensional; cache lines decide nothing here."""
    if create_bound_attribute or cache_line_size < 1:
        raise PassArgumentError(
            f"StorageFlatten: cache_line_size is at least 1 and create_bound_attribute False, not {cache_line_size} "
            f"and {create_bound_attribute}"
        )
    return of_function(storage_flatten, "StorageFlatten")


def CompactBufferAllocation(is_strict: bool = True) -> FunctionPass:  # noqa: N802
    """Buffers of blocks live as deep in the loops as they can, and are as large as it takes there."""
    if not is_strict:
        raise PassArgumentError("CompactBufferAllocation: is_strict is True here: nothing is read beyond a buffer")
    return of_function(compact_buffer_allocation, "CompactBufferAllocation")


def LowerBlocks() -> FunctionPass:  # noqa: N802
    """Blocks of ``tir.Schedule`` become plain statements."""
    return of_function(lower_blocks, "LowerBlocks")


def NarrowDataType(target_bits: int = 32) -> FunctionPass:  # noqa: N802
    """Indices get ``target_bits`` where their bounds show that these are enough."""
    if target_bits not in (8, 16, 32):
        raise PassArgumentError(f"NarrowDataType: indices become 8, 16 or 32 bits wide, not {target_bits}")
    narrow = DType(f"int{target_bits}")
    return of_function(lambda func, config: narrow_to(func, narrow), "NarrowDataType")  # noqa: ARG005  # a pass


def LoopPartition() -> FunctionPass:  # noqa: N802
    """The host's loops are split where their conditions change."""
    return of_function(loop_partition, "LoopPartition")


def VectorizeLoop(enable_vectorize: bool = True) -> FunctionPass:  # noqa: N802
    """Marked loops of the host become vectors; serial loops if that is switched off."""
    return of_function(vectorize_loop, "VectorizeLoop") if enable_vectorize else _identity("VectorizeLoop")


def InjectPrefetch() -> FunctionPass:  # noqa: N802
    """Drop hints of what is read soon: processors find out by themselves."""
    return of_function(inject_prefetch, "InjectPrefetch")


def InjectCopyIntrin(pragma_key: str, fintrin: MakeCopy) -> FunctionPass:  # noqa: N802
    """Copies under a pragma become what ``fintrin(source, target, before, after, zero)`` returns."""
    return of_function(inject_copy_intrin(pragma_key, fintrin), "InjectCopyIntrin")


def InjectDoubleBuffer() -> FunctionPass:  # noqa: N802
    """Two copies of marked buffers in turn; the option ``tir.InjectDoubleBuffer`` says how loops are written out."""

    def double(func: PrimFunc, mod: IRModule, context: PassContext) -> PrimFunc:
        return inject_double_buffer(split_of_double_buffers(context))(func, mod.config)

    return FunctionPass(double, PassInfo(0, "tir.InjectDoubleBuffer"))


def InjectVirtualThread() -> FunctionPass:  # noqa: N802
    """Virtual threads are interleaved, each with memory of its own."""
    return of_function(inject_virtual_thread, "InjectVirtualThread")


def StorageRewrite() -> FunctionPass:  # noqa: N802
    """Memory is shared and planned."""
    return of_function(storage_rewrite, "StorageRewrite")


def UnrollLoop() -> FunctionPass:  # noqa: N802
    """Marked loops are written out, and those that the option ``tir.UnrollLoop`` of the context allows."""

    def unroll(func: PrimFunc, mod: IRModule, context: PassContext) -> PrimFunc:
        return unroll_loop(with_unrolling(func, context), mod.config)

    return FunctionPass(unroll, PassInfo(0, "tir.UnrollLoop"))


def BindDeepExpressions() -> FunctionPass:  # noqa: N802
    """Deep expressions are computed in parts, and what stands in several places of one is computed once."""
    return of_function(bind_deep_expressions, "BindDeepExpressions")


def RemoveNoOp() -> FunctionPass:  # noqa: N802
    """What does nothing goes."""
    return of_function(remove_no_op, "RemoveNoOp")


def HoistIfThenElse(variant: str | None = None) -> FunctionPass:  # noqa: N802
    """Conditions move out of the loops that they do not depend on."""
    if variant not in (None, "basic"):
        raise PassArgumentError(f"HoistIfThenElse: there is the variant 'basic', not {variant!r}")
    return of_function(hoist_if_then_else, "HoistIfThenElse")


def CommonSubexprElimTIR(enable_cse_tir: bool = True) -> FunctionPass:  # noqa: N802
    """Index expressions are computed once."""
    name = "CommonSubexprElimTIR"
    return of_function(common_subexpr_elim, name) if enable_cse_tir else _identity(name)


def SettleLoopEnds() -> FunctionPass:  # noqa: N802
    """Ends of loops that are elements of memory are read once."""
    return of_function(settle_loop_ends, "SettleLoopEnds")


def SkipAssert() -> FunctionPass:  # noqa: N802
    """Assertions go."""
    return of_function(skip_assert, "SkipAssert")


def ConvertForLoopsToSerial() -> FunctionPass:  # noqa: N802
    """Parallel loops become serial ones."""
    return of_function(convert_for_loops_to_serial, "ConvertForLoopsToSerial")


def LiftAttrScope(attr_key: str) -> FunctionPass:  # noqa: N802
    """Neighbours that belong to one kernel ("coproc_uop_scope") or module ("coproc_scope") share its attribute."""
    known = (AttrKey.COPROC_UOP_SCOPE, AttrKey.COPROC_SCOPE)
    if attr_key not in known:
        raise PassArgumentError(f"LiftAttrScope: expected {' or '.join(map(repr, map(str, known)))}, not {attr_key!r}")
    return of_function(lift_attr_scope(AttrKey(attr_key)), "LiftAttrScope")


def CoProcSync() -> FunctionPass:  # noqa: N802
    """Tokens between the accelerator's modules, and waits of the host."""
    return of_function(inject_coproc_sync, "CoProcSync")


def InjectCoProcSync() -> FunctionPass:  # noqa: N802
    """Tokens between the accelerator's modules, and waits of the host."""
    return of_function(inject_coproc_sync, "InjectCoProcSync")


def LowerDeviceStorageAccessInfo() -> FunctionPass:  # noqa: N802
    """Pointers into scratchpads become indices."""
    return of_function(lower_device_storage_access_info, "LowerDeviceStorageAccessInfo")


def InjectConv2DTransposeSkip() -> FunctionPass:  # noqa: N802
    """The loops of a transposed convolution become micro-ops."""
    return of_function(inject_conv2d_transpose_skip, "InjectConv2DTransposeSkip")


def InjectDMAIntrin() -> FunctionPass:  # noqa: N802
    """Copies become loads and stores of the accelerator."""
    return of_function(inject_dma_intrin, "InjectDMAIntrin")


def InjectSkipCopy() -> FunctionPass:  # noqa: N802
    """Copies marked ``skip_dma_copy`` vanish."""
    return of_function(inject_skip_copy, "InjectSkipCopy")


def AnnotateALUCoProcScope() -> FunctionPass:  # noqa: N802
    """Every ALU stage becomes the compute module's."""
    return of_function(annotate_alu_coproc_scope, "AnnotateALUCoProcScope")


def LiftAllocToScopeBegin() -> FunctionPass:  # noqa: N802
    """Allocations move to the beginning of their scope."""
    return of_function(lift_alloc_to_scope_begin, "LiftAllocToScopeBegin")


def EarlyRewrite() -> FunctionPass:  # noqa: N802
    """Memory is planned for one virtual thread."""
    return of_function(early_rewrite, "EarlyRewrite")


def ReduceInPlace() -> FunctionPass:  # noqa: N802
    """Windows that do not overlap are reduced where they lie, under their pragma."""
    return of_function(reduce_in_place, "ReduceInPlace")


def InjectALUIntrin() -> FunctionPass:  # noqa: N802
    """ALU stages become micro-op kernels."""
    return of_function(inject_alu_intrin, "InjectALUIntrin")


def FoldUopLoop() -> FunctionPass:  # noqa: N802
    """Two loops of a GEMM kernel become those of its instruction."""
    return of_function(fold_uop_loop, "FoldUopLoop")


def CPUAccessRewrite() -> FunctionPass:  # noqa: N802
    """The host reaches device memory through the runtime."""
    return of_function(cpu_access_rewrite, "CPUAccessRewrite")


def InstrumentBoundCheckers() -> FunctionPass:  # noqa: N802
    """Elements are checked to be there before they are read or written; for functions before storage flattening."""
    return of_function(instrument_bound_checkers, "InstrumentBoundCheckers")


def RewriteUnsafeSelect() -> FunctionPass:  # noqa: N802
    """Of choices that read memory or divide, only the chosen side is computed."""
    return of_function(rewrite_unsafe_select, "RewriteUnsafeSelect")


def CombineContextCall() -> FunctionPass:  # noqa: N802
    """The runtime's context is asked for once."""
    return of_function(combine_context_call, "CombineContextCall")


def LowerIntrin() -> FunctionPass:  # noqa: N802
    """Divisions that round down become shifts, masks and divisions that round towards zero."""
    return of_function(lower_intrin, "LowerIntrin")


def MakePackedAPI() -> FunctionPass:  # noqa: N802
    """Functions take packed arguments, as TVM's do: arrays of values and of their types, which they check."""
    return of_function(make_packed_api, "MakePackedAPI")


def VerifyMemory() -> ModulePass:  # noqa: N802
    """Nothing changes; a function in which the host touches the accelerator's memory is refused."""

    def check(mod: IRModule, context: PassContext) -> IRModule:  # noqa: ARG001  # a pass's signature
        for name, func in mod.functions.items():
            if not verify_memory(func):
                raise HostMemoryError(f"function {name!r}: the host touches memory that only a device can address")
        return mod

    return ModulePass(check, PassInfo(0, "tir.VerifyMemory"))


def OOBChecker() -> ModulePass:  # noqa: N802  # TVM's, in ``tir.analysis``
    """Nothing changes; a function that touches elements outside of its buffers is refused."""

    def check(mod: IRModule, context: PassContext) -> IRModule:  # noqa: ARG001  # a pass's signature
        for func in mod.functions.values():
            check_bounds(func)
        return mod

    return ModulePass(check, PassInfo(0, "tir.analysis.OOBChecker"))


def Apply(ftransform: Callable[[PrimFunc], PrimFunc]) -> FunctionPass:  # noqa: N802
    """Every function becomes what ``ftransform`` makes of it."""
    return FunctionPass(lambda func, mod, context: ftransform(func), PassInfo(0, "tir.Apply"))  # noqa: ARG005


def Filter(fcond: Callable[[PrimFunc], bool]) -> ModulePass:  # noqa: N802
    """Functions for which ``fcond`` does not hold go."""

    def keep(mod: IRModule, context: PassContext) -> IRModule:  # noqa: ARG001  # a pass's signature
        return IRModule({name: func for name, func in mod.functions.items() if fcond(func)}, mod.config)

    return ModulePass(keep, PassInfo(0, "tir.Filter"))


def AnnotateEntryFunc() -> ModulePass:  # noqa: N802
    """The only function of a module gets the attribute ``tir.is_entry_func``."""

    def annotate(mod: IRModule, context: PassContext) -> IRModule:  # noqa: ARG001  # a pass's signature
        if len(mod) != 1:
            raise PassArgumentError(f"AnnotateEntryFunc: expected a module of one function, not of {len(mod)}")
        marked = {name: func.with_attr("tir.is_entry_func", True) for name, func in mod.functions.items()}
        return IRModule(marked, mod.config)

    return ModulePass(annotate, PassInfo(0, "tir.AnnotateEntryFunc"))
