"""Compare the hardware simulator with the reference interpreter on random pairs of configurations.

python -m bench.fuzz_hardware --seed 1 --pairs 25 --programs 12

Each pair is a random ``VTAConfig`` and a random ``HardwareConfig`` (``tests/support/hw/random_hardware.py``); its core
is compiled (five to thirty seconds) and runs random programs with a memory of random latency, which stalls at random
for half of them. A pair depends on the seed and its number alone (``--only N`` runs it again). The first difference is
printed with both configurations and the program; the exit status is 1. The compiled cores stay in the user's cache
(``XDG_CACHE_HOME`` chooses another).
"""

import argparse
import sys

import numpy as np

from isa.text.disassembler import disassemble
from tests.support.hw.random_hardware import random_pair
from tests.support.hw.rtl_comparison import rtl_difference
from tests.support.isa.random_programs import random_program
from tests.support.runtime.engine_comparison import run_reference

__all__ = ["compare_pair"]


def compare_pair(seed: int, number: int, programs: int) -> tuple[str, str | None]:
    """Run ``programs`` random programs on pair ``number``; return the pair in words, and the first difference."""
    rng = np.random.default_rng([seed, number])
    config, hardware = random_pair(rng)
    for index in range(programs):
        program = random_program(rng, config)
        latency = int(rng.integers(1, 120))
        stall_seed = int(rng.integers(1 << 30)) if rng.integers(2) else None
        difference = rtl_difference(
            program, run_reference(program), hardware=hardware, latency=latency, stall_seed=stall_seed
        )
        if difference is not None:
            place = f"program {index}, latency {latency}, stall seed {stall_seed}: {difference}"
            return config.bitstream, f"{place}\n{config}\n{hardware}\n{disassemble(program)}"
    return config.bitstream, None


def main() -> int:
    """Run the command line; return 1 at the first difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=25)
    parser.add_argument("--programs", type=int, default=12, help="programs per pair")
    parser.add_argument("--only", type=int, help="run this one pair")
    arguments = parser.parse_args()
    numbers = range(arguments.pairs) if arguments.only is None else [arguments.only]
    if not numbers or arguments.programs < 1:
        parser.error("--pairs and --programs must be at least 1: nothing was compared")
    for number in numbers:
        name, difference = compare_pair(arguments.seed, number, arguments.programs)
        if difference is not None:
            print(f"pair {number}: {difference}")
            return 1
        print(f"pair {number}, {name}: {arguments.programs} programs agree", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
