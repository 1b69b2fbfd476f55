"""``NetworkSession``: a compiled network, from its file to its results, with onnxruntime's interface.

It needs neither the compiler nor the model: a machine that only runs networks has ``runtime`` and ``isa``.
Tests: tests/runtime/executor/test_session.py, tests/vta/relay/backend/test_session.py.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from isa.errors import VTAError
from isa.limits import DEFAULT_LIMITS, Limits
from runtime.devices.device import HardwareSetup
from runtime.executor.container import load_network, save_network
from runtime.executor.fused import FusedSteps
from runtime.executor.network import Network, Tensor
from runtime.executor.runner import NetworkRunner, NodeRun
from runtime.session import Session

__all__ = ["BATCH", "InferenceError", "NetworkSession"]

Array = npt.NDArray[Any]

BATCH = "batch"
"""In a network's origin: the dimension that all inputs and outputs begin with, which the model left open."""


class InferenceError(VTAError, ValueError):
    """Inputs or outputs that a network does not have."""


class NetworkSession:
    """Runs a compiled network: a ``.vtam`` file, or a network in memory.

    ``target`` is the name of a device (``sim``, ``tsim``, ``reference``) that is made for it, with ``setup`` as its
    hardware, or a session, such as one on a board. ``limits`` says how much memory a file may take, ``fused`` are
    functions for some of the host's steps. Inputs of a batch that is a multiple of the network's are run piece by
    piece.

    Attributes
    ----------
    network : Network
        What is run.
    nodes : tuple[NodeRun, ...]
        What each step of the last piece took.
    """

    def __init__(
        self,
        network: str | os.PathLike[str] | Network,
        target: str | Session = "sim",
        *,
        setup: HardwareSetup | None = None,
        limits: Limits = DEFAULT_LIMITS,
        fused: Sequence[FusedSteps] = (),
    ) -> None:
        self.network = network if isinstance(network, Network) else load_network(network, limits=limits)
        device = Session(self.network.config, target, setup=setup) if isinstance(target, str) else target
        self._runner = NetworkRunner(self.network, device, fused=fused)

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
