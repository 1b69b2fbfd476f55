"""What ``tvm.relay`` and ``tvm.contrib.graph_executor`` give to a script, and names that are for both kinds of modules.

Tests: tests/vta/compat/test_relay_names.py.
"""

import os
from types import SimpleNamespace

from runtime.executor.container import is_container
from runtime.executor.operators.types import RelayError, TensorType, TupleType
from vta import pass_objects
from vta.codegen import Module
from vta.codegen import load_module as load_object
from vta.compat.answer import Tree
from vta.compat.small_names import RelayPart, get_pad_tuple2d
from vta.relay.front import build, graph_executor, operators, passes, values
from vta.relay.ir import module as graphs
from vta.relay.ir import nodes
from vta.rpc import local
from vta.tir import func

__all__ = ["IRModule", "LocalSession", "Sequential", "graph_executor_names", "load_module", "relay_names"]


class _OfBoth(type):
    """Modules of functions and modules of graphs are instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, func.IRModule | graphs.IRModule)


class IRModule(func.IRModule, metaclass=_OfBoth):
    """``tvm.IRModule``, whose ``from_expr`` takes functions of both kinds."""

    @staticmethod
    def from_expr(function: func.PrimFunc | nodes.Function) -> func.IRModule | graphs.IRModule:  # type: ignore[override]
        """Return the module of one function."""
        if isinstance(function, nodes.Function):
            return graphs.IRModule.from_expr(function)
        return func.IRModule.from_expr(function)


def Sequential(  # noqa: N802  # TVM's name
    passes_: "list[object] | tuple[object, ...]" = (), **options: object
) -> pass_objects.Sequential | passes.Sequential:
    """Return passes over graphs, or over functions, one after the other."""
    graph_passes = [each for each in passes_ if isinstance(each, passes.GraphPass)]
    if graph_passes and len(graph_passes) == len(passes_):
        return passes.Sequential(graph_passes, **options)  # type: ignore[arg-type]  # TVM's options
    return pass_objects.Sequential(passes_, **options)  # type: ignore[arg-type]


class LocalSession(local.LocalSession):
    """``rpc.LocalSession``, which loads compiled graphs as well."""

    def load_module(self, path: str) -> Module | build.Factory:  # type: ignore[override]  # graphs, too
        """Load what was uploaded; its configuration must be that of the device."""
        where = self.local_path(path)
        module = load_module(where)
        config = module.network.config if isinstance(module, build.Factory) else module.config
        self.session.require_config(config, f"module {path!r}")
        return module


def load_module(path: str | os.PathLike[str], *args: object) -> Module | build.Factory:
    """Return what ``export_library`` wrote: a compiled graph, or compiled functions."""
    try:
        with open(path, "rb") as file:
            graph = is_container(file.read(8))
    except OSError:
        graph = False
    return build.load_module(path) if graph else load_object(path, *args)


def _from_onnx(*args: object, **options: object) -> object:
    """Return a model as a module; ONNX is an extra, and is imported now."""
    from vta.relay.front.frontend import from_onnx

    return from_onnx(*args, **options)  # type: ignore[arg-type]


def _from_keras(*args: object, **options: object) -> object:
    """Return a Keras model as a module, through ONNX."""
    from vta.relay.front.frontend import from_keras

    return from_keras(*args, **options)  # type: ignore[arg-type]


def _from_pytorch(*args: object, **options: object) -> object:
    """Return a PyTorch module as a module, through ONNX."""
    from vta.relay.front.frontend import from_pytorch

    return from_pytorch(*args, **options)  # type: ignore[arg-type]


def _qconfig(**settings: object) -> object:
    """Return settings of ``quantize`` for use with ``with``."""
    from vta.relay.front.quantize import qconfig

    return qconfig(**settings)


def _quantize(*args: object, **options: object) -> object:
    """Return a graph with int8 numbers; ONNX is an extra, which quantising shares its code with."""
    from vta.relay.front.quantize import quantize

    return quantize(*args, **options)  # type: ignore[arg-type]


def _op(name: str) -> SimpleNamespace:
    """Return the operator called ``name``, as what names layers to ``autotvm.task.extract_from_program``."""
    if name not in operators.FUNCTIONS:
        raise RelayError(f"relay.op.get: there is no operator {name!r}; docs/networks.md lists them")
    return SimpleNamespace(name=name)


def relay_names() -> Tree:
    """Return the names below ``tvm.relay``."""
    plain = {name: make for name, make in operators.FUNCTIONS.items() if "." not in name}
    built = {name: getattr(build, name) for name in ("bind_params_by_name", "build", "create_executor")}
    made = {name: getattr(values, name) for name in values.__all__ if name != "expr_of"}
    rooms = {name: dict(vars(getattr(operators, name))) for name in ("image", "nn")}
    rooms["nn"]["get_pad_tuple2d"] = get_pad_tuple2d
    of_passes = {name: getattr(passes, name) for name in passes.__all__ if name != "enabled_passes"}
    return {
        **plain,
        **rooms,
        **built,
        **made,
        **{name: getattr(nodes, name) for name in ("Call", "Constant", "Function", "GlobalVar", "Let", "Tuple", "Var")},
        "TupleGetItem": nodes.TupleGetItem,
        "TensorType": TensorType,
        "TupleType": TupleType,
        "op": {**plain, **rooms, "get": _op},
        "qnn": {"op": vars(operators.qnn.op)},
        "build_module": built,
        "backend": {"Runtime": RelayPart, "Executor": RelayPart},
        "transform": of_passes,
        "frontend": {"from_keras": _from_keras, "from_onnx": _from_onnx, "from_pytorch": _from_pytorch},
        "quantize": {"qconfig": _qconfig, "quantize": _quantize},
    }


def graph_executor_names() -> Tree:
    """Return the names below ``tvm.contrib.graph_executor``, and of its older name."""
    return {name: getattr(graph_executor, name) for name in graph_executor.__all__}
