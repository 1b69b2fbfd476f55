"""One configuration, measured: the cycles of the workload, and what the accelerator takes of an FPGA.

Everything here runs in a process of its own, too: requests and answers are plain. Tests:
tests/vta/explore/test_measure.py.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import ceil
from pathlib import Path

import numpy as np

from isa.bulk import decode_all
from isa.config import VTAConfig
from isa.errors import VTAError
from isa.instructions import MemoryId
from isa.machine.multipliers import share_out
from isa.program import Program
from runtime.devices.device import HardwareSetup
from runtime.executor.network import DeviceStep
from runtime.native.cache import cached
from runtime.session import Session
from vta.cost import predict
from vta.environment import Environment
from vta.explore.sweep import ExploreError, Point
from vta.explore.workload import Workload
from vta.nd import EXT_DEV, Device, array
from vta.topi.core.operator import Operator, compile  # noqa: A004  # what it is called

__all__ = ["Area", "Cycles", "Request", "Wanted", "answer", "estimated_area"]

Number = int | float

_RAMB36_BITS = 36 * 1024


class Cycles(StrEnum):
    """Where cycles come from."""

    PREDICTED = "predicted"
    TSIM = "tsim"


class Area(StrEnum):
    """Where LUTs, flip-flops, multipliers and block RAMs come from."""

    ESTIMATE = "estimate"
    YOSYS = "yosys"


class Wanted(StrEnum):
    """What is measured of a point, each at a time."""

    PREDICTED = "predicted"
    TSIM = "tsim"
    ESTIMATE = "estimate"
    YOSYS = "yosys"
    FMAX = "fmax"


@dataclass(frozen=True, slots=True)
class Request:
    """Measure ``wanted`` of ``point``; ``device`` is the ECP5 that the clock is for."""

    point: Point
    workload: Workload
    wanted: Wanted
    device: str = "85k"


def answer(request: Request) -> dict[str, object]:
    """Return what was measured by name, or ``error``, the sentence that says why it was not."""
    config, setup = request.point.config, request.point.setup
    assert config is not None
    assert setup is not None
    try:
        match request.wanted:
            case Wanted.PREDICTED | Wanted.TSIM:
                return dict(_cycles(request.workload, Environment(config, hardware=setup), request.wanted))
            case Wanted.ESTIMATE:
                return dict(estimated_area(config, setup))
            case Wanted.YOSYS:
                return dict(_area(config, setup))
            case Wanted.FMAX:
                return {"mhz": _mhz(config, setup, request.device)}
    except VTAError as error:
        return {"error": str(error)}


def _cycles(workload: Workload, env: Environment, wanted: Wanted) -> Mapping[str, object]:
    """Return the cycles of each layer and of all."""
    if workload.model is not None:
        if wanted is Wanted.TSIM:
            raise ExploreError(
                f"{workload.name}: cycles of a whole model are predicted; take --cycles predicted, or name layers"
            )
        layers = _model_cycles(workload.model, env)
    elif wanted is Wanted.PREDICTED:
        layers = {name: predict(layer, env=env).cycles for name, layer in workload.layers}
    else:
        layers = {name: _measured(layer, env) for name, layer in workload.layers}
    return {"cycles": sum(layers.values()), "layers": layers}


def _model_cycles(model: Path, env: Environment) -> dict[str, int]:
    from vta.relay.backend.session import compile_model  # and with it ONNX, which takes long to load

    network = compile_model(model, env=env).network
    found: dict[str, int] = {}
    for step in network.steps:
        for launch in step.launches if isinstance(step, DeviceStep) else ():
            program = Program(
                config=env.config,
                instructions=tuple(decode_all(launch.array, env.config)),
                uops=tuple(launch.uops.tolist()),
            )
            found[step.node] = found.get(step.node, 0) + predict(program, env.hardware).cycles
    if not found:
        raise ExploreError(
            f"{model.name}: the accelerator does nothing of this network; `vta explain {model}` says why"
        )
    return found


def _measured(layer: Operator, env: Environment) -> int:
    """Return the cycles of one run on ``tsim``, whose numbers are compared with numpy's."""
    compiled = compile(layer, env)
    session = Session(env.config, "tsim", setup=env.hardware)
    place = Device(EXT_DEV, 0, session)
    rng = np.random.default_rng(0)
    plain = [rng.integers(-9, 10, each.shape).astype(_held(each.dtype)) for each in layer.inputs(env)]
    placed = [array(values, place) for values in layer.pack(env, *plain)]
    result = compiled.scheduled.args[-1]
    out = array(np.zeros(result.shape, np.int8), place, dtype=str(result.dtype))
    compiled.module(*placed, out)
    if not np.array_equal(layer.unpack(env, out.numpy()), compiled.reference(*plain)):
        raise ExploreError(f"{layer}: the hardware's result is not numpy's")
    cycles = session.device.stats.cycles
    assert cycles is not None
    return cycles


