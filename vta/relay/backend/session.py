"""``InferenceSession``: a network, from its file to its results, with onnxruntime's interface.

Tests: tests/vta/relay/backend/test_session.py.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx

from isa.config import VTAConfig
from isa.errors import VTAError
from runtime.executor.container import is_container, load_network, save_network
from runtime.executor.network import Network, Tensor
from runtime.executor.runner import NetworkRunner, NodeRun
from runtime.session import Session
from vta.environment import Environment, get_env
from vta.relay.backend.build import Built, Progress, build_network
from vta.relay.backend.host import OPERATORS_OF_HOST
from vta.relay.ir.types import Array
from vta.relay.onnx.importer import Shapes, from_onnx
from vta.relay.onnx.loading import load_model

__all__ = ["BATCH", "InferenceError", "InferenceSession", "compile_model"]

BATCH = "batch"
"""In a network's origin: the dimension that all inputs and outputs begin with, which the model left open."""


class InferenceError(VTAError, ValueError):
    """Inputs or outputs that a network does not have."""


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


class InferenceSession:
    """Runs a network: an ONNX model, which is compiled first, or a compiled one (``.vtam``).

    ``target`` is a device's name (``sim``, ``tsim``, ``reference``); the environment's by default. ``shapes`` settles
    what an ONNX model leaves open. Inputs of a batch that is a multiple of the network's are run piece by piece.

    Attributes
    ----------
    network : Network
        What is run.
    nodes : tuple[NodeRun, ...]
        What each step of the last piece took.
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
        self.built: Built | None = None
        if isinstance(model, Network):
            self.network = model
        elif not isinstance(model, onnx.ModelProto) and _is_compiled(model):
            self.network = load_network(model)
        else:
            self.built = compile_model(model, env or get_env(), shapes, jobs=jobs, progress=progress)
            self.network = self.built.network
        config: VTAConfig = self.network.config
        chosen = env or get_env()
        session = Session(config, target or chosen.TARGET, setup=chosen.hardware)
        self._runner = NetworkRunner(self.network, session, operators=OPERATORS_OF_HOST)

    @property
    def runner(self) -> NetworkRunner:
        """What runs the network."""
        return self._runner

    @property
    def device(self) -> Session:
        """The device's session, to record or inspect what it does."""
        return self._runner.session

    @property
    def nodes(self) -> tuple[NodeRun, ...]:
        """What each step of the last run took."""
        return self._runner.nodes

    def get_inputs(self) -> list[Tensor]:
        """Return the inputs: name, shape, dtype."""
        return [self.network.tensor(name) for name in self.network.inputs]

    def get_outputs(self) -> list[Tensor]:
        """Return the outputs: name, shape, dtype."""
        return [self.network.tensor(name) for name in self.network.outputs]

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, npt.ArrayLike]) -> list[Array]:
        """Return the outputs that are named, all of them for None, for inputs by name. Raises ``InferenceError``."""
        wanted = list(self.network.outputs) if output_names is None else list(output_names)
        unknown = [name for name in wanted if name not in self.network.outputs]
        if unknown:
            raise InferenceError(f"the network has outputs {', '.join(self.network.outputs)}, not {unknown[0]!r}")
        pieces = self._pieces({name: np.asarray(value) for name, value in input_feed.items()})
        made = [self._runner.run(piece) for piece in pieces]
        return [made[0][name] if len(made) == 1 else np.concatenate([m[name] for m in made]) for name in wanted]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the compiled network to a file."""
        save_network(self.network, path)

    def _pieces(self, feed: dict[str, Array]) -> list[dict[str, Array]]:
        """Return the inputs of each run: the whole, or as many pieces as its batch has of the network's."""
        tensors = self.get_inputs()
        if BATCH not in self.network.origin or set(feed) != {tensor.name for tensor in tensors}:
            return [feed]
        counts = set()
        for tensor in tensors:
            array = feed[tensor.name]
            if (
                array.ndim != len(tensor.shape)
                or array.shape[1:] != tensor.shape[1:]
                or array.shape[0] % tensor.shape[0]
            ):
                return [feed]  # the runner says what is wrong with it
            counts.add(array.shape[0] // tensor.shape[0])
        if len(counts) != 1 or counts == {0}:
            return [feed]
        [count] = counts
        return [
            {t.name: feed[t.name][piece * t.shape[0] : (piece + 1) * t.shape[0]] for t in tensors}
            for piece in range(count)
        ]


def _is_compiled(path: str | os.PathLike[str]) -> bool:
    try:
        with open(path, "rb") as file:
            return is_container(file.read(8))
    except OSError:
        return False
