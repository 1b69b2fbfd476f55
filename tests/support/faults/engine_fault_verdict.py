"""Where a faulty engine first does something other than the reference, found by hand, and where the differ says so."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from isa.config import VTAConfig
from isa.instructions import MemoryId
from isa.program import Program
from isa.reference import Reference
from runtime.devices.device import DeviceError
from runtime.memory.placement import page_ranges
from tests.support.configs import CONFIGS
from tests.support.faults.engine_faults import faulty_engine, plant_engine_fault
from tests.support.faults.rtl_faults import RTL_FAULTS, faulty_hardware, hardware_engine
from tests.support.faults.sim_faults import faulty_simulator, plant_in_sim, simulator_engine
from tests.support.hw.small_designs import SMALL_DESIGNS
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS
from vta.inspect.diff.differ import diff_engines
from vta.inspect.diff.stepping import Engine, engine

__all__ = ["ENGINES", "first_effect", "judge_engine_faults"]

_TRIES = 12
"""Programs that a faulty core runs until its fault matters; compiling another one takes longer."""


@dataclass(frozen=True, slots=True)
class _Planted:
    """A fault, what plants it, and what then makes a faulty engine for a program."""

    text: str
    planted: AbstractContextManager[None]
    make: Callable[[Program], Engine]
    config: VTAConfig
    programs: int = 1


def first_effect(program: Program, make: Callable[[Program], Engine]) -> int | None:
    """Return the first instruction after which an engine differs from the reference, None if there is none.

    Instructions run one at a time; if that makes no difference but the whole launch does, ever longer beginnings do.
    """
    faulty, right = make(program), _reference(program)
    for index, instruction in enumerate(program.instructions):
        right.step(instruction)
        try:
            faulty.step(index)
        except DeviceError:
            return index
        if _differ(program, faulty, right):
            return index
    if not _differs_at_once(program, make, len(program.instructions)):
        return None
    return next(n for n in range(len(program.instructions)) if _differs_at_once(program, make, n + 1))


def _differs_at_once(program: Program, make: Callable[[Program], Engine], count: int) -> bool:
    faulty, right = make(program), _reference(program)
    for instruction in program.instructions[:count]:
        right.step(instruction)
    try:
        faulty.run(count)
    except DeviceError:
        return True
    return _differ(program, faulty, right)


def _reference(program: Program) -> Reference:
    return Reference(program.config, program.dram(), first_address=0x1000)


def _differ(program: Program, faulty: Engine, right: Reference) -> bool:
    pads = {MemoryId.UOP: right.uop, MemoryId.INP: right.inp, MemoryId.WGT: right.wgt, MemoryId.ACC: right.acc}
    if any(not np.array_equal(pad, faulty.contents(memory)) for memory, pad in pads.items()):
        return True
    memory = faulty.contents(None)
    return any(
        not np.array_equal(right.memory[begin:end], memory[begin : min(end, len(right.memory))])
        for begin, end in page_ranges(program)
    )


def _in_reference(rng: np.random.Generator, _: int, __: Path) -> _Planted:
    config = list(CONFIGS.values())[int(rng.integers(len(CONFIGS)))]
    fault = plant_engine_fault(rng, config)
    return _Planted(fault.text, nullcontext(), partial(faulty_engine, fault=fault), config)


def _in_sim(rng: np.random.Generator, _: int, __: Path) -> _Planted:
    configs = [*CONFIGS.values(), *ODD_CONFIGS.values()]
    fault = plant_in_sim(rng)
    make = partial(simulator_engine, fault=fault)
    return _Planted(fault.text, faulty_simulator(fault), make, configs[int(rng.integers(len(configs)))])


def _in_hardware(_: np.random.Generator, drawn: int, cache: Path) -> _Planted:
    number, turn = drawn % len(RTL_FAULTS), drawn // len(RTL_FAULTS)
    fault = RTL_FAULTS[number]
    config = list(SMALL_DESIGNS.values())[turn % len(SMALL_DESIGNS)]
    return _Planted(fault.text, faulty_hardware(fault, number, cache), hardware_engine, config, _TRIES)


ENGINES = {"reference": _in_reference, "sim": _in_sim, "tsim": _in_hardware}
"""By the name of an engine, what plants a fault in it."""


def judge_engine_faults(name: str, seed: int, count: int, *, first: int = 0) -> tuple[Counter[bool], list[str]]:
    """Plant ``count`` faults that matter in an engine; count where the differ is right, and tell where not.

    A fault matters if a random program shows it; others are drawn again. ``first`` is the number of the first draw.
    """
    verdicts: Counter[bool] = Counter()
    wrong: list[str] = []
    drawn = first
    with tempfile.TemporaryDirectory() as cache:
        while verdicts.total() < count:
            rng = np.random.default_rng([seed, drawn])
            fault = ENGINES[name](rng, drawn, Path(cache))
            for expected, found in _judge(fault, rng, right_engine="sim" if name == "reference" else "reference"):
                verdicts[found == expected] += 1
                if found != expected:
                    told = f"first matters at {expected}, and the differ says {found}"
                    wrong.append(f"{name}, draw {drawn}: {fault.text}: {told}")
            drawn += 1
    return verdicts, wrong


def _judge(fault: _Planted, rng: np.random.Generator, *, right_engine: str) -> Iterator[tuple[int | None, int | None]]:
    """Yield where a fault first matters and where the differ says so, for the first program with either."""
    with fault.planted:
        for _ in range(fault.programs):
            program = random_program(rng, fault.config)
            expected = first_effect(program, fault.make)
            makers = [partial(engine, program, right_engine), partial(fault.make, program)]
            difference = diff_engines(program, makers).difference
            found = None if difference is None else difference.index
            if expected is not None or found is not None:  # a difference where there is none would be wrong, too
                yield expected, found
                return
