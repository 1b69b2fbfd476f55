"""Random copies (any order of loops, pitches, pads, guards, outer loops) move what the interpreter moves, no more."""

import random
from dataclasses import dataclass

import numpy as np
import pytest

from isa.config import VTAConfig
from tests.support.compiler.tir_build import buffer, function, host_load, loop, pragma, store, when
from tests.support.configs import CONFIGS
from tests.support.hw.dma_machine import DmaMachine
from vta.passes.dma.inject_dma_intrin import inject_dma_intrin
from vta.passes.memory_info import memory_info
from vta.tir import ops
from vta.tir.buffer import Buffer
from vta.tir.dtype import INT32
from vta.tir.expr import Expr, IntImm, Var
from vta.tir.func import PrimFunc
from vta.tir.interpreter.run import run_func
from vta.tir.scopes import ACC_SCOPE, INP_SCOPE, WGT_SCOPE
from vta.tir.stmt import Stmt

UNWRITTEN = 99


@dataclass
class RandomCopy:
    """A copy between DRAM and a scratchpad: ``func`` takes the source and the target."""

    func: PrimFunc
    source: Buffer
    target: Buffer

    def arrays(self, rng: random.Random) -> list[np.ndarray]:
        size = self.source.shape[0]
        assert isinstance(size, IntImm)
        end = self.target.shape[0]
        assert isinstance(end, IntImm)
        numbers = np.random.default_rng(rng.randrange(1 << 30))
        data = numbers.integers(-100, 90, size.value).astype(self.source.dtype)
        return [data, np.full(end.value, UNWRITTEN, self.target.dtype)]


@dataclass
class Dim:
    var: Var
    extent: int
    source: int
    target: int


def random_copy(rng: random.Random, config: VTAConfig) -> RandomCopy:
    load = rng.random() < 0.75
    memory = memory_info(config, rng.choice((INP_SCOPE, WGT_SCOPE, ACC_SCOPE)) if load else ACC_SCOPE)
    lanes = memory.lanes
    dims = random_dims(rng, lanes)
    outer = Var("o", INT32)
    rounds = rng.randint(1, 3)
    step = {side: rng.choice((0, lanes * rng.randint(1, 40))) for side in ("source", "target")}
    tile = [
        Dim(Var("r", INT32), memory.rows, memory.columns, memory.columns),
        Dim(Var("c", INT32), memory.columns, 1, 1),
    ]
    offset = {side: lanes * rng.randint(0, 5) for side in ("source", "target")}
    everything = [Dim(outer, rounds, step["source"], step["target"]), *dims, *tile]
    sizes = {
        side: offset[side] + sum((d.extent - 1) * getattr(d, side) for d in everything) + 1
        for side in ("source", "target")
    }
    narrow = memory.scope == ACC_SCOPE and load and rng.random() < 0.3 and config.inp_width == 8
    on_chip = str(memory.dtype)
    dram_type = (config.inp_dtype if narrow else on_chip) if load else config.out_dtype
    dram = buffer("dram", (sizes["source" if load else "target"],), dram_type)
    chip = buffer("chip", (sizes["target" if load else "source"],), on_chip, memory.scope)
    source, target = (dram, chip) if load else (chip, dram)
    value = host_load(source, index(offset["source"], everything, "source")).astype(target.dtype)
    if load and rng.random() < 0.6:
        zero = IntImm(0, target.dtype)
        value = ops.if_then_else(
            ops.all(*(random_bound(rng, dims, outer) for _ in range(rng.randint(1, 3)))), value, zero
        )
    body: Stmt = store(target, value, index(offset["target"], everything, "target"))
    if rng.random() < 0.4:
        body = when(ops.likely(random_guard(rng, dims, outer)), body)
    body = inside(body, [*rng.sample(dims, len(dims)), *tile])
    return RandomCopy(function(loop(outer, rounds, pragma("dma_copy", body)), source, target), source, target)


def random_dims(rng: random.Random, lanes: int) -> list[Dim]:
    """Return dimensions whose target positions are distinct, and perhaps apart; the source may repeat itself."""
    dims: list[Dim] = []
    reach = lanes
    for number in range(rng.randint(0, 3)):
        extent = rng.randint(1, 4)
        target = reach * rng.choice((1, 1, 1, 2))
        source = rng.choice((reach, reach, lanes, lanes * rng.randint(0, 9), target))
        dims.insert(0, Dim(Var(f"i{number}", INT32), extent, source, target))
        reach = target * extent
    return dims


def random_bound(rng: random.Random, dims: list[Dim], outer: Var) -> Expr:
    """Return a bound of one dimension, perhaps another one in each round."""
    shift = outer * rng.choice((-2, -1, 1, 2)) if not dims or rng.random() < 0.4 else IntImm(0)
    if not dims:
        return shift + rng.randint(-1, 1) >= 0
    var = rng.choice(dims).var
    limit = rng.randint(-1, 4)
    return var + shift >= limit if rng.random() < 0.5 else var + shift < limit


def random_guard(rng: random.Random, dims: list[Dim], outer: Var) -> Expr:
    if len(dims) < 2 or rng.random() < 0.6:
        return random_bound(rng, dims, outer)
    a, b = rng.sample(dims, 2)
    return a.var * b.extent + b.var < rng.randint(1, a.extent * b.extent)


def index(offset: int, dims: list[Dim], side: str) -> Expr:
    total: Expr = IntImm(offset)
    for dim in dims:
        total = total + dim.var * getattr(dim, side)
    return total


def inside(body: Stmt, dims: list[Dim]) -> Stmt:
    for dim in reversed(dims):
        body = loop(dim.var, dim.extent, body)
    return body


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS.keys())
@pytest.mark.parametrize("seed", range(40))
def test_a_random_copy_moves_the_same_numbers(seed: int, config: VTAConfig) -> None:
    rng = random.Random(seed)
    copy = random_copy(rng, config)
    arrays = copy.arrays(rng)
    expected = [a.copy() for a in arrays]
    run_func(copy.func, expected)
    lowered = inject_dma_intrin(copy.func, config)
    machine = DmaMachine(config, {copy.source.data: arrays[0], copy.target.data: arrays[1]})
    machine.run(lowered.body)
    np.testing.assert_array_equal(arrays[1], expected[1])
