"""How long it takes to lower and build the blocked matrix multiply, and where the time goes.

    python bench/compile_time.py [--repeat 11]

Prints medians of warm runs in CPU time of this process: the schedule, each pass, the LLVM IR, the machine code.
"""

import argparse
import importlib.util
import platform
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import llvmlite

import vta

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "matrix_multiply_blocked.py"


def load_example() -> ModuleType:
    """Import the example, which is a script and not part of a package."""
    spec = importlib.util.spec_from_file_location("blocked", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one_run(example: ModuleType) -> dict[str, float]:
    """Return milliseconds by step of one schedule, lower, build and first entry."""
    spent: dict[str, float] = defaultdict(float)
    last = time.process_time()

    def mark(name: str, _: object = None) -> None:
        nonlocal last
        now = time.process_time()
        spent[name] += (now - last) * 1e3
        last = now

    env = vta.get_env()
    schedule, args = example.schedule(env)
    mark("schedule")
    with vta.transform.PassContext(instruments=(lambda name, func: mark(f"pass {name}", func),)):
        lowered = vta.lower(schedule, args, name="blocked_gemm")
    mark("lower, rest")
    module = vta.build(lowered, target=env.target)
    mark("build: LLVM IR")
    _ = module.linked  # made when a function is first called
    mark("build: machine code")
    return dict(spent)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=11)
    repeat = parser.parse_args().repeat
    example = load_example()
    cold = sum(one_run(example).values())
    runs = [one_run(example) for _ in range(repeat)]
    print(f"python {sys.version.split()[0]}, llvmlite {llvmlite.__version__}, {platform.machine()}")
    print(f"first run in this process {cold:8.1f} ms; medians of {repeat} warm runs:")
    for name in runs[0]:
        print(f"    {name:<36}{statistics.median(run[name] for run in runs):8.2f} ms")
    print(f"    {'lower and build, schedule included':<36}{statistics.median(sum(r.values()) for r in runs):8.2f} ms")


if __name__ == "__main__":
    main()