def _held(dtype: str) -> str:
    return "int8" if dtype in ("int1", "int2", "int4") else dtype


def estimated_area(config: VTAConfig, setup: HardwareSetup) -> Mapping[str, Number]:
    """Return about what the core takes of a Xilinx 7: multipliers and RAM by their numbers, logic by its main parts.

    A multiplier for each product, or for two that share it, and three for each lane of the ALU, or as many as there may
    be; block RAM by the width of each scratchpad. Logic is what the sizes of block 8 and 16 take in yosys, in
    proportion to lanes and products, and what the multipliers that are missing take.
    """
    products = config.batch * config.block_in * config.block_out
    lanes = config.batch * config.block_out
    hardware = setup.hardware
    shared = bool(hardware.share_multipliers) and config.block_out > 1
    multipliers = share_out(hardware.most_multipliers, products=products, lanes=lanes, shared=shared)
    bits = hardware.data_width
    return {
        "lut": round(3500 + 22 * products + 560 * lanes + 8 * bits) + multipliers.luts,
        "ff": round(2500 + 18 * products + 380 * lanes + 6 * bits),
        "dsp": multipliers.total,
        "bram": sum(_rams(config, memory) for memory in (MemoryId.INP, MemoryId.WGT, MemoryId.ACC)) + _uop_rams(config),
    }


def _rams(config: VTAConfig, memory: MemoryId) -> float:
    """Return the block RAMs of a scratchpad: as wide as an element, at least half a RAM of 72 bits a row."""
    width, depth = config.elem_bytes(memory) * 8, config.depth(memory)
    return max(ceil(width / 72) * 0.5 * (2 if depth > 512 else 1), width * depth / _RAMB36_BITS)


def _uop_rams(config: VTAConfig) -> float:
    return 3 * max(1.0, ceil(config.uop_depth * 32 / _RAMB36_BITS * 2) / 2)


def _area(config: VTAConfig, setup: HardwareSetup) -> Mapping[str, Number]:
    """Return what yosys counts, from the user's cache where equal Verilog was synthesised by an equal yosys before."""
    from hw.fpga.area import area_key, core_area  # and with it Amaranth, which takes long to load
    from hw.verilog import to_verilog

    verilog = to_verilog(config, setup.hardware, shell="core")
    body = cached("area", f"{area_key()}\n{verilog}", lambda: json.dumps(asdict(core_area(verilog))).encode())
    found: dict[str, Number] = json.loads(body)
    return found


def _mhz(config: VTAConfig, setup: HardwareSetup, device: str) -> float:
    from hw.fpga.place import FpgaError, missing_tools
    from hw.fpga.report import map_accelerator, place_accelerator
    from hw.fpga.working_folder import working_folder

    if missing := missing_tools():
        raise FpgaError(f"missing: {', '.join(missing)}")
    with working_folder() as folder:
        mapped = map_accelerator(config, setup.hardware, folder=folder)
        return place_accelerator(mapped, device=device, speed=6, mhz=100.0, seed=1).mhz
