"""Build programs as deep as they get, and print what that takes.

    python -m bench.deep_programs [--stages 2000] [--terms 10000] [--rows 512]

A chain of stages on the host, one on the tensor ALU, one expression of many terms, a loop of many rows written out:
seconds of processor time from the schedule to machine code, each in a process that has built a small one before.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import vta
from vta import te
from vta.tir.expr import Expr


def host_chain(stages: int) -> None:
    """Build a chain of stages of the host."""
    data = te.placeholder((8,), "int32", "data")
    last = data
    for number in range(stages):
        last = te.compute(data.shape, lambda i, before=last: before(i) + 1, f"s{number}")
    vta.build(te.create_schedule(last.op), [data, last], target="llvm")


def alu_chain(stages: int) -> None:
    """Build a chain of stages of the ALU."""
    env = vta.get_env()
    data = te.placeholder((8, env.BATCH, env.BLOCK_OUT), "int32", "data")
    chain = [te.compute(data.shape, lambda *i: data(*i), "load")]
    for number in range(stages):
        chain.append(te.compute(data.shape, lambda *i, before=chain[-1]: before(*i) + 1, f"s{number}"))
    result = te.compute(data.shape, lambda *i: chain[-1](*i).astype(env.out_dtype), "result")
    s = te.create_schedule(result.op)
    for stage in chain:
        s[stage].set_scope(env.acc_scope)
        s[stage].pragma(s[stage].op.axis[0], env.dma_copy if stage is chain[0] else env.alu)
    s[result].pragma(s[result].op.axis[0], env.dma_copy)
    vta.build(s, [data, result], target=env.target)


def expression(terms: int) -> None:
    """Build a sum of many terms."""
    data = te.placeholder((terms + 8,), "int32", "data")

    def total(i: Expr) -> Expr:
        value: Expr = data[i].asexpr()
        for offset in range(1, terms):
            value = value + data[i + offset]
        return value

    result = te.compute((8,), total, "result")
    vta.build(te.create_schedule(result.op), [data, result], target="llvm")


def unrolled(rows: int) -> None:
    """Build a loop that is written out."""
    data = te.placeholder((rows, 64), "float32", "data")
    result = te.compute(data.shape, lambda i, j: data[i, j] * 2.0 + 1.0, "result")
    s = te.create_schedule(result.op)
    s[result].unroll(result.op.axis[0])
    vta.build(s, [data, result], target="llvm")


def measured(cases: Sequence[tuple[str, Callable[[int], None], int]]) -> Iterator[str]:
    """Yield a line for each case."""
    for name, build, size in cases:
        build(2)
        begin = time.process_time()
        build(size)
        yield f"{name}, {size}: {time.process_time() - begin:.1f} s"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the programs of the command line."""
    parser = argparse.ArgumentParser(description="deep programs")
    parser.add_argument("--stages", type=int, default=2000)
    parser.add_argument("--terms", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=512)
    given = parser.parse_args(arguments)
    cases = (
        ("stages of the host", host_chain, given.stages),
        ("stages of the ALU", alu_chain, given.stages),
        ("terms of an expression", expression, given.terms),
        ("rows written out", unrolled, given.rows),
    )
    for line in measured(cases):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
