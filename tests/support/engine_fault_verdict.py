"""Where a faulty engine first does something else than the reference, found by hand, and where the differ says so."""

from collections import Counter
from functools import partial

import numpy as np

from isa.program import Program
from isa.reference import Reference
from tests.support.configs import CONFIGS
from tests.support.engine_faults import EngineFault, FaultyMachine, faulty_engine, plant_engine_fault
from tests.support.random_programs import random_program
from vta.inspect.differ import diff_engines
from vta.inspect.stepping import engine

__all__ = ["first_effect", "judge_engine_faults"]


def first_effect(program: Program, fault: EngineFault) -> int | None:
    """Return the first instruction after which the machines differ, or None if the fault does not matter."""
    right = Reference(program.config, program.dram(), first_address=0x1000)
    wrong = FaultyMachine(program.config, program.dram(), fault)
    for index, instruction in enumerate(program.instructions):
        right.step(instruction)
        wrong.step(instruction)
        pairs = ((right.acc, wrong.acc), (right.inp, wrong.inp), (right.wgt, wrong.wgt), (right.memory, wrong.memory))
        if not all(np.array_equal(a, b) for a, b in pairs):
            return index
    return None


def judge_engine_faults(seed: int, count: int, *, right_engine: str) -> tuple[Counter[bool], list[str]]:
    """Plant ``count`` faults that matter in random programs; count where the differ is right, and tell where not."""
    verdicts: Counter[bool] = Counter()
    wrong: list[str] = []
    drawn = 0
    while verdicts.total() < count:
        rng = np.random.default_rng([seed, drawn])
        drawn += 1
        name = list(CONFIGS)[int(rng.integers(len(CONFIGS)))]
        program = random_program(rng, CONFIGS[name])
        fault = plant_engine_fault(rng, program.config)
        expected = first_effect(program, fault)
        if expected is None:
            continue
        makers = [partial(engine, program, right_engine), partial(faulty_engine, program, fault)]
        difference = diff_engines(program, makers).difference
        found = None if difference is None else difference.index
        verdicts[found == expected] += 1
        if found != expected:
            wrong.append(f"draw {drawn - 1}: {fault.text}: first matters at {expected}, and the differ says {found}")
    return verdicts, wrong
