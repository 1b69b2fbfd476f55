"""Check streams that are right: what the library's layers launch, and what random schedules do. Nothing may be found.

    python -m bench.false_alarms
    python -m bench.false_alarms --schedules 20 --sanitize

Layers are those of ``bench.layers`` (ResNet-18) and ``bench.products``, run once on ``sim``; ``--schedules N`` adds the
launches of N random GEMM and N random ALU schedules on every configuration. Each launch is given to the checker, and
with ``--sanitize`` to the sanitizer, which runs it on the reference interpreter (minutes for large layers). Printed are
instructions, findings that are errors, and seconds for each layer; the exit status is 1 if there is an error. Recorded
streams are checked by ``tests/isa/check/test_checker_golden.py``, random operators by ``bench.operators --check``.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping

import numpy as np

from bench.layers import LAYERS
from bench.products import LAYERS as PRODUCTS
from isa.check.checker import Severity, check
from isa.check.sanitizer import sanitize
from isa.program import Program
from runtime.memory.device_memory import FIRST_ADDRESS
from tests.support.compiler.compiled_programs import compiled_programs
from vta.environment import get_env
from vta.inspect.capsule import Capture
from vta.topi.core.operator import Operator
from vta.topi.core.operator import compile as compile_operator


def operators() -> Mapping[str, Operator]:
    """Return the library's layers by name."""
    return {**LAYERS, **{name: layer.operator for name, layer in PRODUCTS.items()}}


def launches_of(operator: Operator) -> tuple[Program, ...]:
    """Return what an operator launches for random numbers, on ``sim``."""
    env, rng = get_env(), np.random.default_rng(0)
    compiled = compile_operator(operator, env)
    arrays = [rng.integers(-100, 100, operand.shape).astype(operand.dtype) for operand in operator.inputs(env)]
    capture = Capture(env.session, keep_all=True)
    with capture.watching():
        compiled(*arrays)
    capsule = capture.capsule()
    assert capsule is not None, "the operator launches something"
    return capsule.programs


def streams(schedules: int) -> Iterator[tuple[str, tuple[Program, ...]]]:
    """Yield everything that is looked at."""
    for name, operator in operators().items():
        yield name, launches_of(operator)
    for seed in range(schedules):
        yield f"schedules {seed}", tuple(program for _, program in compiled_programs(seed))


def main() -> int:
    """Run the command line; return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=0)
    parser.add_argument("--sanitize", action="store_true", help="run every launch on the reference interpreter, too")
    arguments = parser.parse_args()
    alarms = count = 0
    for name, programs in streams(arguments.schedules):
        begin, found = time.process_time(), []
        for program in programs:
            found += check(program, first_address=FIRST_ADDRESS)
            if arguments.sanitize:
                found += sanitize(program, first_address=FIRST_ADDRESS).findings
        errors = [finding for finding in found if finding.severity is Severity.ERROR]
        instructions = sum(len(program.instructions) for program in programs)
        seconds = time.process_time() - begin
        print(f"{name:14} {instructions:7,} instructions, {len(errors)} errors, {seconds:6.2f} s", flush=True)
        for finding in errors[:3]:
            print(f"    {finding}")
        alarms, count = alarms + len(errors), count + instructions
    print(f"{count:,} instructions, {alarms} errors")
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
