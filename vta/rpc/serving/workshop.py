"""What a device's process does for one session: arrays, modules, networks and programs, by number.

Every method that a client may ask for is in ``OPERATIONS``; each takes a message's fields and returns what is answered.
Tests: tests/vta/rpc/test_remote.py.
"""

import gc
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from isa.config import VTAConfig
from isa.limits import DEFAULT_LIMITS
from isa.program_file import load_program
from runtime.devices.device import HardwareSetup
from runtime.devices.hardware_settings import hardware_setup
from runtime.evaluator import Evaluator
from runtime.executor.container import load_network
from runtime.executor.runner import NetworkRunner
from runtime.memory.array import DeviceArray, HostArray, MappedArray
from vta.codegen.module import Module, load_module
from vta.nd import CPU, EXT_DEV
from vta.rpc.errors import RpcError
from vta.rpc.local import function_of
from vta.rpc.messages.fields import Fields, MessageError
from vta.rpc.messages.wire import CHUNK, Value
from vta.rpc.serving.session_maker import SessionMaker
from vta.rpc.work_folder import plain_path

__all__ = ["OPERATIONS", "Workshop"]

_MOST_THINGS = 1 << 16
"""Arrays, modules and networks that a session may have, each."""

_MOST_CALLS = 1_000_000
"""Calls of one measurement."""

_MOST_ROWS = 1 << 15
"""Rows of calls of one measurement: each is a number of the answer, which is one message."""

Answer = dict[str, object]
T = TypeVar("T")


