"""``relay.build`` under TVM's names: a graph, bound to its parameters, as a module that ``graph_executor`` runs.

Tests: tests/vta/relay/front/test_build.py.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.executor.container import load_network, save_network
from runtime.executor.network import Network
from runtime.executor.operators.types import Array, RelayError, TensorType
from vta import nd
from vta.environment import Environment, get_env
from vta.relay.backend.build import Built, build_network
from vta.relay.front.graph_executor import GraphModule, RuntimeModule
from vta.relay.front.passes import enabled_passes
from vta.relay.integer.pipeline import is_quantised, passes_for
from vta.relay.interpreter import run
from vta.relay.ir.module import IRModule
from vta.relay.ir.nodes import Constant, Expr, Function
from vta.relay.ir.traverse import free_vars
from vta.relay.ops.rewrite import replace_nodes
from vta.target import Target

__all__ = ["Factory", "bind_params_by_name", "build", "create_executor", "load_module"]

Params: TypeAlias = Mapping[str, npt.ArrayLike | nd.NDArray]
AnyTarget: TypeAlias = str | Target | Mapping[object, str | Target]


class Factory:
    """A compiled network: ``factory["default"](device)`` makes what runs it.

    It is also the three that ``graph, lib, params = relay.build(...)`` expects. ``built`` says what became of the
    graph; it is None for a module that was loaded from a file.
    """

    def __init__(
        self, network: Network, params: Mapping[str, Array], *, built: Built | None = None, name: str = "default"
    ) -> None:
        self.network = network
        self.built = built
        self.libmod_name = name
        self._params = dict(params)

    def __getitem__(self, name: str) -> Callable[..., RuntimeModule]:
        if name not in ("default", self.libmod_name):
            raise RelayError(f"the module has {self.libmod_name!r}, not {name!r}")
        return lambda *devices: RuntimeModule(self.network, *devices)

    def __iter__(self) -> Iterator[object]:
        return iter((self.get_graph_json(), self, self.get_params()))

    def get_graph_json(self) -> str:
        """Return the steps of the network as JSON, for people; the module itself is what runs."""
        tensors = self.network.tensors
        nodes = [{"op": "null", "name": name, "inputs": []} for name in self.network.inputs]
        nodes += [{"op": "tvm_op", "name": step.node, "inputs": []} for step in self.network.steps]
        heads = [{"name": name, "shape": tensors[name].shape} for name in self.network.outputs]
        return json.dumps({"nodes": nodes, "heads": heads}, indent=2)

    graph_json = property(get_graph_json)

    def get_params(self) -> dict[str, nd.NDArray]:
        """Return the parameters that were bound; the network has them already."""
        return {name: nd.array(value) for name, value in self._params.items()}

    params = property(get_params)

    def get_lib(self) -> "Factory":
        """Return the module."""
        return self

    lib = property(get_lib)

    def export_library(self, file_name: str | os.PathLike[str]) -> None:
        """Write the network to a file, whatever its name ends in; ``load_module`` reads it."""
        save_network(self.network, file_name)


def load_module(path: str | os.PathLike[str]) -> Factory:
    """Return the module that ``export_library`` wrote; raises ``ContainerError``."""
    return Factory(load_network(path), {})


def bind_params_by_name(function: Function, params: Params) -> Function:
    """Return ``function`` with the parameters that ``params`` has as constants; it may have others, too."""
    bound: dict[Expr, Expr] = {}
    for param in function.params:
        if param.name not in params:
            continue
        value = _numpy(params[param.name])
        if TensorType(value.shape, value.dtype.name) != param.type:
            found = TensorType(value.shape, value.dtype.name)
            raise RelayError(f"parameter {param.name!r} is {param.type}, and {found} was given")
        bound[param] = Constant(value, param.name)
    rest = tuple(param for param in function.params if param not in bound)
    return Function(rest, replace_nodes(function.body, bound), function.attrs)


def build(
    ir_mod: IRModule | Function,
    target: AnyTarget | None = None,
    target_host: str | Target | None = None,  # noqa: ARG001  # the host is this one
    params: Params | None = None,
    mod_name: str = "default",
    *,
    env: Environment | None = None,
) -> Factory:
    """Return a graph (of a module: ``main``) compiled for ``target``.

    ``params`` become constants. Targets of kind ``ext_dev`` give to the accelerator what it can do; for others, and for
    none, the host computes everything. What the current ``PassContext`` says of passes holds;
    those that make integers of quantised numbers have no level.
    """
    given = ir_mod["main"] if isinstance(ir_mod, IRModule) else ir_mod
    if not isinstance(given, Function):
        raise RelayError(f"relay.build takes a function or a module of relay, not {type(given).__name__}")
    _require_closed(given)
    values = {name: _numpy(value) for name, value in (params or {}).items()}
    function = bind_params_by_name(given, values)
    built = build_network(
        function,
        env or get_env(),
        passes=enabled_passes(passes_for(function), by_level=not is_quantised(function)),
        accelerator=_has_accelerator(target),
        origin={"source": function.attrs.name or mod_name},
    )
    return Factory(built.network, values, built=built, name=mod_name)


def create_executor(
    kind: str = "graph",
    mod: IRModule | Function | None = None,
    device: nd.Device | None = None,
    target: AnyTarget | None = None,
    params: Params | None = None,
) -> "Executor":
    """Return what evaluates a graph: compiled (``graph``, ``vm``), or by the interpreter (``debug``)."""
    if kind not in ("graph", "vm", "debug"):
        raise RelayError(f"an executor is 'graph', 'vm' or 'debug', not {kind!r}")
    if mod is None:
        raise RelayError("create_executor needs the module that is to run, as mod=")
    function = bind_params_by_name(mod["main"] if isinstance(mod, IRModule) else mod, params or {})
    return Executor(function, kind, device or nd.cpu(), target)


class Executor:
    """Evaluates one function."""

    def __init__(self, function: Function, kind: str, device: nd.Device, target: AnyTarget | None) -> None:
        self._function = function
        self._kind = kind
        self._device = device
        self._target = target

    def evaluate(self) -> Callable[..., object]:
        """Return a Python function from inputs, by position or name, to the result; of several, a list."""
        if self._kind == "debug":
            return lambda *args, **named: _arrays(run(self._function, _given(self._function, args, named)))
        module = GraphModule(build(self._function, self._target)["default"](self._device))

        def call(*args: npt.ArrayLike | nd.NDArray, **named: npt.ArrayLike | nd.NDArray) -> object:
            module.run(**_given(self._function, args, named))
            made = [module.get_output(index) for index in range(module.get_num_outputs())]
            return made[0] if len(made) == 1 else made

        return call


def _given(function: Function, args: tuple[object, ...], named: Mapping[str, object]) -> dict[str, Array]:
    names = [param.name for param in function.params]
    if len(args) > len(names):
        raise RelayError(f"the function takes {len(names)} inputs, not {len(args)}")
    return {name: _numpy(value) for name, value in {**dict(zip(names, args, strict=False)), **named}.items()}


def _arrays(value: object) -> object:
    return [_arrays(each) for each in value] if isinstance(value, tuple) else nd.array(np.asarray(value))


def _require_closed(function: Function) -> None:
    unknown = [each.name for each in free_vars(function.body) if each not in function.params]
    if unknown:
        raise RelayError(f"the body reads variable {unknown[0]!r}, which is not among the function's parameters")


def _has_accelerator(target: AnyTarget | None) -> bool:
    if target is None or isinstance(target, str | Target):
        targets = [target if target is not None else Target.current(allow_none=True)]
    else:
        targets = [*target.values()]
    return any(each is not None and Target(each).kind == "ext_dev" for each in targets)


def _numpy(value: object) -> Array:
    return value.numpy() if isinstance(value, nd.HostNDArray | nd.DeviceNDArray) else np.asarray(value)
