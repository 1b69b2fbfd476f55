"""Cycles of the tensor ALU's operators on ``tsim``, beside what their loads, operations and stores take alone.

    python -m bench.alu_operators

Default configuration, 64-bit memory with a latency of 1; every result is compared with numpy. The table is that of
docs/operators.md.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

import vta
from isa.config import VTAConfig
from vta.topi.alu.elementwise import Binary, BinaryOperation, Elementwise
from vta.topi.alu.pooling import AveragePool2d, MaxPool2d
from vta.topi.alu.resize import Upsample2d
from vta.topi.core.epilogue import Clip, Relu, RoundingShift
from vta.topi.core.operator import Operator, compile  # noqa: A004  # what it does

OPERATORS: Mapping[str, Operator] = {
    "residual add 64x56x56": Binary(BinaryOperation.ADD, (1, 64, 56, 56), (Clip(-128, 127),)),
    "residual add 256x14x14": Binary(BinaryOperation.ADD, (1, 256, 14, 14), (Clip(-128, 127),)),
    "relu 64x56x56": Elementwise((1, 64, 56, 56), (Relu(),)),
    "int32 to int8, 64x28x28": Elementwise((1, 64, 28, 28), (RoundingShift(8), Clip(-128, 127)), "int32"),
    "max pool 3x3/2, 64x112x112": MaxPool2d(1, 64, 112, 112, (3, 3), (2, 2), (1, 1, 1, 1)),
    "max pool 2x2/2, 64x56x56": MaxPool2d(1, 64, 56, 56, (2, 2), (2, 2)),
    "max pool 5x5/1, 256x13x13": MaxPool2d(1, 256, 13, 13, (5, 5), (1, 1), (2, 2, 2, 2)),
    "average pool 3x3/1, pads not counted, 192x35x35": AveragePool2d(1, 192, 35, 35, (3, 3), (1, 1), (1, 1, 1, 1)),
    "global average, 512x7x7": AveragePool2d(1, 512, 7, 7, (7, 7)),
    "upsample 2x, 128x26x26": Upsample2d(1, 128, 26, 26),
}

_BEAT = 8
"""Bytes that memory moves in a cycle."""


@dataclass(frozen=True, slots=True)
class Row:
    """What an operator took, in cycles."""

    name: str
    cycles: int
    load: int
    alu: int
    store: int

    @property
    def bound(self) -> int:
        """The cycles that it cannot do without."""
        return max(self.load, self.alu, self.store)

    def __str__(self) -> str:
        numbers = [self.cycles, self.load, self.alu, self.store]
        return f"| {self.name} | {' | '.join(f'{n:,}' for n in numbers)} | {100 * self.bound / self.cycles:.0f} % |"


def measure(name: str, operator: Operator, env: vta.Environment) -> Row:
    """Run ``operator`` once and read the counters."""
    compiled = compile(operator, env)
    rng = np.random.default_rng(1)
    arrays = []
    for operand in operator.inputs(env):
        limit = 128 if operand.dtype == "int8" else 1 << 15
        arrays.append(rng.integers(-limit, limit, operand.shape).astype(operand.dtype))
    placed = compiled.place(*operator.pack(env, *arrays))
    device = env.session.device
    device.clear_stats()
    compiled.module(*placed)
    if not np.array_equal(operator.unpack(env, placed[-1].numpy()), operator.reference(*arrays)):
        raise SystemExit(f"{name}: the result is not numpy's")
    counted = device.stats.as_dict()
    return Row(
        name,
        counted["cycle_count"],
        (counted["acc_load_nbytes"] + counted["uop_load_nbytes"]) // _BEAT,
        counted["alu_counter"],
        counted["out_store_nbytes"] // _BEAT,
    )


def main() -> int:
    """Print the table; return the exit status."""
    env = vta.Environment(replace(VTAConfig(), target="tsim"))
    print("| operator | cycles | loads | ALU | stores | of the bound |\n|---|---|---|---|---|---|")
    for name, operator in OPERATORS.items():
        print(measure(name, operator, env), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