class Workshop:
    """One session's things. ``folder`` is where its files are, ``maker`` opens the session of its device."""

    def __init__(self, config: VTAConfig, maker: SessionMaker, folder: Path) -> None:
        self.folder, self._maker = folder, maker
        self._opened = ExitStack()
        self.session = self._opened.enter_context(maker.session(config, None))
        self._setup: HardwareSetup | None = None
        """What ``configure`` said of the hardware."""
        self.arrays: dict[int, MappedArray] = {}
        self.modules: dict[int, Module] = {}
        self.networks: dict[int, NetworkRunner] = {}
        self._number = 0

    def close(self) -> None:
        """Give the device back, with everything that was made for it."""
        vars(self).pop("session", None)  # there is none where the device could not be made again
        self.arrays.clear()
        self.modules.clear()
        self.networks.clear()
        self._opened.close()

    def do(self, message: Fields) -> Answer:
        """Do what a message asks for; raises the errors of what it does."""
        name = message.text("op", most=64)
        if name not in OPERATIONS:
            raise MessageError(f"a session does not know how to {name!r}; it has {', '.join(OPERATIONS)}")
        if message.has("released"):
            for number in message.entries("released"):
                if isinstance(number, int):
                    self.arrays.pop(number, None)
        return OPERATIONS[name](self, message)

    def configure(self, message: Fields) -> Answer:
        """Take another configuration or hardware, as long as there is nothing that was made for the one before."""
        config = VTAConfig.from_dict(message.mapping("config"), where="configuration")
        setup = self._setup
        if message.has("hardware"):
            setup = hardware_setup(message.mapping("hardware"))
        if config.digest != self.session.config.digest or setup != self._setup:
            if self.arrays or self.modules or self.networks:
                raise RpcError(
                    f"the session is {self.session.config.bitstream} and has arrays or modules already; reconfigure it "
                    "at its beginning"
                )
            self._change(config, setup)
        return {"config": config.to_dict()}

    def _change(self, config: VTAConfig, setup: HardwareSetup | None) -> None:
        """Make the device anew; if the new one cannot be made, the old one stays what it was."""
        before = self.session.config, self._setup
        self.close()  # and its memory, for which there may be no room beside another one
        gc.collect()
        try:
            self.session = self._opened.enter_context(self._maker.session(config, setup))
        except BaseException:
            self.session = self._opened.enter_context(self._maker.session(*before))
            raise
        self._setup = setup

    def empty(self, message: Fields) -> Answer:
        """Make an array."""
        shape, dtype = message.shape("shape"), message.text("dtype", most=16)
        device = message.number("device", low=CPU, high=EXT_DEV)
        array: MappedArray = HostArray(shape, dtype) if device == CPU else DeviceArray(self.session, shape, dtype)
        return {"array": self._kept(self.arrays, array), "nbytes": array.nbytes, "dtype": array.dtype}

    def write(self, message: Fields) -> Answer:
        """Put bytes into an array."""
        data = message.data("data", most=CHUNK)
        self._array(message.number("array")).span(message.number("offset"), len(data))[:] = np.frombuffer(
            data, np.uint8
        )
        return {}

    def read(self, message: Fields) -> Answer:
        """Return bytes of an array."""
        array = self._array(message.number("array"))
        return {"data": array.span(message.number("offset"), message.number("nbytes", high=CHUNK)).tobytes()}

    def load_module(self, message: Fields) -> Answer:
        """Load an object file: native code, which runs in this process alone."""
        name = message.text("name", most=1024)
        module = load_module(plain_path(self.folder, name))
        self.session.require_config(module.config, f"module {name!r}")
        _ = module.linked
        functions = [
            {"name": info.name, "uses_device": info.uses_device, "text": str(info)}
            for info in module.metadata.functions
        ]
        return {"module": self._kept(self.modules, module), "functions": functions}

    def call(self, message: Fields) -> Answer:
        """Call a function of a module once."""
        module = self._module(message)
        module.get_function(message.text("function"))(*self._arguments(message))
        return {}

    def time(self, message: Fields) -> Answer:
        """Measure calls of a function here, where no network is in between."""
        number = message.number("number", low=1, high=_MOST_CALLS)
        repeat = message.number("repeat", low=1, high=_MOST_ROWS)
        least = message.number("min_repeat_ms", high=3_600_000)
        function = self._module(message).get_function(message.text("function"))
        evaluator = Evaluator(function, number=number, repeat=repeat, min_repeat_ms=least)
        return {"results": list(evaluator(*self._arguments(message)).results)}

    def function(self, message: Fields) -> Answer:
        """Call a function of the session by TVM's name."""
        value = function_of(self.session, message.text("name"))(*message.entries("arguments"))
        return {"value": value if isinstance(value, int | str | float | None) else None}

    def load_network(self, message: Fields) -> Answer:
        """Load a compiled network: data alone."""
        name = message.text("name", most=1024)
        network = load_network(plain_path(self.folder, name))
        runner = NetworkRunner(network, self.session)
        tensors = [network.tensor(each) for each in (*network.inputs, *network.outputs)]
        told = [[each.name, list(each.shape), each.dtype] for each in tensors]
        many = len(network.inputs)
        return {"network": self._kept(self.networks, runner), "inputs": told[:many], "outputs": told[many:]}

    def run_network(self, message: Fields) -> Answer:
        """Run a network on arrays of the host; its outputs become arrays."""
        runner = self._of(self.networks, message.number("network"), "network")
        inputs = {name: self._array(_number(value)).numpy() for name, value in message.mapping("inputs").items()}
        return {"outputs": self._results(runner.run(inputs))}

    def run_program(self, message: Fields) -> Answer:
        """Run a program from a file; its outputs become arrays."""
        program = load_program(plain_path(self.folder, message.text("name", most=1024)), limits=DEFAULT_LIMITS)
        return {"outputs": self._results(self.session.run_program(program))}

    def _results(self, values: Mapping[str, npt.NDArray[np.generic]]) -> list[object]:
        told: list[object] = []
        for name, value in values.items():
            array = HostArray(value.shape, str(value.dtype))
            array.copyfrom(value)
            told.append([name, self._kept(self.arrays, array), list(value.shape), array.dtype, array.nbytes])
        return told

    def _kept(self, things: dict[int, T], thing: T) -> int:
        if len(things) >= _MOST_THINGS:
            raise RpcError(f"the session has {_MOST_THINGS} of these already; free some")
        self._number += 1
        things[self._number] = thing
        return self._number

    def _arguments(self, message: Fields) -> Sequence[MappedArray | int | float]:
        found: list[MappedArray | int | float] = []
        for entry in message.entries("arguments"):
            match entry:
                case ["array", int() as number]:
                    found.append(self._array(number))
                case ["number", int() | float() as value]:
                    found.append(value)
                case _:
                    raise MessageError("an argument is neither an array nor a number")
        return found

    def _array(self, number: int) -> MappedArray:
        return self._of(self.arrays, number, "array")

    def _module(self, message: Fields) -> Module:
        return self._of(self.modules, message.number("module"), "module")

    def _of(self, things: Mapping[int, T], number: int, kind: str) -> T:
        if number not in things:
            raise RpcError(f"the session has no {kind} number {number} (any more)")
        return things[number]


def _number(value: Value) -> int:
    if type(value) is not int:
        raise MessageError("an input is the number of an array")
    return value


OPERATIONS: Mapping[str, Callable[[Workshop, Fields], Answer]] = {
    "configure": Workshop.configure,
    "empty": Workshop.empty,
    "write": Workshop.write,
    "read": Workshop.read,
    "load_module": Workshop.load_module,
    "call": Workshop.call,
    "time": Workshop.time,
    "function": Workshop.function,
    "load_network": Workshop.load_network,
    "run_network": Workshop.run_network,
    "run_program": Workshop.run_program,
}
"""What a client may ask a device's process for."""
