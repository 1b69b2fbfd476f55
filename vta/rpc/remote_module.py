"""Modules and networks on a server: calling them, and measuring where they are.

Tests: tests/vta/rpc/test_remote.py.
"""

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runtime.evaluator import BenchmarkResult, TimingError
from runtime.executor.network import Tensor
from vta.codegen.arguments import ArgumentError
from vta.codegen.function_table import FunctionTable
from vta.codegen.module import Module
from vta.nd import CPU, array
from vta.rpc.caller import Caller
from vta.rpc.messages.fields import Fields, MessageError
from vta.rpc.messages.wire import CHUNK, Value
from vta.rpc.remote_array import RemoteArray, RemoteDevice, arrays_of

__all__ = ["RemoteFunction", "RemoteModule", "RemoteNetwork", "pieces_of", "sent_module"]

Array = npt.NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class RemoteFunction:
    """One function of a remote module."""

    module: "RemoteModule"
    name: str
    text: str

    def __call__(self, *arguments: object) -> None:
        """Run it there; arguments are arrays of the same session, and numbers."""
        module = self.module
        told = [_argument(module.caller, self.name, argument) for argument in arguments]
        module.caller.call("call", module=module.number, function=self.name, arguments=told)

    def __repr__(self) -> str:
        return f"<remote function {self.text}>"


class RemoteModule(FunctionTable[RemoteFunction]):
    """A module that a server has loaded. ``module(...)`` calls its first function, as a local one's does."""

    def __init__(self, caller: Caller, answer: Fields) -> None:
        named = map(_function, answer.entries("functions"))
        super().__init__({name: RemoteFunction(self, name, text) for name, text in named})
        self.caller = caller
        self.number = answer.number("module")

    def time_evaluator(
        self,
        func_name: str,
        dev: object = None,  # noqa: ARG002  # TVM's signature
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
    ) -> Callable[..., BenchmarkResult]:
        """Return what measures a function on the server: the network is not part of it."""
        if number < 1 or repeat < 1:
            raise TimingError(f"number and repeat are at least 1, not {number} and {repeat}")
        function = self.get_function(func_name)

        def evaluate(*arguments: object) -> BenchmarkResult:
            told = [_argument(self.caller, func_name, argument) for argument in arguments]
            answer = self.caller.call(
                "time", module=self.number, function=function.name, arguments=told,
                number=number, repeat=repeat, min_repeat_ms=min_repeat_ms,
            )  # fmt: skip
            return BenchmarkResult(tuple(float(each) for each in answer.entries("results") if isinstance(each, float)))

        return evaluate

    def __repr__(self) -> str:
        return f"<remote module: {'; '.join(function.text for function in self.functions.values())}>"


class RemoteNetwork:
    """A network that a server has loaded; ``run`` gives it inputs and returns outputs, by name."""

    def __init__(self, caller: Caller, answer: Fields) -> None:
        self.caller = caller
        self.number = answer.number("network")
        self.inputs = tuple(map(_tensor, answer.entries("inputs")))
        self.outputs = tuple(map(_tensor, answer.entries("outputs")))

    def run(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, Array]:
        """Return the outputs for these inputs."""
        place = RemoteDevice(CPU, 0, caller=self.caller)
        there = {name: array(np.asarray(value), place) for name, value in inputs.items()}
        numbers = {name: made.number for name, made in there.items() if isinstance(made, RemoteArray)}
        answer = self.caller.call("run_network", network=self.number, inputs=numbers)
        return {name: made.numpy() for name, made in arrays_of(self.caller, answer).items()}


def sent_module(caller: Caller, module: Module) -> RemoteModule:
    """Return a module of this process as one of the session: saved, sent and loaded there the first time."""
    known = caller.sent.get(module)
    if isinstance(known, RemoteModule):
        return known
    with tempfile.TemporaryDirectory(prefix="vta-sent-") as folder:
        path = Path(folder, "module.o")
        module.save(path)
        data = path.read_bytes()
    name = f"{hashlib.sha256(data).hexdigest()}.o"
    caller.calls("upload", pieces_of(name, data))
    made = caller.sent[module] = RemoteModule(caller, caller.call("load_module", name=name))
    return made


def pieces_of(name: str, content: bytes) -> Iterator[Mapping[str, object]]:
    """Yield what an upload says, piece by piece."""
    for offset in range(0, max(len(content), 1), CHUNK):
        data, last = content[offset : offset + CHUNK], offset + CHUNK >= len(content)
        yield {"name": name, "offset": offset, "data": data, "last": last}


def _argument(caller: Caller, function: str, argument: object) -> list[object]:
    match argument:
        case RemoteArray() if argument.caller is caller:
            return ["array", argument.number]
        case bool() | int() | float():
            return ["number", argument]
        case np.integer() | np.floating():
            return ["number", argument.item()]
        case _:
            raise ArgumentError(
                f"{function}: argument {argument!r} is not on this session; copy it with "
                "vta.nd.array(a, remote.ext_dev(0)), or remote.cpu(0) for a function of the CPU"
            )


def _function(entry: Value) -> tuple[str, str]:
    match entry:
        case {"name": str() as name, "text": str() as text}:
            return name, text
        case _:
            raise MessageError("a function has a name and a text")


def _tensor(entry: Value) -> Tensor:
    match entry:
        case [str() as name, list() as shape, str() as dtype]:
            return Tensor(name, tuple(extent for extent in shape if isinstance(extent, int)), dtype)
        case _:
            raise MessageError("a tensor has a name, a shape and a type")
