"""``graph_executor`` under TVM's names: a compiled network's inputs, a run, its outputs.

Tests: tests/vta/relay/front/test_graph_executor.py.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from runtime.evaluator import BenchmarkResult, Evaluator
from runtime.executor.network import Network, NetworkError
from runtime.executor.operators.types import Array
from runtime.executor.runner import NetworkRunner, NodeRun
from vta import nd
from vta.environment import get_env
from vta.relay.backend.host_functions import host_functions

__all__ = ["BenchmarkResult", "GraphModule", "RuntimeModule", "create"]


class _Library(Protocol):
    """What has a network in it."""

    network: Network


class RuntimeModule:
    """A network on a device: on the session of the first accelerator among ``devices``, else of the environment's."""

    def __init__(self, network: Network, *devices: nd.Device | Sequence[nd.Device]) -> None:
        flat = [each for given in devices for each in (given if isinstance(given, Sequence) else (given,))]
        sessions = [each.session for each in flat if each.session is not None]
        self.network = network
        session = sessions[0] if sessions else get_env().session
        self.runner = NetworkRunner(network, session, fused=host_functions(network))
        self.inputs: dict[str, Array] = {}
        self.outputs: dict[str, Array] = {}

    def run(self) -> None:
        """Run once with the inputs that were set; raises ``NetworkError`` for one that was not."""
        missing = [name for name in self.network.inputs if name not in self.inputs]
        if missing:
            raise NetworkError(f"input {missing[0]!r} was not set; give it to set_input")
        self.outputs = self.runner.run(self.inputs)

    def time_evaluator(
        self,
        func_name: str,
        dev: object = None,  # noqa: ARG002  # TVM's signature
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
    ) -> Callable[[], BenchmarkResult]:
        """Return what runs ``repeat`` times ``number`` times and gives the seconds of a run, for each repetition."""
        if func_name != "run":
            raise NetworkError(f"what is timed is 'run', not {func_name!r}")
        return Evaluator(self.run, number=number, repeat=repeat, min_repeat_ms=min_repeat_ms)


class GraphModule:
    """Sets inputs, runs, and gets outputs of ``module``, by name or number."""

    def __init__(self, module: RuntimeModule) -> None:
        self.module = module

    def set_input(
        self,
        key: str | int | None = None,
        value: npt.ArrayLike | nd.NDArray | None = None,
        **params: npt.ArrayLike | nd.NDArray,
    ) -> None:
        """Set one input, and those among ``params`` that the network has: others are constants in it."""
        if key is not None:
            name = self._input_name(key)
            if value is None:
                raise NetworkError(f"input {name!r} is set to a value, and none was given")
            self._set(name, value)
        for name, given in params.items():
            if name in self.module.network.inputs:
                self._set(name, given)

    def run(self, **input_dict: npt.ArrayLike | nd.NDArray) -> None:
        """Run once, with these inputs set first."""
        for name, value in input_dict.items():
            self._set(self._input_name(name), value)
        self.module.run()

    def get_num_inputs(self) -> int:
        """Return how many inputs there are."""
        return len(self.module.network.inputs)

    def get_num_outputs(self) -> int:
        """Return how many outputs there are."""
        return len(self.module.network.outputs)

    def get_input(self, index: int | str, out: nd.NDArray | None = None) -> nd.NDArray:
        """Return an input as it was set."""
        name = self._input_name(index)
        if name not in self.module.inputs:
            raise NetworkError(f"input {name!r} was not set")
        return _given(self.module.inputs[name], out)

    def get_input_index(self, name: str) -> int:
        """Return the number of an input, -1 if there is none of that name."""
        inputs = self.module.network.inputs
        return inputs.index(name) if name in inputs else -1

    def get_input_info(self) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
        """Return shapes and element types of the inputs, by name."""
        tensors = [self.module.network.tensor(name) for name in self.module.network.inputs]
        return {t.name: t.shape for t in tensors}, {t.name: t.dtype for t in tensors}

    def get_output(self, index: int | str, out: nd.NDArray | None = None) -> nd.NDArray:
        """Return an output of the last run; into ``out``, if it is given."""
        names = self.module.network.outputs
        name = self._named(index, names, "output")
        if name not in self.module.outputs:
            raise NetworkError("there are no outputs yet: run the module first")
        return _given(self.module.outputs[name], out)

    def benchmark(
        self, device: object, func_name: str = "run", repeat: int = 5, number: int = 5, min_repeat_ms: int = 0
    ) -> BenchmarkResult:
        """Return the seconds of a run."""
        return self.module.time_evaluator(func_name, device, number, repeat, min_repeat_ms)()

    @property
    def nodes(self) -> tuple[NodeRun, ...]:
        """What each step of the last run took."""
        return self.module.runner.nodes

    def __getitem__(self, name: str) -> object:
        """Return a method by name, as of a packed function."""
        if name.startswith("_") or not callable(getattr(self, name, None)):
            raise NetworkError(f"the module has no function {name!r}")
        return getattr(self, name)

    def _set(self, name: str, value: npt.ArrayLike | nd.NDArray) -> None:
        array = value.numpy() if isinstance(value, nd.HostNDArray | nd.DeviceNDArray) else np.asarray(value)
        tensor = self.module.network.tensor(name)
        if array.shape != tensor.shape:
            raise NetworkError(f"input {name!r} has shape {tensor.shape}, not {array.shape}")
        if str(array.dtype) != tensor.dtype:
            raise NetworkError(f"input {name!r} is {tensor.dtype}, not {array.dtype}; convert it with astype")
        self.module.inputs[name] = np.array(array)

    def _input_name(self, key: str | int) -> str:
        return self._named(key, self.module.network.inputs, "input")

    def _named(self, key: str | int, names: Sequence[str], what: str) -> str:
        if isinstance(key, str) and key in names:
            return key
        if isinstance(key, int) and 0 <= key < len(names):
            return names[key]
        raise NetworkError(f"the network has {what}s {', '.join(names)}, not {key!r}")


def create(graph_json_str: str, libmod: _Library, device: nd.Device | Sequence[nd.Device]) -> GraphModule:  # noqa: ARG001
    """Return a module of what ``relay.build`` returned as graph and library; the library has the graph."""
    return GraphModule(RuntimeModule(libmod.network, device))


def _given(array: Array, out: nd.NDArray | None) -> nd.NDArray:
    if out is None:
        return nd.array(array)
    out.copyfrom(array)
    return out
