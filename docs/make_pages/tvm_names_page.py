"""The page of the documentation that says which of TVM's names scripts find here, and how they differ.

``NAMES`` are what scripts and TVM's own tests of te, tir, arith and topi use. Whether a name is here is looked up in
what ``import tvm`` gives a script. Tests: tests/docs/test_tvm_names_page.py.
"""

from collections.abc import Mapping

import vta
from vta.compat.tvm_names import tvm_names

__all__ = ["NAMES", "NOTES", "is_here", "tvm_names_page"]

_INTRODUCTION = """\
# TVM's names

Generated (`python -m docs.make_pages`) from what `import tvm` gives to a script that `python -m vta.compat` runs. A
name that is here computes what TVM 0.9 computes, unless the last column says how it differs; using one that is not here
is refused in a sentence. The same objects without `tvm`: `vta.te`, `vta.tir`, `vta.arith`, `vta.topi`,
`vta.transform`, `vta.pass_objects`, `vta.tir_passes`, `vta.instrument`.
"""

NAMES: Mapping[str, str] = {
    "tvm": (
        "lower build IRModule IRModule.from_expr TVMError cpu ext_dev device DataType nd.array nd.empty register_func "
        "get_global_func nd.from_dlpack error.OpNotImplemented GlobalVar"
    ),
    "tvm.ir": (
        "IRModule Range Op structural_equal assert_structural_equal structural_hash save_json load_json "
        "Array Map transform.PassContext transform.Sequential GlobalVar BaseFunc CallingConv register_op_attr "
        "register_intrin_lowering make_node EnvFunc DictAttrs"
    ),
    "tvm.transform": (
        "PassContext Sequential module_pass PassInfo PrintIR"
    ),
    "tvm.instrument": (
        "PassInstrument pass_instrument PassTimingInstrument"
    ),
    "tvm.testing": (
        "assert_allclose assert_prim_expr_equal check_numerical_grads enabled_targets parametrize_targets parameter "
        "parameters fixture requires_llvm requires_gpu uses_gpu check_int_constraints_trans_consistency "
        "check_map_iters_consistency main"
    ),
    "tvm.driver": (
        "lower build build_module.schedule_to_module build_module.get_binds"
    ),
    "tvm.target": (
        "Target Target.current cuda rocm codegen.build_module register_intrin_rule codegen.llvm_lookup_intrinsic_id "
        "codegen.llvm_get_intrinsic_name generic_func"
    ),
    "tvm.runtime": (
        "convert load_module Module Module.imported_modules Module.export_library enabled convert_to_object String"
    ),
    "tvm.te": (
        "placeholder compute reduce_axis thread_axis create_schedule create_prim_func var size_var const "
        "sum max min comm_reducer decl_tensor_intrin tag_scope if_then_else exp log sqrt tanh sigmoid erf "
        "sin cos power floordiv floormod indexdiv indexmod truncdiv truncmod all any abs floor ceil round "
        "trunc isnan isinf isfinite nearbyint log2 log10 rsqrt tan asin acos atan sinh cosh asinh acosh atanh popcount "
        "fmod extern scan gradient hybrid.script hybrid.build "
        "hybrid.HybridModule hybrid.runtime.HYBRID_GLOBALS schedule.InferBound schedule.ScheduleOps "
        "schedule.CreateReadGraph schedule.PostDFSOrder schedule.IterVar schedule.Buffer schedule.Fuse schedule.Split "
        "schedule.SchedulePostProcToPrimFunc schedule.AutoInlineInjective schedule.AutoInlineElemWise "
        "schedule.AutoInlineBroadcast schedule.VerifyCompactBuffer schedule.ScanGetBody schedule.ScanFixPointAnalysis "
        "schedule.SchedulePostProcRewriteForTensorCore tensor.Tensor"
    ),
    "tvm.te.schedule.Schedule": (
        "create_group groups cache_read cache_write rfactor normalize outputs stage_map"
    ),
    "tvm.te.schedule.Stage": (
        "split fuse reorder tile bind compute_at compute_inline compute_root set_scope vectorize unroll parallel "
        "tensorize pragma prefetch storage_align double_buffer set_store_predicate env_threads rolling_buffer "
        "transform_layout iter_var_attrs attach_type"
    ),
    "tvm.te.tensor.Tensor": (
        "__add__ __sub__ __mul__ __truediv__"
    ),
    "tvm.tir": (
        "Var SizeVar IntImm FloatImm StringImm Cast Add Sub Mul Div Mod FloorDiv FloorMod Min Max EQ NE "
        "LT LE GT GE And Or Not Select BufferLoad ProducerLoad Ramp Broadcast Let Call Reduce CommReducer "
        "IterVar Range Buffer decl_buffer BufferStore BufferRealize Evaluate For ForKind While SeqStmt "
        "AttrStmt Allocate LetStmt IfThenElse AssertStmt "
        "ProducerStore ProducerRealize Block BlockRealize MatchBufferRegion Prefetch "
        "PrimFunc Schedule ScheduleError call_extern call_pure_extern call_intrin call_packed ret "
        "indexdiv indexmod ceildiv expr.Call stmt.For op.exp function.PrimFunc buffer.Buffer "
        "min_value max_value likely if_then_else const layout bijective_layout IndexMap clz "
        "q_multiply_shift stmt_list Shuffle BufferRegion CallEffectKind call_llvm_intrin "
        "call_llvm_pure_intrin address_of isnullptr tvm_tuple tvm_struct_get tvm_struct_set AllocateConst"
    ),
    "tvm.tir.Buffer": (
        "vload vstore access_ptr offset_of scope __getitem__"
    ),
    "tvm.tir.SeqStmt": (
        "__getitem__"
    ),
    "tvm.tir.ir_builder": (
        "create IRBuilder BufferVar"
    ),
    "tvm.tir.stmt_functor": (
        "post_order_visit pre_order_visit ir_transform substitute"
    ),
    "tvm.tir.analysis": (
        "verify_ssa verify_memory expr_deep_equal calculate_workspace_bytes undefined_vars "
        "verify_gpu_code estimate_tir_flops detect_buffer_access_lca get_block_access_region OOBChecker"
    ),
    "tvm.tir.schedule": (
        "Schedule BlockRV LoopRV Trace Trace.simplified Trace.get_decision Trace.with_decision Trace.pop Instruction "
        "InstructionKind testing.verify_trace_roundtrip"
    ),
    "tvm.tir.Schedule": (
        "mod trace copy get get_block get_loops get_child_blocks get_producers get_consumers "
        "get_output_blocks split fuse reorder add_unit_loop parallel vectorize unroll bind compute_at "
        "reverse_compute_at compute_inline reverse_compute_inline cache_read cache_write set_scope "
        "decompose_reduction rfactor blockize tensorize storage_align annotate unannotate reindex transform_layout "
        "set_axis_separator sample_perfect_tile sample_categorical sample_compute_location seed fork_seed "
        "enter_postproc show state get_sref remove_rv"
    ),
    "tvm.tir.TensorIntrin": (
        "register get"
    ),
    "tvm.tir.transform": (
        "prim_func_pass Simplify StorageFlatten NarrowDataType LoopPartition VectorizeLoop "
        "InjectVirtualThread StorageRewrite UnrollLoop RemoveNoOp HoistIfThenElse CommonSubexprElimTIR "
        "SkipAssert ConvertForLoopsToSerial LiftAttrScope CoProcSync LowerDeviceStorageAccessInfo Apply "
        "Filter AnnotateEntryFunc InjectPrefetch InjectDoubleBuffer LowerInitBlock MakePackedAPI "
        "SplitHostDevice ThreadSync LowerWarpMemory InstrumentBoundCheckers RewriteUnsafeSelect "
        "CombineContextCall LowerIntrin VerifyMemory CompactBufferAllocation InjectCopyIntrin"
    ),
    "tvm.arith": (
        "Analyzer ConstIntBound ModularSet IntSet IntervalSet detect_linear_equation detect_clip_bound "
        "deduce_bound estimate_region_upper_bound estimate_region_lower_bound detect_iter_map "
        "normalize_iter_map_to_expr iter_map_simplify subspace_divide inverse_affine_iter_map IterMark IterSplitExpr "
        "IterSumExpr IterMapLevel solve_linear_equations solve_linear_inequalities IntConstraints "
        "IntConstraintsTransform _ffi_api.DomainTouched int_set.union_lower_bound int_set.neg_inf int_set.pos_inf "
        "detect_common_subexpr"
    ),
    "tvm.topi": (
        "add subtract multiply divide mod floor_divide floor_mod power maximum minimum equal not_equal "
        "less less_equal greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and "
        "bitwise_or bitwise_xor bitwise_not left_shift right_shift broadcast_to exp log sqrt rsqrt tanh "
        "sigmoid erf sin cos tan floor ceil round trunc abs negative sign isnan isinf isfinite clip cast "
        "identity full full_like zeros_like ones_like sum max min prod all any mean argmax argmin reshape "
        "transpose expand_dims squeeze concatenate stack split strided_slice take gather where repeat "
        "tile flip one_hot arange matmul sort argsort topk searchsorted unique scatter scatter_add scatter_nd "
        "gather_nd cumsum cumprod sparse_to_dense strided_set invert_permutation einsum tensordot trilu "
        "matrix_set_diag meshgrid unravel_index shape ndarray_size sliding_window elemwise_sum adv_index collapse_sum "
        "sequence_mask reverse_sequence nll_loss prelu fast_exp fast_tanh fast_erf reinterpret layout_transform "
        "fixed_point_multiply image.resize2d nn.utils.get_pad_tuple"
    ),
    "tvm.topi.testing": (
        "conv2d_nchw_python conv2d_nhwc_python depthwise_conv2d_python_nchw conv2d_transpose_nchw_python dilate_python "
        "softmax_python log_softmax_python poolnd_python lrn_python l2_normalize_python layer_norm_python dense "
        "batch_matmul upsampling_python gather_python one_hot strided_slice_python get_injective_schedule "
        "get_reduce_schedule get_broadcast_schedule resize2d_python adaptive_pool batch_norm conv2d_hwcn_python "
        "depthwise_conv2d_python_nhwc gather_nd_python instance_norm_python matrix_set_diag scatter_nd sequence_mask "
        "slice_axis_python space_to_depth_python depth_to_space_python"
    ),
    "tvm.topi.nn": (
        "relu leaky_relu prelu softmax log_softmax dense batch_matmul flatten bias_add batch_norm "
        "layer_norm scale_shift_nchw conv2d_nchw conv2d_nhwc depthwise_conv2d_nchw group_conv2d_nchw "
        "conv2d_transpose_nchw pool2d global_pool upsampling pad dilate conv2d_NCHWc lrn conv1d conv1d_ncw conv1d_nwc "
        "conv1d_transpose_ncw conv2d_hwcn conv3d_ncdhw conv3d_ndhwc depthwise_conv2d_nhwc pool1d pool3d adaptive_pool "
        "l2_normalize instance_norm mirror_pad space_to_depth depth_to_space space_to_batch_nd batch_to_space_nd "
        "fifo_buffer binarize_pack binary_dense fast_softmax bitserial_conv2d_nchw deformable_conv2d_nchw "
        "correlation_nchw sparse_dense dense_pack simulated_quantize"
    ),
    "tvm.topi.generic": (
        "schedule_extern schedule_injective schedule_reduce schedule_pool schedule_dense schedule_softmax "
        "schedule_conv2d_nchw schedule_adaptive_pool schedule_sort"
    ),
    "tvm.topi.utils": (
        "get_const_tuple get_const_int traverse_inline"
    ),
    "tvm.topi.tag": (
        "ELEMWISE BROADCAST INJECTIVE COMM_REDUCE"
    ),
    "tvm.contrib": (
        "utils.tempdir graph_executor.create pickle_memoize.memoize clang.find_clang clang.create_llvm cc.get_cc "
        "cc.create_shared nvcc.have_fp16"
    ),
    "tvm.relay": (
        "nn.get_pad_tuple2d backend.Runtime backend.Executor"
    ),
    "tvm.autotvm": (
        "template get_config task.create measure_option LocalBuilder LocalRunner RPCRunner tuner.RandomTuner "
        "tuner.GridSearchTuner tuner.GATuner tuner.XGBTuner callback.log_to_file apply_history_best tophub.context"
    ),
    "tvm.auto_scheduler": (
        "register_workload SearchTask create_task auto_schedule TuningOptions RecordToFile LocalBuilder LocalRunner "
        "load_best"
    ),
    "tvm.rpc": (
        "connect connect_tracker LocalSession"
    ),
    "vta": (
        "get_env Environment build lower get_bitstream_path program_fpga reconfig_runtime top.graph_pack testing.run"
    ),
    "tvm.script": (
        "tir ir_module from_source asscript"
    ),
}  # fmt: skip
"""Module of TVM's -> the names in it that scripts use."""

