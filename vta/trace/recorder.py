"""Recording what a session's device does, launch by launch, in a file.

May import ``isa`` and ``runtime``. Tests: tests/vta/trace/test_recorder.py.
"""

import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version

from runtime.devices.device import Device
from runtime.devices.rtl import RtlSimulator
from runtime.session import Session
from runtime.timeline import Timeline
from vta.trace.model import TraceHeader, loaded_uops
from vta.trace.writer import TraceWriter

__all__ = ["recording"]


@contextmanager
def recording(session: Session, path: str | os.PathLike[str], *, program: str = "") -> Iterator[None]:
    """Write a trace of every launch inside to ``path``; ``program`` is a name for the header.

    A launch that fails is in it too, up to its failure. The file is readable up to the last launch at any time.
    """
    device = session.device
    header = TraceHeader(
        device=device.name,
        config=session.config,
        hardware=_hardware(device),
        program=program,
        versions={"vta-toolchain": version("vta-toolchain"), "python": platform.python_version()},
    )
    with open(path, "wb") as file:
        writer = TraceWriter(file, header)

        def add(timeline: Timeline) -> None:
            writer.add(timeline, loaded_uops(timeline, session.memory.address_space()))

        device.set_timeline(add)
        try:
            yield
        finally:
            device.set_timeline(None)
            writer.close()


def _hardware(device: Device) -> Mapping[str, object]:
    """Return what there is beyond the configuration: the parameters of the hardware and of the memory behind it."""
    if isinstance(device, RtlSimulator):
        return {**asdict(device.hardware), "memory_latency": device.latency}
    return {}
