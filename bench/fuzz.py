"""Compare the simulators with the reference interpreter on random valid programs.

    python -m bench.fuzz --seed 1 --programs 2000
    python -m bench.fuzz --seed 1 --programs 500 --engines tsim

Every configuration of ``tests/support/configs.py``, and three with depthwise taps and two with fused steps of the ALU,
run on every code path of ``sim`` that the host has (or those named with ``--code-path``), and on ``tsim`` with a memory
of random latency that stalls at random, if it is asked for.
Program ``i`` depends on the seed, the configuration and ``i`` alone, so ``--only i`` runs it again; the first
difference is printed with the program's text, and the exit status is 1.
"""

import argparse
import os
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from isa.program import Program
from isa.text.disassembler import disassemble
from runtime.sim.code_path import CodePath, host_code_paths
from tests.support.configs import CONFIGS
from tests.support.hw.rtl_comparison import rtl_difference
from tests.support.isa.random_programs import random_program
from tests.support.odd_configs import ODD_CONFIGS
from tests.support.runtime.engine_comparison import first_difference, run_reference

COMPARED = CONFIGS | {name: ODD_CONFIGS[name] for name in ("depthwise", "depthwise_int4", "fused", "fused_all")}

_BATCH = 50


@dataclass(frozen=True, slots=True)
class Batch:
    """Programs ``begin`` to ``end - 1`` of one configuration."""

    config: str
    seed: int
    begin: int
    end: int
    engines: tuple[str, ...]
    paths: tuple[CodePath, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """How many programs and instructions of a batch agreed, and the first that did not."""

    programs: int
    instructions: int
    difference: str | None


def make_program(config: str, seed: int, index: int) -> Program:
    """Return program ``index``."""
    rng = np.random.default_rng([seed, zlib.crc32(config.encode()), index])
    return random_program(rng, COMPARED[config])


def run_batch(batch: Batch) -> Result:
    """Compare all programs of a batch, up to the first difference."""
    instructions = 0
    for index in range(batch.begin, batch.end):
        program = make_program(batch.config, batch.seed, index)
        for engine, difference in _differences(batch, program, index):
            if difference is not None:
                place = f"{batch.config}, program {index}, {engine}"
                return Result(index - batch.begin, instructions, f"{place}: {difference}\n{disassemble(program)}")
        instructions += len(program.instructions)
    return Result(batch.end - batch.begin, instructions, None)


def _differences(batch: Batch, program: Program, index: int) -> Iterator[tuple[str, str | None]]:
    """Yield the name of each engine and where it differs from the reference."""
    expected = run_reference(program)
    if "sim" in batch.engines:
        for code_path in batch.paths:
            yield f"{code_path.value} kernels", first_difference(program, code_path, expected)
    if "tsim" in batch.engines:
        latency = int(np.random.default_rng([batch.seed, index]).integers(1, 64))
        stalls = index if index % 4 else None
        name = f"tsim with latency {latency}, " + ("no stalls" if stalls is None else f"stalls of seed {stalls}")
        yield name, rtl_difference(program, expected, latency=latency, stall_seed=stalls)


def _batches(config: str, arguments: argparse.Namespace) -> Iterator[Batch]:
    engines = tuple(arguments.engines)
    paths = tuple(arguments.code_path or host_code_paths())
    begin, end = 0, arguments.programs
    if arguments.only is not None:
        begin, end = arguments.only, arguments.only + 1
    for first in range(begin, end, _BATCH):
        yield Batch(config, arguments.seed, first, min(end, first + _BATCH), engines, paths)


def _positive(text: str) -> int:
    """Read an option that counts something: none of it would be a success that shows nothing."""
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text!r}")
    return int(text)


def main() -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", type=_positive, default=2000, help="programs per configuration")
    parser.add_argument("--only", type=int, help="run this one program of each configuration")
    parser.add_argument("--config", action="append", choices=list(COMPARED), help="default: all")
    parser.add_argument("--engines", nargs="+", choices=["sim", "tsim"], default=["sim"])
    parser.add_argument("--code-path", action="append", type=CodePath, help="vnni, avx2 or generic; default: all")
    parser.add_argument("--jobs", type=_positive, default=os.cpu_count())
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for config in arguments.config or COMPARED:
            start = time.perf_counter()
            results = list(pool.map(run_batch, _batches(config, arguments)))
            differences = [result.difference for result in results if result.difference is not None]
            if differences:
                print(differences[0])
                return 1
            programs = sum(result.programs for result in results)
            instructions = sum(result.instructions for result in results)
            seconds = time.perf_counter() - start
            kernels = [path.value for path in arguments.code_path or host_code_paths()]
            paths = ", ".join(
                engine if engine == "tsim" else f"sim: {' '.join(kernels)}" for engine in arguments.engines
            )
            print(
                f"{config}: {programs} programs, {instructions} instructions agree ({paths}), {seconds:.0f} s",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
