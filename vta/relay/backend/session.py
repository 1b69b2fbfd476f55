"""``InferenceSession``: a network, from its file to its results, with onnxruntime's interface.

Tests: tests/vta/relay/backend/test_session.py.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import onnx

from runtime.executor.container import is_container
from runtime.executor.network import Network
from runtime.executor.session import BATCH, NetworkSession
from vta.environment import Environment, get_env
from vta.relay.backend.build import Built, Progress, build_network
from vta.relay.onnx.importer import Shapes, from_onnx
from vta.relay.onnx.loading import load_model

__all__ = ["InferenceSession", "compile_model"]


def compile_model(
    model: str | os.PathLike[str] | onnx.ModelProto,
    env: Environment,
    shapes: Shapes | None = None,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: bool = True,
) -> Built:
    """Return an ONNX model compiled for ``env``; a batch that it leaves open is one, unless ``shapes`` has it."""
    loaded = model if isinstance(model, onnx.ModelProto) else load_model(model)
    batch = _open_batch(loaded)
    sizes: dict[str, int | Sequence[int]] = {**({batch: 1} if batch else {}), **(shapes or {})}
    origin = {"source": Path(os.fspath(model)).name if not isinstance(model, onnx.ModelProto) else loaded.graph.name}
    if batch:
        origin[BATCH] = batch
    function = from_onnx(model if not isinstance(model, onnx.ModelProto) else loaded, sizes)
    outputs = [value.name for value in loaded.graph.output]
    return build_network(function, env, jobs=jobs, progress=progress, cache=cache, origin=origin, outputs=outputs)


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

    ``target`` is a device's name (``sim``, ``tsim``, ``reference``); the environment's by default. ``shapes`` settles
    what an ONNX model leaves open. ``built`` is what was compiled, None for a network that was compiled before.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | onnx.ModelProto | Network,
        shapes: Shapes | None = None,
        *,
        env: Environment | None = None,
        target: str | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        chosen = env or get_env()
        self.built: Built | None = None
        if isinstance(model, Network) or (not isinstance(model, onnx.ModelProto) and _is_compiled(model)):
            network: str | os.PathLike[str] | Network = model
        else:
            self.built = compile_model(model, chosen, shapes, jobs=jobs, progress=progress)
            network = self.built.network
        super().__init__(network, target or chosen.TARGET, setup=chosen.hardware)


def _is_compiled(path: str | os.PathLike[str]) -> bool:
    try:
        with open(path, "rb") as file:
            return is_container(file.read(8))
    except OSError:
        return False
