"""Programs for the benches: what the compiler makes of a schedule, with the memory it runs in."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

import vta
from isa.config import VTAConfig
from isa.program import MemoryImage, OutputRegion, Program
from runtime.session import Session
from tests.support.golden.spine_cases import Scheduled
from vta.nd import EXT_DEV, Device, array, empty
from vta.tir.expr import IntImm

__all__ = ["compiled_program"]

Array = npt.NDArray[np.generic]

_FILL = 0x55
"""What the output holds before the launch: a store that does not happen shows."""


def compiled_program(scheduled: Scheduled, config: VTAConfig, *, seed: int) -> tuple[Program, list[Array], Array]:
    """Compile a schedule that becomes one launch; return the program, random inputs and the result of the simulator.

    The program's memory has the inputs; its output region ``output`` holds a fixed byte.
    """
    session = Session(config, "sim", record=True)
    place = Device(EXT_DEV, 0, session)
    with vta.Environment(config) as env:
        module = vta.build(scheduled.schedule, scheduled.args, target=env.target, name="main")
    rng = np.random.default_rng(seed)
    inputs: list[Array] = []
    for tensor in scheduled.args[:-1]:
        info = np.iinfo(tensor.dtype)
        low, high = max(info.min, -(1 << 14)), min(info.max, 1 << 14)
        shape = [e.value for e in tensor.shape if isinstance(e, IntImm)]
        inputs.append(rng.integers(low, high, size=shape, dtype=tensor.dtype, endpoint=True))
    out = empty(scheduled.args[-1].shape, scheduled.args[-1].dtype, place)
    held = [array(values, place) for values in inputs]  # until their memory has been read
    module(*held, out)
    result = out.numpy()
    (launch,) = session.queue.launcher.launches
    out.copyfrom(np.full(result.nbytes, _FILL, np.uint8).view(result.dtype).reshape(result.shape))
    program = launch.program(session.memory)
    address = _address(program, result.nbytes)
    region = OutputRegion(name="output", address=address, dtype=str(result.dtype), shape=result.shape)
    image = MemoryImage(segments=program.memory.segments, outputs=(region,))
    return replace(program, memory=image), inputs, result


def _address(program: Program, nbytes: int) -> int:
    """Return the address of the segment that was filled."""
    (segment,) = (s for s in program.memory.segments if s.data == bytes([_FILL]) * nbytes)
    return segment.address
