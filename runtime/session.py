"""A session: one device, its memory, the command queue in front of it, and what runs on them.

``Session.program`` surrounds everything that makes runtime calls: it gives the C API (``runtime.c_api``) a session to
act on, ends the program, and raises what went wrong inside a callback, where no exception can pass.

Tests: ``tests/runtime/test_session.py``.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Self

import numpy as np
import numpy.typing as npt

from isa.config import TARGETS, VTAConfig
from isa.errors import VTAError
from isa.program import Program
from runtime.devices.device import Device, HardwareSetup
from runtime.devices.reference import ReferenceDevice
from runtime.memory.device_memory import Allocation, DeviceMemory
from runtime.memory.handles import Handles
from runtime.memory.placement import place_image
from runtime.observe.graph_node import current_node, with_node
from runtime.observe.stats import LaunchStats
from runtime.program_run import ProgramRun, Recording
from runtime.queue.command_queue import INSTRUCTION_LIMIT, CommandQueue
from runtime.queue.launcher import AREA_BYTES

__all__ = ["DEVICE_NAMES", "Session", "SessionError"]

DEVICE_NAMES = ("sim", "reference", "tsim")
"""Devices that a session can make by name."""

_ACTIVE: ContextVar["Session | None"] = ContextVar("active session", default=None)


class SessionError(VTAError, RuntimeError):
    """A use of a session that is out of place, or a program for another configuration."""


class Session:
    """Owns memory, device and queue.

    ``device`` is a name (``sim``, ``reference``, ``tsim``) or a device with its memory. ``memory_limit`` bounds the
    addresses of a device that is made here, ``area_bytes`` what instructions and micro-ops each take of memory,
    ``setup`` says what hardware to simulate (for a device by name that does so). ``record`` keeps every launch in
    ``queue.launcher.launches``.

    Threads may share a session: ``program``, ``replay`` and ``run_program`` take turns, as everybody does who holds its
    ``lock``. Inside of a program, the queue and the C API belong to the thread that runs it.
    """

    def __init__(
        self,
        config: VTAConfig,
        device: str | Device = "sim",
        *,
        setup: HardwareSetup | None = None,
        memory_limit: int = 1 << 32,
        instruction_limit: int = INSTRUCTION_LIMIT,
        area_bytes: int = AREA_BYTES,
        record: bool = False,
    ) -> None:
        self.config = config
        self.device = _make_device(device, config, memory_limit, setup) if isinstance(device, str) else device
        self.memory = self.device.memory
        self.queue = CommandQueue(
            config,
            self.memory,
            self.device,
            instruction_limit=instruction_limit,
            area_bytes=area_bytes,
            record=record,
        )
        self.handles = Handles(self.memory)
        self.lock = threading.RLock()
        self._run: ProgramRun | None = None

    @classmethod
    def current(cls) -> Self:
        """Return the session whose program is running in this context."""
        session = _ACTIVE.get()
        if session is None:
            raise SessionError(
                "no session is running a program here; runtime calls belong into 'with session.program()'"
            )
        assert isinstance(session, cls)
        return session

    @property
    def goes_on(self) -> bool:
        """Whether the program that is running has launched something before."""
        return self._run is not None and bool(self._run.launches)

    @property
    def run(self) -> ProgramRun:
        """The program that is running."""
        if self._run is None:
            raise SessionError("this session is not running a program; runtime calls belong into 'session.program()'")
        return self._run

    def require_config(self, config: VTAConfig, what: str) -> None:
        """Raise ``SessionError`` unless ``what`` was made for this session's configuration."""
        if config.digest != self.config.digest:
            raise SessionError(
                f"{what} is for {config.bitstream} (digest {config.digest}), and device {self.device.name!r} is "
                f"{self.config.bitstream} (digest {self.config.digest}); build it for this configuration"
            )

    @contextmanager
    def program(self, arguments: Sequence[Allocation] = ()) -> Iterator[ProgramRun]:
        """Run a program: the calls that are made inside, on the queue or through the C API.

        ``arguments`` are the buffers that it was given, for ``ProgramRun.recording``. On the way out its work is done,
        and nothing of it is left in the queue, a debug mode that it set included. An exception inside, or an error that
        a C callback had to keep, ends the program: work that was not launched is dropped, buffers that the C API
        allocated are freed.
        """
        with self.lock:
            if self._run is not None:
                raise SessionError("a program is running on this session, and a second one cannot run inside it")
            flags = self.queue.debug_mode
            self._run = run = ProgramRun(self.memory, tuple(arguments), flags)
            self.queue.launcher.listeners.append(run.launches.append)
            token = _ACTIVE.set(self)
            try:
                yield run
                run.raise_error()
                self.queue.finish_program()
                run.complete = True
            except BaseException:
                self.queue.abort_program()
                run.free_buffers()
                run.raise_error()
                raise
            finally:
                _ACTIVE.reset(token)
                self.queue.launcher.listeners.remove(run.launches.append)
                self.queue.origin = None
                self.queue.debug_mode = flags
                self._run = None

    def replay(self, recording: Recording, arguments: Sequence[Allocation]) -> list[LaunchStats]:
        """Run a recorded program again on other buffers, without its host code. See ``Recording.bind``."""
        with self.lock:
            if self._run is not None:
                raise SessionError("a program is running on this session, and a recorded one cannot run inside it")
            node = current_node()
            return [self.queue.launcher.submit(launch.run_for(node)) for launch in recording.bind(arguments)]

    def run_program(
        self, program: Program, *, at_end: Callable[[npt.NDArray[np.uint8]], None] | None = None
    ) -> dict[str, npt.NDArray[np.generic]]:
        """Run a program that brings its own memory contents and addresses; return its outputs by name.

        ``at_end`` sees all of DRAM after the launch, even one that failed, before the memory is given back. Raises
        ``SessionError`` for another configuration and ``DeviceMemoryError`` where its addresses are in use: a fresh
        session has all of them free.
        """
        self.require_config(program.config, "the program")
        with self.lock:
            blocks = place_image(self.memory, program)
            try:
                words = program.words
                code = self.memory.alloc(max(words.nbytes, 1))
                blocks.append(code)
                self.memory.write(code, 0, words.tobytes())
                try:
                    node = current_node()
                    origins = with_node(program.origins, node) if node else program.origins
                    self.device.launch(code.address, len(words), origins=origins)
                finally:
                    if at_end is not None:
                        at_end(self.memory.address_space())
                return program.outputs(self.memory.address_space())
            finally:
                for block in blocks:
                    self.memory.free(block)


