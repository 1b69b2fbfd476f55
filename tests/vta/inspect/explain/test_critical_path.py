"""The critical path: every cycle is on it once, and what bounds a run has most of it."""

from pathlib import Path

import pytest

from isa.text.assembler import assemble
from tests.support.runtime.recorded_runs import record_programs, some_program
from vta.inspect.explain import RunModel, explain
from vta.inspect.explain import changes as change
from vta.inspect.explain.critical_path import Share, critical_path
from vta.inspect.trace import Recorded, TraceHeader

MEMORY = """
.data A type=int32 shape=1024,16
    arange 0
.output C type=int8 shape=1024,16
.uop
    first: dst=0 src=0
.text
"""


def recorded(path: Path, text: str) -> tuple[TraceHeader, Recorded]:
    header, [launch] = record_programs(path / "t", "tsim", assemble(MEMORY + text))
    return header, launch


def bound(path: Path, text: str) -> tuple[str, dict[Share, float]]:
    """Return what bounds a program, and the shares of its critical path."""
    header, launch = recorded(path, text)
    told = explain(launch, header.hardware)
    assert sum(told.path.values()) == told.cycles == launch.timeline.duration
    return told.bound, {share: cycles / told.cycles for share, cycles in told.path.items()}


@pytest.mark.parametrize("seed", range(12))
def test_every_cycle_is_on_the_critical_path_once(tmp_path: Path, seed: int) -> None:
    _, [launch] = record_programs(tmp_path / "t", "tsim", some_program(seed))
    model = RunModel.of(launch, beat_bytes=8)
    for own in (model, change.buffered_again(model), change.wider_memory(model, 2), change.issued_at_once(model)):
        shares = critical_path(own)
        assert sum(shares.values()) == own.cycles()
        assert all(cycles > 0 for cycles in shares.values())


def test_a_long_gemm_is_bound_by_compute(tmp_path: Path) -> None:
    name, shares = bound(
        tmp_path,
        """
        load.uop sram=0 dram=first y=1 x=1 stride=1
        gemm uop=0:1 iter=100,100 dst=0,0 src=0,0 wgt=0,0
        finish
        """,
    )
    assert name == "compute"
    assert shares[Share.COMPUTE] > 0.9


def test_a_load_of_accumulators_is_no_compute(tmp_path: Path) -> None:
    name, shares = bound(tmp_path, "load.acc sram=0 dram=A y=64 x=16 stride=16\nfinish")
    assert name == "accumulator loads"
    assert shares[Share.ACC_LOADS] > 0.9
    assert Share.COMPUTE not in shares


def test_many_loads_of_one_micro_op_are_bound_by_micro_op_loads(tmp_path: Path) -> None:
    name, _ = bound(tmp_path, "load.uop sram=0 dram=first y=1 x=1 stride=1\n" * 100 + "finish")
    assert name == "micro-op loads"


def test_one_long_store_is_bound_by_stores(tmp_path: Path) -> None:
    name, shares = bound(
        tmp_path,
        """
        load.acc sram=0 dram=A y=1 x=1 stride=1 push_next
        store sram=0 dram=C y=64 x=16 stride=16 pop_prev push_prev
        finish pop_next
        """,
    )
    assert name == "stores"
    assert shares[Share.STORES] > 0.9


def loads_and_products(steps: int, products: int) -> str:
    """Return a program that loads inputs and multiplies in turns, with one buffer; a load takes 512 cycles."""
    first = f"load.uop sram=0 dram=first y=1 x=1 stride=1\n{gemm(1)} reset push_prev\n"
    load = "load.inp sram=0 dram=0x100 y=16 x=16 stride=16 pop_next push_next\n"
    return first + steps * (load + f"{gemm(products)} pop_prev push_prev\n") + "nop.load pop_next\nfinish"


def gemm(products: int) -> str:
    return f"gemm uop=0:1 iter={products},1 dst=0,0 src=0,0 wgt=0,0"


def test_modules_that_take_turns_are_bound_by_tokens(tmp_path: Path) -> None:
    name, shares = bound(tmp_path, loads_and_products(12, 500))
    assert name == "tokens"
    assert 0.4 < shares[Share.TURNS] < 0.5


def test_turns_are_not_to_blame_where_another_buffer_would_save_little(tmp_path: Path) -> None:
    name, shares = bound(tmp_path, loads_and_products(12, 16))
    assert name == "loads"
    assert shares[Share.LOADS] > 0.8
    assert shares.get(Share.TURNS, 0) < 0.11  # the tokens' own way, of each turn of 560 cycles
