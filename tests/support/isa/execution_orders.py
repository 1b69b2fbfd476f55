"""A program in some order of execution that its queues and tokens allow, on the reference interpreter."""

import numpy as np
import numpy.typing as npt

from isa.instructions import Module
from isa.program import Program
from isa.reference import Reference
from isa.tokens import TokenQueue, pops, pushes

__all__ = ["dram_after"]


def dram_after(program: Program, rng: np.random.Generator) -> npt.NDArray[np.uint8] | None:
    """Return DRAM after the program ran in an order drawn by ``rng``, None if no module can go on.

    Each module executes its instructions in order, one at a time, as soon as their tokens are there. Now and then
    another module is favoured, so that the others fall far behind.
    """
    machine = Reference(program.config, program.dram(), first_address=0x1000)
    queues = {m: [entry for entry in program.instructions if entry.module is m] for m in Module}
    places, tokens = dict.fromkeys(Module, 0), dict.fromkeys(TokenQueue, 0)
    favoured = rng.permutation([*Module]).tolist()
    for _ in program.instructions:
        ready = [
            module
            for module in Module
            if places[module] < len(queues[module])
            and all(tokens[queue] for queue in pops(module, queues[module][places[module]].deps))
        ]
        if not ready:
            return None
        if rng.random() < 0.1:
            favoured = rng.permutation([*Module]).tolist()
        module = min(ready, key=favoured.index)
        entry = queues[module][places[module]]
        places[module] += 1
        for queue in pops(module, entry.deps):
            tokens[queue] -= 1
        machine.step(entry)
        for queue in pushes(module, entry.deps):
            tokens[queue] += 1
    return machine.memory