def _make_device(name: str, config: VTAConfig, memory_limit: int, setup: HardwareSetup | None) -> Device:
    if setup is not None and name in ("reference", "sim"):
        raise SessionError(
            f"device {name!r} has no hardware to set up; run on 'tsim' (`--target tsim`), or leave its sizes out"
        )
    match name:
        case "reference":
            return ReferenceDevice(config, DeviceMemory(memory_limit))
        case "sim":
            # Imported when it is asked for: it needs llvmlite, which takes long to load.
            from runtime.devices.functional import FunctionalSimulator

            return FunctionalSimulator(config, DeviceMemory(memory_limit))
        case "tsim":
            from runtime.devices.tsim.device import RtlSimulator  # and with it the hardware, and Amaranth

            made = HardwareSetup() if setup is None else setup
            return RtlSimulator(
                config,
                DeviceMemory(memory_limit),
                hardware=made.hardware,
                latency=made.latency,
                stall_seed=made.stall_seed,
            )
        case _ if name in TARGETS:
            known = ", ".join(DEVICE_NAMES)
            raise SessionError(f"device {name!r} is a board, and nothing here drives it; run on one of {known} instead")
        case _:
            raise SessionError(f"device {name!r} is unknown; the devices are {', '.join(DEVICE_NAMES)}")
