"""Detailed reports about schedules, from te to every engine: unequal blocks, large blocks, reductions in parts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import vta
from isa.config import VTAConfig
from isa.config_rules import ConfigError
from isa.instructions import Gemm, Instruction, Store
from runtime.session import Session
from tests.support.configs import CONFIGS
from tests.support.golden.spine_cases import place_operands, product
from vta import te
from vta.nd import EXT_DEV, Device, empty

ENGINES = pytest.mark.parametrize("engine", ["reference", "sim", "tsim"])


def pattern(shape: Sequence[int], factor: int, modulus: int, shift: int) -> np.ndarray:
    """Element k (in C order) is ``(factor * k) mod modulus - shift``."""
    return ((factor * np.arange(int(np.prod(shape)))) % modulus - shift).astype(np.int8).reshape(shape)


def matmul(env: vta.Environment, n: int, m: int, *, axis: int, parts: int = 1) -> tuple[te.Schedule, list[te.Tensor]]:
    """One row of ``n`` tiles times ``m`` rows of tiles; stored from axis ``axis`` on, summed in ``parts`` loops."""
    p = product(env, 1, n, m)
    c = te.compute(p.gemm.shape, lambda *i: p.gemm(*i).astype(env.out_dtype), name="C")
    s = te.create_schedule(c.op)
    ko, ki = s[p.gemm].split(p.ko, nparts=parts)
    place_operands(s, env, p, ki, env.dma_copy)
    s[p.gemm].reorder(ko, ki, *s[p.gemm].op.axis, p.ki)
    s[p.gemm].tensorize(s[p.gemm].op.axis[2], env.gemm)
    s[c].pragma(s[c].op.axis[axis], env.dma_copy)
    return s, [p.x, p.w, c]


def run(config: VTAConfig, engine: str, n: int, m: int, *, axis: int, parts: int = 1) -> tuple[np.ndarray, Session]:
    """Return the low 8 bits of the product, and the session with what ran."""
    session = Session(config, engine, record=True)
    device = Device(EXT_DEV, 0, session)
    with vta.Environment(config) as env:
        schedule, args = matmul(env, n, m, axis=axis, parts=parts)
        module = vta.build(schedule, args, target=env.target, name="main")
    a = pattern((1, n, config.batch, config.block_in), 7, 17, 8)
    w = pattern((m, n, config.block_out, config.block_in), 5, 13, 6)
    arrays = [empty(values.shape, "int8", device) for values in (a, w)]
    for array, values in zip(arrays, (a, w), strict=True):
        array.copyfrom(values)
    out = empty((1, m, config.batch, config.block_out), "int8", device)
    out.copyfrom(np.full(out.shape, 0x55, np.int8))
    module(*arrays, out)
    expected = np.einsum("onbi,mnji->ombj", a.astype(np.int64), w.astype(np.int64))
    np.testing.assert_array_equal(out.numpy(), expected.astype(np.int8))
    return expected, session


def instructions(session: Session) -> list[Instruction]:
    return [i for launch in session.queue.launcher.launches for i in launch.instructions]


@ENGINES
@pytest.mark.parametrize(("axis", "stores"), [(2, 3), (0, 1)])
def test_br_020_output_blocks_of_another_size_than_input_blocks(engine: str, axis: int, stores: int) -> None:
    """Each output element with a store of its own, then all of them with one."""
    expected, session = run(CONFIGS["in16out32"], engine, 2, 3, axis=axis)
    assert expected.sum() == 123
    assert expected[0, 1, 0, :6].tolist() == [150, 156, 162, -40, -190, -197]
    assert expected.astype(np.int8).sum(dtype=np.int64) == 891
    assert sum(isinstance(i, Store) for i in instructions(session)) == stores


def test_br_019_an_element_larger_than_a_page_is_refused_when_it_is_configured() -> None:
    with pytest.raises(ConfigError) as error:
        replace(VTAConfig(), log_block=7)
    assert "16384" in str(error.value)
    assert "4096" in str(error.value)


@ENGINES
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_br_074_a_reduction_in_parts_resets_each_tile_once(engine: str, parts: int) -> None:
    expected, session = run(VTAConfig(), engine, 8, 4, axis=0, parts=parts)
    whole, _ = run(VTAConfig(), engine, 8, 4, axis=0)
    np.testing.assert_array_equal(expected, whole)
    resets = [i for i in instructions(session) if isinstance(i, Gemm) and i.reset]
    assert sum(i.iter_out * i.iter_in * (i.uop_end - i.uop_bgn) for i in resets) == 4
