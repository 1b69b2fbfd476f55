"""``InferenceSession``: a network, from its file to its results, with onnxruntime's interface.

Tests: tests/vta/relay/backend/test_session.py.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import onnx

from isa.limits import DEFAULT_LIMITS, Budget, LimitError, Limits
from runtime.executor.container import is_container, load_network
from runtime.executor.lifetimes import spend_on_running
from runtime.executor.network import Network
from runtime.executor.operators.types import TensorType, TupleType, Type
from runtime.executor.session import BATCH, NetworkSession
from runtime.session import Session
from vta.environment import Environment, get_env
from vta.relay.backend.build import Built, Progress, build_network
from vta.relay.backend.host_functions import host_functions
from vta.relay.ir.nodes import Call, Function
from vta.relay.ir.origin import where
from vta.relay.ir.traverse import post_order
from vta.relay.onnx.errors import OnnxError
from vta.relay.onnx.importer import Shapes, from_onnx
from vta.relay.onnx.loading import load_model, loaded_bytes

__all__ = ["InferenceSession", "compile_model", "imported_model"]


def compile_model(
    model: str | os.PathLike[str] | onnx.ModelProto,
    env: Environment,
    shapes: Shapes | None = None,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> Built:
    """Return an ONNX model compiled for ``env``; a batch that it leaves open is one, unless ``shapes`` has it.

    What it takes of memory, also when it is run, is at most what ``limits`` has for a model of its size; ``OnnxError``
    if it were more.
    """
    loaded = model if isinstance(model, onnx.ModelProto) else load_model(model, limits=limits)
    budget = limits.budget(loaded_bytes(loaded), "model")
    try:
        return _compiled(loaded, env, shapes, budget, jobs=jobs, progress=progress, cache=cache, name=_name(model))
    except (OnnxError, LimitError) as error:
        raise OnnxError(f"{_place(model)}: {error}") from None


def _name(model: str | os.PathLike[str] | onnx.ModelProto) -> str:
    """Return what a network says that it was made of."""
    return str(model.graph.name) if isinstance(model, onnx.ModelProto) else Path(os.fspath(model)).name


def imported_model(
    model: str | os.PathLike[str] | onnx.ModelProto,
    shapes: Shapes | None = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
) -> Function:
    """Return an ONNX model as a graph; a batch that it leaves open is one, unless ``shapes`` has it."""
    loaded = model if isinstance(model, onnx.ModelProto) else load_model(model, limits=limits)
    budget = limits.budget(loaded_bytes(loaded), "model")
    try:
        return _imported(loaded, shapes, budget)
    except (OnnxError, LimitError) as error:
        raise OnnxError(f"{_place(model)}: {error}") from None


def _place(model: str | os.PathLike[str] | onnx.ModelProto) -> str:
    return "the model" if isinstance(model, onnx.ModelProto) else os.fspath(model)


def _imported(loaded: onnx.ModelProto, shapes: Shapes | None, budget: Budget) -> Function:
    batch = _open_batch(loaded)
    function = from_onnx(loaded, {**({batch: 1} if batch else {}), **(shapes or {})})
    _require_sizes(function, budget)
    return function


def _compiled(
    loaded: onnx.ModelProto,
    env: Environment,
    shapes: Shapes | None,
    budget: Budget,
    *,
    jobs: int | None,
    progress: Progress | None,
    cache: bool,
    name: str,
) -> Built:
    origin, batch = {"source": name}, _open_batch(loaded)
    if batch:
        origin[BATCH] = batch
    function = _imported(loaded, shapes, budget)
    outputs = [value.name for value in loaded.graph.output]
    built = build_network(function, env, jobs=jobs, progress=progress, cache=cache, origin=origin, outputs=outputs)
    spend_on_running(built.network, budget)
    return built


def _require_sizes(function: Function, budget: Budget) -> None:
    """Raise ``LimitError`` for a tensor that alone is too large, before anything is computed or searched for it."""
    for expr in post_order(function.body):
        what = where(str(expr.callee), expr.origins) if isinstance(expr, Call) else "the model"
        for kind in _tensors(expr.type):
            budget.part().spend(kind.nbytes, f"{what}: a tensor of shape {kind.shape}")


def _tensors(of: Type) -> Iterator[TensorType]:
    match of:
        case TensorType():
            yield of
        case TupleType():
            for field in of.fields:
                yield from _tensors(field)


def _open_batch(model: onnx.ModelProto) -> str:
    """Return the name of the open dimension that every input begins with, or nothing."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    firsts = {
        value.type.tensor_type.shape.dim[0].dim_param if value.type.tensor_type.shape.dim else "" for value in inputs
    }
    return firsts.pop() if len(firsts) == 1 else ""


class InferenceSession(NetworkSession):
    """Runs a network: an ONNX model, which is compiled first, or a compiled one (``.vtam``).

    ``target`` is a device's name (``sim``, ``tsim``, ``reference``) or a session; by default that which the environment
    was given (``run_on``, ``vta run --board``), or else a device of its TARGET. ``shapes`` settles what an ONNX model
    leaves open, ``limits`` how much memory a file may take. ``built`` is what was compiled, None for a network that was
    compiled before. What the host computes is compiled as well, where that pays.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | onnx.ModelProto | Network,
        shapes: Shapes | None = None,
        *,
        env: Environment | None = None,
        target: str | Session | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        chosen = env or get_env()
        place = target or chosen.given_session or chosen.TARGET
        self.built: Built | None = None
        if isinstance(model, Network) or (not isinstance(model, onnx.ModelProto) and _is_compiled(model)):
            network = model if isinstance(model, Network) else load_network(model, limits=limits)
        else:
            self.built = compile_model(model, chosen, shapes, jobs=jobs, progress=progress, limits=limits)
            network = self.built.network
        fused = host_functions(network, jobs=jobs)
        super().__init__(network, place, setup=chosen.hardware, limits=limits, fused=fused)


def _is_compiled(path: str | os.PathLike[str]) -> bool:
    try:
        with open(path, "rb") as file:
            return is_container(file.read(8))
    except OSError:
        return False
