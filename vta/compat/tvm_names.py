"""What ``import tvm`` gives to a script: TVM's names, answered by this toolchain.

Tests: tests/vta/compat/test_tvm_names.py.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType

from isa.errors import VTAError
from runtime import packed_func
from vta import build_module, instrument, nd, pass_objects, rpc, target, te, tir_passes, transform
from vta.arith import (
    deduce,
    int_constraints,
    int_set,
    iter_map,
    linear_equations,
    linear_inequalities,
    modular,
    region_lower_bound,
    touched,
    tvm_analyzer,
)
from vta.compat import llvm_names, made_nodes
from vta.compat.absent_device import AbsentDevice, any_device
from vta.compat.answer import Plain, Tree
from vta.compat.auto_scheduler_names import auto_scheduler_names
from vta.compat.autotvm_names import autotvm_names
from vta.compat.convert import const, convert
from vta.compat.relay_names import IRModule, LocalSession, Sequential, graph_executor_names, relay_names
from vta.compat.rooms import CallingConv, gpu_targets, te_rooms, tir_rooms
from vta.compat.runtime_names import container_names, error_names, runtime_names
from vta.compat.small_names import memoize
from vta.compat.tempdir import TempDirectory, tempdir
from vta.compat.testing_names import schedule_testing_names, testing_names
from vta.compat.topi_names import topi_names
from vta.compat.tvm_nodes import IterVar, Range
from vta.passes.optional.verify_gpu_code import verify_gpu_code
from vta.te import read_graph, relations
from vta.te.lowering import lower, post_proc
from vta.te.scans import scan_analysis
from vta.tir import (
    analysis,
    buffer,
    calls,
    dtype,
    expr,
    func,
    index_map,
    ir_builder,
    json_text,
    layout,
    math_ops,
    ops,
    regions,
    schedule,
    script,
    stmt,
    stmt_functor,
    structural,
    tensor_intrin,
)
from vta.tir.analyses import access_lca, flops
from vta.tir.expr import own_intrinsic
from vta.tir_passes_elsewhere import passes_elsewhere

__all__ = ["tvm_names"]

_VERSION = "0.9.0"
"""The TVM whose names and semantics these are."""

_STRUCTURAL = ("assert_structural_equal", "structural_equal", "structural_hash")

_TIR_MODULES: Mapping[str, ModuleType] = {
    "analysis": analysis,
    "ir_builder": ir_builder,
    "stmt_functor": stmt_functor,
}


def tvm_names() -> Tree:
    """Return the tree of names below ``tvm``."""
    devices: dict[str, Callable[..., nd.Device | AbsentDevice]] = {
        "cpu": nd.cpu,
        "ext_dev": nd.ext_dev,
        "device": any_device,
        "context": any_device,
        **{name: partial(any_device, name) for name in ("cuda", "opencl", "metal", "vulkan", "rocm", "hexagon")},
    }
    return {
        "__version__": _VERSION,
        "te": _te_names(),
        "tir": _tir_names(),
        "topi": topi_names(),
        "nd": _public(nd),
        "rpc": {**_public(rpc), "LocalSession": LocalSession},
        "target": _target_names(),
        "transform": _transform_names(),
        "instrument": _public(instrument),
        "arith": _arith_names(),
        "runtime": {**runtime_names(devices), "DataType": dtype.DType, "const": const},
        "container": container_names(),
        "relay": relay_names(),
        "auto_scheduler": auto_scheduler_names(),
        "autotvm": autotvm_names(),
        "contrib": _contrib_names(),
        "testing": testing_names(),
        "script": {
            "tir": script.T,
            "ir_module": script.ir_module,
            "from_source": script.from_source,
            "asscript": script.to_script,
        },
        "ir": _ir_names(),
        "driver": _driver_names(),
        "error": error_names(),
        "support": {"libinfo": dict},
        "register_func": packed_func.register_func,
        "get_global_func": packed_func.get_global_func,
        "base": {"TVMError": VTAError},
        "_ffi": {"base": {"TVMError": VTAError}, **_public(packed_func)},
        "TVMError": VTAError,
        "lower": build_module.lower_generic,
        "build": build_module.build_generic,
        "IRModule": IRModule,
        "GlobalVar": func.GlobalVar,
        "DataType": dtype.DType,
        **devices,
    }


def _on_objects(function: Callable[..., object]) -> Callable[..., object]:
    """Return ``function`` for what TVM makes objects of: numbers in lists, and the like."""

    count = 2 if function.__name__.endswith("_equal") else 1

    def on_objects(*values: object, **options: object) -> object:
        return function(*map(convert, values[:count]), *values[count:], **options)

    on_objects.__doc__ = function.__doc__
    return on_objects


def _public(module: ModuleType) -> dict[str, object]:
    """Return what a module of ours exports, modules below it as trees of their own."""
    names: dict[str, object] = {}
    for name in module.__all__:
        value = getattr(module, name)
        inner = isinstance(value, ModuleType) and hasattr(value, "__all__")
        names[name] = _public(value) if inner else value
    return names


def _tir_names() -> Tree:
    nodes: dict[str, object] = {}
    for module in (ops, math_ops, calls, expr, stmt, buffer, func, layout, index_map, regions):
        nodes.update({name: getattr(module, name) for name in module.__all__})
    nodes.update({name: _public(module) for name, module in _TIR_MODULES.items()})
    nodes["analysis"] = {
        **_public(analysis),
        "verify_gpu_code": verify_gpu_code,
        "estimate_tir_flops": flops.estimate_tir_flops,
        "detect_buffer_access_lca": access_lca.detect_buffer_access_lca,
        "OOBChecker": tir_passes.OOBChecker,
        "analysis": _public(analysis),
    }
    nodes["TensorIntrin"] = tensor_intrin.TensorIntrin
    nodes.update({"Schedule": schedule.Schedule, "ScheduleError": schedule.BlockScheduleError})
    nodes["transform"] = {**passes_elsewhere(), **_public(tir_passes)}
    nodes["schedule"] = {
        **_public(schedule),
        "testing": schedule_testing_names(),
        "schedule": {**_public(schedule), "ScheduleError": schedule.BlockScheduleError},
        "trace": {"Trace": schedule.Trace},
    }
    nodes.update({"PrimExpr": expr.Node, "IterVar": IterVar, "PointerType": expr.PointerType})
    nodes["const"] = const
    nodes["CallEffectKind"] = own_intrinsic.CallEffectKind
    nodes.update({"indexdiv": te.indexdiv, "indexmod": te.indexmod, "div": te.div})
    return {**nodes, **tir_rooms(nodes)}


def _target_names() -> Tree:
    return {
        **_public(target),
        "create": target.Target,
        **gpu_targets(),
        "codegen": {
            "build_module": _build_module,
            "llvm_lookup_intrinsic_id": llvm_names.llvm_lookup_intrinsic_id,
            "llvm_get_intrinsic_name": llvm_names.llvm_get_intrinsic_name,
        },
        "target": _public(target),
        "register_intrin_rule": own_intrinsic.register_intrin_rule,
    }


def _contrib_names() -> Tree:
    return {
        "graph_executor": graph_executor_names(),
        "graph_runtime": graph_executor_names(),
        "utils": {"tempdir": tempdir, "TempDirectory": TempDirectory},
        "util": {"tempdir": tempdir, "TempDirectory": TempDirectory},
        "pickle_memoize": {"memoize": memoize},
        **llvm_names.compiler_rooms(),
    }


def _ir_names() -> Tree:
    texts: dict[str, object] = {
        **{name: _on_objects(getattr(structural, name)) for name in _STRUCTURAL},
        **_public(json_text),
        "save_json": _on_objects(json_text.save_json),
        "make_node": made_nodes.make_node,
        "EnvFunc": made_nodes.EnvFunc,
    }
    return {
        **texts,
        "IRModule": IRModule,
        "module": {"IRModule": IRModule},
        "base": texts,
        "Range": Range,
        "expr": {"Range": Range, "PrimExpr": expr.Node, "GlobalVar": func.GlobalVar},
        "container": container_names(),
        "Op": calls.Op,
        "DictAttrs": made_nodes.DictAttrs,
        "GlobalVar": func.GlobalVar,
        "BaseFunc": func.PrimFunc,
        "CallingConv": CallingConv,
        **_intrinsic_names(),
        "PrimExpr": expr.Node,
        "PointerType": expr.PointerType,
        "PrimType": expr.PrimType,
        **container_names(),
        "transform": _transform_names(),
        "instrument": _public(instrument),
    }


def _driver_names() -> Tree:
    return {
        "lower": build_module.lower_generic,
        "build": build_module.build_generic,
        "build_module": {
            "lower": build_module.lower_generic,
            "build": build_module.build_generic,
            "schedule_to_module": build_module.schedule_to_module,
            "get_binds": post_proc.get_binds,
        },
    }


def _build_module(mod: func.IRModule, target: "str | target.Target") -> object:
    """Return the compiled module of one that is lowered."""
    return build_module.build_generic(mod, target=target)


def _intrinsic_names() -> Tree:
    names = ("register_intrin_lowering", "register_op_attr")
    return {name: getattr(own_intrinsic, name) for name in names}


def _arith_names() -> Tree:
    solvers = {
        "solve_linear_equations": linear_equations.solve_linear_equations,
        "solve_linear_inequalities": linear_inequalities.solve_linear_inequalities,
        "IntConstraints": int_constraints.IntConstraints,
        "IntConstraintsTransform": int_constraints.IntConstraintsTransform,
    }
    return {
        **_public(int_set),
        **_public(tvm_analyzer),
        **_public(iter_map),
        "Analyzer": tvm_analyzer.TvmAnalyzer,
        "ModularSet": modular.ModularSet,
        "deduce_bound": deduce.deduce_bound,
        "estimate_region_lower_bound": region_lower_bound.estimate_region_lower_bound,
        **solvers,
        "int_solver": solvers,
        "bound": {"deduce_bound": deduce.deduce_bound},
        "pattern": {name: getattr(tvm_analyzer, name) for name in ("detect_clip_bound", "detect_linear_equation")},
        "iter_affine_map": _public(iter_map),
        "_ffi_api": {"DomainTouched": touched.domain_touched},
        "int_set": _public(int_set),
        "analyzer": {
            "Analyzer": tvm_analyzer.TvmAnalyzer,
            "ModularSet": modular.ModularSet,
            "ConstIntBound": tvm_analyzer.ConstIntBound,
        },
    }


def _te_names() -> Tree:
    names = {**_public(te), **{name: getattr(math_ops, name) for name in math_ops.__all__}}
    names["schedule"] = {
        **_public(te.schedule),
        **{name: getattr(relations, name) for name in ("Fuse", "Singleton", "Split")},
        "Buffer": buffer.Buffer,
        "IterVar": IterVar,
        "TensorIntrin": te.TensorIntrin,
        "CreateReadGraph": read_graph.CreateReadGraph,
        "PostDFSOrder": read_graph.PostDFSOrder,
        **_public(scan_analysis),
        "ScheduleOps": lower.ScheduleOps,
        **_public(post_proc),
    }
    hybrid_words = Plain(te.hybrid.HYBRID_GLOBALS)
    names["hybrid"] = {
        **_public(te.hybrid),
        "HYBRID_GLOBALS": hybrid_words,
        "runtime": {"HYBRID_GLOBALS": hybrid_words},
    }
    kinds = ("ComputeOp", "ExternOp", "HybridOp", "Operation", "PlaceholderOp", "ScanOp")
    ops = {name: getattr(te, name) for name in kinds}
    names.update(te_rooms())
    names["tensor"] = {"Tensor": te.Tensor, "TensorSlice": te.TensorSlice, **ops}
    return names


def _transform_names() -> Tree:
    names = {name: getattr(pass_objects, name) for name in ("module_pass", "PrintIR")}
    return {
        **names,
        "Sequential": Sequential,
        "PassContext": transform.PassContext,
        "PassInfo": instrument.PassInfo,
        "Pass": pass_objects.ModulePass,
        "ModulePass": pass_objects.ModulePass,
    }