NOTES: Mapping[str, str] = {
    "tvm.TVMError": "the base of all errors here; most are `ValueError` or `RuntimeError` as well",
    "tvm.build": "for the CPU (`llvm`) or the accelerator; a module that is not lowered yet is lowered first",
    "tvm.ir.save_json": "a format of this project's own",
    "tvm.ir.load_json": "reads that format alone",
    "tvm.ir.Array": "Python's list",
    "tvm.ir.Map": "Python's dict",
    "tvm.runtime.convert": "gives expressions, lists and dictionaries",
    "tvm.te.schedule.SchedulePostProcToPrimFunc": "tensors are found by name, shape and type",
    "tvm.te.schedule.SchedulePostProcRewriteForTensorCore": "there is no GPU; `tensorize` with an intrinsic of its own",
    "tvm.te.schedule.ScheduleOps": "no loops of one iteration",
    "tvm.target.Target": "GPUs have targets, and no code",
    "tvm.ir.register_op_attr": "`TCallEffectKind` and `TARGET.FLowerIntrin`",
    "tvm.ir.register_intrin_lowering": "rules of a script alone: what is here is made of the rest",
    "tvm.autotvm.task.create": "the library's templates for the accelerator, a script's for the CPU (`llvm`) as well",
    "tvm.auto_scheduler.SearchTask": "for the accelerator",
    "tvm.auto_scheduler.create_task": "for the accelerator",
    "tvm.auto_scheduler.auto_schedule": "needs a `RecordToFile` among the callbacks",
    "tvm.auto_scheduler.load_best": "`task.apply_best(log)` returns the schedule",
    "tvm.te.decl_tensor_intrin": "called in `te.compute` on parts of constant sizes",
    "tvm.te.thread_axis": "virtual threads and `rotate`; a GPU's lower and print, and no code is made of them",
    "tvm.tir.Block": "one node, with the values of its axes and its predicate (TVM: `BlockRealize` of `Block`), by "
    "arguments of its own; `name_hint` is there, `reads` and `writes` are None where the body shows them",
    "tvm.lower": "loops of constant lengths are parted at their conditions as well (TVM: `partition_const_loop`)",
    "tvm.ir.make_node": "expressions, statements and `DictAttrs`",
    "tvm.ir.EnvFunc": "no JSON",
    "tvm.te.schedule.ScanFixPointAnalysis": "1 where no row reads another place",
    "tvm.tir.Buffer.__getitem__": "slices without steps are a region",
    "tvm.tir.analysis.verify_memory": "a GPU's by the attribute `target`",
    "tvm.tir.analysis.OOBChecker": "accesses under conditions pass",
    "tvm.tir.analysis.detect_buffer_access_lca": "blocks and loops; None for the function",
    "tvm.tir.analysis.get_block_access_region": "`vta.tir.blocks.block_reads` and `block_writes` have the accesses",
    "tvm.tir.schedule.Trace.simplified": "leaves out steps that find or choose what no later step uses",
    "tvm.tir.schedule.Instruction": "a step of the schedule's own name, `get_block`",
    "tvm.tir.schedule.InstructionKind": "steps go by the names of the primitives",
    "tvm.tir.Schedule.get": "chosen numbers are integers that the trace knows again, not variables",
    "tvm.tir.BlockRealize": "part of `Block`",
    "tvm.tir.IndexMap": "no `inverse`, no `map_shape`",
    "tvm.nd.from_dlpack": "memory of the host",
    "tvm.device": "of what is not here, one that does not exist",
    "tvm.tir.While": "programs of the host alone",
    "tvm.te.schedule.Stage.prefetch": "a hint, which processors find out by themselves",
    "tvm.te.schedule.Stage.env_threads": "threads of a GPU around a stage: there is no GPU",
    "tvm.te.schedule.Stage.rolling_buffer": "a stage in a loop keeps no rows from one iteration to the next",
    "tvm.te.schedule.Stage.transform_layout": "outputs lie as their shapes say; compute another shape",
    "tvm.tir.Buffer.offset_of": "one offset, not a list",
    "tvm.contrib.pickle_memoize.memoize": "results are kept while the script runs, not in files",
    "tvm.te.gradient": "also of stages of several tensors; elements that are largest together count each",
    "tvm.tir.BufferRegion": "blocks have them where their bodies do not show what they touch",
    "tvm.tir.MatchBufferRegion": "of scripts alone: blocks have no regions of their own",
    "tvm.tir.transform.InjectPrefetch": "drops hints, which processors find out by themselves",
    "tvm.runtime.Module.export_library": "an object file for `load_module`; nothing is linked",
    "tvm.target.codegen.llvm_lookup_intrinsic_id": "a number of this project's own, also for what LLVM does not have",
    "tvm.contrib.cc.create_shared": "nothing is linked; `export_library` writes what `load_module` reads",
    "tvm.relay.backend.Runtime": "a name and options; `relay.build` takes none",
    "tvm.relay.backend.Executor": "a name and options; `relay.build` takes none",
    "tvm.tir.Prefetch": "a hint, which processors find out by themselves: it is dropped",
    "tvm.te.hybrid.script": "arrays begin with zeros, as in Python; loops are exchanged only where that is safe",
    "tvm.te.hybrid.build": "programs of the host alone",
    "tvm.tir.call_packed": "an int32 comes back; a buffer goes as an array",
    "tvm.get_global_func": "functions of Python; TVM's own are not among them",
    "tvm.script.tir": "the words for loops, blocks, buffers and calls; no `T.match_buffer` in blocks",
    "tvm.script.from_source": "reads what `func.script()` prints: the same function",
    "tvm.runtime.String": "a Python text",
    "tvm.tir.PrimFunc": "also has a name; prints in the style of TVM 0.8",
    "tvm.tir.Schedule.bind": "virtual threads and `rotate`; a GPU's lower and print, and no code is made of them",
    "tvm.tir.Schedule.blockize": "of a loop; operands of one value have no axis inside",
    "tvm.tir.Schedule.tensorize": "also with an intrinsic itself, and one of te; a reduction's start may be part of it",
    "tvm.tir.Schedule.annotate": "numbers, texts and lists of these",
    "tvm.tir.Schedule.transform_layout": "one-to-one maps; also of arguments, whose shapes change",
    "tvm.tir.Schedule.set_axis_separator": "memory has one dimension here",
    "tvm.tir.Schedule.sample_compute_location": "a loop that works, never the root or inlining",
    "tvm.tir.Schedule.state": "a schedule has its function, `sch.func`, and no state besides",
    "tvm.tir.Schedule.get_sref": "blocks and loops are found by name and variable: `sch.get(rv)`",
    "tvm.tir.Schedule.remove_rv": "names of blocks and loops cost nothing, and stay",
    "tvm.tir.Schedule.set_scope": "the memory is named as in te",
    "tvm.tir.transform.StorageFlatten": "the size of cache lines decides nothing",
    "tvm.tir.transform.VectorizeLoop": "a while loop inside leaves a serial loop, where TVM refuses",
    "tvm.tir.transform.LowerInitBlock": "refuses blocks: `LowerBlocks` lowers all of a block",
    "tvm.tir.transform.LowerWarpMemory": "refuses memory of a warp: there is no GPU",
    "tvm.tir.transform.SplitHostDevice": "refuses threads of a GPU: there is one program, the host's",
    "tvm.tir.transform.ThreadSync": "refuses threads of a GPU: there is none",
    "tvm.tir.transform.MakePackedAPI": "asks for no `target`; functions that are built take plain arguments",
    "tvm.arith.Analyzer": "one simplifier: `rewrite_simplify` and `canonical_simplify` are `simplify`; equal values, "
    "not always in TVM's form (`4 <= x` for `3 < x`, `x - 2` for `x + (-2)`, constants last)",
    "tvm.arith.iter_map_simplify": "of TVM 0.10",
    "tvm.arith.solve_linear_inequalities": "what ranges do not say stays as relations; no conditions by groups",
    "tvm.arith.deduce_bound": "conditions linear in the variable, with a factor whose sign is known",
    "tvm.topi.generic.schedule_conv2d_nchw": "loops as they are defined; a schedule of a script's own makes them fast",
    "tvm.topi.argsort": "stable; no `valid_count`",
    "tvm.topi.einsum": "no ellipsis",
    "tvm.topi.unique": "its result has a size that only the data says",
    "tvm.topi.nn.sparse_dense": "its loops have lengths that only the data says",
    "tvm.topi.gather_nd": "coordinates are limited to the tensor",
    "tvm.topi.scatter": "an index outside of the tensor ends the call with an error",
    "tvm.topi.fast_exp": "as exact as `exp`",
    "tvm.topi.fast_tanh": "as exact as `tanh`",
    "tvm.topi.fast_erf": "as exact as `erf`",
    "tvm.topi.image.resize2d": "nearest neighbours and linear; no region of interest",
    "tvm.topi.take": "`clip` and `wrap`; no unchecked reads",
    "tvm.topi.mean": "of floats",
    "tvm.topi.nn.pool2d": "averages of floats; packed images of the accelerator by `vta.topi.nn.pool2d`",
    "tvm.topi.nn.upsampling": "nearest neighbours",
    "tvm.topi.clip": "one stage; the accelerator's `vta.topi.clip` has two",
}
"""How a name differs, or why it is not here."""


def is_here(path: str) -> bool:
    """Whether ``import tvm`` gives a script what ``path`` names."""
    of_vta = path.startswith("vta.")
    value: object = vta if of_vta else tvm_names()
    for part in path.removeprefix("vta." if of_vta else "tvm.").split("."):
        if isinstance(value, Mapping):
            if part not in value:
                return False
            value = value[part]
        elif not hasattr(value, part) and part not in getattr(value, "__annotations__", {}):
            return part == "trace" and hasattr(value, "mod")
        else:
            value = getattr(value, part, None)
    return True


def tvm_names_page() -> str:
    """Return the page, in Markdown."""
    lines = [_INTRODUCTION]
    found = missing = 0
    for module, names in NAMES.items():
        lines += [f"## {module}", "", "| name | here | how it differs |", "|---|---|---|"]
        for name in names.split():
            path = f"{module}.{name}"
            here = is_here(path)
            found, missing = found + here, missing + (not here)
            lines.append(f"| `{name}` | {'yes' if here else 'no'} | {NOTES.get(path, '')} |")
        lines.append("")
    lines.insert(1, f"{found} of {found + missing} names are here.\n")
    return "\n".join(lines).rstrip() + "\n"
